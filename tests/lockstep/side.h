/*
 * One of the two trees: a directory in which operations are done, and the descriptors that are open
 * in it. Nothing here knows of the other side.
 */
#ifndef LARDER_LOCKSTEP_SIDE_H
#define LARDER_LOCKSTEP_SIDE_H

#include <sys/types.h>

#include "lockstep/op.h"

/* What is done wrong on purpose, to see that it is found. */
enum fault { FAULT_NONE, FAULT_LOST_WRITE, FAULT_KEPT_NAME, FAULT_SHORT_FILE, FAULT_OLD_TIME };

enum { STICKY_MAX = 4096 };

struct side {
    const char *name; /* for messages */
    int top;          /* the directory */
    int slot[SLOTS];  /* descriptors, -1: none */
    enum fault fault;
    uint8_t *buf;  /* LENGTH_MAX bytes: what the last operation read */
    ino_t *sticky; /* files whose times were set while they were open; of the local side only */
    size_t sticky_count;
};

struct result {
    int64_t value; /* as the system call returned it, -1 with `error` set */
    int error;
    size_t got; /* bytes in side->buf */
};

/* `top` is taken over. -ENOMEM. */
int side_init(struct side *s, const char *name, int top);
void side_done(struct side *s);
struct result side_do(struct side *s, const struct op *op);

#endif
