/* `larder get`: files and trees of shares to this machine. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/copy_into.h"

static const char help[] =
    "larder get -r -o credentials=FILE //server/share/photos DIR\n"
    "larder get -o credentials=FILE '//server/share/*.pdf'\n"
    "\n"
    "Copies files to this machine, with their times: into the current directory where\n"
    "no last argument says otherwise; `-` is standard output. A file has a .part name\n"
    "until it is whole, and the same command goes on with it.\n"
    "\n"
    "  -r           directories too, with all in them: to DIR/photos; with a / at its\n"
    "               end (photos/) what is in it goes into DIR itself\n"
    "  -u           not what has the same size and time here already\n"
    "  -q           no progress on the terminal\n"
    "  --json       figures at the end: files, bytes, resumed, seconds, requests ...\n"
    "  -o OPTION    username=, password=, domain=, credentials=FILE, guest, port=,\n"
    "               vers=, seal, profile=, or a setting; repeatable\n"
    "  --keylog FILE  append the session's keys, for Wireshark and larder analyze\n"
    "\n"
    "Wildcards (* ? [a-z], quoted) are matched on the server's names, in any case;\n"
    "a backslash takes the next character as it is.\n"
    "Links are copied as links. The password comes from -o,\n"
    "LARDER_PASSWORD, or a prompt.\n";

/* The operands but a last one that is of this machine. */
static int sources(struct copy_sources *s, struct remotes *remotes, struct copy *c, char **operand,
                   int count)
{
    for (int i = 0; i < count; i++) {
        struct spot spot;
        struct larder_error err;
        int code = remotes_find(remotes, operand[i], &spot);
        if (code != EXIT_DONE)
            return code;
        if (copy_sources_add_remote(s, &spot, &err) < 0)
            copy_fail(c, err.text);
        spot_free(&spot);
    }
    return EXIT_DONE;
}

static int check(const struct cli_line *line)
{
    return line->operands < 1 || !remotes_is_target(line->operand[0])
               ? cli_usage("get", "give //HOST/SHARE/PATH, and where to")
               : EXIT_DONE;
}

static int run(const struct cli_line *line, bool json, struct remotes *remotes, struct copy *c)
{
    int remote = line->operands;
    const char *target = ".";
    if (remote > 1 && !remotes_is_target(line->operand[remote - 1]))
        target = line->operand[--remote];
    struct copy_sources s = {0};
    int code = sources(&s, remotes, c, line->operand, remote);
    bool to_output = strcmp(target, "-") == 0;
    if (code == EXIT_DONE && to_output && (remote > 1 || s.count > 1 || json))
        code = cli_usage("get", "standard output takes one file, and no --json");
    if (code == EXIT_DONE && to_output && s.count)
        copy_to_standard(c, &s.source[0].place);
    else if (code == EXIT_DONE && s.count)
        copy_all(c, &s, &(struct place){NULL, target});
    copy_sources_free(&s);
    return code;
}

int cmd_get(int argc, char **argv)
{
    static const struct copy_command get = {"get", help, .check = check, .run = run};
    return copy_command(&get, argc, argv);
}
