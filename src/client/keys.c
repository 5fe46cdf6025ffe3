/*
 * The keys of a session (3.2.5.3.1): from the key that the logon has left both sides with, one for
 * signatures, and, where a cipher was agreed on, one for each direction of what is encrypted.
 *
 * They are derived whether the session is going to be signed and encrypted or not: the last answer
 * of the logon, a TREE_CONNECT and the check of the negotiation are signed in any case, and a share
 * may insist on encryption where the session does not. Key bytes stand on the stack of these
 * functions alone, and are wiped there; what stays is inside the signer and the sealers, which wipe
 * theirs.
 */
#include "client/keys.h"

#include <errno.h>
#include <string.h>

#include "client/seal.h"

static int make_signer(const struct conn *c, const struct logon_key *key,
                       struct secure_signer **ret)
{
    uint8_t bytes[SECURE_KEY_SIZE];
    int r = secure_signing_key(c->dialect, key->bytes, key->preauth, bytes);
    if (r == 0)
        r = secure_signer_new(c->signing_algorithm, bytes, ret);
    explicit_bzero(bytes, sizeof(bytes));
    return r;
}

int session_keys_make(const struct conn *c, const struct logon_key *key, struct client_keylog *log,
                      struct session_keys *ret, struct error *err)
{
    struct session_keys made = {0};
    struct secure_cipher_keys keys = {0};
    enum secure_cipher cipher = c->cipher;

    int r = make_signer(c, key, &made.signer);
    if (r == 0 && cipher)
        r = secure_encryption_keys(c->dialect, cipher, key->bytes, key->len, key->preauth, &keys);
    if (r == 0 && cipher)
        r = seal_new(cipher, &keys, key->session_id, &made.seal);
    if (r < 0)
        error_set(err, r, 0, "libcrypto cannot make the keys: %s", strerror(-r));
    else if (log)
        r = keylog_write(log, key, cipher ? &keys : NULL,
                         cipher ? secure_cipher_key_size(cipher) : 0, err);
    explicit_bzero(&keys, sizeof(keys));
    if (r < 0) {
        session_keys_done(&made);
        return r;
    }
    *ret = made;
    return 0;
}

void session_keys_done(struct session_keys *k)
{
    k->signer = secure_signer_free(k->signer);
    k->seal = seal_free(k->seal);
}
