/* See fake_share.h. Names and attributes are here, data and locks in fake_data.c. */
#include "fake_share.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/clock.h"
#include "fake_inside.h"

#define TIME 133500000000000000ull /* a FILETIME of 2024 */

struct share_listing {
    size_t count;
    struct {
        char name[FAKE_NAME];
        struct cache_file *file;
        struct file_attr attr;
    } entries[];
};

struct cache_file *fake_add(struct share *s, struct cache_file *dir, const char *name,
                            uint32_t attributes, const char *content)
{
    struct cache_file *f = calloc(1, sizeof(*f));
    f->serial = s->file_count;
    f->attr = (struct file_attr){.id = 1000 + f->serial,
                                 .attributes = attributes,
                                 .links = 1,
                                 .allocated = 4096,
                                 .written = TIME + 1234567,
                                 .accessed = TIME,
                                 .changed = TIME};
    s->files[s->file_count++] = f;
    fake_set_content(f, 0, content, strlen(content));
    if (dir)
        fake_name(s, dir, name, f);
    return f;
}

void fake_name(struct share *s, struct cache_file *dir, const char *name, struct cache_file *f)
{
    struct fake_name *n = &s->names[s->name_count++];
    *n = (struct fake_name){.dir = dir, .file = f};
    snprintf(n->name, sizeof(n->name), "%s", name);
}

/* An exact spelling wins. */
struct fake_name *fake_find(struct share *s, const struct cache_file *dir, const char *name)
{
    struct fake_name *found = NULL;
    for (size_t i = 0; i < s->name_count; i++) {
        struct fake_name *n = &s->names[i];
        if (n->dir != dir || strcasecmp(n->name, name) != 0)
            continue;
        if (!found || strcmp(n->name, name) == 0)
            found = n;
    }
    return found;
}

struct share *fake_share_new(uint64_t valid_ns)
{
    struct share *s = calloc(1, sizeof(*s));
    pthread_mutex_init(&s->lock, NULL);
    s->valid_ns = valid_ns;
    s->watches_own = FAKE_WATCHES;
    s->options.settings.kernel_cache = valid_ns > 0;
    s->options.byte_range_locks = true;
    s->options.settings.file_info_cache_lifetime = (uint32_t)(valid_ns / NS_PER_SEC);
    struct cache_file *root = fake_add(s, NULL, "", FILE_ATTRIBUTE_DIRECTORY, "");
    struct cache_file *many = fake_add(s, root, "many", FILE_ATTRIBUTE_DIRECTORY, "");
    fake_add(s, root, "empty", FILE_ATTRIBUTE_DIRECTORY, "");
    fake_add(s, root, "hello", FILE_ATTRIBUTE_ARCHIVE, "hello, world\n");
    fake_add(s, root, "readonly", FILE_ATTRIBUTE_READONLY, "x");
    for (int i = 0; i < FAKE_FILES; i++) {
        char name[16], content[128] = "";
        snprintf(name, sizeof(name), "f%04d", i);
        memset(content, 'c', (size_t)(i % 100));
        fake_add(s, many, name, FILE_ATTRIBUTE_NORMAL, content);
    }
    return s;
}

struct share *fake_share_free(struct share *s)
{
    for (size_t i = 0; i < s->file_count; i++) {
        free(s->files[i]->content);
        free(s->files[i]);
    }
    pthread_mutex_destroy(&s->lock);
    free(s);
    return NULL;
}

/* ---- what tests do to it ---- */

void fake_share_slow(struct share *s, unsigned ms)
{
    s->slow_ms = ms;
}

void fake_share_hook(struct share *s, void (*look_up)(void *user, const char *name), void *user)
{
    s->hook = look_up;
    s->hook_user = user;
}

void fake_share_hook_after(struct share *s, void (*look_up)(void *user, const char *name),
                           void *user)
{
    pthread_mutex_lock(&s->lock);
    s->hook_after = look_up;
    s->hook_after_user = user;
    pthread_mutex_unlock(&s->lock);
}

void fake_share_fail(struct share *s, int code)
{
    s->fail = code;
}

void fake_share_write_only(struct share *s, bool on)
{
    s->write_only = on;
}

void fake_share_short_writes(struct share *s, size_t max)
{
    s->write_max = max;
}

void fake_share_change(struct share *s, const char *content)
{
    pthread_mutex_lock(&s->lock);
    struct cache_file *f = s->files[FAKE_HELLO];
    fake_set_size(f, 0);
    fake_set_content(f, 0, content, strlen(content));
    pthread_mutex_unlock(&s->lock);
}

void fake_share_append(struct share *s, const char *content)
{
    pthread_mutex_lock(&s->lock);
    struct cache_file *f = s->files[FAKE_HELLO];
    fake_set_content(f, f->attr.size, content, strlen(content));
    pthread_mutex_unlock(&s->lock);
}

char *fake_share_content(struct share *s, const char *name)
{
    char *copy = NULL;
    pthread_mutex_lock(&s->lock);
    struct fake_name *n = fake_find(s, s->files[0], name);
    if (n) {
        copy = calloc(1, n->file->attr.size + 1);
        memcpy(copy, n->file->content, n->file->attr.size);
    }
    pthread_mutex_unlock(&s->lock);
    return copy;
}

uint32_t fake_share_attributes(struct share *s, const char *name)
{
    pthread_mutex_lock(&s->lock);
    struct fake_name *n = fake_find(s, s->files[0], name);
    uint32_t attributes = n ? n->file->attr.attributes : 0;
    pthread_mutex_unlock(&s->lock);
    return attributes;
}

void fake_share_add(struct share *s)
{
    pthread_mutex_lock(&s->lock);
    fake_add(s, s->files[FAKE_EMPTY], "new", FILE_ATTRIBUTE_NORMAL, "");
    pthread_mutex_unlock(&s->lock);
}

struct fake_counts fake_share_counts(struct share *s)
{
    pthread_mutex_lock(&s->lock);
    struct fake_counts c = s->counts;
    s->counts = (struct fake_counts){0};
    pthread_mutex_unlock(&s->lock);
    return c;
}

unsigned fake_share_held(struct share *s)
{
    pthread_mutex_lock(&s->lock);
    unsigned held = s->held;
    pthread_mutex_unlock(&s->lock);
    return held;
}

/* ---- share.h: nodes and look-ups ---- */

struct share_entry fake_entry(struct share *s, struct cache_file *f)
{
    return (struct share_entry){.attr = f->attr,
                                .ino = f->attr.id,
                                .valid_ns = s->valid_ns,
                                .exact = true,
                                .is_link = f->is_link};
}

/* With the lock. */
static void give(struct share *s, struct cache_file *f, struct share_entry *ret)
{
    *ret = fake_entry(s, f);
    ret->node = f;
    s->held++;
}

void fake_wait(struct share *s)
{
    unsigned ms = s->slow_ms;
    if (ms)
        usleep(ms * 1000);
}

struct share_node *share_root(struct share *s)
{
    return s->files[0];
}

void share_node_ref(struct share *s, struct share_node *n)
{
    pthread_mutex_lock(&s->lock);
    s->held++;
    pthread_mutex_unlock(&s->lock);
}

void share_node_unref(struct share *s, struct share_node *n)
{
    pthread_mutex_lock(&s->lock);
    s->held--;
    pthread_mutex_unlock(&s->lock);
}

uint64_t share_node_serial(const struct share_node *n)
{
    return n->serial;
}

int share_lookup(struct share *s, struct share_node *dir, const char *name, struct share_entry *ret,
                 struct error *err)
{
    if (s->hook)
        s->hook(s->hook_user, name);
    fake_wait(s);
    pthread_mutex_lock(&s->lock);
    s->counts.lookups++;
    *ret = (struct share_entry){.valid_ns = s->valid_ns};
    struct fake_name *n = fake_find(s, dir, name);
    if (n) {
        give(s, n->file, ret);
        ret->exact = strcmp(n->name, name) == 0;
    }
    void (*hook)(void *user, const char *name) = s->hook_after;
    void *user = s->hook_after_user;
    pthread_mutex_unlock(&s->lock);
    if (hook)
        hook(user, name);
    return n ? 0 : -ENOENT;
}

int share_lookup_anew(struct share *s, struct share_node *dir, const char *name,
                      struct share_entry *ret, struct error *err)
{
    pthread_mutex_lock(&s->lock);
    s->counts.anew++;
    pthread_mutex_unlock(&s->lock);
    return share_lookup(s, dir, name, ret, err);
}

int share_getattr(struct share *s, struct share_node *n, struct share_entry *ret, struct error *err)
{
    pthread_mutex_lock(&s->lock);
    s->counts.getattrs++;
    *ret = fake_entry(s, n);
    int rc = n->gone ? -ESTALE : 0;
    pthread_mutex_unlock(&s->lock);
    return rc;
}

int share_list(struct share *s, struct share_node *dir, struct share_listing **ret,
               struct error *err)
{
    if (!file_attr_is_dir(&dir->attr))
        return -ENOTDIR;
    pthread_mutex_lock(&s->lock);
    struct share_listing *l = calloc(1, sizeof(*l) + s->name_count * sizeof(l->entries[0]));
    s->counts.lists++;
    s->held++;
    for (size_t i = 0; i < s->name_count; i++) {
        if (s->names[i].dir != dir)
            continue;
        strcpy(l->entries[l->count].name, s->names[i].name);
        l->entries[l->count].file = s->names[i].file;
        l->entries[l->count++].attr = s->names[i].file->attr;
    }
    pthread_mutex_unlock(&s->lock);
    *ret = l;
    return 0;
}

size_t share_listing_count(const struct share_listing *l)
{
    return l->count;
}

const struct file_attr *share_listing_entry(const struct share_listing *l, size_t i,
                                            char name[static SHARE_NAME_MAX])
{
    strcpy(name, l->entries[i].name);
    return &l->entries[i].attr;
}

int share_listing_adopt(struct share *s, struct share_listing *l, size_t i, struct share_entry *ret)
{
    pthread_mutex_lock(&s->lock);
    s->counts.adopts++;
    give(s, l->entries[i].file, ret);
    pthread_mutex_unlock(&s->lock);
    return 0;
}

void share_listing_free(struct share *s, struct share_listing *l)
{
    pthread_mutex_lock(&s->lock);
    s->held--;
    pthread_mutex_unlock(&s->lock);
    free(l);
}

/* ---- share.h: changes ---- */

/* Begins a change: takes the lock, or fails as it was told to, without it. */
static int begin_change(struct share *s)
{
    fake_wait(s);
    pthread_mutex_lock(&s->lock);
    s->counts.changes++;
    int rc = s->fail;
    if (rc < 0)
        pthread_mutex_unlock(&s->lock);
    return rc;
}

/* With the lock, which it gives back. */
static int make(struct share *s, struct share_node *dir, const char *name, uint32_t attributes,
                const char *content, struct share_entry *ret)
{
    int rc = fake_find(s, dir, name) ? -EEXIST : 0;
    if (rc == 0)
        give(s, fake_add(s, dir, name, attributes, content), ret);
    pthread_mutex_unlock(&s->lock);
    return rc;
}

int share_mkdir(struct share *s, struct share_node *dir, const char *name, struct share_entry *ret,
                struct error *err)
{
    int rc = begin_change(s);
    return rc < 0 ? rc : make(s, dir, name, FILE_ATTRIBUTE_DIRECTORY, "", ret);
}

int share_symlink(struct share *s, struct share_node *dir, const char *name, const char *target,
                  struct share_entry *ret, struct error *err)
{
    int rc = begin_change(s);
    if (rc == 0)
        rc = make(s, dir, name, FILE_ATTRIBUTE_REPARSE_POINT, target, ret);
    if (rc == 0)
        ret->is_link = ret->node->is_link = true;
    return rc;
}

int share_read_link(struct share *s, struct share_node *n, char **ret, struct error *err)
{
    pthread_mutex_lock(&s->lock);
    *ret = n->is_link ? strndup(n->content, n->attr.size) : NULL;
    pthread_mutex_unlock(&s->lock);
    return *ret ? 0 : -EINVAL;
}

int share_link(struct share *s, struct share_node *n, struct share_node *dir, const char *name,
               struct share_entry *ret, struct error *err)
{
    int rc = begin_change(s);
    if (rc < 0)
        return rc;
    rc = fake_find(s, dir, name) ? -EEXIST : 0;
    if (rc == 0) {
        n->attr.links++;
        fake_name(s, dir, name, n);
        give(s, n, ret);
    }
    pthread_mutex_unlock(&s->lock);
    return rc;
}

static bool has_children(struct share *s, const struct cache_file *dir)
{
    for (size_t i = 0; i < s->name_count; i++)
        if (s->names[i].dir == dir)
            return true;
    return false;
}

void fake_drop_name(struct share *s, struct fake_name *n)
{
    n->file->gone = --n->file->attr.links == 0;
    *n = s->names[--s->name_count];
}

int share_remove(struct share *s, struct share_node *dir, const char *name, bool is_dir,
                 struct error *err)
{
    int rc = begin_change(s);
    if (rc < 0)
        return rc;
    struct fake_name *n = fake_find(s, dir, name);
    if (!n)
        rc = -ENOENT;
    else if (is_dir != file_attr_is_dir(&n->file->attr))
        rc = is_dir ? -ENOTDIR : -EISDIR;
    else if (has_children(s, n->file))
        rc = -ENOTEMPTY;
    else
        fake_drop_name(s, n);
    pthread_mutex_unlock(&s->lock);
    return rc;
}

int share_rename(struct share *s, struct share_node *from_dir, const char *from,
                 struct share_node *to_dir, const char *to, bool replace, struct error *err)
{
    int rc = begin_change(s);
    if (rc < 0)
        return rc;
    struct fake_name *n = fake_find(s, from_dir, from), *over = fake_find(s, to_dir, to);
    if (!n)
        rc = -ENOENT;
    else if (over && !replace)
        rc = -EEXIST;
    else if (over && has_children(s, over->file))
        rc = -ENOTEMPTY;
    if (rc == 0 && over) {
        fake_drop_name(s, over);
        n = fake_find(s, from_dir, from);
    }
    if (rc == 0) {
        n->dir = to_dir;
        snprintf(n->name, sizeof(n->name), "%s", to);
    }
    pthread_mutex_unlock(&s->lock);
    return rc;
}

int share_change(struct share *s, struct share_node *n, struct share_file *f,
                 const struct share_change *change, struct share_entry *ret, struct error *err)
{
    int rc = begin_change(s);
    if (rc < 0)
        return rc;
    if (change->set_size)
        fake_set_size(n, change->size);
    if (change->written)
        n->attr.written = change->written;
    if (change->accessed)
        n->attr.accessed = change->accessed;
    n->attr.attributes |= change->attributes_on;
    n->attr.attributes &= ~change->attributes_off;
    *ret = fake_entry(s, n);
    pthread_mutex_unlock(&s->lock);
    return 0;
}

int share_create(struct share *s, struct share_node *dir, const char *name, unsigned how,
                 uint32_t attributes, struct share_file **ret, struct share_entry *ret_entry,
                 bool *ret_created, struct error *err)
{
    int rc = begin_change(s);
    if (rc < 0)
        return rc;
    struct fake_name *n = fake_find(s, dir, name);
    if (n && how & SHARE_EXCLUSIVE)
        rc = -EEXIST;
    else if (n && file_attr_is_dir(&n->file->attr))
        rc = -EISDIR;
    else if (s->write_only && how & SHARE_READ)
        rc = -EACCES;
    if (rc == 0) {
        struct cache_file *f = n ? n->file : fake_add(s, dir, name, attributes, "");
        bool exact = !n || strcmp(n->name, name) == 0;
        *ret = fake_open(s, f, how);
        give(s, f, ret_entry);
        ret_entry->exact = exact;
    }
    pthread_mutex_unlock(&s->lock);
    return rc;
}

/* ---- share.h: to look at ---- */

int share_statfs(struct share *s, struct share_statfs *ret, struct error *err)
{
    pthread_mutex_lock(&s->lock);
    s->counts.statfs++;
    pthread_mutex_unlock(&s->lock);
    *ret = (struct share_statfs){.total_bytes = 1 << 20,
                                 .free_bytes = 1 << 19,
                                 .available_bytes = 1 << 18,
                                 .block_size = 4096,
                                 .name_max = 255};
    return 0;
}

json_t *share_stats(struct share *s)
{
    return json_pack("{s:s}", "profile", "fake");
}

/* The path as it came, byte by byte. */
static json_t *bytes_of(const char *path)
{
    json_t *all = json_array();
    for (; *path; path++)
        json_array_append_new(all, json_integer((unsigned char)*path));
    return all;
}

int share_explain(struct share *s, const char *path, json_t **ret, struct error *err)
{
    if (strcmp(path, "refused") == 0)
        return error_set(err, -EINVAL, 0, "not \xff here");
    *ret = json_pack("{s:o}", "explained", bytes_of(path));
    return 0;
}

int share_drop(struct share *s, const char *path, json_t **ret, struct error *err)
{
    *ret = json_pack("{s:o}", "dropped", bytes_of(path));
    return 0;
}

void share_hurry(struct share *s)
{
}

bool share_lost(struct share *s, struct error *ret_why)
{
    return false;
}

void share_outages(struct share *s, struct share_outages *ret)
{
    *ret = (struct share_outages){0};
}

void share_tell_outages(struct share *s, void (*changed)(void *user), void *user)
{
}

void share_lost_data(struct share *s, void (*line)(void *user, const char *text), void *user)
{
}

void share_check_caches(struct share *s, void (*line)(void *user, const char *text), void *user)
{
}

const struct share_options *share_get_options(const struct share *s)
{
    return &s->options;
}
