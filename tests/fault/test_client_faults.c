/*
 * The client against a server that falls silent, answers too late, hangs up at any byte of a
 * session, or answers garbage. Each must end in an error that says what happened, with no open left
 * on the server and no request waiting forever.
 */
#include "bed.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

/* ---- silence and late answers ---- */

/* Of a client whose other requests are to be answered in time, on a busy machine too. */
#define PATIENCE NS_PER_SEC

static void test_silence_ends_at_the_deadline_with_a_cancel(void **state)
{
    static const struct server_rule silent[] = {
        {SMB2_QUERY_INFO, 0, SERVER_ANYWHERE, SERVER_SILENT, 0}};
    const struct server_script script = plain_script();
    struct bed b = start_with(&script, PATIENCE);
    struct error err = {0};
    play(&b, silent, 1);
    assert_int_equal(stat_a(b.client, &err), -ETIMEDOUT);
    assert_non_null(strstr(err.text, "stat //127.0.0.1/share/lib/A.PY: no answer"));
    play(&b, NULL, 0);
    assert_int_equal(do_everything(b.client, &err), 0); /* the connection goes on */
    stop(&b);
}

static void test_an_open_whose_read_is_never_answered_is_closed(void **state)
{
    static const struct server_rule silent[] = {{SMB2_READ, 0, SERVER_ANYWHERE, SERVER_SILENT, 0}};
    const struct server_script script = plain_script();
    struct bed b = start_with(&script, PATIENCE);
    play(&b, silent, 1);
    assert_int_equal(read_a(b.client, CLIENT_SINGLE, NULL), -ETIMEDOUT);
    no_open_is_left(&b);
    assert_int_equal(server_count(b.server, SMB2_CANCEL), 1);
    stop(&b);
}

static void test_an_open_that_succeeds_too_late_is_closed(void **state)
{
    static const struct server_rule late[] = {
        {SMB2_CREATE, 1, SERVER_ANYWHERE, SERVER_DELAY, 1600}};
    const struct server_script script = plain_script();
    struct bed b = start_with(&script, PATIENCE);
    play(&b, late, 1);
    assert_int_equal(read_a(b.client, CLIENT_SINGLE, NULL), -ETIMEDOUT);
    usleep(1000 * 1000);
    assert_int_equal(server_count(b.server, SMB2_CREATE), 1);
    no_open_is_left(&b);
    assert_int_equal(do_everything(b.client, NULL), 0);

    play(&b, late, 1); /* a compound that closes its open itself needs no second CLOSE */
    assert_int_equal(stat_a(b.client, NULL), -ETIMEDOUT);
    usleep(1000 * 1000);
    no_open_is_left(&b);
    assert_int_equal(server_count(b.server, SMB2_CLOSE), 1);
    stop(&b);
}

static void test_a_close_that_failed_in_a_compound_is_sent_again(void **state)
{
    static const struct server_rule fail[] = {
        {SMB2_CLOSE, 1, SERVER_ANYWHERE, SERVER_FAIL, STATUS_NO_MORE_FILES}};
    struct bed b = start();
    play(&b, fail, 1);
    assert_int_equal(stat_a(b.client, NULL), 0);
    no_open_is_left(&b);
    assert_int_equal(server_count(b.server, SMB2_CLOSE), 2);
    stop(&b);
}

/* ---- the end of the connection ---- */

struct lost {
    atomic_uint calls;
    struct error why;
};

static void note_lost(void *user, const struct error *why)
{
    struct lost *l = user;
    l->why = *why;
    atomic_fetch_add(&l->calls, 1);
}

static void test_a_lost_connection_is_told_once_and_fails_what_follows(void **state)
{
    const struct server_script script = plain_script();
    struct server *s = server_new(&script);
    struct client_options o = options(s);
    struct lost lost = {0};
    struct client *c;
    struct error err = {0};
    o.events = (struct conn_events){.session_lost = note_lost, .user = &lost};
    assert_int_equal(client_connect(&o, &c, &err), 0);
    server_disconnect(s);
    for (int i = 0; i < 300 && !atomic_load(&lost.calls); i++)
        usleep(10000);
    assert_int_equal(atomic_load(&lost.calls), 1);
    assert_string_equal(lost.why.text, "the server closed the connection");
    assert_int_equal(stat_a(c, &err), -ECONNRESET);
    assert_string_equal(err.text,
                        "stat //127.0.0.1/share/lib/A.PY: the server closed the connection");
    client_free(c);
    assert_int_equal(atomic_load(&lost.calls), 1);

    assert_int_equal(client_connect(&o, &c, &err), 0); /* and a wanted end is no loss */
    client_free(c);
    assert_int_equal(atomic_load(&lost.calls), 1);
    server_free(s);
}

static void test_a_dead_server_is_found_out_by_an_echo(void **state)
{
    static const struct server_rule silent[] = {{SERVER_ANY, 0, SERVER_ANYWHERE, SERVER_SILENT, 0}};
    const struct server_script script = plain_script();
    struct server *s = server_new(&script);
    struct client_options o = options(s);
    struct lost lost = {0};
    struct client *c;
    o.events = (struct conn_events){.session_lost = note_lost, .user = &lost};
    o.request_timeout_ns = o.echo_interval_ns = NS_PER_SEC / 2;
    assert_int_equal(client_connect(&o, &c, NULL), 0);
    struct bed b = {s, c};
    play(&b, silent, 1);
    for (int i = 0; i < 2000 && !atomic_load(&lost.calls); i++)
        usleep(10000);
    assert_int_equal(atomic_load(&lost.calls), 1);
    assert_non_null(strstr(lost.why.text, "ECHO"));
    assert_int_equal(server_count(s, SMB2_ECHO), 1);
    stop(&b);
}

/* One session whose bytes end before byte k. Whether it got through with right answers. */
static bool session_with(struct server *s, struct error *err)
{
    struct client_options o = options(s);
    struct client *c = NULL;
    *err = (struct error){0};
    int r = client_connect(&o, &c, err);
    if (r == 0)
        r = do_everything(c, err);
    else
        assert_null(c);
    if (r < 0) {
        assert_int_equal(err->code, r);
        assert_true(strlen(err->text) > 10);
    }
    client_free(c);
    return r == 0;
}

static void test_a_hang_up_at_every_byte_of_a_session_ends_it_well(void **state)
{
    struct server_script script = plain_script();
    struct server *s = server_new(&script);
    struct error err;
    unsigned failures = 0, in_the_middle = 0;
    uint64_t started = clock_now();
    for (script.hang_up_before = 1;; script.hang_up_before++) {
        server_play(s, &script);
        if (session_with(s, &err))
            break;
        failures++;
        in_the_middle += strstr(err.text, "in the middle of a reply") != NULL;
    }
    assert_true(failures > 1000);
    assert_true(in_the_middle > failures / 2);
    print_message("%u hang-ups in %.1f s\n", failures, (double)(clock_now() - started) / 1e9);
    server_free(s);
}

/* ---- garbage ---- */

static void garbage_ends_well(const struct server_rule *rule)
{
    struct server_script script = plain_script();
    struct error err;
    set_rule(&script, rule, NULL);
    struct server *s = server_new(&script);
    struct client_options o = options(s);
    struct client *c = NULL;
    o.request_timeout_ns = NS_PER_SEC / 5;
    int r = client_connect(&o, &c, &err);
    if (r == 0) {
        r = do_everything(c, &err);
        if (r == 0) /* it may well have been harmless */
            r = list_many(c, CLIENT_COMPOUND, &err);
    }
    if (r < 0)
        assert_true(strlen(err.text) > 10);
    client_free(c);
    server_free(s);
}

static void test_garbage_in_place_of_any_reply_ends_well(void **state)
{
    static const uint64_t lengths[] = {1, 4, 8, 63, 68, 100, 5000, 0xff0000, 0x800000, 0xff000000};
    for (unsigned nth = 1; nth <= 12; nth++) {
        struct server_rule rule = {SERVER_ANY, nth, SERVER_ANYWHERE, SERVER_BAD_PROTOCOL, 0};
        garbage_ends_well(&rule);
        rule.action = SERVER_BAD_SIGNATURE;
        garbage_ends_well(&rule);
        rule.action = SERVER_BAD_MESSAGE_ID;
        rule.value = 1;
        garbage_ends_well(&rule);
        rule.value = UINT64_MAX / 2;
        garbage_ends_well(&rule);
        rule.action = SERVER_RANDOM;
        rule.value = 300;
        garbage_ends_well(&rule);
    }
    for (size_t i = 0; i < COUNT(lengths); i++) {
        struct server_rule rule = {SMB2_NEGOTIATE, 1, SERVER_ANYWHERE, SERVER_BAD_LENGTH,
                                   lengths[i]};
        garbage_ends_well(&rule);
        rule.command = SMB2_CREATE;
        garbage_ends_well(&rule);
    }
}

static void test_a_clock_that_makes_no_sense_is_unknown(void **state)
{
    static const struct {
        uint64_t time; /* in NEGOTIATE's answer, a FILETIME */
        bool known;
    } cases[] = {{0, false},         {1, false},          {134000000000000000, true}, /* in 2025 */
                 {INT64_MAX, false}, {1ull << 63, false}, {UINT64_MAX, false}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct server_rule rule = {SMB2_NEGOTIATE, 1, SERVER_ANYWHERE, SERVER_ALTER, 0};
        const struct server_alteration alteration = {104, 8, SERVER_SET, cases[i].time, false};
        struct server_script script = plain_script();
        set_rule(&script, &rule, &alteration);
        struct bed b = start_with(&script, 5 * NS_PER_SEC);
        struct client_facts facts;
        client_facts(b.client, &facts);
        assert_int_equal(facts.clock_known, cases[i].known);
        everything_works(&b);
        stop(&b);
    }
}

static void test_garbage_is_called_by_its_name(void **state)
{
    static const struct {
        struct server_rule rule;
        const char *text;
    } cases[] = {
        {{SMB2_NEGOTIATE, 1, SERVER_ANYWHERE, SERVER_BAD_PROTOCOL, 0}, "an SMB1 message"},
        {{SMB2_NEGOTIATE, 1, SERVER_ANYWHERE, SERVER_BAD_LENGTH, 0xff0000}, "a frame of 16711680"},
        {{SMB2_NEGOTIATE, 1, SERVER_ANYWHERE, SERVER_RANDOM, 300}, "not SMB2"},
        {{SMB2_NEGOTIATE, 1, SERVER_ANYWHERE, SERVER_HANG_UP, 40}, "in the middle of a reply"},
        {{SMB2_NEGOTIATE, 1, SERVER_ANYWHERE, SERVER_BAD_MESSAGE_ID, 1}, "no answer"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct server_script script = plain_script();
        struct error err = {0};
        struct client *c;
        set_rule(&script, &cases[i].rule, NULL);
        struct server *s = server_new(&script);
        struct client_options o = options(s);
        if (strcmp(cases[i].text, "no answer") == 0)
            o.request_timeout_ns = NS_PER_SEC / 10;
        assert_true(client_connect(&o, &c, &err) < 0);
        if (!strstr(err.text, cases[i].text))
            fail_msg("\"%s\" is not in \"%s\"", cases[i].text, err.text);
        server_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_silence_ends_at_the_deadline_with_a_cancel),
        cmocka_unit_test(test_an_open_whose_read_is_never_answered_is_closed),
        cmocka_unit_test(test_an_open_that_succeeds_too_late_is_closed),
        cmocka_unit_test(test_a_close_that_failed_in_a_compound_is_sent_again),
        cmocka_unit_test(test_a_lost_connection_is_told_once_and_fails_what_follows),
        cmocka_unit_test(test_a_dead_server_is_found_out_by_an_echo),
        cmocka_unit_test(test_a_hang_up_at_every_byte_of_a_session_ends_it_well),
        cmocka_unit_test(test_garbage_in_place_of_any_reply_ends_well),
        cmocka_unit_test(test_a_clock_that_makes_no_sense_is_unknown),
        cmocka_unit_test(test_garbage_is_called_by_its_name),
    };
    return cmocka_run_group_tests(tests, bed_set_up, bed_tear_down);
}
