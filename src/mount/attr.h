/* A server's attributes as the struct stat that programs see, and what they change of it. */
#ifndef LARDER_MOUNT_ATTR_H
#define LARDER_MOUNT_ATTR_H

#include <stdint.h>
#include <sys/stat.h>

#include "share/share.h"

/* What the server does not say: owner and permission bits, by mount option. */
struct attr_rules {
    uid_t uid;
    gid_t gid;
    mode_t file_mode, dir_mode;
};

void attr_to_stat(const struct attr_rules *rules, const struct file_attr *attr, bool is_link,
                  uint64_t ino, struct stat *ret);

/* S_IFMT bits for a directory entry; 0 where only a look-up can tell: it may be a symbolic link.
 * Those that are files of their own (`mfsymlinks`) all have the same size. */
mode_t attr_type(const struct file_attr *attr, bool mfsymlinks);
#define ATTR_MFSYMLINK_SIZE 1067

/* A time of a program as a FILETIME that SMB takes for one: not 0, which would mean "stays", and
 * none of its other special values. */
uint64_t attr_filetime(struct timespec t);

#endif
