/* Figures, limits, table, schedule and command of a comparison; the runs here are no mounts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "compare/compare.h"

/* ---- figures ---- */

static void medians_are_of_any_number_of_values(void **state)
{
    double odd[] = {9, 1, 5}, even[] = {4, 1, 3, 100}, one[] = {7};
    assert_true(figure_median(odd, 3) == 5);
    assert_true(figure_median(even, 4) == 3.5);
    assert_true(figure_median(one, 1) == 7);
    assert_true(isnan(figure_median(one, 0)));
}

static void figures_are_found_by_row_by_json_name_and_by_its_last_part(void **state)
{
    static const struct {
        const char *asked, *name;
    } cases[] = {
        {"QUERY_DIRECTORY", "commands.QUERY_DIRECTORY"},
        {"query_directory", "commands.QUERY_DIRECTORY"},
        {"commands.create", "commands.CREATE"},
        {"messages", "messages"},
        {"SMB2 messages", "messages"},
        {"round_trips", "round_trips"},
        {"Round Trips", "round_trips"},
        {"round-trips", "round_trips"},
        {"seconds", "seconds"},
        {"application start (s)", "seconds"},
        {"Metadata Requests/sec", "metadata_requests_per_second"},
        {"metadata_requests_per_second", "metadata_requests_per_second"},
        {"events.dir", "events.dir"},
        {"trace events \"dir\"", "events.dir"},
        {"trace events dir", "events.dir"},
        {"performance", "events.performance"},
        {"cache.info.hit", "cache.info.hit"},
        {"oplock_break", "commands.OPLOCK_BREAK"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct figure *f = figure_find(cases[i].asked);
        if (!f)
            fail_msg("%s is no figure", cases[i].asked);
        assert_string_equal(f->name, cases[i].name);
    }
    assert_null(figure_find(""));
    assert_null(figure_find("hit")); /* of which cache? */
    assert_null(figure_find("CREAT"));
    assert_null(figure_find("CREATED"));
}

static void the_rows_stand_in_the_reports_order(void **state)
{
    static const char *const report[] = {"application start (s)",
                                         "SMB2 messages",
                                         "CREATE",
                                         "CLOSE",
                                         "READ",
                                         "QUERY_DIRECTORY",
                                         "QUERY_INFO",
                                         "IOCTL",
                                         "CHANGE_NOTIFY",
                                         "Metadata Requests/sec",
                                         "trace events \"file\"",
                                         "trace events \"dir\"",
                                         "trace events \"performance\"",
                                         "round trips"};
    size_t next = 0;
    const struct figure *f;
    for (size_t i = 0; (f = figure_at(i)); i++)
        if (next < 14 && strcmp(f->row, report[next]) == 0)
            next++;
    assert_int_equal(next, 14);
}

static void limits_are_parsed_or_refused(void **state)
{
    struct figure_limit l;
    assert_int_equal(figure_limit_parse("QUERY_DIRECTORY=2", &l), 0);
    assert_string_equal(l.figure->name, "commands.QUERY_DIRECTORY");
    assert_true(l.ratio == 2);
    assert_int_equal(figure_limit_parse("round trips=0.5", &l), 0);
    assert_true(l.ratio == 0.5);
    const char *bad[] = {
        "",
        "=",
        "CREATE",
        "CREATE=",
        "CREATE=x",
        "CREATE=2x",
        "CREATE=-1",
        "CREATE=nan",
        "CREATE=inf",
        "NOTHING=1",
        "a-name-that-is-longer-than-any-figure-could-ever-be-called-by-anybody-at-all=1"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (figure_limit_parse(bad[i], &l) != -EINVAL)
            fail_msg("\"%s\" was taken", bad[i]);
}

static void a_limit_holds_up_to_its_ratio_and_against_nothing(void **state)
{
    struct figure_limit l = {.ratio = 2};
    assert_false(figure_limit_exceeded(&l, 20, 10));
    assert_true(figure_limit_exceeded(&l, 21, 10));
    assert_false(figure_limit_exceeded(&l, 0, 0));
    assert_true(figure_limit_exceeded(&l, 1, 0));
}

/* ---- table and JSON ---- */

static char *const words[] = {"/usr/bin/python3", "-c", "print('a b')", "{mnt}/tool.py", NULL};

static struct compare_job job_of(struct compare_profile *profiles, size_t count)
{
    return (struct compare_job){.command = words,
                                .server = "127.0.0.1:4450/share",
                                .profiles = profiles,
                                .profile_count = count,
                                .runs = 1};
}

static json_t *run_of(const char *profile, double seconds, int messages, int create, int dir_events,
                      int echo)
{
    json_t *j = json_pack(
        "{s:s, s:f, s:i, s:i, s:{s:i}, s:{s:i}, s:f, s:{s:i, s:i, s:i}, s:{s:{s:i, s:{s:i, s:i}}},"
        " s:i, s:{s:s, s:s}, s:{s:s, s:s}, s:[]}",
        "profile", profile, "seconds", seconds, "messages", messages, "round_trips", messages / 2,
        "commands", "CREATE", create, "requests", "CREATE", create / 2,
        "metadata_requests_per_second", 1185.523, "events", "file", 10, "dir", dir_events,
        "performance", 0, "cache", "dir", "hit", 30, "miss", "absent", 10, "disabled", 99,
        "exit_status", 0, "connection", "dialect", "3.1.1", "signing", "AES-CMAC", "settings",
        "FileInfoCacheLifetime", "10", "DirectoryCache",
        strcmp(profile, "25h2") == 0 ? "false" : "true", "faults");
    assert_non_null(j);
    if (echo)
        json_object_set_new(json_object_get(j, "commands"), "ECHO", json_integer(echo));
    return j;
}

static char *print_of(const struct compare_job *job, const struct compare_results *r)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    assert_int_equal(compare_print(job, r, out), 0);
    fclose(out);
    return text;
}

static void assert_line(const char *text, const char *line)
{
    char *with = NULL;
    assert_true(asprintf(&with, "\n%s\n", line) > 0);
    if (!strstr(text, with))
        fail_msg("no line \"%s\" in:\n%s", line, text);
    free(with);
}

static void the_table_shows_figures_ratios_and_what_differs(void **state)
{
    struct compare_profile p[] = {{"23h2"}, {"25h2"}, {"larder"}};
    compare_labels(p, 3);
    struct compare_job job = job_of(p, 3);
    struct compare_result list[] = {{0, run_of("23h2", 26, 12544, 3278, 93917, 0)},
                                    {1, run_of("25h2", 80.25, 227796, 56536, 0, 4)},
                                    {2, run_of("larder", 3, 1200, 600, 7, 0)}};
    struct compare_results r = {list, 3};
    char *text = print_of(&job, &r);

    assert_line(text, "server       127.0.0.1:4450/share");
    assert_line(text, "dialect      3.1.1, signing AES-CMAC");
    assert_line(text, "round trip   the network's own");
    assert_line(text, "command      /usr/bin/python3 -c 'print('\\''a b'\\'')' {mnt}/tool.py");
    assert_line(text, "settings that differ  23h2   25h2  larder");
    assert_line(text, "DirectoryCache        true  false    true");
    assert_null(strstr(text, "FileInfoCacheLifetime"));
    assert_line(text, "metric                           23h2       25h2  ratio     larder  ratio");
    assert_line(text, "application start (s)           26.00      80.25   3.1x       3.00  0.12x");
    assert_line(text, "SMB2 messages                  12,544    227,796  18.2x      1,200  0.10x");
    assert_line(text, "QUERY_DIRECTORY                     0          0      -          0      -");
    assert_line(text, "ECHO                                0          4      -          0      -");
    assert_null(strstr(text, "NEGOTIATE"));
    assert_line(text, "Metadata Requests/sec        1,185.52   1,185.52   1.0x   1,185.52   1.0x");
    assert_line(text,
                "trace events \"dir\"             93,917          0  0.00x          7  0.00x");
    assert_line(text, "dir cache hits              30 (75 %)  30 (75 %)   1.0x  30 (75 %)   1.0x");
    assert_line(text, "info cache hits                     0          0      -          0      -");
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        assert_true(report_width(line) <= 100);
    free(text);
    for (int i = 0; i < 3; i++)
        json_decref(list[i].run);
}

static void medians_of_runs_fill_the_table_each_figure_for_itself(void **state)
{
    struct compare_profile p[] = {{"23h2"}, {"25h2"}};
    compare_labels(p, 2);
    struct compare_job job = job_of(p, 2);
    job.runs = 3;
    job.markdown = true;
    job.rtt_ms = 2.5;
    struct compare_result list[] = {
        {0, run_of("23h2", 1, 300, 6, 1, 0)}, {1, run_of("25h2", 1, 10, 1, 0, 0)},
        {0, run_of("23h2", 3, 100, 4, 1, 0)}, {1, run_of("25h2", 1, 20, 1, 0, 0)},
        {0, run_of("23h2", 2, 200, 9, 1, 0)}, {1, run_of("25h2", 1, 30, 1, 0, 0)}};
    struct compare_results r = {list, 6};
    assert_true(compare_figure(&r, 0, figure_find("seconds")) == 2);
    assert_true(compare_figure(&r, 0, figure_find("CREATE")) == 6);
    char *text = print_of(&job, &r);
    assert_line(text, "- round trip: 2.500 ms, by a relay");
    assert_line(text, "- runs: 3 of each profile, alternating; the table has medians");
    assert_line(text, "| SMB2 messages              |       200 |        20 | 0.10x |");
    free(text);

    struct compare_results two = {list, 4}; /* an even number: between two counts */
    assert_true(compare_figure(&two, 0, figure_find("CREATE")) == 5);
    assert_true(compare_figure(&two, 1, figure_find("messages")) == 15);
    for (int i = 0; i < 6; i++)
        json_decref(list[i].run);
}

static void an_exceeded_limit_is_named_with_its_figures(void **state)
{
    struct compare_profile p[] = {{"23h2"}, {"25h2"}, {"larder"}};
    compare_labels(p, 3);
    struct compare_job job = job_of(p, 3);
    struct figure_limit limits[2];
    assert_int_equal(figure_limit_parse("messages=2", &limits[0]), 0);
    assert_int_equal(figure_limit_parse("seconds=10", &limits[1]), 0);
    job.limits = limits;
    job.limit_count = 2;
    struct compare_result list[] = {{0, run_of("23h2", 26, 12544, 1, 1, 0)},
                                    {1, run_of("25h2", 80, 227796, 1, 0, 0)},
                                    {2, run_of("larder", 3, 1200, 1, 1, 0)}};
    struct compare_results r = {list, 3};
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    assert_int_equal(compare_check(&job, &r, out), 1);
    fclose(out);
    assert_string_equal(
        text, "larder: compare: SMB2 messages of 25h2 is 227,796, of 23h2 12,544: 18.2x where "
              "at most 2x is allowed\n");
    free(text);
    for (int i = 0; i < 3; i++)
        json_decref(list[i].run);
}

static void labels_tell_profiles_apart(void **state)
{
    struct compare_profile p[] = {{"25h2"},
                                  {"25h2:FileInfoCacheLifetime=60"},
                                  {"25h2"},
                                  {"25h2:DirectoryCacheLifetime=60,FileInfoCacheEntriesMax=65536"},
                                  {"larder"}};
    compare_labels(p, 5);
    const char *want[] = {"25h2", "25h2+", "25h2#2", "25h2+#2", "larder"};
    for (int i = 0; i < 5; i++)
        assert_string_equal(p[i].label, want[i]);
}

static void json_says_what_was_run(void **state)
{
    struct compare_profile p[] = {{"23h2"}};
    compare_labels(p, 1);
    struct compare_job job = job_of(p, 1);
    job.rtt_ms = 1;
    struct compare_result list[] = {{0, run_of("23h2", 26, 12544, 3278, 5, 0)}};
    struct compare_results r = {list, 1};
    json_t *j = compare_json(&job, &r), *command, *run;
    const char *version, *profile;
    double rtt, seconds;
    json_int_t messages, create, dir;
    json_error_t err;
    if (json_unpack_ex(j, &err, 0, "{s:s, s:o, s:F, s:[o]}", "larder", &version, "command",
                       &command, "rtt_ms", &rtt, "runs", &run))
        fail_msg("%s", err.text);
    assert_string_equal(version, LARDER_VERSION);
    assert_int_equal(json_array_size(command), 4);
    assert_true(rtt == 1);
    if (json_unpack_ex(run, &err, 0, "{s:s, s:F, s:I, s:{s:I}, s:{s:I}}", "profile", &profile,
                       "seconds", &seconds, "messages", &messages, "commands", "CREATE", &create,
                       "events", "dir", &dir))
        fail_msg("%s", err.text);
    assert_string_equal(profile, "23h2");
    assert_int_equal(create, 3278);
    json_decref(j);
    json_decref(list[0].run);
}

/* ---- schedule ---- */

/* Runs are other processes: what they saw is told through shared memory. */
struct seen {
    size_t runs, profile[16];
    char mountpoint[128];
    pid_t command;
};
static struct seen *seen;

static int setup_seen(void **state)
{
    seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return seen == MAP_FAILED;
}

static int teardown_seen(void **state)
{
    return munmap(seen, sizeof(*seen));
}

static void note(const struct compare_run *run)
{
    seen->profile[seen->runs++] = run->profile;
    snprintf(seen->mountpoint, sizeof(seen->mountpoint), "%s", run->mountpoint);
}

static int good_body(const struct compare_run *run, json_t **ret, struct error *err)
{
    struct stat st;
    note(run);
    bool there = stat(run->mountpoint, &st) == 0 && S_ISDIR(st.st_mode);
    *ret = json_pack("{s:s, s:i, s:i}", "profile", run->job->profiles[run->profile].spec,
                     "exit_status", there ? 0 : 9, "messages", (int)seen->runs);
    return 0;
}

static void profiles_alternate_after_an_uncounted_warm_up(void **state)
{
    struct compare_profile p[] = {{"a"}, {"b"}, {"c"}};
    struct compare_job job = job_of(p, 3);
    job.runs = 2;
    struct compare_results r;
    assert_int_equal(compare_schedule(&job, good_body, &r), COMPARE_DONE);
    const size_t want[] = {0, 0, 1, 2, 0, 1, 2};
    assert_int_equal(seen->runs, 7);
    for (int i = 0; i < 7; i++)
        assert_int_equal(seen->profile[i], want[i]);
    assert_int_equal(r.count, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(r.list[i].profile, i % 3);
        assert_int_equal(json_integer_value(json_object_get(r.list[i].run, "messages")), i + 2);
    }
    struct stat st;
    assert_int_equal(stat(seen->mountpoint, &st), -1); /* the place is gone */
    compare_results_done(&r);
}

/* stderr of what is called between the two. */
static int saved_stderr;

static FILE *stderr_begin(void)
{
    FILE *f = tmpfile();
    fflush(stderr);
    saved_stderr = dup(2);
    dup2(fileno(f), 2);
    return f;
}

static char *stderr_end(FILE *f)
{
    static char text[8192];
    fflush(stderr);
    dup2(saved_stderr, 2);
    close(saved_stderr);
    rewind(f);
    text[fread(text, 1, sizeof(text) - 1, f)] = 0;
    fclose(f);
    return text;
}

static int failing_body(const struct compare_run *run, json_t **ret, struct error *err)
{
    note(run);
    dprintf(run->output, "no such module");
    *ret = json_pack("{s:s, s:i}", "profile", "x", "exit_status", seen->runs == 3 ? 7 : 0);
    return 0;
}

static void a_failing_command_is_shown_with_its_output_and_ends_it(void **state)
{
    struct compare_profile p[] = {{"first"}, {"second"}, {"third"}};
    compare_labels(p, 3);
    struct compare_job job = job_of(p, 3);
    struct compare_results r;
    FILE *f = stderr_begin();
    int code = compare_schedule(&job, failing_body, &r);
    char *text = stderr_end(f);
    assert_int_equal(code, COMPARE_FAILED);
    assert_string_equal(
        text, "larder: compare: second: /usr/bin/python3 exited with status 7; it printed:\n"
              "no such module\n");
    assert_int_equal(seen->runs, 3);
    assert_int_equal(r.count, 2); /* the failed one is in the JSON too */
    compare_results_done(&r);
}

static int refusing_body(const struct compare_run *run, json_t **ret, struct error *err)
{
    return error_set(err, -EACCES, 0, "logon refused");
}

static int crashing_body(const struct compare_run *run, json_t **ret, struct error *err)
{
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
    return 0;
}

static int silent_body(const struct compare_run *run, json_t **ret, struct error *err)
{
    _exit(0);
}

static void a_run_that_cannot_run_or_dies_is_told(void **state)
{
    static const struct {
        compare_body body;
        const char *said;
    } cases[] = {
        {refusing_body, "larder: compare: a: logon refused\n"},
        {crashing_body, "killed by signal 11"},
        {silent_body, "ended without a result"},
    };
    struct compare_profile p[] = {{"a"}};
    compare_labels(p, 1);
    struct compare_job job = job_of(p, 1);
    for (size_t i = 0; i < 3; i++) {
        struct compare_results r;
        FILE *f = stderr_begin();
        int code = compare_schedule(&job, cases[i].body, &r);
        char *text = stderr_end(f);
        assert_int_equal(code, COMPARE_FAILED);
        if (!strstr(text, cases[i].said))
            fail_msg("\"%s\" is not in \"%s\"", cases[i].said, text);
        assert_int_equal(r.count, 0);
    }
}

/* A body whose command waits; it behaves as compare_child does. */
static int waiting_body(const struct compare_run *run, json_t **ret, struct error *err)
{
    char *const argv[] = {"sleep", "60", NULL};
    struct command_end end;
    pid_t pid;
    note(run);
    assert_int_equal(command_start(argv, run->mountpoint, run->output, &pid, err), 0);
    kill(getppid(), SIGTERM); /* somebody stops larder now */
    command_wait(pid, &end);
    *ret = json_pack("{s:b, s:i}", "interrupted", end.interrupted, "exit_status", end.exit_status);
    return 0;
}

static void a_signal_ends_the_run_and_the_schedule_and_leaves_nothing(void **state)
{
    struct compare_profile p[] = {{"a"}, {"b"}};
    struct compare_job job = job_of(p, 2);
    struct compare_results r;
    uint64_t start = clock_now();
    assert_int_equal(compare_schedule(&job, waiting_body, &r), COMPARE_INTERRUPTED);
    assert_true(clock_now() - start < 10 * NS_PER_SEC);
    assert_int_equal(seen->runs, 1);
    assert_int_equal(r.count, 0);
    struct stat st;
    assert_int_equal(stat(seen->mountpoint, &st), -1);
    sigset_t pending;
    sigpending(&pending);
    assert_false(sigismember(&pending, SIGTERM));
}

/* A run that hangs where no signal reaches it, as one whose server is gone may. */
static int hanging_body(const struct compare_run *run, json_t **ret, struct error *err)
{
    note(run);
    kill(getppid(), SIGINT);
    while (pause() < 0) /* always */
        ;
    return 0;
}

static void a_run_that_hangs_is_killed_after_a_while(void **state)
{
    struct compare_profile p[] = {{"a"}};
    struct compare_job job = job_of(p, 1);
    struct compare_results r;
    uint64_t start = clock_now();
    assert_int_equal(compare_schedule(&job, hanging_body, &r), COMPARE_INTERRUPTED);
    assert_true(clock_now() - start < 20 * NS_PER_SEC);
    struct stat st;
    assert_int_equal(stat(seen->mountpoint, &st), -1);
}

static int dying_body(const struct compare_run *run, json_t **ret, struct error *err)
{
    char *const argv[] = {"sleep", "58", NULL};
    assert_int_equal(command_start(argv, run->mountpoint, run->output, run->command, err), 0);
    seen->command = *run->command;
    _exit(1);
}

/* Killed, though perhaps not reaped by its new parent yet. */
static bool is_dead(pid_t pid)
{
    char path[64], text[512] = "";
    for (int i = 0; i < 200; i++) {
        snprintf(path, sizeof(path), "/proc/%d/stat", pid);
        FILE *f = fopen(path, "r");
        if (!f)
            return true;
        (void)!fread(text, 1, sizeof(text) - 1, f);
        fclose(f);
        if (strstr(text, ") Z "))
            return true;
        usleep(10000);
    }
    return false;
}

static void the_command_of_a_run_that_died_does_not_live_on(void **state)
{
    struct compare_profile p[] = {{"a"}};
    struct compare_job job = job_of(p, 1);
    struct compare_results r;
    FILE *f = stderr_begin();
    int code = compare_schedule(&job, dying_body, &r);
    stderr_end(f);
    assert_int_equal(code, COMPARE_FAILED);
    assert_true(seen->command > 1);
    assert_true(is_dead(seen->command));
}

/* ---- command ---- */

static void block_signals(int how)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGCHLD);
    sigprocmask(how, &set, NULL);
}

static void words_have_the_mount_point_wherever_it_is_named(void **state)
{
    char *const argv[] = {"{mnt}", "-p{mnt}/a:{mnt}/b", "{mn}t", "", NULL};
    char **got = command_argv(argv, "/m");
    assert_string_equal(got[0], "/m");
    assert_string_equal(got[1], "-p/m/a:/m/b");
    assert_string_equal(got[2], "{mn}t");
    assert_string_equal(got[3], "");
    assert_null(got[4]);
    command_argv_free(got);
}

static struct command_end run_script(const char *script, char *out, size_t cap)
{
    char *const argv[] = {"sh", "-c", (char *)script, NULL};
    struct command_end end;
    struct error err = {0};
    pid_t pid;
    FILE *f = tmpfile();
    block_signals(SIG_BLOCK);
    if (command_start(argv, "/the/mount", fileno(f), &pid, &err) < 0)
        fail_msg("%s", err.text);
    command_wait(pid, &end);
    block_signals(SIG_UNBLOCK);
    rewind(f);
    out[fread(out, 1, cap - 1, f)] = 0;
    fclose(f);
    return end;
}

static void the_command_sees_an_empty_stdin_the_mount_point_and_no_password(void **state)
{
    char out[256];
    setenv("LARDER_PASSWORD", "secret", 1);
    struct command_end end = run_script(
        "cat; echo \"[$LARDER_MNT][$LARDER_PASSWORD]\"; echo err >&2; exit 3", out, sizeof(out));
    unsetenv("LARDER_PASSWORD");
    assert_string_equal(out, "[/the/mount][]\nerr\n");
    assert_int_equal(end.exit_status, 3);
    assert_false(end.interrupted);
    end = run_script("kill -9 $$", out, sizeof(out));
    assert_int_equal(end.exit_status, 128 + 9);
}

static void signals_are_not_blocked_in_the_command(void **state)
{
    char out[256];
    struct command_end end = run_script("kill -TERM $$; sleep 5; echo lived", out, sizeof(out));
    assert_int_equal(end.exit_status, 128 + SIGTERM);
    assert_string_equal(out, "");
}

static void *interrupt_soon(void *arg)
{
    usleep(100000);
    kill(getpid(), SIGINT);
    return NULL;
}

static void a_command_that_does_not_heed_is_killed_with_all_it_started(void **state)
{
    char out[64];
    pthread_t t;
    block_signals(SIG_BLOCK); /* before there is a second thread */
    pthread_create(&t, NULL, interrupt_soon, NULL);
    struct command_end end =
        run_script("trap '' INT; sleep 59 & echo $!; sleep 59; sleep 59", out, sizeof(out));
    pthread_join(t, NULL);
    assert_true(end.interrupted);
    pid_t left = atoi(out);
    assert_true(left > 1);
    assert_true(is_dead(left));
}

static void a_program_that_is_not_there_is_named(void **state)
{
    char *const argv[] = {"/no/such/program", NULL};
    struct error err = {0};
    pid_t pid;
    assert_int_equal(command_start(argv, "/m", 1, &pid, &err), -ENOENT);
    assert_string_equal(err.text, "/no/such/program: No such file or directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(medians_are_of_any_number_of_values),
        cmocka_unit_test(figures_are_found_by_row_by_json_name_and_by_its_last_part),
        cmocka_unit_test(the_rows_stand_in_the_reports_order),
        cmocka_unit_test(limits_are_parsed_or_refused),
        cmocka_unit_test(a_limit_holds_up_to_its_ratio_and_against_nothing),
        cmocka_unit_test(the_table_shows_figures_ratios_and_what_differs),
        cmocka_unit_test(medians_of_runs_fill_the_table_each_figure_for_itself),
        cmocka_unit_test(an_exceeded_limit_is_named_with_its_figures),
        cmocka_unit_test(labels_tell_profiles_apart),
        cmocka_unit_test(json_says_what_was_run),
        cmocka_unit_test_setup_teardown(profiles_alternate_after_an_uncounted_warm_up, setup_seen,
                                        teardown_seen),
        cmocka_unit_test_setup_teardown(a_failing_command_is_shown_with_its_output_and_ends_it,
                                        setup_seen, teardown_seen),
        cmocka_unit_test_setup_teardown(a_run_that_cannot_run_or_dies_is_told, setup_seen,
                                        teardown_seen),
        cmocka_unit_test_setup_teardown(a_signal_ends_the_run_and_the_schedule_and_leaves_nothing,
                                        setup_seen, teardown_seen),
        cmocka_unit_test_setup_teardown(a_run_that_hangs_is_killed_after_a_while, setup_seen,
                                        teardown_seen),
        cmocka_unit_test_setup_teardown(the_command_of_a_run_that_died_does_not_live_on, setup_seen,
                                        teardown_seen),
        cmocka_unit_test(words_have_the_mount_point_wherever_it_is_named),
        cmocka_unit_test(the_command_sees_an_empty_stdin_the_mount_point_and_no_password),
        cmocka_unit_test(signals_are_not_blocked_in_the_command),
        cmocka_unit_test(a_command_that_does_not_heed_is_killed_with_all_it_started),
        cmocka_unit_test(a_program_that_is_not_there_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
