/* What POSIX and SMB cannot agree on, as the trees stand (docs/posix.md). */
#ifndef LARDER_LOCKSTEP_AGREE_H
#define LARDER_LOCKSTEP_AGREE_H

#include <sys/stat.h>

#include "lockstep/side.h"

/* Whether the operation is to be left out on both sides. `local`: the side that is a local
 * directory, before the operation. */
bool agree_not(struct side *local, const struct op *op);
/* Whether both results are right, although they differ. */
bool agree_on_results(const struct side *local, const struct op *op, const struct result *a,
                      const struct result *b);
/* Whether the number of names may be an old one. */
bool agree_on_links(const struct stat *a, const struct stat *b);
/* Whether the time of access that was just set is to be seen. */
bool agree_on_atime(const struct op *op);
/* Whether a write may have left the file's mtime alone on the server. */
bool agree_on_old_mtime(const struct side *local, const struct stat *st);
/* Whether this directory's time of writing may be a new one where another was set. */
bool agree_on_new_mtime(const struct side *local, const struct stat *st);

#endif
