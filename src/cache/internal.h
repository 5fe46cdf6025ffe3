/*
 * Inside of cache/: listing.c (snapshots), file.c (names, files, their identity and life), belief.c
 * (the three beliefs and their bounds), trust.c (for how long they are believed, and on whose
 * word), commit.c (answers), change.c (dropping and patching), own.c (what this client did),
 * notice.c (what the watch tells), plan.c (what to do next; paths), explain.c (all of that, shown
 * to people), drop.c (forgetting on request), reveal.c (listings that are learnt bit by bit).
 */
#ifndef LARDER_CACHE_INTERNAL_H
#define LARDER_CACHE_INTERNAL_H

#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/utf.h"
#include "cache/cache.h"

#define LARGE_LISTING                                                                              \
    (128 * 1024)           /* wire bytes that one round trip brings: two buffers of 64 KiB */
#define LARGE_THRESHOLD 32 /* probes after which even a large directory is listed */
#define LISTING_REST                                                                               \
    16 /* times as long as a listing took that was not worth it, until the next                    \
        */
#define IDLE_FILES_MAX    1024 /* objects kept for nothing but the reason of their next miss */
#define ACCOUNTED_FILE    512  /* bytes counted for an info entry: object, name, table slots */
#define ACCOUNTED_MISSING 128  /* the same for a negative, beside its name */
#define DOUBTS_MAX        32   /* names of one directory that were noticed and not asked for yet */
#define ECHOES_MAX        1024 /* names of which notices of own changes are awaited */
#define ECHO_WAIT         (5 * NS_PER_SEC)
#define PROOF_WAIT        (10 * NS_PER_SEC) /* for the first notice of a watch that ought to tell */
#define MISSED_MAX        512               /* names whose last misses are remembered */
#define COARSE_CLOCK      (2 * NS_PER_SEC)  /* of times on a server, FAT's being the worst */

/* Orders are serial numbers. */
static inline bool order_after(uint64_t a, uint64_t b)
{
    return (int64_t)(a - b) > 0;
}

/* What was learned when, of one belief. An own change is known as of its completion, and was asked
 * for before: what happened in between may have been before it, or after. */
struct stamp {
    uint64_t order; /* of the ticket; of an own change: of its completion */
    uint64_t asked; /* of the ticket */
    uint64_t sent;
};
static inline struct stamp stamp_of(struct cache_ticket t)
{
    return (struct stamp){.order = t.order, .asked = t.order, .sent = t.sent};
}

/* ---- rings: strict bounds, least recently used by second chance ---- */

struct ring_entry {
    struct list link; /* empty: not in the ring */
    bool used;        /* hit since the hand came by */
};
struct ring {
    struct list entries; /* in order of insertion */
    struct list *hand;
    size_t count;
};
void ring_init(struct ring *r);
void ring_add(struct ring *r, struct ring_entry *e);
void ring_del(struct ring *r, struct ring_entry *e);
/* The next victim, which is never `keep`; NULL where there is no other. Stays in the ring. */
struct ring_entry *ring_victim(struct ring *r, const struct ring_entry *keep);

/* ---- objects ---- */

/* A name that the watch told of, and which nobody has asked for since; known by its hashes. */
struct doubt {
    uint64_t fold, exact;
    uint64_t order;    /* of the last notice that it came or went; long ago: none */
    uint64_t modified; /* of the last one that the file was modified; long ago: none */
    unsigned times;    /* how often it came and went */
    bool came;         /* the last of these */
    bool listed;       /* the believed listing is wrong about it, or may be */
    bool spelled;      /* so by the server, which told of it; else by whoever wants it forgotten */
};

/* A directory's own beliefs, made when first needed. */
struct cache_dir {
    struct cache_file *file; /* whose this is */
    struct hash names;       /* struct cache_name, by folded spelling */
    struct hash negatives;   /* struct cache_negative, the same */
    uint64_t changed;        /* order at which names in it last changed */
    uint64_t patched;        /* order of the last own change of one of them */
    uint64_t told;           /* the last order given out when one of them was last believed */

    struct cache_listing *listing; /* NULL: none believed */
    struct ring_entry ring;
    enum observe_miss lost; /* why there is none */
    uint64_t verified;      /* when it was last asked for whether the listing is good; 0: never */
    bool base_known;        /* the directory's id and times when it was listed, and that these can
                               tell of a change */
    struct file_attr base;

    uint64_t void_before; /* order: nothing that was asked before is believed of the names ... */
    enum observe_miss void_why;
    uint64_t attr_void_before; /* ... nor of the attributes in the listing */
    struct doubt *doubts;      /* room for DOUBTS_MAX, or NULL */
    unsigned doubt_count;

    bool too_large; /* the last listing was over DirectoryCacheEntrySizeMax ... */
    uint64_t too_large_sent;

    bool listed;              /* a complete listing has been seen once */
    bool large;               /* more than one round trip brings */
    unsigned probes;          /* look-ups that no belief answered, since the last listing */
    uint64_t last_probe;      /* when */
    uint64_t rest_from, rest; /* no listing on evidence for so long: the last was not worth it */
};

struct cache_file {
    struct hash_node by_id; /* in cache->by_id where `shared` */
    struct list idle;       /* in cache->idle where nothing holds it */
    struct list names;      /* struct cache_name: what leads here, the one confirmed last in front;
                               directories have at most one */
    unsigned refs;
    uint64_t serial;
    uint64_t ino; /* 0 until identified */
    bool identified, is_dir, shared;
    uint64_t changed;  /* order at which its attributes last changed */
    uint64_t moved;    /* order at which what leads to it last changed */
    uint64_t uprooted; /* order before which nothing was asked that is believed beneath it */

    bool promised; /* and cache->promise_epoch is: */
    uint64_t epoch;
    uint64_t promised_with, promised_from; /* orders: by this request, and from then on */
    uint64_t broken;                       /* order at which the last promise was taken back */

    bool heard; /* attr has been told at least once */
    struct file_attr attr;
    bool believed; /* info entry; attr is then as of info.order */
    struct ring_entry ring;
    struct stamp info;
    bool info_listed;     /* attr came out of a listing */
    uint64_t times_since; /* sent: attr's times have been heard since, and no others */
    enum observe_miss lost;

    struct cache_dir *dir; /* NULL: no beliefs yet, or not a directory */
};

struct cache_name {
    struct hash_node by_fold; /* in dir->dir->names */
    struct list of_file;
    struct cache_file *dir, *file;
    uint64_t bound; /* order of the answer that said which file this is */
    bool confirmed; /* by a look-up of its own, as of: */
    struct stamp existence;
    bool told;        /* notices about it spell it so, but for ASCII case */
    uint64_t noticed; /* order at which it was last told to have come or gone, or is unsure */
    uint16_t len;
    char spelling[];
};

struct cache_negative {
    struct hash_node by_fold;
    struct ring_entry ring;
    struct cache_file *dir;
    struct stamp stamp;
    uint16_t len;
    char spelling[];
};

/* The last misses at one name in one directory, or (MISSED_INSIDE) at a directory's own listing. */
struct missed {
    uint64_t key;
    struct {
        bool any;
        enum observe_miss why;
        uint64_t at;
    } by[OBSERVE_CACHES];
};

struct cache {
    struct settings settings;
    bool enabled[OBSERVE_CACHES];
    uint64_t lifetime[OBSERVE_CACHES]; /* ns */
    size_t entries_max[OBSERVE_CACHES];
    struct observe *observe;

    uint64_t order; /* the last one given out */
    uint64_t told;  /* the newest of cache_dir.told */
    uint64_t serial;
    uint64_t seed;
    bool folds; /* the server has shown that it folds ASCII case */

    uint64_t max_age;       /* ns; 0: promises prolong nothing */
    uint64_t promise_epoch; /* grows when all promises are lost */
    bool watched;
    bool watch_tells;       /* the watch that stands has told of something */
    uint64_t unheard_since; /* clock: it ought to have told of something since; 0: of nothing yet */
    uint64_t watched_from;  /* order */
    uint64_t noticed_lost; /* order before which nothing was asked that is believed, but by lease */
    uint64_t uprooted;     /* the newest of cache_file.uprooted */
    struct hash echoes;    /* struct echo, by name */
    struct list echo_list; /* the same, oldest first */

    struct cache_file *root;
    struct hash by_id; /* struct cache_file that are `shared` */
    struct list idle;
    size_t idle_count, file_count;

    struct ring ring[OBSERVE_CACHES];
    uint64_t bytes;

    struct missed missed[MISSED_MAX]; /* by key modulo MISSED_MAX; the last one wins */
};

/* An order before every other: of things that never changed. */
static inline uint64_t order_long_ago(const struct cache *c)
{
    return c->order - (1ull << 62);
}

/* Without any promise: asked for at `sent`, it lives for this cache's lifetime. */
static inline bool still_valid(const struct cache *c, enum observe_cache which, uint64_t sent,
                               uint64_t now)
{
    return c->enabled[which] && now >= sent && now - sent < c->lifetime[which];
}

static inline void dir_told(struct cache *c, struct cache_dir *d)
{
    c->told = d->told = c->order;
}

/* What was known of names in this directory as of `order` is not kept: older answers, which can not
 * be compared with it any more, shall not be believed either. */
static inline void dir_forget(struct cache_dir *d, uint64_t order)
{
    if (order_after(order, d->changed))
        d->changed = order;
}

/* Names under which a server may open a file although no listing has them: short names, streams,
 * and those whose dots and spaces at the end it cuts off, or shows as something else. */
static inline bool may_be_unlisted(const char *name, size_t len)
{
    return memchr(name, '~', len) || memchr(name, ':', len) ||
           (len && (name[len - 1] == '.' || name[len - 1] == ' '));
}

/* The server knows the name by no other spelling than this, but for ASCII case. */
static inline bool is_spelled_surely(const char *name, size_t len)
{
    return !may_be_unlisted(name, len) && !utf8_has_non_ascii(name, len);
}

/* ---- listing.c ---- */

struct listing_entry {
    struct file_attr attr;
    size_t name; /* offset */
    uint16_t len;
    bool gone : 1;    /* taken out: no entry any more */
    bool untold : 1;  /* the attributes are old, the name is not */
    bool patched : 1; /* heard of by an own change, after the listing's ticket */
    uint32_t alike;   /* + 1: the next entry whose name folds alike; 0: none */
};
struct stamp listing_stamp(const struct cache_listing *l);
int listing_seal(struct cache_listing *l, struct stamp stamp);
/* What entry i's attributes are as of. */
struct stamp listing_heard(const struct cache_listing *l, size_t i);
/* The order at which it was said that entry i leads to this file. */
uint64_t listing_bound(const struct cache_listing *l, size_t i);
size_t listing_memory(const struct cache_listing *l);
size_t listing_wire_bytes(const char *name, size_t len); /* of one entry */
const struct listing_entry *listing_at(const struct cache_listing *l, size_t i,
                                       const char **ret_name);
/* Index of the exact spelling, -1: none. *ret_folded: how many other spellings fold alike,
 * *ret_one: one of them. */
int64_t listing_find(const struct cache_listing *l, const char *name, size_t len,
                     size_t *ret_folded, size_t *ret_one);
bool listing_is_open(const struct cache_listing *l);
/* One more entry of a sealed listing that was left open. -ENOMEM leaves it as it was. */
int listing_extend(struct cache_listing *l, const char *name, size_t len,
                   const struct file_attr *attr, size_t wire_bytes);

/* For own changes, of a sealed listing that is not shared: nobody else refers to it. Names that the
 * index does not lead to cannot be taken out: such listings are not patched. */
bool listing_can_be_patched(const struct cache_listing *l);
bool listing_is_shared(const struct cache_listing *l);
struct cache_listing *listing_copy(const struct cache_listing *l); /* NULL: out of memory */
/* The entry `name` is there, with these attributes; not `told`: they are none to answer with. As of
 * `heard`. -ENOMEM. */
int listing_put(struct cache_listing *l, const char *name, size_t len, const struct file_attr *attr,
                bool told, struct stamp heard);
/* The file of entry i has these attributes now; or others, which are not known. */
int listing_tell(struct cache_listing *l, size_t i, const struct file_attr *attr,
                 struct stamp heard);
void listing_untell(struct cache_listing *l, size_t i);
/* May renumber the entries. */
void listing_take_out(struct cache_listing *l, size_t i);
/* Closes the gaps of entries that were taken out: before a reader gets it. */
void listing_compact(struct cache_listing *l);

/* ---- file.c ---- */

struct cache_dir *file_dir(struct cache *c, struct cache_file *f); /* makes it; NULL: no memory */
struct cache_name *name_find(const struct cache *c, const struct cache_file *dir, const char *name,
                             size_t len);
/* The object for these attributes, to which no name leads yet: a regular file that is known under
 * another one, or a new file. The caller refers to it, or settles it. NULL: no memory. */
struct cache_file *file_for(struct cache *c, struct cache_file *dir, const char *name, size_t len,
                            const struct file_attr *attr);
/* The name `spelling` in `dir`, leading to a file of these attributes; what an answer newer than
 * `order` said about it stays. NULL: no memory. */
struct cache_name *name_bind(struct cache *c, struct cache_file *dir, const char *spelling,
                             size_t len, const struct file_attr *attr, uint64_t order);
/* The next name in `dir` that folds like this one, other spellings too; start with NULL. */
struct cache_name *name_next_alike(const struct cache *c, const struct cache_file *dir,
                                   const char *name, size_t len, const struct cache_name *after);
/* The name `spelling` in `dir` leads to this very file from now on. NULL: no memory. */
struct cache_name *name_lead(struct cache *c, struct cache_file *dir, const char *spelling,
                             size_t len, struct cache_file *f, uint64_t order);
/* The same for a directory of which nothing is known but that it must be there. */
struct cache_name *name_bind_unknown_dir(struct cache *c, struct cache_file *dir,
                                         const char *spelling, size_t len);
/* An answer of its own says that the name leads to its file, which is asked for by it from now on.
 */
void name_confirm(struct cache_name *n, struct stamp existence);
/* Nothing leads from this name any more. */
void name_unbind(struct cache *c, struct cache_name *n);
/* The name that f's path goes by: the first that leads down from the root, or none at all. */
struct cache_name *name_leading_to(const struct cache_file *f);
/* Gives f, which is `name` in `dir`, its inode number from the first attributes that are heard of
 * it. */
void file_identify(struct cache *c, struct cache_file *f, struct cache_file *dir, const char *name,
                   size_t len, const struct file_attr *attr);
/* Takes attributes over as the last that were heard. */
void file_hear(struct cache_file *f, const struct file_attr *attr, struct stamp stamp);
/* The same of an entry of a listing, which may be older than what was heard, and then is not taken.
 * It is not believed thereby, but older ones are kept out. Where it says what is believed under a
 * lease, that stays so. */
void file_hear_listed(const struct cache *c, struct cache_file *f, const struct file_attr *attr,
                      struct stamp stamp);
/* To be called after anything that may have let go of f. May free it. */
void file_settle(struct cache *c, struct cache_file *f);
/* Path for events, "" in a buffer of its own where nobody wants it. */
struct event_path {
    char text[1024];
};
const char *event_file(const struct cache *c, const struct cache_file *f, struct event_path *p);
const char *event_child(const struct cache *c, const struct cache_file *dir, const char *name,
                        size_t len, struct event_path *p);

/* ---- belief.c ---- */

struct cache_negative *negative_find(const struct cache *c, const struct cache_file *dir,
                                     const char *name, size_t len);
struct cache_negative *negative_next_alike(const struct cache *c, const struct cache_file *dir,
                                           const char *name, size_t len,
                                           const struct cache_negative *after);
void negative_drop(struct cache *c, struct cache_negative *n);
/* Drops the negatives whose names fold like this one (all of the directory's for a NULL name) and
 * that are older. */
void negatives_supersede(struct cache *c, struct cache_file *dir, const char *name, size_t len,
                         uint64_t order);
void info_drop(struct cache *c, struct cache_file *f, enum observe_miss why);
void listing_drop(struct cache *c, struct cache_file *dir, enum observe_miss why);

/* Insert or renew, keep the bounds, count (the first leaves that to its caller). */
void info_believe(struct cache *c, struct cache_file *f, const struct file_attr *attr,
                  struct stamp stamp);
void info_insert(struct cache *c, struct cache_file *f, const struct file_attr *attr,
                 struct stamp stamp);
void negative_insert(struct cache *c, struct cache_file *dir, const char *name, size_t len,
                     struct stamp stamp);
void listing_insert(struct cache *c, struct cache_file *dir, struct cache_listing *l);
/* One that is over DirectoryCacheEntrySizeMax is remembered as such. */
void listing_drop_too_large(struct cache *c, struct cache_file *dir, uint64_t sent);
/* Holds the bounds after `added` has come into ring `which`, or has grown there. */
void keep_bounds(struct cache *c, enum observe_cache which, const struct ring_entry *added);

/* The believed listing of a directory, or NULL and why not. Notices expiry; one that only has to be
 * verified is kept. */
struct cache_listing *listing_valid(struct cache *c, struct cache_file *dir, uint64_t now,
                                    enum observe_miss *ret_why);
bool info_valid(struct cache *c, struct cache_file *f, uint64_t now, enum observe_miss *ret_why);
struct term negative_valid(struct cache *c, struct cache_file *dir, const char *name, size_t len,
                           uint64_t now);
/* The same without a trace: what has run out stays where it is. */
struct cache_listing *listing_look(const struct cache *c, const struct cache_file *dir,
                                   uint64_t now, enum observe_miss *ret_why);
bool info_look(const struct cache *c, const struct cache_file *f, uint64_t now,
               enum observe_miss *ret_why);
struct term negative_look(const struct cache *c, const struct cache_file *dir, const char *name,
                          size_t len, uint64_t now);

/* Whether the attributes of this entry of dir's believed listing may be believed of f. */
bool listed_attr_valid(const struct cache *c, const struct cache_file *dir,
                       const struct cache_listing *l, size_t i, const struct cache_file *f,
                       uint64_t now);

/* ---- trust.c ---- */

/* Until when a belief lives, and on whose word. */
struct term {
    uint64_t until; /* 0: it is over, and: */
    enum observe_miss why;
    enum observe_trust trust;
};
/* Of what rests on two. */
struct term term_of_both(struct term a, struct term b);
struct term listing_term(const struct cache *c, const struct cache_file *dir, uint64_t now);
/* Of a negative. */
struct term missing_term(const struct cache *c, const struct cache_file *dir, const char *name,
                         size_t len, const struct stamp *stamp, uint64_t now);
/* That a confirmed name is there. */
struct term existence_term(const struct cache *c, const struct cache_name *n, uint64_t now);
/* Of the attributes that were last heard of f. */
struct term info_term(const struct cache *c, const struct cache_file *f, uint64_t now);
/* Of those in entry i of a listing. */
struct term listed_attr_term(const struct cache *c, const struct cache_listing *l, size_t i,
                             const struct cache_file *f, uint64_t now);
/* Whether a lease on f covers what was asked with this order. */
bool lease_covers(const struct cache *c, const struct cache_file *f, uint64_t asked);
/* Whether the held listing of dir is good but for its age, and a STAT can tell. */
/* Something has changed of which a watch that stands tells. */
void watch_ought_to_tell(struct cache *c, uint64_t now);
/* The same, where `attr`, which is newer than what was heard of `dir`, shows that names came or
 * went there, none of them by us. */
void watch_weigh(struct cache *c, const struct cache_file *dir, const struct file_attr *attr,
                 uint64_t now);

bool may_be_verified(const struct cache *c, const struct cache_file *dir, uint64_t now);
/* The listing that was just believed: what its directory was by then. */
void base_taken(struct cache_file *dir, struct cache_ticket ticket);
/* Nothing that was asked before now is believed beneath f. */
void uproot(struct cache *c, struct cache_file *f, uint64_t order);

/* ---- notice.c ---- */

/* Whether the believed listing does not tell of this name: `listed` if it has it or one alike. */
bool is_doubted(const struct cache *c, const struct cache_file *dir, const char *name, size_t len,
                bool listed);
/* Whether notices make the listing wrong as a whole. */
bool has_doubts(const struct cache_dir *d);
/* Whether a notice about the name is newer than the ticket. */
bool noticed_since(const struct cache *c, const struct cache_file *dir, const char *name,
                   size_t len, uint64_t order);
bool modified_since(const struct cache *c, const struct cache_file *dir, const char *name,
                    size_t len, uint64_t order);
/* The name was asked for: found with these attributes (not `told`: none to answer with), or missing
 * (NULL). */
void doubt_resolve(struct cache *c, struct cache_file *dir, const char *name, size_t len,
                   const struct file_attr *attr, bool told, struct stamp stamp);
/* What the name is is known, and listed so. */
void doubt_forget(struct cache *c, struct cache_file *dir, const char *name, size_t len);
/* The same of all names of whom nothing was told after `order`. */
void doubts_settle(struct cache_dir *d, uint64_t order);

/* An own change of the name was patched in: a notice of it is to come. */
void echo_expect(struct cache *c, struct cache_file *dir, const char *name, size_t len, bool came,
                 struct cache_ticket ticket, uint64_t now);
void echo_forget(struct cache *c, struct cache_file *dir, const char *name, size_t len);
/* The one notice about the name since the ticket is this change's own, that overtook its reply. */
bool echo_overtook(const struct cache *c, const struct cache_file *dir, const char *name,
                   size_t len, bool came, struct cache_ticket ticket);
void echoes_done(struct cache *c);

/* The name came or went, or is to be forgotten: a doubt is left, the rest of the listing stays.
 * `exact`: the server spells it so, and so the path to `dir`; else another one may be meant. */
void doubt_raise(struct cache *c, struct cache_file *dir, const char *name, size_t len, bool came,
                 bool exact, enum observe_miss why);

/* ---- plan.c ---- */

/* What cache_plan_lookup would say, and which cache would answer, without a trace: nothing is
 * counted, marked as used or dropped. (But a name that a believed listing has may get its object.)
 * dir == NULL: one of which nothing is known. `below_listed`: its parent is listed by then. */
void plan_look(struct cache *c, struct cache_file *dir, const char *name, size_t len,
               bool below_listed, uint64_t now, struct cache_plan *ret,
               enum observe_cache *ret_which);
/* And cache_plan_attr. */
bool attr_look(const struct cache *c, const struct cache_file *f, uint64_t now);

enum listed_as { LISTED_NOT = -1, LISTED_CANNOT_TELL = -2 };
/* Which entry of a listing the name means, or one of these. */
int64_t listed_as(const struct cache *c, const struct cache_listing *l, const char *name,
                  size_t len);

/* ---- explain.c ---- */

#define MISSED_INSIDE "/" /* for a name: of the directory's own listing */
void miss_remember(struct cache *c, const struct cache_file *dir, const char *name, size_t len,
                   enum observe_cache which, enum observe_miss why, uint64_t now);

/* ---- commit.c ---- */

/* Whether the answer is about what the names in `dir` are now: nothing changed them, nor moved it,
 * since it was asked for. */
bool names_unchanged(const struct cache_file *dir, struct cache_ticket t);
/* A believed listing that is newer than the ticket has the last word. */
bool listing_is_newer(const struct cache_file *dir, struct cache_ticket t);
/* Nothing newer than the ticket has been heard of the file's attributes. */
bool attr_newest(const struct cache_file *f, struct cache_ticket t);
/* An object that was made without an answer about it gets its identity from the first one. */
void identify_by_attr(struct cache *c, struct cache_file *f, const struct file_attr *attr);

/* ---- change.c ---- */

/* With their events, if there is something to drop. */
void drop_listing(struct cache *c, struct cache_file *dir, enum observe_miss why);
void drop_attr(struct cache *c, struct cache_file *f, enum observe_miss why);
/* What is believed of the names in a directory. */
void drop_inside(struct cache *c, struct cache_file *dir, enum observe_miss why);
/* The same in O(1), with what was told of them by look-ups: it goes when it is asked for. */
void void_names(struct cache *c, struct cache_file *dir, enum observe_miss why);
void drop_negative(struct cache *c, struct cache_negative *n, enum observe_miss why);

/* The believed listing to be patched, the cache's alone: a copy where somebody reads it; NULL:
 * none. And after a patch that ended in `r`, of the listing that took `before` bytes. */
struct cache_listing *listing_writable(struct cache *c, struct cache_file *dir);
void listing_patched(struct cache *c, struct cache_file *dir, size_t before, int r);

/* Attributes after an own change that was sent with `ticket` and got `order` when it was completed:
 * they are believed and shown by the listings, where they may be taken: nothing newer than the
 * ticket is known, else forgotten. Returns until when they are believed. */
bool attr_may_be_taken(const struct cache_file *f, const struct file_attr *attr,
                       struct cache_ticket ticket);
uint64_t attr_take(struct cache *c, struct cache_file *f, const struct file_attr *attr,
                   struct cache_ticket ticket, uint64_t order, uint64_t now);
void attr_forget(struct cache *c, struct cache_file *f);

#endif
