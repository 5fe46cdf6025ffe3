/*
 * The client against a server that refuses and rations: what it has to work around and remember,
 * answers in odd packings, hostile names, and few credits. Each must end in the right answer, or in
 * an error that says what happened, with no open left on the server.
 */
#include "bed.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "client/operation.h"

/* ---- refusals ---- */

static void test_a_refused_compound_is_sent_one_by_one_from_then_on(void **state)
{
    static const uint32_t statuses[] = {STATUS_INVALID_PARAMETER, STATUS_NOT_SUPPORTED};
    for (size_t i = 0; i < COUNT(statuses); i++) {
        const struct server_rule refuse[] = {
            {SERVER_ANY, 0, SERVER_IN_COMPOUND, SERVER_FAIL, statuses[i]}};
        struct bed b = start();
        play(&b, refuse, 1);
        everything_works(&b);
        assert_int_equal(server_count(b.server, SMB2_CREATE) - 5, 1); /* one try for all five */
        stop(&b);
    }
}

static void test_elements_refused_behind_a_create_are_sent_one_by_one(void **state)
{
    static const struct server_rule refuse[] = {
        {SERVER_ANY, 0, SERVER_BEHIND, SERVER_FAIL, STATUS_INVALID_PARAMETER}};
    struct bed b = start();
    play(&b, refuse, 1);
    everything_works(&b);
    everything_works(&b);
    stop(&b);
}

static void
test_a_query_info_refused_in_compounds_is_asked_alone_and_lists_still_compound(void **state)
{
    static const struct server_rule refuse[] = {
        {SMB2_QUERY_INFO, 0, SERVER_IN_COMPOUND, SERVER_FAIL, STATUS_INVALID_PARAMETER}};
    struct bed b = start();
    play(&b, refuse, 1);
    assert_int_equal(stat_a(b.client, NULL), 0);
    no_open_is_left(&b);
    play(&b, refuse, 1);
    assert_int_equal(stat_a(b.client, NULL), 0);
    assert_int_equal(server_count(b.server, SMB2_QUERY_INFO), 1);
    no_open_is_left(&b);
    play(&b, refuse, 1);
    assert_int_equal(list_lib(b.client, NULL), 0);
    no_open_is_left(&b);
    assert_int_equal(server_frames(b.server), 2); /* the compound, and its CLOSE */
    stop(&b);
}

static void test_an_error_about_the_object_teaches_nothing(void **state)
{
    static const struct server_rule refuse[] = {
        {SMB2_CREATE, 0, SERVER_ANYWHERE, SERVER_FAIL, STATUS_INVALID_PARAMETER}};
    struct bed b = start();
    struct error err;
    play(&b, refuse, 1);
    assert_int_equal(stat_a(b.client, &err), -EINVAL);
    assert_non_null(strstr(err.text, "STATUS_INVALID_PARAMETER"));
    play(&b, NULL, 0);
    assert_int_equal(stat_a(b.client, &err), 0);
    assert_int_equal(server_frames(b.server), 1); /* as a compound */
    stop(&b);
}

static void test_a_refused_buffer_size_loses_no_entry_and_is_remembered(void **state)
{
    struct server_script script = plain_script();
    struct error err = {0};
    script.max_query_directory = 65536;
    struct bed b = start_with(&script, 5 * NS_PER_SEC);
    uint64_t before = counts().command[SMB2_QUERY_DIRECTORY].errors;
    if (list_many(b.client, CLIENT_COMPOUND, &err) < 0)
        fail_msg("%s", err.text);
    uint64_t first = counts().command[SMB2_QUERY_DIRECTORY].errors - before;
    assert_int_equal(list_many(b.client, CLIENT_COMPOUND, &err), 0);
    uint64_t second = counts().command[SMB2_QUERY_DIRECTORY].errors - before - first;
    assert_true(first > second);
    assert_int_equal(list_many(b.client, CLIENT_SINGLE, &err), 0);
    no_open_is_left(&b);
    stop(&b);
}

static void test_an_error_in_the_middle_of_a_listing_is_an_error(void **state)
{
    for (unsigned nth = 1; nth <= 4; nth++) {
        const struct server_rule fail[] = {
            {SMB2_QUERY_DIRECTORY, nth, SERVER_ANYWHERE, SERVER_FAIL, STATUS_ACCESS_DENIED}};
        struct server_script script = plain_script();
        struct error err = {0};
        script.entries_per_reply = 100;
        set_rule(&script, fail, NULL);
        struct bed b = start_with(&script, 5 * NS_PER_SEC);
        assert_int_equal(list_many(b.client, CLIENT_COMPOUND, &err), -EACCES);
        assert_non_null(strstr(err.text, "list //127.0.0.1/share/many: STATUS_ACCESS_DENIED"));
        no_open_is_left(&b);
        server_play(b.server, &script);
        assert_int_equal(list_many(b.client, CLIENT_SINGLE, &err), -EACCES);
        no_open_is_left(&b);
        stop(&b);
    }
}

/* ---- odd packings ---- */

static void test_answers_in_pieces_are_put_together(void **state)
{
    static const struct server_rule pieces[] = {
        {SERVER_ANY, 0, SERVER_ANYWHERE, SERVER_OWN_FRAME, 0}};
    struct bed b = start();
    play(&b, pieces, 1);
    everything_works(&b);
    stop(&b);
}

static void test_interim_responses_keep_requests_waiting(void **state)
{
    static const struct server_rule interim[] = {
        {SERVER_ANY, 0, SERVER_ANYWHERE, SERVER_INTERIM, 0}};
    struct bed b = start();
    uint64_t before = counts().command[SMB2_CREATE].interims;
    play(&b, interim, 1);
    everything_works(&b);
    assert_int_equal(counts().command[SMB2_CREATE].interims - before,
                     server_count(b.server, SMB2_CREATE));
    stop(&b);
}

static void test_a_listing_in_many_small_parts_is_whole(void **state)
{
    struct server_script script = plain_script();
    struct error err = {0};
    script.entries_per_reply = 7;
    struct bed b = start_with(&script, 5 * NS_PER_SEC);
    if (list_many(b.client, CLIENT_COMPOUND, &err) < 0 ||
        list_many(b.client, CLIENT_SINGLE, &err) < 0)
        fail_msg("%s", err.text);
    stop(&b);
}

static void test_names_that_cannot_be_names_are_refused_and_counted(void **state)
{
    struct bed b = start();
    struct names n = {0};
    struct client_list_result result;
    uint64_t before = counts().refused_names;
    assert_int_equal(
        client_list(b.client, "odd", "*", CLIENT_COMPOUND, false, note_name, &n, &result, NULL), 0);
    assert_string_equal(n.text, "good|...|trailing. |last|");
    assert_int_equal(counts().refused_names - before, 5);
    stop(&b);
}

static void test_guests_are_served_in_every_dialect(void **state)
{
    static const uint16_t dialects[] = {0x0202, 0x0210, 0x0300, 0x0302, 0x0311};
    for (size_t i = 0; i < COUNT(dialects); i++) {
        struct server_script script = plain_script();
        struct client_facts facts;
        script.dialect = dialects[i];
        struct bed b = start_with(&script, 5 * NS_PER_SEC);
        client_facts(b.client, &facts);
        assert_int_equal(facts.dialect, dialects[i]);
        assert_true(facts.guest);
        everything_works(&b);
        stop(&b);
    }
}

static void test_the_smallest_sizes_that_may_be_agreed_are_enough(void **state)
{
    struct server_script script = plain_script();
    struct error err = {0};
    script.max_transact = script.max_read = 65536;
    struct bed b = start_with(&script, 5 * NS_PER_SEC);
    everything_works(&b);
    stop(&b);

    struct client *c;
    script.max_read = 65535;
    struct server *s = server_new(&script);
    const struct client_options o = options(s);
    assert_int_equal(client_connect(&o, &c, &err), -EPROTO);
    assert_non_null(strstr(err.text, "less than 64 KiB"));
    server_free(s);
}

/* ---- credits ---- */

static void test_one_credit_at_a_time_is_enough(void **state)
{
    static const struct server_rule stingy[] = {{SERVER_ANY, 0, SERVER_ANYWHERE, SERVER_GRANT, 1}};
    struct server_script script = plain_script();
    set_rule(&script, stingy, NULL);
    struct bed b = start_with(&script, 5 * NS_PER_SEC);
    everything_works(&b);
    stop(&b);
}

static void test_no_credits_at_all_are_an_error_and_not_a_hang(void **state)
{
    static const struct server_rule none[] = {{SERVER_ANY, 0, SERVER_ANYWHERE, SERVER_GRANT, 0}};
    struct bed b = start();
    struct error err = {0};
    int r = 0;
    play(&b, none, 1);
    for (int i = 0; i < 2000 && r == 0; i++)
        r = stat_a(b.client, &err);
    assert_int_equal(r, -EAGAIN);
    assert_non_null(strstr(err.text, "too few credits"));
    stop(&b);
}

static void test_a_flood_of_credits_is_capped(void **state)
{
    static const struct server_rule flood[] = {
        {SERVER_ANY, 0, SERVER_ANYWHERE, SERVER_GRANT, 65535}};
    struct bed b = start();
    play(&b, flood, 1);
    for (int i = 0; i < 20; i++)
        everything_works(&b);
    assert_int_equal(credit_total(b.client->conn), CREDIT_MAX);
    stop(&b);
}

/* ---- threads ---- */

static void *everything_often(void *client)
{
    struct error err = {0};
    for (int i = 0; i < 60; i++)
        if (do_everything(client, &err) < 0)
            return strdup(err.text);
    return list_many(client, CLIENT_COMPOUND, &err) < 0 ? strdup(err.text) : NULL;
}

static void test_eight_threads_share_a_few_credits(void **state)
{
    static const struct server_rule stingy[] = {{SERVER_ANY, 0, SERVER_ANYWHERE, SERVER_GRANT, 1}};
    pthread_t thread[8];
    struct bed b = start();
    play(&b, stingy, 1);
    for (size_t i = 0; i < COUNT(thread); i++)
        assert_int_equal(pthread_create(&thread[i], NULL, everything_often, b.client), 0);
    for (size_t i = 0; i < COUNT(thread); i++) {
        void *text;
        pthread_join(thread[i], &text);
        if (text)
            fail_msg("%s", (char *)text);
    }
    no_open_is_left(&b);
    stop(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_refused_compound_is_sent_one_by_one_from_then_on),
        cmocka_unit_test(test_elements_refused_behind_a_create_are_sent_one_by_one),
        cmocka_unit_test(
            test_a_query_info_refused_in_compounds_is_asked_alone_and_lists_still_compound),
        cmocka_unit_test(test_an_error_about_the_object_teaches_nothing),
        cmocka_unit_test(test_a_refused_buffer_size_loses_no_entry_and_is_remembered),
        cmocka_unit_test(test_an_error_in_the_middle_of_a_listing_is_an_error),
        cmocka_unit_test(test_answers_in_pieces_are_put_together),
        cmocka_unit_test(test_interim_responses_keep_requests_waiting),
        cmocka_unit_test(test_a_listing_in_many_small_parts_is_whole),
        cmocka_unit_test(test_names_that_cannot_be_names_are_refused_and_counted),
        cmocka_unit_test(test_guests_are_served_in_every_dialect),
        cmocka_unit_test(test_the_smallest_sizes_that_may_be_agreed_are_enough),
        cmocka_unit_test(test_one_credit_at_a_time_is_enough),
        cmocka_unit_test(test_no_credits_at_all_are_an_error_and_not_a_hang),
        cmocka_unit_test(test_a_flood_of_credits_is_capped),
        cmocka_unit_test(test_eight_threads_share_a_few_credits),
    };
    return cmocka_run_group_tests(tests, bed_set_up, bed_tear_down);
}
