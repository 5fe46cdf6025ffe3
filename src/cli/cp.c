/* `larder cp`: copies within and between shares. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/copy_into.h"
#include "cli/glob.h"

static const char help[] =
    "larder cp -r -o credentials=FILE //server/share/photos //server/share/backup\n"
    "larder cp -o credentials=FILE //server/share FILE... TARGET\n"
    "\n"
    "Copies files on a share, with their times. Within one share the server copies,\n"
    "between two the data passes through here. A file has a .part name until it is\n"
    "whole, and the same command goes on with it.\n"
    "\n"
    "  -r           directories too, with all in them: to backup/photos; with a / at\n"
    "               its end (photos/) what is in it goes into the target itself\n"
    "  -u           not what has the same size and time there already\n"
    "  -q           no progress on the terminal\n"
    "  --json       figures at the end: files, bytes, seconds, requests ...\n"
    "  -o OPTION    username=, password=, domain=, credentials=FILE, guest, port=,\n"
    "               vers=, seal, profile=, or a setting; repeatable\n"
    "  --keylog FILE  append the session's keys, for Wireshark and larder analyze\n"
    "\n"
    "Wildcards (* ? [a-z], quoted) are matched on the server's names, in any case;\n"
    "a backslash takes the next character as it is.\n"
    "Links are copied as links. The password comes from -o,\n"
    "LARDER_PASSWORD, or a prompt.\n";

static int run(const struct cli_line *line, bool json, struct remotes *remotes, struct copy *c)
{
    struct spot *spot;
    size_t count;
    int code = remotes_find_all(remotes, line, &spot, &count);
    if (code != EXIT_DONE)
        return code;
    if (count < 2) {
        spots_free(spot, count);
        return cli_usage("cp", "give what is to be copied, and where to");
    }
    struct copy_sources s = {0};
    struct larder_error err;
    for (size_t i = 0; i < count - 1; i++)
        if (copy_sources_add_remote(&s, &spot[i], &err) < 0)
            copy_fail(c, err.text);
    char *path = glob_target(spot[count - 1].path);
    if (!path)
        code = cli_fail("cp", "out of memory");
    else if (s.count)
        copy_all(c, &s, &(struct place){spot[count - 1].l, path});
    free(path);
    copy_sources_free(&s);
    spots_free(spot, count);
    return code;
}

int cmd_cp(int argc, char **argv)
{
    static const struct copy_command cp = {"cp", help, .run = run};
    return copy_command(&cp, argc, argv);
}
