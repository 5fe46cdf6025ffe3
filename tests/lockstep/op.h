/*
 * One operation on a file tree, as it is made up, done on two trees, and written down.
 *
 * An operation names all it needs: paths below the top, and descriptors by their slot (0 to
 * SLOTS - 1), so any part of a list of operations is a list of operations too. What its slot does
 * not hold makes it nothing. The written form is a line, which is read back as it was:
 *
 *     pwrite slot=2 at=100 len=30 data=77 look=names+data
 */
#ifndef LARDER_LOCKSTEP_OP_H
#define LARDER_LOCKSTEP_OP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { SLOTS = 6, PATH_SIZE = 320, LINE_SIZE = 2 * PATH_SIZE * 3 + 400 };
#define LENGTH_MAX (4 << 20) /* no file of a test grows longer */

enum op_kind {
    OP_OPEN,
    OP_CLOSE,
    OP_PWRITE,
    OP_WRITE, /* where the descriptor stands */
    OP_PREAD,
    OP_FTRUNCATE,
    OP_TRUNCATE,
    OP_FSYNC,
    OP_MMAP, /* shared: writes where the descriptor may, else reads */
    OP_FALLOCATE,
    OP_COPY, /* copy_file_range */
    OP_PUT,  /* open for writing with O_CREAT and O_TRUNC, write, close */
    OP_MKNOD,
    OP_UNLINK,
    OP_MKDIR,
    OP_RMDIR,
    OP_RENAME,
    OP_LINK,
    OP_SYMLINK,
    OP_READLINK,
    OP_CHMOD,
    OP_FCHMOD,
    OP_UTIMENS,
    OP_FUTIMENS,
    OP_LIST,
    OP_KINDS
};

/* What is compared after it beside its own result. */
enum {
    LOOK_NAMES = 1, /* stat of the names and the descriptor in it, and the listings they stand in */
    LOOK_DATA = 2,  /* what those files hold */
    LOOK_TREE = 4,  /* everything */
};

/* op.flags of what is not open(2), fallocate(2) or renameat2(2) */
enum { MMAP_SYNC = 1, MMAP_STORE = 2 };

/* A time to be set: a second of the 1990s in ticks of 100 ns, or one of these. */
enum { TIME_OMIT = 0, TIME_NOW = 1 };

struct op {
    enum op_kind kind;
    char path[PATH_SIZE], to[PATH_SIZE];
    int slot, from; /* `from`: OP_COPY's source */
    unsigned flags, mode, look;
    int64_t at, to_at;
    uint32_t len, data; /* `data`: what the bytes are made from */
    uint64_t atime, mtime;
};

const char *op_name(enum op_kind kind);
/* -EINVAL where there is none of that name. */
int op_kind_of(const char *name, enum op_kind *ret);
/* Which members an operation of this kind has, as letters of op.c's table. */
bool op_has(enum op_kind kind, char member);
void op_print(const struct op *op, char ret[static LINE_SIZE]);
int op_parse(const char *line, struct op *ret);

/* ---- generate.c ---- */

/* A run of operations has a character, drawn from its seed: which of them come often. Fills `ret`;
 * `without` has a bit (1 << kind) for each kind that must not come. */
void generate(uint64_t seed, uint64_t without, struct op *ret, size_t count);
uint64_t mix(uint64_t x); /* a number from a number, for seeds made from seeds */

#endif
