/*
 * What the kernel keeps of a share in memory whose server tells of changes, and that it forgets in
 * time: through a real mount. Skipped where this machine lets us mount nothing.
 */
#include "mounted.h"

#include <dirent.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "mount/known.h"

/* ---- the kernel's view ---- */

static bool is_there(const struct mounted *m, const char *path)
{
    struct stat st;
    return stat(in(m, path), &st) == 0;
}

static off_t size_of(const struct mounted *m, const char *path)
{
    struct stat st;
    return stat(in(m, path), &st) == 0 ? st.st_size : -1;
}

static bool reads(const struct mounted *m, const char *path, const char *content)
{
    char buf[256] = "";
    int fd = open(in(m, path), O_RDONLY);
    ssize_t n = fd >= 0 ? read(fd, buf, sizeof(buf) - 1) : -1;
    if (fd >= 0)
        close(fd);
    return n >= 0 && strcmp(buf, content) == 0;
}

static unsigned entries(const struct mounted *m, const char *path, const char *name,
                        bool *ret_has_it)
{
    unsigned count = 0;
    DIR *d = opendir(in(m, path));
    assert_non_null(d);
    *ret_has_it = false;
    for (struct dirent *e; (e = readdir(d)); count++)
        *ret_has_it |= strcmp(e->d_name, name) == 0;
    closedir(d);
    return count;
}

static bool lists(const struct mounted *m, const char *path, const char *name)
{
    bool has;
    entries(m, path, name, &has);
    return has;
}

/* The kernel is told by a thread: it is given a moment. Each look at a name renews nothing. */
#define SOON(condition)                                                                            \
    do {                                                                                           \
        uint64_t end = clock_now() + 10 * NS_PER_SEC;                                              \
        while (!(condition)) {                                                                     \
            if (clock_now() > end)                                                                 \
                fail_msg("%s: not after 10 s", #condition);                                        \
            usleep(1000);                                                                          \
        }                                                                                          \
    } while (0)

static struct mounted *begin_told(void)
{
    struct mounted *m = begin(LONG_NS);
    assert_true(fake_share_is_heard(m->share));
    return m;
}

/* Nothing of this is asked for any more. */
static void assert_kept(struct mounted *m, const char *path)
{
    is_there(m, path);
    fake_share_counts(m->share);
    for (int i = 0; i < 3; i++)
        is_there(m, path);
    struct fake_counts c = fake_share_counts(m->share);
    assert_int_equal(c.lookups + c.getattrs, 0);
}

/* ---- names ---- */

static void a_name_that_appears_ends_the_absence_of_all_its_spellings(void **state)
{
    struct mounted *m = begin_told();
    assert_false(is_there(m, "new"));
    assert_false(is_there(m, "NEW"));
    assert_kept(m, "new");
    fake_remote_file(m->share, "new", "n");
    assert_false(is_there(m, "new")); /* nobody told */
    fake_tell_name(m->share, "new");
    SOON(is_there(m, "new") && is_there(m, "NEW"));
    assert_kept(m, "new");
    finish(m);
}

static void a_name_that_goes_is_gone_and_one_that_is_replaced_leads_to_the_new_file(void **state)
{
    struct mounted *m = begin_told();
    assert_true(reads(m, "hello", "hello, world\n"));
    assert_kept(m, "hello");
    fake_remote_file(m->share, "hello", "another");
    assert_int_equal(size_of(m, "hello"), 13);
    fake_tell_name(m->share, "hello");
    SOON(size_of(m, "hello") == 7);
    assert_true(reads(m, "hello", "another"));
    fake_remote_remove(m->share, "hello");
    fake_tell_name(m->share, "hello");
    SOON(!is_there(m, "hello"));
    assert_kept(m, "hello");
    finish(m);
}

static void a_directory_that_goes_takes_with_it_what_was_known_beneath(void **state)
{
    struct mounted *m = begin_told();
    fake_remote_dir(m->share, "empty/sub");
    fake_remote_file(m->share, "empty/sub/a", "1");
    assert_true(is_there(m, "empty/sub/a"));
    assert_false(is_there(m, "empty/sub/b"));
    fake_remote_move(m->share, "empty", "elsewhere");
    fake_tell_name(m->share, "empty");
    fake_tell_name(m->share, "elsewhere");
    /* where it is by now nobody knows what happens in it; nor has anybody looked */
    fake_remote_file(m->share, "elsewhere/sub/b", "2");
    fake_remote_remove(m->share, "elsewhere/sub/a");
    fake_remote_move(m->share, "elsewhere", "empty");
    fake_tell_name(m->share, "elsewhere");
    fake_tell_name(m->share, "empty");
    SOON(is_there(m, "empty/sub/b") && !is_there(m, "empty/sub/a"));
    finish(m);
}

static void who_stands_in_a_directory_that_is_told_of_goes_on_standing_there(void **state)
{
    struct mounted *m = begin_told();
    char before[PATH_MAX], after[PATH_MAX];
    int home = open(".", O_PATH | O_DIRECTORY);
    assert_int_equal(chdir(in(m, "empty")), 0);
    assert_non_null(getcwd(before, sizeof(before)));
    fake_tell_name(m->share, "empty");
    fake_remote_file(m->share, "empty/n", "");
    fake_tell_name(m->share, "empty/n");
    SOON(access("n", F_OK) == 0);
    const char *now = getcwd(after, sizeof(after));
    assert_int_equal(fchdir(home), 0);
    close(home);
    assert_non_null(now);
    assert_string_equal(before, after);
    finish(m);
}

static void what_is_mounted_beneath_stays_mounted(void **state)
{
    struct mounted *m = begin_told();
    char place[PATH_MAX];
    snprintf(place, sizeof(place), "%s", in(m, "empty"));
    if (mount("none", place, "tmpfs", 0, NULL) < 0) {
        finish(m);
        skip();
    }
    close(open(in(m, "empty/upper"), O_CREAT | O_WRONLY, 0600));
    assert_false(is_there(m, "gone"));
    fake_tell_name(m->share, "empty");
    fake_tell_names(m->share, "");
    fake_tell_all(m->share);
    fake_remote_file(m->share, "gone", "");
    fake_tell_name(m->share, "gone");
    SOON(is_there(m, "gone")); /* all before it has been told, too */
    assert_true(is_there(m, "empty/upper"));
    assert_int_equal(umount(place), 0);
    finish(m);
}

static void all_names_of_a_directory_may_have_changed(void **state)
{
    struct mounted *m = begin_told();
    fake_remote_file(m->share, "empty/a", "1");
    fake_remote_file(m->share, "empty/b", "1");
    assert_true(is_there(m, "empty/a") && is_there(m, "empty/b") && !is_there(m, "empty/c"));
    assert_true(is_there(m, "hello"));
    fake_remote_remove(m->share, "empty/a");
    fake_remote_file(m->share, "empty/b", "22");
    fake_remote_file(m->share, "empty/c", "333");
    fake_tell_names(m->share, "empty");
    SOON(!is_there(m, "empty/a") && size_of(m, "empty/b") == 2 && size_of(m, "empty/c") == 3);
    assert_kept(m, "hello");
    finish(m);
}

static void when_everything_may_have_changed_nothing_is_kept(void **state)
{
    struct mounted *m = begin_told();
    int fd = open(in(m, "readonly"), O_RDONLY);
    char buf[8];
    assert_true(is_there(m, "many/f0001") && !is_there(m, "empty/c") && reads(m, "readonly", "x"));
    assert_true(lists(m, "empty", "."));
    assert_int_equal(pread(fd, buf, sizeof(buf), 0), 1);
    fake_remote_remove(m->share, "many/f0001");
    fake_remote_file(m->share, "empty/c", "333");
    fake_remote_write(m->share, "readonly", "y");
    fake_tell_all(m->share);
    SOON(pread(fd, buf, sizeof(buf), 0) == 1 && buf[0] == 'y'); /* by an open from before */
    SOON(!is_there(m, "many/f0001") && is_there(m, "empty/c") && lists(m, "empty", "c"));
    assert_true(reads(m, "readonly", "y"));
    close(fd);
    finish(m);
}

/* ---- attributes and content ---- */

static void a_file_that_was_written_is_read_anew_by_who_has_it_open(void **state)
{
    struct mounted *m = begin_told();
    int fd = open(in(m, "hello"), O_RDONLY);
    char buf[32] = "";
    assert_int_equal(pread(fd, buf, sizeof(buf), 0), 13);
    /* as long as before, and of the same times: only the promise tells of it */
    fake_remote_write(m->share, "hello", "HELLO, WORLD\n");
    assert_true(pread(fd, buf, sizeof(buf), 0) == 13 && buf[0] == 'h');
    unsigned changed = fake_share_files_changed();
    fake_tell_node(m->share, "hello");
    SOON(pread(fd, buf, sizeof(buf), 0) == 13 && buf[0] == 'H');
    assert_true(fake_share_files_changed() > changed); /* what came along with the open is old */
    fake_remote_write(m->share, "hello", "longer than before");
    fake_tell_node(m->share, "hello");
    SOON(pread(fd, buf, sizeof(buf), 0) == 18);
    assert_int_equal(size_of(m, "hello"), 18);
    close(fd);
    finish(m);
}

static unsigned asks(struct mounted *m, const char *path)
{
    fake_share_counts(m->share);
    is_there(m, path);
    struct fake_counts c = fake_share_counts(m->share);
    return c.lookups + c.getattrs;
}

static void
attributes_that_live_shorter_are_asked_for_anew_and_leave_the_content_alone(void **state)
{
    struct mounted *m = begin_told();
    assert_true(reads(m, "hello", "hello, world\n"));
    assert_kept(m, "hello");
    fake_remote_write(m->share, "hello", "HELLO, WORLD\n"); /* of the same times; nobody tells */
    unsigned changed = fake_share_files_changed();
    fake_age_node(m->share, "hello");
    SOON(asks(m, "hello") > 0);
    assert_true(reads(m, "hello", "hello, world\n")); /* out of the kernel's pages */
    assert_int_equal(fake_share_files_changed(), changed);
    fake_tell_node(m->share, "hello");
    SOON(reads(m, "hello", "HELLO, WORLD\n"));
    finish(m);
}

/* ---- listings ---- */

static void own_changes_are_listed_at_once(void **state)
{
    struct mounted *m = begin_told();
    assert_false(lists(m, "empty", "own"));
    assert_false(lists(m, "empty", "own"));
    assert_int_equal(mkdir(in(m, "empty/own"), 0700), 0);
    assert_true(lists(m, "empty", "own"));
    assert_true(lists(m, "empty", "own"));
    char other[PATH_MAX];
    snprintf(other, sizeof(other), "%s", in(m, "many/moved"));
    assert_int_equal(rename(in(m, "empty/own"), other), 0);
    assert_false(lists(m, "empty", "own"));
    assert_true(lists(m, "many", "moved"));
    assert_int_equal(rmdir(other), 0);
    assert_false(lists(m, "many", "moved"));
    finish(m);
}

static void a_stream_from_before_a_change_gives_its_state_to_nobody_else(void **state)
{
    struct mounted *m = begin_told();
    DIR *old = opendir(in(m, "many"));
    assert_non_null(readdir(old)); /* a page of the listing as it is */
    fake_remote_file(m->share, "many/late", "");
    fake_tell_name(m->share, "many/late");
    assert_true(lists(m, "many", "late"));
    while (readdir(old))
        ;
    assert_true(lists(m, "many", "late")); /* the old stream has filled nothing */
    rewinddir(old);
    uint64_t end = clock_now() + 10 * NS_PER_SEC;
    for (bool seen = false; !seen; rewinddir(old)) {
        for (struct dirent *e; (e = readdir(old));)
            seen |= strcmp(e->d_name, "late") == 0;
        assert_true(clock_now() < end);
    }
    closedir(old);
    assert_true(lists(m, "many", "late"));
    finish(m);
}

/* ---- answers that come late ---- */

struct late {
    struct mounted *m;
    sem_t asked, go_on;
    atomic_bool once;
};

static void wait_at_late(void *user, const char *name)
{
    struct late *l = user;
    if (strcmp(name, "late") != 0 || atomic_exchange(&l->once, true))
        return;
    sem_post(&l->asked);
    sem_wait(&l->go_on);
}

static void *stat_late(void *user)
{
    struct late *l = user;
    struct stat st;
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/late", l->m->dir);
    return stat(path, &st) == 0 ? l : NULL;
}

static void an_answer_from_before_a_change_is_not_kept(void **state)
{
    struct late l = {.m = begin_told()};
    pthread_t thread;
    sem_init(&l.asked, 0, 0);
    sem_init(&l.go_on, 0, 0);
    fake_share_hook_after(l.m->share, wait_at_late, &l);
    assert_int_equal(pthread_create(&thread, NULL, stat_late, &l), 0);
    sem_wait(&l.asked); /* it has been found to be missing, and is not answered yet */
    fake_remote_file(l.m->share, "late", "");
    fake_tell_name(l.m->share, "late");
    sem_post(&l.go_on);
    void *found;
    pthread_join(thread, &found);
    assert_null(found);
    assert_true(is_there(l.m, "late")); /* at once: it was given without a time */
    assert_kept(l.m, "late");
    finish(l.m);
}

/* ---- intent ---- */

static void what_is_to_be_made_is_asked_for_whatever_the_kernel_holds(void **state)
{
    struct mounted *m = begin_told();
    assert_true(is_there(m, "hello") && is_there(m, "empty"));
    assert_false(is_there(m, "other"));
    fake_remote_remove(m->share, "hello"); /* nobody tells */
    fake_remote_remove(m->share, "empty");
    fake_remote_file(m->share, "other", "");
    assert_true(is_there(m, "hello"));
    fake_share_counts(m->share);
    int fd = open(in(m, "hello"), O_CREAT | O_EXCL | O_WRONLY, 0600);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(mkdir(in(m, "empty"), 0700), 0);
    assert_int_equal(fake_share_counts(m->share).anew, 2);
    assert_int_equal(mkdir(in(m, "other"), 0700), -1);
    assert_int_equal(errno, EEXIST);
    assert_int_equal(open(in(m, "other"), O_CREAT | O_EXCL | O_WRONLY, 0600), -1);
    assert_int_equal(errno, EEXIST);
    finish(m);
}

static void an_own_rename_takes_along_what_is_to_be_told_of_the_name(void **state)
{
    struct mounted *m = begin_told();
    char from[PATH_MAX], to[PATH_MAX];
    snprintf(from, sizeof(from), "%s", in(m, "hello"));
    snprintf(to, sizeof(to), "%s", in(m, "moved"));
    assert_false(is_there(m, "moved"));
    assert_true(is_there(m, "hello"));
    assert_int_equal(rename(from, to), 0);
    assert_false(is_there(m, "hello"));
    assert_kept(m, "moved");
    fake_remote_remove(m->share, "moved");
    fake_tell_name(m->share, "moved");
    SOON(!is_there(m, "moved"));

    fake_remote_dir(m->share, "empty/sub");
    assert_true(is_there(m, "empty/sub"));
    snprintf(from, sizeof(from), "%s", in(m, "empty"));
    assert_int_equal(rename(from, to), 0);
    assert_true(is_there(m, "moved/sub"));
    fake_remote_remove(m->share, "moved/sub");
    fake_tell_name(m->share, "moved/sub");
    SOON(!is_there(m, "moved/sub"));
    finish(m);
}

/* ---- the tables alone ---- */

static void an_answer_is_fresh_only_if_nothing_about_it_was_marked(void **state)
{
    struct share *s = fake_share_new(LONG_NS);
    struct nodes n;
    fuse_ino_t hello, readonly;
    struct share_entry e;
    share_node_ref(s, share_root(s));
    assert_int_equal(nodes_init(&n, s, share_root(s)), 0);
    share_lookup(s, share_root(s), "hello", &e, NULL);
    assert_int_equal(nodes_enter(&n, e.node, 1, false, &hello), 0);
    share_lookup(s, share_root(s), "readonly", &e, NULL);
    assert_int_equal(nodes_enter(&n, e.node, 2, false, &readonly), 0);

    uint64_t moment = known_moment(&n);
    known_node_wrong(&n, readonly);
    assert_true(known_attr(&n, hello, moment));
    assert_false(known_attr(&n, readonly, moment));
    assert_true(known_attr(&n, readonly, known_moment(&n)));
    assert_true(known_name(&n, FUSE_ROOT_ID, "hello", hello, LONG_NS, moment));
    assert_true(known_holds(&n, FUSE_ROOT_ID, "hello"));
    assert_false(known_holds(&n, FUSE_ROOT_ID, "HELLO"));
    known_names_wrong(&n, FUSE_ROOT_ID);
    assert_false(known_holds(&n, FUSE_ROOT_ID, "hello"));
    assert_false(known_name(&n, FUSE_ROOT_ID, "hello", hello, LONG_NS, moment));
    assert_false(known_none(&n, FUSE_ROOT_ID, "x", LONG_NS, moment));
    assert_true(known_none(&n, FUSE_ROOT_ID, "x", LONG_NS, known_moment(&n)));

    moment = known_moment(&n);
    for (int i = 0; i <= NODES_MARKS; i++) /* more than is remembered */
        known_node_wrong(&n, readonly);
    assert_false(known_attr(&n, hello, moment));
    moment = known_moment(&n);
    known_all_wrong(&n);
    assert_false(known_attr(&n, hello, moment));
    nodes_done(&n);
    assert_int_equal(fake_share_held(s), 0);
    fake_share_free(s);
}

static void what_is_marked_often_is_told_once(void **state)
{
    struct share *s = fake_share_new(LONG_NS);
    struct nodes n;
    struct known_step step;
    unsigned names = 0, nodes = 0;
    share_node_ref(s, share_root(s));
    assert_int_equal(nodes_init(&n, s, share_root(s)), 0);
    assert_true(known_none(&n, FUSE_ROOT_ID, "x", LONG_NS, known_moment(&n)));
    assert_true(known_none(&n, FUSE_ROOT_ID, "X", LONG_NS, known_moment(&n)));
    for (int i = 0; i < 100; i++) {
        known_name_wrong(&n, FUSE_ROOT_ID, "x", 1);
        known_name_wrong(&n, FUSE_ROOT_ID, "unknown", 7);
        known_node_wrong(&n, FUSE_ROOT_ID);
        known_node_wrong(&n, 4711);
    }
    while (known_next(&n, &step)) {
        names += step.kind == KNOWN_NAME;
        nodes += step.kind == KNOWN_NODE;
    }
    assert_int_equal(names, 2);
    assert_int_equal(nodes, 1);
    nodes_done(&n);
    fake_share_free(s);
}

static void what_moved_while_it_was_told_of_is_told_of_where_it_is_now(void **state)
{
    struct share *s = fake_share_new(LONG_NS);
    struct nodes n;
    struct known_step step;
    struct share_entry e;
    fuse_ino_t hello;
    share_node_ref(s, share_root(s));
    assert_int_equal(nodes_init(&n, s, share_root(s)), 0);
    share_lookup(s, share_root(s), "hello", &e, NULL);
    assert_int_equal(nodes_enter(&n, e.node, 1, false, &hello), 0);
    assert_true(known_name(&n, FUSE_ROOT_ID, "hello", hello, LONG_NS, known_moment(&n)));
    known_moved(&n, FUSE_ROOT_ID, "hello", FUSE_ROOT_ID, "b");
    assert_true(known_holds(&n, FUSE_ROOT_ID, "b"));
    assert_false(known_next(&n, &step));
    known_name_wrong(&n, FUSE_ROOT_ID, "b", 1);
    assert_true(known_next(&n, &step)); /* and this waits for the rename */
    assert_string_equal(step.name, "b");
    known_moved(&n, FUSE_ROOT_ID, "b", FUSE_ROOT_ID, "c");
    assert_false(known_holds(&n, FUSE_ROOT_ID, "c"));
    assert_true(known_next(&n, &step));
    assert_int_equal(step.kind, KNOWN_NAME);
    assert_true(step.is_dir); /* which it may be */
    assert_string_equal(step.name, "c");
    nodes_done(&n);
    fake_share_free(s);
}

static void no_more_absences_are_given_than_can_be_noted(void **state)
{
    struct share *s = fake_share_new(LONG_NS);
    struct nodes n;
    char name[16];
    share_node_ref(s, share_root(s));
    assert_int_equal(nodes_init(&n, s, share_root(s)), 0);
    for (int i = 0; i < KNOWN_NEGATIVES_MAX; i++) {
        snprintf(name, sizeof(name), "%d", i);
        assert_true(known_none(&n, FUSE_ROOT_ID, name, i ? LONG_NS : 1, known_moment(&n)));
    }
    assert_true(known_none(&n, FUSE_ROOT_ID, "one", LONG_NS, known_moment(&n))); /* for the first */
    assert_false(known_none(&n, FUSE_ROOT_ID, "two", LONG_NS, known_moment(&n)));
    nodes_done(&n);
    fake_share_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_is_fresh_only_if_nothing_about_it_was_marked),
        cmocka_unit_test(what_is_marked_often_is_told_once),
        cmocka_unit_test(what_moved_while_it_was_told_of_is_told_of_where_it_is_now),
        cmocka_unit_test(no_more_absences_are_given_than_can_be_noted),
        cmocka_unit_test(a_name_that_appears_ends_the_absence_of_all_its_spellings),
        cmocka_unit_test(a_name_that_goes_is_gone_and_one_that_is_replaced_leads_to_the_new_file),
        cmocka_unit_test(a_directory_that_goes_takes_with_it_what_was_known_beneath),
        cmocka_unit_test(who_stands_in_a_directory_that_is_told_of_goes_on_standing_there),
        cmocka_unit_test(what_is_mounted_beneath_stays_mounted),
        cmocka_unit_test(all_names_of_a_directory_may_have_changed),
        cmocka_unit_test(when_everything_may_have_changed_nothing_is_kept),
        cmocka_unit_test(a_file_that_was_written_is_read_anew_by_who_has_it_open),
        cmocka_unit_test(
            attributes_that_live_shorter_are_asked_for_anew_and_leave_the_content_alone),
        cmocka_unit_test(own_changes_are_listed_at_once),
        cmocka_unit_test(a_stream_from_before_a_change_gives_its_state_to_nobody_else),
        cmocka_unit_test(an_answer_from_before_a_change_is_not_kept),
        cmocka_unit_test(what_is_to_be_made_is_asked_for_whatever_the_kernel_holds),
        cmocka_unit_test(an_own_rename_takes_along_what_is_to_be_told_of_the_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
