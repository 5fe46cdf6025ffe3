/*
 * The read cursor: every byte that came from outside is read through one of these.
 *
 * A cursor never reads past its end. The first read that would makes it `bad`, and from then on
 * every read gives zero, so a decoder reads a whole layout in a straight line and asks rd_ok()
 * once. Integers are little-endian, as SMB has them, unless the name says `be`.
 */
#ifndef LARDER_BASE_RD_H
#define LARDER_BASE_RD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct rd {
    const uint8_t *base; /* borrowed from whoever made the cursor */
    size_t len;
    size_t pos;
    bool bad;
};

static inline struct rd rd_init(const void *base, size_t len)
{
    return (struct rd){.base = base, .len = len};
}

static inline bool rd_ok(const struct rd *r)
{
    return !r->bad;
}

static inline size_t rd_left(const struct rd *r)
{
    return r->bad ? 0 : r->len - r->pos;
}

/* The next n bytes, borrowed from the cursor's memory; NULL (and bad) where there are fewer. */
static inline const uint8_t *rd_bytes(struct rd *r, size_t n)
{
    if (r->bad || n > r->len - r->pos) {
        r->bad = true;
        return NULL;
    }
    const uint8_t *p = r->base + r->pos;
    r->pos += n;
    return p;
}

static inline void rd_skip(struct rd *r, size_t n)
{
    (void)rd_bytes(r, n);
}

static inline void rd_seek(struct rd *r, size_t pos)
{
    if (pos > r->len)
        r->bad = true;
    else
        r->pos = pos;
}

/* A cursor over bytes [off, off + n) of this one, whatever its position; a bad one where they are
 * not all there. The parent turns bad too, so that one check at the end is enough. */
static inline struct rd rd_sub(struct rd *r, size_t off, size_t n)
{
    if (r->bad || off > r->len || n > r->len - off) {
        r->bad = true;
        return (struct rd){.bad = true};
    }
    return rd_init(r->base + off, n);
}

static inline void rd_copy(struct rd *r, void *out, size_t n)
{
    const uint8_t *p = rd_bytes(r, n);
    if (p)
        memcpy(out, p, n);
    else
        memset(out, 0, n);
}

static inline uint8_t rd_u8(struct rd *r)
{
    const uint8_t *p = rd_bytes(r, 1);
    return p ? p[0] : 0;
}

static inline uint16_t rd_u16(struct rd *r)
{
    const uint8_t *p = rd_bytes(r, 2);
    return p ? (uint16_t)(p[0] | p[1] << 8) : 0;
}

static inline uint32_t rd_u32(struct rd *r)
{
    const uint8_t *p = rd_bytes(r, 4);
    return p ? (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24
             : 0;
}

static inline uint64_t rd_u64(struct rd *r)
{
    uint64_t low = rd_u32(r);
    return low | (uint64_t)rd_u32(r) << 32;
}

static inline uint16_t rd_be16(struct rd *r)
{
    const uint8_t *p = rd_bytes(r, 2);
    return p ? (uint16_t)(p[0] << 8 | p[1]) : 0;
}

static inline uint32_t rd_be32(struct rd *r)
{
    const uint8_t *p = rd_bytes(r, 4);
    return p ? (uint32_t)p[3] | (uint32_t)p[2] << 8 | (uint32_t)p[1] << 16 | (uint32_t)p[0] << 24
             : 0;
}

#endif
