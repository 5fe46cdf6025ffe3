/*
 * Durable opens: the server holds them, and their locks, for a while when their connection is lost.
 * (3.2.4.3.5, 3.2.4.4, 3.2.5.7.1, 3.2.5.7.6)
 *
 * Each open of a file that asks for a lease with HANDLE asks for that, too, since without one it is
 * not granted; version 1 on dialect 2.1, version 2 from 3.0 on. What was granted stands in the
 * handle. After a loss kept.c asks such an open back by its FileId, under the same lease key and
 * the same ClientGuid. That request carries nothing but the lease and this: Samba refuses others.
 *
 * How long the server waits is its own choice. Persistent opens, which outlive the server, are not
 * asked for: they are for clusters.
 */
#include "client/durable.h"

#include <string.h>
#include <sys/random.h>

#include "client/file.h"
#include "client/lease.h"

enum {
    DATA_MAX = 64,
    CONTEXT_HEAD = 24,    /* of a create context whose name has four bytes, up to its data */
    GUID_IN_REQUEST = 16, /* where it stands in that */
};

static const char *const asks[] = {NULL, WIRE_DURABLE_REQUEST_V1, WIRE_DURABLE_REQUEST_V2};
static const char *const reclaims[] = {NULL, WIRE_DURABLE_RECONNECT_V1, WIRE_DURABLE_RECONNECT_V2};

bool durable_wanted(const struct compound *m, const struct client_how *how)
{
    const struct conn *c = m->conn;
    const struct client_lease_ask *ask = how->lease;
    return c->revives && c->lease_version && ask && ask->lease && !ask->lease->is_dir &&
           ask->state & CLIENT_LEASE_HANDLE;
}

static bool new_guid(struct durable *d)
{
    return getrandom(d->guid, sizeof(d->guid), 0) == sizeof(d->guid);
}

void durable_ask(struct compound *m, struct wr *chain, bool last, size_t *ret_guid_at)
{
    uint8_t data[DATA_MAX];
    struct wr w = wr_init(data, sizeof(data));
    struct durable d = {.version = m->conn->dialect >= SMB2_DIALECT_300 ? 2 : 1};
    struct wire_durable_request ask = {.version = d.version};

    if (d.version == 2 && !new_guid(&d))
        chain->bad = true;
    memcpy(ask.guid, d.guid, sizeof(ask.guid));
    wire_durable_request_encode(&w, &ask);
    *ret_guid_at = d.version == 2 ? chain->pos + CONTEXT_HEAD + GUID_IN_REQUEST : 0;
    wire_create_context_encode(chain, asks[d.version], data, (uint32_t)w.pos, last);
    if (m->handle)
        m->handle->durable = d;
}

void durable_reclaim(const struct handle *lost, struct wr *chain)
{
    uint8_t data[DATA_MAX];
    struct wr w = wr_init(data, sizeof(data));
    struct wire_durable_reconnect back = {.version = lost->durable.version, .file_id = lost->id};

    memcpy(back.guid, lost->durable.guid, sizeof(back.guid));
    wire_durable_reconnect_encode(&w, &back);
    wire_create_context_encode(chain, reclaims[back.version], data, (uint32_t)w.pos, true);
}

void durable_answered(struct handle *h, struct rd contexts)
{
    struct wire_create_context context;
    struct wire_durable_response granted;
    const char *name = asks[h->durable.version];
    bool is = false;
    while (name && wire_create_context_next(&contexts, &context) > 0)
        if (context.name.len == 4 && memcmp(context.name.base, name, 4) == 0)
            is = wire_durable_response_decode(context.data, &granted) == 0;
    if (!is)
        h->durable.version = 0;
}

void durable_anew(struct compound *m)
{
    struct durable *d = m->handle ? &m->handle->durable : NULL;
    if (!d || !m->guid_at)
        return;
    if (new_guid(d))
        memcpy(m->buf + m->guid_at, d->guid, sizeof(d->guid));
}

bool client_file_is_durable(const struct client_file *f)
{
    struct conn *c = f->client->conn;
    pthread_mutex_lock(&c->lock);
    bool is = f->handle->durable.version != 0;
    pthread_mutex_unlock(&c->lock);
    return is;
}
