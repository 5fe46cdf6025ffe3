/*
 * The directories of control sockets.
 *
 * They may stand in /tmp, where anybody may have made the name first: a directory is used only
 * after it was opened without following links and its owner and mode were found right, and then
 * only through that descriptor. Whoever makes or sweeps sockets holds a lock on the directory;
 * within it, a socket that refuses connections is one whose larder died.
 */
#include "mount/sockdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_CAP 512

/* Place `index` of SOCKDIR_PLACES; an empty path where it does not apply. Root's is first /run,
 * since a runtime directory is taken away with its user's last login. */
static void candidate(uid_t owner, unsigned index, char out[static PATH_CAP])
{
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    int n = 0;
    if (index == 0 && owner == 0)
        n = snprintf(out, PATH_CAP, "/run/larder-0");
    else if (index == 0 && owner == geteuid() && runtime && runtime[0] == '/')
        n = snprintf(out, PATH_CAP, "%s/larder", runtime);
    else if (index == 1) /* the same for those who have another user's environment, or none */
        n = snprintf(out, PATH_CAP, "/run/user/%u/larder", (unsigned)owner);
    else if (index == 2)
        n = snprintf(out, PATH_CAP, "/tmp/larder-%u", (unsigned)owner);
    if (n <= 0 || n >= PATH_CAP)
        out[0] = '\0';
}

static int open_checked(const char *path, uid_t owner)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    struct stat st;
    if (fstat(fd, &st) < 0 || st.st_uid != owner || (st.st_mode & 077) != 0) {
        close(fd);
        return -EPERM;
    }
    return fd;
}

int sockdir_own(struct error *err)
{
    uid_t uid = geteuid();
    char path[PATH_CAP];
    int rc = -ENOENT;
    for (unsigned i = 0; i < SOCKDIR_PLACES; i++) {
        candidate(uid, i, path);
        if (!path[0])
            continue;
        if (mkdir(path, 0700) < 0 && errno != EEXIST) {
            rc = -errno;
            continue;
        }
        rc = open_checked(path, uid);
        if (rc >= 0)
            return rc;
    }
    if (rc == -EPERM)
        return error_set(err, rc, 0, "%s is not a private directory of uid %u: remove it", path,
                         (unsigned)uid);
    return error_set(err, rc, 0, "no directory for the control socket: %s", strerror(-rc));
}

int sockdir_of(uid_t owner, unsigned index)
{
    char path[PATH_CAP];
    candidate(owner, index, path);
    return path[0] ? open_checked(path, owner) : -ENOENT;
}

void sockdir_name(const unsigned device[2], char out[static 32])
{
    snprintf(out, 32, "%u:%u", device[0], device[1]);
}

void sockdir_address(int dir, const char *name, struct sockaddr_un *ret)
{
    *ret = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d/%s", dir, name);
}

int sockdir_connect(int dir, const char *name)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    struct sockaddr_un address;
    sockdir_address(dir, name, &address);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
        int rc = -errno;
        close(fd);
        return rc;
    }
    return fd;
}

void sockdir_sweep(int dir)
{
    int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = copy >= 0 ? fdopendir(copy) : NULL;
    if (!stream) {
        if (copy >= 0)
            close(copy);
        return;
    }
    struct dirent *entry;
    while ((entry = readdir(stream))) {
        unsigned major, minor;
        char rest;
        if (sscanf(entry->d_name, "%u:%u%c", &major, &minor, &rest) != 2)
            continue;
        int fd = sockdir_connect(dir, entry->d_name);
        if (fd == -ECONNREFUSED)
            unlinkat(dir, entry->d_name, 0);
        if (fd >= 0)
            close(fd);
    }
    closedir(stream);
}

void sockdir_lock(int dir)
{
    while (flock(dir, LOCK_EX) < 0 && errno == EINTR)
        ;
}

void sockdir_unlock(int dir)
{
    flock(dir, LOCK_UN);
}
