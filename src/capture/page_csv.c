/*
 * Tables for spreadsheets: one header line, plain numbers with a point, RFC 4180 quoting. A cell
 * that a spreadsheet would take for a formula gets an apostrophe.
 */
#include <inttypes.h>
#include <string.h>

#include "capture/page.h"

static void put(FILE *out, const char *text)
{
    fputc('"', out);
    if (*text && strchr("=+-@\t\r", *text))
        fputc('\'', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

/* In thousandths, so that no locale can have a say in it. */
static void put_number(FILE *out, double v)
{
    uint64_t thousandths = v > 0 ? (uint64_t)(v * 1000 + 0.5) : 0;
    fprintf(out, ",%" PRIu64 ".%03" PRIu64, thousandths / 1000, thousandths % 1000);
}

static void put_ms(FILE *out, uint64_t ns)
{
    fprintf(out, ",%" PRIu64 ".%06" PRIu64, ns / 1000000, ns % 1000000);
}

static void put_command(FILE *out, const char *file, const char *name,
                        const struct analysis_command *c)
{
    static const double quantiles[] = {0.5, 0.95, 0.99, 1};
    put(out, file);
    fprintf(out, ",%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, name,
            analysis_messages_of(c), c->requests, c->responses, c->interims, c->errors.count,
            c->frames);
    fprintf(out, ",%" PRIu64 ",%" PRIu64, c->request_bytes, c->response_bytes);
    for (size_t q = 0; q < sizeof(quantiles) / sizeof(quantiles[0]); q++)
        put_ms(out, durations_quantile(&c->waits, quantiles[q]));
    put_ms(out, c->waits.sum_ns);
    fputs("\r\n", out);
}

void page_csv(const struct analysis *a, FILE *out, bool head)
{
    char file[PAGE_NAME];
    page_name(file, a->file, PAGE_NAME);
    if (head)
        fputs("capture,command,messages,requests,responses,interims,errors,frames,request_bytes,"
              "response_bytes,median_ms,p95_ms,p99_ms,max_ms,sum_ms\r\n",
              out);
    for (uint16_t c = 0; c < SMB2_COMMANDS; c++)
        if (analysis_messages_of(&a->command[c]))
            put_command(out, file, wire_command_name(c), &a->command[c]);
}

void page_csv_difference(const struct difference *d, FILE *out, bool head)
{
    char file[PAGE_NAME];
    page_name(file, d->other->file, PAGE_NAME);
    if (head)
        fputs("file,metric,against,capture,ratio,against_per_read,capture_per_read\r\n", out);
    for (size_t i = 0; i < d->row_count; i++) {
        const struct difference_row *r = &d->row[i];
        put(out, file);
        fputc(',', out);
        put(out, r->name);
        put_number(out, r->base);
        put_number(out, r->other);
        if (r->base > 0)
            put_number(out, r->other / r->base);
        else
            fputc(',', out);
        if (r->per_read) {
            put_number(out, difference_base_per_read(d, r));
            put_number(out, difference_other_per_read(d, r));
        } else {
            fputs(",,", out);
        }
        fputs("\r\n", out);
    }
}
