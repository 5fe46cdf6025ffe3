/*
 * Leases of files and directories, and the handles that are kept under them.
 *
 * A `struct promise` stands for one file or directory that an open of ours may hold a lease on: its
 * key (client_lease), what it covers, and at most one handle that no program uses (`dormant`): a
 * directory's, to list it again, or a file's, for the next open. It is made before the first CREATE
 * that asks by it, since its key has to be known, and for a directory also when only something in
 * it is opened or changed, so that our own changes carry the key by which the directory may be
 * leased later. Own changes patch the cache (cache_own_attr and its relatives) and break none of
 * our directory leases.
 *
 * A break takes the belief first (cache_broken, then the listener), on the receive thread; then the
 * acknowledgement goes out. Where something has to be done before it (a dormant handle closed,
 * delayed data written), that is the keeper's: one thread a share, which also closes handles that
 * were dormant for DormantDirectoryTimeout, and the oldest where DormantFileLimit or the server
 * (INSUFFICIENT_RESOURCES) wants room.
 *
 * All functions take and give back share->lock themselves unless they say otherwise.
 */
#ifndef LARDER_SHARE_PROMISE_H
#define LARDER_SHARE_PROMISE_H

#include "share/internal.h"

struct promise;

/* What one CREATE asks by, between promise_ask and promise_answer. */
struct promise_ask {
    struct client_lease_ask lease; /* to be handed to client_...; lease NULL: none is asked for */
    struct promise *promise;       /* of what is opened; NULL: none */
    struct promise *parent;        /* of the directory it is in; NULL: none */
};

/* With the lock. `f` (NULL: not known yet) is to be opened, in `dir` (NULL: the top itself, or not
 * known) for `how` (SHARE_READ, SHARE_WRITE; 0: something in `dir` is changed by path: only the
 * parent's key is wanted). Always fills *ret; where leases are off or memory is short it asks for
 * nothing. */
void promise_ask(struct share *s, struct cache_file *f, struct cache_file *dir, unsigned how,
                 struct promise_ask *ret);
/* With the lock, whatever became of the CREATE. `f` is the file that it opened (NULL: it failed).
 * What was granted counts for the cache from `ticket` on. Returns the promise that the open holds
 * (NULL: no lease was granted): promise_close gets it back. */
struct promise *promise_answer(struct share *s, struct promise_ask *ask, struct cache_file *f,
                               struct cache_ticket ticket);

/* An open that no program uses any more: kept where its promise allows (HANDLE) and there is room,
 * else closed. Takes both over. `how`: what it was opened for. */
void promise_close(struct share *s, struct promise *p, struct client_file *open, unsigned how);
/* A dormant handle of `f` that is good for `how`, taken out for a program: no request. NULL: none.
 * *ret_promise is what promise_close gets back. */
struct client_file *promise_reopen(struct share *s, struct cache_file *f, unsigned how,
                                   struct promise **ret_promise);
/* Before an own change that a handle of ours would stand against (rename, remove; `beneath`: of a
 * directory and all in it): dormant ones are closed. The CLOSEs have left when it returns. */
void promise_give_up(struct share *s, struct cache_file *f, bool beneath);
/* The server is out of handles: closes half of the dormant ones. False: there were none. */
bool promise_make_room(struct share *s);

/* With the lock: whether writes to `f` may be delayed now (WRITE is promised and not being taken).
 */
bool promise_may_delay(const struct share *s, const struct cache_file *f);

/* conn_events.lease_broken. */
bool promise_broken(void *user, void *owner, unsigned state);

void promises_init(struct share *s);
/* Starts the keeper. */
int promises_start(struct share *s, struct error *err);
/* Closes all dormant handles, ends the keeper; before the client goes. */
void promises_done(struct share *s);

struct promise_counts {
    uint64_t asked, granted, broken, acknowledged; /* CREATEs that asked, were given anything ... */
    uint64_t dormant_files, dormant_dirs;          /* handles kept now */
    uint64_t reopened;                             /* opens that a kept handle answered */
    uint64_t given_up_age, given_up_room, given_up_change; /* kept handles closed, by reason */
};
/* With the lock. */
void promise_count(const struct share *s, struct promise_counts *ret);

#endif
