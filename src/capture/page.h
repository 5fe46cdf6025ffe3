/* An analysis, two of them side by side, and their verdict: as a page of text, as Markdown, as CSV
 * and as JSON. Names from captures are hostile: what could move a terminal is replaced. */
#ifndef LARDER_CAPTURE_PAGE_H
#define LARDER_CAPTURE_PAGE_H

#include <jansson.h>
#include <stdio.h>

#include "capture/difference.h"
#include "report/report.h"

/* The page of one capture, 80 columns wide at most. 0 or a negative errno. */
int page_print(const struct analysis *a, FILE *out, enum report_format format);
int page_print_difference(const struct difference *d, FILE *out, enum report_format format);

/* Its parts, for who orders them otherwise: what the capture is, the tables, the verdict. */
void page_head(const struct analysis *a, FILE *out, enum report_format format);
int page_tables(const struct analysis *a, FILE *out, enum report_format format);
void page_verdict(const struct analysis *a, FILE *out, enum report_format format);

/* The commands of one capture, or the ratios to another, a row each; `head` prints the names of the
 * columns first. */
void page_csv(const struct analysis *a, FILE *out, bool head);
void page_csv_difference(const struct difference *d, FILE *out, bool head);

/* One member of "captures". NULL: out of memory, as for the others here. */
json_t *page_json(const struct analysis *a);
/* The verdict on one capture, an array; each finding names its file. */
json_t *page_json_verdict(const struct analysis *a);
/* "against": rows, directories; and its findings for "verdict". */
json_t *page_json_difference(const struct difference *d);
json_t *page_json_difference_verdict(const struct difference *d);

/* Text in which nothing moves a terminal and no bytes are broken: UTF-8, control characters and the
 * bidirectional ones as `?`, at most `width` columns: the front is cut away where it is longer,
 * since the end of a path tells more. Returns `out`. */
#define PAGE_NAME 1024
const char *page_name(char out[static PAGE_NAME], const char *text, size_t width);

#endif
