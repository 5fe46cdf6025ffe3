/*
 * wire/: the messages by which files change and promises end, there and back; the entries of every
 * listing class; what encrypted and compressed messages come in.
 */
#include "wire_bytes.h"

static void write_and_flush_come_back_as_they_were_sent(void **state)
{
    COMES_BACK("write", write_request, sample_write_request);
    COMES_BACK("write_reply", write_response, sample_write_response);
    COMES_BACK("flush", flush_request, sample_flush_request);
}

static void lock_comes_back_as_it_was_sent(void **state)
{
    uint8_t buf[256];
    struct wire_lock_request m;
    struct wire_lock_element e;
    size_t len = encode_sample(sample_find("lock"), buf, sizeof(buf));
    assert_int_equal(wire_lock_request_decode(message(buf, len), &m), 0);
    assert_int_equal(m.sequence, sample_lock_request.sequence);
    assert_int_equal(m.file_id.volatile_, sample_lock_request.file_id.volatile_);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(wire_lock_element_next(&m.locks, &e), 1);
        assert_true(same_lock_element(&e, &sample_lock_elements[i]));
    }
    assert_int_equal(wire_lock_element_next(&m.locks, &e), 0);
}

static void ioctl_comes_back_as_it_was_sent(void **state)
{
    COMES_BACK("ioctl", ioctl_request, sample_ioctl_request);
    COMES_BACK("ioctl_reply", ioctl_response, sample_ioctl_response);
}

static void change_notify_comes_back_as_it_was_sent(void **state)
{
    COMES_BACK("change_notify", change_notify_request, sample_change_notify_request);

    uint8_t buf[512];
    struct wire_buffer_response m;
    struct wire_change c;
    size_t len = encode_sample(sample_find("change_notify_reply"), buf, sizeof(buf));
    assert_int_equal(wire_buffer_response_decode(message(buf, len), &m), 0);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal((m.output.pos) % 4, 0);
        assert_int_equal(wire_change_next(&m.output, &c), 1);
        assert_true(same_change(&c, &sample_changes[i]));
    }
    assert_int_equal(wire_change_next(&m.output, &c), 0);
}

static void set_info_comes_back_as_it_was_sent(void **state)
{
    uint8_t buf[512];
    struct wire_set_info_request m, expected = sample_set_info_request;
    struct wire_rename r;
    size_t len = encode_sample(sample_find("set_info"), buf, sizeof(buf));
    assert_int_equal(wire_set_info_request_decode(message(buf, len), &m), 0);
    assert_int_equal(wire_rename_decode(m.data, &r), 0);
    assert_true(same_rename(&r, &sample_rename));
    expected.data = m.data;
    assert_true(same_set_info_request(&m, &expected));

    len = encode_sample(sample_find("set_info_reply"), buf, sizeof(buf));
    assert_int_equal(len, WIRE_HEADER_SIZE + 2);
    assert_int_equal(wire_set_info_response_decode(message(buf, len)), 0);
}

static struct rd set_info_data(const char *name, uint8_t *buf, size_t cap)
{
    struct wire_set_info_request m;
    size_t len = encode_sample(sample_find(name), buf, cap);
    assert_int_equal(wire_set_info_request_decode(message(buf, len), &m), 0);
    return m.data;
}

static void what_is_set_comes_back_as_it_was_sent(void **state)
{
    uint8_t buf[512];
    struct wire_basic basic;
    uint64_t size;
    bool remove;
    struct rd data = set_info_data("set_info_basic", buf, sizeof(buf));
    assert_int_equal(data.len, WIRE_BASIC_SIZE);
    assert_int_equal(wire_basic_decode(data, &basic), 0);
    assert_true(same_basic(&basic, &sample_basic));
    data = set_info_data("set_info_size", buf, sizeof(buf));
    assert_int_equal(wire_size_decode(data, &size), 0);
    assert_int_equal(size, 0x7172737475767778);
    data = set_info_data("set_info_disposition", buf, sizeof(buf));
    assert_int_equal(wire_disposition_decode(data, &remove), 0);
    assert_true(data.len == 1 && remove);
}

/* Windows refuses less than its structure takes with its alignment (INFO_LENGTH_MISMATCH). */
static void a_rename_to_one_character_is_as_long_as_servers_want_it(void **state)
{
    uint8_t buf[64];
    struct wr w = wr_init(buf, sizeof(buf));
    struct wire_rename r;
    wire_rename_encode(&w, &(struct wire_rename){false, rd_init(u"x", 2)});
    assert_int_equal(w.pos, 24);
    assert_int_equal(wire_rename_decode(rd_init(buf, w.pos), &r), 0);
    assert_int_equal(r.name.len, 2);
}

static void a_write_without_its_data_is_its_head(void **state)
{
    uint8_t whole[256], head[256];
    struct wr w = wr_init(whole, sizeof(whole)), h = wr_init(head, sizeof(head));
    wire_write_request_encode(&w, &sample_write_request);
    wire_write_request_encode_head(&h, &sample_write_request);
    assert_int_equal(h.pos + sample_write_request.data.len, w.pos);
    assert_memory_equal(head, whole, h.pos);
}

/* ---- what is in an IOCTL ---- */

static struct rd ioctl_output(const char *name, uint8_t *buf, size_t cap)
{
    struct wire_ioctl_response m;
    size_t len = encode_sample(sample_find(name), buf, cap);
    assert_int_equal(wire_ioctl_response_decode(message(buf, len), &m), 0);
    return m.output;
}

static struct rd ioctl_input(const char *name, uint8_t *buf, size_t cap)
{
    struct wire_ioctl_request m;
    size_t len = encode_sample(sample_find(name), buf, cap);
    assert_int_equal(wire_ioctl_request_decode(message(buf, len), &m), 0);
    return m.input;
}

static void holes_come_back_as_they_were_sent(void **state)
{
    uint8_t buf[512];
    struct wire_zero_data zero;
    struct wire_range range;
    struct rd input = ioctl_input("ioctl_zero_data", buf, sizeof(buf));
    assert_int_equal(wire_zero_data_decode(input, &zero), 0);
    assert_true(same_zero_data(&zero, &sample_zero_data));
    struct rd output = ioctl_output("ioctl_ranges_reply", buf, sizeof(buf));
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(wire_range_next(&output, &range), 1);
        assert_true(same_range(&range, &sample_ranges[i]));
    }
    assert_int_equal(wire_range_next(&output, &range), 0);
}

/* The sizes are those of the specification's example. */
static void a_negotiation_is_confirmed_in_the_words_it_was_made_in(void **state)
{
    uint8_t buf[512], many[WIRE_VALIDATE_REQUEST_MAX + 2] = {0};
    struct wire_validate_request q;
    struct wire_validate_response r;
    struct rd input = ioctl_input("ioctl_validate", buf, sizeof(buf));
    assert_int_equal(input.len, 30);
    assert_int_equal(wire_validate_request_decode(input, &q), 0);
    assert_true(same_validate_request(&q, &sample_validate_request));
    struct rd output = ioctl_output("ioctl_validate_reply", buf, sizeof(buf));
    assert_int_equal(output.len, WIRE_VALIDATE_RESPONSE_SIZE);
    assert_int_equal(wire_validate_response_decode(output, &r), 0);
    assert_true(same_validate_response(&r, &sample_validate_response));

    for (size_t n = 0; n < WIRE_VALIDATE_RESPONSE_SIZE; n++)
        assert_int_equal(wire_validate_response_decode(rd_init(output.base, n), &r), -EBADMSG);
    many[22] = WIRE_IDS_MAX;
    assert_int_equal(wire_validate_request_decode(rd_init(many, WIRE_VALIDATE_REQUEST_MAX - 1), &q),
                     -EBADMSG);
    assert_int_equal(wire_validate_request_decode(rd_init(many, WIRE_VALIDATE_REQUEST_MAX), &q), 0);
    many[22] = WIRE_IDS_MAX + 1;
    assert_int_equal(wire_validate_request_decode(rd_init(many, sizeof(many)), &q), -EBADMSG);
}

static void copies_come_back_as_they_were_sent(void **state)
{
    uint8_t buf[512];
    struct wire_copy_key key;
    struct wire_copy_request request;
    struct wire_copy_chunk chunk;
    struct wire_copy_response response;
    assert_int_equal(
        wire_copy_key_decode(ioctl_output("ioctl_copy_key_reply", buf, sizeof(buf)), &key), 0);
    assert_true(same_copy_key(&key, &sample_copy_key));
    struct rd input = ioctl_input("ioctl_copy", buf, sizeof(buf));
    assert_int_equal(input.len, 32 + 2 * WIRE_COPY_CHUNK_SIZE);
    assert_int_equal(wire_copy_request_decode(input, &request), 0);
    assert_true(same_copy_key(&request.source, &sample_copy_key));
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(wire_copy_chunk_next(&request.chunks, &chunk), 1);
        assert_true(same_copy_chunk(&chunk, &sample_copy_chunks[i]));
    }
    assert_int_equal(wire_copy_chunk_next(&request.chunks, &chunk), 0);
    assert_int_equal(
        wire_copy_response_decode(ioctl_output("ioctl_copy_reply", buf, sizeof(buf)), &response),
        0);
    assert_true(same_copy_response(&response, &sample_copy_response));
}

static void links_come_back_as_they_were_sent(void **state)
{
    static const struct {
        const char *name;
        const struct wire_reparse *link;
    } links[] = {
        {"ioctl_symlink_reply", &sample_symlink},
        {"ioctl_junction_reply", &sample_junction},
        {"ioctl_lx_symlink_reply", &sample_lx_symlink},
    };
    for (size_t i = 0; i < 3; i++) {
        uint8_t buf[512];
        struct wire_reparse m;
        struct rd output = ioctl_output(links[i].name, buf, sizeof(buf));
        assert_int_equal(wire_reparse_decode(output, &m), 0);
        assert_true(same_reparse(&m, links[i].link));
        for (size_t len = 0; len < output.len; len++)
            assert_int_equal(wire_reparse_decode(rd_init(output.base, len), &m), -EBADMSG);
    }
}

static void breaks_come_back_as_they_were_sent(void **state)
{
    COMES_BACK("oplock_break", oplock_break, sample_oplock_break);
    COMES_BACK("oplock_ack", oplock_break, sample_oplock_break);
    COMES_BACK("lease_break", lease_break, sample_lease_break);
    COMES_BACK("lease_ack", lease_ack, sample_lease_ack);
    COMES_BACK("lease_ack_reply", lease_ack, sample_lease_ack);
}

static void the_layouts_of_a_break_are_told_apart(void **state)
{
    uint8_t buf[256];
    struct wire_oplock_break o;
    struct wire_lease_break b;
    struct wire_lease_ack a;
    size_t len = encode_sample(sample_find("oplock_break"), buf, sizeof(buf));
    assert_int_equal(wire_lease_break_decode(message(buf, len), &b), -EBADMSG);
    assert_int_equal(wire_lease_ack_decode(message(buf, len), &a), -EBADMSG);
    len = encode_sample(sample_find("lease_break"), buf, sizeof(buf));
    assert_int_equal(wire_oplock_break_decode(message(buf, len), &o), -EBADMSG);
    assert_int_equal(wire_lease_ack_decode(message(buf, len), &a), -EBADMSG);
}

static void a_lease_comes_back_in_the_version_that_was_sent(void **state)
{
    static const struct wire_lease *const leases[] = {&sample_lease, &sample_lease_v1};
    static const size_t sizes[] = {52, 32};
    for (size_t i = 0; i < 2; i++) {
        uint8_t buf[256];
        struct wr w = wr_init(buf, sizeof(buf));
        struct wire_create_context c;
        struct wire_lease l;
        sample_lease_context_encode(&w, leases[i]);
        struct rd chain = rd_init(buf, w.pos);
        assert_int_equal(wire_create_context_next(&chain, &c), 1);
        assert_memory_equal(c.name.base, "RqLs", 4);
        assert_int_equal(c.data.len, sizes[i]);
        assert_int_equal(wire_lease_decode(c.data, &l), 0);
        assert_true(same_lease(&l, leases[i]));
        c.data.len--;
        assert_int_equal(wire_lease_decode(c.data, &l), -EBADMSG);
    }
}

/* The data of a context: comes back, has this size, and is refused if it is a byte shorter. */
#define CONTEXT_COMES_BACK(message, sample, size)                                                  \
    do {                                                                                           \
        uint8_t buf[64];                                                                           \
        struct wr w = wr_init(buf, sizeof(buf));                                                   \
        struct wire_##message m;                                                                   \
        wire_##message##_encode(&w, &sample);                                                      \
        assert_int_equal(w.pos, size);                                                             \
        assert_int_equal(wire_##message##_decode(rd_init(buf, w.pos), &m), 0);                     \
        assert_true(same_##message(&m, &sample));                                                  \
        assert_int_equal(wire_##message##_decode(rd_init(buf, w.pos - 1), &m), -EBADMSG);          \
    } while (0)

static void a_durable_open_is_asked_for_granted_and_asked_back_in_either_version(void **state)
{
    CONTEXT_COMES_BACK(durable_request, sample_durable_request_v1, 16);
    CONTEXT_COMES_BACK(durable_request, sample_durable_request, 32);
    CONTEXT_COMES_BACK(durable_reconnect, sample_durable_reconnect_v1, 16);
    CONTEXT_COMES_BACK(durable_reconnect, sample_durable_reconnect, 36);
    CONTEXT_COMES_BACK(durable_response, sample_durable_response, 8);
}

static void a_durable_open_is_known_by_the_fields_of_the_specification(void **state)
{
    static const uint8_t request[] = {0x60, 0xea, 0,   0,   2,   0,   0,   0,   0,   0,   0,
                                      0,    0,    0,   0,   0,   'g', 'u', 'i', 'd', ' ', 'o',
                                      'f',  ' ',  'a', ' ', 'C', 'R', 'E', 'A', 'T', 'E'};
    uint8_t buf[64];
    struct wr w = wr_init(buf, sizeof(buf));
    wire_durable_request_encode(&w, &sample_durable_request);
    assert_int_equal(w.pos, sizeof(request));
    assert_memory_equal(buf, request, sizeof(request));
    w = wr_init(buf, sizeof(buf));
    wire_durable_reconnect_encode(&w, &sample_durable_reconnect);
    assert_memory_equal(buf + 16, "guid of a CREATE", 16);
    assert_int_equal(buf[32], SMB2_DHANDLE_FLAG_PERSISTENT);
}

static void an_encrypted_message_is_known_by_its_header(void **state)
{
    uint8_t buf[256];
    struct wr w = wr_init(buf, sizeof(buf));
    struct wire_transform t;
    sample_envelopes[0].encode(&w);
    struct rd frame = rd_init(buf, w.pos);
    assert_int_equal(wire_protocol(&frame), WIRE_TRANSFORM);
    assert_int_equal(wire_transform_decode(&frame, &t), 0);
    assert_true(same_transform(&t, &sample_transform));
    assert_int_equal(frame.pos, WIRE_TRANSFORM_SIZE);
    assert_int_equal(rd_left(&frame), t.original_size);
    assert_memory_equal(buf + WIRE_TRANSFORM_SIGNED, sample_transform.nonce, 16);
}

static void a_compressed_message_comes_back_in_both_forms(void **state)
{
    uint8_t buf[256];
    struct wr w = wr_init(buf, sizeof(buf));
    struct wire_compression c;
    sample_envelopes[1].encode(&w);
    struct rd frame = rd_init(buf, w.pos);
    assert_int_equal(wire_compression_decode(&frame, &c), 0);
    assert_true(same_compression(&c, &sample_compression));
    assert_memory_equal(frame.base + frame.pos, "plain", c.offset);

    w = wr_init(buf, sizeof(buf));
    sample_envelopes[2].encode(&w);
    frame = rd_init(buf, w.pos);
    assert_int_equal(wire_compression_decode(&frame, &c), 0);
    assert_true(c.chained);
    assert_int_equal(buf[10], 1); /* the first payload's flag is what tells the forms apart */
    struct wire_compression_payload p;
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(wire_compression_payload_next(&frame, &p), 1);
        assert_true(same_compression_payload(&p, &sample_payloads[i]));
    }
    assert_int_equal(wire_compression_payload_next(&frame, &p), 0);
}

static void protocols_are_told_by_four_bytes(void **state)
{
    static const struct {
        const char *bytes;
        enum wire_protocol protocol;
    } cases[] = {{"\xffSMB", WIRE_SMB1},      {"\xfeSMB", WIRE_SMB2},
                 {"\xfdSMB", WIRE_TRANSFORM}, {"\xfcSMB", WIRE_COMPRESSION},
                 {"\xfbSMB", WIRE_UNKNOWN},   {"\xfeSMA", WIRE_UNKNOWN},
                 {"SMB\xfe", WIRE_UNKNOWN}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rd frame = rd_init(cases[i].bytes, 4);
        assert_int_equal(wire_protocol(&frame), cases[i].protocol);
        assert_int_equal(frame.pos, 0);
        frame = rd_init(cases[i].bytes, 3);
        assert_int_equal(wire_protocol(&frame), WIRE_UNKNOWN);
    }
}

/* What the class has a field for comes back; the rest is 0. */
static void entries_of_every_class_come_back_as_far_as_it_goes(void **state)
{
    static const struct {
        uint8_t info_class;
        size_t fixed; /* the specification's offset of FileName */
        bool attributes, id, short_name, tag;
    } cases[] = {
        {FILE_DIRECTORY_INFORMATION, 64, true, false, false, false},
        {FILE_FULL_DIRECTORY_INFORMATION, 68, true, false, false, true},
        {FILE_BOTH_DIRECTORY_INFORMATION, 94, true, false, true, true},
        {FILE_NAMES_INFORMATION, 12, false, false, false, false},
        {FILE_ID_BOTH_DIRECTORY_INFORMATION, 104, true, true, true, true},
        {FILE_ID_FULL_DIRECTORY_INFORMATION, 80, true, true, false, true},
        {FILE_ID_EXTD_DIRECTORY_INFORMATION, 88, true, true, false, true},
        {FILE_ID_64_EXTD_DIRECTORY_INFORMATION, 80, true, true, false, true},
        {FILE_ID_64_EXTD_BOTH_DIRECTORY_INFORMATION, 106, true, true, true, true},
        {FILE_ID_ALL_EXTD_DIRECTORY_INFORMATION, 96, true, true, false, true},
        {FILE_ID_ALL_EXTD_BOTH_DIRECTORY_INFORMATION, 122, true, true, true, true},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        uint8_t buf[1024];
        struct wr w = wr_init(buf, sizeof(buf));
        size_t last = SIZE_MAX;
        for (size_t n = 0; n < 3; n++)
            wire_listing_encode(&w, cases[i].info_class, &last, &sample_dirents[n]);
        assert_true(wr_ok(&w));
        assert_memory_equal(buf + cases[i].fixed, u"a", 2);

        struct rd output = rd_init(buf, w.pos);
        struct wire_dirent e;
        for (size_t n = 0; n < 3; n++) {
            struct wire_dirent expected = sample_dirents[n];
            if (!cases[i].attributes)
                expected.attr = (struct file_attr){0};
            if (!cases[i].id)
                expected.attr.id = 0;
            if (!cases[i].tag)
                expected.attr.reparse_tag = 0;
            if (!cases[i].short_name)
                expected.short_name = (struct rd){0};
            assert_int_equal(wire_listing_next(&output, cases[i].info_class, &e), 1);
            assert_true(same_dirent(&e, &expected));
        }
        assert_int_equal(wire_listing_next(&output, cases[i].info_class, &e), 0);
    }
}

static void an_id_of_more_than_64_bits_is_none(void **state)
{
    uint8_t buf[256];
    struct wr w = wr_init(buf, sizeof(buf));
    size_t last = SIZE_MAX;
    struct wire_dirent e;
    wire_listing_encode(&w, FILE_ID_EXTD_DIRECTORY_INFORMATION, &last, &sample_dirents[0]);
    buf[87] = 1;
    struct rd output = rd_init(buf, w.pos);
    assert_int_equal(wire_listing_next(&output, FILE_ID_EXTD_DIRECTORY_INFORMATION, &e), 1);
    assert_int_equal(e.attr.id, 0);
}

static void a_listing_of_an_unknown_class_is_not_walked(void **state)
{
    uint8_t buf[256] = {0};
    struct wr w = wr_init(buf, sizeof(buf));
    struct rd output = rd_init(buf, sizeof(buf));
    struct wire_dirent e;
    size_t last = SIZE_MAX;
    assert_int_equal(wire_listing_next(&output, 99, &e), -EBADMSG);
    wire_listing_encode(&w, 99, &last, &sample_dirents[0]);
    assert_false(wr_ok(&w));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(write_and_flush_come_back_as_they_were_sent),
        cmocka_unit_test(lock_comes_back_as_it_was_sent),
        cmocka_unit_test(ioctl_comes_back_as_it_was_sent),
        cmocka_unit_test(change_notify_comes_back_as_it_was_sent),
        cmocka_unit_test(set_info_comes_back_as_it_was_sent),
        cmocka_unit_test(what_is_set_comes_back_as_it_was_sent),
        cmocka_unit_test(a_rename_to_one_character_is_as_long_as_servers_want_it),
        cmocka_unit_test(a_write_without_its_data_is_its_head),
        cmocka_unit_test(holes_come_back_as_they_were_sent),
        cmocka_unit_test(a_negotiation_is_confirmed_in_the_words_it_was_made_in),
        cmocka_unit_test(copies_come_back_as_they_were_sent),
        cmocka_unit_test(links_come_back_as_they_were_sent),
        cmocka_unit_test(breaks_come_back_as_they_were_sent),
        cmocka_unit_test(the_layouts_of_a_break_are_told_apart),
        cmocka_unit_test(a_lease_comes_back_in_the_version_that_was_sent),
        cmocka_unit_test(a_durable_open_is_asked_for_granted_and_asked_back_in_either_version),
        cmocka_unit_test(a_durable_open_is_known_by_the_fields_of_the_specification),
        cmocka_unit_test(an_encrypted_message_is_known_by_its_header),
        cmocka_unit_test(a_compressed_message_comes_back_in_both_forms),
        cmocka_unit_test(protocols_are_told_by_four_bytes),
        cmocka_unit_test(entries_of_every_class_come_back_as_far_as_it_goes),
        cmocka_unit_test(an_id_of_more_than_64_bits_is_none),
        cmocka_unit_test(a_listing_of_an_unknown_class_is_not_walked),
    };
    return cmocka_run_group_tests_name("wire_changes", tests, NULL, NULL);
}
