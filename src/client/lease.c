/*
 * Leases: what the server promises about one file or directory. (3.2.4.3.8, 3.2.5.7.4, 3.2.5.7.5)
 *
 * A connection has a table of lease keys. A lease is in it from client_lease_new until nothing
 * refers to it any more: not its owner, no open that was granted under its key, no compound that
 * asks for it. So a break finds its lease whenever it comes, also before the reply to the CREATE
 * that asked.
 *
 * State is what the last reply or break said, never more. A CREATE that is under way carries a cap,
 * which breaks lower (break.c), and its reply gives no more than that. Epochs tell whether a reply
 * is older than what is known, and whether something happened in between of which no break was
 * seen; then the owner is told although nothing was lost. The promise ends when its owner closes
 * the last open that carries it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "client/lease.h"
#include "client/renew.h"

enum {
    LEASE_CONTEXT_MAX = 64,
    LEASE_ALL = CLIENT_LEASE_READ | CLIENT_LEASE_HANDLE | CLIENT_LEASE_WRITE,
};

/* ---- the table; callers hold conn->lock ---- */

static uint64_t hash_key(const uint8_t key[static WIRE_LEASE_KEY_SIZE])
{
    return hash_bytes(key, WIRE_LEASE_KEY_SIZE, hash_seed());
}

struct client_lease *lease_find(struct conn *c, const uint8_t key[static WIRE_LEASE_KEY_SIZE])
{
    struct hash_node *n = hash_first(&c->leases, hash_key(key));
    for (; n; n = hash_next(n)) {
        struct client_lease *l = container_of(n, struct client_lease, node);
        if (memcmp(l->key, key, WIRE_LEASE_KEY_SIZE) == 0)
            return l;
    }
    return NULL;
}

struct client_lease *lease_ref(struct client_lease *l)
{
    l->refs++;
    return l;
}

void lease_unref(struct client_lease *l)
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
    lease_settle(l);
    lease_unref(l);
    pthread_mutex_unlock(&c->lock);
    conn_flush(c);
    return NULL;
}

unsigned client_lease_state(const struct client_lease *l)
{
    return atomic_load_explicit(&l->state, memory_order_acquire);
}

bool client_leases_files(const struct client *c)
{
    return c->conn->lease_version > 0;
}

bool client_leases_dirs(const struct client *c)
{
    return c->conn->leases_dirs;
}

void lease_set_state(struct client_lease *l, unsigned state)
{
    atomic_store_explicit(&l->state, state, memory_order_release);
}

/* ---- asking ---- */

static void give_parent(const struct conn *c, const struct client_lease *parent,
                        struct wire_lease *want)
{
    if (!parent || !c->leases_dirs)
        return;
    memcpy(want->parent_key, parent->key, sizeof(want->parent_key));
    want->flags = SMB2_LEASE_FLAG_PARENT_LEASE_KEY_SET;
}

static void add_context(struct wr *chain, const struct wire_lease *want, bool last)
{
    uint8_t data[LEASE_CONTEXT_MAX];
    struct wr w = wr_init(data, sizeof(data));
    wire_lease_encode(&w, want);
    wire_create_context_encode(chain, WIRE_LEASE_CONTEXT, data, (uint32_t)w.pos, last);
}

/* 3.2.4.3.8. Without a key of one's own a parent's goes with one that nobody has. */
bool lease_carry(struct compound *m, const struct client_keys *keys, struct wr *chain, bool last)
{
    const struct conn *c = m->conn;
    const struct client_lease *own = keys->own;
    struct wire_lease want = {.version = c->lease_version};

    if (!c->lease_version)
        return false;
    give_parent(c, keys->parent, &want);
    if (own && (!own->is_dir || c->leases_dirs))
        memcpy(want.key, own->key, sizeof(want.key));
    else if (!want.flags || getrandom(want.key, sizeof(want.key), 0) != sizeof(want.key))
        return false;
    add_context(chain, &want, last);
    return true;
}

bool lease_ask(struct compound *m, struct client_lease_ask *ask, struct wr *chain, bool last)
{
    struct conn *c = m->conn;
    struct client_lease *l = ask->lease;
    struct wire_lease want = {.version = c->lease_version, .state = ask->state};

    m->flight.ask = ask;
    if (!l)
        return lease_carry(m, &(struct client_keys){.parent = ask->parent}, chain, last);
    if (l->is_dir ? !c->leases_dirs : !c->lease_version)
        return false;
    give_parent(c, ask->parent, &want);
    memcpy(want.key, l->key, sizeof(want.key));
    pthread_mutex_lock(&c->lock);
    m->flight.lease = lease_ref(l);
    pthread_mutex_unlock(&c->lock);
    list_init(&m->flight.link);
    add_context(chain, &want, last);
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
    if (m->closes && m->closes->leased) {
        m->closes->leased = false;
        m->closes->lease->on_server--;
    }
}

/* The CREATE is not under way any more. */
static void landed(struct lease_flight *f)
{
    if (!f->under_way)
        return;
    f->under_way = false;
    f->lease->creating--;
}

void lease_taken(struct compound *m, const char *path)
{
    struct lease_flight *f = &m->flight;
    if (!f->ask)
        return;
    pthread_mutex_lock(&m->conn->lock);
    f->ask->ret_state = f->granted & f->cap;
    pthread_mutex_unlock(&m->conn->lock);
    if (f->lease && f->ask->ret_state)
        observe_promise(m->conn->observe, &(struct observe_promise){
                                              .id = EVENT_LEASE,
                                              .at = clock_now(),
                                              .key = f->lease->key,
                                              .state = f->ask->ret_state,
                                              .path = path,
                                          });
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
        lease_settle(l);
        lease_unref(l);
    }
    if (m->acks)
        lease_unref(m->acks);
    pthread_mutex_unlock(&m->conn->lock);
}

/* ---- opens ---- */

/* Caller holds conn->lock. What was promised on another connection is counted no more. */
static void release(struct conn *c, struct handle *h)
{
    bool counts = h->promises && h->epoch == c->epoch;
    h->promises = false;
    if (counts && --h->lease->promising == 0)
        lease_set_state(h->lease, 0);
}

void lease_release(struct conn *c, struct handle *h)
{
    if (!h->lease)
        return;
    pthread_mutex_lock(&c->lock);
    release(c, h);
    pthread_mutex_unlock(&c->lock);
}

void handle_free(struct conn *c, struct handle *h)
{
    if (h && h->lease) {
        pthread_mutex_lock(&c->lock);
        handle_unlease(c, h);
        pthread_mutex_unlock(&c->lock);
    }
    if (h)
        kept_free(h->kept);
    free(h);
}

void handle_unlease(struct conn *c, struct handle *h)
{
    if (!h->lease)
        return;
    release(c, h);
    lease_unref(h->lease);
    h->lease = NULL;
    h->leased = false;
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
    int by = first || l->conn->lease_version < 2 ? 0 : lease_ahead(grant->epoch, l->epoch);
    unsigned state = grant->state & f->cap & LEASE_ALL;

    if (grant->flags & SMB2_LEASE_FLAG_BREAK_IN_PROGRESS)
        state &= l->state;
    if (by >= 0) {
        tells = lost_something(l, state, by);
        lease_set_state(l, state);
        l->epoch = grant->epoch;
    } else { /* it was overtaken by what is known already */
        state &= l->state;
    }
    f->granted = state;
    m->handle->lease = lease_ref(l);
    m->handle->promises = state != 0;
    m->handle->leased = true;
    l->promising += state != 0;
    l->on_server++;
    return tells;
}

static void create_replied(struct compound *m, const struct wire_lease *grant)
{
    struct client_lease *l = lease_ref(m->flight.lease);
    landed(&m->flight);
    if (grant && memcmp(grant->key, l->key, sizeof(l->key)) == 0 && granted(m, grant))
        lease_tell(l);
    lease_settle(l);
    lease_unref(l);
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
    else if (m && m->acks && status_is(h->status, STATUS_NETWORK_SESSION_EXPIRED))
        lease_owe(m->acks);
    else if (m && m->acks && h->status != STATUS_SUCCESS)
        lease_ack_refused(m->acks);
    pthread_mutex_unlock(&c->lock);
}

void lease_lose_all(struct conn *c)
{
    struct list *item;
    for (struct hash_node *n = NULL; (n = hash_each(&c->leases, n));) {
        struct client_lease *l = container_of(n, struct client_lease, node);
        lease_set_state(l, 0);
        l->promising = l->on_server = 0;
        l->owes = false;
        list_del(&l->link);
        list_for_each(item, &l->flights)
        {
            struct lease_flight *f = container_of(item, struct lease_flight, link);
            f->cap = 0;
            landed(f);
        }
    }
}
