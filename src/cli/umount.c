/*
 * `larder umount`: ends a mount and waits until its process has logged off and gone, so that what
 * comes next (another mount, a shutdown of the server) finds nothing half done. Also clears what a
 * larder that was killed left behind: the dead mount ("Transport endpoint is not connected") and
 * its control socket. The directory itself is never looked into, since that could hang.
 */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "mount/control.h"
#include "mount/place.h"

#define PATIENCE_S 15
/* The mount's own process that tells inotify of changes may be at work there for a moment. */
#define MOMENTS   5
#define MOMENT_MS 40

extern char **environ;

static const char help[] =
    "larder umount /mnt\n\n"
    "Unmounts a share that larder mounted, and waits until its process has gone.\n"
    "Clears the mount of a larder that was killed, too.\n\n"
    "  -l, --lazy   also while programs use it: it ends when they let go\n";

/* What root may do itself others have fusermount3 do. */
static int unmount(const char *path, bool lazy, struct error *err)
{
    if (geteuid() == 0) {
        if (umount2(path, UMOUNT_NOFOLLOW | (lazy ? MNT_DETACH : 0)) == 0)
            return 0;
        return error_set(err, -errno, 0, "%s: %s%s", path, strerror(errno),
                         errno == EBUSY ? ": a program uses it; --lazy unmounts it all the same"
                                        : "");
    }
    char *argv[] = {(char *)"fusermount3",        (char *)"-u",
                    (char *)(lazy ? "-z" : "-q"), (char *)"--",
                    (char *)(uintptr_t)path,      NULL};
    pid_t pid;
    int status, rc = posix_spawnp(&pid, "fusermount3", NULL, NULL, argv, environ);
    if (rc != 0)
        return error_set(err, -rc, 0, "fusermount3: %s", strerror(rc));
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return error_set(err, -errno, 0, "fusermount3: %s", strerror(errno));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return error_set(err, -EBUSY, 0,
                         "%s: fusermount3 refused: another user's mount, or a program uses it "
                         "(--lazy unmounts it all the same)",
                         path);
    return 0;
}

/* False: it is still there after PATIENCE_S seconds. */
static bool wait_until_gone(int pidfd)
{
    struct pollfd p = {.fd = pidfd, .events = POLLIN};
    return pidfd < 0 || poll(&p, 1, PATIENCE_S * 1000) > 0;
}

static int umount_one(const char *path, bool lazy)
{
    struct error err;
    struct place at;
    if (place_find_larder(path, &at, &err) < 0)
        return cli_fail("umount", "%s", err.text);

    pid_t pid;
    int pidfd = control_pid(path, &pid, NULL) == 0 ? pidfd_open(pid, 0) : -1;
    int code = EXIT_DONE;
    int rc = unmount(at.path, lazy, &err);
    for (int tries = 0; rc == -EBUSY && tries < MOMENTS; tries++) {
        poll(NULL, 0, MOMENT_MS);
        rc = unmount(at.path, lazy, &err);
    }
    if (rc < 0)
        code = cli_fail("umount", "%s", err.text);
    else if (!lazy && !wait_until_gone(pidfd))
        code = cli_fail("umount", "%s is unmounted, but process %d still runs", path, (int)pid);
    if (pidfd >= 0)
        close(pidfd);
    if (code == EXIT_DONE)
        control_clear(at.owner);
    return code;
}

int cmd_umount(int argc, char **argv)
{
    bool lazy;
    int code = cli_read_flag(argc, argv, "lazy", 'l', help, &lazy);
    if (code != EXIT_DONE)
        return code == CLI_HELP_SHOWN ? EXIT_DONE : code;
    if (argc - optind != 1)
        return cli_usage("umount", "give the directory of one mount");
    return umount_one(argv[optind], lazy);
}
