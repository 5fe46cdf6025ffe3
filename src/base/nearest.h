/*
 * "Did you mean ...?": of all known names the one that an unknown one was probably meant to be.
 */
#ifndef LARDER_BASE_NEAREST_H
#define LARDER_BASE_NEAREST_H

#include <stddef.h>

#define NEAREST_NAME_MAX 31 /* bytes of a known name that are looked at */

struct nearest {
    const char *given; /* borrowed, as `best` is */
    const char *best;
    size_t changes; /* of single characters that lead from one to the other */
};

static inline struct nearest nearest_to(const char *given)
{
    return (struct nearest){.given = given};
}

/* Of two that are as near the first stays. Case does not count. */
void nearest_offer(struct nearest *n, const char *known);

/* The nearest of what was offered; NULL where none is so near that it can have been meant: less
 * than half of it is to be changed. */
const char *nearest_meant(const struct nearest *n);

#endif
