/*
 * What processes watch by inotify on one file system, out of /proc (see watchers.h for what that
 * costs).
 */
#ifndef LARDER_MOUNT_PROCS_H
#define LARDER_MOUNT_PROCS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct procs; /* the processes seen so far; one thread's */

struct procs *procs_new(void); /* NULL: out of memory */
struct procs *procs_free(struct procs *p);

/* One round at the time `now` (ns): the numbers of the nodes that are watched on the file system
 * with this device number, ascending, each once; good until the next round. `used`: somebody uses
 * the file system, and may be about to watch it. Returns how many. */
size_t procs_watched(struct procs *p, const unsigned device[2], bool used, uint64_t now,
                     const uint64_t **ret);

#endif
