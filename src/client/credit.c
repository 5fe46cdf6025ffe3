/*
 * Credits: 3.2.4.1.2, 3.2.4.1.5, 3.1.5.2.
 *
 * A server grants credits with its responses, interim ones included; each request uses one, or as
 * many as its payload needs in units of 64 KiB, and as many MessageIds. A compound needs the sum
 * for its elements at once. Callers that must wait stand in a line, so that a large request is not
 * overtaken by small ones forever; whoever stands first gets the next credits.
 *
 * Where there are leases, one credit is kept back, so that the acknowledgement of a break can leave
 * whatever everybody else is waiting for: for that very break, it may be. Of a server that grants a
 * single credit at a time none can be kept; an acknowledgement that is due then gets the next one
 * before anybody else.
 *
 * Waiting is only worth it for credits that can come: those that requests under way have used. A
 * caller that wants more than all of them together is told so, and asks for less. Counts saturate:
 * no grant makes them wrap.
 */
#include <errno.h>

#include "client/conn.h"

struct credit_waiter {
    struct list link; /* in conn->credit_waiters; protected by conn->lock */
};

static uint32_t kept_back(const struct conn *c)
{
    return c->leases.count && c->credits + c->in_flight > 1 ? 1 : 0;
}

uint32_t credit_spare(const struct conn *c)
{
    uint32_t keep = list_empty(&c->acks) ? kept_back(c) : 1;
    return c->credits > keep ? c->credits - keep : 0;
}

static bool can_take(const struct conn *c, const struct credit_waiter *me, uint32_t n)
{
    return c->credit_waiters.next == &me->link && credit_spare(c) >= n;
}

static void take(struct conn *c, uint32_t n)
{
    c->credits -= n;
    c->in_flight += n;
}

int credit_take(struct conn *c, uint32_t n, uint64_t deadline)
{
    struct credit_waiter me;
    struct timespec until = clock_timespec(deadline);
    int r = 0;

    list_add_tail(&c->credit_waiters, &me.link);
    if (deadline && conn_may_send(c) && !can_take(c, &me, n))
        observe_credit_stall(c->observe);
    while (r == 0 && conn_may_send(c) && !can_take(c, &me, n)) {
        if (deadline == 0 || c->credits + c->in_flight - kept_back(c) < n)
            r = -EAGAIN;
        else if (pthread_cond_timedwait(&c->credit_cond, &c->lock, &until) == ETIMEDOUT)
            r = -ETIMEDOUT;
    }
    if (!conn_may_send(c))
        r = -ENOTCONN;
    list_del(&me.link);
    if (r == 0)
        take(c, n);
    pthread_cond_broadcast(&c->credit_cond); /* the next one is first now */
    return r;
}

int credit_take_kept(struct conn *c, uint32_t n)
{
    if (!conn_may_send(c))
        return -ENOTCONN;
    if (c->credits < n)
        return -EAGAIN;
    take(c, n);
    return 0;
}

void credit_grant(struct conn *c, uint32_t n)
{
    uint32_t room = CREDIT_MAX - c->credits;
    c->credits += n < room ? n : room;
    pthread_cond_broadcast(&c->credit_cond);
}

uint16_t credit_request(const struct conn *c, uint32_t charge)
{
    uint32_t all = c->credits + c->in_flight;
    uint32_t missing = all < CREDIT_TARGET ? CREDIT_TARGET - all : 0;
    uint32_t n = charge + missing;
    return n > CREDIT_MAX ? (uint16_t)CREDIT_MAX : (uint16_t)n;
}

uint32_t credit_total(struct conn *c)
{
    pthread_mutex_lock(&c->lock);
    bool plans = !c->up && !conn_may_send(c); /* with what there will be again */
    uint32_t all = plans ? c->credits_lost : c->credits + c->in_flight - kept_back(c);
    pthread_mutex_unlock(&c->lock);
    return all;
}

uint32_t credit_payload(struct conn *c, uint32_t wanted)
{
    uint32_t all = credit_total(c);
    if (!c->multi_credit || all < 1)
        all = 1;
    return wanted <= CREDIT_PAYLOAD || all >= (wanted - 1) / CREDIT_PAYLOAD + 1
               ? wanted
               : all * CREDIT_PAYLOAD;
}
