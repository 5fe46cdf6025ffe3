/*
 * One run, in a process of its own: connect (through the relay where asked for), mount, run the
 * command, unmount, log off, and only then count, so that the figures are those of the whole
 * connection and agree with a packet capture of it.
 *
 * The main thread serves the mount; another waits for the command and then stops the mount. A
 * signal is passed on to the command, whose end ends everything in order. While nothing is mounted,
 * before and after, a signal ends the process at once (the guard): there is nothing to clean up,
 * and a server that does not answer must not hold up who pressed Ctrl-C.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "compare/compare.h"
#include "compare/relay.h"
#include "mount/mount.h"
#include "share/options.h"
#include "share/share.h"

#define SMB_PORT 445

/* ---- the guard ---- */

static void *guard(void *arg)
{
    sigset_t set;
    int sig;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGUSR2); /* the guard may go */
    sigwait(&set, &sig);
    if (sig != SIGUSR2)
        _exit(128 + sig);
    return NULL;
}

static bool guard_start(pthread_t *ret)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return pthread_create(ret, NULL, guard, NULL) == 0;
}

static void guard_stop(bool started, pthread_t thread)
{
    if (!started)
        return;
    pthread_kill(thread, SIGUSR2);
    pthread_join(thread, NULL);
}

/* ---- connecting ---- */

/* The same options, but by way of the relay. */
static int redirect(struct share_options *o, const struct relay *relay)
{
    char *host = strdup("127.0.0.1");
    if (!host)
        return -ENOMEM;
    free(o->host);
    o->host = host;
    o->port = relay_port(relay);
    return 0;
}

static int connect_share(const struct compare_run *run, struct relay **ret_relay,
                         struct share **ret, struct error *err)
{
    const struct share_options *asked = run->job->profiles[run->profile].options;
    struct share_options o;
    pthread_t thread;
    int code = share_options_copy(asked, &o);
    if (code < 0)
        return error_set(err, code, 0, "out of memory");
    bool guarded = guard_start(&thread);
    if (run->job->rtt_ms > 0) {
        code = relay_new(asked->host, asked->port ? asked->port : SMB_PORT, run->job->rtt_ms,
                         ret_relay, err);
        if (code == 0 && (code = redirect(&o, *ret_relay)) < 0)
            error_set(err, code, 0, "out of memory");
    }
    if (code == 0)
        code = share_connect(&o, ret, err);
    if (code < 0 && *ret_relay) {
        struct error inner = *err;
        error_set(err, inner.code, inner.status, "by the relay to %s port %u: %s", asked->host,
                  asked->port ? asked->port : SMB_PORT, inner.text);
    }
    guard_stop(guarded, thread);
    share_options_done(&o);
    return code;
}

/* ---- the command on the mount ---- */

struct work {
    struct mount *mount;
    pid_t pid;
    struct command_end end;
};

static void *wait_and_stop(void *arg)
{
    struct work *w = arg;
    command_wait(w->pid, &w->end);
    mount_stop(w->mount);
    return NULL;
}

/* 0 when the command ran, whatever came of it. */
static int run_on_mount(const struct compare_run *run, struct mount *m, double *ret_seconds,
                        struct command_end *ret, struct error *err)
{
    struct work w = {.mount = m};
    pthread_t thread;
    char **argv = command_argv(run->job->command, run->mountpoint);
    if (!argv)
        return error_set(err, -ENOMEM, 0, "out of memory");
    uint64_t start = clock_now();
    int code = command_start(argv, run->mountpoint, run->output, &w.pid, err);
    command_argv_free(argv);
    if (code < 0)
        return code;
    *run->command = w.pid;
    code = -pthread_create(&thread, NULL, wait_and_stop, &w);
    if (code < 0) {
        kill(-w.pid, SIGKILL);
        command_wait(w.pid, &w.end);
        return error_set(err, code, 0, "no thread: %s", strerror(-code));
    }
    int served = mount_loop(m);
    if (served < 0) /* the command would wait for an answer that does not come */
        kill(-w.pid, SIGTERM);
    pthread_join(thread, NULL);
    if (served < 0)
        return error_set(err, served, 0, "the mount ended: %s", strerror(-served));
    *ret_seconds = (double)(w.end.at_ns - start) / NS_PER_SEC;
    *ret = w.end;
    return 0;
}

static int mount_and_run(const struct compare_run *run, struct share *share, double *ret_seconds,
                         struct command_end *ret, struct error *err)
{
    struct mount_options o;
    struct mount *m = NULL;
    mount_options_init(&o);
    o.mountpoint = run->mountpoint;
    o.fsname = run->job->server;
    o.read_only = true; /* a command that changed the share would not run as the one before */
    int code = mount_start(share, &o, &m, err);
    if (code < 0)
        return code;
    code = run_on_mount(run, m, ret_seconds, ret, err);
    mount_free(m);
    return code;
}

/* ---- the result ---- */

/* The counts, and in front of them what the run was. Takes over both objects. */
static json_t *result(const struct compare_run *run, double seconds, const struct command_end *end,
                      json_t *stats, json_t *counts)
{
    static const char *const facts[] = {"connection", "settings", "faults"};
    double requests = json_number_value(json_object_get(counts, "metadata_requests"));
    json_t *r =
        json_pack("{s:s, s:i, s:b, s:f, s:f}", "profile", run->job->profiles[run->profile].spec,
                  "exit_status", end->exit_status, "interrupted", end->interrupted, "seconds",
                  seconds, "metadata_requests_per_second", seconds > 0 ? requests / seconds : 0.0);
    json_object_update(r, counts);
    for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
        json_object_set(r, facts[i], json_object_get(stats, facts[i]));
    json_decref(stats);
    json_decref(counts);
    return r;
}

int compare_child(const struct compare_run *run, json_t **ret, struct error *err)
{
    struct relay *relay = NULL;
    struct share *share = NULL;
    struct command_end end = {0};
    double seconds = 0;
    json_t *counts = NULL;
    pthread_t thread;

    int code = connect_share(run, &relay, &share, err);
    if (code == 0)
        code = mount_and_run(run, share, &seconds, &end, err);
    json_t *stats = code == 0 ? share_stats(share) : NULL;
    bool guarded = guard_start(&thread);
    share_free(share, &counts);
    relay_free(relay);
    guard_stop(guarded, thread);
    if (code == 0) {
        *ret = result(run, seconds, &end, stats, counts);
        return *ret ? 0 : error_set(err, -ENOMEM, 0, "out of memory");
    }
    json_decref(counts);
    return code;
}
