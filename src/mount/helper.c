/* See helper.h. The daemon may have threads when it forks, so the child uses only what is safe in a
 * signal handler. */
#include "mount/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* ---- in the helper ---- */

/* Asks nobody: the device of a file is known without its file system. */
static bool is_on(int fd, const unsigned device[2])
{
    struct statx st;
    return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &st) == 0 &&
           st.stx_dev_major == device[0] && st.stx_dev_minor == device[1];
}

/* Beneath `fd`, on the same mount, whatever is mounted there or linked. */
static int open_beneath(int fd, const char *path, uint64_t flags)
{
    const struct open_how how = {.flags = O_PATH | O_CLOEXEC | flags,
                                 .resolve =
                                     RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS};
    return (int)syscall(SYS_openat2, fd, path, &how, sizeof(how));
}

static int open_dir(const struct helper_job *j)
{
    int top = open(j->mountpoint, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (top < 0)
        return -errno;
    int dir = is_on(top, j->device) ? open_beneath(top, *j->dir ? j->dir : ".", O_DIRECTORY) : -1;
    int rc = dir >= 0 ? dir : -ESTALE;
    close(top);
    return rc;
}

/* Not by name: a file that something else is mounted on would be that. */
static int touch(int dir, const char *name)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_NOW}};
    int fd = open_beneath(dir, name, O_NOFOLLOW);
    if (fd < 0)
        return -1;
    int rc = utimensat(fd, "", times, AT_EMPTY_PATH), code = errno;
    close(fd);
    errno = code;
    return rc;
}

static int do_call(int dir, const struct helper_job *j)
{
    switch (j->call) {
    case HELPER_MKNOD:
        return mknodat(dir, j->name, S_IFREG | 0644, 0);
    case HELPER_MKDIR:
        return mkdirat(dir, j->name, 0755);
    case HELPER_SYMLINK:
        return symlinkat("elsewhere", dir, j->name);
    case HELPER_UNLINK:
        return unlinkat(dir, j->name, 0);
    case HELPER_RMDIR:
        return unlinkat(dir, j->name, AT_REMOVEDIR);
    case HELPER_RENAME:
        return renameat(dir, j->name, dir, j->new_name);
    case HELPER_TOUCH:
        return touch(dir, j->name);
    }
    errno = EINVAL;
    return -1;
}

static int do_job(const struct helper_job *j)
{
    int dir = open_dir(j);
    if (dir < 0)
        return dir;
    int rc = do_call(dir, j) < 0 ? -errno : 0;
    close(dir);
    return rc;
}

/* All signals are blocked: what a terminal or a service manager sends is for the daemon. */
static _Noreturn void help(int socket)
{
    static struct helper_job job; /* too large for a signal handler's stack */
    prctl(PR_SET_NAME, "larder-inotify");
    setsid();
    umask(0);
    if (socket > 0)
        close_range(0, (unsigned)socket - 1, 0);
    close_range((unsigned)socket + 1, ~0u, 0);
    while (recv(socket, &job, sizeof(job), 0) == (ssize_t)sizeof(job)) {
        int result = do_job(&job);
        if (send(socket, &result, sizeof(result), MSG_NOSIGNAL) < 0)
            break;
    }
    _exit(0);
}

/* ---- in the daemon ---- */

int helper_start(int *ret_socket, pid_t *ret_pid)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pid_t pid = fork();
    int code = errno;
    if (pid == 0)
        help(ends[1]);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return -code;
    }
    *ret_socket = ends[0];
    *ret_pid = pid;
    return 0;
}

int helper_send(int socket, const struct helper_job *job)
{
    ssize_t n;
    do
        n = send(socket, job, sizeof(*job), MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(*job) ? 0 : -EPIPE;
}

int helper_receive(int socket, int *ret_result)
{
    int result;
    ssize_t n;
    do
        n = recv(socket, &result, sizeof(result), 0);
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof(result))
        return -EPIPE;
    *ret_result = result;
    return 0;
}
