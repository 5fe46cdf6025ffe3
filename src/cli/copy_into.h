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

struct copy_command {
    const char *name, *help;
    bool follows; /* has -L, too, beside -r, -q, -u and --json */
    /* Both return EXIT_DONE, or the exit code of what they printed. NULL: every line is good. */
    int (*check)(const struct cli_line *line);
    /* Adds what is to be copied. */
    int (*run)(const struct cli_line *line, bool json, struct remotes *remotes, struct copy *c);
};

/* The life of such a command: its line, connections, copying, figures where asked for, the end.
 * Returns the exit code; a signal that stopped the copying ends the program. */
int copy_command(const struct copy_command *command, int argc, char **argv);

#endif
