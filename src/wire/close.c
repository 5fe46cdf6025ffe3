/*
 * CLOSE: 2.2.15, 2.2.16. Asked for with POSTQUERY_ATTRIB, the reply says what the file has become.
 */
#include "wire/layout.h"

/* 2.2.15 */
void wire_close_request_encode(struct wr *w, const struct wire_close_request *m)
{
    wr_u16(w, 24);
    wr_u16(w, m->flags);
    wr_u32(w, 0); /* Reserved */
    layout_put_file_id(w, m->file_id);
}

int wire_close_request_decode(struct rd msg, struct wire_close_request *ret)
{
    struct wire_close_request m = {0};

    layout_size(&msg, 24);
    m.flags = rd_u16(&msg);
    rd_skip(&msg, 4); /* Reserved */
    m.file_id = layout_file_id(&msg);

    if (!rd_ok(&msg))
        return -EBADMSG;
    *ret = m;
    return 0;
}

/* 2.2.16 */
void wire_close_response_encode(struct wr *w, const struct wire_close_response *m)
{
    bool told = m->flags & SMB2_CLOSE_FLAG_POSTQUERY_ATTRIB;
    struct file_attr attr = told ? m->attr : (struct file_attr){0};

    wr_u16(w, 60);
    wr_u16(w, m->flags);
    wr_u32(w, 0); /* Reserved */
    layout_put_times(w, &attr);
    wr_u64(w, attr.allocated);
    wr_u64(w, attr.size);
    wr_u32(w, attr.attributes);
}

int wire_close_response_decode(struct rd msg, struct wire_close_response *ret)
{
    struct wire_close_response m = {0};

    layout_size(&msg, 60);
    m.flags = rd_u16(&msg);
    rd_skip(&msg, 4); /* Reserved */
    layout_times(&msg, &m.attr);
    m.attr.allocated = rd_u64(&msg);
    m.attr.size = rd_u64(&msg);
    m.attr.attributes = rd_u32(&msg);
    if (!(m.flags & SMB2_CLOSE_FLAG_POSTQUERY_ATTRIB))
        m.attr = (struct file_attr){0};

    if (!rd_ok(&msg))
        return -EBADMSG;
    *ret = m;
    return 0;
}
