/*
 * What the layouts of several commands have in common. Private to this room.
 *
 * A decoder reads its fixed part in a straight line, then takes the variable parts by offset and
 * length, and asks once at the end whether all of it was there. Offsets count from the message's
 * header, which is where a message's cursor has its base and a writer its origin.
 */
#ifndef LARDER_WIRE_LAYOUT_H
#define LARDER_WIRE_LAYOUT_H

#include <errno.h>

#include "wire/wire.h"

/* The first field of every body. It tells the layouts apart, so any other value is another message.
 */
static inline void layout_size(struct rd *msg, uint16_t expected)
{
    if (rd_u16(msg) != expected)
        msg->bad = true;
}

/* A variable part, called after the fixed part was read: it may not reach back into that. Where the
 * length is 0 the offset means nothing (servers put 0, or anything). */
static inline struct rd layout_buffer(struct rd *msg, size_t off, size_t len)
{
    if (len == 0)
        return rd_sub(msg, 0, 0);
    if (off < msg->pos)
        msg->bad = true;
    return rd_sub(msg, off, len);
}

/* The same for UTF-16, which has no odd length. */
static inline struct rd layout_utf16(struct rd *msg, size_t off, size_t len)
{
    if (len % 2)
        msg->bad = true;
    return layout_buffer(msg, off, len);
}

static inline int layout_end(const struct rd *msg)
{
    return rd_ok(msg) ? 0 : -EBADMSG;
}

/* Where the cursor stands, as an offset inside the message. */
static inline uint32_t layout_here(const struct wr *w)
{
    return (uint32_t)(w->pos - w->origin);
}

/* A length that has to fit its field; one that does not makes the writer bad. */
static inline void layout_put_len16(struct wr *w, size_t len)
{
    if (len > UINT16_MAX)
        w->bad = true;
    wr_u16(w, (uint16_t)len);
}

static inline void layout_put_len32(struct wr *w, size_t len)
{
    if (len > UINT32_MAX)
        w->bad = true;
    wr_u32(w, (uint32_t)len);
}

/* Bodies whose StructureSize is odd have a variable part of at least one byte, also where the
 * buffer in it is empty: servers refuse a request that ends before it. */
static inline void layout_put_buffer(struct wr *w, const struct rd *bytes)
{
    if (bytes->len)
        wr_bytes(w, bytes->base, bytes->len);
    else
        wr_u8(w, 0);
}

/* FileId: 2.2.14.1. */
static inline struct wire_file_id layout_file_id(struct rd *msg)
{
    struct wire_file_id id;
    id.persistent = rd_u64(msg);
    id.volatile_ = rd_u64(msg);
    return id;
}

static inline void layout_put_file_id(struct wr *w, struct wire_file_id id)
{
    wr_u64(w, id.persistent);
    wr_u64(w, id.volatile_);
}

/* The four times, in the one order in which SMB2 and MS-FSCC always have them. */
static inline void layout_times(struct rd *msg, struct file_attr *a)
{
    a->created = rd_u64(msg);
    a->accessed = rd_u64(msg);
    a->written = rd_u64(msg);
    a->changed = rd_u64(msg);
}

static inline void layout_put_times(struct wr *w, const struct file_attr *a)
{
    wr_u64(w, a->created);
    wr_u64(w, a->accessed);
    wr_u64(w, a->written);
    wr_u64(w, a->changed);
}

#endif
