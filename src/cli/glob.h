/*
 * Wildcards in paths of a share, matched here on the names that the server lists: `*`, `?` and
 * `[...]` (with ranges, and `!` or `^` for what is not in it) within one component, in any case, as
 * servers compare names; a leading dot is nothing special. A backslash takes the next character as
 * it is.
 */
#ifndef LARDER_CLI_GLOB_H
#define LARDER_CLI_GLOB_H

#include <stdbool.h>
#include <stddef.h>

#include "larder/larder.h"

bool glob_has_wildcard(const char *path);
/* Without the backslashes, doubled slashes and slashes at the ends. malloc'ed; NULL: out of memory.
 */
char *glob_literal(const char *path);
/* The same for a path that something is to get: a slash at its end, which asks for a directory, is
 * kept. */
char *glob_target(const char *path);
/* Whether a component of a pattern (of `len` bytes) matches a name. */
bool glob_match(const char *pattern, size_t len, const char *name);

struct glob_paths {
    char **path; /* sorted */
    size_t count;
};
/* The paths that there are for a pattern; one without wildcards gives itself, there or not. What
 * has a `[` and matches nothing is tried as it is written. With a slash at its end a wildcard
 * matches directories alone. -ENOENT where nothing matches. */
int glob_expand(struct larder *l, const char *pattern, struct glob_paths *ret,
                struct larder_error *err);
void glob_paths_free(struct glob_paths *paths);

#endif
