/* One watched directory from the inside: watch_dir.c, ride.c and own.c. All fields are under
 * share->lock. */
#ifndef LARDER_SHARE_WATCHED_H
#define LARDER_SHARE_WATCHED_H

#include "share/internal.h"

struct share_watch {
    struct list link;        /* in share->dirs.all, or dirs.riders, until share_watch_end */
    struct hash_node by_dir; /* in share->dirs.by_dir, for as long */
    struct share *share;
    struct cache_file *dir;     /* a reference */
    struct client_watch *watch; /* NULL: it rides, is not armed yet, or is over */
    share_notice_fn *fn;
    void *user;
    bool rides;      /* has no handle: the tree-wide watch tells of it; constant */
    bool stranded;   /* rode, and that watch has ended */
    bool busy;       /* the thread waits for the server's sake, without the lock */
    bool is_over;    /* share_watch_end has been: whoever is busy frees it */
    struct list own; /* struct own: changes of ours that are to be told yet */
    unsigned own_count;
};

/* NULL: nobody watches it. */
struct share_watch *watch_dir_of(struct share *s, const struct cache_file *dir);
/* What is told of `name`, with what it led to before: to be asked for before the cache is told. */
struct share_notice watch_dir_notice(struct share_watch *w, enum share_news news, const char *name);
/* Whether a name that came or went is to be told: no own change, and none that is of no concern to
 * anybody. An echo is then told. */
bool watch_dir_is_news(struct share_watch *w, const char *name, bool came);
/* Of files that were modified: those as well. */
bool watch_dir_is_passing(const char *name);
/* To who watches, unless it is a modification of ours; takes the node over. */
void watch_dir_deliver(struct share_watch *w, const struct share_notice *n);
/* To the cache, and to who watches: something that we did not do. */
void watch_dir_tell(struct share_watch *w, enum share_news news, const char *name);

/* Whether a notice is of an own change, which is then told. */
bool own_echo(struct share_watch *w, const char *name, bool came);
/* Whether what is modified counts as ours; `f`: what the name leads to, or NULL. */
bool own_modified(const struct share_watch *w, const char *name, const struct cache_file *f);
void own_done(struct share_watch *w);

/* ---- ride.c: what one notice of the tree-wide watch, or both halves of a renaming, say to who
 * rides; with the lock from ride_begin to ride_end ---- */

struct ride {
    unsigned count; /* of those that it concerns: both directories of a renaming, at most */
    struct share_watch *watch[2];
    struct share_notice notice[2];
};
/* Before the cache is told. `to`: a renaming from `path`; else NULL. Paths are borrowed. */
void ride_begin(struct ride *ret, struct share *s, enum client_action action, const char *path,
                const char *to);
void ride_end(struct ride *r); /* and after that */
/* The server lost count. */
void riders_missed(struct share *s);
/* The tree-wide watch has ended. */
void riders_stranded(struct share *s);

#endif
