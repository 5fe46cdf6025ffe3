/*
 * Changes: attributes, and names made, removed, renamed, linked. Each is one round trip by path,
 * and patches the caches with what its reply told.
 *
 * A file may lose its name while it is open here, and its readers go on (POSIX); a server lets a
 * name go only with the last open, and refuses to put another file in the place of an open one (one
 * that leases directories also of a file that only another client has open). So such a file is
 * renamed to a hidden name first and marked there to be removed by its last close.
 * share_lookup and the listings of this client leave hidden names out; others see them until then,
 * and so does an rmdir, which the server refuses meanwhile.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/ntstatus.h"
#include "share/delay.h"

/* ---- what a change is about ---- */

struct target {
    struct cache_file *dir;
    const char *name;
    size_t len;
    char *path; /* for the wire */
    struct cache_ticket ticket;
    struct promise_ask ask; /* by whose leases the server knows that it is us */
    uint64_t own;           /* see own_begins */
};

/* With the lock. `file`: what the name leads to, as far as it is known; NULL: it is made. `comes`:
 * there is something by that name afterwards. */
static int aim(struct share *s, struct cache_file *dir, const char *name, struct cache_file *file,
               bool comes, struct target *ret, struct error *err)
{
    *ret = (struct target){.dir = dir, .name = name, .len = strlen(name)};
    int r = share_named_path(s, dir, name, &ret->path, err);
    const struct file_attr *heard = file ? cache_file_heard(file) : NULL;
    if (r == 0)
        promise_ask(s, file, dir, 0, &ret->ask);
    if (heard)
        ret->ask.keys.id = heard->id;
    if (r == 0)
        ret->own = own_begins(s, dir, name, comes);
    ret->ticket = cache_ask(s->cache, clock_now());
    return r;
}

/* With the lock. */
static void target_done(struct share *s, struct target *t, bool done)
{
    own_ends(s, t->own, done);
    promise_answer_none(s, &t->ask);
    free(t->path);
}

/* With the lock. A refusal may tell that there is no such name. */
static void learn_missing(struct share *s, const struct target *t, const struct error *why)
{
    if (share_says_missing(why))
        cache_commit_missing(s->cache, t->dir, t->name, t->len, t->ticket, clock_now());
}

int share_commit_made(struct share *s, struct cache_file *dir, const char *name,
                      const struct file_attr *attr, struct cache_file *linked,
                      struct cache_ticket ticket, struct share_entry *ret, struct error *err)
{
    struct cache_file *file;
    uint64_t until;
    int r = cache_made(s->cache, dir, name, strlen(name), attr, linked, ticket, clock_now(), &file,
                       &until);
    if (r < 0)
        return error_set(err, r, 0, "out of memory");
    own_modifies(s, file);
    share_entry_of(file, attr, until, ret);
    ret->node = file;
    return 0;
}

static void give_error(struct error *err, const struct error *e)
{
    if (err)
        *err = *e;
}

/* ---- names whose file goes with its last close ---- */

/* A reader closes soon, as a rule; one who does not keeps the name. */
enum { LINGERS_MS = 20, LINGERS_TIMES = 50 };

/* FILE_CREATE meets the name before the server looks whether its file goes (Samba); it may just
 * have gone, too. */
static bool goes(struct share *s, const char *path, const struct error *why)
{
    struct file_attr ignored;
    struct error e = {0};
    if (why->status == STATUS_DELETE_PENDING)
        return true;
    return why->status == STATUS_OBJECT_NAME_COLLISION &&
           client_stat(s->client, path, s->style, &ignored, NULL, &e) < 0 && share_says_missing(&e);
}

bool share_name_gets_free(struct share *s, const char *path, const struct error *why,
                          unsigned *ret_tried)
{
    if (*ret_tried == LINGERS_TIMES || !goes(s, path, why))
        return false;
    ++*ret_tried;
    nanosleep(&(struct timespec){.tv_nsec = LINGERS_MS * (long)NS_PER_MS}, NULL);
    return true;
}

/* ---- mkdir, link ---- */

int share_mkdir(struct share *s, struct share_node *dir, const char *name, struct share_entry *ret,
                struct error *err)
{
    struct target t;
    struct file_attr attr;
    struct error e = {0};
    unsigned tried = 0;
    pthread_mutex_lock(&s->lock);
    int r = aim(s, dir, name, NULL, true, &t, &e);
    pthread_mutex_unlock(&s->lock);
    if (r == 0)
        do {
            r = client_mkdir(s->client, t.path, &t.ask.keys, s->style, &attr, &e);
        } while (r < 0 &&
                 (promise_again(s, &t.ask, &e) || share_name_gets_free(s, t.path, &e, &tried)));
    attr.links = 1;
    pthread_mutex_lock(&s->lock);
    if (r == 0)
        r = share_commit_made(s, dir, name, &attr, NULL, t.ticket, ret, &e);
    target_done(s, &t, r == 0);
    pthread_mutex_unlock(&s->lock);
    if (r < 0)
        give_error(err, &e);
    return r;
}

/* With the lock. */
static int commit_link(struct share *s, struct cache_file *n, const struct target *t,
                       struct file_attr *attr, struct share_entry *ret, struct error *err)
{
    const struct file_attr *heard = cache_file_heard(n);
    if (heard && heard->links)
        attr->links = heard->links + 1;
    int r = share_commit_made(s, t->dir, t->name, attr, n, t->ticket, ret, err);
    if (r == 0) /* how many links there are the reply did not tell */
        ret->valid_ns = 0;
    own_modifies(s, n);
    cache_own_attr(s->cache, n, NULL, cache_ask(s->cache, clock_now()), clock_now());
    return r;
}

int share_link(struct share *s, struct share_node *n, struct share_node *dir, const char *name,
               struct share_entry *ret, struct error *err)
{
    struct target t = {0};
    struct file_attr attr;
    struct error e = {0};
    char *from = NULL;
    pthread_mutex_lock(&s->lock);
    delay_settle(s, n);
    promise_give_up(s, n, false); /* the lease belongs to its one name */
    int r = share_wire_path(s, n, NULL, 0, &from, &e);
    if (r == 0)
        r = aim(s, dir, name, n, true, &t, &e);
    pthread_mutex_unlock(&s->lock);
    if (r == 0)
        do {
            r = client_link(s->client, from, t.path, false, &t.ask.keys, s->style, &attr, &e);
        } while (r < 0 && promise_again(s, &t.ask, &e));
    free(from);
    pthread_mutex_lock(&s->lock);
    if (r == 0)
        r = commit_link(s, n, &t, &attr, ret, &e);
    target_done(s, &t, r == 0);
    pthread_mutex_unlock(&s->lock);
    if (r == 0)
        share_mark_link(s, n, ret);
    else
        give_error(err, &e);
    return r;
}

/* ---- names that are open here ---- */

struct hidden {
    char *path; /* where it is now */
    struct client_file *open;
};

static int hidden_path(const char *path, char **ret, struct error *err)
{
    const char *slash = strrchr(path, '/');
    int dir = slash ? (int)(slash - path) + 1 : 0;
    static _Atomic uint64_t serial;
    if (asprintf(ret, "%.*s%s%016" PRIx64, dir, path, SHARE_HIDDEN_PREFIX,
                 hash_u64(hash_seed() + serial++)) < 0)
        return error_set(err, -ENOMEM, 0, "out of memory");
    return 0;
}

/* With the right to take READONLY away, which is in the way of removal; who does not have that may
 * still remove what is not read-only. */
static int open_to_remove(struct share *s, const char *path, const struct client_keys *keys,
                          struct client_file **ret, struct error *err)
{
    struct client_how how = {.access = ACCESS_DELETE | FILE_READ_ATTRIBUTES | FILE_WRITE_ATTRIBUTES,
                             .share = FILE_SHARE_ALL,
                             .disposition = FILE_OPEN,
                             .options = FILE_NON_DIRECTORY_FILE | FILE_OPEN_REPARSE_POINT,
                             .keys = keys};
    struct file_attr ignored;
    int r = client_create(s->client, path, &how, ret, &ignored, NULL, err);
    if (r != -EACCES)
        return r;
    how.access = ACCESS_DELETE;
    return client_create(s->client, path, &how, ret, &ignored, NULL, err);
}

/* Takes the name away from the file, which stays. */
static int hide(struct share *s, struct target *t, struct hidden *ret, struct error *err)
{
    const char *path = t->path;
    int r = hidden_path(path, &ret->path, err);
    if (r < 0)
        return r;
    do {
        r = open_to_remove(s, path, &t->ask.keys, &ret->open, err);
    } while (r < 0 && promise_again(s, &t->ask, err));
    if (r < 0) {
        free(ret->path);
        return r;
    }
    r = client_file_rename(ret->open, ret->path, false, err);
    if (r < 0) {
        client_close(ret->open, s->style, NULL, NULL);
        free(ret->path);
    }
    return r;
}

static void hidden_done(struct share *s, struct hidden *h)
{
    client_close(h->open, s->style, NULL, NULL);
    free(h->path);
}

static void hidden_give_back(struct share *s, struct hidden *h, const char *path)
{
    client_file_rename(h->open, path, false, NULL);
    hidden_done(s, h);
}

/* Removed for good by its last close; else it gets its name back. */
static int hidden_remove(struct share *s, struct hidden *h, const char *path, struct error *err)
{
    int r = client_file_remove(h->open, err);
    if (r < 0)
        hidden_give_back(s, h, path);
    else
        hidden_done(s, h);
    return r;
}

/* With the lock: the file (may be NULL) where it is open here, else NULL. */
static struct cache_file *open_here(struct share *s, struct cache_file *f)
{
    return f && opens_find(s, f) ? f : NULL;
}

/* ---- remove ---- */

static int remove_by_name(struct share *s, struct target *t, bool is_dir, struct error *err)
{
    int r;
    do {
        r = client_remove(s->client, t->path, is_dir, &t->ask.keys, s->style, err);
    } while (r < 0 && promise_again(s, &t->ask, err));
    return r;
}

int share_remove(struct share *s, struct share_node *dir, const char *name, bool is_dir,
                 struct error *err)
{
    struct target t;
    struct hidden hidden;
    struct error e = {0};
    pthread_mutex_lock(&s->lock);
    struct cache_file *file = cache_peek(s->cache, dir, name, strlen(name));
    delay_settle(s, file);
    if (file)
        promise_give_up(s, file, false);
    int r = aim(s, dir, name, file, false, &t, &e);
    struct cache_file *open = r == 0 && !is_dir ? open_here(s, file) : NULL;
    if (is_dir)
        watch_dirs_make_way(s, dir, name);
    pthread_mutex_unlock(&s->lock);
    if (open) {
        r = hide(s, &t, &hidden, &e);
        if (r == 0)
            r = hidden_remove(s, &hidden, t.path, &e);
    } else if (r == 0) {
        r = remove_by_name(s, &t, is_dir, &e);
    }
    pthread_mutex_lock(&s->lock);
    if (r == 0)
        cache_removed(s->cache, t.dir, t.name, t.len, t.ticket, clock_now());
    else if (t.path)
        learn_missing(s, &t, &e);
    if (open && r == 0)
        opens_hidden(s, open);
    target_done(s, &t, r == 0);
    if (file)
        cache_file_unref(s->cache, file);
    pthread_mutex_unlock(&s->lock);
    if (r < 0)
        give_error(err, &e);
    return r;
}

/* ---- rename ---- */

struct move {
    struct target from, to;
    bool replace;
    bool from_is_dir, from_known; /* as far as it is known here */
    struct cache_file
        *replaced; /* what is open here and stands at the target; a reference, or NULL */
};

/* What stands at a target: 1 a directory, 0 not, or an error. */
static int target_is_dir(struct share *s, const struct target *t)
{
    struct share_entry e;
    int r = share_lookup(s, t->dir, t->name, &e, NULL);
    if (r < 0)
        return r;
    share_node_unref(s, e.node);
    return file_attr_is_dir(&e.attr);
}

static int rename_once(struct share *s, struct move *m, bool replace, struct file_attr *ret_attr,
                       struct error *err)
{
    struct target *t = &m->from;
    unsigned tried = 0;
    int r;
    do {
        r = client_rename(s->client, t->path, m->to.path, replace, &t->ask.keys, s->style, ret_attr,
                          err);
    } while (r < 0 && (promise_again(s, &t->ask, err) ||
                       (err->status == STATUS_DELETE_PENDING &&
                        share_name_gets_free(s, m->to.path, err, &tried))));
    return r;
}

/* With the lock: what those who looked have left open by leases. */
static void looks_make_way(struct share *s, const struct target *from)
{
    struct cache_file *f = cache_peek(s->cache, from->dir, from->name, from->len);
    if (!f)
        return;
    promise_give_up(s, f, cache_file_is_dir(f));
    cache_file_unref(s->cache, f);
}

/* Once more where it may have been refused for nothing but somebody's look. */
static int rename_by_name(struct share *s, struct move *m, bool replace, struct file_attr *ret_attr,
                          struct error *err)
{
    pthread_mutex_lock(&s->lock);
    struct looks_mark mark = looks_mark(s);
    pthread_mutex_unlock(&s->lock);
    int r = rename_once(s, m, replace, ret_attr, err);
    if (r != -EACCES)
        return r;
    pthread_mutex_lock(&s->lock);
    bool again = looks_keep_off(s, mark);
    if (again)
        looks_make_way(s, &m->from);
    pthread_mutex_unlock(&s->lock);
    if (!again)
        return r;
    r = rename_once(s, m, replace, ret_attr, err);
    pthread_mutex_lock(&s->lock);
    looks_go_on(s);
    pthread_mutex_unlock(&s->lock);
    return r;
}

/* What stands at the target is taken away by a request of its own. */
static uint64_t own_goes(struct share *s, const struct target *t)
{
    pthread_mutex_lock(&s->lock);
    uint64_t own = own_begins(s, t->dir, t->name, false);
    watch_dirs_make_way(s, t->dir, t->name);
    pthread_mutex_unlock(&s->lock);
    return own;
}

static void own_went(struct share *s, uint64_t own, bool done)
{
    pthread_mutex_lock(&s->lock);
    own_ends(s, own, done);
    pthread_mutex_unlock(&s->lock);
}

static int replace_open(struct share *s, struct move *m, struct file_attr *ret_attr,
                        struct error *err)
{
    struct hidden hidden;
    uint64_t own = own_goes(s, &m->to);
    int r = hide(s, &m->to, &hidden, err);
    own_went(s, own, r == 0);
    if (r < 0)
        return r;
    r = rename_by_name(s, m, false, ret_attr, err);
    if (r < 0)
        hidden_give_back(s, &hidden, m->to.path);
    else /* it has lost its name; at worst the hidden one stays */
        hidden_remove(s, &hidden, hidden.path, NULL);
    return r;
}

/* Whether it is not the source that a rename was refused for: nothing that stands at the target is
 * touched in vain. */
static bool may_move(struct share *s, struct move *m)
{
    struct client_file *open;
    if (open_to_remove(s, m->from.path, &m->from.ask.keys, &open, NULL) < 0)
        return false;
    client_close(open, s->style, NULL, NULL);
    return true;
}

/* The name is taken, or may not be: a server replaces no directory, and tells too little why. */
static int replace_what_is_there(struct share *s, struct move *m, int refused,
                                 struct file_attr *ret_attr, struct error *err)
{
    int from = target_is_dir(s, &m->from), to = target_is_dir(s, &m->to);
    if (from < 0 || to < 0)
        return refused;
    if (from && !to)
        return error_set(err, -ENOTDIR, 0, "%s: not a directory", m->to.name);
    if (to && !from)
        return error_set(err, -EISDIR, 0, "%s: is a directory", m->to.name);
    if (from) { /* one empty directory may be replaced by another */
        uint64_t own = own_goes(s, &m->to);
        int r = remove_by_name(s, &m->to, true, err);
        own_went(s, own, r == 0);
        if (r < 0)
            return r;
    }
    int r = rename_by_name(s, m, !from, ret_attr, err);
    return r == -EACCES && !from && may_move(s, m) ? replace_open(s, m, ret_attr, err) : r;
}

static int move(struct share *s, struct move *m, struct file_attr *ret_attr, struct error *err)
{
    if (m->replaced)
        return replace_open(s, m, ret_attr, err);
    bool outright = m->replace && m->from_known && !m->from_is_dir;
    int r = rename_by_name(s, m, outright, ret_attr, err);
    bool in_the_way = r == -EEXIST || r == -EACCES || r == -EISDIR || r == -ENOTEMPTY;
    return m->replace && in_the_way ? replace_what_is_there(s, m, r, ret_attr, err) : r;
}

/* With the lock, not while handles of ours that would be in the way are closed. */
static int aim_move(struct share *s, struct move *m, struct cache_file *from_dir, const char *from,
                    struct cache_file *to_dir, const char *to, struct error *err)
{
    struct cache_file *source = cache_peek(s->cache, from_dir, from, strlen(from));
    struct cache_file *target = cache_peek(s->cache, to_dir, to, strlen(to));
    delay_settle(s, source); /* the replies tell attributes */
    delay_settle(s, target);
    m->from_known = source != NULL;
    m->from_is_dir = source && cache_file_is_dir(source);
    if (source)
        promise_give_up(s, source, m->from_is_dir);
    watch_dirs_make_way(s, from_dir, from);
    if (target && target != source)
        promise_give_up(s, target, false);
    if (m->replace && target && target != source && opens_find(s, target))
        m->replaced = cache_file_ref(target);
    int r = aim(s, from_dir, from, source, false, &m->from, err);
    if (r == 0)
        r = aim(s, to_dir, to, target, true, &m->to, err);
    if (source)
        cache_file_unref(s->cache, source);
    if (target)
        cache_file_unref(s->cache, target);
    return r;
}

/* With the lock. */
static void commit_move(struct share *s, const struct move *m, struct file_attr *attr)
{
    struct cache_file *source = cache_peek(s->cache, m->from.dir, m->from.name, m->from.len);
    const struct file_attr *heard = source ? cache_file_heard(source) : NULL;
    if (heard) {
        attr->id = attr->id ? attr->id : heard->id;
        attr->links = heard->links;
        attr->reparse_tag = heard->reparse_tag;
    }
    bool told = attr->attributes != 0;
    if (source)
        own_modifies(s, source); /* servers tell that, too */
    cache_renamed(s->cache, m->from.dir, m->from.name, m->from.len, m->to.dir, m->to.name,
                  m->to.len, told ? attr : NULL, m->from.ticket, clock_now());
    if (source)
        cache_file_unref(s->cache, source);
}

int share_rename(struct share *s, struct share_node *from_dir, const char *from,
                 struct share_node *to_dir, const char *to, bool replace, struct error *err)
{
    struct move m = {.replace = replace};
    struct file_attr attr = {0};
    struct error e = {0};
    pthread_mutex_lock(&s->lock);
    int r = aim_move(s, &m, from_dir, from, to_dir, to, &e);
    pthread_mutex_unlock(&s->lock);
    if (r == 0)
        r = move(s, &m, &attr, &e);
    pthread_mutex_lock(&s->lock);
    if (r == 0)
        commit_move(s, &m, &attr);
    if (r == 0 && m.replaced)
        opens_hidden(s, m.replaced);
    if (m.replaced)
        cache_file_unref(s->cache, m.replaced);
    target_done(s, &m.from, r == 0);
    target_done(s, &m.to, r == 0);
    pthread_mutex_unlock(&s->lock);
    if (r < 0)
        give_error(err, &e);
    return r;
}

/* ---- attributes ---- */

/* The terms of SET_INFO. Attributes are set all at once there, so that the others must be known: by
 * `f` (may be NULL) of what has no name any more. */
static int basic_of(struct share *s, struct cache_file *n, struct share_file *f,
                    const struct share_change *change, struct client_basic *ret, struct error *err)
{
    *ret = (struct client_basic){
        .created = change->created, .accessed = change->accessed, .written = change->written};
    if (!change->attributes_on && !change->attributes_off)
        return 0;
    struct share_entry now;
    int r = share_getattr(s, n, &now, err);
    if (r < 0 && f)
        r = share_file_getattr(s, n, f, &now, err);
    if (r < 0)
        return r;
    uint32_t attributes = (now.attr.attributes | change->attributes_on) & ~change->attributes_off;
    if (attributes == now.attr.attributes)
        return 0;
    attributes &= ~(uint32_t)(FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT);
    ret->attributes = attributes ? attributes : FILE_ATTRIBUTE_NORMAL;
    return 0;
}

static bool says_something(const struct client_basic *b)
{
    return b->created || b->accessed || b->written || b->attributes;
}

static int set_by_name(struct share *s, const char *path, const struct share_change *change,
                       const struct client_basic *basic, const struct client_keys *keys,
                       struct file_attr *ret_attr, struct error *err)
{
    int r = 0;
    if (change->set_size)
        r = client_set_size(s->client, path, change->size, keys, s->style, ret_attr, err);
    if (r == 0 && says_something(basic))
        r = client_set_basic(s->client, path, basic, keys, s->style, ret_attr, err);
    return r;
}

/* A CLOSE under way of an open that wrote would set the time of its writing after this: its answer
 * is waited for. *ret_again: not under that name, but there is another one. */
static int change_by_one_name(struct share *s, struct cache_file *n,
                              const struct share_change *change, const struct client_basic *basic,
                              struct share_entry *ret, bool *ret_again, struct error *err)
{
    char *path;
    struct file_attr attr;
    struct promise_ask ask;
    *ret_again = false;
    pthread_mutex_lock(&s->lock);
    promise_give_up(s, n, false); /* times that are set stay for as long as anything is open */
    if (basic->written)
        closings_settle(s, n);
    own_modifies(s, n);
    int r = share_wire_path(s, n, NULL, 0, &path, err);
    if (r == 0)
        promise_ask(s, n, NULL, 0, &ask);
    struct cache_ticket ticket = cache_ask(s->cache, clock_now());
    pthread_mutex_unlock(&s->lock);
    if (r < 0)
        return r;
    struct error e;
    do {
        e = (struct error){0};
        r = set_by_name(s, path, change, basic, &ask.keys, &attr, &e);
    } while (r < 0 && promise_again(s, &ask, &e));
    pthread_mutex_lock(&s->lock);
    promise_answer_none(s, &ask);
    uint64_t until = 0;
    if (r == 0 && attr.attributes)
        until = share_own_attr(s, n, &attr, ticket);
    else
        cache_own_attr(s->cache, n, NULL, cache_ask(s->cache, clock_now()), clock_now());
    if (r < 0 && share_says_missing(&e))
        *ret_again = share_forget_path(s, n, path);
    if (r == 0)
        share_entry_of(n, &attr, until, ret);
    pthread_mutex_unlock(&s->lock);
    free(path);
    if (r < 0)
        give_error(err, &e);
    return r == 0 && !attr.attributes ? share_getattr(s, n, ret, err) : r;
}

static int change_by_name(struct share *s, struct cache_file *n, const struct share_change *change,
                          const struct client_basic *basic, struct share_entry *ret,
                          struct error *err)
{
    bool again = true;
    int r = 0;
    while (again)
        r = change_by_one_name(s, n, change, basic, ret, &again, err);
    return r;
}

/* Times that are set by the open that writes stay as they were set when it is closed. */
static int change_by_open(struct share *s, struct cache_file *n, struct share_file *f,
                          const struct share_change *change, const struct client_basic *basic,
                          struct share_entry *ret, struct error *err)
{
    int r = 0;
    own_writes(s, n);
    if (change->set_size)
        r = client_file_set_size(f->open, change->size, err);
    if (r == 0 && says_something(basic))
        r = client_file_set_basic(f->open, basic, err);
    pthread_mutex_lock(&s->lock);
    f->wrote = true;
    own_modifies(s, n);
    cache_own_attr(s->cache, n, NULL, cache_ask(s->cache, clock_now()), clock_now());
    pthread_mutex_unlock(&s->lock);
    return r < 0 ? r : share_file_getattr(s, n, f, ret, err);
}

/* Another open that wrote would set the time of its writing when it is closed. */
static void keep_times(struct share *s, struct cache_file *n, const struct share_file *f,
                       const struct client_basic *basic)
{
    enum { MOST = 16 };
    struct share_file *other[MOST];
    const struct client_basic times = {.accessed = basic->accessed, .written = basic->written};
    size_t count = basic->written ? opens_that_wrote(s, n, f, other, MOST) : 0;
    for (size_t i = 0; i < count; i++) {
        client_file_set_basic(other[i]->open, &times, NULL);
        opens_io_end(s, other[i]);
    }
}

/* A size and times that are set are what stays: what was written before is. A time that was set
 * stays for as long as anybody has the file open, whatever is changed by others (Samba): no handle
 * of ours that nobody uses has to. */
static void set_aside(struct share *s, struct cache_file *n, const struct share_change *change)
{
    pthread_mutex_lock(&s->lock);
    delay_settle(s, n);
    if (change->written)
        promise_give_up(s, n, false);
    pthread_mutex_unlock(&s->lock);
}

int share_change(struct share *s, struct share_node *n, struct share_file *f,
                 const struct share_change *change, struct share_entry *ret, struct error *err)
{
    struct client_basic basic;
    struct share_entry state;
    bool wanted = ret;
    if (!ret)
        ret = &state;
    set_aside(s, n, change);
    int r = basic_of(s, n, f, change, &basic, err);
    if (r < 0)
        return r;
    if (!change->set_size && !says_something(&basic))
        return share_getattr(s, n, ret, err);
    if (f && f->how & SHARE_WRITE)
        r = change_by_open(s, n, f, change, &basic, ret, err);
    else
        r = change_by_name(s, n, change, &basic, ret, err);
    if (r == 0)
        keep_times(s, n, f, &basic);
    if (change->set_size) {
        pthread_mutex_lock(&s->lock);
        struct share_file *any = opens_find(s, n);
        if (any)
            opens_changed(s, any);
        pthread_mutex_unlock(&s->lock);
    }
    if (r == 0 && wanted)
        share_mark_link(s, n, ret);
    return r;
}

/* ---- by path ---- */

int share_parent(struct share *s, const char *path, struct share_node **ret_dir,
                 char name[static SHARE_NAME_MAX], struct error *err)
{
    char *clean;
    const char *last;
    size_t len;
    int r = share_clean_path(path, &clean, err);
    if (r < 0)
        return r;
    if (!*clean) {
        free(clean);
        return error_set(err, -EINVAL, 0, "the top of the share is no name in a directory");
    }
    pthread_mutex_lock(&s->lock);
    r = share_walk(s, clean, strlen(clean), ret_dir, &last, &len);
    pthread_mutex_unlock(&s->lock);
    if (r == 0) {
        memcpy(name, last, len); /* share_clean_path's components fit */
        name[len] = 0;
    } else {
        error_set(err, r, 0, "%s: %s", path, strerror(-r));
    }
    free(clean);
    return r;
}
