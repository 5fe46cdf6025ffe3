/* A value's bucket is its highest bit and the five bits behind that. */
#include "capture/durations.h"

#include <math.h>
#include <stddef.h>

enum { LOW_BITS = 6, SUB_BITS = 5 };

static size_t bucket_of(uint64_t ns)
{
    if (ns < DURATION_LOW)
        return ns;
    unsigned top = 63 - (unsigned)__builtin_clzll(ns);
    size_t b = DURATION_LOW + (size_t)(top - LOW_BITS) * DURATION_OCTAVE +
               (ns >> (top - SUB_BITS) & (DURATION_OCTAVE - 1));
    return b < DURATION_BUCKETS ? b : DURATION_BUCKETS - 1;
}

static uint64_t middle_of(size_t bucket)
{
    if (bucket < DURATION_LOW)
        return bucket;
    unsigned top = (unsigned)((bucket - DURATION_LOW) / DURATION_OCTAVE) + LOW_BITS;
    uint64_t width = 1ull << (top - SUB_BITS);
    return (1ull << top) + width * ((bucket - DURATION_LOW) % DURATION_OCTAVE) + width / 2;
}

void durations_add(struct durations *d, uint64_t ns)
{
    d->count++;
    d->sum_ns += ns;
    if (ns > d->max_ns)
        d->max_ns = ns;
    d->bucket[bucket_of(ns)]++;
}

void durations_change(struct durations *d, uint64_t from_ns, uint64_t to_ns)
{
    if (from_ns > to_ns)
        return;
    d->bucket[bucket_of(from_ns)]--;
    d->bucket[bucket_of(to_ns)]++;
    d->sum_ns += to_ns - from_ns;
    if (to_ns > d->max_ns)
        d->max_ns = to_ns;
}

uint64_t durations_quantile(const struct durations *d, double share)
{
    uint64_t rank = (uint64_t)ceil(share * (double)d->count), seen = 0;
    if (rank == 0)
        rank = 1;
    for (size_t i = 0; i < DURATION_BUCKETS; i++) {
        seen += d->bucket[i];
        if (seen >= rank) {
            uint64_t ns = middle_of(i);
            return ns < d->max_ns ? ns : d->max_ns;
        }
    }
    return 0;
}

uint64_t durations_between(const struct durations *d, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t n = 0;
    for (size_t i = bucket_of(from_ns), last = bucket_of(to_ns); i <= last; i++)
        if (d->bucket[i] && middle_of(i) >= from_ns && middle_of(i) < to_ns)
            n += d->bucket[i];
    return n;
}
