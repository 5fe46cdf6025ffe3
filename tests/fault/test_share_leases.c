/*
 * Leases of a share on the scripted server: what is believed by them and until when, what is kept
 * open under them, and what becomes of both when the server takes them back, at whatever moment.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ntstatus.h"
#include "client/client.h"
#include "server/server.h"
#include "share/share.h"
#include "share_bed.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

enum {
    R = CLIENT_LEASE_READ,
    RH = CLIENT_LEASE_READ | CLIENT_LEASE_HANDLE,
    DIRS = 200,
    LIFETIME = 10, /* s, of what nobody promised anything about */
};

/* ---- a share and its server ---- */

static const struct server_node small[] = {
    {SERVER_ROOT, SERVER_NAME(u"dir"), {.id = 2, .attributes = FILE_ATTRIBUTE_DIRECTORY}},
    {0, SERVER_NAME(u"file"), {.id = 3}, SERVER_CONTENT("text")},
    {0, SERVER_NAME(u"other"), {.id = 4}, SERVER_CONTENT("other text")},
    {0, SERVER_NAME(u"sub"), {.id = 5, .attributes = FILE_ATTRIBUTE_DIRECTORY}},
};

static struct server_node wide[DIRS];
static uint16_t wide_names[DIRS][4];

static void make_wide(void)
{
    for (int i = 0; i < DIRS; i++) {
        for (int k = 0, rest = i; k < 4; k++, rest /= 10)
            wide_names[i][3 - k] = (uint16_t)(u'0' + rest % 10);
        wide[i] = (struct server_node){
            .parent = SERVER_ROOT,
            .name = {.base = (const uint8_t *)wide_names[i], .len = sizeof wide_names[i]},
            .attr = {.id = 100 + (uint64_t)i, .attributes = FILE_ATTRIBUTE_DIRECTORY}};
    }
}

struct bed {
    struct server *server;
    struct share *share;
    struct server_script script;
};

static void play(struct bed *b, const struct server_rule *rules, size_t count)
{
    b->script.rules = rules;
    b->script.rule_count = count;
    server_play(b->server, &b->script);
}

static struct bed connect_to(const char *settings, const struct server_script *script)
{
    struct bed b = {.script = *script, .server = server_new(script)};
    b.share = share_bed_connect(b.server, settings, AS_GUEST ",Watches=false");
    return b;
}

static struct server_script script_of(const struct server_node *nodes, size_t count)
{
    return (struct server_script){.dialect = SMB2_DIALECT_302,
                                  .capabilities =
                                      SMB2_GLOBAL_CAP_LEASING | SMB2_GLOBAL_CAP_DIRECTORY_LEASING,
                                  .lease = {.state = RH, .epoch = 1},
                                  .nodes = nodes,
                                  .node_count = count};
}

static struct bed start(const char *settings, const struct server_node *nodes, size_t count)
{
    const struct server_script script = script_of(nodes, count);
    return connect_to(settings, &script);
}

static struct bed start_small(const char *settings)
{
    return start(settings, small, COUNT(small));
}

static void opens_become(struct bed *b, unsigned count)
{
    for (int i = 0; i < 1000 && server_opens(b->server) != count; i++)
        usleep(10000);
    assert_int_equal(server_opens(b->server), count);
}

static void stop(struct bed *b)
{
    share_free(b->share, NULL);
    opens_become(b, 0);
    server_free(b->server);
}

static unsigned asked(struct bed *b, int command)
{
    return server_count(b->server, command);
}

/* A figure of the member "leases" of the share's own statistics; "dormant.files" is one inside. */
static unsigned figure(struct bed *b, const char *name)
{
    json_t *all = share_stats(b->share);
    json_t *at = json_object_get(all, "leases");
    char path[64];
    snprintf(path, sizeof path, "%s", name);
    for (char *part = strtok(path, "."); part; part = strtok(NULL, "."))
        at = json_object_get(at, part);
    assert_true(json_is_integer(at));
    unsigned value = (unsigned)json_integer_value(at);
    json_decref(all);
    return value;
}

static void figure_becomes(struct bed *b, const char *name, unsigned value)
{
    for (int i = 0; i < 1000 && figure(b, name) != value; i++)
        usleep(10000);
    assert_int_equal(figure(b, name), value);
}

/* ---- what a program does ---- */

static struct share_node *node_of(struct bed *b, const char *path)
{
    struct share_entry e;
    struct error err = {0};
    if (share_stat_path(b->share, path, &e, &err) < 0)
        fail_msg("%s", err.text);
    return e.node;
}

static void read_file(struct bed *b, struct share_node *n, const char *content)
{
    struct share_file *f;
    struct error err = {0};
    char buf[64];
    if (share_open(b->share, n, SHARE_READ | SHARE_WANT_DATA, &f, NULL, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(share_read(b->share, f, buf, sizeof buf, 0, NULL), strlen(content));
    assert_memory_equal(buf, content, strlen(content));
    share_close(b->share, f);
}

static size_t list(struct bed *b, struct share_node *dir)
{
    struct share_listing *l;
    struct error err = {0};
    if (share_list(b->share, dir, &l, &err) < 0)
        fail_msg("%s", err.text);
    size_t count = share_listing_count(l);
    share_listing_free(b->share, l);
    return count;
}

/* Whether the attributes are believed for longer than without a promise. */
static bool is_promised(struct bed *b, struct share_node *n)
{
    struct share_entry e;
    assert_int_equal(share_getattr(b->share, n, &e, NULL), 0);
    return e.valid_ns > LIFETIME * NS_PER_SEC;
}

static void send_break(struct bed *b, struct server_break what)
{
    unsigned before = figure(b, "broken");
    assert_true(server_send_break(b->server, &what));
    figure_becomes(b, "broken", before + 1);
}

/* The place of the key that the last CREATE asked by, as breaks name it. */
static int last_lease(struct bed *b)
{
    return (int)server_leases(b->server) - 1;
}

/* ---- keeping ---- */

static void a_file_that_was_read_is_opened_again_without_a_request(void **state)
{
    struct bed b = start_small("profile=larder");
    struct share_node *n = node_of(&b, "dir/file");
    read_file(&b, n, "text");
    assert_int_equal(server_opens(b.server), 1);
    assert_int_equal(figure(&b, "dormant.files"), 1);
    unsigned creates = asked(&b, SMB2_CREATE), closes = asked(&b, SMB2_CLOSE);
    read_file(&b, n, "text");
    struct share_file *f;
    struct share_entry e;
    assert_int_equal(share_open_path(b.share, "dir/file", &f, &e, NULL), 0);
    assert_ptr_equal(e.node, n);
    share_node_unref(b.share, e.node);
    share_close(b.share, f);
    assert_int_equal(asked(&b, SMB2_CREATE), creates);
    assert_int_equal(asked(&b, SMB2_CLOSE), closes);
    assert_int_equal(figure(&b, "reopened"), 2);
    assert_true(is_promised(&b, n));
    share_node_unref(b.share, n);
    stop(&b);
}

static void what_was_opened_to_be_written_is_closed(void **state)
{
    struct bed b = start_small("profile=larder");
    struct share_node *n = node_of(&b, "dir/file");
    struct share_file *f;
    assert_int_equal(share_open(b.share, n, SHARE_READ | SHARE_WRITE, &f, NULL, NULL), 0);
    share_close(b.share, f);
    opens_become(&b, 0);
    share_node_unref(b.share, n);
    stop(&b);
}

static void a_listed_directory_stays_open_and_its_listing_is_promised(void **state)
{
    struct bed b = start_small("profile=larder");
    struct share_node *dir = node_of(&b, "dir");
    struct share_entry e;
    assert_int_equal(list(&b, dir), 3);
    assert_int_equal(figure(&b, "dormant.directories"), 1);
    assert_int_equal(share_lookup(b.share, dir, "missing", &e, NULL), -ENOENT);
    assert_true(e.valid_ns > LIFETIME * NS_PER_SEC);
    share_node_unref(b.share, dir);
    stop(&b);
}

static void without_the_right_to_keep_handles_a_promise_ends_with_the_last_open(void **state)
{
    struct bed b = start_small("profile=larder");
    b.script.lease.state = R;
    play(&b, NULL, 0);
    struct share_node *n = node_of(&b, "dir/file");
    struct share_file *f;
    assert_int_equal(share_open(b.share, n, SHARE_READ, &f, NULL, NULL), 0);
    assert_true(is_promised(&b, n));
    share_close(b.share, f);
    opens_become(&b, 0);
    assert_false(is_promised(&b, n));
    share_node_unref(b.share, n);
    stop(&b);
}

static void leases_are_asked_for_only_where_they_are_on(void **state)
{
    static const char *const off[] = {"profile=larder,Leases=false", "profile=larder,CacheMaxAge=0",
                                      "profile=larder,actimeo=0", "profile=off", "profile=23h2"};
    for (size_t i = 0; i < COUNT(off); i++) {
        struct bed b = start_small(off[i]);
        struct share_node *n = node_of(&b, "dir/file"), *dir = node_of(&b, "dir");
        read_file(&b, n, "text");
        assert_int_equal(list(&b, dir), 3);
        opens_become(&b, 0);
        assert_int_equal(server_leases(b.server), 0);
        assert_int_equal(figure(&b, "asked"), 0);
        share_node_unref(b.share, n);
        share_node_unref(b.share, dir);
        stop(&b);
    }
}

/* ---- bounds ---- */

static void at_most_so_many_handles_are_kept_as_the_limit_says(void **state)
{
    static const unsigned limits[] = {0, 1, 10};
    for (size_t i = 0; i < COUNT(limits); i++) {
        char settings[64];
        snprintf(settings, sizeof settings, "profile=larder,DormantFileLimit=%u", limits[i]);
        struct bed b = start(settings, wide, DIRS);
        for (int d = 0; d < 40; d++) {
            char path[8];
            snprintf(path, sizeof path, "%04d", d);
            struct share_node *n = node_of(&b, path);
            assert_int_equal(list(&b, n), 0);
            share_node_unref(b.share, n);
            assert_true(server_opens(b.server) <= limits[i] + 1); /* a CLOSE may be on its way */
        }
        opens_become(&b, limits[i]);
        assert_int_equal(figure(&b, "dormant.directories"), limits[i]);
        assert_true(figure(&b, "given_up.room") >= (limits[i] ? 40 - limits[i] : 0));
        stop(&b);
    }
}

static void a_handle_that_nobody_uses_is_closed_in_time(void **state)
{
    static const char *const settings[] = {"profile=larder,DormantDirectoryTimeout=1",
                                           "profile=larder,CacheMaxAge=1"}; /* files alone */
    for (unsigned i = 0; i < COUNT(settings); i++) {
        struct bed b = start_small(settings[i]);
        struct share_node *n = node_of(&b, "dir/file"), *dir = node_of(&b, "dir");
        list(&b, dir);
        read_file(&b, n, "text");
        assert_int_equal(server_opens(b.server), 2);
        opens_become(&b, i);
        assert_int_equal(figure(&b, "given_up.age"), 2 - i);
        assert_false(is_promised(&b, n));
        share_node_unref(b.share, n);
        share_node_unref(b.share, dir);
        stop(&b);
    }
}

/* Samba tells old times of it while it is open. */
static void a_kept_handle_is_closed_before_its_file_is_asked_for(void **state)
{
    struct bed b = start_small("profile=larder,actimeo=1");
    struct share_node *n = node_of(&b, "dir/file");
    struct share_entry e;
    read_file(&b, n, "text");
    assert_int_equal(share_stat_path(b.share, "dir/file", &e, NULL), 0);
    share_node_unref(b.share, e.node);
    assert_int_equal(server_opens(b.server), 1);
    usleep(1100000); /* the name's time, no promise is on that */
    assert_int_equal(share_stat_path(b.share, "dir/file", &e, NULL), 0);
    share_node_unref(b.share, e.node);
    assert_int_equal(figure(&b, "given_up.times"), 1);
    assert_int_equal(server_opens(b.server), 0);
    share_node_unref(b.share, n);
    stop(&b);
}

static void and_before_a_listing_that_would_be_believed_for_too_long(void **state)
{
    static const char *const settings[] = {"profile=larder,FileInfoCacheLifetime=10",
                                           "profile=larder,FileInfoCacheLifetime=60"};
    for (size_t i = 0; i < COUNT(settings); i++) {
        struct bed b = start_small(settings[i]);
        struct share_node *n = node_of(&b, "dir/file"), *dir = node_of(&b, "dir");
        read_file(&b, n, "text");
        list(&b, dir);
        assert_int_equal(figure(&b, "given_up.times"), i);
        opens_become(&b, 2 - (unsigned)i);
        share_node_unref(b.share, n);
        share_node_unref(b.share, dir);
        stop(&b);
    }
}

/* Lists the top and all in it. */
static void walk(struct bed *b)
{
    struct share_listing *l;
    assert_int_equal(share_list(b->share, share_root(b->share), &l, NULL), 0);
    assert_int_equal(share_listing_count(l), DIRS);
    for (size_t i = 0; i < DIRS; i++) {
        struct share_entry e;
        assert_int_equal(share_listing_adopt(b->share, l, i, &e), 0);
        assert_int_equal(list(b, e.node), 0);
        share_node_unref(b->share, e.node);
    }
    share_listing_free(b->share, l);
}

static void a_server_out_of_handles_in_the_middle_of_a_walk_changes_nothing(void **state)
{
    static const uint32_t statuses[] = {STATUS_INSUFFICIENT_RESOURCES,
                                        STATUS_TOO_MANY_OPENED_FILES};
    for (size_t i = 0; i < COUNT(statuses); i++) {
        struct server_rule rules[] = {
            {SMB2_CREATE, 2, SERVER_ANYWHERE, SERVER_FAIL, statuses[i]},
            {SMB2_CREATE, 100, SERVER_ANYWHERE, SERVER_FAIL, statuses[i]},
            {SMB2_CREATE, 180, SERVER_ANYWHERE, SERVER_FAIL, statuses[i]}};
        struct bed b = start("profile=larder", wide, DIRS);
        play(&b, rules, COUNT(rules));
        walk(&b);
        assert_int_equal(asked(&b, SMB2_CREATE), 1 + DIRS + 3);
        assert_true(figure(&b, "given_up.room") > 90);
        stop(&b);
    }
}

/* It is out of handles for good: that is an error, and asked for twice at most. */
static void a_server_that_stays_out_of_handles_is_an_error(void **state)
{
    const struct server_rule rule = {SMB2_CREATE, 0, SERVER_ANYWHERE, SERVER_FAIL,
                                     STATUS_INSUFFICIENT_RESOURCES};
    struct bed b = start_small("profile=larder");
    struct share_node *n = node_of(&b, "dir/file"), *dir = node_of(&b, "dir");
    struct share_listing *l;
    read_file(&b, n, "text");
    play(&b, &rule, 1);
    assert_int_equal(share_list(b.share, dir, &l, NULL), -EAGAIN);
    assert_int_equal(asked(&b, SMB2_CREATE), 2);
    opens_become(&b, 0);
    play(&b, NULL, 0);
    assert_int_equal(list(&b, dir), 3);
    share_node_unref(b.share, n);
    share_node_unref(b.share, dir);
    stop(&b);
}

/* ---- breaks ---- */

static void a_dormant_handle_is_closed_instead_of_an_acknowledgement(void **state)
{
    struct bed b = start_small("profile=larder");
    struct share_node *n = node_of(&b, "dir/file"), *dir = node_of(&b, "dir");
    read_file(&b, n, "text");
    uint64_t began = clock_now();
    send_break(&b,
               (struct server_break){.lease = last_lease(&b), .epoch = 2, .state = R, .ack = true});
    opens_become(&b, 0);
    assert_true(clock_now() - began >= 10 * NS_PER_MS); /* its directory may be what moves */
    list(&b, dir);
    send_break(&b, (struct server_break){.lease = last_lease(&b), .epoch = 2, .ack = true});
    opens_become(&b, 0);
    figure_becomes(&b, "acknowledged", 2);
    assert_int_equal(asked(&b, SMB2_OPLOCK_BREAK), 0);
    assert_int_equal(figure(&b, "given_up.broken"), 2);
    assert_int_equal(list(&b, dir), 3);
    assert_int_equal(server_opens(b.server), 1);
    share_node_unref(b.share, n);
    share_node_unref(b.share, dir);
    stop(&b);
}

static void of_a_directory_that_moves_all_that_is_kept_beneath_is_closed(void **state)
{
    struct bed b = start_small("profile=larder");
    struct share_node *n = node_of(&b, "dir/file"), *dir = node_of(&b, "dir");
    list(&b, dir);
    struct server_break moves = {.lease = last_lease(&b), .epoch = 2, .state = R, .ack = true};
    read_file(&b, n, "text");
    send_break(&b, moves);
    opens_become(&b, 0);
    assert_int_equal(figure(&b, "given_up.broken"), 2);
    share_node_unref(b.share, n);
    share_node_unref(b.share, dir);
    stop(&b);
}

/* A server that may not tell when a file is removed: it is kept only while nobody else has it. */
static void without_leases_of_directories_a_handle_is_kept_only_for_oneself(void **state)
{
    enum { RWH = RH | CLIENT_LEASE_WRITE };
    struct server_script script = script_of(small, COUNT(small));
    script.capabilities = SMB2_GLOBAL_CAP_LEASING;
    script.lease.state = RWH;
    struct bed b = connect_to("profile=larder", &script);
    struct share_node *n = node_of(&b, "dir/file");
    struct wire_lease last;
    read_file(&b, n, "text");
    assert_true(server_last_lease(b.server, &last));
    assert_int_equal(last.state, RWH);
    assert_int_equal(server_opens(b.server), 1);
    send_break(
        &b, (struct server_break){.lease = last_lease(&b), .epoch = 2, .state = RH, .ack = true});
    opens_become(&b, 0);
    assert_int_equal(asked(&b, SMB2_OPLOCK_BREAK), 0);
    b.script.lease.state = RH; /* somebody else has it open, too */
    play(&b, NULL, 0);
    read_file(&b, n, "text");
    opens_become(&b, 0);
    share_node_unref(b.share, n);
    stop(&b);
}

static void a_handle_in_use_stays_and_the_break_is_acknowledged(void **state)
{
    struct bed b = start_small("profile=larder");
    struct share_node *n = node_of(&b, "dir/file");
    struct share_file *f;
    assert_int_equal(share_open(b.share, n, SHARE_READ, &f, NULL, NULL), 0);
    send_break(&b,
               (struct server_break){.lease = last_lease(&b), .epoch = 2, .state = R, .ack = true});
    int lease = 99;
    unsigned is = 99;
    for (int i = 0; i < 1000 && !server_ack(b.server, 0, &lease, &is); i++)
        usleep(10000);
    assert_int_equal(is, R);
    assert_true(is_promised(&b, n)); /* READ is promised still */
    share_close(b.share, f);
    opens_become(&b, 0);
    share_node_unref(b.share, n);
    stop(&b);
}

static void what_another_client_changed_is_seen_at_once(void **state)
{
    static const struct server_node changed[] = {
        {SERVER_ROOT, SERVER_NAME(u"dir"), {.id = 2, .attributes = FILE_ATTRIBUTE_DIRECTORY}},
        {0, SERVER_NAME(u"file"), {.id = 3}, SERVER_CONTENT("longer text")},
        {0, SERVER_NAME(u"sub"), {.id = 5, .attributes = FILE_ATTRIBUTE_DIRECTORY}},
        {0, SERVER_NAME(u"new"), {.id = 6}, SERVER_CONTENT("new text")},
        {0, SERVER_NAME(u"newer"), {.id = 7}, SERVER_CONTENT("newer text")},
    };
    struct bed b = start_small("profile=larder");
    struct share_node *n = node_of(&b, "dir/file"), *dir = node_of(&b, "dir");
    struct share_entry e;
    read_file(&b, n, "text");
    int file_lease = last_lease(&b);
    list(&b, dir);
    int dir_lease = last_lease(&b);
    b.script.nodes = changed;
    b.script.node_count = COUNT(changed);
    play(&b, NULL, 0);
    send_break(&b, (struct server_break){.lease = file_lease, .epoch = 2});
    send_break(&b, (struct server_break){.lease = dir_lease, .epoch = 2, .ack = true});
    assert_int_equal(list(&b, dir), 4);
    assert_int_equal(share_lookup(b.share, dir, "other", &e, NULL), -ENOENT);
    assert_int_equal(share_getattr(b.share, n, &e, NULL), 0);
    assert_int_equal(e.attr.size, strlen("longer text"));
    read_file(&b, n, "longer text");
    share_node_unref(b.share, n);
    share_node_unref(b.share, dir);
    stop(&b);
}

static void a_break_before_the_reply_promises_nothing(void **state)
{
    static const struct server_break taken = {.lease = 0, .epoch = 2};
    static const struct server_rule rule = {SMB2_CREATE, 1, SERVER_ANYWHERE, SERVER_BREAK, 0};
    struct bed b = start_small("profile=larder");
    b.script.breaks = &taken;
    b.script.break_count = 1;
    struct share_node *n = node_of(&b, "dir/file");
    play(&b, &rule, 1);
    read_file(&b, n, "text");
    assert_int_equal(figure(&b, "broken"), 1);
    assert_false(is_promised(&b, n));
    opens_become(&b, 0);
    share_node_unref(b.share, n);
    stop(&b);
}

static void a_listing_during_which_the_lease_broke_is_not_believed(void **state)
{
    static const struct server_break taken = {.lease = 0, .epoch = 2};
    for (unsigned nth = 1; nth <= 2; nth++) { /* before either of the compound's buffers */
        const struct server_rule rule = {SMB2_QUERY_DIRECTORY, nth, SERVER_ANYWHERE, SERVER_BREAK,
                                         0};
        struct bed b = start_small("profile=larder");
        struct share_node *dir = node_of(&b, "dir");
        b.script.breaks = &taken;
        b.script.break_count = 1;
        play(&b, &rule, 1);
        assert_int_equal(list(&b, dir), 3);
        assert_int_equal(figure(&b, "broken"), 1);
        unsigned before = asked(&b, SMB2_QUERY_DIRECTORY);
        assert_int_equal(list(&b, dir), 3);
        assert_true(asked(&b, SMB2_QUERY_DIRECTORY) > before);
        share_node_unref(b.share, dir);
        stop(&b);
    }
}

/* Epochs tell that something was lost on the way: belief goes, the handle stays. */
static void what_was_lost_on_the_way_is_listed_again_by_the_handle(void **state)
{
    struct bed b = start_small("profile=larder");
    struct share_node *dir = node_of(&b, "dir");
    assert_int_equal(list(&b, dir), 3);
    unsigned creates = asked(&b, SMB2_CREATE), buffers = asked(&b, SMB2_QUERY_DIRECTORY);
    send_break(&b, (struct server_break){.lease = last_lease(&b), .epoch = 9, .state = RH});
    assert_int_equal(list(&b, dir), 3);
    assert_true(asked(&b, SMB2_QUERY_DIRECTORY) > buffers);
    assert_int_equal(asked(&b, SMB2_CREATE), creates);
    assert_int_equal(figure(&b, "reopened"), 1);
    buffers = asked(&b, SMB2_QUERY_DIRECTORY);
    assert_int_equal(list(&b, dir), 3);
    assert_int_equal(asked(&b, SMB2_QUERY_DIRECTORY), buffers);
    share_node_unref(b.share, dir);
    stop(&b);
}

static void a_server_that_knows_the_key_by_another_name_is_asked_without(void **state)
{
    static const struct server_rule rules[] = {
        {SMB2_CREATE, 1, SERVER_ANYWHERE, SERVER_FAIL, STATUS_INVALID_PARAMETER},
        {SMB2_CREATE, 2, SERVER_ANYWHERE, SERVER_FAIL, STATUS_INVALID_PARAMETER}};
    struct bed b = start_small("profile=larder");
    struct share_node *n = node_of(&b, "dir/file");
    struct share_file *f;
    play(&b, rules, COUNT(rules)); /* the compound and the CREATE by itself */
    assert_int_equal(share_open(b.share, n, SHARE_READ | SHARE_WANT_DATA, &f, NULL, NULL), 0);
    assert_int_equal(figure(&b, "granted"), 0);
    assert_false(is_promised(&b, n));
    share_close(b.share, f);
    opens_become(&b, 0);
    share_node_unref(b.share, n);
    stop(&b);
}

/* ---- own changes ---- */

static void own_changes_carry_the_key_of_their_directory(void **state)
{
    static const uint8_t none[WIRE_LEASE_KEY_SIZE];
    struct bed b = start_small("profile=larder");
    struct share_node *n = node_of(&b, "dir/file"), *dir = node_of(&b, "dir");
    struct share_entry e;
    struct share_file *f;
    struct wire_lease of_dir, of;
    list(&b, dir);
    assert_true(server_last_lease(b.server, &of_dir));
    assert_int_equal(share_mkdir(b.share, dir, "made", &e, NULL), 0);
    share_node_unref(b.share, e.node);
    assert_true(server_last_lease(b.server, &of));
    assert_memory_equal(of.parent_key, of_dir.key, WIRE_LEASE_KEY_SIZE);
    assert_int_equal(of.state, 0);
    assert_memory_not_equal(of.key, of_dir.key, WIRE_LEASE_KEY_SIZE);
    assert_int_equal(share_create(b.share, dir, "created", SHARE_WRITE, 0, &f, &e, NULL, NULL), 0);
    share_node_unref(b.share, e.node);
    assert_true(server_last_lease(b.server, &of));
    assert_memory_equal(of.parent_key, of_dir.key, WIRE_LEASE_KEY_SIZE);
    assert_int_not_equal(of.state, 0);
    share_close(b.share, f);

    /* what is open here is changed by its own key, too */
    assert_int_equal(share_open(b.share, n, SHARE_READ, &f, NULL, NULL), 0);
    assert_true(server_last_lease(b.server, &of));
    uint8_t key[WIRE_LEASE_KEY_SIZE];
    memcpy(key, of.key, sizeof key);
    const struct share_change sooner = {.written = 130000000000000000};
    assert_int_equal(share_change(b.share, n, NULL, &sooner, NULL, NULL), 0);
    assert_true(server_last_lease(b.server, &of));
    assert_memory_equal(of.key, key, WIRE_LEASE_KEY_SIZE);
    assert_memory_equal(of.parent_key, of_dir.key, WIRE_LEASE_KEY_SIZE);
    assert_int_equal(of.state, 0);
    share_close(b.share, f);

    /* the top has no directory above that we know */
    list(&b, share_root(b.share));
    assert_true(server_last_lease(b.server, &of));
    assert_memory_equal(of.parent_key, none, WIRE_LEASE_KEY_SIZE);
    share_node_unref(b.share, n);
    share_node_unref(b.share, dir);
    stop(&b);
}

static void a_dormant_handle_does_not_stand_against_own_changes(void **state)
{
    struct bed b = start_small("profile=larder");
    struct share_node *n = node_of(&b, "dir/file"), *dir = node_of(&b, "dir");
    struct share_node *other = node_of(&b, "dir/other"), *sub = node_of(&b, "dir/sub");
    read_file(&b, n, "text");
    read_file(&b, other, "other text");
    list(&b, sub);
    list(&b, dir);
    assert_int_equal(server_opens(b.server), 4);
    assert_int_equal(share_remove(b.share, dir, "file", false, NULL), 0);
    assert_int_equal(figure(&b, "given_up.change"), 1);
    assert_int_equal(share_rename(b.share, share_root(b.share), "dir", share_root(b.share), "moved",
                                  false, NULL),
                     0);
    assert_int_equal(figure(&b, "given_up.change"), 4);
    opens_become(&b, 0);
    share_node_unref(b.share, n);
    share_node_unref(b.share, other);
    share_node_unref(b.share, sub);
    share_node_unref(b.share, dir);
    stop(&b);
}

/* ---- the end ---- */

static void with_the_session_all_promises_are_lost(void **state)
{
    struct bed b = start_small("profile=larder");
    struct share_node *n = node_of(&b, "dir/file"), *dir = node_of(&b, "dir");
    struct share_entry e;
    read_file(&b, n, "text");
    list(&b, dir);
    assert_true(is_promised(&b, n));
    server_stay_away(b.server, true);
    for (int i = 0; i < 1000 && !share_lost(b.share, NULL); i++)
        usleep(10000);
    assert_false(is_promised(&b, n)); /* for what is left of its lifetime */
    figure_becomes(&b, "dormant.files", 0);
    figure_becomes(&b, "dormant.directories", 0);
    server_stay_away(b.server, false);
    assert_int_equal(share_lookup(b.share, dir, "missing", &e, NULL), -ENOENT);
    assert_true(e.valid_ns <= LIFETIME * NS_PER_SEC);
    share_node_unref(b.share, n);
    share_node_unref(b.share, dir);
    share_free(b.share, NULL);
    server_free(b.server);
}

/* ---- all at once ---- */

struct storm {
    struct bed *bed;
    struct share_node *file, *dir;
    atomic_bool over;
    atomic_uint rounds;
};

static void *use(void *user)
{
    struct storm *storm = user;
    struct bed *b = storm->bed;
    while (!storm->over) {
        struct share_file *f;
        struct share_listing *l;
        struct share_entry e;
        char buf[64];
        if (share_open(b->share, storm->file, SHARE_READ | SHARE_WANT_DATA, &f, NULL, NULL) == 0) {
            if (share_read(b->share, f, buf, sizeof buf, 0, NULL) != 4 || memcmp(buf, "text", 4))
                abort();
            share_close(b->share, f);
        }
        if (share_list(b->share, storm->dir, &l, NULL) == 0) {
            if (share_listing_count(l) != 3)
                abort();
            share_listing_free(b->share, l);
        }
        if (share_getattr(b->share, storm->file, &e, NULL) == 0 && e.attr.size != 4)
            abort();
        storm->rounds++;
    }
    return NULL;
}

static void in_a_storm_of_breaks_everybody_gets_on(void **state)
{
    struct bed b = start_small("profile=larder,DormantFileLimit=1");
    struct storm storm = {.bed = &b, .file = node_of(&b, "dir/file"), .dir = node_of(&b, "dir")};
    pthread_t thread[4];
    read_file(&b, storm.file, "text");
    list(&b, storm.dir);
    for (size_t i = 0; i < COUNT(thread); i++)
        assert_int_equal(pthread_create(&thread[i], NULL, use, &storm), 0);
    static const unsigned states[] = {0, R, RH, 0, RH, R};
    for (unsigned i = 0; i < 600; i++) {
        struct server_break what = {.lease = (int)(i % 2),
                                    .epoch = (uint16_t)(2 + i),
                                    .state = states[i % COUNT(states)],
                                    .ack = i % 3 != 0};
        server_send_break(b.server, &what);
        if (i % 4 == 0)
            usleep(1000);
    }
    unsigned rounds = storm.rounds;
    for (int i = 0; i < 1000 && storm.rounds < rounds + 8; i++)
        usleep(10000);
    assert_true(storm.rounds >= rounds + 8);
    storm.over = true;
    for (size_t i = 0; i < COUNT(thread); i++)
        pthread_join(thread[i], NULL);
    read_file(&b, storm.file, "text");
    assert_int_equal(list(&b, storm.dir), 3);
    share_node_unref(b.share, storm.file);
    share_node_unref(b.share, storm.dir);
    stop(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_was_read_is_opened_again_without_a_request),
        cmocka_unit_test(what_was_opened_to_be_written_is_closed),
        cmocka_unit_test(a_listed_directory_stays_open_and_its_listing_is_promised),
        cmocka_unit_test(without_the_right_to_keep_handles_a_promise_ends_with_the_last_open),
        cmocka_unit_test(leases_are_asked_for_only_where_they_are_on),
        cmocka_unit_test(at_most_so_many_handles_are_kept_as_the_limit_says),
        cmocka_unit_test(a_handle_that_nobody_uses_is_closed_in_time),
        cmocka_unit_test(a_kept_handle_is_closed_before_its_file_is_asked_for),
        cmocka_unit_test(and_before_a_listing_that_would_be_believed_for_too_long),
        cmocka_unit_test(a_server_out_of_handles_in_the_middle_of_a_walk_changes_nothing),
        cmocka_unit_test(a_server_that_stays_out_of_handles_is_an_error),
        cmocka_unit_test(a_dormant_handle_is_closed_instead_of_an_acknowledgement),
        cmocka_unit_test(of_a_directory_that_moves_all_that_is_kept_beneath_is_closed),
        cmocka_unit_test(without_leases_of_directories_a_handle_is_kept_only_for_oneself),
        cmocka_unit_test(a_handle_in_use_stays_and_the_break_is_acknowledged),
        cmocka_unit_test(what_another_client_changed_is_seen_at_once),
        cmocka_unit_test(a_break_before_the_reply_promises_nothing),
        cmocka_unit_test(a_listing_during_which_the_lease_broke_is_not_believed),
        cmocka_unit_test(what_was_lost_on_the_way_is_listed_again_by_the_handle),
        cmocka_unit_test(a_server_that_knows_the_key_by_another_name_is_asked_without),
        cmocka_unit_test(own_changes_carry_the_key_of_their_directory),
        cmocka_unit_test(a_dormant_handle_does_not_stand_against_own_changes),
        cmocka_unit_test(with_the_session_all_promises_are_lost),
        cmocka_unit_test(in_a_storm_of_breaks_everybody_gets_on),
    };
    make_wide();
    return cmocka_run_group_tests_name("share leases", tests, NULL, NULL);
}
