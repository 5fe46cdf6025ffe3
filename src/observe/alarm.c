/*
 * The dead-cache alarm: a cache that is on, is asked, and never answers.
 *
 * That is what the report's user had and nothing told them. A hit rate alone does not help, so the
 * line names the commonest reason of the misses and the setting that changes it. Look-ups that no
 * cache may answer (intent) and those of a cache that is off are not held against it; nor are,
 * against the not-found cache, those for names that turned out to be there: it is asked about every
 * name, and only the missing ones are its business.
 */
#include "observe/observe.h"

#include <inttypes.h>
#include <stdio.h>

static const struct {
    const char *title, *lifetime, *entries, *entry_size;
} settings[OBSERVE_CACHES] = {
    [OBSERVE_DIR] = {"directory cache", "DirectoryCacheLifetime", "DirectoryCacheEntriesMax",
                     "DirectoryCacheEntrySizeMax"},
    [OBSERVE_INFO] = {"file info cache", "FileInfoCacheLifetime", "FileInfoCacheEntriesMax", NULL},
    [OBSERVE_NOTFOUND] = {"not-found cache", "FileNotFoundCacheLifetime",
                          "FileNotFoundCacheEntriesMax", NULL},
};

/* Look-ups that the cache might have answered. */
static uint64_t lookups(enum observe_cache c, const struct observe_cache_counts *n)
{
    uint64_t asked =
        n->hits + observe_misses(n) - n->misses[MISS_DISABLED] - n->misses[MISS_INTENT];
    if (c != OBSERVE_NOTFOUND)
        return asked;
    uint64_t business = asked - n->misses[MISS_ABSENT] + n->inserts;
    return business < asked ? business : asked;
}

static enum observe_miss dominant(const struct observe_cache_counts *n)
{
    enum observe_miss most = MISS_ABSENT;
    for (enum observe_miss m = 0; m < OBSERVE_MISSES; m++)
        if (m != MISS_DISABLED && m != MISS_INTENT && n->misses[m] > n->misses[most])
            most = m;
    return most;
}

static void remedy(enum observe_cache c, enum observe_miss why, uint64_t inserts, char *out,
                   size_t cap)
{
    switch (why) {
    case MISS_EXPIRED:
        snprintf(out, cap, "answers were too old when they were asked for again: raise %s",
                 settings[c].lifetime);
        return;
    case MISS_EVICTED:
        snprintf(out, cap, "answers were pushed out before they were asked for again: raise %s",
                 settings[c].entries);
        return;
    case MISS_TOO_LARGE:
        snprintf(out, cap, "the directories are larger than the cache may hold: raise %s",
                 settings[c].entry_size ? settings[c].entry_size : settings[c].entries);
        return;
    case MISS_BROKEN:
        snprintf(out, cap,
                 "the server kept taking its promises back: other clients write there, "
                 "and no setting helps while they do");
        return;
    case MISS_CHANGED:
        snprintf(out, cap,
                 "every answer was made old by a change before it was asked for again: "
                 "read and write in different directories");
        return;
    case MISS_PARTIAL:
        snprintf(out, cap,
                 "no listing was read to its end, so none could be kept: "
                 "list whole directories");
        return;
    case MISS_CASE:
        snprintf(out, cap,
                 "names were asked for in another spelling than the server's: "
                 "spell them as a listing shows them");
        return;
    default:
        snprintf(out, cap,
                 inserts ? "nothing was asked for twice while it was known: "
                           "expected of a first pass, else of a program that no cache can help"
                         : "no answer was ever stored: "
                           "the server refused what was asked, or another cache came first");
        return;
    }
}

unsigned observe_dead_caches(const struct observe_counts *c, const bool enabled[OBSERVE_CACHES],
                             void (*line)(void *user, enum observe_cache cache, const char *text),
                             void *user)
{
    unsigned faults = 0;
    for (enum observe_cache i = 0; i < OBSERVE_CACHES; i++) {
        const struct observe_cache_counts *n = &c->cache[i];
        uint64_t asked = lookups(i, n);
        enum observe_miss why = dominant(n);
        if (!enabled[i] || n->hits > 0 || asked < OBSERVE_ALARM_LOOKUPS)
            continue;
        char what[200], text[400];
        remedy(i, why, n->inserts, what, sizeof(what));
        snprintf(text, sizeof(text),
                 "%s: no hit in %" PRIu64 " look-ups; %" PRIu64 " times the reason was '%s': %s",
                 settings[i].title, asked, n->misses[why], observe_miss_name(why), what);
        line(user, i, text);
        faults++;
    }
    return faults;
}
