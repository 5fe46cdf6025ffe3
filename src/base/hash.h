/*
 * The one hash table: intrusive, chained, growing by doubling. Members carry a `struct hash_node`;
 * the table owns only its array of buckets. Hashes of names from outside are seeded (hash_seed), so
 * that a server cannot choose colliding names.
 */
#ifndef LARDER_BASE_HASH_H
#define LARDER_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hash_node {
    struct hash_node *next;
    uint64_t hash;
};

struct hash {
    struct hash_node **buckets; /* NULL while empty */
    size_t mask;                /* number of buckets - 1 */
    size_t count;
};

void hash_init(struct hash *h);
void hash_done(struct hash *h); /* frees the buckets, not the members */

/* -ENOMEM only where not even the first array can be had; growing that fails goes on with longer
 * chains. */
int hash_add(struct hash *h, struct hash_node *node, uint64_t hash);
void hash_del(struct hash *h, struct hash_node *node);

/* The first member of the chain with this very hash, and the next one after `node`; NULL at the
 * end. */
struct hash_node *hash_first(const struct hash *h, uint64_t hash);
struct hash_node *hash_next(const struct hash_node *node);

/* Every member, in no order; start with NULL. The member returned may be deleted before the next
 * call only if the caller asked for the next one first. */
struct hash_node *hash_each(const struct hash *h, const struct hash_node *after);

uint64_t hash_bytes(const void *data, size_t len,
                    uint64_t seed); /* SipHash-1-3 keyed by the seed */
uint64_t hash_u64(uint64_t value);
uint64_t hash_seed(void); /* random, the same for the whole process */

#endif
