/*
 * A connection that is lost under a client that makes it again: who waits, for how long, and what
 * becomes of changes whose answer was lost.
 *
 * The scripted server hangs up before a reply, and answers the request that comes again as one that
 * had done it the first time. Or it says that it knows the session or the share no more.
 */
#include "bed.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define A_SECOND 10000000 /* of a FILETIME */
#define FIRST    (UINT64_C(3600) * 24 * 365 * A_SECOND)

static struct server_node nodes[] = {
    {SERVER_ROOT, SERVER_NAME(u"file"), {.id = 11, .written = 1}, SERVER_CONTENT("text")},
    {SERVER_ROOT, SERVER_NAME(u"fresh"), {.id = 12, .attributes = FILE_ATTRIBUTE_DIRECTORY}},
    {SERVER_ROOT,
     SERVER_NAME(u"old"),
     {.id = 13, .attributes = FILE_ATTRIBUTE_DIRECTORY, .created = 1, .written = 1}},
    {SERVER_ROOT, SERVER_NAME(u"target"), {.id = 14}},
    {SERVER_ROOT, SERVER_NAME(u"closed"), {.id = 15, .attributes = FILE_ATTRIBUTE_READONLY}},
};

static struct server_script script_with(const struct server_rule *rules, size_t count)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    nodes[1].attr.created = nodes[1].attr.written = timespec_to_filetime(now);
    return (struct server_script){
        .nodes = nodes, .node_count = COUNT(nodes), .rules = rules, .rule_count = count};
}

static struct bed connect_as(enum client_reconnect how, uint64_t timeout,
                             const struct server_rule *rules, size_t count)
{
    struct server_script script = script_with(rules, count);
    struct bed b = {.server = server_new(&script)};
    struct error err = {0};
    assert_non_null(b.server);
    struct client_options o = options(b.server);
    o.reconnect = how;
    o.request_timeout_ns = timeout;
    if (client_connect(&o, &b.client, &err) < 0)
        fail_msg("%s", err.text);
    return b;
}

/* The first CREATE is not answered, and the next one like that. */
static struct bed lost_and(uint32_t status)
{
    static struct server_rule rules[2];
    rules[0] = (struct server_rule){SMB2_CREATE, 1, SERVER_ANYWHERE, SERVER_HANG_UP, 0};
    rules[1] = (struct server_rule){SMB2_CREATE, 2, SERVER_ANYWHERE, SERVER_FAIL, status};
    return connect_as(CLIENT_SOFT, 5 * NS_PER_SEC, rules, COUNT(rules));
}

static void a_request_under_way_is_sent_again(void **state)
{
    static const struct server_rule rules[] = {
        {SMB2_CREATE, 1, SERVER_ANYWHERE, SERVER_HANG_UP, 0},
        {SMB2_CREATE, 1, SERVER_ANYWHERE, SERVER_HANG_UP, 50},
        {SMB2_CREATE, 1, SERVER_ANYWHERE, SERVER_HANG_UP, 100},
        {SMB2_CREATE, 1, SERVER_ANYWHERE, SERVER_HANG_UP, 150},
    };
    struct bed b = connect_as(CLIENT_SOFT, 5 * NS_PER_SEC, NULL, 0);
    struct file_attr attr;
    uint64_t before = counts().network[OBSERVE_REPEATED];
    for (unsigned i = 0; i < COUNT(rules); i++) {
        struct server_script script = script_with(&rules[i], 1);
        server_play(b.server, &script);
        assert_int_equal(client_stat(b.client, "file", CLIENT_COMPOUND, &attr, NULL, NULL), 0);
        assert_int_equal(attr.id, 11);
    }
    assert_int_equal(counts().network[OBSERVE_REPEATED] - before, 4);
    stop(&b);
}

static void a_removal_that_finds_nothing_the_second_time_was_done(void **state)
{
    struct bed b = lost_and(STATUS_OBJECT_NAME_NOT_FOUND);
    assert_int_equal(client_remove(b.client, "gone", false, NULL, CLIENT_COMPOUND, NULL), 0);
    assert_int_equal(client_remove(b.client, "gone", false, NULL, CLIENT_COMPOUND, NULL), -ENOENT);
    stop(&b);
}

static void what_was_made_since_is_ours_and_what_is_older_is_not(void **state)
{
    struct file_attr attr;
    struct bed b = lost_and(STATUS_OBJECT_NAME_COLLISION);
    assert_int_equal(client_mkdir(b.client, "fresh", NULL, CLIENT_COMPOUND, &attr, NULL), 0);
    assert_int_equal(attr.id, 12);
    stop(&b);
    b = lost_and(STATUS_OBJECT_NAME_COLLISION);
    assert_int_equal(client_mkdir(b.client, "old", NULL, CLIENT_COMPOUND, &attr, NULL), -EEXIST);
    stop(&b);
}

static void a_rename_is_judged_by_what_stands_at_its_target(void **state)
{
    const struct client_keys right = {.id = 14}, wrong = {.id = 11}, none = {0};
    const struct {
        const struct client_keys *keys;
        int result;
    } cases[] = {{&right, 0}, {&wrong, -ENOENT}, {&none, -EIO}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bed b = lost_and(STATUS_OBJECT_NAME_NOT_FOUND);
        struct file_attr attr = {0};
        assert_int_equal(client_rename(b.client, "was", "target", false, cases[i].keys,
                                       CLIENT_COMPOUND, &attr, NULL),
                         cases[i].result);
        stop(&b);
    }
}

/* There is another connection when this returns. */
static void reconnect(struct bed *b)
{
    uint64_t begun = clock_now(), before = counts().network[OBSERVE_RECONNECTED];
    server_disconnect(b->server);
    while (counts().network[OBSERVE_RECONNECTED] == before) {
        assert_true(clock_now() - begun < 60 * NS_PER_SEC);
        usleep(1000);
    }
}

static struct client_file *open_file(struct bed *b)
{
    struct client_file *f;
    struct file_attr attr;
    size_t len;
    bool eof;
    assert_int_equal(
        client_open(b->client, "file", CLIENT_COMPOUND, NULL, 0, &f, &attr, &len, &eof, NULL), 0);
    return f;
}

static void an_open_goes_on_where_the_file_is_the_same(void **state)
{
    struct bed b = connect_as(CLIENT_SOFT, 5 * NS_PER_SEC, NULL, 0);
    struct client_file *f = open_file(&b);
    char text[4];
    reconnect(&b);
    assert_int_equal(client_read(f, text, sizeof(text), 0, NULL), 4);
    assert_memory_equal(text, "text", 4);
    client_close(f, CLIENT_SINGLE, NULL, NULL);
    no_open_is_left(&b);
    stop(&b);
}

static void an_open_of_a_file_that_was_replaced_is_an_error_and_no_other_is(void **state)
{
    struct bed b = connect_as(CLIENT_SOFT, 5 * NS_PER_SEC, NULL, 0);
    struct client_file *f = open_file(&b);
    struct file_attr attr;
    struct error err = {0};
    char text[4];
    nodes[0].attr.id = 99;
    reconnect(&b);
    assert_int_equal(client_read(f, text, sizeof(text), 0, &err), -EIO);
    assert_non_null(strstr(err.text, "another file"));
    assert_int_equal(client_stat(b.client, "file", CLIENT_COMPOUND, &attr, NULL, NULL), 0);
    client_close(f, CLIENT_SINGLE, NULL, NULL);
    nodes[0].attr.id = 11;
    no_open_is_left(&b);
    stop(&b);
}

static struct client_file *open_to_write(struct bed *b)
{
    const struct client_how how = {.access = FILE_READ_DATA | FILE_WRITE_DATA,
                                   .share = FILE_SHARE_ALL,
                                   .disposition = FILE_OPEN};
    struct client_file *f;
    struct file_attr attr;
    assert_int_equal(client_create(b->client, "file", &how, &f, &attr, NULL, NULL), 0);
    return f;
}

/* What a client reads by its open, after the connection was lost and all times of the file, the
 * creation time included, are `at`. Before, all were FIRST, but for the creation time. */
static int64_t read_once_times_are(uint64_t at, uint64_t created, bool writes)
{
    struct file_attr was = nodes[0].attr, *a = &nodes[0].attr;
    a->accessed = a->written = a->changed = FIRST;
    a->created = created;
    struct bed b = connect_as(CLIENT_SOFT, 5 * NS_PER_SEC, NULL, 0);
    struct client_file *f = writes ? open_to_write(&b) : open_file(&b);
    char text[4];
    a->created = a->accessed = a->written = a->changed = at;
    reconnect(&b);
    int64_t n = client_read(f, text, sizeof(text), 0, NULL);
    client_close(f, CLIENT_SINGLE, NULL, NULL);
    no_open_is_left(&b);
    stop(&b);
    *a = was;
    return n;
}

static uint64_t in_an_hour(int hours)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return timespec_to_filetime(now) + (uint64_t)(hours * 3600LL * A_SECOND);
}

static void a_creation_time_that_moves_ends_no_open_that_was_there(void **state)
{
    assert_int_equal(read_once_times_are(in_an_hour(-1), FIRST, false), 4);
    assert_int_equal(read_once_times_are(in_an_hour(-1), FIRST, true), 4);
}

static void what_may_be_made_since_is_read_on_and_not_written(void **state)
{
    assert_int_equal(read_once_times_are(in_an_hour(1), FIRST, false), 4);
    assert_int_equal(read_once_times_are(in_an_hour(1), FIRST, true), -EIO);
}

static void a_creation_time_that_does_not_move_tells_another_file(void **state)
{
    assert_int_equal(read_once_times_are(in_an_hour(1), FIRST - 1, false), -EIO);
}

static void an_open_that_the_server_has_closed_is_opened_again(void **state)
{
    static const struct server_rule closed[] = {
        {SMB2_READ, 1, SERVER_ANYWHERE, SERVER_FAIL, STATUS_FILE_CLOSED},
        {SMB2_QUERY_INFO, 1, SERVER_ANYWHERE, SERVER_FAIL, STATUS_FILE_CLOSED},
    };
    struct bed b = connect_as(CLIENT_SOFT, 5 * NS_PER_SEC, NULL, 0);
    struct server_script script = script_with(closed, COUNT(closed));
    struct client_file *f = open_file(&b);
    struct file_attr attr = {0};
    struct error err = {0};
    char text[4];
    uint64_t reopened = counts().network[OBSERVE_REOPENED], lost = counts().network[OBSERVE_LOST];
    server_play(b.server, &script);
    assert_int_equal(client_read(f, text, sizeof(text), 0, &err), 4);
    assert_memory_equal(text, "text", 4);
    assert_int_equal(client_file_stat(f, &attr, &err), 0);
    assert_int_equal(attr.id, 11);
    assert_int_equal(counts().network[OBSERVE_REOPENED] - reopened, 2);
    assert_int_equal(counts().network[OBSERVE_LOST], lost);
    client_close(f, CLIENT_SINGLE, NULL, NULL);
    stop(&b);
}

static void where_another_file_has_its_name_then_it_is_an_error_and_no_other_open_is(void **state)
{
    static const struct server_rule closed = {SMB2_READ, 1, SERVER_ANYWHERE, SERVER_FAIL,
                                              STATUS_FILE_CLOSED};
    struct bed b = connect_as(CLIENT_SOFT, 5 * NS_PER_SEC, NULL, 0);
    struct server_script script = script_with(&closed, 1);
    struct client_file *f = open_file(&b), *other = open_file(&b);
    struct error err = {0};
    char text[4];
    nodes[0].attr.id = 99;
    server_play(b.server, &script);
    assert_int_equal(client_read(f, text, sizeof(text), 0, &err), -EIO);
    assert_non_null(strstr(err.text, "another file"));
    assert_int_equal(client_read(f, text, sizeof(text), 0, &err), -EIO);
    assert_int_equal(client_read(other, text, sizeof(text), 0, &err), 4);
    client_close(f, CLIENT_SINGLE, NULL, NULL);
    client_close(other, CLIENT_SINGLE, NULL, NULL);
    nodes[0].attr.id = 11;
    stop(&b);
}

static void a_server_that_closes_every_open_is_an_error_in_the_end(void **state)
{
    static const struct server_rule closed = {SMB2_READ, 0, SERVER_ANYWHERE, SERVER_FAIL,
                                              STATUS_FILE_CLOSED};
    struct bed b = connect_as(CLIENT_SOFT, 5 * NS_PER_SEC, NULL, 0);
    struct server_script script = script_with(&closed, 1);
    struct client_file *f = open_file(&b);
    struct error err = {0};
    char text[4];
    server_play(b.server, &script);
    assert_true(client_read(f, text, sizeof(text), 0, &err) < 0);
    assert_int_equal(err.status, STATUS_FILE_CLOSED);
    assert_true(server_count(b.server, SMB2_READ) <= 4);
    client_close(f, CLIENT_SINGLE, NULL, NULL);
    stop(&b);
}

/* What the server is asked: the open, what the file is, READONLY off, the open, READONLY on. */
static void an_open_for_writing_of_a_read_only_file_goes_on(void **state)
{
    static const struct server_rule refused = {SMB2_CREATE, 1, SERVER_ANYWHERE, SERVER_FAIL,
                                               STATUS_ACCESS_DENIED};
    const struct client_how how = {
        .access = 0x0012019f, .share = 7, .disposition = FILE_OPEN, .options = 0};
    struct bed b = connect_as(CLIENT_SOFT, 5 * NS_PER_SEC, NULL, 0);
    struct server_script script = script_with(&refused, 1);
    struct client_file *f;
    struct file_attr attr;
    uint64_t reopened = counts().network[OBSERVE_REOPENED];
    assert_int_equal(client_create(b.client, "closed", &how, &f, &attr, NULL, NULL), 0);
    server_play(b.server, &script);
    reconnect(&b);
    assert_int_equal(counts().network[OBSERVE_REOPENED] - reopened, 1);
    assert_int_equal(client_write(f, "text", 4, 0, NULL), 4);
    assert_int_equal(server_count(b.server, SMB2_CREATE), 5);
    assert_int_equal(server_count(b.server, SMB2_SET_INFO), 2);
    client_close(f, CLIENT_SINGLE, NULL, NULL);
    no_open_is_left(&b);
    stop(&b);
}

static void go_away(struct bed *b)
{
    bool stands = true;
    server_stay_away(b->server, true);
    for (uint64_t begun = clock_now(); stands; usleep(1000)) {
        client_losses(b->client, &stands);
        assert_true(clock_now() - begun < 60 * NS_PER_SEC);
    }
}

static void who_waits_softly_is_told_what_decides_for_how_long(void **state)
{
    struct bed b = connect_as(CLIENT_SOFT, NS_PER_SEC, NULL, 0);
    struct file_attr attr;
    struct error err = {0};
    go_away(&b);
    uint64_t begun = clock_now();
    assert_int_equal(client_stat(b.client, "file", CLIENT_COMPOUND, &attr, NULL, &err), -EHOSTDOWN);
    assert_true(clock_now() - begun < 3 * NS_PER_SEC);
    assert_non_null(strstr(err.text, "//127.0.0.1/share/file"));
    assert_non_null(strstr(err.text, "timeo=10"));
    server_stay_away(b.server, false);
    while (client_stat(b.client, "file", CLIENT_COMPOUND, &attr, NULL, &err) < 0)
        assert_true(clock_now() - begun < 60 * NS_PER_SEC);
    stop(&b);
}

static void play_rules(struct bed *b, const struct server_rule *rules, size_t count)
{
    struct server_script script = script_with(rules, count);
    server_play(b->server, &script);
}

/* It is counted a moment after everybody may send. */
static void was_made_again(uint64_t times)
{
    uint64_t begun = clock_now();
    while (counts().network[OBSERVE_RECONNECTED] < times) {
        assert_true(clock_now() - begun < 60 * NS_PER_SEC);
        usleep(1000);
    }
    assert_int_equal(counts().network[OBSERVE_RECONNECTED], times);
}

static void a_session_or_share_that_the_server_has_ended_is_had_anew(void **state)
{
    static const uint32_t statuses[] = {STATUS_USER_SESSION_DELETED, STATUS_NETWORK_NAME_DELETED};
    for (size_t i = 0; i < COUNT(statuses); i++) {
        struct bed b = connect_as(CLIENT_SOFT, 5 * NS_PER_SEC, NULL, 0);
        struct client_file *f = open_file(&b);
        struct file_attr attr;
        char text[4];
        const struct server_rule once[] = {
            {SMB2_CREATE, 1, SERVER_ANYWHERE, SERVER_FAIL, statuses[i]},
            {SMB2_READ, 1, SERVER_ANYWHERE, SERVER_FAIL, statuses[i]}};
        play_rules(&b, once, COUNT(once));
        uint64_t before = counts().network[OBSERVE_RECONNECTED];
        assert_int_equal(client_stat(b.client, "file", CLIENT_COMPOUND, &attr, NULL, NULL), 0);
        assert_int_equal(attr.id, 11);
        was_made_again(before + 1);
        assert_int_equal(client_read(f, text, sizeof(text), 0, NULL), 4);
        was_made_again(before + 2);
        client_close(f, CLIENT_SINGLE, NULL, NULL);
        stop(&b);
    }
}

static void what_an_ended_session_refused_was_not_done(void **state)
{
    struct bed b = connect_as(CLIENT_SOFT, 5 * NS_PER_SEC, NULL, 0);
    const struct server_rule rules[] = {
        {SMB2_CREATE, 1, SERVER_ANYWHERE, SERVER_FAIL, STATUS_USER_SESSION_DELETED},
        {SMB2_CREATE, 2, SERVER_ANYWHERE, SERVER_FAIL, STATUS_OBJECT_NAME_NOT_FOUND}};
    play_rules(&b, rules, COUNT(rules));
    assert_int_equal(client_remove(b.client, "gone", false, NULL, CLIENT_COMPOUND, NULL), -ENOENT);
    stop(&b);
}

/* A bed whose user signs. The script's tables are to live as long as it. */
static struct bed connect_as_user(struct server_script *script)
{
    struct bed b;
    struct error err = {0};
    script->logon = true;
    b.server = server_new(script);
    assert_non_null(b.server);
    struct client_options o = options(b.server);
    o.guest = false;
    o.logon = CLIENT_LOGON_NTLM;
    o.user = SERVER_USER;
    o.domain = SERVER_DOMAIN;
    o.password = SERVER_PASSWORD;
    o.require_signing = true;
    o.reconnect = CLIENT_SOFT;
    if (client_connect(&o, &b.client, &err) < 0)
        fail_msg("%s", err.text);
    return b;
}

static void stat_works(struct bed *b)
{
    struct file_attr attr;
    struct error err = {0};
    if (client_stat(b->client, "file", CLIENT_COMPOUND, &attr, NULL, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(attr.id, 11);
}

/* The key went with the session: the header's flags say nothing of a signature. */
static void a_signed_session_may_be_ended_in_plain(void **state)
{
    static const struct server_alteration unsigned_reply = {
        .offset = 16, .width = 4, .how = SERVER_SET, .value = 1, .on_the_way = true};
    static const struct server_rule rules[] = {
        {SMB2_CREATE, 1, SERVER_ANYWHERE, SERVER_FAIL, STATUS_USER_SESSION_DELETED},
        {SMB2_CREATE, 1, SERVER_ANYWHERE, SERVER_ALTER, 0}};
    struct server_script script = script_with(NULL, 0);
    struct bed b = connect_as_user(&script);
    script.rules = rules;
    script.rule_count = COUNT(rules);
    script.alterations = &unsigned_reply;
    script.alteration_count = 1;
    server_play(b.server, &script);
    stat_works(&b);
    stop(&b);
}

static void a_session_that_is_ended_while_it_is_renewed_is_had_anew(void **state)
{
    static const struct server_rule rules[] = {
        {SMB2_CREATE, 1, SERVER_ANYWHERE, SERVER_FAIL, STATUS_NETWORK_SESSION_EXPIRED},
        {SMB2_SESSION_SETUP, 1, SERVER_ANYWHERE, SERVER_FAIL, STATUS_USER_SESSION_DELETED}};
    struct server_script script = script_with(NULL, 0);
    struct bed b = connect_as_user(&script);
    uint64_t before = counts().network[OBSERVE_RECONNECTED];
    script.rules = rules;
    script.rule_count = COUNT(rules);
    server_play(b.server, &script);
    stat_works(&b);
    was_made_again(before + 1);
    stop(&b);
}

static void a_server_that_ends_every_session_is_an_error_and_is_not_pressed(void **state)
{
    static const struct server_rule always = {SMB2_CREATE, 0, SERVER_ANYWHERE, SERVER_FAIL,
                                              STATUS_USER_SESSION_DELETED};
    struct bed b = connect_as(CLIENT_SOFT, 2 * NS_PER_SEC, NULL, 0);
    struct file_attr attr;
    struct error err = {0};
    play_rules(&b, &always, 1);
    uint64_t begun = clock_now();
    assert_int_equal(client_stat(b.client, "file", CLIENT_COMPOUND, &attr, NULL, &err), -EHOSTDOWN);
    assert_true(clock_now() - begun < 10 * NS_PER_SEC);
    assert_non_null(strstr(err.text, "has ended the session (STATUS_USER_SESSION_DELETED)"));
    assert_non_null(strstr(err.text, "timeo=20"));
    /* after 0, 50, 100, 200, 400 and 800 ms at least */
    assert_in_range(server_count(b.server, SMB2_SESSION_SETUP), 2, 7);
    play_rules(&b, NULL, 0);
    while (client_stat(b.client, "file", CLIENT_COMPOUND, &attr, NULL, &err) < 0)
        assert_true(clock_now() - begun < 60 * NS_PER_SEC);
    stop(&b);
}

static void *stat_it(void *user)
{
    struct bed *b = user;
    struct file_attr attr;
    return client_stat(b->client, "file", CLIENT_COMPOUND, &attr, NULL, NULL) == 0 ? b : NULL;
}

static void who_waits_hard_waits_until_the_server_is_back_or_the_client_ends(void **state)
{
    struct bed b = connect_as(CLIENT_HARD, NS_PER_SEC, NULL, 0);
    pthread_t thread;
    void *good;
    go_away(&b);
    assert_int_equal(pthread_create(&thread, NULL, stat_it, &b), 0);
    usleep(2500000); /* longer than anybody would wait softly */
    server_stay_away(b.server, false);
    pthread_join(thread, &good);
    assert_ptr_equal(good, &b);

    go_away(&b);
    assert_int_equal(pthread_create(&thread, NULL, stat_it, &b), 0);
    client_hurry(b.client, 0);
    pthread_join(thread, &good);
    uint64_t begun = clock_now();
    stop(&b);
    assert_true(clock_now() - begun < 10 * NS_PER_SEC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_under_way_is_sent_again),
        cmocka_unit_test(a_removal_that_finds_nothing_the_second_time_was_done),
        cmocka_unit_test(what_was_made_since_is_ours_and_what_is_older_is_not),
        cmocka_unit_test(a_rename_is_judged_by_what_stands_at_its_target),
        cmocka_unit_test(an_open_goes_on_where_the_file_is_the_same),
        cmocka_unit_test(an_open_of_a_file_that_was_replaced_is_an_error_and_no_other_is),
        cmocka_unit_test(a_creation_time_that_moves_ends_no_open_that_was_there),
        cmocka_unit_test(what_may_be_made_since_is_read_on_and_not_written),
        cmocka_unit_test(a_creation_time_that_does_not_move_tells_another_file),
        cmocka_unit_test(an_open_that_the_server_has_closed_is_opened_again),
        cmocka_unit_test(where_another_file_has_its_name_then_it_is_an_error_and_no_other_open_is),
        cmocka_unit_test(a_server_that_closes_every_open_is_an_error_in_the_end),
        cmocka_unit_test(an_open_for_writing_of_a_read_only_file_goes_on),
        cmocka_unit_test(a_session_or_share_that_the_server_has_ended_is_had_anew),
        cmocka_unit_test(what_an_ended_session_refused_was_not_done),
        cmocka_unit_test(a_signed_session_may_be_ended_in_plain),
        cmocka_unit_test(a_session_that_is_ended_while_it_is_renewed_is_had_anew),
        cmocka_unit_test(a_server_that_ends_every_session_is_an_error_and_is_not_pressed),
        cmocka_unit_test(who_waits_softly_is_told_what_decides_for_how_long),
        cmocka_unit_test(who_waits_hard_waits_until_the_server_is_back_or_the_client_ends),
    };
    return cmocka_run_group_tests_name("client_reconnect", tests, bed_set_up, bed_tear_down);
}
