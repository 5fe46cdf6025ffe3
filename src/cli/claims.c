/* Claims are found by the hash of the folded path; the other hash tells spellings apart. Both are
 * keyed: whoever chooses the names cannot make two of them alike. */
#include "cli/claims.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf.h"

struct claim_node {
    struct hash_node node;
    uint64_t exact;
};

void claims_init(struct claims *claims)
{
    hash_init(&claims->claim);
}

int claims_take(struct claims *claims, const char *path)
{
    size_t len = strlen(path);
    uint64_t folded = utf8_fold_hash(path, len, hash_seed());
    uint64_t exact = hash_bytes(path, len, hash_seed());
    int found = CLAIM_NEW;
    for (struct hash_node *n = hash_first(&claims->claim, folded); n; n = hash_next(n)) {
        if (((struct claim_node *)n)->exact == exact)
            return CLAIM_TAKEN;
        found = CLAIM_ALIKE;
    }
    struct claim_node *mine = calloc(1, sizeof *mine);
    if (!mine)
        return -ENOMEM;
    mine->exact = exact;
    if (hash_add(&claims->claim, &mine->node, folded) < 0) {
        free(mine);
        return -ENOMEM;
    }
    return found;
}

void claims_done(struct claims *claims)
{
    struct hash_node *after;
    for (struct hash_node *n = hash_each(&claims->claim, NULL); n; n = after) {
        after = hash_each(&claims->claim, n);
        free(n);
    }
    hash_done(&claims->claim);
}
