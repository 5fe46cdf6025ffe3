/*
 * A share whose server lets CHANGE_NOTIFY wait: one that tells of changes is believed, one that
 * stays silent is found out by what is verified.
 *
 * The table of names is replaced behind our back. What the directory's times can tell is known only
 * once they have been old for 2 s, so these tests last some seconds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ntstatus.h"
#include "server/server.h"
#include "share/share.h"

#define FIRST_TIME 130000000000000000u /* a FILETIME of 2012 */
#define PATIENCE   (60 * NS_PER_SEC)

struct bed {
    struct server *server;
    struct share *share;
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

static struct bed *start(const char *settings)
{
    static struct bed bed;
    struct bed *b = &bed;
    struct share_options o;
    struct error err = {0};
    char target[64];
    *b = (struct bed){0};
    set_nodes(b);
    b->server = server_new(&(struct server_script){.nodes = b->nodes, .node_count = 2});
    assert_non_null(b->server);
    snprintf(target, sizeof target, "//127.0.0.1:%u/share", server_port(b->server));
    share_options_init(&o);
    if (share_options_target(&o, target, &err) < 0 || share_options_parse(&o, settings, &err) < 0 ||
        share_options_parse(&o, "guest", &err) < 0 || share_connect(&o, &b->share, &err) < 0)
        fail_msg("%s", err.text);
    share_options_done(&o);
    return b;
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

static bool watch_is(struct bed *b, const char *state)
{
    json_t *stats = share_stats(b->share);
    const char *now = json_string_value(json_object_get(json_object_get(stats, "watch"), "state"));
    bool same = now && strcmp(now, state) == 0;
    json_decref(stats);
    return same;
}

static void wait_for_watch(struct bed *b, const char *state)
{
    uint64_t begun = clock_now();
    while (!watch_is(b, state)) {
        if (clock_now() - begun > PATIENCE)
            fail_msg("the watch is not %s", state);
        usleep(10000);
    }
}

static void tell_all(struct bed *b)
{
    server_notify(b->server, STATUS_NOTIFY_ENUM_DIR, (struct rd){0});
}

/* ---- tests ---- */

static void a_server_that_never_tells_is_not_believed_for_long(void **state)
{
    struct bed *b = start("profile=larder,Watches=true,actimeo=1,CacheMaxAge=1");
    uint64_t begun = clock_now();
    wait_for_watch(b, "watching");
    while (!watch_is(b, "silent")) {
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

static void a_server_that_tells_stays_believed(void **state)
{
    struct bed *b = start("profile=larder,Watches=true,actimeo=1,CacheMaxAge=60");
    wait_for_watch(b, "watching");
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
    assert_true(watch_is(b, "watching"));
    stop(b);
}

static void a_watch_that_the_server_ends_is_believed_no_more(void **state)
{
    struct bed *b = start("profile=larder,Watches=true,actimeo=1,CacheMaxAge=60");
    wait_for_watch(b, "watching");
    assert_true(shows_state(b));
    server_notify(b->server, STATUS_NOTIFY_CLEANUP, (struct rd){0});
    wait_for_watch(b, "refused");
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
        cmocka_unit_test(a_server_that_tells_stays_believed),
        cmocka_unit_test(a_watch_that_the_server_ends_is_believed_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
