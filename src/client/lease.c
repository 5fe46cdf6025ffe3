/*
 * Leases: what the server promises about one file or directory. (3.2.4.3.8, 3.2.5.7.4, 3.2.5.7.5,
 * 3.2.5.19.2)
 *
 * A connection has a table of lease keys. A lease is in it from client_lease_new until nothing
 * refers to it any more: not its owner, no open that was granted under its key, no compound that
 * asks for it. So a break finds its lease whenever it comes, also before the reply to the CREATE
 * that asked.
 *
 * State is what the last reply or break said, never more. Every break takes away what it says,
 * whatever its epoch is: breaks are unsigned, so believing one that is false, late or told twice
 * must cost trust at most. Epochs tell two other things: whether a reply is older than what is
 * known, and whether something happened in between of which no break was seen; then the owner is
 * told although nothing was lost. A CREATE that is under way carries a cap, which breaks lower, and
 * its reply gives no more than that. The promise ends when its owner closes the last open that
 * carries it.
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
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "client/operation.h"

enum {
    LEASE_CONTEXT_MAX = 64,
    LEASE_ALL = CLIENT_LEASE_READ | CLIENT_LEASE_HANDLE | CLIENT_LEASE_WRITE,
};

struct client_lease {
    struct conn *conn; /* constant, as are key and is_dir */
    uint8_t key[WIRE_LEASE_KEY_SIZE];
    bool is_dir;
    atomic_uint state; /* CLIENT_LEASE_...; written under conn->lock */

    /* all below: protected by conn->lock */
    struct hash_node node; /* in conn->leases */
    unsigned refs;         /* the owner's, one for each handle and compound */
    bool owned;            /* its owner wants to hear of breaks */
    void *owner;
    uint16_t epoch;      /* of the last reply or break; version 2 only */
    unsigned promising;  /* opens that carry the promise, and are not being closed */
    unsigned on_server;  /* opens under this key whose CLOSE has not left */
    unsigned creating;   /* CREATEs that are under way */
    struct list flights; /* struct lease_flight */
    bool owes;           /* a break wants to be acknowledged */
    unsigned deferred;   /* breaks that the owner is still at work on */
    struct list link;    /* in conn->acks */
};

/* ---- the table; callers hold conn->lock ---- */

static uint64_t hash_key(const uint8_t key[static WIRE_LEASE_KEY_SIZE])
{
    return hash_bytes(key, WIRE_LEASE_KEY_SIZE, hash_seed());
}

static struct client_lease *find(struct conn *c, const uint8_t key[static WIRE_LEASE_KEY_SIZE])
{
    struct hash_node *n = hash_first(&c->leases, hash_key(key));
    for (; n; n = hash_next(n)) {
        struct client_lease *l = container_of(n, struct client_lease, node);
        if (memcmp(l->key, key, WIRE_LEASE_KEY_SIZE) == 0)
            return l;
    }
    return NULL;
}

static struct client_lease *ref(struct client_lease *l)
{
    l->refs++;
    return l;
}

static void unref(struct client_lease *l)
{
    if (--l->refs)
        return;
    hash_del(&l->conn->leases, &l->node);
    list_del(&l->link);
    free(l);
}

/* ---- the owner's side ---- */

struct client_lease *client_lease_new(struct client *c, bool is_dir, void *owner)
{
    struct client_lease *l = calloc(1, sizeof(*l));
    if (!l)
        return NULL;
    l->conn = c->conn;
    l->is_dir = is_dir;
    l->owner = owner;
    l->owned = true;
    l->refs = 1;
    list_init(&l->flights);
    list_init(&l->link);
    if (getrandom(l->key, sizeof(l->key), 0) != sizeof(l->key)) {
        free(l);
        return NULL;
    }
    pthread_mutex_lock(&c->conn->lock);
    int r = hash_add(&c->conn->leases, &l->node, hash_key(l->key));
    pthread_mutex_unlock(&c->conn->lock);
    if (r < 0) {
        free(l);
        return NULL;
    }
    return l;
}

/* Caller holds conn->lock. Queues the acknowledgement that is owed, if it may leave. */
static void settle(struct client_lease *l)
{
    if (!l->owes || l->deferred || !list_empty(&l->link))
        return;
    if (l->on_server)
        list_add_tail(&l->conn->acks, &l->link);
    else if (!l->creating)
        l->owes = false;
}

struct client_lease *client_lease_free(struct client_lease *l)
{
    if (!l)
        return NULL;
    struct conn *c = l->conn;
    pthread_mutex_lock(&c->lock);
    l->owned = false;
    while (c->telling == l)
        pthread_cond_wait(&c->told, &c->lock);
    l->deferred = 0;
    settle(l);
    unref(l);
    pthread_mutex_unlock(&c->lock);
    conn_flush(c);
    return NULL;
}

unsigned client_lease_state(const struct client_lease *l)
{
    return atomic_load_explicit(&l->state, memory_order_acquire);
}

void client_lease_acknowledge(struct client_lease *l)
{
    struct conn *c = l->conn;
    pthread_mutex_lock(&c->lock);
    if (l->deferred)
        l->deferred--;
    settle(l);
    pthread_mutex_unlock(&c->lock);
    conn_flush(c);
}

bool client_leases_files(const struct client *c)
{
    return c->conn->lease_version > 0;
}

bool client_leases_dirs(const struct client *c)
{
    return c->conn->leases_dirs;
}

static void set_state(struct client_lease *l, unsigned state)
{
    atomic_store_explicit(&l->state, state, memory_order_release);
}

/* ---- asking ---- */

/* 3.2.4.3.8. A parent without a lease of one's own goes with a key that nobody has, and asks for
 * nothing: the server then knows whose directory lease such an open does not break. */
bool lease_ask(struct compound *m, struct client_lease_ask *ask, struct wr *chain, bool last)
{
    struct conn *c = m->conn;
    if (!ask)
        return false;
    struct client_lease *l = ask->lease;
    struct wire_lease want = {.version = c->lease_version};

    m->flight.ask = ask;
    if (l && l->is_dir ? !c->leases_dirs : !c->lease_version)
        return false;
    if (ask->parent && c->leases_dirs) {
        memcpy(want.parent_key, ask->parent->key, sizeof(want.parent_key));
        want.flags = SMB2_LEASE_FLAG_PARENT_LEASE_KEY_SET;
    }
    if (l) {
        memcpy(want.key, l->key, sizeof(want.key));
        want.state = ask->state;
        pthread_mutex_lock(&c->lock);
        m->flight.lease = ref(l);
        pthread_mutex_unlock(&c->lock);
        list_init(&m->flight.link);
    } else if (!want.flags || getrandom(want.key, sizeof(want.key), 0) != sizeof(want.key)) {
        return false;
    }

    uint8_t data[LEASE_CONTEXT_MAX];
    struct wr w = wr_init(data, sizeof(data));
    wire_lease_encode(&w, &want);
    wire_create_context_encode(chain, WIRE_LEASE_CONTEXT, data, (uint32_t)w.pos, last);
    return true;
}

void lease_registered(struct compound *m)
{
    struct client_lease *l = m->flight.lease;
    if (l) {
        /* what is being taken back is not given again by a reply that was under way meanwhile */
        m->flight.cap = l->owes ? l->state : LEASE_ALL;
        m->flight.under_way = true;
        l->creating++;
        list_add_tail(&l->flights, &m->flight.link);
    }
    if (m->closes && m->closes->lease)
        m->closes->lease->on_server--;
}

/* The CREATE is not under way any more. */
static void landed(struct lease_flight *f)
{
    if (!f->under_way)
        return;
    f->under_way = false;
    f->lease->creating--;
}

void lease_taken(struct compound *m)
{
    struct lease_flight *f = &m->flight;
    if (!f->ask)
        return;
    pthread_mutex_lock(&m->conn->lock);
    f->ask->ret_state = f->granted & f->cap;
    pthread_mutex_unlock(&m->conn->lock);
}

void lease_flight_done(struct compound *m)
{
    struct client_lease *l = m->flight.lease;
    if (!l && !m->acks)
        return;
    pthread_mutex_lock(&m->conn->lock);
    if (l) {
        landed(&m->flight);
        list_del(&m->flight.link);
        settle(l);
        unref(l);
    }
    if (m->acks)
        unref(m->acks);
    pthread_mutex_unlock(&m->conn->lock);
}

/* ---- opens ---- */

/* Caller holds conn->lock. */
static void release(struct handle *h)
{
    if (!h->promises)
        return;
    h->promises = false;
    if (--h->lease->promising == 0)
        set_state(h->lease, 0);
}

void lease_release(struct conn *c, struct handle *h)
{
    if (!h->lease)
        return;
    pthread_mutex_lock(&c->lock);
    release(h);
    pthread_mutex_unlock(&c->lock);
}

void handle_free(struct conn *c, struct handle *h)
{
    if (h && h->lease) {
        pthread_mutex_lock(&c->lock);
        release(h);
        unref(h->lease);
        pthread_mutex_unlock(&c->lock);
    }
    free(h);
}

/* ---- telling the owner ---- */

/* Caller holds conn->lock and a reference; the lock is let go of meanwhile. Receive thread. */
static void tell(struct client_lease *l)
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

/* ---- breaks ---- */

/* How far a serial number of 16 bits is ahead of another one; negative: behind. */
static int ahead(uint16_t epoch, uint16_t of)
{
    uint16_t distance = (uint16_t)(epoch - of);
    return distance <= INT16_MAX ? distance : distance - (UINT16_MAX + 1);
}

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
    set_state(l, l->state & b->new_state);
    if (l->conn->lease_version < 2)
        return tells;
    int by = ahead(b->epoch, l->epoch);
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
    struct client_lease *l = c->dead ? NULL : find(c, b.key);
    if (l) {
        ref(l);
        if (b.flags & SMB2_NOTIFY_BREAK_LEASE_FLAG_ACK_REQUIRED)
            l->owes = true;
        if (take_away(l, &b))
            tell(l);
        settle(l);
        unref(l);
    }
    pthread_mutex_unlock(&c->lock);
    conn_flush(c);
}

/* ---- replies ---- */

/* What a CREATE's reply says of its lease. False: nothing. */
static bool find_grant(const struct wire_header *h, const struct rd *message,
                       struct wire_lease *ret)
{
    struct wire_create_response create;
    struct wire_create_context context;
    if (h->status != STATUS_SUCCESS || wire_create_response_decode(*message, &create) < 0 ||
        create.oplock_level != SMB2_OPLOCK_LEVEL_LEASE)
        return false;
    while (wire_create_context_next(&create.contexts, &context) > 0)
        if (context.name.len == 4 && memcmp(context.name.base, WIRE_LEASE_CONTEXT, 4) == 0)
            return wire_lease_decode(context.data, ret) == 0;
    return false;
}

/* 3.2.5.7.5's table. Whether something was lost of which no break has told. */
static bool lost_something(const struct client_lease *l, unsigned state, int by)
{
    unsigned before = l->state;
    if (before & ~state)
        return true;
    return before && by > (state == before ? 0 : 1);
}

/* Caller holds conn->lock. Whether the owner is to be told. */
static bool granted(struct compound *m, const struct wire_lease *grant)
{
    struct lease_flight *f = &m->flight;
    struct client_lease *l = f->lease;
    bool first = l->promising == 0, tells = false; /* the server's epochs begin anew */
    int by = first || l->conn->lease_version < 2 ? 0 : ahead(grant->epoch, l->epoch);
    unsigned state = grant->state & f->cap & LEASE_ALL;

    if (grant->flags & SMB2_LEASE_FLAG_BREAK_IN_PROGRESS)
        state &= l->state;
    if (by >= 0) {
        tells = lost_something(l, state, by);
        set_state(l, state);
        l->epoch = grant->epoch;
    } else { /* it was overtaken by what is known already */
        state &= l->state;
    }
    f->granted = state;
    m->handle->lease = ref(l);
    m->handle->promises = state != 0;
    l->promising += state != 0;
    l->on_server++;
    return tells;
}

static void create_replied(struct compound *m, const struct wire_lease *grant)
{
    struct client_lease *l = ref(m->flight.lease);
    landed(&m->flight);
    if (grant && memcmp(grant->key, l->key, sizeof(l->key)) == 0 && granted(m, grant))
        tell(l);
    settle(l);
    unref(l);
}

/* The server knows of no such break, or lease: what is believed by it may be old. */
static void ack_refused(struct client_lease *lease)
{
    struct client_lease *l = ref(lease);
    bool tells = l->state != 0;
    set_state(l, 0);
    if (cap_flights(l, 0) || tells)
        tell(l);
    settle(l);
    unref(l);
}

void lease_reply(struct conn *c, struct request *q, const struct wire_header *h,
                 const struct rd *message)
{
    struct wire_lease grant;
    bool has_grant = h->command == SMB2_CREATE && find_grant(h, message, &grant);

    pthread_mutex_lock(&c->lock);
    struct compound *m = c->dead ? NULL : q->compound; /* who is dead has no compounds any more */
    if (m && m->flight.lease && h->command == SMB2_CREATE)
        create_replied(m, has_grant ? &grant : NULL);
    else if (m && m->acks && h->status != STATUS_SUCCESS)
        ack_refused(m->acks);
    pthread_mutex_unlock(&c->lock);
}

/* ---- acknowledgements ---- */

/* The first one that is due, which owes it no more; a reference. NULL: none can leave. */
static struct client_lease *next_ack(struct conn *c, unsigned *ret_state)
{
    struct client_lease *l = NULL;
    pthread_mutex_lock(&c->lock);
    while (!l && !list_empty(&c->acks) && !c->dead && c->credits) {
        l = container_of(c->acks.next, struct client_lease, link);
        list_del(&l->link);
        if (l->on_server) {
            l->owes = false;
            *ret_state = l->state;
            cap_flights(l, l->state);
            ref(l);
        } else {
            settle(l); /* the CLOSE has said it */
            l = NULL;
        }
    }
    pthread_mutex_unlock(&c->lock);
    return l;
}

static void owe_again(struct client_lease *l)
{
    pthread_mutex_lock(&l->conn->lock);
    l->owes = true;
    settle(l);
    unref(l);
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
    m->acks = ref(l);
    pthread_mutex_unlock(&c->lock);
    int r = compound_submit_locked(m, NULL);
    if (r < 0) {
        owe_again(l);
    } else {
        pthread_mutex_lock(&c->lock);
        unref(l);
        pthread_mutex_unlock(&c->lock);
    }
    compound_free(m);
    return r;
}

void lease_lose_all(struct conn *c)
{
    for (struct hash_node *n = NULL; (n = hash_each(&c->leases, n));)
        set_state(container_of(n, struct client_lease, node), 0);
}
