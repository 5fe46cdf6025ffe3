/*
 * Two captures side by side: the report's table, per READ too, what came and what went, which
 * directories grew, and what that says.
 */
#ifndef LARDER_CAPTURE_DIFFERENCE_H
#define LARDER_CAPTURE_DIFFERENCE_H

#include "capture/verdict.h"

enum difference_kind { DIFFERENCE_COUNT, DIFFERENCE_SECONDS, DIFFERENCE_RATE };

struct difference_row {
    const char *name; /* "QUERY_DIRECTORY": its messages, as the report counts */
    enum difference_kind kind;
    double base, other;
    bool per_read; /* whether a value for each READ request says something */
};

/* A directory by its place in the share: client and server are other machines, perhaps. */
struct difference_directory {
    const char *share, *path;
    uint64_t base, other; /* enumerations */
};

#define DIFFERENCE_ROWS        48
#define DIFFERENCE_DIRECTORIES 50

struct difference {
    const struct analysis *base, *other; /* borrowed */
    struct difference_row row[DIFFERENCE_ROWS];
    size_t row_count;
    uint64_t base_reads, other_reads; /* READ requests */
    /* by how many more the enumerations are, most first */
    struct difference_directory grown[DIFFERENCE_DIRECTORIES];
    size_t grown_count;             /* in the list */
    uint64_t grown_all;             /* of all */
    uint64_t only_base, only_other; /* directories enumerated in one of them only */
    struct finding finding[FINDINGS_MAX];
    size_t finding_count;
};

/* NULL: out of memory. */
struct difference *difference_new(const struct analysis *base, const struct analysis *other);
struct difference *difference_free(struct difference *d);

/* A row's values for each READ; 0 where there is no READ. */
double difference_base_per_read(const struct difference *d, const struct difference_row *r);
double difference_other_per_read(const struct difference *d, const struct difference_row *r);

#endif
