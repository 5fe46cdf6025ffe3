/* What get, put and cp have in common around copying: sources, where they go, how it ends. */
#ifndef LARDER_CLI_COPY_INTO_H
#define LARDER_CLI_COPY_INTO_H

#include "cli/copy.h"
#include "cli/remotes.h"

struct copy_source {
    struct place place; /* path owned */
    bool content;       /* of a directory: what is in it, without itself */
};

struct copy_sources {
    struct copy_source *source;
    size_t count;
};

/* A file or directory here, as typed: a `/` at its end means its content. -ENOMEM. */
int copy_sources_add_local(struct copy_sources *s, const char *typed);
/* What a place on a share, with its wildcards, stands for. -ENOENT, -ENOMEM ... with `err`. */
int copy_sources_add_remote(struct copy_sources *s, const struct spot *spot,
                            struct larder_error *err);
void copy_sources_free(struct copy_sources *s);

/* Copies all to `target`: into it where it is a directory, or has a `/` at its end, or where a
 * directory is copied; else as it. Failures are told by `c`. */
void copy_all(struct copy *c, const struct copy_sources *s, const struct place *target);

/* The life of such a command: connections, copying, figures where asked for, the end. `run` adds
 * what is to be copied and returns EXIT_DONE, or the exit code of what it printed. Returns the exit
 * code; a signal that stopped the copying ends the program. */
int copy_run(const char *command, const struct cli_line *line, const struct copy_options *options,
             const bool *flags, bool json,
             int (*run)(const struct cli_line *line, const bool *flags, struct remotes *remotes,
                        struct copy *c));

#endif
