/*
 * Directories. A listing is fetched whole into an immutable snapshot that the cache believes and
 * that readers walk without a lock and without a copy. A guess is a listing that may end after its
 * first round trip, for directories of unknown size that are probed repeatedly.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "share/internal.h"

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

int share_fetch_listing(struct share *s, const char *path, bool guess, struct cache_ticket ticket,
                        struct cache_listing **ret, struct file_attr *ret_dir_attr,
                        struct error *err)
{
    struct cache_listing *l = cache_listing_new();
    struct error e = {0};
    struct client_list_result result;
    int r =
        l ? client_list(s->client, path, "*", s->style, guess, add_entry, l, &result, &e) : -ENOMEM;
    if (r == 0 && result.complete)
        r = cache_listing_seal(l, ticket);
    if (r < 0) {
        cache_listing_unref(l);
        if (r == -ENOMEM)
            return error_set(err, r, 0, "listing %s: out of memory", path);
        if (r == -EOVERFLOW)
            return error_set(err, r, 0, "listing %s: more than %u names", path,
                             LISTING_ENTRIES_MAX);
        if (err)
            *err = e;
        return r;
    }
    *ret_dir_attr = result.dir_attr;
    *ret = result.complete ? l : cache_listing_unref(l);
    return 0;
}

/* With the lock on entry and exit. *ret is a reference. */
static int ask_whole(struct share *s, struct cache_file *dir, struct cache_listing **ret,
                     struct error *err)
{
    char *path;
    int r = share_wire_path(s, dir, NULL, 0, &path, err);
    if (r < 0)
        return r;
    struct cache_ticket ticket = cache_ask(s->cache, clock_now());
    pthread_mutex_unlock(&s->lock);
    struct file_attr dir_attr;
    struct error e = {0};
    r = share_fetch_listing(s, path, false, ticket, ret, &dir_attr, &e);
    if (r < 0 && err)
        *err = e;
    pthread_mutex_lock(&s->lock);
    if (r < 0 && share_says_missing(&e))
        share_forget_path(s, dir, path);
    free(path);
    if (r == 0) {
        cache_commit_attr(s->cache, dir, &dir_attr, ticket, clock_now());
        cache_commit_listing(s->cache, dir, *ret, ticket, clock_now());
    }
    return r;
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
    int r = 0;
    pthread_mutex_lock(&s->lock);
    for (bool waited = false;; waited = true) {
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
            r = ask_whole(s, dir, &out->list, err);
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
    r = cache_walk(s->cache, clean, len + (len ? 2 : 1), clock_now(), &dir, &name, &name_len);
    pthread_mutex_unlock(&s->lock);
    free(clean);
    if (r < 0)
        return error_set(err, r, 0, "%s: %s", path,
                         r == -ENOTDIR  ? "not a directory"
                         : r == -ENOENT ? "no such file or directory"
                                        : "out of memory");
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

bool share_is_told(struct share *s, struct share_node *dir)
{
    pthread_mutex_lock(&s->lock);
    bool told = cache_is_watched(s->cache, dir);
    pthread_mutex_unlock(&s->lock);
    return told;
}

uint64_t share_listing_promised_ns(struct share *s, struct share_listing *l)
{
    uint64_t now = clock_now();
    pthread_mutex_lock(&s->lock);
    uint64_t until = cache_listing_promised(s->cache, l->dir, l->list, now);
    pthread_mutex_unlock(&s->lock);
    return share_remaining(until, now);
}

void share_listing_free(struct share *s, struct share_listing *l)
{
    if (!l)
        return;
    cache_listing_unref(l->list);
    share_node_unref(s, l->dir);
    free(l);
}
