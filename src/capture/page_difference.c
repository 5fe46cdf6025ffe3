/*
 * Two captures side by side: the report's table with ratios, and for each READ, since two runs are
 * rarely of the same length; then what came and went, which directories grew, and the verdict.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "capture/text.h"

#define TOP_DIRECTORIES 10
#define LABEL_WIDTH     10
#define NUMBERS         char n[6][REPORT_NUMBER]

/* ---- labels ---- */

struct labels {
    char base[PAGE_NAME], other[PAGE_NAME];
};

static const char *file_alone(const char *file)
{
    const char *last = strrchr(file, '/');
    return last && last[1] ? last + 1 : file;
}

static void own_name(char out[static PAGE_NAME], const char *file)
{
    page_name(out, file_alone(file), PAGE_NAME);
    for (char *dot; (dot = strrchr(out, '.')) && dot != out &&
                    (strncmp(dot, ".pcap", 5) == 0 || strcmp(dot, ".gz") == 0);)
        *dot = 0; /* .pcap, .pcapng, .gz */
}

/* The files' own names head their columns, unless they are the same or have no room. */
static void make_labels(const struct difference *d, struct labels *ret)
{
    own_name(ret->base, d->base->file);
    own_name(ret->other, d->other->file);
    if (strcmp(ret->base, ret->other) == 0 || report_width(ret->base) > LABEL_WIDTH ||
        report_width(ret->other) > LABEL_WIDTH) {
        strcpy(ret->base, "against");
        strcpy(ret->other, "capture");
    }
}

/* ---- the table ---- */

static const char *value_text(char buf[static REPORT_NUMBER], const struct difference_row *r,
                              double v)
{
    if (r->kind == DIFFERENCE_COUNT)
        return report_count(buf, (uint64_t)v);
    return report_decimal(buf, v, 2);
}

static void per_read_cells(struct report_table *t, const struct difference *d,
                           const struct difference_row *r)
{
    NUMBERS;
    double base = difference_base_per_read(d, r), other = difference_other_per_read(d, r);
    if (!r->per_read) {
        report_cell(t, " ");
        return;
    }
    report_cell(t, "%s", d->base_reads ? report_decimal(n[0], base, 2) : "-");
    report_cell(t, "%s", d->other_reads ? report_decimal(n[0], other, 2) : "-");
    report_cell(t, "%s", d->other_reads ? report_ratio(n[0], other, base) : "-");
}

static int print_rows(const struct difference *d, const struct labels *l, FILE *out,
                      enum report_format format)
{
    NUMBERS;
    const char *per_read = format == REPORT_TEXT ? "/READ" : "per READ";
    struct report_table *t = report_table_new();
    report_column(t, REPORT_LEFT, "metric");
    report_column(t, REPORT_RIGHT, l->base);
    report_column(t, REPORT_RIGHT, l->other);
    report_column(t, REPORT_RIGHT, "ratio");
    report_column(t, REPORT_RIGHT, per_read);
    report_column(t, REPORT_RIGHT, per_read);
    report_column(t, REPORT_RIGHT, "ratio");
    for (size_t i = 0; i < d->row_count; i++) {
        const struct difference_row *r = &d->row[i];
        report_row(t);
        report_cell(t, "%s", r->name);
        report_cell(t, "%s", value_text(n[0], r, r->base));
        report_cell(t, "%s", value_text(n[0], r, r->other));
        report_cell(t, "%s", report_ratio(n[0], r->other, r->base));
        per_read_cells(t, d, r);
    }
    return text_table(t, out, format);
}

/* ---- what came and went ---- */

static void print_names_of(const struct difference *d, bool came, FILE *out,
                           enum report_format format)
{
    char line[400] = "";
    size_t at = 0;
    for (size_t i = 0; i < d->row_count && at + 40 < sizeof(line); i++) {
        const struct difference_row *r = &d->row[i];
        double here = came ? r->other : r->base, there = came ? r->base : r->other;
        if (here > 0 && there <= 0)
            at += (size_t)snprintf(line + at, sizeof(line) - at, "%s%s", at ? ", " : "", r->name);
    }
    text_field(out, format, came ? "new" : "gone", at ? line : "nothing");
}

static int print_grown(const struct difference *d, const struct labels *l, FILE *out,
                       enum report_format format)
{
    NUMBERS;
    char place[PAGE_NAME];
    if (!d->grown_count)
        return 0;
    struct report_table *t = report_table_new();
    report_column(t, REPORT_LEFT, "directories enumerated more often");
    report_column(t, REPORT_RIGHT, l->base);
    report_column(t, REPORT_RIGHT, l->other);
    report_column(t, REPORT_RIGHT, "ratio");
    for (size_t i = 0; i < d->grown_count && i < TOP_DIRECTORIES; i++) {
        const struct difference_directory *g = &d->grown[i];
        report_row(t);
        report_cell(t, "%s", text_place(place, g->share, g->path, 44, format));
        report_cell(t, "%s", report_count(n[0], g->base));
        report_cell(t, "%s", report_count(n[0], g->other));
        report_cell(t, "%s", report_ratio(n[0], (double)g->other, (double)g->base));
    }
    return text_table(t, out, format);
}

static void print_directories_line(const struct difference *d, FILE *out, enum report_format format)
{
    NUMBERS;
    char line[200];
    snprintf(line, sizeof(line),
             "%s enumerated more often; %s only in the first, %s only in the second",
             report_count(n[0], d->grown_all), report_count(n[1], d->only_base),
             report_count(n[2], d->only_other));
    text_field(out, format, "directories", line);
}

static void print_verdict(const struct difference *d, FILE *out, enum report_format format)
{
    text_heading(out, format, "verdict on the difference");
    if (format == REPORT_MARKDOWN)
        fputc('\n', out);
    bool faults = false;
    for (size_t i = 0; i < d->finding_count; i++) {
        text_finding(out, format, &d->finding[i]);
        faults |= d->finding[i].severity == SEVERITY_FAULT;
    }
    if (!faults)
        text_well(out, format, "all is well: no command has grown and no fault is new");
}

int page_print_difference(const struct difference *d, FILE *out, enum report_format format)
{
    char name[PAGE_NAME];
    struct labels l;
    make_labels(d, &l);
    text_field(out, format, "against", text_name(name, d->base->file, 66, format));
    text_field(out, format, "capture", text_name(name, d->other->file, 66, format));
    int code = print_rows(d, &l, out, format);
    fputc('\n', out);
    print_names_of(d, true, out, format);
    print_names_of(d, false, out, format);
    print_directories_line(d, out, format);
    if (code == 0)
        code = print_grown(d, &l, out, format);
    print_verdict(d, out, format);
    return code;
}
