/*
 * Encrypted records, and what is needed to open them.
 *
 * A session's keys for its two directions are given, or derived from its session key: in 3.0 and
 * 3.0.2 from that alone, in 3.1.1 together with the hash over NEGOTIATE and SESSION_SETUP, which is
 * chained here as those messages pass. Where the capture began in the middle, dialect and cipher
 * are not known. So a record is tried with every cipher that may be meant and every key there is
 * for it: a wrong one cannot open it, since the ciphers authenticate. What opened one record of a
 * session opens the others of that direction.
 */
#include <stdlib.h>
#include <string.h>

#include "base/ntstatus.h"
#include "capture/dissector.h"

/* ---- the pre-authentication hash: 3.2.5.2, 3.2.5.3.1 ---- */

/* A message of which a part was not captured ends the chain. */
static bool chain(struct secure_preauth *p, const struct element *e)
{
    return !e->cut && secure_preauth_add(p, e->msg.base, e->length) == 0;
}

static void setup_goes_on(struct session *s, const struct element *e)
{
    s->preauth_known = s->preauth_known && chain(&s->preauth, e);
}

void preauth_request(const struct element *e, struct pending *p)
{
    struct conn *c = e->conn;
    if (e->h.command == SMB2_NEGOTIATE) {
        c->preauth = (struct secure_preauth){0};
        c->preauth_known = chain(&c->preauth, e);
    } else if (e->session_id) {
        struct session *s = session_of(c, e->session_id);
        if (s && s->setup_flow == c->flow->id)
            setup_goes_on(s, e);
    } else if (c->preauth_known) { /* a new session, whose id the response will tell */
        p->preauth = malloc(sizeof(*p->preauth));
        if (!p->preauth)
            return;
        *p->preauth = c->preauth;
        if (!chain(p->preauth, e)) {
            free(p->preauth);
            p->preauth = NULL;
        }
    }
}

static void setup_begins(struct conn *c, struct session *s, const struct pending *p)
{
    s->setup_flow = c->flow->id;
    s->preauth_known = p->preauth != NULL;
    if (p->preauth)
        s->preauth = *p->preauth;
    for (size_t i = 0; i < 2; i++)
        s->opener[i] = secure_sealer_free(s->opener[i]);
}

void preauth_response(const struct element *e, const struct pending *p)
{
    struct conn *c = e->conn;
    if (e->h.command == SMB2_NEGOTIATE) {
        c->preauth_known = c->preauth_known && p->x.request_seen && chain(&c->preauth, e);
        return;
    }
    struct session *s = e->session_id ? session_of(c, e->session_id) : NULL;
    if (!s)
        return;
    if (p->x.request_seen && p->session_id == 0)
        setup_begins(c, s, p);
    if (s->setup_flow != c->flow->id)
        return; /* another channel is bound, or the session authenticates again: same keys */
    if (e->h.status == (uint32_t)STATUS_MORE_PROCESSING_REQUIRED) {
        setup_goes_on(s, e);
        return;
    }
    s->setup_flow = 0;
    s->dialect = c->facts.dialect;
    s->cipher = c->facts.cipher;
}

/* ---- keys ---- */

/* A record being opened. */
struct attempt {
    struct session *session;
    const uint8_t *frame;
    size_t len;
    uint8_t *out;
    bool from_server;
};

static bool try_key(const struct attempt *a, enum secure_cipher c, const uint8_t *key)
{
    struct secure_sealer *s;
    if (secure_sealer_new(c, key, &s) < 0)
        return false;
    if (secure_unseal(s, a->frame, a->len, a->out) < 0) {
        secure_sealer_free(s);
        return false;
    }
    a->session->opener[a->from_server] = s;
    return true;
}

static bool try_derived(const struct attempt *a, uint16_t dialect, enum secure_cipher c)
{
    const struct session *s = a->session;
    struct secure_cipher_keys keys;
    if (s->key->session_len == 0 || (dialect == SMB2_DIALECT_311 && !s->preauth_known) ||
        secure_encryption_keys(dialect, c, s->key->session_key, s->key->session_len, &s->preauth,
                               &keys) < 0)
        return false;
    return try_key(a, c, a->from_server ? keys.from_server : keys.to_server);
}

/* Both, since people have them in either order, and Wireshark takes them so. */
static bool try_given(const struct attempt *a, enum secure_cipher c)
{
    const struct key *k = a->session->key;
    size_t size = secure_cipher_key_size(c);
    return (k->from_len == size && try_key(a, c, k->from_server)) ||
           (k->to_len == size && try_key(a, c, k->to_server));
}

/* Whether the session may speak this cipher, as far as is known. */
static bool may_be(const struct session *s, enum secure_cipher c)
{
    if (s->dialect == 0 || (s->dialect == SMB2_DIALECT_311 && s->cipher == 0))
        return true;
    return c == (s->dialect == SMB2_DIALECT_311 ? s->cipher : SECURE_AES128_CCM);
}

static bool try_all(const struct attempt *a)
{
    const struct session *s = a->session;
    if (s->opener[a->from_server])
        return secure_unseal(s->opener[a->from_server], a->frame, a->len, a->out) == 0;
    for (enum secure_cipher c = SECURE_AES128_CCM; c <= SECURE_AES256_GCM; c++) {
        if (!may_be(s, c))
            continue;
        if (try_given(a, c) || try_derived(a, SMB2_DIALECT_311, c))
            return true;
        if (c == SECURE_AES128_CCM && try_derived(a, SMB2_DIALECT_300, c))
            return true;
    }
    return false;
}

/* ---- records ---- */

static bool stays_closed(struct dissector *d, const struct record *r)
{
    d->counts.encrypted_messages++;
    d->counts.encrypted_by_direction[r->from_server]++;
    return false;
}

bool decrypt_record(struct conn *c, const struct record *r, struct rd *ret_plain)
{
    struct dissector *d = c->d;
    struct rd frame = rd_init(r->data, r->captured);
    struct wire_transform t;

    c->facts.encrypted_seen = true;
    if (wire_transform_decode(&frame, &t) < 0) {
        d->counts.malformed += r->captured == r->length;
        return stays_closed(d, r);
    }
    struct session *s = session_of(c, t.session_id);
    if (!s || !s->key || r->captured < r->length || rd_left(&frame) == 0 ||
        !dissector_room(&d->plain, &d->plain_cap, r->length))
        return stays_closed(d, r);

    struct attempt a = {s, r->data, r->length, d->plain, r->from_server};
    if (!try_all(&a)) {
        d->counts.wrong_keys++;
        return stays_closed(d, r);
    }
    d->counts.decrypted_messages++;
    *ret_plain = rd_init(d->plain, r->length - WIRE_TRANSFORM_SIZE);
    return true;
}
