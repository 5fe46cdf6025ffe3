/*
 * The protocol as calls: a connection with one session and one tree, and the operations on it.
 *
 * A connection owns one receive thread, which decodes, matches and wakes. Callers send from their
 * own thread and block until their answer, the deadline or the end of the connection. All functions
 * may be called from any number of threads at once, except client_connect and client_free.
 *
 * Paths are UTF-8, relative to the share, `/` between components, "" for the root.
 * Lock order: conn->lock is innermost; nothing is called out of this room while it is held.
 */
#ifndef LARDER_CLIENT_CLIENT_H
#define LARDER_CLIENT_CLIENT_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/create.h"
#include "base/error.h"
#include "base/fileattr.h"

#define CLIENT_CIPHERS 4
#define CLIENT_SIGNERS 3

struct observe;
struct client;      /* connection + session + tree */
struct client_file; /* an open on the server */
struct client_keylog;

/* States of a lease (2.2.13.2.8), together. */
enum { CLIENT_LEASE_READ = 1, CLIENT_LEASE_HANDLE = 2, CLIENT_LEASE_WRITE = 4 };

struct client_lease; /* what the server promises about one file or directory */
struct client_lease_ask;
struct client_keys;

/* Called on the receive thread: O(1), must not block, must not call back into the client except for
 * client_lease_acknowledge. */
struct conn_events {
    void (*session_lost)(void *user,
                         const struct error *why); /* once, when the connection is gone */
    /* On a thread of its own: there is a new connection, for everybody; nothing that was promised
     * or watched on the old one is. NULL: nobody wants to know. */
    void (*session_back)(void *user);
    /* The session, which had expired, is valid again: all of it is as it was. On whatever thread
     * saw to that; with no lock of the client's. NULL: nobody wants to know. */
    void (*session_renewed)(void *user);
    /*
     * The server promises no more than `state` from now on (which may have lost nothing: then
     * something was lost on the way, and what was believed by this lease is to be dropped all the
     * same). `owner` as client_lease_new got it. It is told first and acknowledged after: when this
     * returns, nothing may be believed by what was lost. Returns true where the acknowledgement may
     * go out at once; false: client_lease_acknowledge will be called once dirty data is written.
     * Never called after client_lease_free has returned.
     */
    bool (*lease_broken)(void *user, void *owner, unsigned state);
    void *user;
};

/* How a client proves who its user is. */
enum client_logon {
    CLIENT_LOGON_NTLM,      /* by user, domain and password */
    CLIENT_LOGON_KERBEROS,  /* by a ticket for cifs/`host`: from a cache, by a keytab or a password
                             */
    CLIENT_LOGON_ANONYMOUS, /* not at all: a session without a key, as a guest's */
};

/* What becomes of a lost connection, and who waits for it. */
enum client_reconnect {
    CLIENT_NEVER, /* it stays lost */
    CLIENT_SOFT,  /* it is made again; a call waits for that for request_timeout */
    CLIENT_HARD,  /* a call waits until it is there, or client_hurry is called */
};

struct client_options {
    const char *host;    /* name, IPv4 or IPv6 literal (without brackets) */
    const char *address; /* where to connect instead; the names on the wire are still `host`'s */
    uint16_t port;       /* 0: 445 */
    const char *share;
    bool pipes; /* the share is IPC$, where named pipes are, not files */
    enum client_logon logon;
    /* "user", "DOMAIN\\user" or "user@domain"; NULL with guest, anonymous, or whoever the ticket in
     * the cache is for */
    const char *user;
    const char *domain;       /* NULL: none beyond what `user` says; of Kerberos a realm */
    const char *password;     /* copied; kept for logging on again, wiped with the client */
    const char *keytab;       /* of Kerberos: the user's key is in there; NULL: none */
    const int64_t *cache_uid; /* of Kerberos: whose ticket cache, only for root; NULL: our own */
    bool block_ntlm;          /* CLIENT_LOGON_NTLM is refused here */
    bool guest;               /* accept (and ask for) a guest session */
    bool accept_guest;        /* take one where it is all that there is, also in spite of
                                 require_signing, but not of require_encryption */
    bool require_signing;
    bool require_encryption;
    /* What may be agreed on, the most wanted first, by their numbers on the wire (2.2.3.1.2, .7).
     * A count of 0: all that there are, in our order. A server without any of these is refused
     * where it comes to signing or encrypting, whatever its dialect. */
    uint8_t cipher_count, ciphers[CLIENT_CIPHERS];
    uint8_t signer_count, signers[CLIENT_SIGNERS];
    uint16_t dialect_min, dialect_max; /* 0x0202 ... 0x0311 */
    uint64_t connect_timeout_ns;       /* 0: 10 s; all of resolve, connect, negotiate, logon */
    uint64_t request_timeout_ns;       /* 0: 30 s */
    uint64_t echo_interval_ns;         /* idle time before an ECHO probes; 0: 60 s */
    enum client_reconnect reconnect;
    bool
        map_names; /* characters that SMB reserves travel as private-use ones (name mapping, SFM) */
    struct observe *observe;      /* borrowed; outlives the client */
    struct client_keylog *keylog; /* the same; NULL: keys are not logged */
    struct conn_events events;
};

/* A file that the keys of sessions are appended to, in the form of Wireshark's smb2_seskey_list. It
 * is made with mode 0600; one that others may open, a symbolic link and what is no file are
 * refused.
 */
int client_keylog_open(const char *path, struct client_keylog **ret, struct error *err);
/* Returns NULL. NULL is allowed. */
struct client_keylog *client_keylog_close(struct client_keylog *log);

/* Connects, logs on, connects the tree. On failure nothing is left behind, *ret is untouched, and
 * err has one line that names what was tried and what came back. */
int client_connect(const struct client_options *options, struct client **ret, struct error *err);
/* TREE_DISCONNECT and LOGOFF (bounded by the request deadline), closes, joins the receive thread.
 * All client_files must have been closed, all client_closings ended. NULL is allowed; returns NULL.
 */
struct client *client_free(struct client *c);

/* How often the connection ended so far, attempts to make it again included; *ret_stands: whether
 * there is one. */
unsigned client_losses(struct client *c, bool *ret_stands);
/* It is to end: from now on nobody waits for longer than `ns` from now for a connection that is
 * lost. Any thread. */
void client_hurry(struct client *c, uint64_t ns);

/* What was agreed; constant after client_connect, but for session_id and address. */
struct client_facts {
    uint16_t dialect;
    const char *dialect_name;     /* "3.1.1" */
    uint32_t server_capabilities; /* SMB2_GLOBAL_CAP_... */
    uint32_t max_read, max_write, max_transact;
    uint32_t maximal_access; /* to the share, by TREE_CONNECT's reply (2.2.10) */
    bool signing;
    const char *signing_algorithm; /* "HMAC-SHA256", "AES-CMAC", "AES-GMAC", "none" */
    const char *encryption;        /* of everything: "AES-128-GCM" ..., "none" */
    bool guest;
    const char *logon; /* "NTLM", "Kerberos" or "anonymous" */
    const char *user;  /* as what it was logged on */
    uint64_t session_id;
    char address[64]; /* the peer's, as text */
    /* what the server said of itself, and what has been learnt of it so far */
    bool server_requires_signing;
    const char *cipher; /* what could encrypt: "AES-128-GCM" ..., "none" */
    uint32_t server_max_read, server_max_write, server_max_transact; /* beyond our own bounds */
    uint32_t credits;                                                /* granted, used or not */
    bool refuses_compounds, refuses_compound_query, refuses_large_listings;
    bool clock_known;
    int64_t clock_ahead_ns; /* of the server's clock before ours, to half a round trip */
};
void client_facts(const struct client *c, struct client_facts *ret);

/* How a server is reached, without a word of SMB: by name and by TCP. */
struct client_reach {
    unsigned addresses; /* that its name has */
    uint64_t resolve_ns, connect_ns;
    char address[64]; /* the one that took the connection */
};
/* As client_connect would do it, within connect_timeout_ns; the connection is closed again. */
int client_reach(const struct client_options *options, struct client_reach *ret, struct error *err);

/* How often an expired session was logged on again, or one that was about to. */
unsigned client_renewals(const struct client *c);
/* Whether the session has expired and is not renewed yet. */
bool client_expired(const struct client *c);

/* Whether a ticket cache (of user `cache_uid`, NULL: our own) has a ticket that has not run out. */
bool client_has_ticket(const int64_t *cache_uid);

/* How operations go over the wire: one request at a time, or compounds with a deferred CLOSE. */
enum client_style { CLIENT_SINGLE, CLIENT_COMPOUND };

#define CLIENT_NAME_MAX 1024 /* bytes that hold any name of 255 UTF-16 units, with a NUL */

/* CREATE (READ_ATTRIBUTES | SYNCHRONIZE, shares everything), QUERY_INFO FileAllInformation, CLOSE.
 * 1 round trip as a compound, 3 otherwise. A reparse point is not followed. `spelling` (may be
 * NULL): the last component as the server spells it, from FileNameInformation inside
 * FileAllInformation (see wire_all_information_name); "" where the server does not tell. */
int client_stat(struct client *c, const char *path, enum client_style style, struct file_attr *ret,
                char spelling[CLIENT_NAME_MAX], struct error *err);

/* One entry of a listing; name and attr are good until the callback returns. Names that cannot be
 * names (containing `/` or NUL, or being `..` ) never get here: they are refused and counted.
 * `.` and `..` themselves are left out silently. `wire_bytes` is the entry's size in
 * FileIdBothDirectoryInformation. Returning non-zero stops the listing with that result. */
typedef int (*client_entry_fn)(void *user, const char *name, size_t len,
                               const struct file_attr *attr, size_t wire_bytes);

struct client_list_result {
    bool complete;             /* NO_MORE_FILES was seen */
    struct file_attr dir_attr; /* the directory's own attributes, from its CREATE; id may be 0 */
};

/*
 * Lists `path` by `pattern` ("*", or one name; a mapped name "*" is asked for as U+F021).
 * CLIENT_SINGLE: CREATE, QUERY_DIRECTORY until NO_MORE_FILES, CLOSE, each waited for.
 * CLIENT_COMPOUND: CREATE + QUERY_DIRECTORY + QUERY_DIRECTORY in one round trip, the rest
 * pipelined, CLOSE deferred. With `first_only`, a CLIENT_COMPOUND listing that is not complete
 * after its first round trip ends there with complete = false (a guess that was too large); it is
 * an error for nobody. No match at all for a pattern (NO_SUCH_FILE) is a complete, empty listing.
 * An error in the middle is an error, never an end. CLIENT_LISTING_LOST, of all that list: the
 * connection was lost in the middle, and with it the place: what was told so far is void, and the
 * listing has to be begun anew.
 */
#define CLIENT_LISTING_LOST (-ECONNABORTED)
int client_list(struct client *c, const char *path, const char *pattern, enum client_style style,
                bool first_only, client_entry_fn entry, void *user, struct client_list_result *ret,
                struct error *err);

/*
 * Opens a file for reading; shares everything. With CLIENT_COMPOUND and `buf`, up to `len` bytes
 * from offset 0 are read in the same round trip: *ret_len gets how many came, *ret_eof whether the
 * file ends there. With buf NULL or CLIENT_SINGLE nothing is read (*ret_len 0, *ret_eof false).
 * ret_attr: from the CREATE; id from its QFid context, 0 where the server gives none.
 */
int client_open(struct client *c, const char *path, enum client_style style, void *buf, size_t len,
                struct client_file **ret, struct file_attr *ret_attr, size_t *ret_len,
                bool *ret_eof, struct error *err);

/* Reads up to `len` bytes; pipelined in pieces of max_read where longer. Returns the bytes read
 * (fewer only at the end of the file), or a negative errno. */
int64_t client_read(struct client_file *f, void *buf, size_t len, uint64_t offset,
                    struct error *err);

/* The same, but that the bytes stay where they came to lie, which for what one request can read is
 * the answer itself. 0 with *ret, to be given back by bytes_done before the client is freed. */
int client_read_bytes(struct client_file *f, size_t len, uint64_t offset, struct bytes *ret,
                      struct error *err);

/* The attributes of an open file, by the open itself: 1 round trip. It need not have a name any
 * more. */
int client_file_stat(struct client_file *f, struct file_attr *ret, struct error *err);

/* ---- opens of every kind ---- */

/* CREATE in its own terms (MS-SMB2 2.2.13). */
struct client_how {
    uint32_t access;      /* FILE_READ_DATA ..., without READ_ATTRIBUTES and SYNCHRONIZE, which are
                             always asked for */
    uint32_t attributes;  /* FILE_ATTRIBUTE_... of a file that is made; 0: normal */
    uint32_t share;       /* FILE_SHARE_... */
    uint32_t disposition; /* FILE_OPEN, FILE_CREATE, FILE_OPEN_IF, FILE_OVERWRITE ... */
    uint32_t options; /* FILE_DIRECTORY_FILE, FILE_NON_DIRECTORY_FILE, FILE_OPEN_REPARSE_POINT */
    struct client_lease_ask *lease; /* NULL: none */
    const struct client_keys *keys; /* NULL: none; not looked at where a lease is asked for */
};
/* 1 round trip. ret_created (may be NULL): the file was not there before. ret_attr as
 * client_open's.
 */
int client_create(struct client *c, const char *path, const struct client_how *how,
                  struct client_file **ret, struct file_attr *ret_attr, bool *ret_created,
                  struct error *err);

/* Whether the server holds this open, which was made under a lease with HANDLE, while its
 * connection is away (durable). */
bool client_file_is_durable(const struct client_file *f);

/* ---- leases ---- */

/*
 * A lease belongs to a file, not to an open: all opens of it that name the lease share one key, and
 * the state is what the last reply or break said. Random keys; on 2.1 version 1, files only; on 3.x
 * version 2 with the parent's key where there is one (own changes beneath a directory then break no
 * lease of that directory here: who changes something must patch its belief). NULL: out of memory.
 *
 * The key is known to the receive thread before the first CREATE that asks for it leaves, since a
 * break may overtake its reply (P1); an open in whose flight a break came gets no more than both
 * said. Epochs are 16-bit serial numbers; an equal one with a lower state counts. Unknown keys are
 * ignored and counted. A break that wants an acknowledgement gets one from a credit of its own,
 * which no other request takes, unless the last open is closed by then.
 */
struct client_lease *client_lease_new(struct client *c, bool is_dir, void *owner);
/* No open may be left that names it, nor a call that asks for it. Waits for the end of a
 * lease_broken that is being called; before client_free. NULL allowed; returns NULL. */
struct client_lease *client_lease_free(struct client_lease *l);
/* What is promised now; 0 also after a lost connection. Any thread. */
unsigned client_lease_state(const struct client_lease *l);
/* The acknowledgement that lease_broken put off; sends what the break allows. */
void client_lease_acknowledge(struct client_lease *l);
/* Whether the server has leases for files, for directories. Constant. */
bool client_leases_files(const struct client *c);
bool client_leases_dirs(const struct client *c);

/* The lease of a CREATE: in client_how, client_open_leased and client_list_leased. */
struct client_lease_ask {
    struct client_lease *lease;        /* NULL: none is asked for */
    const struct client_lease *parent; /* of the directory it is in; NULL: none */
    unsigned state;                    /* what to ask for */
    unsigned ret_state;                /* what was granted by this CREATE */
};

/* By which leases the server knows that an open is ours, so that it breaks none of them: of the
 * file itself, and of the directory in which a name or what is told of it changes. Neither is asked
 * for, nor renewed. -EINVAL: `own` was given out for the file under another of its names. */
struct client_keys {
    const struct client_lease *own, *parent; /* NULL: none */
    uint64_t id; /* of the file, as far as it is known, by which a change that was sent twice is
                    recognised; 0: not known */
};

/* client_open with a lease (CLIENT_COMPOUND). */
int client_open_leased(struct client *c, const char *path, struct client_lease_ask *lease,
                       void *buf, size_t len, struct client_file **ret, struct file_attr *ret_attr,
                       size_t *ret_len, bool *ret_eof, struct error *err);
/* client_list of all names with a lease (CLIENT_COMPOUND). *ret_dir: the open, kept for
 * client_relist and the handle lease; NULL where HANDLE was not granted (it is closed then). */
int client_list_leased(struct client *c, const char *path, struct client_lease_ask *lease,
                       bool first_only, client_entry_fn entry, void *user,
                       struct client_file **ret_dir, struct client_list_result *ret,
                       struct error *err);
/* Lists again by an open that was kept, from the beginning: 1 round trip for what fits into two
 * buffers, no CREATE. The lease's state is not renewed by it. */
int client_relist(struct client_file *dir, client_entry_fn entry, void *user,
                  struct client_list_result *ret, struct error *err);

/* ---- watches: CHANGE_NOTIFY ---- */

struct client_watch;
enum client_action {
    CLIENT_ADDED = 1,
    CLIENT_REMOVED,
    CLIENT_MODIFIED,
    CLIENT_RENAMED_FROM, /* the next one is CLIENT_RENAMED_TO */
    CLIENT_RENAMED_TO,
};
/* `path` is relative to the watched directory, `/` between components; good during the call. */
typedef void (*client_change_fn)(void *user, enum client_action action, const char *path);

/* Opens the directory and arms a watch of it, or of the whole tree beneath; all names, attributes,
 * sizes and times. Is armed when this returns, as far as a client can know: the request has left
 * and no refusal came with its interim response. -EOPNOTSUPP where the server refuses. */
int client_watch_new(struct client *c, const char *path, bool tree, struct client_watch **ret,
                     struct error *err);
/*
 * Waits for the next changes, without a deadline; arms the watch again before it tells them, so
 * that none is lost in between. `fn` for each in their order. *ret_overflow: the server lost count
 * (NOTIFY_ENUM_DIR, or an empty answer): everything beneath may have changed. -ECANCELED after
 * client_watch_stop; other errors: the watch is dead. One thread at a time.
 */
int client_watch_next(struct client_watch *w, client_change_fn fn, void *user, bool *ret_overflow,
                      struct error *err);
/* Whether client_watch_next would not have to wait. The thread that calls that. */
bool client_watch_is_ready(struct client_watch *w);
/* Any thread: client_watch_next returns soon, and for ever after. */
void client_watch_stop(struct client_watch *w);
/* Not while client_watch_next is being called; before client_free. CANCELs, closes. NULL allowed;
 * returns NULL. */
struct client_watch *client_watch_free(struct client_watch *w);

/*
 * What one thread waits by for many watches: it rings when any of them becomes ready. Who waits
 * looks at all of them before each wait; what has rung meanwhile is not lost.
 */
struct client_bell;
struct client_bell *client_bell_new(struct client *c); /* NULL: out of memory */
/* No watch may be left that rings it; before client_free. NULL allowed; returns NULL. */
struct client_bell *client_bell_free(struct client_bell *b);
/* The watch rings it from now on; it is borrowed until client_watch_free. By the thread that calls
 * client_watch_next. */
void client_watch_ring(struct client_watch *w, struct client_bell *b);
void client_bell_ring(struct client_bell *b); /* any thread */
void client_bell_wait(struct client_bell *b);

/* ---- data ---- */

/* Writes all of it, pipelined in pieces of MaxWriteSize and as credits allow: returns `len`; fewer
 * where a later piece failed (what is returned has been written, from the start, without a hole);
 * or a negative errno where nothing was: -ENOSPC, -EDQUOT, -EACCES, -EROFS ... The server has
 * taken what is returned; it is on its disk after client_flush. */
int64_t client_write(struct client_file *f, const void *buf, size_t len, uint64_t offset,
                     struct error *err);
/* FLUSH: the server's caches are on its disk. */
int client_flush(struct client_file *f, struct error *err);
int client_file_set_size(struct client_file *f, uint64_t size, struct error *err);
/* FileAllocationInformation: room for so many bytes, without a change of the size where the server
 * has it so (one that would shrink the file is never sent: -EINVAL). */
int client_file_allocate(struct client_file *f, uint64_t bytes, struct error *err);
/* Makes a hole of [offset, offset + len): FSCTL_SET_SPARSE (sent once an open) and
 * FSCTL_SET_ZERO_DATA. -EOPNOTSUPP where the server has neither. */
int client_punch_hole(struct client_file *f, uint64_t offset, uint64_t len, struct error *err);
/* FSCTL_QUERY_ALLOCATED_RANGES: the first range with data at or behind `offset`: *ret_len 0: none
 * any more. -EOPNOTSUPP where the server does not tell. */
int client_allocated_range(struct client_file *f, uint64_t offset, uint64_t end,
                           uint64_t *ret_offset, uint64_t *ret_len, struct error *err);
/* Copies on the server (FSCTL_SRV_REQUEST_RESUME_KEY once an open, then FSCTL_SRV_COPYCHUNK in
 * requests as large as the server allows, learnt from its refusal). Returns the bytes copied (fewer
 * only at the end of the source), -EOPNOTSUPP where the server cannot. `to` must have been opened
 * for reading and writing. */
int64_t client_copy(struct client_file *from, uint64_t from_offset, struct client_file *to,
                    uint64_t to_offset, uint64_t len, struct error *err);

/* ---- byte-range locks ---- */

enum client_lock_type { CLIENT_UNLOCK, CLIENT_LOCK_SHARED, CLIENT_LOCK_EXCLUSIVE };
/* One range of this open, never waited for: -EAGAIN where somebody else holds it. An unlock must
 * name exactly a range that was locked. */
int client_lock(struct client_file *f, enum client_lock_type type, uint64_t offset, uint64_t len,
                struct error *err);

/* ---- changes by path: CREATE, SET_INFO, CLOSE in 1 round trip (3 in the single style) ---- */

/* ret_attr, where there is one, has the state after the change, from CLOSE with post-query
 * attributes; its id is that of the CREATE's QFid, 0 where none came. May be NULL. A reparse point
 * itself is changed, not what it leads to. `keys` may be NULL. */

/* FileBasicInformation; 0 leaves a value as it is. Times are FILETIMEs; `attributes` replaces all
 * of them (FILE_ATTRIBUTE_NORMAL for none). */
struct client_basic {
    uint64_t created, accessed, written, changed;
    uint32_t attributes;
};
int client_set_basic(struct client *c, const char *path, const struct client_basic *basic,
                     const struct client_keys *keys, enum client_style style,
                     struct file_attr *ret_attr, struct error *err);
int client_file_set_basic(struct client_file *f, const struct client_basic *basic,
                          struct error *err);
int client_set_size(struct client *c, const char *path, uint64_t size,
                    const struct client_keys *keys, enum client_style style,
                    struct file_attr *ret_attr, struct error *err);
int client_mkdir(struct client *c, const char *path, const struct client_keys *keys,
                 enum client_style style, struct file_attr *ret_attr, struct error *err);
/* Removes a file, or with `dir` an empty directory (-ENOTEMPTY). The name is gone when this returns
 * unless another open holds the file. A read-only file is removed too (POSIX asks only the
 * directory): its attribute is taken away first where the server insists, and given back if that
 * did not help. */
int client_remove(struct client *c, const char *path, bool dir, const struct client_keys *keys,
                  enum client_style style, struct error *err);
/* -EEXIST without `replace`. Both paths relative to the share. */
int client_rename(struct client *c, const char *from, const char *to, bool replace,
                  const struct client_keys *keys, enum client_style style,
                  struct file_attr *ret_attr, struct error *err);
int client_link(struct client *c, const char *from, const char *to, bool replace,
                const struct client_keys *keys, enum client_style style, struct file_attr *ret_attr,
                struct error *err);
/* The same by an open that has the right DELETE: renames, then has it removed by its last close. */
int client_file_rename(struct client_file *f, const char *to, bool replace, struct error *err);
int client_file_remove(struct client_file *f, struct error *err);

/* Symbolic links as reparse points: IO_REPARSE_TAG_SYMLINK and, read only, MOUNT_POINT and
 * IO_REPARSE_TAG_LX_SYMLINK. The target with `/` between components, as it stands in the reparse
 * point; malloc'ed. -EINVAL: no link; -EOPNOTSUPP: the server (or its file system) has none. */
int client_read_link(struct client *c, const char *path, char **ret, struct error *err);
int client_symlink(struct client *c, const char *path, const char *target, bool dir,
                   const struct client_keys *keys, struct file_attr *ret_attr, struct error *err);

/* ---- close ---- */

/* A CLOSE on its way whose reply tells the file's last attributes. */
struct client_closing;
/* Sends the CLOSE with post-query attributes and does not wait. Frees `f`. NULL: it could not be
 * sent like that (no credit, no memory); then the CLOSE goes out later and tells nothing. */
struct client_closing *client_close_begin(struct client_file *f);
/* Whether client_close_end would not have to wait. */
bool client_close_answered(struct client_closing *closing);
/* Waits for the reply (no request, but a round trip where it is not there yet) and frees.
 * ret_attr may be NULL. */
int client_close_end(struct client_closing *closing, struct file_attr *ret_attr, struct error *err);

/* Waits for the answer with CLIENT_SINGLE; with CLIENT_COMPOUND sends and does not wait. Frees `f`
 * whatever happens. ret_attr (may be NULL): post-query attributes, only with CLIENT_SINGLE; zeroed
 * where none came. */
int client_close(struct client_file *f, enum client_style style, struct file_attr *ret_attr,
                 struct error *err);

struct client_statfs {
    uint64_t total_bytes, free_bytes, available_bytes;
    uint32_t block_size;
    uint32_t max_component; /* UTF-16 units */
};
int client_statfs(struct client *c, struct client_statfs *ret, struct error *err);

/* ---- what a server shares: of a client that is connected to IPC$ (`pipes`) ---- */

enum client_share_kind {
    CLIENT_SHARE_DISK,
    CLIENT_SHARE_PRINTER,
    CLIENT_SHARE_DEVICE,
    CLIENT_SHARE_PIPE, /* IPC$ itself */
    CLIENT_SHARE_UNKNOWN,
};
struct client_share {
    const char *name, *comment; /* good during the call */
    enum client_share_kind kind;
    bool special; /* for administrators, or IPC$ */
};
/* Returning non-zero, which is negative, stops the list with that result. */
typedef int client_share_fn(void *user, const struct client_share *share);
/* Calls `fn` for each share that the server tells this user of, in its order: MS-SRVS 3.1.4.8,
 * NetrShareEnum. -EACCES: he may not know; -EOPNOTSUPP: the server tells nobody. */
int client_shares(struct client *c, client_share_fn *fn, void *user, struct error *err);

/* One ECHO, waited for. */
int client_echo(struct client *c, struct error *err);

#endif
