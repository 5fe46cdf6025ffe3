/* See fake_share.h: directories that are watched, and paths. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_inside.h"

struct share_watch {
    struct share *share;
    struct share_node *dir;
    share_notice_fn *fn;
    void *user;
    bool rides;
};

/* ---- share.h ---- */

int share_watch_dir(struct share *s, struct share_node *dir, share_notice_fn *fn, void *user,
                    struct share_watch **ret, struct error *err)
{
    int rc = 0;
    pthread_mutex_lock(&s->lock);
    s->counts.watches++;
    if (s->watch_count == FAKE_WATCHES || s->refuses_watches)
        rc = error_set(err, s->refuses_watches ? -EOPNOTSUPP : -EMFILE, 0, "no watch of this one");
    if (rc == 0) {
        struct share_watch *w = malloc(sizeof(*w));
        *w = (struct share_watch){s, dir, fn, user, s->watch_count >= s->watches_own};
        s->watches[s->watch_count++] = *ret = w;
        s->held++;
    }
    pthread_mutex_unlock(&s->lock);
    return rc;
}

bool share_watch_rides(const struct share_watch *w)
{
    return w->rides;
}

struct share_watch *share_watch_end(struct share_watch *w)
{
    if (!w)
        return NULL;
    struct share *s = w->share;
    pthread_mutex_lock(&s->lock);
    for (unsigned i = 0; i < s->watch_count; i++)
        if (s->watches[i] == w)
            s->watches[i] = s->watches[--s->watch_count];
    s->held--;
    pthread_mutex_unlock(&s->lock);
    free(w);
    return NULL;
}

int share_peek_dir(struct share *s, struct share_node *dir, const char *name,
                   struct share_entry *ret)
{
    pthread_mutex_lock(&s->lock);
    const struct fake_name *n = fake_find(s, dir, name);
    bool is_dir = n && file_attr_is_dir(&n->file->attr);
    if (is_dir) {
        *ret = fake_entry(s, n->file);
        ret->valid_ns = 0;
        ret->node = n->file;
        s->held++;
    }
    pthread_mutex_unlock(&s->lock);
    return is_dir ? 0 : -ENOENT;
}

static int path_of(const struct share *s, const struct share_node *n, char *ret, size_t cap)
{
    *ret = 0;
    if (n == s->files[0])
        return 0;
    for (size_t i = 0; i < s->name_count; i++) {
        if (s->names[i].file != n)
            continue;
        int len = path_of(s, s->names[i].dir, ret, cap);
        return len < 0 ? len
                       : len + snprintf(ret + len, cap - (size_t)len, "%s%s", len ? "/" : "",
                                        s->names[i].name);
    }
    return -ESTALE;
}

int share_node_path(struct share *s, const struct share_node *n, char *ret, size_t cap)
{
    pthread_mutex_lock(&s->lock);
    int len = path_of(s, n, ret, cap);
    pthread_mutex_unlock(&s->lock);
    return len;
}

bool share_node_is_dir(struct share *s, const struct share_node *n)
{
    return file_attr_is_dir(&n->attr);
}

int share_parent(struct share *s, const char *path, struct share_node **ret_dir,
                 char name[static SHARE_NAME_MAX], struct error *err)
{
    struct share_node *dir = s->files[0];
    pthread_mutex_lock(&s->lock);
    for (const char *slash; dir && (slash = strchr(path, '/')); path = slash + 1) {
        snprintf(name, SHARE_NAME_MAX, "%.*s", (int)(slash - path), path);
        const struct fake_name *n = fake_find(s, dir, name);
        dir = n ? n->file : NULL;
    }
    s->held += dir != NULL;
    pthread_mutex_unlock(&s->lock);
    snprintf(name, SHARE_NAME_MAX, "%s", path);
    *ret_dir = dir;
    return dir ? 0 : -ENOENT;
}

/* ---- what tests do to it ---- */

void fake_share_inotify(struct share *s, bool on)
{
    s->options.settings.inotify = on;
}

/* With the lock. */
static struct share_node *dir_at(struct share *s, const char *name)
{
    const struct fake_name *n = *name ? fake_find(s, s->files[0], name) : NULL;
    return n ? n->file : s->files[0];
}

bool fake_share_is_watched(struct share *s, const char *dir)
{
    bool is = false;
    pthread_mutex_lock(&s->lock);
    for (unsigned i = 0; i < s->watch_count; i++)
        is |= s->watches[i]->dir == dir_at(s, dir);
    pthread_mutex_unlock(&s->lock);
    return is;
}

void fake_share_own_watches(struct share *s, unsigned max)
{
    pthread_mutex_lock(&s->lock);
    s->watches_own = max;
    pthread_mutex_unlock(&s->lock);
}

void fake_share_refuse_watches(struct share *s, bool on)
{
    s->refuses_watches = on;
}

/* With the lock. */
static void notice(struct share *s, const struct share_node *dir, enum share_news news,
                   const char *name, const char *new_name, struct cache_file *before)
{
    for (unsigned i = 0; i < s->watch_count; i++) {
        struct share_watch *w = s->watches[i];
        struct share_notice n = {.news = news, .name = name, .new_name = new_name, .node = before};
        if (w->dir != dir)
            continue;
        if (before) {
            n.attr = before->attr;
            n.ino = before->attr.id;
        }
        s->held += w->fn(w->user, &n) && before;
    }
}

void fake_share_tell(struct share *s, const char *dir, enum share_news news, const char *name,
                     const char *new_name)
{
    pthread_mutex_lock(&s->lock);
    notice(s, dir_at(s, dir), news, name, new_name, NULL);
    pthread_mutex_unlock(&s->lock);
}

void fake_share_others_make(struct share *s, const char *dir, const char *name, uint32_t attributes)
{
    pthread_mutex_lock(&s->lock);
    struct cache_file *f = fake_add(s, dir_at(s, dir), name, attributes, "made by others");
    f->is_link = attributes & FILE_ATTRIBUTE_REPARSE_POINT;
    notice(s, dir_at(s, dir), SHARE_ADDED, name, NULL, NULL);
    pthread_mutex_unlock(&s->lock);
}

void fake_share_others_remove(struct share *s, const char *dir, const char *name)
{
    pthread_mutex_lock(&s->lock);
    struct fake_name *n = fake_find(s, dir_at(s, dir), name);
    struct cache_file *f = n->file;
    fake_drop_name(s, n);
    notice(s, dir_at(s, dir), SHARE_REMOVED, name, NULL, f);
    pthread_mutex_unlock(&s->lock);
}

void fake_share_forget(struct share *s, const char *name)
{
    pthread_mutex_lock(&s->lock);
    fake_drop_name(s, fake_find(s, s->files[0], name));
    notice(s, s->files[0], SHARE_REMOVED, name, NULL, NULL);
    pthread_mutex_unlock(&s->lock);
}

void fake_share_others_rename(struct share *s, const char *dir, const char *name,
                              const char *new_name)
{
    pthread_mutex_lock(&s->lock);
    struct fake_name *n = fake_find(s, dir_at(s, dir), name);
    snprintf(n->name, sizeof(n->name), "%s", new_name);
    notice(s, dir_at(s, dir), SHARE_RENAMED, name, new_name, n->file);
    pthread_mutex_unlock(&s->lock);
}

void fake_share_others_halves(struct share *s, const char *name, const char *new_name)
{
    pthread_mutex_lock(&s->lock);
    struct fake_name *n = fake_find(s, s->files[0], name);
    snprintf(n->name, sizeof(n->name), "%s", new_name);
    notice(s, s->files[0], SHARE_REMOVED, name, NULL, n->file);
    notice(s, s->files[0], SHARE_ADDED, new_name, NULL, NULL);
    pthread_mutex_unlock(&s->lock);
}

void fake_share_others_reuse(struct share *s, const char *name, const char *new_name,
                             uint32_t attributes)
{
    pthread_mutex_lock(&s->lock);
    struct fake_name *n = fake_find(s, s->files[0], name);
    struct cache_file *f = n->file;
    fake_drop_name(s, n);
    struct cache_file *next = fake_add(s, s->files[0], new_name, attributes, "");
    next->attr.id = f->attr.id;
    next->attr.created = f->attr.created + 1;
    notice(s, s->files[0], SHARE_REMOVED, name, NULL, f);
    notice(s, s->files[0], SHARE_ADDED, new_name, NULL, NULL);
    pthread_mutex_unlock(&s->lock);
}

void fake_share_others_write(struct share *s, const char *dir, const char *name,
                             const char *content)
{
    pthread_mutex_lock(&s->lock);
    struct cache_file *f = fake_find(s, dir_at(s, dir), name)->file;
    fake_set_size(f, 0);
    fake_set_content(f, 0, content, strlen(content));
    notice(s, dir_at(s, dir), SHARE_MODIFIED, name, NULL, f);
    pthread_mutex_unlock(&s->lock);
}
