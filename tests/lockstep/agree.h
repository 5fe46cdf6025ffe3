/* Operations that POSIX and SMB cannot agree on, as the trees stand (docs/posix.md). */
#ifndef LARDER_LOCKSTEP_AGREE_H
#define LARDER_LOCKSTEP_AGREE_H

#include "lockstep/side.h"

/* Whether the operation is to be left out on both sides. `local`: the side that is a local
 * directory, before the operation. */
bool agree_not(struct side *local, const struct op *op);

#endif
