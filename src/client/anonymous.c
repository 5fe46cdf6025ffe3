/*
 * An anonymous logon, by hand: gss-ntlmssp has none.
 *
 * It is NTLM (MS-NLMP 2.2.1) with an AUTHENTICATE_MESSAGE that names nobody and proves nothing: no
 * user, no domain, no NT response, one zero byte for the LM response (MS-NLMP 3.2.5.1.2 knows it by
 * that), and NTLMSSP_NEGOTIATE_ANONYMOUS. Both messages go within SPNEGO (RFC 4178, DER), as they
 * are expected. Of the server's answer only the flags of its CHALLENGE_MESSAGE matter; it is found
 * by its signature, since what SPNEGO says around it changes nothing.
 */
#include <errno.h>
#include <string.h>

#include "base/wr.h"
#include "client/auth.h"

/* MS-NLMP 2.2.2.5 */
#define NEGOTIATE_UNICODE     0x00000001u
#define REQUEST_TARGET        0x00000004u
#define NEGOTIATE_NTLM        0x00000200u
#define NEGOTIATE_ANONYMOUS   0x00000800u
#define NEGOTIATE_ALWAYS_SIGN 0x00008000u
#define NEGOTIATE_EXTENDED    0x00080000u

#define WANTED                                                                                     \
    (NEGOTIATE_UNICODE | REQUEST_TARGET | NEGOTIATE_NTLM | NEGOTIATE_ALWAYS_SIGN |                 \
     NEGOTIATE_EXTENDED)

enum { NEGOTIATE = 1, CHALLENGE, AUTHENTICATE };

static const uint8_t signature[] = "NTLMSSP"; /* with its NUL */
static const uint8_t spnego[] = {0x06, 0x06, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x02};
static const uint8_t mechs[] = {0x30, 0x0c, 0x06, 0x0a, 0x2b, 0x06, 0x01,
                                0x04, 0x01, 0x82, 0x37, 0x02, 0x02, 0x0a};

enum {
    AUTHENTICATE_FIXED = 64, /* without a version and a MIC */
    LM_RESPONSE = 1,
};

/* DER, from inside out: what stands in `w` from `from` on becomes the content of a `tag`. Lengths
 * here stay below 128. */
static void wrap(struct wr *w, size_t from, uint8_t tag)
{
    size_t len = w->pos - from;
    wr_zero(w, 2);
    if (!wr_ok(w))
        return;
    memmove(w->buf + from + 2, w->buf + from, len);
    w->buf[from] = tag;
    w->buf[from + 1] = (uint8_t)len;
}

size_t anonymous_begin(uint8_t out[static ANONYMOUS_TOKEN_MAX])
{
    struct wr w = wr_init(out, ANONYMOUS_TOKEN_MAX);
    wr_bytes(&w, spnego, sizeof(spnego));
    wr_bytes(&w, mechs, sizeof(mechs));
    wrap(&w, sizeof(spnego), 0xa0); /* mechTypes [0] */
    size_t message = w.pos;
    wr_bytes(&w, signature, sizeof(signature));
    wr_u32(&w, NEGOTIATE);
    wr_u32(&w, WANTED);
    wr_zero(&w, 16); /* no domain, no workstation */
    wrap(&w, message, 0x04);
    wrap(&w, message, 0xa2); /* mechToken [2] */
    wrap(&w, sizeof(spnego), 0x30);
    wrap(&w, sizeof(spnego), 0xa0); /* negTokenInit */
    wrap(&w, 0, 0x60);
    return w.pos;
}

/* 2.2.1.2: up to its flags. */
static int read_challenge(struct rd token, uint32_t *ret_flags)
{
    const uint8_t *at =
        token.len ? memmem(token.base, token.len, signature, sizeof(signature)) : NULL;
    if (!at)
        return -EBADMSG;
    struct rd m = rd_init(at, token.len - (size_t)(at - token.base));
    rd_skip(&m, sizeof(signature));
    uint32_t type = rd_u32(&m);
    rd_skip(&m, 8); /* TargetNameFields */
    uint32_t flags = rd_u32(&m);
    if (!rd_ok(&m) || type != CHALLENGE)
        return -EBADMSG;
    *ret_flags = flags;
    return 0;
}

static void put_field(struct wr *w, uint16_t len, uint32_t offset)
{
    wr_u16(w, len);
    wr_u16(w, len);
    wr_u32(w, offset);
}

int anonymous_answer(struct rd challenge, uint8_t out[static ANONYMOUS_TOKEN_MAX], size_t *ret_len)
{
    uint32_t flags;
    int r = read_challenge(challenge, &flags);
    if (r < 0)
        return r;
    struct wr w = wr_init(out, ANONYMOUS_TOKEN_MAX);
    wr_bytes(&w, signature, sizeof(signature));
    wr_u32(&w, AUTHENTICATE);
    put_field(&w, LM_RESPONSE, AUTHENTICATE_FIXED);
    for (unsigned i = 0; i < 5; i++) /* NtChallengeResponse, names, EncryptedRandomSessionKey */
        put_field(&w, 0, AUTHENTICATE_FIXED + LM_RESPONSE);
    wr_u32(&w, (flags & WANTED) | NEGOTIATE_ANONYMOUS);
    wr_zero(&w, LM_RESPONSE);
    wrap(&w, 0, 0x04);
    wrap(&w, 0, 0xa2); /* responseToken [2] */
    wrap(&w, 0, 0x30);
    wrap(&w, 0, 0xa1); /* negTokenResp */
    *ret_len = w.pos;
    return 0;
}
