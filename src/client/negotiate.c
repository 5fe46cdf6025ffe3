/*
 * NEGOTIATE: 2.2.3, 2.2.4, 3.2.4.2.2, 3.2.5.2.
 *
 * All dialects between the caller's bounds are offered. With 3.1.1 among them go the contexts:
 * SHA-512 for the pre-authentication hash, and for signing AES-GMAC (the fastest here, by far),
 * AES-CMAC, HMAC-SHA256. No cipher is offered, since messages are not sealed here: a server that
 * insists on it says so (ACCESS_DENIED at the logon, or a flag), and a server that is offered none
 * cannot seal by mistake.
 */
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "client/operation.h"

enum { SALT_SIZE = 32, DIALECTS = 5 };

static const uint16_t dialects[DIALECTS] = {SMB2_DIALECT_202, SMB2_DIALECT_210, SMB2_DIALECT_300,
                                            SMB2_DIALECT_302, SMB2_DIALECT_311};

static void fill_request(const struct client_options *options, struct wire_negotiate_request *m)
{
    *m = (struct wire_negotiate_request){
        .security_mode = options->require_signing ? SMB2_NEGOTIATE_SIGNING_REQUIRED
                                                  : SMB2_NEGOTIATE_SIGNING_ENABLED,
    };
    for (unsigned i = 0; i < DIALECTS; i++)
        if (dialects[i] >= options->dialect_min && dialects[i] <= options->dialect_max)
            m->dialect[m->dialect_count++] = dialects[i];
    if (m->dialect_count == 0)
        return;

    uint16_t highest = m->dialect[m->dialect_count - 1];
    if (highest >= SMB2_DIALECT_210)
        getrandom(m->client_guid, sizeof(m->client_guid), 0);
    if (highest >= SMB2_DIALECT_300)
        m->capabilities =
            SMB2_GLOBAL_CAP_LARGE_MTU | SMB2_GLOBAL_CAP_LEASING | SMB2_GLOBAL_CAP_DIRECTORY_LEASING;
    if (highest == SMB2_DIALECT_311) {
        m->contexts.preauth_count = 1;
        m->contexts.preauth[0] = SMB2_PREAUTH_SHA512;
        m->contexts.salt_len = SALT_SIZE;
        getrandom(m->contexts.salt, SALT_SIZE, 0);
        m->contexts.signing_count = 3;
        m->contexts.signing[0] = SMB2_SIGNING_AES_GMAC;
        m->contexts.signing[1] = SMB2_SIGNING_AES_CMAC;
        m->contexts.signing[2] = SMB2_SIGNING_HMAC_SHA256;
    }
}

static int refuse(const struct client *c, struct error *err, const char *what)
{
    return error_set(err, -EPROTO, 0, "cannot agree with %.200s: %s", c->host, what);
}

static bool contains(const uint16_t *ids, unsigned n, uint16_t id)
{
    for (unsigned i = 0; i < n; i++)
        if (ids[i] == id)
            return true;
    return false;
}

static int check_response(const struct client *c, const struct wire_negotiate_request *asked,
                          const struct wire_negotiate_response *m, struct error *err)
{
    if (!contains(asked->dialect, asked->dialect_count, m->dialect))
        return refuse(c, err, "it chose a dialect that was not offered");
    if (m->max_transact < CREDIT_PAYLOAD || m->max_read < CREDIT_PAYLOAD ||
        m->max_write < CREDIT_PAYLOAD)
        return refuse(c, err, "it takes less than 64 KiB at a time");
    if (m->dialect != SMB2_DIALECT_311)
        return 0;
    const struct wire_negotiate_contexts *x = &m->contexts;
    if (x->preauth_count != 1 || x->preauth[0] != SMB2_PREAUTH_SHA512)
        return refuse(c, err, "it chose SMB 3.1.1 without the SHA-512 hash that was offered");
    if (x->signing_count > 1 ||
        (x->signing_count == 1 &&
         !contains(asked->contexts.signing, asked->contexts.signing_count, x->signing[0])))
        return refuse(c, err, "it chose a signing algorithm that was not offered");
    if (x->cipher_count > 1 || (x->cipher_count == 1 && x->cipher[0] != 0))
        return refuse(c, err, "it chose a cipher although none was offered");
    return 0;
}

static uint32_t min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* 3.2.5.2: without a choice in the response, what the dialect has. */
static enum secure_algorithm signing_of(const struct wire_negotiate_response *m)
{
    if (m->dialect < SMB2_DIALECT_300)
        return SECURE_HMAC_SHA256;
    if (m->dialect < SMB2_DIALECT_311 || m->contexts.signing_count == 0)
        return SECURE_AES_CMAC;
    return (enum secure_algorithm)m->contexts.signing[0]; /* one of those that were offered */
}

static void apply(struct client *c, const struct wire_negotiate_response *m)
{
    struct conn *conn = c->conn;

    conn->dialect = m->dialect;
    conn->server_security_mode = m->security_mode;
    conn->signing_algorithm = signing_of(m);
    /* 3.2.4.1.5: without multi-credit requests nothing may be longer than one credit pays for */
    conn->multi_credit =
        m->dialect > SMB2_DIALECT_202 && (m->capabilities & SMB2_GLOBAL_CAP_LARGE_MTU);
    if (m->dialect > SMB2_DIALECT_202 && (m->capabilities & SMB2_GLOBAL_CAP_LEASING))
        conn->lease_version = m->dialect < SMB2_DIALECT_300 ? 1 : 2;
    conn->leases_dirs =
        conn->lease_version == 2 && (m->capabilities & SMB2_GLOBAL_CAP_DIRECTORY_LEASING);
    uint32_t most = conn->multi_credit ? UINT32_MAX : CREDIT_PAYLOAD;
    conn->max_read = min_u32(min_u32(m->max_read, READ_MAX), most);
    conn->max_write = min_u32(min_u32(m->max_write, WRITE_MAX), most);
    conn->max_transact = min_u32(min_u32(m->max_transact, TRANSACT_MAX), most);
    uint32_t payload = conn->max_read > conn->max_transact ? conn->max_read : conn->max_transact;
    uint32_t frame = payload + FRAME_SLACK;
    atomic_store(&conn->frame_max, frame > FRAME_MAX_MIN ? frame : FRAME_MAX_MIN);

    c->facts.dialect = m->dialect;
    c->facts.server_capabilities = m->capabilities;
    c->facts.max_read = conn->max_read;
    c->facts.max_write = conn->max_write;
    c->facts.max_transact = conn->max_transact;
}

/* 3.2.5.2: both messages, as they went over the wire. */
static int chain(struct secure_preauth *preauth, const struct compound *m, struct error *err)
{
    const struct request *q = &m->request[0];
    int r = secure_preauth_add(preauth, m->buf + q->offset, q->len);
    if (r == 0)
        r = secure_preauth_add(preauth, q->message.base, q->message.len);
    return r < 0 ? error_set(err, r, 0, "cannot compute SHA-512: %s", strerror(-r)) : 0;
}

static int take_response(struct client *c, const struct wire_negotiate_request *asked,
                         struct compound *m, struct secure_preauth *preauth, struct error *err)
{
    uint32_t status = compound_status(m, 0);
    struct wire_negotiate_response response;

    if (status_is(status, STATUS_NOT_SUPPORTED))
        return error_status(err, status,
                            "%.200s speaks none of the SMB dialects offered "
                            "(see vers=)",
                            c->host);
    if (!status_is(status, STATUS_SUCCESS))
        return error_status(err, status, "cannot agree on a dialect with %.200s", c->host);
    if (wire_negotiate_response_decode(m->request[0].message, &response) < 0)
        return refuse(c, err, "its answer to NEGOTIATE is malformed");
    int r = check_response(c, asked, &response, err);
    if (r < 0)
        return r;
    apply(c, &response);
    return response.dialect == SMB2_DIALECT_311 ? chain(preauth, m, err) : 0;
}

int negotiate(struct client *c, const struct client_options *options,
              struct secure_preauth *preauth, struct error *err)
{
    struct wire_negotiate_request request;
    struct error why;

    fill_request(options, &request);
    if (request.dialect_count == 0)
        return error_set(err, -EINVAL, 0, "no SMB dialect lies between 0x%04x and 0x%04x",
                         options->dialect_min, options->dialect_max);
    struct compound *m = compound_new(c->conn, 0);
    if (!m)
        return error_set(err, -ENOMEM, 0, "out of memory");
    wire_negotiate_request_encode(compound_add(m, SMB2_NEGOTIATE, 0), &request);
    int r = compound_run(m, &why);
    if (r < 0)
        r = error_set(err, why.code, why.status, "cannot agree on a dialect with %.200s: %s",
                      c->host, why.text);
    else
        r = take_response(c, &request, m, preauth, err);
    compound_free(m);
    return r;
}
