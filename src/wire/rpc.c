/*
 * PDUs of DCE/RPC. (C706 12.6.4; MS-RPCE 2.2.2)
 *
 * A PDU says in its header how long it is; one that carries a verifier (auth_length) was not asked
 * for. A BIND offers one interface in one transfer syntax; what a BIND_ACK has beside its first
 * result (the address of the pipe, further results) is stepped over. Stubs are cut out of the PDU
 * and put together by whoever reads the pipe.
 */
#include "wire/rpc.h"

#include <errno.h>
#include <string.h>

/* {8a885d04-1ceb-11c9-9fe8-08002b104860} 2.0 */
const struct wire_rpc_syntax wire_rpc_ndr = {
    {0x04, 0x5d, 0x88, 0x8a, 0xeb, 0x1c, 0xc9, 0x11, 0x9f, 0xe8, 8, 0, 0x2b, 0x10, 0x48, 0x60}, 2};
/* {4b324fc8-1670-01d3-1278-5a47bf6ee188} 3.0: MS-SRVS 1.9 */
const struct wire_rpc_syntax wire_rpc_srvsvc = {{0xc8, 0x4f, 0x32, 0x4b, 0x70, 0x16, 0xd3, 0x01,
                                                 0x12, 0x78, 0x5a, 0x47, 0xbf, 0x6e, 0xe1, 0x88},
                                                3};

enum {
    LITTLE_ENDIAN_ASCII = 0x10, /* data representation: integers and characters; IEEE floats */
    LENGTH_AT = 8,              /* frag_length in the header */
};

static void put_syntax(struct wr *w, const struct wire_rpc_syntax *s)
{
    wr_bytes(w, s->uuid, sizeof(s->uuid));
    wr_u32(w, s->version);
}

static struct wire_rpc_syntax take_syntax(struct rd *r)
{
    struct wire_rpc_syntax s;
    rd_copy(r, s.uuid, sizeof(s.uuid));
    s.version = rd_u32(r);
    return s;
}

static bool same_syntax(const struct wire_rpc_syntax *a, const struct wire_rpc_syntax *b)
{
    return memcmp(a->uuid, b->uuid, sizeof(a->uuid)) == 0 && a->version == b->version;
}

/* ---- bodies ---- */

static void put_bind(struct wr *w, const struct wire_rpc *m)
{
    wr_u16(w, m->max_fragment); /* max_xmit_frag */
    wr_u16(w, m->max_fragment); /* max_recv_frag */
    wr_u32(w, 0);               /* assoc_group_id: a new one */
    wr_u32(w, 1);               /* one context, and padding */
    wr_u16(w, 0);               /* its number */
    wr_u16(w, 1);               /* transfer syntaxes, and padding */
    put_syntax(w, &m->offers);
    put_syntax(w, &wire_rpc_ndr);
}

static void take_bind(struct rd *r, struct wire_rpc *m)
{
    m->max_fragment = rd_u16(r);
    rd_skip(r, 6); /* max_recv_frag, assoc_group_id */
    if (rd_u32(r) != 1 || rd_u16(r) != 0 || rd_u16(r) != 1)
        r->bad = true;
    m->offers = take_syntax(r);
    struct wire_rpc_syntax transfer = take_syntax(r);
    if (!same_syntax(&transfer, &wire_rpc_ndr))
        r->bad = true;
}

static void put_bind_ack(struct wr *w, const struct wire_rpc *m)
{
    wr_u16(w, m->max_fragment);
    wr_u16(w, m->max_fragment);
    wr_u32(w, 0); /* assoc_group_id */
    wr_u16(w, 0); /* length of the secondary address: there is none */
    wr_align(w, 4);
    wr_u32(w, 1); /* one result, and padding */
    wr_u16(w, m->result);
    wr_u16(w, m->reason);
    put_syntax(w, &wire_rpc_ndr);
}

static void take_bind_ack(struct rd *r, struct wire_rpc *m)
{
    m->max_fragment = rd_u16(r);
    rd_skip(r, 6);         /* max_recv_frag, assoc_group_id */
    rd_skip(r, rd_u16(r)); /* the secondary address */
    rd_skip(r, -r->pos % 4);
    if (rd_u8(r) < 1)
        r->bad = true;
    rd_skip(r, 3);
    m->result = rd_u16(r);
    m->reason = rd_u16(r);
    rd_skip(r, 20); /* the transfer syntax */
}

static void put_call(struct wr *w, const struct wire_rpc *m)
{
    wr_u32(w, m->hint);
    wr_u16(w, 0); /* the context */
    wr_u16(w, m->type == RPC_REQUEST ? m->operation : 0);
    if (m->type == RPC_FAULT) {
        wr_u32(w, m->status);
        wr_u32(w, 0);
    } else {
        wr_bytes(w, m->stub.base, m->stub.len);
    }
}

static void take_call(struct rd *r, struct wire_rpc *m)
{
    m->hint = rd_u32(r);
    rd_skip(r, 2);
    uint16_t operation = rd_u16(r); /* in answers: cancel_count, and padding */
    if (m->type == RPC_REQUEST)
        m->operation = operation;
    if (m->type == RPC_FAULT)
        m->status = rd_u32(r);
    else
        m->stub = rd_sub(r, r->pos, rd_left(r));
}

/* ---- the whole ---- */

void wire_rpc_encode(struct wr *w, const struct wire_rpc *m)
{
    size_t start = w->pos;
    w->origin = start;
    wr_u8(w, 5); /* version 5.0 */
    wr_u8(w, 0);
    wr_u8(w, m->type);
    wr_u8(w, m->flags);
    wr_u32(w, LITTLE_ENDIAN_ASCII);
    wr_u16(w, 0); /* frag_length */
    wr_u16(w, 0); /* auth_length */
    wr_u32(w, m->call);
    switch (m->type) {
    case RPC_BIND:
        put_bind(w, m);
        break;
    case RPC_BIND_ACK:
        put_bind_ack(w, m);
        break;
    case RPC_BIND_NAK:
        wr_u16(w, m->reason);
        break;
    case RPC_REQUEST:
    case RPC_RESPONSE:
    case RPC_FAULT:
        put_call(w, m);
        break;
    default:
        w->bad = true;
    }
    if (w->pos - start > UINT16_MAX)
        w->bad = true;
    wr_put16(w, start + LENGTH_AT, (uint16_t)(w->pos - start));
}

int wire_rpc_length(struct rd header)
{
    bool is = rd_u8(&header) == 5 && rd_u8(&header) == 0;
    rd_skip(&header, 2);
    is = is && (rd_u32(&header) & 0xff) == LITTLE_ENDIAN_ASCII;
    uint16_t len = rd_u16(&header);
    return is && rd_ok(&header) && len >= WIRE_RPC_HEADER ? len : -EBADMSG;
}

int wire_rpc_decode(struct rd pdu, struct wire_rpc *ret)
{
    struct wire_rpc m = {0};
    if (wire_rpc_length(rd_init(pdu.base, pdu.len)) != (int)pdu.len)
        return -EBADMSG;

    rd_skip(&pdu, 2);
    m.type = rd_u8(&pdu);
    m.flags = rd_u8(&pdu);
    rd_skip(&pdu, 6); /* data representation, frag_length */
    if (rd_u16(&pdu) != 0)
        return -EBADMSG;
    m.call = rd_u32(&pdu);
    switch (m.type) {
    case RPC_BIND:
        take_bind(&pdu, &m);
        break;
    case RPC_BIND_ACK:
        take_bind_ack(&pdu, &m);
        break;
    case RPC_BIND_NAK:
        m.reason = rd_u16(&pdu);
        break;
    case RPC_REQUEST:
    case RPC_RESPONSE:
    case RPC_FAULT:
        take_call(&pdu, &m);
        break;
    default:
        return -EBADMSG;
    }

    if (!rd_ok(&pdu))
        return -EBADMSG;
    *ret = m;
    return 0;
}

/* C706 appendix E, MS-ERREF 2.2. */
const char *wire_rpc_fault_text(uint32_t status)
{
    switch (status) {
    case 5:
        return "access denied";
    case 0x1c010002:
        return "the server does not know this call";
    case 0x1c010003:
        return "the server does not know this interface";
    case 0x000006f7:
    case 0x1c000006:
    case 0x1c01000b:
        return "the server could not read the request";
    default:
        return NULL;
    }
}
