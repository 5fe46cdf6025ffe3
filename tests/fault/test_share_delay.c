/*
 * What is written under a WRITE lease waits, and nobody can tell: it becomes few requests, it is on
 * the server before the break is acknowledged and before anything is asked that would show it, and
 * what cannot be written is told to each open that may write: once by a write or fsync, and by
 * every close until then.
 *
 * Where nothing is to leave by itself, WriteDelay is an hour.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ntstatus.h"
#include "client/client.h"
#include "server/server.h"
#include "share/share.h"
#include "share_bed.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))
#define AN_HOUR      "profile=larder,WriteDelay=3600"
#define SOON_TIRED   AN_HOUR ",timeo=10"
#define PATIENCE     (60 * NS_PER_SEC)

enum {
    MIB = 1 << 20,
    MOST = 8 * MIB, /* of a file */
    SIZE = 24 * MIB,
    RWH = CLIENT_LEASE_READ | CLIENT_LEASE_HANDLE | CLIENT_LEASE_WRITE,
    RH = CLIENT_LEASE_READ | CLIENT_LEASE_HANDLE,
    WRITERS = SHARE_READ | SHARE_WRITE | SHARE_DELAY,
};

static const struct server_node nodes[] = {
    {SERVER_ROOT, SERVER_NAME(u"d"), {.id = 2, .attributes = FILE_ATTRIBUTE_DIRECTORY}, {0}},
    {0, SERVER_NAME(u"file"), {.id = 3, .size = SIZE}, {0}},
    {0, SERVER_NAME(u"other"), {.id = 4, .size = SIZE}, {0}},
    {SERVER_ROOT, SERVER_NAME(u"e"), {.id = 5, .attributes = FILE_ATTRIBUTE_DIRECTORY}, {0}},
};

static uint8_t sink[SIZE], expected[SIZE], data[SIZE];

struct bed {
    struct server *server;
    struct share *share;
    struct share_node *dir, *node; /* references */
    struct share_file *file;
};

/* ---- a share and its file ---- */

static struct server_script script_of(unsigned lease, const struct server_rule *rules, size_t count)
{
    return (struct server_script){
        .dialect = SMB2_DIALECT_302,
        .capabilities = SMB2_GLOBAL_CAP_LEASING | SMB2_GLOBAL_CAP_DIRECTORY_LEASING,
        .lease = {.state = lease, .epoch = 1},
        .nodes = nodes,
        .node_count = COUNT(nodes),
        .rules = rules,
        .rule_count = count,
        .sink = {sink, sizeof sink},
    };
}

static struct share_node *node_of(struct share *s, const char *path)
{
    struct share_entry e;
    struct error err = {0};
    if (share_stat_path(s, path, &e, &err) < 0)
        fail_msg("%s", err.text);
    return e.node;
}

static struct share_file *opened(struct bed *b, unsigned how)
{
    struct share_file *f = NULL;
    struct error err = {0};
    if (share_open(b->share, b->node, how, &f, NULL, &err) < 0)
        fail_msg("%s", err.text);
    return f;
}

static struct bed start(const char *settings, unsigned lease)
{
    struct bed b = {0};
    struct server_script script = script_of(lease, NULL, 0);
    for (size_t i = 0; i < SIZE; i++)
        data[i] = (uint8_t)(i * 7 + i / 251);
    memset(sink, 0, sizeof sink);
    memset(expected, 0, sizeof expected);
    b.server = server_new(&script);
    b.share = share_bed_connect(b.server, settings, AS_GUEST);
    b.dir = node_of(b.share, "d");
    b.node = node_of(b.share, "d/file");
    b.file = opened(&b, WRITERS);
    return b;
}

static void stop(struct bed *b)
{
    share_close(b->share, b->file);
    share_node_unref(b->share, b->node);
    share_node_unref(b->share, b->dir);
    share_free(b->share, NULL);
    server_free(b->server);
}

/* From now on the server plays by these rules; the counts begin anew. */
static void play(struct bed *b, unsigned lease, const struct server_rule *rules, size_t count)
{
    struct server_script script = script_of(lease, rules, count);
    server_play(b->server, &script);
}

/* Also into `expected`. */
static void write_by(struct bed *b, struct share_file *f, size_t len, size_t offset)
{
    struct error err = {0};
    const uint8_t *from = data + (offset * 31 + len) % (SIZE - len);
    memcpy(expected + offset, from, len);
    if (share_write(b->share, f, from, len, offset, &err) != (int64_t)len)
        fail_msg("%s", err.text);
}

static void write_at(struct bed *b, size_t len, size_t offset)
{
    write_by(b, b->file, len, offset);
}

static unsigned writes(struct bed *b)
{
    return server_count(b->server, SMB2_WRITE);
}

static void wait_for_writes(struct bed *b, unsigned count)
{
    uint64_t begun = clock_now();
    while (writes(b) < count) {
        if (clock_now() - begun > PATIENCE)
            fail_msg("%u WRITEs rather than %u", writes(b), count);
        usleep(1000);
    }
}

static void flush(struct bed *b)
{
    assert_int_equal(share_flush(b->share, b->file, NULL), 0);
}

/* The server's thread is done with it once it has answered something else. */
static void expect_all_there(struct bed *b)
{
    struct share_statfs fs;
    share_statfs(b->share, &fs, NULL);
    assert_memory_equal(sink, expected, SIZE);
}

static int64_t waiting(struct bed *b)
{
    json_t *stats = share_stats(b->share);
    int64_t n = json_integer_value(json_object_get(json_object_get(stats, "delayed"), "waiting"));
    json_decref(stats);
    return n;
}

/* The key of the file is the last one that was asked for. */
static struct server_break break_to(struct bed *b, unsigned state)
{
    return (struct server_break){
        .lease = (int)server_leases(b->server) - 1, .epoch = 2, .state = state, .ack = true};
}

static void wait_for_ack(struct bed *b, unsigned state)
{
    int lease;
    unsigned is;
    uint64_t begun = clock_now();
    while (!server_ack(b->server, 0, &lease, &is)) {
        if (clock_now() - begun > PATIENCE)
            fail_msg("the break is not acknowledged");
        usleep(1000);
    }
    assert_int_equal(is, state);
}

/* ---- few requests ---- */

static void small_writes_become_few_requests(void **state)
{
    struct bed b = start(AN_HOUR, RWH);
    for (size_t at = 0; at < 3 * MIB + 100 * 1024; at += 4096)
        write_at(&b, 4096, at);
    wait_for_writes(&b, 3); /* what is full leaves by itself */
    assert_int_equal(writes(&b), 3);
    flush(&b);
    assert_int_equal(writes(&b), 4);
    expect_all_there(&b);
    assert_int_equal(waiting(&b), 0);
    stop(&b);
}

static void what_is_written_again_leaves_once(void **state)
{
    struct bed b = start(AN_HOUR, RWH);
    for (size_t i = 0; i < 100; i++)
        write_at(&b, 1000 + i, i * 10);
    flush(&b);
    assert_int_equal(writes(&b), 1);
    expect_all_there(&b);
    stop(&b);
}

static void a_long_write_is_not_delayed(void **state)
{
    struct bed b = start(AN_HOUR, RWH);
    write_at(&b, 100, 5 * MIB - 50);
    write_at(&b, 5 * MIB, 0); /* over what waits */
    assert_int_equal(waiting(&b), 0);
    expect_all_there(&b);
    stop(&b);
}

static void it_leaves_after_WriteDelay(void **state)
{
    struct bed b = start("profile=larder,WriteDelay=1", RWH);
    uint64_t begun = clock_now();
    write_at(&b, 100, 0);
    assert_true(writes(&b) == 0 || clock_now() - begun >= NS_PER_SEC);
    wait_for_writes(&b, 1);
    assert_true(clock_now() - begun >= NS_PER_SEC);
    expect_all_there(&b);
    stop(&b);
}

static void expect_no_delay(const char *settings, unsigned lease, unsigned how)
{
    struct bed b = start(settings, lease);
    struct share_file *f = opened(&b, how);
    play(&b, lease, NULL, 0);
    write_by(&b, f, 100, 0);
    assert_int_equal(writes(&b), 1);
    write_by(&b, f, 100, 100);
    assert_int_equal(writes(&b), 2);
    expect_all_there(&b);
    share_close(b.share, f);
    stop(&b);
}

static void nothing_is_delayed_without_a_promise_or_a_wish(void **state)
{
    expect_no_delay(AN_HOUR, RH, WRITERS);
    expect_no_delay(AN_HOUR ",Leases=false", RWH, WRITERS);
    expect_no_delay("profile=larder,WriteDelay=0", RWH, WRITERS);
    expect_no_delay(AN_HOUR, RWH, SHARE_READ | SHARE_WRITE);
    expect_no_delay("profile=off", RWH, WRITERS);
}

/* The third lies in both of the others. */
static void a_write_over_the_beginning_of_another_comes_after_it(void **state)
{
    struct bed b = start(AN_HOUR, RWH);
    write_at(&b, 1000, 1000);
    write_at(&b, 1000, 500);
    assert_int_equal(writes(&b), 1);
    write_at(&b, 100, 1100);
    flush(&b);
    assert_int_equal(writes(&b), 2);
    expect_all_there(&b);
    stop(&b);
}

/* Against a plain array; the server answers slowly, so that pieces are under way meanwhile. */
static void random_writes_leave_the_last_word(void **state)
{
    static const struct server_rule slow[] = {{SMB2_WRITE, 0, SERVER_ANYWHERE, SERVER_DELAY, 2}};
    struct bed b = start(AN_HOUR, RWH);
    unsigned seed = 4711;
    play(&b, RWH, slow, COUNT(slow));
    for (int i = 0; i < 1500; i++) {
        size_t len = 1 + (size_t)rand_r(&seed) % (i % 10 ? 30000 : 2 * MIB);
        write_at(&b, len, (size_t)rand_r(&seed) % (5 * MIB));
        assert_true(waiting(&b) <= MOST);
        if (i % 300 == 0)
            flush(&b);
    }
    flush(&b);
    expect_all_there(&b);
    stop(&b);
}

/* ---- breaks ---- */

static void it_is_written_before_the_break_is_acknowledged(void **state)
{
    struct bed b = start(AN_HOUR, RWH);
    for (size_t i = 0; i < 5; i++)
        write_at(&b, 1000, i * 2000);
    assert_int_equal(writes(&b), 0);
    struct server_break what = break_to(&b, RH);
    assert_true(server_send_break(b.server, &what));
    wait_for_ack(&b, RH);
    assert_int_equal(server_ack_after(b.server, 0, SMB2_WRITE), 5);
    expect_all_there(&b);
    write_at(&b, 1000, 1000); /* no more than was left */
    assert_int_equal(writes(&b), 6);
    stop(&b);
}

static void a_break_while_a_write_is_under_way_loses_nothing(void **state)
{
    static const struct server_rule slow[] = {{SMB2_WRITE, 1, SERVER_ANYWHERE, SERVER_DELAY, 300}};
    struct bed b = start(AN_HOUR, RWH);
    play(&b, RWH, slow, COUNT(slow));
    write_at(&b, MIB, 0);
    wait_for_writes(&b, 1); /* unanswered */
    write_at(&b, 100, MIB);
    write_at(&b, 100, 10); /* overlaps what is under way: waits for that */
    struct server_break what = break_to(&b, 0);
    assert_true(server_send_break(b.server, &what));
    wait_for_ack(&b, 0);
    assert_int_equal(server_ack_after(b.server, 0, SMB2_WRITE), writes(&b));
    expect_all_there(&b);
    stop(&b);
}

struct writer {
    struct bed *bed;
    atomic_bool stop;
    atomic_uint done;
};

static void *write_on(void *user)
{
    struct writer *w = user;
    for (size_t i = 0; !w->stop && (i + 1) * 4096 <= SIZE; i++) {
        write_at(w->bed, 4096, i * 4096);
        w->done++;
    }
    return NULL;
}

static void who_writes_on_during_a_break_loses_nothing(void **state)
{
    struct bed b = start(AN_HOUR, RWH);
    struct writer w = {.bed = &b};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, write_on, &w), 0);
    while (w.done < 300)
        usleep(1000);
    struct server_break what = break_to(&b, RH);
    assert_true(server_send_break(b.server, &what));
    wait_for_ack(&b, RH);
    unsigned then = w.done;
    uint64_t begun = clock_now();
    while (w.done < then + 20 && clock_now() - begun < PATIENCE)
        usleep(1000);
    w.stop = true;
    pthread_join(thread, NULL);
    assert_int_equal(waiting(&b), 0);
    expect_all_there(&b);
    stop(&b);
}

/* ---- before anything that could tell ---- */

static void by_reading(struct bed *b)
{
    char buf[10];
    share_read(b->share, b->file, buf, sizeof buf, 5 * MIB, NULL);
}

static void by_its_attributes(struct bed *b)
{
    struct share_entry e;
    assert_int_equal(share_getattr(b->share, b->node, &e, NULL), 0);
}

static void by_the_attributes_of_the_open(struct bed *b)
{
    struct share_entry e;
    assert_int_equal(share_file_getattr(b->share, b->node, b->file, &e, NULL), 0);
}

static void by_looking_up(struct bed *b)
{
    struct share_entry e;
    assert_int_equal(share_lookup(b->share, b->dir, "file", &e, NULL), 0);
    share_node_unref(b->share, e.node);
}

static void by_listing(struct bed *b)
{
    struct share_listing *l;
    assert_int_equal(share_list(b->share, b->dir, &l, NULL), 0);
    share_listing_free(b->share, l);
}

static void by_opening(struct bed *b)
{
    share_close(b->share, opened(b, SHARE_READ));
}

static void by_opening_its_path(struct bed *b)
{
    struct share_file *f;
    assert_int_equal(share_open_path(b->share, "d/file", &f, NULL, NULL), 0);
    share_close(b->share, f);
}

static void by_making_it(struct bed *b)
{
    struct share_file *f;
    struct share_entry e;
    assert_int_equal(share_create(b->share, b->dir, "file", SHARE_READ, 0, &f, &e, NULL, NULL), 0);
    share_close(b->share, f);
    share_node_unref(b->share, e.node);
}

static void by_its_size(struct bed *b)
{
    share_change(b->share, b->node, b->file, &(struct share_change){.set_size = true, .size = 10},
                 NULL, NULL);
}

static void by_its_times(struct bed *b)
{
    share_change(b->share, b->node, NULL, &(struct share_change){.written = 130000000000000000u},
                 NULL, NULL);
}

static void by_fsync(struct bed *b)
{
    assert_int_equal(share_fsync(b->share, b->file, true, NULL), 0);
}

static void by_flush(struct bed *b)
{
    flush(b);
}

static void by_allocating(struct bed *b)
{
    share_allocate(b->share, b->file, SIZE, false, NULL);
}

static void by_a_hole(struct bed *b)
{
    share_punch_hole(b->share, b->file, 10, 10, NULL);
}

static void by_seeking(struct bed *b)
{
    uint64_t at;
    share_seek(b->share, b->file, 0, true, &at, NULL);
}

static void by_copying(struct bed *b)
{
    share_copy(b->share, b->file, 0, b->file, 20 * MIB, 100, NULL);
}

static void by_a_lock(struct bed *b)
{
    const struct share_lock lock = {.owner = 1, .type = SHARE_LOCK_EXCLUSIVE, .end = 10};
    assert_int_equal(share_lock(b->share, b->file, &lock, false, NULL, NULL, NULL), 0);
    assert_int_equal(writes(b), 1);
    write_at(b, 50, 10);
    assert_int_equal(writes(b), 1);
    share_lock_release(b->share, b->file, 1);
    assert_int_equal(writes(b), 2);
}

static void by_a_link(struct bed *b)
{
    struct share_entry e;
    if (share_link(b->share, b->node, b->dir, "link", &e, NULL) == 0)
        share_node_unref(b->share, e.node);
}

static void by_a_new_name(struct bed *b)
{
    share_rename(b->share, b->dir, "file", b->dir, "new", false, NULL);
}

static void by_another_in_its_place(struct bed *b)
{
    share_rename(b->share, b->dir, "other", b->dir, "file", true, NULL);
}

static void by_removing(struct bed *b)
{
    share_remove(b->share, b->dir, "file", false, NULL);
}

static void by_closing(struct bed *b)
{
    struct share_file *f = opened(b, WRITERS);
    share_close(b->share, b->file);
    b->file = f;
}

static void all_that_could_tell_has_it_written_first(void **state)
{
    static void (*const calls[])(struct bed *) = {
        by_reading,
        by_its_attributes,
        by_the_attributes_of_the_open,
        by_looking_up,
        by_listing,
        by_opening,
        by_opening_its_path,
        by_making_it,
        by_its_size,
        by_its_times,
        by_fsync,
        by_flush,
        by_allocating,
        by_a_hole,
        by_seeking,
        by_copying,
        by_a_lock,
        by_a_link,
        by_a_new_name,
        by_another_in_its_place,
        by_removing,
        by_closing,
    };
    for (size_t i = 0; i < COUNT(calls); i++) {
        struct bed b = start(AN_HOUR, RWH);
        write_at(&b, 100, 10);
        assert_int_equal(writes(&b), 0);
        calls[i](&b);
        if (writes(&b) == 0)
            fail_msg("call %zu is made before what waits is written", i);
        share_flush(b.share, b.file, NULL);
        stop(&b);
    }
}

static void what_is_of_others_is_left_alone(void **state)
{
    struct bed b = start(AN_HOUR, RWH);
    struct share_entry e;
    struct share_listing *l;
    struct share_node *other = node_of(b.share, "d/other");
    write_at(&b, 100, 10);
    assert_int_equal(share_getattr(b.share, other, &e, NULL), 0);
    share_node_unref(b.share, other);
    assert_int_equal(share_list_path(b.share, "e", &l, NULL), 0);
    share_listing_free(b.share, l);
    assert_int_equal(writes(&b), 0);
    flush(&b);
    stop(&b);
}

/* ---- what cannot be written ---- */

static void count_line(void *user, const char *text)
{
    unsigned *count = user;
    assert_non_null(strstr(text, "file"));
    assert_non_null(strstr(text, "lost"));
    ++*count;
}

static unsigned lost_lines(struct bed *b)
{
    unsigned count = 0;
    share_lost_data(b->share, count_line, &count);
    return count;
}

static void an_error_is_told_to_each_open_that_may_write(void **state)
{
    static const struct server_rule full[] = {
        {SMB2_WRITE, 0, SERVER_ANYWHERE, SERVER_FAIL, 0xc000007f}};
    struct bed b = start(AN_HOUR, RWH);
    struct share_file *second = opened(&b, WRITERS), *third = opened(&b, WRITERS);
    struct error err = {0};
    uint8_t byte = 1;
    play(&b, RWH, full, COUNT(full));
    write_by(&b, b.file, 100, 0);
    write_by(&b, second, 100, 5000);
    assert_int_equal(share_flush(b.share, third, NULL), -ENOSPC); /* it may have written by pages */
    assert_int_equal(share_flush(b.share, b.file, &err), -ENOSPC);
    assert_non_null(strstr(err.text, "lost"));
    assert_int_equal(share_fsync(b.share, b.file, true, NULL), -ENOSPC);
    assert_int_equal(share_flush(b.share, b.file, NULL), 0);
    assert_int_equal(share_fsync(b.share, second, true, NULL), -ENOSPC);
    assert_int_equal(share_fsync(b.share, second, true, NULL), 0);
    assert_int_equal(lost_lines(&b), 1);
    assert_int_equal(lost_lines(&b), 0);

    write_by(&b, b.file, 100, 0); /* the next write is told, too */
    by_reading(&b);
    play(&b, RWH, NULL, 0);
    assert_int_equal(share_write(b.share, b.file, &byte, 1, 0, NULL), -ENOSPC);
    assert_int_equal(writes(&b), 0);
    assert_int_equal(share_write(b.share, b.file, &byte, 1, 0, NULL), 1);
    assert_int_equal(share_flush(b.share, b.file, NULL), 0);
    assert_int_equal(writes(&b), 1);
    share_close(b.share, second);
    share_close(b.share, third);
    stop(&b);
}

static void disconnect(struct bed *b)
{
    uint64_t begun = clock_now();
    server_stay_away(b->server, true);
    while (!share_lost(b->share, NULL)) {
        if (clock_now() - begun > PATIENCE)
            fail_msg("the connection is not lost");
        usleep(1000);
    }
}

static void what_a_lost_connection_takes_is_told(void **state)
{
    struct bed b = start(SOON_TIRED, RWH);
    write_at(&b, 100, 0);
    write_at(&b, 100, MIB);
    disconnect(&b);
    assert_true(share_flush(b.share, b.file, NULL) < 0);
    assert_int_equal(lost_lines(&b), 1);
    uint8_t byte = 1;
    assert_true(share_write(b.share, b.file, &byte, 1, 0, NULL) < 0);
    stop(&b);
}

static void so_is_what_was_under_way(void **state)
{
    static const struct server_rule end[] = {{SMB2_WRITE, 1, SERVER_ANYWHERE, SERVER_HANG_UP, 0}};
    struct bed b = start(SOON_TIRED, RWH);
    play(&b, RWH, end, COUNT(end));
    write_at(&b, MIB + 100, 0);
    server_stay_away(b.server, true);
    assert_true(share_fsync(b.share, b.file, true, NULL) < 0);
    assert_int_equal(lost_lines(&b), 1);
    stop(&b);
}

static void what_was_under_way_when_the_connection_was_lost_is_written_by_the_next_one(void **state)
{
    static const struct server_rule end[] = {{SMB2_WRITE, 1, SERVER_ANYWHERE, SERVER_HANG_UP, 0}};
    struct bed b = start(SOON_TIRED, RWH);
    play(&b, RWH, end, COUNT(end));
    write_at(&b, MIB + 100, 0);
    assert_int_equal(share_fsync(b.share, b.file, true, NULL), 0);
    assert_int_equal(lost_lines(&b), 0);
    stop(&b);
}

/* The first is that of a child, which had the descriptor, too. */
static void every_close_is_told_until_fsync_was(void **state)
{
    struct bed b = start(SOON_TIRED, RWH);
    write_at(&b, 100, 0);
    disconnect(&b);
    assert_true(share_flush(b.share, b.file, NULL) < 0);
    assert_true(share_flush(b.share, b.file, NULL) < 0);
    assert_true(share_fsync(b.share, b.file, true, NULL) < 0);
    assert_int_equal(share_flush(b.share, b.file, NULL), 0);
    stop(&b);
}

static void what_is_lost_when_it_is_closed_is_named(void **state)
{
    struct bed b = start(SOON_TIRED, RWH);
    struct share_file *f = opened(&b, WRITERS);
    write_by(&b, f, 100, 0);
    disconnect(&b);
    share_close(b.share, f);
    assert_int_equal(lost_lines(&b), 1);
    stop(&b);
}

/* ---- bounds ---- */

static void who_is_faster_than_the_server_waits_for_room(void **state)
{
    static const struct server_rule slow[] = {{SMB2_WRITE, 0, SERVER_ANYWHERE, SERVER_DELAY, 20}};
    struct bed b = start(AN_HOUR, RWH);
    struct writer w = {.bed = &b};
    pthread_t thread;
    int64_t most = 0;
    play(&b, RWH, slow, COUNT(slow));
    assert_int_equal(pthread_create(&thread, NULL, write_on, &w), 0);
    while ((w.done + 1) * 4096 < SIZE) {
        int64_t now = waiting(&b);
        most = now > most ? now : most;
        usleep(500);
    }
    pthread_join(thread, NULL);
    flush(&b);
    assert_true(most > MIB && most <= MOST);
    assert_int_equal(writes(&b), SIZE / MIB);
    expect_all_there(&b);
    stop(&b);
}

static void scattered_writes_are_bounded_too(void **state)
{
    struct bed b = start(AN_HOUR, RWH);
    for (size_t i = 0; i < 500; i++)
        write_at(&b, 10, i * 40000);
    flush(&b);
    assert_int_equal(writes(&b), 500);
    expect_all_there(&b);
    stop(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_writes_become_few_requests),
        cmocka_unit_test(what_is_written_again_leaves_once),
        cmocka_unit_test(a_long_write_is_not_delayed),
        cmocka_unit_test(it_leaves_after_WriteDelay),
        cmocka_unit_test(nothing_is_delayed_without_a_promise_or_a_wish),
        cmocka_unit_test(a_write_over_the_beginning_of_another_comes_after_it),
        cmocka_unit_test(random_writes_leave_the_last_word),
        cmocka_unit_test(it_is_written_before_the_break_is_acknowledged),
        cmocka_unit_test(a_break_while_a_write_is_under_way_loses_nothing),
        cmocka_unit_test(who_writes_on_during_a_break_loses_nothing),
        cmocka_unit_test(all_that_could_tell_has_it_written_first),
        cmocka_unit_test(what_is_of_others_is_left_alone),
        cmocka_unit_test(an_error_is_told_to_each_open_that_may_write),
        cmocka_unit_test(what_a_lost_connection_takes_is_told),
        cmocka_unit_test(so_is_what_was_under_way),
        cmocka_unit_test(
            what_was_under_way_when_the_connection_was_lost_is_written_by_the_next_one),
        cmocka_unit_test(every_close_is_told_until_fsync_was),
        cmocka_unit_test(what_is_lost_when_it_is_closed_is_named),
        cmocka_unit_test(who_is_faster_than_the_server_waits_for_room),
        cmocka_unit_test(scattered_writes_are_bounded_too),
    };
    return cmocka_run_group_tests_name("share delay", tests, NULL, NULL);
}
