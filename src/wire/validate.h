/* FSCTL_VALIDATE_NEGOTIATE_INFO: what was negotiated, said again when it can be signed (2.2.31.4,
 * 2.2.32.6). An IOCTL's buffers, as in wire.h. */
#ifndef LARDER_WIRE_VALIDATE_H
#define LARDER_WIRE_VALIDATE_H

#include "wire/wire.h"

/* What the client offered. */
struct wire_validate_request {
    uint32_t capabilities;
    uint8_t guid[16];
    uint16_t security_mode;
    uint16_t dialect_count, dialect[WIRE_IDS_MAX];
};
#define WIRE_VALIDATE_REQUEST_MAX (24 + 2 * WIRE_IDS_MAX) /* bytes */
void wire_validate_request_encode(struct wr *w, const struct wire_validate_request *m);
int wire_validate_request_decode(struct rd input, struct wire_validate_request *ret);

/* What the server chose. */
struct wire_validate_response {
    uint32_t capabilities;
    uint8_t guid[16];
    uint16_t security_mode;
    uint16_t dialect;
};
#define WIRE_VALIDATE_RESPONSE_SIZE 24
void wire_validate_response_encode(struct wr *w, const struct wire_validate_response *m);
int wire_validate_response_decode(struct rd output, struct wire_validate_response *ret);

#endif
