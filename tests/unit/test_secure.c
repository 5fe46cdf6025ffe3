/*
 * secure/ against published values: the two key derivations of Microsoft's articles on SMB 3.0 and
 * 3.1.1 signing, a whole captured 3.1.1 logon whose last message verifies only if the hash chain,
 * the key derivation and AES-CMAC are all right, a captured 3.0 message, and an HMAC-SHA256 that
 * Python's hmac module computed. Then the same with one bit changed, for every bit that counts.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "secure/secure.h"
#include "secure_vectors.inc"

static void unhex(const char *hex, uint8_t *out)
{
    for (; *hex; hex += 2) {
        char pair[3] = {hex[0], hex[1], 0};
        *out++ = (uint8_t)strtoul(pair, NULL, 16);
    }
}

static struct secure_signer *signer(enum secure_algorithm a, const uint8_t *key)
{
    struct secure_signer *s = NULL;
    assert_int_equal(secure_signer_new(a, key, &s), 0);
    return s;
}

static void assert_key(const uint8_t *key, const char *hex)
{
    uint8_t expected[SECURE_KEY_SIZE];
    unhex(hex, expected);
    assert_memory_equal(key, expected, sizeof(expected));
}

/* ---- keys ---- */

static void test_the_30_signing_key_is_derived_as_published(void **state)
{
    uint8_t session_key[16], key[16];
    unhex("7cd451825d0450d235424e44ba6e78cc", session_key);
    assert_int_equal(secure_signing_key(0x0300, session_key, NULL, key), 0);
    assert_key(key, "0b7e9c5cac36c0f6ea9ab275298cedce");
    assert_int_equal(secure_signing_key(0x0302, session_key, NULL, key), 0);
    assert_key(key, "0b7e9c5cac36c0f6ea9ab275298cedce");
}

static void test_the_311_signing_key_is_derived_as_published(void **state)
{
    uint8_t session_key[16], key[16];
    struct secure_preauth preauth;
    unhex("270e1ba896585eeb7af3472d3b4c75a7", session_key);
    unhex("0dd13628cc3ed218ef9df9772d436d0887ab9814bfae63a80aa845f36909db79"
          "28622dddad522d9751640a459762c5a9d6bb084cbb3ce6bdadef5d5bce3c6c01",
          preauth.hash);
    assert_int_equal(secure_signing_key(0x0311, session_key, &preauth, key), 0);
    assert_key(key, "73fe7a9a77bef0bde49c650d8ccb5f76");
    preauth.hash[63] ^= 1;
    assert_int_equal(secure_signing_key(0x0311, session_key, &preauth, key), 0);
    uint8_t other[16];
    unhex("73fe7a9a77bef0bde49c650d8ccb5f76", other);
    assert_memory_not_equal(key, other, 16);
}

static void test_the_2x_signing_key_is_the_session_key(void **state)
{
    uint8_t session_key[16], key[16];
    unhex("7cd451825d0450d235424e44ba6e78cc", session_key);
    assert_int_equal(secure_signing_key(0x0202, session_key, NULL, key), 0);
    assert_memory_equal(key, session_key, 16);
    assert_int_equal(secure_signing_key(0x0210, session_key, NULL, key), 0);
    assert_memory_equal(key, session_key, 16);
}

/* ---- a captured logon ---- */

static void chain_logon(struct secure_preauth *p, size_t tamper)
{
    static const struct {
        const uint8_t *data;
        size_t len;
    } messages[] = {
        {logon311_negotiate_request, sizeof(logon311_negotiate_request)},
        {logon311_negotiate_response, sizeof(logon311_negotiate_response)},
        {logon311_setup1_request, sizeof(logon311_setup1_request)},
        {logon311_setup1_response, sizeof(logon311_setup1_response)},
        {logon311_setup2_request, sizeof(logon311_setup2_request)},
    };
    for (size_t i = 0; i < sizeof(messages) / sizeof(*messages); i++) {
        uint8_t copy[1024];
        memcpy(copy, messages[i].data, messages[i].len);
        if (i + 1 == tamper)
            copy[messages[i].len - 1] ^= 1;
        assert_int_equal(secure_preauth_add(p, copy, messages[i].len), 0);
    }
}

/* Verifies the last message of the logon after the chain; 0 or -EBADMSG. */
static int verify_logon(size_t tamper)
{
    uint8_t session_key[16], key[16];
    struct secure_preauth preauth = {0};
    unhex("b25a135fc3dc14269f20d7cbc8716b6b", session_key);
    chain_logon(&preauth, tamper);
    assert_int_equal(secure_signing_key(0x0311, session_key, &preauth, key), 0);
    struct secure_signer *s = signer(SECURE_AES_CMAC, key);
    int r = secure_verify(s, logon311_setup2_response, sizeof(logon311_setup2_response));
    secure_signer_free(s);
    return r;
}

static void test_a_captured_311_logon_verifies(void **state)
{
    assert_int_equal(verify_logon(0), 0);
}

static void test_a_logon_with_any_message_changed_does_not_verify(void **state)
{
    for (size_t tamper = 1; tamper <= 5; tamper++)
        assert_int_equal(verify_logon(tamper), -EBADMSG);
}

/* ---- signatures ---- */

static struct secure_signer *tree300_signer(void)
{
    uint8_t session_key[16], key[16];
    unhex("28f2847263c83dc00621f742dd3f2e7b", session_key);
    assert_int_equal(secure_signing_key(0x0300, session_key, NULL, key), 0);
    return signer(SECURE_AES_CMAC, key);
}

static void test_a_captured_30_message_verifies_and_is_signed_alike(void **state)
{
    struct secure_signer *s = tree300_signer();
    uint8_t copy[sizeof(tree300_response)];
    assert_int_equal(secure_verify(s, tree300_response, sizeof(tree300_response)), 0);
    memcpy(copy, tree300_response, sizeof(copy));
    memset(copy + 48, 0x5a, 16); /* what stood in the field before must not count */
    assert_int_equal(secure_sign(s, copy, sizeof(copy)), 0);
    assert_memory_equal(copy, tree300_response, sizeof(copy));
    secure_signer_free(s);
}

static void test_hmac_sha256_agrees_with_another_implementation(void **state)
{
    uint8_t key[16], message[200], expected[16];
    for (int i = 0; i < 16; i++)
        key[i] = (uint8_t)i;
    for (int i = 0; i < 200; i++)
        message[i] = (uint8_t)(i * 7);
    unhex("4a9ee7c022e02e5cfe360ae335aaa949", expected);
    struct secure_signer *s = signer(SECURE_HMAC_SHA256, key);
    assert_int_equal(secure_sign(s, message, sizeof(message)), 0);
    assert_memory_equal(message + 48, expected, 16);
    assert_int_equal(secure_verify(s, message, sizeof(message)), 0);
    secure_signer_free(s);
}

/* By the openssl program, with nonces put together by hand. */
static void test_gmac_takes_its_nonce_from_the_message(void **state)
{
    static const struct {
        uint8_t command, flags;
        const char *signature;
    } cases[] = {
        {8, 8, "b85a207069cec3968f21414b4d096828"},  /* a READ of the client's */
        {8, 9, "da3b5f1924c1e9dcfb4ee83ae13fe5cb"},  /* a response to it */
        {12, 8, "eb2661924eaa61bc7f8980cbe6880bc7"}, /* its CANCEL */
    };
    uint8_t key[16], message[200], expected[16];
    for (int i = 0; i < 16; i++)
        key[i] = (uint8_t)i;
    struct secure_signer *s = signer(SECURE_AES_GMAC, key);
    for (size_t c = 0; c < 3; c++) {
        for (int i = 0; i < 200; i++)
            message[i] = (uint8_t)(i * 7);
        message[12] = cases[c].command;
        message[16] = cases[c].flags;
        unhex(cases[c].signature, expected);
        assert_int_equal(secure_sign(s, message, sizeof(message)), 0);
        assert_memory_equal(message + 48, expected, 16);
    }
    secure_signer_free(s);
}

static void test_every_bit_of_a_signed_message_counts(void **state)
{
    static const enum secure_algorithm algorithms[] = {SECURE_HMAC_SHA256, SECURE_AES_CMAC,
                                                       SECURE_AES_GMAC};
    uint8_t key[16] = {1}, message[72] = {2};
    for (size_t a = 0; a < 3; a++) {
        struct secure_signer *s = signer(algorithms[a], key);
        assert_int_equal(secure_sign(s, message, sizeof(message)), 0);
        for (size_t bit = 0; bit < sizeof(message) * 8; bit++) {
            message[bit / 8] ^= (uint8_t)(1 << bit % 8);
            assert_int_equal(secure_verify(s, message, sizeof(message)), -EBADMSG);
            message[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        assert_int_equal(secure_verify(s, message, sizeof(message)), 0);
        assert_int_equal(secure_verify(s, message, sizeof(message) - 1), -EBADMSG);
        secure_signer_free(s);
    }
}

static void test_another_key_does_not_verify(void **state)
{
    uint8_t key[16] = {1}, message[64] = {2};
    struct secure_signer *s = signer(SECURE_AES_CMAC, key);
    assert_int_equal(secure_sign(s, message, sizeof(message)), 0);
    secure_signer_free(s);
    key[15] ^= 0x80;
    s = signer(SECURE_AES_CMAC, key);
    assert_int_equal(secure_verify(s, message, sizeof(message)), -EBADMSG);
    secure_signer_free(s);
}

static void test_a_message_in_two_places_is_signed_as_if_in_one(void **state)
{
    static const enum secure_algorithm all[] = {SECURE_HMAC_SHA256, SECURE_AES_CMAC,
                                                SECURE_AES_GMAC};
    uint8_t key[16] = {7}, whole[200], parts[200];
    for (size_t i = 0; i < sizeof(whole); i++)
        whole[i] = parts[i] = (uint8_t)(i * 31);
    for (unsigned a = 0; a < 3; a++) {
        struct secure_signer *s = signer(all[a], key);
        assert_int_equal(secure_sign(s, whole, sizeof(whole)), 0);
        for (size_t head = 64; head <= sizeof(parts); head++) {
            memset(parts + 48, 0, 16);
            assert_int_equal(secure_sign_parts(s, parts, head, parts + head, sizeof(parts) - head),
                             0);
            assert_memory_equal(parts, whole, sizeof(whole));
        }
        secure_signer_free(s);
    }
}

static void test_less_than_a_header_is_refused(void **state)
{
    uint8_t key[16] = {1}, message[63] = {0};
    struct secure_signer *s = signer(SECURE_AES_CMAC, key);
    for (size_t len = 0; len <= sizeof(message); len++) {
        assert_int_equal(secure_sign(s, message, len), -EBADMSG);
        assert_int_equal(secure_verify(s, message, len), -EBADMSG);
    }
    secure_signer_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_30_signing_key_is_derived_as_published),
        cmocka_unit_test(test_the_311_signing_key_is_derived_as_published),
        cmocka_unit_test(test_the_2x_signing_key_is_the_session_key),
        cmocka_unit_test(test_a_captured_311_logon_verifies),
        cmocka_unit_test(test_a_logon_with_any_message_changed_does_not_verify),
        cmocka_unit_test(test_a_captured_30_message_verifies_and_is_signed_alike),
        cmocka_unit_test(test_hmac_sha256_agrees_with_another_implementation),
        cmocka_unit_test(test_gmac_takes_its_nonce_from_the_message),
        cmocka_unit_test(test_every_bit_of_a_signed_message_counts),
        cmocka_unit_test(test_another_key_does_not_verify),
        cmocka_unit_test(test_a_message_in_two_places_is_signed_as_if_in_one),
        cmocka_unit_test(test_less_than_a_header_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
