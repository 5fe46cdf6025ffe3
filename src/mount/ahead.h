/*
 * Reading ahead of a program that reads a file from one end to the other.
 *
 * By itself the kernel reads ahead by 128 KiB and has two such requests under way, which over a
 * network is little; only root can have it do more (session.c). So where small reads come one after
 * the other, whole chunks behind them are fetched by a few threads, and the reads answered from
 * those. Large reads are left alone: whoever makes them has enough under way.
 *
 * What is kept is dropped when the file changes through this mount or is seen to have changed, and
 * is used for no longer than attributes are believed. With a lifetime of 0 nothing is read ahead.
 *
 * Memory: AHEAD_CHUNKS of AHEAD_CHUNK bytes for at most AHEAD_FILES open files at a time, 48 MiB in
 * all. Who reads on while all are taken takes over from a file that was not read for a while.
 *
 * Lock order: the pool's lock, then a window's; the handle table's is above both.
 */
#ifndef LARDER_MOUNT_AHEAD_H
#define LARDER_MOUNT_AHEAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "share/share.h"

struct handle;
struct handles;
struct window;

#define AHEAD_CHUNK   (1u << 20)
#define AHEAD_CHUNKS  6
#define AHEAD_FILES   8
#define AHEAD_THREADS 4

struct ahead {
    struct share *share;     /* borrowed */
    struct handles *handles; /* borrowed */
    uint64_t lifetime_ns;    /* constant; 0: off */
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct list jobs;    /* struct chunk; protected by lock */
    struct list windows; /* struct window that hold chunks, least recently used first; under lock */
    unsigned files;      /* in that list; protected by lock */
    unsigned threads;    /* started so far; protected by lock */
    bool end;            /* protected by lock */
    pthread_t ids[AHEAD_THREADS]; /* protected by lock */
};

void ahead_init(struct ahead *a, struct share *share, struct handles *handles,
                uint64_t lifetime_ns);
/* Ends the threads. No reader may be under way any more. */
void ahead_stop(struct ahead *a);
/* After the last handle. */
void ahead_done(struct ahead *a);

/* share_read_bytes by this handle, from what was read ahead where there is any. The caller has a
 * reference of it. */
int ahead_read(struct ahead *a, struct handle *handle, size_t len, uint64_t offset,
               struct bytes *ret);

/* The window of a handle: made with it, dropped when the file has changed, freed with it. NULL
 * where there is no memory or nothing is to be read ahead (then reads go without). */
struct window *ahead_window_new(struct ahead *a);
void ahead_window_drop(struct window *w);           /* NULL allowed */
struct window *ahead_window_free(struct window *w); /* NULL allowed; returns NULL */

#endif
