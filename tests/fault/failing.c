/* See failing.h. Which functions: tests/fault/meson.build. */
#include "tests/fault/failing.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/types.h>

static const struct {
    const char *name;
    int errors[2];
} calls[CALLS] = {
    [MEMORY] = {"allocation", {ENOMEM, ENOMEM}},   [SEND] = {"send", {EPIPE, ENOBUFS}},
    [RECEIVE] = {"receive", {ECONNRESET, ENOMEM}}, [CONNECT] = {"connect", {ECONNREFUSED, EMFILE}},
    [THREAD] = {"thread", {EAGAIN, EAGAIN}},       [SYSTEM] = {"system call", {EMFILE, ENOMEM}},
};

static atomic_bool armed;
static atomic_uint made[CALLS];
static enum call failing;   /* constant while armed, like the next two */
static unsigned failing_at; /* 0: none */
static int failing_with;
static _Thread_local bool spared;

const char *call_name(enum call c)
{
    return calls[c].name;
}

const int *call_errors(enum call c)
{
    return calls[c].errors;
}

void failing_begin(enum call c, unsigned k, int error)
{
    for (unsigned i = 0; i < CALLS; i++)
        atomic_store(&made[i], 0);
    failing = c;
    failing_at = k;
    failing_with = error;
    atomic_store(&armed, true);
}

void failing_end(void)
{
    atomic_store(&armed, false);
}

unsigned failing_count(enum call c)
{
    return atomic_load(&made[c]);
}

void failing_spare(bool spare)
{
    spared = spare;
}

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

WRAPPED(ssize_t, send, int fd, const void *buf, size_t len, int flags)
{
    return fails(SEND) ? -1 : __real_send(fd, buf, len, flags);
}

WRAPPED(int, bind, int fd, const struct sockaddr *address, socklen_t len)
{
    return fails(SYSTEM) ? -1 : __real_bind(fd, address, len);
}

WRAPPED(int, listen, int fd, int backlog)
{
    return fails(SYSTEM) ? -1 : __real_listen(fd, backlog);
}

WRAPPED(int, socketpair, int domain, int type, int protocol, int ret[2])
{
    return fails(SYSTEM) ? -1 : __real_socketpair(domain, type, protocol, ret);
}

WRAPPED(int, eventfd, unsigned value, int flags)
{
    return fails(SYSTEM) ? -1 : __real_eventfd(value, flags);
}

WRAPPED(pid_t, fork, void)
{
    return fails(SYSTEM) ? -1 : __real_fork();
}

/* ---- in place of libfuse's ---- */

struct fuse_args;
struct fuse_session;
struct fuse_lowlevel_ops;
struct fuse_custom_io;
struct fuse_loop_config;

WRAPPED(struct fuse_session *, fuse_session_new, struct fuse_args *args,
        const struct fuse_lowlevel_ops *ops, size_t size, void *user)
{
    return fails(SYSTEM) ? NULL : __real_fuse_session_new(args, ops, size, user);
}

WRAPPED(int, fuse_session_mount, struct fuse_session *s, const char *mountpoint)
{
    return fails(SYSTEM) ? -1 : __real_fuse_session_mount(s, mountpoint);
}

WRAPPED(int, fuse_session_custom_io, struct fuse_session *s, const struct fuse_custom_io *io,
        int fd)
{
    return fails(SYSTEM) ? -errno : __real_fuse_session_custom_io(s, io, fd);
}

WRAPPED(struct fuse_loop_config *, fuse_loop_cfg_create, void)
{
    return fails(SYSTEM) ? NULL : __real_fuse_loop_cfg_create();
}

/* ---- threads ---- */

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
