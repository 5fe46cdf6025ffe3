/*
 * Opens and data. In the compound style an open brings the beginning of the file along, so that a
 * small file costs one round trip: CREATE and READ together, the CLOSE sent and not waited for. An
 * open goes on when its file is removed or replaced on the server; its attributes come by the open
 * then, since no name leads to it.
 *
 * What came with the open serves the reads that follow, for as long as attributes are believed: a
 * file held open for longer is read from the server. At most 128 KiB per open file are kept. An
 * open that meets another file than the node stands for (it was replaced), or none, tries the
 * file's other names, and ends in -ESTALE, after which the kernel looks the name up anew.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "share/internal.h"

#define FIRST_READ_MAX (128 * 1024) /* as far as the kernel reads ahead by itself */

struct share_file {
    struct client_file *open; /* constant */
    pthread_mutex_t lock;     /* innermost */
    uint8_t *first;           /* protected by lock; NULL: nothing kept */
    size_t first_len;         /* constant while first is */
    size_t first_read;        /* protected by lock: read so far, from the start */
    bool first_is_all;        /* the file ended there */
    uint64_t first_until;     /* not used after */
};

/* How much to ask for with the open; 0: nothing. */
static size_t first_read_size(const struct share *s, bool want_data, bool size_known, uint64_t size)
{
    if (!want_data || s->style != CLIENT_COMPOUND ||
        s->options.settings.file_info_cache_lifetime == 0)
        return 0;
    if (!size_known)
        return FIRST_READ_MAX / 2;
    return size < FIRST_READ_MAX ? (size_t)size : FIRST_READ_MAX;
}

/* Opens without any lock. */
static int open_path(struct share *s, const char *path, size_t want, struct share_file **ret,
                     struct file_attr *ret_attr, struct error *err)
{
    struct share_file *f = calloc(1, sizeof *f);
    if (f && want)
        f->first = malloc(want);
    if (!f || (want && !f->first)) {
        free(f);
        return error_set(err, -ENOMEM, 0, "out of memory");
    }
    pthread_mutex_init(&f->lock, NULL);
    f->first_until = clock_now() + s->options.settings.file_info_cache_lifetime * NS_PER_SEC;
    int r = client_open(s->client, path, s->style, f->first, want, &f->open, ret_attr,
                        &f->first_len, &f->first_is_all, err);
    if (r < 0) {
        pthread_mutex_destroy(&f->lock);
        free(f->first);
        free(f);
        return r;
    }
    if (f->first_len == 0 && !f->first_is_all) {
        free(f->first);
        f->first = NULL;
    }
    *ret = f;
    return 0;
}

static void entry_of(struct cache_file *f, const struct file_attr *attr, uint64_t until,
                     struct share_entry *ret)
{
    *ret = (struct share_entry){.attr = *attr,
                                .ino = cache_file_ino(f),
                                .valid_ns = share_remaining(until, clock_now()),
                                .exact = true};
}

/* Opens by the name that leads to the node now. *ret_again: it is not under that name, but there is
 * another one. */
static int open_by_name(struct share *s, struct share_node *n, bool want_data,
                        struct share_file **ret, struct share_entry *ret_entry, bool *ret_again,
                        struct error *err)
{
    char *path;
    *ret_again = false;
    pthread_mutex_lock(&s->lock);
    int r = share_wire_path(s, n, NULL, 0, &path, err);
    uint64_t size;
    bool size_known = cache_file_size(n, &size);
    struct cache_ticket ticket = cache_ask(s->cache, clock_now());
    pthread_mutex_unlock(&s->lock);
    if (r < 0)
        return r;
    struct share_file *f = NULL;
    struct file_attr attr;
    struct error e = {0};
    r = open_path(s, path, first_read_size(s, want_data, size_known, size), &f, &attr, &e);
    pthread_mutex_lock(&s->lock);
    bool replaced =
        r == 0 ? !cache_file_same(n, &attr) : r == -EISDIR && e.status && !cache_file_is_dir(n);
    if (replaced)
        r = error_set(&e, -ESTALE, 0, "the file has been replaced on the server");
    if (replaced || (r < 0 && share_says_missing(&e)))
        *ret_again = share_forget_path(s, n, path);
    uint64_t until = r == 0 ? cache_commit_attr(s->cache, n, &attr, ticket, clock_now()) : 0;
    if (r == 0 && ret_entry)
        entry_of(n, &attr, until, ret_entry);
    pthread_mutex_unlock(&s->lock);
    free(path);
    if (r == 0) {
        *ret = f;
    } else {
        share_close(s, f);
        if (err)
            *err = e;
    }
    return r;
}

int share_open(struct share *s, struct share_node *n, unsigned how, struct share_file **ret,
               struct share_entry *ret_entry, struct error *err)
{
    bool again = true;
    int r = 0;
    while (again)
        r = open_by_name(s, n, how & SHARE_WANT_DATA, ret, ret_entry, &again, err);
    return r;
}

/* An open by path, between its two halves under the lock. */
struct opening {
    struct cache_file *dir; /* a reference */
    char *clean;            /* `name` points into it */
    const char *name;
    size_t len;
    char *wire_path;
    struct cache_ticket ticket;
};

/* With the lock. -ENOENT and the like where a belief forbids the open. */
static int plan_opening(struct share *s, struct opening *o, const char *path, struct error *err)
{
    int r =
        cache_walk(s->cache, o->clean, strlen(o->clean), clock_now(), &o->dir, &o->name, &o->len);
    if (r == 0 && o->len == 0)
        r = -EISDIR;
    if (r == 0) {
        struct cache_plan plan;
        cache_plan_lookup(s->cache, o->dir, o->name, o->len, CACHE_OPEN_IT, clock_now(), &plan);
        r = plan.step == CACHE_ANSWER ? plan.result : 0;
    }
    if (r < 0)
        return error_set(err, r, 0, "%s: %s", path, strerror(-r));
    o->ticket = cache_ask(s->cache, clock_now());
    return share_wire_path(s, o->dir, o->name, o->len, &o->wire_path, err);
}

/* With the lock. */
static int commit_opening(struct share *s, struct opening *o, const struct file_attr *attr,
                          struct share_entry *ret_entry, struct error *err)
{
    struct cache_file *file;
    uint64_t until;
    int r = cache_commit_found(s->cache, o->dir, o->name, o->len, attr, o->ticket, clock_now(),
                               &file, &until);
    if (r < 0)
        return error_set(err, r, 0, "out of memory");
    if (ret_entry) {
        entry_of(file, attr, until, ret_entry);
        ret_entry->node = cache_file_ref(file);
    }
    cache_file_unref(s->cache, file);
    return 0;
}

int share_open_path(struct share *s, const char *path, struct share_file **ret,
                    struct share_entry *ret_entry, struct error *err)
{
    struct opening o = {0};
    int r = share_clean_path(path, &o.clean, err);
    if (r < 0)
        return r;
    pthread_mutex_lock(&s->lock);
    r = plan_opening(s, &o, path, err);
    pthread_mutex_unlock(&s->lock);
    if (r == 0) {
        struct share_file *f = NULL;
        struct file_attr attr;
        struct error e = {0};
        r = open_path(s, o.wire_path, first_read_size(s, true, false, 0), &f, &attr, &e);
        if (r < 0 && err)
            *err = e;
        pthread_mutex_lock(&s->lock);
        if (r == 0)
            r = commit_opening(s, &o, &attr, ret_entry, err);
        else if (share_says_missing(&e))
            cache_commit_missing(s->cache, o.dir, o.name, o.len, o.ticket, clock_now());
        pthread_mutex_unlock(&s->lock);
        if (r == 0)
            *ret = f;
        else
            share_close(s, f);
    }
    if (o.dir)
        share_node_unref(s, o.dir);
    free(o.wire_path);
    free(o.clean);
    return r;
}

/* Serves from what came with the open. -1: it cannot. */
static int64_t read_first(struct share_file *f, void *buf, size_t len, uint64_t offset)
{
    int64_t r = -1;
    pthread_mutex_lock(&f->lock);
    if (f->first && clock_now() < f->first_until &&
        (offset + len <= f->first_len || f->first_is_all) && offset <= UINT64_MAX - len) {
        size_t at = offset < f->first_len ? (size_t)offset : f->first_len;
        size_t n = f->first_len - at < len ? f->first_len - at : len;
        memcpy(buf, f->first + at, n);
        r = (int64_t)n;
        if (at <= f->first_read && at + n > f->first_read)
            f->first_read = at + n;
        if (f->first_read == f->first_len && !f->first_is_all) {
            free(f->first);
            f->first = NULL;
        }
    }
    pthread_mutex_unlock(&f->lock);
    return r;
}

int64_t share_read(struct share *s, struct share_file *f, void *buf, size_t len, uint64_t offset,
                   struct error *err)
{
    int64_t n = read_first(f, buf, len, offset);
    return n >= 0 ? n : client_read(f->open, buf, len, offset, err);
}

int share_file_getattr(struct share *s, struct share_node *n, struct share_file *f,
                       struct share_entry *ret, struct error *err)
{
    struct file_attr attr;
    pthread_mutex_lock(&s->lock);
    struct cache_ticket ticket = cache_ask(s->cache, clock_now());
    pthread_mutex_unlock(&s->lock);
    int r = client_file_stat(f->open, &attr, err);
    if (r < 0)
        return r;
    pthread_mutex_lock(&s->lock);
    uint64_t until = cache_commit_attr(s->cache, n, &attr, ticket, clock_now());
    entry_of(n, &attr, until, ret);
    pthread_mutex_unlock(&s->lock);
    return 0;
}

void share_file_changed(struct share_file *f)
{
    pthread_mutex_lock(&f->lock);
    free(f->first);
    f->first = NULL;
    pthread_mutex_unlock(&f->lock);
}

void share_close(struct share *s, struct share_file *f)
{
    if (!f)
        return;
    client_close(f->open, s->style, NULL, NULL);
    pthread_mutex_destroy(&f->lock);
    free(f->first);
    free(f);
}

int share_statfs(struct share *s, struct share_statfs *ret, struct error *err)
{
    struct client_statfs fs;
    int r = client_statfs(s->client, &fs, err);
    if (r < 0)
        return r;
    *ret = (struct share_statfs){.total_bytes = fs.total_bytes,
                                 .free_bytes = fs.free_bytes,
                                 .available_bytes = fs.available_bytes,
                                 .block_size = fs.block_size,
                                 .name_max = fs.max_component};
    return 0;
}
