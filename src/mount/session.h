/* One mount from the inside: what the handlers of file-system calls work on. Inside mount/ only. */
#ifndef LARDER_MOUNT_SESSION_H
#define LARDER_MOUNT_SESSION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "mount/ahead.h"
#include "mount/attr.h"
#include "mount/call.h"
#include "mount/fuse.h"
#include "mount/handle.h"
#include "mount/known.h"
#include "mount/lock.h"
#include "mount/node.h"
#include "mount/raiser.h"
#include "mount/revoke.h"
#include "mount/selfop.h"
#include "mount/watchers.h"
#include "share/share.h"

/* Calls of the kernel, counted for `larder stats`. */
enum upcall {
    UPCALL_LOOKUP,
    UPCALL_GETATTR,
    UPCALL_SETATTR,
    UPCALL_ACCESS,
    UPCALL_STATFS,
    UPCALL_OPENDIR,
    UPCALL_READDIR,
    UPCALL_READDIRPLUS,
    UPCALL_RELEASEDIR,
    UPCALL_FSYNCDIR,
    UPCALL_MKNOD,
    UPCALL_MKDIR,
    UPCALL_SYMLINK,
    UPCALL_READLINK,
    UPCALL_LINK,
    UPCALL_UNLINK,
    UPCALL_RMDIR,
    UPCALL_RENAME,
    UPCALL_CREATE,
    UPCALL_OPEN,
    UPCALL_READ,
    UPCALL_WRITE,
    UPCALL_FLUSH,
    UPCALL_FSYNC,
    UPCALL_FALLOCATE,
    UPCALL_LSEEK,
    UPCALL_COPY,
    UPCALL_RELEASE,
    UPCALL_GETLK,
    UPCALL_SETLK,
    UPCALL_FLOCK,
    UPCALL_REFUSED, /* a change on a read-only mount: EROFS */
    UPCALLS
};
const char *upcall_name(enum upcall u);

struct mount {
    struct share *share; /* borrowed */
    char *mountpoint;    /* canonical */
    unsigned device[2];  /* major, minor */
    unsigned max_threads;
    bool kernel_cache;  /* the profile lets the kernel keep what it was told; constant */
    bool read_only;     /* constant */
    bool lazy_fsync;    /* constant */
    bool server_locks;  /* locks are asked for here, not kept by the kernel alone; constant */
    bool mfsymlinks;    /* some files are symbolic links; constant */
    bool append_direct; /* opens with O_APPEND go past the kernel's pages; by init, then constant */
    struct attr_rules rules;
    struct fuse_session *session;
    struct nodes nodes;
    struct ahead ahead;
    struct handles handles;
    struct calls calls;
    struct revoke revoke;
    struct lock_waits lock_waits;
    struct selfops selfops;
    struct raiser *raiser;     /* NULL: nobody tells inotify (setting Inotify); and its ... */
    struct watchers *watchers; /* ... source */
    struct control *control;
    struct watchdog *watchdog;    /* NULL where there is no fusectl file system */
    struct share_outages outages; /* those that were logged; control thread only */

    atomic_bool aliases; /* some name was found under another spelling than the server's */
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

/* How long the kernel may keep something, in seconds as libfuse takes them: as long as share/
 * believes it, under a promise of the server's too, since the kernel is told when that ends
 * (revoke.h). `fresh`: nothing about it was revoked since it was asked for (known.h). */
static inline double kernel_timeout(const struct mount *m, uint64_t valid_ns, bool fresh)
{
    return m->kernel_cache && fresh ? (double)valid_ns / 1e9 : 0;
}

extern const struct fuse_lowlevel_ops mount_ops;

/* ---- answer.c ---- */

/* Answers with the error `rc` (a negative errno). */
void reply_error(fuse_req_t req, int rc);
/* The mount of a call that changes something, counting it; NULL: refused and answered, for the
 * mount is read-only. */
struct mount *change_of(fuse_req_t req, enum upcall u);

/* A name that an answer is about, and known_moment from before share/ was asked. */
struct about {
    fuse_ino_t dir;
    const char *name;
    uint64_t moment;
};
static inline struct about about(struct mount *m, fuse_ino_t dir, const char *name)
{
    return (struct about){dir, name, known_moment(&m->nodes)};
}

/* Fills `ret` for an entry whose share_node gets one more look-up; takes entry->node over, also on
 * failure. */
int enter_entry(struct mount *m, const struct about *what, const struct share_entry *entry,
                struct fuse_entry_param *ret);
/* Answers with the entry, or where `rc` says so with the error; takes entry->node over. */
void reply_entry(struct mount *m, fuse_req_t req, const struct about *what, int rc,
                 const struct share_entry *entry);
/* `moment`: known_moment from before it was asked for. */
void reply_attr(struct mount *m, fuse_req_t req, struct node *node, const struct share_entry *found,
                uint64_t moment);

/* The attributes of a node: by its name, or where it has none any more by an open of it. */
int node_getattr(struct mount *m, const struct node *node, struct share_entry *ret);

/* The file's data was, or may have been, changed by a call that is about to be answered. `by` (may
 * be NULL) is the handle that did it. */
void data_changed(struct mount *m, struct node *node, struct handle *by);

/* ---- handlers ---- */

/* dir.c */
void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi);
void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
                    struct fuse_file_info *fi);
void op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi);

/* change.c */
void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev);
void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode);
void op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name);
void op_readlink(fuse_req_t req, fuse_ino_t ino);
void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t new_parent, const char *new_name);
void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name);
void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name);
void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
               const char *new_name, unsigned int flags);
void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
                struct fuse_file_info *fi);

/* file.c */
void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
               struct fuse_file_info *fi);
void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi);
void op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);

/* write.c */
void op_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t off,
              struct fuse_file_info *fi);
void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi);
void op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t offset, off_t length,
                  struct fuse_file_info *fi);
void op_lseek(fuse_req_t req, fuse_ino_t ino, off_t off, int whence, struct fuse_file_info *fi);
void op_copy_file_range(fuse_req_t req, fuse_ino_t ino_in, off_t off_in,
                        struct fuse_file_info *fi_in, fuse_ino_t ino_out, off_t off_out,
                        struct fuse_file_info *fi_out, size_t len, int flags);

/* lock.c */
void op_getlk(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct flock *lock);
void op_setlk(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct flock *lock,
              int sleep);
void op_flock(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, int op);

#endif
