/* `larder put`: files and trees of this machine to a share. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/copy_into.h"
#include "cli/glob.h"

static const char help[] =
    "larder put -r -o credentials=FILE photos report.pdf //server/share/DIR\n"
    "\n"
    "Copies files to a share, with their times; `-` is standard input. A file has a\n"
    ".part name until it is whole, and the same command goes on with it, 32 MiB\n"
    "before where it was cut off.\n"
    "\n"
    "  -r           directories too, with all in them: to DIR/photos; with a / at its\n"
    "               end (photos/) what is in it goes into DIR itself\n"
    "  -L           what links lead to, instead of the links\n"
    "  -u           not what has the same size and time there already\n"
    "  -q           no progress on the terminal\n"
    "  --json       figures at the end: files, bytes, resumed, seconds, requests ...\n"
    "  -o OPTION    username=, password=, domain=, credentials=FILE, guest, port=,\n"
    "               vers=, seal, profile=, or a setting; repeatable\n"
    "  --keylog FILE  append the session's keys, for Wireshark and larder analyze\n"
    "\n"
    "The target is taken as it is, but for a backslash, which takes the next\n"
    "character as it is. The password comes from -o, LARDER_PASSWORD, or a prompt.\n";

static int sources(struct copy_sources *s, char *const *operand, int count)
{
    for (int i = 0; i < count; i++)
        if (copy_sources_add_local(s, operand[i]) < 0)
            return cli_fail("put", "out of memory");
    return EXIT_DONE;
}

/* Standard input has no name that the target's directory could keep it by. */
static void put_input(struct copy *c, const struct place *target)
{
    struct larder_stat st;
    struct larder_error err;
    if (!*target->path || (place_stat(target, false, &st, &err) == 0 && st.is_dir))
        copy_fail(c, "standard input needs a file's name as its target, not a directory");
    else
        copy_from_standard(c, target);
}

static int check(const struct cli_line *line)
{
    const int last = line->operands - 1;
    if (last < 1 || !remotes_is_target(line->operand[last]))
        return cli_usage("put", "give files, and //HOST/SHARE/PATH as the last argument");
    for (int i = 0; i < last; i++)
        if (remotes_is_target(line->operand[i]))
            return cli_usage("put", "%s: on a share; larder cp copies from there",
                             line->operand[i]);
    return EXIT_DONE;
}

static int run(const struct cli_line *line, bool json, struct remotes *remotes, struct copy *c)
{
    int count = line->operands - 1;
    bool input = count == 1 && strcmp(line->operand[0], "-") == 0;
    struct spot spot;
    int code = remotes_find(remotes, line->operand[count], &spot);
    if (code != EXIT_DONE)
        return code;
    struct copy_sources s = {0};
    char *path = glob_target(spot.path);
    code = path ? sources(&s, line->operand, count) : cli_fail("put", "out of memory");
    const struct place target = {spot.l, path};
    if (code == EXIT_DONE && input)
        put_input(c, &target);
    else if (code == EXIT_DONE)
        copy_all(c, &s, &target);
    copy_sources_free(&s);
    free(path);
    spot_free(&spot);
    return code;
}

int cmd_put(int argc, char **argv)
{
    static const struct copy_command put = {"put", help, .follows = true, .check = check,
                                            .run = run};
    return copy_command(&put, argc, argv);
}
