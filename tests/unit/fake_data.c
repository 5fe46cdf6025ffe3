/* The fake share's files: opens, data, locks. See fake_share.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fake_inside.h"

struct share_file {
    struct cache_file *node;
    unsigned how;
};

void fake_set_size(struct cache_file *f, uint64_t size)
{
    f->content = realloc(f->content, size + 1);
    if (size > f->attr.size)
        memset(f->content + f->attr.size, 0, size - f->attr.size);
    f->attr.size = size;
    f->attr.written += 10000000;
}

void fake_set_content(struct cache_file *f, uint64_t offset, const void *data, size_t len)
{
    fake_set_size(f, offset + len > f->attr.size ? offset + len : f->attr.size);
    memcpy(f->content + offset, data, len);
}

struct share_file *fake_open(struct share *s, struct cache_file *f, unsigned how)
{
    struct share_file *file = calloc(1, sizeof(*file));
    s->counts.opens++;
    s->counts.opens_with_data += (how & SHARE_WANT_DATA) != 0;
    s->held++;
    *file = (struct share_file){.node = f, .how = how};
    if (how & SHARE_TRUNCATE)
        fake_set_size(f, 0);
    return file;
}

int share_open(struct share *s, struct share_node *n, unsigned how, struct share_file **ret,
               struct share_entry *ret_entry, struct error *err)
{
    int rc = 0;
    pthread_mutex_lock(&s->lock);
    if (n->gone)
        rc = -ESTALE;
    else if (how & SHARE_WRITE && n->attr.attributes & FILE_ATTRIBUTE_READONLY)
        rc = -EACCES;
    else if (s->write_only && how & SHARE_READ)
        rc = -EACCES;
    if (rc == 0) {
        *ret = fake_open(s, n, how);
        *ret_entry = fake_entry(s, n);
    }
    pthread_mutex_unlock(&s->lock);
    return rc;
}

int64_t share_read(struct share *s, struct share_file *f, void *buf, size_t len, uint64_t offset,
                   struct error *err)
{
    fake_wait(s);
    pthread_mutex_lock(&s->lock);
    s->counts.reads++;
    if (len > s->counts.largest_read)
        s->counts.largest_read = len;
    uint64_t size = f->node->attr.size;
    size_t n = offset < size ? size - offset : 0;
    if (n > len)
        n = len;
    memcpy(buf, f->node->content + (n ? offset : 0), n);
    pthread_mutex_unlock(&s->lock);
    return (int64_t)n;
}

int share_read_bytes(struct share *s, struct share_file *f, size_t len, uint64_t offset,
                     struct bytes *ret, struct error *err)
{
    void *buf = malloc(len ? len : 1);
    if (!buf)
        return -ENOMEM;
    *ret = (struct bytes){buf, (size_t)share_read(s, f, buf, len, offset, err), free, buf};
    return 0;
}

int64_t share_write(struct share *s, struct share_file *f, const void *buf, size_t len,
                    uint64_t offset, struct error *err)
{
    fake_wait(s);
    int64_t n = s->fail;
    pthread_mutex_lock(&s->lock);
    s->counts.writes++;
    if (len > s->counts.largest_write)
        s->counts.largest_write = len;
    if (s->write_max && len > s->write_max)
        len = s->write_max;
    if (!(f->how & SHARE_WRITE))
        n = -EBADF;
    if (n == 0) {
        fake_set_content(f->node, offset, buf, len);
        n = (int64_t)len;
    }
    pthread_mutex_unlock(&s->lock);
    return n;
}

int share_flush(struct share *s, struct share_file *f, struct error *err)
{
    return s->fail;
}

int share_fsync(struct share *s, struct share_file *f, bool to_disk, struct error *err)
{
    return s->fail;
}

int share_file_getattr(struct share *s, struct share_node *n, struct share_file *f,
                       struct share_entry *ret, struct error *err)
{
    pthread_mutex_lock(&s->lock);
    *ret = fake_entry(s, f->node);
    pthread_mutex_unlock(&s->lock);
    return 0;
}

static atomic_uint files_changed;

void share_file_changed(struct share_file *f)
{
    files_changed++;
}

unsigned fake_share_files_changed(void)
{
    return files_changed;
}

bool share_file_writes(const struct share_file *f)
{
    return f->how & SHARE_WRITE;
}

bool share_hides(struct share *s)
{
    return false; /* none of the files here stays under a hidden name */
}

void share_close(struct share *s, struct share_file *f)
{
    pthread_mutex_lock(&s->lock);
    s->held--;
    pthread_mutex_unlock(&s->lock);
    free(f);
}

int share_allocate(struct share *s, struct share_file *f, uint64_t end, bool grow,
                   struct error *err)
{
    int rc = s->fail;
    pthread_mutex_lock(&s->lock);
    if (rc == 0 && end > f->node->attr.allocated)
        f->node->attr.allocated = end;
    if (rc == 0 && grow && end > f->node->attr.size)
        fake_set_size(f->node, end);
    pthread_mutex_unlock(&s->lock);
    return rc;
}

int share_punch_hole(struct share *s, struct share_file *f, uint64_t offset, uint64_t len,
                     struct error *err)
{
    int rc = s->fail;
    pthread_mutex_lock(&s->lock);
    uint64_t size = f->node->attr.size;
    for (uint64_t i = offset; rc == 0 && i < offset + len && i < size; i++)
        f->node->content[i] = 0;
    pthread_mutex_unlock(&s->lock);
    return rc;
}

/* Data is what is not 0. */
int share_seek(struct share *s, struct share_file *f, uint64_t offset, bool hole,
               uint64_t *ret_offset, struct error *err)
{
    pthread_mutex_lock(&s->lock);
    uint64_t size = f->node->attr.size, at = offset;
    while (at < size && (f->node->content[at] == 0) != hole)
        at++;
    pthread_mutex_unlock(&s->lock);
    if (offset >= size || (at == size && !hole))
        return -ENXIO;
    *ret_offset = at;
    return 0;
}

int64_t share_copy(struct share *s, struct share_file *from, uint64_t from_offset,
                   struct share_file *to, uint64_t to_offset, uint64_t len, struct error *err)
{
    if (s->fail)
        return s->fail;
    pthread_mutex_lock(&s->lock);
    uint64_t size = from->node->attr.size;
    uint64_t n = from_offset < size ? size - from_offset : 0;
    if (n > len)
        n = len;
    char *copy = malloc(n + 1);
    memcpy(copy, from->node->content + (n ? from_offset : 0), n);
    fake_set_content(to->node, to_offset, copy, n);
    free(copy);
    pthread_mutex_unlock(&s->lock);
    return (int64_t)n;
}

/* ---- locks: no splitting and merging, a range is locked and unlocked as it is ---- */

static struct share_lock *conflict(struct cache_file *f, const struct share_lock *l)
{
    for (size_t i = 0; i < FAKE_LOCKS; i++) {
        struct share_lock *held = &f->locks[i];
        if (held->type != SHARE_UNLOCK && held->owner != l->owner && held->start <= l->end &&
            l->start <= held->end &&
            (held->type == SHARE_LOCK_EXCLUSIVE || l->type == SHARE_LOCK_EXCLUSIVE))
            return held;
    }
    return NULL;
}

static int try_lock(struct share *s, struct cache_file *f, const struct share_lock *l)
{
    int rc = -ENOLCK;
    pthread_mutex_lock(&s->lock);
    s->counts.locks++;
    if (l->type != SHARE_UNLOCK && conflict(f, l))
        rc = -EAGAIN;
    for (size_t i = 0; i < FAKE_LOCKS && rc == -ENOLCK; i++) {
        struct share_lock *at = &f->locks[i];
        bool same = at->type != SHARE_UNLOCK && at->owner == l->owner && at->start == l->start;
        if (!same && (l->type == SHARE_UNLOCK || at->type != SHARE_UNLOCK))
            continue;
        *at = *l;
        rc = 0;
    }
    pthread_mutex_unlock(&s->lock);
    return l->type == SHARE_UNLOCK ? 0 : rc;
}

int share_lock(struct share *s, struct share_file *f, const struct share_lock *lock, bool wait,
               bool (*gone)(void *user), void *user, struct error *err)
{
    fake_wait(s);
    int rc;
    while ((rc = try_lock(s, f->node, lock)) == -EAGAIN && wait) {
        if (gone(user))
            return -EINTR;
        usleep(5000);
    }
    return rc;
}

int share_lock_test(struct share *s, struct share_file *f, struct share_lock *inout,
                    struct error *err)
{
    pthread_mutex_lock(&s->lock);
    const struct share_lock *held = conflict(f->node, inout);
    if (held)
        *inout = *held;
    else
        inout->type = SHARE_UNLOCK;
    pthread_mutex_unlock(&s->lock);
    return 0;
}

void share_lock_release(struct share *s, struct share_file *f, uint64_t owner)
{
    pthread_mutex_lock(&s->lock);
    s->counts.lock_releases++;
    for (size_t i = 0; i < FAKE_LOCKS; i++)
        if (f->node->locks[i].owner == owner)
            f->node->locks[i].type = SHARE_UNLOCK;
    pthread_mutex_unlock(&s->lock);
}
