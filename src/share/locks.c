/*
 * One file's locks: the table of who holds what (ranges.c), the pieces that the server holds for it
 * (held.c), and who waits.
 *
 * A change is computed as a whole new table, carried out on the server, and believed when that has
 * worked. In between no lock is held: `busy` keeps other changes of this file away, and whoever
 * finds it set waits for its end, holding nothing himself, so that two who ask at once only take
 * turns.
 *
 * A change first raises: it takes on the server what is asked for and not held yet. If that fails,
 * what was held before is restored; where that fails, too, since another client has used the gap,
 * the table is corrected to what is held and the answer is -EIO. Then it lowers: it gives up what
 * is too much, and goes on whatever happens, since an unlock is not refused to anybody.
 *
 * Waiting: for an owner of this mount on the condition variable; for another client by asking
 * again, after 10 ms at first and 500 ms at last. A LOCK without FAIL_IMMEDIATELY would wait on the
 * server, but each one that waits keeps credits and a place among the server's few pending
 * requests, is only ended by a CANCEL that may cross its grant, and would keep this file busy for
 * all other owners.
 *
 * A deadlock is found when it would close: who is about to wait follows the owners in his way, and
 * those in theirs, over all files. As in the kernel an owner with several threads counts as waiting
 * although another of his threads might let go.
 */
#include "share/locks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "share/held.h"

#define GONE_POLL (50 * NS_PER_MS)
#define PAUSE_MIN (10 * NS_PER_MS)
#define PAUSE_MAX (500 * NS_PER_MS)

struct locks {
    struct lock_desk *desk;
    bool on_server;
    pthread_cond_t changed; /* with desk->lock: `busy` has ended or the table has changed */
    bool busy;              /* protected by desk->lock */
    struct ranges table;    /* protected by desk->lock; only whoever has set busy changes it, and
                               may read it without the lock */
    struct client_file *holder; /* protected by desk->lock */
    struct held held;           /* of whoever has set busy */
};

/* Somebody who waits for an owner of this mount; on his stack. */
struct lock_wait {
    struct list link; /* in desk->waits */
    const struct locks *l;
    const struct share_lock *wanted;
    bool seen; /* by the search that is under way */
};

void lock_desk_init(struct lock_desk *desk)
{
    pthread_mutex_init(&desk->lock, NULL);
    list_init(&desk->waits);
}

void lock_desk_done(struct lock_desk *desk)
{
    pthread_mutex_destroy(&desk->lock);
}

struct locks *locks_new(struct lock_desk *desk, bool on_server)
{
    struct locks *l = calloc(1, sizeof *l);
    if (!l)
        return NULL;
    l->desk = desk;
    l->on_server = on_server;
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&l->changed, &attr);
    pthread_condattr_destroy(&attr);
    return l;
}

struct locks *locks_free(struct locks *l)
{
    if (!l)
        return NULL;
    pthread_cond_destroy(&l->changed);
    ranges_done(&l->table);
    held_done(&l->held);
    free(l);
    return NULL;
}

struct client_file *locks_holder(struct locks *l)
{
    pthread_mutex_lock(&l->desk->lock);
    struct client_file *holder = l->holder;
    pthread_mutex_unlock(&l->desk->lock);
    return holder;
}

/* ---- turns; with desk->lock held ---- */

static void doze(struct locks *l, uint64_t until)
{
    struct timespec t = clock_timespec(until);
    pthread_cond_timedwait(&l->changed, &l->desk->lock, &t);
}

static void await_turn(struct locks *l)
{
    while (l->busy)
        pthread_cond_wait(&l->changed, &l->desk->lock);
}

/* Lets go of desk->lock for requests by the open that is returned; all data goes through it from
 * now on. */
static struct client_file *begin_turn(struct locks *l, struct client_file *file)
{
    l->busy = true;
    if (!l->holder)
        l->holder = file;
    file = l->holder;
    pthread_mutex_unlock(&l->desk->lock);
    return file;
}

/* With desk->lock taken again. */
static void end_turn(struct locks *l)
{
    l->busy = false;
    if (l->held.count == 0)
        l->holder = NULL;
    pthread_cond_broadcast(&l->changed);
}

/* ---- changes ---- */

/* Goes to `table` whatever happens on the way. What was refused is asked for once more when all
 * that could be in its way has gone: a server might not let a shared lock lie on its own exclusive
 * one. */
static int go_down(struct locks *l, struct client_file *holder, const struct ranges *table,
                   struct error *err)
{
    int r = held_settle(&l->held, holder, table, true, err);
    if (r == -EAGAIN)
        r = held_settle(&l->held, holder, table, true, err);
    return r;
}

/* With desk->lock held: believes no more than the server holds. `r`: of the change before. */
static int correct(struct locks *l, int r, struct error *err)
{
    int corrected = r < 0 ? held_correct(&l->held, &l->table) : 0;
    return corrected == 0 ? r
                          : error_set(err, -EIO, 0,
                                      "a byte-range lock was lost while it was being changed: "
                                      "another client may have the range");
}

static const char no_table[] = "no room for another byte-range lock";

/* With desk->lock held and nobody busy; lets go of it meanwhile. */
static int change(struct locks *l, struct client_file *file, const struct share_lock *lock,
                  struct error *err)
{
    struct ranges after, raised = {0};
    int r = ranges_with(&l->table, lock, &after);
    if (r < 0)
        return error_set(err, r, 0, no_table);
    if (l->on_server && lock->type != SHARE_UNLOCK) {
        r = ranges_raised(&l->table, lock, &raised);
        if (r < 0) {
            ranges_done(&after);
            return error_set(err, r, 0, no_table);
        }
    }
    bool done = true;
    if (l->on_server) {
        struct client_file *holder = begin_turn(l, file);
        if (lock->type != SHARE_UNLOCK)
            r = held_settle(&l->held, holder, &raised, false, err);
        done = r == 0;
        if (done)
            r = go_down(l, holder, &after, err);
        else
            go_down(l, holder, &l->table, NULL);
        pthread_mutex_lock(&l->desk->lock);
    }
    if (done) {
        struct ranges before = l->table;
        l->table = after;
        after = before;
    }
    r = correct(l, r, err);
    end_turn(l);
    ranges_done(&after);
    ranges_done(&raised);
    return r;
}

/* ---- waiting ---- */

/* With desk->lock held: whether who stands in the way of `wanted` waits, at any remove, for `goal`.
 */
static bool leads_to(struct lock_desk *desk, const struct locks *l, const struct share_lock *wanted,
                     uint64_t goal)
{
    for (size_t i = 0; i < l->table.count; i++) {
        const struct share_lock *item = &l->table.items[i];
        if (!ranges_against(item, wanted))
            continue;
        if (item->owner == goal)
            return true;
        struct list *link;
        list_for_each(link, &desk->waits)
        {
            struct lock_wait *w = container_of(link, struct lock_wait, link);
            if (w->wanted->owner != item->owner || w->seen)
                continue;
            w->seen = true;
            if (leads_to(desk, w->l, w->wanted, goal))
                return true;
        }
    }
    return false;
}

static bool is_deadlock(const struct locks *l, const struct share_lock *wanted)
{
    struct list *link;
    list_for_each(link, &l->desk->waits)
    {
        container_of(link, struct lock_wait, link)->seen = false;
    }
    return leads_to(l->desk, l, wanted, wanted->owner);
}

/* With desk->lock held. What keeps `lock` from being had here now: 0, -EAGAIN (and -EDEADLK where
 * waiting would be for ever). */
static int in_way_here(struct locks *l, struct lock_wait *w, bool wait, struct error *err)
{
    if (!ranges_conflict(&l->table, w->wanted))
        return 0;
    if (!wait)
        return error_set(err, -EAGAIN, 0, "another program has locked the range");
    if (is_deadlock(l, w->wanted))
        return error_set(err, -EDEADLK, 0, "who has locked the range waits for this program");
    if (list_empty(&w->link))
        list_add_tail(&l->desk->waits, &w->link);
    return -EAGAIN;
}

int locks_set(struct locks *l, struct client_file *file, const struct share_lock *lock, bool wait,
              bool (*gone)(void *user), void *user, struct error *err)
{
    struct lock_wait w = {.l = l, .wanted = lock};
    list_init(&w.link);
    uint64_t again = 0, pause = PAUSE_MIN; /* when to ask the server again */
    int r;
    if (lock->start > lock->end)
        return error_set(err, -EINVAL, 0, "the range to lock ends before it starts");
    pthread_mutex_lock(&l->desk->lock);
    for (;;) {
        uint64_t now = clock_now();
        if (!l->busy) {
            r = in_way_here(l, &w, wait, err);
            if (r == 0 && now >= again) {
                r = change(l, file, lock, err);
                now = clock_now();
                again = now + pause;
                pause = 2 * pause < PAUSE_MAX ? 2 * pause : PAUSE_MAX;
                if (r != -EAGAIN)
                    break;
            }
            if (r < 0 && (r != -EAGAIN || !wait))
                break;
        }
        doze(l, again > now && again - now < GONE_POLL ? again : now + GONE_POLL);
        if (!wait || !gone)
            continue;
        pthread_mutex_unlock(&l->desk->lock);
        bool is_gone = gone(user);
        pthread_mutex_lock(&l->desk->lock);
        if (is_gone) {
            r = error_set(err, -EINTR, 0, "nobody waits for the byte-range lock any more");
            break;
        }
    }
    list_del(&w.link);
    pthread_mutex_unlock(&l->desk->lock);
    return r;
}

void locks_release(struct locks *l, uint64_t owner)
{
    pthread_mutex_lock(&l->desk->lock);
    if (ranges_has_owner(&l->table, owner)) {
        await_turn(l);
        ranges_drop_owner(&l->table, owner);
        int r = 0;
        if (l->on_server) {
            struct client_file *holder = begin_turn(l, NULL);
            r = go_down(l, holder, &l->table, NULL);
            pthread_mutex_lock(&l->desk->lock);
        }
        correct(l, r, NULL);
        end_turn(l);
    }
    pthread_mutex_unlock(&l->desk->lock);
}

/* ---- what stands against a lock ---- */

/* Without desk->lock. What other clients hold is not told apart by one question: where an exclusive
 * lock is not to be had but a shared one is, theirs is shared. */
static int ask_server(struct locks *l, struct client_file *holder, struct share_lock *inout,
                      struct error *err)
{
    enum client_lock_type type =
        inout->type == SHARE_LOCK_EXCLUSIVE ? CLIENT_LOCK_EXCLUSIVE : CLIENT_LOCK_SHARED;
    enum share_lock_type found = SHARE_UNLOCK;
    int r = held_probe(&l->held, holder, type, inout->start, inout->end, err);
    if (r == -EAGAIN) {
        found = SHARE_LOCK_EXCLUSIVE;
        r = 0;
        if (type == CLIENT_LOCK_EXCLUSIVE) {
            r = held_probe(&l->held, holder, CLIENT_LOCK_SHARED, inout->start, inout->end, err);
            if (r == 0)
                found = SHARE_LOCK_SHARED;
            else if (r == -EAGAIN)
                r = 0;
        }
    }
    if (r == 0) {
        inout->type = found;
        inout->pid = 0;
    }
    return r;
}

int locks_test(struct locks *l, struct client_file *file, struct share_lock *inout,
               struct error *err)
{
    if (inout->start > inout->end || inout->type == SHARE_UNLOCK)
        return error_set(err, -EINVAL, 0, "no range of bytes to lock");
    int r = 0;
    pthread_mutex_lock(&l->desk->lock);
    await_turn(l);
    const struct share_lock *against = ranges_conflict(&l->table, inout);
    if (against) {
        inout->type = against->type;
        inout->start = against->start;
        inout->end = against->end;
        inout->pid = against->pid;
    } else if (!l->on_server)
        inout->type = SHARE_UNLOCK;
    else {
        struct client_file *holder = begin_turn(l, file);
        r = ask_server(l, holder, inout, err);
        pthread_mutex_lock(&l->desk->lock);
        end_turn(l);
    }
    pthread_mutex_unlock(&l->desk->lock);
    return r;
}
