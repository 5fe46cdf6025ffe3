/*
 * Remote procedure calls over a named pipe. (MS-SMB2 3.2.4.20.4; C706 chapter 12)
 *
 * A request goes out by FSCTL_PIPE_TRANSCEIVE, whose output is the beginning of the answer; the
 * rest is read from the pipe. What comes is taken for what it is: a stream of bytes in which each
 * PDU says how long it is, wherever the server cuts it. An answer ends with the fragment that says
 * so; until then its stubs are put together, within bounds: of a PDU by the fragment size that was
 * agreed on, of all by PIPE_STUB_MAX, of the READs by what a PDU takes at the least.
 */
#include "client/pipe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/ioctl.h"

enum { READ_SIZE = 65536 }; /* one credit's */

/* What is read of the pipe and not yet taken: less than a PDU, and what came behind it. */
struct inflow {
    struct pipe *pipe;
    size_t len;
    uint8_t data[WIRE_RPC_FRAGMENT + READ_SIZE];
};

static int nonsense(const struct operation *op, const char *what)
{
    char text[120];
    snprintf(text, sizeof(text), "the server's RPC answer is malformed: %s", what);
    return operation_error(op, -EBADMSG, text);
}

/* ---- bytes ---- */

static int take_in(struct inflow *in, struct rd data)
{
    if (data.len > sizeof(in->data) - in->len)
        return nonsense(in->pipe->op, "more came than was asked for");
    if (data.len)
        memcpy(in->data + in->len, data.base, data.len);
    in->len += data.len;
    return 0;
}

/* READ, waited for; a pipe has no offsets. (3.3.5.12) */
static int read_more(struct inflow *in)
{
    const struct operation *op = in->pipe->op;
    const struct wire_read_request read = {.length = READ_SIZE, .file_id = WIRE_FILE_ID_NONE};
    struct wire_read_response response;
    struct error why;
    struct compound *m = compound_new(op->client->conn, 0);
    if (!m)
        return operation_error(op, -ENOMEM, "out of memory");
    wire_read_request_encode(compound_add(m, SMB2_READ, READ_SIZE), &read);
    compound_by(m, in->pipe->handle);
    int r = compound_run(m, &why);
    if (r < 0)
        r = operation_failed(op, &why);
    else if (!has_output(compound_status(m, 0)))
        r = operation_status(op, compound_status(m, 0));
    else if (wire_read_response_decode(m->request[0].message, &response) < 0)
        r = operation_malformed(op, SMB2_READ);
    else if (response.data.len == 0 || response.data.len > READ_SIZE)
        r = nonsense(op, "it ends too early");
    else
        r = take_in(in, response.data);
    compound_free(m);
    return r;
}

/* At least so many bytes are there. */
static int fill(struct inflow *in, size_t n)
{
    int r = 0;
    while (r == 0 && in->len < n)
        r = read_more(in);
    return r;
}

/* The next PDU, which lies at the beginning of in->data until `drop`. */
static int next_pdu(struct inflow *in, struct wire_rpc *ret, size_t *ret_len)
{
    int r = fill(in, WIRE_RPC_HEADER);
    if (r < 0)
        return r;
    int len = wire_rpc_length(rd_init(in->data, WIRE_RPC_HEADER));
    if (len < 0 || len > WIRE_RPC_FRAGMENT)
        return nonsense(in->pipe->op, len < 0 ? "it is no RPC" : "a fragment is too long");
    r = fill(in, (size_t)len);
    if (r < 0)
        return r;
    if (wire_rpc_decode(rd_init(in->data, (size_t)len), ret) < 0)
        return nonsense(in->pipe->op, "a fragment cannot be read");
    if (ret->call != in->pipe->call)
        return nonsense(in->pipe->op, "it answers another call");
    *ret_len = (size_t)len;
    return 0;
}

static void drop(struct inflow *in, size_t n)
{
    in->len -= n;
    memmove(in->data, in->data + n, in->len);
}

/* ---- PDUs ---- */

/* Sends one, and takes in the beginning of its answer. */
static int transceive(struct pipe *p, const struct wire_rpc *pdu, struct inflow *in)
{
    uint8_t buf[WIRE_RPC_FRAGMENT];
    struct wr w = wr_init(buf, sizeof(buf));
    *in = (struct inflow){.pipe = p};
    wire_rpc_encode(&w, pdu);
    if (!wr_ok(&w))
        return operation_error(p->op, -EMSGSIZE, "the arguments are too long");
    struct ioctl io = {
        .code = FSCTL_PIPE_TRANSCEIVE,
        .input = rd_init(buf, w.pos),
        .max_output = WIRE_RPC_FRAGMENT,
    };
    int r = ioctl_run(p->op, p->handle, &io);
    if (r < 0)
        return r;
    r = has_output(io.status) ? take_in(in, io.output) : operation_status(p->op, io.status);
    ioctl_done(&io);
    return r;
}

static int bind_interface(struct pipe *p, const struct wire_rpc_syntax *interface,
                          struct inflow *in)
{
    const struct wire_rpc bind = {
        .type = RPC_BIND,
        .flags = RPC_FIRST_FRAGMENT | RPC_LAST_FRAGMENT,
        .call = ++p->call,
        .max_fragment = WIRE_RPC_FRAGMENT,
        .offers = *interface,
    };
    struct wire_rpc ack;
    size_t len;
    int r = transceive(p, &bind, in);
    if (r == 0)
        r = next_pdu(in, &ack, &len);
    if (r < 0)
        return r;
    if (ack.type == RPC_BIND_NAK || (ack.type == RPC_BIND_ACK && ack.result != RPC_ACCEPTED))
        return operation_error(p->op, -EOPNOTSUPP, "the server does not offer this interface");
    return ack.type == RPC_BIND_ACK ? 0 : nonsense(p->op, "a BIND is answered by something else");
}

static int fault(const struct operation *op, uint32_t status)
{
    char text[100];
    const char *known = wire_rpc_fault_text(status);
    snprintf(text, sizeof(text), "the server refused the call: %s (RPC fault 0x%08x)",
             known ? known : "it says no more than a number", status);
    return operation_error(op, status == 5 ? -EACCES : -EREMOTEIO, text);
}

/* The stubs of one answer. */
struct stubs {
    uint8_t *data;
    size_t len, cap;
};

static int append(const struct operation *op, struct stubs *s, const struct rd *stub)
{
    if (stub->len > PIPE_STUB_MAX - s->len)
        return nonsense(op, "it is too long");
    if (s->len + stub->len > s->cap) {
        size_t cap = s->cap ? 2 * s->cap : 65536;
        uint8_t *wider = realloc(s->data, cap);
        if (!wider)
            return operation_error(op, -ENOMEM, "out of memory");
        s->data = wider;
        s->cap = cap;
    }
    if (stub->len)
        memcpy(s->data + s->len, stub->base, stub->len);
    s->len += stub->len;
    return 0;
}

/* All fragments, the first of which says that it is. */
static int gather(struct inflow *in, struct stubs *s)
{
    const struct operation *op = in->pipe->op;
    for (bool first = true;; first = false) {
        struct wire_rpc pdu;
        size_t len;
        int r = next_pdu(in, &pdu, &len);
        if (r < 0)
            return r;
        if (pdu.type == RPC_FAULT)
            return fault(op, pdu.status);
        if (pdu.type != RPC_RESPONSE || first != !!(pdu.flags & RPC_FIRST_FRAGMENT))
            return nonsense(op, "its fragments are out of order");
        bool last = pdu.flags & RPC_LAST_FRAGMENT;
        if (!last && pdu.stub.len == 0)
            return nonsense(op, "a fragment holds nothing");
        r = append(op, s, &pdu.stub);
        if (r < 0 || last)
            return r;
        drop(in, len);
    }
}

/* ---- the pipe ---- */

int pipe_open(struct pipe *p, const struct operation *op, const struct wire_rpc_syntax *interface)
{
    const struct client_how how = {
        .access = FILE_READ_DATA | FILE_WRITE_DATA,
        .share = FILE_SHARE_READ | FILE_SHARE_WRITE,
        .disposition = FILE_OPEN,
    };
    struct wire_path name = {0};
    struct file_attr ignored;
    *p = (struct pipe){.op = op};
    struct inflow *in = malloc(sizeof(*in));
    if (!in)
        return operation_error(op, -ENOMEM, "out of memory");
    int r = wire_path_init(op, op->path, &name);
    if (r == 0)
        r = create_run_how(op, &how, &name.name, &p->handle, &ignored, NULL);
    wire_path_done(&name);
    if (r == 0)
        r = bind_interface(p, interface, in);
    free(in);
    return r;
}

int pipe_call(struct pipe *p, uint16_t operation, struct rd arguments, uint8_t **ret,
              size_t *ret_len)
{
    const struct wire_rpc request = {
        .type = RPC_REQUEST,
        .flags = RPC_FIRST_FRAGMENT | RPC_LAST_FRAGMENT,
        .call = ++p->call,
        .operation = operation,
        .hint = (uint32_t)arguments.len,
        .stub = arguments,
    };
    struct stubs stubs = {0};
    struct inflow *in = malloc(sizeof(*in));
    if (!in)
        return operation_error(p->op, -ENOMEM, "out of memory");
    int r = transceive(p, &request, in);
    if (r == 0)
        r = gather(in, &stubs);
    free(in);
    if (r < 0) {
        free(stubs.data);
        return r;
    }
    *ret = stubs.data;
    *ret_len = stubs.len;
    return 0;
}

void pipe_done(struct pipe *p)
{
    if (p->handle)
        close_run(p->op, p->handle, CLIENT_COMPOUND, NULL);
    p->handle = NULL;
}
