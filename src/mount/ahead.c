/*
 * See ahead.h. A window belongs to an open file and follows its reader: the chunk that is read and
 * those behind it. Chunks are numbered from the start of the file; chunk n lives in slot n modulo
 * AHEAD_CHUNKS, so that one that the reader has left makes room for the next by being overwritten.
 *
 * A reader who comes to a chunk that is being fetched waits for it. One who comes to none, or to
 * one that could not be fetched or is too old, asks the server itself, and an error is then its
 * own. What is dropped while it is fetched is thrown away when it comes: the slot has another
 * generation by then.
 */
#include "mount/ahead.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "mount/handle.h"

#define LARGE_READ   (256u << 10) /* from here on reads are left alone */
#define STREAM_BYTES (256u << 10) /* so much in order is a stream */
#define DISORDER     (512u << 10) /* the kernel's requests overtake one another by less */
#define IDLE_NS      NS_PER_SEC   /* a window that may be taken from its file */

struct chunk {
    struct list link;      /* in ahead->jobs; protected by ahead->lock */
    struct handle *handle; /* while it is a job or being fetched: a reference */
    enum { NONE, WANTED, FETCHED } state;
    uint64_t number;
    uint64_t sent;       /* when it was asked for */
    int64_t len;         /* FETCHED: bytes in it, less than AHEAD_CHUNK only at the end */
    unsigned generation; /* of the window when it was wanted */
    char *data;
};

struct window {
    struct ahead *pool; /* constant */
    struct list link;   /* in pool->windows while `in`; protected by pool->lock */
    bool in;            /* it may hold chunks; protected by pool->lock */
    uint64_t used;      /* when it was read last; protected by pool->lock */

    pthread_mutex_t lock; /* of all below */
    pthread_cond_t fetched;
    uint64_t next, streamed; /* where the reader is, and how much it has read in order */
    uint64_t end;            /* the end of the file, once a chunk has met it */
    unsigned generation;
    struct chunk chunks[AHEAD_CHUNKS];
};

/* ---- windows ---- */

struct window *ahead_window_new(struct ahead *a)
{
    struct window *w = a->lifetime_ns ? calloc(1, sizeof(*w)) : NULL;
    if (!w)
        return NULL;
    w->pool = a;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->fetched, NULL);
    list_init(&w->link);
    w->end = UINT64_MAX;
    return w;
}

/* With the window's lock. */
static void empty(struct chunk *c)
{
    free(c->data);
    c->data = NULL;
    c->state = NONE;
}

/* With the window's lock. Chunks that are being fetched are left to who fetches them. */
static void clear(struct window *w)
{
    w->generation++;
    w->end = UINT64_MAX;
    w->streamed = 0;
    for (size_t i = 0; i < AHEAD_CHUNKS; i++)
        if (w->chunks[i].state == FETCHED)
            empty(&w->chunks[i]);
    pthread_cond_broadcast(&w->fetched);
}

void ahead_window_drop(struct window *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    clear(w);
    pthread_mutex_unlock(&w->lock);
}

/* With the pool's lock. */
static void leave(struct window *w)
{
    if (w->in)
        w->pool->files--;
    w->in = false;
    list_del(&w->link);
}

struct window *ahead_window_free(struct window *w)
{
    if (!w)
        return NULL;
    pthread_mutex_lock(&w->pool->lock);
    leave(w);
    pthread_mutex_unlock(&w->pool->lock);
    clear(w);
    pthread_cond_destroy(&w->fetched);
    pthread_mutex_destroy(&w->lock);
    free(w);
    return NULL;
}

/* Whether this window may hold chunks: it does already, there is room, or another one has not been
 * read for a while. */
static bool enter(struct window *w)
{
    struct ahead *a = w->pool;
    uint64_t now = clock_now();
    pthread_mutex_lock(&a->lock);
    if (!w->in && a->files == AHEAD_FILES) {
        struct window *oldest = container_of(a->windows.next, struct window, link);
        if (now - oldest->used >= IDLE_NS) {
            leave(oldest);
            ahead_window_drop(oldest);
        }
    }
    if (!w->in && a->files < AHEAD_FILES) {
        w->in = true;
        a->files++;
    }
    bool in = w->in;
    if (in) {
        w->used = now;
        list_del(&w->link);
        list_add_tail(&a->windows, &w->link);
    }
    pthread_mutex_unlock(&a->lock);
    return in;
}

/* ---- fetching ---- */

static void fetch(struct ahead *a, struct chunk *c)
{
    struct handle *handle = c->handle;
    struct window *w = handle->window;
    char *data = malloc(AHEAD_CHUNK);
    int64_t n = -ENOMEM;
    if (data)
        n = share_read(a->share, handle->file, data, AHEAD_CHUNK, c->number * AHEAD_CHUNK, NULL);
    pthread_mutex_lock(&w->lock);
    c->handle = NULL;
    c->data = data;
    c->len = n;
    c->state = FETCHED;
    if (n < 0 || c->generation != w->generation)
        empty(c);
    else if (n < AHEAD_CHUNK)
        w->end = c->number * AHEAD_CHUNK + (uint64_t)n;
    pthread_cond_broadcast(&w->fetched);
    pthread_mutex_unlock(&w->lock);
    handle_unref(a->handles, handle);
}

static void *run(void *user)
{
    struct ahead *a = user;
    pthread_mutex_lock(&a->lock);
    while (!a->end) {
        if (list_empty(&a->jobs)) {
            pthread_cond_wait(&a->work, &a->lock);
            continue;
        }
        struct chunk *c = container_of(a->jobs.next, struct chunk, link);
        list_del(&c->link);
        pthread_mutex_unlock(&a->lock);
        fetch(a, c);
        pthread_mutex_lock(&a->lock);
    }
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

/* With the pool's lock. The threads are made when there is something to fetch for the first time;
 * with fewer than all it works too. */
static void start_threads(struct ahead *a)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (a->threads < AHEAD_THREADS && pthread_create(&a->ids[a->threads], NULL, run, a) == 0)
        a->threads++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* With the window's lock. Marks what is to be fetched behind chunk `at`; the one before it is kept,
 * for requests that were overtaken. */
static size_t choose(struct window *w, struct handle *handle, uint64_t at,
                     struct chunk *ret[static AHEAD_CHUNKS])
{
    size_t count = 0;
    for (uint64_t n = at + 1; n < at + AHEAD_CHUNKS - 1 && n * AHEAD_CHUNK < w->end; n++) {
        struct chunk *c = &w->chunks[n % AHEAD_CHUNKS];
        if (c->state == WANTED || (c->state == FETCHED && c->number == n))
            continue;
        empty(c);
        c->state = WANTED;
        c->number = n;
        c->handle = handle;
        c->sent = clock_now();
        c->generation = w->generation;
        list_init(&c->link);
        ret[count++] = c;
    }
    return count;
}

static void fetch_behind(struct ahead *a, struct handle *handle, uint64_t at)
{
    struct chunk *wanted[AHEAD_CHUNKS];
    struct window *w = handle->window;
    if (!enter(w))
        return;
    pthread_mutex_lock(&w->lock);
    size_t count = choose(w, handle, at, wanted);
    pthread_mutex_unlock(&w->lock);
    for (size_t i = 0; i < count; i++)
        handle_ref(a->handles, handle);
    pthread_mutex_lock(&a->lock);
    start_threads(a);
    for (size_t i = 0; i < count; i++)
        list_add_tail(&a->jobs, &wanted[i]->link);
    if (count)
        pthread_cond_broadcast(&a->work);
    pthread_mutex_unlock(&a->lock);
}

/* ---- reading ---- */

/* With the window's lock. Whether the reader goes on where it was, and for long enough. */
static bool is_stream(struct window *w, uint64_t offset, size_t len)
{
    if (offset > w->next + DISORDER || offset + DISORDER < w->next) {
        clear(w);
        w->next = offset;
    }
    w->streamed += len;
    if (offset + len > w->next)
        w->next = offset + len;
    return w->streamed >= STREAM_BYTES;
}

/* With the window's lock. All of what is asked for, or false: the server has to be asked. */
static bool take(struct window *w, size_t len, uint64_t offset, struct bytes *ret)
{
    uint64_t n = offset / AHEAD_CHUNK, at = offset % AHEAD_CHUNK;
    struct chunk *c = &w->chunks[n % AHEAD_CHUNKS];
    unsigned generation = w->generation;
    while (c->state == WANTED && c->number == n && c->generation == generation &&
           w->generation == generation)
        pthread_cond_wait(&w->fetched, &w->lock);
    if (c->state != FETCHED || c->number != n)
        return false;
    if (clock_now() - c->sent >= w->pool->lifetime_ns) {
        empty(c);
        return false;
    }
    char *buf = at + len <= (uint64_t)c->len ? malloc(len) : NULL;
    if (!buf)
        return false;
    memcpy(buf, c->data + at, len);
    *ret = (struct bytes){buf, len, free, buf};
    return true;
}

/* What was read ahead, where it holds all that is asked for. */
static bool read_window(struct ahead *a, struct handle *handle, size_t len, uint64_t offset,
                        struct bytes *ret)
{
    struct window *w = handle->window;
    if (!w || len == 0 || len >= LARGE_READ || offset >= INT64_MAX - AHEAD_CHUNK * AHEAD_CHUNKS)
        return false;
    pthread_mutex_lock(&w->lock);
    bool stream = is_stream(w, offset, len);
    pthread_mutex_unlock(&w->lock);
    if (stream)
        fetch_behind(a, handle, offset / AHEAD_CHUNK);
    pthread_mutex_lock(&w->lock);
    bool there = take(w, len, offset, ret);
    pthread_mutex_unlock(&w->lock);
    return there;
}

int ahead_read(struct ahead *a, struct handle *handle, size_t len, uint64_t offset,
               struct bytes *ret)
{
    if (read_window(a, handle, len, offset, ret))
        return 0;
    return share_read_bytes(a->share, handle->file, len, offset, ret, NULL);
}

/* ---- beginning and end ---- */

void ahead_init(struct ahead *a, struct share *share, struct handles *handles, uint64_t lifetime_ns)
{
    *a = (struct ahead){.share = share, .handles = handles, .lifetime_ns = lifetime_ns};
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->work, NULL);
    list_init(&a->jobs);
    list_init(&a->windows);
}

void ahead_stop(struct ahead *a)
{
    struct list *item, *after;
    pthread_mutex_lock(&a->lock);
    a->end = true;
    pthread_cond_broadcast(&a->work);
    pthread_mutex_unlock(&a->lock);
    for (unsigned i = 0; i < a->threads; i++)
        pthread_join(a->ids[i], NULL);
    list_for_each_safe(item, after, &a->jobs)
    {
        struct chunk *c = container_of(item, struct chunk, link);
        list_del(&c->link);
        handle_unref(a->handles, c->handle);
    }
}

void ahead_done(struct ahead *a)
{
    pthread_cond_destroy(&a->work);
    pthread_mutex_destroy(&a->lock);
}
