/*
 * The watchdog (watchdog.h): prctl(PR_SET_PDEATHSIG), then one write to
 * /sys/fs/fuse/connections/N/abort.
 *
 * The signal comes with the death of the thread that forked, not of the process. So a thread of its
 * own forks it and then does nothing but wait for its end: this thread dies only together with the
 * daemon. A pipe would not do in place of the signal: the stuck thread keeps every descriptor of
 * the daemon open.
 *
 * The abort file is opened beforehand and belongs to this connection for good: should the number go
 * to another mount meanwhile, the write hits nothing. The daemon has threads when it forks, so the
 * child uses only what is safe in a signal handler.
 */
#include "mount/watchdog.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONNECTIONS  "/sys/fs/fuse/connections"
#define DEATH_SIGNAL SIGUSR1 /* nobody sends it to all processes of a name, as with SIGTERM */

struct watchdog {
    pthread_t thread;
    sem_t forked;
    int abort_file;
    int child; /* pidfd; -1: there is none. Set before `forked` is posted */
};

/* All signals are blocked. */
static _Noreturn void watch(int abort_file, pid_t daemon)
{
    prctl(PR_SET_NAME, "larder-watchdog");
    setsid(); /* a terminal's Ctrl-C is for the daemon */
    prctl(PR_SET_PDEATHSIG, DEATH_SIGNAL);
    if (getppid() == daemon) {
        if (abort_file > 0)
            close_range(0, (unsigned)abort_file - 1, 0);
        close_range((unsigned)abort_file + 1, ~0u, 0);
        sigset_t death;
        sigemptyset(&death);
        sigaddset(&death, DEATH_SIGNAL);
        while (sigwaitinfo(&death, NULL) < 0 && errno == EINTR)
            ;
    }
    ssize_t n = write(abort_file, "1", 1);
    _exit(n == 1 ? 0 : 1);
}

static void *hold(void *user)
{
    struct watchdog *w = user;
    pid_t daemon = getpid();
    pid_t pid = fork();
    if (pid == 0)
        watch(w->abort_file, daemon);
    w->child = pid > 0 ? pidfd_open(pid, 0) : -1;
    if (pid > 0 && w->child < 0)
        kill(pid, SIGKILL); /* no way to end it later */
    sem_post(&w->forked);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return NULL;
}

/* systemd mounts fusectl; where there is none, root does as it would. */
static int open_abort_file(unsigned minor)
{
    char path[64];
    snprintf(path, sizeof(path), CONNECTIONS "/%u/abort", minor);
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0 && errno == ENOENT && geteuid() == 0 &&
        mount("fusectl", CONNECTIONS, "fusectl", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0)
        file = open(path, O_WRONLY | O_CLOEXEC);
    return file;
}

struct watchdog *watchdog_start(unsigned minor)
{
    int abort_file = open_abort_file(minor);
    if (abort_file < 0)
        return NULL;

    struct watchdog *w = malloc(sizeof(*w));
    if (w) {
        *w = (struct watchdog){.abort_file = abort_file, .child = -1};
        sem_init(&w->forked, 0, 0);
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        int rc = pthread_create(&w->thread, NULL, hold, w);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (rc == 0) {
            while (sem_wait(&w->forked) < 0)
                ;
            return w;
        }
        sem_destroy(&w->forked);
        free(w);
    }
    close(abort_file);
    return NULL;
}

struct watchdog *watchdog_free(struct watchdog *w)
{
    if (!w)
        return NULL;
    if (w->child >= 0) {
        pidfd_send_signal(w->child, SIGKILL, NULL, 0);
        close(w->child);
    }
    pthread_join(w->thread, NULL);
    sem_destroy(&w->forked);
    close(w->abort_file);
    free(w);
    return NULL;
}
