/*
 * What is wrong, with the evidence and what to do about it; nothing, where all is well.
 *
 * The rules are a table: each has a count and what it is a share of, and speaks only where both are
 * over its thresholds, so that a handful of repeats in a healthy capture is not called a fault.
 */
#ifndef LARDER_CAPTURE_VERDICT_H
#define LARDER_CAPTURE_VERDICT_H

#include "capture/analysis.h"

enum severity {
    SEVERITY_FAULT,  /* a cache or the application makes requests that it need not */
    SEVERITY_NOTE,   /* worth knowing; nothing is broken */
    SEVERITY_UNSURE, /* the capture does not show all: the other numbers are less sure for it */
};
const char *severity_name(enum severity s);

struct finding {
    const char *name; /* stable: "directory-cache-inactive" */
    enum severity severity;
    uint64_t count, of; /* `of` 0: it is a share of nothing */
    char text[512];     /* one line, with the evidence; names from the capture as they are */
    char remedy[320];   /* what to do */
};

#define FINDINGS_MAX 24
/* Faults first. Returns how many. */
size_t verdict(const struct analysis *a, struct finding out[static FINDINGS_MAX]);

/* "\\server\share\path" as Windows spells it. Returns `out`. */
#define PLACE_TEXT 320
const char *place_text(char out[static PLACE_TEXT], const char *share, const char *path);

#endif
