/*
 * Arguments can be seen by everybody (`ps`). A password among them is replaced by asterisks, in the
 * memory that /proc shows, before anything else happens.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static void blot(char *from, const char *to)
{
    while (*from && from < to)
        *from++ = '*';
}

/* `password=...` and `pass=...` in a list of options, up to the next comma outside quotes. */
static void hide_options(char *arg)
{
    static const char *const names[] = {"password=", "pass="};
    for (char *item = arg; item; item = strchr(item, ',')) {
        item += *item == ',';
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            size_t len = strlen(names[i]);
            if (strncasecmp(item, names[i], len) != 0)
                continue;
            char *end = item + len;
            for (bool quoted = false; *end && (quoted || *end != ','); end++)
                quoted ^= *end == '"';
            blot(item + len, end);
        }
    }
}

/* smb://user:PASSWORD@host, and the user%PASSWORD that mount.cifs knows. */
static void hide_in_user(char *arg)
{
    char *at = strrchr(arg, '@');
    if (strncasecmp(arg, "smb://", 6) == 0 && at) {
        char *colon = strchr(arg + 6, ':');
        if (colon && colon < at)
            blot(colon + 1, at);
    }
    char *user = strcasestr(arg, "user");
    char *percent = user ? strchr(user, '%') : NULL;
    if (percent && strchr(user, '=') && strchr(user, '=') < percent)
        blot(percent + 1, percent + 1 + strcspn(percent + 1, ","));
}

char **cli_free_arguments(char **copy)
{
    for (char **arg = copy; arg && *arg; arg++) {
        explicit_bzero(*arg, strlen(*arg));
        free(*arg);
    }
    free(copy);
    return NULL;
}

/* -o may stand apart from its value or directly before it. */
char **cli_hide_passwords(int argc, char **argv)
{
    char **copy = calloc((size_t)argc + 1, sizeof *copy);
    for (int i = 0; copy && i < argc; i++) {
        copy[i] = strdup(argv[i]);
        if (!copy[i])
            return cli_free_arguments(copy);
        hide_options(strncmp(argv[i], "-o", 2) == 0 ? argv[i] + 2 : argv[i]);
        hide_in_user(argv[i]);
    }
    return copy;
}
