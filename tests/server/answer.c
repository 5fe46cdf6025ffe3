/*
 * The scripted server's answers.
 *
 * Each request of a frame is counted, the script's rules are gathered into one outcome, the
 * command's handler writes the body of a reply behind room for a header, and the header is put in
 * front when the status is known. Replies to one frame go into one frame, as requests came, until
 * something says otherwise: a rule, or an interim response, which always travels alone.
 */
#include <unistd.h>

#include "base/ntstatus.h"
#include "internal.h"

/* ---- rules ---- */

struct outcome {
    bool silent, lost, interim, pending, own_frame, granted, joins, plain;
    bool bad_protocol, bad_signature;
    uint32_t fail; /* 0: not */
    uint16_t grant;
    uint64_t message_id_off;
    size_t hang_up_after; /* SIZE_MAX: not */
    unsigned delay_ms, late_ms, behind, repeats, pause_us;
    size_t piece;
    uint64_t length;
    size_t random;
    bool count_is_given;
    uint32_t count;
    const struct server_break *broken; /* before the reply; NULL: none */
    const struct server_alteration *altered[SERVER_ALTERED];
    unsigned altered_count;
};

static void add_alteration(struct outcome *o, const struct server_alteration *a)
{
    if (o->altered_count < SERVER_ALTERED)
        o->altered[o->altered_count++] = a;
}

static void apply(const struct server_script *script, const struct server_rule *rule,
                  struct outcome *o)
{
    switch (rule->action) {
    case SERVER_FAIL:
        o->fail = (uint32_t)rule->value;
        break;
    case SERVER_SILENT:
        o->silent = true;
        break;
    case SERVER_LOSE:
        o->lost = true;
        break;
    case SERVER_INTERIM:
        o->interim = true;
        break;
    case SERVER_PENDING:
        o->interim = o->pending = true;
        break;
    case SERVER_OWN_FRAME:
        o->own_frame = true;
        break;
    case SERVER_DELAY:
        o->delay_ms = (unsigned)rule->value;
        break;
    case SERVER_LATE:
        o->late_ms = (unsigned)rule->value;
        break;
    case SERVER_HOLD:
        o->behind = (unsigned)rule->value;
        break;
    case SERVER_REPEAT:
        o->repeats = (unsigned)rule->value;
        break;
    case SERVER_PIECES:
        o->piece = (size_t)(rule->value & UINT32_MAX);
        o->pause_us = (unsigned)(rule->value >> 32);
        break;
    case SERVER_JOIN:
        o->joins = true;
        break;
    case SERVER_PLAIN:
        o->plain = true;
        break;
    case SERVER_GRANT:
        o->granted = true;
        o->grant = (uint16_t)rule->value;
        break;
    case SERVER_HANG_UP:
        o->hang_up_after = (size_t)rule->value;
        break;
    case SERVER_BAD_PROTOCOL:
        o->bad_protocol = true;
        break;
    case SERVER_BAD_MESSAGE_ID:
        o->message_id_off = rule->value;
        break;
    case SERVER_BAD_SIGNATURE:
        o->bad_signature = true;
        break;
    case SERVER_BAD_LENGTH:
        o->length = rule->value;
        break;
    case SERVER_RANDOM:
        o->random = (size_t)rule->value;
        break;
    case SERVER_COUNT:
        o->count_is_given = true;
        o->count = (uint32_t)rule->value;
        break;
    case SERVER_BREAK:
        if (rule->value < script->break_count)
            o->broken = &script->breaks[rule->value];
        break;
    case SERVER_ALTER:
        if (rule->value < script->alteration_count)
            add_alteration(o, &script->alterations[rule->value]);
        break;
    }
}

/* Counts the request and says what is to happen to its reply. */
static struct outcome judge(struct exchange *x, bool behind)
{
    struct server *s = x->s;
    uint16_t command = x->request->command;
    struct outcome o = {.hang_up_after = SIZE_MAX};

    pthread_mutex_lock(&s->lock);
    unsigned all = ++s->counts[SMB2_COMMANDS];
    unsigned nth = command < SMB2_COMMANDS ? ++s->counts[command] : 0;
    pthread_mutex_unlock(&s->lock);
    x->nth = nth;

    for (size_t i = 0; i < x->script.rule_count; i++) {
        const struct server_rule *rule = &x->script.rules[i];
        if (rule->command != SERVER_ANY && rule->command != command)
            continue;
        unsigned now = rule->command == SERVER_ANY ? all : nth;
        unsigned until = rule->until ? rule->until : rule->nth;
        if (rule->nth && (now < rule->nth || now > until))
            continue;
        if (rule->where == SERVER_IN_COMPOUND && !x->compound)
            continue;
        if (rule->where == SERVER_BEHIND && !behind)
            continue;
        apply(&x->script, rule, &o);
    }
    return o;
}

/* ---- handlers: the body of a reply behind the header's room; the status ---- */

enum { SHARE_FLAG_ENCRYPT_DATA = 0x8000 };

static uint32_t tree_connect(struct exchange *x, struct rd msg, struct wr *w)
{
    struct wire_tree_connect_request q;
    struct wire_tree_connect_response r = {
        .share_type = SMB2_SHARE_TYPE_DISK,
        .share_flags = x->script.share_encrypts ? SHARE_FLAG_ENCRYPT_DATA : 0,
        .maximal_access = 0x001f01ff, /* everything */
    };
    static const struct rd pipes = SERVER_NAME(u"\\IPC$");
    if (wire_tree_connect_request_decode(msg, &q) < 0)
        return REFUSED;
    if (q.path.len > pipes.len &&
        memcmp(q.path.base + q.path.len - pipes.len, pipes.base, pipes.len) == 0)
        r.share_type = SMB2_SHARE_TYPE_PIPE;
    if (!x->c->tree_id)
        x->c->tree_id = (uint32_t)++x->s->serial;
    x->reply.tree_id = x->c->tree_id;
    wire_tree_connect_response_encode(w, &r);
    return STATUS_SUCCESS;
}

static uint32_t tree_disconnect(struct exchange *x, struct rd msg, struct wr *w)
{
    if (wire_empty_decode(msg) < 0)
        return REFUSED;
    server_open_close_all(x->s, x->c);
    x->c->tree_id = 0;
    wire_empty_encode(w);
    return STATUS_SUCCESS;
}

static uint32_t echo(struct exchange *x, struct rd msg, struct wr *w)
{
    if (wire_empty_decode(msg) < 0)
        return REFUSED;
    wire_empty_encode(w);
    return STATUS_SUCCESS;
}

static bool asks_for(struct rd contexts, const char *name)
{
    struct wire_create_context c;
    while (wire_create_context_next(&contexts, &c) == 1)
        if (c.name.len == strlen(name) && memcmp(c.name.base, name, c.name.len) == 0)
            return true;
    return false;
}

/* Three create contexts are answered: a lease's, a durable open's, and QFid (2.2.14.2.9): the
 * file's id, twice 8 bytes and a rest. */
static struct rd create_contexts(struct exchange *x, struct rd asked, struct server_open *o,
                                 uint64_t file_id, bool *ret_leased, uint8_t *buf, size_t cap)
{
    struct wire_lease lease;
    struct wr w = wr_init(buf, cap);
    bool wants_id = asks_for(asked, "QFid");
    *ret_leased =
        x->script.capabilities & SMB2_GLOBAL_CAP_LEASING && server_lease_asked(x, asked, &lease);
    bool durable = *ret_leased && server_durable_wanted(x, asked, &lease);
    if (*ret_leased)
        server_lease_grant(x, &lease, &w, !wants_id && !durable);
    if (durable)
        server_durable_grant(x, o, asked, &lease, &w, !wants_id);
    if (wants_id) {
        uint8_t data[32];
        struct wr id = wr_init(data, sizeof(data));
        wr_u64(&id, file_id);
        wr_zero(&id, sizeof(data) - id.pos);
        wire_create_context_encode(&w, "QFid", data, sizeof(data), true);
    }
    return rd_init(buf, w.pos);
}

static void opened(struct exchange *x, struct server_open *o, struct rd contexts,
                   struct wire_create_response *r, struct wr *w)
{
    uint8_t buf[256];
    bool leased;
    r->file_id = x->file_id = server_open_id(x->s, o);
    r->contexts = create_contexts(x, contexts, o, r->attr.id, &leased, buf, sizeof(buf));
    r->oplock_level = leased ? SMB2_OPLOCK_LEVEL_LEASE : SMB2_OPLOCK_LEVEL_NONE;
    wire_create_response_encode(w, r);
}

static uint32_t give_back(struct exchange *x, const struct wire_durable_reconnect *back,
                          struct rd contexts, struct wr *w)
{
    struct wire_create_response r = {.create_action = FILE_OPENED};
    struct server_open *o;
    uint32_t status = server_durable_back(x, back, contexts, &o);
    if (status != STATUS_SUCCESS)
        return status;
    r.attr = server_attr(&x->script, o->node);
    opened(x, o, contexts, &r, w);
    return STATUS_SUCCESS;
}

static uint32_t create(struct exchange *x, struct rd msg, struct wr *w)
{
    struct wire_create_request q;
    struct wire_create_response r = {.create_action = FILE_OPENED};
    struct wire_durable_reconnect back;
    int node;
    if (wire_create_request_decode(msg, &q) < 0)
        return REFUSED;
    if (x->script.durable && server_durable_reclaims(q.contexts, &back))
        return give_back(x, &back, q.contexts, w);
    if (server_durable_is_known(x->s, q.contexts))
        return (uint32_t)STATUS_DUPLICATE_OBJECTID;
    uint32_t status = server_find(&x->script, q.name, &node);
    bool makes = q.disposition != FILE_OPEN && q.disposition != FILE_OVERWRITE;
    if (status == STATUS_SUCCESS && q.disposition == FILE_CREATE)
        return (uint32_t)STATUS_OBJECT_NAME_COLLISION;
    if (status == STATUS_OBJECT_NAME_NOT_FOUND && makes) {
        node = SERVER_MADE;
        if (x->script.remembers)
            status = server_make(x, q.name, q.options & FILE_DIRECTORY_FILE, &node);
        if (x->script.remembers && status)
            return status;
        r.create_action = FILE_CREATED;
    } else if (status) {
        return status;
    }
    r.attr = server_attr(&x->script, node);
    if (node == SERVER_MADE)
        ; /* it is what it is asked to be */
    else if (q.options & FILE_DIRECTORY_FILE && !file_attr_is_dir(&r.attr))
        return (uint32_t)STATUS_NOT_A_DIRECTORY;
    else if (q.options & FILE_NON_DIRECTORY_FILE && file_attr_is_dir(&r.attr))
        return (uint32_t)STATUS_FILE_IS_A_DIRECTORY;

    struct server_open *o = server_open_new(x->s, x->c, node);
    if (!o)
        return (uint32_t)STATUS_INSUFFICIENT_RESOURCES;
    opened(x, o, q.contexts, &r, w);
    return STATUS_SUCCESS;
}

struct server_open *server_open_of(struct exchange *x, struct wire_file_id id)
{
    if (x->request->flags & SMB2_FLAGS_RELATED_OPERATIONS && id.persistent == UINT64_MAX &&
        id.volatile_ == UINT64_MAX)
        id = x->file_id;
    x->file_id = id;
    return server_open_find(x->s, x->c, id);
}

static uint32_t close_file(struct exchange *x, struct rd msg, struct wr *w)
{
    struct wire_close_request q;
    if (wire_close_request_decode(msg, &q) < 0)
        return REFUSED;
    struct server_open *o = server_open_of(x, q.file_id);
    if (!o)
        return (uint32_t)STATUS_FILE_CLOSED;
    struct wire_close_response r = {.flags = q.flags & SMB2_CLOSE_FLAG_POSTQUERY_ATTRIB,
                                    .attr = server_attr(&x->script, o->node)};
    x->closed = o->serial;
    if (o->removes)
        server_remove(x, o->node);
    server_open_close(x->s, o);
    wire_close_response_encode(w, &r);
    return STATUS_SUCCESS;
}

static uint32_t read_file(struct exchange *x, struct rd msg, struct wr *w)
{
    struct wire_read_request q;
    if (wire_read_request_decode(msg, &q) < 0 || q.length > x->script.max_read)
        return REFUSED;
    const struct server_open *o = server_open_of(x, q.file_id);
    if (!o)
        return (uint32_t)STATUS_FILE_CLOSED;
    struct rd content = o->node < 0 ? (struct rd){0} : x->script.nodes[o->node].content;
    if (q.offset >= content.len)
        return (uint32_t)STATUS_END_OF_FILE;
    size_t left = content.len - (size_t)q.offset;
    size_t n = x->count_is_given ? x->count : q.length;
    struct wire_read_response r = {.data = rd_sub(&content, (size_t)q.offset, n < left ? n : left)};
    wire_read_response_encode(w, &r);
    return STATUS_SUCCESS;
}

static uint32_t query_directory(struct exchange *x, struct rd msg, struct wr *w)
{
    struct wire_query_directory_request q;
    if (wire_query_directory_request_decode(msg, &q) < 0 ||
        q.output_length > x->script.max_query_directory || q.pattern.len > SERVER_PATTERN_MAX)
        return REFUSED;
    if (q.info_class != FILE_ID_BOTH_DIRECTORY_INFORMATION)
        return (uint32_t)STATUS_INVALID_INFO_CLASS;
    struct server_open *o = server_open_of(x, q.file_id);
    if (!o)
        return (uint32_t)STATUS_FILE_CLOSED;
    struct file_attr attr = server_attr(&x->script, o->node);
    if (!file_attr_is_dir(&attr))
        return REFUSED;
    if (q.flags & (SMB2_RESTART_SCANS | SMB2_REOPEN)) {
        o->position = 0;
        o->listed = false;
    }
    if (!o->listed) {
        o->pattern_len = q.pattern.len;
        memcpy(o->pattern, q.pattern.base, q.pattern.len);
    }

    unsigned max = q.flags & SMB2_RETURN_SINGLE_ENTRY ? 1 : x->script.entries_per_reply;
    struct wr output = wr_init(x->s->scratch, q.output_length);
    uint32_t status = server_list(&x->script, o, max, &output);
    if (status == STATUS_SUCCESS)
        wire_buffer_response_encode(w, output.buf, (uint32_t)output.pos);
    return status;
}

static uint32_t query_info(struct exchange *x, struct rd msg, struct wr *w)
{
    struct wire_query_info_request q;
    if (wire_query_info_request_decode(msg, &q) < 0 || q.output_length > x->script.max_transact)
        return REFUSED;
    const struct server_open *o = server_open_of(x, q.file_id);
    if (!o)
        return (uint32_t)STATUS_FILE_CLOSED;

    uint8_t path[2048];
    struct wr output = wr_init(x->s->scratch, SERVER_TRANSACT_MAX),
              name = wr_init(path, sizeof(path));
    struct file_attr attr = server_attr(&x->script, o->node);
    server_path(&x->script, o->node, &name);
    switch (q.info_type << 8 | q.info_class) {
    case SMB2_0_INFO_FILE << 8 | FILE_ALL_INFORMATION:
        wire_all_information_encode(&output, &attr, &(struct rd){.base = path, .len = name.pos});
        break;
    case SMB2_0_INFO_FILESYSTEM << 8 | FILE_FS_FULL_SIZE_INFORMATION:
        wire_fs_size_encode(&output, &(struct wire_fs_size){.total_units = 1000,
                                                            .caller_free_units = 400,
                                                            .actual_free_units = 500,
                                                            .sectors_per_unit = 8,
                                                            .bytes_per_sector = 512});
        break;
    case SMB2_0_INFO_FILESYSTEM << 8 | FILE_FS_ATTRIBUTE_INFORMATION:
        wire_fs_attribute_encode(
            &output, &(struct wire_fs_attribute){
                         .attributes = 0x7, .max_component = 255, .name = SERVER_NAME(u"SCRIPT")});
        break;
    default:
        return (uint32_t)STATUS_INVALID_INFO_CLASS;
    }
    /* What does not fit is cut off, and said so (3.3.5.20.1). */
    bool cut = output.pos > q.output_length;
    wire_buffer_response_encode(w, output.buf, cut ? q.output_length : (uint32_t)output.pos);
    return cut ? (uint32_t)STATUS_BUFFER_OVERFLOW : STATUS_SUCCESS;
}

enum need { NOTHING, SESSION, TREE };
static const struct {
    uint32_t (*answer)(struct exchange *x, struct rd msg, struct wr *w);
    enum need need;
} handlers[SMB2_COMMANDS] = {
    [SMB2_NEGOTIATE] = {server_negotiate, NOTHING},
    [SMB2_SESSION_SETUP] = {server_session_setup, NOTHING},
    [SMB2_LOGOFF] = {server_logoff, SESSION},
    [SMB2_TREE_CONNECT] = {tree_connect, SESSION},
    [SMB2_TREE_DISCONNECT] = {tree_disconnect, TREE},
    [SMB2_CREATE] = {create, TREE},
    [SMB2_CLOSE] = {close_file, TREE},
    [SMB2_FLUSH] = {server_flush_file, TREE},
    [SMB2_READ] = {read_file, TREE},
    [SMB2_WRITE] = {server_write, TREE},
    [SMB2_LOCK] = {server_lock, TREE},
    [SMB2_IOCTL] = {server_control, TREE},
    [SMB2_ECHO] = {echo, NOTHING},
    [SMB2_QUERY_DIRECTORY] = {query_directory, TREE},
    [SMB2_CHANGE_NOTIFY] = {NULL, TREE}, /* see begin_watch */
    [SMB2_QUERY_INFO] = {query_info, TREE},
    [SMB2_SET_INFO] = {server_set_info, TREE},
    [SMB2_OPLOCK_BREAK] = {server_lease_ack, TREE},
};

/* ---- one element ---- */

enum { HEADER_NEXT = 20 }; /* where NextCommand stands (2.2.1) */

/* What is wrong with a request before its command is looked at. */
static uint32_t refuse(const struct exchange *x, struct rd msg)
{
    const struct wire_header *h = x->request;
    if (!server_logon_trusts(&x->c->logon, h, msg) || server_seal_demands(x))
        return (uint32_t)STATUS_ACCESS_DENIED;
    bool related = h->flags & SMB2_FLAGS_RELATED_OPERATIONS;
    if (h->command >= SMB2_COMMANDS ||
        (!handlers[h->command].answer && h->command != SMB2_CHANGE_NOTIFY))
        return (uint32_t)STATUS_NOT_SUPPORTED;
    enum need need = handlers[h->command].need;
    if (need >= SESSION && (!x->c->session_id || (!related && h->session_id != x->c->session_id)))
        return (uint32_t)STATUS_USER_SESSION_DELETED;
    if (need >= TREE && (!x->c->tree_id || (!related && h->tree_id != x->c->tree_id)))
        return (uint32_t)STATUS_NETWORK_NAME_DELETED;
    if (related && h->command != SMB2_CREATE)
        return x->failed; /* 3.3.5.2.7.2 */
    return STATUS_SUCCESS;
}

/* A reply behind those that are in the frame already; `status` 0: ask the command's handler. */
static void reply(struct exchange *x, struct rd msg, const struct outcome *o, uint32_t status)
{
    struct wr *w = &x->s->out.w;
    uint16_t command = x->request->command;
    if (w->pos > WIRE_FRAME_HEADER)
        wire_element_end(w, true);
    size_t start = w->origin = w->pos;
    server_out_begin(&x->s->out);
    wr_zero(w, WIRE_HEADER_SIZE);

    bool own = !status;
    x->own_body = false;
    if (own)
        status = handlers[command].answer(x, msg, w);
    if (!x->own_body && (!own || !wire_has_body(command, status))) {
        w->pos = start + WIRE_HEADER_SIZE;
        wire_error_encode(w, NULL, 0);
    }
    x->reply.status = status;
    struct wr header = wr_init(w->buf, start + WIRE_HEADER_SIZE);
    header.pos = start;
    wire_header_encode(&header, &x->reply);
    if (o->bad_protocol)
        w->buf[start] = 0xff; /* SMB1's */
}

static struct wire_header reply_header(const struct exchange *x, const struct outcome *o)
{
    const struct wire_header *h = x->request;
    bool sign = h->flags & SMB2_FLAGS_SIGNED && x->c->logon.signer;
    uint16_t asked = h->credits ? h->credits : 1;
    struct wire_header r = {
        .credit_charge = h->credit_charge,
        .command = h->command,
        .credits = o->granted ? o->grant : asked,
        .flags = SMB2_FLAGS_SERVER_TO_REDIR | (h->flags & SMB2_FLAGS_RELATED_OPERATIONS) |
                 (sign ? SMB2_FLAGS_SIGNED : 0),
        .message_id = h->message_id + o->message_id_off,
        .tree_id = h->tree_id,
        .session_id = h->session_id,
    };
    if (o->bad_signature && !sign) {
        r.flags |= SMB2_FLAGS_SIGNED;
        memset(r.signature, 0x5a, sizeof(r.signature));
    }
    return r;
}

static void make_async(struct exchange *x)
{
    x->reply.flags |= SMB2_FLAGS_ASYNC_COMMAND;
    x->reply.async_id = ++x->s->serial;
}

/* 3.3.4.2: the interim response takes the credits with it. False: hang up. */
static bool interim(struct exchange *x)
{
    static const struct outcome plain = {0};
    reply(x, (struct rd){0}, &plain, STATUS_PENDING);
    x->reply.credits = 0;
    x->s->out.plain = x->script.plain_asides;
    return server_flush(x->s, x->c);
}

/* The break leaves before the reply, and behind those that stand in the frame: it may be for a key
 * that the server has only just heard of. */
static bool break_first(struct exchange *x, struct rd msg, const struct server_break *b)
{
    struct wire_create_request q;
    struct wire_lease ignored;
    if (x->request->command == SMB2_CREATE && wire_create_request_decode(msg, &q) == 0)
        server_lease_asked(x, q.contexts, &ignored);
    return server_flush(x->s, x->c) && server_break_now(x->s, b);
}

/* It waits, behind an interim response or in silence. */
static bool begin_watch(struct exchange *x, struct rd msg, const struct outcome *o)
{
    bool quiet = x->script.quiet_watches;
    uint32_t status = refuse(x, msg);
    if (!status && !quiet)
        make_async(x);
    if (!status)
        status = server_watch_add(x, msg);
    if (status) {
        reply(x, msg, o, status);
        return true;
    }
    if (!server_flush(x->s, x->c) || (!quiet && !interim(x)))
        return false;
    server_watch_flush(x->s);
    return true;
}

/* Keeps what was answered for those who want to look at it. */
static void remember(const struct exchange *x, size_t at)
{
    struct server *s = x->s;
    const struct wr *w = &s->out.w;
    pthread_mutex_lock(&s->lock);
    if (s->reply_count < SERVER_REPLIES && wr_ok(w)) {
        struct server_reply *r = &s->replies[s->reply_count++];
        *r = (struct server_reply){.command = x->request->command,
                                   .nth = x->nth,
                                   .status = x->reply.status,
                                   .len = w->pos - at,
                                   .behind = at > WIRE_FRAME_HEADER};
        memcpy(r->head, w->buf + at, r->len < sizeof(r->head) ? r->len : sizeof(r->head));
    }
    pthread_mutex_unlock(&s->lock);
}

/* What is to happen to the frame with this reply, which begins at `at`. */
static void bend(struct exchange *x, const struct outcome *o, size_t at)
{
    static const struct server_alteration bad_signature = {
        .offset = 48, .width = 8, .how = SERVER_XOR, .value = 0x5a, .on_the_way = true};
    struct server_out *out = &x->s->out;
    if (o->hang_up_after < out->hang_up_after)
        out->hang_up_after = o->hang_up_after;
    if (o->length)
        out->length = o->length;
    if (o->random)
        out->random = o->random;
    if (o->piece) {
        out->piece = o->piece;
        out->pause_us = o->pause_us;
    }
    if (o->late_ms)
        out->late_ms = o->late_ms;
    if (o->behind)
        out->behind = o->behind;
    out->repeats += o->repeats;
    out->joins = out->joins || o->joins;
    out->plain = out->plain || o->plain;
    for (unsigned i = 0; i < o->altered_count && out->altered_count < SERVER_ALTERED; i++) {
        out->altered[out->altered_count].at = at;
        out->altered[out->altered_count++].what = o->altered[i];
    }
    if (o->bad_signature && out->altered_count < SERVER_ALTERED) {
        out->altered[out->altered_count].at = at;
        out->altered[out->altered_count++].what = &bad_signature;
    }
}

/* Takes the reply out again that begins at `at`: it gets lost. */
static void lose(struct server_out *out, size_t at)
{
    out->element_count--;
    out->w.pos = at;
    if (out->element_count)
        memset(out->w.buf + out->elements[out->element_count - 1] + HEADER_NEXT, 0, 4);
}

/* What watched by a handle that is closed ends behind the reply. False: hang up. */
static bool end_watches(struct exchange *x)
{
    uint64_t closed = x->closed;
    x->closed = 0;
    if (!closed)
        return true;
    if (server_watches(x->s) && !server_flush(x->s, x->c))
        return false;
    server_watch_closed(x->s, closed);
    return true;
}

static bool execute(struct exchange *x, struct rd msg, const struct outcome *o)
{
    struct server_out *out = &x->s->out;
    x->count_is_given = o->count_is_given;
    x->count = o->count;
    if (o->interim) {
        make_async(x);
        if (!interim(x) || o->pending)
            return o->pending;
    }
    reply(x, msg, o, o->fail ? o->fail : refuse(x, msg));
    size_t at = out->elements[out->element_count - 1];
    remember(x, at);
    if (x->request->command == SMB2_CREATE)
        x->failed = x->reply.status;
    if (o->lost)
        lose(out, at);
    else
        bend(x, o, at);
    return end_watches(x);
}

static bool answer_element(struct exchange *x, struct rd msg, bool behind)
{
    struct outcome o = judge(x, behind);
    if (o.delay_ms)
        usleep(o.delay_ms * 1000);
    if (x->request->command == SMB2_CANCEL)
        server_watch_cancel(x->s, x->c, x->request);
    if (o.silent || x->request->command == SMB2_CANCEL)
        return true;
    if ((o.own_frame || o.interim) && !server_flush(x->s, x->c))
        return false;
    if (o.broken && !break_first(x, msg, o.broken))
        return false;

    x->reply = reply_header(x, &o);
    if (x->request->command == SMB2_CHANGE_NOTIFY && !o.fail)
        return begin_watch(x, msg, &o);
    return execute(x, msg, &o);
}

static struct server_script script_now(struct server *s)
{
    pthread_mutex_lock(&s->lock);
    s->frames++;
    struct server_script script = s->script;
    pthread_mutex_unlock(&s->lock);
    return script;
}

bool server_answer(struct server *s, struct server_conn *c, struct rd frame)
{
    struct wire_header h;
    struct exchange x = {.s = s, .c = c, .script = script_now(s), .request = &h};
    struct rd msg;
    int r;
    if (!server_unseal(c, &frame))
        return false;
    for (bool behind = false; (r = wire_frame_next(&frame, &h, &msg)) == 1; behind = true) {
        x.compound = behind || h.next;
        if (!answer_element(&x, msg, behind))
            return false;
    }
    return r == 0 && server_flush(s, c);
}
