/*
 * One way to print a table: as text with aligned columns, as Markdown or as HTML; and one way to
 * spell numbers, times and ratios, so that two tables of this project never differ in that.
 */
#ifndef LARDER_REPORT_REPORT_H
#define LARDER_REPORT_REPORT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum report_format { REPORT_TEXT, REPORT_MARKDOWN, REPORT_HTML };
enum report_align { REPORT_LEFT, REPORT_RIGHT };

struct report_table;

/* Out of memory is remembered by the table and told by report_print, so that filling one is a
 * straight line; report_table_new alone may give NULL, which every function here takes. */
struct report_table *report_table_new(void);
struct report_table *report_table_free(struct report_table *t);

/* Columns first, then rows: report_row begins one and report_cell fills its next cell. Cells that a
 * row leaves out stay empty; more than there are columns is the caller's bug and they are dropped.
 * Control characters in a cell are printed as `?`. */
void report_column(struct report_table *t, enum report_align align, const char *title);
void report_row(struct report_table *t);
void report_cell(struct report_table *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* 0, -ENOMEM, or -EIO where `out` took not all of it. */
int report_print(const struct report_table *t, FILE *out, enum report_format format);

/* One line of what stands above a table: a name and what it is. Control characters in the text are
 * `?`. */
void report_field(FILE *out, enum report_format format, const char *name, const char *text);

/* Text as HTML: nothing in it is markup, not even within an attribute's quotes. Control characters
 * are `?`. */
void report_html(FILE *out, const char *text);

/* Numbers return their buffer, so that they can stand among the arguments of report_cell. */
#define REPORT_NUMBER 40
const char *report_count(char buf[static REPORT_NUMBER], uint64_t n);             /* 227,796 */
const char *report_decimal(char buf[static REPORT_NUMBER], double v, int places); /* 1,185.52 */
/* 18.2x, below one 0.97x, and a dash where `base` is 0 or either is no number. */
const char *report_ratio(char buf[static REPORT_NUMBER], double v, double base);

/* Columns that a terminal needs for UTF-8 text: wide characters take two, combining ones none. */
size_t report_width(const char *text);

#endif
