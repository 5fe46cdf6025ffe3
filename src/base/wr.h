/*
 * The write cursor: encoders put a layout into a caller's buffer through one of these.
 *
 * It never writes past its end; the first write that would makes it `bad`, and wr_ok() is asked
 * once. `origin` is where the current message starts: offsets inside an SMB2 message count from its
 * header.
 */
#ifndef LARDER_BASE_WR_H
#define LARDER_BASE_WR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct wr {
    uint8_t *buf; /* the caller's, for as long as the cursor is used */
    size_t cap;
    size_t pos;
    size_t origin;
    bool bad;
};

static inline struct wr wr_init(void *buf, size_t cap)
{
    return (struct wr){.buf = buf, .cap = cap};
}

static inline bool wr_ok(const struct wr *w)
{
    return !w->bad;
}

/* Room for n bytes at the cursor, which moves past them; NULL (and bad) where there is none. */
static inline uint8_t *wr_room(struct wr *w, size_t n)
{
    if (w->bad || n > w->cap - w->pos) {
        w->bad = true;
        return NULL;
    }
    uint8_t *p = w->buf + w->pos;
    w->pos += n;
    return p;
}

static inline void wr_bytes(struct wr *w, const void *data, size_t n)
{
    uint8_t *p = wr_room(w, n);
    if (p && n)
        memcpy(p, data, n);
}

static inline void wr_zero(struct wr *w, size_t n)
{
    uint8_t *p = wr_room(w, n);
    if (p && n)
        memset(p, 0, n);
}

/* Zero bytes up to the next multiple of `to` counted from the message's origin. */
static inline void wr_align(struct wr *w, size_t to)
{
    size_t over = (w->pos - w->origin) % to;
    if (over)
        wr_zero(w, to - over);
}

static inline void wr_u8(struct wr *w, uint8_t v)
{
    wr_bytes(w, &v, 1);
}

static inline void wr_u16(struct wr *w, uint16_t v)
{
    wr_bytes(w, (uint8_t[]){(uint8_t)v, (uint8_t)(v >> 8)}, 2);
}

static inline void wr_u32(struct wr *w, uint32_t v)
{
    wr_bytes(w, (uint8_t[]){(uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24)},
             4);
}

static inline void wr_u64(struct wr *w, uint64_t v)
{
    wr_u32(w, (uint32_t)v);
    wr_u32(w, (uint32_t)(v >> 32));
}

static inline void wr_be32(struct wr *w, uint32_t v)
{
    wr_bytes(w, (uint8_t[]){(uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v},
             4);
}

/* Fields that are known only later: put at an absolute position that was already written. */
static inline void wr_put16(struct wr *w, size_t at, uint16_t v)
{
    if (at + 2 > w->pos) {
        w->bad = true;
        return;
    }
    w->buf[at] = (uint8_t)v;
    w->buf[at + 1] = (uint8_t)(v >> 8);
}

static inline void wr_put32(struct wr *w, size_t at, uint32_t v)
{
    wr_put16(w, at, (uint16_t)v);
    wr_put16(w, at + 2, (uint16_t)(v >> 16));
}

#endif
