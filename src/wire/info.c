/*
 * QUERY_INFO: 2.2.37 (its response is one buffer, see directory.c), and what stat and statfs ask
 * for: MS-FSCC 2.4.2, 2.4.34, 2.5.1, 2.5.4.
 */
#include "wire/layout.h"

/* ---- request: 2.2.37 ---- */

void wire_query_info_request_encode(struct wr *w, const struct wire_query_info_request *m)
{
    wr_u16(w, 41);
    wr_u8(w, m->info_type);
    wr_u8(w, m->info_class);
    wr_u32(w, m->output_length);
    wr_u16(w, 0); /* InputBufferOffset: the classes asked for here take no input */
    wr_u16(w, 0); /* Reserved */
    wr_u32(w, 0); /* InputBufferLength */
    wr_u32(w, m->additional);
    wr_u32(w, m->flags);
    layout_put_file_id(w, m->file_id);
    wr_u8(w, 0); /* Buffer */
}

int wire_query_info_request_decode(struct rd msg, struct wire_query_info_request *ret)
{
    struct wire_query_info_request m = {0};

    layout_size(&msg, 41);
    m.info_type = rd_u8(&msg);
    m.info_class = rd_u8(&msg);
    m.output_length = rd_u32(&msg);
    rd_skip(&msg, 2); /* InputBufferOffset */
    rd_skip(&msg, 2); /* Reserved */
    rd_skip(&msg, 4); /* InputBufferLength */
    m.additional = rd_u32(&msg);
    m.flags = rd_u32(&msg);
    m.file_id = layout_file_id(&msg);

    if (!rd_ok(&msg))
        return -EBADMSG;
    *ret = m;
    return 0;
}

/* ---- FileAllInformation: MS-FSCC 2.4.2 ---- */

enum { NAME_INFORMATION = 96 }; /* where in it the name's length stands */

void wire_all_information_encode(struct wr *w, const struct file_attr *a, const struct rd *name)
{
    layout_put_times(w, a); /* BasicInformation: 2.4.7 */
    wr_u32(w, a->attributes);
    wr_u32(w, 0);            /* Reserved */
    wr_u64(w, a->allocated); /* StandardInformation: 2.4.47 */
    wr_u64(w, a->size);
    wr_u32(w, a->links);
    wr_u8(w, a->unlinked); /* DeletePending */
    wr_u8(w, file_attr_is_dir(a));
    wr_u16(w, 0);                    /* Reserved */
    wr_u64(w, a->id);                /* InternalInformation: 2.4.27 */
    wr_u32(w, 0);                    /* EaInformation: 2.4.13 */
    wr_u32(w, FILE_READ_ATTRIBUTES); /* AccessInformation: 2.4.1 */
    wr_u64(w, 0);                    /* PositionInformation: 2.4.40 */
    wr_u32(w, 0);                    /* ModeInformation: 2.4.31 */
    wr_u32(w, 0);                    /* AlignmentInformation: 2.4.3 */
    layout_put_len32(w, name->len);  /* NameInformation: 2.4.32 */
    wr_bytes(w, name->base, name->len);
}

int wire_all_information_decode(struct rd output, struct file_attr *ret)
{
    struct file_attr a = {0};

    layout_times(&output, &a); /* BasicInformation */
    a.attributes = rd_u32(&output);
    rd_skip(&output, 4);           /* Reserved */
    a.allocated = rd_u64(&output); /* StandardInformation */
    a.size = rd_u64(&output);
    a.links = rd_u32(&output);
    bool delete_pending = rd_u8(&output);
    a.unlinked = delete_pending && a.links == 0;
    rd_skip(&output, 1 + 2); /* Directory, Reserved */
    a.id = rd_u64(&output);  /* InternalInformation */
    rd_skip(&output, 4);     /* EaInformation */
    rd_skip(&output, 4);     /* AccessInformation */
    rd_skip(&output, 8);     /* PositionInformation */
    rd_skip(&output, 4);     /* ModeInformation */
    rd_skip(&output, 4);     /* AlignmentInformation */
    rd_skip(&output, 4);     /* NameInformation: its length; the name may be cut short */

    if (!rd_ok(&output))
        return -EBADMSG;
    *ret = a;
    return 0;
}

int wire_all_information_name(struct rd output, struct rd *ret)
{
    rd_skip(&output, NAME_INFORMATION);
    uint32_t length = rd_u32(&output);
    struct rd name = layout_utf16(&output, output.pos, length);

    if (!rd_ok(&output))
        return -EBADMSG;
    *ret = name;
    return 0;
}

/* ---- FileNetworkOpenInformation: MS-FSCC 2.4.34 ---- */

void wire_network_open_information_encode(struct wr *w, const struct file_attr *a)
{
    layout_put_times(w, a);
    wr_u64(w, a->allocated);
    wr_u64(w, a->size);
    wr_u32(w, a->attributes);
    wr_u32(w, 0); /* Reserved */
}

int wire_network_open_information_decode(struct rd output, struct file_attr *ret)
{
    struct file_attr a = {0};

    layout_times(&output, &a);
    a.allocated = rd_u64(&output);
    a.size = rd_u64(&output);
    a.attributes = rd_u32(&output);
    rd_skip(&output, 4); /* Reserved */

    if (!rd_ok(&output))
        return -EBADMSG;
    *ret = a;
    return 0;
}

/* ---- FileFsFullSizeInformation: MS-FSCC 2.5.4 ---- */

void wire_fs_size_encode(struct wr *w, const struct wire_fs_size *s)
{
    wr_u64(w, s->total_units);
    wr_u64(w, s->caller_free_units);
    wr_u64(w, s->actual_free_units);
    wr_u32(w, s->sectors_per_unit);
    wr_u32(w, s->bytes_per_sector);
}

int wire_fs_size_decode(struct rd output, struct wire_fs_size *ret)
{
    struct wire_fs_size s = {0};

    s.total_units = rd_u64(&output);
    s.caller_free_units = rd_u64(&output);
    s.actual_free_units = rd_u64(&output);
    s.sectors_per_unit = rd_u32(&output);
    s.bytes_per_sector = rd_u32(&output);

    if (!rd_ok(&output))
        return -EBADMSG;
    *ret = s;
    return 0;
}

/* ---- FileFsAttributeInformation: MS-FSCC 2.5.1 ---- */

void wire_fs_attribute_encode(struct wr *w, const struct wire_fs_attribute *a)
{
    wr_u32(w, a->attributes);
    wr_u32(w, a->max_component);
    layout_put_len32(w, a->name.len);
    wr_bytes(w, a->name.base, a->name.len);
}

int wire_fs_attribute_decode(struct rd output, struct wire_fs_attribute *ret)
{
    struct wire_fs_attribute a = {0};

    a.attributes = rd_u32(&output);
    a.max_component = rd_u32(&output);
    uint32_t name_len = rd_u32(&output);
    a.name = layout_utf16(&output, output.pos, name_len);

    if (!rd_ok(&output))
        return -EBADMSG;
    *ret = a;
    return 0;
}
