/* What may stand at a place of a command line. Inside complete*.c only. */
#ifndef LARDER_CLI_COMPLETE_H
#define LARDER_CLI_COMPLETE_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/cli.h"

/* The words up to the one that is being typed, which is the last; word[0] is the program's name. */
struct typed {
    char **word;
    int count;                    /* at least 2 */
    const char *current;          /* word[count - 1] */
    const struct subcommand *sub; /* NULL: the subcommand itself is being typed, or is none */
};

/* Collected first, since what begins with just what was typed is wanted alone where there is any:
 * names of settings and of files on servers are good in any case, but seldom meant so. */
struct offers {
    const char *current; /* borrowed */
    char **line;         /* "WORD" or "WORD\tABOUT" */
    size_t count, room;
    bool full; /* out of memory, or too many: nothing more is taken */
};

/* One word that may stand in place of the current one; `about` may be NULL. One that does not begin
 * as typed, or that a terminal must not be shown, is passed over. */
void offer(struct offers *o, const char *about, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* To stdout, a line each; frees all. */
void offers_print(struct offers *o);

/* What `larder NAME ARGUMENTS` prints, run in a process of its own; malloc'ed, NULL: it failed. */
char *complete_output(const struct subcommand *sub, char **argv);

/* Each of these offers words that are made of the current one's first `kept` bytes and more. */
void complete_list(const struct typed *t, struct offers *o, size_t kept); /* after -o */
void complete_profile(struct offers *o, size_t kept);                     /* PROFILE[:K=V,...] */
void complete_setting(struct offers *o, size_t kept, const char *text);   /* a name, and `text` */
void complete_files(struct offers *o, size_t kept, bool only_directories);
void complete_mounts(struct offers *o);
/* //HOST/SHARE/PATH, and a path on the first operand's share. Asks the server where a credential is
 * at hand. */
void complete_target(const struct typed *t, struct offers *o);
void complete_remote(const struct typed *t, struct offers *o);

#endif
