/*
 * The table of nodes (node.h): one hash by number, one lock.
 *
 * Look-ups and forgets of one node may run at the same time. Whichever comes first, the counts add
 * up: where the forget empties the node just before it is handed out again, the table gets a new
 * node with the same number, since the number is the share_node's own.
 */
#include "mount/node.h"
#include "base/clock.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/list.h"
#include "mount/known.h"

#define FIRST_ID 2 /* of serial 0; below it are none and the root */

struct node *nodes_find(const struct nodes *n, fuse_ino_t id)
{
    for (struct hash_node *h = hash_first(&n->by_id, hash_u64(id)); h; h = hash_next(h)) {
        struct node *node = container_of(h, struct node, by_id);
        if (node->id == id)
            return node;
    }
    return NULL;
}

int nodes_init(struct nodes *n, struct share *share, struct share_node *root)
{
    const struct settings *o = &share_get_options(share)->settings;
    uint64_t age = o->cache_max_age > o->file_info_cache_lifetime ? o->cache_max_age
                                                                  : o->file_info_cache_lifetime;
    *n = (struct nodes){.share = share, .pages_age = age * NS_PER_SEC};
    n->root = (struct node){.id = FUSE_ROOT_ID, .share = root, .lookups = 1, .is_dir = true};
    hash_init(&n->by_id);
    if (hash_add(&n->by_id, &n->root.by_id, hash_u64(FUSE_ROOT_ID)) < 0) {
        share_node_unref(share, root);
        return -ENOMEM;
    }
    pthread_mutex_init(&n->lock, NULL);
    known_init(n);
    known_node_init(n, &n->root);
    return 0;
}

void nodes_done(struct nodes *n)
{
    struct hash_node *next = hash_each(&n->by_id, NULL);
    while (next) {
        struct node *node = container_of(next, struct node, by_id);
        next = hash_each(&n->by_id, next);
        share_node_unref(n->share, node->share);
        known_node_done(n, node);
        if (node != &n->root)
            free(node);
    }
    known_done(n);
    hash_done(&n->by_id);
    pthread_mutex_destroy(&n->lock);
}

fuse_ino_t nodes_id(const struct nodes *n, const struct share_node *share)
{
    return share == n->root.share ? FUSE_ROOT_ID : share_node_serial(share) + FIRST_ID;
}

struct node *nodes_get(struct nodes *n, fuse_ino_t id)
{
    pthread_mutex_lock(&n->lock);
    struct node *node = nodes_find(n, id);
    pthread_mutex_unlock(&n->lock);
    return node;
}

struct node *nodes_hold(struct nodes *n, fuse_ino_t id)
{
    pthread_mutex_lock(&n->lock);
    struct node *node = nodes_find(n, id);
    if (node && node != &n->root)
        node->lookups++;
    pthread_mutex_unlock(&n->lock);
    return node;
}

/* With the lock. */
static struct node *node_new(struct nodes *n, uint64_t id, struct share_node *share, bool is_dir)
{
    struct node *node = malloc(sizeof(*node));
    if (!node)
        return NULL;
    *node = (struct node){.id = id, .share = share, .is_dir = is_dir};
    if (hash_add(&n->by_id, &node->by_id, hash_u64(id)) < 0) {
        free(node);
        return NULL;
    }
    known_node_init(n, node);
    return node;
}

int nodes_enter(struct nodes *n, struct share_node *share, uint64_t ino, bool is_dir,
                fuse_ino_t *ret_id)
{
    fuse_ino_t id = share_node_serial(share) + FIRST_ID;

    pthread_mutex_lock(&n->lock);
    struct node *node = nodes_find(n, id);
    bool known = node;
    if (!known)
        node = node_new(n, id, share, is_dir);
    if (node) {
        node->lookups++;
        node->ino = ino;
    }
    pthread_mutex_unlock(&n->lock);

    if (known || !node)
        share_node_unref(n->share, share);
    if (!node)
        return -ENOMEM;
    *ret_id = id;
    return 0;
}

void nodes_forget(struct nodes *n, fuse_ino_t id, uint64_t lookups)
{
    if (id == FUSE_ROOT_ID)
        return;

    struct node *gone = NULL;
    pthread_mutex_lock(&n->lock);
    struct node *node = nodes_find(n, id);
    if (node) {
        node->lookups -= lookups < node->lookups ? lookups : node->lookups;
        if (node->lookups == 0) {
            hash_del(&n->by_id, &node->by_id);
            known_node_done(n, node);
            gone = node;
        }
    }
    pthread_mutex_unlock(&n->lock);

    if (gone) {
        share_node_unref(n->share, gone->share);
        free(gone);
    }
}

size_t nodes_count(struct nodes *n)
{
    pthread_mutex_lock(&n->lock);
    size_t count = n->by_id.count - 1;
    pthread_mutex_unlock(&n->lock);
    return count;
}

void nodes_set_ino(struct nodes *n, struct node *node, uint64_t ino)
{
    pthread_mutex_lock(&n->lock);
    node->ino = ino;
    pthread_mutex_unlock(&n->lock);
}

uint64_t nodes_ino(struct nodes *n, const struct node *node)
{
    pthread_mutex_lock(&n->lock);
    uint64_t ino = node->ino;
    pthread_mutex_unlock(&n->lock);
    return ino;
}

bool nodes_pages_whole(struct nodes *n, const struct node *node)
{
    pthread_mutex_lock(&n->lock);
    bool whole = node->pages.known && node->pages.to_the_end;
    pthread_mutex_unlock(&n->lock);
    return whole;
}

void nodes_tell(struct nodes *n, struct node *node, const struct file_attr *attr)
{
    pthread_mutex_lock(&n->lock);
    node->told = (struct node_told){.written = attr->written, .size = attr->size};
    pthread_mutex_unlock(&n->lock);
}

bool nodes_told_otherwise(struct nodes *n, const struct node *node, const struct file_attr *attr)
{
    pthread_mutex_lock(&n->lock);
    bool otherwise = node->told.written != attr->written || node->told.size != attr->size;
    pthread_mutex_unlock(&n->lock);
    return otherwise;
}

/* Whether times and size are enough, or more than they speaks for it. */
static bool may_be_kept(const struct nodes *n, const struct node_pages *p,
                        const struct file_attr *attr, enum share_vouched vouched, uint64_t now)
{
    if (vouched == SHARE_KEPT)
        return true;
    bool settled = vouched == SHARE_ALONE || now - p->vouched_at <= n->pages_age;
    return vouched != SHARE_CONTENDED && settled && p->created == attr->created;
}

bool nodes_pages_keep(struct nodes *n, struct node *node, const struct file_attr *attr,
                      enum share_vouched vouched)
{
    uint64_t now = clock_now();
    pthread_mutex_lock(&n->lock);
    struct node_pages *p = &node->pages;
    bool same = p->known && may_be_kept(n, p, attr, vouched, now) && p->written == attr->written &&
                p->changed == attr->changed && p->size == attr->size;
    if (!same)
        *p = (struct node_pages){.known = vouched != SHARE_CONTENDED,
                                 .created = attr->created,
                                 .written = attr->written,
                                 .changed = attr->changed,
                                 .size = attr->size};
    if (!same || vouched >= SHARE_ALONE)
        p->vouched_at = now;
    pthread_mutex_unlock(&n->lock);
    return same;
}

void nodes_pages_read(struct nodes *n, struct node *node, uint64_t end)
{
    pthread_mutex_lock(&n->lock);
    if (node->pages.known && end >= node->pages.size)
        node->pages.to_the_end = true;
    pthread_mutex_unlock(&n->lock);
}

void nodes_data_changed(struct nodes *n, struct node *node)
{
    pthread_mutex_lock(&n->lock);
    node->changes++;
    node->pages.known = false;
    node->told.size = UINT64_MAX; /* of no file: whatever is told next is something else */
    pthread_mutex_unlock(&n->lock);
}

uint64_t nodes_data_changes(struct nodes *n, const struct node *node)
{
    pthread_mutex_lock(&n->lock);
    uint64_t changes = node->changes;
    pthread_mutex_unlock(&n->lock);
    return changes;
}
