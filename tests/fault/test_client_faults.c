/*
 * The client against a server that misbehaves: refusals that it has to work around and remember,
 * answers in odd packings, silence, too few credits, hang-ups at every byte of a session, and
 * garbage. Each must end in the right answer or in an error that says what happened, with no open
 * left on the server and no request waiting forever.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/ntstatus.h"
#include "client/client.h"
#include "observe/observe.h"
#include "server/server.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

enum { DIR_LIB, FILE_A, DIR_MANY, DIR_ODD, FIXED_NODES = 20, MANY = 3000 };

static struct server_node nodes[FIXED_NODES + MANY] = {
    [DIR_LIB] = {SERVER_ROOT,
                 SERVER_NAME(u"lib"),
                 {.id = 10, .attributes = FILE_ATTRIBUTE_DIRECTORY}},
    [FILE_A] = {DIR_LIB,
                SERVER_NAME(u"a.py"),
                {.id = 11, .attributes = FILE_ATTRIBUTE_ARCHIVE},
                SERVER_CONTENT("print('a')\n")},
    [DIR_MANY] = {SERVER_ROOT,
                  SERVER_NAME(u"many"),
                  {.id = 12, .attributes = FILE_ATTRIBUTE_DIRECTORY}},
    [DIR_ODD] = {SERVER_ROOT,
                 SERVER_NAME(u"odd"),
                 {.id = 13, .attributes = FILE_ATTRIBUTE_DIRECTORY}},
    {DIR_ODD, SERVER_NAME(u"good"), {.id = 20}},
    {DIR_ODD, SERVER_NAME(u"sl/ash"), {.id = 21}},
    {DIR_ODD, SERVER_NAME(u"back\\slash"), {.id = 22}},
    {DIR_ODD, SERVER_NAME(u"nu\0l"), {.id = 23}},
    {DIR_ODD, SERVER_NAME(u".."), {.id = 24}},
    {DIR_ODD, SERVER_NAME(u"."), {.id = 25}},
    {DIR_ODD, SERVER_NAME(u"..."), {.id = 26}},
    {DIR_ODD, SERVER_NAME(u"trailing. "), {.id = 27}},
    {DIR_ODD, SERVER_NAME(u"last"), {.id = 28}},
};
static uint16_t many_names[MANY][8];

static struct observe *observe;

/* ---- client and server ---- */

struct bed {
    struct server *server;
    struct client *client;
};

static struct server_script plain_script(void)
{
    return (struct server_script){.nodes = nodes, .node_count = COUNT(nodes)};
}

static struct client_options options(const struct server *s)
{
    return (struct client_options){
        .host = "127.0.0.1",
        .port = server_port(s),
        .share = "share",
        .guest = true,
        .dialect_min = 0x0202,
        .dialect_max = 0x0311,
        .request_timeout_ns = 5 * NS_PER_SEC,
        .observe = observe,
    };
}

static struct bed start_with(const struct server_script *script, uint64_t request_timeout)
{
    struct bed b = {.server = server_new(script)};
    struct error err = {0};
    assert_non_null(b.server);
    struct client_options o = options(b.server);
    o.request_timeout_ns = request_timeout;
    if (client_connect(&o, &b.client, &err) < 0)
        fail_msg("%s", err.text);
    return b;
}

static struct bed start(void)
{
    const struct server_script script = plain_script();
    return start_with(&script, 5 * NS_PER_SEC);
}

/* From now on the server plays by these rules. */
static void play(struct bed *b, const struct server_rule *rules, size_t count)
{
    struct server_script script = plain_script();
    script.rules = rules;
    script.rule_count = count;
    server_play(b->server, &script);
}

static void stop(struct bed *b)
{
    client_free(b->client);
    server_free(b->server);
}

/* What nobody waits for may take a moment. */
static void no_open_is_left(struct bed *b)
{
    for (int i = 0; i < 200 && server_opens(b->server); i++)
        usleep(10000);
    assert_int_equal(server_opens(b->server), 0);
}

static struct observe_counts counts(void)
{
    struct observe_counts c;
    observe_read(observe, &c);
    return c;
}

/* ---- operations that know the right answer ---- */

static int stat_a(struct client *c, struct error *err)
{
    struct file_attr attr = {0};
    char spelling[CLIENT_NAME_MAX] = "?";
    int r = client_stat(c, "lib/A.PY", CLIENT_COMPOUND, &attr, spelling, err);
    if (r == 0) {
        assert_int_equal(attr.id, 11);
        assert_int_equal(attr.size, 11);
        assert_string_equal(spelling, "a.py");
    }
    return r;
}

struct names {
    unsigned count;
    bool many[MANY];
    char text[400];
};

static int note_name(void *user, const char *name, size_t len, const struct file_attr *attr,
                     size_t wire_bytes)
{
    struct names *n = user;
    unsigned i;
    n->count++;
    if (sscanf(name, "n%u", &i) == 1 && i < MANY) {
        assert_false(n->many[i]);
        n->many[i] = true;
    } else {
        snprintf(n->text + strlen(n->text), sizeof(n->text) - strlen(n->text), "%s|", name);
    }
    return 0;
}

static int list_many(struct client *c, enum client_style style, struct error *err)
{
    struct names *n = calloc(1, sizeof(*n));
    struct client_list_result result = {0};
    int r = client_list(c, "many", "*", style, false, note_name, n, &result, err);
    if (r == 0) {
        assert_int_equal(n->count, MANY);
        assert_true(result.complete);
        assert_int_equal(result.dir_attr.id, 12);
    }
    free(n);
    return r;
}

static int list_lib(struct client *c, struct error *err)
{
    struct names n = {0};
    struct client_list_result result = {0};
    int r = client_list(c, "lib", "*", CLIENT_COMPOUND, false, note_name, &n, &result, err);
    if (r == 0) {
        assert_string_equal(n.text, "a.py|");
        assert_true(result.complete);
    }
    return r;
}

static int read_a(struct client *c, enum client_style close_style, struct error *err)
{
    struct client_file *f;
    struct file_attr attr;
    char buf[64];
    size_t len;
    bool eof;
    int r =
        client_open(c, "lib/a.py", CLIENT_COMPOUND, buf, sizeof(buf), &f, &attr, &len, &eof, err);
    if (r < 0)
        return r;
    assert_int_equal(attr.id, 11);
    if (!eof) {
        int64_t n = client_read(f, buf + len, sizeof(buf) - len, len, err);
        r = n < 0 ? (int)n : 0;
        len += n < 0 ? 0 : (size_t)n;
    }
    if (r == 0) {
        assert_int_equal(len, 11);
        assert_memory_equal(buf, "print('a')\n", 11);
    }
    int closed = client_close(f, close_style, NULL, err);
    return r ? r : closed;
}

static int do_everything(struct client *c, struct error *err)
{
    struct client_statfs fs;
    int r = stat_a(c, err);
    if (r == 0)
        r = list_lib(c, err);
    if (r == 0)
        r = read_a(c, CLIENT_SINGLE, err);
    if (r == 0)
        r = client_statfs(c, &fs, err);
    return r;
}

static void everything_works(struct bed *b)
{
    struct error err = {0};
    if (do_everything(b->client, &err) < 0 || list_many(b->client, CLIENT_COMPOUND, &err) < 0)
        fail_msg("%s", err.text);
    no_open_is_left(b);
}

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
        script.rules = fail;
        script.rule_count = 1;
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

/* ---- credits ---- */

static void test_one_credit_at_a_time_is_enough(void **state)
{
    static const struct server_rule stingy[] = {{SERVER_ANY, 0, SERVER_ANYWHERE, SERVER_GRANT, 1}};
    struct server_script script = plain_script();
    script.rules = stingy;
    script.rule_count = 1;
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

static void test_a_flood_of_credits_does_not_wrap(void **state)
{
    static const struct server_rule flood[] = {
        {SERVER_ANY, 0, SERVER_ANYWHERE, SERVER_GRANT, 65535}};
    struct bed b = start();
    play(&b, flood, 1);
    for (int i = 0; i < 20; i++)
        everything_works(&b);
    stop(&b);
}

/* ---- silence and late answers ---- */

static void test_silence_ends_at_the_deadline_with_a_cancel(void **state)
{
    static const struct server_rule silent[] = {
        {SMB2_QUERY_INFO, 0, SERVER_ANYWHERE, SERVER_SILENT, 0}};
    const struct server_script script = plain_script();
    struct bed b = start_with(&script, NS_PER_SEC / 10);
    struct error err = {0};
    play(&b, silent, 1);
    assert_int_equal(stat_a(b.client, &err), -ETIMEDOUT);
    assert_non_null(strstr(err.text, "stat //127.0.0.1/share/lib/A.PY: no answer"));
    play(&b, NULL, 0);
    assert_int_equal(do_everything(b.client, &err), 0); /* the connection goes on */
    stop(&b);
}

static void test_an_open_whose_read_is_never_answered_is_closed(void **state)
{
    static const struct server_rule silent[] = {{SMB2_READ, 0, SERVER_ANYWHERE, SERVER_SILENT, 0}};
    const struct server_script script = plain_script();
    struct bed b = start_with(&script, NS_PER_SEC / 10);
    play(&b, silent, 1);
    assert_int_equal(read_a(b.client, CLIENT_SINGLE, NULL), -ETIMEDOUT);
    no_open_is_left(&b);
    assert_int_equal(server_count(b.server, SMB2_CANCEL), 1);
    stop(&b);
}

static void test_an_open_that_succeeds_too_late_is_closed(void **state)
{
    static const struct server_rule late[] = {{SMB2_CREATE, 1, SERVER_ANYWHERE, SERVER_DELAY, 400}};
    const struct server_script script = plain_script();
    struct bed b = start_with(&script, NS_PER_SEC / 10);
    play(&b, late, 1);
    assert_int_equal(read_a(b.client, CLIENT_SINGLE, NULL), -ETIMEDOUT);
    usleep(500 * 1000);
    assert_int_equal(server_count(b.server, SMB2_CREATE), 1);
    no_open_is_left(&b);
    assert_int_equal(do_everything(b.client, NULL), 0);

    play(&b, late, 1); /* a compound that closes its open itself needs no second CLOSE */
    assert_int_equal(stat_a(b.client, NULL), -ETIMEDOUT);
    usleep(500 * 1000);
    no_open_is_left(&b);
    assert_int_equal(server_count(b.server, SMB2_CLOSE), 1);
    stop(&b);
}

static void test_a_close_that_failed_in_a_compound_is_sent_again(void **state)
{
    static const struct server_rule fail[] = {
        {SMB2_CLOSE, 1, SERVER_ANYWHERE, SERVER_FAIL, STATUS_NO_MORE_FILES}};
    struct bed b = start();
    play(&b, fail, 1);
    assert_int_equal(stat_a(b.client, NULL), 0);
    no_open_is_left(&b);
    assert_int_equal(server_count(b.server, SMB2_CLOSE), 2);
    stop(&b);
}

/* ---- the end of the connection ---- */

struct lost {
    atomic_uint calls;
    struct error why;
};

static void note_lost(void *user, const struct error *why)
{
    struct lost *l = user;
    l->why = *why;
    atomic_fetch_add(&l->calls, 1);
}

static void test_a_lost_connection_is_told_once_and_fails_what_follows(void **state)
{
    const struct server_script script = plain_script();
    struct server *s = server_new(&script);
    struct client_options o = options(s);
    struct lost lost = {0};
    struct client *c;
    struct error err = {0};
    o.events = (struct conn_events){note_lost, &lost};
    assert_int_equal(client_connect(&o, &c, &err), 0);
    server_disconnect(s);
    for (int i = 0; i < 300 && !atomic_load(&lost.calls); i++)
        usleep(10000);
    assert_int_equal(atomic_load(&lost.calls), 1);
    assert_string_equal(lost.why.text, "the server closed the connection");
    assert_int_equal(stat_a(c, &err), -ECONNRESET);
    assert_string_equal(err.text,
                        "stat //127.0.0.1/share/lib/A.PY: the server closed the connection");
    client_free(c);
    assert_int_equal(atomic_load(&lost.calls), 1);

    assert_int_equal(client_connect(&o, &c, &err), 0); /* and a wanted end is no loss */
    client_free(c);
    assert_int_equal(atomic_load(&lost.calls), 1);
    server_free(s);
}

static void test_a_dead_server_is_found_out_by_an_echo(void **state)
{
    static const struct server_rule silent[] = {{SERVER_ANY, 0, SERVER_ANYWHERE, SERVER_SILENT, 0}};
    const struct server_script script = plain_script();
    struct server *s = server_new(&script);
    struct client_options o = options(s);
    struct lost lost = {0};
    struct client *c;
    o.events = (struct conn_events){note_lost, &lost};
    o.request_timeout_ns = o.echo_interval_ns = NS_PER_SEC / 10;
    assert_int_equal(client_connect(&o, &c, NULL), 0);
    struct bed b = {s, c};
    play(&b, silent, 1);
    for (int i = 0; i < 300 && !atomic_load(&lost.calls); i++)
        usleep(10000);
    assert_int_equal(atomic_load(&lost.calls), 1);
    assert_non_null(strstr(lost.why.text, "ECHO"));
    assert_int_equal(server_count(s, SMB2_ECHO), 1);
    stop(&b);
}

/* One session whose bytes end before byte k. Whether it got through with right answers. */
static bool session_with(struct server *s, struct error *err)
{
    struct client_options o = options(s);
    struct client *c = NULL;
    *err = (struct error){0};
    int r = client_connect(&o, &c, err);
    if (r == 0)
        r = do_everything(c, err);
    else
        assert_null(c);
    if (r < 0) {
        assert_int_equal(err->code, r);
        assert_true(strlen(err->text) > 10);
    }
    client_free(c);
    return r == 0;
}

static void test_a_hang_up_at_every_byte_of_a_session_ends_it_well(void **state)
{
    struct server_script script = plain_script();
    struct server *s = server_new(&script);
    struct error err;
    unsigned failures = 0, in_the_middle = 0;
    uint64_t started = clock_now();
    for (script.hang_up_before = 1;; script.hang_up_before++) {
        server_play(s, &script);
        if (session_with(s, &err))
            break;
        failures++;
        in_the_middle += strstr(err.text, "in the middle of a reply") != NULL;
    }
    assert_true(failures > 1000);
    assert_true(in_the_middle > failures / 2);
    print_message("%u hang-ups in %.1f s\n", failures, (double)(clock_now() - started) / 1e9);
    server_free(s);
}

/* ---- garbage ---- */

static void garbage_ends_well(const struct server_rule *rule)
{
    struct server_script script = plain_script();
    struct error err;
    script.rules = rule;
    script.rule_count = 1;
    struct server *s = server_new(&script);
    struct client_options o = options(s);
    struct client *c = NULL;
    o.request_timeout_ns = NS_PER_SEC / 5;
    int r = client_connect(&o, &c, &err);
    if (r == 0) {
        r = do_everything(c, &err);
        if (r == 0) /* it may well have been harmless */
            r = list_many(c, CLIENT_COMPOUND, &err);
    }
    if (r < 0)
        assert_true(strlen(err.text) > 10);
    client_free(c);
    server_free(s);
}

static void test_garbage_in_place_of_any_reply_ends_well(void **state)
{
    static const uint64_t lengths[] = {1, 4, 8, 63, 68, 100, 5000, 0xff0000, 0x800000, 0xff000000};
    for (unsigned nth = 1; nth <= 12; nth++) {
        struct server_rule rule = {SERVER_ANY, nth, SERVER_ANYWHERE, SERVER_BAD_PROTOCOL, 0};
        garbage_ends_well(&rule);
        rule.action = SERVER_BAD_SIGNATURE;
        garbage_ends_well(&rule);
        rule.action = SERVER_BAD_MESSAGE_ID;
        rule.value = 1;
        garbage_ends_well(&rule);
        rule.value = UINT64_MAX / 2;
        garbage_ends_well(&rule);
        rule.action = SERVER_RANDOM;
        rule.value = 300;
        garbage_ends_well(&rule);
    }
    for (size_t i = 0; i < COUNT(lengths); i++) {
        struct server_rule rule = {SMB2_NEGOTIATE, 1, SERVER_ANYWHERE, SERVER_BAD_LENGTH,
                                   lengths[i]};
        garbage_ends_well(&rule);
        rule.command = SMB2_CREATE;
        garbage_ends_well(&rule);
    }
}

static void test_garbage_is_called_by_its_name(void **state)
{
    static const struct {
        struct server_rule rule;
        const char *text;
    } cases[] = {
        {{SMB2_NEGOTIATE, 1, SERVER_ANYWHERE, SERVER_BAD_PROTOCOL, 0}, "an SMB1 message"},
        {{SMB2_NEGOTIATE, 1, SERVER_ANYWHERE, SERVER_BAD_LENGTH, 0xff0000}, "a frame of 16711680"},
        {{SMB2_NEGOTIATE, 1, SERVER_ANYWHERE, SERVER_RANDOM, 300}, "not SMB2"},
        {{SMB2_NEGOTIATE, 1, SERVER_ANYWHERE, SERVER_HANG_UP, 40}, "in the middle of a reply"},
        {{SMB2_NEGOTIATE, 1, SERVER_ANYWHERE, SERVER_BAD_MESSAGE_ID, 1}, "no answer"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct server_script script = plain_script();
        struct error err = {0};
        struct client *c;
        script.rules = &cases[i].rule;
        script.rule_count = 1;
        struct server *s = server_new(&script);
        struct client_options o = options(s);
        o.request_timeout_ns = NS_PER_SEC / 10;
        assert_true(client_connect(&o, &c, &err) < 0);
        if (!strstr(err.text, cases[i].text))
            fail_msg("\"%s\" is not in \"%s\"", cases[i].text, err.text);
        server_free(s);
    }
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

/* ---- the bed ---- */

static int set_up(void **state)
{
    const struct observe_options o = {0};
    for (unsigned i = 0; i < MANY; i++) {
        char name[16];
        int len = snprintf(name, sizeof(name), "n%06u", i);
        for (int j = 0; j < len; j++)
            many_names[i][j] = (uint16_t)name[j];
        nodes[FIXED_NODES + i] = (struct server_node){
            .parent = DIR_MANY,
            .name = {.base = (const uint8_t *)many_names[i], .len = (size_t)len * 2},
            .attr = {.id = 1000 + i},
        };
    }
    for (unsigned i = DIR_ODD + 10; i < FIXED_NODES; i++)
        nodes[i] = (struct server_node){SERVER_ROOT, SERVER_NAME(u"filler"), {.id = 99}};
    return observe_new(&o, &observe, NULL);
}

static int tear_down(void **state)
{
    observe_free(observe);
    return 0;
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
        cmocka_unit_test(test_one_credit_at_a_time_is_enough),
        cmocka_unit_test(test_no_credits_at_all_are_an_error_and_not_a_hang),
        cmocka_unit_test(test_a_flood_of_credits_does_not_wrap),
        cmocka_unit_test(test_silence_ends_at_the_deadline_with_a_cancel),
        cmocka_unit_test(test_an_open_whose_read_is_never_answered_is_closed),
        cmocka_unit_test(test_an_open_that_succeeds_too_late_is_closed),
        cmocka_unit_test(test_a_close_that_failed_in_a_compound_is_sent_again),
        cmocka_unit_test(test_a_lost_connection_is_told_once_and_fails_what_follows),
        cmocka_unit_test(test_a_dead_server_is_found_out_by_an_echo),
        cmocka_unit_test(test_a_hang_up_at_every_byte_of_a_session_ends_it_well),
        cmocka_unit_test(test_garbage_in_place_of_any_reply_ends_well),
        cmocka_unit_test(test_garbage_is_called_by_its_name),
        cmocka_unit_test(test_eight_threads_share_a_few_credits),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
