/*
 * Who holds which bytes of one file: POSIX record locks as a table. No I/O, no lock of its own.
 *
 * Ranges include both ends. Within an owner they never overlap and never touch with the same type;
 * between owners an exclusive one overlaps nothing (whoever sets one asks ranges_conflict first).
 */
#ifndef LARDER_SHARE_RANGES_H
#define LARDER_SHARE_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "share/share.h"

#define RANGES_MAX 65536 /* in one table */

struct ranges {
    struct share_lock *items; /* by start; none is SHARE_UNLOCK */
    size_t count;
};

/* {0} is an empty table. */
void ranges_done(struct ranges *t);

/* The table after `change` (of type SHARE_UNLOCK, too): a new one in *ret; `t` stays. -EINVAL: it
 * ends before it starts; -ENOLCK: it would grow beyond RANGES_MAX; -ENOMEM. */
int ranges_with(const struct ranges *t, const struct share_lock *change, struct ranges *ret);
/* The same, for a lock, but that the owner gives nothing up: what he holds exclusively stays so. */
int ranges_raised(const struct ranges *t, const struct share_lock *change, struct ranges *ret);
/* Takes [start, end] from every owner. -ENOMEM. */
int ranges_cut(struct ranges *t, uint64_t start, uint64_t end);
/* Drops all that an owner has; whether there was anything. */
bool ranges_drop_owner(struct ranges *t, uint64_t owner);
bool ranges_has_owner(const struct ranges *t, uint64_t owner);

/* The first lock, by start, that stands against `wanted`; NULL: none. */
const struct share_lock *ranges_conflict(const struct ranges *t, const struct share_lock *wanted);
/* Whether `a`, held, stands against `b` of another owner. */
bool ranges_against(const struct share_lock *a, const struct share_lock *b);

/* The strongest type at each byte, whoever holds it: disjoint ranges by start, with neighbours of
 * one type merged, owner and pid 0. -ENOMEM. */
int ranges_union(const struct ranges *t, struct ranges *ret);

#endif
