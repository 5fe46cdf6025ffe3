/*
 * The watch: one thread that waits for the server to tell of changes beneath the mounted directory,
 * and passes them to the cache, and to who watches a directory that has no watch of its own
 * (ride.c).
 *
 * A server that takes the request and never answers would be believed for ever. It is found out by
 * what is verified: where a directory turns out changed and no notice at all came between two such
 * findings that are a while apart, the watch is given up, and beliefs live by time again.
 *
 * One that never told anything is given up sooner (cache_watch_is_mute).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "share/opens.h"
#include "share/promise.h"
#include "share/watched.h"

#define SILENCE (2 * NS_PER_SEC) /* after which a notice would have come, if any did */

/* What one answer of the server tells. The two halves of a rename belong together, so all of it
 * comes to the cache under one hold of the lock. */
struct told {
    struct notice {
        enum client_action action;
        char *path;
    } * notice;
    size_t count, cap;
    bool lost; /* some could not be kept: no memory */
};

static void hear(void *user, enum client_action action, const char *path)
{
    struct told *t = user;
    if (t->count == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 64;
        struct notice *wider = realloc(t->notice, cap * sizeof *wider);
        if (!wider) {
            t->lost = true;
            return;
        }
        t->notice = wider;
        t->cap = cap;
    }
    char *copy = strdup(path);
    t->lost |= !copy;
    if (copy)
        t->notice[t->count++] = (struct notice){action, copy};
}

/* cache_reach_fn: the names and the files that were modified. */
static void tell_came_or_went(void *user, const struct cache_file *dir, const char *name,
                              size_t len, const struct cache_file *f)
{
    tell_name(user, dir, name, len);
}

static void tell_modified(void *user, const struct cache_file *dir, const char *name, size_t len,
                          const struct cache_file *f)
{
    if (!f)
        return;
    promise_modified(user, f);
    tell_node(user, f);
}

/* With the lock. */
static void pass_on(struct share *s, const struct notice *n)
{
    enum cache_notice action = (enum cache_notice)n->action;
    size_t len = strlen(n->path);
    if (!cache_noticed(s->cache, action, n->path, len, clock_now()))
        return;
    if (len == 0)
        tell_node(s, cache_root(s->cache));
    else if (action == CACHE_MODIFIED)
        cache_reach(s->cache, n->path, len, tell_modified, s);
    else
        cache_reach(s->cache, n->path, len, tell_came_or_went, s);
}

/* Of a renaming, NULL of anything else: the halves come one right after the other. */
static const struct notice *other_half(const struct told *t, size_t i)
{
    bool is_half = t->notice[i].action == CLIENT_RENAMED_FROM && i + 1 < t->count &&
                   t->notice[i + 1].action == CLIENT_RENAMED_TO;
    return is_half ? &t->notice[i + 1] : NULL;
}

/* With the lock. */
static void believe(struct share *s, struct told *t, bool overflow)
{
    s->notices += t->count + overflow;
    for (size_t i = 0; i < t->count; i++) {
        const struct notice *n = &t->notice[i], *other = other_half(t, i);
        struct ride ride;
        ride_begin(&ride, s, n->action, n->path, other ? other->path : NULL);
        pass_on(s, n);
        if (other)
            pass_on(s, other);
        ride_end(&ride);
        i += other != NULL;
    }
    for (size_t i = 0; i < t->count; i++)
        free(t->notice[i].path);
    if (overflow || t->lost) {
        cache_notices_lost(s->cache);
        tell_all(s);
        riders_missed(s);
    }
    t->count = 0;
    t->lost = false;
}

/* With the lock. Who keeps answers of ours has no timer that gets shorter: to him they are void. */
static void ended(struct share *s)
{
    if (!s->watched)
        return;
    s->watched = false;
    cache_unwatched(s->cache);
    tell_all(s);
    riders_stranded(s);
}

/* As long as the session stands. */
static void watch_session(struct share *s)
{
    struct client_watch *w = NULL;
    struct told told = {0};
    const char *top = s->options.path ? s->options.path : "";
    bool overflow, stop;

    int r = client_watch_new(s->client, top, true, &w, NULL);
    pthread_mutex_lock(&s->lock);
    s->watch = w;
    stop = s->watch_stop;
    s->watched = r == 0 && !stop;
    if (s->watched)
        cache_watched(s->cache);
    pthread_mutex_unlock(&s->lock);

    while (r == 0 && !stop) {
        r = client_watch_next(w, hear, &told, &overflow, NULL);
        pthread_mutex_lock(&s->lock);
        stop = s->watch_stop;
        believe(s, &told, r == 0 && overflow);
        pthread_mutex_unlock(&s->lock);
    }
    pthread_mutex_lock(&s->lock);
    ended(s);
    s->watch = NULL;
    pthread_mutex_unlock(&s->lock);
    free(told.notice);
    client_watch_free(w);
}

/* How often the session was another one, or renewed. */
struct age {
    unsigned losses, renewals;
    bool stands; /* there is one */
};

static struct age age_now(struct share *s)
{
    struct age a;
    a.losses = client_losses(s->client, &a.stands);
    a.renewals = client_renewals(s->client);
    return a;
}

/* A watch that ended: in another session another one begins; who asks for it waits for that. In one
 * that has expired, and that nobody has a ticket to renew, it begins when that is done. One that
 * ends by itself is not wanted there, or silent. */
static bool begins_again(struct share *s, const struct age *then)
{
    bool again = false, expired;
    pthread_mutex_lock(&s->lock);
    do {
        expired = client_expired(s->client); /* asked for first: else a renewal between is missed */
        struct age now = age_now(s);
        again = !now.stands || now.losses != then->losses || now.renewals != then->renewals;
        s->watch_waits = expired && !again && !s->watch_stop;
        if (s->watch_waits)
            pthread_cond_wait(&s->watch_wake, &s->lock);
    } while (s->watch_waits);
    again = again && !s->watch_stop;
    pthread_mutex_unlock(&s->lock);
    return again;
}

static void *run(void *user)
{
    struct share *s = user;
    struct age age;
    do {
        age = age_now(s);
        watch_session(s);
    } while (begins_again(s, &age));
    return NULL;
}

/* With the lock. */
static void stop(struct share *s)
{
    s->watch_stop = true;
    pthread_cond_broadcast(&s->watch_wake);
    if (s->watch)
        client_watch_stop(s->watch);
}

void watch_start(struct share *s)
{
    const struct settings *o = &s->options.settings;
    bool enabled[OBSERVE_CACHES];
    settings_enabled(o, enabled);
    bool any = enabled[OBSERVE_DIR] || enabled[OBSERVE_INFO] || enabled[OBSERVE_NOTFOUND];
    s->watch_started = o->watches && o->cache_max_age && any &&
                       pthread_create(&s->watch_thread, NULL, run, s) == 0;
}

void watch_done(struct share *s)
{
    if (!s->watch_started)
        return;
    pthread_mutex_lock(&s->lock);
    stop(s);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->watch_thread, NULL);
    s->watch_started = false;
}

/* With the lock. */
static void give_up(struct share *s)
{
    s->watch_silent = true;
    ended(s);
    stop(s);
}

void watch_must_tell(struct share *s)
{
    if (s->watched && cache_watch_is_mute(s->cache, clock_now()))
        give_up(s);
}

/* Something has changed without a word. With the lock. */
static void missed(struct share *s)
{
    uint64_t now = clock_now();
    if (!s->watched)
        return;
    if (s->doubt_since && s->notices == s->doubt_notices && now - s->doubt_since >= SILENCE) {
        give_up(s);
    } else if (!s->doubt_since || s->notices != s->doubt_notices) {
        s->doubt_since = now;
        s->doubt_notices = s->notices;
    }
}

bool watch_compare(struct share *s, struct cache_file *dir, const struct file_attr *attr,
                   struct cache_ticket ticket)
{
    bool same = cache_verified(s->cache, dir, attr, ticket, clock_now());
    s->verified[same]++;
    if (!same)
        tell_names(s, dir);
    if (!same && attr)
        missed(s);
    return same;
}

bool watch_verify(struct share *s, struct cache_file *dir)
{
    char *path;
    struct file_attr attr;
    look_begin(s);
    if (share_wire_path(s, dir, NULL, 0, &path, NULL) < 0) {
        look_end(s);
        return watch_compare(s, dir, NULL, cache_ask(s->cache, clock_now()));
    }
    struct cache_ticket ticket = cache_ask(s->cache, clock_now());
    pthread_mutex_unlock(&s->lock);
    int r = share_ask_stat(s, path, &attr, NULL, NULL);
    free(path);
    pthread_mutex_lock(&s->lock);
    look_end(s);
    return watch_compare(s, dir, r == 0 ? &attr : NULL, ticket);
}
