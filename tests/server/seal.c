/*
 * The scripted server's encryption (2.2.41): which cipher is told, the keys, and frames that come
 * and go sealed.
 *
 * What the script says of the cipher is what the NEGOTIATE is answered, whether the client has
 * offered it or not; the keys exist where the client would have them, too. From the first request
 * on that comes sealed all that this connection is sent is sealed, but for what the script wants
 * plain. A frame is sealed behind the server's own alterations and before those on the way, which
 * then count from the transform header.
 */
#include <string.h>

#include "base/ntstatus.h"
#include "internal.h"

enum { SEALED = 1 };

void server_seal_choose(const struct exchange *x, const struct wire_negotiate_request *q,
                        struct wire_negotiate_response *r)
{
    struct server_logon *l = &x->c->logon;
    l->cipher = 0;
    if (r->dialect == SMB2_DIALECT_311 && x->script.cipher) {
        r->contexts.cipher_count = 1;
        r->contexts.cipher[0] = x->script.cipher;
        l->cipher = x->script.cipher;
    } else if (r->dialect >= SMB2_DIALECT_300 && r->dialect < SMB2_DIALECT_311) {
        bool both = r->capabilities & q->capabilities & SMB2_GLOBAL_CAP_ENCRYPTION;
        l->cipher = both ? SECURE_AES128_CCM : 0;
    }
}

bool server_seal_keys(struct server_logon *l)
{
    struct secure_cipher_keys keys;
    if (l->cipher < SECURE_AES128_CCM || l->cipher > SECURE_AES256_GCM)
        return true;
    enum secure_cipher cipher = l->cipher;
    return secure_encryption_keys(l->dialect, cipher, l->key, l->key_len, &l->preauth, &keys) ==
               0 &&
           secure_sealer_new(cipher, keys.to_server, &l->opener) == 0 &&
           secure_sealer_new(cipher, keys.from_server, &l->sealer) == 0;
}

bool server_unseal(struct server_conn *c, struct rd *frame)
{
    struct server_logon *l = &c->logon;
    struct rd rest = *frame;
    struct wire_transform t;
    l->request_sealed = wire_protocol(frame) == WIRE_TRANSFORM;
    if (!l->request_sealed)
        return true;
    uint8_t *at = (uint8_t *)(uintptr_t)frame->base; /* within c->in, which is ours */
    if (!l->opener || wire_transform_decode(&rest, &t) < 0 || t.flags != SEALED ||
        t.session_id != c->session_id || t.original_size != rd_left(&rest) ||
        secure_unseal(l->opener, at, frame->len, at + WIRE_TRANSFORM_SIZE) < 0)
        return false;
    l->seals = true;
    *frame = rd_init(at + WIRE_TRANSFORM_SIZE, frame->len - WIRE_TRANSFORM_SIZE);
    return true;
}

bool server_seal_demands(const struct exchange *x)
{
    const struct server_logon *l = &x->c->logon;
    if (!l->sealer || l->request_sealed || x->request->command == SMB2_SESSION_SETUP)
        return false;
    return x->script.encrypts ||
           (x->script.share_encrypts && x->request->command != SMB2_TREE_CONNECT);
}

void server_seal(struct server_conn *c, struct server_out *out)
{
    struct server_logon *l = &c->logon;
    size_t len = out->w.pos - WIRE_FRAME_HEADER;
    if (!l->seals || out->plain)
        return;
    uint8_t *at = out->w.buf + WIRE_FRAME_HEADER;
    memmove(at + WIRE_TRANSFORM_SIZE, at, len);
    struct wire_transform t = {
        .original_size = (uint32_t)len, .flags = SEALED, .session_id = c->session_id};
    l->nonce++;
    memcpy(t.nonce, &l->nonce, sizeof(l->nonce));
    out->w.pos = WIRE_FRAME_HEADER;
    wire_transform_encode(&out->w, &t);
    out->w.pos += len;
    secure_seal(l->sealer, at, WIRE_TRANSFORM_SIZE + len);

    out->element_count = 1;
    out->elements[0] = WIRE_FRAME_HEADER;
    for (unsigned i = 0; i < out->altered_count; i++)
        out->altered[i].at = WIRE_FRAME_HEADER;
}
