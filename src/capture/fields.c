/*
 * What the bodies of requests and responses say: one function for each command and direction that
 * has something for the exchange, and two tables of them.
 *
 * A body that does not decode leaves its fields empty. Where all of it was captured it is counted
 * as malformed; where it was cut, the lengths that stand before the cut are still taken.
 */
#include <stdlib.h>
#include <string.h>

#include "base/ntstatus.h"
#include "base/utf.h"
#include "capture/dissector.h"

/* A decoder's result; what is not understood although it is whole is counted. */
static bool understood(struct element *e, int r)
{
    if (r < 0 && !e->cut)
        e->conn->d->counts.malformed++;
    return r == 0;
}

/* A name as UTF-8 in the dissector's room for one; `separator` stands for each backslash. A NUL
 * cannot be in a name and would end it: it shows as a question mark. */
static const char *text_of(struct dissector *d, const struct rd *name, char separator)
{
    int len = utf16_to_utf8(name->base, name->len, d->text, TEXT_MAX);
    for (int i = 0; i < len; i++)
        d->text[i] = d->text[i] == 0 ? '?' : d->text[i] == '\\' ? separator : d->text[i];
    d->text[len > 0 ? len : 0] = 0;
    return d->text;
}

/* ---- which open ---- */

/* A FileId that was never seen to be opened is an open without a path, from here on. */
static struct open *open_met(struct element *e, struct session *s, struct wire_file_id id,
                             const struct smb_share *share)
{
    struct open *o = open_new(e->conn->d, "", false);
    if (!o)
        return NULL;
    o->pub.share = share;
    o->pub.opened_ns = e->record->time_ns;
    o->tree_id = e->tree_id;
    open_live(e->conn->d, s, o, id);
    return o;
}

/* 3.3.5.2.7.2: all ones in a related element mean the open of the element before. */
static void on_open(struct element *e, struct pending *p, struct wire_file_id id)
{
    if (id.persistent == UINT64_MAX && id.volatile_ == UINT64_MAX) {
        if (e->h.flags & SMB2_FLAGS_RELATED_OPERATIONS)
            p->open = open_ref(e->chain->open);
        return;
    }
    struct session *s = session_of(e->conn, e->session_id);
    struct open *o = s ? open_find(e->conn->d, s, id) : NULL;
    if (o)
        p->open = open_ref(o);
    else if (s)
        p->open = open_met(e, s, id, p->x.share);
}

/* ---- requests ---- */

static void negotiate_request(struct element *e, struct pending *p)
{
    struct wire_negotiate_request m;
    preauth_request(e, p);
    if (!understood(e, wire_negotiate_request_decode(e->msg, &m)))
        return;
    e->conn->facts.client_capabilities = m.capabilities;
    e->conn->facts.signing_required |= m.security_mode & SMB2_NEGOTIATE_SIGNING_REQUIRED;
}

static void tree_connect_request(struct element *e, struct pending *p)
{
    struct wire_tree_connect_request m;
    if (understood(e, wire_tree_connect_request_decode(e->msg, &m)))
        p->text = strdup(text_of(e->conn->d, &m.path, '\\'));
}

/* The lease in a chain of create contexts. */
static bool lease_of(struct rd contexts, struct wire_lease *ret)
{
    struct wire_create_context c;
    while (wire_create_context_next(&contexts, &c) > 0)
        if (c.name.len == 4 && memcmp(c.name.base, WIRE_LEASE_CONTEXT, 4) == 0)
            return wire_lease_decode(c.data, ret) == 0;
    return false;
}

static void create_request(struct element *e, struct pending *p)
{
    struct dissector *d = e->conn->d;
    struct wire_create_request m;
    struct wire_lease lease;
    if (!understood(e, wire_create_request_decode(e->msg, &m)))
        return;
    struct open *o = open_new(d, text_of(d, &m.name, '/'), true);
    if (!o)
        return;
    p->open = o;
    p->x.desired_access = o->pub.desired_access = m.desired_access;
    p->x.disposition = o->pub.disposition = m.disposition;
    p->x.options = o->pub.options = m.options;
    o->pub.share_access = m.share_access;
    o->pub.oplock_asked = m.oplock_level;
    o->pub.share = p->x.share;
    o->tree_id = e->tree_id;
    o->pub.lease_asked = lease_of(m.contexts, &lease);
    if (o->pub.lease_asked)
        o->pub.lease_asked_state = lease.state;
}

static void close_request(struct element *e, struct pending *p)
{
    struct wire_close_request m;
    if (understood(e, wire_close_request_decode(e->msg, &m)))
        on_open(e, p, m.file_id);
}

static void flush_request(struct element *e, struct pending *p)
{
    struct wire_flush_request m;
    if (understood(e, wire_flush_request_decode(e->msg, &m)))
        on_open(e, p, m.file_id);
}

static void read_request(struct element *e, struct pending *p)
{
    struct wire_read_request m;
    if (!understood(e, wire_read_request_decode(e->msg, &m)))
        return;
    p->x.offset = m.offset;
    p->x.output_length = m.length;
    on_open(e, p, m.file_id);
}

/* READ and QUERY_DIRECTORY responses and WRITE requests have the length of their data at the same
 * place: 2.2.20, 2.2.21, 2.2.34. */
static uint32_t data_length(const struct element *e)
{
    struct rd msg = e->msg;
    rd_skip(&msg, 4);
    uint32_t len = rd_u32(&msg);
    return len < e->length ? len : 0;
}

static void write_request(struct element *e, struct pending *p)
{
    struct wire_write_request m;
    p->x.payload = data_length(e);
    if (e->cut) { /* of the data; the rest is read as if there were none */
        struct rd fixed = e->msg;
        rd_skip(&fixed, 8);
        p->x.offset = rd_u64(&fixed);
        struct wire_file_id id = {.persistent = rd_u64(&fixed)};
        id.volatile_ = rd_u64(&fixed);
        if (rd_ok(&fixed))
            on_open(e, p, id);
        return;
    }
    if (!understood(e, wire_write_request_decode(e->msg, &m)))
        return;
    p->x.offset = m.offset;
    on_open(e, p, m.file_id);
}

static void lock_request(struct element *e, struct pending *p)
{
    struct wire_lock_request m;
    if (understood(e, wire_lock_request_decode(e->msg, &m)))
        on_open(e, p, m.file_id);
}

static void ioctl_request(struct element *e, struct pending *p)
{
    struct wire_ioctl_request m;
    if (!understood(e, wire_ioctl_request_decode(e->msg, &m)))
        return;
    p->x.output_length = m.max_output;
    on_open(e, p, m.file_id);
}

static void query_directory_request(struct element *e, struct pending *p)
{
    struct wire_query_directory_request m;
    if (!understood(e, wire_query_directory_request_decode(e->msg, &m)))
        return;
    p->x.info_class = m.info_class;
    p->x.flags = m.flags;
    p->x.output_length = m.output_length;
    p->text = strdup(text_of(e->conn->d, &m.pattern, '\\'));
    on_open(e, p, m.file_id);
    if (p->open && !p->open->pub.path_known)
        p->open->pub.is_directory = true;
}

static void change_notify_request(struct element *e, struct pending *p)
{
    struct wire_change_notify_request m;
    if (!understood(e, wire_change_notify_request_decode(e->msg, &m)))
        return;
    p->x.output_length = m.output_length;
    on_open(e, p, m.file_id);
    if (p->open && !p->open->pub.path_known)
        p->open->pub.is_directory = true;
}

static void query_info_request(struct element *e, struct pending *p)
{
    struct wire_query_info_request m;
    if (!understood(e, wire_query_info_request_decode(e->msg, &m)))
        return;
    p->x.info_type = m.info_type;
    p->x.info_class = m.info_class;
    p->x.flags = (uint8_t)m.flags;
    p->x.output_length = m.output_length;
    on_open(e, p, m.file_id);
}

static bool has_new_name(const struct wire_set_info_request *m)
{
    return m->info_type == SMB2_0_INFO_FILE &&
           (m->info_class == FILE_RENAME_INFORMATION ||
            m->info_class == FILE_RENAME_INFORMATION_EX || m->info_class == FILE_LINK_INFORMATION);
}

static void set_info_request(struct element *e, struct pending *p)
{
    struct wire_set_info_request m;
    struct wire_rename r;
    if (!understood(e, wire_set_info_request_decode(e->msg, &m)))
        return;
    p->x.info_type = m.info_type;
    p->x.info_class = m.info_class;
    if (has_new_name(&m) && understood(e, wire_rename_decode(m.data, &r)))
        p->text = strdup(text_of(e->conn->d, &r.name, '/'));
    on_open(e, p, m.file_id);
}

static void break_request(struct element *e, struct pending *p)
{
    struct wire_oplock_break m;
    struct wire_lease_ack ack;
    if (wire_oplock_break_decode(e->msg, &m) == 0)
        on_open(e, p, m.file_id);
    else
        understood(e, wire_lease_ack_decode(e->msg, &ack));
}

void fields_of_request(struct element *e, struct pending *p)
{
    static void (*const requests[SMB2_COMMANDS])(struct element * e, struct pending * p) = {
        [SMB2_NEGOTIATE] = negotiate_request,
        [SMB2_SESSION_SETUP] = NULL,
        [SMB2_TREE_CONNECT] = tree_connect_request,
        [SMB2_CREATE] = create_request,
        [SMB2_CLOSE] = close_request,
        [SMB2_FLUSH] = flush_request,
        [SMB2_READ] = read_request,
        [SMB2_WRITE] = write_request,
        [SMB2_LOCK] = lock_request,
        [SMB2_IOCTL] = ioctl_request,
        [SMB2_QUERY_DIRECTORY] = query_directory_request,
        [SMB2_CHANGE_NOTIFY] = change_notify_request,
        [SMB2_QUERY_INFO] = query_info_request,
        [SMB2_SET_INFO] = set_info_request,
        [SMB2_OPLOCK_BREAK] = break_request,
    };
    if (e->h.command == SMB2_SESSION_SETUP)
        preauth_request(e, p);
    if (requests[e->h.command])
        requests[e->h.command](e, p);
}

/* ---- responses ---- */

static void negotiate_response(struct element *e, struct pending *p)
{
    struct flow_facts *f = &e->conn->facts;
    struct wire_negotiate_response m;
    preauth_response(e, p);
    if (!understood(e, wire_negotiate_response_decode(e->msg, &m)))
        return;
    server_has_guid(e->conn, m.server_guid);
    f->server_capabilities = m.capabilities;
    f->signing_required |= m.security_mode & SMB2_NEGOTIATE_SIGNING_REQUIRED;
    f->max_transact = m.max_transact;
    f->max_read = m.max_read;
    if (m.dialect == SMB2_DIALECT_WILD)
        return; /* the real negotiation follows */
    f->dialect = m.dialect;
    f->cipher = m.contexts.cipher_count ? m.contexts.cipher[0] : 0;
}

static void tree_connect_response(struct element *e, struct pending *p)
{
    p->x.share = tree_connected(e->conn, e->session_id, e->h.tree_id, p->text ? p->text : "");
}

static void attr_of(struct pending *p, const struct file_attr *attr)
{
    p->x.attr = *attr;
    p->x.attr_known = true;
}

/* The file id that the server has on its disk: 2.2.14.2.9. */
static uint64_t disk_id(struct rd contexts)
{
    struct wire_create_context c;
    while (wire_create_context_next(&contexts, &c) > 0)
        if (c.name.len == 4 && memcmp(c.name.base, "QFid", 4) == 0)
            return rd_u64(&c.data);
    return 0;
}

static void create_response(struct element *e, struct pending *p)
{
    struct dissector *d = e->conn->d;
    struct wire_create_response m;
    struct wire_lease lease;
    struct session *s = session_of(e->conn, e->session_id);
    if (!understood(e, wire_create_response_decode(e->msg, &m)) || !s)
        return;
    m.attr.id = disk_id(m.contexts);
    attr_of(p, &m.attr);
    if (!p->open) { /* its request was not captured, or not all of it */
        p->open = open_met(e, s, m.file_id, p->x.share);
    } else {
        p->open->pub.opened_ns = e->record->time_ns;
        open_live(d, s, p->open, m.file_id);
    }
    if (!p->open)
        return;
    struct smb_open *o = &p->open->pub;
    o->attr = m.attr;
    o->is_directory = file_attr_is_dir(&m.attr);
    o->oplock_granted = m.oplock_level;
    o->lease_granted_known = lease_of(m.contexts, &lease);
    if (o->lease_granted_known)
        o->lease_granted_state = lease.state;
}

static void close_response(struct element *e, struct pending *p)
{
    struct wire_close_response m;
    if (understood(e, wire_close_response_decode(e->msg, &m)) &&
        m.flags & SMB2_CLOSE_FLAG_POSTQUERY_ATTRIB)
        attr_of(p, &m.attr);
}

static void read_response(struct element *e, struct pending *p)
{
    p->x.payload = data_length(e);
}

static void query_directory_response(struct element *e, struct pending *p)
{
    struct wire_buffer_response m;
    p->x.payload = data_length(e);
    if (understood(e, wire_buffer_response_decode(e->msg, &m)))
        p->x.listing = m.output;
}

static void query_info_response(struct element *e, struct pending *p)
{
    struct wire_buffer_response m;
    struct file_attr attr;
    p->x.payload = data_length(e);
    if (!understood(e, wire_buffer_response_decode(e->msg, &m)) ||
        p->x.info_type != SMB2_0_INFO_FILE)
        return;
    if ((p->x.info_class == FILE_ALL_INFORMATION &&
         wire_all_information_decode(m.output, &attr) == 0) ||
        (p->x.info_class == FILE_NETWORK_OPEN_INFORMATION &&
         wire_network_open_information_decode(m.output, &attr) == 0))
        attr_of(p, &attr);
}

void fields_of_response(struct element *e, struct pending *p)
{
    static void (*const responses[SMB2_COMMANDS])(struct element * e, struct pending * p) = {
        [SMB2_NEGOTIATE] = negotiate_response,
        [SMB2_TREE_CONNECT] = tree_connect_response,
        [SMB2_CREATE] = create_response,
        [SMB2_CLOSE] = close_response,
        [SMB2_READ] = read_response,
        [SMB2_QUERY_DIRECTORY] = query_directory_response,
        [SMB2_QUERY_INFO] = query_info_response,
    };
    if (!wire_has_body(e->h.command, e->h.status))
        return;
    if (e->h.command == SMB2_SESSION_SETUP)
        preauth_response(e, p);
    if (responses[e->h.command])
        responses[e->h.command](e, p);
}

/* ---- notifications ---- */

void fields_of_break(struct element *e)
{
    struct dissector *d = e->conn->d;
    struct break_notice b = {.flow = e->conn->flow, .time_ns = e->record->time_ns};
    struct wire_lease_break lease;
    struct wire_oplock_break oplock;

    if (wire_lease_break_decode(e->msg, &lease) == 0) {
        b.lease = true;
        b.from_state = lease.current_state;
        b.to_state = lease.new_state;
    } else if (understood(e, wire_oplock_break_decode(e->msg, &oplock))) {
        struct session *s = session_of(e->conn, e->session_id);
        struct open *o = s ? open_find(d, s, oplock.file_id) : NULL;
        b.to_state = oplock.level;
        if (o) {
            b.from_state = o->pub.oplock_granted;
            o->pub.oplock_granted = oplock.level;
        }
    } else {
        return;
    }
    if (d->events.broken)
        d->events.broken(d->events.user, &b);
}
