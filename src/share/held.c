/*
 * The server's locks are unlike POSIX' (MS-FSA 2.1.4.10, 2.1.5.8, 2.1.5.9): an unlock names exactly
 * a range that was locked; an exclusive lock overlaps no other lock, not even one of its own open;
 * a shared lock may lie on top of anything of its own open, and where an exclusive and a shared one
 * have the same range, an unlock takes the exclusive one.
 *
 * So the server's locks are kept as pieces, each as it was asked for. To get from the pieces to
 * another union, pieces that lie within it and have its type stay; the other pieces are dropped,
 * and what the pieces that stay leave uncovered is added. The order of the requests makes the
 * change as safe as it can be:
 *
 *   1. shared ones are added, on top of what they replace: a downgrade, or what stays of a shared
 *      piece, is never unlocked for a moment;
 *   2. exclusive ones are added where nothing has to go first;
 *   3. each other exclusive one: the pieces in its way are dropped just before it is added. Here
 *      alone is a gap of one round trip (more where several pieces are in the way, or several
 * ranges stay of one piece), in which another client can take what was held: an upgrade, or what
 * stays of an exclusive piece that is released in part. Nothing that SMB offers closes it;
 *   4. the pieces left over are dropped.
 *
 * A lock in a fresh range is one request and its release one, an upgrade and a downgrade two.
 *
 * A union can end at UINT64_MAX; servers refuse what wraps, and no offset of a file is beyond
 * INT64_MAX: there every piece ends, and the whole file is [0, INT64_MAX], 2^63 bytes.
 *
 * A request that was not answered leaves its piece doubtful: it counts as not held, and is unlocked
 * before anything else is asked (a refusal then tells that it was not there).
 */
#include "share/held.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/ntstatus.h"

#define LAST_BYTE ((uint64_t)INT64_MAX)

void held_done(struct held *h)
{
    free(h->pieces);
    *h = (struct held){0};
}

/* ---- the pieces ---- */

static bool comes_before(const struct held_piece *a, const struct held_piece *b)
{
    if (a->start != b->start)
        return a->start < b->start;
    if (a->end != b->end)
        return a->end > b->end;
    return a->type == CLIENT_LOCK_EXCLUSIVE && b->type != CLIENT_LOCK_EXCLUSIVE;
}

static bool same_range(const struct held_piece *a, const struct held_piece *b)
{
    return a->start == b->start && a->end == b->end;
}

static bool overlap(const struct held_piece *a, const struct held_piece *b)
{
    return a->start <= b->end && b->start <= a->end;
}

/* So that recording what the server did cannot fail. */
static int reserve(struct held *h, size_t more)
{
    if (h->room - h->count >= more)
        return 0;
    size_t room = 2 * h->count + more;
    struct held_piece *pieces = realloc(h->pieces, room * sizeof *pieces);
    if (!pieces)
        return -ENOMEM;
    h->pieces = pieces;
    h->room = room;
    return 0;
}

static void record(struct held *h, const struct held_piece *piece)
{
    size_t at = h->count++;
    for (; at > 0 && comes_before(piece, &h->pieces[at - 1]); at--)
        h->pieces[at] = h->pieces[at - 1];
    h->pieces[at] = *piece;
}

/* The piece that an unlock of this range takes. */
static struct held_piece *find(struct held *h, const struct held_piece *range)
{
    for (size_t i = 0; i < h->count; i++)
        if (same_range(&h->pieces[i], range))
            return &h->pieces[i];
    return NULL;
}

static void forget(struct held *h, struct held_piece *piece)
{
    size_t at = (size_t)(piece - h->pieces);
    memmove(piece, piece + 1, (--h->count - at) * sizeof *piece);
}

/* ---- one request ---- */

/* Sends `op` and records what came of it. *ret_answered: the server spoke. */
static int request(struct held *h, struct client_file *file, const struct held_piece *op,
                   bool *ret_answered, struct error *err)
{
    struct error e = {0};
    int r = client_lock(file, op->type, op->start, op->end - op->start + 1, &e);
    *ret_answered = r >= 0 || e.status != 0;
    if (op->type == CLIENT_UNLOCK) {
        struct held_piece *piece = find(h, op);
        if (e.status == STATUS_RANGE_NOT_LOCKED)
            r = 0;
        if (r >= 0)
            forget(h, piece);
        else
            piece->doubtful = true;
    } else if (r >= 0 || !*ret_answered) {
        struct held_piece piece = *op;
        piece.doubtful = r < 0;
        record(h, &piece);
    }
    if (r < 0 && err)
        *err = e;
    return r;
}

/* ---- the plan ---- */

struct plan {
    struct held_piece *ops; /* `type` says what to do */
    size_t count;
    bool *stays;             /* of each piece: it is kept, or its unlock is in `ops` already */
    struct held_piece *adds; /* by start; disjoint */
    size_t add_count;
};

static void plan_done(struct plan *p)
{
    free(p->ops);
    free(p->stays);
    free(p->adds);
}

/* Each piece is dropped at most once. A range of the target is cut by each piece within it into at
 * most one range more. */
static int plan_init(struct plan *p, const struct held *h, const struct ranges *target)
{
    size_t adds = target->count + h->count;
    *p = (struct plan){
        .ops = malloc((adds + h->count + 1) * sizeof *p->ops),
        .stays = calloc(h->count + 1, sizeof *p->stays),
        .adds = malloc((adds + 1) * sizeof *p->adds),
    };
    if (p->ops && p->stays && p->adds)
        return 0;
    plan_done(p);
    return -ENOMEM;
}

static enum client_lock_type type_of(const struct share_lock *range)
{
    return range->type == SHARE_LOCK_EXCLUSIVE ? CLIENT_LOCK_EXCLUSIVE : CLIENT_LOCK_SHARED;
}

/* Another piece has the same range (they are neighbours): an unlock cannot say which it means. */
static bool has_twin(const struct held *h, size_t i)
{
    return (i + 1 < h->count && same_range(&h->pieces[i], &h->pieces[i + 1])) ||
           (i > 0 && same_range(&h->pieces[i], &h->pieces[i - 1]));
}

/* Whether this very range is in doubt, so that it is unlocked as often as it may have been locked.
 */
static bool in_doubt(const struct held *h, size_t i)
{
    size_t first = i;
    while (first > 0 && same_range(&h->pieces[first - 1], &h->pieces[i]))
        first--;
    for (; first < h->count && same_range(&h->pieces[first], &h->pieces[i]); first++)
        if (h->pieces[first].doubtful)
            return true;
    return false;
}

/* A shared piece under an exclusive twin stays when an unlock takes the exclusive one; the other
 * way round is not to be had. */
static bool can_stay(const struct held *h, size_t i, const struct held_piece *range)
{
    const struct held_piece *piece = &h->pieces[i];
    return piece->type == range->type && piece->start >= range->start && piece->end <= range->end &&
           !(piece->type == CLIENT_LOCK_EXCLUSIVE && has_twin(h, i)) && !in_doubt(h, i);
}

/* Which pieces stay: no two of them overlap. And what they leave of the target uncovered. */
static void compare(struct plan *p, const struct held *h, const struct ranges *target)
{
    size_t i = 0;
    for (size_t t = 0; t < target->count && target->items[t].start <= LAST_BYTE; t++) {
        const struct share_lock *range = &target->items[t];
        struct held_piece rest = {.start = range->start, .type = type_of(range)};
        uint64_t end = range->end < LAST_BYTE ? range->end : LAST_BYTE;
        rest.end = end;
        for (; i < h->count && h->pieces[i].start <= end; i++) {
            if (!can_stay(h, i, &rest))
                continue;
            p->stays[i] = true;
            if (h->pieces[i].start > rest.start) {
                p->adds[p->add_count] = rest;
                p->adds[p->add_count++].end = h->pieces[i].start - 1;
            }
            rest.start = h->pieces[i].end + 1;
        }
        if (rest.start <= end)
            p->adds[p->add_count++] = rest;
    }
}

static void drop(struct plan *p, const struct held *h, size_t i)
{
    p->ops[p->count] = h->pieces[i];
    p->ops[p->count++].type = CLIENT_UNLOCK;
    p->stays[i] = true;
}

/* What has to go before `add` can be exclusive: the first such piece from `i` on, or h->count. */
static size_t in_way(const struct plan *p, const struct held *h, const struct held_piece *add,
                     size_t i)
{
    for (; i < h->count && h->pieces[i].start <= add->end; i++)
        if (!p->stays[i] && overlap(&h->pieces[i], add))
            return i;
    return h->count;
}

/* Puts the requests in the order of above. What is in doubt is not held, so that it comes first. */
static void arrange(struct plan *p, const struct held *h)
{
    for (size_t i = 0; i < h->count; i++)
        if (in_doubt(h, i))
            drop(p, h, i);
    for (size_t a = 0; a < p->add_count; a++)
        if (p->adds[a].type == CLIENT_LOCK_SHARED)
            p->ops[p->count++] = p->adds[a];
    size_t later = 0; /* adds that something is in the way of move to the front */
    for (size_t a = 0; a < p->add_count; a++) {
        if (p->adds[a].type != CLIENT_LOCK_EXCLUSIVE)
            continue;
        if (in_way(p, h, &p->adds[a], 0) == h->count)
            p->ops[p->count++] = p->adds[a];
        else
            p->adds[later++] = p->adds[a];
    }
    for (size_t a = 0; a < later; a++) {
        for (size_t i = 0; (i = in_way(p, h, &p->adds[a], i)) < h->count;)
            drop(p, h, i);
        p->ops[p->count++] = p->adds[a];
    }
    for (size_t i = 0; i < h->count; i++)
        if (!p->stays[i])
            drop(p, h, i);
}

static int plan_make(struct plan *p, struct held *h, const struct ranges *table)
{
    struct ranges target;
    int r = ranges_union(table, &target);
    if (r < 0)
        return r;
    r = plan_init(p, h, &target);
    if (r == 0) {
        compare(p, h, &target);
        arrange(p, h);
        r = reserve(h, p->add_count);
        if (r < 0)
            plan_done(p);
    }
    ranges_done(&target);
    return r;
}

int held_settle(struct held *h, struct client_file *file, const struct ranges *table, bool stubborn,
                struct error *err)
{
    struct plan plan;
    int r = plan_make(&plan, h, table);
    if (r < 0)
        return error_set(err, r, 0, "no memory to change byte-range locks");
    bool answered = true;
    for (size_t i = 0; answered && (r == 0 || stubborn) && i < plan.count; i++) {
        int one = request(h, file, &plan.ops[i], &answered, r == 0 ? err : NULL);
        r = r == 0 ? one : r;
    }
    plan_done(&plan);
    return r;
}

/* ---- what is not held ---- */

int held_correct(const struct held *h, struct ranges *t)
{
    struct ranges should;
    int r = ranges_union(t, &should);
    if (r < 0)
        return r;
    int corrected = 0;
    size_t from = 0; /* pieces before it end before the range */
    for (size_t s = 0; s < should.count && should.items[s].start <= LAST_BYTE && r == 0; s++) {
        const struct share_lock *range = &should.items[s];
        uint64_t at = range->start;
        while (from < h->count && h->pieces[from].end < at)
            from++;
        for (size_t i = from; i < h->count && h->pieces[i].start <= range->end && r == 0; i++) {
            const struct held_piece *piece = &h->pieces[i];
            if (piece->doubtful || piece->end < at || piece->type < type_of(range))
                continue;
            if (piece->start > at) {
                r = ranges_cut(t, at, piece->start - 1);
                corrected = 1;
            }
            at = piece->end + 1;
        }
        if (at <= range->end && at <= LAST_BYTE && r == 0) {
            r = ranges_cut(t, at, range->end);
            corrected = 1;
        }
    }
    ranges_done(&should);
    return r < 0 ? r : corrected;
}

/* ---- what others hold ---- */

/* Locks and unlocks. */
static int try_range(struct held *h, struct client_file *file, struct held_piece *range,
                     struct error *err)
{
    bool answered;
    int r = reserve(h, 1);
    if (r < 0)
        return error_set(err, r, 0, "no memory to ask for byte-range locks");
    r = request(h, file, range, &answered, err);
    if (r < 0)
        return r;
    range->type = CLIENT_UNLOCK;
    return request(h, file, range, &answered, err);
}

int held_probe(struct held *h, struct client_file *file, enum client_lock_type type, uint64_t start,
               uint64_t end, struct error *err)
{
    end = end < LAST_BYTE ? end : LAST_BYTE;
    size_t i = 0;
    int r = 0;
    while (r == 0 && start <= end) {
        while (i < h->count && h->pieces[i].end < start)
            i++;
        struct held_piece hole = {.start = start, .end = end, .type = type};
        if (i < h->count && h->pieces[i].start <= start) {
            start = h->pieces[i].end + 1;
            continue;
        }
        if (i < h->count && h->pieces[i].start <= end)
            hole.end = h->pieces[i].start - 1;
        start = hole.end + 1;
        r = try_range(h, file, &hole, err);
    }
    return r;
}
