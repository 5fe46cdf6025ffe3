/*
 * Who is at the other end, and by which keys it is known: NEGOTIATE, SESSION_SETUP, LOGOFF.
 *
 * Without `logon` in the script everybody is a guest at the first SESSION_SETUP, and nothing is
 * signed. With it there is one user, SERVER_USER, who proves himself by SPNEGO with NTLM in it:
 * GSSAPI's acceptor does that, the client's file of passwords is one in memory. From then on the
 * session has a signing key, made by src/secure from the session key and, in 3.1.1, from the hash
 * of all messages that led to it; output.c adds ours as they leave.
 *
 * A request is answered signed where it came signed (3.3.4.1.1). Where the session signs, one that
 * is not signed, or wrongly, is refused (3.3.5.2.4).
 */
#include <gssapi/gssapi.h>
#include <gssapi/gssapi_ext.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ntstatus.h"
#include "internal.h"

/* GSS_C_INQ_SSPI_SESSION_KEY: 1.2.840.113554.1.2.2.5.5 */
static gss_OID_desc session_key = {11, (void *)"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02\x05\x05"};

/* ---- the one user ---- */

/* For all logons: gss-ntlmssp 1.2.0 loses a little of each that it makes itself. */
static gss_cred_id_t acceptor;

/* gss-ntlmssp reads its users from the file that NTLM_USER_FILE names. */
static void make_user(void)
{
    OM_uint32 minor;
    static const char line[] = SERVER_DOMAIN ":" SERVER_USER ":" SERVER_PASSWORD "\n";
    char name[64];
    int fd = memfd_create("users", MFD_CLOEXEC);
    if (fd < 0 || write(fd, line, sizeof(line) - 1) < 0)
        abort();
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    setenv("NTLM_USER_FILE", name, 1);
    if (GSS_ERROR(gss_acquire_cred(&minor, GSS_C_NO_NAME, GSS_C_INDEFINITE, GSS_C_NO_OID_SET,
                                   GSS_C_ACCEPT, &acceptor, NULL, NULL)))
        abort();
}

void server_logon_prepare(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_user);
}

void server_logon_done(struct server_logon *l)
{
    OM_uint32 minor;
    if (l->context != GSS_C_NO_CONTEXT)
        gss_delete_sec_context(&minor, &l->context, GSS_C_NO_BUFFER);
    secure_signer_free(l->signer);
    secure_sealer_free(l->opener);
    secure_sealer_free(l->sealer);
    *l = (struct server_logon){0};
}

/* ---- NEGOTIATE ---- */

static bool offers(const uint16_t *ids, unsigned n, uint16_t id)
{
    for (unsigned i = 0; i < n; i++)
        if (ids[i] == id)
            return true;
    return false;
}

/* The script's algorithm where the client has it; without a choice the context stays out, and the
 * dialect's own one holds (3.3.5.4). */
static enum secure_algorithm choose_signing(const struct exchange *x,
                                            const struct wire_negotiate_request *q,
                                            struct wire_negotiate_response *r)
{
    if (r->dialect < SMB2_DIALECT_300)
        return SECURE_HMAC_SHA256;
    if (r->dialect < SMB2_DIALECT_311 || x->script.signing == SERVER_SIGN_BY_DIALECT)
        return SECURE_AES_CMAC;
    uint16_t id = (uint16_t)(x->script.signing - SERVER_SIGN_HMAC);
    if (!offers(q->contexts.signing, q->contexts.signing_count, id))
        return SECURE_AES_CMAC;
    r->contexts.signing_count = 1;
    r->contexts.signing[0] = id;
    return (enum secure_algorithm)id;
}

uint32_t server_negotiate(struct exchange *x, struct rd msg, struct wr *w)
{
    struct server_logon *l = &x->c->logon;
    const struct server_script *script = &x->script;
    struct wire_negotiate_request q;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    struct wire_negotiate_response r = {
        .system_time = timespec_to_filetime(now),
        .security_mode = SMB2_NEGOTIATE_SIGNING_ENABLED |
                         (script->must_sign ? SMB2_NEGOTIATE_SIGNING_REQUIRED : 0),
        .dialect = script->dialect,
        .server_guid = "scripted server",
        .capabilities = script->dialect > SMB2_DIALECT_202
                            ? SMB2_GLOBAL_CAP_LARGE_MTU | script->capabilities
                            : 0,
        .max_transact = script->max_transact,
        .max_read = script->max_read,
        .max_write = script->max_transact,
    };
    if (wire_negotiate_request_decode(msg, &q) < 0)
        return REFUSED;
    if (!offers(q.dialect, q.dialect_count, r.dialect))
        return (uint32_t)STATUS_NOT_SUPPORTED;

    l->dialect = r.dialect;
    l->algorithm = choose_signing(x, &q, &r);
    server_seal_choose(x, &q, &r);
    l->chosen = (struct wire_validate_response){
        .capabilities = r.capabilities, .security_mode = r.security_mode, .dialect = r.dialect};
    memcpy(l->chosen.guid, r.server_guid, sizeof(l->chosen.guid));
    if (r.dialect == SMB2_DIALECT_311) {
        r.contexts.preauth_count = 1;
        r.contexts.preauth[0] = SMB2_PREAUTH_SHA512;
        r.contexts.salt_len = 32;
        secure_preauth_add(&l->preauth, msg.base, msg.len);
    }
    wire_negotiate_response_encode(w, &r);
    return STATUS_SUCCESS;
}

/* ---- SESSION_SETUP, LOGOFF ---- */

/* What both sides know now becomes the session's. */
static bool take_keys(struct server_logon *l)
{
    OM_uint32 minor, ignored;
    gss_buffer_set_t set = GSS_C_NO_BUFFER_SET;
    uint8_t key[SECURE_KEY_SIZE];
    OM_uint32 major = gss_inquire_sec_context_by_oid(&minor, l->context, &session_key, &set);
    bool good = !GSS_ERROR(major) && set && set->count && set->elements[0].length;
    l->key_len = good && set->elements[0].length < sizeof(l->key) ? set->elements[0].length : 0;
    if (l->key_len)
        memcpy(l->key, set->elements[0].value, l->key_len);
    gss_release_buffer_set(&ignored, &set);
    return l->key_len >= SECURE_KEY_SIZE &&
           secure_signing_key(l->dialect, l->key, &l->preauth, key) == 0 &&
           secure_signer_new(l->algorithm, key, &l->signer) == 0 && server_seal_keys(l);
}

/* One leg: the token that goes back is l->token. */
static uint32_t accept_token(struct server_logon *l, struct rd token)
{
    OM_uint32 minor;
    gss_buffer_desc in = {token.len, (void *)(uintptr_t)token.base};
    OM_uint32 major =
        gss_accept_sec_context(&minor, &l->context, acceptor, &in, GSS_C_NO_CHANNEL_BINDINGS, NULL,
                               NULL, &l->token, NULL, NULL, NULL);
    if (GSS_ERROR(major))
        return (uint32_t)STATUS_LOGON_FAILURE;
    return major == GSS_S_COMPLETE ? STATUS_SUCCESS : (uint32_t)STATUS_MORE_PROCESSING_REQUIRED;
}

/* A session that stands keeps its keys whoever logs on again (3.3.5.5.2). */
static uint32_t log_on(struct exchange *x, struct rd msg, struct rd token)
{
    struct server_logon *l = &x->c->logon;
    OM_uint32 minor;
    if (l->dialect == SMB2_DIALECT_311 && !l->signer)
        secure_preauth_add(&l->preauth, msg.base, msg.len);
    uint32_t status = accept_token(l, token);
    if (status != STATUS_MORE_PROCESSING_REQUIRED) {
        if (status == STATUS_SUCCESS && !l->signer && !take_keys(l))
            status = (uint32_t)STATUS_LOGON_FAILURE;
        gss_delete_sec_context(&minor, &l->context, GSS_C_NO_BUFFER);
    }
    if (status == STATUS_SUCCESS)
        x->reply.flags |= SMB2_FLAGS_SIGNED;
    return status;
}

uint32_t server_session_setup(struct exchange *x, struct rd msg, struct wr *w)
{
    struct server_logon *l = &x->c->logon;
    struct wire_session_setup_request q;
    struct wire_session_setup_response r = {0};
    uint32_t status = STATUS_SUCCESS;
    OM_uint32 minor;
    if (wire_session_setup_request_decode(msg, &q) < 0)
        return REFUSED;
    if (!x->c->session_id)
        x->c->session_id = ++x->s->serial;
    x->reply.session_id = x->c->session_id;
    if (x->script.logon)
        status = log_on(x, msg, q.token);
    else
        r.session_flags = SMB2_SESSION_FLAG_IS_GUEST;
    if (l->signer && x->script.encrypts)
        r.session_flags |= SMB2_SESSION_FLAG_ENCRYPT_DATA;
    l->must_sign =
        l->signer && (x->script.must_sign || (q.security_mode & SMB2_NEGOTIATE_SIGNING_REQUIRED));
    r.token = rd_init(l->token.value, l->token.length);
    if (wire_has_body(SMB2_SESSION_SETUP, status))
        wire_session_setup_response_encode(w, &r);
    gss_release_buffer(&minor, &l->token);
    return status;
}

uint32_t server_logoff(struct exchange *x, struct rd msg, struct wr *w)
{
    if (wire_empty_decode(msg) < 0)
        return REFUSED;
    server_open_close_all(x->s, x->c);
    x->c->session_id = 0;
    x->c->tree_id = 0;
    x->c->logon.over = true;
    wire_empty_encode(w);
    return STATUS_SUCCESS;
}

/* ---- signatures ---- */

/* What the hash of 3.1.1 takes in of what we say: all but the last word. */
static bool is_hashed(const struct wire_header *h)
{
    return h->command == SMB2_NEGOTIATE ||
           (h->command == SMB2_SESSION_SETUP && h->status == STATUS_MORE_PROCESSING_REQUIRED);
}

void server_logon_hash(struct server_logon *l, const struct wire_header *h, const uint8_t *message,
                       size_t len)
{
    if (l->dialect == SMB2_DIALECT_311 && !l->signer && is_hashed(h))
        secure_preauth_add(&l->preauth, message, len);
}

void server_logon_sign(const struct server_logon *l, const struct wire_header *h, uint8_t *message,
                       size_t len)
{
    if (l->signer && h->flags & SMB2_FLAGS_SIGNED)
        secure_sign(l->signer, message, len);
}

bool server_logon_trusts(const struct server_logon *l, const struct wire_header *h, struct rd msg)
{
    if (!l->signer || l->request_sealed || h->command == SMB2_NEGOTIATE ||
        h->command == SMB2_SESSION_SETUP)
        return true;
    if (h->flags & SMB2_FLAGS_SIGNED)
        return secure_verify(l->signer, msg.base, msg.len) == 0;
    return !l->must_sign;
}
