/*
 * Signatures: 3.1.4.1, 3.1.5.1.
 *
 * A signature is a MAC over the message with its signature field taken as zero, cut to 16 bytes.
 * The MAC is fed in parts (what is before the field, 16 zero bytes, what is behind it, and the data
 * of a message that lies elsewhere), so that a message can be verified where it lies, without
 * writing to it, and signed without being put together.
 *
 * A signer holds one MAC context that has its key already and is never fed. Each message works on a
 * copy of it: the key is expanded once per session, and threads share the signer without a lock.
 *
 * AES-GMAC wants a nonce for each message, and takes it from the message itself: its MessageId, who
 * sends it, and whether it is a CANCEL, which goes under the MessageId of what it cancels.
 */
#include "secure/secure.h"

#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { SIGNATURE_AT = 48, SIGNATURE_END = SIGNATURE_AT + SECURE_SIGNATURE_SIZE, MAC_MAX = 32 };
/* Of the header (2.2.1), all little-endian. */
enum { COMMAND_AT = 12, FLAGS_AT = 16, MESSAGE_ID_AT = 24 };
enum { COMMAND_CANCEL = 12, FLAG_FROM_SERVER = 1 };
enum { NONCE_SIZE = 12, NONCE_FROM_SERVER = 1, NONCE_CANCEL = 2 };

struct secure_signer {
    enum secure_algorithm algorithm;
    EVP_MAC_CTX *keyed; /* constant after secure_signer_new: only copied */
};

static const struct {
    const char *name, *mac, *param, *value;
} algorithms[] = {
    [SECURE_HMAC_SHA256] = {"HMAC-SHA256", "HMAC", OSSL_MAC_PARAM_DIGEST, "SHA256"},
    [SECURE_AES_CMAC] = {"AES-CMAC", "CMAC", OSSL_MAC_PARAM_CIPHER, "AES-128-CBC"},
    [SECURE_AES_GMAC] = {"AES-GMAC", "GMAC", OSSL_MAC_PARAM_CIPHER, "AES-128-GCM"},
};

const char *secure_algorithm_name(enum secure_algorithm a)
{
    return algorithms[a].name;
}

int secure_signer_new(enum secure_algorithm a, const uint8_t key[static SECURE_KEY_SIZE],
                      struct secure_signer **ret)
{
    struct secure_signer *s = calloc(1, sizeof(*s));
    if (!s)
        return -ENOMEM;
    s->algorithm = a;

    EVP_MAC *mac = EVP_MAC_fetch(NULL, algorithms[a].mac, NULL);
    s->keyed = mac ? EVP_MAC_CTX_new(mac) : NULL;
    EVP_MAC_free(mac); /* the context holds its own reference */
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(algorithms[a].param, (char *)algorithms[a].value, 0),
        OSSL_PARAM_construct_end(),
    };
    if (!s->keyed || !EVP_MAC_init(s->keyed, key, SECURE_KEY_SIZE, params)) {
        secure_signer_free(s);
        return -EOPNOTSUPP;
    }
    *ret = s;
    return 0;
}

struct secure_signer *secure_signer_free(struct secure_signer *s)
{
    if (s)
        EVP_MAC_CTX_free(s->keyed);
    free(s);
    return NULL;
}

/* The nonce of this message, for the algorithm that wants one. */
static bool set_nonce(const struct secure_signer *s, EVP_MAC_CTX *ctx, const uint8_t *message)
{
    uint8_t nonce[NONCE_SIZE] = {0};
    if (s->algorithm != SECURE_AES_GMAC)
        return true;
    memcpy(nonce, message + MESSAGE_ID_AT, 8);
    nonce[8] = (message[FLAGS_AT] & FLAG_FROM_SERVER ? NONCE_FROM_SERVER : 0) |
               (message[COMMAND_AT] == COMMAND_CANCEL ? NONCE_CANCEL : 0);
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_IV, nonce, sizeof(nonce)),
        OSSL_PARAM_construct_end(),
    };
    return EVP_MAC_CTX_set_params(ctx, params) == 1;
}

static int signature(const struct secure_signer *s, const uint8_t *message, size_t len,
                     const void *tail, size_t tail_len, uint8_t ret[static SECURE_SIGNATURE_SIZE])
{
    static const uint8_t zero[SECURE_SIGNATURE_SIZE];
    uint8_t out[MAC_MAX];
    size_t out_len = 0;

    if (len < SIGNATURE_END)
        return -EBADMSG;
    EVP_MAC_CTX *ctx = EVP_MAC_CTX_dup(s->keyed);
    if (!ctx)
        return -ENOMEM;
    int ok = set_nonce(s, ctx, message) && EVP_MAC_update(ctx, message, SIGNATURE_AT) &&
             EVP_MAC_update(ctx, zero, sizeof(zero)) &&
             EVP_MAC_update(ctx, message + SIGNATURE_END, len - SIGNATURE_END) &&
             (tail_len == 0 || EVP_MAC_update(ctx, tail, tail_len)) &&
             EVP_MAC_final(ctx, out, &out_len, sizeof(out)) && out_len >= SECURE_SIGNATURE_SIZE;
    EVP_MAC_CTX_free(ctx);
    if (!ok)
        return -ENOMEM;
    memcpy(ret, out, SECURE_SIGNATURE_SIZE);
    return 0;
}

int secure_sign_parts(const struct secure_signer *s, uint8_t *message, size_t len, const void *tail,
                      size_t tail_len)
{
    uint8_t out[SECURE_SIGNATURE_SIZE];
    int r = signature(s, message, len, tail, tail_len, out);
    if (r < 0)
        return r;
    memcpy(message + SIGNATURE_AT, out, sizeof(out));
    return 0;
}

int secure_sign(const struct secure_signer *s, uint8_t *message, size_t len)
{
    return secure_sign_parts(s, message, len, NULL, 0);
}

int secure_verify(const struct secure_signer *s, const uint8_t *message, size_t len)
{
    uint8_t out[SECURE_SIGNATURE_SIZE];
    int r = signature(s, message, len, NULL, 0, out);
    if (r < 0)
        return r;
    return CRYPTO_memcmp(message + SIGNATURE_AT, out, sizeof(out)) == 0 ? 0 : -EBADMSG;
}
