/*
 * Opening and closing. In the compound style an open for reading brings the beginning of the file
 * along, so that a small file costs one round trip: CREATE and READ together, the CLOSE sent and
 * not waited for. An open goes on when its file is removed or replaced on the server; its
 * attributes come by the open then, since no name leads to it.
 *
 * What came with the open serves the reads that follow, for as long as attributes are believed and
 * nobody here writes: a file held open for longer is read from the server. At most 128 KiB per open
 * file are kept. An open that meets another file than the node stands for (it was replaced), or
 * none, tries the file's other names, and ends in -ESTALE, after which the kernel looks the name up
 * anew.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "share/delay.h"

#define FIRST_READ_MAX (128 * 1024) /* as far as the kernel reads ahead by itself */

size_t share_first_read(const struct share *s, unsigned how, const uint64_t *size)
{
    if (how != (SHARE_READ | SHARE_WANT_DATA) || s->style != CLIENT_COMPOUND ||
        s->options.settings.file_info_cache_lifetime == 0)
        return 0;
    if (!size)
        return FIRST_READ_MAX / 2;
    return *size < FIRST_READ_MAX ? (size_t)*size : FIRST_READ_MAX;
}

/* ---- the object ---- */

/* Room for `want` bytes that come with the open. */
static int file_new(const struct share *s, unsigned how, size_t want, struct share_file **ret,
                    struct error *err)
{
    struct share_file *f = calloc(1, sizeof *f);
    if (f && want)
        f->first = malloc(want);
    if (!f || (want && !f->first)) {
        free(f);
        return error_set(err, -ENOMEM, 0, "out of memory");
    }
    pthread_mutex_init(&f->lock, NULL);
    list_init(&f->link);
    f->how = how & (SHARE_READ | SHARE_WRITE);
    f->delays = how & SHARE_DELAY && how & SHARE_WRITE;
    f->first_until = clock_now() + s->options.settings.file_info_cache_lifetime * NS_PER_SEC;
    *ret = f;
    return 0;
}

static void file_free(struct share_file *f)
{
    pthread_mutex_destroy(&f->lock);
    free(f->first);
    free(f);
}

static void drop_first(struct share_file *f)
{
    free(f->first);
    f->first = NULL;
}

/* ---- the request ---- */

/* What a file that is overwritten keeps: a server refuses to overwrite a hidden one otherwise. */
static uint32_t kept_attributes(const struct file_attr *heard)
{
    return heard ? heard->attributes & (FILE_ATTRIBUTE_HIDDEN | FILE_ATTRIBUTE_SYSTEM) : 0;
}

static struct client_how how_of(unsigned how, uint32_t disposition, uint32_t attributes,
                                struct promise_ask *ask)
{
    struct client_how h = {.attributes = attributes,
                           .share = FILE_SHARE_ALL,
                           .disposition = disposition,
                           .options = FILE_NON_DIRECTORY_FILE,
                           .lease = &ask->lease};
    if (how & SHARE_READ)
        h.access |= FILE_READ_DATA;
    if (how & SHARE_WRITE)
        h.access |= FILE_WRITE_DATA | FILE_APPEND_DATA | FILE_WRITE_ATTRIBUTES;
    return h;
}

/* MS-FSA 2.1.5.1.2: a hidden or system file is overwritten only by who says that it is one. What
 * was believed of that may be old. */
static int create_knowing(struct share *s, const char *path, struct client_how how,
                          struct client_file **ret, struct file_attr *ret_attr, bool *ret_created,
                          struct error *err)
{
    struct file_attr now;
    int r = client_create(s->client, path, &how, ret, ret_attr, ret_created, err);
    bool overwrites = how.disposition == FILE_OVERWRITE || how.disposition == FILE_OVERWRITE_IF;
    if (r != -EACCES || !overwrites ||
        client_stat(s->client, path, s->style, &now, NULL, NULL) < 0 ||
        (kept_attributes(&now) & ~how.attributes) == 0)
        return r;
    how.attributes |= kept_attributes(&now);
    return client_create(s->client, path, &how, ret, ret_attr, ret_created, err);
}

/* A file that may be written and whose attributes may not be set, opens for the first alone. */
static int create_path(struct share *s, const char *path, struct client_how how,
                       struct client_file **ret, struct file_attr *ret_attr, bool *ret_created,
                       struct error *err)
{
    int r = create_knowing(s, path, how, ret, ret_attr, ret_created, err);
    if (r != -EACCES || !(how.access & FILE_WRITE_ATTRIBUTES))
        return r;
    how.access &= ~(uint32_t)FILE_WRITE_ATTRIBUTES;
    return create_knowing(s, path, how, ret, ret_attr, ret_created, NULL) < 0 ? r : 0;
}

static int open_to_read(struct share *s, const char *path, size_t want, struct promise_ask *ask,
                        struct share_file *f, struct file_attr *ret_attr, struct error *err)
{
    if (s->style == CLIENT_COMPOUND)
        return client_open_leased(s->client, path, &ask->lease, f->first, want, &f->open, ret_attr,
                                  &f->first_len, &f->first_is_all, err);
    return client_open(s->client, path, s->style, f->first, want, &f->open, ret_attr, &f->first_len,
                       &f->first_is_all, err);
}

/* Opens what is there, without any lock. `heard`: its attributes as they were last heard of, or
 * NULL. */
static int open_path(struct share *s, const char *path, unsigned how, const struct file_attr *heard,
                     struct promise_ask *ask, struct share_file **ret, struct file_attr *ret_attr,
                     struct error *err)
{
    struct share_file *f;
    size_t want = share_first_read(s, how, heard ? &heard->size : NULL);
    int r = file_new(s, how, want, &f, err);
    if (r < 0)
        return r;
    uint32_t disposition = how & SHARE_TRUNCATE ? FILE_OVERWRITE : FILE_OPEN;
    struct client_how as = how_of(how, disposition, kept_attributes(heard), ask);
    struct error e;
    do {
        e = (struct error){0};
        r = how & SHARE_WRITE ? create_path(s, path, as, &f->open, ret_attr, NULL, &e)
                              : open_to_read(s, path, want, ask, f, ret_attr, &e);
    } while (r < 0 && promise_again(s, ask, &e));
    if (r < 0) {
        file_free(f);
        if (err)
            *err = e;
        return r;
    }
    f->wrote = how & SHARE_TRUNCATE;
    if (f->first_len == 0 && !f->first_is_all)
        drop_first(f);
    *ret = f;
    return 0;
}

/* The open stands: it goes into the table, and what it told is believed. With the lock. */
static int take_open(struct share *s, struct share_file *f, struct cache_file *n,
                     struct file_attr *attr, struct cache_ticket ticket, uint64_t *ret_until,
                     struct error *err)
{
    if (opens_add(s, f, n) < 0)
        return error_set(err, -ENOMEM, 0, "out of memory");
    if (f->wrote) {
        opens_changed(s, f);
        *ret_until = share_own_attr(s, n, attr, ticket);
    }
    return 0;
}

/* ---- by node ---- */

/* What a kept handle is of is not written beside it, nor is one kept that was open beside a writer
 * (opens_sweep): Samba holds on to the times of before for as long as anything is open. One that
 * did not serve the open would have it told old times. With the lock, not while that is closed. */
static void make_way(struct share *s, struct cache_file *file, unsigned how)
{
    if (how & SHARE_WRITE)
        promise_give_up(s, file, false);
    else
        promise_let_tell(s, file);
}

/* By a handle that is kept, for as long as what it would tell is believed: no request. With the
 * lock. */
static bool reopen(struct share *s, struct share_node *n, unsigned how, struct share_file **ret,
                   struct share_entry *ret_entry)
{
    struct cache_plan plan;
    struct share_file *f;
    struct promise *p;
    if (how & ~(unsigned)(SHARE_READ | SHARE_WANT_DATA) || !promise_keeps(s, n))
        return false;
    cache_plan_attr(s->cache, n, clock_now(), &plan);
    if (plan.step != CACHE_ANSWER)
        return false;
    struct client_file *open = promise_reopen(s, n, &p);
    bool done = open && file_new(s, how, 0, &f, NULL) == 0;
    if (done && opens_add(s, f, n) < 0) {
        file_free(f);
        done = false;
    }
    if (done) {
        f->open = open;
        f->promise = p;
        *ret = f;
        if (ret_entry) {
            share_entry_of(n, &plan.attr, plan.valid_until, ret_entry);
            ret_entry->vouched = SHARE_KEPT;
        }
    } else if (open) {
        promise_close(s, p, open);
    }
    cache_file_unref(s->cache, plan.file);
    return done;
}

/* Opens by the name that leads to the node now. *ret_again: it is not under that name, but there is
 * another one. */
static int open_by_name(struct share *s, struct share_node *n, unsigned how,
                        struct share_file **ret, struct share_entry *ret_entry, bool *ret_again,
                        struct error *err)
{
    char *path;
    struct file_attr heard, attr;
    struct promise_ask ask = {0};
    *ret_again = false;
    pthread_mutex_lock(&s->lock);
    delay_settle(s, n); /* an open tells the size, and brings content along */
    if (reopen(s, n, how, ret, ret_entry)) {
        pthread_mutex_unlock(&s->lock);
        return 0;
    }
    make_way(s, n, how);
    uint64_t since = promise_held_since(s, n);
    int r = share_wire_path(s, n, NULL, 0, &path, err);
    const struct file_attr *known = cache_file_heard(n);
    if (known)
        heard = *known;
    if (r == 0)
        promise_ask(s, n, NULL, how, &ask);
    struct cache_ticket ticket = cache_ask(s->cache, clock_now());
    pthread_mutex_unlock(&s->lock);
    if (r < 0)
        return r;
    struct share_file *f = NULL;
    struct error e = {0};
    r = open_path(s, path, how, known ? &heard : NULL, &ask, &f, &attr, &e);
    pthread_mutex_lock(&s->lock);
    bool replaced =
        r == 0 ? !cache_file_same(n, &attr) : r == -EISDIR && e.status && !cache_file_is_dir(n);
    struct promise *p = promise_answer(s, &ask, r == 0, replaced ? NULL : n, ticket);
    if (f)
        f->promise = p;
    if (replaced)
        r = error_set(&e, -ESTALE, 0, "the file has been replaced on the server");
    if (replaced || (r < 0 && share_says_missing(&e)))
        *ret_again = share_forget_path(s, n, path);
    uint64_t until = 0;
    if (r == 0 && !f->wrote)
        until = cache_commit_attr(s->cache, n, &attr, ticket, clock_now());
    if (r == 0)
        r = take_open(s, f, n, &attr, ticket, &until, &e);
    if (r == 0 && ret_entry) {
        share_entry_of(n, &attr, until, ret_entry);
        ret_entry->vouched = promise_vouches(s, p, n, how, since);
    }
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
        r = open_by_name(s, n, how, ret, ret_entry, &again, err);
    return r;
}

int share_open_beside(struct share *s, struct share_file *f, struct share_file **ret)
{
    char *path;
    struct share_file *beside = NULL;
    struct file_attr attr;
    struct promise_ask ask = {0};
    const unsigned both = SHARE_READ | SHARE_WRITE;
    pthread_mutex_lock(&s->lock);
    int r = share_wire_path(s, f->file, NULL, 0, &path, NULL);
    if (r == 0)
        promise_ask(s, f->file, NULL, both, &ask);
    struct cache_ticket ticket = cache_ask(s->cache, clock_now());
    pthread_mutex_unlock(&s->lock);
    if (r < 0)
        return r;
    r = open_path(s, path, both, NULL, &ask, &beside, &attr, NULL);
    free(path);
    pthread_mutex_lock(&s->lock);
    bool same = r == 0 && cache_file_same(f->file, &attr);
    struct promise *p = promise_answer(s, &ask, r == 0, same ? f->file : NULL, ticket);
    if (r < 0) {
        pthread_mutex_unlock(&s->lock);
        return r;
    }
    beside->promise = p;
    r = same ? opens_add(s, beside, f->file) : -ESTALE;
    beside->closed = beside->opened != NULL;
    beside->users = 1;
    pthread_mutex_unlock(&s->lock);
    if (r == 0)
        *ret = beside;
    else
        share_close(s, beside);
    return r;
}

/* ---- by name: making files ---- */

/* What CREATE did to `name` becomes belief. With the lock. */
static int commit_creation(struct share *s, struct share_file *f, struct promise_ask *ask,
                           struct cache_file *dir, const char *name, struct file_attr *attr,
                           bool created, struct cache_ticket ticket, struct share_entry *ret_entry,
                           struct error *err)
{
    struct cache_file *file = NULL;
    uint64_t until, now = clock_now();
    size_t len = strlen(name);
    if (created)
        attr->links = 1;
    int r = created
                ? cache_made(s->cache, dir, name, len, attr, NULL, ticket, now, &file, &until)
                : cache_commit_found(s->cache, dir, name, len, attr, ticket, now, &file, &until);
    f->promise = promise_answer(s, ask, true, file, ticket);
    if (r < 0)
        return error_set(err, r, 0, "out of memory");
    if (created)
        own_modifies(s, file);
    r = take_open(s, f, file, attr, ticket, &until, err);
    if (r == 0) {
        share_entry_of(file, attr, until, ret_entry);
        ret_entry->exact = created; /* else the server may spell it otherwise */
        ret_entry->node = file;
    } else {
        cache_file_unref(s->cache, file);
    }
    return r;
}

/* With the lock, not while it waits: what is believed to have this name and is about to be opened.
 */
static void settle_name(struct share *s, struct cache_file *dir, const char *name, size_t len)
{
    struct cache_file *file = cache_peek(s->cache, dir, name, len);
    if (!file)
        return;
    delay_settle(s, file);
    cache_file_unref(s->cache, file);
}

/* With the lock. */
static void ask_by_name(struct share *s, struct cache_file *dir, const char *name, size_t len,
                        unsigned how, struct promise_ask *ret)
{
    struct cache_file *file = cache_peek(s->cache, dir, name, len);
    if (file)
        make_way(s, file, how);
    promise_ask(s, file, dir, how, ret);
    if (file)
        cache_file_unref(s->cache, file);
}

static int create_named(struct share *s, const char *path, unsigned how, uint32_t attributes,
                        struct promise_ask *ask, struct share_file **ret,
                        struct file_attr *ret_attr, bool *ret_created, struct error *err)
{
    uint32_t disposition = how & SHARE_EXCLUSIVE  ? FILE_CREATE
                           : how & SHARE_TRUNCATE ? FILE_OVERWRITE_IF
                                                  : FILE_OPEN_IF;
    struct share_file *f;
    struct error e;
    unsigned tried = 0;
    int r = file_new(s, how, 0, &f, err);
    if (r < 0)
        return r;
    struct client_how as = how_of(how, disposition, attributes, ask);
    do {
        e = (struct error){0};
        r = create_path(s, path, as, &f->open, ret_attr, ret_created, &e);
    } while (r < 0 && (promise_again(s, ask, &e) || share_name_gets_free(s, path, &e, &tried)));
    if (r < 0) {
        file_free(f);
        if (err)
            *err = e;
        return r;
    }
    f->wrote = !*ret_created && how & SHARE_TRUNCATE;
    *ret = f;
    return 0;
}

int share_create(struct share *s, struct share_node *dir, const char *name, unsigned how,
                 uint32_t attributes, struct share_file **ret, struct share_entry *ret_entry,
                 bool *ret_created, struct error *err)
{
    char *path;
    struct promise_ask ask = {0};
    pthread_mutex_lock(&s->lock);
    settle_name(s, dir, name, strlen(name));
    int r = share_named_path(s, dir, name, &path, err);
    if (r == 0)
        ask_by_name(s, dir, name, strlen(name), how, &ask);
    uint64_t own = r == 0 ? own_begins(s, dir, name, true) : 0;
    struct cache_ticket ticket = cache_ask(s->cache, clock_now());
    pthread_mutex_unlock(&s->lock);
    if (r < 0)
        return r;
    struct share_file *f;
    struct file_attr attr;
    bool created = false;
    r = create_named(s, path, how, attributes, &ask, &f, &attr, &created, err);
    free(path);
    pthread_mutex_lock(&s->lock);
    own_ends(s, own, r == 0 && created);
    if (r == 0)
        r = commit_creation(s, f, &ask, dir, name, &attr, created, ticket, ret_entry, err);
    else
        f = NULL;
    promise_answer_none(s, &ask); /* harmless where it was answered */
    pthread_mutex_unlock(&s->lock);
    if (r < 0) {
        share_close(s, f);
        return r;
    }
    if (ret_created)
        *ret_created = created;
    *ret = f;
    return 0;
}

/* ---- by path ---- */

/* An open by path, between its two halves under the lock. */
struct opening {
    struct cache_file *dir; /* a reference */
    char *clean;            /* `name` points into it */
    const char *name;
    size_t len;
    char *wire_path;
    struct cache_ticket ticket;
    struct promise_ask ask;
};

/* With the lock: the file that the name is believed to lead to, where a handle of it is kept. */
static bool reopen_by_name(struct share *s, struct opening *o, unsigned how,
                           struct share_file **ret, struct share_entry *ret_entry)
{
    struct cache_file *file = cache_peek(s->cache, o->dir, o->name, o->len);
    struct cache_plan plan = {0};
    if (file && promise_keeps(s, file))
        cache_plan_lookup(s->cache, o->dir, o->name, o->len, CACHE_LOOK_UP, clock_now(), &plan);
    bool leads_there = file && plan.file == file;
    bool done = leads_there && reopen(s, file, how, ret, ret_entry);
    if (plan.file)
        cache_file_unref(s->cache, plan.file);
    if (done && ret_entry)
        ret_entry->node = cache_file_ref(file);
    if (file)
        cache_file_unref(s->cache, file);
    return done;
}

/* With the lock. -ENOENT and the like where a belief forbids the open. */
static int plan_opening(struct share *s, struct opening *o, const char *path, struct error *err)
{
    int r = share_walk(s, o->clean, strlen(o->clean), &o->dir, &o->name, &o->len);
    if (r == 0 && o->len == 0)
        r = -EISDIR;
    if (r == 0) {
        struct cache_plan plan;
        cache_plan_lookup(s->cache, o->dir, o->name, o->len, CACHE_OPEN_IT, clock_now(), &plan);
        r = plan.step == CACHE_ANSWER ? plan.result : 0;
    }
    if (r < 0)
        return error_set(err, r, 0, "%s: %s", o->len ? path : "the top of the share", strerror(-r));
    return 0;
}

/* With the lock. */
static int begin_opening(struct share *s, struct opening *o, struct error *err)
{
    int r = share_wire_path(s, o->dir, o->name, o->len, &o->wire_path, err);
    if (r == 0)
        ask_by_name(s, o->dir, o->name, o->len, SHARE_READ, &o->ask);
    o->ticket = cache_ask(s->cache, clock_now());
    return r;
}

/* With the lock. */
static int commit_opening(struct share *s, struct opening *o, struct share_file *f,
                          struct file_attr *attr, struct share_entry *ret_entry, struct error *err)
{
    struct cache_file *file = NULL;
    uint64_t until;
    int r = cache_commit_found(s->cache, o->dir, o->name, o->len, attr, o->ticket, clock_now(),
                               &file, &until);
    f->promise = promise_answer(s, &o->ask, true, file, o->ticket);
    if (r < 0)
        return error_set(err, r, 0, "out of memory");
    r = take_open(s, f, file, attr, o->ticket, &until, err);
    if (r == 0 && ret_entry) {
        share_entry_of(file, attr, until, ret_entry);
        ret_entry->node = cache_file_ref(file);
    }
    cache_file_unref(s->cache, file);
    return r;
}

int share_open_path(struct share *s, const char *path, struct share_file **ret,
                    struct share_entry *ret_entry, struct error *err)
{
    struct opening o = {0};
    int r = share_clean_path(path, &o.clean, err);
    if (r < 0)
        return r;
    const unsigned how = SHARE_READ | SHARE_WANT_DATA;
    pthread_mutex_lock(&s->lock);
    r = plan_opening(s, &o, path, err);
    if (r == 0)
        settle_name(s, o.dir, o.name, o.len);
    bool done = r == 0 && reopen_by_name(s, &o, how, ret, ret_entry);
    if (r == 0 && !done)
        r = begin_opening(s, &o, err);
    pthread_mutex_unlock(&s->lock);
    if (r == 0 && !done) {
        struct share_file *f = NULL;
        struct file_attr attr;
        struct error e = {0};
        r = open_path(s, o.wire_path, how, NULL, &o.ask, &f, &attr, &e);
        if (r < 0 && err)
            *err = e;
        pthread_mutex_lock(&s->lock);
        if (r == 0)
            r = commit_opening(s, &o, f, &attr, ret_entry, err);
        else if (share_says_missing(&e))
            cache_commit_missing(s->cache, o.dir, o.name, o.len, o.ticket, clock_now());
        promise_answer_none(s, &o.ask); /* harmless where it was answered */
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

/* ---- close ---- */

/* The last state of a file that was written, told by its CLOSE. */
static void close_written(struct share *s, struct cache_file *file, struct client_file *open)
{
    if (s->style == CLIENT_COMPOUND) {
        closings_begin(s, file, open);
        return;
    }
    struct file_attr attr;
    pthread_mutex_lock(&s->lock);
    struct cache_ticket ticket = cache_ask(s->cache, clock_now());
    pthread_mutex_unlock(&s->lock);
    int r = client_close(open, s->style, &attr, NULL);
    pthread_mutex_lock(&s->lock);
    if (r == 0 && attr.attributes)
        share_own_attr(s, file, &attr, ticket);
    pthread_mutex_unlock(&s->lock);
}

/* Whether the open is as good for the next one as a new one: it changed nothing, its CLOSE is
 * nothing that anybody waits for, and it stands in nobody's way. */
static bool may_be_kept(const struct share_file *f)
{
    return f->promise && f->file && f->how == SHARE_READ && !f->wrote && !f->must_close;
}

/* Without the lock. `f` is in no table any more. */
static void finish_close(struct share *s, struct share_file *f)
{
    struct promise *p = f->promise;
    bool keeps = may_be_kept(f);
    pthread_mutex_lock(&s->lock);
    if (keeps)
        promise_close(s, p, f->open);
    else if (p)
        promise_leave(s, p, !f->wrote);
    pthread_mutex_unlock(&s->lock);
    if (f->wrote && f->file)
        close_written(s, f->file, f->open);
    else if (!keeps)
        client_close(f->open, s->style, NULL, NULL);
    pthread_mutex_lock(&s->lock);
    if (p && !keeps)
        promise_put(s, p);
    s->hidden -= f->unhides;
    if (f->file)
        cache_file_unref(s->cache, f->file);
    pthread_mutex_unlock(&s->lock);
    file_free(f);
}

void share_finish_closes(struct share *s, struct list *closed)
{
    while (!list_empty(closed)) {
        struct share_file *f = container_of(closed->next, struct share_file, link);
        list_del(&f->link);
        finish_close(s, f);
    }
}

void share_close(struct share *s, struct share_file *f)
{
    if (!f)
        return;
    if (!f->opened) { /* it never got so far */
        finish_close(s, f);
        return;
    }
    struct list closed;
    list_init(&closed);
    pthread_mutex_lock(&s->lock);
    if (f->wrote)
        delay_settle(s, f->file);
    f->closed = true;
    if (f->wrote) { /* a server may tell the times only now */
        own_modifies(s, f->file);
        cache_own_attr(s->cache, f->file, NULL, cache_ask(s->cache, clock_now()), clock_now());
    }
    opens_sweep(s, f->opened, &closed);
    pthread_mutex_unlock(&s->lock);
    share_finish_closes(s, &closed);
}
