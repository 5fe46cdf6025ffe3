/* See revoke.h. The marks, and their order, are known.c's. */
#include "mount/revoke.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "mount/place.h"

/* What waits for a file's pages to be revoked. */
struct then {
    struct list link;
    fuse_ino_t node;
    void (*fn)(void *user);
    void *user;
};

/* A directory's name that was expired. */
struct again {
    struct list link;
    uint64_t at;
    fuse_ino_t dir;
    size_t len;
    char name[];
};

#define AGAIN_NS  (200 * NS_PER_MS)
#define AGAIN_MAX 4096

void revoke_init(struct revoke *r, struct nodes *nodes, struct handles *handles)
{
    *r = (struct revoke){.nodes = nodes, .handles = handles};
    list_init(&r->after);
    list_init(&r->again);
}

/* ---- the kernel ---- */

#define NOTIFY_INC_EPOCH 8 /* libfuse 3.14 has no call for it */

/* All names at once. False: the kernel cannot (before 6.16), or may not: names that lead to
 * something else by then take with them what is mounted beneath. */
static bool tell_epoch(const struct revoke *r)
{
    const uint32_t message[4] = {sizeof(message), NOTIFY_INC_EPOCH};
    return !place_is_above(r->device) &&
           write(fuse_session_fd(r->session), message, sizeof(message)) == sizeof(message);
}

/* That there is nothing to forget is as good in all that follows. */

static void expire(const struct revoke *r, fuse_ino_t dir, const char *name, size_t len)
{
    fuse_lowlevel_notify_expire_entry(r->session, dir, name, len, FUSE_LL_EXPIRE_ONLY);
}

static void tell_name(const struct revoke *r, const struct known_step *s)
{
    if (s->is_dir && r->can_expire)
        expire(r, s->dir, s->name, s->len);
    else if (!s->is_dir || !place_is_above(r->device))
        fuse_lowlevel_notify_inval_entry(r->session, s->dir, s->name, s->len);
}

static void tell_node(const struct revoke *r, const struct known_step *s)
{
    if (s->content)
        handles_changed(r->handles, s->node, NULL);
    if (s->barrier) /* waits for who is reading the directory; there is no such name */
        fuse_lowlevel_notify_inval_entry(r->session, s->node, "/", 1);
    fuse_lowlevel_notify_inval_inode(r->session, s->node, s->pages ? 0 : -1, 0);
}

/* ---- the thread ---- */

/* With the lock. No memory: the race is lost now and then. */
static void expire_again(struct revoke *r, const struct known_step *s)
{
    struct again *a = r->again_count < AGAIN_MAX ? malloc(sizeof(*a) + s->len + 1) : NULL;
    if (!a)
        return;
    *a = (struct again){.at = clock_now() + AGAIN_NS, .dir = s->dir, .len = s->len};
    memcpy(a->name, s->name, s->len);
    a->name[s->len] = 0; /* libfuse sends it, too */
    list_add_tail(&r->again, &a->link);
    r->again_count++;
}

/* The three below: with the lock on entry and exit, not while they tell. False: nothing to do. */

static bool next_step(struct revoke *r)
{
    struct known_step s;
    if (!known_next(r->nodes, &s))
        return false;
    if (s.kind == KNOWN_NAME && s.is_dir && r->can_expire)
        expire_again(r, &s);
    pthread_mutex_unlock(&r->nodes->lock);
    if (s.kind == KNOWN_NODE)
        tell_node(r, &s);
    else if (s.kind == KNOWN_NAME)
        tell_name(r, &s);
    else if (tell_epoch(r))
        known_epoch_told(r->nodes);
    pthread_mutex_lock(&r->nodes->lock);
    return true;
}

static bool next_then(struct revoke *r)
{
    if (list_empty(&r->after))
        return false;
    struct then *t = container_of(r->after.next, struct then, link);
    list_del(&t->link);
    pthread_mutex_unlock(&r->nodes->lock);
    fuse_lowlevel_notify_inval_inode(r->session, t->node, 0, 0);
    t->fn(t->user);
    free(t);
    pthread_mutex_lock(&r->nodes->lock);
    return true;
}

/* *ret_at: when the next is due. */
static bool next_again(struct revoke *r, uint64_t *ret_at)
{
    if (list_empty(&r->again))
        return false;
    struct again *a = container_of(r->again.next, struct again, link);
    *ret_at = a->at;
    if (clock_now() < a->at)
        return false;
    list_del(&a->link);
    r->again_count--;
    pthread_mutex_unlock(&r->nodes->lock);
    expire(r, a->dir, a->name, a->len);
    free(a);
    pthread_mutex_lock(&r->nodes->lock);
    return true;
}

static void *run(void *user)
{
    struct revoke *r = user;
    pthread_mutex_lock(&r->nodes->lock);
    while (!r->end) {
        uint64_t at = 0;
        r->telling = true;
        bool told = next_then(r) || next_step(r) || next_again(r, &at);
        r->telling = false;
        if (r->end)
            pthread_cond_broadcast(&r->nodes->work);
        const struct timespec due = {(time_t)(at / NS_PER_SEC), (long)(at % NS_PER_SEC)};
        if (!told && !r->end && at)
            pthread_cond_timedwait(&r->nodes->work, &r->nodes->lock, &due);
        else if (!told && !r->end)
            pthread_cond_wait(&r->nodes->work, &r->nodes->lock);
    }
    pthread_mutex_unlock(&r->nodes->lock);
    return NULL;
}

int revoke_start(struct revoke *r, struct fuse_session *session, const unsigned device[2])
{
    r->session = session;
    r->device = device;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = -pthread_create(&r->thread, NULL, run, r);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    r->started = rc == 0;
    return rc;
}

#define PATIENCE_NS (NS_PER_SEC / 2)

void revoke_done(struct revoke *r, void (*abort)(void *user), void *user)
{
    uint64_t until = clock_now() + PATIENCE_NS;
    const struct timespec at = {(time_t)(until / NS_PER_SEC), (long)(until % NS_PER_SEC)};
    pthread_mutex_lock(&r->nodes->lock);
    r->end = true;
    pthread_cond_broadcast(&r->nodes->work);
    while (r->telling && pthread_cond_timedwait(&r->nodes->work, &r->nodes->lock, &at) != ETIMEDOUT)
        ;
    bool stuck = r->telling;
    pthread_mutex_unlock(&r->nodes->lock);
    if (stuck)
        abort(user);
    if (r->started)
        pthread_join(r->thread, NULL);
    struct list *item, *after;
    list_for_each_safe(item, after, &r->after)
    {
        struct then *t = container_of(item, struct then, link);
        t->fn(t->user);
        free(t);
    }
    list_for_each_safe(item, after, &r->again)
    {
        free(container_of(item, struct again, link));
    }
}

bool revoke_pages_first(struct revoke *r, fuse_ino_t node, void (*then)(void *user), void *user)
{
    struct then *t = malloc(sizeof(*t));
    if (!t)
        return false;
    *t = (struct then){.node = node, .fn = then, .user = user};
    pthread_mutex_lock(&r->nodes->lock);
    list_add_tail(&r->after, &t->link);
    pthread_cond_broadcast(&r->nodes->work);
    pthread_mutex_unlock(&r->nodes->lock);
    return true;
}

/* ---- what share/ tells; with its lock held ---- */

static void name_changed(void *user, const struct share_node *dir, const char *name, size_t len)
{
    struct nodes *n = user;
    known_name_wrong(n, nodes_id(n, dir), name, len);
}

static void names_changed(void *user, const struct share_node *dir)
{
    struct nodes *n = user;
    known_names_wrong(n, nodes_id(n, dir));
}

static void node_changed(void *user, const struct share_node *node)
{
    struct nodes *n = user;
    known_node_wrong(n, nodes_id(n, node));
}

static void node_aged(void *user, const struct share_node *node)
{
    struct nodes *n = user;
    known_attr_wrong(n, nodes_id(n, node));
}

static void all_changed(void *user)
{
    known_all_wrong(user);
}

void revoke_listen(struct revoke *r, struct share *share)
{
    const struct share_listener listener = {.name_changed = name_changed,
                                            .names_changed = names_changed,
                                            .node_changed = node_changed,
                                            .node_aged = node_aged,
                                            .all_changed = all_changed,
                                            .user = r->nodes};
    share_listen(share, &listener);
}
