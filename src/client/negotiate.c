/*
 * NEGOTIATE: 2.2.3, 2.2.4, 3.2.4.2.2, 3.2.5.2.
 *
 * All dialects between the caller's bounds are offered. With 3.1.1 among them go the contexts:
 * SHA-512 for the pre-authentication hash, and the signing algorithms and ciphers that the caller
 * allows; by default AES-GMAC (the fastest here, by far) and AES-128-GCM come first. The older
 * dialects have one algorithm each, and 3.0 and 3.0.2 one cipher, AES-128-CCM.
 *
 * What the caller requires and the server does not have ends the connection here, before anything
 * of his is sent.
 */
#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "client/operation.h"
#include "client/seal.h"

#define CENTURY (36525ull * 24 * 3600 * 10000000) /* of a FILETIME */

enum { SALT_SIZE = 32, DIALECTS = 5 };

static const uint16_t dialects[DIALECTS] = {SMB2_DIALECT_202, SMB2_DIALECT_210, SMB2_DIALECT_300,
                                            SMB2_DIALECT_302, SMB2_DIALECT_311};

static const uint8_t ciphers[CLIENT_CIPHERS] = {SECURE_AES128_GCM, SECURE_AES128_CCM,
                                                SECURE_AES256_GCM, SECURE_AES256_CCM};
static const uint8_t signers[CLIENT_SIGNERS] = {SECURE_AES_GMAC, SECURE_AES_CMAC,
                                                SECURE_HMAC_SHA256};

/* The caller's choice, or all. */
static uint16_t choose(unsigned count, const uint8_t *chosen, const uint8_t *all,
                       unsigned all_count, uint16_t *out)
{
    const uint8_t *from = count ? chosen : all;
    if (count == 0)
        count = all_count;
    for (unsigned i = 0; i < count; i++)
        out[i] = from[i];
    return (uint16_t)count;
}

static bool contains(const uint16_t *ids, unsigned n, uint16_t id)
{
    for (unsigned i = 0; i < n; i++)
        if (ids[i] == id)
            return true;
    return false;
}

/* All that 3.0 and 3.0.2 have. */
static bool allows_ccm(const struct wire_negotiate_request *m)
{
    return contains(m->contexts.cipher, m->contexts.cipher_count, SECURE_AES128_CCM);
}

/* The contexts say what is allowed also where they do not go over the wire. */
static void fill_contexts(const struct client_options *options, struct wire_negotiate_contexts *x)
{
    x->preauth_count = 1;
    x->preauth[0] = SMB2_PREAUTH_SHA512;
    x->salt_len = SALT_SIZE;
    getrandom(x->salt, SALT_SIZE, 0);
    x->cipher_count =
        choose(options->cipher_count, options->ciphers, ciphers, CLIENT_CIPHERS, x->cipher);
    x->signing_count =
        choose(options->signer_count, options->signers, signers, CLIENT_SIGNERS, x->signing);
}

/* A connection that is made again wants what was agreed before: see apply. */
static bool is_offered(const struct client *c, const struct client_options *options,
                       uint16_t dialect)
{
    if (c->agreed.dialect)
        return dialect == c->agreed.dialect;
    return dialect >= options->dialect_min && dialect <= options->dialect_max;
}

static void fill_request(const struct client *c, const struct client_options *options,
                         struct wire_negotiate_request *m)
{
    *m = (struct wire_negotiate_request){
        .security_mode = options->require_signing ? SMB2_NEGOTIATE_SIGNING_REQUIRED
                                                  : SMB2_NEGOTIATE_SIGNING_ENABLED,
    };
    for (unsigned i = 0; i < DIALECTS; i++)
        if (is_offered(c, options, dialects[i]))
            m->dialect[m->dialect_count++] = dialects[i];
    if (m->dialect_count == 0)
        return;

    uint16_t highest = m->dialect[m->dialect_count - 1];
    if (highest >= SMB2_DIALECT_210)
        memcpy(m->client_guid, c->guid, sizeof(m->client_guid));
    if (highest >= SMB2_DIALECT_300)
        m->capabilities =
            SMB2_GLOBAL_CAP_LARGE_MTU | SMB2_GLOBAL_CAP_LEASING | SMB2_GLOBAL_CAP_DIRECTORY_LEASING;
    fill_contexts(options, &m->contexts);
    /* servers want to see it with 3.1.1, too, where the contexts decide */
    if (highest == SMB2_DIALECT_311 || (highest >= SMB2_DIALECT_300 && allows_ccm(m)))
        m->capabilities |= SMB2_GLOBAL_CAP_ENCRYPTION;
}

static int refuse(const struct client *c, struct error *err, const char *what)
{
    return error_set(err, -EPROTO, 0, "cannot agree with %.200s: %s", c->host, what);
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
        return refuse(c, err,
                      "it chose a signing algorithm that was not offered "
                      "(SigningAlgorithms)");
    if (x->cipher_count > 1 ||
        (x->cipher_count == 1 && x->cipher[0] != 0 &&
         !contains(asked->contexts.cipher, asked->contexts.cipher_count, x->cipher[0])))
        return refuse(c, err, "it chose a cipher that was not offered (EncryptionCiphers)");
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

/* 3.2.5.2, Connection.CipherId; 0: none. */
static unsigned cipher_of(const struct wire_negotiate_request *asked,
                          const struct wire_negotiate_response *m)
{
    if (m->dialect == SMB2_DIALECT_311)
        return m->contexts.cipher_count ? m->contexts.cipher[0] : 0;
    bool offered = m->dialect >= SMB2_DIALECT_300 && (m->capabilities & SMB2_GLOBAL_CAP_ENCRYPTION);
    return offered && allows_ccm(asked) ? SECURE_AES128_CCM : 0;
}

/* What the caller requires, and what was agreed on. */
static int check_requirements(const struct client *c, const struct client_options *options,
                              const struct wire_negotiate_request *asked, struct error *err)
{
    const struct conn *conn = c->conn;
    enum secure_algorithm signer = conn->signing_algorithm;

    if (options->require_encryption && !conn->cipher)
        return error_set(err, -EPROTO, 0,
                         "%.120s: encryption is required (seal, RequireEncryption), but %s",
                         c->host, conn_why_no_cipher(conn));
    if (options->require_signing &&
        !(conn->server_security_mode &
          (SMB2_NEGOTIATE_SIGNING_ENABLED | SMB2_NEGOTIATE_SIGNING_REQUIRED)))
        return error_set(err, -EPROTO, 0,
                         "%.120s: signing is required (sign, RequireSecuritySignature), but the "
                         "server does not sign",
                         c->host);
    if (!contains(asked->contexts.signing, asked->contexts.signing_count, (uint16_t)signer))
        return error_set(err, -EPROTO, 0,
                         "%.120s: SigningAlgorithms does not allow %s, which is all that the "
                         "server has with SMB %s",
                         c->host, secure_algorithm_name(signer), wire_dialect_name(conn->dialect));
    return 0;
}

/* For validate.c. */
static void note_negotiation(struct conn *c, const struct wire_negotiate_request *asked,
                             const struct wire_negotiate_response *m)
{
    c->offered = (struct wire_validate_request){
        .capabilities = asked->capabilities,
        .security_mode = asked->security_mode,
        .dialect_count = asked->dialect_count,
    };
    memcpy(c->offered.guid, asked->client_guid, sizeof(c->offered.guid));
    memcpy(c->offered.dialect, asked->dialect, sizeof(c->offered.dialect));
    c->chosen = (struct wire_validate_response){
        .capabilities = m->capabilities,
        .security_mode = m->security_mode,
        .dialect = m->dialect,
    };
    memcpy(c->chosen.guid, m->server_guid, sizeof(c->chosen.guid));
}

static void agree(const struct wire_negotiate_request *asked,
                  const struct wire_negotiate_response *m, struct agreed *ret)
{
    /* 3.2.4.1.5: without multi-credit requests nothing may be longer than one credit pays for */
    bool multi = m->dialect > SMB2_DIALECT_202 && (m->capabilities & SMB2_GLOBAL_CAP_LARGE_MTU);
    bool leases = m->dialect > SMB2_DIALECT_202 && (m->capabilities & SMB2_GLOBAL_CAP_LEASING);
    uint32_t most = multi ? UINT32_MAX : CREDIT_PAYLOAD;
    *ret = (struct agreed){
        .dialect = m->dialect,
        .signing_algorithm = signing_of(m),
        .cipher = cipher_of(asked, m),
        .capabilities = m->capabilities,
        .max_read = min_u32(min_u32(m->max_read, READ_MAX), most),
        .max_write = min_u32(min_u32(m->max_write, WRITE_MAX), most),
        .max_transact = min_u32(min_u32(m->max_transact, TRANSACT_MAX), most),
        .lease_version = !leases                         ? 0
                         : m->dialect < SMB2_DIALECT_300 ? 1
                                                         : 2,
        .multi_credit = multi,
    };
    ret->leases_dirs =
        ret->lease_version == 2 && (m->capabilities & SMB2_GLOBAL_CAP_DIRECTORY_LEASING);
}

static bool same(const struct agreed *a, const struct agreed *b)
{
    return a->dialect == b->dialect && a->signing_algorithm == b->signing_algorithm &&
           a->cipher == b->cipher && a->max_read == b->max_read && a->max_write == b->max_write &&
           a->max_transact == b->max_transact && a->lease_version == b->lease_version &&
           a->leases_dirs == b->leases_dirs && a->multi_credit == b->multi_credit;
}

/* What threads read without a lock does not change: a connection that is made again agrees on the
 * same, or is none. */
static int apply(struct client *c, const struct wire_negotiate_request *asked,
                 const struct wire_negotiate_response *m, struct error *err)
{
    struct conn *conn = c->conn;
    struct agreed a;

    agree(asked, m, &a);
    conn->server_security_mode = m->security_mode;
    note_negotiation(conn, asked, m);
    if (c->agreed.dialect)
        return same(&a, &c->agreed) ? 0
                                    : refuse(c, err,
                                             "it came back with other abilities than it had; "
                                             "what is connected to it has to begin anew");
    c->agreed = a;
    conn->dialect = a.dialect;
    conn->signing_algorithm = a.signing_algorithm;
    conn->cipher = a.cipher;
    conn->multi_credit = a.multi_credit;
    conn->lease_version = a.lease_version;
    conn->leases_dirs = a.leases_dirs;
    conn->max_read = a.max_read;
    conn->max_write = a.max_write;
    conn->max_transact = a.max_transact;
    uint32_t payload = a.max_read > a.max_transact ? a.max_read : a.max_transact;
    uint32_t frame = payload + FRAME_SLACK;
    atomic_store(&conn->frame_max, frame > FRAME_MAX_MIN ? frame : FRAME_MAX_MIN);

    c->facts.dialect = a.dialect;
    c->facts.dialect_name = wire_dialect_name(a.dialect);
    c->facts.server_capabilities = a.capabilities;
    c->facts.max_read = a.max_read;
    c->facts.max_write = a.max_write;
    c->facts.max_transact = a.max_transact;
    c->facts.server_max_read = m->max_read;
    c->facts.server_max_write = m->max_write;
    c->facts.server_max_transact = m->max_transact;
    c->facts.server_requires_signing = m->security_mode & SMB2_NEGOTIATE_SIGNING_REQUIRED;
    c->facts.cipher = a.cipher ? secure_cipher_name(a.cipher) : "none";
    return 0;
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

/* A clock that is a century off says nothing; nor does 0. */
static void learn_clock(struct conn *c, uint64_t theirs)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t ours = timespec_to_filetime(now);
    uint64_t off = theirs > ours ? theirs - ours : ours - theirs;
    if (theirs && off < CENTURY)
        atomic_store(&c->server_clock, (int64_t)(theirs - clock_now() / 100));
}

static int take_response(struct client *c, const struct client_options *options,
                         const struct wire_negotiate_request *asked, struct compound *m,
                         struct secure_preauth *preauth, struct error *err)
{
    uint32_t status = compound_status(m, 0);
    struct wire_negotiate_response response;

    if (status_is(status, STATUS_NOT_SUPPORTED))
        return error_status(err, status,
                            "%.200s speaks none of the SMB dialects offered "
                            "(see vers=, Smb2DialectMin, Smb2DialectMax)",
                            c->host);
    if (!status_is(status, STATUS_SUCCESS)) {
        bool chosen = asked->contexts.signing_count < CLIENT_SIGNERS;
        return error_status(err, status, "cannot agree on a dialect with %.200s%s", c->host,
                            chosen ? " (it may have none of what SigningAlgorithms allows)" : "");
    }
    if (wire_negotiate_response_decode(m->request[0].message, &response) < 0)
        return refuse(c, err, "its answer to NEGOTIATE is malformed");
    int r = check_response(c, asked, &response, err);
    if (r < 0)
        return r;
    learn_clock(c->conn, response.system_time);
    r = apply(c, asked, &response, err);
    if (r == 0)
        r = check_requirements(c, options, asked, err);
    if (r < 0)
        return r;
    return response.dialect == SMB2_DIALECT_311 ? chain(preauth, m, err) : 0;
}

int negotiate(struct client *c, const struct client_options *options,
              struct secure_preauth *preauth, struct error *err)
{
    struct wire_negotiate_request request;
    struct error why;

    fill_request(c, options, &request);
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
        r = take_response(c, options, &request, m, preauth, err);
    compound_free(m);
    return r;
}
