/*
 * One file, from one side to the other.
 *
 * It is written to NAME.TAG.part beside its place (part.h) and takes its name when it is whole: its
 * length is what the source's is, and the source's size and time are what they were at the
 * beginning. What fails before that leaves the part, and the same command goes on behind it:
 * exactly where a part here ends, since those are written in order, and COPY_WINDOW before the end
 * of one on a server, where several writes were under way when it was cut off.
 *
 * A file of more than one piece is copied by lanes: each takes the next piece, reads it, and writes
 * it, so that the server, the wire and the disk are all busy. Between two files of one connection
 * the server is asked to copy by itself first.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/copy_internal.h"
#include "cli/part.h"

struct transfer {
    struct copy *c;
    const struct place *source, *target;
    struct place_file *from, *to;
    struct larder_stat like; /* the source, at the beginning */
    size_t piece;
    bool in_order;
    const uint64_t *counted; /* the source's size as it stands in the total */

    pthread_mutex_t lock;
    pthread_cond_t turn;
    uint64_t next; /* protected by lock, as all below: what no lane has taken yet */
    uint64_t done; /* written, from the start; in order only where in_order */
    int code;      /* the first failure */
    bool lost;     /* it was on a side that is gone */
    struct larder_error err;
};

static int say(struct larder_error *err, int code, const char *path, const char *what)
{
    *err = (struct larder_error){.code = code};
    snprintf(err->text, sizeof err->text, "%.360s: %s", path, what);
    return code;
}

static const char *shown(const struct place *p)
{
    return *p->path ? p->path : "/";
}

static int changed(const struct transfer *t, struct larder_error *err)
{
    return say(err, -ESTALE, shown(t->source), "has changed while it was copied; nothing was kept");
}

/* ---- pieces ---- */

/* With the lock: the first failure counts. */
static void fail(struct transfer *t, int code, const struct larder_error *err)
{
    if (t->code == 0) {
        t->code = code;
        t->err = *err;
    }
    pthread_cond_broadcast(&t->turn);
}

/* False: nothing more to be taken. */
static bool take(struct transfer *t, uint64_t *ret_offset, size_t *ret_len)
{
    bool stopped = copy_stopped(t->c);
    pthread_mutex_lock(&t->lock);
    bool any = t->code == 0 && t->next < t->like.size && !stopped;
    if (any) {
        uint64_t left = t->like.size - t->next;
        *ret_offset = t->next;
        *ret_len = left < t->piece ? (size_t)left : t->piece;
        t->next += *ret_len;
    }
    pthread_mutex_unlock(&t->lock);
    return any;
}

/* Waits until all before it is written; false where that failed. */
static bool wait_turn(struct transfer *t, uint64_t offset)
{
    pthread_mutex_lock(&t->lock);
    while (t->in_order && t->code == 0 && t->done != offset)
        pthread_cond_wait(&t->turn, &t->lock);
    bool good = t->code == 0;
    pthread_mutex_unlock(&t->lock);
    return good;
}

static int copy_piece(struct transfer *t, void *buf, uint64_t offset, size_t len,
                      size_t *ret_written, struct larder_error *err)
{
    *ret_written = 0;
    int64_t n = place_read(t->from, buf, len, offset, err);
    if (n < 0)
        return (int)n;
    if ((size_t)n < len)
        return changed(t, err);
    if (!wait_turn(t, offset))
        return -ECANCELED; /* whoever failed has said why */
    return place_write(t->to, buf, len, offset, ret_written, err);
}

static void *lane(void *user)
{
    struct transfer *t = user;
    struct copy *c = t->c;
    uint64_t offset;
    size_t len, written;
    char *buf = malloc(t->piece);
    struct larder_error err = {.code = -ENOMEM, .text = "out of memory"};
    if (!buf) {
        pthread_mutex_lock(&t->lock);
        fail(t, -ENOMEM, &err);
        pthread_mutex_unlock(&t->lock);
        return NULL;
    }
    while (take(t, &offset, &len)) {
        int r = copy_piece(t, buf, offset, len, &written, &err);
        pthread_mutex_lock(&t->lock);
        t->done += written;
        if (r < 0)
            fail(t, r, &err);
        pthread_cond_broadcast(&t->turn);
        pthread_mutex_unlock(&t->lock);
        pthread_mutex_lock(&c->lock);
        c->counts.bytes += written;
        c->counts.passed += written;
        pthread_mutex_unlock(&c->lock);
    }
    free(buf);
    return NULL;
}

/* A multiple of what one request carries, so that no request is cut short. */
static size_t piece_size(const struct place *source, const struct place *target)
{
    int64_t max = -1;
    if (target->l)
        max = larder_counter(target->l, "connection.max_write");
    if (max <= 0 && source->l)
        max = larder_counter(source->l, "connection.max_read");
    if (max <= 0 || max > COPY_PIECE_MAX)
        return COPY_PIECE;
    return max >= COPY_PIECE ? (size_t)max : COPY_PIECE / (size_t)max * (size_t)max;
}

/* From t->next to the end. */
static void run_lanes(struct transfer *t)
{
    uint64_t left = t->like.size - t->next;
    if (left == 0)
        return;
    t->piece = left > COPY_PIECE ? piece_size(t->source, t->target) : (size_t)left;
    unsigned lanes = left / t->piece >= COPY_LANES ? COPY_LANES : (unsigned)(left / t->piece);
    lanes += lanes < COPY_LANES && left % t->piece;
    pthread_t thread[COPY_LANES];
    unsigned started = 0;
    copy_memory_take(t->c, lanes * t->piece);
    while (started + 1 < lanes && pthread_create(&thread[started], NULL, lane, t) == 0)
        started++;
    lane(t);
    for (unsigned i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
    copy_memory_give(t->c, lanes * t->piece);
}

#define ON_SERVER (64u << 20) /* at a time, so that a signal is not waited for longer */

/* Whether the server copied, or failed to in a way that would not help anybody else. */
static bool copy_on_server(struct transfer *t)
{
    struct larder_file *from = place_remote(t->from), *to = place_remote(t->to);
    if (!from || !to || t->source->l != t->target->l || t->next)
        return false;
    while (t->done < t->like.size && !copy_stopped(t->c)) {
        struct larder_error err;
        uint64_t left = t->like.size - t->done;
        int64_t n =
            larder_copy(from, t->done, to, t->done, left < ON_SERVER ? left : ON_SERVER, &err);
        if (n == -EOPNOTSUPP && t->done == 0)
            return false;
        if (n == 0)
            n = changed(t, &err);
        if (n < 0) {
            fail(t, (int)n, &err);
            return true;
        }
        t->done += (uint64_t)n;
        copy_count(t->c, &t->c->counts.bytes, (uint64_t)n);
        copy_count(t->c, &t->c->counts.passed, (uint64_t)n);
    }
    return true;
}

/* ---- beginning and end ---- */

/* The total was made from what the walk saw. */
static void correct_total(struct transfer *t)
{
    if (*t->counted != t->like.size)
        copy_count(t->c, &t->c->counts.total, t->like.size - *t->counted);
}

/* Opens the part and finds out how much of it is good. */
static int open_part(struct transfer *t, const struct place *part, struct larder_error *err)
{
    uint64_t there;
    int r = place_open_part(part, &t->to, &there, err);
    if (r == -EBUSY)
        return say(err, r, shown(t->target), "another larder is copying it");
    if (r < 0)
        return r;
    t->in_order = place_in_order(t->to);
    if (there > t->like.size) {
        r = place_truncate(t->to, 0, err);
        there = 0;
    }
    uint64_t doubtful = t->in_order ? 0 : COPY_WINDOW;
    t->next = t->done = there > doubtful ? there - doubtful : 0;
    copy_count(t->c, &t->c->counts.resumed, t->next);
    copy_count(t->c, &t->c->counts.passed, t->next);
    return r;
}

static bool looks_the_same(const struct larder_stat *a, const struct larder_stat *b)
{
    return a->size == b->size && a->written.tv_sec == b->written.tv_sec &&
           a->written.tv_nsec == b->written.tv_nsec;
}

/* A server may tell the time of the last write that it knew when the file was opened (Samba, of
 * writes that did not come through it); a changed size it always tells. */
static int check_source(struct transfer *t, struct larder_error *err)
{
    struct larder_stat now;
    int r = place_file_stat(t->from, &now, err);
    if (r == 0 && !looks_the_same(&now, &t->like))
        r = changed(t, err);
    return r;
}

/* The part is whole: it gets the times and the name. */
static int finish(struct transfer *t, const struct place *part, struct larder_error *err)
{
    uint64_t size;
    int r = check_source(t, err);
    if (r == 0)
        r = place_finish(t->to, &t->like, &size, err);
    if (r < 0)
        return r;
    if (size != t->like.size)
        return say(err, -ESTALE, shown(t->target), "has another length than its source; not kept");
    t->to = place_close(t->to);
    return place_rename(part, t->target->path, err);
}

/* What a person should know about a part that stays. */
static void tell_rest(const struct transfer *t, int code, struct larder_error *err)
{
    char bytes[PROGRESS_BYTES];
    if (code != -ENOSPC && code != -EDQUOT)
        return;
    snprintf(err->text, sizeof err->text,
             "%.300s: %s: %s are missing; what there is stays as a .part, and the same command "
             "goes on with it",
             shown(t->target), strerror(-code),
             progress_bytes(bytes, (double)(t->like.size - t->done)));
}

static int copy_opened(struct transfer *t, struct larder_error *err)
{
    struct larder_error ignored;
    struct place part = {t->target->l, part_name(t->target->path, t->source->path, &t->like)};
    if (!part.path)
        return say(err, -ENOMEM, shown(t->target), "out of memory");
    int r = place_may_replace(t->target, err);
    if (r == 0)
        r = open_part(t, &part, err);
    if (r == 0) {
        if (!copy_on_server(t))
            run_lanes(t);
        r = t->code;
        if (r < 0)
            *err = t->err;
        else if (t->done < t->like.size)
            r = -EINTR; /* stopped */
    }
    if (r == 0)
        r = finish(t, &part, err);
    else
        tell_rest(t, r, err);
    t->to = place_close(t->to);
    if (r == -ESTALE)
        place_remove(&part, false, &ignored);
    free((char *)part.path);
    return r;
}

/* As far as is believed; the source is not opened for that. */
static bool up_to_date(const struct copy *c, const struct place *from, const struct place *to)
{
    struct larder_stat source, target;
    struct larder_error ignored;
    return c->o.update && place_stat(from, true, &source, &ignored) == 0 &&
           place_stat(to, false, &target, &ignored) == 0 && !target.is_dir && !target.is_link &&
           looks_the_same(&source, &target);
}

static void init(struct transfer *t, struct copy *c)
{
    *t = (struct transfer){.c = c};
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->turn, NULL);
}

static void done(struct transfer *t)
{
    place_close(t->to);
    place_close(t->from);
    pthread_cond_destroy(&t->turn);
    pthread_mutex_destroy(&t->lock);
}

/* Failures that the next file would meet too. */
static bool is_for_all(const struct transfer *t, int code)
{
    return code == -ENOSPC || code == -EDQUOT || place_lost(t->source) || place_lost(t->target);
}

static void report(struct transfer *t, int code, const struct larder_error *err)
{
    if (code == 0)
        copy_count(t->c, &t->c->counts.files, 1);
    else if (code == -EINTR)
        copy_failed(t->c, &(const struct larder_error){.text = "stopped"}, true);
    else
        copy_failed(t->c, err, is_for_all(t, code));
}

static void copy_stream(struct transfer *t);

void copy_file(struct copy *c, const struct place *from, const struct place *to,
               const uint64_t *counted)
{
    struct transfer t;
    struct larder_error err = {0};
    if (up_to_date(c, from, to)) {
        copy_count(c, &c->counts.skipped, 1);
        copy_count(c, &c->counts.passed, *counted);
        return;
    }
    init(&t, c);
    t.source = from;
    t.target = to;
    t.counted = counted;
    int r = place_open(from, &t.from, &t.like, &err);
    if (r == 0 && t.like.attributes & PLACE_DEVICE && !from->l) {
        copy_stream(&t);
        done(&t);
        return;
    }
    if (r == 0) {
        correct_total(&t);
        r = copy_opened(&t, &err);
    }
    report(&t, r, &err);
    done(&t);
}

/* ---- streams: what has no size until it ends ---- */

#define STOP_MS 200 /* after which a signal is looked for */

/* As much as fits, so that a pipe's small pieces become large writes. */
static int64_t fill(struct transfer *t, char *buf, struct larder_error *err)
{
    size_t len = 0;
    while (len < COPY_PIECE) {
        if (copy_stopped(t->c))
            return -EINTR;
        int64_t n = place_read_some(t->from, buf + len, COPY_PIECE - len, STOP_MS, err);
        if (n < 0 && n != -EAGAIN)
            return n;
        if (n == 0)
            break;
        len += n > 0 ? (size_t)n : 0;
    }
    return (int64_t)len;
}

static int pour(struct transfer *t, struct larder_error *err)
{
    char *buf = malloc(COPY_PIECE);
    if (!buf)
        return say(err, -ENOMEM, shown(t->target), "out of memory");
    int r = 0;
    for (int64_t n = 1; r == 0 && n > 0;) {
        size_t written;
        n = fill(t, buf, err);
        if (n > 0)
            r = place_write(t->to, buf, (size_t)n, t->done, &written, err);
        if (n < 0)
            r = (int)n;
        if (r == 0 && n > 0) {
            t->done += (uint64_t)n;
            copy_count(t->c, &t->c->counts.bytes, (uint64_t)n);
            copy_count(t->c, &t->c->counts.passed, (uint64_t)n);
        }
    }
    free(buf);
    return r;
}

/* Nobody can go on with such a part: it goes. */
static void copy_stream(struct transfer *t)
{
    struct larder_error err, ignored;
    uint64_t size;
    struct place part = {t->target->l, part_name_once(t->target->path)};
    int r = part.path ? place_may_replace(t->target, &err)
                      : say(&err, -ENOMEM, shown(t->target), "out of memory");
    if (r == 0)
        r = place_open_part(&part, &t->to, &size, &err);
    bool made = r == 0;
    if (r == 0)
        r = pour(t, &err);
    t->to = place_close(t->to);
    if (r == 0)
        r = place_rename(&part, t->target->path, &err);
    if (r < 0 && made)
        place_remove(&part, false, &ignored);
    free((char *)part.path);
    report(t, r, &err);
}

void copy_from_standard(struct copy *c, const struct place *to)
{
    static const struct place input = {NULL, "standard input"};
    struct transfer t;
    struct larder_error err;
    init(&t, c);
    t.source = &input;
    t.target = to;
    int r = place_open_standard(STDIN_FILENO, &t.from, &err);
    if (r == 0)
        copy_stream(&t);
    else
        report(&t, r, &err);
    done(&t);
}

/* In order, as into a file here, but for what is done about its name. */
void copy_to_standard(struct copy *c, const struct place *from)
{
    static const struct place output = {NULL, "standard output"};
    struct transfer t;
    struct larder_error err;
    init(&t, c);
    t.source = from;
    t.target = &output;
    t.in_order = true;
    int r = place_open(from, &t.from, &t.like, &err);
    if (r == 0)
        r = place_open_standard(STDOUT_FILENO, &t.to, &err);
    if (r == 0) {
        copy_count(c, &c->counts.total, t.like.size);
        run_lanes(&t);
        r = t.code;
        if (r < 0)
            err = t.err;
        else
            r = t.done < t.like.size ? -EINTR : check_source(&t, &err);
    }
    report(&t, r, &err);
    done(&t);
}
