/* Open files and directories of a mount; see handle.h for why they stand in a list. */
#include "mount/handle.h"

#include <errno.h>
#include <stdlib.h>

void handles_init(struct handles *h, struct share *share)
{
    h->share = share;
    pthread_mutex_init(&h->lock, NULL);
    list_init(&h->all);
}

/* The handle is out of the list. */
static void destroy(struct share *share, struct handle *handle)
{
    if (handle->file)
        share_close(share, handle->file);
    if (handle->listing)
        share_listing_free(share, handle->listing);
    pthread_mutex_destroy(&handle->lock);
    free(handle);
}

void handles_done(struct handles *h)
{
    struct list *item, *after;
    list_for_each_safe(item, after, &h->all)
        destroy(h->share, container_of(item, struct handle, link));
    pthread_mutex_destroy(&h->lock);
}

int handle_new(struct handles *h, fuse_ino_t node, struct share_file *file, struct handle **ret)
{
    struct handle *handle = calloc(1, sizeof(*handle));
    if (!handle) {
        if (file)
            share_close(h->share, file);
        return -ENOMEM;
    }
    handle->refs = 1;
    handle->node = node;
    handle->file = file;
    pthread_mutex_init(&handle->lock, NULL);

    pthread_mutex_lock(&h->lock);
    list_add_tail(&h->all, &handle->link);
    pthread_mutex_unlock(&h->lock);
    *ret = handle;
    return 0;
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
    bool last = --handle->refs == 0;
    if (last)
        list_del(&handle->link);
    pthread_mutex_unlock(&h->lock);
    if (last)
        destroy(h->share, handle);
}

struct handle *handles_find(struct handles *h, fuse_ino_t node)
{
    struct handle *found = NULL;
    struct list *item;
    pthread_mutex_lock(&h->lock);
    list_for_each(item, &h->all)
    {
        struct handle *handle = container_of(item, struct handle, link);
        if (handle->node == node && handle->file) {
            found = handle;
            found->refs++;
            break;
        }
    }
    pthread_mutex_unlock(&h->lock);
    return found;
}

void handles_changed(struct handles *h, const struct handle *by)
{
    struct list *item;
    pthread_mutex_lock(&h->lock);
    list_for_each(item, &h->all)
    {
        struct handle *handle = container_of(item, struct handle, link);
        if (handle->node == by->node && handle != by && handle->file)
            share_file_changed(handle->file);
    }
    pthread_mutex_unlock(&h->lock);
}
