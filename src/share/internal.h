/*
 * Inside of share/: share.c (life of a share), flight.c (single flight), lookup.c (names and
 * attributes), listing.c (directories), opens.c (the table of what is open), file.c (opening and
 * closing), data.c (what opens are for), change.c (names and attributes changed), link.c (symbolic
 * links), stats.c and explain.c (what is shown to people), watch.c, watch_dir.c and ride.c (what
 * the server tells), own.c (which of that we did).
 */
#ifndef LARDER_SHARE_INTERNAL_H
#define LARDER_SHARE_INTERNAL_H

#include <pthread.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/list.h"
#include "cache/cache.h"
#include "client/client.h"
#include "observe/observe.h"
#include "share/locks.h"
#include "share/share.h"

#define SHARE_PATH_MAX SHARE_PATH_BYTES /* of UTF-8, that 32,767 UTF-16 units can need */

/* Why a kept handle was closed by ourselves. */
enum promise_reason {
    PROMISE_AGE,    /* DormantDirectoryTimeout */
    PROMISE_ROOM,   /* DormantFileLimit, or the server wanted room */
    PROMISE_CHANGE, /* it stood against an own change */
    PROMISE_BROKEN, /* the server took HANDLE, or the session was lost */
    PROMISE_NEWER,  /* the file was opened anew */
    PROMISE_TIMES,  /* the server may tell old times of it for as long as it is open */
    PROMISE_REASONS,
};

/* promise.h. All protected by share->lock, where nothing else is said. */
struct promises {
    bool files, dirs; /* leases are asked for; constant from promises_start on */
    bool needs_write; /* to keep a file's handle; constant from promises_start on */
    struct hash by_file;
    struct list dormant; /* with a handle that nobody uses, oldest first */
    unsigned dormant_count;
    struct list idle; /* that nothing refers to, longest first */
    unsigned idle_count;
    struct list jobs;    /* for the keeper */
    pthread_cond_t wake; /* the keeper: there is something to do */
    pthread_t keeper;    /* constant while started */
    bool started, stop, lost;
    unsigned leaving;    /* CLOSEs of handles that hide something, not yet sent */
    pthread_cond_t left; /* ... and now they are */
    uint64_t keeper_sleeps_until;
    uint64_t asked, granted, broken, acknowledged, reopened, given_up[PROMISE_REASONS];
};

#define DELAY_THREADS 6  /* WRITEs of delayed data under way at a time */
#define DELAY_TEXTS   32 /* losses that nobody has asked for yet */

/* delay.h. All protected by share->lock. */
struct delays {
    struct list files; /* struct delayed, those with something that waits */
    struct list spare; /* pieces that hold nothing */
    unsigned count;    /* pieces that wait or are under way */
    uint64_t serial;   /* of the newest piece */
    uint64_t quiet_since;
    pthread_cond_t work; /* a thread: there may be something to write, or to wait for */
    pthread_cond_t done; /* something was written, or may be now */
    pthread_t threads[DELAY_THREADS];
    unsigned thread_count, idle, timers; /* of the idle ones, those that sleep for a time */
    bool stop;
    char *texts[DELAY_TEXTS];
    unsigned text_count, texts_left_out;
    uint64_t taken, sent; /* writes that were delayed, pieces that were sent */
};

struct share {
    struct share_options options; /* constant; the password is wiped once connected */
    enum client_style style;      /* constant, from the profile */
    struct observe *observe;
    struct client *client;
    struct client_keylog *keylog; /* NULL: keys are not logged */

    pthread_mutex_t lock;
    struct cache *cache;                 /* protected by lock, but for listings */
    struct list flights;                 /* protected by lock */
    struct error lost;                   /* protected by lock; code 0 while the session stands */
    bool alarm_given[OBSERVE_CACHES];    /* protected by lock */
    struct lock_desk desk;               /* who waits for whom; has its own lock */
    struct hash opened;                  /* struct opened; protected by lock */
    unsigned hidden;                     /* of those, with hidden names; protected by lock */
    struct list closings;                /* struct closing, oldest first; protected by lock */
    unsigned closing_count;              /* protected by lock */
    pthread_t watch_thread;              /* constant while watch_started */
    bool watch_started;                  /* constant between share_connect and share_free */
    struct client_watch *watch;          /* the thread's; protected by lock */
    bool watch_stop, watched;            /* protected by lock */
    bool watch_waits;                    /* for a session that expired; protected by lock */
    pthread_cond_t watch_wake;           /* that, or watch_stop */
    bool watch_silent;                   /* the server tells of nothing; protected by lock */
    uint64_t notices;                    /* heard so far; protected by lock */
    uint64_t doubt_since, doubt_notices; /* protected by lock */
    uint64_t verified[2]; /* directories: found changed, unchanged; protected by lock */
    struct promises promises;
    struct delays delays;
    /* What is written later is the server's before a lease that allowed it is given back: delay.h's
     * functions, set by who delays before anything is open. NULL: nobody does. */
    struct {
        bool (*pending)(const struct share *s, const struct cache_file *file); /* with the lock */
        int (*flush)(struct share *s, struct cache_file *file);
    } delayed;
    struct {                      /* watched for somebody (watch_dir.c); protected by lock: */
        struct hash by_dir;       /* struct share_watch, every one, by its directory's serial */
        struct list all;          /* of them those with a handle of their own */
        unsigned count, max;      /* of these; max is constant but to tests: SHARE_WATCHES_MAX */
        struct list riders;       /* the others (ride.c) */
        struct client_bell *bell; /* with the thread; constant from then on */
        pthread_t thread;
        bool stop;
        pthread_cond_t settled;  /* the thread is busy with one less */
        struct written *written; /* own.c */
        struct hash own;         /* own.c */
        uint64_t own_ids;
    } dirs;
    struct {                    /* looks.c; protected by lock: */
        unsigned under_way;     /* requests that have something open meanwhile */
        uint64_t begun;         /* of them, so far */
        unsigned kept_off;      /* changes for which no new one is begun */
        pthread_cond_t changed; /* one of both is 0 */
    } looks;
    struct hash links;              /* struct link, by the file's serial; protected by lock */
    struct share_listener listener; /* protected by lock */
    struct share_outages outages;   /* protected by lock, as are who wants to know of them: */
    void (*outage)(void *user);
    void *outage_user;
};

struct share_listing {
    struct cache_listing *list; /* a reference */
    struct cache_file *dir;     /* a reference */
};

/* ---- single flight ---- */

enum flight_kind { FLIGHT_LOOK_UP, FLIGHT_LIST, FLIGHT_ATTR };

struct flight {
    struct list link;
    enum flight_kind kind;
    const struct cache_file *file;
    const char *name;
    size_t len;
    pthread_cond_t landed;
    bool done;
    unsigned waiters;
};

/* Both with share->lock held. flight_wait: where the same question is under way, waits for its end
 * and returns true; the caller then plans anew, and asks by itself if the answer was not believed.
 */
bool flight_wait(struct share *s, enum flight_kind kind, const struct cache_file *file,
                 const char *name, size_t len);
void flight_begin(struct share *s, struct flight *f, enum flight_kind kind,
                  const struct cache_file *file, const char *name, size_t len);
void flight_end(struct share *s, struct flight *f);

/* ---- looks ---- */

void looks_init(struct share *s);
void looks_done(struct share *s);

/* All with share->lock held, which look_begin and looks_keep_off let go while they wait. Around
 * whatever opens something by its path and closes it again, from before the path is made until
 * nothing of it is open; not one within another. */
void look_begin(struct share *s);
void look_end(struct share *s);

struct looks_mark {
    unsigned under_way;
    uint64_t begun;
};
/* Taken before a change is sent, for looks_keep_off. */
struct looks_mark looks_mark(const struct share *s);
/* Of a change that was refused for something that is open: false where nobody has looked since.
 * Else those that look have ended and no other begins until looks_go_on. */
bool looks_keep_off(struct share *s, struct looks_mark since);
void looks_go_on(struct share *s);

/* ---- between the files ---- */

/* Path for the wire: the target's own path in front. malloc'ed into *ret. With share->lock held. */
int share_wire_path(struct share *s, const struct cache_file *f, const char *name, size_t len,
                    char **ret, struct error *err);

/* Asks the server for a whole listing (or, with `guess`, for one round trip of it), and gives it to
 * the cache; under a lease where the server has them for directories. *ret is a reference; NULL
 * where a guess was not complete. *ret_ticket is what it was asked with. With share->lock on entry
 * and exit, not while it waits. */
int share_ask_listing(struct share *s, struct cache_file *dir, bool guess,
                      struct cache_listing **ret, struct cache_ticket *ret_ticket,
                      struct error *err);
/* client_stat, once more where the server is out of handles; within a look. Without the lock. */
int share_ask_stat(struct share *s, const char *path, struct file_attr *ret,
                   char spelling[CLIENT_NAME_MAX], struct error *err);

/* A file that was believed to be at this path for the wire is not: the name that led there is
 * forgotten. True: by now another one leads to the file, which is to be tried. With lock. */
bool share_forget_path(struct share *s, struct cache_file *f, const char *path);

/* What a reply said of a file after a change of our own: completed by what it does not tell (id,
 * links) and given to the cache. Returns until when it is believed. With lock. */
uint64_t share_own_attr(struct share *s, struct cache_file *f, struct file_attr *inout,
                        struct cache_ticket ticket);

/* An entry under the server's own spelling; the node is the caller's to add. With lock. */
void share_entry_of(const struct cache_file *f, const struct file_attr *attr, uint64_t until,
                    struct share_entry *ret);

/* A name was made by this client: it becomes belief, and *ret, whose node is a reference. `linked`:
 * the file that it is another name of. With lock. */
int share_commit_made(struct share *s, struct cache_file *dir, const char *name,
                      const struct file_attr *attr, struct cache_file *linked,
                      struct cache_ticket ticket, struct share_entry *ret, struct error *err);

/* How much of a file to ask for with an open of this kind; 0: nothing. `size`: as last heard, or
 * NULL. */
size_t share_first_read(const struct share *s, unsigned how, const uint64_t *size);

/* Whether a name is one of those that removed files have while they are open. */
bool share_is_hidden(const char *name, size_t len);
/* With the lock: the path for the wire of a name that is to be made, removed or moved. -EPERM for a
 * hidden one. */
int share_named_path(struct share *s, struct cache_file *dir, const char *name, char **ret,
                     struct error *err);

/* Whether what was to be made at this path was refused for nothing but a file that has been removed
 * and that somebody still has open: then, after a while, it is to be tried again. `ret_tried`: how
 * often that was said, 0 at first. Without lock. */
bool share_name_gets_free(struct share *s, const char *path, const struct error *why,
                          unsigned *ret_tried);

/* Finds out whether the entry's file is a symbolic link, and says so in it: out of its attributes
 * where those tell, else by reading it once for each state of it. Without lock. */
void share_mark_link(struct share *s, const struct cache_file *f, struct share_entry *inout);
void share_links_done(struct share *s);

/* ---- listener.c: to who listens, with the lock, once the cache has been told ---- */

void tell_name(struct share *s, const struct cache_file *dir, const char *name, size_t len);
void tell_names(struct share *s, const struct cache_file *dir);
void tell_node(struct share *s, const struct cache_file *f);
void tell_aged(struct share *s, const struct cache_file *f);
void tell_all(struct share *s);

/* ---- watch.c ---- */

void watch_start(struct share *s);
void watch_done(struct share *s); /* before the client goes */
/* With lock, before something is changed or listed: a watch that would have told something by now
 * is given up. */
void watch_must_tell(struct share *s);
/* The plan says VERIFY: one round trip. With lock on entry and exit, not while it waits. */
bool watch_verify(struct share *s, struct cache_file *dir);
/* With lock: the attributes of a directory whose listing is held, asked for with `ticket` (NULL: it
 * could not be asked), are held against those that it was listed with. Whether it is as it was. */
bool watch_compare(struct share *s, struct cache_file *dir, const struct file_attr *attr,
                   struct cache_ticket ticket);

/* ---- watch_dir.c, own.c (and see watched.h) ---- */

void watch_dirs_init(struct share *s);
void watch_dirs_done(struct share *s); /* before the client goes */
/* With lock on entry and exit, not while it waits: before what is there is renamed or removed. */
void watch_dirs_make_way(struct share *s, const struct cache_file *dir, const char *name);
/* `name` in `dir` is about to come or go by an own change. With lock. Its number for own_ends,
 * also with it; 0: nobody watches. */
uint64_t own_begins(struct share *s, const struct cache_file *dir, const char *name, bool came);
void own_ends(struct share *s, uint64_t id, bool done);
/* The file is, or has just been, changed by us. With lock, and without it. */
void own_modifies(struct share *s, const struct cache_file *f);
void own_writes(struct share *s, const struct cache_file *f);

/* Whether the server itself said that there is no such name. */
bool share_says_missing(const struct error *e);

/* With the lock on entry and exit: cache_walk, but where what others did put a directory on the way
 * in doubt it is looked up first. */
int share_walk(struct share *s, const char *path, size_t len, struct cache_file **ret_dir,
               const char **ret_name, size_t *ret_name_len);

/* `path` without doubled, leading and trailing slashes; malloc'ed into *ret. */
int share_clean_path(const char *path, char **ret, struct error *err);

/* Nanoseconds from now until `until`. */
uint64_t share_remaining(uint64_t until, uint64_t now);

#endif
