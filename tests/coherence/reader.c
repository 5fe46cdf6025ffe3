/*
 * Who asks. Threads that stat, list and read random names of a tree, through a mount or through the
 * library, and write down for every answer when it was asked, when it was there, and what it said;
 * whether it was allowed is judged later, by others (checker.py).
 *
 *   reader mount DIR HOT OUT SEED THREADS PAUSE_US
 *   reader library TARGET,OPTIONS HOT OUT SEED THREADS PAUSE_US
 *
 * Runs until its standard input ends. HOT is a file of directory numbers that the writer keeps up
 * to date: those that it has just changed and those that it will change next, where most questions
 * go, so that something is believed before each change and asked for right after it. OUT gets a
 * file a thread. Times are nanoseconds of CLOCK_MONOTONIC. Lines (world.py has the names):
 *
 *   S ASKED ANSWERED PATH ERRNO [KIND SIZE MTIME]      a stat
 *   L ASKED ANSWERED PATH ERRNO [NAME:KIND:SIZE:MTIME ...]  a listing; through a mount NAME:KIND
 *   R ASKED ANSWERED PATH ERRNO [LENGTH VERSION WHOLE ZEROS] a file opened and read; LENGTH bytes
 *                                                      and so many zeros behind them
 *   H DUE LATE                                         this process got a CPU so much too late
 *
 * A file's content is blocks of 16 bytes, each with the version and its own number, so that bytes
 * of two states, or of none, are told from those of one.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "larder/larder.h"

enum { DIRS = 200, TOPS = 20, HOT = 16, BLOCK = 16, FILE_MAX = 65536, BEAT_US = 5000 };

struct thread {
    pthread_t id;
    FILE *out;
    unsigned seed;
    cpu_set_t cpu; /* of a beat */
};

static atomic_bool over;
static const volatile uint32_t *hot;
static const char *place;      /* of the mount; NULL: through the library */
static struct larder *library; /* NULL: through the mount */
static unsigned pause_us;

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- where to look ---- */

static unsigned pick(struct thread *t, unsigned n)
{
    return (unsigned)rand_r(&t->seed) % n;
}

/* As world.py numbers them. */
static void pick_directory(struct thread *t, char *out, size_t cap)
{
    unsigned d = pick(t, 100) < 85 ? hot[pick(t, HOT)] % DIRS : pick(t, DIRS);
    if (d < TOPS)
        snprintf(out, cap, "t%02u", d);
    else
        snprintf(out, cap, "t%02u/u%u", (d - TOPS) % TOPS, (d - TOPS) / TOPS);
}

static void pick_name(struct thread *t, bool dirs, char *out, size_t cap)
{
    static const char *const files[] = {"f0", "f1", "f2", "f3", "s0/f0", "s0/f1", "s1/f0", "s1/f1"};
    static const char *const subdirs[] = {"s0", "s1"};
    char dir[64];
    pick_directory(t, dir, sizeof dir);
    snprintf(out, cap, "%s/%s", dir, dirs ? subdirs[pick(t, 2)] : files[pick(t, 8)]);
}

/* ---- the answers ---- */

static char kind_of(mode_t mode)
{
    return S_ISDIR(mode) ? 'd' : 'f';
}

static void ask_stat(struct thread *t, const char *path)
{
    char full[256];
    struct stat st;
    struct larder_stat ls;
    snprintf(full, sizeof full, "%s/%s", place ? place : "", path);
    uint64_t asked = now();
    int r = place ? (stat(full, &st) < 0 ? errno : 0) : -larder_stat(library, path, &ls, NULL);
    uint64_t answered = now();
    fprintf(t->out, "S %lu %lu %s %d", asked, answered, path, r);
    if (r == 0 && place)
        fprintf(t->out, " %c %ld %ld", kind_of(st.st_mode), (long)st.st_size, (long)st.st_mtime);
    else if (r == 0)
        fprintf(t->out, " %c %lu %ld", ls.is_dir ? 'd' : 'f', ls.size, (long)ls.written.tv_sec);
    fputc('\n', t->out);
}

static void list_mount(struct thread *t, const char *path)
{
    char full[256], names[64][32];
    unsigned n = 0;
    snprintf(full, sizeof full, "%s/%s", place, path);
    uint64_t asked = now();
    DIR *d = opendir(full);
    int r = d ? 0 : errno;
    errno = 0;
    for (struct dirent *e; d && n < 64 && (e = readdir(d));)
        if (e->d_name[0] != '.')
            snprintf(names[n++], sizeof names[0], "%.24s:%c", e->d_name,
                     e->d_type == DT_DIR ? 'd' : 'f');
    if (d && errno)
        r = errno;
    uint64_t answered = now();
    if (d)
        closedir(d);
    fprintf(t->out, "L %lu %lu %s %d", asked, answered, path, r);
    for (unsigned i = 0; i < n; i++)
        fprintf(t->out, " %s", names[i]);
    fputc('\n', t->out);
}

static void list_library(struct thread *t, const char *path)
{
    struct larder_dir *d = NULL;
    uint64_t asked = now();
    int r = -larder_list(library, path, &d, NULL);
    uint64_t answered = now();
    fprintf(t->out, "L %lu %lu %s %d", asked, answered, path, r);
    for (size_t i = 0; r == 0 && i < larder_dir_count(d); i++) {
        struct larder_stat st;
        const char *name = larder_dir_entry(d, i, &st);
        fprintf(t->out, " %s:%c:%lu:%ld", name, st.is_dir ? 'd' : 'f', st.size,
                (long)st.written.tv_sec);
    }
    fputc('\n', t->out);
    larder_dir_close(d);
}

/* Whether all of it is the beginning of one version's stream. */
static bool is_whole(const char *data, size_t len, long *ret_version)
{
    char want[BLOCK + 1];
    unsigned version = 0;
    *ret_version = -1;
    if (len == 0)
        return true;
    if (len < BLOCK || sscanf(data, "%7u ", &version) != 1)
        return false;
    *ret_version = version;
    for (size_t at = 0; at < len; at += BLOCK) {
        size_t n = len - at < BLOCK ? len - at : BLOCK;
        snprintf(want, sizeof want, "%07u %07zu\n", version, at / BLOCK % 10000000);
        if (memcmp(data + at, want, n) != 0)
            return false;
    }
    return true;
}

/* One read: what came between two of them would be the reader's own mixture. */
static void ask_read(struct thread *t, const char *path)
{
    static _Thread_local char data[FILE_MAX + 1];
    char full[256];
    struct larder_file *f = NULL;
    int64_t n = -1;
    int r, fd = -1;
    snprintf(full, sizeof full, "%s/%s", place ? place : "", path);
    uint64_t asked = now();
    if (place) {
        fd = open(full, O_RDONLY | O_CLOEXEC);
        n = fd < 0 ? -1 : read(fd, data, FILE_MAX);
        r = n < 0 ? errno : 0;
    } else {
        r = -larder_open(library, path, &f, NULL, NULL);
        n = r ? -1 : larder_read(f, data, FILE_MAX, 0, NULL);
        r = r ? r : n < 0 ? (int)-n : 0;
    }
    uint64_t answered = now();
    if (fd >= 0)
        close(fd);
    larder_close(f);
    fprintf(t->out, "R %lu %lu %s %d", asked, answered, path, r);
    long version;
    if (r == 0 && n >= 0) {
        size_t len = (size_t)n;
        while (len && data[len - 1] == 0)
            len--;
        data[n] = 0;
        bool whole = is_whole(data, len, &version);
        fprintf(t->out, " %zu %ld %d %zu", len, version, whole, (size_t)n - len);
    }
    fputc('\n', t->out);
}

static void *ask(void *arg)
{
    struct thread *t = arg;
    char path[128];
    while (!over) {
        unsigned what = pick(t, 100);
        if (what < 20) {
            pick_directory(t, path, sizeof path);
            (place ? list_mount : list_library)(t, path);
        } else if (what < 25) {
            pick_name(t, true, path, sizeof path);
            (place ? list_mount : list_library)(t, path);
        } else if (what < 65) {
            pick_name(t, what < 35, path, sizeof path);
            ask_stat(t, path);
        } else {
            pick_name(t, false, path, sizeof path);
            ask_read(t, path);
        }
        usleep(pick(t, 2 * pause_us + 1));
    }
    return NULL;
}

/* How long a thread that wants nothing but to run has to wait for its CPU. There is one thread for
 * each: what waits elsewhere for a CPU that is busy, or that a host has taken away, is not seen by
 * one that can go to another. */
static void *beat(void *arg)
{
    struct thread *t = arg;
    pthread_setaffinity_np(pthread_self(), sizeof t->cpu, &t->cpu);
    for (uint64_t due = now(); !over;) {
        due += BEAT_US * 1000ull;
        struct timespec at = {(time_t)(due / 1000000000u), (long)(due % 1000000000u)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
        uint64_t woke = now();
        if (woke - due > 1000000u)
            fprintf(t->out, "H %lu %lu\n", due, woke - due);
        due = woke;
    }
    return NULL;
}

/* ---- life ---- */

static struct larder *connect_library(char *target)
{
    struct larder_config *config;
    struct larder_error err;
    struct larder *l = NULL;
    char *options = strchr(target, ',');
    if (options)
        *options++ = 0;
    if (larder_config_new(target, &config, &err) < 0 ||
        (options && larder_config_set_list(config, options, &err) < 0) ||
        larder_config_set(config, "password", getenv("LARDER_PASSWORD"), &err) < 0 ||
        larder_connect(config, &l, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    larder_config_free(config);
    return l;
}

static void start(struct thread *t, const char *out, unsigned number, unsigned seed,
                  void *(*run)(void *))
{
    char path[512];
    snprintf(path, sizeof path, "%s.%u", out, number);
    t->out = fopen(path, "w");
    t->seed = seed + number;
    if (!t->out || pthread_create(&t->id, NULL, run, t) != 0)
        die(path);
}

int main(int argc, char **argv)
{
    if (argc != 8) {
        fprintf(stderr, "usage: reader mount|library PLACE HOT OUT SEED THREADS PAUSE_US\n");
        return 2;
    }
    unsigned count = (unsigned)atoi(argv[6]), seed = (unsigned)atoi(argv[5]);
    pause_us = (unsigned)atoi(argv[7]);
    int fd = open(argv[3], O_RDONLY | O_CLOEXEC);
    hot = fd < 0 ? MAP_FAILED : mmap(NULL, HOT * sizeof *hot, PROT_READ, MAP_SHARED, fd, 0);
    if (hot == MAP_FAILED)
        die(argv[3]);
    if (strcmp(argv[1], "mount") == 0)
        place = argv[2];
    else
        library = connect_library(argv[2]);

    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof cpus, &cpus) < 0)
        die("CPUs");
    unsigned all = count + (unsigned)CPU_COUNT(&cpus);
    struct thread *threads = calloc(all, sizeof *threads);
    if (!threads)
        die("threads");
    for (unsigned i = 0; i < count; i++)
        start(&threads[i], argv[4], i, seed, ask);
    for (unsigned i = count, cpu = 0; i < all; cpu++)
        if (CPU_ISSET(cpu, &cpus)) {
            CPU_SET(cpu, &threads[i].cpu);
            start(&threads[i], argv[4], i, seed, beat);
            i++;
        }
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    over = true;
    for (unsigned i = 0; i < all; i++) {
        pthread_join(threads[i].id, NULL);
        if (fclose(threads[i].out) != 0)
            die("writing down answers");
    }
    free(threads);
    larder_disconnect(library);
    return 0;
}
