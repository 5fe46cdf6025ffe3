/*
 * Byte-range locks: LOCK with one element (2.2.26), never waited for on the server, since a request
 * that waits there would hold its credit and its deadline for as long as somebody else pleases.
 *
 * An open remembers what it has locked, so that it can be locked again where it has to be opened
 * again (kept.c). A lock is noted before it is asked for and taken off after it was given back; in
 * between it is `moving`, and nobody but its own request does anything about it.
 *
 * A lock is no request to be repeated blindly: where the server has kept the open (a durable one),
 * it may have the lock already, and would refuse it to the very same open. So the range is unlocked
 * first. An unlock that was repeated may find nothing, and has done what it was to do.
 */
#include <errno.h>
#include <stdlib.h>

#include "client/file.h"
#include "client/kept.h"

enum { TRIES = 4, AGAIN_TRIES = 10 };
#define AGAIN_PAUSE (100 * NS_PER_MS)

/* ---- what the open has ---- */

/* Caller holds conn->lock; index, or lock_count: none. */
static unsigned find(const struct kept *k, uint64_t offset, uint64_t len, bool moving)
{
    unsigned i = 0;
    for (; i < k->lock_count; i++)
        if (k->locks[i].offset == offset && k->locks[i].len == len && k->locks[i].moving == moving)
            break;
    return i;
}

static void forget(struct kept *k, unsigned i)
{
    if (i < k->lock_count)
        k->locks[i] = k->locks[--k->lock_count];
}

/* Notes a lock that is going to be asked for, or that one is going to be given back. */
static int note(struct conn *c, struct kept *k, const struct kept_lock *l)
{
    int r = 0;
    if (!k)
        return 0;
    pthread_mutex_lock(&c->lock);
    if (l->type == CLIENT_UNLOCK) {
        unsigned i = find(k, l->offset, l->len, false);
        if (i < k->lock_count)
            k->locks[i].moving = true;
    } else {
        if (k->lock_count == k->lock_room) {
            unsigned room = 2 * k->lock_room + 4;
            struct kept_lock *more = realloc(k->locks, room * sizeof(*more));
            r = more ? 0 : -ENOMEM;
            k->locks = more ? more : k->locks;
            k->lock_room = more ? room : k->lock_room;
        }
        if (r == 0) {
            k->locks[k->lock_count] = *l;
            k->locks[k->lock_count++].moving = true;
        }
    }
    pthread_mutex_unlock(&c->lock);
    return r;
}

/* What came of it, on the connection with `epoch`. False: that is lost, and nothing is known to
 * have come of it. */
static bool settle(struct conn *c, struct kept *k, const struct kept_lock *l, bool done,
                   unsigned epoch)
{
    bool holds = done == (l->type != CLIENT_UNLOCK);
    if (!k)
        return true;
    pthread_mutex_lock(&c->lock);
    bool good = !done || !holds || epoch == c->epoch;
    unsigned i = good ? find(k, l->offset, l->len, true) : k->lock_count;
    if (i < k->lock_count && holds)
        k->locks[i].moving = false;
    else
        forget(k, i);
    pthread_mutex_unlock(&c->lock);
    return good;
}

/* ---- one request ---- */

static struct compound *lock_new(struct client *client, struct handle *h, const struct kept_lock *l)
{
    static const uint32_t flags[] = {
        [CLIENT_UNLOCK] = SMB2_LOCKFLAG_UNLOCK,
        [CLIENT_LOCK_SHARED] = SMB2_LOCKFLAG_SHARED_LOCK | SMB2_LOCKFLAG_FAIL_IMMEDIATELY,
        [CLIENT_LOCK_EXCLUSIVE] = SMB2_LOCKFLAG_EXCLUSIVE_LOCK | SMB2_LOCKFLAG_FAIL_IMMEDIATELY,
    };
    uint8_t buf[24];
    struct wr locks = wr_init(buf, sizeof(buf));
    struct compound *m = compound_new(client->conn, 0);
    if (!m)
        return NULL;
    wire_lock_element_encode(&locks,
                             &(struct wire_lock_element){l->offset, l->len, flags[l->type]});
    const struct wire_lock_request lock = {.locks = rd_init(buf, locks.pos)};
    wire_lock_request_encode(compound_add(m, SMB2_LOCK, 0), &lock);
    compound_by(m, h);
    m->once = l->type != CLIENT_UNLOCK;
    return m;
}

struct sent {
    bool answered, unknown; /* `unknown`: whether the server has done it */
    uint32_t status;
    unsigned epoch, repeats;
};

static int run(const struct operation *op, struct handle *h, const struct kept_lock *l,
               struct sent *ret)
{
    struct error why;
    struct compound *m = lock_new(op->client, h, l);
    *ret = (struct sent){0};
    if (!m)
        return operation_error(op, -ENOMEM, "out of memory");
    int r = compound_run(m, &why);
    *ret = (struct sent){.answered = r == 0,
                         .unknown = r < 0 && m->lost && m->left && !m->garbled,
                         .status = r == 0 ? compound_status(m, 0) : 0,
                         .epoch = m->epoch,
                         .repeats = m->repeats};
    if (r < 0)
        r = operation_failed(op, &why);
    else if (!status_is(ret->status, STATUS_SUCCESS))
        r = operation_status(op, ret->status);
    compound_free(m);
    return r;
}

static int run_until_known(const struct operation *op, struct client_file *f,
                           const struct kept_lock *l)
{
    struct conn *c = f->client->conn;
    struct kept *k = f->handle->kept;
    const struct operation quiet = {op->client, op->verb, op->path, NULL};
    const struct kept_lock unlock = {.offset = l->offset, .len = l->len};
    struct sent sent;
    int r = -EIO;
    bool over = false;
    for (unsigned i = 0; i < TRIES && !over; i++) {
        if (i > 0 && l->type != CLIENT_UNLOCK) /* the last one may have been done */
            (void)run(&quiet, f->handle, &unlock, &sent);
        r = run(op, f->handle, l, &sent);
        if (sent.repeats && status_is(sent.status, STATUS_RANGE_NOT_LOCKED))
            r = 0;
        over = !(sent.unknown && c->revives) && settle(c, k, l, r == 0, sent.epoch);
    }
    if (!over) {
        settle(c, k, l, false, 0);
        r = r == 0 ? -EIO : r;
    }
    return r;
}

int client_lock(struct client_file *f, enum client_lock_type type, uint64_t offset, uint64_t len,
                struct error *err)
{
    const struct operation op = {f->client, type == CLIENT_UNLOCK ? "unlock" : "lock", f->path,
                                 err};
    const struct kept_lock l = {.offset = offset, .len = len, .type = type};
    if (note(f->client->conn, f->handle->kept, &l) < 0)
        return operation_error(&op, -ENOMEM, "out of memory");
    return run_until_known(&op, f, &l);
}

/* ---- again ---- */

/* The n-th lock that is to be taken again. False: there are not so many. */
static bool lock_at(struct conn *c, const struct kept *k, unsigned n, struct kept_lock *ret)
{
    bool found = false;
    pthread_mutex_lock(&c->lock);
    for (unsigned i = 0; i < k->lock_count && !found; i++) {
        if (k->locks[i].moving || n-- > 0)
            continue;
        *ret = k->locks[i];
        found = true;
    }
    pthread_mutex_unlock(&c->lock);
    return found;
}

int kept_lock_again(const struct operation *op, struct kept *k, struct handle *h)
{
    struct conn *c = op->client->conn;
    struct kept_lock l;
    struct sent sent = {0};
    int r = 0;
    for (unsigned n = 0; r == 0 && lock_at(c, k, n, &l); n++) {
        r = run(op, h, &l, &sent);
        /* the server may not have noticed yet that the old connection is gone */
        for (unsigned i = 0; i < AGAIN_TRIES && r == -EAGAIN && sent.answered; i++) {
            nanosleep(&(struct timespec){.tv_nsec = AGAIN_PAUSE}, NULL);
            r = run(op, h, &l, &sent);
        }
    }
    return r < 0 && sent.answered
               ? operation_error(op, -EIO,
                                 "a lock was lost with the connection, and is not to be had again")
               : r;
}
