/*
 * client/names.c: names with reserved characters go out and come back, every name that a server may
 * list leads back to itself, and nothing that could not be a name ever comes in.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/utf.h"
#include "client/operation.h"

static struct client mapping = {.host = "host", .share = "share", .map_names = true};
static struct client plain = {.host = "host", .share = "share"};

static int path_out(struct client *c, const char *path, struct wire_path *ret)
{
    const struct operation op = {c, "stat", path, NULL};
    return wire_path_init(&op, path, ret);
}

#define GOES_OUT_AS(client, path, literal)                                                         \
    do {                                                                                           \
        struct wire_path gone;                                                                     \
        assert_int_equal(path_out(client, path, &gone), 0);                                        \
        assert_int_equal(gone.name.len, sizeof(literal) - 2);                                      \
        assert_memory_equal(gone.name.base, literal, gone.name.len);                               \
        wire_path_done(&gone);                                                                     \
    } while (0)

#define COMES_IN_AS(map, literal, text)                                                            \
    do {                                                                                           \
        const struct rd in = rd_init(literal, sizeof(literal) - 2);                                \
        char name[CLIENT_NAME_MAX];                                                                \
        assert_int_equal(name_from_wire(map, &in, name), strlen(text));                            \
        assert_string_equal(name, text);                                                           \
    } while (0)

static void reserved_characters_travel_as_private_ones(void **state)
{
    GOES_OUT_AS(&mapping, "a:b/c?",
                u"a\xf022"
                u"b\\c\xf025");
    GOES_OUT_AS(&mapping, "\"*:<>?\\|", u"\xf020\xf021\xf022\xf023\xf024\xf025\xf026\xf027");
    GOES_OUT_AS(&mapping, "dir /file.", u"dir\xf028\\file\xf029");
    GOES_OUT_AS(&mapping, ". ./ x/.x", u". \xf029\\ x\\.x");
    GOES_OUT_AS(&mapping, "\x01/\x1f", u"\xf001\\\xf01f");
    GOES_OUT_AS(&mapping, "../.", u"..\\.");
    GOES_OUT_AS(&mapping, "/a//b/", u"\\a\\\\b\\");
    GOES_OUT_AS(&mapping, "\xf0\x9f\x98\x80:", u"\xd83d\xde00\xf022");
    GOES_OUT_AS(&plain, "a:b/c. ", u"a:b\\c. ");
    COMES_IN_AS(true,
                u"a\xf022"
                u"b\xf029",
                "a:b.");
    COMES_IN_AS(true, u"\xf020\xf021\xf022\xf023\xf024\xf025\xf026\xf027", "\"*:<>?\\|");
    COMES_IN_AS(true, u"\xf001\xf01f\xf028", "\x01\x1f ");
    COMES_IN_AS(false,
                u"a\xf022"
                u"b\xf029",
                "a\uf022b\uf029");
}

static void what_the_mapping_would_not_have_made_stays(void **state)
{
    COMES_IN_AS(true,
                u"a\xf028"
                u"b",
                "a\uf028b");
    COMES_IN_AS(true,
                u"\xf029"
                u"b",
                "\uf029b");
    COMES_IN_AS(true, u"\xf029", "\uf029");
    COMES_IN_AS(true, u".\xf029", ".\uf029");
    COMES_IN_AS(true, u"\xf029\xf029", "\uf029.");
    COMES_IN_AS(true, u"\xf000\xf02a\xf02f\xf05c", "\uf000\uf02a\uf02f\uf05c");
}

static uint32_t next(uint32_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 17;
    return *x ^= *x << 5;
}

/* A name as servers may have it, mostly of characters that matter here. */
static size_t random_name(uint32_t *seed, uint16_t *out, size_t most)
{
    static const uint16_t some[] = {'.',    ' ',    'a',    'B',    0xe9,
                                    0xd83d, 0xde00, 0xf000, 0xffff, 0x20ac};
    size_t units = 1 + next(seed) % most;
    for (size_t i = 0; i < units; i++) {
        uint32_t r = next(seed);
        bool private = r % 3 == 0;
        out[i] = private ? (uint16_t)(0xf000 + (r >> 8) % 0x30)
                         : some[(r >> 8) % (sizeof(some) / sizeof(some[0]))];
    }
    return units;
}

/* A last space or period of the server's own is the one thing that cannot be asked for. */
static bool can_be_asked_for(const uint16_t *name, size_t units)
{
    return name[units - 1] != '.' && name[units - 1] != ' ';
}

static void every_name_that_a_server_lists_leads_back_to_it(void **state)
{
    uint32_t seed = 1;
    unsigned tried = 0;
    for (unsigned i = 0; i < 300000; i++) {
        uint16_t units[255];
        char name[CLIENT_NAME_MAX];
        struct wire_path out;
        size_t n = random_name(&seed, units, i % 100 ? 6 : 255);
        const struct rd in = rd_init(units, 2 * n);
        int len = name_from_wire(true, &in, name);
        if (len < 0 || !can_be_asked_for(units, n))
            continue;
        tried++;
        assert_null(memchr(name, '/', (size_t)len));
        assert_null(memchr(name, 0, (size_t)len));
        assert_true(strcmp(name, ".") != 0 && strcmp(name, "..") != 0);
        assert_int_equal(path_out(&mapping, name, &out), 0);
        assert_int_equal(out.name.len, in.len);
        assert_memory_equal(out.name.base, in.base, in.len);
        wire_path_done(&out);
    }
    assert_true(tried > 100000);
}

/* Without private-use characters of one's own. */
static void every_name_that_is_made_here_comes_back(void **state)
{
    static const char some[] = "ab.. \"*:<>?\\|\x01\x1f\x7f";
    uint32_t seed = 2;
    for (unsigned i = 0; i < 200000; i++) {
        char name[32], back[CLIENT_NAME_MAX];
        size_t n = 1 + next(&seed) % 6;
        for (size_t k = 0; k < n; k++)
            name[k] = some[(next(&seed) >> 8) % (sizeof(some) - 1)];
        name[n] = 0;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            continue;
        struct wire_path out;
        assert_int_equal(path_out(&mapping, name, &out), 0);
        for (size_t k = 0; k < out.name.len; k += 2)
            assert_false(out.name.base[k + 1] == 0 && out.name.base[k] != 0x7f &&
                         (out.name.base[k] < 0x20 || strchr("\"*:<>?\\|", out.name.base[k])));
        assert_int_equal(name_from_wire(true, &out.name, back), n);
        assert_string_equal(back, name);
        wire_path_done(&out);
    }
}

static void what_can_be_no_name_is_refused(void **state)
{
    static const struct rd names[] = {
        {.base = (const uint8_t *)u"a/b", .len = 6},
        {.base = (const uint8_t *)u"a\\b", .len = 6},
        {.base = (const uint8_t *)u"a\0b", .len = 6},
        {.base = (const uint8_t *)u".", .len = 2},
        {.base = (const uint8_t *)u"..", .len = 4},
        {.base = (const uint8_t *)u"odd", .len = 5},
        {.base = (const uint8_t *)u"nothing", .len = 0},
    };
    char name[CLIENT_NAME_MAX] = "untouched";
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_true(name_from_wire(true, &names[i], name) < 0);
        assert_true(name_from_wire(false, &names[i], name) < 0);
    }
    uint8_t many[512] = {0};
    for (size_t i = 0; i < sizeof(many); i += 2)
        many[i] = 'x';
    const struct rd longest = rd_init(many, 510), too_long = rd_init(many, 512);
    assert_int_equal(name_from_wire(true, &longest, name), 255);
    assert_true(name_from_wire(true, &too_long, name) < 0);
}

static void a_pattern_is_everything_or_one_name(void **state)
{
    const struct operation op = {&mapping, "list", "", NULL};
    struct wire_path out;
    assert_int_equal(wire_pattern_init(&op, "*", &out), 0);
    assert_memory_equal(out.name.base, u"*", 2);
    wire_path_done(&out);
    assert_int_equal(wire_pattern_init(&op, "*.c", &out), 0);
    assert_memory_equal(out.name.base, u"\xf021.c", 6);
    wire_path_done(&out);
}

static void a_separator_in_a_name_needs_the_mapping(void **state)
{
    struct error err;
    struct wire_path out;
    const struct operation look = {&plain, "stat", "a\\b", &err};
    const struct operation make = {&plain, "make", "a\\b", &err, true};
    assert_int_equal(wire_path_init(&look, "a\\b", &out), -ENOENT);
    wire_path_done(&out);
    assert_int_equal(wire_path_init(&make, "a\\b", &out), -EINVAL);
    wire_path_done(&out);
    assert_int_equal(err.code, -EINVAL);
    GOES_OUT_AS(&mapping, "a\\b",
                u"a\xf026"
                u"b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reserved_characters_travel_as_private_ones),
        cmocka_unit_test(what_the_mapping_would_not_have_made_stays),
        cmocka_unit_test(every_name_that_a_server_lists_leads_back_to_it),
        cmocka_unit_test(every_name_that_is_made_here_comes_back),
        cmocka_unit_test(what_can_be_no_name_is_refused),
        cmocka_unit_test(a_pattern_is_everything_or_one_name),
        cmocka_unit_test(a_separator_in_a_name_needs_the_mapping),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
