/* Short words for what is promised, beside those of cache_own.h. */
#ifndef LARDER_TESTS_CACHE_PROMISE_H
#define LARDER_TESTS_CACHE_PROMISE_H

#include "cache_own.h"

static inline struct file_attr dir_at(uint64_t id, uint64_t written)
{
    struct file_attr attr = directory(id);
    attr.written = attr.changed = written;
    return attr;
}

/* As share/ lists: the directory's attributes and its listing, by one request; and a lease. */
static inline struct cache_ticket lease_listed(struct world *w, struct cache_file *dir,
                                               uint64_t written, const struct item *items,
                                               size_t count)
{
    struct cache_ticket t = sent(w);
    struct file_attr attr = dir_at(99, written);
    struct cache_listing *l = listing_of(w, items, count, 100, t);
    cache_commit_attr(w->c, dir, &attr, t, w->now);
    cache_commit_listing(w->c, dir, l, t, w->now);
    cache_listing_unref(l);
    assert_true(cache_promised(w->c, dir, t));
    return t;
}

static inline void was_trusted(const struct world *w, enum observe_cache cache,
                               enum observe_trust trust)
{
    for (enum observe_trust t = 0; t < OBSERVE_TRUSTS; t++)
        assert_int_equal(counts(w).cache[cache].hits_by_trust[t] -
                             w->before.cache[cache].hits_by_trust[t],
                         t == trust);
}

/* Listed twice, so that the times are known to be old. */
static inline struct cache_file *long_listed(struct world *w)
{
    struct cache_file *d = subdirectory(w, "d", 99);
    lease_listed(w, d, 7, ITEMS({"a", file(1, 1)}));
    pass(w, 5 * S);
    lease_listed(w, d, 7, ITEMS({"a", file(1, 1)}));
    pass(w, 60 * S);
    return d;
}

#endif
