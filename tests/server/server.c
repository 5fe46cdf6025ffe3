/*
 * The scripted server's thread: one poll loop over the listener, an eventfd and the connections.
 *
 * Input is gathered per connection until a frame is whole, so a client may send in whatever pieces
 * it likes. Output is sent at once (output.c), or held back as the script says; where a client does
 * not read, the thread waits for it, but never longer than until server_free or server_disconnect.
 */
#include "server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "internal.h"

/* ---- connections ---- */

static void conn_close(struct server *s, struct server_conn *c)
{
    server_watch_forget(s, c);
    server_durable_leave(s, c);
    server_open_close_all(s, c);
    server_held_forget(s, c);
    server_logon_done(&c->logon);
    close(c->fd);
    free(c->in);
    free(c->joined);
    *c = (struct server_conn){.fd = -1};
}

static void conn_accept(struct server *s)
{
    int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd < 0)
        return;
    pthread_mutex_lock(&s->lock);
    bool away = s->away;
    pthread_mutex_unlock(&s->lock);
    if (away) {
        close(fd);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    uint8_t *in = malloc(WIRE_FRAME_HEADER + SERVER_FRAME_MAX);
    for (size_t i = 0; in && i < SERVER_CONNECTIONS; i++) {
        if (s->conns[i].fd < 0) {
            s->conns[i] = (struct server_conn){.fd = fd, .in = in};
            return;
        }
    }
    free(in);
    close(fd);
}

/* Answers the frames that are whole. False: hang up. */
static bool conn_frames(struct server *s, struct server_conn *c)
{
    for (;;) {
        struct rd r = rd_init(c->in, c->have);
        uint32_t len = rd_be32(&r);
        if (!rd_ok(&r))
            return true;
        if (len > SERVER_FRAME_MAX)
            return false;
        struct rd frame = rd_init(rd_bytes(&r, len), len);
        if (!rd_ok(&r))
            return true;
        if (!server_answer(s, c, frame)) {
            server_out_reset(&s->out);
            return false;
        }
        c->have -= r.pos;
        memmove(c->in, c->in + r.pos, c->have);
    }
}

static void conn_readable(struct server *s, struct server_conn *c)
{
    size_t room = WIRE_FRAME_HEADER + SERVER_FRAME_MAX - c->have;
    ssize_t n = recv(c->fd, c->in + c->have, room, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0)
        c->have += (size_t)n;
    if (n <= 0 || !conn_frames(s, c) || !server_joined_flush(s, c))
        conn_close(s, c);
}

/* ---- the thread ---- */

/* Does what was asked for through the eventfd. True: the end. */
static bool woken(struct server *s)
{
    uint64_t ignored;
    if (read(s->wake, &ignored, sizeof(ignored)) < 0)
        return false;
    pthread_mutex_lock(&s->lock);
    bool stop = s->stop, disconnect = s->disconnect;
    s->disconnect = false;
    pthread_mutex_unlock(&s->lock);
    server_obey(s);
    server_watch_flush(s);
    for (size_t i = 0; (stop || disconnect) && i < SERVER_CONNECTIONS; i++)
        if (s->conns[i].fd >= 0)
            conn_close(s, &s->conns[i]);
    return stop;
}

static void *serve(void *arg)
{
    struct server *s = arg;
    for (;;) {
        struct pollfd p[SERVER_CONNECTIONS + 2];
        for (size_t i = 0; i < SERVER_CONNECTIONS; i++)
            p[i] = (struct pollfd){.fd = s->conns[i].fd, .events = POLLIN};
        p[SERVER_CONNECTIONS] = (struct pollfd){.fd = s->listener, .events = POLLIN};
        p[SERVER_CONNECTIONS + 1] = (struct pollfd){.fd = s->wake, .events = POLLIN};
        if (poll(p, SERVER_CONNECTIONS + 2, server_held_timeout(s)) < 0)
            continue;
        server_held_release(s);
        for (size_t i = 0; i < SERVER_CONNECTIONS; i++)
            if (p[i].revents)
                conn_readable(s, &s->conns[i]);
        if (p[SERVER_CONNECTIONS].revents)
            conn_accept(s);
        if (p[SERVER_CONNECTIONS + 1].revents && woken(s))
            return NULL;
    }
}

/* ---- what tests call ---- */

static struct server_script with_defaults(const struct server_script *script)
{
    struct server_script s = *script;
    if (!s.dialect)
        s.dialect = SMB2_DIALECT_210;
    if (!s.max_transact)
        s.max_transact = 1 << 20;
    if (!s.max_read)
        s.max_read = 1 << 20;
    if (s.max_transact > SERVER_TRANSACT_MAX)
        s.max_transact = SERVER_TRANSACT_MAX;
    if (!s.max_query_directory || s.max_query_directory > s.max_transact)
        s.max_query_directory = s.max_transact;
    return s;
}

static int listen_somewhere(uint16_t *ret_port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(a);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, SERVER_CONNECTIONS) < 0 ||
        getsockname(fd, (struct sockaddr *)&a, &len) < 0) {
        close(fd);
        return -1;
    }
    *ret_port = ntohs(a.sin_port);
    return fd;
}

static struct server *release(struct server *s)
{
    if (s->listener >= 0)
        close(s->listener);
    if (s->wake >= 0)
        close(s->wake);
    for (unsigned i = 0; i < s->note_count; i++)
        free(s->notes[i].output);
    pthread_cond_destroy(&s->done);
    pthread_mutex_destroy(&s->lock);
    free(s->out.w.buf);
    free(s->scratch);
    free(s->replies);
    free(s->opens);
    server_made_forget(s);
    free(s);
    return NULL;
}

struct server *server_new(const struct server_script *script)
{
    struct server *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->done, NULL);
    for (size_t i = 0; i < SERVER_CONNECTIONS; i++)
        s->conns[i].fd = -1;
    s->serial = 1000;
    if (script->logon)
        server_logon_prepare();
    s->script = with_defaults(script);
    s->wake = eventfd(0, EFD_CLOEXEC);
    s->listener = listen_somewhere(&s->port);
    s->scratch = malloc(SERVER_TRANSACT_MAX);
    s->replies = malloc(SERVER_REPLIES * sizeof(*s->replies));
    s->out.w.buf = malloc(SERVER_OUT_MAX);
    if (s->wake < 0 || s->listener < 0 || !s->scratch || !s->replies || !s->out.w.buf)
        return release(s);
    server_out_reset(&s->out);
    errno = pthread_create(&s->thread, NULL, serve, s);
    return errno ? release(s) : s;
}

static void wake(struct server *s, bool *flag)
{
    pthread_mutex_lock(&s->lock);
    *flag = true;
    pthread_mutex_unlock(&s->lock);
    eventfd_write(s->wake, 1);
}

struct server *server_free(struct server *s)
{
    if (!s)
        return NULL;
    wake(s, &s->stop);
    pthread_join(s->thread, NULL);
    return release(s);
}

void server_disconnect(struct server *s)
{
    wake(s, &s->disconnect);
}

void server_stay_away(struct server *s, bool away)
{
    pthread_mutex_lock(&s->lock);
    s->away = away;
    pthread_mutex_unlock(&s->lock);
    if (away)
        server_disconnect(s);
}

uint16_t server_port(const struct server *s)
{
    return s->port;
}

void server_play(struct server *s, const struct server_script *script)
{
    pthread_mutex_lock(&s->lock);
    s->script = with_defaults(script);
    memset(s->counts, 0, sizeof(s->counts));
    memset(s->codes, 0, sizeof(s->codes));
    s->frames = 0;
    s->sent = 0;
    s->reply_count = 0;
    s->ack_count = 0;
    pthread_mutex_unlock(&s->lock);
}

static unsigned read_count(struct server *s, const unsigned *count)
{
    pthread_mutex_lock(&s->lock);
    unsigned n = *count;
    pthread_mutex_unlock(&s->lock);
    return n;
}

unsigned server_count(struct server *s, int command)
{
    return read_count(s, &s->counts[command == SERVER_ANY ? SMB2_COMMANDS : command]);
}

unsigned server_frames(struct server *s)
{
    return read_count(s, &s->frames);
}

bool server_reply(struct server *s, unsigned n, struct server_reply *ret)
{
    pthread_mutex_lock(&s->lock);
    bool is_there = n < s->reply_count;
    if (is_there)
        *ret = s->replies[n];
    pthread_mutex_unlock(&s->lock);
    return is_there;
}

unsigned server_opens(struct server *s)
{
    return read_count(s, &s->open_count);
}
