/*
 * The table of ranges is an array by start. A change makes a new array in one pass, which leaves
 * the old one to fall back on when the server refuses what the new one would need: a lock is a
 * round trip, beside which copying some ranges is nothing.
 *
 * A change cuts what it covers out of the owner's own ranges and absorbs those of the same type
 * that it overlaps or touches. A range cut in its middle becomes two, and the change itself is one:
 * a table never grows by more than two.
 */
#include "share/ranges.h"

#include <errno.h>
#include <stdlib.h>

void ranges_done(struct ranges *t)
{
    free(t->items);
    *t = (struct ranges){0};
}

/* Room is there. What is added comes nearly in order, so that the way to its place is short. */
static void put(struct ranges *t, struct share_lock item)
{
    size_t at = t->count++;
    for (; at > 0 && t->items[at - 1].start > item.start; at--)
        t->items[at] = t->items[at - 1];
    t->items[at] = item;
}

static bool overlap(const struct share_lock *a, const struct share_lock *b)
{
    return a->start <= b->end && b->start <= a->end;
}

static bool touch(const struct share_lock *a, const struct share_lock *b)
{
    return (a->end != UINT64_MAX && a->end + 1 == b->start) ||
           (b->end != UINT64_MAX && b->end + 1 == a->start);
}

/* What of `old` is outside `change`. */
static void put_rest(struct ranges *t, const struct share_lock *old,
                     const struct share_lock *change)
{
    struct share_lock piece = *old;
    if (old->start < change->start) {
        piece.end = change->start - 1;
        put(t, piece);
    }
    if (old->end > change->end) {
        piece.start = change->end + 1;
        piece.end = old->end;
        put(t, piece);
    }
}

int ranges_with(const struct ranges *t, const struct share_lock *change, struct ranges *ret)
{
    if (change->start > change->end)
        return -EINVAL;
    struct ranges made = {.items = malloc((t->count + 2) * sizeof *made.items)};
    if (!made.items)
        return -ENOMEM;
    struct share_lock whole = *change;
    for (size_t i = 0; i < t->count; i++) {
        const struct share_lock *old = &t->items[i];
        if (old->owner != change->owner || (!overlap(old, change) && !touch(old, change)))
            put(&made, *old);
        else if (old->type != change->type)
            put_rest(&made, old, change);
        else {
            whole.start = old->start < whole.start ? old->start : whole.start;
            whole.end = old->end > whole.end ? old->end : whole.end;
        }
    }
    if (change->type != SHARE_UNLOCK)
        put(&made, whole);
    if (made.count > RANGES_MAX && made.count > t->count) {
        ranges_done(&made);
        return -ENOLCK;
    }
    *ret = made;
    return 0;
}

int ranges_raised(const struct ranges *t, const struct share_lock *change, struct ranges *ret)
{
    struct ranges made;
    int r = ranges_with(t, change, &made);
    for (size_t i = 0; i < t->count && r == 0; i++) {
        const struct share_lock *old = &t->items[i];
        if (old->owner != change->owner || old->type != SHARE_LOCK_EXCLUSIVE ||
            !overlap(old, change))
            continue;
        struct ranges more;
        r = ranges_with(&made, old, &more);
        ranges_done(&made);
        if (r == 0)
            made = more;
    }
    if (r == 0)
        *ret = made;
    return r;
}

int ranges_cut(struct ranges *t, uint64_t start, uint64_t end)
{
    const struct share_lock cut = {.start = start, .end = end};
    struct ranges made = {.items = malloc((2 * t->count + 1) * sizeof *made.items)};
    if (!made.items)
        return -ENOMEM;
    for (size_t i = 0; i < t->count; i++)
        if (overlap(&t->items[i], &cut))
            put_rest(&made, &t->items[i], &cut);
        else
            put(&made, t->items[i]);
    ranges_done(t);
    *t = made;
    return 0;
}

bool ranges_drop_owner(struct ranges *t, uint64_t owner)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->count; i++)
        if (t->items[i].owner != owner)
            t->items[kept++] = t->items[i];
    bool dropped = kept < t->count;
    t->count = kept;
    return dropped;
}

bool ranges_has_owner(const struct ranges *t, uint64_t owner)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->items[i].owner == owner)
            return true;
    return false;
}

bool ranges_against(const struct share_lock *a, const struct share_lock *b)
{
    return a->owner != b->owner && overlap(a, b) &&
           (a->type == SHARE_LOCK_EXCLUSIVE || b->type == SHARE_LOCK_EXCLUSIVE);
}

const struct share_lock *ranges_conflict(const struct ranges *t, const struct share_lock *wanted)
{
    if (wanted->type == SHARE_UNLOCK)
        return NULL;
    for (size_t i = 0; i < t->count && t->items[i].start <= wanted->end; i++)
        if (ranges_against(&t->items[i], wanted))
            return &t->items[i];
    return NULL;
}

/* One pass will do: only shared ranges overlap each other. */
int ranges_union(const struct ranges *t, struct ranges *ret)
{
    struct ranges made = {.items = malloc((t->count + 1) * sizeof *made.items)};
    if (!made.items)
        return -ENOMEM;
    for (size_t i = 0; i < t->count; i++) {
        const struct share_lock *item = &t->items[i];
        struct share_lock *last = made.count ? &made.items[made.count - 1] : NULL;
        if (last && last->type == item->type && (overlap(last, item) || touch(last, item)))
            last->end = item->end > last->end ? item->end : last->end;
        else
            made.items[made.count++] =
                (struct share_lock){.type = item->type, .start = item->start, .end = item->end};
    }
    *ret = made;
    return 0;
}
