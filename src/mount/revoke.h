/*
 * Telling the kernel what it has to forget before its time.
 *
 * The mount listens to what share/ finds out from outside (share_listen) and marks what the kernel
 * was given of it (known.h). One thread takes the marks and tells the kernel. It has to be a thread
 * of its own, since it waits: for whatever call of the kernel is under way in the directory whose
 * name it revokes, and for pages that are being read or written. No handler waits for it, hence
 * nothing waits in a circle. So what is revoked is gone a moment (some 0.1 ms) after it was marked,
 * or when the slowest call under way in that directory has been answered.
 *
 * How a name is revoked, and why in this order (a file's name, then its node): taking the name off
 * waits for the look-ups under way there, after which the node is known to the kernel and its
 * attributes can be revoked. A directory's name is expired instead, where the kernel can: taking it
 * off would unmount what is mounted beneath and make its users stand nowhere. An expiry loses
 * against a revalidation whose answer is just being taken in, so it is done once more a little
 * later. Kernels before 6.2 only take off; there it is done if nothing is mounted beneath. When
 * everything is wrong the kernel expires all names at once where it can (6.16), with the same
 * exception.
 */
#ifndef LARDER_MOUNT_REVOKE_H
#define LARDER_MOUNT_REVOKE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "mount/handle.h"
#include "mount/known.h"

struct revoke {
    struct nodes *nodes;          /* borrowed; its lock protects what follows */
    struct handles *handles;      /* borrowed */
    struct fuse_session *session; /* constant */
    const unsigned *device;       /* major, minor; constant */
    bool can_expire;              /* by init, before anything is given; constant then */
    pthread_t thread;             /* constant */
    struct list after;            /* struct then: what is to be done when pages are told */
    struct list again;            /* struct again: what is expired once more; oldest first */
    unsigned again_count;         /* of these */
    bool started, telling, end;
};

void revoke_init(struct revoke *r, struct nodes *nodes, struct handles *handles);
/* Starts the thread. A negative errno. */
int revoke_start(struct revoke *r, struct fuse_session *session, const unsigned device[2]);
/* Ends it. `abort` is called where it waits for a call that nobody will answer any more, and has to
 * free it. */
void revoke_done(struct revoke *r, void (*abort)(void *user), void *user);

/* Revokes the file's pages and attributes, and then calls `then` on the thread, or from
 * revoke_done. False: no memory, nothing happens. For an answer that may only go out after it: the
 * thread waits for pages that are being read and written, so a handler must not. */
bool revoke_pages_first(struct revoke *r, fuse_ino_t node, void (*then)(void *user), void *user);

/* What share/ tells goes to the marks. `listener.user` is the nodes. */
void revoke_listen(struct revoke *r, struct share *share);

#endif
