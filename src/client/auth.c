/*
 * Logging on through GSSAPI: SPNEGO, with NTLM by the gss-ntlmssp mechanism.
 *
 * What was learned the hard way:
 * - Only mutual authentication and integrity are asked for. NTLM's confidentiality is of no use to
 *   SMB, and ksmbd refuses it.
 * - The server's last token carries a checksum over the list of mechanisms. It has to be fed back
 *   although the server is satisfied already, or SPNEGO's own downgrade protection is lost. A
 * guest's last token has none, and must not be fed (the session's business).
 * - The password goes to NTLM by a key that only gss-ntlmssp knows. As everybody's password it
 *   would go to Kerberos, too, which asks the KDC of the machine's realm for a ticket with it.
 * - gss-ntlmssp cannot log on anonymously. A guest without a name of its own logs on as the user
 *   `guest`: known or unknown to the server, that is what servers map to a guest session.
 */
#include "client/auth.h"

#include <errno.h>
#include <gssapi/gssapi.h>
#include <gssapi/gssapi_ext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rd.h"

/* 1.3.6.1.5.5.2, 1.3.6.1.4.1.311.2.2.10, and GSS_C_INQ_SSPI_SESSION_KEY 1.2.840.113554.1.2.2.5.5 */
static gss_OID_desc spnego = {6, (void *)"\x2b\x06\x01\x05\x05\x02"};
static gss_OID_desc ntlmssp = {10, (void *)"\x2b\x06\x01\x04\x01\x82\x37\x02\x02\x0a"};
static gss_OID_desc session_key = {11, (void *)"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02\x05\x05"};

struct auth {
    gss_cred_id_t cred;
    gss_name_t server;
    gss_ctx_id_t context;
    gss_buffer_desc token; /* our last one */
    bool complete;
    char user[]; /* as GSSAPI got it */
};

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

static int gss_error(struct error *err, const char *what, OM_uint32 major, OM_uint32 minor)
{
    char text[160], detail[160];
    gss_text(major, GSS_C_GSS_CODE, GSS_C_NO_OID, text, sizeof(text));
    gss_text(minor, GSS_C_MECH_CODE, &ntlmssp, detail, sizeof(detail));
    const char *hint = GSS_ROUTINE_ERROR(major) == GSS_S_BAD_MECH
                           ? " (is the package gss-ntlmssp installed?)"
                           : "";
    return error_set(err, -EACCES, 0, "%s: %s%s%s%s", what, text, *detail ? ": " : "", detail,
                     hint);
}

/* ---- names and credentials ---- */

/* "DOMAIN\user" where the domain stands apart, else as given. */
static struct auth *new_for_user(const struct client_options *options)
{
    const char *user = options->user ? options->user : "guest";
    bool apart = options->domain && *options->domain && !strpbrk(user, "\\@");
    const char *domain = apart ? options->domain : "";
    size_t size = strlen(domain) + 1 + strlen(user) + 1;
    struct auth *a = calloc(1, sizeof(*a) + size);
    if (a)
        snprintf(a->user, size, "%s%s%s", domain, apart ? "\\" : "", user);
    return a;
}

static int import_server(struct auth *a, const char *host, struct error *err)
{
    char name[300];
    OM_uint32 minor;
    int len = snprintf(name, sizeof(name), "cifs@%.256s", host);
    gss_buffer_desc buf = {(size_t)len, name};
    OM_uint32 major = gss_import_name(&minor, &buf, GSS_C_NT_HOSTBASED_SERVICE, &a->server);
    return GSS_ERROR(major) ? gss_error(err, "cannot name the server for the logon", major, minor)
                            : 0;
}

static int acquire(struct auth *a, const char *password, struct error *err)
{
    OM_uint32 minor, ignored;
    gss_name_t me = GSS_C_NO_NAME;
    gss_buffer_desc user = {strlen(a->user), a->user};
    /* borrowed from the caller, who wipes it */
    gss_key_value_element_desc secret = {"ntlmssp_password", password};
    const gss_key_value_set_desc store = {1, &secret};
    gss_OID_set_desc mechs = {1, &spnego}, inner = {1, &ntlmssp};

    OM_uint32 major = gss_import_name(&minor, &user, GSS_C_NT_USER_NAME, &me);
    if (GSS_ERROR(major))
        return gss_error(err, "cannot use this user name", major, minor);
    major = gss_acquire_cred_from(&minor, me, GSS_C_INDEFINITE, &mechs, GSS_C_INITIATE, &store,
                                  &a->cred, NULL, NULL);
    if (!GSS_ERROR(major))
        major = gss_set_neg_mechs(&minor, a->cred, &inner);
    gss_release_name(&ignored, &me);
    return GSS_ERROR(major) ? gss_error(err, "cannot prepare an NTLM logon", major, minor) : 0;
}

int auth_new(const struct client_options *options, struct auth **ret, struct error *err)
{
    if (!options->guest && (!options->user || !*options->user))
        return error_set(err, -EINVAL, 0, "no user name to log on with (or guest)");
    struct auth *a = new_for_user(options);
    if (!a)
        return error_set(err, -ENOMEM, 0, "out of memory");
    int r = import_server(a, options->host, err);
    if (r == 0)
        r = acquire(a, options->password ? options->password : "", err);
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
    free(a);
    return NULL;
}

const char *auth_user(const struct auth *a)
{
    return a->user;
}

/* ---- the exchange ---- */

int auth_step(struct auth *a, struct rd token, struct rd *ret_token, struct error *err)
{
    OM_uint32 minor, ignored;
    gss_buffer_desc in = {token.len, (void *)(uintptr_t)token.base};

    gss_release_buffer(&ignored, &a->token);
    OM_uint32 major = gss_init_sec_context(
        &minor, a->cred, &a->context, a->server, &spnego, GSS_C_MUTUAL_FLAG | GSS_C_INTEG_FLAG, 0,
        GSS_C_NO_CHANNEL_BINDINGS, token.len ? &in : GSS_C_NO_BUFFER, NULL, &a->token, NULL, NULL);
    if (GSS_ERROR(major))
        return gss_error(err, "the server's logon token is not accepted", major, minor);
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
        return gss_error(err, "the logon gave no session key", major, minor);
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
