/*
 * Files: open, read, release.
 *
 * The kernel keeps a file's pages between opens only if the open says so, and may be told so only
 * if they are of the file as it is now: the open's own attributes are held against those of the
 * node's last open. Where they differ, no older open may bring pages of the state before any more:
 * what came along with those is dropped. Within one open the kernel checks by itself, with every
 * attribute reply. Where the pages are known to reach to the end of the file, the small file's
 * content need not come with the open.
 *
 * The kernel cuts reads at the size that it believes. Where the open finds another one than the
 * kernel was told, it is told to ask again before it reads, so that an open always shows the file
 * whole, as it is then. That notification waits for nothing (it drops attributes, no pages).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "mount/session.h"

void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct mount *m = call_of(req, UPCALL_OPEN);
    if ((fi->flags & O_ACCMODE) != O_RDONLY || fi->flags & O_TRUNC)
        return reply_error(req, -EROFS);
    struct node *node = nodes_hold(&m->nodes, ino);
    if (!node)
        return reply_error(req, -ESTALE);

    bool in_pages = m->kernel_cache && nodes_pages_whole(&m->nodes, node);
    unsigned how = SHARE_READ | (in_pages ? 0 : SHARE_WANT_DATA);
    struct share_file *file;
    struct share_entry entry;
    struct call call;
    call_begin(&m->calls, req, &call);
    int rc = share_open(m->share, node->share, how, &file, &entry, NULL);
    bool there = call_end(&m->calls, &call);
    nodes_forget(&m->nodes, ino, 1);
    if (!there && rc == 0)
        share_close(m->share, file);
    if (!there)
        return;
    struct handle *handle;
    if (rc == 0)
        rc = handle_new(&m->handles, ino, file, &handle);
    if (rc < 0)
        return reply_error(req, rc);

    bool same = nodes_pages_keep(&m->nodes, node, &entry.attr);
    if (!same)
        handles_changed(&m->handles, handle);
    fi->keep_cache = m->kernel_cache && same;
    if (m->kernel_cache && nodes_told_otherwise(&m->nodes, node, &entry.attr))
        fuse_lowlevel_notify_inval_inode(m->session, ino, -1, 0);
    fi->noflush = 1; /* there is nothing to flush: opened for reading */
    fi->fh = (uintptr_t)handle;
    if (fuse_reply_open(req, fi) < 0)
        handle_unref(&m->handles, handle); /* the caller is gone, no release will come */
}

void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
    struct mount *m = call_of(req, UPCALL_READ);
    struct node *node = nodes_get(&m->nodes, ino);
    if (!node)
        return reply_error(req, -ESTALE);
    char *buf = malloc(size ? size : 1);
    if (!buf)
        return reply_error(req, -ENOMEM);

    struct handle *handle = handle_of(fi);
    struct call call;
    handle_ref(&m->handles, handle);
    call_begin(&m->calls, req, &call);
    int64_t n = share_read(m->share, handle->file, buf, size, (uint64_t)off, NULL);
    bool there = call_end(&m->calls, &call);
    handle_unref(&m->handles, handle);
    if (there && n < 0) {
        reply_error(req, (int)n);
    } else if (there) {
        nodes_pages_read(&m->nodes, node, (uint64_t)off + (uint64_t)n);
        fuse_reply_buf(req, buf, (size_t)n);
    }
    free(buf);
}

void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct mount *m = call_of(req, UPCALL_RELEASE);
    handle_unref(&m->handles, handle_of(fi));
    fuse_reply_err(req, 0);
}
