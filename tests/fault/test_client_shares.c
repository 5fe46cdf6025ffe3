/*
 * The list of shares, by a server whose pipe answers with fragments cut anywhere, faults, and
 * nonsense. Each must end in the right list or in one line that says what was wrong with it.
 */
#include "bed.h"

#include <stdio.h>
#include <string.h>

#include "wire/rpc.h"

static struct error err;
static struct server_script script;
static struct server_node nodes[] = {
    {SERVER_ROOT, SERVER_NAME(u"srvsvc"), {.id = 11, .attributes = FILE_ATTRIBUTE_NORMAL}}};

#define UTF16(text)                                                                                \
    {                                                                                              \
        .base = (const uint8_t *)(u"" text), .len = sizeof(u"" text) - 2                           \
    }
static const struct wire_share three[] = {
    {UTF16("data"), UTF16("what everybody needs"), SHARE_DISK},
    {UTF16("C$"), {0}, SHARE_SPECIAL},
    {UTF16("IPC$"), UTF16("Remote IPC"), SHARE_IPC | SHARE_SPECIAL},
};
static const char all_three[] = "data|0|0|what everybody needs\nC$|0|1|\nIPC$|3|1|Remote IPC\n";

/* ---- PDUs of a server ---- */

struct bytes_of {
    size_t len;
    uint8_t data[16384];
};

static void add_pdu(struct bytes_of *b, const struct wire_rpc *pdu)
{
    struct wr w = wr_init(b->data + b->len, sizeof(b->data) - b->len);
    wire_rpc_encode(&w, pdu);
    assert_true(wr_ok(&w));
    b->len += w.pos;
}

static struct bytes_of ack(uint16_t result)
{
    struct bytes_of b = {0};
    add_pdu(&b, &(struct wire_rpc){.type = RPC_BIND_ACK,
                                   .flags = RPC_FIRST_FRAGMENT | RPC_LAST_FRAGMENT,
                                   .call = 1,
                                   .max_fragment = WIRE_RPC_FRAGMENT,
                                   .result = result});
    return b;
}

static struct bytes_of stub_of(const struct wire_share *share, uint32_t count, uint32_t resume,
                               uint32_t result)
{
    struct bytes_of b = {0};
    struct wr w = wr_init(b.data, sizeof(b.data));
    wire_shares_response_encode(&w, share, count, resume, result);
    assert_true(wr_ok(&w));
    b.len = w.pos;
    return b;
}

/* The stub in fragments of `size` bytes. */
static struct bytes_of fragments(const struct bytes_of *stub, size_t size, uint32_t call)
{
    struct bytes_of b = {0};
    for (size_t at = 0; at < stub->len; at += size) {
        size_t n = stub->len - at < size ? stub->len - at : size;
        unsigned flags =
            (at == 0 ? RPC_FIRST_FRAGMENT : 0) | (at + n == stub->len ? RPC_LAST_FRAGMENT : 0);
        add_pdu(&b, &(struct wire_rpc){.type = RPC_RESPONSE,
                                       .flags = (uint8_t)flags,
                                       .call = call,
                                       .stub = rd_init(stub->data + at, n)});
    }
    return b;
}

/* ---- one question ---- */

struct told {
    unsigned count;
    char text[1000];
};

static int note(void *user, const struct client_share *share)
{
    struct told *t = user;
    size_t len = strlen(t->text);
    t->count++;
    if (t->count <= 3)
        snprintf(t->text + len, sizeof(t->text) - len, "%s|%d|%d|%s\n", share->name, share->kind,
                 share->special, share->comment);
    return 0;
}

/* Asks a server that answers BIND and the call so, `rest` by READ. */
static int ask(const struct bytes_of *bind, const struct server_ioctl *calls, size_t count,
               const struct bytes_of *rest, struct told *ret)
{
    struct server_ioctl ioctls[8] = {
        {FSCTL_PIPE_TRANSCEIVE, 1, STATUS_SUCCESS, rd_init(bind->data, bind->len)}};
    for (size_t i = 0; i < count; i++)
        ioctls[i + 1] = calls[i];
    nodes[0].content = rest ? rd_init(rest->data, rest->len) : rd_init(NULL, 0);
    script = (struct server_script){
        .nodes = nodes, .node_count = 1, .ioctls = ioctls, .ioctl_count = count + 1};
    struct bed b = {.server = server_new(&script)};
    assert_non_null(b.server);
    struct client_options o = options(b.server);
    o.share = "IPC$";
    o.pipes = true;
    o.request_timeout_ns = NS_PER_SEC;
    err = (struct error){0};
    *ret = (struct told){0};
    if (client_connect(&o, &b.client, &err) < 0)
        fail_msg("%s", err.text);
    int r = client_shares(b.client, note, ret, &err);
    assert_int_equal(server_count(b.server, SMB2_CREATE), 1);
    no_open_is_left(&b);
    stop(&b);
    if (r < 0) {
        assert_non_null(strstr(err.text, "//127.0.0.1/IPC$/srvsvc"));
        assert_null(strchr(err.text, '\n'));
    }
    return r;
}

static int ask_one(const struct bytes_of *answer, uint32_t status, const struct bytes_of *rest,
                   struct told *ret)
{
    const struct bytes_of bind = ack(RPC_ACCEPTED);
    const struct server_ioctl call = {FSCTL_PIPE_TRANSCEIVE, 2, status,
                                      rd_init(answer->data, answer->len)};
    return ask(&bind, &call, 1, rest, ret);
}

/* ---- right lists ---- */

static void test_shares_are_listed(void **state)
{
    const struct bytes_of stub = stub_of(three, 3, 0, 0), one = fragments(&stub, 4000, 2);
    struct told told;
    assert_int_equal(ask_one(&one, STATUS_SUCCESS, NULL, &told), 0);
    assert_string_equal(told.text, all_three);
}

static void test_fragments_may_be_cut_anywhere(void **state)
{
    const struct bytes_of stub = stub_of(three, 3, 0, 0);
    for (size_t size = 1; size < 120; size += 13) {
        const struct bytes_of all = fragments(&stub, size, 2);
        for (size_t at = 1; at < all.len; at += 1 + all.len / 7) {
            struct bytes_of begin = all, rest = {.len = all.len - at};
            struct told told;
            begin.len = at < WIRE_RPC_FRAGMENT ? at : WIRE_RPC_FRAGMENT;
            rest.len = all.len - begin.len;
            memcpy(rest.data, all.data + begin.len, rest.len);
            if (ask_one(&begin, rest.len ? STATUS_BUFFER_OVERFLOW : STATUS_SUCCESS, &rest, &told))
                fail_msg("in %zu bytes, cut behind %zu: %s", size, at, err.text);
            assert_string_equal(told.text, all_three);
        }
    }
}

static void test_a_list_in_pieces_is_asked_for_until_its_end(void **state)
{
    const struct bytes_of bind = ack(RPC_ACCEPTED);
    const struct bytes_of first = stub_of(three, 2, 2, 234), last = stub_of(three + 2, 1, 0, 0);
    const struct bytes_of one = fragments(&first, 4000, 2), two = fragments(&last, 4000, 3);
    const struct server_ioctl calls[] = {
        {FSCTL_PIPE_TRANSCEIVE, 2, STATUS_SUCCESS, rd_init(one.data, one.len)},
        {FSCTL_PIPE_TRANSCEIVE, 3, STATUS_SUCCESS, rd_init(two.data, two.len)},
    };
    struct told told;
    assert_int_equal(ask(&bind, calls, 2, NULL, &told), 0);
    assert_string_equal(told.text, all_three);
}

static void test_names_that_cannot_be_are_left_out(void **state)
{
    const struct wire_share odd[] = {
        {UTF16("a/b"), {0}, SHARE_DISK},
        {UTF16(""), {0}, SHARE_DISK},
        {UTF16("good"), {0}, 0x12345677},
    };
    const struct bytes_of stub = stub_of(odd, 3, 0, 0), one = fragments(&stub, 4000, 2);
    struct told told;
    assert_int_equal(ask_one(&one, STATUS_SUCCESS, NULL, &told), 0);
    assert_string_equal(told.text, "good|4|0|\n");
}

/* ---- wrong answers ---- */

static void says(const struct bytes_of *answer, uint32_t status, const struct bytes_of *rest,
                 int code, const char *text)
{
    struct told told;
    assert_int_equal(ask_one(answer, status, rest, &told), code);
    if (!strstr(err.text, text))
        fail_msg("\"%s\" is not in: %s", text, err.text);
}

static void test_refusals_are_told(void **state)
{
    struct told told;
    const struct bytes_of none = {0};
    struct bytes_of denied = {0}, odd = {0}, bind = ack(2);
    const struct wire_rpc fault = {.type = RPC_FAULT, .flags = 3, .call = 2, .status = 5};
    add_pdu(&denied, &fault);
    says(&denied, STATUS_SUCCESS, NULL, -EACCES, "access denied");
    add_pdu(&odd, &(struct wire_rpc){.type = RPC_FAULT, .flags = 3, .call = 2, .status = 0x77});
    says(&odd, STATUS_SUCCESS, NULL, -EREMOTEIO, "0x00000077");
    says(&none, STATUS_ACCESS_DENIED, NULL, -EACCES, "STATUS_ACCESS_DENIED");
    assert_int_equal(ask(&bind, NULL, 0, NULL, &told), -EOPNOTSUPP);
    assert_non_null(strstr(err.text, "does not offer"));
    bind = (struct bytes_of){0};
    add_pdu(&bind, &(struct wire_rpc){.type = RPC_BIND_NAK, .flags = 3, .call = 1});
    assert_int_equal(ask(&bind, NULL, 0, NULL, &told), -EOPNOTSUPP);
    assert_int_equal(ask(&denied, NULL, 0, NULL, &told), -EBADMSG); /* it answers another call */

    struct bytes_of stub = stub_of(three, 0, 0, 5), answer = fragments(&stub, 4000, 2);
    says(&answer, STATUS_SUCCESS, NULL, -EACCES, "may not list");
    stub = stub_of(three, 0, 0, 124);
    answer = fragments(&stub, 4000, 2);
    says(&answer, STATUS_SUCCESS, NULL, -EREMOTEIO, "Windows error 124");
}

static void test_nonsense_is_told(void **state)
{
    const struct bytes_of stub = stub_of(three, 3, 0, 0), good = fragments(&stub, 4000, 2);
    struct bytes_of bad;

    bad = good; /* too short, and nothing more comes */
    bad.len = 30;
    says(&bad, STATUS_SUCCESS, NULL, -EIO, "STATUS_END_OF_FILE");
    bad = good;
    bad.data[0] = 4; /* another version */
    says(&bad, STATUS_SUCCESS, NULL, -EBADMSG, "no RPC");
    bad = good;
    bad.data[8] = 3, bad.data[9] = 0; /* shorter than its header */
    says(&bad, STATUS_SUCCESS, NULL, -EBADMSG, "no RPC");
    bad = good;
    bad.data[8] = bad.data[9] = 0xff; /* longer than what was agreed on */
    says(&bad, STATUS_SUCCESS, NULL, -EBADMSG, "too long");
    bad = good;
    bad.data[10] = 8; /* a verifier */
    says(&bad, STATUS_SUCCESS, NULL, -EBADMSG, "cannot be read");
    bad = good;
    bad.data[3] = RPC_LAST_FRAGMENT; /* its first fragment is missing */
    says(&bad, STATUS_SUCCESS, NULL, -EBADMSG, "out of order");
    bad = good;
    bad.data[2] = RPC_BIND_ACK;
    says(&bad, STATUS_SUCCESS, NULL, -EBADMSG, "");
    bad = good;
    bad.data[24 + 12] = 0xff; /* more entries than there are */
    says(&bad, STATUS_SUCCESS, NULL, -EBADMSG, "malformed");
    enum { FIRST_STRING = 24 + 24 + 3 * 12 }; /* behind header, struct and entries */
    bad = good;
    bad.data[FIRST_STRING] = 1; /* less room than the string has characters */
    says(&bad, STATUS_SUCCESS, NULL, -EBADMSG, "malformed");
    bad = good;
    bad.data[FIRST_STRING + 4] = 1; /* it begins elsewhere */
    says(&bad, STATUS_SUCCESS, NULL, -EBADMSG, "malformed");
    for (size_t cut = 1; cut < stub.len; cut += 3) { /* whole fragments of a stub that ends early */
        struct bytes_of shorter = stub;
        shorter.len -= cut;
        bad = fragments(&shorter, 4000, 2);
        says(&bad, STATUS_SUCCESS, NULL, -EBADMSG, "malformed");
    }
}

static void test_answers_without_end_are_ended(void **state)
{
    struct bytes_of stub = stub_of(three, 3, 0, 234), answer = fragments(&stub, 4000, 2);
    says(&answer, STATUS_SUCCESS, NULL, -EBADMSG, "no end"); /* where it was to resume before */
    stub = stub_of(three, 0, 9, 234);
    answer = fragments(&stub, 4000, 2);
    says(&answer, STATUS_SUCCESS, NULL, -EBADMSG, "no end");

    struct bytes_of endless = {0}, begin = {0};
    add_pdu(&begin, &(struct wire_rpc){.type = RPC_RESPONSE,
                                       .flags = RPC_FIRST_FRAGMENT,
                                       .call = 2,
                                       .stub = rd_init(three, 16)});
    while (endless.len < 12000) /* every READ brings the same again */
        add_pdu(&endless, &(struct wire_rpc){.type = RPC_RESPONSE,
                                             .call = 2,
                                             .stub = rd_init(script.nodes, sizeof(nodes))});
    says(&begin, STATUS_BUFFER_OVERFLOW, &endless, -EBADMSG, "too long");
    struct bytes_of empty = {0};
    add_pdu(&empty, &(struct wire_rpc){.type = RPC_RESPONSE, .call = 2});
    says(&begin, STATUS_BUFFER_OVERFLOW, &empty, -EBADMSG, "holds nothing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shares_are_listed),
        cmocka_unit_test(test_fragments_may_be_cut_anywhere),
        cmocka_unit_test(test_a_list_in_pieces_is_asked_for_until_its_end),
        cmocka_unit_test(test_names_that_cannot_be_are_left_out),
        cmocka_unit_test(test_refusals_are_told),
        cmocka_unit_test(test_nonsense_is_told),
        cmocka_unit_test(test_answers_without_end_are_ended),
    };
    return cmocka_run_group_tests(tests, bed_set_up, bed_tear_down);
}
