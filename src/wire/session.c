/*
 * SESSION_SETUP: 2.2.5, 2.2.6. Both directions carry one security token and little else; what is in
 * the token is GSSAPI's business.
 */
#include "wire/layout.h"

enum {
    REQUEST_BUFFER = WIRE_HEADER_SIZE + 24,
    RESPONSE_BUFFER = WIRE_HEADER_SIZE + 8,
};

/* 2.2.5 */
void wire_session_setup_request_encode(struct wr *w, const struct wire_session_setup_request *m)
{
    wr_u16(w, 25);
    wr_u8(w, m->flags);
    wr_u8(w, m->security_mode);
    wr_u32(w, m->capabilities);
    wr_u32(w, 0); /* Channel */
    wr_u16(w, REQUEST_BUFFER);
    layout_put_len16(w, m->token.len);
    wr_u64(w, m->previous_session_id);
    layout_put_buffer(w, &m->token);
}

int wire_session_setup_request_decode(struct rd msg, struct wire_session_setup_request *ret)
{
    struct wire_session_setup_request m = {0};

    layout_size(&msg, 25);
    m.flags = rd_u8(&msg);
    m.security_mode = rd_u8(&msg);
    m.capabilities = rd_u32(&msg);
    rd_skip(&msg, 4); /* Channel */
    uint16_t offset = rd_u16(&msg);
    uint16_t len = rd_u16(&msg);
    m.previous_session_id = rd_u64(&msg);
    m.token = layout_buffer(&msg, offset, len);

    if (!rd_ok(&msg))
        return -EBADMSG;
    *ret = m;
    return 0;
}

/* 2.2.6 */
void wire_session_setup_response_encode(struct wr *w, const struct wire_session_setup_response *m)
{
    wr_u16(w, 9);
    wr_u16(w, m->session_flags);
    wr_u16(w, RESPONSE_BUFFER);
    layout_put_len16(w, m->token.len);
    layout_put_buffer(w, &m->token);
}

int wire_session_setup_response_decode(struct rd msg, struct wire_session_setup_response *ret)
{
    struct wire_session_setup_response m = {0};

    layout_size(&msg, 9);
    m.session_flags = rd_u16(&msg);
    uint16_t offset = rd_u16(&msg);
    uint16_t len = rd_u16(&msg);
    m.token = layout_buffer(&msg, offset, len);

    if (!rd_ok(&msg))
        return -EBADMSG;
    *ret = m;
    return 0;
}
