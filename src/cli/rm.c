/*
 * `larder rm`: removes files and trees from a share. A tree is walked, and everything removed on
 * the way back; a link is removed itself, whatever it leads to. What cannot be removed keeps the
 * directories above it, which are then not tried.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/glob.h"
#include "cli/remotes.h"
#include "cli/walk.h"

static const char help[] =
    "larder rm -r -o credentials=FILE //server/share/old '//server/share/*.tmp'\n"
    "larder rm -o credentials=FILE //server/share FILE...\n"
    "\n"
    "Removes files from a share. There is no way back.\n"
    "\n"
    "  -r           directories too, with all in them; links are removed, and not\n"
    "               followed\n"
    "  -f           what is not there is no error\n"
    "  -o OPTION    username=, password=, domain=, credentials=FILE, guest, port=,\n"
    "               vers=, seal, profile=, or a setting; repeatable\n"
    "  --keylog FILE  append the session's keys, for Wireshark and larder analyze\n"
    "\n"
    "Wildcards (* ? [a-z], quoted) are matched on the server's names, in any case;\n"
    "a backslash takes the next character as it is.\n"
    "The top of a share is refused.\n"
    "The password comes from -o, LARDER_PASSWORD, or a prompt.\n";

enum { RECURSIVE, FORCE, FLAGS };

static int told(const char *text)
{
    return cli_fail("rm", "%s", text);
}

static int remove_tree(struct larder *l, const char *path, const struct larder_stat *st)
{
    const struct place top = {l, path};
    struct walk *w = walk_new(&top, st, false);
    const struct walk_step *s;
    int code = w ? EXIT_DONE : told("out of memory");
    unsigned keep = 0; /* directories less deep than this are not empty */
    while (w && (s = walk_next(w))->event != WALK_END && !larder_lost(l, NULL)) {
        struct larder_error err;
        int r = 0;
        if (s->event == WALK_LEAVE && s->depth < keep)
            keep = s->depth;
        else if (s->event == WALK_LEAVE)
            r = larder_remove(l, s->path, true, &err);
        else if (s->event == WALK_FILE)
            r = larder_remove(l, s->path, s->stat.is_dir, &err);
        if (r < 0 || s->event == WALK_ERROR) {
            code = told(r < 0 ? err.text : s->error.text);
            keep = s->depth + (s->event == WALK_ERROR);
        }
    }
    walk_free(w);
    return code;
}

static int remove_path(struct larder *l, const char *path, const bool *flags)
{
    struct larder_stat st;
    struct larder_error err;
    if (!*path)
        return told("the top of a share is not removed");
    int r = larder_stat(l, path, &st, &err);
    if (r == -ENOENT && flags[FORCE])
        return EXIT_DONE;
    if (r == 0 && st.is_dir && !st.is_link) {
        if (flags[RECURSIVE])
            return remove_tree(l, path, &st);
        return cli_fail("rm", "%s: a directory: removed with -r only", path);
    }
    if (r == 0)
        r = larder_remove(l, path, st.is_dir, &err);
    return r < 0 ? told(err.text) : EXIT_DONE;
}

static int remove_spot(const struct spot *spot, const bool *flags)
{
    struct glob_paths paths;
    struct larder_error err;
    int code = EXIT_DONE, r = glob_expand(spot->l, spot->path, &paths, &err);
    if (r == -ENOENT && flags[FORCE])
        return EXIT_DONE;
    if (r < 0)
        return told(err.text);
    for (size_t i = 0; i < paths.count; i++)
        if (remove_path(spot->l, paths.path[i], flags) != EXIT_DONE)
            code = EXIT_FAILED;
    glob_paths_free(&paths);
    return code;
}

static int remove_all(const struct spot *spots, size_t count, const void *flags)
{
    int code = EXIT_DONE;
    for (size_t i = 0; i < count; i++)
        if (remove_spot(&spots[i], flags) != EXIT_DONE)
            code = EXIT_FAILED;
    return code;
}

int cmd_rm(int argc, char **argv)
{
    struct cli_line line;
    bool flags[FLAGS] = {false};
    int code = cli_read_line(&line, argc, argv, "rf", flags, NULL, help);
    if (code != EXIT_DONE)
        return code == CLI_HELP_SHOWN ? EXIT_DONE : code;
    return remotes_run("rm", &line, remove_all, flags);
}
