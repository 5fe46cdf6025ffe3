/* Chained buckets; the full 64-bit hash stays in the node, so growing never hashes again. */
#include "base/hash.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"

void hash_init(struct hash *h)
{
    *h = (struct hash){0};
}

void hash_done(struct hash *h)
{
    free(h->buckets);
    hash_init(h);
}

static struct hash_node **bucket(const struct hash *h, uint64_t hash)
{
    return &h->buckets[hash & h->mask];
}

static int grow(struct hash *h)
{
    size_t size = h->buckets ? (h->mask + 1) * 2 : 16;
    struct hash_node **wider = calloc(size, sizeof *wider);
    if (!wider)
        return h->buckets ? 0 : -ENOMEM;
    for (size_t i = 0; h->buckets && i <= h->mask; i++) {
        struct hash_node *node = h->buckets[i];
        while (node) {
            struct hash_node *after = node->next;
            node->next = wider[node->hash & (size - 1)];
            wider[node->hash & (size - 1)] = node;
            node = after;
        }
    }
    free(h->buckets);
    h->buckets = wider;
    h->mask = size - 1;
    return 0;
}

int hash_add(struct hash *h, struct hash_node *node, uint64_t hash)
{
    if (!h->buckets || h->count > h->mask) {
        int r = grow(h);
        if (r < 0)
            return r;
    }
    node->hash = hash;
    node->next = *bucket(h, hash);
    *bucket(h, hash) = node;
    h->count++;
    return 0;
}

void hash_del(struct hash *h, struct hash_node *node)
{
    struct hash_node **at = bucket(h, node->hash);
    while (*at != node)
        at = &(*at)->next;
    *at = node->next;
    node->next = NULL;
    h->count--;
}

static struct hash_node *same_hash(struct hash_node *node, uint64_t hash)
{
    while (node && node->hash != hash)
        node = node->next;
    return node;
}

struct hash_node *hash_first(const struct hash *h, uint64_t hash)
{
    return h->buckets ? same_hash(*bucket(h, hash), hash) : NULL;
}

struct hash_node *hash_next(const struct hash_node *node)
{
    return same_hash(node->next, node->hash);
}

struct hash_node *hash_each(const struct hash *h, const struct hash_node *after)
{
    if (!h->buckets)
        return NULL;
    if (after && after->next)
        return after->next;
    for (size_t i = after ? (after->hash & h->mask) + 1 : 0; i <= h->mask; i++)
        if (h->buckets[i])
            return h->buckets[i];
    return NULL;
}

/* SipHash-1-3 (Aumasson, Bernstein), the key made of the seed twice. */
static uint64_t rotl(uint64_t x, int b)
{
    return x << b | x >> (64 - b);
}

static void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotl(v[1], 13) ^ v[0];
    v[0] = rotl(v[0], 32);
    v[2] += v[3];
    v[3] = rotl(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotl(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotl(v[1], 17) ^ v[2];
    v[2] = rotl(v[2], 32);
}

uint64_t hash_bytes(const void *data, size_t len, uint64_t seed)
{
    const uint8_t *p = data;
    uint64_t k0 = seed, k1 = ~seed;
    uint64_t v[4] = {k0 ^ 0x736f6d6570736575ull, k1 ^ 0x646f72616e646f6dull,
                     k0 ^ 0x6c7967656e657261ull, k1 ^ 0x7465646279746573ull};
    uint64_t word;
    size_t left = len;
    for (; left >= 8; left -= 8, p += 8) {
        memcpy(&word, p, 8);
        v[3] ^= word;
        sip_round(v);
        v[0] ^= word;
    }
    word = (uint64_t)len << 56;
    for (size_t i = 0; i < left; i++)
        word |= (uint64_t)p[i] << (8 * i);
    v[3] ^= word;
    sip_round(v);
    v[0] ^= word;
    v[2] ^= 0xff;
    for (int i = 0; i < 3; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t hash_u64(uint64_t value)
{
    value ^= value >> 33;
    value *= 0xff51afd7ed558ccdull;
    value ^= value >> 33;
    value *= 0xc4ceb9fe1a85ec53ull;
    return value ^ value >> 33;
}

static uint64_t the_seed;

static void make_seed(void)
{
    if (getrandom(&the_seed, sizeof the_seed, GRND_NONBLOCK) != (ssize_t)sizeof the_seed)
        the_seed = hash_u64(clock_now() ^ (uint64_t)getpid() << 32);
}

uint64_t hash_seed(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_seed);
    return the_seed;
}
