/* The two worlds side by side: the cache, the oracle, and the comparison of what they say. */
#ifndef LARDER_TESTS_MODEL_MODEL_H
#define LARDER_TESTS_MODEL_MODEL_H

#include "model/oracle.h"

#define HELD    12   /* files that the "kernel" holds at most */
#define PENDING 8    /* questions under way at most */
#define LIFE    3000 /* calls in one life at most */
#define TRACE   40   /* lines kept for the report */

struct pending {
    bool used;
    int dir, file; /* what was asked about: a name in dir, and a held file; references to both */
    int name;
    struct cache_ticket real;
    struct oracle_ticket oracle;
};

extern struct oracle oracle;

extern struct model {
    uint64_t seed, random, op, count;
    unsigned life;
    char trace[TRACE][200];
    uint64_t traced;

    struct settings settings;
    struct observe *observe;
    struct cache *c;
    uint64_t now;
    struct cache_file *real[ORACLE_FILES + 64]; /* the object of each of the oracle's files, as far
                                                   as it is known */
    struct cache_listing *listing[ORACLE_LISTINGS]; /* references */
    int held[HELD];                                 /* the oracle's files; referred to */
    int held_count;
    struct pending pending[PENDING];
    uint64_t info_bytes, negative_bytes;

    /* what the run has seen, so that a run that tests nothing shows */
    uint64_t hits[3], evictions[3], steps[6];
} m;

uint64_t chance(void);
int below(int n); /* 0 .. n - 1 */
bool one_in(int n);

/* A line of the trace. */
void trace(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints the trace's end and what differs, and ends the program. */
void differ(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

void same_number(const char *what, uint64_t real, uint64_t expected);
/* The oracle's file is this object: the same one every time, with the same inode number, path and
 * size. */
void same_file(int file, struct cache_file *real);
void same_plan(const struct cache_plan *real, const struct oracle_plan *expected);
void same_counts(void);

#endif
