/*
 * What a break takes, who is told of it, and its acknowledgement. (3.2.5.19.2, 3.2.5.19.4)
 *
 * Every break takes away what it says, whatever its epoch is: breaks are unsigned, so believing one
 * that is false, late or told twice must cost trust at most. Epochs tell only whether something
 * happened in between of which no break was seen; then the owner is told although nothing was lost.
 *
 * Breaks are told on the receive thread, and acknowledged after. An acknowledgement stands in a
 * queue of its own and leaves by the credit that is kept back for it (credit.c), sent by whoever
 * finds the send lock free. It waits where the owner has data to write first, and where no open is
 * known yet and a CREATE is under way: the break has overtaken its reply then, and there is nothing
 * to say before that is in (<202>). None is sent when the last CLOSE has left, which says the same.
 * One acknowledgement answers all breaks that came before it. An answer to it that is an error
 * means that the server knows nothing of the lease (3.2.5.19.4).
 */
#include <errno.h>
#include <string.h>

#include "client/lease.h"

/* ---- telling the owner ---- */

/* Caller holds conn->lock and a reference; the lock is let go of meanwhile. Receive thread. */
void lease_tell(struct client_lease *l)
{
    struct conn *c = l->conn;
    if (!l->owned || !c->events.lease_broken)
        return;
    unsigned state = l->state;
    void *owner = l->owner;
    l->deferred++;
    c->telling = l;
    pthread_mutex_unlock(&c->lock);
    bool go_on = c->events.lease_broken(c->events.user, owner, state);
    pthread_mutex_lock(&c->lock);
    c->telling = NULL;
    pthread_cond_broadcast(&c->told);
    if (go_on && l->deferred)
        l->deferred--;
}

/* ---- what is seen of it ---- */

static void show(const struct client_lease *l, enum observe_event id, uint64_t at, unsigned state,
                 const char *what)
{
    observe_promise(
        l->conn->observe,
        &(struct observe_promise){.id = id, .at = at, .key = l->key, .state = state, .what = what});
}

/* ---- breaks ---- */

/* Caller holds conn->lock. Whether a CREATE under way gets less by it. */
static bool cap_flights(struct client_lease *l, unsigned state)
{
    struct list *item;
    bool less = false;
    list_for_each(item, &l->flights)
    {
        struct lease_flight *f = container_of(item, struct lease_flight, link);
        less |= (f->cap & ~state) != 0;
        f->cap &= state;
    }
    return less;
}

/* Caller holds conn->lock. Whether the owner is to be told. */
static bool take_away(struct client_lease *l, const struct wire_lease_break *b)
{
    bool tells = cap_flights(l, b->new_state) || (l->state & ~b->new_state);
    lease_set_state(l, l->state & b->new_state);
    if (l->conn->lease_version < 2)
        return tells;
    int by = lease_ahead(b->epoch, l->epoch);
    if (by > 0)
        l->epoch = b->epoch;
    return tells || (by > 1 && l->state);
}

void lease_break(struct conn *c, const struct rd *message)
{
    struct wire_lease_break b;
    if (wire_lease_break_decode(*message, &b) < 0)
        return; /* an oplock's, of which there are none here, or garbage */
    pthread_mutex_lock(&c->lock);
    struct client_lease *l = c->dead ? NULL : lease_find(c, b.key);
    if (l) {
        bool wants = b.flags & SMB2_NOTIFY_BREAK_LEASE_FLAG_ACK_REQUIRED;
        lease_ref(l);
        l->owes |= wants;
        show(l, EVENT_LEASE_BREAK, c->last_heard, b.new_state, wants ? "acknowledge" : NULL);
        if (take_away(l, &b))
            lease_tell(l);
        lease_settle(l);
        lease_unref(l);
    }
    pthread_mutex_unlock(&c->lock);
    conn_flush(c);
}

/* ---- acknowledgements ---- */

/* Caller holds conn->lock. Queues the acknowledgement that is owed, if it may leave. */
void lease_settle(struct client_lease *l)
{
    if (!l->owes || l->deferred || !list_empty(&l->link))
        return;
    if (l->on_server) {
        list_add_tail(&l->conn->acks, &l->link);
    } else if (!l->creating) {
        l->owes = false;
        show(l, EVENT_LEASE_ACK, clock_now(), l->state, "closed");
    }
}

void client_lease_acknowledge(struct client_lease *l)
{
    struct conn *c = l->conn;
    pthread_mutex_lock(&c->lock);
    if (l->deferred)
        l->deferred--;
    lease_settle(l);
    pthread_mutex_unlock(&c->lock);
    conn_flush(c);
}

/* The first one that is due, which owes it no more; a reference. NULL: none can leave. */
static struct client_lease *next_ack(struct conn *c, unsigned *ret_state)
{
    struct client_lease *l = NULL;
    pthread_mutex_lock(&c->lock);
    while (!l && !list_empty(&c->acks) && c->up && !c->renewal.expired && c->credits) {
        l = container_of(c->acks.next, struct client_lease, link);
        list_del(&l->link);
        if (l->on_server) {
            l->owes = false;
            *ret_state = l->state;
            cap_flights(l, l->state);
            lease_ref(l);
        } else {
            lease_settle(l); /* the CLOSE has said it */
            l = NULL;
        }
    }
    pthread_mutex_unlock(&c->lock);
    return l;
}

void lease_owe(struct client_lease *l)
{
    l->owes = true;
    lease_settle(l);
}

static void owe_again(struct client_lease *l)
{
    pthread_mutex_lock(&l->conn->lock);
    lease_owe(l);
    lease_unref(l);
    pthread_mutex_unlock(&l->conn->lock);
}

int lease_send_ack(struct conn *c)
{
    unsigned state;
    struct client_lease *l = next_ack(c, &state);
    if (!l)
        return -ENOENT;
    struct compound *m = compound_new(c, 0);
    if (!m) {
        owe_again(l);
        return -ENOMEM;
    }
    struct wire_lease_ack ack = {.state = state};
    memcpy(ack.key, l->key, sizeof(ack.key));
    wire_lease_ack_encode(compound_add(m, SMB2_OPLOCK_BREAK, 0), &ack);
    pthread_mutex_lock(&c->lock);
    m->acks = lease_ref(l);
    pthread_mutex_unlock(&c->lock);
    int r = compound_submit_locked(m, NULL);
    if (r < 0) {
        owe_again(l);
    } else {
        show(l, EVENT_LEASE_ACK, clock_now(), state, NULL);
        pthread_mutex_lock(&c->lock);
        lease_unref(l);
        pthread_mutex_unlock(&c->lock);
    }
    compound_free(m);
    return r;
}

/* The server knows of no such break, or lease: what is believed by it may be old. */
void lease_ack_refused(struct client_lease *lease)
{
    struct client_lease *l = lease_ref(lease);
    bool tells = l->state != 0;
    lease_set_state(l, 0);
    if (cap_flights(l, 0) || tells)
        lease_tell(l);
    lease_settle(l);
    lease_unref(l);
}
