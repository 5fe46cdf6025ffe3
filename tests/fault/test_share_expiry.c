/*
 * A session that expires while nobody has a ticket: what a share keeps going meanwhile, and what is
 * back once there is one. The linker puts what stands here before auth_new, which is where a ticket
 * is got: for as long as a test wants, there is none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ntstatus.h"
#include "client/auth.h"
#include "server/server.h"
#include "share/share.h"
#include "share_bed.h"

#define PATIENCE (60 * NS_PER_SEC)
#define EXPIRED  STATUS_NETWORK_SESSION_EXPIRED

static atomic_bool no_ticket;

int __real_auth_new(const struct auth_source *source, struct auth **ret, struct error *err);
int __wrap_auth_new(const struct auth_source *source, struct auth **ret, struct error *err);
int __wrap_auth_new(const struct auth_source *source, struct auth **ret, struct error *err)
{
    if (atomic_load(&no_ticket))
        return error_set(err, -ENOKEY, 0, "there is no ticket: run kinit");
    return __real_auth_new(source, ret, err);
}

/* ---- the bed ---- */

static uint8_t sink[100];
static const struct server_node nodes[] = {
    {SERVER_ROOT, SERVER_NAME(u"file"), {.id = 11, .size = sizeof(sink)}},
    {SERVER_ROOT, SERVER_NAME(u"other"), {.id = 12}},
};

struct bed {
    struct server *server;
    struct share *share;
};

/* How the server plays by these rules. */
static void play(struct server **s, const struct server_rule *rules, size_t count)
{
    const struct server_script script = {
        .nodes = nodes,
        .node_count = 2,
        .logon = true,
        .must_sign = true,
        .dialect = SMB2_DIALECT_311,
        .signing = SERVER_SIGN_GMAC,
        .rules = rules,
        .rule_count = count,
        .sink = {.data = sink, .size = sizeof(sink)},
    };
    if (*s)
        server_play(*s, &script);
    else
        *s = server_new(&script);
}

static struct bed start(const char *settings)
{
    struct bed b = {0};
    atomic_store(&no_ticket, false);
    play(&b.server, NULL, 0);
    b.share = share_bed_connect(b.server, settings, AS_USER);
    return b;
}

static void stop(struct bed *b)
{
    share_free(b->share, NULL);
    server_free(b->server);
}

/* What is always asked of the server. */
static int ask(struct bed *b, struct error *err)
{
    struct share_statfs fs;
    return share_statfs(b->share, &fs, err);
}

static void wait_for_answers(struct bed *b)
{
    struct error err = {0};
    uint64_t begun = clock_now();
    while (ask(b, &err) < 0) {
        if (clock_now() - begun > PATIENCE)
            fail_msg("it is not back: %s", err.text);
        usleep(10000);
    }
}

static struct share_file *open_file(struct bed *b)
{
    struct share_file *f;
    struct share_entry e;
    struct share_node *top;
    struct error err = {0};
    char name[SHARE_NAME_MAX];
    if (share_parent(b->share, "file", &top, name, &err) < 0 ||
        share_lookup(b->share, top, name, &e, &err) < 0 ||
        share_open(b->share, e.node, SHARE_READ | SHARE_WRITE, &f, NULL, &err) < 0)
        fail_msg("%s", err.text);
    share_node_unref(b->share, e.node);
    share_node_unref(b->share, top);
    return f;
}

static int64_t put(struct bed *b, struct share_file *f, const char *text, uint64_t at,
                   struct error *err)
{
    int64_t n = share_write(b->share, f, text, strlen(text), at, err);
    int r = n < 0 ? 0 : share_fsync(b->share, f, true, err);
    return r < 0 ? r : n;
}

/* Its watch has met the end of the session, and there is no ticket. */
static struct bed start_expired(void)
{
    static const struct server_rule again = {SMB2_CHANGE_NOTIFY, 1, SERVER_ANYWHERE, SERVER_FAIL,
                                             EXPIRED};
    struct bed b = start("profile=larder,Watches=true,actimeo=1,CacheMaxAge=60");
    share_bed_wait_for_watch(b.share, "watching");
    atomic_store(&no_ticket, true);
    play(&b.server, &again, 1);
    server_notify(b.server, STATUS_NOTIFY_ENUM_DIR, (struct rd){0});
    share_bed_wait_for_watch(b.share, "expired");
    return b;
}

/* ---- tests ---- */

static void a_watch_that_finds_no_ticket_is_back_once_there_is_one(void **state)
{
    struct bed b = start_expired();
    atomic_store(&no_ticket, false);
    share_bed_wait_for_watch(b.share, "watching");
    assert_int_equal(server_watches(b.server), 1);
    stop(&b);
}

static void a_share_ends_while_its_watch_waits_for_a_ticket(void **state)
{
    struct bed b = start_expired();
    stop(&b);
}

/* The watch, then a call, find the session expired; then there is not even a connection. */
static void a_connection_lost_without_a_ticket_is_made_again_once_there_is_one(void **state)
{
    static const struct server_rule refusal = {SMB2_CREATE, 1, SERVER_ANYWHERE, SERVER_FAIL,
                                               EXPIRED};
    struct bed b = start("profile=larder,Watches=true,actimeo=1,CacheMaxAge=60,timeo=10");
    struct error err = {0};
    share_bed_wait_for_watch(b.share, "watching");
    struct share_file *f = open_file(&b);
    assert_int_equal(put(&b, f, "before", 0, &err), 6);
    atomic_store(&no_ticket, true);
    play(&b.server, &refusal, 1);
    assert_int_equal(ask(&b, &err), -ENOKEY);
    assert_non_null(strstr(err.text, "run kinit"));
    server_disconnect(b.server);

    /* whoever waits for the connection is told what it lacks */
    uint64_t begun = clock_now();
    do {
        assert_true(ask(&b, &err) < 0);
        assert_true(clock_now() - begun < PATIENCE);
    } while (!strstr(err.text, "the server is away") || !strstr(err.text, "run kinit"));
    assert_true(put(&b, f, "lost", 6, &err) < 0);

    atomic_store(&no_ticket, false);
    wait_for_answers(&b);
    share_bed_wait_for_watch(b.share, "watching");
    assert_int_equal(put(&b, f, ", after", 6, &err), 7);
    assert_memory_equal(sink, "before, after", 13);
    share_close(b.share, f);
    stop(&b);
}

/* The server hangs up on who is about to renew it: a new connection is a new session. */
static void a_connection_lost_in_a_renewal_goes_unnoticed(void **state)
{
    static struct server_rule rules[2];
    struct bed b = start("profile=larder,Watches=true,actimeo=1,CacheMaxAge=60");
    struct share_file *f = open_file(&b);
    struct error err = {0};
    for (unsigned leg = 1; leg <= 2; leg++) {
        rules[0] =
            (struct server_rule){SMB2_WRITE, 1, SERVER_ANYWHERE, SERVER_FAIL, (uint32_t)EXPIRED};
        rules[1] =
            (struct server_rule){SMB2_SESSION_SETUP, leg, SERVER_ANYWHERE, SERVER_HANG_UP, 0};
        play(&b.server, rules, 2);
        if (put(&b, f, leg == 1 ? "first." : "second", 0, &err) != 6)
            fail_msg("leg %u: %s", leg, err.text);
        assert_memory_equal(sink, leg == 1 ? "first." : "second", 6);
    }
    share_close(b.share, f);
    stop(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_watch_that_finds_no_ticket_is_back_once_there_is_one),
        cmocka_unit_test(a_share_ends_while_its_watch_waits_for_a_ticket),
        cmocka_unit_test(a_connection_lost_without_a_ticket_is_made_again_once_there_is_one),
        cmocka_unit_test(a_connection_lost_in_a_renewal_goes_unnoticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
