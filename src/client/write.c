/*
 * The data of an open: write, flush, the size and the room of the file.
 *
 * A write goes out in pieces of MaxWriteSize, several of which are under way at a time, straight
 * from the caller's memory. What is reported as written is contiguous from the beginning: where a
 * piece fails, those behind it are waited for, so that none of them can land on data that the
 * caller writes next, and do not count. A server that takes a part of a piece is given the rest
 * again. Windows answers INSUFFICIENT_RESOURCES to writes that come too fast, however many credits
 * it has granted: the rest goes out with fewer pieces at a time.
 */
#include <errno.h>

#include "client/file.h"

/* ---- write ---- */

/* What a call writes, and where its first byte belongs. */
struct source {
    const uint8_t *data;
    uint64_t offset;
};

static void add_write(struct compound *m, const struct pipeline *p, uint64_t offset, uint32_t len)
{
    const struct source *from = p->user;
    const struct wire_write_request write = {
        .offset = offset,
        .data = rd_init(from->data + (offset - from->offset), len),
    };
    wire_write_request_encode_head(compound_add(m, SMB2_WRITE, len), &write);
    compound_tail(m, write.data.base, len);
    compound_by(m, p->file->handle);
}

/* How much of the piece the server has taken. */
static int take_count(const struct operation *op, const struct piece *piece, uint32_t *ret)
{
    struct wire_write_response write;
    if (!status_is(compound_status(piece->m, 0), STATUS_SUCCESS))
        return operation_status(op, compound_status(piece->m, 0));
    if (wire_write_response_decode(piece->m->request[0].message, &write) < 0 ||
        write.count > piece->len)
        return operation_malformed(op, SMB2_WRITE);
    if (write.count == 0)
        return operation_error(op, -EIO, "the server has written nothing, and calls it success");
    *ret = write.count;
    return 0;
}

/* Goes on behind `done`, once all that is under way has ended. */
static void start_over(struct pipeline *p, uint64_t done, unsigned depth)
{
    pipeline_drain(p);
    p->next = done;
    p->depth = depth;
}

/* Takes the oldest piece; *done moves to the end of what is written. */
static int take_piece(struct pipeline *p, uint64_t *done)
{
    struct piece piece;
    uint32_t count = 0;
    int r = pipeline_take(p, &piece);
    if (r < 0)
        goto out;
    if (status_is(compound_status(piece.m, 0), STATUS_INSUFFICIENT_RESOURCES) && p->depth > 1) {
        start_over(p, *done, p->depth / 2);
        goto out;
    }
    r = take_count(p->op, &piece, &count);
    *done += count;
    if (r == 0 && count < piece.len)
        start_over(p, *done, p->depth);
out:
    compound_free(piece.m);
    return r;
}

int64_t client_write(struct client_file *f, const void *buf, size_t len, uint64_t offset,
                     struct error *err)
{
    const struct operation op = {f->client, "write", f->path, err};
    const struct source source = {buf, offset};
    if (len > INT64_MAX || offset > INT64_MAX - len)
        return operation_error(&op, -EFBIG, "the range is beyond what a file can have");
    if (len == 0)
        return 0;

    struct conn *c = f->client->conn;
    struct pipeline p = {
        .op = &op,
        .file = f,
        .next = offset,
        .end = offset + len,
        .piece_max = c->max_write,
        .depth = PIPELINE_MAX,
        .add = add_write,
        .user = &source,
    };
    uint64_t done = offset;
    int r = 0, sent = 0;
    observe_round_trip(c->observe);
    while (r == 0 && done < p.end) {
        if (sent == 0)
            sent = pipeline_fill(&p);
        /* where no more can be sent, what has been sent still counts */
        r = p.count ? take_piece(&p, &done) : sent;
    }
    if (r == -ETIMEDOUT)
        pipeline_drop(&p); /* they have been given their time */
    else
        pipeline_drain(&p);
    if (done > offset)
        file_grew(f, done);
    return done > offset ? (int64_t)(done - offset) : r;
}

/* ---- flush ---- */

int client_flush(struct client_file *f, struct error *err)
{
    const struct operation op = {f->client, "flush", f->path, err};
    const struct wire_flush_request flush = {0};
    struct error why;
    struct compound *m = compound_new(f->client->conn, 0);
    if (!m)
        return operation_error(&op, -ENOMEM, "out of memory");
    wire_flush_request_encode(compound_add(m, SMB2_FLUSH, 0), &flush);
    compound_by(m, f->handle);
    int r = compound_run(m, &why);
    if (r < 0)
        r = operation_failed(&op, &why);
    else if (!status_is(compound_status(m, 0), STATUS_SUCCESS))
        r = operation_status(&op, compound_status(m, 0));
    compound_free(m);
    return r;
}

/* ---- size and room ---- */

static int set_u64(const struct operation *op, struct client_file *f, uint8_t info_class,
                   uint64_t value)
{
    uint8_t buf[8];
    struct wr data = wr_init(buf, sizeof(buf));
    wire_size_encode(&data, value);
    return set_open(op, f->handle, &(struct setting){info_class, rd_init(buf, data.pos)}, NULL);
}

int client_file_set_size(struct client_file *f, uint64_t size, struct error *err)
{
    const struct operation op = {f->client, "truncate", f->path, err};
    if (size > INT64_MAX)
        return operation_error(&op, -EFBIG, "no file can be as large");
    int r = set_u64(&op, f, FILE_END_OF_FILE_INFORMATION, size);
    if (r == 0)
        atomic_store(&f->size, size);
    return r;
}

/* MS-FSA 2.1.5.15.1: room for less than the file holds cuts it off there, and less than what is
 * there already gives room back: neither is sent, whatever the file's size has become meanwhile. */
int client_file_allocate(struct client_file *f, uint64_t bytes, struct error *err)
{
    const struct operation op = {f->client, "allocate", f->path, err};
    struct file_attr now;
    if (bytes > INT64_MAX)
        return operation_error(&op, -EFBIG, "no file can be as large");
    int r = stat_open(&op, f->handle, &now);
    if (r < 0)
        return r;
    if (bytes < now.size)
        return operation_error(&op, -EINVAL, "that is less than the file holds");
    return bytes <= now.allocated ? 0 : set_u64(&op, f, FILE_ALLOCATION_INFORMATION, bytes);
}
