/*
 * The server says that the session has expired: to any request, inside compounds, to what nobody
 * waits for, again and again, and while it lets nobody in any more.
 */
#include "leasing.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPIRED STATUS_NETWORK_SESSION_EXPIRED

static struct server_script user_script(uint16_t dialect)
{
    struct server_script script = plain_script();
    script.dialect = dialect;
    script.logon = true;
    script.must_sign = true;
    return script;
}

static struct client_options user_options(struct server *s)
{
    struct client_options o = options(s);
    o.guest = false;
    o.user = SERVER_USER;
    o.domain = SERVER_DOMAIN;
    o.password = SERVER_PASSWORD;
    return o;
}

static struct bed start_as(const struct server_script *script)
{
    struct bed b = {.server = server_new(script)};
    struct client_options o = user_options(b.server);
    struct error err = {0};
    if (client_connect(&o, &b.client, &err) < 0)
        fail_msg("%s", err.text);
    return b;
}

/* From now on the server plays by these rules, too. */
static void play_as(struct bed *b, struct server_script script, const struct server_rule *rules,
                    size_t count)
{
    script.rules = rules;
    script.rule_count = count;
    server_play(b->server, &script);
}

static int everything(struct client *c, struct error *err)
{
    static const char data[3000] = "what is written";
    const struct client_how how = {
        .access = FILE_READ_DATA | FILE_WRITE_DATA,
        .share = FILE_SHARE_ALL,
        .disposition = FILE_OPEN,
    };
    struct client_file *f;
    struct file_attr attr;
    bool created;
    int r = do_everything(c, err);
    if (r == 0)
        r = list_many(c, CLIENT_COMPOUND, err);
    if (r == 0)
        r = list_many(c, CLIENT_SINGLE, err);
    if (r == 0)
        r = client_set_size(c, "lib/a.py", 11, NULL, CLIENT_COMPOUND, NULL, err);
    if (r == 0)
        r = client_create(c, "lib/a.py", &how, &f, &attr, &created, err);
    if (r < 0)
        return r;
    int64_t n = client_write(f, data, sizeof(data), 0, err);
    r = n < 0 ? (int)n : client_flush(f, err);
    int closed = client_close(f, CLIENT_COMPOUND, NULL, err);
    return r ? r : closed;
}

static void test_any_request_may_be_the_one_that_hears_of_it(void **state)
{
    static const uint16_t dialects[] = {SMB2_DIALECT_210, SMB2_DIALECT_311};
    for (size_t d = 0; d < COUNT(dialects); d++) {
        const struct server_script script = user_script(dialects[d]);
        struct bed b = start_as(&script);
        static struct server_rule rule[61]; /* the server may look at an old one for a while */
        unsigned nth = 0, renewals, total;
        do {
            nth++;
            rule[nth] =
                (struct server_rule){SERVER_ANY, nth, SERVER_ANYWHERE, SERVER_FAIL, EXPIRED};
            struct error err = {0};
            renewals = client_renewals(b.client);
            play_as(&b, script, &rule[nth], 1);
            if (everything(b.client, &err) < 0)
                fail_msg("%04x, request %u: %s", dialects[d], nth, err.text);
            no_open_is_left(&b);
            total = (unsigned)server_count(b.server, SERVER_ANY);
            if (nth <= 10) /* of those at the end the last may be what nobody waits for */
                assert_int_equal(client_renewals(b.client), renewals + 1);
        } while (nth < total && nth < 60);
        assert_true(nth > 30);
        stop(&b);
    }
}

static void test_inside_a_compound_what_was_done_is_not_done_again(void **state)
{
    static const int commands[] = {SMB2_QUERY_INFO, SMB2_QUERY_DIRECTORY, SMB2_READ, SMB2_SET_INFO,
                                   SMB2_CLOSE};
    for (size_t i = 0; i < COUNT(commands); i++) {
        const struct server_script script = user_script(SMB2_DIALECT_311);
        const struct server_rule rule = {commands[i], 1, SERVER_BEHIND, SERVER_FAIL, EXPIRED};
        struct bed b = start_as(&script);
        struct error err = {0};
        play_as(&b, script, &rule, 1);
        if (everything(b.client, &err) < 0)
            fail_msg("command %d: %s", commands[i], err.text);
        no_open_is_left(&b);
        stop(&b);
    }
}

static void test_a_server_that_lets_nobody_in_again_ends_the_session_with_its_reason(void **state)
{
    const struct server_script script = user_script(SMB2_DIALECT_311);
    const struct server_rule rules[] = {
        {SMB2_CREATE, 1, SERVER_ANYWHERE, SERVER_FAIL, EXPIRED},
        {SMB2_SESSION_SETUP, 1, SERVER_ANYWHERE, SERVER_FAIL, STATUS_PASSWORD_EXPIRED},
    };
    struct bed b = start_as(&script);
    struct error err = {0};
    play_as(&b, script, rules, COUNT(rules));
    assert_int_equal(stat_a(b.client, &err), -EKEYEXPIRED);
    assert_non_null(strstr(err.text, "127.0.0.1"));
    assert_non_null(strstr(err.text, "the password has expired"));
    assert_int_equal(server_count(b.server, SMB2_SESSION_SETUP), 1);
    assert_true(stat_a(b.client, &err) < 0);
    assert_int_equal(server_count(b.server, SMB2_SESSION_SETUP),
                     1); /* no password is tried twice */
    stop(&b);
}

static void test_a_session_that_expires_while_it_is_renewed_is_refused_as_any_other(void **state)
{
    const struct server_script script = user_script(SMB2_DIALECT_311);
    const struct server_rule rules[] = {
        {SMB2_CREATE, 1, SERVER_ANYWHERE, SERVER_FAIL, EXPIRED},
        {SMB2_SESSION_SETUP, 2, SERVER_ANYWHERE, SERVER_FAIL, EXPIRED},
    };
    struct bed b = start_as(&script);
    struct error err = {0};
    play_as(&b, script, rules, COUNT(rules));
    assert_true(stat_a(b.client, &err) < 0);
    assert_true(strlen(err.text) > 10);
    stop(&b);
}

static void test_a_server_that_never_stops_saying_so_is_not_asked_for_ever(void **state)
{
    const struct server_script script = user_script(SMB2_DIALECT_311);
    const struct server_rule rule = {SMB2_CREATE, 0, SERVER_ANYWHERE, SERVER_FAIL, EXPIRED};
    struct bed b = start_as(&script);
    struct error err = {0};
    play_as(&b, script, &rule, 1);
    assert_int_equal(stat_a(b.client, &err), -EKEYEXPIRED);
    assert_non_null(strstr(err.text, "each time"));
    assert_true(server_count(b.server, SMB2_SESSION_SETUP) <= 2 * 5);
    play_as(&b, script, NULL, 0);
    everything_works(&b);
    stop(&b);
}

static void test_a_guest_has_nothing_to_log_on_again_with(void **state)
{
    struct bed b = start();
    const struct server_rule rule = {SMB2_CREATE, 1, SERVER_ANYWHERE, SERVER_FAIL, EXPIRED};
    struct error err = {0};
    play(&b, &rule, 1);
    assert_int_equal(stat_a(b.client, &err), -EKEYEXPIRED);
    assert_int_equal(server_count(b.server, SMB2_SESSION_SETUP), 0);
    everything_works(&b);
    stop(&b);
}

/* ---- many callers ---- */

enum { CALLERS = 8, CALLS = 20 };

static void *call_often(void *client)
{
    struct error err = {0};
    for (unsigned i = 0; i < CALLS; i++)
        if (do_everything(client, &err) < 0)
            return strdup(err.text);
    return NULL;
}

static void test_all_callers_wait_for_one_renewal(void **state)
{
    const struct server_script script = user_script(SMB2_DIALECT_311);
    /* so many requests are on their way when the first hears of it */
    const struct server_rule rules[] = {
        {.command = SMB2_CREATE, .nth = 3, .action = SERVER_FAIL, .value = EXPIRED, .until = 6},
        {.command = SMB2_CREATE, .nth = 200, .action = SERVER_FAIL, .value = EXPIRED},
        {.command = SMB2_SESSION_SETUP, .nth = 1, .action = SERVER_DELAY, .value = 100},
    };
    struct bed b = start_as(&script);
    pthread_t thread[CALLERS];
    play_as(&b, script, rules, COUNT(rules));
    for (unsigned i = 0; i < CALLERS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, call_often, b.client), 0);
    for (unsigned i = 0; i < CALLERS; i++) {
        void *text = NULL;
        pthread_join(thread[i], &text);
        if (text)
            fail_msg("%s", (char *)text);
    }
    unsigned renewals = client_renewals(b.client);
    assert_in_range(renewals, 2, 5); /* of five refusals, those that come together count once */
    no_open_is_left(&b);
    stop(&b);
}

/* ---- what nobody waits for, and what waits for long ---- */

static void test_a_watch_is_armed_again(void **state)
{
    struct server_script script = user_script(SMB2_DIALECT_302);
    const struct server_rule rule = {SMB2_CHANGE_NOTIFY, 1, SERVER_ANYWHERE, SERVER_FAIL, EXPIRED};
    struct bed b = start_as(&script);
    struct client_watch *w = NULL;
    struct error err = {0};
    play_as(&b, script, &rule, 1);
    if (client_watch_new(b.client, "", true, &w, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(client_renewals(b.client), 1);
    client_watch_free(w);
    everything_works(&b);
    stop(&b);
}

static void test_an_acknowledgement_that_was_refused_is_sent_again(void **state)
{
    struct server_script script = leasing_script(RH, 1);
    script.logon = true;
    script.must_sign = true;
    const struct server_rule rule = {SMB2_OPLOCK_BREAK, 1, SERVER_ANYWHERE, SERVER_FAIL, EXPIRED};
    struct bed b = {.server = server_new(&script)};
    struct client_options o = user_options(b.server);
    o.events = (struct conn_events){.lease_broken = note_break, .user = &heard};
    heard.server = b.server;
    struct error err = {0};
    if (client_connect(&o, &b.client, &err) < 0)
        fail_msg("%s", err.text);
    struct client_lease *l = client_lease_new(b.client, false, &b);
    struct client_file *f = open_by(&b, l, RH, RH);
    play_as(&b, script, &rule, 1);
    send_break(&b, (struct server_break){.lease = 0, .epoch = 2, .state = R, .ack = true});
    uint64_t end = clock_now() + 20 * NS_PER_SEC;
    while (server_count(b.server, SMB2_OPLOCK_BREAK) < 2 && clock_now() < end)
        usleep(1000);
    assert_int_equal(server_count(b.server, SMB2_OPLOCK_BREAK), 2);
    assert_int_equal(client_renewals(b.client), 1);
    assert_int_equal(client_lease_state(l), R);
    close_now(f);
    end_leasing(&b, l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_request_may_be_the_one_that_hears_of_it),
        cmocka_unit_test(test_inside_a_compound_what_was_done_is_not_done_again),
        cmocka_unit_test(test_a_server_that_lets_nobody_in_again_ends_the_session_with_its_reason),
        cmocka_unit_test(test_a_session_that_expires_while_it_is_renewed_is_refused_as_any_other),
        cmocka_unit_test(test_a_server_that_never_stops_saying_so_is_not_asked_for_ever),
        cmocka_unit_test(test_a_guest_has_nothing_to_log_on_again_with),
        cmocka_unit_test(test_all_callers_wait_for_one_renewal),
        cmocka_unit_test(test_a_watch_is_armed_again),
        cmocka_unit_test(test_an_acknowledgement_that_was_refused_is_sent_again),
    };
    return cmocka_run_group_tests(tests, bed_set_up, bed_tear_down);
}
