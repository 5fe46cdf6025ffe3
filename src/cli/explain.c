/*
 * `larder explain`: what a live mount believes of one path, why, for how long, and what the next
 * call would send. The JSON is the mount's reply with the paths of its steps filled in; the text is
 * the same as one table of beliefs and a line a call.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/live.h"
#include "cli/names.h"
#include "report/report.h"

static const char help[] =
    "larder explain /mnt/some/path\n\n"
    "Shows what the caches of a mounted share believe of a path, there or not: since\n"
    "when, on whose promise (a lease or a watch of the server; time: nobody promised\n"
    "anything), for how much longer, and why they last had no answer. And what the\n"
    "next stat, open and listing of it would send to the server where the kernel does\n"
    "not answer them by itself:\n\n"
    "  LIST     a whole listing of a directory          SEARCH   one name in it\n"
    "  VERIFY   whether a directory is still as listed  STAT     one path\n"
    "  OPEN     a file, and its beginning unless the kernel has it\n\n"
    "Only the mount's process is asked, neither the server nor the mounted directory,\n"
    "and no counter or belief changes by it. `larder drop PATH` forgets.\n\n"
    "  --json   the same as one JSON object\n";

/* The first so many components of the path beneath the mount. */
static void first_components(const char *path, uint64_t n, char out[static PATH_MAX])
{
    const char *end = path;
    for (; n && *end; n--) {
        end += *end == '/';
        end += strcspn(end, "/");
    }
    memcpy(out, path, (size_t)(end - path));
    out[end - path] = '\0';
}

static double real(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

/* ---- JSON ---- */

static void name_steps(const struct live *l)
{
    const char *call;
    json_t *steps, *step;
    char path[PATH_MAX];
    size_t i;
    json_object_foreach(json_object_get(l->reply, "next"), call, steps)
    {
        json_array_foreach(steps, i, step)
        {
            first_components(l->path, live_number(step, "components"), path);
            name_json(step, "path", path);
        }
    }
}

/* ---- text ---- */

static void belief_cells(struct report_table *t, const json_t *b)
{
    const json_t *miss = json_object_get(b, "last_miss");
    bool answers = json_is_true(json_object_get(b, "answers"));
    bool held = json_is_true(json_object_get(b, "held"));
    if (held && json_object_get(b, "verified_s"))
        report_cell(t, "%.1f s ago, verified %.1f s ago", real(b, "age_s"), real(b, "verified_s"));
    else if (held)
        report_cell(t, "%.1f s ago", real(b, "age_s"));
    else
        report_cell(t, "-");
    report_cell(t, "%s", answers ? live_text(b, "trust") : "-");
    if (answers)
        report_cell(t, "%.1f s", real(b, "valid_s"));
    else if (json_is_true(json_object_get(b, "verifiable")))
        report_cell(t, "to be verified");
    else
        report_cell(t, "no: %s", live_text(b, "why_not"));
    if (miss)
        report_cell(t, "%s, %.1f s ago", live_text(miss, "reason"), real(miss, "ago_s"));
    else
        report_cell(t, "-");
}

static void listed_row(struct report_table *t, const json_t *b)
{
    char n[REPORT_NUMBER];
    const char *says = live_text(b, "says");
    report_row(t);
    report_cell(t, "directory");
    if (!json_is_true(json_object_get(b, "held")))
        report_cell(t, "-");
    else if (strcmp(says, "nothing") == 0)
        report_cell(t, "the listing that it is in cannot tell");
    else
        report_cell(t, "%s among the %s names beside it", says,
                    report_count(n, live_number(b, "entries")));
    belief_cells(t, b);
}

static void missing_row(struct report_table *t, const json_t *b)
{
    report_row(t);
    report_cell(t, "file not found");
    report_cell(t, "%s", json_is_true(json_object_get(b, "held")) ? "no such name" : "-");
    belief_cells(t, b);
}

static void info_row(struct report_table *t, const json_t *b, bool file)
{
    char n[REPORT_NUMBER];
    bool any = json_is_true(json_object_get(b, "held"));
    report_row(t);
    report_cell(t, "file info");
    if (any && file)
        report_cell(t, "%s bytes%s", report_count(n, live_number(b, "size")),
                    json_is_true(json_object_get(b, "from_listing")) ? ", by the listing" : "");
    else
        report_cell(t, "%s", any ? "its attributes" : "-");
    belief_cells(t, b);
}

static void listing_row(struct report_table *t, const json_t *b)
{
    char n[REPORT_NUMBER], m[REPORT_NUMBER];
    report_row(t);
    report_cell(t, "directory");
    if (json_is_true(json_object_get(b, "held")))
        report_cell(t, "its own listing: %s names, %s bytes",
                    report_count(n, live_number(b, "entries")),
                    report_count(m, live_number(b, "bytes")));
    else
        report_cell(t, "-");
    belief_cells(t, b);
}

static void print_beliefs(const json_t *reply)
{
    const json_t *beliefs = json_object_get(reply, "beliefs"), *b;
    struct report_table *t = report_table_new();
    report_column(t, REPORT_LEFT, "cache");
    report_column(t, REPORT_LEFT, "believes");
    report_column(t, REPORT_LEFT, "asked for");
    report_column(t, REPORT_LEFT, "on whose word");
    report_column(t, REPORT_LEFT, "good for");
    report_column(t, REPORT_LEFT, "last miss");
    if ((b = json_object_get(beliefs, "listed")))
        listed_row(t, b);
    if ((b = json_object_get(beliefs, "missing")))
        missing_row(t, b);
    const char *kind = live_text(reply, "kind");
    info_row(t, json_object_get(beliefs, "info"),
             strcmp(kind, "file") == 0 || strcmp(kind, "beneath a file") == 0);
    if ((b = json_object_get(beliefs, "listing")))
        listing_row(t, b);
    report_print(t, stdout, REPORT_TEXT);
    report_table_free(t);
}

/* A line a step. */
static void print_next(const struct live *l, const char *call)
{
    char line[2 * PATH_MAX], path[PATH_MAX], name[32];
    const json_t *steps = json_object_get(json_object_get(l->reply, "next"), call);
    snprintf(name, sizeof name, "next %s", call);
    if (json_array_size(steps) == 0)
        report_field(stdout, REPORT_TEXT, name,
                     json_is_null(steps) ? "fails: it is no directory" : "sends nothing");
    for (size_t i = 0; i < json_array_size(steps); i++) {
        const json_t *step = json_array_get(steps, i);
        first_components(l->path, live_number(step, "components"), path);
        snprintf(line, sizeof line, "%-6s %s (%s)", live_text(step, "step"),
                 *path ? path : "the mounted directory", live_text(step, "requests"));
        report_field(stdout, REPORT_TEXT, i == 0 ? name : "", line);
    }
}

static void print_head(const struct live *l)
{
    char line[2 * PATH_MAX], about[PATH_MAX];
    const char *kind = live_text(l->reply, "kind"), *by = live_text(l->reply, "answered_by");
    report_field(stdout, REPORT_TEXT, "mount", l->mount);
    report_field(stdout, REPORT_TEXT, "path", *l->path ? l->path : "the mounted directory");
    first_components(l->path, live_number(l->reply, "components"), about);
    if (json_is_true(json_object_get(l->reply, "whole")) && strcmp(kind, "beneath a file") != 0)
        snprintf(line, sizeof line, "%s%s%s%s", kind, *by ? ", by the " : "",
                 strcmp(by, "dir") == 0        ? "directory"
                 : strcmp(by, "notfound") == 0 ? "file-not-found"
                 : *by                         ? "file info"
                                               : "",
                 *by                                   ? " cache"
                 : *l->path && strcmp(kind, "unknown") ? ", when last heard of"
                                                       : "");
    else
        snprintf(line, sizeof line, "missing: %s is believed to be %s", about,
                 strcmp(kind, "missing") == 0 ? "missing" : "a file");
    report_field(stdout, REPORT_TEXT, "it is", line);
}

static void print(const struct live *l)
{
    print_head(l);
    putchar('\n');
    print_beliefs(l->reply);
    putchar('\n');
    print_next(l, "stat");
    print_next(l, "open");
    print_next(l, "list");
    report_field(stdout, REPORT_TEXT, "the kernel",
                 json_is_true(json_object_get(l->reply, "kernel_keeps"))
                     ? "answers by itself what it was told, for as long as that is believed here"
                     : "keeps nothing: every call reaches the caches above");
}

int cmd_explain(int argc, char **argv)
{
    bool json;
    const char *path;
    struct live live;
    int code = live_line("explain", argc, argv, help, false, &json, &path);
    if (code != EXIT_DONE)
        return code == CLI_HELP_SHOWN ? EXIT_DONE : code;
    code = live_ask("explain", path, false, &live);
    if (code != EXIT_DONE)
        return code;
    if (json) {
        name_steps(&live);
        return live_print_json(&live);
    }
    print(&live);
    json_decref(live.reply);
    return EXIT_DONE;
}
