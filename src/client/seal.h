/* The encryption of a session, and frames that are sealed by it. Private to this room. */
#ifndef LARDER_CLIENT_SEAL_H
#define LARDER_CLIENT_SEAL_H

#include "client/conn.h"

/* 0, -ENOMEM, or what getrandom says. */
int seal_new(enum secure_cipher c, const struct secure_cipher_keys *keys, uint64_t session_id,
             struct seal **ret);
/* Wipes the keys. Returns NULL. NULL is allowed. */
struct seal *seal_free(struct seal *s);

/* Seals a whole frame, its header in front and `tail` at its end, which stay as they are. *ret: the
 * frame that goes instead. 0, -ENOMEM, or -EOVERFLOW where all nonces are used up. Any thread. */
int seal_frame(struct seal *s, struct frame_pool *pool, struct rd frame, struct rd tail,
               struct frame **ret);
/* For the receive thread: decrypts what came, in place. *ret: the messages; *ret_session_id: the
 * session that they were encrypted for, this connection's. */
int seal_open(struct conn *c, struct frame *f, struct rd *ret, uint64_t *ret_session_id,
              struct error *why);

/* Makes the keys known to both directions; takes `s` over. */
void conn_set_seal(struct conn *c, struct seal *s);
/* For texts: the server, or the share, is to be encrypted, but... Only where there is no cipher. */
const char *conn_why_no_cipher(const struct conn *c);
/* All requests from now on are sealed, and said to be. */
void start_sealing(struct client *c);

#endif
