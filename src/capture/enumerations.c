/*
 * Directories that were enumerated, and enumerated again.
 *
 * An enumeration is one open with its QUERY_DIRECTORY requests, whether for everything or for one
 * name: a client with a directory cache that works needs neither while it has a listing. It is a
 * repeat where the same client enumerated the same directory less than DirectoryCacheLifetime
 * before and had its answer, and no change to the directory was seen since. Repeats that Windows'
 * bounds allow for count apart, since only they accuse the cache: where as many other directories
 * as DirectoryCacheEntriesMax came in between, or the listing is over DirectoryCacheEntrySizeMax,
 * the cache is too small but not dead.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/parts.h"

struct directory {
    struct place place;             /* of a tree */
    struct analysis_directory sums; /* its names are filled in by finish */
};

void enumerations_init(struct analysis_state *s)
{
    places_init(&s->directories, sizeof(struct directory), PLACES_MAX);
    places_init(&s->listed, sizeof(struct asked), PLACES_MAX);
    places_init(&s->searched, sizeof(struct asked), PLACES_MAX);
}

void enumerations_done(struct analysis_state *s)
{
    places_done(&s->directories);
    places_done(&s->listed);
    places_done(&s->searched);
}

/* How requests ask, whatever became of their opens. */
void enumerations_exchange(struct analysis *a, const struct exchange *x)
{
    if (x->command != SMB2_QUERY_DIRECTORY || !x->request_seen || share_is_pipes(x->share))
        return;
    unsigned kind = pattern_is_everything(x->pattern)  ? PATTERN_EVERYTHING
                    : pattern_has_wildcard(x->pattern) ? PATTERN_WILDCARD
                                                       : PATTERN_NAME;
    a->enumerations.by_pattern[kind]++;
}

/* Whether this very question was answered a while ago; remembers that it was asked. */
static bool same_question(struct analysis *a, unsigned view, const struct operation *o)
{
    struct analysis_state *s = a->state;
    char path[1024];
    int len = snprintf(path, sizeof(path), "%s/%s", o->path,
                       pattern_is_everything(o->pattern) ? "*" : o->pattern);
    if (len < 0 || (size_t)len >= sizeof(path))
        return false;
    asked_forget(&s->searched, o->begin_ns);
    struct asked *q = places_touch(&s->searched, view, path, (size_t)len);
    if (!q)
        return false;
    bool same = still_believed(q, o->begin_ns, s->settings.directory_cache_lifetime);
    q->asked_ns = o->begin_ns;
    q->known_ns = o->end_ns;
    return same;
}

/* What an enumeration is about. */
struct subject {
    const struct operation *o;
    unsigned view;
    const char *path;
    size_t len;
    struct directory *directory; /* NULL: out of memory */
};

struct repeat {
    bool is, in_bound, oversize;
};

static struct repeat repeat_of(struct analysis *a, const struct subject *q)
{
    struct analysis_state *s = a->state;
    const struct settings *by = &s->settings;
    const struct asked *before = places_find(&s->listed, q->view, q->path, q->len);
    struct repeat r = {0};
    if (!still_believed(before, q->o->begin_ns, by->directory_cache_lifetime))
        return r;
    if (changes_since(s->changes, q->view, q->path, q->len, before->asked_ns)) {
        a->enumerations.changed_between++;
        return r;
    }
    r.is = true;
    r.oversize =
        q->directory && q->directory->sums.listing_bytes > by->directory_cache_entry_size_max;
    r.in_bound =
        !r.oversize && places_within(&s->listed, &before->place, by->directory_cache_entries_max);
    return r;
}

/* The directory becomes the latest of its view. */
static void remember(struct analysis *a, const struct subject *q)
{
    asked_forget(&a->state->listed, q->o->begin_ns);
    struct asked *d = places_touch(&a->state->listed, q->view, q->path, q->len);
    if (d && (q->o->complete || q->o->name_count)) {
        d->asked_ns = q->o->begin_ns;
        d->known_ns = q->o->end_ns;
    }
}

static void add_to_directory(struct analysis_directory *sums, const struct operation *o,
                             struct repeat r)
{
    sums->listings += o->kind == OPERATION_LIST;
    sums->searches += o->kind == OPERATION_SEARCH;
    sums->repeats += r.is;
    sums->repeats_in_bound += r.in_bound;
    sums->repeats_oversize += r.is && r.oversize;
    sums->waited_ns += o->waited_ns;
    sums->repeats_waited_ns += r.is ? o->waited_ns : 0;
    if (o->kind == OPERATION_LIST && o->listing_bytes >= sums->listing_bytes) {
        sums->listing_bytes = o->listing_bytes;
        sums->entries = o->name_count;
    }
}

static void add_to_all(struct analysis_enumerations *e, const struct operation *o, struct repeat r)
{
    e->repeats += r.is;
    e->repeats_in_bound += r.in_bound;
    e->in_bound_requests += r.in_bound ? requests_of(o) : 0;
    e->repeats_oversize += r.is && r.oversize;
    e->repeats_waited_ns += r.is ? o->waited_ns : 0;
    if (o->kind == OPERATION_LIST && o->listing_bytes > e->largest_bytes)
        e->largest_bytes = o->listing_bytes;
}

void enumerations_operation(struct analysis *a, const struct operation *o)
{
    struct analysis_enumerations *e = &a->enumerations;
    if ((o->kind != OPERATION_LIST && o->kind != OPERATION_SEARCH) || share_is_pipes(o->share))
        return;
    e->count++;
    e->listings += o->kind == OPERATION_LIST;
    e->searches += o->kind == OPERATION_SEARCH;
    e->waited_ns += o->waited_ns;
    unsigned view = shares_view(a->state->shares, o->share);
    if (!o->path || !view) {
        e->path_unknown++;
        return;
    }
    struct subject q = {o, view, o->path, strlen(o->path), NULL};
    unsigned tree = shares_at(a->state->shares, view)->tree;
    q.directory = places_touch(&a->state->directories, tree, q.path, q.len);
    struct repeat r = repeat_of(a, &q);
    bool same = same_question(a, view, o);
    e->repeats_same += r.is && same;
    add_to_all(e, o, r);
    if (q.directory)
        add_to_directory(&q.directory->sums, o, r);
    remember(a, &q);
}

/* ---- the list ---- */

static int by_repeats(const void *x, const void *y)
{
    const struct analysis_directory *a = x, *b = y;
    uint64_t asked_a = a->listings + a->searches, asked_b = b->listings + b->searches;
    if (a->repeats != b->repeats)
        return a->repeats < b->repeats ? 1 : -1;
    if (asked_a != asked_b)
        return asked_a < asked_b ? 1 : -1;
    return strcmp(a->path, b->path);
}

int enumerations_finish(struct analysis *a)
{
    struct places *t = &a->state->directories;
    a->enumerations.distinct = t->added;
    a->directories = calloc(t->by_path.count + 1, sizeof(*a->directories));
    if (!a->directories)
        return -ENOMEM;
    struct list *item;
    list_for_each(item, &t->recent)
    {
        struct place *p = container_of(item, struct place, recent);
        const struct view *v = shares_at(a->state->shares, p->share);
        struct analysis_directory *d = &a->directories[a->directory_count++];
        *d = ((struct directory *)p)->sums;
        d->server = v->server;
        d->share = v->name;
        d->path = p->path;
    }
    qsort(a->directories, a->directory_count, sizeof(*a->directories), by_repeats);
    return 0;
}
