/*
 * Changes of a file's data, and the calls that are about where data is.
 *
 * The kernel's pages are written through, to share/, which may delay what it gets under a WRITE
 * lease and has it written before anything can tell the difference. The kernel keeps its own pages
 * right, but which times the server gives the file is not known, and what came along with opens
 * before is old: data_changed().
 *
 * O_APPEND. The kernel places such a write at the size that it believes, which on a share may be
 * an old one, and nothing that a daemon can say at that moment makes it look again. So the server
 * is asked for its end of the file before each write with O_APPEND, and that is where the data
 * goes: writers of one mount are kept in line by the kernel, and between two clients what is lost
 * is the moment between the question and the write (SMB has no append of its own that a server
 * would have to make atomic). A kernel that put the data into its pages at its own idea of the end
 * would show it there, so from FUSE 7.40 on, where it can be had without disadvantage, opens with
 * O_APPEND pass the pages by (direct_io). With older kernels, and for an O_APPEND that was set
 * later by fcntl(2), the pages are revoked right after a write that went elsewhere.
 *
 * mmap(2): dirty pages come as writes too, by whatever open of the file can write, and from no
 * process in particular.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <unistd.h>

#include "mount/session.h"

/* What one call copies at most: it is answered in time, and programs ask for the rest. */
#define COPY_MAX (256u << 20)

/* A call on an open file, and what has to be held for it. */
struct file_call {
    struct mount *m;
    fuse_req_t req;
    struct node *node;
    struct handle *handle;
    struct call call;
    bool going; /* false: nobody waits for it any more, it is not to be begun */
};

static bool file_call_begin(struct file_call *c, struct mount *m, fuse_req_t req, fuse_ino_t ino,
                            const struct fuse_file_info *fi, bool changes)
{
    *c = (struct file_call){.m = m, .req = req, .handle = handle_of(fi)};
    c->node = nodes_hold(&m->nodes, ino);
    if (!c->node) {
        reply_error(req, -ESTALE);
        return false;
    }
    handle_ref(&m->handles, c->handle);
    c->going = true;
    if (changes)
        c->going = call_begin_change(&m->calls, req, &c->call);
    else
        call_begin(&m->calls, req, &c->call);
    return true;
}

/* Whether there is somebody to be answered. */
static bool file_call_end(struct file_call *c)
{
    bool there = call_end(&c->m->calls, &c->call);
    handle_unref(&c->m->handles, c->handle);
    nodes_forget(&c->m->nodes, c->node->id, 1);
    return there;
}

/* ---- write ---- */

/* Where a write with O_APPEND goes. */
static int find_end(const struct file_call *c, off_t *inout_off, bool *ret_moved)
{
    struct share_entry now;
    int rc = share_file_getattr(c->m->share, c->node->share, c->handle->file, &now, NULL);
    if (rc < 0)
        return rc;
    if (now.attr.size > INT64_MAX)
        return -EFBIG;
    *ret_moved = (off_t)now.attr.size != *inout_off;
    *inout_off = (off_t)now.attr.size;
    return 0;
}

static int64_t write_at(const struct file_call *c, const char *buf, size_t size, off_t off,
                        bool append)
{
    bool moved = false;
    int64_t n = append ? find_end(c, &off, &moved) : 0;
    if (n < 0)
        return n;
    n = share_write(c->m->share, c->handle->file, buf, size, (uint64_t)off, NULL);
    data_changed(c->m, c->node, c->handle);
    if (moved)
        known_pages_wrong(&c->m->nodes, c->node->id);
    return n;
}

void op_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t off,
              struct fuse_file_info *fi)
{
    struct mount *m = change_of(req, UPCALL_WRITE);
    struct file_call c;
    if (!m || !file_call_begin(&c, m, req, ino, fi, true))
        return;
    int64_t n = -EINTR;
    if (c.going)
        n = write_at(&c, buf, size, off, fi->flags & O_APPEND && !fi->writepage);
    if (!file_call_end(&c))
        known_pages_wrong(&m->nodes, ino); /* others may have read them before it was done */
    else if (n < 0)
        reply_error(req, (int)n);
    else
        fuse_reply_write(req, (size_t)n);
}

/* ---- without data of the caller's ---- */

void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
    struct mount *m = call_of(req, UPCALL_FSYNC);
    struct file_call c;
    if (!file_call_begin(&c, m, req, ino, fi, false))
        return;
    int rc = share_fsync(m->share, c.handle->file, !m->lazy_fsync, NULL);
    if (!file_call_end(&c))
        return;
    if (rc < 0)
        reply_error(req, rc);
    else
        fuse_reply_err(req, 0);
}

void op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t offset, off_t length,
                  struct fuse_file_info *fi)
{
    const int hole = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    struct mount *m = change_of(req, UPCALL_FALLOCATE);
    struct file_call c;
    if (!m)
        return;
    if (mode != 0 && mode != FALLOC_FL_KEEP_SIZE && mode != hole)
        return reply_error(req, -EOPNOTSUPP);
    if (!file_call_begin(&c, m, req, ino, fi, true))
        return;
    int rc = -EINTR;
    if (c.going && mode == hole)
        rc = share_punch_hole(m->share, c.handle->file, (uint64_t)offset, (uint64_t)length, NULL);
    else if (c.going)
        rc = share_allocate(m->share, c.handle->file, (uint64_t)offset + (uint64_t)length,
                            mode == 0, NULL);
    if (c.going)
        data_changed(m, c.node, c.handle);
    if (!file_call_end(&c))
        return;
    if (rc < 0)
        reply_error(req, rc);
    else
        fuse_reply_err(req, 0);
}

void op_lseek(fuse_req_t req, fuse_ino_t ino, off_t off, int whence, struct fuse_file_info *fi)
{
    struct mount *m = call_of(req, UPCALL_LSEEK);
    struct file_call c;
    if (whence != SEEK_DATA && whence != SEEK_HOLE)
        return reply_error(req, -EINVAL);
    if (!file_call_begin(&c, m, req, ino, fi, false))
        return;
    uint64_t found = 0;
    int rc = share_seek(m->share, c.handle->file, (uint64_t)off, whence == SEEK_HOLE, &found, NULL);
    if (rc == 0 && found > INT64_MAX)
        rc = -EOVERFLOW;
    if (!file_call_end(&c))
        return;
    if (rc < 0)
        reply_error(req, rc);
    else
        fuse_reply_lseek(req, (off_t)found);
}

void op_copy_file_range(fuse_req_t req, fuse_ino_t ino_in, off_t off_in,
                        struct fuse_file_info *fi_in, fuse_ino_t ino_out, off_t off_out,
                        struct fuse_file_info *fi_out, size_t len, int flags)
{
    struct mount *m = change_of(req, UPCALL_COPY);
    struct file_call c;
    if (!m)
        return;
    if (flags)
        return reply_error(req, -EINVAL);
    if (!file_call_begin(&c, m, req, ino_out, fi_out, true))
        return;
    struct handle *from = handle_of(fi_in);
    handle_ref(&m->handles, from);
    int64_t n = -EINTR;
    if (c.going) {
        n = share_copy(m->share, from->file, (uint64_t)off_in, c.handle->file, (uint64_t)off_out,
                       len < COPY_MAX ? len : COPY_MAX, NULL);
        data_changed(m, c.node, c.handle);
    }
    handle_unref(&m->handles, from);
    if (!file_call_end(&c))
        return;
    if (n < 0)
        reply_error(req, (int)n);
    else
        fuse_reply_write(req, (size_t)n);
}
