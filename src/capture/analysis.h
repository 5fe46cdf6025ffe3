/*
 * What one capture says: counts, times, repeats. Filled from the dissector's events and from
 * operations, finished once, then read by everything that prints: text, Markdown, CSV, JSON and the
 * verdict take their numbers from here and nowhere else.
 *
 * Requests repeated within a cache's lifetime are measured with Windows' default settings: a
 * question is a repeat where its answer had been seen less than the lifetime before, no change to
 * it was seen since (by any client in the capture), and few enough other questions lay in between
 * for a cache of that many entries to have held it still.
 */
#ifndef LARDER_CAPTURE_ANALYSIS_H
#define LARDER_CAPTURE_ANALYSIS_H

#include "cache/settings.h"
#include "capture/dissect.h"
#include "capture/durations.h"
#include "capture/operation.h"
#include "capture/stream.h"

/* ---- commands ---- */

#define ANALYSIS_STATUSES 32 /* per command; others are summed under STATUS_OTHER */
#define STATUS_OTHER      0u

struct analysis_errors {
    uint64_t count;
    size_t distinct;
    struct {
        uint32_t status;
        uint64_t count;
    } by_status[ANALYSIS_STATUSES + 1];
};

struct analysis_command {
    uint64_t requests;
    uint64_t responses; /* final ones, unsolicited notifications among them */
    uint64_t interims;
    uint64_t unsolicited; /* of the responses */
    uint64_t frames;      /* that complete at least one message of this command */
    uint64_t last_frame;
    uint64_t request_bytes, response_bytes;
    struct analysis_errors errors; /* severity error, less MORE_PROCESSING_REQUIRED */
    struct durations waits;        /* from request to final response */
};
/* Requests, responses, interim responses: what the report counts. */
uint64_t analysis_messages_of(const struct analysis_command *c);
/* Whether its responses come when the server answers, not when something happens there:
 * CHANGE_NOTIFY and OPLOCK_BREAK tell nothing of waiting. */
bool analysis_waits_count(uint16_t command);

/* ---- requests over time ---- */

#define TIMELINE_SLOTS 200
struct analysis_timeline {
    uint64_t from_ns, slot_ns; /* the slot doubles when the capture outgrows the line */
    uint64_t requests[TIMELINE_SLOTS][SMB2_COMMANDS];
};

/* ---- directories ---- */

struct analysis_directory {
    const char *server, *share, *path; /* path: "" the root */
    uint64_t listings, searches;
    uint64_t repeats; /* of both, within the lifetime, without a change in between */
    uint64_t repeats_in_bound, repeats_oversize;
    uint64_t listing_bytes,
        entries; /* of its largest listing, as DirectoryCacheEntrySizeMax counts */
    uint64_t waited_ns, repeats_waited_ns;
};

struct analysis_enumerations {
    uint64_t count;              /* opens that enumerated */
    uint64_t listings, searches; /* of those: `*`, or a name or other wildcard */
    uint64_t distinct;           /* directories */
    uint64_t repeats;
    uint64_t repeats_same; /* of those: the same pattern, too */
    uint64_t
        repeats_in_bound; /* of those: DirectoryCacheEntriesMax and ...SizeMax allow for them */
    uint64_t repeats_oversize; /* of a directory over DirectoryCacheEntrySizeMax */
    uint64_t path_unknown;     /* the directory was opened before the capture began */
    uint64_t changed_between;  /* would be repeats but for a change */
    uint64_t waited_ns, repeats_waited_ns;
    uint64_t in_bound_requests; /* that repeats_in_bound took */
    uint64_t by_pattern[3];     /* QUERY_DIRECTORY requests: PATTERN_... */
    uint64_t largest_bytes;
};
enum { PATTERN_EVERYTHING, PATTERN_NAME, PATTERN_WILDCARD };

/* ---- names ---- */

struct analysis_name {
    const char *server, *share, *path;
    bool missing;     /* the last answer was that there is no such name */
    uint64_t asks;    /* by CREATE or by a search for just this name */
    uint64_t repeats; /* within the cache's lifetime, without a change in between */
    uint64_t waited_ns, repeats_waited_ns;
};

struct analysis_names {
    uint64_t missing;                           /* questions for names that are not there */
    uint64_t missing_repeats, missing_in_bound; /* within FileNotFoundCacheLifetime */
    uint64_t stats;                             /* opens for attributes only */
    uint64_t stat_repeats, stat_in_bound;       /* within FileInfoCacheLifetime */
    uint64_t missing_in_bound_requests, stat_in_bound_requests; /* that these repeats took */
    uint64_t searches_found;
    uint64_t waited_ns, repeats_waited_ns;
};

/* ---- leases ---- */

struct analysis_leases {
    uint64_t opens, directory_opens; /* CREATEs that succeeded */
    uint64_t asked, granted;         /* leases on files */
    uint64_t directory_asked, directory_granted;
    uint64_t oplocks_asked, oplocks_granted;
    uint64_t lease_breaks, oplock_breaks;
};

/* ---- hosts ---- */

struct analysis_host {
    char client[48], server[56];
    uint64_t connections;
    struct flow_facts facts; /* of the latest connection that said them */
    bool facts_differ;       /* between its connections */
};
#define ANALYSIS_HOSTS 64
#define ANALYSIS_PORTS 8

/* ---- all of it ---- */

struct analysis {
    /* filled by whoever runs it (analyze.c) */
    char *file;
    uint64_t packets;
    uint64_t dropped;  /* live: by the kernel */
    bool cut_off;      /* the file ends in the middle of a packet */
    char stopped[200]; /* why the rest could not be read, "" it could */
    bool keys_given;
    uint64_t first_packet_ns, last_packet_ns;
    struct stream_counts streams;
    struct dissect_counts dissected;
    uint16_t other_ports[ANALYSIS_PORTS];
    size_t other_port_count;

    const struct settings *settings; /* the yardstick */
    uint64_t messages;               /* SMB2 messages that could be read */
    uint64_t frames;                 /* that complete at least one, or one in an envelope */
    uint64_t last_frame;
    uint64_t clock_back, clock_back_ns; /* how often the clock went back, and most by how much */
    uint64_t first_ns, last_ns;         /* of the messages */
    uint64_t pieced_messages;           /* of records with a RECORD_... cause */
    uint64_t pieced[RECORD_CAUSES];     /* by cause; a message may have several */
    uint64_t behind_messages;           /* that came after one of those, in its direction */
    uint64_t signed_messages, decrypted_messages, cut_messages;
    uint64_t round_trips;
    struct analysis_command command[SMB2_COMMANDS];
    struct analysis_timeline timeline;
    struct analysis_enumerations enumerations;
    struct analysis_names names;
    struct analysis_leases leases;
    struct analysis_host hosts[ANALYSIS_HOSTS];
    size_t host_count;
    uint64_t hosts_left_out;
    uint64_t operations[OPERATION_OTHER + 1];

    /* by analysis_finish: most repeats first, then most asked */
    struct analysis_directory *directories;
    size_t directory_count;
    struct analysis_name *name_list;
    size_t name_count;
    uint64_t places_evicted; /* single directories and names that the lists have lost */

    struct analysis_state *state; /* what is needed while it is filled */
};

/* NULL: out of memory. `file` is copied. */
struct analysis *analysis_new(const char *file);
struct analysis *analysis_free(struct analysis *a);

/* The dissector's events. An exchange goes to the operations before it comes here, so that a CLOSE
 * is the last that is heard of an open. */
void analysis_message(struct analysis *a, const struct message *m);
/* An encrypted or compressed record was completed by this frame; before what is in it. */
void analysis_envelope(struct analysis *a, uint64_t frame);
void analysis_exchange(struct analysis *a, const struct exchange *x);
void analysis_answered_again(struct analysis *a, const struct answered_again *again);
void analysis_broken(struct analysis *a, const struct break_notice *b);
void analysis_operation(struct analysis *a, const struct operation *o);
void analysis_flow(struct analysis *a, const struct flow *flow, const struct flow_facts *facts);
/* 0 or -ENOMEM. */
int analysis_finish(struct analysis *a);

/* Sums for printing. */
double analysis_seconds(const struct analysis *a);     /* from the first packet to the last */
double analysis_smb_seconds(const struct analysis *a); /* from the first SMB2 message to the last */
uint64_t analysis_waited_ns(const struct analysis *a); /* for all responses, CHANGE_NOTIFY aside */
/* All requests but READ and WRITE, and those a second: Windows' performance counter. */
uint64_t analysis_metadata_requests(const struct analysis *a);
double analysis_metadata_rate(const struct analysis *a);
/* Response times of all commands together, CHANGE_NOTIFY and OPLOCK_BREAK aside, in slots of half
 * an octave: how many fall in one, and where it begins. */
#define HISTOGRAM_SLOTS 66
uint64_t analysis_histogram(const struct analysis *a, unsigned slot, uint64_t *ret_from_ns);

#endif
