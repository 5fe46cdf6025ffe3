/*
 * Changes of names and attributes: what makes a name, takes one away, moves one, or changes what is
 * told of a file. Each is one call of share/, which patches the caches; the answer carries the
 * state after it.
 *
 * The kernel drops by itself what its own call made wrong under the name that it used. Under other
 * spellings it has to be told (revoke.h): negatives of a name that appears; and where a name leaves
 * by another spelling than the server's own, the server's, which the kernel may hold for long.
 * Which one that is the listing says.
 *
 * Modes. Of the permission bits a share keeps one: whether there is a w bit at all (READONLY), and
 * only of files. The rest, and owners, are accepted and without effect, as with mount.cifs.
 *
 * A file that loses its name while it is open here is kept by share/ under a hidden one. But who
 * closes a file and removes it at once sends the kernel's RELEASE and UNLINK so soon after one
 * another that two workers may have them the other way round: the release is waited for a moment.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/utf.h"
#include "mount/session.h"

/* By a call that was given up, of which the kernel thinks that nothing came. */
static void name_changed(struct mount *m, fuse_ino_t dir, const char *name)
{
    known_name_wrong(&m->nodes, dir, name, strlen(name));
}

/* ---- names that appear ---- */

/* `name` was made in `parent`, or not: the answer. Takes made->node over. */
static void answer_made(struct mount *m, fuse_req_t req, bool there, int rc,
                        const struct about *what, const struct share_entry *made)
{
    if (rc == 0)
        known_appeared(&m->nodes, what->dir, what->name);
    if (there) {
        reply_entry(m, req, what, rc, made);
    } else {
        name_changed(m, what->dir, what->name);
        if (rc == 0)
            share_node_unref(m->share, made->node);
    }
}

/* What makes it. */
struct making {
    const char *name;
    const char *target;      /* of a symbolic link */
    uint32_t attributes;     /* of a file */
    struct share_node *node; /* of a link */
};
typedef int make_fn(struct share *s, struct share_node *dir, const struct making *what,
                    struct share_entry *ret);

static int make_file(struct share *s, struct share_node *dir, const struct making *what,
                     struct share_entry *ret)
{
    struct share_file *file;
    int rc = share_create(s, dir, what->name, SHARE_WRITE | SHARE_EXCLUSIVE, what->attributes,
                          &file, ret, NULL, NULL);
    if (rc == 0)
        share_close(s, file);
    return rc;
}

static int make_dir(struct share *s, struct share_node *dir, const struct making *what,
                    struct share_entry *ret)
{
    return share_mkdir(s, dir, what->name, ret, NULL);
}

static int make_symlink(struct share *s, struct share_node *dir, const struct making *what,
                        struct share_entry *ret)
{
    return share_symlink(s, dir, what->name, what->target, ret, NULL);
}

static int make_link(struct share *s, struct share_node *dir, const struct making *what,
                     struct share_entry *ret)
{
    return share_link(s, what->node, dir, what->name, ret, NULL);
}

static void make(struct mount *m, fuse_req_t req, fuse_ino_t parent, make_fn *fn,
                 const struct making *what)
{
    struct node *dir = nodes_hold(&m->nodes, parent);
    if (!dir)
        return reply_error(req, -ESTALE);
    struct share_entry made = {0};
    struct call call;
    struct about name = about(m, parent, what->name);
    int rc = -EINTR;
    if (call_begin_change(&m->calls, req, &call))
        rc = fn(m->share, dir->share, what, &made);
    bool there = call_end(&m->calls, &call);
    nodes_forget(&m->nodes, parent, 1);
    answer_made(m, req, there, rc, &name, &made);
}

void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev)
{
    if (selfop_makes(req, HELPER_MKNOD, parent, name))
        return;
    struct mount *m = change_of(req, UPCALL_MKNOD);
    if (!m)
        return;
    if (!S_ISREG(mode))
        return reply_error(req, -EPERM); /* a share has no devices, FIFOs and sockets */
    struct making what = {.name = name, .attributes = mode & 0222 ? 0 : FILE_ATTRIBUTE_READONLY};
    make(m, req, parent, make_file, &what);
}

void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
    if (selfop_makes(req, HELPER_MKDIR, parent, name))
        return;
    struct mount *m = change_of(req, UPCALL_MKDIR);
    if (m)
        make(m, req, parent, make_dir, &(struct making){.name = name});
}

void op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
    if (selfop_makes(req, HELPER_SYMLINK, parent, name))
        return;
    struct mount *m = change_of(req, UPCALL_SYMLINK);
    if (m)
        make(m, req, parent, make_symlink, &(struct making){.name = name, .target = target});
}

void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t new_parent, const char *new_name)
{
    struct mount *m = change_of(req, UPCALL_LINK);
    if (!m)
        return;
    struct node *node = nodes_hold(&m->nodes, ino);
    if (!node)
        return reply_error(req, -ESTALE);
    make(m, req, new_parent, make_link, &(struct making){.name = new_name, .node = node->share});
    nodes_forget(&m->nodes, ino, 1);
}

void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
    struct mount *m = call_of(req, UPCALL_READLINK);
    struct node *node = nodes_hold(&m->nodes, ino);
    if (!node)
        return reply_error(req, -ESTALE);
    char *target = NULL;
    struct call call;
    call_begin(&m->calls, req, &call);
    int rc = share_read_link(m->share, node->share, &target, NULL);
    bool there = call_end(&m->calls, &call);
    nodes_forget(&m->nodes, ino, 1);
    if (there && rc < 0)
        reply_error(req, rc);
    else if (there)
        fuse_reply_readlink(req, target);
    free(target);
}

/* ---- names that leave ---- */

/* The directory's other spellings of the name. The call under way keeps the kernel's hands off the
 * directory, so it forgets them after it. */
static void revoke_spellings(struct mount *m, const struct node *dir, const char *name)
{
    struct share_listing *l;
    if (share_list(m->share, dir->share, &l, NULL) < 0)
        return;
    for (size_t i = 0; i < share_listing_count(l); i++) {
        char spelled[SHARE_NAME_MAX];
        share_listing_entry(l, i, spelled);
        if (strcmp(spelled, name) != 0 &&
            utf8_fold_equal(spelled, strlen(spelled), name, strlen(name)))
            known_name_wrong(&m->nodes, dir->id, spelled, strlen(spelled));
    }
    share_listing_free(m->share, l);
}

/* Before `name` is removed, moved or replaced. The look-up is answered from belief: the kernel has
 * just made it. Where the kernel may keep nothing, nothing has to be revoked, and a request would
 * be too much for the release. */
static void name_leaves(struct mount *m, const struct node *dir, const char *name)
{
    struct share_entry found;
    if (!m->kernel_cache || (!atomic_load(&m->aliases) && !handles_any_file(&m->handles)))
        return;
    if (share_lookup(m->share, dir->share, name, &found, NULL) < 0)
        return;
    if (!found.exact)
        revoke_spellings(m, dir, name);
    handles_settle(&m->handles, nodes_id(&m->nodes, found.node));
    share_node_unref(m->share, found.node);
}

/* Of waits for the next release, each of a few milliseconds. */
#define SETTLES_MAX 30

/* A release may come after the close(2) that it belongs to. What the server refuses for something
 * that is open is tried again as long as files are being closed. */
static bool settles(struct mount *m, uint64_t closings, int *inout_waits)
{
    while (++*inout_waits <= SETTLES_MAX && handles_any_file(&m->handles))
        if (handles_closed_since(&m->handles, closings))
            return true;
    return handles_closings(&m->handles) != closings && *inout_waits <= SETTLES_MAX;
}

/* A file that was removed while it was open stands in its directory until it is closed. */
static int remove_settled(struct mount *m, const struct node *dir, const char *name, bool is_dir)
{
    for (int waits = 0;;) {
        uint64_t closings = handles_closings(&m->handles);
        bool hides = is_dir && share_hides(m->share);
        int rc = share_remove(m->share, dir->share, name, is_dir, NULL);
        if (rc != -ENOTEMPTY || !hides || !settles(m, closings, &waits))
            return rc;
    }
}

static void remove_name(struct mount *m, fuse_req_t req, fuse_ino_t parent, const char *name,
                        bool is_dir)
{
    struct node *dir = nodes_hold(&m->nodes, parent);
    if (!dir)
        return reply_error(req, -ESTALE);
    struct call call;
    int rc = -EINTR;
    if (call_begin_change(&m->calls, req, &call)) {
        name_leaves(m, dir, name);
        rc = remove_settled(m, dir, name, is_dir);
    }
    bool there = call_end(&m->calls, &call);
    nodes_forget(&m->nodes, parent, 1);
    if (rc == 0)
        known_left(&m->nodes, parent, name);
    if (there && rc < 0)
        reply_error(req, rc);
    else if (there)
        fuse_reply_err(req, 0);
    else
        name_changed(m, parent, name);
}

void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    if (selfop_removes(req, HELPER_UNLINK, parent, name))
        return;
    struct mount *m = change_of(req, UPCALL_UNLINK);
    if (m)
        remove_name(m, req, parent, name, false);
}

void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    if (selfop_removes(req, HELPER_RMDIR, parent, name))
        return;
    struct mount *m = change_of(req, UPCALL_RMDIR);
    if (m)
        remove_name(m, req, parent, name, true);
}

/* What is open beneath a directory stands against its renaming, and what is hidden in one against
 * its being replaced. */
static int rename_settled(struct mount *m, const struct node *from, const char *name,
                          const struct node *to, const char *new_name, bool replace)
{
    for (int waits = 0;;) {
        uint64_t closings = handles_closings(&m->handles);
        bool hides = share_hides(m->share);
        int rc = share_rename(m->share, from->share, name, to->share, new_name, replace, NULL);
        if ((rc != -EACCES && !(rc == -ENOTEMPTY && hides)) || !settles(m, closings, &waits))
            return rc;
    }
}

void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
               const char *new_name, unsigned int flags)
{
    if (selfop_renames(req, parent, name, new_parent, new_name))
        return;
    struct mount *m = change_of(req, UPCALL_RENAME);
    if (!m)
        return;
    if (flags & ~(unsigned)RENAME_NOREPLACE)
        return reply_error(req, -EINVAL);
    struct node *from = nodes_hold(&m->nodes, parent);
    struct node *to = nodes_hold(&m->nodes, new_parent);
    struct call call;
    int rc = -ESTALE;
    if (call_begin_change(&m->calls, req, &call) && from && to) {
        name_leaves(m, from, name);
        name_leaves(m, to, new_name);
        rc = rename_settled(m, from, name, to, new_name, !(flags & RENAME_NOREPLACE));
    }
    bool there = call_end(&m->calls, &call);
    if (from)
        nodes_forget(&m->nodes, parent, 1);
    if (to)
        nodes_forget(&m->nodes, new_parent, 1);
    if (!there) {
        name_changed(m, parent, name);
        name_changed(m, new_parent, new_name);
        return;
    }
    if (rc < 0)
        return reply_error(req, rc);
    known_appeared(&m->nodes, new_parent, new_name);
    if (m->kernel_cache)
        known_moved(&m->nodes, parent, name, new_parent, new_name);
    fuse_reply_err(req, 0);
}

/* ---- attributes ---- */

static uint64_t time_of(int to_set, int set, int now, struct timespec given)
{
    if (to_set & now)
        clock_gettime(CLOCK_REALTIME, &given);
    return to_set & (set | now) ? attr_filetime(given) : 0;
}

/* READONLY follows the w bits; nothing to do where it is so already. */
static int change_mode(struct mount *m, const struct node *node, mode_t mode,
                       struct share_change *change)
{
    struct share_entry now;
    int rc = node_getattr(m, node, &now);
    if (rc < 0 || file_attr_is_dir(&now.attr) || now.is_link)
        return rc;
    bool is = now.attr.attributes & FILE_ATTRIBUTE_READONLY, will = !(mode & 0222);
    if (is != will)
        *(will ? &change->attributes_on : &change->attributes_off) = FILE_ATTRIBUTE_READONLY;
    return 0;
}

static bool changes_anything(const struct share_change *c)
{
    return c->set_size || c->accessed || c->written || c->attributes_on || c->attributes_off;
}

/* By an open that writes if there is one: it has the file also without a name, and a server that
 * sets the time of writing when such an open is closed leaves what was set by that very open. One
 * that is being closed has to be gone first. But truncate(2), which is not `by_open`, has to be
 * allowed by what the file is now. */
static int set_attributes(struct mount *m, struct node *node, const struct stat *attr, int to_set,
                          bool by_open, struct share_entry *ret)
{
    struct share_change change = {
        .set_size = to_set & FUSE_SET_ATTR_SIZE,
        .size = (uint64_t)attr->st_size,
        .accessed = time_of(to_set, FUSE_SET_ATTR_ATIME, FUSE_SET_ATTR_ATIME_NOW, attr->st_atim),
        .written = time_of(to_set, FUSE_SET_ATTR_MTIME, FUSE_SET_ATTR_MTIME_NOW, attr->st_mtim),
    };
    int rc = to_set & FUSE_SET_ATTR_MODE ? change_mode(m, node, attr->st_mode, &change) : 0;
    if (rc < 0)
        return rc;
    if (!changes_anything(&change))
        return node_getattr(m, node, ret);
    struct handle *handle =
        change.set_size && !by_open ? NULL : handles_find(&m->handles, node->id, true);
    if (!handle && change.written)
        handles_settle_written(&m->handles, node->id);
    rc = share_change(m->share, node->share, handle ? handle->file : NULL, &change, ret, NULL);
    if (change.set_size)
        data_changed(m, node, handle);
    if (handle)
        handle_unref(&m->handles, handle);
    return rc;
}

void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set,
                struct fuse_file_info *fi)
{
    if (selfop_touches(req, ino))
        return;
    struct mount *m = change_of(req, UPCALL_SETATTR);
    if (!m)
        return;
    struct node *node = nodes_hold(&m->nodes, ino);
    if (!node)
        return reply_error(req, -ESTALE);
    struct share_entry found;
    struct call call;
    uint64_t moment = known_moment(&m->nodes);
    int rc = -EINTR;
    if (call_begin_change(&m->calls, req, &call))
        rc = set_attributes(m, node, attr, to_set, fi != NULL, &found);
    bool there = call_end(&m->calls, &call);
    if (there && rc == 0)
        reply_attr(m, req, node, &found, moment);
    else if (there)
        reply_error(req, rc);
    nodes_forget(&m->nodes, ino, 1);
}
