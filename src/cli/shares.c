/* `larder shares`: what a server shares. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/names.h"
#include "report/report.h"
#include "share/shares.h"

static const char help[] =
    "larder shares -o credentials=FILE //server\n"
    "\n"
    "Lists what a server shares, as it tells this user: name, kind and comment.\n"
    "\n"
    "  -a           also what is hidden (names that end in $) and what is no disk\n"
    "  --json       an array of objects: name, kind, hidden, special, comment\n"
    "  -o OPTION    username=, password=, domain=, credentials=FILE, guest, sec=,\n"
    "               port=, vers=, seal, or a setting; repeatable\n"
    "  --keylog FILE  append the session's keys, for Wireshark and larder analyze\n"
    "\n"
    "The password comes from -o, LARDER_PASSWORD, or a prompt.\n";

static const char *const kinds[] = {
    [CLIENT_SHARE_DISK] = "disk",     [CLIENT_SHARE_PRINTER] = "printer",
    [CLIENT_SHARE_DEVICE] = "device", [CLIENT_SHARE_PIPE] = "pipes",
    [CLIENT_SHARE_UNKNOWN] = "other",
};

struct listing {
    bool all;
    json_t *json; /* the array; NULL: */
    struct report_table *table;
};

static bool is_hidden(const struct client_share *share)
{
    size_t len = strlen(share->name);
    return len && share->name[len - 1] == '$';
}

static int add(void *user, const struct client_share *share)
{
    struct listing *l = user;
    if (!l->all && (is_hidden(share) || share->special ||
                    (share->kind != CLIENT_SHARE_DISK && share->kind != CLIENT_SHARE_PRINTER)))
        return 0;
    if (l->json) {
        json_t *o = json_object();
        name_json(o, "name", share->name);
        json_object_set_new(o, "kind", json_string(kinds[share->kind]));
        json_object_set_new(o, "hidden", json_boolean(is_hidden(share)));
        json_object_set_new(o, "special", json_boolean(share->special));
        name_json(o, "comment", share->comment);
        return json_array_append_new(l->json, o) == 0 ? 0 : -ENOMEM;
    }
    report_row(l->table);
    report_cell(l->table, "%s", share->name);
    report_cell(l->table, "%s", kinds[share->kind]);
    report_cell(l->table, "%s", share->comment);
    return 0;
}

static int show(const struct share_options *o, bool all, bool json)
{
    struct error err = {.text = "out of memory"};
    struct listing l = {
        .all = all, .json = json ? json_array() : NULL, .table = json ? NULL : report_table_new()};
    report_column(l.table, REPORT_LEFT, "share");
    report_column(l.table, REPORT_LEFT, "kind");
    report_column(l.table, REPORT_LEFT, "comment");
    int code = EXIT_DONE;
    if (share_list_shares(o, add, &l, &err) < 0) {
        code = cli_fail("shares", "%s", err.text);
    } else if (json) {
        json_dumpf(l.json, stdout, JSON_INDENT(1));
        putchar('\n');
    } else if (report_print(l.table, stdout, REPORT_TEXT) == -ENOMEM) {
        code = cli_fail("shares", "out of memory");
    }
    json_decref(l.json);
    report_table_free(l.table);
    return code;
}

/* The target of a server alone, made one of its IPC$; NULL: out of memory, or a share is named. */
static char *with_share(const char *typed)
{
    size_t prefix = strncasecmp(typed, "smb://", 6) == 0 ? 6 : 2, len = strlen(typed);
    char slash = *typed == '\\' ? '\\' : '/', *target = NULL;
    while (len > prefix && typed[len - 1] == slash)
        len--;
    if (len > prefix && memchr(typed + prefix, slash, len - prefix))
        return NULL;
    if (asprintf(&target, "%.*s%cIPC$", (int)len, typed, slash) < 0)
        return NULL;
    return target;
}

int cmd_shares(int argc, char **argv)
{
    struct cli_line line;
    struct share_options o;
    bool flags[2] = {false};
    int code = cli_read_line(&line, argc, argv, "aj", flags, NULL, help);
    if (code != EXIT_DONE)
        return code == CLI_HELP_SHOWN ? EXIT_DONE : code;
    if (line.operands != 1)
        return cli_usage("shares", "give one server //HOST");
    char *target = with_share(line.operand[0]);
    if (!target)
        return cli_usage("shares", "give the server alone, //HOST, without a share");
    code = cli_share_options("shares", &line, target, &o);
    if (code == EXIT_DONE)
        code = show(&o, flags[0], flags[1]);
    share_options_done(&o);
    explicit_bzero(target, strlen(target));
    free(target);
    return code;
}
