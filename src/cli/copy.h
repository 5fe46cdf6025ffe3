/*
 * Copying files and trees between here and shares: what get, put and cp are. Small files are copied
 * by several threads at once, so that the way to the server is not waited for file by file; a large
 * one in pieces, several of which are under way. A copy stands under its final name only when it is
 * whole: until then it is a `.part` beside it, which the same command goes on with (part.h).
 *
 * Memory: COPY_MEMORY bytes of data, whatever is copied, one listing for each directory down to
 * where the walk is, and 48 bytes for each file copied (claims.h).
 */
#ifndef LARDER_CLI_COPY_H
#define LARDER_CLI_COPY_H

#include <jansson.h>

#include "cli/place.h"

#define COPY_THREADS   8
#define COPY_MEMORY    (64u << 20)
#define COPY_LANES     4          /* pieces of one file under way at a time */
#define COPY_PIECE     (4u << 20) /* at least, where the file is as large */
#define COPY_PIECE_MAX (8u << 20)
/* What may be missing before the end of a file on a server whose copying was cut off. */
#define COPY_WINDOW ((uint64_t)COPY_LANES * COPY_PIECE_MAX)

struct copy_options {
    const char *command;
    bool recursive, quiet;
    bool update; /* not what has the same size and time already */
    bool follow; /* links here */
};

struct copy;
int copy_new(const struct copy_options *options, struct copy **ret);
/* One source to one target, a tree too; `to` is the target itself, not what it is put in. Returns
 * before it is done. A failure is printed and makes copy_end give EXIT_FAILED. */
void copy_add(struct copy *c, const struct place *from, const struct place *to);
/* Whether `to` is `from` or below it: on one share, whatever the case; not here. */
bool copy_is_within(const struct place *from, const struct place *to);
/* Standard input or output for one of the sides; returns when it is done. */
void copy_from_standard(struct copy *c, const struct place *to);
void copy_to_standard(struct copy *c, const struct place *from);
/* Waits for all. Returns an exit code. */
int copy_end(struct copy *c);
/* What was done: files, directories, links, skipped, bytes, resumed (bytes that were there
 * already), seconds. To be decref'd. */
json_t *copy_json(const struct copy *c);
struct copy *copy_free(struct copy *c);

/* An error of the caller's own: printed as a line, without disturbing the progress; makes copy_end
 * give EXIT_FAILED. */
void copy_fail(struct copy *c, const char *text);
bool copy_recursive(const struct copy *c);
/* The signal that stopped the copying, 0: none. */
int copy_signal(void);

#endif
