/*
 * The table of the kernel's calls, and the look-ups; directories are in dir.c, changes of names and
 * attributes in change.c, files in file.c, their data in write.c, locks in lock.c.
 *
 * A handler runs on one of the session's worker threads and blocks for as long as share/ does. It
 * answers exactly once, or not at all where its caller died meanwhile (call.h). What share/
 * believes and for how long becomes the kernel's timeouts, if the profile lets the kernel keep
 * anything; otherwise they are 0 and every call comes here.
 *
 * Read-only is enforced here, whatever the kernel's mount flags say (mount.h).
 *
 * Calls that have no handler are answered ENOSYS by libfuse, and the kernel does not ask again:
 * extended attributes and the like.
 */
#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "mount/session.h"

#define STATFS_LIFETIME NS_PER_SEC

const char *upcall_name(enum upcall u)
{
    static const char *const names[UPCALLS] = {
        [UPCALL_LOOKUP] = "LOOKUP",
        [UPCALL_GETATTR] = "GETATTR",
        [UPCALL_SETATTR] = "SETATTR",
        [UPCALL_ACCESS] = "ACCESS",
        [UPCALL_STATFS] = "STATFS",
        [UPCALL_OPENDIR] = "OPENDIR",
        [UPCALL_READDIR] = "READDIR",
        [UPCALL_READDIRPLUS] = "READDIRPLUS",
        [UPCALL_RELEASEDIR] = "RELEASEDIR",
        [UPCALL_FSYNCDIR] = "FSYNCDIR",
        [UPCALL_MKNOD] = "MKNOD",
        [UPCALL_MKDIR] = "MKDIR",
        [UPCALL_SYMLINK] = "SYMLINK",
        [UPCALL_READLINK] = "READLINK",
        [UPCALL_LINK] = "LINK",
        [UPCALL_UNLINK] = "UNLINK",
        [UPCALL_RMDIR] = "RMDIR",
        [UPCALL_RENAME] = "RENAME",
        [UPCALL_CREATE] = "CREATE",
        [UPCALL_OPEN] = "OPEN",
        [UPCALL_READ] = "READ",
        [UPCALL_WRITE] = "WRITE",
        [UPCALL_FLUSH] = "FLUSH",
        [UPCALL_FSYNC] = "FSYNC",
        [UPCALL_FALLOCATE] = "FALLOCATE",
        [UPCALL_LSEEK] = "LSEEK",
        [UPCALL_COPY] = "COPY_FILE_RANGE",
        [UPCALL_RELEASE] = "RELEASE",
        [UPCALL_GETLK] = "GETLK",
        [UPCALL_SETLK] = "SETLK",
        [UPCALL_FLOCK] = "FLOCK",
        [UPCALL_REFUSED] = "refused",
    };
    return names[u];
}

/* The kernel asks for a name that it holds, and whose time is not over, only before it makes it,
 * moves something there, or after an answer that its node is void. What it is told then decides: it
 * refuses by itself to make what is there. So the server is asked, whatever is believed.
 *
 * A file that was written and closed just now may be found before its release has been handled. */
static int look_up(struct mount *m, struct node *dir, const char *name, struct share_entry *ret)
{
    bool anew = m->kernel_cache && known_holds(&m->nodes, dir->id, name);
    int rc = anew ? share_lookup_anew(m->share, dir->share, name, ret, NULL)
                  : share_lookup(m->share, dir->share, name, ret, NULL);
    if (rc < 0 || !handles_settle_written(&m->handles, nodes_id(&m->nodes, ret->node)))
        return rc;
    share_node_unref(m->share, ret->node);
    *ret = (struct share_entry){0};
    return share_lookup(m->share, dir->share, name, ret, NULL);
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    if (selfop_looks_up(req, parent, name))
        return;
    struct mount *m = call_of(req, UPCALL_LOOKUP);
    struct node *dir = nodes_hold(&m->nodes, parent);
    if (!dir)
        return reply_error(req, -ESTALE);

    struct share_entry found = {0};
    struct call call;
    struct about what = about(m, parent, name);
    call_begin(&m->calls, req, &call);
    int rc = look_up(m, dir, name, &found);
    bool there = call_end(&m->calls, &call);
    nodes_forget(&m->nodes, parent, 1);
    if (!there && rc == 0)
        share_node_unref(m->share, found.node);
    if (!there)
        return;
    if (rc == -EILSEQ)
        rc = -ENOENT; /* what is no UTF-8 is no name on any server */
    if (rc == -ENOENT && m->kernel_cache &&
        known_none(&m->nodes, parent, name, found.valid_ns, what.moment)) {
        /* Node number 0: the kernel may remember for a time that there is none. */
        struct fuse_entry_param none = {.entry_timeout = kernel_timeout(m, found.valid_ns, true)};
        fuse_reply_entry(req, &none);
        return;
    }
    reply_entry(m, req, &what, rc, &found);
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t lookups)
{
    struct mount *m = fuse_req_userdata(req);
    nodes_forget(&m->nodes, ino, lookups);
    fuse_reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
    struct mount *m = fuse_req_userdata(req);
    for (size_t i = 0; i < count; i++)
        nodes_forget(&m->nodes, forgets[i].ino, forgets[i].nlookup);
    fuse_reply_none(req);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct mount *m = call_of(req, UPCALL_GETATTR);
    struct node *node = nodes_hold(&m->nodes, ino);
    if (!node)
        return reply_error(req, -ESTALE);

    struct share_entry found = {0};
    struct call call;
    uint64_t moment = known_moment(&m->nodes);
    call_begin(&m->calls, req, &call);
    int rc = node_getattr(m, node, &found);
    bool there = call_end(&m->calls, &call);
    if (there && rc == 0)
        reply_attr(m, req, node, &found, moment);
    else if (there)
        reply_error(req, rc);
    nodes_forget(&m->nodes, ino, 1);
}

/* access(2) and chdir(2), unless the kernel checks modes itself (allow_other). Only whether a file
 * is writable depends on it, by its attribute READONLY. */
static void op_access(fuse_req_t req, fuse_ino_t ino, int mask)
{
    struct mount *m = call_of(req, UPCALL_ACCESS);
    if (!(mask & W_OK))
        return (void)fuse_reply_err(req, 0);
    if (m->read_only)
        return (void)fuse_reply_err(req, EROFS);
    struct node *node = nodes_hold(&m->nodes, ino);
    if (!node)
        return reply_error(req, -ESTALE);
    struct share_entry found = {0};
    struct call call;
    call_begin(&m->calls, req, &call);
    int rc = node_getattr(m, node, &found);
    bool there = call_end(&m->calls, &call);
    nodes_forget(&m->nodes, ino, 1);
    if (rc == 0 && !file_attr_is_dir(&found.attr) &&
        found.attr.attributes & FILE_ATTRIBUTE_READONLY)
        rc = -EACCES;
    if (there && rc < 0)
        reply_error(req, rc);
    else if (there)
        fuse_reply_err(req, 0);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
    struct mount *m = call_of(req, UPCALL_STATFS);
    pthread_mutex_lock(&m->statfs_lock);
    struct share_statfs s = m->statfs;
    bool known = clock_now() < m->statfs_until;
    pthread_mutex_unlock(&m->statfs_lock);

    if (!known) {
        uint64_t asked = clock_now();
        struct call call;
        call_begin(&m->calls, req, &call);
        int rc = share_statfs(m->share, &s, NULL);
        if (!call_end(&m->calls, &call))
            return;
        if (rc < 0)
            return reply_error(req, rc);
        pthread_mutex_lock(&m->statfs_lock);
        m->statfs = s;
        m->statfs_until = asked + STATFS_LIFETIME;
        pthread_mutex_unlock(&m->statfs_lock);
    }

    uint32_t block = s.block_size ? s.block_size : 4096;
    struct statvfs st = {
        .f_bsize = block,
        .f_frsize = block,
        .f_blocks = s.total_bytes / block,
        .f_bfree = s.free_bytes / block,
        .f_bavail = s.available_bytes / block,
        .f_namemax = s.name_max ? s.name_max : 255,
    };
    fuse_reply_statfs(req, &st);
}

/* ---- the session's beginning ---- */

#define MINOR_APPEND_DIRECT 40 /* from here on a write past the pages drops them itself */

static void op_init(void *user, struct fuse_conn_info *conn)
{
    struct mount *m = user;
    m->append_direct = conn->proto_minor >= MINOR_APPEND_DIRECT;
    conn->time_gran = 100; /* FILETIMEs */
    /* All reads count as background requests; at the default of 12 the rest would queue. */
    conn->max_background = 64;
    conn->congestion_threshold = 48;

    /* Serve wrong bytes on a share that others change: the kernel would ignore the server's size
     * and time, or keep pages of the state before. */
    conn->want &= ~(unsigned)(FUSE_CAP_WRITEBACK_CACHE | FUSE_CAP_EXPLICIT_INVAL_DATA);
    conn->want |= conn->capable & (FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_PARALLEL_DIROPS);
    m->revoke.can_expire = conn->capable & FUSE_CAP_EXPIRE_ONLY;

    /* With O_TRUNC in the open it is one request; locks that the server does not get are kept by
     * the kernel. */
    unsigned locks = FUSE_CAP_POSIX_LOCKS | FUSE_CAP_FLOCK_LOCKS;
    conn->want |= conn->capable & FUSE_CAP_ATOMIC_O_TRUNC;
    conn->want &= ~locks;
    if (m->server_locks)
        conn->want |= conn->capable & locks;

    /* What the kernel may not keep need not be sent along with listings. */
    unsigned plus = FUSE_CAP_READDIRPLUS | FUSE_CAP_READDIRPLUS_AUTO;
    conn->want &= ~plus;
    if (m->kernel_cache)
        conn->want |= conn->capable & plus;
}

const struct fuse_lowlevel_ops mount_ops = {
    .init = op_init,
    .lookup = op_lookup,
    .forget = op_forget,
    .forget_multi = op_forget_multi,
    .getattr = op_getattr,
    .setattr = op_setattr,
    .access = op_access,
    .statfs = op_statfs,
    .opendir = op_opendir,
    .readdir = op_readdir,
    .readdirplus = op_readdirplus,
    .releasedir = op_releasedir,
    .fsyncdir = op_fsyncdir,
    .mknod = op_mknod,
    .mkdir = op_mkdir,
    .symlink = op_symlink,
    .readlink = op_readlink,
    .link = op_link,
    .unlink = op_unlink,
    .rmdir = op_rmdir,
    .rename = op_rename,
    .create = op_create,
    .open = op_open,
    .read = op_read,
    .write = op_write,
    .flush = op_flush,
    .fsync = op_fsync,
    .fallocate = op_fallocate,
    .lseek = op_lseek,
    .copy_file_range = op_copy_file_range,
    .release = op_release,
    .getlk = op_getlk,
    .setlk = op_setlk,
    .flock = op_flock,
};
