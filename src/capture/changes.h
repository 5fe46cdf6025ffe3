/*
 * What changed when, as far as the capture shows it: the difference between a question that was
 * repeated for nothing and one that had to be asked.
 */
#ifndef LARDER_CAPTURE_CHANGES_H
#define LARDER_CAPTURE_CHANGES_H

#include "capture/places.h"

struct changes;
struct changes *changes_new(struct shares *shares); /* borrowed */
struct changes *changes_free(struct changes *c);
/* From exchanges, in their order: what they change, and what CHANGE_NOTIFY tells. */
void changes_exchange(struct changes *c, const struct exchange *x);
/* Whether `path` (for a directory: or anything right in it) has changed at `since_ns` or later. */
bool changes_since(const struct changes *c, unsigned view, const char *path, size_t len,
                   uint64_t since_ns);

#endif
