/*
 * What opens are for: reading, writing, room and holes, copies on the server. A write makes the
 * file's attributes unknown (the server sets the times, and some set them late), and what came
 * along with any open of the file old. Under a WRITE lease it is delayed (delay.h); whatever else
 * is done with the data has that written first. Else a write is the server's when it returns.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/ntstatus.h"
#include "share/delay.h"

/* ---- reading ---- */

void share_file_changed(struct share_file *f)
{
    pthread_mutex_lock(&f->lock);
    free(f->first);
    f->first = NULL;
    pthread_mutex_unlock(&f->lock);
}

bool share_file_writes(const struct share_file *f)
{
    return f->how & SHARE_WRITE;
}

/* Serves from what came with the open. -1: it cannot. */
static int64_t read_first(struct share_file *f, void *buf, size_t len, uint64_t offset)
{
    int64_t r = -1;
    pthread_mutex_lock(&f->lock);
    if (f->first && clock_now() < f->first_until &&
        (offset + len <= f->first_len || f->first_is_all) && offset <= UINT64_MAX - len) {
        size_t at = offset < f->first_len ? (size_t)offset : f->first_len;
        size_t n = f->first_len - at < len ? f->first_len - at : len;
        memcpy(buf, f->first + at, n);
        r = (int64_t)n;
        if (at <= f->first_read && at + n > f->first_read)
            f->first_read = at + n;
        if (f->first_read == f->first_len && !f->first_is_all) {
            free(f->first);
            f->first = NULL;
        }
    }
    pthread_mutex_unlock(&f->lock);
    return r;
}

/* Whether a request failed because a lock was taken by another open meanwhile: it goes through that
 * one then. */
static bool locked_out(struct share *s, const struct share_file *through, struct share_file *f,
                       unsigned need, const struct error *why)
{
    if (why->status != STATUS_FILE_LOCK_CONFLICT)
        return false;
    struct share_file *now = opens_io_begin(s, f, need);
    bool other = now != through;
    opens_io_end(s, now);
    return other;
}

int64_t share_read(struct share *s, struct share_file *f, void *buf, size_t len, uint64_t offset,
                   struct error *err)
{
    int64_t n = read_first(f, buf, len, offset);
    if (n >= 0)
        return n;
    struct error e = {0};
    struct share_file *through;
    delay_flush(s, f->file); /* its error is the writer's */
    do {
        through = opens_io_begin(s, f, SHARE_READ);
        n = client_read(through->open, buf, len, offset, &e);
        opens_io_end(s, through);
    } while (n < 0 && locked_out(s, through, f, SHARE_READ, &e));
    if (n < 0 && err)
        *err = e;
    return n;
}

/* Whether what came with the open is there still. */
static bool has_first(struct share_file *f)
{
    pthread_mutex_lock(&f->lock);
    bool has = f->first;
    pthread_mutex_unlock(&f->lock);
    return has;
}

static bool read_first_bytes(struct share_file *f, size_t len, uint64_t offset, struct bytes *ret)
{
    void *buf = has_first(f) ? malloc(len ? len : 1) : NULL;
    int64_t n = buf ? read_first(f, buf, len, offset) : -1;
    if (n < 0)
        free(buf);
    else
        *ret = (struct bytes){buf, (size_t)n, free, buf};
    return n >= 0;
}

int share_read_bytes(struct share *s, struct share_file *f, size_t len, uint64_t offset,
                     struct bytes *ret, struct error *err)
{
    if (read_first_bytes(f, len, offset, ret))
        return 0;
    struct error e = {0};
    struct share_file *through;
    int r;
    delay_flush(s, f->file); /* its error is the writer's */
    do {
        through = opens_io_begin(s, f, SHARE_READ);
        r = client_read_bytes(through->open, len, offset, ret, &e);
        opens_io_end(s, through);
    } while (r < 0 && locked_out(s, through, f, SHARE_READ, &e));
    if (r < 0 && err)
        *err = e;
    return r;
}

/* With the lock. Of a file that has lost all its names a server leaves out only the one that this
 * open goes by; the other hidden ones are no links to anybody either. */
static void discount_hidden(struct share *s, const struct share_file *f, struct file_attr *attr)
{
    char *path;
    unsigned others = f->opened && f->opened->hidden ? f->opened->hidden - 1 : 0;
    if (!others || !attr->links)
        return;
    if (share_wire_path(s, f->file, NULL, 0, &path, NULL) == 0) {
        free(path);
        return;
    }
    attr->links -= others < attr->links ? others : attr->links;
    attr->unlinked = attr->links == 0;
}

int share_file_getattr(struct share *s, struct share_node *n, struct share_file *f,
                       struct share_entry *ret, struct error *err)
{
    struct file_attr attr;
    pthread_mutex_lock(&s->lock);
    delay_settle(s, f->file);
    struct cache_ticket ticket = cache_ask(s->cache, clock_now());
    pthread_mutex_unlock(&s->lock);
    int r = client_file_stat(f->open, &attr, err);
    if (r < 0)
        return r;
    pthread_mutex_lock(&s->lock);
    discount_hidden(s, f, &attr);
    uint64_t until = cache_commit_attr(s->cache, n, &attr, ticket, clock_now());
    share_entry_of(n, &attr, until, ret);
    pthread_mutex_unlock(&s->lock);
    share_mark_link(s, n, ret);
    return 0;
}

/* ---- writing ---- */

void share_changed_by(struct share *s, struct share_file *f)
{
    f->wrote = true;
    opens_changed(s, f);
    own_modifies(s, f->file);
    cache_own_attr(s->cache, f->file, NULL, cache_ask(s->cache, clock_now()), clock_now());
}

/* After the request, so that what another open brought along meanwhile is dropped, too. */
static void changed_by(struct share *s, struct share_file *f)
{
    pthread_mutex_lock(&s->lock);
    share_changed_by(s, f);
    pthread_mutex_unlock(&s->lock);
}

int64_t share_write_now(struct share *s, struct share_file *f, const void *buf, size_t len,
                        uint64_t offset, struct error *err)
{
    int64_t n;
    struct error e = {0};
    struct share_file *through;
    own_writes(s, f->file);
    do {
        through = opens_io_begin(s, f, SHARE_WRITE);
        n = client_write(through->open, buf, len, offset, &e);
        opens_io_end(s, through);
    } while (n < 0 && locked_out(s, through, f, SHARE_WRITE, &e));
    changed_by(s, f); /* also after an error: some of it may have been written */
    if (n < 0 && err)
        *err = e;
    return n;
}

/* `r`: the error of what was delayed before. */
static int late(int r, struct error *err)
{
    return r < 0 ? error_set(err, r, 0, "what was written before is lost: %s", strerror(-r)) : 0;
}

int64_t share_write(struct share *s, struct share_file *f, const void *buf, size_t len,
                    uint64_t offset, struct error *err)
{
    size_t taken = f->delays ? delay_write(s, f, buf, len, offset) : 0;
    if (taken == len)
        return (int64_t)len;
    delay_flush(s, f->file); /* older data first */
    int64_t n = taken ? 0 : late(delay_write_error(s, f), err);
    if (n == 0)
        n = share_write_now(s, f, (const uint8_t *)buf + taken, len - taken, offset + taken, err);
    if (n < 0 && taken)
        n = 0;
    return n < 0 ? n : (int64_t)taken + n;
}

int share_flush(struct share *s, struct share_file *f, struct error *err)
{
    delay_flush(s, f->file);
    return late(delay_error(s, f), err);
}

int share_fsync(struct share *s, struct share_file *f, bool to_disk, struct error *err)
{
    delay_flush(s, f->file);
    int r = late(delay_sync_error(s, f), err);
    if (r < 0 || !to_disk)
        return r;
    pthread_mutex_lock(&s->lock);
    bool wrote = f->wrote;
    pthread_mutex_unlock(&s->lock);
    return wrote ? client_flush(f->open, err) : 0;
}

/* ---- room and holes ---- */

int share_allocate(struct share *s, struct share_file *f, uint64_t end, bool grow,
                   struct error *err)
{
    struct file_attr attr;
    own_writes(s, f->file);
    delay_flush(s, f->file);
    int r = client_file_stat(f->open, &attr, err);
    if (r == 0 && end > attr.allocated && end <= attr.size) /* SMB has no way to fill a hole */
        r = error_set(err, -EOPNOTSUPP, 0, "room inside a sparse file cannot be asked for");
    if (r == 0 && end > attr.allocated)
        r = client_file_allocate(f->open, end, err);
    if (r == 0 && grow && end > attr.size)
        r = client_file_set_size(f->open, end, err);
    changed_by(s, f);
    return r;
}

int share_punch_hole(struct share *s, struct share_file *f, uint64_t offset, uint64_t len,
                     struct error *err)
{
    struct file_attr attr;
    delay_flush(s, f->file);
    int r = client_file_stat(f->open, &attr, err);
    if (r < 0 || offset >= attr.size)
        return r;
    if (len > attr.size - offset)
        len = attr.size - offset; /* the size stays */
    own_writes(s, f->file);
    r = client_punch_hole(f->open, offset, len, err);
    changed_by(s, f);
    return r;
}

int share_seek(struct share *s, struct share_file *f, uint64_t offset, bool hole,
               uint64_t *ret_offset, struct error *err)
{
    struct file_attr attr;
    delay_flush(s, f->file);
    int r = client_file_stat(f->open, &attr, err);
    if (r < 0)
        return r;
    if (offset >= attr.size)
        return error_set(err, -ENXIO, 0, "behind the end of the file");
    uint64_t at, len;
    for (uint64_t from = offset;; from = at + len) {
        r = client_allocated_range(f->open, from, attr.size, &at, &len, err);
        if (r == -EOPNOTSUPP || r == -EINVAL) { /* all data, and a hole behind it */
            *ret_offset = hole ? attr.size : offset;
            return 0;
        }
        if (r < 0)
            return r;
        if (len == 0 || at >= attr.size) { /* no data any more */
            *ret_offset = from;
            return hole ? 0 : error_set(err, -ENXIO, 0, "no data behind this");
        }
        if (!hole || at > from) {
            *ret_offset = hole ? from : at > from ? at : from;
            return 0;
        }
        if (len > UINT64_MAX - at || at + len <= from)
            return error_set(err, -EBADMSG, 0, "the server's ranges make no sense");
        if (at + len >= attr.size) {
            *ret_offset = attr.size;
            return 0;
        }
    }
}

int64_t share_copy(struct share *s, struct share_file *from, uint64_t from_offset,
                   struct share_file *to, uint64_t to_offset, uint64_t len, struct error *err)
{
    delay_flush(s, to->file);
    int lost = delay_flush(s, from->file);
    if (lost < 0)
        return error_set(err, lost, 0, "copy: what was written to the source is lost: %s",
                         strerror(-lost));
    own_writes(s, to->file);
    int64_t n = client_copy(from->open, from_offset, to->open, to_offset, len, err);
    changed_by(s, to);
    return n;
}

/* ---- locks ---- */

/* With the lock: an open of this file that may read and write, NULL where there is none. */
static struct share_file *find_both(struct opened *o, struct share_file *first)
{
    const unsigned both = SHARE_READ | SHARE_WRITE;
    struct list *at;
    if (first->how == both)
        return first;
    list_for_each(at, &o->files)
    {
        struct share_file *f = container_of(at, struct share_file, link);
        if (f->how == both)
            return f;
    }
    return NULL;
}

/* The open that is to hold this file's locks on the server. It has to be one that can do whatever
 * any open can, also one that comes later; where no program has such a one, it is made. The caller
 * becomes a user of it, until opens_io_end. *ret_locks stays as long. */
static int lock_begin(struct share *s, struct share_file *f, struct share_file **ret_by,
                      struct locks **ret_locks, struct error *err)
{
    pthread_mutex_lock(&s->lock);
    struct opened *o = f->opened;
    if (!o->locks)
        o->locks = locks_new(&s->desk, s->options.byte_range_locks);
    *ret_locks = o->locks;
    struct share_file *by = *ret_locks ? find_both(o, f) : NULL;
    if (by)
        by->users++;
    pthread_mutex_unlock(&s->lock);
    if (!*ret_locks)
        return error_set(err, -ENOMEM, 0, "out of memory");
    if (!by && (!s->options.byte_range_locks || share_open_beside(s, f, &by) < 0)) {
        by = f; /* who may not write here has nobody here who does */
        pthread_mutex_lock(&s->lock);
        by->users++;
        pthread_mutex_unlock(&s->lock);
    }
    *ret_by = by;
    return 0;
}

/* What was kept for its locks alone may be closed now. */
static void lock_end(struct share *s, struct share_file *f, struct share_file *by)
{
    struct list closed;
    list_init(&closed);
    opens_io_end(s, by);
    pthread_mutex_lock(&s->lock);
    opens_sweep(s, f->opened, &closed); /* f is open: the entry stays */
    pthread_mutex_unlock(&s->lock);
    share_finish_closes(s, &closed);
}

/* Whoever had the range before may have written, and told so by letting go of it: nothing of the
 * file is believed from before the lock. */
static void see_anew(struct share *s, struct share_file *f)
{
    pthread_mutex_lock(&s->lock);
    opens_changed(s, f);
    cache_changed(s->cache, f->file, MISS_CHANGED);
    pthread_mutex_unlock(&s->lock);
}

int share_lock(struct share *s, struct share_file *f, const struct share_lock *lock, bool wait,
               bool (*gone)(void *user), void *user, struct error *err)
{
    struct share_file *by;
    struct locks *locks;
    delay_flush(s, f->file); /* who lets go of a range has it seen by all */
    int r = lock_begin(s, f, &by, &locks, err);
    if (r < 0)
        return r;
    r = locks_set(locks, by->open, lock, wait, gone, user, err);
    if (r == 0 && lock->type != SHARE_UNLOCK && s->options.byte_range_locks)
        see_anew(s, f);
    lock_end(s, f, by);
    return r;
}

int share_lock_test(struct share *s, struct share_file *f, struct share_lock *inout,
                    struct error *err)
{
    struct share_file *by;
    struct locks *locks;
    int r = lock_begin(s, f, &by, &locks, err);
    if (r < 0)
        return r;
    r = locks_test(locks, by->open, inout, err);
    lock_end(s, f, by);
    return r;
}

void share_lock_release(struct share *s, struct share_file *f, uint64_t owner)
{
    pthread_mutex_lock(&s->lock);
    struct locks *locks = f->opened->locks; /* stays while f is open */
    pthread_mutex_unlock(&s->lock);
    if (!locks)
        return;
    delay_flush(s, f->file);
    locks_release(locks, owner);
    struct list closed;
    list_init(&closed);
    pthread_mutex_lock(&s->lock);
    opens_sweep(s, f->opened, &closed);
    pthread_mutex_unlock(&s->lock);
    share_finish_closes(s, &closed);
}
