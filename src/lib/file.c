/*
 * Opens and what is done by them. An open keeps a reference to its node, by which attributes are
 * asked for and set, and is the owner of its byte-range locks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/internal.h"

struct larder_file {
    struct larder *larder;
    struct share_file *file;
    struct share_node *node; /* a reference */
};

#define ALL_FLAGS (LARDER_READ | LARDER_WRITE | LARDER_CREATE | LARDER_EXCLUSIVE | LARDER_TRUNCATE)

static int check_flags(unsigned flags, struct error *e)
{
    if (flags & ~(unsigned)ALL_FLAGS)
        return error_set(e, -EINVAL, 0, "open: flags 0x%x: unknown ones among them", flags);
    if (!(flags & (LARDER_READ | LARDER_WRITE)))
        return error_set(e, -EINVAL, 0, "open: neither for reading nor for writing");
    if ((flags & LARDER_TRUNCATE) && !(flags & LARDER_WRITE))
        return error_set(e, -EINVAL, 0, "open: to be truncated, but not for writing");
    if ((flags & LARDER_EXCLUSIVE) && !(flags & LARDER_CREATE))
        return error_set(e, -EINVAL, 0, "open: exclusive, but not to be made");
    return 0;
}

static unsigned share_how(unsigned flags)
{
    return (flags & LARDER_READ ? SHARE_READ : 0u) | (flags & LARDER_WRITE ? SHARE_WRITE : 0u) |
           (flags & LARDER_TRUNCATE ? SHARE_TRUNCATE : 0u) |
           (flags & LARDER_EXCLUSIVE ? SHARE_EXCLUSIVE : 0u);
}

/* Each leaves a reference in entry->node. */
static int open_made(struct larder *l, const char *whole, unsigned flags, struct share_file **ret,
                     struct share_entry *entry, struct error *e)
{
    struct share_node *dir;
    char name[SHARE_NAME_MAX];
    int r = share_parent(l->share, whole, &dir, name, e);
    if (r < 0)
        return r;
    r = share_create(l->share, dir, name, share_how(flags), 0, ret, entry, NULL, e);
    share_node_unref(l->share, dir);
    return r;
}

static int open_there(struct larder *l, const char *whole, unsigned flags, struct share_file **ret,
                      struct share_entry *entry, struct error *e)
{
    struct share_entry found, opened;
    int r = share_stat_path(l->share, whole, &found, e);
    if (r < 0)
        return r;
    r = share_open(l->share, found.node, share_how(flags), ret, &opened, e);
    if (r < 0) {
        share_node_unref(l->share, found.node);
        return r;
    }
    *entry = opened;
    entry->node = found.node;
    return 0;
}

PUBLIC int larder_open_with(struct larder *l, const char *path, unsigned flags,
                            struct larder_file **ret, struct larder_stat *ret_stat,
                            struct larder_error *err)
{
    struct error e = {0};
    struct share_entry entry;
    int r = check_flags(flags, &e);
    if (r < 0)
        return lib_error(r, &e, err);
    struct larder_file *f = calloc(1, sizeof *f);
    char *whole = lib_path(l, path);
    if (!f || !whole)
        r = -ENOMEM;
    else if (flags & LARDER_CREATE)
        r = open_made(l, whole, flags, &f->file, &entry, &e);
    else if (flags & LARDER_WRITE)
        r = open_there(l, whole, flags, &f->file, &entry, &e);
    else
        r = share_open_path(l->share, whole, &f->file, &entry, &e);
    free(whole);
    if (r < 0) {
        free(f);
        return lib_error(r, &e, err);
    }
    if (ret_stat)
        lib_stat(&entry.attr, entry.ino, ret_stat);
    f->larder = l;
    f->node = entry.node;
    *ret = f;
    return 0;
}

PUBLIC int larder_open(struct larder *l, const char *path, struct larder_file **ret,
                       struct larder_stat *ret_stat, struct larder_error *err)
{
    return larder_open_with(l, path, LARDER_READ, ret, ret_stat, err);
}

static uint64_t lock_owner(const struct larder_file *f)
{
    return (uint64_t)(uintptr_t)f;
}

PUBLIC struct larder_file *larder_close(struct larder_file *f)
{
    if (!f)
        return NULL;
    struct share *s = f->larder->share;
    share_lock_release(s, f->file, lock_owner(f));
    share_close(s, f->file);
    share_node_unref(s, f->node);
    free(f);
    return NULL;
}

/* ---- data ---- */

PUBLIC int64_t larder_read(struct larder_file *f, void *buf, size_t len, uint64_t offset,
                           struct larder_error *err)
{
    struct error e = {0};
    int64_t n = share_read(f->larder->share, f->file, buf, len, offset, &e);
    return n < 0 ? lib_error((int)n, &e, err) : n;
}

PUBLIC int64_t larder_write(struct larder_file *f, const void *buf, size_t len, uint64_t offset,
                            struct larder_error *err)
{
    struct error e = {0};
    int64_t n = share_write(f->larder->share, f->file, buf, len, offset, &e);
    return n < 0 ? lib_error((int)n, &e, err) : n;
}

PUBLIC int larder_sync(struct larder_file *f, struct larder_error *err)
{
    struct error e = {0};
    int r = share_fsync(f->larder->share, f->file, true, &e);
    return r < 0 ? lib_error(r, &e, err) : 0;
}

PUBLIC int64_t larder_copy(struct larder_file *from, uint64_t from_offset, struct larder_file *to,
                           uint64_t to_offset, uint64_t len, struct larder_error *err)
{
    struct error e = {0};
    if (from->larder != to->larder) {
        error_set(&e, -EXDEV, 0, "copy: the two files are of two connections");
        return lib_error(-EXDEV, &e, err);
    }
    int64_t n =
        share_copy(from->larder->share, from->file, from_offset, to->file, to_offset, len, &e);
    return n < 0 ? lib_error((int)n, &e, err) : n;
}

/* ---- attributes ---- */

PUBLIC int larder_file_stat(struct larder_file *f, struct larder_stat *ret,
                            struct larder_error *err)
{
    struct error e = {0};
    struct share_entry entry;
    int r = share_file_getattr(f->larder->share, f->node, f->file, &entry, &e);
    if (r < 0)
        return lib_error(r, &e, err);
    lib_stat(&entry.attr, entry.ino, ret);
    return 0;
}

PUBLIC int larder_file_setattr(struct larder_file *f, const struct larder_setattr *change,
                               struct larder_stat *ret, struct larder_error *err)
{
    struct error e = {0};
    struct share_change what;
    struct share_entry entry = {0};
    lib_change(change, &what);
    int r = share_change(f->larder->share, f->node, f->file, &what, &entry, &e);
    if (r < 0)
        return lib_error(r, &e, err);
    lib_take_entry(f->larder, &entry, ret);
    return 0;
}

/* ---- locks ---- */

static bool never_gone(void *user)
{
    return false;
}

PUBLIC int larder_lock(struct larder_file *f, enum larder_lock_type type, uint64_t offset,
                       uint64_t len, bool wait, struct larder_error *err)
{
    static const enum share_lock_type types[] = {[LARDER_UNLOCK] = SHARE_UNLOCK,
                                                 [LARDER_LOCK_SHARED] = SHARE_LOCK_SHARED,
                                                 [LARDER_LOCK_EXCLUSIVE] = SHARE_LOCK_EXCLUSIVE};
    struct error e = {0};
    if (type > LARDER_LOCK_EXCLUSIVE || (len && offset > UINT64_MAX - (len - 1))) {
        error_set(&e, -EINVAL, 0, "lock: no such type, or a range beyond what a file can have");
        return lib_error(-EINVAL, &e, err);
    }
    const struct share_lock lock = {.owner = lock_owner(f),
                                    .type = types[type],
                                    .start = offset,
                                    .end = len ? offset + (len - 1) : UINT64_MAX};
    int r = share_lock(f->larder->share, f->file, &lock, wait, never_gone, NULL, &e);
    return r < 0 ? lib_error(r, &e, err) : 0;
}
