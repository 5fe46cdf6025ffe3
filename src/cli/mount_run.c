/*
 * The process that serves a mount, in the foreground or from the background.
 *
 * The caller waits for the daemon by a pipe: the process forks before it connects, since threads do
 * not survive a fork; the child keeps the terminal's stderr until the mount is usable, so that it
 * tells its failure itself, and then sends its exit code through the pipe. A child that dies before
 * that leaves the pipe empty.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/cli.h"
#include "cli/mount_options.h"

/* ---- signals ---- */

/* SIGTERM, SIGINT and SIGHUP are blocked in every thread but taken by one, which ends the mount, or
 * before there is one the process. */
static struct {
    pthread_mutex_t lock;
    struct mount *mount;             /* protected by lock; NULL unless it may be stopped */
    bool asked;                      /* protected by lock */
    enum { CONNECTING, MADE } phase; /* protected by lock */
} ending = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *take_signals(void *user)
{
    sigset_t *set = user;
    for (;;) {
        int sig;
        if (sigwait(set, &sig) != 0)
            continue;
        pthread_mutex_lock(&ending.lock);
        if (ending.phase == CONNECTING)
            _exit(128 + sig);
        ending.asked = true;
        if (ending.mount)
            mount_stop(ending.mount);
        pthread_mutex_unlock(&ending.lock);
    }
    return NULL;
}

static int watch_signals(void)
{
    static sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    signal(SIGPIPE, SIG_IGN);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_t thread;
    int rc = -pthread_create(&thread, NULL, take_signals, &set);
    if (rc == 0)
        pthread_detach(thread);
    return rc;
}

static void connected(void)
{
    pthread_mutex_lock(&ending.lock);
    ending.phase = MADE;
    pthread_mutex_unlock(&ending.lock);
}

/* From now on a signal stops `m` (NULL: nothing). One that came before counts. */
static void may_stop(struct mount *m)
{
    pthread_mutex_lock(&ending.lock);
    ending.mount = m;
    if (m && ending.asked)
        mount_stop(m);
    pthread_mutex_unlock(&ending.lock);
}

/* ---- the daemon ---- */

/* Lets the caller go: its exit code, and the terminal is no longer ours. Until then this process
 * stays in the caller's group: only those of systemd's may look at the place of an automount while
 * somebody waits for it, all others wait themselves. */
static void tell_caller(int fd, int code)
{
    unsigned char byte = (unsigned char)code;
    if (fd < 0)
        return;
    setsid();
    if (write(fd, &byte, 1) != 1)
        log_line(LOG_WARN, "nobody waits for this mount");
    close(fd);
    if (code != EXIT_DONE)
        return;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; i < 3 && null >= 0; i++)
        dup2(null, i);
    if (null > 2)
        close(null);
    if (chdir("/") < 0)
        log_line(LOG_WARN, "chdir /: %s", strerror(errno));
}

/* Connects, mounts and serves until the end. Returns the exit code; `ready` gets it as soon as it
 * is known to the caller's concern. */
static int serve(struct mount_request *r, int ready)
{
    struct error err;
    struct share *share = NULL;
    struct mount *mount = NULL;
    int code = EXIT_FAILED;

    int rc = watch_signals();
    if (rc < 0) {
        cli_fail("mount", "%s", strerror(-rc));
        goto out;
    }
    if (share_connect(&r->share, &share, &err) < 0) {
        cli_fail("mount", "%s", err.text);
        goto out;
    }
    connected();
    if (mount_start(share, &r->mount, &mount, &err) < 0) {
        cli_fail("mount", "%s", err.text);
        goto out;
    }
    tell_caller(ready, EXIT_DONE);
    ready = -1;

    may_stop(mount);
    rc = mount_loop(mount);
    may_stop(NULL);
    code = rc < 0 ? EXIT_FAILED : EXIT_DONE;
    if (rc < 0)
        log_line(LOG_ERROR, "%s: %s", r->mount.mountpoint, strerror(-rc));
out:
    mount_free(mount);
    share_free(share, NULL);
    share_options_done(&r->share);
    tell_caller(ready, code);
    return code;
}

/* In the caller: waits for the daemon's word. */
static int wait_for_daemon(pid_t daemon, int fd)
{
    unsigned char code;
    ssize_t n;
    while ((n = read(fd, &code, 1)) < 0 && errno == EINTR)
        ;
    close(fd);
    if (n == 1)
        return code;
    int status = 0;
    waitpid(daemon, &status, 0);
    if (WIFSIGNALED(status))
        return cli_fail("mount", "the larder in the background died of signal %d (%s)",
                        WTERMSIG(status), strsignal(WTERMSIG(status)));
    return cli_fail("mount", "the larder in the background ended before the mount was usable");
}

static int serve_in_background(struct mount_request *r)
{
    int pipefd[2];
    if (pipe2(pipefd, O_CLOEXEC) < 0)
        return cli_fail("mount", "%s", strerror(errno));
    pid_t pid = fork();
    if (pid < 0)
        return cli_fail("mount", "%s", strerror(errno));
    if (pid > 0) {
        close(pipefd[1]);
        return wait_for_daemon(pid, pipefd[0]);
    }
    close(pipefd[0]);
    log_to_syslog("larder");
    exit(serve(r, pipefd[1]));
}

int mount_request_run(struct mount_request *r)
{
    struct error err;
    if (mount_check(r->mount.mountpoint, &err) < 0 || cli_credentials(&r->share, &err) < 0)
        return cli_fail("mount", "%s", err.text);
    if (mount_hides(r->mount.mountpoint))
        fprintf(stderr,
                "larder: mount: warning: %s is not empty: what is in it is hidden until you "
                "unmount\n",
                r->mount.mountpoint);
    int code = r->foreground ? serve(r, -1) : serve_in_background(r);
    if (code == EXIT_DONE && r->verbose)
        printf("larder: %s is mounted on %s\n", r->mount.fsname, r->mount.mountpoint);
    return code;
}
