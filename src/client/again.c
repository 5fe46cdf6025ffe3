/*
 * A request that is sent again, since its connection was lost before it was answered.
 *
 * A compound has all it takes to leave once more: its bytes are signed, numbered and given their
 * FileId each time they leave (compound.c). So who runs one only waits until there is a new
 * connection, for as long as a call may wait: the request timeout from when it first had to wait,
 * or without an end (`hard`). What must not be done twice is `once`: it is not sent again where it
 * may have arrived, and its caller finds out what became of it. What the server answered with
 * garbage is not asked of it again either.
 *
 * The reviver's own requests (revive.c) end with their connection: it begins anew with another one.
 */
#include <errno.h>
#include <string.h>

#include "client/durable.h"
#include "client/lease.h"

uint64_t conn_patience(const struct conn *c)
{
    return c->hard ? CLOCK_NEVER : clock_now() + c->request_timeout;
}

bool conn_wait_up(struct conn *c, uint64_t until)
{
    while (!c->up && !c->closing && c->reviver_started) {
        uint64_t end = until < c->leave_by ? until : c->leave_by;
        const struct timespec at = clock_timespec(end);
        if (clock_now() >= end)
            break;
        pthread_cond_timedwait(&c->changed, &c->lock, &at);
    }
    return c->up;
}

int conn_away(struct conn *c, struct error *err)
{
    pthread_mutex_lock(&c->lock);
    struct error why = c->why;
    bool leaves = c->leave_by != CLOCK_NEVER;
    pthread_mutex_unlock(&c->lock);
    if (leaves)
        return error_set(err, -EHOSTDOWN, why.status,
                         "the server is away, and this client ends: %s", why.text);
    return error_set(err, -EHOSTDOWN, why.status,
                     "the server is away, and was waited for for %.1f s (soft, timeo=%u): %s",
                     (double)c->request_timeout / NS_PER_SEC,
                     (unsigned)(c->request_timeout / (NS_PER_SEC / 10)), why.text);
}

/* As it was before it was first submitted: nobody else refers to it now. */
static void reset(struct compound *m)
{
    struct conn *c = m->conn;
    for (unsigned i = 0; i < m->count; i++) {
        struct request *q = &m->request[i];
        q->frame = frame_unref(q->frame);
        q->answered = q->settled = q->interim = false;
    }
    m->unanswered = 0;
    m->repeats += m->left;
    if (m->left)
        durable_anew(m);
    pthread_mutex_lock(&c->lock);
    m->lost = false;
    if (m->handle)
        handle_unlease(c, m->handle);
    if (m->flight.lease)
        list_del(&m->flight.link);
    m->flight.granted = 0;
    pthread_mutex_unlock(&c->lock);
}

static bool may_leave_again(const struct compound *m)
{
    return m->lost && !m->stopped && !m->garbled && !(m->once && m->left) &&
           m->conn->reviver_started && !m->acks && !conn_is_reviver(m->conn);
}

bool compound_again(struct compound *m, int *inout, struct error *err)
{
    struct conn *c = m->conn;
    if (*inout >= 0)
        return false;
    pthread_mutex_lock(&c->lock);
    bool wants = may_leave_again(m), again = false;
    if (wants) {
        if (!m->wait_until)
            m->wait_until = conn_patience(c);
        again = conn_wait_up(c, m->wait_until);
    }
    pthread_mutex_unlock(&c->lock);
    if (again) {
        if (m->left)
            observe_network(c->observe, OBSERVE_REPEATED);
        reset(m);
    } else if (wants) {
        *inout = conn_away(c, err);
    }
    return again;
}

int compound_run(struct compound *m, struct error *err)
{
    struct conn *c = m->conn;
    int r;
    do {
        uint64_t deadline = conn_deadline(c);
        r = compound_submit(m, deadline, err);
        if (r == 0) {
            observe_round_trip(c->observe);
            r = compound_wait(m, deadline, err);
        }
    } while (compound_again(m, &r, err));
    return r;
}
