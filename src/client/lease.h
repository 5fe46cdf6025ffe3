/* A lease, for the two files that know it: lease.c (how it is asked for and given) and break.c (how
 * it is taken). */
#ifndef LARDER_CLIENT_LEASE_H
#define LARDER_CLIENT_LEASE_H

#include "client/operation.h"

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

/* ---- lease.c; callers hold conn->lock ---- */

/* NULL: nobody has this key. */
struct client_lease *lease_find(struct conn *c, const uint8_t key[static WIRE_LEASE_KEY_SIZE]);
struct client_lease *lease_ref(struct client_lease *l);
void lease_unref(struct client_lease *l); /* frees it with the last one */
void lease_set_state(struct client_lease *l, unsigned state);

/* How far a serial number of 16 bits is ahead of another one; negative: behind. */
static inline int lease_ahead(uint16_t epoch, uint16_t of)
{
    uint16_t distance = (uint16_t)(epoch - of);
    return distance <= INT16_MAX ? distance : distance - (UINT16_MAX + 1);
}

/* ---- break.c; callers hold conn->lock ---- */

/* Tells the owner of the state, if he still wants to know. The lock is let go of meanwhile; the
 * caller has a reference. Receive thread. */
void lease_tell(struct client_lease *l);
/* Queues the acknowledgement that is owed, if it may leave. */
void lease_settle(struct client_lease *l);
/* It is owed once more. */
void lease_owe(struct client_lease *l);
/* The server answered an acknowledgement with an error. Lets go of the lock as lease_tell does. */
void lease_ack_refused(struct client_lease *l);

#endif
