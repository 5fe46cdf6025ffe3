/*
 * Single flight: two callers who want the same answer make one request.
 *
 * The first one puts a flight, which lives on its stack, into the share's list; the others wait for
 * it to land and then look at what is believed. Where the answer could not be believed (a cache is
 * off, or something changed meanwhile) each asks for itself, all at once, and nobody waits twice.
 */
#include <string.h>

#include "share/internal.h"

static struct flight *find(struct share *s, enum flight_kind kind, const struct cache_file *file,
                           const char *name, size_t len)
{
    struct list *item;
    list_for_each(item, &s->flights)
    {
        struct flight *f = container_of(item, struct flight, link);
        if (f->kind == kind && f->file == file && f->len == len &&
            (len == 0 || memcmp(f->name, name, len) == 0))
            return f;
    }
    return NULL;
}

bool flight_wait(struct share *s, enum flight_kind kind, const struct cache_file *file,
                 const char *name, size_t len)
{
    struct flight *f = find(s, kind, file, name, len);
    if (!f)
        return false;
    f->waiters++;
    while (!f->done)
        pthread_cond_wait(&f->landed, &s->lock);
    if (--f->waiters == 0)
        pthread_cond_broadcast(&f->landed);
    return true;
}

void flight_begin(struct share *s, struct flight *f, enum flight_kind kind,
                  const struct cache_file *file, const char *name, size_t len)
{
    *f = (struct flight){.kind = kind, .file = file, .name = name, .len = len};
    pthread_cond_init(&f->landed, NULL);
    list_add_tail(&s->flights, &f->link);
}

/* The flight is the caller's: it must not go before the last waiter has looked at it. */
void flight_end(struct share *s, struct flight *f)
{
    list_del(&f->link);
    f->done = true;
    pthread_cond_broadcast(&f->landed);
    while (f->waiters)
        pthread_cond_wait(&f->landed, &s->lock);
    pthread_cond_destroy(&f->landed);
}
