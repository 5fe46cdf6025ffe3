/*
 * Remote procedure calls on a named pipe: the PDUs of connection-oriented DCE/RPC (C706 chapter 12,
 * MS-RPCE 2.2.2) as far as an unauthenticated call needs them, and the one call that is made:
 * NetrShareEnum of SRVSVC (MS-SRVS 3.1.4.8).
 *
 * As in wire.h: encoders append to a `struct wr`, decoders take a cursor, allocate nothing, and
 * return 0 or -EBADMSG. Little-endian only, as every SMB server has it.
 */
#ifndef LARDER_WIRE_RPC_H
#define LARDER_WIRE_RPC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rd.h"
#include "base/wr.h"

/* ---- PDUs: rpc.c ---- */

#define WIRE_RPC_HEADER 16
#define WIRE_RPC_FRAGMENT                                                                          \
    4280 /* bytes of one PDU that we take and send: what Windows says, too                         \
          */

enum wire_rpc_type {
    RPC_REQUEST = 0,
    RPC_RESPONSE = 2,
    RPC_FAULT = 3,
    RPC_BIND = 11,
    RPC_BIND_ACK = 12,
    RPC_BIND_NAK = 13,
};
enum { RPC_FIRST_FRAGMENT = 1, RPC_LAST_FRAGMENT = 2 };
enum { RPC_ACCEPTED = 0 }; /* of bind_ack's results */

/* An interface or a transfer syntax, by its identifier as it travels. */
struct wire_rpc_syntax {
    uint8_t uuid[16];
    uint32_t version; /* minor << 16 | major */
};
extern const struct wire_rpc_syntax wire_rpc_ndr, wire_rpc_srvsvc;

/* Any PDU: what is not said of its type is 0. */
struct wire_rpc {
    uint8_t type, flags;
    uint32_t call;
    uint16_t max_fragment;         /* BIND, BIND_ACK: of either direction */
    struct wire_rpc_syntax offers; /* BIND: the interface, with NDR */
    uint16_t result, reason;       /* BIND_ACK; NAK has a reason */
    uint16_t operation;            /* REQUEST */
    uint32_t hint;                 /* REQUEST, RESPONSE, FAULT: bytes of all fragments' stubs */
    uint32_t status;               /* FAULT */
    struct rd stub;                /* REQUEST, RESPONSE: this fragment's part of the arguments */
};
void wire_rpc_encode(struct wr *w, const struct wire_rpc *m);
/* `pdu`: exactly one, as long as its header says. */
int wire_rpc_decode(struct rd pdu, struct wire_rpc *ret);
/* How long the PDU is that begins with these WIRE_RPC_HEADER bytes. -EBADMSG: it begins none. */
int wire_rpc_length(struct rd header);
/* "access denied" for a fault's status that people meet; NULL: some other one. */
const char *wire_rpc_fault_text(uint32_t status);

/* ---- NetrShareEnum, level 1: srvsvc.c ---- */

enum { SRVSVC_SHARE_ENUM = 15 };
enum {
    SHARE_DISK = 0,
    SHARE_PRINTER = 1,
    SHARE_DEVICE = 2,
    SHARE_IPC = 3,
    SHARE_KIND = 0xff, /* the rest are flags */
    SHARE_TEMPORARY = 0x40000000,
};
#define SHARE_SPECIAL 0x80000000u /* hidden, or for administrators */

/* The arguments. */
struct wire_shares_request {
    struct rd server; /* UTF-16LE, "\\HOST", without a NUL */
    uint32_t preferred_length;
    uint32_t resume;
};
void wire_shares_request_encode(struct wr *stub, const struct wire_shares_request *m);
int wire_shares_request_decode(struct rd stub, struct wire_shares_request *ret);

struct wire_share {
    struct rd name, comment; /* UTF-16LE, without a NUL */
    uint32_t type;
};
/* The results. All of it has been looked at when the decoder returns 0. */
struct wire_shares_response {
    uint32_t count; /* entries in this answer */
    uint32_t total, resume;
    uint32_t result; /* 0, or an error of Windows' */
    struct rd entries, strings;
};
int wire_shares_response_decode(struct rd stub, struct wire_shares_response *ret);
/* The next of its entries: 1, or 0 behind the last. */
int wire_share_next(struct wire_shares_response *m, struct wire_share *ret);
void wire_shares_response_encode(struct wr *stub, const struct wire_share *share, uint32_t count,
                                 uint32_t resume, uint32_t result);

#endif
