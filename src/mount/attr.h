/* A server's attributes as the struct stat that programs see. */
#ifndef LARDER_MOUNT_ATTR_H
#define LARDER_MOUNT_ATTR_H

#include <stdint.h>
#include <sys/stat.h>

#include "base/fileattr.h"

/* What the server does not say: owner and permission bits, by mount option. */
struct attr_rules {
    uid_t uid;
    gid_t gid;
    mode_t file_mode, dir_mode;
};

void attr_to_stat(const struct attr_rules *rules, const struct file_attr *attr, uint64_t ino,
                  struct stat *ret);

#endif
