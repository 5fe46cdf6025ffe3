/*
 * What the dissector's files share; private to them.
 *
 *   dissect.c   records, their elements, events and counts
 *   match.c     requests and the responses to them
 *   fields.c    what the bodies say, by command
 *   session.c   servers, sessions, trees
 *   open.c      opens
 *   decrypt.c   encrypted records, and what their keys are derived from
 *   inflate.c   compressed records
 *   keyring.c   the file of keys
 *
 * Everything that lives from one record to the next has a bound, and the least recently used goes
 * first: what it belonged to is then not known, as if the capture had begun later.
 */
#ifndef LARDER_CAPTURE_DISSECTOR_H
#define LARDER_CAPTURE_DISSECTOR_H

#include "base/hash.h"
#include "base/list.h"
#include "capture/dissect.h"
#include "secure/secure.h"

enum {
    PENDING_MAX = 65536,         /* requests that wait for their response, in all */
    PENDING_CONN_MAX = 8192,     /* and on one connection: credits allow no more */
    PENDING_TEXT_MAX = 16 << 20, /* bytes of their names */
    OPENS_MAX = 65536,
    OPEN_TEXT_MAX = 16 << 20, /* bytes of their paths */
    SESSIONS_MAX = 16384,
    SHARES_MAX = 16384, /* given out to the consumer, hence kept to the end */
    TREES_MAX = 65536,
    SERVERS_MAX = 16384,
    MEMBERS_MAX = 256,    /* sessions of one connection */
    TEXT_MAX = 32767 * 3, /* a name as UTF-8 */
};

struct dissector {
    struct dissect_events events;
    const struct keyring *keys;
    struct dissect_counts counts;
    uint64_t seed, groups, opens_made, servers_made;
    struct list conns;
    struct hash servers;
    struct hash sessions;
    struct list session_lru;
    struct list open_lru;
    size_t open_count, open_text;
    struct list pending; /* oldest first */
    size_t pending_count, pending_text;
    struct list shares;
    size_t share_count, tree_count;
    uint8_t *plain, *inflated; /* the record being looked at, decrypted, inflated */
    size_t plain_cap, inflated_cap;
    uint64_t captured_bytes, inflated_bytes; /* of all records */
    char text[TEXT_MAX + 1];                 /* of the name being looked at */
};

/* A request that had its final response, which may have another. */
struct answered {
    uint64_t message_id, asked_ns, answered_ns;
    uint16_t command;
};
enum { ANSWERED_KEPT = 32 };

/* What is known of one TCP connection; its flow's `user`. */
struct conn {
    struct dissector *d;
    struct flow *flow;
    struct list in_all;
    uint64_t server;
    struct flow_facts facts;
    bool smb1_negotiate; /* a multi-protocol negotiation: its SMB2 response has no SMB2 request */
    bool preauth_known;
    struct secure_preauth preauth; /* after NEGOTIATE */
    struct hash pending;           /* by MessageId */
    struct list pending_order;     /* oldest first */
    size_t pending_count;
    struct answered answered[ANSWERED_KEPT]; /* the latest, in a ring */
    size_t answered_count;                   /* of all */
    struct list members;                     /* sessions used on it */
    size_t member_count;
    struct session *last; /* the one looked up last */
};

/* ---- session.c ---- */

/* One session of one server, on any number of connections. */
struct session {
    struct hash_node node;
    struct list lru;
    uint64_t server, id;
    struct list members; /* connections it is used on */
    struct hash opens, trees;
    struct share *shares; /* those connected in it, newest first */
    /* Authentication, as far as it was seen whole. */
    uint64_t setup_flow; /* 0: not under way */
    bool preauth_known;
    struct secure_preauth preauth;
    uint16_t dialect, cipher;        /* 0: not known */
    const struct key *key;           /* keyring's, NULL: none */
    struct secure_sealer *opener[2]; /* to the server, from it: those that have opened one */
};

uint64_t server_of_address(struct dissector *d, const struct endpoint *e);
/* NEGOTIATE told the server's GUID: the same server may be met at other addresses. */
void server_has_guid(struct conn *c, const uint8_t guid[static 16]);

/* Made where it is not known yet; NULL only out of memory. */
struct session *session_of(struct conn *c, uint64_t id);
/* All that hangs on it is closed. */
void session_end(struct dissector *d, struct session *s);
/* It has ended for good, by LOGOFF. */
void session_logged_off(struct dissector *d, struct session *s);
/* The connection is gone, and its sessions with it where they have no other. */
void sessions_leave(struct conn *c);
void sessions_free(struct dissector *d);

struct smb_share *tree_of(struct conn *c, uint64_t session_id, uint32_t tree_id);
struct smb_share *tree_connected(struct conn *c, uint64_t session_id, uint32_t tree_id,
                                 const char *name);
void tree_disconnected(struct conn *c, uint64_t session_id, uint32_t tree_id);

/* ---- open.c ---- */

/* Asked for by a CREATE, live after its success, closed: only while it is live is it the consumer's
 * and in its session's table. Requests on it hold it by a reference. */
struct open {
    struct smb_open pub;
    struct hash_node node; /* of session->opens */
    struct list lru;
    struct session *session; /* NULL: not live */
    struct wire_file_id file_id;
    uint32_t tree_id;
    unsigned refs;
    size_t text_len;
    char text[];
};

struct open *open_new(struct dissector *d, const char *path, bool path_known);
struct open *open_ref(struct open *o); /* NULL is allowed, here and below */
struct open *open_unref(struct open *o);
void open_live(struct dissector *d, struct session *s, struct open *o, struct wire_file_id id);
void open_close(struct dissector *d, struct open *o);
struct open *open_find(struct dissector *d, struct session *s, struct wire_file_id id);

/* ---- elements and requests ---- */

/* What later elements of a compound take from earlier ones. */
struct chain {
    uint64_t group;
    uint64_t session_id;
    uint32_t tree_id;
    struct open *open; /* a reference */
};

/* One message of a record. */
struct element {
    struct conn *conn;
    const struct record *record;
    struct chain *chain;
    struct wire_header h;
    struct rd msg;   /* what was captured of it, positioned after the header */
    uint32_t length; /* of all of it */
    bool cut, decrypted, response;
    uint64_t session_id; /* those of the chain where the header leaves it to that */
    uint32_t tree_id;
};

/* A request that waits for its response, and all that the exchange will say. */
struct pending {
    struct hash_node node;
    struct list in_conn, in_all;
    struct conn *conn;
    uint64_t message_id, session_id;
    uint32_t tree_id;
    size_t text_len; /* of all its names */
    struct exchange x;
    struct open *open;              /* a reference; asked for, or on which it is */
    char *text;                     /* the share's name, the pattern, the new path */
    struct secure_preauth *preauth; /* the first SESSION_SETUP: the hash with it */
};

/* match.c */
void match_request(struct element *e);
void match_response(struct element *e);
void match_end(struct conn *c); /* what still waits has no answer */

/* fields.c */
void fields_of_request(struct element *e, struct pending *p);
void fields_of_response(struct element *e, struct pending *p);
void fields_of_break(struct element *e);

/* ---- decrypt.c, inflate.c, keyring.c ---- */

struct key {
    uint64_t session_id;
    uint8_t session_key[64];
    uint8_t from_server[SECURE_CIPHER_KEY_MAX], to_server[SECURE_CIPHER_KEY_MAX];
    size_t session_len, from_len, to_len; /* 0: not given */
};
const struct key *keyring_find(const struct keyring *k, uint64_t session_id); /* k may be NULL */

/* Opens an encrypted record into d->plain; false: it stays closed, and was counted. */
bool decrypt_record(struct conn *c, const struct record *r, struct rd *ret_plain);
/* Inflates a compressed record, which *inout is over, into d->inflated; false: it is counted, and
 * no more. */
bool inflate_record(struct conn *c, const struct record *r, struct rd *inout);
/* Makes *inout_buf hold `len` bytes. */
bool dissector_room(uint8_t **inout_buf, size_t *inout_cap, size_t len);
/* NEGOTIATE and SESSION_SETUP, in the order in which they were seen. */
void preauth_request(const struct element *e, struct pending *p);
void preauth_response(const struct element *e, const struct pending *p);

#endif
