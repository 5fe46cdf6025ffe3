/*
 * What is not as it was: beliefs are dropped, because somebody said that they may be wrong, or they
 * are patched, because this client made the change itself and knows what came of it (own.c).
 *
 * A listing is patched in place where nobody but the cache refers to it, else it is replaced by a
 * changed copy, which the cache has alone until the next reader comes. So a directory that is
 * filled or emptied pays for one copy per reader, not one per name.
 */
#include <errno.h>

#include "cache/internal.h"

/* ---- dropping ---- */

void drop_listing(struct cache *c, struct cache_file *dir, enum observe_miss why)
{
    struct event_path p;
    if (dir->dir->listing)
        observe_invalidate(c->observe, OBSERVE_DIR, why, event_file(c, dir, &p));
    listing_drop(c, dir, why);
}

static void drop_names(struct cache *c, struct cache_file *dir, enum observe_miss why)
{
    struct cache_dir *d = dir->dir;
    drop_listing(c, dir, why);
    d->too_large = false;
    d->lost = why;
    d->changed = ++c->order;
}

void drop_attr(struct cache *c, struct cache_file *f, enum observe_miss why)
{
    struct event_path p;
    if (f->believed)
        observe_invalidate(c->observe, OBSERVE_INFO, why, event_file(c, f, &p));
    info_drop(c, f, why);
    f->lost = why;
    f->changed = ++c->order;
}

void drop_negative(struct cache *c, struct cache_negative *n, enum observe_miss why)
{
    struct event_path p;
    observe_invalidate(c->observe, OBSERVE_NOTFOUND, why,
                       event_child(c, n->dir, n->spelling, n->len, &p));
    negative_drop(c, n);
}

void drop_inside(struct cache *c, struct cache_file *dir, enum observe_miss why)
{
    struct hash_node *node;
    drop_names(c, dir, why);
    while ((node = hash_each(&dir->dir->negatives, NULL)))
        drop_negative(c, container_of(node, struct cache_negative, by_fold), why);
}

void void_names(struct cache *c, struct cache_file *dir, enum observe_miss why)
{
    struct cache_dir *d = dir->dir;
    drop_names(c, dir, why);
    d->void_before = d->changed;
    d->void_why = why;
    d->doubt_count = 0;
}

void cache_changed(struct cache *c, struct cache_file *f, enum observe_miss reason)
{
    f->refs++;
    drop_attr(c, f, reason);
    if (f->is_dir && file_dir(c, f))
        drop_inside(c, f, reason);
    f->refs--;
    file_settle(c, f);
}

void cache_name_changed(struct cache *c, struct cache_file *dir, const char *name, size_t len,
                        enum observe_miss reason)
{
    if (!file_dir(c, dir))
        return;
    dir->refs++;
    drop_names(c, dir, reason);
    struct cache_negative *negative;
    while ((negative = negative_next_alike(c, dir, name, len, NULL)))
        drop_negative(c, negative, reason);
    struct cache_name *n = name_find(c, dir, name, len);
    if (n) {
        n->confirmed = false;
        n->file->moved = ++c->order;
    }
    dir->refs--;
    file_settle(c, dir);
}

bool cache_name_failed(struct cache *c, struct cache_file *f, enum observe_miss reason)
{
    cache_changed(c, f, reason);
    struct cache_name *n = name_leading_to(f);
    if (!n)
        return false;
    cache_name_changed(c, n->dir, n->spelling, n->len, reason);
    if (f->names.next == f->names.prev)
        return false;
    name_unbind(c, n);
    return name_leading_to(f) != NULL;
}

/* ---- patching listings ---- */

struct cache_listing *listing_writable(struct cache *c, struct cache_file *dir)
{
    struct cache_listing *l = dir->dir ? dir->dir->listing : NULL;
    if (!l || (listing_can_be_patched(l) && !listing_is_shared(l)))
        return l;
    struct cache_listing *copy = listing_can_be_patched(l) ? listing_copy(l) : NULL;
    if (!copy) {
        drop_listing(c, dir, MISS_CHANGED);
        return NULL;
    }
    c->bytes += listing_memory(copy) - listing_memory(l);
    cache_listing_unref(l);
    return dir->dir->listing = copy;
}

void listing_patched(struct cache *c, struct cache_file *dir, size_t before, int r)
{
    struct event_path p;
    struct cache_dir *d = dir->dir;
    struct cache_listing *l = d->listing;
    c->bytes += listing_memory(l) - before;
    if (r < 0) {
        drop_listing(c, dir, MISS_CHANGED);
        return;
    }
    observe_patch(c->observe, OBSERVE_DIR, event_file(c, dir, &p));
    d->large = cache_listing_wire_bytes(l) > LARGE_LISTING;
    if (cache_listing_wire_bytes(l) > c->settings.directory_cache_entry_size_max ||
        listing_memory(l) > c->settings.cache_memory_max) {
        observe_invalidate(c->observe, OBSERVE_DIR, MISS_TOO_LARGE, event_file(c, dir, &p));
        listing_drop_too_large(c, dir, listing_stamp(l).sent);
    } else {
        keep_bounds(c, OBSERVE_DIR, &d->ring);
    }
}

/* The entry by which a believed listing shows the file under this name; -1: none, or it was said
 * later to be another file's. The name in another case may mean it, too. */
static int64_t entry_of(const struct cache_name *n, bool *ret_exact)
{
    const struct cache_listing *l = n->dir->dir->listing;
    size_t folded, one;
    const char *spelling;
    int64_t i = l ? listing_find(l, n->spelling, n->len, &folded, &one) : -1;
    *ret_exact = i >= 0;
    if (l && i < 0 && folded)
        i = (int64_t)one;
    return i >= 0 && cache_file_same(n->file, &listing_at(l, (size_t)i, &spelling)->attr) ? i : -1;
}

/* The entries of a file's names show these attributes (NULL: are none to answer with), as of
 * `heard`. */
static void show_attr(struct cache *c, struct cache_file *f, const struct file_attr *attr,
                      struct stamp heard)
{
    struct list *item;
    list_for_each(item, &f->names)
    {
        struct cache_name *n = container_of(item, struct cache_name, of_file);
        struct cache_listing *l = n->dir->dir->listing;
        bool exact;
        int64_t i = entry_of(n, &exact);
        bool told = attr && exact;
        if (i < 0 || (told ? listing_heard(l, (size_t)i).order == heard.order
                           : !cache_listing_attr_known(l, (size_t)i)))
            continue; /* it shows so already */
        l = listing_writable(c, n->dir);
        if (!l)
            continue;
        size_t before = listing_memory(l);
        int r = told ? listing_tell(l, (size_t)i, attr, heard) : 0;
        if (!told)
            listing_untell(l, (size_t)i);
        listing_patched(c, n->dir, before, r);
    }
}

/* ---- attributes ---- */

bool attr_may_be_taken(const struct cache_file *f, const struct file_attr *attr,
                       struct cache_ticket ticket)
{
    return attr && cache_file_same(f, attr) && attr_newest(f, ticket);
}

void attr_forget(struct cache *c, struct cache_file *f)
{
    f->refs++;
    drop_attr(c, f, MISS_CHANGED);
    show_attr(c, f, NULL, (struct stamp){0});
    f->refs--;
    file_settle(c, f);
}

uint64_t attr_take(struct cache *c, struct cache_file *f, const struct file_attr *attr,
                   struct cache_ticket ticket, uint64_t order, uint64_t now)
{
    struct stamp as_of = {.order = order, .asked = ticket.order, .sent = ticket.sent};
    struct event_path p;
    if (!attr_may_be_taken(f, attr, ticket)) {
        attr_forget(c, f);
        return 0;
    }
    identify_by_attr(c, f, attr);
    f->refs++;
    if (c->enabled[OBSERVE_INFO]) {
        bool renewed = f->believed;
        info_believe(c, f, attr, as_of);
        (renewed ? observe_patch : observe_insert)(c->observe, OBSERVE_INFO, event_file(c, f, &p));
    } else {
        file_hear(f, attr, as_of);
    }
    struct file_attr whole = f->attr;
    show_attr(c, f, &whole, as_of);
    f->refs--;
    file_settle(c, f);
    return info_term(c, f, now).until;
}

uint64_t cache_own_attr(struct cache *c, struct cache_file *f, const struct file_attr *attr,
                        struct cache_ticket ticket, uint64_t now)
{
    return attr_take(c, f, attr, ticket, ++c->order, now);
}
