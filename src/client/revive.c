/*
 * A lost connection is made again. (3.2.7.1, 3.2.4.4)
 *
 * One thread a client waits for the loss. The receive thread has told of it and has ended by then;
 * what was under way has been told that it is lost, and waits (again.c) or has failed. The thread
 * dials at once, then with pauses that grow up to ten seconds (up to one where connections come
 * about and are soon lost), each cut by chance, so that the many clients of a server that comes
 * back do not come back together. A server that refuses the logon is asked once a minute: a
 * password that was changed must not lock its owner out.
 *
 * What is dialled is the old connection object with nothing agreed yet. The steps are those of
 * client_connect; the session before is named, so that the server ends it if it has not noticed.
 * Opens are opened again (kept.c), and only then is the connection up: everybody may send; those
 * that were to be closed when it was lost are closed after that. What was learnt of the server
 * stays learnt, and what was agreed must be agreed again: threads read it without a lock, and
 * requests were made to its measure.
 */
#include "client/revive.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "client/kept.h"

#define PAUSE_FIRST   (100 * NS_PER_MS)
#define PAUSE_MAX     (10 * NS_PER_SEC)
#define PAUSE_REFUSED (60 * NS_PER_SEC)
#define SHORT_LIFE    NS_PER_SEC /* a connection that lived no longer was hardly one, */
#define PAUSE_SHORT   NS_PER_SEC /* and the next one waits; not long: the server does answer */
#define ECHOES        8          /* to get as many credits as there were */

/* ---- one attempt ---- */

/* Requests that wait to be sent again may need many at a time, and are refused for want of them. */
static int gather_credits(struct client *c)
{
    int r = 0;
    for (unsigned i = 0; i < ECHOES && r == 0 && credit_total(c->conn) < c->conn->credits_lost; i++)
        r = client_echo(c, NULL);
    return r;
}

/* What is learnt on the way goes into a client of its own, since others read the facts of `c`. */
static int log_on(struct client *c, struct client_facts *ret, struct error *err)
{
    struct secure_preauth preauth = {0};
    struct client again = {
        .conn = c->conn,
        .host = c->host,
        .share = c->share,
        .source = c->source,
        .map_names = c->map_names,
        .agreed = c->agreed,
        .facts = c->facts,
        .revival = {.session_id = c->facts.session_id},
    };
    memcpy(again.guid, c->guid, sizeof(again.guid));
    int r = negotiate(&again, &c->options, &preauth, err);
    if (r == 0)
        r = session_setup(&again, &c->options, &preauth, err);
    if (r == 0)
        r = tree_connect(&again, err);
    *ret = again.facts;
    return r;
}

static bool is_stopped(struct conn *c)
{
    pthread_mutex_lock(&c->lock);
    bool stopped = c->closing;
    pthread_mutex_unlock(&c->lock);
    return stopped;
}

static uint64_t attempt_time(const struct client *c)
{
    return c->options.connect_timeout_ns ? c->options.connect_timeout_ns : 10 * NS_PER_SEC;
}

static int attempt(struct client *c, struct error *err)
{
    struct conn *conn = c->conn;
    struct client_facts facts;
    uint64_t timeout = attempt_time(c);
    conn->revive_deadline = clock_now() + timeout;
    int r = conn_dial(conn, &c->options, &c->revival.stop, err);
    if (r == 0 && is_stopped(conn))
        r = -ECANCELED;
    if (r == 0)
        r = log_on(c, &facts, err);
    if (r == 0) {
        pthread_mutex_lock(&conn->lock);
        c->facts.session_id = facts.session_id;
        memcpy(c->facts.address, conn->address, sizeof(c->facts.address));
        pthread_mutex_unlock(&conn->lock);
    }
    conn->revive_deadline = clock_now() + timeout;
    if (r == 0)
        r = gather_credits(c);
    if (r == 0)
        r = kept_revive_all(conn, err);
    return r;
}

/* Everybody may send. False: it is lost already. */
static bool rise(struct conn *c)
{
    pthread_mutex_lock(&c->lock);
    c->up = !c->dead;
    bool up = c->up;
    pthread_cond_broadcast(&c->changed);
    pthread_mutex_unlock(&c->lock);
    if (up)
        conn_flush(c);
    return up;
}

static void give_up(struct conn *c, const struct error *why)
{
    conn_fail(c, why); /* where it stood */
    pthread_mutex_lock(&c->lock);
    c->why = *why;
    pthread_mutex_unlock(&c->lock);
    conn_bury(c);
}

/* ---- pauses ---- */

/* From half of it to all of it. */
static uint64_t jitter(uint64_t pause)
{
    uint32_t chance = 0;
    (void)!getrandom(&chance, sizeof(chance), 0);
    return pause / 2 + (uint64_t)((double)chance / UINT32_MAX * (double)(pause - pause / 2));
}

static uint64_t longer(uint64_t pause, const struct error *why)
{
    if (why->status == STATUS_LOGON_FAILURE || why->status == STATUS_ACCESS_DENIED)
        return PAUSE_REFUSED;
    pause = pause ? 2 * pause : PAUSE_FIRST;
    return pause < PAUSE_MAX ? pause : PAUSE_MAX;
}

static uint64_t after_a_life(uint64_t pause, uint64_t lived)
{
    if (lived >= SHORT_LIFE)
        return 0;
    pause = longer(pause, &(struct error){0});
    return pause < PAUSE_SHORT ? pause : PAUSE_SHORT;
}

/* False: the client ends. */
static bool rest(struct conn *c, uint64_t pause)
{
    uint64_t until = clock_now() + jitter(pause);
    const struct timespec at = clock_timespec(until);
    pthread_mutex_lock(&c->lock);
    while (!c->closing && clock_now() < until)
        pthread_cond_timedwait(&c->changed, &c->lock, &at);
    bool goes_on = !c->closing;
    pthread_mutex_unlock(&c->lock);
    return goes_on;
}

/* ---- the thread ---- */

/* Waits for the loss. False: the client ends. */
static bool wait_for_loss(struct client *c)
{
    struct conn *conn = c->conn;
    pthread_mutex_lock(&conn->lock);
    while (!conn->dead && !conn->closing) {
        if (!conn->stale) {
            pthread_cond_wait(&conn->changed, &conn->lock);
            continue;
        }
        pthread_mutex_unlock(&conn->lock);
        conn->revive_deadline = clock_now() + attempt_time(c);
        kept_close_stale(conn);
        pthread_mutex_lock(&conn->lock);
    }
    bool goes_on = !conn->closing;
    pthread_mutex_unlock(&conn->lock);
    return goes_on;
}

/* Until it is up. False: the client ends. */
static bool revive(struct client *c, uint64_t *pause)
{
    struct conn *conn = c->conn;
    for (;;) {
        struct error why = {0};
        if (!rest(conn, *pause))
            return false;
        if (attempt(c, &why) == 0 && rise(conn))
            return true;
        *pause = longer(*pause, &why);
        give_up(conn, &why);
    }
}

static void tell_loss(struct conn *c)
{
    pthread_mutex_lock(&c->lock);
    struct error why = c->why;
    pthread_mutex_unlock(&c->lock);
    observe_lost(c->observe, c->address, why.status, why.text);
}

static void *run(void *client)
{
    struct client *c = client;
    struct conn *conn = c->conn;
    uint64_t pause = 0, since = clock_now();
    while (wait_for_loss(c)) {
        uint64_t lost_at = clock_now();
        tell_loss(conn);
        conn_bury(conn);
        pause = after_a_life(pause, clock_now() - since);
        if (!revive(c, &pause))
            break;
        since = clock_now();
        observe_reconnected(conn->observe, conn->address, since - lost_at);
        if (conn->events.session_back)
            conn->events.session_back(conn->events.user);
    }
    return NULL;
}

int revive_start(struct client *c, struct error *err)
{
    struct conn *conn = c->conn;
    sigset_t all, before;
    if (!conn->revives)
        return 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_mutex_lock(&conn->lock);
    int r = -pthread_create(&conn->reviver, NULL, run, c);
    conn->reviver_started = r == 0;
    pthread_mutex_unlock(&conn->lock);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return r < 0 ? error_set(err, r, 0, "cannot start a thread: %s", strerror(-r)) : 0;
}

void revive_stop(struct client *c)
{
    struct conn *conn = c->conn;
    const struct error ends = {.code = -ECANCELED, .text = "the client ends"};
    atomic_store(&c->revival.stop, true);
    pthread_mutex_lock(&conn->lock);
    conn->closing = true;
    bool up = conn->up;
    pthread_cond_broadcast(&conn->changed);
    pthread_mutex_unlock(&conn->lock);
    if (!conn->reviver_started)
        return;
    if (!up)
        conn_fail(conn, &ends); /* what the thread waits for */
    pthread_join(conn->reviver, NULL);
    conn->reviver_started = false;
}
