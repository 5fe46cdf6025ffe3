/* See procs.h. */
#include "mount/procs.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"

#define YOUNG       (10 * NS_PER_SEC) /* for so long it may be about to make its first descriptor */
#define OLD_USED    (2 * NS_PER_SEC)  /* from one look at an old one to the next, */
#define OLD_UNUSED  (15 * NS_PER_SEC) /* or where nobody uses the file system */
#define WATCHED_MAX 65536             /* nodes in one round */

struct proc {
    int pid;
    bool watches;             /* has an inotify descriptor */
    uint64_t born, looked_at; /* first seen; 0: not yet */
};

struct procs {
    struct proc *all; /* by ascending pid, as /proc lists them */
    size_t count;
    char last_born[32];
    uint64_t *nodes;
    size_t node_count, node_cap;
};

struct procs *procs_new(void)
{
    return calloc(1, sizeof(struct procs));
}

struct procs *procs_free(struct procs *p)
{
    if (p) {
        free(p->all);
        free(p->nodes);
    }
    free(p);
    return NULL;
}

/* ---- one descriptor ---- */

static void add_node(struct procs *p, uint64_t node)
{
    if (p->node_count == p->node_cap) {
        size_t cap = p->node_cap ? p->node_cap * 2 : 64;
        uint64_t *wider = cap <= WATCHED_MAX ? realloc(p->nodes, cap * sizeof(*wider)) : NULL;
        if (!wider)
            return;
        p->nodes = wider;
        p->node_cap = cap;
    }
    p->nodes[p->node_count++] = node;
}

/* FUSE's file handle: the node number's upper and lower half, and a generation, each in the
 * machine's byte order. */
static bool parse_handle(const char *hex, uint64_t *ret_node)
{
    uint32_t half[2];
    uint8_t bytes[sizeof(half)];
    for (size_t i = 0; i < sizeof(bytes); i++) {
        unsigned byte;
        if (!isxdigit((unsigned char)hex[2 * i]) || sscanf(hex + 2 * i, "%2x", &byte) != 1)
            return false;
        bytes[i] = (uint8_t)byte;
    }
    memcpy(half, bytes, sizeof(half));
    *ret_node = (uint64_t)half[0] << 32 | half[1];
    return true;
}

/* "inotify wd:1 ino:2 sdev:28 mask:3c6 ... f_handle:0000000001000000..." */
static void parse_line(struct procs *p, const char *line, const unsigned device[2])
{
    unsigned sdev;
    uint64_t node;
    const char *at = strstr(line, " sdev:"), *handle = strstr(line, " f_handle:");
    if (strncmp(line, "inotify ", 8) != 0 || !at || !handle || sscanf(at, " sdev:%x", &sdev) != 1)
        return;
    if (sdev >> 20 == device[0] && (sdev & 0xfffff) == device[1] &&
        parse_handle(handle + strlen(" f_handle:"), &node))
        add_node(p, node);
}

static void read_watches(struct procs *p, int pid, const char *fd, const unsigned device[2])
{
    char path[64], line[512];
    snprintf(path, sizeof(path), "/proc/%d/fdinfo/%.16s", pid, fd);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f))
        parse_line(p, line, device);
    if (f)
        fclose(f);
}

/* ---- one process ---- */

static bool is_inotify(int dir, const char *fd)
{
    static const char name[] = "anon_inode:inotify";
    char target[sizeof(name) + 1];
    ssize_t n = readlinkat(dir, fd, target, sizeof(target));
    return n == (ssize_t)sizeof(name) - 1 && memcmp(target, name, sizeof(name) - 1) == 0;
}

/* One that may not be looked at watches nothing that would be found out. */
static void look_at(struct procs *p, struct proc *proc, const unsigned device[2], uint64_t now)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/%d/fd", proc->pid);
    DIR *fds = opendir(path);
    struct dirent *fd;
    proc->watches = false;
    while (fds && (fd = readdir(fds))) {
        if (!isdigit((unsigned char)fd->d_name[0]) || !is_inotify(dirfd(fds), fd->d_name))
            continue;
        proc->watches = true;
        read_watches(p, proc->pid, fd->d_name, device);
    }
    if (fds)
        closedir(fds);
    proc->looked_at = now;
}

/* ---- all of them ---- */

/* Whether the number that was given out last is another one. */
static bool any_born(struct procs *p)
{
    char line[128], last[sizeof(p->last_born)] = "";
    FILE *f = fopen("/proc/loadavg", "re");
    bool known =
        f && fgets(line, sizeof(line), f) && sscanf(line, "%*s %*s %*s %*s %31s", last) == 1;
    if (f)
        fclose(f);
    bool same = known && strcmp(last, p->last_born) == 0;
    memcpy(p->last_born, last, sizeof(last));
    return !same;
}

static void list_procs(struct procs *p, uint64_t now)
{
    DIR *dir = opendir("/proc");
    struct dirent *entry;
    size_t count = 0, cap = p->count + 64, old = 0;
    struct proc *all = dir ? malloc(cap * sizeof(*all)) : NULL;
    while (all && (entry = readdir(dir))) {
        int pid = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : 0;
        if (pid <= 0)
            continue;
        if (count == cap) {
            struct proc *wider = realloc(all, (cap *= 2) * sizeof(*all));
            if (!wider)
                break;
            all = wider;
        }
        while (old < p->count && p->all[old].pid < pid)
            old++;
        bool known = old < p->count && p->all[old].pid == pid;
        all[count++] = known ? p->all[old] : (struct proc){.pid = pid, .born = now};
    }
    if (dir)
        closedir(dir);
    if (!all)
        return;
    free(p->all);
    p->all = all;
    p->count = count;
}

static bool is_due(const struct proc *proc, bool used, uint64_t now)
{
    bool always = proc->watches || proc->looked_at == 0 || now - proc->born < YOUNG;
    return always || now - proc->looked_at >= (used ? OLD_USED : OLD_UNUSED);
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

size_t procs_watched(struct procs *p, const unsigned device[2], bool used, uint64_t now,
                     const uint64_t **ret)
{
    p->node_count = 0;
    if (any_born(p))
        list_procs(p, now);
    for (size_t i = 0; i < p->count; i++)
        if (is_due(&p->all[i], used, now))
            look_at(p, &p->all[i], device, now);

    if (p->node_count)
        qsort(p->nodes, p->node_count, sizeof(*p->nodes), by_number);
    size_t unique = 0;
    for (size_t i = 0; i < p->node_count; i++)
        if (unique == 0 || p->nodes[unique - 1] != p->nodes[i])
            p->nodes[unique++] = p->nodes[i];
    p->node_count = unique;
    *ret = p->nodes;
    return unique;
}
