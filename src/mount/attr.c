/*
 * struct stat from a server's attributes.
 *
 * A share has no Unix owner and mode: those come from the mount's options, as with mount.cifs. Of
 * the DOS attributes only READONLY has a counterpart, and only for files: on a directory Windows
 * gives it another meaning. Directories get one link, which tells tree walkers not to derive the
 * number of subdirectories from it. A symbolic link may be a directory for the server; it is a link
 * here. Numbers are bounded, since a server may send any 64 bits.
 */
#include "mount/attr.h"

#include "base/clock.h"

/* What programs take as the best size of a read: large enough that a reader by buffers makes few
 * calls, small enough for one buffer per open file. */
#define BLOCK_SIZE 65536

static struct timespec time_or(uint64_t filetime, uint64_t fallback)
{
    if (filetime == 0)
        filetime = fallback;
    if (filetime == 0)
        return (struct timespec){0}; /* 1970 rather than 1601: no time at all was given */
    return filetime_to_timespec(filetime);
}

void attr_to_stat(const struct attr_rules *rules, const struct file_attr *attr, bool is_link,
                  uint64_t ino, struct stat *ret)
{
    uint64_t size = attr->size > INT64_MAX ? INT64_MAX : attr->size;
    uint64_t allocated = attr->allocated > INT64_MAX ? INT64_MAX : attr->allocated;

    *ret = (struct stat){
        .st_ino = ino,
        .st_nlink = 1,
        .st_uid = rules->uid,
        .st_gid = rules->gid,
        .st_size = (off_t)size,
        .st_blksize = BLOCK_SIZE,
        .st_blocks = (blkcnt_t)((allocated + 511) / 512),
        .st_atim = time_or(attr->accessed, attr->written),
        .st_mtim = time_or(attr->written, 0),
        .st_ctim = time_or(attr->changed, attr->written),
    };
    if (is_link) {
        ret->st_mode = S_IFLNK | 0777;
        return;
    }
    if (file_attr_is_dir(attr)) {
        ret->st_mode = S_IFDIR | rules->dir_mode;
        return;
    }
    ret->st_mode = S_IFREG | rules->file_mode;
    if (attr->attributes & FILE_ATTRIBUTE_READONLY)
        ret->st_mode &= ~(mode_t)0222;
    if (attr->links || attr->unlinked)
        ret->st_nlink = attr->links;
}

mode_t attr_type(const struct file_attr *attr, bool mfsymlinks)
{
    if (attr->attributes & FILE_ATTRIBUTE_REPARSE_POINT)
        return 0;
    if (file_attr_is_dir(attr))
        return S_IFDIR;
    return mfsymlinks && attr->size == ATTR_MFSYMLINK_SIZE ? 0 : S_IFREG;
}

#define SECONDS_MIN (-11644473600) /* 1601-01-01 */
#define SECONDS_MAX 910692730085   /* the last one that INT64_MAX ticks reach */

uint64_t attr_filetime(struct timespec t)
{
    if (t.tv_sec < SECONDS_MIN)
        return 1;
    if (t.tv_sec >= SECONDS_MAX)
        return INT64_MAX;
    uint64_t ticks = timespec_to_filetime(t);
    return ticks ? ticks : 1;
}
