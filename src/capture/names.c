/*
 * Names that were asked for one by one, and asked for again.
 *
 * A question for one name is a CREATE that found nothing, an open for attributes only, or a search
 * whose pattern is the name. What Windows' file-not-found cache would have answered counts against
 * its lifetime and bound, opens for attributes against those of the file info cache. A search that
 * finds its name is an enumeration (enumerations.c); here it only adds to what is said of the name.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/parts.h"

#define PATH_SIZE 2048

struct name {
    struct place place;        /* of a tree */
    struct analysis_name sums; /* its names are filled in by finish */
};

/* One question for one name. */
struct question {
    unsigned view;
    const char *path;
    size_t len;
    const struct operation *o;
};

void names_init(struct analysis_state *s)
{
    places_init(&s->names, sizeof(struct name), PLACES_MAX);
    places_init(&s->missing, sizeof(struct asked), PLACES_MAX);
    places_init(&s->known, sizeof(struct asked), PLACES_MAX);
}

void names_done(struct analysis_state *s)
{
    places_done(&s->names);
    places_done(&s->missing);
    places_done(&s->known);
}

static bool repeated(struct analysis *a, const struct asked *n, const struct question *q,
                     uint32_t lifetime)
{
    return still_believed(n, q->o->begin_ns, lifetime) &&
           !changes_since(a->state->changes, q->view, q->path, q->len, n->asked_ns);
}

static void add_to_name(struct analysis *a, const struct question *q, bool repeat, bool missing)
{
    const struct operation *o = q->o;
    unsigned tree = shares_at(a->state->shares, q->view)->tree;
    struct name *n = places_touch(&a->state->names, tree, q->path, q->len);
    if (!n)
        return;
    n->sums.missing = missing;
    n->sums.asks++;
    n->sums.repeats += repeat;
    n->sums.waited_ns += o->waited_ns;
    n->sums.repeats_waited_ns += repeat ? o->waited_ns : 0;
}

/* The name becomes the latest of its table. */
static void remember(struct analysis *a, struct places *t, const struct question *q, bool repeat,
                     bool missing)
{
    const struct operation *o = q->o;
    asked_forget(t, o->begin_ns);
    struct asked *n = places_touch(t, q->view, q->path, q->len);
    if (n) {
        n->asked_ns = o->begin_ns;
        n->known_ns = o->end_ns;
    }
    a->names.waited_ns += o->waited_ns;
    a->names.repeats_waited_ns += repeat ? o->waited_ns : 0;
    add_to_name(a, q, repeat, missing);
}

static void add_missing(struct analysis *a, const struct question *q)
{
    struct analysis_state *s = a->state;
    struct analysis_names *sums = &a->names;
    struct asked *n = places_find(&s->missing, q->view, q->path, q->len);
    bool repeat = repeated(a, n, q, s->settings.file_not_found_cache_lifetime);
    sums->missing++;
    sums->missing_repeats += repeat;
    if (repeat &&
        places_within(&s->missing, &n->place, s->settings.file_not_found_cache_entries_max)) {
        sums->missing_in_bound++;
        sums->missing_in_bound_requests += requests_of(q->o);
    }
    remember(a, &s->missing, q, repeat, true);
}

static void add_stat(struct analysis *a, const struct question *q)
{
    struct analysis_state *s = a->state;
    struct analysis_names *sums = &a->names;
    struct asked *n = places_find(&s->known, q->view, q->path, q->len);
    bool repeat = !q->o->lease_granted && repeated(a, n, q, s->settings.file_info_cache_lifetime);
    sums->stats++;
    sums->stat_repeats += repeat;
    if (repeat && places_within(&s->known, &n->place, s->settings.file_info_cache_entries_max)) {
        sums->stat_in_bound++;
        sums->stat_in_bound_requests += requests_of(q->o);
    }
    remember(a, &s->known, q, repeat, false);
}

/* The path of the one name that was searched for. */
static size_t searched_path(const struct operation *o, char out[static PATH_SIZE])
{
    int len = snprintf(out, PATH_SIZE, "%s%s%s", o->path, *o->path ? "/" : "", o->pattern);
    return len > 0 && len < PATH_SIZE ? (size_t)len : SIZE_MAX;
}

static void add_search(struct analysis *a, struct question q)
{
    char path[PATH_SIZE];
    if (pattern_has_wildcard(q.o->pattern) || (q.len = searched_path(q.o, path)) == SIZE_MAX)
        return;
    q.path = path;
    if (q.o->search_found) {
        const struct asked *n = places_find(&a->state->known, q.view, q.path, q.len);
        bool repeat = repeated(a, n, &q, a->state->settings.directory_cache_lifetime);
        a->names.searches_found++;
        remember(a, &a->state->known, &q, repeat, false);
    } else if (q.o->complete) {
        add_missing(a, &q);
    }
}

void names_operation(struct analysis *a, const struct operation *o)
{
    struct question q = {shares_view(a->state->shares, o->share), o->path, 0, o};
    if (!q.view || !q.path)
        return;
    q.len = strlen(q.path);
    switch (o->kind) {
    case OPERATION_MISS:
        add_missing(a, &q);
        break;
    case OPERATION_STAT:
        add_stat(a, &q);
        break;
    case OPERATION_SEARCH:
        add_search(a, q);
        break;
    case OPERATION_DATA: /* takes its entry in the cache, too */
        asked_forget(&a->state->known, o->begin_ns);
        places_touch(&a->state->known, q.view, q.path, q.len);
        break;
    default:
        break;
    }
}

/* ---- the list ---- */

static int by_repeats(const void *x, const void *y)
{
    const struct analysis_name *a = x, *b = y;
    if (a->repeats != b->repeats)
        return a->repeats < b->repeats ? 1 : -1;
    if (a->asks != b->asks)
        return a->asks < b->asks ? 1 : -1;
    return strcmp(a->path, b->path);
}

int names_finish(struct analysis *a)
{
    const struct places *t = &a->state->names;
    a->name_list = calloc(t->by_path.count + 1, sizeof(*a->name_list));
    if (!a->name_list)
        return -ENOMEM;
    struct list *item;
    list_for_each(item, &t->recent)
    {
        struct place *p = container_of(item, struct place, recent);
        const struct view *v = shares_at(a->state->shares, p->share);
        struct analysis_name *n = &a->name_list[a->name_count++];
        *n = ((struct name *)p)->sums;
        n->server = v->server;
        n->share = v->name;
        n->path = p->path;
    }
    qsort(a->name_list, a->name_count, sizeof(*a->name_list), by_repeats);
    return 0;
}
