/*
 * NEGOTIATE: 2.2.3, 2.2.4.
 *
 * The negotiate contexts come only with dialect 3.1.1, and their offset and count lie in fields
 * that are something else, or reserved, in the older dialects. The lists are copied into fixed
 * arrays, since they are compared long after the message is gone; contexts of types that are not
 * spoken here are counted and passed over, as 3.2.5.2 and 3.3.5.4 want it. A type that comes twice
 * is refused.
 */
#include "wire/layout.h"

enum {
    CONTEXT_PREAUTH_INTEGRITY = 1,
    CONTEXT_ENCRYPTION = 2,
    CONTEXT_SIGNING = 8,
};

const char *wire_dialect_name(uint16_t dialect)
{
    switch (dialect) {
    case SMB2_DIALECT_202:
        return "2.0.2";
    case SMB2_DIALECT_210:
        return "2.1";
    case SMB2_DIALECT_300:
        return "3.0";
    case SMB2_DIALECT_302:
        return "3.0.2";
    case SMB2_DIALECT_311:
        return "3.1.1";
    default:
        return "unknown";
    }
}

static void put_ids(struct wr *w, uint16_t count, const uint16_t *ids)
{
    if (count > WIRE_IDS_MAX) {
        w->bad = true;
        return;
    }
    for (uint16_t i = 0; i < count; i++)
        wr_u16(w, ids[i]);
}

static void get_ids(struct rd *msg, uint16_t count, uint16_t *ret_count, uint16_t *ids)
{
    if (count == 0 || count > WIRE_IDS_MAX || *ret_count) {
        msg->bad = true;
        return;
    }
    for (uint16_t i = 0; i < count; i++)
        ids[i] = rd_u16(msg);
    *ret_count = count;
}

/* ---- contexts: 2.2.3.1, 2.2.4.1 ---- */

static uint16_t count_contexts(const struct wire_negotiate_contexts *c)
{
    return (uint16_t)((c->preauth_count > 0) + (c->cipher_count > 0) + (c->signing_count > 0));
}

static void put_context_header(struct wr *w, uint16_t type, unsigned data_len)
{
    wr_align(w, 8);
    wr_u16(w, type);
    wr_u16(w, (uint16_t)data_len);
    wr_u32(w, 0); /* Reserved */
}

static void put_contexts(struct wr *w, const struct wire_negotiate_contexts *c)
{
    if (c->preauth_count) { /* 2.2.3.1.1 */
        put_context_header(w, CONTEXT_PREAUTH_INTEGRITY, 4u + 2u * c->preauth_count + c->salt_len);
        wr_u16(w, c->preauth_count);
        wr_u16(w, c->salt_len);
        put_ids(w, c->preauth_count, c->preauth);
        wr_bytes(w, c->salt, c->salt_len);
    }
    if (c->cipher_count) { /* 2.2.3.1.2 */
        put_context_header(w, CONTEXT_ENCRYPTION, 2u + 2u * c->cipher_count);
        wr_u16(w, c->cipher_count);
        put_ids(w, c->cipher_count, c->cipher);
    }
    if (c->signing_count) { /* 2.2.3.1.7 */
        put_context_header(w, CONTEXT_SIGNING, 2u + 2u * c->signing_count);
        wr_u16(w, c->signing_count);
        put_ids(w, c->signing_count, c->signing);
    }
}

static void get_context(struct rd data, uint16_t type, struct wire_negotiate_contexts *c,
                        bool *inout_bad)
{
    switch (type) {
    case CONTEXT_PREAUTH_INTEGRITY: {
        uint16_t count = rd_u16(&data);
        uint16_t salt_len = rd_u16(&data);
        get_ids(&data, count, &c->preauth_count, c->preauth);
        if (salt_len > sizeof(c->salt)) {
            data.bad = true;
        } else {
            c->salt_len = (uint8_t)salt_len;
            rd_copy(&data, c->salt, salt_len);
        }
        break;
    }
    case CONTEXT_ENCRYPTION: {
        uint16_t count = rd_u16(&data);
        get_ids(&data, count, &c->cipher_count, c->cipher);
        break;
    }
    case CONTEXT_SIGNING: {
        uint16_t count = rd_u16(&data);
        get_ids(&data, count, &c->signing_count, c->signing);
        break;
    }
    default:
        c->unknown_count++;
    }
    *inout_bad |= !rd_ok(&data);
}

static void get_contexts(struct rd *msg, uint32_t off, uint16_t count,
                         struct wire_negotiate_contexts *c)
{
    if (count == 0)
        return;
    if (off < msg->pos)
        msg->bad = true;
    rd_seek(msg, off);
    for (uint16_t i = 0; i < count && rd_ok(msg); i++) {
        rd_seek(msg, (msg->pos + 7) / 8 * 8);
        uint16_t type = rd_u16(msg);
        uint16_t len = rd_u16(msg);
        rd_skip(msg, 4); /* Reserved */
        get_context(rd_sub(msg, msg->pos, len), type, c, &msg->bad);
        rd_skip(msg, len);
    }
}

/* ---- request: 2.2.3 ---- */

static bool offers_311(const struct wire_negotiate_request *m)
{
    for (uint16_t i = 0; i < m->dialect_count && i < WIRE_IDS_MAX; i++)
        if (m->dialect[i] == SMB2_DIALECT_311)
            return true;
    return false;
}

void wire_negotiate_request_encode(struct wr *w, const struct wire_negotiate_request *m)
{
    uint16_t contexts = offers_311(m) ? count_contexts(&m->contexts) : 0;

    wr_u16(w, 36);
    wr_u16(w, m->dialect_count);
    wr_u16(w, m->security_mode);
    wr_u16(w, 0); /* Reserved */
    wr_u32(w, m->capabilities);
    wr_bytes(w, m->client_guid, sizeof(m->client_guid));
    size_t context_offset_at = w->pos;
    wr_u32(w,
           0); /* NegotiateContextOffset; with no contexts this and the next are ClientStartTime */
    wr_u16(w, contexts);
    wr_u16(w, 0); /* Reserved2 */
    put_ids(w, m->dialect_count, m->dialect);
    if (contexts) {
        wr_align(w, 8);
        wr_put32(w, context_offset_at, layout_here(w));
        put_contexts(w, &m->contexts);
    }
}

int wire_negotiate_request_decode(struct rd msg, struct wire_negotiate_request *ret)
{
    struct wire_negotiate_request m = {0};

    layout_size(&msg, 36);
    uint16_t dialect_count = rd_u16(&msg);
    m.security_mode = rd_u16(&msg);
    rd_skip(&msg, 2); /* Reserved */
    m.capabilities = rd_u32(&msg);
    rd_copy(&msg, m.client_guid, sizeof(m.client_guid));
    uint32_t context_offset = rd_u32(&msg);
    uint16_t context_count = rd_u16(&msg);
    rd_skip(&msg, 2); /* Reserved2 */
    get_ids(&msg, dialect_count, &m.dialect_count, m.dialect);
    if (offers_311(&m))
        get_contexts(&msg, context_offset, context_count, &m.contexts);

    if (!rd_ok(&msg))
        return -EBADMSG;
    *ret = m;
    return 0;
}

/* ---- response: 2.2.4 ---- */

enum { RESPONSE_BUFFER = WIRE_HEADER_SIZE + 64 };

void wire_negotiate_response_encode(struct wr *w, const struct wire_negotiate_response *m)
{
    uint16_t contexts = m->dialect == SMB2_DIALECT_311 ? count_contexts(&m->contexts) : 0;

    wr_u16(w, 65);
    wr_u16(w, m->security_mode);
    wr_u16(w, m->dialect);
    wr_u16(w, contexts);
    wr_bytes(w, m->server_guid, sizeof(m->server_guid));
    wr_u32(w, m->capabilities);
    wr_u32(w, m->max_transact);
    wr_u32(w, m->max_read);
    wr_u32(w, m->max_write);
    wr_u64(w, m->system_time);
    wr_u64(w, m->start_time);
    wr_u16(w, RESPONSE_BUFFER);
    layout_put_len16(w, m->token.len);
    size_t context_offset_at = w->pos;
    wr_u32(w, 0); /* NegotiateContextOffset */
    layout_put_buffer(w, &m->token);
    if (contexts) {
        wr_align(w, 8);
        wr_put32(w, context_offset_at, layout_here(w));
        put_contexts(w, &m->contexts);
    }
}

int wire_negotiate_response_decode(struct rd msg, struct wire_negotiate_response *ret)
{
    struct wire_negotiate_response m = {0};

    layout_size(&msg, 65);
    m.security_mode = rd_u16(&msg);
    m.dialect = rd_u16(&msg);
    uint16_t context_count = rd_u16(&msg);
    rd_copy(&msg, m.server_guid, sizeof(m.server_guid));
    m.capabilities = rd_u32(&msg);
    m.max_transact = rd_u32(&msg);
    m.max_read = rd_u32(&msg);
    m.max_write = rd_u32(&msg);
    m.system_time = rd_u64(&msg);
    m.start_time = rd_u64(&msg);
    uint16_t token_offset = rd_u16(&msg);
    uint16_t token_len = rd_u16(&msg);
    uint32_t context_offset = rd_u32(&msg);
    m.token = layout_buffer(&msg, token_offset, token_len);
    if (m.dialect == SMB2_DIALECT_311)
        get_contexts(&msg, context_offset, context_count, &m.contexts);

    if (!rd_ok(&msg))
        return -EBADMSG;
    *ret = m;
    return 0;
}
