/*
 * CHANGE_NOTIFY: 2.2.35 (its response is one buffer, see directory.c), and the changes in that:
 * MS-FSCC 2.7.1.
 *
 * Changes are a chain whose links count from the change that has them; each is cut out before it is
 * read, so that every walk moves forward and ends.
 */
#include "wire/layout.h"

/* 2.2.35 */
void wire_change_notify_request_encode(struct wr *w, const struct wire_change_notify_request *m)
{
    wr_u16(w, 32);
    wr_u16(w, m->flags);
    wr_u32(w, m->output_length);
    layout_put_file_id(w, m->file_id);
    wr_u32(w, m->filter);
    wr_u32(w, 0); /* Reserved */
}

int wire_change_notify_request_decode(struct rd msg, struct wire_change_notify_request *ret)
{
    struct wire_change_notify_request m = {0};

    layout_size(&msg, 32);
    m.flags = rd_u16(&msg);
    m.output_length = rd_u32(&msg);
    m.file_id = layout_file_id(&msg);
    m.filter = rd_u32(&msg);
    rd_skip(&msg, 4); /* Reserved */

    if (!rd_ok(&msg))
        return -EBADMSG;
    *ret = m;
    return 0;
}

/* MS-FSCC 2.7.1 */
void wire_change_encode(struct wr *w, size_t *inout_last, const struct wire_change *c)
{
    if (*inout_last != SIZE_MAX)
        wr_zero(w, (4 - (w->pos - *inout_last) % 4) % 4);
    size_t start = w->pos;

    wr_u32(w, 0); /* NextEntryOffset */
    wr_u32(w, c->action);
    layout_put_len32(w, c->name.len);
    wr_bytes(w, c->name.base, c->name.len);

    if (!wr_ok(w))
        return;
    if (*inout_last != SIZE_MAX)
        wr_put32(w, *inout_last, (uint32_t)(start - *inout_last));
    *inout_last = start;
}

int wire_change_next(struct rd *output, struct wire_change *ret)
{
    if (!rd_ok(output))
        return -EBADMSG;
    if (rd_left(output) == 0)
        return 0;

    struct wire_change c = {0};
    struct rd peek = *output;
    uint32_t next = rd_u32(&peek);
    size_t len = next ? next : rd_left(output);

    struct rd change = rd_sub(output, output->pos, len);
    rd_skip(&change, 4); /* NextEntryOffset */
    c.action = rd_u32(&change);
    uint32_t name_len = rd_u32(&change);
    c.name = layout_utf16(&change, change.pos, name_len);
    rd_skip(output, len);

    if (!rd_ok(&change) || !rd_ok(output)) {
        output->bad = true;
        return -EBADMSG;
    }
    *ret = c;
    return 1;
}
