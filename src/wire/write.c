/*
 * WRITE: 2.2.21, 2.2.22, and FLUSH: 2.2.17.
 */
#include "wire/layout.h"

enum { REQUEST_BUFFER = WIRE_HEADER_SIZE + 48 };

/* 2.2.21 */
void wire_write_request_encode_head(struct wr *w, const struct wire_write_request *m)
{
    wr_u16(w, 49);
    wr_u16(w, REQUEST_BUFFER);
    layout_put_len32(w, m->data.len);
    wr_u64(w, m->offset);
    layout_put_file_id(w, m->file_id);
    wr_u32(w, 0); /* Channel */
    wr_u32(w, m->remaining);
    wr_u16(w, 0); /* WriteChannelInfoOffset */
    wr_u16(w, 0); /* WriteChannelInfoLength */
    wr_u32(w, m->flags);
}

void wire_write_request_encode(struct wr *w, const struct wire_write_request *m)
{
    wire_write_request_encode_head(w, m);
    layout_put_buffer(w, &m->data);
}

int wire_write_request_decode(struct rd msg, struct wire_write_request *ret)
{
    struct wire_write_request m = {0};

    layout_size(&msg, 49);
    uint16_t data_offset = rd_u16(&msg);
    uint32_t len = rd_u32(&msg);
    m.offset = rd_u64(&msg);
    m.file_id = layout_file_id(&msg);
    rd_skip(&msg, 4); /* Channel */
    m.remaining = rd_u32(&msg);
    rd_skip(&msg, 2); /* WriteChannelInfoOffset */
    rd_skip(&msg, 2); /* WriteChannelInfoLength */
    m.flags = rd_u32(&msg);
    m.data = layout_buffer(&msg, data_offset, len);

    if (!rd_ok(&msg))
        return -EBADMSG;
    *ret = m;
    return 0;
}

/* 2.2.22: its StructureSize counts a byte that nobody sends. */
void wire_write_response_encode(struct wr *w, const struct wire_write_response *m)
{
    wr_u16(w, 17);
    wr_u16(w, 0); /* Reserved */
    wr_u32(w, m->count);
    wr_u32(w, 0); /* Remaining */
    wr_u16(w, 0); /* WriteChannelInfoOffset */
    wr_u16(w, 0); /* WriteChannelInfoLength */
}

int wire_write_response_decode(struct rd msg, struct wire_write_response *ret)
{
    struct wire_write_response m = {0};

    layout_size(&msg, 17);
    rd_skip(&msg, 2); /* Reserved */
    m.count = rd_u32(&msg);
    rd_skip(&msg, 4); /* Remaining */
    rd_skip(&msg, 2); /* WriteChannelInfoOffset */
    rd_skip(&msg, 2); /* WriteChannelInfoLength */

    if (!rd_ok(&msg))
        return -EBADMSG;
    *ret = m;
    return 0;
}

/* 2.2.17 */
void wire_flush_request_encode(struct wr *w, const struct wire_flush_request *m)
{
    wr_u16(w, 24);
    wr_u16(w, 0); /* Reserved1 */
    wr_u32(w, 0); /* Reserved2 */
    layout_put_file_id(w, m->file_id);
}

int wire_flush_request_decode(struct rd msg, struct wire_flush_request *ret)
{
    struct wire_flush_request m = {0};

    layout_size(&msg, 24);
    rd_skip(&msg, 2); /* Reserved1 */
    rd_skip(&msg, 4); /* Reserved2 */
    m.file_id = layout_file_id(&msg);

    if (!rd_ok(&msg))
        return -EBADMSG;
    *ret = m;
    return 0;
}
