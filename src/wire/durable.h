/* Create contexts of opens that a server holds while their client is away. */
#ifndef LARDER_WIRE_DURABLE_H
#define LARDER_WIRE_DURABLE_H

#include "wire/wire.h"

/* The names of their create contexts. A request's name is that of its response, too. */
#define WIRE_DURABLE_REQUEST_V1   "DHnQ"
#define WIRE_DURABLE_REQUEST_V2   "DH2Q"
#define WIRE_DURABLE_RECONNECT_V1 "DHnC"
#define WIRE_DURABLE_RECONNECT_V2 "DH2C"
#define WIRE_GUID_SIZE            16
enum { SMB2_DHANDLE_FLAG_PERSISTENT = 2 };

/* 2.2.13.2.3, 2.2.13.2.11. Version 1 says nothing. */
struct wire_durable_request {
    uint8_t version;  /* 1 or 2 */
    uint32_t timeout; /* milliseconds; 0: as long as the server likes */
    uint32_t flags;
    uint8_t guid[WIRE_GUID_SIZE];
};
void wire_durable_request_encode(struct wr *w, const struct wire_durable_request *m);
int wire_durable_request_decode(struct rd data, struct wire_durable_request *ret);

/* 2.2.13.2.4, 2.2.13.2.12. Version 1 has only the FileId. */
struct wire_durable_reconnect {
    uint8_t version; /* 1 or 2 */
    struct wire_file_id file_id;
    uint8_t guid[WIRE_GUID_SIZE];
    uint32_t flags;
};
void wire_durable_reconnect_encode(struct wr *w, const struct wire_durable_reconnect *m);
int wire_durable_reconnect_decode(struct rd data, struct wire_durable_reconnect *ret);

/* 2.2.14.2.3, 2.2.14.2.12. Of version 1 both fields are reserved. */
struct wire_durable_response {
    uint32_t timeout; /* milliseconds */
    uint32_t flags;
};
void wire_durable_response_encode(struct wr *w, const struct wire_durable_response *m);
int wire_durable_response_decode(struct rd data, struct wire_durable_response *ret);

#endif
