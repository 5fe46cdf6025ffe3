/*
 * Printing is here too: a table for each what-if (what was seen, what would have been), one for
 * each sweep, and the assumptions that they rest on once at the end.
 */
#include "capture/questions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "capture/charts.h"
#include "capture/text.h"

#define NUMBERS char n[4][REPORT_NUMBER]

struct questions {
    struct replay *replay;
    struct whatif *what_if[QUESTIONS_MAX];
    struct sweep *sweep[QUESTIONS_MAX];
    size_t what_ifs, sweeps;
    uint64_t lost; /* operations, for want of memory */
};

static int ask(struct questions *q, const struct questions_asked *asked, struct error *err)
{
    struct settings base;
    int code = whatif_settings(asked->what_ifs ? asked->what_if[0] : "23h2", &base, err);
    for (size_t i = 0; i < asked->what_ifs && code == 0; i++) {
        code = whatif_new(q->replay, asked->what_if[i], &q->what_if[i], err);
        q->what_ifs += code == 0;
    }
    for (size_t i = 0; i < asked->sweeps && code == 0; i++) {
        code = sweep_new(q->replay, asked->sweep[i], &base, &q->sweep[i], err);
        q->sweeps += code == 0;
    }
    return code;
}

int questions_new(const struct questions_asked *asked, struct questions **ret, struct error *err)
{
    struct questions *q = calloc(1, sizeof(*q));
    int code = q && (q->replay = replay_new()) ? ask(q, asked, err)
                                               : error_set(err, -ENOMEM, 0, "out of memory");
    if (code < 0)
        questions_free(q);
    else
        *ret = q;
    return code;
}

struct questions *questions_free(struct questions *q)
{
    if (!q)
        return NULL;
    for (size_t i = 0; i < q->what_ifs; i++)
        whatif_free(q->what_if[i]);
    for (size_t i = 0; i < q->sweeps; i++)
        sweep_free(q->sweep[i]);
    replay_free(q->replay);
    free(q);
    return NULL;
}

void questions_operation(struct questions *q, const struct operation *o)
{
    q->lost += replay_operation(q->replay, o) < 0;
}

void questions_share_left(struct questions *q, const struct smb_share *share)
{
    replay_share_left(q->replay, share);
}

void questions_finish(struct questions *q)
{
    replay_finish(q->replay);
}

/* ---- what-ifs ---- */

static void effort_row(struct report_table *t, const char *name, uint64_t seen, uint64_t predicted)
{
    NUMBERS;
    report_row(t);
    report_cell(t, "%s", name);
    report_cell(t, "%s", report_count(n[0], seen));
    report_cell(t, "%s", report_count(n[1], predicted));
    if (predicted > seen)
        report_cell(t, "-%s", report_count(n[2], predicted - seen));
    else
        report_cell(t, "%s", report_count(n[2], seen - predicted));
    report_cell(t, "%s", report_ratio(n[3], (double)predicted, (double)seen));
}

static void seconds_row(struct report_table *t, const struct effort *seen,
                        const struct effort *predicted)
{
    NUMBERS;
    double s = (double)seen->waited_ns / 1e9, p = (double)predicted->waited_ns / 1e9;
    report_row(t);
    report_cell(t, "seconds waited");
    report_cell(t, "%s", report_decimal(n[0], s, 2));
    report_cell(t, "%s", report_decimal(n[1], p, 2));
    report_cell(t, "%s", report_decimal(n[2], s - p, 2));
    report_cell(t, "%s", report_ratio(n[3], p, s));
}

static int print_what_if(const struct whatif *w, FILE *out, enum report_format format)
{
    static const char *const caches[] = {"directory", "file info", "file-not-found"};
    NUMBERS;
    struct whatif_result r;
    whatif_result(w, &r);
    char title[300];
    snprintf(title, sizeof(title), "what if %s%s%.200s (estimate)", r.profile,
             r.overrides[0] ? ":" : "", r.overrides);
    text_heading(out, format, title);
    if (format == REPORT_HTML)
        chart_what_if(&r, out);
    struct report_table *t = report_table_new();
    report_column(t, REPORT_LEFT, "requests on files");
    report_column(t, REPORT_RIGHT, "seen");
    report_column(t, REPORT_RIGHT, "estimate");
    report_column(t, REPORT_RIGHT, "saved");
    report_column(t, REPORT_RIGHT, "ratio");
    for (uint16_t c = 0; c < SMB2_COMMANDS; c++)
        if (r.seen.requests[c] || r.predicted.requests[c])
            effort_row(t, wire_command_name(c), r.seen.requests[c], r.predicted.requests[c]);
    effort_row(t, "all", effort_requests(&r.seen), effort_requests(&r.predicted));
    effort_row(t, "messages", r.seen.messages, r.predicted.messages);
    effort_row(t, "round trips", r.seen.round_trips, r.predicted.round_trips);
    seconds_row(t, &r.seen, &r.predicted);
    int code = text_table(t, out, format);
    fputc('\n', out);
    for (size_t c = 0; c < OBSERVE_CACHES; c++) {
        char line[200];
        snprintf(line, sizeof(line), "%s requests of %s operations avoidable by the %s cache",
                 report_count(n[0], r.avoidable[c].requests),
                 report_count(n[1], r.avoidable[c].operations), caches[c]);
        text_field(out, format, observe_cache_name((enum observe_cache)c), line);
    }
    return code;
}

/* ---- sweeps ---- */

static int print_sweep(const struct sweep *s, FILE *out, enum report_format format)
{
    NUMBERS;
    struct sweep_result r;
    sweep_result(s, &r);
    char title[200];
    if (r.enough)
        snprintf(title, sizeof(title), "%s: %s %s give%s 99 %% of what can be had; now %s",
                 r.setting, report_count(n[0], r.enough), r.unit, r.enough == 1 ? "s" : "",
                 report_count(n[1], r.present));
    else
        snprintf(title, sizeof(title), "%s: no value would answer anything", r.setting);
    text_heading(out, format, title);
    if (format == REPORT_HTML)
        chart_sweep(&r, out);
    struct report_table *t = report_table_new();
    report_column(t, REPORT_RIGHT, r.unit);
    report_column(t, REPORT_RIGHT, "answered");
    report_column(t, REPORT_RIGHT, "of the most");
    report_column(t, REPORT_RIGHT, "requests");
    report_column(t, REPORT_RIGHT, "round trips");
    for (size_t i = 0; i < r.count; i++) {
        const struct sweep_point *p = &r.point[i];
        report_row(t);
        report_cell(t, "%s", report_count(n[0], p->value));
        report_cell(t, "%s", report_count(n[0], p->hits));
        report_cell(t, "%s", text_share(n[0], (double)p->hits, (double)r.most));
        report_cell(t, "%s", report_count(n[0], effort_requests(&p->predicted)));
        report_cell(t, "%s", report_count(n[0], p->predicted.round_trips));
    }
    return text_table(t, out, format);
}

/* ---- all of them ---- */

static void print_assumptions(const struct questions *q, FILE *out, enum report_format format)
{
    char line[400];
    if (!q->what_ifs)
        return;
    text_heading(out, format, "assumptions");
    if (format == REPORT_MARKDOWN)
        fputc('\n', out);
    for (int i = 0; whatif_assumption(q->what_if[q->what_ifs - 1], i, line, sizeof(line)); i++)
        text_item(out, format, line);
}

int questions_print(const struct questions *q, FILE *out, enum report_format format)
{
    int code = 0;
    for (size_t i = 0; i < q->what_ifs && code == 0; i++)
        code = print_what_if(q->what_if[i], out, format);
    for (size_t i = 0; i < q->sweeps && code == 0; i++)
        code = print_sweep(q->sweep[i], out, format);
    print_assumptions(q, out, format);
    return q->lost ? -ENOMEM : code;
}

static void append(json_t *all, json_t *one, const char *file)
{
    char clean[PAGE_NAME];
    json_object_set_new(one, "file", json_string(page_name(clean, file, PAGE_NAME)));
    json_array_append_new(all, one);
}

void questions_json(const struct questions *q, const char *file, json_t *what_ifs, json_t *sweeps)
{
    for (size_t i = 0; i < q->what_ifs; i++)
        append(what_ifs, whatif_json(q->what_if[i]), file);
    for (size_t i = 0; i < q->sweeps; i++)
        append(sweeps, sweep_json(q->sweep[i]), file);
}
