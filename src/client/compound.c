/*
 * Compounds: one to five requests that leave in one frame (3.2.4.1.4).
 *
 * A single request is a compound of one. Elements after the first are related: the server runs them
 * in order, and a FileId of all ones means the open of the CREATE before. Each element has its own
 * MessageId, signature and reply. Building needs no lock; compound_submit takes the credits, gives
 * out the MessageIds and registers the requests in one step under conn->lock, then signs and sends.
 * The data of a WRITE is signed and sent from where its caller has it; a session that is encrypted
 * seals all of a frame at once instead, and then nothing in it is signed.
 *
 * A compound that is freed with replies missing is abandoned, not destroyed: it stays registered,
 * and the receive thread ends it when its last reply has come. Whoever ends it looks whether a
 * CREATE in it has left an open on the server that nobody took and no CLOSE in it has closed; that
 * one rule covers an element that failed behind a CREATE, a deadline that passed, and an answer
 * that came too late.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/kept.h"
#include "client/renew.h"
#include "client/seal.h"

enum {
    ELEMENT_FIXED = 512, /* the largest request without its variable parts, padding included */
    CLOSED_MAX = 2, /* so often an open that the server closed is opened again for one request */
};

/* ---- building ---- */

struct compound *compound_new(struct conn *c, size_t extra)
{
    size_t cap = WIRE_FRAME_HEADER + COMPOUND_MAX * (size_t)ELEMENT_FIXED + extra;
    struct compound *m = malloc(sizeof(*m) + cap);
    if (!m)
        return NULL;
    memset(m, 0, sizeof(*m));
    m->conn = c;
    list_init(&m->link);
    m->w = wr_init(m->buf, cap);
    wr_zero(&m->w, WIRE_FRAME_HEADER);
    m->wake = &c->wakes[atomic_fetch_add_explicit(&c->next_wake, 1, memory_order_relaxed) % WAKES];
    return m;
}

static void end_element(struct compound *m, bool another_follows)
{
    if (m->count == 0)
        return;
    struct request *q = &m->request[m->count - 1];
    wire_element_end(&m->w, another_follows);
    q->len = m->w.pos - q->offset;
    q->header.next = another_follows ? (uint32_t)q->len : 0;
}

struct wr *compound_add(struct compound *m, uint16_t command, uint32_t payload)
{
    end_element(m, true);
    struct request *q = &m->request[m->count];
    q->compound = m;
    q->offset = m->w.pos;
    q->charge = credit_charge(m->conn, payload);
    q->header.command = command;
    if (m->count)
        q->header.flags = SMB2_FLAGS_RELATED_OPERATIONS;
    m->count++;
    if (command == SMB2_CREATE) {
        m->handle = calloc(1, sizeof(*m->handle));
        if (m->handle)
            list_init(&m->handle->link);
        else
            m->no_memory = m->w.bad = true;
    }
    /* written again, with what is known by then, when the compound is submitted */
    wire_header_encode(&m->w, &q->header);
    return &m->w;
}

void compound_tail(struct compound *m, const void *data, size_t len)
{
    m->tail = rd_init(data, len);
}

/* ---- sending ---- */

/* The tail of element `i`, which only the last one can have. */
static struct rd tail_of(const struct compound *m, unsigned i)
{
    return i + 1 == m->count ? m->tail : rd_init(NULL, 0);
}

/* Caller holds conn->lock. The id that the open has here and now. */
static int name_open(struct compound *m)
{
    struct request *q = &m->request[0];
    if (!m->by)
        return 0;
    if (m->by->epoch != m->conn->epoch)
        return LOST_OPEN;
    wire_file_id_replace(q->header.command, m->buf + q->offset + WIRE_HEADER_SIZE,
                         q->len - WIRE_HEADER_SIZE, m->by->id);
    m->by_id = m->by->id;
    return 0;
}

/* Caller holds conn->lock and has the credits. */
static int register_requests(struct compound *m, uint32_t charge)
{
    struct conn *c = m->conn;
    uint16_t ask = credit_request(c, charge);
    uint64_t id = c->next_message_id, now = clock_now();

    int r = name_open(m);
    if (r < 0)
        return r;
    m->sealed = c->sealing;
    bool sign = c->signer && !m->sealed && (c->signing || m->signs);
    for (unsigned i = 0; i < m->count; i++) {
        struct request *q = &m->request[i];
        struct wire_header *h = &q->header;
        h->message_id = id;
        h->credit_charge = c->multi_credit ? (uint16_t)q->charge : 0;
        h->credits = i == 0 ? (uint16_t)(ask - (charge - q->charge)) : (uint16_t)q->charge;
        h->session_id = c->session_id;
        h->tree_id = h->command == SMB2_SESSION_SETUP ? 0 : c->tree_id;
        h->flags &= ~(uint32_t)SMB2_FLAGS_SIGNED;
        h->flags |= sign ? SMB2_FLAGS_SIGNED : 0;
        id += q->charge;
        q->sent_at = now;
        q->logon = c->renewal.logon;
        if (hash_add(&c->pending, &q->node, hash_u64(h->message_id)) < 0) {
            while (i-- > 0)
                hash_del(&c->pending, &m->request[i].node);
            return -ENOMEM;
        }
    }
    c->next_message_id = id;
    m->unanswered = m->count;
    m->epoch = c->epoch;
    m->first_sent = m->left || m->repeats ? m->first_sent : now;
    m->left = true;
    if (m->handle)
        m->handle->epoch = c->epoch;
    lease_registered(m);
    return 0;
}

static int finish_bytes(struct compound *m, const struct secure_signer *signer)
{
    for (unsigned i = 0; i < m->count; i++) {
        struct request *q = &m->request[i];
        struct wr header = wr_init(m->buf + q->offset, WIRE_HEADER_SIZE);
        wire_header_encode(&header, &q->header);
        if (q->header.flags & SMB2_FLAGS_SIGNED) {
            struct rd tail = tail_of(m, i);
            int r = secure_sign_parts(signer, m->buf + q->offset, q->len, tail.base, tail.len);
            if (r < 0)
                return r;
        }
    }
    struct wr length = wr_init(m->buf, WIRE_FRAME_HEADER);
    wr_be32(&length, (uint32_t)(m->w.pos - WIRE_FRAME_HEADER + m->tail.len));
    return 0;
}

/* A frame as it goes into the socket. */
struct outgoing {
    struct rd head, tail;
    struct frame *sealed; /* holds it; NULL: it goes as it was built */
};

static int wrap(struct conn *c, struct seal *seal, struct rd head, struct rd tail,
                struct outgoing *ret)
{
    *ret = (struct outgoing){head, tail, NULL};
    if (!seal)
        return 0;
    int r = seal_frame(seal, &c->frames, head, tail, &ret->sealed);
    if (r < 0)
        return r;
    ret->head = rd_init(ret->sealed->data, ret->sealed->len);
    ret->tail = rd_init(NULL, 0);
    return 0;
}

static int lost_error(struct conn *c, struct error *err)
{
    pthread_mutex_lock(&c->lock);
    struct error why = c->why;
    pthread_mutex_unlock(&c->lock);
    return error_set(err, why.code, why.status, "%s", why.text);
}

static int submit_error(struct conn *c, int r, struct error *err)
{
    switch (r) {
    case -ENOTCONN:
        return lost_error(c, err);
    case LOST_OPEN:
        return error_set(err, r, 0, "the open ended with its connection");
    case -ETIMEDOUT:
        return error_set(err, r, 0, "no credits from the server within %.1f s",
                         (double)c->request_timeout / NS_PER_SEC);
    case -EAGAIN:
        return error_set(err, r, 0, "the server grants too few credits");
    case -EOVERFLOW:
        return error_set(err, r, 0, "the session has encrypted as many messages as it can");
    default:
        return error_set(err, r, 0, "cannot send: %s", strerror(-r));
    }
}

/* Who does not wait for credits still lets a frame go out whole; who may be the receive thread, not
 * for long. */
static uint64_t send_deadline(const struct conn *c, uint64_t deadline, bool locked)
{
    if (locked)
        return clock_now() + NS_PER_SEC;
    return deadline ? deadline : conn_deadline(c);
}

/* Its requests are registered, and their MessageIds used: whatever fails ends the connection. */
static int send_registered(struct compound *m, const struct secure_signer *signer,
                           struct seal *seal, bool locked, uint64_t deadline, struct error *err)
{
    struct conn *c = m->conn;
    struct outgoing out = {0};
    int r = finish_bytes(m, signer);
    if (r == 0)
        r = wrap(c, seal, rd_init(m->buf, m->w.pos), m->tail, &out);
    if (r < 0) {
        struct error why;
        submit_error(c, r, &why);
        conn_fail(c, &why);
        return error_set(err, why.code, 0, "%s", why.text);
    }
    for (unsigned i = 0; i < m->count; i++)
        observe_request(c->observe, m->request[i].header.command,
                        m->request[i].len + tail_of(m, i).len);
    if (!locked)
        pthread_mutex_lock(&c->send_lock);
    r = conn_send_frame(c, out.head, out.tail, deadline);
    if (!locked)
        pthread_mutex_unlock(&c->send_lock);
    frame_unref(out.sealed);
    return r < 0 ? submit_error(c, -ENOTCONN, err) : 0;
}

static int submit(struct compound *m, uint64_t deadline, bool locked, struct error *err)
{
    struct conn *c = m->conn;
    uint32_t charge = 0;

    end_element(m, false);
    if (!wr_ok(&m->w))
        return submit_error(c, m->no_memory ? -ENOMEM : -EMSGSIZE, err);
    for (unsigned i = 0; i < m->count; i++)
        charge += m->request[i].charge;

    pthread_mutex_lock(&c->lock);
    int r = m->acks ? credit_take_kept(c, charge) : credit_take(c, charge, deadline);
    if (r == 0) {
        r = register_requests(m, charge);
        if (r < 0) {
            c->in_flight -= charge;
            credit_grant(c, charge);
        }
    }
    const struct secure_signer *signer = c->signer;
    struct seal *seal = m->sealed ? c->seal : NULL;
    m->lost = r == -ENOTCONN || r == LOST_OPEN;
    if (r == 0)
        conn_send_begin(c);
    pthread_mutex_unlock(&c->lock);
    if (r < 0)
        return submit_error(c, r, err);

    r = send_registered(m, signer, seal, locked, send_deadline(c, deadline, locked), err);
    pthread_mutex_lock(&c->lock);
    conn_send_end(c);
    pthread_mutex_unlock(&c->lock);
    return r;
}

int compound_submit(struct compound *m, uint64_t deadline, struct error *err)
{
    int r = m->by && deadline ? handle_ready(m->conn, m->by, err) : 0;
    if (r < 0) {
        m->lost = r != LOST_OPEN && r != -EIO;
        return r;
    }
    r = renew_gate(m, deadline, err);
    if (r < 0)
        return r;
    r = submit(m, deadline, false, err);
    conn_flush(m->conn);
    return r;
}

int compound_submit_locked(struct compound *m, struct error *err)
{
    return submit(m, 0, true, err);
}

/* ---- waiting ---- */

static void send_cancel(struct conn *c, struct seal *seal, struct rd frame)
{
    struct outgoing out;
    if (wrap(c, seal, frame, (struct rd){0}, &out) < 0)
        return;
    observe_request(c->observe, SMB2_CANCEL, frame.len - WIRE_FRAME_HEADER);
    pthread_mutex_lock(&c->send_lock);
    (void)conn_send_frame(c, out.head, out.tail, clock_now() + NS_PER_SEC);
    pthread_mutex_unlock(&c->send_lock);
    frame_unref(out.sealed);
}

/* A CANCEL has the MessageId of what it cancels, no credit and no answer (3.2.4.24). */
static void cancel(struct conn *c, const struct request *q, bool interim, uint64_t async_id)
{
    uint8_t buf[WIRE_FRAME_HEADER + WIRE_HEADER_SIZE + 4];
    struct wr w = wr_init(buf, sizeof(buf));
    struct wire_header h = q->header;
    h.command = SMB2_CANCEL;
    h.credits = 0;
    h.credit_charge = 0;
    h.next = 0;
    h.flags &= SMB2_FLAGS_SIGNED;
    if (interim) {
        h.flags |= SMB2_FLAGS_ASYNC_COMMAND;
        h.async_id = async_id;
    }
    wr_be32(&w, sizeof(buf) - WIRE_FRAME_HEADER);
    wire_header_encode(&w, &h);
    wire_empty_encode(&w);

    pthread_mutex_lock(&c->lock);
    const struct secure_signer *signer = c->signer;
    struct seal *seal = q->compound->sealed ? c->seal : NULL;
    bool goes = conn_may_send(c) && q->compound->epoch == c->epoch;
    if (goes)
        conn_send_begin(c);
    pthread_mutex_unlock(&c->lock);
    if (!goes)
        return;
    if (!(h.flags & SMB2_FLAGS_SIGNED) ||
        secure_sign(signer, buf + WIRE_FRAME_HEADER, sizeof(buf) - WIRE_FRAME_HEADER) == 0)
        send_cancel(c, seal, rd_init(buf, sizeof(buf)));
    pthread_mutex_lock(&c->lock);
    conn_send_end(c);
    pthread_mutex_unlock(&c->lock);
}

void compound_cancel(struct compound *m)
{
    struct conn *c = m->conn;
    struct {
        bool unanswered, interim;
        uint64_t async_id;
    } state[COMPOUND_MAX];

    pthread_mutex_lock(&c->lock);
    for (unsigned i = 0; i < m->count; i++) {
        state[i].unanswered = !m->request[i].answered;
        state[i].interim = m->request[i].interim;
        state[i].async_id = m->request[i].async_id;
    }
    pthread_mutex_unlock(&c->lock);
    for (unsigned i = 0; i < m->count; i++)
        if (state[i].unanswered)
            cancel(c, &m->request[i], state[i].interim, state[i].async_id);
    conn_flush(c);
}

bool compound_is_answered(struct compound *m)
{
    struct conn *c = m->conn;
    pthread_mutex_lock(&c->lock);
    bool yes = m->unanswered == 0 || m->lost;
    pthread_mutex_unlock(&c->lock);
    return yes;
}

static int wait_for_answers(struct compound *m, uint64_t deadline, struct error *err)
{
    struct conn *c = m->conn;
    struct timespec until = clock_timespec(deadline);
    int r = 0;

    pthread_mutex_lock(&c->lock);
    while (m->unanswered && !m->lost && !m->stopped && r == 0)
        r = pthread_cond_timedwait(m->wake, &c->lock, &until);
    bool answered = m->unanswered == 0, lost = m->lost, stopped = m->stopped;
    pthread_mutex_unlock(&c->lock);

    if (answered)
        return 0;
    if (lost)
        return submit_error(c, -ENOTCONN, err);
    if (stopped)
        return error_set(err, -ECANCELED, 0, "it was stopped");
    compound_cancel(m);
    return error_set(err, -ETIMEDOUT, 0, "no answer from the server within %.1f s",
                     (double)(clock_now() - m->request[0].sent_at) / NS_PER_SEC);
}

/* Whether the server says that it has closed the open, which nobody here has asked it for. */
static bool is_closed_there(const struct compound *m)
{
    const struct request *q = &m->request[0];
    return m->by && m->by->kept && !conn_is_reviver(m->conn) && m->closed_there < CLOSED_MAX &&
           q->header.command != SMB2_CLOSE && status_is(q->reply.status, STATUS_FILE_CLOSED);
}

/* An administrator may close an open on the server. To us it is as one that was lost with its
 * connection: it is opened again where it still is the same file, and what was refused, which has
 * not been done, is sent again. */
static int take_as_lost(struct compound *m, struct error *err)
{
    struct handle *h = m->by;
    pthread_mutex_lock(&m->conn->lock);
    bool is_it = h->epoch == m->epoch && h->id.persistent == m->by_id.persistent &&
                 h->id.volatile_ == m->by_id.volatile_;
    if (is_it) /* and nobody else has opened it again meanwhile */
        h->epoch--;
    m->left = false;
    m->lost = true;
    m->closed_there++;
    pthread_mutex_unlock(&m->conn->lock);
    return error_set(err, -EIO, STATUS_FILE_CLOSED, "the server has closed the open");
}

int compound_wait(struct compound *m, uint64_t deadline, struct error *err)
{
    int r = wait_for_answers(m, deadline, err);
    if (r == 0 && m->conn->client && resend_wanted(m) && renew_possible(m->conn))
        r = resend(m, deadline, err);
    if (r == 0 && is_closed_there(m))
        r = take_as_lost(m, err);
    if (r < 0 && !m->lost) { /* was it the connection that ended, for what had to be sent again? */
        pthread_mutex_lock(&m->conn->lock);
        m->lost = m->unanswered == 0 && m->left && m->epoch != m->conn->epoch;
        pthread_mutex_unlock(&m->conn->lock);
    }
    return r;
}

int compound_wait_interim(struct compound *m, uint64_t deadline, struct error *err)
{
    struct conn *c = m->conn;
    struct timespec until = clock_timespec(deadline);
    int r = 0;

    pthread_mutex_lock(&c->lock);
    while (!m->request[0].interim && !m->request[0].answered && !m->lost && r == 0)
        r = pthread_cond_timedwait(m->wake, &c->lock, &until);
    bool lost = m->lost && !m->request[0].answered;
    pthread_mutex_unlock(&c->lock);
    return lost ? submit_error(c, -ENOTCONN, err) : 0;
}

void compound_wake(struct compound *m)
{
    pthread_cond_broadcast(m->wake);
    if (m->bell)
        bell_ring(m->bell);
}

void compound_stop(struct compound *m)
{
    pthread_mutex_lock(&m->conn->lock);
    m->stopped = true;
    compound_wake(m);
    pthread_mutex_unlock(&m->conn->lock);
}

/* ---- ending ---- */

/*
 * The open that is on the server, that nobody took, and that no CLOSE of the compound has closed or
 * still may close; NULL where there is none (any more). Whoever gets it has to close it. Caller
 * holds conn->lock, or is the only one to know the compound.
 */
static struct handle *left_open(struct compound *m)
{
    struct wire_create_response create;
    bool open = false;

    for (unsigned i = 0; i < m->count; i++) {
        const struct request *q = &m->request[i];
        bool done = q->answered && q->reply.status == STATUS_SUCCESS;
        if (q->header.command == SMB2_CREATE && done)
            open = wire_create_response_decode(q->message, &create) == 0;
        else if (q->header.command == SMB2_CLOSE && (done || !q->answered))
            open = false;
    }
    if (!open || !m->handle)
        return NULL;
    struct handle *h = m->handle;
    h->id = create.file_id;
    m->handle = NULL;
    return h;
}

/* Whether the server has seen the CLOSE is known by its answer alone. */
static void end_open(struct compound *m)
{
    struct conn *c = m->conn;
    bool held = false;
    if (!m->ends)
        return;
    pthread_mutex_lock(&c->lock);
    if (!m->request[0].answered)
        held = kept_hand_over(c, m->ends);
    pthread_mutex_unlock(&c->lock);
    if (!held)
        handle_free(c, m->ends);
}

/* Nobody else refers to the compound any more. */
static void destroy(struct compound *m)
{
    end_open(m);
    conn_close_later(m->conn, left_open(m));
    conn_close_later(m->conn, resend_close(m));
    for (unsigned i = 0; i < m->count; i++)
        frame_unref(m->request[i].frame);
    handle_free(m->conn, m->handle);
    lease_flight_done(m);
    free(m);
}

struct compound *compound_free(struct compound *m)
{
    if (!m)
        return NULL;
    struct conn *c = m->conn;

    pthread_mutex_lock(&c->lock);
    if (m->unanswered && !m->lost) {
        struct handle *open = left_open(m);
        m->abandoned = true;
        m->bell = NULL;
        m->by = NULL;
        pthread_mutex_unlock(&c->lock);
        conn_close_later(c, open);
        return NULL;
    }
    pthread_mutex_unlock(&c->lock);
    destroy(m);
    return NULL;
}

void compound_lose(struct compound *m, bool garbled)
{
    for (unsigned i = 0; i < m->count; i++)
        if (!m->request[i].answered)
            hash_del(&m->conn->pending, &m->request[i].node);
    m->lost = true;
    m->garbled = garbled;
    if (m->abandoned)
        list_add_tail(&m->conn->orphans, &m->link);
    else
        compound_wake(m);
}

struct compound *compound_answered(struct compound *m, struct handle **ret_open,
                                   pthread_cond_t **ret_wake)
{
    bool last = --m->unanswered == 0;
    if (!m->abandoned) {
        *ret_wake = last ? m->wake : NULL;
        if (last && m->bell)
            bell_ring(m->bell);
        return NULL;
    }
    *ret_open = left_open(m);
    return last ? m : NULL;
}

void compound_orphaned(struct compound *m)
{
    destroy(m);
}

int compound_take_handle(struct compound *m, unsigned i, struct wire_create_response *ret_create,
                         struct handle **ret)
{
    struct wire_create_response create;
    int r = wire_create_response_decode(m->request[i].message, &create);
    if (r < 0)
        return r;
    *ret_create = create;
    *ret = m->handle;
    (*ret)->id = create.file_id;
    m->handle = NULL;
    return 0;
}
