/*
 * What the kernel knows: node numbers, and how often each was handed out.
 *
 * A node is a share_node that the kernel has at least one look-up on; the table holds one reference
 * to it. The node number is the share_node's serial number (plus 2: 1 is the root, 0 means none).
 * Serials are never reused, so a number that the kernel kept too long finds nothing instead of
 * somebody else's file, and the generation that FUSE asks for beside it is always 0.
 *
 * A `struct node *` stays valid while the call that it was got for is answered: the kernel forgets
 * no node with a call in flight. A call that may be given up (call.h) holds its node by a look-up
 * of its own. The lock is a leaf; share/ is not called under it.
 */
#ifndef LARDER_MOUNT_NODE_H
#define LARDER_MOUNT_NODE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/list.h"
#include "mount/fuse.h"
#include "share/share.h"

/* The state of a file that the kernel's pages of it belong to. */
struct node_pages {
    bool known;                         /* the file was opened before, in this state: */
    uint64_t created, written, changed; /* FILETIMEs */
    uint64_t size;
    uint64_t vouched_at; /* when an open last knew for sure that they are of it */
    bool to_the_end;     /* its last byte has been read since */
};

#define NODES_MARKS 256

/* What the kernel was told of a file's content with the last attributes that went out. */
struct node_told {
    uint64_t written, size;
};

struct node {
    struct hash_node by_id;   /* protected by nodes->lock */
    uint64_t id;              /* constant */
    struct share_node *share; /* constant; one reference */
    uint64_t ino;             /* st_ino; 0: not known yet. Protected by nodes->lock */
    uint64_t lookups;         /* protected by nodes->lock */
    struct node_pages pages;  /* protected by nodes->lock */
    struct node_told told;    /* protected by nodes->lock */
    uint64_t changes;         /* of its data, through this mount; protected by nodes->lock */
    bool is_dir;              /* constant */

    /* known.c's; all protected by nodes->lock */
    struct list known_as;      /* the names under which the kernel was given it */
    struct list names, voided; /* those in it, and those that are wrong */
    struct list link;          /* in nodes->quiet or nodes->wrong_nodes */
    unsigned wrong;            /* what is */
    uint64_t era, turn;        /* how often everything, or all names in it, were */
    uint64_t names_at;         /* nodes->clock when a name in it last changed */
};

struct nodes {
    pthread_mutex_t lock;
    struct share *share; /* borrowed */
    struct hash by_id;   /* protected by lock */
    struct node root;    /* in the table for good */
    uint64_t pages_age;  /* ns that pages live which nobody vouches for; constant */

    /* known.c's; all protected by lock */
    struct hash known;                /* the names that the kernel was given */
    struct list negatives;            /* the missing ones among them, oldest first */
    size_t negative_count;            /* of these */
    struct list wrong_names;          /* to be told by the next steps ... */
    struct list wrong_nodes, quiet;   /* ... and the nodes that have something to be told, or not */
    pthread_cond_t work;              /* there is something to be told */
    fuse_ino_t marks[NODES_MARKS];    /* nodes that were marked last; 0: all */
    uint64_t moment;                  /* how many ever were */
    uint64_t clock, era;              /* how often a name changed, and everything did */
    uint64_t epoch_asked, epoch_told; /* the last era of which the kernel is to be told, and was */
};

/* Takes the reference `root` over, also on failure. -ENOMEM. */
int nodes_init(struct nodes *n, struct share *share, struct share_node *root);
/* Drops every reference, whatever the kernel still holds. */
void nodes_done(struct nodes *n);

/* The number that a node has or would have. */
fuse_ino_t nodes_id(const struct nodes *n, const struct share_node *share);

/* NULL: not a number that the kernel holds. The first with the lock. */
struct node *nodes_find(const struct nodes *n, fuse_ino_t id);
struct node *nodes_get(struct nodes *n, fuse_ino_t id);

/* The same with one more look-up, which nodes_forget takes back. */
struct node *nodes_hold(struct nodes *n, fuse_ino_t id);

/* One more look-up of the node; takes the reference over, also on failure. -ENOMEM. */
int nodes_enter(struct nodes *n, struct share_node *share, uint64_t ino, bool is_dir,
                fuse_ino_t *ret_id);
void nodes_forget(struct nodes *n, fuse_ino_t id, uint64_t lookups);
size_t nodes_count(struct nodes *n); /* without the root */

/* The inode number that programs see, remembered for listings of the directory itself. */
void nodes_set_ino(struct nodes *n, struct node *node, uint64_t ino);
uint64_t nodes_ino(struct nodes *n, const struct node *node);

/* These attributes go out to the kernel. */
void nodes_tell(struct nodes *n, struct node *node, const struct file_attr *attr);
/* Whether these say anything else about the content than what went out last. */
bool nodes_told_otherwise(struct nodes *n, const struct node *node, const struct file_attr *attr);

/* Whether an open may expect the whole file in the kernel's pages already. */
bool nodes_pages_whole(struct nodes *n, const struct node *node);
/* An open found the file in this state. Returns whether the kernel's pages are of the same state,
 * and remembers it. Size and time of writing alone do not tell: a file that is unpacked over
 * another may have both from it, and its id too. (Samba has no time of change of its own: it tells
 * the time of writing twice.) What was kept is no other one: what is told of its time of creation
 * is not looked at then, of which Samba has one for listings and for later opens, and another for
 * the first. Where nobody vouches for the times, the pages live on for no longer than anything else
 * that nobody vouches for. */
bool nodes_pages_keep(struct nodes *n, struct node *node, const struct file_attr *attr,
                      enum share_vouched vouched);
/* The kernel got the bytes up to `end`. */
void nodes_pages_read(struct nodes *n, struct node *node, uint64_t end);

/* The file's data was, or may have been, changed through this mount. The kernel's pages are right,
 * but in which state the server has the file now is not known: the next open drops them. */
void nodes_data_changed(struct nodes *n, struct node *node);
/* How often that happened: who asked the server for data before and finds another number after it
 * may have got what is old by now. */
uint64_t nodes_data_changes(struct nodes *n, const struct node *node);

#endif
