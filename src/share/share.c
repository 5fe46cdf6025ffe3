/*
 * The life of a share: connect, hold, log off. A share is one connection with one session and one
 * tree, made again by client/ where it is lost, one cache of beliefs about it, and the counters of
 * both; nothing is shared between two of them, so that two users never share belief.
 */
#include "share/share.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "share/delay.h"

#define GOODBYE                                                                                    \
    (5 * NS_PER_SEC) /* as long may somebody wait for a server that is away, in the end */

static void session_lost(void *user, const struct error *why)
{
    struct share *s = user;
    pthread_mutex_lock(&s->lock);
    if (s->lost.code == 0)
        s->lost = *why;
    s->outages.lost++;
    s->outages.why = *why;
    if (s->outage)
        s->outage(s->outage_user);
    cache_promises_lost(s->cache);
    promises_lost(s);
    tell_all(s);
    pthread_cond_broadcast(&s->watch_wake);
    pthread_mutex_unlock(&s->lock);
}

static void session_back(void *user)
{
    struct share *s = user;
    pthread_mutex_lock(&s->lock);
    s->lost = (struct error){0};
    s->outages.back++;
    if (s->outage)
        s->outage(s->outage_user);
    pthread_cond_broadcast(&s->watch_wake);
    pthread_mutex_unlock(&s->lock);
}

static void session_renewed(void *user)
{
    struct share *s = user;
    pthread_mutex_lock(&s->lock);
    pthread_cond_broadcast(&s->watch_wake);
    pthread_mutex_unlock(&s->lock);
}

static int connect_client(struct share *s, struct error *err)
{
    struct client_options options;
    share_options_client(&s->options, &options);
    options.keylog = s->keylog;
    options.observe = s->observe;
    options.events = (struct conn_events){.session_lost = session_lost,
                                          .session_back = session_back,
                                          .session_renewed = session_renewed,
                                          .lease_broken = promise_broken,
                                          .user = s};
    return client_connect(&options, &s->client, err);
}

static struct share *free_parts(struct share *s)
{
    hash_done(&s->opened);
    lock_desk_done(&s->desk);
    share_links_done(s);
    s->cache = cache_free(s->cache);
    s->keylog = client_keylog_close(s->keylog);
    s->observe = observe_free(s->observe);
    share_options_done(&s->options);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->watch_wake);
    looks_done(s);
    free(s);
    return NULL;
}

int share_connect(const struct share_options *options, struct share **ret, struct error *err)
{
    int r = share_options_check(options, err);
    if (r < 0)
        return r;
    struct share *s = calloc(1, sizeof *s);
    if (!s)
        return error_set(err, -ENOMEM, 0, "out of memory");
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->watch_wake, NULL);
    looks_init(s);
    list_init(&s->flights);
    list_init(&s->closings);
    watch_dirs_init(s);
    hash_init(&s->opened);
    lock_desk_init(&s->desk);
    hash_init(&s->links);
    promises_init(s);
    delays_init(s);
    r = share_options_copy(options, &s->options);
    if (r < 0) {
        error_set(err, r, 0, "out of memory");
        goto fail;
    }
    const struct settings *settings = &s->options.settings;
    s->style = settings->compound ? CLIENT_COMPOUND : CLIENT_SINGLE;
    r = observe_new(&(struct observe_options){.performance_events = settings->performance_events,
                                              .events_path = s->options.events_path,
                                              .event_line = s->options.event_line,
                                              .user = s->options.event_user},
                    &s->observe, err);
    if (r < 0)
        goto fail;
    s->cache = cache_new(settings, s->observe);
    if (!s->cache) {
        r = error_set(err, -ENOMEM, 0, "out of memory");
        goto fail;
    }
    if (s->options.keylog_path)
        r = client_keylog_open(s->options.keylog_path, &s->keylog, err);
    if (r < 0)
        goto fail;
    r = connect_client(s, err);
    if (r < 0)
        goto fail;
    if (s->options.password)
        explicit_bzero(s->options.password, strlen(s->options.password));
    promises_start(s);
    watch_start(s);
    *ret = s;
    return 0;
fail:
    promises_done(s);
    delays_done(s);
    free_parts(s);
    return r;
}

struct share *share_free(struct share *s, json_t **ret_final)
{
    if (!s)
        return NULL;
    client_hurry(s->client, 0); /* nothing is open, so nothing is worth waiting for */
    /* The counts are read after the LOGOFF, so that they agree with a capture of the whole
     * connection; what belongs to the connection is read before. */
    watch_done(s);
    watch_dirs_done(s);
    delays_done(s);
    closings_done(s);
    promises_done(s);
    json_t *final = ret_final ? share_stats(s) : NULL;
    s->client = client_free(s->client);
    if (ret_final) {
        json_t *counts = observe_json(s->observe);
        json_object_update(final, counts);
        json_decref(counts);
        *ret_final = final;
    }
    return free_parts(s);
}

bool share_lost(struct share *s, struct error *ret_why)
{
    pthread_mutex_lock(&s->lock);
    bool lost = s->lost.code != 0;
    if (lost && ret_why)
        *ret_why = s->lost;
    pthread_mutex_unlock(&s->lock);
    return lost;
}

void share_outages(struct share *s, struct share_outages *ret)
{
    pthread_mutex_lock(&s->lock);
    *ret = s->outages;
    pthread_mutex_unlock(&s->lock);
}

void share_tell_outages(struct share *s, void (*changed)(void *user), void *user)
{
    pthread_mutex_lock(&s->lock);
    s->outage = changed;
    s->outage_user = user;
    pthread_mutex_unlock(&s->lock);
}

void share_hurry(struct share *s)
{
    client_hurry(s->client, GOODBYE);
}

const struct share_options *share_get_options(const struct share *s)
{
    return &s->options;
}

/* ---- nodes ---- */

struct share_node *share_root(struct share *s)
{
    return cache_root(s->cache);
}

void share_node_ref(struct share *s, struct share_node *n)
{
    pthread_mutex_lock(&s->lock);
    cache_file_ref(n);
    pthread_mutex_unlock(&s->lock);
}

void share_node_unref(struct share *s, struct share_node *n)
{
    pthread_mutex_lock(&s->lock);
    cache_file_unref(s->cache, n);
    pthread_mutex_unlock(&s->lock);
}

uint64_t share_node_serial(const struct share_node *n)
{
    return cache_file_serial(n);
}

/* ---- helpers of the room ---- */

uint64_t share_remaining(uint64_t until, uint64_t now)
{
    return until > now ? until - now : 0;
}

int share_wire_path(struct share *s, const struct cache_file *f, const char *name, size_t len,
                    char **ret, struct error *err)
{
    size_t prefix = s->options.path ? strlen(s->options.path) : 0;
    char *path = malloc(prefix + 1 + SHARE_PATH_MAX + 1);
    if (!path)
        return error_set(err, -ENOMEM, 0, "out of memory");
    if (prefix)
        memcpy(path, s->options.path, prefix);
    size_t at = prefix ? prefix + 1 : 0;
    int n = len ? cache_child_path(f, name, len, path + at, SHARE_PATH_MAX)
                : cache_file_path(f, path + at, SHARE_PATH_MAX);
    if (n < 0) {
        free(path);
        return n == -ESTALE
                   ? error_set(err, n, 0, "the file has been removed or replaced on the server")
                   : error_set(err, n, 0, "the path is too long");
    }
    if (prefix && n > 0)
        path[prefix] = '/';
    at = n > 0 ? at + (size_t)n : prefix;
    path[at] = 0;
    char *fit = realloc(path, at + 1);
    *ret = fit ? fit : path;
    return 0;
}

uint64_t share_own_attr(struct share *s, struct cache_file *f, struct file_attr *inout,
                        struct cache_ticket ticket)
{
    own_modifies(s, f);
    const struct file_attr *heard = cache_file_heard(f);
    if (heard && inout->id == 0)
        inout->id = heard->id;
    if (heard && !inout->links && !inout->unlinked) {
        inout->links = heard->links;
        inout->unlinked = heard->unlinked;
    }
    if (heard && inout->reparse_tag == 0 && inout->attributes & FILE_ATTRIBUTE_REPARSE_POINT)
        inout->reparse_tag = heard->reparse_tag;
    return cache_own_attr(s->cache, f, inout, ticket, clock_now());
}

void share_entry_of(const struct cache_file *f, const struct file_attr *attr, uint64_t until,
                    struct share_entry *ret)
{
    *ret = (struct share_entry){.attr = *attr,
                                .ino = cache_file_ino(f),
                                .valid_ns = share_remaining(until, clock_now()),
                                .exact = true};
    const struct file_attr *heard = cache_file_heard(f);
    if (heard && !attr->links && !attr->unlinked) { /* listings do not tell */
        ret->attr.links = heard->links;
        ret->attr.unlinked = heard->unlinked;
    }
}

bool share_is_hidden(const char *name, size_t len)
{
    size_t prefix = sizeof SHARE_HIDDEN_PREFIX - 1;
    return len > prefix && memcmp(name, SHARE_HIDDEN_PREFIX, prefix) == 0;
}

int share_named_path(struct share *s, struct cache_file *dir, const char *name, char **ret,
                     struct error *err)
{
    size_t len = strlen(name);
    if (share_is_hidden(name, len))
        return error_set(err, -EPERM, 0, "%s: names that begin with %s are not shown", name,
                         SHARE_HIDDEN_PREFIX);
    return share_wire_path(s, dir, name, len, ret, err);
}

bool share_forget_path(struct share *s, struct cache_file *f, const char *path)
{
    char *leads_there = NULL;
    bool another = share_wire_path(s, f, NULL, 0, &leads_there, NULL) == 0;
    if (another && strcmp(leads_there, path) == 0)
        another = cache_name_failed(s->cache, f, MISS_CHANGED);
    free(leads_there);
    return another;
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
