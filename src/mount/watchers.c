/* See watchers.h. */
#include "mount/watchers.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/log.h"
#include "mount/procs.h"
#include "mount/raiser.h"
#include "mount/session.h"

#define PAUSE_WATCHED (NS_PER_SEC / 2)
#define PAUSE_IDLE    NS_PER_SEC
#define PAUSE_TIMES   50 /* of what a round took */
#define USED          (60 * NS_PER_SEC)
#define RETRY_FIRST   NS_PER_SEC
#define RETRY_LAST    (60 * NS_PER_SEC)
#define SETTLING      (5 * NS_PER_SEC) /* of all watches in a new session */

/* One directory that somebody watches. The thread's alone, but for what is said. */
struct watched {
    struct list link;        /* in watchers->dirs */
    struct hash_node by_dir; /* in watchers->by_dir */
    struct watchers *all;
    fuse_ino_t dir;
    struct share_watch *watch; /* NULL: the server does not tell of it (now) */
    atomic_bool is_over;       /* by share/'s thread: the watch tells nothing more */
    bool seen;                 /* in this round */
    unsigned refusals;         /* of the server, or of share/, one after the other */
    uint64_t retry_at, retry_after;
};

struct watchers {
    struct mount *mount;
    struct raiser *raiser;
    struct procs *procs;
    pthread_t thread;
    bool started;            /* the starting thread's */
    struct list dirs;        /* struct watched; the thread's */
    struct hash by_dir;      /* the same; the thread's */
    uint64_t calls, used_at; /* the kernel's at the last round, the last ones; the thread's */
    bool warned;             /* the thread's */
    uint64_t lost_at;        /* the server was away then, 0: never; the thread's */
    atomic_uint watched, told, riding; /* for people; riding ones are among those told */
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool end; /* protected by lock */
};

/* share_notice_fn */
static bool hear(void *user, const struct share_notice *notice)
{
    struct watched *d = user;
    if (notice->news != SHARE_UNWATCHED)
        return raiser_hear(d->all->raiser, d->dir, notice);
    atomic_store(&d->is_over, true);
    return false;
}

/* ---- one directory ---- */

static struct watched *find(struct watchers *w, fuse_ino_t dir)
{
    struct hash_node *at = hash_first(&w->by_dir, hash_u64(dir));
    while (at && container_of(at, struct watched, by_dir)->dir != dir)
        at = hash_next(at);
    return at ? container_of(at, struct watched, by_dir) : NULL;
}

static struct watched *add(struct watchers *w, fuse_ino_t dir)
{
    struct watched *d = malloc(sizeof(*d));
    if (!d)
        return NULL;
    *d = (struct watched){.all = w, .dir = dir, .retry_after = RETRY_FIRST};
    if (hash_add(&w->by_dir, &d->by_dir, hash_u64(dir)) < 0) {
        free(d);
        return NULL;
    }
    list_add_tail(&w->dirs, &d->link);
    return d;
}

static void count(struct watched *d, unsigned by)
{
    atomic_fetch_add(&d->all->told, by);
    if (share_watch_rides(d->watch))
        atomic_fetch_add(&d->all->riding, by);
}

static void unwatch(struct watched *d)
{
    if (d->watch)
        count(d, -1u);
    d->watch = share_watch_end(d->watch);
}

static void drop(struct watched *d)
{
    unwatch(d);
    hash_del(&d->all->by_dir, &d->by_dir);
    list_del(&d->link);
    free(d);
}

/* Said once; not of what may be otherwise in a moment: a directory that is gone, a server that is
 * away, or has just come back. */
static void warn(struct watched *d, int rc, const char *why, uint64_t now)
{
    struct watchers *w = d->all;
    if (share_lost(w->mount->share, NULL))
        w->lost_at = now;
    bool settled = !w->lost_at || now - w->lost_at > SETTLING;
    if (w->warned || d->refusals < 2 || rc == -ENOENT || !settled)
        return;
    w->warned = true;
    log_line(LOG_WARN,
             "%s: local inotify does not hear what others change in some of the "
             "directories that are watched (larder stats: in how many): %s; have fewer "
             "watched, or have programs look by themselves",
             w->mount->mountpoint, why);
}

/* What the server refuses is asked for less and less often; where there was nothing to ask it for,
 * that costs nobody anything. */
static void refused(struct watched *d, int rc, const struct error *err, uint64_t now)
{
    if (d->refusals++ == 0)
        log_line(LOG_DETAIL, "%s: no inotify of what others change: %s", d->all->mount->mountpoint,
                 err->text);
    warn(d, rc, err->text, now);
    d->retry_at = now + d->retry_after;
    if (rc != -EMFILE || err->status)
        d->retry_after = d->retry_after * 2 < RETRY_LAST ? d->retry_after * 2 : RETRY_LAST;
}

/* A watch that was in the way of an own change is back in the next round. */
static void have_told(struct watched *d, uint64_t now)
{
    struct mount *m = d->all->mount;
    if (atomic_load(&d->is_over)) {
        unwatch(d);
        atomic_store(&d->is_over, false);
    }
    if (d->watch || now < d->retry_at)
        return;
    struct node *node = nodes_hold(&m->nodes, d->dir);
    struct error err;
    if (!node)
        return;
    int rc = share_watch_dir(m->share, node->share, hear, d, &d->watch, &err);
    nodes_forget(&m->nodes, d->dir, 1);
    if (rc == 0) {
        count(d, 1);
        d->retry_after = RETRY_FIRST;
        d->refusals = 0;
    } else {
        refused(d, rc, &err, now);
    }
}

/* ---- a round ---- */

/* The directory that a watched node is, or is in; 0: it has none any more. */
static fuse_ino_t dir_of(struct mount *m, fuse_ino_t id)
{
    char *path = NULL, name[SHARE_NAME_MAX];
    fuse_ino_t dir = 0;
    struct share_node *parent;
    struct node *node = nodes_hold(&m->nodes, id);
    if (!node)
        return 0;
    if (share_node_is_dir(m->share, node->share)) {
        dir = id;
    } else if ((path = malloc(SHARE_PATH_BYTES)) &&
               share_node_path(m->share, node->share, path, SHARE_PATH_BYTES) > 0 &&
               share_parent(m->share, path, &parent, name, NULL) == 0) {
        dir = nodes_id(&m->nodes, parent);
        share_node_unref(m->share, parent);
    }
    free(path);
    nodes_forget(&m->nodes, id, 1);
    return dir;
}

/* Lately: what a watch is put on may be in the kernel already. */
static bool is_used(struct watchers *w, uint64_t now)
{
    uint64_t calls = 0, before = w->calls;
    for (int u = 0; u < UPCALLS; u++)
        calls += atomic_load_explicit(&w->mount->upcalls[u], memory_order_relaxed);
    w->calls = calls;
    if (calls != before)
        w->used_at = now;
    return w->used_at && now - w->used_at < USED;
}

static uint64_t own_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * NS_PER_SEC + (uint64_t)t.tv_nsec;
}

/* How long it took to look. */
static uint64_t look_round(struct watchers *w)
{
    const uint64_t *nodes;
    uint64_t now = clock_now();
    struct list *at, *after;
    list_for_each(at, &w->dirs)
    {
        container_of(at, struct watched, link)->seen = false;
    }
    uint64_t before = own_time();
    size_t count = procs_watched(w->procs, w->mount->device, is_used(w, now), now, &nodes);
    uint64_t took = own_time() - before;
    for (size_t i = 0; i < count; i++) {
        fuse_ino_t dir = dir_of(w->mount, nodes[i]);
        struct watched *d = dir ? find(w, dir) : NULL;
        if (dir && !d)
            d = add(w, dir);
        if (d)
            d->seen = true;
    }
    unsigned watched = 0;
    list_for_each_safe(at, after, &w->dirs)
    {
        struct watched *d = container_of(at, struct watched, link);
        watched += d->seen;
        if (!d->seen)
            drop(d);
    }
    atomic_store(&w->watched, watched);
    list_for_each(at, &w->dirs)
    {
        have_told(container_of(at, struct watched, link), now);
    }
    return took;
}

static bool pause_for(struct watchers *w, uint64_t ns)
{
    uint64_t until = clock_now() + ns;
    const struct timespec at = {(time_t)(until / NS_PER_SEC), (long)(until % NS_PER_SEC)};
    pthread_mutex_lock(&w->lock);
    while (!w->end && pthread_cond_timedwait(&w->ended, &w->lock, &at) != ETIMEDOUT)
        ;
    bool end = w->end;
    pthread_mutex_unlock(&w->lock);
    return !end;
}

static void *run(void *user)
{
    struct watchers *w = user;
    uint64_t ns;
    do {
        uint64_t least = look_round(w) * PAUSE_TIMES;
        ns = list_empty(&w->dirs) ? PAUSE_IDLE : PAUSE_WATCHED;
        ns = ns > least ? ns : least;
    } while (pause_for(w, ns));
    return NULL;
}

/* ---- beginning and end ---- */

struct watchers *watchers_new(struct mount *m, struct raiser *raiser)
{
    struct watchers *w = calloc(1, sizeof(*w));
    if (!w)
        return NULL;
    w->mount = m;
    w->raiser = raiser;
    w->procs = procs_new();
    list_init(&w->dirs);
    hash_init(&w->by_dir);
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&w->ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return w->procs ? w : watchers_free(w);
}

int watchers_start(struct watchers *w)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = -pthread_create(&w->thread, NULL, run, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    w->started = rc == 0;
    return rc;
}

void watchers_stop(struct watchers *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->end = true;
    pthread_cond_broadcast(&w->ended);
    pthread_mutex_unlock(&w->lock);
    if (w->started)
        pthread_join(w->thread, NULL);
    while (!list_empty(&w->dirs))
        drop(container_of(w->dirs.next, struct watched, link));
}

struct watchers *watchers_free(struct watchers *w)
{
    if (!w)
        return NULL;
    procs_free(w->procs);
    hash_done(&w->by_dir);
    pthread_cond_destroy(&w->ended);
    pthread_mutex_destroy(&w->lock);
    free(w);
    return NULL;
}

json_t *watchers_json(struct watchers *w)
{
    return json_pack("{s:I, s:I, s:I}", "watched", (json_int_t)atomic_load(&w->watched), "told",
                     (json_int_t)atomic_load(&w->told), "riding",
                     (json_int_t)atomic_load(&w->riding));
}
