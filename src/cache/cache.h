/*
 * What is believed about one share, why, and what to do next.
 *
 * A share is a tree of names over a set of files. Three beliefs are held about them, each with its
 * own lifetime and bound: a directory's complete listing (directory cache), a file's attributes
 * (file info cache), and that a name does not exist (file-not-found cache). The plan says, from the
 * beliefs, the profile and the time, whether to ANSWER or what to ask the server: LIST the
 * directory, SEARCH the one name in it, STAT the path, OPEN it.
 *
 * This room is pure: no I/O, no locks, no clock. `now` is nanoseconds of any clock, the same one in
 * every call; a clock that steps backwards makes beliefs from its future count as expired. Callers
 * serialise all calls on one cache (share/ holds a mutex), except those on listings, which are
 * immutable once sealed and counted atomically.
 *
 * Tickets. Whoever asks the server takes a ticket before sending. Every object remembers at which
 * order number it last changed; an answer is believed only if nothing that it is about has changed
 * since its ticket was taken, and attributes only if no later ask has been answered already. So
 * answers may arrive in any order, and the older never wins. Orders are 64-bit serial numbers and
 * may wrap.
 *
 * Trust. What nobody promised anything about is believed for its cache's lifetime, counted from
 * when it was asked for. Under a promise of the server (a lease, or the tree-wide watch) it is
 * believed until the server takes the promise back, and at most for CacheMaxAge, since servers do
 * not tell of what is done behind their back.
 */
#ifndef LARDER_CACHE_CACHE_H
#define LARDER_CACHE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fileattr.h"
#include "cache/settings.h"
#include "observe/observe.h"

struct cache;
struct cache_file;    /* what a name leads to: a file or a directory */
struct cache_listing; /* an immutable listing of one directory */

/* Settings are copied; `observe` is borrowed and outlives the cache. NULL: out of memory. */
struct cache *cache_new(const struct settings *settings, struct observe *observe);
/* All references must have been dropped but the root's own. Returns NULL; NULL is allowed. */
struct cache *cache_free(struct cache *c);

/* ---- files ---- */

struct cache_file *cache_root(struct cache *c); /* borrowed, lives as long as the cache */
struct cache_file *cache_file_ref(struct cache_file *f);
void cache_file_unref(struct cache *c, struct cache_file *f);

/* The inode number: the server's file id; where that is 0 or already taken by another file, a
 * stable hash of the path. */
uint64_t cache_file_ino(const struct cache_file *f);
/* Different for every file object that there ever was in this cache. */
uint64_t cache_file_serial(const struct cache_file *f);
bool cache_file_is_dir(const struct cache_file *f);
/* The size that was last heard of, believed or not; false where none was. */
bool cache_file_size(const struct cache_file *f, uint64_t *ret);
/* The attributes that were last heard of, believed or not; NULL where none were. Good until the
 * next call. */
const struct file_attr *cache_file_heard(const struct cache_file *f);
/* When these were asked for, 0: never. */
uint64_t cache_file_heard_at(const struct cache_file *f);
/* Can these attributes, just told by the server, be of this very file? Not where both have an id
 * and the ids differ, nor where one is a directory and the other is not. */
bool cache_file_same(const struct cache_file *f, const struct file_attr *attr);
/* Builds the path in the share ("a/b", "" for the root) by one of the file's names. Returns its
 * length, or -ESTALE where no name leads to the file any more, -ENAMETOOLONG. */
int cache_file_path(const struct cache_file *f, char *out, size_t cap);
/* The directory that this name is in (borrowed); NULL for the root, and where no name leads to the
 * file any more. */
struct cache_file *cache_file_parent(const struct cache_file *f);
/* "dir's path" + "/" + name. */
int cache_child_path(const struct cache_file *dir, const char *name, size_t len, char *out,
                     size_t cap);

/* ---- the plan ---- */

enum cache_step {
    CACHE_ANSWER, /* `result` is the answer */
    CACHE_LIST,   /* list the directory, commit, take the answer from it */
    CACHE_SEARCH, /* search the one name in the directory */
    CACHE_STAT,   /* stat the path */
    CACHE_OPEN,   /* open the path: nothing believed forbids it */
    CACHE_VERIFY, /* the directory's listing would answer but for its age: stat the directory, call
                     cache_verified, and plan anew */
};

enum cache_intent { CACHE_LOOK_UP, CACHE_OPEN_IT };

struct cache_plan {
    enum cache_step step;
    bool guess; /* LIST: only as far as one round trip reaches (directory of unknown size) */
    int result; /* ANSWER: 0, -ENOENT or -ENOTDIR */
    struct cache_file *file; /* ANSWER 0: a reference, the caller's to drop */
    struct file_attr attr;   /* ANSWER 0 */
    uint64_t valid_until;    /* ANSWER: until when this is believed */
    const char
        *spelling; /* ANSWER 0: the name as the server spells it, borrowed until the next call */
    size_t spelling_len;
};

/* What is `name` in `dir`? Counts hits and misses of the caches that it asks, in the order
 * directory, not found, file info (the last only where the profile lets it answer look-ups). */
void cache_plan_lookup(struct cache *c, struct cache_file *dir, const char *name, size_t len,
                       enum cache_intent intent, uint64_t now, struct cache_plan *ret);

/* The attributes of a file that the caller holds. ANSWER or STAT. */
void cache_plan_attr(struct cache *c, struct cache_file *f, uint64_t now, struct cache_plan *ret);

/* The whole listing of a directory: the believed one (a reference), or NULL: LIST it, or where
 * cache_must_verify says so, VERIFY and plan anew. */
struct cache_listing *cache_plan_listing(struct cache *c, struct cache_file *dir, uint64_t now);

/* Whether the attributes in a listing of `dir`, as the above gave it, are believed, too: they have
 * terms of their own. Where not, and they are wanted, LIST anew. O(entries). */
bool cache_listing_tells(const struct cache *c, const struct cache_file *dir,
                         const struct cache_listing *l, uint64_t now);

/* Whether a listing of `dir` is held that is promised still but too old, and that one STAT of the
 * directory can renew. Not where the entries' attributes are wanted, too, have run out, and one
 * round trip brings them all: then a LIST costs the same and tells more. */
bool cache_must_verify(struct cache *c, struct cache_file *dir, bool attributes_wanted,
                       uint64_t now);

/* Walks `path` ("a/b/c") by structure alone: *ret_dir gets a reference to the parent directory
 * object of the last component (made where it is not known yet, without any belief), *ret_name the
 * last component, pointing into `path`. An empty path gives the root with an empty name. Where a
 * belief on the way says that a component is missing or no directory, returns -ENOENT or -ENOTDIR
 * (a hit of that cache). */
int cache_walk(struct cache *c, const char *path, size_t len, uint64_t now,
               struct cache_file **ret_dir, const char **ret_name, size_t *ret_name_len);

/* The topmost directory on the way down to `dir` (borrowed), `dir` included, whose name may lead
 * elsewhere by now: a break or a finding voided what was known of the names beside it, and nobody
 * asked since. NULL: none. A walk by structure does not see that. */
struct cache_file *cache_doubtful(struct cache *c, struct cache_file *dir, uint64_t now);

/* ---- tickets and answers ---- */

struct cache_ticket {
    uint64_t order;
    uint64_t sent; /* lifetimes count from here */
};
struct cache_ticket cache_ask(struct cache *c, uint64_t now);

/* The server has `name` in `dir`, with these attributes. Always gives the file (a reference), so
 * that the caller can answer; whether it is also believed depends on the ticket: *ret_valid_until
 * is 0 where not. An attr->id of 0 keeps an id that is already known. -ENOMEM. */
int cache_commit_found(struct cache *c, struct cache_file *dir, const char *name, size_t len,
                       const struct file_attr *attr, struct cache_ticket ticket, uint64_t now,
                       struct cache_file **ret, uint64_t *ret_valid_until);

/* The server answers to `name` with a file that it spells so. Where only ASCII case differs, it
 * folds case, and from now on listings answer for names in any case. (That a name is found which a
 * listing has in other case only is no proof: since then the file may have been renamed, or another
 * one made beside it, on a server that tells the two apart.) */
void cache_learn_spelling(struct cache *c, const char *name, size_t len, const char *spelling,
                          size_t spelling_len);

/* The server has no such name. Returns until when that is believed, 0: not at all. */
uint64_t cache_commit_missing(struct cache *c, struct cache_file *dir, const char *name, size_t len,
                              struct cache_ticket ticket, uint64_t now);

/* Attributes of a file that came by a handle or its own stat. Returns until when they are believed.
 */
uint64_t cache_commit_attr(struct cache *c, struct cache_file *f, const struct file_attr *attr,
                           struct cache_ticket ticket, uint64_t now);

/* A listing that ran to its end. Over DirectoryCacheEntrySizeMax it is remembered as too large, not
 * believed. Takes its own reference. */
void cache_commit_listing(struct cache *c, struct cache_file *dir, struct cache_listing *l,
                          struct cache_ticket ticket, uint64_t now);

/* A guess that was not complete after its first round trip: the directory is large. */
void cache_commit_partial(struct cache *c, struct cache_file *dir, struct cache_ticket ticket,
                          uint64_t now);

/* The answer to a look-up from a complete listing that the caller just fetched, believed or not:
 * fills an ANSWER (found or missing), or a STAT where the listing cannot tell (case, short names).
 */
void cache_answer_from(struct cache *c, struct cache_file *dir, struct cache_listing *l,
                       const char *name, size_t len, struct cache_ticket ticket, uint64_t now,
                       struct cache_plan *ret);

/* The file behind entry `i` of a listing of `dir` (a reference), and until when entry and
 * attributes are believed (0: not). For readdirplus. -ENOMEM. */
int cache_adopt(struct cache *c, struct cache_file *dir, struct cache_listing *l, size_t i,
                uint64_t now, struct cache_file **ret, uint64_t *ret_valid_until);

/* What was believed is wrong or may be: the file's attributes and, for a directory, its listing and
 * the negatives in it are dropped, counted under `reason`, and answers already asked for are not
 * believed. */
void cache_changed(struct cache *c, struct cache_file *f, enum observe_miss reason);
/* The same for one name in a directory: the listing, the negative, and the name's own belief. */
void cache_name_changed(struct cache *c, struct cache_file *dir, const char *name, size_t len,
                        enum observe_miss reason);
/* The server has no such file under the name that cache_file_path goes by, or another one: name,
 * listing and attributes are believed no longer. A name that is not the file's only one does not
 * lead to it any more; true: another one does. */
bool cache_name_failed(struct cache *c, struct cache_file *f, enum observe_miss reason);

/* ---- promises ---- */

/*
 * Where the server promised to tell of changes, beliefs live until CacheMaxAge (0: promises prolong
 * nothing), counted from when they were asked for or last verified; valid_until says so. The
 * promise counts for what the very request asked that brought it, and for all that is asked after
 * it was noted here: a question that was under way by then may have been answered, and outdated,
 * before the promise began. It hangs on the file object, which the caller refers to meanwhile.
 */

/* A READ lease. On a directory: its listing, the names in it, and that others are missing; not its
 * own attributes. On a file: its attributes, as the server told them of this file; those out of a
 * listing keep FileInfoCacheLifetime, since servers hold back size and time there until a writer
 * closes. `ticket` is that of the request which was granted it. Noted anew, it goes on. False: not
 * counted, since it was taken back (cache_broken) after that ticket. */
bool cache_promised(struct cache *c, struct cache_file *f, struct cache_ticket ticket);
/* What was told of the file's attributes after `since` is no younger than that: it has been open
 * since, and there are servers (Samba) that tell the times which an open file had when it was first
 * opened. True: something believed is older now. Not for directories. */
bool cache_told_as_of(struct cache *c, struct cache_file *f, uint64_t since);
/* Whether an answer about the file itself that was asked for with `ticket` may be older than what
 * has been said of it since: a notice, a break, an own change. */
bool cache_changed_since(const struct cache *c, const struct cache_file *f,
                         struct cache_ticket ticket);
/* It ended, and nothing had changed by then (our own close): beliefs fall back to what is left of
 * their lifetimes. */
void cache_unpromised(struct cache *c, struct cache_file *f);
/* The server took it back: nothing that was asked before is believed, reason `broken`: a
 * directory's listing, names and negatives, a file's attributes; nor are answers that are under
 * way. O(1): what is not dropped at once is when it is asked for. */
void cache_broken(struct cache *c, struct cache_file *f);
/* The session is lost, and with it all promises and the watch: beliefs fall back to what is left of
 * their lifetimes. O(1). */
void cache_promises_lost(struct cache *c);

/* A tree-wide watch at the root stands: the server is known to have armed it before now, and tells
 * of changes beneath, in their order. It covers listings, names, and that others are missing, and
 * the attributes of directories but the root's own; not those of files, since of written data
 * servers tell late or never; nor names under which the server may know something else (short
 * names; non-ASCII ones that no listing has so). Noted anew, it goes on. */
void cache_watched(struct cache *c);
/* There are servers that take the request and never tell anything. So it is with one that has told
 * of nothing yet, and some seconds ago it had something to tell: a name that we made or removed, of
 * which servers tell, too, or what a directory's time shows that others did. */
bool cache_watch_is_mute(const struct cache *c, uint64_t now);
/* It ended without a gap: beliefs fall back to what is left of their lifetimes. */
void cache_unwatched(struct cache *c);

enum cache_notice { /* MS-FSCC 2.7.1 */
                    CACHE_ADDED = 1,
                    CACHE_REMOVED,
                    CACHE_MODIFIED,
                    CACHE_RENAMED_FROM,
                    CACHE_RENAMED_TO,
};
/*
 * The watch tells of `path`, "a/b", as the server spells it. When a change was made is not told: it
 * may be older than what is believed. So a name that came or went is asked for by itself when next
 * it is wanted, and the listing goes on to answer for all others; the answer is worked into the
 * listing. Only who wants the whole listing has to LIST meanwhile. What is modified loses its
 * attributes. What was under way is not believed where it touches the name.
 *
 * Echoes: the server tells us of what we did, too. Every own change of a name that was patched in
 * expects one notice of it, within 5 s; the first that comes of that name, if it says the same,
 * changes nothing. That is right even where it was another client's: notices come in the order of
 * the changes, so as many are still to come as were made after. Any other notice of the name ends
 * the expectation. An echo that overtakes the reply to the change is recognised when that is
 * patched in. A modification by ourselves cannot be told from another's: it costs the file's
 * attributes.
 *
 * True: it was news. False where it changed nothing: it was such an echo, or no directory is known
 * by that path.
 */
bool cache_noticed(struct cache *c, enum cache_notice action, const char *path, size_t len,
                   uint64_t now);
/* The names that such a path may mean, in every known directory that it leads to by spellings that
 * fold alike. Calls `at` for each file that is known by a name there which folds like the last
 * component, or once with NULL where there is none. By structure alone: asks and makes no belief.
 * `at` must not touch the cache. The root itself has no name. */
typedef void cache_reach_fn(void *user, const struct cache_file *dir, const char *name, size_t len,
                            const struct cache_file *f);
void cache_reach(const struct cache *c, const char *path, size_t len, cache_reach_fn *at,
                 void *user);
/* The directory (borrowed) that the last component of such a path, *ret_name, is in: down the very
 * spellings where they are known, else down what folds alike. NULL: none is known, or it is the
 * root's own path. By structure alone, as above. */
struct cache_file *cache_reach_dir(const struct cache *c, const char *path, const char **ret_name);
/* Notices were lost (overflow): nothing that was asked before and rests on no lease is believed,
 * reason `changed`. The watch goes on. O(1). */
void cache_notices_lost(struct cache *c);

/* The answer to VERIFY: the directory's attributes, asked for with `ticket` by its path; NULL: it
 * could not be asked. Where id and times are those that it had when it was listed, the listing and
 * the names asked for since are believed as if asked for with this ticket: true. Else the listing
 * is dropped, reason `changed`. Those it had when listed are what cache_commit_attr was told with
 * the listing's own ticket, before cache_commit_listing: as of before the listing began (the
 * CREATE's reply). They are worth something only if they had been seen 2 s before the listing
 * already, since a server's clock may be coarse; else VERIFY is not asked for, but LIST; and so
 * where a name in the directory has changed since. */
bool cache_verified(struct cache *c, struct cache_file *dir, const struct file_attr *attr,
                    struct cache_ticket ticket, uint64_t now);

/* ---- own changes ---- */

/*
 * What this client did itself patches the beliefs, so that the next look-up, stat and listing need
 * no request. Each is called once the server has said that it did it, with the ticket taken before
 * the request was sent. Every question that was under way meanwhile is believed no more (it may
 * have been answered before the change or after). The change is patched in only where nothing else
 * happened to the same name, or the same file, since the ticket: who did what first is not known
 * then, and the belief is dropped instead, reason `changed`. Believed listings stay believed, for
 * as long as they were: they get, lose or change the one entry. A listing that readers hold is
 * replaced by a changed copy; one that nobody else holds is changed in place (O(1) amortised).
 * A patched entry counts as heard at the ticket's time, so it lives no longer than any answer.
 * The attributes of a directory whose names changed are dropped, since its times changed with them.
 * All count `patched` once for each belief that was changed (observe_patch).
 */

/* `name` was made in `dir` (create, mkdir, link, symlink), and is believed to be there from now on,
 * exactly so spelled. Gives its file as cache_commit_found does. A second name of `linked` (NULL: a
 * new file) leads to that, and only then may `attr` be NULL: not told. A directory that was made is
 * believed to be empty. -ENOMEM; -EINVAL for a second name of a directory, and no attributes of a
 * new file. */
int cache_made(struct cache *c, struct cache_file *dir, const char *name, size_t len,
               const struct file_attr *attr, struct cache_file *linked, struct cache_ticket ticket,
               uint64_t now, struct cache_file **ret, uint64_t *ret_valid_until);
/* `name` in `dir` was removed: a negative from now on. Its file is detached where this was its only
 * name, and keeps its last attributes (but links) for those who have it open; with another name
 * left its attributes are dropped. */
void cache_removed(struct cache *c, struct cache_file *dir, const char *name, size_t len,
                   struct cache_ticket ticket, uint64_t now);
/* Both in one, and the object stays itself: everything believed beneath a directory stays. What
 * `to` led to is detached. `attr`: the file's after the change; NULL: not told, and it is the file
 * that was believed to be there. In one directory with names that fold alike it is a change of
 * spelling. -ENOMEM. */
int cache_renamed(struct cache *c, struct cache_file *from_dir, const char *from, size_t from_len,
                  struct cache_file *to_dir, const char *to, size_t to_len,
                  const struct file_attr *attr, struct cache_ticket ticket, uint64_t now);
/* Attributes, times, size or data of a file were changed. `attr`: as the reply told them, believed
 * from now on, and shown by the parent's listing too. NULL: not known now; dropped, and the
 * listing's entry does not answer for them. Returns until when they are believed, 0: not. */
uint64_t cache_own_attr(struct cache *c, struct cache_file *f, const struct file_attr *attr,
                        struct cache_ticket ticket, uint64_t now);

/* ---- listings ---- */

struct cache_listing *cache_listing_new(void); /* NULL: out of memory */
/* Before sealing, by its maker alone. -ENOMEM. */
int cache_listing_add(struct cache_listing *l, const char *name, size_t len,
                      const struct file_attr *attr, size_t wire_bytes);
int cache_listing_seal(struct cache_listing *l,
                       struct cache_ticket ticket); /* builds the index; -ENOMEM */

/* From here on immutable while anybody but the cache refers to it; any thread, no lock. */
struct cache_listing *cache_listing_ref(struct cache_listing *l);
struct cache_listing *
cache_listing_unref(struct cache_listing *l); /* returns NULL; NULL is allowed */
size_t cache_listing_count(const struct cache_listing *l);
size_t cache_listing_wire_bytes(const struct cache_listing *l);
/* The name (not NUL-terminated) and attributes of entry i < count. */
const char *cache_listing_entry(const struct cache_listing *l, size_t i, size_t *ret_len,
                                const struct file_attr **ret_attr);
/* Whether entry i's attributes are more than its kind: not where an own change made them old and
 * did not tell the new ones. */
bool cache_listing_attr_known(const struct cache_listing *l, size_t i);

/* ---- for replays of what other clients did (capture/) ---- */

/* Before sealing: there may be more in the directory than this listing has; cache_reveal adds it.
 * Such a listing is for one thread, and grows. */
void cache_listing_leave_open(struct cache_listing *l);

/* `path` is there, its last component with these attributes: every believed open listing on the
 * way that was asked for at `since` or later and lacks its component gets it, as of its own ticket.
 * One that grows over DirectoryCacheEntrySizeMax was too large from the first. Counts no hit and
 * no miss. Returns how many entries were added, or -ENOMEM. */
int cache_reveal(struct cache *c, const char *path, size_t len, const struct file_attr *attr,
                 uint64_t since, uint64_t now);

/* The file that `name` in `dir` leads to (a reference), NULL where none is known. Asks no belief
 * and counts nothing. */
struct cache_file *cache_peek(struct cache *c, struct cache_file *dir, const char *name,
                              size_t len);

/* ---- to look at ---- */

/* One belief, or why there is none. */
struct cache_belief {
    bool held;         /* there is an entry, good or not */
    bool good;         /* it answers now */
    bool verifiable;   /* a listing: not now, but after one VERIFY that finds nothing changed */
    uint64_t since;    /* held: when it was asked for */
    uint64_t verified; /* and when the server was last asked whether it holds; 0: never */
    uint64_t until;    /* good: for how long, if nothing happens */
    enum observe_trust trust; /* good: on whose word */
    enum observe_miss why;    /* not good: the reason that the next miss has */
    bool missed;              /* the last miss is remembered: */
    enum observe_miss missed_why;
    uint64_t missed_at;
};

enum cache_says { CACHE_SAYS_NOTHING, CACHE_SAYS_THERE, CACHE_SAYS_MISSING };

/* What is believed of one name and what it leads to, and what the next question would ask. */
struct cache_explained {
    struct cache_belief listed;  /* directory cache: the listing of the directory that it is in, */
    enum cache_says says;        /* what that says of the name, */
    size_t listed_entries;       /* and how many there are */
    struct cache_belief missing; /* file-not-found cache */
    struct cache_belief info;    /* file info cache, */
    bool info_from_listing;      /* or the attributes in the listing above */
    struct cache_belief listing; /* directory cache: its own listing */
    size_t entries, entries_bytes;

    struct cache_file *file; /* a reference, the caller's to drop; NULL: none is known */
    bool kind_known, is_dir; /* of it; is_dir may be a guess otherwise */
    bool heard;              /* its attributes, believed or not: */
    struct file_attr attr;

    enum cache_step step; /* of a look-up */
    bool guess;           /* LIST: of one round trip */
    int result;           /* ANSWER: 0, -ENOENT or -ENOTDIR, by: */
    enum observe_cache answered_by;
    enum cache_step attr_step; /* of asking for attributes after that look-up: ANSWER or STAT */
    enum cache_step list_step; /* of listing it, should it be a directory: ANSWER, VERIFY or LIST */
};

/* Leaves no trace: nothing is counted, marked as used, dropped or believed. (A name that a believed
 * listing has may get its object.) dir NULL: a directory of which nothing is known yet.
 * `below_listed`: the directory that `dir` is in is listed by the time. The root is itself with an
 * empty name. */
void cache_explain(struct cache *c, struct cache_file *dir, const char *name, size_t len,
                   bool below_listed, uint64_t now, struct cache_explained *ret);

/* Forgets what is believed of `path`, "a/b" in any case, and of all beneath it; "" of everything.
 * Leases and the watch go on, for what is asked from now on. Counted as invalidated, `dropped`.
 * O(what is believed). *ret_dropped: how many entries of each cache. */
void cache_drop(struct cache *c, const char *path, size_t len,
                uint64_t ret_dropped[static OBSERVE_CACHES]);

struct cache_sizes {
    uint64_t entries[OBSERVE_CACHES]; /* believed now (or not yet noticed to be expired) */
    uint64_t bytes;                   /* accounted memory of all three */
    uint64_t files;                   /* file objects, held or believed */
};
void cache_sizes(const struct cache *c, struct cache_sizes *ret);

/* For the tests of wrap-around: the next order number given out. */
void cache_set_order(struct cache *c, uint64_t order);

#endif
