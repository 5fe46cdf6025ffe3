/* Between the two halves of raiser.h: raiser.c has the queue, the thread and the helper, raise.c
 * makes the calls of one event. */
#ifndef LARDER_MOUNT_RAISER_INSIDE_H
#define LARDER_MOUNT_RAISER_INSIDE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/list.h"
#include "mount/raiser.h"
#include "mount/session.h"

#define RAISED_MAX 256 /* files whose last raised state is remembered */

struct event {
    struct list link;
    enum share_news news;
    fuse_ino_t dir;
    struct share_node *node; /* a reference; NULL: not known */
    struct file_attr attr;
    uint64_t ino;
    const char *new_name; /* in `name`, behind it */
    char name[];
};

/* A file's state when something of it was raised last. */
struct raised {
    fuse_ino_t dir;
    uint64_t name, serial, size, written;
    bool is_dir;
};

enum { CREATED, REMOVED, RENAMED, MODIFIED, KINDS };

struct raiser {
    struct mount *mount;
    int socket; /* to the helper; constant */
    int stop;   /* eventfd; constant */
    pid_t helper;
    pthread_t thread;
    bool started;

    pthread_mutex_t lock; /* below share's */
    pthread_cond_t changed;
    struct list queue;   /* struct event; protected by lock */
    unsigned waiting;    /* in it; protected by lock */
    bool end, in_kernel; /* protected by lock */

    atomic_uint_fast64_t counts[KINDS], dropped, failed;

    struct raised raised[RAISED_MAX]; /* the thread's alone, from here on */
    unsigned next_raised;
    bool helper_lost;
    struct helper_job job;
};

/* ---- raiser.c ---- */

/* Has the helper make the call, and waits for it. 0 or a negative errno. */
int raiser_call(struct raiser *e, const struct selfop *want);
/* The kernel asks anew what it has by that name. `none`: it holds that there is none. */
void raiser_forget(struct raiser *e, const struct selfop *want, bool none);
/* The next event, if it is here in a moment, and a name that came in the same directory. */
struct event *raiser_take_other_half(struct raiser *e, const struct event *v);
void event_free(struct raiser *e, struct event *v);

/* ---- raise.c ---- */

void raise_one(struct raiser *e, const struct event *v);

#endif
