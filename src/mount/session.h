/* One mount from the inside: what the handlers of file-system calls work on. Inside mount/ only. */
#ifndef LARDER_MOUNT_SESSION_H
#define LARDER_MOUNT_SESSION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "mount/attr.h"
#include "mount/call.h"
#include "mount/fuse.h"
#include "mount/handle.h"
#include "mount/node.h"
#include "share/share.h"

/* Calls of the kernel, counted for `larder stats`. */
enum upcall {
    UPCALL_LOOKUP,
    UPCALL_GETATTR,
    UPCALL_ACCESS,
    UPCALL_OPEN,
    UPCALL_READ,
    UPCALL_RELEASE,
    UPCALL_OPENDIR,
    UPCALL_READDIR,
    UPCALL_READDIRPLUS,
    UPCALL_RELEASEDIR,
    UPCALL_STATFS,
    UPCALL_REFUSED, /* a change: EROFS */
    UPCALLS
};
const char *upcall_name(enum upcall u);

struct mount {
    struct share *share; /* borrowed */
    char *mountpoint;    /* canonical */
    unsigned device[2];  /* major, minor */
    unsigned max_threads;
    bool kernel_cache; /* the profile lets the kernel keep what it was told */
    struct attr_rules rules;
    struct fuse_session *session;
    struct nodes nodes;
    struct handles handles;
    struct calls calls;
    struct control *control;
    struct watchdog *watchdog; /* NULL where there is no fusectl file system */
    bool lost;                 /* that the server is gone was logged; control thread only */

    atomic_uint_fast64_t upcalls[UPCALLS];
    atomic_bool init_answered; /* the INIT reply went through write_reply() */

    pthread_mutex_t loop_lock; /* a leaf */
    pthread_t loop_thread;     /* protected by loop_lock */
    bool looping;              /* protected by loop_lock */

    pthread_mutex_t statfs_lock; /* a leaf */
    struct share_statfs statfs;  /* protected by statfs_lock, good until ... */
    uint64_t statfs_until;       /* protected by statfs_lock */
};

/* The mount of a call, counting it. */
static inline struct mount *call_of(fuse_req_t req, enum upcall u)
{
    struct mount *m = fuse_req_userdata(req);
    atomic_fetch_add_explicit(&m->upcalls[u], 1, memory_order_relaxed);
    return m;
}

/* How long the kernel may keep something, in seconds as libfuse takes them. */
static inline double kernel_timeout(const struct mount *m, uint64_t valid_ns)
{
    return m->kernel_cache ? (double)valid_ns / 1e9 : 0;
}

/* Fills `ret` for an entry whose share_node gets one more look-up; takes entry->node over, also on
 * failure. */
int enter_entry(struct mount *m, const struct share_entry *entry, struct fuse_entry_param *ret);

/* Answers with the error `rc` (a negative errno). */
void reply_error(fuse_req_t req, int rc);

extern const struct fuse_lowlevel_ops mount_ops;

/* dir.c */
void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi);
void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
                    struct fuse_file_info *fi);
void op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);

/* file.c */
void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi);
void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);

#endif
