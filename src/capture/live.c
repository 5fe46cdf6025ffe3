/*
 * Packets of a live interface, by libpcap, until a deadline. Nothing is filtered: the ports are the
 * streams' business. libpcap is asked without blocking and its descriptor is polled, so that the
 * deadline holds on a silent interface. It is looked at before each packet, and so is the flag by
 * which a signal's handler ends the capture: on a busy interface poll is rarely what a signal
 * meets.
 */
#include <errno.h>
#include <pcap/pcap.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "capture/reader.h"

enum { SNAPLEN = 256 << 10, KERNEL_BUFFER = 16 << 20, READ_TIMEOUT_MS = 100 };

struct live {
    pcap_t *pcap;
    uint64_t deadline; /* of clock_now */
    const volatile sig_atomic_t *end;
    uint32_t link_type;
    bool nanoseconds;
};

static void note_drops(struct packet_reader *reader)
{
    const struct live *l = reader->state;
    struct pcap_stat stat;
    if (pcap_stats(l->pcap, &stat) == 0)
        reader->dropped = (uint64_t)stat.ps_drop + stat.ps_ifdrop;
}

/* Waits until there may be packets: true, or false at the end. */
static bool wait_for_packets(struct live *l)
{
    uint64_t now = clock_now();
    if (now >= l->deadline || (l->end && *l->end))
        return false;
    uint64_t left_ms = (l->deadline - now) / NS_PER_MS + 1;
    int wait_ms = left_ms < READ_TIMEOUT_MS ? (int)left_ms : READ_TIMEOUT_MS;
    struct pollfd p = {.fd = pcap_get_selectable_fd(l->pcap), .events = POLLIN};
    poll(&p, 1, wait_ms);
    return true;
}

static int live_next(struct packet_reader *reader, struct packet *ret, struct error *err)
{
    struct live *l = reader->state;
    struct pcap_pkthdr *header;
    const u_char *data;
    int r;
    do {
        if (!wait_for_packets(l)) {
            note_drops(reader);
            return 0;
        }
        r = pcap_next_ex(l->pcap, &header, &data);
    } while (r == 0);
    if (r < 0)
        return error_set(err, -EIO, 0, "capture: %s", pcap_geterr(l->pcap));
    *ret = (struct packet){
        .number = ++reader->number,
        .time_ns = (uint64_t)header->ts.tv_sec * NS_PER_SEC +
                   (uint64_t)header->ts.tv_usec * (l->nanoseconds ? 1 : 1000),
        .link_type = l->link_type,
        .data = data,
        .captured = header->caplen,
        .original = header->len > header->caplen ? header->len : header->caplen,
    };
    return 1;
}

static void live_done(struct packet_reader *reader)
{
    struct live *l = reader->state;
    if (l && l->pcap)
        pcap_close(l->pcap);
    free(l);
}

static const struct packet_format live_format = {NULL, live_next, live_done};

static int activate(struct live *l, const char *interface, struct error *err)
{
    char text[PCAP_ERRBUF_SIZE] = "";
    l->pcap = pcap_create(interface, text);
    if (!l->pcap)
        return error_set(err, -ENODEV, 0, "%s: %s", interface, text);
    pcap_set_snaplen(l->pcap, SNAPLEN);
    pcap_set_promisc(l->pcap, 0);
    pcap_set_timeout(l->pcap, READ_TIMEOUT_MS);
    pcap_set_buffer_size(l->pcap, KERNEL_BUFFER);
    pcap_set_tstamp_precision(l->pcap, PCAP_TSTAMP_PRECISION_NANO);
    int r = pcap_activate(l->pcap);
    if (r == PCAP_ERROR_PERM_DENIED || r == PCAP_ERROR_PROMISC_PERM_DENIED)
        return error_set(err, -EPERM, 0,
                         "%s: capturing needs root or CAP_NET_RAW; or capture with another tool "
                         "and give its file",
                         interface);
    if (r == PCAP_ERROR_NO_SUCH_DEVICE)
        return error_set(err, -ENODEV, 0, "%s: no such interface", interface);
    if (r < 0)
        return error_set(err, -EIO, 0, "%s: %s", interface, pcap_geterr(l->pcap));
    if (pcap_setnonblock(l->pcap, 1, text) < 0)
        return error_set(err, -EIO, 0, "%s: %s", interface, text);
    l->nanoseconds = pcap_get_tstamp_precision(l->pcap) == PCAP_TSTAMP_PRECISION_NANO;
    l->link_type = (uint32_t)pcap_datalink(l->pcap);
    return 0;
}

int packet_reader_live(const char *interface, unsigned seconds, const volatile sig_atomic_t *end,
                       struct packet_reader **ret, struct error *err)
{
    struct packet_reader *r = calloc(1, sizeof(*r));
    struct live *l = calloc(1, sizeof(*l));
    if (!r || !l) {
        free(r);
        free(l);
        return error_set(err, -ENOMEM, 0, "out of memory");
    }
    r->format = &live_format;
    r->state = l;
    int code = activate(l, interface, err);
    if (code < 0) {
        packet_reader_free(r);
        return code;
    }
    l->deadline = clock_now() + seconds * NS_PER_SEC;
    l->end = end;
    *ret = r;
    return 0;
}
