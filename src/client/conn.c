/*
 * The connection object: how it begins, sends, is given up and ends; and what is sent without
 * anybody who waits for it.
 *
 * A connection dies once. Whoever finds out (the receive thread, or a sender whose frame did not go
 * out whole) sets `dead` with the reason and shuts the socket down; everybody who waits wakes and
 * takes the reason home, the receive thread leaves its loop and reports the loss. Memory stays
 * until conn_free, so nobody else has to care.
 *
 * A CLOSE that nobody waits for is queued, as is the acknowledgement of a break (break.c), and sent
 * as soon as there is a credit and the send lock is free. No thread is needed for that: who queues
 * tries, who has sent a frame tries, and the receive thread tries when credits have come.
 */
#include "client/kept.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/seal.h"

/* ---- beginning and end ---- */

static void init_locks(struct conn *c)
{
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&c->credit_cond, &attr);
    for (unsigned i = 0; i < WAKES; i++)
        pthread_cond_init(&c->wakes[i], &attr);
    atomic_init(&c->next_wake, 0);
    pthread_cond_init(&c->changed, &attr);
    pthread_cond_init(&c->renewal.changed, &attr);
    pthread_condattr_destroy(&attr);
    pthread_cond_init(&c->told, NULL);
    pthread_mutex_init(&c->lock, NULL);
    pthread_mutex_init(&c->send_lock, NULL);
}

/* Signals are for the program's own threads: none is handled on the receive thread. */
static int start_receiver(struct conn *c)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int r = pthread_create(&c->receiver, NULL, conn_receive, c);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    c->receiver_started = r == 0;
    return -r;
}

/* As a connection begins, and begins again: nothing is agreed, and one credit is there for the
 * NEGOTIATE (3.2.4.1.6). Caller holds both locks, or nobody knows the connection. */
static void begin(struct conn *c, int fd)
{
    c->fd = fd;
    c->reader = (struct socket_reader){.fd = fd};
    c->last_heard = clock_now();
    c->probe_since = 0;
    c->credits = 1;
    c->in_flight = 0;
    c->next_message_id = 0;
    c->session_id = 0;
    c->tree_id = 0;
    c->signer = secure_signer_free(c->signer);
    c->signing = false;
    c->seal = seal_free(c->seal);
    c->sealing = false;
    c->dead = false;
}

static int connect_and_receive(struct conn *c, const struct client_options *options,
                               uint64_t deadline, const atomic_bool *stop, struct error *err)
{
    char address[SOCKET_ADDRESS_MAX];
    int fd,
        r = socket_connect(options->address ? options->address : options->host,
                           options->port ? options->port : 445, deadline, stop, &fd, address, err);
    if (r < 0)
        return r;
    pthread_mutex_lock(&c->send_lock);
    pthread_mutex_lock(&c->lock);
    begin(c, fd);
    memcpy(c->address, address, sizeof(address));
    pthread_mutex_unlock(&c->lock);
    pthread_mutex_unlock(&c->send_lock);
    r = start_receiver(c);
    if (r < 0)
        error_set(err, r, 0, "cannot start a thread: %s", strerror(-r));
    return r;
}

static void init(struct conn *c, const struct client_options *options)
{
    c->fd = -1;
    c->observe = options->observe;
    c->events = options->events;
    c->request_timeout =
        options->request_timeout_ns ? options->request_timeout_ns : 30 * NS_PER_SEC;
    c->echo_interval = options->echo_interval_ns ? options->echo_interval_ns : 60 * NS_PER_SEC;
    c->revives = options->reconnect != CLIENT_NEVER;
    c->hard = options->reconnect == CLIENT_HARD;
    c->silence = c->revives ? c->request_timeout / 3 : 0;
    c->leave_by = CLOCK_NEVER;
    c->up = true;
    c->deadline_cap =
        clock_now() + (options->connect_timeout_ns ? options->connect_timeout_ns : 10 * NS_PER_SEC);
    c->max_read = c->max_write = c->max_transact = CREDIT_PAYLOAD;
    c->copy_limits = (struct copy_limits){COPY_CHUNKS, COPY_CHUNK_BYTES, COPY_TOTAL_BYTES};
    atomic_init(&c->frame_max, FRAME_MAX_MIN);
    hash_init(&c->pending);
    list_init(&c->credit_waiters);
    list_init(&c->closes);
    list_init(&c->kept);
    list_init(&c->orphans);
    hash_init(&c->leases);
    list_init(&c->acks);
    frame_pool_init(&c->frames);
    init_locks(c);
}

int conn_new(const struct client_options *options, struct conn **ret, struct error *err)
{
    struct conn *c = calloc(1, sizeof(*c));
    if (!c)
        return error_set(err, -ENOMEM, 0, "cannot connect: out of memory");
    init(c, options);
    int r = connect_and_receive(c, options, c->deadline_cap, NULL, err);
    if (r < 0)
        conn_free(c);
    else
        *ret = c;
    return r;
}

int conn_dial(struct conn *c, const struct client_options *options, const atomic_bool *stop,
              struct error *err)
{
    return connect_and_receive(c, options, c->revive_deadline, stop, err);
}

static void free_list(struct conn *c, struct list *handles)
{
    struct list *item, *after;
    list_for_each_safe(item, after, handles)
    {
        list_del(item);
        handle_free(c, container_of(item, struct handle, link));
    }
}

/* With the lock, not while it frees: what was abandoned, and what was to be closed. */
static void free_left(struct conn *c)
{
    struct list closes;
    list_init(&closes);
    while (!list_empty(&c->closes)) {
        struct list *item = c->closes.next;
        list_del(item);
        if (!kept_hand_over(c, container_of(item, struct handle, link)))
            list_add_tail(&closes, item);
    }
    while (!list_empty(&c->orphans)) {
        struct compound *m = container_of(c->orphans.next, struct compound, link);
        list_del(&m->link);
        pthread_mutex_unlock(&c->lock);
        compound_orphaned(m);
        pthread_mutex_lock(&c->lock);
    }
    pthread_mutex_unlock(&c->lock);
    free_list(c, &closes);
    pthread_mutex_lock(&c->lock);
}

void conn_bury(struct conn *c)
{
    if (c->receiver_started)
        pthread_join(c->receiver, NULL);
    c->receiver_started = false;
    pthread_mutex_lock(&c->lock);
    while (c->senders)
        pthread_cond_wait(&c->changed, &c->lock);
    free_left(c);
    int fd = c->fd;
    c->fd = -1;
    pthread_mutex_unlock(&c->lock);
    if (fd >= 0)
        close(fd);
}

struct conn *conn_free(struct conn *c)
{
    struct error end;

    if (!c)
        return NULL;
    pthread_mutex_lock(&c->lock);
    c->closing = true;
    pthread_mutex_unlock(&c->lock);
    error_set(&end, -ENOTCONN, 0, "the connection was closed");
    conn_fail(c, &end);
    conn_bury(c);
    free_list(c, &c->kept);
    hash_done(&c->pending);
    hash_done(&c->leases);
    frame_pool_done(&c->frames);
    secure_signer_free(c->signer);
    seal_free(c->seal);
    pthread_cond_destroy(&c->credit_cond);
    for (unsigned i = 0; i < WAKES; i++)
        pthread_cond_destroy(&c->wakes[i]);
    pthread_cond_destroy(&c->changed);
    pthread_cond_destroy(&c->renewal.changed);
    pthread_cond_destroy(&c->told);
    pthread_mutex_destroy(&c->lock);
    pthread_mutex_destroy(&c->send_lock);
    free(c);
    return NULL;
}

/* Who sent such a thing may send it again: what it answered is not asked anew. */
static bool is_garbage(const struct error *why)
{
    return why->code == -EBADMSG || why->code == -EMSGSIZE;
}

uint64_t conn_server_time(struct conn *c, uint64_t at)
{
    return (uint64_t)(atomic_load(&c->server_clock) + (int64_t)(at / 100));
}

static uint32_t lost_credits(const struct conn *c)
{
    uint32_t all = c->credits + c->in_flight;
    return all < CREDIT_WANTED ? all : CREDIT_WANTED;
}

void conn_fail(struct conn *c, const struct error *why)
{
    struct hash_node *n;
    pthread_mutex_lock(&c->lock);
    if (!c->dead) {
        c->dead = true;
        c->was_up = c->up;
        c->up = false;
        if (c->was_up)
            c->credits_lost = lost_credits(c);
        c->why = *why;
        while ((n = hash_each(&c->pending, NULL)))
            compound_lose(container_of(n, struct request, node)->compound, is_garbage(why));
        lease_lose_all(c);
        kept_lost(c);
        c->epoch++;
        pthread_cond_broadcast(&c->credit_cond);
        pthread_cond_broadcast(&c->changed);
        c->renewal.expired = false; /* the next session is another one */
        pthread_cond_broadcast(&c->renewal.changed);
        if (c->fd >= 0)
            shutdown(c->fd, SHUT_RDWR); /* wakes the receive thread; does not block */
    }
    pthread_mutex_unlock(&c->lock);
}

void conn_set_session(struct conn *c, uint64_t session_id, struct secure_signer *signer,
                      bool signing)
{
    pthread_mutex_lock(&c->lock);
    c->session_id = session_id;
    c->signer = signer;
    c->signing = signing;
    pthread_mutex_unlock(&c->lock);
}

int conn_establish(struct conn *c, struct error *err)
{
    pthread_mutex_lock(&c->lock);
    bool dead = c->dead;
    c->established = !dead;
    pthread_mutex_unlock(&c->lock);
    c->deadline_cap = CLOCK_NEVER;
    return dead ? error_set(err, c->why.code, c->why.status, "%s", c->why.text) : 0;
}

int conn_send_frame(struct conn *c, struct rd frame, struct rd tail, uint64_t deadline)
{
    struct iovec parts[] = {{(void *)frame.base, frame.len}, {(void *)tail.base, tail.len}};
    int r = socket_send(c->fd, parts, tail.len ? 2 : 1, deadline);
    if (r < 0) {
        struct error why;
        error_set(&why, r, 0, "cannot send to the server: %s",
                  r == -ETIMEDOUT ? "it takes nothing" : strerror(-r));
        conn_fail(c, &why);
        return r;
    }
    observe_frame(c->observe, true);
    return 0;
}

/* ---- what nobody waits for ---- */

void conn_close_later(struct conn *c, struct handle *h)
{
    if (!h || !handle_leave(c, h))
        return;
    lease_release(c, h);
    pthread_mutex_lock(&c->lock);
    bool here = h->epoch == c->epoch && !c->dead; /* else it is closed already, or held */
    list_del(&h->link);
    if (here)
        list_add_tail(&c->closes, &h->link);
    bool held = !here && kept_hand_over(c, h);
    pthread_mutex_unlock(&c->lock);
    if (!here && !held)
        handle_free(c, h);
    conn_flush(c);
}

/* Caller holds conn->lock. A CLOSE overtakes nobody who waits for credits. */
static bool close_can_go(const struct conn *c)
{
    return !list_empty(&c->closes) && c->up && !c->renewal.expired && credit_spare(c) &&
           list_empty(&c->credit_waiters);
}

/* Caller holds send_lock. Takes the first one in the queue if it can go out now. */
static struct handle *next_close(struct conn *c)
{
    struct handle *h = NULL;
    pthread_mutex_lock(&c->lock);
    if (close_can_go(c)) {
        h = container_of(c->closes.next, struct handle, link);
        list_del(&h->link);
    }
    pthread_mutex_unlock(&c->lock);
    return h;
}

/* Caller holds send_lock. The same results as lease_send_ack's. */
static int send_close(struct conn *c)
{
    struct handle *h = next_close(c);
    if (!h)
        return -ENOENT;
    int r = -ENOMEM;
    struct compound *m = compound_new(c, 0);
    if (m) {
        const struct wire_close_request close_it = {0};
        wire_close_request_encode(compound_add(m, SMB2_CLOSE, 0), &close_it);
        compound_by(m, h);
        m->closes = h;
        r = compound_submit_locked(m, NULL);
        m->closes = NULL;
        m->ends = r == 0 || r == LOST_OPEN ? h : NULL;
        compound_free(m);
    }
    if (r == 0 || r == LOST_OPEN)
        return 0;
    pthread_mutex_lock(&c->lock);
    list_add_tail(&c->closes, &h->link);
    pthread_mutex_unlock(&c->lock);
    return r;
}

static bool something_can_go(struct conn *c)
{
    pthread_mutex_lock(&c->lock);
    bool yes =
        close_can_go(c) || (!list_empty(&c->acks) && c->up && !c->renewal.expired && c->credits);
    pthread_mutex_unlock(&c->lock);
    return yes;
}

void conn_flush(struct conn *c)
{
    /* looked at again after the lock was let go: who failed to get it meanwhile relies on us */
    while (something_can_go(c)) {
        if (pthread_mutex_trylock(&c->send_lock))
            return;
        int r;
        do {
            r = lease_send_ack(c);
            if (r == -ENOENT)
                r = send_close(c);
        } while (r == 0);
        pthread_mutex_unlock(&c->send_lock);
        if (r != -ENOENT)
            return;
    }
}
