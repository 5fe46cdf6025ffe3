/*
 * Peels a packet: link layer, VLAN tags, IPv4 or IPv6, TCP.
 *
 * Two lengths go along all the way, of what was captured and of what was on the wire, since a frame
 * may be truncated by the capture's snapshot length. What the IP header says is believed over the
 * frame: it takes off Ethernet's padding, and it knows the true length where the frame's was lost
 * (converters from event traces write the captured one). A total length of 0 is a frame that the
 * network card would have cut up (TSO), or one of more than 64 KiB: then it is the frame's.
 */
#include "capture/segment.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "base/rd.h"
#include "capture/fragment.h"

enum { PROTOCOL_TCP = 6 };
enum { ETHERTYPE_IPV4 = 0x0800, ETHERTYPE_IPV6 = 0x86dd };
enum { MAX_TAGS = 4, MAX_EXTENSIONS = 16 };
enum { TCP_HEADER = 20 };

/* What is left of a packet: r's bytes were captured, `wire` were on the wire. */
struct layer {
    struct rd r;
    uint32_t wire;
};

struct segmenter {
    struct fragments *fragments;
};

struct segmenter *segmenter_new(void)
{
    struct segmenter *s = calloc(1, sizeof(*s));
    if (s)
        s->fragments = fragments_new();
    return s && s->fragments ? s : segmenter_free(s);
}

struct segmenter *segmenter_free(struct segmenter *s)
{
    if (!s)
        return NULL;
    fragments_free(s->fragments);
    free(s);
    return NULL;
}

const char *endpoint_text(const struct endpoint *e, char out[static 48])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    if (memcmp(e->address, mapped, sizeof(mapped)) == 0)
        inet_ntop(AF_INET, e->address + 12, out, 48);
    else
        inet_ntop(AF_INET6, e->address, out, 48);
    return out;
}

/* Moves behind a header of n bytes; false where the packet ends before. */
static bool peel(struct layer *l, size_t n)
{
    if (n > l->wire)
        return false;
    rd_skip(&l->r, n);
    l->r = rd_init(l->r.base + l->r.pos, rd_left(&l->r));
    l->wire -= (uint32_t)n;
    return rd_ok(&l->r);
}

/* Cuts the layer to the n bytes that its header announces; 0: it does not know. */
static void trim(struct layer *l, uint32_t n)
{
    if (n == 0)
        return;
    l->wire = n;
    if (l->r.len > n)
        l->r.len = n;
}

/* The Ethernet type behind VLAN tags of any kind. */
static uint16_t skip_tags(struct layer *l, uint16_t type)
{
    for (int i = 0; i < MAX_TAGS && (type == 0x8100 || type == 0x88a8 || type == 0x9100); i++) {
        struct rd tag = l->r;
        rd_skip(&tag, 2);
        type = rd_be16(&tag);
        if (!rd_ok(&tag) || !peel(l, 4))
            return 0;
    }
    return type;
}

/* Takes off a link header of n bytes that has the Ethernet type at `at`. */
static uint16_t peel_typed(struct layer *l, size_t n, size_t at)
{
    struct rd r = l->r;
    rd_skip(&r, at);
    uint16_t type = rd_be16(&r);
    return rd_ok(&r) && peel(l, n) ? skip_tags(l, type) : 0;
}

/* The version in the first half byte, for links that name the protocol by numbers that differ from
 * one system to the next, or not at all. */
static uint16_t type_by_version(const struct layer *l)
{
    struct rd r = l->r;
    uint8_t version = rd_u8(&r) >> 4;
    return version == 4 ? ETHERTYPE_IPV4 : version == 6 ? ETHERTYPE_IPV6 : 0;
}

/* Takes off the link header: the Ethernet type of what is behind, 0 where it is of no use. */
static uint16_t peel_link(struct layer *l, uint32_t link_type)
{
    switch (link_type) {
    case 1: /* Ethernet */
        return peel_typed(l, 14, 12);
    case 0:   /* NULL: BSD's loopback, the address family in the host's byte order */
    case 108: /* LOOP: OpenBSD's, in network order */
        return peel(l, 4) ? type_by_version(l) : 0;
    case 12: /* RAW; 12 and 14 are what some systems' libpcap wrote for 101 */
    case 14:
    case 101:
        return type_by_version(l);
    case 113: /* Linux "cooked": `-i any` */
        return peel_typed(l, 16, 14);
    case 276: /* the same, second version */
        return peel_typed(l, 20, 0);
    case 228:
        return ETHERTYPE_IPV4;
    case 229:
        return ETHERTYPE_IPV6;
    default:
        return 0;
    }
}

/* Hands a fragment in; true where it makes its datagram whole, which `l` then is. */
static bool join(struct segmenter *s, struct layer *l, struct fragment *f, const struct packet *p)
{
    f->data = l->r.base;
    f->captured = (uint32_t)l->r.len;
    f->length = l->wire;
    f->time_ns = p->time_ns;
    uint32_t captured;
    const uint8_t *whole = fragments_take(s->fragments, f, &captured, &l->wire);
    if (whole)
        l->r = rd_init(whole, captured);
    return whole != NULL;
}

/* Takes off an IPv4 header (RFC 791). True where TCP is behind it. */
static bool peel_ipv4(struct segmenter *s, struct layer *l, const struct packet *p,
                      struct segment *ret)
{
    struct fragment f = {0};
    struct rd r = l->r;
    uint8_t first = rd_u8(&r);
    rd_skip(&r, 1);
    uint16_t total = rd_be16(&r);
    f.id = rd_be16(&r);
    uint16_t where = rd_be16(&r);
    rd_skip(&r, 1);
    f.protocol = rd_u8(&r);
    rd_skip(&r, 2);
    memset(ret->from.address + 10, 0xff, 2);
    memset(ret->to.address + 10, 0xff, 2);
    rd_copy(&r, ret->from.address + 12, 4);
    rd_copy(&r, ret->to.address + 12, 4);
    size_t header = (size_t)(first & 15) * 4;
    if (!rd_ok(&r) || first >> 4 != 4 || header < 20 || (total && total < header))
        return false;
    trim(l, total);
    if (f.protocol != PROTOCOL_TCP || !peel(l, header))
        return false;
    f.offset = (uint32_t)(where & 0x1fff) * 8;
    f.more = where & 0x2000;
    if (f.offset == 0 && !f.more)
        return true;
    memcpy(f.from, ret->from.address, 16);
    memcpy(f.to, ret->to.address, 16);
    return join(s, l, &f, p);
}

/* One extension header of IPv6 (RFC 8200 section 4): moves behind it and sets the next one's type.
 * False where the packet leads no further. */
static bool peel_extension(struct segmenter *s, struct layer *l, const struct packet *p,
                           const struct segment *addresses, uint8_t *type)
{
    struct rd r = l->r;
    uint8_t next = rd_u8(&r), length = rd_u8(&r);
    if (*type == 44) { /* a fragment */
        struct fragment f = {.protocol = next};
        uint16_t where = rd_be16(&r);
        f.id = rd_be32(&r);
        f.offset = where & 0xfff8u;
        f.more = where & 1;
        memcpy(f.from, addresses->from.address, 16);
        memcpy(f.to, addresses->to.address, 16);
        if (!rd_ok(&r) || !peel(l, 8))
            return false;
        *type = next;
        return (f.offset == 0 && !f.more) || join(s, l, &f, p);
    }
    bool is_extension = *type == 0 || *type == 43 || *type == 60 || *type == 135;
    bool is_authentication = *type == 51; /* its length counts words of 4, not 8 */
    *type = next;
    if (!rd_ok(&r))
        return false;
    if (is_authentication)
        return peel(l, ((size_t)length + 2) * 4);
    return is_extension && peel(l, ((size_t)length + 1) * 8);
}

static bool peel_ipv6(struct segmenter *s, struct layer *l, const struct packet *p,
                      struct segment *ret)
{
    struct rd r = l->r;
    uint8_t first = rd_u8(&r);
    rd_skip(&r, 3);
    uint16_t payload = rd_be16(&r);
    uint8_t type = rd_u8(&r);
    rd_skip(&r, 1);
    rd_copy(&r, ret->from.address, 16);
    rd_copy(&r, ret->to.address, 16);
    if (!rd_ok(&r) || first >> 4 != 6 || !peel(l, 40))
        return false;
    trim(l, payload);
    for (int i = 0; i < MAX_EXTENSIONS && type != PROTOCOL_TCP; i++)
        if (!peel_extension(s, l, p, ret, &type))
            return false;
    return type == PROTOCOL_TCP;
}

/* RFC 9293 section 3.1. Options may be cut off; the fields before them may not. */
static bool peel_tcp(struct layer *l, struct segment *ret)
{
    struct rd r = l->r;
    ret->from.port = rd_be16(&r);
    ret->to.port = rd_be16(&r);
    ret->seq = rd_be32(&r);
    ret->ack = rd_be32(&r);
    uint32_t header = (uint32_t)(rd_u8(&r) >> 4) * 4;
    ret->flags = rd_u8(&r);
    if (!rd_ok(&r) || header < TCP_HEADER || header > l->wire)
        return false;
    ret->length = l->wire - header;
    if (l->r.len > header) {
        ret->payload = l->r.base + header;
        ret->captured = (uint32_t)l->r.len - header;
    }
    return true;
}

int segmenter_take(struct segmenter *s, const struct packet *p, struct segment *ret)
{
    *ret = (struct segment){.frame = p->number, .time_ns = p->time_ns};
    struct layer l = {rd_init(p->data, p->captured), p->original};
    uint16_t type = peel_link(&l, p->link_type);
    bool tcp = type == ETHERTYPE_IPV4   ? peel_ipv4(s, &l, p, ret)
               : type == ETHERTYPE_IPV6 ? peel_ipv6(s, &l, p, ret)
                                        : false;
    return tcp && peel_tcp(&l, ret);
}
