/* Remote changes as inotify events, on a real mount of the share in memory. */
#include "mounted.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "mount/control.h"
#include "mount/session.h"

#define PATIENCE_MS 10000
#define SILENCE_MS  400
#define EVERYTHING                                                                                 \
    (IN_CREATE | IN_DELETE | IN_MODIFY | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF |            \
     IN_MOVE_SELF)

static bool comes_true(bool (*condition)(struct mounted *m), struct mounted *m)
{
    for (int ms = 0; ms < PATIENCE_MS; ms += 10) {
        if (condition(m))
            return true;
        usleep(10000);
    }
    return false;
}

static bool top_is_watched(struct mounted *m)
{
    return fake_share_is_watched(m->share, "");
}

static bool nothing_is_watched(struct mounted *m)
{
    return !fake_share_is_watched(m->share, "");
}

static struct mounted *begin_inotify(bool read_only)
{
    struct share *s = fake_share_new(LONG_NS);
    fake_share_inotify(s, true);
    return begin_share(s, read_only, 64);
}

/* A watch of the top, once the mount has found out. */
static int watch_top(struct mounted *m)
{
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    assert_true(inotify_add_watch(fd, m->dir, EVERYTHING) > 0);
    assert_true(comes_true(top_is_watched, m));
    return fd;
}

/* The next event, "" and 0 where none comes. */
static uint32_t next_event(int fd, int wait_ms, char name[static 64], uint32_t *ret_cookie)
{
    static char buf[4096] __attribute__((aligned(8)));
    static ssize_t have, at;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    name[0] = '\0';
    if (at >= have) {
        at = 0;
        have = poll(&p, 1, wait_ms) == 1 ? read(fd, buf, sizeof(buf)) : 0;
    }
    if (at >= have)
        return 0;
    const struct inotify_event *e = (const struct inotify_event *)(buf + at);
    at += (ssize_t)(sizeof(*e) + e->len);
    if (e->len)
        snprintf(name, 64, "%s", e->name);
    if (ret_cookie)
        *ret_cookie = e->cookie;
    return e->mask;
}

static void expect(int fd, uint32_t mask, const char *name)
{
    char got[64];
    assert_int_equal(next_event(fd, PATIENCE_MS, got, NULL), mask);
    assert_string_equal(got, name);
}

static void expect_move(int fd, const char *from, const char *to)
{
    char got[64];
    uint32_t one, other;
    assert_int_equal(next_event(fd, PATIENCE_MS, got, &one), IN_MOVED_FROM);
    assert_string_equal(got, from);
    assert_int_equal(next_event(fd, PATIENCE_MS, got, &other), IN_MOVED_TO);
    assert_string_equal(got, to);
    assert_int_equal(one, other);
}

static void expect_nothing_more(int fd)
{
    char got[64];
    assert_int_equal(next_event(fd, SILENCE_MS, got, NULL), 0);
}

static int64_t counted(struct mounted *m, const char *what)
{
    json_t *all;
    struct error err;
    assert_int_equal(control_query(m->dir, "stats", NULL, &all, &err), 0);
    json_t *inotify = json_object_get(json_object_get(all, "mount"), "inotify");
    json_int_t n = json_integer_value(json_object_get(inotify, what));
    json_decref(all);
    return n;
}

/* ---- what is told ---- */

static void each_remote_change_is_told_once_and_asks_for_no_change(void **state)
{
    struct mounted *m = begin_inotify(false);
    struct stat st;
    int fd = watch_top(m);
    fake_share_counts(m->share);

    fake_share_others_make(m->share, "", "file", FILE_ATTRIBUTE_NORMAL);
    expect(fd, IN_CREATE, "file");
    assert_int_equal(stat(in(m, "file"), &st), 0);
    assert_int_equal(st.st_size, strlen("made by others"));
    fake_share_others_make(m->share, "", "dir", FILE_ATTRIBUTE_DIRECTORY);
    expect(fd, IN_CREATE | IN_ISDIR, "dir");
    fake_share_others_make(m->share, "", "link", FILE_ATTRIBUTE_REPARSE_POINT);
    expect(fd, IN_CREATE, "link");
    assert_int_equal(lstat(in(m, "link"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    fake_share_others_write(m->share, "", "file", "more than was there before");
    expect(fd, IN_MODIFY, "file");
    assert_int_equal(stat(in(m, "file"), &st), 0);
    assert_int_equal(st.st_size, strlen("more than was there before"));
    fake_share_others_rename(m->share, "", "file", "other");
    expect_move(fd, "file", "other");
    assert_int_equal(stat(in(m, "file"), &st), -1);
    assert_int_equal(stat(in(m, "other"), &st), 0);
    fake_share_others_rename(m->share, "", "dir", "dir2");
    char got[64];
    assert_int_equal(next_event(fd, PATIENCE_MS, got, NULL), IN_MOVED_FROM | IN_ISDIR);
    assert_int_equal(next_event(fd, PATIENCE_MS, got, NULL), IN_MOVED_TO | IN_ISDIR);
    fake_share_others_remove(m->share, "", "other");
    expect(fd, IN_DELETE, "other");
    fake_share_others_remove(m->share, "", "link");
    expect(fd, IN_DELETE, "link");
    fake_share_others_remove(m->share, "", "dir2");
    expect(fd, IN_DELETE | IN_ISDIR, "dir2");
    assert_int_equal(stat(in(m, "other"), &st), -1);

    expect_nothing_more(fd);
    assert_int_equal(fake_share_counts(m->share).changes, 0);
    assert_int_equal(counted(m, "failed"), 0);
    assert_int_equal(counted(m, "dropped"), 0);
    close(fd);
    finish(m);
}

/* Adds and removes without a word; what is told comes later. */
static void what_a_user_saw_first_is_told_all_the_same(void **state)
{
    struct mounted *m = begin_inotify(false);
    struct stat st;
    int fd = watch_top(m);

    assert_int_equal(stat(in(m, "new"), &st), -1); /* and that is kept */
    fake_share_others_make(m->share, "", "new", FILE_ATTRIBUTE_NORMAL);
    expect(fd, IN_CREATE, "new");
    assert_int_equal(stat(in(m, "new"), &st), 0);
    fake_share_tell(m->share, "", SHARE_ADDED, "hello", NULL);
    assert_int_equal(stat(in(m, "hello"), &st), 0); /* positive, before or after */
    expect(fd, IN_CREATE, "hello");

    assert_int_equal(stat(in(m, "never was"), &st), -1);
    fake_share_tell(m->share, "", SHARE_REMOVED, "never was", NULL);
    expect(fd, IN_DELETE, "never was");
    assert_int_equal(stat(in(m, "gone"), &st), -1);
    assert_int_equal(stat(in(m, "readonly"), &st), 0);
    fake_share_tell(m->share, "", SHARE_RENAMED, "gone", "readonly");
    expect_move(fd, "gone", "readonly");
    assert_int_equal(stat(in(m, "readonly"), &st), 0);

    expect_nothing_more(fd);
    assert_int_equal(counted(m, "failed"), 0);
    close(fd);
    finish(m);
}

static void what_came_and_went_at_once_is_told_as_both(void **state)
{
    struct mounted *m = begin_inotify(false);
    struct stat st;
    int fd = watch_top(m);
    fake_share_tell(m->share, "", SHARE_ADDED, "brief", NULL);
    fake_share_tell(m->share, "", SHARE_MODIFIED, "brief", NULL);
    fake_share_tell(m->share, "", SHARE_RENAMED, "brief", "moment");
    fake_share_tell(m->share, "", SHARE_REMOVED, "moment", NULL);
    expect(fd, IN_CREATE, "brief");
    expect_move(fd, "brief", "moment");
    expect(fd, IN_DELETE, "moment");
    fake_share_others_make(m->share, "", "dir", FILE_ATTRIBUTE_DIRECTORY);
    expect(fd, IN_CREATE | IN_ISDIR, "dir");
    fake_share_forget(m->share, "dir");
    expect(fd, IN_DELETE | IN_ISDIR, "dir");
    expect_nothing_more(fd);
    assert_int_equal(stat(in(m, "brief"), &st), -1);
    assert_int_equal(stat(in(m, "moment"), &st), -1);
    close(fd);
    finish(m);
}

static void a_state_of_a_file_is_told_once_however_often_the_server_says_it(void **state)
{
    struct mounted *m = begin_inotify(false);
    int fd = watch_top(m);
    fake_share_others_write(m->share, "", "hello", "one");
    expect(fd, IN_MODIFY, "hello");
    for (int i = 0; i < 3; i++) {
        fake_share_tell(m->share, "", SHARE_MODIFIED, "hello", NULL);
        expect_nothing_more(fd);
    }
    fake_share_others_write(m->share, "", "hello", "another");
    expect(fd, IN_MODIFY, "hello");
    fake_share_others_rename(m->share, "", "hello", "renamed");
    fake_share_tell(m->share, "", SHARE_MODIFIED, "renamed", NULL); /* as Samba does */
    fake_share_tell(m->share, "", SHARE_MODIFIED, "many", NULL);    /* something in it changed */
    expect_move(fd, "hello", "renamed");
    expect_nothing_more(fd);
    close(fd);
    finish(m);
}

static void two_halves_of_a_renaming_are_one(void **state)
{
    struct mounted *m = begin_inotify(false);
    int fd = watch_top(m);
    fake_share_others_halves(m->share, "hello", "moved");
    expect_move(fd, "hello", "moved");
    fake_share_others_remove(m->share, "", "readonly");
    fake_share_others_make(m->share, "", "another", FILE_ATTRIBUTE_NORMAL);
    expect(fd, IN_DELETE, "readonly");
    expect(fd, IN_CREATE, "another");
    expect_nothing_more(fd);
    close(fd);
    finish(m);
}

/* Disks give the number of what was removed to the next one that is made. */
static void nor_is_what_came_with_the_number_of_what_went(void **state)
{
    struct mounted *m = begin_inotify(false);
    int fd = watch_top(m);
    fake_share_others_reuse(m->share, "hello", "dir", FILE_ATTRIBUTE_DIRECTORY);
    expect(fd, IN_DELETE, "hello");
    expect(fd, IN_CREATE | IN_ISDIR, "dir");
    fake_share_others_reuse(m->share, "readonly", "younger", FILE_ATTRIBUTE_NORMAL);
    expect(fd, IN_DELETE, "readonly");
    expect(fd, IN_CREATE, "younger");
    expect_nothing_more(fd);
    close(fd);
    finish(m);
}

static void a_read_only_mount_tells_as_well(void **state)
{
    struct mounted *m = begin_inotify(true);
    int fd = watch_top(m);
    fake_share_others_make(m->share, "", "file", FILE_ATTRIBUTE_NORMAL);
    expect(fd, IN_CREATE, "file");
    fake_share_others_write(m->share, "", "file", "x");
    expect(fd, IN_MODIFY, "file");
    fake_share_others_rename(m->share, "", "file", "f");
    expect_move(fd, "file", "f");
    fake_share_others_remove(m->share, "", "f");
    expect(fd, IN_DELETE, "f");
    assert_int_equal(mkdir(in(m, "own"), 0755), -1);
    assert_int_equal(errno, EROFS);
    close(fd);
    finish(m);
}

static void who_watches_a_file_is_told_of_it(void **state)
{
    struct mounted *m = begin_inotify(false);
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    assert_true(inotify_add_watch(fd, in(m, "hello"), EVERYTHING) > 0);
    assert_true(comes_true(top_is_watched, m));
    fake_share_others_write(m->share, "", "hello", "told");
    expect(fd, IN_MODIFY, "");
    fake_share_others_rename(m->share, "", "hello", "renamed");
    expect(fd, IN_MOVE_SELF, "");
    close(fd);
    finish(m);
}

/* ---- who is watched ---- */

static void only_what_somebody_watches_is_watched_and_only_for_so_long(void **state)
{
    struct mounted *m = begin_inotify(false);
    struct stat st;
    assert_int_equal(stat(in(m, "many"), &st), 0);
    int fd = watch_top(m);
    assert_false(fake_share_is_watched(m->share, "many"));
    assert_int_equal(counted(m, "watched"), 1);
    assert_int_equal(counted(m, "told"), 1);
    close(fd);
    assert_true(comes_true(nothing_is_watched, m));
    assert_int_equal(fake_share_counts(m->share).watches, 1);
    finish(m);
}

static void a_watch_that_is_over_is_asked_for_again(void **state)
{
    struct mounted *m = begin_inotify(false);
    int fd = watch_top(m);
    fake_share_counts(m->share);
    fake_share_tell(m->share, "", SHARE_UNWATCHED, NULL, NULL);
    for (int ms = 0; ms < PATIENCE_MS && fake_share_counts(m->share).watches == 0; ms += 10)
        usleep(10000);
    assert_true(comes_true(top_is_watched, m));
    fake_share_others_make(m->share, "", "file", FILE_ATTRIBUTE_NORMAL);
    expect(fd, IN_CREATE, "file");
    close(fd);
    finish(m);
}

static void those_without_a_watch_of_their_own_are_counted_apart(void **state)
{
    struct mounted *m = begin_inotify(false);
    fake_share_own_watches(m->share, 1);
    int fd = watch_top(m);
    assert_true(inotify_add_watch(fd, in(m, "many"), EVERYTHING) > 0);
    assert_true(inotify_add_watch(fd, in(m, "empty"), EVERYTHING) > 0);
    for (int ms = 0; ms < PATIENCE_MS && counted(m, "told") < 3; ms += 10)
        usleep(10000);
    assert_int_equal(counted(m, "told"), 3);
    assert_int_equal(counted(m, "riding"), 2);
    fake_share_others_make(m->share, "many", "file", FILE_ATTRIBUTE_NORMAL);
    expect(fd, IN_CREATE, "file");
    close(fd);
    assert_true(comes_true(nothing_is_watched, m));
    for (int ms = 0; ms < PATIENCE_MS && counted(m, "told") > 0; ms += 10)
        usleep(10000);
    assert_int_equal(counted(m, "told"), 0);
    assert_int_equal(counted(m, "riding"), 0);
    finish(m);
}

static void a_server_that_refuses_is_not_asked_in_every_round(void **state)
{
    struct mounted *m = begin_inotify(false);
    fake_share_refuse_watches(m->share, true);
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    assert_true(inotify_add_watch(fd, m->dir, EVERYTHING) > 0);
    for (int ms = 0; ms < PATIENCE_MS && counted(m, "watched") == 0; ms += 10)
        usleep(10000);
    usleep(3500000);
    unsigned asked = fake_share_counts(m->share).watches;
    assert_in_range(asked, 1, 3); /* after 1 s and 2 s more; 7 rounds */
    assert_int_equal(counted(m, "told"), 0);
    close(fd);
    finish(m);
}

static void without_the_setting_nobody_is_watched_and_there_is_no_helper(void **state)
{
    struct mounted *m = begin(LONG_NS);
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    assert_true(inotify_add_watch(fd, m->dir, EVERYTHING) > 0);
    usleep(2500000);
    assert_int_equal(fake_share_counts(m->share).watches, 0);
    assert_int_equal(atomic_load(&m->mount->selfops.helper), 0);
    close(fd);
    finish(m);
}

/* ---- what must not go wrong ---- */

/* This thread takes the helper's place. */
static void a_call_of_the_helper_that_nobody_expects_is_cancelled(void **state)
{
    struct mounted *m = begin_inotify(false);
    struct stat st;
    char other[PATH_MAX];
    snprintf(other, sizeof(other), "%s/other", m->dir);
    assert_int_equal(stat(in(m, "hello"), &st), 0);
    assert_int_equal(stat(in(m, "empty"), &st), 0);
    fake_share_counts(m->share);
    int helper = atomic_exchange(&m->mount->selfops.helper, gettid());

    assert_int_equal(unlink(in(m, "hello")), -1);
    assert_int_equal(errno, ECANCELED);
    assert_int_equal(rmdir(in(m, "empty")), -1);
    assert_int_equal(errno, ECANCELED);
    assert_int_equal(mkdir(in(m, "new"), 0755), -1);
    assert_int_equal(errno, ECANCELED);
    assert_int_equal(mknod(in(m, "new"), S_IFREG | 0644, 0), -1);
    assert_int_equal(errno, ECANCELED);
    assert_int_equal(symlink("x", in(m, "new")), -1);
    assert_int_equal(errno, ECANCELED);
    assert_int_equal(rename(in(m, "hello"), other), -1);
    assert_int_equal(errno, ECANCELED);
    assert_int_equal(utimensat(AT_FDCWD, in(m, "hello"), NULL, 0), -1);
    assert_int_equal(errno, ECANCELED);
    assert_int_equal(stat(in(m, "readonly"), &st), -1); /* not known yet: the server is not asked */
    assert_int_equal(errno, ECANCELED);

    struct fake_counts counts = fake_share_counts(m->share);
    assert_int_equal(counts.changes + counts.lookups, 0);
    atomic_store(&m->mount->selfops.helper, helper);
    assert_int_equal(unlink(in(m, "hello")), 0);
    finish(m);
}

static void hold_up(void *user, const char *name)
{
    if (strncmp(name, "flood", 5) == 0)
        usleep(20000);
}

static void what_does_not_fit_into_the_queue_is_dropped_and_counted(void **state)
{
    struct mounted *m = begin_inotify(false);
    struct stat st;
    int fd = watch_top(m);
    fake_share_hook(m->share, hold_up, NULL);
    for (int i = 0; i < 10000; i++) {
        char name[32];
        snprintf(name, sizeof(name), "flood %d", i);
        fake_share_tell(m->share, "", SHARE_ADDED, name, NULL);
    }
    assert_in_range(counted(m, "dropped"), 1000, 3000);
    assert_int_equal(stat(in(m, "hello"), &st), 0);
    close(fd);
    finish(m); /* with thousands that wait */
}

static void what_is_mounted_inside_stays_mounted(void **state)
{
    if (geteuid() != 0)
        skip();
    struct mounted *m = begin_inotify(false);
    struct stat before, st;
    int fd = watch_top(m);
    assert_int_equal(mount("tmpfs", in(m, "empty"), "tmpfs", 0, NULL), 0);
    assert_int_equal(stat(in(m, "empty"), &before), 0);
    fake_share_tell(m->share, "", SHARE_REMOVED, "empty", NULL);
    fake_share_tell(m->share, "", SHARE_RENAMED, "empty", "elsewhere");
    fake_share_others_make(m->share, "", "after", FILE_ATTRIBUTE_NORMAL);
    expect(fd, IN_CREATE, "after");
    assert_int_equal(counted(m, "failed"), 2);
    assert_int_equal(stat(in(m, "empty"), &st), 0);
    assert_int_equal(st.st_dev, before.st_dev);
    assert_int_equal(umount(in(m, "empty")), 0);
    close(fd);
    finish(m);
}

static void a_helper_that_is_killed_takes_nothing_with_it(void **state)
{
    struct mounted *m = begin_inotify(false);
    struct stat st;
    int fd = watch_top(m);
    kill(atomic_load(&m->mount->selfops.helper), SIGKILL);
    fake_share_others_make(m->share, "", "file", FILE_ATTRIBUTE_NORMAL);
    for (int ms = 0; ms < PATIENCE_MS && counted(m, "failed") == 0; ms += 10)
        usleep(10000);
    assert_int_equal(counted(m, "failed"), 1);
    assert_int_equal(stat(in(m, "file"), &st), 0);
    close(fd);
    finish(m);
}

/* ---- a daemon that is killed ---- */

#define SLOW_MS 60000

struct daemon {
    pid_t pid, helper;
    char dir[64];
    int tell; /* a byte: "hello" has been removed */
};

/* Serves until it is killed. */
static _Noreturn void be_daemon(int out, int in)
{
    struct mounted *m = begin_inotify(false);
    struct daemon d = {.pid = getpid(), .helper = atomic_load(&m->mount->selfops.helper)};
    char byte;
    strcpy(d.dir, m->dir);
    while (!fake_share_is_watched(m->share, "")) {
        if (d.dir[0] && write(out, &d, sizeof(d)) < 0)
            _exit(1);
        d.dir[0] = '\0';
        usleep(10000);
    }
    fake_share_slow(m->share, SLOW_MS);
    if (write(out, &d, sizeof(d)) < 0 || read(in, &byte, 1) != 1)
        _exit(1);
    fake_share_tell(m->share, "", SHARE_REMOVED, "hello", NULL);
    for (;;)
        pause();
}

static bool start_daemon(struct daemon *d, int *ret_watch)
{
    int out[2], in[2];
    struct daemon word;
    assert_int_equal(pipe(out) | pipe(in), 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        close(out[0]);
        close(in[1]);
        be_daemon(out[1], in[0]);
    }
    close(out[1]);
    close(in[0]);
    bool there = read(out[0], d, sizeof(*d)) == sizeof(*d);
    *ret_watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (there) {
        assert_true(inotify_add_watch(*ret_watch, d->dir, EVERYTHING) > 0);
        assert_int_equal(read(out[0], &word, sizeof(word)), sizeof(word));
    }
    close(out[0]);
    d->tell = in[1];
    return there;
}

/* 'D': in the kernel, for a directory that somebody else holds. */
static char state_of(pid_t pid)
{
    char path[32], state = '?';
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "re");
    if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
        state = '?';
    if (f)
        fclose(f);
    return state;
}

static bool gets_into(pid_t pid, const char *states)
{
    for (int ms = 0; ms < PATIENCE_MS; ms += 10) {
        if (strchr(states, state_of(pid)))
            return true;
        usleep(10000);
    }
    return false;
}

/* Ends by itself: not by us. */
static bool ends_by(pid_t pid, uint64_t when)
{
    while (state_of(pid) != 'Z' && state_of(pid) != '?') {
        if (clock_now() > when)
            return false;
        usleep(5000);
    }
    return true;
}

static void a_daemon_that_is_killed_while_the_helper_waits_leaves_nobody_hanging(void **state)
{
    struct daemon d = {0};
    int fd;
    if (!start_daemon(&d, &fd))
        skip();
    pid_t user = fork();
    if (user == 0) {
        char path[128];
        snprintf(path, sizeof(path), "%s/new", d.dir);
        _exit(mkdir(path, 0755) < 0 ? 7 : 0);
    }
    usleep(300000); /* it has the directory by then, and for a minute */
    assert_int_equal(write(d.tell, "x", 1), 1);
    assert_true(gets_into(d.helper, "D"));

    kill(d.pid, SIGKILL);
    uint64_t when = clock_now() + 2 * NS_PER_SEC;
    bool user_ends = ends_by(user, when), helper_ends = ends_by(d.helper, when);
    int status = 0;
    umount2(d.dir, MNT_FORCE | MNT_DETACH);
    waitpid(d.pid, NULL, 0);
    waitpid(user, &status, 0);
    close(fd);
    close(d.tell);
    rmdir(d.dir);
    assert_true(user_ends);
    assert_true(helper_ends);
    assert_int_equal(WEXITSTATUS(status), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_remote_change_is_told_once_and_asks_for_no_change),
        cmocka_unit_test(what_a_user_saw_first_is_told_all_the_same),
        cmocka_unit_test(what_came_and_went_at_once_is_told_as_both),
        cmocka_unit_test(a_state_of_a_file_is_told_once_however_often_the_server_says_it),
        cmocka_unit_test(two_halves_of_a_renaming_are_one),
        cmocka_unit_test(nor_is_what_came_with_the_number_of_what_went),
        cmocka_unit_test(a_read_only_mount_tells_as_well),
        cmocka_unit_test(who_watches_a_file_is_told_of_it),
        cmocka_unit_test(only_what_somebody_watches_is_watched_and_only_for_so_long),
        cmocka_unit_test(a_watch_that_is_over_is_asked_for_again),
        cmocka_unit_test(those_without_a_watch_of_their_own_are_counted_apart),
        cmocka_unit_test(a_server_that_refuses_is_not_asked_in_every_round),
        cmocka_unit_test(without_the_setting_nobody_is_watched_and_there_is_no_helper),
        cmocka_unit_test(a_call_of_the_helper_that_nobody_expects_is_cancelled),
        cmocka_unit_test(what_does_not_fit_into_the_queue_is_dropped_and_counted),
        cmocka_unit_test(what_is_mounted_inside_stays_mounted),
        cmocka_unit_test(a_helper_that_is_killed_takes_nothing_with_it),
        cmocka_unit_test(a_daemon_that_is_killed_while_the_helper_waits_leaves_nobody_hanging),
    };
    return cmocka_run_group_tests_name("mount: inotify", tests, NULL, NULL);
}
