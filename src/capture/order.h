/* The segments of one direction of a connection, into the order of their bytes. */
#ifndef LARDER_CAPTURE_ORDER_H
#define LARDER_CAPTURE_ORDER_H

#include "base/list.h"
#include "capture/framer.h"
#include "capture/segment.h"

struct order {
    struct framer framer; /* where the bytes go */
    bool started;
    uint64_t at;        /* of the next byte: its sequence number, counted on beyond 32 bits */
    uint64_t acked;     /* the furthest the peer has acknowledged */
    struct list pieces; /* behind a hole, by position, none overlapping */
    size_t held, count;
    bool stray; /* a segment from far off came; the next one would begin at ... */
    uint32_t stray_next;
};

/* The framer has been initialised; the rest begins here. */
void order_init(struct order *o);
/* A SYN said where the stream begins. */
void order_start(struct order *o, uint32_t seq);
void order_take(struct order *o, const struct segment *s);
/* The peer has everything before `ack`: a hole there will not be filled any more. */
void order_acked(struct order *o, uint32_t ack);
/* No more will come: what waits behind holes is given out. */
void order_done(struct order *o);

#endif
