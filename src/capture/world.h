/*
 * What a capture shows of the servers' shares: which names are in which directories, and which are
 * not. Where a what-if lists a directory that the capture's client did not list, the listing's
 * content comes from here.
 *
 * The share is a number of the caller's; paths are as the clients spelled them. At most
 * WORLD_NAMES_MAX names and directories are kept; the directories that were not heard of for the
 * longest time are forgotten first.
 */
#ifndef LARDER_CAPTURE_WORLD_H
#define LARDER_CAPTURE_WORLD_H

#include "cache/cache.h"
#include "capture/operation.h"

#define WORLD_NAMES_MAX 131072

struct world;
struct world *world_new(void); /* NULL: out of memory */
struct world *world_free(struct world *w);

/* What an operation is about: one path, and whether it is there. */
struct subject {
    char *path; /* from the share's root; SEARCH: with the name. Behind it stands "/." */
    size_t len;
    size_t dir_len; /* of the parent directory's path at its beginning */
    const char *name;
    size_t name_len; /* 0: the root */
    bool known;      /* false: nothing can be said of one path; the rest is then not set */
    bool there;
    struct file_attr attr; /* where it is there; no times and no size where they were not seen */
};
#define SUBJECT_INSIDE 2 /* so much longer, the path leads into the subject */
/* -ENOMEM; `known` is false for what is no plain path (streams, patterns). */
int subject_init(struct subject *s, const struct operation *o);
/* The path that it was renamed or linked to, as a subject that is not there yet. */
int subject_init_moved(struct subject *s, const struct operation *o);
void subject_done(struct subject *s);

/* Takes over what the operation shows. Returns whether its subject is there although it was missing
 * when the capture last showed it. */
bool world_learn(struct world *w, uint64_t share, const struct operation *o,
                 const struct subject *s);

/* It has changed, and what it is now is not known. */
void world_forget(struct world *w, uint64_t share, const struct subject *s);

/* Everything that is known to be in a directory, not sealed yet. -ENOMEM. */
int world_listing(struct world *w, uint64_t share, const char *dir, size_t len,
                  struct cache_listing **ret);

/* What is known of the directory's size: bytes of FileIdBothDirectoryInformation (at least), and
 * how many QUERY_DIRECTORYs a client needed to read it to its end (0: none did). */
uint64_t world_dir_bytes(struct world *w, uint64_t share, const char *dir, size_t len,
                         uint32_t *ret_queries);

#endif
