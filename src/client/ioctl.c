/*
 * IOCTLs on an open, and those about holes.
 *
 * An IOCTL is one request, waited for; its answer is looked at by whoever asked, since for some
 * codes a failure has data too. Which codes a server knows is only known once it was asked.
 *
 * A server answers a question for allocated ranges with all of them or with BUFFER_TOO_SMALL
 * (Samba) or with as many as fit (Windows). Only the first is wanted here, so a buffer that was too
 * small is met by asking about half as much of the file, and what holds no data is stepped over.
 */
#include "client/ioctl.h"

#include <errno.h>

enum { RANGES_OUTPUT = 65536, RANGES_LEAST = 65536 };

void add_ioctl(struct compound *m, struct wire_file_id id, const struct ioctl *io)
{
    const struct wire_ioctl_request request = {
        .code = io->code,
        .file_id = id,
        .input = io->input,
        .max_output = io->max_output,
        .flags = SMB2_0_IOCTL_IS_FSCTL,
    };
    uint32_t input = (uint32_t)io->input.len;
    wire_ioctl_request_encode(
        compound_add(m, SMB2_IOCTL, input > io->max_output ? input : io->max_output), &request);
}

int ioctl_answered(const struct operation *op, struct compound *m, unsigned i, struct ioctl *io)
{
    struct wire_ioctl_response response;
    io->status = compound_status(m, i);
    io->output = rd_init(NULL, 0);
    if (wire_ioctl_response_decode(m->request[i].message, &response) == 0)
        io->output = response.output;
    else if (has_output(io->status))
        return operation_malformed(op, SMB2_IOCTL);
    io->frame = frame_ref(m->request[i].frame);
    return 0;
}

int ioctl_run(const struct operation *op, struct handle *h, struct ioctl *io)
{
    struct error why;
    struct compound *m = compound_new(op->client->conn, io->input.len);
    if (!m)
        return operation_error(op, -ENOMEM, "out of memory");
    add_ioctl(m, WIRE_FILE_ID_NONE, io);
    compound_by(m, h);
    int r = compound_run(m, &why);
    r = r < 0 ? operation_failed(op, &why) : ioctl_answered(op, m, 0, io);
    compound_free(m);
    return r;
}

void ioctl_done(struct ioctl *io)
{
    io->frame = frame_unref(io->frame);
    io->output = rd_init(NULL, 0);
}

/* One that answers nothing but whether it worked. */
static int control(const struct operation *op, struct client_file *f, uint32_t code,
                   struct rd input)
{
    struct ioctl io = {.code = code, .input = input};
    int r = ioctl_run(op, f->handle, &io);
    if (r == 0 && !status_is(io.status, STATUS_SUCCESS))
        r = operation_status(op, io.status);
    ioctl_done(&io);
    return r;
}

/* ---- holes ---- */

static bool is_range(uint64_t offset, uint64_t len)
{
    return offset <= INT64_MAX && len <= INT64_MAX - offset;
}

int client_punch_hole(struct client_file *f, uint64_t offset, uint64_t len, struct error *err)
{
    static const uint8_t yes[] = {1};
    const struct operation op = {f->client, "punch a hole into", f->path, err};
    uint8_t buf[16];
    struct wr input = wr_init(buf, sizeof(buf));
    if (!is_range(offset, len))
        return operation_error(&op, -EINVAL, "the range is beyond what a file can have");
    if (len == 0)
        return 0;
    if (!atomic_load(&f->sparse)) {
        int r = control(&op, f, FSCTL_SET_SPARSE, rd_init(yes, sizeof(yes)));
        if (r < 0)
            return r;
        atomic_store(&f->sparse, true);
    }
    wire_zero_data_encode(&input, &(struct wire_zero_data){offset, offset + len});
    return control(&op, f, FSCTL_SET_ZERO_DATA, rd_init(buf, input.pos));
}

/* The first range of the answer that reaches behind the beginning of `asked`, cut to it; length 0:
 * none. */
static int first_range(const struct operation *op, struct rd output, const struct wire_range *asked,
                       struct wire_range *ret)
{
    struct wire_range range;
    int r;
    *ret = (struct wire_range){0};
    while ((r = wire_range_next(&output, &range)) == 1) {
        if (!is_range(range.offset, range.length))
            return operation_malformed(op, SMB2_IOCTL);
        uint64_t start = range.offset > asked->offset ? range.offset : asked->offset;
        uint64_t end = range.offset + range.length, asked_end = asked->offset + asked->length;
        end = end < asked_end ? end : asked_end;
        if (start < end) {
            *ret = (struct wire_range){start, end - start};
            return 0;
        }
    }
    return r < 0 ? operation_malformed(op, SMB2_IOCTL) : 0;
}

/* One question. -EAGAIN: the answer does not fit. */
static int ask_range(const struct operation *op, struct client_file *f,
                     const struct wire_range *asked, struct wire_range *ret)
{
    uint8_t buf[WIRE_RANGE_SIZE];
    struct wr input = wr_init(buf, sizeof(buf));
    wire_range_encode(&input, asked);
    struct ioctl io = {
        .code = FSCTL_QUERY_ALLOCATED_RANGES,
        .input = rd_init(buf, input.pos),
        .max_output = RANGES_OUTPUT,
    };
    int r = ioctl_run(op, f->handle, &io);
    if (r < 0)
        return r;
    if (has_output(io.status))
        r = first_range(op, io.output, asked, ret);
    else if (status_is(io.status, STATUS_BUFFER_TOO_SMALL) && asked->length > RANGES_LEAST)
        r = -EAGAIN;
    else
        r = operation_status(op, io.status);
    ioctl_done(&io);
    return r;
}

int client_allocated_range(struct client_file *f, uint64_t offset, uint64_t end,
                           uint64_t *ret_offset, uint64_t *ret_len, struct error *err)
{
    const struct operation op = {f->client, "look for holes in", f->path, err};
    struct wire_range found = {0};
    if (end > INT64_MAX)
        end = INT64_MAX;
    for (uint64_t window = UINT64_MAX; offset < end && found.length == 0;) {
        struct wire_range asked = {offset, end - offset < window ? end - offset : window};
        int r = ask_range(&op, f, &asked, &found);
        if (r == -EAGAIN)
            window = asked.length / 2;
        else if (r < 0)
            return r;
        else
            offset += asked.length;
    }
    *ret_offset = found.offset;
    *ret_len = found.length;
    return 0;
}
