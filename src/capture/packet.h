/*
 * Packets out of capture files: pcap (four magics) and pcapng (sections, interfaces, their own time
 * resolutions), plain or gzip, from a file or standard input. Our own reader: libpcap refuses files
 * that people have (two link types in one pcapng).
 */
#ifndef LARDER_CAPTURE_PACKET_H
#define LARDER_CAPTURE_PACKET_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct packet {
    uint64_t number;             /* of the frame in its file, from 1 */
    uint64_t time_ns;            /* since 1970; 0 where the block has none (SPB) */
    uint32_t link_type;          /* LINKTYPE_... */
    const uint8_t *data;         /* the reader's, until the next call */
    uint32_t captured, original; /* bytes in the file, bytes on the wire */
};

struct packet_reader;

/* "-" is standard input. A file that is no capture is refused with what it is (NetMon, ETL, text,
 * empty, a directory) and what to do. */
int packet_reader_open(const char *path, struct packet_reader **ret, struct error *err);
/* A live interface (libpcap), until `seconds` have passed or `end` (NULL: nobody does) was set by a
 * signal's handler. */
int packet_reader_live(const char *interface, unsigned seconds, const volatile sig_atomic_t *end,
                       struct packet_reader **ret, struct error *err);
/* 1: a packet; 0: the end; or a negative errno where the rest cannot be read. */
int packet_reader_next(struct packet_reader *r, struct packet *ret, struct error *err);
/* Whether the end came in the middle of a packet or block. */
bool packet_reader_cut_off(const struct packet_reader *r);
/* Live: packets that the kernel had to drop; known at the end. 0 for files. */
uint64_t packet_reader_dropped(const struct packet_reader *r);
/* Bytes of the file read so far and in all (0: not known), for progress. */
void packet_reader_progress(const struct packet_reader *r, uint64_t *ret_done, uint64_t *ret_all);
struct packet_reader *
packet_reader_free(struct packet_reader *r); /* returns NULL; NULL is allowed */

#endif
