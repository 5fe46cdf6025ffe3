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

static void create_context_again(const struct wire_create_context *c)
{
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

static int dirents(struct rd output)
{
    size_t cap = 2 * output.len + 64;
    uint8_t *buf = malloc(cap);
    hold(buf != NULL, "out of memory");

    struct wr w = wr_init(buf, cap);
    struct rd first = output;
    struct wire_dirent e, f;
    size_t last = SIZE_MAX;
    int r;
    while ((r = wire_dirent_next(&output, &e)) == 1)
        wire_dirent_encode(&w, &last, &e);
    hold(wr_ok(&w), "directory entries do not encode");

    struct rd second = rd_init(buf, w.pos);
    while (wire_dirent_next(&first, &e) == 1) {
        hold(wire_dirent_next(&second, &f) == 1, "directory entry is refused");
        hold(same_dirent(&e, &f), "directory entry has changed");
    }
    hold(wire_dirent_next(&second, &f) == 0, "directory entries do not end");
    free(buf);
    return r;
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

static int query_directory_response(struct rd msg)
{
    struct rd output;
    int r = buffer_response(msg, &output);
    return r < 0 ? r : dirents(output);
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

int roundtrip_frame(const uint8_t *data, size_t len, enum direction direction)
{
    struct rd frame = rd_init(data, len);
    struct wire_header h;
    struct rd msg;
    int decoded = 0, r;
    while ((r = wire_frame_next(&frame, &h, &msg)) == 1) {
        header_again(&h);
        decoded += roundtrip_message(&h, msg, direction) == 0;
    }
    return r < 0 ? r : decoded;
}
