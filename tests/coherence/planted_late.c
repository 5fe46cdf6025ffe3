/*
 * What the server took back, or told of, is believed for half a second more; a break has long been
 * acknowledged by then. What is overdue is dropped by the next question: that has the lock.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/list.h"
#include "tests/coherence/planted.h"

#define LATE (NS_PER_SEC / 2)

struct overdue {
    struct list link;
    uint64_t due;
    struct cache_file *broken; /* a reference; NULL: a notice */
    enum cache_notice action;
    char *path;
};

static struct list all = {&all, &all}; /* protected by the share's lock */

static void put_off(struct overdue what)
{
    struct overdue *o = malloc(sizeof *o);
    if (!o)
        abort();
    *o = what;
    o->due = clock_now() + LATE;
    list_add_tail(&all, &o->link);
}

WRAPPED(void, cache_broken, struct cache *c, struct cache_file *f)
{
    put_off((struct overdue){.broken = cache_file_ref(f)});
}

WRAPPED(bool, cache_noticed, struct cache *c, enum cache_notice action, const char *path,
        size_t len, uint64_t now)
{
    put_off((struct overdue){.action = action, .path = strndup(path, len)});
    return true;
}

static void catch_up(struct cache *c, uint64_t now)
{
    while (!list_empty(&all)) {
        struct overdue *o = container_of(all.next, struct overdue, link);
        if (o->due > now)
            return;
        list_del(&o->link);
        if (o->broken) {
            __real_cache_broken(c, o->broken);
            cache_file_unref(c, o->broken);
        } else {
            __real_cache_noticed(c, o->action, o->path, strlen(o->path), now);
        }
        free(o->path);
        free(o);
    }
}

WRAPPED(void, cache_plan_lookup, struct cache *c, struct cache_file *dir, const char *name,
        size_t len, enum cache_intent intent, uint64_t now, struct cache_plan *ret)
{
    catch_up(c, now);
    __real_cache_plan_lookup(c, dir, name, len, intent, now, ret);
}

WRAPPED(void, cache_plan_attr, struct cache *c, struct cache_file *f, uint64_t now,
        struct cache_plan *ret)
{
    catch_up(c, now);
    __real_cache_plan_attr(c, f, now, ret);
}

WRAPPED(struct cache_listing *, cache_plan_listing, struct cache *c, struct cache_file *dir,
        uint64_t now)
{
    catch_up(c, now);
    return __real_cache_plan_listing(c, dir, now);
}

WRAPPED(struct cache *, cache_free, struct cache *c)
{
    catch_up(c, CLOCK_NEVER);
    return __real_cache_free(c);
}
