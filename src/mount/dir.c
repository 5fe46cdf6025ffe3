/*
 * Directories: a stream over a snapshot.
 *
 * The listing is taken when a stream is first read, not when it is opened, since many programs open
 * a directory only to stand in it; and again whenever reading starts over at offset 0, so that
 * rewinddir() shows what is there by then. Offsets are places in the snapshot (0 and 1 are "." and
 * ".."), hence stable for as long as nobody rewinds.
 *
 * READDIRPLUS hands out each entry together with its attributes. Every entry so given is a look-up
 * that the kernel will have to forget; entries that do not fit any more, or whose reply never
 * arrived, are none. Only what is believed goes out like that: the kernel takes attributes over
 * whatever timeout they have, and an old size would cut a file that is mapped or being written. So
 * what has changed since the snapshot, what is open for writing here, and what only a look-up can
 * tell from a symbolic link, is given by its name alone.
 *
 * The kernel keeps no copy of what it reads (cache_readdir): a stream that it served from one goes
 * on here by its place alone when the copy is void, and in another listing this is the place of
 * another name.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mount/session.h"

#define DOTS       2          /* "." and ".." come first */
#define NO_INO     0xffffffff /* what libfuse takes for "not known" */
#define BUFFER_MAX (1 << 20)

/* One reply being put together. */
struct page {
    fuse_req_t req;
    fuse_ino_t dir;
    uint64_t moment; /* before anything in it was asked for */
    char *buf;
    size_t size, used;
    bool plus;
    fuse_ino_t *given; /* plus: the nodes handed out in it */
    size_t given_count;
};

#define PLUS_ENTRY_MIN 128 /* no entry of READDIRPLUS is as short as that */

static int page_init(struct page *p, fuse_req_t req, fuse_ino_t dir, uint64_t moment, size_t size,
                     bool plus)
{
    if (size > BUFFER_MAX)
        size = BUFFER_MAX;
    *p = (struct page){.req = req, .dir = dir, .moment = moment, .size = size, .plus = plus};
    p->buf = malloc(size + 1);
    p->given = plus ? malloc((size / PLUS_ENTRY_MIN + 1) * sizeof(*p->given)) : NULL;
    return p->buf && (p->given || !plus) ? 0 : -ENOMEM;
}

static void page_done(struct page *p)
{
    free(p->buf);
    free(p->given);
}

void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct mount *m = call_of(req, UPCALL_OPENDIR);
    struct node *node = nodes_get(&m->nodes, ino);
    struct handle *handle;
    int rc = node ? handle_new(&m->handles, ino, NULL, &handle) : -ESTALE;
    if (rc < 0)
        return reply_error(req, rc);

    fi->fh = (uintptr_t)handle;
    if (fuse_reply_open(req, fi) < 0)
        handle_unref(&m->handles, handle);
}

void op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct mount *m = call_of(req, UPCALL_RELEASEDIR);
    handle_unref(&m->handles, handle_of(fi));
    fuse_reply_err(req, 0);
}

/* Appends one entry; false: no room. */
static bool page_add(struct page *p, const char *name, const struct fuse_entry_param *entry,
                     off_t next)
{
    size_t left = p->size - p->used, need;
    if (p->plus)
        need = fuse_add_direntry_plus(p->req, p->buf + p->used, left, name, entry, next);
    else
        need = fuse_add_direntry(p->req, p->buf + p->used, left, name, &entry->attr, next);
    if (need > left)
        return false;
    p->used += need;
    return true;
}

/* Whether an entry of this name would still fit. */
static bool page_has_room(const struct page *p, const char *name)
{
    size_t need = p->plus ? fuse_add_direntry_plus(p->req, NULL, 0, name, NULL, 0)
                          : fuse_add_direntry(p->req, NULL, 0, name, NULL, 0);
    return need <= p->size - p->used;
}

static bool add_dot(struct page *p, off_t index, uint64_t ino)
{
    /* Without a node number the kernel takes no look-up and no attributes from the entry. */
    struct fuse_entry_param entry = {
        .attr = {.st_ino = index == 0 && ino ? ino : NO_INO, .st_mode = S_IFDIR},
    };
    return page_add(p, index == 0 ? "." : "..", &entry, index + 1);
}

static bool is_being_written(struct mount *m, const struct share_node *node)
{
    if (!handles_any_file(&m->handles))
        return false;
    struct handle *writer = handles_find(&m->handles, nodes_id(&m->nodes, node), true);
    if (writer)
        handle_unref(&m->handles, writer);
    return writer;
}

/* Makes the entry one with attributes, where that may be. */
static int add_attributes(struct mount *m, struct page *p, struct share_listing *l, size_t i,
                          const char *name, struct fuse_entry_param *entry)
{
    struct share_entry found = {0};
    int rc = share_listing_adopt(m->share, l, i, &found);
    if (rc < 0)
        return rc;
    if (found.valid_ns == 0 || (!found.is_link && attr_type(&found.attr, m->mfsymlinks) == 0) ||
        is_being_written(m, found.node)) {
        share_node_unref(m->share, found.node);
        return 0;
    }
    rc = enter_entry(m, &(struct about){p->dir, name, p->moment}, &found, entry);
    if (rc == 0)
        p->given[p->given_count++] = entry->ino;
    return rc;
}

/* 1: added, 0: no room, or a negative errno. */
static int add_entry(struct mount *m, struct page *p, struct share_listing *l, size_t i)
{
    char name[SHARE_NAME_MAX];
    const struct file_attr *attr = share_listing_entry(l, i, name);
    if (!page_has_room(p, name))
        return 0;

    struct fuse_entry_param entry = {
        .attr = {.st_ino = attr->id ? attr->id : NO_INO, .st_mode = attr_type(attr, m->mfsymlinks)},
    };
    if (p->plus) {
        int rc = add_attributes(m, p, l, i, name, &entry);
        if (rc < 0)
            return rc;
    }
    return page_add(p, name, &entry, (off_t)(i + DOTS + 1));
}

/* Fills the page from the stream's place `off` on. */
static int fill(struct mount *m, struct page *p, uint64_t ino, struct share_listing *l, off_t off)
{
    size_t count = share_listing_count(l);
    for (size_t at = (size_t)off; at < count + DOTS; at++) {
        int rc = at < DOTS ? add_dot(p, (off_t)at, ino) : add_entry(m, p, l, at - DOTS);
        if (rc < 0 && p->used == 0)
            return rc; /* after other entries: those first, the error comes with the next call */
        if (rc <= 0)
            break;
    }
    return 0;
}

/* The handle's listing: a fresh one where there is none or reading starts over. With the handle's
 * lock. */
static int take_listing(struct mount *m, const struct node *node, struct handle *handle, off_t off)
{
    struct share_listing *fresh;
    if (off > 0 && handle->listing)
        return 0;
    int rc = share_list(m->share, node->share, &fresh, NULL);
    if (rc == 0 && handle->listing)
        share_listing_free(m->share, handle->listing);
    if (rc == 0)
        handle->listing = fresh;
    return rc;
}

/* Answers from the handle's listing. With its lock. */
static void reply_page(struct mount *m, fuse_req_t req, uint64_t moment, size_t size, off_t off,
                       struct handle *handle, const struct node *node, bool plus)
{
    struct page page;
    int rc = page_init(&page, req, node->id, moment, size, plus);
    if (rc == 0)
        rc = fill(m, &page, nodes_ino(&m->nodes, node), handle->listing, off);
    if (rc < 0)
        reply_error(req, rc);
    if (rc < 0 || fuse_reply_buf(req, page.buf, page.used) < 0)
        for (size_t i = 0; i < page.given_count; i++)
            nodes_forget(&m->nodes, page.given[i], 1);
    page_done(&page);
}

static void readdir_common(struct mount *m, fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
                           struct handle *handle, bool plus)
{
    if (off < 0)
        return reply_error(req, -EINVAL);
    struct node *node = nodes_hold(&m->nodes, ino);
    if (!node)
        return reply_error(req, -ESTALE);

    struct call call;
    uint64_t moment = known_moment(&m->nodes);
    handle_ref(&m->handles, handle);
    call_begin(&m->calls, req, &call);
    pthread_mutex_lock(&handle->lock);
    int rc = take_listing(m, node, handle, off);
    bool there = call_end(&m->calls, &call);
    if (there && rc == 0)
        reply_page(m, req, moment, size, off, handle, node, plus);
    else if (there)
        reply_error(req, rc);
    pthread_mutex_unlock(&handle->lock);
    handle_unref(&m->handles, handle);
    nodes_forget(&m->nodes, ino, 1);
}

void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, struct fuse_file_info *fi)
{
    struct mount *m = call_of(req, UPCALL_READDIR);
    readdir_common(m, req, ino, size, off, handle_of(fi), false);
}

void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
                    struct fuse_file_info *fi)
{
    struct mount *m = call_of(req, UPCALL_READDIRPLUS);
    readdir_common(m, req, ino, size, off, handle_of(fi), true);
}

/* What was made in a directory is the server's when its call returns. */
void op_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
    call_of(req, UPCALL_FSYNCDIR);
    fuse_reply_err(req, 0);
}
