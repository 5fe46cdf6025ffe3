/* Chance, the trace, and comparing what the cache says with what the oracle says. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "model/model.h"

struct oracle oracle;
struct model m;

/* ---- chance ---- */

uint64_t chance(void) /* splitmix64 */
{
    uint64_t z = m.random += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

int below(int n)
{
    return (int)(chance() % (uint64_t)n);
}

bool one_in(int n)
{
    return below(n) == 0;
}

/* ---- the trace, and the report of a difference ---- */

void trace(const char *format, ...)
{
    va_list args;
    char *line = m.trace[m.traced++ % TRACE];
    int n = snprintf(line, 64, "%" PRIu64 " @%" PRIu64 ".%03u ", m.op,
                     (uint64_t)(m.now / NS_PER_SEC), (unsigned)(m.now % NS_PER_SEC / NS_PER_MS));
    va_start(args, format);
    vsnprintf(line + n, sizeof m.trace[0] - (size_t)n, format, args);
    va_end(args);
}

void differ(const char *format, ...)
{
    va_list args;
    const struct settings *s = &m.settings;
    for (uint64_t i = m.traced < TRACE ? 0 : m.traced - TRACE; i < m.traced; i++)
        printf("  %s\n", m.trace[i % TRACE]);
    printf(
        "settings: %s, directory %d %u s %u entries %u bytes, info %d %u s %u, not found %d %u s "
        "%u, memory %" PRIu64 ", on miss %d, info answers %d\n",
        s->profile, s->directory_cache, s->directory_cache_lifetime, s->directory_cache_entries_max,
        s->directory_cache_entry_size_max, s->file_info_cache, s->file_info_cache_lifetime,
        s->file_info_cache_entries_max, s->file_not_found_cache, s->file_not_found_cache_lifetime,
        s->file_not_found_cache_entries_max, s->cache_memory_max, s->on_miss,
        s->info_answers_lookup);
    printf("DIFFERENCE in life %u after call %" PRIu64 " (%s %" PRIu64 " %" PRIu64 "): ", m.life,
           m.op, program_invocation_short_name, m.count, m.seed);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
    exit(1);
}

void same_number(const char *what, uint64_t real, uint64_t expected)
{
    if (real != expected)
        differ("%s: the cache has %" PRIu64 ", the oracle %" PRIu64, what, real, expected);
}

/* ---- comparing ---- */

void same_file(int file, struct cache_file *real)
{
    if (!m.real[file]) {
        for (int i = 0; i < oracle.files; i++)
            if (m.real[i] == real)
                differ("file %d is the object of file %d", file, i);
        m.real[file] = real;
    }
    if (m.real[file] != real)
        differ("another object than before for file %d", file);
    const struct oracle_file *f = &oracle.file[file];
    same_number("kind", cache_file_is_dir(real), f->is_dir);
    uint64_t ino = cache_file_ino(real), size;
    bool own = ino >> 63;
    if (f->identified && !f->own_ino && !(own && f->contested))
        same_number("inode", ino, f->attr.id);
    else if (f->identified && !own && !(f->contested && ino == f->attr.id))
        differ("inode %" PRIu64 " of file %d may be another's id", ino, file);
    same_number("size known", cache_file_size(real, &size), f->heard);
    if (f->heard)
        same_number("size", size, f->attr.size);
    char path[1024], expected[1024];
    int n = cache_file_path(real, path, sizeof path);
    same_number("path's length", (uint64_t)n,
                (uint64_t)oracle_path(&oracle, file, expected, sizeof expected));
    if (n > 0 && memcmp(path, expected, (size_t)n) != 0)
        differ("path %.*s, the oracle has %s", n, path, expected);
}

static bool same_attr(const struct file_attr *a, const struct file_attr *b)
{
    return a->id == b->id && a->attributes == b->attributes && a->links == b->links &&
           a->size == b->size && a->created == b->created;
}

void same_plan(const struct cache_plan *real, const struct oracle_plan *expected)
{
    same_number("step", real->step, expected->step);
    same_number("guess", real->guess, expected->guess);
    if (expected->step != CACHE_ANSWER)
        return;
    same_number("result", (uint64_t)real->result, (uint64_t)expected->result);
    same_number("valid until", real->valid_until, expected->valid_until);
    if (expected->result < 0)
        return;
    same_file(expected->file, real->file);
    if (!same_attr(&real->attr, &expected->attr))
        differ("attributes: id %" PRIu64 " size %" PRIu64 " links %u, the oracle id %" PRIu64
               " size %" PRIu64 " links %u",
               real->attr.id, real->attr.size, real->attr.links, expected->attr.id,
               expected->attr.size, expected->attr.links);
    if (expected->spelling < 0)
        return;
    const char *text = spellings[expected->spelling].text;
    if (real->spelling_len != strlen(text) || memcmp(real->spelling, text, strlen(text)) != 0)
        differ("spelled %.*s, the oracle has %s", (int)real->spelling_len, real->spelling, text);
}

void same_counts(void)
{
    struct observe_counts counts;
    struct cache_sizes sizes;
    observe_read(m.observe, &counts);
    cache_sizes(m.c, &sizes);
    char what[64];
    for (int i = 0; i < 3; i++) {
        const struct observe_cache_counts *real = &counts.cache[i];
        const struct oracle_counts *expected = &oracle.counts[i];
        const char *cache = observe_cache_name(i);
        if (real->hits != expected->hits)
            differ("%s: %" PRIu64 " hits, the oracle has %" PRIu64, cache, real->hits,
                   expected->hits);
        for (int r = 0; r < OBSERVE_MISSES; r++)
            if (real->misses[r] != expected->misses[r])
                differ("%s: %" PRIu64 " misses '%s', the oracle has %" PRIu64, cache,
                       real->misses[r], observe_miss_name(r), expected->misses[r]);
        snprintf(what, sizeof what, "%s inserts", cache);
        same_number(what, real->inserts, expected->inserts);
        snprintf(what, sizeof what, "%s evictions", cache);
        same_number(what, real->evictions, expected->evictions);
        snprintf(what, sizeof what, "%s invalidations", cache);
        same_number(what, real->invalidations, expected->invalidations);
        snprintf(what, sizeof what, "%s entries", cache);
        same_number(what, sizes.entries[i], (uint64_t)oracle.ring[i].count);
        if (sizes.entries[i] > (uint64_t)oracle.entries_max[i])
            differ("%s: %" PRIu64 " entries, over the bound", cache, sizes.entries[i]);
    }
    same_number("bytes", sizes.bytes, oracle.bytes);
    if (sizes.bytes > m.settings.cache_memory_max)
        differ("%" PRIu64 " bytes, over the bound", sizes.bytes);
    same_number("files", sizes.files, (uint64_t)oracle.files);
}
