/*
 * What is believed of one path, as JSON for people, and forgetting it. Neither talks to the server,
 * and the first changes nothing: whoever wonders about a cache must not disturb it by asking.
 *
 * What a program's next call would send is the sum over the way to the path: through a mount each
 * component is looked up by itself, where the kernel does not answer. Steps name what they are
 * about by a number of components, since a path of a share need not be text.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "share/promise.h"

/* ---- what is sent ---- */

static const char *step_name(enum cache_step step)
{
    static const char *const names[] = {
        [CACHE_ANSWER] = "nothing", [CACHE_LIST] = "LIST", [CACHE_SEARCH] = "SEARCH",
        [CACHE_STAT] = "STAT",      [CACHE_OPEN] = "OPEN", [CACHE_VERIFY] = "VERIFY"};
    return names[step];
}

/* `f`: what it is about, NULL: not known yet. */
static const char *requests_of(struct share *s, enum cache_step step, const struct cache_file *f,
                               bool reads)
{
    bool compound = s->style == CLIENT_COMPOUND;
    switch (step) {
    case CACHE_LIST:
        if (f && promise_relists(s, f))
            return "QUERY_DIRECTORY+QUERY_DIRECTORY";
        if (s->promises.dirs) /* it stays open under its lease */
            return "CREATE+QUERY_DIRECTORY+QUERY_DIRECTORY";
        /* fall through */
    case CACHE_SEARCH:
        return compound ? "CREATE+QUERY_DIRECTORY+QUERY_DIRECTORY, CLOSE"
                        : "CREATE, QUERY_DIRECTORY, QUERY_DIRECTORY, CLOSE";
    case CACHE_STAT:
    case CACHE_VERIFY:
        return compound ? "CREATE+QUERY_INFO+CLOSE" : "CREATE, QUERY_INFO, CLOSE";
    case CACHE_OPEN:
        return reads ? "CREATE+READ" : "CREATE";
    case CACHE_ANSWER:
        break;
    }
    return "";
}

/* `about`: the first so many components of the path. */
static void add_step(json_t *steps, enum cache_step step, size_t about, const char *requests)
{
    json_array_append_new(steps, json_pack("{s:s, s:I, s:s}", "step", step_name(step), "components",
                                           (json_int_t)about, "requests", requests));
}

/* ---- the way ---- */

struct way {
    struct share *share;
    const char *rest; /* of the path */
    uint64_t now;
    struct cache_file *dir; /* a reference; NULL: nothing is known of it */
    bool below_listed;
    size_t components;        /* so far */
    json_t *look_ups;         /* what they send */
    struct cache_explained e; /* of the last one; e.file is a reference */
};

static void let_go(const struct way *w, struct cache_file *f)
{
    if (f)
        cache_file_unref(w->share->cache, f);
}

/* One component on; false: what is believed of it ends the way. */
static bool look_up(struct way *w)
{
    size_t len = strcspn(w->rest, "/");
    struct cache_explained *e = &w->e;
    cache_explain(w->share->cache, w->dir, w->rest, len, w->below_listed, w->now, e);
    w->rest += len + (w->rest[len] == '/');
    w->components++;
    if (e->step != CACHE_ANSWER)
        add_step(w->look_ups, e->step, w->components - (e->step != CACHE_STAT),
                 requests_of(w->share, e->step, w->dir, false));
    return e->step != CACHE_ANSWER || e->result == 0;
}

/* What it leads to is the directory of the next one. False: it is none. */
static bool descend(struct way *w)
{
    struct cache_explained *e = &w->e;
    if (e->file && e->kind_known && !e->is_dir)
        return false;
    let_go(w, w->dir);
    w->dir = e->file && e->is_dir ? cache_file_ref(e->file) : NULL;
    w->below_listed = e->step == CACHE_LIST || e->listed.good;
    let_go(w, e->file);
    e->file = NULL;
    return true;
}

/* Goes as far as belief goes. 0, -ENOENT or -ENOTDIR. */
static int go(struct way *w)
{
    if (!*w->rest) {
        cache_explain(w->share->cache, w->dir, "", 0, false, w->now, &w->e);
        return 0;
    }
    while (look_up(w)) {
        if (!*w->rest)
            return 0;
        if (!descend(w))
            return -ENOTDIR;
    }
    return w->e.result;
}

/* ---- as JSON ---- */

static json_t *seconds(uint64_t from, uint64_t to)
{
    return json_real(to > from ? (double)((to - from) / NS_PER_MS) / 1e3 : 0);
}

static json_t *belief_json(enum observe_cache cache, const struct cache_belief *b, uint64_t now)
{
    json_t *o = json_pack("{s:s, s:b, s:b}", "cache", observe_cache_name(cache), "held", b->held,
                          "answers", b->good);
    if (b->held)
        json_object_set_new(o, "age_s", seconds(b->since, now));
    if (b->verified)
        json_object_set_new(o, "verified_s", seconds(b->verified, now));
    if (b->good) {
        json_object_set_new(o, "trust", json_string(observe_trust_name(b->trust)));
        json_object_set_new(o, "valid_s", seconds(now, b->until));
    } else {
        json_object_set_new(o, "why_not", json_string(observe_miss_name(b->why)));
        json_object_set_new(o, "verifiable", json_boolean(b->verifiable));
    }
    if (b->missed)
        json_object_set_new(o, "last_miss",
                            json_pack("{s:s, s:o}", "reason", observe_miss_name(b->missed_why),
                                      "ago_s", seconds(b->missed_at, now)));
    return o;
}

static json_t *beliefs_json(const struct cache_explained *e, bool root, uint64_t now)
{
    static const char *const says[] = {[CACHE_SAYS_NOTHING] = "nothing",
                                       [CACHE_SAYS_THERE] = "listed",
                                       [CACHE_SAYS_MISSING] = "not listed"};
    json_t *all = json_object();
    if (!root) {
        json_t *listed = belief_json(OBSERVE_DIR, &e->listed, now);
        json_object_set_new(listed, "says", json_string(says[e->says]));
        json_object_set_new(listed, "entries", json_integer((json_int_t)e->listed_entries));
        json_object_set_new(all, "listed", listed);
        json_object_set_new(all, "missing", belief_json(OBSERVE_NOTFOUND, &e->missing, now));
    }
    json_t *info = belief_json(OBSERVE_INFO, &e->info, now);
    json_object_set_new(info, "from_listing", json_boolean(e->info_from_listing));
    if (e->heard)
        json_object_set_new(info, "size", json_integer((json_int_t)e->attr.size));
    json_object_set_new(all, "info", info);
    if (!e->kind_known || e->is_dir) {
        json_t *listing = belief_json(OBSERVE_DIR, &e->listing, now);
        json_object_set_new(listing, "entries", json_integer((json_int_t)e->entries));
        json_object_set_new(listing, "bytes", json_integer((json_int_t)e->entries_bytes));
        json_object_set_new(all, "listing", listing);
    }
    return all;
}

/* What the next stat, open and listing send; null: they would fail without. */
static json_t *next_json(const struct way *w, int end)
{
    const struct cache_explained *e = &w->e;
    bool file = e->file && e->kind_known && !e->is_dir, dir = e->file && e->kind_known && e->is_dir;
    json_t *stat = json_copy(w->look_ups), *open = json_copy(w->look_ups);
    json_t *list = file && end == 0 ? json_null() : json_copy(w->look_ups);
    if (end == 0 && e->attr_step != CACHE_ANSWER) {
        const char *requests = requests_of(w->share, e->attr_step, NULL, false);
        add_step(stat, e->attr_step, w->components, requests);
        if (!file) /* opendir(3) asks for them first */
            add_step(list, e->attr_step, w->components, requests);
    }
    if (end == 0 && !dir && !(file && promise_keeps(w->share, e->file))) {
        size_t reads = share_first_read(w->share, SHARE_READ | SHARE_WANT_DATA,
                                        e->heard ? &e->attr.size : NULL);
        add_step(open, CACHE_OPEN, w->components,
                 requests_of(w->share, CACHE_OPEN, NULL, reads > 0));
    }
    if (end == 0 && !file && e->list_step != CACHE_ANSWER)
        add_step(list, e->list_step, w->components,
                 requests_of(w->share, e->list_step, e->file, false));
    return json_pack("{s:o, s:o, s:o}", "stat", stat, "open", open, "list", list);
}

static const char *kind_of(const struct way *w, int end)
{
    const struct cache_explained *e = &w->e;
    if (end < 0)
        return end == -ENOENT ? "missing" : "beneath a file";
    if (!e->file || !e->kind_known)
        return "unknown";
    return e->is_dir ? "directory" : "file";
}

int share_explain(struct share *s, const char *path, json_t **ret, struct error *err)
{
    char *clean;
    int r = share_clean_path(path, &clean, err);
    if (r < 0)
        return r;
    pthread_mutex_lock(&s->lock);
    struct way w = {.share = s,
                    .rest = clean,
                    .now = clock_now(),
                    .dir = cache_file_ref(cache_root(s->cache)),
                    .look_ups = json_array()};
    int end = go(&w);
    bool whole = !*w.rest; /* else the answer is about a directory on the way */
    json_t *all = json_pack("{s:s, s:I, s:b, s:b, s:o, s:o}", "kind", kind_of(&w, end),
                            "components", (json_int_t)w.components, "whole", whole, "answered",
                            json_array_size(w.look_ups) == 0, "beliefs",
                            beliefs_json(&w.e, !*clean, w.now), "next", next_json(&w, end));
    if (end < 0 || (json_array_size(w.look_ups) == 0 && *clean))
        json_object_set_new(all, "answered_by", json_string(observe_cache_name(w.e.answered_by)));
    let_go(&w, w.e.file);
    let_go(&w, w.dir);
    pthread_mutex_unlock(&s->lock);
    json_decref(w.look_ups);
    free(clean);
    if (!all)
        return error_set(err, -ENOMEM, 0, "out of memory");
    *ret = all;
    return 0;
}

/* ---- forgetting ---- */

/* Who keeps answers may have some that nothing is believed of any more: so beneath a directory, or
 * what may be one, all of it is told; what is still believed costs no request then. */
static bool tell_dropped(struct share *s, const char *path)
{
    struct cache_file *dir = cache_root(s->cache), *f = NULL;
    cache_file_ref(dir);
    while (dir && *path) {
        size_t len = strcspn(path, "/");
        f = cache_peek(s->cache, dir, path, len);
        if (!path[len])
            break;
        cache_file_unref(s->cache, dir);
        dir = f;
        f = NULL;
        path += len + 1;
    }
    if (f && !cache_file_is_dir(f)) {
        tell_name(s, dir, path, strlen(path));
        tell_node(s, f);
    } else {
        tell_all(s);
    }
    if (f)
        cache_file_unref(s->cache, f);
    if (dir)
        cache_file_unref(s->cache, dir);
    return s->listener.all_changed != NULL;
}

int share_drop(struct share *s, const char *path, json_t **ret, struct error *err)
{
    char *clean;
    int r = share_clean_path(path, &clean, err);
    if (r < 0)
        return r;
    uint64_t dropped[OBSERVE_CACHES];
    pthread_mutex_lock(&s->lock);
    cache_drop(s->cache, clean, strlen(clean), dropped);
    bool told = tell_dropped(s, clean);
    pthread_mutex_unlock(&s->lock);
    free(clean);
    json_t *counts = json_object();
    for (int i = 0; i < OBSERVE_CACHES; i++)
        json_object_set_new(counts, observe_cache_name((enum observe_cache)i),
                            json_integer((json_int_t)dropped[i]));
    json_t *all = json_pack("{s:o, s:b}", "dropped", counts, "kernel_told", told);
    if (!all)
        return error_set(err, -ENOMEM, 0, "out of memory");
    *ret = all;
    return 0;
}
