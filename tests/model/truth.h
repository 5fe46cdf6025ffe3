/* The run of truth.c, in three parts: what is done (truth.c), what is said and whether it is true
 * (truth_said.c), and what the cache makes of answers and own changes (truth_own.c). */
#ifndef LARDER_TESTS_MODEL_TRUTH_H
#define LARDER_TESTS_MODEL_TRUTH_H

#include "cache/internal.h"
#include "model/model.h"
#include "model/server.h"

#define OPS       5
#define HOLD      10
#define SNAPSHOTS 3
#define FOLDS     7
#define OBJECTS   4096

enum kind { ASK_NAME, ASK_LISTING, ASK_ATTR, MAKE, MAKE_DIR, REMOVE, RENAME, LINK, WRITE, KINDS };
extern const char *const kind_names[KINDS];

/* A file object of the cache, referred to, and what it is on the server. */
struct held {
    struct cache_file *f;
    int node;
};

struct op {
    bool used, done, ok;
    bool alone; /* nothing else was under way in all its time */
    bool told;  /* the reply tells the attributes */
    enum kind kind;
    struct held dir, to_dir, file; /* references of its own; to_dir, file: f may be NULL */
    int name, to;
    char path[256], to_path[256];
    struct cache_ticket ticket;
    uint64_t asked, at; /* moments: sent, carried out */
    int server_dir, server_to_dir, node, over, spelling;
    struct file_attr attr;
    struct cache_listing *listing;
    int listed[NAMES]; /* the nodes in it, -1: none */
};

/* A listing that a reader has. */
struct snapshot {
    struct cache_listing *l;
    size_t count;
    char names[NAMES][8];
    struct file_attr attr[NAMES];
};

extern struct server server;
extern struct op ops[OPS];
extern struct held held[HOLD]; /* the first is the root */
extern int held_count;
extern struct snapshot snapshots[SNAPSHOTS];
extern bool
    strange[OBJECTS]; /* directories whose path leads elsewhere, and nobody told the cache */
extern bool roomy;    /* this life's caches have room for everything */

/* The moments from which on things are known for certain, and at which own changes of them ended;
 * by the serial numbers of the cache's objects, since of a directory there may be several. */
extern uint64_t name_floor[OBJECTS][NAMES], name_changed[OBJECTS][NAMES];
extern uint64_t attr_floor[OBJECTS], attr_changed[OBJECTS];

extern uint64_t begun[KINDS], alone[KINDS], known[KINDS], listings_kept, answers;

const char *text(int name);

/* ---- truth_said.c ---- */

void let_go(int at);
/* Takes over the reference to an object that is said to be this node. */
void keep(struct cache_file *f, int node);
struct held some_dir(void);
/* Looks up; 1: found, *ret_node; 0: missing; -1: the server is to be asked. */
int look_up(struct held dir, int name, int *ret_node);
bool stat_held(struct held h, struct file_attr *ret);
void read_listing(struct held dir);
void check_snapshots(void);
void check_bounds(void);
void answered_name(const struct op *o, int name);
void answered_attr(const struct op *o, const struct cache_file *f);
void changed_attr(const struct op *o, const struct cache_file *f);
void changed_name(const struct op *o, struct held dir, int server_dir, int name);

/* ---- truth_own.c ---- */

void complete(struct op *o);

#endif
