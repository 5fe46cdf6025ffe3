/*
 * A share as a file tree: path or node in, answer out.
 *
 * Carries out the plan of cache/ with client/ and commits the answers. Callers block; any number of
 * threads. Two callers who want the same answer make one request (single flight). One mutex per
 * share guards the cache; it is never held across a request.
 *
 * Lock order: share->lock, then client's own. Events of the connection take share->lock only for
 * O(1).
 */
#ifndef LARDER_SHARE_SHARE_H
#define LARDER_SHARE_SHARE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/fileattr.h"
#include "share/options.h"

struct share;
struct share_listing;
struct share_file;
struct cache_file;
#define share_node                                                                                 \
    cache_file /* a node is what cache/ calls a file: opaque here, counted by references */

int share_connect(const struct share_options *options, struct share **ret, struct error *err);
/* Logs off and frees. All nodes, listings and files must have been given back. NULL allowed,
 * returns NULL. With `ret_final` (may be NULL): the final counts as JSON, taken after the LOGOFF,
 * to be decref'd. */
struct share *share_free(struct share *s, json_t **ret_final);

/* What a look-up found, and for how long that is believed (ns from now; 0: not at all). */
struct share_entry {
    struct share_node *node; /* a reference; NULL on -ENOENT */
    struct file_attr attr;
    uint64_t ino;
    uint64_t valid_ns;
    bool exact; /* the name asked for is the server's own spelling */
};

/* ---- by node ---- */
struct share_node *share_root(struct share *s); /* borrowed */
void share_node_ref(struct share *s, struct share_node *n);
void share_node_unref(struct share *s, struct share_node *n);
uint64_t share_node_serial(const struct share_node *n); /* never reused within a share */

/* 0 with *ret filled (node is a reference), -ENOENT (ret->valid_ns says how long that is believed),
 * or an error. */
int share_lookup(struct share *s, struct share_node *dir, const char *name, struct share_entry *ret,
                 struct error *err);
/* ret->node is left NULL. */
int share_getattr(struct share *s, struct share_node *n, struct share_entry *ret,
                  struct error *err);

/* The listing as it is or was believed at this moment: an immutable snapshot. */
int share_list(struct share *s, struct share_node *dir, struct share_listing **ret,
               struct error *err);
size_t share_listing_count(const struct share_listing *l);
#define SHARE_NAME_MAX 1024 /* bytes that hold any name, with a NUL */
/* Entry i: attributes, and the name NUL-terminated into `name`. attr->id is the inode number that a
 * look-up would give where the server's ids can be used. */
const struct file_attr *share_listing_entry(const struct share_listing *l, size_t i,
                                            char name[static SHARE_NAME_MAX]);
/* The node behind entry i (a reference in ret->node). */
int share_listing_adopt(struct share *s, struct share_listing *l, size_t i,
                        struct share_entry *ret);
void share_listing_free(struct share *s, struct share_listing *l);

/* Opens for reading. `want_data`: the small file's content may come with the open (not where the
 * caller still has it). ret_entry (may be NULL; node left NULL) has the attributes at the time of
 * the open. */
int share_open(struct share *s, struct share_node *n, bool want_data, struct share_file **ret,
               struct share_entry *ret_entry, struct error *err);
int64_t share_read(struct share *s, struct share_file *f, void *buf, size_t len, uint64_t offset,
                   struct error *err);
/* The attributes of `n` by an open of it, for a file that has lost its name while it is read: it
 * was removed or replaced on the server. ret->node is left NULL. */
int share_file_getattr(struct share *s, struct share_node *n, struct share_file *f,
                       struct share_entry *ret, struct error *err);
/* Reads no more of what came along with the open: the file has changed since. */
void share_file_changed(struct share_file *f);
void share_close(struct share *s, struct share_file *f);

struct share_statfs {
    uint64_t total_bytes, free_bytes, available_bytes;
    uint32_t block_size, name_max;
};
int share_statfs(struct share *s, struct share_statfs *ret, struct error *err);

/* ---- by path: "a/b", "" the root; a leading or doubled `/` is skipped, `.` and `..` refused
 * (-EINVAL) ---- */
int share_stat_path(struct share *s, const char *path, struct share_entry *ret,
                    struct error *err); /* node: a reference */
int share_open_path(struct share *s, const char *path, struct share_file **ret,
                    struct share_entry *ret_entry,
                    struct error *err); /* ret_entry->node: a reference, NULL allowed */
int share_list_path(struct share *s, const char *path, struct share_listing **ret,
                    struct error *err);

/* ---- to look at ---- */
/* {"larder", "profile", "connection": {address, share, dialect, signing, ...}, "settings": {...},
 * "caches": {dir: {enabled, entries}, ..., bytes}, "faults": [text, ...], and all members of
 * observe_json}. Never talks to the server. To be decref'd. */
json_t *share_stats(struct share *s);
/* Whether the connection is gone, and why. */
bool share_lost(struct share *s, struct error *ret_why);
/* The dead-cache alarm: calls `line` for every fault that was not reported before. */
void share_check_caches(struct share *s, void (*line)(void *user, const char *text), void *user);
const struct share_options *share_get_options(const struct share *s);

#endif
