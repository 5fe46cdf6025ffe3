/*
 * The operations of a capture, replayed under several client behaviours at once, in one pass.
 *
 * Each behaviour has a cache of its own per client, server, share and session. Its clock is the
 * capture's, less the waits that its client would not have had. A change by any client that the
 * capture shows is a change for all of them, when it begins and when it ends. Operations may come
 * in order of their end.
 *
 * Memory is bounded: by the window that puts operations in order, by WORLD_NAMES_MAX, by
 * REPLAY_SEATS_MAX sets of caches, and by the settings of each.
 */
#ifndef LARDER_CAPTURE_REPLAY_H
#define LARDER_CAPTURE_REPLAY_H

#include "capture/engine.h"

#define REPLAY_SEATS_MAX    64
#define REPLAY_ACCOUNTS_MAX 256 /* behaviours */

struct replay_seen {
    struct effort all;
    struct effort metadata; /* of those that a cache might answer */
    uint64_t operations[OPERATION_OTHER + 1];
    uint64_t seats,
        seats_dropped; /* clients' sessions at shares; caches begun anew for the bound */
};

struct replay;
struct replay *replay_new(void); /* NULL: out of memory */
struct replay *replay_free(struct replay *r);

/* One more behaviour, before the first operation. *ret lives as long as the replay. -ENOMEM;
 * -E2BIG: too many. */
int replay_add(struct replay *r, const struct settings *settings, const struct account **ret);
/* -ENOMEM: this operation was lost. */
int replay_operation(struct replay *r, const struct operation *o);
/* Its session was logged off: its caches go once its operations are played. */
void replay_share_left(struct replay *r, const struct smb_share *share);
void replay_finish(struct replay *r);

const struct replay_seen *replay_seen(const struct replay *r);
/* What the behaviour would have taken: what was kept and what was charged, a charged round trip at
 * the mean time of those that the capture shows for metadata. After replay_finish. */
void replay_predicted(const struct replay *r, const struct account *a, struct effort *ret);

#endif
