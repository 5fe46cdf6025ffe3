/* client/: the tokens of an anonymous logon, and what is said of a refused one. share/: which way
 * to log on follows from the options. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/ntstatus.h"
#include "client/auth.h"
#include "share/options.h"

/* ---- anonymous tokens ---- */

static const uint8_t first[] = {
    0x60, 0x40, 0x06, 0x06, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x02,             /* SPNEGO */
    0xa0, 0x36, 0x30, 0x34,                                                 /* negTokenInit */
    0xa0, 0x0e, 0x30, 0x0c, 0x06, 0x0a, 0x2b, 0x06, 0x01, 0x04, 0x01, 0x82, /* mechTypes: */
    0x37, 0x02, 0x02, 0x0a,                                                 /* NTLMSSP */
    0xa2, 0x22, 0x04, 0x20,                                                 /* mechToken */
    'N',  'T',  'L',  'M',  'S',  'S',  'P',  0,    1,    0,    0,    0,    /* NEGOTIATE */
    0x05, 0x82, 0x08, 0x00,                                                 /* flags */
};

static void the_first_token_offers_ntlm_alone_and_names_nobody(void **state)
{
    uint8_t out[ANONYMOUS_TOKEN_MAX];
    size_t len = anonymous_begin(out);
    assert_int_equal(len, sizeof(first) + 16);
    assert_memory_equal(out, first, sizeof(first));
    for (size_t i = sizeof(first); i < len; i++)
        assert_int_equal(out[i], 0);
}

/* Something of SPNEGO around it, a CHALLENGE with Unicode, NTLM and a flag that was not asked for.
 */
static const uint8_t challenge[] = {
    0xa1, 0x2e, 0x30, 0x2c, 0xa2, 0x2a, 0x04, 0x28, 'N', 'T', 'L',  'M', 'S', 'S',
    'P',  0,    2,    0,    0,    0,    0,    0,    0,   0,   0x38, 0,   0,   0,
    0x01, 0x02, 0x00, 0x80, 1,    2,    3,    4,    5,   6,   7,    8,
};
enum { CHALLENGE_FLAGS_END = 8 + 8 + 4 + 8 + 4 };

static void the_answer_proves_nothing(void **state)
{
    uint8_t out[ANONYMOUS_TOKEN_MAX];
    size_t len = 0;
    assert_int_equal(anonymous_answer(rd_init(challenge, sizeof(challenge)), out, &len), 0);
    static const uint8_t wrapped[] = {0xa1, 0x47, 0x30, 0x45, 0xa2, 0x43, 0x04, 0x41};
    assert_int_equal(len, sizeof(wrapped) + 65);
    assert_memory_equal(out, wrapped, sizeof(wrapped));
    struct rd m = rd_init(out + sizeof(wrapped), 65);
    assert_string_equal((const char *)m.base, "NTLMSSP");
    rd_skip(&m, 8);
    assert_int_equal(rd_u32(&m), 3);
    for (unsigned i = 0; i < 6; i++) { /* the LM response is one byte, the others are none */
        assert_int_equal(rd_u16(&m), i == 0);
        assert_int_equal(rd_u16(&m), i == 0);
        assert_int_equal(rd_u32(&m), i == 0 ? 64 : 65);
    }
    assert_int_equal(rd_u32(&m), 0x0201 | 0x0800); /* what both have, and anonymous */
    assert_int_equal(rd_u8(&m), 0);
    assert_true(rd_ok(&m));
}

static void what_is_no_challenge_gets_no_answer(void **state)
{
    uint8_t out[ANONYMOUS_TOKEN_MAX], bad[sizeof(challenge)];
    size_t len = 7;
    for (size_t n = 0; n < CHALLENGE_FLAGS_END; n++) {
        uint8_t *exact = malloc(n ? n : 1); /* where reading past it is seen */
        memcpy(exact, challenge, n);
        assert_int_equal(anonymous_answer(rd_init(exact, n), out, &len), -EBADMSG);
        free(exact);
    }
    memcpy(bad, challenge, sizeof(bad));
    bad[16] = 1; /* a NEGOTIATE of the server's */
    assert_int_equal(anonymous_answer(rd_init(bad, sizeof(bad)), out, &len), -EBADMSG);
    assert_int_equal(len, 7);
}

/* ---- sources ---- */

static struct auth_source *source_of(enum client_logon logon, bool block)
{
    const struct client_options options = {
        .host = "srv", .logon = logon, .user = "me", .password = "x", .block_ntlm = block};
    struct auth_source *s = NULL;
    struct error err;
    return auth_source_new(&options, &s, &err) < 0 ? NULL : s;
}

static void a_blocked_ntlm_is_refused_before_anything_is_sent(void **state)
{
    const struct client_options options = {
        .host = "srv", .user = "me", .password = "secret", .block_ntlm = true};
    struct auth_source *s = NULL;
    struct error err = {0};
    assert_int_equal(auth_source_new(&options, &s, &err), -EACCES);
    assert_null(s);
    assert_non_null(strstr(err.text, "srv"));
    assert_non_null(strstr(err.text, "BlockNTLM=true"));
    assert_null(strstr(err.text, "secret"));
}

static void a_refusal_names_what_decides_it(void **state)
{
    static const struct {
        enum client_logon logon;
        bool block;
        uint32_t status;
        const char *says;
    } table[] = {
        {CLIENT_LOGON_NTLM, false, STATUS_LOGON_FAILURE, "password"},
        {CLIENT_LOGON_NTLM, false, STATUS_PASSWORD_EXPIRED, "expired"},
        {CLIENT_LOGON_NTLM, false, STATUS_PASSWORD_MUST_CHANGE, "changed"},
        {CLIENT_LOGON_NTLM, false, STATUS_ACCOUNT_LOCKED_OUT, "locked"},
        {CLIENT_LOGON_NTLM, false, STATUS_ACCOUNT_DISABLED, "disabled"},
        {CLIENT_LOGON_NTLM, false, STATUS_NTLM_BLOCKED, "sec=krb5"},
        {CLIENT_LOGON_NTLM, false, STATUS_NOT_SUPPORTED, "sec=krb5"},
        {CLIENT_LOGON_KERBEROS, false, STATUS_PASSWORD_EXPIRED, "kpasswd"},
        {CLIENT_LOGON_KERBEROS, false, STATUS_TIME_DIFFERENCE_AT_DC, "clocks"},
        {CLIENT_LOGON_KERBEROS, false, STATUS_NOT_SUPPORTED, "sec=ntlmssp"},
        {CLIENT_LOGON_KERBEROS, true, STATUS_NOT_SUPPORTED, "BlockNTLM=true"},
        {CLIENT_LOGON_KERBEROS, true, STATUS_INVALID_PARAMETER, "BlockNTLM=true"},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct auth_source *s = source_of(table[i].logon, table[i].block);
        assert_non_null(s);
        const char *hint = auth_hint(s, table[i].status);
        if (!hint || !strstr(hint, table[i].says))
            fail_msg("row %zu: \"%s\"", i, hint ? hint : "(none)");
        assert_null(auth_hint(s, STATUS_DISK_FULL));
        auth_source_free(s);
    }
}

/* ---- options ---- */

static enum client_logon logon_of(const char *list, bool *ret_lacks)
{
    struct share_options o;
    struct error err = {0};
    share_options_init(&o);
    assert_int_equal(share_options_parse(&o, list, &err), 0);
    enum client_logon logon = share_options_logon(&o);
    *ret_lacks = share_options_lack_password(&o);
    share_options_done(&o);
    return logon;
}

static void the_options_say_how_to_log_on(void **state)
{
    static const struct {
        const char *list;
        enum client_logon logon;
        bool lacks;
    } table[] = {
        /* no cache is where KRB5CCNAME leads: nobody has a ticket here */
        {"user=me", CLIENT_LOGON_NTLM, true},
        {"user=me,password=x", CLIENT_LOGON_NTLM, false},
        {"guest", CLIENT_LOGON_NTLM, false},
        {"sec=ntlmssp,user=me", CLIENT_LOGON_NTLM, true},
        {"sec=ntlmsspi,user=me,password=x", CLIENT_LOGON_NTLM, false},
        {"sec=krb5", CLIENT_LOGON_KERBEROS, false},
        {"sec=KRB5i,user=me,password=x", CLIENT_LOGON_KERBEROS, false},
        {"sec=none", CLIENT_LOGON_ANONYMOUS, false},
        {"keytab=/k,user=me", CLIENT_LOGON_KERBEROS, false},
        {"BlockNTLM=true,user=me,password=x", CLIENT_LOGON_KERBEROS, false},
        {"BlockNTLM=true,guest", CLIENT_LOGON_NTLM, false}, /* refused, not changed */
    };
    setenv("KRB5CCNAME", "FILE:/nonexistent/cache", 1);
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        bool lacks;
        if (logon_of(table[i].list, &lacks) != table[i].logon || lacks != table[i].lacks)
            fail_msg("%s", table[i].list);
    }
}

static void what_asks_for_integrity_requires_signatures(void **state)
{
    for (int i = 0; i < 2; i++) {
        struct share_options o;
        share_options_init(&o);
        assert_int_equal(share_options_parse(&o, "RequireSecuritySignature=false", NULL), 0);
        assert_int_equal(share_options_set(&o, "sec", i ? "krb5i" : "krb5", NULL), 0);
        assert_int_equal(o.settings.require_security_signature, i);
        assert_int_equal(o.sign_asked, i);
        share_options_done(&o);
    }
}

static void bad_values_are_refused(void **state)
{
    static const char *const bad[] = {
        "sec=krb6",          "sec=",    "sec", "cruid=no-such-user", "cruid=-1",
        "cruid=99999999999", "keytab=", "ip="};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct share_options o;
        struct error err = {0};
        share_options_init(&o);
        if (share_options_parse(&o, bad[i], &err) != -EINVAL || strlen(err.text) < 10)
            fail_msg("%s: \"%s\"", bad[i], err.text);
        share_options_done(&o);
    }
}

static void a_copy_has_all_of_it(void **state)
{
    struct share_options o, copy;
    share_options_init(&o);
    assert_int_equal(
        share_options_parse(&o, "sec=none,keytab=/etc/k,cruid=12,ip=10.0.0.1,BlockNTLM=true", NULL),
        0);
    assert_int_equal(share_options_copy(&o, &copy), 0);
    share_options_done(&o);
    assert_int_equal(share_options_logon(&copy), CLIENT_LOGON_ANONYMOUS);
    assert_string_equal(copy.keytab, "/etc/k");
    assert_string_equal(copy.address, "10.0.0.1");
    assert_int_equal(copy.cruid, 12);
    assert_true(copy.settings.block_ntlm);
    share_options_done(&copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_token_offers_ntlm_alone_and_names_nobody),
        cmocka_unit_test(the_answer_proves_nothing),
        cmocka_unit_test(what_is_no_challenge_gets_no_answer),
        cmocka_unit_test(a_blocked_ntlm_is_refused_before_anything_is_sent),
        cmocka_unit_test(a_refusal_names_what_decides_it),
        cmocka_unit_test(the_options_say_how_to_log_on),
        cmocka_unit_test(what_asks_for_integrity_requires_signatures),
        cmocka_unit_test(bad_values_are_refused),
        cmocka_unit_test(a_copy_has_all_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
