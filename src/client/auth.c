/*
 * Logging on: what is known of the user (a source), and the exchange of tokens (an auth). Through
 * GSSAPI: SPNEGO, with NTLM by the gss-ntlmssp mechanism or Kerberos in it, one of them alone, so
 * that no server can talk us down to the weaker one. An anonymous logon is made by hand.
 *
 * What was learned the hard way:
 * - Only mutual authentication and integrity are asked for. NTLM's confidentiality is of no use to
 *   SMB, and ksmbd refuses it.
 * - The server's last token carries a checksum over the list of mechanisms. It has to be fed back
 *   although the server is satisfied already, or SPNEGO's own downgrade protection is lost. A
 *   guest's last token has none, and must not be fed (the session's business).
 * - The password goes to NTLM by a key that only gss-ntlmssp knows. As everybody's password it
 *   would go to Kerberos, too, which asks the KDC of the machine's realm for a ticket with it.
 * - gss-ntlmssp cannot log on anonymously. A guest without a name of its own logs on as the user
 *   `guest`: known or unknown to the server, that is what servers map to a guest session.
 */
#include "client/auth.h"

#include <errno.h>
#include <gssapi/gssapi.h>
#include <gssapi/gssapi_ext.h>
#include <gssapi/gssapi_krb5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rd.h"
#include "client/kerberos.h"

/* 1.3.6.1.5.5.2, 1.3.6.1.4.1.311.2.2.10, 1.2.840.113554.1.2.2, and GSS_C_INQ_SSPI_SESSION_KEY
 * 1.2.840.113554.1.2.2.5.5 */
static gss_OID_desc spnego = {6, (void *)"\x2b\x06\x01\x05\x05\x02"};
static gss_OID_desc ntlmssp = {10, (void *)"\x2b\x06\x01\x04\x01\x82\x37\x02\x02\x0a"};
static gss_OID_desc kerberos = {9, (void *)"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02"};
static gss_OID_desc session_key = {11, (void *)"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02\x05\x05"};

struct auth_source {
    enum client_logon logon;
    char *host;
    char *user;     /* of NTLM as GSSAPI gets it; of Kerberos NULL for the cache's */
    char *realm;    /* of Kerberos; NULL: none */
    char *password; /* NULL: none */
    char *keytab;   /* NULL: none */
    bool block_ntlm;
    bool other_cache;
    int64_t cache_uid;
};

struct auth {
    const struct auth_source *source;
    const char *user; /* the source's, or the ticket's */
    gss_cred_id_t cred;
    gss_name_t server;
    gss_ctx_id_t context;
    gss_buffer_desc token; /* our last one */
    bool complete;
    struct kerberos_ticket ticket;
    unsigned leg;                       /* of an anonymous logon */
    uint8_t bytes[ANONYMOUS_TOKEN_MAX]; /* its last token */
};

/* ---- who, and by what ---- */

static bool copy(char **to, const char *from)
{
    *to = from ? strdup(from) : NULL;
    return *to || !from;
}

/* A domain is a realm where it has a dot, in capitals; without one it is a name of NTLM's. */
static bool copy_realm(char **to, const char *domain)
{
    if (!domain || !strchr(domain, '.'))
        return true;
    if (!copy(to, domain))
        return false;
    for (char *p = *to; *p; p++)
        *p = *p >= 'a' && *p <= 'z' ? (char)(*p - 'a' + 'A') : *p;
    return true;
}

/* "DOMAIN\user" where the domain stands apart, else as given. */
static char *ntlm_name(const struct client_options *options)
{
    const char *user = options->user ? options->user : "guest";
    bool apart = options->domain && *options->domain && !strpbrk(user, "\\@");
    char *name;
    return asprintf(&name, "%s%s%s", apart ? options->domain : "", apart ? "\\" : "", user) < 0
               ? NULL
               : name;
}

static bool fill(struct auth_source *s, const struct client_options *options)
{
    bool by_ticket = auth_by_ticket(s);
    if (auth_is_anonymous(s))
        return copy(&s->host, options->host) && copy(&s->user, "nobody");
    if (by_ticket) {
        s->other_cache = options->cache_uid != NULL;
        s->cache_uid = options->cache_uid ? *options->cache_uid : 0;
        if (!copy(&s->user, options->user) || !copy(&s->keytab, options->keytab) ||
            !copy_realm(&s->realm, options->domain))
            return false;
    } else {
        s->user = ntlm_name(options);
        if (!s->user)
            return false;
    }
    const char *password = options->password ? options->password : by_ticket ? NULL : "";
    return copy(&s->host, options->host) && copy(&s->password, password);
}

int auth_source_new(const struct client_options *options, struct auth_source **ret,
                    struct error *err)
{
    bool ntlm = options->logon == CLIENT_LOGON_NTLM;
    if (ntlm && options->block_ntlm)
        return error_set(err, -EACCES, 0,
                         "cannot log on to %.200s: NTLM is blocked here (BlockNTLM=true), and %s",
                         options->host,
                         options->guest ? "a guest logs on by it; sec=none does not"
                                        : "sec= asks for it; sec=krb5 wants a ticket (run kinit), "
                                          "a keytab or a password");
    if (ntlm && !options->guest && (!options->user || !*options->user))
        return error_set(err, -EINVAL, 0, "no user name to log on with (or guest)");
    struct auth_source *s = calloc(1, sizeof(*s));
    if (!s)
        return error_set(err, -ENOMEM, 0, "out of memory");
    s->logon = options->logon;
    s->block_ntlm = options->block_ntlm;
    if (!fill(s, options)) {
        auth_source_free(s);
        return error_set(err, -ENOMEM, 0, "out of memory");
    }
    *ret = s;
    return 0;
}

struct auth_source *auth_source_free(struct auth_source *s)
{
    if (!s)
        return NULL;
    if (s->password)
        explicit_bzero(s->password, strlen(s->password));
    free(s->password);
    free(s->keytab);
    free(s->realm);
    free(s->user);
    free(s->host);
    free(s);
    return NULL;
}

const char *auth_source_logon(const struct auth_source *s)
{
    switch (s->logon) {
    case CLIENT_LOGON_NTLM:
        return "NTLM";
    case CLIENT_LOGON_KERBEROS:
        return "Kerberos";
    case CLIENT_LOGON_ANONYMOUS:
        break;
    }
    return "anonymous";
}

bool auth_by_ticket(const struct auth_source *s)
{
    return s->logon == CLIENT_LOGON_KERBEROS;
}

bool auth_blocks_ntlm(const struct auth_source *s)
{
    return s->block_ntlm;
}

bool auth_is_anonymous(const struct auth_source *s)
{
    return s->logon == CLIENT_LOGON_ANONYMOUS;
}

/* ---- errors ---- */

static void gss_text(OM_uint32 code, int type, gss_OID mech, char *out, size_t cap)
{
    OM_uint32 minor, more = 0;
    gss_buffer_desc text;
    out[0] = 0;
    if (gss_display_status(&minor, code, type, mech, &more, &text) == GSS_S_COMPLETE) {
        snprintf(out, cap, "%.*s", (int)text.length, (const char *)text.value);
        gss_release_buffer(&minor, &text);
    }
}

static const char *hint(const struct auth *a, OM_uint32 major)
{
    bool ntlm = !auth_by_ticket(a->source);
    if (GSS_ROUTINE_ERROR(major) == GSS_S_BAD_MECH)
        return ntlm ? " (is the package gss-ntlmssp installed?)"
                    : " (has the server no Kerberos? sec=ntlmssp does without)";
    return ntlm ? ""
                : " (does the server take Kerberos, has it the key of that name, and is its clock "
                  "right? sec=ntlmssp does without)";
}

static int gss_error(const struct auth *a, struct error *err, const char *what, OM_uint32 major,
                     OM_uint32 minor)
{
    char text[160], detail[160];
    gss_OID mech = auth_by_ticket(a->source) ? &kerberos : &ntlmssp;
    gss_text(major, GSS_C_GSS_CODE, GSS_C_NO_OID, text, sizeof(text));
    gss_text(minor, GSS_C_MECH_CODE, mech, detail, sizeof(detail));
    return error_set(err, -EACCES, 0, "cannot log on to %.100s as \"%.60s\": %s: %s%s%s%s",
                     a->source->host, a->user, what, text, *detail ? ": " : "", detail,
                     hint(a, major));
}

/* ---- names and credentials ---- */

static int import(struct auth *a, const char *name, gss_OID type, gss_name_t *ret,
                  struct error *err)
{
    OM_uint32 minor;
    gss_buffer_desc buf = {strlen(name), (void *)(uintptr_t)name};
    OM_uint32 major = gss_import_name(&minor, &buf, type, ret);
    return GSS_ERROR(major) ? gss_error(a, err, "a name cannot be used", major, minor) : 0;
}

static int acquire_ntlm(struct auth *a, struct error *err)
{
    OM_uint32 minor, ignored;
    gss_name_t me = GSS_C_NO_NAME;
    gss_key_value_element_desc secret = {"ntlmssp_password", a->source->password};
    const gss_key_value_set_desc store = {1, &secret};
    gss_OID_set_desc mechs = {1, &spnego}, inner = {1, &ntlmssp};
    char server[300];

    snprintf(server, sizeof(server), "cifs@%.256s", a->source->host);
    int r = import(a, server, GSS_C_NT_HOSTBASED_SERVICE, &a->server, err);
    if (r == 0)
        r = import(a, a->user, GSS_C_NT_USER_NAME, &me, err);
    if (r < 0)
        return r;
    OM_uint32 major = gss_acquire_cred_from(&minor, me, GSS_C_INDEFINITE, &mechs, GSS_C_INITIATE,
                                            &store, &a->cred, NULL, NULL);
    if (!GSS_ERROR(major))
        major = gss_set_neg_mechs(&minor, a->cred, &inner);
    gss_release_name(&ignored, &me);
    return GSS_ERROR(major) ? gss_error(a, err, "NTLM cannot be used", major, minor) : 0;
}

static int acquire_kerberos(struct auth *a, struct error *err)
{
    const struct auth_source *s = a->source;
    const struct kerberos_source source = {
        .user = s->user,
        .realm = s->realm,
        .keytab = s->keytab,
        .password = s->password,
        .cache_uid = s->other_cache ? &s->cache_uid : NULL,
    };
    int r = kerberos_ticket_get(&source, s->host, &a->ticket, err);
    if (r < 0)
        return r;
    a->user = a->ticket.client;
    r = import(a, a->ticket.server, (gss_OID)GSS_KRB5_NT_PRINCIPAL_NAME, &a->server, err);
    if (r < 0)
        return r;

    OM_uint32 minor;
    gss_OID_set_desc mechs = {1, &spnego}, inner = {1, &kerberos};
    gss_key_value_element_desc cache = {"ccache", a->ticket.cache};
    const gss_key_value_set_desc store = {1, &cache};
    OM_uint32 major = gss_acquire_cred_from(&minor, GSS_C_NO_NAME, GSS_C_INDEFINITE, &mechs,
                                            GSS_C_INITIATE, &store, &a->cred, NULL, NULL);
    if (!GSS_ERROR(major))
        major = gss_set_neg_mechs(&minor, a->cred, &inner);
    return GSS_ERROR(major) ? gss_error(a, err, "the ticket cannot be used", major, minor) : 0;
}

int auth_new(const struct auth_source *source, struct auth **ret, struct error *err)
{
    struct auth *a = calloc(1, sizeof(*a));
    if (!a)
        return error_set(err, -ENOMEM, 0, "out of memory");
    a->source = source;
    a->user = source->user ? source->user : "?";
    a->ticket.end = INT64_MAX;
    int r = 0;
    if (source->logon == CLIENT_LOGON_NTLM)
        r = acquire_ntlm(a, err);
    else if (auth_by_ticket(source))
        r = acquire_kerberos(a, err);
    if (r < 0) {
        auth_free(a);
        return r;
    }
    *ret = a;
    return 0;
}

struct auth *auth_free(struct auth *a)
{
    OM_uint32 minor;
    if (!a)
        return NULL;
    if (a->context != GSS_C_NO_CONTEXT)
        gss_delete_sec_context(&minor, &a->context, GSS_C_NO_BUFFER);
    if (a->cred != GSS_C_NO_CREDENTIAL)
        gss_release_cred(&minor, &a->cred);
    if (a->server != GSS_C_NO_NAME)
        gss_release_name(&minor, &a->server);
    gss_release_buffer(&minor, &a->token);
    kerberos_ticket_done(&a->ticket);
    free(a);
    return NULL;
}

const char *auth_user(const struct auth *a)
{
    return a->user;
}

int64_t auth_end(const struct auth *a)
{
    return a->ticket.end;
}

/* ---- the exchange ---- */

static int step_anonymous(struct auth *a, struct rd token, struct rd *ret_token, struct error *err)
{
    size_t len = 0;
    if (a->leg == 0)
        len = anonymous_begin(a->bytes);
    else if (a->leg == 1 && anonymous_answer(token, a->bytes, &len) < 0)
        return error_set(err, -EBADMSG, 0,
                         "cannot log on to %.200s anonymously: its answer is no NTLM challenge",
                         a->source->host);
    a->leg++;
    *ret_token = rd_init(a->bytes, len);
    return 0;
}

int auth_step(struct auth *a, struct rd token, struct rd *ret_token, struct error *err)
{
    OM_uint32 minor, ignored;
    gss_buffer_desc in = {token.len, (void *)(uintptr_t)token.base};

    if (auth_is_anonymous(a->source))
        return step_anonymous(a, token, ret_token, err);
    /* MIT's SPNEGO does not survive that */
    if (a->context != GSS_C_NO_CONTEXT && token.len == 0)
        return error_set(err, -EACCES, 0, "the server sent an empty logon token");
    if (auth_check_challenge(token) < 0)
        return error_set(err, -EACCES, 0, "the server sent a malformed NTLM challenge");
    gss_release_buffer(&ignored, &a->token);
    OM_uint32 major = gss_init_sec_context(
        &minor, a->cred, &a->context, a->server, &spnego, GSS_C_MUTUAL_FLAG | GSS_C_INTEG_FLAG, 0,
        GSS_C_NO_CHANNEL_BINDINGS, token.len ? &in : GSS_C_NO_BUFFER, NULL, &a->token, NULL, NULL);
    if (GSS_ERROR(major))
        return gss_error(a, err, "the server's logon token is not accepted", major, minor);
    a->complete = major == GSS_S_COMPLETE;
    *ret_token = rd_init(a->token.value, a->token.length);
    return 0;
}

bool auth_complete(const struct auth *a)
{
    return a->complete;
}

static void wipe_set(gss_buffer_set_t *set)
{
    OM_uint32 ignored;
    for (size_t i = 0; *set && i < (*set)->count; i++)
        explicit_bzero((*set)->elements[i].value, (*set)->elements[i].length);
    gss_release_buffer_set(&ignored, set);
}

int auth_key(struct auth *a, uint8_t ret[static AUTH_KEY_MAX], size_t *ret_len, struct error *err)
{
    OM_uint32 minor;
    gss_buffer_set_t set = GSS_C_NO_BUFFER_SET;
    OM_uint32 major = gss_inquire_sec_context_by_oid(&minor, a->context, &session_key, &set);
    if (GSS_ERROR(major))
        return gss_error(a, err, "the logon gave no session key", major, minor);
    size_t len = set && set->count ? set->elements[0].length : 0;
    if (len == 0 || len > AUTH_KEY_MAX) {
        wipe_set(&set);
        return error_set(err, -EACCES, 0, "the logon gave no session key of 1 to %d bytes",
                         AUTH_KEY_MAX);
    }
    memset(ret, 0, AUTH_KEY_MAX);
    memcpy(ret, set->elements[0].value, len);
    *ret_len = len;
    wipe_set(&set);
    return 0;
}
