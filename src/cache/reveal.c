/*
 * For replays of what another client did: listings whose content is learnt bit by bit.
 *
 * Where the plan lists a directory that the other client did not list, nobody can say what the
 * listing would have held. It is committed as what is known by then and left open; what turns out
 * to be there later, with no change in between, had been in it all the time and is added, as of the
 * listing's own ticket. Each addition costs the same, however large the directory.
 */
#include <errno.h>

#include "cache/internal.h"

/* 1: added; 0: nothing to add; -ENOMEM. */
static int reveal_in(struct cache *c, struct cache_file *dir, const char *name, size_t len,
                     const struct file_attr *attr, uint64_t since, uint64_t now)
{
    struct cache_listing *l = dir->dir ? dir->dir->listing : NULL;
    size_t folded, one;
    if (!l || !listing_is_open(l))
        return 0;
    struct stamp t = listing_stamp(l);
    if (t.sent < since || !still_valid(c, OBSERVE_DIR, t.sent, now) ||
        listing_find(l, name, len, &folded, &one) >= 0 || folded)
        return 0;
    size_t before = listing_memory(l);
    int r = listing_extend(l, name, len, attr, listing_wire_bytes(name, len));
    c->bytes += listing_memory(l) - before;
    if (r < 0)
        return r;
    dir->refs++;
    dir->dir->large = cache_listing_wire_bytes(l) > LARGE_LISTING;
    if (cache_listing_wire_bytes(l) > c->settings.directory_cache_entry_size_max ||
        listing_memory(l) > c->settings.cache_memory_max)
        listing_drop_too_large(c, dir, t.sent);
    else
        keep_bounds(c, OBSERVE_DIR, &dir->dir->ring);
    dir->refs--;
    file_settle(c, dir);
    return 1;
}

/* The directory behind one component, as far as there is an object for it. */
static struct cache_file *known_dir(const struct cache *c, const struct cache_file *dir,
                                    const char *name, size_t len)
{
    const struct cache_name *n = name_find(c, dir, name, len);
    return n && n->file->is_dir ? n->file : NULL;
}

int cache_reveal(struct cache *c, const char *path, size_t len, const struct file_attr *attr,
                 uint64_t since, uint64_t now)
{
    static const struct file_attr directory = {.attributes = FILE_ATTRIBUTE_DIRECTORY};
    struct cache_file *dir = c->root;
    const char *end = path + len;
    int added = 0;
    while (dir && path < end) {
        const char *slash = memchr(path, '/', (size_t)(end - path));
        size_t name_len = (size_t)((slash ? slash : end) - path);
        int r = reveal_in(c, dir, path, name_len, slash ? &directory : attr, since, now);
        if (r < 0)
            return r;
        added += r;
        dir = slash ? known_dir(c, dir, path, name_len) : NULL;
        path += name_len + 1;
    }
    return added;
}

struct cache_file *cache_peek(struct cache *c, struct cache_file *dir, const char *name, size_t len)
{
    const struct cache_name *n = name_find(c, dir, name, len);
    return n ? cache_file_ref(n->file) : NULL;
}
