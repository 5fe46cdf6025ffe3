/*
 * What may stand where a message's header is expected: 2.2.41, 2.2.42.
 *
 * An encrypted message comes behind a transform header, a compressed one behind a compression
 * header. Both only wrap: what is inside, once decrypted and inflated, is an ordinary frame, and
 * where both are used the compressed one is inside. A chained compression header is followed by
 * payloads that have a header of their own each; an unchained one by bytes left as they were, up to
 * Offset, and the compressed rest.
 */
#include "wire/layout.h"

static const uint8_t ids[][4] = {
    [WIRE_SMB1] = {0xff, 'S', 'M', 'B'},
    [WIRE_SMB2] = {0xfe, 'S', 'M', 'B'},
    [WIRE_TRANSFORM] = {0xfd, 'S', 'M', 'B'},
    [WIRE_COMPRESSION] = {0xfc, 'S', 'M', 'B'},
};

enum { COMPRESSION_FLAG_CHAINED = 1 };

enum wire_protocol wire_protocol(const struct rd *frame)
{
    if (rd_left(frame) < sizeof(ids[0]))
        return WIRE_UNKNOWN;
    for (enum wire_protocol p = WIRE_SMB1; p <= WIRE_COMPRESSION; p++)
        if (memcmp(frame->base + frame->pos, ids[p], sizeof(ids[p])) == 0)
            return p;
    return WIRE_UNKNOWN;
}

static void expect(struct rd *frame, enum wire_protocol protocol)
{
    if (wire_protocol(frame) != protocol)
        frame->bad = true;
    rd_skip(frame, sizeof(ids[protocol]));
}

/* ---- encryption: 2.2.41 ---- */

void wire_transform_encode(struct wr *w, const struct wire_transform *t)
{
    w->origin = w->pos;
    wr_bytes(w, ids[WIRE_TRANSFORM], sizeof(ids[WIRE_TRANSFORM]));
    wr_bytes(w, t->signature, sizeof(t->signature));
    wr_bytes(w, t->nonce, sizeof(t->nonce));
    wr_u32(w, t->original_size);
    wr_u16(w, 0); /* Reserved */
    wr_u16(w, t->flags);
    wr_u64(w, t->session_id);
}

int wire_transform_decode(struct rd *frame, struct wire_transform *ret)
{
    struct wire_transform t = {0};

    expect(frame, WIRE_TRANSFORM);
    rd_copy(frame, t.signature, sizeof(t.signature));
    rd_copy(frame, t.nonce, sizeof(t.nonce));
    t.original_size = rd_u32(frame);
    rd_skip(frame, 2); /* Reserved */
    t.flags = rd_u16(frame);
    t.session_id = rd_u64(frame);

    if (!rd_ok(frame))
        return -EBADMSG;
    *ret = t;
    return 0;
}

/* ---- compression: 2.2.42.1, 2.2.42.2 ---- */

void wire_compression_encode(struct wr *w, const struct wire_compression *c)
{
    w->origin = w->pos;
    wr_bytes(w, ids[WIRE_COMPRESSION], sizeof(ids[WIRE_COMPRESSION]));
    wr_u32(w, c->original_size);
    if (c->chained)
        return;
    wr_u16(w, c->algorithm);
    wr_u16(w, 0); /* Flags */
    wr_u32(w, c->offset);
}

int wire_compression_decode(struct rd *frame, struct wire_compression *ret)
{
    struct wire_compression c = {0};

    expect(frame, WIRE_COMPRESSION);
    c.original_size = rd_u32(frame);
    struct rd rest = *frame;
    c.algorithm = rd_u16(&rest);
    uint16_t flags = rd_u16(&rest);
    c.chained = flags == COMPRESSION_FLAG_CHAINED;
    c.offset = rd_u32(&rest);
    if (flags > COMPRESSION_FLAG_CHAINED)
        rest.bad = true;
    if (c.chained)
        c.algorithm = 0, c.offset = 0;
    else
        frame->pos = rest.pos;
    frame->bad = rest.bad;
    if (!c.chained && c.offset > rd_left(frame))
        frame->bad = true;

    if (!rd_ok(frame))
        return -EBADMSG;
    *ret = c;
    return 0;
}

/* 2.2.42.2.1 */
static bool tells_size(uint16_t algorithm)
{
    return algorithm != SMB2_COMPRESSION_NONE && algorithm != SMB2_COMPRESSION_PATTERN_V1;
}

void wire_compression_payload_encode(struct wr *w, const struct wire_compression_payload *p,
                                     bool first)
{
    bool sized = tells_size(p->algorithm);

    wr_u16(w, p->algorithm);
    wr_u16(w, first ? COMPRESSION_FLAG_CHAINED : 0);
    layout_put_len32(w, p->data.len + (sized ? 4 : 0)); /* Length */
    if (sized)
        wr_u32(w, p->original_size);
    wr_bytes(w, p->data.base, p->data.len);
}

int wire_compression_payload_next(struct rd *chain, struct wire_compression_payload *ret)
{
    struct wire_compression_payload p = {0};
    if (rd_ok(chain) && rd_left(chain) == 0)
        return 0;

    p.algorithm = rd_u16(chain);
    rd_skip(chain, 2); /* Flags */
    uint32_t len = rd_u32(chain);
    p.data = rd_sub(chain, chain->pos, len);
    rd_skip(chain, len);
    if (tells_size(p.algorithm)) {
        struct rd payload = p.data;
        p.original_size = rd_u32(&payload);
        p.data = rd_sub(&payload, payload.pos, rd_left(&payload));
        chain->bad |= payload.bad;
    }

    if (!rd_ok(chain))
        return -EBADMSG;
    *ret = p;
    return 1;
}

int wire_compression_payload_size(const struct wire_compression_payload *p, uint32_t *ret)
{
    struct rd data = p->data;

    switch (p->algorithm) {
    case SMB2_COMPRESSION_NONE:
        *ret = (uint32_t)p->data.len;
        return 0;
    case SMB2_COMPRESSION_PATTERN_V1: /* 2.2.42.2.2 */
        rd_skip(&data, 4);            /* Pattern, Reserved1, Reserved2 */
        uint32_t repetitions = rd_u32(&data);
        if (!rd_ok(&data))
            return -EBADMSG;
        *ret = repetitions;
        return 0;
    default:
        *ret = p->original_size;
        return 0;
    }
}
