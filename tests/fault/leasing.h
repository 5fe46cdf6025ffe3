/* What the tests of leases share: a client of a scripted server that grants and breaks them, and an
 * owner who notes what he is told. */
#ifndef LARDER_TESTS_FAULT_LEASING_H
#define LARDER_TESTS_FAULT_LEASING_H

#include <stdatomic.h>

#include "bed.h"

enum {
    R = CLIENT_LEASE_READ,
    RH = CLIENT_LEASE_READ | CLIENT_LEASE_HANDLE,
    RWH = RH | CLIENT_LEASE_WRITE,
    BOTH = SMB2_GLOBAL_CAP_LEASING | SMB2_GLOBAL_CAP_DIRECTORY_LEASING,
};

/* What the last break told, and how the next one is taken. */
extern struct heard {
    void *_Atomic owner;
    unsigned state, acks_before; /* acknowledgements that had come when it had been told */
    atomic_uint times;
    atomic_bool puts_off, slow;
    struct server *server;
} heard;
/* struct conn_events' lease_broken. */
bool note_break(void *user, void *owner, unsigned state);

/* A server of 3.0.2 that grants so much of what is asked. */
struct server_script leasing_script(unsigned state, uint16_t epoch);
struct bed start_leasing(const struct server_script *script);
/* Opens lib/a.py with its content and expects so much to be granted. */
struct client_file *open_by(struct bed *b, struct client_lease *l, unsigned asked,
                            unsigned expected);
void close_now(struct client_file *f);
/* Has been heard when this returns. */
void send_break(struct bed *b, struct server_break what);
/* The n-th acknowledgement, from 0, comes soon, and is of the first lease and this state. */
void expect_ack(struct bed *b, unsigned n, unsigned state);
/* So many have been sent. */
void expect_acks(struct bed *b, unsigned n);
/* No open is left; the lease is freed; all goes on well. */
void end_leasing(struct bed *b, struct client_lease *l);

#endif
