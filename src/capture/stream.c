/*
 * The table of connections. Each has two directions, each of them an order (order.c: bytes in
 * sequence) over a framer (framer.c: records in bytes); this file finds the connection of a
 * segment, tells it when the peer acknowledges, and decides which side is the server.
 *
 * A connection is four numbers, until a SYN with another sequence number begins a new one on them.
 * FIN and RST end nothing by themselves, since in a capture late or reordered segments may follow;
 * they only make a connection one of those that are dropped first. With `any_port` a connection
 * counts as SMB once it has had a record, and is let alone when it has none in its first 64 KiB.
 */
#include "capture/stream.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "capture/order.h"

enum { MAX_FLOWS = 4096, MAX_ENDED = 64, ANY_PORT_PATIENCE = 64 << 10 };
enum { PORTS = 65536, SMB_PORT = 445, NETBIOS_PORT = 139 };

/* One direction: the sender is ends[side] of its connection. */
struct half {
    struct order order;
    struct connection *connection;
    bool syn_seen, finished;
    uint32_t start; /* behind the SYN */
};

struct connection {
    struct flow flow; /* client and server are set at the first record */
    struct hash_node node;
    struct list used; /* in streams->active or ->ended, least recently used first */
    struct streams *streams;
    struct endpoint ends[2]; /* the lesser first: the key */
    struct half half[2];
    struct flow_tally tally;
    bool claimed; /* it is SMB, as far as anybody can tell */
    bool ignored; /* any_port: it is not */
    bool ended, oriented;
    int server; /* side; -1: not known yet */
};

struct streams {
    struct stream_events events;
    bool any_port;
    uint8_t wanted[PORTS / 8];
    struct hash table;
    struct list active, ended;
    size_t ended_count;
    uint64_t seed;
    uint64_t next_id;
    struct stream_memory memory;
    struct stream_counts counts; /* of the flows that are gone; `flows` of all */
    uint64_t other_bytes[PORTS]; /* by the lower port of a connection */
};

/* ---- sides ---- */

static bool wanted(const struct streams *s, uint16_t port)
{
    return s->wanted[port / 8] >> port % 8 & 1;
}

static void claim(struct connection *c)
{
    if (c->claimed)
        return;
    c->claimed = true;
    c->flow.id = ++c->streams->next_id;
    c->streams->counts.flows++;
}

/* By the ports, where they tell: the side with an SMB port, -1 where both have one or none. */
static int server_by_port(const struct streams *s, const struct endpoint ends[2])
{
    bool first = wanted(s, ends[0].port), second = wanted(s, ends[1].port);
    return first == second ? -1 : second;
}

/* By the first record: SMB1 and SMB2 headers say whether they are a response. Where they are
 * encrypted the lower port is the server's. */
static int server_by_record(const struct connection *c, int side, const struct framed *r)
{
    if (r->captured >= 20 && r->data[0] == 0xfe)
        return r->data[16] & 1 ? side : 1 - side;
    if (r->captured >= 10 && r->data[0] == 0xff)
        return r->data[9] & 0x80 ? side : 1 - side;
    return c->ends[0].port <= c->ends[1].port ? 0 : 1;
}

static void orient(struct connection *c, int server)
{
    c->oriented = true;
    c->server = server;
    c->flow.server = c->ends[server];
    c->flow.client = c->ends[1 - server];
}

static void give(void *user, const struct framed *r)
{
    struct half *h = user;
    struct connection *c = h->connection;
    struct streams *s = c->streams;
    int side = (int)(h - c->half);
    claim(c);
    if (!c->oriented)
        orient(c, c->server >= 0 ? c->server : server_by_record(c, side, r));
    struct record record = {
        .data = r->data,
        .captured = r->captured,
        .length = r->length,
        .from_server = side == c->server,
        .frame = r->last.frame,
        .time_ns = r->last.time_ns,
        .first_time_ns = r->first.time_ns,
        .causes = r->causes,
    };
    s->events.record(s->events.user, &c->flow, &record);
}

/* ---- the table ---- */

struct key {
    struct endpoint ends[2];
};

static int key_of(const struct segment *segment, struct key *ret)
{
    int side = memcmp(&segment->from, &segment->to, sizeof(segment->from)) > 0;
    ret->ends[side] = segment->from;
    ret->ends[1 - side] = segment->to;
    return side;
}

static void add_tally(struct stream_counts *to, const struct flow_tally *t)
{
    to->tcp_segments += t->segments;
    to->retransmitted_bytes += t->retransmitted_bytes;
    to->late_segments += t->late_segments;
    to->gaps += t->gaps;
    to->gap_bytes += t->gap_bytes;
    to->skipped_bytes += t->skipped_bytes;
    to->truncated_frames += t->truncated_frames;
    to->netbios_control += t->netbios_control;
}

/* Gives out what waits in a connection. */
static void flush(struct connection *c)
{
    for (int side = 0; side < 2; side++) {
        order_done(&c->half[side].order);
        framer_done(&c->half[side].order.framer);
    }
}

static void close_connection(struct connection *c)
{
    struct streams *s = c->streams;
    flush(c);
    if (c->claimed) {
        if (!c->oriented)
            orient(c, c->server >= 0 ? c->server : 0);
        add_tally(&s->counts, &c->tally);
        s->events.flow_closed(s->events.user, &c->flow);
    }
    if (c->ended)
        s->ended_count--;
    list_del(&c->used);
    hash_del(&s->table, &c->node);
    free(c);
}

/* The tables are full: the longest ended one goes, or the least recently used. */
static void make_room(struct streams *s)
{
    while (s->ended_count > MAX_ENDED)
        close_connection(container_of(s->ended.next, struct connection, used));
    if (s->table.count < MAX_FLOWS)
        return;
    struct list *first = list_empty(&s->ended) ? s->active.next : s->ended.next;
    struct connection *c = container_of(first, struct connection, used);
    s->counts.flows_dropped += c->claimed && !c->ended;
    close_connection(c);
}

static struct connection *find(const struct streams *s, const struct key *key, uint64_t hash)
{
    for (struct hash_node *n = hash_first(&s->table, hash); n; n = hash_next(n)) {
        struct connection *c = container_of(n, struct connection, node);
        if (memcmp(c->ends, key->ends, sizeof(key->ends)) == 0)
            return c;
    }
    return NULL;
}

static bool has_port(const struct connection *c, uint16_t port)
{
    return c->ends[0].port == port || c->ends[1].port == port;
}

static struct connection *add(struct streams *s, const struct key *key, uint64_t hash)
{
    make_room(s);
    struct connection *c = calloc(1, sizeof(*c));
    if (!c || hash_add(&s->table, &c->node, hash) < 0) {
        free(c);
        return NULL;
    }
    c->streams = s;
    memcpy(c->ends, key->ends, sizeof(c->ends));
    c->server = server_by_port(s, c->ends);
    bool netbios = has_port(c, NETBIOS_PORT), other_port = !netbios && !has_port(c, SMB_PORT);
    for (int side = 0; side < 2; side++) {
        struct half *h = &c->half[side];
        h->connection = c;
        framer_init(&h->order.framer, &c->tally, &s->memory, give, h);
        h->order.framer.short_lengths = netbios;
        h->order.framer.other_port = other_port;
        order_init(&h->order);
    }
    list_add_tail(&s->active, &c->used);
    if (!s->any_port)
        claim(c);
    return c;
}

/* Whether the stream at `at` cannot have begun with this sequence number a moment ago. */
static bool long_after(uint64_t at, uint32_t seq)
{
    return (uint32_t)at - seq > 0xffff;
}

/* Whether a SYN is of another connection than the one known on the same four numbers. It may also
 * be a copy, or come after what it should come before. */
static bool begins_anew(const struct connection *c, int side, const struct segment *segment)
{
    const struct half *own = &c->half[side], *peer = &c->half[1 - side];
    if (own->syn_seen)
        return own->start != segment->seq + 1;
    if (own->order.started)
        return long_after(own->order.at, segment->seq + 1);
    if (segment->flags & TCP_ACK)
        return peer->order.started && long_after(peer->order.at, segment->ack);
    return peer->order.started && !peer->syn_seen;
}

static void take_syn(struct connection *c, int side, const struct segment *segment)
{
    struct half *h = &c->half[side];
    if (h->syn_seen)
        return;
    if (c->server < 0)
        c->server = segment->flags & TCP_ACK ? side : 1 - side;
    h->syn_seen = true;
    h->start = segment->seq + 1;
    if (h->order.started) /* its data came first */
        return;
    h->order.framer.state = FRAMER_HEADER;
    order_start(&h->order, h->start);
}

/* The connection of a segment; NULL where it begins none, or out of memory. */
static struct connection *connection_of(struct streams *s, const struct segment *segment,
                                        int *ret_side)
{
    struct key key;
    *ret_side = key_of(segment, &key);
    uint64_t hash = hash_bytes(&key, sizeof(key), s->seed);
    struct connection *c = find(s, &key, hash);
    bool syn = segment->flags & TCP_SYN;
    if (c && syn && begins_anew(c, *ret_side, segment)) {
        close_connection(c);
        c = NULL;
    }
    if (!c && (syn || segment->length > 0))
        c = add(s, &key, hash);
    return c;
}

static void note_use(struct streams *s, struct connection *c, int side, uint8_t flags)
{
    c->half[side].finished |= (flags & TCP_FIN) != 0;
    bool ends = (flags & TCP_RST) || (c->half[0].finished && c->half[1].finished);
    if (ends && !c->ended) {
        c->ended = true;
        s->ended_count++;
        list_del(&c->used);
        list_add_tail(&s->ended, &c->used);
    } else if (!c->ended && s->active.prev != &c->used) {
        list_del(&c->used);
        list_add_tail(&s->active, &c->used);
    }
}

/* ---- the face ---- */

void streams_take(struct streams *s, const struct segment *segment)
{
    const uint16_t from = segment->from.port, to = segment->to.port;
    s->counts.frames++;
    s->counts.bytes += segment->length;
    if (!s->any_port && !wanted(s, from) && !wanted(s, to)) {
        s->other_bytes[from < to ? from : to] += segment->length;
        return;
    }
    int side;
    struct connection *c = connection_of(s, segment, &side);
    if (!c)
        return;
    note_use(s, c, side, segment->flags);
    c->tally.segments++;
    c->tally.truncated_frames += segment->captured < segment->length;
    if (c->ignored)
        return;
    struct segment data = *segment;
    if (segment->flags & TCP_SYN) {
        take_syn(c, side, segment);
        data.seq++; /* data in a SYN come behind it */
    }
    if ((segment->flags & (TCP_ACK | TCP_RST)) == TCP_ACK)
        order_acked(&c->half[1 - side].order, segment->ack);
    order_take(&c->half[side].order, &data);
    if (!c->claimed && c->tally.skipped_bytes > ANY_PORT_PATIENCE) {
        flush(c);
        c->ignored = !c->claimed;
    }
}

void streams_finish(struct streams *s)
{
    while (!list_empty(&s->ended))
        close_connection(container_of(s->ended.next, struct connection, used));
    while (!list_empty(&s->active))
        close_connection(container_of(s->active.next, struct connection, used));
}

void streams_counts(const struct streams *s, struct stream_counts *ret)
{
    *ret = s->counts;
    for (const struct hash_node *n = NULL; (n = hash_each(&s->table, n));) {
        const struct connection *c = container_of(n, struct connection, node);
        if (c->claimed)
            add_tally(ret, &c->tally);
    }
}

size_t streams_other_ports(const struct streams *s, uint16_t *out, size_t cap)
{
    size_t count = 0;
    for (uint32_t port = 0; port < PORTS; port++) {
        if (s->other_bytes[port] == 0)
            continue;
        size_t at = count < cap ? count++ : cap;
        for (; at > 0 && s->other_bytes[out[at - 1]] < s->other_bytes[port]; at--)
            if (at < cap)
                out[at] = out[at - 1];
        if (at < cap)
            out[at] = (uint16_t)port;
    }
    return count;
}

struct streams *streams_new(const struct stream_options *options,
                            const struct stream_events *events)
{
    static const uint16_t usual[] = {SMB_PORT, NETBIOS_PORT};
    struct streams *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->events = *events;
    s->any_port = options->any_port;
    const uint16_t *ports = options->ports ? options->ports : usual;
    size_t count = options->ports ? options->port_count : sizeof(usual) / sizeof(usual[0]);
    for (size_t i = 0; i < count; i++)
        s->wanted[ports[i] / 8] |= (uint8_t)(1 << ports[i] % 8);
    hash_init(&s->table);
    list_init(&s->active);
    list_init(&s->ended);
    s->seed = hash_seed();
    return s;
}

struct streams *streams_free(struct streams *s)
{
    if (!s)
        return NULL;
    streams_finish(s);
    hash_done(&s->table);
    free(s->memory.spare);
    free(s);
    return NULL;
}
