/*
 * The two sides beside one another: results of an operation, attributes, listings, content.
 *
 * Each returns whether they differ, and says where. Compared are the things that docs/posix.md does
 * not except: type, size, number of links and whether anybody may write, of files; times that were
 * set; names and their types; bytes; errno.
 */
#ifndef LARDER_LOCKSTEP_LOOK_H
#define LARDER_LOCKSTEP_LOOK_H

#include "lockstep/side.h"

struct difference {
    char text[2 * PATH_SIZE + 400];
};

bool look_result(struct side *a, struct side *b, const struct op *op, const struct result *ra,
                 const struct result *rb, struct difference *ret);
/* As far as op->look says. */
bool look_after(struct side *a, struct side *b, const struct op *op, struct difference *ret);
bool look_tree(struct side *a, struct side *b, struct difference *ret);

#endif
