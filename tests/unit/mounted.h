/*
 * What the tests of mount/ share: a FUSE mount of the share in memory in a temporary directory. A
 * test is skipped where this machine lets us mount nothing.
 *
 * The test is its own daemon. One that fails leaves its mount, and maybe files that it has open
 * there; a process that ended so would wait for itself for ever. So what is left is taken away by
 * force at the end, also when a signal is the end.
 */
#ifndef LARDER_TESTS_MOUNTED_H
#define LARDER_TESTS_MOUNTED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/clock.h"
#include "fake_share.h"
#include "mount/mount.h"
#include "mount/place.h"

#define LONG_NS (600 * NS_PER_SEC)

struct mounted {
    char dir[64];
    struct share *share;
    struct mount *mount;
    pthread_t loop;
    int rc;
};

static char left_behind[64]; /* the mount that is not finished; empty: none */

static inline void take_away_what_is_left(void)
{
    if (left_behind[0])
        umount2(left_behind, MNT_FORCE | MNT_DETACH);
}

static inline void end_by_signal(int signal)
{
    take_away_what_is_left();
    _exit(128 + signal);
}

static inline void *serve(void *user)
{
    struct mounted *m = user;
    m->rc = mount_loop(m->mount);
    return NULL;
}

/* fork() for a user of the mount. Without the daemon's descriptor: else the mount would live for as
 * long as this child, and the child wait for the mount. */
static inline pid_t fork_user(void)
{
    pid_t pid = fork();
    for (int fd = 3; pid == 0 && fd < 256; fd++) {
        char path[32], target[32] = "";
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        if (readlink(path, target, sizeof(target) - 1) > 0 && strcmp(target, "/dev/fuse") == 0)
            close(fd);
    }
    return pid;
}

/* The share is the mount's. */
static inline struct mounted *begin_share(struct share *share, bool read_only, unsigned threads)
{
    take_away_what_is_left();
    if (signal(SIGTERM, end_by_signal) == SIG_DFL)
        atexit(take_away_what_is_left);
    struct mounted *m = calloc(1, sizeof(*m));
    strcpy(m->dir, "/tmp/larder-test-XXXXXX");
    assert_non_null(mkdtemp(m->dir));
    m->share = share;
    struct mount_options o;
    mount_options_init(&o);
    o.mountpoint = m->dir;
    o.fsname = "//fake,server/sh\\are";
    o.read_only = read_only;
    o.max_threads = threads;
    struct error err;
    int rc = mount_start(m->share, &o, &m->mount, &err);
    if (rc < 0) {
        rmdir(m->dir);
        fake_share_free(m->share);
        free(m);
        print_message("no FUSE mount here: %s\n", err.text);
        skip();
        abort(); /* skip() does not return */
    }
    assert_int_equal(pthread_create(&m->loop, NULL, serve, m), 0);
    strcpy(left_behind, m->dir);
    return m;
}

static inline struct mounted *begin_with(uint64_t valid_ns, bool read_only, unsigned threads)
{
    return begin_share(fake_share_new(valid_ns), read_only, threads);
}

static inline struct mounted *begin(uint64_t valid_ns)
{
    return begin_with(valid_ns, false, 64);
}

static inline void finish(struct mounted *m)
{
    mount_stop(m->mount);
    pthread_join(m->loop, NULL);
    assert_int_equal(m->rc, 0);
    mount_free(m->mount);
    left_behind[0] = '\0';
    struct place at;
    assert_int_equal(place_find(m->dir, &at), -ENOENT);
    assert_int_equal(rmdir(m->dir), 0);
    assert_int_equal(fake_share_held(m->share), 0);
    fake_share_free(m->share);
    free(m);
}

static inline const char *in(const struct mounted *m, const char *path)
{
    static _Thread_local char full[PATH_MAX];
    snprintf(full, sizeof(full), "%s/%s", m->dir, path);
    return full;
}

#endif
