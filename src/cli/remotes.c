/*
 * Which share an argument means. `//host/share/path` is cut behind the share: what is in front
 * names a connection, which is made once, however often the command line names it; what is behind
 * is a path in it, or a pattern. In an smb: URL the path is decoded here, as its other parts are by
 * the library. A password from the environment serves all of them; a prompt asks for each.
 */
#include "cli/remotes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct connection {
    char *target; /* without the path */
    struct larder *l;
};

struct remotes {
    const char *command;
    const struct cli_line *line;
    char *password; /* from the environment; NULL: none */
    struct connection *connection;
    size_t connections;
};

static bool is_url(const char *arg)
{
    return strncasecmp(arg, "smb://", 6) == 0;
}

bool remotes_is_target(const char *arg)
{
    return is_url(arg) || strncmp(arg, "//", 2) == 0 || strncmp(arg, "\\\\", 2) == 0;
}

struct remotes *remotes_new(const char *command, const struct cli_line *line)
{
    struct remotes *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    *s = (struct remotes){.command = command, .line = line, .password = cli_environment_password()};
    return s;
}

struct remotes *remotes_free(struct remotes *s)
{
    if (!s)
        return NULL;
    for (size_t i = 0; i < s->connections; i++) {
        larder_disconnect(s->connection[i].l);
        explicit_bzero(s->connection[i].target, strlen(s->connection[i].target));
        free(s->connection[i].target);
    }
    free(s->connection);
    if (s->password)
        explicit_bzero(s->password, strlen(s->password));
    free(s->password);
    free(s);
    return NULL;
}

/* Where the path begins: behind the second slash after the prefix; the end where there is none. */
static size_t target_length(const char *typed, char slash)
{
    const char *at = typed + (is_url(typed) ? 6 : 2);
    for (int i = 0; i < 2; i++) {
        at += strcspn(at, (char[]){slash, 0});
        if (i == 0 && *at)
            at++;
    }
    return (size_t)(at - typed);
}

/* What stands behind the share, as a path: `\` between components in the form with backslashes, %XX
 * in a URL. A broken escape stays as it is. */
static char *typed_path(const char *typed, size_t from)
{
    char *path = strdup(typed + from);
    if (!path)
        return NULL;
    char *out = path;
    bool url = is_url(typed), backslashes = *typed == '\\';
    for (const char *in = path; *in; in++) {
        unsigned byte;
        char digits[3] = {in[0] ? in[1] : 0, in[0] && in[1] ? in[2] : 0, 0};
        if (url && *in == '%' && strspn(digits, "0123456789abcdefABCDEF") == 2 &&
            sscanf(digits, "%2x", &byte) == 1 && byte) {
            *out++ = (char)byte;
            in += 2;
        } else {
            *out++ = backslashes && *in == '\\' ? '/' : *in;
        }
    }
    *out = 0;
    return path;
}

/* The connection for this target, made where it is not there. */
static int connect_to(struct remotes *s, const char *target, struct larder **ret)
{
    for (size_t i = 0; i < s->connections; i++)
        if (strcasecmp(s->connection[i].target, target) == 0) {
            *ret = s->connection[i].l;
            return EXIT_DONE;
        }
    struct connection *all = realloc(s->connection, (s->connections + 1) * sizeof *s->connection);
    if (!all)
        return cli_fail(s->command, "out of memory");
    s->connection = all;
    struct connection *c = &all[s->connections];
    c->target = strdup(target);
    if (!c->target)
        return cli_fail(s->command, "out of memory");
    int code =
        cli_connect_with(s->command, target, s->line->option, s->line->options, s->password, &c->l);
    if (code != EXIT_DONE) {
        free(c->target);
        return code;
    }
    s->connections++;
    *ret = c->l;
    return EXIT_DONE;
}

int remotes_find(struct remotes *s, const char *typed, struct spot *ret)
{
    if (!remotes_is_target(typed))
        return cli_usage(s->command, "\"%s\" is no //HOST/SHARE/PATH", typed);
    size_t len = target_length(typed, *typed == '\\' ? '\\' : '/');
    char *target = strndup(typed, len), *path = typed_path(typed, len);
    int code = target && path ? EXIT_DONE : cli_fail(s->command, "out of memory");
    struct larder *l = NULL;
    if (code == EXIT_DONE)
        code = connect_to(s, target, &l);
    free(target);
    if (code != EXIT_DONE) {
        free(path);
        return code;
    }
    *ret = (struct spot){.l = l, .path = path, .typed = typed};
    return EXIT_DONE;
}

void spot_free(struct spot *spot)
{
    free(spot->path);
    spot->path = NULL;
}

void spots_free(struct spot *spots, size_t count)
{
    for (size_t i = 0; i < count; i++)
        spot_free(&spots[i]);
    free(spots);
}

/* Operand i, when the first is a target and this is a path below it. */
static int find_below(struct remotes *s, const struct spot *top, const char *operand,
                      struct spot *ret)
{
    char *path;
    if (asprintf(&path, "%s/%s", top->path, operand) < 0)
        return cli_fail(s->command, "out of memory");
    *ret = (struct spot){.l = top->l, .path = path, .typed = operand};
    return EXIT_DONE;
}

int remotes_find_all(struct remotes *s, const struct cli_line *line, struct spot **ret,
                     size_t *ret_count)
{
    if (line->operands < 1)
        return cli_usage(s->command, "give a target //HOST/SHARE/PATH");
    size_t count = (size_t)line->operands;
    bool below = count > 1 && !remotes_is_target(line->operand[1]);
    struct spot top = {0}, *all = calloc(count, sizeof *all);
    if (!all)
        return cli_fail(s->command, "out of memory");
    int code = below ? remotes_find(s, line->operand[0], &top) : EXIT_DONE;
    size_t n = 0;
    for (size_t i = below; code == EXIT_DONE && i < count; i++) {
        if (below && remotes_is_target(line->operand[i]))
            code = cli_usage(s->command, "%s: behind paths below %s", line->operand[i],
                             line->operand[0]);
        else
            code = below ? find_below(s, &top, line->operand[i], &all[n])
                         : remotes_find(s, line->operand[i], &all[n]);
        n += code == EXIT_DONE;
    }
    free(top.path);
    if (code != EXIT_DONE) {
        spots_free(all, n);
        return code;
    }
    *ret = all;
    *ret_count = n;
    return EXIT_DONE;
}

int remotes_run(const char *command, const struct cli_line *line,
                int (*run)(const struct spot *spots, size_t count, const void *how),
                const void *how)
{
    struct remotes *remotes = remotes_new(command, line);
    struct spot *spots;
    size_t count;
    if (!remotes)
        return cli_fail(command, "out of memory");
    int code = remotes_find_all(remotes, line, &spots, &count);
    if (code == EXIT_DONE) {
        code = run(spots, count, how);
        spots_free(spots, count);
    }
    remotes_free(remotes);
    return code;
}

long long remotes_counter(const struct remotes *s, const char *name)
{
    long long sum = -1;
    for (size_t i = 0; i < s->connections; i++) {
        int64_t one = larder_counter(s->connection[i].l, name);
        if (one >= 0)
            sum = (sum < 0 ? 0 : sum) + one;
    }
    return sum;
}
