/* One watched directory from the inside: watch_dir.c and own.c. All fields are under share->lock.
 */
#ifndef LARDER_SHARE_WATCHED_H
#define LARDER_SHARE_WATCHED_H

#include "share/internal.h"

struct share_watch {
    struct list link; /* in share->dirs.all, until share_watch_end */
    struct share *share;
    struct cache_file *dir;     /* a reference */
    struct client_watch *watch; /* NULL: not armed yet, or over */
    share_notice_fn *fn;
    void *user;
    bool busy;       /* the thread waits for the server's sake, without the lock */
    bool is_over;    /* share_watch_end has been: whoever is busy frees it */
    struct list own; /* struct own: changes of ours that are to be told yet */
    unsigned own_count;
};

/* NULL: nobody watches it. */
struct share_watch *watch_dir_of(struct share *s, const struct cache_file *dir);
/* To the cache, and to who watches: something that we did not do. */
void watch_dir_tell(struct share_watch *w, enum share_news news, const char *name);

/* Whether a notice is of an own change, which is then told. */
bool own_echo(struct share_watch *w, const char *name, bool came);
/* Whether what is modified counts as ours; `f`: what the name leads to, or NULL. */
bool own_modified(const struct share_watch *w, const char *name, const struct cache_file *f);
void own_done(struct share_watch *w);

#endif
