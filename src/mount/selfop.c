/* See selfop.h. */
#include "mount/selfop.h"

#include <errno.h>
#include <string.h>

#include "mount/session.h"

void selfops_init(struct selfops *s)
{
    *s = (struct selfops){0};
    pthread_mutex_init(&s->lock, NULL);
}

void selfops_done(struct selfops *s)
{
    pthread_mutex_destroy(&s->lock);
}

void selfop_expect(struct selfops *s, const struct selfop *want)
{
    pthread_mutex_lock(&s->lock);
    s->want = want;
    pthread_mutex_unlock(&s->lock);
}

/* The mount, where the caller is its helper; with the lock. */
static struct mount *helped(fuse_req_t req)
{
    struct mount *m = fuse_req_userdata(req);
    pid_t helper = atomic_load_explicit(&m->selfops.helper, memory_order_relaxed);
    if (!helper || fuse_req_ctx(req)->pid != helper)
        return NULL;
    pthread_mutex_lock(&m->selfops.lock);
    return m;
}

/* All answers go out without the lock. */
static bool refuse(struct mount *m, fuse_req_t req)
{
    pthread_mutex_unlock(&m->selfops.lock);
    fuse_reply_err(req, ECANCELED);
    return true;
}

static bool agree(struct mount *m, fuse_req_t req)
{
    pthread_mutex_unlock(&m->selfops.lock);
    fuse_reply_err(req, 0);
    return true;
}

#define STRANGERS ((fuse_ino_t)1 << 62) /* no share counts its nodes so far */

/* What came and went before anybody could look: the kernel may not keep it, and will find that it
 * is gone. */
static void tell_of_stranger(struct mount *m, fuse_req_t req, fuse_ino_t id, uint32_t attributes)
{
    struct fuse_entry_param e = {.ino = id};
    const struct file_attr none = {.attributes = attributes, .links = 1};
    attr_to_stat(&m->rules, &none, false, id, &e.attr);
    fuse_reply_entry(req, &e);
}

static bool tell(struct mount *m, fuse_req_t req, const char *name)
{
    struct share_entry entry = m->selfops.want->entry;
    const struct about what = {m->selfops.want->dir, name, m->selfops.want->moment};
    fuse_ino_t stranger = STRANGERS + m->selfops.strangers;
    m->selfops.strangers += !entry.node;
    if (entry.node)
        share_node_ref(m->share, entry.node);
    pthread_mutex_unlock(&m->selfops.lock);
    if (entry.node)
        reply_entry(m, req, &what, 0, &entry);
    else
        tell_of_stranger(m, req, stranger, entry.attr.attributes);
    return true;
}

static bool is_made(enum helper_call call)
{
    return call == HELPER_MKNOD || call == HELPER_MKDIR || call == HELPER_SYMLINK;
}

static bool matches(const struct selfop *want, enum helper_call call, fuse_ino_t parent,
                    const char *name)
{
    return want && want->call == call && want->dir == parent && strcmp(want->name, name) == 0;
}

/* A directory on the way. */
static bool tell_heard(struct mount *m, fuse_req_t req, fuse_ino_t parent, const char *name)
{
    struct share_entry entry;
    struct node *dir = nodes_hold(&m->nodes, parent);
    if (!dir)
        return refuse(m, req);
    int rc = share_peek_dir(m->share, dir->share, name, &entry);
    nodes_forget(&m->nodes, parent, 1);
    if (rc < 0)
        return refuse(m, req);
    pthread_mutex_unlock(&m->selfops.lock);
    struct about what = about(m, parent, name);
    reply_entry(m, req, &what, 0, &entry);
    return true;
}

static bool tell_of_nothing(struct mount *m, fuse_req_t req)
{
    pthread_mutex_unlock(&m->selfops.lock);
    fuse_reply_err(req, ENOENT);
    return true;
}

bool selfop_looks_up(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    struct mount *m = helped(req);
    if (!m)
        return false;
    const struct selfop *want = m->selfops.want;
    if (want && want->dir == parent && strcmp(want->name, name) == 0)
        return is_made(want->call) ? tell_of_nothing(m, req) : tell(m, req, name);
    if (want && want->dir == parent && want->new_name && strcmp(want->new_name, name) == 0)
        return tell_of_nothing(m, req);
    return tell_heard(m, req, parent, name);
}

bool selfop_makes(fuse_req_t req, enum helper_call call, fuse_ino_t parent, const char *name)
{
    struct mount *m = helped(req);
    if (!m)
        return false;
    if (!matches(m->selfops.want, call, parent, name))
        return refuse(m, req);
    known_appeared(&m->nodes, parent, name);
    return tell(m, req, name);
}

bool selfop_removes(fuse_req_t req, enum helper_call call, fuse_ino_t parent, const char *name)
{
    struct mount *m = helped(req);
    if (!m)
        return false;
    if (!matches(m->selfops.want, call, parent, name))
        return refuse(m, req);
    known_left(&m->nodes, parent, name);
    return agree(m, req);
}

bool selfop_renames(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t new_parent,
                    const char *new_name)
{
    struct mount *m = helped(req);
    if (!m)
        return false;
    const struct selfop *want = m->selfops.want;
    if (!matches(want, HELPER_RENAME, parent, name) || new_parent != parent ||
        strcmp(want->new_name, new_name) != 0)
        return refuse(m, req);
    known_appeared(&m->nodes, parent, new_name);
    known_moved(&m->nodes, parent, name, parent, new_name);
    return agree(m, req);
}

bool selfop_touches(fuse_req_t req, fuse_ino_t ino)
{
    struct mount *m = helped(req);
    if (!m)
        return false;
    const struct selfop *want = m->selfops.want;
    if (!want || want->call != HELPER_TOUCH || !want->entry.node ||
        nodes_id(&m->nodes, want->entry.node) != ino)
        return refuse(m, req);
    struct share_entry entry = want->entry;
    uint64_t moment = want->moment;
    pthread_mutex_unlock(&m->selfops.lock);
    struct node *node = nodes_hold(&m->nodes, ino);
    if (!node) {
        fuse_reply_err(req, ECANCELED);
        return true;
    }
    reply_attr(m, req, node, &entry, moment);
    nodes_forget(&m->nodes, ino, 1);
    return true;
}
