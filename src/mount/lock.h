/*
 * Locks of programs (fcntl and flock) that share/ keeps: waiting for one, and giving them back.
 *
 * A call that has to wait for a lock waits in a thread of its own, so that waiting locks take no
 * worker away; there may be LOCK_WAITS_MAX of them, the next one gets ENOLCK. Any signal to the
 * program ends the wait with EINTR, within the 50 ms in which share/ asks.
 *
 * Locks go at close(2): the kernel's FLUSH brings the owner. Opens for reading send none (it would
 * cost a call per close), so their owners are noted in the handle and let go when the last
 * descriptor of that open is closed. That is later than POSIX has it where a descriptor that was
 * opened for reading lives on in a child.
 */
#ifndef LARDER_MOUNT_LOCK_H
#define LARDER_MOUNT_LOCK_H

#include <pthread.h>
#include <stdbool.h>

#include "mount/fuse.h"
#include "mount/handle.h"

#define LOCK_WAITS_MAX 1024

struct mount;

struct lock_waits {
    pthread_mutex_t lock; /* a leaf */
    pthread_cond_t fewer;
    unsigned count; /* threads that wait for a lock; protected by lock */
    bool end;       /* protected by lock */
};

void lock_waits_init(struct lock_waits *w);
/* Ends all waits; no new ones may come. */
void lock_waits_done(struct lock_waits *w);

/* What goes with the last descriptor of an open. */
void handle_locks_release(struct mount *m, struct handle *handle, const struct fuse_file_info *fi);

#endif
