/*
 * The FUSE face of a share: a directory tree of the local machine whose calls share/ answers.
 *
 * Read-only is an option of the daemon's: it refuses every change with EROFS. Not the kernel's `ro`
 * flag, because that would also refuse what the daemon itself does on its own mount to raise
 * inotify events; /proc/mounts therefore shows rw.
 *
 * A mount is made, served and freed by one thread:
 *
 *     mount_start(share, &options, &m, &err);     the directory is a mount now
 *     mount_loop(m);                              serves until unmounted or stopped
 *     m = mount_free(m);                          unmounts if need be, gives back all nodes and
 * files share = share_free(share, NULL);
 *
 * Calls of programs that come between mount_start and mount_loop wait for the loop.
 *
 * Threads of a mount: the loop's workers (up to max_threads), one for the control socket, timer and
 * stop, one that holds the watchdog process, one that tells the kernel what to forget (revoke.h),
 * one for each program that waits for a lock (lock.h), a few that read ahead (ahead.h), and two for
 * inotify (watchers.h, raiser.h), which has a process of its own as well. Lock order: a directory
 * handle's lock, selfop.h's, then share/'s locks, then the raiser's; the node table's lock is a
 * leaf, held across no call, the handle list's across none that waits.
 *
 * Memory: each worker has a buffer of 1 MiB for what programs write, and takes another one for as
 * long as it answers a read, of the size that was asked for, at most 1 MiB. So 2 MiB a worker that
 * is busy with data, 128 MiB with max_threads 64; and what is read ahead, 48 MiB at most (ahead.h).
 * Nothing per open file but the handle itself (and what share/ keeps).
 */
#ifndef LARDER_MOUNT_MOUNT_H
#define LARDER_MOUNT_MOUNT_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"
#include "share/share.h"

struct mount;

struct mount_options {
    const char *mountpoint; /* borrowed during mount_start */
    const char *fsname;     /* what df and /proc/mounts show as the source; borrowed likewise */
    bool allow_other;       /* other users too; the modes below are then enforced by the kernel */
    bool ignore_modes;      /* nor are they enforced then (noperm) */
    bool noexec;
    bool read_only;
    bool
        lazy_fsync; /* fsync(2) has the server take data, not bring it to its disk (nostrictsync) */
    uid_t uid;      /* owner of everything */
    gid_t gid;
    mode_t file_mode, dir_mode; /* permission bits; FILE_ATTRIBUTE_READONLY takes the w bits away */
    unsigned max_threads;       /* calls served at a time, 1 .. MOUNT_THREADS_MAX */
};
#define MOUNT_THREADS_MAX 1024

/* The caller's uid and gid, modes 0755, 64 threads. mountpoint and fsname are NULL. */
void mount_options_init(struct mount_options *o);

/* Whether a mount could be made there: a directory, not a larder mount already, and a FUSE that we
 * may use. Touches no mount
 * that is dead or hangs. 0, or the error with one line that says what to do. */
int mount_check(const char *mountpoint, struct error *err);

/* Whether something is in the directory that the mount will hide. Not asked where anything is
 * mounted: who looks into the place of an automount waits for the very mount that is to be made. */
bool mount_hides(const char *mountpoint);

/* Mounts the share's directory share_get_options(share)->path. `share` is borrowed until
 * mount_free. */
int mount_start(struct share *share, const struct mount_options *options, struct mount **ret,
                struct error *err);

/* Serves until the file system is unmounted or mount_stop was called; calls that are being answered
 * are finished first. 0, or a negative errno of the session's. */
int mount_loop(struct mount *m);

/* Ends mount_loop, also one that has not begun. From any thread or a signal handler, any number of
 * times, until mount_free is entered. */
void mount_stop(struct mount *m);

/* Unmounts if still mounted (lazily where it is in use: programs that have files open get an error
 * from then on). Returns NULL; NULL is allowed. */
struct mount *mount_free(struct mount *m);

#endif
