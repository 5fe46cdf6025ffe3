/*
 * The oracle: what src/cache/cache.h promises, done the simplest way there is.
 *
 * Arrays and linear searches, plain counters for orders (they never wrap here), no sharing of code
 * with the cache: names are indices into a table whose rows say by hand how they fold. It says for
 * every call what the cache has to say, counts what it has to count, and never forgets an object;
 * so it is right only as long as the cache has no reason to free one, fewer than ORACLE_FILES of
 * them.
 */
#ifndef LARDER_TESTS_MODEL_ORACLE_H
#define LARDER_TESTS_MODEL_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/cache.h"

#define ORACLE_FILES    1000 /* the cache keeps 1024 that nothing holds */
#define ORACLE_NAMES    2000
#define ORACLE_LISTED   24 /* entries of a listing at most */
#define ORACLE_LISTINGS 1000

struct spelling {
    const char *text;
    int fold; /* spellings that fold alike have the same number */
    bool ascii, unlisted, wildcard;
};
extern const struct spelling spellings[];
extern const int spelling_count;

/* Listings of a run; handed in by whoever made the real one. */
struct oracle_listing {
    int count;
    int name[ORACLE_LISTED];
    struct file_attr attr[ORACLE_LISTED];
    uint64_t wire, bytes;
    int64_t order;
    uint64_t sent;
};

struct oracle_ticket {
    int64_t order;
    uint64_t sent;
};

struct oracle_file {
    bool is_dir, identified, heard, believed;
    bool own_ino;   /* its id was 0 or taken: some number of its own */
    bool contested; /* its id was another's, too: which of them got it depends on which came first,
                       and of one listing's entries that is the hash table's affair */
    struct file_attr attr;
    int64_t changed, moved, info_order;
    uint64_t info_sent;
    enum observe_miss info_lost;
    /* as a directory */
    int64_t names_changed;
    int listing; /* -1: none */
    enum observe_miss listing_lost;
    bool too_large, listed, large;
    uint64_t too_large_sent, last_probe;
    uint64_t rest_from, rest;
    unsigned probes;
};

struct oracle_name {
    int dir, spelling, file;
    int64_t bound;
    int64_t place; /* a file goes by the name whose place is the least: the one confirmed last */
    bool confirmed;
    int64_t order; /* of the look-up that confirmed it */
    uint64_t sent;
};

struct oracle_negative {
    bool there;
    int dir, spelling;
    int64_t order;
    uint64_t sent;
};

struct oracle_ring {
    int entry[ORACLE_NAMES];
    bool used[ORACLE_NAMES];
    int count, hand; /* -1: before the first */
};

struct oracle_counts {
    uint64_t hits, misses[OBSERVE_MISSES], inserts, evictions, invalidations;
};

struct oracle {
    struct settings settings;
    bool enabled[3];
    uint64_t lifetime[3];
    int entries_max[3];
    uint64_t info_bytes, negative_bytes; /* what one of them is accounted with */

    int64_t order;
    bool folds;
    struct oracle_file file[ORACLE_FILES + 64];
    int files;
    struct oracle_name name[ORACLE_NAMES];
    int names;                       /* in the order in which they came */
    int64_t first_place, last_place; /* of names */
    struct oracle_negative negative[ORACLE_NAMES];
    int negatives; /* places that were ever used */
    struct oracle_listing listing[ORACLE_LISTINGS];
    int listings;
    struct oracle_ring ring[3];
    uint64_t bytes;
    struct oracle_counts counts[3];
};

struct oracle_plan {
    enum cache_step step;
    bool guess;
    int result;
    int file; /* -1: none */
    struct file_attr attr;
    uint64_t valid_until;
    int spelling; /* -1: none told */
};

#define ORACLE_ROOT 0 /* the first file */

void oracle_init(struct oracle *o, const struct settings *settings, uint64_t info_bytes,
                 uint64_t negative_bytes);
bool oracle_is_full(const struct oracle *o);

struct oracle_ticket oracle_ask(struct oracle *o, uint64_t now);
void oracle_lookup(struct oracle *o, int dir, int name, enum cache_intent intent, uint64_t now,
                   struct oracle_plan *ret);
void oracle_attr(struct oracle *o, int file, uint64_t now, struct oracle_plan *ret);
int oracle_listing(struct oracle *o, int dir, uint64_t now); /* -1: list it */
/* Down through `count` components, all of them directories. */
int oracle_walk(struct oracle *o, const int *components, int count, uint64_t now, int *ret_dir);

int oracle_found(struct oracle *o, int dir, int name, const struct file_attr *attr,
                 struct oracle_ticket t, uint64_t now, uint64_t *ret_until);
void oracle_learn_spelling(struct oracle *o, int name, int spelling);
uint64_t oracle_missing(struct oracle *o, int dir, int name, struct oracle_ticket t, uint64_t now);
uint64_t oracle_told_attr(struct oracle *o, int file, const struct file_attr *attr,
                          struct oracle_ticket t, uint64_t now);
void oracle_listed(struct oracle *o, int dir, int listing, struct oracle_ticket t, uint64_t now);
void oracle_partial(struct oracle *o, int dir, struct oracle_ticket t);
void oracle_answer_from(struct oracle *o, int dir, int listing, int name, uint64_t now,
                        struct oracle_plan *ret);
int oracle_adopt(struct oracle *o, int dir, int listing, int entry, uint64_t now,
                 uint64_t *ret_until);
void oracle_changed(struct oracle *o, int file, enum observe_miss reason);
void oracle_name_changed(struct oracle *o, int dir, int name, enum observe_miss reason);

/* "a/b", or -ESTALE. */
int oracle_path(const struct oracle *o, int file, char *out, size_t cap);

#endif
