/*
 * What the formats of capture files share: a format is three functions over the common reader.
 */
#ifndef LARDER_CAPTURE_READER_H
#define LARDER_CAPTURE_READER_H

#include "base/rd.h"
#include "capture/packet.h"
#include "capture/source.h"

/* What a packet may claim to be. The largest real ones, BIG TCP's, have 512 KiB. */
enum { MAX_PACKET = 1 << 20 };

struct packet_format {
    int (*start)(struct packet_reader *r, struct error *err); /* NULL: nothing to do */
    int (*next)(struct packet_reader *r, struct packet *ret, struct error *err);
    void (*done)(struct packet_reader *r);
};

struct packet_reader {
    const struct packet_format *format;
    void *state;           /* the format's, released by its `done` */
    struct source *source; /* NULL for a live interface */
    uint64_t number;       /* of packets given */
    uint64_t dropped;
    bool cut_off;
};

extern const struct packet_format pcap_format, pcapng_format;

/* Whether a file that begins with these four bytes is a pcap file. */
bool pcap_magic_known(const uint8_t magic[static 4]);

/* For a format's `next` where the bytes run out: 0, or the error of reading. `middle`: there was
 * the beginning of something. */
int reader_end(struct packet_reader *r, bool middle, struct error *err);
/* Where lengths contradict each other: -EBADMSG. What came before stays good. */
int reader_damaged(const struct packet_reader *r, const char *what, struct error *err);

/* An integer in the byte order of the file. */
static inline uint32_t file_u32(struct rd *r, bool big)
{
    uint32_t v = rd_u32(r);
    return big ? __builtin_bswap32(v) : v;
}

static inline uint16_t file_u16(struct rd *r, bool big)
{
    uint16_t v = rd_u16(r);
    return big ? __builtin_bswap16(v) : v;
}

#endif
