/* The shares that one command line names: places as people type them, a connection a share. */
#ifndef LARDER_CLI_REMOTES_H
#define LARDER_CLI_REMOTES_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/cli.h"
#include "larder/larder.h"

struct remotes;

/* Something on a share. */
struct spot {
    struct larder *l;
    char *path;        /* in the share, as typed: wildcards and backslashes in it; owned */
    const char *typed; /* borrowed from the command line */
};

/* Whether an argument names a share rather than a file here. */
bool remotes_is_target(const char *arg);

/* NULL: out of memory. */
struct remotes *remotes_new(const char *command, const struct cli_line *line);
/* Disconnects from all. Returns NULL. */
struct remotes *remotes_free(struct remotes *s);

/* //HOST/SHARE/PATH; connects where this command did not yet. EXIT_DONE, or an exit code after
 * printing. */
int remotes_find(struct remotes *s, const char *typed, struct spot *ret);

/* All places of a command line whose first is a target: either every operand is one, or the others
 * are paths below it. `*ret` has *ret_count of them. EXIT_DONE, or an exit code after printing. */
int remotes_find_all(struct remotes *s, const struct cli_line *line, struct spot **ret,
                     size_t *ret_count);
void spot_free(struct spot *spot);
void spots_free(struct spot *spots, size_t count);

/* The life of a command: finds all places, has `run` do with them what it is told by `how`, and
 * disconnects. Returns the exit code: run's, where it came to that. */
int remotes_run(const char *command, const struct cli_line *line,
                int (*run)(const struct spot *spots, size_t count, const void *how),
                const void *how);

/* All connections' counters of one name together; -1: nobody has it. */
long long remotes_counter(const struct remotes *s, const char *name);

#endif
