/*
 * Compressed records: 2.2.42, 3.2.5.1.1.2.
 *
 * A few bytes may inflate to a record of the largest size, over and over. That is what compression
 * is for, so the bound is on all of a capture together: a constant, and a multiple of its own
 * bytes. What is beyond is counted as compressed like what cannot be inflated.
 */
#include "capture/dissector.h"

#define INFLATED_MAX   ((uint64_t)4 << 30)
#define INFLATED_RATIO 256

static bool may_inflate(struct dissector *d, uint64_t len)
{
    if (len == 0 || len > WIRE_FRAME_MAX ||
        d->inflated_bytes + len > INFLATED_MAX + INFLATED_RATIO * d->captured_bytes)
        return false;
    d->inflated_bytes += len;
    return dissector_room(&d->inflated, &d->inflated_cap, len);
}

/* 2.2.42.1: bytes that were left as they were, then the compressed ones. */
static bool unchained(struct dissector *d, const struct wire_compression *c, struct rd in,
                      uint32_t *ret_len)
{
    uint64_t len = (uint64_t)c->offset + c->original_size;
    struct rd plain = rd_sub(&in, in.pos, c->offset);
    rd_skip(&in, c->offset);
    struct rd rest = rd_sub(&in, in.pos, rd_left(&in));
    if (!rd_ok(&in) || !may_inflate(d, len))
        return false;
    if (plain.len)
        memcpy(d->inflated, plain.base, plain.len);
    *ret_len = (uint32_t)len;
    return wire_inflate(c->algorithm, rest, d->inflated + c->offset, c->original_size) == 0;
}

/* 2.2.42.2: payloads that follow each other in the result too. */
static bool chained(struct dissector *d, const struct wire_compression *c, struct rd in,
                    uint32_t *ret_len)
{
    struct wire_compression_payload p;
    uint32_t at = 0, len = 0;
    int r;

    if (!may_inflate(d, c->original_size))
        return false;
    while ((r = wire_compression_payload_next(&in, &p)) > 0) {
        if (wire_compression_payload_size(&p, &len) < 0 || len > c->original_size - at ||
            wire_inflate(p.algorithm, p.data, d->inflated + at, len) < 0)
            return false;
        at += len;
    }
    *ret_len = at;
    return r == 0 && at == c->original_size;
}

bool inflate_record(struct conn *c, const struct record *r, struct rd *inout)
{
    struct dissector *d = c->d;
    struct wire_compression header;
    struct rd in = *inout;
    uint32_t len = 0;

    d->counts.compressed_messages++;
    bool whole = r->captured >= r->length;
    bool decoded = whole && wire_compression_decode(&in, &header) == 0;
    d->counts.malformed += whole && !decoded;
    if (!decoded || !(header.chained ? chained : unchained)(d, &header, in, &len)) {
        d->counts.not_inflated++;
        return false;
    }
    *inout = rd_init(d->inflated, len);
    return true;
}
