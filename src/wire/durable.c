/*
 * Opens that a server holds while their client is away: the create contexts by which they are asked
 * for, granted and asked back (2.2.13.2.3, .4, .11, .12; 2.2.14.2.3, .12).
 *
 * Version 1 is dialect 2.1's, version 2 that of 3.x, which knows an open by a GUID that its client
 * made for the CREATE. The size tells which version a request is of; the responses have one size,
 * and are told apart by their names.
 */
#include "wire/durable.h"

#include "wire/layout.h"

enum {
    REQUEST_V1_SIZE = 16,
    REQUEST_V2_SIZE = 32,
    RECONNECT_V1_SIZE = 16,
    RECONNECT_V2_SIZE = 36,
    RESPONSE_SIZE = 8,
};

/* The version that a length means; another length makes the cursor bad. */
static uint8_t version_of(struct rd *data, size_t v1, size_t v2)
{
    if (data->len != v1 && data->len != v2)
        data->bad = true;
    return data->len == v2 ? 2 : 1;
}

void wire_durable_request_encode(struct wr *w, const struct wire_durable_request *m)
{
    if (m->version < 2) {
        wr_zero(w, REQUEST_V1_SIZE); /* DurableRequest */
        return;
    }
    wr_u32(w, m->timeout);
    wr_u32(w, m->flags);
    wr_u64(w, 0); /* Reserved */
    wr_bytes(w, m->guid, sizeof(m->guid));
}

int wire_durable_request_decode(struct rd data, struct wire_durable_request *ret)
{
    struct wire_durable_request m = {.version =
                                         version_of(&data, REQUEST_V1_SIZE, REQUEST_V2_SIZE)};

    if (m.version == 2) {
        m.timeout = rd_u32(&data);
        m.flags = rd_u32(&data);
        rd_skip(&data, 8); /* Reserved */
        rd_copy(&data, m.guid, sizeof(m.guid));
    }

    if (!rd_ok(&data))
        return -EBADMSG;
    *ret = m;
    return 0;
}

void wire_durable_reconnect_encode(struct wr *w, const struct wire_durable_reconnect *m)
{
    layout_put_file_id(w, m->file_id);
    if (m->version < 2)
        return;
    wr_bytes(w, m->guid, sizeof(m->guid));
    wr_u32(w, m->flags);
}

int wire_durable_reconnect_decode(struct rd data, struct wire_durable_reconnect *ret)
{
    struct wire_durable_reconnect m = {.version =
                                           version_of(&data, RECONNECT_V1_SIZE, RECONNECT_V2_SIZE)};

    m.file_id = layout_file_id(&data);
    if (m.version == 2) {
        rd_copy(&data, m.guid, sizeof(m.guid));
        m.flags = rd_u32(&data);
    }

    if (!rd_ok(&data))
        return -EBADMSG;
    *ret = m;
    return 0;
}

void wire_durable_response_encode(struct wr *w, const struct wire_durable_response *m)
{
    wr_u32(w, m->timeout);
    wr_u32(w, m->flags);
}

int wire_durable_response_decode(struct rd data, struct wire_durable_response *ret)
{
    struct wire_durable_response m = {0};

    if (data.len != RESPONSE_SIZE)
        data.bad = true;
    m.timeout = rd_u32(&data);
    m.flags = rd_u32(&data);

    if (!rd_ok(&data))
        return -EBADMSG;
    *ret = m;
    return 0;
}
