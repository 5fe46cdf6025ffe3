/*
 * Names: what the share holds and how it is changed, by path. Every path begins with the one that
 * the target itself names.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "lib/internal.h"

struct larder_dir {
    struct larder *larder;
    struct share_listing *listing;
    size_t count;
    char **names;
};

/* MS-FSCC 2.1.2.1: the tag of what stands for another name has this bit. A source that tells no tag
 * leaves the word to larder_read_link. */
#define TAG_NAME_SURROGATE 0x20000000u

static bool is_link(const struct file_attr *a)
{
    return (a->attributes & FILE_ATTRIBUTE_REPARSE_POINT) &&
           (a->reparse_tag == 0 || (a->reparse_tag & TAG_NAME_SURROGATE));
}

void lib_stat(const struct file_attr *a, uint64_t ino, struct larder_stat *ret)
{
    *ret = (struct larder_stat){.ino = ino,
                                .size = a->size,
                                .allocated = a->allocated,
                                .attributes = a->attributes,
                                .links = a->links,
                                .is_dir = file_attr_is_dir(a),
                                .is_link = is_link(a),
                                .created = filetime_to_timespec(a->created),
                                .accessed = filetime_to_timespec(a->accessed),
                                .written = filetime_to_timespec(a->written),
                                .changed = filetime_to_timespec(a->changed)};
}

PUBLIC int larder_stat(struct larder *l, const char *path, struct larder_stat *ret,
                       struct larder_error *err)
{
    struct error e = {0};
    struct share_entry entry;
    char *whole = lib_path(l, path);
    int r = whole ? share_stat_path(l->share, whole, &entry, &e) : -ENOMEM;
    free(whole);
    if (r < 0)
        return lib_error(r, &e, err);
    lib_take_entry(l, &entry, ret);
    return 0;
}

PUBLIC int larder_list(struct larder *l, const char *path, struct larder_dir **ret,
                       struct larder_error *err)
{
    struct error e = {0};
    struct larder_dir *d = calloc(1, sizeof *d);
    char *whole = lib_path(l, path);
    int r = d && whole ? share_list_path(l->share, whole, &d->listing, &e) : -ENOMEM;
    free(whole);
    if (r < 0) {
        free(d);
        return lib_error(r, &e, err);
    }
    d->larder = l;
    d->count = share_listing_count(d->listing);
    d->names = calloc(d->count ? d->count : 1, sizeof *d->names);
    char name[SHARE_NAME_MAX];
    for (size_t i = 0; d->names && i < d->count; i++) {
        share_listing_entry(d->listing, i, name);
        d->names[i] = strdup(name);
        if (!d->names[i])
            r = -ENOMEM;
    }
    if (r < 0 || !d->names) {
        larder_dir_close(d);
        return lib_error(-ENOMEM, &e, err);
    }
    *ret = d;
    return 0;
}

PUBLIC size_t larder_dir_count(const struct larder_dir *d)
{
    return d->count;
}

PUBLIC const char *larder_dir_entry(struct larder_dir *d, size_t i, struct larder_stat *ret)
{
    char name[SHARE_NAME_MAX];
    const struct file_attr *attr = share_listing_entry(d->listing, i, name);
    if (ret)
        lib_stat(attr, attr->id, ret);
    return d->names[i];
}

PUBLIC struct larder_dir *larder_dir_close(struct larder_dir *d)
{
    if (!d)
        return NULL;
    for (size_t i = 0; d->names && i < d->count; i++)
        free(d->names[i]);
    free(d->names);
    share_listing_free(d->larder->share, d->listing);
    free(d);
    return NULL;
}

/* ---- changes ---- */

void lib_take_entry(struct larder *l, struct share_entry *entry, struct larder_stat *ret)
{
    if (ret) {
        lib_stat(&entry->attr, entry->ino, ret);
        ret->is_link = ret->is_link || entry->is_link; /* of mfsymlinks no attribute tells */
    }
    if (entry->node)
        share_node_unref(l->share, entry->node);
}

/* The directory that a path is in, and the name in it. */
struct spot {
    struct share_node *dir; /* a reference */
    char name[SHARE_NAME_MAX];
};

static int find_spot(struct larder *l, const char *path, struct spot *ret, struct error *e)
{
    char *whole = lib_path(l, path);
    int r = whole ? share_parent(l->share, whole, &ret->dir, ret->name, e) : -ENOMEM;
    free(whole);
    return r;
}

static int find_node(struct larder *l, const char *path, struct share_node **ret, struct error *e)
{
    struct share_entry entry;
    char *whole = lib_path(l, path);
    int r = whole ? share_stat_path(l->share, whole, &entry, e) : -ENOMEM;
    free(whole);
    if (r == 0)
        *ret = entry.node;
    return r;
}

void lib_change(const struct larder_setattr *change, struct share_change *ret)
{
    *ret = (struct share_change){.attributes_on = change->attributes_on,
                                 .attributes_off = change->attributes_off};
    ret->set_size = change->set & LARDER_SET_SIZE;
    ret->size = change->size;
    if (change->set & LARDER_SET_CREATED)
        ret->created = timespec_to_filetime(change->created);
    if (change->set & LARDER_SET_ACCESSED)
        ret->accessed = timespec_to_filetime(change->accessed);
    if (change->set & LARDER_SET_WRITTEN)
        ret->written = timespec_to_filetime(change->written);
}

PUBLIC int larder_setattr(struct larder *l, const char *path, const struct larder_setattr *change,
                          struct larder_stat *ret, struct larder_error *err)
{
    struct error e = {0};
    struct share_node *node = NULL;
    struct share_change what;
    struct share_entry entry = {0};
    lib_change(change, &what);
    int r = find_node(l, path, &node, &e);
    if (r == 0) {
        r = share_change(l->share, node, NULL, &what, &entry, &e);
        share_node_unref(l->share, node);
    }
    if (r < 0)
        return lib_error(r, &e, err);
    lib_take_entry(l, &entry, ret);
    return 0;
}

PUBLIC int larder_mkdir(struct larder *l, const char *path, struct larder_stat *ret,
                        struct larder_error *err)
{
    struct error e = {0};
    struct spot at;
    struct share_entry entry;
    int r = find_spot(l, path, &at, &e);
    if (r == 0) {
        r = share_mkdir(l->share, at.dir, at.name, &entry, &e);
        share_node_unref(l->share, at.dir);
    }
    if (r < 0)
        return lib_error(r, &e, err);
    lib_take_entry(l, &entry, ret);
    return 0;
}

PUBLIC int larder_remove(struct larder *l, const char *path, bool is_dir, struct larder_error *err)
{
    struct error e = {0};
    struct spot at;
    int r = find_spot(l, path, &at, &e);
    if (r == 0) {
        r = share_remove(l->share, at.dir, at.name, is_dir, &e);
        share_node_unref(l->share, at.dir);
    }
    return r < 0 ? lib_error(r, &e, err) : 0;
}

PUBLIC int larder_rename(struct larder *l, const char *from, const char *to, bool replace,
                         struct larder_error *err)
{
    struct error e = {0};
    struct spot old, new;
    int r = find_spot(l, from, &old, &e);
    if (r < 0)
        return lib_error(r, &e, err);
    r = find_spot(l, to, &new, &e);
    if (r == 0) {
        r = share_rename(l->share, old.dir, old.name, new.dir, new.name, replace, &e);
        share_node_unref(l->share, new.dir);
    }
    share_node_unref(l->share, old.dir);
    return r < 0 ? lib_error(r, &e, err) : 0;
}

PUBLIC int larder_link(struct larder *l, const char *path, const char *new_path,
                       struct larder_stat *ret, struct larder_error *err)
{
    struct error e = {0};
    struct share_node *node = NULL;
    struct spot new;
    struct share_entry entry;
    int r = find_node(l, path, &node, &e);
    if (r < 0)
        return lib_error(r, &e, err);
    r = find_spot(l, new_path, &new, &e);
    if (r == 0) {
        r = share_link(l->share, node, new.dir, new.name, &entry, &e);
        share_node_unref(l->share, new.dir);
    }
    share_node_unref(l->share, node);
    if (r < 0)
        return lib_error(r, &e, err);
    lib_take_entry(l, &entry, ret);
    return 0;
}

PUBLIC int larder_symlink(struct larder *l, const char *target, const char *path,
                          struct larder_stat *ret, struct larder_error *err)
{
    struct error e = {0};
    struct spot at;
    struct share_entry entry;
    int r = find_spot(l, path, &at, &e);
    if (r == 0) {
        r = share_symlink(l->share, at.dir, at.name, target, &entry, &e);
        share_node_unref(l->share, at.dir);
    }
    if (r < 0)
        return lib_error(r, &e, err);
    lib_take_entry(l, &entry, ret);
    return 0;
}

PUBLIC int larder_read_link(struct larder *l, const char *path, char **ret,
                            struct larder_error *err)
{
    struct error e = {0};
    struct share_node *node = NULL;
    int r = find_node(l, path, &node, &e);
    if (r == 0) {
        r = share_read_link(l->share, node, ret, &e);
        share_node_unref(l->share, node);
    }
    return r < 0 ? lib_error(r, &e, err) : 0;
}

PUBLIC int larder_statfs(struct larder *l, struct larder_statfs *ret, struct larder_error *err)
{
    struct error e = {0};
    struct share_statfs fs;
    int r = share_statfs(l->share, &fs, &e);
    if (r < 0)
        return lib_error(r, &e, err);
    *ret = (struct larder_statfs){.total_bytes = fs.total_bytes,
                                  .free_bytes = fs.free_bytes,
                                  .available_bytes = fs.available_bytes,
                                  .block_size = fs.block_size,
                                  .name_max = fs.name_max};
    return 0;
}
