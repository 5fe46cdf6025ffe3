/*
 * The rows are those of `larder compare`, in its order, with what only a capture can tell behind
 * them. Commands that occurred in neither are left out, but for those of the report.
 *
 * Two runs do the same work where they read about the same: between 0.8 and 1.25 times the READ
 * requests, or both none. Where they do not, counts are compared for each READ. A command has grown
 * where it is at least twice as many, or new, and that makes at least 100 messages; most has that
 * grown which added most.
 */
#include "capture/difference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/utf.h"
#include "report/report.h"

#define GROWN_RATIO     2.0
#define GROWN_MESSAGES  100.0
#define SAME_WORK_LEAST 0.8
#define SAME_WORK_MOST  1.25

/* ---- rows ---- */

static void add_row(struct difference *d, const char *name, enum difference_kind kind, double base,
                    double other)
{
    if (d->row_count < DIFFERENCE_ROWS)
        d->row[d->row_count++] =
            (struct difference_row){name, kind, base, other, kind == DIFFERENCE_COUNT};
}

static void add_count(struct difference *d, const char *name, uint64_t base, uint64_t other)
{
    add_row(d, name, DIFFERENCE_COUNT, (double)base, (double)other);
}

static void add_command(struct difference *d, uint16_t command, bool always)
{
    uint64_t base = analysis_messages_of(&d->base->command[command]);
    uint64_t other = analysis_messages_of(&d->other->command[command]);
    if (always || base || other)
        add_count(d, wire_command_name(command), base, other);
}

static const uint16_t of_the_report[] = {
    SMB2_CREATE,     SMB2_CLOSE, SMB2_READ,          SMB2_QUERY_DIRECTORY,
    SMB2_QUERY_INFO, SMB2_IOCTL, SMB2_CHANGE_NOTIFY,
};
#define REPORTED (sizeof(of_the_report) / sizeof(of_the_report[0]))

static bool in_the_report(uint16_t command)
{
    for (size_t i = 0; i < REPORTED; i++)
        if (of_the_report[i] == command)
            return true;
    return false;
}

static double waited_seconds(const struct analysis *a)
{
    return (double)analysis_waited_ns(a) / 1e9;
}

static void add_rows(struct difference *d)
{
    const struct analysis *a = d->base, *b = d->other;
    add_row(d, "seconds of SMB traffic", DIFFERENCE_SECONDS, analysis_smb_seconds(a),
            analysis_smb_seconds(b));
    add_count(d, "SMB2 messages", a->messages, b->messages);
    for (size_t i = 0; i < REPORTED; i++)
        add_command(d, of_the_report[i], true);
    for (uint16_t c = 0; c < SMB2_COMMANDS; c++)
        if (!in_the_report(c))
            add_command(d, c, false);
    if (a->dissected.encrypted_messages || b->dissected.encrypted_messages)
        add_count(d, "encrypted messages", a->dissected.encrypted_messages,
                  b->dissected.encrypted_messages);
    add_row(d, "Metadata Requests/sec", DIFFERENCE_RATE, analysis_metadata_rate(a),
            analysis_metadata_rate(b));
    add_count(d, "round trips", a->round_trips, b->round_trips);
    add_row(d, "seconds waited", DIFFERENCE_SECONDS, waited_seconds(a), waited_seconds(b));
    add_count(d, "enumerations", a->enumerations.count, b->enumerations.count);
    add_count(d, "enumerations repeated", a->enumerations.repeats, b->enumerations.repeats);
    add_count(d, "searches for a name", a->enumerations.searches, b->enumerations.searches);
    add_count(d, "missing names asked for", a->names.missing, b->names.missing);
    add_count(d, "opens for attributes", a->names.stats, b->names.stats);
}

static double for_each_read(double value, uint64_t reads)
{
    return reads ? value / (double)reads : 0;
}

double difference_base_per_read(const struct difference *d, const struct difference_row *r)
{
    return for_each_read(r->base, d->base_reads);
}

double difference_other_per_read(const struct difference *d, const struct difference_row *r)
{
    return for_each_read(r->other, d->other_reads);
}

/* ---- directories ---- */

struct both {
    struct hash_node node;
    const char *share, *path;
    uint64_t base, other;
};

static const char *share_alone(const char *name)
{
    const char *last = strrchr(name, '\\');
    return last ? last + 1 : name;
}

static uint64_t both_hash(const char *share, const char *path)
{
    return utf8_fold_hash(path, strlen(path), utf8_fold_hash(share, strlen(share), hash_seed()));
}

static bool folds_equal(const char *a, const char *b)
{
    return utf8_fold_equal(a, strlen(a), b, strlen(b));
}

static struct both *find_both(const struct hash *h, const char *share, const char *path)
{
    share = share_alone(share);
    for (struct hash_node *n = hash_first(h, both_hash(share, path)); n; n = hash_next(n)) {
        struct both *b = (struct both *)n;
        if (folds_equal(share_alone(b->share), share) && folds_equal(b->path, path))
            return b;
    }
    return NULL;
}

/* Adds the directories of one capture to the items, which have room for all. */
static int join(struct hash *h, struct both *items, size_t *count, const struct analysis *a,
                bool other)
{
    for (size_t i = 0; i < a->directory_count; i++) {
        const struct analysis_directory *d = &a->directories[i];
        struct both *b = find_both(h, d->share, d->path);
        if (!b) {
            b = &items[(*count)++];
            *b = (struct both){.share = d->share, .path = d->path};
            int code = hash_add(h, &b->node, both_hash(share_alone(d->share), d->path));
            if (code < 0)
                return code;
        }
        *(other ? &b->other : &b->base) += d->listings + d->searches;
    }
    return 0;
}

static int by_growth(const void *x, const void *y)
{
    const struct both *a = x, *b = y;
    int64_t grown_a = (int64_t)(a->other - a->base), grown_b = (int64_t)(b->other - b->base);
    if (grown_a != grown_b)
        return grown_a < grown_b ? 1 : -1;
    return strcmp(a->path, b->path);
}

static void take_grown(struct difference *d, const struct both *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct both *b = &items[i];
        d->only_base += !b->other;
        d->only_other += !b->base;
        if (b->other <= b->base)
            continue;
        d->grown_all++;
        if (d->grown_count < DIFFERENCE_DIRECTORIES)
            d->grown[d->grown_count++] =
                (struct difference_directory){b->share, b->path, b->base, b->other};
    }
}

static int compare_directories(struct difference *d)
{
    struct hash h;
    size_t count = 0;
    struct both *items =
        calloc(d->base->directory_count + d->other->directory_count + 1, sizeof(*items));
    if (!items)
        return -1;
    hash_init(&h);
    int code = join(&h, items, &count, d->base, false);
    if (code == 0)
        code = join(&h, items, &count, d->other, true);
    hash_done(&h);
    if (code == 0) {
        qsort(items, count, sizeof(*items), by_growth);
        take_grown(d, items, count);
    }
    free(items);
    return code;
}

/* ---- what it says ---- */

static struct finding *add_finding(struct difference *d, const char *name, enum severity severity)
{
    static struct finding none;
    if (d->finding_count == FINDINGS_MAX)
        return &none;
    struct finding *f = &d->finding[d->finding_count++];
    *f = (struct finding){.name = name, .severity = severity};
    return f;
}

static bool same_work(const struct difference *d)
{
    if (!d->base_reads && !d->other_reads)
        return true;
    double ratio = (double)d->other_reads / (double)d->base_reads;
    return d->base_reads && d->other_reads && ratio >= SAME_WORK_LEAST && ratio <= SAME_WORK_MOST;
}

static void tell_work(struct difference *d)
{
    char a[REPORT_NUMBER], b[REPORT_NUMBER], r[REPORT_NUMBER];
    if (same_work(d))
        return;
    struct finding *f = add_finding(d, "other-work", SEVERITY_UNSURE);
    snprintf(f->text, sizeof(f->text),
             "the two do not read the same amount: %s and %s READ requests (%s)",
             report_count(a, d->base_reads), report_count(b, d->other_reads),
             report_ratio(r, (double)d->other_reads, (double)d->base_reads));
    snprintf(f->remedy, sizeof(f->remedy),
             "capture the same work twice, or go by the columns for each READ");
}

static bool scaled(const struct difference *d)
{
    return d->base_reads && d->other_reads && !same_work(d);
}

/* What the command would have had in the other capture, had it not grown: for the same work as
 * many, else as many for each READ. */
static double expected(const struct difference *d, const struct difference_row *r)
{
    return scaled(d) ? r->base * (double)d->other_reads / (double)d->base_reads : r->base;
}

static bool has_grown(const struct difference *d, const struct difference_row *r)
{
    return r->other - r->base >= GROWN_MESSAGES && r->other >= GROWN_RATIO * expected(d, r);
}

static double growth(const struct difference *d, const struct difference_row *r)
{
    return r->other - expected(d, r);
}

static bool is_command(const struct difference_row *r)
{
    for (uint16_t c = 0; c < SMB2_COMMANDS; c++)
        if (strcmp(r->name, wire_command_name(c)) == 0)
            return true;
    return false;
}

static const struct difference_row *most_grown(const struct difference *d)
{
    const struct difference_row *most = NULL;
    for (size_t i = 0; i < d->row_count; i++) {
        const struct difference_row *r = &d->row[i];
        if (is_command(r) && has_grown(d, r) && (!most || growth(d, r) > growth(d, most)))
            most = r;
    }
    return most;
}

static void tell_growth(struct difference *d)
{
    char a[REPORT_NUMBER], b[REPORT_NUMBER], r[REPORT_NUMBER];
    const struct difference_row *most = most_grown(d);
    if (!most)
        return;
    struct finding *f = add_finding(d, "command-grown", SEVERITY_FAULT);
    f->count = (uint64_t)most->other;
    f->of = (uint64_t)most->base;
    if (f->of)
        snprintf(f->text, sizeof(f->text), "%s has grown most: %s messages, %s before (%s%s)",
                 most->name, report_count(a, f->count), report_count(b, f->of),
                 report_ratio(r, most->other, expected(d, most)),
                 scaled(d) ? " for each READ" : "");
    else
        snprintf(f->text, sizeof(f->text), "%s has grown most: %s messages, none before",
                 most->name, report_count(a, f->count));
    snprintf(f->remedy, sizeof(f->remedy), "%s",
             d->grown_count ? "see which directories grew, and the findings of the capture itself"
                            : "see the findings of the capture itself");
}

static bool has(const struct finding *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0)
            return true;
    return false;
}

/* Faults that only one of the two has. */
static void tell_faults(struct difference *d)
{
    struct finding base[FINDINGS_MAX], other[FINDINGS_MAX];
    size_t n = verdict(d->base, base), m = verdict(d->other, other);
    for (size_t i = 0; i < m; i++)
        if (other[i].severity == SEVERITY_FAULT && !has(base, n, other[i].name)) {
            struct finding *f = add_finding(d, "fault-new", SEVERITY_FAULT);
            snprintf(f->text, sizeof(f->text), "new: %.490s", other[i].text);
            memcpy(f->remedy, other[i].remedy, sizeof(f->remedy));
        }
    for (size_t i = 0; i < n; i++)
        if (base[i].severity == SEVERITY_FAULT && !has(other, m, base[i].name)) {
            struct finding *f = add_finding(d, "fault-gone", SEVERITY_NOTE);
            snprintf(f->text, sizeof(f->text), "gone: %.490s", base[i].text);
        }
}

struct difference *difference_new(const struct analysis *base, const struct analysis *other)
{
    struct difference *d = calloc(1, sizeof(*d));
    if (!d)
        return NULL;
    d->base = base;
    d->other = other;
    d->base_reads = base->command[SMB2_READ].requests;
    d->other_reads = other->command[SMB2_READ].requests;
    add_rows(d);
    if (compare_directories(d) < 0)
        return difference_free(d);
    tell_growth(d);
    tell_faults(d);
    tell_work(d);
    return d;
}

struct difference *difference_free(struct difference *d)
{
    free(d);
    return NULL;
}
