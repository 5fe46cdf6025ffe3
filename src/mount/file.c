/*
 * Files: open, create, read, flush, release. What changes their data is in write.c.
 *
 * The kernel keeps a file's pages between opens only if the open says so, and may be told so only
 * if they are of the file as it is now: the open's own attributes are held against those of the
 * node's last open. Where they differ, no older open may bring pages of the state before any more:
 * what came along with those is dropped. So is what came along with this open where the file was
 * written through this mount meanwhile. Within one open the kernel checks by itself, with every
 * attribute reply. Where the pages are known to reach to the end of the file, the small file's
 * content need not come with the open.
 *
 * The kernel cuts reads at the size that it believes. Where the open finds another one than the
 * kernel was told, it is told to ask again before it reads, so that an open always shows the file
 * whole, as it is then. That notification waits for nothing (it drops attributes, no pages). The
 * same when a file that was written is closed, since the server may set its times then.
 *
 * Whoever opens for writing is given the right to read too, where the server grants it: a copy on
 * the server needs it of its target. What he writes may be delayed (share_write); close(2) has it
 * written, and reports what could not be. An open for reading sends no FLUSH at all.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "mount/session.h"

static unsigned how_of(const struct fuse_file_info *fi)
{
    unsigned how = (fi->flags & O_ACCMODE) == O_RDONLY ? SHARE_READ : SHARE_READ | SHARE_WRITE;
    if (fi->flags & O_TRUNC)
        how |= SHARE_WRITE | SHARE_TRUNCATE;
    if (fi->flags & O_EXCL)
        how |= SHARE_EXCLUSIVE; /* only op_create gets it */
    if (how & SHARE_WRITE && !(fi->flags & (O_SYNC | O_DSYNC)))
        how |= SHARE_DELAY;
    return how;
}

/* Whether what failed may go without the right to read, which its caller does not ask for. */
static bool may_do_without_reading(const struct fuse_file_info *fi, int rc)
{
    return rc == -EACCES && (fi->flags & O_ACCMODE) == O_WRONLY;
}

/* Opens with O_APPEND go past the kernel's pages where that is safe (write.c says why). */
static void fill_open(const struct mount *m, struct fuse_file_info *fi, struct handle *handle)
{
    fi->direct_io = m->append_direct && fi->flags & O_APPEND;
    fi->noflush = !share_file_writes(handle->file);
    fi->fh = (uintptr_t)handle;
}

/* An open that the kernel is about to be told of. `changes`: nodes_data_changes from before it was
 * asked for. */
static void settle_open(struct mount *m, struct node *node, struct fuse_file_info *fi,
                        struct handle *handle, const struct share_entry *entry, uint64_t changes)
{
    const struct file_attr *attr = &entry->attr;
    if (fi->flags & O_TRUNC)
        data_changed(m, node, handle);
    bool same = nodes_pages_keep(&m->nodes, node, attr, entry->vouched);
    if (!same)
        handles_changed(&m->handles, node->id, handle);
    if (nodes_data_changes(&m->nodes, node) != changes)
        share_file_changed(handle->file); /* nothing has been read ahead yet */
    fi->keep_cache = m->kernel_cache && same;
    if (m->kernel_cache && nodes_told_otherwise(&m->nodes, node, attr))
        fuse_lowlevel_notify_inval_inode(m->session, node->id, -1, 0);
    fill_open(m, fi, handle);
}

static int open_file(struct mount *m, const struct node *node, const struct fuse_file_info *fi,
                     struct share_file **ret, struct share_entry *ret_entry)
{
    unsigned how = how_of(fi);
    if (how == SHARE_READ && !(m->kernel_cache && nodes_pages_whole(&m->nodes, node)))
        how |= SHARE_WANT_DATA;
    int rc = share_open(m->share, node->share, how, ret, ret_entry, NULL);
    if (may_do_without_reading(fi, rc))
        rc = share_open(m->share, node->share, how & ~(unsigned)SHARE_READ, ret, ret_entry, NULL);
    return rc;
}

void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    bool writes = how_of(fi) & SHARE_WRITE;
    struct mount *m = writes ? change_of(req, UPCALL_OPEN) : call_of(req, UPCALL_OPEN);
    if (!m)
        return;
    struct node *node = nodes_hold(&m->nodes, ino);
    if (!node)
        return reply_error(req, -ESTALE);

    struct share_file *file;
    struct share_entry entry;
    struct handle *handle;
    struct call call;
    uint64_t changes = nodes_data_changes(&m->nodes, node);
    int rc = -EINTR;
    if (fi->flags & O_TRUNC ? call_begin_change(&m->calls, req, &call)
                            : (call_begin(&m->calls, req, &call), true))
        rc = open_file(m, node, fi, &file, &entry);
    bool there = call_end(&m->calls, &call);
    if (rc == -ENOENT)
        rc = -ESTALE; /* the name was believed: the kernel looks it up again, and may make it */
    if (rc == 0)
        rc = handle_new(&m->handles, ino, file, &handle);
    if (rc == 0)
        settle_open(m, node, fi, handle, &entry, changes);
    if (there && rc < 0)
        reply_error(req, rc);
    if (rc == 0 && (!there || fuse_reply_open(req, fi) < 0))
        handle_unref(&m->handles, handle); /* the caller is gone, no release will come */
    nodes_forget(&m->nodes, ino, 1);
}

/* ---- create ---- */

static int create_file(struct mount *m, struct node *dir, const char *name, mode_t mode,
                       const struct fuse_file_info *fi, struct share_file **ret,
                       struct share_entry *ret_entry)
{
    uint32_t attributes = mode & 0222 ? 0 : FILE_ATTRIBUTE_READONLY;
    unsigned how = how_of(fi);
    int rc = share_create(m->share, dir->share, name, how, attributes, ret, ret_entry, NULL, NULL);
    if (may_do_without_reading(fi, rc))
        rc = share_create(m->share, dir->share, name, how & ~(unsigned)SHARE_READ, attributes, ret,
                          ret_entry, NULL, NULL);
    return rc;
}

/* Without O_EXCL the file may have been there: then this is an open like any other, but for its
 * name. Takes `file` and entry->node over. */
static int enter_created(struct mount *m, const struct about *what, struct share_file *file,
                         const struct share_entry *entry, struct fuse_file_info *fi,
                         struct fuse_entry_param *ret_out, struct handle **ret_handle)
{
    int rc = enter_entry(m, what, entry, ret_out);
    if (rc < 0) {
        share_close(m->share, file);
        return rc;
    }
    struct node *node = nodes_get(&m->nodes, ret_out->ino);
    rc = handle_new(&m->handles, ret_out->ino, file, ret_handle);
    if (rc < 0) {
        nodes_forget(&m->nodes, ret_out->ino, 1);
        return rc;
    }
    if (fi->flags & O_TRUNC)
        data_changed(m, node, *ret_handle);
    nodes_pages_keep(&m->nodes, node, &entry->attr, entry->vouched);
    handles_changed(&m->handles, ret_out->ino, NULL);
    fill_open(m, fi, *ret_handle);
    return 0;
}

void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
               struct fuse_file_info *fi)
{
    struct mount *m = change_of(req, UPCALL_CREATE);
    if (!m)
        return;
    struct node *dir = nodes_hold(&m->nodes, parent);
    if (!dir)
        return reply_error(req, -ESTALE);

    struct share_file *file;
    struct share_entry entry;
    struct fuse_entry_param out;
    struct handle *handle;
    struct call call;
    struct about what = about(m, parent, name);
    int rc = -EINTR;
    if (call_begin_change(&m->calls, req, &call))
        rc = create_file(m, dir, name, mode, fi, &file, &entry);
    bool there = call_end(&m->calls, &call);
    nodes_forget(&m->nodes, parent, 1);
    if (rc == 0) {
        known_appeared(&m->nodes, parent, name);
        rc = enter_created(m, &what, file, &entry, fi, &out, &handle);
    }
    if (!there)
        known_name_wrong(&m->nodes, parent, name, strlen(name));
    if (there && rc < 0)
        reply_error(req, rc);
    if (rc == 0 && (!there || fuse_reply_create(req, &out, fi) < 0)) {
        handle_unref(&m->handles, handle);
        nodes_forget(&m->nodes, out.ino, 1);
    }
}

/* ---- the rest ---- */

void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
    struct mount *m = call_of(req, UPCALL_READ);
    struct node *node = nodes_hold(&m->nodes, ino);
    if (!node)
        return reply_error(req, -ESTALE);
    struct handle *handle = handle_of(fi);
    struct call call;
    handle_ref(&m->handles, handle);
    call_begin(&m->calls, req, &call);
    struct bytes bytes = {0};
    int rc = ahead_read(&m->ahead, handle, size, (uint64_t)off, &bytes);
    bool there = call_end(&m->calls, &call);
    handle_unref(&m->handles, handle);
    if (there && rc < 0) {
        reply_error(req, rc);
    } else if (there) {
        nodes_pages_read(&m->nodes, node, (uint64_t)off + bytes.len);
        fuse_reply_buf(req, bytes.data, bytes.len);
    }
    bytes_done(&bytes);
    nodes_forget(&m->nodes, ino, 1);
}

/* The times that the kernel was told may be others once the file is closed. */
static void times_may_change(struct mount *m, struct handle *handle)
{
    if (m->kernel_cache && atomic_load(&handle->wrote))
        fuse_lowlevel_notify_inval_inode(m->session, handle->node, -1, 0);
}

/* A descriptor is closed; there may be others. */
void op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct mount *m = call_of(req, UPCALL_FLUSH);
    struct handle *handle = handle_of(fi);
    uint64_t owner = fi->lock_owner; /* not there any more once nobody waits */
    struct call call;
    handle_ref(&m->handles, handle);
    call_begin(&m->calls, req, &call);
    int rc = share_flush(m->share, handle->file, NULL);
    if (m->server_locks)
        share_lock_release(m->share, handle->file, owner);
    handle_flushed(&m->handles, handle);
    times_may_change(m, handle);
    bool there = call_end(&m->calls, &call);
    handle_unref(&m->handles, handle);
    if (there && rc < 0)
        reply_error(req, rc);
    else if (there)
        fuse_reply_err(req, 0);
}

void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct mount *m = call_of(req, UPCALL_RELEASE);
    struct handle *handle = handle_of(fi);
    bool wrote = m->kernel_cache && atomic_load(&handle->wrote);
    handle_locks_release(m, handle, fi);
    handle_unref(&m->handles, handle);
    if (wrote)
        fuse_lowlevel_notify_inval_inode(m->session, ino, -1, 0);
    fuse_reply_err(req, 0);
}
