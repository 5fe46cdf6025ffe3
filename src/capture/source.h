/*
 * The bytes of a capture, in order: a file or standard input, plain or gzip, behind a window that
 * slides over them. Memory is the window, whatever the length of the file.
 */
#ifndef LARDER_CAPTURE_SOURCE_H
#define LARDER_CAPTURE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct source;

/* "-" is standard input. */
int source_open(const char *path, struct source **ret, struct error *err);
struct source *source_free(struct source *s); /* returns NULL; NULL is allowed */

/* Lets `*ret` point to the next bytes, valid until the next call: `want` of them, or fewer at the
 * end of the data. Returns how many there are (perhaps more than `want`). The window grows to
 * `want`, so whoever takes it from the data bounds it first. */
size_t source_peek(struct source *s, size_t want, const uint8_t **ret);
/* Moves on. False: the data end before that. */
bool source_skip(struct source *s, uint64_t n);

/* Why there are no more bytes: 0 for the end of the data, -EBADMSG for damaged gzip data, or the
 * errno of the read. */
int source_error(const struct source *s);
/* The gzip data end in the middle. */
bool source_cut_off(const struct source *s);
/* The path, or "standard input", for messages. */
const char *source_name(const struct source *s);
/* Bytes of the file (compressed ones, where it is compressed) read so far and in all; 0: not known.
 */
void source_progress(const struct source *s, uint64_t *ret_done, uint64_t *ret_all);

#endif
