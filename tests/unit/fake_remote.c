/* What others do to the share in memory, and what it is told of that (fake_share.h). */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "fake_inside.h"

/* With the lock. The directory and the last component of a path; a name that is there exactly. */
static struct cache_file *dir_of(struct share *s, const char *path, const char **ret_name)
{
    struct cache_file *dir = s->files[0];
    const char *slash;
    while ((slash = strchr(path, '/'))) {
        char name[FAKE_NAME];
        snprintf(name, sizeof(name), "%.*s", (int)(slash - path), path);
        struct fake_name *n = fake_find(s, dir, name);
        assert(n);
        dir = n->file;
        path = slash + 1;
    }
    *ret_name = path;
    return dir;
}

static struct fake_name *name_at(struct share *s, const char *path)
{
    const char *name;
    struct cache_file *dir = dir_of(s, path, &name);
    struct fake_name *n = fake_find(s, dir, name);
    return n && strcmp(n->name, name) == 0 ? n : NULL;
}

static struct cache_file *file_at(struct share *s, const char *path)
{
    struct fake_name *n = *path ? name_at(s, path) : NULL;
    assert(n || !*path);
    return n ? n->file : s->files[0];
}

static void put(struct share *s, const char *path, uint32_t attributes, const char *content)
{
    const char *name;
    pthread_mutex_lock(&s->lock);
    struct fake_name *before = name_at(s, path);
    if (before) {
        before->file->gone = true;
        *before = s->names[--s->name_count];
    }
    struct cache_file *dir = dir_of(s, path, &name);
    fake_add(s, dir, name, attributes, content);
    pthread_mutex_unlock(&s->lock);
}

void fake_remote_file(struct share *s, const char *path, const char *content)
{
    put(s, path, FILE_ATTRIBUTE_ARCHIVE, content);
}

void fake_remote_dir(struct share *s, const char *path)
{
    put(s, path, FILE_ATTRIBUTE_DIRECTORY, "");
}

void fake_remote_write(struct share *s, const char *path, const char *content)
{
    pthread_mutex_lock(&s->lock);
    struct cache_file *f = file_at(s, path);
    struct file_attr before = f->attr;
    fake_set_size(f, 0);
    fake_set_content(f, 0, content, strlen(content));
    if (f->attr.size == before.size)
        f->attr.written = before.written;
    pthread_mutex_unlock(&s->lock);
}

void fake_remote_remove(struct share *s, const char *path)
{
    pthread_mutex_lock(&s->lock);
    struct fake_name *n = name_at(s, path);
    assert(n);
    n->file->gone = true;
    *n = s->names[--s->name_count];
    pthread_mutex_unlock(&s->lock);
}

void fake_remote_move(struct share *s, const char *from, const char *to)
{
    const char *name;
    pthread_mutex_lock(&s->lock);
    struct fake_name *n = name_at(s, from);
    assert(n);
    n->dir = dir_of(s, to, &name);
    snprintf(n->name, sizeof(n->name), "%s", name);
    pthread_mutex_unlock(&s->lock);
}

/* ---- what is told ---- */

void share_listen(struct share *s, const struct share_listener *listener)
{
    pthread_mutex_lock(&s->lock);
    s->listener = listener ? *listener : (struct share_listener){0};
    pthread_mutex_unlock(&s->lock);
}

void fake_tell_name(struct share *s, const char *path)
{
    const char *name;
    pthread_mutex_lock(&s->lock);
    const struct cache_file *dir = dir_of(s, path, &name);
    s->listener.name_changed(s->listener.user, dir, name, strlen(name));
    pthread_mutex_unlock(&s->lock);
}

void fake_tell_names(struct share *s, const char *path)
{
    pthread_mutex_lock(&s->lock);
    s->listener.names_changed(s->listener.user, file_at(s, path));
    pthread_mutex_unlock(&s->lock);
}

void fake_tell_node(struct share *s, const char *path)
{
    pthread_mutex_lock(&s->lock);
    s->listener.node_changed(s->listener.user, file_at(s, path));
    pthread_mutex_unlock(&s->lock);
}

void fake_age_node(struct share *s, const char *path)
{
    pthread_mutex_lock(&s->lock);
    s->listener.node_aged(s->listener.user, file_at(s, path));
    pthread_mutex_unlock(&s->lock);
}

void fake_tell_all(struct share *s)
{
    pthread_mutex_lock(&s->lock);
    s->listener.all_changed(s->listener.user);
    pthread_mutex_unlock(&s->lock);
}

bool fake_share_is_heard(struct share *s)
{
    pthread_mutex_lock(&s->lock);
    bool heard = s->listener.all_changed;
    pthread_mutex_unlock(&s->lock);
    return heard;
}
