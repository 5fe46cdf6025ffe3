/*
 * The counters of one share.
 *
 * All figures are 64-bit and stand in one struct observe_counts, which is touched by relaxed atomic
 * operations only: a counter is exact, and a reading of all of them is a snapshot in which each
 * figure was true at some moment of the reading. Once the connection has gone quiet they add up.
 * Events are counted here and handed to events.c where somebody reads them.
 */
#include "observe/observe.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/ntstatus.h"
#include "observe/events.h"

/* Commands that are counted apart (MS-SMB2 2.2.1). */
enum { CREATE = 5, CLOSE = 6, READ = 8, WRITE = 9, IOCTL = 11, CANCEL = 12, QUERY_DIRECTORY = 14 };

struct observe {
    struct observe_counts counts; /* relaxed atomics, see count() */
    /* Slots are claimed from the front and never given up; a claimed slot keeps its status. Both
     * atomics. */
    struct observe_status_count statuses[OBSERVE_STATUSES];
    uint64_t other_statuses;
    struct events *events; /* NULL: nobody reads them */
    bool performance_events;
};

static_assert(sizeof(struct observe_counts) % sizeof(uint64_t) == 0,
              "copied as words by observe_read");

static void count(uint64_t *counter, uint64_t by)
{
    __atomic_fetch_add(counter, by, __ATOMIC_RELAXED);
}

static uint64_t load(const uint64_t *counter)
{
    return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

static void raise_to(uint64_t *counter, uint64_t value)
{
    uint64_t old = load(counter);
    while (old < value && !__atomic_compare_exchange_n(counter, &old, value, true, __ATOMIC_RELAXED,
                                                       __ATOMIC_RELAXED))
        ;
}

int observe_new(const struct observe_options *options, struct observe **ret, struct error *err)
{
    struct observe *o = calloc(1, sizeof(*o));
    if (!o)
        return error_set(err, -ENOMEM, 0, "counters: out of memory");
    o->counts.since_ns = clock_now();
    o->performance_events = options && options->performance_events;
    if (options && (options->events_path || options->event_line)) {
        int r = events_new(options, &o->counts.events_lost, &o->events, err);
        if (r < 0) {
            free(o);
            return r;
        }
    }
    *ret = o;
    return 0;
}

struct observe *observe_free(struct observe *o)
{
    if (o)
        events_free(o->events);
    free(o);
    return NULL;
}

bool observe_wants_paths(const struct observe *o)
{
    return o->events != NULL;
}

/* ---- the wire ---- */

/* A hostile or newer peer may name a command that is none: it is counted nowhere rather than as
 * another. */
static struct observe_command *command_of(struct observe *o, unsigned command)
{
    return command < OBSERVE_COMMANDS ? &o->counts.command[command] : NULL;
}

static void emit(struct observe *o, const struct event *event)
{
    count(&o->counts.events[event->class], 1);
    if (o->events)
        events_write(o->events, event);
}

static void emit_performance(struct observe *o, unsigned command, uint32_t status,
                             uint64_t latency_ns)
{
    static const enum observe_event own[OBSERVE_COMMANDS] = {
        [CREATE] = EVENT_PERF_CREATE, [CLOSE] = EVENT_PERF_CLOSE,
        [READ] = EVENT_PERF_READ,     [WRITE] = EVENT_PERF_WRITE,
        [IOCTL] = EVENT_PERF_FSCTL,   [QUERY_DIRECTORY] = EVENT_PERF_QUERY_DIRECTORY,
    };
    if (!o->performance_events)
        return;
    emit(o, &(struct event){
                .id = own[command] ? own[command] : EVENT_PERF,
                .class = CLASS_PERFORMANCE,
                .command = observe_command_name(command),
                .status = status,
                .latency_ns = latency_ns,
            });
}

void observe_request(struct observe *o, unsigned command, size_t bytes)
{
    struct observe_command *c = command_of(o, command);
    if (!c)
        return;
    count(&c->requests, 1);
    count(&c->request_bytes, bytes);
    /* A request's event is told when its final response is there; a CANCEL never gets one. */
    if (command == CANCEL)
        emit_performance(o, command, STATUS_SUCCESS, 0);
}

void observe_interim(struct observe *o, unsigned command, size_t bytes)
{
    struct observe_command *c = command_of(o, command);
    if (!c)
        return;
    count(&c->interims, 1);
    count(&c->response_bytes, bytes);
}

void observe_unsolicited(struct observe *o, unsigned command, size_t bytes)
{
    struct observe_command *c = command_of(o, command);
    if (!c)
        return;
    count(&c->unsolicited, 1);
    count(&c->response_bytes, bytes);
}

/* Buckets halve each octave from 1 us: 2k holds [2^k, 1.5 * 2^k) us, 2k + 1 the rest up to 2^(k+1).
 */
static unsigned bucket_of(uint64_t ns)
{
    uint64_t half_us = ns / (NS_PER_MS / 2000);
    if (half_us < 2)
        return 0;
    unsigned octave = 62 - (unsigned)__builtin_clzll(half_us); /* half_us is in [2, 4) << octave */
    unsigned b = 2 * octave + (half_us >> octave & 1);
    return b < OBSERVE_BUCKETS ? b : OBSERVE_BUCKETS - 1;
}

static uint64_t bucket_end(unsigned b)
{
    uint64_t us_times_2 = b % 2 ? 4 : 3;
    return (us_times_2 << b / 2) * (NS_PER_MS / 2000);
}

static void count_status(struct observe *o, uint32_t status)
{
    for (size_t i = 0; i < OBSERVE_STATUSES; i++) {
        uint32_t *slot = &o->statuses[i].status, seen = __atomic_load_n(slot, __ATOMIC_RELAXED);
        if (seen == 0 && __atomic_compare_exchange_n(slot, &seen, status, false, __ATOMIC_RELAXED,
                                                     __ATOMIC_RELAXED))
            seen = status;
        if (seen == status) {
            count(&o->statuses[i].count, 1);
            return;
        }
    }
    count(&o->other_statuses, 1);
}

void observe_response(struct observe *o, unsigned command, uint32_t status, size_t bytes,
                      uint64_t latency_ns)
{
    struct observe_command *c = command_of(o, command);
    if (!c)
        return;
    count(&c->responses, 1);
    count(&c->response_bytes, bytes);
    count(&c->latency[bucket_of(latency_ns)], 1);
    count(&c->latency_sum_ns, latency_ns);
    raise_to(&c->latency_max_ns, latency_ns);
    if (ntstatus_failed(status) && status != (uint32_t)STATUS_MORE_PROCESSING_REQUIRED) {
        count(&c->errors, 1);
        count_status(o, status);
    }
    emit_performance(o, command, status, latency_ns);
}

void observe_round_trip(struct observe *o)
{
    count(&o->counts.round_trips, 1);
}

void observe_frame(struct observe *o, bool sent)
{
    count(sent ? &o->counts.frames_sent : &o->counts.frames_received, 1);
}

void observe_refused_name(struct observe *o)
{
    count(&o->counts.refused_names, 1);
}

void observe_network(struct observe *o, enum observe_network what)
{
    count(&o->counts.network[what], 1);
}

static void emit_outage(struct observe *o, enum observe_event id, uint32_t status,
                        const struct event_outage *outage)
{
    emit(o, &(struct event){.id = id, .class = CLASS_NETWORK, .status = status, .outage = outage});
}

void observe_lost(struct observe *o, const char *address, uint32_t status, const char *why)
{
    observe_network(o, OBSERVE_LOST);
    emit_outage(o, EVENT_SESSION_LOST, status, &(struct event_outage){address, why, 0});
}

void observe_reconnected(struct observe *o, const char *address, uint64_t away_ns)
{
    observe_network(o, OBSERVE_RECONNECTED);
    emit_outage(o, EVENT_SESSION_BACK, 0, &(struct event_outage){address, NULL, away_ns});
}

void observe_credit_stall(struct observe *o)
{
    count(&o->counts.credit_stalls, 1);
}

/* ---- the caches ---- */

/* What each cache's events are called. The dir cache has a class of its own, as in the report. */
static const struct {
    enum observe_event update, fetch, invalidate, patch;
    enum observe_class class;
} cache_events[OBSERVE_CACHES] = {
    [OBSERVE_DIR] = {EVENT_POPULATE_DIR, EVENT_FETCH_DIR, EVENT_INVALIDATE_DIR, EVENT_PATCH_DIR,
                     CLASS_DIR},
    [OBSERVE_INFO] = {EVENT_UPDATE_INFO, EVENT_FETCH_INFO, EVENT_INVALIDATE_INFO, EVENT_PATCH_INFO,
                      CLASS_FILE},
    [OBSERVE_NOTFOUND] = {EVENT_UPDATE_NOTFOUND, EVENT_FETCH_NOTFOUND, EVENT_INVALIDATE_NOTFOUND,
                          EVENT_PATCH_NOTFOUND, CLASS_FILE},
};

static void emit_cache(struct observe *o, enum observe_cache c, enum observe_event id,
                       const char *path, const char *reason)
{
    emit(o,
         &(struct event){.id = id, .class = cache_events[c].class, .path = path, .reason = reason});
}

void observe_hit(struct observe *o, enum observe_cache c, enum observe_trust trust,
                 const char *path)
{
    count(&o->counts.cache[c].hits, 1);
    count(&o->counts.cache[c].hits_by_trust[trust], 1);
    emit_cache(o, c, cache_events[c].fetch, path, NULL);
}

uint64_t observe_hits(const struct observe *o, enum observe_cache c)
{
    return load(&o->counts.cache[c].hits);
}

void observe_miss(struct observe *o, enum observe_cache c, enum observe_miss reason,
                  const char *path)
{
    count(&o->counts.cache[c].misses[reason], 1);
    if (reason != MISS_DISABLED)
        emit_cache(o, c, cache_events[c].fetch, path, observe_miss_name(reason));
}

void observe_insert(struct observe *o, enum observe_cache c, const char *path)
{
    count(&o->counts.cache[c].inserts, 1);
    emit_cache(o, c, cache_events[c].update, path, NULL);
}

void observe_evict(struct observe *o, enum observe_cache c, const char *path)
{
    count(&o->counts.cache[c].evictions, 1);
    emit_cache(o, c, cache_events[c].invalidate, path, observe_miss_name(MISS_EVICTED));
}

void observe_invalidate(struct observe *o, enum observe_cache c, enum observe_miss reason,
                        const char *path)
{
    count(&o->counts.cache[c].invalidations, 1);
    emit_cache(o, c, cache_events[c].invalidate, path, observe_miss_name(reason));
}

void observe_patch(struct observe *o, enum observe_cache c, const char *path)
{
    count(&o->counts.cache[c].patches, 1);
    emit_cache(o, c, cache_events[c].patch, path, NULL);
}

void observe_promise(struct observe *o, const struct observe_promise *p)
{
    emit(o, &(struct event){.id = p->id, .class = CLASS_PROMISE, .promise = p});
}

/* ---- reading ---- */

void observe_read(const struct observe *o, struct observe_counts *ret)
{
    const uint64_t *from = (const uint64_t *)&o->counts;
    uint64_t *to = (uint64_t *)ret;
    for (size_t i = 0; i < sizeof(*ret) / sizeof(uint64_t); i++)
        to[i] = load(&from[i]);
}

uint64_t observe_messages(const struct observe_counts *c)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < OBSERVE_COMMANDS; i++) {
        const struct observe_command *n = &c->command[i];
        sum += n->requests + n->responses + n->interims + n->unsolicited;
    }
    return sum;
}

uint64_t observe_metadata_requests(const struct observe_counts *c)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < OBSERVE_COMMANDS; i++)
        if (i != READ && i != WRITE)
            sum += c->command[i].requests;
    return sum;
}

uint64_t observe_misses(const struct observe_cache_counts *c)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < OBSERVE_MISSES; i++)
        sum += c->misses[i];
    return sum;
}

uint64_t observe_latency(const struct observe_command *c, unsigned percent)
{
    uint64_t all = 0, below = 0;
    for (unsigned b = 0; b < OBSERVE_BUCKETS; b++)
        all += c->latency[b];
    if (all == 0)
        return 0;
    for (unsigned b = 0; b < OBSERVE_BUCKETS; b++) {
        below += c->latency[b];
        if (below * 100 >= all * percent) {
            uint64_t end = bucket_end(b);
            bool last = b == OBSERVE_BUCKETS - 1; /* open to above */
            return last || end > c->latency_max_ns ? c->latency_max_ns : end;
        }
    }
    return c->latency_max_ns;
}

static int by_count(const void *a, const void *b)
{
    const struct observe_status_count *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return x->status < y->status ? -1 : x->status > y->status;
}

size_t observe_errors(const struct observe *o, struct observe_status_count *out, size_t cap)
{
    struct observe_status_count all[OBSERVE_STATUSES + 1];
    size_t n = 0;
    for (size_t i = 0; i < OBSERVE_STATUSES; i++) {
        uint64_t c = load(&o->statuses[i].count);
        uint32_t status = __atomic_load_n(&o->statuses[i].status, __ATOMIC_RELAXED);
        if (c)
            all[n++] = (struct observe_status_count){status, c};
    }
    uint64_t other = load(&o->other_statuses);
    if (other)
        all[n++] = (struct observe_status_count){OBSERVE_STATUS_OTHER, other};
    qsort(all, n, sizeof(all[0]), by_count);
    if (n > cap)
        n = cap;
    memcpy(out, all, n * sizeof(all[0]));
    return n;
}
