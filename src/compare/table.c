/*
 * What a comparison prints: a block that says what was compared, the table, and below it what the
 * profiles' caches complain about. A profile's figure is the median of its runs, each figure for
 * itself; the column behind it is its ratio to the first profile's.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "compare/compare.h"
#include "report/report.h"

/* ---- figures of a profile ---- */

static double median_of(const struct compare_results *r, size_t profile, const struct figure *f,
                        double (*value)(const struct figure *f, const json_t *run))
{
    double values[COMPARE_RUNS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < r->count && n < COMPARE_RUNS_MAX; i++)
        if (r->list[i].profile == profile) {
            double v = value(f, r->list[i].run);
            if (!isnan(v))
                values[n++] = v;
        }
    return figure_median(values, n);
}

double compare_figure(const struct compare_results *r, size_t profile, const struct figure *f)
{
    return median_of(r, profile, f, figure_value);
}

/* What all runs of a profile have in common: taken from its first. */
static const json_t *first_run(const struct compare_results *r, size_t profile)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->list[i].profile == profile)
            return r->list[i].run;
    return NULL;
}

/* ---- the block ---- */

static const char *connection_text(const struct compare_results *r, size_t profile, char *out,
                                   size_t cap)
{
    const json_t *c = json_object_get(first_run(r, profile), "connection");
    const char *dialect = json_string_value(json_object_get(c, "dialect"));
    const char *signing = json_string_value(json_object_get(c, "signing"));
    const char *cipher = json_string_value(json_object_get(c, "encryption"));
    bool sealed = cipher && strcmp(cipher, "none") != 0;
    const char *algorithm = sealed ? cipher : signing ? signing : "unknown";
    snprintf(out, cap, "%s, %s %s", dialect ? dialect : "unknown",
             sealed ? "encryption" : "signing", algorithm);
    return out;
}

static void print_dialect(const struct compare_job *job, const struct compare_results *r, FILE *out,
                          enum report_format format)
{
    char first[64], other[64], line[128];
    bool same = true;
    connection_text(r, 0, first, sizeof(first));
    for (size_t p = 1; p < job->profile_count; p++)
        same &= strcmp(first, connection_text(r, p, other, sizeof(other))) == 0;
    if (same) {
        report_field(out, format, "dialect", first);
        return;
    }
    for (size_t p = 0; p < job->profile_count; p++) {
        snprintf(line, sizeof(line), "%s (%s)", connection_text(r, p, other, sizeof(other)),
                 job->profiles[p].label);
        report_field(out, format, "dialect", line);
    }
}

/* Words that a shell would take apart stand in quotes. */
static void print_command(char *const *argv, FILE *out, enum report_format format)
{
    char *line = NULL;
    size_t len = 0;
    FILE *text = open_memstream(&line, &len);
    if (!text)
        return;
    for (size_t i = 0; argv[i]; i++) {
        bool bare = argv[i][0] && !argv[i][strcspn(argv[i], " \t\n\"'\\$`|&;<>()*?[]#~")];
        fprintf(text, "%s%s", i ? " " : "", bare ? "" : "'");
        for (const char *p = argv[i]; *p; p++)
            fprintf(text, *p == '\'' ? "'\\''" : "%c", *p);
        fputs(bare ? "" : "'", text);
    }
    fclose(text);
    report_field(out, format, "command", line);
    free(line);
}

static void print_block(const struct compare_job *job, const struct compare_results *r, FILE *out,
                        enum report_format format)
{
    char line[256], number[REPORT_NUMBER];
    struct utsname u;
    report_field(out, format, "larder", LARDER_VERSION);
    if (uname(&u) == 0) {
        snprintf(line, sizeof(line), "%.80s %.80s, %.80s", u.sysname, u.release, u.machine);
        report_field(out, format, "kernel", line);
    }
    report_field(out, format, "server", job->server);
    print_dialect(job, r, out, format);
    if (job->rtt_ms > 0) {
        double whole = floor(job->rtt_ms);
        snprintf(line, sizeof(line), "%s ms, by a relay",
                 report_decimal(number, job->rtt_ms, job->rtt_ms == whole ? 0 : 3));
    } else {
        snprintf(line, sizeof(line), "the network's own");
    }
    report_field(out, format, "round trip", line);
    print_command(job->command, out, format);
    if (job->runs > 1) {
        snprintf(line, sizeof(line), "%u of each profile, alternating; the table has medians",
                 job->runs);
        report_field(out, format, "runs", line);
    }
    for (size_t p = 0; p < job->profile_count; p++) {
        const struct compare_profile *of = &job->profiles[p];
        if (of->base)
            snprintf(line, sizeof(line), "%s: %.64s, out of %.120s", of->label, of->spec,
                     of->base->path);
        else
            snprintf(line, sizeof(line), "%s: %.200s", of->label, of->spec);
        if (strcmp(of->label, of->spec) != 0)
            report_field(out, format, "profile", line);
    }
}

/* ---- settings that differ ---- */

static const char *setting_of(const struct compare_results *r, size_t profile, const char *name)
{
    const char *v = json_string_value(
        json_object_get(json_object_get(first_run(r, profile), "settings"), name));
    return v ? v : "";
}

static int print_settings(const struct compare_job *job, const struct compare_results *r, FILE *out,
                          enum report_format format)
{
    const char *name;
    json_t *value, *settings = json_object_get(first_run(r, 0), "settings");
    size_t rows = 0;
    int code = 0;
    struct report_table *t = report_table_new();
    report_column(t, REPORT_LEFT, "settings that differ");
    for (size_t p = 0; p < job->profile_count; p++)
        report_column(t, REPORT_RIGHT, job->profiles[p].label);
    json_object_foreach(settings, name, value)
    {
        bool same = true;
        for (size_t p = 1; p < job->profile_count; p++)
            same &= strcmp(setting_of(r, 0, name), setting_of(r, p, name)) == 0;
        if (same)
            continue;
        rows++;
        report_row(t);
        report_cell(t, "%s", name);
        for (size_t p = 0; p < job->profile_count; p++)
            report_cell(t, "%s", setting_of(r, p, name));
    }
    if (rows) {
        fputc('\n', out);
        code = report_print(t, out, format);
    }
    report_table_free(t);
    return code;
}

/* ---- the table ---- */

static void add_figure(struct report_table *t, const struct compare_job *job,
                       const struct compare_results *r, const struct figure *f)
{
    char number[REPORT_NUMBER];
    double base = compare_figure(r, 0, f);
    report_row(t);
    report_cell(t, "%s", f->row);
    for (size_t p = 0; p < job->profile_count; p++) {
        double v = compare_figure(r, p, f), rate = median_of(r, p, f, figure_hit_rate);
        figure_text(number, f, v);
        if (isnan(rate))
            report_cell(t, "%s", number);
        else
            report_cell(t, "%s (%.0f %%)", number, rate);
        if (p)
            report_cell(t, "%s", report_ratio(number, v, base));
    }
}

static bool occurred(const struct compare_results *r, const struct figure *f)
{
    for (size_t i = 0; i < r->count; i++)
        if (figure_value(f, r->list[i].run) > 0)
            return true;
    return false;
}

static int print_figures(const struct compare_job *job, const struct compare_results *r, FILE *out,
                         enum report_format format)
{
    struct report_table *t = report_table_new();
    report_column(t, REPORT_LEFT, "metric");
    for (size_t p = 0; p < job->profile_count; p++) {
        report_column(t, REPORT_RIGHT, job->profiles[p].label);
        if (p)
            report_column(t, REPORT_RIGHT, "ratio");
    }
    const struct figure *f;
    for (size_t i = 0; (f = figure_at(i)); i++)
        if (f->always || occurred(r, f))
            add_figure(t, job, r, f);
    fputc('\n', out);
    int code = report_print(t, out, format);
    report_table_free(t);
    return code;
}

/* What a profile's caches say of themselves, told once. */
static void print_faults(const struct compare_job *job, const struct compare_results *r, FILE *out,
                         enum report_format format)
{
    bool first = true;
    for (size_t p = 0; p < job->profile_count; p++) {
        size_t i;
        json_t *fault;
        json_array_foreach(json_object_get(first_run(r, p), "faults"), i, fault)
        {
            fprintf(out, "%s%s%s: %s\n", first ? "\n" : "", format == REPORT_MARKDOWN ? "- " : "",
                    job->profiles[p].label, json_string_value(fault));
            first = false;
        }
    }
}

int compare_print(const struct compare_job *job, const struct compare_results *r, FILE *out)
{
    enum report_format format = job->markdown ? REPORT_MARKDOWN : REPORT_TEXT;
    print_block(job, r, out, format);
    int code = print_settings(job, r, out, format);
    if (code == 0)
        code = print_figures(job, r, out, format);
    print_faults(job, r, out, format);
    if (code == 0 && fflush(out) != 0)
        code = -errno;
    return code;
}

/* ---- limits, labels, JSON ---- */

unsigned compare_check(const struct compare_job *job, const struct compare_results *r, FILE *out)
{
    unsigned exceeded = 0;
    for (size_t i = 0; i < job->limit_count; i++) {
        const struct figure_limit *l = &job->limits[i];
        char value[REPORT_NUMBER], first[REPORT_NUMBER], ratio[REPORT_NUMBER];
        double base = compare_figure(r, 0, l->figure);
        for (size_t p = 1; p < job->profile_count; p++) {
            double v = compare_figure(r, p, l->figure);
            if (!figure_limit_exceeded(l, v, base))
                continue;
            fprintf(out,
                    "larder: compare: %s of %s is %s, of %s %s: %s where at most %gx is allowed\n",
                    l->figure->row, job->profiles[p].label, figure_text(value, l->figure, v),
                    job->profiles[0].label, figure_text(first, l->figure, base),
                    report_ratio(ratio, v, base), l->ratio);
            exceeded++;
        }
    }
    return exceeded;
}

void compare_labels(struct compare_profile *profiles, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char base[16];
        size_t same = 0, name = strcspn(profiles[i].spec, ":");
        if (profiles[i].base) {
            snprintf(profiles[i].label, sizeof(profiles[i].label), "base");
            continue;
        }
        snprintf(base, sizeof(base), "%.*s%s", (int)(name < 12 ? name : 12), profiles[i].spec,
                 profiles[i].spec[name] ? "+" : "");
        for (size_t k = 0; k < i; k++)
            same += strncmp(profiles[k].label, base, strlen(base)) == 0 &&
                    (!profiles[k].label[strlen(base)] || profiles[k].label[strlen(base)] == '#');
        if (same)
            snprintf(profiles[i].label, sizeof(profiles[i].label), "%s#%zu", base, same + 1);
        else
            snprintf(profiles[i].label, sizeof(profiles[i].label), "%s", base);
    }
}

json_t *compare_json(const struct compare_job *job, const struct compare_results *r)
{
    json_t *command = json_array(), *runs = json_array();
    for (size_t i = 0; job->command[i]; i++) {
        json_t *word = json_string(job->command[i]);
        json_array_append_new(command, word ? word : json_string_nocheck("(not UTF-8)"));
    }
    for (size_t i = 0; i < r->count; i++)
        if (!job->profiles[r->list[i].profile].base)
            json_array_append(runs, r->list[i].run);
    return json_pack("{s:s, s:o, s:s, s:f, s:o}", "larder", LARDER_VERSION, "command", command,
                     "server", job->server, "rtt_ms", job->rtt_ms, "runs", runs);
}
