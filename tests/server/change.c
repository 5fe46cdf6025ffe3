/*
 * The scripted server's answers to what writes.
 *
 * The table of files never changes, but where the script remembers what is made and removed
 * (made.c): a WRITE lands in the script's sink, whichever file it means, and a SET_INFO that can be
 * read has worked. What a test wants to see of them is that they were
 * sent, and that refusals by rules are met.
 */
#include "base/ntstatus.h"
#include "internal.h"

uint32_t server_write(struct exchange *x, struct rd msg, struct wr *w)
{
    struct wire_write_request q;
    if (wire_write_request_decode(msg, &q) < 0 || q.data.len > x->script.max_transact)
        return REFUSED;
    if (!server_open_of(x, q.file_id))
        return (uint32_t)STATUS_FILE_CLOSED;

    const struct wire_write_response r = {.count =
                                              x->count_is_given ? x->count : (uint32_t)q.data.len};
    const struct server_sink *sink = &x->script.sink;
    size_t len = r.count < q.data.len ? r.count : q.data.len;
    if (q.offset < sink->size && len) {
        size_t room = sink->size - (size_t)q.offset;
        memcpy(sink->data + q.offset, q.data.base, len < room ? len : room);
    }
    wire_write_response_encode(w, &r);
    return STATUS_SUCCESS;
}

uint32_t server_flush_file(struct exchange *x, struct rd msg, struct wr *w)
{
    struct wire_flush_request q;
    if (wire_flush_request_decode(msg, &q) < 0)
        return REFUSED;
    if (!server_open_of(x, q.file_id))
        return (uint32_t)STATUS_FILE_CLOSED;
    wire_empty_encode(w);
    return STATUS_SUCCESS;
}

uint32_t server_lock(struct exchange *x, struct rd msg, struct wr *w)
{
    struct wire_lock_request q;
    if (wire_lock_request_decode(msg, &q) < 0)
        return REFUSED;
    if (!server_open_of(x, q.file_id))
        return (uint32_t)STATUS_FILE_CLOSED;
    wire_empty_encode(w);
    return STATUS_SUCCESS;
}

static bool readable(uint8_t info_class, struct rd data)
{
    struct wire_basic basic;
    struct wire_rename rename;
    uint64_t size;
    bool remove;
    switch (info_class) {
    case FILE_BASIC_INFORMATION:
        return wire_basic_decode(data, &basic) == 0;
    case FILE_RENAME_INFORMATION:
    case FILE_LINK_INFORMATION:
        return wire_rename_decode(data, &rename) == 0;
    case FILE_DISPOSITION_INFORMATION:
        return wire_disposition_decode(data, &remove) == 0;
    case FILE_ALLOCATION_INFORMATION:
    case FILE_END_OF_FILE_INFORMATION:
        return wire_size_decode(data, &size) == 0;
    default:
        return false;
    }
}

uint32_t server_set_info(struct exchange *x, struct rd msg, struct wr *w)
{
    struct wire_set_info_request q;
    if (wire_set_info_request_decode(msg, &q) < 0)
        return REFUSED;
    struct server_open *o = server_open_of(x, q.file_id);
    if (!o)
        return (uint32_t)STATUS_FILE_CLOSED;
    if (q.info_type != SMB2_0_INFO_FILE || !readable(q.info_class, q.data))
        return REFUSED;
    if (x->script.remembers && q.info_class == FILE_DISPOSITION_INFORMATION) {
        uint32_t status = server_may_remove(x, o->node);
        if (status)
            return status;
        wire_disposition_decode(q.data, &o->removes);
    }
    wire_set_info_response_encode(w);
    return STATUS_SUCCESS;
}

/* ---- IOCTL ---- */

static unsigned count_code(struct server *s, uint32_t code)
{
    unsigned n = 0;
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; i < SERVER_CODES && n == 0; i++) {
        struct server_code *c = &s->codes[i];
        if (c->code == 0)
            c->code = code;
        if (c->code == code)
            n = ++c->count;
    }
    pthread_mutex_unlock(&s->lock);
    return n;
}

static const struct server_ioctl *scripted(const struct server_script *script, uint32_t code,
                                           unsigned nth)
{
    for (size_t i = 0; i < script->ioctl_count; i++) {
        const struct server_ioctl *a = &script->ioctls[i];
        if (a->code == code && (a->nth == 0 || a->nth == nth))
            return a;
    }
    return NULL;
}

static uint32_t copy_all(struct rd input, struct wr *output)
{
    struct wire_copy_request q;
    struct wire_copy_chunk chunk;
    struct wire_copy_response r = {0};
    if (wire_copy_request_decode(input, &q) < 0)
        return REFUSED;
    while (wire_copy_chunk_next(&q.chunks, &chunk) == 1) {
        r.chunks++;
        r.total_bytes += chunk.length;
    }
    wire_copy_response_encode(output, &r);
    return STATUS_SUCCESS;
}

uint32_t server_control(struct exchange *x, struct rd msg, struct wr *w)
{
    struct wire_ioctl_request q;
    uint8_t buf[64];
    struct wr own = wr_init(buf, sizeof(buf));
    uint32_t status = STATUS_SUCCESS;
    if (wire_ioctl_request_decode(msg, &q) < 0)
        return REFUSED;
    bool of_none = q.code == FSCTL_VALIDATE_NEGOTIATE_INFO;
    if (!of_none && !server_open_of(x, q.file_id))
        return (uint32_t)STATUS_FILE_CLOSED;

    struct wire_ioctl_response r = {.code = q.code, .file_id = q.file_id};
    const struct server_ioctl *a = scripted(&x->script, q.code, count_code(x->s, q.code));
    if (a) {
        status = a->status;
        r.output = a->output;
    } else if (q.code == FSCTL_VALIDATE_NEGOTIATE_INFO) {
        wire_validate_response_encode(&own, &x->c->logon.chosen);
    } else if (q.code == FSCTL_SRV_REQUEST_RESUME_KEY) {
        wire_copy_key_encode(&own, &(struct wire_copy_key){"a key of 24 bytes."});
    } else if (q.code == FSCTL_SRV_COPYCHUNK) {
        status = copy_all(q.input, &own);
    }
    if (!a)
        r.output = rd_init(buf, own.pos);
    x->own_body = status == STATUS_SUCCESS || r.output.len;
    if (x->own_body)
        wire_ioctl_response_encode(w, &r);
    return status;
}
