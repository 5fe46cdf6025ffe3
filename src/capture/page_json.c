/*
 * The analysis as JSON: docs/analyze.md has every member. Other programs rely on the names; new
 * ones may come, none change. Names from captures are UTF-8, what is broken in them is `?`;
 * control characters are JSON's to escape.
 */
#include <string.h>

#include "capture/page.h"
#include "capture/text.h"

#define LIST_MAX 100 /* directories and names */

/* ---- pieces ---- */

static json_t *number(uint64_t n)
{
    return json_integer((json_int_t)n);
}

static json_t *milliseconds(uint64_t ns)
{
    return json_real((double)ns / 1e6);
}

static json_t *seconds(uint64_t ns)
{
    return json_real((double)ns / 1e9);
}

static void set(json_t *object, const char *name, json_t *value)
{
    json_object_set_new(object, name, value);
}

static void set_number(json_t *object, const char *name, uint64_t n)
{
    set(object, name, number(n));
}

/* What is not UTF-8 is shown as the page shows it. */
static json_t *text(const char *s)
{
    char clean[PAGE_NAME];
    json_t *value = json_string(s);
    return value ? value : json_string(page_name(clean, s, PAGE_NAME));
}

static void set_text(json_t *object, const char *name, const char *s)
{
    set(object, name, text(s));
}

/* ---- commands ---- */

static json_t *errors_json(const struct analysis_errors *e)
{
    char name[REPORT_NUMBER];
    json_t *all = json_object();
    for (size_t i = 0; i < e->distinct; i++)
        set_number(all, text_status(name, e->by_status[i].status), e->by_status[i].count);
    return all;
}

static json_t *waits_json(const struct durations *d)
{
    json_t *w = json_object();
    set_number(w, "count", d->count);
    set(w, "median", milliseconds(durations_quantile(d, 0.5)));
    set(w, "p95", milliseconds(durations_quantile(d, 0.95)));
    set(w, "p99", milliseconds(durations_quantile(d, 0.99)));
    set(w, "max", milliseconds(d->max_ns));
    set(w, "sum", milliseconds(d->sum_ns));
    return w;
}

static json_t *command_json(const struct analysis_command *c)
{
    json_t *o = json_object();
    set_number(o, "requests", c->requests);
    set_number(o, "responses", c->responses);
    set_number(o, "interims", c->interims);
    set_number(o, "unsolicited", c->unsolicited);
    set(o, "errors", errors_json(&c->errors));
    set_number(o, "frames", c->frames);
    set_number(o, "request_bytes", c->request_bytes);
    set_number(o, "response_bytes", c->response_bytes);
    if (c->waits.count)
        set(o, "response_ms", waits_json(&c->waits));
    return o;
}

static json_t *commands_json(const struct analysis *a)
{
    json_t *all = json_object();
    for (uint16_t c = 0; c < SMB2_COMMANDS; c++)
        if (analysis_messages_of(&a->command[c]))
            set(all, wire_command_name(c), command_json(&a->command[c]));
    return all;
}

/* [from ms, responses] */
static json_t *histogram_json(const struct analysis *a)
{
    json_t *all = json_array();
    for (unsigned i = 0; i < HISTOGRAM_SLOTS; i++) {
        uint64_t from, n = analysis_histogram(a, i, &from);
        if (n)
            json_array_append_new(all, json_pack("[f, I]", (double)from / 1e6, (json_int_t)n));
    }
    return all;
}

static json_t *timeline_json(const struct analysis *a)
{
    const struct analysis_timeline *t = &a->timeline;
    json_t *o = json_object(), *commands = json_object();
    set(o, "slot_seconds", seconds(t->slot_ns));
    size_t used = 0;
    for (size_t i = 0; i < TIMELINE_SLOTS; i++)
        for (uint16_t c = 0; c < SMB2_COMMANDS; c++)
            if (t->requests[i][c])
                used = i + 1;
    for (uint16_t c = 0; c < SMB2_COMMANDS; c++) {
        if (!a->command[c].requests)
            continue;
        json_t *line = json_array();
        for (size_t i = 0; i < used; i++)
            json_array_append_new(line, number(t->requests[i][c]));
        set(commands, wire_command_name(c), line);
    }
    set(o, "requests", commands);
    return o;
}

/* ---- what was asked ---- */

static json_t *enumerations_json(const struct analysis_enumerations *e)
{
    json_t *o = json_object(), *by = json_object();
    set_number(o, "count", e->count);
    set_number(o, "distinct", e->distinct);
    set_number(o, "repeats", e->repeats);
    set_number(o, "listings", e->listings);
    set_number(o, "searches", e->searches);
    set_number(o, "repeats_same_pattern", e->repeats_same);
    set_number(o, "repeats_in_bounds", e->repeats_in_bound);
    set_number(o, "repeats_oversize", e->repeats_oversize);
    set_number(o, "changed_between", e->changed_between);
    set_number(o, "path_unknown", e->path_unknown);
    set_number(o, "largest_listing_bytes", e->largest_bytes);
    set(o, "waited_seconds", seconds(e->waited_ns));
    set(o, "repeats_waited_seconds", seconds(e->repeats_waited_ns));
    set_number(by, "everything", e->by_pattern[PATTERN_EVERYTHING]);
    set_number(by, "name", e->by_pattern[PATTERN_NAME]);
    set_number(by, "wildcard", e->by_pattern[PATTERN_WILDCARD]);
    set(o, "requests_by_pattern", by);
    return o;
}

static json_t *names_json(const struct analysis_names *s)
{
    json_t *o = json_object();
    set_number(o, "missing", s->missing);
    set_number(o, "missing_repeats", s->missing_repeats);
    set_number(o, "missing_repeats_in_bounds", s->missing_in_bound);
    set_number(o, "stats", s->stats);
    set_number(o, "stat_repeats", s->stat_repeats);
    set_number(o, "stat_repeats_in_bounds", s->stat_in_bound);
    set_number(o, "searches_found", s->searches_found);
    set(o, "waited_seconds", seconds(s->waited_ns));
    set(o, "repeats_waited_seconds", seconds(s->repeats_waited_ns));
    return o;
}

static json_t *leases_json(const struct analysis_leases *l)
{
    json_t *o = json_object();
    set_number(o, "opens", l->opens);
    set_number(o, "directory_opens", l->directory_opens);
    set_number(o, "asked", l->asked);
    set_number(o, "granted", l->granted);
    set_number(o, "directory_asked", l->directory_asked);
    set_number(o, "directory_granted", l->directory_granted);
    set_number(o, "oplocks_asked", l->oplocks_asked);
    set_number(o, "oplocks_granted", l->oplocks_granted);
    set_number(o, "lease_breaks", l->lease_breaks);
    set_number(o, "oplock_breaks", l->oplock_breaks);
    return o;
}

static void set_place(json_t *o, const char *server, const char *share, const char *path)
{
    set_text(o, "server", server);
    set_text(o, "share", share);
    set_text(o, "path", path);
}

static json_t *directories_json(const struct analysis *a)
{
    json_t *all = json_array();
    for (size_t i = 0; i < a->directory_count && i < LIST_MAX; i++) {
        const struct analysis_directory *d = &a->directories[i];
        json_t *o = json_object();
        set_place(o, d->server, d->share, d->path);
        set_number(o, "listings", d->listings);
        set_number(o, "searches", d->searches);
        set_number(o, "repeats", d->repeats);
        set_number(o, "repeats_in_bounds", d->repeats_in_bound);
        set_number(o, "entries", d->entries);
        set_number(o, "listing_bytes", d->listing_bytes);
        set(o, "waited_seconds", seconds(d->waited_ns));
        set(o, "repeats_waited_seconds", seconds(d->repeats_waited_ns));
        json_array_append_new(all, o);
    }
    return all;
}

static json_t *name_list_json(const struct analysis *a)
{
    json_t *all = json_array();
    for (size_t i = 0; i < a->name_count && i < LIST_MAX; i++) {
        const struct analysis_name *n = &a->name_list[i];
        json_t *o = json_object();
        set_place(o, n->server, n->share, n->path);
        set(o, "missing", json_boolean(n->missing));
        set_number(o, "asked", n->asks);
        set_number(o, "repeats", n->repeats);
        set(o, "waited_seconds", seconds(n->waited_ns));
        json_array_append_new(all, o);
    }
    return all;
}

/* ---- the capture ---- */

static json_t *hosts_json(const struct analysis *a)
{
    json_t *all = json_array();
    for (size_t i = 0; i < a->host_count; i++) {
        const struct analysis_host *h = &a->hosts[i];
        char dialect[8] = "";
        if (h->facts.dialect)
            snprintf(dialect, sizeof(dialect), "%x.%x.%x", h->facts.dialect >> 8 & 15u,
                     h->facts.dialect >> 4 & 15u, h->facts.dialect & 15u);
        json_t *o = json_object();
        set_text(o, "client", h->client);
        set_text(o, "server", h->server);
        set_number(o, "connections", h->connections);
        set_text(o, "dialect", dialect);
        set_number(o, "client_capabilities", h->facts.client_capabilities);
        set_number(o, "server_capabilities", h->facts.server_capabilities);
        set(o, "signing_required", json_boolean(h->facts.signing_required));
        set(o, "signed", json_boolean(h->facts.signed_seen));
        set(o, "encrypted", json_boolean(h->facts.encrypted_seen));
        json_array_append_new(all, o);
    }
    return all;
}

static json_t *gaps_json(const struct analysis *a)
{
    json_t *o = json_object();
    set_number(o, "count", a->streams.gaps);
    set_number(o, "bytes", a->streams.gap_bytes);
    set_number(o, "skipped_bytes", a->streams.skipped_bytes);
    set_number(o, "truncated_frames", a->streams.truncated_frames);
    set_number(o, "retransmitted_bytes", a->streams.retransmitted_bytes);
    return o;
}

static json_t *reassembly_json(const struct analysis *a)
{
    /* as RECORD_... counts up */
    static const char *const causes[RECORD_CAUSES] = {
        "split_headers", "out_of_order", "overlaps", "holes", "found_again", "long_records"};
    json_t *o = json_object();
    set_number(o, "late_segments", a->streams.late_segments);
    set_number(o, "messages", a->pieced_messages);
    for (unsigned i = 0; i < RECORD_CAUSES; i++)
        set_number(o, causes[i], a->pieced[i]);
    set_number(o, "behind", a->behind_messages);
    return o;
}

static json_t *encrypted_json(const struct analysis *a)
{
    json_t *o = json_object();
    set_number(o, "to_server", a->dissected.encrypted_by_direction[0]);
    set_number(o, "from_server", a->dissected.encrypted_by_direction[1]);
    set_number(o, "decrypted", a->dissected.decrypted_messages);
    return o;
}

static json_t *operations_json(const struct analysis *a)
{
    json_t *o = json_object();
    for (int k = 0; k <= OPERATION_OTHER; k++)
        set_number(o, operation_kind_name((enum operation_kind)k), a->operations[k]);
    return o;
}

static void set_whole(json_t *o, const struct analysis *a)
{
    set_text(o, "file", a->file);
    set(o, "seconds", json_real(analysis_seconds(a)));
    set(o, "smb_seconds", json_real(analysis_smb_seconds(a)));
    set(o, "start", json_real((double)a->first_packet_ns / 1e9));
    set_number(o, "packets", a->packets);
    set_number(o, "frames", a->frames);
    set_number(o, "messages", a->messages);
    set_number(o, "round_trips", a->round_trips);
    set(o, "metadata_requests_per_second", json_real(analysis_metadata_rate(a)));
    set(o, "waited_seconds", seconds(analysis_waited_ns(a)));
    set(o, "cut_off", json_boolean(a->cut_off || a->stopped[0]));
}

json_t *page_json(const struct analysis *a)
{
    json_t *o = json_object(), *ports = json_array();
    set_whole(o, a);
    set(o, "commands", commands_json(a));
    set_number(o, "encrypted_messages", a->dissected.encrypted_messages);
    set(o, "encrypted", encrypted_json(a));
    set_number(o, "compressed_messages", a->dissected.compressed_messages);
    set_number(o, "smb1_messages", a->dissected.smb1_messages);
    set_number(o, "malformed_messages", a->dissected.malformed);
    set_number(o, "unanswered_requests", a->dissected.unanswered_requests);
    set_number(o, "unmatched_responses", a->dissected.unmatched_responses);
    set(o, "gaps", gaps_json(a));
    set(o, "reassembly", reassembly_json(a));
    for (size_t i = 0; i < a->other_port_count; i++)
        json_array_append_new(ports, number(a->other_ports[i]));
    set(o, "other_ports", ports);
    set(o, "hosts", hosts_json(a));
    set(o, "operations", operations_json(a));
    set(o, "enumerations", enumerations_json(&a->enumerations));
    set(o, "names", names_json(&a->names));
    set(o, "leases", leases_json(&a->leases));
    set(o, "directories", directories_json(a));
    set(o, "top_names", name_list_json(a));
    set(o, "response_histogram_ms", histogram_json(a));
    set(o, "timeline", timeline_json(a));
    return o;
}

/* ---- verdicts ---- */

static json_t *findings_json(const struct finding *f, size_t count, const char *file)
{
    json_t *all = json_array();
    for (size_t i = 0; i < count; i++) {
        json_t *o = json_object();
        set_text(o, "file", file);
        set_text(o, "finding", f[i].name);
        set_text(o, "severity", severity_name(f[i].severity));
        set_text(o, "text", f[i].text);
        set_text(o, "remedy", f[i].remedy);
        set_number(o, "count", f[i].count);
        set_number(o, "of", f[i].of);
        json_array_append_new(all, o);
    }
    return all;
}

json_t *page_json_verdict(const struct analysis *a)
{
    struct finding f[FINDINGS_MAX];
    return findings_json(f, verdict(a, f), a->file);
}

json_t *page_json_difference_verdict(const struct difference *d)
{
    return findings_json(d->finding, d->finding_count, d->other->file);
}

json_t *page_json_difference(const struct difference *d)
{
    json_t *o = json_object(), *rows = json_array(), *grown = json_array();
    set_text(o, "base", d->base->file);
    set_text(o, "file", d->other->file);
    for (size_t i = 0; i < d->row_count; i++) {
        const struct difference_row *r = &d->row[i];
        json_t *row = json_object();
        set_text(row, "metric", r->name);
        set(row, "base", json_real(r->base));
        set(row, "value", json_real(r->other));
        set(row, "ratio", r->base > 0 ? json_real(r->other / r->base) : json_null());
        if (r->per_read) {
            set(row, "base_per_read", json_real(difference_base_per_read(d, r)));
            set(row, "value_per_read", json_real(difference_other_per_read(d, r)));
        }
        json_array_append_new(rows, row);
    }
    for (size_t i = 0; i < d->grown_count; i++) {
        json_t *g = json_object();
        set_text(g, "share", d->grown[i].share);
        set_text(g, "path", d->grown[i].path);
        set_number(g, "base", d->grown[i].base);
        set_number(g, "value", d->grown[i].other);
        json_array_append_new(grown, g);
    }
    set(o, "rows", rows);
    set(o, "grown_directories", grown);
    set_number(o, "directories_only_in_base", d->only_base);
    set_number(o, "directories_only_here", d->only_other);
    return o;
}
