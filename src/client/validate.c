/*
 * Whether the negotiation was what it seemed to be (3.2.5.5, 3.2.5.14.12).
 *
 * A NEGOTIATE is not signed: who sits on the way can take the better dialects out of the request,
 * or encryption out of the reply. SMB 3.1.1 hashes both messages into the session's keys. A client
 * that has offered 3.0 or more and got less than 3.1.1 asks again, signed, before anything else is
 * done in the tree: it says what it had offered, and the server what it had chosen. A server that
 * got another offer hangs up; an answer that is not signed, or that tells something else, ends the
 * connection here.
 *
 * Servers that have never heard of SMB 3 do not know the question. They say so, signed: that is as
 * good as an answer, since one that does know would have said that.
 */
#include "wire/validate.h"

#include <errno.h>
#include <string.h>

#include "client/operation.h"

static int refused(const struct client *c, struct error *err, const char *what)
{
    struct error why;
    error_set(&why, -EPROTO, 0,
              "%.120s: %s: the negotiation of SMB %s may have been downgraded on its way, and the "
              "connection is ended (Smb2DialectMin=3.1.1 would rule that out)",
              c->host, what, c->facts.dialect_name);
    conn_fail(c->conn, &why);
    return error_set(err, why.code, 0, "%s", why.text);
}

/* 3.2.5.14.12 leaves these alone. */
static bool is_unknown_to_server(uint32_t status)
{
    return status_is(status, STATUS_INVALID_DEVICE_REQUEST) ||
           status_is(status, STATUS_NOT_SUPPORTED) || status_is(status, STATUS_FILE_CLOSED) ||
           status_is(status, STATUS_FS_DRIVER_REQUIRED);
}

static int check_answer(const struct client *c, const struct compound *m, struct error *err)
{
    const struct wire_validate_response *chosen = &c->conn->chosen;
    struct wire_ioctl_response response;
    struct wire_validate_response said;

    if (!m->sealed && !(m->request[0].reply.flags & SMB2_FLAGS_SIGNED))
        return refused(c, err, "the server's word on what was negotiated is not signed");
    uint32_t status = compound_status(m, 0);
    if (is_unknown_to_server(status))
        return 0;
    if (!status_is(status, STATUS_SUCCESS))
        return refused(c, err, "the server does not confirm what was negotiated");
    if (wire_ioctl_response_decode(m->request[0].message, &response) < 0 ||
        wire_validate_response_decode(response.output, &said) < 0)
        return refused(c, err, "the server's word on what was negotiated is malformed");
    if (said.dialect != chosen->dialect)
        return refused(c, err, "the server says that another dialect was negotiated");
    if (said.capabilities != chosen->capabilities || said.security_mode != chosen->security_mode ||
        memcmp(said.guid, chosen->guid, sizeof(said.guid)) != 0)
        return refused(c, err, "the server says that something else was negotiated");
    return 0;
}

/* A session without a key has nothing to ask with. */
static bool can_ask(struct conn *c)
{
    pthread_mutex_lock(&c->lock);
    bool keyed = c->signer != NULL;
    pthread_mutex_unlock(&c->lock);
    uint16_t most = c->offered.dialect[c->offered.dialect_count - 1];
    return keyed && most >= SMB2_DIALECT_300 && c->dialect < SMB2_DIALECT_311;
}

int validate_negotiation(struct client *c, struct error *err)
{
    struct conn *conn = c->conn;
    uint8_t buf[WIRE_VALIDATE_REQUEST_MAX];
    struct wr input = wr_init(buf, sizeof(buf));
    struct error why;

    if (!can_ask(conn))
        return 0;
    wire_validate_request_encode(&input, &conn->offered);
    const struct wire_ioctl_request request = {
        .code = FSCTL_VALIDATE_NEGOTIATE_INFO,
        .file_id = {UINT64_MAX, UINT64_MAX},
        .input = rd_init(buf, input.pos),
        .max_output = WIRE_VALIDATE_RESPONSE_SIZE,
        .flags = SMB2_0_IOCTL_IS_FSCTL,
    };
    struct compound *m = compound_new(conn, input.pos);
    if (!m)
        return error_set(err, -ENOMEM, 0, "out of memory");
    m->signs = true;
    wire_ioctl_request_encode(compound_add(m, SMB2_IOCTL, 0), &request);
    int r = compound_run(m, &why);
    if (r == 0)
        r = check_answer(c, m, err);
    else if (r == -ECONNRESET) /* what a server does that was offered something else */
        r = refused(c, err, "the server hung up when it was asked what was negotiated");
    else
        error_set(err, r, why.status, "cannot confirm with %.120s what was negotiated: %s", c->host,
                  why.text);
    compound_free(m);
    return r;
}
