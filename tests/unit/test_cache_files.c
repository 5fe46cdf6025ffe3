/* The tree of names over files: walking, identity, paths, lives of objects, and bounds. */
#include "cache_world.h"

/* ---- walking ---- */

static int walk(struct world *w, const char *path, struct cache_file **ret_dir, char name[32])
{
    const char *last;
    size_t len;
    observe_read(w->observe, &w->before);
    int r = cache_walk(w->c, path, strlen(path), w->now, ret_dir, &last, &len);
    if (r == 0)
        snprintf(name, 32, "%.*s", (int)len, last);
    return r;
}

static void a_walk_makes_the_directories_that_it_needs_and_believes_nothing(void **state)
{
    struct world w;
    struct cache_file *d, *again;
    char name[32], path[64];
    BEGIN(&w, "larder", "actimeo=10");
    assert_int_equal(walk(&w, "a/b/c", &d, name), 0);
    assert_string_equal(name, "c");
    assert_true(cache_file_is_dir(d));
    assert_int_equal(cache_file_path(d, path, sizeof path), 3);
    assert_memory_equal(path, "a/b", 3);
    assert_int_equal(size_of(&w, w.root, "a"), ASK);
    assert_int_equal(walk(&w, "a/b/d", &again, name), 0);
    assert_ptr_equal(d, again);
    drop(&w, d);
    drop(&w, again);
    end(&w);
}

static void a_walk_of_nothing_is_the_root(void **state)
{
    struct world w;
    struct cache_file *d;
    char name[32];
    BEGIN(&w, "larder", "actimeo=10");
    assert_int_equal(walk(&w, "", &d, name), 0);
    assert_ptr_equal(d, w.root);
    assert_string_equal(name, "");
    drop(&w, d);
    assert_int_equal(walk(&w, "f", &d, name), 0);
    assert_ptr_equal(d, w.root);
    assert_string_equal(name, "f");
    drop(&w, d);
    end(&w);
}

static void a_walk_ends_where_a_belief_says_so(void **state)
{
    struct world w;
    struct cache_file *d = NULL;
    char name[32];
    BEGIN(&w, "larder", "actimeo=10");
    missing(&w, w.root, "gone");
    assert_int_equal(walk(&w, "gone/x", &d, name), -ENOENT);
    was_hit(&w, OBSERVE_NOTFOUND);
    found(&w, w.root, "f", file(1, 11), NULL);
    assert_int_equal(walk(&w, "f/x", &d, name), -ENOTDIR);
    was_hit(&w, OBSERVE_INFO);
    LISTED(&w, w.root, {"f", file(1, 11)}, {"d", directory(2)});
    assert_int_equal(walk(&w, "new/x/y", &d, name), -ENOENT);
    was_hit(&w, OBSERVE_DIR);
    assert_int_equal(walk(&w, "f/x", &d, name), -ENOTDIR);
    was_hit(&w, OBSERVE_DIR);
    assert_null(d);
    assert_int_equal(walk(&w, "d/x/y", &d, name), 0); /* what is in d is not known */
    drop(&w, d);
    assert_int_equal(walk(&w, "gone", &d, name), 0); /* the last component is the caller's matter */
    drop(&w, d);
    end(&w);
}

static void a_walk_does_not_call_a_name_a_file_for_longer_than_it_is_believed(void **state)
{
    struct world w;
    struct cache_file *f, *d;
    char name[32];
    BEGIN(&w, "larder", "actimeo=10");
    found(&w, w.root, "f", file(1, 11), &f);
    pass(&w, 9 * S);
    attr_of(&w, f, file(1, 12)); /* by a handle: that says nothing about the name */
    pass(&w, 1 * S);
    assert_int_equal(walk(&w, "f/x", &d, name), 0);
    drop(&w, d);
    drop(&w, f);
    end(&w);
}

/* ---- identity ---- */

static void hard_links_are_one_file(void **state)
{
    struct world w;
    struct cache_file *a, *b, *d = NULL;
    BEGIN(&w, "larder", "actimeo=10");
    d = subdirectory(&w, "d", 9);
    found(&w, w.root, "a", file(5, 11), &a);
    found(&w, d, "b", file(5, 12), &b);
    assert_ptr_equal(a, b);
    assert_int_equal(size_of(&w, w.root, "a"), 12); /* one change shows under both names */
    drop(&w, a);
    drop(&w, b);
    drop(&w, d);
    end(&w);
}

static void a_file_goes_by_the_name_that_was_found_last(void **state)
{
    struct world w;
    struct cache_file *a, *b, *d = NULL;
    char path[64];
    BEGIN(&w, "larder", "actimeo=10");
    d = subdirectory(&w, "d", 9);
    found(&w, w.root, "a", file(5, 11), &a);
    found(&w, d, "b", file(5, 11), &b);
    assert_int_equal(cache_file_path(a, path, sizeof(path)), 3);
    assert_memory_equal(path, "d/b", 3);
    drop(&w, b);
    found(&w, w.root, "a", file(5, 11), &b);
    assert_int_equal(cache_file_path(a, path, sizeof(path)), 1);
    assert_memory_equal(path, "a", 1);
    drop(&w, a);
    drop(&w, b);
    drop(&w, d);
    end(&w);
}

static void an_id_that_is_taken_or_zero_gives_a_stable_inode_of_its_own(void **state)
{
    uint64_t first[3] = {0};
    for (int run = 0; run < 2; run++) {
        struct world w;
        struct cache_file *a, *b, *zero, *d;
        BEGIN(&w, "larder", "actimeo=10");
        struct file_attr other = file(5, 12);
        other.created = 77; /* not the same file, whatever its id says */
        found(&w, w.root, "a", file(5, 11), &a);
        found(&w, w.root, "b", other, &b);
        found(&w, w.root, "zero", file(0, 13), &zero);
        found(&w, w.root, "d", directory(5), &d);
        assert_ptr_not_equal(a, b);
        assert_int_equal(cache_file_ino(a), 5);
        uint64_t inos[3] = {cache_file_ino(b), cache_file_ino(zero), cache_file_ino(d)};
        for (int i = 0; i < 3; i++) {
            assert_int_not_equal(inos[i], 0);
            assert_int_not_equal(inos[i], 5);
            assert_int_not_equal(inos[i], inos[(i + 1) % 3]);
            if (run == 0)
                first[i] = inos[i];
            assert_int_equal(inos[i], first[i]);
        }
        drop(&w, a);
        drop(&w, b);
        drop(&w, zero);
        drop(&w, d);
        end(&w);
    }
}

static void the_roots_id_is_taken_like_any_other(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "actimeo=10");
    attr_of(&w, w.root, directory(5));
    assert_int_equal(cache_file_ino(w.root), 5);
    struct cache_file *loop = subdirectory(&w, "loop", 5);
    assert_int_not_equal(cache_file_ino(loop), 5); /* or find(1) sees a loop in the file system */
    drop(&w, loop);
    end(&w);
}

static void an_id_of_zero_keeps_the_one_that_is_known(void **state)
{
    struct world w;
    struct cache_file *f;
    BEGIN(&w, "larder", "actimeo=10");
    found(&w, w.root, "f", file(5, 11), &f);
    attr_of(&w, f, file(0, 12));
    assert_int_equal(size_of(&w, w.root, "f"), 12);
    assert_int_equal(w.plan.attr.id, 5);
    assert_int_equal(cache_file_ino(f), 5);
    drop(&w, f);
    end(&w);
}

static void another_file_under_the_same_name_is_another_object(void **state)
{
    struct world w;
    struct cache_file *old, *new;
    char path[32];
    BEGIN(&w, "larder", "actimeo=10");
    found(&w, w.root, "f", file(5, 11), &old);
    struct file_attr replaced = file(6, 12), turned = directory(5);
    assert_true(cache_file_same(old, &(struct file_attr){.id = 5}));
    assert_true(cache_file_same(old, &(struct file_attr){.id = 0}));
    assert_false(cache_file_same(old, &replaced));
    assert_false(cache_file_same(old, &turned));
    found(&w, w.root, "f", replaced, &new);
    assert_ptr_not_equal(old, new);
    assert_true(cache_file_serial(old) != cache_file_serial(new));
    assert_int_equal(size_of(&w, w.root, "f"), 12);
    assert_ptr_equal(w.plan.file, new);
    assert_int_equal(cache_file_path(old, path, sizeof path), -ESTALE);
    assert_int_equal(cache_file_path(new, path, sizeof path), 1);
    assert_int_equal(attr_of(&w, old, file(6, 1)), 0); /* not this file's */
    drop(&w, old);
    drop(&w, new);
    end(&w);
}

static void what_an_old_handle_tells_is_not_believed_of_the_new_file(void **state)
{
    struct world w;
    struct cache_file *old;
    BEGIN(&w, "larder", "actimeo=10");
    found(&w, w.root, "f", file(5, 11), &old);
    found(&w, w.root, "f", file(6, 12), NULL);
    attr_of(&w, old, file(5, 99));
    assert_int_equal(size_of(&w, w.root, "f"), 12);
    drop(&w, old);
    end(&w);
}

/* ---- paths and lives ---- */

static void a_path_is_built_from_the_names_that_lead_to_a_file(void **state)
{
    struct world w;
    struct cache_file *d, *f;
    char name[32], path[32];
    BEGIN(&w, "larder", "actimeo=10");
    assert_int_equal(cache_file_path(w.root, path, sizeof path), 0);
    assert_int_equal(cache_child_path(w.root, "x", 1, path, sizeof path), 1);
    assert_memory_equal(path, "x", 1);
    assert_int_equal(walk(&w, "one/two/f", &d, name), 0);
    found(&w, d, "f", file(1, 1), &f);
    assert_int_equal(cache_file_path(f, path, sizeof path), 9);
    assert_memory_equal(path, "one/two/f", 9);
    assert_int_equal(cache_child_path(d, "new", 3, path, sizeof path), 11);
    assert_memory_equal(path, "one/two/new", 11);
    assert_int_equal(cache_file_path(f, path, 9), 9); /* just room enough */
    assert_int_equal(cache_file_path(f, path, 8), -ENAMETOOLONG);
    assert_int_equal(cache_child_path(d, "new", 3, path, 10), -ENAMETOOLONG);
    assert_int_equal(cache_child_path(w.root, "new", 3, path, 0), -ENAMETOOLONG);
    drop(&w, d);
    drop(&w, f);
    end(&w);
}

static void beneath_a_replaced_directory_there_is_no_path(void **state)
{
    struct world w;
    struct cache_file *d, *f;
    char path[32];
    BEGIN(&w, "larder", "actimeo=10");
    d = subdirectory(&w, "d", 9);
    found(&w, d, "f", file(1, 1), &f);
    found(&w, w.root, "d", directory(10), NULL);
    assert_int_equal(cache_file_path(f, path, sizeof path), -ESTALE);
    assert_int_equal(cache_child_path(d, "x", 1, path, sizeof path), -ESTALE);
    drop(&w, d);
    drop(&w, f);
    end(&w);
}

static void a_held_file_outlives_every_belief_about_it(void **state)
{
    struct world w;
    struct cache_file *f;
    BEGIN(&w, "larder", "FileInfoCacheEntriesMax=1");
    found(&w, w.root, "f", file(5, 11), &f);
    uint64_t serial = cache_file_serial(f);
    for (uint64_t i = 0; i < 3000; i++) {
        char name[32];
        snprintf(name, sizeof name, "n%u", (unsigned)i);
        found(&w, w.root, name, file(100 + i, i), NULL);
    }
    assert_int_equal(cache_file_serial(f), serial);
    struct cache_file *again;
    found(&w, w.root, "f", file(5, 12), &again);
    assert_ptr_equal(f, again);
    drop(&w, again);
    drop(&w, f);
    end(&w);
}

static void objects_that_nothing_holds_do_not_pile_up(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "FileInfoCacheEntriesMax=8", "FileNotFoundCacheEntriesMax=8",
          "DirectoryCacheEntriesMax=8");
    for (unsigned i = 0; i < 5000; i++) {
        char path[32], name[32];
        struct cache_file *d;
        snprintf(path, sizeof path, "d%u/e/f", i);
        assert_int_equal(walk(&w, path, &d, name), 0);
        if (i % 3 == 0)
            found(&w, d, "f", file(i + 1, i), NULL);
        else if (i % 3 == 1)
            missing(&w, d, "f");
        else
            LISTED(&w, d, {"f", file(i + 1, i)});
        drop(&w, d);
    }
    struct cache_sizes sizes;
    cache_sizes(w.c, &sizes);
    /* 1024 idle ones and the directory that each is in, and what the beliefs hold */
    assert_true(sizes.files < 2 * 1024 + 3 * 3 * 8 + 8);
    assert_int_equal(sizes.entries[OBSERVE_DIR], 8);
    assert_int_equal(sizes.entries[OBSERVE_INFO], 8);
    assert_int_equal(sizes.entries[OBSERVE_NOTFOUND], 8);
    end(&w);
}

static void a_cache_with_listings_alone_is_freed_whole(void **state)
{
    struct world w;
    BEGIN(&w, "23h2", "actimeo=10");
    LISTED(&w, w.root, {"d", directory(9)});
    assert_int_equal(size_of(&w, w.root, "d"), 0);
    LISTED(&w, w.plan.file, {"e", directory(10)});
    let_go(&w);
    end(&w); /* the leak checker has the last word */
    assert_null(cache_free(NULL));
}

/* ---- bounds ---- */

static void no_bound_is_ever_exceeded(void **state)
{
    static const unsigned bounds[] = {1, 2, 3, 7};
    for (size_t b = 0; b < sizeof bounds / sizeof bounds[0]; b++) {
        struct world w;
        char set[3][48];
        snprintf(set[0], sizeof set[0], "DirectoryCacheEntriesMax=%u", bounds[b]);
        snprintf(set[1], sizeof set[1], "FileInfoCacheEntriesMax=%u", bounds[b]);
        snprintf(set[2], sizeof set[2], "FileNotFoundCacheEntriesMax=%u", bounds[b]);
        BEGIN(&w, "larder", set[0], set[1], set[2]);
        for (unsigned i = 0; i < 100; i++) {
            char name[32];
            snprintf(name, sizeof name, "n%u", i * 7 % 31);
            struct cache_file *d = subdirectory(&w, name, 1000 + i * 7 % 31);
            missing(&w, d, "x");
            LISTED(&w, d, {"f", file(i + 1, i)});
            look_up(&w, d, "f");
            drop(&w, d);
            for (int cache = 0; cache < OBSERVE_CACHES; cache++)
                assert_true(entries(&w, cache) <= bounds[b]);
        }
        end(&w);
    }
}

static void the_memory_of_all_three_caches_is_bounded(void **state)
{
    struct world w;
    struct cache_sizes sizes;
    BEGIN(&w, "larder", "CacheMemoryMax=65536");
    for (unsigned i = 0; i < 2000; i++) {
        char name[32];
        snprintf(name, sizeof name, "n%u", i);
        found(&w, w.root, name, file(i + 1, i), NULL);
        snprintf(name, sizeof name, "m%u", i);
        missing(&w, w.root, name);
        cache_sizes(w.c, &sizes);
        assert_true(sizes.bytes <= 65536);
    }
    assert_true(sizes.bytes > 60000); /* and used */
    cache_changed(w.c, w.root, MISS_CHANGED);
    end(&w);
}

static void bytes_are_zero_again_when_nothing_is_believed(void **state)
{
    struct world w;
    struct cache_sizes sizes;
    struct cache_file *f;
    BEGIN(&w, "larder", "actimeo=10");
    found(&w, w.root, "f", file(1, 11), &f);
    missing(&w, w.root, "x");
    LISTED(&w, w.root, {"f", file(1, 11)});
    LISTED(&w, w.root, {"f", file(1, 11)}, {"g", file(2, 2)}); /* renewed */
    missing(&w, w.root, "x");
    cache_sizes(w.c, &sizes);
    assert_true(sizes.bytes > 0);
    cache_changed(w.c, w.root, MISS_CHANGED);
    cache_changed(w.c, f, MISS_CHANGED);
    cache_sizes(w.c, &sizes);
    assert_int_equal(sizes.bytes, 0);
    for (int cache = 0; cache < OBSERVE_CACHES; cache++)
        assert_int_equal(sizes.entries[cache], 0);
    drop(&w, f);
    end(&w);
}

static void a_listing_larger_than_all_memory_is_not_kept(void **state)
{
    struct world w;
    BEGIN(&w, "larder", "CacheMemoryMax=65536");
    struct cache_ticket t = cache_ask(w.c, w.now);
    struct cache_listing *l = cache_listing_new();
    for (unsigned i = 0; i < 3000; i++) {
        char name[32];
        struct file_attr attr = file(i + 1, i);
        int len = snprintf(name, sizeof name, "name-%u", i);
        assert_int_equal(cache_listing_add(l, name, (size_t)len, &attr, 10), 0);
    }
    assert_int_equal(cache_listing_seal(l, t), 0);
    cache_commit_listing(w.c, w.root, l, t, w.now);
    cache_listing_unref(l);
    assert_int_equal(entries(&w, OBSERVE_DIR), 0);
    look_up(&w, w.root, "name-1");
    missed(&w, OBSERVE_DIR, MISS_TOO_LARGE);
    end(&w);
}

/* Names that come and go in thousands, with few beliefs kept, so that objects are freed and made
 * anew all the time. The server's truth never changes here, so no answer may differ from it. */
static void objects_are_freed_and_found_again_without_a_wrong_answer(void **state)
{
    struct world w;
    struct cache_file *held[16] = {NULL};
    unsigned answers = 0, random = 1;
    BEGIN(&w, "larder", "FileInfoCacheEntriesMax=50", "FileNotFoundCacheEntriesMax=50",
          "DirectoryCacheEntriesMax=5");
    for (unsigned i = 0; i < 60000; i++) {
        random = random * 1664525 + 1013904223;
        unsigned dir_number = (i / 60 + (random >> 28)) % 600, at = (random >> 8) % 16;
        unsigned number = dir_number + 600 * ((random >> 16) % 7);
        char path[48], name[32];
        struct cache_file *d;
        pass(&w, (uint64_t)(random >> 28) * NS_PER_MS);
        snprintf(path, sizeof path, "d%u/n%u", dir_number, number);
        assert_int_equal(walk(&w, path, &d, name), 0);
        bool there = number % 3 != 0;
        int64_t size = size_of(&w, d, name);
        if (size != ASK) {
            answers++;
            assert_int_equal(size, there ? (int64_t)number : MISSING);
            if (there && at % 4 == 0) { /* the kernel holds some of them for a while */
                if (held[at])
                    drop(&w, held[at]);
                held[at] = cache_file_ref(w.plan.file);
            }
        } else if (w.plan.step == CACHE_LIST) { /* 7 names have this directory */
            struct item items[8];
            char names[8][16];
            size_t n = 0;
            for (unsigned k = dir_number; k < 4200; k += 600) {
                if (k % 3 == 0)
                    continue;
                snprintf(names[n], sizeof names[n], "n%u", k);
                items[n] = (struct item){names[n], file(10000 + k, k)};
                n++;
            }
            listed_bytes(&w, d, 100 * n, items, n);
        } else if (there) {
            found(&w, d, name, file(10000 + number, number), NULL);
        } else {
            missing(&w, d, name);
        }
        drop(&w, d);
    }
    assert_true(answers > 1000);
    for (size_t i = 0; i < 16; i++)
        if (held[i])
            drop(&w, held[i]);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_walk_makes_the_directories_that_it_needs_and_believes_nothing),
        cmocka_unit_test(a_walk_of_nothing_is_the_root),
        cmocka_unit_test(a_walk_ends_where_a_belief_says_so),
        cmocka_unit_test(a_walk_does_not_call_a_name_a_file_for_longer_than_it_is_believed),
        cmocka_unit_test(hard_links_are_one_file),
        cmocka_unit_test(a_file_goes_by_the_name_that_was_found_last),
        cmocka_unit_test(an_id_that_is_taken_or_zero_gives_a_stable_inode_of_its_own),
        cmocka_unit_test(the_roots_id_is_taken_like_any_other),
        cmocka_unit_test(an_id_of_zero_keeps_the_one_that_is_known),
        cmocka_unit_test(another_file_under_the_same_name_is_another_object),
        cmocka_unit_test(what_an_old_handle_tells_is_not_believed_of_the_new_file),
        cmocka_unit_test(a_path_is_built_from_the_names_that_lead_to_a_file),
        cmocka_unit_test(beneath_a_replaced_directory_there_is_no_path),
        cmocka_unit_test(a_held_file_outlives_every_belief_about_it),
        cmocka_unit_test(objects_that_nothing_holds_do_not_pile_up),
        cmocka_unit_test(a_cache_with_listings_alone_is_freed_whole),
        cmocka_unit_test(no_bound_is_ever_exceeded),
        cmocka_unit_test(the_memory_of_all_three_caches_is_bounded),
        cmocka_unit_test(bytes_are_zero_again_when_nothing_is_believed),
        cmocka_unit_test(a_listing_larger_than_all_memory_is_not_kept),
        cmocka_unit_test(objects_are_freed_and_found_again_without_a_wrong_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
