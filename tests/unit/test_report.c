/* Tables and the spelling of numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"

static void counts_have_thousands_apart(void **state)
{
    char b[REPORT_NUMBER];
    assert_string_equal(report_count(b, 0), "0");
    assert_string_equal(report_count(b, 999), "999");
    assert_string_equal(report_count(b, 1000), "1,000");
    assert_string_equal(report_count(b, 227796), "227,796");
    assert_string_equal(report_count(b, UINT64_MAX), "18,446,744,073,709,551,615");
}

static void decimals_are_rounded_and_signed(void **state)
{
    char b[REPORT_NUMBER];
    assert_string_equal(report_decimal(b, 1185.523, 2), "1,185.52");
    assert_string_equal(report_decimal(b, 87.1, 2), "87.10");
    assert_string_equal(report_decimal(b, 999.999, 1), "1,000.0");
    assert_string_equal(report_decimal(b, -1234.5, 1), "-1,234.5");
    assert_string_equal(report_decimal(b, -0.001, 2), "0.00");
    assert_string_equal(report_decimal(b, 1234567, 0), "1,234,567");
    assert_string_equal(report_decimal(b, NAN, 2), "-");
    assert_string_equal(report_decimal(b, INFINITY, 2), "-");
    assert_string_equal(report_decimal(b, 999999999999999999.0, 9), "-"); /* 1e18 as a double */
    assert_string_equal(report_decimal(b, 1e17, 9), "100,000,000,000,000,000.000000000");
}

static void ratios_are_spelled_as_in_the_report(void **state)
{
    char b[REPORT_NUMBER];
    assert_string_equal(report_ratio(b, 80, 26), "3.1x");
    assert_string_equal(report_ratio(b, 227796, 12544), "18.2x");
    assert_string_equal(report_ratio(b, 107382, 1128), "95.2x");
    assert_string_equal(report_ratio(b, 570, 586), "0.97x");
    assert_string_equal(report_ratio(b, 5, 5), "1.0x");
    assert_string_equal(report_ratio(b, 999, 1000), "1.0x");
    assert_string_equal(report_ratio(b, 994, 1000), "0.99x");
    assert_string_equal(report_ratio(b, 0, 10), "0.00x");
    assert_string_equal(report_ratio(b, 12345, 1), "12,345.0x");
    assert_string_equal(report_ratio(b, 10, 0), "-");
    assert_string_equal(report_ratio(b, 0, 0), "-");
    assert_string_equal(report_ratio(b, NAN, 1), "-");
}

static void widths_are_those_of_a_terminal(void **state)
{
    assert_int_equal(report_width("abc"), 3);
    assert_int_equal(report_width("\xc3\xa4"
                                  "b"),
                     2); /* a with diaeresis, one character */
    assert_int_equal(report_width("a\xcc\x88"
                                  "b"),
                     2);                                   /* the same composed of two */
    assert_int_equal(report_width("\xe6\x97\xa5"), 2);     /* wide */
    assert_int_equal(report_width("\xf0\x9f\x98\x80"), 2); /* wide, outside the BMP */
    assert_int_equal(report_width("\xff\xfe"), 2);         /* no UTF-8: one a byte */
    assert_int_equal(report_width("a\xe6\x97"), 3);        /* cut off */
}

static char *printed(const struct report_table *t, enum report_format format)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    assert_int_equal(report_print(t, out, format), 0);
    fclose(out);
    return text;
}

static struct report_table *sample(void)
{
    struct report_table *t = report_table_new();
    report_column(t, REPORT_LEFT, "metric");
    report_column(t, REPORT_RIGHT, "23h2");
    report_column(t, REPORT_LEFT, "note");
    report_row(t);
    report_cell(t, "CREATE");
    report_cell(t, "%d", 3278);
    report_cell(t, "a|b");
    report_row(t);
    report_cell(t, "\xe6\x97\xa5\xcc\x88");
    report_row(t);
    report_cell(t, "tab\tline\n");
    report_cell(t, "1");
    report_cell(t, "x");
    report_cell(t, "a cell too many");
    return t;
}

static void text_columns_are_aligned(void **state)
{
    struct report_table *t = sample();
    char *text = printed(t, REPORT_TEXT);
    assert_string_equal(text, "metric     23h2  note\n"
                              "---------  ----  ----\n"
                              "CREATE     3278  a|b\n"
                              "\xe6\x97\xa5\xcc\x88               \n"
                              "tab?line?     1  x\n");
    free(text);
    report_table_free(t);
}

static void markdown_columns_are_aligned_and_pipes_escaped(void **state)
{
    struct report_table *t = sample();
    char *text = printed(t, REPORT_MARKDOWN);
    assert_string_equal(text, "| metric    | 23h2 | note |\n"
                              "|-----------|-----:|------|\n"
                              "| CREATE    | 3278 | a\\|b |\n"
                              "| \xe6\x97\xa5\xcc\x88        |      |      |\n"
                              "| tab?line? |    1 | x    |\n");
    free(text);
    report_table_free(t);
}

static void many_rows_are_kept(void **state)
{
    struct report_table *t = report_table_new();
    report_column(t, REPORT_RIGHT, "n");
    for (int i = 0; i < 1000; i++) {
        report_row(t);
        report_cell(t, "%d", i);
    }
    char *text = printed(t, REPORT_TEXT);
    assert_non_null(strstr(text, "\n999\n"));
    assert_int_equal(strlen(text), 4 * 1002);
    free(text);
    report_table_free(t);
}

static void a_full_disk_is_told(void **state)
{
    struct report_table *t = sample();
    FILE *out = fopen("/dev/full", "w");
    setbuf(out, NULL);
    assert_int_equal(report_print(t, out, REPORT_TEXT), -EIO);
    fclose(out);
    report_table_free(t);
    assert_int_equal(report_print(NULL, stdout, REPORT_TEXT), -ENOMEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_have_thousands_apart),
        cmocka_unit_test(decimals_are_rounded_and_signed),
        cmocka_unit_test(ratios_are_spelled_as_in_the_report),
        cmocka_unit_test(widths_are_those_of_a_terminal),
        cmocka_unit_test(text_columns_are_aligned),
        cmocka_unit_test(markdown_columns_are_aligned_and_pipes_escaped),
        cmocka_unit_test(many_rows_are_kept),
        cmocka_unit_test(a_full_disk_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
