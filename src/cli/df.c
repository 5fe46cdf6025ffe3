/* `larder df`: how much room there is on shares. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/glob.h"
#include "cli/names.h"
#include "cli/progress.h"
#include "cli/remotes.h"
#include "report/report.h"

static const char help[] =
    "larder df -h -o credentials=FILE //server/share\n"
    "\n"
    "Shows how large the file system behind a share is, and how much of it is free.\n"
    "More than one share may be given.\n"
    "\n"
    "  -h           figures with units (1.4 TiB) instead of KiB\n"
    "  --json       an array of objects: share, total, free, available, block (all in\n"
    "               bytes), name_max\n"
    "  -o OPTION    username=, password=, domain=, credentials=FILE, guest, port=,\n"
    "               vers=, seal, profile=, or a setting; repeatable\n"
    "  --keylog FILE  append the session's keys, for Wireshark and larder analyze\n"
    "\n"
    "The password comes from -o, LARDER_PASSWORD, or a prompt.\n";

static void cell(struct report_table *t, uint64_t bytes, bool units)
{
    char number[REPORT_NUMBER], text[PROGRESS_BYTES];
    if (units)
        report_cell(t, "%s", progress_bytes(text, (double)bytes));
    else
        report_cell(t, "%s", report_count(number, bytes / 1024));
}

/* Rounded up, as df does; of what this user may have at all. */
static unsigned used_percent(const struct larder_statfs *fs)
{
    double used = (double)(fs->total_bytes - fs->free_bytes);
    double all = used + (double)fs->available_bytes;
    return all > 0 ? (unsigned)(100 * used / all + 0.999) : 0;
}

static void add_row(struct report_table *t, const char *share, struct larder_statfs *fs, bool units)
{
    if (fs->free_bytes > fs->total_bytes)
        fs->free_bytes = fs->total_bytes;
    report_row(t);
    report_cell(t, "%s", share);
    cell(t, fs->total_bytes, units);
    cell(t, fs->total_bytes - fs->free_bytes, units);
    cell(t, fs->available_bytes, units);
    report_cell(t, "%u %%", used_percent(fs));
}

static json_t *row_json(const char *share, const struct larder_statfs *fs)
{
    json_t *o = json_object();
    name_json(o, "share", share);
    json_object_update_new(
        o, json_pack("{s:I, s:I, s:I, s:I, s:I}", "total", (json_int_t)fs->total_bytes, "free",
                     (json_int_t)fs->free_bytes, "available", (json_int_t)fs->available_bytes,
                     "block", (json_int_t)fs->block_size, "name_max", (json_int_t)fs->name_max));
    return o;
}

static struct report_table *new_table(bool units)
{
    struct report_table *t = report_table_new();
    report_column(t, REPORT_LEFT, "share");
    report_column(t, REPORT_RIGHT, units ? "size" : "size (KiB)");
    report_column(t, REPORT_RIGHT, "used");
    report_column(t, REPORT_RIGHT, "available");
    report_column(t, REPORT_RIGHT, "use");
    return t;
}

/* The figures are the whole share's; but a path that is not there is a mistake of the caller's. */
static int measure(const struct spot *spot, struct larder_statfs *ret, struct larder_error *err)
{
    struct larder_stat st;
    char *path = glob_literal(spot->path);
    if (!path) {
        *err = (struct larder_error){.code = -ENOMEM, .text = "out of memory"};
        return -ENOMEM;
    }
    int r = *path ? larder_stat(spot->l, path, &st, err) : 0;
    free(path);
    return r < 0 ? r : larder_statfs(spot->l, ret, err);
}

enum { UNITS, JSON, FLAGS };

static int show(const struct spot *spot, size_t count, const void *flags)
{
    const bool units = ((const bool *)flags)[UNITS], json = ((const bool *)flags)[JSON];
    json_t *all = json ? json_array() : NULL;
    struct report_table *t = json ? NULL : new_table(units);
    int code = EXIT_DONE;
    for (size_t i = 0; i < count; i++) {
        struct larder_statfs fs;
        struct larder_error err;
        if (measure(&spot[i], &fs, &err) < 0)
            code = cli_fail("df", "%s", err.text);
        else if (json)
            json_array_append_new(all, row_json(spot[i].typed, &fs));
        else
            add_row(t, spot[i].typed, &fs, units);
    }
    if (json) {
        json_dumpf(all, stdout, JSON_INDENT(1));
        putchar('\n');
    } else if (report_print(t, stdout, REPORT_TEXT) == -ENOMEM) {
        code = cli_fail("df", "out of memory");
    }
    json_decref(all);
    report_table_free(t);
    return code;
}

int cmd_df(int argc, char **argv)
{
    struct cli_line line;
    bool flags[FLAGS] = {false};
    int code = cli_read_line(&line, argc, argv, "hj", flags, NULL, help);
    if (code != EXIT_DONE)
        return code == CLI_HELP_SHOWN ? EXIT_DONE : code;
    return remotes_run("df", &line, show, flags);
}
