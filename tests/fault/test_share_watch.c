/*
 * A share whose server lets CHANGE_NOTIFY wait: one that tells of changes is believed, one that
 * stays silent is found out by what is verified.
 *
 * With leases, too, what it tells of a file ends the handle that is kept of it.
 *
 * The table of names is replaced behind our back. What the directory's times can tell is known only
 * once they have been old for 2 s, so these tests last some seconds.
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
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ntstatus.h"
#include "client/client.h"
#include "server/server.h"
#include "share/share.h"
#include "share_bed.h"

#define FIRST_TIME 130000000000000000u /* a FILETIME of 2012 */
#define PATIENCE   (60 * NS_PER_SEC)

struct bed {
    struct server *server;
    struct share *share;
    struct server_script script;  /* what is played */
    unsigned state;               /* how often the directory was changed */
    struct server_node nodes[2];  /* as they are now */
    struct server_node before[2]; /* the server may be answering by them */
};

/* Directory "d" with one file, another one in each state. */
static void set_nodes(struct bed *b)
{
    static const struct rd names[] = {SERVER_NAME(u"even"), SERVER_NAME(u"odd")};
    uint64_t time = FIRST_TIME + b->state * 10000000u;
    memcpy(b->before, b->nodes, sizeof b->nodes);
    b->nodes[0] = (struct server_node){SERVER_ROOT,
                                       SERVER_NAME(u"d"),
                                       {.id = 10,
                                        .attributes = FILE_ATTRIBUTE_DIRECTORY,
                                        .created = FIRST_TIME,
                                        .written = time,
                                        .changed = time,
                                        .accessed = time},
                                       {0}};
    b->nodes[1] = (struct server_node){0, names[b->state % 2], {.id = 20 + b->state % 2}, {0}};
}

static struct bed *start_with(const char *settings, const struct server_script *script)
{
    static struct bed bed;
    struct bed *b = &bed;
    *b = (struct bed){.script = *script};
    set_nodes(b);
    b->script.nodes = b->nodes;
    b->script.node_count = 2;
    b->server = server_new(&b->script);
    b->share = share_bed_connect(b->server, settings, AS_GUEST);
    return b;
}

static struct bed *start(const char *settings)
{
    return start_with(settings, &(struct server_script){0});
}

static void stop(struct bed *b)
{
    share_free(b->share, NULL);
    server_free(b->server);
}

static void change(struct bed *b)
{
    static struct server_node other[2]; /* server_play borrows its table */
    b->state++;
    set_nodes(b);
    memcpy(other, b->nodes, sizeof other);
    server_play(b->server, &(struct server_script){.nodes = other, .node_count = 2});
}

/* The one name in the directory, as the share says. */
static bool shows_state(struct bed *b)
{
    struct share_listing *l;
    char name[SHARE_NAME_MAX];
    assert_int_equal(share_list_path(b->share, "d", &l, NULL), 0);
    assert_int_equal(share_listing_count(l), 1);
    share_listing_entry(l, 0, name);
    share_listing_free(b->share, l);
    return strcmp(name, b->state % 2 ? "odd" : "even") == 0;
}

static unsigned figure(struct bed *b, const char *member, const char *name)
{
    json_t *stats = share_stats(b->share), *at = json_object_get(stats, member);
    const char *dot = strchr(name, '.');
    if (dot)
        at = json_object_getn(at, name, (size_t)(dot - name));
    at = json_object_get(at, dot ? dot + 1 : name);
    assert_true(json_is_integer(at));
    unsigned value = (unsigned)json_integer_value(at);
    json_decref(stats);
    return value;
}

static void tell_all(struct bed *b)
{
    server_notify(b->server, STATUS_NOTIFY_ENUM_DIR, (struct rd){0});
}

/* The one file was modified; believed when this returns. */
static void tell_modified(struct bed *b)
{
    uint8_t buf[64];
    struct wr w = wr_init(buf, sizeof buf);
    size_t last = SIZE_MAX;
    unsigned before = figure(b, "watch", "notices");
    uint64_t begun = clock_now();
    wire_change_encode(&w, &last,
                       &(struct wire_change){FILE_ACTION_MODIFIED, SERVER_NAME(u"d\\even")});
    assert_true(wr_ok(&w));
    server_notify(b->server, STATUS_SUCCESS, rd_init(buf, w.pos));
    while (figure(b, "watch", "notices") == before) {
        if (clock_now() - begun > PATIENCE)
            fail_msg("the notice is not heard of");
        usleep(1000);
    }
}

/* ---- with leases ---- */

/* A server that leases and tells. A watch is an open, too. */
static struct bed *start_leased(void)
{
    const struct server_script script = {
        .dialect = SMB2_DIALECT_302,
        .capabilities = SMB2_GLOBAL_CAP_LEASING | SMB2_GLOBAL_CAP_DIRECTORY_LEASING,
        .lease = {.state = CLIENT_LEASE_READ | CLIENT_LEASE_HANDLE, .epoch = 1}};
    struct bed *b = start_with("profile=larder,Leases=true,Watches=true", &script);
    share_bed_wait_for_watch(b->share, "watching");
    return b;
}

static void play(struct bed *b, const struct server_rule *rules, size_t count)
{
    b->script.rules = rules;
    b->script.rule_count = count;
    server_play(b->server, &b->script);
}

static struct share_file *open_file(struct bed *b)
{
    struct share_file *f;
    struct error err = {0};
    if (share_open_path(b->share, "d/even", &f, NULL, &err) < 0)
        fail_msg("%s", err.text);
    return f;
}

static void files_kept_become(struct bed *b, unsigned count)
{
    uint64_t begun = clock_now();
    while (figure(b, "leases", "dormant.files") != count) {
        if (clock_now() - begun > PATIENCE)
            fail_msg("%u handles are kept", figure(b, "leases", "dormant.files"));
        usleep(1000);
    }
}

static void stat_file(struct bed *b)
{
    struct share_entry e;
    assert_int_equal(share_stat_path(b->share, "d/even", &e, NULL), 0);
    share_node_unref(b->share, e.node);
}

/* ---- tests ---- */

static void a_kept_handle_of_what_was_modified_is_closed(void **state)
{
    struct bed *b = start_leased();
    share_close(b->share, open_file(b));
    assert_int_equal(figure(b, "leases", "dormant.files"), 1);
    play(b, NULL, 0);
    stat_file(b);
    assert_int_equal(server_count(b->server, SMB2_CREATE), 0);
    tell_modified(b);
    files_kept_become(b, 0);
    assert_int_equal(figure(b, "leases", "given_up.times"), 1);
    stat_file(b);
    assert_int_equal(server_count(b->server, SMB2_CREATE), 1);
    stop(b);
}

/* Whoever comes first, the keeper or who asks. */
static void and_the_directory_is_listed_after_that(void **state)
{
    struct bed *b = start_leased();
    for (int i = 0; i < 20; i++) {
        struct server_reply reply;
        assert_true(shows_state(b));
        share_close(b->share, open_file(b));
        play(b, NULL, 0);
        tell_modified(b);
        assert_true(shows_state(b)); /* with attributes: the file's are not believed any more */
        for (unsigned n = 0;; n++) {
            assert_true(server_reply(b->server, n, &reply));
            assert_int_not_equal(reply.command, SMB2_QUERY_DIRECTORY);
            if (reply.command == SMB2_CLOSE)
                break;
        }
        assert_int_equal(figure(b, "leases", "given_up.times"), i + 1);
    }
    stop(b);
}

static void nor_is_one_kept_that_was_in_use_then(void **state)
{
    struct bed *b = start_leased();
    struct share_file *f = open_file(b);
    tell_modified(b);
    share_close(b->share, f);
    assert_int_equal(figure(b, "leases", "dormant.files"), 0);
    share_close(b->share, open_file(b));
    assert_int_equal(figure(b, "leases", "dormant.files"), 1);
    stop(b);
}

struct opener {
    struct bed *bed;
    atomic_bool done;
};

static void *open_and_close(void *user)
{
    struct opener *o = user;
    share_close(o->bed->share, open_file(o->bed));
    o->done = true;
    return NULL;
}

/* Its name may be known by then, or not. */
static void nor_one_whose_open_was_under_way(void **state)
{
    static const struct server_rule held = {
        .command = SMB2_CREATE, .nth = 1, .action = SERVER_HOLD, .value = 8};
    for (int known = 0; known < 2; known++) {
        struct bed *b = start_leased();
        struct opener o = {.bed = b};
        struct share_entry dir, e;
        pthread_t thread;
        assert_int_equal(share_stat_path(b->share, "d", &dir, NULL), 0);
        if (known)
            stat_file(b);
        play(b, &held, 1);
        assert_int_equal(pthread_create(&thread, NULL, open_and_close, &o), 0);
        while (server_count(b->server, SMB2_CREATE) == 0)
            usleep(1000);
        tell_modified(b);
        while (!o.done) /* frames that overtake it */
            assert_int_equal(share_lookup_anew(b->share, dir.node, "missing", &e, NULL), -ENOENT);
        pthread_join(thread, NULL);
        assert_int_equal(figure(b, "leases", "dormant.files"), 0);
        share_node_unref(b->share, dir.node);
        stop(b);
    }
}

static void a_server_that_never_tells_is_not_believed_for_long(void **state)
{
    struct bed *b = start("profile=larder,Watches=true,actimeo=1,CacheMaxAge=1");
    uint64_t begun = clock_now();
    share_bed_wait_for_watch(b->share, "watching");
    while (!share_bed_watch_is(b->share, "silent")) {
        if (clock_now() - begun > PATIENCE)
            fail_msg("the silent server was not found out");
        uint64_t quiet = clock_now(); /* the directory's times grow old, looked at all the time */
        while (clock_now() - quiet < 4 * NS_PER_SEC)
            shows_state(b), usleep(100000);
        change(b);
        while (!shows_state(b)) /* found by its age */
            usleep(50000);
    }
    assert_true(b->state >= 2);         /* one finding may have met a notice under way */
    while (server_watches(b->server)) { /* it is cancelled */
        if (clock_now() - begun > 2 * PATIENCE)
            fail_msg("the silent server is still asked");
        usleep(1000);
    }
    stop(b);
}

/* What we change ourselves it would have to tell of. */
static void nor_one_that_does_not_tell_of_our_own_changes(void **state)
{
    struct bed *b = start("profile=larder,Watches=true,CacheMaxAge=60");
    struct share_entry dir;
    uint64_t begun = clock_now();
    share_bed_wait_for_watch(b->share, "watching");
    assert_int_equal(share_stat_path(b->share, "d", &dir, NULL), 0);
    while (!share_bed_watch_is(b->share, "silent")) { /* the table of names has it all the time */
        assert_int_equal(share_remove(b->share, dir.node, "even", false, NULL), 0);
        if (clock_now() - begun > PATIENCE)
            fail_msg("the silent server was not found out");
        usleep(100000);
    }
    share_node_unref(b->share, dir.node);
    stop(b);
}

static void a_server_that_tells_stays_believed(void **state)
{
    struct bed *b = start("profile=larder,Watches=true,actimeo=1,CacheMaxAge=60");
    share_bed_wait_for_watch(b->share, "watching");
    assert_true(shows_state(b));
    uint64_t begun = clock_now();
    while (clock_now() - begun < 3 * NS_PER_SEC) {
        change(b);
        tell_all(b);
        uint64_t told = clock_now();
        while (!shows_state(b)) {
            if (clock_now() - told > PATIENCE)
                fail_msg("what the server told of is still believed");
            usleep(1000);
        }
        usleep(200000);
    }
    assert_true(share_bed_watch_is(b->share, "watching"));
    stop(b);
}

static void a_watch_that_the_server_ends_is_believed_no_more(void **state)
{
    struct bed *b = start("profile=larder,Watches=true,actimeo=1,CacheMaxAge=60");
    share_bed_wait_for_watch(b->share, "watching");
    assert_true(shows_state(b));
    server_notify(b->server, STATUS_NOTIFY_CLEANUP, (struct rd){0});
    share_bed_wait_for_watch(b->share, "refused");
    change(b);
    uint64_t begun = clock_now();
    while (!shows_state(b)) { /* by its lifetime of 1 s */
        if (clock_now() - begun > PATIENCE / 2)
            fail_msg("believed on nobody's word");
        usleep(10000);
    }
    stop(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_that_never_tells_is_not_believed_for_long),
        cmocka_unit_test(nor_one_that_does_not_tell_of_our_own_changes),
        cmocka_unit_test(a_server_that_tells_stays_believed),
        cmocka_unit_test(a_watch_that_the_server_ends_is_believed_no_more),
        cmocka_unit_test(a_kept_handle_of_what_was_modified_is_closed),
        cmocka_unit_test(and_the_directory_is_listed_after_that),
        cmocka_unit_test(nor_is_one_kept_that_was_in_use_then),
        cmocka_unit_test(nor_one_whose_open_was_under_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
