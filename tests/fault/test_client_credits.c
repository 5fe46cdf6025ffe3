/*
 * Few credits, none for a while, and more than anybody needs: throughput follows, and nothing
 * dead-locks.
 *
 * How many requests are under way is seen from the server's side: it holds its replies back, so
 * that all that a client may send before the next answer has been counted by then.
 */
#include "bed.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { THREADS = 64, ROUNDS = 6 };

struct user {
    struct client *client;
    atomic_uint *done;
    int code;
};

static void *ask(void *arg)
{
    struct user *u = arg;
    struct error err = {0};
    for (unsigned i = 0; u->code == 0 && i < ROUNDS; i++) {
        u->code = i % 3 ? stat_a(u->client, &err) : read_a(u->client, CLIENT_COMPOUND, &err);
        atomic_fetch_add(u->done, 1);
    }
    return NULL;
}

/* 64 threads on one connection: all get their answers. */
static void everybody_asks(struct client *c)
{
    pthread_t threads[THREADS];
    struct user users[THREADS];
    atomic_uint done = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        users[i] = (struct user){c, &done, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, ask, &users[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(users[i].code, 0);
    assert_int_equal(atomic_load(&done), THREADS * ROUNDS);
}

static struct bed start_granting(const struct server_rule *rules, size_t count, uint64_t timeout)
{
    struct server_script script = plain_script();
    script.rules = rules;
    script.rule_count = count;
    return start_with(&script, timeout);
}

static void test_one_credit_serves_64_threads_one_by_one(void **state)
{
    static const struct server_rule one[] = {{SERVER_ANY, 0, SERVER_ANYWHERE, SERVER_GRANT, 1}};
    struct bed b = start_granting(one, 1, 60 * NS_PER_SEC);
    everybody_asks(b.client);
    stop(&b);
}

static void test_8192_credits_serve_64_threads_at_once(void **state)
{
    static const struct server_rule all[] = {{SERVER_ANY, 0, SERVER_ANYWHERE, SERVER_GRANT, 8192}};
    struct bed b = start_granting(all, 1, 60 * NS_PER_SEC);
    everybody_asks(b.client);
    no_open_is_left(&b);
    stop(&b);
}

static void test_no_credits_for_a_while_are_outlived(void **state)
{
    /* the client has some hundred by then, and gets none for most of them */
    static const struct server_rule drought[] = {
        {SERVER_ANY, 40, SERVER_ANYWHERE, SERVER_GRANT, 0, .until = 300}};
    struct bed b = start_granting(drought, 1, 60 * NS_PER_SEC);
    everybody_asks(b.client);
    stop(&b);
}

/* ---- throughput ---- */

static void *echo(void *client)
{
    client_echo(client, NULL);
    return NULL;
}

/* How many requests, up to `most`, stand at the server while the first of them has no answer. */
static unsigned under_way(uint64_t credits, unsigned most)
{
    const struct server_rule grant[] = {{SERVER_ANY, 0, SERVER_ANYWHERE, SERVER_GRANT, credits}};
    const struct server_rule hold[] = {
        {SERVER_ANY, 0, SERVER_ANYWHERE, SERVER_GRANT, credits},
        {SMB2_ECHO, 0, SERVER_ANYWHERE, SERVER_LATE, 2000},
    };
    struct bed b = start_granting(grant, 1, 60 * NS_PER_SEC);
    pthread_t threads[THREADS];
    play(&b, hold, COUNT(hold));
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, echo, b.client), 0);
    unsigned n = 0;
    for (int i = 0; i < 50 && n < most;
         i++) { /* a quarter of what the first answer waits, or more */
        usleep(10 * 1000);
        n = server_count(b.server, SMB2_ECHO);
    }
    play(&b, grant, 1);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    stop(&b);
    return n;
}

static void test_as_many_requests_are_under_way_as_there_are_credits(void **state)
{
    assert_int_equal(under_way(1, 2), 1);
    assert_int_equal(under_way(8192, THREADS), THREADS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_credit_serves_64_threads_one_by_one),
        cmocka_unit_test(test_8192_credits_serve_64_threads_at_once),
        cmocka_unit_test(test_no_credits_for_a_while_are_outlived),
        cmocka_unit_test(test_as_many_requests_are_under_way_as_there_are_credits),
    };
    return cmocka_run_group_tests(tests, bed_set_up, bed_tear_down);
}
