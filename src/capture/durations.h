/*
 * How long things took: sum and maximum exact, quantiles to 1.6 per cent, in a fixed 5 KiB
 * whatever the number of values. 32 buckets an octave, and one a nanosecond below 64 ns.
 */
#ifndef LARDER_CAPTURE_DURATIONS_H
#define LARDER_CAPTURE_DURATIONS_H

#include <stdint.h>

#define DURATION_LOW     64 /* ns: exact below */
#define DURATION_OCTAVE  32 /* buckets */
#define DURATION_OCTAVES 38 /* up to 2^44 ns, almost five hours; longer ones fall in the last */
#define DURATION_BUCKETS (DURATION_LOW + DURATION_OCTAVE * DURATION_OCTAVES)

struct durations {
    uint64_t count, sum_ns, max_ns;
    uint32_t bucket[DURATION_BUCKETS];
};

void durations_add(struct durations *d, uint64_t ns);
/* A value that was added is another one, no less than it. */
void durations_change(struct durations *d, uint64_t from_ns, uint64_t to_ns);
/* The value below or at which `share` (0 .. 1) of all lie; 0 where there is none. */
uint64_t durations_quantile(const struct durations *d, double share);
/* How many lie in [from, to), a bucket counting as its middle: for histograms that are drawn. */
uint64_t durations_between(const struct durations *d, uint64_t from_ns, uint64_t to_ns);

#endif
