/* See revoke.h. A negative that is to be revoked moves from the table to the thread's list as it
 * is, so that revoking needs no memory. */
#include "mount/revoke.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/utf.h"

struct spelling {
    struct hash_node by_fold; /* while it stands in `given` */
    struct list link;         /* in `given` or `todo` */
    fuse_ino_t dir;           /* or, without a name, the file whose pages are meant */
    uint64_t until;
    void (*then)(void *user); /* when it is forgotten; may be NULL */
    void *user;
    size_t len;
    char name[];
};

void revoke_init(struct revoke *r)
{
    *r = (struct revoke){0};
    pthread_mutex_init(&r->lock, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&r->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    hash_init(&r->negatives);
    list_init(&r->given);
    list_init(&r->todo);
}

static uint64_t fold(fuse_ino_t dir, const char *name, size_t len)
{
    return utf8_fold_hash(name, len, hash_seed()) ^ hash_u64(dir);
}

static struct spelling *spelling_new(fuse_ino_t dir, const char *name, uint64_t until)
{
    size_t len = strlen(name);
    struct spelling *s = malloc(sizeof(*s) + len + 1);
    if (s) {
        *s = (struct spelling){.dir = dir, .until = until, .len = len};
        memcpy(s->name, name, len + 1);
    }
    return s;
}

/* ---- the thread ---- */

/* Waits in the kernel for calls under way in the directory, or for pages that are being read. That
 * there is nothing to forget is as good. */
static void tell(const struct revoke *r, const struct spelling *s)
{
    if (s->len)
        fuse_lowlevel_notify_inval_entry(r->session, s->dir, s->name, s->len);
    else
        fuse_lowlevel_notify_inval_inode(r->session, s->dir, 0, 0);
}

/* Takes it over. */
static void told(struct spelling *s)
{
    if (s->then)
        s->then(s->user);
    free(s);
}

static void *run(void *user)
{
    struct revoke *r = user;
    pthread_mutex_lock(&r->lock);
    while (!r->end) {
        if (list_empty(&r->todo)) {
            pthread_cond_wait(&r->changed, &r->lock);
            continue;
        }
        struct spelling *s = container_of(r->todo.next, struct spelling, link);
        list_del(&s->link);
        r->telling = true;
        pthread_mutex_unlock(&r->lock);
        tell(r, s);
        told(s);
        pthread_mutex_lock(&r->lock);
        r->telling = false;
        pthread_cond_broadcast(&r->changed);
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

int revoke_start(struct revoke *r, struct fuse_session *session)
{
    r->session = session;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = -pthread_create(&r->thread, NULL, run, r);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    r->started = rc == 0;
    return rc;
}

static void drop_all(struct list *spellings)
{
    struct list *item, *after;
    list_for_each_safe(item, after, spellings)
    {
        list_del(item);
        told(container_of(item, struct spelling, link));
    }
}

#define PATIENCE_NS (NS_PER_SEC / 2)

void revoke_done(struct revoke *r, void (*abort)(void *user), void *user)
{
    uint64_t until = clock_now() + PATIENCE_NS;
    const struct timespec at = {(time_t)(until / NS_PER_SEC), (long)(until % NS_PER_SEC)};
    pthread_mutex_lock(&r->lock);
    r->end = true;
    pthread_cond_broadcast(&r->changed);
    while (r->telling && pthread_cond_timedwait(&r->changed, &r->lock, &at) != ETIMEDOUT)
        ;
    bool stuck = r->telling;
    pthread_mutex_unlock(&r->lock);
    if (stuck)
        abort(user);
    if (r->started)
        pthread_join(r->thread, NULL);
    hash_done(&r->negatives);
    drop_all(&r->given);
    drop_all(&r->todo);
    pthread_cond_destroy(&r->changed);
    pthread_mutex_destroy(&r->lock);
}

/* ---- what it is told ---- */

/* With the lock. */
static void forget(struct revoke *r, struct spelling *s)
{
    hash_del(&r->negatives, &s->by_fold);
    list_del(&s->link);
}

/* With the lock. The exact spelling in the table, or NULL. */
static struct spelling *find(const struct revoke *r, fuse_ino_t dir, const char *name, size_t len)
{
    struct hash_node *item = hash_first(&r->negatives, fold(dir, name, len));
    for (; item; item = hash_next(item)) {
        struct spelling *s = container_of(item, struct spelling, by_fold);
        if (s->dir == dir && s->len == len && memcmp(s->name, name, len) == 0)
            return s;
    }
    return NULL;
}

/* With the lock. Makes room for one more of those whose time is over; the oldest are first. */
static bool make_room(struct revoke *r, uint64_t now)
{
    while (!list_empty(&r->given)) {
        struct spelling *oldest = container_of(r->given.next, struct spelling, link);
        if (oldest->until > now)
            break;
        forget(r, oldest);
        free(oldest);
    }
    return r->negatives.count < REVOKE_NEGATIVES_MAX;
}

bool revoke_negative(struct revoke *r, fuse_ino_t dir, const char *name, uint64_t valid_ns)
{
    uint64_t now = clock_now();
    size_t len = strlen(name);
    pthread_mutex_lock(&r->lock);
    struct spelling *s = find(r, dir, name, len);
    if (s)
        forget(r, s);
    bool room = make_room(r, now);
    if (!s && room)
        s = spelling_new(dir, name, 0);
    if (s && hash_add(&r->negatives, &s->by_fold, fold(dir, name, len)) < 0) {
        free(s);
        s = NULL;
    }
    if (s) {
        s->until = valid_ns < UINT64_MAX - now ? now + valid_ns : UINT64_MAX;
        list_add_tail(&r->given, &s->link);
    }
    pthread_mutex_unlock(&r->lock);
    return s;
}

void revoke_appeared(struct revoke *r, fuse_ino_t dir, const char *name)
{
    size_t len = strlen(name);
    uint64_t hash = fold(dir, name, len);
    pthread_mutex_lock(&r->lock);
    struct hash_node *item = hash_first(&r->negatives, hash);
    while (item) {
        struct spelling *s = container_of(item, struct spelling, by_fold);
        item = hash_next(item);
        if (s->dir != dir || !utf8_fold_equal(s->name, s->len, name, len))
            continue;
        forget(r, s);
        if (s->len == len && memcmp(s->name, name, len) == 0) {
            free(s); /* the kernel's own call has made it positive */
            continue;
        }
        list_add_tail(&r->todo, &s->link);
        pthread_cond_broadcast(&r->changed);
    }
    pthread_mutex_unlock(&r->lock);
}

static void add_todo(struct revoke *r, struct spelling *s)
{
    if (!s)
        return; /* no memory: it is forgotten when its time is over */
    pthread_mutex_lock(&r->lock);
    list_add_tail(&r->todo, &s->link);
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
}

void revoke_name(struct revoke *r, fuse_ino_t dir, const char *name)
{
    add_todo(r, spelling_new(dir, name, 0));
}

void revoke_pages(struct revoke *r, fuse_ino_t node)
{
    add_todo(r, spelling_new(node, "", 0));
}

bool revoke_pages_first(struct revoke *r, fuse_ino_t node, void (*then)(void *user), void *user)
{
    struct spelling *s = spelling_new(node, "", 0);
    if (!s)
        return false;
    s->then = then;
    s->user = user;
    add_todo(r, s);
    return true;
}
