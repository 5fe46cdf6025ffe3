/*
 * The chain: each stage hands on to the next by a callback, on one thread, and what is borrowed
 * stays valid until the callback returns. A file that cannot be read to its end is analysed up to
 * there, as far as there was anything.
 */
#include "capture/analyze.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"

#define PROGRESS_EVERY 16384 /* packets */

struct run {
    const struct analyze_options *options;
    struct packet_reader *reader;
    struct segmenter *segmenter;
    struct streams *streams;
    struct dissector *dissector;
    struct operations *operations;
    struct analysis *analysis;
    uint64_t packets, packet_ns; /* packet_ns: the last one's */
};

/* ---- from the dissector ---- */

static void on_message(void *user, const struct message *m)
{
    struct run *r = user;
    analysis_message(r->analysis, m);
}

static void on_exchange(void *user, const struct exchange *x)
{
    struct run *r = user;
    operations_exchange(r->operations, x);
    analysis_exchange(r->analysis, x);
}

static void on_open_closed(void *user, struct smb_open *o)
{
    struct run *r = user;
    operations_open_closed(r->operations, o);
}

static void on_broken(void *user, const struct break_notice *b)
{
    struct run *r = user;
    analysis_broken(r->analysis, b);
}

static void on_share_left(void *user, const struct smb_share *share)
{
    const struct analyze_options *o = ((struct run *)user)->options;
    if (o->share_left)
        o->share_left(o->user, share);
}

static void on_answered_again(void *user, const struct answered_again *again)
{
    struct run *r = user;
    analysis_answered_again(r->analysis, again);
}

static void on_operation(void *user, const struct operation *o)
{
    struct run *r = user;
    analysis_operation(r->analysis, o);
    if (r->options->operation)
        r->options->operation(r->options->user, o);
}

/* ---- from the streams ---- */

static void on_record(void *user, struct flow *flow, const struct record *record)
{
    struct run *r = user;
    struct rd frame = rd_init(record->data, record->captured);
    enum wire_protocol protocol = wire_protocol(&frame);
    if (protocol == WIRE_TRANSFORM || protocol == WIRE_COMPRESSION)
        analysis_envelope(r->analysis, record->frame);
    dissector_record(r->dissector, flow, record);
}

static void on_flow_closed(void *user, struct flow *flow)
{
    struct run *r = user;
    struct flow_facts facts;
    if (flow->user) { /* it had records */
        dissect_flow_facts(flow, &facts);
        analysis_flow(r->analysis, flow, &facts);
    }
    dissector_flow_closed(r->dissector, flow);
}

/* ---- the run ---- */

static int start(struct run *r, const char *path, struct error *err)
{
    const struct analyze_options *o = r->options;
    const struct dissect_events from_dissector = {
        on_message, on_exchange, on_open_closed, on_broken, r, on_share_left, on_answered_again};
    const struct stream_events from_streams = {on_record, on_flow_closed, r};
    const struct stream_options ports = {o->ports, o->port_count, o->any_port};
    int code = o->live_seconds
                   ? packet_reader_live(path, o->live_seconds, o->live_end, &r->reader, err)
                   : packet_reader_open(path, &r->reader, err);
    if (code < 0)
        return code;
    r->analysis = analysis_new(path);
    r->segmenter = segmenter_new();
    r->operations = operations_new(on_operation, r);
    r->dissector = dissector_new(&from_dissector, o->keys);
    r->streams = streams_new(&ports, &from_streams);
    if (!r->analysis || !r->segmenter || !r->operations || !r->dissector || !r->streams)
        return error_set(err, -ENOMEM, 0, "out of memory");
    r->analysis->keys_given = o->keys != NULL;
    return 0;
}

static void tell_progress(const struct run *r)
{
    struct analyze_progress p = {.packets = r->packets};
    if (!r->options->progress)
        return;
    packet_reader_progress(r->reader, &p.done, &p.all);
    r->options->progress(r->options->user, &p);
}

/* Captures of several interfaces in one file differ by less. */
#define BACK_LEAST NS_PER_SEC

static void watch_clock(struct run *r, uint64_t now)
{
    struct analysis *a = r->analysis;
    uint64_t back = now < r->packet_ns ? r->packet_ns - now : 0;
    r->packet_ns = now;
    if (back < BACK_LEAST)
        return;
    a->clock_back++;
    a->clock_back_ns = back > a->clock_back_ns ? back : a->clock_back_ns;
}

static void take_packet(struct run *r, const struct packet *p)
{
    struct analysis *a = r->analysis;
    struct segment s;
    if (!a->first_packet_ns || (p->time_ns && p->time_ns < a->first_packet_ns))
        a->first_packet_ns = p->time_ns;
    if (p->time_ns > a->last_packet_ns)
        a->last_packet_ns = p->time_ns;
    watch_clock(r, p->time_ns);
    if (segmenter_take(r->segmenter, p, &s) > 0)
        streams_take(r->streams, &s);
    if (++r->packets % PROGRESS_EVERY == 0)
        tell_progress(r);
}

/* 0 at the end, or the negative errno that stopped it. */
static int take_packets(struct run *r, struct error *err)
{
    struct packet p;
    int code;
    while ((code = packet_reader_next(r->reader, &p, err)) > 0)
        take_packet(r, &p);
    return code;
}

static int finish(struct run *r, struct error *err)
{
    struct analysis *a = r->analysis;
    streams_finish(r->streams);
    dissector_finish(r->dissector);
    streams_counts(r->streams, &a->streams);
    dissector_counts(r->dissector, &a->dissected);
    a->other_port_count = streams_other_ports(r->streams, a->other_ports, ANALYSIS_PORTS);
    a->packets = r->packets;
    a->dropped = packet_reader_dropped(r->reader);
    a->cut_off = packet_reader_cut_off(r->reader);
    tell_progress(r);
    return analysis_finish(a) < 0 ? error_set(err, -ENOMEM, 0, "out of memory") : 0;
}

static void stop(struct run *r)
{
    streams_free(r->streams);
    dissector_free(r->dissector);
    operations_free(r->operations);
    segmenter_free(r->segmenter);
    packet_reader_free(r->reader);
    analysis_free(r->analysis);
}

int analyze(const char *path, const struct analyze_options *options, struct analysis **ret,
            struct error *err)
{
    struct run r = {.options = options};
    struct error reading = {0};
    int code = start(&r, path, err);
    if (code == 0) {
        code = take_packets(&r, &reading);
        if (code < 0 && r.packets == 0)
            error_set(err, code, 0, "%s", reading.text);
        else
            snprintf(r.analysis->stopped, sizeof(r.analysis->stopped), "%.199s", reading.text);
        if (r.packets)
            code = 0;
    }
    if (code == 0)
        code = finish(&r, err);
    if (code == 0) {
        *ret = r.analysis;
        r.analysis = NULL;
    }
    stop(&r);
    return code;
}
