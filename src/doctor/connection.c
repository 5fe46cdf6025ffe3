/*
 * What can be said of the way to the server, of what was agreed on with it, and of how fast it
 * answers.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "doctor/exam.h"

enum { ECHOES = 20, LISTED_MAX = 20000, CREDITS_FEW = 64, KIB = 1024 };
#define LISTING_MAX   (2 * NS_PER_SEC)
#define SLOW_MS       20.0
#define CLOCK_NEAR_S  2.0
#define CLOCK_WRONG_S 300.0 /* from here on Kerberos refuses (RFC 4120 appendix, 5 minutes) */

bool connection_reach(struct exam *x, const struct client_options *options)
{
    struct client_reach reach;
    struct error err = {0};
    struct finding *f;
    if (client_reach(options, &reach, &err) < 0) {
        f = report_add(x->report, "reach", "reach", DOCTOR_WRONG, "%s", err.text);
        if (err.code == -ECONNREFUSED)
            finding_advise(f, "start the SMB service there, or give its port (port=)");
        else if (strstr(err.text, "cannot resolve"))
            finding_advise(f, "check the name, ask DNS for it, or give the address (ip=)");
        else
            finding_advise(f, "check that the server is up and that no firewall drops TCP port %u",
                           options->port ? options->port : 445);
        return false;
    }
    f = report_add(x->report, "reach", "reach", DOCTOR_GOOD,
                   "%s (of %u); name resolved in %.1f ms, TCP in %.1f ms", reach.address,
                   reach.addresses, exam_ms(reach.resolve_ns), exam_ms(reach.connect_ns));
    finding_fact(f, "address", json_string(reach.address));
    finding_fact(f, "addresses", json_integer(reach.addresses));
    finding_fact(f, "resolve_ms", json_real(exam_ms(reach.resolve_ns)));
    finding_fact(f, "connect_ms", json_real(exam_ms(reach.connect_ns)));
    return true;
}

/* ---- round trips ---- */

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void round_trip(struct exam *x)
{
    uint64_t took[ECHOES];
    struct error err = {0};
    for (int i = 0; i < ECHOES; i++) {
        uint64_t begun = clock_now();
        if (client_echo(x->ours, &err) < 0) {
            report_add(x->report, "round_trip", "round trip", DOCTOR_WRONG, "%s", err.text);
            return;
        }
        took[i] = clock_now() - begun;
    }
    qsort(took, ECHOES, sizeof took[0], by_size);
    double median = exam_ms(took[ECHOES / 2]);
    struct finding *f = report_add(x->report, "round_trip", "round trip",
                                   median > SLOW_MS ? DOCTOR_NOTE : DOCTOR_GOOD,
                                   "%.2f ms (median of %d ECHOs; %.2f to %.2f)", median, ECHOES,
                                   exam_ms(took[0]), exam_ms(took[ECHOES - 1]));
    if (median > SLOW_MS)
        finding_advise(f, "the server is far away: what a program asks for one by one takes that "
                          "long each. Longer lifetimes help where nobody promises anything "
                          "(DirectoryCacheLifetime=, FileInfoCacheLifetime=)");
    finding_fact(f, "median_ms", json_real(median));
    finding_fact(f, "least_ms", json_real(exam_ms(took[0])));
    finding_fact(f, "most_ms", json_real(exam_ms(took[ECHOES - 1])));
}

/* ---- what was agreed on ---- */

static void dialect(struct exam *x, const struct client_facts *facts)
{
    bool old = facts->dialect < 0x0300;
    struct finding *f = report_add(x->report, "dialect", "dialect", old ? DOCTOR_NOTE : DOCTOR_GOOD,
                                   "SMB %s", facts->dialect_name);
    if (old)
        finding_advise(f, "SMB 3 has encryption, leases of directories and more: allow it on the "
                          "server (Samba: server max protocol) and here (vers=, Smb2DialectMax)");
    finding_fact(f, "name", json_string(facts->dialect_name));
}

static void protection(struct exam *x, const struct client_facts *facts)
{
    const char *insists = facts->server_requires_signing ? "the server requires it"
                          : x->share->sign_asked         ? "it was asked for"
                                                         : "the server would do without";
    bool sealed = strcmp(facts->encryption, "none") != 0, can = strcmp(facts->cipher, "none") != 0;
    struct finding *f;
    if (facts->signing)
        f = report_add(x->report, "signing", "signing", DOCTOR_GOOD, "%s; %s",
                       facts->signing_algorithm, insists);
    else if (sealed)
        f = report_add(x->report, "signing", "signing", DOCTOR_GOOD,
                       "none: all is encrypted, which covers it");
    else
        f = report_add(x->report, "signing", "signing", DOCTOR_NOTE, "none: %s",
                       facts->guest ? "a guest's session has no key" : insists);
    if (!facts->signing && !sealed && !facts->guest)
        finding_advise(f, "what travels can be changed on the way: sign, or "
                          "RequireSecuritySignature=1");
    finding_fact(f, "algorithm", json_string(facts->signing ? facts->signing_algorithm : "none"));
    finding_fact(f, "active", json_boolean(facts->signing));
    finding_fact(f, "required_by_server", json_boolean(facts->server_requires_signing));

    if (sealed)
        f = report_add(x->report, "encryption", "encryption", DOCTOR_GOOD, "%s, of everything%s",
                       facts->encryption,
                       x->share->settings.require_encryption ? "" : ": the server requires it");
    else if (can)
        f = report_add(x->report, "encryption", "encryption", DOCTOR_GOOD,
                       "not in use; %s is there (seal)", facts->cipher);
    else
        f = report_add(x->report, "encryption", "encryption", DOCTOR_NOTE, "not possible: %s",
                       facts->dialect < 0x0300 ? "that takes SMB 3" : "no cipher in common");
    if (!sealed && !can)
        finding_advise(f, "who can read along on the way can read everything. Allow SMB 3 with a "
                          "cipher on the server (Samba: server max protocol, server smb encrypt)");
    finding_fact(f, "active", json_string(facts->encryption));
    finding_fact(f, "cipher", json_string(facts->cipher));
}

static void limits(struct exam *x, const struct client_facts *facts)
{
    bool small = facts->max_read <= 65536 || facts->max_write <= 65536;
    struct finding *f =
        report_add(x->report, "buffers", "buffer limits", small ? DOCTOR_NOTE : DOCTOR_GOOD,
                   "read %u KiB, write %u KiB, listing %u KiB (used: %u, %u, %u)",
                   facts->server_max_read / KIB, facts->server_max_write / KIB,
                   facts->server_max_transact / KIB, facts->max_read / KIB, facts->max_write / KIB,
                   facts->max_transact / KIB);
    if (small)
        finding_advise(f, facts->dialect <= 0x0202
                              ? "SMB 2.0.2 moves 64 KiB at a time at the most: allow a later "
                                "dialect"
                              : "raise them on the server to 1 MiB or more (Samba: smb2 max read, "
                                "smb2 max write, smb2 max trans)");
    finding_fact(f, "max_read", json_integer(facts->server_max_read));
    finding_fact(f, "max_write", json_integer(facts->server_max_write));
    finding_fact(f, "max_transact", json_integer(facts->server_max_transact));

    bool few = facts->credits < CREDITS_FEW;
    f = report_add(x->report, "credits", "credits", few ? DOCTOR_NOTE : DOCTOR_GOOD,
                   "%u: so many requests (or 64 KiB each) can be under way at a time",
                   facts->credits);
    if (few)
        finding_advise(f, "long reads and writes, and many programs at a time, wait for credits: "
                          "the server should grant more (Samba: smb2 max credits)");
    finding_fact(f, "granted", json_integer(facts->credits));
}

static void clocks(struct exam *x, const struct client_facts *facts)
{
    double ahead = (double)facts->clock_ahead_ns / NS_PER_SEC, off = ahead < 0 ? -ahead : ahead;
    if (!facts->clock_known) {
        report_add(x->report, "clock", "clock", DOCTOR_UNTRIED,
                   "the server does not tell its time");
        return;
    }
    struct finding *f =
        report_add(x->report, "clock", "clock",
                   off < CLOCK_NEAR_S    ? DOCTOR_GOOD
                   : off < CLOCK_WRONG_S ? DOCTOR_NOTE
                                         : DOCTOR_WRONG,
                   off < CLOCK_NEAR_S ? "the server's is the same as ours (%.1f s %s)"
                                      : "the server's is %.1f s %s ours",
                   off, ahead < 0 ? "behind" : "ahead of");
    if (off >= CLOCK_NEAR_S)
        finding_advise(f,
                       "set both by NTP%s: make, rsync and backups compare the server's times with "
                       "this machine's",
                       off >= CLOCK_WRONG_S ? " (Kerberos refuses more than 300 s)" : "");
    finding_fact(f, "ahead_s", json_real(ahead));
}

void connection_facts(struct exam *x)
{
    struct client_facts facts;
    struct file_attr attr;
    round_trip(x);
    client_stat(x->ours, x->top, CLIENT_COMPOUND, &attr, NULL, NULL); /* shows what is refused */
    client_facts(x->ours, &facts);
    dialect(x, &facts);
    protection(x, &facts);
    limits(x, &facts);
    clocks(x, &facts);
}

/* ---- a listing ---- */

struct listed {
    struct exam *x;
    uint64_t entries, until;
};

static int note_entry(void *user, const char *name, size_t len, const struct file_attr *attr,
                      size_t wire_bytes)
{
    struct listed *l = user;
    struct sample *s = &l->x->sample;
    bool letter = false;
    for (size_t i = 0; i < len; i++)
        letter |= isalpha((unsigned char)name[i]) && !(name[i] & 0x80);
    if (!*s->file &&
        !(attr->attributes & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT)))
        snprintf(s->file, sizeof s->file, "%.*s", (int)len, name);
    if (!*s->lettered && letter)
        snprintf(s->lettered, sizeof s->lettered, "%.*s", (int)len, name);
    l->entries++;
    bool enough = l->entries >= LISTED_MAX || clock_now() > l->until || exam_stopped(l->x);
    return enough ? -ECANCELED : 0;
}

static void compounds(struct exam *x)
{
    struct client_facts facts;
    client_facts(x->ours, &facts);
    const char *refused = facts.refuses_compounds        ? "refused"
                          : facts.refuses_compound_query ? "refused with QUERY_INFO in them"
                                                         : NULL;
    struct finding *f =
        report_add(x->report, "compounds", "compounds", refused ? DOCTOR_NOTE : DOCTOR_GOOD, "%s%s",
                   refused ? refused : "answered: a question is one round trip",
                   facts.refuses_large_listings ? "; listings come in pieces of 64 KiB" : "");
    if (refused)
        finding_advise(f, "each question takes up to three round trips: a newer server would "
                          "answer in one");
    finding_fact(f, "answered", json_boolean(!refused));
    finding_fact(f, "large_listings", json_boolean(!facts.refuses_large_listings));
}

void connection_listing(struct exam *x)
{
    struct observe_counts before, after;
    struct error err = {0};
    struct client_list_result ignored;
    uint64_t begun = clock_now();
    struct listed l = {.x = x, .until = begun + LISTING_MAX};
    observe_read(x->observe, &before);
    int r =
        client_list(x->ours, x->top, "*", CLIENT_COMPOUND, false, note_entry, &l, &ignored, &err);
    uint64_t took = clock_now() - begun;
    observe_read(x->observe, &after);
    bool cut = r == -ECANCELED && l.entries;
    if (r < 0 && !cut) {
        report_add(x->report, "listing", "listing", DOCTOR_WRONG, "%s", err.text);
        return;
    }
    uint64_t trips = after.round_trips - before.round_trips;
    double speed = took ? (double)l.entries * NS_PER_SEC / (double)took : 0;
    struct finding *f =
        report_add(x->report, "listing", "listing", DOCTOR_GOOD,
                   "%llu entries%s in %llu round trip%s, %.1f ms%s", (unsigned long long)l.entries,
                   cut ? " (not all)" : "", (unsigned long long)trips, trips == 1 ? "" : "s",
                   exam_ms(took), l.entries < 100 ? " (too few to tell a speed)" : "");
    if (l.entries >= 100) {
        size_t len = strlen(f->text);
        snprintf(f->text + len, sizeof f->text - len, ": %.0f entries a second", speed);
        finding_fact(f, "entries_per_second", json_real(speed));
    }
    finding_fact(f, "entries", json_integer((json_int_t)l.entries));
    finding_fact(f, "all", json_boolean(!cut));
    finding_fact(f, "round_trips", json_integer((json_int_t)trips));
    finding_fact(f, "ms", json_real(exam_ms(took)));
    compounds(x);
}

/* ---- room ---- */

void connection_space(struct exam *x)
{
    struct client_statfs fs;
    struct error err = {0};
    if (client_statfs(x->ours, &fs, &err) < 0) {
        report_add(x->report, "space", "free space", DOCTOR_WRONG, "%s", err.text);
        return;
    }
    double gib = 1 << 30;
    bool full = fs.available_bytes == 0 && fs.total_bytes;
    struct finding *f = report_add(x->report, "space", "free space",
                                   full ? DOCTOR_NOTE : DOCTOR_GOOD, "%.1f of %.1f GiB",
                                   (double)fs.available_bytes / gib, (double)fs.total_bytes / gib);
    if (full)
        finding_advise(f, "there is no room left for this user: remove something, or have the "
                          "quota raised");
    finding_fact(f, "available", json_integer((json_int_t)fs.available_bytes));
    finding_fact(f, "total", json_integer((json_int_t)fs.total_bytes));
    finding_fact(f, "longest_name", json_integer(fs.max_component));
}
