/*
 * How to log on, as mount.cifs' options say it. What is not said is guessed as its users expect:
 * whoever gives a password wants it to be used, whoever gives none and has a ticket wants that.
 */
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

#include "share/options_internal.h"

static const struct sec {
    const char *name;
    enum client_logon logon;
    bool sign;
} secs[] = {
    {"krb5", CLIENT_LOGON_KERBEROS, false},  {"krb5i", CLIENT_LOGON_KERBEROS, true},
    {"ntlmssp", CLIENT_LOGON_NTLM, false},   {"ntlmsspi", CLIENT_LOGON_NTLM, true},
    {"none", CLIENT_LOGON_ANONYMOUS, false},
};

int options_set_sec(struct share_options *o, const char *value, struct error *err)
{
    for (size_t i = 0; i < sizeof secs / sizeof secs[0]; i++) {
        if (strcasecmp(secs[i].name, value) != 0)
            continue;
        o->logon = secs[i].logon;
        o->logon_given = true;
        if (secs[i].sign)
            o->settings.require_security_signature = o->sign_asked = true;
        return 0;
    }
    return error_set(err, -EINVAL, 0, "sec=%.40s: not one of krb5, krb5i, ntlmssp, ntlmsspi, none",
                     value);
}

int options_set_keytab(struct share_options *o, const char *value, struct error *err)
{
    return options_replace(&o->keytab, value);
}

int options_set_cruid(struct share_options *o, const char *value, struct error *err)
{
    char *end;
    unsigned long long n = strtoull(value, &end, 10);
    const struct passwd *user;
    if (*value >= '0' && *value <= '9' && *end == 0 && n < UINT32_MAX) {
        o->cruid = (int64_t)n;
        return 0;
    }
    user = getpwnam(value);
    if (!user)
        return error_set(err, -EINVAL, 0, "cruid=%.60s is neither a user's name nor an id", value);
    o->cruid = user->pw_uid;
    return 0;
}

int options_set_address(struct share_options *o, const char *value, struct error *err)
{
    return options_replace(&o->address, value);
}

static bool has_ticket(const struct share_options *o)
{
    return client_has_ticket(o->cruid >= 0 ? &o->cruid : NULL);
}

enum client_logon share_options_logon(const struct share_options *o)
{
    if (o->logon_given)
        return o->logon;
    if (o->guest)
        return CLIENT_LOGON_NTLM;
    if (o->keytab || o->settings.block_ntlm)
        return CLIENT_LOGON_KERBEROS;
    return !o->password && has_ticket(o) ? CLIENT_LOGON_KERBEROS : CLIENT_LOGON_NTLM;
}

bool share_options_take_password(const struct share_options *o)
{
    if (o->guest || o->password)
        return false;
    if (!o->logon_given && !o->settings.block_ntlm)
        return !o->keytab;
    enum client_logon logon = share_options_logon(o);
    return logon == CLIENT_LOGON_NTLM ||
           (logon == CLIENT_LOGON_KERBEROS && o->user && !o->keytab && !has_ticket(o));
}

bool share_options_lack_password(const struct share_options *o)
{
    return !o->guest && !o->password && share_options_logon(o) == CLIENT_LOGON_NTLM;
}
