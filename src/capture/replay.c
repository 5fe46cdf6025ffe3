/*
 * Seats: a client's session at a share, with one cache for each behaviour. Operations wait in the
 * window with their seat, so that one is dropped only when none of its operations waits. Shares are
 * numbered by server and name over all clients; where the name was not seen (the capture began
 * later) a share is its own session's tree.
 *
 * Whoever looks up a name goes on to ask for its attributes, unless it was a directory on the way
 * to something inside it: the next operation of the seat tells which. The capture's client had
 * these attributes at hand and sent nothing; the caches must be asked all the same, since what is
 * used is what stays in them.
 */
#include "capture/replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/list.h"
#include "capture/window.h"

/*
 * The clock of one cache: the capture's, less the waits that its client would not have had, since
 * its application would have gone on sooner. No step is shorter than nothing, so waits that
 * overlapped are not taken off twice.
 */
struct clock {
    uint64_t now;   /* what it shows ... */
    uint64_t at;    /* ... at this time of the capture */
    uint64_t saved; /* waits still to be taken off */
    uint64_t blind_since;
};

struct known_share {
    struct hash_node by_name;
    uint64_t number;
    struct list seats;
    char name[];
};

struct seat {
    struct hash_node by_name;
    struct list used; /* in replay->used */
    struct list at_share;
    struct known_share *share;
    size_t waiting;           /* operations in the window */
    bool left;                /* its session was logged off; what comes by its name is another's */
    bool pipes;               /* whose names are no files */
    struct subject looked_up; /* by the last operation; not known: it did not */
    struct cache **caches;    /* one for each account, and its clock */
    struct clock *clocks;
    char name[];
};

struct replay {
    struct window *window;
    struct world *world;
    struct account *accounts[REPLAY_ACCOUNTS_MAX];
    size_t account_count;
    struct hash seats, shares;
    struct list used; /* least recently used first */
    struct replay_seen seen;
    uint64_t share_numbers;
};

/* ---- shares and seats ---- */

static uint64_t key(const char *name)
{
    return hash_bytes(name, strlen(name), hash_seed());
}

static struct known_share *share_of(struct replay *r, const struct smb_share *s)
{
    char name[1024];
    if (s->name[0])
        snprintf(name, sizeof(name), "%s %s", s->server, s->name);
    else
        snprintf(name, sizeof(name), "%s %s %" PRIx64 " %x", s->server, s->client, s->session_id,
                 s->tree_id);
    for (struct hash_node *n = hash_first(&r->shares, key(name)); n; n = hash_next(n)) {
        struct known_share *found = container_of(n, struct known_share, by_name);
        if (strcmp(found->name, name) == 0)
            return found;
    }
    struct known_share *k = calloc(1, sizeof(*k) + strlen(name) + 1);
    if (!k)
        return NULL;
    strcpy(k->name, name);
    list_init(&k->seats);
    k->number = ++r->share_numbers;
    if (hash_add(&r->shares, &k->by_name, key(name)) < 0) {
        free(k);
        return NULL;
    }
    return k;
}

/* Nobody is there any more. */
static void share_settle(struct replay *r, struct known_share *k)
{
    if (!list_empty(&k->seats))
        return;
    hash_del(&r->shares, &k->by_name);
    free(k);
}

static void seat_free(struct replay *r, struct seat *seat)
{
    hash_del(&r->seats, &seat->by_name);
    list_del(&seat->used);
    list_del(&seat->at_share);
    share_settle(r, seat->share);
    for (size_t i = 0; seat->caches && i < r->account_count; i++)
        cache_free(seat->caches[i]);
    free(seat->caches);
    free(seat->clocks);
    subject_done(&seat->looked_up);
    free(seat);
}

static bool make_caches(struct replay *r, struct seat *seat)
{
    seat->caches = calloc(r->account_count + 1, sizeof(*seat->caches));
    seat->clocks = calloc(r->account_count + 1, sizeof(*seat->clocks));
    if (!seat->caches || !seat->clocks)
        return false;
    for (size_t i = 0; i < r->account_count; i++) {
        seat->caches[i] = cache_new(&r->accounts[i]->settings, r->accounts[i]->observe);
        if (!seat->caches[i])
            return false;
    }
    return true;
}

/* Room for one more: the seat that was used longest ago goes, unless operations wait for it. */
static void make_room(struct replay *r)
{
    struct list *item, *after;
    list_for_each_safe(item, after, &r->used)
    {
        if (r->seats.count < REPLAY_SEATS_MAX)
            return;
        struct seat *seat = container_of(item, struct seat, used);
        if (seat->waiting)
            continue;
        seat_free(r, seat);
        r->seen.seats_dropped++;
    }
}

static struct seat *seat_new(struct replay *r, const struct smb_share *s, const char *name)
{
    struct seat *seat = calloc(1, sizeof(*seat) + strlen(name) + 1);
    if (!seat)
        return NULL;
    strcpy(seat->name, name);
    seat->pipes = share_is_pipes(s);
    seat->share = share_of(r, s);
    if (!seat->share)
        goto no_share;
    if (hash_add(&r->seats, &seat->by_name, key(name)) < 0)
        goto no_place;
    list_add_tail(&r->used, &seat->used);
    list_add_tail(&seat->share->seats, &seat->at_share);
    r->seen.seats++;
    if (make_caches(r, seat))
        return seat;
    seat_free(r, seat);
    return NULL;
no_place:
    share_settle(r, seat->share);
no_share:
    free(seat);
    return NULL;
}

#define SEAT_NAME 1024
static void seat_name(const struct smb_share *s, char out[static SEAT_NAME])
{
    snprintf(out, SEAT_NAME, "%s %s %" PRIx64 " %s", s->client, s->server, s->session_id, s->name);
}

static struct seat *seat_find(const struct replay *r, const char *name)
{
    for (struct hash_node *n = hash_first(&r->seats, key(name)); n; n = hash_next(n)) {
        struct seat *found = container_of(n, struct seat, by_name);
        if (!found->left && strcmp(found->name, name) == 0)
            return found;
    }
    return NULL;
}

static struct seat *seat_of(struct replay *r, const struct smb_share *s)
{
    char name[SEAT_NAME];
    seat_name(s, name);
    struct seat *found = seat_find(r, name);
    if (found) {
        list_del(&found->used);
        list_add_tail(&r->used, &found->used);
        return found;
    }
    if (r->seats.count >= REPLAY_SEATS_MAX)
        make_room(r);
    if (r->seats.count >= REPLAY_SEATS_MAX) { /* operations of all of them wait */
        window_flush(r->window);
        make_room(r);
    }
    return seat_new(r, s, name);
}

/* ---- clocks ---- */

static uint64_t show(struct clock *c, uint64_t time)
{
    uint64_t step = time > c->at && c->at ? time - c->at : 0;
    uint64_t less = c->saved < step ? c->saved : step;
    c->now = c->at ? c->now + step - less : time;
    c->at = time;
    c->saved -= less;
    return c->now;
}

/* A wait at the mean of those seen so far. */
static uint64_t mean_wait(const struct replay *r, uint64_t round_trips)
{
    const struct effort *m = r->seen.metadata.round_trips ? &r->seen.metadata : &r->seen.all;
    return m->round_trips
               ? (uint64_t)((double)m->waited_ns / (double)m->round_trips * (double)round_trips)
               : 0;
}

static uint64_t waited(const struct replay *r, const struct account *a)
{
    return a->kept.waited_ns + mean_wait(r, a->charged.round_trips);
}

/* ---- operations ---- */

static void add_seen(struct effort *to, const struct operation *o)
{
    for (unsigned i = 0; i < SMB2_COMMANDS; i++)
        to->requests[i] += o->requests[i];
    to->messages += o->messages;
    to->round_trips += o->round_trips;
    to->waited_ns += o->waited_ns;
}

static struct subject subject_at(const struct seat *seat, const struct operation *o, bool moved)
{
    struct subject s;
    if (seat->pipes || (moved ? subject_init_moved(&s, o) : subject_init(&s, o)) < 0)
        s = (struct subject){0};
    return s;
}

static void changed_at(struct replay *r, const struct seat *by, const struct scene *s, bool blind,
                       uint64_t time)
{
    struct list *item;
    world_forget(r->world, by->share->number, s->subject);
    list_for_each(item, &by->share->seats)
    {
        struct seat *seat = container_of(item, struct seat, at_share);
        for (size_t i = 0; i < r->account_count; i++) {
            struct clock *c = &seat->clocks[i];
            uint64_t now = show(c, time);
            engine_changed(seat->caches[i], s, now);
            if (blind)
                c->blind_since = now;
        }
    }
}

/* An operation has changed its subject, and perhaps what that was renamed to. */
static void changed(struct replay *r, const struct seat *by, const struct scene *s, uint64_t time)
{
    struct subject moved = subject_at(by, s->op, true);
    bool blind =
        !s->subject->known || s->op->changes_elsewhere || (s->op->moved_to && !moved.known);
    changed_at(r, by, s, blind, time);
    if (moved.known)
        changed_at(r, by, &(struct scene){.op = s->op, .subject = &moved}, false, time);
    subject_done(&moved);
}

static bool is_inside(const struct subject *s, const struct subject *dir)
{
    return s->known && s->len > dir->len && s->path[dir->len] == '/' &&
           memcmp(s->path, dir->path, dir->len) == 0;
}

/* What the last look-up was for, now that it is seen what came next. */
static void settle_look_up(struct replay *r, struct seat *seat, const struct subject *next)
{
    struct subject *s = &seat->looked_up;
    for (size_t i = 0; s->known && !is_inside(next, s) && i < r->account_count; i++)
        engine_use(seat->caches[i], s->path, s->len, seat->clocks[i].now);
    subject_done(s);
}

static bool is_look_up(const struct operation *o, const struct subject *s)
{
    return s->known && s->there && s->name_len && !o->changes &&
           (o->kind == OPERATION_SEARCH || o->kind == OPERATION_STAT || o->kind == OPERATION_DATA);
}

/* One cache's part in an operation, and what its client would have waited less. */
static void play(struct replay *r, struct seat *seat, size_t i, const struct scene *s,
                 uint64_t time)
{
    struct account *a = r->accounts[i];
    struct clock *c = &seat->clocks[i];
    uint64_t now = show(c, time), late = time - s->op->begin_ns, before = waited(r, a);
    struct moment m = {
        .now = now, .sent = late < now ? now - late : 0, .blind_since = c->blind_since};
    engine_play(seat->caches[i], a, s, &m);
    uint64_t cost = waited(r, a) - before;
    c->saved = s->op->waited_ns > cost ? s->op->waited_ns - cost : 0;
}

static void begins(void *user, void *tag, const struct operation *o, uint64_t time)
{
    struct replay *r = user;
    struct seat *seat = tag;
    struct subject subject = subject_at(seat, o, false);
    struct scene s = {
        .op = o, .subject = &subject, .world = r->world, .share = seat->share->number};
    settle_look_up(r, seat, &subject);
    s.appeared = world_learn(r->world, s.share, o, &subject);
    if (o->changes)
        changed(r, seat, &s, time);
    for (size_t i = 0; i < r->account_count; i++)
        play(r, seat, i, &s, time);
    if (is_look_up(o, &subject))
        seat->looked_up = subject;
    else
        subject_done(&subject);
}

static void ends(void *user, void *tag, const struct operation *o, uint64_t time)
{
    struct seat *seat = tag;
    struct subject subject = subject_at(seat, o, false);
    changed(user, seat, &(struct scene){.op = o, .subject = &subject}, time);
    subject_done(&subject);
}

static void gone(void *user, void *tag)
{
    struct seat *seat = tag;
    if (--seat->waiting == 0 && seat->left)
        seat_free(user, seat);
}

int replay_operation(struct replay *r, const struct operation *o)
{
    if (!o->share)
        return 0; /* nothing that a share's caches could know of */
    struct seat *seat = seat_of(r, o->share);
    int code = seat ? 0 : -ENOMEM;
    if (code == 0) {
        seat->waiting++;
        code = window_add(r->window, o, seat);
        if (code < 0)
            seat->waiting--;
    }
    if (code < 0)
        return code;
    r->seen.operations[o->kind]++;
    add_seen(&r->seen.all, o);
    bool metadata = o->kind == OPERATION_LIST || o->kind == OPERATION_SEARCH ||
                    o->kind == OPERATION_STAT || o->kind == OPERATION_MISS;
    if (metadata && !o->served && !o->changes)
        add_seen(&r->seen.metadata, o);
    return 0;
}

void replay_share_left(struct replay *r, const struct smb_share *share)
{
    char name[SEAT_NAME];
    seat_name(share, name);
    struct seat *seat = seat_find(r, name);
    if (seat && seat->waiting)
        seat->left = true;
    else if (seat)
        seat_free(r, seat);
}

void replay_finish(struct replay *r)
{
    window_flush(r->window);
}

/* ---- behaviours ---- */

int replay_add(struct replay *r, const struct settings *settings, const struct account **ret)
{
    if (r->account_count == REPLAY_ACCOUNTS_MAX)
        return -E2BIG;
    struct account *a = calloc(1, sizeof(*a));
    if (!a)
        return -ENOMEM;
    a->settings = *settings;
    int code = observe_new(&(struct observe_options){0}, &a->observe, NULL);
    if (code < 0) {
        free(a);
        return code;
    }
    r->accounts[r->account_count++] = a;
    *ret = a;
    return 0;
}

const struct replay_seen *replay_seen(const struct replay *r)
{
    return &r->seen;
}

void replay_predicted(const struct replay *r, const struct account *a, struct effort *ret)
{
    *ret = a->kept;
    effort_add(ret, &a->charged);
    ret->waited_ns = waited(r, a);
}

struct replay *replay_new(void)
{
    struct replay *r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;
    list_init(&r->used);
    r->world = world_new();
    r->window = window_new(
        &(struct window_events){.begins = begins, .ends = ends, .gone = gone, .user = r});
    return r->world && r->window ? r : replay_free(r);
}

struct replay *replay_free(struct replay *r)
{
    if (!r)
        return NULL;
    window_free(r->window);
    while (!list_empty(&r->used))
        seat_free(r, container_of(r->used.next, struct seat, used));
    hash_done(&r->seats);
    hash_done(&r->shares);
    for (size_t i = 0; i < r->account_count; i++) {
        observe_free(r->accounts[i]->observe);
        free(r->accounts[i]);
    }
    world_free(r->world);
    free(r);
    return NULL;
}
