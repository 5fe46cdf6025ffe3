/*
 * The receive thread: reads frames, verifies them, finds the request of each reply, wakes its
 * owner.
 *
 * It waits for nothing but the socket. A frame is read whole into memory of its own and cut into
 * messages; each is checked (3.2.5.1) before it has any effect: it must be a response, signed where
 * the session is signed, and answer a request that is waiting with the command that was asked.
 * Replies to unknown MessageIds are counted and dropped, as the specification wants; anything else
 * that is wrong ends the connection with a reason, since the place of the next message in such a
 * stream, or its sender, can not be trusted.
 *
 * What answers an encrypted request has to come encrypted, and then needs no signature. Interim
 * responses and breaks are taken as they come, signed, encrypted or not: some servers send them
 * plain, the former say nothing, and the latter only ever take.
 *
 * Silence is probed: after echo_interval without a byte an ECHO goes out, and when another request
 * timeout passes in silence the connection is given up. Where a lost connection is made again,
 * somebody who waits for an answer has it probed sooner, so that what is dead is found out while he
 * may still be helped. A frame that has begun must be complete within one request timeout.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "client/renew.h"
#include "client/seal.h"

#define PROBE_RETRY (NS_PER_SEC / 2)

static int garbage(struct error *why, const char *what)
{
    return error_set(why, -EBADMSG, 0, "the server sent something that is not SMB2: %s", what);
}

/* ---- one message ---- */

/* Caller holds conn->lock. */
static struct request *find(struct conn *c, uint64_t message_id)
{
    struct hash_node *n = hash_first(&c->pending, hash_u64(message_id));
    for (; n; n = hash_next(n)) {
        struct request *q = container_of(n, struct request, node);
        if (q->header.message_id == message_id)
            return q;
    }
    return NULL;
}

/* 3.2.5.1.3, behind what was sent to us unasked or ahead of the answer, which is never verified. */
static int verify(const struct secure_signer *signer, bool must, const struct wire_header *h,
                  const struct rd *message, struct error *why)
{
    if (!signer)
        return 0;
    if (!(h->flags & SMB2_FLAGS_SIGNED)) {
        if (!must)
            return 0;
        const char *name = ntstatus_name(h->status);
        return error_set(why, -EBADMSG, h->status,
                         "the server's answer to %s (%s) is not signed although the session is; "
                         "the session is ended",
                         wire_command_name(h->command), name ? name : "unknown status");
    }
    int r = secure_verify(signer, message->base, message->len);
    if (r == -EBADMSG)
        return error_set(why, r, 0,
                         "the signature of the server's answer to %s is wrong (bytes were changed "
                         "on their way, or the keys differ); the session is ended",
                         wire_command_name(h->command));
    return r < 0 ? error_set(why, r, 0, "cannot verify a signature: %s", strerror(-r)) : 0;
}

/* STATUS_PENDING: the answer will come later, under the same MessageId (3.2.5.1.5). */
static void note_interim(struct conn *c, const struct wire_header *h, size_t bytes)
{
    observe_interim(c->observe, h->command, bytes);
    pthread_mutex_lock(&c->lock);
    credit_grant(c, h->credits);
    struct request *q = c->dead ? NULL : find(c, h->message_id);
    if (q && h->credits && !q->settled) { /* a watch may wait for days: nothing comes of it then */
        q->settled = true;
        c->in_flight -= q->charge;
    }
    if (q && (h->flags & SMB2_FLAGS_ASYNC_COMMAND)) {
        q->interim = true;
        q->async_id = h->async_id;
        pthread_cond_broadcast(q->compound->wake);
    }
    pthread_mutex_unlock(&c->lock);
}

/* Stores the reply and wakes its owner; where there is none any more, ends the compound here. */
static void complete(struct conn *c, struct request *q, const struct wire_header *h,
                     struct frame *frame, const struct rd *message)
{
    struct handle *open = NULL;
    pthread_cond_t *wake = NULL;

    pthread_mutex_lock(&c->lock);
    if (c->dead) { /* somebody's sending failed meanwhile, and `q` is not ours any more */
        pthread_mutex_unlock(&c->lock);
        return;
    }
    hash_del(&c->pending, &q->node);
    q->reply = *h;
    q->message = *message;
    q->frame = frame_ref(frame);
    q->answered = true;
    q->heard_at = c->last_heard;
    if (h->status == STATUS_NETWORK_SESSION_EXPIRED && h->command != SMB2_SESSION_SETUP)
        renew_wanted(c, q);
    c->in_flight -= q->settled ? 0 : q->charge;
    credit_grant(c, h->credits);
    struct compound *orphan = compound_answered(q->compound, &open, &wake);
    pthread_mutex_unlock(&c->lock);
    if (wake)
        pthread_cond_broadcast(wake);
    conn_close_later(c, open);
    if (orphan)
        compound_orphaned(orphan);
}

/*
 * The server knows the session or the tree no more: somebody ended it there, or closed the share.
 * The connection is treated as lost, since another one gets both anew. It may say so in plain (the
 * key went with the session), and is believed: whoever forges that could cut the line as well.
 *
 * Caller holds conn->lock.
 */
static bool is_forgotten(const struct conn *c, const struct wire_header *h)
{
    bool gone = status_is(h->status, STATUS_USER_SESSION_DELETED) ||
                status_is(h->status, STATUS_NETWORK_NAME_DELETED);
    return gone && c->established && c->revives && !c->closing;
}

/* What was refused so has not been done, and is sent again as if it had never left; but a logon
 * belongs to the session that is gone. Caller holds conn->lock. */
static void note_not_done(struct request *q)
{
    if (q == &q->compound->request[0] && q->header.command != SMB2_SESSION_SETUP)
        q->compound->left = false;
}

static int forgotten(const struct wire_header *h, struct error *why)
{
    bool all = status_is(h->status, STATUS_USER_SESSION_DELETED);
    return error_set(why, -ENOTCONN, h->status, "the server has ended the %s (%s)",
                     all ? "session" : "connection to the share", ntstatus_name(h->status));
}

static int not_sealed(const struct wire_header *h, struct error *why)
{
    const char *name = ntstatus_name(h->status);
    return error_set(why, -EBADMSG, h->status,
                     "the server's answer to %s (%s) is not encrypted although the request was; "
                     "the session is ended",
                     wire_command_name(h->command), name ? name : "unknown status");
}

/*
 * An error behind an element that an expired session refused says nothing but that: all of them are
 * sent again. Samba fails the related ones in its own ways, one of them with the signature of the
 * request; none is looked at. The refusal itself has been verified. Caller holds conn->lock.
 */
static bool is_behind_refusal(const struct request *q, const struct wire_header *h)
{
    const struct compound *m = q->compound;
    if (!m->conn->renewal.possible || !ntstatus_failed(h->status))
        return false;
    for (unsigned i = 0; &m->request[i] != q; i++)
        if (m->request[i].answered && m->request[i].reply.status == STATUS_NETWORK_SESSION_EXPIRED)
            return true;
    return false;
}

/* `sealed`: it came encrypted. */
static int receive_message(struct conn *c, struct frame *frame, bool sealed,
                           const struct wire_header *h, const struct rd *message, struct error *why)
{
    struct wire_header refusal = *h;
    if (h->message_id == UINT64_MAX) {
        observe_unsolicited(c->observe, h->command, message->len);
        if (h->command == SMB2_OPLOCK_BREAK)
            lease_break(c, message);
        return 0;
    }
    if (!(h->flags & SMB2_FLAGS_SERVER_TO_REDIR))
        return garbage(why, "a request instead of an answer");
    if (h->status == STATUS_PENDING) {
        note_interim(c, h, message->len);
        return 0;
    }

    pthread_mutex_lock(&c->lock);
    struct request *q = c->dead ? NULL : find(c, h->message_id);
    struct secure_signer *signer = c->signer;
    bool must = c->signing, must_seal = q && q->compound->sealed;
    /* only this thread takes requests out while the connection lives: `asked` stays good below */
    uint16_t asked = q ? q->header.command : 0;
    uint64_t sent_at = q ? q->sent_at : 0;
    bool leased = q && (q->compound->flight.lease || q->compound->acks);
    bool refused = q && is_behind_refusal(q, h);
    bool ended = q && !refused && asked == h->command && is_forgotten(c, h);
    if (ended)
        note_not_done(q);
    pthread_mutex_unlock(&c->lock);

    if (!q) {
        observe_unsolicited(c->observe, h->command, message->len);
        return 0;
    }
    if (asked != h->command)
        return error_set(why, -EBADMSG, 0, "the server answered %s with %s",
                         wire_command_name(asked), wire_command_name(h->command));
    if (ended) {
        observe_response(c->observe, h->command, h->status, message->len, clock_now() - sent_at);
        return forgotten(h, why);
    }
    if (must_seal && !sealed)
        return not_sealed(h, why);
    if (refused) {
        refusal.status = STATUS_NETWORK_SESSION_EXPIRED;
        h = &refusal;
    }
    int r = sealed || refused ? 0 : verify(signer, must, h, message, why);
    if (r < 0)
        return r;
    observe_response(c->observe, h->command, h->status, message->len, clock_now() - sent_at);
    if (leased)
        lease_reply(c, q, h, message);
    complete(c, q, h, frame, message);
    return 0;
}

/* ---- one frame ---- */

static int stream_error(const struct conn *c, int r, bool in_frame, struct error *why)
{
    switch (r) {
    case -ENODATA:
        if (!in_frame)
            return error_set(why, -ECONNRESET, 0, "the server closed the connection");
        /* fall through */
    case -ECONNRESET:
        return error_set(why, -ECONNRESET, 0, "the server hung up%s",
                         in_frame ? " in the middle of a reply" : "");
    case -ETIMEDOUT:
        return error_set(why, -ETIMEDOUT, 0,
                         "the server stopped in the middle of a reply for %.1f s",
                         (double)c->request_timeout / NS_PER_SEC);
    default:
        return error_set(why, r, 0, "the connection broke: %s", strerror(-r));
    }
}

/* 2.1: a zero byte and three bytes of length. */
static int read_frame(struct conn *c, struct frame **ret, struct error *why)
{
    uint8_t bytes[WIRE_FRAME_HEADER];
    uint64_t deadline = clock_now() + c->request_timeout;

    int r = socket_reader_take(&c->reader, bytes, sizeof(bytes), deadline);
    if (r < 0)
        return stream_error(c, r, r == -ECONNRESET || r == -ETIMEDOUT, why);
    struct rd head = rd_init(bytes, sizeof(bytes));
    uint32_t len = rd_be32(&head);
    if (len > WIRE_FRAME_MAX)
        return garbage(why, "a frame does not begin with a zero byte");
    if (len < WIRE_HEADER_SIZE)
        return garbage(why, "a frame shorter than a header");
    uint32_t max = atomic_load_explicit(&c->frame_max, memory_order_relaxed);
    if (len > max)
        return error_set(why, -EMSGSIZE, 0,
                         "the server announced a frame of %u bytes, %u were agreed", len, max);

    struct frame *frame = frame_new(&c->frames, len);
    if (!frame)
        return error_set(why, -ENOMEM, 0, "out of memory for a frame of %u bytes", len);
    r = socket_reader_take(&c->reader, frame->data, len, deadline);
    if (r < 0) {
        frame_unref(frame);
        return stream_error(c, r, true, why);
    }
    *ret = frame;
    return 0;
}

static const char *what_protocol(const struct rd *frame)
{
    switch (frame->len ? frame->base[0] : 0) {
    case 0xff:
        return "an SMB1 message (does the server speak SMB2?)";
    case 0xfd:
        return "a message that is encrypted twice";
    case 0xfc:
        return "a compressed message, which was not agreed";
    default:
        return "a message with a broken header";
    }
}

/* 3.2.5.1.1.1: what is inside belongs to the session that it was encrypted for, but for a break,
 * which belongs to none. */
static bool is_of_session(uint64_t session_id, const struct wire_header *h)
{
    return h->session_id == session_id || (h->message_id == UINT64_MAX && h->session_id == 0);
}

static int receive_messages(struct conn *c, struct frame *frame, struct error *why)
{
    struct rd all = rd_init(frame->data, frame->len), rest, message;
    bool sealed = wire_protocol(&all) == WIRE_TRANSFORM;
    uint64_t session_id = 0;
    struct wire_header h;

    int r = sealed ? seal_open(c, frame, &all, &session_id, why) : 0;
    if (r < 0)
        return r;
    rest = all;
    while ((r = wire_frame_next(&rest, &h, &message)) > 0) {
        if (sealed && !is_of_session(session_id, &h))
            return garbage(why, "an encrypted message with one of another session inside");
        r = receive_message(c, frame, sealed, &h, &message, why);
        if (r < 0)
            return r;
    }
    return r < 0 ? garbage(why, what_protocol(&all)) : 0;
}

static int receive_frame(struct conn *c, struct error *why)
{
    struct frame *frame = NULL;
    int r = read_frame(c, &frame, why);
    if (r < 0)
        return r;
    observe_frame(c->observe, false);
    c->last_heard = clock_now();
    c->probe_since = 0;

    r = receive_messages(c, frame, why);
    frame_unref(frame);
    conn_flush(c);
    return r;
}

/* ---- silence ---- */

/* An ECHO that nobody waits for, sent only where that does not block. Whether it left. */
static bool send_probe(struct conn *c)
{
    pthread_mutex_lock(&c->lock);
    bool ready = c->established && c->up && !c->closing;
    pthread_mutex_unlock(&c->lock);
    if (!ready || pthread_mutex_trylock(&c->send_lock))
        return false;

    struct compound *m = compound_new(c, 0);
    int r = -ENOMEM;
    if (m) {
        wire_empty_encode(compound_add(m, SMB2_ECHO, 0));
        r = compound_submit_locked(m, NULL);
    }
    pthread_mutex_unlock(&c->send_lock);
    compound_free(m);
    conn_flush(c);
    return r == 0;
}

/* Whether anybody has been waiting for an answer for so long; a watch waits for none. */
static bool somebody_waits(struct conn *c, uint64_t now)
{
    bool waits = false;
    pthread_mutex_lock(&c->lock);
    for (struct hash_node *n = NULL; !waits && (n = hash_each(&c->pending, n));) {
        const struct request *q = container_of(n, struct request, node);
        waits = !q->interim && now - q->sent_at >= c->silence;
    }
    pthread_mutex_unlock(&c->lock);
    return waits;
}

/* When to look at a connection from which nothing has come since then. */
static uint64_t look_at(const struct conn *c, uint64_t since)
{
    bool soon = c->silence && c->silence < c->echo_interval;
    return since + (soon ? c->silence : c->echo_interval);
}

/* Called when nothing came until the deadline; gives the next one. */
static int note_silence(struct conn *c, uint64_t *deadline, struct error *why)
{
    uint64_t now = clock_now();

    if (!c->probe_since && now - c->last_heard < c->echo_interval && !somebody_waits(c, now)) {
        *deadline = look_at(c, now);
        return 0;
    }
    if (!c->probe_since) {
        /* without credits everything is under way already, and silence is as telling */
        bool asked = send_probe(c);
        pthread_mutex_lock(&c->lock);
        asked = asked || (credit_spare(c) == 0 && c->established);
        pthread_mutex_unlock(&c->lock);
        if (asked)
            c->probe_since = now;
        *deadline = now + (asked ? c->silence ? c->silence : c->request_timeout : PROBE_RETRY);
        return 0;
    }
    return error_set(why, -ETIMEDOUT, 0, "the server did not answer an ECHO for %.1f s",
                     (double)(now - c->probe_since) / NS_PER_SEC);
}

void *conn_receive(void *conn)
{
    struct conn *c = conn;
    struct error why = {0};
    int r = 0;

    c->last_heard = clock_now();
    uint64_t deadline = look_at(c, c->last_heard);
    while (r >= 0) {
        r = socket_reader_wait(&c->reader, deadline);
        if (r > 0) {
            r = receive_frame(c, &why);
            deadline = look_at(c, c->last_heard);
        } else if (r == 0) {
            r = note_silence(c, &deadline, &why);
        } else {
            stream_error(c, r, false, &why);
        }
    }
    conn_fail(c, &why);

    pthread_mutex_lock(&c->lock);
    bool tell = c->was_up && c->established && !c->closing && c->events.session_lost;
    struct error first = c->why;
    pthread_mutex_unlock(&c->lock);
    if (tell)
        c->events.session_lost(c->events.user, &first);
    return NULL;
}
