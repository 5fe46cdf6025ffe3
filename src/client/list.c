/*
 * Listing a directory.
 *
 * The scan position lives in the open on the server: each QUERY_DIRECTORY gives the next buffer of
 * entries, until NO_MORE_FILES. One at a time that is a round trip a buffer. As a compound, CREATE
 * and two QUERY_DIRECTORYs go out together, which is all there is to a directory that fits into the
 * first buffer; the rest of a larger one is asked for several large buffers at a time, in related
 * compounds so that they are answered in order. The CLOSE is not in the compound: a directory
 * larger than two buffers would lose its open, and with it its rest.
 *
 * A buffer that the server refuses for its size is asked for again in 64 KiB, a compound that it
 * refuses one by one: a refused request does not move the scan, so no entry is lost. What was
 * refused is remembered for the connection once the other way has worked.
 *
 * By an open that was kept, the scan begins anew with the flag for that in the first
 * QUERY_DIRECTORY. Where that one is refused, what came behind it is of the old scan, and
 * forgotten.
 *
 * The names are a stranger's. One that could not be a name here (empty, longer than 255 units, with
 * `/`, `\` or NUL, a second `..`) is refused and counted, and the rest of the listing stays. A
 * buffer without a single entry is an error: going on would ask for it forever.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/file.h"

enum {
    BUFFER_SMALL = 65536,   /* what every server takes, for one credit */
    BUFFER_LARGE = 1 << 20, /* and what most take */
    FIRST_BUFFERS = 2,      /* QUERY_DIRECTORYs in the first compound */
};

struct listing {
    const struct operation *op;
    struct wire_path name, pattern;
    client_entry_fn entry;
    void *user;
    struct client_lease_ask *lease; /* NULL: none is asked for */
    struct handle *handle;          /* the open; NULL before its CREATE succeeded */
    bool restart;                   /* it is an old one, whose scan has not begun anew yet */
    struct client_list_result result;
    unsigned buffers; /* that were taken */
    bool dot, dots;   /* `.` and `..` have been seen */
    unsigned avoid;   /* REFUSES_...: not tried again in this listing */
    unsigned learn;   /* the part of it that the server refused */
};

/* ---- entries ---- */

/* A first `.` or `..`: every listing has them, and nobody wants them. */
static bool is_expected_dot(struct listing *l, const struct rd *name)
{
    bool *seen = name_is_dots(name, 1) ? &l->dot : name_is_dots(name, 2) ? &l->dots : NULL;
    if (!seen || *seen)
        return false;
    *seen = true;
    return true;
}

/* What the entry takes in a buffer, padding included: the unit of Windows' directory cache bound.
 */
static size_t wire_bytes(const struct wire_dirent *d)
{
    return (WIRE_DIRENT_FIXED + d->name.len + 7) / 8 * 8;
}

/* 0, or what the caller's function returned. */
static int give_entry(struct listing *l, const struct wire_dirent *d)
{
    char name[CLIENT_NAME_MAX];
    if (is_expected_dot(l, &d->name))
        return 0;
    int len = name_from_wire(l->op->client->map_names, &d->name, name);
    if (len < 0) {
        observe_refused_name(l->op->client->conn->observe);
        return 0;
    }
    struct file_attr attr = d->attr;
    attr.id = usable_id(attr.id);
    return l->entry(l->user, name, (size_t)len, &attr, wire_bytes(d));
}

static int give_buffer(struct listing *l, const struct request *q)
{
    struct wire_buffer_response buffer;
    struct wire_dirent d;
    bool empty = true;
    int r;

    if (wire_buffer_response_decode(q->message, &buffer) < 0)
        return operation_malformed(l->op, SMB2_QUERY_DIRECTORY);
    while ((r = wire_dirent_next(&buffer.output, &d)) > 0) {
        empty = false;
        r = give_entry(l, &d);
        if (r)
            return r;
    }
    if (r < 0)
        return operation_malformed(l->op, SMB2_QUERY_DIRECTORY);
    if (empty)
        return operation_error(l->op, -EBADMSG,
                               "the server sent a part of a listing with nothing "
                               "in it (is an entry larger than the buffer?)");
    l->buffers++;
    return 0;
}

/* ---- answers ---- */

/* Whether the form of the request was refused, and another one is left to try. */
static bool note_refusal(struct listing *l, uint32_t status, unsigned n, uint32_t buffer)
{
    unsigned what = 0;
    if (status_is(status, STATUS_INVALID_PARAMETER) && buffer > BUFFER_SMALL)
        what = REFUSES_LARGE_LISTINGS;
    else if (is_refusal(status) && n > 1)
        what = REFUSES_COMPOUNDS;
    l->avoid |= what;
    l->learn |= what;
    return what != 0;
}

/* The answers to n QUERY_DIRECTORYs, the first of them at `from`. 0: go on, or the listing is
 * complete; else the end: a negative errno, or what the caller's function returned. */
static int take_answers(struct listing *l, const struct compound *m, unsigned from, unsigned n,
                        uint32_t buffer)
{
    for (unsigned i = from; i < from + n; i++) {
        uint32_t status = compound_status(m, i);
        bool nothing_yet = l->buffers == 0;
        if (l->restart && note_refusal(l, status, n, buffer))
            return 0;
        l->restart = false;
        if (status_is(status, STATUS_NO_MORE_FILES) ||
            (nothing_yet && status_is(status, STATUS_NO_SUCH_FILE))) {
            l->result.complete = true;
            return 0;
        }
        if (note_refusal(l, status, n, buffer))
            continue; /* one behind it may have been answered, and has moved the scan then */
        if (!has_output(status))
            return operation_status(l->op, status);
        int r = give_buffer(l, &m->request[i]);
        if (r)
            return r;
    }
    return 0;
}

/* ---- questions ---- */

static void add_query_directory(struct listing *l, struct compound *m, struct wire_file_id id,
                                uint32_t buffer, bool restart)
{
    const struct wire_query_directory_request query = {
        .info_class = FILE_ID_BOTH_DIRECTORY_INFORMATION,
        .file_id = id,
        .pattern = l->pattern.name,
        .output_length = buffer,
        .flags = restart ? SMB2_RESTART_SCANS : 0,
    };
    wire_query_directory_request_encode(compound_add(m, SMB2_QUERY_DIRECTORY, buffer), &query);
}

static struct compound *new_compound(struct listing *l)
{
    return compound_new(l->op->client->conn, l->name.name.len + COMPOUND_MAX * l->pattern.name.len);
}

/* CREATE and the first two buffers in one round trip. Leaves handle NULL where that was refused. */
static int first_compound(struct listing *l)
{
    const struct operation *op = l->op;
    struct error why;
    struct compound *m = new_compound(l);
    if (!m)
        return operation_error(op, -ENOMEM, "out of memory");
    add_create(m, OPEN_LIST, &l->name.name, l->lease);
    for (unsigned i = 0; i < FIRST_BUFFERS; i++)
        add_query_directory(l, m, WIRE_FILE_ID_RELATED, BUFFER_SMALL, false);

    int r = compound_run(m, &why);
    uint32_t create = r < 0 ? 0 : compound_status(m, 0);
    if (r == -EAGAIN) { /* not enough credits */
        l->avoid |= REFUSES_COMPOUNDS;
        r = 0;
    } else if (r < 0) {
        r = operation_failed(op, &why);
    } else if (status_is(create, STATUS_SUCCESS)) {
        r = create_take(op, m, &l->handle, &l->result.dir_attr, NULL);
        if (r == 0)
            r = take_answers(l, m, 1, FIRST_BUFFERS, BUFFER_SMALL);
    } else if (!note_refusal(l, create, 1 + FIRST_BUFFERS, BUFFER_SMALL)) {
        r = operation_status(op, create);
    }
    compound_free(m);
    return r;
}

/* How much to ask for at a time: within what was agreed, what the server takes, and the credits. */
static void plan_step(struct listing *l, enum client_style style, unsigned *ret_n,
                      uint32_t *ret_buffer)
{
    struct conn *c = l->op->client->conn;
    unsigned avoid = l->avoid | atomic_load_explicit(&c->refuses, memory_order_relaxed);
    uint32_t buffer = c->max_transact / 2 < BUFFER_LARGE ? c->max_transact / 2 : BUFFER_LARGE;

    if (style == CLIENT_SINGLE || (avoid & REFUSES_LARGE_LISTINGS) || buffer < BUFFER_SMALL)
        buffer = BUFFER_SMALL;
    buffer = credit_payload(c, buffer);
    unsigned n = c->max_transact / buffer;
    unsigned affordable = credit_total(c) / credit_charge(c, buffer);
    n = n < affordable ? n : affordable;
    /* two large buffers are the rest and the end of all but the largest directories */
    unsigned most = l->buffers > FIRST_BUFFERS ? COMPOUND_MAX : 2;
    n = n < most ? n : most;
    if (style == CLIENT_SINGLE || (avoid & REFUSES_COMPOUNDS) || n < 1)
        n = 1;
    *ret_n = n;
    *ret_buffer = buffer;
}

/* The next buffers, in one round trip. */
static int next_buffers(struct listing *l, enum client_style style)
{
    const struct operation *op = l->op;
    struct error why;
    unsigned n;
    uint32_t buffer;

    plan_step(l, style, &n, &buffer);
    struct compound *m = new_compound(l);
    if (!m)
        return operation_error(op, -ENOMEM, "out of memory");
    for (unsigned i = 0; i < n; i++)
        add_query_directory(l, m, i ? WIRE_FILE_ID_RELATED : WIRE_FILE_ID_NONE, buffer,
                            i == 0 && l->restart);
    compound_by(m, l->handle);

    int r = compound_run(m, &why);
    if (r == -EAGAIN && (n > 1 || buffer > BUFFER_SMALL)) { /* credits became fewer meanwhile */
        l->avoid |= REFUSES_COMPOUNDS | REFUSES_LARGE_LISTINGS;
        r = 0;
    } else {
        r = r < 0 ? operation_failed(op, &why) : take_answers(l, m, 0, n, buffer);
    }
    compound_free(m);
    return r;
}

/* Opens the directory and reads it; the open, if any, stays in l->handle. */
static int run(struct listing *l, enum client_style style, bool first_only)
{
    int r = 0;
    if (!l->handle && style == CLIENT_COMPOUND && may_compound(l->op->client, 1 + FIRST_BUFFERS, 0))
        r = first_compound(l);
    if (r == 0 && !l->handle)
        r = create_run(l->op, OPEN_LIST, &l->name.name, l->lease, &l->handle, &l->result.dir_attr);
    /* where the compound was refused, "first" is what it would have read */
    bool stop_early = first_only && style == CLIENT_COMPOUND;
    while (r == 0 && !l->result.complete && !(stop_early && l->buffers >= FIRST_BUFFERS))
        r = next_buffers(l, style);
    return r;
}

static int list(struct listing *l, const char *pattern, enum client_style style, bool first_only,
                struct client_list_result *ret)
{
    int r = wire_path_init(l->op, l->op->path, &l->name);
    if (r == 0)
        r = wire_pattern_init(l->op, pattern, &l->pattern);
    if (r == 0)
        r = run(l, style, first_only);
    if (r == 0) {
        conn_learn(l->op->client->conn, l->learn);
        *ret = l->result;
    }
    wire_path_done(&l->pattern);
    wire_path_done(&l->name);
    return r;
}

int client_list(struct client *c, const char *path, const char *pattern, enum client_style style,
                bool first_only, client_entry_fn entry, void *user, struct client_list_result *ret,
                struct error *err)
{
    const struct operation op = {c, "list", path, err};
    struct listing l = {.op = &op, .entry = entry, .user = user};
    struct client_list_result result;

    int r = list(&l, pattern, style, first_only, &result);
    if (l.handle) {
        int closed = close_run(&op, l.handle, r ? CLIENT_COMPOUND : style, NULL);
        r = r ? r : closed;
    }
    if (r == 0)
        *ret = result;
    return r;
}

/* The open goes to the caller where it is worth keeping: under a lease of its handle. */
static struct client_file *keep_open(struct listing *l, const char *path)
{
    if (!(l->lease->ret_state & CLIENT_LEASE_HANDLE))
        return NULL;
    struct client_file *f = file_new(l->op->client, path);
    if (f) {
        f->handle = l->handle;
        l->handle = NULL;
    }
    return f;
}

int client_list_leased(struct client *c, const char *path, struct client_lease_ask *lease,
                       bool first_only, client_entry_fn entry, void *user,
                       struct client_file **ret_dir, struct client_list_result *ret,
                       struct error *err)
{
    const struct operation op = {c, "list", path, err};
    struct listing l = {.op = &op, .entry = entry, .user = user, .lease = lease};

    int r = list(&l, "*", CLIENT_COMPOUND, first_only, ret);
    if (r == 0) {
        if (lease->lease) /* breaks may have come since the CREATE */
            lease->ret_state &= client_lease_state(lease->lease);
        *ret_dir = keep_open(&l, path);
        lease->ret_state = *ret_dir ? lease->ret_state : 0;
    }
    conn_close_later(c->conn, l.handle);
    return r;
}

int client_relist(struct client_file *dir, client_entry_fn entry, void *user,
                  struct client_list_result *ret, struct error *err)
{
    const struct operation op = {dir->client, "list", dir->path, err};
    struct listing l = {
        .op = &op, .entry = entry, .user = user, .handle = dir->handle, .restart = true};
    return list(&l, "*", CLIENT_COMPOUND, false, ret);
}
