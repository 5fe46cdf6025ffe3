/*
 * liblarder: an SMB 2/3 share as a file tree, with metadata caches.
 *
 * Link with `pkg-config --cflags --libs larder`. All types are opaque. Functions return 0 (or what
 * their comment says) or a negative errno; where there is a `struct larder_error`, it then holds
 * one line for a person, and the server's NTSTATUS where a server spoke. The library prints nothing
 * and reads no environment. Paths are UTF-8, relative to the share (or to the path in the target),
 * `/` between components, "" for the top; `.` and `..` are not resolved and refused with -EINVAL.
 *
 * Threads: one `struct larder` may be used by any number of threads at once; a `struct larder_file`
 * and a `struct larder_dir` too, but not while they are being closed.
 */
#ifndef LARDER_H
#define LARDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

struct larder;        /* a connection to one share, with its caches */
struct larder_config; /* where and how to connect */
struct larder_file;   /* an open file */
struct larder_dir;    /* a listing, as it was at one moment */

struct larder_error {
    int code;        /* negative errno */
    uint32_t status; /* NTSTATUS (MS-ERREF 2.3), 0 where no server spoke */
    char text[480];  /* one line, UTF-8 */
};

/* "0.1.0" */
const char *larder_version(void);

/* ---- configuration ---- */

/* `target`: //HOST[:PORT]/SHARE[/PATH] or
 * smb://[[DOMAIN;]USER[:PASSWORD]@]HOST[:PORT]/SHARE[/PATH]. -EINVAL with a text that shows the
 * form; -ENOMEM. `err` may be NULL here and everywhere. */
int larder_config_new(const char *target, struct larder_config **ret, struct larder_error *err);
/* One option or setting by name, in any case: username, password, domain, credentials (a file),
 * sec (krb5, ntlmssp, none), keytab, cruid, ip, guest, port, vers, sign, seal, profile, events (a
 * file), keylog (a file), DirectoryCacheLifetime and all the other settings of larder-options(5).
 * `value` is NULL for flags. A profile resets the settings but those of the connection: set it
 * first. -ENOENT for an unknown name, -EINVAL for a bad value. Passwords are wiped when freed. */
int larder_config_set(struct larder_config *c, const char *name, const char *value,
                      struct larder_error *err);
/* The same for a comma-separated list, as after -o; a value in "..." may hold commas. */
int larder_config_set_list(struct larder_config *c, const char *list, struct larder_error *err);
/* What the configuration says so far: the host, the user (NULL: none), and whether a password still
 * has to be found (NTLM is to be used, and none is given). Borrowed until the next
 * larder_config_set. */
const char *larder_config_host(const struct larder_config *c);
const char *larder_config_user(const struct larder_config *c);
bool larder_config_needs_password(const struct larder_config *c);
/* The file that the keys of sessions are appended to (keylog); NULL: none. */
const char *larder_config_keylog(const struct larder_config *c);
/* Whether a password that is at hand would be used: none is given yet, and there is no other way in
 * that was asked for (guest, sec=none, a keytab, sec=krb5 with a ticket). */
bool larder_config_takes_password(const struct larder_config *c);
/* The path inside the share that the target names, without slashes at its ends; "" for none. */
const char *larder_config_path(const struct larder_config *c);
/* The value of a setting as text into `out`; -ENOENT for an unknown one, -ENAMETOOLONG. */
int larder_config_get(const struct larder_config *c, const char *name, char *out, size_t cap);
/* Has `event` called with every event of the connections that are made with this configuration:
 * what the caches believed, answered and forgot, what the server promised, took back and told of
 * (while Watches is on, each change that another client makes), connections that were lost and made
 * again, and with the profiles but 23h2 each request. `line` is one JSON object as the option
 * `events` writes it, UTF-8, without a newline; it is good until `event` returns. NULL for `event`:
 * nobody is told.
 * Threads: each connection has one that calls `event`, for one event after the other, within
 * milliseconds. It may take its time: up to 1 MiB of lines waits, what comes then is lost, and
 * counted ("events_lost"). It must call nothing of its own connection. The last call has returned
 * when larder_disconnect has, or a larder_connect that failed. */
void larder_config_on_event(struct larder_config *c, void (*event)(void *user, const char *line),
                            void *user);
/* NULL is allowed; returns NULL. */
struct larder_config *larder_config_free(struct larder_config *c);

/* ---- connection ---- */

/* Connects and logs on; bounded in time (10 s). The configuration is copied. -EACCES: user or
 * password refused; -ENOENT: no such host or share; -ECONNREFUSED, -ETIMEDOUT, -EPROTO ... */
int larder_connect(const struct larder_config *config, struct larder **ret,
                   struct larder_error *err);
/* Logs off and frees. Files and listings must have been closed. NULL is allowed; returns NULL. */
struct larder *larder_disconnect(struct larder *l);
/* Whether the connection is gone, and why (`ret_why` may be NULL): then every call fails. Never
 * talks to the server. */
bool larder_lost(struct larder *l, struct larder_error *ret_why);

/* ---- files ---- */

struct larder_stat {
    uint64_t ino;        /* the server's file id, or a stable hash of the path */
    uint64_t size;       /* bytes */
    uint64_t allocated;  /* bytes */
    uint32_t attributes; /* FILE_ATTRIBUTE_... (MS-FSCC 2.6): 0x10 directory, 0x01 read-only, ... */
    uint32_t links;      /* hard links; 0: not told */
    bool is_dir;
    bool is_link; /* stands for another name (a symbolic link, a junction): see larder_read_link */
    struct timespec created, accessed, written, changed; /* the server's clock */
};

/* Cold: one round trip at any depth; 0 while believed. -ENOENT, -ENOTDIR, -EACCES ... */
int larder_stat(struct larder *l, const char *path, struct larder_stat *ret,
                struct larder_error *err);

/* The whole listing of a directory: all names or an error, never a part. */
int larder_list(struct larder *l, const char *path, struct larder_dir **ret,
                struct larder_error *err);
size_t larder_dir_count(const struct larder_dir *d);
/* Entry i < count. The name is good until larder_dir_close; `ret` may be NULL. Links by the option
 * mfsymlinks are files of 1,067 bytes here: larder_stat tells. */
const char *larder_dir_entry(struct larder_dir *d, size_t i, struct larder_stat *ret);
struct larder_dir *larder_dir_close(struct larder_dir *d);

/* Opens a file for reading; a small one comes with the same round trip. `ret_stat` may be NULL. */
int larder_open(struct larder *l, const char *path, struct larder_file **ret,
                struct larder_stat *ret_stat, struct larder_error *err);

enum {
    LARDER_READ = 1,
    LARDER_WRITE = 2,
    LARDER_CREATE = 4,    /* made where it is not there */
    LARDER_EXCLUSIVE = 8, /* with LARDER_CREATE: -EEXIST where it is there */
    LARDER_TRUNCATE = 16, /* with LARDER_WRITE: to length 0, in the same request */
};
/* The same with any of these flags; -EINVAL for a combination that says nothing. A link is not
 * followed. */
int larder_open_with(struct larder *l, const char *path, unsigned flags, struct larder_file **ret,
                     struct larder_stat *ret_stat, struct larder_error *err);
/* Releases the locks of this open. What was written the server has already; larder_sync is what
 * asks for its disk. NULL is allowed; returns NULL. */
struct larder_file *larder_close(struct larder_file *f);

/* Up to `len` bytes from `offset`; fewer only at the end of the file, 0 there. Longer reads and
 * writes than the server takes at once are cut and sent together. */
int64_t larder_read(struct larder_file *f, void *buf, size_t len, uint64_t offset,
                    struct larder_error *err);
/* `len`, or fewer where the server refused a later part (the next call says why); what is returned
 * the server has. -ENOSPC, -EDQUOT, -EACCES, -EROFS ... */
int64_t larder_write(struct larder_file *f, const void *buf, size_t len, uint64_t offset,
                     struct larder_error *err);
/* What was written is on the server's disk. */
int larder_sync(struct larder_file *f, struct larder_error *err);
/* The state of the file now, by this open: asks the server, also when the name is gone. */
int larder_file_stat(struct larder_file *f, struct larder_stat *ret, struct larder_error *err);
/* Copies on the server, without the data passing through here: the bytes copied, fewer only at the
 * end of `from`. -EOPNOTSUPP where the server cannot, -EXDEV for opens of two connections. `to`
 * must have been opened with LARDER_READ and LARDER_WRITE. */
int64_t larder_copy(struct larder_file *from, uint64_t from_offset, struct larder_file *to,
                    uint64_t to_offset, uint64_t len, struct larder_error *err);

enum larder_lock_type { LARDER_UNLOCK, LARDER_LOCK_SHARED, LARDER_LOCK_EXCLUSIVE };
/* A byte range of `len` bytes from `offset` (0: to the end, wherever that is), against other opens
 * of this connection and other clients. Ranges of one open split and merge as fcntl(2) has it.
 * -EAGAIN where somebody else holds it; with `wait` it is waited for. */
int larder_lock(struct larder_file *f, enum larder_lock_type type, uint64_t offset, uint64_t len,
                bool wait, struct larder_error *err);

/* ---- changes ---- */

/* What larder_setattr changes: what `set` has a bit for. */
enum {
    LARDER_SET_SIZE = 1,
    LARDER_SET_CREATED = 2,
    LARDER_SET_ACCESSED = 4,
    LARDER_SET_WRITTEN = 8,
};
struct larder_setattr {
    unsigned set;                               /* LARDER_SET_... */
    uint64_t size;                              /* bytes; behind the old end zeros appear */
    struct timespec created, accessed, written; /* to 100 ns */
    uint32_t attributes_on, attributes_off;     /* FILE_ATTRIBUTE_... to give and to take away */
};
/* `ret` (may be NULL, as everywhere here): the state after. */
int larder_setattr(struct larder *l, const char *path, const struct larder_setattr *change,
                   struct larder_stat *ret, struct larder_error *err);
/* The same by an open, which needs LARDER_WRITE. Times that are set so stay when it is closed. */
int larder_file_setattr(struct larder_file *f, const struct larder_setattr *change,
                        struct larder_stat *ret, struct larder_error *err);

int larder_mkdir(struct larder *l, const char *path, struct larder_stat *ret,
                 struct larder_error *err);
/* A file or a link, or with `is_dir` a directory, which must be empty (-ENOTEMPTY). */
int larder_remove(struct larder *l, const char *path, bool is_dir, struct larder_error *err);
/* Renames, also when only case differs. `replace`: what is there under the new name is replaced in
 * the same step; else -EEXIST. */
int larder_rename(struct larder *l, const char *from, const char *to, bool replace,
                  struct larder_error *err);
/* A second name for the file `path`. */
int larder_link(struct larder *l, const char *path, const char *new_path, struct larder_stat *ret,
                struct larder_error *err);
/* -EOPNOTSUPP where the server has no symbolic links and the option mfsymlinks is not set. */
int larder_symlink(struct larder *l, const char *target, const char *path, struct larder_stat *ret,
                   struct larder_error *err);
/* Where a link leads, as it is written in it; to be freed with free(). -EINVAL: no link. */
int larder_read_link(struct larder *l, const char *path, char **ret, struct larder_error *err);

struct larder_statfs {
    uint64_t total_bytes, free_bytes;
    uint64_t available_bytes; /* to this user */
    uint32_t block_size;      /* bytes */
    uint32_t name_max;        /* UTF-16 units of one name */
};
int larder_statfs(struct larder *l, struct larder_statfs *ret, struct larder_error *err);

/* ---- counters ---- */

/* Everything counted so far, and the connection's facts, as one line of JSON;
 * to be freed with free(). NULL: out of memory. Never talks to the server. */
char *larder_counters(struct larder *l);
/* One counter: "round_trips", "messages", "requests.CREATE", "cache.dir.hit" ...; -1 for no such
 * counter. */
int64_t larder_counter(struct larder *l, const char *name);

#ifdef __cplusplus
}
#endif

#endif
