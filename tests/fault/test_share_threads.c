/*
 * One share, many threads, and a server whose files change under them: names move, files become
 * directories and back, ids are given again. What never changes must always be found as it is;
 * nothing may be left held, and a sanitizer has nothing to say.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/server.h"
#include "share/share.h"
#include "share_bed.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

enum { THREADS = 8, ROUNDS = 150, SCRIPTS = 4 };

#define DIR(parent, name, file_id)                                                                 \
    {                                                                                              \
        parent, SERVER_NAME(name),                                                                 \
        {                                                                                          \
            .id = file_id, .attributes = FILE_ATTRIBUTE_DIRECTORY                                  \
        }                                                                                          \
    }
#define FILE(parent, name, file_id, text)                                                          \
    {                                                                                              \
        parent, SERVER_NAME(name), {.id = file_id}, SERVER_CONTENT(text)                           \
    }
#define STABLE DIR(SERVER_ROOT, u"stable", 2), FILE(0, u"file", 3, "always the same")

static const struct server_node first[] = {STABLE, DIR(SERVER_ROOT, u"moves", 10),
                                           FILE(2, u"a", 11, "1"), FILE(2, u"b", 12, "2"),
                                           FILE(SERVER_ROOT, u"kind", 13, "3")},
                                second[] = {STABLE, DIR(SERVER_ROOT, u"moved", 10),
                                            FILE(2, u"a", 12, "2"), FILE(2, u"c", 11, "1"),
                                            DIR(SERVER_ROOT, u"kind", 14)},
                                third[] = {STABLE, DIR(SERVER_ROOT, u"moves", 20),
                                           FILE(2, u"b", 11, "1"), FILE(2, u"B", 12, "2"),
                                           DIR(SERVER_ROOT, u"kind", 13)},
                                fourth[] = {STABLE, DIR(SERVER_ROOT, u"moves", 10),
                                            FILE(SERVER_ROOT, u"a", 11, "1"),
                                            FILE(SERVER_ROOT, u"b", 11, "1"),
                                            FILE(2, u"kind", 0, "")};
static const struct server_script scripts[SCRIPTS] = {
    {.nodes = first, .node_count = COUNT(first)},
    {.nodes = second, .node_count = COUNT(second)},
    {.nodes = third, .node_count = COUNT(third)},
    {.nodes = fourth, .node_count = COUNT(fourth)},
};
static const char *const names[] = {"moves", "moved", "kind", "a", "b", "c", "A", "B", "*", "b."};

struct user {
    struct share *share;
    unsigned seed;
    unsigned wrong; /* answers that no state of the server allows */
};

static bool is_expected(int r)
{
    return r == 0 || r == -ENOENT || r == -ENOTDIR || r == -ESTALE || r == -EISDIR;
}

static unsigned some(struct user *u, unsigned n)
{
    return (unsigned)rand_r(&u->seed) % n;
}

static void use_file(struct user *u, struct share_node *n)
{
    struct share_file *f;
    struct share_entry e;
    char buf[8];
    int r = share_open(u->share, n, SHARE_READ | (some(u, 2) ? SHARE_WANT_DATA : 0), &f, &e, NULL);
    u->wrong += !is_expected(r);
    if (r < 0)
        return;
    int64_t got = share_read(u->share, f, buf, sizeof buf, 0, NULL);
    u->wrong += got < 0 || got > 1;
    u->wrong += share_file_getattr(u->share, n, f, &e, NULL) < 0;
    share_file_changed(f);
    share_close(u->share, f);
}

static void use_directory(struct user *u, struct share_node *n)
{
    struct share_listing *l;
    int r = share_list(u->share, n, &l, NULL);
    /* the server's handles follow its table: one of a directory may be a file's by now */
    u->wrong += !is_expected(r) && r != -EINVAL;
    if (r < 0)
        return;
    for (size_t i = 0; i < share_listing_count(l); i++) {
        struct share_entry e;
        char name[SHARE_NAME_MAX];
        share_listing_entry(l, i, name);
        usleep(some(u, 100));
        u->wrong += share_listing_adopt(u->share, l, i, &e) < 0;
        if (some(u, 3) == 0)
            use_file(u, e.node);
        share_node_unref(u->share, e.node);
    }
    share_listing_free(u->share, l);
}

/* A look-up, and whatever is done with what it found. */
static void look_up(struct user *u, struct share_node *dir, unsigned depth)
{
    struct share_entry e, again;
    int r = share_lookup(u->share, dir, names[some(u, COUNT(names))], &e, NULL);
    u->wrong += !is_expected(r);
    if (r < 0)
        return;
    u->wrong += !is_expected(share_getattr(u->share, e.node, &again, NULL));
    if (!file_attr_is_dir(&e.attr))
        use_file(u, e.node);
    else if (some(u, 2))
        use_directory(u, e.node);
    else if (depth < 3)
        look_up(u, e.node, depth + 1);
    share_node_unref(u->share, e.node);
}

static void use_what_is_stable(struct user *u)
{
    struct share_entry e;
    struct share_file *f;
    char buf[32];
    if (share_stat_path(u->share, "stable/file", &e, NULL) < 0) {
        u->wrong++;
        return;
    }
    u->wrong += e.attr.size != 15;
    share_node_unref(u->share, e.node);
    if (share_open_path(u->share, "/stable//file", &f, &e, NULL) < 0) {
        u->wrong++;
        return;
    }
    share_node_unref(u->share, e.node);
    u->wrong += share_read(u->share, f, buf, sizeof buf, 0, NULL) != 15 ||
                memcmp(buf, "always the same", 15) != 0;
    share_close(u->share, f);
    u->wrong += share_stat_path(u->share, "stable/none", &e, NULL) != -ENOENT;
}

static void *use(void *user)
{
    struct user *u = user;
    for (unsigned i = 0; i < ROUNDS; i++) {
        look_up(u, share_root(u->share), 0);
        use_what_is_stable(u);
        if (some(u, 20) == 0)
            use_directory(u, share_root(u->share));
        if (some(u, 50) == 0)
            json_decref(share_stats(u->share));
    }
    return NULL;
}

static void run(const char *settings)
{
    struct server *server = server_new(&scripts[0]);
    struct share *share = share_bed_connect(server, settings, AS_GUEST);

    pthread_t threads[THREADS];
    struct user users[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        users[i] = (struct user){.share = share, .seed = i};
        assert_int_equal(pthread_create(&threads[i], NULL, use, &users[i]), 0);
    }
    for (unsigned i = 0; i < 100; i++) {
        server_play(server, &scripts[i % SCRIPTS]);
        usleep(5000);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(users[i].wrong, 0);
    }
    share_free(share, NULL);
    server_free(server);
}

static void larder_with_short_lifetimes(void **state)
{
    run("profile=larder,actimeo=1");
}

static void windows_23h2_with_few_entries(void **state)
{
    run("profile=23h2,actimeo=1,DirectoryCacheEntriesMax=1,FileInfoCacheEntriesMax=2,"
        "FileNotFoundCacheEntriesMax=1");
}

static void windows_25h2(void **state)
{
    run("profile=25h2,actimeo=1");
}

static void no_caches(void **state)
{
    run("profile=off");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(larder_with_short_lifetimes),
        cmocka_unit_test(windows_23h2_with_few_entries),
        cmocka_unit_test(windows_25h2),
        cmocka_unit_test(no_caches),
    };
    return cmocka_run_group_tests_name("share threads", tests, NULL, NULL);
}
