/* What `larder stats`, `explain` and `drop` share: whose mount it is, its answer, what is in it. */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/live.h"
#include "cli/names.h"
#include "mount/control.h"
#include "mount/place.h"

int live_line(const char *command, int argc, char **argv, const char *help, bool optional,
              bool *ret_json, const char **ret_path)
{
    int code = cli_read_flag(argc, argv, "json", 0, help, ret_json);
    if (code != EXIT_DONE)
        return code;
    if (argc - optind > 1 || (argc == optind && !optional))
        return cli_usage(command, "give one path on a mount");
    *ret_path = argc == optind ? NULL : argv[optind];
    return EXIT_DONE;
}

int live_ask(const char *request, const char *path, bool whole, struct live *ret)
{
    struct place at;
    struct error err;
    if (place_on_larder(path, &at, ret->path, &err) < 0)
        return cli_fail(request, "%s", err.text);
    if (whole)
        ret->path[0] = '\0';
    memcpy(ret->mount, at.path, sizeof ret->mount);
    if (control_query(at.path, request, ret->path, &ret->reply, &err) < 0)
        return cli_fail(request, "%s", err.text);
    return EXIT_DONE;
}

uint64_t live_number(const json_t *object, const char *key)
{
    json_int_t n = json_integer_value(json_object_get(object, key));
    return n > 0 ? (uint64_t)n : 0;
}

const char *live_text(const json_t *object, const char *key)
{
    const char *s = json_string_value(json_object_get(object, key));
    return s ? s : "";
}

int live_print_json(struct live *l)
{
    name_json(l->reply, "mount", l->mount);
    name_json(l->reply, "path", l->path);
    json_dumpf(l->reply, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(l->reply);
    return EXIT_DONE;
}
