/*
 * A share that is an array of files in memory, for the tests of mount/: the functions of share.h,
 * and counts of how often each was called. Everything in it is under one lock.
 */
#ifndef LARDER_TESTS_FAKE_SHARE_H
#define LARDER_TESTS_FAKE_SHARE_H

#include "share/share.h"

#define FAKE_FILES 1000 /* in the directory "many": f0000 ... f0999; file i holds i % 100 bytes */

struct fake_counts {
    unsigned lookups, getattrs, lists, adopts, opens, opens_with_data, reads, statfs;
};

/* The tree: many/, empty/, hello ("hello, world\n"), readonly. Believed for `valid_ns`. */
struct share *fake_share_new(uint64_t valid_ns);
struct share *fake_share_free(struct share *s);
/* Each look-up takes so long. */
void fake_share_slow(struct share *s, unsigned ms);
/* Called with the name of each look-up, before it is answered and with no lock held. */
void fake_share_hook(struct share *s, void (*look_up)(void *user, const char *name), void *user);
/* The file "hello" has another content from now on, or other times only. */
void fake_share_change(struct share *s, const char *content);
/* Adds the directory entry empty/new. */
void fake_share_add(struct share *s);
/* Since the last call. */
struct fake_counts fake_share_counts(struct share *s);
/* References, files and listings that were given out and not given back. */
unsigned fake_share_held(struct share *s);

#endif
