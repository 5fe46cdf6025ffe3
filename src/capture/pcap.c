/*
 * pcap files: a header of 24 bytes, then packets, each behind a header of 16. The magic number
 * tells the byte order, whether the fraction of a second counts micro- or nanoseconds, and whether
 * the packets have the 8 bytes more that Kuznetzov's patched libpcap gave them
 * (draft-ietf-opsawg-pcap; libpcap's sf-pcap.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "capture/reader.h"

enum { FILE_HEADER = 24, PACKET_HEADER = 16, MODIFIED_HEADER = 24 };

static const struct variant {
    uint8_t magic[4];
    bool big, nanoseconds, modified;
} variants[] = {
    {{0xd4, 0xc3, 0xb2, 0xa1}, false, false, false}, {{0xa1, 0xb2, 0xc3, 0xd4}, true, false, false},
    {{0x4d, 0x3c, 0xb2, 0xa1}, false, true, false},  {{0xa1, 0xb2, 0x3c, 0x4d}, true, true, false},
    {{0x34, 0xcd, 0xb2, 0xa1}, false, false, true},  {{0xa1, 0xb2, 0xcd, 0x34}, true, false, true},
};

struct pcap {
    const struct variant *variant;
    uint32_t link_type;
    bool lengths_swapped; /* files before version 2.3 have the original length first */
};

static const struct variant *variant_of(const uint8_t magic[static 4])
{
    for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++)
        if (memcmp(magic, variants[i].magic, 4) == 0)
            return &variants[i];
    return NULL;
}

bool pcap_magic_known(const uint8_t magic[static 4])
{
    return variant_of(magic) != NULL;
}

/* A header that is cut off leaves no packets. */
static int pcap_start(struct packet_reader *reader, struct error *err)
{
    struct pcap *p = calloc(1, sizeof(*p));
    if (!p)
        return error_set(err, -ENOMEM, 0, "out of memory");
    reader->state = p;
    const uint8_t *header;
    size_t there = source_peek(reader->source, FILE_HEADER, &header);
    p->variant = variant_of(header);
    if (there < FILE_HEADER) {
        reader->cut_off = true;
        source_skip(reader->source, there);
        return 0;
    }
    bool big = p->variant->big;
    struct rd r = rd_init(header + 4, FILE_HEADER - 4);
    uint16_t major = file_u16(&r, big), minor = file_u16(&r, big);
    rd_skip(&r, 12);                           /* time zone, accuracy, snapshot length */
    p->link_type = file_u32(&r, big) & 0xffff; /* above: length of the frame check sequence */
    p->lengths_swapped = major == 2 && minor < 3;
    source_skip(reader->source, FILE_HEADER);
    return 0;
}

static int pcap_next(struct packet_reader *reader, struct packet *ret, struct error *err)
{
    const struct pcap *p = reader->state;
    const bool big = p->variant->big;
    const size_t header = p->variant->modified ? MODIFIED_HEADER : PACKET_HEADER;
    const uint8_t *bytes;
    size_t there = source_peek(reader->source, header, &bytes);
    if (there < header)
        return reader_end(reader, there > 0, err);
    struct rd r = rd_init(bytes, header);
    uint64_t seconds = file_u32(&r, big), fraction = file_u32(&r, big);
    uint32_t captured = file_u32(&r, big), original = file_u32(&r, big);
    if (p->lengths_swapped) {
        uint32_t first = captured;
        captured = original;
        original = first;
    }
    if (captured > MAX_PACKET)
        return reader_damaged(reader, "a packet's length is beyond all bounds", err);
    if (source_peek(reader->source, header + captured, &bytes) < header + captured)
        return reader_end(reader, true, err);
    *ret = (struct packet){
        .number = ++reader->number,
        .time_ns = seconds * NS_PER_SEC + fraction * (p->variant->nanoseconds ? 1 : 1000),
        .link_type = p->link_type,
        .data = bytes + header,
        .captured = captured,
        .original = original > captured ? original : captured,
    };
    source_skip(reader->source, header + captured);
    return 1;
}

static void pcap_done(struct packet_reader *reader)
{
    free(reader->state);
}

const struct packet_format pcap_format = {pcap_start, pcap_next, pcap_done};
