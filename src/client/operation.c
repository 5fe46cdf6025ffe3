/*
 * Errors of operations, and the requests that several operations send.
 *
 * An error text names what was tried and on what, then what came back. Long paths are shown by
 * their end, which tells more than their beginning.
 */
#include "client/operation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/durable.h"
#include "client/judge.h"

enum { SHOWN_PATH = 160 };

/* ---- errors ---- */

/* The last SHOWN_PATH bytes of a path, from the beginning of a character. */
static const char *shown(const char *path, const char **ret_dots)
{
    size_t len = strlen(path);
    *ret_dots = len > SHOWN_PATH ? "..." : "";
    if (len <= SHOWN_PATH)
        return path;
    path += len - SHOWN_PATH;
    while (((unsigned char)*path & 0xc0) == 0x80)
        path++;
    return path;
}

int operation_error(const struct operation *op, int code, const char *text)
{
    const char *dots, *path = shown(op->path, &dots);
    return error_set(op->err, code, 0, "%s //%.80s/%.80s/%s%s: %s", op->verb, op->client->host,
                     op->client->share, dots, path, text);
}

int operation_failed(const struct operation *op, const struct error *why)
{
    int r = operation_error(op, why->code, why->text);
    if (op->err)
        op->err->status = why->status;
    return r;
}

/* Bytes that a name may have on most file systems behind a Samba, which has no status for a name
 * that has fewer than 255 units and yet is longer than that. */
#define LOCAL_NAME_MAX 255

static size_t longest_component(const char *path)
{
    size_t longest = 0;
    while (*path) {
        size_t len = strcspn(path, "/");
        longest = len > longest ? len : longest;
        path += len + (path[len] == '/');
    }
    return longest;
}

int operation_status(const struct operation *op, uint32_t status)
{
    const char *dots, *path = shown(op->path, &dots);
    int r = error_status(op->err, status, "%s //%.80s/%.80s/%s%s", op->verb, op->client->host,
                         op->client->share, dots, path);
    if (r == 0) /* a success that the command does not have */
        r = operation_error(op, -EBADMSG, "the server answered with a status that makes no sense");
    if (op->makes_name && status_is(status, STATUS_OBJECT_NAME_INVALID)) {
        if (longest_component(op->to ? op->to : op->path) > LOCAL_NAME_MAX) {
            r = operation_error(op, -ENAMETOOLONG, "a name is too long for the server");
            if (op->err)
                op->err->status = status;
            return r;
        }
        r = -EINVAL; /* it is not missing, but wrong */
        if (op->err)
            op->err->code = r;
    }
    return r;
}

int operation_malformed(const struct operation *op, uint16_t command)
{
    char text[64];
    snprintf(text, sizeof(text), "the server's answer to %s is malformed",
             wire_command_name(command));
    return operation_error(op, -EBADMSG, text);
}

/* ---- requests ---- */

/* `id`: with a QFid context. `lost`: the open that is asked back; NULL: a new one is made. */
static void encode_create(struct compound *m, const struct client_how *how, bool id,
                          const struct handle *lost, const struct rd *name)
{
    uint8_t context[256];
    struct wr chain = wr_init(context, sizeof(context));
    struct wr *w = compound_add(m, SMB2_CREATE, 0);
    bool durable = !lost && durable_wanted(m, how), last = !id && !durable && !lost;
    size_t guid_at = 0;
    bool leased = how->lease  ? lease_ask(m, how->lease, &chain, last)
                  : how->keys ? lease_carry(m, how->keys, &chain, last)
                              : false;
    if (lost)
        durable_reclaim(lost, &chain);
    if (durable)
        durable_ask(m, &chain, !id, &guid_at);
    if (id)
        wire_create_context_encode(&chain, "QFid", NULL, 0, true); /* 2.2.13.2.9 */

    const struct wire_create_request create = {
        .oplock_level = leased ? SMB2_OPLOCK_LEVEL_LEASE : SMB2_OPLOCK_LEVEL_NONE,
        .impersonation = SMB2_IMPERSONATION,
        .desired_access = how->access | FILE_READ_ATTRIBUTES | ACCESS_SYNCHRONIZE,
        .file_attributes = how->attributes,
        .share_access = how->share,
        .disposition = how->disposition,
        .options = how->options,
        .name = *name,
        .contexts = rd_init(context, chain.pos),
    };
    wire_create_request_encode(w, &create);
    if (!wr_ok(&chain))
        w->bad = true;
    m->guid_at = guid_at ? w->pos - chain.pos + guid_at : 0; /* contexts are the end of it */
}

void add_create(struct compound *m, enum open_kind kind, const struct rd *name,
                struct client_lease_ask *lease)
{
    static const struct {
        uint32_t access, options;
        bool id;
    } kinds[] = {
        /* asks for no data, so that it breaks nobody's lease and disturbs no sharing mode */
        [OPEN_ATTRIBUTES] = {0, FILE_OPEN_REPARSE_POINT, false},
        [OPEN_READ] = {FILE_READ_DATA, FILE_NON_DIRECTORY_FILE, true},
        [OPEN_LIST] = {FILE_READ_DATA, FILE_DIRECTORY_FILE, true},
    };
    const struct client_how how = {
        .access = kinds[kind].access,
        .share = FILE_SHARE_ALL,
        .disposition = FILE_OPEN,
        .options = kinds[kind].options,
        .lease = lease,
    };
    encode_create(m, &how, kinds[kind].id, NULL, name);
}

void add_create_how(struct compound *m, const struct client_how *how, const struct rd *name)
{
    struct client_how with = *how;
    if (!with.attributes)
        with.attributes = FILE_ATTRIBUTE_NORMAL;
    encode_create(m, &with, true, NULL, name);
}

void add_create_back(struct compound *m, const struct client_how *how, const struct handle *lost,
                     const struct rd *name)
{
    encode_create(m, how, false, lost, name);
}

void add_query_info(struct compound *m, uint8_t type, uint8_t info_class, uint32_t output_length,
                    struct wire_file_id id)
{
    const struct wire_query_info_request query = {
        .info_type = type,
        .info_class = info_class,
        .output_length = output_length,
        .file_id = id,
    };
    /* 3.2.4.1.5: one credit, whatever its response may carry */
    wire_query_info_request_encode(compound_add(m, SMB2_QUERY_INFO, 0), &query);
}

void add_close(struct compound *m, struct wire_file_id id, bool post_query)
{
    const struct wire_close_request request = {
        .flags = post_query ? SMB2_CLOSE_FLAG_POSTQUERY_ATTRIB : 0,
        .file_id = id,
    };
    wire_close_request_encode(compound_add(m, SMB2_CLOSE, 0), &request);
}

/* 2.2.14.2.9: the file's id on its volume, then the volume's. 0 where there is none. */
static uint64_t qfid(struct rd contexts)
{
    struct wire_create_context context;
    while (wire_create_context_next(&contexts, &context) > 0)
        if (context.name.len == 4 && memcmp(context.name.base, "QFid", 4) == 0)
            return usable_id(rd_u64(&context.data));
    return 0;
}

int create_answered(const struct operation *op, const struct compound *m,
                    struct file_attr *ret_attr)
{
    struct wire_create_response create;
    if (wire_create_response_decode(m->request[0].message, &create) < 0)
        return operation_malformed(op, SMB2_CREATE);
    *ret_attr = create.attr;
    ret_attr->id = qfid(create.contexts);
    return 0;
}

int create_take(const struct operation *op, struct compound *m, struct handle **ret,
                struct file_attr *ret_attr, bool *ret_created)
{
    struct wire_create_response create;
    int r = compound_take_handle(m, 0, &create, ret);
    if (r < 0)
        return operation_malformed(op, SMB2_CREATE);
    lease_taken(m, op->path);
    durable_answered(*ret, create.contexts);
    *ret_attr = create.attr;
    ret_attr->id = qfid(create.contexts);
    if (ret_created)
        *ret_created = create.create_action == FILE_CREATED;
    return 0;
}

/* Sends the CREATE that is all of `m`, and frees it. */
static int create_alone(const struct operation *op, struct compound *m, struct twice *twice,
                        struct handle **ret, struct file_attr *ret_attr, bool *ret_created)
{
    struct error why;
    int r = compound_run(m, &why);
    twice_note(twice, m);
    if (r < 0)
        r = operation_failed(op, &why);
    else if (!status_is(compound_status(m, 0), STATUS_SUCCESS))
        r = operation_status(op, compound_status(m, 0));
    else
        r = create_take(op, m, ret, ret_attr, ret_created);
    compound_free(m);
    return r;
}

int create_run(const struct operation *op, enum open_kind kind, const struct rd *name,
               struct client_lease_ask *lease, struct handle **ret, struct file_attr *ret_attr)
{
    struct compound *m = compound_new(op->client->conn, name->len);
    if (!m)
        return operation_error(op, -ENOMEM, "out of memory");
    add_create(m, kind, name, lease);
    return create_alone(op, m, &(struct twice){0}, ret, ret_attr, NULL);
}

int create_run_how(const struct operation *op, const struct client_how *how, const struct rd *name,
                   struct handle **ret, struct file_attr *ret_attr, bool *ret_created)
{
    struct compound *m = compound_new(op->client->conn, name->len);
    if (!m)
        return operation_error(op, -ENOMEM, "out of memory");
    struct twice twice = {0};
    add_create_how(m, how, name);
    int r = create_alone(op, m, &twice, ret, ret_attr, ret_created);
    if (r != -EEXIST || !twice.is || how->disposition != FILE_CREATE)
        return r;
    struct client_how open = *how;
    open.disposition = FILE_OPEN;
    r = judge_made(op, how->options & FILE_DIRECTORY_FILE, &twice, ret_attr);
    if (r == 0)
        r = create_run_how(op, &open, name, ret, ret_attr, ret_created);
    if (r == 0 && ret_created)
        *ret_created = true;
    return r;
}

bool may_compound(struct client *c, unsigned n, unsigned refusals)
{
    return !conn_refuses(c->conn, REFUSES_COMPOUNDS | refusals) && credit_total(c->conn) >= n;
}

bool is_refusal(uint32_t status)
{
    return status_is(status, STATUS_INVALID_PARAMETER) || status_is(status, STATUS_NOT_SUPPORTED) ||
           status_is(status, STATUS_NOT_IMPLEMENTED) || status_is(status, STATUS_INVALID_HANDLE) ||
           status_is(status, STATUS_FILE_CLOSED) || status_is(status, STATUS_REQUEST_NOT_ACCEPTED);
}

int operation_run(const struct operation *op, struct compound *m, struct retry *ret_retry)
{
    struct error why;
    int r = compound_run(m, &why);
    if (r == -EAGAIN) /* not enough credits */
        *ret_retry = (struct retry){true, 0};
    if (r < 0)
        return operation_failed(op, &why);
    uint32_t create = compound_status(m, 0);
    if (status_is(create, STATUS_SUCCESS))
        return 0;
    if (is_refusal(create))
        *ret_retry = (struct retry){true, REFUSES_COMPOUNDS};
    return operation_status(op, create);
}
