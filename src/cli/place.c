/*
 * Places: names, links, times and directories, here by the system's calls and on a share by the
 * library's. Times that a server keeps have 100 ns; those of this machine are cut to them before
 * they are compared.
 */
#include "cli/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/place_local.h"

int place_error(struct larder_error *err, const char *path, int code)
{
    *err = (struct larder_error){.code = code};
    int n = snprintf(err->text, sizeof err->text, "%.400s: %s", *path ? path : "an empty name",
                     strerror(-code));
    for (int i = 0; i < n && err->text[i]; i++)
        if ((unsigned char)err->text[i] < 0x20 || err->text[i] == 0x7f)
            err->text[i] = '?';
    return code;
}

static struct timespec to_100_ns(struct timespec t)
{
    return (struct timespec){.tv_sec = t.tv_sec, .tv_nsec = t.tv_nsec / 100 * 100};
}

void place_from_stat(const struct stat *st, struct larder_stat *ret)
{
    *ret = (struct larder_stat){.ino = st->st_ino,
                                .size = (uint64_t)st->st_size,
                                .allocated = (uint64_t)st->st_blocks * 512,
                                .links = (uint32_t)st->st_nlink,
                                .is_dir = S_ISDIR(st->st_mode),
                                .is_link = S_ISLNK(st->st_mode),
                                .accessed = to_100_ns(st->st_atim),
                                .written = to_100_ns(st->st_mtim),
                                .changed = to_100_ns(st->st_ctim)};
    if (!S_ISREG(st->st_mode) && !ret->is_dir && !ret->is_link)
        ret->attributes |= PLACE_DEVICE;
    if (!(st->st_mode & S_IWUSR))
        ret->attributes |= PLACE_READONLY;
}

int place_stat(const struct place *p, bool follow, struct larder_stat *ret,
               struct larder_error *err)
{
    struct stat st;
    if (p->l)
        return larder_stat(p->l, p->path, ret, err);
    if ((follow ? stat(p->path, &st) : lstat(p->path, &st)) < 0)
        return place_error(err, p->path, -errno);
    place_from_stat(&st, ret);
    return 0;
}

int place_mkdir(const struct place *p, struct larder_error *err)
{
    int r = p->l                       ? larder_mkdir(p->l, p->path, NULL, err)
            : mkdir(p->path, 0777) < 0 ? place_error(err, p->path, -errno)
                                       : 0;
    struct larder_stat st;
    struct larder_error ignored;
    if (r == -EEXIST && place_stat(p, false, &st, &ignored) == 0 && st.is_dir && !st.is_link)
        return 0;
    return r;
}

int place_remove(const struct place *p, bool is_dir, struct larder_error *err)
{
    if (p->l)
        return larder_remove(p->l, p->path, is_dir, err);
    if ((is_dir ? rmdir(p->path) : unlink(p->path)) < 0)
        return place_error(err, p->path, -errno);
    return 0;
}

int place_rename(const struct place *from, const char *to, struct larder_error *err)
{
    if (from->l)
        return larder_rename(from->l, from->path, to, true, err);
    return rename(from->path, to) < 0 ? place_error(err, to, -errno) : 0;
}

int place_may_replace(const struct place *p, struct larder_error *err)
{
    struct larder_stat st;
    struct larder_error ignored;
    if (p->l || place_stat(p, false, &st, &ignored) < 0 || !(st.attributes & PLACE_DEVICE))
        return 0;
    *err = (struct larder_error){.code = -EINVAL};
    snprintf(err->text, sizeof err->text,
             "%.400s: a device, pipe or socket, which no file replaces (`-` is standard output)",
             p->path);
    return -EINVAL;
}

int place_symlink(const struct place *p, const char *target, struct larder_error *err)
{
    if (p->l)
        return larder_symlink(p->l, target, p->path, NULL, err);
    return symlink(target, p->path) < 0 ? place_error(err, p->path, -errno) : 0;
}

int place_read_link(const struct place *p, char **ret, struct larder_error *err)
{
    char target[4097];
    if (p->l)
        return larder_read_link(p->l, p->path, ret, err);
    ssize_t n = readlink(p->path, target, sizeof target - 1);
    if (n < 0)
        return place_error(err, p->path, -errno);
    target[n] = 0;
    *ret = strdup(target);
    return *ret ? 0 : place_error(err, p->path, -ENOMEM);
}

void place_times_like(const struct larder_stat *like, struct larder_setattr *ret)
{
    *ret = (struct larder_setattr){.set = LARDER_SET_WRITTEN | LARDER_SET_ACCESSED,
                                   .written = like->written,
                                   .accessed = like->accessed};
    if (like->attributes & PLACE_READONLY)
        ret->attributes_on = PLACE_READONLY;
}

int place_set_times(const struct place *p, const struct larder_stat *like, struct larder_error *err)
{
    struct larder_setattr change;
    place_times_like(like, &change);
    if (like->is_dir)
        change.attributes_on = 0; /* says nothing about a directory */
    if (p->l)
        return larder_setattr(p->l, p->path, &change, NULL, err);
    const struct timespec times[2] = {like->accessed, like->written};
    return utimensat(AT_FDCWD, p->path, times, AT_SYMLINK_NOFOLLOW) < 0
               ? place_error(err, p->path, -errno)
               : 0;
}

bool place_lost(const struct place *p)
{
    return p->l && larder_lost(p->l, NULL);
}

/* ---- directories ---- */

struct entry {
    char *name;   /* in the listing of a share: the library's */
    size_t index; /* there */
};

struct place_list {
    struct larder_dir *remote; /* NULL for one here */
    struct larder *l;
    char *path; /* of the directory on a share */
    int fd;     /* the directory here, -1 for one on a share */
    struct entry *entry;
    size_t count;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

static int fill_remote(struct place_list *list, const struct place *p, struct larder_error *err)
{
    int r = larder_list(p->l, p->path, &list->remote, err);
    if (r < 0)
        return r;
    size_t count = larder_dir_count(list->remote);
    list->l = p->l;
    list->path = strdup(p->path);
    list->entry = calloc(count ? count : 1, sizeof *list->entry);
    if (!list->entry || !list->path)
        return place_error(err, p->path, -ENOMEM);
    for (; list->count < count; list->count++)
        list->entry[list->count] =
            (struct entry){(char *)larder_dir_entry(list->remote, list->count, NULL), list->count};
    return 0;
}

static int add_local(struct place_list *list, const char *name)
{
    if ((list->count & (list->count - 1)) == 0) { /* full at every power of two */
        size_t cap = list->count ? 2 * list->count : 1;
        struct entry *more = realloc(list->entry, cap * sizeof *more);
        if (!more)
            return -ENOMEM;
        list->entry = more;
    }
    char *copy = strdup(name);
    if (!copy)
        return -ENOMEM;
    list->entry[list->count++] = (struct entry){.name = copy};
    return 0;
}

static int fill_local(struct place_list *list, const struct place *p, struct larder_error *err)
{
    list->fd = open(p->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int copy = list->fd < 0 ? -1 : openat(list->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    if (!dir) {
        int code = -errno;
        if (copy >= 0)
            close(copy);
        return place_error(err, p->path, code);
    }
    int r = 0;
    while (r == 0) {
        errno = 0;
        struct dirent *e = readdir(dir);
        if (!e)
            break;
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            r = add_local(list, e->d_name);
    }
    if (r == 0 && errno)
        r = -errno;
    closedir(dir);
    return r < 0 ? place_error(err, p->path, r) : 0;
}

int place_list_open(const struct place *p, struct place_list **ret, struct larder_error *err)
{
    struct place_list *list = malloc(sizeof *list);
    if (!list)
        return place_error(err, p->path, -ENOMEM);
    *list = (struct place_list){.fd = -1};
    int r = p->l ? fill_remote(list, p, err) : fill_local(list, p, err);
    if (r < 0) {
        place_list_close(list);
        return r;
    }
    if (list->count)
        qsort(list->entry, list->count, sizeof *list->entry, by_name);
    *ret = list;
    return 0;
}

size_t place_list_count(const struct place_list *list)
{
    return list->count;
}

const char *place_list_name(const struct place_list *list, size_t i)
{
    return list->entry[i].name;
}

/* With the option mfsymlinks a file of this size may be a link, which its look-up tells and a
 * listing does not. Without it the look-up is answered from the listing. */
#define MF_LINK_SIZE 1067

static int look_closer(const struct place_list *list, size_t i, struct larder_stat *ret,
                       struct larder_error *err)
{
    char *path;
    if (asprintf(&path, "%s%s%s", list->path, *list->path ? "/" : "", list->entry[i].name) < 0)
        return place_error(err, list->path, -ENOMEM);
    int r = larder_stat(list->l, path, ret, err);
    free(path);
    return r;
}

int place_list_stat(struct place_list *list, size_t i, bool follow, struct larder_stat *ret,
                    struct larder_error *err)
{
    struct stat st;
    if (list->remote) {
        larder_dir_entry(list->remote, list->entry[i].index, ret);
        return ret->is_dir || ret->size != MF_LINK_SIZE ? 0 : look_closer(list, i, ret, err);
    }
    if (fstatat(list->fd, list->entry[i].name, &st, follow ? 0 : AT_SYMLINK_NOFOLLOW) < 0)
        return place_error(err, list->entry[i].name, -errno);
    place_from_stat(&st, ret);
    return 0;
}

struct place_list *place_list_close(struct place_list *list)
{
    if (!list)
        return NULL;
    if (list->remote)
        larder_dir_close(list->remote);
    else
        for (size_t i = 0; i < list->count; i++)
            free(list->entry[i].name);
    if (list->fd >= 0)
        close(list->fd);
    free(list->path);
    free(list->entry);
    free(list);
    return NULL;
}
