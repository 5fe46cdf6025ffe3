/*
 * The client that writes against a server that takes less than it is given, says that it took more,
 * fails in the middle, hangs up, refuses and lies. Each must end in whole data, or in an error that
 * says what happened, with no open left on the server and nothing claimed that was not written.
 */
#include "bed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 65536, PIECES = 20, SIZE = PIECES * PIECE - 1234 };

static const struct server_node nodes[] = {
    {SERVER_ROOT,
     SERVER_NAME(u"file"),
     {.id = 11, .attributes = FILE_ATTRIBUTE_ARCHIVE, .size = 1 << 30}},
    {SERVER_ROOT,
     SERVER_NAME(u"read only"),
     {.id = 12, .attributes = FILE_ATTRIBUTE_READONLY | FILE_ATTRIBUTE_HIDDEN}},
    {SERVER_ROOT, SERVER_NAME(u"dir"), {.id = 13, .attributes = FILE_ATTRIBUTE_DIRECTORY}},
};

static uint8_t data[SIZE], sink[PIECES * PIECE];
static struct error err;

/* ---- server and client ---- */

static struct server_script script(const struct server_rule *rules, size_t count)
{
    return (struct server_script){
        .max_transact = PIECE,
        .nodes = nodes,
        .node_count = COUNT(nodes),
        .rules = rules,
        .rule_count = count,
        .sink = {sink, sizeof(sink)},
    };
}

static struct bed begin(void)
{
    const struct server_script plain = script(NULL, 0);
    memset(sink, 0, sizeof(sink));
    err = (struct error){0};
    return start_with(&plain, NS_PER_SEC);
}

static void play_rules(struct bed *b, const struct server_rule *rules, size_t count)
{
    const struct server_script s = script(rules, count);
    server_play(b->server, &s);
}

static void finish(struct bed *b)
{
    play_rules(b, NULL, 0);
    no_open_is_left(b);
    stop(b);
}

static struct client_file *open_by(struct client *c, const char *name)
{
    static const struct client_how how = {
        .access = FILE_READ_DATA | FILE_WRITE_DATA | ACCESS_DELETE,
        .share = FILE_SHARE_ALL,
        .disposition = FILE_OPEN_IF,
    };
    struct client_file *f = NULL;
    struct file_attr attr;
    if (client_create(c, name, &how, &f, &attr, NULL, &err) < 0)
        fail_msg("%s", err.text);
    return f;
}

/* The sink as a server may read it that has answered everything. */
static const uint8_t *landed(struct bed *b)
{
    assert_int_equal(client_echo(b->client, &err), 0);
    return sink;
}

/* ---- data ---- */

static void write_under(const struct server_rule *rules, size_t count, int64_t expected)
{
    struct bed b = begin();
    struct client_file *f = open_by(b.client, "file");
    play_rules(&b, rules, count);
    int64_t n = client_write(f, data, SIZE, 0, &err);
    if (n != expected)
        fail_msg("%lld instead of %lld: %s", (long long)n, (long long)expected, err.text);
    if (n > 0)
        assert_memory_equal(landed(&b), data, n);
    else
        assert_true(err.code == n && strlen(err.text) > 10);
    assert_int_equal(client_close(f, CLIENT_SINGLE, NULL, &err), 0);
    finish(&b);
}

static void test_what_a_server_did_not_take_is_written_again(void **state)
{
    for (unsigned nth = 1; nth <= PIECES; nth += 3) {
        const struct server_rule some[] = {{SMB2_WRITE, nth, SERVER_ANYWHERE, SERVER_COUNT, 1000}};
        write_under(some, 1, SIZE);
    }
    static const struct server_rule always[] = {
        {SMB2_WRITE, 0, SERVER_ANYWHERE, SERVER_COUNT, 30000}};
    struct bed b = begin();
    struct client_file *f = open_by(b.client, "file");
    play_rules(&b, always, 1);
    /* the last piece is smaller than what this server says to each: see the next test */
    assert_int_equal(client_write(f, data, 6 * 30000, 0, &err), 6 * 30000);
    assert_memory_equal(landed(&b), data, 6 * 30000);
    client_close(f, CLIENT_SINGLE, NULL, NULL);
    finish(&b);
}

static void test_a_server_that_took_more_than_there_was_is_not_believed(void **state)
{
    static const uint64_t counts_told[] = {PIECE + 1, UINT32_MAX};
    for (size_t i = 0; i < COUNT(counts_told); i++) {
        const struct server_rule first[] = {
            {SMB2_WRITE, 1, SERVER_ANYWHERE, SERVER_COUNT, counts_told[i]}};
        const struct server_rule third[] = {
            {SMB2_WRITE, 3, SERVER_ANYWHERE, SERVER_COUNT, counts_told[i]}};
        write_under(first, 1, -EBADMSG);
        write_under(third, 1, 2 * PIECE);
    }
}

static void test_a_server_that_takes_nothing_is_not_asked_forever(void **state)
{
    static const struct server_rule nothing[] = {{SMB2_WRITE, 0, SERVER_ANYWHERE, SERVER_COUNT, 0}};
    static const struct server_rule later[] = {{SMB2_WRITE, 5, SERVER_ANYWHERE, SERVER_COUNT, 0}};
    write_under(nothing, 1, -EIO);
    write_under(later, 1, 4 * PIECE);
}

static void test_an_error_in_the_middle_counts_what_was_written_before(void **state)
{
    static const struct {
        uint32_t status;
        int code;
    } cases[] = {
        {STATUS_DISK_FULL, -ENOSPC},          {STATUS_QUOTA_EXCEEDED, -EDQUOT},
        {STATUS_ACCESS_DENIED, -EACCES},      {STATUS_MEDIA_WRITE_PROTECTED, -EROFS},
        {STATUS_FILE_LOCK_CONFLICT, -EAGAIN},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct server_rule all[] = {
            {SMB2_WRITE, 0, SERVER_ANYWHERE, SERVER_FAIL, cases[i].status}};
        write_under(all, 1, cases[i].code);
        for (unsigned nth = 2; nth <= PIECES; nth += 6) {
            const struct server_rule one[] = {
                {SMB2_WRITE, nth, SERVER_ANYWHERE, SERVER_FAIL, cases[i].status}};
            write_under(one, 1, (int64_t)(nth - 1) * PIECE);
        }
    }
}

static void test_nothing_is_under_way_when_a_write_has_failed(void **state)
{
    static const struct server_rule rules[] = {
        {SMB2_WRITE, 1, SERVER_ANYWHERE, SERVER_FAIL, STATUS_DISK_FULL},
        {SMB2_WRITE, 3, SERVER_ANYWHERE, SERVER_DELAY, 200},
    };
    struct bed b = begin();
    struct client_file *f = open_by(b.client, "file");
    play_rules(&b, rules, COUNT(rules));
    assert_int_equal(client_write(f, data, SIZE, 0, &err), -ENOSPC);
    uint8_t zero[100] = {0};
    assert_int_equal(client_write(f, zero, sizeof(zero), 3 * PIECE, &err), sizeof(zero));
    assert_memory_equal(landed(&b) + 3 * PIECE, zero, sizeof(zero));
    client_close(f, CLIENT_SINGLE, NULL, NULL);
    finish(&b);
}

static void test_a_server_in_haste_gets_fewer_pieces_at_a_time(void **state)
{
    for (unsigned nth = 1; nth <= PIECES; nth += 5) {
        const struct server_rule rules[] = {
            {SMB2_WRITE, nth, SERVER_ANYWHERE, SERVER_FAIL, STATUS_INSUFFICIENT_RESOURCES}};
        write_under(rules, 1, SIZE);
    }
    static const struct server_rule always[] = {
        {SMB2_WRITE, 0, SERVER_ANYWHERE, SERVER_FAIL, STATUS_INSUFFICIENT_RESOURCES}};
    write_under(always, 1, -EAGAIN);
}

static void test_few_credits_write_all_the_same(void **state)
{
    static const struct server_rule one[] = {{SERVER_ANY, 0, SERVER_ANYWHERE, SERVER_GRANT, 1}};
    struct server_script s = script(one, 1);
    struct bed b = start_with(&s, 5 * NS_PER_SEC);
    struct client_file *f = open_by(b.client, "file");
    assert_int_equal(client_write(f, data, SIZE, 0, &err), SIZE);
    assert_memory_equal(landed(&b), data, SIZE);
    client_close(f, CLIENT_SINGLE, NULL, NULL);
    finish(&b);
}

static void test_a_connection_lost_in_the_middle_claims_only_what_was_answered(void **state)
{
    for (unsigned nth = 1; nth <= PIECES; nth += 4) {
        const struct server_rule rules[] = {
            {SMB2_WRITE, nth, SERVER_ANYWHERE, SERVER_HANG_UP, nth % 50}};
        struct bed b = begin();
        struct client_file *f = open_by(b.client, "file");
        play_rules(&b, rules, 1);
        int64_t n = client_write(f, data, SIZE, 0, &err);
        /* answers on their way may be lost with the connection */
        assert_true(n < 0 ? n == err.code : n > 0 && n % PIECE == 0);
        assert_true(n <= (int64_t)(nth - 1) * PIECE);
        assert_true(client_write(f, data, SIZE, 0, &err) < 0);
        assert_true(client_flush(f, &err) < 0);
        client_close(f, CLIENT_SINGLE, NULL, NULL);
        stop(&b);
    }
}

static void test_a_write_without_an_answer_ends_at_the_deadline(void **state)
{
    static const struct server_rule silent[] = {{SMB2_WRITE, 2, SERVER_ANYWHERE, SERVER_SILENT, 0},
                                                {SMB2_FLUSH, 0, SERVER_ANYWHERE, SERVER_SILENT, 0}};
    const struct server_script plain = script(NULL, 0);
    struct bed b = start_with(&plain, NS_PER_SEC / 10);
    struct client_file *f = open_by(b.client, "file");
    play_rules(&b, silent, 2);
    assert_int_equal(client_write(f, data, SIZE, 0, &err), PIECE);
    assert_int_equal(client_flush(f, &err), -ETIMEDOUT);
    play_rules(&b, NULL, 0);
    assert_int_equal(client_write(f, data, SIZE, 0, &err), SIZE);
    assert_int_equal(client_flush(f, &err), 0);
    client_close(f, CLIENT_SINGLE, NULL, NULL);
    finish(&b);
}

/* ---- changes ---- */

static int change_everything(struct client *c)
{
    const struct client_basic basic = {.attributes = FILE_ATTRIBUTE_HIDDEN};
    struct file_attr attr;
    int r = client_set_basic(c, "file", &basic, NULL, CLIENT_COMPOUND, &attr, &err);
    if (r == 0) {
        assert_int_equal(attr.id, 11);
        r = client_set_size(c, "file", 5, NULL, CLIENT_COMPOUND, NULL, &err);
    }
    if (r == 0)
        r = client_mkdir(c, "new", NULL, CLIENT_COMPOUND, &attr, &err);
    if (r == 0)
        r = client_rename(c, "file", "new/file", true, NULL, CLIENT_COMPOUND, &attr, &err);
    if (r == 0)
        r = client_link(c, "file", "link", false, NULL, CLIENT_COMPOUND, &attr, &err);
    if (r == 0)
        r = client_remove(c, "file", false, NULL, CLIENT_COMPOUND, &err);
    if (r == 0)
        r = client_remove(c, "dir", true, NULL, CLIENT_COMPOUND, &err);
    return r;
}

static void change_or_fail(struct bed *b)
{
    if (change_everything(b->client) < 0)
        fail_msg("%s", err.text);
    no_open_is_left(b);
}

static void test_changes_are_a_frame_each(void **state)
{
    struct bed b = begin();
    play_rules(&b, NULL, 0);
    change_or_fail(&b);
    assert_int_equal(server_frames(b.server), 7);
    finish(&b);
}

static void test_a_set_info_refused_in_compounds_is_sent_alone_from_then_on(void **state)
{
    static const struct server_rule refuse[] = {
        {SMB2_SET_INFO, 0, SERVER_IN_COMPOUND, SERVER_FAIL, STATUS_INVALID_PARAMETER}};
    struct bed b = begin();
    play_rules(&b, refuse, 1);
    change_or_fail(&b);
    assert_int_equal(server_count(b.server, SMB2_SET_INFO), 6 + 1);
    play_rules(&b, refuse, 1);
    change_or_fail(&b);
    assert_int_equal(server_count(b.server, SMB2_SET_INFO), 6);
    assert_int_equal(server_frames(b.server), 6 * 3 + 1); /* mkdir has none and stays one */
    finish(&b);
}

static void test_refused_compounds_change_one_by_one(void **state)
{
    static const struct server_rule refuse[] = {
        {SERVER_ANY, 0, SERVER_IN_COMPOUND, SERVER_FAIL, STATUS_NOT_SUPPORTED}};
    struct bed b = begin();
    play_rules(&b, refuse, 1);
    change_or_fail(&b);
    assert_int_equal(server_count(b.server, SMB2_CREATE), 7 + 1);
    finish(&b);
}

/* Windows fails what is behind a failed element, too (3.3.5.2.7.2). */
static void test_an_open_whose_change_and_close_failed_is_closed(void **state)
{
    static const struct server_rule fail[] = {
        {SMB2_SET_INFO, 0, SERVER_ANYWHERE, SERVER_FAIL, STATUS_OBJECT_NAME_COLLISION},
        {SMB2_CLOSE, 1, SERVER_ANYWHERE, SERVER_FAIL, STATUS_OBJECT_NAME_COLLISION},
    };
    struct bed b = begin();
    play_rules(&b, fail, 2);
    assert_int_equal(
        client_rename(b.client, "file", "dir", false, NULL, CLIENT_COMPOUND, NULL, &err), -EEXIST);
    assert_string_equal(err.text, "rename //127.0.0.1/share/file: "
                                  "STATUS_OBJECT_NAME_COLLISION (0xC0000035)");
    no_open_is_left(&b);
    assert_int_equal(server_count(b.server, SMB2_SET_INFO), 1);
    assert_int_equal(server_count(b.server, SMB2_CLOSE), 2);
    finish(&b);
}

static void test_a_removal_that_the_close_refuses_has_failed(void **state)
{
    static const struct server_rule fail[] = {
        {SMB2_CLOSE, 1, SERVER_ANYWHERE, SERVER_FAIL, STATUS_ACCESS_DENIED}};
    struct bed b = begin();
    play_rules(&b, fail, 1);
    assert_int_equal(client_remove(b.client, "file", false, NULL, CLIENT_COMPOUND, &err), -EACCES);
    finish(&b);
}

static void remove_read_only(const struct server_rule *rules, size_t count, int expected,
                             unsigned set_infos)
{
    struct bed b = begin();
    play_rules(&b, rules, count);
    assert_int_equal(client_remove(b.client, "read only", false, NULL, CLIENT_COMPOUND, &err),
                     expected);
    no_open_is_left(&b);
    assert_int_equal(server_count(b.server, SMB2_SET_INFO), set_infos);
    finish(&b);
}

static void test_a_read_only_file_that_stays_gets_its_attribute_back(void **state)
{
    static const struct server_rule insists[] = {
        {SMB2_SET_INFO, 1, SERVER_ANYWHERE, SERVER_FAIL, STATUS_CANNOT_DELETE}};
    static const struct server_rule never[] = {
        {SMB2_SET_INFO, 1, SERVER_ANYWHERE, SERVER_FAIL, STATUS_CANNOT_DELETE},
        {SMB2_SET_INFO, 3, SERVER_ANYWHERE, SERVER_FAIL, STATUS_CANNOT_DELETE},
    };
    static const struct server_rule windows[] = {
        {SMB2_SET_INFO, 1, SERVER_ANYWHERE, SERVER_FAIL, STATUS_CANNOT_DELETE},
        {SMB2_CLOSE, 1, SERVER_ANYWHERE, SERVER_FAIL, STATUS_CANNOT_DELETE},
        {SMB2_SET_INFO, 3, SERVER_ANYWHERE, SERVER_FAIL, STATUS_CANNOT_DELETE},
        {SMB2_SET_INFO, 4, SERVER_ANYWHERE, SERVER_FAIL, STATUS_CANNOT_DELETE},
        {SMB2_CLOSE, 3, SERVER_ANYWHERE, SERVER_FAIL, STATUS_CANNOT_DELETE}, /* the 2nd: again */
    };
    static const struct server_rule not_given_back[] = {
        {SMB2_SET_INFO, 1, SERVER_ANYWHERE, SERVER_FAIL, STATUS_CANNOT_DELETE},
        {SMB2_SET_INFO, 4, SERVER_ANYWHERE, SERVER_FAIL, STATUS_DELETE_PENDING},
        {SMB2_CLOSE, 2, SERVER_ANYWHERE, SERVER_FAIL, STATUS_DELETE_PENDING},
    };
    remove_read_only(NULL, 0, 0, 1);
    remove_read_only(insists, COUNT(insists), 0, 1 + 3);
    remove_read_only(never, COUNT(never), -EACCES, 1 + 3 + 1);
    remove_read_only(windows, COUNT(windows), -EACCES, 1 + 3 + 1);
    remove_read_only(not_given_back, COUNT(not_given_back), 0, 1 + 3);
}

static void test_a_file_that_is_not_read_only_is_not_touched(void **state)
{
    static const struct server_rule cannot[] = {
        {SMB2_SET_INFO, 0, SERVER_ANYWHERE, SERVER_FAIL, STATUS_CANNOT_DELETE}};
    struct bed b = begin();
    play_rules(&b, cannot, 1);
    assert_int_equal(client_remove(b.client, "file", false, NULL, CLIENT_COMPOUND, &err), -EACCES);
    assert_int_equal(server_count(b.server, SMB2_SET_INFO), 1);
    finish(&b);
}

static void test_a_hang_up_at_every_byte_of_changes_ends_them_well(void **state)
{
    unsigned hang_ups = 0;
    bool through = false;
    for (uint64_t k = 1; !through; k += 7) {
        struct bed b = begin();
        struct server_script s = script(NULL, 0);
        s.hang_up_before = k;
        server_play(b.server, &s);
        err = (struct error){0};
        int r = change_everything(b.client);
        struct client_file *f = NULL;
        struct file_attr attr;
        static const struct client_how how = {.access = FILE_WRITE_DATA, .disposition = FILE_OPEN};
        if (r == 0)
            r = client_create(b.client, "file", &how, &f, &attr, NULL, &err);
        if (f) {
            int64_t n = client_write(f, data, 3 * PIECE, 0, &err);
            assert_true(n < 0 || n % PIECE == 0);
            r = n == 3 * PIECE ? client_close(f, CLIENT_SINGLE, NULL, &err) : -EIO;
            if (n != 3 * PIECE)
                client_close(f, CLIENT_COMPOUND, NULL, NULL);
        }
        through = r == 0;
        hang_ups += !through;
        assert_true(through || (err.code < 0 && strlen(err.text) > 10));
        stop(&b);
        assert_true(k < 20000);
    }
    assert_true(hang_ups > 100);
}

/* ---- closes on their way ---- */

static void test_a_close_on_its_way_may_never_be_answered(void **state)
{
    static const struct server_rule silent[] = {{SMB2_CLOSE, 0, SERVER_ANYWHERE, SERVER_SILENT, 0}};
    static const struct server_rule late[] = {{SMB2_CLOSE, 1, SERVER_ANYWHERE, SERVER_DELAY, 300}};
    const struct server_script plain = script(NULL, 0);
    struct bed b = start_with(&plain, NS_PER_SEC / 10);
    struct file_attr attr = {.size = 77};

    struct client_file *f = open_by(b.client, "file");
    play_rules(&b, silent, 1);
    struct client_closing *closing = client_close_begin(f);
    assert_non_null(closing);
    assert_false(client_close_answered(closing));
    assert_int_equal(client_close_end(closing, &attr, &err), -ETIMEDOUT);
    assert_int_equal(attr.size, 77);
    play_rules(&b, NULL, 0);

    f = open_by(b.client, "dir");
    play_rules(&b, late, 1);
    closing = client_close_begin(f); /* answered after it was given up */
    assert_int_equal(client_close_end(closing, NULL, &err), -ETIMEDOUT);
    usleep(400 * 1000);
    assert_int_equal(client_echo(b.client, &err), 0);

    f = open_by(b.client, "file");
    closing = client_close_begin(f);
    assert_int_equal(client_close_end(closing, &attr, &err), 0);
    assert_int_equal(attr.size, 1 << 30);

    f = open_by(b.client, "file"); /* and one whose connection ends */
    play_rules(&b, silent, 1);
    closing = client_close_begin(f);
    server_disconnect(b.server);
    assert_true(client_close_end(closing, NULL, &err) < 0);
    stop(&b);
}

static void test_a_close_without_a_credit_goes_out_later(void **state)
{
    static const struct server_rule none[] = {{SERVER_ANY, 0, SERVER_ANYWHERE, SERVER_GRANT, 0}};
    struct bed b = begin();
    struct client_file *f = open_by(b.client, "file"), *g = open_by(b.client, "dir");
    play_rules(&b, none, 1);
    unsigned echoes = 0;
    while (client_echo(b.client, NULL) == 0)
        echoes++;
    assert_true(echoes > 10);
    assert_null(client_close_begin(f)); /* nothing was left to pay with */
    assert_null(client_close_begin(g));
    assert_int_equal(server_count(b.server, SMB2_CLOSE), 0);
    stop(&b);
}

/* ---- main ---- */

static int set_up(void **state)
{
    for (size_t i = 0; i < SIZE; i++)
        data[i] = (uint8_t)(i * 2654435761u >> 13);
    return bed_set_up(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_a_server_did_not_take_is_written_again),
        cmocka_unit_test(test_a_server_that_took_more_than_there_was_is_not_believed),
        cmocka_unit_test(test_a_server_that_takes_nothing_is_not_asked_forever),
        cmocka_unit_test(test_an_error_in_the_middle_counts_what_was_written_before),
        cmocka_unit_test(test_nothing_is_under_way_when_a_write_has_failed),
        cmocka_unit_test(test_a_server_in_haste_gets_fewer_pieces_at_a_time),
        cmocka_unit_test(test_few_credits_write_all_the_same),
        cmocka_unit_test(test_a_connection_lost_in_the_middle_claims_only_what_was_answered),
        cmocka_unit_test(test_a_write_without_an_answer_ends_at_the_deadline),
        cmocka_unit_test(test_changes_are_a_frame_each),
        cmocka_unit_test(test_a_set_info_refused_in_compounds_is_sent_alone_from_then_on),
        cmocka_unit_test(test_refused_compounds_change_one_by_one),
        cmocka_unit_test(test_an_open_whose_change_and_close_failed_is_closed),
        cmocka_unit_test(test_a_removal_that_the_close_refuses_has_failed),
        cmocka_unit_test(test_a_read_only_file_that_stays_gets_its_attribute_back),
        cmocka_unit_test(test_a_file_that_is_not_read_only_is_not_touched),
        cmocka_unit_test(test_a_hang_up_at_every_byte_of_changes_ends_them_well),
        cmocka_unit_test(test_a_close_on_its_way_may_never_be_answered),
        cmocka_unit_test(test_a_close_without_a_credit_goes_out_later),
    };
    return cmocka_run_group_tests(tests, set_up, bed_tear_down);
}
