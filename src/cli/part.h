/*
 * The name that a file has until it is whole: NAME.TAG.part, in the same directory. The tag is made
 * from the source's size and time, and from its path, so that what is found under it came from this
 * very source; when that has changed, the tag has, and copying begins anew.
 */
#ifndef LARDER_CLI_PART_H
#define LARDER_CLI_PART_H

#include "larder/larder.h"

/* For the target `to` of a source that is `from` and looks like `like`. malloc'ed; NULL: out of
 * memory. */
char *part_name(const char *to, const char *from, const struct larder_stat *like);
/* The same for a source that cannot be gone on with. */
char *part_name_once(const char *to);

#endif
