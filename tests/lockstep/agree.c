/*
 * Where the operation would mean another thing to a server than to a local file system, it is left
 * out on both sides. docs/posix.md has the reasons, and differences.py shows each for itself:
 *
 *   - a directory is not renamed while anything beneath it is open, by whatever name of it: servers
 *     refuse that;
 *   - a directory in which an open file lost its name is not removed, nor replaced: on the server
 *     the file stands there under a hidden name;
 *   - the mode of a directory is not changed: a share has none;
 *   - times and mode of a file without a name are not changed by a descriptor that only reads.
 *
 * And some results are right on both sides although they differ:
 *
 *   - a server asked for room inside a file that has holes has no way to give it;
 *   - how many names a file with several of them has is not told by listings and by the replies to
 *     changes, and a name that it lost while it was open counts until it is closed;
 *   - a time of access that is set alone may be lost with a write that was before it (Samba);
 *   - a write changes the time of writing late, at the latest when the file is closed;
 *   - a size that is set to what it is already, and room that is given or taken, leave the time of
 *     writing alone;
 *   - a time that is set while the file is open stays until it is closed, whatever is written;
 *   - the directory in which an open file lost a name gets new times when that is closed.
 *
 * What is open where the local side tells, by /proc/self/fd: so no bookkeeping of our own can be
 * wrong.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
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

/* The name by which it was opened is gone. */
static bool has_lost_name(int fd)
{
    char file[REAL_SIZE];
    return real_path(fd, file) && strstr(file, " (deleted)");
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

/* Without a name it is reached by the descriptor alone, and that one may only read. */
static bool is_nameless_and_read(const struct side *s, int slot)
{
    return (fcntl(s->slot[slot], F_GETFL) & O_ACCMODE) == O_RDONLY && has_lost_name(s->slot[slot]);
}

static bool is_dir(const struct side *s, const struct op *op)
{
    struct stat st;
    int r =
        op->kind == OP_FCHMOD ? fstat(s->slot[op->slot], &st) : fstatat(s->top, op->path, &st, 0);
    return r == 0 && S_ISDIR(st.st_mode);
}

/* One of an open file's names may be the one by which the server knows it, wherever it stands. */
static bool any_open_has_links(const struct side *s, const char *path)
{
    struct stat st;
    if (fstatat(s->top, path, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISDIR(st.st_mode))
        return false;
    for (int i = 0; i < SLOTS; i++)
        if (s->slot[i] >= 0 && fstat(s->slot[i], &st) == 0 && !S_ISDIR(st.st_mode) &&
            st.st_nlink + has_lost_name(s->slot[i]) > 1)
            return true;
    return false;
}

bool agree_on_results(const struct side *local, const struct op *op, const struct result *a,
                      const struct result *b)
{
    struct stat st;
    return op->kind == OP_FALLOCATE && !a->error && b->error == EOPNOTSUPP &&
           !(op->flags & FALLOC_FL_PUNCH_HOLE) && fstat(local->slot[op->slot], &st) == 0 &&
           op->at + op->len <= st.st_size;
}

bool agree_on_links(const struct stat *a, const struct stat *b)
{
    return a->st_nlink > 0 && (a->st_nlink > 1 || b->st_nlink > 1);
}

/* ---- times that stay ---- */

bool agree_on_atime(const struct op *op)
{
    return op->atime != TIME_OMIT && op->mtime != TIME_OMIT;
}

static bool is_open(const struct side *s, ino_t ino)
{
    struct stat st;
    for (int i = 0; i < SLOTS; i++)
        if (s->slot[i] >= 0 && fstat(s->slot[i], &st) == 0 && st.st_ino == ino)
            return true;
    return false;
}

/* Its mtime may stay, whatever is done to it. */
static void note(struct side *local, ino_t ino)
{
    if (local->sticky_count < STICKY_MAX)
        local->sticky[local->sticky_count++] = ino;
}

static void note_slot(struct side *local, int slot)
{
    struct stat st;
    if (fstat(local->slot[slot], &st) == 0)
        note(local, st.st_ino);
}

/* A size that is set to what it is changes nothing on a server. */
static void note_same_size(struct side *local, const struct op *op, int64_t size)
{
    struct stat st;
    int r = op->kind == OP_FTRUNCATE ? fstat(local->slot[op->slot], &st)
                                     : fstatat(local->top, op->path, &st, 0);
    if (r == 0 && st.st_size == size)
        note(local, st.st_ino);
}

static void note_times(struct side *local, const struct op *op)
{
    struct stat st;
    if (op->kind == OP_FUTIMENS ? fstat(local->slot[op->slot], &st) < 0
                                : fstatat(local->top, op->path, &st, 0) < 0)
        return;
    if (is_open(local, st.st_ino))
        note(local, st.st_ino);
}

/* Before the name goes: the server has it under a hidden one, which goes later. */
static void note_hides(struct side *local, const char *path)
{
    struct stat st;
    char dir[PATH_SIZE];
    snprintf(dir, sizeof(dir), "%s", path);
    char *slash = strrchr(dir, '/');
    if (slash)
        *slash = 0;
    if (fstatat(local->top, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && is_open(local, st.st_ino) &&
        fstatat(local->top, slash ? dir : ".", &st, 0) == 0)
        note(local, st.st_ino);
}

bool agree_on_new_mtime(const struct side *local, const struct stat *st)
{
    for (size_t i = 0; S_ISDIR(st->st_mode) && i < local->sticky_count; i++)
        if (local->sticky[i] == st->st_ino)
            return true;
    return false;
}

bool agree_on_old_mtime(const struct side *local, const struct stat *st)
{
    for (size_t i = 0; i < local->sticky_count; i++)
        if (local->sticky[i] == st->st_ino)
            return true;
    return is_open(local, st->st_ino);
}

/* ---- what is left out ---- */

bool agree_not(struct side *local, const struct op *op)
{
    switch (op->kind) {
    case OP_OPEN:
    case OP_PUT:
        if (op->kind == OP_PUT || op->flags & O_TRUNC)
            note_same_size(local, op, 0);
        return false;
    case OP_FALLOCATE:
        note_slot(local, op->slot);
        return false;
    case OP_TRUNCATE:
    case OP_FTRUNCATE:
        note_same_size(local, op, op->at);
        return false;
    case OP_UTIMENS:
        note_times(local, op);
        return false;
    case OP_FUTIMENS:
        note_times(local, op);
        return is_nameless_and_read(local, op->slot);
    case OP_UNLINK:
        note_hides(local, op->path);
        return false;
    case OP_RMDIR:
        return anything_open_in(local, op->path);
    case OP_RENAME:
        note_hides(local, op->to);
        return anything_open_in(local, op->path) || anything_open_in(local, op->to) ||
               any_open_has_links(local, op->path);
    case OP_CHMOD:
        return is_dir(local, op);
    case OP_FCHMOD:
        return is_dir(local, op) || is_nameless_and_read(local, op->slot);
    default:
        return false;
    }
}
