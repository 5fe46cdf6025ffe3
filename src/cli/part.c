/*
 * Names of partial files. Where NAME is as long as a name can be, it is cut to make room for the
 * rest: the tag then stands for all of it.
 */
#include "cli/part.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/hash.h"

#define NAME_BYTES 255 /* of one name here; a share's 255 UTF-16 units are never fewer */
#define TAIL       sizeof ".0123456789abcdef.part" /* with the NUL */

static char *make_name(const char *to, uint64_t tag)
{
    const char *slash = strrchr(to, '/'), *name = slash ? slash + 1 : to;
    size_t dir = (size_t)(name - to), len = strlen(name);
    if (len > NAME_BYTES - (TAIL - 1))
        len = NAME_BYTES - (TAIL - 1);
    while (len && ((unsigned char)name[len] & 0xc0) == 0x80)
        len--; /* not within a character */
    char *part = malloc(dir + len + TAIL);
    if (!part)
        return NULL;
    memcpy(part, to, dir + len);
    snprintf(part + dir + len, TAIL, ".%016llx.part", (unsigned long long)tag);
    return part;
}

char *part_name(const char *to, const char *from, const struct larder_stat *like)
{
    const uint64_t facts[] = {like->size, (uint64_t)like->written.tv_sec,
                              (uint64_t)like->written.tv_nsec / 100};
    uint64_t tag = hash_bytes(facts, sizeof facts, 1);
    tag = hash_bytes(from, strlen(from), tag);
    return make_name(to, hash_bytes(to, strlen(to), tag));
}

char *part_name_once(const char *to)
{
    uint64_t tag;
    return getrandom(&tag, sizeof tag, 0) == sizeof tag ? make_name(to, tag) : NULL;
}
