/*
 * The library as another program uses it, against a real Samba: opens of every kind, data, names,
 * attributes, links, locks, and what is refused. Environment: as client.sh gives it.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "larder/larder.h"

static struct larder *l;
static struct larder_error err;

/* A call that must go well. */
#define good(call)                                                                                 \
    do {                                                                                           \
        err = (struct larder_error){0};                                                            \
        if ((call) < 0)                                                                            \
            fail_msg("%s: %s", #call, err.text);                                                   \
    } while (0)

/* One that must fail so, with a line that says why. */
#define bad(call, want)                                                                            \
    do {                                                                                           \
        err = (struct larder_error){0};                                                            \
        assert_int_equal((call), (want));                                                          \
        assert_int_equal(err.code, (want));                                                        \
        assert_true(strlen(err.text) > 3);                                                         \
    } while (0)

static struct larder_config *config_with(const char *options)
{
    char target[100];
    struct larder_config *config = NULL;
    snprintf(target, sizeof target, "//127.0.0.1:%s/share", getenv("LARDER_TEST_PORT"));
    good(larder_config_new(target, &config, &err));
    good(larder_config_set(config, "user", getenv("LARDER_TEST_USER"), &err));
    good(larder_config_set(config, "password", getenv("LARDER_TEST_PASSWORD"), &err));
    good(larder_config_set_list(config, options, &err));
    return config;
}

static struct larder *connect_with(const char *options)
{
    struct larder_config *config = config_with(options);
    struct larder *made = NULL;
    good(larder_connect(config, &made, &err));
    larder_config_free(config);
    return made;
}

static struct larder_file *open_with(const char *path, unsigned flags)
{
    struct larder_file *f = NULL;
    good(larder_open_with(l, path, flags, &f, NULL, &err));
    return f;
}

static void put(const char *path, const char *text)
{
    struct larder_file *f = open_with(path, LARDER_WRITE | LARDER_CREATE | LARDER_TRUNCATE);
    assert_int_equal(larder_write(f, text, strlen(text), 0, &err), strlen(text));
    larder_close(f);
}

static void assert_holds(const char *path, const char *text)
{
    char got[100] = {0};
    struct larder_file *f = open_with(path, LARDER_READ);
    assert_int_equal(larder_read(f, got, sizeof got - 1, 0, &err), strlen(text));
    assert_string_equal(got, text);
    larder_close(f);
}

static void opens_are_of_every_kind(void **state)
{
    struct larder_file *f;
    struct larder_stat st;
    bad(larder_open_with(l, "opens", LARDER_READ | LARDER_WRITE, &f, NULL, &err), -ENOENT);
    good(larder_open_with(l, "opens", LARDER_WRITE | LARDER_CREATE | LARDER_EXCLUSIVE, &f, &st,
                          &err));
    assert_int_equal(st.size, 0);
    assert_int_equal(larder_write(f, "hello", 5, 0, &err), 5);
    good(larder_sync(f, &err));
    good(larder_file_stat(f, &st, &err));
    assert_int_equal(st.size, 5);
    larder_close(f);
    bad(larder_open_with(l, "opens", LARDER_WRITE | LARDER_CREATE | LARDER_EXCLUSIVE, &f, NULL,
                         &err),
        -EEXIST);
    f = open_with("opens", LARDER_READ | LARDER_WRITE | LARDER_CREATE);
    assert_int_equal(larder_write(f, "y", 1, 5, &err), 1);
    larder_close(f);
    assert_holds("opens", "helloy");
    larder_close(open_with("opens", LARDER_WRITE | LARDER_TRUNCATE));
    good(larder_stat(l, "opens", &st, &err));
    assert_int_equal(st.size, 0);
    bad(larder_open_with(l, "opens", 0, &f, NULL, &err), -EINVAL);
    bad(larder_open_with(l, "opens", LARDER_READ | LARDER_TRUNCATE, &f, NULL, &err), -EINVAL);
    bad(larder_open_with(l, "opens", LARDER_WRITE | LARDER_EXCLUSIVE, &f, NULL, &err), -EINVAL);
    bad(larder_open_with(l, "opens", LARDER_READ | 64, &f, NULL, &err), -EINVAL);
    bad(larder_open_with(l, "many", LARDER_READ, &f, NULL, &err), -EISDIR);
}

static void large_writes_come_back(void **state)
{
    enum { SIZE = 5 << 20 };
    char *data = malloc(SIZE), *back = malloc(SIZE);
    for (size_t i = 0; i < SIZE; i++)
        data[i] = (char)(i * 2654435761u >> 13);
    struct larder_file *f = open_with("large", LARDER_READ | LARDER_WRITE | LARDER_CREATE);
    assert_int_equal(larder_write(f, data, SIZE, 7, &err), SIZE);
    assert_int_equal(larder_read(f, back, SIZE, 7, &err), SIZE);
    assert_memory_equal(data, back, SIZE);
    larder_close(f);
    free(data);
    free(back);
}

static void the_server_copies(void **state)
{
    put("copy from", "0123456789");
    struct larder_file *from = open_with("copy from", LARDER_READ);
    struct larder_file *to = open_with("copy to", LARDER_READ | LARDER_WRITE | LARDER_CREATE);
    assert_int_equal(larder_copy(from, 2, to, 0, 5, &err), 5);
    assert_int_equal(larder_copy(from, 8, to, 5, 100, &err), 2);
    assert_holds("copy to", "2345689");
    struct larder *other = connect_with("vers=3.0");
    struct larder_file *far;
    good(larder_open(other, "copy from", &far, NULL, &err));
    bad(larder_copy(far, 0, to, 0, 1, &err), -EXDEV);
    larder_close(far);
    larder_disconnect(other);
    larder_close(from);
    larder_close(to);
}

static void attributes_are_set(void **state)
{
    struct larder_stat st;
    put("attributes", "0123456789");
    struct larder_setattr change = {
        .set = LARDER_SET_WRITTEN | LARDER_SET_CREATED | LARDER_SET_SIZE,
        .written = {.tv_sec = 1000000000, .tv_nsec = 123456700},
        .created = {.tv_sec = -5, .tv_nsec = 100},
        .size = 4,
        .attributes_on = 0x02,
    };
    good(larder_setattr(l, "attributes", &change, &st, &err));
    assert_int_equal(st.size, 4);
    assert_int_equal(st.written.tv_nsec, 123456700);
    struct larder *other = connect_with("vers=3.0");
    good(larder_stat(other, "attributes", &st, &err));
    assert_int_equal(st.size, 4);
    assert_int_equal(st.written.tv_sec, 1000000000);
    assert_int_equal(st.created.tv_sec, -5);
    assert_int_equal(st.attributes & 0x03, 0x02);
    larder_disconnect(other);
    change = (struct larder_setattr){.attributes_off = 0x02};
    struct larder_file *f = open_with("attributes", LARDER_WRITE);
    good(larder_file_setattr(f, &change, &st, &err));
    assert_int_equal(st.attributes & 0x02, 0);
    larder_close(f);
    bad(larder_setattr(l, "absent", &change, NULL, &err), -ENOENT);
}

static void names_are_changed(void **state)
{
    struct larder_stat st;
    good(larder_mkdir(l, "names", &st, &err));
    assert_true(st.is_dir);
    bad(larder_mkdir(l, "names", NULL, &err), -EEXIST);
    put("names/a", "a");
    put("names/b", "b");
    bad(larder_rename(l, "names/a", "names/b", false, &err), -EEXIST);
    good(larder_rename(l, "names/a", "names/b", true, &err));
    assert_holds("names/b", "a");
    bad(larder_stat(l, "names/a", &st, &err), -ENOENT);
    good(larder_rename(l, "names/b", "names/B", false, &err));
    good(larder_link(l, "names/B", "names/c", &st, &err));
    assert_holds("names/c", "a");
    struct larder_dir *dir;
    good(larder_list(l, "names", &dir, &err));
    assert_int_equal(larder_dir_count(dir), 2);
    larder_dir_close(dir);
    bad(larder_remove(l, "names", true, &err), -ENOTEMPTY);
    good(larder_remove(l, "names/B", false, &err));
    good(larder_remove(l, "names/c", false, &err));
    good(larder_remove(l, "names", true, &err));
    bad(larder_remove(l, "names", true, &err), -ENOENT);
    bad(larder_remove(l, "", true, &err), -EINVAL);
}

/* Whether a listing has the name; how large the file is by it. */
static bool lists(struct larder *by, const char *path, const char *name, uint64_t *ret_size)
{
    struct larder_dir *dir;
    bool has = false;
    good(larder_list(by, path, &dir, &err));
    for (size_t i = 0; i < larder_dir_count(dir); i++) {
        struct larder_stat st;
        if (strcmp(larder_dir_entry(dir, i, &st), name) == 0) {
            has = true;
            *ret_size = st.size;
        }
    }
    larder_dir_close(dir);
    return has;
}

/* By look-up and by listing alike. */
static bool is(struct larder *by, const char *name, bool there, uint64_t size)
{
    char path[100];
    struct larder_stat st;
    uint64_t listed = 0;
    snprintf(path, sizeof path, "seen/%s", name);
    bool found = larder_stat(by, path, &st, &err) == 0;
    bool listing = lists(by, "seen", name, &listed);
    return found == there && listing == there &&
           (!there || st.is_dir || (st.size == size && listed == size));
}

static void truncate_to(struct larder *by, const char *path, uint64_t size)
{
    const struct larder_setattr change = {.set = LARDER_SET_SIZE, .size = size};
    good(larder_setattr(by, path, &change, NULL, &err));
}

static void put_by(struct larder *by, const char *path, const char *text, uint64_t at)
{
    struct larder_file *f;
    good(larder_open_with(by, path, LARDER_WRITE | LARDER_CREATE, &f, NULL, &err));
    assert_int_equal(larder_write(f, text, strlen(text), at, &err), strlen(text));
    larder_close(f);
}

/* Samba tells of a time that is set; of what is written only where that sets the archive bit. */
static void set_written(struct larder *by, const char *path)
{
    const struct larder_setattr change = {.set = LARDER_SET_WRITTEN, .written = {1000000000, 0}};
    good(larder_setattr(by, path, &change, NULL, &err));
}

static unsigned step;

/* What `by` does, step by step. */
static void change(struct larder *by)
{
    switch (step) {
    case 0:
        put_by(by, "seen/new", "1234", 0);
        break;
    case 1:
        put_by(by, "seen/new", "5678", 4);
        set_written(by, "seen/new");
        break;
    case 2:
        truncate_to(by, "seen/new", 3);
        break;
    case 3:
        good(larder_rename(by, "seen/new", "seen/sub/new", false, &err));
        break;
    case 4:
        good(larder_rename(by, "seen/sub/new", "seen/old", true, &err));
        break;
    case 5:
        good(larder_mkdir(by, "seen/new", NULL, &err));
        break;
    case 6:
        good(larder_remove(by, "seen/new", true, &err));
        break;
    case 7:
        good(larder_remove(by, "seen/old", false, &err));
        break;
    }
}

#define STEPS 8

/* And what is to be seen of it. */
static bool is_seen(struct larder *by)
{
    static const uint64_t new_size[STEPS] = {4, 8, 3}, old_size[STEPS] = {3, 3, 3, 3, 3, 3, 3};
    uint64_t size;
    return is(by, "new", step < 3 || step == 5, new_size[step]) &&
           is(by, "old", step != 7, old_size[step]) &&
           lists(by, "seen/sub", "new", &size) == (step == 3);
}

static void prepare(struct larder *by)
{
    good(larder_mkdir(by, "seen", NULL, &err));
    good(larder_mkdir(by, "seen/sub", NULL, &err));
    put_by(by, "seen/old", "old", 0);
}

static void clean_up(struct larder *by)
{
    good(larder_remove(by, "seen/sub", true, &err));
    good(larder_remove(by, "seen", true, &err));
}

static void wait_for_watch(struct larder *by)
{
    bool stands = false;
    for (int tries = 500; !stands && tries; tries--) {
        char *counters = larder_counters(by);
        assert_non_null(counters);
        stands = strstr(counters, "\"watching\"");
        free(counters);
        usleep(stands ? 0 : 20000);
    }
    assert_true(stands);
}

static void own_changes_are_seen_at_once(void **state)
{
    struct larder *own = connect_with("Watches=true,actimeo=60");
    prepare(own);
    for (step = 0; step < STEPS; step++) {
        is_seen(own); /* all of it is believed: the listings, and what is not there */
        change(own);
        if (!is_seen(own))
            fail_msg("step %u is not seen", step);
    }
    clean_up(own);
    larder_disconnect(own);
}

static void what_others_change_is_seen_when_the_server_has_told(void **state)
{
    /* No leases: of a file that somebody keeps a handle of, Samba does not tell that it was written
     * until it is closed, and lets it not go when it is removed. */
    struct larder *watching = connect_with("Watches=true,Leases=false,actimeo=60");
    struct larder *writing = connect_with("Leases=false");
    wait_for_watch(watching);
    prepare(writing);
    for (step = 0; step < STEPS; step++) {
        is_seen(watching);
        change(writing);
        int tries = 200;
        while (!is_seen(watching) && tries--)
            usleep(20000);
        if (tries < 0)
            fail_msg("step %u is not seen", step);
    }
    larder_disconnect(watching);
    clean_up(writing);
    larder_disconnect(writing);
}

struct listener {
    unsigned listings, notices; /* atomic */
    bool over;                  /* atomic */
    bool heard_too_late;
};

static void listen_to(void *user, const char *line)
{
    struct listener *t = user;
    t->heard_too_late |= __atomic_load_n(&t->over, __ATOMIC_ACQUIRE);
    if (strstr(line, "\"SmbPopulateDirCache\"") && strstr(line, "\"path\":\"told\""))
        __atomic_fetch_add(&t->listings, 1, __ATOMIC_RELAXED);
    if (strstr(line, "\"SmbChangeNotice\"") && strstr(line, "told/by another"))
        __atomic_fetch_add(&t->notices, 1, __ATOMIC_RELAXED);
}

static void who_listens_is_told_what_the_caches_do_and_what_others_change(void **state)
{
    struct listener told = {0};
    struct larder_config *config = config_with("profile=larder");
    struct larder *listening = NULL;
    struct larder_dir *d;
    good(larder_mkdir(l, "told", NULL, &err));
    larder_config_on_event(config, listen_to, &told);
    good(larder_connect(config, &listening, &err));
    larder_config_free(config);
    wait_for_watch(listening);
    good(larder_list(listening, "told", &d, &err));
    larder_dir_close(d);
    put("told/by another", "words");
    for (int i = 0; i < 1000 && !__atomic_load_n(&told.notices, __ATOMIC_RELAXED); i++)
        usleep(10000);
    larder_disconnect(listening);
    __atomic_store_n(&told.over, true, __ATOMIC_RELEASE);
    assert_int_equal(told.listings, 1);
    assert_true(told.notices > 0);
    good(larder_remove(l, "told/by another", false, &err));
    good(larder_remove(l, "told", true, &err));
    assert_false(told.heard_too_late);
}

static void links_are_read(void **state)
{
    struct larder *with = connect_with("mfsymlinks");
    struct larder_stat st;
    char *target;
    good(larder_symlink(with, "../to/it", "link", &st, &err));
    assert_true(st.is_link);
    good(larder_stat(with, "link", &st, &err));
    assert_true(st.is_link);
    good(larder_read_link(with, "link", &target, &err));
    assert_string_equal(target, "../to/it");
    free(target);
    bad(larder_read_link(with, "empty", &target, &err), -EINVAL);
    good(larder_remove(with, "link", false, &err));
    larder_disconnect(with);
    bad(larder_symlink(l, "x", "link", NULL, &err), -EOPNOTSUPP);
}

static void opens_hold_ranges_against_each_other(void **state)
{
    put("locks", "0123456789");
    struct larder *other = connect_with("vers=3.0");
    struct larder_file *a = open_with("locks", LARDER_READ | LARDER_WRITE);
    struct larder_file *b = open_with("locks", LARDER_READ | LARDER_WRITE), *c;
    good(larder_open_with(other, "locks", LARDER_READ | LARDER_WRITE, &c, NULL, &err));
    good(larder_lock(a, LARDER_LOCK_EXCLUSIVE, 0, 4, false, &err));
    bad(larder_lock(b, LARDER_LOCK_SHARED, 3, 1, false, &err), -EAGAIN);
    bad(larder_lock(c, LARDER_LOCK_EXCLUSIVE, 0, 0, false, &err), -EAGAIN);
    good(larder_lock(b, LARDER_LOCK_SHARED, 4, 0, false, &err));
    good(larder_lock(a, LARDER_UNLOCK, 2, 2, false, &err));
    good(larder_lock(c, LARDER_LOCK_EXCLUSIVE, 2, 2, true, &err));
    larder_close(a);
    good(larder_lock(c, LARDER_LOCK_EXCLUSIVE, 0, 2, false, &err));
    bad(larder_lock(c, LARDER_LOCK_EXCLUSIVE, UINT64_MAX, 2, false, &err), -EINVAL);
    larder_close(b);
    larder_close(c);
    larder_disconnect(other);
}

static void the_file_system_has_a_size(void **state)
{
    struct larder_statfs fs;
    good(larder_statfs(l, &fs, &err));
    assert_true(fs.total_bytes > 0 && fs.free_bytes <= fs.total_bytes);
    assert_true(fs.available_bytes <= fs.total_bytes && fs.block_size > 0);
    assert_int_equal(fs.name_max, 255);
    assert_false(larder_lost(l, NULL));
}

static int connect_first(void **state)
{
    l = connect_with("vers=3.1.1");
    return 0;
}

static int disconnect_last(void **state)
{
    l = larder_disconnect(l);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opens_are_of_every_kind),
        cmocka_unit_test(large_writes_come_back),
        cmocka_unit_test(the_server_copies),
        cmocka_unit_test(attributes_are_set),
        cmocka_unit_test(names_are_changed),
        cmocka_unit_test(own_changes_are_seen_at_once),
        cmocka_unit_test(what_others_change_is_seen_when_the_server_has_told),
        cmocka_unit_test(who_listens_is_told_what_the_caches_do_and_what_others_change),
        cmocka_unit_test(links_are_read),
        cmocka_unit_test(opens_hold_ranges_against_each_other),
        cmocka_unit_test(the_file_system_has_a_size),
    };
    return cmocka_run_group_tests(tests, connect_first, disconnect_last);
}
