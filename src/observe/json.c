/*
 * The counts as JSON. The members messages, round_trips, commands, requests, events and cache are
 * the interface of `larder compare --json` and `larder stats --json`, on which other programs rely;
 * the rest is for people who look closer. Commands, statuses and reasons that did not occur are
 * left out.
 */
#include "observe/observe.h"

#include <stdio.h>

#include "base/ntstatus.h"
#include "observe/events.h"

static void set_count(json_t *object, const char *key, uint64_t n)
{
    json_object_set_new(object, key, json_integer((json_int_t)n));
}

static void set_nonzero(json_t *object, const char *key, uint64_t n)
{
    if (n)
        set_count(object, key, n);
}

static json_t *ms(uint64_t ns)
{
    return json_real((double)(ns / 1000) / 1000);
}

static void add_commands(json_t *root, const struct observe_counts *c)
{
    json_t *messages = json_object(), *requests = json_object(), *responses = json_object();
    json_t *interims = json_object(), *unsolicited = json_object(), *failed = json_object();
    for (unsigned i = 0; i < OBSERVE_COMMANDS; i++) {
        const struct observe_command *n = &c->command[i];
        const char *name = observe_command_name(i);
        set_nonzero(messages, name, n->requests + n->responses + n->interims + n->unsolicited);
        set_nonzero(requests, name, n->requests);
        set_nonzero(responses, name, n->responses);
        set_nonzero(interims, name, n->interims);
        set_nonzero(unsolicited, name, n->unsolicited);
        set_nonzero(failed, name, n->errors);
    }
    json_object_set_new(root, "commands", messages);
    json_object_set_new(root, "requests", requests);
    json_object_set_new(root, "responses", responses);
    json_object_set_new(root, "interims", interims);
    json_object_set_new(root, "unsolicited", unsolicited);
    json_object_set_new(root, "failed", failed);
}

static json_t *errors(const struct observe *o)
{
    struct observe_status_count list[OBSERVE_STATUSES + 1];
    size_t n = observe_errors(o, list, OBSERVE_STATUSES + 1);
    json_t *object = json_object();
    for (size_t i = 0; i < n; i++) {
        char hex[16];
        const char *name =
            list[i].status == OBSERVE_STATUS_OTHER ? "other" : ntstatus_name(list[i].status);
        snprintf(hex, sizeof(hex), "0x%08X", list[i].status);
        set_count(object, name ? name : hex, list[i].count);
    }
    return object;
}

static json_t *bytes(const struct observe_counts *c)
{
    uint64_t sent = 0, received = 0;
    for (unsigned i = 0; i < OBSERVE_COMMANDS; i++) {
        sent += c->command[i].request_bytes;
        received += c->command[i].response_bytes;
    }
    json_t *object = json_object();
    set_count(object, "sent", sent);
    set_count(object, "received", received);
    return object;
}

static json_t *latency(const struct observe_counts *c)
{
    json_t *object = json_object();
    for (unsigned i = 0; i < OBSERVE_COMMANDS; i++) {
        const struct observe_command *n = &c->command[i];
        if (!n->responses)
            continue;
        json_t *one = json_object();
        json_object_set_new(one, "mean", ms(n->latency_sum_ns / n->responses));
        json_object_set_new(one, "p50", ms(observe_latency(n, 50)));
        json_object_set_new(one, "p95", ms(observe_latency(n, 95)));
        json_object_set_new(one, "p99", ms(observe_latency(n, 99)));
        json_object_set_new(one, "max", ms(n->latency_max_ns));
        json_object_set_new(object, observe_command_name(i), one);
    }
    return object;
}

static json_t *events(const struct observe_counts *c)
{
    json_t *object = json_object();
    for (enum observe_class i = 0; i < OBSERVE_CLASSES; i++)
        set_count(object, observe_class_name(i), c->events[i]);
    return object;
}

static json_t *caches(const struct observe_counts *c)
{
    json_t *object = json_object();
    for (enum observe_cache i = 0; i < OBSERVE_CACHES; i++) {
        const struct observe_cache_counts *n = &c->cache[i];
        json_t *one = json_object(), *miss = json_object(), *trust = json_object();
        for (enum observe_miss m = 0; m < OBSERVE_MISSES; m++)
            set_nonzero(miss, observe_miss_name(m), n->misses[m]);
        for (enum observe_trust t = 0; t < OBSERVE_TRUSTS; t++)
            set_nonzero(trust, observe_trust_name(t), n->hits_by_trust[t]);
        set_count(one, "hit", n->hits);
        json_object_set_new(one, "hit_by_trust", trust);
        json_object_set_new(one, "miss", miss);
        set_count(one, "insert", n->inserts);
        set_count(one, "evict", n->evictions);
        set_count(one, "invalidate", n->invalidations);
        set_count(one, "patch", n->patches);
        json_object_set_new(object, observe_cache_name(i), one);
    }
    return object;
}

static json_t *network(const struct observe_counts *c)
{
    json_t *object = json_object();
    for (int i = 0; i < OBSERVE_NETWORKS; i++)
        set_count(object, observe_network_name(i), c->network[i]);
    return object;
}

json_t *observe_json(const struct observe *o)
{
    struct observe_counts c;
    observe_read(o, &c);

    json_t *root = json_object();
    if (!root)
        return NULL;
    set_count(root, "messages", observe_messages(&c));
    set_count(root, "round_trips", c.round_trips);
    set_count(root, "metadata_requests", observe_metadata_requests(&c));
    add_commands(root, &c);
    json_object_set_new(root, "events", events(&c));
    set_count(root, "events_lost", c.events_lost);
    json_object_set_new(root, "cache", caches(&c));
    json_object_set_new(root, "errors", errors(o));
    json_object_set_new(root, "bytes", bytes(&c));
    json_object_set_new(root, "latency_ms", latency(&c));
    set_count(root, "frames_sent", c.frames_sent);
    set_count(root, "frames_received", c.frames_received);
    set_count(root, "refused_names", c.refused_names);
    set_count(root, "credit_stalls", c.credit_stalls);
    json_object_set_new(root, "network", network(&c));
    return root;
}
