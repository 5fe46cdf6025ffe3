/*
 * Where copies go. A file goes into a target that is a directory, else it becomes the target. A
 * directory always goes into the target, which is made where it is not there; with a `/` at its end
 * only what is in it does. So the same command means the same when it is given again to go on with
 * a tree (cp(1), which copies a directory *as* a target that is not there and *into* one that is,
 * would begin a second copy).
 */
#include "cli/copy_into.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/glob.h"

/* Takes over `path`, which may be NULL. */
static int add(struct copy_sources *s, struct larder *l, char *path, bool content)
{
    struct copy_source *more = path ? realloc(s->source, (s->count + 1) * sizeof *s->source) : NULL;
    if (!more) {
        free(path);
        return -ENOMEM;
    }
    s->source = more;
    s->source[s->count++] = (struct copy_source){{l, path}, content};
    return 0;
}

static bool ends_in_slash(const char *path)
{
    size_t len = strlen(path);
    return len && path[len - 1] == '/';
}

/* The last component; `path` has no slash at its end. */
static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int copy_sources_add_local(struct copy_sources *s, const char *typed)
{
    char *path = strdup(typed);
    bool content = ends_in_slash(typed);
    for (size_t len = strlen(typed); path && len > 1 && path[len - 1] == '/';)
        path[--len] = 0;
    if (path) {
        const char *name = base_name(path);
        content = content || !strcmp(name, ".") || !strcmp(name, "..") || !*name;
    }
    return add(s, NULL, path, content);
}

int copy_sources_add_remote(struct copy_sources *s, const struct spot *spot,
                            struct larder_error *err)
{
    struct glob_paths paths;
    int r = glob_expand(spot->l, spot->path, &paths, err);
    if (r < 0)
        return r;
    for (size_t i = 0; r == 0 && i < paths.count; i++)
        r = add(s, spot->l, strdup(paths.path[i]), ends_in_slash(spot->path) || !*paths.path[i]);
    glob_paths_free(&paths);
    if (r < 0)
        *err = (struct larder_error){.code = r, .text = "out of memory"};
    return r;
}

void copy_sources_free(struct copy_sources *s)
{
    for (size_t i = 0; i < s->count; i++)
        free((char *)s->source[i].place.path);
    free(s->source);
    *s = (struct copy_sources){0};
}

/* ---- where to ---- */

static void fail(struct copy *c, const char *path, const char *what)
{
    char text[480];
    snprintf(text, sizeof text, "%.400s: %s", *path ? path : "/", what);
    copy_fail(c, text);
}

static void add_into(struct copy *c, const struct copy_source *from, const struct place *target)
{
    char *path;
    const char *slash = *target->path && !ends_in_slash(target->path) ? "/" : "";
    if (asprintf(&path, "%s%s%s", target->path, slash, base_name(from->place.path)) < 0) {
        fail(c, from->place.path, "out of memory");
        return;
    }
    copy_add(c, &from->place, &(struct place){target->l, path});
    free(path);
}

/* Copies a source whose kind is known to a target whose kind is. */
static void copy_one(struct copy *c, const struct copy_source *from, bool dir,
                     const struct place *target, bool target_is_dir)
{
    if (target_is_dir && !(dir && from->content))
        add_into(c, from, target);
    else
        copy_add(c, &from->place, target);
}

static void copy_to(struct copy *c, const struct copy_sources *s, const struct place *target)
{
    struct larder_stat st;
    struct larder_error err;
    int there = place_stat(target, true, &st, &err);
    if (there < 0 && there != -ENOENT) {
        copy_fail(c, err.text);
        return;
    }
    bool target_is_dir = there == 0 && st.is_dir;
    bool must_be = s->count > 1 || ends_in_slash(target->path);
    for (size_t i = 0; i < s->count; i++) {
        const struct copy_source *from = &s->source[i];
        int r = place_stat(&from->place, true, &st, &err);
        bool dir = r == 0 && st.is_dir && !st.is_link;
        if (r < 0) {
            copy_fail(c, err.text);
        } else if (dir && !copy_recursive(c)) {
            fail(c, from->place.path, "a directory: copied with -r only");
        } else if (dir && copy_is_within(&from->place, target)) { /* before anything is made */
            fail(c, from->place.path, "a directory cannot be copied into itself");
        } else if (!target_is_dir && (dir || must_be)) {
            r = there == 0 ? -ENOTDIR : copy_recursive(c) ? place_mkdir(target, &err) : -ENOENT;
            target_is_dir = r == 0;
            if (r < 0) {
                fail(c, target->path,
                     r == -ENOTDIR  ? "not a directory"
                     : r == -ENOENT ? "no such directory"
                                    : strerror(-r));
                return;
            }
            copy_one(c, from, dir, target, true);
        } else {
            copy_one(c, from, dir, target, target_is_dir);
        }
    }
}

void copy_all(struct copy *c, const struct copy_sources *s, const struct place *target)
{
    /* a link here that leads to something is what it leads to, and stays a link */
    char *led = target->l ? NULL : realpath(target->path, NULL);
    struct larder_stat st;
    struct larder_error ignored;
    if (led && place_stat(target, false, &st, &ignored) == 0 && st.is_link &&
        !ends_in_slash(target->path))
        copy_to(c, s, &(struct place){NULL, led});
    else
        copy_to(c, s, target);
    free(led);
}

/* ---- the end ---- */

static void print_json(const struct copy *c, const struct remotes *remotes)
{
    static const char *const counter[] = {"round_trips", "connection.max_read",
                                          "connection.max_write"};
    static const char *const request[] = {"CREATE", "CLOSE",           "READ",     "WRITE",
                                          "IOCTL",  "QUERY_DIRECTORY", "SET_INFO", "QUERY_INFO"};
    json_t *all = copy_json(c), *requests = json_object();
    for (size_t i = 0; i < sizeof counter / sizeof counter[0]; i++) {
        const char *dot = strchr(counter[i], '.');
        json_object_set_new(all, dot ? dot + 1 : counter[i],
                            json_integer(remotes_counter(remotes, counter[i])));
    }
    for (size_t i = 0; i < sizeof request / sizeof request[0]; i++) {
        char name[40];
        snprintf(name, sizeof name, "requests.%s", request[i]);
        long long n = remotes_counter(remotes, name); /* -1: never sent */
        json_object_set_new(requests, request[i], json_integer(n < 0 ? 0 : n));
    }
    json_object_set_new(all, "requests", requests);
    json_dumpf(all, stdout, JSON_INDENT(1));
    putchar('\n');
    json_decref(all);
}

int copy_command(const struct copy_command *command, int argc, char **argv)
{
    enum { RECURSIVE, QUIET, UPDATE, JSON, FOLLOW, FLAGS };
    struct cli_line line;
    bool flags[FLAGS] = {false};
    int code = cli_read_line(&line, argc, argv, command->follows ? "rqujL" : "rquj", flags, NULL,
                             command->help);
    if (code == EXIT_DONE && command->check)
        code = command->check(&line);
    if (code != EXIT_DONE)
        return code == CLI_HELP_SHOWN ? EXIT_DONE : code;
    const struct copy_options options = {.command = command->name,
                                         .recursive = flags[RECURSIVE],
                                         .quiet = flags[QUIET],
                                         .update = flags[UPDATE],
                                         .follow = flags[FOLLOW]};
    struct copy *c;
    struct remotes *remotes = remotes_new(command->name, &line);
    if (!remotes || copy_new(&options, &c) < 0) {
        remotes_free(remotes);
        return cli_fail(command->name, "out of memory");
    }
    code = command->run(&line, flags[JSON], remotes, c);
    int end = copy_end(c);
    if (code == EXIT_DONE && flags[JSON])
        print_json(c, remotes);
    remotes_free(remotes);
    copy_free(c);
    int signal = copy_signal();
    if (signal)
        raise(signal);
    return code == EXIT_DONE ? end : code;
}
