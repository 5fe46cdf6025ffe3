/*
 * The calls of the kernel, one function each; directories are in dir.c, files in file.c.
 *
 * A handler runs on one of the session's worker threads and blocks for as long as share/ does. It
 * answers exactly once, or not at all where its caller died meanwhile (call.h). What share/
 * believes and for how long becomes the kernel's timeouts, if the profile lets the kernel keep
 * anything; otherwise they are 0 and every call comes here.
 *
 * A positive entry gets a timeout only under the server's own spelling: of a name that was asked
 * for in another case the kernel would keep an alias that no later change of the file can reach.
 *
 * Calls that have no handler are answered ENOSYS by libfuse, and the kernel does not ask again:
 * extended attributes, flush, fsync, locks (which then work within this machine).
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
        [UPCALL_ACCESS] = "ACCESS",
        [UPCALL_OPEN] = "OPEN",
        [UPCALL_READ] = "READ",
        [UPCALL_RELEASE] = "RELEASE",
        [UPCALL_OPENDIR] = "OPENDIR",
        [UPCALL_READDIR] = "READDIR",
        [UPCALL_READDIRPLUS] = "READDIRPLUS",
        [UPCALL_RELEASEDIR] = "RELEASEDIR",
        [UPCALL_STATFS] = "STATFS",
        [UPCALL_REFUSED] = "refused",
    };
    return names[u];
}

void reply_error(fuse_req_t req, int rc)
{
    int code = -rc;
    if (code == EILSEQ)
        code = EINVAL; /* a name that is no UTF-8 */
    if (code <= 0 || code >= 512)
        code = EIO; /* the kernel's own numbers and nonsense do not go out */
    fuse_reply_err(req, code);
}

int enter_entry(struct mount *m, const struct share_entry *entry, struct fuse_entry_param *ret)
{
    fuse_ino_t id;
    int rc = nodes_enter(&m->nodes, entry->node, entry->ino, &id);
    if (rc < 0)
        return rc;
    *ret = (struct fuse_entry_param){
        .ino = id,
        .attr_timeout = kernel_timeout(m, entry->valid_ns),
        .entry_timeout = entry->exact ? kernel_timeout(m, entry->valid_ns) : 0,
    };
    attr_to_stat(&m->rules, &entry->attr, entry->ino, &ret->attr);
    nodes_tell(&m->nodes, nodes_get(&m->nodes, id), &entry->attr); /* just entered: it is there */
    return 0;
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    struct mount *m = call_of(req, UPCALL_LOOKUP);
    struct node *dir = nodes_hold(&m->nodes, parent);
    if (!dir)
        return reply_error(req, -ESTALE);

    struct share_entry found = {0};
    struct fuse_entry_param entry = {0};
    struct call call;
    call_begin(&m->calls, req, &call);
    int rc = share_lookup(m->share, dir->share, name, &found, NULL);
    bool there = call_end(&m->calls, &call);
    nodes_forget(&m->nodes, parent, 1);
    if (!there && rc == 0)
        share_node_unref(m->share, found.node);
    if (!there)
        return;
    if (rc == -EILSEQ)
        rc = -ENOENT; /* what is no UTF-8 is no name on any server */
    if (rc == -ENOENT && kernel_timeout(m, found.valid_ns) > 0) {
        /* Node number 0: the kernel may remember for a time that there is none. */
        entry.entry_timeout = kernel_timeout(m, found.valid_ns);
        fuse_reply_entry(req, &entry);
        return;
    }
    if (rc == 0)
        rc = enter_entry(m, &found, &entry);
    if (rc < 0)
        return reply_error(req, rc);
    if (fuse_reply_entry(req, &entry) < 0)
        nodes_forget(&m->nodes, entry.ino, 1);
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

/* A file that was removed or replaced on the server is still there for those who have it open. */
static int getattr(struct mount *m, const struct node *node, struct share_entry *ret)
{
    int rc = share_getattr(m->share, node->share, ret, NULL);
    if (rc != -ENOENT && rc != -ENOTDIR && rc != -ESTALE)
        return rc;
    struct handle *handle = handles_find(&m->handles, node->id);
    if (!handle)
        return rc;
    rc = share_file_getattr(m->share, node->share, handle->file, ret, NULL);
    handle_unref(&m->handles, handle);
    return rc;
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct mount *m = call_of(req, UPCALL_GETATTR);
    struct node *node = nodes_hold(&m->nodes, ino);
    if (!node)
        return reply_error(req, -ESTALE);

    struct share_entry found = {0};
    struct call call;
    call_begin(&m->calls, req, &call);
    int rc = getattr(m, node, &found);
    bool there = call_end(&m->calls, &call);
    if (there && rc == 0) {
        nodes_set_ino(&m->nodes, node, found.ino);
        nodes_tell(&m->nodes, node, &found.attr);
        struct stat st;
        attr_to_stat(&m->rules, &found.attr, found.ino, &st);
        fuse_reply_attr(req, &st, kernel_timeout(m, found.valid_ns));
    } else if (there) {
        reply_error(req, rc);
    }
    nodes_forget(&m->nodes, ino, 1);
}

/* access(2) and chdir(2), unless the kernel checks modes itself (allow_other). No request: only
 * whether it is writable can be said without the server, and it never is. */
static void op_access(fuse_req_t req, fuse_ino_t ino, int mask)
{
    call_of(req, UPCALL_ACCESS);
    fuse_reply_err(req, mask & W_OK ? EROFS : 0);
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

/* ---- changes: refused here, whatever the kernel's mount flags say ---- */

static void refuse(fuse_req_t req)
{
    call_of(req, UPCALL_REFUSED);
    fuse_reply_err(req, EROFS);
}

static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
                       struct fuse_file_info *fi)
{
    refuse(req);
}

static void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev)
{
    refuse(req);
}

static void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
    refuse(req);
}

static void op_remove(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    refuse(req);
}

static void op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
    refuse(req);
}

static void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
                      const char *new_name, unsigned int flags)
{
    refuse(req);
}

static void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t new_parent, const char *new_name)
{
    refuse(req);
}

static void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
                      struct fuse_file_info *fi)
{
    refuse(req);
}

/* ---- the session's beginning ---- */

static void op_init(void *user, struct fuse_conn_info *conn)
{
    const struct mount *m = user;
    /* All reads count as background requests; at the default of 12 the rest would queue. */
    conn->max_background = 64;
    conn->congestion_threshold = 48;

    /* Serve wrong bytes on a share that others change: the kernel would ignore the server's size
     * and time, or keep pages of the state before. */
    conn->want &= ~(unsigned)(FUSE_CAP_WRITEBACK_CACHE | FUSE_CAP_EXPLICIT_INVAL_DATA);
    conn->want |= conn->capable & (FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_PARALLEL_DIROPS);

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
    .access = op_access,
    .statfs = op_statfs,
    .opendir = op_opendir,
    .readdir = op_readdir,
    .readdirplus = op_readdirplus,
    .releasedir = op_releasedir,
    .open = op_open,
    .read = op_read,
    .release = op_release,
    .setattr = op_setattr,
    .mknod = op_mknod,
    .mkdir = op_mkdir,
    .unlink = op_remove,
    .rmdir = op_remove,
    .symlink = op_symlink,
    .rename = op_rename,
    .link = op_link,
    .create = op_create,
};
