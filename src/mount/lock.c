/* See lock.h. flock(2) is a lock of the whole range, as NFS and mount.cifs have it: it and fcntl's
 * stand against each other. With `nobrl` nothing comes here, the kernel keeps locks by itself. */
#include "mount/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>

#include "mount/session.h"

/* A call for a lock: on the stack of its worker, or on the heap while it waits. */
struct lock_call {
    struct mount *m;
    fuse_req_t req;
    struct node *node; /* held */
    fuse_ino_t ino;
    struct handle *handle; /* a reference */
    struct share_lock lock;
    struct call call;
};

void lock_waits_init(struct lock_waits *w)
{
    *w = (struct lock_waits){0};
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->fewer, NULL);
}

void lock_waits_done(struct lock_waits *w)
{
    pthread_mutex_lock(&w->lock);
    w->end = true;
    while (w->count > 0)
        pthread_cond_wait(&w->fewer, &w->lock);
    pthread_mutex_unlock(&w->lock);
    pthread_cond_destroy(&w->fewer);
    pthread_mutex_destroy(&w->lock);
}

/* ---- owners of handles that send no FLUSH ---- */

static int note_owner(struct handle *handle, uint64_t owner)
{
    int rc = 0;
    pthread_mutex_lock(&handle->lock);
    size_t i = 0;
    while (i < handle->owner_count && handle->owners[i] != owner)
        i++;
    if (i == handle->owner_count) {
        uint64_t *more = realloc(handle->owners, (i + 1) * sizeof(*more));
        if (more) {
            more[handle->owner_count++] = owner;
            handle->owners = more;
        }
        rc = more ? 0 : -ENOMEM;
    }
    pthread_mutex_unlock(&handle->lock);
    return rc;
}

void handle_locks_release(struct mount *m, struct handle *handle, const struct fuse_file_info *fi)
{
    if (!handle->file || !m->server_locks)
        return;
    if (fi->flock_release)
        share_lock_release(m->share, handle->file, fi->lock_owner);
    pthread_mutex_lock(&handle->lock);
    uint64_t *owners = handle->owners;
    size_t count = handle->owner_count;
    handle->owners = NULL;
    handle->owner_count = 0;
    pthread_mutex_unlock(&handle->lock);
    for (size_t i = 0; i < count; i++)
        share_lock_release(m->share, handle->file, owners[i]);
    free(owners);
}

/* ---- one call ---- */

static bool begin(struct lock_call *c, struct mount *m, fuse_req_t req, fuse_ino_t ino,
                  const struct fuse_file_info *fi)
{
    *c = (struct lock_call){.m = m, .req = req, .ino = ino, .handle = handle_of(fi)};
    c->node = nodes_hold(&m->nodes, ino);
    if (!c->node) {
        reply_error(req, -ESTALE);
        return false;
    }
    handle_ref(&m->handles, c->handle);
    c->lock = (struct share_lock){.owner = fi->lock_owner, .pid = fuse_req_ctx(req)->pid};
    return true;
}

static void end(struct lock_call *c)
{
    handle_unref(&c->m->handles, c->handle);
    nodes_forget(&c->m->nodes, c->ino, 1);
}

static enum share_lock_type type_of(short type)
{
    return type == F_UNLCK   ? SHARE_UNLOCK
           : type == F_RDLCK ? SHARE_LOCK_SHARED
                             : SHARE_LOCK_EXCLUSIVE;
}

/* The kernel gives ranges from the start of the file; a length of 0 is without end. */
static void set_range(struct share_lock *lock, const struct flock *given)
{
    lock->type = type_of(given->l_type);
    lock->start = (uint64_t)given->l_start;
    lock->end = given->l_len ? lock->start + (uint64_t)given->l_len - 1 : UINT64_MAX;
}

/* What a caller got who is not there any more is given back: its last close, which would have done
 * that, may be over. */
static void give_back(struct lock_call *c)
{
    struct share_lock undo = c->lock;
    undo.type = SHARE_UNLOCK;
    share_lock(c->m->share, c->handle->file, &undo, false, NULL, NULL, NULL);
}

static bool nobody_waits(void *user)
{
    struct lock_call *c = user;
    struct lock_waits *w = &c->m->lock_waits;
    pthread_mutex_lock(&w->lock);
    bool ends = w->end;
    pthread_mutex_unlock(&w->lock);
    return ends || call_interrupted(&c->m->calls, &c->call);
}

static void answer_success(void *user)
{
    fuse_reply_err(user, 0);
}

/* Who gets a lock sees what its last holder has written, maybe on another machine: the answer goes
 * out when the kernel has given up its pages. */
static void answer_locked(struct lock_call *c)
{
    bool keeps_pages = c->m->kernel_cache && c->lock.type != SHARE_UNLOCK;
    if (!keeps_pages) {
        answer_success(c->req);
    } else if (!revoke_pages_first(&c->m->revoke, c->ino, answer_success, c->req)) {
        give_back(c);
        reply_error(c->req, -ENOLCK);
    }
}

/* Tries, and with `wait` goes on trying. True: it is answered. */
static bool set_lock(struct lock_call *c, bool wait, bool may_park)
{
    call_begin(&c->m->calls, c->req, &c->call);
    int rc = share_lock(c->m->share, c->handle->file, &c->lock, wait, nobody_waits, c, NULL);
    bool interrupted = call_interrupted(&c->m->calls, &c->call);
    bool there = call_end(&c->m->calls, &c->call);
    if (!there && rc == 0)
        give_back(c);
    if (rc == -EINTR && !interrupted)
        rc = -EIO; /* no signal came: the mount ends */
    if (there && rc == -EAGAIN && may_park)
        return false;
    if (there && rc < 0)
        reply_error(c->req, rc);
    else if (there)
        answer_locked(c);
    return true;
}

/* ---- waiting ---- */

static void *wait_for_lock(void *user)
{
    struct lock_call *c = user;
    struct lock_waits *w = &c->m->lock_waits;
    set_lock(c, true, false);
    end(c);
    free(c);
    pthread_mutex_lock(&w->lock);
    w->count--;
    pthread_cond_broadcast(&w->fewer);
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* A detached thread with every signal blocked. */
static int start_thread(struct lock_call *c)
{
    pthread_attr_t detached;
    pthread_t thread;
    sigset_t all, before;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = -pthread_create(&thread, &detached, wait_for_lock, c);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&detached);
    return rc;
}

/* Takes over what the call holds. */
static void park(const struct lock_call *c)
{
    struct lock_waits *w = &c->m->lock_waits;
    struct lock_call *parked = malloc(sizeof(*parked));
    pthread_mutex_lock(&w->lock);
    bool room = parked && !w->end && w->count < LOCK_WAITS_MAX;
    w->count += room;
    pthread_mutex_unlock(&w->lock);
    int rc = -ENOLCK;
    if (room) {
        *parked = *c;
        rc = start_thread(parked);
        if (rc == 0)
            return;
        pthread_mutex_lock(&w->lock);
        w->count--;
        pthread_cond_broadcast(&w->fewer);
        pthread_mutex_unlock(&w->lock);
    }
    free(parked);
    reply_error(c->req, -ENOLCK);
    struct lock_call done = *c;
    end(&done);
}

/* ---- the calls ---- */

static void lock_or_wait(struct lock_call *c, bool sleep)
{
    sleep = sleep && c->lock.type != SHARE_UNLOCK;
    if (set_lock(c, false, sleep))
        end(c);
    else
        park(c);
}

void op_setlk(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct flock *lock,
              int sleep)
{
    struct mount *m = call_of(req, UPCALL_SETLK);
    struct lock_call c;
    if (!begin(&c, m, req, ino, fi))
        return;
    set_range(&c.lock, lock);
    if (!share_file_writes(c.handle->file) && c.lock.type != SHARE_UNLOCK &&
        note_owner(c.handle, c.lock.owner) < 0) {
        reply_error(req, -ENOLCK);
        return end(&c);
    }
    lock_or_wait(&c, sleep);
}

void op_flock(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, int op)
{
    struct mount *m = call_of(req, UPCALL_FLOCK);
    struct lock_call c;
    if (!begin(&c, m, req, ino, fi))
        return;
    c.lock.type = op & LOCK_UN   ? SHARE_UNLOCK
                  : op & LOCK_SH ? SHARE_LOCK_SHARED
                                 : SHARE_LOCK_EXCLUSIVE;
    c.lock.end = UINT64_MAX;
    lock_or_wait(&c, !(op & LOCK_NB));
}

static void fill_flock(struct flock *out, const struct share_lock *lock)
{
    *out = (struct flock){.l_type = F_UNLCK, .l_whence = SEEK_SET};
    if (lock->type == SHARE_UNLOCK)
        return;
    out->l_type = lock->type == SHARE_LOCK_SHARED ? F_RDLCK : F_WRLCK;
    out->l_start = (off_t)(lock->start < INT64_MAX ? lock->start : INT64_MAX);
    if (lock->end < INT64_MAX && lock->end >= lock->start)
        out->l_len = (off_t)(lock->end - lock->start + 1);
    out->l_pid = lock->pid;
}

void op_getlk(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct flock *lock)
{
    struct mount *m = call_of(req, UPCALL_GETLK);
    struct lock_call c;
    if (!begin(&c, m, req, ino, fi))
        return;
    set_range(&c.lock, lock);
    call_begin(&m->calls, req, &c.call);
    int rc = share_lock_test(m->share, c.handle->file, &c.lock, NULL);
    bool there = call_end(&m->calls, &c.call);
    struct flock found;
    fill_flock(&found, &c.lock);
    if (there && rc < 0)
        reply_error(req, rc);
    else if (there)
        fuse_reply_lock(req, &found);
    end(&c);
}
