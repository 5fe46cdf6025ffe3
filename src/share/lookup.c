/*
 * Names and attributes. Every question goes the same way: plan under the lock; where the plan is to
 * ask, join a flight that asks already or begin one, take a ticket, ask without the lock, commit
 * under it. LIST and SEARCH that fail end in a STAT of the path, whose answer is then the answer: a
 * directory that may be entered but not read still gives its files.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/ntstatus.h"
#include "share/delay.h"

/* One look-up on its way. */
struct question {
    struct share *share;
    struct cache_file *dir;
    const char *name;
    size_t len;
    const char *shown; /* what the caller asked for, for error texts */
    struct cache_plan plan;
    bool stranger; /* it may be a name of something delayed without our knowing, */
    bool met;      /* and was */
    int code;      /* the answer, once there is one: 0 with *ret filled, or a negative errno */
    struct share_entry *ret;
    struct error *err;
};

static bool spelled_as(const char *spelling, size_t spelling_len, const struct question *q)
{
    return spelling_len == q->len && memcmp(spelling, q->name, q->len) == 0;
}

/* The answers; with the lock. found() takes over the reference in `file`. */
static void found(struct question *q, struct cache_file *file, const struct file_attr *attr,
                  uint64_t valid_until, bool exact)
{
    share_entry_of(file, attr, valid_until, q->ret);
    q->ret->node = file;
    q->ret->exact = exact;
    q->code = 0;
}

static void missing(struct question *q, int code, uint64_t valid_until)
{
    *q->ret = (struct share_entry){.valid_ns = share_remaining(valid_until, clock_now())};
    q->code = error_set(q->err, code, 0, "%s: %s", q->shown,
                        code == -ENOTDIR ? "not a directory" : "no such file or directory");
}

static void answer_from_plan(struct question *q)
{
    const struct cache_plan *p = &q->plan;
    if (p->result < 0)
        missing(q, p->result, p->valid_until);
    else
        found(q, p->file, &p->attr, p->valid_until, spelled_as(p->spelling, p->spelling_len, q));
}

bool share_says_missing(const struct error *e)
{
    return e->status && (e->code == -ENOENT || e->code == -ENOTDIR);
}

/* The functions below ask the server; share->lock is held when they are called and when they
 * return, and not while they wait. */

int share_ask_stat(struct share *s, const char *path, struct file_attr *ret,
                   char spelling[CLIENT_NAME_MAX], struct error *err)
{
    struct promise_ask nothing = {0};
    struct error e;
    int r;
    do {
        e = (struct error){0};
        r = client_stat(s->client, path, s->style, ret, spelling, &e);
    } while (r < 0 && promise_again(s, &nothing, &e));
    if (r < 0 && err)
        *err = e;
    return r;
}

static void let_tell(struct question *q)
{
    struct share *s = q->share;
    struct cache_file *f = cache_peek(s->cache, q->dir, q->name, q->len);
    if (!f)
        return;
    promise_let_tell(s, f);
    cache_file_unref(s->cache, f);
}

static void ask_stat(struct question *q)
{
    struct share *s = q->share;
    char *path;
    *q->ret = (struct share_entry){0};
    let_tell(q);
    look_begin(s);
    q->code = share_wire_path(s, q->dir, q->name, q->len, &path, q->err);
    if (q->code < 0)
        return look_end(s);
    struct cache_ticket ticket = cache_ask(s->cache, clock_now());
    pthread_mutex_unlock(&s->lock);
    struct file_attr attr;
    struct error e = {0};
    char spelling[CLIENT_NAME_MAX];
    int r = share_ask_stat(s, path, &attr, spelling, &e);
    free(path);
    pthread_mutex_lock(&s->lock);
    look_end(s);
    uint64_t now = clock_now(), until;
    if (r < 0) {
        until = share_says_missing(&e)
                    ? cache_commit_missing(s->cache, q->dir, q->name, q->len, ticket, now)
                    : 0;
        q->ret->valid_ns = share_remaining(until, now);
        q->code = r;
        if (q->err)
            *q->err = e;
        return;
    }
    struct cache_file *file;
    cache_learn_spelling(s->cache, q->name, q->len, spelling, strlen(spelling));
    r = cache_commit_found(s->cache, q->dir, q->name, q->len, &attr, ticket, now, &file, &until);
    if (r < 0)
        q->code = error_set(q->err, r, 0, "out of memory");
    else
        found(q, file, &attr, until, spelled_as(spelling, strlen(spelling), q));
}

/* Whether the listing that it fetched tells the answer. */
static bool ask_list(struct question *q)
{
    struct share *s = q->share;
    struct cache_listing *listing = NULL;
    struct cache_ticket ticket;
    if (share_ask_listing(s, q->dir, q->plan.guess, &listing, &ticket, NULL) < 0 || !listing)
        return false;
    cache_answer_from(s->cache, q->dir, listing, q->name, q->len, ticket, clock_now(), &q->plan);
    bool told = q->plan.step == CACHE_ANSWER;
    if (told)
        answer_from_plan(q);
    cache_listing_unref(listing);
    return told;
}

/* What a search for one name came upon: the exact spelling wins over any other match. */
struct match {
    const struct question *q;
    bool any, exact;
    struct file_attr attr;
    char spelling[CLIENT_NAME_MAX];
    size_t len;
};

static int match_entry(void *user, const char *name, size_t len, const struct file_attr *attr,
                       size_t wire_bytes)
{
    struct match *m = user;
    bool exact = spelled_as(name, len, m->q);
    if (!m->any || (exact && !m->exact)) {
        m->any = true;
        m->exact = exact;
        m->attr = *attr;
        m->len = len;
        memcpy(m->spelling, name, len); /* client_list's names fit */
    }
    return 0;
}

/* Whether the search went through. */
static bool ask_search(struct question *q)
{
    struct share *s = q->share;
    char *path, *pattern = strndup(q->name, q->len);
    look_begin(s);
    if (!pattern || share_wire_path(s, q->dir, NULL, 0, &path, NULL) < 0) {
        look_end(s);
        free(pattern);
        return false;
    }
    struct cache_ticket ticket = cache_ask(s->cache, clock_now());
    pthread_mutex_unlock(&s->lock);
    struct match m;
    struct client_list_result result;
    int r;
    do {
        m = (struct match){.q = q};
        r = client_list(s->client, path, pattern, s->style, false, match_entry, &m, &result, NULL);
    } while (r == CLIENT_LISTING_LOST);
    free(pattern);
    free(path);
    pthread_mutex_lock(&s->lock);
    look_end(s);
    uint64_t now = clock_now(), until;
    if (r < 0)
        return false;
    cache_commit_attr(s->cache, q->dir, &result.dir_attr, ticket, now);
    if (m.any)
        cache_learn_spelling(s->cache, q->name, q->len, m.spelling, m.len);
    struct cache_file *file;
    if (!m.any)
        missing(q, -ENOENT, cache_commit_missing(s->cache, q->dir, q->name, q->len, ticket, now));
    else if (cache_commit_found(s->cache, q->dir, q->name, q->len, &m.attr, ticket, now, &file,
                                &until) < 0)
        return false;
    else
        found(q, file, &m.attr, until, m.exact);
    return true;
}

static void ask(struct question *q)
{
    bool told = q->plan.step == CACHE_LIST     ? ask_list(q)
                : q->plan.step == CACHE_SEARCH ? ask_search(q)
                                               : false;
    if (!told)
        ask_stat(q);
}

/* Either way the next plan knows more. */
static void verify(struct question *q, bool waited)
{
    struct share *s = q->share;
    struct flight f;
    if (!waited && flight_wait(s, FLIGHT_LIST, q->dir, "", 0))
        return;
    flight_begin(s, &f, FLIGHT_LIST, q->dir, "", 0);
    watch_verify(s, q->dir);
    flight_end(s, &f);
}

/* An answer may be believed that was true before what is delayed arrives: what the name leads to is
 * written before it is looked at what is believed. */
static void settle_delayed(struct question *q)
{
    struct share *s = q->share;
    bool any = !list_empty(&s->delays.files);
    struct cache_file *f = any ? cache_peek(s->cache, q->dir, q->name, q->len) : NULL;
    q->stranger = any && !f && !q->met;
    if (!f)
        return;
    delay_settle(s, f);
    cache_file_unref(s->cache, f);
}

/* Only the answer says that the name is one more of a file that is being written: what was delayed
 * of that may not be in it. True: to be asked again, now that it is known. */
static bool meets_delayed(struct question *q)
{
    struct share *s = q->share;
    if (!q->stranger || q->code < 0 || (q->ret->valid_ns && !delay_pending(s, q->ret->node)))
        return false;
    cache_file_unref(s->cache, q->ret->node);
    q->met = true;
    return true;
}

static int look_up(struct question *q)
{
    struct share *s = q->share;
    for (bool waited = false;; waited = true) {
        settle_delayed(q);
        cache_plan_lookup(s->cache, q->dir, q->name, q->len, CACHE_LOOK_UP, clock_now(), &q->plan);
        if (q->plan.step == CACHE_ANSWER) {
            answer_from_plan(q);
            if (meets_delayed(q))
                continue;
            return q->code;
        }
        if (q->plan.step == CACHE_VERIFY) {
            verify(q, waited);
            continue;
        }
        bool lists = q->plan.step == CACHE_LIST;
        enum flight_kind kind = lists ? FLIGHT_LIST : FLIGHT_LOOK_UP;
        const char *name = lists ? "" : q->name;
        size_t len = lists ? 0 : q->len;
        if (!waited && flight_wait(s, kind, q->dir, name, len))
            continue;
        struct flight f;
        flight_begin(s, &f, kind, q->dir, name, len);
        ask(q);
        flight_end(s, &f);
        if (!meets_delayed(q))
            return q->code;
    }
}

/* What the last CLOSE of this name's file tells is waited for rather than asked for. */
static void settle_closing(struct share *s, struct cache_file *dir, const char *name, size_t len)
{
    struct cache_file *f = cache_peek(s->cache, dir, name, len);
    if (!f)
        return;
    closings_settle(s, f);
    cache_file_unref(s->cache, f);
}

static int look_up_named(struct share *s, struct cache_file *dir, const char *name, bool anew,
                         struct share_entry *ret, struct error *err)
{
    struct question q = {.share = s,
                         .dir = dir,
                         .name = name,
                         .len = strlen(name),
                         .shown = name,
                         .ret = ret,
                         .err = err};
    if (share_is_hidden(name, q.len)) {
        *ret = (struct share_entry){0};
        return error_set(err, -ENOENT, 0, "%s: no such file or directory", name);
    }
    pthread_mutex_lock(&s->lock);
    if (!list_empty(&s->closings))
        settle_closing(s, dir, name, q.len);
    if (anew)
        do {
            settle_delayed(&q);
            ask_stat(&q);
        } while (meets_delayed(&q));
    int r = anew ? q.code : look_up(&q);
    pthread_mutex_unlock(&s->lock);
    if (r == 0)
        share_mark_link(s, ret->node, ret);
    return r;
}

int share_lookup(struct share *s, struct share_node *dir, const char *name, struct share_entry *ret,
                 struct error *err)
{
    return look_up_named(s, dir, name, false, ret, err);
}

int share_lookup_anew(struct share *s, struct share_node *dir, const char *name,
                      struct share_entry *ret, struct error *err)
{
    return look_up_named(s, dir, name, true, ret, err);
}

/* ---- attributes of a node ---- */

/* With the lock on entry and exit. A node whose id has changed on the server is another file now.
 * *ret_again: not under that name, but there is another one. */
static int ask_attr_by_name(struct share *s, struct cache_file *f, struct share_entry *ret,
                            bool *ret_again, struct error *err)
{
    *ret_again = false;
    char *path;
    promise_let_tell(s, f);
    look_begin(s);
    int r = share_wire_path(s, f, NULL, 0, &path, err);
    if (r < 0) {
        look_end(s);
        return r;
    }
    struct cache_ticket ticket = cache_ask(s->cache, clock_now());
    pthread_mutex_unlock(&s->lock);
    struct file_attr attr;
    struct error e = {0};
    r = share_ask_stat(s, path, &attr, NULL, &e);
    pthread_mutex_lock(&s->lock);
    look_end(s);
    bool replaced = r == 0 && !cache_file_same(f, &attr);
    if (replaced)
        r = error_set(&e, -ESTALE, 0, "the file has been replaced on the server");
    if (replaced || (r < 0 && share_says_missing(&e)))
        *ret_again = share_forget_path(s, f, path);
    free(path);
    if (r < 0) {
        if (err)
            *err = e;
        return r;
    }
    uint64_t until = cache_commit_attr(s->cache, f, &attr, ticket, clock_now());
    share_entry_of(f, &attr, until, ret);
    return 0;
}

static int ask_attr(struct share *s, struct cache_file *f, struct share_entry *ret,
                    struct error *err)
{
    bool again = true;
    int r = 0;
    while (again)
        r = ask_attr_by_name(s, f, ret, &again, err);
    return r;
}

int share_getattr(struct share *s, struct share_node *n, struct share_entry *ret, struct error *err)
{
    int r;
    pthread_mutex_lock(&s->lock);
    closings_settle(s, n);
    for (bool waited = false;; waited = true) {
        struct cache_plan plan;
        delay_settle(s, n);
        uint64_t now = clock_now();
        cache_plan_attr(s->cache, n, now, &plan);
        if (plan.step == CACHE_ANSWER) {
            share_entry_of(n, &plan.attr, plan.valid_until, ret);
            cache_file_unref(s->cache, plan.file);
            r = 0;
            break;
        }
        if (!waited && flight_wait(s, FLIGHT_ATTR, n, "", 0))
            continue;
        struct flight f;
        flight_begin(s, &f, FLIGHT_ATTR, n, "", 0);
        r = ask_attr(s, n, ret, err);
        flight_end(s, &f);
        break;
    }
    pthread_mutex_unlock(&s->lock);
    if (r == 0)
        share_mark_link(s, n, ret);
    return r;
}

/* ---- by path ---- */

int share_clean_path(const char *path, char **ret, struct error *err)
{
    char *clean = malloc(strlen(path) + 3); /* listing.c appends a component */
    if (!clean)
        return error_set(err, -ENOMEM, 0, "out of memory");
    size_t at = 0;
    while (*path) {
        size_t len = strcspn(path, "/");
        if ((len == 1 && path[0] == '.') || (len == 2 && memcmp(path, "..", 2) == 0)) {
            free(clean);
            return error_set(err, -EINVAL, 0,
                             "%s: `.` and `..` are not resolved in paths of a share", path);
        }
        if (len >= CLIENT_NAME_MAX) {
            free(clean);
            return error_set(err, -ENAMETOOLONG, 0, "%.60s...: a name is longer than any can be",
                             path);
        }
        if (len && at)
            clean[at++] = '/';
        memcpy(clean + at, path, len);
        at += len;
        path += len + (path[len] == '/');
    }
    clean[at] = 0;
    *ret = clean;
    return 0;
}

#define DOUBTS_MAX 32 /* others may rename faster than we look */

/* With the lock on entry and exit. */
static int look_up_again(struct share *s, struct cache_file *dir)
{
    char *path = malloc(SHARE_PATH_MAX);
    int len = path ? cache_file_path(dir, path, SHARE_PATH_MAX) : -ENOMEM;
    if (len < 0) {
        free(path);
        return len == -ESTALE ? 0 : len; /* nothing leads to it: the walk finds another one */
    }
    path[len] = 0;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    struct share_entry found;
    struct question q = {.share = s,
                         .dir = cache_file_ref(cache_file_parent(dir)),
                         .name = name,
                         .len = strlen(name),
                         .shown = name,
                         .ret = &found};
    int r = look_up(&q);
    if (r == 0)
        cache_file_unref(s->cache, found.node);
    cache_file_unref(s->cache, q.dir);
    free(path);
    return r;
}

int share_walk(struct share *s, const char *path, size_t len, struct cache_file **ret_dir,
               const char **ret_name, size_t *ret_name_len)
{
    for (int doubts = 0;; doubts++) {
        int r = cache_walk(s->cache, path, len, clock_now(), ret_dir, ret_name, ret_name_len);
        struct cache_file *doubtful = NULL;
        if (r == 0 && doubts < DOUBTS_MAX)
            doubtful = cache_doubtful(s->cache, *ret_dir, clock_now());
        if (!doubtful)
            return r;
        r = look_up_again(s, doubtful);
        cache_file_unref(s->cache, *ret_dir);
        if (r < 0)
            return r;
    }
}

static int resolve(struct share *s, const char *path, struct share_entry *ret, struct error *err)
{
    char *clean;
    int r = share_clean_path(path, &clean, err);
    if (r < 0)
        return r;
    pthread_mutex_lock(&s->lock);
    struct question q = {.share = s, .shown = path, .ret = ret, .err = err};
    r = share_walk(s, clean, strlen(clean), &q.dir, &q.name, &q.len);
    if (r < 0) {
        *ret = (struct share_entry){0};
        error_set(err, r, 0, "%s: %s", path,
                  r == -ENOTDIR  ? "not a directory"
                  : r == -ENOENT ? "no such file or directory"
                  : r == -ENOMEM ? "out of memory"
                                 : strerror(-r));
    } else {
        if (q.len && !list_empty(&s->closings))
            settle_closing(s, q.dir, q.name, q.len);
        if (q.len)
            r = look_up(&q);
        else
            *ret = (struct share_entry){.node = cache_file_ref(q.dir)};
        cache_file_unref(s->cache, q.dir);
    }
    pthread_mutex_unlock(&s->lock);
    free(clean);
    if (r == 0 && ret->node != cache_root(s->cache))
        share_mark_link(s, ret->node, ret);
    return r;
}

int share_stat_path(struct share *s, const char *path, struct share_entry *ret, struct error *err)
{
    struct share_entry e;
    int r = resolve(s, path, &e, err);
    if (r < 0) {
        *ret = e;
        return r;
    }
    if (e.node == cache_root(s->cache)) {
        struct share_node *root = e.node;
        r = share_getattr(s, root, &e, err);
        if (r < 0) {
            share_node_unref(s, root);
            return r;
        }
        e.node = root;
    }
    *ret = e;
    return 0;
}
