/* The counters, events in a file and to who listens, and the dead-cache alarm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ntstatus.h"
#include "observe/observe.h"

enum {
    CREATE = 5,
    READ = 8,
    WRITE = 9,
    CANCEL = 12,
    QUERY_DIRECTORY = 14,
    CHANGE_NOTIFY = 15,
    OPLOCK_BREAK = 18
};

static struct observe *fresh(const char *events_path, bool performance)
{
    struct observe *o = NULL;
    struct observe_options options = {.performance_events = performance,
                                      .events_path = events_path};
    assert_int_equal(observe_new(&options, &o, NULL), 0);
    return o;
}

static struct observe_counts counts_of(const struct observe *o)
{
    struct observe_counts c;
    observe_read(o, &c);
    return c;
}

/* Of the test that runs: a file that is not there yet, in a directory of its own. */
static char directory[32], events_file[64];

static int make_directory(void **state)
{
    strcpy(directory, "/tmp/test-observe-XXXXXX");
    if (!mkdtemp(directory))
        return -1;
    snprintf(events_file, sizeof(events_file), "%s/events", directory);
    return 0;
}

static int remove_directory(void **state)
{
    unlink(events_file);
    return rmdir(directory);
}

/* ---- counters ---- */

static void messages_are_requests_and_every_response(void **state)
{
    struct observe *o = fresh(NULL, false);
    observe_request(o, CREATE, 200);
    observe_response(o, CREATE, STATUS_SUCCESS, 150, 1000);
    observe_request(o, CHANGE_NOTIFY, 96);
    observe_interim(o, CHANGE_NOTIFY, 73);
    observe_response(o, CHANGE_NOTIFY, STATUS_NOTIFY_CLEANUP, 73, 1000);
    observe_unsolicited(o, OPLOCK_BREAK, 108);

    struct observe_counts c = counts_of(o);
    assert_int_equal(observe_messages(&c), 6);
    assert_int_equal(c.command[CREATE].request_bytes, 200);
    assert_int_equal(c.command[CHANGE_NOTIFY].response_bytes, 146);
    observe_free(o);
}

static void metadata_requests_are_all_but_read_and_write(void **state)
{
    struct observe *o = fresh(NULL, false);
    for (unsigned command = 0; command < OBSERVE_COMMANDS; command++)
        observe_request(o, command, 64);
    struct observe_counts c = counts_of(o);
    assert_int_equal(observe_metadata_requests(&c), OBSERVE_COMMANDS - 2);
    observe_free(o);
}

static void a_command_that_is_none_is_counted_as_no_other(void **state)
{
    struct observe *o = fresh(NULL, true);
    const unsigned wild[] = {OBSERVE_COMMANDS, 0xffff, UINT32_MAX};
    for (size_t i = 0; i < 3; i++) {
        observe_request(o, wild[i], 1);
        observe_interim(o, wild[i], 1);
        observe_unsolicited(o, wild[i], 1);
        observe_response(o, wild[i], STATUS_SUCCESS, 1, 1);
    }
    struct observe_counts c = counts_of(o);
    assert_int_equal(observe_messages(&c), 0);
    assert_int_equal(c.events[CLASS_PERFORMANCE], 0);
    observe_free(o);
}

static void latency_quantiles_are_right_to_half_an_octave(void **state)
{
    struct observe *o = fresh(NULL, false);
    struct observe_counts c = counts_of(o);
    assert_int_equal(observe_latency(&c.command[READ], 50), 0);

    for (unsigned us = 1; us <= 1000; us++)
        observe_response(o, READ, STATUS_SUCCESS, 0, us * 1000ull);
    c = counts_of(o);
    const unsigned percents[] = {1, 50, 95, 99, 100};
    for (size_t i = 0; i < 5; i++) {
        double exact = percents[i] * 10 * 1000.0,
               got = (double)observe_latency(&c.command[READ], percents[i]);
        assert_true(got >= exact && got <= exact * 1.5);
    }
    assert_int_equal(c.command[READ].latency_max_ns, 1000000);
    observe_free(o);
}

static void the_longest_and_shortest_latencies_have_a_bucket(void **state)
{
    struct observe *o = fresh(NULL, false);
    observe_response(o, READ, STATUS_SUCCESS, 0, 0);
    observe_response(o, READ, STATUS_SUCCESS, 0, UINT64_MAX / 2);
    struct observe_counts c = counts_of(o);
    assert_int_equal(c.command[READ].latency[0], 1);
    assert_int_equal(c.command[READ].latency[OBSERVE_BUCKETS - 1], 1);
    assert_int_equal(observe_latency(&c.command[READ], 100), UINT64_MAX / 2);
    observe_free(o);
}

static void errors_come_most_frequent_first_and_a_logon_is_none(void **state)
{
    struct observe *o = fresh(NULL, false);
    observe_response(o, 1, (uint32_t)STATUS_MORE_PROCESSING_REQUIRED, 0, 1);
    observe_response(o, QUERY_DIRECTORY, (uint32_t)STATUS_NO_MORE_FILES, 0, 1);
    observe_response(o, CREATE, (uint32_t)STATUS_ACCESS_DENIED, 0, 1);
    for (int i = 0; i < 3; i++)
        observe_response(o, CREATE, (uint32_t)STATUS_OBJECT_NAME_NOT_FOUND, 0, 1);

    struct observe_status_count list[8];
    assert_int_equal(observe_errors(o, list, 8), 2);
    assert_int_equal(list[0].status, (uint32_t)STATUS_OBJECT_NAME_NOT_FOUND);
    assert_int_equal(list[0].count, 3);
    assert_int_equal(list[1].status, (uint32_t)STATUS_ACCESS_DENIED);
    assert_int_equal(observe_errors(o, list, 1), 1);
    struct observe_counts c = counts_of(o);
    assert_int_equal(c.command[CREATE].errors, 4);
    assert_int_equal(c.command[1].errors, 0);
    observe_free(o);
}

static void more_statuses_than_are_kept_are_summed(void **state)
{
    struct observe *o = fresh(NULL, false);
    for (uint32_t i = 0; i < 1000; i++)
        observe_response(o, CREATE, 0xc0900000u + i, 0, 1);
    struct observe_status_count list[OBSERVE_STATUSES + 1];
    assert_int_equal(observe_errors(o, list, OBSERVE_STATUSES + 1), OBSERVE_STATUSES + 1);
    assert_int_equal(list[0].status, OBSERVE_STATUS_OTHER);
    assert_int_equal(list[0].count, 1000 - OBSERVE_STATUSES);
    observe_free(o);
}

/* ---- threads ---- */

#define THREADS 4
#define ROUNDS  5000

static void *hammer(void *arg)
{
    struct observe *o = arg;
    for (unsigned i = 0; i < ROUNDS; i++) {
        observe_request(o, CREATE, 10);
        observe_response(o, CREATE, 0xc0000000u + i % 100, 20, i * 100ull);
        observe_hit(o, OBSERVE_DIR, TRUST_TIME, "a/b");
        observe_miss(o, OBSERVE_INFO, MISS_EXPIRED, "a/c");
        observe_round_trip(o);
        observe_frame(o, true);
    }
    return NULL;
}

static void threads_lose_no_count_and_no_line(void **state)
{
    struct observe *o = fresh(events_file, true);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hammer, o), 0);
    struct observe_counts c;
    for (int i = 0; i < 100; i++) /* readers run beside them */
        json_decref(observe_json(o));
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);

    const uint64_t n = THREADS * ROUNDS;
    c = counts_of(o);
    assert_int_equal(observe_messages(&c), 2 * n);
    assert_int_equal(c.cache[OBSERVE_DIR].hits, n);
    assert_int_equal(c.cache[OBSERVE_DIR].hits_by_trust[TRUST_TIME], n);
    assert_int_equal(c.cache[OBSERVE_INFO].misses[MISS_EXPIRED], n);
    assert_int_equal(c.round_trips, n);
    assert_int_equal(c.frames_sent, n);
    assert_int_equal(c.events[CLASS_DIR] + c.events[CLASS_FILE] + c.events[CLASS_PERFORMANCE],
                     3 * n);
    assert_int_equal(c.command[CREATE].latency_max_ns, (ROUNDS - 1) * 100);

    struct observe_status_count list[OBSERVE_STATUSES + 1];
    size_t statuses = observe_errors(o, list, OBSERVE_STATUSES + 1);
    uint64_t errors = 0;
    for (size_t i = 0; i < statuses; i++)
        errors += list[i].count;
    assert_int_equal(errors, c.command[CREATE].errors);

    observe_free(o);
    FILE *f = fopen(events_file, "r");
    uint64_t lines = 0;
    for (int ch; (ch = fgetc(f)) != EOF;)
        lines += ch == '\n';
    fclose(f);
    assert_int_equal(lines + c.events_lost, 3 * n);
}

/* ---- events ---- */

/* Its n-th line as JSON; the caller owns it. NULL past the end. */
static json_t *line_of(unsigned n)
{
    char *text = NULL;
    size_t cap = 0;
    json_t *line = NULL;
    FILE *f = fopen(events_file, "r");
    assert_non_null(f);
    for (unsigned i = 0; getline(&text, &cap, f) > 0; i++)
        if (i == n) {
            json_error_t err;
            line = json_loads(text, 0, &err);
            if (!line)
                fail_msg("line %u is no JSON (%s): %s", n, err.text, text);
            break;
        }
    fclose(f);
    free(text);
    return line;
}

static const char *text_of(const json_t *line, const char *key)
{
    const char *s = json_string_value(json_object_get(line, key));
    return s ? s : "(none)";
}

static void events_are_json_lines_under_windows_names(void **state)
{
    struct observe *o = fresh(events_file, true);
    assert_true(observe_wants_paths(o));
    observe_hit(o, OBSERVE_DIR, TRUST_TIME, "lib/a.py");
    observe_miss(o, OBSERVE_INFO, MISS_TOO_LARGE, "lib/b.py");
    observe_invalidate(o, OBSERVE_NOTFOUND, MISS_BROKEN, NULL);
    observe_patch(o, OBSERVE_DIR, "lib");
    observe_response(o, QUERY_DIRECTORY, (uint32_t)STATUS_NO_MORE_FILES, 73, 1500);
    observe_free(o);

    json_t *hit = line_of(0), *miss = line_of(1), *broken = line_of(2), *patch = line_of(3),
           *perf = line_of(4);
    assert_int_equal(json_integer_value(json_object_get(hit, "id")), 30508);
    assert_string_equal(text_of(hit, "name"), "SmbFetchDirCache");
    assert_string_equal(text_of(hit, "class"), "dir");
    assert_string_equal(text_of(hit, "path"), "lib/a.py");
    assert_true(json_is_integer(json_object_get(hit, "status")));
    assert_int_equal(strlen(text_of(hit, "time")), strlen("2026-01-01T00:00:00.000000Z"));
    assert_string_equal(text_of(miss, "name"), "SmbFetchInfoCache");
    assert_string_equal(text_of(miss, "class"), "file");
    assert_string_equal(text_of(miss, "status"), "too-large");
    assert_string_equal(text_of(broken, "name"), "SmbInvalidateFNFCache");
    assert_true(json_is_null(json_object_get(broken, "path")));
    assert_string_equal(text_of(patch, "name"), "SmbPatchDirCache");
    assert_int_equal(json_integer_value(json_object_get(patch, "id")), 30592);
    json_decref(patch);
    assert_int_equal(json_integer_value(json_object_get(perf, "id")), 32052);
    assert_string_equal(text_of(perf, "class"), "performance");
    assert_string_equal(text_of(perf, "command"), "QUERY_DIRECTORY");
    assert_string_equal(text_of(perf, "status"), "STATUS_NO_MORE_FILES");
    assert_true(json_real_value(json_object_get(perf, "duration_us")) == 1.5);
    assert_null(line_of(5));
    json_decref(hit);
    json_decref(miss);
    json_decref(broken);
    json_decref(perf);
}

static void promises_are_lines_with_the_moment_they_reached_us(void **state)
{
    struct observe *o = fresh(events_file, false);
    const uint8_t key[OBSERVE_KEY] = {0xab, 1, [15] = 0xff};
    observe_promise(o, &(struct observe_promise){
                           .id = EVENT_LEASE, .at = 11, .key = key, .state = 7, .path = "lib"});
    observe_promise(o, &(struct observe_promise){
                           .id = EVENT_LEASE_BREAK, .at = 12, .key = key, .what = "acknowledge"});
    observe_promise(
        o, &(struct observe_promise){
               .id = EVENT_NOTICE, .at = 5000000000, .path = "lib/a \"b\"", .what = "added"});
    assert_int_equal(counts_of(o).events[CLASS_PROMISE], 3);
    observe_free(o);

    json_t *lease = line_of(0), *taken = line_of(1), *notice = line_of(2);
    assert_int_equal(json_integer_value(json_object_get(lease, "id")), 30595);
    assert_string_equal(text_of(lease, "name"), "SmbGrantLease");
    assert_string_equal(text_of(lease, "class"), "promise");
    assert_string_equal(text_of(lease, "key"), "ab0100000000000000000000000000ff");
    assert_string_equal(text_of(lease, "state"), "RHW");
    assert_string_equal(text_of(lease, "path"), "lib");
    assert_string_equal(text_of(taken, "name"), "SmbBreakLease");
    assert_string_equal(text_of(taken, "state"), "");
    assert_string_equal(text_of(taken, "what"), "acknowledge");
    assert_true(json_is_null(json_object_get(taken, "path")));
    assert_string_equal(text_of(notice, "name"), "SmbChangeNotice");
    assert_string_equal(text_of(notice, "path"), "lib/a \"b\"");
    assert_null(json_object_get(notice, "key"));
    assert_true(json_integer_value(json_object_get(notice, "monotonic_ns")) == 5000000000);
    json_decref(lease);
    json_decref(taken);
    json_decref(notice);
}

static void a_connection_that_is_lost_and_made_again_is_two_events(void **state)
{
    struct observe *o = fresh(events_file, false);
    observe_lost(o, "10.0.0.1", 0, "the server hung up");
    observe_reconnected(o, "10.0.0.2", 1500000);
    observe_lost(o, "10.0.0.2", STATUS_USER_SESSION_DELETED, "the server has ended the session");
    assert_int_equal(counts_of(o).events[CLASS_NETWORK], 3);
    assert_int_equal(counts_of(o).network[OBSERVE_LOST], 2);
    assert_int_equal(counts_of(o).network[OBSERVE_RECONNECTED], 1);
    observe_free(o);

    json_t *lost = line_of(0), *back = line_of(1), *ended = line_of(2);
    assert_int_equal(json_integer_value(json_object_get(lost, "id")), 30805);
    assert_string_equal(text_of(lost, "name"), "SmbSessionLost");
    assert_string_equal(text_of(lost, "class"), "network");
    assert_string_equal(text_of(lost, "address"), "10.0.0.1");
    assert_string_equal(text_of(lost, "reason"), "the server hung up");
    assert_true(json_is_integer(json_object_get(lost, "status")));
    assert_int_equal(json_integer_value(json_object_get(back, "id")), 30806);
    assert_string_equal(text_of(back, "address"), "10.0.0.2");
    assert_true(json_number_value(json_object_get(back, "away_us")) == 1500.0);
    assert_string_equal(text_of(ended, "status"), "STATUS_USER_SESSION_DELETED");
    json_decref(lost);
    json_decref(back);
    json_decref(ended);
}

static void any_name_that_a_server_may_store_is_a_valid_line(void **state)
{
    static const struct {
        const char *path, *read_back;
    } names[] = {
        {"a\"b\\c\n\x01\x7f", "a\"b\\c\n\x01\x7f"},
        {"\xc3\xa4\xe6\x97\xa5\xf0\x9f\x98\x80", "\xc3\xa4\xe6\x97\xa5\xf0\x9f\x98\x80"},
        {"x\xed\xa0\x80y", "x\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdy"}, /* a lone surrogate */
        {"\xff\xc0\x80\xf5\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"end\xe6\x97", "end\xef\xbf\xbd\xef\xbf\xbd"}, /* cut inside a character */
        {"\xf4\x8f\xbf\xbf\xf4\x90\x80\x80",
         "\xf4\x8f\xbf\xbf\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    };
    struct observe *o = fresh(events_file, false);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        observe_insert(o, OBSERVE_INFO, names[i].path);
    observe_free(o);
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        json_t *line = line_of(i);
        assert_string_equal(text_of(line, "path"), names[i].read_back);
        json_decref(line);
    }
}

static void a_name_longer_than_the_buffer_is_lost_and_counted(void **state)
{
    char *huge = malloc((2u << 20) + 1);
    memset(huge, 'x', 2u << 20);
    huge[2u << 20] = 0;
    struct observe *o = fresh(events_file, false);
    observe_insert(o, OBSERVE_INFO, huge);
    observe_insert(o, OBSERVE_INFO, "small");
    struct observe_counts c = counts_of(o);
    observe_free(o);
    assert_int_equal(c.events_lost, 1);
    json_t *line = line_of(0);
    assert_string_equal(text_of(line, "path"), "small");
    json_decref(line);
    free(huge);
}

static void a_full_disk_is_counted_and_stops_nobody(void **state)
{
    struct observe *o = fresh("/dev/full", false);
    uint64_t start = clock_now();
    for (int i = 0; i < 100000; i++)
        observe_hit(o, OBSERVE_DIR, TRUST_TIME, "some/path/of/usual/length.py");
    assert_true(clock_now() - start < 5 * NS_PER_SEC);
    for (int i = 0; i < 300 && counts_of(o).events_lost < 100000; i++)
        usleep(10000);
    assert_int_equal(counts_of(o).events_lost, 100000);
    assert_int_equal(counts_of(o).events[CLASS_DIR], 100000);
    observe_free(o);
}

static void lines_reach_the_file_within_a_second_or_two(void **state)
{
    struct observe *o = fresh(events_file, false);
    observe_hit(o, OBSERVE_DIR, TRUST_TIME, "a");
    struct stat st = {0};
    for (int i = 0; i < 200 && st.st_size == 0; i++) {
        usleep(10000);
        assert_int_equal(stat(events_file, &st), 0);
    }
    assert_true(st.st_size > 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    observe_free(o);
}

static void two_mounts_may_share_one_file(void **state)
{
    struct observe *a = fresh(events_file, false), *b = fresh(events_file, false);
    for (int i = 0; i < 1000; i++) {
        observe_hit(a, OBSERVE_DIR, TRUST_TIME, "a");
        observe_hit(b, OBSERVE_DIR, TRUST_TIME, "b");
    }
    observe_free(a);
    observe_free(b);
    for (unsigned i = 0; i < 2000; i += 97)
        json_decref(line_of(i));
    json_t *last = line_of(1999);
    assert_non_null(last);
    json_decref(last);
}

static void a_file_that_cannot_be_opened_is_named(void **state)
{
    struct observe *o = NULL;
    struct error err = {0};
    struct observe_options options = {.events_path = "/nonexistent/events"};
    assert_int_equal(observe_new(&options, &o, &err), -ENOENT);
    assert_non_null(strstr(err.text, "/nonexistent/events"));
    assert_null(o);

    assert_int_equal(mkfifo(events_file, 0600), 0);
    options.events_path = events_file;
    assert_int_equal(observe_new(&options, &o, &err), -ENXIO); /* nobody reads: no hang */
}

struct listener {
    unsigned heard;    /* atomic */
    bool hold;         /* atomic: the first call does not return while it is set */
    bool out_of_order; /* and the rest: the listening thread's, until observe_free has returned */
    char last[64];
};

/* The paths are numbers that count up. */
static void listen_to(void *user, const char *line)
{
    struct listener *l = user;
    json_t *event = json_loads(line, 0, NULL);
    const char *path = text_of(event, "path");
    if (strchr(line, '\n') || (l->last[0] && atoi(path) <= atoi(l->last)))
        l->out_of_order = true;
    snprintf(l->last, sizeof(l->last), "%s", path);
    json_decref(event);
    __atomic_fetch_add(&l->heard, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&l->hold, __ATOMIC_ACQUIRE))
        usleep(1000);
}

static bool hears(struct listener *l, unsigned least)
{
    for (int i = 0; i < 1000 && __atomic_load_n(&l->heard, __ATOMIC_ACQUIRE) < least; i++)
        usleep(10000);
    return __atomic_load_n(&l->heard, __ATOMIC_ACQUIRE) >= least;
}

static void hit_number(struct observe *o, unsigned n)
{
    char path[16];
    snprintf(path, sizeof(path), "%u", n);
    observe_hit(o, OBSERVE_DIR, TRUST_TIME, path);
}

static void who_listens_is_told_each_event_in_order_and_the_file_holds_it_too(void **state)
{
    struct listener l = {0};
    struct observe *o = NULL;
    struct observe_options options = {
        .events_path = events_file, .event_line = listen_to, .user = &l};
    assert_int_equal(observe_new(&options, &o, NULL), 0);
    assert_true(observe_wants_paths(o));
    hit_number(o, 1);
    assert_true(hears(&l, 1)); /* with nothing behind it that would push it out */
    for (unsigned i = 2; i <= 1000; i++)
        hit_number(o, i);
    observe_free(o);
    assert_int_equal(l.heard, 1000); /* also what was under way when it ended */
    assert_string_equal(l.last, "1000");
    assert_false(l.out_of_order);
    json_t *line = line_of(999);
    assert_string_equal(text_of(line, "path"), "1000");
    json_decref(line);
}

static void who_listens_slowly_holds_up_nobody_and_what_is_lost_is_counted(void **state)
{
    struct listener l = {.hold = true};
    struct observe *o = NULL;
    struct observe_options options = {.event_line = listen_to, .user = &l};
    assert_int_equal(observe_new(&options, &o, NULL), 0);
    hit_number(o, 1);
    assert_true(hears(&l, 1));
    enum { MANY = 30000 }; /* some 3 MiB */
    for (unsigned i = 2; i <= MANY; i++)
        hit_number(o, i);
    uint64_t lost = counts_of(o).events_lost;
    assert_true(lost > 0);
    __atomic_store_n(&l.hold, false, __ATOMIC_RELEASE);
    observe_free(o);
    assert_int_equal(l.heard + lost, MANY);
    assert_false(l.out_of_order);
}

static void a_cache_that_is_off_counts_its_misses_without_events(void **state)
{
    struct observe *o = fresh(NULL, false);
    assert_false(observe_wants_paths(o));
    observe_miss(o, OBSERVE_DIR, MISS_DISABLED, NULL);
    struct observe_counts c = counts_of(o);
    assert_int_equal(c.cache[OBSERVE_DIR].misses[MISS_DISABLED], 1);
    assert_int_equal(c.events[CLASS_DIR], 0);
    observe_free(o);
}

static void performance_events_are_one_a_request_where_asked_for(void **state)
{
    for (int on = 0; on < 2; on++) {
        struct observe *o = fresh(NULL, on);
        for (unsigned command = 0; command < OBSERVE_COMMANDS; command++) {
            observe_request(o, command, 0);
            observe_interim(o, command, 0);
            if (command != CANCEL)
                observe_response(o, command, STATUS_SUCCESS, 0, 0);
        }
        assert_int_equal(counts_of(o).events[CLASS_PERFORMANCE], on ? OBSERVE_COMMANDS : 0);
        observe_free(o);
    }
}

/* ---- the alarm ---- */

struct alarm {
    unsigned lines;
    enum observe_cache cache;
    char text[400];
};

static void hear(void *user, enum observe_cache cache, const char *text)
{
    struct alarm *a = user;
    a->lines++;
    a->cache = cache;
    snprintf(a->text, sizeof(a->text), "%s", text);
}

static struct alarm alarm_of(const struct observe_counts *c)
{
    struct alarm a = {0};
    const bool all[OBSERVE_CACHES] = {true, true, true};
    unsigned faults = observe_dead_caches(c, all, hear, &a);
    assert_int_equal(faults, a.lines);
    return a;
}

static void a_dead_cache_names_the_setting_to_change(void **state)
{
    static const struct {
        enum observe_cache cache;
        enum observe_miss why;
        const char *remedy;
    } cases[] = {
        {OBSERVE_DIR, MISS_EXPIRED, "DirectoryCacheLifetime"},
        {OBSERVE_DIR, MISS_EVICTED, "DirectoryCacheEntriesMax"},
        {OBSERVE_DIR, MISS_TOO_LARGE, "DirectoryCacheEntrySizeMax"},
        {OBSERVE_DIR, MISS_PARTIAL, "read to its end"},
        {OBSERVE_DIR, MISS_BROKEN, "other clients"},
        {OBSERVE_DIR, MISS_CHANGED, "change"},
        {OBSERVE_INFO, MISS_EXPIRED, "FileInfoCacheLifetime"},
        {OBSERVE_INFO, MISS_EVICTED, "FileInfoCacheEntriesMax"},
        {OBSERVE_INFO, MISS_CASE, "spelling"},
        {OBSERVE_INFO, MISS_ABSENT, "no answer was ever stored"},
        {OBSERVE_NOTFOUND, MISS_EXPIRED, "FileNotFoundCacheLifetime"},
        {OBSERVE_NOTFOUND, MISS_EVICTED, "FileNotFoundCacheEntriesMax"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct observe_counts c = {0};
        c.cache[cases[i].cache].misses[cases[i].why] = OBSERVE_ALARM_LOOKUPS;
        c.cache[cases[i].cache].misses[MISS_ABSENT] += 10;
        struct alarm a = alarm_of(&c);
        assert_int_equal(a.lines, 1);
        assert_int_equal(a.cache, cases[i].cache);
        assert_non_null(strstr(a.text, cases[i].remedy));
        assert_non_null(strstr(a.text, observe_miss_name(cases[i].why)));
    }
}

static void the_alarm_stays_silent_where_nothing_is_wrong(void **state)
{
    struct observe_counts c = {0};
    struct observe_cache_counts *dir = &c.cache[OBSERVE_DIR],
                                *notfound = &c.cache[OBSERVE_NOTFOUND];
    dir->misses[MISS_EXPIRED] = OBSERVE_ALARM_LOOKUPS - 1; /* too few to tell */
    assert_int_equal(alarm_of(&c).lines, 0);
    dir->misses[MISS_EXPIRED] = 100000;
    dir->hits = 1; /* alive */
    assert_int_equal(alarm_of(&c).lines, 0);
    dir->hits = 0;
    assert_int_equal(alarm_of(&c).lines, 1);
    const bool off[OBSERVE_CACHES] = {false, true, true};
    struct alarm a = {0};
    assert_int_equal(observe_dead_caches(&c, off, hear, &a), 0);

    dir->misses[MISS_EXPIRED] = 0;
    dir->misses[MISS_DISABLED] = dir->misses[MISS_INTENT] = 100000; /* never asked in earnest */
    assert_int_equal(alarm_of(&c).lines, 0);
    notfound->misses[MISS_ABSENT] = 100000; /* every name was there: nothing to remember */
    assert_int_equal(alarm_of(&c).lines, 0);
    notfound->inserts = OBSERVE_ALARM_LOOKUPS - 1; /* and a few that were not */
    assert_int_equal(alarm_of(&c).lines, 0);
    notfound->inserts = OBSERVE_ALARM_LOOKUPS;
    assert_int_equal(alarm_of(&c).lines, 1);
}

/* ---- JSON ---- */

static void json_has_the_members_that_programs_rely_on(void **state)
{
    struct observe *o = fresh(NULL, true);
    observe_request(o, CREATE, 120);
    observe_response(o, CREATE, (uint32_t)STATUS_OBJECT_NAME_NOT_FOUND, 73, 2500000);
    observe_round_trip(o);
    observe_miss(o, OBSERVE_DIR, MISS_TOO_LARGE, NULL);
    observe_insert(o, OBSERVE_NOTFOUND, NULL);
    json_t *j = observe_json(o), *cache;
    json_int_t messages, round_trips, commands, requests, file, dir, performance, miss, insert, hit,
        error, sent;
    double p50;
    json_error_t err;
    int r = json_unpack_ex(
        j, &err, 0,
        "{s:I, s:I, s:{s:I}, s:{s:I}, s:{s:I, s:I, s:I}, s:o, s:{s:I}, s:{s:I}, s:{s:{s:f}}}",
        "messages", &messages, "round_trips", &round_trips, "commands", "CREATE", &commands,
        "requests", "CREATE", &requests, "events", "file", &file, "dir", &dir, "performance",
        &performance, "cache", &cache, "errors", "STATUS_OBJECT_NAME_NOT_FOUND", &error, "bytes",
        "sent", &sent, "latency_ms", "CREATE", "p50", &p50);
    if (r)
        fail_msg("%s", err.text);
    assert_int_equal(messages, 2);
    assert_int_equal(round_trips, 1);
    assert_int_equal(commands, 2);
    assert_int_equal(requests, 1);
    assert_int_equal(file, 1);
    assert_int_equal(dir, 1);
    assert_int_equal(performance, 1);
    assert_int_equal(error, 1);
    assert_int_equal(sent, 120);
    assert_true(p50 == 2.5);
    assert_int_equal(json_object_size(json_object_get(j, "commands")), 1);
    assert_int_equal(json_object_size(cache), 3);
    r = json_unpack_ex(cache, &err, 0, "{s:{s:I, s:{s:I}}, s:{s:I}}", "dir", "hit", &hit, "miss",
                       "too-large", &miss, "notfound", "insert", &insert);
    if (r)
        fail_msg("%s", err.text);
    assert_int_equal(hit, 0);
    assert_int_equal(miss, 1);
    assert_int_equal(insert, 1);
    json_decref(j);
    observe_free(o);
}

#define WITH_FILE(test) cmocka_unit_test_setup_teardown(test, make_directory, remove_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_requests_and_every_response),
        cmocka_unit_test(metadata_requests_are_all_but_read_and_write),
        cmocka_unit_test(a_command_that_is_none_is_counted_as_no_other),
        cmocka_unit_test(latency_quantiles_are_right_to_half_an_octave),
        cmocka_unit_test(the_longest_and_shortest_latencies_have_a_bucket),
        cmocka_unit_test(errors_come_most_frequent_first_and_a_logon_is_none),
        cmocka_unit_test(more_statuses_than_are_kept_are_summed),
        WITH_FILE(threads_lose_no_count_and_no_line),
        WITH_FILE(events_are_json_lines_under_windows_names),
        WITH_FILE(promises_are_lines_with_the_moment_they_reached_us),
        WITH_FILE(any_name_that_a_server_may_store_is_a_valid_line),
        WITH_FILE(a_name_longer_than_the_buffer_is_lost_and_counted),
        cmocka_unit_test(a_full_disk_is_counted_and_stops_nobody),
        WITH_FILE(lines_reach_the_file_within_a_second_or_two),
        WITH_FILE(two_mounts_may_share_one_file),
        WITH_FILE(a_file_that_cannot_be_opened_is_named),
        WITH_FILE(who_listens_is_told_each_event_in_order_and_the_file_holds_it_too),
        cmocka_unit_test(who_listens_slowly_holds_up_nobody_and_what_is_lost_is_counted),
        cmocka_unit_test(a_cache_that_is_off_counts_its_misses_without_events),
        cmocka_unit_test(performance_events_are_one_a_request_where_asked_for),
        WITH_FILE(a_connection_that_is_lost_and_made_again_is_two_events),
        cmocka_unit_test(a_dead_cache_names_the_setting_to_change),
        cmocka_unit_test(the_alarm_stays_silent_where_nothing_is_wrong),
        cmocka_unit_test(json_has_the_members_that_programs_rely_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
