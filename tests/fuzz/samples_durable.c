/*
 * Samples of durable opens: what their create contexts hold, and CREATEs that carry them.
 */
#include "samples.h"

#define FILE_ID                                                                                    \
    {                                                                                              \
        0x0102030405060708, 0x1112131415161718                                                     \
    }

const struct wire_durable_request sample_durable_request = {
    .version = 2,
    .timeout = 60000,
    .flags = SMB2_DHANDLE_FLAG_PERSISTENT,
    .guid = "guid of a CREATE",
};

const struct wire_durable_request sample_durable_request_v1 = {.version = 1};

const struct wire_durable_reconnect sample_durable_reconnect = {
    .version = 2,
    .file_id = FILE_ID,
    .guid = "guid of a CREATE",
    .flags = SMB2_DHANDLE_FLAG_PERSISTENT,
};

const struct wire_durable_reconnect sample_durable_reconnect_v1 = {
    .version = 1,
    .file_id = FILE_ID,
};

const struct wire_durable_response sample_durable_response = {
    .timeout = 180000,
    .flags = SMB2_DHANDLE_FLAG_PERSISTENT,
};

/* Each kind once, whatever a server would say to that. */
void sample_create_durable_request(struct wr *w)
{
    uint8_t buf[320], data[64];
    struct wr chain = wr_init(buf, sizeof(buf)), d = wr_init(data, sizeof(data));
    struct wire_create_request m = sample_create_request;
    wire_durable_request_encode(&d, &sample_durable_request_v1);
    wire_create_context_encode(&chain, WIRE_DURABLE_REQUEST_V1, data, (uint32_t)d.pos, false);
    d = wr_init(data, sizeof(data));
    wire_durable_request_encode(&d, &sample_durable_request);
    wire_create_context_encode(&chain, WIRE_DURABLE_REQUEST_V2, data, (uint32_t)d.pos, false);
    d = wr_init(data, sizeof(data));
    wire_durable_reconnect_encode(&d, &sample_durable_reconnect_v1);
    wire_create_context_encode(&chain, WIRE_DURABLE_RECONNECT_V1, data, (uint32_t)d.pos, false);
    d = wr_init(data, sizeof(data));
    wire_durable_reconnect_encode(&d, &sample_durable_reconnect);
    wire_create_context_encode(&chain, WIRE_DURABLE_RECONNECT_V2, data, (uint32_t)d.pos, true);
    m.contexts = rd_init(buf, chain.pos);
    wire_create_request_encode(w, &m);
}

void sample_create_durable_response(struct wr *w)
{
    uint8_t buf[256], data[64];
    struct wr chain = wr_init(buf, sizeof(buf)), d = wr_init(data, sizeof(data));
    struct wire_create_response m = sample_create_response;
    wire_durable_response_encode(&d, &sample_durable_response);
    wire_create_context_encode(&chain, WIRE_DURABLE_REQUEST_V2, data, (uint32_t)d.pos, true);
    m.contexts = rd_init(buf, chain.pos);
    wire_create_response_encode(w, &m);
}
