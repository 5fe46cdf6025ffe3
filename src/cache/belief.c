/*
 * The three beliefs and their bounds.
 *
 * Each cache is a ring of entries with a hand (second chance): a hit sets a bit and moves nothing;
 * an insertion over the bound sends the hand round, which clears set bits and takes the first entry
 * without one. The bounds hold when a call returns. Bytes are counted over all three; over
 * CacheMemoryMax listings go first, being the largest, then attributes, then negatives.
 *
 * Expiry is noticed when a belief is asked for, and it is dropped then; why it is gone stays with
 * the object, for the reason of the next miss.
 */
#include <errno.h>
#include <stdlib.h>

#include "cache/internal.h"

/* ---- rings ---- */

void ring_init(struct ring *r)
{
    list_init(&r->entries);
    r->hand = &r->entries;
    r->count = 0;
}

void ring_add(struct ring *r, struct ring_entry *e)
{
    list_add_tail(&r->entries, &e->link);
    e->used = false;
    r->count++;
}

void ring_del(struct ring *r, struct ring_entry *e)
{
    if (r->hand == &e->link)
        r->hand = e->link.next;
    list_del(&e->link);
    r->count--;
}

struct ring_entry *ring_victim(struct ring *r, const struct ring_entry *keep)
{
    if (r->count == 0 || (r->count == 1 && r->entries.next == &keep->link))
        return NULL;
    for (;;) {
        if (r->hand == &r->entries) {
            r->hand = r->entries.next;
            continue;
        }
        struct ring_entry *e = container_of(r->hand, struct ring_entry, link);
        if (e != keep && !e->used)
            return e;
        e->used = false;
        r->hand = r->hand->next;
    }
}

/* ---- dropping ---- */

void info_drop(struct cache *c, struct cache_file *f, enum observe_miss why)
{
    if (!f->believed)
        return;
    ring_del(&c->ring[OBSERVE_INFO], &f->ring);
    c->bytes -= ACCOUNTED_FILE;
    f->believed = false;
    f->lost = why;
    file_settle(c, f);
}

void listing_drop(struct cache *c, struct cache_file *dir, enum observe_miss why)
{
    struct cache_dir *d = dir->dir;
    if (!d || !d->listing)
        return;
    ring_del(&c->ring[OBSERVE_DIR], &d->ring);
    c->bytes -= listing_memory(d->listing);
    dir_forget(d, listing_stamp(d->listing).order);
    d->listing = cache_listing_unref(d->listing);
    d->base_known = false;
    d->lost = why;
    file_settle(c, dir);
}

void negative_drop(struct cache *c, struct cache_negative *n)
{
    struct cache_file *dir = n->dir;
    ring_del(&c->ring[OBSERVE_NOTFOUND], &n->ring);
    c->bytes -= ACCOUNTED_MISSING + n->len;
    dir_forget(dir->dir, n->stamp.order);
    hash_del(&dir->dir->negatives, &n->by_fold);
    free(n);
    file_settle(c, dir);
}

/* ---- bounds ---- */

static void evict_listing(struct cache *c, struct ring_entry *e)
{
    struct cache_dir *d = container_of(e, struct cache_dir, ring);
    struct event_path p;
    observe_evict(c->observe, OBSERVE_DIR, event_file(c, d->file, &p));
    listing_drop(c, d->file, MISS_EVICTED);
}

static void evict_info(struct cache *c, struct ring_entry *e)
{
    struct cache_file *f = container_of(e, struct cache_file, ring);
    struct event_path p;
    observe_evict(c->observe, OBSERVE_INFO, event_file(c, f, &p));
    info_drop(c, f, MISS_EVICTED);
}

static void evict_negative(struct cache *c, struct ring_entry *e)
{
    struct cache_negative *n = container_of(e, struct cache_negative, ring);
    struct event_path p;
    observe_evict(c->observe, OBSERVE_NOTFOUND, event_child(c, n->dir, n->spelling, n->len, &p));
    negative_drop(c, n);
}

void keep_bounds(struct cache *c, enum observe_cache which, const struct ring_entry *added)
{
    static void (*const evict[])(struct cache *,
                                 struct ring_entry *) = {[OBSERVE_DIR] = evict_listing,
                                                         [OBSERVE_INFO] = evict_info,
                                                         [OBSERVE_NOTFOUND] = evict_negative};
    struct ring_entry *victim;
    while (c->ring[which].count > c->entries_max[which] &&
           (victim = ring_victim(&c->ring[which], added)))
        evict[which](c, victim);
    for (int i = 0; i < OBSERVE_CACHES; i++)
        while (c->bytes > c->settings.cache_memory_max &&
               (victim = ring_victim(&c->ring[i], added)))
            evict[i](c, victim);
}

/* ---- inserting ---- */

void info_believe(struct cache *c, struct cache_file *f, const struct file_attr *attr,
                  struct stamp stamp)
{
    file_hear(f, attr, stamp);
    if (f->believed) {
        f->ring.used = true;
    } else {
        f->believed = true;
        c->bytes += ACCOUNTED_FILE;
        ring_add(&c->ring[OBSERVE_INFO], &f->ring);
        file_settle(c, f);
        keep_bounds(c, OBSERVE_INFO, &f->ring);
    }
}

void info_insert(struct cache *c, struct cache_file *f, const struct file_attr *attr,
                 struct stamp stamp)
{
    struct event_path p;
    info_believe(c, f, attr, stamp);
    observe_insert(c->observe, OBSERVE_INFO, event_file(c, f, &p));
}

void negative_insert(struct cache *c, struct cache_file *dir, const char *name, size_t len,
                     struct stamp stamp)
{
    struct event_path p;
    struct cache_negative *n = negative_find(c, dir, name, len);
    if (n) {
        n->ring.used = true;
    } else {
        n = len <= UINT16_MAX && file_dir(c, dir) ? malloc(sizeof *n + len) : NULL;
        if (!n)
            return;
        *n = (struct cache_negative){.dir = dir, .len = (uint16_t)len};
        memcpy(n->spelling, name, len);
        if (hash_add(&dir->dir->negatives, &n->by_fold, utf8_fold_hash(name, len, c->seed)) < 0) {
            free(n);
            return;
        }
        c->bytes += ACCOUNTED_MISSING + len;
        ring_add(&c->ring[OBSERVE_NOTFOUND], &n->ring);
        file_settle(c, dir);
        n->stamp = stamp;
        keep_bounds(c, OBSERVE_NOTFOUND, &n->ring);
    }
    n->stamp = stamp;
    observe_insert(c->observe, OBSERVE_NOTFOUND, event_child(c, dir, name, len, &p));
}

void listing_insert(struct cache *c, struct cache_file *dir, struct cache_listing *l)
{
    struct event_path p;
    struct cache_dir *d = dir->dir;
    bool renewed = d->listing != NULL;
    if (renewed)
        c->bytes -= listing_memory(d->listing);
    cache_listing_unref(d->listing);
    d->listing = cache_listing_ref(l);
    d->verified = 0;
    d->base_known = false;
    c->bytes += listing_memory(l);
    if (renewed)
        d->ring.used = true;
    else
        ring_add(&c->ring[OBSERVE_DIR], &d->ring);
    file_settle(c, dir);
    keep_bounds(c, OBSERVE_DIR, &d->ring);
    observe_insert(c->observe, OBSERVE_DIR, event_file(c, dir, &p));
}

void listing_drop_too_large(struct cache *c, struct cache_file *dir, uint64_t sent)
{
    dir->dir->too_large = true;
    dir->dir->too_large_sent = sent;
    listing_drop(c, dir, MISS_TOO_LARGE);
    dir->dir->lost = MISS_TOO_LARGE;
}

/* ---- asking ---- */

struct cache_listing *listing_look(const struct cache *c, const struct cache_file *dir,
                                   uint64_t now, enum observe_miss *ret_why)
{
    const struct cache_dir *d = dir->dir;
    *ret_why = !c->enabled[OBSERVE_DIR] ? MISS_DISABLED : d ? d->lost : MISS_ABSENT;
    if (d && d->listing) {
        struct term t = listing_term(c, dir, now);
        *ret_why = t.why;
        return t.until ? d->listing : NULL;
    }
    if (d && d->too_large && !still_valid(c, OBSERVE_DIR, d->too_large_sent, now))
        *ret_why = MISS_EXPIRED;
    return NULL;
}

struct cache_listing *listing_valid(struct cache *c, struct cache_file *dir, uint64_t now,
                                    enum observe_miss *ret_why)
{
    struct cache_listing *l = listing_look(c, dir, now, ret_why);
    struct cache_dir *d = dir->dir;
    if (l || !d || may_be_verified(c, dir, now))
        return l;
    listing_drop(c, dir, *ret_why);
    if (d->too_large && !still_valid(c, OBSERVE_DIR, d->too_large_sent, now)) {
        d->too_large = false;
        d->lost = MISS_EXPIRED;
    }
    return NULL;
}

bool info_look(const struct cache *c, const struct cache_file *f, uint64_t now,
               enum observe_miss *ret_why)
{
    struct term t = {.why = f->lost};
    if (f->believed)
        t = info_term(c, f, now);
    *ret_why = !c->enabled[OBSERVE_INFO] ? MISS_DISABLED : t.why;
    return t.until;
}

bool info_valid(struct cache *c, struct cache_file *f, uint64_t now, enum observe_miss *ret_why)
{
    bool good = info_look(c, f, now, ret_why);
    if (!good)
        info_drop(c, f, *ret_why);
    return good;
}

struct cache_negative *negative_find(const struct cache *c, const struct cache_file *dir,
                                     const char *name, size_t len)
{
    if (!dir->dir)
        return NULL;
    struct hash_node *node = hash_first(&dir->dir->negatives, utf8_fold_hash(name, len, c->seed));
    for (; node; node = hash_next(node)) {
        struct cache_negative *n = container_of(node, struct cache_negative, by_fold);
        if (n->len == len && memcmp(n->spelling, name, len) == 0)
            return n;
    }
    return NULL;
}

struct cache_negative *negative_next_alike(const struct cache *c, const struct cache_file *dir,
                                           const char *name, size_t len,
                                           const struct cache_negative *after)
{
    if (!dir->dir)
        return NULL;
    struct hash_node *node =
        after ? hash_next(&after->by_fold)
              : hash_first(&dir->dir->negatives, utf8_fold_hash(name, len, c->seed));
    for (; node; node = hash_next(node)) {
        struct cache_negative *n = container_of(node, struct cache_negative, by_fold);
        if (utf8_fold_equal(n->spelling, n->len, name, len))
            return n;
    }
    return NULL;
}

struct term negative_look(const struct cache *c, const struct cache_file *dir, const char *name,
                          size_t len, uint64_t now)
{
    const struct cache_negative *n = negative_find(c, dir, name, len);
    if (!n)
        return (struct term){.why = c->enabled[OBSERVE_NOTFOUND] ? MISS_ABSENT : MISS_DISABLED};
    return missing_term(c, dir, name, len, &n->stamp, now);
}

struct term negative_valid(struct cache *c, struct cache_file *dir, const char *name, size_t len,
                           uint64_t now)
{
    struct term t = negative_look(c, dir, name, len, now);
    struct cache_negative *n = negative_find(c, dir, name, len);
    if (n)
        n->ring.used = true;
    if (n && !t.until)
        negative_drop(c, n);
    return t;
}

void negatives_supersede(struct cache *c, struct cache_file *dir, const char *name, size_t len,
                         uint64_t order)
{
    if (!dir->dir)
        return;
    struct hash *all = &dir->dir->negatives;
    struct hash_node *node =
        name ? hash_first(all, utf8_fold_hash(name, len, c->seed)) : hash_each(all, NULL);
    while (node) {
        struct hash_node *after = name ? hash_next(node) : hash_each(all, node);
        struct cache_negative *n = container_of(node, struct cache_negative, by_fold);
        if (order_after(order, n->stamp.order))
            negative_drop(c, n);
        node = after;
    }
}

bool listed_attr_valid(const struct cache *c, const struct cache_file *dir,
                       const struct cache_listing *l, size_t i, const struct cache_file *f,
                       uint64_t now)
{
    struct stamp s = listing_heard(l, i);
    const char *name;
    size_t len = listing_at(l, i, &name)->len;
    return cache_listing_attr_known(l, i) && listed_attr_term(c, l, i, f, now).until &&
           order_after(s.order, f->changed) &&
           (!f->heard || !order_after(f->info.order, s.order)) &&
           !modified_since(c, dir, name, len, s.asked);
}
