/*
 * The pieces of a long read or write: several requests under way at a time, answered in order.
 *
 * A piece is as large as the server and the credits allow. The first one waits for credits, those
 * behind it only use what is there, so that one call never holds back the others. Pieces are taken
 * oldest first: what has been taken is contiguous from the beginning. Where the connection is lost
 * each is sent again when its turn has come.
 */
#include <errno.h>

#include "client/file.h"

static int send_piece(struct pipeline *p, uint64_t deadline)
{
    struct conn *c = p->op->client->conn;
    struct error why;
    uint64_t left = p->end - p->next;
    uint32_t len = credit_payload(c, left < p->piece_max ? (uint32_t)left : p->piece_max);
    struct compound *m = compound_new(c, 0);
    if (!m)
        return operation_error(p->op, -ENOMEM, "out of memory");
    p->add(m, p, p->next, len);
    int r = compound_submit(m, deadline, &why);
    while (r < 0 && !p->count && compound_again(m, &r, &why))
        r = compound_submit(m, conn_deadline(c), &why);
    if (r < 0) {
        bool later = p->count && (r == -EAGAIN || m->lost);
        compound_free(m);
        return later ? -EAGAIN : operation_failed(p->op, &why);
    }
    p->piece[(p->first + p->count++) % PIPELINE_MAX] = (struct piece){m, len, p->next};
    p->next += len;
    return 0;
}

int pipeline_fill(struct pipeline *p)
{
    while (p->next < p->end && p->count < p->depth) {
        uint64_t deadline = p->count ? 0 : conn_deadline(p->op->client->conn);
        int r = send_piece(p, deadline);
        if (r == -EAGAIN && p->count)
            return 0;
        if (r < 0)
            return r;
    }
    return 0;
}

int pipeline_take(struct pipeline *p, struct piece *ret)
{
    struct error why;
    *ret = p->piece[p->first];
    p->first = (p->first + 1) % PIPELINE_MAX;
    p->count--;
    struct conn *c = p->op->client->conn;
    int r = compound_wait(ret->m, conn_deadline(c), &why);
    while (r < 0 && compound_again(ret->m, &r, &why)) {
        r = compound_submit(ret->m, conn_deadline(c), &why);
        if (r == 0)
            r = compound_wait(ret->m, conn_deadline(c), &why);
    }
    return r < 0 ? operation_failed(p->op, &why) : 0;
}

void pipeline_drop(struct pipeline *p)
{
    for (; p->count; p->count--, p->first = (p->first + 1) % PIPELINE_MAX)
        compound_free(p->piece[p->first].m);
}

void pipeline_drain(struct pipeline *p)
{
    uint64_t deadline = conn_deadline(p->op->client->conn);
    for (unsigned i = 0; i < p->count; i++)
        (void)compound_wait(p->piece[(p->first + i) % PIPELINE_MAX].m, deadline, NULL);
    pipeline_drop(p);
}
