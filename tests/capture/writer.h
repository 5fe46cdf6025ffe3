/*
 * Writes captures for the tests: every kind of file that the reader knows, in memory. It shares no
 * code with the reader, so that neither can hide the other's mistake.
 */
#ifndef LARDER_TESTS_CAPTURE_WRITER_H
#define LARDER_TESTS_CAPTURE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum capture_format {
    CAPTURE_PCAP,          /* microseconds */
    CAPTURE_PCAP_NS,       /* nanoseconds */
    CAPTURE_PCAP_MODIFIED, /* microseconds, packet headers of 24 bytes */
    CAPTURE_PCAPNG,        /* one section with one interface, microseconds */
};

struct capture {
    uint8_t *data; /* the file so far */
    size_t len, cap;
    enum capture_format format;
    bool big;                 /* byte order of the file; of the section for pcapng */
    uint64_t now_ns, step_ns; /* time of the next packet; what it moves on by afterwards */
    uint64_t packets;
    uint32_t interface; /* pcapng: of the next packet */
    struct {
        uint8_t resolution; /* as if_tsresol */
        int64_t offset;
    } clocks[8]; /* of the section's interfaces */
    uint32_t interfaces;
};

/* Begins a file; pcapng begins with a section and one interface. Packets begin at 1700000000 s and
 * come a millisecond apart. */
void capture_begin(struct capture *c, enum capture_format format, bool big, uint32_t link_type);
void capture_done(struct capture *c);

/* `captured` bytes of a packet that had `original` on the wire. */
void capture_packet(struct capture *c, const void *data, uint32_t captured, uint32_t original);

/* pcapng only: a new section; an interface, whose number is returned; any block; packets in the
 * two other kinds of block. */
void capture_section(struct capture *c, bool big);
uint32_t capture_interface(struct capture *c, uint16_t link_type, uint32_t snaplen,
                           uint8_t resolution, int64_t offset);
void capture_block(struct capture *c, uint32_t type, const void *body, size_t n);
void capture_simple_packet(struct capture *c, const void *data, uint32_t captured,
                           uint32_t original);
void capture_obsolete_packet(struct capture *c, const void *data, uint32_t captured,
                             uint32_t original);

/* Bytes as they are, for files that are broken on purpose. */
void capture_raw(struct capture *c, const void *data, size_t n);

/* Writes the first `n` bytes to a file, plain or as gzip. Failing ends the test. */
void capture_save(const struct capture *c, const char *path, size_t n);
void capture_save_gzip(const struct capture *c, const char *path, size_t n);
/* Appends what there is to a file and forgets it, for captures larger than memory need be. Returns
 * how many bytes that were. */
size_t capture_drain(struct capture *c, const char *path);

#endif
