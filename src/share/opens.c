/*
 * The table of what is open, and the closes under way (opens.h).
 *
 * Closes are kept oldest first. Each new one takes the answered ones before it off the list, so
 * that it stays as short as the server is quick; at CLOSINGS_MAX the oldest is waited for.
 */
#include <errno.h>
#include <stdlib.h>

#include "share/opens.h"

#define CLOSINGS_MAX 256

struct closing {
    struct list link;        /* in share->closings; protected by share->lock */
    struct cache_file *file; /* a reference */
    struct client_closing *sent;
    struct cache_ticket ticket;
};

/* ---- opens ---- */

static struct opened *find(const struct share *s, const struct cache_file *file)
{
    struct hash_node *n = hash_first(&s->opened, hash_u64(cache_file_serial(file)));
    for (; n; n = hash_next(n)) {
        struct opened *o = container_of(n, struct opened, by_file);
        if (o->file == file)
            return o;
    }
    return NULL;
}

int opens_add(struct share *s, struct share_file *f, struct cache_file *file)
{
    struct opened *o = find(s, file);
    if (!o) {
        o = calloc(1, sizeof *o);
        if (!o || hash_add(&s->opened, &o->by_file, hash_u64(cache_file_serial(file))) < 0) {
            free(o);
            return -ENOMEM;
        }
        o->file = cache_file_ref(file);
        list_init(&o->files);
    }
    o->writable |= f->how & SHARE_WRITE;
    f->opened = o;
    f->file = cache_file_ref(file);
    list_add_tail(&o->files, &f->link);
    return 0;
}

struct share_file *opens_find(const struct share *s, const struct cache_file *file)
{
    struct opened *o = find(s, file);
    struct list *at;
    if (o)
        list_for_each(at, &o->files)
        {
            struct share_file *f = container_of(at, struct share_file, link);
            if (!f->closed)
                return f;
        }
    return NULL;
}

/* With the lock. The holder of the file's locks, where that one can do what is needed. */
static struct share_file *holder(struct opened *o, unsigned need)
{
    struct client_file *open = o->locks ? locks_holder(o->locks) : NULL;
    struct list *at;
    if (open)
        list_for_each(at, &o->files)
        {
            struct share_file *f = container_of(at, struct share_file, link);
            if (f->open == open)
                return (f->how & need) == need ? f : NULL;
        }
    return NULL;
}

struct share_file *opens_io_begin(struct share *s, struct share_file *f, unsigned need)
{
    pthread_mutex_lock(&s->lock);
    struct share_file *through = holder(f->opened, need);
    if (!through)
        through = f;
    through->users++;
    pthread_mutex_unlock(&s->lock);
    return through;
}

size_t opens_that_wrote(struct share *s, const struct cache_file *file,
                        const struct share_file *but, struct share_file *ret[], size_t room)
{
    size_t count = 0;
    struct list *at;
    pthread_mutex_lock(&s->lock);
    struct opened *o = find(s, file);
    if (o)
        list_for_each(at, &o->files)
        {
            struct share_file *f = container_of(at, struct share_file, link);
            if (f == but || !f->wrote || f->closed || count == room)
                continue;
            f->users++;
            ret[count++] = f;
        }
    pthread_mutex_unlock(&s->lock);
    return count;
}

void opens_io_end(struct share *s, struct share_file *f)
{
    struct list closed;
    list_init(&closed);
    pthread_mutex_lock(&s->lock);
    f->users--;
    if (f->closed)
        opens_sweep(s, f->opened, &closed);
    pthread_mutex_unlock(&s->lock);
    share_finish_closes(s, &closed);
}

static bool in_use(const struct share_file *f)
{
    return !f->closed || f->users;
}

void opens_sweep(struct share *s, struct opened *o, struct list *ret)
{
    struct list *at, *after;
    bool any_used = false;
    list_for_each(at, &o->files)
    {
        any_used |= in_use(container_of(at, struct share_file, link));
    }
    struct client_file *held = any_used && o->locks ? locks_holder(o->locks) : NULL;
    list_for_each_safe(at, after, &o->files)
    {
        struct share_file *f = container_of(at, struct share_file, link);
        if (in_use(f) || (held && f->open == held))
            continue;
        list_del(at);
        list_add_tail(ret, at);
        f->must_close = o->locks || o->hidden || o->writable;
        f->opened = NULL;
    }
    if (!list_empty(&o->files))
        return;
    if (o->hidden) /* the server lets them go with the last CLOSE */
        container_of(ret->prev, struct share_file, link)->unhides = true;
    locks_free(o->locks);
    hash_del(&s->opened, &o->by_file);
    cache_file_unref(s->cache, o->file);
    free(o);
}

void opens_hidden(struct share *s, const struct cache_file *file)
{
    struct opened *o = find(s, file);
    if (o && o->hidden++ == 0)
        s->hidden++;
}

bool share_hides(struct share *s)
{
    pthread_mutex_lock(&s->lock);
    bool hides = s->hidden;
    pthread_mutex_unlock(&s->lock);
    return hides;
}

void opens_changed(struct share *s, struct share_file *by)
{
    struct list *at;
    list_for_each(at, &by->opened->files)
        share_file_changed(container_of(at, struct share_file, link));
}

/* ---- closes ---- */

/* Takes it off the list and commits its reply. With the lock, not while it waits. */
static void settle(struct share *s, struct closing *c)
{
    struct file_attr attr;
    list_del(&c->link);
    s->closing_count--;
    pthread_mutex_unlock(&s->lock);
    int r = client_close_end(c->sent, &attr, NULL);
    pthread_mutex_lock(&s->lock);
    if (r == 0 && attr.attributes) /* a reply without attributes has only zeros */
        share_own_attr(s, c->file, &attr, c->ticket);
    cache_file_unref(s->cache, c->file);
    free(c);
}

static struct closing *oldest(struct share *s)
{
    return list_empty(&s->closings) ? NULL : container_of(s->closings.next, struct closing, link);
}

/* With the lock. */
static void reap(struct share *s)
{
    struct closing *c;
    while ((c = oldest(s)) && (s->closing_count > CLOSINGS_MAX || client_close_answered(c->sent)))
        settle(s, c);
}

void closings_begin(struct share *s, struct cache_file *file, struct client_file *open)
{
    struct closing *c = malloc(sizeof *c);
    if (!c) {
        client_close(open, s->style, NULL, NULL);
        return;
    }
    pthread_mutex_lock(&s->lock);
    c->ticket = cache_ask(s->cache, clock_now());
    pthread_mutex_unlock(&s->lock);
    c->sent = client_close_begin(open);
    if (!c->sent) {
        free(c);
        return;
    }
    pthread_mutex_lock(&s->lock);
    c->file = cache_file_ref(file);
    list_add_tail(&s->closings, &c->link);
    s->closing_count++;
    reap(s);
    pthread_mutex_unlock(&s->lock);
}

static struct closing *closing_of(struct share *s, const struct cache_file *file)
{
    struct list *at;
    list_for_each(at, &s->closings)
    {
        struct closing *c = container_of(at, struct closing, link);
        if (c->file == file)
            return c;
    }
    return NULL;
}

void closings_settle(struct share *s, const struct cache_file *file)
{
    struct closing *c;
    while ((c = closing_of(s, file)))
        settle(s, c);
}

void closings_done(struct share *s)
{
    struct closing *c;
    pthread_mutex_lock(&s->lock);
    while ((c = oldest(s)))
        settle(s, c);
    pthread_mutex_unlock(&s->lock);
}
