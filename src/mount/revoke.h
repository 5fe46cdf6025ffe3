/*
 * What the kernel was told and has to forget before its time.
 *
 * On a server that folds case one file answers to many spellings, and the kernel knows nothing of
 * that: to it they are names of their own. A positive entry gets a timeout only under the server's
 * own spelling, so other spellings are asked for each time. But that there is no such name may be
 * told for any spelling, and all of them are wrong as soon as one appears. So every negative that
 * goes out is remembered by its folded name until its time is over, and revoked when this mount
 * makes any spelling of it. There is a bound: what cannot be remembered is told without a timeout.
 *
 * The kernel is told by a thread of its own, since it waits for the directory: for whatever call of
 * the kernel is under way there, the one that made the name among them. No handler waits for it.
 * So a name revoked is gone a moment (some 0.1 ms) after the call that made it has returned.
 *
 * Lock order: the lock is a leaf; nothing is called under it, the kernel least of all.
 */
#ifndef LARDER_MOUNT_REVOKE_H
#define LARDER_MOUNT_REVOKE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/list.h"
#include "mount/fuse.h"

#define REVOKE_NEGATIVES_MAX 65536 /* some 10 MB with names of usual length */

struct revoke {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct fuse_session *session; /* constant */
    pthread_t thread;             /* constant */
    struct hash negatives;        /* struct spelling by directory and folded name; under lock */
    struct list given;            /* the same in the order given; protected by lock */
    struct list todo;             /* what the thread is to tell; protected by lock */
    bool started, telling, end;   /* protected by lock */
};

void revoke_init(struct revoke *r);
/* Starts the thread. A negative errno. */
int revoke_start(struct revoke *r, struct fuse_session *session);
/* Ends it. `abort` is called where it waits for a call that nobody will answer any more, and has to
 * free it. */
void revoke_done(struct revoke *r, void (*abort)(void *user), void *user);

/* The kernel is about to be told that `dir` has no `name`, for so long. False: not to be told for
 * any time. */
bool revoke_negative(struct revoke *r, fuse_ino_t dir, const char *name, uint64_t valid_ns);
/* `name` is there now by a call of the kernel's own: other spellings of it that are held to be
 * missing are revoked. */
void revoke_appeared(struct revoke *r, fuse_ino_t dir, const char *name);
/* What the kernel holds under exactly this name. */
void revoke_name(struct revoke *r, fuse_ino_t dir, const char *name);
/* All pages and attributes of a file. */
void revoke_pages(struct revoke *r, fuse_ino_t node);
/* The same, and then calls `then` on the thread, or from revoke_done. False: no memory, nothing
 * happens. For an answer that may only go out after it: the thread waits for pages that are being
 * read and written, so a handler must not. */
bool revoke_pages_first(struct revoke *r, fuse_ino_t node, void (*then)(void *user), void *user);

#endif
