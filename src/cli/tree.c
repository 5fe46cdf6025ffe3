/*
 * `larder tree`: all below a directory of a share, as a tree. Everything is printed as it is
 * walked, in JSON too, so that a share of any size can be shown.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/glob.h"
#include "cli/names.h"
#include "cli/remotes.h"
#include "cli/walk.h"
#include "report/report.h"

static const char help[] =
    "larder tree -L 2 -o credentials=FILE //server/share [DIRECTORY]\n"
    "\n"
    "Shows what is below a directory of a share, sorted by name, with sizes in bytes.\n"
    "Links are not followed. What cannot be read is shown with its reason, and makes\n"
    "the exit code 1.\n"
    "\n"
    "  -L DEPTH     so many levels at most, from 1 to 32767\n"
    "  --json       one object: entries (path, dir, link, size, attributes, written;\n"
    "               or path, error), directories, files, bytes\n"
    "  -o OPTION    username=, password=, domain=, credentials=FILE, guest, port=,\n"
    "               vers=, seal, profile=, or a setting; repeatable\n"
    "  --keylog FILE  append the session's keys, for Wireshark and larder analyze\n"
    "\n"
    "The password comes from -o, LARDER_PASSWORD, or a prompt.\n";

#define DEPTH_MAX 32767ul /* no path has more components */

struct sums {
    uint64_t dirs, files, bytes;
    bool any, errors;
};

static void print_branch(const struct walk *w, const struct walk_step *s)
{
    for (unsigned depth = 1; depth < s->depth; depth++)
        fputs(walk_is_last(w, depth) ? "    " : "\u2502   ", stdout);
    if (s->depth)
        fputs(s->last ? "\u2514\u2500\u2500 " : "\u251c\u2500\u2500 ", stdout);
}

static void print_text(const struct walk *w, const struct walk_step *s, const char *typed)
{
    char size[REPORT_NUMBER];
    if (s->event == WALK_ERROR) { /* below the directory itself, or in place of a name */
        fputs("    ", stdout);
        print_branch(w, s);
        printf("[%s]\n", s->error.text);
        return;
    }
    print_branch(w, s);
    name_print(s->depth ? s->name : typed);
    if (s->stat.is_link)
        fputs(" (link)", stdout);
    else if (s->event == WALK_FILE)
        printf(" (%s)", report_count(size, s->stat.size));
    else if (s->depth)
        putchar('/');
    putchar('\n');
}

static void print_json(const struct walk_step *s, bool first)
{
    json_t *o = json_object();
    name_json(o, "path", s->below);
    if (s->event == WALK_ERROR)
        json_object_set_new(o, "error", json_string(s->error.text));
    else
        json_object_update_new(
            o, json_pack("{s:b, s:b, s:I, s:I, s:f}", "dir", s->stat.is_dir, "link",
                         s->stat.is_link, "size", (json_int_t)s->stat.size, "attributes",
                         (json_int_t)s->stat.attributes, "written",
                         (double)s->stat.written.tv_sec + (double)s->stat.written.tv_nsec / 1e9));
    fputs(first ? "\n  " : ",\n  ", stdout);
    json_dumpf(o, stdout, JSON_COMPACT);
    json_decref(o);
}

static void add(struct sums *sums, const struct walk_step *s)
{
    sums->any = true;
    if (s->event == WALK_ERROR) {
        sums->errors = true;
    } else if (s->event == WALK_DIR) {
        sums->dirs += s->depth > 0;
    } else {
        sums->files++;
        sums->bytes += s->stat.size;
    }
}

static void print_sums(const struct sums *sums, bool json)
{
    char dirs[REPORT_NUMBER], files[REPORT_NUMBER], bytes[REPORT_NUMBER];
    if (json)
        printf("\n ],\n \"directories\": %llu,\n \"files\": %llu,\n \"bytes\": %llu\n}\n",
               (unsigned long long)sums->dirs, (unsigned long long)sums->files,
               (unsigned long long)sums->bytes);
    else
        printf("\n%s director%s, %s file%s, %s bytes\n", report_count(dirs, sums->dirs),
               sums->dirs == 1 ? "y" : "ies", report_count(files, sums->files),
               sums->files == 1 ? "" : "s", report_count(bytes, sums->bytes));
}

struct style {
    unsigned long levels;
    bool json;
};

static int show(const struct spot *spot, const char *path, const struct style *style)
{
    struct larder_stat st;
    struct larder_error err;
    if (larder_stat(spot->l, path, &st, &err) < 0)
        return cli_fail("tree", "%s", err.text);
    if (!st.is_dir || st.is_link)
        return cli_fail("tree", "%s: not a directory", path);
    struct walk *w = walk_new(&(struct place){spot->l, path}, &st, false);
    if (!w)
        return cli_fail("tree", "out of memory");
    struct sums sums = {0};
    const struct walk_step *s;
    if (style->json)
        fputs("{\n \"entries\": [", stdout);
    while ((s = walk_next(w))->event != WALK_END) {
        if (s->event == WALK_LEAVE)
            continue;
        if (style->json)
            print_json(s, !sums.any);
        else
            print_text(w, s, spot->typed);
        add(&sums, s);
        if (s->event == WALK_DIR && s->depth >= style->levels)
            walk_skip(w);
    }
    print_sums(&sums, style->json);
    walk_free(w);
    return sums.errors ? EXIT_FAILED : EXIT_DONE;
}

static int run(const struct spot *spot, size_t count, const void *style)
{
    char *path = glob_literal(spot->path);
    int code = path ? show(spot, path, style) : cli_fail("tree", "out of memory");
    free(path);
    return code;
}

int cmd_tree(int argc, char **argv)
{
    struct cli_line line;
    bool flags[2] = {false};
    const char *value[2] = {NULL};
    unsigned long levels = DEPTH_MAX;
    int code = cli_read_line(&line, argc, argv, "L:j", flags, value, help);
    if (code != EXIT_DONE)
        return code == CLI_HELP_SHOWN ? EXIT_DONE : code;
    if (flags[0] && (code = cli_number("tree", "-L", value[0], 1, DEPTH_MAX, &levels)))
        return code;
    if (line.operands < 1 || line.operands > 2 ||
        (line.operands == 2 && remotes_is_target(line.operand[1])))
        return cli_usage("tree", "give a target //HOST/SHARE and at most one directory");
    return remotes_run("tree", &line, run, &(struct style){levels, flags[1]});
}
