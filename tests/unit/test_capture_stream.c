/*
 * TCP streams and the records in them: one situation after the other. What happens when everything
 * happens at once is in test_capture_random.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "capture/stream.h"

enum { FIRST = 64 }; /* the least record that looks like one */
enum { CLIENT, SERVER };

struct taken {
    uint32_t length, captured;
    uint8_t mark; /* the record's */
    bool from_server;
    uint64_t frame, flow;
    const uint8_t *data;
};

struct bed {
    struct streams *streams;
    struct taken taken[64];
    size_t count, records, closed;
    uint16_t ports[2], port;
    uint8_t host;
    uint32_t seq[2];
    uint64_t frame;
};

static void on_record(void *user, struct flow *flow, const struct record *r)
{
    struct bed *b = user;
    b->records++;
    assert_true(r->captured <= r->length);
    for (uint32_t i = 21; i < r->captured; i++)
        assert_int_equal(r->data[i], (uint8_t)(r->data[20] + i));
    if (b->count < 64)
        b->taken[b->count++] = (struct taken){
            r->length, r->captured, r->captured > 20 ? r->data[20] : 0, r->from_server, r->frame,
            flow->id,  r->data};
}

static void on_closed(void *user, struct flow *flow)
{
    struct bed *b = user;
    assert_true(flow->id > 0);
    b->closed++;
}

static void begin_with(struct bed *b, const struct stream_options *options)
{
    *b = (struct bed){.port = 445, .host = 1, .seq = {1000, 9000}};
    const struct stream_events events = {on_record, on_closed, b};
    b->streams = streams_new(options, &events);
}

static void begin(struct bed *b)
{
    begin_with(b, &(struct stream_options){0});
}

static struct stream_counts finish(struct bed *b)
{
    struct stream_counts counts;
    streams_finish(b->streams);
    streams_counts(b->streams, &counts);
    b->streams = streams_free(b->streams);
    assert_int_equal(b->closed, counts.flows);
    return counts;
}

/* One segment at `seq`, which acknowledges all that the other side has sent. */
static void segment(struct bed *b, int side, uint32_t seq, const void *data, uint32_t captured,
                    uint32_t length, uint8_t flags)
{
    struct endpoint ends[2] = {{{[10] = 0xff, 0xff, 10, 0, 0, b->host}, 50000},
                               {{[10] = 0xff, 0xff, 10, 0, 0, 200}, b->port}};
    struct segment s = {
        .from = ends[side],
        .to = ends[1 - side],
        .seq = seq,
        .ack = b->seq[1 - side],
        .flags = flags,
        .payload = data,
        .captured = captured,
        .length = length,
        .frame = ++b->frame,
        .time_ns = b->frame * 1000,
    };
    streams_take(b->streams, &s);
}

static void handshake(struct bed *b)
{
    segment(b, CLIENT, b->seq[CLIENT]++, NULL, 0, 0, TCP_SYN);
    segment(b, SERVER, b->seq[SERVER]++, NULL, 0, 0, TCP_SYN | TCP_ACK);
}

/* The next bytes of a side. */
static void send_bytes(struct bed *b, int side, const void *data, uint32_t n)
{
    segment(b, side, b->seq[side], data, n, n, TCP_ACK);
    b->seq[side] += n;
}

static void acknowledge(struct bed *b, int side)
{
    segment(b, side, b->seq[side], NULL, 0, 0, TCP_ACK);
}

/* A record of `length` bytes behind its header; its bytes follow from its mark. */
static uint32_t make_record(uint8_t *out, uint32_t length, uint8_t mark, bool response)
{
    const uint8_t head[] = {0,
                            (uint8_t)(length >> 16),
                            (uint8_t)(length >> 8),
                            (uint8_t)length,
                            0xfe,
                            'S',
                            'M',
                            'B',
                            0x40,
                            0};
    memset(out, 0, 24);
    memcpy(out, head, sizeof(head));
    out[4 + 16] = response;
    for (uint32_t i = 20; i < length; i++)
        out[4 + i] = (uint8_t)(mark + (i == 20 ? 0 : i));
    return length + 4;
}

static void send_record(struct bed *b, int side, uint32_t length, uint8_t mark)
{
    uint8_t *data = malloc(length + 4);
    send_bytes(b, side, data, make_record(data, length, mark, side == SERVER));
    free(data);
}

/* ---- framing ---- */

static void a_record_in_one_segment_is_given_where_it_lies(void **state)
{
    struct bed b;
    uint8_t data[3 * 1000];
    begin(&b);
    handshake(&b);
    uint32_t n = make_record(data, 900, 1, false);
    n += make_record(data + n, 64, 2, false);
    send_bytes(&b, CLIENT, data, n);
    assert_int_equal(b.count, 2);
    assert_ptr_equal(b.taken[0].data, data + 4);
    assert_ptr_equal(b.taken[1].data, data + 4 + 900 + 4);
    assert_int_equal(b.taken[1].frame, 3);
    assert_int_equal(finish(&b).skipped_bytes, 0);
}

static void a_record_may_be_cut_anywhere(void **state)
{
    uint8_t data[400];
    const uint32_t n = make_record(data, 96, 7, true);
    for (uint32_t cut = 1; cut < n; cut++) {
        struct bed b;
        begin(&b);
        handshake(&b);
        send_bytes(&b, SERVER, data, cut);
        assert_int_equal(b.count, 0);
        send_bytes(&b, SERVER, data + cut, n - cut);
        assert_int_equal(b.count, 1);
        assert_int_equal(b.taken[0].captured, 96);
        assert_int_equal(b.taken[0].frame, 4);
        assert_true(b.taken[0].from_server);
        finish(&b);
    }
    struct bed b;
    begin(&b);
    handshake(&b);
    for (uint32_t i = 0; i < n; i++)
        send_bytes(&b, SERVER, data + i, 1);
    assert_int_equal(b.count, 1);
    assert_int_equal(finish(&b).skipped_bytes, 0);
}

static void control_messages_are_counted(void **state)
{
    struct bed b;
    uint8_t request[72] = {0x81, 0, 0, 68, 32};
    begin(&b);
    b.port = 139;
    handshake(&b);
    send_bytes(&b, CLIENT, request, 30);
    send_bytes(&b, CLIENT, request + 30, 42);
    send_bytes(&b, SERVER, "\x82\0\0\0", 4);
    send_record(&b, CLIENT, 100, 1);
    send_bytes(&b, CLIENT, "\x85\0", 2);
    send_bytes(&b, CLIENT, "\0\0", 2);
    send_bytes(&b, SERVER, "\0\x02\0\x80\xfeSMB\x40\0", 10); /* a flag that there is not */
    send_record(&b, SERVER, 0x1abcd, 2); /* the 17th bit is a flag of the header on this port */
    struct stream_counts counts = finish(&b);
    assert_int_equal(counts.netbios_control, 3);
    assert_int_equal(counts.skipped_bytes, 10);
    assert_int_equal(b.count, 2);
    assert_int_equal(b.taken[1].length, 0x1abcd);
}

static void what_is_no_record_is_skipped_to_the_next_one(void **state)
{
    struct bed b;
    begin(&b);
    handshake(&b);
    send_bytes(&b, CLIENT, "GET / HTTP/1.1\r\n\r\n", 18);
    send_bytes(&b, CLIENT, "\0\0\0\x40\xfeSMX", 8);        /* no magic */
    send_bytes(&b, CLIENT, "\0\0\0\x20\xfeSMB\x40\0", 10); /* shorter than a header */
    send_bytes(&b, CLIENT, "\x01\0\0\x50\xfeSMB\x40\0", 10);
    send_record(&b, CLIENT, 80, 3);
    send_record(&b, CLIENT, 80, 4);
    assert_int_equal(b.count, 2);
    assert_int_equal(b.taken[1].mark, 4);
    assert_int_equal(finish(&b).skipped_bytes, 18 + 8 + 10 + 10);
}

static void a_record_that_never_ends_is_skipped(void **state)
{
    struct bed b;
    uint8_t data[200];
    begin(&b);
    handshake(&b);
    make_record(data, 196, 1, false);
    send_bytes(&b, CLIENT, data, 150);
    struct stream_counts counts = finish(&b);
    assert_int_equal(b.count, 0);
    assert_int_equal(counts.skipped_bytes, 146);
    assert_int_equal(counts.gaps, 0);
}

/* ---- order and holes ---- */

static void segments_out_of_order_wait_for_each_other(void **state)
{
    struct bed b;
    uint8_t data[1200];
    uint32_t n = 0, at[4];
    begin(&b);
    handshake(&b);
    for (uint8_t i = 0; i < 4; i++) {
        at[i] = n;
        n += make_record(data + n, 100 + i, i, false);
    }
    for (int i = 3; i >= 0; i--)
        segment(&b, CLIENT, b.seq[CLIENT] + at[i], data + at[i], 104 + (uint32_t)i,
                104 + (uint32_t)i, TCP_ACK);
    assert_int_equal(b.count, 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(b.taken[i].mark, i);
        assert_int_equal(b.taken[i].frame, 3 + 3 - i); /* the one that it came in */
    }
    assert_int_equal(finish(&b).gaps, 0);
}

static void the_first_copy_of_overlapping_bytes_wins(void **state)
{
    struct bed b;
    uint8_t data[400], other[400];
    begin(&b);
    handshake(&b);
    uint32_t n = make_record(data, 200, 5, false), first = b.seq[CLIENT];
    memset(other, 0xee, sizeof(other));
    segment(&b, CLIENT, first + 100, data + 100, 50, 50, TCP_ACK);
    segment(&b, CLIENT, first + 90, other, 0, 0, TCP_ACK);
    memcpy(other, data + 60, 40); /* right before, wrong where 100..150 has come */
    memcpy(other + 90, data + 150, 30);
    segment(&b, CLIENT, first + 60, other, 120, 120, TCP_ACK);
    segment(&b, CLIENT, first, data, 60, 60, TCP_ACK);
    segment(&b, CLIENT, first, other, 60, 60, TCP_ACK);
    segment(&b, CLIENT, first + 170, data + 170, n - 170, n - 170, TCP_ACK);
    assert_int_equal(b.count, 1); /* on_record has looked at the bytes */
    assert_int_equal(b.taken[0].captured, 200);
    assert_int_equal(finish(&b).retransmitted_bytes, 50 + 60 + 10);
}

static void a_hole_is_given_up_once_the_peer_has_acknowledged_it(void **state)
{
    struct bed b;
    begin(&b);
    handshake(&b);
    send_record(&b, CLIENT, 100, 1);
    b.seq[CLIENT] += 500; /* lost */
    send_record(&b, CLIENT, 100, 2);
    assert_int_equal(b.count, 1);
    send_record(&b, SERVER, 80, 3); /* acknowledges; what it answers comes first */
    assert_int_equal(b.count, 3);
    assert_int_equal(b.taken[1].mark, 2);
    assert_int_equal(b.taken[1].frame, 4);
    assert_true(b.taken[2].from_server);
    struct stream_counts counts = finish(&b);
    assert_int_equal(counts.gaps, 1);
    assert_int_equal(counts.gap_bytes, 500);
    assert_int_equal(counts.skipped_bytes, 0);
}

static void an_acknowledgment_before_the_hole_gives_nothing_up(void **state)
{
    struct bed b;
    uint8_t data[1000];
    begin(&b);
    handshake(&b);
    uint32_t first = b.seq[CLIENT], n = make_record(data, 500, 1, false);
    segment(&b, CLIENT, first + 200, data + 200, n - 200, n - 200, TCP_ACK);
    b.seq[CLIENT] = first + 199;
    acknowledge(&b, SERVER);
    segment(&b, CLIENT, first, data, 200, 200, TCP_ACK);
    assert_int_equal(b.count, 1);
    assert_int_equal(b.taken[0].captured, 500);
    assert_int_equal(finish(&b).gaps, 0);
}

static void an_acknowledgment_up_to_what_waits_is_enough_and_absurd_ones_are_not(void **state)
{
    struct bed b;
    uint8_t data[200];
    begin(&b);
    handshake(&b);
    uint32_t first = b.seq[CLIENT], n = make_record(data, 100, 1, false);
    segment(&b, CLIENT, first + 50, data, n, n, TCP_ACK);
    b.seq[CLIENT] = first + 0x50000000; /* of no connection that we know */
    acknowledge(&b, SERVER);
    assert_int_equal(b.count, 0);
    b.seq[CLIENT] = first + 50;
    segment(&b, SERVER, b.seq[SERVER], NULL, 0, 0,
            TCP_ACK | TCP_RST); /* whose number is anything */
    assert_int_equal(b.count, 0);
    acknowledge(&b, SERVER);
    assert_int_equal(b.count, 1);
    assert_int_equal(finish(&b).gap_bytes, 50);
}

static void a_hole_costs_a_record_its_tail_and_no_other_record(void **state)
{
    struct bed b;
    uint8_t data[3000];
    begin(&b);
    handshake(&b);
    uint32_t n = make_record(data, 2000, 1, true);
    send_bytes(&b, SERVER, data, 700);
    b.seq[SERVER] += 600;
    send_bytes(&b, SERVER, data + 1300, n - 1300);
    send_record(&b, SERVER, 100, 2);
    acknowledge(&b, CLIENT);
    assert_int_equal(b.count, 2);
    assert_int_equal(b.taken[0].captured, 696);
    assert_int_equal(b.taken[0].length, 2000);
    assert_int_equal(b.taken[0].frame, 4);
    assert_int_equal(b.taken[1].captured, 100);
    assert_int_equal(finish(&b).skipped_bytes, 0);
}

static void a_hole_that_takes_a_header_is_followed_by_a_search(void **state)
{
    struct bed b;
    uint8_t data[3000];
    begin(&b);
    handshake(&b);
    uint32_t n = make_record(data, 500, 1, true);
    n += make_record(data + n, 500, 2, true);
    send_bytes(&b, SERVER, data, 400);
    b.seq[SERVER] += 300; /* the end of the first and the beginning of the second */
    send_bytes(&b, SERVER, data + 700, n - 700);
    send_record(&b, SERVER, 100, 3);
    acknowledge(&b, CLIENT);
    assert_int_equal(b.count, 2);
    assert_int_equal(b.taken[0].captured, 396);
    assert_int_equal(b.taken[1].mark, 3);
    struct stream_counts counts = finish(&b);
    assert_int_equal(counts.gap_bytes, 300);
    assert_int_equal(counts.skipped_bytes, n - 700);
}

static void a_truncated_frame_keeps_its_place_in_the_stream(void **state)
{
    struct bed b;
    uint8_t data[3000];
    begin(&b);
    handshake(&b);
    make_record(data, 1400, 1, true);
    segment(&b, SERVER, b.seq[SERVER], data, 200, 1000, TCP_ACK);
    segment(&b, SERVER, b.seq[SERVER] + 1000, data + 1000, 404, 404, TCP_ACK);
    b.seq[SERVER] += 1404;
    send_record(&b, SERVER, 100, 2);
    assert_int_equal(b.count, 2);
    assert_int_equal(b.taken[0].captured, 196);
    assert_int_equal(b.taken[0].frame, 4);
    assert_int_equal(b.taken[1].captured, 100);
    struct stream_counts counts = finish(&b);
    assert_int_equal(counts.truncated_frames, 1);
    assert_int_equal(counts.gaps, 0);
}

static void a_stray_segment_changes_nothing_but_two_do(void **state)
{
    struct bed b;
    uint8_t data[200];
    begin(&b);
    handshake(&b);
    send_record(&b, CLIENT, 100, 1);
    uint32_t n = make_record(data, 100, 9, false), far = b.seq[CLIENT] + 0x70000000;
    segment(&b, CLIENT, far, data, n, n, TCP_ACK);
    send_record(&b, CLIENT, 100, 2);
    segment(&b, CLIENT, far, data, n, n, TCP_ACK);
    assert_int_equal(b.count, 2);
    b.seq[CLIENT] = far + n;
    send_record(&b, CLIENT, 100, 3);
    assert_int_equal(b.count, 3);
    assert_int_equal(b.taken[2].mark, 3);
    struct stream_counts counts = finish(&b);
    assert_int_equal(counts.gaps, 1);
    assert_int_equal(counts.skipped_bytes, 2 * n);
}

static void a_stream_joined_in_the_middle_begins_at_its_next_record(void **state)
{
    struct bed b;
    uint8_t data[500];
    begin(&b);
    make_record(data, 400, 1, true);
    send_bytes(&b, SERVER, data + 100, 304);
    send_record(&b, SERVER, 200, 2);
    send_record(&b, CLIENT, 100, 3);
    assert_int_equal(b.count, 2);
    assert_int_equal(b.taken[0].mark, 2);
    assert_int_equal(b.taken[0].captured, 200);
    assert_false(b.taken[1].from_server);
    assert_int_equal(finish(&b).skipped_bytes, 304);
}

/* ---- connections ---- */

static void a_new_syn_is_a_new_connection_and_a_copy_is_none(void **state)
{
    struct bed b;
    begin(&b);
    handshake(&b);
    segment(&b, CLIENT, b.seq[CLIENT] - 1, NULL, 0, 0, TCP_SYN);
    segment(&b, SERVER, b.seq[SERVER] - 1, NULL, 0, 0, TCP_SYN | TCP_ACK);
    send_record(&b, CLIENT, 100, 1);
    assert_int_equal(b.closed, 0);
    b.seq[CLIENT] = 777;
    b.seq[SERVER] = 0x80000000;
    handshake(&b);
    assert_int_equal(b.closed, 1);
    send_record(&b, CLIENT, 100, 2);
    send_record(&b, SERVER, 100, 3);
    assert_int_equal(b.count, 3);
    assert_int_equal(b.taken[0].flow, 1);
    assert_int_equal(b.taken[1].flow, 2);
    assert_int_equal(b.taken[2].flow, 2);
    assert_int_equal(finish(&b).flows, 2);
}

static void a_syn_is_recognised_among_data(void **state)
{
    struct bed b;
    begin(&b); /* it comes behind the first data: no new connection */
    uint32_t syn = b.seq[CLIENT]++;
    send_record(&b, CLIENT, 100, 1);
    segment(&b, CLIENT, syn, NULL, 0, 0, TCP_SYN);
    send_record(&b, CLIENT, 100, 2);
    assert_int_equal(b.count, 2);
    assert_int_equal(b.taken[1].flow, 1);

    b.seq[CLIENT] += 0x01000000; /* of a new one on numbers that were joined in the middle */
    b.host = 2;
    send_record(&b, CLIENT, 100, 3);
    b.seq[CLIENT] = 7;
    segment(&b, CLIENT, b.seq[CLIENT]++, NULL, 0, 0, TCP_SYN);
    send_record(&b, CLIENT, 100, 4);
    assert_int_equal(b.taken[3].flow, b.taken[2].flow + 1);

    b.host = 3; /* likewise, though only the server's data or its answer to the SYN were captured */
    send_record(&b, SERVER, 100, 5);
    b.seq[CLIENT] = 0x20000000;
    segment(&b, CLIENT, b.seq[CLIENT]++, NULL, 0, 0, TCP_SYN);
    send_record(&b, CLIENT, 100, 6);
    assert_int_equal(b.taken[5].flow, b.taken[4].flow + 1);
    b.host = 4;
    send_record(&b, CLIENT, 100, 7);
    b.seq[CLIENT] = 0x30000000;
    segment(&b, SERVER, b.seq[SERVER]++, NULL, 0, 0, TCP_SYN | TCP_ACK);
    send_record(&b, CLIENT, 100, 8);
    assert_int_equal(b.count, 8);
    assert_int_equal(b.taken[7].flow, b.taken[6].flow + 1);
    assert_int_equal(finish(&b).skipped_bytes, 0);
}

static void data_in_a_syn_are_data(void **state)
{
    struct bed b;
    uint8_t data[200];
    begin(&b);
    uint32_t n = make_record(data, 100, 1, false);
    segment(&b, CLIENT, b.seq[CLIENT]++, data, 60, 60, TCP_SYN);
    b.seq[CLIENT] += 60;
    segment(&b, SERVER, b.seq[SERVER]++, NULL, 0, 0, TCP_SYN | TCP_ACK);
    send_bytes(&b, CLIENT, data + 60, n - 60);
    assert_int_equal(b.count, 1);
    assert_int_equal(b.taken[0].captured, 100);
    assert_int_equal(finish(&b).flows, 1);
}

static void data_after_the_end_still_count(void **state)
{
    struct bed b;
    begin(&b);
    handshake(&b);
    uint32_t seq = b.seq[CLIENT];
    b.seq[CLIENT] += 104; /* the record comes late */
    segment(&b, CLIENT, b.seq[CLIENT]++, NULL, 0, 0, TCP_FIN | TCP_ACK);
    segment(&b, SERVER, b.seq[SERVER]++, NULL, 0, 0, TCP_FIN | TCP_ACK);
    segment(&b, CLIENT, b.seq[CLIENT], NULL, 0, 0, TCP_RST);
    b.seq[CLIENT] = seq;
    send_record(&b, CLIENT, 100, 1);
    assert_int_equal(b.count, 1);
    struct stream_counts counts = finish(&b);
    assert_int_equal(counts.flows, 1);
    assert_int_equal(counts.gaps, 0);
}

static void the_server_is_the_one_with_the_port_or_the_one_that_answers(void **state)
{
    struct bed b;
    begin_with(&b, &(struct stream_options){.any_port = true});
    b.port = 60000; /* above the client's, no SYN: the response tells */
    send_record(&b, SERVER, 100, 1);
    send_record(&b, CLIENT, 100, 2);
    assert_int_equal(b.count, 2);
    assert_true(b.taken[0].from_server);
    assert_false(b.taken[1].from_server);
    finish(&b);

    uint8_t smb1[80] = {0, 0, 0, 76, 0xff, 'S', 'M', 'B', [13] = 0x80, [24] = 0};
    for (uint32_t i = 21; i < 76; i++)
        smb1[4 + i] = (uint8_t)i;
    begin_with(&b, &(struct stream_options){.any_port = true});
    b.port = 60000;
    send_bytes(&b, SERVER, smb1, sizeof(smb1));
    assert_int_equal(b.count, 1);
    assert_true(b.taken[0].from_server);
    finish(&b);
    smb1[13] = 0;
    begin_with(&b, &(struct stream_options){.any_port = true});
    b.port = 4455;
    send_bytes(&b, SERVER, smb1, sizeof(smb1)); /* a request, though from the lower port */
    assert_int_equal(b.count, 1);
    assert_false(b.taken[0].from_server);
    finish(&b);

    const uint16_t ports[] = {4455, 50000}; /* both ends have one: the SYN tells */
    begin_with(&b, &(struct stream_options){.ports = ports, .port_count = 2});
    b.port = 4455;
    handshake(&b);
    send_record(&b, SERVER, 100, 1);
    assert_int_equal(b.count, 1);
    assert_true(b.taken[0].from_server);
    finish(&b);
}

static void any_port_leaves_other_protocols_alone(void **state)
{
    struct bed b;
    uint8_t noise[1400];
    for (size_t i = 0; i < sizeof(noise); i++)
        noise[i] = (uint8_t)(i * 31 + 5);
    begin_with(&b, &(struct stream_options){.any_port = true});
    b.port = 80;
    handshake(&b);
    for (int i = 0; i < 100; i++)
        send_bytes(&b, SERVER, noise, sizeof(noise));
    b.host = 2;
    b.port = 4455;
    b.seq[0] = b.seq[1] = 5;
    send_record(&b, CLIENT, 100, 1);
    struct stream_counts counts = finish(&b);
    assert_int_equal(b.count, 1);
    assert_int_equal(counts.flows, 1);
    assert_int_equal(counts.tcp_segments, 1);
    assert_int_equal(counts.skipped_bytes, 0);
}

static void other_ports_are_listed_by_their_bytes(void **state)
{
    struct bed b;
    uint16_t ports[2];
    begin(&b);
    for (uint16_t i = 1; i <= 6; i++) {
        b.port = (uint16_t)(8000 + i);
        send_bytes(&b, CLIENT, "x", 0);
        segment(&b, CLIENT, 1, NULL, 0, i == 4 ? 1000 : i * 100u, TCP_ACK);
    }
    assert_int_equal(streams_other_ports(b.streams, ports, 2), 2);
    assert_int_equal(ports[0], 8004);
    assert_int_equal(ports[1], 8006);
    assert_int_equal(finish(&b).frames, 12);
}

/* ---- bounds ---- */

static void too_much_behind_a_hole_gives_it_up(void **state)
{
    static const struct {
        uint32_t length;
        int count, waiting; /* records behind the hole; that may wait */
    } cases[] = {{80, 5000, 4096}, {60000, 100, 70}};
    for (size_t i = 0; i < 2; i++) {
        struct bed b;
        begin(&b);
        handshake(&b);
        b.seq[CLIENT] += 100;
        for (int n = 0; n < cases[i].count;
             n++) /* nobody acknowledges: one direction was captured */
            send_record(&b, CLIENT, cases[i].length, (uint8_t)n);
        assert_in_range(b.records, cases[i].count - cases[i].waiting, cases[i].count);
        assert_int_equal(finish(&b).gap_bytes, 100);
        assert_int_equal(b.records, cases[i].count);
    }
}

static void memory_grows_with_what_came_not_with_what_was_announced(void **state)
{
    struct bed b;
    uint8_t head[104];
    begin(&b);
    make_record(head, 100, 1, false);
    head[1] = head[2] = head[3] = 0xff; /* 16 MiB - 1 */
    size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    for (int i = 0; i < 250; i++) {
        b.host = (uint8_t)i;
        b.seq[CLIENT] = 1;
        send_bytes(&b, CLIENT, head, sizeof(head));
    }
    assert_true(mallinfo2().uordblks + mallinfo2().hblkhd - before < 4 << 20);
    assert_int_equal(b.count, 0);
    finish(&b);
}

static void unfinished_records_of_all_connections_have_a_bound(void **state)
{
    struct bed b;
    uint8_t head[104];
    uint8_t *much = calloc(1, 1 << 20);
    begin(&b);
    make_record(head, 100, 1, false);
    head[1] = 0x20; /* 2 MiB and a bit */
    memset(much, 1, 1 << 20);
    size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    for (int i = 0; i < 100; i++) {
        b.host = (uint8_t)i;
        b.seq[CLIENT] = 1;
        send_bytes(&b, CLIENT, head, sizeof(head));
        send_bytes(&b, CLIENT, much, 1 << 20);
    }
    assert_true(mallinfo2().uordblks + mallinfo2().hblkhd - before < 40 << 20);
    finish(&b);
    free(much);
}

static void the_number_of_connections_has_a_bound(void **state)
{
    struct bed b;
    begin(&b);
    for (uint32_t i = 0; i < 100; i++) { /* ended ones go first */
        b.host = (uint8_t)i;
        b.seq[CLIENT] = i;
        handshake(&b);
        segment(&b, CLIENT, b.seq[CLIENT], NULL, 0, 0, TCP_RST);
    }
    assert_in_range(b.closed, 30, 40);
    for (uint32_t i = 0; i < 60 * 250; i++) { /* 250 hosts, their ports one after the other */
        struct segment s = {.from = {{[15] = (uint8_t)(i % 250)}, (uint16_t)(1024 + i / 250)},
                            .to = {{[15] = 255}, 445},
                            .seq = i,
                            .flags = TCP_SYN,
                            .frame = ++b.frame};
        streams_take(b.streams, &s);
    }
    assert_int_equal(b.closed, 15100 - 4096);
    struct stream_counts counts = finish(&b);
    assert_int_equal(counts.flows, 15100);
    assert_int_equal(counts.flows_dropped, 15000 - 4096);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_in_one_segment_is_given_where_it_lies),
        cmocka_unit_test(a_record_may_be_cut_anywhere),
        cmocka_unit_test(control_messages_are_counted),
        cmocka_unit_test(what_is_no_record_is_skipped_to_the_next_one),
        cmocka_unit_test(a_record_that_never_ends_is_skipped),
        cmocka_unit_test(segments_out_of_order_wait_for_each_other),
        cmocka_unit_test(the_first_copy_of_overlapping_bytes_wins),
        cmocka_unit_test(a_hole_is_given_up_once_the_peer_has_acknowledged_it),
        cmocka_unit_test(an_acknowledgment_before_the_hole_gives_nothing_up),
        cmocka_unit_test(an_acknowledgment_up_to_what_waits_is_enough_and_absurd_ones_are_not),
        cmocka_unit_test(a_hole_costs_a_record_its_tail_and_no_other_record),
        cmocka_unit_test(a_hole_that_takes_a_header_is_followed_by_a_search),
        cmocka_unit_test(a_truncated_frame_keeps_its_place_in_the_stream),
        cmocka_unit_test(a_stray_segment_changes_nothing_but_two_do),
        cmocka_unit_test(a_stream_joined_in_the_middle_begins_at_its_next_record),
        cmocka_unit_test(a_new_syn_is_a_new_connection_and_a_copy_is_none),
        cmocka_unit_test(a_syn_is_recognised_among_data),
        cmocka_unit_test(data_in_a_syn_are_data),
        cmocka_unit_test(data_after_the_end_still_count),
        cmocka_unit_test(the_server_is_the_one_with_the_port_or_the_one_that_answers),
        cmocka_unit_test(any_port_leaves_other_protocols_alone),
        cmocka_unit_test(other_ports_are_listed_by_their_bytes),
        cmocka_unit_test(too_much_behind_a_hole_gives_it_up),
        cmocka_unit_test(memory_grows_with_what_came_not_with_what_was_announced),
        cmocka_unit_test(unfinished_records_of_all_connections_have_a_bound),
        cmocka_unit_test(the_number_of_connections_has_a_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
