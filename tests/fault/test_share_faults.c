/*
 * A share on the scripted server: what a server can do to a tree of names that is half believed.
 * Files are given to the server as a table; changing the table by server_play is somebody changing
 * the share behind our back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/server.h"
#include "share/share.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* ---- a share and its server ---- */

struct bed {
    struct server *server;
    struct share *share;
};

static __attribute__((unused)) void play(struct bed *b, const struct server_node *nodes,
                                         size_t count)
{
    server_play(b->server, &(struct server_script){.nodes = nodes, .node_count = count});
}

/* `settings`: "profile=23h2,actimeo=60", as after -o. */
static struct bed start(const char *settings, const struct server_node *nodes, size_t count)
{
    struct bed b = {.server =
                        server_new(&(struct server_script){.nodes = nodes, .node_count = count})};
    struct share_options o;
    struct error err = {0};
    char target[64];
    assert_non_null(b.server);
    snprintf(target, sizeof target, "//127.0.0.1:%u/share", server_port(b.server));
    share_options_init(&o);
    if (share_options_target(&o, target, &err) < 0 || share_options_parse(&o, settings, &err) < 0 ||
        share_options_parse(&o, "guest", &err) < 0 || share_connect(&o, &b.share, &err) < 0)
        fail_msg("%s", err.text);
    share_options_done(&o);
    return b;
}

static void stop(struct bed *b)
{
    share_free(b->share, NULL);
    server_free(b->server);
}

/* ---- names ---- */

/* 341 characters of three bytes and one of one: 1,024 bytes of UTF-8, too long for a component. */
static void a_name_longer_than_any_name_is_refused(void **state)
{
    static uint16_t name[342];
    for (size_t i = 0; i < 341; i++)
        name[i] = 0x4e00;
    name[341] = 'x';
    const struct server_node nodes[] = {
        {SERVER_ROOT, {.base = (const uint8_t *)name, .len = sizeof name}, {.id = 2}},
        {SERVER_ROOT, {.base = (const uint8_t *)name, .len = 2 * 255}, {.id = 3}},
        {SERVER_ROOT, SERVER_NAME(u"good"), {.id = 4}},
    };
    struct bed b = start("profile=larder", nodes, COUNT(nodes));
    struct share_listing *l;
    char got[SHARE_NAME_MAX];
    assert_int_equal(share_list(b.share, share_root(b.share), &l, NULL), 0);
    assert_int_equal(share_listing_count(l), 2);
    assert_int_equal(share_listing_entry(l, 0, got)->id, 3);
    assert_int_equal(strlen(got), 255 * 3);
    assert_int_equal(share_listing_entry(l, 1, got)->id, 4);
    assert_string_equal(got, "good");
    share_listing_free(b.share, l);
    stop(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_longer_than_any_name_is_refused),
    };
    return cmocka_run_group_tests_name("share faults", tests, NULL, NULL);
}
