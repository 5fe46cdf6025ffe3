/*
 * wire/: every message there and back, the cases that a layout alone does not show, and frames of a
 * real server. Bytes that nobody should have sent are test_wire_hostile.c's.
 */
#include "wire_bytes.h"

/* ---- there and back ---- */

static void negotiate_comes_back_as_it_was_sent(void **state)
{
    COMES_BACK("negotiate", negotiate_request, sample_negotiate_request);
    COMES_BACK("negotiate_reply", negotiate_response, sample_negotiate_response);
}

static void session_setup_comes_back_as_it_was_sent(void **state)
{
    COMES_BACK("session_setup", session_setup_request, sample_session_setup_request);
    COMES_BACK("session_setup_reply", session_setup_response, sample_session_setup_response);
}

static void tree_connect_comes_back_as_it_was_sent(void **state)
{
    COMES_BACK("tree_connect", tree_connect_request, sample_tree_connect_request);
    COMES_BACK("tree_connect_reply", tree_connect_response, sample_tree_connect_response);
}

static void create_comes_back_as_it_was_sent(void **state)
{
    uint8_t buf[256];
    struct wr chain = wr_init(buf, sizeof(buf));
    sample_contexts_encode(&chain);
    struct wire_create_request request = sample_create_request;
    struct wire_create_response response = sample_create_response;
    request.contexts = response.contexts = rd_init(buf, chain.pos);
    COMES_BACK("create", create_request, request);
    COMES_BACK("create_reply", create_response, response);
}

static void close_comes_back_as_it_was_sent(void **state)
{
    COMES_BACK("close", close_request, sample_close_request);
    COMES_BACK("close_reply", close_response, sample_close_response);
}

static void read_comes_back_as_it_was_sent(void **state)
{
    COMES_BACK("read", read_request, sample_read_request);
    COMES_BACK("read_reply", read_response, sample_read_response);
}

static void query_directory_comes_back_as_it_was_sent(void **state)
{
    COMES_BACK("query_directory", query_directory_request, sample_query_directory_request);
}

static void query_info_comes_back_as_it_was_sent(void **state)
{
    COMES_BACK("query_info", query_info_request, sample_query_info_request);
}

static void directory_entries_come_back_in_order(void **state)
{
    uint8_t buf[2048];
    struct wire_buffer_response m;
    struct wire_dirent e;
    size_t len = encode_sample(sample_find("query_directory_reply"), buf, sizeof(buf));
    assert_int_equal(wire_buffer_response_decode(message(buf, len), &m), 0);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(wire_dirent_next(&m.output, &e), 1);
        assert_true(same_dirent(&e, &sample_dirents[i]));
    }
    assert_int_equal(wire_dirent_next(&m.output, &e), 0);
}

static void what_stat_and_statfs_ask_for_comes_back(void **state)
{
    uint8_t buf[2048];
    struct wire_buffer_response m;

    struct file_attr attr;
    size_t len = encode_sample(sample_find("query_info_all_reply"), buf, sizeof(buf));
    assert_int_equal(wire_buffer_response_decode(message(buf, len), &m), 0);
    assert_int_equal(wire_all_information_decode(m.output, &attr), 0);
    assert_true(same_attr(&attr, &sample_attr));
    struct rd name;
    assert_int_equal(wire_all_information_name(m.output, &name), 0);
    assert_true(same_bytes(&name, &sample_path));
    m.output.len -= 2; /* a name cut short is none, but the rest is good */
    assert_int_equal(wire_all_information_name(m.output, &name), -EBADMSG);
    assert_int_equal(wire_all_information_decode(m.output, &attr), 0);

    struct file_attr told = sample_attr;
    told.id = 0, told.links = 0;
    len = encode_sample(sample_find("query_info_network_open_reply"), buf, sizeof(buf));
    assert_int_equal(wire_buffer_response_decode(message(buf, len), &m), 0);
    assert_int_equal(m.output.len, 56);
    assert_int_equal(wire_network_open_information_decode(m.output, &attr), 0);
    assert_true(same_attr(&attr, &told));

    struct wire_fs_size size;
    len = encode_sample(sample_find("query_info_fs_size_reply"), buf, sizeof(buf));
    assert_int_equal(wire_buffer_response_decode(message(buf, len), &m), 0);
    assert_int_equal(wire_fs_size_decode(m.output, &size), 0);
    assert_true(same_fs_size(&size, &sample_fs_size));

    struct wire_fs_attribute fs;
    len = encode_sample(sample_find("query_info_fs_attribute_reply"), buf, sizeof(buf));
    assert_int_equal(wire_buffer_response_decode(message(buf, len), &m), 0);
    assert_int_equal(wire_fs_attribute_decode(m.output, &fs), 0);
    assert_true(same_fs_attribute(&fs, &sample_fs_attribute));
}

static void create_contexts_come_back_in_order(void **state)
{
    uint8_t buf[256];
    struct wr w = wr_init(buf, sizeof(buf));
    struct wire_create_context c;
    sample_contexts_encode(&w);
    struct rd chain = rd_init(buf, w.pos);
    assert_int_equal(wire_create_context_next(&chain, &c), 1);
    assert_int_equal(c.name.len, 4);
    assert_memory_equal(c.name.base, "MxAc", 4);
    assert_int_equal(c.data.len, 0);
    assert_int_equal(wire_create_context_next(&chain, &c), 1);
    assert_memory_equal(c.name.base, "QFid", 4);
    assert_int_equal(c.data.len, 32);
    assert_int_equal((c.data.base - buf) % 8, 0);
    assert_int_equal(wire_create_context_next(&chain, &c), 0);
}

static void messages_without_content_come_back(void **state)
{
    static const char *const names[] = {"logoff", "logoff_reply",          "tree_disconnect",
                                        "echo",   "tree_disconnect_reply", "echo_reply",
                                        "cancel", "flush_reply",           "lock_reply"};
    uint8_t buf[128];
    for (size_t i = 0; i < COUNT(names); i++) {
        size_t len = encode_sample(sample_find(names[i]), buf, sizeof(buf));
        assert_int_equal(len, WIRE_HEADER_SIZE + 4);
        assert_int_equal(wire_empty_decode(message(buf, len)), 0);
    }
}

static void an_error_comes_back_with_its_data(void **state)
{
    uint8_t buf[128];
    struct wire_error m;
    size_t len = encode_sample(sample_find("error_reply"), buf, sizeof(buf));
    assert_int_equal(wire_error_decode(message(buf, len), &m), 0);
    assert_int_equal(m.data.len, 16);
    assert_memory_equal(m.data.base, "data of an error", 16);

    /* Without data there is one byte that says nothing, and servers exist that leave it out. */
    len = encode_sample(sample_find("error_empty_reply"), buf, sizeof(buf));
    assert_int_equal(len, WIRE_HEADER_SIZE + 9);
    assert_int_equal(wire_error_decode(message(buf, len), &m), 0);
    assert_int_equal(m.data.len, 0);
    assert_int_equal(wire_error_decode(message(buf, len - 1), &m), 0);
}

static void a_header_comes_back_synchronous_or_asynchronous(void **state)
{
    static const struct wire_header kinds[] = {
        {.credit_charge = 1,
         .status = 2,
         .command = SMB2_READ,
         .credits = 3,
         .flags = SMB2_FLAGS_SERVER_TO_REDIR,
         .next = 64,
         .message_id = 5,
         .tree_id = 6,
         .session_id = 7,
         .signature = "sixteen bytes..."},
        {.flags = SMB2_FLAGS_ASYNC_COMMAND, .async_id = UINT64_MAX - 1, .message_id = 8},
    };
    for (size_t i = 0; i < COUNT(kinds); i++) {
        uint8_t buf[WIRE_HEADER_SIZE];
        struct wr w = wr_init(buf, sizeof(buf));
        struct wire_header h;
        wire_header_encode(&w, &kinds[i]);
        assert_true(wr_ok(&w));
        struct rd msg = rd_init(buf, sizeof(buf));
        assert_int_equal(wire_header_decode(&msg, &h), 0);
        assert_true(same_header(&h, &kinds[i]));
        assert_int_equal(rd_left(&msg), 0);
    }
}

/* ---- compounds ---- */

static void a_compound_is_cut_into_elements_that_cannot_see_each_other(void **state)
{
    uint8_t buf[2048];
    struct rd frame = rd_init(buf, encode_compound(buf, sizeof(buf))), msg;
    struct wire_header h;
    static const uint16_t commands[] = {SMB2_CREATE, SMB2_QUERY_INFO, SMB2_CLOSE};
    size_t at = 0;
    for (size_t i = 0; i < COUNT(commands); i++) {
        assert_int_equal(wire_frame_next(&frame, &h, &msg), 1);
        assert_int_equal(h.command, commands[i]);
        assert_int_equal(h.message_id, 100 + i);
        assert_ptr_equal(msg.base, buf + at);
        assert_int_equal(msg.pos, WIRE_HEADER_SIZE);
        assert_int_equal(at % 8, 0);
        if (h.next)
            assert_int_equal(msg.len, h.next);
        at += msg.len;
        assert_int_equal(roundtrip_message(&h, msg, REQUEST), 0);
    }
    assert_int_equal(at, frame.len);
    assert_int_equal(wire_frame_next(&frame, &h, &msg), 0);
}

static void the_end_of_the_last_element_is_not_padded(void **state)
{
    uint8_t buf[256];
    struct wr w = header_for(buf, sizeof(buf));
    wire_empty_encode(&w);
    size_t len = w.pos;
    wire_element_end(&w, false);
    assert_int_equal(w.pos, len);
    wire_element_end(&w, true);
    assert_int_equal(w.pos, 72);
    assert_int_equal(buf[20], 72);
}

/* ---- what the layouts alone do not show ---- */

static void close_without_the_flag_tells_no_attributes(void **state)
{
    uint8_t buf[256];
    struct wire_close_response m = sample_close_response, n;
    struct wr w = header_for(buf, sizeof(buf));
    m.flags = 0;
    wire_close_response_encode(&w, &m);
    for (size_t i = WIRE_HEADER_SIZE + 8; i < w.pos; i++)
        assert_int_equal(buf[i], 0);
    assert_int_equal(wire_close_response_decode(message(buf, w.pos), &n), 0);
    assert_true(same_attr(&n.attr, &(struct file_attr){0}));

    /* Neither does a server that fills them in all the same. */
    memset(buf + WIRE_HEADER_SIZE + 8, 0x55, 52);
    assert_int_equal(wire_close_response_decode(message(buf, w.pos), &n), 0);
    assert_true(same_attr(&n.attr, &(struct file_attr){0}));
}

static void the_size_of_extended_attributes_is_no_reparse_tag(void **state)
{
    uint8_t buf[256];
    struct wr w = wr_init(buf, sizeof(buf));
    size_t last = SIZE_MAX;
    wire_dirent_encode(&w, &last, &sample_dirents[0]);
    wr_put32(&w, 64, 1234); /* EaSize */
    struct rd output = rd_init(buf, w.pos);
    struct wire_dirent e;
    assert_int_equal(wire_dirent_next(&output, &e), 1);
    assert_int_equal(e.attr.reparse_tag, 0);

    /* And a tag without the attribute is not sent as if it were one. */
    struct wire_dirent plain = sample_dirents[0];
    plain.attr.reparse_tag = 1234;
    w = wr_init(buf, sizeof(buf));
    last = SIZE_MAX;
    wire_dirent_encode(&w, &last, &plain);
    output = rd_init(buf, w.pos);
    rd_skip(&output, 64);
    assert_int_equal(rd_u32(&output), 0);
}

static void an_entry_without_room_leaves_those_before_it_whole(void **state)
{
    for (size_t cap = 0; cap < 400; cap++) {
        uint8_t buf[400];
        struct wr w = wr_init(buf, cap), before = w;
        size_t last = SIZE_MAX, written = 0, read = 0;
        for (; written < 3; written++) {
            before = w;
            wire_dirent_encode(&w, &last, &sample_dirents[written]);
            if (!wr_ok(&w))
                break;
        }
        struct rd output = rd_init(buf, wr_ok(&w) ? w.pos : before.pos);
        struct wire_dirent e;
        for (; wire_dirent_next(&output, &e) == 1; read++)
            assert_true(same_dirent(&e, &sample_dirents[read]));
        assert_true(rd_ok(&output));
        assert_int_equal(read, written);
    }
}

static void an_empty_listing_buffer_has_no_entries(void **state)
{
    struct rd output = rd_init("", 0);
    struct wire_dirent e;
    assert_int_equal(wire_dirent_next(&output, &e), 0);
}

static void the_root_has_an_empty_name(void **state)
{
    uint8_t buf[256];
    struct wire_create_request m = sample_create_request, n;
    struct wr w = header_for(buf, sizeof(buf));
    m.name = (struct rd){0};
    wire_create_request_encode(&w, &m);
    assert_int_equal(w.pos, WIRE_HEADER_SIZE + 57); /* 2.2.13: the buffer has one byte at least */
    assert_int_equal(wire_create_request_decode(message(buf, w.pos), &n), 0);
    assert_int_equal(n.name.len, 0);
}

static void older_dialects_have_no_negotiate_contexts(void **state)
{
    uint8_t buf[512];
    struct wire_negotiate_request m = sample_negotiate_request, n;
    struct wr w = header_for(buf, sizeof(buf));
    m.dialect_count = 2;
    wire_negotiate_request_encode(&w, &m);
    assert_int_equal(w.pos, WIRE_HEADER_SIZE + 36 + 4);
    memset(buf + WIRE_HEADER_SIZE + 28, 0xff, 8); /* ClientStartTime is no offset and no count */
    assert_int_equal(wire_negotiate_request_decode(message(buf, w.pos), &n), 0);
    assert_int_equal(n.contexts.preauth_count, 0);

    struct wire_negotiate_response r = sample_negotiate_response, s;
    w = header_for(buf, sizeof(buf));
    r.dialect = SMB2_DIALECT_302;
    wire_negotiate_response_encode(&w, &r);
    memset(buf + WIRE_HEADER_SIZE + 6, 0xff, 2);
    memset(buf + WIRE_HEADER_SIZE + 60, 0xff, 4);
    assert_int_equal(wire_negotiate_response_decode(message(buf, w.pos), &s), 0);
    assert_int_equal(s.contexts.preauth_count, 0);
    assert_true(same_bytes(&s.token, &r.token));
}

/* A request for 3.1.1 whose contexts are `count` times the `len` bytes of `context`, each aligned.
 */
static int negotiate_with(const void *context, size_t len, uint16_t count,
                          struct wire_negotiate_request *ret)
{
    uint8_t buf[2048];
    struct wire_negotiate_request m = {.dialect_count = 1, .dialect = {SMB2_DIALECT_311}};
    struct wr w = header_for(buf, sizeof(buf));
    wire_negotiate_request_encode(&w, &m);
    wr_align(&w, 8);
    wr_put32(&w, WIRE_HEADER_SIZE + 28, (uint32_t)w.pos);
    wr_put16(&w, WIRE_HEADER_SIZE + 32, count);
    for (uint16_t i = 0; i < count; i++) {
        wr_align(&w, 8);
        wr_bytes(&w, context, len);
    }
    assert_true(wr_ok(&w));
    return wire_negotiate_request_decode(message(buf, w.pos), ret);
}

static void negotiate_contexts_of_unknown_types_are_passed_over(void **state)
{
    struct wire_negotiate_request m;
    assert_int_equal(negotiate_with("\x99\x00\x03\x00\0\0\0\0abc", 11, 3, &m), 0);
    assert_int_equal(m.contexts.unknown_count, 3);
    assert_int_equal(m.contexts.preauth_count, 0);
}

static void a_negotiate_context_that_says_too_much_or_nothing_is_refused(void **state)
{
    struct wire_negotiate_request m;
    uint8_t many[8 + 2 + 2 * (WIRE_IDS_MAX + 1)] = {2, 0, sizeof(many) - 8, 0};
    many[8] = WIRE_IDS_MAX;
    assert_int_equal(negotiate_with(many, sizeof(many), 1, &m), 0);
    many[8] = WIRE_IDS_MAX + 1;
    assert_int_equal(negotiate_with(many, sizeof(many), 1, &m), -EBADMSG);

    const uint8_t none[] = {8, 0, 2, 0, 0, 0, 0, 0, 0, 0};
    assert_int_equal(negotiate_with(none, sizeof(none), 1, &m), -EBADMSG);

    const uint8_t cipher[] = {2, 0, 4, 0, 0, 0, 0, 0, 1, 0, 2, 0};
    assert_int_equal(negotiate_with(cipher, sizeof(cipher), 1, &m), 0);
    assert_int_equal(negotiate_with(cipher, sizeof(cipher), 2, &m), -EBADMSG); /* twice */

    uint8_t salt[8 + 6 + 256] = {1, 0, 6, 1, 0, 0, 0, 0, 1, 0, 0, 1, 1, 0};
    assert_int_equal(negotiate_with(salt, sizeof(salt), 1, &m), -EBADMSG);
    salt[2] = 5, salt[3] = 1, salt[10] = 255, salt[11] = 0;
    assert_int_equal(negotiate_with(salt, sizeof(salt), 1, &m), 0);
    assert_int_equal(m.contexts.salt_len, 255);
}

static void a_status_tells_whose_body_follows(void **state)
{
    static const struct {
        uint16_t command;
        uint32_t status;
        bool own;
    } cases[] = {
        {SMB2_CREATE, STATUS_SUCCESS, true},
        {SMB2_CREATE, (uint32_t)STATUS_OBJECT_NAME_NOT_FOUND, false},
        {SMB2_CREATE, (uint32_t)STATUS_STOPPED_ON_SYMLINK, false},
        {SMB2_CREATE, STATUS_PENDING, false},
        {SMB2_SESSION_SETUP, (uint32_t)STATUS_MORE_PROCESSING_REQUIRED, true},
        {SMB2_CREATE, (uint32_t)STATUS_MORE_PROCESSING_REQUIRED, false},
        {SMB2_QUERY_INFO, (uint32_t)STATUS_BUFFER_OVERFLOW, true},
        {SMB2_READ, (uint32_t)STATUS_BUFFER_OVERFLOW, true},
        {SMB2_QUERY_DIRECTORY, (uint32_t)STATUS_BUFFER_OVERFLOW, false},
        {SMB2_QUERY_DIRECTORY, (uint32_t)STATUS_NO_MORE_FILES, false},
        {SMB2_CHANGE_NOTIFY, STATUS_NOTIFY_ENUM_DIR, true},
        {SMB2_CHANGE_NOTIFY, STATUS_NOTIFY_CLEANUP, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(wire_has_body(cases[i].command, cases[i].status), cases[i].own);
}

static void every_command_has_a_name(void **state)
{
    for (uint16_t c = 0; c < SMB2_COMMANDS; c++)
        assert_non_null(wire_command_name(c));
    assert_string_equal(wire_command_name(SMB2_CREATE), "CREATE");
    assert_string_equal(wire_command_name(SMB2_OPLOCK_BREAK), "OPLOCK_BREAK");
    assert_string_equal(wire_command_name(SMB2_COMMANDS), "UNKNOWN");
    assert_string_equal(wire_command_name(UINT16_MAX), "UNKNOWN");
}

/* ---- encoders ---- */

static void a_length_that_does_not_fit_its_field_is_not_sent(void **state)
{
    size_t cap = 1 << 18, len = UINT16_MAX + 1;
    uint8_t *buf = calloc(1, cap), *name = calloc(1, len);
    assert_true(buf && name);

    struct wire_create_request create = sample_create_request;
    create.name = rd_init(name, len);
    struct wr w = header_for(buf, cap);
    wire_create_request_encode(&w, &create);
    assert_false(wr_ok(&w));

    struct wire_tree_connect_request tree = {.path = rd_init(name, len)};
    w = header_for(buf, cap);
    wire_tree_connect_request_encode(&w, &tree);
    assert_false(wr_ok(&w));

    struct wire_session_setup_request setup = {.token = rd_init(name, len)};
    w = header_for(buf, cap);
    wire_session_setup_request_encode(&w, &setup);
    assert_false(wr_ok(&w));

    struct wire_negotiate_request negotiate = {.dialect_count = WIRE_IDS_MAX + 1};
    w = header_for(buf, cap);
    wire_negotiate_request_encode(&w, &negotiate);
    assert_false(wr_ok(&w));

    struct wire_lock_request lock = {.locks = rd_init(name, 25)}; /* and no half element */
    w = header_for(buf, cap);
    wire_lock_request_encode(&w, &lock);
    assert_false(wr_ok(&w));

    struct wire_dirent e = {.name = rd_init(name, 2), .short_name = rd_init(name, 26)};
    size_t last = SIZE_MAX;
    w = wr_init(buf, cap);
    wire_dirent_encode(&w, &last, &e);
    assert_false(wr_ok(&w));
    free(name);
    free(buf);
}

/* ---- frames of a real server (Samba 4.17) and its client ---- */

static struct rd corpus_message(const char *name, uint8_t *buf, size_t cap, struct wire_header *ret)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", CORPUS, name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    struct rd msg = rd_init(buf, fread(buf, 1, cap, f));
    fclose(f);
    assert_int_equal(wire_header_decode(&msg, ret), 0);
    return msg;
}

static void a_real_negotiate_is_understood(void **state)
{
    uint8_t buf[2048];
    struct wire_header h;
    struct wire_negotiate_request q;
    struct rd msg = corpus_message("request/samba_negotiate_311", buf, sizeof(buf), &h);
    assert_int_equal(wire_negotiate_request_decode(msg, &q), 0);
    assert_int_equal(q.dialect[q.dialect_count - 1], SMB2_DIALECT_311);
    assert_int_equal(q.contexts.preauth_count, 1);
    assert_int_equal(q.contexts.preauth[0], SMB2_PREAUTH_SHA512);
    assert_int_equal(q.contexts.salt_len, 32);
    assert_true(q.contexts.cipher_count > 0 && q.contexts.signing_count > 0);

    struct wire_negotiate_response r;
    msg = corpus_message("response/samba_negotiate_311", buf, sizeof(buf), &h);
    assert_int_equal(wire_negotiate_response_decode(msg, &r), 0);
    assert_int_equal(r.dialect, SMB2_DIALECT_311);
    assert_int_equal(r.security_mode, SMB2_NEGOTIATE_SIGNING_ENABLED);
    assert_memory_equal(r.server_guid, "bed", 4);
    assert_int_equal(r.capabilities, 0x0f);
    assert_int_equal(r.max_transact, 8388608);
    assert_int_equal(r.max_read, 8388608);
    assert_int_equal(r.token.len, 74);
    assert_int_equal(r.token.base[0], 0x60);
    assert_int_equal(r.contexts.preauth_count, 1);
    assert_int_equal(r.contexts.cipher_count, 1);
    assert_int_equal(r.contexts.signing_count, 1);
}

static void a_real_open_is_understood(void **state)
{
    uint8_t buf[2048];
    struct wire_header h;
    struct wire_create_request q;
    struct rd msg = corpus_message("request/samba_create_root", buf, sizeof(buf), &h);
    assert_int_equal(wire_create_request_decode(msg, &q), 0);
    assert_int_equal(q.name.len, 0);
    assert_int_equal(q.disposition, FILE_OPEN);

    struct wire_create_response r;
    msg = corpus_message("response/samba_create_root", buf, sizeof(buf), &h);
    assert_int_equal(h.session_id, 0x6668b7be);
    assert_int_equal(h.tree_id, 0x76217b80);
    assert_int_equal(wire_create_response_decode(msg, &r), 0);
    assert_int_equal(r.create_action, 1);
    assert_int_equal(r.attr.attributes, FILE_ATTRIBUTE_DIRECTORY);
    assert_int_equal(r.attr.created, 134405055130172149); /* 2026-11-30 09:45:13.0172149 */
    assert_int_equal(r.attr.accessed, 134405055130176736);
    assert_int_equal(r.contexts.len, 0);

    struct wire_error e;
    msg = corpus_message("response/samba_not_found", buf, sizeof(buf), &h);
    assert_int_equal((uint32_t)STATUS_OBJECT_NAME_NOT_FOUND, h.status);
    assert_int_equal(wire_error_decode(msg, &e), 0);
    assert_int_equal(e.data.len, 0);
}

static void a_real_listing_is_understood(void **state)
{
    uint8_t buf[2048];
    struct wire_header h;
    struct wire_query_directory_request q;
    struct rd msg = corpus_message("request/samba_query_directory", buf, sizeof(buf), &h);
    assert_int_equal(wire_query_directory_request_decode(msg, &q), 0);
    assert_int_equal(q.info_class, FILE_ID_BOTH_DIRECTORY_INFORMATION);
    assert_true(same_bytes(&q.pattern, &(struct rd)BYTES(u"*")));

    struct wire_buffer_response r;
    msg = corpus_message("response/samba_query_directory_utf16", buf, sizeof(buf), &h);
    assert_int_equal(wire_buffer_response_decode(msg, &r), 0);
    static const struct rd names[] = {BYTES(u"."), BYTES(u".."), BYTES(u"gr\u00fcn2.py"),
                                      BYTES(u"gr\u00fcn1.py"), BYTES(u"gr\u00fcn3.py")};
    struct wire_dirent e;
    for (size_t i = 0; i < COUNT(names); i++) {
        assert_int_equal(wire_dirent_next(&r.output, &e), 1);
        assert_true(same_bytes(&e.name, &names[i]));
        assert_int_equal(file_attr_is_dir(&e.attr), i < 2);
        assert_int_equal(e.attr.size, i < 2 ? 0 : 2);
        assert_true(e.attr.id != 0);
    }
    assert_int_equal(wire_dirent_next(&r.output, &e), 0);
}

static void a_real_read_is_understood(void **state)
{
    uint8_t buf[2048];
    struct wire_header h;
    struct wire_read_request q;
    struct rd msg = corpus_message("request/samba_read", buf, sizeof(buf), &h);
    assert_int_equal(wire_read_request_decode(msg, &q), 0);
    assert_int_equal(q.offset, 0);

    struct wire_read_response r;
    msg = corpus_message("response/samba_read", buf, sizeof(buf), &h);
    assert_int_equal(wire_read_response_decode(msg, &r), 0);
    assert_true(same_bytes(&r.data, &(struct rd)BYTES("hello\n")));
}

/* Encodes, puts another open in, and decodes: the id is the other one. */
#define NAMES_ANOTHER_OPEN(number, name)                                                           \
    do {                                                                                           \
        uint8_t buf[1024];                                                                         \
        struct wr w = wr_init(buf, sizeof(buf));                                                   \
        struct wire_header header = {.command = number};                                           \
        struct wire_##name request = sample_##name, got;                                           \
        const struct wire_file_id other = {0x1122334455667788, 0x99aabbccddeeff00};                \
        wire_header_encode(&w, &header);                                                           \
        wire_##name##_encode(&w, &request);                                                        \
        assert_true(wire_file_id_replace(number, buf + WIRE_HEADER_SIZE, w.pos - WIRE_HEADER_SIZE, \
                                         other));                                                  \
        struct rd message = rd_init(buf, w.pos);                                                   \
        rd_skip(&message, WIRE_HEADER_SIZE);                                                       \
        assert_int_equal(wire_##name##_decode(message, &got), 0);                                  \
        assert_memory_equal(&got.file_id, &other, sizeof(other));                                  \
    } while (0)

static void a_request_that_was_encoded_can_be_put_on_another_open(void **state)
{
    uint8_t nothing[64] = {0}, one[24] = {0}, bytes[64];
    struct wr lock_w = wr_init(bytes, sizeof(bytes));
    struct wire_lock_request lock = sample_lock_request;
    lock.locks = rd_init(one, sizeof(one));
    wire_lock_request_encode(&lock_w, &lock);
    assert_true(wire_file_id_replace(SMB2_LOCK, bytes, lock_w.pos, (struct wire_file_id){7, 8}));
    struct rd body = rd_init(bytes, lock_w.pos);
    assert_int_equal(wire_lock_request_decode(body, &lock), 0);
    assert_int_equal(lock.file_id.persistent, 7);
    assert_int_equal(lock.file_id.volatile_, 8);
    NAMES_ANOTHER_OPEN(SMB2_CLOSE, close_request);
    NAMES_ANOTHER_OPEN(SMB2_FLUSH, flush_request);
    NAMES_ANOTHER_OPEN(SMB2_READ, read_request);
    NAMES_ANOTHER_OPEN(SMB2_WRITE, write_request);
    NAMES_ANOTHER_OPEN(SMB2_IOCTL, ioctl_request);
    NAMES_ANOTHER_OPEN(SMB2_QUERY_DIRECTORY, query_directory_request);
    NAMES_ANOTHER_OPEN(SMB2_CHANGE_NOTIFY, change_notify_request);
    NAMES_ANOTHER_OPEN(SMB2_QUERY_INFO, query_info_request);
    NAMES_ANOTHER_OPEN(SMB2_SET_INFO, set_info_request);
    assert_false(wire_file_id_replace(SMB2_CREATE, nothing, sizeof(nothing), WIRE_FILE_ID_RELATED));
    assert_false(wire_file_id_replace(SMB2_READ, nothing, 31, WIRE_FILE_ID_RELATED));
    assert_int_equal(nothing[16], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(negotiate_comes_back_as_it_was_sent),
        cmocka_unit_test(session_setup_comes_back_as_it_was_sent),
        cmocka_unit_test(tree_connect_comes_back_as_it_was_sent),
        cmocka_unit_test(create_comes_back_as_it_was_sent),
        cmocka_unit_test(close_comes_back_as_it_was_sent),
        cmocka_unit_test(read_comes_back_as_it_was_sent),
        cmocka_unit_test(query_directory_comes_back_as_it_was_sent),
        cmocka_unit_test(query_info_comes_back_as_it_was_sent),
        cmocka_unit_test(directory_entries_come_back_in_order),
        cmocka_unit_test(what_stat_and_statfs_ask_for_comes_back),
        cmocka_unit_test(create_contexts_come_back_in_order),
        cmocka_unit_test(messages_without_content_come_back),
        cmocka_unit_test(an_error_comes_back_with_its_data),
        cmocka_unit_test(a_header_comes_back_synchronous_or_asynchronous),
        cmocka_unit_test(a_compound_is_cut_into_elements_that_cannot_see_each_other),
        cmocka_unit_test(the_end_of_the_last_element_is_not_padded),
        cmocka_unit_test(close_without_the_flag_tells_no_attributes),
        cmocka_unit_test(the_size_of_extended_attributes_is_no_reparse_tag),
        cmocka_unit_test(an_entry_without_room_leaves_those_before_it_whole),
        cmocka_unit_test(an_empty_listing_buffer_has_no_entries),
        cmocka_unit_test(the_root_has_an_empty_name),
        cmocka_unit_test(older_dialects_have_no_negotiate_contexts),
        cmocka_unit_test(negotiate_contexts_of_unknown_types_are_passed_over),
        cmocka_unit_test(a_negotiate_context_that_says_too_much_or_nothing_is_refused),
        cmocka_unit_test(a_status_tells_whose_body_follows),
        cmocka_unit_test(every_command_has_a_name),
        cmocka_unit_test(a_length_that_does_not_fit_its_field_is_not_sent),
        cmocka_unit_test(a_request_that_was_encoded_can_be_put_on_another_open),
        cmocka_unit_test(a_real_negotiate_is_understood),
        cmocka_unit_test(a_real_open_is_understood),
        cmocka_unit_test(a_real_listing_is_understood),
        cmocka_unit_test(a_real_read_is_understood),
    };
    return cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
