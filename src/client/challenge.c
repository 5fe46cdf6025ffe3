/*
 * NTLM's challenge, looked at before gss-ntlmssp does: [MS-NLMP] 2.2.1.2.
 *
 * gss-ntlmssp 1.2.0 takes the name of a target for granted wherever a flag announces one, and reads
 * through a null pointer where the name is empty. The message lies inside a SPNEGO token; it is
 * found by its signature, which nothing else in such a token may contain.
 */
#include <errno.h>
#include <string.h>

#include "client/auth.h"

enum { TARGET_TYPE_DOMAIN = 0x10000, TARGET_TYPE_SERVER = 0x20000 };

/* A counted string of the message that begins at `start`: its length and where it lies. */
static uint16_t take_string(struct rd *r, size_t start)
{
    uint16_t len = rd_u16(r);
    rd_skip(r, 2); /* MaxLen */
    uint32_t offset = rd_u32(r);
    if (offset > r->len - start || len > r->len - start - offset)
        r->bad = true;
    return len;
}

int auth_check_challenge(struct rd token)
{
    static const uint8_t challenge[] = {'N', 'T', 'L', 'M', 'S', 'S', 'P', 0, 2, 0, 0, 0};
    const uint8_t *at =
        token.len ? memmem(token.base, token.len, challenge, sizeof(challenge)) : NULL;
    if (!at)
        return 0;
    size_t start = (size_t)(at - token.base);
    struct rd r = rd_init(token.base, token.len);
    rd_skip(&r, start + sizeof(challenge));
    uint16_t name = take_string(&r, start);
    uint32_t flags = rd_u32(&r);
    if (!rd_ok(&r))
        return -EBADMSG;
    return flags & (TARGET_TYPE_DOMAIN | TARGET_TYPE_SERVER) && name == 0 ? -EBADMSG : 0;
}
