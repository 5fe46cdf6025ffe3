/*
 * The scripted server itself, by a client that is nothing but a socket and wire/: that it serves as
 * a plain server does, and that each rule of a script bends it as it says.
 */
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/ntstatus.h"
#include "server/server.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static const struct server_node nodes[] = {
    {SERVER_ROOT, SERVER_NAME(u"lib"), {.id = 10, .attributes = FILE_ATTRIBUTE_DIRECTORY}},
    {0,
     SERVER_NAME(u"a.py"),
     {.id = 11, .attributes = FILE_ATTRIBUTE_ARCHIVE},
     SERVER_CONTENT("print('a')\n")},
    {0,
     SERVER_NAME(u"B.py"),
     {.id = 12, .attributes = FILE_ATTRIBUTE_ARCHIVE},
     SERVER_CONTENT("print('b')\n")},
    {0, SERVER_NAME(u"c.txt"), {.id = 13, .attributes = FILE_ATTRIBUTE_ARCHIVE}},
};

/* ---- a client ---- */

struct peer {
    struct server *server;
    int fd;
    uint64_t message_id, session_id;
    uint32_t tree_id;
    size_t in_len; /* bytes of the last frame */
    uint8_t in[1 << 20];
    uint8_t out[4096];
};

static void send_all(struct peer *p, const struct wr *w)
{
    assert_true(wr_ok(w));
    struct wr header = wr_init(p->out, WIRE_FRAME_HEADER);
    wr_be32(&header, (uint32_t)(w->pos - WIRE_FRAME_HEADER));
    assert_int_equal(send(p->fd, p->out, w->pos, MSG_NOSIGNAL), w->pos);
}

static struct wr begin(struct peer *p)
{
    struct wr w = wr_init(p->out, sizeof(p->out));
    wr_zero(&w, WIRE_FRAME_HEADER);
    return w;
}

static void header(struct peer *p, struct wr *w, uint16_t command, bool related)
{
    if (w->pos > WIRE_FRAME_HEADER)
        wire_element_end(w, true);
    wire_header_encode(w, &(struct wire_header){
                              .credit_charge = 1,
                              .command = command,
                              .credits = 10,
                              .flags = related ? SMB2_FLAGS_RELATED_OPERATIONS : 0,
                              .message_id = p->message_id++,
                              .tree_id = p->tree_id,
                              .session_id = p->session_id,
                          });
}

static bool receive_bytes(struct peer *p, uint8_t *out, size_t len)
{
    return recv(p->fd, out, len, MSG_WAITALL) == (ssize_t)len;
}

/* The next frame, or false at the end of the connection. */
static bool receive(struct peer *p, struct rd *ret)
{
    uint8_t h[WIRE_FRAME_HEADER];
    if (!receive_bytes(p, h, sizeof(h)))
        return false;
    struct rd r = rd_init(h, sizeof(h));
    p->in_len = rd_be32(&r);
    if (p->in_len > sizeof(p->in) || !receive_bytes(p, p->in, p->in_len))
        return false;
    *ret = rd_init(p->in, p->in_len);
    return true;
}

static struct rd element(struct rd *frame, struct wire_header *ret)
{
    struct rd msg = {0};
    assert_int_equal(wire_frame_next(frame, ret, &msg), 1);
    assert_true(ret->flags & SMB2_FLAGS_SERVER_TO_REDIR);
    return msg;
}

/* A frame that holds one reply with this status. */
static struct rd receive_one(struct peer *p, struct wire_header *ret, uint32_t status)
{
    struct rd frame;
    assert_true(receive(p, &frame));
    struct rd msg = element(&frame, ret);
    assert_int_equal(ret->status, status);
    assert_int_equal(rd_left(&frame), 0);
    return msg;
}

static bool nothing_comes(struct peer *p)
{
    uint8_t byte;
    setsockopt(p->fd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){.tv_usec = 50000},
               sizeof(struct timeval));
    return recv(p->fd, &byte, 1, 0) < 0 && errno == EAGAIN;
}

static bool is_hung_up(struct peer *p)
{
    uint8_t byte;
    return recv(p->fd, &byte, 1, 0) <= 0;
}

static void logon(struct peer *p)
{
    struct wire_header h;
    struct wr w = begin(p);
    header(p, &w, SMB2_NEGOTIATE, false);
    wire_negotiate_request_encode(
        &w, &(struct wire_negotiate_request){.dialect_count = 1, .dialect = {SMB2_DIALECT_210}});
    send_all(p, &w);
    struct wire_negotiate_response negotiated;
    struct rd msg = receive_one(p, &h, STATUS_SUCCESS);
    assert_int_equal(wire_negotiate_response_decode(msg, &negotiated), 0);
    assert_int_equal(negotiated.dialect, SMB2_DIALECT_210);
    assert_int_equal(h.credits, 10);

    w = begin(p);
    header(p, &w, SMB2_SESSION_SETUP, false);
    wire_session_setup_request_encode(&w, &(struct wire_session_setup_request){0});
    send_all(p, &w);
    struct wire_session_setup_response session;
    msg = receive_one(p, &h, STATUS_SUCCESS);
    assert_int_equal(wire_session_setup_response_decode(msg, &session), 0);
    assert_int_equal(session.session_flags, SMB2_SESSION_FLAG_IS_GUEST);
    assert_int_equal(session.token.len, 0);
    p->session_id = h.session_id;

    w = begin(p);
    header(p, &w, SMB2_TREE_CONNECT, false);
    wire_tree_connect_request_encode(
        &w, &(struct wire_tree_connect_request){.path = SERVER_NAME(u"\\\\server\\share")});
    send_all(p, &w);
    struct wire_tree_connect_response tree;
    msg = receive_one(p, &h, STATUS_SUCCESS);
    assert_int_equal(wire_tree_connect_response_decode(msg, &tree), 0);
    assert_int_equal(tree.share_type, SMB2_SHARE_TYPE_DISK);
    p->tree_id = h.tree_id;
}

static void dial(struct peer *p)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons(server_port(p->server)),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    p->fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(p->fd, (struct sockaddr *)&a, sizeof(a)), 0);
}

/* A server with the nodes above, a client that is logged on, and then the script. */
static struct peer *start(const struct server_script *script)
{
    struct server_script plain = {.nodes = nodes, .node_count = COUNT(nodes)}, bent = *script;
    struct peer *p = calloc(1, sizeof(*p));
    assert_non_null(p);
    p->server = server_new(&plain);
    assert_non_null(p->server);
    dial(p);
    logon(p);
    if (!bent.nodes) {
        bent.nodes = nodes;
        bent.node_count = COUNT(nodes);
    }
    server_play(p->server, &bent);
    return p;
}

static struct peer *start_with_rules(const struct server_rule *rules, size_t count)
{
    return start(&(struct server_script){.rules = rules, .rule_count = count});
}
#define START(...)                                                                                 \
    start_with_rules((const struct server_rule[]){__VA_ARGS__},                                    \
                     COUNT(((const struct server_rule[]){__VA_ARGS__})))

static void finish(struct peer *p)
{
    close(p->fd);
    server_free(p->server);
    free(p);
}

/* ---- requests ---- */

static void put_create(struct peer *p, struct wr *w, struct rd name)
{
    header(p, w, SMB2_CREATE, false);
    wire_create_request_encode(
        w, &(struct wire_create_request){.disposition = FILE_OPEN, .name = name});
}

static void put_query_directory(struct peer *p, struct wr *w, struct wire_file_id id,
                                uint32_t output_length)
{
    bool related = id.persistent == UINT64_MAX;
    header(p, w, SMB2_QUERY_DIRECTORY, related);
    wire_query_directory_request_encode(
        w, &(struct wire_query_directory_request){.info_class = FILE_ID_BOTH_DIRECTORY_INFORMATION,
                                                  .file_id = id,
                                                  .pattern = SERVER_NAME(u"*"),
                                                  .output_length = output_length});
}

static void put_query_info(struct peer *p, struct wr *w, struct wire_file_id id)
{
    header(p, w, SMB2_QUERY_INFO, id.persistent == UINT64_MAX);
    wire_query_info_request_encode(w, &(struct wire_query_info_request){
                                          .info_type = SMB2_0_INFO_FILE,
                                          .info_class = FILE_ALL_INFORMATION,
                                          .output_length = 1024,
                                          .file_id = id,
                                      });
}

static void put_close(struct peer *p, struct wr *w, struct wire_file_id id)
{
    header(p, w, SMB2_CLOSE, id.persistent == UINT64_MAX);
    wire_close_request_encode(
        w, &(struct wire_close_request){.flags = SMB2_CLOSE_FLAG_POSTQUERY_ATTRIB, .file_id = id});
}

static void send_echo(struct peer *p)
{
    struct wr w = begin(p);
    header(p, &w, SMB2_ECHO, false);
    wire_empty_encode(&w);
    send_all(p, &w);
}

/* CREATE, QUERY_INFO, CLOSE in one frame. */
static void send_stat(struct peer *p, struct rd name)
{
    struct wr w = begin(p);
    put_create(p, &w, name);
    put_query_info(p, &w, WIRE_FILE_ID_RELATED);
    put_close(p, &w, WIRE_FILE_ID_RELATED);
    send_all(p, &w);
}

static struct wire_file_id open_name(struct peer *p, struct rd name)
{
    struct wire_header h;
    struct wire_create_response m;
    struct wr w = begin(p);
    put_create(p, &w, name);
    send_all(p, &w);
    assert_int_equal(wire_create_response_decode(receive_one(p, &h, STATUS_SUCCESS), &m), 0);
    return m.file_id;
}

static uint32_t list_once(struct peer *p, struct wire_file_id id, uint32_t output_length,
                          struct rd *ret_output)
{
    struct wire_header h;
    struct wire_buffer_response m;
    struct rd frame;
    struct wr w = begin(p);
    put_query_directory(p, &w, id, output_length);
    send_all(p, &w);
    assert_true(receive(p, &frame));
    struct rd msg = element(&frame, &h);
    if (h.status == STATUS_SUCCESS) {
        assert_int_equal(wire_buffer_response_decode(msg, &m), 0);
        *ret_output = m.output;
    }
    return h.status;
}

static const struct rd lib = SERVER_NAME(u"lib"), a_py = SERVER_NAME(u"lib\\a.py");

/* ---- a plain server ---- */

static void a_directory_is_listed_whole_and_in_pieces(void **state)
{
    static const char *const expected[] = {".", "..", "a.py", "B.py", "c.txt"};
    for (unsigned per_reply = 0; per_reply < 7; per_reply++) {
        struct peer *p = start(&(struct server_script){.entries_per_reply = per_reply});
        struct wire_file_id id = open_name(p, lib);
        size_t seen = 0;
        struct rd output = {0};
        uint32_t status;
        while ((status = list_once(p, id, 65536, &output)) == STATUS_SUCCESS) {
            struct wire_dirent e;
            size_t here = 0;
            for (; wire_dirent_next(&output, &e) == 1; here++, seen++) {
                assert_true(seen < COUNT(expected));
                assert_int_equal(e.name.len, 2 * strlen(expected[seen]));
                for (size_t i = 0; i < e.name.len / 2; i++)
                    assert_int_equal(rd_u16(&e.name), expected[seen][i]);
            }
            assert_true(rd_ok(&output) && here > 0 && (!per_reply || here <= per_reply));
        }
        assert_int_equal(status, (uint32_t)STATUS_NO_MORE_FILES);
        assert_int_equal(seen, COUNT(expected));
        assert_int_equal(server_opens(p->server), 1);
        finish(p);
    }
}

static void a_buffer_that_is_too_small_for_one_entry_is_an_error(void **state)
{
    struct peer *p = start(&(struct server_script){0});
    struct wire_file_id id = open_name(p, lib);
    struct rd output;
    assert_int_equal(list_once(p, id, 100, &output), (uint32_t)STATUS_BUFFER_OVERFLOW);
    assert_int_equal(list_once(p, id, 120, &output), STATUS_SUCCESS); /* and nothing was lost */
    assert_int_equal(output.len, WIRE_DIRENT_FIXED + 2);
    finish(p);
}

static void a_file_is_read_to_its_end(void **state)
{
    struct peer *p = start(&(struct server_script){0});
    struct wire_file_id id = open_name(p, a_py);
    struct wire_header h;
    struct wire_read_response m;
    for (uint64_t offset = 0; offset <= 11; offset += 4) {
        struct wr w = begin(p);
        header(p, &w, SMB2_READ, false);
        wire_read_request_encode(
            &w, &(struct wire_read_request){.length = 4, .offset = offset, .file_id = id});
        send_all(p, &w);
        assert_int_equal(wire_read_response_decode(receive_one(p, &h, STATUS_SUCCESS), &m), 0);
        assert_int_equal(m.data.len, offset == 8 ? 3 : 4);
        assert_memory_equal(m.data.base, &"print('a')\n"[offset], m.data.len);
    }
    struct wr w = begin(p);
    header(p, &w, SMB2_READ, false);
    wire_read_request_encode(&w,
                             &(struct wire_read_request){.length = 4, .offset = 11, .file_id = id});
    send_all(p, &w);
    receive_one(p, &h, (uint32_t)STATUS_END_OF_FILE);
    finish(p);
}

static void a_compound_is_answered_in_one_frame_and_leaves_no_handle(void **state)
{
    struct peer *p = start(&(struct server_script){0});
    struct wire_header h;
    struct wire_buffer_response info;
    struct wire_close_response closed;
    struct file_attr attr;
    struct rd frame;
    send_stat(p, a_py);
    assert_true(receive(p, &frame));
    element(&frame, &h);
    assert_int_equal(h.status, STATUS_SUCCESS);
    assert_int_equal(wire_buffer_response_decode(element(&frame, &h), &info), 0);
    assert_int_equal(wire_all_information_decode(info.output, &attr), 0);
    assert_int_equal(attr.id, 11);
    assert_int_equal(attr.size, 11);
    struct rd name;
    assert_int_equal(wire_all_information_name(info.output, &name), 0);
    assert_int_equal(name.len, 18);
    assert_memory_equal(name.base, u"\\lib\\a.py", 18);
    assert_int_equal(wire_close_response_decode(element(&frame, &h), &closed), 0);
    assert_int_equal(closed.attr.size, 11);
    assert_int_equal(rd_left(&frame), 0);

    assert_int_equal(server_opens(p->server), 0);
    assert_int_equal(server_frames(p->server), 1);
    assert_int_equal(server_count(p->server, SERVER_ANY), 3);
    assert_int_equal(server_count(p->server, SMB2_QUERY_INFO), 1);
    assert_int_equal(server_count(p->server, SMB2_READ), 0);
    finish(p);
}

static void what_is_not_there_fails_with_all_that_is_related_to_it(void **state)
{
    static const struct {
        struct rd name;
        uint32_t status;
    } cases[] = {
        {SERVER_NAME(u"lib\\none"), (uint32_t)STATUS_OBJECT_NAME_NOT_FOUND},
        {SERVER_NAME(u"none\\a.py"), (uint32_t)STATUS_OBJECT_PATH_NOT_FOUND},
        {SERVER_NAME(u"lib\\a.py\\b"), (uint32_t)STATUS_OBJECT_PATH_NOT_FOUND},
    };
    struct peer *p = start(&(struct server_script){0});
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rd frame;
        struct wire_header h;
        send_stat(p, cases[i].name);
        assert_true(receive(p, &frame));
        for (int n = 0; n < 3; n++) {
            element(&frame, &h);
            assert_int_equal(h.status, cases[i].status);
        }
    }
    finish(p);
}

static void names_that_no_server_stores_are_listed_as_they_are(void **state)
{
    static const struct server_node odd[] = {
        {SERVER_ROOT, SERVER_NAME(u"a/b")},    {SERVER_ROOT, SERVER_NAME(u"nul\0byte")},
        {SERVER_ROOT, SERVER_NAME(u"..")},     {SERVER_ROOT, SERVER_NAME(u"dot.")},
        {SERVER_ROOT, SERVER_NAME(u"\xd800")}, {SERVER_ROOT, SERVER_NAME(u"space ")},
    };
    struct peer *p = start(&(struct server_script){.nodes = odd, .node_count = COUNT(odd)});
    struct wire_file_id id = open_name(p, (struct rd){0});
    struct rd output;
    struct wire_dirent e;
    assert_int_equal(list_once(p, id, 65536, &output), STATUS_SUCCESS);
    for (size_t i = 0; i < COUNT(odd) + 2; i++) {
        assert_int_equal(wire_dirent_next(&output, &e), 1);
        if (i < 2)
            continue;
        assert_int_equal(e.name.len, odd[i - 2].name.len);
        assert_memory_equal(e.name.base, odd[i - 2].name.base, e.name.len);
    }
    finish(p);
}

static void requests_without_session_or_tree_are_refused(void **state)
{
    struct peer *p = start(&(struct server_script){0});
    struct wire_header h;
    uint64_t session_id = p->session_id;
    struct wr w = begin(p);
    p->session_id = 1;
    put_create(p, &w, lib);
    send_all(p, &w);
    receive_one(p, &h, (uint32_t)STATUS_USER_SESSION_DELETED);

    p->session_id = session_id;
    p->tree_id++;
    w = begin(p);
    put_create(p, &w, lib);
    send_all(p, &w);
    receive_one(p, &h, (uint32_t)STATUS_NETWORK_NAME_DELETED);
    finish(p);
}

static void hanging_up_closes_what_was_open_and_lets_others_in(void **state)
{
    struct peer *p = start(&(struct server_script){0});
    open_name(p, lib);
    assert_int_equal(server_opens(p->server), 1);
    server_disconnect(p->server);
    assert_true(is_hung_up(p));
    close(p->fd);
    p->session_id = p->message_id = p->tree_id = 0;
    dial(p);
    logon(p);
    assert_int_equal(server_opens(p->server), 0);
    finish(p);
}

/* ---- bent ---- */

static void a_compound_can_be_refused_behind_its_first_element(void **state)
{
    struct peer *p =
        START({SERVER_ANY, 0, SERVER_BEHIND, SERVER_FAIL, (uint32_t)STATUS_INVALID_PARAMETER});
    struct rd frame;
    struct wire_header h;
    send_stat(p, a_py);
    assert_true(receive(p, &frame));
    element(&frame, &h);
    assert_int_equal(h.status, STATUS_SUCCESS);
    for (int i = 0; i < 2; i++) {
        struct wire_error m;
        struct rd msg = element(&frame, &h);
        assert_int_equal(h.status, (uint32_t)STATUS_INVALID_PARAMETER);
        assert_int_equal(wire_error_decode(msg, &m), 0);
    }
    finish(p);
}

static void a_compound_can_lose_all_but_its_first_reply(void **state)
{
    struct peer *p = START({SERVER_ANY, 0, SERVER_BEHIND, SERVER_SILENT});
    struct wire_header h;
    send_stat(p, a_py);
    receive_one(p, &h, STATUS_SUCCESS);
    assert_int_equal(h.command, SMB2_CREATE);
    assert_true(nothing_comes(p));
    finish(p);
}

static void a_compound_can_be_answered_in_pieces(void **state)
{
    struct peer *p = START({SERVER_ANY, 0, SERVER_BEHIND, SERVER_OWN_FRAME});
    static const uint16_t commands[] = {SMB2_CREATE, SMB2_QUERY_INFO, SMB2_CLOSE};
    struct wire_header h;
    send_stat(p, a_py);
    for (size_t i = 0; i < COUNT(commands); i++) {
        receive_one(p, &h, STATUS_SUCCESS);
        assert_int_equal(h.command, commands[i]);
    }
    finish(p);
}

static void a_command_can_be_refused_inside_compounds_only(void **state)
{
    struct peer *p = START(
        {SMB2_QUERY_INFO, 0, SERVER_IN_COMPOUND, SERVER_FAIL, (uint32_t)STATUS_NOT_SUPPORTED});
    struct rd frame;
    struct wire_header h;
    send_stat(p, a_py);
    assert_true(receive(p, &frame));
    element(&frame, &h);
    element(&frame, &h);
    assert_int_equal(h.status, (uint32_t)STATUS_NOT_SUPPORTED);
    element(&frame, &h);
    assert_int_equal(h.status, STATUS_SUCCESS);

    struct wire_file_id id = open_name(p, a_py);
    struct wr w = begin(p);
    put_query_info(p, &w, id);
    send_all(p, &w);
    receive_one(p, &h, STATUS_SUCCESS);
    finish(p);
}

static void listing_buffers_above_a_limit_can_be_refused(void **state)
{
    struct peer *p = start(&(struct server_script){.max_query_directory = 65536});
    struct wire_file_id id = open_name(p, lib);
    struct rd output;
    assert_int_equal(list_once(p, id, 65537, &output), (uint32_t)STATUS_INVALID_PARAMETER);
    assert_int_equal(list_once(p, id, 65536, &output), STATUS_SUCCESS);
    finish(p);
}

static void a_listing_can_fail_in_its_middle(void **state)
{
    struct server_rule rule = {SMB2_QUERY_DIRECTORY, 2, SERVER_ANYWHERE, SERVER_FAIL,
                               (uint32_t)STATUS_UNSUCCESSFUL};
    struct peer *p =
        start(&(struct server_script){.entries_per_reply = 2, .rules = &rule, .rule_count = 1});
    struct wire_file_id id = open_name(p, lib);
    struct rd output;
    assert_int_equal(list_once(p, id, 65536, &output), STATUS_SUCCESS);
    assert_int_equal(list_once(p, id, 65536, &output), (uint32_t)STATUS_UNSUCCESSFUL);
    finish(p);
}

static void credits_can_be_granted_as_a_test_likes(void **state)
{
    struct peer *p = START({SERVER_ANY, 1, .action = SERVER_GRANT, .value = 1},
                           {SERVER_ANY, 2, .action = SERVER_GRANT, .value = 0});
    static const uint16_t granted[] = {1, 0, 10};
    struct wire_header h;
    for (size_t i = 0; i < COUNT(granted); i++) {
        send_echo(p);
        receive_one(p, &h, STATUS_SUCCESS);
        assert_int_equal(h.credits, granted[i]);
    }
    finish(p);
}

static void an_interim_response_can_come_first(void **state)
{
    struct peer *p = START({SMB2_ECHO, 0, .action = SERVER_INTERIM});
    struct wire_header first, last;
    send_echo(p);
    receive_one(p, &first, STATUS_PENDING);
    assert_int_equal(first.credits, 10);
    receive_one(p, &last, STATUS_SUCCESS);
    assert_int_equal(last.credits, 0);
    assert_int_equal(first.message_id, last.message_id);
    assert_true(first.flags & last.flags & SMB2_FLAGS_ASYNC_COMMAND);
    assert_true(first.async_id != 0 && first.async_id == last.async_id);
    finish(p);
}

static void a_reply_can_end_at_any_byte(void **state)
{
    enum { ECHO_FRAME = WIRE_FRAME_HEADER + WIRE_HEADER_SIZE + 4 };
    for (size_t k = 0; k < ECHO_FRAME; k++) {
        struct peer *p = START({SMB2_ECHO, 2, .action = SERVER_HANG_UP, .value = k});
        struct wire_header h;
        send_echo(p);
        receive_one(p, &h, STATUS_SUCCESS);
        send_echo(p);
        assert_int_equal(recv(p->fd, p->in, ECHO_FRAME, MSG_WAITALL), k);
        assert_true(is_hung_up(p));
        finish(p);
    }
}

static void all_output_can_end_at_any_byte(void **state)
{
    enum { ECHO_FRAME = WIRE_FRAME_HEADER + WIRE_HEADER_SIZE + 4 };
    for (uint64_t n = 1; n <= 3 * ECHO_FRAME; n += 5) {
        struct peer *p = start(&(struct server_script){.hang_up_before = n});
        struct wire_header h;
        for (uint64_t whole = 0; whole + ECHO_FRAME < n; whole += ECHO_FRAME) {
            send_echo(p);
            receive_one(p, &h, STATUS_SUCCESS);
        }
        send_echo(p);
        assert_int_equal(recv(p->fd, p->in, ECHO_FRAME, MSG_WAITALL), (n - 1) % ECHO_FRAME);
        assert_true(is_hung_up(p));
        finish(p);
    }
}

/* The MessageId of the next frame, which answers an ECHO. */
static uint64_t next_echo(struct peer *p)
{
    struct wire_header h;
    receive_one(p, &h, STATUS_SUCCESS);
    return h.message_id;
}

static void a_reply_can_be_overtaken_repeated_and_in_pieces(void **state)
{
    struct peer *p =
        START({SMB2_ECHO, 1, .action = SERVER_HOLD, .value = 1},
              {SMB2_ECHO, 3, .action = SERVER_LATE, .value = 1000},
              {SMB2_ECHO, 5, .action = SERVER_REPEAT, .value = 2},
              {SMB2_ECHO, 6, .action = SERVER_PIECES, .value = SERVER_PIECES_OF(24, 10)},
              {SMB2_ECHO, 7, .action = SERVER_JOIN}, {SMB2_ECHO, 9, .action = SERVER_LOSE},
              {SMB2_ECHO, 10, .action = SERVER_GRANT, .value = 3, .until = 11});
    uint64_t first = p->message_id;
    struct wire_header h;
    for (unsigned i = 0; i < 8; i++)
        send_echo(p);
    unsigned seen[8] = {0};
    assert_int_equal(next_echo(p) - first, 1);
    assert_int_equal(next_echo(p) - first, 0);
    uint64_t last = 0;
    for (unsigned i = 0; i < 8; i++)
        seen[(last = next_echo(p) - first) % COUNT(seen)]++;
    assert_int_equal(last, 2); /* late, and overtaken by all the others */
    for (unsigned i = 2; i < 8; i++)
        assert_int_equal(seen[i], i == 4 ? 3 : 1);

    send_echo(p); /* lost */
    static const uint16_t granted[] = {3, 3, 10};
    for (size_t i = 0; i < COUNT(granted); i++) {
        send_echo(p);
        receive_one(p, &h, STATUS_SUCCESS);
        assert_int_equal(h.credits, granted[i]);
        assert_int_equal(h.message_id - first, 9 + i);
    }
    finish(p);
}

static void a_request_can_stay_pending_for_ever(void **state)
{
    struct peer *p = START({SMB2_ECHO, 1, .action = SERVER_PENDING});
    struct wire_header h;
    send_echo(p);
    receive_one(p, &h, STATUS_PENDING);
    assert_true(nothing_comes(p));
    finish(p);
}

static void a_field_can_be_altered(void **state)
{
    static const struct server_alteration wrong[] = {
        {.offset = 36, .width = 4, .how = SERVER_ADD, .value = 1}, /* TreeId */
        {.how = SERVER_RESIZE, .value = 8},
    };
    static const struct server_rule rules[] = {
        {SMB2_ECHO, 1, .action = SERVER_ALTER, .value = 0},
        {SMB2_ECHO, 2, .action = SERVER_ALTER, .value = 1},
    };
    struct peer *p = start(&(struct server_script){.rules = rules,
                                                   .rule_count = COUNT(rules),
                                                   .alterations = wrong,
                                                   .alteration_count = COUNT(wrong)});
    struct wire_header h;
    send_echo(p);
    receive_one(p, &h, STATUS_SUCCESS);
    assert_int_equal(h.tree_id, p->tree_id + 1);
    size_t len = p->in_len;
    send_echo(p);
    receive_one(p, &h, STATUS_SUCCESS);
    assert_int_equal(h.tree_id, p->tree_id);
    assert_int_equal(p->in_len, len + 8);
    finish(p);
}

static void a_command_can_be_left_without_an_answer(void **state)
{
    struct peer *p = START({SMB2_CREATE, 0, .action = SERVER_SILENT});
    struct wire_header h;
    struct wr w = begin(p);
    put_create(p, &w, lib);
    send_all(p, &w);
    send_echo(p);
    receive_one(p, &h, STATUS_SUCCESS);
    assert_int_equal(h.command, SMB2_ECHO);
    assert_int_equal(server_count(p->server, SMB2_CREATE), 1);
    finish(p);
}

static void garbage_is_what_the_script_says(void **state)
{
    struct wire_header h;
    struct rd frame, msg;

    struct peer *p = START({SMB2_ECHO, 0, .action = SERVER_BAD_PROTOCOL});
    send_echo(p);
    assert_true(receive(p, &frame));
    assert_int_equal(wire_frame_next(&frame, &h, &msg), -EBADMSG);
    finish(p);

    p = START({SMB2_ECHO, 0, .action = SERVER_BAD_MESSAGE_ID, .value = 77});
    send_echo(p);
    receive_one(p, &h, STATUS_SUCCESS);
    assert_int_equal(h.message_id, p->message_id - 1 + 77);
    finish(p);

    p = START({SMB2_ECHO, 0, .action = SERVER_BAD_SIGNATURE});
    send_echo(p);
    receive_one(p, &h, STATUS_SUCCESS);
    assert_true(h.flags & SMB2_FLAGS_SIGNED);
    finish(p);

    p = START({SMB2_ECHO, 0, .action = SERVER_BAD_LENGTH, .value = WIRE_FRAME_MAX});
    send_echo(p);
    assert_true(receive_bytes(p, p->in, 4));
    assert_memory_equal(p->in, "\0\xff\xff\xff", 4);
    finish(p);

    p = START({SMB2_ECHO, 0, .action = SERVER_RANDOM, .value = 1000});
    send_echo(p);
    assert_true(receive_bytes(p, p->in, 1000));
    assert_true(nothing_comes(p));
    finish(p);
}

static void a_client_that_does_not_read_does_not_hold_the_server(void **state)
{
    size_t len = 1 << 20;
    uint8_t *content = calloc(1, len);
    struct server_node big[] = {{SERVER_ROOT, SERVER_NAME(u"big"), .content = {content, len}}};
    struct peer *p = start(&(struct server_script){.nodes = big, .node_count = 1});
    struct wire_file_id id = open_name(p, (struct rd)SERVER_NAME(u"big"));
    for (int i = 0; i < 32; i++) {
        struct wr w = begin(p);
        header(p, &w, SMB2_READ, false);
        wire_read_request_encode(&w, &(struct wire_read_request){.length = 1 << 20, .file_id = id});
        send_all(p, &w);
    }
    server_free(p->server); /* comes back */
    close(p->fd);
    free(p);
    free(content);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_directory_is_listed_whole_and_in_pieces),
        cmocka_unit_test(a_buffer_that_is_too_small_for_one_entry_is_an_error),
        cmocka_unit_test(a_file_is_read_to_its_end),
        cmocka_unit_test(a_compound_is_answered_in_one_frame_and_leaves_no_handle),
        cmocka_unit_test(what_is_not_there_fails_with_all_that_is_related_to_it),
        cmocka_unit_test(names_that_no_server_stores_are_listed_as_they_are),
        cmocka_unit_test(requests_without_session_or_tree_are_refused),
        cmocka_unit_test(hanging_up_closes_what_was_open_and_lets_others_in),
        cmocka_unit_test(a_compound_can_be_refused_behind_its_first_element),
        cmocka_unit_test(a_compound_can_lose_all_but_its_first_reply),
        cmocka_unit_test(a_compound_can_be_answered_in_pieces),
        cmocka_unit_test(a_command_can_be_refused_inside_compounds_only),
        cmocka_unit_test(listing_buffers_above_a_limit_can_be_refused),
        cmocka_unit_test(a_listing_can_fail_in_its_middle),
        cmocka_unit_test(credits_can_be_granted_as_a_test_likes),
        cmocka_unit_test(an_interim_response_can_come_first),
        cmocka_unit_test(a_reply_can_end_at_any_byte),
        cmocka_unit_test(all_output_can_end_at_any_byte),
        cmocka_unit_test(a_reply_can_be_overtaken_repeated_and_in_pieces),
        cmocka_unit_test(a_request_can_stay_pending_for_ever),
        cmocka_unit_test(a_field_can_be_altered),
        cmocka_unit_test(a_command_can_be_left_without_an_answer),
        cmocka_unit_test(garbage_is_what_the_script_says),
        cmocka_unit_test(a_client_that_does_not_read_does_not_hold_the_server),
    };
    return cmocka_run_group_tests_name("server", tests, NULL, NULL);
}
