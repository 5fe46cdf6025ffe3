/*
 * Leases of files and directories, and the handles that are kept under them.
 *
 * A `struct promise` stands for one file or directory that an open of ours may hold a lease on: its
 * key (client_lease), what it covers, and at most one handle that no program uses (`dormant`): a
 * directory's, to list it again, or a file's, for the next open. It is made before the first CREATE
 * that asks by it, since its key has to be known, and for a directory also when only something in
 * it is opened or changed, so that our own changes carry the key by which the directory may be
 * leased later. Own changes patch the cache (cache_own_attr and its relatives) and break none of
 * our directory leases. The promises that nothing uses are kept for a while, so that a directory
 * keeps its key from one change to the next.
 *
 * Old times. What is done on a server's own disk breaks no lease, and as long as a file is open
 * Samba shows to everybody the times that it had when it was first opened: by none of its answers
 * can a change be seen that leaves the size alone. So a file's handle is kept for CacheMaxAge from
 * its CREATE at most, is closed before anything is asked that tells the file's attributes, and what
 * was told of them while it was open counts as told when it was opened. What other clients set is
 * told in spite of it, but for what is set while the CREATE is under way, which breaks no lease
 * either. So one that was open when the watch told that the file was modified is closed at once.
 *
 * A break takes the belief first (cache_broken, then the listener), on the receive thread; then the
 * acknowledgement goes out. Where something has to be done before it (a dormant handle closed,
 * delayed data written), that is the keeper's (keeper.c): one thread a share, which also closes
 * handles that were dormant for DormantDirectoryTimeout. The oldest go where DormantFileLimit or
 * the server (INSUFFICIENT_RESOURCES) wants room.
 *
 * Whatever is said to be called with the lock holds share->lock on entry and exit.
 */
#ifndef LARDER_SHARE_PROMISE_H
#define LARDER_SHARE_PROMISE_H

#include "share/internal.h"

struct promise;

/* How something is opened, beside SHARE_READ and SHARE_WRITE. */
enum { PROMISE_LISTING = 1 << 8 };

/* What one CREATE asks by, between promise_ask and promise_answer. */
struct promise_ask {
    struct client_lease_ask lease; /* to be handed to client_...; lease NULL: none is asked for */
    struct client_keys keys;       /* the same for changes by path, which ask for none */
    struct promise *promise;       /* of what is opened or changed; NULL: none */
    struct promise *parent;        /* of the directory it is in; NULL: none */
    bool made_room;                /* it was tried again once */
};

/* With the lock. `f` (NULL: not known yet) is to be opened, in `dir` (NULL: where f's name is) for
 * `how`: SHARE_READ, SHARE_WRITE, PROMISE_LISTING; 0: it is changed by path, which asks for
 * nothing, and shows by `keys` whose change it is. Always fills *ret; where leases are off or
 * memory is short it asks for nothing. */
void promise_ask(struct share *s, struct cache_file *f, struct cache_file *dir, unsigned how,
                 struct promise_ask *ret);
/* A CREATE that asked so failed: whether it is to be sent once more. A server that knows the key by
 * another name of the file is asked without a lease, one that is out of handles once room has been
 * made. Without the lock. */
bool promise_again(struct share *s, struct promise_ask *ask, const struct error *why);
/* With the lock, whatever became of the CREATE. `opened`: it succeeded and its open stays, and `f`
 * is the file that it opened (NULL: another one than was asked for). What was granted counts for
 * the cache from `ticket` on. Returns the promise that the open holds until promise_close or
 * promise_leave; NULL: it asked by none. */
struct promise *promise_answer(struct share *s, struct promise_ask *ask, bool opened,
                               struct cache_file *f, struct cache_ticket ticket);
/* With the lock: the same for what opened nothing. */
void promise_answer_none(struct share *s, struct promise_ask *ask);

/* An open that no program uses any more: kept where its promise allows (HANDLE) and there is room,
 * else closed. Takes both over. With the lock, not while it closes. */
void promise_close(struct share *s, struct promise *p, struct client_file *open);
/* The same in two halves, around a CLOSE that the caller sends himself. `tells`: who keeps answers
 * of ours does not know that they live no longer than without a promise now. With the lock. */
void promise_leave(struct share *s, struct promise *p, bool tells);
void promise_put(struct share *s, struct promise *p);

/* With the lock: whether a handle of `f` is kept that is as good as a new one for reading or
 * listing. */
bool promise_keeps(struct share *s, const struct cache_file *f);
/* With the lock: since when `f` has been open here under an unbroken promise; 0: it is not. What is
 * the same before and after a request held all the time. */
uint64_t promise_held_since(const struct share *s, const struct cache_file *f);
/* What that says of an open for `how` that was answered with `p` (or NULL); `since`:
 * promise_held_since from before. */
enum share_vouched promise_vouches(const struct share *s, const struct promise *p,
                                   const struct cache_file *f, unsigned how, uint64_t since);
/* It is taken out for a program: no request. *ret_promise is what promise_close gets back. NULL: a
 * break has just taken it, or its CREATE is older than CacheMaxAge: by then its name may lead
 * elsewhere without a word. With the lock. */
struct client_file *promise_reopen(struct share *s, struct cache_file *f,
                                   struct promise **ret_promise);
/* With the lock, for a directory: the same; NULL: none. What is listed by it counts from a ticket
 * that is taken now. promise_relists: whether there is one. */
bool promise_relists(struct share *s, const struct cache_file *dir);
struct client_file *promise_relist(struct share *s, struct cache_file *dir,
                                   struct promise **ret_promise);
/* With the lock: what was just listed by a promise's handle again. */
void promise_renewed(struct share *s, struct promise *p, struct cache_ticket ticket);

/* Before an own change that a handle of ours would stand against (rename, remove; `beneath`: of a
 * directory and all in it): dormant ones are closed. The CLOSEs have left when it returns; those
 * beneath have been answered, too. With the lock, not while it closes. */
void promise_give_up(struct share *s, struct cache_file *f, bool beneath);
/* Before the server is asked, by its path, what the file is (a directory: nothing is done); and
 * before it is asked to list `dir`, whose answer will be believed for FileInfoCacheLifetime. The
 * handles that might show old times are closed: the CLOSEs have left. With the lock, not while they
 * leave. */
void promise_let_tell(struct share *s, struct cache_file *f);
void promise_let_tell_in(struct share *s, const struct cache_file *dir);
/* The watch tells that the file was modified: no handle of before is kept. The keeper closes it;
 * who asks meanwhile does that himself. With the lock. */
void promise_modified(struct share *s, const struct cache_file *f);
/* The server is out of handles: closes half of the dormant ones, and waits for it. False: there
 * were none. Without the lock. */
bool promise_make_room(struct share *s);

/* With the lock: whether writes to `f` may be delayed now (WRITE is promised and not being taken).
 */
bool promise_may_delay(const struct share *s, const struct cache_file *f);

/* conn_events.lease_broken. */
bool promise_broken(void *user, void *owner, unsigned state);
/* With the lock: the session is gone, and all that was promised. */
void promises_lost(struct share *s);

void promises_init(struct share *s);
/* Once connected: leases are asked for from now on, where the settings and the server have them. */
void promises_start(struct share *s);
/* Closes all dormant handles, ends the keeper; before the client goes, and once nothing is open. */
void promises_done(struct share *s);

struct promise_counts {
    uint64_t asked, granted, broken, acknowledged; /* CREATEs that asked, were given anything ... */
    uint64_t dormant_files, dormant_dirs;          /* handles kept now */
    uint64_t reopened;                  /* opens and listings that a kept handle served */
    uint64_t given_up[PROMISE_REASONS]; /* kept handles closed, by reason */
};
/* With the lock. */
void promise_count(const struct share *s, struct promise_counts *ret);

#endif
