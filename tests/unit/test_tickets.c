/*
 * Tickets: answers may arrive in any order, and the older never wins.
 *
 * Two questions overlap, and at some moment the thing asked about may change by our own doing. All
 * interleavings of "ask 1", "ask 2", their answers and the change are played, for every pair of
 * kinds of answer, with plenty of room in the caches, with bounds of 1 so that beliefs are pushed
 * out in between, and with the order numbers just below their wrap. After each step of each
 * interleaving the cache may say nothing (then the server is asked), or what the newest answer that
 * has arrived says that was asked for after the last change. Where both answers are of one kind and
 * nothing is pushed out, it has to say it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cache/cache.h"

/* What an answer says of "f" in the directory. */
enum kind {
    FOUND,       /* it is there, with the answer's own size */
    MISSING,     /* it is not */
    LISTED_WITH, /* a listing that has it */
    LISTED_WITHOUT,
    ATTR, /* attributes by a handle: of the file, not of the name */
    KINDS
};
static const char *const kind_names[] = {"found", "missing", "listed with", "listed without",
                                         "attributes"};

/* What changes by our own doing. */
enum change { CHANGE_NAME, CHANGE_DIRECTORY, CHANGE_FILE, CHANGES };
static const char *const change_names[] = {"name", "directory", "file"};

enum event { ASK_1, ASK_2, ANSWER_1, ANSWER_2, CHANGE };
static const char event_names[] = "aAbBx";

/* One interleaving: the events in their order; ask 1 comes before ask 2. */
struct play {
    enum event events[5];
    size_t count;
    enum kind kind[2];
    enum change change;
    bool crowded; /* other names push each belief out at once */
    bool cold;    /* the directory has no beliefs of its own yet, not even lost ones */
    uint64_t first_order;
};

struct world {
    struct settings settings;
    struct observe *observe;
    struct cache *c;
    struct cache_file *dir, *file; /* references */
    struct cache_ticket ticket[2];
    uint64_t now;
};

static struct file_attr attr_sized(uint64_t size)
{
    return (struct file_attr){.id = 50, .attributes = FILE_ATTRIBUTE_ARCHIVE, .size = size};
}

/* ---- playing ---- */

static void begin(struct world *w, const struct play *p)
{
    *w = (struct world){.now = 1000 * NS_PER_SEC};
    assert_int_equal(settings_profile("larder", &w->settings, NULL), 0);
    if (p->crowded) {
        w->settings.directory_cache_entries_max = 1;
        w->settings.file_info_cache_entries_max = 1;
        w->settings.file_not_found_cache_entries_max = 1;
    }
    struct observe_options options = {0};
    assert_int_equal(observe_new(&options, &w->observe, NULL), 0);
    w->c = cache_new(&w->settings, w->observe);
    assert_non_null(w->c);
    cache_set_order(w->c, p->first_order);
    const char *name;
    size_t len;
    assert_int_equal(cache_walk(w->c, "d/f", 3, w->now, &w->dir, &name, &len), 0);
    if (p->cold)
        return;
    /* the file is known, so that there is something to tell attributes of */
    struct file_attr attr = attr_sized(0);
    uint64_t until;
    struct cache_ticket t = cache_ask(w->c, w->now);
    assert_int_equal(cache_commit_found(w->c, w->dir, "f", 1, &attr, t, w->now, &w->file, &until),
                     0);
    cache_changed(w->c, w->file, MISS_CHANGED);
    cache_name_changed(w->c, w->dir, "f", 1, MISS_CHANGED);
}

static void end(struct world *w)
{
    cache_file_unref(w->c, w->dir);
    if (w->file)
        cache_file_unref(w->c, w->file);
    w->c = cache_free(w->c);
    w->observe = observe_free(w->observe);
}

static void answer_listing(struct world *w, struct cache_file *dir, bool with, uint64_t size,
                           struct cache_ticket t)
{
    struct cache_listing *l = cache_listing_new();
    struct file_attr attr = attr_sized(size);
    assert_non_null(l);
    if (with)
        assert_int_equal(cache_listing_add(l, "f", 1, &attr, 100), 0);
    assert_int_equal(cache_listing_seal(l, t), 0);
    cache_commit_listing(w->c, dir, l, t, w->now);
    cache_listing_unref(l);
}

static void answer(struct world *w, enum kind kind, uint64_t size, struct cache_ticket t)
{
    struct file_attr attr = attr_sized(size);
    struct cache_file *f;
    uint64_t until;
    switch (kind) {
    case FOUND:
        assert_int_equal(cache_commit_found(w->c, w->dir, "f", 1, &attr, t, w->now, &f, &until), 0);
        cache_file_unref(w->c, f);
        break;
    case MISSING:
        cache_commit_missing(w->c, w->dir, "f", 1, t, w->now);
        break;
    case LISTED_WITH:
    case LISTED_WITHOUT:
        answer_listing(w, w->dir, kind == LISTED_WITH, size, t);
        break;
    case ATTR:
        cache_commit_attr(w->c, w->file, &attr, t, w->now);
        break;
    case KINDS:
        break;
    }
}

/* Fills each cache's single place with something else. */
static void crowd(struct world *w)
{
    struct file_attr attr = {.id = 60, .size = 1};
    struct cache_file *f;
    uint64_t until;
    struct cache_ticket t = cache_ask(w->c, w->now);
    assert_int_equal(
        cache_commit_found(w->c, cache_root(w->c), "e", 1, &attr, t, w->now, &f, &until), 0);
    cache_file_unref(w->c, f);
    cache_commit_missing(w->c, cache_root(w->c), "z", 1, cache_ask(w->c, w->now), w->now);
    t = cache_ask(w->c, w->now);
    struct cache_listing *l = cache_listing_new();
    struct file_attr d = {.id = 61, .attributes = FILE_ATTRIBUTE_DIRECTORY};
    assert_non_null(l);
    assert_int_equal(cache_listing_add(l, "d", 1, &d, 100), 0);
    assert_int_equal(cache_listing_add(l, "e", 1, &attr, 100), 0);
    assert_int_equal(cache_listing_seal(l, t), 0);
    cache_commit_listing(w->c, cache_root(w->c), l, t, w->now);
    cache_listing_unref(l);
}

static void change(struct world *w, enum change what)
{
    if (what == CHANGE_NAME)
        cache_name_changed(w->c, w->dir, "f", 1, MISS_CHANGED);
    if (what == CHANGE_DIRECTORY)
        cache_changed(w->c, w->dir, MISS_CHANGED);
    if (what == CHANGE_FILE)
        cache_changed(w->c, w->file, MISS_CHANGED);
}

/* ---- what may be said ---- */

/* What is to be believed, from the events alone: each answer's number (0 and 1), -1: none. */
struct expected {
    int about_name; /* the newest that says whether there is an "f" */
    int about_attr; /* the newest that tells its attributes */
    /* the directory changed: its listing and its negatives are gone, names that were looked up may
     * be believed still */
    bool loosened;
};

static bool says_there(const struct play *p, int n)
{
    return p->kind[n] == FOUND || p->kind[n] == LISTED_WITH;
}

static bool touches_names(enum change c)
{
    return c != CHANGE_FILE;
}

static bool touches_attr(enum change c)
{
    return c == CHANGE_FILE;
}

static struct expected expect(const struct play *p, size_t played)
{
    struct expected e = {-1, -1, false};
    bool asked_before[2] = {false, false}, changed_since_ask[2] = {false, false};
    for (size_t i = 0; i < played; i++) {
        switch (p->events[i]) {
        case ASK_1:
        case ASK_2:
            asked_before[p->events[i] - ASK_1] = true;
            break;
        case CHANGE: /* what arrived before is dropped, what is under way will not be believed */
            for (int n = 0; n < 2; n++)
                changed_since_ask[n] |= asked_before[n];
            if (p->change == CHANGE_NAME || (p->change == CHANGE_DIRECTORY && e.about_name >= 0 &&
                                             !says_there(p, e.about_name)))
                e.about_name = -1;
            e.loosened |= p->change == CHANGE_DIRECTORY;
            if (touches_attr(p->change))
                e.about_attr = -1;
            break;
        case ANSWER_1:
        case ANSWER_2: {
            int n = p->events[i] - ANSWER_1;
            enum kind kind = p->kind[n];
            bool names_good = !(changed_since_ask[n] && touches_names(p->change));
            bool attr_good = !(changed_since_ask[n] && touches_attr(p->change));
            if (kind != ATTR && names_good && n > e.about_name)
                e.about_name = n;
            bool tells = kind == ATTR || ((kind == FOUND || kind == LISTED_WITH) && names_good);
            if (tells && attr_good && n > e.about_attr)
                e.about_attr = n;
            break;
        }
        }
    }
    return e;
}

static uint64_t size_told(int n)
{
    return (uint64_t)n + 1;
}

static void wrong(const struct play *p, size_t played, const char *what)
{
    char order[8] = "";
    for (size_t i = 0; i < p->count; i++)
        order[i] = event_names[p->events[i]];
    fail_msg(
        "%s: '%s' and '%s' in the order %s, after %zu steps; change of the %s%s%s, first order "
        "%llx",
        what, kind_names[p->kind[0]], kind_names[p->kind[1]], order, played,
        change_names[p->change], p->crowded ? ", crowded" : "", p->cold ? ", cold" : "",
        (unsigned long long)p->first_order);
}

/* Compares what the cache says with what the newest answer says. */
static void check(struct world *w, const struct play *p, size_t played)
{
    struct expected e = expect(p, played);
    bool same_kind = p->kind[0] == p->kind[1], must = same_kind && !p->crowded && !e.loosened;
    struct cache_plan plan;
    cache_plan_lookup(w->c, w->dir, "f", 1, CACHE_LOOK_UP, w->now, &plan);
    bool said = plan.step == CACHE_ANSWER, there = said && plan.result == 0;
    uint64_t size = plan.attr.size;
    if (there)
        cache_file_unref(w->c, plan.file);
    if (said) {
        if (e.about_name < 0)
            wrong(p, played, "answers although nothing is to be believed");
        if (there != says_there(p, e.about_name))
            wrong(p, played, there ? "finds what is missing" : "misses what is there");
        if (there && (e.about_attr < 0 || size != size_told(e.about_attr)))
            wrong(p, played, "tells old attributes");
    } else if (must && e.about_name >= 0 &&
               (p->kind[0] == MISSING || p->kind[0] == LISTED_WITHOUT || e.about_attr >= 0)) {
        wrong(p, played, "does not believe the newest answer");
    }
    if (!w->file)
        return;
    cache_plan_attr(w->c, w->file, w->now, &plan);
    said = plan.step == CACHE_ANSWER;
    if (said)
        cache_file_unref(w->c, plan.file);
    if (said && (e.about_attr < 0 || plan.attr.size != size_told(e.about_attr)))
        wrong(p, played, "tells old attributes of the file");
    if (!said && must && p->kind[0] == ATTR && e.about_attr >= 0)
        wrong(p, played, "does not believe the newest attributes");
}

static void play(const struct play *p)
{
    struct world w;
    begin(&w, p);
    for (size_t i = 0; i < p->count; i++) {
        w.now += NS_PER_MS;
        switch (p->events[i]) {
        case ASK_1:
        case ASK_2:
            w.ticket[p->events[i] - ASK_1] = cache_ask(w.c, w.now);
            break;
        case ANSWER_1:
        case ANSWER_2: {
            int n = p->events[i] - ANSWER_1;
            answer(&w, p->kind[n], size_told(n), w.ticket[n]);
            if (p->crowded)
                crowd(&w);
            break;
        }
        case CHANGE:
            change(&w, p->change);
            break;
        }
        check(&w, p, i + 1);
    }
    end(&w);
}

/* ---- all interleavings ---- */

static unsigned played;

/* Extends the play by every event that may come next. */
static void extend(struct play *p, unsigned done, unsigned all)
{
    if (done == all) {
        play(p);
        played++;
        return;
    }
    for (unsigned e = ASK_1; e <= CHANGE; e++) {
        unsigned bit = 1u << e;
        bool legal = !(done & bit) && (all & bit) && !(e == ASK_2 && !(done & 1u << ASK_1)) &&
                     !(e == ANSWER_1 && !(done & 1u << ASK_1)) &&
                     !(e == ANSWER_2 && !(done & 1u << ASK_2));
        if (!legal)
            continue;
        p->events[p->count++] = (enum event)e;
        extend(p, done | bit, all);
        p->count--;
    }
}

static const uint64_t first_orders[] = {1, UINT64_MAX - 9, UINT64_MAX - 5, UINT64_MAX - 2,
                                        (uint64_t)INT64_MAX - 4};

static void play_all(bool own_change, bool crowded)
{
    unsigned all = 1u << ASK_1 | 1u << ASK_2 | 1u << ANSWER_1 | 1u << ANSWER_2;
    if (own_change)
        all |= 1u << CHANGE;
    played = 0;
    for (size_t o = 0; o < sizeof first_orders / sizeof first_orders[0]; o++)
        for (unsigned first = 0; first < KINDS; first++)
            for (unsigned second = 0; second < KINDS; second++)
                for (unsigned c = 0; c < (own_change ? CHANGES : 1); c++) {
                    struct play p = {.kind = {first, second},
                                     .change = c,
                                     .crowded = crowded,
                                     .first_order = first_orders[o]};
                    extend(&p, 0, all);
                    /* nor in a directory that nothing is known of, where there is no file to
                     * speak of */
                    p.cold = true;
                    if (first != ATTR && second != ATTR && c != CHANGE_FILE)
                        extend(&p, 0, all);
                }
}

static void of_two_overlapping_asks_the_older_never_wins(void **state)
{
    play_all(false, false);
    /* 3 orders, 25 pairs of kinds, and the 16 without attributes cold */
    assert_int_equal(played, 5 * 3 * (25 + 16));
}

static void an_own_change_between_them_outdates_what_was_asked_before(void **state)
{
    play_all(true, false);
    assert_int_equal(played, 5 * 15 * (25 * 3 + 16 * 2));
}

static void the_older_does_not_win_after_the_newer_was_pushed_out(void **state)
{
    play_all(false, true);
    assert_int_equal(played, 5 * 3 * (25 + 16));
    play_all(true, true);
    assert_int_equal(played, 5 * 15 * (25 * 3 + 16 * 2));
}

static void the_older_does_not_win_where_the_newer_is_not_kept_at_all(void **state)
{
    static const enum kind newer[] = {MISSING, LISTED_WITHOUT, LISTED_WITH};
    for (size_t i = 0; i < sizeof newer / sizeof newer[0]; i++) {
        struct world w;
        struct play p = {.first_order = 1};
        begin(&w, &p);
        w.settings.file_not_found_cache = newer[i] != MISSING;
        w.settings.directory_cache = newer[i] != LISTED_WITHOUT;
        w.settings.directory_cache_entry_size_max = 99; /* f's entry has 100 */
        struct cache *c = cache_new(&w.settings, w.observe);
        struct cache_ticket older = cache_ask(c, w.now), t = cache_ask(c, w.now);
        struct world at = {.c = c, .dir = cache_root(c), .now = w.now};
        answer(&at, newer[i], 1, t);
        answer(&at, newer[i] == LISTED_WITH ? MISSING : FOUND, 2, older);
        struct cache_plan plan;
        cache_plan_lookup(c, at.dir, "f", 1, CACHE_LOOK_UP, w.now, &plan);
        assert_int_not_equal(plan.step, CACHE_ANSWER);
        cache_free(c);
        end(&w);
    }
}

static void an_answer_to_a_question_from_before_a_move_is_not_believed(void **state)
{
    struct world w;
    struct play p = {.first_order = 1};
    begin(&w, &p);
    struct cache_ticket before = cache_ask(w.c, w.now);
    cache_name_changed(w.c, cache_root(w.c), "d", 1,
                       MISS_CHANGED); /* what was d may be elsewhere */
    struct file_attr attr = attr_sized(7);
    struct cache_file *f;
    uint64_t until = 1;
    assert_int_equal(cache_commit_found(w.c, w.dir, "f", 1, &attr, before, w.now, &f, &until), 0);
    assert_int_equal(until, 0);
    assert_int_equal(cache_commit_missing(w.c, w.dir, "g", 1, before, w.now), 0);
    answer_listing(&w, w.dir, true, 7, before);
    assert_null(cache_plan_listing(w.c, w.dir, w.now));
    cache_file_unref(w.c, f);
    end(&w);
}

static void an_own_change_of_one_file_leaves_answers_about_others_alone(void **state)
{
    struct world w;
    struct play p = {.first_order = 1};
    begin(&w, &p);
    struct cache_ticket t = cache_ask(w.c, w.now);
    cache_changed(w.c, w.file, MISS_CHANGED);
    struct file_attr attr = attr_sized(7);
    attr.id = 51;
    struct cache_file *f;
    uint64_t until = 0;
    assert_int_equal(cache_commit_found(w.c, w.dir, "g", 1, &attr, t, w.now, &f, &until), 0);
    assert_true(until > w.now);
    cache_file_unref(w.c, f);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_two_overlapping_asks_the_older_never_wins),
        cmocka_unit_test(an_own_change_between_them_outdates_what_was_asked_before),
        cmocka_unit_test(the_older_does_not_win_after_the_newer_was_pushed_out),
        cmocka_unit_test(the_older_does_not_win_where_the_newer_is_not_kept_at_all),
        cmocka_unit_test(an_answer_to_a_question_from_before_a_move_is_not_believed),
        cmocka_unit_test(an_own_change_of_one_file_leaves_answers_about_others_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
