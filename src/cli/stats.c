/*
 * `larder stats`: what a live mount says about itself over its control socket. The JSON is the
 * mount's reply as it came; the text is the same reply as three tables: what went over the wire,
 * what the caches answered and why they did not, and what the kernel asked; the connection's
 * losses, leases and what is written under them in lines of their own.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/live.h"
#include "mount/control.h"
#include "report/report.h"

static const char help[] =
    "larder stats /mnt\n\n"
    "Shows what a mounted share has asked its server and what its caches answered:\n"
    "requests, round trips, hits, misses with their reasons, leases, what inotify was\n"
    "told, faults. Only the mount's process is asked, neither the server nor the\n"
    "mounted directory.\n\n"
    "  --json   everything, as one JSON object\n";

static void field(const char *name, const char *value)
{
    report_field(stdout, REPORT_TEXT, name, value);
}

/* What the server tells of, and what was found about directories that nothing was told of. */
static void print_watch(const json_t *watch)
{
    const json_t *verified = json_object_get(watch, "verified");
    char line[256], notices[REPORT_NUMBER], same[REPORT_NUMBER], changed[REPORT_NUMBER];
    snprintf(line, sizeof(line), "%s, %s notices; verified: unchanged %s, changed %s",
             live_text(watch, "state"), report_count(notices, live_number(watch, "notices")),
             report_count(same, live_number(verified, "unchanged")),
             report_count(changed, live_number(verified, "changed")));
    field("watch", line);
}

/* What became of the connection, and of what was open and under way on it. */
static void print_network(const json_t *all)
{
    const json_t *network = json_object_get(all, "network");
    uint64_t lost = live_number(network, "lost");
    uint64_t renewed = live_number(json_object_get(all, "connection"), "reauthentications");
    char line[256], n[6][REPORT_NUMBER];

    snprintf(line, sizeof(line), "%s times lost, %s times made again; %s times logged on again",
             report_count(n[0], lost), report_count(n[1], live_number(network, "reconnected")),
             report_count(n[2], renewed));
    field("connection", line);
    if (!lost)
        return;
    snprintf(line, sizeof(line), "%s opened again, %s held by the server, %s given up",
             report_count(n[0], live_number(network, "reopened")),
             report_count(n[1], live_number(network, "durable")),
             report_count(n[2], live_number(network, "dead")));
    field("opens on it", line);
    field("sent again", report_count(n[0], live_number(network, "repeated")));
}

static void print_head(const json_t *all)
{
    const json_t *connection = json_object_get(all, "connection");
    char line[512], n[REPORT_NUMBER], m[REPORT_NUMBER];

    field("mount", live_text(json_object_get(all, "mount"), "path"));
    snprintf(line, sizeof(line), "%s, share %s, user %s", live_text(connection, "address"),
             live_text(connection, "share"),
             json_is_true(json_object_get(connection, "guest")) ? "guest"
                                                                : live_text(connection, "user"));
    field("server", line);
    const char *cipher = live_text(connection, "encryption");
    bool sealed = strcmp(cipher, "none") != 0; /* what is encrypted needs no signature */
    snprintf(line, sizeof(line), "SMB %s, %s %s", live_text(connection, "dialect"),
             sealed ? "encryption" : "signing", sealed ? cipher : live_text(connection, "signing"));
    field("dialect", line);
    field("profile", live_text(all, "profile"));
    snprintf(line, sizeof(line), "%s, of which metadata requests %s",
             report_count(n, live_number(all, "messages")),
             report_count(m, live_number(all, "metadata_requests")));
    field("messages", line);
    field("round trips", report_count(n, live_number(all, "round_trips")));
    print_network(all);
    print_watch(json_object_get(all, "watch"));
}

static void latency_cell(struct report_table *t, const json_t *latency, const char *quantile)
{
    char n[REPORT_NUMBER];
    const json_t *ms = json_object_get(latency, quantile);
    report_cell(t, "%s", ms ? report_decimal(n, json_number_value(ms), 2) : "-");
}

static void print_commands(const json_t *all)
{
    struct report_table *t = report_table_new();
    report_column(t, REPORT_LEFT, "command");
    report_column(t, REPORT_RIGHT, "requests");
    report_column(t, REPORT_RIGHT, "responses");
    report_column(t, REPORT_RIGHT, "errors");
    report_column(t, REPORT_RIGHT, "median ms");
    report_column(t, REPORT_RIGHT, "p99 ms");

    char n[REPORT_NUMBER];
    const char *command;
    json_t *count;
    json_object_foreach(json_object_get(all, "requests"), command, count)
    {
        const json_t *latency = json_object_get(json_object_get(all, "latency_ms"), command);
        report_row(t);
        report_cell(t, "%s", command);
        report_cell(t, "%s", report_count(n, (uint64_t)json_integer_value(count)));
        report_cell(t, "%s",
                    report_count(n, live_number(json_object_get(all, "responses"), command)));
        report_cell(t, "%s", report_count(n, live_number(json_object_get(all, "failed"), command)));
        latency_cell(t, latency, "p50");
        latency_cell(t, latency, "p99");
    }
    report_print(t, stdout, REPORT_TEXT);
    report_table_free(t);
}

/* "expired 12, absent 3"; returns the sum. */
static uint64_t reasons_text(json_t *misses, char *out, size_t cap)
{
    uint64_t sum = 0;
    size_t at = 0;
    const char *reason;
    json_t *count;
    out[0] = '\0';
    json_object_foreach(misses, reason, count)
    {
        sum += (uint64_t)json_integer_value(count);
        int n = snprintf(out + at, cap - at, "%s%s %" JSON_INTEGER_FORMAT, at ? ", " : "", reason,
                         json_integer_value(count));
        if (n > 0 && (size_t)n < cap - at)
            at += (size_t)n;
    }
    return sum;
}

static void print_caches(const json_t *all)
{
    struct report_table *t = report_table_new();
    report_column(t, REPORT_LEFT, "cache");
    report_column(t, REPORT_RIGHT, "entries");
    report_column(t, REPORT_RIGHT, "hits");
    report_column(t, REPORT_RIGHT, "by lease");
    report_column(t, REPORT_RIGHT, "by watch");
    report_column(t, REPORT_RIGHT, "misses");
    report_column(t, REPORT_RIGHT, "hit rate");
    report_column(t, REPORT_RIGHT, "evicted");
    report_column(t, REPORT_RIGHT, "patched");
    report_column(t, REPORT_LEFT, "why not");

    char n[REPORT_NUMBER], reasons[256];
    const char *name;
    json_t *counts;
    json_object_foreach(json_object_get(all, "cache"), name, counts)
    {
        const json_t *state = json_object_get(json_object_get(all, "caches"), name);
        const json_t *trust = json_object_get(counts, "hit_by_trust");
        uint64_t hits = live_number(counts, "hit");
        uint64_t misses = reasons_text(json_object_get(counts, "miss"), reasons, sizeof(reasons));
        report_row(t);
        report_cell(t, "%s%s", name,
                    json_is_true(json_object_get(state, "enabled")) ? "" : " (off)");
        report_cell(t, "%s", report_count(n, live_number(state, "entries")));
        report_cell(t, "%s", report_count(n, hits));
        report_cell(t, "%s", report_count(n, live_number(trust, "lease")));
        report_cell(t, "%s", report_count(n, live_number(trust, "watch")));
        report_cell(t, "%s", report_count(n, misses));
        if (hits + misses)
            report_cell(t, "%.1f %%", 100.0 * (double)hits / (double)(hits + misses));
        else
            report_cell(t, "-");
        report_cell(t, "%s", report_count(n, live_number(counts, "evict")));
        report_cell(t, "%s", report_count(n, live_number(counts, "patch")));
        report_cell(t, "%s", reasons);
    }
    report_print(t, stdout, REPORT_TEXT);
    report_table_free(t);
}

static void print_leases(const json_t *all)
{
    json_t *leases = json_object_get(all, "leases");
    const json_t *dormant = json_object_get(leases, "dormant");
    char line[512], reasons[256], n[4][REPORT_NUMBER];

    if (!json_is_true(json_object_get(leases, "files")) &&
        !json_is_true(json_object_get(leases, "directories")))
        return;
    snprintf(line, sizeof(line), "asked %s, granted %s, broken %s, acknowledged %s",
             report_count(n[0], live_number(leases, "asked")),
             report_count(n[1], live_number(leases, "granted")),
             report_count(n[2], live_number(leases, "broken")),
             report_count(n[3], live_number(leases, "acknowledged")));
    field("leases", line);
    reasons_text(json_object_get(leases, "given_up"), reasons, sizeof(reasons));
    snprintf(line, sizeof(line), "%s of directories, %s of files; reopened %s; given up: %s",
             report_count(n[0], live_number(dormant, "directories")),
             report_count(n[1], live_number(dormant, "files")),
             report_count(n[2], live_number(leases, "reopened")), reasons);
    field("handles kept", line);
}

static void print_delayed(const json_t *delayed)
{
    char line[256], n[3][REPORT_NUMBER];
    if (live_number(delayed, "writes") == 0)
        return;
    snprintf(line, sizeof(line), "%s, in %s requests; %s bytes wait",
             report_count(n[0], live_number(delayed, "writes")),
             report_count(n[1], live_number(delayed, "requests")),
             report_count(n[2], live_number(delayed, "waiting")));
    field("delayed writes", line);
}

static void print_upcalls(const json_t *all)
{
    const json_t *mount = json_object_get(all, "mount");
    struct report_table *t = report_table_new();
    report_column(t, REPORT_LEFT, "asked by the kernel");
    report_column(t, REPORT_RIGHT, "calls");

    char n[REPORT_NUMBER];
    const char *name;
    json_t *count;
    json_object_foreach(json_object_get(mount, "upcalls"), name, count)
    {
        if (json_integer_value(count) == 0)
            continue;
        report_row(t);
        report_cell(t, "%s", name);
        report_cell(t, "%s", report_count(n, (uint64_t)json_integer_value(count)));
    }
    report_print(t, stdout, REPORT_TEXT);
    report_table_free(t);
}

static void print_faults(const json_t *all)
{
    size_t i;
    json_t *fault;
    json_array_foreach(json_object_get(all, "faults"), i, fault)
        field("fault", json_string_value(fault) ? json_string_value(fault) : "");
}

/* What local inotify was told of others' changes; nothing where nobody ever watched. */
static void print_inotify(const json_t *all)
{
    const json_t *inotify = json_object_get(json_object_get(all, "mount"), "inotify");
    const json_t *raised = json_object_get(inotify, "raised");
    char line[256], n[6][REPORT_NUMBER];
    uint64_t watched = live_number(inotify, "watched"), told = live_number(inotify, "told");
    uint64_t riding = live_number(inotify, "riding");
    uint64_t dropped = live_number(inotify, "dropped"), failed = live_number(inotify, "failed");
    uint64_t created = live_number(raised, "created"), removed = live_number(raised, "removed");
    uint64_t renamed = live_number(raised, "renamed"), modified = live_number(raised, "modified");
    if (!watched && !dropped && !failed && !created && !removed && !renamed && !modified)
        return;
    snprintf(
        line, sizeof(line),
        "%s directories watched; told of by a watch of their own %s, by that of the whole tree "
        "%s, by nobody %s",
        report_count(n[0], watched), report_count(n[1], told > riding ? told - riding : 0),
        report_count(n[2], riding), report_count(n[3], watched > told ? watched - told : 0));
    field("inotify", line);
    snprintf(line, sizeof(line),
             "%s created, %s removed, %s renamed, %s modified, %s dropped, %s failed",
             report_count(n[0], created), report_count(n[1], removed), report_count(n[2], renamed),
             report_count(n[3], modified), report_count(n[4], dropped), report_count(n[5], failed));
    field("told of", line);
}

int cmd_stats(int argc, char **argv)
{
    bool json;
    int code = cli_read_flag(argc, argv, "json", 0, help, &json);
    if (code != EXIT_DONE)
        return code == CLI_HELP_SHOWN ? EXIT_DONE : code;
    if (argc - optind != 1)
        return cli_usage("stats", "give the directory of one mount");

    struct error err;
    json_t *all;
    if (control_query(argv[optind], "stats", NULL, &all, &err) < 0)
        return cli_fail("stats", "%s", err.text);
    if (json) {
        json_dumpf(all, stdout, JSON_INDENT(1));
        putchar('\n');
    } else {
        print_head(all);
        putchar('\n');
        print_commands(all);
        putchar('\n');
        print_caches(all);
        putchar('\n');
        print_leases(all);
        print_delayed(json_object_get(all, "delayed"));
        print_upcalls(all);
        print_inotify(all);
        print_faults(all);
    }
    json_decref(all);
    return fflush(stdout) == 0 ? EXIT_DONE : cli_fail("stats", "stdout: %s", strerror(errno));
}
