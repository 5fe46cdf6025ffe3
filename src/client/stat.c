/*
 * stat and statfs: CREATE, one or two QUERY_INFO, CLOSE.
 *
 * As a compound each is one round trip. A server that answers the CREATE and then refuses the
 * QUERY_INFO beside it gets the requests one by one; if that works, it was the form that it
 * refused, and the connection remembers. The CREATE asks for attributes only and shares everything.
 */
#include <errno.h>
#include <string.h>

#include "client/operation.h"

/* FileAllInformation ends in the file's name with its path on the volume, which may be longer than
 * the one in the share. What does not fit is cut off (BUFFER_OVERFLOW), and is not needed. */
enum { ALL_INFORMATION_FIXED = 4096, FS_ATTRIBUTE_MAX = 1024, FS_SIZE_MAX = 64 };

/* One question about an open file, and where its answer goes. */
struct question {
    uint8_t type, info_class;
    uint32_t output_length;
    int (*take)(struct rd output, void *ret);
    void *ret;
};

enum { QUESTIONS_MAX = 2 };

static int take_answer(const struct operation *op, const struct compound *m, unsigned i,
                       const struct question *q)
{
    struct wire_buffer_response r;
    if (wire_buffer_response_decode(m->request[i].message, &r) < 0 || q->take(r.output, q->ret) < 0)
        return operation_malformed(op, SMB2_QUERY_INFO);
    return 0;
}

/* ---- the two ways to ask ---- */

static int compound_answers(const struct operation *op, const struct compound *m,
                            const struct question *q, unsigned n, struct retry *ret_retry)
{
    for (unsigned i = 0; i < n; i++) {
        uint32_t status = compound_status(m, 1 + i);
        if (!has_output(status)) {
            *ret_retry = (struct retry){true, REFUSES_COMPOUND_QUERY};
            return operation_status(op, status);
        }
        int r = take_answer(op, m, 1 + i, &q[i]);
        if (r < 0)
            return r;
    }
    return 0;
}

static int ask_compound(const struct operation *op, const struct rd *name, const struct question *q,
                        unsigned n, struct retry *ret_retry)
{
    struct compound *m = compound_new(op->client->conn, name->len);
    if (!m)
        return operation_error(op, -ENOMEM, "out of memory");
    add_create(m, OPEN_ATTRIBUTES, name, NULL);
    for (unsigned i = 0; i < n; i++)
        add_query_info(m, q[i].type, q[i].info_class, q[i].output_length, WIRE_FILE_ID_RELATED);
    add_close(m, WIRE_FILE_ID_RELATED, false);

    int r = operation_run(op, m, ret_retry);
    if (r == 0)
        r = compound_answers(op, m, q, n, ret_retry);
    compound_free(m);
    return r;
}

static int ask_open(const struct operation *op, struct handle *h, const struct question *q)
{
    struct error why;
    struct compound *m = compound_new(op->client->conn, 0);
    if (!m)
        return operation_error(op, -ENOMEM, "out of memory");
    add_query_info(m, q->type, q->info_class, q->output_length, WIRE_FILE_ID_NONE);
    compound_by(m, h);
    int r = compound_run(m, &why);
    if (r < 0)
        r = operation_failed(op, &why);
    else if (!has_output(compound_status(m, 0)))
        r = operation_status(op, compound_status(m, 0));
    else
        r = take_answer(op, m, 0, q);
    compound_free(m);
    return r;
}

static int ask_one_by_one(const struct operation *op, const struct rd *name,
                          enum client_style style, const struct question *q, unsigned n)
{
    struct handle *h;
    struct file_attr ignored;
    int r = create_run(op, OPEN_ATTRIBUTES, name, NULL, &h, &ignored);
    if (r < 0)
        return r;
    for (unsigned i = 0; i < n && r == 0; i++)
        r = ask_open(op, h, &q[i]);
    int closed = close_run(op, h, r < 0 ? CLIENT_COMPOUND : style, NULL);
    return r < 0 ? r : closed;
}

static int ask(const struct operation *op, enum client_style style, const struct question *q,
               unsigned n)
{
    struct client *c = op->client;
    struct retry retry = {0};
    struct wire_path path;

    int r = wire_path_init(op, op->path, &path);
    if (r < 0)
        goto out;
    if (style == CLIENT_COMPOUND && may_compound(c, n + 2, REFUSES_COMPOUND_QUERY)) {
        r = ask_compound(op, &path.name, q, n, &retry);
        if (!retry.one_by_one)
            goto out;
    }
    do {
        r = ask_one_by_one(op, &path.name, style, q, n);
    } while (r == LOST_OPEN);
    if (r == 0)
        conn_learn(c->conn, retry.learn);
out:
    wire_path_done(&path);
    return r;
}

/* ---- stat ---- */

struct stat_answer {
    bool map_names;
    struct file_attr attr;
    char spelling[CLIENT_NAME_MAX];
};

/* The last component of a path as the server spells it; "" where it tells none that can be a name.
 */
static void last_component(bool map, const struct rd *path, char out[static CLIENT_NAME_MAX])
{
    size_t start = path->len;
    while (start >= 2 && !(path->base[start - 2] == '\\' && path->base[start - 1] == 0))
        start -= 2;
    const struct rd name = rd_init(path->base + start, path->len - start);
    if (name_from_wire(map, &name, out) < 0)
        out[0] = 0;
}

static int take_stat(struct rd output, void *ret)
{
    struct stat_answer *a = ret;
    struct rd name;
    int r = wire_all_information_decode(output, &a->attr);
    a->attr.id = usable_id(a->attr.id);
    a->spelling[0] = 0;
    if (r == 0 && wire_all_information_name(output, &name) == 0)
        last_component(a->map_names, &name, a->spelling);
    return r;
}

/* `answer` is to outlive the question. */
static struct question ask_all_information(const char *path, struct stat_answer *answer)
{
    size_t output = strlen(path) * 2 + ALL_INFORMATION_FIXED;
    return (struct question){
        .type = SMB2_0_INFO_FILE,
        .info_class = FILE_ALL_INFORMATION,
        .output_length = output < CREDIT_PAYLOAD ? (uint32_t)output : CREDIT_PAYLOAD,
        .take = take_stat,
        .ret = answer,
    };
}

int stat_open(const struct operation *op, struct handle *h, struct file_attr *ret)
{
    struct stat_answer answer = {.map_names = op->client->map_names};
    const struct question q = ask_all_information(op->path, &answer);
    int r = ask_open(op, h, &q);
    if (r == 0)
        *ret = answer.attr;
    return r;
}

int client_stat(struct client *c, const char *path, enum client_style style, struct file_attr *ret,
                char spelling[CLIENT_NAME_MAX], struct error *err)
{
    const struct operation op = {c, "stat", path, err};
    struct stat_answer answer = {.map_names = c->map_names};
    const struct question q = ask_all_information(path, &answer);
    int r = ask(&op, style, &q, 1);
    if (r < 0)
        return r;
    *ret = answer.attr;
    if (spelling)
        memcpy(spelling, answer.spelling, sizeof(answer.spelling));
    return 0;
}

/* ---- statfs ---- */

static int take_fs_size(struct rd output, void *ret)
{
    return wire_fs_size_decode(output, ret);
}

/* The name of the file system lies in the response, which does not live on: only numbers are kept.
 */
static int take_component_max(struct rd output, void *ret)
{
    struct wire_fs_attribute a;
    int r = wire_fs_attribute_decode(output, &a);
    if (r == 0)
        *(uint32_t *)ret = a.max_component;
    return r;
}

static uint64_t saturating_mul(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

int client_statfs(struct client *c, struct client_statfs *ret, struct error *err)
{
    const struct operation op = {c, "statfs", "", err};
    struct wire_fs_size size;
    uint32_t max_component;
    const struct question q[QUESTIONS_MAX] = {
        {SMB2_0_INFO_FILESYSTEM, FILE_FS_FULL_SIZE_INFORMATION, FS_SIZE_MAX, take_fs_size, &size},
        {SMB2_0_INFO_FILESYSTEM, FILE_FS_ATTRIBUTE_INFORMATION, FS_ATTRIBUTE_MAX,
         take_component_max, &max_component},
    };
    int r = ask(&op, CLIENT_COMPOUND, q, QUESTIONS_MAX);
    if (r < 0)
        return r;

    uint64_t unit = (uint64_t)size.sectors_per_unit * size.bytes_per_sector;
    if (unit == 0 || unit > UINT32_MAX)
        return operation_error(&op, -EBADMSG, "the server tells an impossible block size");
    *ret = (struct client_statfs){
        .total_bytes = saturating_mul(size.total_units, unit),
        .free_bytes = saturating_mul(size.actual_free_units, unit),
        .available_bytes = saturating_mul(size.caller_free_units, unit),
        .block_size = (uint32_t)unit,
        .max_component = max_component,
    };
    return 0;
}
