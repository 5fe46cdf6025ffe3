/* `larder stat`: what the server says about one path. */
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "cli/cli.h"
#include "larder/larder.h"

static const char help[] =
    "larder stat -o credentials=FILE //server/share [PATH]\n\n"
    "Shows what the server says about a path: kind, size, times, attributes, links,\n"
    "inode number.\n\n"
    "  --json       one object; times in seconds since 1970\n"
    "  -o OPTION    username=, password=, domain=, credentials=FILE, guest, port=,\n"
    "               vers=, seal, profile=, events=FILE, or a setting such as\n"
    "               DirectoryCacheLifetime=60; repeatable\n"
    "  --keylog FILE  append the session's keys, for Wireshark and larder analyze\n\n"
    "The password comes from -o, LARDER_PASSWORD, or a prompt.\n";

static const struct {
    uint32_t bit;
    const char *name;
} attribute_names[] = {
    {0x0001, "readonly"},   {0x0002, "hidden"},  {0x0004, "system"},
    {0x0010, "directory"},  {0x0020, "archive"}, {0x0080, "normal"},
    {0x0100, "temporary"},  {0x0200, "sparse"},  {0x0400, "reparse-point"},
    {0x0800, "compressed"}, {0x1000, "offline"}, {0x2000, "not-content-indexed"},
    {0x4000, "encrypted"},
};

static void print_time(const char *label, struct timespec t)
{
    char text[64];
    struct tm tm;
    localtime_r(&t.tv_sec, &tm);
    strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &tm);
    printf("%-11s%s.%07ld\n", label, text, t.tv_nsec / 100);
}

static void print_text(const char *path, const struct larder_stat *s)
{
    printf("%-11s%s\n%-11s%s\n%-11s%" PRIu64 " (allocated %" PRIu64 ")\n", "path",
           *path ? path : "/", "kind", s->is_dir ? "directory" : "file", "size", s->size,
           s->allocated);
    print_time("created", s->created);
    print_time("written", s->written);
    print_time("changed", s->changed);
    print_time("accessed", s->accessed);
    printf("%-11s", "attributes");
    for (size_t i = 0; i < sizeof attribute_names / sizeof attribute_names[0]; i++)
        if (s->attributes & attribute_names[i].bit)
            printf("%s ", attribute_names[i].name);
    printf("(0x%04x)\n%-11s%" PRIu32 "\n%-11s%" PRIu64 "\n", s->attributes, "links", s->links,
           "inode", s->ino);
}

static double seconds(struct timespec t)
{
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void print_json(const char *path, const struct larder_stat *s)
{
    json_t *all = json_pack("{s:s, s:b, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f}", "path", path,
                            "dir", s->is_dir, "size", (json_int_t)s->size, "allocated",
                            (json_int_t)s->allocated, "attributes", (json_int_t)s->attributes,
                            "links", (json_int_t)s->links, "ino", (json_int_t)s->ino, "created",
                            seconds(s->created), "written", seconds(s->written), "changed",
                            seconds(s->changed), "accessed", seconds(s->accessed));
    json_dumpf(all, stdout, JSON_INDENT(1));
    putchar('\n');
    json_decref(all);
}

int cmd_stat(int argc, char **argv)
{
    struct cli_target t;
    bool json = false;
    int code = cli_tool_options(&t, argc, argv, "j", &json, help);
    if (code != EXIT_DONE)
        return code == CLI_HELP_SHOWN ? EXIT_DONE : code;
    struct larder *l;
    code = cli_connect("stat", &t, &l);
    if (code != EXIT_DONE)
        return code;
    struct larder_error err = {0};
    struct larder_stat s;
    if (larder_stat(l, t.path, &s, &err) < 0)
        code = cli_fail("stat", "%s", err.text);
    else if (json)
        print_json(t.path, &s);
    else
        print_text(t.path, &s);
    larder_disconnect(l);
    return code;
}
