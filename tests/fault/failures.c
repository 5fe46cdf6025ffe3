/*
 * Each call that can fail made to fail in turn: the k-th allocation, send, receive, connect and
 * thread of a session, for every k.
 *
 *     failures [--all] [--seconds N] [--jobs N] [--seed N] [--only TEXT]
 *
 * The linker puts what stands here before the C library's functions, for all of our objects. A
 * session (session.c) runs once and the calls are counted; then it runs again for each of them,
 * which fails as the system would have it fail. Whatever comes of it must be an error with a text,
 * or the right answer; nothing may be left, crash or hang (batch.c). The server's own thread, which
 * lives in the same process, is spared.
 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "tests/fault/batch.h"
#include "tests/fault/session.h"

enum call { MEMORY, SEND, RECEIVE, CONNECT, THREAD, CALLS };
static const struct {
    const char *name;
    int errors[2]; /* what it fails with: one of these */
} calls[CALLS] = {
    [MEMORY] = {"allocation", {ENOMEM, ENOMEM}},   [SEND] = {"send", {EPIPE, ENOBUFS}},
    [RECEIVE] = {"receive", {ECONNRESET, ENOMEM}}, [CONNECT] = {"connect", {ECONNREFUSED, EMFILE}},
    [THREAD] = {"thread", {EAGAIN, EAGAIN}},
};

static atomic_bool armed;
static atomic_uint made[CALLS];
static enum call failing;
static unsigned failing_at; /* 0: none */
static int failing_with;
static _Thread_local bool spared;

/* Whether this call is to fail; errno is set then. */
static bool fails(enum call c)
{
    if (spared || !atomic_load(&armed))
        return false;
    unsigned k = atomic_fetch_add(&made[c], 1) + 1;
    if (c != failing || k != failing_at)
        return false;
    errno = failing_with;
    return true;
}

/* ---- in place of the C library's ---- */

#define WRAPPED(type, name, ...)                                                                   \
    type __real_##name(__VA_ARGS__);                                                               \
    type __wrap_##name(__VA_ARGS__);                                                               \
    type __wrap_##name(__VA_ARGS__)

WRAPPED(void *, malloc, size_t size)
{
    return fails(MEMORY) ? NULL : __real_malloc(size);
}

WRAPPED(void *, calloc, size_t n, size_t size)
{
    return fails(MEMORY) ? NULL : __real_calloc(n, size);
}

WRAPPED(void *, realloc, void *p, size_t size)
{
    return fails(MEMORY) ? NULL : __real_realloc(p, size);
}

WRAPPED(char *, strdup, const char *s)
{
    return fails(MEMORY) ? NULL : __real_strdup(s);
}

WRAPPED(char *, strndup, const char *s, size_t n)
{
    return fails(MEMORY) ? NULL : __real_strndup(s, n);
}

int __wrap_asprintf(char **ret, const char *format, ...) __attribute__((format(printf, 2, 3)));
int __wrap_asprintf(char **ret, const char *format, ...)
{
    if (fails(MEMORY))
        return -1;
    va_list args;
    va_start(args, format);
    int len = vasprintf(ret, format, args);
    va_end(args);
    return len;
}

WRAPPED(ssize_t, sendmsg, int fd, const struct msghdr *message, int flags)
{
    return fails(SEND) ? -1 : __real_sendmsg(fd, message, flags);
}

WRAPPED(ssize_t, recv, int fd, void *buf, size_t len, int flags)
{
    return fails(RECEIVE) ? -1 : __real_recv(fd, buf, len, flags);
}

WRAPPED(int, socket, int domain, int type, int protocol)
{
    return fails(CONNECT) ? -1 : __real_socket(domain, type, protocol);
}

WRAPPED(int, connect, int fd, const struct sockaddr *address, socklen_t len)
{
    return fails(CONNECT) ? -1 : __real_connect(fd, address, len);
}

struct start {
    void *(*run)(void *arg);
    void *arg;
};

static void *run_spared(void *arg)
{
    struct start start = *(struct start *)arg;
    free(arg);
    spared = true;
    return start.run(start.arg);
}

WRAPPED(int, pthread_create, pthread_t *ret, const pthread_attr_t *attr, void *(*run)(void *),
        void *arg)
{
    if (fails(THREAD))
        return failing_with;
    if (!spared)
        return __real_pthread_create(ret, attr, run, arg);
    struct start *start = __real_malloc(sizeof(*start)); /* the server's */
    if (!start)
        return ENOMEM;
    *start = (struct start){run, arg};
    int r = __real_pthread_create(ret, attr, run_spared, start);
    if (r)
        free(start);
    return r;
}

/* ---- trials ---- */

struct trial {
    enum call call;
    unsigned k;
    int error;
};

static struct {
    struct trial *all;
    size_t count;
} trials;

static struct {
    atomic_uint done, right, errors, bad;
} * shared;

static void describe(size_t i, char *out, size_t cap)
{
    const struct trial *t = &trials.all[i];
    snprintf(out, cap, "%s %u fails with %s", calls[t->call].name, t->k, strerrorname_np(t->error));
}

/* A session in which one call fails, or with k 0 none. */
static void run_session(const struct trial *t, struct session_result *ret)
{
    const struct server_script script = session_script(SESSION_SIGNED);
    spared = true;
    struct server *s = server_new(&script);
    spared = false;
    if (!s)
        abort();
    for (unsigned c = 0; c < CALLS; c++)
        atomic_store(&made[c], 0);
    failing = t->call;
    failing_at = t->k;
    failing_with = t->error;
    atomic_store(&armed, true);
    session_run(s, SESSION_SIGNED, 2 * NS_PER_SEC, ret);
    atomic_store(&armed, false);
    spared = true;
    server_free(s);
    spared = false;
}

static void try(size_t i)
{
    struct session_result r;
    run_session(&trials.all[i], &r);
    const char *complaint = r.wrong;
    if (r.code < 0 && (r.err.code != r.code || strlen(r.err.text) < 10))
        complaint = "the error says nothing";
    shared->done++;
    if (*complaint) {
        char text[200];
        describe(i, text, sizeof(text));
        printf("%s: %s (%s: %d %s)\n", text, complaint, r.step, r.code, r.err.text);
        fflush(stdout);
        shared->bad++;
    } else if (r.code < 0) {
        shared->errors++;
    } else {
        shared->right++;
    }
}

/* Counts the calls of a good session; a few more are tried, since no two are quite alike. */
static void learn(const char *only)
{
    struct session_result r;
    char text[200];
    run_session(&(struct trial){0}, &r); /* what is made once in a process */
    run_session(&(struct trial){0}, &r);
    if (r.code < 0 || *r.wrong) {
        printf("the session itself fails: %s: %s%s\n", r.step, r.err.text, r.wrong);
        exit(1);
    }
    for (unsigned c = 0; c < CALLS; c++) {
        unsigned n = atomic_load(&made[c]),
                 kinds = calls[c].errors[0] == calls[c].errors[1] ? 1 : 2;
        printf("%u calls: %s\n", n, calls[c].name);
        for (unsigned k = 1; k <= n + n / 50 + 1; k++) {
            for (unsigned e = 0; e < kinds; e++) {
                struct trial *all = realloc(trials.all, (trials.count + 1) * sizeof(*all));
                if (!all)
                    abort();
                trials.all = all;
                all[trials.count] = (struct trial){(enum call)c, k, calls[c].errors[e]};
                describe(trials.count, text, sizeof(text));
                trials.count += strncmp(text, only, strlen(only)) == 0;
            }
        }
    }
}

int main(int argc, char **argv)
{
    unsigned seed = (unsigned)(time(NULL) / 86400), seconds = 8, jobs = 1;
    const char *only = "";
    bool all = false;
    for (int i = 1; i < argc; i++) {
        bool has_value = i + 1 < argc;
        if (!strcmp(argv[i], "--all"))
            all = true;
        else if (!strcmp(argv[i], "--seconds") && has_value)
            seconds = (unsigned)atoi(argv[++i]);
        else if (!strcmp(argv[i], "--seed") && has_value)
            seed = (unsigned)atoi(argv[++i]);
        else if (!strcmp(argv[i], "--jobs") && has_value)
            jobs = (unsigned)atoi(argv[++i]);
        else if (!strcmp(argv[i], "--only") && has_value)
            only = argv[++i];
        else
            return fprintf(stderr, "usage: failures [--all] [--seconds N] [--jobs N] [--seed N] "
                                   "[--only TEXT]\n"),
                   2;
    }
    shared = batch_shared(sizeof(*shared));
    learn(only);
    const struct batch batch = {.count = trials.count,
                                .per_process = 100,
                                .jobs = jobs,
                                .watchdog = 60,
                                .seed = seed,
                                .until = all ? CLOCK_NEVER : clock_now() + seconds * NS_PER_SEC,
                                .run = try,
                                .describe = describe};
    shared->bad += batch_run(&batch);
    printf("seed %u: %u of %zu calls failed: %u sessions ended in an error, %u went on; %u badly\n",
           seed, shared->done, trials.count, shared->errors, shared->right, shared->bad);
    printf("%u passed, %u failed\n", shared->bad == 0, shared->bad != 0);
    free(trials.all);
    return shared->bad != 0;
}
