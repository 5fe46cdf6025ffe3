/*
 * Faults that are planted into a larder, to see that the checker finds them. Each planted_NAME.c is
 * linked into a program of its own with the linker's --wrap: a call of cache_broken, say, goes to
 * __wrap_cache_broken there, which may call the true one as __real_cache_broken. src/ knows nothing
 * of it.
 */
#ifndef LARDER_TESTS_PLANTED_H
#define LARDER_TESTS_PLANTED_H

#include "cache/cache.h"
#include "client/client.h"

#define WRAPPED(type, name, ...)                                                                   \
    type __real_##name(__VA_ARGS__);                                                               \
    type __wrap_##name(__VA_ARGS__);                                                               \
    type __wrap_##name(__VA_ARGS__)

#endif
