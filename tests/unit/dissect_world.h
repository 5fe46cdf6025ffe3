/*
 * Records for the dissector's tests, built with wire/'s encoders, and what came out of them.
 *
 * A record is built element by element (`request`, `related`, `response` give the writer for the
 * body) and given to a flow by `deliver`, which closes the compound. Frames count up by one and
 * time by a millisecond with every record.
 */
#ifndef LARDER_TESTS_DISSECT_WORLD_H
#define LARDER_TESTS_DISSECT_WORLD_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/ntstatus.h"
#include "capture/dissect.h"
#include "fuzz/samples.h" /* BYTES */

enum { SESSION = 0x1122334455, TREE = 0x77, TO_SERVER = 0, FROM_SERVER = 1, KEPT_MAX = 256 };
#define FID(n)    ((struct wire_file_id){(n), 0x1000 + (n)})
#define NOT_FOUND ((uint32_t)STATUS_OBJECT_NAME_NOT_FOUND)

/* An exchange with its strings copied, "(null)" for none. */
struct kept {
    struct exchange x;
    char path[256], pattern[64], share[64], server[64], client[64];
    uint64_t open_id; /* 0: none */
    bool path_known;
    struct smb_open open;
    unsigned entries; /* of the listing */
};

struct world {
    struct dissector *d;
    struct flow flows[4];
    uint8_t buf[1 << 17];
    struct wr w;
    bool begun; /* an element is open */
    uint64_t frame;
    struct message messages[KEPT_MAX];
    size_t message_count;
    struct kept exchanges[KEPT_MAX];
    size_t exchange_count;
    uint64_t closed[KEPT_MAX]; /* ids of opens, in order */
    size_t closed_count;
    struct break_notice breaks[KEPT_MAX];
    size_t break_count;
    struct answered_again again; /* the last */
    size_t again_count;
};

/* ---- what comes out ---- */

static inline void on_message(void *user, const struct message *m)
{
    struct world *w = user;
    if (w->message_count < KEPT_MAX)
        w->messages[w->message_count] = *m;
    w->message_count++;
}

static inline unsigned entries_of(struct rd listing, uint8_t info_class)
{
    struct wire_dirent e;
    unsigned n = 0;
    while (wire_listing_next(&listing, info_class, &e) > 0)
        n++;
    return n;
}

static inline void on_exchange(void *user, const struct exchange *x)
{
    struct world *w = user;
    if (w->exchange_count < KEPT_MAX) {
        struct kept *k = &w->exchanges[w->exchange_count];
        *k = (struct kept){.x = *x};
        snprintf(k->path, sizeof(k->path), "%s", x->path ? x->path : "(null)");
        snprintf(k->pattern, sizeof(k->pattern), "%s", x->pattern);
        snprintf(k->share, sizeof(k->share), "%s", x->share ? x->share->name : "(null)");
        snprintf(k->server, sizeof(k->server), "%s", x->share ? x->share->server : "(null)");
        snprintf(k->client, sizeof(k->client), "%s", x->share ? x->share->client : "(null)");
        if (x->open) {
            k->open_id = x->open->id;
            k->open = *x->open;
            k->path_known = x->open->path_known;
        }
        k->entries = entries_of(x->listing, x->info_class);
    }
    w->exchange_count++;
}

static inline void on_open_closed(void *user, struct smb_open *o)
{
    struct world *w = user;
    if (w->closed_count < KEPT_MAX)
        w->closed[w->closed_count] = o->id;
    w->closed_count++;
}

static inline void on_broken(void *user, const struct break_notice *b)
{
    struct world *w = user;
    if (w->break_count < KEPT_MAX)
        w->breaks[w->break_count] = *b;
    w->break_count++;
}

static inline void on_answered_again(void *user, const struct answered_again *a)
{
    struct world *w = user;
    w->again = *a;
    w->again_count++;
}

/* ---- the world ---- */

static inline void address(struct endpoint *e, uint8_t last, uint16_t port)
{
    *e = (struct endpoint){.address = {[10] = 0xff, 0xff, 10, 0, 0, last}, .port = port};
}

/* Four connections: 0 and 1 from one client to one server, 2 and 3 to servers of their own. */
static inline struct world *world_new(const struct keyring *keys)
{
    struct world *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    struct dissect_events events = {.message = on_message,
                                    .exchange = on_exchange,
                                    .open_closed = on_open_closed,
                                    .broken = on_broken,
                                    .answered_again = on_answered_again,
                                    .user = w};
    w->d = dissector_new(&events, keys);
    assert_non_null(w->d);
    for (size_t i = 0; i < 4; i++) {
        w->flows[i].id = i + 1;
        address(&w->flows[i].client, 1, (uint16_t)(50000 + i));
        address(&w->flows[i].server, (uint8_t)(i < 2 ? 200 : 200 + i), 445);
    }
    w->w = wr_init(w->buf, sizeof(w->buf));
    return w;
}

static inline void world_free(struct world *w)
{
    for (size_t i = 0; i < 4; i++)
        dissector_flow_closed(w->d, &w->flows[i]);
    dissector_free(w->d);
    free(w);
}

static inline struct dissect_counts counts(const struct world *w)
{
    struct dissect_counts c;
    dissector_counts(w->d, &c);
    return c;
}

/* ---- what goes in ---- */

static inline struct wr *element(struct world *w, const struct wire_header *h)
{
    if (w->begun)
        wire_element_end(&w->w, true);
    w->begun = true;
    wire_header_encode(&w->w, h);
    return &w->w;
}

static inline struct wr *request(struct world *w, uint16_t command, uint64_t id)
{
    return element(
        w, &(struct wire_header){
               .command = command, .message_id = id, .session_id = SESSION, .tree_id = TREE});
}

static inline struct wr *related(struct world *w, uint16_t command, uint64_t id)
{
    return element(w, &(struct wire_header){.command = command,
                                            .message_id = id,
                                            .flags = SMB2_FLAGS_RELATED_OPERATIONS,
                                            .session_id = UINT64_MAX,
                                            .tree_id = UINT32_MAX});
}

static inline struct wr *response(struct world *w, uint16_t command, uint64_t id, uint32_t status)
{
    struct wire_header h = {
        .command = command,
        .message_id = id,
        .status = status,
        .flags = SMB2_FLAGS_SERVER_TO_REDIR,
        .session_id = SESSION,
        .tree_id = TREE,
    };
    if (status == STATUS_PENDING)
        h.flags |= SMB2_FLAGS_ASYNC_COMMAND;
    struct wr *body = element(w, &h);
    if (!wire_has_body(command, status))
        wire_error_encode(body, NULL, 0);
    return body;
}

/* Bytes as a record of which `captured` are there, from memory of just their size. */
static inline void give(struct world *w, size_t flow, int from_server, const void *bytes,
                        size_t captured, size_t length)
{
    uint8_t *exact = malloc(captured ? captured : 1);
    assert_non_null(exact);
    if (captured)
        memcpy(exact, bytes, captured);
    struct record r = {
        .data = exact,
        .captured = (uint32_t)captured,
        .length = (uint32_t)length,
        .from_server = from_server,
        .frame = ++w->frame,
        .time_ns = w->frame * 1000000,
        .first_time_ns = w->frame * 1000000,
    };
    dissector_record(w->d, &w->flows[flow], &r);
    free(exact);
}

static inline void begin_record(struct world *w)
{
    w->w = wr_init(w->buf, sizeof(w->buf));
    w->begun = false;
}

static inline void deliver_cut(struct world *w, size_t flow, int from_server, size_t captured)
{
    assert_true(wr_ok(&w->w) && captured <= w->w.pos);
    give(w, flow, from_server, w->buf, captured, w->w.pos);
    begin_record(w);
}

static inline void deliver(struct world *w, size_t flow, int from_server)
{
    deliver_cut(w, flow, from_server, w->w.pos);
}

/* ---- bodies that most tests need ---- */

static inline void put_create(struct wr *body, struct rd name)
{
    wire_create_request_encode(body, &(struct wire_create_request){.impersonation = 2,
                                                                   .desired_access = 0x80,
                                                                   .share_access = FILE_SHARE_ALL,
                                                                   .disposition = FILE_OPEN,
                                                                   .name = name});
}

static inline void put_created(struct wr *body, struct wire_file_id id, uint32_t attributes)
{
    wire_create_response_encode(
        body, &(struct wire_create_response){.file_id = id, .attr = {.attributes = attributes}});
}

static inline void put_list(struct wr *body, struct wire_file_id id)
{
    wire_query_directory_request_encode(body, &(struct wire_query_directory_request){
                                                  .info_class = FILE_ID_BOTH_DIRECTORY_INFORMATION,
                                                  .file_id = id,
                                                  .pattern = BYTES(u"*"),
                                                  .output_length = 65536});
}

static inline void put_listing(struct wr *body)
{
    uint8_t buf[1024];
    struct wr output = wr_init(buf, sizeof(buf));
    size_t last = SIZE_MAX;
    for (size_t i = 0; i < 3; i++)
        wire_dirent_encode(&output, &last, &sample_dirents[i]);
    wire_buffer_response_encode(body, buf, (uint32_t)output.pos);
}

static inline void put_close(struct wr *body, struct wire_file_id id)
{
    wire_close_request_encode(body, &(struct wire_close_request){.file_id = id});
}

static inline void put_closed(struct wr *body)
{
    wire_close_response_encode(body, &(struct wire_close_response){0});
}

/* A whole CREATE in two records. */
static inline void open_file(struct world *w, size_t flow, uint64_t message_id, struct rd name,
                             struct wire_file_id id)
{
    put_create(request(w, SMB2_CREATE, message_id), name);
    deliver(w, flow, TO_SERVER);
    put_created(response(w, SMB2_CREATE, message_id, STATUS_SUCCESS), id, FILE_ATTRIBUTE_NORMAL);
    deliver(w, flow, FROM_SERVER);
}

/* And a CLOSE; the exchange is returned. */
static inline const struct kept *close_file(struct world *w, size_t flow, uint64_t message_id,
                                            struct wire_file_id id)
{
    put_close(request(w, SMB2_CLOSE, message_id), id);
    deliver(w, flow, TO_SERVER);
    put_closed(response(w, SMB2_CLOSE, message_id, STATUS_SUCCESS));
    deliver(w, flow, FROM_SERVER);
    assert_true(w->exchange_count > 0);
    return &w->exchanges[w->exchange_count - 1];
}

#endif
