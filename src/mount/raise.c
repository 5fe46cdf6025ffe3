/*
 * One event of the raiser's (raiser.h): which call of the helper's repeats it, and what that is
 * told.
 *
 * What a name leads to now is asked for where it came; where it went, what it led to before came
 * with the notice. The kernel may have found out by itself, by a program that looked: then it is
 * made to forget, and is shown the state before once more.
 */
#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "mount/raiser_inside.h"

/* Whether the call is worth another try: the kernel had another idea of what is there. EBUSY and
 * EEXIST are not: something is mounted there, which stays as it is. */
static bool once_more(struct raiser *e, struct selfop *want, int rc)
{
    bool made =
        want->call == HELPER_MKNOD || want->call == HELPER_MKDIR || want->call == HELPER_SYMLINK;
    if (rc == -EISDIR && want->call == HELPER_UNLINK)
        want->call = HELPER_RMDIR;
    else if (rc == -ENOTDIR && want->call == HELPER_RMDIR)
        want->call = HELPER_UNLINK;
    else if ((rc == -ENOENT && !made) || (rc == -ECANCELED && want->call == HELPER_TOUCH))
        raiser_forget(e, want, rc == -ENOENT);
    else
        return false;
    return true;
}

static void raise_event(struct raiser *e, int kind, struct selfop *want)
{
    int rc = raiser_call(e, want);
    if (rc < 0 && once_more(e, want, rc))
        rc = raiser_call(e, want);
    atomic_fetch_add(rc == 0 ? &e->counts[kind] : &e->failed, 1);
    if (rc < 0)
        log_line(LOG_DETAIL, "%s: the change of %s/%s could not be told to inotify: %s",
                 e->mount->mountpoint, e->job.dir, want->name, strerror(-rc));
}

/* ---- states that were raised ---- */

static uint64_t hash_name(const char *name)
{
    return hash_bytes(name, strlen(name), hash_seed());
}

static struct raised *raised_of(struct raiser *e, fuse_ino_t dir, const char *name)
{
    uint64_t hash = hash_name(name);
    for (unsigned i = 0; i < RAISED_MAX; i++)
        if (e->raised[i].dir == dir && e->raised[i].name == hash)
            return &e->raised[i];
    return NULL;
}

static bool was_raised(struct raiser *e, fuse_ino_t dir, const char *name,
                       const struct share_entry *now)
{
    const struct raised *r = raised_of(e, dir, name);
    return r && r->serial == share_node_serial(now->node) && r->size == now->attr.size &&
           r->written == now->attr.written;
}

static void note_raised(struct raiser *e, fuse_ino_t dir, const char *name,
                        const struct share_entry *now)
{
    struct raised *r = raised_of(e, dir, name);
    if (!r)
        r = &e->raised[e->next_raised++ % RAISED_MAX];
    *r = (struct raised){.dir = dir,
                         .name = hash_name(name),
                         .serial = share_node_serial(now->node),
                         .size = now->attr.size,
                         .written = now->attr.written,
                         .is_dir = file_attr_is_dir(&now->attr) && !now->is_link};
}

/* ---- one event ---- */

static bool is_dir(const struct share_entry *entry)
{
    return file_attr_is_dir(&entry->attr) && !entry->is_link;
}

/* What a name leads to now. */
struct found {
    int rc; /* 0, -ENOENT, or an error */
    struct share_entry entry;
    uint64_t moment;
};

static struct found look(struct raiser *e, fuse_ino_t in, const char *name)
{
    struct mount *m = e->mount;
    struct found f = {.rc = -ESTALE, .moment = known_moment(&m->nodes)};
    struct node *dir = nodes_hold(&m->nodes, in);
    if (!dir)
        return f;
    f.rc = share_lookup(m->share, dir->share, name, &f.entry, NULL);
    nodes_forget(&m->nodes, in, 1);
    if (f.rc < 0)
        f.entry = (struct share_entry){0};
    return f;
}

/* What it led to before; the node is the event's. */
static struct share_entry entry_before(const struct event *v)
{
    return (struct share_entry){.node = v->node,
                                .attr = v->attr,
                                .ino = v->ino,
                                .exact = true,
                                .is_link = v->attr.attributes & FILE_ATTRIBUTE_REPARSE_POINT};
}

static void give_back(struct raiser *e, const struct found *f)
{
    if (f->entry.node)
        share_node_unref(e->mount->share, f->entry.node);
}

static void raise_came(struct raiser *e, const struct event *v, const struct found *f)
{
    struct selfop want = {.call = HELPER_MKNOD,
                          .dir = v->dir,
                          .name = v->name,
                          .entry = f->entry,
                          .moment = f->moment};
    if (f->rc < 0 && f->rc != -ENOENT)
        return (void)atomic_fetch_add(&e->failed, 1);
    if (f->entry.is_link)
        want.call = HELPER_SYMLINK;
    else if (is_dir(&f->entry))
        want.call = HELPER_MKDIR;
    if (f->rc == 0)
        note_raised(e, v->dir, v->name, &f->entry);
    raise_event(e, CREATED, &want);
}

static void raise_created(struct raiser *e, const struct event *v)
{
    struct found f = look(e, v->dir, v->name);
    raise_came(e, v, &f);
    give_back(e, &f);
}

static void raise_gone(struct raiser *e, const struct event *v)
{
    struct selfop want = {.dir = v->dir, .name = v->name, .entry = entry_before(v)};
    const struct raised *last = raised_of(e, v->dir, v->name);
    if (!v->attr.attributes && last && last->is_dir)
        want.entry.attr.attributes = FILE_ATTRIBUTE_DIRECTORY;
    want.call = is_dir(&want.entry) ? HELPER_RMDIR : HELPER_UNLINK;
    raise_event(e, REMOVED, &want);
}

/* The kernel moves what it has by the old name. Under the new one there may be nothing any more; or
 * another node, which it is to ask for. */
static void raise_move(struct raiser *e, const struct event *v, const char *new_name,
                       const struct found *f)
{
    struct selfop want = {.call = HELPER_RENAME,
                          .dir = v->dir,
                          .name = v->name,
                          .new_name = new_name,
                          .entry = entry_before(v)};
    if (f->rc == 0) {
        note_raised(e, v->dir, new_name, &f->entry);
        if (!v->node)
            want.entry = f->entry;
        want.entry.attr = f->entry.attr;
    }
    raise_event(e, RENAMED, &want);
    if (f->entry.node != want.entry.node)
        known_name_wrong(&e->mount->nodes, v->dir, new_name, strlen(new_name));
}

static void raise_renamed(struct raiser *e, const struct event *v)
{
    struct found f = look(e, v->dir, v->new_name);
    raise_move(e, v, v->new_name, &f);
    give_back(e, &f);
}

/* A server may tell the two halves of a renaming by themselves, one right after the other: whether
 * the file that is gone by one name is the one that came by another. An id by itself may have been
 * given to the next file. */
static bool is_half(const struct event *went, const struct found *came)
{
    return came->rc == 0 && went->attr.id && went->attr.id == came->entry.attr.id &&
           went->attr.created == came->entry.attr.created &&
           file_attr_is_dir(&went->attr) == file_attr_is_dir(&came->entry.attr);
}

static void raise_removed(struct raiser *e, const struct event *v)
{
    struct event *next = v->attr.id ? raiser_take_other_half(e, v) : NULL;
    if (!next)
        return raise_gone(e, v);
    struct found f = look(e, next->dir, next->name);
    if (is_half(v, &f)) {
        raise_move(e, v, next->name, &f);
    } else {
        raise_gone(e, v);
        raise_came(e, next, &f);
    }
    give_back(e, &f);
    event_free(e, next);
}

/* A directory is modified by what is done in it, of which inotify tells only there. What is gone by
 * now is told of next. */
static void raise_modified(struct raiser *e, const struct event *v)
{
    struct found f = look(e, v->dir, v->name);
    struct selfop want = {
        .call = HELPER_TOUCH, .dir = v->dir, .name = v->name, .entry = f.entry, .moment = f.moment};
    if (f.rc == 0 && !file_attr_is_dir(&f.entry.attr) &&
        !was_raised(e, v->dir, v->name, &f.entry)) {
        note_raised(e, v->dir, v->name, &f.entry);
        raise_event(e, MODIFIED, &want);
    }
    give_back(e, &f);
}

void raise_one(struct raiser *e, const struct event *v)
{
    switch (v->news) {
    case SHARE_ADDED:
        return raise_created(e, v);
    case SHARE_REMOVED:
        return raise_removed(e, v);
    case SHARE_RENAMED:
        return raise_renamed(e, v);
    case SHARE_MODIFIED:
        return raise_modified(e, v);
    case SHARE_MISSED:
    case SHARE_UNWATCHED:
        break; /* not queued: they have no name */
    }
}
