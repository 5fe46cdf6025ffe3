/*
 * From a packet to a TCP segment: link layers (Ethernet, VLAN and QinQ, NULL, LOOP, RAW, SLL,
 * SLL2), IPv4 with fragments, IPv6 with extension headers, TSO (a total length of 0), truncated
 * frames. Checksums are not looked at: captures on a sending host have none yet.
 */
#ifndef LARDER_CAPTURE_SEGMENT_H
#define LARDER_CAPTURE_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/packet.h"

struct endpoint {
    uint8_t address[16]; /* IPv4 as ::ffff:a.b.c.d */
    uint16_t port;
};
/* "10.0.0.1" or "fe80::1", without the port. Returns `out`. */
const char *endpoint_text(const struct endpoint *e, char out[static 48]);

enum { TCP_FIN = 1, TCP_SYN = 2, TCP_RST = 4, TCP_ACK = 16 };

struct segment {
    struct endpoint from, to;
    uint32_t seq, ack;
    uint8_t flags;
    const uint8_t *payload; /* borrowed, until the next packet */
    uint32_t captured;      /* bytes of payload that are there */
    uint32_t length;        /* bytes of payload on the wire: `captured` or more */
    uint64_t frame;         /* the packet's number and time (of the last fragment) */
    uint64_t time_ns;
};

struct segmenter; /* holds fragments; bounded */
struct segmenter *segmenter_new(void);
struct segmenter *segmenter_free(struct segmenter *s);
/* 1: a TCP segment; 0: something else, or a fragment that waits for others. */
int segmenter_take(struct segmenter *s, const struct packet *p, struct segment *ret);

#endif
