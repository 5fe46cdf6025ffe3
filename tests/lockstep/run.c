/*
 * A list of operations on both trees, in step: the local side first, then the other, then the two
 * are compared. The first difference ends it, since whatever comes after follows from it.
 *
 * At the end everything is closed, which must leave equal trees, and removed, which must leave
 * nothing: a hidden name that stayed behind would be in the way.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lockstep/agree.h"
#include "lockstep/run.h"

/* ---- directories ---- */

static int remove_below(int dir);

static int remove_one(int dir, const char *name)
{
    if (unlinkat(dir, name, 0) == 0)
        return 0;
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (fd < 0)
        return -errno;
    int r = remove_below(fd);
    close(fd);
    return r == 0 && unlinkat(dir, name, AT_REMOVEDIR) < 0 ? -errno : r;
}

static int remove_below(int dir)
{
    struct dirent **entries;
    int n = scandirat(dir, ".", &entries, NULL, NULL), r = n < 0 ? -errno : 0;
    for (int i = 0; i < n; i++) {
        bool dots = !strcmp(entries[i]->d_name, ".") || !strcmp(entries[i]->d_name, "..");
        if (r == 0 && !dots)
            r = remove_one(dir, entries[i]->d_name);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    return r;
}

static int enter(const char *dir, unsigned number, int *ret)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/run-%u", dir, number);
    if (mkdir(path, 0755) < 0)
        return -errno;
    *ret = open(path, O_RDONLY | O_DIRECTORY);
    return *ret < 0 ? -errno : 0;
}

static int leave(const char *dir, unsigned number)
{
    char name[40];
    int top = open(dir, O_RDONLY | O_DIRECTORY);
    snprintf(name, sizeof(name), "run-%u", number);
    int r = top < 0 ? -errno : remove_one(top, name);
    if (top >= 0)
        close(top);
    return r;
}

/* ---- running ---- */

/* Whether it is about a descriptor that is not there. */
static bool is_nothing(const struct side *s, const struct op *op)
{
    if (op_has(op->kind, 'r') && s->slot[op->from] < 0)
        return true;
    return op->kind != OP_OPEN && op_has(op->kind, 's') && s->slot[op->slot] < 0;
}

static bool step(struct bench *bench, struct side *side, const struct op *op,
                 struct difference *ret)
{
    if (is_nothing(&side[0], op))
        return false;
    if (agree_not(&side[0], op)) {
        bench->left_out++;
        return false;
    }
    bench->done++;
    struct result a = side_do(&side[0], op), b = side_do(&side[1], op);
    return look_result(&side[0], &side[1], op, &a, &b, ret) ||
           look_after(&side[0], &side[1], op, ret);
}

/* Closing what is open is a part of the run too. */
static bool last_step(struct bench *bench, struct side *side, struct difference *ret)
{
    for (int i = 0; i < SLOTS; i++)
        if (step(bench, side, &(struct op){.kind = OP_CLOSE, .slot = i}, ret))
            return true;
    return look_tree(&side[0], &side[1], ret);
}

static long run_in(struct bench *bench, struct side *side, const struct op *ops, size_t count,
                   struct difference *ret)
{
    for (size_t i = 0; i < count; i++) {
        alarm(60); /* what hangs is a difference too: main() tells it */
        if (step(bench, side, &ops[i], ret))
            return (long)i;
    }
    return last_step(bench, side, ret) ? (long)count - 1 : RUN_SAME;
}

long run_ops(struct bench *bench, const struct op *ops, size_t count, struct difference *ret)
{
    struct side side[2];
    int top[2] = {-1, -1}, r = 0;
    unsigned number = bench->runs++;
    for (int i = 0; i < 2 && r == 0; i++)
        if ((r = enter(bench->dir[i], number, &top[i])) < 0)
            snprintf(ret->text, sizeof(ret->text), "%s: %s", bench->dir[i], strerror(-r));
    if (r < 0)
        return RUN_FAILED;
    if (side_init(&side[0], "local", top[0]) < 0 || side_init(&side[1], "mount", top[1]) < 0)
        return RUN_FAILED;
    side[1].fault = bench->fault;
    long at = run_in(bench, side, ops, count, ret);
    side_done(&side[0]);
    side_done(&side[1]);
    for (int i = 0; i < 2; i++)
        if ((r = leave(bench->dir[i], number)) < 0 && at == RUN_SAME) {
            snprintf(ret->text, sizeof(ret->text), "%s/run-%u cannot be removed: %s", bench->dir[i],
                     number, strerror(-r));
            at = (long)count - 1;
        }
    return at;
}
