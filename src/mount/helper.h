/*
 * The process that makes system calls on the daemon's own mount (selfop.h).
 *
 * A process and not a thread: one that waits in the kernel for a call of the daemon's own could not
 * be ended with it, and would keep /dev/fuse open. So it is forked before that is opened, keeps no
 * descriptor but its end of a socket, and ends when the daemon does.
 *
 * Each job is one call in one directory. It opens the mount point anew, since a descriptor kept
 * would make the mount busy, makes sure that this is the daemon's mount and nothing over or under
 * it, and walks to the directory without leaving the mount or following a symbolic link.
 */
#ifndef LARDER_MOUNT_HELPER_H
#define LARDER_MOUNT_HELPER_H

#include <limits.h>
#include <sys/types.h>

#include "share/share.h"

enum helper_call {
    HELPER_MKNOD, /* a file */
    HELPER_MKDIR,
    HELPER_SYMLINK,
    HELPER_UNLINK,
    HELPER_RMDIR,
    HELPER_RENAME, /* within the directory */
    HELPER_TOUCH,  /* sets the time of writing, and no other */
};

struct helper_job {
    enum helper_call call;
    unsigned device[2]; /* the mount's, major and minor */
    char mountpoint[PATH_MAX], dir[PATH_MAX];
    char name[SHARE_NAME_MAX], new_name[SHARE_NAME_MAX];
};

/* The socket's end, and the process. A negative errno. */
int helper_start(int *ret_socket, pid_t *ret_pid);

/* One job at a time: the answer is an int, 0 or a negative errno. */
int helper_send(int socket, const struct helper_job *job);
/* 0 with the result; -EPIPE: the helper is gone. Waits where there is no answer yet. */
int helper_receive(int socket, int *ret_result);

#endif
