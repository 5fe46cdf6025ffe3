/*
 * Opens for writing of a file that nobody may open for writing.
 *
 * A file may be made READONLY and written by the open that made it (git makes its packs like that),
 * or may have become so since. When such an open has to be opened again by its path (kept.c) the
 * server refuses it. So READONLY is taken off for as long as that takes, and given back at once;
 * the open remembers that it is owed, in case the connection is lost in between.
 */
#include "client/kept.h"

#include <errno.h>

/* Whether `attr` are those of the open's file, and say what is in the way. */
static bool is_in_the_way(const struct kept *k, const struct file_attr *attr)
{
    return k->access & (FILE_WRITE_DATA | FILE_APPEND_DATA) && k->id && attr->id == k->id &&
           !file_attr_is_dir(attr) && attr->attributes & FILE_ATTRIBUTE_READONLY;
}

static int set(const struct operation *op, uint32_t attributes)
{
    const struct client_basic basic = {.attributes = attributes};
    return client_set_basic(op->client, op->path, &basic, NULL, CLIENT_COMPOUND, NULL, NULL);
}

static int lift(const struct operation *op, struct kept *k)
{
    struct file_attr attr;
    int r = client_stat(op->client, op->path, CLIENT_COMPOUND, &attr, NULL, NULL);
    if (r < 0 || !is_in_the_way(k, &attr))
        return -EIO;
    uint32_t others = attr.attributes & ~(uint32_t)FILE_ATTRIBUTE_READONLY;
    k->read_only = attr.attributes;
    return set(op, others ? others : FILE_ATTRIBUTE_NORMAL);
}

int read_only_lift(const struct operation *op, struct kept *k)
{
    struct conn *c = op->client->conn;
    int r = lift(op, k);
    if (r == 0)
        return 0;
    pthread_mutex_lock(&c->lock);
    bool lost = !conn_may_send(c);
    pthread_mutex_unlock(&c->lock);
    return lost ? -EAGAIN : -EIO;
}

void read_only_return(const struct operation *op, struct kept *k)
{
    if (k->read_only && set(op, k->read_only) == 0)
        k->read_only = 0;
}
