/*
 * Names and files: the tree that beliefs hang on.
 *
 * A file is found by its names; what a name leads to is decided by the newest answer about it
 * (`bound`). Regular files with the server's same id, creation time and kind are one object under
 * several names (hard links); directories have one name each. Inode numbers are the server's ids
 * where these are there and not taken by another file, else a hash of the path that is the same in
 * every mount.
 *
 * An object lives while something holds it: a reference, a child (name or negative), a belief. One
 * that nothing holds is idle; the last 1024 of those are kept, so that the next miss can still say
 * why (evicted, expired) and a listing is known to have been seen. Freeing one lets go of its
 * parent, which may become idle in turn.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cache/internal.h"

/* ---- making and freeing ---- */

static struct cache_file *file_new(struct cache *c, bool is_dir)
{
    struct cache_file *f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    list_init(&f->names);
    list_init(&f->idle);
    list_init(&f->ring.link);
    f->is_dir = is_dir;
    f->serial = ++c->serial;
    f->changed = f->moved = f->uprooted = f->broken = order_long_ago(c);
    f->lost = MISS_ABSENT;
    c->file_count++;
    return f;
}

struct cache_dir *file_dir(struct cache *c, struct cache_file *f)
{
    if (f->dir)
        return f->dir;
    struct cache_dir *d = calloc(1, sizeof *d);
    if (!d)
        return NULL;
    d->file = f;
    hash_init(&d->names);
    hash_init(&d->negatives);
    list_init(&d->ring.link);
    d->changed = d->patched = d->told = d->void_before = d->attr_void_before = order_long_ago(c);
    d->lost = MISS_ABSENT;
    f->dir = d;
    return d;
}

static void file_free(struct cache *c, struct cache_file *f)
{
    if (f->shared)
        hash_del(&c->by_id, &f->by_id);
    if (f->dir) {
        hash_done(&f->dir->names);
        hash_done(&f->dir->negatives);
        free(f->dir->doubts);
    }
    free(f->dir);
    free(f);
    c->file_count--;
}

static bool held(const struct cache *c, const struct cache_file *f)
{
    return f->refs || f == c->root || f->believed ||
           (f->dir && (f->dir->listing || f->dir->names.count || f->dir->negatives.count));
}

/* With the object it is forgotten that its attributes in the listing are old. */
static void forget_attr(struct cache_name *n)
{
    struct cache_dir *d = n->dir->dir;
    size_t folded, one;
    int64_t i = d->listing ? listing_find(d->listing, n->spelling, n->len, &folded, &one) : -1;
    bool known =
        i >= 0 && (!cache_listing_attr_known(d->listing, (size_t)i) ||
                   order_after(listing_heard(d->listing, (size_t)i).order, n->file->changed));
    if (!known && order_after(n->file->changed, d->attr_void_before))
        d->attr_void_before = n->file->changed;
}

/* Frees the oldest idle objects over the bound. Unbinding a name settles its directory, which may
 * join the list: hence the loop rather than a recursion down the path. */
static void trim_idle(struct cache *c, size_t keep)
{
    while (c->idle_count > keep) {
        struct cache_file *f = container_of(c->idle.next, struct cache_file, idle);
        list_del(&f->idle);
        c->idle_count--;
        if (held(c, f)) /* referred to since it became idle */
            continue;
        f->refs++; /* ours, so that unbinding does not settle it under us */
        while (!list_empty(&f->names)) {
            struct cache_name *n = container_of(f->names.next, struct cache_name, of_file);
            forget_attr(n);
            name_unbind(c, n);
        }
        file_free(c, f);
    }
}

void file_settle(struct cache *c, struct cache_file *f)
{
    bool idle = !list_empty(&f->idle);
    if (held(c, f)) {
        if (idle) {
            list_del(&f->idle);
            c->idle_count--;
        }
    } else if (!idle) {
        list_add_tail(&c->idle, &f->idle);
        c->idle_count++;
    }
}

/* ---- names ---- */

static uint64_t fold_key(const struct cache *c, const char *name, size_t len)
{
    return utf8_fold_hash(name, len, c->seed);
}

struct cache_name *name_find(const struct cache *c, const struct cache_file *dir, const char *name,
                             size_t len)
{
    if (!dir->dir)
        return NULL;
    struct hash_node *n = hash_first(&dir->dir->names, fold_key(c, name, len));
    for (; n; n = hash_next(n)) {
        struct cache_name *found = container_of(n, struct cache_name, by_fold);
        if (found->len == len && memcmp(found->spelling, name, len) == 0)
            return found;
    }
    return NULL;
}

struct cache_name *name_next_alike(const struct cache *c, const struct cache_file *dir,
                                   const char *name, size_t len, const struct cache_name *after)
{
    if (!dir->dir)
        return NULL;
    struct hash_node *n =
        after ? hash_next(&after->by_fold) : hash_first(&dir->dir->names, fold_key(c, name, len));
    for (; n; n = hash_next(n)) {
        struct cache_name *found = container_of(n, struct cache_name, by_fold);
        if (utf8_fold_equal(found->spelling, found->len, name, len))
            return found;
    }
    return NULL;
}

static struct cache_name *name_new(struct cache *c, struct cache_file *dir, const char *spelling,
                                   size_t len, struct cache_file *file)
{
    struct cache_name *n = len <= UINT16_MAX && file_dir(c, dir) ? malloc(sizeof *n + len) : NULL;
    if (!n)
        return NULL;
    *n = (struct cache_name){.dir = dir,
                             .file = file,
                             .bound = order_long_ago(c),
                             .noticed = order_long_ago(c) - 1,
                             .told = is_spelled_surely(spelling, len),
                             .len = (uint16_t)len};
    memcpy(n->spelling, spelling, len);
    if (hash_add(&dir->dir->names, &n->by_fold, fold_key(c, spelling, len)) < 0) {
        free(n);
        return NULL;
    }
    list_add_tail(&file->names, &n->of_file);
    file_settle(c, dir);
    return n;
}

void name_confirm(struct cache_name *n, struct stamp existence)
{
    n->confirmed = true;
    n->existence = existence;
    list_del(&n->of_file);
    list_add_first(&n->file->names, &n->of_file);
}

void name_unbind(struct cache *c, struct cache_name *n)
{
    struct cache_file *dir = n->dir, *file = n->file;
    if (n->confirmed)
        dir_forget(dir->dir, n->existence.order);
    hash_del(&dir->dir->names, &n->by_fold);
    list_del(&n->of_file);
    free(n);
    file_settle(c, dir);
    file_settle(c, file);
}

/* ---- identity ---- */

static uint64_t id_key(uint64_t id)
{
    return hash_u64(id);
}

static struct cache_file *find_by_id(const struct cache *c, uint64_t id)
{
    struct hash_node *n = hash_first(&c->by_id, id_key(id));
    for (; n; n = hash_next(n)) {
        struct cache_file *f = container_of(n, struct cache_file, by_id);
        if (f->ino == id)
            return f;
    }
    return NULL;
}

bool cache_file_same(const struct cache_file *f, const struct file_attr *attr)
{
    if (f->identified && f->is_dir != file_attr_is_dir(attr))
        return false;
    if (!f->identified)
        return f->is_dir == file_attr_is_dir(attr);
    return !f->attr.id || !attr->id || f->attr.id == attr->id;
}

/* The same in every mount of the share, and out of the way of servers' ids, which count from below.
 */
static uint64_t path_ino(const struct cache_file *dir, const char *name, size_t len)
{
    char path[4096];
    int n = cache_child_path(dir, name, len, path, sizeof path);
    uint64_t hash = n >= 0 ? hash_bytes(path, (size_t)n, 1) : hash_bytes(name, len, dir->ino);
    return hash | 1ull << 63;
}

/* Servers give the id of a file that is no more to a new one, often at once. */
static void release_id(struct cache *c, const struct file_attr *attr)
{
    struct cache_file *old = attr->id ? find_by_id(c, attr->id) : NULL;
    if (!old || !old->shared || !list_empty(&old->names) ||
        (old->is_dir == file_attr_is_dir(attr) && old->attr.created == attr->created))
        return;
    hash_del(&c->by_id, &old->by_id);
    old->shared = false;
    old->ino = hash_u64(old->serial) | 1ull << 63; /* whoever still has it open */
}

/* A directory that paths led through before anybody told what it is turns out to be there. What was
 * asked for beneath it before the names around it were void may have been asked of another one, or
 * of none. */
static void turn_out(struct cache_file *dir)
{
    const struct cache_file *parent = cache_file_parent(dir);
    const struct cache_dir *p = parent ? parent->dir : NULL;
    struct cache_dir *d = dir->dir;
    if (!d || !p || !order_after(p->void_before, d->void_before))
        return;
    d->void_before = p->void_before;
    d->void_why = p->void_why;
}

void file_identify(struct cache *c, struct cache_file *f, struct cache_file *dir, const char *name,
                   size_t len, const struct file_attr *attr)
{
    turn_out(f);
    f->identified = true;
    f->is_dir = file_attr_is_dir(attr);
    f->attr = *attr;
    f->ino = attr->id;
    release_id(c, attr);
    if (!attr->id || find_by_id(c, attr->id))
        f->ino = path_ino(dir, name, len);
    else if (hash_add(&c->by_id, &f->by_id, id_key(attr->id)) == 0)
        f->shared = true;
}

void file_hear(struct cache_file *f, const struct file_attr *attr, struct stamp stamp)
{
    struct file_attr kept = f->attr;
    if (!f->heard || kept.written != attr->written || kept.changed != attr->changed)
        f->times_since = stamp.sent;
    f->attr = *attr;
    f->info = stamp;
    f->info_listed = false;
    if (!attr->id)
        f->attr.id = kept.id;
    if (!attr->links && !attr->unlinked) {
        f->attr.links = kept.links;
        f->attr.unlinked = kept.unlinked;
    }
    f->heard = true;
}

static bool says_the_same(const struct file_attr *a, const struct file_attr *b)
{
    return a->size == b->size && a->attributes == b->attributes && a->written == b->written &&
           a->changed == b->changed && a->created == b->created;
}

void file_hear_listed(const struct cache *c, struct cache_file *f, const struct file_attr *attr,
                      struct stamp stamp)
{
    if (f->heard && !order_after(stamp.order, f->info.order))
        return;
    if (f->believed && !f->info_listed && lease_covers(c, f, f->info.asked) &&
        says_the_same(&f->attr, attr)) {
        f->info.order = stamp.order;
        return;
    }
    file_hear(f, attr, stamp);
    f->info_listed = true;
}

struct cache_file *file_for(struct cache *c, struct cache_file *dir, const char *name, size_t len,
                            const struct file_attr *attr)
{
    struct cache_file *f = attr->id && !file_attr_is_dir(attr) ? find_by_id(c, attr->id) : NULL;
    if (f && !f->is_dir && f->attr.created == attr->created)
        return f;
    f = file_new(c, file_attr_is_dir(attr));
    if (f)
        file_identify(c, f, dir, name, len, attr);
    return f;
}

struct cache_name *name_bind(struct cache *c, struct cache_file *dir, const char *spelling,
                             size_t len, const struct file_attr *attr, uint64_t order)
{
    struct cache_name *n = name_find(c, dir, spelling, len);
    if (n && (order_after(n->bound, order) || cache_file_same(n->file, attr))) {
        if (!n->file->identified && cache_file_same(n->file, attr))
            file_identify(c, n->file, dir, spelling, len, attr);
        if (order_after(order, n->bound))
            n->bound = order;
        return n;
    }
    dir->refs++; /* it must outlive the name that goes and the one that comes */
    if (n)
        name_unbind(c, n);
    struct cache_file *f = file_for(c, dir, spelling, len, attr);
    n = f ? name_new(c, dir, spelling, len, f) : NULL;
    if (n)
        n->bound = order;
    if (f)
        file_settle(c, f);
    dir->refs--;
    file_settle(c, dir);
    return n;
}

struct cache_name *name_lead(struct cache *c, struct cache_file *dir, const char *spelling,
                             size_t len, struct cache_file *f, uint64_t order)
{
    struct cache_name *n = name_find(c, dir, spelling, len);
    if (!n || n->file != f) {
        dir->refs++;
        f->refs++;
        if (n)
            name_unbind(c, n);
        n = name_new(c, dir, spelling, len, f);
        f->refs--;
        dir->refs--;
        file_settle(c, dir);
        file_settle(c, f);
    }
    if (n)
        n->bound = order;
    return n;
}

struct cache_name *name_bind_unknown_dir(struct cache *c, struct cache_file *dir,
                                         const char *spelling, size_t len)
{
    struct cache_name *n = name_find(c, dir, spelling, len);
    if (n && n->file->is_dir)
        return n;
    dir->refs++;
    if (n)
        name_unbind(c, n);
    struct cache_file *f = file_new(c, true);
    n = f ? name_new(c, dir, spelling, len, f) : NULL;
    if (f)
        file_settle(c, f);
    dir->refs--;
    file_settle(c, dir);
    return n;
}

/* ---- the cache as a whole ---- */

struct cache *cache_new(const struct settings *settings, struct observe *observe)
{
    struct cache *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->settings = *settings;
    c->observe = observe;
    c->seed = hash_seed();
    settings_enabled(settings, c->enabled);
    c->lifetime[OBSERVE_DIR] = settings->directory_cache_lifetime * NS_PER_SEC;
    c->lifetime[OBSERVE_INFO] = settings->file_info_cache_lifetime * NS_PER_SEC;
    c->lifetime[OBSERVE_NOTFOUND] = settings->file_not_found_cache_lifetime * NS_PER_SEC;
    c->entries_max[OBSERVE_DIR] = settings->directory_cache_entries_max;
    c->entries_max[OBSERVE_INFO] = settings->file_info_cache_entries_max;
    c->entries_max[OBSERVE_NOTFOUND] = settings->file_not_found_cache_entries_max;
    c->max_age = settings->cache_max_age * NS_PER_SEC;
    list_init(&c->idle);
    list_init(&c->echo_list);
    hash_init(&c->echoes);
    hash_init(&c->by_id);
    for (int i = 0; i < OBSERVE_CACHES; i++)
        ring_init(&c->ring[i]);
    c->told = c->noticed_lost = c->uprooted = order_long_ago(c);
    c->root = file_new(c, true);
    if (!c->root || !file_dir(c, c->root))
        return cache_free(c);
    return c;
}

struct cache *cache_free(struct cache *c)
{
    if (!c)
        return NULL;
    struct list *item;
    while ((item = c->ring[OBSERVE_DIR].entries.next) != &c->ring[OBSERVE_DIR].entries) {
        struct cache_dir *d = container_of(item, struct cache_dir, ring.link);
        ring_del(&c->ring[OBSERVE_DIR], &d->ring);
        d->listing = cache_listing_unref(d->listing);
        file_settle(c, d->file);
    }
    while ((item = c->ring[OBSERVE_NOTFOUND].entries.next) != &c->ring[OBSERVE_NOTFOUND].entries)
        negative_drop(c, container_of(item, struct cache_negative, ring.link));
    while ((item = c->ring[OBSERVE_INFO].entries.next) != &c->ring[OBSERVE_INFO].entries) {
        struct cache_file *f = container_of(item, struct cache_file, ring.link);
        ring_del(&c->ring[OBSERVE_INFO], &f->ring);
        f->believed = false;
        file_settle(c, f);
    }
    if (c->root) {
        trim_idle(c, 0);
        file_free(c, c->root);
    }
    hash_done(&c->by_id);
    echoes_done(c);
    free(c);
    return NULL;
}

struct cache_file *cache_root(struct cache *c)
{
    return c->root;
}

struct cache_file *cache_file_ref(struct cache_file *f)
{
    f->refs++;
    return f;
}

void cache_file_unref(struct cache *c, struct cache_file *f)
{
    f->refs--;
    file_settle(c, f);
    trim_idle(c, IDLE_FILES_MAX);
}

uint64_t cache_file_ino(const struct cache_file *f)
{
    return f->ino ? f->ino : 1;
}

uint64_t cache_file_serial(const struct cache_file *f)
{
    return f->serial;
}

bool cache_file_is_dir(const struct cache_file *f)
{
    return f->is_dir;
}

bool cache_file_size(const struct cache_file *f, uint64_t *ret)
{
    if (f->heard)
        *ret = f->attr.size;
    return f->heard;
}

const struct file_attr *cache_file_heard(const struct cache_file *f)
{
    return f->heard ? &f->attr : NULL;
}

uint64_t cache_file_heard_at(const struct cache_file *f)
{
    return f->heard ? f->info.sent : 0;
}

void cache_sizes(const struct cache *c, struct cache_sizes *ret)
{
    *ret = (struct cache_sizes){.bytes = c->bytes, .files = c->file_count};
    for (int i = 0; i < OBSERVE_CACHES; i++)
        ret->entries[i] = c->ring[i].count;
}

void cache_set_order(struct cache *c, uint64_t order)
{
    c->order = order - 1;
    struct cache_file *root = c->root;
    struct cache_dir *d = root->dir;
    uint64_t long_ago = order_long_ago(c);
    root->changed = root->moved = root->uprooted = root->broken = long_ago;
    d->changed = d->patched = d->told = d->void_before = d->attr_void_before = long_ago;
    c->told = c->noticed_lost = c->uprooted = long_ago;
}

/* ---- paths ---- */

/* Writes the path backwards from `at`; returns its beginning, or a negative errno. */
static int64_t prepend(char *out, size_t at, const char *name, size_t len, bool slash)
{
    if (len + slash > at)
        return -ENAMETOOLONG;
    if (slash)
        out[--at] = '/';
    at -= len;
    memcpy(out + at, name, len);
    return (int64_t)at;
}

static int path_to(const struct cache_file *f, int64_t at, size_t end, char *out)
{
    while (at >= 0 && !list_empty(&f->names)) {
        const struct cache_name *n = container_of(f->names.next, struct cache_name, of_file);
        at = prepend(out, (size_t)at, n->spelling, n->len, (size_t)at != end);
        f = n->dir;
    }
    if (at < 0)
        return (int)at;
    if (f->serial != 1) /* not the root: something on the way has no name any more */
        return -ESTALE;
    memmove(out, out + at, end - (size_t)at);
    return (int)(end - (size_t)at);
}

static bool is_attached(const struct cache_file *dir)
{
    while (!list_empty(&dir->names))
        dir = container_of(dir->names.next, struct cache_name, of_file)->dir;
    return dir->serial == 1;
}

struct cache_name *name_leading_to(const struct cache_file *f)
{
    struct list *item;
    list_for_each(item, &f->names)
    {
        struct cache_name *n = container_of(item, struct cache_name, of_file);
        if (is_attached(n->dir))
            return n;
    }
    return NULL;
}

int cache_file_path(const struct cache_file *f, char *out, size_t cap)
{
    if (list_empty(&f->names))
        return path_to(f, (int64_t)cap, cap, out);
    const struct cache_name *n = name_leading_to(f);
    return n ? cache_child_path(n->dir, n->spelling, n->len, out, cap) : -ESTALE;
}

struct cache_file *cache_file_parent(const struct cache_file *f)
{
    const struct cache_name *n = list_empty(&f->names) ? NULL : name_leading_to(f);
    return n ? n->dir : NULL;
}

int cache_child_path(const struct cache_file *dir, const char *name, size_t len, char *out,
                     size_t cap)
{
    return path_to(dir, prepend(out, cap, name, len, false), cap, out);
}

const char *event_file(const struct cache *c, const struct cache_file *f, struct event_path *p)
{
    if (!observe_wants_paths(c->observe))
        return NULL;
    int n = cache_file_path(f, p->text, sizeof p->text - 1);
    p->text[n > 0 ? n : 0] = 0;
    return p->text;
}

const char *event_child(const struct cache *c, const struct cache_file *dir, const char *name,
                        size_t len, struct event_path *p)
{
    if (!observe_wants_paths(c->observe))
        return NULL;
    int n = cache_child_path(dir, name, len, p->text, sizeof p->text - 1);
    p->text[n > 0 ? n : 0] = 0;
    return p->text;
}
