/*
 * The client that reads from a server that gives less than was asked for, or more, or fails in the
 * middle. Both ways of reading, into the caller's memory and with the bytes left where they came to
 * lie, give the same: all that the file has, or an error, and never a gap.
 */
#include "bed.h"

#include <errno.h>
#include <string.h>

enum { PIECE = 65536, PIECES = 5, SIZE = PIECES * PIECE - 1234 };

static uint8_t content[SIZE], buf[SIZE + PIECE];
static struct error err;

static const struct server_node nodes[] = {
    {SERVER_ROOT,
     SERVER_NAME(u"file"),
     {.id = 11, .attributes = FILE_ATTRIBUTE_ARCHIVE},
     {.base = content, .len = SIZE}},
};

struct reading {
    struct bed bed;
    struct client_file *file;
};

static void play_rules(struct bed *b, const struct server_rule *rules, size_t count)
{
    const struct server_script s = {
        .max_read = PIECE,
        .nodes = nodes,
        .node_count = COUNT(nodes),
        .rules = rules,
        .rule_count = count,
    };
    if (b->server)
        server_play(b->server, &s);
    else
        *b = start_with(&s, 10 * NS_PER_SEC);
}

static struct reading begin(void)
{
    struct reading r = {0};
    struct file_attr attr;
    size_t len;
    bool eof;
    for (size_t i = 0; i < SIZE; i++)
        content[i] = (uint8_t)(i * 7 + i / 251);
    play_rules(&r.bed, NULL, 0);
    assert_int_equal(
        client_open(r.bed.client, "file", CLIENT_SINGLE, NULL, 0, &r.file, &attr, &len, &eof, &err),
        0);
    assert_int_equal(attr.size, SIZE);
    return r;
}

static void finish(struct reading *r)
{
    play_rules(&r->bed, NULL, 0);
    assert_int_equal(client_close(r->file, CLIENT_SINGLE, NULL, &err), 0);
    no_open_is_left(&r->bed);
    stop(&r->bed);
}

/* The server has answered what was given up, too. */
static unsigned requests_of(struct reading *r)
{
    assert_int_equal(client_echo(r->bed.client, &err), 0);
    return server_count(r->bed.server, SMB2_READ);
}

/* Both ways under the same rules. `expected`: bytes, or the error. Returns the requests of one. */
static unsigned read_under(struct reading *r, const struct server_rule *rules, size_t count,
                           size_t len, uint64_t offset, int64_t expected)
{
    struct bytes bytes = {0};
    play_rules(&r->bed, rules, count);
    memset(buf, 0, sizeof(buf));
    int64_t n = client_read(r->file, buf, len, offset, &err);
    assert_int_equal(n, expected);
    if (n > 0)
        assert_memory_equal(buf, content + offset, (size_t)n);
    unsigned requests = requests_of(r);

    play_rules(&r->bed, rules, count);
    n = client_read_bytes(r->file, len, offset, &bytes, &err);
    assert_int_equal(n < 0 ? n : (int64_t)bytes.len, expected);
    if (bytes.len)
        assert_memory_equal(bytes.data, content + offset, bytes.len);
    if (n < 0)
        assert_true(!bytes.data && !bytes.owner && err.code == n);
    bytes_done(&bytes);
    assert_int_equal(requests_of(r), requests);
    return requests;
}

static void test_what_one_request_carries_takes_one(void **state)
{
    struct reading r = begin();
    assert_int_equal(read_under(&r, NULL, 0, PIECE, 0, PIECE), 1);
    assert_int_equal(read_under(&r, NULL, 0, 1, 12345, 1), 1);
    assert_int_equal(read_under(&r, NULL, 0, PIECE - 1, PIECE + 3, PIECE - 1), 1);
    assert_int_equal(read_under(&r, NULL, 0, PIECE, SIZE - 100, 100), 1);
    assert_int_equal(read_under(&r, NULL, 0, PIECE, SIZE, 0), 1);
    assert_int_equal(read_under(&r, NULL, 0, 0, 0, 0), 0);
    finish(&r);
}

static void test_what_is_longer_is_put_together_of_pieces(void **state)
{
    struct reading r = begin();
    assert_int_equal(read_under(&r, NULL, 0, PIECE + 1, 0, PIECE + 1), 2);
    assert_int_equal(read_under(&r, NULL, 0, SIZE, 0, SIZE), PIECES);
    assert_int_equal(read_under(&r, NULL, 0, SIZE - 77, 77, SIZE - 77), PIECES);
    read_under(&r, NULL, 0, SIZE + PIECE, 0, SIZE);
    finish(&r);
}

static void test_an_answer_that_is_short_within_the_file_leaves_no_gap(void **state)
{
    struct reading r = begin();
    for (unsigned nth = 1; nth <= PIECES; nth++) {
        const struct server_rule some[] = {{SMB2_READ, nth, SERVER_ANYWHERE, SERVER_COUNT, 1000}};
        read_under(&r, some, 1, SIZE, 0, SIZE);
        read_under(&r, some, 1, PIECE, 5, PIECE);
        read_under(&r, some, 1, PIECE, SIZE - 1500, 1500);
    }
    static const struct server_rule always[] = {
        {SMB2_READ, 0, SERVER_ANYWHERE, SERVER_COUNT, 30000}};
    assert_int_equal(read_under(&r, always, 1, 60000, 5, 60000), 2);
    finish(&r);
}

static void test_an_answer_longer_than_asked_for_is_not_believed(void **state)
{
    static const struct server_rule more[] = {{SMB2_READ, 1, SERVER_ANYWHERE, SERVER_COUNT, 20001}};
    struct reading r = begin();
    read_under(&r, more, 1, 20000, 0, -EBADMSG);
    finish(&r);
}

static void test_the_error_of_any_piece_is_the_reads(void **state)
{
    struct reading r = begin();
    for (unsigned nth = 1; nth <= 3; nth++) {
        const struct server_rule fails[] = {
            {SMB2_READ, nth, SERVER_ANYWHERE, SERVER_FAIL, (uint32_t)STATUS_ACCESS_DENIED}};
        read_under(&r, fails, 1, 3 * PIECE, 0, -EACCES);
        read_under(&r, fails, 1, PIECE, 0, nth == 1 ? -EACCES : PIECE);
    }
    /* also behind a short answer, where something has come already */
    static const struct server_rule both[] = {
        {SMB2_READ, 1, SERVER_ANYWHERE, SERVER_COUNT, 1000},
        {SMB2_READ, 2, SERVER_ANYWHERE, SERVER_FAIL, (uint32_t)STATUS_ACCESS_DENIED}};
    read_under(&r, both, 2, PIECE, 0, -EACCES);
    finish(&r);
}

static void test_bytes_stay_what_they_are_until_they_are_given_back(void **state)
{
    enum { HELD = 40 }; /* more than the connection keeps frames */
    struct bytes held[HELD];
    struct reading r = begin();
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < HELD; i++)
            assert_int_equal(client_read_bytes(r.file, PIECE, i * 1000 + round, &held[i], &err), 0);
        for (unsigned i = 0; i < HELD; i++) {
            assert_int_equal(held[i].len, PIECE);
            assert_memory_equal(held[i].data, content + i * 1000 + round, PIECE);
            bytes_done(&held[i]);
            bytes_done(&held[i]); /* once is enough, twice harms nobody */
        }
    }
    finish(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_one_request_carries_takes_one),
        cmocka_unit_test(test_what_is_longer_is_put_together_of_pieces),
        cmocka_unit_test(test_an_answer_that_is_short_within_the_file_leaves_no_gap),
        cmocka_unit_test(test_an_answer_longer_than_asked_for_is_not_believed),
        cmocka_unit_test(test_the_error_of_any_piece_is_the_reads),
        cmocka_unit_test(test_bytes_stay_what_they_are_until_they_are_given_back),
    };
    return cmocka_run_group_tests(tests, bed_set_up, bed_tear_down);
}
