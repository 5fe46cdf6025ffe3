/* The delaying relay against real sockets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "compare/relay.h"

/* ---- a server that answers each connection in a thread of its own ---- */

struct server {
    int listener;
    uint16_t port;
    pthread_t thread;
    void (*talk)(int fd);
};

struct guest {
    int fd;
    void (*talk)(int fd);
};

static void *serve_one(void *arg)
{
    struct guest g = *(struct guest *)arg;
    free(arg);
    g.talk(g.fd);
    close(g.fd);
    return NULL;
}

static void *serve(void *arg)
{
    struct server *s = arg;
    const int on = 1;
    for (int fd; (fd = accept(s->listener, NULL, NULL)) >= 0;) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        struct guest *g = malloc(sizeof(*g));
        pthread_t t;
        *g = (struct guest){fd, s->talk};
        assert_int_equal(pthread_create(&t, NULL, serve_one, g), 0);
        pthread_detach(t);
    }
    return NULL;
}

static void server_start(struct server *s, int family, void (*talk)(int fd))
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_storage got;
    socklen_t len = sizeof(got);
    s->talk = talk;
    s->listener = socket(family, SOCK_STREAM, 0);
    assert_true(s->listener >= 0);
    if (family == AF_INET6)
        assert_int_equal(bind(s->listener, (struct sockaddr *)&six, sizeof(six)), 0);
    else
        assert_int_equal(bind(s->listener, (struct sockaddr *)&four, sizeof(four)), 0);
    assert_int_equal(listen(s->listener, SOMAXCONN), 0);
    assert_int_equal(getsockname(s->listener, (struct sockaddr *)&got, &len), 0);
    s->port = ntohs(((struct sockaddr_in *)&got)->sin_port);
    assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void server_stop(struct server *s)
{
    shutdown(s->listener, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->listener);
}

static int dial(uint16_t port)
{
    struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)};
    const int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return fd;
}

static struct relay *relay_to(const char *host, uint16_t port, double rtt_ms)
{
    struct relay *r = NULL;
    struct error err = {0};
    if (relay_new(host, port, rtt_ms, &r, &err) < 0)
        fail_msg("%s", err.text);
    return r;
}

static void echo(int fd)
{
    static const size_t size = 256 << 10;
    char *buf = malloc(size);
    for (ssize_t n; (n = read(fd, buf, size)) > 0;)
        for (ssize_t done = 0, w; done < n; done += w)
            if ((w = send(fd, buf + done, (size_t)(n - done), MSG_NOSIGNAL)) <= 0)
                goto out;
out:
    free(buf);
}

/* ---- tests ---- */

static void every_round_trip_takes_what_was_asked_and_little_more(void **state)
{
    const double asked[] = {0, 2, 10};
    struct server s;
    server_start(&s, AF_INET, echo);
    for (size_t i = 0; i < 3; i++) {
        struct relay *r = relay_to("127.0.0.1", s.port, asked[i]);
        int fd = dial(relay_port(r));
        uint64_t best = UINT64_MAX;
        /* on a busy machine most come late, for want of a CPU */
        for (int k = 0; k < 20 || (k < 1000 && (double)best >= asked[i] * 1e6 + 5e6); k++) {
            char c = (char)k;
            uint64_t start = clock_now();
            assert_int_equal(send(fd, &c, 1, 0), 1);
            assert_int_equal(read(fd, &c, 1), 1);
            uint64_t took = clock_now() - start;
            assert_int_equal(c, (char)k);
            assert_true((double)took >= asked[i] * 1e6);
            best = took < best ? took : best;
        }
        assert_true((double)best < asked[i] * 1e6 + 5e6);
        close(fd);
        relay_free(r);
    }
    server_stop(&s);
}

#define BULK (64u << 20)

static uint8_t pattern(size_t i)
{
    return (uint8_t)((i * 2654435761u) >> 13);
}

static void *send_bulk(void *arg)
{
    int fd = *(int *)arg;
    static uint8_t block[64 << 10];
    for (size_t at = 0; at < BULK; at += sizeof(block)) {
        for (size_t i = 0; i < sizeof(block); i++)
            block[i] = pattern(at + i);
        for (size_t done = 0; done < sizeof(block);) {
            ssize_t w = send(fd, block + done, sizeof(block) - done, MSG_NOSIGNAL);
            if (w <= 0)
                return NULL;
            done += (size_t)w;
        }
    }
    shutdown(fd, SHUT_WR);
    return NULL;
}

static void bulk_data_comes_through_whole_and_then_its_end(void **state)
{
    struct server s;
    server_start(&s, AF_INET, echo);
    struct relay *r = relay_to("127.0.0.1", s.port, 2);
    int fd = dial(relay_port(r));
    pthread_t sender;
    assert_int_equal(pthread_create(&sender, NULL, send_bulk, &fd), 0);
    uint8_t *buf = malloc(1 << 20);
    size_t at = 0, wrong = 0;
    for (ssize_t n; (n = read(fd, buf, 1 << 20)) > 0; at += (size_t)n)
        for (ssize_t i = 0; i < n; i++)
            wrong += buf[i] != pattern(at + (size_t)i);
    assert_int_equal(at, BULK);
    assert_int_equal(wrong, 0);
    pthread_join(sender, NULL);
    free(buf);
    close(fd);
    relay_free(r);
    server_stop(&s);
}

/* Reads nothing, until nobody is there any more. */
static void deaf(int fd)
{
    struct pollfd gone = {.fd = fd};
    poll(&gone, 1, 60000);
}

static void a_reader_that_does_not_read_stops_the_writer(void **state)
{
    struct server s;
    server_start(&s, AF_INET, deaf);
    struct relay *r = relay_to("127.0.0.1", s.port, 1);
    int fd = dial(relay_port(r));
    static char block[64 << 10];
    size_t sent = 0;
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    while (sent < 256u << 20 && poll(&p, 1, sent > 4u << 20 ? 300 : 30000) == 1) {
        ssize_t n = send(fd, block, sizeof(block), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0)
            break;
        sent += (size_t)n;
    }
    assert_true(sent > 4u << 20);
    assert_true(sent < 64u << 20); /* the pipe's bound and the sockets' buffers */
    close(fd);
    relay_free(r);
    server_stop(&s);
}

static void say_and_leave(int fd)
{
    (void)!send(fd, "bye", 3, MSG_NOSIGNAL);
}

static void a_hang_up_is_passed_on_after_the_last_words(void **state)
{
    struct server s;
    server_start(&s, AF_INET, say_and_leave);
    struct relay *r = relay_to("127.0.0.1", s.port, 4);
    int fd = dial(relay_port(r));
    char buf[8];
    assert_int_equal(recv(fd, buf, 3, MSG_WAITALL), 3);
    assert_memory_equal(buf, "bye", 3);
    assert_int_equal(read(fd, buf, 1), 0);
    close(fd);
    relay_free(r);
    server_stop(&s);
}

static void reset_it(int fd)
{
    struct linger now = {.l_onoff = 1};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

static void a_reset_is_passed_on_as_a_reset(void **state)
{
    struct server s;
    server_start(&s, AF_INET, reset_it);
    struct relay *r = relay_to("127.0.0.1", s.port, 1);
    int fd = dial(relay_port(r));
    char c;
    assert_int_equal(read(fd, &c, 1), -1);
    assert_int_equal(errno, ECONNRESET);
    close(fd);
    relay_free(r);
    server_stop(&s);
}

static void count_then_tell(int fd)
{
    uint32_t n = 0;
    char buf[4096];
    for (ssize_t got; (got = read(fd, buf, sizeof(buf))) > 0;)
        n += (uint32_t)got;
    (void)!send(fd, &n, sizeof(n), MSG_NOSIGNAL);
}

static void a_client_that_has_said_all_still_hears_the_answer(void **state)
{
    struct server s;
    server_start(&s, AF_INET, count_then_tell);
    struct relay *r = relay_to("localhost", s.port, 2);
    int fd = dial(relay_port(r));
    assert_int_equal(send(fd, "12345", 5, 0), 5);
    shutdown(fd, SHUT_WR);
    uint32_t n = 0;
    assert_int_equal(recv(fd, &n, sizeof(n), MSG_WAITALL), sizeof(n));
    assert_int_equal(n, 5);
    close(fd);
    relay_free(r);
    server_stop(&s);
}

static void nobody_at_the_other_end_is_a_reset(void **state)
{
    struct server s;
    server_start(&s, AF_INET, echo);
    server_stop(&s); /* the port is free now */
    struct relay *r = relay_to("127.0.0.1", s.port, 1);
    int fd = dial(relay_port(r));
    char c;
    assert_true(read(fd, &c, 1) <= 0);
    close(fd);
    relay_free(r);
}

static void ipv6_servers_are_reached(void **state)
{
    int probe = socket(AF_INET6, SOCK_STREAM, 0);
    struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
    bool here = probe >= 0 && bind(probe, (struct sockaddr *)&a, sizeof(a)) == 0;
    close(probe);
    if (!here)
        skip();
    struct server s;
    server_start(&s, AF_INET6, echo);
    struct relay *r = relay_to("::1", s.port, 0);
    int fd = dial(relay_port(r));
    char c = 'x';
    assert_int_equal(send(fd, &c, 1, 0), 1);
    assert_int_equal(read(fd, &c, 1), 1);
    close(fd);
    relay_free(r);
    server_stop(&s);
}

static void many_connections_at_once_do_not_mix(void **state)
{
    enum { MANY = 100, RTT = 200 }; /* one after the other they would take 20 s */
    struct server s;
    server_start(&s, AF_INET, echo);
    struct relay *r = relay_to("127.0.0.1", s.port, RTT);
    int fd[MANY];
    uint64_t start = clock_now();
    for (int i = 0; i < MANY; i++) {
        fd[i] = dial(relay_port(r));
        assert_int_equal(send(fd[i], &i, sizeof(i), 0), sizeof(i));
    }
    for (int i = 0; i < MANY; i++) {
        int got = -1;
        assert_int_equal(recv(fd[i], &got, sizeof(got), MSG_WAITALL), sizeof(got));
        assert_int_equal(got, i);
    }
    assert_true(clock_now() - start < (uint64_t)MANY * RTT * NS_PER_MS); /* side by side */
    for (int i = 0; i < MANY; i++)
        close(fd[i]);
    relay_free(r);
    server_stop(&s);
}

static void an_idle_relay_takes_no_time(void **state)
{
    struct server s;
    server_start(&s, AF_INET, deaf);
    struct relay *r = relay_to("127.0.0.1", s.port, 1);
    int half = dial(relay_port(r)), gone = dial(relay_port(r));
    shutdown(half, SHUT_WR);
    close(gone);
    usleep(50000);
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    usleep(500000);
    getrusage(RUSAGE_SELF, &after);
    long us = (after.ru_utime.tv_sec + after.ru_stime.tv_sec - before.ru_utime.tv_sec -
               before.ru_stime.tv_sec) *
                  1000000 +
              after.ru_utime.tv_usec + after.ru_stime.tv_usec - before.ru_utime.tv_usec -
              before.ru_stime.tv_usec;
    assert_true(us < 50000);
    close(half);
    relay_free(r);
    server_stop(&s);
}

static void nonsense_is_refused(void **state)
{
    struct relay *r = NULL;
    struct error err = {0};
    assert_int_equal(relay_new("127.0.0.1", 1, -1, &r, &err), -EINVAL);
    assert_int_equal(relay_new("127.0.0.1", 1, 0.0 / 0.0, &r, &err), -EINVAL);
    assert_int_equal(relay_new("127.0.0.1", 1, 1e9, &r, &err), -EINVAL);
    assert_int_equal(relay_new("no such host.invalid", 1, 0, &r, &err), -EHOSTUNREACH);
    assert_non_null(strstr(err.text, "no such host.invalid"));
    assert_null(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_round_trip_takes_what_was_asked_and_little_more),
        cmocka_unit_test(bulk_data_comes_through_whole_and_then_its_end),
        cmocka_unit_test(a_reader_that_does_not_read_stops_the_writer),
        cmocka_unit_test(a_hang_up_is_passed_on_after_the_last_words),
        cmocka_unit_test(a_reset_is_passed_on_as_a_reset),
        cmocka_unit_test(a_client_that_has_said_all_still_hears_the_answer),
        cmocka_unit_test(nobody_at_the_other_end_is_a_reset),
        cmocka_unit_test(ipv6_servers_are_reached),
        cmocka_unit_test(many_connections_at_once_do_not_mix),
        cmocka_unit_test(an_idle_relay_takes_no_time),
        cmocka_unit_test(nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
