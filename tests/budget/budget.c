/*
 * The budget: round trips per operation for profile larder, against a real Samba, through the
 * public library. Speed is asserted in round trips, never in seconds. Usage: budget TARGET DIR,
 * where DIR is the shared directory on the local disk, filled here before it is read through the
 * share.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "larder/larder.h"

static unsigned passed, failed;
static const char *target, *shared;

static void expect(const char *what, int64_t got, int64_t want)
{
    if (got == want)
        passed++;
    else
        failed++;
    printf("%s %-52s %lld, budget %lld\n", got == want ? "ok  " : "FAIL", what, (long long)got,
           (long long)want);
}

static void make_file(const char *path, size_t size)
{
    char full[512];
    snprintf(full, sizeof full, "%s/%s", shared, path);
    FILE *f = fopen(full, "w");
    for (size_t i = 0; f && i < size; i++)
        fputc((int)('a' + i % 23), f);
    if (!f || fclose(f) != 0) {
        perror(full);
        exit(1);
    }
}

static void make_dir(const char *path)
{
    char full[512];
    snprintf(full, sizeof full, "%s/%s", shared, path);
    mkdir(full, 0755);
}

static void make_files(const char *dir, unsigned count)
{
    make_dir(dir);
    for (unsigned i = 0; i < count; i++) {
        char path[64];
        snprintf(path, sizeof path, "%s/module_%04u.py", dir, i);
        make_file(path, 10);
    }
}

static void fill(void)
{
    static const char *const deep[] = {"a",         "a/b",         "a/b/c",        "a/b/c/d",
                                       "a/b/c/d/e", "a/b/c/d/e/f", "a/b/c/d/e/f/g"};
    for (size_t i = 0; i < sizeof deep / sizeof deep[0]; i++)
        make_dir(deep[i]);
    make_file("a/b/c/d/e/f/g/h", 100);
    make_dir("small");
    make_file("small/file", 4096);
    make_file("small/empty", 0);
    make_files("hundred", 100);
    make_files("thousands", 2000);
}

static struct larder *connect_cold(void)
{
    struct larder_config *config;
    struct larder_error err;
    struct larder *l = NULL;
    if (larder_config_new(target, &config, &err) < 0 ||
        larder_config_set(config, "user", getenv("LARDER_USER"), &err) < 0 ||
        larder_config_set(config, "password", getenv("LARDER_PASSWORD"), &err) < 0 ||
        larder_config_set(config, "Watches", "false", &err) < 0 || /* begins when it likes */
        larder_connect(config, &l, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    larder_config_free(config);
    return l;
}

static int64_t trips(struct larder *l)
{
    static int64_t last;
    int64_t now = larder_counter(l, "round_trips"), since = now - last;
    last = now;
    return since;
}

static void stat_budget(struct larder *l)
{
    struct larder_stat st;
    trips(l);
    expect("stat of a path eight deep answers",
           larder_stat(l, "a/b/c/d/e/f/g/h", &st, NULL) == 0 && st.size == 100, 1);
    expect("stat of a path eight deep, cold", trips(l), 1);
    larder_stat(l, "a/b/c/d/e/f/g/h", &st, NULL);
    expect("the same again", trips(l), 0);
    expect("a missing name is missing", larder_stat(l, "small/nothing", &st, NULL), -2);
    expect("a missing name, cold", trips(l), 1);
    larder_stat(l, "small/nothing", &st, NULL);
    expect("the same again", trips(l), 0);
}

static void list_budget(struct larder *l)
{
    struct larder_dir *d = NULL;
    struct larder_stat st;
    trips(l);
    expect("a listing of 100 names is whole",
           larder_list(l, "hundred", &d, NULL) == 0 ? (int64_t)larder_dir_count(d) : -1, 100);
    expect("a listing of 100 names, cold", trips(l), 1);
    larder_dir_close(d);
    larder_list(l, "hundred", &d, NULL);
    larder_dir_close(d);
    expect("the same again", trips(l), 0);
    larder_stat(l, "hundred/module_0042.py", &st, NULL);
    expect("stat of a name in it", trips(l), 0);
    expect("a name that is not in it", larder_stat(l, "hundred/absent", &st, NULL), -2);
    expect("costs", trips(l), 0);
    expect("a listing of 2,000 names is whole",
           larder_list(l, "thousands", &d, NULL) == 0 ? (int64_t)larder_dir_count(d) : -1, 2000);
    int64_t cost = trips(l);
    expect("a listing of 2,000 names, cold, at most 3", cost <= 3 ? 1 : cost, 1);
    larder_dir_close(d);
}

static void open_budget(struct larder *l)
{
    struct larder_file *f = NULL;
    char buf[8192];
    trips(l);
    larder_open(l, "small/file", &f, NULL, NULL);
    expect("all of a 4 KiB file is read", f ? larder_read(f, buf, sizeof buf, 0, NULL) : -1, 4096);
    expect("its end is told", f ? larder_read(f, buf, sizeof buf, 4096, NULL) : -1, 0);
    larder_close(f);
    expect("open, read, read to the end, close, cold", trips(l), 1);
    larder_open(l, "small/empty", &f, NULL, NULL);
    expect("an empty file is empty", larder_read(f, buf, sizeof buf, 0, NULL), 0);
    larder_close(f);
    expect("open, read, close of an empty file, cold", trips(l), 1);
}

static int64_t requests(struct larder *l)
{
    static int64_t last;
    int64_t now = 0;
    static const char *const commands[] = {
        "requests.CREATE", "requests.CLOSE", "requests.READ",     "requests.QUERY_DIRECTORY",
        "requests.WRITE",  "requests.FLUSH", "requests.SET_INFO", "requests.QUERY_INFO"};
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        now += larder_counter(l, commands[i]);
    int64_t since = now - last;
    last = now;
    return since;
}

/* The next stat is right and needs no request. */
static void expect_told(struct larder *l, const char *path, int64_t size)
{
    struct larder_stat st;
    char what[96];
    requests(l);
    int r = larder_stat(l, path, &st, NULL);
    snprintf(what, sizeof what, "stat of %s after it is right", path);
    expect(what, r < 0 ? r : (int64_t)st.size, size);
    expect("and costs no request", requests(l), 0);
}

static void write_budget(struct larder *l)
{
    struct larder_file *f = NULL;
    struct larder_stat st;
    struct larder_dir *d = NULL;
    static char data[4096];
    larder_mkdir(l, "new", NULL, NULL);
    trips(l);
    larder_open_with(l, "new/file", LARDER_WRITE | LARDER_CREATE, &f, NULL, NULL);
    expect("4 KiB are written", f ? larder_write(f, data, sizeof data, 0, NULL) : -1, 4096);
    larder_close(f);
    expect("create, write 4 KiB, close", trips(l), 2);
    expect_told(l, "new/file", 4096);

    larder_list(l, "new", &d, NULL); /* from here on the directory is believed to be known */
    larder_dir_close(d);
    trips(l);
    expect("a directory is made", larder_mkdir(l, "new/dir", &st, NULL), 0);
    expect("mkdir", trips(l), 1);
    expect_told(l, "new/dir", 0);
    trips(l);
    expect("a file is renamed", larder_rename(l, "new/file", "new/other", true, NULL), 0);
    expect("rename", trips(l), 1);
    expect_told(l, "new/other", 4096);
    expect_told(l, "new/file", -2);
    trips(l);
    expect("a file is renamed into another directory",
           larder_rename(l, "new/other", "new/dir/file", true, NULL), 0);
    expect("rename", trips(l), 1);
    expect_told(l, "new/dir/file", 4096);
    trips(l);
    expect("a file is truncated",
           larder_setattr(l, "new/dir/file",
                          &(struct larder_setattr){.set = LARDER_SET_SIZE, .size = 100}, NULL,
                          NULL),
           0);
    expect("truncate", trips(l), 1);
    expect_told(l, "new/dir/file", 100);
    trips(l);
    expect("times are set",
           larder_setattr(
               l, "new/dir/file",
               &(struct larder_setattr){.set = LARDER_SET_WRITTEN, .written = {1000000000, 0}},
               NULL, NULL),
           0);
    expect("set times", trips(l), 1);
    larder_stat(l, "new/dir/file", &st, NULL);
    expect("as they were set", st.written.tv_sec, 1000000000);
    expect_told(l, "new/dir/file", 100);
    trips(l);
    expect("a file is removed", larder_remove(l, "new/dir/file", false, NULL), 0);
    expect("unlink", trips(l), 1);
    expect_told(l, "new/dir/file", -2);
    trips(l);
    expect("a directory is removed", larder_remove(l, "new/dir", true, NULL), 0);
    expect("rmdir", trips(l), 1);
    expect_told(l, "new/dir", -2);
    requests(l);
    larder_list(l, "new", &d, NULL);
    expect("the directory is empty now", d ? (int64_t)larder_dir_count(d) : -1, 0);
    expect("which its listing, patched, tells without a request", requests(l), 0);
    larder_dir_close(d);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    target = argv[1];
    shared = argv[2];
    fill();
    struct larder *l = connect_cold();
    stat_budget(l);
    list_budget(l);
    open_budget(l);
    write_budget(l);
    larder_disconnect(l);
    printf("budget: %u passed, %u failed\n", passed, failed);
    return failed != 0;
}
