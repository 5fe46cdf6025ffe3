/* A promise from inside: for promise.c (asking, keeping, giving up) and keeper.c (what the thread
 * does). */
#ifndef LARDER_SHARE_KEPT_H
#define LARDER_SHARE_KEPT_H

#include "share/promise.h"

struct promise {
    struct client_lease *lease; /* constant */
    bool is_dir;                /* constant */

    /* all below: protected by share->lock */
    struct hash_node by_file; /* in promises.by_file, by the file's serial, unless stray */
    struct cache_file *file;  /* a reference; NULL: not known yet, or nobody's any more */
    struct promise *parent;   /* of the directory that its opens named; a reference, or NULL */
    unsigned refs;            /* asks, opens, promises beneath, a job */
    unsigned opens;           /* that carry its key, the dormant one too */
    unsigned state;           /* what the owner was last told */
    bool stray;               /* its key is another file's by now, or a second one: finds nobody */
    bool refused;             /* the server knows the key by another name: not asked for again */
    bool doubted;             /* broken while the file was not known */
    bool modified;            /* by others while it was open here: its times may be hidden */
    bool counted;             /* the cache believes by it ... */
    uint64_t counted_since;   /* ... without a break since then: some open of ours was there */
    struct client_file *dormant;
    uint64_t dormant_since;
    uint64_t opened_at;     /* when a directory's newest open was asked for; and the first of a
                               file's that have followed each other without a gap */
    struct list place;      /* in promises.dormant or .idle */
    struct list job;        /* in promises.jobs */
    unsigned acknowledging; /* breaks that wait for the job */
};

/* With the lock. */
void kept_let_go(struct share *s, struct promise *p); /* one reference less */
/* A break was acknowledged. What it announced is done only now, so that what was asked since it
 * came is as old as what was asked before. */
void kept_broke(struct share *s, struct promise *p);
/* Whether what was promised is enough for a handle to stay, and it hides nothing. */
bool kept_may_stay(const struct share *s, const struct promise *p);
/* Closes its dormant handle; the lock is let go of meanwhile. */
void kept_close(struct share *s, struct promise *p, enum promise_reason why);
/* Whether a HANDLE that the server takes is meant for this file or directory alone: of a directory
 * above it that is to be moved it would have taken that one's first. */
bool kept_moves_alone(const struct share *s, const struct promise *p);
/* Closes what is dormant of a directory whose HANDLE the server takes, and before that, where it is
 * the one that moves, all that is beneath: else the server would ask for these one by one. The lock
 * is let go of meanwhile. */
void kept_close_dir(struct share *s, struct promise *p);
/* The oldest dormant one, NULL: none. */
struct promise *kept_oldest(struct share *s);
/* The one whose handle has to be closed first, for its age, and when; NULL: none. */
struct promise *kept_first_due(const struct share *s, uint64_t *ret_at);
/* Frees idle ones but for `rest`; the lock is let go of meanwhile. */
void kept_reap(struct share *s, unsigned rest);
/* Has the keeper look again. */
void keeper_wake(struct share *s);
/* The keeper closes what is dormant, writes what is delayed, and acknowledges. */
void keeper_job(struct share *s, struct promise *p);

int keeper_start(struct share *s);
void keeper_stop(struct share *s); /* without the lock */

#endif
