/*
 * `larder mv`: renames and moves within a share, one request each. A name that differs from the old
 * one in case alone is a new spelling of it: through a mount the kernel does not ask for that.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf.h"
#include "cli/cli.h"
#include "cli/glob.h"
#include "cli/remotes.h"

static const char help[] =
    "larder mv -o credentials=FILE //server/share/old.txt //server/share/new.txt\n"
    "larder mv -o credentials=FILE //server/share FILE... TARGET\n"
    "\n"
    "Renames or moves files and directories within a share. Where the last argument\n"
    "is a directory they are moved into it; a file that has the new name already is\n"
    "replaced. A rename that changes case alone works: readme.txt README.txt.\n"
    "\n"
    "  -n           nothing is replaced\n"
    "  -o OPTION    username=, password=, domain=, credentials=FILE, guest, port=,\n"
    "               vers=, seal, profile=, or a setting; repeatable\n"
    "  --keylog FILE  append the session's keys, for Wireshark and larder analyze\n"
    "\n"
    "Wildcards (* ? [a-z], quoted) are matched on the server's names, in any case;\n"
    "a backslash takes the next character as it is.\n"
    "The password comes from -o, LARDER_PASSWORD, or a prompt.\n";

/* Where everything goes. */
struct goal {
    struct larder *l;
    const char *path; /* without a slash at its end */
    bool is_dir;      /* it is there, and a directory */
    bool replace;
};

static bool same_but_for_case(const char *a, const char *b)
{
    return utf8_fold_equal(a, strlen(a), b, strlen(b));
}

/* Servers refuse that for whatever reason comes first. */
static bool moves_into_itself(struct larder *l, const char *from, const char *to,
                              struct larder_error *err)
{
    size_t len = strlen(from);
    struct larder_stat st;
    struct larder_error ignored;
    if (strlen(to) <= len || to[len] != '/' || !utf8_fold_equal(from, len, to, len) ||
        larder_stat(l, from, &st, &ignored) < 0 || !st.is_dir)
        return false;
    *err = (struct larder_error){.code = -EINVAL};
    snprintf(err->text, sizeof err->text, "%.400s: a directory cannot be moved into itself", from);
    return true;
}

static int rename_to(const char *from, const char *to, const struct goal *goal, bool replace,
                     struct larder_error *err)
{
    return moves_into_itself(goal->l, from, to, err)
               ? err->code
               : larder_rename(goal->l, from, to, replace, err);
}

static int move(const char *from, const struct goal *goal, struct larder_error *err)
{
    const char *slash = strrchr(from, '/');
    if (!goal->is_dir || same_but_for_case(from, goal->path))
        return rename_to(from, goal->path, goal,
                         goal->replace && !same_but_for_case(from, goal->path), err);
    char *to;
    if (asprintf(&to, "%s%s%s", goal->path, *goal->path ? "/" : "", slash ? slash + 1 : from) < 0) {
        *err = (struct larder_error){.code = -ENOMEM, .text = "out of memory"};
        return -ENOMEM;
    }
    int r = rename_to(from, to, goal, goal->replace, err);
    free(to);
    return r;
}

static int move_paths(const struct glob_paths *paths, const struct goal *goal)
{
    int code = EXIT_DONE;
    for (size_t i = 0; i < paths->count; i++) {
        struct larder_error err;
        if (!*paths->path[i])
            code = cli_fail("mv", "the top of a share has no name to change");
        else if (move(paths->path[i], goal, &err) < 0)
            code = cli_fail("mv", "%s", err.text);
    }
    return code;
}

/* All but the last, whose kind is known by now. */
static int move_spots(const struct spot *spot, size_t count, const struct goal *goal)
{
    int code = EXIT_DONE;
    for (size_t i = 0; i < count; i++) {
        struct glob_paths paths;
        struct larder_error err;
        if (glob_expand(spot[i].l, spot[i].path, &paths, &err) < 0) {
            code = cli_fail("mv", "%s", err.text);
            continue;
        }
        if (!goal->is_dir && paths.count > 1)
            code = cli_fail("mv", "%s: not a directory, for more than one file", goal->path);
        else if (move_paths(&paths, goal) != EXIT_DONE)
            code = EXIT_FAILED;
        glob_paths_free(&paths);
    }
    return code;
}

static int run(const struct spot *spot, size_t count, const void *keep)
{
    if (count < 2)
        return cli_usage("mv", "give what is to be moved, and where to");
    const struct spot *last = &spot[count - 1];
    struct larder_stat st;
    struct larder_error err;
    for (size_t i = 0; i < count - 1; i++)
        if (spot[i].l != last->l)
            return cli_usage("mv", "%s and %s are two shares: larder cp, then rm", spot[i].typed,
                             last->typed);
    char *path = glob_literal(last->path);
    if (!path)
        return cli_fail("mv", "out of memory");
    size_t len = strlen(last->path);
    bool must_be = count > 2 || (len && last->path[len - 1] == '/');
    int r = larder_stat(last->l, path, &st, &err);
    const struct goal goal = {last->l, path, r == 0 && st.is_dir && !st.is_link,
                              !*(const bool *)keep};
    int code;
    if (r < 0 && r != -ENOENT)
        code = cli_fail("mv", "%s", err.text);
    else if (must_be && !goal.is_dir)
        code = cli_fail("mv", "%s: %s", path, r == 0 ? "not a directory" : "no such directory");
    else
        code = move_spots(spot, count - 1, &goal);
    free(path);
    return code;
}

int cmd_mv(int argc, char **argv)
{
    struct cli_line line;
    bool keep = false;
    int code = cli_read_line(&line, argc, argv, "n", &keep, NULL, help);
    if (code != EXIT_DONE)
        return code == CLI_HELP_SHOWN ? EXIT_DONE : code;
    return remotes_run("mv", &line, run, &keep);
}
