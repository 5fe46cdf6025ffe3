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
 * guest, port, vers, sign, profile, events (a file), DirectoryCacheLifetime and all the other
 * settings of README.md. `value` is NULL for flags. A profile resets the settings: set it
 * first. -ENOENT for an unknown name, -EINVAL for a bad value. Passwords are wiped when freed. */
int larder_config_set(struct larder_config *c, const char *name, const char *value,
                      struct larder_error *err);
/* The same for a comma-separated list, as after -o; a value in "..." may hold commas. */
int larder_config_set_list(struct larder_config *c, const char *list, struct larder_error *err);
/* What the configuration says so far: the host, the user (NULL: none), and whether a password still
 * has to be found (no guest, and none given). Borrowed until the next larder_config_set. */
const char *larder_config_host(const struct larder_config *c);
const char *larder_config_user(const struct larder_config *c);
bool larder_config_needs_password(const struct larder_config *c);
/* The value of a setting as text into `out`; -ENOENT for an unknown one, -ENAMETOOLONG. */
int larder_config_get(const struct larder_config *c, const char *name, char *out, size_t cap);
/* NULL is allowed; returns NULL. */
struct larder_config *larder_config_free(struct larder_config *c);

/* ---- connection ---- */

/* Connects and logs on; bounded in time (10 s). The configuration is copied. -EACCES: user or
 * password refused; -ENOENT: no such host or share; -ECONNREFUSED, -ETIMEDOUT, -EPROTO ... */
int larder_connect(const struct larder_config *config, struct larder **ret,
                   struct larder_error *err);
/* Logs off and frees. Files and listings must have been closed. NULL is allowed; returns NULL. */
struct larder *larder_disconnect(struct larder *l);

/* ---- files ---- */

struct larder_stat {
    uint64_t ino;        /* the server's file id, or a stable hash of the path */
    uint64_t size;       /* bytes */
    uint64_t allocated;  /* bytes */
    uint32_t attributes; /* FILE_ATTRIBUTE_... (MS-FSCC 2.6): 0x10 directory, 0x01 read-only, ... */
    uint32_t links;      /* hard links; 0: not told */
    bool is_dir;
    struct timespec created, accessed, written, changed; /* the server's clock */
};

/* Cold: one round trip at any depth; 0 while believed. -ENOENT, -ENOTDIR, -EACCES ... */
int larder_stat(struct larder *l, const char *path, struct larder_stat *ret,
                struct larder_error *err);

/* The whole listing of a directory: all names or an error, never a part. */
int larder_list(struct larder *l, const char *path, struct larder_dir **ret,
                struct larder_error *err);
size_t larder_dir_count(const struct larder_dir *d);
/* Entry i < count. The name is good until larder_dir_close; `ret` may be NULL. */
const char *larder_dir_entry(struct larder_dir *d, size_t i, struct larder_stat *ret);
struct larder_dir *larder_dir_close(struct larder_dir *d);

/* Opens a file for reading; a small one comes with the same round trip. `ret_stat` may be NULL. */
int larder_open(struct larder *l, const char *path, struct larder_file **ret,
                struct larder_stat *ret_stat, struct larder_error *err);
/* Up to `len` bytes from `offset`; fewer only at the end of the file, 0 there. */
int64_t larder_read(struct larder_file *f, void *buf, size_t len, uint64_t offset,
                    struct larder_error *err);
struct larder_file *larder_close(struct larder_file *f);

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
