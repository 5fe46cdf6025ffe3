/* An open of a caller, and the pieces in which its data travels. Private to this room. */
#ifndef LARDER_CLIENT_FILE_H
#define LARDER_CLIENT_FILE_H

#include "client/operation.h"

/* An open may be used by many threads at once; what says nothing else is constant. */
struct client_file {
    struct client *client;
    struct handle *handle;
    _Atomic uint64_t size;         /* as the CREATE told, then as our own changes left it */
    atomic_bool sparse;            /* FSCTL_SET_SPARSE has been sent */
    bool has_copy_key;             /* protected by conn->lock */
    struct wire_copy_key copy_key; /* protected by conn->lock */
    char path[];                   /* for error texts */
};

/* Without a handle yet. NULL: out of memory. */
struct client_file *file_new(struct client *c, const char *path);
/* Data stands up to here now. */
void file_grew(struct client_file *f, uint64_t end);

/* ---- pipeline.c ---- */

enum { PIPELINE_MAX = 8 }; /* pieces of one call under way at a time */

struct piece {
    struct compound *m;
    uint32_t len;
    uint64_t offset;
};

/* The pieces of one read or write that are under way, oldest first: a ring. */
struct pipeline {
    const struct operation *op;
    struct client_file *file;
    uint64_t next, end; /* what is not asked for yet */
    uint32_t piece_max; /* bytes */
    unsigned depth;     /* pieces under way at a time, at most PIPELINE_MAX */
    void (*add)(struct compound *m, const struct pipeline *p, uint64_t offset, uint32_t len);
    const void *user; /* for `add` */
    struct piece piece[PIPELINE_MAX];
    unsigned first, count;
};

/* Keeps the pipeline full. With nothing under way it waits for credits, else it takes what is
 * there. */
int pipeline_fill(struct pipeline *p);
/* Waits for the oldest piece and takes it out; the caller frees its compound, also after a failure.
 */
int pipeline_take(struct pipeline *p, struct piece *ret);
/* Gives up what is under way: its answers do not matter. */
void pipeline_drop(struct pipeline *p);
/* Waits for what is under way: its answers do not matter, but that it has ended does. */
void pipeline_drain(struct pipeline *p);

#endif
