/* `larder mkdir`: directories on a share. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/glob.h"
#include "cli/place.h"
#include "cli/remotes.h"

static const char help[] =
    "larder mkdir -p -o credentials=FILE //server/share/projects/2031/plans\n"
    "larder mkdir -o credentials=FILE //server/share DIRECTORY...\n"
    "\n"
    "Makes directories on a share.\n"
    "\n"
    "  -p           those above it too; one that is there already is no error\n"
    "  -o OPTION    username=, password=, domain=, credentials=FILE, guest, port=,\n"
    "               vers=, seal, profile=, or a setting; repeatable\n"
    "  --keylog FILE  append the session's keys, for Wireshark and larder analyze\n"
    "\n"
    "Names are taken as they are, but for a backslash, which takes the next character\n"
    "as it is. The password comes from -o, LARDER_PASSWORD, or a prompt.\n";

static int make_all(struct larder *l, char *path, struct larder_error *err)
{
    int r = 0;
    for (char *at = path; r == 0 && at;) {
        at = strchr(at, '/');
        if (at)
            *at = 0;
        r = place_mkdir(&(struct place){l, path}, err);
        if (at)
            *at++ = '/';
    }
    return r;
}

static int make(const struct spot *spot, bool parents)
{
    struct larder_error err;
    char *path = glob_literal(spot->path);
    if (!path)
        return cli_fail("mkdir", "out of memory");
    int r = !*path && parents ? 0
            : parents         ? make_all(spot->l, path, &err)
                              : larder_mkdir(spot->l, path, NULL, &err);
    free(path);
    return r < 0 ? cli_fail("mkdir", "%s", err.text) : EXIT_DONE;
}

static int make_each(const struct spot *spots, size_t count, const void *parents)
{
    int code = EXIT_DONE;
    for (size_t i = 0; i < count; i++)
        if (make(&spots[i], *(const bool *)parents) != EXIT_DONE)
            code = EXIT_FAILED;
    return code;
}

int cmd_mkdir(int argc, char **argv)
{
    struct cli_line line;
    bool parents = false;
    int code = cli_read_line(&line, argc, argv, "p", &parents, NULL, help);
    if (code != EXIT_DONE)
        return code == CLI_HELP_SHOWN ? EXIT_DONE : code;
    return remotes_run("mkdir", &line, make_each, &parents);
}
