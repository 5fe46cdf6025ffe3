/*
 * An SMB2 server that does what a test tells it: for names that no real server stores, refusals
 * that a test cannot provoke, and bytes that no server should send.
 *
 * It listens on 127.0.0.1, on a port of its own, answers from a table of files, and is otherwise a
 * plain server: one session and one tree a connection, of pipes where it is called IPC$; guests
 * (success and the guest flag at the first SESSION_SETUP, whatever the token), or with `logon` one
 * user, who signs. A script may bend it: each rule names requests and what happens to their
 * replies; all the rules that fit a request are applied. docs/scripted-server.md shows how a test
 * is written with it.
 *
 * One thread serves all connections. The functions here may be called from any other thread.
 */
#ifndef LARDER_TESTS_SERVER_H
#define LARDER_TESTS_SERVER_H

#include <stddef.h>
#include <stdint.h>

#include "wire/wire.h"

/* ---- what is on the share ---- */

enum {
    SERVER_ROOT = -1,
    SERVER_MADE = -2, /* what a CREATE made: it has no name, and is not found again, unless the
                         script `remembers` */
    SERVER_GONE = -3, /* a row's directory once it was removed there */
};

struct server_node {
    int parent;            /* index of its directory in the table, or SERVER_ROOT */
    struct rd name;        /* UTF-16LE, listed as it is; opened by it in any ASCII case */
    struct file_attr attr; /* size 0: as long as the content; times 0: some constant ones */
    struct rd content;     /* what READ gives */
};

/* Initialisers of a cursor: SERVER_NAME(u"a.py"), SERVER_CONTENT("print()\n"). NULs inside are
 * kept. */
#define SERVER_NAME(literal)                                                                       \
    {                                                                                              \
        .base = (const uint8_t *)(literal), .len = sizeof(literal) - sizeof(*(literal))            \
    }
#define SERVER_CONTENT(literal) SERVER_NAME(literal)

/* ---- what it does instead of answering well ---- */

enum server_action {
    /* to one reply */
    SERVER_FAIL,           /* the reply is an error with status `value` */
    SERVER_SILENT,         /* the request is not obeyed, and there is no reply */
    SERVER_LOSE,           /* it is obeyed, and its reply is left out */
    SERVER_INTERIM,        /* STATUS_PENDING first, then the reply, both asynchronous */
    SERVER_PENDING,        /* STATUS_PENDING and never more; it is not obeyed */
    SERVER_OWN_FRAME,      /* the reply begins a frame of its own */
    SERVER_DELAY,          /* the reply, and the server with it, waits `value` milliseconds */
    SERVER_GRANT,          /* `value` credits instead of as many as were asked for */
    SERVER_ALTER,          /* the script's alteration number `value` is made */
    SERVER_BAD_PROTOCOL,   /* the reply's header is not SMB2's */
    SERVER_BAD_MESSAGE_ID, /* the reply's MessageId is `value` too large */
    SERVER_BAD_SIGNATURE,  /* the reply says that it is signed, and is not, or wrongly */
    SERVER_COUNT,          /* a WRITE says that it took `value` bytes, and takes them; a READ gives
                            * as many, whatever was asked for, if the file has them */
    SERVER_BREAK,          /* the script's break number `value` leaves before the reply */
    /* to the whole frame that the reply travels in */
    SERVER_HANG_UP,    /* the connection ends after `value` bytes of it */
    SERVER_BAD_LENGTH, /* it says that it is `value` bytes long */
    SERVER_RANDOM,     /* `value` random bytes instead */
    SERVER_LATE,       /* it alone waits `value` milliseconds: others overtake it */
    SERVER_HOLD,       /* it leaves behind the next `value` frames of this connection */
    SERVER_REPEAT,     /* it is sent `value` times more */
    SERVER_PIECES,     /* it is sent in pieces: SERVER_PIECES_OF(bytes, microseconds of pause) */
    SERVER_JOIN,       /* it leaves in one segment with the next one that is due */
    SERVER_PLAIN,      /* it is not encrypted, although the request was */
};

#define SERVER_PIECES_OF(bytes, pause_us) ((uint64_t)(pause_us) << 32 | (uint32_t)(bytes))

/* One field of a reply, or the end of its frame, is not what it should be. Made by the server, the
 * alteration is signed or encrypted with the rest; on the way it is what a signature is there to
 * find. Of an encrypted frame the bytes count on the way from its transform header. */
enum server_how {
    SERVER_SET,
    SERVER_ADD,
    SERVER_XOR,
    SERVER_RESIZE, /* the frame gets `value` bytes of zeroes behind it, or loses -value */
};
struct server_alteration {
    unsigned offset; /* bytes from the reply's header */
    unsigned width;  /* bytes, up to 8, little-endian; behind the reply's end nothing is altered */
    enum server_how how;
    uint64_t value;
    bool on_the_way;
};

enum server_place {
    SERVER_ANYWHERE,
    SERVER_IN_COMPOUND, /* only elements of a compound */
    SERVER_BEHIND,      /* only those behind a compound's first */
};

enum { SERVER_ANY = -1 };

struct server_rule {
    int command;  /* enum wire_command, or SERVER_ANY */
    unsigned nth; /* 1: the first such request since server_play; 0: each of them */
    enum server_place where;
    enum server_action action;
    uint64_t value;
    unsigned until; /* all from the nth to this one; 0: that one alone */
};

/* The one user of a server with `logon`. */
#define SERVER_DOMAIN   "SCRIPT"
#define SERVER_USER     "player"
#define SERVER_PASSWORD "as written"

/* Of 3.1.1; what the client does not offer is not chosen. */
enum server_signing {
    SERVER_SIGN_BY_DIALECT, /* no choice is told: AES-CMAC */
    SERVER_SIGN_HMAC,
    SERVER_SIGN_CMAC,
    SERVER_SIGN_GMAC,
};

/* What an IOCTL is answered; a code without any gets success and nothing, a COPYCHUNK the sum of
 * its chunks. */
struct server_ioctl {
    uint32_t code;
    unsigned nth; /* 1: the first with this code since server_play; 0: each of them */
    uint32_t status;
    struct rd output; /* goes with whatever status */
};

/* What a CREATE that asks for a lease gets. The server keeps no leases: it grants what it is told,
 * breaks what it is told, and remembers which keys were asked for and which breaks acknowledged. */
struct server_lease {
    unsigned state; /* of what is asked; the context is answered also where nothing is left */
    uint16_t epoch;
    uint32_t flags;
};

/* What becomes of opens with a handle lease when their connection is lost. */
enum server_durable {
    SERVER_NOT_DURABLE, /* they are closed, and nobody was told otherwise */
    SERVER_DURABLE,     /* who asked for it may have them back */
    SERVER_FORGETFUL,   /* that was said, and they are closed all the same */
};

enum { SERVER_UNKNOWN_KEY = -1 };

struct server_break {
    int lease; /* the n-th key that was asked for, from 0; or SERVER_UNKNOWN_KEY */
    uint16_t epoch;
    unsigned state; /* what is left */
    bool ack;       /* ACK_REQUIRED */
    unsigned times; /* 0: once */
};

/* Where WRITEs to any file land: bytes behind its end are counted and forgotten. */
struct server_sink {
    uint8_t *data;
    size_t size;
};

struct server_script {
    uint16_t dialect;             /* 0: 2.1 */
    uint32_t max_transact;        /* bytes, up to 8 MiB, of a WRITE, too; 0: 1 MiB */
    uint32_t max_read;            /* bytes; 0: 1 MiB */
    uint32_t max_query_directory; /* a larger buffer gets INVALID_PARAMETER; 0: max_transact */
    unsigned entries_per_reply;   /* of a listing; 0: as many as fit */
    uint64_t hang_up_before;      /* the n-th byte sent since server_play, from 1; 0: never */
    const struct server_node *nodes;
    size_t node_count;
    bool remembers; /* what is made is there under its name from then on, until it is removed */
    const struct server_rule *rules;
    size_t rule_count;
    const struct server_ioctl *ioctls;
    size_t ioctl_count;
    const struct server_alteration *alterations;
    size_t alteration_count;
    bool logon;     /* SERVER_USER alone, who signs; else everybody is a guest */
    bool must_sign; /* with logon: all that is not signed is refused */
    enum server_signing signing;
    uint16_t cipher;       /* of 3.1.1, with logon: told whether it was offered or not; 0: none. 3.0
                              has its own, with SMB2_GLOBAL_CAP_ENCRYPTION */
    bool encrypts;         /* the session insists on encryption, */
    bool share_encrypts;   /* or the share does */
    bool plain_asides;     /* breaks and interim responses are never encrypted */
    uint32_t capabilities; /* SMB2_GLOBAL_CAP_... besides LARGE_MTU */
    struct server_lease lease;
    enum server_durable durable;
    const struct server_break *breaks;
    size_t break_count;
    bool quiet_watches;      /* CHANGE_NOTIFY gets no interim response */
    struct server_sink sink; /* the server's from server_play on, until its client is gone */
};

/* ---- running it ---- */

struct server;

/* Listens when it returns. The script's tables are borrowed until server_free. NULL and errno where
 * it cannot be started. */
struct server *server_new(const struct server_script *script);
/* Ends all connections and the thread. NULL is allowed; returns NULL. */
struct server *server_free(struct server *s);
uint16_t server_port(const struct server *s);

/* Goes on by another script, from the next frame on, with all counts at 0. Connections and opens
 * stay; nodes keep their places in the table. */
void server_play(struct server *s, const struct server_script *script);
/* Hangs up on everybody; new connections are welcome. */
void server_disconnect(struct server *s);
/* Hangs up on everybody, and on whoever comes, until it is no longer to stay away. */
void server_stay_away(struct server *s, bool away);

/* Requests since server_play, each element of a compound for itself; of one command, or SERVER_ANY.
 */
unsigned server_count(struct server *s, int command);
/* Frames received since server_play. */
unsigned server_frames(struct server *s);
/* The n-th reply since server_play, from 0, as it was before anybody altered it; interim ones and
 * what is sent unasked are not counted. False: there were not so many, or more than are kept. */
struct server_reply {
    uint16_t command;
    unsigned nth; /* of its command, from 1, as in a rule */
    uint32_t status;
    size_t len;         /* bytes, header and body */
    bool behind;        /* not the first in its frame */
    uint8_t head[1024]; /* its first bytes, but for NextCommand and the signature */
};
bool server_reply(struct server *s, unsigned n, struct server_reply *ret);
/* Handles that are open now. */
unsigned server_opens(struct server *s);

/* ---- leases and watches ---- */

/* Sends a break, as the script's rules do; has been sent when this returns. False: to nobody. */
bool server_send_break(struct server *s, const struct server_break *b);
/* How many different keys have been asked for since server_new. */
unsigned server_leases(struct server *s);
/* What the last CREATE that asked for a lease asked for. False: none did yet. */
bool server_last_lease(struct server *s, struct wire_lease *ret);
/* The n-th acknowledgement since server_play, from 0: whose (as in server_break), and the state.
 * False: there are not so many. */
bool server_ack(struct server *s, unsigned n, int *ret_lease, unsigned *ret_state);
/* How many requests of that command had come since server_play when that one came. */
unsigned server_ack_after(struct server *s, unsigned n, int command);

/* Answers the CHANGE_NOTIFY that waits longest, or the next one to come; `output` is copied, and
 * goes with STATUS_SUCCESS only. */
void server_notify(struct server *s, uint32_t status, struct rd output);
/* CHANGE_NOTIFYs that wait. */
unsigned server_watches(struct server *s);

#endif
