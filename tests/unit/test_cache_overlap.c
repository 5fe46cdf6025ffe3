/*
 * Own changes that overlap with one another, with answers and with readers: what is believed after
 * all; and what changes cost, however many there are.
 */
#include "cache_own.h"

/* ---- counting the work: base/utf is called once for each entry that is hashed or compared ---- */

static uint64_t work;
uint64_t __real_utf8_fold_hash(const char *utf8, size_t len, uint64_t seed);
uint64_t __wrap_utf8_fold_hash(const char *utf8, size_t len, uint64_t seed);
bool __real_utf8_fold_equal(const char *a, size_t a_len, const char *b, size_t b_len);
bool __wrap_utf8_fold_equal(const char *a, size_t a_len, const char *b, size_t b_len);

uint64_t __wrap_utf8_fold_hash(const char *utf8, size_t len, uint64_t seed)
{
    work++;
    return __real_utf8_fold_hash(utf8, len, seed);
}

bool __wrap_utf8_fold_equal(const char *a, size_t a_len, const char *b, size_t b_len)
{
    work++;
    return __real_utf8_fold_equal(a, a_len, b, b_len);
}

/* ---- what overlaps ---- */

static void of_two_own_changes_of_one_name_that_overlap_nothing_is_believed(void **state)
{
    for (int order = 0; order < 4; order++) {
        struct world w;
        BEGIN(&w, "larder", "actimeo=10");
        LISTED(&w, w.root, {"b", file(2, 2)});
        bool make_first = order % 2, make_sent_first = order / 2;
        struct cache_ticket t1 = sent(&w), t2 = sent(&w);
        struct cache_ticket made = make_sent_first ? t1 : t2, gone = make_sent_first ? t2 : t1;
        if (!make_first)
            removed_at(&w, w.root, "a", gone);
        drop(&w, made_at(&w, w.root, "a", file(1, 1), made));
        if (make_first)
            removed_at(&w, w.root, "a", gone);
        assert_int_equal(size_of(&w, w.root, "a"), ASK);
        missed(&w, OBSERVE_DIR, MISS_CHANGED);
        assert_int_equal(entries(&w, OBSERVE_NOTFOUND), 0);
        end(&w);
    }
}

static void own_changes_of_different_names_may_overlap(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=10");
    LISTED(&w, w.root, {"a", file(1, 1)}, {"b", file(2, 2)});
    struct cache_ticket t[4] = {sent(&w), sent(&w), sent(&w), sent(&w)};
    struct file_attr moved = file(2, 2);
    drop(&w, made_at(&w, w.root, "c", file(3, 3), t[3]));
    removed_at(&w, w.root, "a", t[0]);
    renamed_at(&w, w.root, "b", w.root, "bb", &moved, t[2]);
    drop(&w, made_at(&w, w.root, "d", file(4, 4), t[1]));
    assert_int_equal(listed_size(&w, w.root, "a"), MISSING);
    assert_int_equal(listed_size(&w, w.root, "b"), MISSING);
    assert_int_equal(listed_size(&w, w.root, "bb"), 2);
    assert_int_equal(listed_size(&w, w.root, "c"), 3);
    assert_int_equal(listed_size(&w, w.root, "d"), 4);
    end(&w);
}

static void an_answer_from_before_the_change_does_not_stand_in_its_way(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=10");
    struct cache_ticket asked = sent(&w), change = sent(&w);
    cache_commit_missing(w.c, w.root, "a", 1, asked, w.now);
    drop(&w, made_at(&w, w.root, "a", file(1, 1), change));
    assert_int_equal(size_of(&w, w.root, "a"), 1);
    end(&w);

    BEGIN(&w, "larder", "actimeo=10"); /* asked before, told after */
    asked = sent(&w);
    drop(&w, made_at(&w, w.root, "a", file(1, 1), sent(&w)));
    assert_int_equal(cache_commit_missing(w.c, w.root, "a", 1, asked, w.now), 0);
    assert_int_equal(size_of(&w, w.root, "a"), 1);
    struct cache_listing *l = listing_of(&w, ITEMS({"b", file(2, 2)}), 100, asked);
    cache_commit_listing(w.c, w.root, l, asked, w.now); /* has it, or has it not */
    cache_listing_unref(l);
    assert_false(is_listed(&w, w.root));
    end(&w);
}

static void an_answer_from_within_the_change_leaves_it_in_doubt(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=10"); /* told before the change is completed */
    struct cache_ticket change = sent(&w);
    missing(&w, w.root, "a");
    drop(&w, made_at(&w, w.root, "a", file(1, 1), change));
    assert_int_equal(size_of(&w, w.root, "a"), ASK);
    end(&w);

    BEGIN(&w, "larder", "actimeo=10"); /* told after: the change has the word, until asked again */
    change = sent(&w);
    struct cache_ticket asked = sent(&w);
    removed_at(&w, w.root, "a", change);
    struct file_attr attr = file(1, 1);
    struct cache_file *f;
    uint64_t until;
    assert_int_equal(cache_commit_found(w.c, w.root, "a", 1, &attr, asked, w.now, &f, &until), 0);
    assert_int_equal(until, 0);
    assert_int_equal(size_of(&w, w.root, "a"), MISSING);
    drop(&w, f);
    found(&w, w.root, "a", file(1, 2), NULL);
    assert_int_equal(size_of(&w, w.root, "a"), 2);
    end(&w);

    BEGIN(&w, "larder", "actimeo=10"); /* a whole listing from within */
    change = sent(&w);
    LISTED(&w, w.root, {"b", file(2, 2)});
    drop(&w, made_at(&w, w.root, "a", file(1, 1), change));
    assert_false(is_listed(&w, w.root));
    end(&w);
}

static void who_met_the_name_within_the_change_leaves_it_in_doubt(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=10");
    struct cache_ticket change = sent(&w), asked = sent(&w);
    struct cache_listing *l = listing_of(&w, ITEMS({"a", file(7, 7)}), 100, asked);
    struct cache_file *f;
    uint64_t until;
    assert_int_equal(cache_adopt(w.c, w.root, l, 0, w.now, &f, &until), 0);
    drop(&w, made_at(&w, w.root, "a", file(1, 1), change));
    assert_int_equal(size_of(&w, w.root, "a"), ASK);
    cache_listing_unref(l);
    drop(&w, f);
    end(&w);
}

static void attributes_from_within_an_own_change_leave_them_in_doubt(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=10");
    struct cache_file *f;
    struct file_attr one = file(1, 1), two = file(1, 2);
    found(&w, w.root, "a", one, &f);
    struct cache_ticket t1 = sent(&w), t2 = sent(&w);
    assert_true(cache_own_attr(w.c, f, &two, t2, w.now) > 0);
    assert_int_equal(cache_own_attr(w.c, f, &one, t1, w.now), 0); /* two writes at a time */
    plan_attr(&w, f);
    assert_int_equal(w.plan.step, CACHE_STAT);
    missed(&w, OBSERVE_INFO, MISS_CHANGED);
    drop(&w, f);
    end(&w);
}

static void what_is_asked_beneath_a_directory_that_moves_is_not_believed(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=10");
    struct cache_file *d = subdirectory(&w, "d", 1);
    LISTED(&w, d, {"f", file(2, 2)});
    struct cache_ticket before = sent(&w), change = sent(&w), within = sent(&w);
    struct cache_ticket make_within = sent(&w);
    struct file_attr attr = directory(1);
    renamed_at(&w, w.root, "d", w.root, "e", &attr, change);
    assert_int_equal(cache_commit_missing(w.c, d, "x", 1, before, w.now), 0);
    assert_int_equal(cache_commit_missing(w.c, d, "x", 1, within, w.now), 0);
    assert_int_equal(size_of(&w, d, "f"), 2); /* what was believed before stays */
    drop(&w, made_at(&w, d, "x", file(3, 3), make_within));
    assert_int_equal(size_of(&w, d, "x"), ASK);
    drop(&w, d);
    end(&w);

    BEGIN(&w, "larder",
          "actimeo=10"); /* told before the rename is completed: the path led nowhere */
    d = subdirectory(&w, "d", 1);
    change = sent(&w);
    missing(&w, d, "f");
    renamed_at(&w, w.root, "d", w.root, "e", &attr, change);
    assert_int_equal(size_of(&w, d, "f"), ASK);
    drop(&w, d);
    end(&w);
}

/* ---- bounds, readers, and what it costs ---- */

static void a_listing_that_grows_over_the_entry_size_was_too_large(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "DirectoryCacheEntrySizeMax=400");
    LISTED(&w, w.root, {"a", file(1, 1)}); /* 100 bytes, and 112 and 120 for each of these */
    make(&w, w.root, "bcd", file(2, 2));
    make(&w, w.root, "bcdefg", file(3, 3));
    assert_true(is_listed(&w, w.root));
    assert_int_equal(cache_listing_wire_bytes(w.root->dir->listing), 100 + 112 + 120);
    take_away(&w, w.root, "bcd");
    assert_int_equal(cache_listing_wire_bytes(w.root->dir->listing), 220);
    make(&w, w.root, "bcd", file(4, 4));
    make(&w, w.root, "e", file(5, 5));
    assert_false(is_listed(&w, w.root));
    assert_int_equal(size_of(&w, w.root, "f"), ASK);
    missed(&w, OBSERVE_DIR, MISS_TOO_LARGE);
    end(&w);
}

static void a_reader_keeps_his_listing_as_it_was(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=10");
    LISTED(&w, w.root, {"a", file(1, 1)}, {"b", file(2, 2)}, {"c", file(3, 3)});
    struct cache_listing *l = cache_plan_listing(w.c, w.root, w.now);
    take_away(&w, w.root, "a");
    make(&w, w.root, "d", file(4, 4));
    move(&w, w.root, "c", w.root, "cc", file(3, 30));
    size_t len;
    const struct file_attr *attr;
    assert_int_equal(cache_listing_count(l), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(*cache_listing_entry(l, i, &len, &attr), 'a' + (char)i);
        assert_int_equal(attr->size, i + 1);
    }
    struct cache_file *f;
    uint64_t until;
    assert_int_equal(cache_adopt(w.c, w.root, l, 1, w.now, &f, &until), 0); /* still so */
    assert_int_equal(until, w.now + 10 * S);
    drop(&w, f);
    assert_int_equal(cache_adopt(w.c, w.root, l, 0, w.now, &f, &until), 0); /* gone meanwhile */
    assert_int_equal(until, 0);
    path_is(f, NULL);
    drop(&w, f);
    assert_int_equal(size_of(&w, w.root, "a"), MISSING);
    cache_listing_unref(l);
    end(&w);
}

enum { MANY = 20000 };

static void name_many(int i, char name[24])
{
    snprintf(name, 24, "file-%05d", i);
}

static void each_of_many_changes_costs_the_same(void **state)
{
    for (int reading = 0; reading < 2; reading++) {
        struct world w;
        BEGIN(&w, "larder", "actimeo=600");
        char name[24];
        LISTED(&w, w.root, {"first", file(1, 1)});
        struct cache_listing *reader = reading ? cache_plan_listing(w.c, w.root, w.now) : NULL;
        work = 0;
        for (int i = 0; i < MANY; i++) {
            name_many(i, name);
            make(&w, w.root, name, file((uint64_t)i + 10, (uint64_t)i));
        }
        assert_int_equal(listed_size(&w, w.root, "file-19999"), 19999);
        assert_true(work < 40 * MANY);
        cache_listing_unref(reader);
        reader = reading ? cache_plan_listing(w.c, w.root, w.now) : NULL;
        struct cache_listing *before = w.root->dir->listing;
        work = 0;
        for (int i = 0; i < MANY; i++) {
            name_many(i * 7919 % MANY, name); /* in no order */
            take_away(&w, w.root, name);
            if (i == MANY / 2)
                assert_int_equal(size_of(&w, w.root, name), MISSING);
        }
        assert_true(work < 40 * MANY);
        assert_int_equal(w.root->dir->listing == before, !reading);
        cache_listing_unref(reader);
        reader = cache_plan_listing(w.c, w.root, w.now);
        assert_int_equal(cache_listing_count(reader), 1);
        cache_listing_unref(reader);
        assert_int_equal(patches(&w, OBSERVE_DIR), 2 * MANY);
        end(&w);
    }
}

static void one_name_made_and_removed_again_and_again_costs_the_same(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=600");
    char name[24];
    LISTED(&w, w.root, {"first", file(1, 1)});
    for (int i = 0; i < 1000; i++) {
        name_many(i, name);
        make(&w, w.root, name, file((uint64_t)i + 10, 0));
    }
    work = 0;
    for (int i = 0; i < MANY; i++) {
        make(&w, w.root, i % 2 ? "tmp" : "Tmp", file((uint64_t)i + 5000, 0));
        take_away(&w, w.root, i % 2 ? "tmp" : "Tmp");
    }
    assert_true(work < 80 * MANY);
    assert_true(is_listed(&w, w.root));
    assert_true(listing_memory(w.root->dir->listing) < 1000000);
    end(&w);
}

static void nothing_is_accounted_when_all_is_gone(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=600");
    struct cache_sizes sizes;
    char name[24];
    struct cache_file *d = made_at(&w, w.root, "d", directory(2), sent(&w));
    struct cache_listing *reader = cache_plan_listing(w.c, d, w.now);
    for (int i = 0; i < 100; i++) {
        name_many(i, name);
        make(&w, d, name, file((uint64_t)i + 10, 0));
        if (i % 3 == 0)
            take_away(&w, d, name);
        if (i % 3 == 1)
            move(&w, d, name, w.root, name, file((uint64_t)i + 10, 1));
    }
    cache_listing_unref(reader);
    while (w.root->dir->names.count) {
        struct cache_name *n =
            container_of(hash_each(&w.root->dir->names, NULL), struct cache_name, by_fold);
        snprintf(name, sizeof name, "%.*s", (int)n->len, n->spelling);
        take_away(&w, w.root, name);
    }
    drop(&w, d);
    cache_changed(w.c, w.root, MISS_CHANGED);
    cache_sizes(w.c, &sizes);
    assert_int_equal(sizes.entries[OBSERVE_DIR], 0);
    assert_int_equal(sizes.entries[OBSERVE_NOTFOUND], 0);
    assert_int_equal(sizes.bytes, sizes.entries[OBSERVE_INFO] * ACCOUNTED_FILE);
    end(&w);
}

/* A server that tells cases apart leaves two names of one file as they are. */
static void a_hard_link_is_not_renamed_over_its_other_name_in_another_case(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=10");
    LISTED(&w, w.root, {"d", file(8, 8)}, {"D", file(8, 8)});
    move(&w, w.root, "d", w.root, "D", linked(file(8, 8), 2));
    assert_int_equal(size_of(&w, w.root, "d"), ASK);
    assert_int_equal(size_of(&w, w.root, "D"), ASK);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_two_own_changes_of_one_name_that_overlap_nothing_is_believed),
        cmocka_unit_test(own_changes_of_different_names_may_overlap),
        cmocka_unit_test(an_answer_from_before_the_change_does_not_stand_in_its_way),
        cmocka_unit_test(an_answer_from_within_the_change_leaves_it_in_doubt),
        cmocka_unit_test(who_met_the_name_within_the_change_leaves_it_in_doubt),
        cmocka_unit_test(attributes_from_within_an_own_change_leave_them_in_doubt),
        cmocka_unit_test(what_is_asked_beneath_a_directory_that_moves_is_not_believed),
        cmocka_unit_test(a_listing_that_grows_over_the_entry_size_was_too_large),
        cmocka_unit_test(a_reader_keeps_his_listing_as_it_was),
        cmocka_unit_test(each_of_many_changes_costs_the_same),
        cmocka_unit_test(one_name_made_and_removed_again_and_again_costs_the_same),
        cmocka_unit_test(nothing_is_accounted_when_all_is_gone),
        cmocka_unit_test(a_hard_link_is_not_renamed_over_its_other_name_in_another_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
