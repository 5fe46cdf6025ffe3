/*
 * What a server shares, by NetrShareEnum on the pipe `srvsvc`. (MS-SRVS 3.1.4.8)
 *
 * A server that has more than it likes to say at once says so (ERROR_MORE_DATA) and is asked again,
 * from where it told to resume; one that would tell for ever is stopped by SHARES_MAX, and one that
 * tells nothing new by that.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/utf.h"
#include "client/pipe.h"

enum {
    SHARES_MAX = 65536,
    COMMENT_MAX = 4096,    /* bytes of UTF-16 that are shown */
    ERROR_DENIED = 5,      /* MS-ERREF 2.2 */
    ERROR_MORE_DATA = 234, /* the same */
};

struct telling {
    const struct operation *op;
    client_share_fn *fn;
    void *user;
    uint32_t count; /* so far */
};

/* A name that cannot be one is left out; a comment is cut, or left out. */
static int tell(const struct telling *t, const struct wire_share *share)
{
    char name[CLIENT_NAME_MAX], comment[UTF8_MAX_FOR_UTF16(COMMENT_MAX) + 1];
    size_t len = share->comment.len < COMMENT_MAX ? share->comment.len : COMMENT_MAX;
    if (name_from_wire(false, &share->name, name) < 0)
        return 0;
    int n = utf16_to_utf8(share->comment.base, len, comment, sizeof(comment) - 1);
    comment[n > 0 ? n : 0] = 0;
    static const enum client_share_kind kinds[] = {
        [SHARE_DISK] = CLIENT_SHARE_DISK,
        [SHARE_PRINTER] = CLIENT_SHARE_PRINTER,
        [SHARE_DEVICE] = CLIENT_SHARE_DEVICE,
        [SHARE_IPC] = CLIENT_SHARE_PIPE,
    };
    uint32_t kind = share->type & SHARE_KIND;
    const struct client_share told = {
        .name = name,
        .comment = comment,
        .kind = kind <= SHARE_IPC ? kinds[kind] : CLIENT_SHARE_UNKNOWN,
        .special = share->type & SHARE_SPECIAL,
    };
    return t->fn(t->user, &told);
}

static int failed(const struct operation *op, uint32_t result)
{
    char text[100];
    if (result == ERROR_DENIED)
        return operation_error(op, -EACCES, "this user may not list the shares: access denied");
    snprintf(text, sizeof(text), "the server does not list its shares: Windows error %u", result);
    return operation_error(op, -EREMOTEIO, text);
}

/* One answer. 1: there is more, from *resume on. */
static int take(struct telling *t, struct rd stub, uint32_t *resume)
{
    struct wire_shares_response m;
    struct wire_share share;
    int r;
    if (wire_shares_response_decode(stub, &m) < 0)
        return operation_error(t->op, -EBADMSG, "the server's list of shares is malformed");
    if (m.result != 0 && m.result != ERROR_MORE_DATA)
        return failed(t->op, m.result);
    bool more = m.result == ERROR_MORE_DATA;
    if (m.count > SHARES_MAX - t->count || (more && (m.count == 0 || m.resume <= *resume)))
        return operation_error(t->op, -EBADMSG, "the server's list of shares has no end");
    t->count += m.count;
    while ((r = wire_share_next(&m, &share)) == 1)
        if ((r = tell(t, &share)) != 0)
            return r;
    *resume = m.resume;
    return more;
}

static int ask(struct pipe *p, struct telling *t, uint32_t *resume)
{
    const char *host = t->op->client->host;
    char unc[300];
    uint8_t utf16[2 * sizeof(unc)], arguments[WIRE_RPC_FRAGMENT];
    struct wr w = wr_init(arguments, sizeof(arguments));
    int n = snprintf(unc, sizeof(unc), "\\\\%s", host);
    n = n < 0 || (size_t)n >= sizeof(unc) ? -ENAMETOOLONG
                                          : utf8_to_utf16(unc, (size_t)n, utf16, sizeof(utf16));
    if (n < 0)
        return operation_error(t->op, n, "the server's name is too long, or no UTF-8");
    const struct wire_shares_request request = {
        .server = rd_init(utf16, (size_t)n),
        .preferred_length = UINT32_MAX,
        .resume = *resume,
    };
    wire_shares_request_encode(&w, &request);
    uint8_t *stub;
    size_t len;
    int r = pipe_call(p, SRVSVC_SHARE_ENUM, rd_init(arguments, w.pos), &stub, &len);
    if (r < 0)
        return r;
    r = take(t, rd_init(stub, len), resume);
    free(stub);
    return r;
}

int client_shares(struct client *c, client_share_fn *fn, void *user, struct error *err)
{
    const struct operation op = {c, "list the shares by", "srvsvc", err};
    struct telling t = {.op = &op, .fn = fn, .user = user};
    struct pipe pipe;
    uint32_t resume = 0;
    int r = pipe_open(&pipe, &op, &wire_rpc_srvsvc);
    if (r == 0)
        while ((r = ask(&pipe, &t, &resume)) == 1)
            ;
    pipe_done(&pipe);
    return r;
}
