/*
 * Symbolic links. A server with reparse points has them itself; elsewhere the option `mfsymlinks`
 * makes them of small files, which only clients that know the form show as links.
 *
 * Whether a file is a link is not always told by its attributes: FileAllInformation has no reparse
 * tag, and a file in the form of Minshall and French is known by its length (1,067 bytes) alone.
 * Such a file is read once, and what it is stays known for as long as its time of writing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/mflink.h"
#include "share/opens.h"

#define LINKS_MAX 4096

/* MS-FSCC 2.1.2.1. */
enum {
    TAG_MOUNT_POINT = (int)0xa0000003,
    TAG_SYMLINK = (int)0xa000000c,
    TAG_LX_SYMLINK = (int)0xa000001d,
};

/* What a file turned out to be. */
struct link {
    struct hash_node by_file; /* in share->links */
    uint64_t serial, written;
    char *target; /* NULL: no link */
};

/* ---- what is known ---- */

static struct link *find(const struct share *s, const struct cache_file *f)
{
    uint64_t serial = cache_file_serial(f);
    struct hash_node *n = hash_first(&s->links, hash_u64(serial));
    while (n && container_of(n, struct link, by_file)->serial != serial)
        n = hash_next(n);
    return n ? container_of(n, struct link, by_file) : NULL;
}

static void forget(struct share *s, struct link *l)
{
    hash_del(&s->links, &l->by_file);
    free(l->target);
    free(l);
}

void share_links_done(struct share *s)
{
    struct hash_node *n;
    while ((n = hash_each(&s->links, NULL)))
        forget(s, container_of(n, struct link, by_file));
    hash_done(&s->links);
}

/* With the lock. Takes `target` over. What does not fit is found out again. */
static void remember(struct share *s, const struct cache_file *f, uint64_t written, char *target)
{
    struct link *l = find(s, f);
    if (l)
        forget(s, l);
    if (s->links.count >= LINKS_MAX)
        forget(s, container_of(hash_each(&s->links, NULL), struct link, by_file));
    l = malloc(sizeof *l);
    if (l)
        *l = (struct link){.serial = cache_file_serial(f), .written = written, .target = target};
    if (!l || hash_add(&s->links, &l->by_file, hash_u64(l->serial)) < 0) {
        free(target);
        free(l);
    }
}

/* ---- finding out ---- */

static bool may_be_link(const struct share *s, const struct file_attr *a)
{
    if (a->attributes & FILE_ATTRIBUTE_REPARSE_POINT)
        return a->reparse_tag == 0 || (int)a->reparse_tag == TAG_SYMLINK ||
               (int)a->reparse_tag == TAG_MOUNT_POINT || (int)a->reparse_tag == TAG_LX_SYMLINK;
    return s->options.mfsymlinks && !file_attr_is_dir(a) && a->size == MFLINK_SIZE;
}

static int read_small_file(struct share *s, const char *path, char **ret, struct error *err)
{
    char data[MFLINK_SIZE + 1];
    struct client_file *f;
    struct file_attr attr;
    size_t len;
    bool end;
    int r = client_open(s->client, path, s->style, data, sizeof data, &f, &attr, &len, &end, err);
    if (r < 0)
        return r;
    if (len == 0) {
        int64_t n = client_read(f, data, sizeof data, 0, err);
        r = n < 0 ? (int)n : 0;
        len = n < 0 ? 0 : (size_t)n;
    }
    client_close(f, s->style, NULL, NULL);
    return r < 0 ? r : mflink_decode(data, len, ret);
}

/* The target of what these attributes are of; *ret NULL where it is no link. */
static int read_target(struct share *s, const struct cache_file *f, const struct file_attr *a,
                       char **ret, struct error *err)
{
    char *path;
    pthread_mutex_lock(&s->lock);
    look_begin(s);
    int r = share_wire_path(s, f, NULL, 0, &path, err);
    char *target = NULL;
    if (r == 0) {
        pthread_mutex_unlock(&s->lock);
        r = a->attributes & FILE_ATTRIBUTE_REPARSE_POINT
                ? client_read_link(s->client, path, &target, err)
                : read_small_file(s, path, &target, err);
        free(path);
        r = r == -EINVAL ? 0 : r; /* it is no link */
        pthread_mutex_lock(&s->lock);
    }
    look_end(s);
    if (r == 0) {
        *ret = target ? strdup(target) : NULL;
        remember(s, f, a->written, target);
    }
    pthread_mutex_unlock(&s->lock);
    return r;
}

/* Whether it is known what this file is in this state; *ret_target then has it, malloc'ed. */
static bool known(struct share *s, const struct cache_file *f, const struct file_attr *a,
                  char **ret_target)
{
    pthread_mutex_lock(&s->lock);
    struct link *l = find(s, f);
    bool is = l && l->written == a->written;
    if (is)
        *ret_target = l->target ? strdup(l->target) : NULL;
    pthread_mutex_unlock(&s->lock);
    return is;
}

static int target_of(struct share *s, const struct cache_file *f, const struct file_attr *a,
                     char **ret, struct error *err)
{
    *ret = NULL;
    if (!may_be_link(s, a) || known(s, f, a, ret))
        return 0;
    return read_target(s, f, a, ret, err);
}

void share_mark_link(struct share *s, const struct cache_file *f, struct share_entry *inout)
{
    char *target;
    if (!may_be_link(s, &inout->attr) || target_of(s, f, &inout->attr, &target, NULL) < 0)
        return;
    inout->is_link = target != NULL;
    if (target)
        inout->attr.size = strlen(target);
    free(target);
}

/* ---- for the callers of the room ---- */

int share_read_link(struct share *s, struct share_node *n, char **ret, struct error *err)
{
    struct share_entry now;
    pthread_mutex_lock(&s->lock);
    const struct file_attr *heard = cache_file_heard(n);
    struct file_attr attr = heard ? *heard : (struct file_attr){0};
    pthread_mutex_unlock(&s->lock);
    int r = 0;
    char *target = NULL;
    if (attr.attributes)
        r = target_of(s, n, &attr, &target, err);
    if (r == 0 && !target) { /* what was last heard may be old */
        r = share_getattr(s, n, &now, err);
        if (r == 0 && now.is_link)
            known(s, n, &now.attr, &target); /* share_getattr has just found out */
    }
    if (r == 0 && !target)
        return error_set(err, -EINVAL, 0, "not a symbolic link");
    if (r == 0)
        *ret = target;
    return r;
}

/* As a file whose bytes say where it leads. */
static int make_small_file(struct share *s, struct cache_file *dir, const char *name,
                           const char *target, struct share_entry *ret, struct error *err)
{
    char data[MFLINK_SIZE];
    struct share_file *f;
    struct share_entry made;
    int r = mflink_encode(target, data);
    if (r < 0)
        return error_set(err, r, 0, "%s: a link's target has 1 to %d bytes", name,
                         MFLINK_TARGET_MAX);
    r = share_create(s, dir, name, SHARE_WRITE | SHARE_EXCLUSIVE, 0, &f, &made, NULL, err);
    if (r < 0)
        return r;
    int64_t n = share_write(s, f, data, sizeof data, 0, err);
    share_close(s, f);
    share_node_unref(s, made.node);
    if (n != (int64_t)sizeof data) {
        share_remove(s, dir, name, false, NULL);
        return n < 0 ? (int)n : error_set(err, -EIO, 0, "%s: the link was written in part", name);
    }
    return share_lookup(s, dir, name, ret, err);
}

static int make_reparse_point(struct share *s, struct cache_file *dir, const char *name,
                              const char *target, struct share_entry *ret, struct error *err)
{
    char *path;
    struct file_attr attr;
    struct promise_ask ask;
    pthread_mutex_lock(&s->lock);
    int r = share_named_path(s, dir, name, &path, err);
    if (r == 0)
        promise_ask(s, NULL, dir, 0, &ask);
    uint64_t own = r == 0 ? own_begins(s, dir, name, true) : 0;
    struct cache_ticket ticket = cache_ask(s->cache, clock_now());
    pthread_mutex_unlock(&s->lock);
    if (r < 0)
        return r;
    r = client_symlink(s->client, path, target, false, &ask.keys, &attr, err);
    free(path);
    pthread_mutex_lock(&s->lock);
    promise_answer_none(s, &ask);
    own_ends(s, own, r == 0);
    pthread_mutex_unlock(&s->lock);
    if (r < 0)
        return r;
    attr.links = 1;
    attr.attributes |= FILE_ATTRIBUTE_REPARSE_POINT;
    attr.reparse_tag = (uint32_t)TAG_SYMLINK;
    pthread_mutex_lock(&s->lock);
    r = share_commit_made(s, dir, name, &attr, NULL, ticket, ret, err);
    pthread_mutex_unlock(&s->lock);
    if (r == 0) {
        ret->is_link = true;
        ret->attr.size = strlen(target);
    }
    return r;
}

int share_symlink(struct share *s, struct share_node *dir, const char *name, const char *target,
                  struct share_entry *ret, struct error *err)
{
    if (s->options.mfsymlinks)
        return make_small_file(s, dir, name, target, ret, err);
    int r = make_reparse_point(s, dir, name, target, ret, err);
    if (r == -EOPNOTSUPP)
        return error_set(err, r, 0,
                         "%s: the server has no symbolic links; the option mfsymlinks makes them "
                         "of small files",
                         name);
    return r;
}
