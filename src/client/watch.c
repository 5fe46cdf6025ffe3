/*
 * Watches: CHANGE_NOTIFY. (2.2.35, 3.2.4.19, 3.3.5.19; MS-FSCC 2.7.1)
 *
 * One request waits on the server for changes, for hours it may be: it has no deadline, and the
 * credit that it took came back with its interim response. When its answer is in, the next request
 * leaves before anything is told; the server gathers what happens between the two by the open. An
 * answer that says too little (the server lost count, an empty or cut one, a change of a kind that
 * is not known here, bytes that make no sense) is an overflow: everything beneath may have changed.
 *
 * The names are a stranger's. One that could not lead to anything here (see name_from_wire, for
 * each component) is refused and counted, and the rest is told. A renaming whose other half does
 * not follow, or was refused, is told as what is left of it: a name that went, or one that came.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf.h"
#include "client/operation.h"
#include "client/renew.h"

#define INTERIM_WAIT NS_PER_SEC /* servers that send an interim response do so at once */

enum {
    NOTIFY_BUFFER = 65536, /* what every server takes, for one credit */
    FILTER = FILE_NOTIFY_CHANGE_FILE_NAME | FILE_NOTIFY_CHANGE_DIR_NAME |
             FILE_NOTIFY_CHANGE_ATTRIBUTES | FILE_NOTIFY_CHANGE_SIZE |
             FILE_NOTIFY_CHANGE_LAST_WRITE | FILE_NOTIFY_CHANGE_CREATION,
};

struct client_watch {
    struct client *client;
    struct handle *handle;
    bool tree;
    pthread_mutex_t lock;
    struct compound *m;       /* the request that waits; protected by lock */
    bool stopped;             /* protected by lock */
    struct client_bell *bell; /* NULL, or the caller's, for all requests; the thread's that waits */
    char path[];              /* for error texts */
};

/* ---- arming ---- */

static int stopped(const struct operation *op)
{
    return operation_error(op, -ECANCELED, "the watch was stopped");
}

/* Statuses of a server that has no watches, or none of this kind. */
static bool is_unsupported(uint32_t status)
{
    return is_refusal(status) || status_is(status, STATUS_INVALID_DEVICE_REQUEST);
}

static int send_request(struct client_watch *w, const struct operation *op, struct compound **ret)
{
    struct conn *c = w->client->conn;
    const struct wire_change_notify_request request = {
        .flags = w->tree ? SMB2_WATCH_TREE : 0,
        .output_length = c->max_transact < NOTIFY_BUFFER ? c->max_transact : NOTIFY_BUFFER,
        .filter = FILTER,
    };
    struct error why;
    struct compound *m = compound_new(c, 0);
    if (!m)
        return operation_error(op, -ENOMEM, "out of memory");
    m->bell = w->bell;
    wire_change_notify_request_encode(compound_add(m, SMB2_CHANGE_NOTIFY, request.output_length),
                                      &request);
    compound_by(m, w->handle);
    int r = compound_submit(m, conn_deadline(c), &why);
    if (r < 0) {
        compound_free(m);
        return operation_failed(op, &why);
    }
    *ret = m;
    return 0;
}

/* Has the session renewed where the request was refused for want of one. Whether to send another.
 */
static bool renewed(struct conn *c, const struct compound *m)
{
    const struct request *q = &m->request[0];
    return status_is(q->reply.status, STATUS_NETWORK_SESSION_EXPIRED) && renew_possible(c) &&
           renew_session(c, q->logon, conn_deadline(c), NULL) == 0;
}

/* The first request, and what the server says to it at once. */
static int arm_once(struct client_watch *w, const struct operation *op)
{
    struct conn *c = w->client->conn;
    struct error why;
    if (credit_total(c) < 2) /* it would hold the only one */
        return operation_error(op, -EOPNOTSUPP, "the server grants too few credits for a watch");
    int r = send_request(w, op, &w->m);
    if (r < 0)
        return r;
    uint64_t deadline = conn_deadline(c), soon = clock_now() + INTERIM_WAIT;
    observe_round_trip(c->observe);
    r = compound_wait_interim(w->m, deadline < soon ? deadline : soon, &why);
    if (r < 0)
        return operation_failed(op, &why);
    if (!compound_is_answered(w->m))
        return 0;
    uint32_t status = compound_status(w->m, 0);
    if (is_unsupported(status))
        return operation_error(op, -EOPNOTSUPP, "the server does not tell of changes");
    return ntstatus_failed(status) ? operation_status(op, status) : 0;
}

static int arm(struct client_watch *w, const struct operation *op)
{
    int r = arm_once(w, op);
    if (r == 0 || !w->m || !compound_is_answered(w->m) || !renewed(op->client->conn, w->m))
        return r;
    w->m = compound_free(w->m);
    return arm_once(w, op);
}

static struct client_watch *watch_new(struct client *c, const char *path, bool tree)
{
    size_t len = strlen(path) + 1;
    struct client_watch *w = calloc(1, sizeof(*w) + len);
    if (!w)
        return NULL;
    w->client = c;
    w->tree = tree;
    pthread_mutex_init(&w->lock, NULL);
    memcpy(w->path, path, len);
    return w;
}

int client_watch_new(struct client *c, const char *path, bool tree, struct client_watch **ret,
                     struct error *err)
{
    const struct operation op = {c, "watch", path, err};
    struct wire_path name = {0};
    struct file_attr ignored;
    struct client_watch *w = watch_new(c, path, tree);
    if (!w)
        return operation_error(&op, -ENOMEM, "out of memory");

    int r = wire_path_init(&op, path, &name);
    if (r == 0)
        r = create_run(&op, OPEN_LIST, &name.name, NULL, &w->handle, &ignored);
    wire_path_done(&name);
    if (r == 0)
        r = arm(w, &op);
    if (r < 0) {
        client_watch_free(w);
        return r;
    }
    *ret = w;
    return 0;
}

/* ---- telling ---- */

struct telling {
    const struct client *client;
    client_change_fn fn;
    void *user;
    uint64_t heard_at; /* when the bytes of the answer were read */
    char *path;        /* room for the longest one */
};

/* `path` NULL: all beneath. */
static void show(const struct client *c, const char *what, const char *path, uint64_t heard_at)
{
    observe_promise(
        c->conn->observe,
        &(struct observe_promise){.id = EVENT_NOTICE, .at = heard_at, .path = path, .what = what});
}

static const char *name_of(enum client_action action)
{
    switch (action) {
    case CLIENT_ADDED:
        return "added";
    case CLIENT_REMOVED:
        return "removed";
    case CLIENT_MODIFIED:
        return "modified";
    case CLIENT_RENAMED_FROM:
        return "renamed from";
    case CLIENT_RENAMED_TO:
        return "renamed to";
    }
    return "unknown";
}

/* Into t->path; false for a path that leads nowhere here. */
static bool take_path(struct telling *t, const struct rd *utf16)
{
    size_t len = 0, start = 0;
    for (size_t i = 0; i <= utf16->len; i += 2) {
        if (i < utf16->len && !(utf16->base[i] == '\\' && utf16->base[i + 1] == 0))
            continue;
        char name[CLIENT_NAME_MAX];
        const struct rd component = rd_init(utf16->base + start, i - start);
        int n = name_from_wire(t->client->map_names, &component, name);
        if (n < 0)
            return false;
        if (len)
            t->path[len++] = '/';
        memcpy(t->path + len, name, (size_t)n);
        len += (size_t)n;
        start = i + 2;
    }
    t->path[len] = 0;
    return true;
}

static void tell(struct telling *t, enum client_action action, const struct wire_change *change)
{
    if (take_path(t, &change->name)) {
        show(t->client, name_of(action), t->path, t->heard_at);
        t->fn(t->user, action, t->path);
    } else {
        observe_refused_name(t->client->conn->observe);
    }
}

/* Whether the other half of a renaming follows, by a path that leads somewhere. */
static bool new_name_follows(struct telling *t, struct rd rest)
{
    struct wire_change next;
    return wire_change_next(&rest, &next) > 0 && next.action == FILE_ACTION_RENAMED_NEW_NAME &&
           take_path(t, &next.name);
}

static void tell_all(struct telling *t, struct rd changes)
{
    struct wire_change change;
    bool renaming = false; /* the old name has been told as such */
    while (wire_change_next(&changes, &change) > 0) {
        enum client_action action = (enum client_action)change.action;
        if (action == CLIENT_RENAMED_FROM) {
            renaming = take_path(t, &change.name) && new_name_follows(t, changes);
            action = renaming ? CLIENT_RENAMED_FROM : CLIENT_REMOVED;
        } else if (action == CLIENT_RENAMED_TO) {
            action = renaming ? CLIENT_RENAMED_TO : CLIENT_ADDED;
            renaming = false;
        }
        tell(t, action, &change);
    }
}

/* Whether the answer tells all that happened. */
static bool says_enough(const struct request *q, struct rd *ret_changes)
{
    struct wire_buffer_response buffer;
    struct wire_change change;
    int r;
    if (!status_is(q->reply.status, STATUS_SUCCESS) ||
        wire_buffer_response_decode(q->message, &buffer) < 0 || rd_left(&buffer.output) == 0)
        return false;
    *ret_changes = buffer.output;
    while ((r = wire_change_next(&buffer.output, &change)) > 0)
        if (change.action < FILE_ACTION_ADDED || change.action > FILE_ACTION_RENAMED_NEW_NAME)
            return false;
    return r == 0;
}

static int tell_answer(struct client_watch *w, const struct operation *op, const struct compound *m,
                       client_change_fn fn, void *user, bool *ret_overflow)
{
    struct rd changes;
    const struct request *q = &m->request[0];
    struct telling t = {.client = w->client, .fn = fn, .user = user, .heard_at = q->heard_at};
    if (!says_enough(q, &changes)) {
        show(w->client, "lost", NULL, q->heard_at);
        *ret_overflow = true;
        return 0;
    }
    t.path = malloc(UTF8_MAX_FOR_UTF16(changes.len) + 1);
    if (!t.path)
        return operation_error(op, -ENOMEM, "out of memory");
    tell_all(&t, changes);
    free(t.path);
    *ret_overflow = false;
    return 0;
}

/* ---- waiting ---- */

/* Whether the watch goes on behind this answer. */
static int check_status(const struct operation *op, uint32_t status)
{
    if (status_is(status, STATUS_NOTIFY_CLEANUP) || status_is(status, STATUS_CANCELLED))
        return operation_error(op, -ESTALE, "the server ended the watch (is the directory gone?)");
    return ntstatus_failed(status) ? operation_status(op, status) : 0;
}

/* The next request takes the place of the one that has been answered, which is the caller's then.
 */
static int arm_again(struct client_watch *w, const struct operation *op, struct compound **ret_old)
{
    struct compound *next;
    int r = send_request(w, op, &next);
    if (r < 0)
        return r;
    pthread_mutex_lock(&w->lock);
    *ret_old = w->m;
    w->m = next;
    if (w->stopped)
        compound_stop(next);
    pthread_mutex_unlock(&w->lock);
    return 0;
}

int client_watch_next(struct client_watch *w, client_change_fn fn, void *user, bool *ret_overflow,
                      struct error *err)
{
    const struct operation op = {w->client, "watch", w->path, err};
    struct compound *answered = NULL;
    struct error why;

    /* the CANCEL is left to client_watch_free */
    int r = compound_wait(w->m, CLOCK_NEVER, &why);
    pthread_mutex_lock(&w->lock);
    bool is_over = w->stopped;
    pthread_mutex_unlock(&w->lock);
    if (is_over)
        return stopped(&op);
    if (r < 0)
        return operation_failed(&op, &why);
    if (!renewed(w->client->conn, w->m))
        r = check_status(&op, compound_status(w->m, 0));
    if (r == 0)
        r = arm_again(w, &op, &answered);
    if (r < 0)
        return r;
    r = tell_answer(w, &op, answered, fn, user, ret_overflow);
    compound_free(answered);
    return r;
}

bool client_watch_is_ready(struct client_watch *w)
{
    pthread_mutex_lock(&w->lock);
    bool is_over = w->stopped;
    pthread_mutex_unlock(&w->lock);
    return is_over || compound_is_answered(w->m);
}

void client_watch_ring(struct client_watch *w, struct client_bell *b)
{
    struct conn *c = w->client->conn;
    w->bell = b;
    pthread_mutex_lock(&c->lock);
    w->m->bell = b;
    bell_ring(b); /* it may have been answered before */
    pthread_mutex_unlock(&c->lock);
}

void client_watch_stop(struct client_watch *w)
{
    pthread_mutex_lock(&w->lock);
    w->stopped = true;
    compound_stop(w->m);
    pthread_mutex_unlock(&w->lock);
}

struct client_watch *client_watch_free(struct client_watch *w)
{
    if (!w)
        return NULL;
    if (w->m && !compound_is_answered(w->m))
        compound_cancel(w->m);
    compound_free(w->m);
    conn_close_later(w->client->conn, w->handle);
    pthread_mutex_destroy(&w->lock);
    free(w);
    return NULL;
}
