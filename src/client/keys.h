/* What comes of a logon's key. Private to this room. */
#ifndef LARDER_CLIENT_KEYS_H
#define LARDER_CLIENT_KEYS_H

#include "client/auth.h"
#include "client/conn.h"

/* What both sides know at the end of a logon. */
struct logon_key {
    uint64_t session_id;
    uint8_t bytes[AUTH_KEY_MAX];
    size_t len;
    const struct secure_preauth *preauth; /* 3.1.1 only */
};

struct session_keys {
    struct secure_signer *signer;
    struct seal *seal; /* NULL: no cipher was agreed on */
};

/* Derives the keys for what the connection has agreed on, and writes them into the log, where there
 * is one. All but `ret` is wiped, but for `key`, which is the caller's. 0, or negative: the error
 * is set, without its context. */
int session_keys_make(const struct conn *c, const struct logon_key *key, struct client_keylog *log,
                      struct session_keys *ret, struct error *err);
void session_keys_done(struct session_keys *k);

/* ---- keylog.c ---- */

/* One line for one session, in one write. `keys` NULL: without those of the directions, which are
 * `cipher_len` bytes each. */
int keylog_write(struct client_keylog *log, const struct logon_key *key,
                 const struct secure_cipher_keys *keys, size_t cipher_len, struct error *err);

#endif
