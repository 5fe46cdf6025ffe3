/* base/: names in two encodings, folding, statuses, error texts, the hash table, times. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/ntstatus.h"
#include "base/rd.h"
#include "base/utf.h"
#include "base/wr.h"

static void every_sequence_of_utf16_units_survives_the_way_there_and_back(void **state)
{
    uint64_t x = 88172645463325252ull;
    for (int round = 0; round < 200000; round++) {
        uint8_t in[16], back[16];
        char utf8[UTF8_MAX_FOR_UTF16(16)];
        size_t units = (size_t)round % 8 + 1;
        for (size_t i = 0; i < units; i++) {
            x = hash_u64(x + 1);
            /* every second unit out of the surrogates, or they would hardly ever meet */
            uint16_t unit = x & 1 ? (uint16_t)(0xd800 + (x >> 8) % 0x800) : (uint16_t)(x >> 16);
            in[2 * i] = (uint8_t)unit;
            in[2 * i + 1] = (uint8_t)(unit >> 8);
        }
        int n = utf16_to_utf8(in, 2 * units, utf8, sizeof utf8);
        assert_true(n > 0);
        assert_int_equal(utf8_to_utf16(utf8, (size_t)n, back, sizeof back), 2 * units);
        assert_memory_equal(in, back, 2 * units);
    }
}

static void bytes_that_are_no_utf8_are_refused(void **state)
{
    static const char *const bad[] = {"\x80",
                                      "\xc0\x80",
                                      "\xc3",
                                      "\xe0\x80\x80",
                                      "\xed\xa0",
                                      "\xf0\x80\x80\x80",
                                      "\xf4\x90\x80\x80",
                                      "\xf5\x80\x80\x80",
                                      "\xff",
                                      "a\xc3(",
                                      "\xe2\x82"};
    uint8_t out[64];
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(utf8_to_utf16(bad[i], strlen(bad[i]), out, sizeof out), -EILSEQ);
}

static void a_buffer_too_small_is_said_not_overrun(void **state)
{
    char out8[3];
    uint8_t out16[3];
    assert_int_equal(utf16_to_utf8((const uint8_t *)"a\0b\0c\0d\0", 8, out8, 3), -ENAMETOOLONG);
    assert_int_equal(utf16_to_utf8((const uint8_t *)"a\0b", 3, out8, 3), -EINVAL);
    assert_int_equal(utf8_to_utf16("ab", 2, out16, 3), -ENAMETOOLONG);
    assert_int_equal(utf8_to_utf16("\xf0\x9f\x98\x80", 4, out16, 3), -ENAMETOOLONG);
}

static bool fold_same(const char *a, const char *b)
{
    bool equal = utf8_fold_equal(a, strlen(a), b, strlen(b));
    if (equal)
        assert_int_equal(utf8_fold_hash(a, strlen(a), 7), utf8_fold_hash(b, strlen(b), 7));
    return equal;
}

static void names_fold_by_simple_upper_case_and_nothing_else(void **state)
{
    assert_true(fold_same("Module.PY", "mODULE.py"));
    assert_true(fold_same("\xc3\xa9t\xc3\xa9", "\xc3\x89T\xc3\x89")); /* e acute */
    assert_true(fold_same("\xce\xb1\xcf\x89", "\xce\x91\xce\xa9"));   /* alpha omega */
    assert_true(fold_same("\xd1\x8f", "\xd0\xaf"));                   /* ya */
    assert_true(fold_same("\xc4\xbe", "\xc4\xbd"));                   /* runs with a step of two */
    assert_false(fold_same("\xc3\x9f", "SS"));        /* sharp s is not two letters */
    assert_false(fold_same("\xc3\xa9", "e\xcc\x81")); /* composed, decomposed */
    assert_false(fold_same("a", "ab"));
    assert_false(fold_same("\xff", "\xfe")); /* invalid bytes are only themselves */
    assert_true(fold_same("\xff", "\xff"));
}

static void long_names_hash_like_their_folded_form(void **state)
{
    char lower[300], upper[300];
    memset(lower, 'x', 299);
    memset(upper, 'X', 299);
    lower[299] = upper[299] = 0;
    assert_true(fold_same(lower, upper));
    upper[298] = 'Y';
    assert_int_not_equal(utf8_fold_hash(lower, 299, 7), utf8_fold_hash(upper, 299, 7));
}

static void statuses_have_names_and_errnos(void **state)
{
    assert_string_equal(ntstatus_name(STATUS_OBJECT_NAME_NOT_FOUND),
                        "STATUS_OBJECT_NAME_NOT_FOUND");
    assert_string_equal(ntstatus_name(0), "STATUS_SUCCESS");
    assert_null(ntstatus_name(0xdeadbeef));
    assert_int_equal(ntstatus_errno(STATUS_OBJECT_NAME_NOT_FOUND), -ENOENT);
    assert_int_equal(ntstatus_errno(STATUS_BUFFER_OVERFLOW), 0);
    assert_int_equal(ntstatus_errno(0xc0123456), -EIO);
    assert_int_equal(ntstatus_errno(STATUS_DISK_FULL), -ENOSPC);
    assert_int_equal(ntstatus_errno(STATUS_QUOTA_EXCEEDED), -EDQUOT);
    assert_int_equal(ntstatus_errno(STATUS_MEDIA_WRITE_PROTECTED), -EROFS);
    assert_int_equal(ntstatus_errno(STATUS_DIRECTORY_NOT_EMPTY), -ENOTEMPTY);
    assert_int_equal(ntstatus_errno(STATUS_CANNOT_DELETE), -EACCES);
    assert_int_equal(ntstatus_errno(STATUS_LOCK_NOT_GRANTED), -EAGAIN);
    assert_int_equal(ntstatus_errno(STATUS_NOT_A_REPARSE_POINT), -EINVAL);
    assert_int_equal(ntstatus_errno(STATUS_TOO_MANY_LINKS), -EMLINK);
}

static void an_error_is_one_line_and_keeps_its_status_behind_a_long_path(void **state)
{
    struct error e;
    char path[2000];
    memset(path, 'p', sizeof path - 1);
    path[sizeof path - 1] = 0;
    assert_int_equal(error_status(&e, STATUS_ACCESS_DENIED, "open %s", path), -EACCES);
    assert_non_null(strstr(e.text, ": STATUS_ACCESS_DENIED (0xC0000022)"));
    assert_int_equal(e.status, STATUS_ACCESS_DENIED);
    error_set(&e, -EIO, 0, "two\nlines\x1b[31m");
    assert_string_equal(e.text, "two?lines?[31m");
    assert_int_equal(error_set(NULL, -EIO, 0, "nobody asks"), -EIO);
}

struct member {
    struct hash_node node;
    unsigned value;
};

static void the_hash_table_finds_what_is_in_it_and_nothing_else(void **state)
{
    enum { N = 5000 };
    struct member *members = calloc(N, sizeof *members);
    struct hash h;
    hash_init(&h);
    for (unsigned i = 0; i < N; i++) {
        members[i].value = i;
        /* a third of the hashes collide in full */
        assert_int_equal(hash_add(&h, &members[i].node, hash_u64(i % 3 ? i : i / 30)), 0);
    }
    for (unsigned i = 0; i < N; i += 2)
        hash_del(&h, &members[i].node);
    unsigned seen = 0;
    for (struct hash_node *n = hash_each(&h, NULL); n; n = hash_each(&h, n))
        seen++;
    assert_int_equal(seen, N / 2);
    assert_int_equal(h.count, N / 2);
    for (unsigned i = 0; i < N; i++) {
        bool found = false;
        for (struct hash_node *n = hash_first(&h, hash_u64(i % 3 ? i : i / 30)); n;
             n = hash_next(n))
            found |= container_of(n, struct member, node)->value == i;
        assert_int_equal(found, i % 2);
    }
    hash_done(&h);
    free(members);
}

static void siphash_gives_its_published_shape(void **state)
{
    /* no vectors are published for SipHash-1-3 keyed this way: what is asked for is that seeds,
     * lengths and single bits all matter */
    uint8_t data[33] = {0};
    uint64_t first = hash_bytes(data, 32, 1);
    assert_int_not_equal(first, hash_bytes(data, 32, 2));
    assert_int_not_equal(first, hash_bytes(data, 33, 1));
    for (unsigned bit = 0; bit < 256; bit++) {
        data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_not_equal(first, hash_bytes(data, 32, 1));
        data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

static void filetimes_are_exact_to_100_ns_also_before_1970(void **state)
{
    struct timespec t = filetime_to_timespec(116444736000000000ull);
    assert_int_equal(t.tv_sec, 0);
    t = filetime_to_timespec(116444736000000000ull - 1);
    assert_int_equal(t.tv_sec, -1);
    assert_int_equal(t.tv_nsec, 999999900);
    for (uint64_t ft = 1; ft < 1ull << 62; ft = ft * 3 + 7)
        assert_int_equal(timespec_to_filetime(filetime_to_timespec(ft)), ft);
}

static void a_cursor_goes_bad_at_its_end_and_stays_bad(void **state)
{
    static const uint8_t bytes[] = {1, 2, 3, 4, 5};
    struct rd r = rd_init(bytes, sizeof bytes);
    assert_int_equal(rd_u32(&r), 0x04030201);
    assert_int_equal(rd_u16(&r), 0);
    assert_false(rd_ok(&r));
    assert_int_equal(rd_u8(&r), 0);
    struct rd s = rd_init(bytes, sizeof bytes);
    struct rd sub = rd_sub(&s, 3, SIZE_MAX);
    assert_false(rd_ok(&sub));
    assert_false(rd_ok(&s));
    uint8_t out[3];
    struct wr w = wr_init(out, sizeof out);
    wr_u16(&w, 1);
    wr_u16(&w, 2);
    assert_false(wr_ok(&w));
    assert_int_equal(w.pos, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sequence_of_utf16_units_survives_the_way_there_and_back),
        cmocka_unit_test(bytes_that_are_no_utf8_are_refused),
        cmocka_unit_test(a_buffer_too_small_is_said_not_overrun),
        cmocka_unit_test(names_fold_by_simple_upper_case_and_nothing_else),
        cmocka_unit_test(long_names_hash_like_their_folded_form),
        cmocka_unit_test(statuses_have_names_and_errnos),
        cmocka_unit_test(an_error_is_one_line_and_keeps_its_status_behind_a_long_path),
        cmocka_unit_test(the_hash_table_finds_what_is_in_it_and_nothing_else),
        cmocka_unit_test(siphash_gives_its_published_shape),
        cmocka_unit_test(filetimes_are_exact_to_100_ns_also_before_1970),
        cmocka_unit_test(a_cursor_goes_bad_at_its_end_and_stays_bad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
