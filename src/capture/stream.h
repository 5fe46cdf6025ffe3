/*
 * TCP streams and the NetBIOS records in them.
 *
 * Segments may come out of order, overlapping, twice, or not at all; a stream may begin in the
 * middle. A hole is given up when the peer has acknowledged beyond it, or when too much waits
 * behind it; then the stream is picked up again at the next thing that looks like a record with an
 * SMB header. What was lost is counted. Memory is bounded per stream and by the number of streams,
 * not by the length of the capture.
 */
#ifndef LARDER_CAPTURE_STREAM_H
#define LARDER_CAPTURE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/segment.h"

/* One TCP connection; a new SYN on the same four numbers is a new one. */
struct flow {
    uint64_t id;                    /* from 1, in order of appearance */
    struct endpoint client, server; /* the server is the one with the SMB port; where that does not
                                       tell, the one that got the SYN or sent a response */
    void *user;                     /* the consumer's; freed by its flow_closed */
};

/*
 * Why a record takes more than looking at each segment for itself, so that other readers may lack
 * its messages. What sets one of these loses the place where records begin; it is said of the
 * record that it happened in and of all that follow, up to one that begins a segment. A late
 * segment is in question as a whole.
 */
enum {
    RECORD_SPLIT_HEADER = 1, /* a NetBIOS header over two segments */
    RECORD_OUT_OF_ORDER = 2, /* segments in an order of their own, in the middle of a record */
    RECORD_OVERLAP = 4,      /* a segment whose beginning had come before */
    RECORD_HOLE = 8,         /* bytes that were lost in the middle of a record */
    RECORD_FOUND_AGAIN = 16, /* behind a hole or a beginning that hides where a record begins */
    RECORD_LONG = 32,        /* over 17 bits of length, on another port than 445 */
    RECORD_BEHIND = 64,      /* none of these, but one went before it in its direction */
};
enum { RECORD_CAUSES = 6 };

/* One NetBIOS session message: what is behind the 4-byte header. */
struct record {
    const uint8_t *data; /* borrowed, until the callback returns */
    uint32_t captured;   /* bytes that are there: fewer where frames were truncated or a hole was
                            given up */
    uint32_t length;     /* bytes that the header announced */
    bool from_server;
    uint64_t frame;         /* the frame that completes it */
    uint64_t time_ns;       /* its time */
    uint64_t first_time_ns; /* of the frame that its first byte came in */
    unsigned causes;        /* RECORD_..., those that apply */
};

struct stream_events {
    void (*record)(void *user, struct flow *flow, const struct record *r);
    void (*flow_closed)(
        void *user, struct flow *flow); /* or dropped for the bound, or the end of the capture */
    void *user;
};

struct stream_options {
    const uint16_t *ports; /* the servers' ports; NULL: 445 and 139 */
    size_t port_count;
    bool any_port; /* every stream whose data look like SMB */
};

struct stream_counts {
    uint64_t frames, bytes; /* all segments that were given, and their payload on the wire */
    uint64_t tcp_segments;  /* those of SMB connections; so all that follows */
    uint64_t retransmitted_bytes;
    uint64_t late_segments;   /* with bytes from before others that had come already */
    uint64_t gaps, gap_bytes; /* holes that were given up */
    uint64_t skipped_bytes;   /* passed over while looking for the next record */
    uint64_t truncated_frames;
    uint64_t flows, flows_dropped; /* dropped: for the bound on their number, though not ended */
    uint64_t netbios_control;      /* session requests, keep-alives ... */
};

struct streams;
struct streams *streams_new(const struct stream_options *options,
                            const struct stream_events *events);
void streams_take(struct streams *s, const struct segment *segment);
/* The end of the capture: what waits behind holes is given out, every flow is closed. */
void streams_finish(struct streams *s);
void streams_counts(const struct streams *s, struct stream_counts *ret);
/* TCP ports that carried data but are not looked at, most bytes first: for "no SMB in it". */
size_t streams_other_ports(const struct streams *s, uint16_t *out, size_t cap);
/* Finishes first, where that was not done. */
struct streams *streams_free(struct streams *s);

#endif
