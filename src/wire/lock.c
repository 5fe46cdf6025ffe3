/*
 * LOCK: 2.2.26. Its elements have one size, so the request's cursor over them is the count, and an
 * element is read from it or refused, never half.
 */
#include "wire/layout.h"

enum { ELEMENT_SIZE = 24 };

/* 2.2.26.1 */
void wire_lock_element_encode(struct wr *w, const struct wire_lock_element *e)
{
    wr_u64(w, e->offset);
    wr_u64(w, e->length);
    wr_u32(w, e->flags);
    wr_u32(w, 0); /* Reserved */
}

int wire_lock_element_next(struct rd *locks, struct wire_lock_element *ret)
{
    struct wire_lock_element e = {0};
    if (rd_ok(locks) && rd_left(locks) == 0)
        return 0;

    e.offset = rd_u64(locks);
    e.length = rd_u64(locks);
    e.flags = rd_u32(locks);
    rd_skip(locks, 4); /* Reserved */

    if (!rd_ok(locks))
        return -EBADMSG;
    *ret = e;
    return 1;
}

/* 2.2.26 */
void wire_lock_request_encode(struct wr *w, const struct wire_lock_request *m)
{
    if (m->locks.len == 0 || m->locks.len % ELEMENT_SIZE)
        w->bad = true;
    wr_u16(w, 48);
    layout_put_len16(w, m->locks.len / ELEMENT_SIZE);
    wr_u32(w, m->sequence);
    layout_put_file_id(w, m->file_id);
    wr_bytes(w, m->locks.base, m->locks.len);
}

int wire_lock_request_decode(struct rd msg, struct wire_lock_request *ret)
{
    struct wire_lock_request m = {0};

    layout_size(&msg, 48);
    uint16_t count = rd_u16(&msg);
    m.sequence = rd_u32(&msg);
    m.file_id = layout_file_id(&msg);
    if (count == 0)
        msg.bad = true;
    m.locks = layout_buffer(&msg, msg.pos, (size_t)count * ELEMENT_SIZE);

    if (!rd_ok(&msg))
        return -EBADMSG;
    *ret = m;
    return 0;
}
