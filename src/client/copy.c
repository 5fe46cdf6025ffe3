/*
 * Copies on the server: FSCTL_SRV_COPYCHUNK (3.3.5.15.6), by a key that names the source's open.
 *
 * Servers bound how many chunks a request has, how long one is, and how much all of them are, and
 * say so by refusing (INVALID_PARAMETER with their limits). The usual limits are asked for first;
 * what a server says instead is kept for the connection. A chunk that reaches behind the end of the
 * source is an error there, so the source's size is asked for before, and again where it has shrunk
 * meanwhile.
 */
#include <errno.h>

#include "client/ioctl.h"

enum { CHUNKS_MAX = COPY_CHUNKS, KEY_OUTPUT = 32, RESULT_OUTPUT = 12, HEAD = 32 };

struct copying {
    const struct operation *op;
    struct client_file *from, *to;
    struct wire_copy_key key;
    uint64_t from_offset, to_offset, left;
    struct copy_limits limits;
};

/* ---- the key ---- */

static int ask_key(const struct operation *op, struct client_file *from, struct wire_copy_key *ret)
{
    struct ioctl io = {.code = FSCTL_SRV_REQUEST_RESUME_KEY, .max_output = KEY_OUTPUT};
    int r = ioctl_run(op, from->handle, &io);
    if (r == 0 && !status_is(io.status, STATUS_SUCCESS))
        r = operation_status(op, io.status);
    else if (r == 0 && wire_copy_key_decode(io.output, ret) < 0)
        r = operation_malformed(op, SMB2_IOCTL);
    ioctl_done(&io);
    return r;
}

static int take_key(struct copying *x)
{
    struct conn *c = x->from->client->conn;
    pthread_mutex_lock(&c->lock);
    bool known = x->from->has_copy_key;
    x->key = x->from->copy_key;
    pthread_mutex_unlock(&c->lock);
    if (known)
        return 0;

    int r = ask_key(x->op, x->from, &x->key);
    if (r < 0)
        return r;
    pthread_mutex_lock(&c->lock);
    x->from->copy_key = x->key;
    x->from->has_copy_key = true;
    pthread_mutex_unlock(&c->lock);
    return 0;
}

/* ---- limits ---- */

static struct copy_limits limits_of(struct conn *c)
{
    pthread_mutex_lock(&c->lock);
    struct copy_limits limits = c->copy_limits;
    pthread_mutex_unlock(&c->lock);
    return limits;
}

static uint32_t min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Takes what the server says it takes. Whether less is to be asked for than before. */
static bool learn_limits(struct copying *x, struct rd output)
{
    struct conn *c = x->to->client->conn;
    struct wire_copy_response most;
    if (wire_copy_response_decode(output, &most) < 0 || !most.chunks || !most.chunk_bytes ||
        !most.total_bytes)
        return false;
    struct copy_limits old = x->limits,
                       now = {
                           .chunks = min_u32(most.chunks, old.chunks),
                           .chunk_bytes = min_u32(most.chunk_bytes, old.chunk_bytes),
                           .total_bytes = min_u32(most.total_bytes, old.total_bytes),
                       };
    if (now.chunks == old.chunks && now.chunk_bytes == old.chunk_bytes &&
        now.total_bytes == old.total_bytes)
        return false;
    x->limits = now;
    pthread_mutex_lock(&c->lock);
    c->copy_limits = now;
    pthread_mutex_unlock(&c->lock);
    return true;
}

/* ---- one request ---- */

/* As much as the limits allow. Gives its bytes. */
static uint64_t put_chunks(const struct copying *x, struct wr *w)
{
    uint64_t sum = 0;
    for (uint32_t n = 0; n < x->limits.chunks && sum < x->left; n++) {
        uint64_t len = x->left - sum, room = x->limits.total_bytes - sum;
        len = len < room ? len : room;
        len = len < x->limits.chunk_bytes ? len : x->limits.chunk_bytes;
        if (len == 0)
            break;
        wire_copy_chunk_encode(
            w, &(struct wire_copy_chunk){x->from_offset + sum, x->to_offset + sum, (uint32_t)len});
        sum += len;
    }
    return sum;
}

static int take_result(const struct copying *x, struct rd output, uint64_t asked, uint64_t *ret)
{
    struct wire_copy_response done;
    if (wire_copy_response_decode(output, &done) < 0 || done.total_bytes > asked)
        return operation_malformed(x->op, SMB2_IOCTL);
    if (done.total_bytes == 0)
        return operation_error(x->op, -EIO, "the server has copied nothing, and calls it success");
    *ret = done.total_bytes;
    return 0;
}

/* *ret: bytes copied, 0 where something was learnt that makes it worth trying again. */
static int copy_some(struct copying *x, uint64_t *ret)
{
    uint8_t chunk[CHUNKS_MAX * WIRE_COPY_CHUNK_SIZE], buf[sizeof(chunk) + HEAD];
    struct wr chunks = wr_init(chunk, sizeof(chunk)), input = wr_init(buf, sizeof(buf));
    uint64_t asked = put_chunks(x, &chunks);
    wire_copy_request_encode(&input,
                             &(struct wire_copy_request){x->key, rd_init(chunk, chunks.pos)});
    struct ioctl io = {
        .code = FSCTL_SRV_COPYCHUNK,
        .input = rd_init(buf, input.pos),
        .max_output = RESULT_OUTPUT,
    };

    *ret = 0;
    int r = ioctl_run(x->op, x->to->handle, &io);
    if (r < 0)
        return r;
    if (status_is(io.status, STATUS_SUCCESS))
        r = take_result(x, io.output, asked, ret);
    else if (!status_is(io.status, STATUS_INVALID_PARAMETER) || !learn_limits(x, io.output))
        r = operation_status(x->op, io.status);
    if (status_is(io.status, STATUS_INVALID_VIEW_SIZE) || status_is(io.status, STATUS_END_OF_FILE))
        r = -ENODATA; /* the source has become shorter */
    ioctl_done(&io);
    return r;
}

/* ---- all of it ---- */

/* Cuts what is left to what the source has. */
static int clamp(struct copying *x, uint64_t *ret_size)
{
    struct file_attr now;
    int r = stat_open(x->op, x->from->handle, &now);
    if (r < 0)
        return r;
    uint64_t there = now.size > x->from_offset ? now.size - x->from_offset : 0;
    x->left = x->left < there ? x->left : there;
    *ret_size = now.size;
    return 0;
}

static int copy_all(struct copying *x, uint64_t *done)
{
    uint64_t size, again;
    int r = clamp(x, &size);
    if (r == 0 && x->left)
        r = take_key(x);
    while (r == 0 && x->left) {
        uint64_t n = 0;
        r = copy_some(x, &n);
        if (r == -ENODATA) {
            r = clamp(x, &again);
            if (r == 0 && again >= size)
                r = operation_error(x->op, -EIO, "the server cannot read the source");
            size = again;
        }
        x->from_offset += n;
        x->to_offset += n;
        x->left -= n;
        *done += n;
    }
    return r;
}

int64_t client_copy(struct client_file *from, uint64_t from_offset, struct client_file *to,
                    uint64_t to_offset, uint64_t len, struct error *err)
{
    const struct operation op = {to->client, "copy to", to->path, err};
    struct copying x = {
        .op = &op,
        .from = from,
        .to = to,
        .from_offset = from_offset,
        .to_offset = to_offset,
        .left = len,
        .limits = limits_of(to->client->conn),
    };
    uint64_t done = 0;
    if (from->client != to->client)
        return operation_error(&op, -EXDEV, "the source is on another connection");
    if (len > INT64_MAX || from_offset > INT64_MAX - len || to_offset > INT64_MAX - len)
        return operation_error(&op, -EINVAL, "the range is beyond what a file can have");
    int r = len ? copy_all(&x, &done) : 0;
    if (done)
        file_grew(to, to_offset + done);
    return r < 0 ? r : (int64_t)done;
}
