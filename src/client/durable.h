/* Durable opens: asked for, granted, asked back. Private to this room. */
#ifndef LARDER_CLIENT_DURABLE_H
#define LARDER_CLIENT_DURABLE_H

#include "client/operation.h"

/* Whether the CREATE asks for a durable open. */
bool durable_wanted(const struct compound *m, const struct client_how *how);
/* Appends the context that asks for it, for the open of `m`. *ret_guid_at: where in the chain its
 * CreateGuid stands; 0: it has none. */
void durable_ask(struct compound *m, struct wr *chain, bool last, size_t *ret_guid_at);
/* Appends the one that asks `lost` back, as the last. */
void durable_reclaim(const struct handle *lost, struct wr *chain);
/* What was asked for `h` was granted, or not, by the answer to its CREATE. */
void durable_answered(struct handle *h, struct rd contexts);
/* The CREATE leaves once more, and may have been obeyed the first time: the open that the server
 * holds since is another one than what is asked for now (3.3.5.9.10). */
void durable_anew(struct compound *m);

#endif
