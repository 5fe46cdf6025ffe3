/*
 * Changes of files by their paths: CREATE, SET_INFO, CLOSE.
 *
 * As a compound each is one round trip; a server that refuses SET_INFO beside a CREATE gets the
 * requests one by one, and is remembered if that works. A SET_INFO that failed has changed nothing,
 * so asking again is safe; statuses that speak of the object rather than of the form are its
 * answer and are not asked again. Where the SET_INFO failed, the server has run the CLOSE behind it
 * all the same, or failed it too: then the open is closed when the compound ends.
 *
 * A reparse point itself is changed, never what it leads to.
 *
 * Servers refuse to remove a read-only file (CANNOT_DELETE), POSIX does not. Then the attribute is
 * taken away, the file marked, and the attribute given back, all by one open: another hard link to
 * the file keeps what it had. What failed on the way is repaired by a request of its own.
 */
#include <errno.h>
#include <stdlib.h>

#include "client/file.h"
#include "client/judge.h"
#include "client/kept.h"

enum { SETTINGS_MAX = 3 };

/* What is done by one open. */
struct change {
    struct client_how how;
    struct setting set[SETTINGS_MAX];
    unsigned count;
};

/* What came of it. */
struct changed {
    struct file_attr before; /* from the CREATE; the id is 0 where it gave none */
    struct file_attr after;  /* from the CLOSE, with the same id */
    uint32_t status;         /* of the SET_INFO that failed; 0: none */
    struct twice twice;
};

/* ---- one SET_INFO ---- */

static void add_set(struct compound *m, struct wire_file_id id, const struct setting *s)
{
    const struct wire_set_info_request set = {
        .info_type = SMB2_0_INFO_FILE,
        .info_class = s->info_class,
        .file_id = id,
        .data = s->data,
    };
    wire_set_info_request_encode(compound_add(m, SMB2_SET_INFO, (uint32_t)s->data.len), &set);
}

/* Where a name was given, it is the new one that the server speaks of. */
static int set_answered(const struct operation *op, const struct compound *m, unsigned i,
                        uint8_t info_class)
{
    struct operation about = *op;
    about.makes_name = info_class == FILE_RENAME_INFORMATION || info_class == FILE_LINK_INFORMATION;
    if (!status_is(compound_status(m, i), STATUS_SUCCESS))
        return operation_status(&about, compound_status(m, i));
    if (wire_set_info_response_decode(m->request[i].message) < 0)
        return operation_malformed(op, SMB2_SET_INFO);
    return 0;
}

int set_open(const struct operation *op, struct handle *h, const struct setting *s,
             uint32_t *ret_status)
{
    struct error why;
    struct compound *m = compound_new(op->client->conn, s->data.len);
    if (!m)
        return operation_error(op, -ENOMEM, "out of memory");
    add_set(m, WIRE_FILE_ID_NONE, s);
    compound_by(m, h);
    int r = compound_run(m, &why);
    if (r < 0) {
        r = operation_failed(op, &why);
    } else {
        if (ret_status)
            *ret_status = compound_status(m, 0);
        r = set_answered(op, m, 0, s->info_class);
    }
    compound_free(m);
    return r;
}

/* ---- the two ways to change by a path ---- */

/* The CLOSE of a compound whose changes were made. One that was failed only because an optional
 * change before it was is sent again. */
static int close_compound(const struct operation *op, struct compound *m, bool failed_before,
                          struct changed *ret)
{
    unsigned last = m->count - 1;
    struct wire_create_response create;
    struct handle *h;
    if (!failed_before || status_is(compound_status(m, last), STATUS_SUCCESS))
        return close_answered(op, m, last, &ret->after);
    if (compound_take_handle(m, 0, &create, &h) < 0)
        return operation_malformed(op, SMB2_CREATE);
    return close_run(op, h, CLIENT_SINGLE, &ret->after);
}

static int compound_answers(const struct operation *op, struct compound *m,
                            const struct change *change, struct changed *ret,
                            struct retry *ret_retry)
{
    bool failed_before = false;
    int r = create_answered(op, m, &ret->before);
    for (unsigned i = 0; i < change->count && r == 0; i++) {
        uint32_t status = compound_status(m, 1 + i);
        if (status_is(status, STATUS_SUCCESS))
            continue;
        failed_before = true;
        if (change->set[i].optional)
            continue;
        ret->status = status;
        if (is_refusal(status))
            *ret_retry = (struct retry){true, REFUSES_COMPOUND_SET};
        r = set_answered(op, m, 1 + i, change->set[i].info_class);
    }
    return r < 0 ? r : close_compound(op, m, failed_before, ret);
}

static int change_compound(const struct operation *op, const struct rd *name,
                           const struct change *change, struct changed *ret,
                           struct retry *ret_retry)
{
    size_t extra = name->len;
    for (unsigned i = 0; i < change->count; i++)
        extra += change->set[i].data.len;
    struct compound *m = compound_new(op->client->conn, extra);
    if (!m)
        return operation_error(op, -ENOMEM, "out of memory");
    add_create_how(m, &change->how, name);
    for (unsigned i = 0; i < change->count; i++)
        add_set(m, WIRE_FILE_ID_RELATED, &change->set[i]);
    add_close(m, WIRE_FILE_ID_RELATED, true);

    int r = operation_run(op, m, ret_retry);
    twice_note(&ret->twice, m);
    if (r == 0)
        r = compound_answers(op, m, change, ret, ret_retry);
    compound_free(m);
    return r;
}

static int change_one_by_one(const struct operation *op, const struct rd *name,
                             enum client_style style, const struct change *change,
                             struct changed *ret)
{
    struct handle *h;
    bool created;
    int r = create_run_how(op, &change->how, name, &h, &ret->before, &created);
    if (r < 0)
        return r;
    for (unsigned i = 0; i < change->count && r == 0; i++) {
        uint32_t status = 0;
        r = set_open(op, h, &change->set[i], &status);
        if (r < 0 && change->set[i].optional)
            r = 0;
        else if (r < 0)
            ret->status = status;
    }
    /* what was asked for is only done once the open is gone: it is waited for in any style */
    int closed = close_run(op, h, r < 0 ? CLIENT_COMPOUND : CLIENT_SINGLE, &ret->after);
    return r < 0 ? r : closed;
}

static int change_path(const struct operation *op, enum client_style style,
                       const struct change *change, struct changed *ret)
{
    struct client *c = op->client;
    struct retry retry = {0};
    struct wire_path path;
    unsigned refusals = change->count ? REFUSES_COMPOUND_SET : 0;

    *ret = (struct changed){0};
    int r = wire_path_init(op, op->path, &path);
    if (r < 0)
        goto out;
    if (style == CLIENT_COMPOUND && may_compound(c, change->count + 2, refusals)) {
        r = change_compound(op, &path.name, change, ret, &retry);
        if (!retry.one_by_one)
            goto out;
        *ret = (struct changed){.twice = ret->twice};
    }
    for (;;) {
        r = change_one_by_one(op, &path.name, style, change, ret);
        if (r != LOST_OPEN || change->how.disposition != FILE_OPEN)
            break;
        ret->twice.is = true; /* what was open was changed, or not */
    }
    if (r == 0)
        conn_learn(c->conn, retry.learn);
out:
    wire_path_done(&path);
    if (r == -EEXIST && ret->twice.is && change->how.disposition == FILE_CREATE) {
        r = judge_made(op, change->how.options & FILE_DIRECTORY_FILE, &ret->twice, &ret->after);
        ret->before.id = ret->after.id;
    }
    ret->after.id = ret->before.id;
    return r;
}

/* A CLOSE that went with the connection has told nothing. */
static int tell_after(const struct operation *op, const struct changed *changed,
                      struct file_attr *ret_attr)
{
    bool stands;
    *ret_attr = changed->after;
    if (changed->after.attributes || client_losses(op->client, &stands) == 0)
        return 0;
    const char *path = op->to ? op->to : op->path;
    if (client_stat(op->client, path, CLIENT_COMPOUND, ret_attr, NULL, NULL) < 0)
        *ret_attr = changed->before; /* it was changed all the same */
    return 0;
}

static int change_and_tell(const struct operation *op, enum client_style style,
                           const struct change *change, struct file_attr *ret_attr)
{
    struct changed changed;
    int r = change_path(op, style, change, &changed);
    const struct client_keys *keys = change->how.keys;
    bool may_have_it = changed.twice.is && op->to && (r == -ENOENT || r == -EEXIST);
    if (may_have_it)
        return judge_named(op, keys ? keys->id : 0, r, ret_attr);
    return r == 0 && ret_attr ? tell_after(op, &changed, ret_attr) : r;
}

/* ---- attributes and times ---- */

static struct setting basic_setting(const struct client_basic *basic, bool optional,
                                    uint8_t buf[static WIRE_BASIC_SIZE])
{
    struct wr data = wr_init(buf, WIRE_BASIC_SIZE);
    wire_basic_encode(&data, &(struct wire_basic){
                                 .created = basic->created,
                                 .accessed = basic->accessed,
                                 .written = basic->written,
                                 .changed = basic->changed,
                                 .attributes = basic->attributes,
                             });
    return (struct setting){FILE_BASIC_INFORMATION, rd_init(buf, data.pos), optional};
}

int client_set_basic(struct client *c, const char *path, const struct client_basic *basic,
                     const struct client_keys *keys, enum client_style style,
                     struct file_attr *ret_attr, struct error *err)
{
    const struct operation op = {c, "set attributes of", path, err};
    uint8_t buf[WIRE_BASIC_SIZE];
    const struct change change = {
        .how = {.access = FILE_WRITE_ATTRIBUTES,
                .share = FILE_SHARE_ALL,
                .disposition = FILE_OPEN,
                .options = FILE_OPEN_REPARSE_POINT,
                .keys = keys},
        .set = {basic_setting(basic, false, buf)},
        .count = 1,
    };
    return change_and_tell(&op, style, &change, ret_attr);
}

int client_file_set_basic(struct client_file *f, const struct client_basic *basic,
                          struct error *err)
{
    const struct operation op = {f->client, "set attributes of", f->path, err};
    uint8_t buf[WIRE_BASIC_SIZE];
    const struct setting set = basic_setting(basic, false, buf);
    return set_open(&op, f->handle, &set, NULL);
}

int client_set_size(struct client *c, const char *path, uint64_t size,
                    const struct client_keys *keys, enum client_style style,
                    struct file_attr *ret_attr, struct error *err)
{
    const struct operation op = {c, "truncate", path, err};
    uint8_t buf[8];
    struct wr data = wr_init(buf, sizeof(buf));
    if (size > INT64_MAX)
        return operation_error(&op, -EFBIG, "no file can be as large");
    wire_size_encode(&data, size);
    const struct change change = {
        .how = {.access = FILE_WRITE_DATA,
                .share = FILE_SHARE_ALL,
                .disposition = FILE_OPEN,
                .options = FILE_NON_DIRECTORY_FILE | FILE_OPEN_REPARSE_POINT,
                .keys = keys},
        .set = {{FILE_END_OF_FILE_INFORMATION, rd_init(buf, data.pos)}},
        .count = 1,
    };
    return change_and_tell(&op, style, &change, ret_attr);
}

/* ---- names ---- */

int client_mkdir(struct client *c, const char *path, const struct client_keys *keys,
                 enum client_style style, struct file_attr *ret_attr, struct error *err)
{
    const struct operation op = {c, "make directory", path, err, true};
    const struct change change = {
        .how = {.share = FILE_SHARE_ALL,
                .disposition = FILE_CREATE,
                .options = FILE_DIRECTORY_FILE,
                .keys = keys},
    };
    return change_and_tell(&op, style, &change, ret_attr);
}

/* The new name of a rename or link, as its class wants it. */
struct target {
    struct wire_path path;
    uint8_t *buf;
    struct setting set;
};

static int target_init(const struct operation *op, uint8_t info_class, const char *to, bool replace,
                       struct target *ret)
{
    enum { FIXED = 32 };
    const struct operation about = {op->client, op->verb, to, op->err, true};
    *ret = (struct target){0};
    int r = wire_path_init(&about, to, &ret->path);
    if (r < 0)
        return r;
    size_t cap = ret->path.name.len + FIXED;
    ret->buf = malloc(cap);
    if (!ret->buf)
        return operation_error(op, -ENOMEM, "out of memory");
    struct wr data = wr_init(ret->buf, cap);
    wire_rename_encode(&data, &(struct wire_rename){replace, ret->path.name});
    ret->set = (struct setting){info_class, rd_init(ret->buf, data.pos), false};
    return 0;
}

static void target_done(struct target *t)
{
    free(t->buf);
    wire_path_done(&t->path);
}

static int give_name(const struct operation *op, uint32_t access, uint8_t info_class,
                     const char *to, bool replace, const struct client_keys *keys,
                     enum client_style style, struct file_attr *ret_attr)
{
    struct target target;
    int r = target_init(op, info_class, to, replace, &target);
    if (r == 0) {
        const struct change change = {
            .how = {.access = access,
                    .share = FILE_SHARE_ALL,
                    .disposition = FILE_OPEN,
                    .options = FILE_OPEN_REPARSE_POINT,
                    .keys = keys},
            .set = {target.set},
            .count = 1,
        };
        r = change_and_tell(op, style, &change, ret_attr);
    }
    target_done(&target);
    return r;
}

int client_rename(struct client *c, const char *from, const char *to, bool replace,
                  const struct client_keys *keys, enum client_style style,
                  struct file_attr *ret_attr, struct error *err)
{
    const struct operation op = {c, "rename", from, err, .to = to};
    int r =
        give_name(&op, ACCESS_DELETE, FILE_RENAME_INFORMATION, to, replace, keys, style, ret_attr);
    if (r == 0)
        kept_renamed(c->conn, from, to);
    return r;
}

int client_link(struct client *c, const char *from, const char *to, bool replace,
                const struct client_keys *keys, enum client_style style, struct file_attr *ret_attr,
                struct error *err)
{
    const struct operation op = {c, "link", from, err, .to = to};
    uint32_t access = c->facts.maximal_access; /* 0: not told */
    if (access && !(access & FILE_WRITE_DATA)) /* Samba would make it all the same */
        return operation_error(&op, -EROFS, "the share is read-only for this user");
    return give_name(&op, 0, FILE_LINK_INFORMATION, to, replace, keys, style, ret_attr);
}

int client_file_rename(struct client_file *f, const char *to, bool replace, struct error *err)
{
    const struct operation op = {f->client, "rename", f->path, err, .to = to};
    struct target target;
    int r = target_init(&op, FILE_RENAME_INFORMATION, to, replace, &target);
    if (r == 0)
        r = set_open(&op, f->handle, &target.set, NULL);
    target_done(&target);
    if (r == 0)
        handle_renamed(f->client->conn, f->handle, to);
    return r;
}

/* ---- removal ---- */

static const uint8_t remove_it[] = {1}; /* FileDispositionInformation: DeletePending */

static struct setting removal(void)
{
    return (struct setting){FILE_DISPOSITION_INFORMATION, rd_init(remove_it, 1), false};
}

static bool is_read_only(uint32_t status, const struct file_attr *attr)
{
    return status_is(status, STATUS_CANNOT_DELETE) && (attr->attributes & FILE_ATTRIBUTE_READONLY);
}

/* Attributes with and without READONLY, as they are set. */
struct read_only {
    struct client_basic with;
    uint8_t off[WIRE_BASIC_SIZE], on[WIRE_BASIC_SIZE];
};

static void read_only_init(uint32_t attributes, struct read_only *ret)
{
    uint32_t others = attributes & ~(uint32_t)FILE_ATTRIBUTE_READONLY;
    ret->with = (struct client_basic){.attributes = attributes};
    basic_setting(&(struct client_basic){.attributes = others ? others : FILE_ATTRIBUTE_NORMAL},
                  false, ret->off);
    basic_setting(&ret->with, false, ret->on);
}

static struct setting read_only_setting(const uint8_t data[static WIRE_BASIC_SIZE], bool optional)
{
    return (struct setting){FILE_BASIC_INFORMATION, rd_init(data, WIRE_BASIC_SIZE), optional};
}

static int remove_read_only(const struct operation *op, const struct client_how *how,
                            uint32_t attributes, enum client_style style)
{
    struct read_only ro;
    struct changed changed;
    read_only_init(attributes, &ro);
    struct change change = {
        .how = *how,
        .set = {read_only_setting(ro.off, false), removal(), read_only_setting(ro.on, true)},
        .count = 3,
    };
    change.how.access |= FILE_WRITE_ATTRIBUTES;
    int r = change_path(op, style, &change, &changed);
    if (r < 0) /* harmless where nothing was taken away, or it was given back already */
        (void)client_set_basic(op->client, op->path, &ro.with, how->keys, style, NULL, NULL);
    return r;
}

static int remove_by(const struct operation *op, const struct client_how *how,
                     enum client_style style)
{
    const struct change change = {.how = *how, .set = {removal()}, .count = 1};
    struct changed changed;
    int r = change_path(op, style, &change, &changed);
    if (r == -ENOENT && changed.twice.is)
        return 0; /* it was done the first time */
    if (r < 0 && is_read_only(changed.status, &changed.before))
        r = remove_read_only(op, how, changed.before.attributes, style);
    return r;
}

/* A link to a directory is a directory to the server, and no directory to POSIX. */
static bool is_link(struct client *c, const char *path, enum client_style style)
{
    struct file_attr attr;
    return client_stat(c, path, style, &attr, NULL, NULL) == 0 &&
           (attr.attributes & FILE_ATTRIBUTE_REPARSE_POINT);
}

int client_remove(struct client *c, const char *path, bool dir, const struct client_keys *keys,
                  enum client_style style, struct error *err)
{
    const struct operation op = {c, dir ? "remove directory" : "remove", path, err};
    struct client_how how = {
        .access = ACCESS_DELETE,
        .share = FILE_SHARE_ALL,
        .disposition = FILE_OPEN,
        .options = (dir ? FILE_DIRECTORY_FILE : FILE_NON_DIRECTORY_FILE) | FILE_OPEN_REPARSE_POINT,
        .keys = keys,
    };
    int r = remove_by(&op, &how, style);
    if (r == -EISDIR && !dir && is_link(c, path, style)) {
        how.options = FILE_DIRECTORY_FILE | FILE_OPEN_REPARSE_POINT;
        r = remove_by(&op, &how, style);
    }
    return r;
}

int client_file_remove(struct client_file *f, struct error *err)
{
    const struct operation op = {f->client, "remove", f->path, err};
    struct handle *h = f->handle;
    const struct setting remove_now = removal();
    struct file_attr attr;
    struct read_only ro;
    uint32_t status = 0;

    int r = set_open(&op, h, &remove_now, &status);
    if (!status_is(status, STATUS_CANNOT_DELETE) || stat_open(&op, h, &attr) < 0 ||
        !is_read_only(status, &attr))
        return r;
    read_only_init(attr.attributes, &ro);
    const struct setting off = read_only_setting(ro.off, false),
                         on = read_only_setting(ro.on, true);
    if (set_open(&op, h, &off, NULL) < 0)
        return r;
    r = set_open(&op, h, &remove_now, NULL);
    const struct operation quiet = {f->client, "remove", f->path, NULL};
    (void)set_open(&quiet, h, &on, NULL);
    return r;
}
