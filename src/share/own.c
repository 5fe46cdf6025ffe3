/*
 * Own changes, as far as somebody is told what others change in a directory (watch_dir.c).
 *
 * The server tells us of what we did, too, and does not say who did it. So a name that is made,
 * removed or moved here in a watched directory is noted before its request leaves, and the first
 * notice that says the same is taken for its echo. That is right even where the notice was of
 * another's change: then the echo will be told in its place, and as many are told as there were.
 * A notice may come before the reply does. If the reply then says that nothing was done, what was
 * swallowed was another's, and is told after all.
 *
 * What is written cannot be told apart so: one write makes any number of notices, or none. So for a
 * moment after a file was changed, or a name made, here, its modifications count as ours.
 */
#include <stdlib.h>
#include <string.h>

#include "share/watched.h"

#define ECHO_WAIT   (5 * NS_PER_SEC)
#define OWN_MAX     1024 /* for one directory: a server that tells of nothing fills no memory */
#define OWN_WRITING (3 * NS_PER_SEC)
#define WRITTEN_MAX 8192 /* files, and names; what meets another one in its place is not kept */

struct own {
    struct list link;       /* in watch->own, oldest first */
    struct hash_node by_id; /* in share->dirs.own */
    struct share_watch *watch;
    uint64_t id, until;
    bool came;
    bool under_way, swallowed; /* no reply yet; a notice that said the same was before it */
    char name[];
};

struct written {
    struct {
        uint64_t what, until;
    } at[2 * WRITTEN_MAX]; /* files by their serial, and behind them names by their hash */
};

static void own_free(struct share_watch *w, struct own *o)
{
    hash_del(&w->share->dirs.own, &o->by_id);
    list_del(&o->link);
    w->own_count--;
    free(o);
}

void own_done(struct share_watch *w)
{
    while (!list_empty(&w->own))
        own_free(w, container_of(w->own.next, struct own, link));
}

/* ---- contents and attributes ---- */

static void note_written(struct share *s, size_t index, uint64_t what)
{
    if (!s->dirs.written)
        s->dirs.written = calloc(1, sizeof(*s->dirs.written));
    if (!s->dirs.written)
        return;
    s->dirs.written->at[index].what = what;
    s->dirs.written->at[index].until = clock_now() + OWN_WRITING;
}

static bool is_written(const struct share *s, size_t index, uint64_t what)
{
    const struct written *w = s->dirs.written;
    return w && w->at[index].what == what && clock_now() < w->at[index].until;
}

/* Serials are given out in order: so many files in a row do not meet. */
static size_t file_index(const struct cache_file *f)
{
    return cache_file_serial(f) % WRITTEN_MAX;
}

static uint64_t name_key(const struct cache_file *dir, const char *name)
{
    return hash_bytes(name, strlen(name), hash_seed() ^ hash_u64(cache_file_serial(dir)));
}

void own_modifies(struct share *s, const struct cache_file *f)
{
    if (s->dirs.by_dir.count)
        note_written(s, file_index(f), cache_file_serial(f));
}

void own_writes(struct share *s, const struct cache_file *f)
{
    pthread_mutex_lock(&s->lock);
    own_modifies(s, f);
    pthread_mutex_unlock(&s->lock);
}

/* A file may be told to have been modified before the reply says that we made it. */
static void own_modifies_name(struct share_watch *w, const char *name)
{
    uint64_t key = name_key(w->dir, name);
    note_written(w->share, WRITTEN_MAX + key % WRITTEN_MAX, key);
}

bool own_modified(const struct share_watch *w, const char *name, const struct cache_file *f)
{
    uint64_t key = name_key(w->dir, name);
    return (f && is_written(w->share, file_index(f), cache_file_serial(f))) ||
           is_written(w->share, WRITTEN_MAX + key % WRITTEN_MAX, key);
}

/* ---- names ---- */

uint64_t own_begins(struct share *s, const struct cache_file *dir, const char *name, bool came)
{
    struct share_watch *w = watch_dir_of(s, dir);
    watch_must_tell(s);
    if (!w)
        return 0;
    size_t size = strlen(name) + 1;
    struct own *o = malloc(sizeof(*o) + size);
    if (!o)
        return 0;
    *o = (struct own){.watch = w, .id = ++s->dirs.own_ids, .came = came, .under_way = true};
    memcpy(o->name, name, size);
    if (hash_add(&s->dirs.own, &o->by_id, hash_u64(o->id)) < 0) {
        free(o);
        return 0;
    }
    list_add_tail(&w->own, &o->link);
    if (came)
        own_modifies_name(w, name);
    if (++w->own_count > OWN_MAX)
        own_free(w, container_of(w->own.next, struct own, link));
    return o->id;
}

/* NULL: it has been told, or nobody watches any more. */
static struct own *find(struct share *s, uint64_t id)
{
    struct hash_node *at = hash_first(&s->dirs.own, hash_u64(id));
    while (at && container_of(at, struct own, by_id)->id != id)
        at = hash_next(at);
    return at ? container_of(at, struct own, by_id) : NULL;
}

void own_ends(struct share *s, uint64_t id, bool done)
{
    if (!id)
        return;
    struct own *o = find(s, id);
    struct share_watch *w = o ? o->watch : NULL;
    if (o && done && o->came)
        own_modifies_name(w, o->name);
    if (o && done && !o->swallowed) {
        o->under_way = false;
        o->until = clock_now() + ECHO_WAIT;
    } else if (o) {
        if (!done && o->swallowed)
            watch_dir_tell(w, o->came ? SHARE_ADDED : SHARE_REMOVED, o->name);
        own_free(w, o);
    }
}

bool own_echo(struct share_watch *w, const char *name, bool came)
{
    uint64_t now = clock_now();
    struct list *at, *after;
    list_for_each_safe(at, after, &w->own)
    {
        struct own *o = container_of(at, struct own, link);
        if (!o->under_way && now > o->until) {
            own_free(w, o);
            continue;
        }
        if (o->swallowed || o->came != came || strcmp(o->name, name) != 0)
            continue;
        if (o->under_way)
            o->swallowed = true;
        else
            own_free(w, o);
        return true;
    }
    return false;
}
