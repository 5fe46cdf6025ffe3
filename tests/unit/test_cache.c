/*
 * The three beliefs: when the cache answers and with what, and why it does not. One test is one
 * behaviour; the model test (tests/model) is for what nobody thought of.
 */
#include "cache_world.h"

/* ---- nothing known ---- */

static void each_profile_asks_in_its_own_way_when_nothing_is_known(void **state)
{
    static const struct {
        const char *profile;
        enum cache_step step;
        enum observe_miss dir, notfound;
        bool asks_info;
    } all[] = {
        {"23h2", CACHE_LIST, MISS_ABSENT, MISS_ABSENT, false},
        {"25h2", CACHE_SEARCH, MISS_DISABLED, MISS_ABSENT, false},
        {"larder", CACHE_STAT, MISS_ABSENT, MISS_ABSENT, true},
        {"off", CACHE_STAT, MISS_DISABLED, MISS_DISABLED, false},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct world w;
        begin_with(&w, all[i].profile, (const char *const[]){NULL});
        assert_int_equal(look_up(&w, w.root, "x"), all[i].step);
        assert_false(w.plan.guess);
        missed(&w, OBSERVE_DIR, all[i].dir);
        missed(&w, OBSERVE_NOTFOUND, all[i].notfound);
        if (all[i].asks_info)
            missed(&w, OBSERVE_INFO, MISS_ABSENT);
        else
            not_asked(&w, OBSERVE_INFO);
        end(&w);
    }
}

static void a_name_in_a_regular_file_is_answered_without_asking(void **state)
{
    struct world w;
    struct cache_file *f;
    BEGIN(&w, "larder", "actimeo=10");
    found(&w, w.root, "f", file(1, 0), &f);
    assert_int_equal(look_up(&w, f, "x"), CACHE_ANSWER);
    assert_int_equal(w.plan.result, -ENOTDIR);
    drop(&w, f);
    end(&w);
}

/* ---- the directory cache ---- */

static void a_listing_answers_for_the_names_it_holds_and_for_those_it_does_not(void **state)
{
    struct world w;
    BEGIN(&w, "23h2", "actimeo=10");
    LISTED(&w, w.root, {"a", file(1, 11)}, {"b", directory(2)});
    assert_int_equal(size_of(&w, w.root, "a"), 11);
    was_hit(&w, OBSERVE_DIR);
    not_asked(&w, OBSERVE_NOTFOUND);
    assert_int_equal(w.plan.valid_until, w.now + 10 * S);
    assert_int_equal(w.plan.spelling_len, 1);
    assert_memory_equal(w.plan.spelling, "a", 1);
    assert_int_equal(size_of(&w, w.root, "b"), 0);
    assert_true(cache_file_is_dir(w.plan.file));
    assert_int_equal(size_of(&w, w.root, "c"), MISSING);
    was_hit(&w, OBSERVE_DIR);
    assert_int_equal(w.plan.valid_until, w.now + 10 * S);
    end(&w);
}

static void a_listing_lives_for_its_lifetime_from_the_moment_of_asking(void **state)
{
    struct world w;
    BEGIN(&w, "23h2", "DirectoryCacheLifetime=7", "FileInfoCacheLifetime=20");
    uint64_t asked = w.now;
    struct cache_ticket t = cache_ask(w.c, asked);
    struct cache_listing *l = listing_of(&w, ITEMS({"a", file(1, 11)}), 100, t);
    pass(&w, 3 * S); /* the answer took its time */
    cache_commit_listing(w.c, w.root, l, t, w.now);
    cache_listing_unref(l);
    w.now = asked + 7 * S - 1;
    assert_int_equal(size_of(&w, w.root, "a"), 11);
    assert_int_equal(w.plan.valid_until, asked + 7 * S);
    assert_int_equal(size_of(&w, w.root, "x"), MISSING);
    w.now = asked + 7 * S;
    assert_int_equal(size_of(&w, w.root, "x"), ASK);
    missed(&w, OBSERVE_DIR, MISS_EXPIRED);
    assert_int_equal(size_of(&w, w.root, "a"), ASK);
    missed(&w, OBSERVE_DIR, MISS_EXPIRED);
    assert_int_equal(entries(&w, OBSERVE_DIR), 0);
    end(&w);
}

static void attributes_out_of_a_listing_live_no_longer_than_file_info(void **state)
{
    struct world w;
    BEGIN(&w, "23h2", "DirectoryCacheLifetime=20", "FileInfoCacheLifetime=4");
    LISTED(&w, w.root, {"a", file(1, 11)});
    uint64_t asked = w.now;
    assert_int_equal(size_of(&w, w.root, "a"), 11);
    assert_int_equal(w.plan.valid_until, asked + 4 * S);
    w.now = asked + 4 * S;
    assert_int_equal(size_of(&w, w.root, "a"), ASK);
    missed(&w, OBSERVE_DIR, MISS_EXPIRED);
    assert_int_equal(size_of(&w, w.root, "x"), MISSING); /* that, it still tells */
    assert_int_equal(w.plan.valid_until, asked + 20 * S);
    end(&w);
}

static void a_clock_that_steps_back_expires_what_is_from_its_future(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=10");
    struct cache_file *f;
    LISTED(&w, w.root, {"a", file(1, 11)}, {"d", directory(9)});
    struct cache_file *d = subdirectory(&w, "d", 9);
    found(&w, d, "f", file(2, 22), &f);
    missing(&w, d, "gone");
    w.now -= 1;
    assert_int_equal(size_of(&w, w.root, "a"), ASK);
    missed(&w, OBSERVE_DIR, MISS_EXPIRED);
    assert_int_equal(size_of(&w, d, "gone"), ASK);
    missed(&w, OBSERVE_NOTFOUND, MISS_EXPIRED);
    assert_int_equal(size_of(&w, d, "f"), ASK);
    missed(&w, OBSERVE_INFO, MISS_EXPIRED);
    drop(&w, f);
    drop(&w, d);
    end(&w);
}

static void a_listing_over_the_entry_size_is_remembered_as_too_large(void **state)
{
    struct world w;
    BEGIN(&w, "23h2", "DirectoryCacheEntrySizeMax=1000");
    uint64_t asked = w.now;
    listed_bytes(&w, w.root, 1001, ITEMS({"a", file(1, 11)}));
    assert_int_equal(entries(&w, OBSERVE_DIR), 0);
    assert_int_equal(look_up(&w, w.root, "a"), CACHE_STAT); /* listing it again would not help */
    missed(&w, OBSERVE_DIR, MISS_TOO_LARGE);
    w.now = asked + 10 * S - 1;
    assert_int_equal(look_up(&w, w.root, "a"), CACHE_STAT);
    w.now = asked + 10 * S;
    assert_int_equal(look_up(&w, w.root, "a"), CACHE_LIST); /* it may have become smaller */
    missed(&w, OBSERVE_DIR, MISS_EXPIRED);
    end(&w);
}

static void a_listing_of_just_the_entry_size_is_kept(void **state)
{
    struct world w;
    BEGIN(&w, "23h2", "DirectoryCacheEntrySizeMax=1000");
    listed_bytes(&w, w.root, 1000, ITEMS({"a", file(1, 11)}));
    assert_int_equal(size_of(&w, w.root, "a"), 11);
    end(&w);
}

static void a_directory_that_grew_too_large_loses_its_old_listing(void **state)
{
    struct world w;
    BEGIN(&w, "23h2", "DirectoryCacheEntrySizeMax=1000");
    LISTED(&w, w.root, {"a", file(1, 11)});
    listed_bytes(&w, w.root, 5000, ITEMS({"a", file(1, 12)}, {"b", file(2, 2)}));
    assert_int_equal(size_of(&w, w.root, "b"), ASK);
    missed(&w, OBSERVE_DIR, MISS_TOO_LARGE);
    end(&w);
}

static void the_bound_on_listings_evicts_and_says_so(void **state)
{
    struct world w;
    BEGIN(&w, "23h2", "DirectoryCacheEntriesMax=1");
    struct cache_file *d = subdirectory(&w, "d", 9);
    LISTED(&w, w.root, {"a", file(1, 11)});
    LISTED(&w, d, {"b", file(2, 22)});
    assert_int_equal(entries(&w, OBSERVE_DIR), 1);
    assert_int_equal(size_of(&w, d, "b"), 22);
    assert_int_equal(size_of(&w, w.root, "a"), ASK);
    missed(&w, OBSERVE_DIR, MISS_EVICTED);
    assert_int_equal(counts(&w).cache[OBSERVE_DIR].evictions, 1);
    drop(&w, d);
    end(&w);
}

static void a_hit_gives_a_second_chance(void **state)
{
    struct world w;
    BEGIN(&w, "23h2", "DirectoryCacheEntriesMax=2");
    struct cache_file *d = subdirectory(&w, "d", 9), *e = subdirectory(&w, "e", 10);
    LISTED(&w, w.root, {"a", file(1, 11)});
    LISTED(&w, d, {"b", file(2, 22)});
    assert_int_equal(size_of(&w, w.root, "a"), 11); /* the older one is in use */
    LISTED(&w, e, {"c", file(3, 33)});
    assert_int_equal(size_of(&w, w.root, "a"), 11);
    assert_int_equal(size_of(&w, e, "c"), 33);
    assert_int_equal(size_of(&w, d, "b"), ASK);
    missed(&w, OBSERVE_DIR, MISS_EVICTED);
    drop(&w, d);
    drop(&w, e);
    end(&w);
}

static void a_change_is_the_reason_of_the_next_miss(void **state)
{
    static const enum observe_miss reasons[] = {MISS_CHANGED, MISS_BROKEN};
    for (size_t i = 0; i < 2; i++) {
        struct world w;
        BEGIN(&w, "23h2", "actimeo=10");
        LISTED(&w, w.root, {"a", file(1, 11)});
        cache_changed(w.c, w.root, reasons[i]);
        assert_int_equal(size_of(&w, w.root, "a"), ASK);
        missed(&w, OBSERVE_DIR, reasons[i]);
        assert_int_equal(counts(&w).cache[OBSERVE_DIR].invalidations, 1);
        end(&w);
    }
}

static void a_changed_name_takes_the_listing_and_the_negatives_of_every_case_along(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=10");
    struct cache_file *d = subdirectory(&w, "d", 9);
    missing(&w, d, "new");
    missing(&w, d, "NEW");
    missing(&w, d, "other");
    cache_name_changed(w.c, d, "New", 3, MISS_CHANGED);
    assert_int_equal(size_of(&w, d, "new"), ASK);
    assert_int_equal(size_of(&w, d, "NEW"), ASK);
    assert_int_equal(size_of(&w, d, "other"), MISSING);
    LISTED(&w, d, {"a", file(1, 11)});
    cache_name_changed(w.c, d, "new", 3, MISS_CHANGED);
    assert_int_equal(size_of(&w, d, "a"), ASK);
    missed(&w, OBSERVE_DIR, MISS_CHANGED);
    drop(&w, d);
    end(&w);
}

static void a_changed_name_is_not_answered_from_file_info(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=10");
    found(&w, w.root, "f", file(1, 11), NULL);
    assert_int_equal(size_of(&w, w.root, "f"), 11);
    cache_name_changed(w.c, w.root, "f", 1, MISS_CHANGED);
    assert_int_equal(size_of(&w, w.root, "f"), ASK);
    end(&w);
}

static void a_changed_directory_takes_its_negatives_along(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=10");
    struct cache_file *d = subdirectory(&w, "d", 9);
    missing(&w, d, "x");
    missing(&w, w.root, "y");
    cache_changed(w.c, d, MISS_CHANGED);
    assert_int_equal(size_of(&w, d, "x"), ASK);
    assert_int_equal(size_of(&w, w.root, "y"), MISSING);
    drop(&w, d);
    end(&w);
}

static void a_partial_listing_is_the_reason_until_a_whole_one_comes(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=10");
    cache_commit_partial(w.c, w.root, cache_ask(w.c, w.now), w.now);
    look_up(&w, w.root, "x");
    missed(&w, OBSERVE_DIR, MISS_PARTIAL);
    LISTED(&w, w.root, {"a", file(1, 11)});
    assert_int_equal(size_of(&w, w.root, "x"), MISSING);
    end(&w);
}

static void a_partial_listing_takes_nothing_from_a_whole_one(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=10");
    LISTED(&w, w.root, {"a", file(1, 11)});
    cache_commit_partial(w.c, w.root, cache_ask(w.c, w.now), w.now);
    assert_int_equal(size_of(&w, w.root, "a"), 11);
    end(&w);
}

/* ---- switched off ---- */

static void a_cache_that_is_off_in_any_way_counts_disabled_and_keeps_nothing(void **state)
{
    static const struct {
        enum observe_cache cache;
        const char *set;
    } all[] = {
        {OBSERVE_DIR, "DirectoryCache=no"},
        {OBSERVE_DIR, "DirectoryCacheLifetime=0"},
        {OBSERVE_DIR, "DirectoryCacheEntriesMax=0"},
        {OBSERVE_INFO, "FileInfoCache=no"},
        {OBSERVE_INFO, "FileInfoCacheLifetime=0"},
        {OBSERVE_INFO, "FileInfoCacheEntriesMax=0"},
        {OBSERVE_NOTFOUND, "FileNotFoundCache=no"},
        {OBSERVE_NOTFOUND, "FileNotFoundCacheLifetime=0"},
        {OBSERVE_NOTFOUND, "FileNotFoundCacheEntriesMax=0"},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct world w;
        BEGIN(&w, "larder", all[i].set);
        struct cache_file *d = subdirectory(&w, "d", 9);
        LISTED(&w, w.root, {"a", file(1, 11)});
        found(&w, d, "f", file(2, 22), NULL);
        missing(&w, d, "x");
        for (int cache = 0; cache < OBSERVE_CACHES; cache++)
            assert_int_equal(entries(&w, cache) == 0, cache == (int)all[i].cache);
        look_up(&w, d, "new");
        missed(&w, all[i].cache, MISS_DISABLED);
        drop(&w, d);
        end(&w);
    }
}

static void raising_a_lifetime_in_25h2_does_not_bring_the_directory_cache_back(void **state)
{
    struct world w;
    BEGIN(&w, "25h2", "DirectoryCacheLifetime=600");
    LISTED(&w, w.root, {"a", file(1, 11)});
    assert_int_equal(look_up(&w, w.root, "a"), CACHE_SEARCH);
    missed(&w, OBSERVE_DIR, MISS_DISABLED);
    end(&w);
    BEGIN(&w, "25h2", "DirectoryCache=yes");
    LISTED(&w, w.root, {"a", file(1, 11)});
    assert_int_equal(size_of(&w, w.root, "a"), 11);
    end(&w);
}

static void without_file_info_a_listing_gives_no_attributes_and_says_why(void **state)
{
    struct world w;
    BEGIN(&w, "23h2", "FileInfoCache=no");
    LISTED(&w, w.root, {"a", file(1, 11)});
    assert_int_equal(size_of(&w, w.root, "a"), ASK);
    missed(&w, OBSERVE_DIR, MISS_DISABLED);
    assert_int_equal(size_of(&w, w.root, "x"), MISSING);
    end(&w);
}

/* ---- case ---- */

static void an_exact_spelling_wins_over_a_folded_one(void **state)
{
    struct world w;
    BEGIN(&w, "23h2", "actimeo=10");
    LISTED(&w, w.root, {"a.txt", file(1, 11)}, {"A.txt", file(2, 22)});
    assert_int_equal(size_of(&w, w.root, "a.txt"), 11);
    assert_int_equal(size_of(&w, w.root, "A.txt"), 22);
    assert_int_equal(look_up(&w, w.root, "A.TXT"), CACHE_STAT); /* which of the two? */
    missed(&w, OBSERVE_DIR, MISS_CASE);
    end(&w);
}

/* A server that never gets to the end of its directory; a hundred thousand names that fold alike.
 */
static void a_listing_of_one_name_in_many_cases_or_again_and_again_is_as_quick(void **state)
{
    enum { MANY = 200000, CASES = 1 << 17 };
    struct world w;
    BEGIN(&w, "23h2", "actimeo=10", "DirectoryCacheEntrySizeMax=1000000000");
    struct cache_ticket t = cache_ask(w.c, w.now);
    struct cache_listing *l = cache_listing_new();
    struct file_attr attr = file(1, 11);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(cache_listing_add(l, "again", 5, &attr, 120), 0);
    for (int i = 0; i < CASES; i++) {
        char name[17];
        for (int k = 0; k < 17; k++)
            name[k] = (char)((i >> k & 1 ? 'A' : 'a') + k);
        attr = file(2 + (uint64_t)i, (uint64_t)i);
        assert_int_equal(cache_listing_add(l, name, sizeof name, &attr, 136), 0);
    }
    assert_int_equal(cache_listing_seal(l, t), 0);
    assert_int_equal(cache_listing_count(l), MANY + CASES);
    cache_commit_listing(w.c, w.root, l, t, w.now);
    cache_listing_unref(l);
    assert_int_equal(size_of(&w, w.root, "again"), 11);
    assert_int_equal(size_of(&w, w.root, "ABCDEFGHIJKLMNOPQ"), CASES - 1);
    assert_int_equal(size_of(&w, w.root, "abcdefghijklmnopq"), 0);
    assert_int_equal(size_of(&w, w.root, "abcdefghijklmnopr"), MISSING);
    assert_int_equal(look_up(&w, w.root, "AGAIN"), CACHE_STAT); /* not known to fold */
    end(&w);
}

/* The server answered to a name with the file that it spells so. */
static void answered(struct world *w, const char *name, const char *spelling)
{
    cache_learn_spelling(w->c, name, strlen(name), spelling, strlen(spelling));
}

static void another_spelling_is_asked_for_until_the_server_has_shown_what_it_does(void **state)
{
    struct world w;
    BEGIN(&w, "23h2", "actimeo=10");
    LISTED(&w, w.root, {"Read.me", file(1, 11)}, {"Make", file(2, 22)});
    assert_int_equal(look_up(&w, w.root, "README.x"), CACHE_ANSWER); /* nothing alike */
    assert_int_equal(look_up(&w, w.root, "read.ME"), CACHE_STAT);
    missed(&w, OBSERVE_DIR, MISS_CASE);
    answered(&w, "read.ME", "Read.me");
    assert_int_equal(size_of(&w, w.root, "MAKE"), 22);
    was_hit(&w, OBSERVE_DIR);
    assert_int_equal(w.plan.spelling_len, 4);
    assert_memory_equal(w.plan.spelling, "Make", 4);
    end(&w);
}

static void a_missing_spelling_shows_nothing_of_the_next_one(void **state)
{
    struct world w;
    BEGIN(&w, "23h2", "actimeo=10");
    LISTED(&w, w.root, {"Read.me", file(1, 11)}, {"Make", file(2, 22)});
    missing(&w, w.root, "read.ME"); /* does not fold, or Read.me is gone */
    assert_int_equal(size_of(&w, w.root, "read.ME"), MISSING);
    was_hit(&w, OBSERVE_NOTFOUND);
    assert_int_equal(look_up(&w, w.root, "MAKE"), CACHE_STAT);
    missed(&w, OBSERVE_DIR, MISS_CASE);
    assert_int_equal(size_of(&w, w.root, "Make"), 22);
    end(&w);
}

/* A server that tells case apart: another file was made beside the one that is listed, and one was
 * renamed. */
static void a_name_that_is_found_beside_another_case_shows_nothing(void **state)
{
    struct world w;
    BEGIN(&w, "23h2", "actimeo=10");
    LISTED(&w, w.root, {"Read.me", file(1, 11)}, {"Make", file(2, 22)}, {"x", file(3, 33)});
    found(&w, w.root, "read.ME", file(4, 44), NULL);
    found(&w, w.root, "MAKE", file(2, 22), NULL);
    answered(&w, "MAKE", "MAKE");
    assert_int_equal(look_up(&w, w.root, "X"), CACHE_STAT);
    missed(&w, OBSERVE_DIR, MISS_CASE);
    answered(&w, "\xc3\x9c", "\xc3\xbc"); /* nor does folding beyond ASCII show any within */
    answered(&w, "X", "x ");
    assert_int_equal(look_up(&w, w.root, "X"), CACHE_STAT);
    end(&w);
}

static void a_name_beyond_ascii_that_is_not_listed_exactly_is_asked_for(void **state)
{
    struct world w;
    BEGIN(&w, "23h2", "actimeo=10");
    LISTED(&w, w.root, {"\xc3\xbc", file(1, 11)}, {"x", file(2, 22)});
    answered(&w, "X", "x"); /* it folds ASCII */
    assert_int_equal(size_of(&w, w.root, "\xc3\xbc"), 11);
    assert_int_equal(look_up(&w, w.root, "\xc3\x9c"), CACHE_STAT);
    missed(&w, OBSERVE_DIR, MISS_CASE);
    assert_int_equal(look_up(&w, w.root, "\xc3\xa9"), CACHE_STAT); /* nothing alike: the same */
    missed(&w, OBSERVE_DIR, MISS_CASE);
    end(&w);
}

static void an_ascii_name_is_not_taken_for_one_beyond_ascii(void **state)
{
    struct world w;
    BEGIN(&w, "23h2", "actimeo=10");
    /* the long s folds to S in Unicode; Windows' table leaves it alone */
    LISTED(&w, w.root, {"\xc5\xbf", file(1, 11)}, {"x", file(2, 22)});
    answered(&w, "X", "x");
    assert_int_equal(look_up(&w, w.root, "s"), CACHE_STAT);
    missed(&w, OBSERVE_DIR, MISS_CASE);
    end(&w);
}

/* A short name, a stream, and what Windows cuts off at the end of a name and Samba mangles. */
static void what_a_server_may_open_unlisted_is_asked_for(void **state)
{
    static const char *const names[] = {"progra~1",  "progra~2:stream", "progra~2::$DATA",
                                        "progra~2.", "other.",          "other "};
    struct world w;
    BEGIN(&w, "23h2", "actimeo=10");
    LISTED(&w, w.root, {"progra~2", file(1, 11)}, {".other", file(2, 22)});
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(look_up(&w, w.root, names[i]), CACHE_STAT);
        missed(&w, OBSERVE_DIR, MISS_CASE);
        found(&w, w.root, names[i], file(1, 11), NULL); /* no proof that the listing is old */
    }
    assert_int_equal(size_of(&w, w.root, "progra~2"), 11);
    assert_int_equal(size_of(&w, w.root, "other"), MISSING);
    end(&w);
}

/* ---- the not-found cache ---- */

static void a_negative_answers_for_its_own_spelling_until_it_runs_out(void **state)
{
    struct world w;
    BEGIN(&w, "25h2", "actimeo=5");
    uint64_t asked = w.now;
    assert_int_equal(missing(&w, w.root, "x"), asked + 5 * S);
    assert_int_equal(size_of(&w, w.root, "x"), MISSING);
    was_hit(&w, OBSERVE_NOTFOUND);
    assert_int_equal(w.plan.valid_until, asked + 5 * S);
    assert_int_equal(size_of(&w, w.root, "X"), ASK);
    missed(&w, OBSERVE_NOTFOUND, MISS_ABSENT);
    w.now = asked + 5 * S - 1;
    assert_int_equal(size_of(&w, w.root, "x"), MISSING);
    w.now = asked + 5 * S;
    assert_int_equal(size_of(&w, w.root, "x"), ASK);
    missed(&w, OBSERVE_NOTFOUND, MISS_EXPIRED);
    assert_int_equal(entries(&w, OBSERVE_NOTFOUND), 0);
    end(&w);
}

static void an_answer_that_took_longer_than_its_lifetime_is_not_believed(void **state)
{
    struct world w;
    BEGIN(&w, "25h2", "actimeo=5");
    struct cache_ticket t = cache_ask(w.c, w.now);
    pass(&w, 5 * S);
    assert_int_equal(cache_commit_missing(w.c, w.root, "x", 1, t, w.now), 0);
    assert_int_equal(size_of(&w, w.root, "x"), ASK);
    end(&w);
}

static void a_name_that_is_found_is_not_missing_any_more(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=10");
    missing(&w, w.root, "x");
    found(&w, w.root, "x", file(1, 11), NULL);
    assert_int_equal(size_of(&w, w.root, "x"), 11);
    missing(&w, w.root, "x");
    assert_int_equal(size_of(&w, w.root, "x"), MISSING);
    end(&w);
}

static void a_listing_overrides_the_negatives_that_are_older(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "DirectoryCacheLifetime=1");
    missing(&w, w.root, "x");
    LISTED(&w, w.root, {"x", file(1, 11)});
    assert_int_equal(size_of(&w, w.root, "x"), 11);
    pass(&w, 2 * S); /* the listing is gone, the negative would still be valid */
    assert_int_equal(size_of(&w, w.root, "x"), ASK);
    end(&w);
}

static void an_answer_that_contradicts_an_older_listing_drops_it(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=10");
    LISTED(&w, w.root, {"a", file(1, 11)});
    found(&w, w.root, "new", file(2, 22), NULL);
    assert_int_equal(size_of(&w, w.root, "new"), 22);
    missed(&w, OBSERVE_DIR, MISS_CHANGED);
    LISTED(&w, w.root, {"a", file(1, 11)}, {"new", file(2, 22)});
    missing(&w, w.root, "a");
    assert_int_equal(size_of(&w, w.root, "a"), MISSING);
    was_hit(&w, OBSERVE_NOTFOUND);
    end(&w);
}

/* ---- file info ---- */

static void file_info_answers_a_look_up_in_larder_and_not_in_windows_profiles(void **state)
{
    static const char *const profiles[] = {"larder", "23h2", "25h2"};
    for (size_t i = 0; i < 3; i++) {
        struct world w;
        struct cache_file *f;
        BEGIN(&w, profiles[i], "FileInfoCacheLifetime=10");
        assert_int_equal(found(&w, w.root, "f", file(1, 11), &f), w.now + 10 * S);
        assert_int_equal(size_of(&w, w.root, "f"), i == 0 ? 11 : ASK);
        if (i == 0)
            was_hit(&w, OBSERVE_INFO);
        else
            not_asked(&w, OBSERVE_INFO);
        /* who holds the file is answered in each */
        plan_attr(&w, f);
        assert_int_equal(w.plan.step, CACHE_ANSWER);
        assert_int_equal(w.plan.attr.size, 11);
        drop(&w, f);
        end(&w);
    }
}

static void file_info_lives_for_its_lifetime(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "FileInfoCacheLifetime=6");
    uint64_t asked = w.now;
    found(&w, w.root, "f", file(1, 11), NULL);
    w.now = asked + 6 * S - 1;
    assert_int_equal(size_of(&w, w.root, "f"), 11);
    assert_int_equal(w.plan.valid_until, asked + 6 * S);
    w.now = asked + 6 * S;
    assert_int_equal(size_of(&w, w.root, "f"), ASK);
    missed(&w, OBSERVE_INFO, MISS_EXPIRED);
    end(&w);
}

static void attributes_by_a_handle_do_not_prolong_where_the_name_leads(void **state)
{
    struct world w;
    struct cache_file *f;
    BEGIN(&w, "larder", "FileInfoCacheLifetime=6");
    uint64_t asked = w.now;
    found(&w, w.root, "f", file(1, 11), &f);
    pass(&w, 4 * S);
    attr_of(&w, f, file(1, 12));
    assert_int_equal(size_of(&w, w.root, "f"), 12);
    assert_int_equal(w.plan.valid_until, asked + 6 * S);
    w.now = asked + 6 * S; /* another file may have been renamed over it */
    assert_int_equal(size_of(&w, w.root, "f"), ASK);
    plan_attr(&w, f); /* but this very file's attributes are fresh */
    assert_int_equal(w.plan.step, CACHE_ANSWER);
    assert_int_equal(w.plan.valid_until, asked + 10 * S);
    drop(&w, f);
    end(&w);
}

static void the_bound_on_file_info_evicts_and_says_so(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "FileInfoCacheEntriesMax=1", "FileNotFoundCacheEntriesMax=1");
    found(&w, w.root, "f", file(1, 11), NULL);
    found(&w, w.root, "g", file(2, 22), NULL);
    assert_int_equal(entries(&w, OBSERVE_INFO), 1);
    assert_int_equal(size_of(&w, w.root, "g"), 22);
    assert_int_equal(size_of(&w, w.root, "f"), ASK);
    missed(&w, OBSERVE_INFO, MISS_EVICTED);
    missing(&w, w.root, "x");
    missing(&w, w.root, "y");
    assert_int_equal(entries(&w, OBSERVE_NOTFOUND), 1);
    assert_int_equal(size_of(&w, w.root, "y"), MISSING);
    end(&w);
}

static void a_file_that_changed_is_asked_for_and_says_so(void **state)
{
    struct world w;
    struct cache_file *f;
    BEGIN(&w, "larder", "actimeo=10");
    found(&w, w.root, "f", file(1, 11), &f);
    cache_changed(w.c, f, MISS_BROKEN);
    assert_int_equal(size_of(&w, w.root, "f"), ASK);
    missed(&w, OBSERVE_INFO, MISS_BROKEN);
    uint64_t size = 0;
    assert_true(cache_file_size(f, &size)); /* heard of, if not believed */
    assert_int_equal(size, 11);
    drop(&w, f);
    end(&w);
}

static void of_two_sources_the_newer_tells_the_attributes(void **state)
{
    struct world w;
    struct cache_file *f;
    BEGIN(&w, "23h2", "actimeo=10");
    found(&w, w.root, "f", file(1, 1), &f);
    LISTED(&w, w.root, {"f", file(1, 2)});
    assert_int_equal(size_of(&w, w.root, "f"), 2);
    attr_of(&w, f, file(1, 3));
    assert_int_equal(size_of(&w, w.root, "f"), 3);
    plan_attr(&w, f);
    assert_int_equal(w.plan.attr.size, 3);
    drop(&w, f);
    end(&w);
}

static void attributes_come_from_the_listing_where_no_others_are_held(void **state)
{
    struct world w;
    BEGIN(&w, "23h2", "actimeo=10");
    LISTED(&w, w.root, {"f", file(1, 2)});
    assert_int_equal(size_of(&w, w.root, "f"), 2);
    struct cache_file *f = cache_file_ref(w.plan.file);
    plan_attr(&w, f);
    assert_int_equal(w.plan.step, CACHE_ANSWER);
    assert_int_equal(w.plan.attr.size, 2);
    was_hit(&w, OBSERVE_DIR);
    let_go(&w);
    pass(&w, 10 * S);
    plan_attr(&w, f);
    assert_int_equal(w.plan.step, CACHE_STAT);
    missed(&w, OBSERVE_DIR, MISS_EXPIRED);
    missed(&w, OBSERVE_INFO, MISS_ABSENT);
    drop(&w, f);
    end(&w);
}

static void an_evicted_newer_size_does_not_give_way_to_the_listings_older_one(void **state)
{
    struct world w;
    struct cache_file *f;
    BEGIN(&w, "larder", "FileInfoCacheEntriesMax=1");
    LISTED(&w, w.root, {"f", file(1, 1)}, {"g", file(2, 2)});
    found(&w, w.root, "f", file(1, 5), &f);
    assert_int_equal(size_of(&w, w.root, "f"), 5);
    found(&w, w.root, "g", file(2, 2), NULL); /* pushes f's attributes out */
    assert_int_equal(size_of(&w, w.root, "f"), ASK);
    missed(&w, OBSERVE_DIR, MISS_EVICTED);
    drop(&w, f);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_profile_asks_in_its_own_way_when_nothing_is_known),
        cmocka_unit_test(a_name_in_a_regular_file_is_answered_without_asking),
        cmocka_unit_test(a_listing_answers_for_the_names_it_holds_and_for_those_it_does_not),
        cmocka_unit_test(a_listing_lives_for_its_lifetime_from_the_moment_of_asking),
        cmocka_unit_test(attributes_out_of_a_listing_live_no_longer_than_file_info),
        cmocka_unit_test(a_clock_that_steps_back_expires_what_is_from_its_future),
        cmocka_unit_test(a_listing_over_the_entry_size_is_remembered_as_too_large),
        cmocka_unit_test(a_listing_of_just_the_entry_size_is_kept),
        cmocka_unit_test(a_directory_that_grew_too_large_loses_its_old_listing),
        cmocka_unit_test(the_bound_on_listings_evicts_and_says_so),
        cmocka_unit_test(a_hit_gives_a_second_chance),
        cmocka_unit_test(a_change_is_the_reason_of_the_next_miss),
        cmocka_unit_test(a_changed_name_takes_the_listing_and_the_negatives_of_every_case_along),
        cmocka_unit_test(a_changed_name_is_not_answered_from_file_info),
        cmocka_unit_test(a_changed_directory_takes_its_negatives_along),
        cmocka_unit_test(a_partial_listing_is_the_reason_until_a_whole_one_comes),
        cmocka_unit_test(a_partial_listing_takes_nothing_from_a_whole_one),
        cmocka_unit_test(a_cache_that_is_off_in_any_way_counts_disabled_and_keeps_nothing),
        cmocka_unit_test(raising_a_lifetime_in_25h2_does_not_bring_the_directory_cache_back),
        cmocka_unit_test(without_file_info_a_listing_gives_no_attributes_and_says_why),
        cmocka_unit_test(an_exact_spelling_wins_over_a_folded_one),
        cmocka_unit_test(a_listing_of_one_name_in_many_cases_or_again_and_again_is_as_quick),
        cmocka_unit_test(another_spelling_is_asked_for_until_the_server_has_shown_what_it_does),
        cmocka_unit_test(a_missing_spelling_shows_nothing_of_the_next_one),
        cmocka_unit_test(a_name_that_is_found_beside_another_case_shows_nothing),
        cmocka_unit_test(a_name_beyond_ascii_that_is_not_listed_exactly_is_asked_for),
        cmocka_unit_test(an_ascii_name_is_not_taken_for_one_beyond_ascii),
        cmocka_unit_test(what_a_server_may_open_unlisted_is_asked_for),
        cmocka_unit_test(a_negative_answers_for_its_own_spelling_until_it_runs_out),
        cmocka_unit_test(an_answer_that_took_longer_than_its_lifetime_is_not_believed),
        cmocka_unit_test(a_name_that_is_found_is_not_missing_any_more),
        cmocka_unit_test(a_listing_overrides_the_negatives_that_are_older),
        cmocka_unit_test(an_answer_that_contradicts_an_older_listing_drops_it),
        cmocka_unit_test(file_info_answers_a_look_up_in_larder_and_not_in_windows_profiles),
        cmocka_unit_test(file_info_lives_for_its_lifetime),
        cmocka_unit_test(attributes_by_a_handle_do_not_prolong_where_the_name_leads),
        cmocka_unit_test(the_bound_on_file_info_evicts_and_says_so),
        cmocka_unit_test(a_file_that_changed_is_asked_for_and_says_so),
        cmocka_unit_test(of_two_sources_the_newer_tells_the_attributes),
        cmocka_unit_test(attributes_come_from_the_listing_where_no_others_are_held),
        cmocka_unit_test(an_evicted_newer_size_does_not_give_way_to_the_listings_older_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
