/*
 * Encryption: 2.2.41, 3.1.4.3, 3.2.5.1.1.1.
 *
 * A sealed message is the transform header and behind it the message, encrypted by an AEAD cipher
 * whose tag is the header's Signature. The header from its Nonce on is authenticated along with it,
 * so that nothing but the protocol id can be changed without being noticed. CCM takes the first 11
 * bytes of the nonce, GCM the first 12.
 *
 * A sealer holds the key and is only read; every message has a cipher context of its own, so that
 * threads share a sealer without a lock. CCM has to know the length and the tag before anything
 * else, GCM takes them at the end: the order below suits both. GCM also takes a message in pieces,
 * each from where it lies; for CCM they are put together first.
 */
#include "secure/secure.h"

#include <errno.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIGNATURE_AT = 4,
    NONCE_AT = SIGNATURE_AT + SECURE_SIGNATURE_SIZE, /* and what is authenticated from here on */
    AUTHENTICATED = SECURE_TRANSFORM_SIZE - NONCE_AT,
};

struct secure_sealer {
    const EVP_CIPHER *cipher; /* libcrypto's own, never freed */
    int nonce_len;
    bool is_ccm;
    uint8_t key[SECURE_CIPHER_KEY_MAX];
};

static const struct {
    const char *name;
    const EVP_CIPHER *(*cipher)(void);
    size_t key_len;
    int nonce_len;
    bool is_ccm;
} ciphers[] = {
    [SECURE_AES128_CCM] = {"AES-128-CCM", EVP_aes_128_ccm, 16, 11, true},
    [SECURE_AES128_GCM] = {"AES-128-GCM", EVP_aes_128_gcm, 16, 12, false},
    [SECURE_AES256_CCM] = {"AES-256-CCM", EVP_aes_256_ccm, 32, 11, true},
    [SECURE_AES256_GCM] = {"AES-256-GCM", EVP_aes_256_gcm, 32, 12, false},
};

const char *secure_cipher_name(enum secure_cipher c)
{
    return ciphers[c].name;
}

size_t secure_cipher_key_size(enum secure_cipher c)
{
    return ciphers[c].key_len;
}

int secure_sealer_new(enum secure_cipher c, const void *key, struct secure_sealer **ret)
{
    struct secure_sealer *s = calloc(1, sizeof(*s));
    if (!s)
        return -ENOMEM;
    s->cipher = ciphers[c].cipher();
    s->nonce_len = ciphers[c].nonce_len;
    s->is_ccm = ciphers[c].is_ccm;
    memcpy(s->key, key, ciphers[c].key_len);
    *ret = s;
    return 0;
}

struct secure_sealer *secure_sealer_free(struct secure_sealer *s)
{
    if (s)
        OPENSSL_cleanse(s->key, sizeof(s->key));
    free(s);
    return NULL;
}

/* A context that has cipher, nonce and key; with `tag` for decryption, without for encryption. */
static EVP_CIPHER_CTX *begin(const struct secure_sealer *s, const uint8_t *header,
                             const uint8_t *tag)
{
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    bool encrypt = tag == NULL;
    bool tag_now = tag || s->is_ccm; /* CCM wants to know the size of the one to be made */

    if (ctx && EVP_CipherInit_ex(ctx, s->cipher, NULL, NULL, NULL, encrypt) &&
        EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_IVLEN, s->nonce_len, NULL) > 0 &&
        (!tag_now ||
         EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, SECURE_SIGNATURE_SIZE, (void *)tag) > 0) &&
        EVP_CipherInit_ex(ctx, NULL, NULL, s->key, header + NONCE_AT, encrypt))
        return ctx;
    EVP_CIPHER_CTX_free(ctx);
    return NULL;
}

/* Makes the context ready for a message of `len` bytes, and has its header authenticated. */
static bool begin_message(const struct secure_sealer *s, EVP_CIPHER_CTX *ctx, const uint8_t *header,
                          int len)
{
    int n = 0;
    return (!s->is_ccm || EVP_CipherUpdate(ctx, NULL, &n, NULL, len)) &&
           EVP_CipherUpdate(ctx, NULL, &n, header + NONCE_AT, AUTHENTICATED);
}

static bool run(EVP_CIPHER_CTX *ctx, const uint8_t *in, uint8_t *out, int len)
{
    int n = 0;
    return EVP_CipherUpdate(ctx, out, &n, in, len) && n == len;
}

/* Nothing more comes of these ciphers, but GCM looks at the tag only now. */
static bool end_message(const struct secure_sealer *s, EVP_CIPHER_CTX *ctx)
{
    uint8_t nothing[EVP_MAX_BLOCK_LENGTH];
    int n = 0;
    return s->is_ccm || EVP_CipherFinal_ex(ctx, nothing, &n);
}

int secure_seal_parts(const struct secure_sealer *s, uint8_t *frame, const void *message,
                      size_t len, const void *tail, size_t tail_len)
{
    uint8_t *out = frame + SECURE_TRANSFORM_SIZE;
    if (len == 0 || len > INT_MAX || tail_len > INT_MAX - len)
        return -EBADMSG;
    EVP_CIPHER_CTX *ctx = begin(s, frame, NULL);
    if (!ctx)
        return -ENOMEM;
    if (s->is_ccm && tail_len) {
        memcpy(out, message, len);
        memcpy(out + len, tail, tail_len);
        message = out;
        len += tail_len;
        tail_len = 0;
    }
    bool ok = begin_message(s, ctx, frame, (int)(len + tail_len)) &&
              run(ctx, message, out, (int)len) &&
              (tail_len == 0 || run(ctx, tail, out + len, (int)tail_len)) && end_message(s, ctx) &&
              EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, SECURE_SIGNATURE_SIZE,
                                  frame + SIGNATURE_AT) > 0;
    EVP_CIPHER_CTX_free(ctx);
    return ok ? 0 : -ENOMEM;
}

int secure_seal(const struct secure_sealer *s, uint8_t *frame, size_t len)
{
    if (len <= SECURE_TRANSFORM_SIZE)
        return -EBADMSG;
    return secure_seal_parts(s, frame, frame + SECURE_TRANSFORM_SIZE, len - SECURE_TRANSFORM_SIZE,
                             NULL, 0);
}

int secure_unseal(const struct secure_sealer *s, const uint8_t *frame, size_t len, uint8_t *out)
{
    if (len <= SECURE_TRANSFORM_SIZE || len - SECURE_TRANSFORM_SIZE > INT_MAX)
        return -EBADMSG;
    EVP_CIPHER_CTX *ctx = begin(s, frame, frame + SIGNATURE_AT);
    if (!ctx)
        return -ENOMEM;
    int message = (int)(len - SECURE_TRANSFORM_SIZE);
    bool ok = begin_message(s, ctx, frame, message) &&
              run(ctx, frame + SECURE_TRANSFORM_SIZE, out, message) && end_message(s, ctx);
    EVP_CIPHER_CTX_free(ctx);
    return ok ? 0 : -EBADMSG;
}
