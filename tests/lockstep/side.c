/*
 * Operations as system calls. One function a group; the table at the end leads to them. Where an
 * operation is several calls its result is that of the first one that fails.
 *
 * mmap: only what lies inside the file, whole pages of it at most, since a store behind the last
 * one is a signal and no result. Whether it stores depends on the descriptor, so that a reading one
 * is good for something.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lockstep/side.h"

int side_init(struct side *s, const char *name, int top)
{
    *s = (struct side){.name = name, .top = top, .buf = malloc(LENGTH_MAX)};
    s->sticky = calloc(STICKY_MAX, sizeof(*s->sticky));
    for (int i = 0; i < SLOTS; i++)
        s->slot[i] = -1;
    return s->buf && s->sticky ? 0 : -ENOMEM;
}

void side_done(struct side *s)
{
    for (int i = 0; i < SLOTS; i++)
        if (s->slot[i] >= 0)
            close(s->slot[i]);
    close(s->top);
    free(s->buf);
    free(s->sticky);
}

static struct result done(int64_t value)
{
    return (struct result){.value = value, .error = value < 0 ? errno : 0};
}

static struct result read_into(int64_t got)
{
    struct result r = done(got);
    r.got = got > 0 ? (size_t)got : 0;
    return r;
}

static void fill(uint8_t *buf, const struct op *op)
{
    uint64_t x = mix(op->data);
    for (uint32_t i = 0; i < op->len; i++)
        buf[i] = (uint8_t)((x >> (i & 7) * 8) + i / 8);
}

/* ---- data ---- */

static struct result do_open(struct side *s, const struct op *op)
{
    int *slot = &s->slot[op->slot];
    if (*slot >= 0)
        return done(-2); /* nothing: the slot is taken */
    *slot = openat(s->top, op->path, (int)op->flags | O_NONBLOCK, op->mode);
    return done(*slot < 0 ? -1 : 0); /* numbers of descriptors are nobody's */
}

static struct result do_close(struct side *s, const struct op *op)
{
    int r = close(s->slot[op->slot]);
    s->slot[op->slot] = -1;
    return done(r);
}

static struct result do_write(struct side *s, const struct op *op)
{
    fill(s->buf, op);
    bool lost = s->fault == FAULT_LOST_WRITE && op->data % 16 == 3;
    size_t len = lost ? 0 : op->len;
    int fd = s->slot[op->slot];
    int64_t n = op->kind == OP_WRITE ? write(fd, s->buf, len) : pwrite(fd, s->buf, len, op->at);
    return done(lost && n == 0 ? op->len : n);
}

static struct result do_put(struct side *s, const struct op *op)
{
    int fd = openat(s->top, op->path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK, 0644);
    if (fd < 0)
        return done(-1);
    fill(s->buf, op);
    struct result r = done(write(fd, s->buf, op->len));
    if (close(fd) < 0 && r.value >= 0)
        r = done(-1);
    return r;
}

static struct result do_pread(struct side *s, const struct op *op)
{
    return read_into(pread(s->slot[op->slot], s->buf, op->len, op->at));
}

static struct result do_truncate(struct side *s, const struct op *op)
{
    int64_t len = op->at - (s->fault == FAULT_SHORT_FILE && op->at % 8 == 5);
    if (op->kind == OP_FTRUNCATE)
        return done(ftruncate(s->slot[op->slot], len));
    /* there is no truncateat(2) */
    char path[64 + PATH_SIZE];
    snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", s->top, op->path);
    return done(truncate(path, len));
}

static struct result do_fsync(struct side *s, const struct op *op)
{
    return done(fsync(s->slot[op->slot]));
}

static struct result use_map(struct side *s, const struct op *op, size_t len, bool store)
{
    off_t start = op->at & ~(off_t)4095;
    size_t before = (size_t)(op->at - start);
    uint8_t *map = mmap(NULL, before + len, store ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED,
                        s->slot[op->slot], start);
    if (map == MAP_FAILED)
        return done(-1);
    struct result r;
    if (store) {
        fill(s->buf, op);
        memcpy(map + before, s->buf, len);
        r = done(op->flags & MMAP_SYNC ? msync(map, before + len, MS_SYNC) : 0);
    } else {
        memcpy(s->buf, map + before, len);
        r = read_into((int64_t)len);
    }
    munmap(map, before + len);
    return r;
}

static struct result do_mmap(struct side *s, const struct op *op)
{
    struct stat st;
    int fd = s->slot[op->slot];
    if (fstat(fd, &st) < 0)
        return done(-1);
    if (!S_ISREG(st.st_mode) || op->at >= st.st_size || op->len == 0)
        return done(-2);
    size_t len = st.st_size - op->at < op->len ? (size_t)(st.st_size - op->at) : op->len;
    bool store = op->flags & MMAP_STORE && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR;
    return use_map(s, op, len, store);
}

static struct result do_fallocate(struct side *s, const struct op *op)
{
    return done(fallocate(s->slot[op->slot], (int)op->flags, op->at, op->len));
}

static struct result do_copy(struct side *s, const struct op *op)
{
    off_t from = op->at, to = op->to_at;
    return done(copy_file_range(s->slot[op->from], &from, s->slot[op->slot], &to, op->len, 0));
}

/* ---- names ---- */

static struct result do_mknod(struct side *s, const struct op *op)
{
    return done(mknodat(s->top, op->path, S_IFREG | op->mode, 0));
}

static struct result do_unlink(struct side *s, const struct op *op)
{
    struct stat st;
    if (s->fault == FAULT_KEPT_NAME && strcmp(op->path, "p/b") == 0 &&
        fstatat(s->top, op->path, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return done(0);
    return done(unlinkat(s->top, op->path, op->kind == OP_RMDIR ? AT_REMOVEDIR : 0));
}

static struct result do_mkdir(struct side *s, const struct op *op)
{
    return done(mkdirat(s->top, op->path, 0755));
}

static struct result do_rename(struct side *s, const struct op *op)
{
    return done(renameat2(s->top, op->path, s->top, op->to, op->flags));
}

static struct result do_link(struct side *s, const struct op *op)
{
    return done(linkat(s->top, op->path, s->top, op->to, 0));
}

static struct result do_symlink(struct side *s, const struct op *op)
{
    return done(symlinkat(op->to, s->top, op->path));
}

static struct result do_readlink(struct side *s, const struct op *op)
{
    return read_into(readlinkat(s->top, op->path, (char *)s->buf, LENGTH_MAX));
}

static struct result do_list(struct side *s, const struct op *op)
{
    int fd = openat(s->top, op->path, O_RDONLY | O_DIRECTORY);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d)
        return done(-1);
    int64_t count = 0;
    errno = 0;
    while (readdir(d))
        count++;
    struct result r = done(errno ? -1 : count);
    closedir(d);
    return r;
}

/* ---- attributes ---- */

static struct timespec time_of(uint64_t t)
{
    if (t == TIME_OMIT || t == TIME_NOW)
        return (struct timespec){.tv_nsec = t == TIME_OMIT ? UTIME_OMIT : UTIME_NOW};
    return (struct timespec){.tv_sec = (time_t)(t / 10000000),
                             .tv_nsec = (long)(t % 10000000) * 100};
}

static struct result do_utimens(struct side *s, const struct op *op)
{
    struct timespec t[2] = {time_of(op->atime), time_of(op->mtime)};
    if (s->fault == FAULT_OLD_TIME && op->mtime % 4 == 2)
        t[1].tv_sec--;
    if (op->kind == OP_FUTIMENS)
        return done(futimens(s->slot[op->slot], t));
    return done(utimensat(s->top, op->path, t, 0));
}

static struct result do_chmod(struct side *s, const struct op *op)
{
    if (op->kind == OP_FCHMOD)
        return done(fchmod(s->slot[op->slot], op->mode));
    return done(fchmodat(s->top, op->path, op->mode, 0));
}

static struct result (*const calls[OP_KINDS])(struct side *s, const struct op *op) = {
    [OP_OPEN] = do_open,           [OP_CLOSE] = do_close,       [OP_PWRITE] = do_write,
    [OP_WRITE] = do_write,         [OP_PREAD] = do_pread,       [OP_FTRUNCATE] = do_truncate,
    [OP_TRUNCATE] = do_truncate,   [OP_FSYNC] = do_fsync,       [OP_MMAP] = do_mmap,
    [OP_FALLOCATE] = do_fallocate, [OP_COPY] = do_copy,         [OP_PUT] = do_put,
    [OP_MKNOD] = do_mknod,         [OP_UNLINK] = do_unlink,     [OP_MKDIR] = do_mkdir,
    [OP_RMDIR] = do_unlink,        [OP_RENAME] = do_rename,     [OP_LINK] = do_link,
    [OP_SYMLINK] = do_symlink,     [OP_READLINK] = do_readlink, [OP_CHMOD] = do_chmod,
    [OP_FCHMOD] = do_chmod,        [OP_UTIMENS] = do_utimens,   [OP_FUTIMENS] = do_utimens,
    [OP_LIST] = do_list,
};

struct result side_do(struct side *s, const struct op *op)
{
    errno = 0;
    return calls[op->kind](s, op);
}
