/*
 * Callers that get signals while the server is silent: one that is killed is let go at once, any
 * other signal leaves the call alone.
 */
#include "mounted.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

#define SILENT_MS 3000

static void do_nothing(int signal)
{
}

/* Exits with 0 where the file was found and a signal came meanwhile, with the errno else. */
static _Noreturn void look_up(const struct mounted *m, unsigned alarm_us)
{
    struct stat st;
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = do_nothing}, NULL);
    if (alarm_us)
        ualarm(alarm_us, 0);
    int rc = stat(in(m, "hello"), &st) < 0 ? errno : 0;
    bool came = ualarm(0, 0) == 0;
    _exit(rc ? rc : came ? 0 : 255);
}

static pid_t start_look_up(const struct mounted *m, unsigned alarm_us)
{
    pid_t pid = fork_user();
    if (pid == 0)
        look_up(m, alarm_us);
    assert_true(pid > 0);
    return pid;
}

/* Whether the process ends in time; its status. */
static bool ends(pid_t pid, unsigned ms, int *ret_status)
{
    for (unsigned waited = 0; waited <= ms; waited += 10) {
        if (waitpid(pid, ret_status, WNOHANG) == pid)
            return true;
        usleep(10 * 1000);
    }
    return false;
}

static void is_killed(pid_t pid)
{
    int status = 0;
    kill(pid, SIGKILL);
    bool in_time = ends(pid, SILENT_MS / 3, &status);
    if (!in_time)
        waitpid(pid, &status, 0);
    assert_true(in_time);
    assert_true(WIFSIGNALED(status));
}

/* An interrupt that comes too late for its call is kept by libfuse until the next calls, and leaked
 * where there are none. */
static void finish_interrupted(struct mounted *m)
{
    struct statvfs fs;
    fake_share_slow(m->share, 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(statvfs(m->dir, &fs), 0);
    finish(m);
}

static void a_killed_caller_is_let_go_at_once(void **state)
{
    struct mounted *m = begin(0);
    fake_share_slow(m->share, SILENT_MS);
    pid_t pid = start_look_up(m, 0);
    usleep(200 * 1000);
    is_killed(pid);
    fake_share_slow(m->share, 0);
    struct stat st;
    assert_int_equal(stat(in(m, "hello"), &st), 0); /* the mount goes on */
    finish_interrupted(m);                          /* and nothing is left held */
}

static void a_signal_that_does_not_kill_fails_no_call(void **state)
{
    struct mounted *m = begin(0);
    int status;
    fake_share_slow(m->share, 500);
    pid_t pid = start_look_up(m, 100 * 1000);
    assert_true(ends(pid, SILENT_MS, &status));
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    finish_interrupted(m);
}

/* The kernel tells of the first signal only. */
static void a_caller_is_killed_also_after_another_signal(void **state)
{
    struct mounted *m = begin(0);
    fake_share_slow(m->share, SILENT_MS);
    pid_t pid = start_look_up(m, 100 * 1000);
    usleep(300 * 1000);
    is_killed(pid);
    finish_interrupted(m);
}

/* Else the dead would overwrite what was written after their death. */
static void a_change_waits_for_one_whose_caller_was_killed(void **state)
{
    struct mounted *m = begin(LONG_NS);
    int fd = open(in(m, "hello"), O_RDWR);
    assert_true(fd >= 0);
    fake_share_slow(m->share, SILENT_MS / 2);
    pid_t pid = fork_user();
    if (pid == 0)
        _exit(pwrite(fd, "D", 1, 0) == 1 ? 0 : 1);
    usleep(200 * 1000);
    is_killed(pid);
    fake_share_slow(m->share, 0);
    assert_int_equal(pwrite(fd, "J", 1, 0), 1);
    char *content = fake_share_content(m->share, "hello");
    assert_string_equal(content, "Jello, world\n");
    free(content);
    close(fd);
    finish_interrupted(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_caller_is_let_go_at_once),
        cmocka_unit_test(a_signal_that_does_not_kill_fails_no_call),
        cmocka_unit_test(a_caller_is_killed_also_after_another_signal),
        cmocka_unit_test(a_change_waits_for_one_whose_caller_was_killed),
    };
    return cmocka_run_group_tests_name("mount killed", tests, NULL, NULL);
}
