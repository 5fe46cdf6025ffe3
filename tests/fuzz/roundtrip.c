/*
 * Each message is decoded, encoded behind a fresh header into a buffer that is certainly large
 * enough, and decoded from there. Fields are compared rather than bytes: a message from outside may
 * have its parts in another order, padded otherwise, or overlapping, and still say the same.
 */
#include "roundtrip.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "same.h"

static void hold(bool property, const char *what)
{
    if (property)
        return;
    fprintf(stderr, "roundtrip: %s\n", what);
    abort();
}

/* ---- the second message ---- */

struct again {
    struct wr w;
    struct rd msg; /* set by again_decode: positioned after the header */
};

/* Overlapping parts are written one after the other, hence twice the length; the rest is for fixed
 * parts and negotiate contexts. */
static void again_start(struct again *a, const struct rd *msg)
{
    size_t cap = 2 * msg->len + 4096;
    uint8_t *buf = malloc(cap);
    hold(buf != NULL, "out of memory");
    a->w = wr_init(buf, cap);
    wire_header_encode(&a->w, &(struct wire_header){0});
}

static struct rd again_message(struct again *a)
{
    struct wire_header h;
    hold(wr_ok(&a->w), "what was decoded does not encode");
    struct rd msg = rd_init(a->w.buf, a->w.pos);
    hold(wire_header_decode(&msg, &h) == 0, "our own header does not decode");
    return msg;
}

static void again_done(struct again *a)
{
    free(a->w.buf);
}

/* One message type: decode, encode, decode, compare. */
#define ROUNDTRIP(message, after)                                                                  \
    static int message(struct rd msg)                                                              \
    {                                                                                              \
        struct wire_##message m, n;                                                                \
        if (wire_##message##_decode(msg, &m) < 0)                                                  \
            return -EBADMSG;                                                                       \
        struct again a;                                                                            \
        again_start(&a, &msg);                                                                     \
        wire_##message##_encode(&a.w, &m);                                                         \
        hold(wire_##message##_decode(again_message(&a), &n) == 0, #message " is refused");         \
        hold(same_##message(&m, &n), #message " has changed");                                     \
        again_done(&a);                                                                            \
        return after;                                                                              \
    }

/* ---- chains ---- */

#define CONTEXT_AGAIN(message)                                                                     \
    static void message##_again(struct rd data)                                                    \
    {                                                                                              \
        uint8_t buf[64];                                                                           \
        struct wr w = wr_init(buf, sizeof(buf));                                                   \
        struct wire_##message m, n;                                                                \
        if (wire_##message##_decode(data, &m) < 0)                                                 \
            return;                                                                                \
        wire_##message##_encode(&w, &m);                                                           \
        hold(wire_##message##_decode(rd_init(buf, w.pos), &n) == 0, #message " is refused");       \
        hold(same_##message(&m, &n), #message " has changed");                                     \
    }
CONTEXT_AGAIN(lease)
CONTEXT_AGAIN(durable_request)
CONTEXT_AGAIN(durable_reconnect)
CONTEXT_AGAIN(durable_response)

static void create_context_again(const struct wire_create_context *c)
{
    lease_again(c->data);
    durable_request_again(c->data);
    durable_reconnect_again(c->data);
    durable_response_again(c->data);

    /* The encoder takes names as C strings, and the data's offset has 16 bits. */
    if (memchr(c->name.base, 0, c->name.len) || c->name.len > UINT16_MAX - 32)
        return;
    char *name = strndup((const char *)c->name.base, c->name.len);
    size_t cap = c->name.len + c->data.len + 64;
    uint8_t *buf = malloc(cap);
    hold(name && buf, "out of memory");

    struct wr w = wr_init(buf, cap);
    struct wire_create_context n;
    wire_create_context_encode(&w, name, c->data.base, (uint32_t)c->data.len, true);
    struct rd chain = rd_init(buf, w.pos);
    hold(wr_ok(&w) && wire_create_context_next(&chain, &n) == 1, "create context is refused");
    hold(same_create_context(c, &n), "create context has changed");
    hold(wire_create_context_next(&chain, &n) == 0, "create context does not end");
    free(buf);
    free(name);
}

static int create_contexts(struct rd chain)
{
    struct wire_create_context c;
    int r;
    while ((r = wire_create_context_next(&chain, &c)) == 1)
        create_context_again(&c);
    return r;
}

/* Which class it is only the request knows: it is walked as each of them. */
static int dirents(struct rd output, uint8_t info_class)
{
    size_t cap = 4 * output.len + 64;
    uint8_t *buf = malloc(cap);
    hold(buf != NULL, "out of memory");

    struct wr w = wr_init(buf, cap);
    struct rd first = output;
    struct wire_dirent e, f;
    size_t last = SIZE_MAX;
    int r;
    while ((r = wire_listing_next(&output, info_class, &e)) == 1)
        wire_listing_encode(&w, info_class, &last, &e);
    hold(wr_ok(&w), "directory entries do not encode");

    struct rd second = rd_init(buf, w.pos);
    while (wire_listing_next(&first, info_class, &e) == 1) {
        hold(wire_listing_next(&second, info_class, &f) == 1, "directory entry is refused");
        hold(same_dirent(&e, &f), "directory entry has changed");
    }
    hold(wire_listing_next(&second, info_class, &f) == 0, "directory entries do not end");
    free(buf);
    return r;
}

static int changes(struct rd output)
{
    size_t cap = 2 * output.len + 64;
    uint8_t *buf = malloc(cap);
    hold(buf != NULL, "out of memory");

    struct wr w = wr_init(buf, cap);
    struct rd first = output;
    struct wire_change c, d;
    size_t last = SIZE_MAX;
    int r;
    while ((r = wire_change_next(&output, &c)) == 1)
        wire_change_encode(&w, &last, &c);
    hold(wr_ok(&w), "changes do not encode");

    struct rd second = rd_init(buf, w.pos);
    while (wire_change_next(&first, &c) == 1) {
        hold(wire_change_next(&second, &d) == 1, "change is refused");
        hold(same_change(&c, &d), "change is another one");
    }
    hold(wire_change_next(&second, &d) == 0, "changes do not end");
    free(buf);
    return r;
}

static int lock_elements(struct rd locks)
{
    struct wire_lock_element e, f;
    int r;
    while ((r = wire_lock_element_next(&locks, &e)) == 1) {
        uint8_t buf[32];
        struct wr w = wr_init(buf, sizeof(buf));
        wire_lock_element_encode(&w, &e);
        struct rd again = rd_init(buf, w.pos);
        hold(wire_lock_element_next(&again, &f) == 1, "lock element is refused");
        hold(same_lock_element(&e, &f), "lock element has changed");
    }
    return r;
}

/* What lies in a buffer whose layout only its class or code tells: decoded by each of them in turn,
 * encoded, and decoded again. Parts of a layout may overlap, hence twice the length. */
#define BUFFER_AGAIN(what)                                                                         \
    static void what##_again(struct rd data)                                                       \
    {                                                                                              \
        struct wire_##what m, n;                                                                   \
        if (wire_##what##_decode(data, &m) < 0)                                                    \
            return;                                                                                \
        size_t cap = 2 * data.len + 64;                                                            \
        uint8_t *buf = malloc(cap);                                                                \
        hold(buf != NULL, "out of memory");                                                        \
        struct wr w = wr_init(buf, cap);                                                           \
        wire_##what##_encode(&w, &m);                                                              \
        if (wr_ok(&w)) {                                                                           \
            hold(wire_##what##_decode(rd_init(buf, w.pos), &n) == 0, #what " is refused");         \
            hold(same_##what(&m, &n), #what " has changed");                                       \
        }                                                                                          \
        free(buf);                                                                                 \
    }
BUFFER_AGAIN(rename)
BUFFER_AGAIN(basic)
BUFFER_AGAIN(zero_data)
BUFFER_AGAIN(copy_key)
BUFFER_AGAIN(copy_request)
BUFFER_AGAIN(copy_response)
BUFFER_AGAIN(reparse)
BUFFER_AGAIN(validate_request)
BUFFER_AGAIN(validate_response)

/* The same for elements of one size that follow each other. */
#define ELEMENTS_AGAIN(what)                                                                       \
    static void what##s_again(struct rd elements)                                                  \
    {                                                                                              \
        struct wire_##what m, n;                                                                   \
        while (wire_##what##_next(&elements, &m) == 1) {                                           \
            uint8_t buf[64];                                                                       \
            struct wr w = wr_init(buf, sizeof(buf));                                               \
            wire_##what##_encode(&w, &m);                                                          \
            struct rd again = rd_init(buf, w.pos);                                                 \
            hold(wr_ok(&w) && wire_##what##_next(&again, &n) == 1, #what " is refused");           \
            hold(same_##what(&m, &n), #what " has changed");                                       \
            hold(wire_##what##_next(&again, &n) == 0, #what " does not end");                      \
        }                                                                                          \
    }
ELEMENTS_AGAIN(range)
ELEMENTS_AGAIN(copy_chunk)

static void size_again(struct rd data)
{
    uint8_t buf[8];
    struct wr w = wr_init(buf, sizeof(buf));
    uint64_t size, again;
    if (wire_size_decode(data, &size) < 0)
        return;
    wire_size_encode(&w, size);
    hold(wire_size_decode(rd_init(buf, w.pos), &again) == 0 && size == again, "size has changed");
}

static void disposition_again(struct rd data)
{
    uint8_t buf[1];
    struct wr w = wr_init(buf, sizeof(buf));
    bool remove, again;
    if (wire_disposition_decode(data, &remove) < 0)
        return;
    wire_disposition_encode(&w, remove);
    hold(wire_disposition_decode(rd_init(buf, w.pos), &again) == 0 && remove == again,
         "disposition has changed");
}

static int set_info_data(struct rd data)
{
    rename_again(data);
    basic_again(data);
    size_again(data);
    disposition_again(data);
    return 0;
}

static int ioctl_input(struct rd input)
{
    struct wire_copy_request copy;
    zero_data_again(input);
    ranges_again(input);
    copy_request_again(input);
    if (wire_copy_request_decode(input, &copy) == 0)
        copy_chunks_again(copy.chunks);
    reparse_again(input);
    validate_request_again(input);
    return 0;
}

static int ioctl_output(struct rd output)
{
    ranges_again(output);
    copy_key_again(output);
    copy_response_again(output);
    reparse_again(output);
    validate_response_again(output);
    return 0;
}

static void information(struct rd output)
{
    uint8_t buf[256];
    struct wr w = wr_init(buf, sizeof(buf));
    struct file_attr a, b;
    struct rd name, again;
    if (wire_all_information_decode(output, &a) == 0) {
        bool named = wire_all_information_name(output, &name) == 0 && name.len <= sizeof(buf) - 100;
        wire_all_information_encode(&w, &a, named ? &name : &(struct rd){0});
        hold(wire_all_information_decode(rd_init(buf, w.pos), &b) == 0, "all info is refused");
        hold(same_attr(&a, &b), "all info has changed");
        hold(wire_all_information_name(rd_init(buf, w.pos), &again) == 0, "a name is refused");
        hold(!named || same_bytes(&name, &again), "a name has changed");
    }

    w = wr_init(buf, sizeof(buf));
    if (wire_network_open_information_decode(output, &a) == 0) {
        wire_network_open_information_encode(&w, &a);
        hold(wire_network_open_information_decode(rd_init(buf, w.pos), &b) == 0, "refused");
        hold(same_attr(&a, &b), "network open info has changed");
    }

    struct wire_fs_size s, t;
    w = wr_init(buf, sizeof(buf));
    if (wire_fs_size_decode(output, &s) == 0) {
        wire_fs_size_encode(&w, &s);
        hold(wire_fs_size_decode(rd_init(buf, w.pos), &t) == 0, "fs size is refused");
        hold(same_fs_size(&s, &t), "fs size has changed");
    }

    struct wire_fs_attribute p, q;
    w = wr_init(buf, sizeof(buf));
    if (wire_fs_attribute_decode(output, &p) == 0 && p.name.len <= sizeof(buf) - 12) {
        wire_fs_attribute_encode(&w, &p);
        hold(wire_fs_attribute_decode(rd_init(buf, w.pos), &q) == 0, "fs attribute is refused");
        hold(same_fs_attribute(&p, &q), "fs attribute has changed");
    }
}

/* ---- messages ---- */

ROUNDTRIP(negotiate_request, 0)
ROUNDTRIP(negotiate_response, 0)
ROUNDTRIP(session_setup_request, 0)
ROUNDTRIP(session_setup_response, 0)
ROUNDTRIP(tree_connect_request, 0)
ROUNDTRIP(tree_connect_response, 0)
ROUNDTRIP(create_request, create_contexts(m.contexts))
ROUNDTRIP(create_response, create_contexts(m.contexts))
ROUNDTRIP(close_request, 0)
ROUNDTRIP(close_response, 0)
ROUNDTRIP(read_request, 0)
ROUNDTRIP(read_response, 0)
ROUNDTRIP(write_request, 0)
ROUNDTRIP(write_response, 0)
ROUNDTRIP(flush_request, 0)
ROUNDTRIP(lock_request, lock_elements(m.locks))
ROUNDTRIP(ioctl_request, ioctl_input(m.input))
ROUNDTRIP(ioctl_response, ioctl_output(m.output))
ROUNDTRIP(change_notify_request, 0)
ROUNDTRIP(set_info_request, set_info_data(m.data))
ROUNDTRIP(oplock_break, 0)
ROUNDTRIP(lease_break, 0)
ROUNDTRIP(lease_ack, 0)
ROUNDTRIP(query_directory_request, 0)
ROUNDTRIP(query_info_request, 0)

static int buffer_response(struct rd msg, struct rd *ret_output)
{
    struct wire_buffer_response m, n;
    if (wire_buffer_response_decode(msg, &m) < 0)
        return -EBADMSG;
    struct again a;
    again_start(&a, &msg);
    wire_buffer_response_encode(&a.w, m.output.base, (uint32_t)m.output.len);
    hold(wire_buffer_response_decode(again_message(&a), &n) == 0, "buffer is refused");
    hold(same_buffer_response(&m, &n), "buffer has changed");
    again_done(&a);
    *ret_output = m.output;
    return 0;
}

static const uint8_t other_classes[] = {
    FILE_DIRECTORY_INFORMATION,
    FILE_FULL_DIRECTORY_INFORMATION,
    FILE_BOTH_DIRECTORY_INFORMATION,
    FILE_NAMES_INFORMATION,
    FILE_ID_FULL_DIRECTORY_INFORMATION,
    FILE_ID_EXTD_DIRECTORY_INFORMATION,
    FILE_ID_64_EXTD_DIRECTORY_INFORMATION,
    FILE_ID_64_EXTD_BOTH_DIRECTORY_INFORMATION,
    FILE_ID_ALL_EXTD_DIRECTORY_INFORMATION,
    FILE_ID_ALL_EXTD_BOTH_DIRECTORY_INFORMATION,
};

static int query_directory_response(struct rd msg)
{
    struct rd output;
    int r = buffer_response(msg, &output);
    if (r < 0)
        return r;
    for (size_t i = 0; i < sizeof(other_classes); i++)
        dirents(output, other_classes[i]);
    return dirents(output, FILE_ID_BOTH_DIRECTORY_INFORMATION);
}

static int change_notify_response(struct rd msg)
{
    struct rd output;
    int r = buffer_response(msg, &output);
    return r < 0 ? r : changes(output);
}

static int oplock_break_request(struct rd msg)
{
    return oplock_break(msg) == 0 ? 0 : lease_ack(msg);
}

static int oplock_break_response(struct rd msg)
{
    return oplock_break(msg) == 0 || lease_break(msg) == 0 ? 0 : lease_ack(msg);
}

static int query_info_response(struct rd msg)
{
    struct rd output;
    int r = buffer_response(msg, &output);
    if (r == 0)
        information(output); /* of which class it is, only the request knows */
    return r;
}

static int error_response(struct rd msg)
{
    struct wire_error m, n;
    if (wire_error_decode(msg, &m) < 0)
        return -EBADMSG;
    if (m.context_count) /* error contexts can be read, not sent */
        return 0;
    struct again a;
    again_start(&a, &msg);
    wire_error_encode(&a.w, m.data.base, (uint32_t)m.data.len);
    hold(wire_error_decode(again_message(&a), &n) == 0, "error is refused");
    hold(same_error(&m, &n), "error has changed");
    again_done(&a);
    return 0;
}

static int (*const messages[SMB2_COMMANDS][2])(struct rd msg) = {
    [SMB2_NEGOTIATE] = {negotiate_request, negotiate_response},
    [SMB2_SESSION_SETUP] = {session_setup_request, session_setup_response},
    [SMB2_LOGOFF] = {wire_empty_decode, wire_empty_decode},
    [SMB2_TREE_CONNECT] = {tree_connect_request, tree_connect_response},
    [SMB2_TREE_DISCONNECT] = {wire_empty_decode, wire_empty_decode},
    [SMB2_CREATE] = {create_request, create_response},
    [SMB2_CLOSE] = {close_request, close_response},
    [SMB2_READ] = {read_request, read_response},
    [SMB2_FLUSH] = {flush_request, wire_empty_decode},
    [SMB2_WRITE] = {write_request, write_response},
    [SMB2_LOCK] = {lock_request, wire_empty_decode},
    [SMB2_IOCTL] = {ioctl_request, ioctl_response},
    [SMB2_CHANGE_NOTIFY] = {change_notify_request, change_notify_response},
    [SMB2_SET_INFO] = {set_info_request, wire_set_info_response_decode},
    [SMB2_OPLOCK_BREAK] = {oplock_break_request, oplock_break_response},
    [SMB2_CANCEL] = {wire_empty_decode, NULL},
    [SMB2_ECHO] = {wire_empty_decode, wire_empty_decode},
    [SMB2_QUERY_DIRECTORY] = {query_directory_request, query_directory_response},
    [SMB2_QUERY_INFO] = {query_info_request, query_info_response},
};

int roundtrip_message(const struct wire_header *h, struct rd msg, enum direction direction)
{
    if (direction == RESPONSE && !wire_has_body(h->command, h->status))
        return error_response(msg);
    if (h->command >= SMB2_COMMANDS || !messages[h->command][direction])
        return -EBADMSG;
    return messages[h->command][direction](msg);
}

static void header_again(const struct wire_header *h)
{
    uint8_t buf[WIRE_HEADER_SIZE];
    struct wr w = wr_init(buf, sizeof(buf));
    struct wire_header n;
    wire_header_encode(&w, h);
    struct rd msg = rd_init(buf, sizeof(buf));
    hold(wr_ok(&w) && wire_header_decode(&msg, &n) == 0, "header is refused");
    hold(same_header(h, &n), "header has changed");
}

static int transform_again(struct rd frame)
{
    uint8_t buf[WIRE_TRANSFORM_SIZE];
    struct wr w = wr_init(buf, sizeof(buf));
    struct wire_transform t, u;
    if (wire_transform_decode(&frame, &t) < 0)
        return -EBADMSG;
    wire_transform_encode(&w, &t);
    struct rd again = rd_init(buf, w.pos);
    hold(wr_ok(&w) && wire_transform_decode(&again, &u) == 0, "transform is refused");
    hold(same_transform(&t, &u) && rd_left(&again) == 0, "transform has changed");
    return 1;
}

static int payloads_again(struct rd chain)
{
    struct wire_compression_payload p, q;
    int r;
    while ((r = wire_compression_payload_next(&chain, &p)) == 1) {
        size_t cap = p.data.len + 16;
        uint8_t *buf = malloc(cap);
        hold(buf != NULL, "out of memory");
        struct wr w = wr_init(buf, cap);
        wire_compression_payload_encode(&w, &p, false);
        struct rd again = rd_init(buf, w.pos);
        hold(wr_ok(&w) && wire_compression_payload_next(&again, &q) == 1, "payload is refused");
        hold(same_compression_payload(&p, &q), "payload has changed");
        hold(wire_compression_payload_next(&again, &q) == 0, "payload does not end");
        free(buf);
    }
    return r;
}

static int compression_again(struct rd frame)
{
    struct wire_compression c, d;
    if (wire_compression_decode(&frame, &c) < 0)
        return -EBADMSG;
    size_t rest = rd_left(&frame), cap = rest + 16;
    uint8_t *buf = malloc(cap);
    hold(buf != NULL, "out of memory");
    struct wr w = wr_init(buf, cap);
    wire_compression_encode(&w, &c);
    wr_bytes(&w, frame.base + frame.pos, rest);
    struct rd again = rd_init(buf, w.pos);
    hold(wr_ok(&w) && wire_compression_decode(&again, &d) == 0, "compression is refused");
    hold(same_compression(&c, &d) && rd_left(&again) == rest, "compression has changed");
    free(buf);
    return c.chained && payloads_again(frame) < 0 ? 0 : 1;
}

int roundtrip_frame(const uint8_t *data, size_t len, enum direction direction)
{
    struct rd frame = rd_init(data, len);
    struct wire_header h;
    struct rd msg;
    int decoded = 0, r;
    if (wire_protocol(&frame) == WIRE_TRANSFORM)
        return transform_again(frame);
    if (wire_protocol(&frame) == WIRE_COMPRESSION)
        return compression_again(frame);
    while ((r = wire_frame_next(&frame, &h, &msg)) == 1) {
        header_again(&h);
        decoded += roundtrip_message(&h, msg, direction) == 0;
    }
    return r < 0 ? r : decoded;
}
