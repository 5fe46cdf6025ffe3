/* What fake_share.c and fake_data.c share. All but fake_wait with the share's lock. */
#ifndef LARDER_TESTS_FAKE_INSIDE_H
#define LARDER_TESTS_FAKE_INSIDE_H

#include <pthread.h>
#include <stdatomic.h>

#include "fake_share.h"

#define FAKE_NAME    256
#define FAKE_MAX     (FAKE_FILES + 2000)
#define FAKE_EMPTY   2 /* index of empty/ and hello in share->files */
#define FAKE_HELLO   3
#define FAKE_LOCKS   64
#define FAKE_WATCHES 16

struct cache_file {
    uint64_t serial;
    struct file_attr attr;
    char *content;
    bool is_link, gone;
    struct share_lock locks[FAKE_LOCKS]; /* type SHARE_UNLOCK: free */
};

struct fake_name {
    const struct cache_file *dir;
    struct cache_file *file;
    char name[FAKE_NAME];
};

struct share {
    pthread_mutex_t lock;
    struct share_options options;
    uint64_t valid_ns;
    atomic_uint slow_ms;
    atomic_int fail;
    atomic_size_t write_max;
    atomic_bool write_only;
    void (*hook)(void *user, const char *name);
    void *hook_user;
    struct cache_file *files[FAKE_MAX];
    size_t file_count;
    struct fake_name names[FAKE_MAX];
    size_t name_count;
    struct fake_counts counts;
    unsigned held;
    void (*hook_after)(void *user, const char *name); /* protected by lock */
    void *hook_after_user;                            /* protected by lock */
    struct share_listener listener;                   /* protected by lock */
    struct share_watch *watches[FAKE_WATCHES];
    unsigned watch_count;
    unsigned watches_own; /* so many do not ride */
    atomic_bool refuses_watches;
};

void fake_wait(struct share *s);
struct cache_file *fake_add(struct share *s, struct cache_file *dir, const char *name,
                            uint32_t attributes, const char *content);
struct share_entry fake_entry(struct share *s, struct cache_file *f);
struct fake_name *fake_find(struct share *s, const struct cache_file *dir, const char *name);
void fake_name(struct share *s, struct cache_file *dir, const char *name, struct cache_file *f);
struct share_file *fake_open(struct share *s, struct cache_file *f, unsigned how);
struct cache_file *fake_add(struct share *s, struct cache_file *dir, const char *name,
                            uint32_t attributes, const char *content);
void fake_drop_name(struct share *s, struct fake_name *n);
void fake_set_size(struct cache_file *f, uint64_t size);
void fake_set_content(struct cache_file *f, uint64_t offset, const void *data, size_t len);

#endif
