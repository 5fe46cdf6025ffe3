/*
 * The figures. One table says what the rows are and where each is found; everything else (the
 * printed table, medians, ratios, limits) goes through it. The order is that of the report which
 * started the project, so that the two can be read side by side.
 */
#include "compare/figures.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct figure figures[] = {
    {"application start (s)", "seconds", FIGURE_SECONDS, true},
    {"SMB2 messages", "messages", FIGURE_COUNT, true},
    {"CREATE", "commands.CREATE", FIGURE_COUNT, true},
    {"CLOSE", "commands.CLOSE", FIGURE_COUNT, true},
    {"READ", "commands.READ", FIGURE_COUNT, true},
    {"QUERY_DIRECTORY", "commands.QUERY_DIRECTORY", FIGURE_COUNT, true},
    {"QUERY_INFO", "commands.QUERY_INFO", FIGURE_COUNT, true},
    {"IOCTL", "commands.IOCTL", FIGURE_COUNT, true},
    {"CHANGE_NOTIFY", "commands.CHANGE_NOTIFY", FIGURE_COUNT, true},
    {"NEGOTIATE", "commands.NEGOTIATE", FIGURE_COUNT, false},
    {"SESSION_SETUP", "commands.SESSION_SETUP", FIGURE_COUNT, false},
    {"LOGOFF", "commands.LOGOFF", FIGURE_COUNT, false},
    {"TREE_CONNECT", "commands.TREE_CONNECT", FIGURE_COUNT, false},
    {"TREE_DISCONNECT", "commands.TREE_DISCONNECT", FIGURE_COUNT, false},
    {"FLUSH", "commands.FLUSH", FIGURE_COUNT, false},
    {"WRITE", "commands.WRITE", FIGURE_COUNT, false},
    {"LOCK", "commands.LOCK", FIGURE_COUNT, false},
    {"CANCEL", "commands.CANCEL", FIGURE_COUNT, false},
    {"ECHO", "commands.ECHO", FIGURE_COUNT, false},
    {"SET_INFO", "commands.SET_INFO", FIGURE_COUNT, false},
    {"OPLOCK_BREAK", "commands.OPLOCK_BREAK", FIGURE_COUNT, false},
    {"Metadata Requests/sec", "metadata_requests_per_second", FIGURE_RATE, true},
    {"trace events \"file\"", "events.file", FIGURE_COUNT, true},
    {"trace events \"dir\"", "events.dir", FIGURE_COUNT, true},
    {"trace events \"performance\"", "events.performance", FIGURE_COUNT, true},
    {"round trips", "round_trips", FIGURE_COUNT, true},
    {"dir cache hits", "cache.dir.hit", FIGURE_HITS, true},
    {"info cache hits", "cache.info.hit", FIGURE_HITS, true},
    {"notfound cache hits", "cache.notfound.hit", FIGURE_HITS, true},
};
#define FIGURES (sizeof(figures) / sizeof(figures[0]))

const struct figure *figure_at(size_t index)
{
    return index < FIGURES ? &figures[index] : NULL;
}

/* ---- finding ---- */

static int plain(char c)
{
    return c == '_' || c == '-' || c == '.' ? ' ' : tolower((unsigned char)c);
}

/* Quotes are passed over, so that `trace events dir` is the row as people type it. */
static bool same_name(const char *a, const char *b)
{
    for (;; a++, b++) {
        a += strspn(a, "\"");
        b += strspn(b, "\"");
        if (plain(*a) != plain(*b))
            return false;
        if (!*a)
            return true;
    }
}

const struct figure *figure_find(const char *name)
{
    for (size_t i = 0; i < FIGURES; i++)
        if (same_name(name, figures[i].row) || same_name(name, figures[i].name))
            return &figures[i];
    for (size_t i = 0; i < FIGURES; i++) {
        const char *last = strrchr(figures[i].name, '.');
        if (last && figures[i].kind != FIGURE_HITS && same_name(name, last + 1))
            return &figures[i];
    }
    return NULL;
}

/* ---- values ---- */

static const json_t *member(const json_t *run, const char *name, size_t len)
{
    for (const char *end = name + len; run && name < end;) {
        size_t part = strcspn(name, ".");
        part = part < (size_t)(end - name) ? part : (size_t)(end - name);
        run = json_object_getn(run, name, part);
        name += part + 1;
    }
    return run;
}

double figure_value(const struct figure *f, const json_t *run)
{
    return json_number_value(member(run, f->name, strlen(f->name)));
}

double figure_hit_rate(const struct figure *f, const json_t *run)
{
    if (f->kind != FIGURE_HITS)
        return NAN;
    const json_t *cache = member(run, f->name, strlen(f->name) - strlen(".hit"));
    double hits = json_number_value(json_object_get(cache, "hit")), misses = 0;
    const char *reason;
    json_t *n, *miss = json_object_get(cache, "miss");
    json_object_foreach(miss, reason, n) misses +=
        strcmp(reason, "disabled") == 0 ? 0 : json_number_value(n);
    return hits + misses > 0 ? 100 * hits / (hits + misses) : NAN;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

double figure_median(double *values, size_t n)
{
    if (n == 0)
        return NAN;
    qsort(values, n, sizeof(values[0]), ascending);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

const char *figure_text(char buf[static REPORT_NUMBER], const struct figure *f, double value)
{
    switch (f->kind) {
    case FIGURE_SECONDS:
    case FIGURE_RATE:
        return report_decimal(buf, value, 2);
    default: /* the median of an even number of runs may lie between two counts */
        return report_decimal(buf, value, value == floor(value) ? 0 : 1);
    }
}

/* ---- limits ---- */

int figure_limit_parse(const char *text, struct figure_limit *ret)
{
    char name[64], *end;
    const char *equals = strrchr(text, '=');
    size_t len = equals ? (size_t)(equals - text) : sizeof(name);
    if (len >= sizeof(name))
        return -EINVAL;
    memcpy(name, text, len);
    name[len] = 0;
    struct figure_limit l = {.figure = figure_find(name), .ratio = strtod(equals + 1, &end)};
    if (!l.figure || end == equals + 1 || *end || !(l.ratio >= 0) || isinf(l.ratio))
        return -EINVAL;
    *ret = l;
    return 0;
}

bool figure_limit_exceeded(const struct figure_limit *l, double value, double base)
{
    return value > l->ratio * base;
}
