/* Remote procedure calls over a named pipe of the tree IPC$. Private to this room. */
#ifndef LARDER_CLIENT_PIPE_H
#define LARDER_CLIENT_PIPE_H

#include "client/operation.h"
#include "wire/rpc.h"

#define PIPE_STUB_MAX (8u << 20) /* bytes that an answer may have in all its fragments */

/* An open pipe with a bound interface. One thread at a time. */
struct pipe {
    const struct operation *op;
    struct handle *handle;
    uint32_t call; /* of the last PDU that was sent */
};
/* Opens the pipe of op's path and binds `interface`. Harmless to pipe_done after a failure, too. */
int pipe_open(struct pipe *p, const struct operation *op, const struct wire_rpc_syntax *interface);
/* One call: the results, all fragments together, in malloc'ed memory. */
int pipe_call(struct pipe *p, uint16_t operation, struct rd arguments, uint8_t **ret,
              size_t *ret_len);
void pipe_done(struct pipe *p);

#endif
