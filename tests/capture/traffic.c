/* Frames from the inside out: a TCP segment, the IP packets that carry it, the link header. */
#include "capture/traffic.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_FRAME = 80 << 10 };

/* Bytes in network order. */
struct bytes {
    uint8_t *at;
    size_t n;
};

static void put(struct bytes *b, uint32_t v, int bytes)
{
    while (bytes-- > 0)
        b->at[b->n++] = (uint8_t)(v >> 8 * bytes);
}

static void put_bytes(struct bytes *b, const void *data, size_t n)
{
    if (n)
        memcpy(b->at + b->n, data, n);
    b->n += n;
}

static void put_tags(struct bytes *b, const struct link_style *style, uint16_t type)
{
    if (style->vlan_tags > 1)
        put(b, 0x88a80064, 4);
    if (style->vlan_tags > 0)
        put(b, 0x81000007, 4);
    put(b, type, 2);
}

static void put_link(struct bytes *b, const struct link_style *style)
{
    const uint16_t type = style->ipv6 ? 0x86dd : 0x0800;
    switch (style->link_type) {
    case 0:
    case 1:
        put_bytes(b, "\x02\0\0\0\0\x01\x02\0\0\0\0\x02", 12);
        put_tags(b, style, type);
        break;
    case LINK_NULL:
        put(b, style->ipv6 ? 0x1e000000 : 0x02000000, 4);
        break;
    case 108:
        put(b, style->ipv6 ? 24 : 2, 4);
        break;
    case 113:
        put_bytes(b, "\0\0\0\x01\0\x06\x02\0\0\0\0\x01\0\0", 14);
        put_tags(b, style, type);
        break;
    case 276:
        put(b, type, 2);
        put_bytes(b, "\0\0\0\0\0\x02\0\x01\0\x06\x02\0\0\0\0\x01\0\0", 18);
        break;
    default: /* the raw ones have no header */
        break;
    }
}

static void put_ipv4(struct bytes *b, const struct tcp_session *s, int side, uint16_t id,
                     uint32_t offset, bool more, size_t payload)
{
    put(b, 0x4500, 2);
    put(b, s->style.no_total_length ? 0 : (uint32_t)(20 + payload), 2);
    put(b, id, 2);
    put(b, (more ? 0x2000 : 0) | offset / 8, 2);
    put(b, 0x4006, 2);
    put(b, 0, 2);
    put(b, 0x0a000000u | s->host[side], 4);
    put(b, 0x0a000000u | s->host[1 - side], 4);
}

static void put_ipv6(struct bytes *b, const struct tcp_session *s, int side, uint16_t id,
                     uint32_t offset, bool more, size_t payload)
{
    bool fragment = offset || more;
    size_t extensions = (s->style.hop_options ? 8 : 0) + (fragment ? 8 : 0);
    put(b, 0x60000000, 4);
    put(b, s->style.no_total_length ? 0 : (uint32_t)(payload + extensions), 2);
    put(b, s->style.hop_options ? 0 : fragment ? 44 : 6, 1);
    put(b, 64, 1);
    for (int end = 0; end < 2; end++) {
        put(b, 0xfd000000, 4);
        put(b, 0, 4);
        put(b, 0, 4);
        put(b, s->host[end ? 1 - side : side], 4);
    }
    if (s->style.hop_options) {
        put(b, fragment ? 44 : 6, 1);
        put_bytes(b, "\0\x01\x04\0\0\0\0", 7);
    }
    if (fragment) {
        put(b, 6, 1);
        put(b, 0, 1);
        put(b, offset | more, 2);
        put(b, id, 4);
    }
}

/* One frame with part of an IP payload. */
static void write_frame(struct tcp_session *s, int side, const uint8_t *payload, size_t n,
                        uint32_t offset, bool more)
{
    struct bytes b = {malloc(MAX_FRAME), 0};
    const uint16_t id = (uint16_t)(s->seq[side] * 7 + s->host[side]);
    put_link(&b, &s->style);
    if (s->style.ipv6)
        put_ipv6(&b, s, side, id, offset, more, n);
    else
        put_ipv4(&b, s, side, id, offset, more, n);
    put_bytes(&b, payload + offset, n);
    while (s->style.padded && b.n < 60)
        put(&b, 0xfe, 1);
    uint32_t captured = (uint32_t)b.n;
    if (s->style.snaplen && s->style.snaplen < captured)
        captured = s->style.snaplen;
    capture_packet(s->c, b.at, captured, (uint32_t)b.n);
    free(b.at);
}

void session_segment(struct tcp_session *s, int side, uint32_t seq, const void *data, uint32_t n,
                     uint8_t flags)
{
    struct bytes b = {malloc(MAX_FRAME), 0};
    put(&b, s->port[side], 2);
    put(&b, s->port[1 - side], 2);
    put(&b, seq, 4);
    put(&b, flags & TCP_HAS_ACK ? s->seq[1 - side] : 0, 4);
    put(&b, 0x8000u | flags, 2); /* 12 bytes of options */
    put(&b, 0xffff, 2);
    put(&b, 0, 4);
    put_bytes(&b, "\x01\x01\x08\x0a\0\0\0\x01\0\0\0\x02", 12);
    put_bytes(&b, data, n);
    const uint32_t piece = s->style.fragment;
    if (piece == 0 || b.n <= piece) {
        write_frame(s, side, b.at, b.n, 0, false);
    } else {
        uint32_t count = ((uint32_t)b.n + piece - 1) / piece;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t at = (s->style.fragments_backwards ? count - 1 - i : i) * piece;
            size_t length = b.n - at < piece ? b.n - at : piece;
            write_frame(s, side, b.at, length, at, at + length < b.n);
        }
    }
    free(b.at);
}

void session_init(struct tcp_session *s, struct capture *c, uint8_t client, uint16_t server_port)
{
    *s = (struct tcp_session){
        .c = c,
        .host = {client, 200},
        .port = {(uint16_t)(50000 + client), server_port},
        .seq = {1000, 9000},
        .mss = 1448,
        .acks = true,
    };
}

void session_ack(struct tcp_session *s, int side)
{
    session_segment(s, side, s->seq[side], NULL, 0, TCP_HAS_ACK);
}

void session_handshake(struct tcp_session *s)
{
    session_segment(s, CLIENT, s->seq[CLIENT]++, NULL, 0, TCP_HAS_SYN);
    session_segment(s, SERVER, s->seq[SERVER]++, NULL, 0, TCP_HAS_SYN | TCP_HAS_ACK);
    session_ack(s, CLIENT);
}

void session_send(struct tcp_session *s, int side, const void *data, size_t n)
{
    const uint8_t *bytes = data;
    for (size_t at = 0; at < n;) {
        uint32_t piece = n - at < s->mss ? (uint32_t)(n - at) : s->mss;
        session_segment(s, side, s->seq[side], bytes + at, piece, TCP_HAS_ACK);
        s->seq[side] += piece;
        at += piece;
        if (s->acks)
            session_ack(s, 1 - side);
    }
}

void session_record(struct tcp_session *s, int side, const void *body, size_t n)
{
    struct bytes b = {malloc(n + 4), 0};
    put(&b, (uint32_t)n, 4);
    put_bytes(&b, body, n);
    session_send(s, side, b.at, b.n);
    free(b.at);
}

void session_close(struct tcp_session *s)
{
    session_segment(s, CLIENT, s->seq[CLIENT]++, NULL, 0, TCP_HAS_FIN | TCP_HAS_ACK);
    session_segment(s, SERVER, s->seq[SERVER]++, NULL, 0, TCP_HAS_FIN | TCP_HAS_ACK);
    session_ack(s, CLIENT);
}
