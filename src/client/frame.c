/*
 * Received frames, and the large ones among them that are kept for the next.
 *
 * A frame of a megabyte is a mapping of its own to malloc: made, faulted in page by page and given
 * back for each reply, that costs more than the data in it. So a few large ones stay with their
 * connection, as many as one call has under way.
 */
#include <stdlib.h>

#include "client/conn.h"

enum { LARGE = 2 * CREDIT_PAYLOAD }; /* bytes from which a frame is kept */

void frame_pool_init(struct frame_pool *p)
{
    pthread_mutex_init(&p->lock, NULL);
    p->count = 0;
}

void frame_pool_done(struct frame_pool *p)
{
    while (p->count)
        free(p->spare[--p->count]);
    pthread_mutex_destroy(&p->lock);
}

static struct frame *take_spare(struct frame_pool *p, size_t len)
{
    struct frame *f = NULL;
    pthread_mutex_lock(&p->lock);
    if (p->count && p->spare[p->count - 1]->cap >= len)
        f = p->spare[--p->count];
    pthread_mutex_unlock(&p->lock);
    return f;
}

static bool keep_spare(struct frame_pool *p, struct frame *f)
{
    pthread_mutex_lock(&p->lock);
    bool kept = p->count < FRAMES_KEPT;
    if (kept)
        p->spare[p->count++] = f;
    pthread_mutex_unlock(&p->lock);
    return kept;
}

struct frame *frame_new(struct frame_pool *p, size_t len)
{
    size_t cap = len < LARGE || len > FRAME_KEPT_MAX ? len : FRAME_KEPT_MAX;
    struct frame *f = cap == FRAME_KEPT_MAX ? take_spare(p, len) : NULL;
    if (!f)
        f = malloc(sizeof(*f) + cap);
    if (!f)
        return NULL;
    atomic_init(&f->refs, 1);
    f->pool = cap == FRAME_KEPT_MAX ? p : NULL;
    f->cap = cap;
    f->len = len;
    return f;
}

struct frame *frame_ref(struct frame *f)
{
    atomic_fetch_add_explicit(&f->refs, 1, memory_order_relaxed);
    return f;
}

struct frame *frame_unref(struct frame *f)
{
    if (f && atomic_fetch_sub_explicit(&f->refs, 1, memory_order_acq_rel) == 1)
        if (!f->pool || !keep_spare(f->pool, f))
            free(f);
    return NULL;
}
