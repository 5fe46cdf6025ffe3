/*
 * A user logs on to the scripted server: every dialect and signing algorithm, both ways; and what
 * somebody on the way changes is found.
 */
#include "bed.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/auth.h"

static struct server_script logon_script(uint16_t dialect, enum server_signing signing)
{
    struct server_script script = plain_script();
    script.dialect = dialect;
    script.logon = true;
    script.must_sign = true;
    script.signing = signing;
    return script;
}

static int log_on(struct server *s, const char *password, struct client **ret, struct error *err)
{
    struct client_options o = options(s);
    o.guest = false;
    o.user = SERVER_USER;
    o.domain = SERVER_DOMAIN;
    o.password = password;
    return client_connect(&o, ret, err);
}

static void test_every_dialect_and_algorithm_signs_both_ways(void **state)
{
    static const struct {
        uint16_t dialect;
        enum server_signing signing;
        const char *name;
    } all[] = {
        {SMB2_DIALECT_202, SERVER_SIGN_BY_DIALECT, "HMAC-SHA256"},
        {SMB2_DIALECT_210, SERVER_SIGN_BY_DIALECT, "HMAC-SHA256"},
        {SMB2_DIALECT_300, SERVER_SIGN_BY_DIALECT, "AES-CMAC"},
        {SMB2_DIALECT_302, SERVER_SIGN_BY_DIALECT, "AES-CMAC"},
        {SMB2_DIALECT_311, SERVER_SIGN_BY_DIALECT, "AES-CMAC"},
        {SMB2_DIALECT_311, SERVER_SIGN_HMAC, "HMAC-SHA256"},
        {SMB2_DIALECT_311, SERVER_SIGN_CMAC, "AES-CMAC"},
        {SMB2_DIALECT_311, SERVER_SIGN_GMAC, "AES-GMAC"},
    };
    for (size_t i = 0; i < COUNT(all); i++) {
        const struct server_script script = logon_script(all[i].dialect, all[i].signing);
        struct bed b = {.server = server_new(&script)};
        struct client_facts facts;
        struct error err = {0};
        if (log_on(b.server, SERVER_PASSWORD, &b.client, &err) < 0)
            fail_msg("%04x: %s", all[i].dialect, err.text);
        client_facts(b.client, &facts);
        assert_int_equal(facts.dialect, all[i].dialect);
        assert_true(facts.signing);
        assert_false(facts.guest);
        assert_string_equal(facts.signing_algorithm, all[i].name);
        everything_works(&b); /* the server refuses what is not signed, and so do we */
        stop(&b);
    }
}

static void test_a_wrong_password_is_told_as_such(void **state)
{
    const struct server_script script = logon_script(SMB2_DIALECT_311, SERVER_SIGN_GMAC);
    struct server *s = server_new(&script);
    struct client *c = NULL;
    struct error err = {0};
    assert_int_equal(log_on(s, "not written", &c, &err), -EACCES);
    assert_non_null(strstr(err.text, "wrong user or password"));
    server_free(s);
}

/* ---- what is changed on the way ---- */

static void test_a_reply_that_is_changed_on_the_way_ends_the_session(void **state)
{
    static const struct server_alteration on_the_way[] = {
        {.offset = 72, .width = 1, .how = SERVER_XOR, .value = 1, .on_the_way = true},
        {.offset = 48, .width = 8, .how = SERVER_SET, .value = 0, .on_the_way = true},
        {.offset = 16, .width = 4, .how = SERVER_XOR, .value = 8, .on_the_way = true},
    };
    static const char *const texts[] = {
        "the signature of the server's answer to CREATE is wrong",
        "the signature of the server's answer to CREATE is wrong",
        "CREATE (STATUS_SUCCESS) is not signed although the session is"};
    for (size_t i = 0; i < COUNT(on_the_way); i++) {
        const struct server_rule rule = {SMB2_CREATE, 1, SERVER_ANYWHERE, SERVER_ALTER, 0};
        struct server_script script = logon_script(SMB2_DIALECT_311, SERVER_SIGN_GMAC);
        struct bed b = {.server = server_new(&script)};
        struct error err = {0};
        assert_int_equal(log_on(b.server, SERVER_PASSWORD, &b.client, &err), 0);
        set_rule(&script, &rule, &on_the_way[i]);
        server_play(b.server, &script);
        assert_int_equal(stat_a(b.client, &err), -EBADMSG);
        if (!strstr(err.text, texts[i]))
            fail_msg("\"%s\" is not in \"%s\"", texts[i], err.text);
        stop(&b);
    }
}

static void test_an_agreement_that_is_changed_on_the_way_is_found_at_the_logon(void **state)
{
    /* SecurityMode, ServerGuid, Capabilities, MaxReadSize, SystemTime */
    static const unsigned offsets[] = {66, 72, 88, 97, 104};
    for (size_t i = 0; i < COUNT(offsets); i++) {
        const struct server_alteration flip = {
            .offset = offsets[i], .width = 1, .how = SERVER_XOR, .value = 2, .on_the_way = true};
        const struct server_rule rule = {SMB2_NEGOTIATE, 1, SERVER_ANYWHERE, SERVER_ALTER, 0};
        struct server_script script = logon_script(SMB2_DIALECT_311, SERVER_SIGN_GMAC);
        set_rule(&script, &rule, &flip);
        struct server *s = server_new(&script);
        struct client *c = NULL;
        struct error err = {0};
        assert_int_equal(log_on(s, SERVER_PASSWORD, &c, &err), -EBADMSG);
        assert_non_null(strstr(err.text, "negotiation was changed on its way"));
        server_free(s);
    }
}

static void test_an_alteration_by_the_server_is_signed_with_the_rest(void **state)
{
    /* EndOfFile, in the CREATE's reply: the answer itself */
    static const struct server_alteration size = {
        .offset = 64 + 48, .width = 8, .how = SERVER_SET, .value = 5};
    static const struct server_rule rule = {SMB2_CREATE, 1, SERVER_ANYWHERE, SERVER_ALTER, 0};
    struct server_script script = logon_script(SMB2_DIALECT_311, SERVER_SIGN_CMAC);
    struct bed b = {.server = server_new(&script)};
    struct error err = {0};
    struct client_file *f;
    struct file_attr attr = {0};
    size_t len;
    bool eof;
    assert_int_equal(log_on(b.server, SERVER_PASSWORD, &b.client, &err), 0);
    set_rule(&script, &rule, &size);
    server_play(b.server, &script);
    if (client_open(b.client, "lib/a.py", CLIENT_SINGLE, NULL, 0, &f, &attr, &len, &eof, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(attr.size, 5);
    client_close(f, CLIENT_SINGLE, NULL, NULL);
    stop(&b);
}

static void test_a_challenge_without_a_name_is_refused(void **state)
{
    static const uint8_t good[] = {'x', 'N', 'T', 'L', 'M', 'S', 'S', 'P', 0, 2, 0, 0,   0, 2,
                                   0,   2,   0,   24,  0,   0,   0,   5,   0, 1, 0, 'A', 0};
    uint8_t token[sizeof(good)];
    memcpy(token, good, sizeof(good));
    assert_int_equal(auth_check_challenge(rd_init(token, sizeof(token))), 0);
    for (size_t len = 0; len < sizeof(token); len++) /* cut short: no challenge yet, or a bad one */
        assert_int_equal(auth_check_challenge(rd_init(token, len)), len < 13 ? 0 : -EBADMSG);
    token[13] = 0; /* no name, although a flag announces it */
    assert_int_equal(auth_check_challenge(rd_init(token, sizeof(token))), -EBADMSG);
    token[23] = 0; /* nor a flag */
    assert_int_equal(auth_check_challenge(rd_init(token, sizeof(token))), 0);
    token[13] = 4; /* behind the end */
    assert_int_equal(auth_check_challenge(rd_init(token, sizeof(token))), -EBADMSG);
}

static void test_an_empty_logon_token_is_refused(void **state)
{
    static const struct server_alteration no_token = {
        .offset = 70, .width = 2, .how = SERVER_SET, .value = 0};
    static const struct server_rule rule = {SMB2_SESSION_SETUP, 1, SERVER_ANYWHERE, SERVER_ALTER,
                                            0};
    struct server_script script = logon_script(SMB2_DIALECT_311, SERVER_SIGN_CMAC);
    set_rule(&script, &rule, &no_token);
    struct server *s = server_new(&script);
    struct client *c = NULL;
    struct error err = {0};
    assert_int_equal(log_on(s, SERVER_PASSWORD, &c, &err), -EACCES);
    assert_non_null(strstr(err.text, "an empty logon token"));
    server_free(s);
}

/* ---- Kerberos that nobody asked for ---- */

static int kdc[2]; /* by UDP and TCP */

/* The machine's realm has a KDC, and it is us. */
static void have_a_realm(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(a);
    char name[64];
    kdc[0] = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    kdc[1] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int fd = memfd_create("krb5.conf", MFD_CLOEXEC);
    if (bind(kdc[0], (struct sockaddr *)&a, sizeof(a)) < 0 ||
        getsockname(kdc[0], (struct sockaddr *)&a, &len) < 0 ||
        bind(kdc[1], (struct sockaddr *)&a, sizeof(a)) < 0 || listen(kdc[1], 8) < 0 ||
        dprintf(fd,
                "[libdefaults]\ndefault_realm = A.REALM\ndns_lookup_kdc = false\n"
                "[realms]\nA.REALM = {\nkdc = 127.0.0.1:%u\n}\n",
                ntohs(a.sin_port)) < 0)
        abort();
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    setenv("KRB5_CONFIG", name, 1);
}

static void test_a_password_is_shown_to_no_kdc(void **state)
{
    struct server_script script = logon_script(SMB2_DIALECT_311, SERVER_SIGN_GMAC);
    struct server *s = server_new(&script);
    struct client *c = NULL;
    struct error err = {0};
    assert_int_equal(log_on(s, SERVER_PASSWORD, &c, &err), 0);
    client_free(c);
    server_free(s);
    struct pollfd asked[] = {{.fd = kdc[0], .events = POLLIN}, {.fd = kdc[1], .events = POLLIN}};
    assert_int_equal(poll(asked, 2, 0), 0); /* nothing in this program has asked it */
}

int main(void)
{
    have_a_realm();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_dialect_and_algorithm_signs_both_ways),
        cmocka_unit_test(test_a_wrong_password_is_told_as_such),
        cmocka_unit_test(test_a_reply_that_is_changed_on_the_way_ends_the_session),
        cmocka_unit_test(test_an_agreement_that_is_changed_on_the_way_is_found_at_the_logon),
        cmocka_unit_test(test_an_alteration_by_the_server_is_signed_with_the_rest),
        cmocka_unit_test(test_a_challenge_without_a_name_is_refused),
        cmocka_unit_test(test_an_empty_logon_token_is_refused),
        cmocka_unit_test(test_a_password_is_shown_to_no_kdc),
    };
    return cmocka_run_group_tests(tests, bed_set_up, bed_tear_down);
}
