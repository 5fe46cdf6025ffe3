/*
 * A call of the kernel that waits for the server, and what becomes of it when its caller is killed.
 *
 * The kernel lets nobody go who waits for a call that the daemon has read: a process that is killed
 * while the server is silent would stay, unkillable, until the request's deadline. The kernel says
 * by INTERRUPT that a signal came, once, for any signal. Most signals are no reason to fail a call
 * (a file system on a disk fails none), so a call is given up, with EINTR, only when its thread has
 * SIGKILL pending, as every thread of a dying process has; and an interrupted call is looked at
 * again for as long as it waits, since a second signal is not told.
 *
 * What the kernel itself waits for cannot be let go: who looks up a name that somebody else is just
 * looking up waits for that answer.
 *
 * The worker goes on waiting, and finds out at the end that there is nobody to answer. What the
 * kernel would have kept for it by waiting too (the node, the handle) it holds by references of its
 * own. What the kernel would have kept others from by waiting is kept from them here: a change that
 * was given up may still reach the server, so later changes wait until it has. Else what somebody
 * wrote after the death of a writer could be overwritten by the dead.
 */
#ifndef LARDER_MOUNT_CALL_H
#define LARDER_MOUNT_CALL_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/list.h"
#include "mount/fuse.h"

/* On the worker's stack. */
struct call {
    struct list link; /* in calls->waiting, until it is over or given up; protected by lock */
    fuse_req_t req;   /* constant; libfuse's own once it is answered */
    pid_t thread;     /* who called; 0: nobody of our namespace. Constant */
    bool interrupted; /* protected by lock */
    bool ready;       /* libfuse is done with the request: it may be answered. Protected by lock */
    bool changes;     /* it may be changing something by now; protected by lock */
};

struct calls {
    pthread_mutex_t lock;   /* taken below a request's own lock; above libfuse's others */
    pthread_cond_t settled; /* `abandoned` went down, or a call was given up */
    struct list waiting;    /* struct call; protected by lock */
    unsigned abandoned;     /* changes that were given up and go on; protected by lock */
};

void calls_init(struct calls *all);
void calls_done(struct calls *all);

/* Around the waiting. call_end says whether the caller is still there, to be answered: after false
 * neither its request nor what only the kernel holds may be used. */
void call_begin(struct calls *all, fuse_req_t req, struct call *c);
bool call_end(struct calls *all, struct call *c);

/* Whether any signal has come for the caller since call_begin or before, or nobody waits any more:
 * for calls that a program may break off. */
bool call_interrupted(struct calls *all, struct call *c);

/* call_begin of a call that changes something. False: the caller died before the change was begun,
 * which must not be any more; call_end is called all the same. */
bool call_begin_change(struct calls *all, fuse_req_t req, struct call *c);

/* Gives up the calls of dying threads. Whether interrupted ones are left, which are to be looked at
 * again soon. */
bool calls_sweep(struct calls *all);

#endif
