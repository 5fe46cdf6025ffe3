/*
 * A small process that outlives the daemon by one system call.
 *
 * A daemon that is killed while one of its own threads waits in the kernel on its own mount cannot
 * be reaped, keeps /dev/fuse open, and leaves every user of the mount unkillable. The watchdog gets
 * a signal when the daemon dies and aborts the connection, which frees them all.
 */
#ifndef LARDER_MOUNT_WATCHDOG_H
#define LARDER_MOUNT_WATCHDOG_H

struct watchdog;

/* For the connection with this minor device number. NULL where there can be none: the fusectl file
 * system is not mounted, nor can it be (root mounts it). */
struct watchdog *watchdog_start(unsigned minor);
/* Ends the process, without an abort. Returns NULL; NULL is allowed. */
struct watchdog *watchdog_free(struct watchdog *w);

#endif
