/*
 * A sweep is an account of the replay for each value: 0, then bounds in powers of two, lifetimes in
 * 1, 2, 5 and their tens, and the value that the base has, where it is not among these. Each
 * point's caches keep at most SWEEP_MEMORY_MAX bytes, so that the far end of the series costs no
 * more than that.
 */
#include "capture/sweep.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define ENTRIES_LAST 65536
#define SECONDS_LAST 5000
#define PERCENT      99

static const struct swept {
    const char *name;
    enum observe_cache cache;
    bool is_lifetime;
} swept[] = {
    {"DirectoryCacheEntriesMax", OBSERVE_DIR, false},
    {"DirectoryCacheLifetime", OBSERVE_DIR, true},
    {"FileInfoCacheEntriesMax", OBSERVE_INFO, false},
    {"FileInfoCacheLifetime", OBSERVE_INFO, true},
    {"FileNotFoundCacheEntriesMax", OBSERVE_NOTFOUND, false},
    {"FileNotFoundCacheLifetime", OBSERVE_NOTFOUND, true},
};

struct sweep {
    struct replay *replay;
    const struct swept *swept;
    struct settings base;
    uint64_t present;
    uint64_t value[SWEEP_POINTS_MAX];
    const struct account *account[SWEEP_POINTS_MAX];
    size_t count;
};

static const struct swept *find(const char *setting)
{
    for (size_t i = 0; i < sizeof(swept) / sizeof(swept[0]); i++)
        if (strcasecmp(swept[i].name, setting) == 0)
            return &swept[i];
    return NULL;
}

static uint64_t present_value(const struct swept *w, const struct settings *s)
{
    const uint32_t of[] = {
        s->directory_cache_entries_max,      s->directory_cache_lifetime,
        s->file_info_cache_entries_max,      s->file_info_cache_lifetime,
        s->file_not_found_cache_entries_max, s->file_not_found_cache_lifetime,
    };
    return of[w - swept];
}

/* 1, 2, 4, 8 ... or 1, 2, 5, 10, 20, 50 ... */
static uint64_t next_value(uint64_t value, bool is_lifetime)
{
    uint64_t lead = value;
    while (lead >= 10)
        lead /= 10;
    return is_lifetime && lead == 2 ? value / 2 * 5 : value * 2;
}

static void make_series(struct sweep *s)
{
    bool lifetime = s->swept->is_lifetime;
    uint64_t last = lifetime ? SECONDS_LAST : ENTRIES_LAST;
    bool inserted = s->present == 0;
    s->value[s->count++] = 0;
    for (uint64_t v = 1; v <= last; v = next_value(v, lifetime)) {
        if (!inserted && s->present < v)
            s->value[s->count++] = s->present;
        inserted |= s->present <= v;
        s->value[s->count++] = v;
    }
    if (!inserted)
        s->value[s->count++] = s->present;
}

static struct settings settings_at(const struct sweep *s, uint64_t value)
{
    char text[24];
    struct settings at = s->base;
    snprintf(text, sizeof(text), "%" PRIu64, value);
    settings_set(&at, s->swept->name, text, NULL);
    bool *const on[] = {[OBSERVE_DIR] = &at.directory_cache,
                        [OBSERVE_INFO] = &at.file_info_cache,
                        [OBSERVE_NOTFOUND] = &at.file_not_found_cache};
    *on[s->swept->cache] = true;
    if (at.cache_memory_max > SWEEP_MEMORY_MAX)
        at.cache_memory_max = SWEEP_MEMORY_MAX;
    return at;
}

int sweep_new(struct replay *r, const char *setting, const struct settings *base,
              struct sweep **ret, struct error *err)
{
    const struct swept *w = find(setting);
    if (!w)
        return error_set(err, -ENOENT, 0, "sweep: '%.60s' is none of %s, %s, %s, %s, %s and %s",
                         setting, swept[0].name, swept[1].name, swept[2].name, swept[3].name,
                         swept[4].name, swept[5].name);
    struct sweep *s = calloc(1, sizeof(*s));
    if (!s)
        return error_set(err, -ENOMEM, 0, "sweep: out of memory");
    *s = (struct sweep){.replay = r, .swept = w, .base = *base, .present = present_value(w, base)};
    make_series(s);
    for (size_t i = 0; i < s->count; i++) {
        struct settings at = settings_at(s, s->value[i]);
        int code = replay_add(r, &at, &s->account[i]);
        if (code < 0) {
            free(s);
            return error_set(err, code, 0, "sweep %s: %s", w->name,
                             code == -E2BIG ? "too many sweeps at once" : "out of memory");
        }
    }
    *ret = s;
    return 0;
}

struct sweep *sweep_free(struct sweep *s)
{
    free(s);
    return NULL;
}

static uint64_t answered(const struct account *a)
{
    uint64_t sum = 0;
    for (int c = 0; c < OBSERVE_CACHES; c++)
        sum += a->answered[c].operations;
    return sum;
}

static struct sweep_point point(const struct sweep *s, size_t i)
{
    const struct account *a = s->account[i];
    struct observe_counts counts;
    observe_read(a->observe, &counts);
    uint64_t here = answered(a), without = answered(s->account[0]);
    struct sweep_point p = {.value = s->value[i],
                            .hits = here > without ? here - without : 0,
                            .evicted = counts.cache[s->swept->cache].evictions};
    replay_predicted(s->replay, a, &p.predicted);
    return p;
}

void sweep_result(const struct sweep *s, struct sweep_result *ret)
{
    *ret = (struct sweep_result){.setting = s->swept->name,
                                 .unit = s->swept->is_lifetime ? "s" : "entries",
                                 .profile = s->base.profile,
                                 .cache = s->swept->cache,
                                 .present = s->present,
                                 .count = s->count};
    for (size_t i = 0; i < s->count; i++) {
        ret->point[i] = point(s, i);
        if (ret->point[i].hits > ret->most)
            ret->most = ret->point[i].hits;
    }
    for (size_t i = s->count; i-- > 0 && ret->most;)
        if (ret->point[i].hits * 100 >= ret->most * PERCENT)
            ret->enough = ret->point[i].value;
}

json_t *sweep_json(const struct sweep *s)
{
    struct sweep_result r;
    sweep_result(s, &r);
    json_t *points = json_array();
    for (size_t i = 0; i < r.count; i++) {
        const struct sweep_point *p = &r.point[i];
        json_array_append_new(points, json_pack("{s:I, s:I, s:I, s:I, s:I, s:f}", "value",
                                                (json_int_t)p->value, "hits", (json_int_t)p->hits,
                                                "evicted", (json_int_t)p->evicted, "requests",
                                                (json_int_t)effort_requests(&p->predicted),
                                                "round_trips", (json_int_t)p->predicted.round_trips,
                                                "seconds", (double)p->predicted.waited_ns / 1e9));
    }
    return json_pack("{s:s, s:s, s:s, s:s, s:I, s:o, s:I, s:o}", "setting", r.setting, "unit",
                     r.unit, "profile", r.profile, "cache", observe_cache_name(r.cache), "present",
                     (json_int_t)r.present, "points", points, "most_hits", (json_int_t)r.most,
                     "enough", r.enough ? json_integer((json_int_t)r.enough) : json_null());
}
