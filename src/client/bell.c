/*
 * The bell: one condition that many requests ring when their answers are in (client.h).
 *
 * It is under the connection's lock, as the answers are, so that ringing takes no other; that it
 * has rung stays until somebody waited for it. A request that nobody waits for any more rings
 * nothing.
 */
#include <stdlib.h>

#include "client/operation.h"

struct client_bell {
    struct conn *conn;
    pthread_cond_t cond;
    bool rung; /* protected by conn->lock */
};

struct client_bell *client_bell_new(struct client *c)
{
    struct client_bell *b = malloc(sizeof(*b));
    if (!b)
        return NULL;
    *b = (struct client_bell){.conn = c->conn};
    pthread_cond_init(&b->cond, NULL);
    return b;
}

struct client_bell *client_bell_free(struct client_bell *b)
{
    if (b)
        pthread_cond_destroy(&b->cond);
    free(b);
    return NULL;
}

void bell_ring(struct client_bell *b)
{
    b->rung = true;
    pthread_cond_signal(&b->cond);
}

void client_bell_ring(struct client_bell *b)
{
    pthread_mutex_lock(&b->conn->lock);
    bell_ring(b);
    pthread_mutex_unlock(&b->conn->lock);
}

void client_bell_wait(struct client_bell *b)
{
    pthread_mutex_lock(&b->conn->lock);
    while (!b->rung)
        pthread_cond_wait(&b->cond, &b->conn->lock);
    b->rung = false;
    pthread_mutex_unlock(&b->conn->lock);
}
