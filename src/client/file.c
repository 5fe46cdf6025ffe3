/*
 * Open, read, stat.
 *
 * A file that the caller wants to read from its beginning is opened and read in one round trip.
 * Longer reads are cut into pieces of max_read, several of which are under way at a time. By MS-FSA
 * 2.1.5.3 a read is short only at the end of the file; where the size that the CREATE told says
 * otherwise, the rest is asked for again, so that no answer shortens a file in silence.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/file.h"
#include "client/kept.h"

struct client_file *file_new(struct client *c, const char *path)
{
    size_t len = strlen(path) + 1;
    struct client_file *f = calloc(1, sizeof(*f) + len);
    if (f) {
        f->client = c;
        memcpy(f->path, path, len);
    }
    return f;
}

void file_grew(struct client_file *f, uint64_t end)
{
    uint64_t size = atomic_load(&f->size);
    while (end > size && !atomic_compare_exchange_weak(&f->size, &size, end))
        ;
}

static void add_read(struct compound *m, struct wire_file_id id, uint32_t len, uint64_t offset)
{
    const struct wire_read_request read = {.length = len, .offset = offset, .file_id = id};
    wire_read_request_encode(compound_add(m, SMB2_READ, len), &read);
}

/* What the answer at `i` carries, within its frame; nothing at the end of the file. */
static int find_read(const struct operation *op, const struct compound *m, unsigned i, size_t len,
                     struct rd *ret_data)
{
    struct wire_read_response read;
    uint32_t status = compound_status(m, i);
    if (status_is(status, STATUS_END_OF_FILE)) {
        *ret_data = rd_init(NULL, 0);
        return 0;
    }
    if (!has_output(status))
        return operation_status(op, status);
    if (wire_read_response_decode(m->request[i].message, &read) < 0 || read.data.len > len)
        return operation_malformed(op, SMB2_READ);
    *ret_data = read.data;
    return 0;
}

/* The same, copied. */
static int take_read(const struct operation *op, const struct compound *m, unsigned i, void *buf,
                     size_t len, size_t *ret_len)
{
    struct rd data;
    int r = find_read(op, m, i, len, &data);
    if (r < 0)
        return r;
    if (data.len)
        memcpy(buf, data.base, data.len);
    *ret_len = data.len;
    return 0;
}

/* ---- open ---- */

struct first_read {
    void *buf;
    uint32_t len;
    struct client_lease_ask *lease; /* of the CREATE beside it; NULL: none */
    size_t got;
    bool eof;
};

/* A READ that failed is no failed open: whoever reads on gets its error. */
static void take_first_read(const struct operation *op, const struct compound *m,
                            const struct file_attr *attr, struct first_read *first)
{
    const struct operation quiet = {op->client, op->verb, op->path, NULL};
    if (take_read(&quiet, m, 1, first->buf, first->len, &first->got) == 0)
        first->eof = first->got == 0 || first->got >= attr->size;
}

static int open_compound(const struct operation *op, const struct rd *name,
                         struct first_read *first, struct handle **ret, struct file_attr *ret_attr,
                         struct retry *ret_retry)
{
    struct compound *m = compound_new(op->client->conn, name->len);
    if (!m)
        return operation_error(op, -ENOMEM, "out of memory");
    add_create(m, OPEN_READ, name, first->lease);
    add_read(m, WIRE_FILE_ID_RELATED, first->len, 0);

    int r = operation_run(op, m, ret_retry);
    if (r == 0)
        r = create_take(op, m, ret, ret_attr, NULL);
    if (r == 0)
        take_first_read(op, m, ret_attr, first);
    compound_free(m);
    return r;
}

static int open_path(const struct operation *op, enum client_style style, const struct rd *name,
                     struct first_read *first, struct handle **ret, struct file_attr *ret_attr)
{
    struct client *c = op->client;
    struct retry retry = {0};

    if (style == CLIENT_COMPOUND && first->len && may_compound(c, 2, 0)) {
        int r = open_compound(op, name, first, ret, ret_attr, &retry);
        if (!retry.one_by_one)
            return r;
    }
    int r = create_run(op, OPEN_READ, name, first->lease, ret, ret_attr);
    if (r == 0)
        conn_learn(c->conn, retry.learn);
    return r;
}

/* The most that can be read beside the CREATE, which takes a credit itself. */
static uint32_t first_read_max(struct client *c, size_t len)
{
    uint32_t max = credit_payload(c->conn, c->conn->max_read + CREDIT_PAYLOAD);
    max = max > CREDIT_PAYLOAD ? max - CREDIT_PAYLOAD : CREDIT_PAYLOAD;
    max = max < c->conn->max_read ? max : c->conn->max_read;
    return len < max ? (uint32_t)len : max;
}

static int open_to_read(struct client *c, const char *path, enum client_style style,
                        struct client_lease_ask *lease, void *buf, size_t len,
                        struct client_file **ret, struct file_attr *ret_attr, size_t *ret_len,
                        bool *ret_eof, struct error *err)
{
    const struct operation op = {c, "open", path, err};
    struct first_read first = {.buf = buf, .len = buf ? first_read_max(c, len) : 0, .lease = lease};
    struct wire_path name = {0};
    struct file_attr attr;

    struct client_file *f = file_new(c, path);
    if (!f)
        return operation_error(&op, -ENOMEM, "out of memory");
    int r = wire_path_init(&op, path, &name);
    if (r == 0)
        r = open_path(&op, style, &name.name, &first, &f->handle, &attr);
    wire_path_done(&name);
    if (r < 0) {
        free(f);
        return r;
    }
    handle_keep(&op, f->handle,
                &(struct client_how){
                    .access = FILE_READ_DATA,
                    .share = FILE_SHARE_ALL,
                    .options = FILE_NON_DIRECTORY_FILE,
                    .lease = lease,
                },
                &attr);
    atomic_store(&f->size, attr.size);
    *ret = f;
    *ret_attr = attr;
    *ret_len = first.got;
    *ret_eof = first.eof;
    return 0;
}

int client_open(struct client *c, const char *path, enum client_style style, void *buf, size_t len,
                struct client_file **ret, struct file_attr *ret_attr, size_t *ret_len,
                bool *ret_eof, struct error *err)
{
    return open_to_read(c, path, style, NULL, buf, len, ret, ret_attr, ret_len, ret_eof, err);
}

int client_open_leased(struct client *c, const char *path, struct client_lease_ask *lease,
                       void *buf, size_t len, struct client_file **ret, struct file_attr *ret_attr,
                       size_t *ret_len, bool *ret_eof, struct error *err)
{
    return open_to_read(c, path, CLIENT_COMPOUND, lease, buf, len, ret, ret_attr, ret_len, ret_eof,
                        err);
}

/* Whether a file may come to be by it. */
static bool makes_a_file(const struct client_how *how)
{
    return how->disposition != FILE_OPEN && how->disposition != FILE_OVERWRITE;
}

int client_create(struct client *c, const char *path, const struct client_how *how,
                  struct client_file **ret, struct file_attr *ret_attr, bool *ret_created,
                  struct error *err)
{
    const struct operation op = {c, "open", path, err, makes_a_file(how)};
    struct wire_path name = {0};
    struct file_attr attr;
    bool created;

    struct client_file *f = file_new(c, path);
    if (!f)
        return operation_error(&op, -ENOMEM, "out of memory");
    int r = wire_path_init(&op, path, &name);
    if (r == 0)
        r = create_run_how(&op, how, &name.name, &f->handle, &attr, &created);
    wire_path_done(&name);
    if (r < 0) {
        free(f);
        return r;
    }
    handle_keep(&op, f->handle, how, &attr);
    atomic_store(&f->size, attr.size);
    *ret = f;
    *ret_attr = attr;
    if (ret_created)
        *ret_created = created;
    return 0;
}

/* ---- read ---- */

static void add_piece(struct compound *m, const struct pipeline *p, uint64_t offset, uint32_t len)
{
    add_read(m, WIRE_FILE_ID_NONE, len, offset);
    compound_by(m, p->file->handle);
}

/* The answer to `piece` brought `len` bytes: whether the file may go on behind them. */
static bool goes_on(struct pipeline *p, const struct piece *piece, size_t len)
{
    if (len == piece->len)
        return true;
    if (!len || piece->offset + len >= atomic_load(&p->file->size))
        return false;
    pipeline_drop(p); /* they would leave a gap */
    p->next = piece->offset + len;
    return true;
}

/* Waits for the oldest piece. *ret_more: as goes_on. */
static int take_piece(struct pipeline *p, uint8_t *buf, uint64_t start, size_t *ret_len,
                      bool *ret_more)
{
    struct piece piece;
    int r = pipeline_take(p, &piece);
    if (r == 0)
        r = take_read(p->op, piece.m, 0, buf + (piece.offset - start), piece.len, ret_len);
    compound_free(piece.m);
    if (r == 0)
        *ret_more = goes_on(p, &piece, *ret_len);
    return r;
}

static struct pipeline pipeline_init(const struct operation *op, struct client_file *f,
                                     uint64_t offset, size_t len)
{
    return (struct pipeline){
        .op = op,
        .file = f,
        .next = offset,
        .end = offset + len,
        .piece_max = f->client->conn->max_read,
        .depth = PIPELINE_MAX,
        .add = add_piece,
    };
}

/* From *inout_done on, which stands for the byte at `buf` + (*inout_done - start). */
static int read_pieces(struct pipeline *p, void *buf, uint64_t start, uint64_t *inout_done)
{
    bool more = true;
    int r = 0;
    while (r == 0 && more && *inout_done < p->end) {
        size_t got = 0;
        r = pipeline_fill(p);
        if (r == 0)
            r = take_piece(p, buf, start, &got, &more);
        *inout_done += got;
    }
    return r;
}

static int check_range(const struct operation *op, size_t len, uint64_t offset)
{
    if (len > INT64_MAX || offset > INT64_MAX - len)
        return operation_error(op, -EINVAL, "the range is beyond what a file can have");
    return 0;
}

int64_t client_read(struct client_file *f, void *buf, size_t len, uint64_t offset,
                    struct error *err)
{
    const struct operation op = {f->client, "read", f->path, err};
    int r = check_range(&op, len, offset);
    if (r < 0 || len == 0)
        return r;
    struct pipeline p = pipeline_init(&op, f, offset, len);
    uint64_t done = offset;
    observe_round_trip(f->client->conn->observe);
    r = read_pieces(&p, buf, offset, &done);
    pipeline_drop(&p);
    return r < 0 ? r : (int64_t)(done - offset);
}

/* ---- read, without a copy ---- */

static void give_back(void *frame)
{
    frame_unref(frame);
}

/* Takes the reference over. */
static struct bytes bytes_in(struct frame *frame, const void *data, size_t len)
{
    return (struct bytes){data, len, give_back, frame};
}

/* Waits for the only piece and keeps its bytes where they are. *ret_more: as goes_on. */
static int keep_piece(struct pipeline *p, struct bytes *ret, bool *ret_more)
{
    struct piece piece;
    struct rd data;
    int r = pipeline_take(p, &piece);
    if (r == 0)
        r = find_read(p->op, piece.m, 0, piece.len, &data);
    if (r == 0) {
        *ret = bytes_in(frame_ref(piece.m->request[0].frame), data.base, data.len);
        *ret_more = goes_on(p, &piece, data.len);
    }
    compound_free(piece.m);
    return r;
}

/* What one answer does not hold has to be put together; `first` bytes are there already. */
static int read_rest(struct pipeline *p, uint64_t start, struct bytes *inout)
{
    struct conn *c = p->op->client->conn;
    struct bytes first = *inout;
    uint64_t done = start + first.len;
    struct frame *whole = frame_new(&c->frames, (size_t)(p->end - start));
    if (!whole)
        return operation_error(p->op, -ENOMEM, "out of memory");
    if (first.len)
        memcpy(whole->data, first.data, first.len);
    int r = read_pieces(p, whole->data, start, &done);
    if (r < 0) {
        frame_unref(whole);
        return r;
    }
    bytes_done(&first);
    *inout = bytes_in(whole, whole->data, (size_t)(done - start));
    return 0;
}

int client_read_bytes(struct client_file *f, size_t len, uint64_t offset, struct bytes *ret,
                      struct error *err)
{
    const struct operation op = {f->client, "read", f->path, err};
    struct bytes bytes = {0};
    int r = check_range(&op, len, offset);
    if (r == 0 && len) {
        struct pipeline p = pipeline_init(&op, f, offset, len);
        bool more = true;
        observe_round_trip(f->client->conn->observe);
        r = pipeline_fill(&p);
        if (r == 0 && p.count == 1 && p.next == p.end)
            r = keep_piece(&p, &bytes, &more);
        if (r == 0 && more && bytes.len < len)
            r = read_rest(&p, offset, &bytes);
        pipeline_drop(&p);
    }
    if (r == 0)
        *ret = bytes;
    else
        bytes_done(&bytes);
    return r;
}

/* ---- attributes ---- */

int client_file_stat(struct client_file *f, struct file_attr *ret, struct error *err)
{
    const struct operation op = {f->client, "stat", f->path, err};
    return stat_open(&op, f->handle, ret);
}
