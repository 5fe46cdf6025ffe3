/* Between place.c (names) and place_file.c (open files). */
#ifndef LARDER_CLI_PLACE_LOCAL_H
#define LARDER_CLI_PLACE_LOCAL_H

#include <sys/stat.h>

#include "cli/place.h"

/* "PATH: what errno says", and returns `code`. */
int place_error(struct larder_error *err, const char *path, int code);
void place_from_stat(const struct stat *st, struct larder_stat *ret);
void place_times_like(const struct larder_stat *like, struct larder_setattr *ret);

#endif
