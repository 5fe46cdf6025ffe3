/*
 * The entries of a listing: MS-FSCC 2.4.8, .10, .15, .18 - .24, .33.
 *
 * Entries are a chain whose links count from the entry that has them. Each entry is cut out before
 * it is read, so a name cannot reach into the next one, and an entry shorter than its fixed part
 * cannot be read at all: every walk moves forward and ends.
 *
 * The classes differ in what stands between the length of the name and the name. A table says for
 * each which fields those are, in their order; both directions walk it.
 */
#include "wire/layout.h"

enum { SHORT_NAME_MAX = 24 };

enum field { END, EA_SIZE, TAG, ID, ID_128, SHORT_NAME, PAD_2, PAD_4 };

static const struct listing_class {
    uint8_t info_class;
    bool names_only; /* no times, no sizes, no attributes */
    enum field fields[6];
} classes[] = {
    {FILE_DIRECTORY_INFORMATION, .fields = {END}},
    {FILE_FULL_DIRECTORY_INFORMATION, .fields = {EA_SIZE}},
    {FILE_BOTH_DIRECTORY_INFORMATION, .fields = {EA_SIZE, SHORT_NAME}},
    {FILE_NAMES_INFORMATION, .names_only = true},
    {FILE_ID_BOTH_DIRECTORY_INFORMATION, .fields = {EA_SIZE, SHORT_NAME, PAD_2, ID}},
    {FILE_ID_FULL_DIRECTORY_INFORMATION, .fields = {EA_SIZE, PAD_4, ID}},
    {FILE_ID_EXTD_DIRECTORY_INFORMATION, .fields = {EA_SIZE, TAG, ID_128}},
    {FILE_ID_64_EXTD_DIRECTORY_INFORMATION, .fields = {EA_SIZE, TAG, ID}},
    {FILE_ID_64_EXTD_BOTH_DIRECTORY_INFORMATION, .fields = {EA_SIZE, TAG, ID, SHORT_NAME}},
    {FILE_ID_ALL_EXTD_DIRECTORY_INFORMATION, .fields = {EA_SIZE, TAG, ID, ID_128}},
    {FILE_ID_ALL_EXTD_BOTH_DIRECTORY_INFORMATION, .fields = {EA_SIZE, TAG, ID, ID_128, SHORT_NAME}},
};

static const struct listing_class *class_of(uint8_t info_class)
{
    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
        if (classes[i].info_class == info_class)
            return &classes[i];
    return NULL;
}

/* Classes without a field for the tag have it in the place of EaSize (2.4.22), the others there. */
static bool has_tag(const struct listing_class *c)
{
    return c->fields[1] == TAG;
}

/* ---- encoding ---- */

static void put_short_name(struct wr *w, const struct rd *name)
{
    if (name->len > SHORT_NAME_MAX) {
        w->bad = true;
        return;
    }
    wr_u8(w, (uint8_t)name->len);
    wr_u8(w, 0); /* Reserved1 */
    wr_bytes(w, name->base, name->len);
    wr_zero(w, SHORT_NAME_MAX - name->len);
}

static void put_field(struct wr *w, const struct listing_class *c, enum field field,
                      const struct wire_dirent *e)
{
    uint32_t tag = e->attr.attributes & FILE_ATTRIBUTE_REPARSE_POINT ? e->attr.reparse_tag : 0;

    switch (field) {
    case EA_SIZE:
        wr_u32(w, has_tag(c) ? 0 : tag);
        break;
    case TAG:
        wr_u32(w, tag);
        break;
    case ID:
        wr_u64(w, e->attr.id);
        break;
    case ID_128:
        wr_u64(w, e->attr.id);
        wr_u64(w, 0);
        break;
    case SHORT_NAME:
        put_short_name(w, &e->short_name);
        break;
    case PAD_2:
        wr_u16(w, 0);
        break;
    case PAD_4:
        wr_u32(w, 0);
        break;
    case END:
        break;
    }
}

void wire_listing_encode(struct wr *w, uint8_t info_class, size_t *inout_last,
                         const struct wire_dirent *e)
{
    const struct listing_class *c = class_of(info_class);
    if (!c) {
        w->bad = true;
        return;
    }
    if (*inout_last != SIZE_MAX)
        wr_zero(w, (8 - (w->pos - *inout_last) % 8) % 8);
    size_t start = w->pos;

    wr_u32(w, 0); /* NextEntryOffset */
    wr_u32(w, e->file_index);
    if (!c->names_only) {
        layout_put_times(w, &e->attr);
        wr_u64(w, e->attr.size);
        wr_u64(w, e->attr.allocated);
        wr_u32(w, e->attr.attributes);
    }
    layout_put_len32(w, e->name.len);
    for (const enum field *f = c->fields; *f != END; f++)
        put_field(w, c, *f, e);
    wr_bytes(w, e->name.base, e->name.len);

    /* Linked only once it is whole, so that a caller who ran out of room can take the writer as it
     * was before this entry and send what there is. */
    if (!wr_ok(w))
        return;
    if (*inout_last != SIZE_MAX)
        wr_put32(w, *inout_last, (uint32_t)(start - *inout_last));
    *inout_last = start;
}

/* ---- decoding ---- */

static struct rd short_name(struct rd *entry)
{
    uint8_t len = rd_u8(entry);
    rd_skip(entry, 1); /* Reserved1 */
    size_t at = entry->pos;
    rd_skip(entry, SHORT_NAME_MAX);
    if (len > SHORT_NAME_MAX || len % 2)
        entry->bad = true;
    return rd_sub(entry, at, len);
}

static void get_field(struct rd *entry, const struct listing_class *c, enum field field,
                      struct wire_dirent *e)
{
    uint32_t tag = 0;
    uint64_t id;

    switch (field) {
    case EA_SIZE:
        tag = rd_u32(entry);
        if (!has_tag(c) && e->attr.attributes & FILE_ATTRIBUTE_REPARSE_POINT)
            e->attr.reparse_tag = tag;
        break;
    case TAG:
        tag = rd_u32(entry);
        if (e->attr.attributes & FILE_ATTRIBUTE_REPARSE_POINT)
            e->attr.reparse_tag = tag;
        break;
    case ID:
        e->attr.id = rd_u64(entry);
        break;
    case ID_128: /* behind a 64-bit one it says the same */
        id = rd_u64(entry);
        if (rd_u64(entry) == 0 && e->attr.id == 0)
            e->attr.id = id;
        break;
    case SHORT_NAME:
        e->short_name = short_name(entry);
        break;
    case PAD_2:
        rd_skip(entry, 2);
        break;
    case PAD_4:
        rd_skip(entry, 4);
        break;
    case END:
        break;
    }
}

int wire_listing_next(struct rd *output, uint8_t info_class, struct wire_dirent *ret)
{
    const struct listing_class *c = class_of(info_class);
    if (!c)
        output->bad = true;
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
    if (!c->names_only) {
        layout_times(&entry, &e.attr);
        e.attr.size = rd_u64(&entry);
        e.attr.allocated = rd_u64(&entry);
        e.attr.attributes = rd_u32(&entry);
    }
    uint32_t name_len = rd_u32(&entry);
    for (const enum field *f = c->fields; *f != END; f++)
        get_field(&entry, c, *f, &e);
    e.name = layout_utf16(&entry, entry.pos, name_len);
    rd_skip(output, len);

    if (!rd_ok(&entry) || !rd_ok(output)) {
        output->bad = true;
        return -EBADMSG;
    }
    *ret = e;
    return 1;
}

/* ---- the class that we ask for ---- */

void wire_dirent_encode(struct wr *w, size_t *inout_last, const struct wire_dirent *e)
{
    wire_listing_encode(w, FILE_ID_BOTH_DIRECTORY_INFORMATION, inout_last, e);
}

int wire_dirent_next(struct rd *output, struct wire_dirent *ret)
{
    return wire_listing_next(output, FILE_ID_BOTH_DIRECTORY_INFORMATION, ret);
}
