/*
 * Two encodings of one code point sequence. decode_one() reads a UTF-8 character and is the only
 * place that knows its forms; folding and conversion are loops around it. Folding is a binary
 * search in a table of runs that tools/gen-fold.py makes; ASCII never gets that far.
 */
#include "base/utf.h"

#include <errno.h>

#include "base/hash.h"

static const struct fold_run {
    uint16_t first, last, step;
    int32_t delta;
} fold_runs[] = {
#include "base/fold_table.inc"
};

static uint32_t fold(uint32_t c)
{
    if (c < 0x80)
        return c >= 'a' && c <= 'z' ? c - 32 : c;
    size_t low = 0, high = sizeof fold_runs / sizeof fold_runs[0];
    while (low < high) {
        size_t mid = (low + high) / 2;
        const struct fold_run *run = &fold_runs[mid];
        if (c > run->last)
            low = mid + 1;
        else if (c < run->first)
            high = mid;
        else
            return (c - run->first) % run->step ? c : (uint32_t)((int32_t)c + run->delta);
    }
    return c;
}

/* The character at s (n > 0 bytes left): its length in bytes, 0 where the bytes are no UTF-8. */
static size_t decode_one(const uint8_t *s, size_t n, uint32_t *ret)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t len = s[0] < 0x80   ? 1
                 : s[0] < 0xc2 ? 0
                 : s[0] < 0xe0 ? 2
                 : s[0] < 0xf0 ? 3
                 : s[0] < 0xf5 ? 4
                               : 0;
    if (len == 0 || len > n)
        return 0;
    uint32_t c = len == 1 ? s[0] : s[0] & (0x7fu >> len);
    for (size_t i = 1; i < len; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (s[i] & 0x3f);
    }
    if (c < least[len] || c > 0x10ffff)
        return 0;
    *ret = c;
    return len;
}

static size_t encode_one(uint32_t c, uint8_t out[4])
{
    if (c < 0x80) {
        out[0] = (uint8_t)c;
        return 1;
    }
    size_t len = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = len - 1; i > 0; i--, c >>= 6)
        out[i] = (uint8_t)(0x80 | (c & 0x3f));
    out[0] = (uint8_t)((0xf00u >> len) | c);
    return len;
}

int utf16_to_utf8(const uint8_t *utf16le, size_t bytes, char *out, size_t cap)
{
    if (bytes % 2)
        return -EINVAL;
    size_t used = 0;
    for (size_t i = 0; i < bytes; i += 2) {
        uint32_t c = utf16le[i] | (uint32_t)utf16le[i + 1] << 8;
        if (c >= 0xd800 && c < 0xdc00 && i + 3 < bytes) {
            uint32_t low = utf16le[i + 2] | (uint32_t)utf16le[i + 3] << 8;
            if (low >= 0xdc00 && low < 0xe000) {
                c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
                i += 2;
            }
        }
        uint8_t one[4];
        size_t len = encode_one(c, one);
        if (len > cap - used)
            return -ENAMETOOLONG;
        for (size_t k = 0; k < len; k++)
            out[used++] = (char)one[k];
    }
    return (int)used;
}

static size_t put16(uint8_t *out, uint32_t unit)
{
    out[0] = (uint8_t)unit;
    out[1] = (uint8_t)(unit >> 8);
    return 2;
}

int utf8_to_utf16(const char *utf8, size_t len, uint8_t *out, size_t cap)
{
    size_t used = 0;
    for (size_t i = 0; i < len;) {
        uint32_t c;
        size_t n = decode_one((const uint8_t *)utf8 + i, len - i, &c);
        if (n == 0)
            return -EILSEQ;
        i += n;
        if ((c < 0x10000 ? 2u : 4u) > cap - used)
            return -ENAMETOOLONG;
        if (c < 0x10000) {
            used += put16(out + used, c);
        } else {
            used += put16(out + used, 0xd800 + ((c - 0x10000) >> 10));
            used += put16(out + used, 0xdc00 + ((c - 0x10000) & 0x3ff));
        }
    }
    return (int)used;
}

size_t utf8_next_folded(const char *s, size_t n, uint32_t *ret)
{
    uint32_t c;
    size_t len = decode_one((const uint8_t *)s, n, &c);
    if (len == 0) {
        *ret = 0x110000u + (uint8_t)s[0];
        return 1;
    }
    *ret = fold(c);
    return len;
}

uint64_t utf8_fold_hash(const char *utf8, size_t len, uint64_t seed)
{
    uint32_t chunk[64];
    uint64_t hash = seed;
    size_t filled = 0;
    for (size_t i = 0; i < len;) {
        i += utf8_next_folded(utf8 + i, len - i, &chunk[filled++]);
        if (filled == 64 || i == len) {
            hash = hash_bytes(chunk, filled * sizeof chunk[0], hash);
            filled = 0;
        }
    }
    return hash;
}

bool utf8_fold_equal(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t i = 0, k = 0;
    while (i < a_len && k < b_len) {
        uint32_t ca, cb;
        i += utf8_next_folded(a + i, a_len - i, &ca);
        k += utf8_next_folded(b + k, b_len - k, &cb);
        if (ca != cb)
            return false;
    }
    return i == a_len && k == b_len;
}

bool utf8_has_non_ascii(const char *utf8, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((uint8_t)utf8[i] > 0x7f)
            return true;
    return false;
}
