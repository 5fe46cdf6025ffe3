/*
 * IOCTL: 2.2.31, 2.2.32. What is in the buffers is the control code's own affair.
 */
#include "wire/layout.h"

enum { REQUEST_BUFFER = WIRE_HEADER_SIZE + 56, RESPONSE_BUFFER = WIRE_HEADER_SIZE + 48 };

/* 2.2.31 */
void wire_ioctl_request_encode(struct wr *w, const struct wire_ioctl_request *m)
{
    wr_u16(w, 57);
    wr_u16(w, 0); /* Reserved */
    wr_u32(w, m->code);
    layout_put_file_id(w, m->file_id);
    wr_u32(w, REQUEST_BUFFER); /* InputOffset */
    layout_put_len32(w, m->input.len);
    wr_u32(w, m->max_input);
    wr_u32(w, 0); /* OutputOffset */
    wr_u32(w, 0); /* OutputCount */
    wr_u32(w, m->max_output);
    wr_u32(w, m->flags);
    wr_u32(w, 0); /* Reserved2 */
    layout_put_buffer(w, &m->input);
}

int wire_ioctl_request_decode(struct rd msg, struct wire_ioctl_request *ret)
{
    struct wire_ioctl_request m = {0};

    layout_size(&msg, 57);
    rd_skip(&msg, 2); /* Reserved */
    m.code = rd_u32(&msg);
    m.file_id = layout_file_id(&msg);
    uint32_t input_offset = rd_u32(&msg);
    uint32_t input_len = rd_u32(&msg);
    m.max_input = rd_u32(&msg);
    rd_skip(&msg, 4); /* OutputOffset */
    rd_skip(&msg, 4); /* OutputCount */
    m.max_output = rd_u32(&msg);
    m.flags = rd_u32(&msg);
    rd_skip(&msg, 4); /* Reserved2 */
    m.input = layout_buffer(&msg, input_offset, input_len);

    if (!rd_ok(&msg))
        return -EBADMSG;
    *ret = m;
    return 0;
}

/* 2.2.32 */
void wire_ioctl_response_encode(struct wr *w, const struct wire_ioctl_response *m)
{
    size_t output_offset = RESPONSE_BUFFER + (m->input.len + 7) / 8 * 8;

    wr_u16(w, 49);
    wr_u16(w, 0); /* Reserved */
    wr_u32(w, m->code);
    layout_put_file_id(w, m->file_id);
    wr_u32(w, RESPONSE_BUFFER); /* InputOffset */
    layout_put_len32(w, m->input.len);
    layout_put_len32(w, m->output.len ? output_offset : 0);
    layout_put_len32(w, m->output.len);
    wr_u32(w, 0); /* Flags */
    wr_u32(w, 0); /* Reserved2 */
    wr_bytes(w, m->input.base, m->input.len);
    if (m->output.len)
        wr_align(w, 8);
    if (m->output.len || m->input.len == 0)
        layout_put_buffer(w, &m->output);
}

int wire_ioctl_response_decode(struct rd msg, struct wire_ioctl_response *ret)
{
    struct wire_ioctl_response m = {0};

    layout_size(&msg, 49);
    rd_skip(&msg, 2); /* Reserved */
    m.code = rd_u32(&msg);
    m.file_id = layout_file_id(&msg);
    uint32_t input_offset = rd_u32(&msg);
    uint32_t input_len = rd_u32(&msg);
    uint32_t output_offset = rd_u32(&msg);
    uint32_t output_len = rd_u32(&msg);
    rd_skip(&msg, 4); /* Flags */
    rd_skip(&msg, 4); /* Reserved2 */
    m.input = layout_buffer(&msg, input_offset, input_len);
    m.output = layout_buffer(&msg, output_offset, output_len);

    if (!rd_ok(&msg))
        return -EBADMSG;
    *ret = m;
    return 0;
}
