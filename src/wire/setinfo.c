/*
 * SET_INFO: 2.2.39, 2.2.40, and the buffers of the classes that change a file: MS-FSCC 2.4.4,
 * 2.4.7, 2.4.11, 2.4.14, 2.4.28.2, 2.4.42.2.
 */
#include "wire/layout.h"

enum {
    REQUEST_BUFFER = WIRE_HEADER_SIZE + 32,
    RENAME_LEAST = 24, /* servers take the structure's size with its alignment for the least */
};

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
    size_t start = w->pos;
    wr_u8(w, m->replace);
    wr_zero(w, 7); /* Reserved */
    wr_u64(w, 0);  /* RootDirectory */
    layout_put_len32(w, m->name.len);
    wr_bytes(w, m->name.base, m->name.len);
    if (w->pos - start < RENAME_LEAST)
        wr_zero(w, RENAME_LEAST - (w->pos - start));
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

/* MS-FSCC 2.4.7 */
void wire_basic_encode(struct wr *w, const struct wire_basic *m)
{
    wr_u64(w, m->created);
    wr_u64(w, m->accessed);
    wr_u64(w, m->written);
    wr_u64(w, m->changed);
    wr_u32(w, m->attributes);
    wr_u32(w, 0); /* Reserved */
}

int wire_basic_decode(struct rd data, struct wire_basic *ret)
{
    struct wire_basic m = {0};

    m.created = rd_u64(&data);
    m.accessed = rd_u64(&data);
    m.written = rd_u64(&data);
    m.changed = rd_u64(&data);
    m.attributes = rd_u32(&data);
    rd_skip(&data, 4); /* Reserved */

    if (!rd_ok(&data))
        return -EBADMSG;
    *ret = m;
    return 0;
}

/* MS-FSCC 2.4.14, 2.4.4 */
void wire_size_encode(struct wr *w, uint64_t size)
{
    wr_u64(w, size);
}

int wire_size_decode(struct rd data, uint64_t *ret)
{
    uint64_t size = rd_u64(&data);

    if (!rd_ok(&data))
        return -EBADMSG;
    *ret = size;
    return 0;
}

/* MS-FSCC 2.4.11 */
void wire_disposition_encode(struct wr *w, bool remove)
{
    wr_u8(w, remove);
}

int wire_disposition_decode(struct rd data, bool *ret)
{
    bool remove = rd_u8(&data);

    if (!rd_ok(&data))
        return -EBADMSG;
    *ret = remove;
    return 0;
}
