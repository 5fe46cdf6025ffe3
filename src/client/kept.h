/* What is known of an open so that it can be opened again on another connection. Private to this
 * room. */
#ifndef LARDER_CLIENT_KEPT_H
#define LARDER_CLIENT_KEPT_H

#include "client/operation.h"

/* A byte-range lock of the open, as client_lock was asked for it. */
struct kept_lock {
    uint64_t offset, len;
    enum client_lock_type type;
    bool moving; /* asked for or given back, and not answered: not to be taken again */
};

struct kept {
    struct client *client; /* constant, as are the others of this paragraph */
    uint32_t access, share, options;
    unsigned lease_state;          /* what it asked for; 0: no lease */
    uint64_t id, created, written; /* of the file, as of when it was opened */
    bool moves;                    /* its creation time was the earliest of the others */
    uint64_t known; /* it was there then, by the server's clock: the latest of its times, or
                       when the connection was lost. Written under conn->lock, while it is
                       nobody's to open again */

    uint32_t read_only; /* attributes that the file is owed; whoever opens it again */

    /* all below: protected by conn->lock */
    char *path;  /* by which it is found now */
    bool busy;   /* somebody opens it again */
    bool closed; /* its owner is done with it; who is busy frees it */
    bool dead;   /* it cannot be opened again, with why */
    struct error why;
    struct kept_lock *locks;
    unsigned lock_count, lock_room;
};

/* The open is to outlive its connection, where connections are made again. `h` has just been
 * opened; without memory for it, it ends with the connection. */
void handle_keep(const struct operation *op, struct handle *h, const struct client_how *how,
                 const struct file_attr *attr);
/* Its owner is done with it. False: somebody else frees it now, and has it closed. */
bool handle_leave(struct conn *c, struct handle *h);
/* Nobody has it any more, and its CLOSE did not arrive: true where the server holds it; the reviver
 * has it then. Caller holds conn->lock. */
bool kept_hand_over(struct conn *c, struct handle *h);
/* The connection is about to be lost: until now the server had them open. Caller holds conn->lock.
 */
void kept_lost(struct conn *c);
/* Opens all of them again; the reviver's. 0, or the connection was lost. */
int kept_revive_all(struct conn *c, struct error *err);
/* Closes what was handed over; the reviver's, while the connection is up. */
void kept_close_stale(struct conn *c);
/* A file or directory has another name now. */
void kept_renamed(struct conn *c, const char *from, const char *to);
/* The file of this open has, and so have its other opens. */
void handle_renamed(struct conn *c, struct handle *h, const char *to);

/* lock.c: takes the locks of `k` by the open `h`, which is not its own yet. -EIO: one cannot be
 * had; or the connection's error. */
int kept_lock_again(const struct operation *op, struct kept *k, struct handle *h);

/* readonly.c, by who opens it again: takes READONLY off the file, so that it may be tried again.
 * -EIO: that is not what is in the way; -EAGAIN: not now. */
int read_only_lift(const struct operation *op, struct kept *k);
/* Gives back what was taken off, if anything. */
void read_only_return(const struct operation *op, struct kept *k);

#endif
