/*
 * QUERY_DIRECTORY: 2.2.33, 2.2.34, and the entries in its output: MS-FSCC 2.4.22.
 *
 * Entries are a chain whose links count from the entry that has them. Each entry is cut out before
 * it is read, so a name cannot reach into the next one, and an entry shorter than its fixed part
 * cannot be read at all: every walk moves forward and ends.
 */
#include "wire/layout.h"

enum {
    REQUEST_BUFFER = WIRE_HEADER_SIZE + 32,
    RESPONSE_BUFFER = WIRE_HEADER_SIZE + 8,
    SHORT_NAME_MAX = 24,
};

/* ---- request: 2.2.33 ---- */

void wire_query_directory_request_encode(struct wr *w, const struct wire_query_directory_request *m)
{
    wr_u16(w, 33);
    wr_u8(w, m->info_class);
    wr_u8(w, m->flags);
    wr_u32(w, m->file_index);
    layout_put_file_id(w, m->file_id);
    wr_u16(w, REQUEST_BUFFER);
    layout_put_len16(w, m->pattern.len);
    wr_u32(w, m->output_length);
    layout_put_buffer(w, &m->pattern);
}

int wire_query_directory_request_decode(struct rd msg, struct wire_query_directory_request *ret)
{
    struct wire_query_directory_request m = {0};

    layout_size(&msg, 33);
    m.info_class = rd_u8(&msg);
    m.flags = rd_u8(&msg);
    m.file_index = rd_u32(&msg);
    m.file_id = layout_file_id(&msg);
    uint16_t offset = rd_u16(&msg);
    uint16_t len = rd_u16(&msg);
    m.output_length = rd_u32(&msg);
    m.pattern = layout_utf16(&msg, offset, len);

    if (!rd_ok(&msg))
        return -EBADMSG;
    *ret = m;
    return 0;
}

/* ---- response: 2.2.34, and 2.2.38, which is laid out alike ---- */

void wire_buffer_response_encode(struct wr *w, const void *data, uint32_t len)
{
    struct rd output = rd_init(data, len);

    wr_u16(w, 9);
    wr_u16(w, RESPONSE_BUFFER);
    wr_u32(w, len);
    layout_put_buffer(w, &output);
}

int wire_buffer_response_decode(struct rd msg, struct wire_buffer_response *ret)
{
    struct wire_buffer_response m = {0};

    layout_size(&msg, 9);
    uint16_t offset = rd_u16(&msg);
    uint32_t len = rd_u32(&msg);
    m.output = layout_buffer(&msg, offset, len);

    if (!rd_ok(&msg))
        return -EBADMSG;
    *ret = m;
    return 0;
}

/* ---- FileIdBothDirectoryInformation: MS-FSCC 2.4.22 ---- */

void wire_dirent_encode(struct wr *w, size_t *inout_last, const struct wire_dirent *e)
{
    if (*inout_last != SIZE_MAX)
        wr_zero(w, (8 - (w->pos - *inout_last) % 8) % 8);
    size_t start = w->pos;
    bool reparse = e->attr.attributes & FILE_ATTRIBUTE_REPARSE_POINT;
    size_t short_len = e->short_name.len;
    if (short_len > SHORT_NAME_MAX) {
        w->bad = true;
        return;
    }

    wr_u32(w, 0); /* NextEntryOffset */
    wr_u32(w, e->file_index);
    layout_put_times(w, &e->attr);
    wr_u64(w, e->attr.size);
    wr_u64(w, e->attr.allocated);
    wr_u32(w, e->attr.attributes);
    layout_put_len32(w, e->name.len);
    wr_u32(w, reparse ? e->attr.reparse_tag : 0); /* EaSize */
    wr_u8(w, (uint8_t)short_len);
    wr_u8(w, 0); /* Reserved1 */
    wr_bytes(w, e->short_name.base, short_len);
    wr_zero(w, SHORT_NAME_MAX - short_len);
    wr_u16(w, 0); /* Reserved2 */
    wr_u64(w, e->attr.id);
    wr_bytes(w, e->name.base, e->name.len);

    /* Linked only once it is whole, so that a caller who ran out of room can take the writer as it
     * was before this entry and send what there is. */
    if (!wr_ok(w))
        return;
    if (*inout_last != SIZE_MAX)
        wr_put32(w, *inout_last, (uint32_t)(start - *inout_last));
    *inout_last = start;
}

int wire_dirent_next(struct rd *output, struct wire_dirent *ret)
{
    if (!rd_ok(output))
        return -EBADMSG;
    if (rd_left(output) == 0)
        return 0;

    struct wire_dirent e = {0};
    struct rd peek = *output;
    uint32_t next = rd_u32(&peek);
    size_t len = next ? next : rd_left(output);

    struct rd entry = rd_sub(output, output->pos, len);
    rd_skip(&entry, 4); /* NextEntryOffset */
    e.file_index = rd_u32(&entry);
    layout_times(&entry, &e.attr);
    e.attr.size = rd_u64(&entry);
    e.attr.allocated = rd_u64(&entry);
    e.attr.attributes = rd_u32(&entry);
    uint32_t name_len = rd_u32(&entry);
    uint32_t ea_size = rd_u32(&entry);
    uint8_t short_len = rd_u8(&entry);
    rd_skip(&entry, 1); /* Reserved1 */
    size_t short_at = entry.pos;
    rd_skip(&entry, SHORT_NAME_MAX);
    rd_skip(&entry, 2); /* Reserved2 */
    e.attr.id = rd_u64(&entry);
    e.name = layout_utf16(&entry, entry.pos, name_len);
    if (short_len > SHORT_NAME_MAX || short_len % 2)
        entry.bad = true;
    e.short_name = rd_sub(&entry, short_at, short_len);
    if (e.attr.attributes & FILE_ATTRIBUTE_REPARSE_POINT)
        e.attr.reparse_tag = ea_size;
    rd_skip(output, len);

    if (!rd_ok(&entry) || !rd_ok(output)) {
        output->bad = true;
        return -EBADMSG;
    }
    *ret = e;
    return 1;
}
