/*
 * Between the files of the scripted server: server.c receives, answer.c turns a frame of requests
 * into frames of replies, made.c keeps what is made, output.c sends them, logon.c knows users and
 * keys, share.c the files, lease.c and notify.c what the server says unasked. Everything here runs
 * on the server's thread.
 */
#ifndef LARDER_TESTS_SERVER_INTERNAL_H
#define LARDER_TESTS_SERVER_INTERNAL_H

#include <gssapi/gssapi.h>
#include <pthread.h>

#include "secure/secure.h"
#include "server.h"
#include "wire/durable.h"
#include "wire/validate.h"

enum {
    SERVER_CONNECTIONS = 16,
    SERVER_FRAME_MAX = 2 << 20, /* largest request frame that is taken */
    SERVER_OUT_MAX = WIRE_FRAME_HEADER + WIRE_FRAME_MAX,
    SERVER_TRANSACT_MAX = 8 << 20,
    SERVER_PATTERN_MAX = 510, /* bytes */
    SERVER_CODES = 16,
    SERVER_LEASES = 64,
    SERVER_ACKS = 256,
    SERVER_WATCHES = 16,
    SERVER_NOTES = 16,
    SERVER_REPLIES = 256, /* that are remembered */
    SERVER_ELEMENTS = 32, /* of one frame that are known apart */
    SERVER_ALTERED = 16,  /* alterations of one frame */
    SERVER_HELD = 64,     /* frames that are put by */
};

/* Who a connection's user is. All zero to begin with. */
struct server_logon {
    uint16_t dialect; /* 0: NEGOTIATE has not been answered */
    enum secure_algorithm algorithm;
    struct secure_preauth preauth; /* of 3.1.1, up to the last word */
    gss_ctx_id_t context;          /* of an exchange that is not at its end */
    gss_buffer_desc token;         /* our next one */
    uint8_t key[64];               /* the session key */
    size_t key_len;
    struct secure_signer *signer;          /* NULL: nobody has logged on, or a guest */
    bool must_sign;                        /* requests that are not signed are refused */
    uint16_t cipher;                       /* that was told; 0: none */
    struct secure_sealer *opener, *sealer; /* of requests, of replies; NULL: no keys */
    uint64_t nonce;                        /* the last one */
    bool request_sealed;                   /* the one that is being answered */
    bool seals;                            /* what is sent */
    struct wire_validate_response chosen;  /* what NEGOTIATE was answered */
    bool over;                             /* LOGOFF is being answered */
};

struct server_conn {
    int fd; /* -1: free */
    uint8_t *in;
    size_t have;         /* bytes in `in` */
    uint64_t session_id; /* 0: none yet */
    uint32_t tree_id;    /* 0: none yet */
    struct server_logon logon;
    uint8_t *joined; /* frames that leave together */
    size_t joined_len;
};

/* A handle. Its FileId is its place in the table and a number that is never used again. */
struct server_open {
    uint64_t serial; /* 0: free */
    const struct server_conn *conn;
    int node;        /* or SERVER_ROOT */
    size_t position; /* of the listing: 0 ".", 1 "..", then the table */
    bool listed;     /* a listing was begun, by this pattern */
    size_t pattern_len;
    uint8_t pattern[SERVER_PATTERN_MAX];
    bool removes; /* its CLOSE removes what it is of */
    bool durable; /* and by what it is known; `conn` is NULL while its client is away */
    uint8_t guid[WIRE_GUID_SIZE], key[WIRE_LEASE_KEY_SIZE];
};

/* A frame on its way out, and what is to happen to it. */
struct server_out {
    struct wr w;
    size_t elements[SERVER_ELEMENTS]; /* where they begin */
    unsigned element_count;
    struct {
        size_t at; /* where its element begins */
        const struct server_alteration *what;
    } altered[SERVER_ALTERED];
    unsigned altered_count;
    size_t hang_up_after; /* bytes; SIZE_MAX: not */
    uint64_t length;      /* what the frame header says; 0: the truth */
    size_t random;        /* bytes of noise instead; 0: not */
    size_t piece;         /* it is sent in pieces of so many bytes; 0: whole */
    unsigned pause_us;    /* behind each piece */
    unsigned repeats;     /* it is sent so many times more */
    unsigned behind;      /* it waits until so many others have left; 0: not */
    unsigned late_ms;     /* it waits so long, and nobody with it; 0: not */
    bool joins;           /* it leaves together with the next ones */
    bool plain;           /* it is not sealed */
};

/* A frame that is put by. */
struct server_held {
    struct server_conn *conn; /* NULL: free */
    unsigned behind;          /* frames that are to leave first; 0: it waits for the time */
    uint64_t due;             /* or CLOCK_NEVER */
    uint8_t *bytes;
    size_t len;
};

/* How often an IOCTL's code was asked for. */
struct server_code {
    uint32_t code; /* 0: free */
    unsigned count;
};

/* A key that was asked for, and by whom. */
struct server_key {
    uint8_t key[WIRE_LEASE_KEY_SIZE];
    const struct server_conn *conn;
};

/* A CHANGE_NOTIFY that waits: its reply's header. */
struct server_watch {
    struct server_conn *conn; /* NULL: free */
    uint64_t open;            /* its serial number */
    uint64_t order;
    struct wire_header reply;
};

/* An answer to a CHANGE_NOTIFY. */
struct server_note {
    uint32_t status;
    size_t len;
    uint8_t *output;
};

/* What another thread wants to be sent. */
struct server_order {
    const struct server_break *broken; /* NULL: nothing */
    bool done, sent;
};

struct server {
    int listener, wake; /* wake: an eventfd */
    uint16_t port;
    pthread_t thread;

    pthread_mutex_t lock;
    struct server_script script;            /* protected by lock */
    unsigned counts[SMB2_COMMANDS + 1];     /* protected by lock; the last: all */
    unsigned frames;                        /* protected by lock */
    unsigned open_count;                    /* protected by lock */
    uint64_t sent;                          /* protected by lock; bytes since server_play */
    struct server_code codes[SERVER_CODES]; /* protected by lock; IOCTLs since server_play */
    struct server_reply *replies;           /* protected by lock; SERVER_REPLIES of them */
    unsigned reply_count;                   /* protected by lock */
    bool stop, disconnect, away;            /* protected by lock */

    pthread_cond_t done; /* an order is */
    /* protected by lock */
    struct server_order order;
    struct server_key keys[SERVER_LEASES];
    unsigned key_count;
    struct wire_lease last_lease; /* version 0: none */
    struct {
        int lease;
        unsigned state, after[SMB2_COMMANDS + 1]; /* counts when it came */
    } acks[SERVER_ACKS];
    unsigned ack_count;
    struct server_note notes[SERVER_NOTES]; /* oldest first */
    unsigned note_count, watch_count;
    struct server_watch watches[SERVER_WATCHES]; /* the thread's own */

    /* The thread's own. */
    struct server_conn conns[SERVER_CONNECTIONS];
    struct server_open *opens;
    size_t open_cap;
    struct server_node *rows;    /* made.c: the script's, then what was made; NULL: nothing was */
    size_t row_first, row_count; /* the first that was made */
    uint64_t serial; /* the last one given to a session, tree, open or interim response */
    struct server_out out;
    struct server_held held[SERVER_HELD];
    uint8_t *scratch; /* SERVER_TRANSACT_MAX bytes: output buffers of listings and queries */
};

/* ---- answer.c ---- */

/* Answers all elements of a frame. False: hang up. */
bool server_answer(struct server *s, struct server_conn *c, struct rd frame);

/* ---- output.c ---- */

void server_out_reset(struct server_out *out);
/* The next element begins where the cursor is. */
void server_out_begin(struct server_out *out);
/* Sends what stands in s->out, if anything, and empties it. False: hang up. */
bool server_flush(struct server *s, struct server_conn *c);
/* Sends what was to leave together. False: hang up. */
bool server_joined_flush(struct server *s, struct server_conn *c);
/* Milliseconds until the first frame that is put by is due; -1: none is. */
int server_held_timeout(const struct server *s);
void server_held_release(struct server *s);
void server_held_forget(struct server *s, const struct server_conn *c);

/* What the elements of one frame share. */
struct exchange {
    struct server *s;
    struct server_conn *c;
    struct server_script script;
    bool compound;
    unsigned nth;                /* of its command since server_play */
    struct wire_file_id file_id; /* of the element before, for related ones */
    uint32_t failed; /* status of a CREATE that failed, for the related ones behind it */
    const struct wire_header *request;
    struct wire_header reply;
    uint64_t closed;     /* the serial number of an open that this CLOSE has closed */
    bool own_body;       /* the handler wrote one, whatever the status is */
    bool count_is_given; /* of this WRITE */
    uint32_t count;
};

/* Handlers write a reply's body behind room for its header, and give the status. What is said to
 * bad layouts is what real servers say. */
#define REFUSED                   ((uint32_t)STATUS_INVALID_PARAMETER)
#define STATUS_DUPLICATE_OBJECTID 0xc000022au /* an open has this CreateGuid already */

/* The open that a request means, and from now on what its related ones mean. */
struct server_open *server_open_of(struct exchange *x, struct wire_file_id id);

/* ---- change.c: the handlers of what writes ---- */

uint32_t server_write(struct exchange *x, struct rd msg, struct wr *w);
uint32_t server_flush_file(struct exchange *x, struct rd msg, struct wr *w);
uint32_t server_lock(struct exchange *x, struct rd msg, struct wr *w);
uint32_t server_set_info(struct exchange *x, struct rd msg, struct wr *w);

/* ---- made.c: of a script that remembers ---- */

/* A file or directory of this path, which is not there yet. */
uint32_t server_make(struct exchange *x, struct rd path, bool is_dir, int *ret_node);
uint32_t server_may_remove(struct exchange *x, int node);
void server_remove(struct exchange *x, int node);
void server_made_forget(struct server *s);
uint32_t server_control(struct exchange *x, struct rd msg, struct wr *w);

/* ---- logon.c: NEGOTIATE, SESSION_SETUP, LOGOFF ---- */

void server_logon_prepare(void);
void server_logon_done(struct server_logon *l);
uint32_t server_negotiate(struct exchange *x, struct rd msg, struct wr *w);
uint32_t server_session_setup(struct exchange *x, struct rd msg, struct wr *w);
uint32_t server_logoff(struct exchange *x, struct rd msg, struct wr *w);
/* A message of ours leaves, `h` its header: what it adds to the hash of 3.1.1, and its signature.
 */
void server_logon_hash(struct server_logon *l, const struct wire_header *h, const uint8_t *message,
                       size_t len);
void server_logon_sign(const struct server_logon *l, const struct wire_header *h, uint8_t *message,
                       size_t len);
/* False: a signature is missing or wrong. */
bool server_logon_trusts(const struct server_logon *l, const struct wire_header *h, struct rd msg);

/* ---- seal.c ---- */

/* Puts the script's cipher into the answer. */
void server_seal_choose(const struct exchange *x, const struct wire_negotiate_request *q,
                        struct wire_negotiate_response *r);
/* The session key is known. False: no keys could be made. */
bool server_seal_keys(struct server_logon *l);
/* Decrypts a frame that came encrypted, in place. False: it is not one of this session: hang up. */
bool server_unseal(struct server_conn *c, struct rd *frame);
/* Whether the request should have been encrypted, and was not (3.3.5.2.9, 3.3.5.2.11). */
bool server_seal_demands(const struct exchange *x);
/* Encrypts the frame, where it is to be. */
void server_seal(struct server_conn *c, struct server_out *out);

/* ---- lease.c ---- */

/* Remembers the key that a CREATE asks for; false where it asks for none. */
bool server_lease_asked(struct exchange *x, struct rd contexts, struct wire_lease *ret);
/* Appends the context that grants it. */
void server_lease_grant(const struct exchange *x, const struct wire_lease *asked, struct wr *chain,
                        bool last);
/* Sends the break, in frames of its own; s->out is empty before and after. */
bool server_break_now(struct server *s, const struct server_break *b);
uint32_t server_lease_ack(struct exchange *x, struct rd msg, struct wr *w);
/* Does the order that waits, if one does. */
void server_obey(struct server *s);

/* ---- durable.c ---- */

/* Whether a CREATE that asks for this lease is granted a durable open; and has one already. */
bool server_durable_wanted(const struct exchange *x, struct rd contexts,
                           const struct wire_lease *lease);
bool server_durable_is_known(const struct server *s, struct rd contexts);
/* Makes it one and appends the context that says so. */
void server_durable_grant(const struct exchange *x, struct server_open *o, struct rd contexts,
                          const struct wire_lease *lease, struct wr *chain, bool last);
/* A connection is lost: its durable opens are nobody's now. */
void server_durable_leave(struct server *s, const struct server_conn *c);
/* Whether a CREATE asks for one back; and gives it. */
bool server_durable_reclaims(struct rd contexts, struct wire_durable_reconnect *ret);
uint32_t server_durable_back(struct exchange *x, const struct wire_durable_reconnect *back,
                             struct rd contexts, struct server_open **ret);

/* ---- notify.c ---- */

/* Lets a CHANGE_NOTIFY wait. */
uint32_t server_watch_add(struct exchange *x, struct rd msg);
/* Answers those that wait, as far as there are notes. */
void server_watch_flush(struct server *s);
/* Ends the one of a CANCEL, those of an open that is closed, those of a connection that is gone. */
void server_watch_cancel(struct server *s, struct server_conn *c, const struct wire_header *h);
void server_watch_closed(struct server *s, uint64_t open);
void server_watch_forget(struct server *s, const struct server_conn *c);

/* ---- share.c ---- */

struct file_attr server_attr(const struct server_script *script, int node);
/* The path of a node as the table spells it, with a backslash in front. */
void server_path(const struct server_script *script, int node, struct wr *w);
/* STATUS_SUCCESS, OBJECT_NAME_NOT_FOUND or OBJECT_PATH_NOT_FOUND. */
uint32_t server_find(const struct server_script *script, struct rd path, int *ret_node);
/* Writes entries from where the open's listing stands. STATUS_SUCCESS, NO_SUCH_FILE, NO_MORE_FILES,
 * or BUFFER_OVERFLOW where there is not even room for one. */
uint32_t server_list(const struct server_script *script, struct server_open *o, unsigned max,
                     struct wr *w);

/* NULL where there is no memory. */
struct server_open *server_open_new(struct server *s, const struct server_conn *c, int node);
struct wire_file_id server_open_id(const struct server *s, const struct server_open *o);
/* NULL for an id that is not open on this connection. */
struct server_open *server_open_find(struct server *s, const struct server_conn *c,
                                     struct wire_file_id id);
void server_open_close(struct server *s, struct server_open *o);
/* All that a connection left open. */
void server_open_close_all(struct server *s, const struct server_conn *c);

#endif
