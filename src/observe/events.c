/*
 * Events as JSON lines, in a file and to a function that listens.
 *
 * Callers format their line into a buffer under a lock and go on; a thread takes the buffer away
 * and writes it while callers fill the other one: once a second, or as soon as it holds 64 KiB; at
 * once where somebody listens. So a slow disk or listener costs a caller nothing. What comes while
 * both buffers are full, and what the disk refuses, is lost, counted, and told by the counter
 * alone: a client must not stop because its trace does.
 *
 * The file is opened for appending, so that several mounts may share one: every write holds whole
 * lines. A write that breaks off inside a line is followed by a newline before the next one, so
 * that a reader loses that line and no other.
 */
#include "observe/events.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ntstatus.h"

#define FLUSH_AT   (64u << 10)
#define BUFFER     (1u << 20)
#define FLUSH_EACH NS_PER_SEC
#define STUCK_MS   1000 /* a pipe whose reader does not read for this long loses the lines */

struct events {
    int fd;                                     /* -1: no file */
    void (*line)(void *user, const char *line); /* NULL: nobody listens; called by the thread */
    void *user;
    size_t flush_at; /* the thread is woken when so many bytes wait */
    uint64_t *lost;  /* the owner's counter, relaxed atomic */
    pthread_t thread;
    bool torn; /* the file ends inside a line; writer thread alone */

    pthread_mutex_t lock;
    pthread_cond_t wake; /* enough to write, or the end */
    char *fill;          /* what callers write to; protected by lock */
    size_t used;         /* protected by lock */
    bool stop;           /* protected by lock */
    time_t second;       /* the second that `stamp` spells; protected by lock */
    char stamp[24];      /* protected by lock */

    char *drain; /* what the thread writes from; swapped with `fill` under the lock */
};

/* ---- formatting ---- */

struct line {
    char *p, *end; /* `p` stays below `end` as long as the line fits */
};

static void put(struct line *l, const char *s)
{
    size_t n = strlen(s);
    if (n <= (size_t)(l->end - l->p))
        memcpy(l->p, s, n), l->p += n;
    else
        l->p = l->end;
}

/* The length of the UTF-8 character at `s`, 0 where there is none (a lone surrogate of WTF-8 too).
 */
static size_t utf8_length(const unsigned char *s)
{
    static const unsigned char low[] = {0x80, 0xa0, 0x90}; /* by lead: others, E0, F0 */
    size_t n = s[0] < 0x80   ? 1
               : s[0] < 0xc2 ? 0
               : s[0] < 0xe0 ? 2
               : s[0] < 0xf0 ? 3
               : s[0] < 0xf5 ? 4
                             : 0;
    if (n < 2)
        return n;
    unsigned char least = low[s[0] == 0xe0 ? 1 : s[0] == 0xf0 ? 2 : 0];
    unsigned char most = s[0] == 0xed ? 0x9f : s[0] == 0xf4 ? 0x8f : 0xbf;
    if (s[1] < least || s[1] > most)
        return 0;
    for (size_t i = 2; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

/* A name may hold anything but NUL. What is no UTF-8 becomes U+FFFD: readers refuse a file with it.
 */
static void put_string(struct line *l, const char *text)
{
    put(l, "\"");
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        char one[8] = {0};
        size_t n = utf8_length(s);
        if (n == 0)
            memcpy(one, "\xef\xbf\xbd", 3);
        else if (*s < 0x20 || *s == '"' || *s == '\\' || *s == 0x7f)
            snprintf(one, sizeof(one), "\\u%04x", *s);
        else
            memcpy(one, s, n);
        put(l, one);
        s += n ? n : 1;
    }
    put(l, "\"");
}

static void put_time(struct events *e, struct line *l)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (now.tv_sec != e->second || !e->stamp[0]) {
        struct tm tm;
        gmtime_r(&now.tv_sec, &tm);
        strftime(e->stamp, sizeof(e->stamp), "%Y-%m-%dT%H:%M:%S", &tm);
        e->second = now.tv_sec;
    }
    char text[64];
    unsigned us = (unsigned)(now.tv_nsec / 1000);
    snprintf(text, sizeof(text), "{\"time\":\"%s.%06uZ\"", e->stamp, us);
    put(l, text);
}

static void put_path(struct line *l, const char *path)
{
    put(l, ",\"path\":");
    if (path)
        put_string(l, path);
    else
        put(l, "null");
}

static void put_promise(struct line *l, const struct observe_promise *p)
{
    char text[128], hex[2 * OBSERVE_KEY + 1];
    put_path(l, p->path);
    if (p->key) {
        for (size_t i = 0; i < OBSERVE_KEY; i++)
            snprintf(hex + 2 * i, 3, "%02x", p->key[i]);
        snprintf(text, sizeof(text), ",\"key\":\"%s\",\"state\":\"%s%s%s\"", hex,
                 p->state & 1 ? "R" : "", p->state & 2 ? "H" : "", p->state & 4 ? "W" : "");
        put(l, text);
    }
    if (p->what) {
        put(l, ",\"what\":");
        put_string(l, p->what);
    }
    snprintf(text, sizeof(text), ",\"monotonic_ns\":%llu", (unsigned long long)p->at);
    put(l, text);
}

/* Its name, or its number where it has none. */
static void put_status(struct line *l, uint32_t status)
{
    char hex[16];
    const char *name = ntstatus_name(status);
    snprintf(hex, sizeof(hex), "0x%08X", status);
    put(l, ",\"status\":\"");
    put(l, name ? name : hex);
    put(l, "\"");
}

static void put_outage(struct line *l, const struct event *v)
{
    char text[64];
    put(l, ",\"address\":");
    put_string(l, v->outage->address);
    if (!v->outage->why) {
        snprintf(text, sizeof(text), ",\"away_us\":%.1f", (double)v->outage->away_ns / 1000);
        put(l, text);
        return;
    }
    if (v->status)
        put_status(l, v->status);
    else
        put(l, ",\"status\":0");
    put(l, ",\"reason\":");
    put_string(l, v->outage->why);
}

static void put_line(struct events *e, struct line *l, const struct event *v)
{
    char text[160];
    put_time(e, l);
    snprintf(text, sizeof(text), ",\"id\":%d,\"name\":\"%s\",\"class\":\"%s\"", v->id,
             observe_event_name(v->id), observe_class_name(v->class));
    put(l, text);
    if (v->command) {
        snprintf(text, sizeof(text), ",\"command\":\"%s\"", v->command);
        put(l, text);
        put_status(l, v->status);
        snprintf(text, sizeof(text), ",\"duration_us\":%.1f", (double)v->latency_ns / 1000);
        put(l, text);
    } else if (v->outage) {
        put_outage(l, v);
    } else if (v->promise) {
        put_promise(l, v->promise);
    } else {
        put_path(l, v->path);
        put(l, v->reason ? ",\"status\":\"" : ",\"status\":0");
        put(l, v->reason ? v->reason : "");
        put(l, v->reason ? "\"" : "");
    }
    put(l, "}\n");
}

void events_write(struct events *e, const struct event *event)
{
    pthread_mutex_lock(&e->lock);
    struct line l = {e->fill + e->used, e->fill + BUFFER};
    put_line(e, &l, event);
    if (l.p < l.end) {
        size_t before = e->used;
        e->used = (size_t)(l.p - e->fill);
        if (before < e->flush_at && e->used >= e->flush_at)
            pthread_cond_signal(&e->wake);
    } else {
        __atomic_fetch_add(e->lost, 1, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&e->lock);
}

/* ---- the writing thread ---- */

static uint64_t count_lines(const char *p, size_t n)
{
    uint64_t lines = 0;
    for (const char *end = p + n; (p = memchr(p, '\n', (size_t)(end - p))); p++)
        lines++;
    return lines;
}

/* Returns how many bytes the file took. */
static size_t write_all(int fd, const char *p, size_t n)
{
    size_t done = 0;
    while (done < n) {
        ssize_t got = write(fd, p + done, n - done);
        if (got > 0) {
            done += (size_t)got;
        } else if (got < 0 && errno == EAGAIN) {
            struct pollfd ready = {.fd = fd, .events = POLLOUT};
            if (poll(&ready, 1, STUCK_MS) <= 0 || !(ready.revents & POLLOUT))
                break;
        } else if (got == 0 || errno != EINTR) {
            break;
        }
    }
    return done;
}

static void write_lines(struct events *e, const char *p, size_t n)
{
    if (e->torn && write_all(e->fd, "\n", 1) == 1)
        e->torn = false;
    size_t done = e->torn ? 0 : write_all(e->fd, p, n);
    if (done < n)
        __atomic_fetch_add(e->lost, count_lines(p + done, n - done), __ATOMIC_RELAXED);
    if (done > 0)
        e->torn = p[done - 1] != '\n';
}

/* Whole lines, which are taken apart in place. */
static void tell_lines(struct events *e, char *p, size_t n)
{
    for (char *end = p + n, *newline; (newline = memchr(p, '\n', (size_t)(end - p)));
         p = newline + 1) {
        *newline = 0;
        e->line(e->user, p);
    }
}

static void *run(void *arg)
{
    struct events *e = arg;
    bool stop = false;

    while (!stop) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += FLUSH_EACH / NS_PER_SEC;

        pthread_mutex_lock(&e->lock);
        while (!e->stop && e->used < e->flush_at)
            if (pthread_cond_timedwait(&e->wake, &e->lock, &until) == ETIMEDOUT)
                break;
        char *full = e->fill;
        size_t n = e->used;
        e->fill = e->drain;
        e->drain = full;
        e->used = 0;
        stop = e->stop;
        pthread_mutex_unlock(&e->lock);

        if (n && e->fd >= 0)
            write_lines(e, full, n);
        if (n && e->line)
            tell_lines(e, full, n);
    }
    return NULL;
}

/* ---- life ---- */

static void init_sync(struct events *e)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&e->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&e->lock, NULL);
}

static void destroy(struct events *e)
{
    pthread_cond_destroy(&e->wake);
    pthread_mutex_destroy(&e->lock);
    if (e->fd >= 0)
        close(e->fd);
    free(e->fill);
    free(e->drain);
    free(e);
}

/* O_NONBLOCK: a named pipe without a reader is an error, not a hang. */
static int open_file(struct events *e, const char *path, struct error *err)
{
    e->fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
    if (e->fd >= 0)
        return 0;
    int code = -errno;
    return error_set(err, code, 0, "events file %s: %s", path, strerror(-code));
}

int events_new(const struct observe_options *options, uint64_t *lost, struct events **ret,
               struct error *err)
{
    struct events *e = calloc(1, sizeof(*e));
    if (!e)
        return error_set(err, -ENOMEM, 0, "events: out of memory");
    init_sync(e);
    e->fd = -1;
    e->line = options->event_line;
    e->user = options->user;
    e->flush_at = e->line ? 1 : FLUSH_AT;
    e->lost = lost;
    e->fill = malloc(BUFFER);
    e->drain = malloc(BUFFER);
    int code = 0;
    if (!e->fill || !e->drain)
        code = error_set(err, -ENOMEM, 0, "events: out of memory");
    else if (options->events_path)
        code = open_file(e, options->events_path, err);
    if (code == 0) {
        code = -pthread_create(&e->thread, NULL, run, e);
        if (code < 0)
            error_set(err, code, 0, "events: no thread: %s", strerror(-code));
    }
    if (code < 0) {
        destroy(e);
        return code;
    }
    *ret = e;
    return 0;
}

struct events *events_free(struct events *e)
{
    if (!e)
        return NULL;
    pthread_mutex_lock(&e->lock);
    e->stop = true;
    pthread_cond_signal(&e->wake);
    pthread_mutex_unlock(&e->lock);
    pthread_join(e->thread, NULL);
    destroy(e);
    return NULL;
}
