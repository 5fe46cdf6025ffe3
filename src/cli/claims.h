/*
 * The targets of one run of copying, so that no two sources become one file there: the second would
 * replace the first without a word. Paths are kept as hashes only, of the path as it is and of its
 * folded form, 48 bytes a target. One thread.
 */
#ifndef LARDER_CLI_CLAIMS_H
#define LARDER_CLI_CLAIMS_H

#include "base/hash.h"

struct claims {
    struct hash claim; /* by the folded path */
};

enum claim {
    CLAIM_NEW,
    CLAIM_ALIKE, /* one in another case is there: the file system decides whether it is the same */
    CLAIM_TAKEN,
};

void claims_init(struct claims *claims);
/* Takes note of a target; an `enum claim`, or -ENOMEM. */
int claims_take(struct claims *claims, const char *path);
void claims_done(struct claims *claims);

#endif
