/*
 * Directories that somebody wants to be told about (share_watch_dir): one CHANGE_NOTIFY each, and
 * one thread for all of them, which sleeps until the server has said something about any. Those
 * over a bound have none, and ride on the tree-wide watch (ride.c).
 *
 * What is told goes to the cache first, like the notices of the tree-wide watch (watch.c), and then
 * to who watches, if others did it. Both watches may tell of one change: to the cache a second
 * doubt about a name is no harm, and who watches is told by this one alone.
 *
 * A watch is an open directory on the server, which would stand in the way of removing it, and of
 * renaming it or what it is in: so before we do that, those beneath end, and say so.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/watched.h"

/* ---- telling ---- */

static uint64_t dir_key(const struct cache_file *dir)
{
    return hash_u64(cache_file_serial(dir));
}

struct share_watch *watch_dir_of(struct share *s, const struct cache_file *dir)
{
    struct hash_node *at = hash_first(&s->dirs.by_dir, dir_key(dir));
    while (at && container_of(at, struct share_watch, by_dir)->dir != dir)
        at = hash_next(at);
    return at ? container_of(at, struct share_watch, by_dir) : NULL;
}

/* The cache follows paths. One that nobody knows any more leads to no belief, either. */
static void tell_cache(struct share_watch *w, enum cache_notice notice, const char *name)
{
    struct share *s = w->share;
    size_t len = strlen(name);
    char *path = malloc(SHARE_PATH_MAX);
    int n = path ? cache_child_path(w->dir, name, len, path, SHARE_PATH_MAX) : -ENOMEM;
    if (n > 0)
        cache_noticed(s->cache, notice, path, (size_t)n, clock_now());
    else
        cache_changed(s->cache, w->dir, MISS_CHANGED);
    free(path);
    if (n <= 0)
        tell_names(s, w->dir);
    else if (notice != CACHE_MODIFIED)
        tell_name(s, w->dir, name, len);
}

struct share_notice watch_dir_notice(struct share_watch *w, enum share_news news, const char *name)
{
    struct cache_file *f = cache_peek(w->share->cache, w->dir, name, strlen(name));
    struct share_notice n = {.news = news, .name = name, .node = f};
    const struct file_attr *heard = f ? cache_file_heard(f) : NULL;
    if (f)
        n.ino = cache_file_ino(f);
    if (heard)
        n.attr = *heard;
    else if (f && cache_file_is_dir(f))
        n.attr.attributes = FILE_ATTRIBUTE_DIRECTORY;
    return n;
}

void watch_dir_deliver(struct share_watch *w, const struct share_notice *n)
{
    bool own = n->news == SHARE_MODIFIED && own_modified(w, n->name, n->node);
    bool taken = !own && !w->is_over && !w->stranded && w->fn(w->user, n);
    if (n->node && !taken)
        cache_file_unref(w->share->cache, n->node);
}

void watch_dir_tell(struct share_watch *w, enum share_news news, const char *name)
{
    static const enum cache_notice notices[] = {[SHARE_ADDED] = CACHE_ADDED,
                                                [SHARE_REMOVED] = CACHE_REMOVED,
                                                [SHARE_MODIFIED] = CACHE_MODIFIED};
    struct share_notice n = watch_dir_notice(w, news, name);
    tell_cache(w, notices[news], name);
    if (news == SHARE_MODIFIED && n.node)
        tell_node(w->share, n.node);
    watch_dir_deliver(w, &n);
}

static void tell_renamed(struct share_watch *w, const char *from, const char *to)
{
    struct share_notice n = watch_dir_notice(w, SHARE_RENAMED, from);
    n.new_name = to;
    tell_cache(w, CACHE_RENAMED_FROM, from);
    tell_cache(w, CACHE_RENAMED_TO, to);
    watch_dir_deliver(w, &n);
}

/* Names that are of no concern to anybody: those of removed files of ours, and the one under which
 * Samba (from 4.22 on) makes a directory before it gives it its own. */
bool watch_dir_is_passing(const char *name)
{
    static const char samba[] = ".::TMPNAME:";
    return share_is_hidden(name, strlen(name)) || strncmp(name, samba, sizeof(samba) - 1) == 0;
}

bool watch_dir_is_news(struct share_watch *w, const char *name, bool came)
{
    return !watch_dir_is_passing(name) && !own_echo(w, name, came);
}

static void came_or_went(struct share_watch *w, const char *name, bool came)
{
    if (watch_dir_is_news(w, name, came))
        watch_dir_tell(w, came ? SHARE_ADDED : SHARE_REMOVED, name);
}

/* Only both halves of another's are a renaming to who sees no passing names. */
static void renamed(struct share_watch *w, const char *from, const char *to)
{
    bool went = watch_dir_is_news(w, from, false);
    bool came = watch_dir_is_news(w, to, true);
    if (went && came)
        tell_renamed(w, from, to);
    else if (went)
        watch_dir_tell(w, SHARE_REMOVED, from);
    else if (came)
        watch_dir_tell(w, SHARE_ADDED, to);
}

static void missed(struct share_watch *w)
{
    cache_changed(w->share->cache, w->dir, MISS_CHANGED);
    tell_names(w->share, w->dir);
    watch_dir_deliver(w, &(struct share_notice){.news = SHARE_MISSED});
}

/* ---- hearing ---- */

struct hearing {
    struct share_watch *watch;
    char *from; /* of a renaming whose other half comes next */
    bool missed;
};

/* client_change_fn. A name in the directory itself is all that was asked for. */
static void hear(void *user, enum client_action action, const char *name)
{
    struct hearing *h = user;
    struct share_watch *w = h->watch;
    if (!*name || strchr(name, '/')) {
        h->missed = true;
        return;
    }
    if (action == CLIENT_RENAMED_FROM) {
        h->from = strdup(name);
        h->missed |= !h->from;
        return;
    }
    pthread_mutex_lock(&w->share->lock);
    if (action == CLIENT_RENAMED_TO && h->from)
        renamed(w, h->from, name);
    else if (action == CLIENT_MODIFIED && !watch_dir_is_passing(name))
        watch_dir_tell(w, SHARE_MODIFIED, name);
    else if (action != CLIENT_MODIFIED)
        came_or_went(w, name, action != CLIENT_REMOVED);
    pthread_mutex_unlock(&w->share->lock);
    free(h->from);
    h->from = NULL;
}

/* Without the lock; nobody else refers to it. */
static void watch_free(struct share_watch *w)
{
    client_watch_free(w->watch);
    share_node_unref(w->share, w->dir);
    free(w);
}

/* With the lock, not while it closes. */
static void close_watch(struct share *s, struct share_watch *w)
{
    struct client_watch *over = w->watch;
    w->watch = NULL;
    pthread_mutex_unlock(&s->lock);
    client_watch_free(over);
    pthread_mutex_lock(&s->lock);
}

/* With the lock, not while it asks: what the server has said about this one. */
static void serve(struct share *s, struct share_watch *w)
{
    struct hearing h = {.watch = w};
    bool overflow = false;
    w->busy = true;
    pthread_mutex_unlock(&s->lock);
    int r = client_watch_next(w->watch, hear, &h, &overflow, NULL);
    free(h.from);
    pthread_mutex_lock(&s->lock);
    if (r < 0)
        close_watch(s, w);
    if (r == 0 && (overflow || h.missed))
        missed(w);
    if (r < 0)
        watch_dir_deliver(w, &(struct share_notice){.news = SHARE_UNWATCHED});
    w->busy = false;
    pthread_cond_broadcast(&s->dirs.settled);
    if (w->is_over) {
        pthread_mutex_unlock(&s->lock);
        watch_free(w);
        pthread_mutex_lock(&s->lock);
    }
}

static struct share_watch *ready(struct share *s)
{
    struct list *at;
    list_for_each(at, &s->dirs.all)
    {
        struct share_watch *w = container_of(at, struct share_watch, link);
        if (w->watch && !w->busy && client_watch_is_ready(w->watch))
            return w;
    }
    return NULL;
}

static void *run(void *user)
{
    struct share *s = user;
    struct share_watch *w;
    bool stop = false;
    while (!stop) {
        client_bell_wait(s->dirs.bell);
        pthread_mutex_lock(&s->lock);
        while ((w = ready(s)))
            serve(s, w);
        stop = s->dirs.stop;
        pthread_mutex_unlock(&s->lock);
    }
    return NULL;
}

/* ---- beginning and end ---- */

void watch_dirs_init(struct share *s)
{
    hash_init(&s->dirs.by_dir);
    hash_init(&s->dirs.own);
    list_init(&s->dirs.all);
    list_init(&s->dirs.riders);
    s->dirs.max = SHARE_WATCHES_MAX;
    pthread_cond_init(&s->dirs.settled, NULL);
}

void watch_dirs_done(struct share *s)
{
    if (s->dirs.bell) {
        pthread_mutex_lock(&s->lock);
        s->dirs.stop = true;
        pthread_mutex_unlock(&s->lock);
        client_bell_ring(s->dirs.bell);
        pthread_join(s->dirs.thread, NULL);
    }
    s->dirs.bell = client_bell_free(s->dirs.bell);
    free(s->dirs.written);
    s->dirs.written = NULL;
    hash_done(&s->dirs.by_dir);
    hash_done(&s->dirs.own);
    pthread_cond_destroy(&s->dirs.settled);
}

/* With the lock: the thread, once there is something to wait for. */
static int begin(struct share *s)
{
    if (s->dirs.bell)
        return 0;
    s->dirs.bell = client_bell_new(s->client);
    if (!s->dirs.bell)
        return -ENOMEM;
    int r = -pthread_create(&s->dirs.thread, NULL, run, s);
    if (r < 0)
        s->dirs.bell = client_bell_free(s->dirs.bell);
    return r;
}

/* With the lock. From here on own changes in it are noted. */
static struct share_watch *watch_new(struct share *s, struct cache_file *dir, bool rides,
                                     share_notice_fn *fn, void *user)
{
    struct share_watch *w = malloc(sizeof(*w));
    if (!w)
        return NULL;
    *w = (struct share_watch){.share = s, .dir = dir, .fn = fn, .user = user, .rides = rides};
    if (hash_add(&s->dirs.by_dir, &w->by_dir, dir_key(dir)) < 0) {
        free(w);
        return NULL;
    }
    cache_file_ref(dir);
    list_init(&w->own);
    list_add_tail(rides ? &s->dirs.riders : &s->dirs.all, &w->link);
    s->dirs.count += !rides;
    return w;
}

/* With the lock: one more has a handle of its own, or rides, or neither. */
static int admit(struct share *s, bool *ret_rides, struct error *err)
{
    bool full = s->dirs.count >= s->dirs.max;
    if (full && !s->watched)
        return error_set(err, -EMFILE, 0,
                         "%u directories have watches of their own, which is the most there may "
                         "be, and %s",
                         s->dirs.max,
                         s->options.settings.watches
                             ? "the server does not tell of all of them at once"
                             : "Watches=false leaves out that of all of them at once");
    *ret_rides = full;
    return 0;
}

/* Has the server tell of this very directory. */
static int arm(struct share_watch *w, const char *path, struct error *err)
{
    struct share *s = w->share;
    struct client_watch *armed;
    int r = client_watch_new(s->client, path, false, &armed, err);
    if (r < 0)
        return r;
    pthread_mutex_lock(&s->lock);
    w->watch = armed;
    client_watch_ring(armed, s->dirs.bell);
    pthread_mutex_unlock(&s->lock);
    return 0;
}

int share_watch_dir(struct share *s, struct share_node *dir, share_notice_fn *fn, void *user,
                    struct share_watch **ret, struct error *err)
{
    struct share_watch *w = NULL;
    char *path = NULL;
    bool rides = false;
    pthread_mutex_lock(&s->lock);
    int r = admit(s, &rides, err);
    if (r == 0 && !rides)
        r = share_wire_path(s, dir, NULL, 0, &path, err);
    if (r == 0 && ((!rides && begin(s) < 0) || !(w = watch_new(s, dir, rides, fn, user))))
        r = error_set(err, -ENOMEM, 0, "out of memory");
    pthread_mutex_unlock(&s->lock);
    if (r == 0 && !rides)
        r = arm(w, path, err);
    free(path);
    if (r < 0)
        share_watch_end(w);
    else
        *ret = w;
    return r;
}

bool share_watch_rides(const struct share_watch *w)
{
    return w->rides;
}

struct share_watch *share_watch_end(struct share_watch *w)
{
    if (!w)
        return NULL;
    struct share *s = w->share;
    pthread_mutex_lock(&s->lock);
    list_del(&w->link);
    hash_del(&s->dirs.by_dir, &w->by_dir);
    own_done(w);
    s->dirs.count -= !w->rides;
    w->is_over = true;
    bool busy = w->busy;
    if (busy && w->watch)
        client_watch_stop(w->watch);
    pthread_mutex_unlock(&s->lock);
    if (!busy)
        watch_free(w);
    return NULL;
}

/* ---- making way ---- */

/* Whether the directory is at `path`, or beneath. */
static bool is_within(const struct cache_file *dir, const char *path, size_t len, char *room)
{
    int n = cache_file_path(dir, room, SHARE_PATH_MAX);
    return n >= (int)len && memcmp(room, path, len) == 0 && (n == (int)len || room[len] == '/');
}

void watch_dirs_make_way(struct share *s, const struct cache_file *dir, const char *name)
{
    if (list_empty(&s->dirs.all))
        return;
    char *path = malloc(2 * SHARE_PATH_MAX), *room = path + SHARE_PATH_MAX;
    int len = path ? cache_child_path(dir, name, strlen(name), path, SHARE_PATH_MAX) : -ENOMEM;
    struct list *at = &s->dirs.all;
    while (len > 0 && (at = at->next) != &s->dirs.all) {
        struct share_watch *w = container_of(at, struct share_watch, link);
        if ((!w->watch && !w->busy) || !is_within(w->dir, path, (size_t)len, room))
            continue;
        if (!w->busy)
            client_watch_stop(w->watch); /* which rings */
        pthread_cond_wait(&s->dirs.settled, &s->lock);
        at = &s->dirs.all; /* the list may be another by now */
    }
    free(path);
}

/* ---- what is known without asking ---- */

int share_peek_dir(struct share *s, struct share_node *dir, const char *name,
                   struct share_entry *ret)
{
    const struct file_attr nothing_but_that = {.attributes = FILE_ATTRIBUTE_DIRECTORY};
    pthread_mutex_lock(&s->lock);
    struct cache_file *f = cache_peek(s->cache, dir, name, strlen(name));
    bool is_dir = f && cache_file_is_dir(f);
    if (is_dir) {
        const struct file_attr *heard = cache_file_heard(f);
        share_entry_of(f, heard ? heard : &nothing_but_that, 0, ret);
        ret->node = f;
    } else if (f) {
        cache_file_unref(s->cache, f);
    }
    pthread_mutex_unlock(&s->lock);
    return is_dir ? 0 : -ENOENT;
}

int share_node_path(struct share *s, const struct share_node *n, char *ret, size_t cap)
{
    pthread_mutex_lock(&s->lock);
    int len = cache_file_path(n, ret, cap - 1);
    pthread_mutex_unlock(&s->lock);
    if (len >= 0)
        ret[len] = 0;
    return len;
}

bool share_node_is_dir(struct share *s, const struct share_node *n)
{
    pthread_mutex_lock(&s->lock);
    bool is_dir = cache_file_is_dir(n);
    pthread_mutex_unlock(&s->lock);
    return is_dir;
}
