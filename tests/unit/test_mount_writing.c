/* Changes through a FUSE mount of the share in memory: what each call does, what it reports, and
 * that the kernel shows it at once. */
#include "mounted.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define FAILS(call, code) (assert_int_equal((call), -1), assert_int_equal(errno, (code)))

static int open_in(const struct mounted *m, const char *name, int flags)
{
    return open(in(m, name), flags, 0644);
}

static void server_has(const struct mounted *m, const char *name, const char *content)
{
    char *got = fake_share_content(m->share, name);
    assert_non_null(got);
    assert_string_equal(got, content);
    free(got);
}

static void put(const struct mounted *m, const char *name, const char *content)
{
    int fd = open_in(m, name, O_WRONLY | O_CREAT | O_TRUNC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, strlen(content)), strlen(content));
    assert_int_equal(close(fd), 0);
}

static void shows(const struct mounted *m, const char *name, const char *content)
{
    char buf[256] = "";
    struct stat st;
    int fd = open_in(m, name, O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(read(fd, buf, sizeof(buf) - 1), strlen(content));
    assert_string_equal(buf, content);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, strlen(content));
    close(fd);
}

/* What the kernel held to be the end of the file is revoked a moment after the write's answer. */
static void size_comes_to(const struct mounted *m, const char *name, size_t size)
{
    struct stat st = {0};
    for (int i = 0; i < 5000; i++) {
        assert_int_equal(stat(in(m, name), &st), 0);
        if ((size_t)st.st_size == size)
            return;
        usleep(1000);
    }
    assert_int_equal(st.st_size, size);
}

static unsigned entries(const struct mounted *m, const char *path)
{
    DIR *d = opendir(in(m, path));
    assert_non_null(d);
    unsigned n = 0;
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

/* ---- names ---- */

static void what_is_made_is_shown_at_once(void **state)
{
    struct mounted *m = begin(LONG_NS);
    struct stat st;
    unsigned before = entries(m, "");
    FAILS(stat(in(m, "new"), &st), ENOENT); /* which the kernel may remember for long */
    put(m, "new", "some text");
    shows(m, "new", "some text");
    server_has(m, "new", "some text");
    assert_int_equal(entries(m, ""), before + 1);
    assert_int_equal(mkdir(in(m, "dir"), 0755), 0);
    assert_int_equal(mknod(in(m, "dir/file"), S_IFREG | 0600, 0), 0);
    assert_int_equal(entries(m, "dir"), 1);
    assert_int_equal(unlink(in(m, "dir/file")), 0);
    FAILS(stat(in(m, "dir/file"), &st), ENOENT);
    assert_int_equal(entries(m, "dir"), 0);
    assert_int_equal(rmdir(in(m, "dir")), 0);
    assert_int_equal(entries(m, ""), before + 1);
    finish(m);
}

static void what_cannot_be_made_or_removed_says_why(void **state)
{
    struct mounted *m = begin(LONG_NS);
    char fifo[PATH_MAX];
    FAILS(open_in(m, "hello", O_RDWR | O_CREAT | O_EXCL), EEXIST);
    FAILS(open_in(m, "many", O_RDWR), EISDIR);
    FAILS(open_in(m, "missing/file", O_RDWR | O_CREAT), ENOENT);
    FAILS(open_in(m, "hello/file", O_RDWR | O_CREAT), ENOTDIR);
    FAILS(open_in(m, "readonly", O_RDWR), EACCES);
    FAILS(mkdir(in(m, "hello"), 0755), EEXIST);
    FAILS(rmdir(in(m, "many")), ENOTEMPTY);
    FAILS(rmdir(in(m, "hello")), ENOTDIR);
    FAILS(unlink(in(m, "many")), EISDIR);
    FAILS(unlink(in(m, "missing")), ENOENT);
    strcpy(fifo, in(m, "fifo"));
    FAILS(mkfifo(fifo, 0644), EPERM);
    FAILS(readlink(in(m, "hello"), fifo, sizeof(fifo)), EINVAL);
    finish(m);
}

static void renames_replace_only_if_they_may(void **state)
{
    struct mounted *m = begin(LONG_NS);
    char a[PATH_MAX], b[PATH_MAX];
    put(m, "a", "from a");
    put(m, "b", "from b");
    strcpy(a, in(m, "a"));
    strcpy(b, in(m, "b"));
    FAILS(renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_NOREPLACE), EEXIST);
    FAILS(renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE), EINVAL);
    int old = open(b, O_RDONLY);
    assert_int_equal(rename(a, b), 0);
    shows(m, "b", "from a");
    struct stat st;
    FAILS(stat(a, &st), ENOENT);
    char buf[16] = "";
    assert_int_equal(read(old, buf, 15), 6); /* who had it open reads on */
    assert_string_equal(buf, "from b");
    close(old);
    assert_int_equal(rename(b, a), 0);
    strcpy(b, in(m, "empty/moved"));
    assert_int_equal(rename(a, b), 0);
    shows(m, "empty/moved", "from a");
    finish(m);
}

static void links_lead_to_the_same_file(void **state)
{
    struct mounted *m = begin(LONG_NS);
    char other[PATH_MAX], buf[64] = "";
    struct stat st, st2;
    strcpy(other, in(m, "other"));
    assert_int_equal(link(in(m, "hello"), other), 0);
    assert_int_equal(stat(other, &st), 0);
    assert_int_equal(st.st_nlink, 2);
    assert_int_equal(stat(in(m, "hello"), &st2), 0);
    assert_int_equal(st.st_ino, st2.st_ino);
    put(m, "other", "by the other name");
    shows(m, "hello", "by the other name");

    assert_int_equal(symlink("hello", in(m, "soft")), 0);
    assert_int_equal(readlink(in(m, "soft"), buf, sizeof(buf) - 1), 5);
    assert_string_equal(buf, "hello");
    assert_int_equal(lstat(in(m, "soft"), &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    shows(m, "soft", "by the other name");
    finish(m);
}

/* The revocation comes by another thread, a moment after the call. */
static bool found_soon(const char *path, bool there)
{
    struct stat st;
    for (int i = 0; i < 100; i++) {
        if ((stat(path, &st) == 0) == there)
            return true;
        usleep(1000);
    }
    return false;
}

static void another_spelling_of_a_new_name_is_found(void **state)
{
    struct mounted *m = begin(LONG_NS);
    char upper[PATH_MAX], lower[PATH_MAX];
    struct stat st;
    strcpy(upper, in(m, "NEW"));
    strcpy(lower, in(m, "new"));
    FAILS(stat(upper, &st), ENOENT);
    put(m, "new", "text");
    assert_true(found_soon(upper, true));
    FAILS(stat(in(m, "DIR"), &st), ENOENT);
    assert_int_equal(mkdir(in(m, "dir"), 0755), 0);
    assert_true(found_soon(in(m, "DIR"), true));
    FAILS(stat(in(m, "MOVED"), &st), ENOENT);
    char moved[PATH_MAX];
    strcpy(moved, in(m, "moved"));
    assert_int_equal(rename(lower, moved), 0);
    assert_true(found_soon(in(m, "MOVED"), true));
    finish(m);
}

static void what_goes_by_another_spelling_is_gone(void **state)
{
    struct mounted *m = begin(LONG_NS);
    struct stat st;
    assert_int_equal(stat(in(m, "hello"), &st), 0); /* kept by the kernel */
    assert_int_equal(unlink(in(m, "HELLO")), 0);
    assert_true(found_soon(in(m, "hello"), false));
    put(m, "one", "text");
    char to[PATH_MAX];
    strcpy(to, in(m, "two"));
    assert_int_equal(rename(in(m, "ONE"), to), 0);
    assert_true(found_soon(in(m, "one"), false));
    shows(m, "two", "text");
    finish(m);
}

/* ---- attributes ---- */

static void attributes_are_set_and_shown(void **state)
{
    struct mounted *m = begin(LONG_NS);
    struct stat st;
    const struct timespec times[2] = {{1000000000, 123456789}, {-5, 999999999}};
    assert_int_equal(utimensat(AT_FDCWD, in(m, "hello"), times, 0), 0);
    assert_int_equal(stat(in(m, "hello"), &st), 0);
    assert_int_equal(st.st_atim.tv_sec, 1000000000);
    assert_int_equal(st.st_atim.tv_nsec, 123456700); /* 100 ns */
    assert_int_equal(st.st_mtim.tv_sec, -5);
    assert_int_equal(st.st_mtim.tv_nsec, 999999900);

    const struct timespec now[2] = {{0, UTIME_OMIT}, {0, UTIME_NOW}};
    time_t before = time(NULL);
    assert_int_equal(utimensat(AT_FDCWD, in(m, "hello"), now, 0), 0);
    assert_int_equal(stat(in(m, "hello"), &st), 0);
    assert_int_equal(st.st_atim.tv_sec, 1000000000);
    assert_in_range(st.st_mtim.tv_sec, before, before + 5);

    assert_int_equal(truncate(in(m, "hello"), 5), 0);
    shows(m, "hello", "hello");
    assert_int_equal(truncate(in(m, "hello"), 7), 0);
    assert_int_equal(stat(in(m, "hello"), &st), 0);
    assert_int_equal(st.st_size, 7);
    finish(m);
}

static void of_a_mode_only_the_w_bits_count(void **state)
{
    struct mounted *m = begin(LONG_NS);
    struct stat st;
    assert_int_equal(chmod(in(m, "hello"), 0444), 0);
    assert_true(fake_share_attributes(m->share, "hello") & FILE_ATTRIBUTE_READONLY);
    assert_int_equal(stat(in(m, "hello"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0555);
    FAILS(open_in(m, "hello", O_WRONLY), EACCES);
    FAILS(access(in(m, "hello"), W_OK), EACCES);
    assert_int_equal(chmod(in(m, "hello"), 0020), 0);
    assert_false(fake_share_attributes(m->share, "hello") & FILE_ATTRIBUTE_READONLY);
    assert_int_equal(access(in(m, "hello"), W_OK), 0);
    fake_share_counts(m->share);
    assert_int_equal(chmod(in(m, "hello"), 0600), 0); /* accepted, without effect or request */
    assert_int_equal(chmod(in(m, "many"), 0500), 0);
    assert_int_equal(chown(in(m, "hello"), 1, 1), 0);
    assert_int_equal(fake_share_counts(m->share).changes, 0);
    assert_int_equal(stat(in(m, "hello"), &st), 0);
    assert_int_equal(st.st_uid, getuid());

    int fd = open(in(m, "born-so"), O_RDWR | O_CREAT, 0444);
    assert_int_equal(write(fd, "git", 3), 3); /* who made it may write it */
    close(fd);
    assert_true(fake_share_attributes(m->share, "born-so") & FILE_ATTRIBUTE_READONLY);
    finish(m);
}

/* ---- data ---- */

static void requests_are_as_large_as_they_can_be(void **state)
{
    struct mounted *m = begin(LONG_NS);
    size_t size = 8 << 20;
    char *data = malloc(size), *back = malloc(size);
    for (size_t i = 0; i < size; i++)
        data[i] = (char)(i * 7 + i / 4096);
    int fd = open_in(m, "big", O_RDWR | O_CREAT);
    assert_int_equal(write(fd, data, size), size);
    struct fake_counts c = fake_share_counts(m->share);
    assert_int_equal(c.largest_write, 1 << 20);
    assert_int_equal(c.writes, 8);
    close(fd);
    fd = open_in(m, "big", O_RDONLY);
    assert_int_equal(read(fd, back, size), size);
    assert_memory_equal(back, data, size);
    close(fd);
    c = fake_share_counts(m->share);
    if (geteuid() == 0) { /* else the kernel reads ahead by 128 KiB */
        assert_int_equal(c.largest_read, 1 << 20);
        assert_in_range(c.reads, 8, 9);
    }
    free(data);
    free(back);
    finish(m);
}

/* O_DIRECT: each read(2) is one READ, as large as the kernel's own without root. */
static void small_reads_in_order_are_read_ahead(void **state)
{
    struct mounted *m = begin(LONG_NS);
    enum { SIZE = 12 << 20, STEP = 128 << 10 };
    char *data = malloc(SIZE), *buf;
    assert_int_equal(posix_memalign((void **)&buf, 4096, STEP), 0);
    for (size_t i = 0; i < SIZE; i++)
        data[i] = (char)(i * 13 + i / 4096);
    int to = open_in(m, "big", O_WRONLY | O_CREAT);
    assert_int_equal(write(to, data, SIZE), SIZE);
    int fd = open_in(m, "big", O_RDONLY | O_DIRECT);
    fake_share_counts(m->share);
    for (size_t at = 0; at < SIZE; at += STEP) {
        if (at == SIZE / 2) { /* what was read ahead of the reader is old now */
            memset(data + at, 'n', 2 << 20);
            assert_int_equal(pwrite(to, data + at, 2 << 20, (off_t)at), 2 << 20);
        }
        assert_int_equal(read(fd, buf, STEP), STEP);
        assert_memory_equal(buf, data + at, STEP);
    }
    assert_int_equal(read(fd, buf, STEP), 0);
    assert_true(fake_share_counts(m->share).reads <= 12 + 8 + 5 + 8 + 1); /* not 96 */
    assert_int_equal(pread(fd, buf, STEP, 4096), STEP);                   /* somewhere else */
    assert_memory_equal(buf, data + 4096, STEP);
    close(fd);
    close(to);
    free(data);
    free(buf);
    finish(m);
}

static void a_write_that_fails_says_so(void **state)
{
    struct mounted *m = begin(LONG_NS);
    static const int codes[] = {ENOSPC, EDQUOT, EACCES, EIO};
    int fd = open_in(m, "hello", O_RDWR);
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        fake_share_fail(m->share, -codes[i]);
        FAILS(write(fd, "x", 1), codes[i]);
        FAILS(fsync(fd), codes[i]);
        FAILS(ftruncate(fd, 3), codes[i]);
        FAILS(posix_fallocate(fd, 0, 100) ? (errno = codes[i], -1) : 0, codes[i]);
        FAILS(mkdir(in(m, "dir"), 0755), codes[i]);
        FAILS(open_in(m, "new", O_RDWR | O_CREAT), codes[i]);
        FAILS(unlink(in(m, "hello")), codes[i]);
        fake_share_fail(m->share, 0);
    }
    char buf[64] = "";
    assert_int_equal(pread(fd, buf, sizeof(buf), 0), 13); /* no page has what was not written */
    assert_string_equal(buf, "hello, world\n");
    fake_share_short_writes(m->share, 5);
    assert_int_equal(pwrite(fd, "HELLO, WORLD", 12, 0), 5);
    assert_int_equal(pread(fd, buf, sizeof(buf), 0), 13);
    assert_string_equal(buf, "HELLO, world\n");
    close(fd);
    finish(m);
}

static void appends_go_to_the_end_that_the_server_has(void **state)
{
    struct mounted *m = begin(LONG_NS);
    int fd = open_in(m, "hello", O_WRONLY | O_APPEND);
    int later = open_in(m, "hello", O_WRONLY);
    assert_int_equal(fcntl(later, F_SETFL, O_APPEND), 0);
    fake_share_append(m->share, "theirs\n"); /* the kernel still has the old size */
    assert_int_equal(write(fd, "ours\n", 5), 5);
    fake_share_append(m->share, "again\n");
    assert_int_equal(write(later, "late\n", 5), 5);
    const char *all = "hello, world\ntheirs\nours\nagain\nlate\n";
    server_has(m, "hello", all);
    size_comes_to(m, "hello", strlen(all));
    shows(m, "hello", all);
    assert_int_equal(truncate(in(m, "hello"), 2), 0);
    assert_int_equal(write(fd, "!", 1), 1);
    shows(m, "hello", "he!");
    close(fd);
    close(later);
    finish(m);
}

static void a_file_is_truncated_by_its_open(void **state)
{
    struct mounted *m = begin(LONG_NS);
    shows(m, "hello", "hello, world\n");
    fake_share_counts(m->share);
    int fd = open_in(m, "hello", O_WRONLY | O_TRUNC);
    assert_int_equal(fake_share_counts(m->share).changes, 0); /* no SETATTR beside it */
    server_has(m, "hello", "");
    assert_int_equal(write(fd, "hi", 2), 2);
    close(fd);
    shows(m, "hello", "hi");
    finish(m);
}

static void who_may_only_write_writes(void **state)
{
    struct mounted *m = begin(LONG_NS);
    fake_share_write_only(m->share, true);
    FAILS(open_in(m, "hello", O_RDWR), EACCES);
    put(m, "hello", "dropped in");
    server_has(m, "hello", "dropped in");
    put(m, "box", "dropped too");
    server_has(m, "box", "dropped too");
    finish(m);
}

static void a_mapped_file_is_written_back(void **state)
{
    struct mounted *m = begin(LONG_NS);
    static const int flags[] = {O_RDWR, O_RDWR | O_APPEND};
    for (int i = 0; i < 2; i++) {
        int fd = open_in(m, "hello", flags[i]);
        char *map = mmap(NULL, 13, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        assert_true(map != MAP_FAILED);
        close(fd);
        map[0] = i ? 'J' : 'Y';
        assert_int_equal(msync(map, 13, MS_SYNC), 0);
        server_has(m, "hello", i ? "Jello, world\n" : "Yello, world\n");
        munmap(map, 13);
        shows(m, "hello", i ? "Jello, world\n" : "Yello, world\n");
    }
    finish(m);
}

static void room_and_holes(void **state)
{
    struct mounted *m = begin(LONG_NS);
    char buf[64];
    int fd = open_in(m, "hello", O_RDWR);
    struct stat st;
    assert_int_equal(fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 1 << 16), 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, 13);
    assert_int_equal(fallocate(fd, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, 2, 5), 0);
    assert_int_equal(pread(fd, buf, sizeof(buf), 0), 13);
    assert_memory_equal(buf, "he\0\0\0\0\0world\n", 13);
    assert_int_equal(lseek(fd, 0, SEEK_HOLE), 2);
    assert_int_equal(lseek(fd, 2, SEEK_DATA), 7);
    FAILS(lseek(fd, 13, SEEK_DATA), ENXIO);
    assert_int_equal(lseek(fd, 0, SEEK_END), 13);
    assert_int_equal(fallocate(fd, 0, 10, 10), 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, 20);
    FAILS(fallocate(fd, FALLOC_FL_ZERO_RANGE, 0, 5), EOPNOTSUPP);
    FAILS(fallocate(fd, FALLOC_FL_COLLAPSE_RANGE, 0, 4096), EOPNOTSUPP);

    int to = open_in(m, "copy", O_WRONLY | O_CREAT);
    loff_t from_off = 7, to_off = 0;
    assert_int_equal(copy_file_range(fd, &from_off, to, &to_off, 5, 0), 5);
    close(to);
    shows(m, "copy", "world");
    close(fd);
    finish(m);
}

static void an_open_file_outlives_its_name(void **state)
{
    struct mounted *m = begin(LONG_NS);
    struct stat st;
    char buf[64] = "";
    int fd = open_in(m, "hello", O_RDWR);
    assert_int_equal(unlink(in(m, "hello")), 0);
    FAILS(stat(in(m, "hello"), &st), ENOENT);
    assert_int_equal(pwrite(fd, "J", 1, 0), 1);
    assert_int_equal(pread(fd, buf, sizeof(buf), 0), 13);
    assert_string_equal(buf, "Jello, world\n");
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, 13);
    assert_int_equal(ftruncate(fd, 1), 0);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_size, 1);
    put(m, "hello", "another");
    shows(m, "hello", "another");
    close(fd);
    finish(m);
}

/* ---- locks ---- */

static int lock(int fd, int how, short type)
{
    struct flock l = {.l_type = type, .l_whence = SEEK_SET, .l_start = 3, .l_len = 4};
    return fcntl(fd, how, &l);
}

/* Runs it in a child, which is another owner of locks; its exit code. */
static int in_child(const struct mounted *m, int (*run)(const struct mounted *m))
{
    pid_t pid = fork_user();
    if (pid == 0)
        _exit(run(m));
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int try_both(const struct mounted *m)
{
    int fd = open_in(m, "hello", O_RDWR);
    int code = lock(fd, F_SETLK, F_WRLCK) < 0 ? errno : 0;
    if (code)
        return code;
    lock(fd, F_SETLK, F_UNLCK); /* to a server the two kinds are one */
    return flock(fd, LOCK_EX | LOCK_NB) < 0 ? 200 : 0;
}

static void locks_keep_others_out_until_they_are_let_go(void **state)
{
    struct mounted *m = begin(LONG_NS);
    int fd = open_in(m, "hello", O_RDWR), again = open_in(m, "hello", O_RDWR);
    assert_int_equal(lock(fd, F_SETLK, F_WRLCK), 0);
    assert_int_equal(in_child(m, try_both), EAGAIN);
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    assert_int_equal(fcntl(fd, F_GETLK, &l), 0);
    assert_int_equal(l.l_type, F_UNLCK); /* nobody else's */
    close(again);                        /* any close of the file lets go, as POSIX has it */
    assert_int_equal(in_child(m, try_both), 0);

    int reader = open_in(m, "hello", O_RDONLY); /* its close sends no FLUSH */
    assert_int_equal(lock(reader, F_SETLK, F_RDLCK), 0);
    assert_int_equal(in_child(m, try_both), EAGAIN);
    close(reader);
    for (int i = 0; i < 100 && in_child(m, try_both) != 0; i++)
        usleep(1000);
    assert_int_equal(in_child(m, try_both), 0);

    assert_int_equal(flock(fd, LOCK_SH), 0);
    assert_int_equal(in_child(m, try_both), EAGAIN);
    close(fd);
    for (int i = 0; i < 100 && in_child(m, try_both) != 0; i++)
        usleep(1000);
    assert_int_equal(in_child(m, try_both), 0);
    finish(m);
}

static void do_nothing(int signal)
{
}

static int wait_until_alarm(const struct mounted *m)
{
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = do_nothing}, NULL);
    int fd = open_in(m, "hello", O_RDWR);
    alarm(1);
    return lock(fd, F_SETLKW, F_WRLCK) < 0 ? errno : 0;
}

static void waiting_for_a_lock_ends_by_any_signal(void **state)
{
    struct mounted *m = begin(LONG_NS);
    int fd = open_in(m, "hello", O_RDWR);
    assert_int_equal(lock(fd, F_SETLK, F_WRLCK), 0);
    uint64_t start = clock_now();
    assert_int_equal(in_child(m, wait_until_alarm), EINTR);
    assert_in_range((clock_now() - start) / NS_PER_MS, 900, 2500);
    close(fd);
    finish(m);
}

#define WAITING 12

static void waiting_locks_take_no_worker_away(void **state)
{
    struct mounted *m = begin_with(LONG_NS, false, 4);
    pid_t pids[WAITING];
    int fd = open_in(m, "hello", O_RDWR);
    assert_int_equal(lock(fd, F_SETLK, F_WRLCK), 0);
    for (int i = 0; i < WAITING; i++) {
        pids[i] = fork_user();
        if (pids[i] == 0) {
            int mine = open_in(m, "hello", O_RDWR);
            _exit(lock(mine, F_SETLKW, F_WRLCK) < 0 ? errno : 0);
        }
    }
    usleep(300 * 1000);
    put(m, "meanwhile", "the mount goes on");
    shows(m, "meanwhile", "the mount goes on");
    kill(pids[0], SIGKILL);
    int status;
    assert_int_equal(waitpid(pids[0], &status, 0), pids[0]);
    close(fd);
    for (int i = 1; i < WAITING; i++) { /* each gets it, and its end lets it go */
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    finish(m);
}

static void a_mount_ends_while_somebody_waits_for_a_lock(void **state)
{
    struct mounted *m = begin(LONG_NS);
    int fd = open_in(m, "hello", O_RDWR);
    assert_int_equal(lock(fd, F_SETLK, F_WRLCK), 0);
    pid_t pid = fork_user();
    if (pid == 0) {
        int mine = open_in(m, "hello", O_RDWR);
        _exit(lock(mine, F_SETLKW, F_WRLCK) < 0 ? 1 : 0);
    }
    usleep(200 * 1000);
    finish(m);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WEXITSTATUS(status), 1);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_made_is_shown_at_once),
        cmocka_unit_test(what_cannot_be_made_or_removed_says_why),
        cmocka_unit_test(renames_replace_only_if_they_may),
        cmocka_unit_test(links_lead_to_the_same_file),
        cmocka_unit_test(another_spelling_of_a_new_name_is_found),
        cmocka_unit_test(what_goes_by_another_spelling_is_gone),
        cmocka_unit_test(attributes_are_set_and_shown),
        cmocka_unit_test(of_a_mode_only_the_w_bits_count),
        cmocka_unit_test(requests_are_as_large_as_they_can_be),
        cmocka_unit_test(small_reads_in_order_are_read_ahead),
        cmocka_unit_test(a_write_that_fails_says_so),
        cmocka_unit_test(appends_go_to_the_end_that_the_server_has),
        cmocka_unit_test(a_file_is_truncated_by_its_open),
        cmocka_unit_test(who_may_only_write_writes),
        cmocka_unit_test(a_mapped_file_is_written_back),
        cmocka_unit_test(room_and_holes),
        cmocka_unit_test(an_open_file_outlives_its_name),
        cmocka_unit_test(locks_keep_others_out_until_they_are_let_go),
        cmocka_unit_test(waiting_for_a_lock_ends_by_any_signal),
        cmocka_unit_test(waiting_locks_take_no_worker_away),
        cmocka_unit_test(a_mount_ends_while_somebody_waits_for_a_lock),
    };
    return cmocka_run_group_tests_name("mount writing", tests, NULL, NULL);
}
