/*
 * The written form of an operation: its name and its members, each `name=value`, in the order of
 * one table that printing and parsing share. Numbers are decimal, modes octal; flags are names with
 * `+` between them; in paths what is not printable, and blank and `%`, is %XX.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "lockstep/op.h"

static const struct {
    const char *name, *members;
} kinds[OP_KINDS] = {
    [OP_OPEN] = {"open", "spfm"},       [OP_CLOSE] = {"close", "s"},
    [OP_PWRITE] = {"pwrite", "sald"},   [OP_WRITE] = {"write", "sld"},
    [OP_PREAD] = {"pread", "sal"},      [OP_FTRUNCATE] = {"ftruncate", "sa"},
    [OP_TRUNCATE] = {"truncate", "pa"}, [OP_FSYNC] = {"fsync", "s"},
    [OP_MMAP] = {"mmap", "sfald"},      [OP_FALLOCATE] = {"fallocate", "sfal"},
    [OP_COPY] = {"copy", "rsabl"},      [OP_PUT] = {"put", "pld"},
    [OP_MKNOD] = {"mknod", "pm"},       [OP_UNLINK] = {"unlink", "p"},
    [OP_MKDIR] = {"mkdir", "p"},        [OP_RMDIR] = {"rmdir", "p"},
    [OP_RENAME] = {"rename", "ptf"},    [OP_LINK] = {"link", "pt"},
    [OP_SYMLINK] = {"symlink", "pt"},   [OP_READLINK] = {"readlink", "p"},
    [OP_CHMOD] = {"chmod", "pm"},       [OP_FCHMOD] = {"fchmod", "sm"},
    [OP_UTIMENS] = {"utimens", "pxy"},  [OP_FUTIMENS] = {"futimens", "sxy"},
    [OP_LIST] = {"list", "p"},
};

struct flag {
    unsigned value;
    const char *name;
};
static const struct flag open_flags[] = {
    {O_WRONLY, "wronly"}, {O_RDWR, "rdwr"},     {O_CREAT, "creat"}, {O_EXCL, "excl"},
    {O_TRUNC, "trunc"},   {O_APPEND, "append"}, {0, NULL},
};
static const struct flag mmap_flags[] = {{MMAP_SYNC, "sync"}, {MMAP_STORE, "store"}, {0, NULL}};
static const struct flag allocate_flags[] = {
    {FALLOC_FL_KEEP_SIZE, "keep_size"}, {FALLOC_FL_PUNCH_HOLE, "punch_hole"}, {0, NULL}};
static const struct flag rename_flags[] = {{1 /* RENAME_NOREPLACE */, "noreplace"}, {0, NULL}};
static const struct flag look_flags[] = {
    {LOOK_NAMES, "names"}, {LOOK_DATA, "data"}, {LOOK_TREE, "tree"}, {0, NULL}};

enum form { PATH, NUMBER, LONG, WORD, OCTAL, FLAGS };
static const struct member {
    char letter;
    const char *name;
    enum form form;
    size_t offset;
} members[] = {
    {'s', "slot", NUMBER, offsetof(struct op, slot)},
    {'r', "from", NUMBER, offsetof(struct op, from)},
    {'p', "path", PATH, offsetof(struct op, path)},
    {'t', "to", PATH, offsetof(struct op, to)},
    {'f', "flags", FLAGS, offsetof(struct op, flags)},
    {'m', "mode", OCTAL, offsetof(struct op, mode)},
    {'a', "at", LONG, offsetof(struct op, at)},
    {'b', "to_at", LONG, offsetof(struct op, to_at)},
    {'l', "len", WORD, offsetof(struct op, len)},
    {'d', "data", WORD, offsetof(struct op, data)},
    {'x', "atime", LONG, offsetof(struct op, atime)},
    {'y', "mtime", LONG, offsetof(struct op, mtime)},
    {'k', "look", FLAGS, offsetof(struct op, look)},
};
enum { MEMBERS = sizeof(members) / sizeof(*members) };

const char *op_name(enum op_kind kind)
{
    return kinds[kind].name;
}

int op_kind_of(const char *name, enum op_kind *ret)
{
    for (int k = 0; k < OP_KINDS; k++)
        if (strcmp(kinds[k].name, name) == 0) {
            *ret = (enum op_kind)k;
            return 0;
        }
    return -EINVAL;
}

bool op_has(enum op_kind kind, char member)
{
    return member == 'k' || strchr(kinds[kind].members, member);
}

static const struct flag *flags_of(enum op_kind kind, char letter)
{
    if (letter == 'k')
        return look_flags;
    switch (kind) {
    case OP_OPEN:
        return open_flags;
    case OP_MMAP:
        return mmap_flags;
    case OP_FALLOCATE:
        return allocate_flags;
    default:
        return rename_flags;
    }
}

/* ---- printing ---- */

static int print_path(char *out, const char *path)
{
    int n = 0;
    for (const unsigned char *c = (const unsigned char *)path; *c; c++)
        n += sprintf(out + n, isgraph(*c) && *c != '%' ? "%c" : "%%%02x", *c);
    out[n] = 0;
    return n;
}

static int print_flags(char *out, const struct flag *names, unsigned flags)
{
    int n = 0;
    for (; names->name; names++)
        if (flags & names->value)
            n += sprintf(out + n, n ? "+%s" : "%s", names->name);
    out[n] = 0;
    return n;
}

static int print_member(char *out, const struct op *op, const struct member *m)
{
    const void *at = (const char *)op + m->offset;
    int n = sprintf(out, " %s=", m->name);
    switch (m->form) {
    case PATH:
        return n + print_path(out + n, at);
    case NUMBER:
        return n + sprintf(out + n, "%d", *(const int *)at);
    case LONG:
        return n + sprintf(out + n, "%lld", *(const long long *)at);
    case WORD:
        return n + sprintf(out + n, "%u", *(const unsigned *)at);
    case OCTAL:
        return n + sprintf(out + n, "%04o", *(const unsigned *)at);
    case FLAGS:
        return n + print_flags(out + n, flags_of(op->kind, m->letter), *(const unsigned *)at);
    }
    return n;
}

void op_print(const struct op *op, char ret[static LINE_SIZE])
{
    int n = sprintf(ret, "%s", kinds[op->kind].name);
    for (int i = 0; i < MEMBERS; i++)
        if (op_has(op->kind, members[i].letter))
            n += print_member(ret + n, op, &members[i]);
}

/* ---- parsing ---- */

static int parse_path(const char *value, char ret[static PATH_SIZE])
{
    size_t n = 0;
    for (; *value && n + 1 < PATH_SIZE; n++) {
        unsigned c = (unsigned char)*value++;
        if (c == '%' && sscanf(value, "%2x", &c) == 1)
            value += 2;
        ret[n] = (char)c;
    }
    ret[n] = 0;
    return *value ? -EINVAL : 0;
}

static int parse_flags(char *value, const struct flag *names, unsigned *ret)
{
    *ret = 0;
    char *rest = NULL;
    for (char *word = strtok_r(value, "+", &rest); word; word = strtok_r(NULL, "+", &rest)) {
        const struct flag *f = names;
        while (f->name && strcmp(f->name, word) != 0)
            f++;
        if (!f->name)
            return -EINVAL;
        *ret |= f->value;
    }
    return 0;
}

static int parse_member(struct op *op, const struct member *m, char *value)
{
    void *at = (char *)op + m->offset;
    char *end = NULL;
    if (m->form == PATH)
        return parse_path(value, at);
    if (m->form == FLAGS)
        return parse_flags(value, flags_of(op->kind, m->letter), at);
    long long n = strtoll(value, &end, m->form == OCTAL ? 8 : 10);
    if (end == value || *end)
        return -EINVAL;
    if (m->form == LONG)
        *(int64_t *)at = n;
    else
        *(uint32_t *)at = (uint32_t)n;
    return 0;
}

static int parse_item(struct op *op, char *item)
{
    char *value = strchr(item, '=');
    if (!value)
        return -EINVAL;
    *value++ = 0;
    for (int i = 0; i < MEMBERS; i++)
        if (strcmp(members[i].name, item) == 0 && op_has(op->kind, members[i].letter))
            return parse_member(op, &members[i], value);
    return -EINVAL;
}

int op_parse(const char *line, struct op *ret)
{
    char copy[LINE_SIZE], *rest = NULL;
    if (strlen(line) >= sizeof(copy))
        return -EINVAL;
    strcpy(copy, line);
    struct op op = {0};
    char *word = strtok_r(copy, " \n", &rest);
    int r = word ? op_kind_of(word, &op.kind) : -EINVAL;
    while (r == 0 && (word = strtok_r(NULL, " \n", &rest)))
        r = parse_item(&op, word);
    if (op.slot < 0 || op.slot >= SLOTS || op.from < 0 || op.from >= SLOTS)
        r = -EINVAL;
    if (r == 0)
        *ret = op;
    return r;
}
