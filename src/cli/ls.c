/* `larder ls`: a directory of a share, one line a name. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "larder/larder.h"

static const char help[] =
    "larder ls -o credentials=FILE //server/share [DIRECTORY]\n\n"
    "Lists a directory of a share, by name. A path that is a file lists that file.\n\n"
    "  -l, --long   kind, size, time of the last write, name\n"
    "  --json       objects: name, dir, size, allocated, attributes, written, ino\n"
    "  -o OPTION    username=, password=, domain=, credentials=FILE, guest, port=,\n"
    "               vers=, profile=, events=FILE, or a setting such as\n"
    "               DirectoryCacheLifetime=60; repeatable\n\n"
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

/* On a terminal a name must not move the cursor. */
static void print_name(const char *name)
{
    bool terminal = isatty(STDOUT_FILENO);
    for (; *name; name++)
        putchar(terminal && ((unsigned char)*name < 0x20 || *name == 0x7f) ? '?' : *name);
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

/* A name with a lone surrogate is no JSON string: `name` shows it with `?`, `name_hex` has its
 * bytes. */
static void set_name(json_t *o, const char *name)
{
    json_t *string = json_string(name);
    if (string) {
        json_object_set_new(o, "name", string);
        return;
    }
    char shown[CLI_NAME_MAX], hex[2 * CLI_NAME_MAX];
    size_t len = strlen(name);
    for (size_t i = 0; i < len; i++) {
        shown[i] = (unsigned char)name[i] < 0x80 ? name[i] : '?';
        sprintf(hex + 2 * i, "%02x", (unsigned char)name[i]);
    }
    json_object_set_new(o, "name", json_stringn(shown, len));
    json_object_set_new(o, "name_hex", json_stringn(hex, 2 * len));
}

static json_t *line_json(const struct line *l)
{
    json_t *o = json_object();
    set_name(o, l->name);
    json_object_update_new(
        o, json_pack("{s:b, s:I, s:I, s:I, s:f, s:I}", "dir", l->stat.is_dir, "size",
                     (json_int_t)l->stat.size, "allocated", (json_int_t)l->stat.allocated,
                     "attributes", (json_int_t)l->stat.attributes, "written",
                     (double)l->stat.written.tv_sec + (double)l->stat.written.tv_nsec / 1e9, "ino",
                     (json_int_t)l->stat.ino));
    return o;
}

static void print_all(const struct line *lines, size_t count, bool detailed, bool json)
{
    json_t *all = json ? json_array() : NULL;
    for (size_t i = 0; i < count; i++) {
        if (json)
            json_array_append_new(all, line_json(&lines[i]));
        else if (detailed)
            print_long(&lines[i]);
        else
            print_name(lines[i].name);
    }
    if (json) {
        json_dumpf(all, stdout, JSON_INDENT(1));
        putchar('\n');
        json_decref(all);
    }
}

static int list_directory(struct larder *l, const char *path, bool detailed, bool json,
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
        print_all(lines, count, detailed, json);
    }
    free(lines);
    larder_dir_close(d);
    return lines ? 0 : -1;
}

int cmd_ls(int argc, char **argv)
{
    struct cli_target t;
    bool flags[2] = {false};
    int code = cli_tool_options(&t, argc, argv, "lj", flags, help);
    if (code != EXIT_DONE)
        return code == CLI_HELP_SHOWN ? EXIT_DONE : code;
    struct larder *l;
    code = cli_connect("ls", &t, &l);
    if (code != EXIT_DONE)
        return code;
    struct larder_error err = {0};
    int r = list_directory(l, t.path, flags[0], flags[1], &err);
    struct line file = {.name = t.path};
    if (r == -ENOTDIR && larder_stat(l, t.path, &file.stat, &err) == 0) {
        print_all(&file, 1, flags[0], flags[1]);
        r = 0;
    }
    if (r < 0)
        code = cli_fail("ls", "%s", err.text[0] ? err.text : "out of memory");
    larder_disconnect(l);
    return code;
}
