/*
 * What one open holds on the server for all owners here, and how that is changed.
 *
 * No lock of its own: one thread at a time (locks.c sees to it); requests are waited for.
 */
#ifndef LARDER_SHARE_HELD_H
#define LARDER_SHARE_HELD_H

#include "client/client.h"
#include "share/ranges.h"

/* One lock as the server was asked for it: an unlock has to name just this range. */
struct held_piece {
    uint64_t start, end; /* at most INT64_MAX */
    enum client_lock_type type;
    bool doubtful; /* a request about it was never answered: maybe held, maybe not */
};
struct held {
    struct held_piece *pieces; /* by start, then longest first, then exclusive first */
    size_t count, room;
};

/* {0} holds nothing. Sends nothing. */
void held_done(struct held *h);

/*
 * Makes the server hold what `table` comes to (ranges_union), by the open `file`. Stops at the
 * first request that fails and returns its error, or with `stubborn` goes on with the rest as long
 * as the server answers, and returns the first error at the end. What is held after a failure is
 * known (`h`): settling for what was held before is how one goes back.
 */
int held_settle(struct held *h, struct client_file *file, const struct ranges *table, bool stubborn,
                struct error *err);

/* Takes out of `t` what is not held as strongly as it should be. Whether that was anything; -ENOMEM
 * leaves `t` as it is. */
int held_correct(const struct held *h, struct ranges *t);

/* Whether another client stands against `type` in [start, end], by locking and unlocking what is
 * not held here: 0 or -EAGAIN, or an error. */
int held_probe(struct held *h, struct client_file *file, enum client_lock_type type, uint64_t start,
               uint64_t end, struct error *err);

#endif
