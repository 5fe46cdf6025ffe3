/* See raiser.h. */
#include "mount/raiser_inside.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

#define EVENTS_MAX 8192 /* waiting; some 3 MB with names of usual length */
#define HALF_NS    (5 * NS_PER_SEC / 1000)

/* ---- what is heard ---- */

/* Modifications come in crowds. With the lock. */
static bool says_the_same(const struct raiser *e, fuse_ino_t dir, const struct share_notice *n)
{
    if (n->news != SHARE_MODIFIED || list_empty(&e->queue))
        return false;
    const struct event *last = container_of(e->queue.prev, struct event, link);
    return last->news == SHARE_MODIFIED && last->dir == dir && strcmp(last->name, n->name) == 0;
}

bool raiser_hear(struct raiser *e, fuse_ino_t dir, const struct share_notice *n)
{
    size_t len = n->name ? strlen(n->name) + 1 : 0;
    size_t new_len = n->new_name ? strlen(n->new_name) + 1 : 0;
    struct event *v = len ? malloc(sizeof(*v) + len + new_len) : NULL;
    if (v) {
        *v = (struct event){
            .news = n->news, .dir = dir, .node = n->node, .attr = n->attr, .ino = n->ino};
        memcpy(v->name, n->name, len);
        if (new_len)
            v->new_name = memcpy(v->name + len, n->new_name, new_len);
    }
    pthread_mutex_lock(&e->lock);
    bool room = v && e->waiting < EVENTS_MAX && !e->end;
    if (says_the_same(e, dir, n)) {
        room = false;
    } else if (room) {
        list_add_tail(&e->queue, &v->link);
        e->waiting++;
        pthread_cond_broadcast(&e->changed);
    } else {
        atomic_fetch_add(&e->dropped, 1);
    }
    pthread_mutex_unlock(&e->lock);
    if (!room)
        free(v);
    return room;
}

void event_free(struct raiser *e, struct event *v)
{
    if (v->node)
        share_node_unref(e->mount->share, v->node);
    free(v);
}

/* ---- the helper ---- */

/* Waits for its answer, or for the end. What it was asked for is expected until it has answered; at
 * the end nobody is left whom it could call. */
static int helper_answer(struct raiser *e)
{
    struct pollfd p[2] = {{.fd = e->socket, .events = POLLIN}, {.fd = e->stop, .events = POLLIN}};
    int rc, result = 0;
    do
        rc = poll(p, 2, -1);
    while (rc < 0 && errno == EINTR);
    if (!p[0].revents)
        return -ESHUTDOWN;
    rc = helper_receive(e->socket, &result);
    if (rc < 0 && !e->helper_lost) {
        e->helper_lost = true;
        log_line(LOG_WARN,
                 "%s: the process larder-inotify has ended: local inotify hears no more "
                 "of what others change",
                 e->mount->mountpoint);
    }
    return rc < 0 ? rc : result;
}

/* The directory's path; false: nobody can be watching it there any more. */
static bool fill_job(struct raiser *e, const struct selfop *want)
{
    struct mount *m = e->mount;
    struct helper_job *j = &e->job;
    struct node *dir = nodes_hold(&m->nodes, want->dir);
    if (!dir)
        return false;
    int len = share_node_path(m->share, dir->share, j->dir, sizeof(j->dir));
    nodes_forget(&m->nodes, want->dir, 1);
    if (len < 0)
        return false;
    memcpy(j->device, m->device, sizeof(j->device));
    j->call = want->call;
    strncpy(j->mountpoint, m->mountpoint, sizeof(j->mountpoint) - 1);
    strncpy(j->name, want->name, sizeof(j->name) - 1);
    strncpy(j->new_name, want->new_name ? want->new_name : "", sizeof(j->new_name) - 1);
    return true;
}

int raiser_call(struct raiser *e, const struct selfop *want)
{
    if (e->helper_lost || !fill_job(e, want))
        return -ESTALE;
    selfop_expect(&e->mount->selfops, want);
    int rc = helper_send(e->socket, &e->job);
    if (rc == 0)
        rc = helper_answer(e);
    selfop_expect(&e->mount->selfops, NULL);
    return rc;
}

/* The kernel has seen for itself that the name is gone, or leads to another file. What may be a
 * directory is only expired: taking it off would unmount what is mounted beneath. Waits for calls
 * under way in the directory. */
void raiser_forget(struct raiser *e, const struct selfop *want, bool none)
{
    pthread_mutex_lock(&e->lock);
    bool end = e->end;
    e->in_kernel = !end;
    pthread_mutex_unlock(&e->lock);
    if (end)
        return;
    size_t len = strlen(want->name);
    if (none)
        fuse_lowlevel_notify_inval_entry(e->mount->session, want->dir, want->name, len);
    else if (e->mount->revoke.can_expire)
        fuse_lowlevel_notify_expire_entry(e->mount->session, want->dir, want->name, len,
                                          FUSE_LL_EXPIRE_ONLY);
    pthread_mutex_lock(&e->lock);
    e->in_kernel = false;
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
}

struct event *raiser_take_other_half(struct raiser *e, const struct event *v)
{
    uint64_t until = clock_now() + HALF_NS;
    const struct timespec at = {(time_t)(until / NS_PER_SEC), (long)(until % NS_PER_SEC)};
    struct event *next = NULL;
    pthread_mutex_lock(&e->lock);
    while (list_empty(&e->queue) && !e->end &&
           pthread_cond_timedwait(&e->changed, &e->lock, &at) != ETIMEDOUT)
        ;
    if (!list_empty(&e->queue))
        next = container_of(e->queue.next, struct event, link);
    if (next && next->news == SHARE_ADDED && next->dir == v->dir) {
        list_del(&next->link);
        e->waiting--;
    } else {
        next = NULL;
    }
    pthread_mutex_unlock(&e->lock);
    return next;
}

static void *run(void *user)
{
    struct raiser *e = user;
    pthread_mutex_lock(&e->lock);
    while (!e->end) {
        if (list_empty(&e->queue)) {
            pthread_cond_wait(&e->changed, &e->lock);
            continue;
        }
        struct event *v = container_of(e->queue.next, struct event, link);
        list_del(&v->link);
        e->waiting--;
        pthread_mutex_unlock(&e->lock);
        raise_one(e, v);
        event_free(e, v);
        pthread_mutex_lock(&e->lock);
    }
    pthread_mutex_unlock(&e->lock);
    return NULL;
}

/* ---- beginning and end ---- */

int raiser_new(struct mount *m, struct raiser **ret)
{
    struct raiser *e = calloc(1, sizeof(*e));
    if (!e)
        return -ENOMEM;
    e->mount = m;
    e->stop = eventfd(0, EFD_CLOEXEC);
    int rc = e->stop < 0 ? -errno : helper_start(&e->socket, &e->helper);
    if (rc < 0) {
        if (e->stop >= 0)
            close(e->stop);
        free(e);
        return rc;
    }
    atomic_store(&m->selfops.helper, e->helper);
    pthread_mutex_init(&e->lock, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&e->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    list_init(&e->queue);
    *ret = e;
    return 0;
}

int raiser_start(struct raiser *e)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = -pthread_create(&e->thread, NULL, run, e);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    e->started = rc == 0;
    return rc;
}

#define PATIENCE_NS (NS_PER_SEC / 2)

void raiser_stop(struct raiser *e, void (*abort)(void *user), void *user)
{
    if (!e)
        return;
    uint64_t until = clock_now() + PATIENCE_NS, one = 1;
    const struct timespec at = {(time_t)(until / NS_PER_SEC), (long)(until % NS_PER_SEC)};
    pthread_mutex_lock(&e->lock);
    e->end = true;
    pthread_cond_broadcast(&e->changed);
    while (e->in_kernel && pthread_cond_timedwait(&e->changed, &e->lock, &at) != ETIMEDOUT)
        ;
    bool stuck = e->in_kernel;
    pthread_mutex_unlock(&e->lock);
    if (write(e->stop, &one, sizeof(one)) < 0 || stuck)
        abort(user);
    if (e->started)
        pthread_join(e->thread, NULL);
    while (!list_empty(&e->queue)) {
        struct event *v = container_of(e->queue.next, struct event, link);
        list_del(&v->link);
        event_free(e, v);
    }
    close(e->socket); /* at which the helper ends */
}

struct raiser *raiser_free(struct raiser *e)
{
    if (!e)
        return NULL;
    atomic_store(&e->mount->selfops.helper, 0);
    kill(e->helper, SIGKILL);
    while (waitpid(e->helper, NULL, 0) < 0 && errno == EINTR)
        ;
    close(e->stop);
    pthread_cond_destroy(&e->changed);
    pthread_mutex_destroy(&e->lock);
    free(e);
    return NULL;
}

json_t *raiser_json(struct raiser *e)
{
    return json_pack("{s:{s:I, s:I, s:I, s:I}, s:I, s:I}", "raised", "created",
                     (json_int_t)atomic_load(&e->counts[CREATED]), "removed",
                     (json_int_t)atomic_load(&e->counts[REMOVED]), "renamed",
                     (json_int_t)atomic_load(&e->counts[RENAMED]), "modified",
                     (json_int_t)atomic_load(&e->counts[MODIFIED]), "dropped",
                     (json_int_t)atomic_load(&e->dropped), "failed",
                     (json_int_t)atomic_load(&e->failed));
}
