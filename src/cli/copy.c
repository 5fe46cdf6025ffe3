/*
 * The machinery of copying: a queue of files, up to eight threads that take from it, counts, and
 * how failures are told. A thread is started when there is work for it. A signal that asks for the
 * end lets what is under way come to the end of its pieces, so that what was copied is kept; a
 * second one ends the program where it stands, which costs no more than the last pieces.
 */
#include "cli/copy.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/copy_internal.h"

static atomic_int signalled; /* set by the handler, on whichever thread it runs */

static void note_signal(int signal)
{
    signalled = signal;
}

static void catch_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    const struct sigaction note = {.sa_handler = note_signal,
                                   .sa_flags = SA_RESETHAND | SA_RESTART};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        struct sigaction now;
        if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaction(signals[i], &note, NULL);
    }
}

static void show_state(void *user, struct progress_state *ret)
{
    struct copy *c = user;
    pthread_mutex_lock(&c->lock);
    *ret = (struct progress_state){.files = c->counts.files,
                                   .bytes = c->counts.passed,
                                   .total = c->counts.total,
                                   .total_final = c->closed};
    memcpy(ret->name, c->name, sizeof ret->name);
    pthread_mutex_unlock(&c->lock);
}

/* Replies of a megabyte come and go with every piece: memory that malloc gave back to the system
 * each time would be cleared by it as often, which costs as much as the copying. */
static void keep_freed_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
}

int copy_new(const struct copy_options *options, struct copy **ret)
{
    struct copy *c = calloc(1, sizeof *c);
    if (!c)
        return -ENOMEM;
    c->o = *options;
    c->begun_ns = clock_now();
    c->memory_left = COPY_MEMORY;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->work, NULL);
    pthread_cond_init(&c->room, NULL);
    pthread_cond_init(&c->memory, NULL);
    pthread_cond_init(&c->idle, NULL);
    claims_init(&c->claims);
    keep_freed_memory();
    catch_signals();
    if (!c->o.quiet)
        c->progress = progress_new(show_state, c);
    *ret = c;
    return 0;
}

struct copy *copy_free(struct copy *c)
{
    if (!c)
        return NULL;
    c->progress = progress_free(c->progress);
    for (size_t i = 0; i < c->dirs; i++)
        free((char *)c->dir[i].to.path);
    free(c->dir);
    claims_done(&c->claims);
    pthread_cond_destroy(&c->idle);
    pthread_cond_destroy(&c->memory);
    pthread_cond_destroy(&c->room);
    pthread_cond_destroy(&c->work);
    pthread_mutex_destroy(&c->lock);
    free(c);
    return NULL;
}

/* ---- what all threads tell ---- */

bool copy_stopped(struct copy *c)
{
    pthread_mutex_lock(&c->lock);
    bool stopped = c->stopped || signalled;
    pthread_mutex_unlock(&c->lock);
    return stopped;
}

static void complain(struct copy *c, const char *text)
{
    progress_hide(c->progress);
    cli_fail(c->o.command, "%s", text);
    progress_show(c->progress);
}

void copy_failed(struct copy *c, const struct larder_error *err, bool all)
{
    pthread_mutex_lock(&c->lock);
    bool told = c->stopped || signalled;
    c->failed = true;
    c->stopped = c->stopped || all;
    pthread_cond_broadcast(&c->room);
    pthread_mutex_unlock(&c->lock);
    if (!told)
        complain(c, err->text);
}

void copy_fail(struct copy *c, const char *text)
{
    struct larder_error err = {.code = -EINVAL};
    snprintf(err.text, sizeof err.text, "%s", text);
    copy_failed(c, &err, false);
}

bool copy_recursive(const struct copy *c)
{
    return c->o.recursive;
}

int copy_signal(void)
{
    return signalled;
}

void copy_count(struct copy *c, uint64_t *counter, uint64_t n)
{
    pthread_mutex_lock(&c->lock);
    *counter += n;
    pthread_mutex_unlock(&c->lock);
}

void copy_memory_take(struct copy *c, size_t bytes)
{
    pthread_mutex_lock(&c->lock);
    while (c->memory_left < bytes)
        pthread_cond_wait(&c->memory, &c->lock);
    c->memory_left -= bytes;
    pthread_mutex_unlock(&c->lock);
}

void copy_memory_give(struct copy *c, size_t bytes)
{
    pthread_mutex_lock(&c->lock);
    c->memory_left += bytes;
    pthread_cond_broadcast(&c->memory);
    pthread_mutex_unlock(&c->lock);
}

void copy_remember_dir(struct copy *c, const struct place *to, const struct larder_stat *like)
{
    char *path = strdup(to->path);
    pthread_mutex_lock(&c->lock);
    struct copied_dir *more = c->dir;
    if ((c->dirs & (c->dirs - 1)) == 0) /* full at every power of two */
        more = realloc(c->dir, (c->dirs ? 2 * c->dirs : 1) * sizeof *more);
    if (path && more) {
        c->dir = more;
        c->dir[c->dirs++] = (struct copied_dir){{to->l, path}, *like};
        path = NULL;
    } else {
        c->failed = true;
    }
    pthread_mutex_unlock(&c->lock);
    free(path);
}

/* ---- the queue ---- */

static void set_name(struct copy *c, const char *path)
{
    const char *slash = strrchr(path, '/');
    snprintf(c->name, sizeof c->name, "%s", slash ? slash + 1 : path);
    for (char *p = c->name; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7f)
            *p = '?';
}

static void *run(void *user)
{
    struct copy *c = user;
    pthread_mutex_lock(&c->lock);
    for (;;) {
        while (c->waiting == 0 && !c->closed)
            pthread_cond_wait(&c->work, &c->lock);
        if (c->waiting == 0)
            break;
        struct job job = c->queue[c->first];
        c->first = (c->first + 1) % COPY_QUEUE;
        c->waiting--;
        c->busy++;
        set_name(c, job.from.path);
        bool stopped = c->stopped || signalled;
        pthread_cond_signal(&c->room);
        pthread_mutex_unlock(&c->lock);
        if (!stopped)
            copy_file(c, &job.from, &job.to, &job.size);
        free((char *)job.from.path);
        free((char *)job.to.path);
        pthread_mutex_lock(&c->lock);
        c->busy--;
        pthread_cond_signal(&c->idle);
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

void copy_queue(struct copy *c, const struct place *from, const struct place *to, uint64_t size)
{
    struct job job = {{from->l, strdup(from->path)}, {to->l, strdup(to->path)}, size};
    pthread_mutex_lock(&c->lock);
    if (c->threads < COPY_THREADS && c->threads <= c->waiting &&
        pthread_create(&c->thread[c->threads], NULL, run, c) == 0)
        c->threads++;
    while (c->waiting == COPY_QUEUE && c->threads)
        pthread_cond_wait(&c->room, &c->lock);
    bool queued = job.from.path && job.to.path && c->threads;
    if (queued) {
        c->queue[(c->first + c->waiting++) % COPY_QUEUE] = job;
        c->counts.total += size;
        pthread_cond_signal(&c->work);
    }
    pthread_mutex_unlock(&c->lock);
    if (!queued) {
        const struct larder_error err = {.code = -ENOMEM, .text = "out of memory"};
        free((char *)job.from.path);
        free((char *)job.to.path);
        copy_failed(c, &err, true);
    }
}

void copy_wait(struct copy *c)
{
    pthread_mutex_lock(&c->lock);
    while (c->waiting || c->busy)
        pthread_cond_wait(&c->idle, &c->lock);
    pthread_mutex_unlock(&c->lock);
}

/* ---- the end ---- */

/* The innermost first: setting one's times changes nothing of those around it. */
static void finish_dirs(struct copy *c)
{
    for (size_t i = c->dirs; i-- && !copy_stopped(c);) {
        struct larder_error err;
        if (place_set_times(&c->dir[i].to, &c->dir[i].like, &err) < 0)
            copy_failed(c, &err, place_lost(&c->dir[i].to));
    }
}

int copy_end(struct copy *c)
{
    pthread_mutex_lock(&c->lock);
    c->closed = true;
    pthread_cond_broadcast(&c->work);
    pthread_mutex_unlock(&c->lock);
    for (unsigned i = 0; i < c->threads; i++)
        pthread_join(c->thread[i], NULL);
    finish_dirs(c);
    c->ended_ns = clock_now();
    bool terminal = c->progress != NULL;
    c->progress = progress_free(c->progress);
    if (signalled) {
        c->failed = true;
        cli_fail(c->o.command, "stopped by a signal; what is not whole is kept as .part, and the "
                               "same command goes on with it");
    } else if (terminal) {
        char bytes[PROGRESS_BYTES], rate[PROGRESS_BYTES];
        double seconds = (double)(c->ended_ns - c->begun_ns) / NS_PER_SEC;
        fprintf(stderr, "%llu file%s, %s in %.1f s, %s/s\n", (unsigned long long)c->counts.files,
                c->counts.files == 1 ? "" : "s", progress_bytes(bytes, (double)c->counts.bytes),
                seconds, progress_bytes(rate, (double)c->counts.bytes / seconds));
    }
    return c->failed ? EXIT_FAILED : EXIT_DONE;
}

json_t *copy_json(const struct copy *c)
{
    const struct copy_counts *n = &c->counts;
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:f}", "files", (json_int_t)n->files,
                     "directories", (json_int_t)n->dirs, "links", (json_int_t)n->links, "skipped",
                     (json_int_t)n->skipped, "bytes", (json_int_t)n->bytes, "resumed",
                     (json_int_t)n->resumed, "seconds",
                     (double)(c->ended_ns - c->begun_ns) / NS_PER_SEC);
}
