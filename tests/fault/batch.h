/*
 * Many trials in a few processes, several of which run at the same time (most of a trial is
 * waiting): a crash or a sanitizer's word is told with its trial, a watchdog ends a hang, and what
 * a library leaks goes with its process.
 */
#ifndef LARDER_TESTS_FAULT_BATCH_H
#define LARDER_TESTS_FAULT_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct batch {
    size_t count;
    size_t per_process;
    unsigned jobs;    /* processes at the same time, at most BATCH_JOBS_MAX; 0: one */
    unsigned seed;    /* of the order in which they run */
    unsigned seconds; /* no trial begins later, but with: */
    bool all;
    const char *only; /* how the description of each begins: the caller's to heed */
    void (*run)(size_t i);
    void (*describe)(size_t i, char *out, size_t cap);
};

enum { BATCH_JOBS_MAX = 64 };

/* Notes --all, --seconds N, --jobs N, --seed N or --only TEXT where argv[*at] is one of them; *at
 * is then at its end. */
bool batch_option(struct batch *b, char **argv, int *at);

/* How many trials ended their process, or were in one that ended badly; each has been told of. */
unsigned batch_run(const struct batch *b);

/* Zeroed memory that a process's children share with it, and change by atomic operations. Never
 * given back. */
void *batch_shared(size_t size);

#endif
