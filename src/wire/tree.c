/*
 * TREE_CONNECT: 2.2.9, 2.2.10.
 */
#include "wire/layout.h"

enum { REQUEST_BUFFER = WIRE_HEADER_SIZE + 8 };

/* 2.2.9 */
void wire_tree_connect_request_encode(struct wr *w, const struct wire_tree_connect_request *m)
{
    wr_u16(w, 9);
    wr_u16(w, m->flags);
    wr_u16(w, REQUEST_BUFFER);
    layout_put_len16(w, m->path.len);
    layout_put_buffer(w, &m->path);
}

int wire_tree_connect_request_decode(struct rd msg, struct wire_tree_connect_request *ret)
{
    struct wire_tree_connect_request m = {0};

    layout_size(&msg, 9);
    m.flags = rd_u16(&msg);
    uint16_t offset = rd_u16(&msg);
    uint16_t len = rd_u16(&msg);
    m.path = layout_utf16(&msg, offset, len);

    if (!rd_ok(&msg))
        return -EBADMSG;
    *ret = m;
    return 0;
}

/* 2.2.10 */
void wire_tree_connect_response_encode(struct wr *w, const struct wire_tree_connect_response *m)
{
    wr_u16(w, 16);
    wr_u8(w, m->share_type);
    wr_u8(w, 0); /* Reserved */
    wr_u32(w, m->share_flags);
    wr_u32(w, m->capabilities);
    wr_u32(w, m->maximal_access);
}

int wire_tree_connect_response_decode(struct rd msg, struct wire_tree_connect_response *ret)
{
    struct wire_tree_connect_response m = {0};

    layout_size(&msg, 16);
    m.share_type = rd_u8(&msg);
    rd_skip(&msg, 1); /* Reserved */
    m.share_flags = rd_u32(&msg);
    m.capabilities = rd_u32(&msg);
    m.maximal_access = rd_u32(&msg);

    if (!rd_ok(&msg))
        return -EBADMSG;
    *ret = m;
    return 0;
}
