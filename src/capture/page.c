/*
 * The page of one capture, in the order in which it is read: what the capture is, which commands,
 * what they cost, what was enumerated, which directories and names came again and again, leases,
 * and the verdict. Everything fits 80 columns, so that it can be mailed.
 */
#include "capture/page.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "capture/text.h"

#define TOP_DIRECTORIES 10
#define TOP_NAMES       10
#define TOP_ERRORS      8
#define HOSTS_SHOWN     6
#define NUMBERS         char n[6][REPORT_NUMBER]

/* ---- what the capture is ---- */

/* A capture may be shorter than a tenth of a second. */
static const char *span(char buf[static REPORT_NUMBER], double seconds)
{
    return report_decimal(buf, seconds, seconds < 1 ? 4 : 1);
}

static void head_file(const struct analysis *a, FILE *out, enum report_format format)
{
    NUMBERS;
    char name[PAGE_NAME], line[PAGE_NAME + 200], when[40] = "";
    time_t from = (time_t)(a->first_packet_ns / NS_PER_SEC);
    struct tm tm;
    text_name(name, a->file, 66, format);
    text_field(out, format, "capture", name);
    if (from && gmtime_r(&from, &tm))
        strftime(when, sizeof(when), "from %Y-%m-%d %H:%M:%S UTC, ", &tm);
    snprintf(line, sizeof(line), "%s%s s, SMB for %s s", when, span(n[0], analysis_seconds(a)),
             span(n[1], analysis_smb_seconds(a)));
    text_field(out, format, "time", line);
    size_t at = (size_t)snprintf(line, sizeof(line), "%s, of which %s complete %s SMB2 messages",
                                 report_count(n[0], a->packets), report_count(n[1], a->frames),
                                 report_count(n[2], a->messages));
    if (a->dissected.encrypted_messages)
        at += (size_t)snprintf(line + at, sizeof(line) - at, " and %s encrypted ones",
                               report_count(n[0], a->dissected.encrypted_messages));
    if (a->dissected.not_inflated)
        snprintf(line + at, sizeof(line) - at, " and %s compressed ones",
                 report_count(n[0], a->dissected.not_inflated));
    text_field(out, format, "packets", line);
}

static void add_word(char *line, size_t cap, const char *word)
{
    size_t at = strlen(line);
    snprintf(line + at, cap - at, "%s%s", at ? ", " : "", word);
}

static void capabilities(char *line, size_t cap, uint32_t has)
{
    static const struct {
        uint32_t bit;
        const char *name;
    } known[] = {
        {SMB2_GLOBAL_CAP_LEASING, "leases"},
        {SMB2_GLOBAL_CAP_DIRECTORY_LEASING, "directory leases"},
        {SMB2_GLOBAL_CAP_LARGE_MTU, "large MTU"},
        {SMB2_GLOBAL_CAP_MULTI_CHANNEL, "multichannel"},
        {SMB2_GLOBAL_CAP_PERSISTENT_HANDLES, "persistent handles"},
        {SMB2_GLOBAL_CAP_ENCRYPTION, "encryption"},
        {SMB2_GLOBAL_CAP_DFS, "DFS"},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (has & known[i].bit)
            add_word(line, cap, known[i].name);
}

static const char *dialect_name(uint16_t dialect)
{
    switch (dialect) {
    case SMB2_DIALECT_202:
        return "SMB 2.0.2";
    case SMB2_DIALECT_210:
        return "SMB 2.1";
    case SMB2_DIALECT_300:
        return "SMB 3.0";
    case SMB2_DIALECT_302:
        return "SMB 3.0.2";
    case SMB2_DIALECT_311:
        return "SMB 3.1.1";
    }
    return "dialect not seen";
}

static void head_host(const struct analysis_host *h, FILE *out, enum report_format format)
{
    NUMBERS;
    char line[300], offers[200] = "";
    const struct flow_facts *f = &h->facts;
    snprintf(line, sizeof(line), "%s to %s, %s connection%s", h->client, h->server,
             report_count(n[0], h->connections), h->connections == 1 ? "" : "s");
    text_field(out, format, "hosts", line);
    snprintf(line, sizeof(line), "%s, signing %s, %s%s", dialect_name(f->dialect),
             f->signing_required ? "required"
             : f->signed_seen    ? "used"
                                 : "not used",
             f->encrypted_seen ? "encrypted" : "not encrypted",
             h->facts_differ ? "; other connections differ" : "");
    text_field(out, format, "protocol", line);
    capabilities(offers, sizeof(offers), f->server_capabilities);
    if (f->dialect) {
        snprintf(line, sizeof(line), "%s", offers[0] ? offers : "nothing");
        text_field(out, format, "server has", line);
    }
}

/* Why there is more here than another program may find. */
static void head_pieced(const struct analysis *a, FILE *out, enum report_format format)
{
    static const char *const causes[RECORD_CAUSES] = {
        /* as RECORD_... counts up */
        "behind a split NetBIOS header",     "in segments out of order",
        "in overlapping segments",           "around a hole",
        "found again without its beginning", "of over 128 KiB on a port of its own"};
    NUMBERS;
    char line[200];
    if (a->streams.late_segments) {
        snprintf(line, sizeof(line), "%s segments came late and were put in order",
                 report_count(n[0], a->streams.late_segments));
        text_field(out, format, "order", line);
    }
    if (!a->pieced_messages)
        return;
    snprintf(line, sizeof(line),
             "%s messages had to be pieced together; Wireshark may not show them:",
             report_count(n[0], a->pieced_messages));
    text_field(out, format, "pieced", line);
    for (unsigned i = 0; i < RECORD_CAUSES; i++)
        if (a->pieced[i]) {
            snprintf(line, sizeof(line), "%s %s", report_count(n[0], a->pieced[i]), causes[i]);
            text_field(out, format, "", line);
        }
    if (a->behind_messages) {
        snprintf(line, sizeof(line), "%s behind those, lost where Wireshark has lost its place",
                 report_count(n[0], a->behind_messages));
        text_field(out, format, "", line);
    }
}

void page_head(const struct analysis *a, FILE *out, enum report_format format)
{
    NUMBERS;
    char line[200];
    head_file(a, out, format);
    for (size_t i = 0; i < a->host_count && i < HOSTS_SHOWN; i++)
        head_host(&a->hosts[i], out, format);
    if (a->host_count > HOSTS_SHOWN) {
        snprintf(line, sizeof(line), "and %s more pairs of hosts",
                 report_count(n[0], a->host_count - HOSTS_SHOWN + a->hosts_left_out));
        text_field(out, format, "hosts", line);
    }
    if (a->dissected.encrypted_messages || a->dissected.decrypted_messages ||
        a->dissected.compressed_messages) {
        snprintf(line, sizeof(line),
                 "%s encrypted (%s to servers, %s back), %s more decrypted, %s compressed",
                 report_count(n[0], a->dissected.encrypted_messages),
                 report_count(n[1], a->dissected.encrypted_by_direction[0]),
                 report_count(n[2], a->dissected.encrypted_by_direction[1]),
                 report_count(n[3], a->dissected.decrypted_messages),
                 report_count(n[4], a->dissected.compressed_messages));
        text_field(out, format, "envelopes", line);
    }
    if (a->dissected.smb1_messages) {
        snprintf(line, sizeof(line), "%s message%s, not looked into",
                 report_count(n[0], a->dissected.smb1_messages),
                 a->dissected.smb1_messages == 1 ? "" : "s");
        text_field(out, format, "SMB 1", line);
    }
    snprintf(line, sizeof(line),
             "%s gap%s, %s bytes lost, %s passed over, %s twice; %s requests unanswered",
             report_count(n[0], a->streams.gaps), a->streams.gaps == 1 ? "" : "s",
             report_count(n[1], a->streams.gap_bytes), report_count(n[2], a->streams.skipped_bytes),
             report_count(n[3], a->streams.retransmitted_bytes),
             report_count(n[4], a->dissected.unanswered_requests));
    text_field(out, format, "missing", line);
    head_pieced(a, out, format);
    snprintf(line, sizeof(line), "%s s for %s round trips; %s metadata requests a second",
             text_seconds(n[0], analysis_waited_ns(a)), report_count(n[1], a->round_trips),
             report_decimal(n[2], analysis_metadata_rate(a), 1));
    text_field(out, format, "waiting", line);
}

/* ---- commands ---- */

static bool occurred(const struct analysis_command *c)
{
    return analysis_messages_of(c) > 0;
}

static void count_row(struct report_table *t, const char *name, const struct analysis_command *c,
                      uint64_t frames)
{
    NUMBERS;
    report_row(t);
    report_cell(t, "%s", name);
    report_cell(t, "%s", report_count(n[0], c->requests));
    report_cell(t, "%s", report_count(n[0], c->responses));
    report_cell(t, "%s", report_count(n[0], c->interims));
    report_cell(t, "%s", report_count(n[0], c->errors.count));
    report_cell(t, "%s", report_count(n[0], frames));
    report_cell(t, "%s", text_kib(n[0], c->request_bytes));
    report_cell(t, "%s", text_kib(n[0], c->response_bytes));
}

static void add_to(struct analysis_command *sum, const struct analysis_command *c)
{
    sum->requests += c->requests;
    sum->responses += c->responses;
    sum->interims += c->interims;
    sum->errors.count += c->errors.count;
    sum->request_bytes += c->request_bytes;
    sum->response_bytes += c->response_bytes;
}

static int print_counts(const struct analysis *a, FILE *out, enum report_format format)
{
    static const char *const titles[] = {"requests", "responses", "interim", "errors",
                                         "frames",   "KiB out",   "KiB in"};
    struct analysis_command sum = {0};
    struct report_table *t = report_table_new();
    report_column(t, REPORT_LEFT, "command");
    for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
        report_column(t, REPORT_RIGHT, titles[i]);
    for (uint16_t c = 0; c < SMB2_COMMANDS; c++)
        if (occurred(&a->command[c])) {
            count_row(t, wire_command_name(c), &a->command[c], a->command[c].frames);
            add_to(&sum, &a->command[c]);
        }
    count_row(t, "all", &sum, a->frames);
    return text_table(t, out, format);
}

static int print_times(const struct analysis *a, FILE *out, enum report_format format)
{
    static const char *const titles[] = {"median ms", "p95 ms", "p99 ms",
                                         "max ms",    "sum s",  "of all waiting"};
    static const double quantiles[] = {0.5, 0.95, 0.99, 1};
    NUMBERS;
    struct report_table *t = report_table_new();
    report_column(t, REPORT_LEFT, "response time");
    for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
        report_column(t, REPORT_RIGHT, titles[i]);
    for (uint16_t c = 0; c < SMB2_COMMANDS; c++) {
        const struct durations *d = &a->command[c].waits;
        if (!d->count)
            continue;
        report_row(t);
        report_cell(t, "%s", wire_command_name(c));
        for (size_t q = 0; q < 4; q++)
            report_cell(t, "%s", text_ms(n[0], durations_quantile(d, quantiles[q])));
        report_cell(t, "%s", text_seconds(n[0], d->sum_ns));
        if (analysis_waits_count(c))
            report_cell(t, "%s",
                        text_share(n[0], (double)d->sum_ns, (double)analysis_waited_ns(a)));
        else
            report_cell(t, "-");
    }
    return text_table(t, out, format);
}

struct error_row {
    uint16_t command;
    uint32_t status;
    uint64_t count;
};

/* The most frequent ones, most first. */
static size_t top_errors(const struct analysis *a, struct error_row out[static TOP_ERRORS])
{
    size_t rows = 0;
    for (uint16_t c = 0; c < SMB2_COMMANDS; c++) {
        const struct analysis_errors *e = &a->command[c].errors;
        for (size_t i = 0; i < e->distinct; i++) {
            struct error_row row = {c, e->by_status[i].status, e->by_status[i].count};
            size_t at = rows < TOP_ERRORS ? rows++ : TOP_ERRORS;
            for (; at > 0 && out[at - 1].count < row.count; at--)
                if (at < TOP_ERRORS)
                    out[at] = out[at - 1];
            if (at < TOP_ERRORS)
                out[at] = row;
        }
    }
    return rows;
}

static int print_errors(const struct analysis *a, FILE *out, enum report_format format)
{
    NUMBERS;
    struct error_row row[TOP_ERRORS];
    size_t rows = top_errors(a, row);
    if (!rows)
        return 0;
    struct report_table *t = report_table_new();
    report_column(t, REPORT_LEFT, "error");
    report_column(t, REPORT_LEFT, "of");
    report_column(t, REPORT_RIGHT, "responses");
    for (size_t i = 0; i < rows; i++) {
        report_row(t);
        report_cell(t, "%s", text_status(n[0], row[i].status));
        report_cell(t, "%s", wire_command_name(row[i].command));
        report_cell(t, "%s", report_count(n[0], row[i].count));
    }
    return text_table(t, out, format);
}

/* ---- what was asked again ---- */

static void fact(struct report_table *t, const char *name, uint64_t count, uint64_t of)
{
    NUMBERS;
    report_row(t);
    report_cell(t, "%s", name);
    report_cell(t, "%s", report_count(n[0], count));
    if (of)
        report_cell(t, "%s", text_share(n[0], (double)count, (double)of));
}

static void enumeration_facts(struct report_table *t, const struct analysis *a)
{
    const struct analysis_enumerations *e = &a->enumerations;
    char again[80];
    uint64_t asked = e->by_pattern[0] + e->by_pattern[1] + e->by_pattern[2];
    snprintf(again, sizeof(again), "  repeated within %" PRIu32 " s, no change seen between",
             a->settings->directory_cache_lifetime);
    fact(t, "directories enumerated (opens that list or search)", e->count, 0);
    fact(t, "  different directories", e->distinct, 0);
    fact(t, "  for all names (*)", e->listings, e->count);
    fact(t, "  for one name, or a wildcard", e->searches, e->count);
    fact(t, again, e->repeats, e->count);
    fact(t, "    with the same pattern, too", e->repeats_same, e->count);
    fact(t, "    that Windows' bounds on its cache allow for", e->repeats_in_bound, e->count);
    fact(t, "    of a listing over DirectoryCacheEntrySizeMax", e->repeats_oversize, e->count);
    fact(t, "QUERY_DIRECTORY requests", asked, 0);
    fact(t, "  with a single name", e->by_pattern[PATTERN_NAME], asked);
    if (e->by_pattern[PATTERN_WILDCARD])
        fact(t, "  with another wildcard", e->by_pattern[PATTERN_WILDCARD], asked);
}

static void name_facts(struct report_table *t, const struct analysis *a)
{
    const struct analysis_names *s = &a->names;
    char again[80];
    fact(t, "questions for names that are not there", s->missing, 0);
    snprintf(again, sizeof(again), "  repeated within %" PRIu32 " s",
             a->settings->file_not_found_cache_lifetime);
    fact(t, again, s->missing_repeats, s->missing);
    fact(t, "opens for attributes only", s->stats, 0);
    snprintf(again, sizeof(again), "  repeated within %" PRIu32 " s",
             a->settings->file_info_cache_lifetime);
    fact(t, again, s->stat_repeats, s->stats);
}

static void promise_facts(struct report_table *t, const char *name, uint64_t asked, uint64_t of,
                          uint64_t granted)
{
    fact(t, name, asked, of);
    if (asked)
        fact(t, "    granted", granted, asked);
}

static void lease_facts(struct report_table *t, const struct analysis *a)
{
    const struct analysis_leases *l = &a->leases;
    fact(t, "opens", l->opens, 0);
    promise_facts(t, "  leases asked for, on files", l->asked, l->opens, l->granted);
    promise_facts(t, "  leases asked for, on directories", l->directory_asked, l->directory_opens,
                  l->directory_granted);
    promise_facts(t, "  oplocks asked for", l->oplocks_asked, l->opens, l->oplocks_granted);
    fact(t, "leases and oplocks broken", l->lease_breaks + l->oplock_breaks, 0);
    fact(t, "change notifications asked for", a->command[SMB2_CHANGE_NOTIFY].requests, 0);
}

static int print_facts(const struct analysis *a, FILE *out, enum report_format format)
{
    struct report_table *t = report_table_new();
    report_column(t, REPORT_LEFT, "what was asked");
    report_column(t, REPORT_RIGHT, "count");
    report_column(t, REPORT_RIGHT, "share");
    enumeration_facts(t, a);
    name_facts(t, a);
    lease_facts(t, a);
    return text_table(t, out, format);
}

static int print_directories(const struct analysis *a, FILE *out, enum report_format format)
{
    static const char *const titles[] = {"listed",  "searched", "again",
                                         "entries", "KiB",      "waited s"};
    NUMBERS;
    char place[PAGE_NAME];
    if (!a->directory_count)
        return 0;
    struct report_table *t = report_table_new();
    report_column(t, REPORT_LEFT, "directories, most repeated");
    for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
        report_column(t, REPORT_RIGHT, titles[i]);
    for (size_t i = 0; i < a->directory_count && i < TOP_DIRECTORIES; i++) {
        const struct analysis_directory *d = &a->directories[i];
        report_row(t);
        report_cell(t, "%s", text_place(place, d->share, d->path, 28, format));
        report_cell(t, "%s", report_count(n[0], d->listings));
        report_cell(t, "%s", report_count(n[0], d->searches));
        report_cell(t, "%s", report_count(n[0], d->repeats));
        report_cell(t, "%s", d->listings ? report_count(n[0], d->entries) : "-");
        report_cell(t, "%s", d->listings ? text_kib(n[0], d->listing_bytes) : "-");
        report_cell(t, "%s", text_seconds(n[0], d->waited_ns));
    }
    return text_table(t, out, format);
}

static int print_names(const struct analysis *a, FILE *out, enum report_format format)
{
    NUMBERS;
    char place[PAGE_NAME];
    if (!a->name_count || !a->name_list[0].repeats)
        return 0;
    struct report_table *t = report_table_new();
    report_column(t, REPORT_LEFT, "names, most repeated");
    report_column(t, REPORT_LEFT, "is");
    report_column(t, REPORT_RIGHT, "asked");
    report_column(t, REPORT_RIGHT, "again");
    report_column(t, REPORT_RIGHT, "waited s");
    for (size_t i = 0; i < a->name_count && i < TOP_NAMES; i++) {
        const struct analysis_name *m = &a->name_list[i];
        if (!m->repeats)
            break;
        report_row(t);
        report_cell(t, "%s", text_place(place, m->share, m->path, 44, format));
        report_cell(t, "%s", m->missing ? "missing" : "there");
        report_cell(t, "%s", report_count(n[0], m->asks));
        report_cell(t, "%s", report_count(n[0], m->repeats));
        report_cell(t, "%s", text_seconds(n[0], m->waited_ns));
    }
    return text_table(t, out, format);
}

/* ---- the page ---- */

void page_verdict(const struct analysis *a, FILE *out, enum report_format format)
{
    NUMBERS;
    struct finding f[FINDINGS_MAX];
    size_t count = verdict(a, f), faults = 0, unsure = 0;
    bool blind = false;
    text_heading(out, format, "verdict");
    if (format == REPORT_MARKDOWN)
        fputc('\n', out);
    for (size_t i = 0; i < count; i++) {
        text_finding(out, format, &f[i]);
        faults += f[i].severity == SEVERITY_FAULT;
        unsure += f[i].severity == SEVERITY_UNSURE;
        blind |= strcmp(f[i].name, "nothing-asked") == 0;
    }
    char line[200];
    snprintf(line, sizeof(line),
             "all is well%s: no sign in %s messages of a cache that does not work",
             unsure ? ", as far as can be seen" : "", report_count(n[0], a->messages));
    if (!faults && !blind)
        text_well(out, format, line);
}

int page_tables(const struct analysis *a, FILE *out, enum report_format format)
{
    static int (*const parts[])(const struct analysis *, FILE *, enum report_format) = {
        print_counts, print_times, print_errors, print_facts, print_directories, print_names};
    int code = 0;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && code == 0; i++)
        code = parts[i](a, out, format);
    return code;
}

int page_print(const struct analysis *a, FILE *out, enum report_format format)
{
    page_head(a, out, format);
    int code = page_tables(a, out, format);
    page_verdict(a, out, format);
    return code;
}
