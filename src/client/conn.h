/*
 * What the files of this room share: the connection, and the compounds that travel on it.
 *
 * Lock order: conn->send_lock, then conn->lock. conn->lock is held for moments only: never across a
 * system call, a signature or a call out of this room. conn->send_lock is held while one frame goes
 * into the socket, so that frames leave whole; the receive thread only ever tries it.
 *
 * Fields that say "constant" are written while the connection has one caller (client_connect) or
 * before its receive thread starts, and only read from then on.
 */
#ifndef LARDER_CLIENT_CONN_H
#define LARDER_CLIENT_CONN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/list.h"
#include "base/ntstatus.h"
#include "client/client.h"
#include "client/socket.h"
#include "observe/observe.h"
#include "secure/secure.h"
#include "wire/durable.h"
#include "wire/validate.h"

#define CREDIT_PAYLOAD 65536u /* bytes that one credit pays for (3.1.5.2) */
#define CREDIT_MAX     8192u  /* more than this is never counted, whatever a server grants */
#define CREDIT_WANTED  128u   /* what is planned with while there is no connection */
#define CREDIT_TARGET  512u   /* as many are asked for: 32 MiB under way */

/* What servers take in one FSCTL_SRV_COPYCHUNK unless they say otherwise (3.3.5.15.6). */
#define COPY_CHUNKS      256u
#define COPY_CHUNK_BYTES (1u << 20)
#define COPY_TOTAL_BYTES (16u << 20)

/* Our own ceilings under the server's: what one request or reply makes anybody hold in memory. */
#define READ_MAX      (1u << 20)
#define WRITE_MAX     (1u << 20)
#define TRANSACT_MAX  (4u << 20)
#define FRAME_SLACK   65536u     /* headers, paddings and small elements around the payload */
#define FRAME_MAX_MIN (1u << 20) /* accepted whatever the server's sizes are */

/* ---- the connection ---- */

/* What a server has shown that it does not do: learned once, a bit each. */
enum {
    REFUSES_COMPOUNDS = 1,
    REFUSES_COMPOUND_QUERY = 2, /* QUERY_INFO inside a compound */
    REFUSES_LARGE_LISTINGS = 4, /* QUERY_DIRECTORY with a buffer over 64 KiB */
    REFUSES_COMPOUND_SET = 8,   /* SET_INFO inside a compound */
    REFUSES_COMPOUND_IOCTL = 16,
};

/* ---- frame.c ---- */

#define FRAMES_KEPT    8u                       /* large ones, of those that are not used */
#define FRAME_KEPT_MAX (READ_MAX + FRAME_SLACK) /* bytes of one: 8.5 MiB a connection at most */

/* The bytes of one received frame; each answered request in it holds a reference. */
struct frame {
    atomic_uint refs;
    struct frame_pool *pool; /* where it goes when it is not used any more; NULL: nowhere */
    size_t cap, len;
    uint8_t data[];
};
/* Outlives its frames. Any thread. */
struct frame_pool {
    pthread_mutex_t lock;
    struct frame *spare[FRAMES_KEPT]; /* protected by lock, as is count */
    unsigned count;
};
void frame_pool_init(struct frame_pool *p);
void frame_pool_done(struct frame_pool *p);
struct frame *frame_new(struct frame_pool *p, size_t len); /* NULL: out of memory */
struct frame *frame_ref(struct frame *f);
struct frame *frame_unref(struct frame *f); /* returns NULL; NULL is allowed */

struct conn;

struct kept;

/* How the server holds an open while its connection is away: durable.c. */
struct durable {
    uint8_t version; /* 1 or 2; 0: it does not */
    uint8_t guid[WIRE_GUID_SIZE];
};

/* An open on the server, in memory of its own, so that it can wait in conn->closes for its CLOSE
 * without another allocation. It is one of the connection with `epoch`; another connection knows
 * nothing of it, unless it is opened there again (kept.c). */
struct handle {
    struct list link;           /* in conn->closes or conn->kept; protected by conn->lock, as is: */
    struct wire_file_id id;     /* good in its epoch */
    unsigned epoch;             /* conn->epoch when its CREATE left */
    struct client_lease *lease; /* by which it was opened, a reference; NULL: none */
    bool promises;              /* counts in lease->promising, in its epoch */
    bool leased;                /* counts in lease->on_server, in its epoch */
    struct durable durable;     /* as it was granted; before the answer, as it was asked for */
    struct kept *kept; /* what it takes to open it again; NULL: it ends with its connection.
                          The pointer is constant once others know the handle */
};
/* Frees it, whatever has become of its open. NULL is allowed. conn->lock not held. */
void handle_free(struct conn *c, struct handle *h);
/* Takes its lease off. Caller holds conn->lock. */
void handle_unlease(struct conn *c, struct handle *h);

/* A CREATE that asks for a lease, from its registration until its compound is gone. */
struct lease_flight {
    struct client_lease *lease;   /* a reference; NULL: none is asked for */
    struct client_lease_ask *ask; /* the caller's; NULL: nobody wants to know */
    struct list link;             /* in lease->flights; protected by conn->lock, as all below */
    bool under_way;               /* registered, and neither answered nor lost */
    unsigned cap;                 /* what the breaks since its registration have left */
    unsigned granted;             /* by its reply, under the cap of that moment */
};

/* The most that the server copies for one request. */
struct copy_limits {
    uint32_t chunks, chunk_bytes, total_bytes;
};

#define WAKES 64 /* so many who wait wake alone */
/* What is to be done when the session expires: renew.c. */
struct renewal {
    pthread_t thread; /* constant once started */
    bool started;
    /* all below: protected by conn->lock */
    bool possible;     /* there is somebody to log on again */
    bool expired;      /* the server says so: only what needs no session leaves */
    bool running;      /* somebody is at it */
    bool stop;         /* the thread is to end */
    unsigned logon;    /* counts logons: which one a request was sent under */
    unsigned done;     /* how often it was renewed */
    int64_t end;       /* of the ticket, seconds of the wall clock */
    uint64_t ahead_at; /* when to look for a newer one */
    struct error why;  /* of the last attempt; code 0: it succeeded, or there was none */
    uint64_t retry_at; /* no attempt before */
    uint64_t pause;
    pthread_cond_t changed;
};

struct conn {
    /* constant */
    struct client *client; /* whose connection it is */
    struct observe *observe;
    struct conn_events events;
    uint64_t request_timeout, echo_interval; /* ns */
    uint64_t silence;     /* ns after which whoever waits has the server probed; 0: never */
    bool revives, hard;   /* it is made again when it is lost; who waits does so without an end */
    pthread_t reviver;    /* constant once reviver_started; revive.c */
    bool reviver_started; /* before that nobody waits for it to be made again; protected by lock */

    /* written while nobody but one caller, or the reviver, sends: under send_lock and lock */
    int fd;
    char address[SOCKET_ADDRESS_MAX];
    pthread_t receiver;
    bool receiver_started;
    uint64_t revive_deadline; /* the reviver's alone: for all of one attempt */

    /* constant after client_connect */
    uint64_t deadline_cap; /* no request waits longer: while connecting and in client_free */
    uint16_t dialect;
    uint16_t server_security_mode;
    enum secure_algorithm signing_algorithm;
    unsigned cipher;                      /* enum secure_cipher that was agreed on; 0: none */
    struct wire_validate_request offered; /* what the NEGOTIATE said, */
    struct wire_validate_response chosen; /* and what it was answered */
    uint32_t max_read, max_write, max_transact;
    uint8_t lease_version; /* 0: the server has no leases */
    bool leases_dirs;
    bool multi_credit;

    _Atomic int64_t
        server_clock; /* its FILETIME when our clock was 0, by its NEGOTIATE; 0: unknown */
    _Atomic uint64_t last_heard; /* when the last bytes came; set by the receive thread */
    atomic_uint frame_max;       /* bytes behind a frame header that are accepted */
    atomic_uint refuses;         /* REFUSES_... */

    struct frame_pool frames;

    pthread_mutex_t send_lock; /* one frame at a time goes into fd */

    pthread_cond_t wakes[WAKES]; /* what compounds wait on, with lock: see compound->wake */
    atomic_uint next_wake;

    pthread_mutex_t lock;
    /* all below: protected by conn->lock */
    struct hash pending; /* struct request by MessageId */
    uint64_t next_message_id;
    uint32_t credits;           /* granted and not used */
    uint32_t in_flight;         /* charged by requests without their final response */
    struct list credit_waiters; /* struct credit_waiter, first come first served */
    pthread_cond_t credit_cond;
    struct copy_limits copy_limits;
    struct list closes; /* struct handle: to be closed when credits allow, nobody waits */
    struct hash leases; /* struct client_lease by key */
    struct list acks;   /* struct client_lease: an acknowledgement is to leave as soon as it can */
    const struct client_lease *telling; /* whose owner is being told of a break */
    pthread_cond_t told;
    uint64_t session_id;
    uint32_t tree_id;
    struct renewal renewal;
    struct secure_signer *signer; /* NULL: no key (yet) */
    bool signing;                 /* everything is signed, and unsigned answers end the session */
    struct seal *seal;            /* NULL: no encryption was agreed on (yet) */
    bool sealing;                 /* everything is encrypted, and nothing signed any more */
    bool established;             /* client_connect has succeeded */
    bool closing;                 /* client_free is at work: the end is no news */
    bool dead;                    /* lost, with why; until it is being made again */
    struct error why;
    bool up;                /* everybody may send; else, while not dead, the reviver alone */
    bool was_up;            /* when it was lost: its loss is news */
    unsigned epoch;         /* how often it was lost */
    uint32_t credits_lost;  /* how many there were, up to CREDIT_WANTED, when it was lost */
    unsigned senders;       /* threads that send by what the epoch has: fd, signer */
    uint64_t leave_by;      /* client_hurry: nobody waits longer for it to come back */
    pthread_cond_t changed; /* up, dead, closing, senders, leave_by, a kept handle's state */
    struct list kept;       /* struct handle: those that are opened again, or asked back to close */
    bool stale;             /* some of the latter wait for the reviver */
    struct list orphans;    /* struct compound: abandoned, and lost; the reviver's to free */

    /* the receive thread's alone */
    struct socket_reader reader;
    uint64_t probe_since; /* when silence was first answered with an ECHO; 0: not silent */
};

/* Connects the socket and starts the receive thread. */
int conn_new(const struct client_options *options, struct conn **ret, struct error *err);
/* The same once more for a connection that was lost, when conn_bury has returned: as new, but only
 * the reviver may send. On failure it is as dead as before. */
int conn_dial(struct conn *c, const struct client_options *options, const atomic_bool *stop,
              struct error *err);
/* Nobody uses the lost connection any more when this returns, and nothing is left of it. */
void conn_bury(struct conn *c);
/* Ends the connection, joins the receive thread, frees what was never answered. Returns NULL. */
struct conn *conn_free(struct conn *c);

/* Ends the connection: everybody who waits for it fails with this error. The first reason stays.
 * A thread that may send, the receive thread, or client_free; conn->lock not held. */
void conn_fail(struct conn *c, const struct error *why);

/* A moment here (clock.h), as a FILETIME of the server's clock, where that is known; up to
 * CLOCK_SLACK off. */
#define CLOCK_SLACK NS_PER_SEC
uint64_t conn_server_time(struct conn *c, uint64_t at);

/* Makes the session known to the receive thread and to all later requests. Takes the signer over.
 */
void conn_set_session(struct conn *c, uint64_t session_id, struct secure_signer *signer,
                      bool signing);
/* From now on the end of the connection is reported through conn_events. The error if it came
 * already. */
int conn_establish(struct conn *c, struct error *err);

/* Queues a CLOSE that nobody waits for. Takes `h` over (NULL is allowed). Does not block. */
void conn_close_later(struct conn *c, struct handle *h);
/* Sends what nobody waits for, acknowledgements before CLOSEs, as far as credits and the send lock
 * allow; does not block. Who holds the send lock calls this after letting go of it, so that nothing
 * is ever left behind. */
void conn_flush(struct conn *c);

/* Writes one whole frame, whose last bytes may lie elsewhere. Caller holds send_lock. Ends the
 * connection where it cannot. */
int conn_send_frame(struct conn *c, struct rd frame, struct rd tail, uint64_t deadline);

static inline bool conn_is_reviver(const struct conn *c)
{
    return c->reviver_started && pthread_equal(pthread_self(), c->reviver);
}

/* Caller holds conn->lock. Whether this thread may send. */
static inline bool conn_may_send(const struct conn *c)
{
    return !c->dead && (c->up || conn_is_reviver(c));
}

/* Caller holds conn->lock. Around the use of what a new connection replaces, without the lock. */
static inline void conn_send_begin(struct conn *c)
{
    c->senders++;
}

static inline void conn_send_end(struct conn *c)
{
    if (--c->senders == 0 && c->dead)
        pthread_cond_broadcast(&c->changed);
}

/* For one request; the reviver's are bounded together. */
static inline uint64_t conn_deadline(const struct conn *c)
{
    uint64_t cap = conn_is_reviver(c) ? c->revive_deadline : c->deadline_cap;
    if (c->hard && cap == CLOCK_NEVER)
        return CLOCK_NEVER;
    uint64_t t = clock_now() + c->request_timeout;
    return t < cap ? t : cap;
}

static inline bool conn_refuses(struct conn *c, unsigned what)
{
    return atomic_load_explicit(&c->refuses, memory_order_relaxed) & what;
}

static inline void conn_learn(struct conn *c, unsigned what)
{
    atomic_fetch_or_explicit(&c->refuses, what, memory_order_relaxed);
}

/* ---- receive.c: the receive thread ---- */

void *conn_receive(void *conn);

/* ---- credit.c ---- */

/* The credits that a request pays for `payload` bytes of request or response. */
static inline uint32_t credit_charge(const struct conn *c, uint32_t payload)
{
    return c->multi_credit && payload ? (payload - 1) / CREDIT_PAYLOAD + 1 : 1;
}

/* Caller holds conn->lock. Waits (letting go of the lock) until n credits are there and takes them.
 * 0; -EAGAIN: not without waiting, though the deadline is 0, or not at all, since nothing is under
 * way that could bring as many; -ETIMEDOUT; -ENOTCONN: the connection ended. */
int credit_take(struct conn *c, uint32_t n, uint64_t deadline);
/* The same for a compound that may have the credit which is kept back; does not wait. */
int credit_take_kept(struct conn *c, uint32_t n);
/* Caller holds conn->lock. What may be taken now. */
uint32_t credit_spare(const struct conn *c);
/* Caller holds conn->lock. A response came, which grants n. */
void credit_grant(struct conn *c, uint32_t n);
/* Caller holds conn->lock. How many to ask for in a frame that charges `charge`. */
uint16_t credit_request(const struct conn *c, uint32_t charge);
/* All credits there are, used or not, but for the one that is kept back: more than these can not be
 * waited for. */
uint32_t credit_total(struct conn *c);
/* The payload, at most `wanted`, that all credits together pay for; at least one credit's. */
uint32_t credit_payload(struct conn *c, uint32_t wanted);

/* ---- compound.c ---- */

#define COMPOUND_MAX 5

/* One element. What was asked is constant after compound_submit; the reply is written by the
 * receive thread before `answered`, and the caller's from then on. */
struct request {
    struct hash_node node; /* in conn->pending until answered; protected by conn->lock */
    struct compound *compound;
    struct wire_header header;
    size_t offset, len; /* where in compound->buf */
    uint32_t charge;
    uint64_t sent_at;  /* written with its registration; protected by conn->lock until then */
    unsigned logon;    /* as sent_at: which logon of the session it was sent under */
    bool settled;      /* its interim response gave its credits back; protected by conn->lock */
    bool interim;      /* protected by conn->lock */
    uint64_t async_id; /* of the interim response; protected by conn->lock */
    bool answered;     /* protected by conn->lock */
    uint64_t heard_at; /* when the bytes of the reply were read; as `reply` */
    struct wire_header reply;
    struct rd message;   /* the reply, positioned behind its header */
    struct frame *frame; /* holds the reply's bytes */
};

/*
 * One to COMPOUND_MAX requests that leave in one frame; the replies may come in any packing and
 * order. One thread owns it from compound_new to compound_free. Freed before all replies are in, it
 * lives on until they are: late replies find it, and an open that nobody took is closed.
 */
struct compound {
    struct conn *conn;
    unsigned count;
    struct request request[COMPOUND_MAX];
    struct handle *handle;      /* for the CREATE among them, until compound_take_handle */
    bool no_memory;             /* for the handle */
    struct lease_flight flight; /* of that CREATE */
    struct handle *closes;      /* the open that its CLOSE ends, borrowed until it has left */
    struct handle *ends;        /* the same once it has left; its own until it is answered */
    size_t guid_at;             /* in buf: the CreateGuid of its CREATE; 0: there is none */
    struct client_lease *acks;  /* the lease that it acknowledges the break of, a reference */
    struct handle *by;          /* the open that its first element is on, borrowed; NULL: none */
    struct wire_file_id by_id;  /* under which it left last; protected by conn->lock */
    unsigned closed_there;      /* how often the server said that it has closed it */
    unsigned epoch;             /* conn->epoch when it left; protected by conn->lock */
    unsigned unanswered;        /* protected by conn->lock */
    bool left;                  /* it has been sent at least once, at least in part */
    bool once;                  /* it is not to be sent again where it has left once */
    bool lost;                  /* its connection ended before it was answered; protected by lock */
    bool garbled;               /* because of what the server sent; as `lost` */
    unsigned repeats;           /* how often it was sent again */
    uint64_t first_sent;        /* when it first left */
    uint64_t wait_until;        /* for a connection to come back; 0: was never waited for */
    struct list link;           /* in conn->orphans; protected by conn->lock */
    bool signs;                 /* signed also in a session that is not */
    unsigned resends;           /* how often refusals of it led to another one: see resend.c */
    bool sealed;          /* written with its registration; protected by conn->lock until then */
    bool abandoned;       /* protected by conn->lock; the connection owns it now */
    bool stopped;         /* protected by conn->lock; who waits for it is to wait no longer */
    pthread_cond_t *wake; /* an answer came, or the connection ended; perhaps for another compound
                           * that has the same: broadcast. It is the connection's, so that it can
                           * be woken when the lock has been let go: who wakes takes the lock. */
    struct client_bell *bell; /* NULL, or rung then, too; protected by conn->lock */
    struct rd tail; /* the end of the last element, which lies elsewhere: see compound_tail */
    struct wr w;
    uint8_t buf[];
};

/* `extra`: bytes of variable parts (names, tokens) over the fixed layouts. NULL: out of memory. */
struct compound *compound_new(struct conn *c, size_t extra);
/* Starts the next element, which is related to the one before. `payload` is the most that its
 * response carries. The caller encodes the body through the cursor. */
struct wr *compound_add(struct compound *m, uint16_t command, uint32_t payload);
/* The last element ends in these bytes, which are not copied: they are the caller's until the
 * compound is freed, since an expired session may have them sent again. No element follows. */
void compound_tail(struct compound *m, const void *data, size_t len);
/* The FileId of its first element is that of `h` whenever it leaves: `h` is borrowed. */
static inline void compound_by(struct compound *m, struct handle *h)
{
    m->by = h;
}
/* Signs and sends. Errors as credit_take's, -EMSGSIZE for what did not fit, -ENOMEM; LOST_OPEN. */
int compound_submit(struct compound *m, uint64_t deadline, struct error *err);
/* The same for a caller who holds send_lock and does not wait for credits. */
int compound_submit_locked(struct compound *m, struct error *err);
/* Whether compound_wait would not have to wait. */
bool compound_is_answered(struct compound *m);
/* Waits for all replies. Where the deadline comes first, CANCELs what is unanswered. */
int compound_wait(struct compound *m, uint64_t deadline, struct error *err);
/* Waits until the first request has been answered, by an interim response at least. 0, also where
 * the deadline came first. */
int compound_wait_interim(struct compound *m, uint64_t deadline, struct error *err);
/* Any thread that knows it to live: compound_wait ends with -ECANCELED, now or when it is called,
 * unless all is answered. */
void compound_stop(struct compound *m);
/* compound_wait has something to end for, if anything waits. Caller holds conn->lock. */
void compound_wake(struct compound *m);
/* CANCELs what is unanswered. */
void compound_cancel(struct compound *m);
/* Submits and waits within one request deadline: one round trip. Where the connection is lost it
 * waits for the next one and is sent again, unless it is `once` (again.c). */
int compound_run(struct compound *m, struct error *err);
/* Its connection has ended before it was answered; `garbled`: by what the server sent. Caller holds
 * conn->lock. */
void compound_lose(struct compound *m, bool garbled);
/* Returns NULL. NULL is allowed. */
struct compound *compound_free(struct compound *m);
/* For the receive thread. compound_answered: one more reply is in; caller holds conn->lock.
 * *ret_open gets an open that is to be closed, *ret_wake whom to wake without the lock (or NULL),
 * the result is a compound that is nobody's any more, for compound_orphaned without the lock. */
struct compound *compound_answered(struct compound *m, struct handle **ret_open,
                                   pthread_cond_t **ret_wake);
void compound_orphaned(struct compound *m);

/* ---- again.c ---- */

/* The open that a compound is on ended with its connection, and is not opened again. */
#define LOST_OPEN (-ECONNABORTED)

/* Submitting or waiting has come to *inout. True: the connection was lost and stands again, and the
 * compound may be submitted as if it had never been. Else *inout and err say what is to be said. */
bool compound_again(struct compound *m, int *inout, struct error *err);
/* Waits until everybody may send, or `until`. Caller holds conn->lock. */
bool conn_wait_up(struct conn *c, uint64_t until);
/* Until when a call that begins now waits for a lost connection; caller holds conn->lock. */
uint64_t conn_patience(const struct conn *c);
/* Nobody could wait any longer. */
int conn_away(struct conn *c, struct error *err);

/* ---- kept.c: opens that outlive their connection ---- */

/* Makes `h` good in this epoch, waiting for somebody else who is at it. 0; LOST_OPEN; -EIO where it
 * could not be opened again; other errors: not now. Not with the lock. */
int handle_ready(struct conn *c, struct handle *h, struct error *err);
/* Ends with its handle. Not with the lock. NULL is allowed. */
void kept_free(struct kept *k);

static inline uint32_t compound_status(const struct compound *m, unsigned i)
{
    return m->request[i].reply.status;
}

/* ---- bell.c ---- */

/* Caller holds conn->lock. */
void bell_ring(struct client_bell *b);

/* ---- lease.c ---- */

/* Appends the create context that shows keys and asks for nothing. Whether there is one now, which
 * RequestedOplockLevel is to say. */
bool lease_carry(struct compound *m, const struct client_keys *keys, struct wr *chain, bool last);
/* The same for one that asks for a lease; remembers that it does. */
bool lease_ask(struct compound *m, struct client_lease_ask *ask, struct wr *chain, bool last);
/* What became of it, when the compound's replies are in, into the caller's ask. `path`: of what was
 * opened, for its event. */
void lease_taken(struct compound *m, const char *path);
/* The compound is at its end. conn->lock not held. */
void lease_flight_done(struct compound *m);
/* The compound's requests have been registered and leave; caller holds conn->lock. */
void lease_registered(struct compound *m);
/* Its owner lets go of an open: from now on nothing is promised by it. */
void lease_release(struct conn *c, struct handle *h);

/* For the receive thread: what a reply to `q` (a CREATE that asked, or an acknowledgement) gives or
 * takes. */
void lease_reply(struct conn *c, struct request *q, const struct wire_header *h,
                 const struct rd *message);
/* The connection is lost; caller holds conn->lock. */
void lease_lose_all(struct conn *c);
/* ---- break.c ---- */

/* For the receive thread: what a break takes. */
void lease_break(struct conn *c, const struct rd *message);
/* Sends the first acknowledgement that is due. Caller holds send_lock. 0; -ENOENT: there is none
 * that can leave now; other errors: not now. */
int lease_send_ack(struct conn *c);

/* ---- compound.c, continued ---- */

/* Takes the open of the CREATE at `i`, which succeeded, out of the compound's care: it is closed by
 * the new owner. Its id is set. -EBADMSG where the response cannot be read. */
int compound_take_handle(struct compound *m, unsigned i, struct wire_create_response *ret_create,
                         struct handle **ret);

#endif
