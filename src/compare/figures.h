/* The figures of a run: how they are called, where they stand in its JSON, how they are spelled. */
#ifndef LARDER_COMPARE_FIGURES_H
#define LARDER_COMPARE_FIGURES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "report/report.h"

enum figure_kind {
    FIGURE_COUNT,
    FIGURE_SECONDS,
    FIGURE_RATE, /* a second */
    FIGURE_HITS, /* of a cache; printed with the hit rate */
};

struct figure {
    const char *row;  /* in the table: "SMB2 messages" */
    const char *name; /* members of the run's JSON, joined by dots: "commands.CREATE" */
    enum figure_kind kind;
    bool always; /* the report has this row; the others are shown where they occurred */
};

/* In the table's order; NULL past the last. */
const struct figure *figure_at(size_t index);
/* By row, by JSON name or by the last part of it, in any case, `_`, `-`, `.` and space being one.
 * NULL: no such figure. */
const struct figure *figure_find(const char *name);

/* 0 where the run's JSON does not have it: what did not occur is left out there. */
double figure_value(const struct figure *f, const json_t *run);
/* Hits of all look-ups of an enabled cache in per cent; NAN where there was none, and for other
 * figures than hits. */
double figure_hit_rate(const struct figure *f, const json_t *run);

/* Sorts `values`. The mean of the middle two for an even number, NAN for none. */
double figure_median(double *values, size_t n);

/* The figure as the table has it. */
const char *figure_text(char buf[static REPORT_NUMBER], const struct figure *f, double value);

/* "METRIC=R": the figure may be at most R times that of the first profile. */
struct figure_limit {
    const struct figure *figure;
    double ratio;
};
/* 0, or -EINVAL for a text that is none. */
int figure_limit_parse(const char *text, struct figure_limit *ret);
/* Something where the first had nothing is over every limit; nothing is over none. */
bool figure_limit_exceeded(const struct figure_limit *l, double value, double base);

#endif
