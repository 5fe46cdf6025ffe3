/*
 * capture_count FILE [KEYS]: what the dissector counts in a capture, a line a figure, for comparing
 * with others' counts.
 *
 *   total FRAMES MESSAGES          frames that complete at least one message
 *   COMMAND REQUESTS RESPONSES FRAMES
 *   name VALUE                     what may explain a difference
 */
#include <inttypes.h>
#include <stdio.h>

#include "capture/dissect.h"
#include "capture/packet.h"
#include "capture/segment.h"
#include "capture/stream.h"

struct tally {
    uint64_t requests, responses, frames, last_frame;
};

static struct {
    struct dissector *dissector;
    struct tally commands[SMB2_COMMANDS], all;
    uint64_t exchanges, opens_closed, breaks, cut, pieced;
} run;

/* Records of one frame come one after the other. */
static void count(struct tally *t, const struct message *m)
{
    t->requests += !m->response;
    t->responses += m->response;
    t->frames += t->last_frame != m->frame;
    t->last_frame = m->frame;
}

static void on_message(void *user, const struct message *m)
{
    count(&run.commands[m->command], m);
    count(&run.all, m);
    run.cut += m->cut;
    run.pieced += (m->causes & ~(unsigned)RECORD_BEHIND) != 0;
}

static void on_exchange(void *user, const struct exchange *x)
{
    run.exchanges++;
}

static void on_open_closed(void *user, struct smb_open *o)
{
    run.opens_closed++;
}

static void on_broken(void *user, const struct break_notice *b)
{
    run.breaks++;
}

static void on_record(void *user, struct flow *flow, const struct record *r)
{
    dissector_record(run.dissector, flow, r);
}

static void on_flow_closed(void *user, struct flow *flow)
{
    dissector_flow_closed(run.dissector, flow);
}

static void print(const struct streams *streams)
{
    struct dissect_counts d;
    struct stream_counts s;
    dissector_counts(run.dissector, &d);
    streams_counts(streams, &s);

    printf("total %" PRIu64 " %" PRIu64 "\n", run.all.frames, run.all.requests + run.all.responses);
    for (unsigned c = 0; c < SMB2_COMMANDS; c++)
        if (run.commands[c].frames)
            printf("%u %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", c, run.commands[c].requests,
                   run.commands[c].responses, run.commands[c].frames);
    const struct {
        const char *name;
        uint64_t value;
    } figures[] = {
        {"exchanges", run.exchanges},
        {"opens", run.opens_closed},
        {"breaks", run.breaks},
        {"cut", run.cut},
        {"smb1", d.smb1_messages},
        {"encrypted", d.encrypted_messages},
        {"decrypted", d.decrypted_messages},
        {"wrong_keys", d.wrong_keys},
        {"compressed", d.compressed_messages},
        {"not_inflated", d.not_inflated},
        {"malformed", d.malformed},
        {"unmatched", d.unmatched_responses},
        {"unanswered", d.unanswered_requests},
        {"gaps", s.gaps},
        {"late_segments", s.late_segments},
        {"pieced", run.pieced},
        {"skipped_bytes", s.skipped_bytes},
        {"truncated_frames", s.truncated_frames},
    };
    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
        printf("%s %" PRIu64 "\n", figures[i].name, figures[i].value);
}

static int fail(const struct error *err)
{
    fprintf(stderr, "capture_count: %s\n", err->text);
    return 1;
}

int main(int argc, char **argv)
{
    static const struct stream_events stream_events = {on_record, on_flow_closed, NULL};
    static const struct dissect_events dissect_events = {on_message, on_exchange, on_open_closed,
                                                         on_broken, NULL};
    struct packet_reader *reader;
    struct keyring *keys = NULL;
    struct packet packet;
    struct segment segment;
    struct error err;
    int r;

    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: capture_count FILE [KEYS]\n");
        return 2;
    }
    if ((argc == 3 && keyring_read(argv[2], &keys, &err) < 0) ||
        packet_reader_open(argv[1], &reader, &err) < 0)
        return fail(&err);
    struct segmenter *segmenter = segmenter_new();
    struct streams *streams = streams_new(&(struct stream_options){0}, &stream_events);
    run.dissector = dissector_new(&dissect_events, keys);

    while ((r = packet_reader_next(reader, &packet, &err)) > 0)
        if (segmenter_take(segmenter, &packet, &segment) > 0)
            streams_take(streams, &segment);
    streams_finish(streams);
    dissector_finish(run.dissector);
    print(streams);

    streams_free(streams);
    dissector_free(run.dissector);
    segmenter_free(segmenter);
    packet_reader_free(reader);
    keyring_free(keys);
    return r < 0 ? fail(&err) : 0;
}
