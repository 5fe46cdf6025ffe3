/* `larder drop`: has a live mount forget what it believes of a path. */
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/live.h"
#include "report/report.h"

static const char help[] =
    "larder drop /mnt/some/path\n\n"
    "Has a mounted share forget what it believes of a path and of all beneath it, so\n"
    "that the server is asked when it is next wanted; with the mounted directory\n"
    "itself everything. Without a path: everything of the mount that the current\n"
    "directory is on. The kernel's share is forgotten, too, where it can be told.\n"
    "Nothing is sent to the server. `larder explain PATH` shows what is believed.\n\n"
    "  --json   {\"dropped\": {\"dir\", \"info\", \"notfound\"}, \"kernel_told\", ...}\n";

static void count(const json_t *dropped, const char *key, const char *one, const char *many)
{
    char n[REPORT_NUMBER];
    uint64_t k = live_number(dropped, key);
    printf(" %s %s", report_count(n, k), k == 1 ? one : many);
}

static void print(const json_t *reply)
{
    const json_t *dropped = json_object_get(reply, "dropped");
    printf("forgotten:");
    count(dropped, "dir", "listing,", "listings,");
    count(dropped, "info", "file's attributes,", "files' attributes,");
    count(dropped, "notfound", "missing name\n", "missing names\n");
    if (json_is_true(json_object_get(reply, "kernel_told")))
        printf("the kernel is told to forget its share\n");
}

int cmd_drop(int argc, char **argv)
{
    bool json;
    const char *path;
    struct live live;
    int code = live_line("drop", argc, argv, help, true, &json, &path);
    if (code != EXIT_DONE)
        return code == CLI_HELP_SHOWN ? EXIT_DONE : code;
    code = live_ask("drop", path ? path : ".", !path, &live);
    if (code != EXIT_DONE)
        return code;
    if (json)
        return live_print_json(&live);
    print(live.reply);
    json_decref(live.reply);
    return EXIT_DONE;
}
