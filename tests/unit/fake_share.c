/* See fake_share.h. */
#include "fake_share.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define NODES (FAKE_FILES + 16)
#define TIME  133500000000000000ull /* a FILETIME of 2024 */

struct cache_file {
    uint64_t serial;
    const struct cache_file *parent;
    char name[16];
    struct file_attr attr;
    char content[128];
};

struct share_listing {
    const struct cache_file *dir;
    size_t count;
    struct cache_file **entries;
};

struct share_file {
    struct cache_file *node;
};

struct share {
    pthread_mutex_t lock;
    struct share_options options;
    uint64_t valid_ns;
    atomic_uint slow_ms;
    void (*hook)(void *user, const char *name);
    void *hook_user;
    struct cache_file nodes[NODES];
    size_t node_count;
    struct fake_counts counts;
    unsigned held;
};

static struct cache_file *add(struct share *s, const struct cache_file *parent, const char *name,
                              uint32_t attributes, const char *content)
{
    struct cache_file *f = &s->nodes[s->node_count];
    *f = (struct cache_file){.serial = s->node_count++, .parent = parent};
    snprintf(f->name, sizeof(f->name), "%s", name);
    snprintf(f->content, sizeof(f->content), "%s", content);
    f->attr = (struct file_attr){.id = 1000 + f->serial,
                                 .attributes = attributes,
                                 .size = strlen(content),
                                 .allocated = 4096,
                                 .written = TIME + 1234567,
                                 .accessed = TIME,
                                 .changed = TIME};
    return f;
}

struct share *fake_share_new(uint64_t valid_ns)
{
    struct share *s = calloc(1, sizeof(*s));
    pthread_mutex_init(&s->lock, NULL);
    s->valid_ns = valid_ns;
    s->options.settings.kernel_cache = valid_ns > 0;
    struct cache_file *root = add(s, NULL, "", FILE_ATTRIBUTE_DIRECTORY, "");
    struct cache_file *many = add(s, root, "many", FILE_ATTRIBUTE_DIRECTORY, "");
    add(s, root, "empty", FILE_ATTRIBUTE_DIRECTORY, "");
    add(s, root, "hello", FILE_ATTRIBUTE_ARCHIVE, "hello, world\n");
    add(s, root, "readonly", FILE_ATTRIBUTE_READONLY, "x");
    for (int i = 0; i < FAKE_FILES; i++) {
        char name[16], content[128] = "";
        snprintf(name, sizeof(name), "f%04d", i);
        memset(content, 'c', (size_t)(i % 100));
        add(s, many, name, FILE_ATTRIBUTE_NORMAL, content);
    }
    return s;
}

struct share *fake_share_free(struct share *s)
{
    pthread_mutex_destroy(&s->lock);
    free(s);
    return NULL;
}

void fake_share_slow(struct share *s, unsigned ms)
{
    s->slow_ms = ms;
}

void fake_share_hook(struct share *s, void (*look_up)(void *user, const char *name), void *user)
{
    s->hook = look_up;
    s->hook_user = user;
}

void fake_share_change(struct share *s, const char *content)
{
    pthread_mutex_lock(&s->lock);
    struct cache_file *f = &s->nodes[3];
    snprintf(f->content, sizeof(f->content), "%s", content);
    f->attr.size = strlen(content);
    f->attr.written += 10000000;
    pthread_mutex_unlock(&s->lock);
}

void fake_share_add(struct share *s)
{
    pthread_mutex_lock(&s->lock);
    add(s, &s->nodes[2], "new", FILE_ATTRIBUTE_NORMAL, "");
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

/* ---- share.h ---- */

static struct share_entry entry_of(struct share *s, struct cache_file *f)
{
    return (struct share_entry){
        .node = f, .attr = f->attr, .ino = f->attr.id, .valid_ns = s->valid_ns, .exact = true};
}

struct share_node *share_root(struct share *s)
{
    return &s->nodes[0];
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
    if (s->slow_ms)
        usleep(s->slow_ms * 1000);
    int rc = -ENOENT;
    pthread_mutex_lock(&s->lock);
    s->counts.lookups++;
    *ret = (struct share_entry){.valid_ns = s->valid_ns};
    for (size_t i = 0; i < s->node_count && rc < 0; i++) {
        struct cache_file *f = &s->nodes[i];
        if (f->parent == dir && strcasecmp(f->name, name) == 0) {
            *ret = entry_of(s, f);
            ret->exact = strcmp(f->name, name) == 0;
            s->held++;
            rc = 0;
        }
    }
    pthread_mutex_unlock(&s->lock);
    return rc;
}

int share_getattr(struct share *s, struct share_node *n, struct share_entry *ret, struct error *err)
{
    pthread_mutex_lock(&s->lock);
    s->counts.getattrs++;
    *ret = entry_of(s, n);
    ret->node = NULL;
    pthread_mutex_unlock(&s->lock);
    return 0;
}

int share_list(struct share *s, struct share_node *dir, struct share_listing **ret,
               struct error *err)
{
    if (!file_attr_is_dir(&dir->attr))
        return -ENOTDIR;
    struct share_listing *l = calloc(1, sizeof(*l));
    pthread_mutex_lock(&s->lock);
    s->counts.lists++;
    s->held++;
    l->dir = dir;
    l->entries = calloc(s->node_count, sizeof(*l->entries));
    for (size_t i = 0; i < s->node_count; i++)
        if (s->nodes[i].parent == dir)
            l->entries[l->count++] = &s->nodes[i];
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
    strcpy(name, l->entries[i]->name);
    return &l->entries[i]->attr;
}

int share_listing_adopt(struct share *s, struct share_listing *l, size_t i, struct share_entry *ret)
{
    pthread_mutex_lock(&s->lock);
    s->counts.adopts++;
    s->held++;
    *ret = entry_of(s, l->entries[i]);
    pthread_mutex_unlock(&s->lock);
    return 0;
}

void share_listing_free(struct share *s, struct share_listing *l)
{
    pthread_mutex_lock(&s->lock);
    s->held--;
    pthread_mutex_unlock(&s->lock);
    free(l->entries);
    free(l);
}

int share_open(struct share *s, struct share_node *n, unsigned how, struct share_file **ret,
               struct share_entry *ret_entry, struct error *err)
{
    struct share_file *f = calloc(1, sizeof(*f));
    pthread_mutex_lock(&s->lock);
    s->counts.opens++;
    s->counts.opens_with_data += (how & SHARE_WANT_DATA) != 0;
    s->held++;
    f->node = n;
    *ret_entry = entry_of(s, n);
    ret_entry->node = NULL;
    pthread_mutex_unlock(&s->lock);
    *ret = f;
    return 0;
}

int64_t share_read(struct share *s, struct share_file *f, void *buf, size_t len, uint64_t offset,
                   struct error *err)
{
    pthread_mutex_lock(&s->lock);
    s->counts.reads++;
    uint64_t size = f->node->attr.size;
    size_t n = offset < size ? size - offset : 0;
    if (n > len)
        n = len;
    memcpy(buf, f->node->content + (n ? offset : 0), n);
    pthread_mutex_unlock(&s->lock);
    return (int64_t)n;
}

int share_file_getattr(struct share *s, struct share_node *n, struct share_file *f,
                       struct share_entry *ret, struct error *err)
{
    pthread_mutex_lock(&s->lock);
    *ret = entry_of(s, f->node);
    ret->node = NULL;
    pthread_mutex_unlock(&s->lock);
    return 0;
}

void share_file_changed(struct share_file *f)
{
}

void share_close(struct share *s, struct share_file *f)
{
    pthread_mutex_lock(&s->lock);
    s->held--;
    pthread_mutex_unlock(&s->lock);
    free(f);
}

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

bool share_lost(struct share *s, struct error *ret_why)
{
    return false;
}

void share_check_caches(struct share *s, void (*line)(void *user, const char *text), void *user)
{
}

const struct share_options *share_get_options(const struct share *s)
{
    return &s->options;
}
