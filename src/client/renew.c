/*
 * A session that has expired is logged on again: 3.2.5.1.6, 3.2.4.2.3.1, 3.2.5.3.2.
 *
 * A server says so to any request, mostly since the ticket has ended by which the user was let in.
 * SESSION_SETUP with the session's id, signed or sealed by its keys, makes it valid again; keys,
 * opens, leases and locks are as they were. Whoever hears of it first does it, all others wait for
 * him; and no request leaves meanwhile but those that do not need a valid session. One thread a
 * client does it for what nobody waits for (acknowledgements, CLOSEs), and ahead of time where the
 * end of the ticket is known and the cache has a newer one.
 *
 * Where no ticket can be had, the session stays as it is: everybody gets an error that says what is
 * missing, and the next request that comes a moment later tries again. Where the server refuses,
 * the connection ends: the session is lost there too, and a password must not be tried again and
 * again.
 */
#include "client/renew.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "client/auth.h"

#define PAUSE_FIRST NS_PER_SEC
#define PAUSE_MAX   (60 * NS_PER_SEC)
#define AHEAD_MAX   (300 * NS_PER_SEC) /* before the end of a ticket; or a tenth of its time */

enum { LEGS_MAX = 8 };

/* ---- one logon ---- */

struct again {
    struct client *client;
    struct auth *auth;
    struct compound *last;
    struct error *err;
    bool refused;   /* by the server, or by what it said */
    unsigned epoch; /* of the connection on which it was begun */
};

static int failed(struct again *a, int code, const char *text)
{
    a->refused = true;
    return error_set(a->err, code, 0, "cannot log on to %.120s again as \"%.80s\": %s",
                     a->client->host, auth_user(a->auth), text);
}

static int send_token(struct again *a, struct rd token, struct wire_session_setup_response *ret)
{
    struct conn *c = a->client->conn;
    struct error why;
    const struct wire_session_setup_request request = {
        .security_mode =
            c->signing ? SMB2_NEGOTIATE_SIGNING_REQUIRED : SMB2_NEGOTIATE_SIGNING_ENABLED,
        .token = token,
    };
    compound_free(a->last);
    a->last = compound_new(c, token.len);
    if (!a->last)
        return error_set(a->err, -ENOMEM, 0, "out of memory");
    wire_session_setup_request_encode(compound_add(a->last, SMB2_SESSION_SETUP, 0), &request);
    a->last->signs = true;
    a->last->once = true; /* another connection has another session */
    int r = compound_run(a->last, &why);
    if (r < 0)
        return failed(a, why.code, why.text);
    uint32_t status = compound_status(a->last, 0);
    if (!status_is(status, STATUS_SUCCESS) && !status_is(status, STATUS_MORE_PROCESSING_REQUIRED)) {
        const char *hint = auth_hint(a->client->source, status);
        a->refused = true;
        r = error_status(
            a->err, status,
            "the session has expired, and %.120s does not let \"%.80s\" in again%s%s%s",
            a->client->host, auth_user(a->auth), hint ? " (" : "", hint ? hint : "",
            hint ? ")" : "");
        return r ? r : failed(a, -EBADMSG, "the server's status makes no sense");
    }
    if (wire_session_setup_response_decode(a->last->request[0].message, ret) < 0)
        return failed(a, -EBADMSG, "the server's answer to SESSION_SETUP is malformed");
    return 0;
}

static int finish(struct again *a, const struct wire_session_setup_response *response)
{
    struct rd ignored;
    if (response->session_flags & (SMB2_SESSION_FLAG_IS_GUEST | SMB2_SESSION_FLAG_IS_NULL))
        return failed(a, -EACCES, "the server now offers only a guest session");
    int r = auth_complete(a->auth) ? 0 : auth_step(a->auth, response->token, &ignored, a->err);
    if (r < 0)
        a->refused = true;
    else if (!auth_complete(a->auth))
        r = failed(a, -EACCES, "the server ended the exchange before it proved itself");
    return r;
}

static int exchange(struct again *a)
{
    struct wire_session_setup_response response = {0};
    struct rd token = rd_init(NULL, 0);
    for (unsigned leg = 0; leg < LEGS_MAX; leg++) {
        int r = auth_step(a->auth, token, &token, a->err);
        if (r < 0) {
            a->refused = leg > 0;
            return r;
        }
        if (token.len == 0)
            return failed(a, -EACCES, "the server asks for more than there is to say");
        r = send_token(a, token, &response);
        if (r < 0)
            return r;
        if (status_is(compound_status(a->last, 0), STATUS_SUCCESS))
            return finish(a, &response);
        token = response.token;
    }
    return failed(a, -EACCES, "the server never ends the exchange");
}

/* -EALREADY: there is no ticket that ends later than `newer_than`. */
static int log_on(struct client *c, int64_t newer_than, int64_t *ret_end, struct error *err)
{
    struct again a = {.client = c, .err = err};
    pthread_mutex_lock(&c->conn->lock);
    a.epoch = c->conn->epoch;
    pthread_mutex_unlock(&c->conn->lock);
    int r = auth_new(c->source, &a.auth, err);
    if (r < 0)
        return r;
    r = auth_end(a.auth) > newer_than ? exchange(&a) : -EALREADY;
    if (r == 0)
        *ret_end = auth_end(a.auth);
    compound_free(a.last);
    auth_free(a.auth);
    pthread_mutex_lock(&c->conn->lock);
    bool same = a.epoch == c->conn->epoch;
    pthread_mutex_unlock(&c->conn->lock);
    if (r < 0 && a.refused && same)
        conn_fail(c->conn, err);
    return r;
}

/* ---- when ---- */

static uint64_t left_until(int64_t end)
{
    int64_t now = time(NULL);
    return end <= now ? 0 : (uint64_t)(end - now) * NS_PER_SEC;
}

/* Caller holds conn->lock. */
static void plan(struct renewal *n, int64_t end)
{
    n->end = end;
    n->ahead_at = CLOCK_NEVER;
    if (end == INT64_MAX)
        return;
    uint64_t left = left_until(end), margin = left / 10 < AHEAD_MAX ? left / 10 : AHEAD_MAX;
    if (margin < NS_PER_SEC)
        margin = NS_PER_SEC;
    n->ahead_at = clock_now() + (left > margin ? left - margin : 0);
}

/* Caller holds conn->lock. The session is valid, as from now. */
static void stands(struct renewal *n, int64_t end)
{
    n->expired = false;
    n->why = (struct error){0};
    n->pause = 0;
    n->logon++;
    plan(n, end);
    pthread_cond_broadcast(&n->changed);
}

/* Caller holds conn->lock. What is there already costs nothing to look for again; who asks a KDC in
 * vain asks it less and less often. */
static void note_failure(struct renewal *n, const struct error *why)
{
    bool local = why->code == -ENOKEY || why->code == -EKEYEXPIRED;
    n->why = *why;
    n->pause = local || !n->pause ? PAUSE_FIRST : 2 * n->pause;
    if (n->pause > PAUSE_MAX)
        n->pause = PAUSE_MAX;
    n->retry_at = clock_now() + n->pause;
}

void renew_begin(struct client *c, const struct auth *auth, bool possible)
{
    struct conn *conn = c->conn;
    pthread_mutex_lock(&conn->lock);
    conn->renewal.possible = possible;
    stands(&conn->renewal, auth_end(auth));
    pthread_mutex_unlock(&conn->lock);
}

void renew_wanted(struct conn *c, const struct request *q)
{
    struct renewal *n = &c->renewal;
    if (!n->possible || n->expired || q->logon != n->logon)
        return;
    n->expired = true;
    pthread_cond_broadcast(&n->changed);
}

bool renew_possible(struct conn *c)
{
    pthread_mutex_lock(&c->lock);
    bool possible = c->renewal.possible;
    pthread_mutex_unlock(&c->lock);
    return possible;
}

bool renew_is_due(struct conn *c)
{
    pthread_mutex_lock(&c->lock);
    bool due = c->renewal.expired;
    pthread_mutex_unlock(&c->lock);
    return due;
}

unsigned renew_count(struct conn *c)
{
    pthread_mutex_lock(&c->lock);
    unsigned done = c->renewal.done;
    pthread_mutex_unlock(&c->lock);
    return done;
}

/* ---- doing it ---- */

/* Caller holds conn->lock, which is let go of meanwhile, and nobody is at it. */
static int attempt(struct client *c, bool ahead, struct error *err)
{
    struct conn *conn = c->conn;
    struct renewal *n = &conn->renewal;
    struct error why = {0};
    int64_t end = 0, newer_than = ahead ? n->end : INT64_MIN;

    n->running = true;
    pthread_mutex_unlock(&conn->lock);
    int r = log_on(c, newer_than, &end, &why);
    pthread_mutex_lock(&conn->lock);
    n->running = false;
    if (r == 0) {
        n->done++;
        stands(n, end);
    } else if (!ahead) {
        note_failure(n, &why);
    }
    pthread_cond_broadcast(&n->changed);
    if (r < 0)
        return error_set(err, r, why.status, "%s", why.text);
    pthread_mutex_unlock(&conn->lock);
    conn_flush(conn);
    if (conn->events.session_renewed)
        conn->events.session_renewed(conn->events.user);
    pthread_mutex_lock(&conn->lock);
    return 0;
}

int renew_session(struct conn *c, unsigned logon, uint64_t deadline, struct error *err)
{
    struct renewal *n = &c->renewal;
    struct timespec until = clock_timespec(deadline);
    int r = 0;
    pthread_mutex_lock(&c->lock);
    while (r == 0 && n->logon == logon) {
        if (c->dead)
            r = error_set(err, c->why.code, c->why.status, "%s", c->why.text);
        else if (n->running)
            r = -pthread_cond_timedwait(&n->changed, &c->lock, &until);
        else if (n->why.code && clock_now() < n->retry_at)
            r = error_set(err, n->why.code, n->why.status, "the session has expired: %s",
                          n->why.text);
        else
            r = attempt(c->client, false, err);
    }
    pthread_mutex_unlock(&c->lock);
    return r == -ETIMEDOUT
               ? error_set(err, r, 0, "the session has expired, and was not renewed in time")
               : r;
}

int renew_gate(const struct compound *m, uint64_t deadline, struct error *err)
{
    struct conn *c = m->conn;
    uint16_t command = m->request[0].header.command;
    pthread_mutex_lock(&c->lock);
    bool waits = c->renewal.expired && !c->closing && command != SMB2_SESSION_SETUP;
    unsigned logon = c->renewal.logon;
    pthread_mutex_unlock(&c->lock);
    if (!waits)
        return 0;
    return deadline ? renew_session(c, logon, deadline, err)
                    : error_set(err, -EAGAIN, 0, "the session has expired");
}

/* ---- the thread ---- */

/* Caller holds conn->lock. Ahead of time, where the cache has something newer by now. */
static void try_ahead(struct client *c)
{
    struct renewal *n = &c->conn->renewal;
    if (attempt(c, true, NULL) == 0)
        return;
    uint64_t left = left_until(n->end);
    n->ahead_at = left ? clock_now() + (left / 4 > NS_PER_SEC ? left / 4 : NS_PER_SEC)
                       : CLOCK_NEVER; /* then it is the server's to say */
}

static uint64_t next_turn(const struct renewal *n, bool dead)
{
    if (n->running || dead)
        return CLOCK_NEVER;
    if (n->expired)
        return n->why.code ? n->retry_at : 0;
    return n->ahead_at;
}

static void *run(void *client)
{
    struct client *c = client;
    struct conn *conn = c->conn;
    struct renewal *n = &conn->renewal;
    pthread_mutex_lock(&conn->lock);
    while (!n->stop) {
        uint64_t at = next_turn(n, conn->dead);
        const struct timespec until = clock_timespec(at);
        if (at == CLOCK_NEVER)
            pthread_cond_wait(&n->changed, &conn->lock);
        else if (clock_now() < at)
            pthread_cond_timedwait(&n->changed, &conn->lock, &until);
        else if (n->expired)
            (void)attempt(c, false, NULL);
        else
            try_ahead(c);
    }
    pthread_mutex_unlock(&conn->lock);
    return NULL;
}

int renew_start(struct client *c, struct error *err)
{
    struct renewal *n = &c->conn->renewal;
    sigset_t all, before;
    pthread_mutex_lock(&c->conn->lock);
    bool possible = n->possible;
    pthread_mutex_unlock(&c->conn->lock);
    if (!possible)
        return 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int r = -pthread_create(&n->thread, NULL, run, c);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    n->started = r == 0;
    return r < 0 ? error_set(err, r, 0, "cannot start a thread: %s", strerror(-r)) : 0;
}

void renew_stop(struct client *c)
{
    if (!c->conn)
        return;
    struct renewal *n = &c->conn->renewal;
    pthread_mutex_lock(&c->conn->lock);
    n->stop = true;
    pthread_cond_broadcast(&n->changed);
    pthread_mutex_unlock(&c->conn->lock);
    if (n->started)
        pthread_join(n->thread, NULL);
    n->started = false;
}
