/* What a server says about one file: the common coin of client/, cache/, share/ and mount/. */
#ifndef LARDER_BASE_FILEATTR_H
#define LARDER_BASE_FILEATTR_H

#include <stdbool.h>
#include <stdint.h>

/* FileAttributes (MS-FSCC 2.6). */
enum {
    FILE_ATTRIBUTE_READONLY = 0x0001,
    FILE_ATTRIBUTE_HIDDEN = 0x0002,
    FILE_ATTRIBUTE_SYSTEM = 0x0004,
    FILE_ATTRIBUTE_DIRECTORY = 0x0010,
    FILE_ATTRIBUTE_ARCHIVE = 0x0020,
    FILE_ATTRIBUTE_NORMAL = 0x0080,
    FILE_ATTRIBUTE_REPARSE_POINT = 0x0400,
};

/* Times are FILETIMEs: 100 ns since 1601-01-01 UTC, as the server's clock has them. */
struct file_attr {
    uint64_t id;          /* 64-bit file id; 0: the server gave none */
    uint32_t attributes;  /* FILE_ATTRIBUTE_... */
    uint32_t reparse_tag; /* 0 unless FILE_ATTRIBUTE_REPARSE_POINT and the source tells it */
    uint32_t links;       /* number of hard links; 0: the source does not tell (a listing) */
    bool unlinked;        /* it has lost its last name and lives on while it is open */
    uint64_t size;        /* bytes */
    uint64_t allocated;   /* bytes */
    uint64_t created;
    uint64_t accessed;
    uint64_t written;
    uint64_t changed;
};

static inline bool file_attr_is_dir(const struct file_attr *a)
{
    return a->attributes & FILE_ATTRIBUTE_DIRECTORY;
}

#endif
