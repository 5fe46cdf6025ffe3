/*
 * Somebody between the client and a real Samba changes bytes: every dialect's signatures find it
 * out, and the session ends with an error that says so. client.sh starts the server.
 *
 * The somebody is a relay for one connection that knows frames, and does to one frame from the
 * server what the test tells it.
 */
#include "client_bed.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FRAME_HEADER = 4, FLAGS_AT = 16, FLAG_SIGNED = 8, SIGNATURE_AT = 48, FRAME_MAX = 1 << 20 };

enum tamper {
    PASS,
    FLIP_LAST_BIT,      /* of the next frame from the server */
    FLIP_SIGNATURE_BIT, /* of its first message */
    STRIP_SIGNATURE,    /* of its first message, and say that it has none */
    CHANGE_SERVER_GUID, /* in the NEGOTIATE response: harmless but for the hash chain */
};

struct relay {
    int listener, client, server;
    pthread_t thread;
    _Atomic(enum tamper) next;
    uint8_t frame[FRAME_HEADER + FRAME_MAX];
};

/* ---- the relay ---- */

static bool take(int fd, uint8_t *out, size_t n)
{
    return recv(fd, out, n, MSG_WAITALL) == (ssize_t)n;
}

static bool give(int fd, const uint8_t *data, size_t n)
{
    while (n) {
        ssize_t sent = send(fd, data, n, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        data += sent;
        n -= (size_t)sent;
    }
    return true;
}

static void change(struct relay *r, size_t len)
{
    uint8_t *message = r->frame + FRAME_HEADER;
    switch (atomic_exchange(&r->next, PASS)) {
    case PASS:
        break;
    case FLIP_LAST_BIT:
        message[len - 1] ^= 1;
        break;
    case FLIP_SIGNATURE_BIT:
        message[SIGNATURE_AT] ^= 1;
        break;
    case STRIP_SIGNATURE:
        message[FLAGS_AT] &= (uint8_t)~FLAG_SIGNED;
        memset(message + SIGNATURE_AT, 0, 16);
        break;
    case CHANGE_SERVER_GUID:
        message[64 + 8] ^= 1;
        break;
    }
}

static bool pass_frame(struct relay *r, int from, int to)
{
    if (!take(from, r->frame, FRAME_HEADER))
        return false;
    size_t len = (size_t)r->frame[1] << 16 | (size_t)r->frame[2] << 8 | r->frame[3];
    if (len > FRAME_MAX || !take(from, r->frame + FRAME_HEADER, len))
        return false;
    if (from == r->server)
        change(r, len);
    return give(to, r->frame, FRAME_HEADER + len);
}

static int connect_server(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons(bed.port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    return connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0 ? fd : -1;
}

static void *run_relay(void *arg)
{
    struct relay *r = arg;
    r->client = accept(r->listener, NULL, NULL);
    r->server = r->client < 0 ? -1 : connect_server();
    for (bool on = r->server >= 0; on;) {
        struct pollfd p[2] = {{r->client, POLLIN, 0}, {r->server, POLLIN, 0}};
        poll(p, 2, -1);
        if (p[0].revents)
            on = pass_frame(r, r->client, r->server);
        else if (p[1].revents)
            on = pass_frame(r, r->server, r->client);
    }
    close(r->client);
    close(r->server);
    return NULL;
}

static struct relay *relay_new(uint16_t *ret_port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(a);
    struct relay *r = calloc(1, sizeof(*r));
    r->listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(r->listener, (struct sockaddr *)&a, sizeof(a)), 0);
    assert_int_equal(listen(r->listener, 1), 0);
    getsockname(r->listener, (struct sockaddr *)&a, &len);
    *ret_port = ntohs(a.sin_port);
    assert_int_equal(pthread_create(&r->thread, NULL, run_relay, r), 0);
    return r;
}

/* Its connection has ended, since the client's has. */
static void relay_free(struct relay *r)
{
    pthread_join(r->thread, NULL);
    close(r->listener);
    free(r);
}

/* ---- tests ---- */

static struct client_options through(uint16_t port, uint16_t dialect)
{
    struct client_options o = options();
    o.port = port;
    o.dialect_min = o.dialect_max = dialect;
    return o;
}

static void changed_answer_ends_the_session(uint16_t dialect, enum tamper tamper, const char *text)
{
    uint16_t port;
    struct relay *r = relay_new(&port);
    const struct client_options o = through(port, dialect);
    struct client *c = connect_or_fail(&o);
    struct file_attr attr;
    struct error again = {0};

    WORKS(client_stat(c, "empty", CLIENT_COMPOUND, &attr, NULL, &err));
    atomic_store(&r->next, tamper);
    FAILS(-EBADMSG, client_stat(c, "empty", CLIENT_COMPOUND, &attr, NULL, &err));
    if (!strstr(err.text, text))
        fail_msg("\"%s\" is not in \"%s\"", text, err.text);
    assert_int_equal(client_stat(c, "empty", CLIENT_COMPOUND, &attr, NULL, &again), -EBADMSG);
    assert_string_equal(again.text, err.text);
    client_free(c);
    relay_free(r);
}

static const uint16_t dialects[] = {0x0202, 0x0210, 0x0300, 0x0302, 0x0311};

static void test_a_changed_byte_is_found_in_every_dialect(void **state)
{
    for (int i = 0; i < 5; i++)
        changed_answer_ends_the_session(dialects[i], FLIP_LAST_BIT,
                                        "the signature of the server's");
}

static void test_a_changed_signature_is_found_in_every_dialect(void **state)
{
    for (int i = 0; i < 5; i++)
        changed_answer_ends_the_session(dialects[i], FLIP_SIGNATURE_BIT,
                                        "answer to CREATE is wrong");
}

static void test_a_missing_signature_is_found_in_every_dialect(void **state)
{
    for (int i = 0; i < 5; i++)
        changed_answer_ends_the_session(dialects[i], STRIP_SIGNATURE,
                                        "CREATE (STATUS_SUCCESS) is not signed");
}

static void test_a_changed_negotiation_is_found_by_the_hash_chain(void **state)
{
    uint16_t port;
    struct relay *r = relay_new(&port);
    const struct client_options o = through(port, 0x0311);
    struct client *c = NULL;

    atomic_store(&r->next, CHANGE_SERVER_GUID);
    FAILS(-EBADMSG, client_connect(&o, &c, &err));
    assert_non_null(strstr(err.text, "the signature of the server's last answer is wrong"));
    relay_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_changed_byte_is_found_in_every_dialect),
        cmocka_unit_test(test_a_changed_signature_is_found_in_every_dialect),
        cmocka_unit_test(test_a_missing_signature_is_found_in_every_dialect),
        cmocka_unit_test(test_a_changed_negotiation_is_found_by_the_hash_chain),
    };
    return cmocka_run_group_tests(tests, bed_set_up, bed_tear_down);
}
