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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/fileattr.h"

struct observe;
struct client;      /* connection + session + tree */
struct client_file; /* an open on the server */

/* Called on the receive thread: O(1), must not block, must not call back into the client. */
struct conn_events {
    void (*session_lost)(void *user,
                         const struct error *why); /* once, when the connection is gone */
    void *user;
};

struct client_options {
    const char *host; /* name, IPv4 or IPv6 literal (without brackets) */
    uint16_t port;    /* 0: 445 */
    const char *share;
    const char *user;     /* "user", "DOMAIN\\user" or "user@domain"; NULL only with guest */
    const char *domain;   /* NULL: none beyond what `user` says */
    const char *password; /* copied, wiped as soon as the session stands */
    bool guest;           /* accept (and ask for) a guest session */
    bool require_signing;
    uint16_t dialect_min, dialect_max; /* 0x0202 ... 0x0311 */
    uint64_t connect_timeout_ns;       /* 0: 10 s; all of resolve, connect, negotiate, logon */
    uint64_t request_timeout_ns;       /* 0: 30 s */
    uint64_t echo_interval_ns;         /* idle time before an ECHO probes; 0: 60 s */
    struct observe *observe;           /* borrowed; outlives the client */
    struct conn_events events;
};

/* Connects, logs on, connects the tree. On failure nothing is left behind, *ret is untouched, and
 * err has one line that names what was tried and what came back. */
int client_connect(const struct client_options *options, struct client **ret, struct error *err);
/* TREE_DISCONNECT and LOGOFF (bounded by the request deadline), closes, joins the receive thread.
 * All client_files must have been closed. NULL is allowed; returns NULL. */
struct client *client_free(struct client *c);

/* What was agreed; constant after client_connect. */
struct client_facts {
    uint16_t dialect;
    uint32_t server_capabilities; /* SMB2_GLOBAL_CAP_... */
    uint32_t max_read, max_transact;
    bool signing;
    const char *signing_algorithm; /* "HMAC-SHA256", "AES-CMAC", "none" */
    bool guest;
    uint64_t session_id;
    const char *address; /* the peer's, as text */
};
void client_facts(const struct client *c, struct client_facts *ret);

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
 * Lists `path` by `pattern` ("*", or one name). CLIENT_SINGLE: CREATE, QUERY_DIRECTORY until
 * NO_MORE_FILES, CLOSE, each waited for. CLIENT_COMPOUND: CREATE + QUERY_DIRECTORY +
 * QUERY_DIRECTORY in one round trip, the rest pipelined, CLOSE deferred. With `first_only`, a
 * CLIENT_COMPOUND listing that is not complete after its first round trip ends there with complete
 * = false (a guess that was too large); it is an error for nobody. No match at all for a pattern
 * (NO_SUCH_FILE) is a complete, empty listing. An error in the middle is an error, never an end.
 */
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

/* The attributes of an open file, by the open itself: 1 round trip. It need not have a name any
 * more. */
int client_file_stat(struct client_file *f, struct file_attr *ret, struct error *err);

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

/* One ECHO, waited for. */
int client_echo(struct client *c, struct error *err);

#endif
