/*
 * Downgrades (FSCTL_VALIDATE_NEGOTIATE_INFO): who is asked what was negotiated, and what each
 * answer to that means. Nothing is done on a connection whose negotiation is in doubt.
 */
#include "bed.h"

#include <errno.h>
#include <string.h>

static struct server_script script_of(uint16_t dialect)
{
    struct server_script s = plain_script();
    s.dialect = dialect;
    s.logon = true;
    s.capabilities = dialect >= SMB2_DIALECT_300 ? SMB2_GLOBAL_CAP_ENCRYPTION : 0;
    return s;
}

static int try_it(struct bed *b, const struct server_script *script, bool signs, uint16_t most,
                  struct error *err)
{
    *b = (struct bed){.server = server_new(script)};
    assert_non_null(b->server);
    struct client_options o = options(b->server);
    o.guest = !script->logon;
    o.user = SERVER_USER;
    o.domain = SERVER_DOMAIN;
    o.password = SERVER_PASSWORD;
    o.require_signing = signs;
    o.dialect_max = most;
    return client_connect(&o, &b->client, err);
}

static void is_a_downgrade(const struct server_script *script, bool signs, const char *says)
{
    struct bed b;
    struct error err = {0};
    int r = try_it(&b, script, signs, SMB2_DIALECT_311, &err);
    if (r == 0)
        fail_msg("connected; it should have said \"%s\"", says);
    if (!strstr(err.text, says) || !strstr(err.text, "downgraded") ||
        !strstr(err.text, "127.0.0.1") || !strstr(err.text, "Smb2DialectMin"))
        fail_msg("\"%s\" does not say \"%s\" and downgraded", err.text, says);
    assert_int_equal(server_count(b.server, SMB2_CREATE), 0);
    assert_int_equal(server_count(b.server, SMB2_LOGOFF), 0);
    stop(&b);
}

static void test_whoever_got_less_than_311_asks_once_and_works(void **state)
{
    static const struct {
        uint16_t dialect, most;
        bool logon;
        unsigned asked;
    } all[] = {
        {SMB2_DIALECT_202, SMB2_DIALECT_311, true, 1},
        {SMB2_DIALECT_210, SMB2_DIALECT_311, true, 1},
        {SMB2_DIALECT_210, SMB2_DIALECT_300, true, 1},
        {SMB2_DIALECT_300, SMB2_DIALECT_311, true, 1},
        {SMB2_DIALECT_302, SMB2_DIALECT_302, true, 1},
        {SMB2_DIALECT_210, SMB2_DIALECT_210, true, 0},  /* nothing better was offered */
        {SMB2_DIALECT_311, SMB2_DIALECT_311, true, 0},  /* the keys have proved it */
        {SMB2_DIALECT_300, SMB2_DIALECT_311, false, 0}, /* a guest has no key */
    };
    for (size_t i = 0; i < COUNT(all); i++) {
        struct server_script script = script_of(all[i].dialect);
        struct bed b;
        struct error err = {0};
        script.logon = all[i].logon;
        for (int signs = 0; signs <= all[i].logon; signs++) {
            if (try_it(&b, &script, signs, all[i].most, &err) < 0)
                fail_msg("%s", err.text);
            assert_int_equal(server_count(b.server, SMB2_IOCTL), all[i].asked);
            everything_works(&b);
            stop(&b);
        }
    }
}

/* Encryption taken out of the NEGOTIATE's answer, which nobody signs. */
static void test_a_capability_that_was_taken_out_on_the_way_is_found(void **state)
{
    static const struct server_rule alter[] = {
        {SMB2_NEGOTIATE, 0, SERVER_ANYWHERE, SERVER_ALTER, 0}};
    static const struct server_alteration less = {88, 4, SERVER_XOR, SMB2_GLOBAL_CAP_ENCRYPTION,
                                                  true};
    struct server_script script = script_of(SMB2_DIALECT_300);
    set_rule(&script, alter, &less);
    is_a_downgrade(&script, true, "something else was negotiated");
    is_a_downgrade(&script, false, "something else was negotiated");
}

/* The answer's 24 bytes lie behind the header and the fixed part of an IOCTL's reply. */
static void test_every_byte_of_the_servers_word_counts(void **state)
{
    static const struct server_rule alter[] = {{SMB2_IOCTL, 0, SERVER_ANYWHERE, SERVER_ALTER, 0}};
    for (unsigned at = 0; at < 24; at++) {
        const struct server_alteration other = {64 + 48 + at, 1, SERVER_XOR, 2, false};
        struct server_script script = script_of(SMB2_DIALECT_302);
        set_rule(&script, alter, &other);
        is_a_downgrade(&script, true,
                       at < 22 ? "something else was negotiated" : "another dialect");
    }
}

static void test_what_is_no_word_of_the_servers_is_a_downgrade(void **state)
{
    static const struct server_rule alter[] = {{SMB2_IOCTL, 0, SERVER_ANYWHERE, SERVER_ALTER, 0}};
    static const struct server_alteration unsigned_ = {16, 4, SERVER_XOR, 8, true};
    static const struct server_rule hang_up[] = {
        {SMB2_IOCTL, 0, SERVER_ANYWHERE, SERVER_HANG_UP, 0}};
    struct server_script script = script_of(SMB2_DIALECT_300);
    set_rule(&script, alter, &unsigned_);
    is_a_downgrade(&script, false, "not signed");

    script.rules = hang_up;
    is_a_downgrade(&script, true, "hung up");

    static const struct server_ioctl short_word[] = {{FSCTL_VALIDATE_NEGOTIATE_INFO, 0,
                                                      STATUS_SUCCESS,
                                                      SERVER_CONTENT("23 bytes are too few. ")}};
    script = script_of(SMB2_DIALECT_300);
    script.ioctls = short_word;
    script.ioctl_count = 1;
    is_a_downgrade(&script, true, "malformed");
}

static void test_a_refusal_to_answer_is_told_from_not_knowing_the_question(void **state)
{
    static const struct {
        uint32_t status;
        bool good;
    } all[] = {
        {STATUS_INVALID_DEVICE_REQUEST, true}, {STATUS_FILE_CLOSED, true},
        {STATUS_NOT_SUPPORTED, true},          {STATUS_ACCESS_DENIED, false},
        {STATUS_INVALID_PARAMETER, false},     {STATUS_INSUFFICIENT_RESOURCES, false},
    };
    for (size_t i = 0; i < COUNT(all); i++) {
        const struct server_ioctl answer[] = {
            {FSCTL_VALIDATE_NEGOTIATE_INFO, 0, all[i].status, {0}}};
        struct server_script script = script_of(SMB2_DIALECT_300);
        struct bed b;
        script.ioctls = answer;
        script.ioctl_count = 1;
        if (!all[i].good) {
            is_a_downgrade(&script, true, "does not confirm");
            continue;
        }
        assert_int_equal(try_it(&b, &script, true, SMB2_DIALECT_311, NULL), 0);
        everything_works(&b);
        stop(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whoever_got_less_than_311_asks_once_and_works),
        cmocka_unit_test(test_a_capability_that_was_taken_out_on_the_way_is_found),
        cmocka_unit_test(test_every_byte_of_the_servers_word_counts),
        cmocka_unit_test(test_what_is_no_word_of_the_servers_is_a_downgrade),
        cmocka_unit_test(test_a_refusal_to_answer_is_told_from_not_knowing_the_question),
    };
    return cmocka_run_group_tests_name("client_validate", tests, bed_set_up, bed_tear_down);
}
