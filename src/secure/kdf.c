/*
 * Key derivation: 3.1.4.2.
 *
 * SP800-108's counter mode hashes, for each block of output, a 32-bit counter, the label, a zero
 * byte, the context and the length of the output in bits. The specification of SMB counts the
 * terminating NULs of its labels and of its textual contexts as part of them, so that a label is
 * followed by two zero bytes.
 */
#include "secure/secure.h"

#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <string.h>

int secure_kdf(const void *key, size_t key_len, const void *label, size_t label_len,
               const void *context, size_t context_len, uint8_t *out, size_t out_len)
{
    EVP_KDF *kdf = EVP_KDF_fetch(NULL, "KBKDF", NULL);
    if (!kdf)
        return -EOPNOTSUPP;
    EVP_KDF_CTX *ctx = EVP_KDF_CTX_new(kdf);
    EVP_KDF_free(kdf);
    if (!ctx)
        return -ENOMEM;

    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_MODE, (char *)"counter", 0),
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_MAC, (char *)"HMAC", 0),
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, (char *)"SHA256", 0),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)key, key_len),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, (void *)label, label_len),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, (void *)context, context_len),
        OSSL_PARAM_construct_end(),
    };
    int ok = EVP_KDF_derive(ctx, out, out_len, params);
    EVP_KDF_CTX_free(ctx);
    return ok > 0 ? 0 : -EOPNOTSUPP;
}

int secure_signing_key(uint16_t dialect, const uint8_t session_key[static SECURE_KEY_SIZE],
                       const struct secure_preauth *preauth, uint8_t ret[static SECURE_KEY_SIZE])
{
    static const char label_30[] = "SMB2AESCMAC", context_30[] = "SmbSign";
    static const char label_311[] = "SMBSigningKey";

    if (dialect < 0x0300) {
        memcpy(ret, session_key, SECURE_KEY_SIZE);
        return 0;
    }
    if (dialect < 0x0311)
        return secure_kdf(session_key, SECURE_KEY_SIZE, label_30, sizeof(label_30), context_30,
                          sizeof(context_30), ret, SECURE_KEY_SIZE);
    return secure_kdf(session_key, SECURE_KEY_SIZE, label_311, sizeof(label_311), preauth->hash,
                      sizeof(preauth->hash), ret, SECURE_KEY_SIZE);
}

int secure_encryption_keys(uint16_t dialect, enum secure_cipher c, const void *session_key,
                           size_t key_len, const struct secure_preauth *preauth,
                           struct secure_cipher_keys *ret)
{
    static const char label_30[] = "SMB2AESCCM", to_30[] = "ServerIn ", from_30[] = "ServerOut";
    static const char to_311[] = "SMBC2SCipherKey", from_311[] = "SMBS2CCipherKey";
    size_t out_len = secure_cipher_key_size(c);
    uint8_t key[64] = {0}; /* a shorter session key is padded with zeros */
    struct secure_cipher_keys k = {0};

    if (dialect < 0x0300 || key_len == 0 || key_len > sizeof(key))
        return -EINVAL;
    memcpy(key, session_key, key_len);
    if (key_len < SECURE_KEY_SIZE || out_len == SECURE_KEY_SIZE)
        key_len = SECURE_KEY_SIZE;

    int r;
    if (dialect < 0x0311) {
        r = secure_kdf(key, key_len, label_30, sizeof(label_30), to_30, sizeof(to_30), k.to_server,
                       out_len);
        if (r == 0)
            r = secure_kdf(key, key_len, label_30, sizeof(label_30), from_30, sizeof(from_30),
                           k.from_server, out_len);
    } else {
        r = secure_kdf(key, key_len, to_311, sizeof(to_311), preauth->hash, sizeof(preauth->hash),
                       k.to_server, out_len);
        if (r == 0)
            r = secure_kdf(key, key_len, from_311, sizeof(from_311), preauth->hash,
                           sizeof(preauth->hash), k.from_server, out_len);
    }
    if (r == 0)
        *ret = k;
    OPENSSL_cleanse(key, sizeof(key));
    OPENSSL_cleanse(&k, sizeof(k));
    return r;
}
