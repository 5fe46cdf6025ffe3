/*
 * One conversation of SMB2, as records that a test sends in its own way, and the truth about them.
 *
 * A case sends the records into the scene's capture, and says of each how many of its bytes the
 * capture has. An element of a record is there to be found where its header is in the capture, and
 * with it all of the record that goes before.
 */
#ifndef LARDER_TESTS_CAPTURE_SCENE_H
#define LARDER_TESTS_CAPTURE_SCENE_H

#include "capture/traffic.h"
#include "secure/secure.h"

#define SCENE_SESSION UINT64_C(0x1122334455667788)
enum {
    SCENE_RECORDS = 400,
    SCENE_READ = 6000,            /* bytes in a READ response */
    SCENE_HEADERS = 14 + 20 + 32, /* before a segment's data, of IPv4 over Ethernet */
};

struct record {
    int side;
    uint32_t n, plain_n;
    uint8_t *wire, *plain; /* with the NetBIOS header; the same where nothing is encrypted */
    uint32_t seen;         /* bytes from its beginning that the capture has; all to begin with */
    bool before;           /* it passed before the capture began */
};

struct scene {
    struct capture c;
    struct tcp_session tcp; /* from 10.0.0.1 to port 445; nothing is sent yet */
    struct record record[SCENE_RECORDS];
    size_t count;
    unsigned times; /* that the conversation is held: 1 to begin with */
    bool sealed;
};

/* Encrypted from the TREE_CONNECT on, or with cipher 0 not at all. */
void scene_init(struct scene *k, enum secure_cipher cipher);
void scene_done(struct scene *k);
/* A line of JSON: the messages that were sent, those that are there to be found, the latter by
 * command as [requests, responses], and how to read the capture. */
void scene_print(const struct scene *k, const char *name);

uint32_t record_command(const struct record *r);   /* of its first element */
bool record_is_large_read(const struct record *r); /* a READ's final response */
void record_set_length(struct record *r);          /* writes n into its NetBIOS header */

/* Ends the program where something is not so. */
void must(bool ok, const char *what);

#endif
