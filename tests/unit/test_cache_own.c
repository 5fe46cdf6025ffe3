/*
 * Own changes: what is known right after them. What overlapping with them leaves in doubt, and what
 * they cost, is in test_cache_overlap.c; the model test (tests/model/truth.c) is for the
 * combinations.
 */
#include "cache_own.h"

/* ---- what is known afterwards ---- */

static void what_was_made_is_found_stated_and_listed_without_asking(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=10");
    LISTED(&w, w.root, {"old", file(1, 1)});
    attr_of(&w, w.root, directory(100));
    missing(&w, w.root, "new");
    struct cache_ticket t = sent(&w);
    pass(&w, 2 * S);
    struct cache_file *f = made_at(&w, w.root, "new", file(2, 22), t);
    assert_int_equal(size_of(&w, w.root, "new"), 22);
    was_hit(&w, OBSERVE_DIR);
    assert_int_equal(w.plan.valid_until, t.sent + 10 * S); /* from when it was sent */
    assert_ptr_equal(w.plan.file, f);
    plan_attr(&w, f);
    assert_int_equal(w.plan.step, CACHE_ANSWER);
    assert_int_equal(listed_size(&w, w.root, "new"), 22);
    assert_int_equal(listed_size(&w, w.root, "old"), 1);
    assert_int_equal(size_of(&w, w.root, "x"), MISSING);
    assert_int_equal(patches(&w, OBSERVE_DIR), 1);
    plan_attr(&w, w.root); /* its times are others now */
    assert_int_equal(w.plan.step, CACHE_STAT);
    pass(&w, 8 * S); /* the listing lives no longer for it */
    assert_int_equal(size_of(&w, w.root, "new"), ASK);
    drop(&w, f);
    end(&w);
}

static void a_directory_that_was_made_is_believed_empty(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=10");
    struct cache_file *d = made_at(&w, w.root, "d", directory(2), sent(&w));
    assert_int_equal(size_of(&w, d, "x"), MISSING);
    make(&w, d, "f", file(3, 33));
    assert_int_equal(listed_size(&w, d, "f"), 33);
    assert_int_equal(size_of(&w, d, "x"), MISSING);
    drop(&w, d);
    /* what a link leads to is not in it */
    struct file_attr link = directory(4);
    link.attributes |= FILE_ATTRIBUTE_REPARSE_POINT;
    d = made_at(&w, w.root, "l", link, sent(&w));
    assert_int_equal(size_of(&w, d, "x"), ASK);
    drop(&w, d);
    end(&w);
}

static void what_was_removed_is_missing_in_listing_and_by_itself(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=10");
    struct cache_file *f;
    found(&w, w.root, "lone", file(1, 1), NULL);
    take_away(&w, w.root, "lone"); /* no listing is believed */
    assert_int_equal(size_of(&w, w.root, "lone"), MISSING);
    was_hit(&w, OBSERVE_NOTFOUND);
    LISTED(&w, w.root, {"a", file(2, 2)}, {"b", file(3, 3)});
    found(&w, w.root, "a", linked(file(2, 2), 1), &f);
    take_away(&w, w.root, "a");
    take_away(&w, w.root, "b"); /* of which only the listing told */
    assert_int_equal(size_of(&w, w.root, "a"), MISSING);
    was_hit(&w, OBSERVE_DIR);
    assert_int_equal(size_of(&w, w.root, "b"), MISSING);
    assert_int_equal(listed_size(&w, w.root, "a"), MISSING);
    path_is(f, NULL);
    plan_attr(&w, f); /* who has it open sees its last attributes */
    assert_int_equal(w.plan.step, CACHE_ANSWER);
    assert_int_equal(w.plan.attr.size, 2);
    assert_int_equal(w.plan.attr.links, 0);
    assert_true(w.plan.attr.unlinked);
    drop(&w, f);
    end(&w);
}

static void where_negatives_are_off_older_answers_are_kept_out_all_the_same(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "FileNotFoundCacheLifetime=0");
    struct cache_ticket before = sent(&w);
    take_away(&w, w.root, "a");
    struct file_attr attr = file(1, 1);
    struct cache_file *f;
    uint64_t until;
    assert_int_equal(cache_commit_found(w.c, w.root, "a", 1, &attr, before, w.now, &f, &until), 0);
    assert_int_equal(until, 0);
    drop(&w, f);
    assert_int_equal(size_of(&w, w.root, "a"), ASK);
    end(&w);
}

static void a_name_made_again_is_another_file(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=10");
    struct cache_file *f, *again;
    LISTED(&w, w.root, {"a", file(1, 1)});
    found(&w, w.root, "a", file(1, 1), &f);
    take_away(&w, w.root, "a");
    struct file_attr reused = file(1, 11); /* the server gives the id again */
    reused.created = 99;
    again = made_at(&w, w.root, "a", reused, sent(&w));
    assert_ptr_not_equal(again, f);
    assert_int_equal(size_of(&w, w.root, "a"), 11);
    assert_ptr_equal(w.plan.file, again);
    path_is(f, NULL);
    path_is(again, "a");
    assert_int_equal(listed_size(&w, w.root, "a"), 11);
    drop(&w, f);
    drop(&w, again);
    end(&w);
}

static void what_a_name_led_to_before_it_was_made_is_gone(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=10");
    struct cache_file *f;
    found(&w, w.root, "a", file(1, 1), &f);
    struct file_attr reused =
        file(1, 11); /* somebody had removed it, and the server gives its id */
    reused.created = 99;
    struct cache_file *again = made_at(&w, w.root, "a", reused, sent(&w));
    path_is(f, NULL);
    path_is(again, "a");
    drop(&w, f);
    drop(&w, again);
    end(&w);
}

static void a_rename_moves_the_object_and_what_it_covers_is_detached(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=10");
    struct cache_file *f, *over;
    LISTED(&w, w.root, {"a", file(1, 1)}, {"b", file(2, 2)});
    found(&w, w.root, "a", file(1, 1), &f);
    found(&w, w.root, "b", linked(file(2, 2), 1), &over);
    move(&w, w.root, "a", w.root, "b", file(1, 11));
    assert_int_equal(size_of(&w, w.root, "b"), 11);
    assert_ptr_equal(w.plan.file, f);
    assert_int_equal(size_of(&w, w.root, "a"), MISSING);
    assert_int_equal(listed_size(&w, w.root, "b"), 11);
    assert_int_equal(listed_size(&w, w.root, "a"), MISSING);
    path_is(f, "b");
    path_is(over, NULL);
    plan_attr(&w, over);
    assert_int_equal(w.plan.attr.size, 2);
    drop(&w, f);
    drop(&w, over);
    end(&w);
}

static void a_rename_that_tells_nothing_keeps_the_name_but_no_attributes(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=10");
    LISTED(&w, w.root, {"a", file(1, 1)});
    renamed_at(&w, w.root, "a", w.root, "b", NULL, sent(&w));
    assert_int_equal(size_of(&w, w.root, "b"), ASK);
    missed(&w, OBSERVE_DIR, MISS_CHANGED);
    assert_int_equal(listed_size(&w, w.root, "b"), ASK);
    assert_int_equal(size_of(&w, w.root, "a"), MISSING);
    end(&w);
}

static void a_directory_moves_with_all_that_is_believed_beneath_it(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=10");
    struct cache_file *d = subdirectory(&w, "d", 1), *e = subdirectory(&w, "e", 2), *f;
    LISTED(&w, d, {"f", file(3, 33)});
    LISTED(&w, w.root, {"d", directory(1)}, {"e", directory(2)});
    LISTED(&w, e, {"x", file(4, 4)});
    found(&w, d, "f", file(3, 33), &f);
    move(&w, w.root, "d", e, "moved", directory(1));
    path_is(d, "e/moved");
    path_is(f, "e/moved/f");
    assert_int_equal(size_of(&w, d, "f"), 33);
    assert_int_equal(size_of(&w, d, "x"), MISSING);
    assert_int_equal(size_of(&w, w.root, "d"), MISSING);
    assert_int_equal(listed_size(&w, e, "moved"), 0);
    assert_int_equal(size_of(&w, e, "moved"), 0);
    assert_ptr_equal(w.plan.file, d);
    move(&w, w.root, "e", d, "loop", directory(2)); /* no server does that */
    path_is(d, "e/moved");
    path_is(e, "e");
    drop(&w, f);
    drop(&w, d);
    drop(&w, e);
    end(&w);
}

/* ---- spellings ---- */

static void a_change_of_case_is_no_removal(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=10");
    cache_learn_spelling(w.c, "x", 1, "X", 1);
    struct cache_file *f;
    LISTED(&w, w.root, {"readme", file(1, 1)});
    found(&w, w.root, "readme", file(1, 1), &f);
    move(&w, w.root, "readme", w.root, "README", file(1, 1));
    assert_int_equal(listed_size(&w, w.root, "README"), 1);
    assert_int_equal(listed_size(&w, w.root, "readme"), MISSING);
    assert_int_equal(size_of(&w, w.root, "readme"), 1); /* the server folds case */
    path_is(f, "README");
    drop(&w, f);
    end(&w);
}

static void a_made_name_ends_negatives_in_every_case(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=10");
    missing(&w, w.root, "foo");
    missing(&w, w.root, "FOO");
    missing(&w, w.root, "bar");
    make(&w, w.root, "Foo", file(1, 1));
    assert_int_equal(size_of(&w, w.root, "foo"), ASK);
    assert_int_equal(size_of(&w, w.root, "FOO"), ASK);
    assert_int_equal(size_of(&w, w.root, "bar"), MISSING);
    assert_int_equal(size_of(&w, w.root, "Foo"), 1);
    assert_int_equal(patches(&w, OBSERVE_NOTFOUND), 2);
    end(&w);
}

static void an_answer_about_another_case_from_before_is_not_believed(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=10");
    struct cache_ticket before = sent(&w);
    make(&w, w.root, "Foo", file(1, 1));
    assert_int_equal(cache_commit_missing(w.c, w.root, "foo", 3, before, w.now), 0);
    assert_int_equal(cache_commit_missing(w.c, w.root, "FOO~1", 5, before, w.now), 0);
    assert_true(cache_commit_missing(w.c, w.root, "bar", 3, before, w.now) > 0);
    end(&w);
}

static void a_removal_by_an_alias_takes_the_entry_where_the_server_folds(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=10");
    struct cache_file *f;
    LISTED(&w, w.root, {"Foo", file(1, 1)}, {"b", file(2, 2)});
    found(&w, w.root, "Foo", file(1, 1), &f);
    cache_learn_spelling(w.c, "x", 1, "X", 1);
    take_away(&w, w.root, "foo");
    assert_int_equal(listed_size(&w, w.root, "Foo"), MISSING);
    assert_int_equal(listed_size(&w, w.root, "b"), 2);
    path_is(f, NULL);
    drop(&w, f);
    end(&w);

    BEGIN(&w, "larder", "actimeo=10"); /* nothing is known of how it folds */
    LISTED(&w, w.root, {"Foo", file(1, 1)});
    take_away(&w, w.root, "foo");
    assert_false(is_listed(&w, w.root));
    assert_int_equal(size_of(&w, w.root, "Foo"), ASK);
    missed(&w, OBSERVE_DIR, MISS_CHANGED);
    end(&w);

    BEGIN(&w, "larder", "actimeo=10"); /* a short name may be of any file */
    LISTED(&w, w.root, {"long name", file(1, 1)});
    take_away(&w, w.root, "LONGNA~1");
    assert_false(is_listed(&w, w.root));
    end(&w);
}

static void an_entry_that_goes_hid_a_file_found_in_another_case(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=10"); /* on a server that tells cases apart */
    LISTED(&w, w.root, {"A", file(1, 1)});
    found(&w, w.root, "a", file(2, 2), NULL); /* new, which the listing does not say */
    assert_true(is_listed(&w, w.root));
    take_away(&w, w.root, "A");
    assert_false(is_listed(&w, w.root));
    end(&w);
}

/* ---- links ---- */

static void a_second_name_leads_to_the_same_file_and_can_go_again(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=10");
    struct cache_file *f, *same;
    uint64_t until;
    struct file_attr attr = linked(file(1, 5), 1);
    LISTED(&w, w.root, {"a", attr});
    found(&w, w.root, "a", attr, &f);
    assert_int_equal(cache_made(w.c, w.root, "b", 1, NULL, f, sent(&w), w.now, &same, &until), 0);
    assert_ptr_equal(same, f);
    assert_int_equal(until, 0);
    assert_int_equal(listed_size(&w, w.root, "a"), ASK); /* its links were not told */
    assert_int_equal(listed_size(&w, w.root, "b"), ASK);
    LISTED(&w, w.root, {"a", file(1, 5)}, {"b", file(1, 5)});
    assert_int_equal(size_of(&w, w.root, "b"), 5);
    assert_int_equal(w.plan.attr.links, 0); /* not what it was before */
    attr.links = 2;
    attr_of(&w, f, attr);
    assert_int_equal(size_of(&w, w.root, "b"), 5);
    assert_int_equal(w.plan.attr.links, 2);
    take_away(&w, w.root, "a");
    assert_int_equal(size_of(&w, w.root, "a"), MISSING);
    assert_int_equal(size_of(&w, w.root, "b"), ASK); /* how many links? */
    attr_of(&w, f, file(1, 5));
    assert_int_equal(size_of(&w, w.root, "b"), 5);
    assert_int_equal(w.plan.attr.links, 0);
    path_is(f, "b");
    drop(&w, same);
    drop(&w, f);
    struct cache_file *d = subdirectory(&w, "d", 9);
    assert_int_equal(cache_made(w.c, w.root, "c", 1, NULL, d, sent(&w), w.now, &same, &until),
                     -EINVAL);
    drop(&w, d);
    end(&w);
}

static void of_two_names_of_one_file_a_rename_may_have_taken_none(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=10");
    struct file_attr attr = linked(file(1, 5), 2);
    found(&w, w.root, "a", attr, NULL);
    found(&w, w.root, "b", attr, NULL);
    move(&w, w.root, "a", w.root, "b", attr);
    assert_int_equal(size_of(&w, w.root, "a"), ASK);
    assert_int_equal(size_of(&w, w.root, "b"), ASK);
    end(&w);
}

/* ---- attributes ---- */

static void own_attributes_show_in_the_listing_or_are_known_to_be_unknown(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=10");
    struct cache_file *f;
    struct file_attr attr = file(1, 2);
    LISTED(&w, w.root, {"a", file(1, 1)});
    found(&w, w.root, "a", file(1, 1), &f);
    assert_int_equal(cache_own_attr(w.c, f, &attr, sent(&w), w.now), w.now + 10 * S);
    assert_int_equal(listed_size(&w, w.root, "a"), 2);
    assert_int_equal(patches(&w, OBSERVE_INFO), 1);
    assert_int_equal(patches(&w, OBSERVE_DIR), 1);
    plan_attr(&w, f);
    assert_int_equal(w.plan.attr.size, 2);
    assert_int_equal(cache_own_attr(w.c, f, NULL, sent(&w), w.now), 0);
    assert_int_equal(listed_size(&w, w.root, "a"), ASK);
    plan_attr(&w, f);
    assert_int_equal(w.plan.step, CACHE_STAT);
    missed(&w, OBSERVE_DIR, MISS_CHANGED);
    assert_int_equal(cache_own_attr(w.c, f, NULL, sent(&w), w.now), 0);
    assert_int_equal(patches(&w, OBSERVE_DIR), 2); /* it shows so already */
    drop(&w, f);
    let_go(&w);
    /* forgotten with the object, the entry is not believed again */
    assert_int_equal(size_of(&w, w.root, "a"), ASK);
    end(&w);
}

static void the_listing_tells_own_attributes_when_the_file_info_is_pushed_out(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "FileInfoCacheEntriesMax=1");
    LISTED(&w, w.root, {"a", file(1, 1)});
    make(&w, w.root, "b", file(2, 22));
    make(&w, w.root, "c", file(3, 33));
    assert_int_equal(entries(&w, OBSERVE_INFO), 1);
    assert_int_equal(size_of(&w, w.root, "b"), 22);
    assert_int_equal(size_of(&w, w.root, "c"), 33);
    end(&w);
}

static void what_attributes_tell_makes_no_name_newer_than_the_answers_about_it(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=10");
    struct cache_file *f, *other;
    uint64_t until;
    LISTED(&w, w.root, {"a", file(1, 1)});
    found(&w, w.root, "a", file(1, 1), &f);
    struct cache_ticket before = sent(&w);
    struct file_attr told = file(1, 2), replaced = file(7, 77);
    cache_own_attr(w.c, f, &told, sent(&w), w.now);
    assert_int_equal(
        cache_commit_found(w.c, w.root, "a", 1, &replaced, before, w.now, &other, &until), 0);
    assert_int_equal(size_of(&w, w.root, "a"), 77);
    drop(&w, f);
    drop(&w, other);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_made_is_found_stated_and_listed_without_asking),
        cmocka_unit_test(a_directory_that_was_made_is_believed_empty),
        cmocka_unit_test(what_was_removed_is_missing_in_listing_and_by_itself),
        cmocka_unit_test(where_negatives_are_off_older_answers_are_kept_out_all_the_same),
        cmocka_unit_test(a_name_made_again_is_another_file),
        cmocka_unit_test(what_a_name_led_to_before_it_was_made_is_gone),
        cmocka_unit_test(a_rename_moves_the_object_and_what_it_covers_is_detached),
        cmocka_unit_test(a_rename_that_tells_nothing_keeps_the_name_but_no_attributes),
        cmocka_unit_test(a_directory_moves_with_all_that_is_believed_beneath_it),
        cmocka_unit_test(a_change_of_case_is_no_removal),
        cmocka_unit_test(a_made_name_ends_negatives_in_every_case),
        cmocka_unit_test(an_answer_about_another_case_from_before_is_not_believed),
        cmocka_unit_test(a_removal_by_an_alias_takes_the_entry_where_the_server_folds),
        cmocka_unit_test(an_entry_that_goes_hid_a_file_found_in_another_case),
        cmocka_unit_test(a_second_name_leads_to_the_same_file_and_can_go_again),
        cmocka_unit_test(of_two_names_of_one_file_a_rename_may_have_taken_none),
        cmocka_unit_test(own_attributes_show_in_the_listing_or_are_known_to_be_unknown),
        cmocka_unit_test(the_listing_tells_own_attributes_when_the_file_info_is_pushed_out),
        cmocka_unit_test(what_attributes_tell_makes_no_name_newer_than_the_answers_about_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
