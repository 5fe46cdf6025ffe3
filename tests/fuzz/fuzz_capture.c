/*
 * A capture file, from its first bytes to the records in it. Input: the file. It is read twice,
 * with the usual ports and with any.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/stream.h"
#include "fuzz.h"

static unsigned touched;

static void take_record(void *user, struct flow *flow, const struct record *r)
{
    char text[48];
    touched += (unsigned char)endpoint_text(&flow->server, text)[0];
    for (uint32_t i = 0; i < r->captured; i++)
        touched += r->data[i];
    if (r->captured > r->length || r->length == 0 || flow->id == 0)
        abort();
}

static void take_closed(void *user, struct flow *flow)
{
    (*(uint64_t *)user)++;
}

static void read_capture(const char *path, bool any_port)
{
    struct packet_reader *r;
    if (packet_reader_open(path, &r, NULL) < 0)
        return;
    uint64_t closed = 0;
    const struct stream_options options = {.any_port = any_port};
    const struct stream_events events = {take_record, take_closed, &closed};
    struct streams *streams = streams_new(&options, &events);
    struct segmenter *segmenter = segmenter_new();
    struct packet p;
    struct segment segment;
    uint64_t number = 0;
    while (packet_reader_next(r, &p, NULL) == 1) {
        for (uint32_t i = 0; i < p.captured; i++)
            touched += p.data[i];
        if (p.number != ++number || p.captured > p.original)
            abort();
        if (segmenter_take(segmenter, &p, &segment))
            streams_take(streams, &segment);
    }
    struct stream_counts counts;
    streams_finish(streams);
    streams_counts(streams, &counts);
    if (closed != counts.flows || counts.skipped_bytes > counts.bytes)
        abort();
    streams_free(streams);
    segmenter_free(segmenter);
    packet_reader_free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int file = -1;
    static char path[64];
    if (file < 0) {
        file = memfd_create("capture", MFD_CLOEXEC);
        snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    }
    if (file < 0 || ftruncate(file, 0) < 0 || pwrite(file, data, size, 0) != (ssize_t)size)
        abort();
    read_capture(path, false);
    read_capture(path, true);
    return 0;
}
