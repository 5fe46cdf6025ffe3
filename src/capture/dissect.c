/*
 * Records to messages.
 *
 * What a record is, its first four bytes tell: a message or compound, an encrypted one, a
 * compressed one, SMB1. A compound is walked by NextCommand, over the bytes that are there: an
 * element whose header was captured is a message, whatever became of the rest. Of a header that was
 * cut itself the beginning is enough to be counted (captures with 96 bytes a packet are not rare),
 * and all but the signature to be matched. Where NextCommand leads nowhere the walk ends and the
 * record is malformed; the next record is another one.
 *
 * Encrypted records that open are walked like any other, and so are compressed ones once inflated.
 */
#include <stdlib.h>
#include <string.h>

#include "base/ntstatus.h"
#include "capture/dissector.h"

/* ---- connections ---- */

static struct conn *conn_of(struct dissector *d, struct flow *flow)
{
    struct conn *c = flow->user;
    if (c)
        return c;
    c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    c->d = d;
    c->flow = flow;
    c->server = server_of_address(d, &flow->server);
    hash_init(&c->pending);
    list_init(&c->pending_order);
    list_init(&c->members);
    list_add_tail(&d->conns, &c->in_all);
    flow->user = c;
    return c;
}

static void conn_free(struct conn *c)
{
    match_end(c);
    sessions_leave(c);
    hash_done(&c->pending);
    list_del(&c->in_all);
    free(c);
}

void dissector_flow_closed(void *dissector, struct flow *flow)
{
    if (flow->user)
        conn_free(flow->user);
    flow->user = NULL;
}

void dissect_flow_facts(const struct flow *flow, struct flow_facts *ret)
{
    const struct conn *c = flow->user;
    *ret = c ? c->facts : (struct flow_facts){0};
}

/* ---- elements ---- */

/* 2.2.1: in related elements all ones mean those of the element before. */
static void resolve_ids(struct element *e)
{
    struct chain *chain = e->chain;
    bool related = e->h.flags & SMB2_FLAGS_RELATED_OPERATIONS;
    e->session_id = related && e->h.session_id == UINT64_MAX ? chain->session_id : e->h.session_id;
    e->tree_id = related && e->h.tree_id == UINT32_MAX ? chain->tree_id : e->h.tree_id;
    chain->session_id = e->session_id;
    chain->tree_id = e->tree_id;
}

static void give_message(const struct element *e, bool first)
{
    struct dissector *d = e->conn->d;
    struct message m = {
        .flow = e->conn->flow,
        .command = e->h.command,
        .response = e->response,
        .interim = e->response && e->h.status == STATUS_PENDING,
        .unsolicited = e->response && e->h.message_id == UINT64_MAX,
        .status = e->response ? e->h.status : 0,
        .bytes = e->length,
        .frame = e->record->frame,
        .time_ns = e->record->time_ns,
        .first_in_record = first,
        .decrypted = e->decrypted,
        .is_signed = e->h.flags & SMB2_FLAGS_SIGNED,
        .cut = e->cut,
        .session_id = e->session_id,
        .causes = e->record->causes,
    };
    e->conn->facts.signed_seen |= m.is_signed;
    if (d->events.message)
        d->events.message(d->events.user, &m);
}

/* 2.2.1: where Flags and SessionId end. */
enum { HEADER_COUNTED = 20, HEADER_MATCHED = 48 };

/* The header as far as it was captured, zeros behind that; a body cannot be read then. */
static int header(struct element *e, uint32_t left)
{
    uint8_t padded[WIRE_HEADER_SIZE] = {0};
    if (e->msg.len >= WIRE_HEADER_SIZE || left < WIRE_HEADER_SIZE)
        return wire_header_decode(&e->msg, &e->h);
    memcpy(padded, e->msg.base, e->msg.len);
    struct rd msg = rd_init(padded, sizeof(padded));
    e->msg.bad = true;
    return wire_header_decode(&msg, &e->h);
}

static void element(struct element *e, bool first)
{
    if (e->h.command >= SMB2_COMMANDS) {
        e->conn->d->counts.malformed++;
        return;
    }
    e->response = e->h.flags & SMB2_FLAGS_SERVER_TO_REDIR;
    resolve_ids(e);
    give_message(e, first);
    if (e->msg.len < HEADER_MATCHED)
        return;
    if (e->response)
        match_response(e);
    else
        match_request(e);
}

/* `frame` is what was captured of `length` bytes. */
static void walk(struct conn *c, const struct record *r, struct rd frame, uint32_t length,
                 bool decrypted)
{
    struct dissector *d = c->d;
    struct chain chain = {.group = ++d->groups};
    uint32_t at = 0;

    while (at < frame.len && frame.len - at >= HEADER_COUNTED) {
        struct element e = {.conn = c, .record = r, .chain = &chain, .decrypted = decrypted};
        uint32_t left = length - at;
        e.msg = rd_init(frame.base + at, frame.len - at);
        if (header(&e, left) < 0) {
            d->counts.malformed++;
            break;
        }
        bool leads_on = e.h.next >= WIRE_HEADER_SIZE && left >= WIRE_HEADER_SIZE &&
                        e.h.next <= left - WIRE_HEADER_SIZE;
        e.length = leads_on ? e.h.next : left;
        if (e.msg.len > e.length)
            e.msg.len = e.length;
        e.cut = e.msg.len < e.length;
        element(&e, at == 0);
        if (!leads_on) {
            d->counts.malformed += e.h.next != 0;
            break;
        }
        at += e.h.next;
    }
    d->counts.malformed += length < HEADER_COUNTED;
    open_unref(chain.open);
}

/* ---- records ---- */

static void frame(struct conn *c, const struct record *r, struct rd bytes, uint32_t length,
                  bool decrypted)
{
    enum wire_protocol protocol = wire_protocol(&bytes);

    if (protocol == WIRE_COMPRESSION && inflate_record(c, r, &bytes)) {
        protocol = wire_protocol(&bytes) == WIRE_SMB2 ? WIRE_SMB2 : WIRE_UNKNOWN;
        length = (uint32_t)bytes.len;
    }
    switch (protocol) {
    case WIRE_SMB2:
        walk(c, r, bytes, length, decrypted);
        break;
    case WIRE_COMPRESSION: /* it was counted as such */
        break;
    case WIRE_SMB1:
        c->d->counts.smb1_messages++;
        c->smb1_negotiate = true;
        break;
    case WIRE_TRANSFORM: /* inside another one, which is not allowed */
    case WIRE_UNKNOWN:   /* or cut so early that nobody can tell */
        c->d->counts.malformed += bytes.len >= 4 || bytes.len == length;
        break;
    }
}

bool dissector_room(uint8_t **inout_buf, size_t *inout_cap, size_t len)
{
    if (len <= *inout_cap)
        return true;
    uint8_t *buf = realloc(*inout_buf, len);
    if (!buf)
        return false;
    *inout_buf = buf;
    *inout_cap = len;
    return true;
}

void dissector_record(void *dissector, struct flow *flow, const struct record *r)
{
    struct dissector *d = dissector;
    struct conn *c = conn_of(d, flow);
    struct rd bytes = rd_init(r->data, r->captured);

    d->counts.records++;
    d->captured_bytes += r->captured;
    if (!c)
        return;
    if (wire_protocol(&bytes) != WIRE_TRANSFORM)
        frame(c, r, bytes, r->length, false);
    else if (decrypt_record(c, r, &bytes))
        frame(c, r, bytes, (uint32_t)bytes.len, true);
}

/* ---- the dissector ---- */

struct dissector *dissector_new(const struct dissect_events *events, const struct keyring *keys)
{
    struct dissector *d = calloc(1, sizeof(*d));
    if (!d)
        return NULL;
    d->events = *events;
    d->keys = keys;
    d->seed = hash_seed();
    hash_init(&d->servers);
    hash_init(&d->sessions);
    list_init(&d->conns);
    list_init(&d->session_lru);
    list_init(&d->open_lru);
    list_init(&d->pending);
    list_init(&d->shares);
    return d;
}

void dissector_finish(struct dissector *d)
{
    struct list *item;
    list_for_each(item, &d->conns)
    {
        match_end(container_of(item, struct conn, in_all));
    }
    while (!list_empty(&d->open_lru))
        open_close(d, container_of(d->open_lru.next, struct open, lru));
}

void dissector_counts(const struct dissector *d, struct dissect_counts *ret)
{
    *ret = d->counts;
}

struct dissector *dissector_free(struct dissector *d)
{
    if (!d)
        return NULL;
    dissector_finish(d);
    while (!list_empty(&d->conns))
        conn_free(container_of(d->conns.next, struct conn, in_all));
    sessions_free(d);
    free(d->plain);
    free(d->inflated);
    free(d);
    return NULL;
}
