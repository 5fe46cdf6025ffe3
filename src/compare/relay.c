/*
 * The delaying relay.
 *
 * One thread, one poll loop. A connection is a link of two sockets and two pipes, one each way.
 * What is read from a socket becomes a chunk with the time at which it is due at the other side;
 * chunks leave in order, none before its time, so the round trip is never shorter than asked. A
 * pipe that holds 4 MiB is not read from until some of it is gone, which is how TCP would have it.
 *
 * The end travels like data: when one side stops sending, the other is told so after the same delay
 * and can still answer; a reset is passed on as a reset. A socket is watched only for what can be
 * acted on (a full pipe's source for nothing at all), so that no state of a peer makes the loop
 * spin.
 */
#include "compare/relay.h"

#include <errno.h>
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"

#define PIPE_MAX     (4u << 20)
#define READ_SIZE    (64u << 10)
#define ACCEPT_PAUSE (100 * NS_PER_MS) /* after running out of descriptors */

enum chunk_kind { DATA, END, RESET };

struct chunk {
    struct list item;
    uint64_t due;
    enum chunk_kind kind;
    size_t len, done;
    char data[];
};

struct pipe {
    struct list chunks;
    size_t queued; /* bytes, with what the chunks themselves take */
    bool ended;    /* nothing more is read from the source */
    bool done;     /* the destination knows */
    bool blocked;  /* the destination takes nothing at the moment */
};

enum { CLIENT, SERVER };

struct link {
    struct list item;
    int fd[2];
    struct pipe pipe[2];            /* pipe[s] is read from fd[s] and written to fd[!s] */
    const struct addrinfo *address; /* the one that is being tried, of the relay's list */
    bool connecting;
    struct pollfd *watch[2]; /* of this round of the loop */
};

struct relay {
    uint64_t delay_ns;
    int listener, stop;
    uint16_t port;
    struct addrinfo *addresses;
    pthread_t thread;

    /* The thread's alone. */
    struct list links;
    size_t count;
    uint64_t accept_after;
    struct pollfd *watches;
    size_t watch_cap;
    char buf[READ_SIZE];
};

/* ---- pipes ---- */

static void pipe_clear(struct pipe *p)
{
    while (!list_empty(&p->chunks)) {
        struct chunk *c = container_of(p->chunks.next, struct chunk, item);
        list_del(&c->item);
        free(c);
    }
    p->queued = 0;
}

static bool pipe_put(struct relay *r, struct pipe *p, enum chunk_kind kind, const char *data,
                     size_t len)
{
    struct chunk *c = malloc(sizeof(*c) + len);
    if (!c)
        return false;
    *c = (struct chunk){.due = clock_now() + r->delay_ns, .kind = kind, .len = len};
    if (len)
        memcpy(c->data, data, len);
    list_add_tail(&p->chunks, &c->item);
    p->queued += sizeof(*c) + len;
    p->ended = kind != DATA;
    return true;
}

/* The close that follows sends a reset in place of an orderly end. */
static void arm_reset(int fd)
{
    struct linger now = {.l_onoff = 1, .l_linger = 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

static void link_abort(struct link *l)
{
    for (int s = 0; s < 2; s++) {
        l->pipe[s].ended = l->pipe[s].done = true;
        if (l->fd[s] >= 0)
            arm_reset(l->fd[s]);
    }
}

static void link_read(struct relay *r, struct link *l, int from)
{
    struct pipe *p = &l->pipe[from];
    bool room = true;
    while (!p->ended && p->queued < PIPE_MAX && room) {
        ssize_t n = recv(l->fd[from], r->buf, sizeof(r->buf), MSG_DONTWAIT);
        if (n > 0)
            room = pipe_put(r, p, DATA, r->buf, (size_t)n);
        else if (n == 0)
            room = pipe_put(r, p, END, NULL, 0);
        else if (errno == EAGAIN)
            return;
        else if (errno != EINTR)
            room = pipe_put(r, p, RESET, NULL, 0);
        if ((size_t)n < sizeof(r->buf))
            break; /* it was all there was, or the end */
    }
    if (!room)
        link_abort(l);
}

/* Passes on what is due. */
static void link_write(struct link *l, int from)
{
    struct pipe *p = &l->pipe[from];
    int to = l->fd[!from];
    while (!p->done && !p->blocked && !list_empty(&p->chunks)) {
        struct chunk *c = container_of(p->chunks.next, struct chunk, item);
        if (c->due > clock_now())
            return;
        if (c->kind == RESET) {
            link_abort(l);
            return;
        }
        if (c->kind == END) {
            shutdown(to, SHUT_WR);
            p->done = true;
        } else {
            ssize_t n = send(to, c->data + c->done, c->len - c->done, MSG_DONTWAIT | MSG_NOSIGNAL);
            if (n < 0 && errno == EAGAIN)
                p->blocked = true;
            else if (n < 0 &&
                     errno != EINTR) /* nobody is there; its last words come by the other pipe */
                p->ended = p->done = true;
            c->done += n > 0 ? (size_t)n : 0;
            if (c->done < c->len && !p->done)
                continue;
        }
        p->queued -= sizeof(*c) + c->len;
        list_del(&c->item);
        free(c);
    }
}

/* ---- links ---- */

/* Tries the addresses from l->address on until one connects or is under way. */
static void link_connect(struct link *l)
{
    const int on = 1;
    for (; l->address; l->address = l->address->ai_next) {
        if (l->fd[SERVER] >= 0)
            close(l->fd[SERVER]);
        l->fd[SERVER] =
            socket(l->address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (l->fd[SERVER] < 0)
            continue;
        setsockopt(l->fd[SERVER], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        if (connect(l->fd[SERVER], l->address->ai_addr, l->address->ai_addrlen) == 0 ||
            errno == EINPROGRESS) {
            l->connecting = true;
            return;
        }
    }
    link_abort(l); /* nobody answers: neither do we */
}

static void link_connected(struct link *l)
{
    int error = 0;
    socklen_t len = sizeof(error);
    getsockopt(l->fd[SERVER], SOL_SOCKET, SO_ERROR, &error, &len);
    l->connecting = false;
    if (error) {
        l->address = l->address->ai_next;
        link_connect(l);
    }
}

static void link_free(struct link *l)
{
    for (int s = 0; s < 2; s++) {
        pipe_clear(&l->pipe[s]);
        if (l->fd[s] >= 0)
            close(l->fd[s]);
    }
    list_del(&l->item);
    free(l);
}

static void accept_one(struct relay *r)
{
    const int on = 1;
    int fd = accept4(r->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    struct link *l = fd >= 0 ? calloc(1, sizeof(*l)) : NULL;
    if (!l) {
        if (fd >= 0 || (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR))
            r->accept_after = clock_now() + ACCEPT_PAUSE;
        if (fd >= 0)
            close(fd);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    l->fd[CLIENT] = fd;
    l->fd[SERVER] = -1;
    l->address = r->addresses;
    list_init(&l->pipe[0].chunks);
    list_init(&l->pipe[1].chunks);
    list_add_tail(&r->links, &l->item);
    r->count++;
    link_connect(l);
}

/* ---- the loop ---- */

/* What can be acted on at the socket `s` of a link. */
static short wanted(const struct link *l, int s)
{
    if (l->connecting && s == SERVER)
        return POLLOUT;
    const struct pipe *in = &l->pipe[s], *out = &l->pipe[!s];
    bool reads = !in->ended && in->queued < PIPE_MAX;
    return (short)((reads ? POLLIN : 0) | (out->blocked && !out->done ? POLLOUT : 0));
}

static uint64_t next_due(const struct link *l)
{
    uint64_t next = CLOCK_NEVER;
    for (int s = 0; s < 2; s++) {
        const struct pipe *p = &l->pipe[s];
        bool waits =
            (l->connecting && s == CLIENT) || p->blocked || p->done || list_empty(&p->chunks);
        uint64_t due = waits ? CLOCK_NEVER : container_of(p->chunks.next, struct chunk, item)->due;
        next = due < next ? due : next;
    }
    return next;
}

/* Fills the poll array; returns how many, 0 where there is no memory. */
static size_t watch(struct relay *r, uint64_t now, uint64_t *next)
{
    struct list *item;
    size_t n = 0, need = 2 + 2 * r->count;
    if (need > r->watch_cap) {
        struct pollfd *more = realloc(r->watches, 2 * need * sizeof(*more));
        if (!more)
            return 0;
        r->watches = more;
        r->watch_cap = 2 * need;
    }
    bool accepts = now >= r->accept_after;
    *next = accepts ? CLOCK_NEVER : r->accept_after;
    r->watches[n++] = (struct pollfd){.fd = r->stop, .events = POLLIN};
    r->watches[n++] = (struct pollfd){.fd = accepts ? r->listener : -1, .events = POLLIN};
    list_for_each(item, &r->links)
    {
        struct link *l = container_of(item, struct link, item);
        uint64_t due = next_due(l);
        *next = due < *next ? due : *next;
        for (int s = 0; s < 2; s++) {
            short events = wanted(l, s);
            l->watch[s] = &r->watches[n];
            r->watches[n++] = (struct pollfd){.fd = events ? l->fd[s] : -1, .events = events};
        }
    }
    return n;
}

static void link_step(struct relay *r, struct link *l)
{
    for (int s = 0; s < 2; s++) {
        short got = l->watch[s]->revents;
        if (got && l->connecting && s == SERVER) {
            link_connected(l);
        } else if (got) {
            l->pipe[!s].blocked = false;
            if (!l->pipe[s].ended && (got & ~POLLOUT))
                link_read(r, l, s);
        }
    }
    if (!l->connecting)
        link_write(l, CLIENT);
    link_write(l, SERVER);
}

static void reap(struct relay *r)
{
    struct list *item, *after;
    list_for_each_safe(item, after, &r->links)
    {
        struct link *l = container_of(item, struct link, item);
        if (l->pipe[0].done && l->pipe[1].done) {
            link_free(l);
            r->count--;
        }
    }
}

static void *run(void *arg)
{
    struct relay *r = arg;
    prctl(PR_SET_TIMERSLACK, 1);
    prctl(PR_SET_NAME, "larder-relay");
    for (;;) {
        uint64_t now = clock_now(), next;
        size_t n = watch(r, now, &next);
        if (!n)
            return NULL;
        uint64_t wait = next == CLOCK_NEVER || next < now ? 0 : next - now;
        struct timespec t = clock_timespec(wait);
        if (ppoll(r->watches, n, next == CLOCK_NEVER ? NULL : &t, NULL) < 0 && errno != EINTR)
            return NULL;
        if (r->watches[0].revents)
            return NULL;
        bool knock = r->watches[1].revents;
        struct list *item;
        list_for_each(item, &r->links) link_step(r, container_of(item, struct link, item));
        if (knock)
            accept_one(r);
        reap(r);
    }
}

/* ---- life ---- */

static int resolve(struct relay *r, const char *host, uint16_t port, struct error *err)
{
    char service[8];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    snprintf(service, sizeof(service), "%u", port);
    int code = getaddrinfo(host, service, &hints, &r->addresses);
    if (code)
        return error_set(err, -EHOSTUNREACH, 0, "relay to %s port %u: %s", host, port,
                         gai_strerror(code));
    return 0;
}

static int listen_on_loopback(struct relay *r)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(a);
    r->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    r->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (r->stop < 0 || r->listener < 0 || bind(r->listener, (struct sockaddr *)&a, sizeof(a)) < 0 ||
        listen(r->listener, SOMAXCONN) < 0 ||
        getsockname(r->listener, (struct sockaddr *)&a, &len) < 0)
        return -errno;
    r->port = ntohs(a.sin_port);
    return 0;
}

static struct relay *destroy(struct relay *r)
{
    struct list *item, *after;
    list_for_each_safe(item, after, &r->links)
    {
        struct link *l = container_of(item, struct link, item);
        link_abort(l);
        link_free(l);
    }
    if (r->listener >= 0)
        close(r->listener);
    if (r->stop >= 0)
        close(r->stop);
    if (r->addresses)
        freeaddrinfo(r->addresses);
    free(r->watches);
    free(r);
    return NULL;
}

int relay_new(const char *host, uint16_t port, double rtt_ms, struct relay **ret, struct error *err)
{
    if (!(rtt_ms >= 0 && rtt_ms <= RELAY_RTT_MAX_MS))
        return error_set(err, -EINVAL, 0, "a round-trip time of %g ms: must be 0 to %g", rtt_ms,
                         RELAY_RTT_MAX_MS);
    struct relay *r = calloc(1, sizeof(*r));
    if (!r)
        return error_set(err, -ENOMEM, 0, "relay: out of memory");
    r->listener = r->stop = -1;
    r->delay_ns = (uint64_t)ceil(rtt_ms * (double)NS_PER_MS / 2);
    list_init(&r->links);
    int code = resolve(r, host, port, err);
    if (code == 0 && (code = listen_on_loopback(r)) < 0)
        error_set(err, code, 0, "relay: cannot listen on 127.0.0.1: %s", strerror(-code));
    if (code == 0 && (code = -pthread_create(&r->thread, NULL, run, r)) < 0)
        error_set(err, code, 0, "relay: no thread: %s", strerror(-code));
    if (code < 0) {
        destroy(r);
        return code;
    }
    *ret = r;
    return 0;
}

uint16_t relay_port(const struct relay *r)
{
    return r->port;
}

struct relay *relay_free(struct relay *r)
{
    if (!r)
        return NULL;
    eventfd_write(r->stop, 1);
    pthread_join(r->thread, NULL);
    return destroy(r);
}
