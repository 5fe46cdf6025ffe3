/*
 * Watches against a server that answers CHANGE_NOTIFY with what no real one can be made to say:
 * names that are none, halves of renamings, chains that lead nowhere, lost counts, silence.
 */
#include "bed.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- what is told ---- */

struct told {
    struct server *server;
    unsigned armed; /* CHANGE_NOTIFYs that were waiting when the first change was told */
    unsigned count;
    char text[400];
};

static void note_change(void *user, enum client_action action, const char *path)
{
    static const char letters[] = "?+-~<>";
    struct told *t = user;
    for (int i = 0; t->count == 0 && i < 200 && !(t->armed = server_watches(t->server)); i++)
        usleep(5000);
    t->count++;
    size_t len = strlen(t->text);
    snprintf(t->text + len, sizeof(t->text) - len, "%c%s|", letters[action], path);
}

static struct client_watch *watch(struct bed *b)
{
    struct client_watch *w = NULL;
    struct error err = {0};
    if (client_watch_new(b->client, "lib", true, &w, &err) < 0)
        fail_msg("%s", err.text);
    return w;
}

static struct told next(struct bed *b, struct client_watch *w, bool *ret_overflow)
{
    struct told t = {.server = b->server};
    struct error err = {0};
    if (client_watch_next(w, note_change, &t, ret_overflow, &err) < 0)
        fail_msg("%s", err.text);
    return t;
}

static void refuses(const char *text, int expected, int r, const struct error *err)
{
    if (r != expected || !strstr(err->text, text))
        fail_msg("%d with \"%s\" expected, got %d \"%s\"", expected, text, r, err->text);
}

static void end(struct bed *b, struct client_watch *w)
{
    client_watch_free(w);
    everything_works(b);
    assert_int_equal(server_watches(b->server), 0);
    stop(b);
}

/* ---- changes ---- */

struct change {
    uint32_t action;
    struct rd name;
};

/* The answer that tells them. */
static void tell(struct bed *b, const struct change *changes, unsigned n)
{
    uint8_t buf[4096];
    struct wr w = wr_init(buf, sizeof(buf));
    size_t last = SIZE_MAX;
    for (unsigned i = 0; i < n; i++)
        wire_change_encode(&w, &last, &(struct wire_change){changes[i].action, changes[i].name});
    assert_true(wr_ok(&w));
    server_notify(b->server, STATUS_SUCCESS, rd_init(buf, w.pos));
}

static void test_changes_are_told_in_order_and_after_the_watch_is_armed_again(void **state)
{
    static const struct change changes[] = {
        {FILE_ACTION_ADDED, SERVER_NAME(u"new")},
        {FILE_ACTION_MODIFIED, SERVER_NAME(u"deep\\down\\file.txt")},
        {FILE_ACTION_RENAMED_OLD_NAME, SERVER_NAME(u"a\\old")},
        {FILE_ACTION_RENAMED_NEW_NAME, SERVER_NAME(u"a\\n\u00e9w")},
        {FILE_ACTION_REMOVED, SERVER_NAME(u"gone")},
    };
    struct bed b = start();
    struct client_watch *w = watch(&b);
    bool overflow = true;
    assert_int_equal(server_watches(b.server), 1);
    for (unsigned i = 0; i < 3; i++) {
        tell(&b, changes, COUNT(changes));
        struct told t = next(&b, w, &overflow);
        assert_string_equal(t.text, "+new|~deep/down/file.txt|<a/old|>a/n\u00e9w|-gone|");
        assert_int_equal(t.armed, 1);
        assert_false(overflow);
    }
    assert_int_equal(server_count(b.server, SMB2_CHANGE_NOTIFY), 4);
    end(&b, w);
}

static void test_names_that_are_none_are_refused_and_the_rest_is_told(void **state)
{
    static const struct change changes[] = {
        {FILE_ACTION_ADDED, SERVER_NAME(u"..\\..\\etc\\passwd")},
        {FILE_ACTION_ADDED, SERVER_NAME(u"good")},
        {FILE_ACTION_ADDED, SERVER_NAME(u"a\\..\\b")},
        {FILE_ACTION_ADDED, SERVER_NAME(u"sl/ash")},
        {FILE_ACTION_REMOVED, SERVER_NAME(u"nu\0l")},
        {FILE_ACTION_REMOVED, SERVER_NAME(u"\\rooted")},
        {FILE_ACTION_REMOVED, SERVER_NAME(u"double\\\\down")},
        {FILE_ACTION_REMOVED, SERVER_NAME(u"trailing\\")},
        {FILE_ACTION_MODIFIED, SERVER_NAME(u"")},
        {FILE_ACTION_MODIFIED, SERVER_NAME(u"fine")},
    };
    struct bed b = start();
    struct client_watch *w = watch(&b);
    bool overflow = true;
    uint64_t refused = counts().refused_names;
    tell(&b, changes, COUNT(changes));
    assert_string_equal(next(&b, w, &overflow).text, "+good|~fine|");
    assert_false(overflow);
    assert_int_equal(counts().refused_names - refused, 8);
    end(&b, w);
}

static void test_half_a_renaming_is_a_name_that_went_or_came(void **state)
{
    static const struct change changes[] = {
        {FILE_ACTION_RENAMED_NEW_NAME, SERVER_NAME(u"1")},
        {FILE_ACTION_RENAMED_OLD_NAME, SERVER_NAME(u"2")},
        {FILE_ACTION_RENAMED_OLD_NAME, SERVER_NAME(u"3")},
        {FILE_ACTION_RENAMED_NEW_NAME, SERVER_NAME(u"4")},
        {FILE_ACTION_RENAMED_NEW_NAME, SERVER_NAME(u"5")},
        {FILE_ACTION_RENAMED_OLD_NAME, SERVER_NAME(u"6")},
        {FILE_ACTION_RENAMED_NEW_NAME, SERVER_NAME(u"../7")},
        {FILE_ACTION_RENAMED_OLD_NAME, SERVER_NAME(u"../8")},
        {FILE_ACTION_RENAMED_NEW_NAME, SERVER_NAME(u"9")},
        {FILE_ACTION_RENAMED_OLD_NAME, SERVER_NAME(u"10")},
    };
    struct bed b = start();
    struct client_watch *w = watch(&b);
    bool overflow = true;
    tell(&b, changes, COUNT(changes));
    assert_string_equal(next(&b, w, &overflow).text, "+1|-2|<3|>4|+5|-6|+9|-10|");
    end(&b, w);
}

static void test_mapped_names_are_told_as_they_are_here(void **state)
{
    static const struct change change[] = {
        {FILE_ACTION_ADDED, SERVER_NAME(u"what\uf025\\a\uf022b\uf026c")}};
    struct bed b = start();
    struct client_options o = options(b.server);
    bool overflow;
    client_free(b.client);
    o.map_names = true;
    assert_int_equal(client_connect(&o, &b.client, NULL), 0);
    struct client_watch *w = watch(&b);
    tell(&b, change, 1);
    assert_string_equal(next(&b, w, &overflow).text, "+what?/a:b\\c|");
    end(&b, w);
}

/* ---- what says too little ---- */

static void expect_overflow(struct bed *b, struct client_watch *w)
{
    bool overflow = false;
    assert_int_equal(next(b, w, &overflow).count, 0);
    assert_true(overflow);
}

static void test_a_lost_count_is_an_overflow_and_the_watch_goes_on(void **state)
{
    static const uint8_t far[] = {100, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 'a', 0},
                         long_name[] = {0, 0, 0, 0, 1, 0, 0, 0, 200, 0, 0, 0, 'a', 0},
                         odd[] = {0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 'a', 0},
                         half[] = {0, 0, 0, 0, 1, 0};
    static const struct change stream[] = {{FILE_ACTION_ADDED, SERVER_NAME(u"good")},
                                           {6, SERVER_NAME(u"a:stream")}};
    struct bed b = start();
    struct client_watch *w = watch(&b);
    bool overflow;
    server_notify(b.server, STATUS_NOTIFY_ENUM_DIR, (struct rd){0});
    expect_overflow(&b, w);
    server_notify(b.server, STATUS_SUCCESS, (struct rd){0});
    expect_overflow(&b, w);
    server_notify(b.server, STATUS_SUCCESS, rd_init(far, sizeof(far)));
    expect_overflow(&b, w);
    server_notify(b.server, STATUS_SUCCESS, rd_init(long_name, sizeof(long_name)));
    expect_overflow(&b, w);
    server_notify(b.server, STATUS_SUCCESS, rd_init(odd, sizeof(odd)));
    expect_overflow(&b, w);
    server_notify(b.server, STATUS_SUCCESS, rd_init(half, sizeof(half)));
    expect_overflow(&b, w);
    tell(&b, stream, 2);
    expect_overflow(&b, w);
    tell(&b, stream, 1);
    assert_string_equal(next(&b, w, &overflow).text, "+good|");
    end(&b, w);
}

/* ---- the end of a watch ---- */

static void test_a_watch_that_the_server_ends_is_dead(void **state)
{
    static const struct {
        uint32_t status;
        int code;
        const char *text;
    } ends[] = {
        {STATUS_NOTIFY_CLEANUP, -ESTALE, "watch //127.0.0.1/share/lib: the server ended"},
        {STATUS_CANCELLED, -ESTALE, "the server ended the watch"},
        {STATUS_DELETE_PENDING, -ENOENT, "watch //127.0.0.1/share/lib"},
        {STATUS_ACCESS_DENIED, -EACCES, "watch //127.0.0.1/share/lib"},
    };
    for (unsigned i = 0; i < COUNT(ends); i++) {
        struct bed b = start();
        struct client_watch *w = watch(&b);
        struct told t = {.server = b.server};
        struct error err = {0};
        bool overflow;
        server_notify(b.server, ends[i].status, (struct rd){0});
        refuses(ends[i].text, ends[i].code, client_watch_next(w, note_change, &t, &overflow, &err),
                &err);
        assert_int_equal(t.count, 0);
        end(&b, w);
    }
}

struct stopper {
    struct client_watch *watch;
    pthread_t thread;
};

static void *stop_soon(void *arg)
{
    struct stopper *s = arg;
    usleep(100 * 1000);
    client_watch_stop(s->watch);
    return NULL;
}

static void test_a_watch_that_is_stopped_ends_at_once_and_for_ever(void **state)
{
    static const struct server_rule silent[] = {
        {SMB2_CANCEL, 0, SERVER_ANYWHERE, SERVER_SILENT, 0}};
    struct bed b = start();
    struct client_watch *w = watch(&b);
    struct stopper s = {.watch = w};
    struct told t = {.server = b.server};
    struct error err = {0};
    bool overflow;
    play(&b, silent, 1);
    pthread_create(&s.thread, NULL, stop_soon, &s);
    refuses("stopped", -ECANCELED, client_watch_next(w, note_change, &t, &overflow, &err), &err);
    pthread_join(s.thread, NULL);
    server_notify(b.server, STATUS_NOTIFY_ENUM_DIR, (struct rd){0});
    refuses("stopped", -ECANCELED, client_watch_next(w, note_change, &t, &overflow, &err), &err);
    play(&b, NULL, 0);
    end(&b, w);
}

static void test_a_watch_is_cancelled_and_closed_when_it_is_freed(void **state)
{
    struct bed b = start();
    struct client_watch *w = watch(&b);
    client_watch_free(w);
    no_open_is_left(&b);
    assert_int_equal(server_count(b.server, SMB2_CANCEL), 1);
    end(&b, NULL);
}

static void test_the_end_of_the_connection_ends_a_watch(void **state)
{
    struct bed b = start();
    struct client_watch *w = watch(&b);
    struct told t = {.server = b.server};
    struct error err = {0};
    bool overflow;
    server_disconnect(b.server);
    refuses("watch //127.0.0.1/share/lib: the server closed the connection", -ECONNRESET,
            client_watch_next(w, note_change, &t, &overflow, &err), &err);
    client_watch_free(w);
    stop(&b);
}

/* ---- refusals, silence, patience ---- */

static void test_a_server_without_watches_is_found_out(void **state)
{
    static const uint32_t statuses[] = {STATUS_NOT_SUPPORTED, STATUS_NOT_IMPLEMENTED,
                                        STATUS_INVALID_DEVICE_REQUEST, STATUS_INVALID_PARAMETER};
    for (unsigned i = 0; i < COUNT(statuses); i++) {
        const struct server_rule refuse[] = {
            {SMB2_CHANGE_NOTIFY, 0, SERVER_ANYWHERE, SERVER_FAIL, statuses[i]}};
        struct bed b = start();
        struct client_watch *w = NULL;
        struct error err = {0};
        play(&b, refuse, 1);
        refuses("does not tell of changes", -EOPNOTSUPP,
                client_watch_new(b.client, "lib", true, &w, &err), &err);
        assert_null(w);
        play(&b, NULL, 0);
        end(&b, NULL);
    }
}

static void test_what_cannot_be_watched_is_an_error(void **state)
{
    struct bed b = start();
    struct client_watch *w = NULL;
    struct error err = {0};
    refuses("watch //127.0.0.1/share/nowhere", -ENOENT,
            client_watch_new(b.client, "nowhere", true, &w, &err), &err);
    refuses("watch //127.0.0.1/share/lib/a.py", -ENOTDIR,
            client_watch_new(b.client, "lib/a.py", true, &w, &err), &err);
    end(&b, NULL);
}

static void test_a_watch_has_no_deadline(void **state)
{
    static const struct change change[] = {{FILE_ACTION_ADDED, SERVER_NAME(u"late")}};
    for (int quiet = 0; quiet < 2; quiet++) {
        struct server_script script = plain_script();
        script.quiet_watches = quiet;
        struct bed b = start_with(&script, NS_PER_SEC / 10);
        struct client_watch *w = watch(&b);
        bool overflow;
        usleep(400 * 1000);
        tell(&b, change, 1);
        assert_string_equal(next(&b, w, &overflow).text, "+late|");
        assert_int_equal(server_count(b.server, SMB2_CANCEL), 0);
        client_watch_free(w);
        stop(&b);
    }
}

static void test_silence_about_changes_stops_nothing_else(void **state)
{
    static const struct server_rule silent[] = {
        {SMB2_CHANGE_NOTIFY, 0, SERVER_ANYWHERE, SERVER_SILENT, 0}};
    struct bed b = start();
    struct client_watch *w;
    play(&b, silent, 1);
    w = watch(&b); /* as far as a client can know */
    assert_int_equal(do_everything(b.client, NULL), 0);
    client_watch_free(w);
    everything_works(&b);
    stop(&b);
}

static void test_a_watch_gives_its_credit_back(void **state)
{
    struct server_rule few[] = {
        {SERVER_ANY, 0, SERVER_ANYWHERE, SERVER_GRANT, 1},
        {SMB2_NEGOTIATE, 0, SERVER_ANYWHERE, SERVER_GRANT, 3},
    };
    struct server_script script = plain_script();
    script.rules = few;
    script.rule_count = 2;
    struct bed b = start_with(&script, NS_PER_SEC);
    struct client_watch *w = watch(&b);
    uint64_t trips = counts().round_trips;
    assert_int_equal(stat_a(b.client, NULL), 0); /* needs all three */
    assert_int_equal(counts().round_trips - trips, 1);
    client_watch_free(w);
    stop(&b);

    few[1].value = 2; /* nobody waits for the one that the watch will bring some day */
    b = start_with(&script, NS_PER_SEC);
    w = watch(&b);
    trips = counts().round_trips;
    assert_int_equal(stat_a(b.client, NULL), 0);
    assert_int_equal(counts().round_trips - trips, 2);
    client_watch_free(w);
    stop(&b);

    script.rule_count = 1; /* a server with a single credit is not asked */
    b = start_with(&script, NS_PER_SEC);
    struct error err = {0};
    refuses("too few credits", -EOPNOTSUPP, client_watch_new(b.client, "lib", true, &w, &err),
            &err);
    assert_int_equal(stat_a(b.client, NULL), 0);
    stop(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes_are_told_in_order_and_after_the_watch_is_armed_again),
        cmocka_unit_test(test_names_that_are_none_are_refused_and_the_rest_is_told),
        cmocka_unit_test(test_half_a_renaming_is_a_name_that_went_or_came),
        cmocka_unit_test(test_mapped_names_are_told_as_they_are_here),
        cmocka_unit_test(test_a_lost_count_is_an_overflow_and_the_watch_goes_on),
        cmocka_unit_test(test_a_watch_that_the_server_ends_is_dead),
        cmocka_unit_test(test_a_watch_that_is_stopped_ends_at_once_and_for_ever),
        cmocka_unit_test(test_a_watch_is_cancelled_and_closed_when_it_is_freed),
        cmocka_unit_test(test_the_end_of_the_connection_ends_a_watch),
        cmocka_unit_test(test_a_server_without_watches_is_found_out),
        cmocka_unit_test(test_what_cannot_be_watched_is_an_error),
        cmocka_unit_test(test_a_watch_has_no_deadline),
        cmocka_unit_test(test_silence_about_changes_stops_nothing_else),
        cmocka_unit_test(test_a_watch_gives_its_credit_back),
    };
    return cmocka_run_group_tests(tests, bed_set_up, bed_tear_down);
}
