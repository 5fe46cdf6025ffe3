/*
 * Packets for the captures that tests write: TCP connections over any link type and either version
 * of IP, cut into segments as the test says.
 */
#ifndef LARDER_TESTS_CAPTURE_TRAFFIC_H
#define LARDER_TESTS_CAPTURE_TRAFFIC_H

#include "capture/writer.h"

enum { TCP_HAS_FIN = 1, TCP_HAS_SYN = 2, TCP_HAS_RST = 4, TCP_HAS_ACK = 16 };
enum { CLIENT, SERVER };

/* How packets look. All zero: plain IPv4 over Ethernet. */
struct link_style {
    uint32_t link_type; /* 0: Ethernet; LINK_NULL for BSD's loopback, whose number is 0 */
    int vlan_tags;      /* one: 8100; two: 88a8 outside */
    bool ipv6;
    bool hop_options;     /* IPv6: a hop-by-hop header before TCP */
    bool no_total_length; /* as with TSO */
    uint32_t fragment;    /* bytes of payload an IP fragment has at most; 0: not fragmented */
    bool fragments_backwards;
    uint32_t snaplen; /* bytes captured of a frame; 0: all */
    bool padded;      /* Ethernet: up to 60 bytes, with what looks like data */
};
enum { LINK_NULL = 0xffffffff };

/* One connection. Everything may be changed between calls. */
struct tcp_session {
    struct capture *c;
    struct link_style style;
    uint8_t host[2]; /* last byte of the address: client, server */
    uint16_t port[2];
    uint32_t seq[2]; /* of the next byte of each side */
    uint32_t mss;    /* session_send cuts to this */
    bool acks;       /* session_send has every segment acknowledged by a packet of its own */
};

/* From 10.0.0.CLIENT (or fd00::) to 10.0.0.200; sequence numbers from 1000 and 9000, segments of
 * 1448 bytes, each acknowledged. */
void session_init(struct tcp_session *s, struct capture *c, uint8_t client, uint16_t server_port);
/* One segment with any sequence number; the session's does not move. It acknowledges all that the
 * other side has sent. */
void session_segment(struct tcp_session *s, int side, uint32_t seq, const void *data, uint32_t n,
                     uint8_t flags);
void session_handshake(struct tcp_session *s);
void session_send(struct tcp_session *s, int side, const void *data, size_t n);
/* The same with the 4-byte header of a NetBIOS session message before it. */
void session_record(struct tcp_session *s, int side, const void *body, size_t n);
void session_ack(struct tcp_session *s, int side);
void session_close(struct tcp_session *s);

#endif
