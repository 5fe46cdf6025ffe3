/*
 * What programs have open on a mount: one handle per open file and open directory. The kernel keeps
 * the handle's address between open and release.
 *
 * All handles stand in one list, because a release does not always come: a file system that is
 * taken away under its users ends without one, and what they had open must still be given back to
 * share/. A call that waits for the server holds a reference beside the kernel's, since the kernel
 * may release a handle whose reader it has given up.
 */
#ifndef LARDER_MOUNT_HANDLE_H
#define LARDER_MOUNT_HANDLE_H

#include <pthread.h>

#include "base/list.h"
#include "mount/fuse.h"
#include "share/share.h"

struct handle {
    struct list link;              /* protected by handles->lock */
    unsigned refs;                 /* protected by handles->lock */
    fuse_ino_t node;               /* constant */
    struct share_file *file;       /* an open file; NULL in a directory's handle. Constant */
    pthread_mutex_t lock;          /* one reader of a directory stream at a time */
    struct share_listing *listing; /* an open directory; NULL until first read; protected by lock */
};

struct handles {
    pthread_mutex_t lock; /* a leaf */
    struct share *share;  /* borrowed */
    struct list all;      /* protected by lock */
};

void handles_init(struct handles *h, struct share *share);
void handles_done(struct handles *h); /* closes what is still open */

/* Takes `file` over (NULL for a directory), also on failure. -ENOMEM. */
int handle_new(struct handles *h, fuse_ino_t node, struct share_file *file, struct handle **ret);
void handle_ref(struct handles *h, struct handle *handle);
void handle_unref(struct handles *h, struct handle *handle); /* the last one closes it */

/* An open of this file, a reference; NULL: it is not open. */
struct handle *handles_find(struct handles *h, fuse_ino_t node);
/* An open found the file in another state than those before: what came with them is old. */
void handles_changed(struct handles *h, const struct handle *by);

/* The handle behind `fh`, which the kernel carries as a number. */
static inline struct handle *handle_of(const struct fuse_file_info *fi)
{
    return (struct handle *)(uintptr_t)fi->fh;
}

#endif
