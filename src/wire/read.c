/*
 * READ: 2.2.19, 2.2.20.
 */
#include "wire/layout.h"

enum { RESPONSE_BUFFER = WIRE_HEADER_SIZE + 16 };

/* 2.2.19 */
void wire_read_request_encode(struct wr *w, const struct wire_read_request *m)
{
    wr_u16(w, 49);
    wr_u8(w, RESPONSE_BUFFER); /* Padding: where the reply's data is wanted */
    wr_u8(w, 0);               /* Flags */
    wr_u32(w, m->length);
    wr_u64(w, m->offset);
    layout_put_file_id(w, m->file_id);
    wr_u32(w, m->minimum_count);
    wr_u32(w, 0); /* Channel */
    wr_u32(w, m->remaining);
    wr_u16(w, 0); /* ReadChannelInfoOffset */
    wr_u16(w, 0); /* ReadChannelInfoLength */
    wr_u8(w, 0);  /* Buffer: one byte although there is no channel */
}

int wire_read_request_decode(struct rd msg, struct wire_read_request *ret)
{
    struct wire_read_request m = {0};

    layout_size(&msg, 49);
    rd_skip(&msg, 1); /* Padding */
    rd_skip(&msg, 1); /* Flags */
    m.length = rd_u32(&msg);
    m.offset = rd_u64(&msg);
    m.file_id = layout_file_id(&msg);
    m.minimum_count = rd_u32(&msg);
    rd_skip(&msg, 4); /* Channel */
    m.remaining = rd_u32(&msg);
    rd_skip(&msg, 2); /* ReadChannelInfoOffset */
    rd_skip(&msg, 2); /* ReadChannelInfoLength */

    if (!rd_ok(&msg))
        return -EBADMSG;
    *ret = m;
    return 0;
}

/* 2.2.20 */
void wire_read_response_encode(struct wr *w, const struct wire_read_response *m)
{
    wr_u16(w, 17);
    wr_u8(w, RESPONSE_BUFFER);
    wr_u8(w, 0); /* Reserved */
    layout_put_len32(w, m->data.len);
    wr_u32(w, m->remaining);
    wr_u32(w, 0); /* Reserved2 */
    layout_put_buffer(w, &m->data);
}

int wire_read_response_decode(struct rd msg, struct wire_read_response *ret)
{
    struct wire_read_response m = {0};

    layout_size(&msg, 17);
    uint8_t offset = rd_u8(&msg);
    rd_skip(&msg, 1); /* Reserved */
    uint32_t len = rd_u32(&msg);
    m.remaining = rd_u32(&msg);
    rd_skip(&msg, 4); /* Reserved2 */
    m.data = layout_buffer(&msg, offset, len);

    if (!rd_ok(&msg))
        return -EBADMSG;
    *ret = m;
    return 0;
}
