/*
 * `larder doctor`: what a server and a share can do. The first Ctrl-C has what was made there
 * removed, or ends the program at once where nothing was; a second one ends it in any case.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "doctor/doctor.h"

static const char help[] =
    "larder doctor -o credentials=FILE //server/share\n"
    "\n"
    "Tries what a server can do for a share: leases, change notify, names, speed, and\n"
    "says what a mount will have of it and what to change. Takes some seconds.\n"
    "\n"
    "For that a directory .larder-doctor-NUMBER is made in the share (or in the path\n"
    "given), and removed again; nothing that was there is touched.\n"
    "\n"
    "  -r           make nothing: tries less, and says what it did not try\n"
    "  --json       an object: target, user, well, findings, promises\n"
    "  -o OPTION    those of the mount that it is about: username=, password=, guest,\n"
    "               credentials=FILE, sec=, port=, vers=, seal, sign, profile=, or a\n"
    "               setting; repeatable\n"
    "  --keylog FILE  append the sessions' keys, for Wireshark and larder analyze\n"
    "\n"
    "Exit codes: 0 all well, 1 something is wrong or cannot be reached, 2 usage.\n";

/* ---- signals ---- */

static atomic_int stopped; /* the signal */
static atomic_bool made;

static void note_signal(int sig)
{
    atomic_store(&stopped, sig);
    signal(sig, SIG_DFL);
    if (!atomic_load(&made))
        raise(sig);
}

static void catch_signals(void)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    const struct sigaction note = {.sa_handler = note_signal, .sa_flags = SA_RESTART};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        struct sigaction now;
        if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaction(signals[i], &note, NULL);
    }
}

/* ---- what it is at, on a terminal, once it has taken a second ---- */

static struct {
    pthread_t thread;
    bool runs;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    const char *step; /* protected by lock, as is: */
    bool over;
} progress = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void note_step(void *user, const char *what)
{
    pthread_mutex_lock(&progress.lock);
    progress.step = what;
    pthread_cond_signal(&progress.changed);
    pthread_mutex_unlock(&progress.lock);
}

static void *show_progress(void *user)
{
    struct timespec at;
    bool drawn = false;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_sec++;
    pthread_mutex_lock(&progress.lock);
    while (!progress.over &&
           pthread_cond_timedwait(&progress.changed, &progress.lock, &at) != ETIMEDOUT)
        ;
    while (!progress.over) {
        fprintf(stderr, "\r\033[Klarder: doctor: %s ...", progress.step ? progress.step : "");
        drawn = true;
        pthread_cond_wait(&progress.changed, &progress.lock);
    }
    pthread_mutex_unlock(&progress.lock);
    if (drawn)
        fputs("\r\033[K", stderr);
    return NULL;
}

static void begin_progress(void)
{
    if (isatty(STDERR_FILENO))
        progress.runs = pthread_create(&progress.thread, NULL, show_progress, NULL) == 0;
}

static void end_progress(void)
{
    if (!progress.runs)
        return;
    pthread_mutex_lock(&progress.lock);
    progress.over = true;
    pthread_cond_signal(&progress.changed);
    pthread_mutex_unlock(&progress.lock);
    pthread_join(progress.thread, NULL);
}

/* ---- the whole ---- */

static int show(const struct doctor_report *report, bool json)
{
    if (json) {
        json_t *all = doctor_json(report);
        json_dumpf(all, stdout, JSON_INDENT(1));
        putchar('\n');
        json_decref(all);
    } else {
        doctor_print(report, stdout); /* main tells of an output that takes no more */
    }
    return doctor_well(report) ? EXIT_DONE : EXIT_FAILED;
}

static int examine(const struct share_options *o, bool read_only, bool json)
{
    const struct doctor_options options = {
        .share = o, .read_only = read_only, .stop = &stopped, .made = &made, .step = note_step};
    struct doctor_report *report;
    struct error err = {0};
    catch_signals();
    begin_progress();
    int r = doctor_run(&options, &report, &err);
    end_progress();
    if (r == -EINTR)
        raise(atomic_load(&stopped)); /* which ends it: see note_signal */
    if (r < 0)
        return cli_fail("doctor", "%s", err.text);
    int code = show(report, json);
    doctor_report_free(report);
    return code;
}

int cmd_doctor(int argc, char **argv)
{
    struct cli_line line;
    struct share_options o;
    bool flags[2] = {false};
    int code = cli_read_line(&line, argc, argv, "rj", flags, NULL, help);
    if (code != EXIT_DONE)
        return code == CLI_HELP_SHOWN ? EXIT_DONE : code;
    if (line.operands != 1)
        return cli_usage("doctor", "give one target //HOST/SHARE");
    code = cli_share_options("doctor", &line, line.operand[0], &o);
    if (code == EXIT_DONE)
        code = examine(&o, flags[0], flags[1]);
    share_options_done(&o);
    return code;
}
