/* Spelling for pages: names, times and lines of text, for every format. */
#ifndef LARDER_CAPTURE_TEXT_H
#define LARDER_CAPTURE_TEXT_H

#include <stdio.h>

#include "capture/page.h"

/* A name for a table's cell: page_name, and in Markdown as code, so that nothing in it is markup.
 * Only text cuts it to `width`: elsewhere long names are broken into lines. */
const char *text_name(char out[static PAGE_NAME], const char *name, size_t width,
                      enum report_format format);
/* "\\server\share\path" likewise. */
const char *text_place(char out[static PAGE_NAME], const char *share, const char *path,
                       size_t width, enum report_format format);

/* Milliseconds with three digits that count; a dash for none. */
const char *text_ms(char buf[static REPORT_NUMBER], uint64_t ns);
const char *text_seconds(char buf[static REPORT_NUMBER], uint64_t ns);
/* "12.3 %", a dash of nothing. */
const char *text_share(char buf[static REPORT_NUMBER], double part, double of);
/* KiB, rounded up to the next where there is anything. */
const char *text_kib(char buf[static REPORT_NUMBER], uint64_t bytes);

/* In HTML the heading of a part, within a section. */
void text_heading(FILE *out, enum report_format format, const char *title);
/* A finding, with its remedy, broken into lines; in Markdown one item of a list. */
void text_finding(FILE *out, enum report_format format, const struct finding *f);
/* What is said in the place of findings. */
void text_well(FILE *out, enum report_format format, const char *text);
/* As report_field; in text broken into lines. */
void text_field(FILE *out, enum report_format format, const char *name, const char *text);
/* A line of a list, broken where it is long. */
void text_item(FILE *out, enum report_format format, const char *text);
/* A table is printed with an empty line before it, and freed. */
int text_table(struct report_table *t, FILE *out, enum report_format format);

/* "STATUS_NAME", "0xC0001234", "others". */
const char *text_status(char buf[static REPORT_NUMBER], uint32_t status);

#endif
