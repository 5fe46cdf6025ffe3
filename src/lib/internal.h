/* Inside of lib/: larder.c (configuration, connection, counters), tree.c (names), file.c (opens).
 */
#ifndef LARDER_LIB_INTERNAL_H
#define LARDER_LIB_INTERNAL_H

#include "larder/larder.h"
#include "share/share.h"

#define PUBLIC __attribute__((visibility("default")))

struct larder {
    struct share *share;
    char *top; /* the target's own path, which may be a file's; "" for none */
};

/* Carries an inner error over to the caller's struct, and returns its code. */
int lib_error(int code, const struct error *e, struct larder_error *err);

/* The path in the share: the target's own, then the caller's. NULL: out of memory. To be freed. */
char *lib_path(const struct larder *l, const char *path);

void lib_stat(const struct file_attr *a, uint64_t ino, struct larder_stat *ret);

/* The state that came with a change, where anybody asked; gives the reference back. */
void lib_take_entry(struct larder *l, struct share_entry *entry, struct larder_stat *ret);

void lib_change(const struct larder_setattr *change, struct share_change *ret);

#endif
