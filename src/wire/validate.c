/* The buffers of FSCTL_VALIDATE_NEGOTIATE_INFO: 2.2.31.4, 2.2.32.6. */
#include "wire/validate.h"

#include "wire/layout.h"

/* 2.2.31.4 */
void wire_validate_request_encode(struct wr *w, const struct wire_validate_request *m)
{
    if (m->dialect_count > WIRE_IDS_MAX) {
        w->bad = true;
        return;
    }
    wr_u32(w, m->capabilities);
    wr_bytes(w, m->guid, sizeof(m->guid));
    wr_u16(w, m->security_mode);
    wr_u16(w, m->dialect_count);
    for (uint16_t i = 0; i < m->dialect_count; i++)
        wr_u16(w, m->dialect[i]);
}

int wire_validate_request_decode(struct rd input, struct wire_validate_request *ret)
{
    struct wire_validate_request m = {0};

    m.capabilities = rd_u32(&input);
    rd_copy(&input, m.guid, sizeof(m.guid));
    m.security_mode = rd_u16(&input);
    m.dialect_count = rd_u16(&input);
    if (m.dialect_count > WIRE_IDS_MAX)
        return -EBADMSG;
    for (uint16_t i = 0; i < m.dialect_count; i++)
        m.dialect[i] = rd_u16(&input);

    if (!rd_ok(&input))
        return -EBADMSG;
    *ret = m;
    return 0;
}

/* 2.2.32.6 */
void wire_validate_response_encode(struct wr *w, const struct wire_validate_response *m)
{
    wr_u32(w, m->capabilities);
    wr_bytes(w, m->guid, sizeof(m->guid));
    wr_u16(w, m->security_mode);
    wr_u16(w, m->dialect);
}

int wire_validate_response_decode(struct rd output, struct wire_validate_response *ret)
{
    struct wire_validate_response m = {0};

    m.capabilities = rd_u32(&output);
    rd_copy(&output, m.guid, sizeof(m.guid));
    m.security_mode = rd_u16(&output);
    m.dialect = rd_u16(&output);

    if (!rd_ok(&output))
        return -EBADMSG;
    *ret = m;
    return 0;
}
