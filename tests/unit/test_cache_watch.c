/*
 * Beliefs under the tree-wide watch: what it covers, what its notices do to them, and which of
 * these are echoes of own changes. The model test (tests/model/truth_promise.c) is for the
 * combinations.
 */
#include "cache_promise.h"

static bool notice(struct world *w, enum cache_notice action, const char *path)
{
    return cache_noticed(w->c, action, path, strlen(path), w->now);
}

static struct cache_file *watched(struct world *w)
{
    BEGIN(w, "larder", NULL);
    cache_watched(w->c);
    struct cache_file *d = subdirectory(w, "d", 99);
    LISTED(w, d, {"a", file(1, 1)}, {"b", file(2, 2)});
    return d;
}

static void a_watch_covers_listing_negatives_and_directories(void **state)
{
    struct world w;
    struct cache_file *d = watched(&w), *f;
    LISTED(&w, d, {"a", file(1, 1)}, {"s", directory(97)});
    pass(&w, 59 * S);
    assert_int_equal(look_up(&w, d, "s"), CACHE_ANSWER);
    was_trusted(&w, OBSERVE_DIR, TRUST_WATCH);
    f = cache_file_ref(w.plan.file);
    plan_attr(&w, f);
    assert_int_equal(w.plan.step, CACHE_ANSWER);
    assert_int_equal(size_of(&w, d, "x"), MISSING);
    /* not: short names, the root itself */
    assert_int_equal(missing(&w, d, "f~1"), w.now + 5 * S);
    assert_int_equal(attr_of(&w, w.root, directory(50)), w.now + 10 * S);
    drop(&w, f);
    drop(&w, d);
    end(&w);
}

static void one_that_tells_of_none_of_our_own_changes_is_mute(void **state)
{
    for (int tells = 0; tells < 2; tells++) {
        struct world w;
        struct cache_file *d = watched(&w);
        pass(&w, 60 * S);
        assert_false(cache_watch_is_mute(w.c, w.now)); /* nobody changed anything */
        make(&w, d, "own", file(5, 5));
        assert_false(cache_watch_is_mute(w.c, w.now));
        if (tells)
            notice(&w, CACHE_ADDED, "d/own");
        pass(&w, 10 * S);
        assert_int_equal(cache_watch_is_mute(w.c, w.now), !tells);
        cache_unwatched(w.c);
        cache_watched(w.c); /* another one is judged anew */
        assert_false(cache_watch_is_mute(w.c, w.now));
        drop(&w, d);
        end(&w);
    }
}

static void and_one_that_has_missed_what_a_directorys_time_shows(void **state)
{
    enum { PLAIN, SAME_TIME, TOLD, OWN, OLDER_THAN_THE_WATCH, CASES };
    for (int what = 0; what < CASES; what++) {
        struct world w;
        BEGIN(&w, "larder", NULL);
        struct cache_file *d = subdirectory(&w, "d", 99);
        if (what != OLDER_THAN_THE_WATCH)
            cache_watched(w.c);
        attr_of(&w, d, dir_at(99, 7));
        cache_watched(w.c);
        pass(&w, 60 * S);
        if (what == TOLD)
            notice(&w, CACHE_MODIFIED, "elsewhere");
        if (what == OWN)
            make(&w, d, "own", file(5, 5));
        pass(&w, 9 * S);
        attr_of(&w, d, dir_at(99, what == SAME_TIME ? 7 : 8));
        assert_false(cache_watch_is_mute(w.c, w.now)); /* it may be on its way */
        if (what == OWN)
            notice(&w, CACHE_ADDED, "d/own");
        pass(&w, 10 * S);
        assert_int_equal(cache_watch_is_mute(w.c, w.now), what == PLAIN);
        drop(&w, d);
        end(&w);
    }
}

static void of_written_data_a_watch_may_not_tell(void **state)
{
    struct world w;
    struct cache_file *d = watched(&w), *f;
    assert_int_equal(size_of(&w, d, "a"), 1);
    assert_int_equal(w.plan.valid_until, w.now + 10 * S); /* as listed */
    assert_int_equal(found(&w, d, "b", file(2, 2), &f), w.now + 10 * S);
    assert_int_equal(attr_of(&w, f, file(2, 3)), w.now + 10 * S);
    pass(&w, 10 * S);
    assert_int_equal(size_of(&w, d, "a"), ASK);
    missed(&w, OBSERVE_DIR, MISS_EXPIRED);
    plan_attr(&w, f);
    assert_int_equal(w.plan.step, CACHE_STAT);
    assert_int_equal(size_of(&w, d, "x"), MISSING); /* by the same listing */
    drop(&w, f);
    drop(&w, d);
    end(&w);
}

static void a_listing_under_a_watch_tells_of_directories_for_longer_than_of_files(void **state)
{
    for (int files = 0; files < 2; files++) {
        struct world w;
        struct cache_file *d = watched(&w);
        struct file_attr of_second = files ? file(3, 3) : directory(96);
        LISTED(&w, d, {"s", directory(97)}, {"t", of_second});
        struct cache_listing *l = cache_plan_listing(w.c, d, w.now);
        assert_true(cache_listing_tells(w.c, d, l, w.now));
        cache_listing_unref(l);
        pass(&w, 10 * S);
        l = cache_plan_listing(w.c, d, w.now);
        assert_non_null(l);
        assert_int_equal(cache_listing_tells(w.c, d, l, w.now), !files);
        cache_listing_unref(l);
        drop(&w, d);
        end(&w);
    }
}

/* ls -l of such a directory, and all its files' attributes have run out. */
static void
a_listing_that_one_round_trip_does_not_bring_is_not_tried_again_for_each_name(void **state)
{
    struct world w;
    struct cache_file *d = watched(&w);
    pass(&w, 11 * S);
    assert_int_equal(look_up(&w, d, "a"), CACHE_LIST);
    assert_true(w.plan.guess);
    cache_commit_partial(w.c, d, cache_ask(w.c, w.now), w.now);
    for (int i = 1; i < 32; i++)
        assert_int_equal(look_up(&w, d, "b"), CACHE_STAT);
    assert_int_equal(look_up(&w, d, "b"), CACHE_LIST);
    assert_false(w.plan.guess);
    assert_int_equal(size_of(&w, d, "x"), MISSING); /* what is held is believed as before */
    drop(&w, d);
    end(&w);
}

static void a_name_that_came_or_went_is_asked_for_and_the_others_are_not(void **state)
{
    struct world w;
    struct cache_file *d = watched(&w);
    pass(&w, 9 * S);
    notice(&w, CACHE_ADDED, "d/new");
    notice(&w, CACHE_REMOVED, "d/b");
    assert_int_equal(look_up(&w, d, "new"), CACHE_STAT);
    missed(&w, OBSERVE_DIR, MISS_CHANGED);
    assert_int_equal(look_up(&w, d, "b"), CACHE_STAT);
    assert_int_equal(look_up(&w, d, "B"), CACHE_STAT);
    assert_int_equal(size_of(&w, d, "a"), 1);
    assert_int_equal(size_of(&w, d, "x"), MISSING);
    assert_null(cache_plan_listing(w.c, d, w.now));
    /* the answers are worked in, and the listing is whole again */
    found(&w, d, "new", file(3, 3), NULL);
    missing(&w, d, "b");
    assert_int_equal(listed_size(&w, d, "new"), 3);
    assert_int_equal(listed_size(&w, d, "b"), MISSING);
    assert_int_equal(size_of(&w, d, "b"), MISSING);
    was_hit(&w, OBSERVE_DIR);
    drop(&w, d);
    end(&w);
}

static void a_name_that_came_and_went_costs_nothing(void **state)
{
    struct world w;
    struct cache_file *d = watched(&w);
    notice(&w, CACHE_ADDED, "d/temp");
    notice(&w, CACHE_REMOVED, "d/temp");
    assert_int_equal(size_of(&w, d, "temp"), MISSING);
    drop(&w, d);
    end(&w);
}

static void an_answer_under_way_is_not_believed_over_a_notice(void **state)
{
    struct world w;
    struct cache_file *d = watched(&w), *f;
    struct cache_ticket t = sent(&w);
    struct file_attr attr = file(2, 7);
    uint64_t until;
    notice(&w, CACHE_ADDED, "d/n");
    notice(&w, CACHE_MODIFIED, "d/b");
    assert_int_equal(cache_commit_missing(w.c, d, "n", 1, t, w.now), 0);
    assert_int_equal(cache_commit_found(w.c, d, "b", 1, &attr, t, w.now, &f, &until), 0);
    assert_int_equal(until, 0);
    drop(&w, f);
    assert_int_equal(look_up(&w, d, "n"), CACHE_STAT);
    drop(&w, d);
    end(&w);
}

static void a_listing_that_was_under_way_is_not_whole_over_a_notice(void **state)
{
    struct world w;
    struct cache_file *d = watched(&w);
    struct cache_ticket t = sent(&w);
    struct cache_listing *l = listing_of(&w, ITEMS({"a", file(1, 1)}, {"new", file(3, 3)}), 100, t);
    notice(&w, CACHE_REMOVED, "d/new"); /* which is not listed yet */
    cache_commit_listing(w.c, d, l, t, w.now);
    cache_listing_unref(l);
    assert_null(cache_plan_listing(w.c, d, w.now));
    assert_int_equal(look_up(&w, d, "new"), CACHE_STAT);
    assert_int_equal(size_of(&w, d, "a"), 1);
    drop(&w, d);
    end(&w);
}

static void what_is_modified_loses_its_attributes_alone(void **state)
{
    struct world w;
    struct cache_file *d = watched(&w);
    assert_int_equal(size_of(&w, d, "a"), 1);
    notice(&w, CACHE_MODIFIED, "d/a");
    notice(&w, CACHE_MODIFIED, "D/B"); /* which nobody has looked up */
    assert_int_equal(size_of(&w, d, "a"), ASK);
    assert_int_equal(size_of(&w, d, "b"), ASK);
    assert_int_equal(size_of(&w, d, "x"), MISSING);
    assert_int_equal(listed_size(&w, d, "a"), 1); /* the names are right */
    drop(&w, d);
    end(&w);
}

static void more_doubts_than_there_is_room_for_end_the_listing(void **state)
{
    struct world w;
    struct cache_file *d = watched(&w);
    char path[32];
    for (int i = 0; i < 33; i++) {
        assert_int_equal(size_of(&w, d, "x"), MISSING);
        snprintf(path, sizeof path, "d/n%d", i);
        notice(&w, CACHE_ADDED, path);
    }
    assert_int_equal(size_of(&w, d, "x"), ASK);
    missed(&w, OBSERVE_DIR, MISS_CHANGED);
    drop(&w, d);
    end(&w);
}

static void our_own_echoes_cost_nothing_and_anothers_change_does(void **state)
{
    struct world w;
    struct cache_file *d = watched(&w);
    make(&w, d, "own", file(5, 5));
    take_away(&w, d, "a");
    move(&w, d, "b", d, "c", file(2, 2));
    assert_false(notice(&w, CACHE_ADDED, "d/own"));
    assert_false(notice(&w, CACHE_REMOVED, "d/a"));
    assert_false(notice(&w, CACHE_RENAMED_FROM, "d/b"));
    assert_false(notice(&w, CACHE_RENAMED_TO, "d/c"));
    assert_int_equal(size_of(&w, d, "own"), 5);
    assert_int_equal(size_of(&w, d, "a"), MISSING);
    assert_int_equal(size_of(&w, d, "b"), MISSING);
    assert_int_equal(size_of(&w, d, "c"), 2);
    assert_int_equal(listed_size(&w, d, "c"), 2);
    assert_true(notice(&w, CACHE_REMOVED, "d/own"));
    assert_int_equal(look_up(&w, d, "own"), CACHE_STAT);
    assert_true(notice(&w, CACHE_ADDED, "d/a"));
    assert_int_equal(look_up(&w, d, "a"), CACHE_STAT);
    drop(&w, d);
    end(&w);
}

static void what_is_told_of_a_directory_that_nobody_knows_is_no_news(void **state)
{
    struct world w;
    struct cache_file *d = watched(&w);
    assert_false(notice(&w, CACHE_ADDED, "other/n"));
    assert_false(notice(&w, CACHE_REMOVED, "d/a/n")); /* a is a file */
    assert_true(notice(&w, CACHE_ADDED, "d/n"));
    assert_true(notice(&w, CACHE_MODIFIED, "d/a"));
    assert_true(notice(&w, CACHE_MODIFIED, ""));
    drop(&w, d);
    end(&w);
}

struct reached {
    unsigned count;
    const struct cache_file *dir, *file;
    char name[16];
};

static void take_reached(void *user, const struct cache_file *dir, const char *name, size_t len,
                         const struct cache_file *f)
{
    struct reached *r = user;
    r->count++;
    r->dir = dir;
    r->file = f;
    snprintf(r->name, sizeof r->name, "%.*s", (int)len, name);
}

static void a_path_is_followed_to_all_that_it_may_mean_without_believing_anything(void **state)
{
    struct world w;
    struct cache_file *d = watched(&w), *upper = subdirectory(&w, "D", 98), *f;
    found(&w, d, "a", file(1, 1), &f);
    struct reached r = {0};
    cache_reach(w.c, "d/A", 3, take_reached, &r);
    assert_int_equal(r.count, 2); /* in d it leads to a, in D to nothing */
    assert_string_equal(r.name, "A");
    r = (struct reached){0};
    cache_reach(w.c, "d", 1, take_reached, &r);
    assert_int_equal(r.count, 2);
    assert_ptr_equal(r.dir, w.root);
    r = (struct reached){0};
    cache_reach(w.c, "d/s/x", 5, take_reached, &r);
    cache_reach(w.c, "d/a/x", 5, take_reached, &r);
    cache_reach(w.c, "", 0, take_reached, &r);
    assert_int_equal(r.count, 0);
    cache_reach(w.c, "n", 1, take_reached, &r);
    assert_int_equal(r.count, 1);
    assert_null(r.file);
    drop(&w, f);
    drop(&w, upper);
    drop(&w, d);
    end(&w);
}

static void an_echo_that_overtakes_the_reply_is_known_too(void **state)
{
    struct world w;
    struct cache_file *d = watched(&w);
    struct cache_ticket t = sent(&w);
    notice(&w, CACHE_ADDED, "d/own");
    drop(&w, made_at(&w, d, "own", file(5, 5), t));
    assert_int_equal(size_of(&w, d, "own"), 5);
    was_hit(&w, OBSERVE_DIR);
    notice(&w, CACHE_ADDED, "d/own"); /* that was it: this one is another's */
    assert_int_equal(look_up(&w, d, "own"), CACHE_STAT);
    /* two notices: somebody else was there, before or after */
    t = sent(&w);
    notice(&w, CACHE_ADDED, "d/two");
    notice(&w, CACHE_REMOVED, "d/two");
    drop(&w, made_at(&w, d, "two", file(6, 6), t));
    assert_int_equal(size_of(&w, d, "two"), ASK);
    drop(&w, d);
    end(&w);
}

static void an_echo_that_does_not_come_swallows_nothing_later(void **state)
{
    struct world w;
    struct cache_file *d = watched(&w);
    take_away(&w, d, "a");
    make(&w, d, "own", file(5, 5));
    pass(&w, 5 * S);
    notice(&w, CACHE_ADDED, "d/own");
    assert_int_equal(look_up(&w, d, "own"), CACHE_STAT);
    /* nor where the watch was armed after the change was sent */
    struct cache_ticket t = sent(&w);
    cache_unwatched(w.c);
    cache_watched(w.c);
    LISTED(&w, d, {"b", file(2, 2)});
    drop(&w, made_at(&w, d, "late", file(6, 6), t));
    notice(&w, CACHE_ADDED, "d/late");
    assert_int_equal(size_of(&w, d, "late"), ASK);
    /* nor where it may have come while nobody watched */
    LISTED(&w, d, {"b", file(2, 2)});
    make(&w, d, "gap", file(7, 7));
    cache_unwatched(w.c);
    cache_watched(w.c);
    notice(&w, CACHE_ADDED, "d/gap");
    assert_int_equal(look_up(&w, d, "gap"), CACHE_STAT);
    drop(&w, d);
    end(&w);
}

static void a_directory_that_was_moved_loses_what_was_known_beneath(void **state)
{
    struct world w;
    struct cache_file *d = watched(&w), *deep;
    found(&w, d, "s", directory(60), &deep);
    LISTED(&w, deep, {"f", file(61, 61)});
    assert_int_equal(size_of(&w, deep, "f"), 61);
    notice(&w, CACHE_RENAMED_FROM, "d");
    assert_int_equal(size_of(&w, deep, "f"), ASK);
    assert_int_equal(size_of(&w, deep, "x"), ASK);
    drop(&w, deep);
    drop(&w, d);
    end(&w);
}

static void what_was_asked_before_the_watch_stood_is_not_covered(void **state)
{
    struct world w;
    BEGIN(&w, "larder", NULL);
    struct cache_file *d = subdirectory(&w, "d", 99), *f;
    LISTED(&w, d, {"a", file(1, 1)});
    found(&w, w.root, "f", file(3, 3), &f);
    struct cache_ticket t = sent(&w);
    struct file_attr attr = file(3, 4);
    cache_watched(w.c);
    assert_int_equal(cache_own_attr(w.c, f, &attr, t, w.now), w.now + 10 * S);
    removed_at(&w, w.root, "m", t);
    assert_int_equal(size_of(&w, w.root, "m"), MISSING);
    assert_int_equal(w.plan.valid_until, w.now + 5 * S);
    pass(&w, 11 * S);
    assert_int_equal(size_of(&w, d, "x"), ASK);
    drop(&w, f);
    drop(&w, d);
    end(&w);
}

static void a_directory_that_notices_may_not_find_is_not_covered(void **state)
{
    struct world w;
    struct cache_file *d = watched(&w), *s;
    assert_int_equal(found(&w, d, "s", directory(97), &s), w.now + 60 * S);
    notice(&w, CACHE_RENAMED_FROM, "d/s");
    assert_int_equal(attr_of(&w, s, directory(97)), w.now + 10 * S); /* by its handle */
    assert_int_equal(found(&w, w.root, "g~1", directory(96), NULL), w.now + 10 * S);
    drop(&w, s);
    drop(&w, d);
    end(&w);
}

static void a_notice_by_a_path_in_another_case_may_be_about_another_directory(void **state)
{
    struct world w;
    struct cache_file *d = watched(&w), *other = subdirectory(&w, "D", 98);
    LISTED(&w, other, {"a", file(3, 3)});
    notice(&w, CACHE_ADDED, "D/n");
    notice(&w, CACHE_REMOVED, "d/n");
    assert_int_equal(look_up(&w, other, "n"), CACHE_STAT);
    drop(&w, other);
    drop(&w, d);
    end(&w);
}

static void an_entry_in_doubt_is_not_believed_by_whoever_reads_the_listing_still(void **state)
{
    struct world w;
    struct cache_file *d = watched(&w), *f;
    uint64_t until;
    struct cache_listing *l = cache_plan_listing(w.c, d, w.now);
    notice(&w, CACHE_REMOVED, "d/a");
    assert_int_equal(cache_adopt(w.c, d, l, 0, w.now, &f, &until), 0);
    assert_int_equal(until, 0);
    drop(&w, f);
    assert_int_equal(cache_adopt(w.c, d, l, 1, w.now, &f, &until), 0);
    assert_int_equal(until, w.now + 10 * S);
    drop(&w, f);
    cache_listing_unref(l);
    drop(&w, d);
    end(&w);
}

static void an_echo_that_the_server_spells_otherwise_leaves_none_to_be_awaited(void **state)
{
    struct world w;
    struct cache_file *d = watched(&w);
    cache_learn_spelling(w.c, "x", 1, "X", 1);
    take_away(&w, d, "B");
    notice(&w, CACHE_REMOVED, "d/b");
    found(&w, d, "B", file(5, 5), NULL); /* made behind the server's back */
    assert_int_equal(size_of(&w, d, "B"), 5);
    notice(&w, CACHE_REMOVED, "d/B"); /* and removed by another client */
    assert_int_equal(size_of(&w, d, "B"), ASK);
    drop(&w, d);
    end(&w);
}

static void echoes_of_several_changes_of_one_name_come_in_their_order(void **state)
{
    struct world w;
    struct cache_file *d = watched(&w);
    take_away(&w, d, "a");
    make(&w, d, "a", file(5, 5));
    notice(&w, CACHE_REMOVED, "d/a");
    notice(&w, CACHE_ADDED, "d/a");
    assert_int_equal(size_of(&w, d, "a"), 5);
    was_hit(&w, OBSERVE_DIR);
    move(&w, d, "b", d, "b", file(2, 2)); /* of which no notice comes */
    notice(&w, CACHE_REMOVED, "d/b");
    assert_int_equal(look_up(&w, d, "b"), CACHE_STAT);
    drop(&w, d);
    end(&w);
}

static void an_own_change_is_not_sure_of_attributes_that_were_modified_meanwhile(void **state)
{
    struct world w;
    struct cache_file *d = watched(&w);
    struct cache_ticket t = sent(&w);
    notice(&w, CACHE_MODIFIED, "d/own");
    drop(&w, made_at(&w, d, "own", file(5, 5), t));
    assert_int_equal(size_of(&w, d, "own"), ASK);
    drop(&w, d);
    end(&w);
}

static void after_an_own_rename_of_a_directory_notices_by_its_old_name_may_come(void **state)
{
    struct world w;
    struct cache_file *d = watched(&w);
    move(&w, w.root, "d", w.root, "e", directory(99));
    notice(&w, CACHE_MODIFIED, "d/a"); /* before the rename: nobody is there to hear it */
    assert_int_equal(size_of(&w, d, "a"), ASK);
    drop(&w, d);
    end(&w);
}

static void a_name_that_was_noticed_moves_the_directorys_times(void **state)
{
    struct world w;
    BEGIN(&w, "larder", NULL);
    struct cache_file *d = long_listed(&w);
    cache_watched(w.c);
    assert_int_equal(look_up(&w, d, "x"), CACHE_VERIFY);
    notice(&w, CACHE_ADDED, "d/new");
    assert_int_equal(look_up(&w, d, "x"), CACHE_LIST);
    drop(&w, d);
    end(&w);
}

static void lost_notices_end_everything_but_what_is_leased(void **state)
{
    struct world w;
    struct cache_file *d = watched(&w), *leased = subdirectory(&w, "l", 98);
    lease_listed(&w, leased, 7, ITEMS({"a", file(3, 3)}));
    struct cache_ticket t = sent(&w);
    cache_notices_lost(w.c);
    assert_int_equal(size_of(&w, d, "a"), ASK);
    missed(&w, OBSERVE_DIR, MISS_CHANGED);
    assert_int_equal(cache_commit_missing(w.c, d, "m", 1, t, w.now), 0);
    assert_int_equal(size_of(&w, leased, "x"), MISSING);
    LISTED(&w, d, {"s", directory(97)}); /* the watch goes on */
    pass(&w, 59 * S);
    assert_int_equal(look_up(&w, d, "s"), CACHE_ANSWER);
    drop(&w, leased);
    drop(&w, d);
    end(&w);
}

static void hostile_paths_are_harmless(void **state)
{
    struct world w;
    struct cache_file *d = watched(&w);
    static const char *const paths[] = {"",    "/",      "//",      "d/",   "/d",
                                        "d//", "d/../d", "d/a/b/c", "\xff", "x/y/z"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        for (int action = 0; action < 9; action++)
            notice(&w, (enum cache_notice)action, paths[i]);
    char *endless = malloc(70000);
    memset(endless, 'n', 70000);
    memcpy(endless, "d/", 2);
    cache_noticed(w.c, CACHE_ADDED, endless, 70000, w.now);
    for (int i = 1; i < 70000; i += 2)
        endless[i] = '/';
    cache_noticed(w.c, CACHE_ADDED, endless, 70000, w.now);
    free(endless);
    drop(&w, d);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_watch_covers_listing_negatives_and_directories),
        cmocka_unit_test(one_that_tells_of_none_of_our_own_changes_is_mute),
        cmocka_unit_test(and_one_that_has_missed_what_a_directorys_time_shows),
        cmocka_unit_test(of_written_data_a_watch_may_not_tell),
        cmocka_unit_test(a_listing_under_a_watch_tells_of_directories_for_longer_than_of_files),
        cmocka_unit_test(
            a_listing_that_one_round_trip_does_not_bring_is_not_tried_again_for_each_name),
        cmocka_unit_test(a_name_that_came_or_went_is_asked_for_and_the_others_are_not),
        cmocka_unit_test(a_name_that_came_and_went_costs_nothing),
        cmocka_unit_test(an_answer_under_way_is_not_believed_over_a_notice),
        cmocka_unit_test(a_listing_that_was_under_way_is_not_whole_over_a_notice),
        cmocka_unit_test(what_is_modified_loses_its_attributes_alone),
        cmocka_unit_test(more_doubts_than_there_is_room_for_end_the_listing),
        cmocka_unit_test(our_own_echoes_cost_nothing_and_anothers_change_does),
        cmocka_unit_test(what_is_told_of_a_directory_that_nobody_knows_is_no_news),
        cmocka_unit_test(a_path_is_followed_to_all_that_it_may_mean_without_believing_anything),
        cmocka_unit_test(an_echo_that_overtakes_the_reply_is_known_too),
        cmocka_unit_test(an_echo_that_does_not_come_swallows_nothing_later),
        cmocka_unit_test(a_directory_that_was_moved_loses_what_was_known_beneath),
        cmocka_unit_test(what_was_asked_before_the_watch_stood_is_not_covered),
        cmocka_unit_test(a_directory_that_notices_may_not_find_is_not_covered),
        cmocka_unit_test(a_notice_by_a_path_in_another_case_may_be_about_another_directory),
        cmocka_unit_test(an_entry_in_doubt_is_not_believed_by_whoever_reads_the_listing_still),
        cmocka_unit_test(an_echo_that_the_server_spells_otherwise_leaves_none_to_be_awaited),
        cmocka_unit_test(echoes_of_several_changes_of_one_name_come_in_their_order),
        cmocka_unit_test(an_own_change_is_not_sure_of_attributes_that_were_modified_meanwhile),
        cmocka_unit_test(after_an_own_rename_of_a_directory_notices_by_its_old_name_may_come),
        cmocka_unit_test(a_name_that_was_noticed_moves_the_directorys_times),
        cmocka_unit_test(lost_notices_end_everything_but_what_is_leased),
        cmocka_unit_test(hostile_paths_are_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
