/*
 * The schedule: one warm-up, then every profile in turn, as often as asked.
 *
 * Profiles alternate (A B C A B C) so that a server that grows faster or slower meanwhile does so
 * for all. A run is a forked process: a crash of one, or what it leaves behind in memory, cannot
 * touch the next. It hands its result back as one line of JSON through a pipe. This process has one
 * thread and makes no connection; it passes signals on, and clears the mount of a run that died.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "compare/compare.h"

#define RESULT_MAX  (4u << 20)
#define OUTPUT_TAIL (64L << 10)
/* From the wish to stop to the kill of a run that does not end: longer than its command is given.
 */
#define PATIENCE (10 * NS_PER_SEC)

extern char **environ;

struct schedule {
    const struct compare_job *job;
    compare_body body;
    char dir[64], mountpoint[80];
    int signals; /* SIGINT, SIGTERM, SIGHUP come here while the schedule runs */
    sigset_t before;
    bool interrupted;
    pid_t *command; /* a page shared with the runs; 0 while there is none */
    struct compare_results *results;
};

void compare_results_done(struct compare_results *r)
{
    for (size_t i = 0; i < r->count; i++)
        json_decref(r->list[i].run);
    free(r->list);
    *r = (struct compare_results){0};
}

/* ---- the place ---- */

static int schedule_init(struct schedule *s)
{
    const char *tmp = getenv("TMPDIR");
    snprintf(s->dir, sizeof(s->dir), "%s/larder-compare-XXXXXX",
             tmp && strlen(tmp) < 32 ? tmp : "/tmp");
    if (!mkdtemp(s->dir))
        return -errno;
    snprintf(s->mountpoint, sizeof(s->mountpoint), "%s/mnt", s->dir);
    if (mkdir(s->mountpoint, 0700) < 0)
        return -errno;
    s->command =
        mmap(NULL, sizeof(pid_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s->command == MAP_FAILED)
        return -errno;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    s->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (s->signals < 0)
        return -errno;
    sigaddset(&set, SIGCHLD); /* as the command of a run needs it */
    sigprocmask(SIG_BLOCK, &set, &s->before);
    return 0;
}

/* Unmounts what a run that died has left; nothing is said where nothing is mounted. */
static void clear_mount(const struct schedule *s)
{
    struct stat above, at;
    bool mounted =
        stat(s->dir, &above) == 0 && (stat(s->mountpoint, &at) < 0 || at.st_dev != above.st_dev);
    if (!mounted || umount2(s->mountpoint, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
        return;
    char path[sizeof(s->mountpoint)];
    memcpy(path, s->mountpoint, sizeof(path));
    char *argv[] = {"fusermount3", "-u", "-z", "-q", "--", path, NULL};
    pid_t pid;
    if (posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ) == 0)
        waitpid(pid, NULL, 0);
}

static void schedule_done(struct schedule *s)
{
    clear_mount(s);
    rmdir(s->mountpoint);
    rmdir(s->dir);
    if (s->command != MAP_FAILED)
        munmap(s->command, sizeof(pid_t));
    if (s->signals >= 0) {
        struct signalfd_siginfo info;
        while (read(s->signals, &info, sizeof(info)) == sizeof(info))
            s->interrupted = true; /* else it would strike when they are unblocked */
        close(s->signals);
        sigprocmask(SIG_SETMASK, &s->before, NULL);
    }
}

/* ---- the child ---- */

static void write_result(int fd, json_t *result)
{
    char *text = json_dumps(result, JSON_COMPACT);
    size_t len = text ? strlen(text) : 0, done = 0;
    if (text)
        text[len++] = '\n'; /* in place of the NUL: the end of the line is the end of the result */
    while (done < len) {
        ssize_t n = write(fd, text + done, len - done);
        if (n < 0 && errno != EINTR)
            break;
        done += n > 0 ? (size_t)n : 0;
    }
}

static _Noreturn void be_child(const struct schedule *s, size_t profile, int output, int fd,
                               pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(COMPARE_FAILED);
    signal(SIGPIPE, SIG_IGN);
    struct compare_run run = {.job = s->job,
                              .profile = profile,
                              .mountpoint = s->mountpoint,
                              .output = output,
                              .command = s->command};
    struct error err = {0};
    json_t *result = NULL;
    if (s->body(&run, &result, &err) < 0)
        result = json_pack("{s:s}", "error", err.text);
    write_result(fd, result);
    if (getppid() != parent) { /* killed: nobody else takes the place away */
        rmdir(s->mountpoint);
        rmdir(s->dir);
    }
    _exit(0);
}

/* ---- the parent ---- */

/* Reads the child's line; meanwhile hands on the wish to stop. NULL: none came. */
static json_t *read_result(struct schedule *s, int fd, pid_t child)
{
    char *text = NULL;
    size_t len = 0, cap = 0;
    bool whole = false;
    uint64_t kill_at = CLOCK_NEVER;
    while (!whole && len < RESULT_MAX) {
        struct pollfd p[] = {{.fd = fd, .events = POLLIN}, {.fd = s->signals, .events = POLLIN}};
        if (poll(p, 2, kill_at == CLOCK_NEVER ? -1 : 500) < 0 && errno != EINTR)
            break;
        if (clock_now() >= kill_at)
            kill(child, SIGKILL);
        struct signalfd_siginfo info;
        if (p[1].revents && read(s->signals, &info, sizeof(info)) == sizeof(info)) {
            s->interrupted = true;
            kill(child, SIGTERM);
            if (kill_at == CLOCK_NEVER)
                kill_at = clock_now() + PATIENCE;
        }
        if (!p[0].revents)
            continue;
        if (cap - len < 4096) {
            char *more = realloc(text, cap = cap ? 2 * cap : 65536);
            if (!more)
                break;
            text = more;
        }
        ssize_t n = read(fd, text + len, cap - len);
        if (n == 0 || (n < 0 && errno != EINTR))
            break;
        whole = n > 0 && memchr(text + len, '\n', (size_t)n);
        len += n > 0 ? (size_t)n : 0;
    }
    json_t *result = whole ? json_loadb(text, len, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
    free(text);
    return result;
}

/* The end of what the command printed. */
static void show_output(FILE *output)
{
    char block[4096];
    fseek(output, 0, SEEK_END);
    long size = ftell(output), from = size > OUTPUT_TAIL ? size - OUTPUT_TAIL : 0;
    if (from)
        fprintf(stderr, "... %ld bytes are left out here ...\n", from);
    fseek(output, from, SEEK_SET);
    char last = '\n';
    for (size_t n; (n = fread(block, 1, sizeof(block), output)) > 0;) {
        fwrite(block, 1, n, stderr);
        last = block[n - 1];
    }
    if (last != '\n')
        fputc('\n', stderr);
}

static int tell_failure(const struct schedule *s, size_t profile, const json_t *result, int status,
                        FILE *output)
{
    const char *label = s->job->profiles[profile].label;
    const char *error = json_string_value(json_object_get(result, "error"));
    int code = (int)json_integer_value(json_object_get(result, "exit_status"));
    if (error)
        fprintf(stderr, "larder: compare: %s: %s\n", label, error);
    else if (!result && WIFSIGNALED(status))
        fprintf(stderr, "larder: compare: %s: the run's process was killed by signal %d (%s)\n",
                label, WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (!result)
        fprintf(stderr, "larder: compare: %s: the run's process ended without a result\n", label);
    else if (code > 128)
        fprintf(stderr, "larder: compare: %s: %s was killed by signal %d (%s); it printed:\n",
                label, s->job->command[0], code - 128, strsignal(code - 128));
    else if (code)
        fprintf(stderr, "larder: compare: %s: %s exited with status %d; it printed:\n", label,
                s->job->command[0], code);
    else
        return COMPARE_DONE;
    if (!s->job->verbose) /* else it was shown already */
        show_output(output);
    return COMPARE_FAILED;
}

int compare_results_add(struct compare_results *r, size_t profile, json_t *run)
{
    void *more = realloc(r->list, (r->count + 1) * sizeof(r->list[0]));
    if (!more)
        return -ENOMEM;
    r->list = more;
    r->list[r->count++] = (struct compare_result){.profile = profile, .run = json_incref(run)};
    return 0;
}

static int fail(const char *what)
{
    fprintf(stderr, "larder: compare: %s: %s\n", what, strerror(errno));
    return COMPARE_FAILED;
}

/* One run from fork to verdict. */
static int one_run(struct schedule *s, size_t profile, bool counted)
{
    int ends[2];
    pid_t parent = getpid();
    FILE *output = tmpfile();
    if (!output)
        return fail("temporary file");
    if (pipe2(ends, O_CLOEXEC) < 0) {
        fclose(output);
        return fail("pipe");
    }
    *s->command = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        be_child(s, profile, fileno(output), ends[1], parent);
    }
    close(ends[1]);
    int status = 0, code = COMPARE_FAILED;
    json_t *result = child < 0 ? NULL : read_result(s, ends[0], child);
    close(ends[0]);
    if (child < 0) {
        fail("fork");
    } else {
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            ;
        if (!result && *s->command > 0)
            kill(-*s->command, SIGKILL);
        clear_mount(s);
        s->interrupted |= json_is_true(json_object_get(result, "interrupted"));
        if (s->interrupted) {
            code = COMPARE_INTERRUPTED;
        } else {
            if (s->job->verbose)
                show_output(output);
            code = tell_failure(s, profile, result, status, output);
            json_object_del(result, "interrupted");
            if (counted && result && !json_object_get(result, "error") &&
                compare_results_add(s->results, profile, result) < 0)
                code = fail("result");
        }
    }
    json_decref(result);
    fclose(output);
    return code;
}

static void tell_progress(const struct schedule *s, unsigned round, size_t profile)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "larder: compare: %s, run %u of %u\n", s->job->profiles[profile].label,
                round, s->job->runs);
}

int compare_schedule(const struct compare_job *job, compare_body body, struct compare_results *ret)
{
    struct schedule s = {
        .job = job, .body = body, .signals = -1, .command = MAP_FAILED, .results = ret};
    *ret = (struct compare_results){0};
    int code = schedule_init(&s);
    if (code < 0) {
        errno = -code;
        code = fail(s.dir);
    }
    size_t first = job->profiles[0].base ? 1 : 0;
    if (code == COMPARE_DONE) /* the server reads from its disk now and from memory later */
        code = one_run(&s, first, false);
    for (unsigned round = 1; round <= job->runs && code == COMPARE_DONE; round++)
        for (size_t p = first; p < job->profile_count && code == COMPARE_DONE; p++) {
            tell_progress(&s, round, p);
            code = one_run(&s, p, true);
        }
    schedule_done(&s);
    return s.interrupted ? COMPARE_INTERRUPTED : code;
}
