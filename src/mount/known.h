/*
 * What the kernel knows, and which of it is wrong by now.
 *
 * Whatever is given to the kernel with a timeout is noted here: under which name it got which node,
 * and which names it was told to be missing. Names are kept by their directory and folded spelling,
 * and by the node that they lead to, so that each thing that share/ tells to be void finds what the
 * kernel holds of it: a name, all names of a directory, a node, everything. It is only marked, in
 * O(1) and without memory, for the listener runs under the share's lock; revoke.h's thread takes
 * out what is marked, one step at a time, and tells the kernel. So the list of what is to be told
 * never holds more than what the kernel was given.
 *
 * Moments. An answer may be computed before something is marked, and go out after it; the kernel
 * would keep it for its whole time. So whoever answers takes a moment before it asks share/, and
 * gives no timeout where what the answer is about was marked since. Whether it was and the note
 * that it was given are made under one lock: what is marked later finds the note.
 *
 * A file's name is taken off, a directory's is only expired: taking it off would unmount whatever
 * is mounted beneath. A directory that came or went makes void what is known beneath it, too: while
 * it was away the server told of changes in it by another path.
 *
 * Negatives. On a server that folds case a name that appears under one spelling ends the absence of
 * all of them, so they are found by their folded name. There is a bound: what cannot be noted is
 * told without a timeout.
 *
 * All under the node table's lock, which is a leaf.
 */
#ifndef LARDER_MOUNT_KNOWN_H
#define LARDER_MOUNT_KNOWN_H

#include "mount/node.h"

#define KNOWN_NEGATIVES_MAX 65536 /* some 10 MB with names of usual length */

void known_init(struct nodes *n);
void known_done(struct nodes *n);

/* Of a new node; and before one goes. With the lock. */
void known_node_init(struct nodes *n, struct node *node);
void known_node_done(struct nodes *n, struct node *node);

/* ---- what is given ---- */

/* Before share/ is asked. */
uint64_t known_moment(struct nodes *n);
/* Whether what was asked at `moment` of a node's attributes may be kept by the kernel. */
bool known_attr(struct nodes *n, fuse_ino_t node, uint64_t moment);
/* `name` in `dir` is given as this node, for so long (0: its attributes alone). False: nothing of
 * it may be kept. */
bool known_name(struct nodes *n, fuse_ino_t dir, const char *name, fuse_ino_t node,
                uint64_t valid_ns, uint64_t moment);
/* The same for there being no such name. */
bool known_none(struct nodes *n, fuse_ino_t dir, const char *name, uint64_t valid_ns,
                uint64_t moment);
/* Whether the kernel holds a node under exactly this name, so that it had no need to ask. */
bool known_holds(struct nodes *n, fuse_ino_t dir, const char *name);

/* ---- what the kernel does by itself: its own calls ---- */

/* `name` is there now by a call of the kernel's own: other spellings of it that are held to be
 * missing are wrong. */
void known_appeared(struct nodes *n, fuse_ino_t dir, const char *name);
/* It is gone. */
void known_left(struct nodes *n, fuse_ino_t dir, const char *name);
/* It moved, with its timeout. */
void known_moved(struct nodes *n, fuse_ino_t from, const char *name, fuse_ino_t to,
                 const char *new_name);

/* ---- what is wrong: each O(1) ---- */

void known_name_wrong(struct nodes *n, fuse_ino_t dir, const char *name, size_t len);
void known_names_wrong(struct nodes *n, fuse_ino_t dir);
void known_node_wrong(struct nodes *n, fuse_ino_t node); /* its attributes and its content */
void known_attr_wrong(struct nodes *n, fuse_ino_t node); /* its attributes alone */
void known_pages_wrong(struct nodes *n, fuse_ino_t node);
void known_all_wrong(struct nodes *n);

/* ---- what is to be told, for revoke.c ---- */

struct known_step {
    enum {
        KNOWN_EPOCH, /* everything by name: known_epoch_told says whether the kernel can */
        KNOWN_NAME,  /* `name` in `dir` */
        KNOWN_NODE,  /* attributes of `node`, and with `pages` what is in it */
    } kind;
    fuse_ino_t dir, node;
    bool is_dir;  /* what the name leads to (or may), or the node */
    bool content; /* NODE: the file's data may be other than it was */
    bool pages;
    bool barrier; /* NODE: answers about names in it may be on their way */
    size_t len;
    char name[SHARE_NAME_MAX + 1];
};

/* With the lock: the next thing to be told, which counts as told from then on. False: none. */
bool known_next(struct nodes *n, struct known_step *ret);
/* Without: the kernel has expired all names that it was given before the step EPOCH. */
void known_epoch_told(struct nodes *n);

#endif
