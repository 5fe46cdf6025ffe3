/* What the tests of wire/'s messages share: samples as bytes and as messages. */
#ifndef LARDER_TESTS_WIRE_BYTES_H
#define LARDER_TESTS_WIRE_BYTES_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/ntstatus.h"
#include "fuzz/roundtrip.h"
#include "fuzz/same.h"
#include "fuzz/samples.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static inline size_t encode_sample(const struct sample *s, uint8_t *buf, size_t cap)
{
    struct wr w = wr_init(buf, cap);
    sample_encode(&w, s);
    assert_true(wr_ok(&w));
    return w.pos;
}

static inline size_t encode_compound(uint8_t *buf, size_t cap)
{
    const struct sample *elements[] = {sample_find("create"), sample_find("query_info"),
                                       sample_find("close")};
    struct wr w = wr_init(buf, cap);
    sample_encode_compound(&w, elements, COUNT(elements));
    assert_true(wr_ok(&w));
    return w.pos;
}

/* A message from its start, positioned after its header, which has to be good. */
static inline struct rd message(const uint8_t *data, size_t len)
{
    struct rd msg = rd_init(data, len);
    struct wire_header h;
    assert_int_equal(wire_header_decode(&msg, &h), 0);
    return msg;
}

static inline struct wr header_for(uint8_t *buf, size_t cap)
{
    struct wr w = wr_init(buf, cap);
    wire_header_encode(&w, &(struct wire_header){0});
    return w;
}

/* `expected` is what the sample says, encoded by the sample's own row in the table. */
#define COMES_BACK(sample_name, message_type, expected)                                            \
    do {                                                                                           \
        uint8_t encoded[2048];                                                                     \
        struct wire_##message_type m;                                                              \
        size_t len = encode_sample(sample_find(sample_name), encoded, sizeof(encoded));            \
        assert_int_equal(wire_##message_type##_decode(message(encoded, len), &m), 0);              \
        assert_true(same_##message_type(&m, &(expected)));                                         \
    } while (0)

#endif
