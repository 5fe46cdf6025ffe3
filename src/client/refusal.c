/*
 * Why a server lets nobody in: what helps, by the status that it gave to a logon. A server that is
 * careful says LOGON_FAILURE to everything about a user; the others tell what decides.
 */
#include <string.h>

#include "base/ntstatus.h"
#include "client/auth.h"

#define NO_KERBEROS "the server takes no Kerberos? see sec=ntlmssp"
#define NO_NTLM     "the server takes no Kerberos, and BlockNTLM=true forbids NTLM here"

static const struct refusal {
    uint32_t status;
    const char *hint[2]; /* by NTLM, by Kerberos */
} refusals[] = {
    {STATUS_LOGON_FAILURE,
     {"wrong user or password?",
      "has the server no user by that name, another key for its own name, or another time?"}},
    {STATUS_WRONG_PASSWORD, {"wrong password", "wrong password"}},
    {STATUS_NO_SUCH_USER, {"no such user there", "no such user there"}},
    {STATUS_PASSWORD_EXPIRED,
     {"the password has expired: change it, by smbpasswd -r or on Windows",
      "the password has expired: run kpasswd"}},
    {STATUS_PASSWORD_MUST_CHANGE,
     {"the password must be changed first, by smbpasswd -r or on Windows",
      "the password must be changed first: run kpasswd"}},
    {STATUS_ACCOUNT_LOCKED_OUT,
     {"the account is locked there, after too many wrong passwords", "the account is locked"}},
    {STATUS_ACCOUNT_DISABLED, {"the account is disabled there", "the account is disabled"}},
    {STATUS_ACCOUNT_EXPIRED, {"the account has expired there", "the account has expired"}},
    {STATUS_ACCOUNT_RESTRICTION,
     {"the account may not log on like that: is its password empty, or NTLM forbidden for it? "
      "see sec=krb5",
      "the account may not log on like that"}},
    {STATUS_INVALID_LOGON_HOURS, {"not at this time of day", "not at this time of day"}},
    {STATUS_INVALID_WORKSTATION,
     {"the account may not log on from here", "the account may not log on from here"}},
    {STATUS_LOGON_TYPE_NOT_GRANTED,
     {"the account may not log on over the network",
      "the account may not log on over the network"}},
    {STATUS_NO_LOGON_SERVERS,
     {"the server reaches no domain controller", "the server reaches no domain controller"}},
    {STATUS_TIME_DIFFERENCE_AT_DC,
     {"the server's clock is wrong", "the clocks here and there differ: set them"}},
    {STATUS_NTLM_BLOCKED, {"the server takes no NTLM: see sec=krb5", NULL}},
    {STATUS_NOT_SUPPORTED, {"the server takes no NTLM? see sec=krb5", NO_KERBEROS}},
    {STATUS_INVALID_PARAMETER,
     {"the server did not understand the logon", "the server takes no Kerberos? see sec=ntlmssp"}},
    {STATUS_ACCESS_DENIED, {"the user may not log on there", "the user may not log on there"}},
};

const char *auth_hint(const struct auth_source *s, uint32_t status)
{
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++)
        if (refusals[i].status == status) {
            const char *hint = refusals[i].hint[auth_by_ticket(s)];
            bool blocked = hint && auth_blocks_ntlm(s) && strcmp(hint, NO_KERBEROS) == 0;
            return blocked ? NO_NTLM : hint;
        }
    return NULL;
}
