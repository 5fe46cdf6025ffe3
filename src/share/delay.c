/*
 * The pieces that wait, and the threads that write them (delay.h).
 *
 * A write goes into the piece that it adjoins or lies in, or begins a new one. Pieces of one file
 * never overlap, so they may be under way together and arrive in any order: a write that would
 * overlap one which is no longer to be changed waits until that is written. A piece leaves when it
 * is full, when it has waited for WriteDelay, or when it is `due`, because somebody wants it
 * written or needs its room. Whoever wants a file written writes its pieces himself, too: what is
 * small costs no other thread's time.
 *
 * Data is copied into a piece without the lock; the piece is `filling` meanwhile, and neither
 * leaves nor takes other data. The memory of pieces is used again, until nothing has waited for a
 * second.
 *
 * The open that wrote a piece stays while the piece does, for share_close has it written first.
 */
#include "share/delay.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_PIECES = DELAY_MAX / DELAY_PIECE, ALL_PIECES = DELAY_ALL / DELAY_PIECE };

#define SPARE_NS NS_PER_SEC

struct piece {
    struct list link;      /* in delayed->pieces, oldest first; a spare one in delays->spare */
    struct share_file *by; /* who wrote it */
    uint64_t serial;
    uint64_t since; /* when its first byte came */
    uint64_t offset;
    size_t len;
    bool due, filling, sent;
    _Alignas(16) uint8_t data[DELAY_PIECE]; /* by itself, since it is filled without the lock */
};

/* What waits of one file. All of it: protected by share->lock. */
struct delayed {
    struct list link; /* in delays->files */
    struct cache_file *file;
    struct list pieces;
    unsigned count, waiters;
    unsigned failures;
    int error; /* the last one */
};

/* ---- what waits; all with the lock ---- */

static struct delayed *find(const struct share *s, const struct cache_file *file)
{
    struct list *at;
    list_for_each(at, &s->delays.files)
    {
        struct delayed *d = container_of(at, struct delayed, link);
        if (d->file == file)
            return d;
    }
    return NULL;
}

static struct delayed *find_or_make(struct share *s, struct cache_file *file)
{
    struct delayed *d = find(s, file);
    if (d || !(d = calloc(1, sizeof *d)))
        return d;
    d->file = file;
    list_init(&d->pieces);
    list_add_tail(&s->delays.files, &d->link);
    return d;
}

static void let_go(struct delayed *d)
{
    if (d->count || d->waiters)
        return;
    list_del(&d->link);
    free(d);
}

static struct piece *piece_of(struct list *link)
{
    return container_of(link, struct piece, link);
}

static struct piece *piece_new(struct share *s, struct delayed *d, struct share_file *by,
                               uint64_t offset)
{
    struct delays *all = &s->delays;
    struct piece *p;
    if (list_empty(&all->spare)) {
        p = malloc(sizeof *p);
        if (!p)
            return NULL;
        list_init(&p->link);
    } else {
        p = piece_of(all->spare.next);
        list_del(&p->link);
    }
    p->by = by;
    p->serial = ++all->serial;
    p->since = clock_now();
    p->offset = offset;
    p->len = 0;
    p->due = p->filling = p->sent = false;
    list_add_tail(&d->pieces, &p->link);
    d->count++;
    all->count++;
    return p;
}

static void piece_done(struct share *s, struct delayed *d, struct piece *p)
{
    list_del(&p->link);
    list_add_tail(&s->delays.spare, &p->link);
    d->count--;
    if (--s->delays.count == 0)
        s->delays.quiet_since = clock_now();
    pthread_cond_broadcast(&s->delays.done);
}

static void free_spares(struct share *s)
{
    while (!list_empty(&s->delays.spare)) {
        struct piece *p = piece_of(s->delays.spare.next);
        list_del(&p->link);
        free(p);
    }
}

bool delay_pending(const struct share *s, const struct cache_file *file)
{
    const struct delayed *d = find(s, file);
    return d && d->count;
}

uint64_t delay_waiting(const struct share *s)
{
    struct list *file, *at;
    uint64_t bytes = 0;
    list_for_each(file, &s->delays.files)
    {
        const struct delayed *d = container_of(file, struct delayed, link);
        list_for_each(at, &d->pieces)
        {
            bytes += piece_of(at)->len;
        }
    }
    return bytes;
}

/* ---- errors ---- */

static void keep_text(struct share *s, const char *text)
{
    struct delays *all = &s->delays;
    char *line;
    if (all->text_count < DELAY_TEXTS && asprintf(&line, "what was written is lost: %s", text) >= 0)
        all->texts[all->text_count++] = line;
    else
        all->texts_left_out++;
}

/* With the lock. Each open that may write is to hear of it: the kernel writes the pages of a
 * mapping by any of them. */
static void failed(struct share *s, struct delayed *d, const struct piece *p,
                   const struct error *why)
{
    struct list *at;
    bool news = false;
    list_for_each(at, &p->by->opened->files)
    {
        struct share_file *f = container_of(at, struct share_file, link);
        if (!f->delays || f->late)
            continue;
        f->late = f->late_sync = why->code;
        news = true;
    }
    d->error = why->code;
    d->failures++;
    if (news) /* else somebody has still to be told of one before */
        keep_text(s, why->text);
}

int delay_error(struct share *s, struct share_file *f)
{
    pthread_mutex_lock(&s->lock);
    int r = f->late;
    pthread_mutex_unlock(&s->lock);
    return r;
}

int delay_write_error(struct share *s, struct share_file *f)
{
    pthread_mutex_lock(&s->lock);
    int r = f->late;
    f->late = 0;
    pthread_mutex_unlock(&s->lock);
    return r;
}

int delay_sync_error(struct share *s, struct share_file *f)
{
    pthread_mutex_lock(&s->lock);
    int r = f->late_sync;
    f->late = f->late_sync = 0;
    pthread_mutex_unlock(&s->lock);
    return r;
}

void share_lost_data(struct share *s, void (*line)(void *user, const char *text), void *user)
{
    char *texts[DELAY_TEXTS], more[80];
    struct delays *all = &s->delays;
    pthread_mutex_lock(&s->lock);
    unsigned count = all->text_count, left_out = all->texts_left_out;
    memcpy(texts, all->texts, count * sizeof *texts);
    all->text_count = all->texts_left_out = 0;
    pthread_mutex_unlock(&s->lock);
    for (unsigned i = 0; i < count; i++) {
        line(user, texts[i]);
        free(texts[i]);
    }
    if (left_out) {
        snprintf(more, sizeof more, "what was written is lost of %u more files", left_out);
        line(user, more);
    }
}

/* ---- writing ---- */

static int write_whole(struct share *s, const struct piece *p, struct error *err)
{
    size_t done = 0;
    while (done < p->len) {
        int64_t n = share_write_now(s, p->by, p->data + done, p->len - done, p->offset + done, err);
        if (n < 0)
            return (int)n;
        done += (size_t)n; /* never 0: client_write */
    }
    return 0;
}

/* With the lock, not while it is under way. */
static void send_piece(struct share *s, struct delayed *d, struct piece *p)
{
    struct error why = {0};
    p->sent = true;
    list_del(&d->link); /* the other files' turn */
    list_add_tail(&s->delays.files, &d->link);
    s->delays.sent++;
    pthread_mutex_unlock(&s->lock);
    int r = write_whole(s, p, &why);
    pthread_mutex_lock(&s->lock);
    if (r < 0)
        failed(s, d, p, &why);
    piece_done(s, d, p);
    let_go(d);
}

static uint64_t delay_ns(const struct share *s)
{
    return s->options.settings.write_delay * NS_PER_SEC;
}

/* The oldest that may leave; else *inout_until is moved to when there will be one. With the lock.
 */
static struct piece *ready_of(const struct share *s, struct delayed *d, uint64_t now,
                              uint64_t *inout_until)
{
    struct list *at;
    list_for_each(at, &d->pieces)
    {
        struct piece *p = piece_of(at);
        if (p->filling || p->sent)
            continue;
        uint64_t until = p->since + delay_ns(s);
        if (p->due || p->len == DELAY_PIECE || until <= now)
            return p;
        if (until < *inout_until)
            *inout_until = until;
    }
    return NULL;
}

static struct piece *ready_of_any(struct share *s, struct delayed **ret, uint64_t *ret_until)
{
    struct list *at;
    uint64_t now = clock_now();
    *ret_until = CLOCK_NEVER;
    list_for_each(at, &s->delays.files)
    {
        *ret = container_of(at, struct delayed, link);
        struct piece *p = ready_of(s, *ret, now, ret_until);
        if (p)
            return p;
    }
    return NULL;
}

/* ---- the threads ---- */

static void sleep_until(struct share *s, uint64_t until)
{
    struct delays *all = &s->delays;
    const struct timespec at = clock_timespec(until);
    all->idle++;
    if (until == CLOCK_NEVER) {
        pthread_cond_wait(&all->work, &s->lock);
    } else {
        all->timers++;
        pthread_cond_timedwait(&all->work, &s->lock, &at);
        all->timers--;
    }
    all->idle--;
}

static void *run(void *user)
{
    struct share *s = user;
    struct delays *all = &s->delays;
    struct delayed *d;
    uint64_t until;
    pthread_mutex_lock(&s->lock);
    while (!all->stop) {
        struct piece *p = ready_of_any(s, &d, &until);
        if (!all->count && !list_empty(&all->spare))
            until = all->quiet_since + SPARE_NS;
        if (p)
            send_piece(s, d, p);
        else if (!all->count && until <= clock_now())
            free_spares(s);
        else
            sleep_until(s, until);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* With the lock. */
static bool start_thread(struct share *s)
{
    struct delays *all = &s->delays;
    sigset_t blocked, before;
    sigfillset(&blocked);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    if (pthread_create(&all->threads[all->thread_count], NULL, run, s) == 0)
        all->thread_count++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return all->thread_count;
}

/* With the lock: there is one more piece that may leave. */
static void wake(struct share *s)
{
    struct delays *all = &s->delays;
    if (all->idle)
        pthread_cond_signal(&all->work);
    else if (all->thread_count < DELAY_THREADS)
        start_thread(s);
}

static void make_due(struct share *s, struct delayed *d)
{
    struct list *at;
    list_for_each(at, &d->pieces)
    {
        piece_of(at)->due = true;
    }
    if (d->count > 1 && s->delays.idle)
        pthread_cond_broadcast(&s->delays.work);
}

/* ---- taking data over; all with the lock ---- */

static bool may_delay(struct share *s, const struct share_file *f)
{
    return f->delays && delay_ns(s) && !f->late && promise_may_delay(s, f->file) &&
           (s->delays.thread_count || start_thread(s));
}

static bool overlaps(const struct piece *p, uint64_t offset, size_t len)
{
    return p->offset < offset + len && offset < p->offset + p->len;
}

/* The piece that these bytes, or the first *inout_len of them, may go into. */
static struct piece *fitting(struct delayed *d, uint64_t offset, size_t *inout_len)
{
    struct list *at;
    list_for_each(at, &d->pieces)
    {
        struct piece *p = piece_of(at);
        size_t room = p->due ? p->len : DELAY_PIECE;
        if (p->filling || p->sent || offset < p->offset || offset > p->offset + p->len ||
            offset - p->offset >= room)
            continue;
        room -= (size_t)(offset - p->offset);
        if (*inout_len > room)
            *inout_len = room;
        return p;
    }
    return NULL;
}

static bool overlaps_another(const struct delayed *d, const struct piece *but, uint64_t offset,
                             size_t len)
{
    struct list *at;
    list_for_each(at, &d->pieces)
    {
        const struct piece *p = piece_of(at);
        if (p != but && overlaps(p, offset, len))
            return true;
    }
    return false;
}

/* Everybody has to make room. */
static void make_all_due(struct share *s)
{
    struct list *at;
    list_for_each(at, &s->delays.files)
    {
        make_due(s, container_of(at, struct delayed, link));
    }
    pthread_cond_broadcast(&s->delays.work);
}

/* Where these bytes go, or the first *inout_len of them. -EAGAIN: something has to be written
 * before, and is about to be. */
static int place(struct share *s, struct share_file *f, uint64_t offset, size_t *inout_len,
                 struct piece **ret)
{
    struct delayed *d = find_or_make(s, f->file);
    if (!d)
        return -ENOMEM;
    if (*inout_len > DELAY_PIECE)
        *inout_len = DELAY_PIECE;
    int r = 0;
    *ret = fitting(d, offset, inout_len);
    if (overlaps_another(d, *ret, offset, *inout_len) || (!*ret && d->count == FILE_PIECES)) {
        make_due(s, d);
        wake(s);
        r = -EAGAIN;
    } else if (!*ret && s->delays.count == ALL_PIECES) {
        make_all_due(s);
        r = -EAGAIN;
    } else if (!*ret && !(*ret = piece_new(s, d, f, offset))) {
        r = -ENOMEM;
    }
    let_go(d);
    return r;
}

/* How many of the bytes were taken over, from the start; 0: none can be. */
static size_t take(struct share *s, struct share_file *f, const uint8_t *buf, size_t len,
                   uint64_t offset)
{
    struct piece *p = NULL;
    size_t n = 0;
    int r = -EAGAIN;
    while (r == -EAGAIN) {
        if (!may_delay(s, f))
            return 0;
        n = len;
        r = place(s, f, offset, &n, &p);
        if (r == -EAGAIN)
            pthread_cond_wait(&s->delays.done, &s->lock);
    }
    if (r < 0)
        return 0;
    size_t at = (size_t)(offset - p->offset);
    bool was_new = p->len == 0;
    if (p->len < at + n)
        p->len = at + n;
    p->filling = true;
    share_changed_by(s, f);
    pthread_mutex_unlock(&s->lock);
    memcpy(p->data + at, buf, n);
    pthread_mutex_lock(&s->lock);
    p->filling = false;
    if (p->due) /* it is waited for */
        pthread_cond_broadcast(&s->delays.done);
    if (p->due || p->len == DELAY_PIECE)
        wake(s);
    else if (was_new && !s->delays.timers && s->delays.idle)
        pthread_cond_signal(&s->delays.work); /* who waits for nothing yet */
    return n;
}

size_t delay_write(struct share *s, struct share_file *f, const void *buf, size_t len,
                   uint64_t offset)
{
    const uint8_t *bytes = buf;
    size_t done = 0, n = 1;
    if (len > DELAY_MAX / 2 || offset > INT64_MAX - len)
        return 0;
    pthread_mutex_lock(&s->lock);
    while (done < len && n) {
        n = take(s, f, bytes + done, len - done, offset + done);
        done += n;
    }
    s->delays.taken += done == len;
    pthread_mutex_unlock(&s->lock);
    return done;
}

/* ---- having it written ---- */

static bool any_until(const struct delayed *d, uint64_t serial)
{
    return d->count && piece_of(d->pieces.next)->serial <= serial;
}

int delay_settle(struct share *s, struct cache_file *file)
{
    struct delayed *d = list_empty(&s->delays.files) ? NULL : find(s, file);
    if (!d)
        return 0;
    const uint64_t serial = s->delays.serial;
    const unsigned failures = d->failures;
    uint64_t until = 0;
    d->waiters++;
    make_due(s, d);
    while (any_until(d, serial)) {
        struct piece *p = ready_of(s, d, 0, &until);
        if (p)
            send_piece(s, d, p);
        else
            pthread_cond_wait(&s->delays.done, &s->lock);
    }
    int r = d->failures == failures ? 0 : d->error;
    d->waiters--;
    let_go(d);
    return r;
}

int delay_flush(struct share *s, struct cache_file *file)
{
    pthread_mutex_lock(&s->lock);
    int r = delay_settle(s, file);
    pthread_mutex_unlock(&s->lock);
    return r;
}

/* With the lock: the next file that a listing of the directory tells of, a reference. */
static struct cache_file *next_in(struct share *s, const struct cache_file *dir)
{
    struct list *at;
    list_for_each(at, &s->delays.files)
    {
        struct delayed *d = container_of(at, struct delayed, link);
        const struct file_attr *heard = cache_file_heard(d->file);
        bool elsewhere = heard && heard->links != 1; /* perhaps here, under another name */
        if (d->count && (elsewhere || cache_file_parent(d->file) == dir))
            return cache_file_ref(d->file);
    }
    return NULL;
}

void delay_settle_in(struct share *s, const struct cache_file *dir)
{
    struct cache_file *file;
    /* so many turns: who goes on writing is not waited for without end */
    for (unsigned i = 0; i < ALL_PIECES && (file = next_in(s, dir)); i++) {
        delay_settle(s, file);
        cache_file_unref(s->cache, file);
    }
}

/* ---- the life of all ---- */

void delays_init(struct share *s)
{
    struct delays *all = &s->delays;
    list_init(&all->files);
    list_init(&all->spare);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&all->work, &monotonic);
    pthread_cond_init(&all->done, NULL);
    pthread_condattr_destroy(&monotonic);
    s->delayed.pending = delay_pending;
    s->delayed.flush = delay_flush;
}

void delays_done(struct share *s)
{
    struct delays *all = &s->delays;
    pthread_mutex_lock(&s->lock);
    all->stop = true;
    pthread_cond_broadcast(&all->work);
    pthread_mutex_unlock(&s->lock);
    for (unsigned i = 0; i < all->thread_count; i++)
        pthread_join(all->threads[i], NULL);
    free_spares(s);
    for (unsigned i = 0; i < all->text_count; i++)
        free(all->texts[i]);
    pthread_cond_destroy(&all->work);
    pthread_cond_destroy(&all->done);
}
