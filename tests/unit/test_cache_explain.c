/*
 * What is shown of a belief, and forgetting on request. That what is said to come next is what
 * comes next, and that to look changes nothing, the model tests check at every look-up.
 */
#include "cache_own.h"

static struct cache_explained explain(struct world *w, struct cache_file *dir, const char *name)
{
    struct cache_explained e;
    struct observe_counts before = counts(w), after;
    cache_explain(w->c, dir, name, strlen(name), false, w->now, &e);
    after = counts(w);
    assert_memory_equal(before.cache, after.cache, sizeof before.cache);
    if (e.file)
        cache_file_unref(w->c, e.file);
    return e;
}

static void forget(struct world *w, const char *path, uint64_t dirs, uint64_t infos,
                   uint64_t negatives)
{
    uint64_t dropped[OBSERVE_CACHES];
    cache_drop(w->c, path, strlen(path), dropped);
    assert_int_equal(dropped[OBSERVE_DIR], dirs);
    assert_int_equal(dropped[OBSERVE_INFO], infos);
    assert_int_equal(dropped[OBSERVE_NOTFOUND], negatives);
}

/* ---- what is shown ---- */

static void of_what_nobody_asked_for_nothing_is_believed(void **state)
{
    struct world w;
    BEGIN(&w, "larder", NULL);
    struct cache_explained e = explain(&w, w.root, "f");
    assert_false(e.listed.held || e.info.held || e.missing.held || e.listing.held);
    assert_false(e.listed.missed || e.info.missed || e.missing.missed);
    assert_int_equal(e.listed.why, MISS_ABSENT);
    assert_null(e.file);
    assert_int_equal(e.step, CACHE_STAT);
    assert_int_equal(e.attr_step, CACHE_ANSWER); /* the STAT brings them */
    assert_int_equal(e.list_step, CACHE_LIST);
    end(&w);
}

static void attributes_have_an_age_a_term_and_a_reason(void **state)
{
    struct world w;
    BEGIN(&w, "larder", NULL);
    assert_int_equal(size_of(&w, w.root, "f"), ASK);
    uint64_t asked = w.now;
    found(&w, w.root, "f", file(1, 7), NULL);
    pass(&w, 3 * S);
    struct cache_explained e = explain(&w, w.root, "f");
    assert_true(e.info.held && e.info.good && !e.info_from_listing);
    assert_int_equal(e.info.since, asked);
    assert_int_equal(e.info.until, asked + 10 * S);
    assert_int_equal(e.info.trust, TRUST_TIME);
    assert_true(e.info.missed);
    assert_int_equal(e.info.missed_why, MISS_ABSENT);
    assert_int_equal(e.info.missed_at, asked);
    assert_true(e.heard && e.attr.size == 7 && e.kind_known && !e.is_dir);
    assert_int_equal(e.step, CACHE_ANSWER);
    assert_int_equal(e.answered_by, OBSERVE_INFO);

    pass(&w, 8 * S);
    e = explain(&w, w.root, "f");
    assert_true(e.info.held && !e.info.good);
    assert_int_equal(e.info.why, MISS_EXPIRED);
    assert_int_equal(e.info.missed_why, MISS_ABSENT); /* nobody has asked since */
    assert_int_equal(e.step, CACHE_STAT);
    assert_int_equal(size_of(&w, w.root, "f"), ASK);
    e = explain(&w, w.root, "f");
    assert_false(e.info.held);
    assert_int_equal(e.info.missed_why, MISS_EXPIRED);
    assert_int_equal(e.info.missed_at, w.now);
    end(&w);
}

static void a_listing_tells_of_names_and_of_itself(void **state)
{
    struct world w;
    BEGIN(&w, "larder", NULL);
    struct cache_file *d = subdirectory(&w, "d", 9);
    uint64_t asked = w.now;
    LISTED(&w, d, {"a", file(1, 7)}, {"b", file(2, 8)});
    pass(&w, 1 * S);
    struct cache_explained e = explain(&w, d, "a");
    assert_true(e.listed.good && e.listed_entries == 2);
    assert_int_equal(e.says, CACHE_SAYS_THERE);
    assert_int_equal(e.listed.since, asked);
    assert_true(e.info.good && e.info_from_listing);
    assert_int_equal(e.answered_by, OBSERVE_DIR);
    e = explain(&w, d, "x");
    assert_int_equal(e.says, CACHE_SAYS_MISSING);
    assert_int_equal(e.step, CACHE_ANSWER);
    assert_int_equal(e.result, -ENOENT);
    e = explain(&w, d, "\xc3\xa4");
    assert_int_equal(e.says, CACHE_SAYS_NOTHING);
    assert_false(e.listed.good);
    assert_int_equal(e.listed.why, MISS_CASE);
    e = explain(&w, w.root, "d");
    assert_true(e.is_dir && e.listing.good && e.entries == 2 && e.entries_bytes == 100);
    assert_int_equal(e.list_step, CACHE_ANSWER);
    assert_int_equal(explain(&w, w.root, "D").step, CACHE_STAT);
    drop(&w, d);
    end(&w);
}

static void a_missing_name_is_believed_for_its_own_time(void **state)
{
    struct world w;
    BEGIN(&w, "larder", NULL);
    assert_int_equal(size_of(&w, w.root, "x"), ASK);
    missing(&w, w.root, "x");
    struct cache_explained e = explain(&w, w.root, "x");
    assert_true(e.missing.good);
    assert_int_equal(e.missing.until, w.now + 5 * S);
    assert_int_equal(e.result, -ENOENT);
    assert_int_equal(e.answered_by, OBSERVE_NOTFOUND);
    pass(&w, 5 * S);
    e = explain(&w, w.root, "x");
    assert_true(e.missing.held && !e.missing.good);
    assert_int_equal(e.missing.why, MISS_EXPIRED);
    assert_true(e.missing.missed && e.missing.missed_why == MISS_ABSENT);
    end(&w);
}

static void promises_are_named_and_an_old_listing_is_to_be_verified(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "CacheMaxAge=60");
    struct file_attr attr = directory(9);
    attr.written = attr.changed = 7;
    struct cache_file *d;
    found(&w, w.root, "d", attr, &d);
    pass(&w, 3 * S);
    cache_watched(w.c);
    struct cache_ticket t = sent(&w);
    struct cache_listing *l = listing_of(&w, ITEMS({"a", file(1, 7)}), 100, t);
    cache_commit_attr(w.c, d, &attr, t, w.now);
    cache_commit_listing(w.c, d, l, t, w.now);
    cache_listing_unref(l);
    struct cache_explained e = explain(&w, w.root, "d");
    assert_int_equal(e.listing.trust, TRUST_WATCH);
    assert_int_equal(e.listing.until, w.now + 60 * S);
    e = explain(&w, d, "a"); /* of written data servers tell late or never */
    assert_int_equal(e.info.trust, TRUST_TIME);
    assert_int_equal(e.info.until, w.now + 10 * S);
    assert_int_equal(explain(&w, w.root, "d").info.trust, TRUST_WATCH);
    assert_true(cache_promised(w.c, d, t));
    assert_int_equal(explain(&w, w.root, "d").listing.trust, TRUST_LEASE);
    cache_unpromised(w.c, d);

    pass(&w, 60 * S);
    e = explain(&w, w.root, "d");
    assert_true(e.listing.held && !e.listing.good && e.listing.verifiable);
    assert_int_equal(e.list_step, CACHE_VERIFY);
    assert_int_equal(explain(&w, d, "x").step, CACHE_VERIFY);
    assert_true(cache_verified(w.c, d, &attr, sent(&w), w.now));
    e = explain(&w, w.root, "d");
    assert_true(e.listing.good && e.listing.verified == w.now);
    drop(&w, d);
    end(&w);
}

static void beneath_what_nobody_knows_the_profile_decides(void **state)
{
    static const struct {
        const char *profile;
        enum cache_step step;
    } first[] = {{"23h2", CACHE_LIST}, {"25h2", CACHE_SEARCH}, {"off", CACHE_STAT}};
    struct cache_explained e;
    struct world w;
    for (size_t i = 0; i < 3; i++) {
        BEGIN(&w, first[i].profile, NULL);
        cache_explain(w.c, NULL, "f", 1, false, w.now, &e);
        assert_int_equal(e.step, first[i].step);
        assert_int_equal(e.attr_step, i < 2 ? CACHE_ANSWER : CACHE_STAT);
        end(&w);
    }
    BEGIN(&w, "larder", NULL);
    cache_explain(w.c, NULL, "f", 1, false, w.now, &e);
    assert_int_equal(e.step, CACHE_STAT);
    cache_explain(w.c, NULL, "f", 1, true, w.now, &e);
    assert_int_equal(e.step, CACHE_LIST);
    assert_true(e.guess);
    end(&w);
}

/* ---- forgetting ---- */

static void a_file_that_is_dropped_is_asked_for_and_its_siblings_are_not(void **state)
{
    struct world w;
    BEGIN(&w, "larder", NULL);
    struct cache_file *d = subdirectory(&w, "d", 9);
    LISTED(&w, d, {"a", file(1, 7)}, {"b", file(2, 8)});
    found(&w, d, "a", file(1, 7), NULL);
    forget(&w, "D/A", 0, 1, 0); /* in whatever case */
    assert_int_equal(explain(&w, d, "a").step, CACHE_STAT);
    assert_int_equal(size_of(&w, d, "b"), 8);
    assert_int_equal(size_of(&w, d, "x"), MISSING);
    assert_int_equal(size_of(&w, d, "a"), ASK);
    found(&w, d, "a", file(1, 9), NULL);
    assert_int_equal(size_of(&w, d, "a"), 9);
    assert_int_equal(counts(&w).cache[OBSERVE_INFO].invalidations, 1);
    drop(&w, d);
    end(&w);
}

static void
what_is_dropped_by_a_name_that_the_server_may_spell_otherwise_is_not_listed_so(void **state)
{
    static const char *const names[] = {"LONGNA~1", "X"}; /* of LongName.txt, x: just made there */
    for (size_t i = 0; i < 2; i++) {
        struct world w;
        BEGIN(&w, "larder", NULL);
        char path[16];
        struct cache_file *d = subdirectory(&w, "d", 9);
        LISTED(&w, d, {"a", file(1, 7)});
        snprintf(path, sizeof path, "d/%s", names[i]);
        forget(&w, path, 0, 0, 0);
        found(&w, d, names[i], file(2, 8), NULL);
        assert_null(cache_plan_listing(w.c, d, w.now));
        assert_int_equal(size_of(&w, d, names[i]), 8);
        drop(&w, d);
        end(&w);
    }
}

static void a_listed_name_that_is_dropped_is_listed_still_where_it_is_the_same_file(void **state)
{
    for (uint64_t id = 1; id <= 2; id++) {
        struct world w;
        BEGIN(&w, "larder", NULL);
        struct cache_file *d = subdirectory(&w, "d", 9);
        LISTED(&w, d, {"a", file(1, 7)});
        forget(&w, "d/a", 0, 0, 0);
        assert_null(cache_plan_listing(w.c, d, w.now));
        found(&w, d, "a", file(id, 8), NULL);
        struct cache_listing *l = cache_plan_listing(w.c, d, w.now);
        assert_int_equal(l != NULL, id == 1);
        cache_listing_unref(l);
        drop(&w, d);
        end(&w);
    }
}

static void a_missing_name_that_is_dropped_is_asked_for(void **state)
{
    struct world w;
    BEGIN(&w, "larder", NULL);
    struct cache_file *d = subdirectory(&w, "d", 9);
    missing(&w, d, "x");
    missing(&w, d, "y");
    forget(&w, "d/x", 0, 0, 1);
    assert_int_equal(size_of(&w, d, "x"), ASK);
    assert_int_equal(size_of(&w, d, "y"), MISSING);
    drop(&w, d);
    end(&w);
}

/* A tree d/e of listings, attributes and negatives, each directory under a lease. */
static void leased_tree(struct world *w, struct cache_file **ret_d, struct cache_file **ret_e)
{
    struct cache_file *d = subdirectory(w, "d", 9), *e;
    found(w, d, "e", directory(10), &e);
    assert_true(cache_promised(w->c, d, sent(w)) && cache_promised(w->c, e, sent(w)));
    LISTED(w, d, {"e", directory(10)});
    LISTED(w, e, {"a", file(1, 7)});
    found(w, e, "a", file(1, 7), NULL);
    *ret_d = d;
    *ret_e = e;
}

static void with_a_directory_all_beneath_is_forgotten_also_under_a_lease(void **state)
{
    struct world w;
    struct cache_file *d, *e, *other;
    BEGIN(&w, "larder", NULL);
    leased_tree(&w, &d, &e);
    other = subdirectory(&w, "other", 20);
    LISTED(&w, other, {"o", file(3, 1)});
    struct cache_ticket under_way = sent(&w);
    forget(&w, "d", 2, 3, 0);
    assert_int_equal(size_of(&w, w.root, "d"), ASK);
    assert_int_equal(size_of(&w, d, "e"), ASK);
    missed(&w, OBSERVE_DIR, MISS_DROPPED);
    assert_int_equal(size_of(&w, e, "a"), ASK);
    assert_int_equal(size_of(&w, e, "x"), ASK);
    assert_int_equal(size_of(&w, other, "o"), 1);
    struct cache_listing *l = listing_of(&w, ITEMS({"a", file(1, 7)}), 100, under_way);
    cache_commit_listing(w.c, e, l, under_way, w.now); /* asked for before */
    cache_listing_unref(l);
    assert_int_equal(size_of(&w, e, "x"), ASK);
    LISTED(&w, e, {"a", file(1, 7)});
    assert_int_equal(size_of(&w, e, "x"), MISSING); /* the lease goes on */
    assert_int_equal(explain(&w, d, "e").listing.trust, TRUST_LEASE);
    drop(&w, d);
    drop(&w, e);
    drop(&w, other);
    end(&w);
}

static void everything_is_everything(void **state)
{
    struct world w;
    struct cache_file *d, *e;
    BEGIN(&w, "larder", NULL);
    leased_tree(&w, &d, &e);
    missing(&w, w.root, "x");
    forget(&w, "", 2, 3, 1);
    for (int i = 0; i < OBSERVE_CACHES; i++)
        assert_int_equal(entries(&w, (enum observe_cache)i), 0);
    assert_int_equal(size_of(&w, e, "a"), ASK);
    assert_int_equal(size_of(&w, w.root, "x"), ASK);
    forget(&w, "", 0, 0, 0);
    forget(&w, "no/such/path", 0, 0, 0);
    forget(&w, "d//e///", 0, 0, 0);
    drop(&w, d);
    drop(&w, e);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_what_nobody_asked_for_nothing_is_believed),
        cmocka_unit_test(attributes_have_an_age_a_term_and_a_reason),
        cmocka_unit_test(a_listing_tells_of_names_and_of_itself),
        cmocka_unit_test(a_missing_name_is_believed_for_its_own_time),
        cmocka_unit_test(promises_are_named_and_an_old_listing_is_to_be_verified),
        cmocka_unit_test(beneath_what_nobody_knows_the_profile_decides),
        cmocka_unit_test(a_file_that_is_dropped_is_asked_for_and_its_siblings_are_not),
        cmocka_unit_test(
            what_is_dropped_by_a_name_that_the_server_may_spell_otherwise_is_not_listed_so),
        cmocka_unit_test(a_listed_name_that_is_dropped_is_listed_still_where_it_is_the_same_file),
        cmocka_unit_test(a_missing_name_that_is_dropped_is_asked_for),
        cmocka_unit_test(with_a_directory_all_beneath_is_forgotten_also_under_a_lease),
        cmocka_unit_test(everything_is_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
