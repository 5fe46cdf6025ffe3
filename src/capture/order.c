/*
 * TCP's order (RFC 9293 section 3.4) from whatever was captured.
 *
 * Sequence numbers are counted on in 64 bits, so that nothing here knows of their wrap. A segment
 * that begins where the last one ended goes through without being copied; anything further waits as
 * a piece, cut so that pieces never overlap and the bytes that came first win, as in most
 * receivers. Those cut at their beginning, and those that came late or before one that did, are
 * marked. A hole is given up when the peer has acknowledged the bytes before a piece (it has
 * what we lack) or when too much waits behind it.
 *
 * A segment further off than any window is a stray from an older connection, or the capture itself
 * has a hole of gigabytes: one such proves nothing and is dropped, a second that follows the first
 * moves the stream there.
 */
#include "capture/order.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_HELD = 4 << 20,      /* bytes behind holes, a direction */
    MAX_PIECES = 4096,       /* as many segments as those bytes normally have */
    MAX_HELD_ALL = 16 << 20, /* all connections */
    FAR_OFF = 256 << 20,
};

struct piece {
    struct list in;
    uint64_t at;
    uint32_t length, captured;
    struct origin origin;
    bool late; /* what follows had come before */
    uint8_t data[];
};

/* A run of bytes on its way in. */
struct run {
    uint64_t at;
    const uint8_t *data;
    uint32_t length, captured;
    struct origin origin;
};

void order_init(struct order *o)
{
    list_init(&o->pieces);
}

void order_start(struct order *o, uint32_t seq)
{
    o->started = true;
    o->at = (1ull << 32) | seq;
}

/* Where a sequence number lies, as near to the next byte as it can be. */
static uint64_t position(const struct order *o, uint32_t seq)
{
    return o->at + (uint64_t)(int64_t)(int32_t)(seq - (uint32_t)o->at);
}

static struct piece *first_piece(const struct order *o)
{
    return list_empty(&o->pieces) ? NULL : container_of(o->pieces.next, struct piece, in);
}

/* Takes n bytes off the front: they are kept, */
static void advance(struct run *r, uint32_t n)
{
    uint32_t there = n < r->captured ? n : r->captured;
    r->at += n;
    r->length -= n;
    r->data = there ? r->data + there : r->data;
    r->captured -= there;
}

/* or have come before. */
static void advance_twice(struct order *o, struct run *r, uint32_t n)
{
    if (n == 0)
        return;
    o->framer.tally->retransmitted_bytes += n;
    r->origin.causes |= RECORD_OVERLAP;
    advance(r, n);
}

/* The next bytes of the stream. */
static void pass(struct order *o, const struct run *r)
{
    framer_bytes(&o->framer, r->data, r->captured, &r->origin);
    framer_hole(&o->framer, r->length - r->captured, &r->origin);
    o->at += r->length;
}

static size_t cost(uint32_t captured)
{
    return sizeof(struct piece) + captured;
}

static void drop(struct order *o, struct piece *p)
{
    list_del(&p->in);
    o->count--;
    o->held -= cost(p->captured);
    o->framer.memory->pieces -= cost(p->captured);
    free(p);
}

/* Puts the front n bytes of a run behind `after`. Without memory they are lost like any other. */
static struct list *keep(struct order *o, struct list *after, const struct run *r, uint32_t n)
{
    uint32_t captured = r->captured < n ? r->captured : n;
    struct piece *p = malloc(cost(captured));
    if (!p)
        return after;
    *p = (struct piece){
        .at = r->at,
        .length = n,
        .captured = captured,
        .origin = r->origin,
        .late = after->next != &o->pieces,
    };
    if (captured)
        memcpy(p->data, r->data, captured);
    list_add_tail(after->next, &p->in);
    o->count++;
    o->held += cost(captured);
    o->framer.memory->pieces += cost(captured);
    return &p->in;
}

/* Keeps what no piece has yet. */
static void insert(struct order *o, struct run r)
{
    struct list *item = o->pieces.prev;
    bool late = false;
    while (item != &o->pieces && container_of(item, struct piece, in)->at > r.at)
        item = item->prev;
    for (;;) {
        if (item != &o->pieces) {
            const struct piece *p = container_of(item, struct piece, in);
            uint64_t end = p->at + p->length;
            uint64_t over = end > r.at ? end - r.at : 0;
            advance_twice(o, &r, over < r.length ? (uint32_t)over : r.length);
        }
        if (r.length == 0)
            break;
        struct list *next = item->next;
        uint32_t room = r.length;
        if (next != &o->pieces) {
            uint64_t gap = container_of(next, struct piece, in)->at - r.at;
            room = gap < room ? (uint32_t)gap : room;
        }
        if (room)
            keep(o, item, &r, room);
        advance(&r, room);
        if (next == &o->pieces)
            break;
        late |= room > 0;
        item = next;
    }
    o->framer.tally->late_segments += late;
}

/* Passes on what has no hole before it any more. */
static void drain(struct order *o)
{
    struct piece *p;
    bool late = false;
    while ((p = first_piece(o)) && p->at == o->at) {
        struct run r = {p->at, p->data, p->length, p->captured, p->origin};
        if (late || p->late)
            r.origin.causes |= RECORD_OUT_OF_ORDER;
        r.origin.late = late = p->late;
        pass(o, &r);
        drop(o, p);
    }
}

static void skip_to(struct order *o, uint64_t at)
{
    o->framer.tally->gaps++;
    o->framer.tally->gap_bytes += at - o->at;
    framer_hole(&o->framer, at - o->at, NULL);
    o->at = at;
}

static void settle(struct order *o)
{
    const struct piece *p;
    drain(o);
    while ((p = first_piece(o)) &&
           (o->acked >= p->at || o->held > MAX_HELD || o->count > MAX_PIECES ||
            o->framer.memory->pieces > MAX_HELD_ALL)) {
        skip_to(o, p->at);
        drain(o);
    }
}

/* True where the segment belongs to the stream as we know it. */
static bool near(struct order *o, const struct segment *s)
{
    int32_t distance = (int32_t)(s->seq - (uint32_t)o->at);
    if (distance > -FAR_OFF && distance < FAR_OFF) {
        o->stray = false;
        return true;
    }
    if (o->stray && s->seq == o->stray_next) {
        order_done(o);
        skip_to(o, o->at + (uint32_t)(s->seq - (uint32_t)o->at));
        o->stray = false;
        return true;
    }
    o->stray = true;
    o->stray_next = s->seq + s->length;
    o->framer.tally->skipped_bytes += s->captured;
    return false;
}

void order_take(struct order *o, const struct segment *s)
{
    if (s->length == 0)
        return;
    if (!o->started)
        order_start(o, s->seq);
    if (!near(o, s))
        return;
    struct run r = {
        position(o, s->seq), s->payload, s->length, s->captured, {s->frame, s->time_ns, 0, false}};
    if (r.at < o->at) {
        uint64_t over = o->at - r.at;
        advance_twice(o, &r, over < r.length ? (uint32_t)over : r.length);
    }
    if (r.length == 0)
        return;
    if (r.at == o->at && list_empty(&o->pieces)) {
        pass(o, &r);
        return;
    }
    insert(o, r);
    settle(o);
}

void order_acked(struct order *o, uint32_t ack)
{
    if (!o->started)
        return;
    uint64_t at = position(o, ack);
    if (at <= o->acked || at > o->at + FAR_OFF) /* beyond any window: not of this connection */
        return;
    o->acked = at;
    settle(o);
}

void order_done(struct order *o)
{
    const struct piece *p;
    while ((p = first_piece(o))) {
        skip_to(o, p->at);
        drain(o);
    }
}
