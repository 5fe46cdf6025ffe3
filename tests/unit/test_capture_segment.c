/* From packets to segments: link types, VLAN tags, both versions of IP, fragments, truncation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "capture/stream.h"
#include "capture/traffic.h"

/* ---- whole connections over every kind of link ---- */

struct counted {
    uint64_t records, whole, bytes, from_server;
};

static void count_record(void *user, struct flow *flow, const struct record *r)
{
    struct counted *n = user;
    n->records++;
    n->whole += r->captured == r->length;
    n->bytes += r->captured;
    n->from_server += r->from_server;
    assert_int_equal(flow->server.port, 445);
    for (uint32_t i = 4; i < r->captured; i++)
        assert_int_equal(r->data[i], (uint8_t)(i == 4 ? 0x40 : i == 5 ? 0 : i * 3));
}

static void ignore_closed(void *user, struct flow *flow)
{
}

static struct counted count_capture(const struct capture *c)
{
    struct counted n = {0};
    const struct stream_options options = {0};
    const struct stream_events events = {count_record, ignore_closed, &n};
    struct streams *streams = streams_new(&options, &events);
    struct segmenter *segmenter = segmenter_new();
    struct packet_reader *r;
    struct packet p;
    struct segment segment;
    char path[] = "/tmp/larder-segment-XXXXXX";
    close(mkstemp(path));
    capture_save(c, path, c->len);
    assert_int_equal(packet_reader_open(path, &r, NULL), 0);
    unlink(path);
    while (packet_reader_next(r, &p, NULL) == 1)
        if (segmenter_take(segmenter, &p, &segment))
            streams_take(streams, &segment);
    packet_reader_free(r);
    segmenter_free(segmenter);
    streams_free(streams);
    return n;
}

/* A handshake, records of many sizes in both directions, the end. */
static struct counted count_styled(const struct link_style *style)
{
    static uint8_t body[20000] = {0xfe, 'S', 'M', 'B', 0x40, 0};
    for (size_t i = 6; i < sizeof(body); i++)
        body[i] = (uint8_t)(i * 3);
    struct capture c;
    struct tcp_session s;
    uint32_t link = style->link_type == LINK_NULL ? 0 : style->link_type ? style->link_type : 1;
    capture_begin(&c, CAPTURE_PCAP, false, link);
    session_init(&s, &c, 7, 445);
    s.style = *style;
    session_handshake(&s);
    for (uint32_t i = 0; i < 20; i++)
        session_record(&s, i % 2 ? SERVER : CLIENT, body, 64 + i * i * 40);
    session_close(&s);
    struct counted n = count_capture(&c);
    capture_done(&c);
    return n;
}

static void every_link_type_and_header_leads_to_the_same_records(void **state)
{
    static const struct link_style styles[] = {
        {0},
        {.vlan_tags = 1},
        {.vlan_tags = 2},
        {.padded = true},
        {.no_total_length = true},
        {.link_type = LINK_NULL},
        {.link_type = 108},
        {.link_type = 101},
        {.link_type = 12},
        {.link_type = 14},
        {.link_type = 228},
        {.link_type = 113},
        {.link_type = 113, .vlan_tags = 1},
        {.link_type = 276},
        {.fragment = 512},
        {.fragment = 8},
        {.fragment = 512, .fragments_backwards = true},
        {.ipv6 = true},
        {.ipv6 = true, .hop_options = true},
        {.ipv6 = true, .no_total_length = true},
        {.ipv6 = true, .fragment = 512},
        {.ipv6 = true, .fragment = 512, .hop_options = true, .fragments_backwards = true},
        {.ipv6 = true, .link_type = 229},
        {.ipv6 = true, .link_type = LINK_NULL},
        {.ipv6 = true, .link_type = 108},
        {.ipv6 = true, .link_type = 276, .vlan_tags = 2},
    };
    for (size_t i = 0; i < sizeof(styles) / sizeof(styles[0]); i++) {
        struct counted n = count_styled(&styles[i]);
        if (n.records != 20 || n.whole != 20 || n.from_server != 10)
            fail_msg("style %zu: %lu records, %lu whole", i, n.records, n.whole);
    }
}

static void truncated_frames_keep_the_stream(void **state)
{
    for (uint32_t snaplen = 76; snaplen < 1600; snaplen += 41) {
        const struct link_style style = {.snaplen = snaplen};
        struct counted n = count_styled(&style);
        /* with 76 bytes a record's header and magic are there; every record has them in a frame's
         * first bytes, since each began a segment */
        assert_int_equal(n.records, 20);
        assert_int_equal(n.from_server, 10);
        assert_int_equal(n.whole, snaplen > 1514 ? 20 : n.whole);
        assert_true(n.bytes >= 20 * (uint64_t)(snaplen - 70 < 64 ? snaplen - 70 : 64));
    }
    /* fragments that are truncated are a datagram that is */
    const struct link_style fragments = {.snaplen = 400, .fragment = 512};
    assert_int_equal(count_styled(&fragments).records, 20);
}

static void addresses_are_written_as_people_do(void **state)
{
    char out[48];
    struct endpoint v4 = {.address = {[10] = 0xff, 0xff, 10, 0, 0, 1}, .port = 445};
    struct endpoint v6 = {.address = {0xfe, 0x80, [15] = 1}};
    assert_string_equal(endpoint_text(&v4, out), "10.0.0.1");
    assert_string_equal(endpoint_text(&v6, out), "fe80::1");
}

/* ---- single packets ---- */

/* An IPv4 header, its addresses 10.0.0.1 and 10.0.0.2, and what is behind it. */
static struct packet ipv4_packet(uint8_t *out, uint16_t id, uint16_t where, const void *payload,
                                 uint16_t n)
{
    static uint64_t number;
    const uint16_t total = 20 + n;
    const uint8_t header[20] = {0x45,
                                0,
                                (uint8_t)(total >> 8),
                                (uint8_t)total,
                                (uint8_t)(id >> 8),
                                (uint8_t)id,
                                (uint8_t)(where >> 8),
                                (uint8_t)where,
                                64,
                                6,
                                0,
                                0,
                                10,
                                0,
                                0,
                                1,
                                10,
                                0,
                                0,
                                2};
    memcpy(out, header, 20);
    memcpy(out + 20, payload, n);
    return (struct packet){.number = ++number,
                           .time_ns = number,
                           .link_type = 101,
                           .data = out,
                           .captured = total,
                           .original = total};
}

enum { MORE = 0x2000 };

/* A TCP header of 20 bytes and 20 bytes of payload, to be cut in fragments of 8 and more. */
static const uint8_t tcp[40] = {0xc3, 0x50, 1,         0xbd, 0,  0,  0,  7,  0,  0,  0,  9,
                                0x50, 0x10, [20] = 20, 21,   22, 23, 24, 25, 26, 27, 28, 29,
                                30,   31,   32,        33,   34, 35, 36, 37, 38, 39};

static int take_fragment(struct segmenter *s, uint16_t id, uint16_t from, uint16_t to,
                         uint64_t time_ns, struct segment *ret)
{
    uint8_t buf[128];
    struct packet p = ipv4_packet(buf, id, (to < 40 ? MORE : 0) | from / 8, tcp + from, to - from);
    p.time_ns = time_ns;
    int r = segmenter_take(s, &p, ret);
    memset(buf, 0, sizeof(buf)); /* whoever kept a pointer will be found out */
    return r;
}

static void assert_whole(const struct segment *s)
{
    assert_int_equal(s->from.port, 50000);
    assert_int_equal(s->to.port, 445);
    assert_int_equal(s->seq, 7);
    assert_int_equal(s->ack, 9);
    assert_int_equal(s->flags, TCP_ACK);
    assert_int_equal(s->length, 20);
    assert_int_equal(s->captured, 20);
    assert_memory_equal(s->payload, tcp + 20, 20);
}

static void fragments_come_in_any_order_and_twice(void **state)
{
    static const uint16_t orders[][6] = {
        {0, 16, 16, 32, 32, 40}, {32, 40, 16, 32, 0, 16}, {16, 32, 32, 40, 0, 16}};
    struct segmenter *s = segmenter_new();
    struct segment segment;
    for (uint16_t i = 0; i < 3; i++) {
        const uint16_t *o = orders[i];
        assert_int_equal(take_fragment(s, i, o[0], o[1], 0, &segment), 0);
        assert_int_equal(take_fragment(s, i, o[0], o[1], 0, &segment), 0);
        assert_int_equal(take_fragment(s, i + 100, o[4], o[5], 0, &segment), 0); /* another's */
        assert_int_equal(take_fragment(s, i, o[2], o[3], 0, &segment), 0);
        assert_int_equal(take_fragment(s, i, o[4], o[5], 0, &segment), 1);
        assert_whole(&segment);
    }
    segmenter_free(s);
}

static void the_first_copy_of_a_fragment_wins(void **state)
{
    struct segmenter *s = segmenter_new();
    struct segment segment;
    uint8_t buf[128], other[40] = {0};
    assert_int_equal(take_fragment(s, 1, 16, 40, 0, &segment), 0);
    struct packet p = ipv4_packet(buf, 1, MORE | 16 / 8, other, 24);
    assert_int_equal(segmenter_take(s, &p, &segment), 0);
    assert_int_equal(take_fragment(s, 1, 0, 16, 0, &segment), 1);
    assert_whole(&segment);
    segmenter_free(s);
}

static void fragments_that_waited_too_long_are_forgotten(void **state)
{
    struct segmenter *s = segmenter_new();
    struct segment segment;
    assert_int_equal(take_fragment(s, 1, 0, 16, 0, &segment), 0);
    assert_int_equal(take_fragment(s, 1, 16, 40, 31 * NS_PER_SEC, &segment), 0);
    assert_int_equal(take_fragment(s, 2, 0, 16, 0, &segment), 0);
    assert_int_equal(take_fragment(s, 2, 16, 40, 29 * NS_PER_SEC, &segment), 1);
    /* a thousand others want the place */
    assert_int_equal(take_fragment(s, 3, 0, 16, 0, &segment), 0);
    for (uint16_t id = 100; id < 1100; id++)
        assert_int_equal(take_fragment(s, id, 0, 16, 0, &segment), 0);
    assert_int_equal(take_fragment(s, 3, 16, 40, 0, &segment), 0);
    assert_int_equal(take_fragment(s, 1099, 16, 40, 0, &segment), 1);
    segmenter_free(s);
}

static void fragments_that_contradict_each_other_make_no_datagram(void **state)
{
    struct segmenter *s = segmenter_new();
    struct segment segment;
    uint8_t buf[70000], *many = calloc(1, 70000);
    assert_int_equal(take_fragment(s, 1, 24, 40, 0, &segment), 0);
    struct packet p = ipv4_packet(buf, 1, MORE | 80 / 8, tcp, 24); /* behind the last one */
    assert_int_equal(segmenter_take(s, &p, &segment), 0);
    assert_int_equal(take_fragment(s, 1, 0, 24, 0, &segment), 0);
    p = ipv4_packet(buf, 2, 0x1fff, many, 60000); /* beyond 64 KiB */
    assert_int_equal(segmenter_take(s, &p, &segment), 0);
    p = ipv4_packet(buf, 3, MORE, tcp, 23); /* no multiple of 8 */
    assert_int_equal(segmenter_take(s, &p, &segment), 0);
    free(many);
    segmenter_free(s);
}

/* Whether a packet of these bytes has a segment. */
static bool is_segment(uint32_t link_type, const void *data, uint32_t n, struct segment *ret)
{
    struct segmenter *s = segmenter_new();
    uint8_t *copy = malloc(n); /* of exactly its size */
    memcpy(copy, data, n);
    struct packet p = {.link_type = link_type, .data = copy, .captured = n, .original = n};
    int r = segmenter_take(s, &p, ret);
    free(copy);
    segmenter_free(s);
    return r == 1;
}

static void headers_that_do_not_fit_are_no_segment(void **state)
{
    struct segment segment;
    uint8_t buf[128];
    struct packet p = ipv4_packet(buf, 1, 0, tcp, 40);
    assert_true(is_segment(101, buf, p.captured, &segment));
    for (uint32_t n = 0; n < 34; n++) /* up to TCP's flags */
        assert_false(is_segment(101, buf, n, &segment));
    assert_true(is_segment(101, buf, 34, &segment));
    assert_int_equal(segment.length, 20); /* IP knows it */
    assert_int_equal(segment.captured, 0);
    buf[20 + 12] = 0xb0; /* a TCP header of 44 bytes in 40 */
    assert_false(is_segment(101, buf, p.captured, &segment));
    buf[20 + 12] = 0x40; /* of 16 */
    assert_false(is_segment(101, buf, p.captured, &segment));
    buf[20 + 12] = 0x50;
    buf[0] = 0x44; /* an IP header of 16 */
    assert_false(is_segment(101, buf, p.captured, &segment));
    buf[0] = 0x45;
    buf[9] = 17; /* UDP */
    assert_false(is_segment(101, buf, p.captured, &segment));
    buf[9] = 6;
    assert_false(is_segment(147, buf, p.captured, &segment)); /* a link type that we do not know */
}

static void rarer_headers_are_stepped_over(void **state)
{
    struct segment segment;
    uint8_t buf[256], frame[256] = {[12] = 0x91, 0, 0, 5, 0x81, 0, 0, 6, 8, 0};
    struct packet p = ipv4_packet(buf, 1, 0, tcp, 40);
    memcpy(frame + 22, buf, p.captured); /* 9100 outside, 8100 inside */
    assert_true(is_segment(1, frame, 22 + p.captured, &segment));
    assert_int_equal(segment.length, 20);

    /* IPv6: destination options, routing, authentication (whose length counts words of 4) */
    uint8_t ipv6[256] = {0x60, [5] = 16 + 8 + 24 + 40, 60, 64};
    memcpy(ipv6 + 40, (uint8_t[]){43, 1}, 2);
    memcpy(ipv6 + 56, (uint8_t[]){51, 0}, 2);
    memcpy(ipv6 + 64, (uint8_t[]){6, 4}, 2);
    memcpy(ipv6 + 88, tcp, 40);
    assert_true(is_segment(229, ipv6, 128, &segment));
    assert_int_equal(segment.from.port, 50000);
    assert_int_equal(segment.length, 20);
    for (uint32_t n = 0; n < 102; n++)
        assert_false(is_segment(229, ipv6, n, &segment));
    ipv6[64] = 59; /* no next header */
    assert_false(is_segment(229, ipv6, 128, &segment));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_link_type_and_header_leads_to_the_same_records),
        cmocka_unit_test(truncated_frames_keep_the_stream),
        cmocka_unit_test(addresses_are_written_as_people_do),
        cmocka_unit_test(fragments_come_in_any_order_and_twice),
        cmocka_unit_test(the_first_copy_of_a_fragment_wins),
        cmocka_unit_test(fragments_that_waited_too_long_are_forgotten),
        cmocka_unit_test(fragments_that_contradict_each_other_make_no_datagram),
        cmocka_unit_test(headers_that_do_not_fit_are_no_segment),
        cmocka_unit_test(rarer_headers_are_stepped_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
