/*
 * The two sides beside one another.
 *
 * Times. A server's "now" is not ours, so a time is compared only where it was set: those are of
 * the 1990s, which no clock is any more (generate.c). Times of access are compared right after they
 * were set, before anything reads.
 *
 * Inode numbers are compared by what they are for: two names are one file on one side exactly if
 * they are on the other.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lockstep/agree.h"
#include "lockstep/look.h"

static bool differ(struct difference *ret, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool differ(struct difference *ret, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(ret->text, sizeof(ret->text), format, args);
    va_end(args);
    return true;
}

static const char *error_name(int error)
{
    const char *name = error ? strerrorname_np(error) : "done";
    return name ? name : "an unknown error";
}

static bool differ_in_errors(struct difference *ret, const char *what, int a, int b)
{
    return differ(ret, "%s: %s, %s", what, error_name(a), error_name(b));
}

/* ---- results ---- */

static bool differ_in_bytes(const uint8_t *a, const uint8_t *b, size_t len, int64_t at,
                            const char *what, struct difference *ret)
{
    if (memcmp(a, b, len) == 0)
        return false;
    size_t i = 0;
    while (a[i] == b[i])
        i++;
    return differ(ret, "%s: byte %" PRId64 ": 0x%02x, 0x%02x", what, at + (int64_t)i, a[i], b[i]);
}

bool look_result(struct side *a, struct side *b, const struct op *op, const struct result *ra,
                 const struct result *rb, struct difference *ret)
{
    if (agree_on_results(a, op, ra, rb))
        return false;
    if (ra->error != rb->error)
        return differ_in_errors(ret, op_name(op->kind), ra->error, rb->error);
    if (ra->value != rb->value)
        return differ(ret, "%s: returned %" PRId64 ", %" PRId64, op_name(op->kind), ra->value,
                      rb->value);
    return differ_in_bytes(a->buf, b->buf, ra->got, op->at, op_name(op->kind), ret);
}

/* ---- attributes ---- */

static bool was_set(struct timespec t)
{
    return t.tv_sec >= 631152000 && t.tv_sec < 946684800;
}

static bool differ_in_time(const char *which, const char *what, struct timespec a,
                           struct timespec b, struct difference *ret)
{
    if (!was_set(a) && !was_set(b))
        return false;
    if (a.tv_sec == b.tv_sec && a.tv_nsec / 100 == b.tv_nsec / 100)
        return false;
    return differ(ret, "%s of %s: %lld.%07ld, %lld.%07ld", which, what, (long long)a.tv_sec,
                  a.tv_nsec / 100, (long long)b.tv_sec, b.tv_nsec / 100);
}

static bool differ_in_file(const char *what, const struct stat *a, const struct stat *b,
                           struct difference *ret)
{
    if (a->st_size != b->st_size)
        return differ(ret, "size of %s: %lld, %lld", what, (long long)a->st_size,
                      (long long)b->st_size);
    if (a->st_nlink != b->st_nlink && !agree_on_links(a, b))
        return differ(ret, "links of %s: %lu, %lu", what, (unsigned long)a->st_nlink,
                      (unsigned long)b->st_nlink);
    if (!(a->st_mode & 0222) != !(b->st_mode & 0222))
        return differ(ret, "mode of %s: 0%o, 0%o", what, a->st_mode & 07777, b->st_mode & 07777);
    return false;
}

static bool differ_in_mtime(const struct side *local, const char *what, const struct stat *a,
                            const struct stat *b, struct difference *ret)
{
    if (!was_set(a->st_mtim) && agree_on_old_mtime(local, a))
        return false;
    if (!was_set(b->st_mtim) && agree_on_new_mtime(local, a))
        return false;
    return differ_in_time("mtime", what, a->st_mtim, b->st_mtim, ret);
}

static bool differ_in_stat(const struct side *local, const char *what, int error_a,
                           const struct stat *a, int error_b, const struct stat *b,
                           struct difference *ret)
{
    if (error_a != error_b)
        return differ_in_errors(ret, what, error_a, error_b);
    if (error_a)
        return false;
    if ((a->st_mode & S_IFMT) != (b->st_mode & S_IFMT))
        return differ(ret, "type of %s: 0%o, 0%o", what, a->st_mode & S_IFMT, b->st_mode & S_IFMT);
    if (S_ISREG(a->st_mode) && differ_in_file(what, a, b, ret))
        return true;
    return !S_ISLNK(a->st_mode) && differ_in_mtime(local, what, a, b, ret);
}

static bool look_path(struct side *a, struct side *b, const char *path, int flags,
                      struct difference *ret)
{
    struct stat st_a, st_b;
    int error_a = fstatat(a->top, path, &st_a, flags) < 0 ? errno : 0;
    int error_b = fstatat(b->top, path, &st_b, flags) < 0 ? errno : 0;
    return differ_in_stat(a, path, error_a, &st_a, error_b, &st_b, ret);
}

static bool look_slot(struct side *a, struct side *b, int slot, struct difference *ret)
{
    struct stat st_a, st_b;
    char what[40];
    if (a->slot[slot] < 0)
        return false;
    snprintf(what, sizeof(what), "the file in slot %d", slot);
    int error_a = fstat(a->slot[slot], &st_a) < 0 ? errno : 0;
    int error_b = fstat(b->slot[slot], &st_b) < 0 ? errno : 0;
    return differ_in_stat(a, what, error_a, &st_a, error_b, &st_b, ret);
}

/* Right after it was set. */
static bool differ_in_atime(struct side *a, struct side *b, const struct op *op,
                            struct difference *ret)
{
    struct stat st_a, st_b;
    bool slot = op->kind == OP_FUTIMENS;
    int ra = slot ? fstat(a->slot[op->slot], &st_a) : fstatat(a->top, op->path, &st_a, 0);
    int rb = slot ? fstat(b->slot[op->slot], &st_b) : fstatat(b->top, op->path, &st_b, 0);
    if (ra < 0 || rb < 0 || !agree_on_atime(op) || S_ISDIR(st_a.st_mode))
        return false;
    return differ_in_time("atime", slot ? "the file in the slot" : op->path, st_a.st_atim,
                          st_b.st_atim, ret);
}

/* A read of before may still be under way in the kernel or on the server, and is an access later
 * than the one that was set: set once more, it counts. */
static bool look_atime(struct side *a, struct side *b, const struct op *op, struct difference *ret)
{
    struct difference first;
    if (!differ_in_atime(a, b, op, &first))
        return false;
    usleep(100000);
    side_do(a, op);
    side_do(b, op);
    return differ_in_atime(a, b, op, ret);
}

/* ---- content ---- */

static bool look_bytes(struct side *a, struct side *b, int fd_a, int fd_b, const char *what,
                       struct difference *ret)
{
    enum { STEP = 128 << 10 };
    for (off_t at = 0;;) {
        ssize_t na = pread(fd_a, a->buf, STEP, at);
        ssize_t nb = pread(fd_b, b->buf, STEP, at);
        if (na != nb)
            return differ(ret, "%s: read at %lld: %zd, %zd", what, (long long)at, na, nb);
        if (na <= 0)
            return false;
        if (differ_in_bytes(a->buf, b->buf, (size_t)na, at, what, ret))
            return true;
        at += na;
    }
}

static bool is_file(int fd)
{
    struct stat st;
    return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

static bool look_content(struct side *a, struct side *b, const char *path, struct difference *ret)
{
    int fd_a = openat(a->top, path, O_RDONLY | O_NONBLOCK), error_a = fd_a < 0 ? errno : 0;
    int fd_b = openat(b->top, path, O_RDONLY | O_NONBLOCK), error_b = fd_b < 0 ? errno : 0;
    bool found = false;
    if (error_a != error_b)
        found = differ_in_errors(ret, path, error_a, error_b);
    else if (is_file(fd_a))
        found = look_bytes(a, b, fd_a, fd_b, path, ret);
    if (fd_a >= 0)
        close(fd_a);
    if (fd_b >= 0)
        close(fd_b);
    return found;
}

static bool look_slot_content(struct side *a, struct side *b, int slot, struct difference *ret)
{
    char what[40];
    int fd = a->slot[slot];
    if (!is_file(fd) || (fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY)
        return false;
    snprintf(what, sizeof(what), "the file in slot %d", slot);
    return look_bytes(a, b, fd, b->slot[slot], what, ret);
}

/* ---- listings ---- */

struct listing {
    int error;
    size_t count;
    struct dirent **entries;
};

static int is_no_dot(const struct dirent *e)
{
    return strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static struct listing listing_of(const struct side *s, const char *path)
{
    struct listing l = {0};
    int n = scandirat(s->top, path, &l.entries, is_no_dot, by_name);
    if (n < 0)
        l.error = errno;
    else
        l.count = (size_t)n;
    return l;
}

static void listing_done(struct listing *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->entries[i]);
    free(l->entries);
}

static bool differ_in_listing(const char *path, const struct listing *a, const struct listing *b,
                              struct difference *ret)
{
    if (a->error != b->error)
        return differ_in_errors(ret, path, a->error, b->error);
    for (size_t i = 0; i < a->count || i < b->count; i++) {
        const struct dirent *x = i < a->count ? a->entries[i] : NULL;
        const struct dirent *y = i < b->count ? b->entries[i] : NULL;
        if (!x || !y || strcmp(x->d_name, y->d_name) != 0)
            return differ(ret, "listing of %s: %s, %s", path, x ? x->d_name : "(its end)",
                          y ? y->d_name : "(its end)");
        if (x->d_type != y->d_type && y->d_type != DT_UNKNOWN)
            return differ(ret, "listing of %s: type of %s: %d, %d", path, x->d_name, x->d_type,
                          y->d_type);
    }
    return false;
}

static bool look_listing(struct side *a, struct side *b, const char *path, struct difference *ret)
{
    struct listing la = listing_of(a, path), lb = listing_of(b, path);
    bool found = differ_in_listing(path, &la, &lb, ret);
    listing_done(&la);
    listing_done(&lb);
    return found;
}

static bool look_parent(struct side *a, struct side *b, const char *path, struct difference *ret)
{
    char parent[PATH_SIZE];
    strcpy(parent, path);
    char *slash = strrchr(parent, '/');
    if (slash)
        *slash = 0;
    return look_listing(a, b, slash ? parent : ".", ret);
}

/* ---- the tree ---- */

enum { FILES_MAX = 4096 };
struct files { /* first names of files that have several */
    size_t count;
    ino_t ino_a[FILES_MAX], ino_b[FILES_MAX];
};

static bool look_identity(struct side *a, struct side *b, const char *path, struct files *seen,
                          struct difference *ret)
{
    struct stat st_a, st_b;
    if (fstatat(a->top, path, &st_a, AT_SYMLINK_NOFOLLOW) < 0 || st_a.st_nlink == 1 ||
        S_ISDIR(st_a.st_mode) || fstatat(b->top, path, &st_b, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    for (size_t i = 0; i < seen->count; i++)
        if ((seen->ino_a[i] == st_a.st_ino) != (seen->ino_b[i] == st_b.st_ino))
            return differ(ret, "%s and another name are one file on one side only", path);
    if (seen->count < FILES_MAX) {
        seen->ino_a[seen->count] = st_a.st_ino;
        seen->ino_b[seen->count++] = st_b.st_ino;
    }
    return false;
}

static bool look_below(struct side *a, struct side *b, const char *path, struct files *seen,
                       struct difference *ret)
{
    struct listing la = listing_of(a, path), lb = listing_of(b, path);
    bool found = differ_in_listing(path, &la, &lb, ret);
    for (size_t i = 0; i < la.count && !found; i++) {
        const struct dirent *e = la.entries[i];
        char child[PATH_SIZE * 16];
        if ((size_t)snprintf(child, sizeof(child), "%s/%s", path, e->d_name) >= sizeof(child))
            continue;
        found = look_path(a, b, child, AT_SYMLINK_NOFOLLOW, ret) ||
                look_identity(a, b, child, seen, ret);
        if (!found && e->d_type == DT_DIR)
            found = look_below(a, b, child, seen, ret);
        else if (!found && e->d_type == DT_REG)
            found = look_content(a, b, child, ret);
    }
    listing_done(&la);
    listing_done(&lb);
    return found;
}

bool look_tree(struct side *a, struct side *b, struct difference *ret)
{
    struct files *seen = calloc(1, sizeof(*seen));
    if (!seen)
        return differ(ret, "out of memory");
    bool found = look_below(a, b, ".", seen, ret);
    free(seen);
    for (int i = 0; i < SLOTS && !found; i++)
        found = look_slot(a, b, i, ret) || look_slot_content(a, b, i, ret);
    return found;
}

/* ---- after an operation ---- */

static bool look_names(struct side *a, struct side *b, const struct op *op, struct difference *ret)
{
    const char *paths[] = {op_has(op->kind, 'p') ? op->path : NULL,
                           op_has(op->kind, 't') && op->kind != OP_SYMLINK ? op->to : NULL};
    for (int i = 0; i < 2; i++)
        if (paths[i] && (look_path(a, b, paths[i], AT_SYMLINK_NOFOLLOW, ret) ||
                         look_path(a, b, paths[i], 0, ret) || look_parent(a, b, paths[i], ret)))
            return true;
    if (op->kind == OP_LIST && look_listing(a, b, op->path, ret))
        return true;
    return op_has(op->kind, 's') && look_slot(a, b, op->slot, ret);
}

static bool look_data(struct side *a, struct side *b, const struct op *op, struct difference *ret)
{
    if (op_has(op->kind, 'p') && look_content(a, b, op->path, ret))
        return true;
    if (op_has(op->kind, 't') && op->kind != OP_SYMLINK && look_content(a, b, op->to, ret))
        return true;
    return op_has(op->kind, 's') && look_slot_content(a, b, op->slot, ret);
}

bool look_after(struct side *a, struct side *b, const struct op *op, struct difference *ret)
{
    if ((op->kind == OP_UTIMENS || op->kind == OP_FUTIMENS) && look_atime(a, b, op, ret))
        return true;
    if (op->look & LOOK_NAMES && look_names(a, b, op, ret))
        return true;
    if (op->look & LOOK_DATA && look_data(a, b, op, ret))
        return true;
    return op->look & LOOK_TREE && look_tree(a, b, ret);
}
