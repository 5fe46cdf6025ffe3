/*
 * The subcommands: one file each, one line in the table of main.c. Results go to stdout, errors as
 * one line to stderr; exit codes are EXIT_DONE, EXIT_FAILED, EXIT_USAGE and EXIT_LIMIT.
 */
#ifndef LARDER_CLI_CLI_H
#define LARDER_CLI_CLI_H

#include "base/error.h"
#include "share/options.h"

struct larder;
struct larder_config;

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_LIMIT = 3 };

/* What an operand of a subcommand may be besides a share. */
enum cli_operands {
    OPERAND_TARGET,  /* nothing */
    OPERAND_REMOTE,  /* a path on the share that an operand before it names */
    OPERAND_LOCAL,   /* a file or directory of this machine */
    OPERAND_MOUNT,   /* a directory on which larder has mounted something, and no share */
    OPERAND_COMMAND, /* behind `--` a command and its arguments */
    OPERAND_PROFILE, /* a profile, and no share */
};
struct subcommand {
    const char *name;
    int (*run)(int argc, char **argv);
    enum cli_operands operands;
    const char *help; /* at most 29 characters */
};
/* The table: index 0 .. ; NULL past the last. */
const struct subcommand *cli_subcommand(size_t index);

/* argv[0] is the subcommand's name. Each returns an exit code. */
int cmd_analyze(int argc, char **argv);
int cmd_cat(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_complete(int argc, char **argv);
int cmd_cp(int argc, char **argv);
int cmd_df(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_drop(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_get(int argc, char **argv);
int cmd_ls(int argc, char **argv);
int cmd_mkdir(int argc, char **argv);
int cmd_mount(int argc, char **argv);
int cmd_mount_helper(int argc, char **argv); /* exit codes of mount(8) */
int cmd_mv(int argc, char **argv);
int cmd_put(int argc, char **argv);
int cmd_rm(int argc, char **argv);
int cmd_shares(int argc, char **argv);
int cmd_settings(int argc, char **argv);
int cmd_stat(int argc, char **argv);
int cmd_stats(int argc, char **argv);
int cmd_tree(int argc, char **argv);
int cmd_umount(int argc, char **argv);

/* "larder: ls: ..." on stderr, one line; returns EXIT_FAILED. */
int cli_fail(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same with "(try larder ls --help)"; returns EXIT_USAGE. */
int cli_usage(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A copy of the arguments as they were typed; in the originals, which `ps` shows, passwords become
 * asterisks. NULL: out of memory. */
char **cli_hide_passwords(int argc, char **argv);
/* Wipes and frees the copy. Returns NULL. */
char **cli_free_arguments(char **copy);

/* Completes credentials: user from $USER where none was given and no guest is asked for, password
 * from LARDER_PASSWORD, else from a prompt where there is a terminal. -EACCES where none can be
 * had. */
int cli_credentials(struct share_options *o, struct error *err);

/* `--keylog FILE` as a list after -o; good until the next one. NULL: a usage error was printed. */
char *cli_keylog(const char *command, const char *file);
/* The line on stderr that goes with it. `file` NULL: none. */
void cli_warn_of_keylog(const char *command, const char *file);

/* A password from LARDER_PASSWORD or a prompt for `user` at `host`, to be wiped and freed; NULL
 * (err says why) where none can be had. */
char *cli_password(const char *user, const char *host, struct error *err);

struct cli_line;
/* The target and the lists after -o as options, with credentials (see cli_credentials). EXIT_DONE,
 * or an exit code after printing; share_options_done either way. */
int cli_share_options(const char *command, const struct cli_line *line, const char *target,
                      struct share_options *ret);

/* ---- the tools: they know the public library alone ---- */

#define CLI_OPTIONS_MAX 64
#define CLI_NAME_MAX    1024 /* bytes that hold any name */
#define CLI_HELP_SHOWN  (-1)

/* A tool's command line, taken apart. */
struct cli_line {
    char *option[CLI_OPTIONS_MAX]; /* each a list after -o */
    size_t options;
    char **operand; /* within argv */
    int operands;
};

/* Reads options wherever they stand, up to `--`: `-o LIST`, `--help`, and `letters` as getopt has
 * them. flags[i] is set for the i-th letter, value[i] (may be NULL where no letter takes one) is
 * its argument. 'j' has --json too. Returns EXIT_DONE, CLI_HELP_SHOWN, or a usage error's exit code
 * after printing it. */
int cli_read_line(struct cli_line *line, int argc, char **argv, const char *letters, bool *flags,
                  const char **value, const char *help);

/* The same for a line that takes no share: its one option besides --help is --FLAG, also by
 * `letter` (0: by none). The operands are behind optind. */
int cli_read_flag(int argc, char **argv, const char *flag, char letter, const char *help,
                  bool *ret);

/* A number from `low` to `high`; else a usage error is printed and its exit code returned. */
int cli_number(const char *command, const char *what, const char *text, unsigned long low,
               unsigned long high, unsigned long *ret);

struct cli_target {
    const char *target, *path;     /* path "" where none was given */
    char *option[CLI_OPTIONS_MAX]; /* each a list after -o */
    size_t options;
};

/* The line of ls, cat and stat: `[-o name=value]... [-LETTERS] TARGET [PATH]`. */
int cli_tool_options(struct cli_target *t, int argc, char **argv, const char *letters, bool *flags,
                     const char *help);

/* Completes the credentials and connects; on failure prints and returns an exit code, else
 * EXIT_DONE. */
int cli_connect(const char *command, const struct cli_target *t, struct larder **ret);

/* The password in LARDER_PASSWORD, to be wiped and freed; it is removed from there. NULL: none. */
char *cli_environment_password(void);

/* The same, with a password (NULL: none) to be used before a prompt. */
int cli_connect_with(const char *command, const char *target, char *const *option, size_t options,
                     const char *password, struct larder **ret);

#endif
