/*
 * SET_INFO: 2.2.39, 2.2.40, and the two classes whose buffer holds a name: MS-FSCC 2.4.28.2,
 * 2.4.42.2.
 */
#include "wire/layout.h"

enum { REQUEST_BUFFER = WIRE_HEADER_SIZE + 32 };

/* 2.2.39 */
void wire_set_info_request_encode(struct wr *w, const struct wire_set_info_request *m)
{
    wr_u16(w, 33);
    wr_u8(w, m->info_type);
    wr_u8(w, m->info_class);
    layout_put_len32(w, m->data.len);
    wr_u16(w, REQUEST_BUFFER);
    wr_u16(w, 0); /* Reserved */
    wr_u32(w, m->additional);
    layout_put_file_id(w, m->file_id);
    layout_put_buffer(w, &m->data);
}

int wire_set_info_request_decode(struct rd msg, struct wire_set_info_request *ret)
{
    struct wire_set_info_request m = {0};

    layout_size(&msg, 33);
    m.info_type = rd_u8(&msg);
    m.info_class = rd_u8(&msg);
    uint32_t len = rd_u32(&msg);
    uint16_t offset = rd_u16(&msg);
    rd_skip(&msg, 2); /* Reserved */
    m.additional = rd_u32(&msg);
    m.file_id = layout_file_id(&msg);
    m.data = layout_buffer(&msg, offset, len);

    if (!rd_ok(&msg))
        return -EBADMSG;
    *ret = m;
    return 0;
}

/* 2.2.40 */
void wire_set_info_response_encode(struct wr *w)
{
    wr_u16(w, 2);
}

int wire_set_info_response_decode(struct rd msg)
{
    layout_size(&msg, 2);
    return layout_end(&msg);
}

/* MS-FSCC 2.4.42.2, 2.4.28.2 */
void wire_rename_encode(struct wr *w, const struct wire_rename *m)
{
    wr_u8(w, m->replace);
    wr_zero(w, 7); /* Reserved */
    wr_u64(w, 0);  /* RootDirectory */
    layout_put_len32(w, m->name.len);
    wr_bytes(w, m->name.base, m->name.len);
}

int wire_rename_decode(struct rd data, struct wire_rename *ret)
{
    struct wire_rename m = {0};

    m.replace = rd_u8(&data);
    rd_skip(&data, 7); /* Reserved */
    rd_skip(&data, 8); /* RootDirectory */
    uint32_t name_len = rd_u32(&data);
    m.name = layout_utf16(&data, data.pos, name_len);

    if (!rd_ok(&data))
        return -EBADMSG;
    *ret = m;
    return 0;
}
