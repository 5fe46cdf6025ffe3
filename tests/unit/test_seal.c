/*
 * secure/'s encryption against frames that another implementation sealed (smbclient and Samba 4.17,
 * each dialect and cipher): the keys are derived from the session key as they were there, both
 * frames open, and what they hold is sealed to the very same bytes again. Then the same with one
 * bit changed, for every bit.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "seal_vectors.inc"
#include "secure/secure.h"

enum { FRAME_MAX = 256 };

static const struct vector {
    const char *name;
    uint16_t dialect;
    enum secure_cipher cipher;
    const uint8_t *session_key, *preauth, *to_server, *from_server, *request, *response;
    size_t request_len, response_len;
} vectors[] = {
#define VECTOR(dialect, cipher, v)                                                                 \
    {                                                                                              \
#v, dialect, cipher, v##_session_key, v##_preauth, v##_to_server, v##_from_server,         \
            v##_request, v##_response, sizeof(v##_request), sizeof(v##_response)                   \
    }
    VECTOR(0x0300, SECURE_AES128_CCM, ccm128_30), VECTOR(0x0311, SECURE_AES128_CCM, ccm128),
    VECTOR(0x0311, SECURE_AES128_GCM, gcm128),    VECTOR(0x0311, SECURE_AES256_CCM, ccm256),
    VECTOR(0x0311, SECURE_AES256_GCM, gcm256),
};
enum { VECTORS = sizeof(vectors) / sizeof(vectors[0]) };

static struct secure_sealer *sealer(enum secure_cipher c, const uint8_t *key)
{
    struct secure_sealer *s = NULL;
    assert_int_equal(secure_sealer_new(c, key, &s), 0);
    return s;
}

/* ---- keys ---- */

static int derive(const struct vector *v, size_t key_len, struct secure_cipher_keys *ret)
{
    struct secure_preauth preauth;
    memcpy(preauth.hash, v->preauth, sizeof(preauth.hash));
    return secure_encryption_keys(v->dialect, v->cipher, v->session_key, key_len, &preauth, ret);
}

static void the_keys_of_both_directions_are_derived_as_samba_does(void **state)
{
    for (size_t i = 0; i < VECTORS; i++) {
        size_t size = secure_cipher_key_size(vectors[i].cipher);
        struct secure_cipher_keys k;
        assert_int_equal(derive(&vectors[i], 16, &k), 0);
        assert_memory_equal(k.to_server, vectors[i].to_server, size);
        assert_memory_equal(k.from_server, vectors[i].from_server, size);
    }
}

/* Kerberos gives 32 bytes: the 128-bit ciphers see half of them, the others all. */
static void a_longer_session_key_counts_for_the_256_bit_ciphers_only(void **state)
{
    struct secure_preauth preauth = {{7}};
    uint8_t key[32] = {1};
    for (enum secure_cipher c = SECURE_AES128_CCM; c <= SECURE_AES256_GCM; c++) {
        struct secure_cipher_keys a, b;
        size_t size = secure_cipher_key_size(c);
        key[31] = 0;
        assert_int_equal(secure_encryption_keys(0x0311, c, key, 32, &preauth, &a), 0);
        key[31] = 1;
        assert_int_equal(secure_encryption_keys(0x0311, c, key, 32, &preauth, &b), 0);
        assert_int_equal(memcmp(a.to_server, b.to_server, size) == 0, size == 16);
        assert_int_equal(memcmp(a.from_server, b.from_server, size) == 0, size == 16);
    }
}

static void a_shorter_session_key_is_padded_with_zeros(void **state)
{
    uint8_t key[16] = {1, 2, 3, 4, 5, 6, 7, 8};
    struct secure_cipher_keys a, b;
    assert_int_equal(secure_encryption_keys(0x0300, SECURE_AES128_CCM, key, 8, NULL, &a), 0);
    assert_int_equal(secure_encryption_keys(0x0300, SECURE_AES128_CCM, key, 16, NULL, &b), 0);
    assert_memory_equal(a.to_server, b.to_server, 16);
}

static void there_are_no_keys_where_there_is_no_encryption(void **state)
{
    uint8_t key[65] = {0};
    struct secure_cipher_keys k;
    assert_int_equal(secure_encryption_keys(0x0210, SECURE_AES128_CCM, key, 16, NULL, &k), -EINVAL);
    assert_int_equal(secure_encryption_keys(0x0300, SECURE_AES128_CCM, key, 0, NULL, &k), -EINVAL);
    assert_int_equal(secure_encryption_keys(0x0300, SECURE_AES128_CCM, key, 65, NULL, &k), -EINVAL);
}

/* ---- frames ---- */

static void opens_and_closes_alike(enum secure_cipher c, const uint8_t *key, const uint8_t *frame,
                                   size_t len)
{
    uint8_t out[FRAME_MAX], again[FRAME_MAX];
    struct secure_sealer *s = sealer(c, key);
    assert_int_equal(secure_unseal(s, frame, len, out), 0);
    assert_memory_equal(out, "\xfeSMB\x40\0", 6);

    memcpy(again, frame, SECURE_TRANSFORM_SIZE);
    memset(again + 4, 0x5a, 16); /* what stood in the signature's place does not matter */
    memcpy(again + SECURE_TRANSFORM_SIZE, out, len - SECURE_TRANSFORM_SIZE);
    assert_int_equal(secure_seal(s, again, len), 0);
    assert_memory_equal(again, frame, len);
    secure_sealer_free(s);
}

static void captured_frames_open_and_are_sealed_to_the_same_bytes(void **state)
{
    for (size_t i = 0; i < VECTORS; i++) {
        const struct vector *v = &vectors[i];
        opens_and_closes_alike(v->cipher, v->to_server, v->request, v->request_len);
        opens_and_closes_alike(v->cipher, v->from_server, v->response, v->response_len);
    }
}

/* All but the protocol id, which tells that it is a sealed message, and what the nonce's field
 * holds behind the nonce is authenticated all the same. */
static void every_bit_of_a_sealed_frame_counts(void **state)
{
    for (size_t i = 0; i < VECTORS; i++) {
        const struct vector *v = &vectors[i];
        uint8_t frame[FRAME_MAX], out[FRAME_MAX];
        struct secure_sealer *s = sealer(v->cipher, v->from_server);
        memcpy(frame, v->response, v->response_len);
        for (size_t bit = 4 * 8; bit < v->response_len * 8; bit++) {
            frame[bit / 8] ^= (uint8_t)(1 << bit % 8);
            assert_int_equal(secure_unseal(s, frame, v->response_len, out), -EBADMSG);
            frame[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        assert_int_equal(secure_unseal(s, frame, v->response_len, out), 0);
        secure_sealer_free(s);
    }
}

static void a_frame_cut_anywhere_does_not_open(void **state)
{
    for (size_t i = 0; i < VECTORS; i++) {
        const struct vector *v = &vectors[i];
        struct secure_sealer *s = sealer(v->cipher, v->to_server);
        for (size_t n = 0; n < v->request_len; n++) {
            uint8_t *frame = malloc(n ? n : 1), out[FRAME_MAX]; /* its end is the sanitizer's */
            assert_non_null(frame);
            memcpy(frame, v->request, n);
            assert_int_equal(secure_unseal(s, frame, n, out), -EBADMSG);
            if (n <= SECURE_TRANSFORM_SIZE)
                assert_int_equal(secure_seal(s, frame, n), -EBADMSG);
            free(frame);
        }
        secure_sealer_free(s);
    }
}

static void the_other_directions_key_does_not_open(void **state)
{
    uint8_t out[FRAME_MAX];
    for (size_t i = 0; i < VECTORS; i++) {
        const struct vector *v = &vectors[i];
        struct secure_sealer *s = sealer(v->cipher, v->from_server);
        assert_int_equal(secure_unseal(s, v->request, v->request_len, out), -EBADMSG);
        secure_sealer_free(s);
    }
}

static void messages_of_every_size_come_back(void **state)
{
    static const size_t sizes[] = {1, 15, 16, 17, 64, 4095, 65536, 1 << 20};
    size_t cap = SECURE_TRANSFORM_SIZE + (1 << 20);
    uint8_t *frame = malloc(cap), *out = malloc(cap), key[32] = {9};
    assert_true(frame && out);
    for (enum secure_cipher c = SECURE_AES128_CCM; c <= SECURE_AES256_GCM; c++) {
        struct secure_sealer *s = sealer(c, key);
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            for (size_t n = 0; n < SECURE_TRANSFORM_SIZE + sizes[i]; n++)
                frame[n] = (uint8_t)(n * 7 + i);
            assert_int_equal(secure_seal(s, frame, SECURE_TRANSFORM_SIZE + sizes[i]), 0);
            assert_int_equal(secure_unseal(s, frame, SECURE_TRANSFORM_SIZE + sizes[i], out), 0);
            for (size_t n = 0; n < sizes[i]; n++)
                if (out[n] != (uint8_t)((SECURE_TRANSFORM_SIZE + n) * 7 + i))
                    fail_msg("%s: byte %zu of %zu", secure_cipher_name(c), n, sizes[i]);
        }
        secure_sealer_free(s);
    }
    free(out);
    free(frame);
}

/* Wherever it is cut, and by whichever way the ciphers take their input. */
static void a_message_in_two_places_is_sealed_as_one(void **state)
{
    static const size_t cuts[] = {1, 15, 16, 64, 999, 1000};
    enum { SIZE = 1000 };
    uint8_t message[SIZE], before[SIZE], key[32] = {7};
    uint8_t whole[SECURE_TRANSFORM_SIZE + SIZE], parts[SECURE_TRANSFORM_SIZE + SIZE];
    for (size_t i = 0; i < SIZE; i++)
        before[i] = message[i] = (uint8_t)(i * 11);
    for (enum secure_cipher c = SECURE_AES128_CCM; c <= SECURE_AES256_GCM; c++) {
        struct secure_sealer *s = sealer(c, key);
        for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
            size_t cut = cuts[i];
            memset(whole, 3, SECURE_TRANSFORM_SIZE);
            memset(parts, 3, SECURE_TRANSFORM_SIZE);
            memcpy(whole + SECURE_TRANSFORM_SIZE, message, SIZE);
            assert_int_equal(secure_seal(s, whole, sizeof(whole)), 0);
            assert_int_equal(secure_seal_parts(s, parts, message, cut, message + cut, SIZE - cut),
                             0);
            assert_memory_equal(parts, whole, sizeof(whole));
            assert_memory_equal(message, before, SIZE);
            /* and it opens where it lies */
            assert_int_equal(secure_unseal(s, parts, sizeof(parts), parts + SECURE_TRANSFORM_SIZE),
                             0);
            assert_memory_equal(parts + SECURE_TRANSFORM_SIZE, message, SIZE);
        }
        assert_int_equal(secure_seal_parts(s, parts, message, 0, message, 1), -EBADMSG);
        secure_sealer_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_keys_of_both_directions_are_derived_as_samba_does),
        cmocka_unit_test(a_longer_session_key_counts_for_the_256_bit_ciphers_only),
        cmocka_unit_test(a_shorter_session_key_is_padded_with_zeros),
        cmocka_unit_test(there_are_no_keys_where_there_is_no_encryption),
        cmocka_unit_test(captured_frames_open_and_are_sealed_to_the_same_bytes),
        cmocka_unit_test(every_bit_of_a_sealed_frame_counts),
        cmocka_unit_test(a_frame_cut_anywhere_does_not_open),
        cmocka_unit_test(the_other_directions_key_does_not_open),
        cmocka_unit_test(messages_of_every_size_come_back),
        cmocka_unit_test(a_message_in_two_places_is_sealed_as_one),
    };
    return cmocka_run_group_tests_name("seal", tests, NULL, NULL);
}
