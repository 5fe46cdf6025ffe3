/*
 * What compressed messages are inflated with: 3.1.5.3, MS-XCA 2.2, 2.4, 2.5, 2.2.42.2.2.
 *
 * All four are variations of one thing: literal bytes, and matches that repeat what was put out
 * before. They differ in how the one is told from the other and how length and distance are coded.
 * The size of the result is known beforehand, and whatever does not come to exactly that is
 * refused; so is a distance that leads before the beginning. A match may overlap its own output,
 * which is how a run is written: it is copied byte by byte.
 */
#include "wire/layout.h"

enum { MATCH_MIN = 3 };

/* The output; `start` is where distances may reach to. */
struct inflate {
    struct rd in;
    uint8_t *out;
    size_t len, pos, start;
};

static void literal(struct inflate *s, uint8_t byte)
{
    if (s->pos == s->len)
        s->in.bad = true;
    else
        s->out[s->pos++] = byte;
}

static void match(struct inflate *s, size_t distance, size_t length)
{
    if (distance == 0 || distance > s->pos - s->start || length > s->len - s->pos) {
        s->in.bad = true;
        return;
    }
    if (distance >= length) {
        memcpy(s->out + s->pos, s->out + s->pos - distance, length);
        s->pos += length;
        return;
    }
    for (; length; length--, s->pos++)
        s->out[s->pos] = s->out[s->pos - distance];
}

static bool wants_more(const struct inflate *s)
{
    return rd_ok(&s->in) && s->pos < s->len;
}

/* ---- LZ77: MS-XCA 2.4 ---- */

/* Two lengths share a byte for their four bits; `nibble` is where the second half waits. */
static size_t plain_length(struct inflate *s, uint16_t code, const uint8_t **nibble)
{
    size_t length = code & 7;
    if (length < 7)
        return length + MATCH_MIN;
    if (*nibble) {
        length = **nibble >> 4;
        *nibble = NULL;
    } else {
        *nibble = rd_bytes(&s->in, 1);
        length = *nibble ? **nibble & 15 : 0;
    }
    if (length < 15)
        return length + 7 + MATCH_MIN;
    length = rd_u8(&s->in);
    if (length < 255)
        return length + 15 + 7 + MATCH_MIN;
    length = rd_u16(&s->in);
    if (length == 0)
        length = rd_u32(&s->in);
    if (length < 15 + 7)
        s->in.bad = true;
    return length + MATCH_MIN;
}

static void inflate_lz77(struct inflate *s)
{
    const uint8_t *nibble = NULL;
    uint32_t flags = 0;

    for (unsigned left = 0; wants_more(s); left--) {
        if (left == 0) {
            flags = rd_u32(&s->in);
            left = 32;
        }
        bool is_match = flags >> 31;
        flags <<= 1;
        if (is_match) {
            uint16_t code = rd_u16(&s->in);
            size_t length = plain_length(s, code, &nibble);
            match(s, (size_t)(code >> 3) + 1, length);
        } else {
            literal(s, rd_u8(&s->in));
        }
    }
}

/* ---- LZNT1: MS-XCA 2.5 ---- */

enum { CHUNK_MAX = 4096 };

/* The further into the chunk, the more of a code's 16 bits are distance. */
static void lznt1_match(struct inflate *s, uint16_t code)
{
    unsigned length_bits = 12;
    for (size_t done = s->pos - s->start;
         length_bits > 4 && done > (size_t)1 << (16 - length_bits);)
        length_bits--;
    match(s, (size_t)(code >> length_bits) + 1, (code & ((1u << length_bits) - 1)) + MATCH_MIN);
}

static void lznt1_chunk(struct inflate *s, struct rd chunk)
{
    struct rd after = s->in;
    unsigned flags = 0;

    s->in = chunk;
    s->start = s->pos;
    for (unsigned left = 0; rd_ok(&s->in) && rd_left(&s->in); left--) {
        if (left == 0) {
            flags = rd_u8(&s->in);
            left = 8;
            if (rd_left(&s->in) == 0)
                break;
        }
        if (flags & 1)
            lznt1_match(s, rd_u16(&s->in));
        else
            literal(s, rd_u8(&s->in));
        flags >>= 1;
    }
    after.bad |= s->in.bad || s->pos - s->start > CHUNK_MAX;
    s->in = after;
}

static void inflate_lznt1(struct inflate *s)
{
    while (wants_more(s)) {
        uint16_t header = rd_u16(&s->in);
        size_t size = (size_t)(header & 0xfff) + 1;
        struct rd chunk = rd_sub(&s->in, s->in.pos, size);
        rd_skip(&s->in, size);
        if (!rd_ok(&s->in))
            return;
        if (header & 0x8000) {
            lznt1_chunk(s, chunk);
        } else {
            for (size_t i = 0; i < size; i++)
                literal(s, chunk.base[i]);
        }
    }
}

/* ---- LZ77 with Huffman codes: MS-XCA 2.2 ---- */

enum { SYMBOLS = 512, CODE_MAX = 15, BLOCK = 65536 };

/* A canonical code: codes of one length are consecutive, in the order of their symbols. */
struct huffman {
    uint16_t symbols[SYMBOLS];    /* by length, then value */
    uint16_t count[CODE_MAX + 1]; /* of each length */
};

static void read_code(struct inflate *s, struct huffman *h)
{
    uint8_t lengths[SYMBOLS];
    uint16_t at[CODE_MAX + 1] = {0};

    memset(h->count, 0, sizeof(h->count));
    for (size_t i = 0; i < SYMBOLS; i += 2) {
        uint8_t pair = rd_u8(&s->in);
        lengths[i] = pair & 15;
        lengths[i + 1] = pair >> 4;
        h->count[lengths[i]]++;
        h->count[lengths[i + 1]]++;
    }
    for (size_t n = 2; n <= CODE_MAX; n++)
        at[n] = (uint16_t)(at[n - 1] + h->count[n - 1]);
    for (uint16_t i = 0; i < SYMBOLS; i++)
        if (lengths[i])
            h->symbols[at[lengths[i]]++] = i;
}

/* 32 bits of which 16 + extra are from the stream; lengths are read from between the bits. */
struct bits {
    uint32_t next;
    int extra;
    unsigned past_end;
};

/* At the end of the stream the last refill finds nothing, and needs nothing. */
static uint32_t refill_word(struct inflate *s, struct bits *b)
{
    if (rd_left(&s->in) >= 2)
        return rd_u16(&s->in);
    if (++b->past_end > 2)
        s->in.bad = true;
    return 0;
}

static void bits_take(struct inflate *s, struct bits *b, unsigned n)
{
    b->next = n < 32 ? b->next << n : 0;
    b->extra -= (int)n;
    if (b->extra < 0) {
        b->next |= refill_word(s, b) << -b->extra;
        b->extra += 16;
    }
}

static unsigned read_symbol(struct inflate *s, struct bits *b, const struct huffman *h)
{
    uint32_t code = 0, first = 0, index = 0;
    for (unsigned n = 1; n <= CODE_MAX; n++) {
        code = b->next >> (32 - n);
        if (code >= first && code - first < h->count[n]) {
            bits_take(s, b, n);
            return h->symbols[index + code - first];
        }
        index += h->count[n];
        first = (first + h->count[n]) << 1;
    }
    s->in.bad = true;
    return 0;
}

static void huffman_match(struct inflate *s, struct bits *b, unsigned symbol)
{
    size_t length = symbol & 15;
    unsigned distance_bits = symbol >> 4;

    if (length == 15) {
        length = rd_u8(&s->in);
        if (length < 255) {
            length += 15;
        } else {
            length = rd_u16(&s->in);
            if (length == 0)
                length = rd_u32(&s->in);
            if (length < 15)
                s->in.bad = true;
        }
    }
    size_t distance = (size_t)1 << distance_bits;
    if (distance_bits)
        distance += b->next >> (32 - distance_bits);
    bits_take(s, b, distance_bits);
    if (rd_ok(&s->in))
        match(s, distance, length + MATCH_MIN);
}

static void inflate_huffman(struct inflate *s)
{
    while (wants_more(s)) {
        struct huffman h;
        struct bits b = {.extra = 16};
        size_t end = s->len - s->pos < BLOCK ? s->len : s->pos + BLOCK;

        read_code(s, &h);
        b.next = refill_word(s, &b) << 16;
        b.next |= refill_word(s, &b);
        while (rd_ok(&s->in) && s->pos < end) {
            unsigned symbol = read_symbol(s, &b, &h);
            if (symbol < 256)
                literal(s, (uint8_t)symbol);
            else
                huffman_match(s, &b, symbol - 256);
        }
    }
}

/* ---- the other two ---- */

static void inflate_none(struct inflate *s)
{
    const uint8_t *bytes = rd_bytes(&s->in, s->len);
    if (bytes)
        memcpy(s->out, bytes, s->len);
    s->pos = bytes ? s->len : 0;
}

/* 2.2.42.2.2 */
static void inflate_pattern(struct inflate *s)
{
    uint8_t pattern = rd_u8(&s->in);
    rd_skip(&s->in, 1); /* Reserved1 */
    rd_skip(&s->in, 2); /* Reserved2 */
    uint32_t repetitions = rd_u32(&s->in);
    if (!rd_ok(&s->in) || repetitions != s->len)
        return;
    memset(s->out, pattern, s->len);
    s->pos = s->len;
}

int wire_inflate(uint16_t algorithm, struct rd in, uint8_t *out, size_t len)
{
    static void (*const algorithms[])(struct inflate * s) = {
        [SMB2_COMPRESSION_NONE] = inflate_none,
        [SMB2_COMPRESSION_LZNT1] = inflate_lznt1,
        [SMB2_COMPRESSION_LZ77] = inflate_lz77,
        [SMB2_COMPRESSION_LZ77_HUFFMAN] = inflate_huffman,
        [SMB2_COMPRESSION_PATTERN_V1] = inflate_pattern,
    };
    struct inflate s = {.in = in, .out = out, .len = len};

    if (algorithm >= sizeof(algorithms) / sizeof(algorithms[0]))
        return -EOPNOTSUPP;
    if (len)
        algorithms[algorithm](&s);
    return rd_ok(&s.in) && s.pos == len ? 0 : -EBADMSG;
}
