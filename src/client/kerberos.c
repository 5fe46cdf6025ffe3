/*
 * Tickets, before GSSAPI needs them.
 *
 * GSSAPI would find the cache and ask the KDC by itself, but would then say no more than that it
 * failed. Here the ticket for the server is got first, by libkrb5, which says why not; it is put
 * into a cache of this process, alone, and GSSAPI is given that. So the same way serves all sources
 * (the user's cache, a keytab, a password), what is in the user's cache is read once a logon, and
 * the end of the ticket is known.
 *
 * Another user's cache is read as that user: the uids of this thread alone are changed for the
 * moment, by the system call itself, since libc's function changes it for all threads. The name of
 * the cache, the right to read it and a KCM's idea of who asks all follow from it.
 */
#include "client/kerberos.h"

#include <errno.h>
#include <krb5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "client/client.h"

#define SERVICE "cifs"

struct getting {
    const struct kerberos_source *source;
    const char *host;
    krb5_context ctx;
    krb5_principal client, server;
    krb5_ccache mine, theirs;
    struct error *err;
    char cache_name[128]; /* of theirs, for texts */
};

/* ---- errors ---- */

/* Whether it has a ticket that has not run out. */
static bool is_good(krb5_context ctx, krb5_ccache cache)
{
    krb5_cc_cursor cursor;
    krb5_creds creds;
    krb5_timestamp now;
    bool good = false;
    if (krb5_timeofday(ctx, &now) || krb5_cc_start_seq_get(ctx, cache, &cursor))
        return false;
    while (!good && krb5_cc_next_cred(ctx, cache, &cursor, &creds) == 0) {
        good = !krb5_is_config_principal(ctx, creds.server) &&
               (uint32_t)creds.times.endtime > (uint32_t)now;
        krb5_free_cred_contents(ctx, &creds);
    }
    krb5_cc_end_seq_get(ctx, cache, &cursor);
    return good;
}

static const struct reason {
    krb5_error_code code;
    int error;
    const char *hint;
} reasons[] = {
    {KRB5_FCC_NOFILE, -ENOKEY, "run kinit, or give keytab=FILE, or sec=ntlmssp and a password"},
    {KRB5_CC_NOTFOUND, -ENOKEY, "run kinit, or give keytab=FILE, or sec=ntlmssp and a password"},
    {KRB5_CC_END, -ENOKEY, "run kinit, or give keytab=FILE, or sec=ntlmssp and a password"},
    {KRB5_FCC_PERM, -EACCES, "the ticket cache belongs to somebody else; see cruid="},
    {KRB5KRB_AP_ERR_TKT_EXPIRED, -EKEYEXPIRED, "the ticket has expired: run kinit"},
    {KRB5KRB_AP_ERR_TKT_NYV, -EACCES, "do the clocks here and there differ?"},
    {KRB5KRB_AP_ERR_SKEW, -EACCES, "the clocks here and at the KDC differ: set them"},
    {KRB5_KDCREP_SKEW, -EACCES, "the clocks here and at the KDC differ: set them"},
    {KRB5KDC_ERR_S_PRINCIPAL_UNKNOWN, -EACCES,
     "mount by the name that the realm knows the server by; ip=ADDRESS says where it is"},
    {KRB5KDC_ERR_C_PRINCIPAL_UNKNOWN, -EACCES, "is that the user's name and realm? see user="},
    {KRB5KDC_ERR_KEY_EXP, -EKEYEXPIRED, "the password has expired: run kpasswd"},
    {KRB5KDC_ERR_NAME_EXP, -EKEYEXPIRED, "the account has expired"},
    {KRB5KDC_ERR_CLIENT_REVOKED, -EACCES, "the account is locked or disabled"},
    {KRB5KDC_ERR_PREAUTH_FAILED, -EACCES, "wrong password, or an old key in the keytab"},
    {KRB5KRB_AP_ERR_BAD_INTEGRITY, -EACCES, "wrong password, or an old key in the keytab"},
    {KRB5KDC_ERR_ETYPE_NOSUPP, -EACCES, "the KDC and this machine have no encryption in common"},
    {KRB5_KT_NOTFOUND, -ENOKEY, "the keytab has no key of that user; see user= and klist -k"},
    {KRB5_KDC_UNREACH, -EHOSTUNREACH, "see /etc/krb5.conf: where is the KDC?"},
    {KRB5_REALM_UNKNOWN, -EHOSTUNREACH, "see /etc/krb5.conf: where is the KDC of that realm?"},
    {KRB5_REALM_CANT_RESOLVE, -EHOSTUNREACH, "see /etc/krb5.conf: where is the KDC?"},
    {KRB5_CONFIG_NODEFREALM, -EINVAL, "give user=NAME@REALM, or default_realm in /etc/krb5.conf"},
};

/* There are tickets, but none by which one for the server can be had. */
static const struct reason no_way = {
    KRB5_CC_NOTFOUND, -EACCES,
    "which realm is the server in? see domain_realm in /etc/krb5.conf, or use its full name"};

static const struct reason *reason_of(const struct getting *g, krb5_error_code code)
{
    if (code == KRB5_CC_NOTFOUND && g->theirs && is_good(g->ctx, g->theirs))
        return &no_way;
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
        if (reasons[i].code == code)
            return &reasons[i];
    return NULL;
}

static int failed(const struct getting *g, krb5_error_code code, const char *what)
{
    const struct reason *reason = reason_of(g, code);
    if (code == ENOMEM)
        return error_set(g->err, -ENOMEM, 0, "out of memory");
    int error = reason ? reason->error : code == ENOENT ? -ENOKEY : -EACCES;
    const char *text = krb5_get_error_message(g->ctx, code);
    error_set(g->err, error, 0, "cannot log on to %.120s by Kerberos: %s: %.160s%s%s%s", g->host,
              what, text, reason ? " (" : "", reason ? reason->hint : "", reason ? ")" : "");
    krb5_free_error_message(g->ctx, text);
    return error;
}

/* ---- names ---- */

static krb5_error_code parse_client(struct getting *g)
{
    const struct kerberos_source *s = g->source;
    char name[KERBEROS_NAME_MAX];
    const char *whole = s->user;
    if (s->realm && !strchr(s->user, '@')) {
        int n = snprintf(name, sizeof(name), "%s@%s", s->user, s->realm);
        if (n < 0 || (size_t)n >= sizeof(name))
            return KRB5_PARSE_MALFORMED;
        whole = name;
    }
    return krb5_parse_name(g->ctx, whole, &g->client);
}

static krb5_error_code print_name(const struct getting *g, krb5_const_principal p,
                                  char out[static KERBEROS_NAME_MAX])
{
    char *name;
    krb5_error_code k = krb5_unparse_name(g->ctx, p, &name);
    if (k)
        return k;
    size_t len = strlen(name);
    if (len < KERBEROS_NAME_MAX)
        memcpy(out, name, len + 1);
    krb5_free_unparsed_name(g->ctx, name);
    return len < KERBEROS_NAME_MAX ? 0 : KRB5_PARSE_MALFORMED;
}

/* ---- another user's cache ---- */

struct identity {
    uid_t real, effective;
    bool changed;
};

/* The saved uid stays root's, who can come back. -EPERM: nobody else can become somebody. */
static int become(const int64_t *uid, struct identity *ret_before)
{
    struct identity me = {.real = getuid(), .effective = geteuid()};
    me.changed = uid && (me.real != (uid_t)*uid || me.effective != (uid_t)*uid);
    if (me.changed && syscall(SYS_setresuid, (uid_t)*uid, (uid_t)*uid, -1) < 0)
        return -errno;
    *ret_before = me;
    return 0;
}

static void become_again(const struct identity *before)
{
    if (before->changed && syscall(SYS_setresuid, before->real, before->effective, -1) < 0)
        abort(); /* going on as somebody else would be worse */
}

/* ---- tickets ---- */

/* The user's, where the collection has one; else by what is configured for the server, or the
 * default one. */
static krb5_error_code find_cache(struct getting *g)
{
    krb5_principal selected = NULL;
    krb5_error_code k;
    if (g->client)
        return krb5_cc_cache_match(g->ctx, g->client, &g->theirs);
    k = krb5_cc_select(g->ctx, g->server, &g->theirs, &selected);
    if (!g->theirs && !selected) /* nobody has an opinion */
        k = krb5_cc_default(g->ctx, &g->theirs);
    krb5_free_principal(g->ctx, selected);
    return k ? k : krb5_cc_get_principal(g->ctx, g->theirs, &g->client);
}

static void name_cache(struct getting *g)
{
    char *name = NULL;
    if (g->theirs && krb5_cc_get_full_name(g->ctx, g->theirs, &name) == 0)
        snprintf(g->cache_name, sizeof(g->cache_name), "%s", name);
    else
        snprintf(g->cache_name, sizeof(g->cache_name), "%s", krb5_cc_default_name(g->ctx));
    krb5_free_string(g->ctx, name);
}

static krb5_error_code ask_for_server(struct getting *g, krb5_ccache from, krb5_creds **ret)
{
    krb5_creds in = {.client = g->client, .server = g->server};
    return krb5_get_credentials(g->ctx, 0, from, &in, ret);
}

static int from_cache(struct getting *g, krb5_creds **ret)
{
    char what[200];
    struct identity before;
    if (become(g->source->cache_uid, &before) < 0)
        return error_set(g->err, -EPERM, 0, "cruid=: only root can use another user's tickets");
    krb5_error_code k = find_cache(g);
    name_cache(g);
    if (k == 0)
        k = ask_for_server(g, g->theirs, ret);
    become_again(&before);
    if (k == 0)
        k = krb5_cc_initialize(g->ctx, g->mine, g->client);
    if (k == 0)
        k = krb5_cc_store_cred(g->ctx, g->mine, *ret);
    snprintf(what, sizeof(what), "no ticket for it by %s", g->cache_name);
    return k ? failed(g, k, what) : 0;
}

/* By a keytab or a password: the user's own first ticket, and by that the server's. */
static int from_secret(struct getting *g, krb5_creds **ret)
{
    const struct kerberos_source *s = g->source;
    krb5_creds first = {0};
    krb5_keytab keytab = NULL;
    char what[200];
    krb5_error_code k = 0;

    if (s->keytab)
        k = krb5_kt_resolve(g->ctx, s->keytab, &keytab);
    if (k == 0)
        k = s->keytab ? krb5_get_init_creds_keytab(g->ctx, &first, g->client, keytab, 0, NULL, NULL)
                      : krb5_get_init_creds_password(g->ctx, &first, g->client, s->password, NULL,
                                                     NULL, 0, NULL, NULL);
    if (k == 0)
        k = krb5_cc_initialize(g->ctx, g->mine, first.client);
    if (k == 0)
        k = krb5_cc_store_cred(g->ctx, g->mine, &first);
    krb5_free_cred_contents(g->ctx, &first);
    if (keytab)
        krb5_kt_close(g->ctx, keytab);
    snprintf(what, sizeof(what), "no ticket for \"%.80s\" by %s%.80s", s->user,
             s->keytab ? "keytab " : "the password", s->keytab ? s->keytab : "");
    if (k)
        return failed(g, k, what);
    k = ask_for_server(g, g->mine, ret);
    return k ? failed(g, k, "no ticket for it") : 0;
}

static int get(struct getting *g, struct kerberos_ticket *ret)
{
    const struct kerberos_source *s = g->source;
    struct kerberos_ticket t = {0};
    krb5_creds *creds = NULL;
    char *name = NULL;

    krb5_error_code k =
        krb5_sname_to_principal(g->ctx, g->host, SERVICE, KRB5_NT_SRV_HST, &g->server);
    if (k == 0 && s->user)
        k = parse_client(g);
    if (k == 0)
        k = krb5_cc_new_unique(g->ctx, "MEMORY", NULL, &g->mine);
    if (k)
        return failed(g, k, "cannot name it or the user");
    int r = s->keytab || s->password ? from_secret(g, &creds) : from_cache(g, &creds);
    if (r < 0)
        return r;
    k = print_name(g, creds->client, t.client);
    if (k == 0)
        k = print_name(g, creds->server, t.server);
    if (k == 0)
        k = krb5_cc_get_full_name(g->ctx, g->mine, &name);
    t.end = (uint32_t)creds->times.endtime; /* until 2106 */
    krb5_free_creds(g->ctx, creds);
    if (k)
        return failed(g, k, "cannot use the ticket");
    snprintf(t.cache, sizeof(t.cache), "%s", name);
    krb5_free_string(g->ctx, name);
    *ret = t;
    return 0;
}

int kerberos_ticket_get(const struct kerberos_source *source, const char *host,
                        struct kerberos_ticket *ret, struct error *err)
{
    struct getting g = {.source = source, .host = host, .err = err};
    krb5_error_code k = krb5_init_context(&g.ctx);
    if (k)
        return error_set(err, k == ENOMEM ? -ENOMEM : -EINVAL, 0,
                         "cannot log on to %.120s by Kerberos: /etc/krb5.conf cannot be used "
                         "(error %d)",
                         host, (int)k);
    if ((source->keytab || source->password) && !source->user) {
        krb5_free_context(g.ctx);
        return error_set(err, -EINVAL, 0, "whose key or password is it? give user=NAME");
    }
    int r = get(&g, ret);
    if (g.theirs)
        krb5_cc_close(g.ctx, g.theirs);
    if (g.mine && r < 0)
        krb5_cc_destroy(g.ctx, g.mine);
    else if (g.mine)
        krb5_cc_close(g.ctx, g.mine);
    krb5_free_principal(g.ctx, g.client);
    krb5_free_principal(g.ctx, g.server);
    krb5_free_context(g.ctx);
    return r;
}

void kerberos_ticket_done(struct kerberos_ticket *t)
{
    krb5_context ctx;
    krb5_ccache cache;
    if (t->cache[0] && krb5_init_context(&ctx) == 0) {
        if (krb5_cc_resolve(ctx, t->cache, &cache) == 0)
            krb5_cc_destroy(ctx, cache);
        krb5_free_context(ctx);
    }
    *t = (struct kerberos_ticket){0};
}

/* ---- is there any? ---- */

static bool any_is_good(krb5_context ctx)
{
    krb5_cccol_cursor cursor;
    krb5_ccache cache;
    bool good = false;
    if (krb5_cccol_cursor_new(ctx, &cursor))
        return false;
    while (!good && krb5_cccol_cursor_next(ctx, cursor, &cache) == 0 && cache) {
        good = is_good(ctx, cache);
        krb5_cc_close(ctx, cache);
    }
    krb5_cccol_cursor_free(ctx, &cursor);
    return good;
}

bool client_has_ticket(const int64_t *cache_uid)
{
    struct identity before;
    krb5_context ctx;
    bool good = false;
    if (krb5_init_context(&ctx))
        return false;
    if (become(cache_uid, &before) == 0) {
        good = any_is_good(ctx);
        become_again(&before);
    }
    krb5_free_context(ctx);
    return good;
}
