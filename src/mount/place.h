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

/* The same for a canonical path, by the text. */
int place_find_exact(const char *canonical, struct place *ret);

/* Whether anything is mounted beneath a mount of this device (major, minor), as far as this
 * process can see. True also where that cannot be found out. */
bool place_is_above(const unsigned device[2]);

/* place_find for people: the error says that it is no larder mount. Other kinds give -EINVAL. */
int place_find_larder(const char *path, struct place *ret, struct error *err);

/* The larder mount that `path` is on, and *ret_rest, its path beneath that ("" for the mount
 * itself, else without a slash in front, doubled or behind). Nothing on the mount is looked at, so
 * it may hang, and asks its server nothing: `..` there goes up by the text, and symbolic links are
 * not followed. -EINVAL: on no mount of larder. */
int place_on_larder(const char *path, struct place *ret, char ret_rest[static PATH_MAX],
                    struct error *err);

#endif
