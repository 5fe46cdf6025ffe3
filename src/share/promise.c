/*
 * Asking for leases, and the handles that are kept under them (promise.h).
 *
 * A promise is found by its file. One whose file is not known before its CREATE is answered (a name
 * is opened that may be anything) gets its file then; where that has one already, or the open met
 * another file than was asked for, it is a stray: it counts for nothing, is found by nobody, and
 * goes with its opens. What it covers is the cache's business from cache_promised until
 * cache_broken, or until its last open is closed (cache_unpromised, before the CLOSE leaves).
 *
 * A server that has no leases of directories may be one (Samba before 4.22) that breaks no lease
 * when another client removes or renames the file: a handle that we keep would let that client's
 * file linger, and its name be refused to him. There, WRITE is asked for by readers, too, since any
 * open of another client's breaks that, and waits for the acknowledgement; a handle is kept only as
 * long as nobody else has the file open.
 *
 * Only handles for reading are kept, since one for writing would stand against others' opens, and
 * its CLOSE tells the file's last attributes.
 */
#include "share/promise.h"

#include <stdlib.h>

#include "base/ntstatus.h"
#include "share/kept.h"

#define IDLE_MAX 512 /* promises that nothing refers to */

/* ---- making and finding; with the lock ---- */

static struct promise *find(const struct share *s, const struct cache_file *f)
{
    struct hash_node *n = hash_first(&s->promises.by_file, hash_u64(cache_file_serial(f)));
    for (; n; n = hash_next(n)) {
        struct promise *p = container_of(n, struct promise, by_file);
        if (p->file == f)
            return p;
    }
    return NULL;
}

/* Where it is found no more or not yet, it is a stray. */
static void bind(struct share *s, struct promise *p, struct cache_file *f)
{
    p->file = cache_file_ref(f);
    p->stray = find(s, f) ||
               hash_add(&s->promises.by_file, &p->by_file, hash_u64(cache_file_serial(f))) < 0;
}

/* Who keeps answers of ours has no timer that gets shorter: to him they are void. A file's content
 * is not among them: each open holds it against what the server tells. */
static void tell_shorter(struct share *s, const struct promise *p)
{
    if (p->is_dir)
        tell_names(s, p->file);
    else
        tell_aged(s, p->file);
}

static void end_belief(struct share *s, struct promise *p, bool tells)
{
    if (!p->counted)
        return;
    p->counted = false;
    cache_unpromised(s->cache, p->file);
    if (tells)
        tell_shorter(s, p);
}

static void become_stray(struct share *s, struct promise *p)
{
    if (p->stray)
        return;
    p->stray = true;
    if (!p->file)
        return;
    hash_del(&s->promises.by_file, &p->by_file);
    end_belief(s, p, true);
    if (p->dormant)
        keeper_job(s, p);
}

static struct promise *promise_new(struct share *s, struct cache_file *f, bool is_dir)
{
    struct promise *p = calloc(1, sizeof *p);
    if (p)
        p->lease = client_lease_new(s->client, is_dir, p);
    if (!p || !p->lease) {
        free(p);
        return NULL;
    }
    p->is_dir = is_dir;
    list_init(&p->place);
    list_init(&p->job);
    if (f)
        bind(s, p, f);
    return p;
}

static struct promise *hold(struct share *s, struct promise *p)
{
    if (p->refs++ == 0 && !list_empty(&p->place)) {
        list_del(&p->place);
        s->promises.idle_count--;
    }
    return p;
}

void kept_let_go(struct share *s, struct promise *p)
{
    if (--p->refs)
        return;
    list_add_tail(&s->promises.idle, &p->place);
    if (++s->promises.idle_count > IDLE_MAX)
        keeper_wake(s);
}

void promise_put(struct share *s, struct promise *p)
{
    kept_let_go(s, p);
}

/* A reference to the file's promise, which is made where there is none. NULL: no memory. */
static struct promise *promise_of(struct share *s, struct cache_file *f, bool is_dir)
{
    struct promise *p = f ? find(s, f) : NULL;
    if (!p)
        p = promise_new(s, f, is_dir);
    return p ? hold(s, p) : NULL;
}

/* The first idle one leaves everything but its memory. */
static struct promise *take_idle(struct share *s)
{
    struct promise *p = container_of(s->promises.idle.next, struct promise, place);
    list_del(&p->place);
    s->promises.idle_count--;
    if (p->file) {
        if (!p->stray)
            hash_del(&s->promises.by_file, &p->by_file);
        cache_file_unref(s->cache, p->file);
    }
    p->file = NULL;
    if (p->parent)
        kept_let_go(s, p->parent);
    p->parent = NULL;
    return p;
}

void kept_reap(struct share *s, unsigned rest)
{
    while (s->promises.idle_count > rest) {
        struct promise *p = take_idle(s);
        pthread_mutex_unlock(&s->lock);
        client_lease_free(
            p->lease); /* waits for a break that is being told, which wants the lock */
        free(p);
        pthread_mutex_lock(&s->lock);
    }
}

/* ---- asking ---- */

static unsigned state_for(const struct share *s, unsigned how)
{
    unsigned read = CLIENT_LEASE_READ | CLIENT_LEASE_HANDLE;
    bool all = how & SHARE_WRITE || (!(how & PROMISE_LISTING) && s->promises.needs_write);
    return all ? read | CLIENT_LEASE_WRITE : read;
}

void promise_ask(struct share *s, struct cache_file *f, struct cache_file *dir, unsigned how,
                 struct promise_ask *ret)
{
    const struct promises *all = &s->promises;
    bool lists = how & PROMISE_LISTING;
    *ret = (struct promise_ask){0};
    if (s->lost.code || (!all->files && !all->dirs))
        return;
    if (!dir && f)
        dir = cache_file_parent(f);
    if (dir && all->dirs)
        ret->parent = promise_of(s, dir, true);
    if (ret->parent)
        ret->lease.parent = ret->keys.parent = ret->parent->lease;

    if (how == 0) {
        struct promise *own = f ? find(s, f) : NULL;
        if (own && own->opens && !own->refused)
            ret->promise = hold(s, own);
        if (ret->promise)
            ret->keys.own = own->lease;
    } else if (lists ? all->dirs : all->files) {
        ret->promise = promise_of(s, f, lists);
        bool asks = ret->promise && !ret->promise->refused && ret->promise->is_dir == lists;
        if (asks)
            ret->lease.lease = ret->promise->lease;
        ret->lease.state = state_for(s, how);
        s->promises.asked += asks;
    }
}

bool promise_again(struct share *s, struct promise_ask *ask, const struct error *why)
{
    if (why->status == STATUS_INVALID_PARAMETER && (ask->lease.lease || ask->keys.own)) {
        pthread_mutex_lock(&s->lock);
        ask->promise->refused = true;
        pthread_mutex_unlock(&s->lock);
        ask->lease.lease = NULL;
        ask->keys.own = NULL;
        return true;
    }
    if ((why->status != STATUS_INSUFFICIENT_RESOURCES &&
         why->status != STATUS_TOO_MANY_OPENED_FILES) ||
        ask->made_room)
        return false;
    ask->made_room = true;
    return promise_make_room(s);
}

/* ---- answers ---- */

/* The open's parent is the one whose key the server will compare when it is closed. */
static void keep_parent(struct share *s, struct promise *p, struct promise_ask *ask)
{
    if (!ask->parent)
        return;
    if (p->parent)
        kept_let_go(s, p->parent);
    p->parent = ask->parent;
    ask->parent = NULL;
}

/* The cache may believe by it from now on. */
static void begin_belief(struct share *s, struct promise *p, struct cache_ticket ticket)
{
    if (!cache_promised(s->cache, p->file, ticket) || p->counted)
        return;
    p->counted = true;
    p->counted_since = clock_now();
}

struct promise *promise_answer(struct share *s, struct promise_ask *ask, bool opened,
                               struct cache_file *f, struct cache_ticket ticket)
{
    struct promise *p = ask->promise;
    bool holds = p && opened && ask->lease.lease;
    if (holds) {
        if (!p->file && f && !p->stray)
            bind(s, p, f);
        else if (p->file != f || !f)
            become_stray(s, p);
        if (p->opens++ == 0 || p->is_dir)
            p->opened_at = ticket.sent;
        p->modified |= f && !p->is_dir && cache_changed_since(s->cache, f, ticket);
        p->state = client_lease_state(p->lease);
        s->promises.granted += ask->lease.ret_state != 0;
        if (!p->stray && !p->doubted && ask->lease.ret_state & CLIENT_LEASE_READ)
            begin_belief(s, p, ticket);
        p->doubted = false;
        keep_parent(s, p, ask);
    } else if (p) {
        kept_let_go(s, p);
    }
    if (ask->parent)
        kept_let_go(s, ask->parent);
    *ask = (struct promise_ask){0};
    return holds ? p : NULL;
}

void promise_answer_none(struct share *s, struct promise_ask *ask)
{
    promise_answer(s, ask, false, NULL, (struct cache_ticket){0});
}

/* ---- keeping ---- */

static uint64_t max_age(const struct share *s)
{
    return s->options.settings.cache_max_age * NS_PER_SEC;
}

static bool is_young(const struct share *s, const struct promise *p)
{
    return clock_now() - p->opened_at < max_age(s);
}

/* What is asked for now without a promise may live longer than what was asked for then with one. */
static bool is_nearly_over(const struct share *s, uint64_t then)
{
    uint64_t lifetime = s->options.settings.file_info_cache_lifetime * NS_PER_SEC;
    return clock_now() - then + lifetime >= max_age(s);
}

/* Who keeps answers of ours has to be told only of those that live longer than without a promise.
 */
void promise_leave(struct share *s, struct promise *p, bool tells)
{
    if (--p->opens)
        return;
    p->modified = false;
    bool over = p->file && !p->is_dir && is_nearly_over(s, cache_file_heard_at(p->file));
    end_belief(s, p, tells && !over);
}

/* Its reference goes with what is returned. */
static struct client_file *take_dormant(struct share *s, struct promise *p)
{
    struct client_file *open = p->dormant;
    p->dormant = NULL;
    list_del(&p->place);
    s->promises.dormant_count--;
    return open;
}

/* With the lock, not while it closes. */
static void close_open(struct share *s, struct promise *p, struct client_file *open)
{
    promise_leave(s, p, true);
    pthread_mutex_unlock(&s->lock);
    client_close(open, s->style, NULL, NULL);
    pthread_mutex_lock(&s->lock);
    kept_let_go(s, p);
}

void kept_close(struct share *s, struct promise *p, enum promise_reason why)
{
    bool hides = why == PROMISE_TIMES;
    s->promises.given_up[why]++;
    s->promises.leaving += hides;
    close_open(s, p, take_dormant(s, p));
    s->promises.leaving -= hides;
    if (hides)
        pthread_cond_broadcast(&s->promises.left);
}

/* What is asked next leaves after the CLOSEs that somebody else has begun. */
static void wait_until_left(struct share *s)
{
    while (s->promises.leaving)
        pthread_cond_wait(&s->promises.left, &s->lock);
}

struct promise *kept_oldest(struct share *s)
{
    const struct list *dormant = &s->promises.dormant;
    return list_empty(dormant) ? NULL : container_of(dormant->next, struct promise, place);
}

bool kept_may_stay(const struct share *s, const struct promise *p)
{
    unsigned needs = CLIENT_LEASE_HANDLE;
    if (s->promises.needs_write && !p->is_dir)
        needs |= CLIENT_LEASE_WRITE;
    return !p->stray && !p->modified && (client_lease_state(p->lease) & needs) == needs;
}

static bool may_keep(const struct share *s, const struct promise *p)
{
    const struct settings *o = &s->options.settings;
    return !s->promises.stop && !s->lost.code && o->dormant_file_limit &&
           o->dormant_directory_timeout && (p->is_dir || is_young(s, p)) && kept_may_stay(s, p);
}

/* When its dormant handle has served its time. */
static uint64_t due_at(const struct share *s, const struct promise *p)
{
    uint64_t due = p->dormant_since + s->options.settings.dormant_directory_timeout * NS_PER_SEC;
    uint64_t too_old = p->is_dir ? CLOCK_NEVER : p->opened_at + max_age(s);
    return due < too_old ? due : too_old;
}

void promise_close(struct share *s, struct promise *p, struct client_file *open)
{
    struct promises *all = &s->promises;
    if (!may_keep(s, p)) {
        close_open(s, p, open);
        return;
    }
    hold(s, p);
    if (p->dormant)
        kept_close(s, p, PROMISE_NEWER);
    while (all->dormant_count >= s->options.settings.dormant_file_limit)
        kept_close(s, kept_oldest(s), PROMISE_ROOM);
    /* the lock was let go of */
    bool keeps = !p->dormant && may_keep(s, p);
    if (keeps) {
        if (!p->is_dir && cache_told_as_of(s->cache, p->file, p->opened_at))
            tell_shorter(s, p);
        p->dormant = open;
        p->dormant_since = clock_now();
        list_add_tail(&all->dormant, &p->place);
        all->dormant_count++;
        if (due_at(s, p) < all->keeper_sleeps_until)
            keeper_wake(s);
    } else {
        close_open(s, p, open);
    }
    kept_let_go(s, p);
}

struct promise *kept_first_due(const struct share *s, uint64_t *ret_at)
{
    struct promise *first = NULL;
    struct list *at;
    *ret_at = CLOCK_NEVER;
    list_for_each(at, &s->promises.dormant)
    {
        struct promise *p = container_of(at, struct promise, place);
        if (due_at(s, p) < *ret_at) {
            first = p;
            *ret_at = due_at(s, p);
        }
    }
    return first;
}

/* Not one that is about to be closed. */
static struct promise *find_dormant(const struct share *s, const struct cache_file *f)
{
    struct promise *p = find(s, f);
    return p && p->dormant && list_empty(&p->job) && is_young(s, p) && kept_may_stay(s, p) ? p
                                                                                           : NULL;
}

bool promise_keeps(struct share *s, const struct cache_file *f)
{
    return find_dormant(s, f) != NULL;
}

uint64_t promise_held_since(const struct share *s, const struct cache_file *f)
{
    const struct promise *p = find(s, f);
    return p && p->counted ? p->counted_since : 0;
}

enum share_vouched promise_vouches(const struct share *s, const struct promise *p,
                                   const struct cache_file *f, unsigned how, uint64_t since)
{
    unsigned state = p && !p->stray ? client_lease_state(p->lease) : 0;
    bool asked_all = state_for(s, how) & CLIENT_LEASE_WRITE;
    if (since && since == promise_held_since(s, f))
        return SHARE_KEPT;
    if (!p || p->stray || !s->promises.granted)
        return SHARE_UNVOUCHED;
    if (state & CLIENT_LEASE_WRITE)
        return SHARE_ALONE;
    return asked_all || !(state & CLIENT_LEASE_READ) ? SHARE_CONTENDED : SHARE_UNVOUCHED;
}

struct client_file *promise_reopen(struct share *s, struct cache_file *f,
                                   struct promise **ret_promise)
{
    struct promise *p = find_dormant(s, f);
    if (!p)
        return NULL;
    s->promises.reopened++;
    *ret_promise = p;
    return take_dormant(s, p);
}

bool promise_relists(struct share *s, const struct cache_file *dir)
{
    const struct promise *p = find_dormant(s, dir);
    return p && client_lease_state(p->lease) & CLIENT_LEASE_READ;
}

struct client_file *promise_relist(struct share *s, struct cache_file *dir,
                                   struct promise **ret_promise)
{
    return promise_relists(s, dir) ? promise_reopen(s, dir, ret_promise) : NULL;
}

void promise_renewed(struct share *s, struct promise *p, struct cache_ticket ticket)
{
    if (!p->stray && client_lease_state(p->lease) & CLIENT_LEASE_READ)
        begin_belief(s, p, ticket);
}

bool promise_may_delay(const struct share *s, const struct cache_file *f)
{
    const struct promise *p = find(s, f);
    return p && list_empty(&p->job) && client_lease_state(p->lease) & CLIENT_LEASE_WRITE;
}

/* ---- giving up ---- */

static bool is_beneath(const struct cache_file *f, const struct cache_file *dir)
{
    for (; f; f = cache_file_parent(f))
        if (f == dir)
            return true;
    return false;
}

struct ending {
    struct promise *promise;
    struct client_file *open;
    struct client_closing *sent;
};

/* Takes out so many of the dormant ones (of those beneath `dir`, where it is not NULL), oldest
 * first. */
static unsigned take_many(struct share *s, const struct cache_file *dir, unsigned most,
                          enum promise_reason why, struct ending *ret)
{
    struct list *at, *after;
    unsigned count = 0;
    list_for_each_safe(at, after, &s->promises.dormant)
    {
        struct promise *p = container_of(at, struct promise, place);
        if (count == most || (dir && !is_beneath(p->file, dir)))
            continue;
        s->promises.given_up[why]++;
        promise_leave(s, p, true);
        ret[count++] = (struct ending){.promise = p, .open = take_dormant(s, p)};
    }
    return count;
}

/* Closes them all at once, and waits for the answers. With the lock, not while it waits. */
static unsigned close_many(struct share *s, const struct cache_file *dir, unsigned most,
                           enum promise_reason why)
{
    struct ending *ending = most ? malloc(most * sizeof *ending) : NULL;
    if (!ending)
        return 0;
    unsigned count = take_many(s, dir, most, why, ending);
    pthread_mutex_unlock(&s->lock);
    for (unsigned i = 0; i < count; i++)
        ending[i].sent = client_close_begin(ending[i].open);
    for (unsigned i = 0; i < count; i++)
        if (ending[i].sent)
            client_close_end(ending[i].sent, NULL, NULL);
    pthread_mutex_lock(&s->lock);
    for (unsigned i = 0; i < count; i++)
        kept_let_go(s, ending[i].promise);
    free(ending);
    return count;
}

bool kept_moves_alone(const struct share *s, const struct promise *p)
{
    const struct cache_file *above = p->file ? cache_file_parent(p->file) : NULL;
    const struct promise *parent = above ? find(s, above) : NULL;
    if (above == cache_root(s->cache) && !(s->options.path && *s->options.path))
        return true;
    return parent && parent->opens && client_lease_state(parent->lease) & CLIENT_LEASE_HANDLE;
}

void kept_close_dir(struct share *s, struct promise *p)
{
    struct client_file *own = p->dormant ? take_dormant(s, p) : NULL;
    if (kept_moves_alone(s, p))
        close_many(s, p->file, s->promises.dormant_count, PROMISE_BROKEN);
    if (!own)
        return;
    s->promises.given_up[PROMISE_BROKEN]++;
    close_open(s, p, own);
}

void promise_give_up(struct share *s, struct cache_file *f, bool beneath)
{
    struct promise *p = find(s, f);
    if (beneath)
        close_many(s, f, s->promises.dormant_count, PROMISE_CHANGE);
    else if (p && p->dormant)
        kept_close(s, p, PROMISE_CHANGE);
}

void promise_let_tell(struct share *s, struct cache_file *f)
{
    struct promise *p = find(s, f);
    if (p && p->dormant && !p->is_dir)
        kept_close(s, p, PROMISE_TIMES);
    wait_until_left(s);
}

void promise_modified(struct share *s, const struct cache_file *f)
{
    struct promise *p = find(s, f);
    if (!p || p->is_dir || !p->opens)
        return;
    p->modified = true;
    if (p->dormant)
        keeper_job(s, p);
}

static struct promise *first_hiding_in(struct share *s, const struct cache_file *dir)
{
    struct list *at;
    list_for_each(at, &s->promises.dormant)
    {
        struct promise *p = container_of(at, struct promise, place);
        if (!p->is_dir && cache_file_parent(p->file) == dir &&
            (p->modified || is_nearly_over(s, p->opened_at)))
            return p;
    }
    return NULL;
}

void promise_let_tell_in(struct share *s, const struct cache_file *dir)
{
    struct promise *p;
    while ((p = first_hiding_in(s, dir)))
        kept_close(s, p, PROMISE_TIMES);
    wait_until_left(s);
}

bool promise_make_room(struct share *s)
{
    pthread_mutex_lock(&s->lock);
    bool any = close_many(s, NULL, (s->promises.dormant_count + 1) / 2, PROMISE_ROOM);
    pthread_mutex_unlock(&s->lock);
    return any;
}

/* ---- breaks ---- */

static void belief_goes(struct share *s, struct promise *p)
{
    p->counted = false;
    cache_broken(s->cache, p->file);
    if (p->is_dir)
        tell_names(s, p->file);
    else
        tell_node(s, p->file);
}

void kept_broke(struct share *s, struct promise *p)
{
    if (p->file && (!p->opens || !(p->state & CLIENT_LEASE_READ)))
        belief_goes(s, p);
}

/* What the acknowledgement has to wait for. */
static bool has_to_do(const struct share *s, const struct promise *p, unsigned lost)
{
    return s->promises.started && !s->promises.stop && p->file &&
           ((p->dormant && !kept_may_stay(s, p)) ||
            (p->is_dir && lost & CLIENT_LEASE_HANDLE && s->promises.dormant_count) ||
            (lost & CLIENT_LEASE_WRITE && s->delayed.pending && s->delayed.pending(s, p->file)));
}

bool promise_broken(void *user, void *owner, unsigned state)
{
    struct share *s = user;
    struct promise *p = owner;
    pthread_mutex_lock(&s->lock);
    bool told_less = p->state & ~state; /* else something was lost on the way */
    p->state &= state;
    s->promises.broken++;
    if (!p->file)
        p->doubted = true;
    else if (!(state & CLIENT_LEASE_READ) || !told_less)
        belief_goes(s, p);
    bool later = has_to_do(s, p, ~state);
    if (later) {
        p->acknowledging++;
        keeper_job(s, p);
    }
    s->promises.acknowledged += !later;
    pthread_mutex_unlock(&s->lock);
    return !later;
}

void promises_lost(struct share *s)
{
    s->promises.lost = true;
    keeper_wake(s);
}

/* ---- the life of all ---- */

void promises_init(struct share *s)
{
    struct promises *all = &s->promises;
    hash_init(&all->by_file);
    list_init(&all->dormant);
    list_init(&all->idle);
    list_init(&all->jobs);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&all->wake, &attr);
    pthread_condattr_destroy(&attr);
    pthread_cond_init(&all->left, NULL);
}

void promises_start(struct share *s)
{
    const struct settings *o = &s->options.settings;
    bool enabled[OBSERVE_CACHES];
    settings_enabled(o, enabled);
    if (!o->leases || !o->cache_max_age || s->style != CLIENT_COMPOUND ||
        !client_leases_files(s->client) || keeper_start(s) < 0)
        return;
    pthread_mutex_lock(&s->lock);
    s->promises.files = enabled[OBSERVE_INFO];
    s->promises.needs_write = !client_leases_dirs(s->client);
    s->promises.dirs = enabled[OBSERVE_DIR] && client_leases_dirs(s->client);
    pthread_mutex_unlock(&s->lock);
}

void promises_done(struct share *s)
{
    struct promises *all = &s->promises;
    struct promise *p;
    keeper_stop(s);
    pthread_mutex_lock(&s->lock);
    while ((p = kept_oldest(s)))
        kept_close(s, p, PROMISE_AGE);
    kept_reap(s, 0);
    pthread_mutex_unlock(&s->lock);
    hash_done(&all->by_file);
    pthread_cond_destroy(&all->left);
    pthread_cond_destroy(&all->wake);
}

void promise_count(const struct share *s, struct promise_counts *ret)
{
    const struct promises *all = &s->promises;
    struct list *at;
    *ret = (struct promise_counts){.asked = all->asked,
                                   .granted = all->granted,
                                   .broken = all->broken,
                                   .acknowledged = all->acknowledged,
                                   .reopened = all->reopened};
    for (int i = 0; i < PROMISE_REASONS; i++)
        ret->given_up[i] = all->given_up[i];
    list_for_each(at, &all->dormant)
    {
        bool dir = container_of(at, struct promise, place)->is_dir;
        ret->dormant_dirs += dir;
        ret->dormant_files += !dir;
    }
}
