/*
 * The side of the control socket that answers, and the mount's one housekeeping thread: it also has
 * the timer, does for mount_stop what a signal handler may not do itself, and watches over callers
 * that were interrupted.
 *
 * One poll loop over everything, no call in it waits. A client has CLIENT_S seconds from connecting
 * to having read its reply, and there are at most CLIENTS_MAX at a time; later ones wait in the
 * listen queue. So a client that is slow or says nothing holds up nobody but its likes, and the
 * mount not at all.
 */
#include "mount/control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "mount/sockdir.h"

#define CLIENTS_MAX 8
#define CLIENT_S    5
#define STOP_MS     10  /* between two calls of `stop` */
#define WATCH_MS    100 /* and of `watch` */

struct client {
    int fd; /* -1: free */
    uint64_t deadline;
    char request[CONTROL_LINE_MAX];
    size_t request_len;
    char *reply; /* NULL until the request is complete */
    size_t reply_len, sent;
};

struct control {
    struct control_calls calls;
    pthread_t thread;
    int wake;                           /* eventfd */
    atomic_bool stop, watch, tick, end; /* what the wake is for */

    int dir, listener; /* -1 where there is no socket */
    char name[32];
    ino_t ino;                          /* of the socket's file, to remove no other's */
    struct client clients[CLIENTS_MAX]; /* of the thread */
};

/* ---- clients ---- */

static void client_drop(struct client *c)
{
    close(c->fd);
    free(c->reply);
    *c = (struct client){.fd = -1};
}

static bool peer_allowed(int fd)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
           (peer.uid == geteuid() || peer.uid == 0);
}

static void client_accept(struct control *c)
{
    int fd = accept4(c->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    for (size_t i = 0; i < CLIENTS_MAX && peer_allowed(fd); i++) {
        if (c->clients[i].fd < 0) {
            c->clients[i].fd = fd;
            c->clients[i].deadline = clock_now() + CLIENT_S * NS_PER_SEC;
            return;
        }
    }
    close(fd);
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Decodes %XX in place; false: that is no argument. */
static bool decode(char *s)
{
    char *out = s;
    for (; *s; s++) {
        if (*s != '%') {
            *out++ = *s;
            continue;
        }
        int high = hex_digit(s[1]), low = high < 0 ? -1 : hex_digit(s[2]);
        if (low < 0 || (high == 0 && low == 0))
            return false;
        *out++ = (char)(high << 4 | low);
        s += 2;
    }
    *out = '\0';
    return true;
}

static json_t *answer_line(struct control *c, char *line)
{
    char *argument = strchr(line, ' ');
    if (argument)
        *argument++ = '\0';
    else
        argument = line + strlen(line);
    if (!decode(argument))
        return json_pack("{s:s}", "error", "malformed argument");
    json_t *reply = c->calls.answer(c->calls.user, line, argument);
    return reply ? reply : json_pack("{s:s}", "error", "unknown request");
}

static bool client_answer(struct control *c, struct client *client)
{
    json_t *reply = answer_line(c, client->request);
    client->reply = reply ? json_dumps(reply, JSON_COMPACT) : NULL;
    json_decref(reply);
    if (!client->reply)
        return false;
    client->reply_len = strlen(client->reply);
    return true;
}

/* False: done with this client. */
static bool client_read(struct control *c, struct client *client)
{
    size_t room = sizeof(client->request) - client->request_len;
    ssize_t n = recv(client->fd, client->request + client->request_len, room, 0);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    if (n == 0)
        return false;
    client->request_len += (size_t)n;
    char *end = memchr(client->request, '\n', client->request_len);
    if (!end)
        return client->request_len < sizeof(client->request);
    *end = '\0';
    return client_answer(c, client);
}

static bool client_write(struct client *client)
{
    ssize_t n = send(client->fd, client->reply + client->sent, client->reply_len - client->sent,
                     MSG_NOSIGNAL);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    client->sent += (size_t)n;
    return client->sent < client->reply_len;
}

/* ---- the loop ---- */

enum { POLL_WAKE, POLL_LISTENER, POLL_CLIENTS, POLL_COUNT = POLL_CLIENTS + CLIENTS_MAX };

/* Fills the poll set and says how long to wait for it, in ms. */
static int prepare(struct control *c, struct pollfd polls[static POLL_COUNT], uint64_t next_tick)
{
    uint64_t wake_at = next_tick;
    bool room = false;
    for (size_t i = 0; i < CLIENTS_MAX; i++) {
        struct client *client = &c->clients[i];
        polls[POLL_CLIENTS + i] =
            (struct pollfd){.fd = client->fd, .events = client->reply ? POLLOUT : POLLIN};
        if (client->fd < 0)
            room = true;
        else if (client->deadline < wake_at)
            wake_at = client->deadline;
    }
    polls[POLL_WAKE] = (struct pollfd){.fd = c->wake, .events = POLLIN};
    polls[POLL_LISTENER] = (struct pollfd){.fd = room ? c->listener : -1, .events = POLLIN};

    uint64_t now = clock_now();
    return wake_at > now ? (int)((wake_at - now) / NS_PER_MS + 1) : 0;
}

static void serve_clients(struct control *c, const struct pollfd polls[static POLL_COUNT])
{
    uint64_t now = clock_now();
    for (size_t i = 0; i < CLIENTS_MAX; i++) {
        struct client *client = &c->clients[i];
        if (client->fd < 0)
            continue;
        bool more = true;
        if (polls[POLL_CLIENTS + i].revents)
            more = client->reply ? client_write(client) : client_read(c, client);
        if (!more || now >= client->deadline)
            client_drop(client);
    }
}

static void *run(void *user)
{
    struct control *c = user;
    uint64_t next_tick = clock_now() + CONTROL_TICK_S * NS_PER_SEC;
    while (!atomic_load(&c->end)) {
        struct pollfd polls[POLL_COUNT];
        int wait_ms = prepare(c, polls, next_tick);
        if (atomic_load(&c->watch) && wait_ms > WATCH_MS)
            wait_ms = WATCH_MS;
        if (atomic_load(&c->stop) && wait_ms > STOP_MS)
            wait_ms = STOP_MS;
        if (poll(polls, POLL_COUNT, wait_ms) < 0)
            continue; /* EINTR */
        if (polls[POLL_WAKE].revents) {
            eventfd_t count;
            eventfd_read(c->wake, &count);
        }
        if (atomic_load(&c->stop) && !c->calls.stop(c->calls.user))
            atomic_store(&c->stop, false);
        if (atomic_exchange(&c->watch, false) && c->calls.watch(c->calls.user))
            atomic_store(&c->watch, true);
        serve_clients(c, polls);
        if (polls[POLL_LISTENER].revents)
            client_accept(c);
        if (atomic_exchange(&c->tick, false) || clock_now() >= next_tick) {
            c->calls.tick(c->calls.user);
            next_tick = clock_now() + CONTROL_TICK_S * NS_PER_SEC;
        }
    }
    return NULL;
}

/* ---- beginning and end ---- */

static int listen_in(struct control *c, struct error *err)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return error_set(err, -errno, 0, "control socket: %s", strerror(errno));
    struct sockaddr_un address;
    sockdir_address(c->dir, c->name, &address);
    struct stat st;
    /* One that is there is of an earlier mount, whose larder may still be ending: the kernel gives
     * its device number to the next as soon as it is unmounted. */
    unlinkat(c->dir, c->name, 0);
    bool bound = bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
    if (!bound || fchmodat(c->dir, c->name, 0600, 0) < 0 || listen(fd, CLIENTS_MAX) < 0 ||
        fstatat(c->dir, c->name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        int rc = error_set(err, -errno, 0, "control socket %s: %s", c->name, strerror(errno));
        if (bound)
            unlinkat(c->dir, c->name, 0);
        close(fd);
        return rc;
    }
    c->ino = st.st_ino;
    c->listener = fd;
    return 0;
}

static void open_socket(struct control *c, struct error *ret_warning)
{
    c->dir = sockdir_own(ret_warning);
    if (c->dir < 0)
        return;
    sockdir_lock(c->dir);
    sockdir_sweep(c->dir);
    listen_in(c, ret_warning);
    sockdir_unlock(c->dir);
}

static void close_socket(struct control *c)
{
    struct stat st;
    if (c->listener >= 0) {
        /* The device number may be another mount's by now, and the name with it. */
        sockdir_lock(c->dir);
        if (fstatat(c->dir, c->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_ino == c->ino)
            unlinkat(c->dir, c->name, 0);
        close(c->listener);
    }
    if (c->dir >= 0)
        close(c->dir);
}

int control_start(const unsigned device[2], const struct control_calls *calls, struct control **ret,
                  struct error *ret_warning, struct error *err)
{
    struct control *c = calloc(1, sizeof(*c));
    if (!c)
        return error_set(err, -ENOMEM, 0, "control socket: out of memory");
    *c = (struct control){.calls = *calls, .dir = -1, .listener = -1};
    for (size_t i = 0; i < CLIENTS_MAX; i++)
        c->clients[i].fd = -1;
    sockdir_name(device, c->name);
    *ret_warning = (struct error){0};

    int rc;
    c->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (c->wake < 0) {
        rc = -errno;
        goto fail;
    }
    open_socket(c, ret_warning);

    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = -pthread_create(&c->thread, NULL, run, c);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc == 0) {
        *ret = c;
        return 0;
    }
    close_socket(c);
    close(c->wake);
fail:
    free(c);
    return error_set(err, rc, 0, "control thread: %s", strerror(-rc));
}

static void wake(struct control *c, atomic_bool *what)
{
    atomic_store(what, true);
    uint64_t one = 1;
    if (write(c->wake, &one, sizeof(one)) < 0)
        return; /* full: it is awake already */
}

void control_wake_stop(struct control *c)
{
    int saved = errno;
    wake(c, &c->stop);
    errno = saved;
}

void control_wake_watch(struct control *c)
{
    wake(c, &c->watch);
}

void control_wake_tick(struct control *c)
{
    wake(c, &c->tick);
}

struct control *control_free(struct control *c)
{
    if (!c)
        return NULL;
    wake(c, &c->end);
    pthread_join(c->thread, NULL);
    close_socket(c);
    for (size_t i = 0; i < CLIENTS_MAX; i++)
        if (c->clients[i].fd >= 0)
            client_drop(&c->clients[i]);
    close(c->wake);
    free(c);
    return NULL;
}
