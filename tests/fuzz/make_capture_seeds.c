/*
 * Writes the corpus of the targets `capture` and `stream`: `make_capture_seeds tests/fuzz/corpus`
 * after a format or a link type was added. Small captures, of every kind of file and of link.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/traffic.h"

static const char *path_in(const char *corpus, const char *target, const char *name)
{
    static char path[4096];
    snprintf(path, sizeof(path), "%s/%s/%s", corpus, target, name);
    return path;
}

/* A few records, some of them over two segments. */
static void converse(struct capture *c, const struct link_style *style, uint16_t port)
{
    uint8_t body[200] = {0xfe, 'S', 'M', 'B', 0x40};
    struct tcp_session s;
    session_init(&s, c, 3, port);
    s.style = *style;
    s.mss = 90;
    session_handshake(&s);
    if (port == 139)
        session_send(&s, CLIENT,
                     "\x81\0\0\x04"
                     "name\x85\0\0\0",
                     12);
    session_record(&s, CLIENT, body, 70);
    body[16] = 1;
    session_record(&s, SERVER, body, 150);
    s.seq[SERVER] += 30;
    session_record(&s, SERVER, body, 64);
    body[0] = 0xfd;
    session_record(&s, CLIENT, body, 100);
    session_close(&s);
}

static const struct {
    const char *name;
    enum capture_format format;
    bool big;
    struct link_style style;
    uint16_t port;
} captures[] = {
    {"pcap", CAPTURE_PCAP, false, {0}, 445},
    {"pcap_big", CAPTURE_PCAP, true, {.padded = true}, 139},
    {"pcap_ns_vlan", CAPTURE_PCAP_NS, false, {.vlan_tags = 2}, 445},
    {"pcap_modified_null", CAPTURE_PCAP_MODIFIED, false, {.link_type = LINK_NULL}, 445},
    {"pcapng_ipv6", CAPTURE_PCAPNG, false, {.ipv6 = true, .hop_options = true}, 445},
    {"pcapng_big_sll2", CAPTURE_PCAPNG, true, {.link_type = 276, .no_total_length = true}, 445},
    {"fragments", CAPTURE_PCAP, false, {.fragment = 32, .fragments_backwards = true}, 445},
    {"fragments_ipv6", CAPTURE_PCAP, false, {.ipv6 = true, .fragment = 48}, 4455},
    {"truncated_sll", CAPTURE_PCAP, false, {.link_type = 113, .snaplen = 120}, 445},
    {"raw", CAPTURE_PCAP, false, {.link_type = 101}, 445},
};

/* The same records as segments of fuzz_stream.c. */
static void write_segments(const char *path)
{
    FILE *f = fopen(path, "wb");
    uint8_t record[104] = {0, 0, 0, 100, 0xfe, 'S', 'M', 'B', 0x40};
    static const uint8_t heads[][5] = {
        {0x02, 0, 0, 0, 0},     {0x92, 0, 0, 0, 0},    {0x10, 0, 0, 104, 0},
        {0x90, 0, 0, 50, 54},   {0x10, 60, 0, 104, 0}, {0x10, 160, 255, 40, 0},
        {0x90, 200, 0, 104, 0}, {0x10, 0, 0, 104, 0},  {0x10, 0, 16, 10, 0},
        {0x11, 0, 0, 0, 0},
    };
    if (!f) {
        perror(path);
        exit(1);
    }
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        fwrite(heads[i], 1, 5, f);
        fwrite(record, 1, heads[i][3], f);
    }
    fclose(f);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: make_capture_seeds CORPUS\n");
        return 2;
    }
    for (size_t i = 0; i < sizeof(captures) / sizeof(captures[0]); i++) {
        struct capture c;
        const struct link_style *style = &captures[i].style;
        uint32_t link = style->link_type == LINK_NULL ? 0 : style->link_type ? style->link_type : 1;
        capture_begin(&c, captures[i].format, captures[i].big, link);
        converse(&c, style, captures[i].port);
        if (captures[i].format == CAPTURE_PCAPNG) {
            capture_block(&c, 5, "statistics", 10);
            capture_section(&c, !captures[i].big);
            c.interface = capture_interface(&c, 1, 60, 0x80 | 20, -1);
            capture_simple_packet(&c, "simple", 6, 6);
            capture_obsolete_packet(&c, "obsolete", 8, 9);
        }
        capture_save(&c, path_in(argv[1], "capture", captures[i].name), c.len);
        if (i == 0)
            capture_save_gzip(&c, path_in(argv[1], "capture", "pcap_gzip"), c.len);
        capture_done(&c);
    }
    write_segments(path_in(argv[1], "stream", "segments"));
    return 0;
}
