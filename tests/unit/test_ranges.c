/*
 * The table of locks beside a naive one: an array of 256 bytes for each owner. Argument: how many
 * random operations (1,000,000), and a seed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "share/ranges.h"

enum { BYTES = 256, OWNERS = 5 };

static unsigned long operations = 1000000;
static unsigned seed = 1;

static struct share_lock lock(uint64_t owner, enum share_lock_type type, uint64_t start,
                              uint64_t end)
{
    return (struct share_lock){
        .owner = owner, .pid = (pid_t)(1000 + owner), .type = type, .start = start, .end = end};
}

static void set(struct ranges *t, struct share_lock change)
{
    struct ranges after;
    assert_int_equal(ranges_with(t, &change, &after), 0);
    ranges_done(t);
    *t = after;
}

/* "owner:type:start-end" of each range, in order. */
static void expect(const struct ranges *t, const char *text)
{
    char out[1024] = "";
    size_t at = 0;
    for (size_t i = 0; i < t->count; i++)
        at += (size_t)snprintf(out + at, sizeof out - at, "%s%llu%c%llu-%llu", i ? " " : "",
                               (unsigned long long)t->items[i].owner,
                               t->items[i].type == SHARE_LOCK_EXCLUSIVE ? 'x' : 's',
                               (unsigned long long)t->items[i].start,
                               (unsigned long long)t->items[i].end);
    assert_string_equal(out, text);
}

static void ranges_split_and_merge_within_an_owner(void **state)
{
    struct ranges t = {0};
    set(&t, lock(1, SHARE_LOCK_SHARED, 10, 19));
    set(&t, lock(1, SHARE_LOCK_SHARED, 20, 29));
    expect(&t, "1s10-29");
    set(&t, lock(2, SHARE_LOCK_SHARED, 0, 99));
    expect(&t, "2s0-99 1s10-29");
    set(&t, lock(1, SHARE_LOCK_EXCLUSIVE, 15, 17));
    expect(&t, "2s0-99 1s10-14 1x15-17 1s18-29");
    set(&t, lock(1, SHARE_LOCK_SHARED, 17, 17));
    expect(&t, "2s0-99 1s10-14 1x15-16 1s17-29");
    set(&t, lock(1, SHARE_UNLOCK, 12, 20));
    expect(&t, "2s0-99 1s10-11 1s21-29");
    set(&t, lock(1, SHARE_LOCK_SHARED, 12, 20));
    expect(&t, "2s0-99 1s10-29");
    set(&t, lock(2, SHARE_UNLOCK, 0, UINT64_MAX));
    expect(&t, "1s10-29");
    ranges_done(&t);
}

static void ranges_reach_to_the_last_byte(void **state)
{
    struct ranges t = {0};
    set(&t, lock(1, SHARE_LOCK_EXCLUSIVE, 0, UINT64_MAX));
    set(&t, lock(1, SHARE_UNLOCK, UINT64_MAX, UINT64_MAX));
    expect(&t, "1x0-18446744073709551614");
    set(&t, lock(1, SHARE_LOCK_EXCLUSIVE, UINT64_MAX, UINT64_MAX));
    expect(&t, "1x0-18446744073709551615");
    set(&t, lock(1, SHARE_UNLOCK, 0, 0));
    expect(&t, "1x1-18446744073709551615");
    struct share_lock wanted = lock(2, SHARE_LOCK_SHARED, UINT64_MAX, UINT64_MAX);
    assert_non_null(ranges_conflict(&t, &wanted));
    wanted = lock(2, SHARE_LOCK_EXCLUSIVE, 0, 0);
    assert_null(ranges_conflict(&t, &wanted));
    ranges_done(&t);
}

static void a_range_that_ends_before_it_starts_is_refused(void **state)
{
    struct ranges t = {0}, after;
    struct share_lock bad = lock(1, SHARE_LOCK_SHARED, 5, 4);
    assert_int_equal(ranges_with(&t, &bad, &after), -EINVAL);
}

static void a_table_has_a_bound_that_an_unlock_can_always_get_below(void **state)
{
    struct ranges t = {.items = malloc(RANGES_MAX * sizeof *t.items), .count = RANGES_MAX};
    for (size_t i = 0; i < t.count; i++)
        t.items[i] = lock(1, SHARE_LOCK_SHARED, 10 * i, 10 * i + 4);
    struct ranges after;
    struct share_lock change = lock(1, SHARE_LOCK_SHARED, 7, 7);
    assert_int_equal(ranges_with(&t, &change, &after), -ENOLCK);
    change = lock(1, SHARE_UNLOCK, 2, 2);
    assert_int_equal(ranges_with(&t, &change, &after), -ENOLCK);
    change = lock(1, SHARE_LOCK_SHARED, 3, 11); /* joins two */
    assert_int_equal(ranges_with(&t, &change, &after), 0);
    ranges_done(&after);
    set(&t, lock(1, SHARE_UNLOCK, 0, 4));
    assert_int_equal(t.count, RANGES_MAX - 1);
    ranges_done(&t);
}

/* ---- beside the oracle ---- */

static unsigned char oracle[OWNERS][BYTES];

static uint64_t draw(uint64_t below)
{
    static uint64_t x;
    if (!x)
        x = seed * 0x9e3779b97f4a7c15ull;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return x % below;
}

/* Byte 255 stands for all from there on. */
static uint64_t end_of(uint64_t byte)
{
    return byte == BYTES - 1 ? UINT64_MAX : byte;
}

static struct share_lock draw_change(void)
{
    uint64_t start = draw(BYTES), len = draw(4) ? draw(24) : draw(BYTES);
    uint64_t end = start + len < BYTES ? start + len : BYTES - 1;
    return lock(draw(OWNERS), (enum share_lock_type)draw(3), start, end);
}

/* The first byte on which somebody else's lock stands against `c`; BYTES: none. */
static size_t oracle_conflict(const struct share_lock *c)
{
    for (size_t b = c->start; c->type != SHARE_UNLOCK && b <= c->end; b++)
        for (unsigned o = 0; o < OWNERS; o++)
            if (o != c->owner && (oracle[o][b] == SHARE_LOCK_EXCLUSIVE ||
                                  (oracle[o][b] && c->type == SHARE_LOCK_EXCLUSIVE)))
                return b;
    return BYTES;
}

/* The table says what the oracle says, in as few ranges as can be, by start. */
static void compare_tables(const struct ranges *t)
{
    unsigned char seen[OWNERS][BYTES] = {{0}};
    size_t ranges = 0;
    for (size_t i = 0; i < t->count; i++) {
        const struct share_lock *r = &t->items[i];
        assert_true(i == 0 || t->items[i - 1].start <= r->start);
        assert_true(r->start <= r->end && r->owner < OWNERS);
        for (size_t b = r->start; b < BYTES && b <= r->end; b++) {
            assert_int_equal(seen[r->owner][b], 0);
            seen[r->owner][b] = (unsigned char)r->type;
        }
    }
    assert_memory_equal(seen, oracle, sizeof oracle);
    for (unsigned o = 0; o < OWNERS; o++)
        for (size_t b = 0; b < BYTES; b++)
            ranges += oracle[o][b] && (b == 0 || oracle[o][b] != oracle[o][b - 1]);
    assert_int_equal(t->count, ranges);
}

static void compare_union(const struct ranges *t)
{
    struct ranges u;
    unsigned char seen[BYTES] = {0}, strongest[BYTES] = {0};
    assert_int_equal(ranges_union(t, &u), 0);
    size_t at = 0;
    for (size_t b = 0; b < BYTES; b++) {
        for (unsigned o = 0; o < OWNERS; o++)
            strongest[b] = oracle[o][b] > strongest[b] ? oracle[o][b] : strongest[b];
        while (at < u.count && u.items[at].end < b)
            at++;
        if (at < u.count && u.items[at].start <= b)
            seen[b] = (unsigned char)u.items[at].type;
    }
    assert_memory_equal(seen, strongest, sizeof seen);
    ranges_done(&u);
}

/* What it holds exclusively stays so, all else of the range is as asked. */
static void compare_raised(const struct ranges *t, const struct share_lock *c)
{
    struct ranges raised;
    assert_int_equal(ranges_raised(t, c, &raised), 0);
    for (size_t i = 0; i < raised.count; i++) {
        const struct share_lock *r = &raised.items[i];
        for (size_t b = r->start; r->owner == c->owner && b < BYTES && b <= r->end; b++) {
            unsigned char was = oracle[r->owner][b];
            bool within = b >= c->start && b <= c->end;
            assert_int_equal(r->type, within && c->type > was ? c->type : was);
        }
    }
    ranges_done(&raised);
}

static void step(struct ranges *t)
{
    struct share_lock c = draw_change();
    size_t against = oracle_conflict(&c);
    c.end = end_of(c.end);
    const struct share_lock *found = ranges_conflict(t, &c);
    assert_int_equal(found != NULL, against < BYTES);
    if (found) {
        assert_true(found->start <= against && found->end >= against && found->owner != c.owner);
        assert_int_equal(found->pid, 1000 + found->owner);
        return;
    }
    if (c.type != SHARE_UNLOCK)
        compare_raised(t, &c);
    set(t, c);
    for (size_t b = c.start; b < BYTES && b <= c.end; b++)
        oracle[c.owner][b] = (unsigned char)c.type;
    if (draw(64) == 0) {
        uint64_t owner = draw(OWNERS);
        bool had = ranges_has_owner(t, owner);
        assert_int_equal(ranges_drop_owner(t, owner), had);
        assert_false(ranges_has_owner(t, owner));
        memset(oracle[owner], 0, BYTES);
    }
    if (draw(64) == 0) {
        uint64_t start = draw(BYTES), end = start + draw(BYTES - start);
        assert_int_equal(ranges_cut(t, start, end_of(end)), 0);
        for (unsigned o = 0; o < OWNERS; o++)
            memset(&oracle[o][start], 0, end - start + 1);
    }
}

static void the_table_says_what_a_naive_one_says(void **state)
{
    struct ranges t = {0};
    for (unsigned long i = 0; i < operations; i++) {
        step(&t);
        compare_tables(&t);
        if (i % 8 == 0)
            compare_union(&t);
    }
    ranges_done(&t);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        operations = strtoul(argv[1], NULL, 10);
    if (argc > 2)
        seed = (unsigned)strtoul(argv[2], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_split_and_merge_within_an_owner),
        cmocka_unit_test(ranges_reach_to_the_last_byte),
        cmocka_unit_test(a_range_that_ends_before_it_starts_is_refused),
        cmocka_unit_test(a_table_has_a_bound_that_an_unlock_can_always_get_below),
        cmocka_unit_test(the_table_says_what_a_naive_one_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
