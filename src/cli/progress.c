/*
 * The progress line. The rate is a moving average over about three seconds, so that the time left
 * does not jump; it is shown when it has settled.
 */
#include "cli/progress.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"

#define TICK_NS (NS_PER_SEC / 4)
#define SETTLED 4 /* ticks */

struct progress {
    void (*state)(void *user, struct progress_state *ret);
    void *user;
    pthread_t thread;
    pthread_mutex_t lock; /* held while the line is hidden, so that nobody draws it */
    pthread_cond_t ended_cond;
    bool ended;  /* protected by lock */
    bool drawn;  /* protected by lock: the line stands on the terminal */
    double rate; /* the thread's own, as what follows: bytes per second */
    uint64_t last_bytes, last_ns;
    unsigned ticks;
};

const char *progress_bytes(char buf[static PROGRESS_BYTES], double bytes)
{
    static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    unsigned i = 0;
    for (; bytes >= 1024 && i < 6; i++)
        bytes /= 1024;
    snprintf(buf, PROGRESS_BYTES, i && bytes < 100 ? "%.1f %s" : "%.0f %s", bytes, unit[i]);
    return buf;
}

static void measure(struct progress *p, uint64_t bytes)
{
    uint64_t now = clock_now();
    double seconds = (double)(now - p->last_ns) / NS_PER_SEC;
    double rate = seconds > 0 ? (double)(bytes - p->last_bytes) / seconds : 0;
    double weight = p->ticks < 12 ? 1.0 / (p->ticks + 1) : 1.0 / 12;
    p->rate += weight * (rate - p->rate);
    p->last_ns = now;
    p->last_bytes = bytes;
    p->ticks++;
}

/* What is left, as "1:05:09"; "" while it is not known. */
static const char *time_left(const struct progress *p, const struct progress_state *s, char out[32])
{
    out[0] = 0;
    if (!s->total_final || p->ticks < SETTLED || p->rate < 1)
        return out;
    double left = (double)(s->total - s->bytes) / p->rate;
    if (left > 360000)
        return out;
    unsigned t = (unsigned)(left + 0.5), hours = t / 3600, minutes = t / 60 % 60;
    if (hours)
        snprintf(out, 32, "  %u:%02u:%02u left", hours, minutes, t % 60);
    else
        snprintf(out, 32, "  %u:%02u left", minutes, t % 60);
    return out;
}

/* With the lock. */
static void draw(struct progress *p)
{
    struct progress_state s;
    char done[PROGRESS_BYTES], total[PROGRESS_BYTES], rate[PROGRESS_BYTES], left[32], text[256];
    struct winsize size;
    p->state(p->user, &s);
    measure(p, s.bytes);
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
        size.ws_col = 80; /* a terminal that does not know */
    double percent = s.total ? 100.0 * (double)s.bytes / (double)s.total : 0;
    int n = snprintf(text, sizeof text, "%3.0f %%%s  %s of %s  %s/s%s", percent,
                     s.total_final ? "" : "+", progress_bytes(done, (double)s.bytes),
                     progress_bytes(total, (double)s.total), progress_bytes(rate, p->rate),
                     time_left(p, &s, left));
    unsigned room = size.ws_col > n + 4 ? size.ws_col - (unsigned)n - 4 : 0;
    fprintf(stderr, "\r%s%s%.*s\033[K", text, room ? "  " : "", (int)room, s.name);
    fflush(stderr);
    p->drawn = true;
}

static void erase(struct progress *p)
{
    if (p->drawn)
        fputs("\r\033[K", stderr);
    fflush(stderr);
    p->drawn = false;
}

static void *run(void *user)
{
    struct progress *p = user;
    pthread_mutex_lock(&p->lock);
    while (!p->ended) {
        uint64_t until = clock_now() + TICK_NS;
        struct timespec t = clock_timespec(until);
        pthread_cond_timedwait(&p->ended_cond, &p->lock, &t);
        if (!p->ended && clock_now() >= until)
            draw(p);
    }
    erase(p);
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

struct progress *progress_new(void (*state)(void *user, struct progress_state *ret), void *user)
{
    if (!isatty(STDERR_FILENO))
        return NULL;
    struct progress *p = calloc(1, sizeof *p);
    if (!p)
        return NULL;
    p->state = state;
    p->user = user;
    p->last_ns = clock_now();
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&p->ended_cond, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&p->lock, NULL);
    if (pthread_create(&p->thread, NULL, run, p) != 0) {
        pthread_cond_destroy(&p->ended_cond);
        pthread_mutex_destroy(&p->lock);
        free(p);
        return NULL;
    }
    return p;
}

void progress_hide(struct progress *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    erase(p);
}

void progress_show(struct progress *p)
{
    if (p)
        pthread_mutex_unlock(&p->lock);
}

struct progress *progress_free(struct progress *p)
{
    if (!p)
        return NULL;
    pthread_mutex_lock(&p->lock);
    p->ended = true;
    pthread_cond_signal(&p->ended_cond);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);
    pthread_cond_destroy(&p->ended_cond);
    pthread_mutex_destroy(&p->lock);
    free(p);
    return NULL;
}
