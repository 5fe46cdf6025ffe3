/*
 * From NetBIOS records to SMB2 messages, and to exchanges: a request with its final response.
 *
 * Messages are counted as Wireshark's smb2.cmd counts them, attributed to the frame that completes
 * them. Requests and responses are matched by MessageId per connection; interim responses do not
 * end a request; a CANCEL has no response, a break notification no request. Sessions, trees and
 * opens are known per server and session, across connections (multichannel). In related compounds
 * the FileId of all ones means the open of the element before. Encrypted records are decrypted
 * where a key is known and counted as such where not; compressed ones are inflated.
 */
#ifndef LARDER_CAPTURE_DISSECT_H
#define LARDER_CAPTURE_DISSECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/fileattr.h"
#include "capture/stream.h"
#include "wire/wire.h"

/* One SMB2 message; its command is below SMB2_COMMANDS. */
struct message {
    const struct flow *flow;
    uint16_t command;
    bool response;
    bool interim;     /* STATUS_PENDING: the final one is still to come */
    bool unsolicited; /* the notification of a break */
    uint32_t status;  /* responses */
    uint32_t bytes;   /* of this element, header included */
    uint64_t frame, time_ns;
    bool first_in_record;           /* of a compound */
    bool decrypted, is_signed, cut; /* cut: not all of it was captured */
    uint64_t session_id;
    unsigned causes; /* its record's: why other readers may not have it */
};

/* A file or directory as the client opened it. Lives until its CLOSE has been answered and the
 * exchange given. */
struct smb_open {
    uint64_t id; /* from 1 */
    const struct smb_share *share;
    const char *path; /* UTF-8, relative to the share, `/` between components, as the client spelled
                         it; "" the root */
    bool path_known;  /* false: opened before the capture began */
    struct file_attr attr; /* from its CREATE's response */
    uint32_t desired_access, disposition, options, share_access;
    bool is_directory;
    uint8_t oplock_asked, oplock_granted;
    bool lease_asked, lease_granted_known;
    uint32_t lease_asked_state, lease_granted_state;
    uint64_t opened_ns;
    void *user; /* the consumer's, freed in its open_closed */
};

/* A tree of one server. */
struct smb_share {
    const char *server; /* address:port as text */
    const char *name; /* "\\\\server\\share" from TREE_CONNECT in UTF-8, "" where it was not seen */
    const char
        *client; /* address of the client (its caches are per client, server, share and session) */
    uint64_t session_id;
    uint32_t tree_id;
    void *user;
};

struct exchange {
    const struct flow *flow;
    uint16_t command;
    uint32_t status;   /* of the final response */
    bool answered;     /* false: the capture has no final response (or it lost it) */
    bool request_seen; /* false: only the response was captured */
    uint64_t asked_ns, answered_ns, asked_frame, answered_frame;
    uint32_t request_bytes, response_bytes;
    uint64_t group; /* the request's compound: equal for elements of one; a round trip is a group's
                       wait */
    const struct smb_share *share; /* NULL where there is none */
    struct smb_open
        *open; /* the open that it is on, or that a CREATE made; NULL: none, or not known */

    /* by command, "" or 0 where it does not apply */
    const char *path; /* CREATE: the path asked for; others: the open's; NULL: not known */
    uint32_t desired_access, disposition, options; /* CREATE */
    const char *pattern; /* QUERY_DIRECTORY; SET_INFO: the new path of a rename or link */
    uint8_t info_type, info_class, flags; /* QUERY_DIRECTORY, QUERY_INFO, SET_INFO */
    uint32_t output_length;               /* asked */
    uint32_t payload;  /* bytes of data in the response (READ, listings) or request (WRITE) */
    uint64_t offset;   /* READ, WRITE */
    struct rd listing; /* QUERY_DIRECTORY response's entries of class 0x25 and the like, until the
                          callback returns */
    struct file_attr
        attr; /* CREATE, CLOSE with post-query, QUERY_INFO FileAllInformation and the like */
    bool attr_known;
};

/* A lease or oplock break notification. */
struct break_notice {
    const struct flow *flow;
    uint64_t time_ns;
    bool lease;
    uint32_t from_state, to_state;
};

/* Another final response to a request that had one: it counts, and its time is the request's. */
struct answered_again {
    const struct flow *flow;
    uint16_t command;
    uint64_t asked_ns, before_ns, answered_ns; /* before: that of the response until now */
};

struct dissect_events {
    void (*message)(void *user, const struct message *m);
    void (*exchange)(void *user, const struct exchange *x);
    void (*open_closed)(void *user, struct smb_open *o);
    void (*broken)(void *user, const struct break_notice *b);
    void *user;
    /* Its session was logged off, and its opens are closed. NULL: nobody wants to know. */
    void (*share_left)(void *user, const struct smb_share *share);
    void (*answered_again)(void *user, const struct answered_again *a); /* or NULL */
};

struct dissect_counts {
    uint64_t records, smb1_messages;
    uint64_t encrypted_messages;        /* records that stayed closed, among them: */
    uint64_t wrong_keys;                /* those of a session that has a key, but it did not fit */
    uint64_t encrypted_by_direction[2]; /* to the server, from the server */
    uint64_t decrypted_messages;        /* records that were opened */
    uint64_t compressed_messages;       /* records; their messages are counted where they were */
    uint64_t not_inflated;              /* of these, those that stayed closed, the cut ones too */
    uint64_t malformed, unmatched_responses, unanswered_requests;
    uint64_t open_bound_reached; /* opens, requests, sessions and shares given up for a bound */
};

/* What NEGOTIATE and TREE_CONNECT said, per connection. */
struct flow_facts {
    uint16_t dialect; /* 0: not seen */
    uint32_t client_capabilities, server_capabilities;
    bool signing_required, signed_seen, encrypted_seen;
    uint16_t cipher; /* 3.1.1 */
    uint32_t max_transact, max_read;
};
void dissect_flow_facts(const struct flow *flow, struct flow_facts *ret);

struct keyring; /* session keys: a line each in Wireshark's uat form, sessionid,seskey,s2ckey,c2skey
                   (hex), or what `smbinfo keys` prints */
int keyring_read(const char *path, struct keyring **ret, struct error *err);
struct keyring *keyring_free(struct keyring *k);

struct dissector;
struct dissector *dissector_new(const struct dissect_events *events, const struct keyring *keys);
/* For streams_new's events. */
void dissector_record(void *dissector, struct flow *flow, const struct record *r);
void dissector_flow_closed(void *dissector, struct flow *flow);
/* After streams_finish: what is still open is closed, unanswered requests are given. */
void dissector_finish(struct dissector *d);
void dissector_counts(const struct dissector *d, struct dissect_counts *ret);
struct dissector *dissector_free(struct dissector *d);

#endif
