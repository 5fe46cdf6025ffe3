/*
 * Requests and the responses to them: by MessageId, per connection.
 *
 * A request waits with all that its exchange will say. An interim response leaves it waiting; the
 * final one completes the exchange, gives it out and ends the wait. Where a second one follows, the
 * last is the one that counts for the time that the request took, as in Wireshark; what the
 * exchange said stands. Requests that never see one
 * (the capture ends, or lost it, or the MessageId comes again) are given out unanswered. A response
 * without a request, as at the beginning of a capture, is an exchange of its own.
 *
 * CANCEL is no request here: its MessageId is that of the request to be cancelled, and it has no
 * response. A break's notification is no response: its MessageId is all ones.
 */
#include <stdlib.h>
#include <string.h>

#include "base/ntstatus.h"
#include "capture/dissector.h"

/* ---- waiting ---- */

static uint64_t hash_of(const struct conn *c, uint64_t message_id)
{
    return hash_u64(message_id ^ c->d->seed);
}

static struct pending *find(const struct conn *c, uint64_t message_id)
{
    struct hash_node *n = hash_first(&c->pending, hash_of(c, message_id));
    for (; n; n = hash_next(n))
        if (container_of(n, struct pending, node)->message_id == message_id)
            return container_of(n, struct pending, node);
    return NULL;
}

static void release(struct pending *p)
{
    open_unref(p->open);
    free(p->text);
    free(p->preauth);
}

static void take_out(struct pending *p)
{
    hash_del(&p->conn->pending, &p->node);
    list_del(&p->in_conn);
    list_del(&p->in_all);
    p->conn->pending_count--;
    p->conn->d->pending_count--;
    p->conn->d->pending_text -= p->text_len;
}

static void give(struct dissector *d, struct pending *p)
{
    struct exchange *x = &p->x;
    if (p->open) {
        x->open = p->open->session ? &p->open->pub : NULL;
        x->path = p->open->pub.path_known ? p->open->pub.path : NULL;
        if (!x->share)
            x->share = p->open->pub.share;
    }
    x->pattern = p->text && x->command != SMB2_TREE_CONNECT ? p->text : "";
    if (d->events.exchange)
        d->events.exchange(d->events.user, x);
}

static void give_unanswered(struct pending *p)
{
    struct dissector *d = p->conn->d;
    take_out(p);
    d->counts.unanswered_requests++;
    give(d, p);
    release(p);
    free(p);
}

static void keep_bounds(struct conn *c)
{
    struct dissector *d = c->d;
    if (c->pending_count > PENDING_CONN_MAX) {
        d->counts.open_bound_reached++;
        give_unanswered(container_of(c->pending_order.next, struct pending, in_conn));
    }
    while (d->pending_count > PENDING_MAX ||
           (d->pending_text > PENDING_TEXT_MAX && d->pending_count > 1)) {
        d->counts.open_bound_reached++;
        give_unanswered(container_of(d->pending.next, struct pending, in_all));
    }
}

static int wait(struct conn *c, struct pending *p)
{
    int r = hash_add(&c->pending, &p->node, hash_of(c, p->message_id));
    if (r < 0)
        return r;
    list_add_tail(&c->pending_order, &p->in_conn);
    list_add_tail(&c->d->pending, &p->in_all);
    c->pending_count++;
    c->d->pending_count++;
    p->text_len = (p->text ? strlen(p->text) : 0) + (p->open ? p->open->text_len : 0);
    c->d->pending_text += p->text_len;
    return 0;
}

/* ---- requests ---- */

/* Commands outside any tree: their TreeId means nothing. TREE_CONNECT's comes with its response. */
static bool is_in_tree(uint16_t command)
{
    return command >= SMB2_TREE_DISCONNECT && command != SMB2_CANCEL && command != SMB2_ECHO;
}

static void init(struct pending *p, const struct element *e)
{
    *p = (struct pending){
        .conn = e->conn,
        .message_id = e->h.message_id,
        .session_id = e->session_id,
        .tree_id = e->tree_id,
        .x = {.flow = e->conn->flow, .command = e->h.command, .group = e->chain->group},
    };
    if (is_in_tree(e->h.command) && !(e->h.flags & SMB2_FLAGS_ASYNC_COMMAND))
        p->x.share = tree_of(e->conn, e->session_id, e->tree_id);
}

void match_request(struct element *e)
{
    struct conn *c = e->conn;
    if (e->h.command == SMB2_CANCEL)
        return;
    struct pending *p = find(c, e->h.message_id);
    if (p)
        give_unanswered(p);
    p = malloc(sizeof(*p));
    if (!p)
        return;

    init(p, e);
    p->x.request_seen = true;
    p->x.asked_ns = e->record->time_ns;
    p->x.asked_frame = e->record->frame;
    p->x.request_bytes = e->length;
    fields_of_request(e, p);
    open_unref(e->chain->open);
    e->chain->open = open_ref(p->open);
    if (wait(c, p) < 0) {
        release(p);
        free(p);
        return;
    }
    keep_bounds(c);
}

/* ---- responses ---- */

static bool ends_open(const struct pending *p)
{
    return p->x.command == SMB2_CLOSE &&
           (p->x.status == STATUS_SUCCESS || p->x.status == (uint32_t)STATUS_FILE_CLOSED);
}

static void answer(struct element *e, struct pending *p)
{
    struct conn *c = e->conn;
    struct exchange *x = &p->x;
    x->answered = true;
    x->status = e->h.status;
    x->answered_ns = e->record->time_ns;
    x->answered_frame = e->record->frame;
    x->response_bytes = e->length;
    if (!x->request_seen)
        x->asked_ns = x->answered_ns;
    fields_of_response(e, p);
    give(c->d, p);

    if (ends_open(p))
        open_close(c->d, p->open);
    if (x->status != STATUS_SUCCESS || !x->request_seen)
        return;
    struct session *s = x->command == SMB2_LOGOFF ? session_of(c, p->session_id) : NULL;
    if (s)
        session_logged_off(c->d, s);
    if (x->command == SMB2_TREE_DISCONNECT)
        tree_disconnected(c, p->session_id, p->tree_id);
}

/* The SMB2 response to a NEGOTIATE of SMB1 was to be expected: 3.3.5.3.1. */
static bool is_expected(const struct conn *c, const struct element *e)
{
    return e->h.command == SMB2_NEGOTIATE && c->smb1_negotiate;
}

static void remember(struct conn *c, const struct pending *p)
{
    c->answered[c->answered_count++ % ANSWERED_KEPT] = (struct answered){
        .message_id = p->message_id,
        .asked_ns = p->x.asked_ns,
        .answered_ns = p->x.answered_ns,
        .command = p->x.command,
    };
}

/* A response to a request that had one already. */
static bool answer_again(struct element *e)
{
    struct conn *c = e->conn;
    struct dissector *d = c->d;
    for (size_t i = 0; i < ANSWERED_KEPT && i < c->answered_count; i++) {
        struct answered *a = &c->answered[i];
        if (a->message_id != e->h.message_id || a->command != e->h.command)
            continue;
        const struct answered_again again = {
            .flow = c->flow,
            .command = a->command,
            .asked_ns = a->asked_ns,
            .before_ns = a->answered_ns,
            .answered_ns = e->record->time_ns,
        };
        a->answered_ns = again.answered_ns;
        if (d->events.answered_again)
            d->events.answered_again(d->events.user, &again);
        return true;
    }
    return false;
}

void match_response(struct element *e)
{
    struct conn *c = e->conn;
    if (e->h.message_id == UINT64_MAX) {
        if (e->h.command == SMB2_OPLOCK_BREAK)
            fields_of_break(e);
        return;
    }
    struct pending *p = find(c, e->h.message_id);
    if (p && p->x.command != e->h.command)
        p = NULL;
    if (e->h.status == STATUS_PENDING)
        return;
    if (p) {
        take_out(p);
        answer(e, p);
        remember(c, p);
        release(p);
        free(p);
        return;
    }
    if (answer_again(e))
        return;
    struct pending alone;
    c->d->counts.unmatched_responses += !is_expected(c, e);
    init(&alone, e);
    answer(e, &alone);
    release(&alone);
}

void match_end(struct conn *c)
{
    while (!list_empty(&c->pending_order))
        give_unanswered(container_of(c->pending_order.next, struct pending, in_conn));
}
