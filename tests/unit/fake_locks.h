/*
 * A server's byte-range locks in memory: client_lock() by the rules of MS-FSA 2.1.4.10, 2.1.5.8 and
 * 2.1.5.9, mandatory unlocks and all, with failures at will. A lock belongs to an open; opens of
 * two clients differ in nothing but who uses them. Any number of threads.
 */
#ifndef LARDER_FAKE_LOCKS_H
#define LARDER_FAKE_LOCKS_H

#include <stdatomic.h>

#include "client/client.h"

struct client_file {
    int number;
};

enum fake_failure {
    FAKE_REFUSED,      /* INSUFFICIENT_RESOURCES; nothing has happened */
    FAKE_LOST_REQUEST, /* no answer; nothing has happened */
    FAKE_LOST_ANSWER,  /* no answer; it has been done */
    FAKE_DISCONNECTED, /* this and all that follow fail; nothing is done */
    FAKE_NO_STACKING,  /* from here on a shared lock conflicts with its own open's exclusive one */
    FAKE_FAILURES
};

struct fake_locks {
    atomic_uint requests;
    unsigned fail_at; /* the request that fails, from 1; 0: none */
    enum fake_failure failure;
    bool failed;                /* it has */
    unsigned delay_us;          /* of each request */
    void (*before)(void *user); /* a request is carried out: what others do in between */
    void (*after)(void *user);  /* it has been carried out */
    void *user;
};
extern struct fake_locks fake;

/* Forgets all locks and settings. */
void fake_reset(void);
/* The same as client_lock, by a client that is not looked at: counts as no request and never fails
 * by intent. */
int fake_rival(struct client_file *f, enum client_lock_type type, uint64_t offset, uint64_t len);
/* The strongest lock of `f` at a byte. */
enum client_lock_type fake_held(const struct client_file *f, uint64_t byte);
/* Whether a lock of `f` covers both bytes. */
bool fake_one_piece(const struct client_file *f, uint64_t a, uint64_t b);
unsigned fake_count(const struct client_file *f);
/* Another client's lock against `type` at this byte. */
bool fake_conflict(const struct client_file *f, enum client_lock_type type, uint64_t byte);

#endif
