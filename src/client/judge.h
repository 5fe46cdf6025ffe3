/* What became of a change that was sent twice; see judge.c. Private to this room. */
#ifndef LARDER_CLIENT_JUDGE_H
#define LARDER_CLIENT_JUDGE_H

#include "client/operation.h"

/* Whether something was sent again that may have been done before, and when it was first sent. */
struct twice {
    bool is;
    uint64_t since;
};
void twice_note(struct twice *t, const struct compound *m);

/* What was to be made at op->path is there already. 0: it is ours, with its attributes; -EEXIST: it
 * is not; -EIO: that cannot be told. */
int judge_made(const struct operation *op, bool dir, const struct twice *t,
               struct file_attr *ret_attr);
/* A file with this id (0: not known) was to get the name op->to, and the answer was `r`. 0: it has
 * it, with its attributes (ret_attr may be NULL); `r`: it has not; -EIO: that cannot be told. */
int judge_named(const struct operation *op, uint64_t id, int r, struct file_attr *ret_attr);

#endif
