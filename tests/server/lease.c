/*
 * The scripted server's leases: it remembers keys and acknowledgements, and grants and breaks what
 * it is told, whatever that means to anybody.
 */
#include <string.h>
#include <sys/eventfd.h>

#include "base/ntstatus.h"
#include "internal.h"

/* ---- keys ---- */

/* Caller holds s->lock. */
static int place_of(const struct server *s, const uint8_t key[static WIRE_LEASE_KEY_SIZE])
{
    for (unsigned i = 0; i < s->key_count; i++)
        if (memcmp(s->keys[i].key, key, WIRE_LEASE_KEY_SIZE) == 0)
            return (int)i;
    return SERVER_UNKNOWN_KEY;
}

static void remember(struct exchange *x, const struct wire_lease *asked)
{
    struct server *s = x->s;
    pthread_mutex_lock(&s->lock);
    s->last_lease = *asked;
    int place = place_of(s, asked->key);
    if (place == SERVER_UNKNOWN_KEY && s->key_count < SERVER_LEASES) {
        place = (int)s->key_count++;
        memcpy(s->keys[place].key, asked->key, sizeof(asked->key));
    }
    if (place != SERVER_UNKNOWN_KEY)
        s->keys[place].conn = x->c;
    pthread_mutex_unlock(&s->lock);
}

bool server_lease_asked(struct exchange *x, struct rd contexts, struct wire_lease *ret)
{
    struct wire_create_context c;
    while (wire_create_context_next(&contexts, &c) == 1) {
        if (c.name.len != 4 || memcmp(c.name.base, WIRE_LEASE_CONTEXT, 4) != 0)
            continue;
        if (wire_lease_decode(c.data, ret) < 0)
            return false;
        remember(x, ret);
        return true;
    }
    return false;
}

void server_lease_grant(const struct exchange *x, const struct wire_lease *asked, struct wr *chain,
                        bool last)
{
    uint8_t data[64];
    struct wr w = wr_init(data, sizeof(data));
    struct wire_lease grant = *asked;
    grant.state &= x->script.lease.state;
    grant.flags |= x->script.lease.flags;
    grant.epoch = x->script.lease.epoch;
    wire_lease_encode(&w, &grant);
    wire_create_context_encode(chain, WIRE_LEASE_CONTEXT, data, (uint32_t)w.pos, last);
}

/* ---- breaks ---- */

/* Who hears of it; NULL: nobody. */
static struct server_conn *addressee(struct server *s, const struct server_break *b,
                                     uint8_t key[static WIRE_LEASE_KEY_SIZE])
{
    const struct server_conn *asked = NULL;
    pthread_mutex_lock(&s->lock);
    if (b->lease == SERVER_UNKNOWN_KEY) {
        memset(key, 0x77, WIRE_LEASE_KEY_SIZE);
    } else if ((unsigned)b->lease < s->key_count) {
        memcpy(key, s->keys[b->lease].key, WIRE_LEASE_KEY_SIZE);
        asked = s->keys[b->lease].conn;
    }
    pthread_mutex_unlock(&s->lock);
    for (size_t i = 0; i < SERVER_CONNECTIONS; i++) {
        struct server_conn *c = &s->conns[i];
        if (c->fd >= 0 && (c == asked || b->lease == SERVER_UNKNOWN_KEY))
            return c;
    }
    return NULL;
}

static bool plain_asides(struct server *s)
{
    pthread_mutex_lock(&s->lock);
    bool plain = s->script.plain_asides;
    pthread_mutex_unlock(&s->lock);
    return plain;
}

bool server_break_now(struct server *s, const struct server_break *b)
{
    static const struct wire_header unasked = {
        .command = SMB2_OPLOCK_BREAK,
        .flags = SMB2_FLAGS_SERVER_TO_REDIR,
        .message_id = UINT64_MAX,
    };
    struct wire_lease_break notice = {
        .epoch = b->epoch,
        .flags = b->ack ? SMB2_NOTIFY_BREAK_LEASE_FLAG_ACK_REQUIRED : 0,
        .current_state = SMB2_LEASE_READ_CACHING | SMB2_LEASE_HANDLE_CACHING,
        .new_state = b->state,
    };
    struct server_conn *c = addressee(s, b, notice.key);
    bool sent = c != NULL;
    for (unsigned i = 0; sent && i < (b->times ? b->times : 1); i++) {
        server_out_begin(&s->out);
        s->out.plain = plain_asides(s);
        wire_header_encode(&s->out.w, &unasked);
        wire_lease_break_encode(&s->out.w, &notice);
        sent = server_flush(s, c);
    }
    return sent;
}

uint32_t server_lease_ack(struct exchange *x, struct rd msg, struct wr *w)
{
    struct server *s = x->s;
    struct wire_lease_ack q;
    if (wire_lease_ack_decode(msg, &q) < 0)
        return REFUSED;
    pthread_mutex_lock(&s->lock);
    int place = place_of(s, q.key);
    if (s->ack_count < SERVER_ACKS) {
        s->acks[s->ack_count].lease = place;
        memcpy(s->acks[s->ack_count].after, s->counts, sizeof(s->counts));
        s->acks[s->ack_count++].state = q.state;
    }
    pthread_mutex_unlock(&s->lock);
    if (place == SERVER_UNKNOWN_KEY)
        return (uint32_t)STATUS_OBJECT_NAME_NOT_FOUND;
    wire_lease_ack_encode(w, &q);
    return STATUS_SUCCESS;
}

/* ---- orders from other threads ---- */

void server_obey(struct server *s)
{
    pthread_mutex_lock(&s->lock);
    const struct server_break *b = s->order.broken;
    pthread_mutex_unlock(&s->lock);
    if (!b)
        return;
    bool sent = server_break_now(s, b);
    pthread_mutex_lock(&s->lock);
    s->order = (struct server_order){.done = true, .sent = sent};
    pthread_cond_broadcast(&s->done);
    pthread_mutex_unlock(&s->lock);
}

bool server_send_break(struct server *s, const struct server_break *b)
{
    pthread_mutex_lock(&s->lock);
    s->order = (struct server_order){.broken = b};
    eventfd_write(s->wake, 1);
    while (!s->order.done)
        pthread_cond_wait(&s->done, &s->lock);
    bool sent = s->order.sent;
    pthread_mutex_unlock(&s->lock);
    return sent;
}

/* ---- what tests ask ---- */

unsigned server_leases(struct server *s)
{
    pthread_mutex_lock(&s->lock);
    unsigned n = s->key_count;
    pthread_mutex_unlock(&s->lock);
    return n;
}

bool server_last_lease(struct server *s, struct wire_lease *ret)
{
    pthread_mutex_lock(&s->lock);
    *ret = s->last_lease;
    pthread_mutex_unlock(&s->lock);
    return ret->version != 0;
}

bool server_ack(struct server *s, unsigned n, int *ret_lease, unsigned *ret_state)
{
    pthread_mutex_lock(&s->lock);
    bool is_there = n < s->ack_count;
    if (is_there) {
        *ret_lease = s->acks[n].lease;
        *ret_state = s->acks[n].state;
    }
    pthread_mutex_unlock(&s->lock);
    return is_there;
}

unsigned server_ack_after(struct server *s, unsigned n, int command)
{
    pthread_mutex_lock(&s->lock);
    unsigned count = n < s->ack_count ? s->acks[n].after[command] : 0;
    pthread_mutex_unlock(&s->lock);
    return count;
}
