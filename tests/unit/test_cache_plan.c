/* What the cache asks for: opens, listings on evidence, and what is made of a listing that came. */
#include "cache_world.h"

/* ---- opening ---- */

static void an_open_goes_to_the_server_unless_the_name_is_believed_missing(void **state)
{
    struct world w;
    BEGIN(&w, "23h2", "actimeo=10");
    assert_int_equal(ask(&w, w.root, "a", CACHE_OPEN_IT), CACHE_OPEN); /* nothing known */
    missed(&w, OBSERVE_DIR, MISS_ABSENT);
    LISTED(&w, w.root, {"a", file(1, 11)});
    assert_int_equal(ask(&w, w.root, "a", CACHE_OPEN_IT), CACHE_OPEN);
    was_hit(&w, OBSERVE_DIR);
    assert_null(w.plan.file);
    assert_int_equal(ask(&w, w.root, "x", CACHE_OPEN_IT), CACHE_ANSWER);
    assert_int_equal(w.plan.result, -ENOENT);
    end(&w);
}

/* ---- evidence ---- */

static void an_unknown_directory_is_listed_at_the_second_probe(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=10");
    assert_int_equal(look_up(&w, w.root, "a"), CACHE_STAT);
    assert_int_equal(look_up(&w, w.root, "b"), CACHE_LIST);
    assert_true(w.plan.guess);
    end(&w);
}

static void probes_far_apart_are_no_evidence(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "DirectoryCacheLifetime=10");
    for (int i = 0; i < 5; i++) {
        assert_int_equal(look_up(&w, w.root, "a"), CACHE_STAT);
        pass(&w, 10 * S);
    }
    assert_int_equal(look_up(&w, w.root, "a"), CACHE_STAT);
    pass(&w, 10 * S - 1);
    assert_int_equal(look_up(&w, w.root, "b"), CACHE_LIST);
    end(&w);
}

static void a_directory_that_was_listed_once_is_listed_at_the_first_probe(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=10");
    LISTED(&w, w.root, {"a", file(1, 11)});
    pass(&w, 3600 * S);
    assert_int_equal(look_up(&w, w.root, "a"), CACHE_LIST);
    assert_true(w.plan.guess);
    end(&w);
}

static void a_directory_in_a_listed_one_is_listed_at_the_first_probe(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=10");
    LISTED(&w, w.root, {"d", directory(9)});
    assert_int_equal(size_of(&w, w.root, "d"), 0);
    struct cache_file *d = cache_file_ref(w.plan.file);
    assert_int_equal(look_up(&w, d, "a"), CACHE_LIST);
    pass(&w, 10 * S);
    struct cache_file *e = subdirectory(&w, "e", 10); /* the root's listing has run out */
    assert_int_equal(look_up(&w, e, "a"), CACHE_STAT);
    drop(&w, d);
    drop(&w, e);
    end(&w);
}

static void a_directory_known_to_be_large_is_listed_whole_at_the_32nd_probe(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=10");
    look_up(&w, w.root, "a");
    assert_int_equal(look_up(&w, w.root, "b"), CACHE_LIST);
    cache_commit_partial(w.c, w.root, cache_ask(w.c, w.now), w.now);
    for (int i = 1; i < 32; i++)
        assert_int_equal(look_up(&w, w.root, "c"), CACHE_STAT);
    assert_int_equal(look_up(&w, w.root, "c"), CACHE_LIST);
    assert_false(w.plan.guess);
    end(&w);
}

static void a_listing_of_more_than_one_round_trip_makes_a_directory_large(void **state)
{
    for (int over = 0; over < 2; over++) {
        struct world w;
        BEGIN(&w, "larder", "actimeo=10");
        listed_bytes(&w, w.root, 128 * 1024 + (size_t)over, ITEMS({"a", file(1, 11)}));
        pass(&w, 10 * S);
        assert_int_equal(look_up(&w, w.root, "a"), over ? CACHE_STAT : CACHE_LIST);
        end(&w);
    }
}

static void a_directory_too_large_to_keep_is_not_listed_for_evidence(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "DirectoryCacheEntrySizeMax=1000");
    listed_bytes(&w, w.root, 2000, ITEMS({"a", file(1, 11)}));
    for (int i = 0; i < 100; i++)
        assert_int_equal(look_up(&w, w.root, "a"), CACHE_STAT);
    end(&w);
}

/* Millions of names, or a slow server: as many look-ups by name cost less than one listing. */
static void a_listing_that_took_longer_than_it_is_of_use_is_not_made_again_soon(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=10");
    struct cache_ticket t = cache_ask(w.c, w.now);
    struct cache_listing *l = listing_of(&w, ITEMS({"a", file(1, 11)}), 1000000, t);
    pass(&w, 6 * S);
    cache_commit_listing(w.c, w.root, l, t, w.now);
    cache_listing_unref(l);
    assert_int_equal(size_of(&w, w.root, "a"), 11); /* for 4 s more */
    for (int i = 0; i < 95; i++) {
        pass(&w, 1 * S);
        for (int k = 0; i >= 4 && k < 40; k++)
            assert_int_equal(look_up(&w, w.root, "b"), CACHE_STAT);
    }
    pass(&w, 1 * S);
    for (int i = 1; i < 32; i++)
        assert_int_equal(look_up(&w, w.root, "c"), CACHE_STAT);
    assert_int_equal(look_up(&w, w.root, "c"), CACHE_LIST);
    end(&w);
}

static void opens_are_no_probes(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=10");
    for (int i = 0; i < 10; i++)
        assert_int_equal(ask(&w, w.root, "a", CACHE_OPEN_IT), CACHE_OPEN);
    assert_int_equal(look_up(&w, w.root, "a"), CACHE_STAT);
    end(&w);
}

/* ---- answers from a listing just fetched ---- */

static void a_fetched_listing_answers_even_where_it_is_not_believed(void **state)
{
    struct world w;
    struct cache_plan p;
    BEGIN(&w, "23h2", "actimeo=10");
    struct cache_ticket t = cache_ask(w.c, w.now);
    struct cache_listing *l =
        listing_of(&w, ITEMS({"a", file(1, 11)}, {"x~1", file(2, 22)}), 100, t);
    cache_changed(w.c, w.root, MISS_CHANGED);
    cache_commit_listing(w.c, w.root, l, t, w.now);
    assert_null(cache_plan_listing(w.c, w.root, w.now));
    cache_answer_from(w.c, w.root, l, "a", 1, t, w.now, &p);
    assert_int_equal(p.step, CACHE_ANSWER);
    assert_int_equal(p.result, 0);
    assert_int_equal(p.attr.size, 11);
    assert_int_equal(p.valid_until, 0);
    drop(&w, p.file);
    cache_answer_from(w.c, w.root, l, "b", 1, t, w.now, &p);
    assert_int_equal(p.step, CACHE_ANSWER);
    assert_int_equal(p.result, -ENOENT);
    assert_int_equal(p.valid_until, 0);
    static const char *const unsure[] = {"A", "x~2", "\xc3\xbc"};
    for (size_t i = 0; i < 3; i++) {
        cache_answer_from(w.c, w.root, l, unsure[i], strlen(unsure[i]), t, w.now, &p);
        assert_int_equal(p.step, CACHE_STAT);
    }
    cache_listing_unref(l);
    assert_int_equal(size_of(&w, w.root, "a"), ASK);
    end(&w);
}

static void a_fetched_listing_that_is_believed_says_until_when(void **state)
{
    struct world w;
    struct cache_plan p;
    BEGIN(&w, "23h2", "actimeo=10");
    struct cache_ticket t = cache_ask(w.c, w.now);
    struct cache_listing *l = listing_of(&w, ITEMS({"a", file(1, 11)}), 100, t);
    cache_commit_listing(w.c, w.root, l, t, w.now);
    pass(&w, S);
    cache_answer_from(w.c, w.root, l, "a", 1, t, w.now, &p);
    assert_int_equal(p.valid_until, t.sent + 10 * S);
    drop(&w, p.file);
    cache_answer_from(w.c, w.root, l, "b", 1, t, w.now, &p);
    assert_int_equal(p.result, -ENOENT);
    assert_int_equal(p.valid_until, t.sent + 10 * S);
    cache_listing_unref(l);
    end(&w);
}

/* ---- whole listings ---- */

static void a_listing_in_a_readers_hands_outlives_its_belief(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=10");
    assert_null(cache_plan_listing(w.c, w.root, w.now));
    LISTED(&w, w.root, {"a", file(1, 11)}, {"b", file(2, 22)});
    observe_read(w.observe, &w.before);
    struct cache_listing *l = cache_plan_listing(w.c, w.root, w.now);
    was_hit(&w, OBSERVE_DIR);
    assert_non_null(l);
    cache_changed(w.c, w.root, MISS_CHANGED);
    assert_null(cache_plan_listing(w.c, w.root, w.now));
    const struct file_attr *attr;
    size_t len;
    assert_int_equal(cache_listing_count(l), 2);
    assert_int_equal(cache_listing_wire_bytes(l), 100);
    assert_memory_equal(cache_listing_entry(l, 1, &len, &attr), "b", 1);
    assert_int_equal(len, 1);
    assert_int_equal(attr->size, 22);
    assert_null(cache_listing_unref(l));
    assert_null(cache_listing_unref(NULL));
    end(&w);
}

static void an_adopted_entry_is_the_file_that_a_look_up_finds(void **state)
{
    struct world w;
    struct cache_file *f;
    uint64_t until;
    BEGIN(&w, "larder", "FileInfoCacheLifetime=7");
    LISTED(&w, w.root, {"a", file(1, 11)}, {"b", file(2, 22)});
    struct cache_listing *l = cache_plan_listing(w.c, w.root, w.now);
    assert_int_equal(cache_adopt(w.c, w.root, l, 1, w.now, &f, &until), 0);
    assert_int_equal(until, w.now + 7 * S);
    assert_int_equal(cache_file_ino(f), 2);
    assert_int_equal(size_of(&w, w.root, "b"), 22);
    assert_ptr_equal(w.plan.file, f);
    drop(&w, f);
    cache_changed(w.c, w.root, MISS_CHANGED);
    assert_int_equal(cache_adopt(w.c, w.root, l, 0, w.now, &f, &until), 0);
    assert_int_equal(until, 0); /* the listing is not believed any more */
    drop(&w, f);
    cache_listing_unref(l);
    end(&w);
}

static void adopting_does_not_vouch_for_attributes_older_than_those_known(void **state)
{
    struct world w;
    struct cache_file *f;
    uint64_t until;
    BEGIN(&w, "larder", "actimeo=10");
    LISTED(&w, w.root, {"a", file(1, 11)});
    found(&w, w.root, "a", file(1, 12), NULL);
    struct cache_listing *l = cache_plan_listing(w.c, w.root, w.now);
    assert_int_equal(cache_adopt(w.c, w.root, l, 0, w.now, &f, &until), 0);
    assert_int_equal(until, 0);
    assert_int_equal(size_of(&w, w.root, "a"), 12);
    drop(&w, f);
    cache_listing_unref(l);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_open_goes_to_the_server_unless_the_name_is_believed_missing),
        cmocka_unit_test(an_unknown_directory_is_listed_at_the_second_probe),
        cmocka_unit_test(probes_far_apart_are_no_evidence),
        cmocka_unit_test(a_directory_that_was_listed_once_is_listed_at_the_first_probe),
        cmocka_unit_test(a_directory_in_a_listed_one_is_listed_at_the_first_probe),
        cmocka_unit_test(a_directory_known_to_be_large_is_listed_whole_at_the_32nd_probe),
        cmocka_unit_test(a_listing_of_more_than_one_round_trip_makes_a_directory_large),
        cmocka_unit_test(a_directory_too_large_to_keep_is_not_listed_for_evidence),
        cmocka_unit_test(a_listing_that_took_longer_than_it_is_of_use_is_not_made_again_soon),
        cmocka_unit_test(opens_are_no_probes),
        cmocka_unit_test(a_fetched_listing_answers_even_where_it_is_not_believed),
        cmocka_unit_test(a_fetched_listing_that_is_believed_says_until_when),
        cmocka_unit_test(a_listing_in_a_readers_hands_outlives_its_belief),
        cmocka_unit_test(an_adopted_entry_is_the_file_that_a_look_up_finds),
        cmocka_unit_test(adopting_does_not_vouch_for_attributes_older_than_those_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
