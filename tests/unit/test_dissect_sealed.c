/*
 * The dissector on what is encrypted or compressed: with the keys in each form in which people have
 * them, with wrong ones and without; and the file that they come in.
 */
#include "dissect_world.h"

#include <unistd.h>

#include "capture/dissector.h"
#include "secure/secure.h"

/* ---- keys ---- */

static struct keyring *keyring(const char *text)
{
    char path[] = "/tmp/larder-keys-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    struct keyring *k = NULL;
    struct error err = {0};
    if (keyring_read(path, &k, &err) < 0)
        fail_msg("%s", err.text);
    unlink(path);
    return k;
}

static void hex(const uint8_t *bytes, size_t len, char *out)
{
    for (size_t i = 0; i < len; i++)
        sprintf(out + 2 * i, "%02x", bytes[i]);
}

/* A session key and what is derived from it, as one line of a file. */
struct secrets {
    uint16_t dialect;
    enum secure_cipher cipher;
    uint8_t session_key[16];
    struct secure_cipher_keys keys;
    uint64_t nonce;
    size_t cut; /* bytes captured of the NEGOTIATE request; 0: all */
};

enum { SESSION_KEY = 1, DIRECTION_KEYS = 2 };

static struct keyring *keyring_of(const struct secrets *s, int which)
{
    char line[400], session[40] = "", from[80] = "", to[80] = "";
    size_t size = secure_cipher_key_size(s->cipher);
    if (which & SESSION_KEY)
        hex(s->session_key, 16, session);
    if (which & DIRECTION_KEYS) {
        hex(s->keys.from_server, size, from);
        hex(s->keys.to_server, size, to);
    }
    /* SESSION as it is on the wire: little-endian. */
    snprintf(line, sizeof(line), "5544332211000000,\"%s\",%s,%s\n", session, from, to);
    return keyring(line);
}

/* ---- records ---- */

/* What was built, encrypted: `s` may differ from what the keyring has. */
static void deliver_sealed(struct world *w, size_t flow, int from_server, struct secrets *s)
{
    uint8_t frame[4096];
    struct wr sealed = wr_init(frame, sizeof(frame));
    struct wire_transform t = {.original_size = (uint32_t)w->w.pos,
                               .flags = SMB2_TRANSFORM_ENCRYPTED,
                               .session_id = SESSION};
    s->nonce++;
    memcpy(t.nonce, &s->nonce, sizeof(s->nonce));
    wire_transform_encode(&sealed, &t);
    wr_bytes(&sealed, w->buf, w->w.pos);
    assert_true(wr_ok(&sealed));

    struct secure_sealer *sealer;
    const uint8_t *key = from_server ? s->keys.from_server : s->keys.to_server;
    assert_int_equal(secure_sealer_new(s->cipher, key, &sealer), 0);
    assert_int_equal(secure_seal(sealer, frame, sealed.pos), 0);
    secure_sealer_free(sealer);
    give(w, flow, from_server, frame, sealed.pos, sealed.pos);
    begin_record(w);
}

static void sealed_echo(struct world *w, size_t flow, uint64_t id, struct secrets *s)
{
    wire_empty_encode(request(w, SMB2_ECHO, id));
    deliver_sealed(w, flow, TO_SERVER, s);
    wire_empty_encode(response(w, SMB2_ECHO, id, STATUS_SUCCESS));
    deliver_sealed(w, flow, FROM_SERVER, s);
}

/* ---- a logon ---- */

static void hashed(struct world *w, size_t flow, int from_server, struct secure_preauth *p)
{
    assert_int_equal(secure_preauth_add(p, w->buf, w->w.pos), 0);
    deliver(w, flow, from_server);
}

static struct wr *setup(struct world *w, int from_server, uint64_t id, uint32_t status,
                        uint64_t session_id)
{
    return element(w, &(struct wire_header){.command = SMB2_SESSION_SETUP,
                                            .message_id = id,
                                            .status = status,
                                            .flags = from_server ? SMB2_FLAGS_SERVER_TO_REDIR : 0,
                                            .session_id = session_id});
}

/* NEGOTIATE and two rounds of SESSION_SETUP; the keys are derived as a client would. */
static void log_on(struct world *w, size_t flow, struct secrets *s)
{
    struct secure_preauth p = {0}, last;
    struct wire_negotiate_response answer = sample_negotiate_response;
    answer.dialect = s->dialect;
    answer.contexts.cipher[0] = (uint16_t)s->cipher;
    wire_negotiate_request_encode(request(w, SMB2_NEGOTIATE, 0), &sample_negotiate_request);
    assert_int_equal(secure_preauth_add(&p, w->buf, w->w.pos), 0);
    deliver_cut(w, flow, TO_SERVER, s->cut ? s->cut : w->w.pos);
    wire_negotiate_response_encode(response(w, SMB2_NEGOTIATE, 0, STATUS_SUCCESS), &answer);
    hashed(w, flow, FROM_SERVER, &p);

    const uint32_t more = (uint32_t)STATUS_MORE_PROCESSING_REQUIRED;
    wire_session_setup_request_encode(setup(w, TO_SERVER, 1, 0, 0), &sample_session_setup_request);
    hashed(w, flow, TO_SERVER, &p);
    wire_session_setup_response_encode(setup(w, FROM_SERVER, 1, more, SESSION),
                                       &sample_session_setup_response);
    hashed(w, flow, FROM_SERVER, &p);
    wire_session_setup_request_encode(setup(w, TO_SERVER, 2, 0, SESSION),
                                      &sample_session_setup_request);
    hashed(w, flow, TO_SERVER, &p);
    last = p;
    wire_session_setup_response_encode(setup(w, FROM_SERVER, 2, STATUS_SUCCESS, SESSION),
                                       &sample_session_setup_response);
    hashed(w, flow, FROM_SERVER, &p);
    assert_int_equal(
        secure_encryption_keys(s->dialect, s->cipher, s->session_key, 16, &last, &s->keys), 0);
}

static const struct secrets kinds[] = {
    {.dialect = SMB2_DIALECT_300, .cipher = SECURE_AES128_CCM, .session_key = "a session's key"},
    {.dialect = SMB2_DIALECT_302, .cipher = SECURE_AES128_CCM, .session_key = "a session's key"},
    {.dialect = SMB2_DIALECT_311, .cipher = SECURE_AES128_CCM, .session_key = "a session's key"},
    {.dialect = SMB2_DIALECT_311, .cipher = SECURE_AES128_GCM, .session_key = "a session's key"},
    {.dialect = SMB2_DIALECT_311, .cipher = SECURE_AES256_CCM, .session_key = "a session's key"},
    {.dialect = SMB2_DIALECT_311, .cipher = SECURE_AES256_GCM, .session_key = "a session's key"},
};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* ---- opening ---- */

static void the_session_key_alone_opens_what_follows_a_logon(void **state)
{
    for (size_t i = 0; i < KINDS; i++) {
        struct secrets s = kinds[i];
        struct keyring *k = keyring_of(&s, SESSION_KEY);
        struct world *w = world_new(k);
        log_on(w, 0, &s);
        sealed_echo(w, 0, 5, &s);
        assert_int_equal(counts(w).decrypted_messages, 2);
        assert_int_equal(counts(w).encrypted_messages, 0);
        assert_int_equal(w->message_count, 8);
        assert_false(w->messages[5].decrypted);
        assert_true(w->messages[6].decrypted && w->messages[7].decrypted);
        assert_int_equal(w->exchanges[w->exchange_count - 1].x.command, SMB2_ECHO);
        assert_true(w->exchanges[w->exchange_count - 1].x.request_seen);
        world_free(w);
        keyring_free(k);
    }
}

static void a_session_is_opened_on_its_other_connections_too(void **state)
{
    struct secrets s = kinds[3];
    struct keyring *k = keyring_of(&s, SESSION_KEY);
    struct world *w = world_new(k);
    log_on(w, 0, &s);
    sealed_echo(w, 1, 5, &s);
    assert_int_equal(counts(w).decrypted_messages, 2);
    world_free(w);
    keyring_free(k);
}

static void authenticating_again_changes_no_keys(void **state)
{
    struct secrets s = kinds[3];
    struct keyring *k = keyring_of(&s, SESSION_KEY);
    struct world *w = world_new(k);
    log_on(w, 0, &s);
    wire_session_setup_request_encode(setup(w, TO_SERVER, 3, 0, SESSION),
                                      &sample_session_setup_request);
    deliver(w, 0, TO_SERVER);
    wire_session_setup_response_encode(setup(w, FROM_SERVER, 3, STATUS_SUCCESS, SESSION),
                                       &sample_session_setup_response);
    deliver(w, 0, FROM_SERVER);
    sealed_echo(w, 0, 5, &s);
    assert_int_equal(counts(w).decrypted_messages, 2);
    world_free(w);
    keyring_free(k);
}

static void the_keys_of_the_directions_open_a_capture_without_a_logon(void **state)
{
    for (size_t i = 0; i < KINDS; i++) {
        struct secrets s = kinds[i];
        struct world *other = world_new(NULL); /* where the logon was */
        log_on(other, 0, &s);
        world_free(other);

        struct keyring *k = keyring_of(&s, DIRECTION_KEYS);
        struct world *w = world_new(k);
        sealed_echo(w, 0, 5, &s);
        assert_int_equal(counts(w).decrypted_messages, 2);
        world_free(w);
        keyring_free(k);

        /* The session key alone does so in the dialects that need nothing else. */
        k = keyring_of(&s, SESSION_KEY);
        w = world_new(k);
        sealed_echo(w, 0, 5, &s);
        bool enough = s.dialect < SMB2_DIALECT_311;
        assert_int_equal(counts(w).decrypted_messages, enough ? 2 : 0);
        assert_int_equal(counts(w).wrong_keys, enough ? 0 : 2);
        world_free(w);
        keyring_free(k);
    }
}

static void a_logon_of_which_a_part_is_missing_gives_no_keys_in_311(void **state)
{
    for (size_t i = 0; i < KINDS; i++) {
        struct secrets s = kinds[i];
        struct keyring *k = keyring_of(&s, SESSION_KEY);
        struct world *w = world_new(k);
        bool enough = s.dialect < SMB2_DIALECT_311;
        s.cut = 100;
        log_on(w, 0, &s);
        sealed_echo(w, 0, 5, &s);
        assert_int_equal(counts(w).decrypted_messages, enough ? 2 : 0);
        assert_int_equal(counts(w).wrong_keys, enough ? 0 : 2);
        world_free(w);
        keyring_free(k);
    }
}

static void a_compound_in_one_sealed_record_is_several_messages(void **state)
{
    struct secrets s = kinds[5];
    struct keyring *k = keyring_of(&s, SESSION_KEY);
    struct world *w = world_new(k);
    log_on(w, 0, &s);
    w->message_count = w->exchange_count = 0;
    put_create(request(w, SMB2_CREATE, 5), (struct rd)BYTES(u"dir"));
    put_list(related(w, SMB2_QUERY_DIRECTORY, 6), WIRE_FILE_ID_RELATED);
    deliver_sealed(w, 0, TO_SERVER, &s);
    put_created(response(w, SMB2_CREATE, 5, STATUS_SUCCESS), FID(1), FILE_ATTRIBUTE_DIRECTORY);
    put_listing(response(w, SMB2_QUERY_DIRECTORY, 6, STATUS_SUCCESS));
    deliver_sealed(w, 0, FROM_SERVER, &s);
    assert_int_equal(w->message_count, 4);
    assert_int_equal(w->messages[0].frame, w->messages[1].frame);
    assert_int_equal(w->exchanges[1].entries, 3);
    assert_string_equal(w->exchanges[1].path, "dir");
    world_free(w);
    keyring_free(k);
}

/* ---- what stays closed ---- */

static void without_a_key_sealed_records_are_counted_by_direction(void **state)
{
    struct secrets s = kinds[3];
    struct world *w = world_new(NULL);
    struct flow_facts f;
    log_on(w, 0, &s);
    dissect_flow_facts(&w->flows[0], &f);
    assert_false(f.encrypted_seen);
    sealed_echo(w, 0, 5, &s);
    wire_empty_encode(response(w, SMB2_ECHO, 6, STATUS_SUCCESS));
    deliver_sealed(w, 0, FROM_SERVER, &s);
    struct dissect_counts c = counts(w);
    assert_int_equal(c.encrypted_messages, 3);
    assert_int_equal(c.encrypted_by_direction[TO_SERVER], 1);
    assert_int_equal(c.encrypted_by_direction[FROM_SERVER], 2);
    assert_int_equal(c.decrypted_messages + c.wrong_keys + c.malformed, 0);
    dissect_flow_facts(&w->flows[0], &f);
    assert_true(f.encrypted_seen);
    world_free(w);
}

static void a_wrong_key_opens_nothing_and_is_told_from_none(void **state)
{
    struct secrets s = kinds[3], wrong = s;
    wrong.session_key[0] ^= 1;
    struct keyring *k = keyring_of(&wrong, SESSION_KEY);
    struct world *w = world_new(k);
    log_on(w, 0, &s);
    sealed_echo(w, 0, 5, &s);
    assert_int_equal(counts(w).encrypted_messages, 2);
    assert_int_equal(counts(w).wrong_keys, 2);
    assert_int_equal(w->message_count, 6);
    world_free(w);
    keyring_free(k);
}

static void a_sealed_record_that_was_cut_or_holds_another_stays_closed(void **state)
{
    struct secrets s = kinds[0];
    struct keyring *k = keyring_of(&s, SESSION_KEY);
    struct world *w = world_new(k);
    uint8_t frame[256];
    struct wr sealed = wr_init(frame, sizeof(frame));
    log_on(w, 0, &s);
    sample_envelopes[0].encode(&sealed);
    for (size_t n = 4; n < sealed.pos; n++)
        give(w, 0, TO_SERVER, frame, n, sealed.pos);
    assert_int_equal(counts(w).encrypted_messages, sealed.pos - 4);
    assert_int_equal(counts(w).malformed, 0);

    wr_bytes(&w->w, frame, sealed.pos); /* a transform inside a transform: 3.2.5.1.1.1 */
    deliver_sealed(w, 0, TO_SERVER, &s);
    assert_int_equal(counts(w).malformed, 1);
    world_free(w);
    keyring_free(k);
}

/* ---- compression ---- */

/* What was built as a record of its own form: its first 64 bytes plain, the rest as literals. */
static size_t compress(struct world *w, uint8_t *out, size_t cap, bool chained)
{
    uint8_t lz77[2048];
    struct wr packed = wr_init(lz77, sizeof(lz77)), frame = wr_init(out, cap);
    const uint8_t *rest = w->buf + WIRE_HEADER_SIZE;
    size_t len = w->w.pos - WIRE_HEADER_SIZE;
    for (size_t i = 0; i < len; i++) {
        if (i % 32 == 0)
            wr_u32(&packed, 0);
        wr_u8(&packed, rest[i]);
    }
    if (!chained) {
        wire_compression_encode(&frame,
                                &(struct wire_compression){.original_size = (uint32_t)len,
                                                           .algorithm = SMB2_COMPRESSION_LZ77,
                                                           .offset = WIRE_HEADER_SIZE});
        wr_bytes(&frame, w->buf, WIRE_HEADER_SIZE);
        wr_bytes(&frame, lz77, packed.pos);
    } else {
        wire_compression_encode(&frame, &(struct wire_compression){
                                            .original_size = (uint32_t)w->w.pos, .chained = true});
        wire_compression_payload_encode(
            &frame,
            &(struct wire_compression_payload){.algorithm = SMB2_COMPRESSION_NONE,
                                               .data = rd_init(w->buf, WIRE_HEADER_SIZE)},
            true);
        wire_compression_payload_encode(
            &frame,
            &(struct wire_compression_payload){.algorithm = SMB2_COMPRESSION_LZ77,
                                               .original_size = (uint32_t)len,
                                               .data = rd_init(lz77, packed.pos)},
            false);
    }
    assert_true(wr_ok(&packed) && wr_ok(&frame));
    begin_record(w);
    return frame.pos;
}

static void compressed_records_are_inflated_in_both_forms(void **state)
{
    for (int chained = 0; chained < 2; chained++) {
        struct world *w = world_new(NULL);
        uint8_t frame[4096];
        put_create(request(w, SMB2_CREATE, 1), (struct rd)BYTES(u"squeezed"));
        put_close(related(w, SMB2_CLOSE, 2), WIRE_FILE_ID_RELATED);
        size_t len = compress(w, frame, sizeof(frame), chained);
        give(w, 0, TO_SERVER, frame, len, len);
        assert_int_equal(w->message_count, 2);
        assert_int_equal(counts(w).compressed_messages, 1);
        assert_int_equal(counts(w).not_inflated + counts(w).malformed, 0);
        dissector_finish(w->d);
        assert_string_equal(w->exchanges[0].path, "squeezed");

        for (size_t n = 0; n < len; n++) { /* cut: counted as compressed, and closed */
            give(w, 0, TO_SERVER, frame, n, len);
            assert_int_equal(w->message_count, 2);
        }
        assert_int_equal(counts(w).compressed_messages, 1 + len - 4);
        frame[len - 1] ^= 1; /* the last byte of the CLOSE: still a message */
        frame[12] ^= 1;      /* Offset or Length: not inflated */
        give(w, 0, TO_SERVER, frame, len, len);
        assert_int_equal(w->message_count, 2);
        assert_int_equal(counts(w).not_inflated, len - 4 + 1);
        world_free(w);
    }
}

static void a_compressed_record_may_lie_in_a_sealed_one(void **state)
{
    struct secrets s = kinds[3];
    struct keyring *k = keyring_of(&s, SESSION_KEY);
    struct world *w = world_new(k);
    uint8_t frame[4096];
    log_on(w, 0, &s);
    put_create(request(w, SMB2_CREATE, 5), (struct rd)BYTES(u"both"));
    size_t len = compress(w, frame, sizeof(frame), false);
    wr_bytes(&w->w, frame, len);
    deliver_sealed(w, 0, TO_SERVER, &s);
    assert_int_equal(counts(w).compressed_messages, 1);
    assert_int_equal(counts(w).decrypted_messages, 1);
    assert_true(w->messages[w->message_count - 1].decrypted);
    dissector_finish(w->d);
    assert_string_equal(w->exchanges[w->exchange_count - 1].path, "both");
    world_free(w);
    keyring_free(k);
}

/* The largest record there is from 28 bytes, again and again: it ends. */
static void what_a_capture_inflates_to_is_bounded(void **state)
{
    struct world *w = world_new(NULL);
    uint8_t frame[64];
    struct wr bomb = wr_init(frame, sizeof(frame));
    const struct wire_compression_payload p = {
        .algorithm = SMB2_COMPRESSION_PATTERN_V1,
        .data = BYTES("x\0\0\0\xff\xff\xff\0"),
    };
    wire_compression_encode(&bomb,
                            &(struct wire_compression){.original_size = 0xffffff, .chained = true});
    wire_compression_payload_encode(&bomb, &p, true);
    for (unsigned i = 0; i < 300; i++)
        give(w, 0, FROM_SERVER, frame, bomb.pos, bomb.pos);
    assert_int_equal(counts(w).compressed_messages, 300);
    assert_in_range(counts(w).not_inflated, 40, 50); /* 4 GiB are 256 of them */
    world_free(w);
}

/* ---- the file of keys ---- */

static int read_keys(const char *text, struct keyring **ret, struct error *err)
{
    char path[] = "/tmp/larder-keys-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    int r = keyring_read(path, ret, err);
    unlink(path);
    return r;
}

static void keys_are_read_in_the_forms_that_wireshark_writes(void **state)
{
    static const char *const good[] = {
        "5544332211000000,00112233445566778899aabbccddeeff,,\n",
        "5544332211000000,00112233445566778899AABBCCDDEEFF",
        "\"5544332211000000\",\"00112233445566778899aabbccddeeff\",\"\",\"\"\r\n",
        " 5544332211000000 , 00112233445566778899aabbccddeeff , \"\" , \"\" \n",
        ("# a comment\n\n5544332211000000,\"\",00112233445566778899aabbccddeeff,"
         "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n"),
        "",
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct keyring *k = NULL;
        struct error err = {0};
        if (read_keys(good[i], &k, &err) < 0)
            fail_msg("%s: %s", good[i], err.text);
        keyring_free(k);
    }
}

/* As smbinfo has it: two digits a byte, with spaces between. */
static void spaced(const uint8_t *bytes, size_t len, char *out)
{
    for (size_t i = 0; i < len; i++)
        sprintf(out + 3 * i, i + 1 < len ? "%02x " : "%02x", bytes[i]);
}

static void what_smbinfo_prints_opens_a_capture_without_a_logon(void **state)
{
    static const char *const forms[] = {
        "Session Id: 55 44 33 22 11 00 00 00\nCipher: AES-256-GCM\nSession Key: %s\n"
        "ServerIn  Key: %s\nServerOut key: %s\n",
        "# before Linux 5.13\nSession Id: 55 44 33 22 11 00 00 00\nCipher: AES-128-CCM\n"
        "Session Key: %s\nEncryption key: %s\nDecryption key: %s",
    };
    for (size_t i = 0; i < KINDS; i++)
        for (size_t form = 0; form < 2; form++) {
            struct secrets s = kinds[i];
            struct world *other = world_new(NULL); /* where the logon was */
            log_on(other, 0, &s);
            world_free(other);

            char text[600], session[64], in[128], out[128];
            size_t size = secure_cipher_key_size(s.cipher);
            spaced(s.session_key, 16, session);
            spaced(s.keys.to_server, size, in);
            spaced(s.keys.from_server, size, out);
            snprintf(text, sizeof(text), forms[form], session, in, out);
            struct keyring *k = keyring(text);
            const struct key *key = keyring_find(k, SESSION);
            assert_non_null(key);
            assert_memory_equal(key->to_server, s.keys.to_server, size);
            assert_memory_equal(key->from_server, s.keys.from_server, size);
            struct world *w = world_new(k);
            sealed_echo(w, 0, 5, &s);
            assert_int_equal(counts(w).decrypted_messages, 2);
            world_free(w);
            keyring_free(k);
        }
}

static void sessions_of_both_forms_may_follow_each_other(void **state)
{
    struct keyring *k =
        keyring("0100000000000000,00112233445566778899aabbccddeeff\n"
                "Session Id: 02 00 00 00 00 00 00 00\r\nSession Key: 00 11\r\n\r\n"
                "session id:0300000000000000\nSERVERIN KEY: 00112233445566778899aabbccddeeff\n"
                "0400000000000000,00112233445566778899aabbccddeeff\n");
    for (uint64_t id = 1; id <= 4; id++)
        assert_non_null(keyring_find(k, id));
    assert_null(keyring_find(k, 5));
    assert_int_equal(keyring_find(k, 2)->session_len, 2);
    assert_int_equal(keyring_find(k, 3)->session_len, 0);
    assert_int_equal(keyring_find(k, 3)->to_len, 16);
    keyring_free(k);
}

static void a_line_that_is_no_key_is_refused_with_its_number(void **state)
{
    static const struct {
        const char *text, *why;
    } bad[] = {
        {"hello\n", ":1: it is not of the form"},
        {"\n# x\n5544332211000000,0g,,\n", ":3: it is not of the form"},
        {"5544332211000000,001,,\n", ":1: it is not of the form"},
        {"5544332211000000,\"00,,\n", ":1: it is not of the form"},
        {"5544332211000000,00,,,00\n", ":1: it is not of the form"},
        {"554433221100000000,00,,\n", ":1: it is not of the form"},
        {"55443322110000,00,,\n", "the session id has not 8 bytes"},
        {"5544332211000000,,,\n", "neither a session key nor"},
        {"5544332211000000,,0011,\n", "neither 16 nor 32 bytes"},
        {"\nSession Key: 00 11\n", ":2: no Session Id goes before it"},
        {"Session Id: 00 11\n", ":1: the session id has not 8 bytes"},
        {"Session Id: 55 44 33 22 11 00 00 0\n", ":1: the session id has not 8 bytes"},
        {"Session Id: 55 44 33 22 11 00 00 00\nSession Key: 0g\n", ":2: it is no key in hex"},
        {"Session Id: 55 44 33 22 11 00 00 00\nVolume: 00\n", ":2: smbinfo keys prints no such"},
        {"#\nSession Id: 55 44 33 22 11 00 00 00\nCipher: x\n", ":2: there is neither a session"},
        {"Session Id: 55 44 33 22 11 00 00 00\nServerIn Key: 00\n5544332211000000,00",
         ":1: a key for a direction has neither 16 nor 32 bytes"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct keyring *k = NULL;
        struct error err = {0};
        assert_int_equal(read_keys(bad[i].text, &k, &err), -EINVAL);
        assert_null(k);
        if (!strstr(err.text, bad[i].why))
            fail_msg("%s: %s", bad[i].text, err.text);
    }
    struct keyring *k = NULL;
    struct error err = {0};
    char line[2000];
    memset(line, '0', sizeof(line) - 1);
    line[sizeof(line) - 1] = 0;
    assert_int_equal(read_keys(line, &k, &err), -EINVAL);
    assert_non_null(strstr(err.text, "too long"));
    assert_int_equal(keyring_read("/nonexistent/keys", &k, &err), -ENOENT);
    assert_non_null(strstr(err.text, "/nonexistent/keys"));
    assert_true(keyring_read("/", &k, &err) < 0);
    assert_non_null(strstr(err.text, "irectory"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_session_key_alone_opens_what_follows_a_logon),
        cmocka_unit_test(a_session_is_opened_on_its_other_connections_too),
        cmocka_unit_test(authenticating_again_changes_no_keys),
        cmocka_unit_test(the_keys_of_the_directions_open_a_capture_without_a_logon),
        cmocka_unit_test(a_logon_of_which_a_part_is_missing_gives_no_keys_in_311),
        cmocka_unit_test(a_compound_in_one_sealed_record_is_several_messages),
        cmocka_unit_test(without_a_key_sealed_records_are_counted_by_direction),
        cmocka_unit_test(a_wrong_key_opens_nothing_and_is_told_from_none),
        cmocka_unit_test(a_sealed_record_that_was_cut_or_holds_another_stays_closed),
        cmocka_unit_test(compressed_records_are_inflated_in_both_forms),
        cmocka_unit_test(a_compressed_record_may_lie_in_a_sealed_one),
        cmocka_unit_test(what_a_capture_inflates_to_is_bounded),
        cmocka_unit_test(keys_are_read_in_the_forms_that_wireshark_writes),
        cmocka_unit_test(what_smbinfo_prints_opens_a_capture_without_a_logon),
        cmocka_unit_test(sessions_of_both_forms_may_follow_each_other),
        cmocka_unit_test(a_line_that_is_no_key_is_refused_with_its_number),
    };
    return cmocka_run_group_tests_name("dissect_sealed", tests, NULL, NULL);
}
