/*
 * Where the operation would mean another thing to a server than to a local file system, it is left
 * out on both sides. docs/posix.md has the reasons, and differences.py shows each for itself:
 *
 *   - a directory is not renamed while anything beneath it is open: servers refuse that;
 *   - a directory in which an open file lost its name is not removed, nor replaced: on the server
 *     the file stands there under a hidden name;
 *   - the mode of a directory is not changed: a share has none.
 *
 * What is open where the local side tells, by /proc/self/fd: so no bookkeeping of our own can be
 * wrong.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lockstep/agree.h"

enum { REAL_SIZE = 8192 };

static bool real_path(int fd, char ret[static REAL_SIZE])
{
    char link[40];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, ret, REAL_SIZE - 1);
    ret[n < 0 ? 0 : n] = 0;
    return n > 0;
}

/* The directory's real path with a slash; false: there is no such directory. */
static bool real_dir(const struct side *s, const char *path, char ret[static REAL_SIZE])
{
    int fd = openat(s->top, path, O_PATH | O_DIRECTORY | O_NOFOLLOW);
    if (fd < 0)
        return false;
    bool found = real_path(fd, ret);
    close(fd);
    size_t n = strlen(ret);
    if (found && n + 1 < REAL_SIZE)
        strcpy(ret + n, "/");
    return found;
}

static bool anything_open_in(const struct side *s, const char *path)
{
    char dir[REAL_SIZE], file[REAL_SIZE];
    if (!real_dir(s, path, dir))
        return false;
    for (int i = 0; i < SLOTS; i++)
        if (s->slot[i] >= 0 && real_path(s->slot[i], file) && strncmp(file, dir, strlen(dir)) == 0)
            return true;
    return false;
}

static bool is_dir(const struct side *s, const struct op *op)
{
    struct stat st;
    int r =
        op->kind == OP_FCHMOD ? fstat(s->slot[op->slot], &st) : fstatat(s->top, op->path, &st, 0);
    return r == 0 && S_ISDIR(st.st_mode);
}

bool agree_not(struct side *local, const struct op *op)
{
    switch (op->kind) {
    case OP_RMDIR:
        return anything_open_in(local, op->path);
    case OP_RENAME:
        return anything_open_in(local, op->path) || anything_open_in(local, op->to);
    case OP_CHMOD:
    case OP_FCHMOD:
        return is_dir(local, op);
    default:
        return false;
    }
}
