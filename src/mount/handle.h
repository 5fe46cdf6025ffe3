/*
 * What programs have open on a mount: one handle per open file and open directory. The kernel keeps
 * the handle's address between open and release.
 *
 * All handles stand in one table, because a release does not always come: a file system that is
 * taken away under its users ends without one, and what they had open must still be given back to
 * share/. A call that waits for the server holds a reference beside the kernel's, since the kernel
 * may release a handle whose reader it has given up.
 */
#ifndef LARDER_MOUNT_HANDLE_H
#define LARDER_MOUNT_HANDLE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/hash.h"
#include "mount/ahead.h"
#include "mount/fuse.h"
#include "share/share.h"

struct handle {
    struct hash_node by_node; /* protected by handles->lock */
    unsigned refs;            /* protected by handles->lock */
    fuse_ino_t node;          /* constant */
    struct share_file *file;  /* an open file; NULL in a directory's handle. Constant */
    atomic_bool wrote;        /* data was, or may have been, changed by it */
    struct window *window;    /* what is read ahead of it; NULL: nothing ever. Constant */
    bool flushed;             /* a descriptor of it was closed; protected by handles->lock */

    pthread_mutex_t lock;          /* one reader of a directory stream at a time; a leaf else */
    struct share_listing *listing; /* an open directory; NULL until first read; protected by lock */
    uint64_t *owners;              /* who had locks by a handle that is not flushed; under lock */
    size_t owner_count;            /* protected by lock */
};

struct handles {
    pthread_mutex_t lock;  /* a leaf */
    pthread_cond_t closed; /* a file's handle was destroyed */
    struct share *share;   /* borrowed */
    struct ahead *ahead;   /* borrowed */
    struct hash by_node;   /* protected by lock */
    size_t files;          /* handles of files; protected by lock */
    uint64_t closings;     /* of files, so far; protected by lock */
};

void handles_init(struct handles *h, struct share *share, struct ahead *ahead);
void handles_done(struct handles *h); /* closes what is still open */

/* Takes `file` over (NULL for a directory), also on failure. -ENOMEM. */
int handle_new(struct handles *h, fuse_ino_t node, struct share_file *file, struct handle **ret);
void handle_ref(struct handles *h, struct handle *handle);
void handle_unref(struct handles *h, struct handle *handle); /* the last one closes it */

/* An open of this file, a reference; NULL: it is not open. One that writes if there is one, and
 * among those one that wrote; with `writes` only such. */
struct handle *handles_find(struct handles *h, fuse_ino_t node, bool writes);
/* The file is in another state than it was: what came along with opens of it is old. `but` (may be
 * NULL) is left alone. */
void handles_changed(struct handles *h, fuse_ino_t node, const struct handle *but);

bool handles_any_file(struct handles *h);
/* A descriptor of the handle was closed: its release may come at any moment. */
void handle_flushed(struct handles *h, struct handle *handle);
/* Waits, for a few milliseconds at most, until no handle of this file may be just about to be
 * released. */
void handles_settle(struct handles *h, fuse_ino_t node);
/* The same for what wrote: until it is closed a server may tell times of before. Whether anything
 * was waited for. */
bool handles_settle_written(struct handles *h, fuse_ino_t node);

/* How many files were closed so far. */
uint64_t handles_closings(struct handles *h);
/* Whether one was since `closings`, or is within a few milliseconds. */
bool handles_closed_since(struct handles *h, uint64_t closings);

/* The handle behind `fh`, which the kernel carries as a number. */
static inline struct handle *handle_of(const struct fuse_file_info *fi)
{
    return (struct handle *)(uintptr_t)fi->fh;
}

#endif
