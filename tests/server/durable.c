/*
 * Durable opens of the scripted server: granted with a lease that has HANDLE, held when their
 * connection is gone, and given back to who names the FileId, the lease key and, in version 2, the
 * CreateGuid (3.3.5.9.6 - 3.3.5.9.12). Like Samba it refuses to give one back where the request has
 * other contexts beside those two. A forgetful one grants and does not hold.
 */
#include "base/ntstatus.h"
#include "internal.h"

static bool find(struct rd contexts, const char *name, struct rd *ret_data)
{
    struct wire_create_context c;
    while (wire_create_context_next(&contexts, &c) == 1)
        if (c.name.len == 4 && memcmp(c.name.base, name, 4) == 0) {
            *ret_data = c.data;
            return true;
        }
    return false;
}

static bool asked(struct rd contexts, struct wire_durable_request *ret)
{
    struct rd data;
    return (find(contexts, WIRE_DURABLE_REQUEST_V2, &data) ||
            find(contexts, WIRE_DURABLE_REQUEST_V1, &data)) &&
           wire_durable_request_decode(data, ret) == 0;
}

bool server_durable_reclaims(struct rd contexts, struct wire_durable_reconnect *ret)
{
    struct rd data;
    return (find(contexts, WIRE_DURABLE_RECONNECT_V2, &data) ||
            find(contexts, WIRE_DURABLE_RECONNECT_V1, &data)) &&
           wire_durable_reconnect_decode(data, ret) == 0;
}

/* ---- granting ---- */

bool server_durable_is_known(const struct server *s, struct rd contexts)
{
    struct wire_durable_request ask;
    if (!asked(contexts, &ask) || ask.version < 2)
        return false;
    for (size_t i = 0; i < s->open_cap; i++)
        if (s->opens[i].serial && s->opens[i].durable &&
            memcmp(s->opens[i].guid, ask.guid, sizeof(ask.guid)) == 0)
            return true;
    return false;
}

void server_durable_grant(const struct exchange *x, struct server_open *o, struct rd contexts,
                          const struct wire_lease *lease, struct wr *chain, bool last)
{
    uint8_t data[8];
    struct wr w = wr_init(data, sizeof(data));
    struct wire_durable_request ask = {0};
    (void)asked(contexts, &ask);
    o->durable = true;
    memcpy(o->guid, ask.guid, sizeof(o->guid));
    memcpy(o->key, lease->key, sizeof(o->key));
    wire_durable_response_encode(&w, &(struct wire_durable_response){.timeout = 60000});
    wire_create_context_encode(chain,
                               ask.version == 2 ? WIRE_DURABLE_REQUEST_V2 : WIRE_DURABLE_REQUEST_V1,
                               data, sizeof(data), last);
}

bool server_durable_wanted(const struct exchange *x, struct rd contexts,
                           const struct wire_lease *lease)
{
    struct wire_durable_request ask;
    return x->script.durable && asked(contexts, &ask) &&
           lease->state & x->script.lease.state & SMB2_LEASE_HANDLE_CACHING;
}

/* ---- holding, and giving back ---- */

void server_durable_leave(struct server *s, const struct server_conn *c)
{
    pthread_mutex_lock(&s->lock);
    bool holds = s->script.durable == SERVER_DURABLE;
    pthread_mutex_unlock(&s->lock);
    for (size_t i = 0; holds && i < s->open_cap; i++)
        if (s->opens[i].serial && s->opens[i].conn == c && s->opens[i].durable)
            s->opens[i].conn = NULL;
}

static unsigned count(struct rd contexts)
{
    struct wire_create_context c;
    unsigned n = 0;
    while (wire_create_context_next(&contexts, &c) == 1)
        n++;
    return n;
}

uint32_t server_durable_back(struct exchange *x, const struct wire_durable_reconnect *back,
                             struct rd contexts, struct server_open **ret)
{
    struct rd data;
    struct wire_lease lease;
    struct server *s = x->s;
    if (count(contexts) != 2)
        return REFUSED;
    if (back->file_id.persistent >= s->open_cap || !find(contexts, WIRE_LEASE_CONTEXT, &data) ||
        wire_lease_decode(data, &lease) < 0)
        return (uint32_t)STATUS_OBJECT_NAME_NOT_FOUND;
    struct server_open *o = &s->opens[back->file_id.persistent];
    if (!o->serial || !o->durable || o->conn || memcmp(o->key, lease.key, sizeof(o->key)) != 0 ||
        memcmp(o->guid, back->guid, sizeof(o->guid)) != 0)
        return (uint32_t)STATUS_OBJECT_NAME_NOT_FOUND;
    o->serial = ++s->serial;
    o->conn = x->c;
    *ret = o;
    return STATUS_SUCCESS;
}
