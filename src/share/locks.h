/*
 * The byte-range locks of one file that is open here.
 *
 * Who of this mount holds what is kept here (ranges.h), by owner, as fcntl(2) has it. The server
 * is told the union of it: at each byte the strongest that anybody here holds (held.h). It is told
 * by ONE open of the file, the holder, since to the server a lock belongs to an open and is
 * mandatory: it shuts out the reads and writes of every other open, also of the same client's.
 * Therefore, while locks_holder() names an open, all data of the file has to go through that one;
 * and what was on its way through another open when the lock was taken, and comes back with a lock
 * conflict, is to be tried again through it.
 *
 * What cannot be had of mandatory locks: who writes into a range that this mount has locked shared
 * is refused (MS-FSA 2.1.4.10: a shared lock stands against its own open's writes, too), and a
 * program that asks for no locks is shut out by those of other clients.
 *
 * Any number of threads. Lock order: share->lock, then lock_desk->lock. No lock is held across a
 * request or a call of `gone`.
 */
#ifndef LARDER_SHARE_LOCKS_H
#define LARDER_SHARE_LOCKS_H

#include <pthread.h>

#include "base/list.h"
#include "client/client.h"
#include "share/share.h"

/* Who waits for whom, over all files: one a share. */
struct lock_desk {
    pthread_mutex_t lock; /* protects all tables of all files, too */
    struct list waits;    /* protected by lock */
};
void lock_desk_init(struct lock_desk *desk);
void lock_desk_done(struct lock_desk *desk);

struct locks;
/* One a file. `desk` outlives it. Without `on_server` (nobrl) no request is ever sent and
 * locks_holder is NULL for ever. NULL: no memory. */
struct locks *locks_new(struct lock_desk *desk, bool on_server);
/* Nobody may be in a call any more. Sends nothing: what the server still holds goes with the close
 * of the holder. NULL allowed; returns NULL. */
struct locks *locks_free(struct locks *l);

/* The open that all data has to go through now; NULL: each through its own. It must not be closed
 * while it is named here; after locks_set, locks_test or locks_release it may no longer be. Does
 * not wait. */
struct client_file *locks_holder(struct locks *l);

/*
 * share_lock. `file`: an open of this file that becomes the holder if there is none; it must be
 * able to read and write wherever any open of this file may (a reader's own open will not do where
 * the server would grant one for both), and stay open until this returns. NULL without on_server.
 *
 * -EAGAIN: somebody else holds it (without `wait`). -EDEADLK: waiting would never end, since who
 * holds it here waits, over whatever files, for this owner. -EINTR: `gone` said so; it is asked at
 * least every 50 ms while waiting and may be NULL. -ENOLCK: too many ranges. -EIO: an upgrade
 * failed and another client took the range meanwhile (an upgrade is an unlock and a lock to the
 * server), or it took what should have stayed of a range that was released in part; such bytes are
 * not held any more. An unlock always releases here; its error says that the server could not be
 * told.
 */
int locks_set(struct locks *l, struct client_file *file, const struct share_lock *lock, bool wait,
              bool (*gone)(void *user), void *user, struct error *err);
/* share_lock_test. `file` as above. What other clients hold is found out by locking and unlocking;
 * where this mount has the range shared itself, their shared locks are not seen. */
int locks_test(struct locks *l, struct client_file *file, struct share_lock *inout,
               struct error *err);
/* share_lock_release; costs nothing where the owner has nothing. */
void locks_release(struct locks *l, uint64_t owner);

#endif
