/*
 * The client against a server that encrypts, wrongly or not at all: everything works with every
 * cipher, whoever demands it; whatever is not as it has to be ends the connection with a line that
 * says what it was, and nothing is sent after it.
 */
#include "bed.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "secure/secure.h"

enum { GCM128 = 2, CCM128 = 1, GCM256 = 4, CCM256 = 3 };

static struct server_script script_of(uint16_t dialect, uint16_t cipher)
{
    struct server_script s = plain_script();
    s.dialect = dialect;
    s.logon = true;
    s.cipher = cipher;
    s.capabilities = dialect < SMB2_DIALECT_311 && cipher ? SMB2_GLOBAL_CAP_ENCRYPTION : 0;
    return s;
}

/* Of the one user; the port is still to be set. */
static struct client_options options_of_user(void)
{
    return (struct client_options){
        .host = "127.0.0.1",
        .share = "share",
        .user = SERVER_USER,
        .domain = SERVER_DOMAIN,
        .password = SERVER_PASSWORD,
        .require_signing = true,
        .dialect_min = SMB2_DIALECT_202,
        .dialect_max = SMB2_DIALECT_311,
        .request_timeout_ns = 5 * NS_PER_SEC,
        .observe = observe,
    };
}

static struct bed connect_to(const struct server_script *script, bool require)
{
    struct bed b = {.server = server_new(script)};
    struct error err = {0};
    assert_non_null(b.server);
    struct client_options o = options_of_user();
    o.port = server_port(b.server);
    o.require_encryption = require;
    if (client_connect(&o, &b.client, &err) < 0)
        fail_msg("%s", err.text);
    return b;
}

/* A connection that cannot be had, with a line that holds every word, up to NULL; and the commands
 * that the server was not asked. */
static void refused(const struct server_script *script, const struct client_options *with,
                    const char *const words[], int never)
{
    struct server *s = server_new(script);
    struct client *client = NULL;
    struct error err = {0};
    assert_non_null(s);
    struct client_options o = *with;
    o.port = server_port(s);
    if (client_connect(&o, &client, &err) == 0)
        fail_msg("connected in spite of %s", words[0]);
    for (; *words; words++)
        if (!strstr(err.text, *words))
            fail_msg("\"%s\" does not say \"%s\"", err.text, *words);
    assert_null(strchr(err.text, '\n'));
    assert_int_equal(server_count(s, never), 0);
    server_free(s);
}
#define REFUSED(script, options, never, ...)                                                       \
    refused(script, options, (const char *const[]){__VA_ARGS__, NULL}, never)

/* ---- what is to work ---- */

static void is_encrypted_with(struct bed *b, const char *cipher)
{
    struct client_facts facts;
    client_facts(b->client, &facts);
    assert_string_equal(facts.encryption, cipher);
    assert_string_equal(facts.signing_algorithm, "none");
    everything_works(b);
}

static void test_every_cipher_carries_everything_whoever_demands_it(void **state)
{
    static const struct {
        uint16_t dialect, cipher;
        const char *name;
    } all[] = {
        {SMB2_DIALECT_311, GCM128, "AES-128-GCM"}, {SMB2_DIALECT_311, CCM128, "AES-128-CCM"},
        {SMB2_DIALECT_311, GCM256, "AES-256-GCM"}, {SMB2_DIALECT_311, CCM256, "AES-256-CCM"},
        {SMB2_DIALECT_300, CCM128, "AES-128-CCM"}, {SMB2_DIALECT_302, CCM128, "AES-128-CCM"},
    };
    for (size_t i = 0; i < COUNT(all); i++) {
        struct server_script script = script_of(all[i].dialect, all[i].cipher);
        struct bed b = connect_to(&script, true);
        is_encrypted_with(&b, all[i].name);
        stop(&b);
        script.encrypts = true;
        b = connect_to(&script, false);
        is_encrypted_with(&b, all[i].name);
        stop(&b);
        script.encrypts = false;
        script.share_encrypts = true;
        b = connect_to(&script, false);
        is_encrypted_with(&b, all[i].name);
        stop(&b);
    }
}

static void test_without_a_demand_it_is_signed(void **state)
{
    const struct server_script script = script_of(SMB2_DIALECT_311, GCM128);
    struct bed b = connect_to(&script, false);
    struct client_facts facts;
    client_facts(b.client, &facts);
    assert_string_equal(facts.encryption, "none");
    assert_string_equal(facts.signing_algorithm, "AES-CMAC");
    everything_works(&b);
    stop(&b);
}

static void test_data_of_a_write_is_encrypted_from_where_it_lies_and_stays_as_it_was(void **state)
{
    enum { SIZE = (3 << 20) + 17 };
    uint8_t *data = malloc(SIZE), *copy = malloc(SIZE), *landed = calloc(1, SIZE);
    assert_true(data && copy && landed);
    for (size_t i = 0; i < SIZE; i++)
        data[i] = (uint8_t)(i * 2654435761u >> 13);
    memcpy(copy, data, SIZE);
    for (uint16_t cipher = CCM128; cipher <= GCM256; cipher++) {
        struct server_script script = script_of(SMB2_DIALECT_311, cipher);
        script.sink = (struct server_sink){landed, SIZE};
        struct bed b = connect_to(&script, true);
        struct client_file *f = NULL;
        struct file_attr attr;
        struct error err = {0};
        const struct client_how how = {.access = 0x0012019f, .share = 7, .disposition = 1};
        memset(landed, 0, SIZE);
        if (client_create(b.client, "lib/a.py", &how, &f, &attr, NULL, &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(client_write(f, data, SIZE, 0, &err), SIZE);
        assert_int_equal(client_close(f, CLIENT_SINGLE, NULL, &err), 0);
        assert_memory_equal(landed, copy, SIZE);
        assert_memory_equal(data, copy, SIZE);
        stop(&b);
    }
    free(data);
    free(copy);
    free(landed);
}

static void test_interim_responses_and_breaks_may_come_plain(void **state)
{
    static const struct server_rule later[] = {
        {SMB2_CREATE, 0, SERVER_ANYWHERE, SERVER_INTERIM, 0}};
    static const struct server_break unknown = {.lease = SERVER_UNKNOWN_KEY, .epoch = 1};
    for (int plain = 0; plain < 2; plain++) {
        struct server_script script = script_of(SMB2_DIALECT_311, GCM128);
        script.plain_asides = plain;
        set_rule(&script, later, NULL);
        struct bed b = connect_to(&script, true);
        everything_works(&b);
        assert_true(server_send_break(b.server, &unknown));
        everything_works(&b);
        stop(&b);
    }
}

static void *rounds(void *client)
{
    struct error err = {0};
    for (unsigned i = 0; i < 4; i++)
        if (do_everything(client, &err) < 0)
            return NULL;
    return client;
}

static void test_threads_share_an_encrypted_connection(void **state)
{
    for (uint16_t cipher = CCM128; cipher <= GCM128; cipher++) {
        const struct server_script script = script_of(SMB2_DIALECT_311, cipher);
        struct bed b = connect_to(&script, true);
        pthread_t threads[8];
        for (size_t i = 0; i < COUNT(threads); i++)
            assert_int_equal(pthread_create(&threads[i], NULL, rounds, b.client), 0);
        for (size_t i = 0; i < COUNT(threads); i++) {
            void *done;
            pthread_join(threads[i], &done);
            assert_non_null(done);
        }
        no_open_is_left(&b);
        stop(&b);
    }
}

/* ---- what ends the connection ---- */

static void ends(struct bed *b, int (*work)(struct client *c, struct error *err), const char *says)
{
    struct error err = {0};
    int r = work(b->client, &err);
    if (r == 0)
        fail_msg("it went well; it should have said \"%s\"", says);
    if (!strstr(err.text, says))
        fail_msg("\"%s\" does not say \"%s\"", err.text, says);
    unsigned asked = server_count(b->server, SERVER_ANY);
    assert_true(work(b->client, NULL) < 0);
    assert_int_equal(server_count(b->server, SERVER_ANY), asked);
    stop(b);
}

static void test_a_plain_answer_in_an_encrypted_session_ends_it(void **state)
{
    static const int commands[] = {SMB2_ECHO, SMB2_TREE_CONNECT, SMB2_CREATE, SMB2_READ,
                                   SMB2_QUERY_DIRECTORY};
    for (size_t i = 0; i < COUNT(commands); i++) {
        const struct server_rule plain[] = {
            {commands[i], 0, SERVER_ANYWHERE, SERVER_PLAIN, 0},
            {commands[i], 0, SERVER_ANYWHERE, SERVER_FAIL, STATUS_ACCESS_DENIED}};
        for (size_t rules = 1; rules <= 2; rules++) { /* also where it is an error */
            struct server_script script = script_of(SMB2_DIALECT_311, GCM128);
            script.rules = plain;
            script.rule_count = rules;
            if (commands[i] == SMB2_TREE_CONNECT) {
                struct client_options o = options_of_user();
                o.require_encryption = true;
                REFUSED(&script, &o, SMB2_CREATE, "TREE_CONNECT", "is not encrypted");
                continue;
            }
            struct bed b = connect_to(&script, true);
            ends(&b, commands[i] == SMB2_ECHO ? client_echo : do_everything, "is not encrypted");
        }
    }
}

static void test_every_field_of_the_transform_header_counts(void **state)
{
    static const struct {
        struct server_alteration what;
        const char *says;
    } all[] = {
        {{0, 1, SERVER_XOR, 1, true}, "not SMB2"},
        {{0, 1, SERVER_SET, 0xfc, true}, "compressed"},
        {{4, 1, SERVER_XOR, 1, true}, "cannot be decrypted"},
        {{19, 1, SERVER_XOR, 0x80, true}, "cannot be decrypted"},
        {{20, 1, SERVER_XOR, 1, true}, "cannot be decrypted"},
        {{35, 1, SERVER_XOR, 1, true}, "cannot be decrypted"},
        {{36, 4, SERVER_ADD, 1, true}, "another length"},
        {{36, 4, SERVER_SET, 0, true}, "another length"},
        {{36, 4, SERVER_SET, UINT32_MAX, true}, "another length"},
        {{40, 1, SERVER_XOR, 1, true}, "cannot be decrypted"},
        {{42, 2, SERVER_SET, 0, true}, "does not say how"},
        {{42, 2, SERVER_SET, 2, true}, "does not say how"},
        {{44, 8, SERVER_ADD, 1, true}, "another session"},
        {{44, 8, SERVER_SET, 0, true}, "another session"},
        {{52, 1, SERVER_XOR, 1, true}, "cannot be decrypted"},
        {{119, 1, SERVER_XOR, 1, true}, "cannot be decrypted"},
        /* what was inside before it was encrypted */
        {{0, 1, SERVER_SET, 0xfd, false}, "encrypted twice"},
        {{0, 1, SERVER_SET, 0xfc, false}, "compressed"},
        {{0, 1, SERVER_SET, 0xff, false}, "SMB1"},
        {{40, 8, SERVER_ADD, 1, false}, "another session inside"},
        {{40, 8, SERVER_SET, 0, false}, "another session inside"},
        {{20, 4, SERVER_SET, 4, false}, "not SMB2"},
    };
    for (size_t i = 0; i < COUNT(all); i++) {
        static const struct server_rule alter[] = {
            {SMB2_ECHO, 0, SERVER_ANYWHERE, SERVER_ALTER, 0}};
        struct server_script script = script_of(SMB2_DIALECT_311, i % 2 ? GCM128 : CCM256);
        set_rule(&script, alter, &all[i].what);
        struct bed b = connect_to(&script, true);
        ends(&b, client_echo, all[i].says);
    }
}

/* The answer to an ECHO is 52 + 64 + 4 bytes. */
static void test_a_sealed_frame_cut_anywhere_ends_the_connection(void **state)
{
    static const struct server_rule cut[] = {{SMB2_ECHO, 0, SERVER_ANYWHERE, SERVER_ALTER, 0}};
    for (uint64_t len = 1; len < 120; len++) {
        const struct server_alteration shorter = {
            .how = SERVER_RESIZE, .value = len - 120, .on_the_way = true};
        struct server_script script = script_of(SMB2_DIALECT_311, GCM128);
        set_rule(&script, cut, &shorter);
        struct bed b = connect_to(&script, true);
        ends(&b, client_echo, len < 64 ? "shorter than a header" : "another length");
    }
}

static void test_an_encrypted_message_that_nobody_agreed_on_ends_the_connection(void **state)
{
    static const struct server_rule alter[] = {{SMB2_ECHO, 0, SERVER_ANYWHERE, SERVER_ALTER, 0}};
    static const struct server_alteration sealed = {0, 1, SERVER_SET, 0xfd, true};
    struct server_script script = plain_script();
    set_rule(&script, alter, &sealed);
    struct bed b = start_with(&script, 5 * NS_PER_SEC);
    ends(&b, client_echo, "although no encryption was agreed");
}

/* ---- what is refused before anything is said ---- */

static void test_a_cipher_that_was_not_offered_is_refused(void **state)
{
    static const uint16_t wrong[] = {GCM256, CCM256, CCM128, 5, 0xffff};
    struct client_options o = options_of_user();
    o.cipher_count = 1;
    o.ciphers[0] = GCM128;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        const struct server_script script = script_of(SMB2_DIALECT_311, wrong[i]);
        REFUSED(&script, &o, SMB2_SESSION_SETUP, "cipher that was not offered", "EncryptionCiphers",
                "127.0.0.1");
    }
}

static void test_a_server_that_cannot_encrypt_is_refused_before_the_logon(void **state)
{
    static const struct {
        uint16_t dialect;
        const char *word;
    } all[] = {{SMB2_DIALECT_202, "Smb2DialectMin"},
               {SMB2_DIALECT_210, "Smb2DialectMax"},
               {SMB2_DIALECT_300, "AES-128-CCM"},
               {SMB2_DIALECT_302, "EncryptionCiphers"},
               {SMB2_DIALECT_311, "EncryptionCiphers"}};
    struct client_options o = options_of_user();
    o.require_encryption = true;
    for (size_t i = 0; i < COUNT(all); i++) {
        const struct server_script script = script_of(all[i].dialect, 0);
        REFUSED(&script, &o, SMB2_SESSION_SETUP, "127.0.0.1", "RequireEncryption", all[i].word);
    }
    const struct server_script script = script_of(SMB2_DIALECT_302, CCM128);
    o.cipher_count = 1;
    o.ciphers[0] = GCM128;
    REFUSED(&script, &o, SMB2_SESSION_SETUP, "RequireEncryption", "EncryptionCiphers");
}

static void test_who_insists_without_a_cipher_is_refused(void **state)
{
    struct server_script script = script_of(SMB2_DIALECT_311, 0);
    const struct client_options o = options_of_user();
    script.encrypts = true;
    REFUSED(&script, &o, SMB2_TREE_CONNECT, "insists on encryption", "EncryptionCiphers");
    script = script_of(SMB2_DIALECT_210, 0);
    script.share_encrypts = true;
    REFUSED(&script, &o, SMB2_CREATE, "insists on encryption", "Smb2Dialect", "share");
}

static void test_guests_are_accepted_only_by_who_said_so(void **state)
{
    struct server_script script = plain_script();
    script.dialect = SMB2_DIALECT_311;
    struct client_options o = options_of_user();
    REFUSED(&script, &o, SMB2_TREE_CONNECT, "guest", "EnableInsecureGuestLogons");
    o.accept_guest = true;
    o.require_encryption = true;
    script.cipher = GCM128;
    REFUSED(&script, &o, SMB2_TREE_CONNECT, "guest", "RequireEncryption");
    struct bed b = {.server = server_new(&script)};
    struct error err = {0};
    o.require_encryption = false;
    o.port = server_port(b.server);
    if (client_connect(&o, &b.client, &err) < 0)
        fail_msg("%s", err.text);
    everything_works(&b);
    stop(&b);
}

/* ---- algorithms that sign ---- */

static void test_only_the_signing_algorithms_that_are_allowed_sign(void **state)
{
    static const char *const names[] = {"HMAC-SHA256", "AES-CMAC", "AES-GMAC"};
    for (uint8_t has = 0; has < 3; has++) {
        for (uint8_t allowed = 0; allowed < 3; allowed++) {
            struct server_script script = script_of(SMB2_DIALECT_311, 0);
            script.signing = (enum server_signing)(SERVER_SIGN_HMAC + has);
            struct server *s = server_new(&script);
            struct client_options o = options_of_user();
            struct bed b = {.server = s};
            o.port = server_port(s);
            o.signer_count = 1;
            o.signers[0] = allowed;
            if (has == allowed) {
                struct client_facts facts;
                assert_int_equal(client_connect(&o, &b.client, NULL), 0);
                client_facts(b.client, &facts);
                assert_string_equal(facts.signing_algorithm, names[has]);
                everything_works(&b);
            } else if (allowed != SECURE_AES_CMAC) { /* which the server falls back to */
                REFUSED(&script, &o, SMB2_SESSION_SETUP, "SigningAlgorithms", "AES-CMAC");
            }
            stop(&b);
        }
    }
}

static void test_a_server_that_does_not_sign_is_refused_before_the_logon(void **state)
{
    static const struct server_rule alter[] = {
        {SMB2_NEGOTIATE, 0, SERVER_ANYWHERE, SERVER_ALTER, 0}};
    static const struct server_alteration silent = {66, 2, SERVER_SET, 0, false}; /* SecurityMode */
    struct server_script script = script_of(SMB2_DIALECT_311, GCM128);
    const struct client_options o = options_of_user();
    set_rule(&script, alter, &silent);
    REFUSED(&script, &o, SMB2_SESSION_SETUP, "127.0.0.1", "RequireSecuritySignature",
            "does not sign");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_cipher_carries_everything_whoever_demands_it),
        cmocka_unit_test(test_without_a_demand_it_is_signed),
        cmocka_unit_test(test_data_of_a_write_is_encrypted_from_where_it_lies_and_stays_as_it_was),
        cmocka_unit_test(test_interim_responses_and_breaks_may_come_plain),
        cmocka_unit_test(test_threads_share_an_encrypted_connection),
        cmocka_unit_test(test_a_plain_answer_in_an_encrypted_session_ends_it),
        cmocka_unit_test(test_every_field_of_the_transform_header_counts),
        cmocka_unit_test(test_a_sealed_frame_cut_anywhere_ends_the_connection),
        cmocka_unit_test(test_an_encrypted_message_that_nobody_agreed_on_ends_the_connection),
        cmocka_unit_test(test_a_cipher_that_was_not_offered_is_refused),
        cmocka_unit_test(test_a_server_that_cannot_encrypt_is_refused_before_the_logon),
        cmocka_unit_test(test_who_insists_without_a_cipher_is_refused),
        cmocka_unit_test(test_guests_are_accepted_only_by_who_said_so),
        cmocka_unit_test(test_only_the_signing_algorithms_that_are_allowed_sign),
        cmocka_unit_test(test_a_server_that_does_not_sign_is_refused_before_the_logon),
    };
    return cmocka_run_group_tests_name("client_seal", tests, bed_set_up, bed_tear_down);
}
