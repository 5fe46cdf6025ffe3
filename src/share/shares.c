/*
 * What a server shares, by the options that a mount would have: a connection to IPC$ for this one
 * question. There is nothing to come back for where it is lost.
 */
#include "share/shares.h"

#include "observe/observe.h"

int share_list_shares(const struct share_options *o, client_share_fn *fn, void *user,
                      struct error *err)
{
    struct client_options options;
    struct client *c;
    struct observe *observe = NULL;
    struct client_keylog *keylog = NULL;
    int r = share_options_check(o, err);
    if (r == 0)
        r = observe_new(&(struct observe_options){0}, &observe, err);
    if (r == 0 && o->keylog_path)
        r = client_keylog_open(o->keylog_path, &keylog, err);
    if (r == 0) {
        share_options_client(o, &options);
        options.share = "IPC$";
        options.pipes = true;
        options.reconnect = CLIENT_NEVER;
        options.observe = observe;
        options.keylog = keylog;
        r = client_connect(&options, &c, err);
    }
    if (r == 0) {
        r = client_shares(c, fn, user, err);
        client_free(c);
    }
    client_keylog_close(keylog);
    observe_free(observe);
    return r;
}
