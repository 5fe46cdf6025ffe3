/*
 * Segments in any order, to records. Input: segments one after the other, each of 5 bytes and its
 * payload: which side and flags, where it begins relative to the next byte of its side (signed, two
 * bytes), how many bytes were captured, how many more there were. Most mutations of a capture file
 * break its layers; of this, none does.
 */
#include <stdlib.h>

#include "base/rd.h"
#include "capture/stream.h"
#include "fuzz.h"

enum { SERVER_SIDE = 0x80, FAR = 0x40, ON_139 = 0x20 }; /* the rest are TCP's flags */

static unsigned touched;

static void take_record(void *user, struct flow *flow, const struct record *r)
{
    for (uint32_t i = 0; i < r->captured; i++)
        touched += r->data[i];
    if (r->captured > r->length || r->length == 0 || flow->id == 0)
        abort();
}

static void take_closed(void *user, struct flow *flow)
{
    (*(uint64_t *)user)++;
}

/* The next segment; false at the end. */
static bool next_segment(struct rd *r, uint32_t seq[2], uint64_t frame, struct segment *ret)
{
    uint8_t kind = rd_u8(r);
    int16_t off = (int16_t)rd_u16(r);
    uint8_t captured = rd_u8(r), more = rd_u8(r);
    const uint8_t *payload = rd_bytes(r, captured);
    if (!rd_ok(r))
        return false;
    const int side = kind & SERVER_SIDE ? 1 : 0;
    const struct endpoint ends[2] = {{{[15] = 1}, 50000}, {{[15] = 2}, kind & ON_139 ? 139 : 445}};
    *ret = (struct segment){
        .from = ends[side],
        .to = ends[1 - side],
        .seq = seq[side] + (uint32_t)off * (kind & FAR ? 0x8001u : 1u),
        .ack = seq[1 - side],
        .flags = kind & (TCP_FIN | TCP_SYN | TCP_RST | TCP_ACK),
        .payload = payload,
        .captured = captured,
        .length = captured + (uint32_t)more * (kind & 8 ? 65536 : 1),
        .frame = frame,
        .time_ns = frame,
    };
    seq[side] = ret->seq + ret->length + (kind & TCP_SYN ? 1 : 0);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t closed = 0, frame = 0;
    const struct stream_options options = {0};
    const struct stream_events events = {take_record, take_closed, &closed};
    struct streams *streams = streams_new(&options, &events);
    struct rd r = rd_init(data, size);
    uint32_t seq[2] = {UINT32_MAX - 300, 5};
    struct segment segment;
    while (next_segment(&r, seq, ++frame, &segment))
        streams_take(streams, &segment);
    struct stream_counts counts;
    streams_finish(streams);
    streams_counts(streams, &counts);
    if (closed != counts.flows || counts.skipped_bytes > counts.bytes)
        abort();
    streams_free(streams);
    return 0;
}
