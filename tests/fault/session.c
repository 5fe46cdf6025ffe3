/*
 * The session, step by step. A step gives 0 or an error, and notes an answer that is wrong; the
 * first error ends it. Linked with --wrap=client_connect: deadlines as short as tests want them
 * are nothing that a user can ask for.
 */
#include "tests/fault/session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "client/client.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

enum { MANY = SESSION_MANY, BIG = 70000, WRITTEN = 80000 };

/* ---- the files ---- */

enum { DIR_LIB, DIR_MANY, FILE_A, FILE_BIG, FILE_OUT, FILE_OLD, FIXED };
#define DIRECTORY(parent, name, file_id)                                                           \
    {                                                                                              \
        parent, SERVER_NAME(name),                                                                 \
        {                                                                                          \
            .id = file_id, .attributes = FILE_ATTRIBUTE_DIRECTORY                                  \
        }                                                                                          \
    }

static uint8_t big[BIG], sink[WRITTEN], source[WRITTEN];
static uint16_t many_names[MANY][4];
static struct server_node nodes[FIXED + MANY] = {
    [DIR_LIB] = DIRECTORY(SERVER_ROOT, u"lib", 10),
    [DIR_MANY] = DIRECTORY(SERVER_ROOT, u"many", 11),
    [FILE_A] = {DIR_LIB, SERVER_NAME(u"a.py"), {.id = 12}, SERVER_CONTENT("print('a')\n")},
    [FILE_BIG] = {DIR_LIB, SERVER_NAME(u"big"), {.id = 13}, {.base = big, .len = BIG}},
    [FILE_OUT] = {DIR_LIB, SERVER_NAME(u"out"), {.id = 14, .size = WRITTEN}},
    [FILE_OLD] = {DIR_LIB, SERVER_NAME(u"old"), {.id = 15}, SERVER_CONTENT("old")},
};

static void make_files(void)
{
    for (unsigned i = 0; i < BIG; i++)
        big[i] = (uint8_t)(i * 7 + i / 251);
    for (unsigned i = 0; i < WRITTEN; i++)
        source[i] = (uint8_t)(i * 13 + i / 509 + 1);
    for (unsigned i = 0; i < MANY; i++) {
        const uint16_t name[] = {'n', (uint16_t)('0' + i / 10), (uint16_t)('0' + i % 10)};
        memcpy(many_names[i], name, sizeof(name));
        nodes[FIXED + i] = (struct server_node){
            .parent = DIR_MANY,
            .name = {.base = (const uint8_t *)many_names[i], .len = sizeof(name)},
            .attr = {.id = 1000 + i, .size = i},
        };
    }
}

struct server_script session_script(enum session_kind kind)
{
    if (!nodes[FIXED].attr.id)
        make_files();
    memset(sink, 0, sizeof(sink));
    return (struct server_script){
        .nodes = nodes,
        .node_count = COUNT(nodes),
        .dialect = SMB2_DIALECT_311,
        .max_transact = 1 << 16,
        .max_read = 1 << 16,
        .entries_per_reply = 40,
        .logon = kind != SESSION_GUEST,
        .must_sign = kind != SESSION_GUEST,
        .signing = SERVER_SIGN_GMAC,
        .cipher = kind == SESSION_SEALED ? SMB2_CIPHER_AES128_GCM : 0,
        .capabilities = SMB2_GLOBAL_CAP_LEASING | SMB2_GLOBAL_CAP_DIRECTORY_LEASING,
        .lease = {.state = SMB2_LEASE_READ_CACHING | SMB2_LEASE_HANDLE_CACHING, .epoch = 1},
        .sink = {.data = sink, .size = sizeof(sink)},
    };
}

/* ---- one session ---- */

static uint64_t timeout; /* of the session that is running */

int __real_client_connect(const struct client_options *options, struct client **ret,
                          struct error *err);
int __wrap_client_connect(const struct client_options *options, struct client **ret,
                          struct error *err);
int __wrap_client_connect(const struct client_options *options, struct client **ret,
                          struct error *err)
{
    struct client_options o = *options;
    o.connect_timeout_ns = o.request_timeout_ns = timeout;
    return __real_client_connect(&o, ret, err);
}

struct session {
    struct share *share;
    struct session_result *result;
};

#define WRONG(session, ...)                                                                        \
    do {                                                                                           \
        if (!*(session)->result->wrong)                                                            \
            snprintf((session)->result->wrong, sizeof((session)->result->wrong), __VA_ARGS__);     \
    } while (0)

static void failed(struct session *s, const char *step, int code, const struct error *err)
{
    s->result->code = code;
    s->result->step = step;
    s->result->err = *err;
    /* what says how the files are is an answer; and everything is there that is asked for */
    if (code == -ENOENT || code == -EEXIST || code == -ENOTDIR || code == -EISDIR ||
        code == -ENOTEMPTY || code == -ESTALE)
        WRONG(s, "%s is answered %s", step, strerror(-code));
}

static void check_attr(struct session *s, const char *name, const struct file_attr *attr,
                       uint64_t size, bool is_dir)
{
    if (file_attr_is_dir(attr) != is_dir)
        WRONG(s, "%s is %sa directory", name, is_dir ? "not " : "");
    else if (!is_dir && attr->size != size)
        WRONG(s, "%s is %llu bytes long", name, (unsigned long long)attr->size);
}

/* ---- steps ---- */

static int space(struct session *s, struct error *err)
{
    struct share_statfs fs;
    int r = share_statfs(s->share, &fs, err);
    if (r == 0 && (fs.total_bytes != 1000ull * 8 * 512 || fs.available_bytes != 400ull * 8 * 512))
        WRONG(s, "statfs gives %llu of %llu bytes", (unsigned long long)fs.available_bytes,
              (unsigned long long)fs.total_bytes);
    return r;
}

static int list_top(struct session *s, struct error *err)
{
    struct share_listing *l;
    char name[SHARE_NAME_MAX];
    int r = share_list_path(s->share, "", &l, err);
    if (r < 0)
        return r;
    if (share_listing_count(l) != 2)
        WRONG(s, "the top has %zu entries", share_listing_count(l));
    for (size_t i = 0; i < share_listing_count(l); i++) {
        const struct file_attr *attr = share_listing_entry(l, i, name);
        if (strcmp(name, "lib") && strcmp(name, "many"))
            WRONG(s, "the top has a \"%.40s\"", name);
        check_attr(s, name, attr, 0, true);
    }
    share_listing_free(s->share, l);
    return 0;
}

static int list_many(struct session *s, struct error *err)
{
    struct share_listing *l;
    char name[SHARE_NAME_MAX];
    bool seen[MANY] = {false};
    int r = share_list_path(s->share, "many", &l, err);
    if (r < 0)
        return r;
    if (share_listing_count(l) != MANY)
        WRONG(s, "many has %zu entries", share_listing_count(l));
    for (size_t i = 0; i < share_listing_count(l); i++) {
        const struct file_attr *attr = share_listing_entry(l, i, name);
        unsigned n = MANY;
        if (sscanf(name, "n%2u", &n) != 1 || strlen(name) != 3 || n >= MANY || seen[n]) {
            WRONG(s, "many has a \"%.40s\"", name);
            continue;
        }
        seen[n] = true;
        check_attr(s, name, attr, n, false);
    }
    share_listing_free(s->share, l);
    return 0;
}

static int look(struct session *s, const char *path, uint64_t size, bool is_dir, struct error *err)
{
    struct share_entry e;
    int r = share_stat_path(s->share, path, &e, err);
    if (r < 0)
        return r;
    check_attr(s, path, &e.attr, size, is_dir);
    share_node_unref(s->share, e.node);
    return 0;
}

static int look_at_files(struct session *s, struct error *err)
{
    struct share_entry e;
    int r = look(s, "lib/a.py", 11, false, err);
    if (r == 0)
        r = look(s, "many/n07", 7, false, err);
    if (r < 0)
        return r;
    r = share_stat_path(s->share, "lib/none", &e, err);
    if (r == 0) {
        WRONG(s, "lib/none is there");
        share_node_unref(s->share, e.node);
    }
    return r == -ENOENT ? 0 : r;
}

static int read_file(struct session *s, const char *path, const void *content, size_t size,
                     struct error *err)
{
    struct share_file *f;
    struct share_entry e;
    int r = share_open_path(s->share, path, &f, &e, err);
    if (r < 0)
        return r;
    static uint8_t buf[BIG + 100];
    int64_t n = share_read(s->share, f, buf, sizeof(buf), 0, err);
    if (n >= 0 && ((size_t)n != size || memcmp(buf, content, size) != 0))
        WRONG(s, "%s has other content (%lld bytes)", path, (long long)n);
    share_close(s->share, f);
    share_node_unref(s->share, e.node);
    return n < 0 ? (int)n : 0;
}

static int read_files(struct session *s, struct error *err)
{
    int r = read_file(s, "lib/a.py", "print('a')\n", 11, err);
    return r ? r : read_file(s, "lib/big", big, BIG, err);
}

static int write_all(struct session *s, struct share_file *f, struct error *err)
{
    int64_t n = share_write(s->share, f, source, WRITTEN, 0, err);
    if (n < 0)
        return (int)n;
    s->result->written = (unsigned)n;
    int r = share_fsync(s->share, f, true, err);
    if (n > WRITTEN || memcmp(sink, source, (size_t)n) != 0)
        WRONG(s, "%lld bytes are said to be written, and are not", (long long)n);
    return r;
}

static int write_file(struct session *s, struct error *err)
{
    struct share_node *dir;
    struct share_entry e;
    struct share_file *f;
    char name[SHARE_NAME_MAX];
    int r = share_parent(s->share, "lib/out", &dir, name, err);
    if (r < 0)
        return r;
    r = share_lookup(s->share, dir, name, &e, err);
    if (r == 0) {
        r = share_open(s->share, e.node, SHARE_READ | SHARE_WRITE, &f, NULL, err);
        if (r == 0) {
            r = write_all(s, f, err);
            share_close(s->share, f);
        }
        share_node_unref(s->share, e.node);
    }
    share_node_unref(s->share, dir);
    return r;
}

static int make_file(struct session *s, struct share_node *dir, struct error *err)
{
    struct share_entry e;
    struct share_file *f;
    bool created = false;
    int r = share_create(s->share, dir, "new", SHARE_READ | SHARE_WRITE | SHARE_EXCLUSIVE, 0, &f,
                         &e, &created, err);
    if (r < 0)
        return r;
    if (!created)
        WRONG(s, "lib/new was there");
    share_close(s->share, f);
    share_node_unref(s->share, e.node);
    return 0;
}

static int change_names(struct session *s, struct error *err)
{
    struct share_node *dir;
    struct share_entry e;
    char name[SHARE_NAME_MAX];
    int r = share_parent(s->share, "lib/old", &dir, name, err);
    if (r < 0)
        return r;
    r = make_file(s, dir, err);
    if (r == 0)
        r = share_rename(s->share, dir, "old", dir, "newer", false, err);
    if (r == 0)
        r = share_mkdir(s->share, dir, "sub", &e, err);
    if (r == 0) {
        share_node_unref(s->share, e.node);
        r = share_remove(s->share, dir, "a.py", false, err);
    }
    share_node_unref(s->share, dir);
    return r;
}

static const struct {
    const char *name;
    int (*run)(struct session *s, struct error *err);
} steps[] = {
    {"space", space},         {"list the top", list_top}, {"list many", list_many},
    {"look", look_at_files},  {"read", read_files},       {"write", write_file},
    {"change", change_names},
};

static int set_options(struct server *server, enum session_kind kind, struct share_options *o,
                       struct error *err)
{
    char target[64];
    snprintf(target, sizeof(target), "//127.0.0.1:%u/share", server_port(server));
    share_options_init(o);
    int r = share_options_target(o, target, err);
    if (r == 0 && kind == SESSION_GUEST)
        return share_options_set(o, "guest", NULL, err);
    if (r == 0)
        r = share_options_set(o, "user", SERVER_USER, err);
    if (r == 0)
        r = share_options_set(o, "domain", SERVER_DOMAIN, err);
    if (r == 0)
        r = share_options_set(o, "password", SERVER_PASSWORD, err);
    if (r == 0)
        r = share_options_set(o, kind == SESSION_SEALED ? "seal" : "sign", NULL, err);
    return r;
}

int session_share(struct server *server, enum session_kind kind, uint64_t timeout_ns,
                  struct share **ret, struct error *err)
{
    struct share_options o;
    timeout = timeout_ns;
    int r = set_options(server, kind, &o, err);
    if (r == 0)
        r = share_connect(&o, ret, err);
    share_options_done(&o);
    return r;
}

void session_run(struct server *server, enum session_kind kind, uint64_t timeout_ns,
                 struct session_result *ret)
{
    struct session s = {.result = ret};
    struct error err = {0};
    *ret = (struct session_result){.step = "everything"};
    int r = session_share(server, kind, timeout_ns, &s.share, &err);
    if (r < 0) {
        failed(&s, "connect", r, &err);
        return;
    }
    for (size_t i = 0; r == 0 && i < COUNT(steps); i++) {
        r = steps[i].run(&s, &err);
        if (r < 0)
            failed(&s, steps[i].name, r, &err);
    }
    share_free(s.share, NULL);
}
