/*
 * The rules. Thresholds, and why:
 *
 *   rule                          at least  and share  of                         and requests
 *   directory-cache-inactive            20       25 %  enumerations                       20 %
 *   names-searched-one-by-one           20       50 %  QUERY_DIRECTORY requests              -
 *   listing-too-large                    5        2 %  enumerations                          -
 *   missing-names-asked-again           20       25 %  questions for missing names         5 %
 *   attributes-asked-again              20       25 %  opens for attributes                5 %
 *   leases-broken-often                 10       25 %  leases and oplocks granted            -
 *   directory-cache-too-small           20       25 %  enumerations                          -
 *   directory-leases-unused             20       25 %  enumerations (repeats of any kind)    -
 *   smb1                                20        0 %  -                                     -
 *   what the capture does not show       1        0 %  -                                     -
 *
 * 20, since a program that starts asks some things twice before any cache is warm. A quarter, and a
 * part of all metadata requests, since a cache that works is passed by now and then (an entry that
 * made way for others, a lifetime that ran out): where directories are few, half of the
 * enumerations may be such repeats, but they are a few per cent of the requests. With a dead cache
 * they are nearly all. A listing that cannot be cached hurts sooner, because each one is large. 20
 * messages of SMB 1 are more than asking for SMB 2 takes. What makes the numbers unsure is told
 * whenever it occurs.
 */
#include "capture/verdict.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "report/report.h"

#define NUMBERS char n[4][REPORT_NUMBER]
#define KIB     1024.0

struct measure {
    uint64_t count, of;
    uint64_t requests; /* that these took; only where the rule has a weight */
};

struct rule {
    const char *name;
    enum severity severity;
    uint64_t at_least;
    unsigned share;  /* per cent */
    unsigned weight; /* per cent of all metadata requests */
    struct measure (*measure)(const struct analysis *a);
    void (*tell)(const struct analysis *a, struct finding *f);
};

#define TEXT(f, ...)   snprintf((f)->text, sizeof((f)->text), __VA_ARGS__)
#define REMEDY(f, ...) snprintf((f)->remedy, sizeof((f)->remedy), __VA_ARGS__)

const char *severity_name(enum severity s)
{
    static const char *const names[] = {"fault", "note", "unsure"};
    return s <= SEVERITY_UNSURE ? names[s] : "unknown";
}

const char *place_text(char out[static PLACE_TEXT], const char *share, const char *path)
{
    int len = snprintf(out, PLACE_TEXT, "%s%s%s", *share ? share : "(share not seen)",
                       *path ? "\\" : "", path);
    for (size_t i = strlen(share); len > 0 && out[i]; i++)
        if (out[i] == '/')
            out[i] = '\\';
    return out;
}

static double percent(const struct finding *f)
{
    return f->of ? 100.0 * (double)f->count / (double)f->of : 0;
}

static const char *seconds(char buf[static REPORT_NUMBER], uint64_t ns)
{
    return report_decimal(buf, (double)ns / (double)NS_PER_SEC, ns < NS_PER_SEC ? 3 : 1);
}

/* ---- directories ---- */

static struct measure directory_inactive(const struct analysis *a)
{
    return (struct measure){a->enumerations.repeats_in_bound, a->enumerations.count,
                            a->enumerations.in_bound_requests};
}

static void tell_directory_inactive(const struct analysis *a, struct finding *f)
{
    NUMBERS;
    TEXT(f,
         "directory cache inactive: %s of %s enumerations (%.1f %%) repeated one of the same "
         "directory seen less than %" PRIu32 " s before, no change in between; repeats cost %s s",
         report_count(n[0], f->count), report_count(n[1], f->of), percent(f),
         a->settings->directory_cache_lifetime, seconds(n[2], a->enumerations.repeats_waited_ns));
    REMEDY(f, "Get-SmbClientConfiguration: DirectoryCacheLifetime and DirectoryCacheEntriesMax "
              "must not be 0; where they are not, this client does not use its directory cache: "
              "let the application list a directory once and keep the listing");
}

static struct measure searched(const struct analysis *a)
{
    const uint64_t *by = a->enumerations.by_pattern;
    return (struct measure){by[PATTERN_NAME],
                            by[PATTERN_NAME] + by[PATTERN_EVERYTHING] + by[PATTERN_WILDCARD]};
}

static void tell_searched(const struct analysis *a, struct finding *f)
{
    NUMBERS;
    TEXT(f,
         "names are searched one by one: %.0f %% of QUERY_DIRECTORY (%s of %s requests) carry a "
         "single name",
         percent(f), report_count(n[0], f->count), report_count(n[1], f->of));
    REMEDY(f, "one listing of the directory answers them all: a client with a directory cache, or "
              "an application that lists (os.scandir, FindFirstFile with *) in place of asking "
              "name by name");
}

static struct measure oversize(const struct analysis *a)
{
    return (struct measure){a->enumerations.repeats_oversize, a->enumerations.count};
}

static const struct analysis_directory *most_oversize(const struct analysis *a)
{
    const struct analysis_directory *most = NULL;
    for (size_t i = 0; i < a->directory_count; i++)
        if (a->directories[i].repeats_oversize &&
            (!most || a->directories[i].repeats_oversize > most->repeats_oversize))
            most = &a->directories[i];
    return most;
}

static void tell_oversize(const struct analysis *a, struct finding *f)
{
    NUMBERS;
    char place[PLACE_TEXT] = "a directory";
    const struct analysis_directory *d = most_oversize(a);
    if (d)
        place_text(place, d->share, d->path);
    TEXT(f,
         "listing too large to be cached: that of %.240s is %s KiB (%s entries), over "
         "DirectoryCacheEntrySizeMax (%.0f KiB); such listings were repeated %s times",
         place, report_decimal(n[0], d ? (double)d->listing_bytes / KIB : 0, 0),
         report_count(n[1], d ? d->entries : 0),
         (double)a->settings->directory_cache_entry_size_max / KIB, report_count(n[2], f->count));
    REMEDY(f, "Set-SmbClientConfiguration -DirectoryCacheEntrySizeMax, or fewer entries in the "
              "directory");
}

static struct measure too_small(const struct analysis *a)
{
    const struct analysis_enumerations *e = &a->enumerations;
    return (struct measure){e->repeats - e->repeats_in_bound - e->repeats_oversize, e->count};
}

static void tell_too_small(const struct analysis *a, struct finding *f)
{
    NUMBERS;
    TEXT(f,
         "more directories than are cached: %s of %s enumerations (%.1f %%) repeated one after "
         "%" PRIu32 " or more other directories (DirectoryCacheEntriesMax)",
         report_count(n[0], f->count), report_count(n[1], f->of), percent(f),
         a->settings->directory_cache_entries_max);
    REMEDY(f, "Set-SmbClientConfiguration -DirectoryCacheEntriesMax; --sweep "
              "DirectoryCacheEntriesMax shows how many are enough");
}

/* ---- names ---- */

static struct measure missing_again(const struct analysis *a)
{
    return (struct measure){a->names.missing_in_bound, a->names.missing,
                            a->names.missing_in_bound_requests};
}

static void tell_missing_again(const struct analysis *a, struct finding *f)
{
    NUMBERS;
    TEXT(f,
         "missing names are asked for again: %s of %s questions for names that are not there "
         "(%.1f %%) repeated one answered less than %" PRIu32 " s before",
         report_count(n[0], f->count), report_count(n[1], f->of), percent(f),
         a->settings->file_not_found_cache_lifetime);
    REMEDY(f, "Get-SmbClientConfiguration: FileNotFoundCacheLifetime and "
              "FileNotFoundCacheEntriesMax must not be 0; a shorter search path of the application "
              "asks for fewer names");
}

static struct measure attributes_again(const struct analysis *a)
{
    return (struct measure){a->names.stat_in_bound, a->names.stats,
                            a->names.stat_in_bound_requests};
}

static void tell_attributes_again(const struct analysis *a, struct finding *f)
{
    NUMBERS;
    TEXT(f,
         "attributes are asked for again: %s of %s opens for attributes only (%.1f %%) repeated "
         "one answered less than %" PRIu32 " s before, no change in between",
         report_count(n[0], f->count), report_count(n[1], f->of), percent(f),
         a->settings->file_info_cache_lifetime);
    REMEDY(f, "Get-SmbClientConfiguration: FileInfoCacheLifetime and FileInfoCacheEntriesMax must "
              "not be 0");
}

/* ---- leases ---- */

static struct measure lease_churn(const struct analysis *a)
{
    const struct analysis_leases *l = &a->leases;
    return (struct measure){l->lease_breaks + l->oplock_breaks,
                            l->granted + l->directory_granted + l->oplocks_granted};
}

static void tell_lease_churn(const struct analysis *a, struct finding *f)
{
    NUMBERS;
    TEXT(f, "leases are broken often: %s breaks, %s leases and oplocks granted",
         report_count(n[0], f->count), report_count(n[1], f->of));
    REMEDY(f, "several clients, or handles of one, contend for the same files: see which names are "
              "written to while others read them");
}

static struct measure directory_leases_unused(const struct analysis *a)
{
    bool offered = false;
    for (size_t i = 0; i < a->host_count; i++)
        offered |= (a->hosts[i].facts.server_capabilities & SMB2_GLOBAL_CAP_DIRECTORY_LEASING) != 0;
    if (!offered || a->leases.directory_asked || !a->leases.directory_opens)
        return (struct measure){0, 0};
    return (struct measure){a->enumerations.repeats, a->enumerations.count};
}

static void tell_directory_leases_unused(const struct analysis *a, struct finding *f)
{
    NUMBERS;
    TEXT(f,
         "directory leases offered by the server, never asked for: %s directories opened without "
         "one, %s enumerations repeated",
         report_count(n[0], a->leases.directory_opens), report_count(n[1], f->count));
    REMEDY(f, "with a directory lease a listing may be kept for as long as nothing changes; "
              "Windows asks for one where its directory cache is on");
}

/* ---- what the capture does not show ---- */

static struct measure nothing(const struct analysis *a)
{
    bool any = a->messages || a->dissected.encrypted_messages || a->dissected.compressed_messages;
    return (struct measure){!any, 0};
}

static void tell_nothing(const struct analysis *a, struct finding *f)
{
    size_t at = (size_t)TEXT(f, "%s",
                             a->packets   ? "no SMB 2 or 3 in it"
                             : a->cut_off ? "no packets in it: it is cut off before the first"
                                          : "no packets in it");
    for (size_t i = 0; i < a->other_port_count && at + 40 < sizeof(f->text); i++)
        at += (size_t)snprintf(f->text + at, sizeof(f->text) - at, "%s%u",
                               i ? ", " : "; data on TCP ports ", a->other_ports[i]);
    if (a->dissected.smb1_messages)
        snprintf(f->text + at, sizeof(f->text) - at, "; %" PRIu64 " messages of SMB 1",
                 a->dissected.smb1_messages);
    if (a->other_port_count)
        REMEDY(f, "--port %u where that is the server's port, or --any-port", a->other_ports[0]);
    else
        REMEDY(f, "capture TCP port 445 on the client; SMB over QUIC and RDMA cannot be seen");
}

/* Something could be read, but nothing that a cache of files or directories could have to do with.
 */
static struct measure nothing_asked(const struct analysis *a)
{
    bool any = a->messages || a->dissected.encrypted_messages || a->dissected.compressed_messages;
    bool asked = a->leases.opens || a->names.missing || a->names.stats || a->enumerations.count;
    return (struct measure){any && !asked, 0};
}

static void tell_nothing_asked(const struct analysis *a, struct finding *f)
{
    NUMBERS;
    TEXT(f,
         "nothing can be said of the client's caches: no question for a file or directory is in "
         "the %s messages that could be read",
         report_count(n[0], a->messages));
    REMEDY(f, "capture while the slow program runs, from before it starts");
}

static struct measure clock_wrong(const struct analysis *a)
{
    bool stands = a->packets > 1 && a->first_packet_ns == a->last_packet_ns;
    return (struct measure){a->clock_back + stands, 0};
}

static void tell_clock_wrong(const struct analysis *a, struct finding *f)
{
    NUMBERS;
    if (!a->clock_back)
        TEXT(f, "all packets have the same time: nothing that takes time can be judged");
    else
        TEXT(f, "the clock went back %s time%s, by %s s at most: times around that are wrong",
             report_count(n[0], a->clock_back), a->clock_back == 1 ? "" : "s",
             seconds(n[1], a->clock_back_ns));
    REMEDY(f, "keep the clock from being set while capturing; `reordercap` puts the packets of a "
              "merged file in order");
}

static struct measure encrypted(const struct analysis *a)
{
    uint64_t n = a->dissected.encrypted_messages;
    return (struct measure){n, n + a->messages};
}

static void tell_encrypted(const struct analysis *a, struct finding *f)
{
    NUMBERS;
    TEXT(f, "encrypted: %s messages (%.0f %%) could not be read%s", report_count(n[0], f->count),
         percent(f),
         a->dissected.wrong_keys ? "; the keys given for their session do not fit"
         : a->keys_given         ? "; no key was given for their sessions"
                                 : "");
    REMEDY(f, "--keys FILE with the session keys (`larder analyze --help`), or capture where "
              "encryption is off");
}

static struct measure compressed(const struct analysis *a)
{
    return (struct measure){a->dissected.not_inflated, a->dissected.not_inflated + a->messages};
}

static void tell_compressed(const struct analysis *a, struct finding *f)
{
    NUMBERS;
    TEXT(f, "compressed: %s messages could not be inflated: counted but not looked into",
         report_count(n[0], f->count));
    REMEDY(f, "Set-SmbClientConfiguration -DisableCompression while capturing");
}

static struct measure gaps(const struct analysis *a)
{
    return (struct measure){a->streams.gaps, 0};
}

static void tell_gaps(const struct analysis *a, struct finding *f)
{
    NUMBERS;
    TEXT(f,
         "packets are missing: %s gap%s, %s bytes lost and %s passed over to find the next message",
         report_count(n[0], f->count), f->count == 1 ? "" : "s",
         report_count(n[1], a->streams.gap_bytes), report_count(n[2], a->streams.skipped_bytes));
    REMEDY(f, "the capture lost them (the connection did not): capture on the client with a larger "
              "buffer and a filter for the server");
}

static struct measure dropped(const struct analysis *a)
{
    return (struct measure){a->dropped, a->dropped + a->packets};
}

static void tell_dropped(const struct analysis *a, struct finding *f)
{
    NUMBERS;
    TEXT(f, "packets were dropped while listening: %s of %s", report_count(n[0], f->count),
         report_count(n[1], f->of));
    REMEDY(f, "write a file with dumpcap or tcpdump and analyse that");
}

static struct measure truncated(const struct analysis *a)
{
    return (struct measure){a->streams.truncated_frames, a->packets};
}

static void tell_truncated(const struct analysis *a, struct finding *f)
{
    NUMBERS;
    TEXT(f, "packets were cut when captured: %s of %s, and with them messages of compounds",
         report_count(n[0], f->count), report_count(n[1], f->of));
    REMEDY(f, "capture whole packets (pktmon start --capture --pkt-size 0, tcpdump -s 0)");
}

static struct measure ends_early(const struct analysis *a)
{
    return (struct measure){a->cut_off || a->stopped[0], 0};
}

static void tell_ends_early(const struct analysis *a, struct finding *f)
{
    if (a->stopped[0])
        TEXT(f, "the rest of the file could not be read: %s", a->stopped);
    else
        TEXT(f, "the file ends in the middle of a packet: analysed up to there");
    REMEDY(f, "the copy, or the capture itself, was stopped early");
}

static struct measure bounds(const struct analysis *a)
{
    return (struct measure){
        a->streams.flows_dropped + a->dissected.open_bound_reached + a->places_evicted, 0};
}

static void tell_bounds(const struct analysis *a, struct finding *f)
{
    NUMBERS;
    TEXT(f,
         "larger than what is kept: %s connections and %s opens given up, %s directories and names "
         "left out of the lists",
         report_count(n[0], a->streams.flows_dropped),
         report_count(n[1], a->dissected.open_bound_reached),
         report_count(n[2], a->places_evicted));
    REMEDY(f, "split the capture by client or by time");
}

static struct measure smb1(const struct analysis *a)
{
    return (struct measure){a->messages ? a->dissected.smb1_messages : 0, 0};
}

static void tell_smb1(const struct analysis *a, struct finding *f)
{
    NUMBERS;
    TEXT(f, "SMB 1 is spoken: %s messages, counted but not looked into",
         report_count(n[0], f->count));
    REMEDY(f, "switch SMB 1 off on client and server");
}

/* ---- the table ---- */

static const struct rule rules[] = {
    {"no-smb", SEVERITY_FAULT, 1, 0, 0, nothing, tell_nothing},
    {"directory-cache-inactive", SEVERITY_FAULT, 20, 25, 20, directory_inactive,
     tell_directory_inactive},
    {"names-searched-one-by-one", SEVERITY_FAULT, 20, 50, 0, searched, tell_searched},
    {"listing-too-large", SEVERITY_FAULT, 5, 2, 0, oversize, tell_oversize},
    {"missing-names-asked-again", SEVERITY_FAULT, 20, 25, 5, missing_again, tell_missing_again},
    {"attributes-asked-again", SEVERITY_FAULT, 20, 25, 5, attributes_again, tell_attributes_again},
    {"leases-broken-often", SEVERITY_FAULT, 10, 25, 0, lease_churn, tell_lease_churn},
    {"directory-cache-too-small", SEVERITY_NOTE, 20, 25, 0, too_small, tell_too_small},
    {"directory-leases-unused", SEVERITY_NOTE, 20, 25, 0, directory_leases_unused,
     tell_directory_leases_unused},
    {"smb1", SEVERITY_NOTE, 20, 0, 0, smb1, tell_smb1},
    {"nothing-asked", SEVERITY_UNSURE, 1, 0, 0, nothing_asked, tell_nothing_asked},
    {"clock", SEVERITY_UNSURE, 1, 0, 0, clock_wrong, tell_clock_wrong},
    {"encrypted", SEVERITY_UNSURE, 1, 0, 0, encrypted, tell_encrypted},
    {"compressed", SEVERITY_UNSURE, 1, 0, 0, compressed, tell_compressed},
    {"packets-missing", SEVERITY_UNSURE, 1, 0, 0, gaps, tell_gaps},
    {"packets-dropped", SEVERITY_UNSURE, 1, 0, 0, dropped, tell_dropped},
    {"packets-cut", SEVERITY_UNSURE, 1, 0, 0, truncated, tell_truncated},
    {"ends-early", SEVERITY_UNSURE, 1, 0, 0, ends_early, tell_ends_early},
    {"over-bounds", SEVERITY_UNSURE, 1, 0, 0, bounds, tell_bounds},
};
_Static_assert(sizeof(rules) / sizeof(rules[0]) <= FINDINGS_MAX, "room for every rule");

static bool speaks(const struct rule *r, struct measure m, uint64_t metadata_requests)
{
    return m.count >= r->at_least && m.count * 100 >= m.of * r->share &&
           m.requests * 100 >= metadata_requests * r->weight;
}

size_t verdict(const struct analysis *a, struct finding out[static FINDINGS_MAX])
{
    size_t n = 0;
    uint64_t metadata = analysis_metadata_requests(a);
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        struct measure m = rules[i].measure(a);
        if (!speaks(&rules[i], m, metadata))
            continue;
        struct finding *f = &out[n++];
        *f = (struct finding){rules[i].name, rules[i].severity, m.count, m.of};
        rules[i].tell(a, f);
    }
    return n;
}
