/*
 * Opens that outlive their connection. (3.2.4.4)
 *
 * Each open of a caller is in a list of its connection, with what it takes to open it again. When
 * there is a new connection the reviver goes through the list before anybody else may send, so that
 * nothing of ours comes in between; an open whose CREATE was answered just before the loss, and
 * that the list did not have yet, is opened again by whoever uses it first.
 *
 * It is opened by its path, and counts as the same one only where the file's id and its creation
 * time are those that it had: then its byte-range locks are taken again. A server that keeps no
 * creation time of a file tells the earliest of its other times, and that moves (Samba, for what
 * was made on its own disk: with the first read after a write). There a file that has the id and
 * had been there while we had ours open is ours all the same, since a number is not given again as
 * long as its file is open. One whose times are all later than that may be another, which got the
 * number of a removed one: no open that may write goes on in it. One that only reads does, unless
 * it was last written before ours: programs on the server itself take it for the same file, too,
 * and who follows a log must not lose it with every restart. What fails on the way ends this open
 * and no other: whoever uses it gets EIO from then on. The path follows our own renames.
 *
 * A durable open is asked back first (durable.c): it is the one that it was, with all its locks. If
 * the server has let go of it, it is opened by its path like the others. So what it locks is never
 * free in between, and a CLOSE that did not arrive leaves an open there that nobody knows of: that
 * is asked back, too, in order to be closed; at once if it has locks, else when everybody may send
 * again.
 *
 * Nobody waits for an open that is being opened again in order to close it: it is left to whom is
 * at it.
 */
#include "client/kept.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/lease.h"

/* ---- beginning and end ---- */

void kept_free(struct kept *k)
{
    if (!k)
        return;
    free(k->path);
    free(k->locks);
    free(k);
}

/* Whether the creation time is one that a server makes out of the others. */
static bool created_moves(const struct file_attr *attr)
{
    uint64_t earliest = attr->written < attr->changed ? attr->written : attr->changed;
    return attr->created == (attr->accessed < earliest ? attr->accessed : earliest);
}

void handle_keep(const struct operation *op, struct handle *h, const struct client_how *how,
                 const struct file_attr *attr)
{
    struct conn *c = op->client->conn;
    struct kept *k = c->revives ? calloc(1, sizeof(*k)) : NULL;
    char *path = k ? strdup(op->path) : NULL;
    if (!path) {
        free(k);
        return;
    }
    *k = (struct kept){
        .client = op->client,
        .access = how->access,
        .share = how->share,
        .options = how->options,
        .lease_state = how->lease && how->lease->lease ? how->lease->state : 0,
        .id = attr->id,
        .created = attr->created,
        .written = attr->written,
        .moves = created_moves(attr),
        .known = attr->written > attr->changed ? attr->written : attr->changed,
        .path = path,
    };
    h->kept = k;
    pthread_mutex_lock(&c->lock);
    list_add_tail(&c->kept, &h->link);
    pthread_mutex_unlock(&c->lock);
}

bool handle_leave(struct conn *c, struct handle *h)
{
    struct kept *k = h->kept;
    if (!k)
        return true;
    pthread_mutex_lock(&c->lock);
    bool mine = !k->busy;
    k->closed = true;
    if (mine)
        list_del(&h->link);
    pthread_mutex_unlock(&c->lock);
    return mine;
}

bool kept_hand_over(struct conn *c, struct handle *h)
{
    struct kept *k = h->kept;
    if (!k || k->dead || !h->durable.version || h->epoch == c->epoch || c->closing)
        return false;
    k->closed = true;
    list_add_tail(&c->kept, &h->link);
    c->stale = true;
    pthread_cond_broadcast(&c->changed);
    return true;
}

void kept_lost(struct conn *c)
{
    struct list *item;
    uint64_t server_now =
        atomic_load(&c->server_clock) ? conn_server_time(c, c->last_heard - CLOCK_SLACK) : 0;
    list_for_each(item, &c->kept)
    {
        struct handle *h = container_of(item, struct handle, link);
        if (h->epoch == c->epoch && h->kept->known < server_now)
            h->kept->known = server_now;
    }
}

/* ---- names ---- */

/* What is behind `from` in the path of that, or of something beneath; NULL: it is neither. */
static const char *behind(const char *path, const char *from)
{
    size_t len = strlen(from);
    bool is_it = strncmp(path, from, len) == 0 && (path[len] == 0 || path[len] == '/');
    return is_it ? path + len : NULL;
}

void kept_renamed(struct conn *c, const char *from, const char *to)
{
    struct list *item;
    pthread_mutex_lock(&c->lock);
    list_for_each(item, &c->kept)
    {
        struct kept *k = container_of(item, struct handle, link)->kept;
        const char *rest = behind(k->path, from);
        size_t len = rest ? strlen(to) + strlen(rest) + 1 : 0;
        char *path = rest ? malloc(len) : NULL;
        if (!path)
            continue; /* without memory it is not found again */
        snprintf(path, len, "%s%s", to, rest);
        free(k->path);
        k->path = path;
    }
    pthread_mutex_unlock(&c->lock);
}

void handle_renamed(struct conn *c, struct handle *h, const char *to)
{
    pthread_mutex_lock(&c->lock);
    char *from = h->kept ? strdup(h->kept->path) : NULL;
    pthread_mutex_unlock(&c->lock);
    if (from)
        kept_renamed(c, from, to);
    free(from);
}

/* ---- opening again ---- */

/* `h` becomes what `fresh` is, which is gone then. */
static void adopt(struct conn *c, struct handle *h, struct handle *fresh)
{
    pthread_mutex_lock(&c->lock);
    if (!fresh->lease && fresh->durable.version && h->lease)
        fresh->lease = lease_ref(h->lease); /* it promises nothing, but the server knows the key */
    handle_unlease(c, h);
    h->id = fresh->id;
    h->epoch = fresh->epoch;
    h->lease = fresh->lease;
    h->promises = fresh->promises;
    h->leased = fresh->leased;
    h->durable = fresh->durable;
    pthread_mutex_unlock(&c->lock);
    free(fresh);
}

static int another_file(const struct operation *op)
{
    return operation_error(op, -EIO, "the connection was lost, and another file has this name now");
}

/* What is opened again, as it was when that began. */
struct again {
    struct handle was; /* its id and how it is durable; nothing else is set */
    struct client_lease *lease;
    char *path;
    bool closed;
};

/* Whether what was opened again is the file that it was before. */
static bool is_same(const struct kept *k, const struct file_attr *attr, bool back)
{
    bool same_id = back || (k->id && attr->id == k->id); /* the server knows it by the open */
    bool was_there = attr->created == k->created || attr->created <= k->known;
    bool only_reads = !(k->access & ~(uint32_t)(FILE_READ_DATA | FILE_READ_ATTRIBUTES));
    bool may_be = only_reads && k->moves && created_moves(attr) && attr->written >= k->written;
    return same_id && (was_there || may_be);
}

/* The CREATE, answered. -EIO: it is not to be had; other errors: not now. */
static int take_open(const struct operation *op, struct compound *m, const struct kept *k,
                     const struct handle *back, struct handle **ret)
{
    struct file_attr attr;
    if (!status_is(compound_status(m, 0), STATUS_SUCCESS)) {
        operation_status(op, compound_status(m, 0));
        return -EIO;
    }
    if (create_take(op, m, ret, &attr, NULL) < 0)
        return -EIO;
    if (back)
        (*ret)->durable = back->durable;
    if (is_same(k, &attr, back))
        return 0;
    conn_close_later(op->client->conn, *ret);
    return another_file(op);
}

/* `back`: the open that is asked back; NULL: it is opened by its path. As a request that is not
 * understood must make and cut nothing, it never says how the open came to be. */
static int open_again(const struct operation *op, const struct kept *k, struct client_lease *lease,
                      const struct handle *back, struct handle **ret)
{
    struct client_lease_ask ask = {.lease = lease, .state = k->lease_state};
    const struct client_how how = {
        .access = k->access,
        .share = k->share,
        .disposition = FILE_OPEN,
        .options = k->options,
        .lease = lease && k->lease_state ? &ask : NULL,
    };
    struct wire_path name;
    struct error why;
    struct compound *m = NULL;
    int r = wire_path_init(op, op->path, &name);
    if (r < 0) {
        r = -EIO;
        goto out;
    }
    m = compound_new(k->client->conn, name.name.len);
    if (!m) {
        r = operation_error(op, -ENOMEM, "out of memory");
        goto out;
    }
    if (back)
        add_create_back(m, &how, back, &name.name);
    else
        add_create_how(m, &how, &name.name);
    r = compound_run(m, &why);
    r = r < 0 ? operation_failed(op, &why) : take_open(op, m, k, back, ret);
out:
    compound_free(m);
    wire_path_done(&name);
    return r;
}

/* The same where READONLY may be in the way. */
static int open_writable(const struct operation *op, struct kept *k, struct client_lease *lease,
                         struct handle **ret)
{
    int r = open_again(op, k, lease, NULL, ret);
    if (r == -EIO && status_is(op->err->status, STATUS_ACCESS_DENIED)) {
        r = read_only_lift(op, k);
        if (r == 0)
            r = open_again(op, k, lease, NULL, ret);
    }
    read_only_return(op, k);
    return r;
}

/* By its path, and its locks. */
static int open_anew(const struct operation *op, struct kept *k, struct client_lease *lease,
                     struct handle **ret)
{
    int r = open_writable(op, k, lease, ret);
    if (r < 0)
        return r;
    r = kept_lock_again(op, k, *ret);
    if (r < 0)
        conn_close_later(k->client->conn, *ret);
    return r;
}

static struct again begin_again(struct conn *c, const struct handle *h)
{
    pthread_mutex_lock(&c->lock);
    struct again a = {
        .was = {.id = h->id, .durable = h->durable},
        .lease = h->lease,
        .path = strdup(h->kept->path),
        .closed = h->kept->closed,
    };
    pthread_mutex_unlock(&c->lock);
    return a;
}

/* -EIO: it is lost for good; other errors: not now. */
static int reopen(struct conn *c, struct handle *h, struct error *err)
{
    struct kept *k = h->kept;
    struct handle *fresh;
    struct again a = begin_again(c, h);
    const struct operation op = {k->client, "open again", a.path ? a.path : "", err};
    if (!a.path)
        return operation_error(&op, -ENOMEM, "out of memory");

    enum observe_network what = OBSERVE_DURABLE;
    int r = a.was.durable.version ? open_again(&op, k, a.lease, &a.was, &fresh) : -EIO;
    if (r == -EIO && !a.closed) {
        what = OBSERVE_REOPENED;
        r = open_anew(&op, k, a.lease, &fresh);
    }
    if (r == 0) {
        read_only_return(&op, k);
        adopt(c, h, fresh);
    }
    if (!a.closed && (r == 0 || r == -EIO))
        observe_network(c->observe, r == 0 ? what : OBSERVE_DEAD);
    free(a.path);
    return r;
}

/* Caller holds conn->lock, not while it waits; `h` is nobody else's to open again. Frees it where
 * its owner is done with it. */
static int reopen_busy(struct conn *c, struct handle *h, struct error *err)
{
    struct kept *k = h->kept;
    struct error why = {0};
    k->busy = true;
    pthread_mutex_unlock(&c->lock);
    int r = reopen(c, h, &why);
    pthread_mutex_lock(&c->lock);
    k->busy = false;
    if (r < 0 && c->up)
        r = -EIO; /* there would be no end to trying it again */
    if (r == -EIO) {
        k->dead = true;
        k->why = why;
    }
    bool closed = k->closed;
    if (closed)
        list_del(&h->link);
    pthread_cond_broadcast(&c->changed);
    if (closed) {
        pthread_mutex_unlock(&c->lock);
        conn_close_later(c, h);
        pthread_mutex_lock(&c->lock);
    }
    if (r < 0)
        error_set(err, r, why.status, "%s", why.text);
    return r;
}

/* What it is for who wants to use it now; -EAGAIN: not now. Caller holds conn->lock. */
static int ready(struct conn *c, struct handle *h, struct error *err)
{
    struct kept *k = h->kept;
    while (h->epoch != c->epoch) {
        if (!k || k->closed) /* who closes it has nothing to open again for that */
            return error_set(err, LOST_OPEN, 0, "the open ended with its connection");
        if (k->dead)
            return error_set(err, -EIO, k->why.status, "%s", k->why.text);
        if (!conn_may_send(c))
            return error_set(err, -EAGAIN, c->why.status, "%s", c->why.text);
        if (k->busy) {
            pthread_cond_wait(&c->changed, &c->lock);
            continue;
        }
        int r = reopen_busy(c, h, err);
        if (r < 0)
            return r == -EIO ? r : -EAGAIN;
    }
    return 0;
}

int handle_ready(struct conn *c, struct handle *h, struct error *err)
{
    pthread_mutex_lock(&c->lock);
    int r = ready(c, h, err);
    pthread_mutex_unlock(&c->lock);
    return r;
}

/* Caller holds conn->lock. `all`: also what is only asked back to be closed. */
static bool is_lost(const struct conn *c, const struct handle *h, bool all)
{
    const struct kept *k = h->kept;
    return h->epoch != c->epoch && !k->dead && !k->busy && (all || !k->closed || k->lock_count);
}

/* Caller holds conn->lock. How many there are; *ret_lost: whether one of them is lost. */
static size_t count_kept(const struct conn *c, bool *ret_lost)
{
    size_t n = 0;
    struct list *item;
    *ret_lost = false;
    list_for_each(item, &c->kept)
    {
        n++;
        *ret_lost |= is_lost(c, container_of(item, struct handle, link), true);
    }
    return n;
}

/* Once round the list, which others change while one is opened: whatever is looked at goes to its
 * end, where also new ones come. */
static int revive(struct conn *c, bool all, struct error *err)
{
    int r = 0;
    pthread_mutex_lock(&c->lock);
    for (size_t left = count_kept(c, &c->stale); left && !list_empty(&c->kept); left--) {
        if (!conn_may_send(c) || (all && c->closing) || (r < 0 && r != -EIO))
            break;
        struct handle *h = container_of(c->kept.next, struct handle, link);
        list_del(&h->link);
        list_add_tail(&c->kept, &h->link);
        if (is_lost(c, h, all))
            r = reopen_busy(c, h, err);
    }
    count_kept(c, &c->stale);
    pthread_mutex_unlock(&c->lock);
    return r == -EIO ? 0 : r;
}

int kept_revive_all(struct conn *c, struct error *err)
{
    return revive(c, false, err);
}

void kept_close_stale(struct conn *c)
{
    (void)revive(c, true, &(struct error){0});
}
