/*
 * wire/ against bytes that nobody should have sent, and encoders without room.
 *
 * Tampered input is laid so that it ends where an unreadable page begins: a decoder that reads one
 * byte too far dies here, with or without a sanitizer. What such bytes decode to is checked by the
 * round-trip property of tests/fuzz.
 */
#include "wire_bytes.h"

#include <sys/mman.h>
#include <unistd.h>

/* ---- memory with an end ---- */

enum { GUARDED_MAX = 4096 };
static uint8_t *guarded_end;

static int guarded_setup(void **state)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *p = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || page < GUARDED_MAX || mprotect(p + page, page, PROT_NONE) < 0)
        return -1;
    guarded_end = p + page;
    return 0;
}

static uint8_t *guarded(const uint8_t *data, size_t len)
{
    assert_true(len <= GUARDED_MAX);
    return memcpy(guarded_end - len, data, len);
}

/* ---- tests ---- */

static void a_message_cut_anywhere_is_refused(void **state)
{
    uint8_t buf[2048];
    for (size_t i = 0; i < sample_count; i++) {
        const struct sample *s = &samples[i];
        size_t len = encode_sample(s, buf, sizeof(buf));
        assert_int_equal(roundtrip_frame(guarded(buf, len), len, s->direction), 1);
        for (size_t n = 1; n < len; n++) {
            int r = roundtrip_frame(guarded(buf, n), n, s->direction);
            if (n < WIRE_HEADER_SIZE)
                assert_int_equal(r, -EBADMSG);
            else
                assert_int_equal(r, n >= len - s->slack);
        }
    }
}

static void an_envelope_cut_in_its_header_is_refused(void **state)
{
    uint8_t buf[256];
    for (size_t i = 0; i < 3; i++) {
        struct wr w = wr_init(buf, sizeof(buf));
        sample_envelopes[i].encode(&w);
        assert_int_equal(roundtrip_frame(guarded(buf, w.pos), w.pos, RESPONSE), 1);
        for (size_t n = 0; n < w.pos; n++) {
            int r = roundtrip_frame(guarded(buf, n), n, RESPONSE);
            if (n == 0)
                assert_int_equal(r, 0);
            else if (n < sample_envelopes[i].least)
                assert_int_equal(r, -EBADMSG);
            else
                assert_in_range(r, 0, 1);
        }
        for (size_t at = 4; at < w.pos; at++)
            for (unsigned value = 0; value <= UINT8_MAX; value++) {
                uint8_t *tampered = guarded(buf, w.pos);
                tampered[at] = (uint8_t)value;
                int r = roundtrip_frame(tampered, w.pos, RESPONSE);
                assert_true(r == 0 || r == 1 || r == -EBADMSG);
            }
    }
}

static void a_compound_cut_anywhere_gives_less_than_all_of_it(void **state)
{
    uint8_t buf[2048];
    size_t len = encode_compound(buf, sizeof(buf));
    assert_int_equal(roundtrip_frame(guarded(buf, len), len, REQUEST), 3);
    for (size_t n = 1; n < len; n++)
        assert_true(roundtrip_frame(guarded(buf, n), n, REQUEST) < 3);
}

static void a_next_command_that_leads_nowhere_is_refused(void **state)
{
    uint8_t buf[2048];
    size_t len = encode_compound(buf, sizeof(buf));
    const uint32_t nowhere[] = {1,
                                8,
                                56,
                                60,
                                65,
                                0x80000000,
                                UINT32_MAX,
                                UINT32_MAX - 7,
                                260,
                                (uint32_t)len,
                                (uint32_t)(len + 7) / 8 * 8,
                                (uint32_t)(len - 56) / 8 * 8};
    for (size_t i = 0; i < COUNT(nowhere); i++) {
        struct wr w = wr_init(buf, len);
        w.pos = len;
        wr_put32(&w, 20, nowhere[i]);
        struct rd frame = rd_init(guarded(buf, len), len), msg;
        struct wire_header h;
        assert_int_equal(wire_frame_next(&frame, &h, &msg), -EBADMSG);
        assert_int_equal(wire_frame_next(&frame, &h, &msg), -EBADMSG); /* and it stays so */
    }
}

/* Every place in every message takes every hostile value in every width, so each length, offset,
 * count and link is among them. */
static void no_value_in_any_place_makes_a_decoder_read_outside(void **state)
{
    uint8_t buf[2048], tampered[2048];
    for (size_t i = 0; i < sample_count; i++) {
        size_t len = encode_sample(&samples[i], buf, sizeof(buf));
        const uint32_t values[] = {0,
                                   1,
                                   7,
                                   8,
                                   63,
                                   64,
                                   72,
                                   0x7f,
                                   0x80,
                                   0xff,
                                   0x7fff,
                                   0xffff,
                                   0x7fffffff,
                                   0x80000000,
                                   UINT32_MAX,
                                   UINT32_MAX - 7,
                                   UINT32_MAX - 63,
                                   (uint32_t)len,
                                   (uint32_t)len - 1,
                                   (uint32_t)len + 1,
                                   (uint32_t)len - 64,
                                   (uint32_t)len - 72,
                                   (uint32_t)len * 2};
        for (size_t at = WIRE_HEADER_SIZE; at < len; at++)
            for (size_t width = 1; width <= 4 && at + width <= len; width *= 2)
                for (size_t v = 0; v < COUNT(values); v++) {
                    memcpy(tampered, buf, len);
                    for (size_t b = 0; b < width; b++)
                        tampered[at + b] = (uint8_t)(values[v] >> 8 * b);
                    int r = roundtrip_frame(guarded(tampered, len), len, samples[i].direction);
                    assert_true(r == 0 || r == 1);
                }
    }
}

static void a_body_of_another_size_is_another_message(void **state)
{
    uint8_t buf[2048];
    for (size_t i = 0; i < sample_count; i++) {
        size_t len = encode_sample(&samples[i], buf, sizeof(buf));
        buf[WIRE_HEADER_SIZE] ^= 1;
        assert_int_equal(roundtrip_frame(buf, len, samples[i].direction), 0);
    }
}

static void a_header_of_another_protocol_is_refused(void **state)
{
    uint8_t buf[2048];
    size_t len = encode_sample(sample_find("echo"), buf, sizeof(buf));
    for (size_t at = 0; at < 6; at++) {
        buf[at] ^= 0x01;
        assert_int_equal(roundtrip_frame(buf, len, REQUEST), -EBADMSG);
        buf[at] ^= 0x01;
    }
}

/* Lengths, offsets and links that lead out of the message, or back into its fixed part. Positions
 * count from the message's start, as the specification's figures do plus 64. */
static void a_field_that_leads_outside_is_refused(void **state)
{
    static const struct {
        const char *sample;
        uint8_t at, width;
        uint32_t value;
    } cases[] = {
        {"negotiate", 66, 2, 0}, /* DialectCount */
        {"negotiate", 66, 2, WIRE_IDS_MAX + 1},
        {"negotiate", 92, 4, 0}, /* NegotiateContextOffset */
        {"negotiate", 92, 4, 100},
        {"negotiate", 92, 4, UINT32_MAX},
        {"negotiate", 96, 2, 4}, /* NegotiateContextCount */
        {"negotiate", 96, 2, UINT16_MAX},
        {"negotiate_reply", 120, 2, 64}, /* SecurityBufferOffset */
        {"negotiate_reply", 120, 2, UINT16_MAX},
        {"negotiate_reply", 122, 2, UINT16_MAX},
        {"negotiate_reply", 124, 4, 120}, /* NegotiateContextOffset */
        {"negotiate_reply", 124, 4, 0x80000000},
        {"session_setup", 76, 2, 80}, /* SecurityBufferOffset, Length */
        {"session_setup", 78, 2, 18},
        {"session_setup_reply", 68, 2, 71},
        {"session_setup_reply", 70, 2, 12},
        {"tree_connect", 68, 2, 0}, /* PathOffset, PathLength */
        {"tree_connect", 70, 2, 30},
        {"tree_connect", 70, 2, 27},
        {"create", 108, 2, 64}, /* NameOffset, NameLength */
        {"create", 110, 2, UINT16_MAX - 1},
        {"create", 110, 2, 3},
        {"create", 112, 4, 119}, /* CreateContextsOffset, Length */
        {"create", 112, 4, UINT32_MAX},
        {"create", 116, 4, UINT32_MAX},
        {"create", 168, 4, 15}, /* Next of the first context */
        {"create", 168, 4, 0x7ffffff8},
        {"create", 172, 2, 4}, /* NameOffset, NameLength of the first context */
        {"create", 174, 2, 9},
        {"create_reply", 144, 4, 100}, /* CreateContextsOffset, Length */
        {"create_reply", 148, 4, 81},
        {"create_reply", 176 + 10, 2, 8}, /* DataOffset, DataLength of the second context */
        {"create_reply", 176 + 12, 4, 33},
        {"read_reply", 66, 1, 79}, /* DataOffset, DataLength */
        {"read_reply", 66, 1, 255},
        {"read_reply", 68, 4, UINT32_MAX},
        {"write", 66, 2, 111}, /* DataOffset, Length */
        {"write", 66, 2, UINT16_MAX},
        {"write", 68, 4, 16},
        {"write", 68, 4, UINT32_MAX},
        {"lock", 66, 2, 0}, /* LockCount */
        {"lock", 66, 2, 3},
        {"lock", 66, 2, UINT16_MAX},
        {"ioctl", 88, 4, 119}, /* InputOffset, InputCount */
        {"ioctl", 88, 4, UINT32_MAX},
        {"ioctl", 92, 4, UINT32_MAX},
        {"ioctl_reply", 88, 4, 111}, /* InputOffset, InputCount, OutputOffset, OutputCount */
        {"ioctl_reply", 92, 4, UINT32_MAX},
        {"ioctl_reply", 96, 4, 64},
        {"ioctl_reply", 100, 4, 21},
        {"change_notify_reply", 66, 2, 71}, /* OutputBufferOffset, Length */
        {"change_notify_reply", 68, 4, UINT32_MAX},
        {"change_notify_reply", 72, 4, 1}, /* NextEntryOffset, FileNameLength */
        {"change_notify_reply", 72, 4, UINT32_MAX - 3},
        {"change_notify_reply", 80, 4, 1},
        {"change_notify_reply", 80, 4, UINT32_MAX - 1},
        {"set_info", 68, 4, UINT32_MAX}, /* BufferLength, BufferOffset */
        {"set_info", 72, 2, 95},
        {"query_directory", 88, 2, 95}, /* FileNameOffset, FileNameLength */
        {"query_directory", 90, 2, 10},
        {"query_directory", 90, 2, 7},
        {"query_directory_reply", 66, 2, 71}, /* OutputBufferOffset, Length */
        {"query_directory_reply", 68, 4, UINT32_MAX},
        {"query_directory_reply", 72, 4, 1}, /* NextEntryOffset of the first entry */
        {"query_directory_reply", 72, 4, 103},
        {"query_directory_reply", 72, 4, UINT32_MAX - 7},
        {"query_directory_reply", 132, 4, 9}, /* FileNameLength, ShortNameLength */
        {"query_directory_reply", 132, 4, 1},
        {"query_directory_reply", 132, 4, UINT32_MAX - 1},
        {"query_directory_reply", 140, 1, 26},
        {"query_directory_reply", 140, 1, 1},
        {"query_info_all_reply", 66, 2, 8}, /* OutputBufferOffset, Length */
        {"query_info_all_reply", 68, 4, 127},
        {"error_reply", 68, 4, 17}, /* ByteCount */
        {"error_reply", 68, 4, UINT32_MAX},
    };
    uint8_t buf[2048];
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct sample *s = sample_find(cases[i].sample);
        size_t len = encode_sample(s, buf, sizeof(buf));
        for (size_t b = 0; b < cases[i].width; b++)
            buf[cases[i].at + b] = (uint8_t)(cases[i].value >> 8 * b);
        if (roundtrip_frame(guarded(buf, len), len, s->direction) != 0)
            fail_msg("%s: %u at %u is taken", s->name, cases[i].value, cases[i].at);
    }
}

static void a_refused_message_leaves_the_output_alone(void **state)
{
    uint8_t buf[2048];
    size_t len = encode_sample(sample_find("create_reply"), buf, sizeof(buf));
    struct wire_create_response m = {.create_action = 12345};
    assert_int_equal(wire_create_response_decode(message(buf, len - 1), &m), -EBADMSG);
    assert_int_equal(m.create_action, 12345);
}

static void an_encoder_without_room_turns_bad_and_writes_nothing_past_its_end(void **state)
{
    uint8_t buf[2048];
    for (size_t i = 0; i < sample_count; i++) {
        size_t len = encode_sample(&samples[i], buf, sizeof(buf));
        for (size_t cap = 0; cap < len; cap++) {
            struct wr w = wr_init(guarded_end - cap, cap);
            sample_encode(&w, &samples[i]);
            assert_false(wr_ok(&w));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_cut_anywhere_is_refused),
        cmocka_unit_test(an_envelope_cut_in_its_header_is_refused),
        cmocka_unit_test(a_compound_cut_anywhere_gives_less_than_all_of_it),
        cmocka_unit_test(a_next_command_that_leads_nowhere_is_refused),
        cmocka_unit_test(no_value_in_any_place_makes_a_decoder_read_outside),
        cmocka_unit_test(a_body_of_another_size_is_another_message),
        cmocka_unit_test(a_header_of_another_protocol_is_refused),
        cmocka_unit_test(a_field_that_leads_outside_is_refused),
        cmocka_unit_test(a_refused_message_leaves_the_output_alone),
        cmocka_unit_test(an_encoder_without_room_turns_bad_and_writes_nothing_past_its_end),
    };
    return cmocka_run_group_tests_name("wire_hostile", tests, guarded_setup, NULL);
}
