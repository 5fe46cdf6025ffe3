/*
 * pcapng files: blocks of a type and a length, in sections that each have their own byte order and
 * their own interfaces; an interface has its own link type, snapshot length and clock
 * (draft-ietf-opsawg-pcapng). Blocks that carry no packet and describe no interface are skipped by
 * their length. The length stands at both ends of a block; where the two differ, nothing behind is
 * to be trusted.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "capture/reader.h"

enum {
    SECTION = 0x0a0d0d0a, /* the same in both byte orders */
    INTERFACE = 1,
    PACKET = 2, /* obsolete, but written until 2008 */
    SIMPLE_PACKET = 3,
    ENHANCED_PACKET = 6,
};
enum { BLOCK_ENDS = 12, MAX_BLOCK = MAX_PACKET + (64 << 10), MAX_INTERFACES = 65536 };
enum { LINK_UNKNOWN = 0xffffffff };

struct interface {
    uint32_t link_type, snaplen;
    uint8_t resolution; /* as if_tsresol: 10^-n, with the high bit 2^-n seconds */
    int64_t offset;     /* seconds */
};

struct pcapng {
    bool big;
    struct interface *interfaces;
    uint32_t count, cap;
};

static uint64_t to_ns(const struct interface *i, uint64_t ticks)
{
    unsigned __int128 t = ticks;
    unsigned exponent = i->resolution & 0x7f;
    if (i->resolution & 0x80) {
        t = t * NS_PER_SEC >> exponent;
    } else {
        for (; exponent < 9; exponent++)
            t *= 10;
        for (; exponent > 9 && t; exponent--)
            t /= 10;
    }
    return (uint64_t)t + (uint64_t)i->offset * NS_PER_SEC;
}

/* What the options of an interface say about its clock. */
static void read_options(struct interface *i, struct rd r, bool big)
{
    while (rd_left(&r) >= 4) {
        uint16_t code = file_u16(&r, big), length = file_u16(&r, big);
        size_t at = r.pos;
        struct rd value = rd_sub(&r, at, length);
        if (code == 0)
            break;
        if (code == 9 && length >= 1)
            i->resolution = rd_u8(&value);
        if (code == 14 && length >= 8) {
            uint64_t v = rd_u64(&value);
            i->offset = (int64_t)(big ? __builtin_bswap64(v) : v);
        }
        rd_skip(&r, ((size_t)length + 3) & ~(size_t)3);
    }
}

static int add_interface(struct packet_reader *reader, struct rd body, struct error *err)
{
    struct pcapng *p = reader->state;
    if (p->count == MAX_INTERFACES)
        return reader_damaged(reader, "more interfaces than there can be", err);
    if (p->count == p->cap) {
        uint32_t cap = p->cap ? 2 * p->cap : 8;
        struct interface *larger = realloc(p->interfaces, cap * sizeof(*larger));
        if (!larger)
            return error_set(err, -ENOMEM, 0, "out of memory");
        p->interfaces = larger;
        p->cap = cap;
    }
    struct interface i = {.resolution = 6};
    i.link_type = file_u16(&body, p->big);
    rd_skip(&body, 2);
    i.snaplen = file_u32(&body, p->big);
    if (!rd_ok(&body))
        return reader_damaged(reader, "an interface description is too short", err);
    read_options(&i, rd_sub(&body, body.pos, rd_left(&body)), p->big);
    p->interfaces[p->count++] = i;
    return 0;
}

/* The packet of a block of one of the three types, 1; or -EBADMSG. One of an interface that was
 * never described has an unknown link type, and keeps its number. */
static int read_packet(struct packet_reader *reader, uint32_t type, struct rd body,
                       struct packet *ret, struct error *err)
{
    static const struct interface undescribed = {.link_type = LINK_UNKNOWN, .resolution = 6};
    const struct pcapng *p = reader->state;
    const bool big = p->big;
    uint32_t number = 0;
    if (type == ENHANCED_PACKET)
        number = file_u32(&body, big);
    if (type == PACKET) {
        number = file_u16(&body, big);
        rd_skip(&body, 2); /* how many were dropped */
    }
    const struct interface *i = number < p->count ? &p->interfaces[number] : &undescribed;
    uint64_t time = 0;
    uint32_t captured, original;
    if (type == SIMPLE_PACKET) {
        original = file_u32(&body, big);
        captured = i->snaplen && original > i->snaplen ? i->snaplen : original;
        if (captured > rd_left(&body))
            captured = (uint32_t)rd_left(&body);
    } else {
        uint64_t high = file_u32(&body, big);
        time = to_ns(i, high << 32 | file_u32(&body, big));
        captured = file_u32(&body, big);
        original = file_u32(&body, big);
    }
    const uint8_t *data = rd_bytes(&body, captured);
    if (!data)
        return reader_damaged(reader, "a packet is longer than its block", err);
    *ret = (struct packet){
        .number = ++reader->number,
        .time_ns = time,
        .link_type = i->link_type,
        .data = data,
        .captured = captured,
        .original = original > captured ? original : captured,
    };
    return 1;
}

/* A new section: its byte order holds for its own header already. */
static int begin_section(struct packet_reader *reader, const uint8_t *magic, struct error *err)
{
    static const uint8_t little[4] = {0x4d, 0x3c, 0x2b, 0x1a}, big[4] = {0x1a, 0x2b, 0x3c, 0x4d};
    struct pcapng *p = reader->state;
    if (memcmp(magic, little, 4) != 0 && memcmp(magic, big, 4) != 0)
        return reader_damaged(reader, "a section without a byte order", err);
    p->big = memcmp(magic, big, 4) == 0;
    p->count = 0;
    return 0;
}

/* Moves behind a block of which nothing is wanted. 1, or as `next`. */
static int skip_block(struct packet_reader *reader, uint64_t length, uint64_t rounded,
                      struct error *err)
{
    const struct pcapng *p = reader->state;
    const uint8_t *end;
    if (!source_skip(reader->source, rounded - 4) || source_peek(reader->source, 4, &end) < 4)
        return reader_end(reader, true, err);
    struct rd r = rd_init(end, 4);
    if (file_u32(&r, p->big) != length)
        return reader_damaged(reader, "a block's two lengths differ", err);
    source_skip(reader->source, 4);
    return 1;
}

/* A block that is looked into: 1 with a packet, 2 without one, or as `next`. */
static int take_block(struct packet_reader *reader, uint32_t type, uint64_t length,
                      uint64_t rounded, struct packet *ret, struct error *err)
{
    const struct pcapng *p = reader->state;
    if (rounded > MAX_BLOCK)
        return reader_damaged(reader, "a packet's length is beyond all bounds", err);
    const uint8_t *block;
    if (source_peek(reader->source, (size_t)rounded, &block) < rounded)
        return reader_end(reader, true, err);
    struct rd end = rd_init(block + rounded - 4, 4);
    if (file_u32(&end, p->big) != length)
        return reader_damaged(reader, "a block's two lengths differ", err);
    source_skip(reader->source, rounded);
    struct rd body = rd_init(block + 8, (size_t)rounded - BLOCK_ENDS);
    if (type != INTERFACE)
        return read_packet(reader, type, body, ret, err);
    int r = add_interface(reader, body, err);
    return r < 0 ? r : 2;
}

static int pcapng_next(struct packet_reader *reader, struct packet *ret, struct error *err)
{
    struct pcapng *p = reader->state;
    for (;;) {
        const uint8_t *head;
        size_t there = source_peek(reader->source, BLOCK_ENDS, &head);
        if (there < BLOCK_ENDS)
            return reader_end(reader, there > 0, err);
        struct rd r = rd_init(head, BLOCK_ENDS);
        uint32_t type = file_u32(&r, p->big);
        if (type == SECTION) {
            int begun = begin_section(reader, head + 8, err);
            if (begun < 0)
                return begun;
        }
        uint64_t length = file_u32(&r, p->big);
        uint64_t rounded =
            (length + 3) & ~(uint64_t)3; /* some writers forget the padding's bytes */
        if (length < BLOCK_ENDS)
            return reader_damaged(reader, "a block is shorter than its own header", err);
        bool wanted =
            type == INTERFACE || type == PACKET || type == SIMPLE_PACKET || type == ENHANCED_PACKET;
        int taken = wanted ? take_block(reader, type, length, rounded, ret, err)
                           : skip_block(reader, length, rounded, err);
        if (taken < 0 || taken == 0 || (wanted && taken == 1))
            return taken;
    }
}

static int pcapng_start(struct packet_reader *reader, struct error *err)
{
    reader->state = calloc(1, sizeof(struct pcapng));
    return reader->state ? 0 : error_set(err, -ENOMEM, 0, "out of memory");
}

static void pcapng_done(struct packet_reader *reader)
{
    struct pcapng *p = reader->state;
    if (p)
        free(p->interfaces);
    free(p);
}

const struct packet_format pcapng_format = {pcapng_start, pcapng_next, pcapng_done};
