/*
 * Forgetting on request: what is believed of a path and of all beneath, or of everything.
 *
 * Beliefs are found in the three rings, which have all of them, and each is followed up to see
 * whether it lies beneath; so a lease that covers one makes no difference, and the work is bounded
 * by what is believed. What cannot be found there is without effect: what is under way was asked
 * before, and is void by its order (trust.c). The parent's listing answers on for the other names.
 */
#include "cache/internal.h"

/* By any of its names. */
static bool is_beneath(const struct cache_file *f, const struct cache_file *top)
{
    while (f != top) {
        if (list_empty(&f->names))
            return false;
        f = container_of(f->names.next, struct cache_name, of_file)->dir;
    }
    return true;
}

static bool any_name_beneath(const struct cache_file *f, const struct cache_file *top)
{
    const struct list *item;
    if (f == top)
        return true;
    list_for_each(item, &f->names)
    {
        if (is_beneath(container_of(item, struct cache_name, of_file)->dir, top))
            return true;
    }
    return false;
}

/* Everything in a ring that is beneath `top`; all where it is NULL. */
static void drop_listings(struct cache *c, const struct cache_file *top)
{
    struct list *all = &c->ring[OBSERVE_DIR].entries, *next;
    for (struct list *item = all->next; item != all; item = next) {
        struct cache_dir *d = container_of(item, struct cache_dir, ring.link);
        next = item->next;
        if (!top || is_beneath(d->file, top))
            void_names(c, d->file, MISS_DROPPED);
    }
}

static void drop_infos(struct cache *c, const struct cache_file *top)
{
    struct list *all = &c->ring[OBSERVE_INFO].entries, *next, *name;
    for (struct list *item = all->next; item != all; item = next) {
        struct cache_file *f = container_of(item, struct cache_file, ring.link);
        next = item->next;
        if (top && !any_name_beneath(f, top))
            continue;
        list_for_each(name, &f->names) container_of(name, struct cache_name, of_file)->confirmed =
            false;
        drop_attr(c, f, MISS_DROPPED);
    }
}

static void drop_negatives(struct cache *c, const struct cache_file *top)
{
    struct list *all = &c->ring[OBSERVE_NOTFOUND].entries, *next;
    for (struct list *item = all->next; item != all; item = next) {
        struct cache_negative *n = container_of(item, struct cache_negative, ring.link);
        next = item->next;
        if (!top || is_beneath(n->dir, top))
            drop_negative(c, n, MISS_DROPPED);
    }
}

static void drop_beneath(struct cache *c, const struct cache_file *top)
{
    drop_listings(c, top);
    drop_infos(c, top);
    drop_negatives(c, top);
}

/* As far as there are objects, by every spelling that folds alike. */
static void drop_path(struct cache *c, struct cache_file *dir, const char *path, size_t len)
{
    const char *slash = memchr(path, '/', len);
    size_t head = slash ? (size_t)(slash - path) : len;
    struct cache_name *n = NULL;
    if (!dir->dir)
        return;
    dir->refs++;
    while ((n = name_next_alike(c, dir, path, head, n))) {
        if (slash && n->file->is_dir)
            drop_path(c, n->file, slash + 1, len - head - 1);
        else if (!slash)
            drop_beneath(c, n->file);
    }
    if (!slash)
        doubt_raise(c, dir, path, head, true, false, MISS_DROPPED);
    dir->refs--;
    file_settle(c, dir);
}

void cache_drop(struct cache *c, const char *path, size_t len,
                uint64_t ret_dropped[static OBSERVE_CACHES])
{
    for (int i = 0; i < OBSERVE_CACHES; i++)
        ret_dropped[i] = c->ring[i].count;
    if (len == 0) {
        drop_beneath(c, NULL);
        c->noticed_lost = ++c->order;
    } else {
        drop_path(c, c->root, path, len);
    }
    for (int i = 0; i < OBSERVE_CACHES; i++)
        ret_dropped[i] -= c->ring[i].count;
}
