/* Time. Inside the program: nanoseconds of CLOCK_MONOTONIC. From servers: FILETIMEs. */
#ifndef LARDER_BASE_CLOCK_H
#define LARDER_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_SEC  1000000000ull
#define NS_PER_MS   1000000ull
#define CLOCK_NEVER UINT64_MAX /* a deadline that does not come */

static inline uint64_t clock_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS_PER_SEC + (uint64_t)t.tv_nsec;
}

/* Nanoseconds as the system's calls want them. */
static inline struct timespec clock_timespec(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_SEC),
                             .tv_nsec = (long)(ns % NS_PER_SEC)};
}

/* FILETIME <-> Unix time; exact to 100 ns, also before 1970. */
static inline struct timespec filetime_to_timespec(uint64_t filetime)
{
    int64_t ticks = (int64_t)(filetime - 116444736000000000ull);
    int64_t sec = ticks / 10000000, rest = ticks % 10000000;
    if (rest < 0) {
        rest += 10000000;
        sec--;
    }
    return (struct timespec){.tv_sec = sec, .tv_nsec = rest * 100};
}

static inline uint64_t timespec_to_filetime(struct timespec t)
{
    return (uint64_t)t.tv_sec * 10000000 + (uint64_t)t.tv_nsec / 100 + 116444736000000000ull;
}

#endif
