/* Inside of copying: copy.c (threads, counts, errors), copy_tree.c (what is to be copied),
 * copy_file.c (one file). */
#ifndef LARDER_CLI_COPY_INTERNAL_H
#define LARDER_CLI_COPY_INTERNAL_H

#include <pthread.h>

#include "cli/claims.h"
#include "cli/copy.h"
#include "cli/progress.h"

#define COPY_QUEUE 256 /* jobs that wait for a thread */

struct job {
    struct place from, to; /* paths owned */
    uint64_t size;         /* as the walk saw it */
};

struct copied_dir {
    struct place to; /* path owned */
    struct larder_stat like;
};

struct copy_counts {
    uint64_t files, dirs, links, skipped;
    uint64_t bytes;   /* copied */
    uint64_t resumed; /* there already, of partial files */
    uint64_t total;   /* to be copied, as far as is known; with what was skipped */
    uint64_t passed;  /* of total: copied, resumed or skipped */
};

struct copy {
    struct copy_options o; /* constant */
    uint64_t begun_ns;     /* constant */
    struct progress *progress;
    struct claims claims; /* of the thread that adds */

    pthread_mutex_t lock;
    pthread_cond_t work, room, memory, idle;
    struct job queue[COPY_QUEUE]; /* all protected by lock */
    size_t first, waiting;
    unsigned busy; /* threads that have a job */
    bool closed;   /* no more jobs will come */
    pthread_t thread[COPY_THREADS];
    unsigned threads;
    size_t memory_left;
    struct copy_counts counts;
    char name[64];          /* of the last file begun */
    struct copied_dir *dir; /* in the order in which they were made */
    size_t dirs;
    bool failed, stopped;
    uint64_t ended_ns;
};

/* Whether nothing more is to be begun: something failed that stops all, or a signal came. */
bool copy_stopped(struct copy *c);
/* Prints what failed, unless all was stopped before, and takes note; `all`: nothing else can go
 * well either. */
void copy_failed(struct copy *c, const struct larder_error *err, bool all);
void copy_count(struct copy *c, uint64_t *counter, uint64_t n);
/* Waits until so much may be allocated. */
void copy_memory_take(struct copy *c, size_t bytes);
void copy_memory_give(struct copy *c, size_t bytes);
/* Hands a file to a thread. */
void copy_queue(struct copy *c, const struct place *from, const struct place *to, uint64_t size);
/* Waits until every file that was handed over is done with. */
void copy_wait(struct copy *c);
/* The directory gets its times when all is done: what is put in changes them. */
void copy_remember_dir(struct copy *c, const struct place *to, const struct larder_stat *like);

/* Copies one file, to the end or to an error, which is reported. */
void copy_file(struct copy *c, const struct place *from, const struct place *to,
               const uint64_t *counted);

#endif
