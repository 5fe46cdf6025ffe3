/*
 * wire_inflate against the examples of MS-XCA section 3, against streams that encoders here write
 * (long matches, blocks past the first, chunks past the first), and against streams that were cut
 * or changed: those end in an error or in other bytes, never outside.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "wire/wire.h"

/* Input and output in memory of exactly their size, so that the sanitizer sees every step outside.
 */
static int inflate(uint16_t algorithm, const void *in, size_t in_len, uint8_t **ret, size_t len)
{
    uint8_t *exact = malloc(in_len ? in_len : 1);
    *ret = malloc(len ? len : 1);
    assert_true(exact && *ret);
    memcpy(exact, in, in_len);
    int r = wire_inflate(algorithm, rd_init(exact, in_len), *ret, len);
    free(exact);
    return r;
}

static void inflates_to(uint16_t algorithm, const void *in, size_t in_len, const void *out,
                        size_t len)
{
    uint8_t *got;
    assert_int_equal(inflate(algorithm, in, in_len, &got, len), 0);
    assert_memory_equal(got, out, len);
    free(got);

    assert_int_equal(inflate(algorithm, in, in_len, &got, len + 1), -EBADMSG);
    free(got);
}

/* ---- the specification's examples ---- */

static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
static const uint8_t letters_lz77[] = "\x3f\0\0\0abcdefghijklmnopqrstuvwxyz";
static const uint8_t abc_lz77[] = {0xff, 0xff, 0xff, 0x1f, 'a',  'b', 'c',
                                   0x17, 0x00, 0x0f, 0xff, 0x26, 0x01};

static const char tune[] = "F# F# G A A G F# E D D E F# F# E E F# F# G A A G F# E D D E F# E D D "
                           "E E F# D E F# G F# D E F# G F# E D E A F# F# G A A G F# E D D E F# E "
                           "D D"; /* with its NUL */
static const uint8_t tune_lznt1[] = {
    0x38, 0xb0, 0x88, 0x46, 0x23, 0x20, 0x00, 0x20, 0x47, 0x20, 0x41, 0x00, 0x10, 0xa2, 0x47,
    0x01, 0xa0, 0x45, 0x20, 0x44, 0x00, 0x08, 0x45, 0x01, 0x50, 0x79, 0x00, 0xc0, 0x45, 0x20,
    0x05, 0x24, 0x13, 0x88, 0x05, 0xb4, 0x02, 0x4a, 0x44, 0xef, 0x03, 0x58, 0x02, 0x8c, 0x09,
    0x16, 0x01, 0x48, 0x45, 0x00, 0xbe, 0x00, 0x9e, 0x00, 0x04, 0x01, 0x18, 0x90, 0x00};

static void abc(uint8_t out[300])
{
    for (size_t i = 0; i < 300; i++)
        out[i] = (uint8_t)('a' + i % 3);
}

static void the_examples_of_plain_lz77_inflate(void **state)
{
    uint8_t expected[300];
    abc(expected);
    inflates_to(SMB2_COMPRESSION_LZ77, letters_lz77, sizeof(letters_lz77) - 1, letters, 26);
    inflates_to(SMB2_COMPRESSION_LZ77, abc_lz77, sizeof(abc_lz77), expected, 300);
}

static void the_example_of_lznt1_inflates(void **state)
{
    inflates_to(SMB2_COMPRESSION_LZNT1, tune_lznt1, sizeof(tune_lznt1), tune, sizeof(tune));
}

/* Symbols of the second example have codes of 1 to 3 bits: a, b, c, the end and one match. */
static size_t abc_huffman(uint8_t out[300])
{
    static const uint8_t stream[] = {0xa8, 0xdc, 0x00, 0x00, 0xff, 0x26, 0x01};
    memset(out, 0, 256);
    out['a' / 2] = 0x30; /* a is odd: the high half */
    out['b' / 2] = 0x23; /* b: 3, c: 2 bits */
    out[256 / 2] = 0x02;
    out[(256 + 31) / 2] = 0x20; /* length 15 and more, distance 2 or 3 */
    memcpy(out + 256, stream, sizeof(stream));
    return 256 + sizeof(stream);
}

static void the_example_of_lz77_with_huffman_codes_inflates(void **state)
{
    uint8_t stream[300], expected[300], *got;
    size_t len = abc_huffman(stream);
    abc(expected);
    assert_int_equal(inflate(SMB2_COMPRESSION_LZ77_HUFFMAN, stream, len, &got, 300), 0);
    assert_memory_equal(got, expected, 300);
    free(got);
}

/* ---- encoders ---- */

/* A Huffman stream whose 512 symbols all have 9 bits, so that a symbol is its own code. Two words
 * are reserved ahead, as the decoder reads them ahead; the bytes of a length come behind those. */
struct encoder {
    uint8_t *out;
    size_t len, word[2];
    uint32_t bits;
    unsigned count;
};

static size_t reserve(struct encoder *e)
{
    e->len += 2;
    return e->len - 2;
}

static void put_word(struct encoder *e, uint16_t word)
{
    e->out[e->word[0]] = (uint8_t)word;
    e->out[e->word[0] + 1] = (uint8_t)(word >> 8);
}

static void begin_block(struct encoder *e)
{
    memset(e->out + e->len, 0x99, 256);
    e->len += 256;
    e->word[0] = reserve(e);
    e->word[1] = reserve(e);
    e->bits = e->count = 0;
}

static void put_bits(struct encoder *e, uint32_t value, unsigned n)
{
    e->bits = e->bits << n | value;
    e->count += n;
    if (e->count > 16) { /* the word is full and a bit of the next is there */
        e->count -= 16;
        put_word(e, (uint16_t)(e->bits >> e->count));
        e->word[0] = e->word[1];
        e->word[1] = reserve(e);
    }
}

static void end_block(struct encoder *e)
{
    put_word(e, (uint16_t)(e->bits << (16 - e->count)));
    memset(e->out + e->word[1], 0, 2);
}

static void put_match(struct encoder *e, uint32_t distance, uint32_t length)
{
    unsigned distance_bits = 31 - (unsigned)__builtin_clz(distance);
    uint32_t rest = length - 3, code = rest < 15 ? rest : 15;
    put_bits(e, 256 + distance_bits * 16 + code, 9);
    if (code == 15) {
        e->out[e->len++] = rest - 15 < 255 ? (uint8_t)(rest - 15) : 255;
        if (rest - 15 >= 255) {
            e->out[e->len++] = (uint8_t)rest;
            e->out[e->len++] = (uint8_t)(rest >> 8);
        }
    }
    put_bits(e, distance - (1u << distance_bits), distance_bits);
}

static void huffman_codes_go_on_past_a_block_and_a_long_match(void **state)
{
    size_t len = 200000;
    uint8_t *expected = malloc(len), *stream = calloc(1, 400000);
    assert_true(expected && stream);
    struct encoder e = {.out = stream};
    size_t pos = 0, end = 0;
    uint32_t random = 1;
    while (pos < len) {
        if (pos >= end) {
            if (pos)
                end_block(&e);
            begin_block(&e);
            end = pos + 65536;
        }
        random = random * 1103515245 + 12345;
        uint32_t lengths[] = {3, 17, 18, 19, 272, 273, 300, 5000};
        uint32_t n = lengths[random >> 16 & 7], distance = 1 + (random >> 8) % 60000;
        if (pos < 64 || random >> 29 || distance > pos || pos + n > len) {
            expected[pos++] = (uint8_t)(random >> 20);
            put_bits(&e, expected[pos - 1], 9);
            continue;
        }
        put_match(&e, distance, n);
        for (; n; n--, pos++)
            expected[pos] = expected[pos - distance];
    }
    end_block(&e);
    uint8_t *got;
    assert_int_equal(inflate(SMB2_COMPRESSION_LZ77_HUFFMAN, stream, e.len, &got, len), 0);
    assert_memory_equal(got, expected, len);
    free(got);
    free(stream);
    free(expected);
}

/* Each chunk counts its distances anew, and may be stored as it was. */
static void lznt1_goes_on_past_a_chunk(void **state)
{
    uint8_t stream[64], expected[4096 + 26 + 4096];
    size_t n = 0;
    /* A literal, and it 4095 times more: with one byte put out, a length has 12 bits. */
    const uint8_t run[] = {0x03, 0xb0, 0x02, 'x', 0xfc, 0x0f};
    memcpy(stream, run, sizeof(run));
    n += sizeof(run);
    stream[n++] = 26 - 1, stream[n++] = 0x30; /* stored */
    memcpy(stream + n, letters, 26);
    n += 26;
    memcpy(stream + n, run, sizeof(run));
    n += sizeof(run);
    memset(expected, 'x', sizeof(expected));
    memcpy(expected + 4096, letters, 26);
    inflates_to(SMB2_COMPRESSION_LZNT1, stream, n, expected, sizeof(expected));
}

/* Lengths of plain LZ77 in each of their forms: three bits, a half byte twice, a byte, two, four.
 */
static void plain_lz77_has_lengths_of_every_size(void **state)
{
    static const uint8_t stream[] = {
        0xff, 0xff, 0xff, 0x7f, 'x',  /* one literal, matches from then on */
        0x06, 0x00,                   /* 6 + 3 */
        0x07, 0x00, 0x21,             /* 1 + 7 + 3 */
        0x07, 0x00,                   /* and the other half: 2 + 7 + 3 */
        0x07, 0x00, 0x0f, 0x04,       /* 4 + 15 + 7 + 3 */
        0x07, 0x00, 0xff, 0xe8, 0x03, /* half 0, which is used up: 7 + 3 */
    };
    /* The last match takes its half byte from the one before it, whose high half is 0. */
    size_t len = 1 + 9 + 11 + 12 + 29 + 10;
    uint8_t expected[128];
    memset(expected, 'x', sizeof(expected));
    uint8_t *got;
    assert_int_equal(inflate(SMB2_COMPRESSION_LZ77, stream, sizeof(stream), &got, len), 0);
    assert_memory_equal(got, expected, len);
    free(got);

    static const uint8_t two[] = {0xff, 0xff, 0xff, 0x7f, 'x', 0x07, 0, 0x0f, 0xff, 0xe8, 0x03};
    static const uint8_t four[] = {0xff, 0xff, 0xff, 0x7f, 'x',  0x07, 0, 0x0f,
                                   0xff, 0,    0,    0x70, 0x11, 1,    0};
    uint8_t *large = malloc(1 + 70000 + 3);
    assert_non_null(large);
    memset(large, 'x', 1 + 70000 + 3);
    inflates_to(SMB2_COMPRESSION_LZ77, two, sizeof(two), large, 1 + 1000 + 3);
    inflates_to(SMB2_COMPRESSION_LZ77, four, sizeof(four), large, 1 + 70000 + 3);
    free(large);
}

static void patterns_and_bytes_as_they_are_inflate(void **state)
{
    static const uint8_t pattern[] = {'x', 0, 0, 0, 100, 0, 0, 0};
    uint8_t expected[100], *got;
    memset(expected, 'x', sizeof(expected));
    inflates_to(SMB2_COMPRESSION_PATTERN_V1, pattern, sizeof(pattern), expected, 100);
    inflates_to(SMB2_COMPRESSION_NONE, letters, 26, letters, 26);
    assert_int_equal(inflate(SMB2_COMPRESSION_PATTERN_V1, pattern, 8, &got, 99), -EBADMSG);
    free(got);
    assert_int_equal(inflate(SMB2_COMPRESSION_LZ4, letters, 26, &got, 26), -EOPNOTSUPP);
    free(got);
    assert_int_equal(inflate(77, letters, 26, &got, 26), -EOPNOTSUPP);
    free(got);
}

/* ---- what nobody should have sent ---- */

static const struct {
    uint16_t algorithm;
    const uint8_t *in;
    size_t in_len, len;
} streams[] = {
    {SMB2_COMPRESSION_LZ77, letters_lz77, sizeof(letters_lz77) - 1, 26},
    {SMB2_COMPRESSION_LZ77, abc_lz77, sizeof(abc_lz77), 300},
    {SMB2_COMPRESSION_LZNT1, tune_lznt1, sizeof(tune_lznt1), sizeof(tune)},
};

static void a_stream_cut_anywhere_is_refused(void **state)
{
    uint8_t *got, stream[300];
    for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++)
        for (size_t n = 0; n < streams[i].in_len; n++) {
            assert_int_equal(inflate(streams[i].algorithm, streams[i].in, n, &got, streams[i].len),
                             -EBADMSG);
            free(got);
        }
    size_t len = abc_huffman(stream);
    for (size_t n = 0; n < len; n++) {
        assert_int_equal(inflate(SMB2_COMPRESSION_LZ77_HUFFMAN, stream, n, &got, 300), -EBADMSG);
        free(got);
    }
}

static void any_byte_changed_never_leads_outside(void **state)
{
    uint8_t copy[300], *got;
    for (size_t i = 0; i < 4; i++) {
        uint16_t algorithm = i < 3 ? streams[i].algorithm : SMB2_COMPRESSION_LZ77_HUFFMAN;
        size_t n = i < 3 ? streams[i].in_len : abc_huffman(copy),
               len = i < 3 ? streams[i].len : 300;
        if (i < 3)
            memcpy(copy, streams[i].in, n);
        for (size_t at = 0; at < n; at++)
            for (unsigned value = 0; value <= UINT8_MAX; value++) {
                uint8_t before = copy[at];
                copy[at] = (uint8_t)value;
                int r = inflate(algorithm, copy, n, &got, len);
                assert_true(r == 0 || r == -EBADMSG);
                free(got);
                copy[at] = before;
            }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_examples_of_plain_lz77_inflate),
        cmocka_unit_test(the_example_of_lznt1_inflates),
        cmocka_unit_test(the_example_of_lz77_with_huffman_codes_inflates),
        cmocka_unit_test(huffman_codes_go_on_past_a_block_and_a_long_match),
        cmocka_unit_test(lznt1_goes_on_past_a_chunk),
        cmocka_unit_test(plain_lz77_has_lengths_of_every_size),
        cmocka_unit_test(patterns_and_bytes_as_they_are_inflate),
        cmocka_unit_test(a_stream_cut_anywhere_is_refused),
        cmocka_unit_test(any_byte_changed_never_leads_outside),
    };
    return cmocka_run_group_tests_name("xca", tests, NULL, NULL);
}
