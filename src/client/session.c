/*
 * The session: SESSION_SETUP until both sides are satisfied, then the keys; LOGOFF.
 * (3.2.4.2.3, 3.2.5.3)
 *
 * The last answer is special. It completes the exchange, so the key that verifies it exists only
 * after it has been taken, and it cannot be verified on the receive thread: it is verified here,
 * before anything else is sent. In 3.1.1 it must be signed, since its signature is what proves that
 * nobody changed the negotiation on its way.
 *
 * Guests have no key: nothing is signed or encrypted, and anybody on the way can change anything.
 * That is only accepted from callers who asked for it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/keys.h"
#include "client/operation.h"
#include "client/renew.h"
#include "client/seal.h"

enum { LEGS_MAX = 8 };

struct logon {
    struct client *client;
    const struct client_options *options;
    struct secure_preauth *preauth; /* of 3.1.1 */
    struct auth *auth;
    struct error *err;
    struct compound *last; /* the answered request */
    struct wire_session_setup_response response;
    bool guest;
};

static int failed(const struct logon *l, int code, const char *text)
{
    return error_set(l->err, code, 0, "cannot log on to %.120s as \"%.80s\": %s", l->client->host,
                     auth_user(l->auth), text);
}

static int refused(const struct logon *l, uint32_t status)
{
    const char *hint = auth_hint(l->client->source, status);
    if (status_is(status, STATUS_ACCESS_DENIED) && !l->client->conn->cipher)
        hint = "the server may insist on encryption, for which there is no cipher in common";
    int r =
        error_status(l->err, status, "cannot log on to %.120s as \"%.80s\"%s%s%s", l->client->host,
                     auth_user(l->auth), hint ? " (" : "", hint ? hint : "", hint ? ")" : "");
    return r ? r : failed(l, -EBADMSG, "the server answered with a status that makes no sense");
}

/* ---- one leg ---- */

static int chain(const struct logon *l, const void *message, size_t len)
{
    if (l->client->conn->dialect != SMB2_DIALECT_311)
        return 0;
    int r = secure_preauth_add(l->preauth, message, len);
    return r < 0 ? failed(l, r, "cannot compute SHA-512") : 0;
}

static int send_token(struct logon *l, struct rd token)
{
    struct conn *c = l->client->conn;
    struct error why;
    const struct wire_session_setup_request request = {
        .security_mode = l->options->require_signing ? SMB2_NEGOTIATE_SIGNING_REQUIRED
                                                     : SMB2_NEGOTIATE_SIGNING_ENABLED,
        .previous_session_id = l->client->revival.session_id,
        .token = token,
    };
    compound_free(l->last);
    l->last = compound_new(c, token.len);
    if (!l->last)
        return failed(l, -ENOMEM, "out of memory");
    wire_session_setup_request_encode(compound_add(l->last, SMB2_SESSION_SETUP, 0), &request);
    int r = compound_run(l->last, &why);
    if (r < 0)
        return failed(l, why.code, why.text);

    const struct request *q = &l->last->request[0];
    uint32_t status = q->reply.status;
    if (!status_is(status, STATUS_SUCCESS) && !status_is(status, STATUS_MORE_PROCESSING_REQUIRED))
        return refused(l, status);
    if (wire_session_setup_response_decode(q->message, &l->response) < 0)
        return failed(l, -EBADMSG, "the server's answer to SESSION_SETUP is malformed");

    r = chain(l, l->last->buf + q->offset, q->len);
    if (r == 0 && !status_is(status, STATUS_SUCCESS)) {
        conn_set_session(c, q->reply.session_id, NULL, false);
        r = chain(l, q->message.base, q->message.len);
    }
    return r;
}

/* ---- the end of the exchange ---- */

/* What a guest's session can not be is said by the setting that wants it. */
static int check_guest(const struct logon *l)
{
    const struct client_options *o = l->options;
    if (o->require_encryption)
        return failed(l, -EACCES,
                      "the server offers only a guest session, which cannot be encrypted, and "
                      "encryption is required (seal, RequireEncryption)");
    if (o->accept_guest)
        return 0;
    if (!o->guest && !auth_is_anonymous(l->client->source))
        return failed(l, -EACCES,
                      "the server offers only a guest session, which cannot be signed (is the "
                      "user known there? `guest` or EnableInsecureGuestLogons accepts it, `sign` "
                      "does not)");
    if (o->require_signing)
        return failed(l, -EACCES,
                      "the server offers only a guest session, which cannot be signed, and "
                      "signing is required (sign, RequireSecuritySignature)");
    return 0;
}

static int accept_guest(struct logon *l)
{
    int r = check_guest(l);
    if (r < 0)
        return r;
    l->guest = true;
    conn_set_session(l->client->conn, l->last->request[0].reply.session_id, NULL, false);
    return 0;
}

static int verify_last(const struct logon *l, const struct secure_signer *signer, bool signing)
{
    const struct request *q = &l->last->request[0];
    if (!(q->reply.flags & SMB2_FLAGS_SIGNED)) {
        if (!signing && l->client->conn->dialect != SMB2_DIALECT_311)
            return 0;
        return failed(l, -EBADMSG,
                      "the server's last answer is not signed (SMB 3.1.1 wants that always, "
                      "others where RequireSecuritySignature does)");
    }
    int r = secure_verify(signer, q->message.base, q->message.len);
    return r < 0 ? failed(l, r,
                          "the signature of the server's last answer is wrong (the "
                          "negotiation was changed on its way, or the keys differ)")
                 : 0;
}

static int make_keys(struct logon *l, struct session_keys *ret)
{
    struct logon_key key = {.session_id = l->last->request[0].reply.session_id,
                            .preauth = l->preauth};
    struct error why;

    int r = auth_key(l->auth, key.bytes, &key.len, l->err);
    if (r < 0)
        return r;
    r = session_keys_make(l->client->conn, &key, l->options->keylog, ret, &why);
    explicit_bzero(&key, sizeof(key));
    return r < 0 ? failed(l, r, why.text) : 0;
}

/* Signed, encrypted, or neither: as the caller or the server wants it, whoever wants more. */
static int start_session(struct logon *l)
{
    struct conn *c = l->client->conn;
    bool signing =
        l->options->require_signing || (c->server_security_mode & SMB2_NEGOTIATE_SIGNING_REQUIRED);
    bool server_insists = l->response.session_flags & SMB2_SESSION_FLAG_ENCRYPT_DATA;
    struct session_keys keys;

    if (server_insists && !c->cipher) {
        error_set(l->err, -EPROTO, 0, "cannot log on to %.120s: it insists on encryption, but %s",
                  l->client->host, conn_why_no_cipher(c));
        return -EPROTO;
    }
    int r = make_keys(l, &keys);
    if (r < 0)
        return r;
    r = verify_last(l, keys.signer, signing);
    if (r < 0) {
        session_keys_done(&keys);
        return r;
    }
    conn_set_session(c, l->last->request[0].reply.session_id, keys.signer, signing);
    conn_set_seal(c, keys.seal);
    l->client->facts.signing = signing;
    l->client->facts.signing_algorithm =
        signing ? secure_algorithm_name(c->signing_algorithm) : "none";
    if (server_insists || l->options->require_encryption)
        start_sealing(l->client);
    return 0;
}

/* The server is satisfied. */
static int finish(struct logon *l)
{
    struct rd ignored;
    if (auth_is_anonymous(l->client->source) ||
        l->response.session_flags & (SMB2_SESSION_FLAG_IS_GUEST | SMB2_SESSION_FLAG_IS_NULL))
        return accept_guest(l);
    if (!auth_complete(l->auth)) {
        int r = auth_step(l->auth, l->response.token, &ignored, l->err);
        if (r < 0)
            return r;
    }
    if (!auth_complete(l->auth))
        return failed(l, -EACCES, "the server ended the exchange before it proved itself");
    return start_session(l);
}

static int exchange(struct logon *l)
{
    struct rd token = rd_init(NULL, 0);
    for (unsigned leg = 0; leg < LEGS_MAX; leg++) {
        int r = auth_step(l->auth, token, &token, l->err);
        if (r < 0)
            return r;
        if (token.len == 0)
            return failed(l, -EACCES, "the server asks for more than there is to say");
        r = send_token(l, token);
        if (r < 0)
            return r;
        if (status_is(compound_status(l->last, 0), STATUS_SUCCESS))
            return finish(l);
        token = l->response.token;
    }
    return failed(l, -EACCES, "the server never ends the exchange");
}

int session_setup(struct client *c, const struct client_options *options,
                  struct secure_preauth *preauth, struct error *err)
{
    struct logon l = {.client = c, .options = options, .preauth = preauth, .err = err};
    c->facts.signing_algorithm = "none";
    c->facts.encryption = "none";
    int r = auth_new(c->source, &l.auth, err);
    if (r == 0)
        r = exchange(&l);
    if (r == 0) {
        c->facts.guest = l.guest;
        renew_begin(c, l.auth, !l.guest);
        snprintf(c->user, sizeof(c->user), "%s", auth_user(l.auth));
        c->facts.session_id = l.last->request[0].reply.session_id;
    }
    compound_free(l.last);
    auth_free(l.auth);
    return r;
}

void session_logoff(struct client *c)
{
    struct compound *m = compound_new(c->conn, 0);
    if (!m)
        return;
    wire_empty_encode(compound_add(m, SMB2_LOGOFF, 0));
    (void)compound_run(m, NULL);
    compound_free(m);
}
