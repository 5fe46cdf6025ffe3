/* What a server shares. */
#ifndef LARDER_SHARE_SHARES_H
#define LARDER_SHARE_SHARES_H

#include "client/client.h"
#include "share/options.h"

/* By a connection of its own to IPC$ at o->host, whatever share the options name. As client_shares,
 * and whatever connecting may say. */
int share_list_shares(const struct share_options *o, client_share_fn *fn, void *user,
                      struct error *err);

#endif
