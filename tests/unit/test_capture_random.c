/*
 * Random streams of records, cut into random segments, which are swapped, doubled, made to overlap
 * and lost. Without losses the records come out identical, in order, each with the frame that
 * completed it; with losses every record that none touches comes out, and the gaps are exactly the
 * runs of bytes that never came.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "capture/stream.h"

enum { SIDES = 2, MAX_RECORDS = 60, MAX_STREAM = 400 << 10, MAX_SEGMENTS = 8192, INDEX_AT = 24 };

static uint64_t random_state;

static uint32_t below(uint32_t n)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)((random_state >> 11) % n);
}

struct piece {
    int side;
    uint32_t at, length;
    bool lost;
};

/* One direction: what was sent, and what of it the capture shows when. */
struct side {
    uint8_t bytes[MAX_STREAM];
    uint64_t frame[MAX_STREAM]; /* that a byte came in first; 0: it never does */
    bool lost[MAX_STREAM];      /* it never will */
    uint32_t length, prefix;    /* prefix: all before it has come or never will */
    uint32_t record_at[MAX_RECORDS], record_length[MAX_RECORDS]; /* of the body */
    uint32_t records, next;                                      /* next: to come out */
    uint32_t begin;                                              /* of the capture */
    uint32_t base;                                               /* sequence number of byte 0 */
    uint32_t whole;
};

struct world {
    struct side side[SIDES];
    struct piece pieces[MAX_SEGMENTS];
    size_t count;
    bool lossy, middle;
    uint32_t controls;
};

static struct world world;

/* ---- making ---- */

static void make_record(struct side *s, bool response)
{
    uint32_t length = 64 + below(below(4) ? 400 : below(8) ? 3000 : 60000);
    if (s->records == MAX_RECORDS || s->length + length + 8 > MAX_STREAM)
        return;
    uint8_t *p = s->bytes + s->length;
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
    for (uint32_t i = 0; i < length + 4; i++)
        p[i] = (uint8_t)below(256);
    memcpy(p, head, sizeof(head));
    p[4 + 16] = response;
    p[4 + INDEX_AT] = (uint8_t)s->records;
    s->record_at[s->records] = s->length + 4;
    s->record_length[s->records++] = length;
    s->length += length + 4;
    if (below(10) == 0) {
        memcpy(s->bytes + s->length, "\x85\0\0\0", 4);
        s->length += 4;
        world.controls++;
    }
}

/* Cuts a side into segments, in order. */
static void cut(int side)
{
    const struct side *s = &world.side[side];
    for (uint32_t at = s->begin; at < s->length && world.count < MAX_SEGMENTS / 4;) {
        uint32_t n = 1 + below(below(10) == 0 ? 12 : 3000);
        n = n < s->length - at ? n : s->length - at;
        if (world.count == MAX_SEGMENTS / 4 - 1)
            n = s->length - at;
        bool lost = world.lossy && at > s->begin && at + n < s->length && below(12) == 0;
        world.pieces[world.count++] = (struct piece){side, at, n, lost};
        at += n;
    }
}

/* Merges both sides' segments at random, keeping the order within each. */
static void interleave(size_t first_of_server)
{
    static struct piece merged[MAX_SEGMENTS];
    size_t a = 0, b = first_of_server, n = 0;
    while (a < first_of_server || b < world.count)
        merged[n++] = b == world.count || (a < first_of_server && below(2)) ? world.pieces[a++]
                                                                            : world.pieces[b++];
    memcpy(world.pieces, merged, n * sizeof(merged[0]));
}

/* Sends some again, a bit later, and with bytes of their neighbours. */
static void double_some(void)
{
    const size_t count = world.count;
    for (size_t i = 0; i < count; i++) {
        if (world.pieces[i].lost || below(6) || world.count == MAX_SEGMENTS)
            continue;
        struct piece p = world.pieces[i];
        const struct side *s = &world.side[p.side];
        if (!world.lossy && below(2)) {
            uint32_t before = p.at - s->begin;
            uint32_t back = below(before < 500 ? before + 1 : 500), on = below(500);
            p.at -= back;
            p.length += back;
            p.length = p.at + p.length + on < s->length ? p.length + on : s->length - p.at;
        }
        size_t to = i + 1 + below(8);
        to = to < world.count ? to : world.count;
        memmove(&world.pieces[to + 1], &world.pieces[to],
                (world.count - to) * sizeof(world.pieces[0]));
        world.pieces[to] = p;
        world.count++;
    }
}

/* Swaps near ones; a stream that is joined in the middle begins with what comes first, so its
 * beginnings stay. */
static void shuffle(void)
{
    for (size_t i = world.middle ? 40 : 0; i + 1 < world.count; i++) {
        if (below(3))
            continue;
        size_t j = i + below(8);
        if (j >= world.count)
            continue;
        struct piece swap = world.pieces[i];
        world.pieces[i] = world.pieces[j];
        world.pieces[j] = swap;
    }
}

static void make_world(uint64_t seed)
{
    random_state = seed * 0x9e3779b97f4a7c15 + 1;
    memset(&world, 0, sizeof(world));
    world.lossy = seed % 2;
    world.middle = below(3) == 0;
    size_t first_of_server = 0;
    for (int side = 0; side < SIDES; side++) {
        struct side *s = &world.side[side];
        s->base = below(2) ? 0u - below(MAX_STREAM) : below(UINT32_MAX); /* half of them wrap */
        for (uint32_t n = 5 + below(MAX_RECORDS - 5); n > 0; n--)
            make_record(s, side);
    }
    for (int side = 0; side < SIDES; side++) {
        /* in the middle: a record's beginning has been missed, and so has that record */
        struct side *s = &world.side[side];
        s->begin = world.middle ? below(s->record_length[0]) + 1 : 0;
        memset(s->lost, 1, s->begin);
        if (side)
            first_of_server = world.count;
        cut(side);
    }
    interleave(first_of_server);
    double_some();
    shuffle();
    for (size_t i = 0; i < world.count; i++) /* what is lost in all its copies */
        if (world.pieces[i].lost)
            memset(world.side[world.pieces[i].side].lost + world.pieces[i].at, 1,
                   world.pieces[i].length);
}

/* ---- playing ---- */

static void check_record(void *user, struct flow *flow, const struct record *r)
{
    struct side *s = &world.side[r->from_server];
    if (r->captured <= INDEX_AT)
        return; /* touched; nobody can tell which it was */
    uint32_t i = r->data[INDEX_AT];
    assert_in_range(i, s->next, s->records - 1);
    const uint32_t at = s->record_at[i];
    assert_int_equal(r->length, s->record_length[i]);
    assert_memory_equal(r->data, s->bytes + at, r->captured);
    if (r->captured == r->length) {
        uint64_t latest = 0;
        for (uint32_t b = at - 4; b < at + r->length; b++)
            latest = s->frame[b] > latest ? s->frame[b] : latest;
        assert_int_equal(r->frame, latest);
        assert_int_equal(r->time_ns, latest * 1000);
        assert_int_equal(r->first_time_ns, s->frame[at - 4] * 1000);
        s->whole++;
    } else {
        assert_true(s->lost[at + r->captured]);
    }
    s->next = i + 1;
}

static void ignore_closed(void *user, struct flow *flow)
{
}

static struct segment make_segment(const struct piece *p, uint64_t frame, bool acks)
{
    static const struct endpoint ends[2] = {{{[15] = 1}, 50000}, {{[15] = 2}, 445}};
    const struct side *own = &world.side[p->side], *peer = &world.side[1 - p->side];
    return (struct segment){
        .from = ends[p->side],
        .to = ends[1 - p->side],
        .seq = own->base + p->at,
        .ack = peer->base + peer->prefix,
        .flags = acks ? TCP_ACK : 0,
        .payload = own->bytes + p->at,
        .captured = p->length,
        .length = p->length,
        .frame = frame,
        .time_ns = frame * 1000,
    };
}

static void note_bytes(const struct piece *p, uint64_t frame)
{
    struct side *s = &world.side[p->side];
    for (uint32_t b = p->at; b < p->at + p->length; b++)
        if (!s->frame[b])
            s->frame[b] = frame;
    while (s->prefix < s->length && (s->lost[s->prefix] || s->frame[s->prefix]))
        s->prefix++;
}

static struct stream_counts play(bool acks)
{
    const struct stream_options options = {0};
    const struct stream_events events = {check_record, ignore_closed, NULL};
    struct streams *streams = streams_new(&options, &events);
    uint64_t frame = 0;
    for (int side = 0; side < SIDES && !world.middle; side++) {
        struct segment s = make_segment(&(struct piece){.side = side}, ++frame, false);
        s.seq--;
        s.flags = side ? TCP_SYN | TCP_ACK : TCP_SYN;
        streams_take(streams, &s);
    }
    for (size_t i = 0; i < world.count; i++) {
        const struct piece *p = &world.pieces[i];
        if (p->lost)
            continue;
        note_bytes(p, ++frame);
        struct segment s = make_segment(p, frame, acks);
        streams_take(streams, &s);
    }
    struct stream_counts counts;
    streams_finish(streams);
    streams_counts(streams, &counts);
    streams_free(streams);
    return counts;
}

/* ---- what must hold ---- */

/* Whether a record's header and body came. */
static bool came(const struct side *s, uint32_t i)
{
    for (uint32_t b = s->record_at[i] - 4; b < s->record_at[i] + s->record_length[i]; b++)
        if (!s->frame[b])
            return false;
    return true;
}

static void check_outcome(const struct stream_counts *counts)
{
    uint64_t gaps = 0, gap_bytes = 0;
    for (int side = 0; side < SIDES; side++) {
        const struct side *s = &world.side[side];
        uint32_t whole = 0;
        for (uint32_t i = 0; i < s->records; i++)
            whole += came(s, i);
        assert_int_equal(s->whole, whole);
        bool begun = !world.middle;
        for (uint32_t b = 0; b < s->length; b++) {
            begun |= s->frame[b] != 0;
            gap_bytes += begun && !s->frame[b];
            gaps += begun && !s->frame[b] && (b == 0 || s->frame[b - 1]);
        }
    }
    assert_int_equal(counts->gaps, gaps);
    assert_int_equal(counts->gap_bytes, gap_bytes);
    assert_int_equal(counts->flows, 1);
    if (world.lossy || world.middle)
        return;
    assert_int_equal(counts->skipped_bytes, 0);
    assert_int_equal(counts->netbios_control, world.controls);
}

static void random_streams_come_out_as_they_were_sent(void **state)
{
    uint64_t records = 0, gaps = 0;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        make_world(seed);
        struct stream_counts counts = play(seed % 5 != 0);
        check_outcome(&counts);
        records += world.side[0].whole + world.side[1].whole;
        gaps += counts.gaps;
    }
    /* the test would be none if it lost everything, or nothing */
    assert_true(records > 15000);
    assert_true(gaps > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_streams_come_out_as_they_were_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
