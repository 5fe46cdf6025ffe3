/*
 * Directories. A listing is fetched whole into an immutable snapshot that the cache believes and
 * that readers walk without a lock and without a copy. A guess is a listing that may end after its
 * first round trip, for directories of unknown size that are probed repeatedly.
 *
 * Where the server has leases for directories one is asked for with the listing, and the open is
 * kept under it (promise.h). After a break the handle is gone, and a new CREATE asks anew in the
 * same round trip; by a handle that is kept still, because only the belief went, it is listed again
 * without one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "share/delay.h"

_Static_assert(SHARE_NAME_MAX >= CLIENT_NAME_MAX, "a name of a listing fits its reader's buffer");

#define LISTING_ENTRIES_MAX 20000000u /* a server that lists more is not believed to end */

static int add_entry(void *user, const char *name, size_t len, const struct file_attr *attr,
                     size_t wire_bytes)
{
    struct cache_listing *l = user;
    if (share_is_hidden(name, len))
        return 0;
    if (cache_listing_count(l) >= LISTING_ENTRIES_MAX)
        return -EOVERFLOW;
    return cache_listing_add(l, name, len, attr, wire_bytes);
}

/* A listing on its way. */
struct fetch {
    struct cache_file *dir;
    bool guess;
    char *path;
    struct cache_ticket ticket;
    struct promise_ask ask;
    struct promise *promise;  /* of `open`, once it is known */
    struct client_file *open; /* the directory's; NULL: none that is kept */
    bool again;               /* it was open before */
    bool verifies;            /* what is held is too old, and nothing else stands against it */
    struct client_list_result result;
    struct cache_listing *list;
};

/* With the lock. */
static int begin(struct share *s, struct fetch *f, struct error *err)
{
    watch_must_tell(s);
    promise_let_tell_in(s, f->dir);
    int r = share_wire_path(s, f->dir, NULL, 0, &f->path, err);
    if (r < 0)
        return r;
    f->open = f->guess ? NULL : promise_relist(s, f->dir, &f->promise);
    f->again = f->open;
    f->verifies = !f->again && cache_must_verify(s->cache, f->dir, false, clock_now());
    if (!f->open)
        promise_ask(s, f->dir, NULL, PROMISE_LISTING, &f->ask);
    f->ticket = cache_ask(s->cache, clock_now());
    return 0;
}

static int list_once(struct share *s, struct fetch *f, struct error *err)
{
    f->list = cache_listing_new();
    if (!f->list)
        return error_set(err, -ENOMEM, 0, "out of memory");
    int r;
    if (f->again)
        r = client_relist(f->open, add_entry, f->list, &f->result, err);
    else if (f->ask.lease.lease)
        r = client_list_leased(s->client, f->path, &f->ask.lease, f->guess, add_entry, f->list,
                               &f->open, &f->result, err);
    else
        r = client_list(s->client, f->path, "*", s->style, f->guess, add_entry, f->list, &f->result,
                        err);
    if (r < 0)
        f->list = cache_listing_unref(f->list);
    return r;
}

/* Without the lock. `err` has what the server said. */
static int fetch(struct share *s, struct fetch *f, struct error *err)
{
    int r;
    do {
        *err = (struct error){0};
        r = list_once(s, f, err);
    } while (r < 0 && ((r == CLIENT_LISTING_LOST && !f->again) || promise_again(s, &f->ask, err)));
    if (r == 0 && f->result.complete)
        r = cache_listing_seal(f->list, f->ticket);
    if (r < 0 || !f->result.complete)
        f->list = cache_listing_unref(f->list);
    if (r == -ENOMEM)
        return error_set(err, r, 0, "listing %s: out of memory", f->path);
    if (r == -EOVERFLOW)
        return error_set(err, r, 0, "listing %s: more than %u names", f->path, LISTING_ENTRIES_MAX);
    return r;
}

/* What came of it becomes belief. With the lock, not while it closes what is not kept. */
static void commit(struct share *s, struct fetch *f, int r, const struct error *why)
{
    uint64_t now = clock_now();
    if (f->again)
        promise_renewed(s, f->promise, f->ticket);
    else
        f->promise = promise_answer(s, &f->ask, f->open, f->dir, f->ticket);
    if (r == 0 && f->verifies)
        watch_compare(s, f->dir, &f->result.dir_attr, f->ticket);
    if (r == 0 && !f->again)
        cache_commit_attr(s->cache, f->dir, &f->result.dir_attr, f->ticket, now);
    if (r == 0 && f->list)
        cache_commit_listing(s->cache, f->dir, f->list, f->ticket, now);
    if (f->guess && !f->list)
        cache_commit_partial(s->cache, f->dir, f->ticket, now);
    if (r < 0 && share_says_missing(why))
        share_forget_path(s, f->dir, f->path);
    if (f->open)
        promise_close(s, f->promise, f->open);
}

int share_ask_listing(struct share *s, struct cache_file *dir, bool guess,
                      struct cache_listing **ret, struct cache_ticket *ret_ticket,
                      struct error *err)
{
    struct fetch f;
    struct error e;
    int r;
    do {
        f = (struct fetch){.dir = dir, .guess = guess};
        look_begin(s);
        r = begin(s, &f, err);
        if (r < 0) {
            look_end(s);
            return r;
        }
        pthread_mutex_unlock(&s->lock);
        r = fetch(s, &f, &e);
        pthread_mutex_lock(&s->lock);
        commit(s, &f, r, &e);
        look_end(s);
        free(f.path);
        if (r < 0 && f.again) /* the handle may be what is wrong */
            promise_give_up(s, dir, false);
    } while (r < 0 && f.again);
    if (r < 0) {
        if (err)
            *err = e;
        return r;
    }
    *ret = f.list;
    *ret_ticket = f.ticket;
    return 0;
}

/* The believed one (a reference); NULL: there is none that tells what is wanted. With the lock. */
static struct cache_listing *believed(struct share *s, struct cache_file *dir, bool attributes)
{
    uint64_t now = clock_now();
    struct cache_listing *l = cache_plan_listing(s->cache, dir, now);
    if (l && attributes && !cache_listing_tells(s->cache, dir, l, now))
        l = cache_listing_unref(l);
    return l;
}

static int list(struct share *s, struct share_node *dir, bool attributes,
                struct share_listing **ret, struct error *err)
{
    struct share_listing *out = calloc(1, sizeof *out);
    if (!out)
        return error_set(err, -ENOMEM, 0, "out of memory");
    struct cache_ticket ticket;
    int r = 0;
    pthread_mutex_lock(&s->lock);
    for (bool waited = false;; waited = true) {
        delay_settle_in(s, dir); /* as lookup.c does before it looks at what is believed */
        out->list = believed(s, dir, attributes);
        if (out->list)
            break;
        if (!waited && flight_wait(s, FLIGHT_LIST, dir, "", 0))
            continue;
        struct flight f;
        flight_begin(s, &f, FLIGHT_LIST, dir, "", 0);
        bool verify = cache_must_verify(s->cache, dir, attributes, clock_now());
        if (verify)
            watch_verify(s, dir);
        else
            r = share_ask_listing(s, dir, false, &out->list, &ticket, err);
        flight_end(s, &f);
        if (!verify)
            break;
    }
    if (r == 0)
        out->dir = cache_file_ref(dir);
    pthread_mutex_unlock(&s->lock);
    if (r < 0) {
        free(out);
        return r;
    }
    *ret = out;
    return 0;
}

int share_list(struct share *s, struct share_node *dir, struct share_listing **ret,
               struct error *err)
{
    return list(s, dir, false, ret, err);
}

/* The directory's own existence need not be asked for first: the listing's CREATE says it. */
int share_list_path(struct share *s, const char *path, struct share_listing **ret,
                    struct error *err)
{
    char *clean;
    int r = share_clean_path(path, &clean, err);
    if (r < 0)
        return r;
    /* a child that does not exist makes the walk end in the directory itself */
    size_t len = strlen(clean);
    struct cache_file *dir;
    const char *name;
    size_t name_len;
    memcpy(clean + len, len ? "/." : ".", len ? 3 : 2);
    pthread_mutex_lock(&s->lock);
    r = share_walk(s, clean, len + (len ? 2 : 1), &dir, &name, &name_len);
    pthread_mutex_unlock(&s->lock);
    free(clean);
    if (r < 0)
        return error_set(err, r, 0, "%s: %s", path,
                         r == -ENOTDIR  ? "not a directory"
                         : r == -ENOENT ? "no such file or directory"
                         : r == -ENOMEM ? "out of memory"
                                        : strerror(-r));
    r = list(s, dir, true, ret, err);
    share_node_unref(s, dir);
    return r;
}

size_t share_listing_count(const struct share_listing *l)
{
    return cache_listing_count(l->list);
}

const struct file_attr *share_listing_entry(const struct share_listing *l, size_t i,
                                            char name[static SHARE_NAME_MAX])
{
    size_t len;
    const struct file_attr *attr;
    const char *entry = cache_listing_entry(l->list, i, &len, &attr);
    memcpy(name, entry, len);
    name[len] = 0;
    return attr;
}

int share_listing_adopt(struct share *s, struct share_listing *l, size_t i, struct share_entry *ret)
{
    size_t len;
    const struct file_attr *attr;
    struct cache_file *file;
    uint64_t until;
    cache_listing_entry(l->list, i, &len, &attr);
    pthread_mutex_lock(&s->lock);
    int r = cache_adopt(s->cache, l->dir, l->list, i, clock_now(), &file, &until);
    if (r == 0) {
        share_entry_of(file, attr, until, ret);
        ret->node = file;
    }
    pthread_mutex_unlock(&s->lock);
    if (r == 0)
        share_mark_link(s, ret->node, ret);
    return r;
}

void share_listing_free(struct share *s, struct share_listing *l)
{
    if (!l)
        return;
    cache_listing_unref(l->list);
    share_node_unref(s, l->dir);
    free(l);
}
