/*
 * This client's own changes are not worked into what it believes: what was believed goes on.
 */
#include <errno.h>

#include "tests/coherence/planted.h"

WRAPPED(int, cache_made, struct cache *c, struct cache_file *dir, const char *name, size_t len,
        const struct file_attr *attr, struct cache_file *linked, struct cache_ticket ticket,
        uint64_t now, struct cache_file **ret, uint64_t *ret_valid_until)
{
    if (linked)
        return __real_cache_made(c, dir, name, len, attr, linked, ticket, now, ret,
                                 ret_valid_until);
    return cache_commit_found(c, dir, name, len, attr, ticket, now, ret, ret_valid_until);
}

WRAPPED(void, cache_removed, struct cache *c, struct cache_file *dir, const char *name, size_t len,
        struct cache_ticket ticket, uint64_t now)
{
}

WRAPPED(int, cache_renamed, struct cache *c, struct cache_file *from_dir, const char *from,
        size_t from_len, struct cache_file *to_dir, const char *to, size_t to_len,
        const struct file_attr *attr, struct cache_ticket ticket, uint64_t now)
{
    return 0;
}

WRAPPED(uint64_t, cache_own_attr, struct cache *c, struct cache_file *f,
        const struct file_attr *attr, struct cache_ticket ticket, uint64_t now)
{
    return 0;
}
