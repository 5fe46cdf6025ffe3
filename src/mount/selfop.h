/*
 * Self-operations: how a remote change becomes an inotify event.
 *
 * The kernel raises events for what is done through its own calls, and for nothing that a file
 * system tells it. So the change that has already happened on the server is made on the mount once
 * more, by a process of ours (helper.h), and the daemon answers that process from what it knows:
 * no request leaves. Before the call the kernel is shown the state before the change; afterwards it
 * has the state after it.
 *
 * There is one record of what is expected. A call of the helper's that does not match it is refused
 * (ECANCELED) and never forwarded, whenever it comes; look-ups on its way to the directory are
 * answered from what was last heard. It is known by its process id, which is given up before the
 * process is reaped, since ids are used again.
 *
 * No handler waits for the helper: it waits for them. The record's lock is above share's.
 */
#ifndef LARDER_MOUNT_SELFOP_H
#define LARDER_MOUNT_SELFOP_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "mount/fuse.h"
#include "mount/helper.h"
#include "share/share.h"

struct selfop {
    enum helper_call call;
    fuse_ino_t dir;
    const char *name, *new_name; /* borrowed while it is expected; new_name of HELPER_RENAME */
    struct share_entry entry;    /* what is told of it; node borrowed likewise. NULL: nobody knows
                                    any more what it was, but for attr.attributes */
    uint64_t moment;             /* known_moment from before it was asked for */
};

struct selfops {
    pthread_mutex_t lock;
    atomic_int helper;         /* its process id; 0: none */
    const struct selfop *want; /* protected by lock; NULL: nothing is expected */
    uint64_t strangers;        /* node numbers for files that nobody knows; protected by lock */
};

void selfops_init(struct selfops *s);
void selfops_done(struct selfops *s);
/* From now on this is what the helper's calls are held against; NULL: nothing any more. */
void selfop_expect(struct selfops *s, const struct selfop *want);

/* For the handlers, first thing: whether the call is the helper's, and has been answered. */
bool selfop_looks_up(fuse_req_t req, fuse_ino_t parent, const char *name);
bool selfop_makes(fuse_req_t req, enum helper_call call, fuse_ino_t parent, const char *name);
bool selfop_removes(fuse_req_t req, enum helper_call call, fuse_ino_t parent, const char *name);
bool selfop_renames(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
                    const char *new_name);
bool selfop_touches(fuse_req_t req, fuse_ino_t ino);

#endif
