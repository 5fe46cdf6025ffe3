/*
 * A binary heap by time. A copy of an operation is one block of memory: the struct, then its names,
 * then all text. One that changed something goes back into the heap when it was given, to be given
 * again at its end.
 */
#include "capture/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct item {
    uint64_t at, arrival; /* of two at the same time, the one that came first goes first */
    bool ending;
    size_t bytes;
    void *tag;
    struct operation op;
};

struct window {
    struct window_events events;
    struct item *heap[WINDOW_OPERATIONS + 1];
    size_t count, bytes;
    uint64_t arrivals, now;
};

/* ---- copies ---- */

static size_t text_size(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

static const char *put(char **at, const char *text, size_t len)
{
    if (!text)
        return NULL;
    char *copy = memcpy(*at, text, len);
    *at += len;
    return copy;
}

static struct item *item_new(const struct operation *o, void *tag)
{
    size_t bytes = sizeof(struct item) + o->name_count * sizeof(struct operation_name) +
                   text_size(o->path) + text_size(o->pattern) + text_size(o->moved_to);
    for (size_t i = 0; i < o->name_count; i++)
        bytes += o->names[i].len;
    struct item *item = malloc(bytes);
    if (!item)
        return NULL;
    *item = (struct item){.at = o->begin_ns, .bytes = bytes, .tag = tag, .op = *o};
    struct operation_name *names = (struct operation_name *)(item + 1);
    char *text = (char *)(names + o->name_count);
    for (size_t i = 0; i < o->name_count; i++) {
        names[i] = o->names[i];
        names[i].name = put(&text, o->names[i].name, o->names[i].len);
    }
    item->op.names = names;
    item->op.path = put(&text, o->path, text_size(o->path));
    item->op.pattern = put(&text, o->pattern, text_size(o->pattern));
    item->op.moved_to = put(&text, o->moved_to, text_size(o->moved_to));
    item->op.share = NULL;
    return item;
}

/* ---- the heap ---- */

static bool before(const struct item *a, const struct item *b)
{
    return a->at != b->at ? a->at < b->at : a->arrival < b->arrival;
}

static void push(struct window *w, struct item *item)
{
    item->arrival = w->arrivals++;
    w->bytes += item->bytes;
    size_t at = w->count++;
    for (size_t up; at > 0 && before(item, w->heap[up = (at - 1) / 2]); at = up)
        w->heap[at] = w->heap[up];
    w->heap[at] = item;
}

static struct item *pop(struct window *w)
{
    struct item *first = w->heap[0], *last = w->heap[--w->count];
    w->bytes -= first->bytes;
    size_t at = 0;
    for (size_t down; (down = 2 * at + 1) < w->count; at = down) {
        if (down + 1 < w->count && before(w->heap[down + 1], w->heap[down]))
            down++;
        if (!before(w->heap[down], last))
            break;
        w->heap[at] = w->heap[down];
    }
    w->heap[at] = last;
    return first;
}

static void give(struct window *w)
{
    struct item *item = pop(w);
    if (item->at > w->now)
        w->now = item->at;
    if (!item->ending)
        w->events.begins(w->events.user, item->tag, &item->op, w->now);
    else
        w->events.ends(w->events.user, item->tag, &item->op, w->now);
    if (!item->ending && item->op.changes) {
        item->ending = true;
        item->at = item->op.end_ns;
        push(w, item);
        return;
    }
    w->events.gone(w->events.user, item->tag);
    free(item);
}

/* ---- from outside ---- */

struct window *window_new(const struct window_events *events)
{
    struct window *w = calloc(1, sizeof(*w));
    if (w)
        w->events = *events;
    return w;
}

int window_add(struct window *w, const struct operation *o, void *tag)
{
    struct item *item = item_new(o, tag);
    if (!item)
        return -ENOMEM;
    push(w, item);
    while (w->count > WINDOW_OPERATIONS || w->bytes > WINDOW_BYTES)
        give(w);
    return 0;
}

void window_flush(struct window *w)
{
    while (w->count)
        give(w);
}

struct window *window_free(struct window *w)
{
    if (!w)
        return NULL;
    while (w->count) {
        struct item *item = pop(w);
        w->events.gone(w->events.user, item->tag);
        free(item);
    }
    free(w);
    return NULL;
}
