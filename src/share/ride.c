/*
 * Directories that ride: over a bound (share->dirs.max) they have no watch of their own, and what
 * is told of them is what the tree-wide watch tells (watch.c). That costs the server nothing, so
 * any number of them may.
 *
 * A notice that is about one of them is treated as if it were of a watch of its own: what the name
 * led to is looked up before the cache is told, own changes and passing names are left out, and the
 * two halves of a renaming within the directory are one. The cache is told by watch.c alone, of own
 * changes too, since it has echoes of its own to await.
 *
 * Nothing of theirs is open, so nothing of theirs is in the way of who removes or renames them.
 * When the tree-wide watch ends, so do they all; who watches may ask again.
 */
#include "share/watched.h"

/* The riding directory that `path` is in, and the name there; NULL: none is. */
static struct share_watch *rider_at(struct share *s, const char *path, const char **ret_name)
{
    const struct cache_file *dir =
        list_empty(&s->dirs.riders) ? NULL : cache_reach_dir(s->cache, path, ret_name);
    struct share_watch *w = dir ? watch_dir_of(s, dir) : NULL;
    return w && w->rides && !w->stranded ? w : NULL;
}

static struct share_notice *add(struct ride *r, struct share_watch *w, enum share_news news,
                                const char *name)
{
    r->watch[r->count] = w;
    r->notice[r->count] = watch_dir_notice(w, news, name);
    return &r->notice[r->count++];
}

static void came_or_went(struct ride *r, struct share_watch *w, const char *name, bool came)
{
    if (w && watch_dir_is_news(w, name, came))
        add(r, w, came ? SHARE_ADDED : SHARE_REMOVED, name);
}

/* From one directory to another it is two things. */
static void renamed(struct ride *r, struct share *s, const char *path, const char *to_path)
{
    const char *from = NULL, *to = NULL;
    struct share_watch *w = rider_at(s, path, &from), *other = rider_at(s, to_path, &to);
    if (w != other) {
        came_or_went(r, w, from, false);
        came_or_went(r, other, to, true);
        return;
    }
    bool went = w && watch_dir_is_news(w, from, false);
    bool came = w && watch_dir_is_news(w, to, true);
    if (went && came)
        add(r, w, SHARE_RENAMED, from)->new_name = to;
    else if (went)
        add(r, w, SHARE_REMOVED, from);
    else if (came)
        add(r, w, SHARE_ADDED, to);
}

void ride_begin(struct ride *ret, struct share *s, enum client_action action, const char *path,
                const char *to)
{
    const char *name = NULL;
    ret->count = 0;
    if (to)
        return renamed(ret, s, path, to);
    struct share_watch *w = rider_at(s, path, &name);
    if (action != CLIENT_MODIFIED)
        came_or_went(ret, w, name, action == CLIENT_ADDED || action == CLIENT_RENAMED_TO);
    else if (w && !watch_dir_is_passing(name))
        add(ret, w, SHARE_MODIFIED, name);
}

void ride_end(struct ride *r)
{
    for (unsigned i = 0; i < r->count; i++)
        watch_dir_deliver(r->watch[i], &r->notice[i]);
}

static void tell_riders(struct share *s, enum share_news news)
{
    struct list *at;
    list_for_each(at, &s->dirs.riders)
    {
        watch_dir_deliver(container_of(at, struct share_watch, link),
                          &(struct share_notice){.news = news});
    }
}

void riders_missed(struct share *s)
{
    tell_riders(s, SHARE_MISSED);
}

void riders_stranded(struct share *s)
{
    struct list *at;
    tell_riders(s, SHARE_UNWATCHED);
    list_for_each(at, &s->dirs.riders)
    {
        container_of(at, struct share_watch, link)->stranded = true;
    }
}
