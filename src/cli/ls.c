/* `larder ls`: a directory of a share, one line a name. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/glob.h"
#include "cli/names.h"
#include "cli/remotes.h"
#include "larder/larder.h"

static const char help[] =
    "larder ls -o credentials=FILE //server/share [DIRECTORY]\n\n"
    "Lists a directory of a share, by name. A path that is a file lists that file.\n"
    "Wildcards (* ? [a-z], quoted) are matched on the server's names, in any case;\n"
    "a backslash takes the next character as it is.\n\n"
    "  -l, --long   kind, size, time of the last write, name\n"
    "  --json       objects: name, dir, size, allocated, attributes, written, ino\n"
    "  -o OPTION    username=, password=, domain=, credentials=FILE, guest, port=,\n"
    "               vers=, seal, profile=, events=FILE, or a setting such as\n"
    "               DirectoryCacheLifetime=60; repeatable\n"
    "  --keylog FILE  append the session's keys, for Wireshark and larder analyze\n\n"
    "The password comes from -o, LARDER_PASSWORD, or a prompt.\n";

struct line {
    const char *name;
    struct larder_stat stat;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct line *)a)->name, ((const struct line *)b)->name);
}

static void print_time(struct timespec t)
{
    char text[32];
    struct tm tm;
    localtime_r(&t.tv_sec, &tm);
    strftime(text, sizeof text, "%Y-%m-%d %H:%M", &tm);
    fputs(text, stdout);
}

static void print_name(const char *name)
{
    name_print(name);
    putchar('\n');
}

static void print_long(const struct line *l)
{
    printf("%c%c %12" PRIu64 " ",
           l->stat.is_dir               ? 'd'
           : l->stat.attributes & 0x400 ? 'l'
                                        : '-',
           l->stat.attributes & 1 ? 'r' : 'w', l->stat.size);
    print_time(l->stat.written);
    putchar(' ');
    print_name(l->name);
}

static json_t *line_json(const struct line *l)
{
    json_t *o = json_object();
    name_json(o, "name", l->name);
    json_object_update_new(
        o, json_pack("{s:b, s:I, s:I, s:I, s:f, s:I}", "dir", l->stat.is_dir, "size",
                     (json_int_t)l->stat.size, "allocated", (json_int_t)l->stat.allocated,
                     "attributes", (json_int_t)l->stat.attributes, "written",
                     (double)l->stat.written.tv_sec + (double)l->stat.written.tv_nsec / 1e9, "ino",
                     (json_int_t)l->stat.ino));
    return o;
}

struct style {
    bool detailed, json;
};

static void print_all(const struct line *lines, size_t count, const struct style *style)
{
    json_t *all = style->json ? json_array() : NULL;
    for (size_t i = 0; i < count; i++) {
        if (all)
            json_array_append_new(all, line_json(&lines[i]));
        else if (style->detailed)
            print_long(&lines[i]);
        else
            print_name(lines[i].name);
    }
    if (all) {
        json_dumpf(all, stdout, JSON_INDENT(1));
        putchar('\n');
        json_decref(all);
    }
}

static int list_directory(struct larder *l, const char *path, const struct style *style,
                          struct larder_error *err)
{
    struct larder_dir *d;
    int r = larder_list(l, path, &d, err);
    if (r < 0)
        return r;
    size_t count = larder_dir_count(d);
    struct line *lines = calloc(count ? count : 1, sizeof *lines);
    for (size_t i = 0; lines && i < count; i++)
        lines[i].name = larder_dir_entry(d, i, &lines[i].stat);
    if (lines) {
        qsort(lines, count, sizeof *lines, by_name);
        print_all(lines, count, style);
    } else {
        *err = (struct larder_error){.code = -ENOMEM, .text = "out of memory"};
    }
    free(lines);
    larder_dir_close(d);
    return lines ? 0 : -ENOMEM;
}

/* Paths as they are, also of directories. */
static int list_paths(struct larder *l, const struct glob_paths *paths, const struct style *style,
                      struct larder_error *err)
{
    struct line *lines = calloc(paths->count, sizeof *lines);
    int r = lines ? 0 : -ENOMEM;
    if (r < 0)
        *err = (struct larder_error){.code = r, .text = "out of memory"};
    for (size_t i = 0; r == 0 && i < paths->count; i++) {
        lines[i].name = paths->path[i];
        r = larder_stat(l, paths->path[i], &lines[i].stat, err);
    }
    if (r == 0)
        print_all(lines, paths->count, style);
    free(lines);
    return r;
}

static int list_spot(const struct spot *spot, const struct style *style, struct larder_error *err)
{
    struct glob_paths paths;
    int r = glob_expand(spot->l, spot->path, &paths, err);
    if (r < 0)
        return r;
    r = paths.count == 1 ? list_directory(spot->l, paths.path[0], style, err) : -ENOTDIR;
    if (r == -ENOTDIR)
        r = list_paths(spot->l, &paths, style, err);
    glob_paths_free(&paths);
    return r;
}

static int run(const struct spot *spot, size_t count, const void *style)
{
    struct larder_error err = {0};
    return list_spot(spot, style, &err) < 0 ? cli_fail("ls", "%s", err.text) : EXIT_DONE;
}

int cmd_ls(int argc, char **argv)
{
    struct cli_line line;
    bool flags[2] = {false};
    int code = cli_read_line(&line, argc, argv, "lj", flags, NULL, help);
    if (code != EXIT_DONE)
        return code == CLI_HELP_SHOWN ? EXIT_DONE : code;
    if (line.operands < 1 || line.operands > 2 ||
        (line.operands == 2 && remotes_is_target(line.operand[1])))
        return cli_usage("ls", "give a target //HOST/SHARE and at most one path");
    return remotes_run("ls", &line, run, &(struct style){flags[0], flags[1]});
}
