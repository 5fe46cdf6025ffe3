/*
 * Opens that a server holds while their connection is lost: asked back with their locks, opened by
 * their path where the server has let go of them, and closed where nobody wants them any more.
 */
#include <errno.h>
#include <unistd.h>

#include "leasing.h"

enum { SO_LONG = 60 }; /* seconds, on a loaded machine */

static struct server_script script_of(enum server_durable durable)
{
    struct server_script script = leasing_script(RWH, 1);
    script.durable = durable;
    return script;
}

static struct bed start_as(const struct server_script *script)
{
    struct bed b = {.server = server_new(script)};
    struct error err = {0};
    assert_non_null(b.server);
    struct client_options o = options(b.server);
    o.reconnect = CLIENT_SOFT;
    if (client_connect(&o, &b.client, &err) < 0)
        fail_msg("%s", err.text);
    return b;
}

static uint64_t network(enum observe_network what)
{
    return counts().network[what];
}

/* Waits for one more of them than `before`. */
static void wait_for_more(enum observe_network what, uint64_t before)
{
    for (uint64_t begun = clock_now(); network(what) == before; usleep(1000))
        assert_true(clock_now() - begun < SO_LONG * NS_PER_SEC);
}

/* There is another connection when this returns. */
static void reconnect(struct bed *b)
{
    uint64_t before = network(OBSERVE_RECONNECTED);
    server_disconnect(b->server);
    wait_for_more(OBSERVE_RECONNECTED, before);
}

static void go_away(struct bed *b)
{
    bool stands = true;
    server_stay_away(b->server, true);
    for (uint64_t begun = clock_now(); stands; usleep(1000)) {
        client_losses(b->client, &stands);
        assert_true(clock_now() - begun < SO_LONG * NS_PER_SEC);
    }
}

static void come_back(struct bed *b)
{
    uint64_t before = network(OBSERVE_RECONNECTED);
    server_stay_away(b->server, false);
    wait_for_more(OBSERVE_RECONNECTED, before);
}

static void reads_well(struct client_file *f)
{
    char text[16];
    assert_int_equal(client_read(f, text, sizeof(text), 0, NULL), 11);
    assert_memory_equal(text, "print('a')\n", 11);
}

/* An open with a lock, after a loss under this script. */
static void lose_and_expect(struct server_script script, uint64_t durable, uint64_t reopened,
                            unsigned creates, unsigned locks)
{
    struct bed b = start_as(&script);
    struct client_lease *l = client_lease_new(b.client, false, NULL);
    struct client_file *f = open_by(&b, l, RWH, RWH);
    uint64_t durable_before = network(OBSERVE_DURABLE), before = network(OBSERVE_REOPENED);
    assert_int_equal(client_lock(f, CLIENT_LOCK_EXCLUSIVE, 0, 10, NULL), 0);
    for (unsigned times = 1; times <= 3; times++) {
        server_play(b.server, &script);
        reconnect(&b);
        reads_well(f);
        assert_int_equal(network(OBSERVE_DURABLE) - durable_before, times * durable);
        assert_int_equal(network(OBSERVE_REOPENED) - before, times * reopened);
        assert_int_equal(server_count(b.server, SMB2_CREATE), creates);
        assert_int_equal(server_count(b.server, SMB2_LOCK), locks);
    }
    assert_int_equal(client_lock(f, CLIENT_UNLOCK, 0, 10, NULL), 0);
    close_now(f);
    end_leasing(&b, l);
}

static void an_open_that_is_held_is_asked_back_and_keeps_its_locks(void **state)
{
    struct server_script script = script_of(SERVER_DURABLE);
    lose_and_expect(script, 1, 0, 1, 0);
    script.dialect = SMB2_DIALECT_311;
    lose_and_expect(script, 1, 0, 1, 0);
    script.dialect = SMB2_DIALECT_210;
    lose_and_expect(script, 1, 0, 1, 0);
}

static void one_that_the_server_let_go_of_is_opened_by_its_path_and_locked_again(void **state)
{
    struct server_script script = script_of(SERVER_FORGETFUL);
    lose_and_expect(script, 0, 1, 2, 1);
    script.dialect = SMB2_DIALECT_210;
    lose_and_expect(script, 0, 1, 2, 1);
}

static void what_was_not_granted_is_not_asked_back(void **state)
{
    lose_and_expect(script_of(SERVER_NOT_DURABLE), 0, 1, 1, 1);
}

static void an_open_without_a_handle_lease_asks_for_nothing(void **state)
{
    struct server_script script = script_of(SERVER_DURABLE);
    struct bed b = start_as(&script);
    struct client_lease *l = client_lease_new(b.client, false, NULL);
    struct client_file *f = open_by(&b, l, R, R);
    uint64_t durable = network(OBSERVE_DURABLE), reopened = network(OBSERVE_REOPENED);
    reconnect(&b);
    reads_well(f);
    assert_int_equal(network(OBSERVE_DURABLE), durable);
    assert_int_equal(network(OBSERVE_REOPENED), reopened + 1);
    close_now(f);
    end_leasing(&b, l);
}

static void an_open_that_is_held_keeps_the_key_of_its_lease(void **state)
{
    struct server_script script = script_of(SERVER_DURABLE);
    struct bed b = start_as(&script);
    struct client_lease *l = client_lease_new(b.client, false, NULL);
    struct client_file *f = open_by(&b, l, RWH, RWH);
    reconnect(&b);
    assert_int_equal(server_leases(b.server), 1);
    assert_int_equal(client_lease_state(l), RWH); /* what the server says now, not before */
    script.lease.state = R;
    server_play(b.server, &script);
    reconnect(&b);
    assert_int_equal(client_lease_state(l), R);
    close_now(f);
    assert_int_equal(client_lease_state(l), 0);
    end_leasing(&b, l);
}

static void an_open_that_is_closed_while_the_server_is_away_is_closed_there_later(void **state)
{
    struct server_script script = script_of(SERVER_DURABLE);
    struct bed b = start_as(&script);
    struct client_lease *l = client_lease_new(b.client, false, NULL);
    uint64_t dead = network(OBSERVE_DEAD), durable = network(OBSERVE_DURABLE);
    struct client_file *locked = open_by(&b, l, RWH, RWH), *plain = open_by(&b, l, RWH, RWH);
    assert_int_equal(client_lock(locked, CLIENT_LOCK_EXCLUSIVE, 0, 10, NULL), 0);
    go_away(&b);
    assert_int_equal(server_opens(b.server), 2);
    client_close(locked, CLIENT_SINGLE, NULL, NULL);
    client_close(plain, CLIENT_COMPOUND, NULL, NULL);
    come_back(&b);
    no_open_is_left(&b);
    assert_int_equal(network(OBSERVE_DEAD), dead);
    assert_int_equal(network(OBSERVE_DURABLE), durable);
    end_leasing(&b, l);
}

static void a_close_that_did_not_arrive_is_made_up_for(void **state)
{
    static const struct server_rule lost = {SMB2_CLOSE, 1, SERVER_ANYWHERE, SERVER_SILENT};
    static const enum client_style styles[] = {CLIENT_COMPOUND, CLIENT_SINGLE};
    struct server_script script = script_of(SERVER_DURABLE);
    set_rule(&script, &lost, NULL);
    struct bed b = start_as(&script);
    for (size_t i = 0; i < COUNT(styles); i++) {
        struct client_lease *l = client_lease_new(b.client, false, NULL);
        struct client_file *f = open_by(&b, l, RWH, RWH);
        server_play(b.server, &script);
        struct client_closing *closing = styles[i] == CLIENT_SINGLE ? client_close_begin(f) : NULL;
        if (!closing)
            client_close(f, styles[i], NULL, NULL);
        while (server_count(b.server, SMB2_CLOSE) == 0)
            usleep(1000);
        reconnect(&b);
        if (closing)
            (void)client_close_end(closing, NULL, NULL);
        no_open_is_left(&b);
        client_lease_free(l);
    }
    stop(&b);
}

static void what_nobody_holds_any_more_is_not_missed_when_it_is_closed(void **state)
{
    struct server_script script = script_of(SERVER_FORGETFUL);
    struct bed b = start_as(&script);
    struct client_lease *l = client_lease_new(b.client, false, NULL);
    struct client_file *f = open_by(&b, l, RWH, RWH);
    uint64_t dead = network(OBSERVE_DEAD);
    go_away(&b);
    client_close(f, CLIENT_SINGLE, NULL, NULL);
    come_back(&b);
    end_leasing(&b, l);
    assert_int_equal(network(OBSERVE_DEAD), dead);
}

static void a_create_that_is_sent_twice_is_another_one(void **state)
{
    static const struct server_rule lost = {SMB2_CREATE, 1, SERVER_ANYWHERE, SERVER_HANG_UP, 0};
    struct server_script script = script_of(SERVER_DURABLE);
    set_rule(&script, &lost, NULL);
    struct bed b = start_as(&script);
    struct client_lease *l = client_lease_new(b.client, false, NULL);
    struct client_file *f = open_by(&b, l, RWH, RWH); /* the server refuses a CreateGuid it knows */
    assert_int_equal(server_opens(b.server), 2);
    reconnect(&b);
    reads_well(f);
    close_now(f);
    client_lease_free(l);
    stop(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_open_that_is_held_is_asked_back_and_keeps_its_locks),
        cmocka_unit_test(one_that_the_server_let_go_of_is_opened_by_its_path_and_locked_again),
        cmocka_unit_test(what_was_not_granted_is_not_asked_back),
        cmocka_unit_test(an_open_without_a_handle_lease_asks_for_nothing),
        cmocka_unit_test(an_open_that_is_held_keeps_the_key_of_its_lease),
        cmocka_unit_test(an_open_that_is_closed_while_the_server_is_away_is_closed_there_later),
        cmocka_unit_test(a_close_that_did_not_arrive_is_made_up_for),
        cmocka_unit_test(what_nobody_holds_any_more_is_not_missed_when_it_is_closed),
        cmocka_unit_test(a_create_that_is_sent_twice_is_another_one),
    };
    return cmocka_run_group_tests_name("client_durable", tests, bed_set_up, bed_tear_down);
}
