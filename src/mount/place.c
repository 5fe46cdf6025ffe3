/*
 * The kernel's table of mounts, /proc/self/mountinfo (proc(5)):
 *
 *     36 35 0:52 / /mnt/my\040share rw,nosuid - fuse.larder //srv/share
 * rw,user_id=1000,group_id=1000 id parent device root mount-point options [optional ...] - type
 * source super-options
 *
 * Later lines lie on top of earlier ones with the same mount point.
 */
#include "mount/place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int place_canonical(const char *path, char ret[static PATH_MAX])
{
    char copy[PATH_MAX], parent[PATH_MAX];
    size_t len = strlen(path);
    if (len == 0)
        return -ENOENT;
    if (len >= sizeof(copy))
        return -ENAMETOOLONG;
    memcpy(copy, path, len + 1);
    while (len > 1 && copy[len - 1] == '/')
        copy[--len] = '\0';

    char *slash = strrchr(copy, '/');
    const char *last = slash ? slash + 1 : copy;
    if (!*last || strcmp(last, ".") == 0 || strcmp(last, "..") == 0)
        return realpath(copy, ret) ? 0 : -errno;

    const char *dir = ".";
    if (slash == copy) {
        dir = "/";
    } else if (slash) {
        *slash = '\0';
        dir = copy;
    }
    if (!realpath(dir, parent))
        return -errno;
    int n = snprintf(ret, PATH_MAX, "%s/%s", strcmp(parent, "/") == 0 ? "" : parent, last);
    if (n >= PATH_MAX)
        return -ENAMETOOLONG;
    /* readlink, unlike stat, asks nothing of a file system that may be dead or hung */
    char target[1];
    if (readlink(ret, target, sizeof(target)) < 0)
        return 0;
    memcpy(copy, ret, (size_t)n + 1);
    return realpath(copy, ret) ? 0 : -errno;
}

/* Decodes \ooo in place. */
static void unescape(char *s)
{
    char *out = s;
    for (; *s; s++) {
        if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' &&
            s[3] >= '0' && s[3] <= '7') {
            *out++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
            s += 3;
        } else {
            *out++ = *s;
        }
    }
    *out = '\0';
}

/* One line of the table; cuts it up. False: not of the form above. */
static bool parse_line(char *line, struct place *ret)
{
    char *save, *field[6];
    for (size_t i = 0; i < 6; i++) {
        field[i] = strtok_r(i ? NULL : line, " \n", &save);
        if (!field[i])
            return false;
    }
    char *optional;
    do {
        optional = strtok_r(NULL, " \n", &save);
        if (!optional)
            return false;
    } while (strcmp(optional, "-") != 0);
    char *type = strtok_r(NULL, " \n", &save);
    char *source = strtok_r(NULL, " \n", &save);
    char *super = strtok_r(NULL, " \n", &save);
    if (!type || !source || !super)
        return false;
    if (sscanf(field[2], "%u:%u", &ret->device[0], &ret->device[1]) != 2)
        return false;

    unescape(field[4]);
    const char *owner = strstr(super, "user_id=");
    ret->owner = owner ? (uid_t)strtoul(owner + strlen("user_id="), NULL, 10) : 0;
    return snprintf(ret->path, sizeof(ret->path), "%s", field[4]) < (int)sizeof(ret->path) &&
           snprintf(ret->type, sizeof(ret->type), "%s", type) < (int)sizeof(ret->type);
}

int place_find_exact(const char *canonical, struct place *ret)
{
    FILE *table = fopen("/proc/self/mountinfo", "re");
    if (!table)
        return -errno;

    char *line = NULL;
    size_t cap = 0;
    struct place at;
    int rc = -ENOENT;
    while (getline(&line, &cap, table) > 0) {
        if (parse_line(line, &at) && strcmp(at.path, canonical) == 0) {
            *ret = at;
            rc = 0;
        }
    }
    if (ferror(table))
        rc = -EIO;
    free(line);
    fclose(table);
    return rc;
}

int place_find(const char *path, struct place *ret)
{
    char canonical[PATH_MAX];
    int rc = place_canonical(path, canonical);
    return rc < 0 ? rc : place_find_exact(canonical, ret);
}

struct mounted {
    unsigned id, parent;
    bool ours;
};

/* Those of the table; NULL: it cannot be read. */
static struct mounted *read_table(const unsigned device[2], size_t *ret_count)
{
    FILE *table = fopen("/proc/self/mountinfo", "re");
    struct mounted *all = NULL;
    size_t count = 0, room = 0, cap = 0;
    char *line = NULL;
    bool bad = !table;
    while (!bad && getline(&line, &cap, table) > 0) {
        unsigned major, minor;
        if (count == room) {
            room = room ? room * 2 : 64;
            struct mounted *wider = realloc(all, room * sizeof(*all));
            bad = !wider;
            all = wider ? wider : all;
        }
        bad = bad ||
              sscanf(line, "%u %u %u:%u", &all[count].id, &all[count].parent, &major, &minor) != 4;
        if (!bad)
            all[count++].ours = major == device[0] && minor == device[1];
    }
    bad = bad || ferror(table);
    free(line);
    if (table)
        fclose(table);
    if (bad) {
        free(all);
        return NULL;
    }
    *ret_count = count;
    return all;
}

bool place_is_above(const unsigned device[2])
{
    size_t count;
    struct mounted *all = read_table(device, &count);
    if (!all)
        return true;
    bool is = false;
    for (size_t above = 0; above < count && !is; above++)
        for (size_t i = 0; all[above].ours && i < count && !is; i++)
            is = all[i].parent == all[above].id && i != above;
    free(all);
    return is;
}

int place_find_larder(const char *path, struct place *ret, struct error *err)
{
    struct place at;
    char rest[PATH_MAX];
    /* what lies beneath a mount is not looked at: that would ask its server */
    bool beneath = place_on_larder(path, &at, rest, NULL) == 0 && *rest;
    int rc = beneath ? -ENOENT : place_find(path, &at);
    if (rc == 0 && strcmp(at.type, MOUNT_FS_TYPE) != 0)
        return error_set(err, -EINVAL, 0, "%s is not a mount of larder, but of type %s", path,
                         at.type);
    if (rc == -ENOENT)
        return error_set(err, rc, 0, "%s is not a mount of larder: nothing is mounted there", path);
    if (rc < 0)
        return error_set(err, rc, 0, "%s: %s", path, strerror(-rc));
    *ret = at;
    return 0;
}
