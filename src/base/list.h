/* A circular doubly linked list whose links live in the members. An empty head points to itself. */
#ifndef LARDER_BASE_LIST_H
#define LARDER_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
    struct list *next, *prev;
};

#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))
#define list_for_each(item, head)       for (item = (head)->next; item != (head); item = item->next)
#define list_for_each_safe(item, after, head)                                                      \
    for (item = (head)->next, after = item->next; item != (head); item = after, after = item->next)

static inline void list_init(struct list *l)
{
    l->next = l->prev = l;
}

static inline bool list_empty(const struct list *l)
{
    return l->next == l;
}

static inline void list_add_tail(struct list *head, struct list *item)
{
    item->prev = head->prev;
    item->next = head;
    head->prev->next = item;
    head->prev = item;
}

static inline void list_add_first(struct list *head, struct list *item)
{
    list_add_tail(head->next, item);
}

/* Takes the item out and leaves it an empty list, so that taking it out twice is harmless. */
static inline void list_del(struct list *item)
{
    item->prev->next = item->next;
    item->next->prev = item->prev;
    list_init(item);
}

#endif
