/*
 * Finding a mount without touching it: by the kernel's table of mounts, never by stat(), which
 * would wait for a mount that hangs.
 */
#ifndef LARDER_MOUNT_PLACE_H
#define LARDER_MOUNT_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

#define MOUNT_FS_TYPE "fuse.larder" /* of every larder mount, as /proc/mounts shows it */

struct place {
    char path[PATH_MAX]; /* canonical */
    unsigned device[2];  /* major, minor */
    char type[64];
    uid_t owner; /* who mounted it, where the file system tells (user_id=) */
};

/* The absolute path of `path` without symbolic links, of which the last component is not looked at
 * unless it is `.`, `..` or empty. Negative errno. */
int place_canonical(const char *path, char ret[static PATH_MAX]);

/* The topmost mount at exactly this path; -ENOENT: nothing is mounted there. */
int place_find(const char *path, struct place *ret);

/* place_find for people: the error says that it is no larder mount. Other kinds give -EINVAL. */
int place_find_larder(const char *path, struct place *ret, struct error *err);

#endif
