/*
 * The keeper: one thread a share for what a break has to wait for, and what nobody else gets round
 * to. It closes the dormant handle whose HANDLE the server takes, and has delayed data written,
 * before the acknowledgement; closes what may hide a change; what was dormant for too long, and
 * everything once the session is lost; frees promises that are idle and too many.
 *
 * It sleeps until it is woken, or the next dormant handle is old enough.
 *
 * A directory is moved once nothing beneath it is open. For that a Samba with leases of directories
 * takes HANDLE of the directory, then of what is open beneath, one after the other. Of these it
 * asks first and only then begins to listen for the CLOSE (4.22): one that was quicker it misses,
 * waits 35 s, and refuses the rename. So what is beneath is closed before the directory itself; and
 * where the directory may be one above, of which nothing is open here, the CLOSE comes late enough.
 * There nothing else may be closed: what it has on its list and does not find it waits for, too.
 */
#include <time.h>

#include "share/kept.h"

#define LISTENS_AFTER (10 * NS_PER_MS)
#define IDLE_REST     256 /* as many idle promises are left when there were too many */

void keeper_wake(struct share *s)
{
    if (s->promises.started)
        pthread_cond_signal(&s->promises.wake);
}

void keeper_job(struct share *s, struct promise *p)
{
    if (!list_empty(&p->job) || !s->promises.started || s->promises.stop)
        return;
    p->refs++; /* it has one already */
    list_add_tail(&s->promises.jobs, &p->job);
    keeper_wake(s);
}

/* ---- all with the lock, not while they wait for the server ---- */

/* It takes the server microseconds, if nothing else has to be done there. */
static void let_it_listen(struct share *s)
{
    pthread_mutex_unlock(&s->lock);
    nanosleep(&(struct timespec){.tv_nsec = LISTENS_AFTER}, NULL);
    pthread_mutex_lock(&s->lock);
}

static void close_broken(struct share *s, struct promise *p)
{
    if (!s->promises.needs_write && p->dormant && !kept_moves_alone(s, p))
        let_it_listen(s);
    if (p->is_dir)
        kept_close_dir(s, p);
    else if (p->dormant)
        kept_close(s, p, p->modified ? PROMISE_TIMES : PROMISE_BROKEN);
}

static void do_job(struct share *s, struct promise *p)
{
    unsigned lost = ~client_lease_state(p->lease);
    if (lost & CLIENT_LEASE_HANDLE)
        close_broken(s, p);
    else if (p->dormant && !kept_may_stay(s, p))
        kept_close(s, p, p->modified ? PROMISE_TIMES : PROMISE_BROKEN);
    if (lost & CLIENT_LEASE_WRITE && s->delayed.flush && p->file) {
        pthread_mutex_unlock(&s->lock);
        s->delayed.flush(s, p->file); /* its error is the writer's */
        pthread_mutex_lock(&s->lock);
    }
    list_del(&p->job);
    unsigned breaks = p->acknowledging;
    p->acknowledging = 0;
    s->promises.acknowledged += breaks;
    pthread_mutex_unlock(&s->lock);
    for (unsigned i = 0; i < breaks; i++)
        client_lease_acknowledge(p->lease);
    pthread_mutex_lock(&s->lock);
    if (breaks)
        kept_broke(s, p);
    kept_let_go(s, p);
}

static void sleep_until(struct share *s, uint64_t until)
{
    struct timespec at = clock_timespec(until);
    s->promises.keeper_sleeps_until = until;
    if (until == CLOCK_NEVER)
        pthread_cond_wait(&s->promises.wake, &s->lock);
    else
        pthread_cond_timedwait(&s->promises.wake, &s->lock, &at);
    s->promises.keeper_sleeps_until = 0; /* it looks again by itself */
}

static void *run(void *user)
{
    struct share *s = user;
    struct promises *all = &s->promises;
    struct promise *due;
    uint64_t until;
    pthread_mutex_lock(&s->lock);
    for (;;) {
        due = kept_first_due(s, &until);
        if (!list_empty(&all->jobs))
            do_job(s, container_of(all->jobs.next, struct promise, job));
        else if (all->stop)
            break;
        else if (all->lost && kept_oldest(s))
            kept_close(s, kept_oldest(s), PROMISE_BROKEN);
        else if (all->lost)
            all->lost = false; /* what is kept from now on is of another session */
        else if (due && until <= clock_now())
            kept_close(s, due, PROMISE_AGE);
        else if (all->idle_count > 2 * IDLE_REST)
            kept_reap(s, IDLE_REST);
        else
            sleep_until(s, until);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

int keeper_start(struct share *s)
{
    pthread_mutex_lock(&s->lock);
    int r = -pthread_create(&s->promises.keeper, NULL, run, s);
    s->promises.started = r == 0;
    pthread_mutex_unlock(&s->lock);
    return r;
}

void keeper_stop(struct share *s)
{
    if (!s->promises.started)
        return;
    pthread_mutex_lock(&s->lock);
    s->promises.stop = true;
    keeper_wake(s);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->promises.keeper, NULL);
}
