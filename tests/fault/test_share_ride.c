/*
 * Directories that ride on the tree-wide watch: they have no handle, and who watches them hears
 * what he would hear from a watch of their own. The bound is lowered to one handle, or none.
 *
 * Who watches writes down what he is told in a line: "+name|" came, "-name|" went, "~name|" was
 * modified, "from>to|" was renamed, "missed|", "unwatched|".
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ntstatus.h"
#include "server/server.h"
#include "share/internal.h"
#include "share_bed.h"

#define PATIENCE (60 * NS_PER_SEC)
#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static const struct server_node nodes[] = {
    {SERVER_ROOT, SERVER_NAME(u"dir"), {.id = 2, .attributes = FILE_ATTRIBUTE_DIRECTORY}},
    {0, SERVER_NAME(u"file"), {.id = 3}, SERVER_CONTENT("text")},
    {SERVER_ROOT, SERVER_NAME(u"other"), {.id = 4, .attributes = FILE_ATTRIBUTE_DIRECTORY}},
    {2, SERVER_NAME(u"file"), {.id = 5}, SERVER_CONTENT("other text")},
    {0, SERVER_NAME(u"sub"), {.id = 6, .attributes = FILE_ATTRIBUTE_DIRECTORY}},
};

struct bed {
    struct server *server;
    struct share *share;
    struct server_script script;
};

/* One directory, and who watches it. */
struct ear {
    struct bed *bed;
    struct share_node *dir;
    struct share_watch *watch;
    char heard[512];  /* protected by the share's lock, as all that follows */
    uint64_t last_id; /* of what the last notice's name led to before; 0: not known */
};

static struct bed *start(unsigned handles)
{
    static struct bed bed;
    bed = (struct bed){.script = {.nodes = nodes, .node_count = COUNT(nodes), .remembers = true}};
    bed.server = server_new(&bed.script);
    bed.share = share_bed_connect(bed.server, "profile=larder,Leases=false,Watches=true", AS_GUEST);
    bed.share->dirs.max = handles;
    share_bed_wait_for_watch(bed.share, "watching");
    return &bed;
}

static void stop(struct bed *b)
{
    share_free(b->share, NULL);
    server_free(b->server);
}

/* ---- who watches ---- */

static bool hear(void *user, const struct share_notice *n)
{
    struct ear *e = user;
    size_t at = strlen(e->heard), room = sizeof(e->heard) - at;
    static const char signs[] = {
        [SHARE_ADDED] = '+', [SHARE_REMOVED] = '-', [SHARE_MODIFIED] = '~'};
    if (n->news == SHARE_RENAMED)
        snprintf(e->heard + at, room, "%s>%s|", n->name, n->new_name);
    else if (n->news == SHARE_MISSED || n->news == SHARE_UNWATCHED)
        snprintf(e->heard + at, room, n->news == SHARE_MISSED ? "missed|" : "unwatched|");
    else
        snprintf(e->heard + at, room, "%c%s|", signs[n->news], n->name);
    e->last_id = n->node ? n->attr.id : 0;
    return false;
}

static struct share_node *find(struct bed *b, const char *path)
{
    struct share_entry e;
    struct error err = {0};
    if (share_stat_path(b->share, path, &e, &err) < 0)
        fail_msg("%s", err.text);
    return e.node;
}

static int try_to_listen(struct bed *b, const char *path, struct ear *ret, struct error *err)
{
    *ret = (struct ear){.bed = b, .dir = find(b, path)};
    int r = share_watch_dir(b->share, ret->dir, hear, ret, &ret->watch, err);
    if (r < 0)
        share_node_unref(b->share, ret->dir);
    return r;
}

static void listen_at(struct bed *b, const char *path, struct ear *ret)
{
    struct error err = {0};
    if (try_to_listen(b, path, ret, &err) < 0)
        fail_msg("%s", err.text);
}

static void end(struct ear *e)
{
    share_watch_end(e->watch);
    share_node_unref(e->bed->share, e->dir);
}

static void heard(struct ear *e, const char *expected)
{
    pthread_mutex_lock(&e->bed->share->lock);
    assert_string_equal(e->heard, expected);
    e->heard[0] = '\0';
    pthread_mutex_unlock(&e->bed->share->lock);
}

/* ---- what the server tells ---- */

static unsigned notices(struct bed *b)
{
    pthread_mutex_lock(&b->share->lock);
    unsigned n = (unsigned)b->share->notices;
    pthread_mutex_unlock(&b->share->lock);
    return n;
}

static void wait_for(struct bed *b, unsigned count)
{
    uint64_t begun = clock_now();
    while (notices(b) < count) {
        if (clock_now() - begun > PATIENCE)
            fail_msg("what the server told is not heard");
        usleep(1000);
    }
}

struct change {
    uint32_t action;
    struct rd name;
};
#define ADDED(name)                                                                                \
    {                                                                                              \
        FILE_ACTION_ADDED, SERVER_NAME(name)                                                       \
    }
#define REMOVED(name)                                                                              \
    {                                                                                              \
        FILE_ACTION_REMOVED, SERVER_NAME(name)                                                     \
    }
#define MODIFIED(name)                                                                             \
    {                                                                                              \
        FILE_ACTION_MODIFIED, SERVER_NAME(name)                                                    \
    }
#define RENAMED(from, to)                                                                          \
    {FILE_ACTION_RENAMED_OLD_NAME, SERVER_NAME(from)},                                             \
    {                                                                                              \
        FILE_ACTION_RENAMED_NEW_NAME, SERVER_NAME(to)                                              \
    }

/* In one answer; has been believed when this returns. */
static void tell(struct bed *b, const struct change *changes, unsigned count)
{
    uint8_t buf[2048];
    struct wr w = wr_init(buf, sizeof(buf));
    size_t last = SIZE_MAX;
    unsigned before = notices(b);
    for (unsigned i = 0; i < count; i++)
        wire_change_encode(&w, &last, &(struct wire_change){changes[i].action, changes[i].name});
    assert_true(wr_ok(&w));
    server_notify(b->server, STATUS_SUCCESS, rd_init(buf, w.pos));
    wait_for(b, before + count);
}
#define TELL(b, ...)                                                                               \
    do {                                                                                           \
        const struct change changes_[] = {__VA_ARGS__};                                            \
        tell(b, changes_, COUNT(changes_));                                                        \
    } while (0)

/* ---- tests ---- */

static void over_the_bound_a_directory_rides_and_has_no_handle(void **state)
{
    struct bed *b = start(1);
    struct ear own, rider, third;
    listen_at(b, "dir", &own);
    assert_int_equal(server_watches(b->server), 2);
    rider = (struct ear){.bed = b, .dir = find(b, "other")};
    server_play(b->server, &b->script);
    assert_int_equal(share_watch_dir(b->share, rider.dir, hear, &rider, &rider.watch, NULL), 0);
    assert_int_equal(server_count(b->server, SMB2_CREATE), 0);
    assert_int_equal(server_count(b->server, SMB2_CHANGE_NOTIFY), 0);
    assert_false(share_watch_rides(own.watch));
    assert_true(share_watch_rides(rider.watch));
    assert_int_equal(server_watches(b->server), 2);
    end(&own);
    listen_at(b, "dir/sub", &third); /* there is room again */
    assert_false(share_watch_rides(third.watch));
    assert_true(share_watch_rides(rider.watch));
    end(&rider);
    end(&third);
    stop(b);
}

static void it_is_told_of_what_others_do_in_it_and_of_nothing_else(void **state)
{
    struct bed *b = start(0);
    struct ear dir, other;
    listen_at(b, "dir", &dir);
    listen_at(b, "other", &other);
    TELL(b, ADDED(u"dir\\new"));
    heard(&dir, "+new|");
    assert_int_equal(dir.last_id, 0);
    struct share_node *file = find(b, "dir/file");
    TELL(b, MODIFIED(u"dir\\file"));
    heard(&dir, "~file|");
    assert_int_equal(dir.last_id, 3);
    TELL(b, RENAMED(u"dir\\file", u"dir\\moved"));
    heard(&dir, "file>moved|");
    assert_int_equal(dir.last_id, 3);
    TELL(b, REMOVED(u"dir\\file"), REMOVED(u"dir\\unknown"));
    heard(&dir, "-file|-unknown|");
    TELL(b, ADDED(u"top"), ADDED(u"dir\\sub\\deep"), ADDED(u"nowhere\\x"), MODIFIED(u"dir"));
    TELL(b, ADDED(u"Dir\\spelled"), ADDED(u"other\\last"));
    heard(&dir, "+spelled|");
    heard(&other, "+last|");
    share_node_unref(b->share, file);
    end(&dir);
    end(&other);
    stop(b);
}

static void a_file_that_is_removed_is_told_as_what_it_was(void **state)
{
    struct bed *b = start(0);
    struct ear dir;
    listen_at(b, "dir", &dir);
    struct share_node *file = find(b, "dir/file");
    TELL(b, REMOVED(u"dir\\file"));
    heard(&dir, "-file|");
    assert_int_equal(dir.last_id, 3);
    share_node_unref(b->share, file);
    end(&dir);
    stop(b);
}

static void from_one_directory_to_another_it_is_two_things(void **state)
{
    struct bed *b = start(0);
    struct ear dir, other;
    listen_at(b, "dir", &dir);
    listen_at(b, "other", &other);
    TELL(b, RENAMED(u"dir\\a", u"other\\b"), RENAMED(u"dir\\c", u"elsewhere"),
         RENAMED(u"elsewhere", u"other\\d"));
    heard(&dir, "-a|-c|");
    heard(&other, "+b|+d|");
    end(&dir);
    end(&other);
    stop(b);
}

static void passing_names_are_left_out(void **state)
{
    struct bed *b = start(0);
    struct ear dir;
    listen_at(b, "dir", &dir);
    TELL(b, RENAMED(u"dir\\a", u"dir\\.larder-removed-1"), MODIFIED(u"dir\\.larder-removed-1"),
         REMOVED(u"dir\\.larder-removed-1"), RENAMED(u"dir\\.larder-removed-2", u"dir\\b"));
    heard(&dir, "-a|+b|");
    end(&dir);
    stop(b);
}

static void own_changes_are_silent(void **state)
{
    struct bed *b = start(0);
    struct ear dir, other;
    struct share_entry e;
    struct share_file *f;
    listen_at(b, "dir", &dir);
    listen_at(b, "other", &other);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(share_mkdir(b->share, dir.dir, i ? "two" : "one", &e, NULL), 0);
        share_node_unref(b->share, e.node);
    }
    assert_int_equal(share_rename(b->share, dir.dir, "one", dir.dir, "three", false, NULL), 0);
    assert_int_equal(share_rename(b->share, dir.dir, "two", other.dir, "moved", false, NULL), 0);
    assert_int_equal(share_create(b->share, dir.dir, "own", SHARE_WRITE, 0, &f, &e, NULL, NULL), 0);
    share_node_unref(b->share, e.node);
    TELL(b, ADDED(u"dir\\one"), ADDED(u"dir\\two"), RENAMED(u"dir\\one", u"dir\\three"),
         RENAMED(u"dir\\two", u"other\\moved"), ADDED(u"dir\\own"), MODIFIED(u"dir\\own"));
    heard(&dir, "");
    heard(&other, "");
    TELL(b, ADDED(u"dir\\one"), REMOVED(u"other\\moved")); /* that was somebody else */
    heard(&dir, "+one|");
    heard(&other, "-moved|");
    share_close(b->share, f);
    end(&dir);
    end(&other);
    stop(b);
}

/* A notice came while it was under way, and the reply says that nothing was done. */
static void what_was_taken_for_an_own_change_that_failed_is_told_after_all(void **state)
{
    struct bed *b = start(0);
    struct ear dir;
    listen_at(b, "dir", &dir);
    pthread_mutex_lock(&b->share->lock);
    uint64_t own = own_begins(b->share, dir.dir, "x", true);
    pthread_mutex_unlock(&b->share->lock);
    TELL(b, ADDED(u"dir\\x"));
    heard(&dir, "");
    pthread_mutex_lock(&b->share->lock);
    own_ends(b->share, own, false);
    pthread_mutex_unlock(&b->share->lock);
    heard(&dir, "+x|");
    end(&dir);
    stop(b);
}

static void nothing_of_it_is_in_the_way_of_an_own_renaming(void **state)
{
    struct bed *b = start(1);
    struct ear own, rider;
    listen_at(b, "dir/sub", &own);
    listen_at(b, "dir", &rider);
    assert_int_equal(share_rename(b->share, share_root(b->share), "dir", share_root(b->share),
                                  "moved", false, NULL),
                     0);
    heard(&own, "unwatched|");
    heard(&rider, "");
    TELL(b, ADDED(u"moved\\new"));
    heard(&rider, "+new|");
    end(&own);
    end(&rider);
    stop(b);
}

static void a_lost_count_is_told_to_all_that_ride(void **state)
{
    struct bed *b = start(1);
    struct ear own, one, other;
    listen_at(b, "dir/sub", &own);
    listen_at(b, "dir", &one);
    listen_at(b, "other", &other);
    server_notify(b->server, STATUS_NOTIFY_ENUM_DIR, (struct rd){0}); /* to the oldest request */
    wait_for(b, 1);
    heard(&own, "");
    heard(&one, "missed|");
    heard(&other, "missed|");
    end(&own);
    end(&one);
    end(&other);
    stop(b);
}

static void when_the_tree_wide_watch_ends_all_that_ride_are_told_and_nobody_rides(void **state)
{
    struct bed *b = start(0);
    struct ear dir, other, again;
    struct error err = {0};
    listen_at(b, "dir", &dir);
    listen_at(b, "other", &other);
    server_notify(b->server, STATUS_NOTIFY_CLEANUP, (struct rd){0});
    share_bed_wait_for_watch(b->share, "refused");
    heard(&dir, "unwatched|");
    heard(&other, "unwatched|");
    end(&dir);
    assert_int_equal(try_to_listen(b, "dir", &again, &err), -EMFILE);
    assert_int_equal(err.status, 0);
    assert_non_null(strstr(err.text, "the server does not tell"));
    b->share->dirs.max = 1;
    listen_at(b, "dir", &again);
    assert_false(share_watch_rides(again.watch));
    end(&again);
    end(&other);
    stop(b);
}

static void and_ride_again_once_there_is_another_connection(void **state)
{
    static const struct server_rule hang_up = {
        .command = SMB2_CREATE, .nth = 1, .action = SERVER_HANG_UP};
    struct bed *b = start(0);
    struct ear dir;
    struct share_entry e;
    listen_at(b, "dir", &dir);
    b->script.rules = &hang_up;
    b->script.rule_count = 1;
    server_play(b->server, &b->script);
    assert_int_equal(share_lookup_anew(b->share, dir.dir, "missing", &e, NULL), -ENOENT);
    share_bed_wait_for_watch(b->share, "watching");
    heard(&dir, "unwatched|");
    TELL(b, ADDED(u"dir\\a")); /* it is over all the same */
    heard(&dir, "");
    end(&dir);
    listen_at(b, "dir", &dir);
    assert_true(share_watch_rides(dir.watch));
    TELL(b, ADDED(u"dir\\b"));
    heard(&dir, "+b|");
    end(&dir);
    stop(b);
}

static void without_a_tree_wide_watch_the_reason_is_the_setting(void **state)
{
    struct server_script script = {.nodes = nodes, .node_count = COUNT(nodes)};
    struct bed b = {.server = server_new(&script)};
    struct ear ear;
    struct error err = {0};
    b.share = share_bed_connect(b.server, "profile=larder,Watches=false", AS_GUEST);
    b.share->dirs.max = 0;
    assert_int_equal(try_to_listen(&b, "dir", &ear, &err), -EMFILE);
    assert_non_null(strstr(err.text, "Watches=false"));
    stop(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(over_the_bound_a_directory_rides_and_has_no_handle),
        cmocka_unit_test(it_is_told_of_what_others_do_in_it_and_of_nothing_else),
        cmocka_unit_test(a_file_that_is_removed_is_told_as_what_it_was),
        cmocka_unit_test(from_one_directory_to_another_it_is_two_things),
        cmocka_unit_test(passing_names_are_left_out),
        cmocka_unit_test(own_changes_are_silent),
        cmocka_unit_test(what_was_taken_for_an_own_change_that_failed_is_told_after_all),
        cmocka_unit_test(nothing_of_it_is_in_the_way_of_an_own_renaming),
        cmocka_unit_test(a_lost_count_is_told_to_all_that_ride),
        cmocka_unit_test(when_the_tree_wide_watch_ends_all_that_ride_are_told_and_nobody_rides),
        cmocka_unit_test(and_ride_again_once_there_is_another_connection),
        cmocka_unit_test(without_a_tree_wide_watch_the_reason_is_the_setting),
    };
    return cmocka_run_group_tests_name("share: riding", tests, NULL, NULL);
}
