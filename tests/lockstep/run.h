/* A list of operations done on both trees; and a list that shows a difference made short. */
#ifndef LARDER_LOCKSTEP_RUN_H
#define LARDER_LOCKSTEP_RUN_H

#include "lockstep/look.h"

struct bench {
    const char *dir[2];      /* a local directory, and the one under test */
    enum fault fault;        /* done wrong in the second */
    unsigned runs;           /* made so far: each has a directory of its own */
    uint64_t done, left_out; /* operations */
};

enum { RUN_SAME = -1, RUN_FAILED = -2 };

/* In new directories, removed afterwards. The number of the operation after which the sides
 * differed, RUN_SAME, or RUN_FAILED: it could not be run, as ret->text says. */
long run_ops(struct bench *bench, const struct op *ops, size_t count, struct difference *ret);

/* Takes out of `ops`, which differ after the last, what the difference does not need, for at most
 * so many seconds. The number left; ret is what they show. 0: it did not happen again. */
size_t shrink_ops(struct bench *bench, struct op *ops, size_t count, unsigned seconds,
                  struct difference *ret);

/* ---- onlooker.c ---- */

/* A process that looks at everything below `dir` until it is ended: its id, or -1. */
int onlooker_start(const char *dir, uint64_t seed);
void onlooker_end(int pid);

#endif
