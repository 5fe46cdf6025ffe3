/*
 * What follows a break, against a server that takes its time: acknowledgements, also when every
 * credit is in use; opens that are kept; the end of leases and connections; many threads.
 */
#include "leasing.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- acknowledgements ---- */

static void test_an_acknowledgement_waits_for_the_owner(void **state)
{
    const struct server_script script = leasing_script(RWH, 1);
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, false, &b);
    struct client_file *f = open_by(&b, l, RWH, RWH);
    heard.puts_off = true;
    send_break(&b, (struct server_break){0, 2, R, true});
    assert_int_equal(client_lease_state(l), R);
    expect_acks(&b, 0);
    client_lease_acknowledge(l);
    expect_ack(&b, 0, R);
    client_lease_acknowledge(l); /* nothing is owed any more */
    expect_acks(&b, 1);
    close_now(f);
    end_leasing(&b, l);
}

static void test_the_last_close_is_the_acknowledgement(void **state)
{
    const struct server_script script = leasing_script(RH, 1);
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, false, &b);
    heard.puts_off = true;
    for (unsigned i = 0; i < 3; i++) {
        struct client_file *f = open_by(&b, l, RH, RH);
        send_break(&b, (struct server_break){0, 2, R, true});
        if (i == 0)
            close_now(f);
        else if (i == 1)
            assert_int_equal(client_close(f, CLIENT_COMPOUND, NULL, NULL), 0);
        else
            assert_int_equal(client_close_end(client_close_begin(f), NULL, NULL), 0);
        no_open_is_left(&b);
        client_lease_acknowledge(l);
        expect_acks(&b, 0);
    }
    end_leasing(&b, l);
}

static void test_a_refused_acknowledgement_ends_the_promise_and_nothing_else(void **state)
{
    static const uint32_t statuses[] = {STATUS_UNSUCCESSFUL, STATUS_OBJECT_NAME_NOT_FOUND,
                                        STATUS_INVALID_PARAMETER, STATUS_REQUEST_NOT_ACCEPTED};
    for (unsigned i = 0; i < COUNT(statuses); i++) {
        const struct server_rule refuse[] = {
            {SMB2_OPLOCK_BREAK, 0, SERVER_ANYWHERE, SERVER_FAIL, statuses[i]}};
        struct server_script script = leasing_script(RH, 1);
        set_rule(&script, refuse, NULL);
        struct bed b = start_leasing(&script);
        struct client_lease *l = client_lease_new(b.client, false, &b);
        struct client_file *f = open_by(&b, l, RH, RH);
        send_break(&b, (struct server_break){0, 2, R, true});
        expect_acks(&b, 1);
        assert_int_equal(client_lease_state(l), 0);
        assert_int_equal(heard.times, 2);
        close_now(f);
        end_leasing(&b, l);
    }
}

/* ---- credits ---- */

struct reading {
    struct client_file *file;
    pthread_t thread;
};

static void *read_in_vain(void *arg)
{
    struct reading *r = arg;
    char buf[8];
    (void)client_read(r->file, buf, sizeof(buf), 0, NULL);
    return NULL;
}

static void test_an_acknowledgement_leaves_when_all_credits_are_used(void **state)
{
    static const struct server_rule few[] = {
        {SERVER_ANY, 0, SERVER_ANYWHERE, SERVER_GRANT, 1},
        {SMB2_NEGOTIATE, 0, SERVER_ANYWHERE, SERVER_GRANT, 4},
        {SMB2_READ, 0, SERVER_ANYWHERE, SERVER_SILENT, 0},
    };
    struct server_script script = leasing_script(RH, 1);
    script.rules = few;
    script.rule_count = 2;
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, false, &b);
    struct client_file *f = open_by(&b, l, RH, RH);
    script.rule_count = 3;
    server_play(b.server, &script);
    struct reading reading[8];
    for (unsigned i = 0; i < COUNT(reading); i++) {
        reading[i].file = f;
        pthread_create(&reading[i].thread, NULL, read_in_vain, &reading[i]);
    }
    for (unsigned i = 0; i < 200 && server_count(b.server, SMB2_READ) < 3; i++)
        usleep(10000);
    usleep(50 * 1000);
    assert_int_equal(server_count(b.server, SMB2_READ), 3); /* one credit is kept back */
    assert_true(server_send_break(b.server, &(struct server_break){0, 2, R, true}));
    expect_ack(&b, 0, R);
    assert_int_equal(server_count(b.server, SMB2_READ), 3);

    server_disconnect(b.server);
    for (unsigned i = 0; i < COUNT(reading); i++)
        pthread_join(reading[i].thread, NULL);
    assert_int_equal(client_close(f, CLIENT_COMPOUND, NULL, NULL), 0);
    client_lease_free(l);
    stop(&b);
}

struct echoing {
    struct client *client;
    atomic_bool stop;
};

static void *echo_on(void *arg)
{
    struct echoing *e = arg;
    while (!e->stop && client_echo(e->client, NULL) == 0)
        continue;
    return NULL;
}

static void test_a_server_with_one_credit_gets_its_acknowledgement_next(void **state)
{
    enum { BROKEN = 4 };
    static const struct server_break breaks[] = {{0, 2, R, true}};
    static const struct server_rule one[] = {
        {SERVER_ANY, 0, SERVER_ANYWHERE, SERVER_GRANT, 1},
        {SMB2_ECHO, 0, SERVER_ANYWHERE, SERVER_DELAY, 20},
        {SMB2_ECHO, BROKEN, SERVER_ANYWHERE, SERVER_BREAK, 0},
    };
    struct server_script script = leasing_script(RH, 1);
    script.rules = one;
    script.rule_count = 2;
    script.breaks = breaks;
    script.break_count = 1;
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, false, &b);
    struct client_file *f = open_by(&b, l, RH, RH);
    script.rule_count = 3;
    server_play(b.server, &script);
    struct echoing e = {.client = b.client};
    pthread_t threads[4];
    for (unsigned i = 0; i < COUNT(threads); i++)
        pthread_create(&threads[i], NULL, echo_on, &e);
    expect_ack(&b, 0, R);
    assert_in_range(server_ack_after(b.server, 0, SMB2_ECHO), BROKEN, BROKEN + 3);
    e.stop = true;
    for (unsigned i = 0; i < COUNT(threads); i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(heard.times, 1);
    close_now(f);
    end_leasing(&b, l);
}

static void test_a_silent_server_is_found_out_though_a_credit_is_kept_back(void **state)
{
    static const struct server_rule few[] = {
        {SERVER_ANY, 0, SERVER_ANYWHERE, SERVER_GRANT, 1},
        {SMB2_NEGOTIATE, 0, SERVER_ANYWHERE, SERVER_GRANT, 2},
    };
    static const struct server_rule silent[] = {{SERVER_ANY, 0, SERVER_ANYWHERE, SERVER_SILENT, 0}};
    struct server_script script = leasing_script(RH, 1);
    script.rules = few;
    script.rule_count = 2;
    struct server *s = server_new(&script);
    struct client_options o = options(s);
    struct client *c;
    o.request_timeout_ns = o.echo_interval_ns = NS_PER_SEC / 2;
    assert_int_equal(client_connect(&o, &c, NULL), 0);
    struct client_lease *l = client_lease_new(c, false, NULL);
    play(&(struct bed){s, c}, silent, 1);
    assert_int_equal(client_echo(c, NULL), -ETIMEDOUT);
    struct error err = {0};
    for (int i = 0; i < 40 && !strstr(err.text, "did not answer an ECHO"); i++)
        assert_true(client_echo(c, &err) < 0);
    assert_non_null(strstr(err.text, "did not answer an ECHO"));
    client_lease_free(l);
    client_free(c);
    server_free(s);
}

/* ---- the end ---- */

static void test_with_the_connection_all_promises_are_gone(void **state)
{
    const struct server_script script = leasing_script(RWH, 1);
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, false, &b);
    struct client_file *f = open_by(&b, l, RWH, RWH);
    server_disconnect(b.server);
    for (int i = 0; i < 200 && client_lease_state(l); i++)
        usleep(10000);
    assert_int_equal(client_lease_state(l), 0);
    client_lease_acknowledge(l);
    assert_int_equal(client_close(f, CLIENT_COMPOUND, NULL, NULL), 0);
    client_lease_free(l);
    stop(&b);
}

static void test_who_has_freed_a_lease_hears_no_more_of_it(void **state)
{
    const struct server_script script = leasing_script(RH, 1);
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, false, &b);
    struct client_file *f = open_by(&b, l, RH, RH);
    heard.slow = true;
    assert_true(server_send_break(b.server, &(struct server_break){0, 2, R, true}));
    while (!heard.owner) /* it is being told */
        usleep(1000);
    assert_int_equal(client_close(f, CLIENT_COMPOUND, NULL, NULL), 0);
    client_lease_free(l); /* waits until it has been */
    assert_int_equal(heard.times, 1);
    send_break(&b, (struct server_break){0, 3, 0, true});
    assert_int_equal(heard.times, 1);
    end_leasing(&b, NULL);
}

static void test_a_lease_outlives_its_owner_until_its_late_open_is_closed(void **state)
{
    static const struct server_break breaks[] = {{0, 2, R, true}};
    /* the client has patience enough for all that follows, on a busy machine too */
    static const struct server_rule late[] = {{SMB2_CREATE, 1, SERVER_ANYWHERE, SERVER_DELAY, 3000},
                                              {SMB2_CREATE, 1, SERVER_ANYWHERE, SERVER_BREAK, 0}};
    struct server_script script = leasing_script(RH, 1);
    script.breaks = breaks;
    script.break_count = 1;
    struct bed b = start_leasing(&script);
    client_free(b.client);
    struct client_options o = options(b.server);
    o.request_timeout_ns = 2 * NS_PER_SEC;
    o.events = (struct conn_events){.lease_broken = note_break, .user = &heard};
    assert_int_equal(client_connect(&o, &b.client, NULL), 0);
    script.rules = late;
    script.rule_count = 2;
    server_play(b.server, &script);

    struct client_lease *l = client_lease_new(b.client, false, &b);
    struct client_lease_ask ask = {.lease = l, .state = RH};
    struct client_file *f;
    struct file_attr attr;
    size_t len;
    bool eof;
    assert_int_equal(
        client_open_leased(b.client, "lib/a.py", &ask, NULL, 0, &f, &attr, &len, &eof, NULL),
        -ETIMEDOUT);
    client_lease_free(l);
    for (int i = 0; i < 2000 && !server_count(b.server, SMB2_CLOSE); i++)
        usleep(10000);
    assert_int_equal(server_count(b.server, SMB2_CLOSE), 1);
    assert_int_equal(server_count(b.server, SMB2_CREATE), 1);
    assert_int_equal(heard.times, 0);
    end_leasing(&b, NULL);
}

/* ---- an open that is kept ---- */

static struct client_file *list_kept(struct bed *b, struct client_lease *l, const char *path,
                                     struct names *n)
{
    struct client_lease_ask ask = {.lease = l, .state = RH};
    struct client_list_result result;
    struct client_file *dir;
    struct error err = {0};
    memset(n, 0, sizeof(*n));
    if (client_list_leased(b->client, path, &ask, false, note_name, n, &dir, &result, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(result.complete);
    assert_int_equal(ask.ret_state, RH);
    assert_non_null(dir);
    return dir;
}

static unsigned list_again(struct client_file *dir, struct names *n)
{
    struct client_list_result result;
    struct error err = {0};
    memset(n, 0, sizeof(*n));
    if (client_relist(dir, note_name, n, &result, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(result.complete);
    return n->count;
}

static void test_a_kept_open_lists_again_in_one_round_trip(void **state)
{
    const struct server_script script = leasing_script(RH, 1);
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, true, &b);
    struct names *n = malloc(sizeof(*n));
    struct client_file *dir = list_kept(&b, l, "lib", n);
    for (unsigned i = 0; i < 3; i++) {
        uint64_t trips = counts().round_trips;
        assert_int_equal(list_again(dir, n), 1);
        assert_string_equal(n->text, "a.py|");
        assert_int_equal(counts().round_trips - trips, 1);
    }
    assert_int_equal(server_count(b.server, SMB2_CREATE), 1);
    close_now(dir);

    dir = list_kept(&b, l, "many", n);
    assert_int_equal(list_again(dir, n), MANY);
    assert_int_equal(list_again(dir, n), MANY);
    close_now(dir);
    free(n);
    end_leasing(&b, l);
}

static void test_a_refused_restart_is_no_empty_listing(void **state)
{
    static const struct server_rule refusals[] = {
        {SMB2_QUERY_DIRECTORY, 1, SERVER_ANYWHERE, SERVER_FAIL, STATUS_INVALID_PARAMETER},
        {SMB2_QUERY_DIRECTORY, 0, SERVER_IN_COMPOUND, SERVER_FAIL, STATUS_INVALID_PARAMETER},
        {SMB2_QUERY_DIRECTORY, 0, SERVER_BEHIND, SERVER_FAIL, STATUS_NOT_SUPPORTED},
    };
    for (unsigned i = 0; i < COUNT(refusals); i++) {
        struct server_script script = leasing_script(RH, 1);
        struct bed b = start_leasing(&script);
        struct client_lease *l = client_lease_new(b.client, true, &b);
        struct names *n = malloc(sizeof(*n));
        struct client_file *dir = list_kept(&b, l, "many", n);
        set_rule(&script, &refusals[i], NULL);
        server_play(b.server, &script);
        assert_int_equal(list_again(dir, n), MANY);
        close_now(dir);
        free(n);
        end_leasing(&b, l);
    }
}

static void test_without_a_lease_of_its_handle_no_open_is_kept(void **state)
{
    const struct server_script script = leasing_script(R, 1);
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, true, &b);
    struct client_lease_ask ask = {.lease = l, .state = RH};
    struct client_list_result result;
    struct names n = {0};
    struct client_file *dir;
    assert_int_equal(
        client_list_leased(b.client, "lib", &ask, false, note_name, &n, &dir, &result, NULL), 0);
    assert_null(dir);
    assert_int_equal(ask.ret_state, 0);
    assert_int_equal(client_lease_state(l), 0);
    end_leasing(&b, l);
}

/* ---- threads ---- */

enum { OPENERS = 4, ROUNDS = 150, KEYS = 3 };

struct opener {
    struct bed *bed;
    struct client_lease **leases;
    unsigned seed;
    pthread_t thread;
};

static void *open_and_close(void *arg)
{
    struct opener *o = arg;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct client_lease_ask ask = {.lease = o->leases[(i + o->seed) % KEYS], .state = RWH};
        struct client_file *f;
        struct file_attr attr;
        size_t len;
        bool eof;
        char buf[16];
        if (client_open_leased(o->bed->client, "lib/a.py", &ask, buf, sizeof(buf), &f, &attr, &len,
                               &eof, NULL) < 0)
            continue;
        (void)client_lease_state(ask.lease);
        if ((i + o->seed) % 3 == 0)
            client_close(f, CLIENT_COMPOUND, NULL, NULL);
        else if ((i + o->seed) % 3 == 1)
            client_close(f, CLIENT_SINGLE, NULL, NULL);
        else
            client_close_end(client_close_begin(f), NULL, NULL);
    }
    return NULL;
}

static void test_breaks_while_other_threads_open_and_close(void **state)
{
    struct server_script script = leasing_script(RWH, 1);
    struct bed b = start_leasing(&script);
    struct client_lease *leases[KEYS];
    struct opener openers[OPENERS];
    for (unsigned i = 0; i < KEYS; i++) {
        leases[i] = client_lease_new(b.client, false, &b);
        close_now(open_by(&b, leases[i], RWH, RWH));
    }
    for (unsigned i = 0; i < OPENERS; i++) {
        openers[i] = (struct opener){.bed = &b, .leases = leases, .seed = i};
        pthread_create(&openers[i].thread, NULL, open_and_close, &openers[i]);
    }
    for (unsigned i = 0; i < 3 * ROUNDS; i++) {
        heard.puts_off = i % 5 == 0;
        const struct server_break broken = {(int)(i % KEYS), (uint16_t)(i + 2), i % 8, i % 3 != 0};
        assert_true(server_send_break(b.server, &broken));
        if (i % 5 == 1)
            client_lease_acknowledge(leases[(i - 1) % KEYS]);
    }
    for (unsigned i = 0; i < OPENERS; i++)
        pthread_join(openers[i].thread, NULL);
    for (unsigned i = 0; i < KEYS; i++) {
        assert_int_equal(client_lease_state(leases[i]), 0);
        client_lease_free(leases[i]);
    }
    end_leasing(&b, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_acknowledgement_waits_for_the_owner),
        cmocka_unit_test(test_the_last_close_is_the_acknowledgement),
        cmocka_unit_test(test_a_refused_acknowledgement_ends_the_promise_and_nothing_else),
        cmocka_unit_test(test_an_acknowledgement_leaves_when_all_credits_are_used),
        cmocka_unit_test(test_a_server_with_one_credit_gets_its_acknowledgement_next),
        cmocka_unit_test(test_a_silent_server_is_found_out_though_a_credit_is_kept_back),
        cmocka_unit_test(test_with_the_connection_all_promises_are_gone),
        cmocka_unit_test(test_who_has_freed_a_lease_hears_no_more_of_it),
        cmocka_unit_test(test_a_lease_outlives_its_owner_until_its_late_open_is_closed),
        cmocka_unit_test(test_a_kept_open_lists_again_in_one_round_trip),
        cmocka_unit_test(test_a_refused_restart_is_no_empty_listing),
        cmocka_unit_test(test_without_a_lease_of_its_handle_no_open_is_kept),
        cmocka_unit_test(test_breaks_while_other_threads_open_and_close),
    };
    return cmocka_run_group_tests(tests, bed_set_up, bed_tear_down);
}
