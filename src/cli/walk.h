/*
 * Walks a tree, here or on a share: each directory before what is in it and once more behind it,
 * names sorted by their bytes. Links are shown and not followed, unless the caller wants it (here
 * alone), and then not into a directory that the walk is in already. Memory: one listing for each
 * directory on the way down.
 */
#ifndef LARDER_CLI_WALK_H
#define LARDER_CLI_WALK_H

#include "cli/place.h"

enum walk_event {
    WALK_END,
    WALK_FILE,  /* or a link, or whatever is no directory: see `stat` */
    WALK_DIR,   /* about to be entered */
    WALK_LEAVE, /* all in it has been shown */
    WALK_ERROR, /* `error` says why this directory, or this name, could not be read */
};

/* Good until the next call. */
struct walk_step {
    enum walk_event event;
    const char *path;  /* whole */
    const char *below; /* behind the top's path; "" for the top itself */
    const char *name;  /* the last component; "" for the top */
    unsigned depth;    /* 0: the top */
    bool last;         /* of its directory */
    struct larder_stat stat;
    struct larder_error error;
};

struct walk;
/* `top` is a directory; NULL: out of memory. */
struct walk *walk_new(const struct place *top, const struct larder_stat *stat, bool follow);
const struct walk_step *walk_next(struct walk *w);
/* The directory just shown by WALK_DIR is not entered, but left (WALK_LEAVE). */
void walk_skip(struct walk *w);
/* Whether the directory at this depth on the way to the last step is the last of its own. */
bool walk_is_last(const struct walk *w, unsigned depth);
struct walk *walk_free(struct walk *w);

#endif
