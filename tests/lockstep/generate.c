/*
 * Operations out of a seed.
 *
 * They are made up without looking at any tree: the names are so few that most operations meet
 * something, and the rest are errors, which have to be equal too. Six names are mostly files, three
 * mostly directories, none is only that; a few are names that a Windows server cannot have as they
 * are, or that are as long as a name may be. A list has a character, so that some lists write much
 * and others mostly move names about.
 */
#include <fcntl.h>
#include <linux/falloc.h>
#include <string.h>
#include <sys/stat.h>

#include "lockstep/op.h"

/* ---- numbers ---- */

uint64_t mix(uint64_t x) /* splitmix64 */
{
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

struct source {
    uint64_t state;
    unsigned weight[OP_KINDS], weights; /* the list's character */
    unsigned odd_names;                 /* one name in so many */
};

static unsigned below(struct source *s, unsigned n)
{
    s->state += 0x9e3779b97f4a7c15;
    return (unsigned)(mix(s->state) >> 33) % n;
}

static bool one_in(struct source *s, unsigned n)
{
    return below(s, n) == 0;
}

/* ---- names ---- */

static const char *const files[] = {"a", "b", "c", "d", "e", "f"};
static const char *const dirs[] = {"p", "q", "r"};
static const char *const odd[] = {
    "g h", "i.",  "j:k",        "l ",    "\xc3\xbc",    "e\xcc\x81", "\xf0\x9f\x8d\x9e",
    ".x",  "?*|", "long~1.txt", "<n\">", "back\\slash", "\x01\x1f",  "#@$&'()+,;=[]",
};
#define NAME_251 /* the longest that Linux and Windows both have is 255 */                         \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789a"  \
    "bcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef01234"   \
    "56789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789"
static const char *const longest[] = {NAME_251 "0123", NAME_251 "01234"};

#define ANY_OF(s, list) (list)[below(s, sizeof(list) / sizeof(*(list)))]

static const char *some_name(struct source *s, bool dir)
{
    if (one_in(s, s->odd_names))
        return one_in(s, 12) ? ANY_OF(s, longest) : ANY_OF(s, odd);
    return dir == !one_in(s, 7) ? ANY_OF(s, dirs) : ANY_OF(s, files);
}

static void some_path(struct source *s, bool dir, char ret[static PATH_SIZE])
{
    unsigned depth = below(s, 20);
    size_t n = 0;
    for (unsigned above = depth < 9 ? 0 : depth < 16 ? 1 : depth < 19 ? 2 : 3; above; above--)
        n += (size_t)sprintf(ret + n, "%s/", one_in(s, 12) ? ANY_OF(s, files) : ANY_OF(s, dirs));
    strcpy(ret + n, some_name(s, dir));
}

static void some_target(struct source *s, char ret[static PATH_SIZE])
{
    static const char *const others[] = {".", "./a", "nowhere/at/all", "p/q/c", "r/../b"};
    if (one_in(s, 4))
        strcpy(ret, ANY_OF(s, others));
    else
        some_path(s, one_in(s, 3), ret);
}

/* ---- places and lengths ---- */

static int64_t some_place(struct source *s)
{
    switch (below(s, 10)) {
    case 0:
        return 0;
    case 1:
        return (int64_t)below(s, 20) * 4096;
    case 2:
        return below(s, 300000);
    case 3:
        return one_in(s, 8) ? below(s, 2 << 20) : below(s, 70000);
    default:
        return below(s, 9000);
    }
}

static uint32_t some_length(struct source *s)
{
    switch (below(s, 12)) {
    case 0:
        return 4096 * (1 + below(s, 4));
    case 1:
        return one_in(s, 10) ? below(s, 1 << 20) : below(s, 150000);
    case 2:
        return below(s, 3);
    default:
        return below(s, 6000);
    }
}

/* Seconds of the 1990s: nothing else in a test is so old, so one knows it for a time that was set.
 */
static uint64_t some_time(struct source *s)
{
    if (one_in(s, 5))
        return one_in(s, 2) ? TIME_OMIT : TIME_NOW;
    return (631152000ull + below(s, 315532800)) * 10000000 + below(s, 10000000);
}

static unsigned some_mode(struct source *s)
{
    static const unsigned modes[] = {0644, 0644, 0600, 0666, 0444, 0400};
    return ANY_OF(s, modes);
}

static unsigned some_open_flags(struct source *s)
{
    static const unsigned accesses[] = {O_RDONLY, O_WRONLY, O_RDWR, O_RDWR};
    unsigned flags = ANY_OF(s, accesses);
    if (!one_in(s, 3))
        flags |= O_CREAT;
    if (one_in(s, 6))
        flags |= O_EXCL | O_CREAT;
    if (one_in(s, 5) && flags & O_ACCMODE)
        flags |= O_TRUNC;
    if (one_in(s, 6) && flags & O_ACCMODE)
        flags |= O_APPEND;
    return flags;
}

static unsigned some_flags(struct source *s, enum op_kind kind)
{
    static const unsigned allocate[] = {0, FALLOC_FL_KEEP_SIZE,
                                        FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE};
    switch (kind) {
    case OP_OPEN:
        return some_open_flags(s);
    case OP_FALLOCATE:
        return ANY_OF(s, allocate);
    case OP_MMAP:
        return (one_in(s, 4) ? 0 : MMAP_STORE) | MMAP_SYNC;
    default:
        return one_in(s, 8); /* RENAME_NOREPLACE */
    }
}

/* ---- operations ---- */

static const unsigned usual[OP_KINDS] = {
    [OP_OPEN] = 12,     [OP_CLOSE] = 8,    [OP_PWRITE] = 12, [OP_WRITE] = 4,    [OP_PREAD] = 6,
    [OP_FTRUNCATE] = 4, [OP_TRUNCATE] = 3, [OP_FSYNC] = 1,   [OP_MMAP] = 4,     [OP_FALLOCATE] = 3,
    [OP_COPY] = 3,      [OP_PUT] = 6,      [OP_MKNOD] = 1,   [OP_UNLINK] = 6,   [OP_MKDIR] = 5,
    [OP_RMDIR] = 2,     [OP_RENAME] = 8,   [OP_LINK] = 3,    [OP_SYMLINK] = 2,  [OP_READLINK] = 1,
    [OP_CHMOD] = 2,     [OP_FCHMOD] = 1,   [OP_UTIMENS] = 3, [OP_FUTIMENS] = 2, [OP_LIST] = 2,
};

static void draw_character(struct source *s, uint64_t without)
{
    s->odd_names = 10 + below(s, 60);
    for (int k = 0; k < OP_KINDS; k++) {
        s->weight[k] = without >> k & 1 ? 0 : usual[k] * (1 + below(s, 8));
        s->weights += s->weight[k];
    }
}

static enum op_kind some_kind(struct source *s)
{
    unsigned at = below(s, s->weights);
    int k = 0;
    while (at >= s->weight[k])
        at -= s->weight[k++];
    return (enum op_kind)k;
}

static unsigned some_look(struct source *s)
{
    unsigned look = one_in(s, 10) ? 0 : LOOK_NAMES;
    if (look && !one_in(s, 4))
        look |= LOOK_DATA;
    return one_in(s, 50) ? LOOK_TREE : look;
}

static bool is_about_dirs(enum op_kind kind, struct source *s)
{
    switch (kind) {
    case OP_MKDIR:
    case OP_RMDIR:
    case OP_LIST:
        return true;
    case OP_RENAME:
        return one_in(s, 4);
    case OP_UTIMENS:
    case OP_SYMLINK:
        return one_in(s, 6);
    default:
        return false;
    }
}

static void make_up(struct source *s, struct op *ret)
{
    *ret = (struct op){.kind = some_kind(s)};
    enum op_kind k = ret->kind;
    bool dirs_meant = is_about_dirs(k, s);
    ret->slot = (int)below(s, SLOTS);
    ret->from = (int)below(s, SLOTS);
    if (op_has(k, 'p'))
        some_path(s, dirs_meant, ret->path);
    if (k == OP_LIST && one_in(s, 3))
        strcpy(ret->path, ".");
    if (k == OP_SYMLINK)
        some_target(s, ret->to);
    else if (op_has(k, 't'))
        some_path(s, dirs_meant, ret->to);
    if (op_has(k, 'f'))
        ret->flags = some_flags(s, k);
    if (op_has(k, 'm'))
        ret->mode = some_mode(s);
    if (op_has(k, 'a'))
        ret->at = some_place(s);
    if (op_has(k, 'b'))
        ret->to_at = some_place(s);
    ret->len = some_length(s);
    ret->data = below(s, 1000000);
    ret->atime = some_time(s);
    ret->mtime = some_time(s);
    ret->look = some_look(s);
}

void generate(uint64_t seed, uint64_t without, struct op *ret, size_t count)
{
    struct source s = {.state = mix(seed)};
    draw_character(&s, without);
    for (size_t i = 0; i < count; i++)
        make_up(&s, &ret[i]);
}
