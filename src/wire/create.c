/*
 * CREATE and its create contexts: 2.2.13, 2.2.14.
 *
 * Create contexts are a chain whose links count from the context that has them. A chain is encoded
 * into a buffer of its own and put into the message whole; decoding cuts each context out before
 * looking into it, so that its name and data cannot lie in another one. A link leads forward by at
 * least the fixed part of a context, hence every walk ends.
 */
#include "wire/layout.h"

enum {
    REQUEST_BUFFER = WIRE_HEADER_SIZE + 56,
    RESPONSE_BUFFER = WIRE_HEADER_SIZE + 88,
    CONTEXT_FIXED = 16,
};

/* ---- create contexts: 2.2.13.2 ---- */

static void align_from(struct wr *w, size_t start)
{
    wr_zero(w, (8 - (w->pos - start) % 8) % 8);
}

void wire_create_context_encode(struct wr *w, const char *name, const void *data, uint32_t len,
                                bool last)
{
    size_t start = w->pos;
    size_t name_len = strlen(name);
    size_t data_offset = (CONTEXT_FIXED + name_len + 7) / 8 * 8;

    wr_u32(w, 0); /* Next */
    wr_u16(w, CONTEXT_FIXED);
    layout_put_len16(w, name_len);
    wr_u16(w, 0); /* Reserved */
    layout_put_len16(w, len ? data_offset : 0);
    wr_u32(w, len);
    wr_bytes(w, name, name_len);
    if (len) {
        align_from(w, start);
        wr_bytes(w, data, len);
    }
    if (!last) {
        align_from(w, start);
        wr_put32(w, start, (uint32_t)(w->pos - start));
    }
}

int wire_create_context_next(struct rd *chain, struct wire_create_context *ret)
{
    if (!rd_ok(chain))
        return -EBADMSG;
    if (rd_left(chain) == 0)
        return 0;

    struct wire_create_context c = {0};
    struct rd peek = *chain;
    uint32_t next = rd_u32(&peek);
    size_t len = next ? next : rd_left(chain);

    struct rd context = rd_sub(chain, chain->pos, len);
    rd_skip(&context, 4); /* Next */
    uint16_t name_offset = rd_u16(&context);
    uint16_t name_len = rd_u16(&context);
    rd_skip(&context, 2); /* Reserved */
    uint16_t data_offset = rd_u16(&context);
    uint32_t data_len = rd_u32(&context);
    c.name = layout_buffer(&context, name_offset, name_len);
    c.data = layout_buffer(&context, data_offset, data_len);
    rd_skip(chain, len);

    if (!rd_ok(&context) || !rd_ok(chain)) {
        chain->bad = true;
        return -EBADMSG;
    }
    *ret = c;
    return 1;
}

/* ---- request: 2.2.13 ---- */

void wire_create_request_encode(struct wr *w, const struct wire_create_request *m)
{
    wr_u16(w, 57);
    wr_u8(w, 0); /* SecurityFlags */
    wr_u8(w, m->oplock_level);
    wr_u32(w, m->impersonation);
    wr_u64(w, 0); /* SmbCreateFlags */
    wr_u64(w, 0); /* Reserved */
    wr_u32(w, m->desired_access);
    wr_u32(w, m->file_attributes);
    wr_u32(w, m->share_access);
    wr_u32(w, m->disposition);
    wr_u32(w, m->options);
    wr_u16(w, REQUEST_BUFFER);
    layout_put_len16(w, m->name.len);
    size_t contexts_offset_at = w->pos;
    wr_u32(w, 0); /* CreateContextsOffset */
    layout_put_len32(w, m->contexts.len);
    layout_put_buffer(w, &m->name);
    if (m->contexts.len) {
        wr_align(w, 8);
        wr_put32(w, contexts_offset_at, layout_here(w));
        wr_bytes(w, m->contexts.base, m->contexts.len);
    }
}

int wire_create_request_decode(struct rd msg, struct wire_create_request *ret)
{
    struct wire_create_request m = {0};

    layout_size(&msg, 57);
    rd_skip(&msg, 1); /* SecurityFlags */
    m.oplock_level = rd_u8(&msg);
    m.impersonation = rd_u32(&msg);
    rd_skip(&msg, 8); /* SmbCreateFlags */
    rd_skip(&msg, 8); /* Reserved */
    m.desired_access = rd_u32(&msg);
    m.file_attributes = rd_u32(&msg);
    m.share_access = rd_u32(&msg);
    m.disposition = rd_u32(&msg);
    m.options = rd_u32(&msg);
    uint16_t name_offset = rd_u16(&msg);
    uint16_t name_len = rd_u16(&msg);
    uint32_t contexts_offset = rd_u32(&msg);
    uint32_t contexts_len = rd_u32(&msg);
    m.name = layout_utf16(&msg, name_offset, name_len);
    m.contexts = layout_buffer(&msg, contexts_offset, contexts_len);

    if (!rd_ok(&msg))
        return -EBADMSG;
    *ret = m;
    return 0;
}

/* ---- response: 2.2.14 ---- */

void wire_create_response_encode(struct wr *w, const struct wire_create_response *m)
{
    wr_u16(w, 89);
    wr_u8(w, m->oplock_level);
    wr_u8(w, m->flags);
    wr_u32(w, m->create_action);
    layout_put_times(w, &m->attr);
    wr_u64(w, m->attr.allocated);
    wr_u64(w, m->attr.size);
    wr_u32(w, m->attr.attributes);
    wr_u32(w, 0); /* Reserved2 */
    layout_put_file_id(w, m->file_id);
    wr_u32(w, m->contexts.len ? RESPONSE_BUFFER : 0);
    layout_put_len32(w, m->contexts.len);
    wr_bytes(w, m->contexts.base, m->contexts.len);
}

int wire_create_response_decode(struct rd msg, struct wire_create_response *ret)
{
    struct wire_create_response m = {0};

    layout_size(&msg, 89);
    m.oplock_level = rd_u8(&msg);
    m.flags = rd_u8(&msg);
    m.create_action = rd_u32(&msg);
    layout_times(&msg, &m.attr);
    m.attr.allocated = rd_u64(&msg);
    m.attr.size = rd_u64(&msg);
    m.attr.attributes = rd_u32(&msg);
    rd_skip(&msg, 4); /* Reserved2 */
    m.file_id = layout_file_id(&msg);
    uint32_t contexts_offset = rd_u32(&msg);
    uint32_t contexts_len = rd_u32(&msg);
    m.contexts = layout_buffer(&msg, contexts_offset, contexts_len);

    if (!rd_ok(&msg))
        return -EBADMSG;
    *ret = m;
    return 0;
}
