/*
 * Symbolic links as reparse points.
 *
 * A link is opened and asked for its reparse point in one compound; a server that refuses the IOCTL
 * there is asked again by the open. A new link is a new file that gets a reparse point; where the
 * server cannot, the file is removed again by the same open, so that no empty file is left in the
 * link's place. (MS-FSCC 2.1.2)
 *
 * A target is text: `/` between components here, `\` there, names mapped as everywhere. What begins
 * with /??/ is a path of Windows' own namespace and goes as it is.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf.h"
#include "client/ioctl.h"

#define NT_PREFIX "/?\?/"

enum {
    REPARSE_FIXED = 20,
    TARGET_MAX = (WIRE_REPARSE_MAX - REPARSE_FIXED) / 2, /* bytes of UTF-16: it is there twice */
};

/* ---- opening with an IOCTL ---- */

static int open_compound(const struct operation *op, const struct client_how *how,
                         const struct rd *name, struct ioctl *io, struct handle **ret,
                         struct file_attr *ret_attr, struct retry *ret_retry)
{
    struct compound *m = compound_new(op->client->conn, name->len + io->input.len);
    if (!m)
        return operation_error(op, -ENOMEM, "out of memory");
    add_create_how(m, how, name);
    add_ioctl(m, WIRE_FILE_ID_RELATED, io);

    int r = operation_run(op, m, ret_retry);
    if (r == 0 && is_refusal(compound_status(m, 1))) {
        *ret_retry = (struct retry){false, REFUSES_COMPOUND_IOCTL};
        io->status = compound_status(m, 1);
    } else if (r == 0) {
        r = ioctl_answered(op, m, 1, io);
    }
    if (r == 0)
        r = create_take(op, m, ret, ret_attr, NULL);
    compound_free(m);
    return r;
}

/* The IOCTL by an open that is there already; the open is taken back where it failed. */
static int ioctl_alone(const struct operation *op, struct ioctl *io, struct handle *h,
                       unsigned learn)
{
    struct conn *c = op->client->conn;
    int r = ioctl_run(op, h, io);
    if (r < 0)
        conn_close_later(c, h);
    else if (!is_refusal(io->status))
        conn_learn(c, learn);
    return r;
}

/* An open and the answer to its IOCTL, in one round trip where that can be; whether the server did
 * it is in io->status. */
static int open_with_ioctl(const struct operation *op, const struct client_how *how,
                           struct ioctl *io, struct handle **ret, struct file_attr *ret_attr)
{
    struct client *c = op->client;
    struct retry retry = {0};
    struct handle *h = NULL;
    struct wire_path path;

    int r = wire_path_init(op, op->path, &path);
    if (r < 0)
        goto out;
    if (may_compound(c, 2, REFUSES_COMPOUND_IOCTL)) {
        r = open_compound(op, how, &path.name, io, &h, ret_attr, &retry);
        if (r < 0 && !retry.one_by_one)
            goto out;
    }
    bool answered = h && !retry.learn;
    if (!h)
        r = create_run_how(op, how, &path.name, &h, ret_attr, NULL);
    if (r == 0 && !answered)
        r = ioctl_alone(op, io, h, retry.learn);
    if (r == 0)
        *ret = h;
out:
    wire_path_done(&path);
    return r;
}

/* ---- targets ---- */

static int no_memory(const struct operation *op)
{
    return operation_error(op, -ENOMEM, "out of memory");
}

static bool maps_target(const struct client *c, bool is_nt)
{
    return c->map_names && !is_nt;
}

/* UTF-16LE, malloc'ed. */
static int target_to_wire(const struct operation *op, const char *target, struct rd *ret)
{
    size_t len = strlen(target), longest;
    bool map = maps_target(op->client, strncmp(target, NT_PREFIX, strlen(NT_PREFIX)) == 0);
    if (len == 0)
        return operation_error(op, -ENOENT, "a link leads somewhere");
    if (!map && strchr(target, '\\'))
        return operation_error(op, -EINVAL, "a target cannot contain \\ on an SMB server");
    uint8_t *bytes = malloc(TARGET_MAX);
    if (!bytes)
        return no_memory(op);
    int n = utf8_to_utf16(target, len, bytes, TARGET_MAX);
    if (n < 0) {
        free(bytes);
        return operation_error(
            op, n, n == -EILSEQ ? "the target is not valid UTF-8" : "the target is too long");
    }
    names_to_wire(map, bytes, (size_t)n, &longest);
    *ret = rd_init(bytes, (size_t)n);
    return 0;
}

static bool begins_with(const struct rd *utf16, const char *prefix)
{
    size_t units = strlen(prefix);
    if (utf16->len < 2 * units)
        return false;
    for (size_t i = 0; i < units; i++)
        if (utf16->base[2 * i] != (uint8_t)prefix[i] || utf16->base[2 * i + 1])
            return false;
    return true;
}

static int malformed_target(const struct operation *op)
{
    return operation_error(op, -EBADMSG, "the server tells a target that is none");
}

/* *ret: malloc'ed. */
static int target_of_names(const struct operation *op, const struct wire_reparse *reparse,
                           char **ret)
{
    const struct rd *name = reparse->substitute.len ? &reparse->substitute : &reparse->print;
    if (name->len == 0)
        return malformed_target(op);
    size_t cap = UTF8_MAX_FOR_UTF16(name->len);
    uint8_t *utf16 = malloc(name->len);
    char *target = malloc(cap + 1);
    int r = utf16 && target ? 0 : no_memory(op);
    if (r == 0) {
        memcpy(utf16, name->base, name->len);
        names_from_wire(maps_target(op->client, begins_with(name, "\\??\\")), utf16, name->len);
        int n = utf16_to_utf8(utf16, name->len, target, cap);
        if (n <= 0 || memchr(target, 0, (size_t)n))
            r = malformed_target(op);
        else
            target[n] = 0;
    }
    free(utf16);
    if (r < 0)
        free(target);
    else
        *ret = target;
    return r;
}

static int target_of_data(const struct operation *op, const struct rd *data, char **ret)
{
    if (data->len == 0 || memchr(data->base, 0, data->len))
        return malformed_target(op);
    char *target = strndup((const char *)data->base, data->len);
    if (!target)
        return no_memory(op);
    *ret = target;
    return 0;
}

static int take_target(const struct operation *op, const struct ioctl *io, char **ret)
{
    struct wire_reparse reparse;
    if (!status_is(io->status, STATUS_SUCCESS))
        return operation_status(op, io->status);
    if (wire_reparse_decode(io->output, &reparse) < 0)
        return operation_malformed(op, SMB2_IOCTL);
    switch (reparse.tag) {
    case IO_REPARSE_TAG_SYMLINK:
    case IO_REPARSE_TAG_MOUNT_POINT:
        return target_of_names(op, &reparse, ret);
    case IO_REPARSE_TAG_LX_SYMLINK:
        return target_of_data(op, &reparse.data, ret);
    default:
        return operation_error(op, -EINVAL, "it is a reparse point, but no link");
    }
}

/* ---- the two calls ---- */

int client_read_link(struct client *c, const char *path, char **ret, struct error *err)
{
    const struct operation op = {c, "read link", path, err};
    const struct client_how how = {
        .share = FILE_SHARE_ALL,
        .disposition = FILE_OPEN,
        .options = FILE_OPEN_REPARSE_POINT,
    };
    struct ioctl io = {.code = FSCTL_GET_REPARSE_POINT, .max_output = WIRE_REPARSE_MAX};
    struct file_attr ignored;
    struct handle *h;
    int r = open_with_ioctl(&op, &how, &io, &h, &ignored);
    if (r == 0) {
        conn_close_later(c->conn, h);
        r = take_target(&op, &io, ret);
    }
    ioctl_done(&io);
    return r;
}

/* The server did not make a link of the new file: it goes again. Gives the reason. */
static int take_back(const struct operation *op, struct handle *h, uint32_t status)
{
    static const uint8_t yes[] = {1};
    const struct operation quiet = {op->client, op->verb, op->path, NULL};
    const struct setting remove = {FILE_DISPOSITION_INFORMATION, rd_init(yes, sizeof(yes))};
    (void)set_open(&quiet, h, &remove, NULL);
    (void)close_run(&quiet, h, CLIENT_SINGLE, NULL);
    /* a file system without reparse points says that the file is none */
    if (status_is(status, STATUS_NOT_A_REPARSE_POINT))
        return operation_error(op, -EOPNOTSUPP, "the server has no links on this file system");
    return operation_status(op, status);
}

static int make_link(const struct operation *op, const struct rd *data, bool dir,
                     const struct client_keys *keys, struct file_attr *ret_attr)
{
    const struct client_how how = {
        .access = FILE_WRITE_DATA | FILE_WRITE_ATTRIBUTES | ACCESS_DELETE,
        .share = FILE_SHARE_ALL,
        .disposition = FILE_CREATE,
        .options = (dir ? FILE_DIRECTORY_FILE : FILE_NON_DIRECTORY_FILE) | FILE_OPEN_REPARSE_POINT,
        .keys = keys,
    };
    struct ioctl io = {.code = FSCTL_SET_REPARSE_POINT, .input = *data};
    struct file_attr made, closed;
    struct handle *h;
    int r = open_with_ioctl(op, &how, &io, &h, &made);
    if (r == 0 && !status_is(io.status, STATUS_SUCCESS))
        r = take_back(op, h, io.status);
    else if (r == 0)
        r = close_run(op, h, CLIENT_SINGLE, &closed);
    ioctl_done(&io);
    if (r == 0 && ret_attr) {
        *ret_attr = closed;
        ret_attr->id = made.id;
        if (closed.attributes & FILE_ATTRIBUTE_REPARSE_POINT)
            ret_attr->reparse_tag = IO_REPARSE_TAG_SYMLINK;
    }
    return r;
}

int client_symlink(struct client *c, const char *path, const char *target, bool dir,
                   const struct client_keys *keys, struct file_attr *ret_attr, struct error *err)
{
    const struct operation op = {c, "link", path, err, true};
    struct wire_reparse reparse = {.tag = IO_REPARSE_TAG_SYMLINK, .relative = *target != '/'};
    int r = target_to_wire(&op, target, &reparse.substitute);
    if (r < 0)
        return r;
    reparse.print = reparse.substitute;
    uint8_t *buf = malloc(WIRE_REPARSE_MAX);
    if (buf) {
        struct wr w = wr_init(buf, WIRE_REPARSE_MAX);
        wire_reparse_encode(&w, &reparse);
        const struct rd data = rd_init(buf, w.pos);
        r = wr_ok(&w) ? make_link(&op, &data, dir, keys, ret_attr)
                      : operation_error(&op, -ENAMETOOLONG, "the target is too long");
    } else {
        r = no_memory(&op);
    }
    free(buf);
    free((void *)reparse.substitute.base);
    return r;
}
