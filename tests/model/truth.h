/* The run of truth.c, in four parts: what is done (truth.c), what is said and whether it is true
 * (truth_said.c), what the cache makes of answers and own changes (truth_own.c), and what the
 * server promises and tells (truth_promise.c). */
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

enum kind {
    ASK_NAME,
    ASK_LISTING,
    ASK_ATTR,
    VERIFY,
    MAKE,
    MAKE_DIR,
    REMOVE,
    RENAME,
    LINK,
    WRITE,
    KINDS
};
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
    bool lease; /* it asks for one */
    enum kind kind;
    struct held dir, to_dir, file; /* references of its own; to_dir, file: f may be NULL */
    int name, to;
    char path[256], to_path[256];
    struct cache_ticket ticket;
    uint64_t asked, at; /* moments: sent, carried out */
    int server_dir, server_to_dir, node, over, spelling;
    struct file_attr attr; /* of a listing: the directory's */
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

/* A name of the directory is certain from this moment on. */
void certain_name(struct cache_file *dir, int name, uint64_t moment);
void certain_attr(const struct cache_file *f, uint64_t moment);
/* Does this server take one of the names for the other? */
bool means(int name, int other);

/* ---- truth_promise.c ---- */

extern bool promises;    /* this life's server gives any */
extern uint64_t told[4]; /* breaks, notices, notices lost, sessions lost */
extern uint64_t prolonged, echoes, harmless, verified[2];

void promises_choose(void); /* this life's settings */
void promises_begin(void);
void promises_end(void);
bool quiet(void); /* nobody changes anything, but behind the server's back; and time goes faster */
/* Around each change on the server. */
enum who { OURSELVES, OTHERS, NOBODY }; /* NOBODY: behind the server's back */
void change_begins(void);
void change_ends(enum who who);
/* The server has carried out a request that asks for a lease, and the reply to it came. */
void grant(const struct op *o);
void granted(const struct op *o);
/* Anything that the server does without being asked; and what only the client does. */
void promises_step(void);
/* The moment before which nothing that is believed may have ended to be true, by its age. */
uint64_t oldest_name(const struct cache_file *dir);
uint64_t oldest_attr(const struct cache_file *f);
void check_useful(void);

/* ---- truth_own.c ---- */

void complete(struct op *o);

#endif
