/*
 * What the tests of the cache share: one cache with its clock and its counters, and short words for
 * its calls. Everything is inline, so that a test may leave out what it does not need.
 */
#ifndef LARDER_TESTS_CACHE_WORLD_H
#define LARDER_TESTS_CACHE_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cache/cache.h"

#define S        NS_PER_SEC
#define DIR_ATTR FILE_ATTRIBUTE_DIRECTORY

/* One cache, its clock, and what was counted when the test last looked. */
struct world {
    struct settings settings;
    struct observe *observe;
    struct cache *c;
    struct cache_file *root; /* borrowed */
    uint64_t now;
    struct observe_counts before;
    struct cache_plan plan; /* of the last look-up */
};

/* A cache of this profile with these settings ("Name=value", up to NULL). */
static inline void begin_with(struct world *w, const char *profile, const char *const *set)
{
    *w = (struct world){.now = 1000 * S};
    assert_int_equal(settings_profile(profile, &w->settings, NULL), 0);
    for (; *set; set++) {
        char name[64];
        const char *value = strchr(*set, '=');
        snprintf(name, sizeof name, "%.*s", (int)(value - *set), *set);
        assert_int_equal(settings_set(&w->settings, name, value + 1, NULL), 0);
    }
    struct observe_options options = {0};
    assert_int_equal(observe_new(&options, &w->observe, NULL), 0);
    w->c = cache_new(&w->settings, w->observe);
    assert_non_null(w->c);
    w->root = cache_root(w->c);
}
#define BEGIN(w, profile, ...) begin_with(w, profile, (const char *const[]){__VA_ARGS__, NULL})

static inline void let_go(struct world *w)
{
    if (w->plan.file)
        cache_file_unref(w->c, w->plan.file);
    w->plan = (struct cache_plan){0};
}

static inline void end(struct world *w)
{
    let_go(w);
    w->c = cache_free(w->c);
    w->observe = observe_free(w->observe);
}

/* ---- short words for the calls ---- */

static inline struct file_attr file(uint64_t id, uint64_t size)
{
    return (struct file_attr){.id = id, .attributes = FILE_ATTRIBUTE_ARCHIVE, .size = size};
}

static inline struct file_attr directory(uint64_t id)
{
    return (struct file_attr){.id = id, .attributes = DIR_ATTR};
}

static inline enum cache_step ask(struct world *w, struct cache_file *dir, const char *name,
                                  enum cache_intent intent)
{
    let_go(w);
    observe_read(w->observe, &w->before);
    cache_plan_lookup(w->c, dir, name, strlen(name), intent, w->now, &w->plan);
    return w->plan.step;
}

static inline enum cache_step look_up(struct world *w, struct cache_file *dir, const char *name)
{
    return ask(w, dir, name, CACHE_LOOK_UP);
}

static inline void plan_attr(struct world *w, struct cache_file *f)
{
    let_go(w);
    observe_read(w->observe, &w->before);
    cache_plan_attr(w->c, f, w->now, &w->plan);
}

/* The answer's size, or -1 for "no such name", or -2 where the server has to be asked. */
static inline int64_t size_of(struct world *w, struct cache_file *dir, const char *name)
{
    if (look_up(w, dir, name) != CACHE_ANSWER)
        return -2;
    if (w->plan.result < 0) {
        assert_int_equal(w->plan.result, -ENOENT);
        assert_null(w->plan.file);
        return -1;
    }
    assert_non_null(w->plan.file);
    return (int64_t)w->plan.attr.size;
}
enum { MISSING = -1, ASK = -2 };

/* The server answers at once. The file is let go unless `ret`. */
static inline uint64_t found(struct world *w, struct cache_file *dir, const char *name,
                             struct file_attr attr, struct cache_file **ret)
{
    struct cache_file *f = NULL;
    uint64_t until = 1;
    struct cache_ticket t = cache_ask(w->c, w->now);
    assert_int_equal(
        cache_commit_found(w->c, dir, name, strlen(name), &attr, t, w->now, &f, &until), 0);
    assert_non_null(f);
    if (ret)
        *ret = f;
    else
        cache_file_unref(w->c, f);
    return until;
}

static inline uint64_t missing(struct world *w, struct cache_file *dir, const char *name)
{
    struct cache_ticket t = cache_ask(w->c, w->now);
    return cache_commit_missing(w->c, dir, name, strlen(name), t, w->now);
}

static inline uint64_t attr_of(struct world *w, struct cache_file *f, struct file_attr attr)
{
    return cache_commit_attr(w->c, f, &attr, cache_ask(w->c, w->now), w->now);
}

struct item {
    const char *name;
    struct file_attr attr;
};

/* A listing of these items, asked for and answered now; `wire_bytes` is that of the whole. A
 * reference. */
static inline struct cache_listing *listing_of(struct world *w, const struct item *items,
                                               size_t count, size_t wire_bytes,
                                               struct cache_ticket t)
{
    struct cache_listing *l = cache_listing_new();
    assert_non_null(l);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(cache_listing_add(l, items[i].name, strlen(items[i].name), &items[i].attr,
                                           i ? 0 : wire_bytes),
                         0);
    assert_int_equal(cache_listing_seal(l, t), 0);
    assert_int_equal(cache_listing_count(l), count);
    return l;
}

static inline void listed_bytes(struct world *w, struct cache_file *dir, size_t wire_bytes,
                                const struct item *items, size_t count)
{
    struct cache_ticket t = cache_ask(w->c, w->now);
    struct cache_listing *l = listing_of(w, items, count, wire_bytes, t);
    cache_commit_listing(w->c, dir, l, t, w->now);
    cache_listing_unref(l);
}
#define ITEMS(...)                                                                                 \
    (const struct item[]){__VA_ARGS__},                                                            \
        sizeof((const struct item[]){__VA_ARGS__}) / sizeof(struct item)
#define LISTED(w, dir, ...) listed_bytes(w, dir, 100, ITEMS(__VA_ARGS__))

/* A directory in the root that a look-up found, a reference. */
static inline struct cache_file *subdirectory(struct world *w, const char *name, uint64_t id)
{
    struct cache_file *f;
    found(w, w->root, name, directory(id), &f);
    return f;
}

static inline void drop(struct world *w, struct cache_file *f)
{
    cache_file_unref(w->c, f);
}

static inline void pass(struct world *w, uint64_t ns)
{
    w->now += ns;
}

static inline struct observe_counts counts(const struct world *w)
{
    struct observe_counts now;
    observe_read(w->observe, &now);
    return now;
}

/* The last call asked this cache once, in vain, for this reason. */
static inline void missed(struct world *w, enum observe_cache cache, enum observe_miss reason)
{
    struct observe_counts now = counts(w);
    assert_int_equal(now.cache[cache].hits, w->before.cache[cache].hits);
    for (int i = 0; i < OBSERVE_MISSES; i++) {
        uint64_t more = now.cache[cache].misses[i] - w->before.cache[cache].misses[i];
        if (more != (i == (int)reason))
            fail_msg("%s: %llu misses '%s', expected one of '%s'", observe_cache_name(cache),
                     (unsigned long long)more, observe_miss_name(i), observe_miss_name(reason));
    }
}

static inline void was_hit(struct world *w, enum observe_cache cache)
{
    struct observe_counts now = counts(w);
    assert_int_equal(now.cache[cache].hits, w->before.cache[cache].hits + 1);
    assert_int_equal(observe_misses(&now.cache[cache]), observe_misses(&w->before.cache[cache]));
}

static inline void not_asked(struct world *w, enum observe_cache cache)
{
    struct observe_counts now = counts(w);
    assert_int_equal(now.cache[cache].hits, w->before.cache[cache].hits);
    assert_int_equal(observe_misses(&now.cache[cache]), observe_misses(&w->before.cache[cache]));
}

static inline uint64_t entries(const struct world *w, enum observe_cache cache)
{
    struct cache_sizes sizes;
    cache_sizes(w->c, &sizes);
    return sizes.entries[cache];
}

#endif
