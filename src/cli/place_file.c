/*
 * Open files of a place. One here that is being filled is written in order, so that its length
 * tells what is in it whatever ends the program; on a server several writes are under way at once,
 * and who goes on with such a file begins a little before its end (copy_file.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/place_local.h"

struct place_file {
    struct larder_file *remote; /* NULL for one here */
    int fd;
    bool stream; /* no offsets */
    char path[]; /* for error texts */
};

static int file_new(const char *path, struct place_file **ret, struct larder_error *err)
{
    size_t len = strlen(path) + 1;
    struct place_file *f = malloc(sizeof *f + len);
    if (!f)
        return place_error(err, path, -ENOMEM);
    *f = (struct place_file){.fd = -1};
    memcpy(f->path, path, len);
    *ret = f;
    return 0;
}

/* Files of the kernel's own say 0 and have content all the same. */
static bool size_says_nothing(int fd, const struct stat *st)
{
    char byte;
    return !S_ISREG(st->st_mode) || (st->st_size == 0 && pread(fd, &byte, 1, 0) == 1);
}

/* A FIFO that nobody writes yet is not waited for here, where no signal would end that. */
static int open_local(struct place_file *f, struct larder_stat *ret_stat, struct larder_error *err)
{
    struct stat st;
    f->fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (f->fd < 0 || fstat(f->fd, &st) < 0)
        return place_error(err, f->path, -errno);
    if (S_ISDIR(st.st_mode))
        return place_error(err, f->path, -EISDIR);
    f->stream = size_says_nothing(f->fd, &st);
    place_from_stat(&st, ret_stat);
    if (f->stream)
        ret_stat->attributes |= PLACE_DEVICE;
    return 0;
}

int place_open(const struct place *p, struct place_file **ret, struct larder_stat *ret_stat,
               struct larder_error *err)
{
    struct place_file *f;
    int r = file_new(p->path, &f, err);
    if (r < 0)
        return r;
    r = p->l ? larder_open(p->l, p->path, &f->remote, ret_stat, err) : open_local(f, ret_stat, err);
    if (r < 0)
        place_close(f);
    else
        *ret = f;
    return r;
}

static int open_local_part(struct place_file *f, uint64_t *ret_size, struct larder_error *err)
{
    struct stat st;
    f->fd = open(f->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (f->fd < 0)
        return place_error(err, f->path, -errno);
    if (flock(f->fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        return place_error(err, f->path, -EBUSY);
    if (fstat(f->fd, &st) < 0)
        return place_error(err, f->path, -errno);
    if (!S_ISREG(st.st_mode))
        return place_error(err, f->path, -EEXIST);
    *ret_size = (uint64_t)st.st_size;
    return 0;
}

int place_open_part(const struct place *p, struct place_file **ret, uint64_t *ret_size,
                    struct larder_error *err)
{
    struct place_file *f;
    struct larder_stat st;
    int r = file_new(p->path, &f, err);
    if (r < 0)
        return r;
    if (p->l) {
        r = larder_open_with(p->l, p->path, LARDER_READ | LARDER_WRITE | LARDER_CREATE, &f->remote,
                             &st, err);
        if (r == 0)
            *ret_size = st.size;
    } else {
        r = open_local_part(f, ret_size, err);
    }
    if (r < 0)
        place_close(f);
    else
        *ret = f;
    return r;
}

int place_open_standard(int fd, struct place_file **ret, struct larder_error *err)
{
    const char *name = fd == STDIN_FILENO ? "standard input" : "standard output";
    int r = file_new(name, ret, err);
    if (r < 0)
        return r;
    (*ret)->stream = true;
    (*ret)->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if ((*ret)->fd < 0) {
        r = place_error(err, name, -errno);
        *ret = place_close(*ret);
    }
    return r;
}

/* Less than `len` only at the end. */
int64_t place_read(struct place_file *f, void *buf, size_t len, uint64_t offset,
                   struct larder_error *err)
{
    if (f->remote)
        return larder_read(f->remote, buf, len, offset, err);
    size_t done = 0;
    while (done < len) {
        ssize_t n = f->stream
                        ? read(f->fd, (char *)buf + done, len - done)
                        : pread(f->fd, (char *)buf + done, len - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return place_error(err, f->path, -errno);
        if (n == 0)
            break;
        done += (size_t)n;
    }
    return (int64_t)done;
}

int64_t place_read_some(struct place_file *f, void *buf, size_t len, int ms,
                        struct larder_error *err)
{
    struct pollfd wait = {.fd = f->fd, .events = POLLIN};
    if (poll(&wait, 1, ms) <= 0)
        return place_error(err, f->path, -EAGAIN);
    ssize_t n = read(f->fd, buf, len);
    if (n < 0 && errno == EINTR)
        return place_error(err, f->path, -EAGAIN);
    return n < 0 ? place_error(err, f->path, -errno) : n;
}

static int write_remote(struct place_file *f, const char *buf, size_t len, uint64_t offset,
                        size_t *ret_written, struct larder_error *err)
{
    while (*ret_written < len) {
        int64_t n = larder_write(f->remote, buf + *ret_written, len - *ret_written,
                                 offset + *ret_written, err);
        if (n < 0)
            return (int)n;
        if (n == 0)
            return place_error(err, f->path, -EIO);
        *ret_written += (size_t)n;
    }
    return 0;
}

int place_write(struct place_file *f, const void *buf, size_t len, uint64_t offset,
                size_t *ret_written, struct larder_error *err)
{
    *ret_written = 0;
    if (f->remote)
        return write_remote(f, buf, len, offset, ret_written, err);
    while (*ret_written < len) {
        const char *from = (const char *)buf + *ret_written;
        size_t left = len - *ret_written;
        ssize_t n = f->stream ? write(f->fd, from, left)
                              : pwrite(f->fd, from, left, (off_t)(offset + *ret_written));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return place_error(err, f->path, -errno);
        *ret_written += (size_t)n;
    }
    return 0;
}

int place_file_stat(struct place_file *f, struct larder_stat *ret, struct larder_error *err)
{
    struct stat st;
    if (f->remote)
        return larder_file_stat(f->remote, ret, err);
    if (fstat(f->fd, &st) < 0)
        return place_error(err, f->path, -errno);
    place_from_stat(&st, ret);
    return 0;
}

int place_truncate(struct place_file *f, uint64_t size, struct larder_error *err)
{
    const struct larder_setattr change = {.set = LARDER_SET_SIZE, .size = size};
    if (f->remote)
        return larder_file_setattr(f->remote, &change, NULL, err);
    return ftruncate(f->fd, (off_t)size) < 0 ? place_error(err, f->path, -errno) : 0;
}

static int finish_local(struct place_file *f, const struct larder_stat *like, uint64_t *ret_size,
                        struct larder_error *err)
{
    struct stat st;
    const struct timespec times[2] = {like->accessed, like->written};
    if (fstat(f->fd, &st) < 0 || futimens(f->fd, times) < 0 ||
        ((like->attributes & PLACE_READONLY) && fchmod(f->fd, st.st_mode & 0555) < 0))
        return place_error(err, f->path, -errno);
    *ret_size = (uint64_t)st.st_size;
    return 0;
}

int place_finish(struct place_file *f, const struct larder_stat *like, uint64_t *ret_size,
                 struct larder_error *err)
{
    if (!f->remote)
        return finish_local(f, like, ret_size, err);
    struct larder_setattr change;
    struct larder_stat after;
    place_times_like(like, &change);
    int r = larder_file_setattr(f->remote, &change, NULL, err);
    if (r == 0)
        r = larder_file_stat(f->remote, &after, err);
    if (r == 0)
        *ret_size = after.size;
    return r;
}

bool place_in_order(const struct place_file *f)
{
    return !f->remote;
}

struct larder_file *place_remote(struct place_file *f)
{
    return f->remote;
}

struct place_file *place_close(struct place_file *f)
{
    if (!f)
        return NULL;
    larder_close(f->remote);
    if (f->fd >= 0)
        close(f->fd);
    free(f);
    return NULL;
}
