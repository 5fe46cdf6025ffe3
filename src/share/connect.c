/*
 * What a client is asked for by a user's options: who logs on, what is required of the server, what
 * is put up with. And what cannot be asked for together, in a line that says what to leave out.
 */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "share/options.h"

int share_options_check(const struct share_options *o, struct error *err)
{
    if (!o->host || !o->share)
        return error_set(err, -EINVAL, 0, "no target given: //HOST/SHARE");
    const enum client_logon logon = share_options_logon(o);
    if (!o->user && !o->guest && logon == CLIENT_LOGON_NTLM)
        return error_set(err, -EINVAL, 0,
                         "no user for //%s/%s: give credentials=FILE, user=NAME, or guest", o->host,
                         o->share);
    if ((o->guest || logon == CLIENT_LOGON_ANONYMOUS) && o->sign_asked)
        return error_set(err, -EINVAL, 0,
                         "a guest's or anonymous session has no key to sign with: drop %s, or sign",
                         o->guest ? "guest" : "sec=none");
    if (o->guest && logon == CLIENT_LOGON_KERBEROS)
        return error_set(err, -EINVAL, 0, "guest and sec=krb5: which of them?");
    if ((o->guest || logon == CLIENT_LOGON_ANONYMOUS) && o->settings.require_encryption)
        return error_set(err, -EINVAL, 0,
                         "a guest's or anonymous session has no key to encrypt with: drop %s, or "
                         "seal (RequireEncryption)",
                         o->guest ? "guest" : "sec=none");
    if (o->settings.require_encryption && o->settings.smb2_dialect_max < 0x0300)
        return error_set(err, -EINVAL, 0,
                         "RequireEncryption (seal) takes SMB 3.0 or later, Smb2DialectMax (vers=) "
                         "forbids it");
    if (o->settings.smb2_dialect_min > o->settings.smb2_dialect_max)
        return error_set(err, -EINVAL, 0, "Smb2DialectMin is above Smb2DialectMax");
    return 0;
}

void share_options_client(const struct share_options *o, struct client_options *ret)
{
    const enum client_logon logon = share_options_logon(o);
    const bool keyless = o->guest || logon == CLIENT_LOGON_ANONYMOUS;
    *ret = (struct client_options){
        .host = o->host,
        .address = o->address,
        .port = o->port,
        .share = o->share,
        .logon = logon,
        .user = o->user,
        .domain = o->domain,
        .password = o->password,
        .keytab = o->keytab,
        .cache_uid = o->cruid >= 0 ? &o->cruid : NULL,
        .block_ntlm = o->settings.block_ntlm,
        .guest = o->guest,
        /* what the user asked for himself stands against a guest session, what the profile has
         * does not */
        .accept_guest = (o->guest || o->settings.enable_insecure_guest_logons) && !o->sign_asked,
        .require_signing = o->settings.require_security_signature && !keyless,
        .require_encryption = o->settings.require_encryption,
        .cipher_count = o->settings.encryption_ciphers.count,
        .signer_count = o->settings.signing_algorithms.count,
        .dialect_min = o->settings.smb2_dialect_min,
        .dialect_max = o->settings.smb2_dialect_max,
        .map_names = o->map_names,
        .request_timeout_ns = o->timeo * (NS_PER_SEC / 10),
        .echo_interval_ns = o->echo_interval * NS_PER_SEC,
        .reconnect = o->hard ? CLIENT_HARD : CLIENT_SOFT,
    };
    memcpy(ret->ciphers, o->settings.encryption_ciphers.id, sizeof ret->ciphers);
    memcpy(ret->signers, o->settings.signing_algorithms.id, sizeof ret->signers);
}
