/*
 * Leases against a server that breaks them when no real one can be made to: before the reply that
 * grants, in the middle of a compound, twice, by wrong and equal epochs, for keys that nobody has.
 */
#include "leasing.h"

#include <errno.h>
#include <string.h>

/* ---- asking ---- */

static void test_a_lease_is_granted_in_the_version_of_the_dialect(void **state)
{
    static const struct {
        uint16_t dialect;
        unsigned version; /* 0: none is asked for */
        bool files, dirs;
    } cases[] = {{SMB2_DIALECT_202, 0, false, false},
                 {SMB2_DIALECT_210, 1, true, false},
                 {SMB2_DIALECT_300, 2, true, true},
                 {SMB2_DIALECT_311, 2, true, true}};
    for (unsigned i = 0; i < COUNT(cases); i++) {
        struct server_script script = leasing_script(RWH, 1);
        script.dialect = cases[i].dialect;
        struct bed b = start_leasing(&script);
        struct client_lease *l = client_lease_new(b.client, false, &b);
        struct wire_lease asked;
        assert_int_equal(client_leases_files(b.client), cases[i].files);
        assert_int_equal(client_leases_dirs(b.client), cases[i].dirs);
        assert_int_equal(client_lease_state(l), 0);

        struct client_file *f = open_by(&b, l, RWH, cases[i].files ? RWH : 0);
        assert_int_equal(client_lease_state(l), cases[i].files ? RWH : 0);
        assert_int_equal(server_last_lease(b.server, &asked), cases[i].version != 0);
        assert_int_equal(asked.version, cases[i].version);
        assert_int_equal(asked.state, cases[i].version ? RWH : 0);
        close_now(f);
        assert_int_equal(client_lease_state(l), 0); /* the promise ends with the last open */
        end_leasing(&b, l);
    }
}

static void test_without_the_capability_nothing_is_asked_for(void **state)
{
    struct server_script script = leasing_script(RWH, 1);
    script.capabilities = 0;
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, false, NULL);
    struct wire_lease asked;
    assert_false(client_leases_files(b.client));
    close_now(open_by(&b, l, RWH, 0));
    assert_false(server_last_lease(b.server, &asked));
    end_leasing(&b, l);
}

static void test_an_open_names_the_lease_of_its_directory(void **state)
{
    const struct server_script script = leasing_script(RH, 1);
    struct bed b = start_leasing(&script);
    struct client_lease *dir = client_lease_new(b.client, true, NULL),
                        *file = client_lease_new(b.client, false, NULL);
    struct client_lease_ask in_dir = {.lease = file, .parent = dir, .state = RH},
                            list = {.lease = dir, .state = RH};
    struct wire_lease first, second;
    struct client_list_result result;
    struct names names = {0};
    struct client_file *held, *f;
    struct file_attr attr;

    assert_int_equal(
        client_list_leased(b.client, "lib", &list, false, note_name, &names, &held, &result, NULL),
        0);
    assert_true(server_last_lease(b.server, &first));
    assert_int_equal(first.flags, 0);
    const struct client_how how = {.access = FILE_READ_DATA,
                                   .share = FILE_SHARE_ALL,
                                   .disposition = FILE_OPEN,
                                   .lease = &in_dir};
    assert_int_equal(client_create(b.client, "lib/a.py", &how, &f, &attr, NULL, NULL), 0);
    assert_int_equal(in_dir.ret_state, RH);
    assert_true(server_last_lease(b.server, &second));
    assert_int_equal(second.flags, SMB2_LEASE_FLAG_PARENT_LEASE_KEY_SET);
    assert_memory_equal(second.parent_key, first.key, sizeof(first.key));
    assert_memory_not_equal(second.key, first.key, sizeof(first.key));
    assert_int_equal(second.epoch, 0);
    close_now(f);

    in_dir.lease = NULL; /* the directory's own changes are told apart without a lease, too */
    in_dir.ret_state = 99;
    assert_int_equal(client_create(b.client, "lib/a.py", &how, &f, &attr, NULL, NULL), 0);
    assert_int_equal(in_dir.ret_state, 0);
    assert_true(server_last_lease(b.server, &second));
    assert_int_equal(second.state, 0);
    assert_memory_equal(second.parent_key, first.key, sizeof(first.key));
    close_now(f);
    close_now(held);
    client_lease_free(dir);
    end_leasing(&b, file);
}

static void test_all_opens_share_the_promise_until_the_last_is_closed(void **state)
{
    const struct server_script script = leasing_script(RH, 1);
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, false, NULL);
    struct client_file *one = open_by(&b, l, RH, RH), *two = open_by(&b, l, RH, RH);
    assert_int_equal(server_leases(b.server), 1);
    assert_int_equal(client_close(one, CLIENT_COMPOUND, NULL, NULL), 0);
    assert_int_equal(client_lease_state(l), RH);
    struct client_closing *closing = client_close_begin(two);
    assert_int_equal(client_lease_state(l), 0);
    assert_int_equal(client_close_end(closing, NULL, NULL), 0);
    assert_int_equal(heard.times, 0);
    end_leasing(&b, l);
}

/* ---- breaks at odd moments ---- */

static void test_a_break_that_overtakes_the_reply_takes_what_the_reply_gives(void **state)
{
    static const struct server_break breaks[] = {{0, 2, R, true}};
    static const struct server_rule rule[] = {{SMB2_CREATE, 1, SERVER_ANYWHERE, SERVER_BREAK, 0}};
    struct server_script script = leasing_script(RH, 1);
    script.breaks = breaks;
    script.break_count = 1;
    set_rule(&script, rule, NULL);
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, false, &b);
    struct client_file *f = open_by(&b, l, RH, R);
    assert_int_equal(client_lease_state(l), R);
    assert_int_equal(heard.times, 1); /* who waits for the reply is not to believe it */
    assert_ptr_equal(heard.owner, &b);
    expect_ack(&b, 0, R); /* behind the reply, by the open that is known then */
    expect_acks(&b, 1);
    close_now(f);
    end_leasing(&b, l);
}

static void test_a_break_that_overtakes_a_refusal_is_not_acknowledged(void **state)
{
    static const struct server_break breaks[] = {{0, 2, R, true}};
    static const struct server_rule rules[] = {
        {SMB2_CREATE, 1, SERVER_ANYWHERE, SERVER_BREAK, 0},
        {SMB2_CREATE, 1, SERVER_ANYWHERE, SERVER_FAIL, STATUS_SHARING_VIOLATION}};
    struct server_script script = leasing_script(RH, 1);
    script.breaks = breaks;
    script.break_count = 1;
    script.rules = rules;
    script.rule_count = 2;
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, false, &b);
    struct client_lease_ask ask = {.lease = l, .state = RH};
    struct client_file *f;
    struct file_attr attr;
    size_t len;
    bool eof;
    assert_int_equal(
        client_open_leased(b.client, "lib/a.py", &ask, NULL, 0, &f, &attr, &len, &eof, NULL),
        -EBUSY);
    expect_acks(&b, 0);
    close_now(open_by(&b, l, RH, RH)); /* and is forgotten */
    expect_acks(&b, 0);
    end_leasing(&b, l);
}

static void test_a_break_in_the_middle_of_a_compound_takes_the_listing_with_it(void **state)
{
    static const struct server_break breaks[] = {{0, 2, 0, true}};
    static const struct server_rule rule[] = {
        {SMB2_QUERY_DIRECTORY, 1, SERVER_ANYWHERE, SERVER_BREAK, 0}};
    struct server_script script = leasing_script(RH, 1);
    script.breaks = breaks;
    script.break_count = 1;
    set_rule(&script, rule, NULL);
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, true, &b);
    struct client_lease_ask ask = {.lease = l, .state = RH};
    struct client_list_result result;
    struct names names = {0};
    struct client_file *dir;
    assert_int_equal(
        client_list_leased(b.client, "lib", &ask, false, note_name, &names, &dir, &result, NULL),
        0);
    assert_string_equal(names.text, "a.py|");
    assert_int_equal(ask.ret_state, 0);
    assert_null(dir);
    assert_int_equal(client_lease_state(l), 0);
    assert_int_equal(heard.times, 1);
    assert_int_equal(heard.state, 0);
    expect_ack(&b, 0, 0);
    end_leasing(&b, l);
}

static void test_a_break_is_told_before_it_is_acknowledged(void **state)
{
    const struct server_script script = leasing_script(RWH, 1);
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, false, &b);
    struct client_file *f = open_by(&b, l, RWH, RWH);
    heard.slow = true; /* an acknowledgement before its end would be seen at its end */
    send_break(&b, (struct server_break){0, 2, R, true});
    assert_int_equal(heard.times, 1);
    assert_int_equal(heard.state, R);
    assert_int_equal(heard.acks_before, 0);
    expect_ack(&b, 0, R);
    assert_int_equal(client_lease_state(l), R);
    close_now(f);
    end_leasing(&b, l);
}

static void test_the_same_break_twice_is_told_once(void **state)
{
    const struct server_script script = leasing_script(RH, 1);
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, false, &b);
    struct client_file *f = open_by(&b, l, RH, RH);
    send_break(&b, (struct server_break){0, 2, R, true, .times = 2});
    assert_int_equal(heard.times, 1);
    expect_ack(&b, 0, R);
    assert_int_equal(client_lease_state(l), R);
    close_now(f);
    end_leasing(&b, l);
}

static void test_a_break_that_wants_no_acknowledgement_gets_none(void **state)
{
    const struct server_script script = leasing_script(R, 1);
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, false, &b);
    struct client_file *f = open_by(&b, l, RH, R);
    send_break(&b, (struct server_break){0, 2, 0, false});
    assert_int_equal(heard.times, 1);
    assert_int_equal(client_lease_state(l), 0);
    expect_acks(&b, 0);
    close_now(f);
    end_leasing(&b, l);
}

static void test_a_break_for_an_unknown_key_is_counted_and_ignored(void **state)
{
    const struct server_script script = leasing_script(RH, 1);
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, false, &b);
    struct client_file *f = open_by(&b, l, RH, RH);
    uint64_t before = counts().command[SMB2_OPLOCK_BREAK].unsolicited;
    send_break(&b, (struct server_break){SERVER_UNKNOWN_KEY, 2, 0, true});
    assert_int_equal(counts().command[SMB2_OPLOCK_BREAK].unsolicited, before + 1);
    assert_int_equal(heard.times, 0);
    assert_int_equal(client_lease_state(l), RH);
    expect_acks(&b, 0);
    close_now(f);
    end_leasing(&b, l);
}

static void test_a_break_never_gives(void **state)
{
    const struct server_script script = leasing_script(R, 1);
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, false, &b);
    struct client_file *f = open_by(&b, l, R, R);
    send_break(&b, (struct server_break){0, 2, RWH, false});
    assert_int_equal(client_lease_state(l), R);
    close_now(f);
    end_leasing(&b, l);
}

/* ---- epochs ---- */

static void test_an_epoch_tells_late_breaks_and_missing_ones_apart(void **state)
{
    const struct server_script script = leasing_script(RWH, 10);
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, false, &b);
    struct client_file *f = open_by(&b, l, RWH, RWH);
    send_break(&b, (struct server_break){0, 10, RH, true}); /* equal, but lower */
    assert_int_equal(heard.times, 1);
    assert_int_equal(client_lease_state(l), RH);
    expect_ack(&b, 0, RH);
    send_break(&b, (struct server_break){0, 10, RH, false}); /* nothing new */
    send_break(&b, (struct server_break){0, 9, RH, false});
    send_break(&b, (struct server_break){0, 11, RH, false});
    assert_int_equal(heard.times, 1);
    send_break(&b, (struct server_break){0, 13, RH, false}); /* there was one between */
    assert_int_equal(heard.times, 2);
    assert_int_equal(heard.state, RH);
    send_break(&b, (struct server_break){0, 5, R, true}); /* what is taken is gone, early or late */
    assert_int_equal(heard.times, 3);
    assert_int_equal(client_lease_state(l), R);
    expect_ack(&b, 1, R);
    close_now(f);
    end_leasing(&b, l);
}

static void test_epochs_go_round(void **state)
{
    struct server_script script = leasing_script(RWH, 65535);
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, false, &b);
    struct client_file *one = open_by(&b, l, RWH, RWH), *two, *three;
    send_break(&b, (struct server_break){0, 0, RH, true}); /* 65535 + 1 */
    assert_int_equal(client_lease_state(l), RH);
    assert_int_equal(heard.times, 1);
    expect_ack(&b, 0, RH);
    send_break(&b, (struct server_break){0, 65535, RH, false}); /* behind, not 65535 ahead */
    assert_int_equal(heard.times, 1);

    two = open_by(&b, l, RWH, RH); /* a reply of 65535, which was overtaken */
    assert_int_equal(client_lease_state(l), RH);
    script = leasing_script(RWH, 1);
    server_play(b.server, &script);
    three = open_by(&b, l, RWH, RWH); /* and one that is new */
    assert_int_equal(client_lease_state(l), RWH);
    assert_int_equal(heard.times, 1);
    close_now(one);
    close_now(two);
    close_now(three);
    end_leasing(&b, l);
}

static void test_a_reply_whose_epoch_jumped_tells_that_something_was_lost(void **state)
{
    static const struct {
        uint16_t epoch;
        unsigned state;
        bool tells;
    } replies[] = {
        {5, R, false}, {6, RH, false}, {6, RH, false}, {7, RH, true}, {9, RWH, true}, {9, RH, true},
    };
    struct server_script script = leasing_script(R, 5);
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, false, &b);
    struct client_file *f[COUNT(replies)];
    unsigned told = 0;
    for (unsigned i = 0; i < COUNT(replies); i++) {
        script = leasing_script(replies[i].state, replies[i].epoch);
        server_play(b.server, &script);
        f[i] = open_by(&b, l, RWH, replies[i].state);
        told += replies[i].tells;
        assert_int_equal(heard.times, told);
    }
    for (unsigned i = 0; i < COUNT(replies); i++)
        close_now(f[i]);

    script = leasing_script(RH, 1); /* with the last open the epochs end, too */
    server_play(b.server, &script);
    close_now(open_by(&b, l, RH, RH));
    assert_int_equal(heard.times, told);
    end_leasing(&b, l);
}

static void test_a_lease_that_is_being_broken_is_not_given_again(void **state)
{
    struct server_script script = leasing_script(RH, 1);
    struct bed b = start_leasing(&script);
    struct client_lease *l = client_lease_new(b.client, false, &b);
    struct client_file *one = open_by(&b, l, RH, RH), *two, *three;
    heard.puts_off = true;
    send_break(&b, (struct server_break){0, 2, R, true});
    heard.puts_off = false;
    script.lease.epoch = 3;
    server_play(b.server, &script);
    two = open_by(&b, l, RH, R); /* not acknowledged yet */
    client_lease_acknowledge(l);
    expect_ack(&b, 0, R);
    script.lease.epoch = 4;
    script.lease.flags = SMB2_LEASE_FLAG_BREAK_IN_PROGRESS; /* or the server says so */
    server_play(b.server, &script);
    three = open_by(&b, l, RH, R);
    close_now(one);
    close_now(two);
    close_now(three);
    end_leasing(&b, l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_lease_is_granted_in_the_version_of_the_dialect),
        cmocka_unit_test(test_without_the_capability_nothing_is_asked_for),
        cmocka_unit_test(test_an_open_names_the_lease_of_its_directory),
        cmocka_unit_test(test_all_opens_share_the_promise_until_the_last_is_closed),
        cmocka_unit_test(test_a_break_that_overtakes_the_reply_takes_what_the_reply_gives),
        cmocka_unit_test(test_a_break_that_overtakes_a_refusal_is_not_acknowledged),
        cmocka_unit_test(test_a_break_in_the_middle_of_a_compound_takes_the_listing_with_it),
        cmocka_unit_test(test_a_break_is_told_before_it_is_acknowledged),
        cmocka_unit_test(test_the_same_break_twice_is_told_once),
        cmocka_unit_test(test_a_break_that_wants_no_acknowledgement_gets_none),
        cmocka_unit_test(test_a_break_for_an_unknown_key_is_counted_and_ignored),
        cmocka_unit_test(test_a_break_never_gives),
        cmocka_unit_test(test_an_epoch_tells_late_breaks_and_missing_ones_apart),
        cmocka_unit_test(test_epochs_go_round),
        cmocka_unit_test(test_a_reply_whose_epoch_jumped_tells_that_something_was_lost),
        cmocka_unit_test(test_a_lease_that_is_being_broken_is_not_given_again),
    };
    return cmocka_run_group_tests(tests, bed_set_up, bed_tear_down);
}
