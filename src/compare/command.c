/*
 * The compared command as a process.
 *
 * It gets a process group of its own, so that what it started can be ended with it, and an empty
 * stdin, so that every run sees the same. Signals to larder are blocked everywhere and taken here
 * one at a time: the end of the command and a wish to stop come by the same door, and neither can
 * be missed between a look and a wait.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "compare/compare.h"

#define MERCY (3 * NS_PER_SEC) /* from the signal to the kill */

extern char **environ;

/* ---- its words ---- */

static char *replace_mnt(const char *word, const char *mountpoint)
{
    static const char mark[] = "{mnt}";
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    if (!out)
        return NULL;
    for (const char *hit; (hit = strstr(word, mark)); word = hit + strlen(mark)) {
        fwrite(word, 1, (size_t)(hit - word), out);
        fputs(mountpoint, out);
    }
    fputs(word, out);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

char **command_argv(char *const *argv, const char *mountpoint)
{
    size_t n = 0;
    while (argv[n])
        n++;
    char **words = calloc(n + 1, sizeof(*words));
    for (size_t i = 0; words && i < n; i++)
        if (!(words[i] = replace_mnt(argv[i], mountpoint))) {
            command_argv_free(words);
            return NULL;
        }
    return words;
}

void command_argv_free(char **argv)
{
    for (size_t i = 0; argv && argv[i]; i++)
        free(argv[i]);
    free(argv);
}

/* larder's environment with LARDER_MNT, and without the password that it may hold. */
static char **environment(const char *mountpoint, char **ret_mnt)
{
    size_t n = 0, kept = 0;
    while (environ[n])
        n++;
    char **env = calloc(n + 2, sizeof(*env));
    if (!env || asprintf(ret_mnt, "LARDER_MNT=%s", mountpoint) < 0) {
        free(env);
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        if (strncmp(environ[i], "LARDER_PASSWORD=", 16) != 0 &&
            strncmp(environ[i], "LARDER_MNT=", 11) != 0)
            env[kept++] = environ[i];
    env[kept] = *ret_mnt;
    return env;
}

/* ---- its life ---- */

int command_start(char *const *argv, const char *mountpoint, int output, pid_t *ret,
                  struct error *err)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    sigset_t none, defaults;
    char *mnt = NULL, **env = environment(mountpoint, &mnt);
    if (!env)
        return error_set(err, -ENOMEM, 0, "%s: out of memory", argv[0]);

    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, output, 1);
    posix_spawn_file_actions_adddup2(&files, output, 2);
    sigemptyset(&none);
    sigemptyset(&defaults);
    for (int s = 1; s < 32; s++)
        if (s != SIGKILL && s != SIGSTOP)
            sigaddset(&defaults, s);
    posix_spawnattr_init(&how);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                       POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&how, 0);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setsigdefault(&how, &defaults);
    int code = -posix_spawnp(ret, argv[0], &files, &how, argv, env);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    free(env);
    free(mnt);
    if (code < 0)
        return error_set(err, code, 0, "%s: %s", argv[0], strerror(-code));
    return 0;
}

static bool ended(pid_t pid, struct command_end *ret)
{
    int status;
    pid_t got = waitpid(pid, &status, WNOHANG);
    if (got == 0 || (got < 0 && errno == EINTR))
        return false;
    ret->at_ns = clock_now();
    if (got < 0)
        ret->exit_status =
            127; /* not ours to wait for: cannot be, but must not be waited for forever */
    else
        ret->exit_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    return true;
}

void command_wait(pid_t pid, struct command_end *ret)
{
    const struct timespec look = {.tv_nsec = 200 * (long)NS_PER_MS};
    uint64_t kill_at = CLOCK_NEVER;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    struct command_end end = {0};
    while (!ended(pid, &end)) {
        int sig = sigtimedwait(&set, NULL, &look);
        if (sig == SIGINT || sig == SIGTERM || sig == SIGHUP) {
            end.interrupted = true;
            kill(-pid, sig);
            if (kill_at == CLOCK_NEVER)
                kill_at = clock_now() + MERCY;
        }
        if (clock_now() >= kill_at)
            kill(-pid, SIGKILL);
    }
    if (end.interrupted)
        kill(-pid, SIGKILL); /* what it started and left */
    *ret = end;
}
