/*
 * QUERY_DIRECTORY: 2.2.33, 2.2.34. The entries in its output are in listing.c.
 */
#include "wire/layout.h"

enum {
    REQUEST_BUFFER = WIRE_HEADER_SIZE + 32,
    RESPONSE_BUFFER = WIRE_HEADER_SIZE + 8,
};

/* ---- request: 2.2.33 ---- */

void wire_query_directory_request_encode(struct wr *w, const struct wire_query_directory_request *m)
{
    wr_u16(w, 33);
    wr_u8(w, m->info_class);
    wr_u8(w, m->flags);
    wr_u32(w, m->file_index);
    layout_put_file_id(w, m->file_id);
    wr_u16(w, REQUEST_BUFFER);
    layout_put_len16(w, m->pattern.len);
    wr_u32(w, m->output_length);
    layout_put_buffer(w, &m->pattern);
}

int wire_query_directory_request_decode(struct rd msg, struct wire_query_directory_request *ret)
{
    struct wire_query_directory_request m = {0};

    layout_size(&msg, 33);
    m.info_class = rd_u8(&msg);
    m.flags = rd_u8(&msg);
    m.file_index = rd_u32(&msg);
    m.file_id = layout_file_id(&msg);
    uint16_t offset = rd_u16(&msg);
    uint16_t len = rd_u16(&msg);
    m.output_length = rd_u32(&msg);
    m.pattern = layout_utf16(&msg, offset, len);

    if (!rd_ok(&msg))
        return -EBADMSG;
    *ret = m;
    return 0;
}

/* ---- response: 2.2.34, and 2.2.36 and 2.2.38, which are laid out alike ---- */

void wire_buffer_response_encode(struct wr *w, const void *data, uint32_t len)
{
    struct rd output = rd_init(data, len);

    wr_u16(w, 9);
    wr_u16(w, RESPONSE_BUFFER);
    wr_u32(w, len);
    layout_put_buffer(w, &output);
}

int wire_buffer_response_decode(struct rd msg, struct wire_buffer_response *ret)
{
    struct wire_buffer_response m = {0};

    layout_size(&msg, 9);
    uint16_t offset = rd_u16(&msg);
    uint32_t len = rd_u32(&msg);
    m.output = layout_buffer(&msg, offset, len);

    if (!rd_ok(&msg))
        return -EBADMSG;
    *ret = m;
    return 0;
}
