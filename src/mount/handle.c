/* Open files and directories of a mount; see handle.h for why they stand in a table. */
#include "mount/handle.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/list.h"

#define SETTLE_NS (10 * NS_PER_MS)

void handles_init(struct handles *h, struct share *share, struct ahead *ahead)
{
    *h = (struct handles){.share = share, .ahead = ahead};
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&h->closed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&h->lock, NULL);
    hash_init(&h->by_node);
}

/* Of a handle that nobody else can find or has. */
static void destroy(struct share *share, struct handle *handle)
{
    if (handle->file)
        share_close(share, handle->file);
    if (handle->listing)
        share_listing_free(share, handle->listing);
    ahead_window_free(handle->window);
    pthread_mutex_destroy(&handle->lock);
    free(handle->owners);
    free(handle);
}

void handles_done(struct handles *h)
{
    struct hash_node *next = hash_each(&h->by_node, NULL);
    while (next) {
        struct handle *handle = container_of(next, struct handle, by_node);
        next = hash_each(&h->by_node, next);
        destroy(h->share, handle);
    }
    hash_done(&h->by_node);
    pthread_cond_destroy(&h->closed);
    pthread_mutex_destroy(&h->lock);
}

int handle_new(struct handles *h, fuse_ino_t node, struct share_file *file, struct handle **ret)
{
    struct handle *handle = calloc(1, sizeof(*handle));
    if (!handle)
        goto fail;
    handle->refs = 1;
    handle->node = node;
    handle->file = file;
    handle->window = file ? ahead_window_new(h->ahead) : NULL;

    pthread_mutex_lock(&h->lock);
    int rc = hash_add(&h->by_node, &handle->by_node, hash_u64(node));
    if (rc == 0 && file)
        h->files++;
    pthread_mutex_unlock(&h->lock);
    if (rc < 0)
        goto fail;
    pthread_mutex_init(&handle->lock, NULL);
    *ret = handle;
    return 0;

fail:
    if (handle)
        ahead_window_free(handle->window);
    free(handle);
    if (file)
        share_close(h->share, file);
    return -ENOMEM;
}

void handle_ref(struct handles *h, struct handle *handle)
{
    pthread_mutex_lock(&h->lock);
    handle->refs++;
    pthread_mutex_unlock(&h->lock);
}

void handle_unref(struct handles *h, struct handle *handle)
{
    pthread_mutex_lock(&h->lock);
    bool last = --handle->refs == 0, file = handle->file;
    pthread_mutex_unlock(&h->lock);
    if (!last)
        return;
    /* It is found no more, since whoever finds it makes sure that it has a reference; but it is
     * waited for until it is closed. */
    if (file)
        share_close(h->share, handle->file);
    handle->file = NULL;
    pthread_mutex_lock(&h->lock);
    hash_del(&h->by_node, &handle->by_node);
    h->files -= file;
    h->closings += file;
    pthread_cond_broadcast(&h->closed);
    pthread_mutex_unlock(&h->lock);
    destroy(h->share, handle);
}

/* The next handle of an open file of this node; NULL first and last. With the lock. */
static struct handle *next_of(const struct handles *h, fuse_ino_t node, const struct handle *after)
{
    struct hash_node *item =
        after ? hash_next(&after->by_node) : hash_first(&h->by_node, hash_u64(node));
    for (; item; item = hash_next(item)) {
        struct handle *handle = container_of(item, struct handle, by_node);
        if (handle->node == node && handle->refs > 0 && handle->file)
            return handle;
    }
    return NULL;
}

struct handle *handles_find(struct handles *h, fuse_ino_t node, bool writes)
{
    struct handle *found = NULL;
    int best = -1;
    pthread_mutex_lock(&h->lock);
    for (struct handle *at = next_of(h, node, NULL); at; at = next_of(h, node, at)) {
        int rank = share_file_writes(at->file) + atomic_load(&at->wrote);
        if (rank > best && (rank > 0 || !writes)) {
            found = at;
            best = rank;
        }
    }
    if (found)
        found->refs++;
    pthread_mutex_unlock(&h->lock);
    return found;
}

void handles_changed(struct handles *h, fuse_ino_t node, const struct handle *but)
{
    pthread_mutex_lock(&h->lock);
    for (struct handle *at = next_of(h, node, NULL); at; at = next_of(h, node, at))
        if (at != but) {
            share_file_changed(at->file);
            ahead_window_drop(at->window);
        }
    pthread_mutex_unlock(&h->lock);
}

bool handles_any_file(struct handles *h)
{
    pthread_mutex_lock(&h->lock);
    bool any = h->files > 0;
    pthread_mutex_unlock(&h->lock);
    return any;
}

void handle_flushed(struct handles *h, struct handle *handle)
{
    pthread_mutex_lock(&h->lock);
    handle->flushed = true;
    pthread_mutex_unlock(&h->lock);
}

/* With the lock. Handles without references are being closed. */
static bool may_be_released(const struct handles *h, fuse_ino_t node)
{
    struct hash_node *item = hash_first(&h->by_node, hash_u64(node));
    for (; item; item = hash_next(item)) {
        struct handle *at = container_of(item, struct handle, by_node);
        if (at->node == node &&
            (at->refs == 0 || at->flushed || (at->file && !share_file_writes(at->file))))
            return true;
    }
    return false;
}

void handles_settle(struct handles *h, fuse_ino_t node)
{
    uint64_t until = clock_now() + SETTLE_NS;
    const struct timespec at = {(time_t)(until / NS_PER_SEC), (long)(until % NS_PER_SEC)};
    pthread_mutex_lock(&h->lock);
    while (may_be_released(h, node) &&
           pthread_cond_timedwait(&h->closed, &h->lock, &at) != ETIMEDOUT)
        ;
    pthread_mutex_unlock(&h->lock);
}

uint64_t handles_closings(struct handles *h)
{
    pthread_mutex_lock(&h->lock);
    uint64_t n = h->closings;
    pthread_mutex_unlock(&h->lock);
    return n;
}

bool handles_closed_since(struct handles *h, uint64_t closings)
{
    uint64_t until = clock_now() + SETTLE_NS;
    const struct timespec at = {(time_t)(until / NS_PER_SEC), (long)(until % NS_PER_SEC)};
    pthread_mutex_lock(&h->lock);
    while (h->closings == closings && h->files > 0 &&
           pthread_cond_timedwait(&h->closed, &h->lock, &at) != ETIMEDOUT)
        ;
    bool any = h->closings != closings;
    pthread_mutex_unlock(&h->lock);
    return any;
}

/* With the lock. One that wrote and whose descriptor was closed; or that is being closed. */
static struct handle *next_leaving(const struct handles *h, fuse_ino_t node)
{
    struct hash_node *item = hash_first(&h->by_node, hash_u64(node));
    for (; item; item = hash_next(item)) {
        struct handle *at = container_of(item, struct handle, by_node);
        if (at->node == node && atomic_load(&at->wrote) && (at->refs == 0 || at->flushed))
            return at;
    }
    return NULL;
}

bool handles_settle_written(struct handles *h, fuse_ino_t node)
{
    struct handle *at;
    bool any = false, late = false;
    uint64_t until = clock_now() + SETTLE_NS;
    const struct timespec end = {(time_t)(until / NS_PER_SEC), (long)(until % NS_PER_SEC)};
    pthread_mutex_lock(&h->lock);
    while (!late && (at = next_leaving(h, node))) {
        any = true;
        late = pthread_cond_timedwait(&h->closed, &h->lock, &end) == ETIMEDOUT;
    }
    while (late && (at = next_leaving(h, node)) && at->flushed)
        at->flushed = false; /* another descriptor keeps it open: it is not waited for again */
    pthread_mutex_unlock(&h->lock);
    return any;
}
