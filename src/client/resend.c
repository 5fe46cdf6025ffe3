/*
 * What an expired session refused is sent again.
 *
 * The server has not done what it answered with NETWORK_SESSION_EXPIRED, but it may have done what
 * stood before it in the compound, and it closes files in an expired session as ever. So only the
 * refused elements go again, in a compound of their own, by the open that the CREATE among those
 * that were done has made; but all of them where a CLOSE has ended that open already. A name that
 * was made by the first time is only opened by the second. What comes back takes the refusals'
 * places, so that whoever waits sees one compound with all its answers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/lease.h"
#include "client/renew.h"

enum {
    RESENDS_MAX = 3,
    FILE_ID_SIZE = 16,
    CREATE_DISPOSITION_AT = 36, /* 2.2.13, behind the header */
};

/* 2.2.15 ... 2.2.39, behind the header; 0: it has none. */
static size_t file_id_at(uint16_t command)
{
    switch (command) {
    case SMB2_CLOSE:
    case SMB2_FLUSH:
    case SMB2_LOCK:
    case SMB2_IOCTL:
    case SMB2_QUERY_DIRECTORY:
    case SMB2_CHANGE_NOTIFY:
        return 8;
    case SMB2_READ:
    case SMB2_WRITE:
    case SMB2_SET_INFO:
        return 16;
    case SMB2_QUERY_INFO:
        return 24;
    default:
        return 0;
    }
}

static bool was_refused(const struct request *q)
{
    return q->answered && status_is(q->reply.status, STATUS_NETWORK_SESSION_EXPIRED);
}

/* A watch is armed again by its owner, who has to be able to stop it. */
static bool is_ours(uint16_t command)
{
    return command != SMB2_SESSION_SETUP && command != SMB2_LOGOFF &&
           command != SMB2_CHANGE_NOTIFY && command != SMB2_OPLOCK_BREAK;
}

static unsigned first_refused(const struct compound *m)
{
    unsigned i = 0;
    while (i < m->count && !was_refused(&m->request[i]))
        i++;
    return i;
}

bool resend_wanted(const struct compound *m)
{
    unsigned i = first_refused(m);
    return i < m->count && is_ours(m->request[i].header.command);
}

/* ---- which ---- */

static bool is_done(const struct compound *m, uint16_t command)
{
    for (unsigned i = 0; i < m->count; i++)
        if (m->request[i].header.command == command &&
            status_is(m->request[i].reply.status, STATUS_SUCCESS))
            return true;
    return false;
}

static void swap_answers(struct request *a, struct request *b)
{
    const struct request first = *a;
    a->reply = b->reply;
    a->message = b->message;
    a->frame = b->frame;
    a->heard_at = b->heard_at;
    b->reply = first.reply;
    b->message = first.message;
    b->frame = first.frame;
    b->heard_at = first.heard_at;
}

/* Where the session was valid again for the last ones of several alike, those have had the first
 * parts of a listing: the refusals take their places behind them. */
static void sort_listing(struct compound *m)
{
    for (unsigned end = m->count; end > 1; end--)
        for (unsigned i = 0; i + 1 < end; i++) {
            struct request *a = &m->request[i], *b = &m->request[i + 1];
            if (a->header.command == SMB2_QUERY_DIRECTORY &&
                b->header.command == SMB2_QUERY_DIRECTORY && was_refused(a) && !was_refused(b))
                swap_answers(a, b);
        }
}

/* Errors behind a refusal come of it. */
static unsigned choose(const struct compound *m, unsigned ret_chosen[static COMPOUND_MAX])
{
    unsigned n = 0, from = first_refused(m);
    bool all = is_done(m, SMB2_CREATE) && is_done(m, SMB2_CLOSE);
    for (unsigned i = 0; i < m->count; i++)
        if (all || (i >= from && ntstatus_failed(m->request[i].reply.status)))
            ret_chosen[n++] = i;
    return n;
}

/* ---- sending them ---- */

static uint8_t *body_of(struct compound *m, unsigned i)
{
    return m->buf + m->request[i].offset + WIRE_HEADER_SIZE;
}

/* The first one is not related to any more: it names the open that it is about. */
static void name_open(struct compound *a, struct compound *m, unsigned first)
{
    static const uint8_t related[FILE_ID_SIZE] = {[0 ... FILE_ID_SIZE - 1] = 0xff};
    struct wire_create_response create;
    size_t at = file_id_at(a->request[0].header.command);
    uint8_t *id = body_of(a, 0) + at;
    if (first == 0 || at == 0 || memcmp(id, related, sizeof(related)) != 0)
        return;
    if (m->request[0].header.command != SMB2_CREATE) {
        memcpy(id, body_of(m, 0) + file_id_at(m->request[0].header.command), FILE_ID_SIZE);
    } else if (wire_create_response_decode(m->request[0].message, &create) == 0) {
        struct wr w = wr_init(id, FILE_ID_SIZE);
        wr_u64(&w, create.file_id.persistent);
        wr_u64(&w, create.file_id.volatile_);
    }
}

/* It was made by the first time. */
static void open_made(struct compound *a, const struct compound *m)
{
    uint8_t *at = body_of(a, 0) + CREATE_DISPOSITION_AT;
    if (a->request[0].header.command == SMB2_CREATE && is_done(m, SMB2_CREATE) &&
        *at == FILE_CREATE)
        *at = FILE_OPEN_IF;
}

static void carry_lease(struct compound *a, const struct compound *m)
{
    if (!a->handle || !m->flight.lease)
        return;
    pthread_mutex_lock(&m->conn->lock);
    a->flight.ask = m->flight.ask;
    a->flight.lease = lease_ref(m->flight.lease);
    list_init(&a->flight.link);
    pthread_mutex_unlock(&m->conn->lock);
    if (m->handle)
        a->handle->durable = m->handle->durable;
}

static struct compound *build(struct compound *m, const unsigned *chosen, unsigned n)
{
    struct compound *a = compound_new(m->conn, m->w.pos);
    if (!a)
        return NULL;
    for (unsigned j = 0; j < n; j++) {
        const struct request *q = &m->request[chosen[j]];
        struct wr *w = compound_add(a, q->header.command, 0);
        a->request[j].charge = q->charge;
        wr_bytes(w, body_of(m, chosen[j]), q->len - WIRE_HEADER_SIZE);
    }
    if (chosen[n - 1] + 1 == m->count && m->tail.len)
        compound_tail(a, m->tail.base, m->tail.len);
    a->signs = m->signs;
    a->once = true; /* with the connection goes the session that refused it */
    if (chosen[0] == 0)
        a->by = m->by;
    a->resends = m->resends + 1;
    name_open(a, m, chosen[0]);
    open_made(a, m);
    carry_lease(a, m);
    return a;
}

static void take_answers(struct compound *m, struct compound *a, const unsigned *chosen)
{
    for (unsigned j = 0; j < a->count; j++) {
        struct request *to = &m->request[chosen[j]], *from = &a->request[j];
        frame_unref(to->frame);
        to->reply = from->reply;
        to->message = from->message;
        to->frame = from->frame;
        to->heard_at = from->heard_at;
        from->frame = NULL;
    }
    if (!a->handle)
        return;
    handle_free(m->conn, m->handle);
    m->handle = a->handle;
    a->handle = NULL;
    pthread_mutex_lock(&m->conn->lock);
    m->flight.granted = a->flight.granted;
    m->flight.cap = a->flight.cap;
    pthread_mutex_unlock(&m->conn->lock);
}

int resend(struct compound *m, uint64_t deadline, struct error *err)
{
    struct conn *c = m->conn;
    unsigned chosen[COMPOUND_MAX];
    sort_listing(m);
    unsigned n = choose(m, chosen);
    if (m->resends == RESENDS_MAX)
        return error_set(err, -EKEYEXPIRED, STATUS_NETWORK_SESSION_EXPIRED,
                         "the server lets the user in again, and says each time that the session "
                         "has expired");
    int r = renew_session(c, m->request[first_refused(m)].logon, deadline, err);
    if (r < 0)
        return r;
    struct compound *a = build(m, chosen, n);
    if (!a)
        return error_set(err, -ENOMEM, 0, "out of memory");
    deadline = conn_deadline(c);
    r = compound_submit(a, deadline, err);
    if (r == 0) {
        observe_round_trip(c->observe);
        r = compound_wait(a, deadline, err);
    }
    if (r == 0)
        take_answers(m, a, chosen);
    compound_free(a);
    return r;
}

struct handle *resend_close(const struct compound *m)
{
    const struct request *q = &m->request[0];
    if (m->count != 1 || q->header.command != SMB2_CLOSE || !was_refused(q))
        return NULL;
    struct handle *h = calloc(1, sizeof(*h));
    if (!h)
        return NULL;
    list_init(&h->link);
    struct rd id =
        rd_init(m->buf + q->offset + WIRE_HEADER_SIZE + file_id_at(SMB2_CLOSE), FILE_ID_SIZE);
    h->id.persistent = rd_u64(&id);
    h->id.volatile_ = rd_u64(&id);
    return h;
}
