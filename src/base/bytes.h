/*
 * Bytes with the memory that holds them, so that they can be passed on without a copy: whoever ends
 * up with them gives that back.
 */
#ifndef LARDER_BASE_BYTES_H
#define LARDER_BASE_BYTES_H

#include <stddef.h>

struct bytes {
    const void *data;
    size_t len;
    void (*give_back)(void *owner); /* NULL: nothing holds them */
    void *owner;
};

/* Gives back what holds them, once; also what is all zero. */
static inline void bytes_done(struct bytes *b)
{
    if (b->give_back)
        b->give_back(b->owner);
    *b = (struct bytes){0};
}

#endif
