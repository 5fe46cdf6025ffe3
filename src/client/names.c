/*
 * A name's two forms: here, where it is UTF-8 and may hold anything but `/` and NUL, and on the
 * wire, where SMB reserves some characters.
 *
 * With name mapping, each reserved character travels as one of the private-use area, as Services
 * for Macintosh began it and as mount.cifs has it (`mapposix`, fs/smb/client/cifs_unicode.h):
 *
 *     01 - 1F -> F001 - F01F     " * : < > ? \ |  -> F020 - F027
 *     a space at the end of a name -> F028, a period there -> F029
 *
 * One unit becomes one unit, so lengths stay. The way back undoes exactly this: a private-use
 * character that the way out would not have made (F028 and F029 inside a name, or where `.` and
 * `..` would come of it) stays what it is, so that whatever name a server lists leads back to it.
 * No
 * `/` and no NUL ever comes of the mapping, since neither has a place in the table. A name that
 * holds a reserved character on the server itself (some store what they would not open) is shown as
 * it is and leads nowhere, as it does without mapping.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf.h"
#include "client/operation.h"

enum {
    PRIVATE_CONTROL = 0xf000, /* + 1 ... 0x1f */
    PRIVATE_RESERVED = 0xf020,
    PRIVATE_SPACE = 0xf028,
    PRIVATE_PERIOD = 0xf029,
};
static const char reserved[] = "\"*:<>?\\|"; /* in the order of their private-use characters */

static uint16_t unit_at(const uint8_t *utf16, size_t i)
{
    return (uint16_t)(utf16[2 * i] | utf16[2 * i + 1] << 8);
}

static void set_unit(uint8_t *utf16, size_t i, uint16_t unit)
{
    utf16[2 * i] = (uint8_t)unit;
    utf16[2 * i + 1] = (uint8_t)(unit >> 8);
}

/* `.` or `..` */
static bool is_dots(const uint8_t *utf16, size_t units)
{
    return (units == 1 || units == 2) && unit_at(utf16, 0) == '.' &&
           unit_at(utf16, units - 1) == '.';
}

/* ---- the mapping, of one name in place ---- */

static uint16_t unit_out(uint16_t unit, bool last)
{
    if (unit > 0 && unit < 0x20)
        return PRIVATE_CONTROL + unit;
    if (last && unit == ' ')
        return PRIVATE_SPACE;
    if (last && unit == '.')
        return PRIVATE_PERIOD;
    const char *place = unit && unit < 0x80 ? strchr(reserved, unit) : NULL;
    return place ? (uint16_t)(PRIVATE_RESERVED + (place - reserved)) : unit;
}

static uint16_t unit_in(uint16_t unit, bool last)
{
    if (unit > PRIVATE_CONTROL && unit < PRIVATE_RESERVED)
        return unit - PRIVATE_CONTROL;
    if (unit >= PRIVATE_RESERVED && unit < PRIVATE_SPACE)
        return (uint8_t)reserved[unit - PRIVATE_RESERVED];
    if (last && unit == PRIVATE_SPACE)
        return ' ';
    if (last && unit == PRIVATE_PERIOD)
        return '.';
    return unit;
}

static void map_out(uint8_t *utf16, size_t units)
{
    if (is_dots(utf16, units))
        return;
    for (size_t i = 0; i < units; i++)
        set_unit(utf16, i, unit_out(unit_at(utf16, i), i + 1 == units));
}

static void map_in(uint8_t *utf16, size_t units)
{
    if (is_dots(utf16, units))
        return;
    for (size_t i = 0; i < units; i++)
        set_unit(utf16, i, unit_in(unit_at(utf16, i), i + 1 == units));
    if (is_dots(utf16, units)) /* only the last unit can have been made a period */
        set_unit(utf16, units - 1, PRIVATE_PERIOD);
}

/* ---- paths ---- */

void names_to_wire(bool map, uint8_t *utf16, size_t bytes, size_t *ret_longest)
{
    size_t units = bytes / 2, start = 0;
    *ret_longest = 0;
    for (size_t i = 0; i <= units; i++) {
        if (i < units && unit_at(utf16, i) != '/')
            continue;
        if (map)
            map_out(utf16 + 2 * start, i - start);
        if (i < units)
            set_unit(utf16, i, '\\');
        if (2 * (i - start) > *ret_longest)
            *ret_longest = 2 * (i - start);
        start = i + 1;
    }
}

void names_from_wire(bool map, uint8_t *utf16, size_t bytes)
{
    size_t units = bytes / 2, start = 0;
    for (size_t i = 0; i <= units; i++) {
        if (i < units && unit_at(utf16, i) != '\\')
            continue;
        if (map)
            map_in(utf16 + 2 * start, i - start);
        if (i < units)
            set_unit(utf16, i, '/');
        start = i + 1;
    }
}

static int path_to_wire(const struct operation *op, const char *path, struct wire_path *ret)
{
    size_t len = strlen(path), longest;
    bool map = op->client->map_names;
    if (len > WIRE_PATH_MAX / 2 * 3)
        return operation_error(op, -ENAMETOOLONG, "the path is too long for SMB");
    if (!map && strchr(path, '\\'))
        return operation_error(op, op->makes_name ? -EINVAL : -ENOENT,
                               "a name cannot contain \\ on an SMB server");

    size_t cap = len * 2 < WIRE_PATH_MAX ? len * 2 : WIRE_PATH_MAX;
    ret->bytes = malloc(cap);
    if (!ret->bytes)
        return operation_error(op, -ENOMEM, "out of memory");
    int n = utf8_to_utf16(path, len, ret->bytes, cap);
    if (n == -ENAMETOOLONG)
        return operation_error(op, n, "the path is too long for SMB");
    if (n < 0)
        return operation_error(op, n, "the name is not valid UTF-8");
    names_to_wire(map, ret->bytes, (size_t)n, &longest);
    if (longest > WIRE_COMPONENT_MAX)
        return operation_error(op, -ENAMETOOLONG, "a name is longer than 255 UTF-16 units");
    ret->name = rd_init(ret->bytes, (size_t)n);
    return 0;
}

int wire_path_init(const struct operation *op, const char *path, struct wire_path *ret)
{
    *ret = (struct wire_path){.name = rd_init(NULL, 0)};
    return *path ? path_to_wire(op, path, ret) : 0;
}

int wire_pattern_init(const struct operation *op, const char *pattern, struct wire_path *ret)
{
    static const uint8_t all[] = {'*', 0};
    *ret = (struct wire_path){.name = rd_init(all, sizeof(all))};
    return strcmp(pattern, "*") == 0 ? 0 : wire_path_init(op, pattern, ret);
}

void wire_path_done(struct wire_path *p)
{
    free(p->bytes);
    *p = (struct wire_path){0};
}

/* ---- one name that a server gave ---- */

static bool can_be_a_name(const struct rd *utf16)
{
    size_t units = utf16->len / 2;
    if (units == 0 || utf16->len % 2 || utf16->len > WIRE_COMPONENT_MAX ||
        is_dots(utf16->base, units))
        return false;
    for (size_t i = 0; i < units; i++) {
        uint16_t unit = unit_at(utf16->base, i);
        if (unit == 0 || unit == '/' || unit == '\\')
            return false;
    }
    return true;
}

int name_from_wire(bool map, const struct rd *utf16, char ret[static CLIENT_NAME_MAX])
{
    uint8_t copy[WIRE_COMPONENT_MAX];
    if (!can_be_a_name(utf16))
        return -EINVAL;
    memcpy(copy, utf16->base, utf16->len);
    if (map)
        map_in(copy, utf16->len / 2);
    int n = utf16_to_utf8(copy, utf16->len, ret, CLIENT_NAME_MAX - 1);
    if (n >= 0)
        ret[n] = 0;
    return n;
}

bool name_is_dots(const struct rd *utf16, size_t dots)
{
    return utf16->len == 2 * dots && is_dots(utf16->base, dots);
}
