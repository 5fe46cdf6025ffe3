/*
 * Operations in order of their beginning, out of ones that come in order of their end: a window
 * that holds copies of the latest ones and gives out the one that began first. It holds at most
 * WINDOW_OPERATIONS operations and WINDOW_BYTES bytes of them; one that lasted for longer than that
 * comes late.
 */
#ifndef LARDER_CAPTURE_WINDOW_H
#define LARDER_CAPTURE_WINDOW_H

#include "capture/operation.h"

#define WINDOW_OPERATIONS 4096
#define WINDOW_BYTES      (8u << 20)

struct window;
/* Each operation is given twice: when it begins, and, where it changed something, when it ends.
 * `tag` is the one that came with it. `now` never goes back. */
struct window_events {
    void (*begins)(void *user, void *tag, const struct operation *o, uint64_t now);
    void (*ends)(void *user, void *tag, const struct operation *o, uint64_t now);
    void (*gone)(void *user, void *tag); /* after the last of them */
    void *user;
};
struct window *window_new(const struct window_events *events); /* NULL: out of memory */
/* Takes a copy. -ENOMEM. The copy's `share` is NULL: it may not live that long. */
int window_add(struct window *w, const struct operation *o, void *tag);
/* Gives out everything. */
void window_flush(struct window *w);
/* What is still in it is gone without having been given. */
struct window *window_free(struct window *w);

#endif
