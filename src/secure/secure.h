/*
 * Signing, encryption, key derivation and the pre-authentication hash of SMB2 (MS-SMB2
 * sections 3.1.4.1 - 3.1.4.3, 3.1.5.1, 3.2.5.1.1.1, 3.2.5.2): bytes in, bytes out, all cryptography
 * by libcrypto's EVP interfaces.
 *
 * Nothing here knows connections or sessions; nothing keeps a caller's buffer. Everything but the
 * _new/_free pairs may be called from any number of threads on the same object.
 */
#ifndef LARDER_SECURE_SECURE_H
#define LARDER_SECURE_SECURE_H

#include <stddef.h>
#include <stdint.h>

#define SECURE_KEY_SIZE       16 /* a session key, a signing key */
#define SECURE_SIGNATURE_SIZE 16
#define SECURE_HASH_SIZE      64 /* SHA-512 */

/* ---- signing: sign.c ---- */

/* Numbered as negotiated: 2.2.3.1.7. */
enum secure_algorithm { SECURE_HMAC_SHA256, SECURE_AES_CMAC, SECURE_AES_GMAC };
/* "HMAC-SHA256", "AES-CMAC", "AES-GMAC" */
const char *secure_algorithm_name(enum secure_algorithm a);

/* An algorithm with its key. */
struct secure_signer;

/* 0, -ENOMEM, or -EOPNOTSUPP where libcrypto does not have the algorithm. */
int secure_signer_new(enum secure_algorithm a, const uint8_t key[static SECURE_KEY_SIZE],
                      struct secure_signer **ret);
/* Returns NULL. NULL is allowed. */
struct secure_signer *secure_signer_free(struct secure_signer *s);

/*
 * Writes the signature into the header of one message: one element of a compound from its header to
 * the next one's, its padding included. SMB2_FLAGS_SIGNED must be in the header already, since it
 * is signed too. 0, -EBADMSG for a message shorter than its header, -ENOMEM.
 */
int secure_sign(const struct secure_signer *s, uint8_t *message, size_t len);
/* The same for a message whose last `tail_len` bytes lie elsewhere. */
int secure_sign_parts(const struct secure_signer *s, uint8_t *message, size_t len, const void *tail,
                      size_t tail_len);
/* 0 where the signature is right, -EBADMSG where it is not; compares in constant time. */
int secure_verify(const struct secure_signer *s, const uint8_t *message, size_t len);

/* ---- encryption: seal.c ---- */

/* Numbered as negotiated: 2.2.3.1.2. 3.0 and 3.0.2 know AES128_CCM only. */
enum secure_cipher {
    SECURE_AES128_CCM = 1,
    SECURE_AES128_GCM,
    SECURE_AES256_CCM,
    SECURE_AES256_GCM,
};
#define SECURE_CIPHER_KEY_MAX 32
#define SECURE_TRANSFORM_SIZE 52 /* the header before an encrypted message: 2.2.41 */

/* "AES-128-GCM" */
const char *secure_cipher_name(enum secure_cipher c);
size_t secure_cipher_key_size(enum secure_cipher c); /* 16 or 32 bytes */

/* A cipher with the key of one direction. */
struct secure_sealer;

/* 0 or -ENOMEM. */
int secure_sealer_new(enum secure_cipher c, const void *key, struct secure_sealer **ret);
/* Returns NULL. NULL is allowed. */
struct secure_sealer *secure_sealer_free(struct secure_sealer *s);

/*
 * Encrypts in place. `frame` is a transform header, complete but for its Signature, and behind it
 * the message (or compound, or compressed message), `len` bytes together. The header's Nonce must
 * never have been used with this key: that is the caller's affair. 0, -EBADMSG where nothing stands
 * behind the header, -ENOMEM.
 */
int secure_seal(const struct secure_sealer *s, uint8_t *frame, size_t len);
/* The same for a message that lies elsewhere, its last `tail_len` bytes apart, and stays as it is:
 * `frame` is the header, and has room for len + tail_len bytes behind it. */
int secure_seal_parts(const struct secure_sealer *s, uint8_t *frame, const void *message,
                      size_t len, const void *tail, size_t tail_len);
/*
 * The way back: `out` has room for len - SECURE_TRANSFORM_SIZE bytes and holds the message where 0
 * is returned. It may be where the encrypted message is. -EBADMSG (and `out` holds nothing to be
 * used) where a byte of message, header or signature is not the sender's; -ENOMEM.
 */
int secure_unseal(const struct secure_sealer *s, const uint8_t *frame, size_t len, uint8_t *out);

/* ---- the pre-authentication hash of 3.1.1: preauth.c ---- */

/* All zero to begin with. */
struct secure_preauth {
    uint8_t hash[SECURE_HASH_SIZE];
};
/* Adds one whole message as it went over the wire, from its header to its last byte. 0 or -ENOMEM.
 */
int secure_preauth_add(struct secure_preauth *p, const void *message, size_t len);

/* ---- key derivation: kdf.c ---- */

/* The KDF of SP800-108 in counter mode with HMAC-SHA256; r is 32, L is 8 * out_len. Terminating
 * NULs of label and context are the caller's to count. 0, -EOPNOTSUPP or -ENOMEM. */
int secure_kdf(const void *key, size_t key_len, const void *label, size_t label_len,
               const void *context, size_t context_len, uint8_t *out, size_t out_len);

/* Session.SigningKey (3.2.5.3.1): the session key itself for 2.0.2 and 2.1, derived from it for 3.0
 * and 3.0.2, and from it and the pre-authentication hash for 3.1.1. */
int secure_signing_key(uint16_t dialect, const uint8_t session_key[static SECURE_KEY_SIZE],
                       const struct secure_preauth *preauth, uint8_t ret[static SECURE_KEY_SIZE]);

/* A session's keys for its two directions; each as long as its cipher wants it. */
struct secure_cipher_keys {
    uint8_t to_server[SECURE_CIPHER_KEY_MAX];
    uint8_t from_server[SECURE_CIPHER_KEY_MAX];
};
/*
 * Session.EncryptionKey and DecryptionKey (3.2.5.3.1) for dialect 3.0 and later. `session_key` is
 * what authentication gave, 1 to 64 bytes: the 256-bit ciphers derive from all of it, the others
 * from its first 16 bytes. `preauth` is used in 3.1.1 only. 0, -EINVAL for a dialect or a length
 * that has none, -EOPNOTSUPP or -ENOMEM.
 */
int secure_encryption_keys(uint16_t dialect, enum secure_cipher c, const void *session_key,
                           size_t key_len, const struct secure_preauth *preauth,
                           struct secure_cipher_keys *ret);

#endif
