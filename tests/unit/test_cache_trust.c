/*
 * Beliefs under leases: for how long they live, what ends them, and how old ones are verified. The
 * model test (tests/model/truth_promise.c) is for the combinations.
 */
#include "cache_promise.h"

/* ---- leases ---- */

static void a_leased_directory_answers_until_the_maximum_age(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "CacheMaxAge=60");
    struct cache_file *d = subdirectory(&w, "d", 99);
    lease_listed(&w, d, 7, ITEMS({"a", file(1, 1)}));
    uint64_t listed = w.now;
    pass(&w, 59 * S);
    assert_int_equal(size_of(&w, d, "x"), MISSING);
    assert_int_equal(w.plan.valid_until, listed + 60 * S);
    was_trusted(&w, OBSERVE_DIR, TRUST_LEASE);
    assert_int_equal(size_of(&w, d, "a"), ASK); /* attributes out of a listing live shorter */
    missed(&w, OBSERVE_DIR, MISS_EXPIRED);
    pass(&w, 1 * S);
    assert_int_equal(size_of(&w, d, "x"), ASK);
    missed(&w, OBSERVE_DIR, MISS_EXPIRED);
    drop(&w, d);
    end(&w);
}

static void names_looked_up_under_a_lease_live_as_long(void **state)
{
    struct world w;
    BEGIN(&w, "larder", NULL);
    struct cache_file *d = subdirectory(&w, "d", 99), *f;
    missing(&w, d, "before");
    assert_true(cache_promised(w.c, d, sent(&w)));
    uint64_t asked = w.now;
    assert_int_equal(missing(&w, d, "m"), asked + 60 * S);
    assert_int_equal(found(&w, d, "f", file(1, 1), &f), asked + 10 * S); /* its attributes */
    assert_true(cache_promised(w.c, f, sent(&w)));
    assert_int_equal(attr_of(&w, f, file(1, 2)), asked + 60 * S);
    pass(&w, 59 * S);
    assert_int_equal(size_of(&w, d, "m"), MISSING);
    was_trusted(&w, OBSERVE_NOTFOUND, TRUST_LEASE);
    assert_int_equal(size_of(&w, d, "f"), 2);
    was_trusted(&w, OBSERVE_INFO, TRUST_LEASE);
    assert_int_equal(size_of(&w, d, "before"), ASK);
    drop(&w, f);
    drop(&w, d);
    end(&w);
}

static void what_was_under_way_when_the_lease_was_noted_is_not_covered(void **state)
{
    struct world w;
    BEGIN(&w, "larder", NULL);
    struct cache_file *d = subdirectory(&w, "d", 99);
    struct cache_ticket open = sent(&w), other = sent(&w);
    assert_true(cache_promised(w.c, d, open));
    assert_int_equal(cache_commit_missing(w.c, d, "m", 1, other, w.now), w.now + 5 * S);
    assert_int_equal(cache_commit_missing(w.c, d, "n", 1, open, w.now), w.now + 60 * S);
    drop(&w, d);
    end(&w);
}

static void a_broken_lease_takes_everything_with_it_and_what_is_under_way(void **state)
{
    struct world w;
    BEGIN(&w, "larder", NULL);
    struct cache_file *d = subdirectory(&w, "d", 99), *f;
    struct cache_ticket t = lease_listed(&w, d, 7, ITEMS({"a", file(1, 1)}));
    missing(&w, d, "f~1");
    found(&w, d, "a", file(1, 1), &f);
    struct cache_ticket under_way = sent(&w);
    cache_broken(w.c, d);
    assert_int_equal(size_of(&w, d, "a"), ASK);
    missed(&w, OBSERVE_DIR, MISS_BROKEN);
    missed(&w, OBSERVE_INFO, MISS_BROKEN);
    assert_int_equal(size_of(&w, d, "f~1"), ASK);
    missed(&w, OBSERVE_NOTFOUND, MISS_BROKEN);
    assert_int_equal(cache_commit_missing(w.c, d, "m", 1, under_way, w.now), 0);
    assert_false(cache_promised(w.c, d, t)); /* the break was faster than the reply */
    assert_int_equal(missing(&w, d, "m"), w.now + 5 * S);
    /* a file's */
    assert_true(cache_promised(w.c, f, sent(&w)));
    attr_of(&w, f, file(1, 1));
    cache_broken(w.c, f);
    plan_attr(&w, f);
    assert_int_equal(w.plan.step, CACHE_STAT);
    missed(&w, OBSERVE_INFO, MISS_BROKEN);
    drop(&w, f);
    drop(&w, d);
    end(&w);
}

static void without_its_promise_a_belief_has_what_is_left_of_its_lifetime(void **state)
{
    for (int how = 0; how < 3; how++) {
        struct world w;
        BEGIN(&w, "larder", "actimeo=10");
        struct cache_file *d = subdirectory(&w, "d", 99);
        lease_listed(&w, d, 7, ITEMS({"a", file(1, 1)}));
        if (how == 2) {
            cache_watched(w.c);
            LISTED(&w, d, {"a", file(1, 1)});
        }
        uint64_t listed = w.now;
        pass(&w, 9 * S);
        if (how == 0)
            cache_unpromised(w.c, d);
        else
            cache_promises_lost(w.c);
        assert_int_equal(size_of(&w, d, "x"), MISSING);
        assert_int_equal(w.plan.valid_until, listed + 10 * S);
        was_trusted(&w, OBSERVE_DIR, TRUST_TIME);
        pass(&w, 1 * S);
        assert_int_equal(size_of(&w, d, "x"), ASK);
        assert_true(cache_promised(w.c, d, sent(&w))); /* a new one does not revive it */
        assert_int_equal(size_of(&w, d, "x"), ASK);
        drop(&w, d);
        end(&w);
    }
}

static void a_maximum_age_of_0_prolongs_nothing_and_breaks_all_the_same(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "CacheMaxAge=0");
    struct cache_file *d = subdirectory(&w, "d", 99);
    lease_listed(&w, d, 7, ITEMS({"a", file(1, 1)}));
    cache_watched(w.c);
    assert_int_equal(missing(&w, d, "f~1"), w.now + 5 * S);
    pass(&w, 11 * S);
    assert_int_equal(size_of(&w, d, "x"), ASK);
    LISTED(&w, d, {"a", file(1, 1)});
    cache_broken(w.c, d);
    assert_int_equal(size_of(&w, d, "x"), ASK);
    missed(&w, OBSERVE_DIR, MISS_BROKEN);
    drop(&w, d);
    end(&w);
}

static void a_listing_that_says_the_same_leaves_attributes_under_their_lease(void **state)
{
    struct world w;
    BEGIN(&w, "larder", NULL);
    struct cache_file *f;
    found(&w, w.root, "a", file(1, 1), &f);
    assert_true(cache_promised(w.c, f, sent(&w)));
    attr_of(&w, f, file(1, 1));
    LISTED(&w, w.root, {"a", file(1, 1)});
    pass(&w, 50 * S);
    plan_attr(&w, f);
    assert_int_equal(w.plan.step, CACHE_ANSWER);
    LISTED(&w, w.root, {"a", file(1, 5)}); /* done behind the server's back, or held back */
    plan_attr(&w, f);
    assert_int_equal(w.plan.attr.size, 5);
    pass(&w, 11 * S);
    plan_attr(&w, f);
    assert_int_equal(w.plan.step, CACHE_STAT);
    drop(&w, f);
    end(&w);
}

static void what_was_told_of_an_open_file_is_no_younger_than_its_open(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "CacheMaxAge=60");
    struct cache_file *f;
    found(&w, w.root, "a", file(1, 1), &f);
    assert_true(cache_promised(w.c, f, sent(&w)));
    uint64_t opened = w.now;
    attr_of(&w, f, file(1, 1));
    assert_false(cache_told_as_of(w.c, f, opened));
    pass(&w, 40 * S);
    assert_int_equal(attr_of(&w, f, file(1, 1)), opened + 100 * S);
    assert_int_equal(cache_file_heard_at(f), opened + 40 * S);
    assert_true(cache_told_as_of(w.c, f, opened));
    assert_int_equal(cache_file_heard_at(f), opened);
    plan_attr(&w, f);
    assert_int_equal(w.plan.step, CACHE_ANSWER);
    assert_int_equal(w.plan.valid_until, opened + 60 * S);
    pass(&w, 20 * S);
    plan_attr(&w, f);
    assert_int_equal(w.plan.step, CACHE_STAT);
    assert_false(cache_told_as_of(w.c, f, opened - 1)); /* nothing is believed any more */
    drop(&w, f);
    end(&w);
}

static void a_directory_beside_broken_names_is_looked_up_before_it_is_walked_through(void **state)
{
    struct world w;
    BEGIN(&w, "larder", NULL);
    struct cache_file *d = subdirectory(&w, "d", 99), *e;
    found(&w, d, "e", directory(98), &e);
    assert_null(cache_doubtful(w.c, e, w.now));
    cache_broken(w.c, d);
    assert_ptr_equal(cache_doubtful(w.c, e, w.now), e);
    cache_broken(w.c, w.root);
    assert_ptr_equal(cache_doubtful(w.c, e, w.now), d);
    found(&w, w.root, "d", directory(99), NULL);
    assert_ptr_equal(cache_doubtful(w.c, e, w.now), e);
    LISTED(&w, d, {"e", directory(98)}); /* a listing tells it as well */
    assert_null(cache_doubtful(w.c, e, w.now));
    drop(&w, e);
    drop(&w, d);
    end(&w);
}

static void
what_was_asked_beneath_a_name_that_led_nowhere_is_not_believed_of_what_comes(void **state)
{
    struct world w;
    BEGIN(&w, "larder", NULL);
    struct cache_file *d = subdirectory(&w, "d", 99), *e;
    const char *name;
    size_t len;
    assert_int_equal(cache_walk(w.c, "d/e/f", 5, w.now, &e, &name, &len), 0);
    missing(&w, e, "f");
    assert_int_equal(size_of(&w, e, "f"), MISSING);
    cache_broken(w.c, d); /* somebody has moved a directory there */
    found(&w, d, "e", directory(98), NULL);
    assert_int_not_equal(look_up(&w, e, "f"), CACHE_ANSWER);
    missing(&w, e, "g"); /* asked for since */
    assert_int_equal(size_of(&w, e, "g"), MISSING);
    drop(&w, e);

    assert_int_equal(cache_walk(w.c, "d/i/f", 5, w.now, &e, &name, &len), 0);
    missing(&w, e, "f");
    cache_broken(w.c, d);
    LISTED(&w, d, {"e", directory(98)}, {"i", directory(97)}); /* a listing tells it as well */
    assert_int_not_equal(look_up(&w, e, "f"), CACHE_ANSWER);
    drop(&w, e);
    drop(&w, d);
    end(&w);
}

/* ---- verification ---- */

static bool verify(struct world *w, struct cache_file *d, struct file_attr attr)
{
    return cache_verified(w->c, d, &attr, sent(w), w->now);
}

static void an_old_listing_is_verified_and_lives_on(void **state)
{
    struct world w;
    BEGIN(&w, "larder", NULL);
    struct cache_file *d = long_listed(&w);
    assert_int_equal(look_up(&w, d, "x"), CACHE_VERIFY);
    assert_int_equal(look_up(&w, d, "a"), CACHE_LIST); /* its attributes are over anyway */
    assert_int_equal(ask(&w, d, "x", CACHE_OPEN_IT), CACHE_OPEN);
    assert_null(cache_plan_listing(w.c, d, w.now));
    assert_true(cache_must_verify(w.c, d, false, w.now));
    assert_false(cache_must_verify(w.c, d, true, w.now));
    assert_true(verify(&w, d, dir_at(99, 7)));
    assert_int_equal(size_of(&w, d, "x"), MISSING);
    assert_int_equal(w.plan.valid_until, w.now + 60 * S);
    pass(&w, 59 * S);
    assert_int_equal(size_of(&w, d, "x"), MISSING);
    pass(&w, 2 * S);
    assert_int_equal(look_up(&w, d, "x"), CACHE_VERIFY);
    drop(&w, d);
    end(&w);
}

static void a_directory_with_another_time_or_id_is_listed_anew(void **state)
{
    const struct file_attr others[] = {dir_at(99, 8), dir_at(98, 7)};
    for (int i = 0; i < 3; i++) {
        struct world w;
        BEGIN(&w, "larder", NULL);
        struct cache_file *d = long_listed(&w);
        if (i < 2)
            assert_false(verify(&w, d, others[i]));
        else /* it could not be asked */
            assert_false(cache_verified(w.c, d, NULL, sent(&w), w.now));
        assert_int_equal(look_up(&w, d, "x"), CACHE_LIST);
        missed(&w, OBSERVE_DIR, MISS_CHANGED);
        drop(&w, d);
        end(&w);
    }
}

static void a_time_that_was_new_when_listed_or_was_changed_since_verifies_nothing(void **state)
{
    struct world w;
    BEGIN(&w, "larder", NULL);
    struct cache_file *d = subdirectory(&w, "d", 99);
    lease_listed(&w, d, 7, ITEMS({"a", file(1, 1)}));
    pass(&w, 61 * S);
    assert_int_equal(look_up(&w, d, "x"), CACHE_LIST);
    lease_listed(&w, d, 7, ITEMS({"a", file(1, 1)})); /* by now it is known to be old */
    pass(&w, 61 * S);
    assert_int_equal(look_up(&w, d, "x"), CACHE_VERIFY);
    assert_true(verify(&w, d, dir_at(99, 7)));
    make(&w, d, "own", file(5, 5));
    pass(&w, 61 * S);
    assert_int_equal(look_up(&w, d, "x"), CACHE_LIST);
    drop(&w, d);
    end(&w);
}

static void without_a_promise_nothing_is_verified(void **state)
{
    struct world w;
    BEGIN(&w, "larder", NULL);
    struct cache_file *d = long_listed(&w);
    cache_unpromised(w.c, d);
    assert_false(cache_must_verify(w.c, d, false, w.now));
    assert_int_equal(look_up(&w, d, "x"), CACHE_LIST);
    drop(&w, d);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_leased_directory_answers_until_the_maximum_age),
        cmocka_unit_test(names_looked_up_under_a_lease_live_as_long),
        cmocka_unit_test(what_was_under_way_when_the_lease_was_noted_is_not_covered),
        cmocka_unit_test(a_broken_lease_takes_everything_with_it_and_what_is_under_way),
        cmocka_unit_test(without_its_promise_a_belief_has_what_is_left_of_its_lifetime),
        cmocka_unit_test(a_maximum_age_of_0_prolongs_nothing_and_breaks_all_the_same),
        cmocka_unit_test(a_listing_that_says_the_same_leaves_attributes_under_their_lease),
        cmocka_unit_test(what_was_told_of_an_open_file_is_no_younger_than_its_open),
        cmocka_unit_test(a_directory_beside_broken_names_is_looked_up_before_it_is_walked_through),
        cmocka_unit_test(
            what_was_asked_beneath_a_name_that_led_nowhere_is_not_believed_of_what_comes),
        cmocka_unit_test(an_old_listing_is_verified_and_lives_on),
        cmocka_unit_test(a_directory_with_another_time_or_id_is_listed_anew),
        cmocka_unit_test(a_time_that_was_new_when_listed_or_was_changed_since_verifies_nothing),
        cmocka_unit_test(without_a_promise_nothing_is_verified),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
