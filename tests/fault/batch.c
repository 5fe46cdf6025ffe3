/* Each process tells by shared memory which trial is under way; its parent goes on behind the one
 * that ended it. The process leaves by exit, so that the leak sanitizer has its say. */
#include "tests/fault/batch.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

void *batch_shared(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        abort();
    return p;
}

static void work(const struct batch *b, size_t from, size_t end, size_t *current)
{
    for (*current = from; *current < end && clock_now() < b->until; ++*current) {
        alarm(b->watchdog);
        b->run(*current);
        alarm(0);
    }
    *current = end;
    exit(0);
}

static void tell(const struct batch *b, size_t at, size_t end, int status)
{
    char text[200] = "a process at its end (a leak?)";
    if (at < end)
        b->describe(at, text, sizeof(text));
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        printf("%s: it hangs\n", text);
    else
        printf("%s: %s %d\n", text, WIFSIGNALED(status) ? "signal" : "exit",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

unsigned batch_run(const struct batch *b)
{
    size_t *current = batch_shared(sizeof(*current));
    unsigned bad = 0;
    for (size_t from = 0; from < b->count && clock_now() < b->until; from = *current) {
        size_t end = b->count - from < b->per_process ? b->count : from + b->per_process;
        int status;
        fflush(stdout);
        pid_t pid = fork();
        if (pid == 0)
            work(b, from, end, current);
        if (pid < 0 || waitpid(pid, &status, 0) < 0)
            abort();
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            continue;
        tell(b, *current, end, status);
        bad++;
        if (*current < end)
            ++*current;
    }
    munmap(current, sizeof(*current));
    return bad;
}
