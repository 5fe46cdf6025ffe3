/*
 * Why a record takes more than looking at each segment for itself: one stream of four records, sent
 * in pieces, and the causes that each record is given.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "capture/stream.h"

enum { RECORDS = 4, SIZE = 104, ALL = RECORDS * SIZE, FIRST_SEQ = 1000 };
enum { NONE = 0, LOST = 0xff }; /* LOST: the record does not come out */

struct piece {
    uint16_t from, to;
};

struct situation {
    const char *what;
    struct piece pieces[8]; /* in the order of their coming; up to one of no length */
    unsigned causes[RECORDS];
    uint64_t late;
};

static const struct situation situations[] = {
    {"a segment a record", {{0, 104}, {104, 208}, {208, 312}, {312, 416}}, {0}, 0},
    {"all in one segment", {{0, 416}}, {0}, 0},
    {"a record over three segments, with the next",
     {{0, 9}, {9, 40}, {40, 208}, {208, 416}},
     {0},
     0},
    {"a header over two segments", {{0, 2}, {2, 104}, {104, 416}}, {RECORD_SPLIT_HEADER}, 0},
    {"a header over four segments",
     {{0, 1}, {1, 2}, {2, 3}, {3, 104}, {104, 416}},
     {RECORD_SPLIT_HEADER},
     0},
    {"between header and magic there may be a cut", {{0, 4}, {4, 104}, {104, 416}}, {0}, 0},
    {"a split header and what follows in its segment",
     {{0, 2}, {2, 208}, {208, 416}},
     {RECORD_SPLIT_HEADER, RECORD_SPLIT_HEADER},
     0},
    {"a split header behind a record",
     {{0, 106}, {106, 208}, {208, 416}},
     {0, RECORD_SPLIT_HEADER},
     0},
    {"records swapped whole", {{104, 208}, {0, 104}, {208, 416}}, {RECORD_OUT_OF_ORDER}, 1},
    {"the halves of a record swapped", {{50, 104}, {0, 50}, {104, 416}}, {RECORD_OUT_OF_ORDER}, 1},
    {"a late first half, with a record behind the second",
     {{50, 208}, {0, 50}, {208, 416}},
     {RECORD_OUT_OF_ORDER, RECORD_OUT_OF_ORDER},
     1},
    {"the last first",
     {{300, 416}, {150, 300}, {0, 150}},
     {RECORD_OUT_OF_ORDER, RECORD_OUT_OF_ORDER, RECORD_OUT_OF_ORDER, RECORD_OUT_OF_ORDER},
     2},
    {"a copy of a segment", {{0, 104}, {0, 104}, {104, 416}}, {0}, 0},
    {"a half, then all of it", {{0, 50}, {0, 104}, {104, 416}}, {RECORD_OVERLAP}, 0},
    {"a record, then it and the next", {{0, 104}, {0, 208}, {208, 416}}, {0, RECORD_OVERLAP}, 0},
    {"a hole in a record", {{0, 50}, {80, 104}, {104, 416}}, {RECORD_HOLE}, 0},
    {"a hole in a record that ends in the segment of the next",
     {{0, 50}, {80, 208}, {208, 416}},
     {RECORD_HOLE, RECORD_HOLE},
     0},
    {"a hole of a whole record", {{0, 104}, {208, 416}}, {0, LOST}, 0},
    {"a hole that takes a header, others behind it in one segment",
     {{0, 104}, {120, 416}},
     {0, LOST, RECORD_FOUND_AGAIN, RECORD_FOUND_AGAIN},
     0},
    {"a hole that takes a header, up to the next segment",
     {{0, 104}, {120, 312}, {312, 416}},
     {0, LOST, RECORD_FOUND_AGAIN, 0},
     0},
};

struct bed {
    struct streams *streams;
    unsigned causes[RECORDS];
    bool behind[RECORDS];
    uint64_t frame;
    uint16_t port;
};

static void on_record(void *user, struct flow *flow, const struct record *r)
{
    struct bed *b = user;
    assert_true(r->captured > 20 && r->data[20] < RECORDS);
    b->causes[r->data[20]] = r->causes & ~(unsigned)RECORD_BEHIND;
    b->behind[r->data[20]] = r->causes & RECORD_BEHIND;
}

static void on_closed(void *user, struct flow *flow)
{
}

static void make_record(uint8_t *out, uint8_t number, uint32_t length)
{
    memset(out, 0, 4 + length);
    out[1] = (uint8_t)(length >> 16);
    out[2] = (uint8_t)(length >> 8);
    out[3] = (uint8_t)length;
    memcpy(out + 4, "\xfeSMB\x40", 5);
    out[4 + 20] = number;
}

static void segment(struct bed *b, uint32_t seq, const void *data, uint32_t n, uint8_t flags)
{
    streams_take(b->streams, &(struct segment){
                                 .from = {{[10] = 0xff, 0xff, 10, 0, 0, 1}, 50000},
                                 .to = {{[10] = 0xff, 0xff, 10, 0, 0, 2}, b->port},
                                 .seq = seq,
                                 .flags = flags,
                                 .payload = data,
                                 .captured = n,
                                 .length = n,
                                 .frame = ++b->frame,
                                 .time_ns = b->frame * 1000,
                             });
}

static void begin(struct bed *b, uint16_t port)
{
    *b = (struct bed){.port = port, .causes = {LOST, LOST, LOST, LOST}};
    b->streams = streams_new(&(struct stream_options){.ports = &b->port, .port_count = 1},
                             &(struct stream_events){on_record, on_closed, b});
}

static struct stream_counts finish(struct bed *b)
{
    struct stream_counts counts;
    streams_finish(b->streams);
    streams_counts(b->streams, &counts);
    streams_free(b->streams);
    return counts;
}

static void records_know_why_they_take_more_than_one_segment_at_a_time(void **state)
{
    uint8_t stream[ALL];
    for (uint8_t i = 0; i < RECORDS; i++)
        make_record(stream + i * SIZE, i, SIZE - 4);
    for (size_t i = 0; i < sizeof(situations) / sizeof(situations[0]); i++) {
        const struct situation *s = &situations[i];
        struct bed b;
        begin(&b, 445);
        segment(&b, FIRST_SEQ - 1, NULL, 0, TCP_SYN);
        for (const struct piece *p = s->pieces; p->to; p++)
            segment(&b, FIRST_SEQ + p->from, stream + p->from, (uint32_t)(p->to - p->from),
                    TCP_ACK);
        struct stream_counts counts = finish(&b);
        bool lost = false;
        for (int r = 0; r < RECORDS; r++) {
            if (b.causes[r] != s->causes[r])
                fail_msg("%s: record %d: %#x, not %#x", s->what, r, b.causes[r], s->causes[r]);
            if (b.behind[r] != (lost && !s->causes[r]))
                fail_msg("%s: record %d: whether it is behind one", s->what, r);
            lost |= s->causes[r] && s->causes[r] != LOST;
        }
        if (counts.late_segments != s->late)
            fail_msg("%s: %u late segments", s->what, (unsigned)counts.late_segments);
    }
}

static void a_stream_joined_in_the_middle_is_whole_where_a_segment_begins_a_record(void **state)
{
    uint8_t stream[ALL];
    struct bed b;
    for (uint8_t i = 0; i < RECORDS; i++)
        make_record(stream + i * SIZE, i, SIZE - 4);
    begin(&b, 445);
    segment(&b, FIRST_SEQ + SIZE, stream + SIZE, ALL - SIZE, TCP_ACK);
    finish(&b);
    assert_int_equal(b.causes[1] | b.causes[2] | b.causes[3], NONE);

    begin(&b, 445);
    segment(&b, FIRST_SEQ + 10, stream + 10, 2 * SIZE, TCP_ACK);
    segment(&b, FIRST_SEQ + 10 + 2 * SIZE, stream + 10 + 2 * SIZE, ALL - 10 - 2 * SIZE, TCP_ACK);
    finish(&b);
    assert_int_equal(b.causes[1], RECORD_FOUND_AGAIN);
    assert_int_equal(b.causes[2], RECORD_FOUND_AGAIN);
    assert_int_equal(b.causes[3], RECORD_FOUND_AGAIN);
}

static void a_length_of_more_than_17_bits_is_plain_on_port_445_alone(void **state)
{
    static const struct {
        uint16_t port;
        uint32_t length;
        unsigned causes;
    } cases[] = {{445, 0x20000, NONE}, {4455, 0x1ffff, NONE}, {4455, 0x20000, RECORD_LONG}};
    uint8_t *record = malloc(4 + 0x20000);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (uint32_t at_once = 50000; at_once <= 200000; at_once += 150000) {
            struct bed b;
            begin(&b, cases[i].port);
            make_record(record, 0, cases[i].length);
            segment(&b, FIRST_SEQ - 1, NULL, 0, TCP_SYN);
            for (uint32_t at = 0, n; at < 4 + cases[i].length; at += n) {
                uint32_t left = 4 + cases[i].length - at;
                n = left < at_once ? left : at_once;
                segment(&b, FIRST_SEQ + at, record + at, n, TCP_ACK);
            }
            finish(&b);
            assert_int_equal(b.causes[0], cases[i].causes);
        }
    free(record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_know_why_they_take_more_than_one_segment_at_a_time),
        cmocka_unit_test(a_stream_joined_in_the_middle_is_whole_where_a_segment_begins_a_record),
        cmocka_unit_test(a_length_of_more_than_17_bits_is_plain_on_port_445_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
