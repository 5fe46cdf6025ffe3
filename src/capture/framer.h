/*
 * The bytes of one direction of a connection, in order, to NetBIOS records (RFC 1002 section 4.3;
 * on port 445 [MS-SMB2] 2.1: the same header with a length of 24 bits).
 */
#ifndef LARDER_CAPTURE_FRAMER_H
#define LARDER_CAPTURE_FRAMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/stream.h"

/* What one connection cost; stream.c adds them up. */
struct flow_tally {
    uint64_t segments, truncated_frames, retransmitted_bytes, late_segments;
    uint64_t gaps, gap_bytes, skipped_bytes, netbios_control;
};

/* The memory that all connections share: what they hold, and one buffer to reuse. */
struct stream_memory {
    size_t records, pieces; /* bytes held in unfinished records, and behind holes */
    uint8_t *spare;
    size_t spare_size;
};

struct origin {
    uint64_t frame, time_ns;
    unsigned causes; /* RECORD_OUT_OF_ORDER, RECORD_OVERLAP: of the segment */
    bool late;       /* what follows it had come before */
};

/* A record, `data` borrowed until the callback returns; see struct record in stream.h. */
struct framed {
    const uint8_t *data;
    uint32_t captured, length;
    struct origin last, first; /* of the bytes: the latest frame in the capture; the first byte's */
    unsigned causes;
};

enum framer_state {
    FRAMER_SCAN,   /* looks for the next record */
    FRAMER_HEADER, /* a record begins here */
    FRAMER_BODY,
    FRAMER_PASS, /* the body of a control message */
};

/* What the scan looks at: a header, a magic, SMB2's StructureSize. */
enum { FRAMER_WINDOW = 10 };

struct framer {
    enum framer_state state;
    bool short_lengths; /* port 139: 17 bits */
    bool other_port;    /* neither that nor 445 */
    uint8_t head[8];    /* the header and the first four bytes behind it, `got` of them */
    uint32_t got;       /* HEADER: of head; BODY, PASS: of the body, whether captured or not */
    uint32_t length, captured;
    uint8_t *body; /* grows with what came */
    size_t size;
    struct origin first, last;
    const uint8_t *segment;         /* its first byte; NULL: late, or it had come before */
    unsigned causes;                /* why the place in the stream may be lost to others */
    unsigned before;                /* the last segment's */
    bool lost;                      /* there has been a record with causes */
    uint64_t window, window_before; /* SCAN: the last 8 bytes, and the 8 before */
    uint32_t scanned;
    struct origin trail[FRAMER_WINDOW]; /* SCAN: where the last bytes before this call came from */
    struct flow_tally *tally;
    struct stream_memory *memory;
    void (*give)(void *user, const struct framed *r);
    void *user;
};

/* The state is the caller's choice: HEADER for a connection seen from its SYN, SCAN for others. */
void framer_init(struct framer *f, struct flow_tally *tally, struct stream_memory *memory,
                 void (*give)(void *user, const struct framed *r), void *user);
void framer_bytes(struct framer *f, const uint8_t *data, size_t n, const struct origin *o);
/* n bytes that are not there: cut off a frame (`o`), or lost (NULL). */
void framer_hole(struct framer *f, uint64_t n, const struct origin *o);
/* The end of the stream: a record that is not whole is skipped. */
void framer_done(struct framer *f);

#endif
