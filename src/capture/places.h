/*
 * Where things happened: shares, and names in them with what was counted about each.
 *
 * A client's caches are its own, so what it asks is kept by view (client, server, share, session);
 * what changes is kept by tree (server, share), since a change by anyone is a change for everyone.
 * Names are found by their folded spelling, as servers find them.
 *
 * A table of places is bounded: the one that was asked for longest ago makes way. Sums over all
 * places are kept by the callers, so only the lists of single names lose by that, and `evicted`
 * says so.
 */
#ifndef LARDER_CAPTURE_PLACES_H
#define LARDER_CAPTURE_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/list.h"
#include "capture/dissect.h"

/* ---- shares ---- */

#define SHARES_MAX 4096

struct view {
    char *client, *server, *name; /* as in struct smb_share */
    uint64_t session_id;
    unsigned tree; /* the same for all views of one share */
};

struct shares;
struct shares *shares_new(void);
struct shares *shares_free(struct shares *s);
/* A number from 1; 0 for no share, for pipes, and where there are too many. */
unsigned shares_view(struct shares *s, const struct smb_share *share);
const struct view *shares_at(const struct shares *s, unsigned view); /* NULL past the last */

/* ---- places ---- */

struct place { /* the first member of what a table holds */
    struct hash_node node;
    struct list recent; /* the latest asked for first */
    unsigned share;     /* a view or a tree */
    size_t path_len;
    char *path; /* behind the item, as it was spelled first */
};

struct places {
    struct hash by_path;
    struct list recent;
    size_t item_size, max;
    uint64_t added, evicted;
    void (*evicting)(void *user, struct place *p); /* NULL: nobody wants to know */
    void *user;
};

void places_init(struct places *t, size_t item_size, size_t max);
void places_done(struct places *t);
/* NULL: there is none. */
void *places_find(const struct places *t, unsigned share, const char *path, size_t len);
/* The one there is, or a new one of zeros; it becomes the latest. NULL: out of memory. */
void *places_touch(struct places *t, unsigned share, const char *path, size_t len);
/* The one that was touched longest ago; NULL: there is none. And away with it, which does not count
 * as evicted. */
struct place *places_oldest(const struct places *t);
void places_drop(struct places *t, struct place *p);
/* Whether fewer than `bound` other places have been touched since this one was: whether a cache of
 * that many entries could still have it. To be asked before it is touched anew. */
bool places_within(const struct places *t, const struct place *p, size_t bound);

/* The path up to its last component; the root has none (SIZE_MAX). */
size_t path_parent(const char *path, size_t len);

#endif
