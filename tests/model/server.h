/*
 * A server that remembers: files, directories and names as they are, and when each became so.
 *
 * Nothing here knows of caches. A moment is a number that grows with every event of the run; what a
 * client may still believe is what was true at some moment that is not before the last one of which
 * it has certain knowledge.
 */
#ifndef LARDER_TESTS_MODEL_SERVER_H
#define LARDER_TESTS_MODEL_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fileattr.h"

#define NODES    250
#define DIRS     16
#define VERSIONS 200
#define STATES   200

struct server_name {
    const char *text;
    int fold; /* names that fold alike have the same number */
};
extern const struct server_name server_names[];
#define NAMES 12

/* What a name is: the file and how it is spelled; -1: nothing. */
struct state {
    uint64_t since;
    int node, spelling;
};
struct node {
    bool is_dir;
    int dir, links;           /* its number as a directory */
    int version;              /* every change of attributes makes a new one */
    uint64_t since[VERSIONS]; /* when each became so */
    uint64_t written;         /* by the server's clock */
};
struct server {
    bool folds;
    uint64_t moment;
    uint64_t now, grain; /* the server's clock, and the steps in which it writes down times */
    struct node node[NODES];
    int nodes, dirs;
    int dir_node[DIRS];
    int entry[DIRS][NAMES]; /* node, -1: none */
    struct state state[DIRS][NAMES][STATES];
    int states[DIRS][NAMES];
};

void server_init(struct server *s, bool folds);
bool server_is_full(const struct server *s);
/* What the name means now: the node, or -1; *ret_spelling as the server has it. */
int server_resolve(const struct server *s, int dir, int name, int *ret_spelling);
/* The directory of a path of names, -1: none. */
int server_dir(const struct server *s, const char *path);
struct file_attr server_attr(const struct server *s, int node);
int server_node_of(const struct file_attr *attr);

/* The changes, each at a moment of its own: 0, or -1: refused. */
int server_make(struct server *s, int dir, int name, bool is_dir, int *ret_node);
int server_remove(struct server *s, int dir, int name);
int server_rename(struct server *s, int from_dir, int from, int to_dir, int to);
int server_link(struct server *s, int node, int dir, int name);
void server_write(struct server *s, int node);

/* Was the name this (node -1: nothing) at any moment from `floor` on? spelling -1: whichever. */
bool server_was(const struct server *s, int dir, int name, int node, int spelling, uint64_t floor);
/* Had the node this version? */
bool server_had(const struct server *s, int node, uint64_t version, uint64_t floor);

#endif
