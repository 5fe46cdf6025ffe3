/*
 * One table of directories for all shares, each with a table of its names. A name is there, or
 * known to be missing; of most names nothing is known. A complete listing says everything about its
 * directory: names that it does not have are dropped, by a generation that each listed name is
 * stamped with.
 */
#include "capture/world.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/list.h"
#include "base/ntstatus.h"
#include "base/utf.h"

enum state { NAME_NEW, NAME_THERE, NAME_MISSING };

struct known_name {
    struct hash_node by_name;
    enum state state;
    uint64_t generation;
    uint32_t wire_bytes;
    struct file_attr attr;
    uint16_t len;
    char name[];
};

struct known_dir {
    struct hash_node by_path;
    struct list heard; /* in world->heard */
    struct hash names;
    uint64_t generation;
    uint64_t bytes; /* of the names that are there */
    uint64_t listed_bytes;
    uint32_t listed_queries;
    uint64_t share;
    size_t len;
    char path[];
};

struct world {
    struct hash dirs;
    struct list heard; /* least recently heard of first */
    size_t kept;       /* names and directories */
};

/* ---- subjects ---- */

/* No stream, no `.` and `..`, no empty component. */
static bool is_plain(const char *path)
{
    for (size_t len; *path; path += len + (path[len] == '/')) {
        len = strcspn(path, "/");
        bool dots = len <= 2 && strspn(path, ".") >= len;
        if (!len || dots || memchr(path, ':', len) || (path[len] == '/' && !path[len + 1]))
            return false;
    }
    return true;
}

static int set_path(struct subject *s, const char *dir, const char *name)
{
    size_t dir_len = strlen(dir), len = name ? strlen(name) : 0;
    s->path = malloc(dir_len + len + 1 + SUBJECT_INSIDE + 1);
    if (!s->path)
        return -ENOMEM;
    memcpy(s->path, dir, dir_len + 1);
    if (name && dir_len)
        s->path[dir_len++] = '/';
    if (name)
        memcpy(s->path + dir_len, name, len + 1);
    s->len = dir_len + len;
    const char *slash = memrchr(s->path, '/', s->len);
    s->dir_len = slash ? (size_t)(slash - s->path) : 0;
    s->name = slash ? slash + 1 : s->path;
    s->name_len = (size_t)(s->path + s->len - s->name);
    s->known = is_plain(s->path);
    memcpy(s->path + s->len, "/.", SUBJECT_INSIDE + 1);
    return 0;
}

/* The attributes that a search brought: of the name itself, or of the one that it was found as. */
static void take_found(struct subject *s, const struct operation *o)
{
    for (size_t i = 0; i < o->name_count; i++) {
        const struct operation_name *n = &o->names[i];
        bool exact = n->len == s->name_len && memcmp(n->name, s->name, n->len) == 0;
        if (i == 0 || exact)
            s->attr = n->attr;
        if (exact)
            return;
    }
}

int subject_init(struct subject *s, const struct operation *o)
{
    *s = (struct subject){0};
    bool search = o->kind == OPERATION_SEARCH;
    if (!o->path || o->kind == OPERATION_OTHER ||
        (search && (!o->pattern || pattern_has_wildcard(o->pattern))))
        return 0;
    int r = set_path(s, o->path, search ? o->pattern : NULL);
    if (r < 0 || !s->known)
        return r;
    if (search) {
        s->there = o->search_found;
        take_found(s, o);
    } else {
        s->there = o->kind != OPERATION_MISS;
        s->attr = o->attr_known ? o->attr : (struct file_attr){0};
        if (o->is_directory)
            s->attr.attributes |= FILE_ATTRIBUTE_DIRECTORY;
    }
    return 0;
}

int subject_init_moved(struct subject *s, const struct operation *o)
{
    *s = (struct subject){0};
    return o->moved_to ? set_path(s, o->moved_to, NULL) : 0;
}

void subject_done(struct subject *s)
{
    free(s->path);
    *s = (struct subject){0};
}

/* ---- directories and names ---- */

static uint64_t key(const char *text, size_t len, uint64_t share)
{
    return hash_bytes(text, len, hash_seed() ^ share);
}

static void drop_name(struct world *w, struct known_dir *d, struct known_name *n)
{
    if (n->state == NAME_THERE)
        d->bytes -= n->wire_bytes;
    hash_del(&d->names, &n->by_name);
    free(n);
    w->kept--;
}

static void drop_names(struct world *w, struct known_dir *d, uint64_t but_generation)
{
    struct hash_node *node = hash_each(&d->names, NULL);
    while (node) {
        struct hash_node *after = hash_each(&d->names, node);
        struct known_name *n = container_of(node, struct known_name, by_name);
        if (n->generation != but_generation)
            drop_name(w, d, n);
        node = after;
    }
}

static void drop_dir(struct world *w, struct known_dir *d)
{
    drop_names(w, d, UINT64_MAX);
    hash_done(&d->names);
    hash_del(&w->dirs, &d->by_path);
    list_del(&d->heard);
    free(d);
    w->kept--;
}

static struct known_dir *find_dir(struct world *w, uint64_t share, const char *path, size_t len)
{
    struct hash_node *node = hash_first(&w->dirs, key(path, len, share));
    for (; node; node = hash_next(node)) {
        struct known_dir *d = container_of(node, struct known_dir, by_path);
        if (d->share == share && d->len == len && memcmp(d->path, path, len) == 0)
            return d;
    }
    return NULL;
}

/* Room for one more: whatever else is forgotten for it, `keep` is not. */
static bool make_room(struct world *w, const struct known_dir *keep)
{
    while (w->kept >= WORLD_NAMES_MAX) {
        struct known_dir *oldest = container_of(w->heard.next, struct known_dir, heard);
        if (oldest == keep)
            return false;
        drop_dir(w, oldest);
    }
    return true;
}

/* The directory, made where it is not known; heard of just now. NULL: out of memory. */
static struct known_dir *hear_of(struct world *w, uint64_t share, const char *path, size_t len)
{
    struct known_dir *d = find_dir(w, share, path, len);
    if (d) {
        list_del(&d->heard);
        list_add_tail(&w->heard, &d->heard);
        return d;
    }
    d = make_room(w, NULL) ? malloc(sizeof(*d) + len) : NULL;
    if (!d)
        return NULL;
    *d = (struct known_dir){.share = share, .len = len};
    memcpy(d->path, path, len);
    if (hash_add(&w->dirs, &d->by_path, key(path, len, share)) < 0) {
        free(d);
        return NULL;
    }
    list_add_tail(&w->heard, &d->heard);
    w->kept++;
    return d;
}

static struct known_name *find_name(const struct known_dir *d, const char *name, size_t len)
{
    struct hash_node *node = hash_first(&d->names, key(name, len, 0));
    for (; node; node = hash_next(node)) {
        struct known_name *n = container_of(node, struct known_name, by_name);
        if (n->len == len && memcmp(n->name, name, len) == 0)
            return n;
    }
    return NULL;
}

static struct known_name *make_name(struct world *w, struct known_dir *d, const char *name,
                                    size_t len)
{
    struct known_name *n = find_name(d, name, len);
    if (n || len > UINT16_MAX || !make_room(w, d))
        return n;
    n = malloc(sizeof(*n) + len);
    if (!n)
        return NULL;
    *n = (struct known_name){.len = (uint16_t)len};
    memcpy(n->name, name, len);
    if (hash_add(&d->names, &n->by_name, key(name, len, 0)) < 0) {
        free(n);
        return NULL;
    }
    w->kept++;
    return n;
}

static void learn(struct world *w, struct known_dir *d, const char *name, size_t len,
                  enum state state, const struct file_attr *attr, uint32_t wire_bytes)
{
    struct known_name *n = make_name(w, d, name, len);
    if (!n)
        return;
    if (n->state == NAME_THERE)
        d->bytes -= n->wire_bytes;
    if (state == NAME_THERE)
        d->bytes += wire_bytes;
    n->state = state;
    n->generation = d->generation;
    n->attr = *attr;
    n->wire_bytes = wire_bytes;
}

/* ---- what operations show ---- */

/* At least one byte of UTF-8 a UTF-16 unit: an upper bound, exact for ASCII. */
static uint32_t dirent_bytes(size_t name_len)
{
    return (uint32_t)(WIRE_DIRENT_FIXED + 2 * name_len + 7) / 8 * 8;
}

/* The names that a listing or a search brought. */
static void learn_names(struct world *w, uint64_t share, const struct operation *o, const char *dir,
                        size_t len)
{
    struct known_dir *d = hear_of(w, share, dir, len);
    if (!d)
        return;
    bool to_the_end = o->kind == OPERATION_LIST && o->complete;
    bool all = to_the_end && !o->names_cut;
    d->generation += all;
    for (size_t i = 0; i < o->name_count; i++) {
        const struct operation_name *n = &o->names[i];
        learn(w, d, n->name, n->len, NAME_THERE, &n->attr, n->wire_bytes);
    }
    if (all)
        drop_names(w, d, d->generation);
    if (to_the_end) {
        d->listed_bytes = o->listing_bytes;
        d->listed_queries = o->requests[SMB2_QUERY_DIRECTORY];
    }
}

/* The name of the subject in its directory. Returns whether it has appeared. */
static bool learn_subject(struct world *w, struct known_dir *d, const struct operation *o,
                          const struct subject *s)
{
    const struct known_name *n = find_name(d, s->name, s->name_len);
    bool appeared = s->there && n && n->state == NAME_MISSING;
    bool spelled = o->kind != OPERATION_SEARCH || !o->name_count; /* else learn_names has it */
    if (s->there ? spelled : o->status != STATUS_OBJECT_PATH_NOT_FOUND)
        learn(w, d, s->name, s->name_len, s->there ? NAME_THERE : NAME_MISSING, &s->attr,
              dirent_bytes(s->name_len));
    return appeared;
}

void world_forget(struct world *w, uint64_t share, const struct subject *s)
{
    struct known_dir *d = s->known ? find_dir(w, share, s->path, s->dir_len) : NULL;
    struct known_name *n = d ? find_name(d, s->name, s->name_len) : NULL;
    if (n)
        drop_name(w, d, n);
}

bool world_learn(struct world *w, uint64_t share, const struct operation *o,
                 const struct subject *s)
{
    if (!s->known)
        return false;
    if (o->changes) { /* what it made of its path cannot be told from what is kept of it */
        world_forget(w, share, s);
        return false;
    }
    struct known_dir *d = s->name_len ? hear_of(w, share, s->path, s->dir_len) : NULL;
    bool appeared = d && learn_subject(w, d, o, s);
    if (o->kind == OPERATION_LIST)
        learn_names(w, share, o, s->path, s->len);
    if (o->kind == OPERATION_SEARCH)
        learn_names(w, share, o, s->path, s->dir_len);
    return appeared;
}

/* ---- asked ---- */

int world_listing(struct world *w, uint64_t share, const char *dir, size_t len,
                  struct cache_listing **ret)
{
    struct cache_listing *l = cache_listing_new();
    if (!l)
        return -ENOMEM;
    const struct known_dir *d = find_dir(w, share, dir, len);
    struct hash_node *node = NULL;
    while (d && (node = hash_each(&d->names, node))) {
        const struct known_name *n = container_of(node, struct known_name, by_name);
        int r = n->state == NAME_THERE
                    ? cache_listing_add(l, n->name, n->len, &n->attr, n->wire_bytes)
                    : 0;
        if (r < 0) {
            cache_listing_unref(l);
            return r;
        }
    }
    *ret = l;
    return 0;
}

uint64_t world_dir_bytes(struct world *w, uint64_t share, const char *dir, size_t len,
                         uint32_t *ret_queries)
{
    const struct known_dir *d = find_dir(w, share, dir, len);
    *ret_queries = d ? d->listed_queries : 0;
    return !d ? 0 : d->bytes > d->listed_bytes ? d->bytes : d->listed_bytes;
}

struct world *world_new(void)
{
    struct world *w = calloc(1, sizeof(*w));
    if (w)
        list_init(&w->heard);
    return w;
}

struct world *world_free(struct world *w)
{
    if (!w)
        return NULL;
    while (!list_empty(&w->heard))
        drop_dir(w, container_of(w->heard.next, struct known_dir, heard));
    hash_done(&w->dirs);
    free(w);
    return NULL;
}
