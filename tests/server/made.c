/*
 * What is made on a scripted server that remembers: rows behind those of the script's table, which
 * is copied for that, so that the test's own stays as it is. A row that is removed is no
 * directory's any more; its place is not used again, since handles mean rows by their places.
 */
#include <stdlib.h>

#include "base/ntstatus.h"
#include "internal.h"

enum { MADE_MAX = 64, MADE_ID = 5000 };

/* The table is one that rows can be added to. */
static bool own_rows(struct exchange *x)
{
    struct server *s = x->s;
    if (x->script.nodes == s->rows && s->rows)
        return true;
    size_t count = x->script.node_count, size = (count + MADE_MAX) * sizeof(*s->rows);
    server_made_forget(s);
    s->rows = malloc(size);
    if (!s->rows)
        return false;
    if (count)
        memcpy(s->rows, x->script.nodes, count * sizeof(*s->rows));
    s->row_first = count;
    s->row_count = count;
    return true;
}

/* Others, who copy the script for each frame, see them from now on. */
static void show_rows(struct exchange *x)
{
    struct server *s = x->s;
    pthread_mutex_lock(&s->lock);
    s->script.nodes = x->script.nodes = s->rows;
    s->script.node_count = x->script.node_count = s->row_count;
    pthread_mutex_unlock(&s->lock);
}

void server_made_forget(struct server *s)
{
    for (size_t i = s->row_first; i < s->row_count; i++)
        free((void *)s->rows[i].name.base);
    free(s->rows);
    s->rows = NULL;
    s->row_first = s->row_count = 0;
}

uint32_t server_make(struct exchange *x, struct rd path, bool is_dir, int *ret_node)
{
    struct server *s = x->s;
    size_t start = path.len;
    while (start >= 2 && !(path.base[start - 2] == '\\' && path.base[start - 1] == 0))
        start -= 2;
    int parent;
    uint32_t status =
        server_find(&x->script, rd_init(path.base, start >= 2 ? start - 2 : 0), &parent);
    if (status)
        return status;
    uint8_t *name = malloc(path.len - start);
    if (!name || !own_rows(x) || s->row_count == s->row_first + MADE_MAX) {
        free(name);
        return (uint32_t)STATUS_INSUFFICIENT_RESOURCES;
    }
    memcpy(name, path.base + start, path.len - start);
    s->rows[s->row_count] = (struct server_node){
        .parent = parent,
        .name = rd_init(name, path.len - start),
        .attr = {.id = MADE_ID + s->row_count,
                 .attributes = is_dir ? FILE_ATTRIBUTE_DIRECTORY : FILE_ATTRIBUTE_ARCHIVE},
    };
    *ret_node = (int)s->row_count++;
    show_rows(x);
    return STATUS_SUCCESS;
}

uint32_t server_may_remove(struct exchange *x, int node)
{
    for (size_t i = 0; i < x->script.node_count; i++)
        if (x->script.nodes[i].parent == node)
            return (uint32_t)STATUS_DIRECTORY_NOT_EMPTY;
    return node >= 0 && own_rows(x) ? STATUS_SUCCESS : (uint32_t)STATUS_ACCESS_DENIED;
}

void server_remove(struct exchange *x, int node)
{
    if (!own_rows(x))
        return;
    x->s->rows[node].parent = SERVER_GONE;
    show_rows(x);
}
