/* Where control sockets stand; see control.h. Inside mount/ only. */
#ifndef LARDER_MOUNT_SOCKDIR_H
#define LARDER_MOUNT_SOCKDIR_H

#include <sys/types.h>
#include <sys/un.h>

#include "base/error.h"

/* Opens the caller's own directory, made if need be. Returns a descriptor or a negative errno. */
int sockdir_own(struct error *err);

/* Opens one of the SOCKDIR_PLACES in which a mount of `owner` may have its socket. A descriptor,
 * -ENOENT, or -EACCES and others where this one cannot be used. */
#define SOCKDIR_PLACES 3
int sockdir_of(uid_t owner, unsigned index);

void sockdir_name(const unsigned device[2], char out[static 32]);

/* Connects to a socket in the directory without waiting. Returns a descriptor, or -ENOENT,
 * -ECONNREFUSED: nobody listens any more, or another negative errno. */
int sockdir_connect(int dir, const char *name);

/* Removes the sockets of mounts that nobody serves any more. The caller holds the lock of
 * sockdir_lock(), so that none is one that is just being made. */
void sockdir_sweep(int dir);

/* flock(2)s the directory; unlocked by closing it or sockdir_unlock. */
void sockdir_lock(int dir);
void sockdir_unlock(int dir);

/* The address of `name` in the directory: through /proc/self/fd, so that nobody can exchange the
 * directory between the check and the use, and of a length that always fits. */
void sockdir_address(int dir, const char *name, struct sockaddr_un *ret);

#endif
