/*
 * The buffers of the control codes that work on files: holes and what is allocated (MS-FSCC 2.3),
 * copies on the server (2.2.31.1, 2.2.32.1, 2.2.32.3), reparse points (MS-FSCC 2.1.2).
 *
 * A reparse point's names lie in a buffer of their own, by offsets that count from its beginning
 * and that a server can set to anything: they are cut out of that buffer, which is cut out of the
 * reparse data, which is cut out of the output.
 */
#include "wire/layout.h"

enum { LX_SYMLINK_VERSION = 2 };

/* ---- holes: MS-FSCC 2.3.85, 2.3.51, 2.3.52 ---- */

void wire_zero_data_encode(struct wr *w, const struct wire_zero_data *m)
{
    wr_u64(w, m->offset);
    wr_u64(w, m->beyond);
}

int wire_zero_data_decode(struct rd input, struct wire_zero_data *ret)
{
    struct wire_zero_data m = {0};

    m.offset = rd_u64(&input);
    m.beyond = rd_u64(&input);

    if (!rd_ok(&input))
        return -EBADMSG;
    *ret = m;
    return 0;
}

void wire_range_encode(struct wr *w, const struct wire_range *m)
{
    wr_u64(w, m->offset);
    wr_u64(w, m->length);
}

int wire_range_next(struct rd *ranges, struct wire_range *ret)
{
    struct wire_range m = {0};
    if (rd_ok(ranges) && rd_left(ranges) == 0)
        return 0;

    m.offset = rd_u64(ranges);
    m.length = rd_u64(ranges);

    if (!rd_ok(ranges))
        return -EBADMSG;
    *ret = m;
    return 1;
}

/* ---- copies on the server ---- */

/* 2.2.32.3: a context, which is unused, follows the key. */
void wire_copy_key_encode(struct wr *w, const struct wire_copy_key *m)
{
    wr_bytes(w, m->bytes, sizeof(m->bytes));
    wr_u32(w, 0); /* ContextLength */
    wr_u32(w, 0); /* Context */
}

int wire_copy_key_decode(struct rd output, struct wire_copy_key *ret)
{
    struct wire_copy_key m;

    rd_copy(&output, m.bytes, sizeof(m.bytes));

    if (!rd_ok(&output))
        return -EBADMSG;
    *ret = m;
    return 0;
}

/* 2.2.31.1.1 */
void wire_copy_chunk_encode(struct wr *w, const struct wire_copy_chunk *m)
{
    wr_u64(w, m->source);
    wr_u64(w, m->target);
    wr_u32(w, m->length);
    wr_u32(w, 0); /* Reserved */
}

int wire_copy_chunk_next(struct rd *chunks, struct wire_copy_chunk *ret)
{
    struct wire_copy_chunk m = {0};
    if (rd_ok(chunks) && rd_left(chunks) == 0)
        return 0;

    m.source = rd_u64(chunks);
    m.target = rd_u64(chunks);
    m.length = rd_u32(chunks);
    rd_skip(chunks, 4); /* Reserved */

    if (!rd_ok(chunks))
        return -EBADMSG;
    *ret = m;
    return 1;
}

/* 2.2.31.1 */
void wire_copy_request_encode(struct wr *w, const struct wire_copy_request *m)
{
    if (m->chunks.len % WIRE_COPY_CHUNK_SIZE)
        w->bad = true;
    wr_bytes(w, m->source.bytes, sizeof(m->source.bytes));
    layout_put_len32(w, m->chunks.len / WIRE_COPY_CHUNK_SIZE);
    wr_u32(w, 0); /* Reserved */
    wr_bytes(w, m->chunks.base, m->chunks.len);
}

int wire_copy_request_decode(struct rd input, struct wire_copy_request *ret)
{
    struct wire_copy_request m = {0};

    rd_copy(&input, m.source.bytes, sizeof(m.source.bytes));
    uint32_t count = rd_u32(&input);
    rd_skip(&input, 4); /* Reserved */
    m.chunks = layout_buffer(&input, input.pos, (size_t)count * WIRE_COPY_CHUNK_SIZE);

    if (!rd_ok(&input))
        return -EBADMSG;
    *ret = m;
    return 0;
}

/* 2.2.32.1 */
void wire_copy_response_encode(struct wr *w, const struct wire_copy_response *m)
{
    wr_u32(w, m->chunks);
    wr_u32(w, m->chunk_bytes);
    wr_u32(w, m->total_bytes);
}

int wire_copy_response_decode(struct rd output, struct wire_copy_response *ret)
{
    struct wire_copy_response m = {0};

    m.chunks = rd_u32(&output);
    m.chunk_bytes = rd_u32(&output);
    m.total_bytes = rd_u32(&output);

    if (!rd_ok(&output))
        return -EBADMSG;
    *ret = m;
    return 0;
}

/* ---- reparse points ---- */

static bool has_names(uint32_t tag)
{
    return tag == IO_REPARSE_TAG_SYMLINK || tag == IO_REPARSE_TAG_MOUNT_POINT;
}

/* MS-FSCC 2.1.2.4, 2.1.2.5: the second one is the first one without its flags. */
static void put_names(struct wr *w, const struct wire_reparse *m)
{
    wr_u16(w, 0);
    layout_put_len16(w, m->substitute.len);
    layout_put_len16(w, m->substitute.len);
    layout_put_len16(w, m->print.len);
    if (m->tag == IO_REPARSE_TAG_SYMLINK)
        wr_u32(w, m->relative ? SYMLINK_FLAG_RELATIVE : 0);
    wr_bytes(w, m->substitute.base, m->substitute.len);
    wr_bytes(w, m->print.base, m->print.len);
}

static void take_names(struct rd *data, struct wire_reparse *m)
{
    uint16_t substitute_offset = rd_u16(data);
    uint16_t substitute_len = rd_u16(data);
    uint16_t print_offset = rd_u16(data);
    uint16_t print_len = rd_u16(data);
    if (m->tag == IO_REPARSE_TAG_SYMLINK)
        m->relative = rd_u32(data) & SYMLINK_FLAG_RELATIVE;
    struct rd names = rd_sub(data, data->pos, rd_left(data));
    m->substitute = layout_utf16(&names, substitute_offset, substitute_len);
    m->print = layout_utf16(&names, print_offset, print_len);
    if (!rd_ok(&names))
        data->bad = true;
}

/* MS-FSCC 2.1.2.1 */
void wire_reparse_encode(struct wr *w, const struct wire_reparse *m)
{
    wr_u32(w, m->tag);
    size_t length_at = w->pos;
    wr_u16(w, 0); /* ReparseDataLength */
    wr_u16(w, 0); /* Reserved */
    size_t start = w->pos;
    if (has_names(m->tag)) {
        put_names(w, m);
    } else {
        if (m->tag == IO_REPARSE_TAG_LX_SYMLINK)
            wr_u32(w, LX_SYMLINK_VERSION);
        wr_bytes(w, m->data.base, m->data.len);
    }
    if (w->pos - start > UINT16_MAX)
        w->bad = true;
    wr_put16(w, length_at, (uint16_t)(w->pos - start));
}

int wire_reparse_decode(struct rd output, struct wire_reparse *ret)
{
    struct wire_reparse m = {0};

    m.tag = rd_u32(&output);
    uint16_t len = rd_u16(&output);
    rd_skip(&output, 2); /* Reserved */
    struct rd data = rd_sub(&output, output.pos, len);
    if (has_names(m.tag)) {
        take_names(&data, &m);
    } else {
        if (m.tag == IO_REPARSE_TAG_LX_SYMLINK && rd_u32(&data) != LX_SYMLINK_VERSION)
            data.bad = true;
        m.data = rd_sub(&data, data.pos, rd_left(&data));
    }

    if (!rd_ok(&output) || !rd_ok(&data))
        return -EBADMSG;
    *ret = m;
    return 0;
}
