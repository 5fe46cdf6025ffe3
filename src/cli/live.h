/* Asking a live mount about a path on it, and reading its replies. */
#ifndef LARDER_CLI_LIVE_H
#define LARDER_CLI_LIVE_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct live {
    char mount[PATH_MAX]; /* its directory */
    char path[PATH_MAX];  /* beneath it; "" for itself */
    json_t *reply;        /* to be decref'd */
};

/* The line `[--json] PATH`; with `optional` the path may be left out, and *ret_path is NULL then.
 * EXIT_DONE, CLI_HELP_SHOWN, or a usage error's exit code after printing it. */
int live_line(const char *command, int argc, char **argv, const char *help, bool optional,
              bool *ret_json, const char **ret_path);
/* Asks the mount that `path` is on, without looking at it; `whole`: about all of it, wherever on it
 * `path` is. On failure prints and returns an exit code. */
int live_ask(const char *request, const char *path, bool whole, struct live *ret);
/* A member of a reply: of one that is not there, or negative, 0; or "". */
uint64_t live_number(const json_t *object, const char *key);
const char *live_text(const json_t *object, const char *key);
/* Prints the reply, with "mount" and "path", as JSON, and lets go of it. */
int live_print_json(struct live *l);

#endif
