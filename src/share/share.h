/*
 * A share as a file tree: path or node in, answer out.
 *
 * Carries out the plan of cache/ with client/ and commits the answers. Callers block; any number of
 * threads. Two callers who want the same answer make one request (single flight). One mutex per
 * share guards the cache; it is never held across a request.
 *
 * Lock order: share->lock, then client's own. Events of the connection take share->lock only for
 * O(1).
 */
#ifndef LARDER_SHARE_SHARE_H
#define LARDER_SHARE_SHARE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/fileattr.h"
#include "share/options.h"

struct share;
struct share_listing;
struct share_file;
struct cache_file;
#define share_node                                                                                 \
    cache_file /* a node is what cache/ calls a file: opaque here, counted by references */

int share_connect(const struct share_options *options, struct share **ret, struct error *err);
/* Logs off and frees. All nodes, listings and files must have been given back. NULL allowed,
 * returns NULL. With `ret_final` (may be NULL): the final counts as JSON, taken after the LOGOFF,
 * to be decref'd. */
struct share *share_free(struct share *s, json_t **ret_final);

/* What a look-up found, and for how long that is believed (ns from now; 0: not at all). */
/* What an open knows of the content beyond what the file's size and times tell: servers tell the
 * time of writing late where somebody writes without closing the file. */
enum share_vouched {
    SHARE_UNVOUCHED, /* nothing */
    SHARE_CONTENDED, /* somebody else has it open, and may be writing */
    SHARE_ALONE,     /* nobody else has it open, so that its time is right */
    SHARE_KEPT,      /* it is as it was at the open before: the server would have told */
};

struct share_entry {
    struct share_node *node; /* a reference; NULL on -ENOENT */
    struct file_attr attr;
    uint64_t ino;
    uint64_t valid_ns;
    bool exact;                 /* the name asked for is the server's own spelling */
    bool is_link;               /* a symbolic link, for share_read_link */
    enum share_vouched vouched; /* share_open */
};

/* ---- by node ---- */
struct share_node *share_root(struct share *s); /* borrowed */
void share_node_ref(struct share *s, struct share_node *n);
void share_node_unref(struct share *s, struct share_node *n);
uint64_t share_node_serial(const struct share_node *n); /* never reused within a share */

/* 0 with *ret filled (node is a reference), -ENOENT (ret->valid_ns says how long that is believed),
 * or an error. */
int share_lookup(struct share *s, struct share_node *dir, const char *name, struct share_entry *ret,
                 struct error *err);
/* The same as the server has it now, whatever is believed: one request. */
int share_lookup_anew(struct share *s, struct share_node *dir, const char *name,
                      struct share_entry *ret, struct error *err);
/* ret->node is left NULL. */
int share_getattr(struct share *s, struct share_node *n, struct share_entry *ret,
                  struct error *err);

/* The listing as it is or was believed at this moment: an immutable snapshot. */
int share_list(struct share *s, struct share_node *dir, struct share_listing **ret,
               struct error *err);
size_t share_listing_count(const struct share_listing *l);
#define SHARE_NAME_MAX 1024 /* bytes that hold any name, with a NUL */
/* Entry i: attributes, and the name NUL-terminated into `name`. attr->id is the inode number that a
 * look-up would give where the server's ids can be used. */
const struct file_attr *share_listing_entry(const struct share_listing *l, size_t i,
                                            char name[static SHARE_NAME_MAX]);
/* The node behind entry i (a reference in ret->node). */
int share_listing_adopt(struct share *s, struct share_listing *l, size_t i,
                        struct share_entry *ret);
void share_listing_free(struct share *s, struct share_listing *l);

/* How a file is opened. */
enum {
    SHARE_READ = 1,
    SHARE_WRITE = 2,
    SHARE_TRUNCATE = 4,   /* with SHARE_WRITE: to length 0, in the same request */
    SHARE_EXCLUSIVE = 8,  /* share_create: -EEXIST where it is there already */
    SHARE_WANT_DATA = 16, /* for reading only: a small file's content may come with the open (not
                             where the caller still has it) */
    SHARE_DELAY = 32,     /* what is written by it may reach the server later (share_write) */
};

/* Opens a file. ret_entry (may be NULL; node left NULL) has the attributes at the time of the open.
 * -ESTALE: it has been replaced. */
int share_open(struct share *s, struct share_node *n, unsigned how, struct share_file **ret,
               struct share_entry *ret_entry, struct error *err);
/* Makes and opens `name` in `dir`; without SHARE_EXCLUSIVE opens what is there. Goes to the server
 * whatever is believed. `attributes`: FILE_ATTRIBUTE_... of a new file, 0 for none. ret_entry->node
 * is a reference. ret_created may be NULL. */
int share_create(struct share *s, struct share_node *dir, const char *name, unsigned how,
                 uint32_t attributes, struct share_file **ret, struct share_entry *ret_entry,
                 bool *ret_created, struct error *err);
int64_t share_read(struct share *s, struct share_file *f, void *buf, size_t len, uint64_t offset,
                   struct error *err);
/* The same into memory that is given: for what one request can read, uncopied. 0 with *ret, to be
 * given back by bytes_done before the share is freed. */
int share_read_bytes(struct share *s, struct share_file *f, size_t len, uint64_t offset,
                     struct bytes *ret, struct error *err);
/* The server has it when this returns, unless the open was made with SHARE_DELAY and a WRITE lease
 * promises that nobody else sees the file: then it waits here for up to WriteDelay, or until
 * anything is done that could tell (delay.h). As client_write: `len`, fewer where a later piece
 * failed, or the error; also that of data which was delayed before, then nothing is written. */
int64_t share_write(struct share *s, struct share_file *f, const void *buf, size_t len,
                    uint64_t offset, struct error *err);
/* What waits is the server's when this returns; the error of what could not be written, once. */
int share_flush(struct share *s, struct share_file *f, struct error *err);
/* FLUSH: on the server's disk; without to_disk as share_flush, with fsync's error. 0 without a
 * request where nothing was written by this open. */
int share_fsync(struct share *s, struct share_file *f, bool to_disk, struct error *err);
/* The attributes of `n` by an open of it: of a file that has lost its name while it is read (it was
 * removed or replaced), or that is being written. ret->node is left NULL. */
int share_file_getattr(struct share *s, struct share_node *n, struct share_file *f,
                       struct share_entry *ret, struct error *err);
/* Reads no more of what came along with the open: the file has changed since. */
void share_file_changed(struct share_file *f);
bool share_file_writes(const struct share_file *f); /* it was opened with SHARE_WRITE */
/* Whether any file that lost a name here while it was open is open still: the directory in which
 * the server has it under a hidden name is not empty to the server. */
bool share_hides(struct share *s);
/* Writes what waits, which share_flush would have reported; the CLOSE goes out and nobody waits. */
void share_close(struct share *s, struct share_file *f);

/* fallocate: room for [0, end); `grow` makes the file so long. -EOPNOTSUPP where all of that is
 * inside a file that has holes. Punching makes a hole, and leaves the size. */
int share_allocate(struct share *s, struct share_file *f, uint64_t end, bool grow,
                   struct error *err);
int share_punch_hole(struct share *s, struct share_file *f, uint64_t offset, uint64_t len,
                     struct error *err);
/* lseek's SEEK_DATA and SEEK_HOLE: *ret_offset; -ENXIO behind the end. A server that does not tell
 * has one range of data. */
int share_seek(struct share *s, struct share_file *f, uint64_t offset, bool hole,
               uint64_t *ret_offset, struct error *err);
/* Copies on the server; -EOPNOTSUPP where it cannot. The bytes copied. */
int64_t share_copy(struct share *s, struct share_file *from, uint64_t from_offset,
                   struct share_file *to, uint64_t to_offset, uint64_t len, struct error *err);

/* ---- changes: each patches the caches ---- */

/* What is to be changed; times are FILETIMEs, 0: stays. */
struct share_change {
    bool set_size;
    uint64_t size;
    uint64_t created, accessed, written;
    uint32_t attributes_on, attributes_off; /* FILE_ATTRIBUTE_... */
};
/* `f` (may be NULL): an open of it that may be used; it needs SHARE_WRITE for a size. ret (may be
 * NULL; node left NULL): the state after. */
int share_change(struct share *s, struct share_node *n, struct share_file *f,
                 const struct share_change *change, struct share_entry *ret, struct error *err);
/* ret->node is a reference, in all that make something. */
int share_mkdir(struct share *s, struct share_node *dir, const char *name, struct share_entry *ret,
                struct error *err);
/* unlink, or rmdir with `is_dir`. A file that is open here keeps its data until its last close: it
 * gets a hidden name (SHARE_HIDDEN_PREFIX...) meanwhile, which no listing or look-up here shows. */
int share_remove(struct share *s, struct share_node *dir, const char *name, bool is_dir,
                 struct error *err);
#define SHARE_HIDDEN_PREFIX ".larder-removed-"
/* -EEXIST without `replace`. What is replaced while it is open here keeps its data, as above. */
int share_rename(struct share *s, struct share_node *from_dir, const char *from,
                 struct share_node *to_dir, const char *to, bool replace, struct error *err);
int share_link(struct share *s, struct share_node *n, struct share_node *dir, const char *name,
               struct share_entry *ret, struct error *err);
/* As a reparse point, or where the option `mfsymlinks` is on as a file in the form of Minshall and
 * French, 1,067 bytes long, which share_lookup then shows as links too. */
int share_symlink(struct share *s, struct share_node *dir, const char *name, const char *target,
                  struct share_entry *ret, struct error *err);
int share_read_link(struct share *s, struct share_node *n, char **ret, struct error *err);

/* ---- byte-range locks ---- */

enum share_lock_type { SHARE_UNLOCK, SHARE_LOCK_SHARED, SHARE_LOCK_EXCLUSIVE };
struct share_lock {
    uint64_t owner; /* who, within this mount: the kernel's lock owner */
    pid_t pid;      /* for share_lock_test's answer */
    enum share_lock_type type;
    uint64_t start, end; /* both included; end UINT64_MAX: to the end of the file */
};
/*
 * POSIX locks (and flock as one whole range): owners of this mount are kept apart here, other
 * clients by the server, which holds what all owners here hold together. A change within an owner's
 * own ranges splits and merges as fcntl(2) says. A lock that was taken is a promise to see what its
 * last holder, of another client, has written: attributes and content from before it are dropped
 * (not with `nobrl`). -EAGAIN where somebody else has it. With `wait`
 * tries again until it is free or `gone` says that nobody waits any more (-EINTR).
 */
int share_lock(struct share *s, struct share_file *f, const struct share_lock *lock, bool wait,
               bool (*gone)(void *user), void *user, struct error *err);
/* F_GETLK: what would stand against `lock`, or type SHARE_UNLOCK. One that another client holds is
 * shown with pid 0 and the range that was asked about. */
int share_lock_test(struct share *s, struct share_file *f, struct share_lock *inout,
                    struct error *err);
/* All that an owner has on this file: a close, as POSIX has it. */
void share_lock_release(struct share *s, struct share_file *f, uint64_t owner);

struct share_statfs {
    uint64_t total_bytes, free_bytes, available_bytes;
    uint32_t block_size, name_max;
};
int share_statfs(struct share *s, struct share_statfs *ret, struct error *err);

/* ---- by path: "a/b", "" the root; a leading or doubled `/` is skipped, `.` and `..` refused
 * (-EINVAL) ---- */
int share_stat_path(struct share *s, const char *path, struct share_entry *ret,
                    struct error *err); /* node: a reference */
int share_open_path(struct share *s, const char *path, struct share_file **ret,
                    struct share_entry *ret_entry,
                    struct error *err); /* ret_entry->node: a reference, NULL allowed */
/* The directory that `path` is in (a reference), found by structure alone, and the last component
 * within `path`; -EINVAL for the top itself. For the changes above. */
int share_parent(struct share *s, const char *path, struct share_node **ret_dir,
                 char name[static SHARE_NAME_MAX], struct error *err);
/* Its entries' attributes are believed, too: share_list answers for the names alone, and each entry
 * for itself by share_listing_adopt. */
int share_list_path(struct share *s, const char *path, struct share_listing **ret,
                    struct error *err);

/* ---- what is no longer believed for a reason from outside ---- */

/*
 * Told to who keeps answers of ours (the kernel's caches): a lease broke, the server told of a
 * change, a directory was found changed, the session is lost. Own changes are not told: their
 * caller knows. Belief is changed first, then this is called, with share's lock held and on threads
 * that must not wait: it has to be O(1) and may call nothing of share/. Nodes and names are
 * borrowed for the call.
 */
struct share_listener {
    /* `name` (not NUL-terminated) in `dir` may have come, gone, or lead to something else. */
    void (*name_changed)(void *user, const struct share_node *dir, const char *name, size_t len);
    /* Any name in `dir` may have. */
    void (*names_changed)(void *user, const struct share_node *dir);
    /* The attributes and the content of `n`. */
    void (*node_changed)(void *user, const struct share_node *n);
    /* What was told of the attributes of the file `n` lives shorter than was said with it; that
     * anything has changed is not said, nor anything of its content. */
    void (*node_aged)(void *user, const struct share_node *n);
    /* Everything. */
    void (*all_changed)(void *user);
    void *user;
};
/* Copied. NULL: nobody listens any more; none is called after that returns. */
void share_listen(struct share *s, const struct share_listener *listener);

/* ---- one directory watched: what others change in it ---- */

enum share_news {
    SHARE_ADDED,
    SHARE_REMOVED,
    SHARE_MODIFIED,
    SHARE_RENAMED,
    SHARE_MISSED,    /* the server lost count: anything in the directory may have changed */
    SHARE_UNWATCHED, /* it is over, and nothing more is told: the server ended it (is the directory
                        gone?), or it was in the way of an own change */
};
struct share_notice {
    enum share_news news;
    const char *name;        /* in the directory; NULL for the last two */
    const char *new_name;    /* RENAMED */
    struct share_node *node; /* what `name` led to before, where that is known; else NULL */
    struct file_attr attr; /* its attributes as last heard of; where none were, only whether it is a
                              directory */
    uint64_t ino;          /* its inode number */
};
/* Belief is changed first. Called with share's lock held: O(1), calls nothing of share/. All in the
 * notice is borrowed for the call, but who returns true has got a reference to the node (if any).
 */
typedef bool share_notice_fn(void *user, const struct share_notice *notice);

/*
 * One CHANGE_NOTIFY of this one directory, beside the tree-wide watch: of what is done on its own
 * disk a server may tell only who watches the very directory (Samba does so). Where there are
 * SHARE_WATCHES_MAX of those, what the tree-wide watch tells of it, for as long as that stands: it
 * rides. What was done through this share is left out; so are modifications of a file for some
 * seconds after it was changed here, since nobody can say whose they were. Stays until
 * share_watch_end, or until it says SHARE_UNWATCHED, and is to be ended then, too. -EMFILE: there
 * are as many, and there is no tree-wide watch (now); nothing was sent. -EOPNOTSUPP where the
 * server has none.
 */
struct share_watch;
#define SHARE_WATCHES_MAX 256 /* each is an open directory on the server */
int share_watch_dir(struct share *s, struct share_node *dir, share_notice_fn *fn, void *user,
                    struct share_watch **ret, struct error *err);
bool share_watch_rides(const struct share_watch *w); /* it never changes */
/* Nothing is told after it returns. Not from `fn`. NULL allowed; returns NULL. */
struct share_watch *share_watch_end(struct share_watch *w);

/* ---- to look at ---- */
/* The directory that `name` was last heard to be, with the attributes that were heard then, if any,
 * believed or not: never asks the server. ret->node is a reference. -ENOENT: it was none. */
int share_peek_dir(struct share *s, struct share_node *dir, const char *name,
                   struct share_entry *ret);
/* The path in the share by one of the node's names. Its length; -ESTALE: it has none any more. */
#define SHARE_PATH_BYTES 98304 /* that hold any path, with a NUL */
int share_node_path(struct share *s, const struct share_node *n, char *ret, size_t cap);
bool share_node_is_dir(struct share *s, const struct share_node *n);
/* {"larder", "profile", "connection": {address, share, dialect, signing, ...}, "settings": {...},
 * "caches": {dir: {enabled, entries}, ..., bytes}, "leases": {files, directories (whether they are
 * asked for), asked, granted, broken, acknowledged, dormant: {files, directories}, reopened,
 * given_up: {age, room, change, broken, newer}}, "watch": {...}, "faults": [text, ...], and all
 * members of observe_json}. Never talks to the server. To be decref'd. */
json_t *share_stats(struct share *s);
/* What is believed of a path (as by path, above), and what a program's next stat, open and listing
 * of it would send through a mount: {"kind": "file", "directory", "missing", "beneath a file" or
 * "unknown"; "components": the beliefs are about the first so many of the path, "whole": that is
 * all of them; "answered", "answered_by": a look-up is, by which cache; "beliefs": {"listed",
 * "missing", "info", "listing": {"cache", "held", "answers", "age_s", "verified_s", "trust",
 * "valid_s", "why_not", "verifiable", "last_miss": {"reason", "ago_s"}, ...}}; "next": {"stat",
 * "open", "list":
 * [{"step", "components", "requests"}]}}. Changes and counts nothing, and sends nothing. */
int share_explain(struct share *s, const char *path, json_t **ret, struct error *err);
/* Forgets what is believed of a path and of all beneath it; "" of everything. The listener is told.
 * {"dropped": {"dir", "info", "notfound"}, "kernel_told": whether there is a listener}. */
int share_drop(struct share *s, const char *path, json_t **ret, struct error *err);
/* The session is to end: from now on nobody waits much longer for a server that is away. */
void share_hurry(struct share *s);
/* How often the connection was lost so far, and made again, and why it was lost last. */
struct share_outages {
    unsigned lost, back;
    struct error why;
};
void share_outages(struct share *s, struct share_outages *ret);
/* `changed` is called when there is news of that, with share's lock held and on threads that must
 * not wait: see share_listener. NULL: not any more; it is not called after that returns. */
void share_tell_outages(struct share *s, void (*changed)(void *user), void *user);
/* Whether the connection is gone, and why; it may come back. */
bool share_lost(struct share *s, struct error *ret_why);
/* The dead-cache alarm: calls `line` for every fault that was not reported before. */
void share_check_caches(struct share *s, void (*line)(void *user, const char *text), void *user);
/* Calls `line` for everything that was written and is lost, and was not told before: a line with
 * the path and the reason. */
void share_lost_data(struct share *s, void (*line)(void *user, const char *text), void *user);
const struct share_options *share_get_options(const struct share *s);

#endif
