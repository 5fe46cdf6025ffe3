/* Making a lost connection again; see revive.c. Private to this room. */
#ifndef LARDER_CLIENT_REVIVE_H
#define LARDER_CLIENT_REVIVE_H

#include "client/operation.h"

/* From now on, where the options say so. Once, when the connection is established. */
int revive_start(struct client *c, struct error *err);
/* Ends it, also in the middle of an attempt; nobody but the caller uses the client any more. */
void revive_stop(struct client *c);

#endif
