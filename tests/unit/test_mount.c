/*
 * The mount over a share in memory (fake_share.h): its tables alone, and then the real thing, a
 * FUSE mount in a temporary directory. The latter tests are skipped where this machine lets us
 * mount nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "fake_share.h"
#include "mount/attr.h"
#include "mount/control.h"
#include "mount/mount.h"
#include "mount/node.h"
#include "mount/place.h"
#include "mount/sockdir.h"
#include "mounted.h"

/* ---- tables ---- */

static struct share_node *look_up(struct share *s, const char *name)
{
    struct share_entry e;
    assert_int_equal(share_lookup(s, share_root(s), name, &e, NULL), 0);
    return e.node;
}

static void a_node_lives_as_long_as_its_look_ups(void **state)
{
    struct share *s = fake_share_new(LONG_NS);
    struct nodes nodes;
    fuse_ino_t id, again;
    share_node_ref(s, share_root(s));
    assert_int_equal(nodes_init(&nodes, s, share_root(s)), 0);

    assert_int_equal(nodes_enter(&nodes, look_up(s, "hello"), 77, false, &id), 0);
    assert_int_equal(nodes_enter(&nodes, look_up(s, "hello"), 77, false, &again), 0);
    assert_int_equal(id, again);
    assert_int_not_equal(id, FUSE_ROOT_ID);
    assert_int_equal(nodes_count(&nodes), 1);
    assert_int_equal(fake_share_held(s), 2); /* the root and one of hello */

    nodes_forget(&nodes, id, 1);
    assert_non_null(nodes_get(&nodes, id));
    nodes_forget(&nodes, id, 1);
    assert_null(nodes_get(&nodes, id));
    nodes_forget(&nodes, id, 7); /* more than there were: nothing happens */

    nodes_forget(&nodes, FUSE_ROOT_ID, 1000);
    assert_non_null(nodes_get(&nodes, FUSE_ROOT_ID));
    nodes_done(&nodes);
    assert_int_equal(fake_share_held(s), 0);
    fake_share_free(s);
}

static void forgetting_more_than_was_given_empties_the_node(void **state)
{
    struct share *s = fake_share_new(LONG_NS);
    struct nodes nodes;
    fuse_ino_t id;
    share_node_ref(s, share_root(s));
    assert_int_equal(nodes_init(&nodes, s, share_root(s)), 0);
    assert_int_equal(nodes_enter(&nodes, look_up(s, "hello"), 77, false, &id), 0);
    nodes_forget(&nodes, id, UINT64_MAX);
    assert_null(nodes_get(&nodes, id));
    assert_int_equal(nodes_count(&nodes), 0);
    nodes_done(&nodes);
    assert_int_equal(fake_share_held(s), 0);
    fake_share_free(s);
}

static void pages_are_kept_only_for_the_same_times_and_size(void **state)
{
    struct share *s = fake_share_new(LONG_NS);
    struct nodes nodes;
    share_node_ref(s, share_root(s));
    assert_int_equal(nodes_init(&nodes, s, share_root(s)), 0);
    struct node *n = nodes_get(&nodes, FUSE_ROOT_ID);

    const struct file_attr first = {.created = 1, .written = 5, .changed = 5, .size = 10};
    struct file_attr now = first;
    assert_false(nodes_pages_keep(&nodes, n, &now, SHARE_UNVOUCHED)); /* the first open */
    assert_true(nodes_pages_keep(&nodes, n, &now, SHARE_UNVOUCHED));
    nodes_pages_read(&nodes, n, 9);
    assert_false(nodes_pages_whole(&nodes, n));
    nodes_pages_read(&nodes, n, 10);
    assert_true(nodes_pages_whole(&nodes, n));
    assert_true(nodes_pages_keep(&nodes, n, &now, SHARE_UNVOUCHED));
    assert_true(nodes_pages_whole(&nodes, n));

    now.written++;
    assert_false(nodes_pages_keep(&nodes, n, &now, SHARE_UNVOUCHED));
    assert_false(nodes_pages_whole(&nodes, n));
    now.size++;
    assert_false(nodes_pages_keep(&nodes, n, &now, SHARE_UNVOUCHED));
    now.changed++; /* the time of writing was set back */
    assert_false(nodes_pages_keep(&nodes, n, &now, SHARE_UNVOUCHED));
    now.created++; /* another file of the same id */
    assert_false(nodes_pages_keep(&nodes, n, &now, SHARE_UNVOUCHED));
    assert_true(nodes_pages_keep(&nodes, n, &now, SHARE_UNVOUCHED));
    now.created++; /* a listing's, of one that nobody may have changed */
    assert_true(nodes_pages_keep(&nodes, n, &now, SHARE_KEPT));
    now.written++;
    assert_false(nodes_pages_keep(&nodes, n, &now, SHARE_KEPT));
    assert_true(nodes_pages_keep(&nodes, n, &now, SHARE_ALONE));
    assert_false(nodes_pages_keep(&nodes, n, &now, SHARE_CONTENDED)); /* others may be writing */
    assert_false(nodes_pages_whole(&nodes, n));
    assert_false(nodes_pages_keep(&nodes, n, &now, SHARE_ALONE)); /* and may have then */
    nodes.pages_age = 0; /* what nobody vouches for lives no longer */
    uint64_t then = clock_now();
    while (clock_now() == then)
        ;
    assert_false(nodes_pages_keep(&nodes, n, &now, SHARE_UNVOUCHED));
    assert_true(nodes_pages_keep(&nodes, n, &now, SHARE_ALONE));
    nodes_done(&nodes);
    fake_share_free(s);
}

static void attributes_become_a_stat(void **state)
{
    const struct attr_rules rules = {.uid = 7, .gid = 8, .file_mode = 0640, .dir_mode = 0751};
    struct file_attr a = {.attributes = FILE_ATTRIBUTE_ARCHIVE,
                          .size = 1000,
                          .allocated = 4097,
                          .links = 3,
                          .written = 133500000000000001,
                          .accessed = 133500000010000000};
    struct stat st;
    attr_to_stat(&rules, &a, false, 99, &st);
    assert_int_equal(st.st_mode, S_IFREG | 0640);
    assert_int_equal(st.st_uid, 7);
    assert_int_equal(st.st_gid, 8);
    assert_int_equal(st.st_ino, 99);
    assert_int_equal(st.st_nlink, 3);
    assert_int_equal(st.st_blocks, 9);
    assert_int_equal(st.st_mtim.tv_sec, 133500000000000001 / 10000000 - 11644473600);
    assert_int_equal(st.st_mtim.tv_nsec, 100);
    assert_int_equal(st.st_atim.tv_sec, st.st_mtim.tv_sec + 1);
    assert_int_equal(st.st_ctim.tv_nsec, 100); /* not given: that of the content */

    a.attributes |= FILE_ATTRIBUTE_READONLY;
    attr_to_stat(&rules, &a, false, 99, &st);
    assert_int_equal(st.st_mode, S_IFREG | 0440);

    a.attributes = FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_READONLY;
    attr_to_stat(&rules, &a, false, 99, &st);
    assert_int_equal(st.st_mode, S_IFDIR | 0751);
    assert_int_equal(st.st_nlink, 1);
}

static void absurd_attributes_stay_in_bounds(void **state)
{
    const struct attr_rules rules = {.file_mode = 0644};
    struct file_attr a = {.size = UINT64_MAX,
                          .allocated = UINT64_MAX,
                          .written = UINT64_MAX,
                          .changed = 1,
                          .accessed = 0};
    struct stat st;
    attr_to_stat(&rules, &a, false, UINT64_MAX, &st);
    assert_true(st.st_size > 0 && st.st_blocks > 0);
    assert_in_range(st.st_mtim.tv_nsec, 0, 999999999);
    assert_int_equal(st.st_ctim.tv_sec, -11644473600);

    a = (struct file_attr){0};
    attr_to_stat(&rules, &a, false, 1, &st);
    assert_int_equal(st.st_mtim.tv_sec, 0);
}

/* ---- places and sockets ---- */

static void a_path_is_made_canonical_without_its_last_component(void **state)
{
    char out[PATH_MAX];
    assert_int_equal(place_canonical("/usr/../tmp//no-such-thing/", out), 0);
    assert_string_equal(out, "/tmp/no-such-thing");
    assert_int_equal(place_canonical("/no-such-thing", out), 0);
    assert_string_equal(out, "/no-such-thing");
    assert_int_equal(place_canonical("/", out), 0);
    assert_string_equal(out, "/");
    assert_int_equal(place_canonical("/tmp/.", out), 0);
    assert_string_equal(out, "/tmp");
    assert_int_equal(place_canonical("/no-such/thing", out), -ENOENT);
    assert_int_equal(place_canonical("", out), -ENOENT);
    char long_path[PATH_MAX + 2];
    memset(long_path, 'x', sizeof(long_path) - 1);
    long_path[sizeof(long_path) - 1] = '\0';
    assert_int_equal(place_canonical(long_path, out), -ENAMETOOLONG);
}

static void what_is_no_larder_mount_is_called_that(void **state)
{
    struct place at;
    struct error err;
    assert_int_equal(place_find_larder("/proc", &at, &err), -EINVAL);
    assert_non_null(strstr(err.text, "of type proc"));
    assert_int_equal(place_find_larder("/no-such-thing", &at, &err), -ENOENT);
    json_t *reply;
    assert_int_equal(control_query("/proc", "stats", NULL, &reply, &err), -EINVAL);
}

static json_t *answer(void *user, const char *request, const char *argument)
{
    return strcmp(request, "stats") == 0 ? json_pack("{s:s}", "it", "works") : NULL;
}

static void nothing(void *user)
{
}

static bool stopped(void *user)
{
    return false;
}

static int connect_to_socket(const unsigned device[2])
{
    char name[32];
    sockdir_name(device, name);
    int dir = sockdir_own(NULL);
    assert_true(dir >= 0);
    int fd = sockdir_connect(dir, name);
    close(dir);
    return fd;
}

static ssize_t ask(const unsigned device[2], const char *request, char *reply, size_t cap)
{
    int fd = connect_to_socket(device);
    if (fd < 0)
        return fd;
    fcntl(fd, F_SETFL, 0);
    send(fd, request, strlen(request), MSG_NOSIGNAL);
    ssize_t n = recv(fd, reply, cap - 1, MSG_WAITALL);
    close(fd);
    reply[n > 0 ? n : 0] = '\0';
    return n;
}

static void the_socket_answers_beside_clients_that_say_nothing(void **state)
{
    const unsigned device[2] = {4000000, (unsigned)getpid()};
    struct control_calls calls = {.answer = answer, .tick = nothing, .stop = stopped};
    struct control *c;
    struct error warning, err;
    assert_int_equal(control_start(device, &calls, &c, &warning, &err), 0);
    assert_int_equal(warning.code, 0);

    int silent[5];
    for (int i = 0; i < 5; i++)
        assert_true((silent[i] = connect_to_socket(device)) >= 0);
    char reply[256], flood[CONTROL_LINE_MAX + 2];
    assert_true(ask(device, "stats\n", reply, sizeof(reply)) > 0);
    assert_string_equal(reply, "{\"it\":\"works\"}");
    assert_true(ask(device, "drop tables\n", reply, sizeof(reply)) > 0);
    assert_non_null(strstr(reply, "unknown request"));
    memset(flood, 'x', sizeof(flood) - 1);
    flood[sizeof(flood) - 1] = '\0';
    assert_true(ask(device, flood, reply, sizeof(reply)) <= 0); /* hung up on */
    for (int i = 0; i < 5; i++)
        close(silent[i]);

    control_free(c);
    assert_int_equal(connect_to_socket(device), -ENOENT);
}

static void sockets_of_the_dead_are_swept(void **state)
{
    const unsigned device[2] = {4000001, (unsigned)getpid()};
    char name[32];
    sockdir_name(device, name);
    int dir = sockdir_own(NULL);
    struct sockaddr_un address;
    sockdir_address(dir, name, &address);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    close(fd); /* never listened, as after a kill */

    assert_int_equal(sockdir_connect(dir, name), -ECONNREFUSED);
    control_clear(geteuid());
    assert_int_equal(sockdir_connect(dir, name), -ENOENT);
    close(dir);
}

static void a_mount_gets_the_socket_of_an_earlier_one_that_is_still_ending(void **state)
{
    const unsigned device[2] = {4000002, (unsigned)getpid()};
    const struct control_calls calls = {.answer = answer, .tick = nothing, .stop = stopped};
    struct control *earlier, *c;
    struct error warning, err;
    char reply[256];
    assert_int_equal(control_start(device, &calls, &earlier, &warning, &err), 0);
    assert_int_equal(control_start(device, &calls, &c, &warning, &err), 0);
    assert_int_equal(warning.code, 0);
    control_free(earlier);
    assert_true(ask(device, "stats\n", reply, sizeof(reply)) > 0);
    assert_string_equal(reply, "{\"it\":\"works\"}");
    control_free(c);
    assert_int_equal(connect_to_socket(device), -ENOENT);
}

/* ---- a real mount ---- */

/* Lists and stats every entry of a directory, as `ls -l` does; returns the number of entries. */
static unsigned list_long(const struct mounted *m, const char *path)
{
    DIR *d = opendir(in(m, path));
    assert_non_null(d);
    unsigned n = 0;
    struct dirent *e;
    while ((e = readdir(d))) {
        struct stat st;
        assert_int_equal(fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW), 0);
        if (strcmp(e->d_name, "..") != 0)
            assert_int_equal(st.st_ino, e->d_ino);
        n++;
    }
    closedir(d);
    return n;
}

static void ls_l_of_1000_files_is_one_listing(void **state)
{
    struct mounted *m = begin(LONG_NS);
    assert_int_equal(list_long(m, "many"), FAKE_FILES + 2);
    struct fake_counts c = fake_share_counts(m->share);
    assert_int_equal(c.lists, 1);
    assert_int_equal(c.lookups, 1); /* of "many" */
    assert_in_range(c.adopts, FAKE_FILES, FAKE_FILES + 1);
    finish(m);
}

static void without_kernel_caching_every_call_is_asked(void **state)
{
    struct mounted *m = begin(0);
    struct stat st;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(stat(in(m, "hello"), &st), 0);
        assert_int_equal(stat(in(m, "missing"), &st), -1);
    }
    struct fake_counts c = fake_share_counts(m->share);
    assert_int_equal(c.lookups, 6);
    assert_int_equal(list_long(m, "many"), FAKE_FILES + 2);
    c = fake_share_counts(m->share);
    assert_int_equal(c.adopts, 0); /* no attributes with names that may not be kept */
    finish(m);
}

static void the_kernel_keeps_what_is_believed(void **state)
{
    struct mounted *m = begin(LONG_NS);
    struct stat st;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(stat(in(m, "hello"), &st), 0);
        assert_int_equal(stat(in(m, "missing"), &st), -1);
        assert_int_equal(errno, ENOENT);
    }
    struct fake_counts c = fake_share_counts(m->share);
    assert_int_equal(c.lookups, 2);
    assert_int_equal(c.getattrs, 0);
    finish(m);
}

static void another_spelling_is_asked_for_each_time(void **state)
{
    struct mounted *m = begin(LONG_NS);
    struct stat st;
    for (int i = 0; i < 3; i++)
        assert_int_equal(stat(in(m, "HELLO"), &st), 0);
    assert_int_equal(fake_share_counts(m->share).lookups, 3);
    finish(m);
}

static void a_short_belief_runs_out_in_the_kernel_too(void **state)
{
    struct mounted *m = begin(50 * NS_PER_MS);
    struct stat st;
    assert_int_equal(stat(in(m, "missing"), &st), -1);
    assert_int_equal(stat(in(m, "hello"), &st), 0);
    usleep(150 * 1000);
    assert_int_equal(stat(in(m, "missing"), &st), -1);
    assert_int_equal(stat(in(m, "hello"), &st), 0);
    assert_int_equal(fake_share_counts(m->share).lookups, 4);
    finish(m);
}

static unsigned read_names(DIR *d)
{
    unsigned n = 0;
    while (readdir(d))
        n++;
    return n;
}

static void rewinding_reads_the_directory_again(void **state)
{
    struct mounted *m = begin(LONG_NS);
    DIR *d = opendir(in(m, "empty"));
    assert_non_null(d);
    assert_int_equal(fake_share_counts(m->share).lists, 0); /* opening alone asks nothing */
    assert_int_equal(read_names(d), 2);
    fake_share_add(m->share);
    assert_int_equal(read_names(d), 0);
    rewinddir(d);
    assert_int_equal(read_names(d), 3);
    assert_int_equal(fake_share_counts(m->share).lists, 2);
    closedir(d);
    finish(m);
}

static void a_place_in_a_directory_can_be_found_again(void **state)
{
    struct mounted *m = begin(LONG_NS);
    DIR *d = opendir(in(m, "many"));
    assert_non_null(d);
    char name[256];
    long place = 0;
    for (int i = 0; i < 700; i++)
        place = (assert_non_null(readdir(d)), telldir(d));
    strcpy(name, readdir(d)->d_name);
    read_names(d);
    seekdir(d, place);
    assert_string_equal(readdir(d)->d_name, name);
    assert_int_equal(fake_share_counts(m->share).lists, 1);
    closedir(d);
    finish(m);
}

static void read_hello(const struct mounted *m, const char *expected)
{
    char buf[128] = "";
    int fd = open(in(m, "hello"), O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(read(fd, buf, sizeof(buf) - 1), strlen(expected));
    assert_string_equal(buf, expected);
    close(fd);
}

static void an_unchanged_file_is_read_once(void **state)
{
    struct mounted *m = begin(LONG_NS);
    for (int i = 0; i < 4; i++)
        read_hello(m, "hello, world\n");
    struct fake_counts c = fake_share_counts(m->share);
    assert_int_equal(c.opens, 4);
    assert_int_equal(c.opens_with_data, 1);
    assert_int_equal(c.reads, 1);
    finish(m);
}

static void a_changed_file_is_read_anew(void **state)
{
    /* Believed for a short time only: the size in the kernel must be able to run out. */
    struct mounted *m = begin(20 * NS_PER_MS);
    read_hello(m, "hello, world\n");
    fake_share_change(m->share, "Hello, World\n"); /* of the same size */
    usleep(50 * 1000);
    read_hello(m, "Hello, World\n");
    fake_share_change(m->share, "longer than it was before\n");
    usleep(50 * 1000);
    read_hello(m, "longer than it was before\n");
    finish(m);
}

static void without_kernel_caching_each_open_reads(void **state)
{
    struct mounted *m = begin(0);
    read_hello(m, "hello, world\n");
    read_hello(m, "hello, world\n");
    struct fake_counts c = fake_share_counts(m->share);
    assert_int_equal(c.reads, 2);
    assert_int_equal(c.opens_with_data, 2);
    finish(m);
}

static void a_read_only_mount_refuses_every_change(void **state)
{
    struct mounted *m = begin_with(LONG_NS, true, 64);
    char other[PATH_MAX];
    strcpy(other, in(m, "other"));
#define REFUSED(call) (assert_int_equal((call), -1), assert_int_equal(errno, EROFS))
    REFUSED(open(in(m, "hello"), O_WRONLY));
    REFUSED(open(in(m, "hello"), O_RDWR));
    REFUSED(open(in(m, "hello"), O_RDONLY | O_TRUNC));
    REFUSED(open(in(m, "new"), O_WRONLY | O_CREAT, 0644));
    REFUSED(mkdir(in(m, "new"), 0755));
    REFUSED(mknod(in(m, "new"), S_IFREG | 0644, 0));
    REFUSED(symlink("hello", in(m, "new")));
    REFUSED(link(in(m, "hello"), other));
    REFUSED(rename(in(m, "hello"), other));
    REFUSED(unlink(in(m, "hello")));
    REFUSED(rmdir(in(m, "empty")));
    REFUSED(truncate(in(m, "hello"), 0));
    REFUSED(chmod(in(m, "hello"), 0600));
    REFUSED(utimensat(AT_FDCWD, in(m, "hello"), NULL, 0));
    REFUSED(access(in(m, "hello"), W_OK));
    assert_int_equal(access(in(m, "hello"), R_OK), 0);
    finish(m);
}

static void modes_and_space_are_as_told(void **state)
{
    struct mounted *m = begin(LONG_NS);
    struct stat st;
    assert_int_equal(stat(in(m, "readonly"), &st), 0);
    assert_int_equal(st.st_mode, S_IFREG | 0555);
    assert_int_equal(stat(in(m, "many"), &st), 0);
    assert_int_equal(st.st_mode, S_IFDIR | 0755);
    struct statvfs v;
    for (int i = 0; i < 5; i++)
        assert_int_equal(statvfs(in(m, "many"), &v), 0);
    assert_int_equal(v.f_blocks * v.f_frsize, 1 << 20);
    assert_int_equal(v.f_bavail * v.f_frsize, 1 << 18);
    assert_int_equal(fake_share_counts(m->share).statfs, 1);
    finish(m);
}

static void *look_up_many(void *user)
{
    const struct mounted *m = user;
    static int next;
    struct stat st;
    for (int i = 0; i < 4; i++) {
        char name[64];
        snprintf(name, sizeof(name), "missing-%d", __atomic_add_fetch(&next, 1, __ATOMIC_RELAXED));
        assert_int_equal(stat(in(m, name), &st), -1);
    }
    return NULL;
}

static void look_ups_in_one_directory_run_side_by_side(void **state)
{
    struct mounted *m = begin(LONG_NS);
    fake_share_slow(m->share, 20);
    pthread_t threads[32];
    uint64_t start = clock_now();
    for (int i = 0; i < 32; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, look_up_many, m), 0);
    for (int i = 0; i < 32; i++)
        pthread_join(threads[i], NULL);
    uint64_t ms = (clock_now() - start) / NS_PER_MS;
    assert_int_equal(fake_share_counts(m->share).lookups, 128);
    assert_true(ms < 128 * 20 / 2); /* one after the other: 2560 ms; side by side 80 */
    finish(m);
}

static void a_mount_in_use_is_taken_away_and_gives_everything_back(void **state)
{
    struct mounted *m = begin(LONG_NS);
    int fd = open(in(m, "hello"), O_RDONLY);
    DIR *d = opendir(in(m, "many"));
    assert_true(fd >= 0 && d && readdir(d));
    finish(m); /* checks that nothing is held any more */
    char c;
    assert_int_equal(read(fd, &c, 1), -1);
    close(fd);
    closedir(d);
}

static void an_unmount_from_outside_ends_the_loop(void **state)
{
    struct mounted *m = begin(LONG_NS);
    struct stat st;
    assert_int_equal(stat(in(m, "hello"), &st), 0);
    assert_int_equal(umount2(m->dir, 0), 0);
    finish(m);
}

static void stopping_before_the_loop_ends_it(void **state)
{
    struct mounted *m = begin(LONG_NS);
    for (int i = 0; i < 3; i++)
        mount_stop(m->mount);
    finish(m);
}

static void a_second_mount_on_the_same_directory_is_refused(void **state)
{
    struct mounted *m = begin(LONG_NS);
    struct error err;
    assert_int_equal(mount_check(m->dir, &err), -EBUSY);
    assert_non_null(strstr(err.text, "already"));
    finish(m);
    assert_int_equal(mount_check("/no-such-thing", &err), -ENOENT);
    assert_int_equal(mount_check("/etc/passwd", &err), -ENOTDIR);
}

static void a_mount_answers_stats(void **state)
{
    struct mounted *m = begin(LONG_NS);
    struct stat st;
    assert_int_equal(stat(in(m, "hello"), &st), 0);
    json_t *reply;
    struct error err;
    assert_int_equal(control_query(m->dir, "stats", NULL, &reply, &err), 0);
    json_t *upcalls = json_object_get(json_object_get(reply, "mount"), "upcalls");
    assert_int_equal(json_integer_value(json_object_get(upcalls, "LOOKUP")), 1);
    assert_string_equal(json_string_value(json_object_get(reply, "profile")), "fake");
    json_decref(reply);
    assert_int_equal(control_query(m->dir, "nonsense", NULL, &reply, &err), -EOPNOTSUPP);
    pid_t pid;
    assert_int_equal(control_pid(m->dir, &pid, &err), 0);
    assert_int_equal(pid, getpid());

    struct place at;
    assert_int_equal(place_find(m->dir, &at), 0);
    assert_string_equal(at.type, MOUNT_FS_TYPE);
    assert_int_equal(at.owner, geteuid());
    finish(m);
}

/* ---- a daemon that dies while it waits for itself ---- */

/* A look-up of "trap" makes this thread wait in the kernel for one of "hole", which never ends. */
static void fall_into_trap(void *user, const char *name)
{
    struct stat st;
    if (strcmp(name, "trap") == 0)
        stat(in(user, "many/hole"), &st);
    if (strcmp(name, "hole") == 0)
        pause();
}

static pid_t start_process(void (*run)(struct mounted *m), struct mounted *m)
{
    pid_t pid = fork();
    if (pid == 0) {
        run(m);
        _exit(0);
    }
    return pid;
}

static void be_daemon(struct mounted *m)
{
    struct mount_options o;
    mount_options_init(&o);
    o.mountpoint = m->dir;
    o.fsname = "fake";
    m->share = fake_share_new(LONG_NS);
    fake_share_hook(m->share, fall_into_trap, m);
    if (mount_start(m->share, &o, &m->mount, NULL) == 0)
        mount_loop(m->mount);
}

static void be_user(struct mounted *m)
{
    struct stat st;
    stat(in(m, "trap"), &st);
}

/* Whether the process ends within so many ms. */
static bool ends(pid_t pid, unsigned ms)
{
    for (unsigned waited = 0; waited < ms; waited += 10) {
        if (waitpid(pid, NULL, WNOHANG) == pid)
            return true;
        usleep(10 * 1000);
    }
    return false;
}

static void the_watchdog_frees_users_of_a_killed_daemon_that_is_stuck(void **state)
{
    struct mounted m = {.dir = "/tmp/larder-test-XXXXXX"};
    assert_non_null(mkdtemp(m.dir));
    pid_t daemon = start_process(be_daemon, &m);
    struct place at;
    for (int i = 0; i < 500 && place_find(m.dir, &at) < 0; i++)
        usleep(10 * 1000);
    char abort_file[64] = "";
    if (place_find(m.dir, &at) == 0)
        snprintf(abort_file, sizeof(abort_file), "/sys/fs/fuse/connections/%u/abort", at.device[1]);
    if (access(abort_file, W_OK) < 0) {
        print_message("no FUSE mount, or no fusectl file system, here\n");
        kill(daemon, SIGKILL);
        waitpid(daemon, NULL, 0);
        umount2(m.dir, MNT_DETACH);
        rmdir(m.dir);
        skip();
    }

    pid_t user = start_process(be_user, &m);
    assert_false(ends(user, 300)); /* it waits for the daemon, and that for itself */
    kill(daemon, SIGKILL);
    bool freed = ends(user, 5000), reaped = ends(daemon, 5000);

    int fd = open(abort_file, O_WRONLY); /* leave nothing that cannot be killed */
    if (fd >= 0 && write(fd, "1", 1) == 1)
        close(fd);
    umount2(m.dir, MNT_DETACH);
    rmdir(m.dir);
    assert_true(freed);
    assert_true(reaped);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_lives_as_long_as_its_look_ups),
        cmocka_unit_test(forgetting_more_than_was_given_empties_the_node),
        cmocka_unit_test(pages_are_kept_only_for_the_same_times_and_size),
        cmocka_unit_test(attributes_become_a_stat),
        cmocka_unit_test(absurd_attributes_stay_in_bounds),
        cmocka_unit_test(a_path_is_made_canonical_without_its_last_component),
        cmocka_unit_test(what_is_no_larder_mount_is_called_that),
        cmocka_unit_test(the_socket_answers_beside_clients_that_say_nothing),
        cmocka_unit_test(sockets_of_the_dead_are_swept),
        cmocka_unit_test(a_mount_gets_the_socket_of_an_earlier_one_that_is_still_ending),
        cmocka_unit_test(ls_l_of_1000_files_is_one_listing),
        cmocka_unit_test(without_kernel_caching_every_call_is_asked),
        cmocka_unit_test(the_kernel_keeps_what_is_believed),
        cmocka_unit_test(another_spelling_is_asked_for_each_time),
        cmocka_unit_test(a_short_belief_runs_out_in_the_kernel_too),
        cmocka_unit_test(rewinding_reads_the_directory_again),
        cmocka_unit_test(a_place_in_a_directory_can_be_found_again),
        cmocka_unit_test(an_unchanged_file_is_read_once),
        cmocka_unit_test(a_changed_file_is_read_anew),
        cmocka_unit_test(without_kernel_caching_each_open_reads),
        cmocka_unit_test(a_read_only_mount_refuses_every_change),
        cmocka_unit_test(modes_and_space_are_as_told),
        cmocka_unit_test(look_ups_in_one_directory_run_side_by_side),
        cmocka_unit_test(a_mount_in_use_is_taken_away_and_gives_everything_back),
        cmocka_unit_test(an_unmount_from_outside_ends_the_loop),
        cmocka_unit_test(stopping_before_the_loop_ends_it),
        cmocka_unit_test(a_second_mount_on_the_same_directory_is_refused),
        cmocka_unit_test(a_mount_answers_stats),
        cmocka_unit_test(the_watchdog_frees_users_of_a_killed_daemon_that_is_stuck),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
