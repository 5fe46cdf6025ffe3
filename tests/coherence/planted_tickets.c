/*
 * The ticket rule off: an answer is believed as if it had been asked for when it is committed,
 * whatever has changed since it really was.
 */
#include "cache/internal.h"
#include "tests/coherence/planted.h"

static struct cache_ticket fresh(struct cache *c, uint64_t now)
{
    return cache_ask(c, now);
}

WRAPPED(int, cache_commit_found, struct cache *c, struct cache_file *dir, const char *name,
        size_t len, const struct file_attr *attr, struct cache_ticket ticket, uint64_t now,
        struct cache_file **ret, uint64_t *ret_valid_until)
{
    return __real_cache_commit_found(c, dir, name, len, attr, fresh(c, now), now, ret,
                                     ret_valid_until);
}

WRAPPED(uint64_t, cache_commit_missing, struct cache *c, struct cache_file *dir, const char *name,
        size_t len, struct cache_ticket ticket, uint64_t now)
{
    return __real_cache_commit_missing(c, dir, name, len, fresh(c, now), now);
}

WRAPPED(uint64_t, cache_commit_attr, struct cache *c, struct cache_file *f,
        const struct file_attr *attr, struct cache_ticket ticket, uint64_t now)
{
    return __real_cache_commit_attr(c, f, attr, fresh(c, now), now);
}

WRAPPED(void, cache_commit_listing, struct cache *c, struct cache_file *dir,
        struct cache_listing *l, struct cache_ticket ticket, uint64_t now)
{
    struct cache_ticket ticket_now = fresh(c, now);
    if (listing_seal(l, stamp_of(ticket_now)) == 0) /* nobody else has it yet */
        __real_cache_commit_listing(c, dir, l, ticket_now, now);
}
