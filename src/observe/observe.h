/*
 * What happened, in numbers and as events. One object for one share (one mount, one connection);
 * nothing here is global. All functions may be called from any thread; counters are relaxed
 * atomics.
 *
 * Messages are counted as Wireshark's smb2.cmd field counts them: every request, every response
 * (interim and unsolicited ones too), each element of a compound. A round trip is one wait of a
 * caller for the server, however many requests it waited for.
 */
#ifndef LARDER_OBSERVE_OBSERVE_H
#define LARDER_OBSERVE_OBSERVE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define OBSERVE_COMMANDS 19 /* SMB2 commands 0 .. 18, MS-SMB2 2.2.1 */

enum observe_cache { OBSERVE_DIR, OBSERVE_INFO, OBSERVE_NOTFOUND, OBSERVE_CACHES };

/* Why a cache did not answer. */
enum observe_miss {
    MISS_ABSENT,    /* never known, or forgotten together with its object */
    MISS_EXPIRED,   /* its lifetime ran out */
    MISS_BROKEN,    /* the promise it rested on was taken back */
    MISS_CHANGED,   /* our own change, or a notification, made it old */
    MISS_EVICTED,   /* the bound on entries or bytes pushed it out */
    MISS_TOO_LARGE, /* the listing is over DirectoryCacheEntrySizeMax */
    MISS_PARTIAL,   /* the listing was not read to its end */
    MISS_CASE,      /* the spelling may be folded otherwise by the server */
    MISS_INTENT,    /* the caller's intent (create, rename target) forbids this answer */
    MISS_DISABLED,  /* the cache is switched off (counted, but no event) */
    MISS_DROPPED,   /* somebody had it forgotten (larder drop) */
    OBSERVE_MISSES
};
/* Why an answer was believed: nobody promised anything, or a lease or the watch did. */
enum observe_trust { TRUST_TIME, TRUST_LEASE, TRUST_WATCH, OBSERVE_TRUSTS };
const char *observe_miss_name(enum observe_miss m);   /* "too-large" */
const char *observe_trust_name(enum observe_trust t); /* "lease" */
const char *observe_cache_name(enum observe_cache c); /* "dir", "info", "notfound" */
const char *observe_command_name(unsigned command);   /* "CREATE" */

/* Events: names and numbers of Microsoft-Windows-SMBClient; 305xx above 30508 are larder's own. */
enum observe_event {
    EVENT_UPDATE_INFO = 30501,         /* SmbUpdateInfoCache, class file */
    EVENT_FETCH_INFO = 30502,          /* SmbFetchInfoCache, file */
    EVENT_INVALIDATE_INFO = 30503,     /* SmbInvalidateInfoCache, file */
    EVENT_UPDATE_NOTFOUND = 30504,     /* SmbUpdateFNFCache, file */
    EVENT_FETCH_NOTFOUND = 30505,      /* SmbFetchFNFCache, file */
    EVENT_INVALIDATE_NOTFOUND = 30506, /* SmbInvalidateFNFCache, file */
    EVENT_POPULATE_DIR = 30507,        /* SmbPopulateDirCache, dir */
    EVENT_FETCH_DIR = 30508,           /* SmbFetchDirCache, dir */
    EVENT_INVALIDATE_DIR = 30591,      /* SmbInvalidateDirCache, dir: Windows has none */
    EVENT_PATCH_DIR = 30592,           /* SmbPatchDirCache, dir: our own change, worked in */
    EVENT_PATCH_INFO = 30593,          /* SmbPatchInfoCache, file */
    EVENT_PATCH_NOTFOUND = 30594,      /* SmbPatchFNFCache, file */
    EVENT_LEASE = 30595,               /* SmbGrantLease, promise: a CREATE was given a lease */
    EVENT_LEASE_BREAK = 30596,         /* SmbBreakLease, promise: the server takes from one */
    EVENT_LEASE_ACK = 30597,           /* SmbAcknowledgeLease, promise: it was told that we know */
    EVENT_NOTICE = 30598,              /* SmbChangeNotice, promise: the watch told of a change */
    EVENT_SESSION_LOST = 30805,        /* SmbSessionLost, network: the connection, and all on it */
    EVENT_SESSION_BACK = 30806,        /* SmbSessionReestablished, network */
    EVENT_PERF = 32006,                /* Smb2PerfBufferContext: a request without one of its own */
    EVENT_PERF_READ = 32048,           /* Smb2PerfBufferContextReadSummary ... class performance */
    EVENT_PERF_WRITE = 32049,
    EVENT_PERF_CREATE = 32050,
    EVENT_PERF_CLOSE = 32051,
    EVENT_PERF_QUERY_DIRECTORY = 32052,
    EVENT_PERF_FSCTL = 32053,
};
enum observe_class {
    CLASS_FILE,
    CLASS_DIR,
    CLASS_PERFORMANCE,
    CLASS_PROMISE,
    CLASS_NETWORK,
    OBSERVE_CLASSES
};

struct observe;

struct observe_options {
    bool performance_events; /* one event per request */
    const char *events_path; /* JSON lines are appended there; NULL: to no file */
    /* Gets each line, without its newline and in order, on one thread of the object's own; NULL:
     * nobody does. Without either, events are only counted. */
    void (*event_line)(void *user, const char *line);
    void *user;
};
int observe_new(const struct observe_options *options, struct observe **ret, struct error *err);
/* Every line still reaches the file and event_line, then the file is closed. Returns NULL. NULL is
 * allowed. */
struct observe *observe_free(struct observe *o);

/* The wire, called by client/. Latency from sending to the final response. `object` may be NULL. */
void observe_request(struct observe *o, unsigned command, size_t bytes);
void observe_interim(struct observe *o, unsigned command, size_t bytes);
void observe_response(struct observe *o, unsigned command, uint32_t status, size_t bytes,
                      uint64_t latency_ns);
void observe_unsolicited(struct observe *o, unsigned command, size_t bytes);
void observe_round_trip(struct observe *o);
void observe_frame(struct observe *o, bool sent); /* one NetBIOS packet */
void observe_refused_name(
    struct observe *o); /* a listed name that cannot be one (`/`, NUL, `..`) */
void observe_credit_stall(struct observe *o); /* a request had to wait for credits */
/* What became of a connection, and of what was open or under way on it. */
enum observe_network {
    OBSERVE_LOST,        /* connections that ended by themselves */
    OBSERVE_RECONNECTED, /* and were made again */
    OBSERVE_DURABLE,     /* opens that the server had held meanwhile */
    OBSERVE_REOPENED,    /* opens that were opened again */
    OBSERVE_DEAD,        /* opens that could not be: who uses them gets an error */
    OBSERVE_REPEATED,    /* requests that were sent again */
    OBSERVE_NETWORKS
};
void observe_network(struct observe *o, enum observe_network what);
const char *observe_network_name(enum observe_network what); /* "lost", "reconnected" ... */

/* A connection ended by itself (`status` 0: no server said so), or was made again after so long.
 * Both count, and are an event. */
void observe_lost(struct observe *o, const char *address, uint32_t status, const char *why);
void observe_reconnected(struct observe *o, const char *address, uint64_t away_ns);

/* The caches, called by cache/. Each call counts, and emits its event where the cache is not
 * disabled; `path` is the object's path in the share, for the event. `status` of an event: 0 hit,
 * else the negative errno or miss reason as text. */
void observe_hit(struct observe *o, enum observe_cache c, enum observe_trust trust,
                 const char *path);
void observe_miss(struct observe *o, enum observe_cache c, enum observe_miss reason,
                  const char *path);
void observe_insert(struct observe *o, enum observe_cache c, const char *path);
void observe_evict(struct observe *o, enum observe_cache c, const char *path);
void observe_invalidate(struct observe *o, enum observe_cache c, enum observe_miss reason,
                        const char *path);
/* A belief was brought up to date with what this client itself did, and goes on. */
void observe_patch(struct observe *o, enum observe_cache c, const char *path);
/* Whether anybody reads the path of an event: where not, callers need not build it and pass NULL.
 */
bool observe_wants_paths(const struct observe *o);

/* What the server promised, took back and told of, called by client/: events alone, nothing is
 * counted. */
#define OBSERVE_KEY 16
struct observe_promise {
    enum observe_event id; /* EVENT_LEASE ... EVENT_NOTICE */
    uint64_t at;           /* clock_now(): when its bytes were read, or had been sent */
    const uint8_t *key;    /* OBSERVE_KEY bytes; NULL: a notice */
    unsigned state;        /* of the lease then, 1 READ, 2 HANDLE, 4 WRITE */
    const char *path;      /* NULL: not known where it happens; of a notice: all beneath */
    const char *what;      /* of a notice: "added" ..., "lost"; of a break: "acknowledge" where the
                              server waits for that; of an acknowledgement: "closed", a CLOSE said it */
};
void observe_promise(struct observe *o, const struct observe_promise *p);

#define OBSERVE_BUCKETS 48 /* latency histogram: two buckets an octave, from 1 us */

struct observe_command {
    uint64_t requests, responses, interims, unsolicited, errors;
    uint64_t request_bytes, response_bytes;
    uint64_t latency[OBSERVE_BUCKETS], latency_sum_ns, latency_max_ns;
};
struct observe_cache_counts {
    uint64_t hits, hits_by_trust[OBSERVE_TRUSTS], misses[OBSERVE_MISSES], inserts, evictions,
        invalidations, patches;
};
struct observe_counts {
    struct observe_command command[OBSERVE_COMMANDS];
    struct observe_cache_counts cache[OBSERVE_CACHES];
    uint64_t events[OBSERVE_CLASSES];
    uint64_t events_lost; /* not told: neither the file nor who listens could take them */
    uint64_t round_trips, frames_sent, frames_received, refused_names, credit_stalls;
    uint64_t network[OBSERVE_NETWORKS];
    uint64_t since_ns; /* clock_now() at observe_new */
};
void observe_read(const struct observe *o, struct observe_counts *ret);
/* How often this cache has answered so far. */
uint64_t observe_hits(const struct observe *o, enum observe_cache c);

/* Sums that are asked for often. */
uint64_t observe_messages(const struct observe_counts *c); /* requests + every response */
uint64_t
observe_metadata_requests(const struct observe_counts *c); /* all requests but READ, WRITE */
uint64_t observe_misses(const struct observe_cache_counts *c);
/* The latency in ns below which `percent` of the final responses came, to half an octave; 0: none
 * came. */
uint64_t observe_latency(const struct observe_command *c, unsigned percent);

/* How often each error status came (severity error, less MORE_PROCESSING_REQUIRED, which every
 * logon sees), for printing: up to `cap` pairs, most frequent first; returns how many were written.
 * A server that sends more different ones than are kept gets the rest summed under
 * OBSERVE_STATUS_OTHER. */
#define OBSERVE_STATUSES     64
#define OBSERVE_STATUS_OTHER 0u
struct observe_status_count {
    uint32_t status;
    uint64_t count;
};
size_t observe_errors(const struct observe *o, struct observe_status_count *out, size_t cap);

/*
 * The dead-cache alarm: is an enabled cache asked often and never hit? `enabled` has one flag per
 * cache. Writes one line per fault (reason and remedy) through `line`; returns how many.
 */
#define OBSERVE_ALARM_LOOKUPS 200
unsigned observe_dead_caches(const struct observe_counts *c, const bool enabled[OBSERVE_CACHES],
                             void (*line)(void *user, enum observe_cache cache, const char *text),
                             void *user);

/* The counts as a JSON object with the member names of `larder compare --json`'s runs: messages,
 * round_trips, commands, requests, events, cache ... plus bytes, errors and latency quantiles. */
json_t *observe_json(const struct observe *o);

#endif
