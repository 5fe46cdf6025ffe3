/* See call.h. */
#include "mount/call.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>

#include "mount/control.h"
#include "mount/session.h"

void calls_init(struct calls *all)
{
    pthread_mutex_init(&all->lock, NULL);
    pthread_cond_init(&all->settled, NULL);
    all->abandoned = 0;
    list_init(&all->waiting);
}

void calls_done(struct calls *all)
{
    pthread_cond_destroy(&all->settled);
    pthread_mutex_destroy(&all->lock);
}

/* By libfuse, on the thread that read the interrupt; the request lives for as long as this runs,
 * but its call may be over. */
static void on_interrupt(fuse_req_t req, void *data)
{
    struct mount *m = fuse_req_userdata(req);
    struct list *item;
    pthread_mutex_lock(&m->calls.lock);
    list_for_each(item, &m->calls.waiting)
    {
        struct call *c = container_of(item, struct call, link);
        c->interrupted |= c->req == req;
    }
    pthread_mutex_unlock(&m->calls.lock);
    control_wake_watch(m->control);
}

void call_begin(struct calls *all, fuse_req_t req, struct call *c)
{
    *c = (struct call){.req = req, .thread = fuse_req_ctx(req)->pid};
    pthread_mutex_lock(&all->lock);
    list_add_tail(&all->waiting, &c->link);
    pthread_mutex_unlock(&all->lock);
    fuse_req_interrupt_func(req, on_interrupt, NULL);
    /* Only from here on: until it has returned it uses the request, which an answer frees. */
    pthread_mutex_lock(&all->lock);
    c->ready = true;
    pthread_mutex_unlock(&all->lock);
}

bool call_begin_change(struct calls *all, fuse_req_t req, struct call *c)
{
    call_begin(all, req, c);
    pthread_mutex_lock(&all->lock);
    while (all->abandoned > 0 && !list_empty(&c->link))
        pthread_cond_wait(&all->settled, &all->lock);
    bool there = !list_empty(&c->link);
    c->changes = there;
    pthread_mutex_unlock(&all->lock);
    return there;
}

bool call_interrupted(struct calls *all, struct call *c)
{
    pthread_mutex_lock(&all->lock);
    bool interrupted = c->interrupted || list_empty(&c->link);
    pthread_mutex_unlock(&all->lock);
    return interrupted;
}

bool call_end(struct calls *all, struct call *c)
{
    pthread_mutex_lock(&all->lock);
    bool there = !list_empty(&c->link);
    list_del(&c->link);
    if (!there && c->changes) {
        all->abandoned--;
        pthread_cond_broadcast(&all->settled);
    }
    pthread_mutex_unlock(&all->lock);
    return there;
}

/* A thread that nobody can look at may be as alive as any. */
static bool is_dying(pid_t thread)
{
    char path[64], line[256];
    unsigned long long pending = 0;
    snprintf(path, sizeof(path), "/proc/%d/status", (int)thread);
    FILE *status = thread > 0 ? fopen(path, "re") : NULL;
    if (!status)
        return false;
    while (fgets(line, sizeof(line), status) && sscanf(line, "SigPnd: %llx", &pending) != 1)
        ;
    fclose(status);
    return pending >> (SIGKILL - 1) & 1;
}

bool calls_sweep(struct calls *all)
{
    bool left = false;
    struct list *item, *after;
    pthread_mutex_lock(&all->lock);
    list_for_each_safe(item, after, &all->waiting)
    {
        struct call *c = container_of(item, struct call, link);
        if (!c->interrupted)
            continue;
        if (!c->ready || !is_dying(c->thread)) {
            left = true;
            continue;
        }
        list_del(&c->link);
        all->abandoned += c->changes;
        pthread_cond_broadcast(&all->settled);
        fuse_reply_err(c->req, EINTR);
    }
    pthread_mutex_unlock(&all->lock);
    return left;
}
