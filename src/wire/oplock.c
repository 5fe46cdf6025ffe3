/*
 * Promises and their end: the lease create contexts (2.2.13.2.8, .10, 2.2.14.2.10, .11) and
 * OPLOCK_BREAK (2.2.23 - 2.2.25).
 *
 * OPLOCK_BREAK is five layouts under one command. Which one a message has is told by its
 * StructureSize: 24 is about an oplock in every direction, 44 the server's notice that a lease
 * breaks, 36 the client's answer to that, and the server's answer to the answer.
 */
#include "wire/layout.h"

enum { LEASE_V1_SIZE = 32, LEASE_V2_SIZE = 52 };

/* ---- create contexts ---- */

void wire_lease_encode(struct wr *w, const struct wire_lease *l)
{
    wr_bytes(w, l->key, sizeof(l->key));
    wr_u32(w, l->state);
    wr_u32(w, l->flags);
    wr_u64(w, 0); /* LeaseDuration */
    if (l->version < 2)
        return;
    wr_bytes(w, l->parent_key, sizeof(l->parent_key));
    wr_u16(w, l->epoch);
    wr_u16(w, 0); /* Reserved */
}

int wire_lease_decode(struct rd data, struct wire_lease *ret)
{
    struct wire_lease l = {.version = data.len == LEASE_V2_SIZE ? 2 : 1};

    if (data.len != LEASE_V1_SIZE && data.len != LEASE_V2_SIZE)
        data.bad = true;
    rd_copy(&data, l.key, sizeof(l.key));
    l.state = rd_u32(&data);
    l.flags = rd_u32(&data);
    rd_skip(&data, 8); /* LeaseDuration */
    if (l.version == 2) {
        rd_copy(&data, l.parent_key, sizeof(l.parent_key));
        l.epoch = rd_u16(&data);
        rd_skip(&data, 2); /* Reserved */
    }

    if (!rd_ok(&data))
        return -EBADMSG;
    *ret = l;
    return 0;
}

/* ---- oplocks: 2.2.23.1, 2.2.24.1, 2.2.25.1 ---- */

void wire_oplock_break_encode(struct wr *w, const struct wire_oplock_break *m)
{
    wr_u16(w, 24);
    wr_u8(w, m->level);
    wr_u8(w, 0);  /* Reserved */
    wr_u32(w, 0); /* Reserved2 */
    layout_put_file_id(w, m->file_id);
}

int wire_oplock_break_decode(struct rd msg, struct wire_oplock_break *ret)
{
    struct wire_oplock_break m = {0};

    layout_size(&msg, 24);
    m.level = rd_u8(&msg);
    rd_skip(&msg, 1); /* Reserved */
    rd_skip(&msg, 4); /* Reserved2 */
    m.file_id = layout_file_id(&msg);

    if (!rd_ok(&msg))
        return -EBADMSG;
    *ret = m;
    return 0;
}

/* ---- leases: 2.2.23.2 ---- */

void wire_lease_break_encode(struct wr *w, const struct wire_lease_break *m)
{
    wr_u16(w, 44);
    wr_u16(w, m->epoch);
    wr_u32(w, m->flags);
    wr_bytes(w, m->key, sizeof(m->key));
    wr_u32(w, m->current_state);
    wr_u32(w, m->new_state);
    wr_u32(w, 0); /* BreakReason */
    wr_u32(w, 0); /* AccessMaskHint */
    wr_u32(w, 0); /* ShareMaskHint */
}

int wire_lease_break_decode(struct rd msg, struct wire_lease_break *ret)
{
    struct wire_lease_break m = {0};

    layout_size(&msg, 44);
    m.epoch = rd_u16(&msg);
    m.flags = rd_u32(&msg);
    rd_copy(&msg, m.key, sizeof(m.key));
    m.current_state = rd_u32(&msg);
    m.new_state = rd_u32(&msg);
    rd_skip(&msg, 4); /* BreakReason */
    rd_skip(&msg, 4); /* AccessMaskHint */
    rd_skip(&msg, 4); /* ShareMaskHint */

    if (!rd_ok(&msg))
        return -EBADMSG;
    *ret = m;
    return 0;
}

/* 2.2.24.2, 2.2.25.2 */
void wire_lease_ack_encode(struct wr *w, const struct wire_lease_ack *m)
{
    wr_u16(w, 36);
    wr_u16(w, 0); /* Reserved */
    wr_u32(w, m->flags);
    wr_bytes(w, m->key, sizeof(m->key));
    wr_u32(w, m->state);
    wr_u64(w, 0); /* LeaseDuration */
}

int wire_lease_ack_decode(struct rd msg, struct wire_lease_ack *ret)
{
    struct wire_lease_ack m = {0};

    layout_size(&msg, 36);
    rd_skip(&msg, 2); /* Reserved */
    m.flags = rd_u32(&msg);
    rd_copy(&msg, m.key, sizeof(m.key));
    m.state = rd_u32(&msg);
    rd_skip(&msg, 8); /* LeaseDuration */

    if (!rd_ok(&msg))
        return -EBADMSG;
    *ret = m;
    return 0;
}
