/* Wildcards of the tools: what matches, in any case, whatever the bytes of a character; and the
 * names of partial files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/clock.h"
#include "cli/glob.h"
#include "cli/part.h"

static bool matches(const char *pattern, const char *name)
{
    return glob_match(pattern, strlen(pattern), name);
}

static void patterns_match_names_as_servers_compare_them(void **state)
{
    static const struct {
        const char *pattern, *name;
        bool match;
    } cases[] = {
        {"a", "a", true},
        {"a", "A", true},
        {"a", "b", false},
        {"", "", true},
        {"", "a", false},
        {"*", "", true},
        {"*", ".hidden", true},
        {"*.txt", "a.txt", true},
        {"*.txt", "A.TXT", true},
        {"*.txt", "a.txt.bak", false},
        {"a*b*c", "aXbXbXc", true},
        {"a*b*c", "aXbXbX", false},
        {"**a**", "bab", true},
        {"?", "", false},
        {"?", "\xc3\xa9", true}, /* é is one character */
        {"??", "\xc3\xa9", false},
        {"?", "\xf0\x9f\x98\x80", true},
        {"?", "\xff", true}, /* and so is a byte that is none */
        {"caf\xc3\x89", "CAF\xc3\xa9", true},
        {"[abc]", "B", true},
        {"[a-c]", "d", false},
        {"[a-c]x", "bx", true},
        {"[!a-c]", "d", true},
        {"[^a-c]", "A", false},
        {"[]]", "]", true},
        {"[]-]", "-", true},
        {"[!]]", "]", false},
        {"[a-]", "-", true},
        {"[\\]]", "]", true},
        {"[\\a-\\c]", "b", true},
        {"[\xc3\xa0-\xc3\xbc]", "\xc3\x89", true}, /* [à-ü] has É */
        {"[", "[", true},                          /* never closed: itself */
        {"a[b", "a[b", true},
        {"[!", "[!", true},
        {"\\*", "*", true},
        {"\\*", "a", false},
        {"\\[a\\]", "[A]", true},
        {"a\\", "a\\", true}, /* nothing to take: itself */
        {"*\\*", "ab*", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (matches(cases[i].pattern, cases[i].name) != cases[i].match)
            fail_msg("%s and %s: not %d", cases[i].pattern, cases[i].name, cases[i].match);
}

static void no_pattern_takes_long(void **state)
{
    char pattern[801], name[1001];
    for (size_t i = 0; i < 800; i += 2)
        memcpy(pattern + i, "*a", 2);
    pattern[799] = 'b';
    pattern[800] = 0;
    memset(name, 'a', 1000);
    name[1000] = 0;
    uint64_t begun = clock_now();
    assert_false(matches(pattern, name));
    assert_true(clock_now() - begun < NS_PER_SEC);
}

static void assert_text(char *got, const char *want)
{
    assert_string_equal(got, want);
    free(got);
}

static void paths_lose_backslashes_and_needless_slashes(void **state)
{
    assert_text(glob_literal(""), "");
    assert_text(glob_literal("/"), "");
    assert_text(glob_literal("//a//b/"), "a/b");
    assert_text(glob_literal("a\\*b/\\[c\\]"), "a*b/[c]");
    assert_text(glob_literal("a\\\\b"), "a\\b");
    assert_text(glob_literal("end\\"), "end\\");
    assert_text(glob_target("a/b/"), "a/b/");
    assert_text(glob_target("/"), "");
    assert_text(glob_target("a"), "a");
    assert_true(glob_has_wildcard("a/b?"));
    assert_true(glob_has_wildcard("a[/b"));
    assert_false(glob_has_wildcard("a\\*/\\?\\["));
}

static void a_part_is_known_by_its_source(void **state)
{
    struct larder_stat st = {.size = 10, .written = {.tv_sec = 1, .tv_nsec = 500}};
    char *first = part_name("dir/name", "from", &st), *same = part_name("dir/name", "from", &st);
    assert_string_equal(first, same);
    assert_int_equal(strncmp(first, "dir/name.", 9), 0);
    assert_string_equal(first + strlen(first) - 5, ".part");
    free(same);
    const struct larder_stat other[] = {{.size = 11, .written = st.written},
                                        {.size = 10, .written = {.tv_sec = 1, .tv_nsec = 600}},
                                        {.size = 10, .written = {.tv_sec = 2, .tv_nsec = 500}}};
    for (size_t i = 0; i < 3; i++) {
        char *changed = part_name("dir/name", "from", &other[i]);
        assert_string_not_equal(first, changed);
        free(changed);
    }
    char *elsewhere = part_name("dir/name", "from2", &st);
    assert_string_not_equal(first, elsewhere);
    free(elsewhere);
    free(first);
    char *once = part_name_once("x"), *again = part_name_once("x");
    assert_string_not_equal(once, again);
    free(once);
    free(again);
}

static void the_part_of_a_long_name_is_a_name(void **state)
{
    const struct larder_stat st = {.size = 1};
    char name[256];
    for (size_t i = 0; i < 254; i += 2)
        memcpy(name + i, "\xc3\xa9", 2);
    name[254] = 'x';
    name[255] = 0;
    char *part = part_name(name, "from", &st);
    assert_true(strlen(part) <= 255);
    const char *tail = strchr(part, '.');
    assert_int_equal((tail - part) % 2, 0); /* no character is cut in two */
    name[254] = 'y';
    char *other = part_name(name, "from", &st);
    assert_string_not_equal(part, other); /* what was cut off still counts */
    free(other);
    free(part);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_match_names_as_servers_compare_them),
        cmocka_unit_test(no_pattern_takes_long),
        cmocka_unit_test(paths_lose_backslashes_and_needless_slashes),
        cmocka_unit_test(a_part_is_known_by_its_source),
        cmocka_unit_test(the_part_of_a_long_name_is_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
