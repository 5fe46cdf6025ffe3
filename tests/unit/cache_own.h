/* Short words for own changes, beside those of cache_world.h. */
#ifndef LARDER_TESTS_CACHE_OWN_H
#define LARDER_TESTS_CACHE_OWN_H

#include "cache/internal.h"
#include "cache_world.h"

static inline struct cache_ticket sent(struct world *w)
{
    return cache_ask(w->c, w->now);
}

static inline struct cache_file *made_at(struct world *w, struct cache_file *dir, const char *name,
                                         struct file_attr attr, struct cache_ticket t)
{
    struct cache_file *f;
    uint64_t until;
    assert_int_equal(cache_made(w->c, dir, name, strlen(name), &attr, NULL, t, w->now, &f, &until),
                     0);
    return f;
}

static inline void make(struct world *w, struct cache_file *dir, const char *name,
                        struct file_attr attr)
{
    drop(w, made_at(w, dir, name, attr, sent(w)));
}

static inline void removed_at(struct world *w, struct cache_file *dir, const char *name,
                              struct cache_ticket t)
{
    cache_removed(w->c, dir, name, strlen(name), t, w->now);
}

static inline void take_away(struct world *w, struct cache_file *dir, const char *name)
{
    removed_at(w, dir, name, sent(w));
}

static inline void renamed_at(struct world *w, struct cache_file *from_dir, const char *from,
                              struct cache_file *to_dir, const char *to,
                              const struct file_attr *attr, struct cache_ticket t)
{
    assert_int_equal(
        cache_renamed(w->c, from_dir, from, strlen(from), to_dir, to, strlen(to), attr, t, w->now),
        0);
}

static inline void move(struct world *w, struct cache_file *from_dir, const char *from,
                        struct cache_file *to_dir, const char *to, struct file_attr attr)
{
    renamed_at(w, from_dir, from, to_dir, to, &attr, sent(w));
}

static inline bool is_listed(struct world *w, struct cache_file *dir)
{
    enum observe_miss why;
    return listing_valid(w->c, dir, w->now, &why) != NULL;
}

/* The size in the believed listing; MISSING; ASK: listed, but the attributes are not known. */
static inline int64_t listed_size(struct world *w, struct cache_file *dir, const char *name)
{
    struct cache_listing *l = cache_plan_listing(w->c, dir, w->now);
    int64_t size = MISSING;
    assert_non_null(l);
    for (size_t i = 0; i < cache_listing_count(l); i++) {
        size_t len;
        const struct file_attr *attr;
        const char *entry = cache_listing_entry(l, i, &len, &attr);
        if (len == strlen(name) && memcmp(entry, name, len) == 0) {
            assert_int_equal(size, MISSING);
            size = cache_listing_attr_known(l, i) ? (int64_t)attr->size : ASK;
        }
    }
    cache_listing_unref(l);
    return size;
}

static inline void path_is(const struct cache_file *f, const char *path)
{
    char out[256];
    int n = cache_file_path(f, out, sizeof out);
    if (!path) {
        assert_int_equal(n, -ESTALE);
        return;
    }
    assert_int_equal(n, strlen(path));
    assert_memory_equal(out, path, strlen(path));
}

static inline uint64_t patches(const struct world *w, enum observe_cache cache)
{
    return counts(w).cache[cache].patches;
}

static inline struct file_attr linked(struct file_attr attr, uint32_t links)
{
    attr.links = links;
    return attr;
}

#endif
