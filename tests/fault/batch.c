/*
 * The trials are put in a random order and cut into shares, one a process. Each process tells by
 * shared memory which of its trials is under way; its parent goes on behind the one that ended it,
 * with what is left of its share. A process leaves by exit, so that the leak sanitizer has its say.
 */
#include "tests/fault/batch.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

struct job {
    pid_t pid;       /* 0: there is none */
    size_t at, end;  /* its trials, by their place in the order */
    size_t *current; /* the one under way, shared with it; `end`: it has no more */
};

struct run {
    const struct batch *batch;
    uint64_t until; /* no trial begins later; or CLOCK_NEVER */
    size_t *order;
    size_t next; /* the first place that is in no share yet */
    unsigned bad;
    struct job job[BATCH_JOBS_MAX];
};

void *batch_shared(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        abort();
    return p;
}

bool batch_option(struct batch *b, char **argv, int *at)
{
    const char *option = argv[*at], *value = argv[*at + 1];
    unsigned *number = strcmp(option, "--seconds") == 0 ? &b->seconds
                       : strcmp(option, "--jobs") == 0  ? &b->jobs
                       : strcmp(option, "--seed") == 0  ? &b->seed
                                                        : NULL;
    if (strcmp(option, "--all") == 0)
        return b->all = true;
    if (!value || (!number && strcmp(option, "--only") != 0))
        return false;
    if (number)
        *number = (unsigned)atoi(value);
    else
        b->only = value;
    ++*at;
    return true;
}

static size_t *shuffled(size_t count, unsigned seed)
{
    size_t *order = calloc(count + 1, sizeof(*order));
    if (!order)
        abort();
    for (size_t i = 0; i < count; i++) {
        size_t j = (size_t)((uint64_t)rand_r(&seed) << 16 ^ (uint64_t)rand_r(&seed)) % (i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    return order;
}

static void work(const struct run *r, const struct job *j)
{
    const struct batch *b = r->batch;
    for (; *j->current < j->end && clock_now() < r->until; ++*j->current) {
        alarm(60); /* a trial that takes so long hangs */
        b->run(r->order[*j->current]);
        alarm(0);
    }
    *j->current = j->end;
    exit(0);
}

static void begin(struct run *r, struct job *j)
{
    fflush(stdout);
    *j->current = j->at;
    j->pid = fork();
    if (j->pid == 0)
        work(r, j);
    if (j->pid < 0)
        abort();
}

/* Gives it the next share, where one is left. */
static void begin_next(struct run *r, struct job *j)
{
    const struct batch *b = r->batch;
    if (r->next == b->count || clock_now() >= r->until)
        return;
    size_t left = b->count - r->next;
    j->at = r->next;
    j->end = r->next += left < b->per_process ? left : b->per_process;
    begin(r, j);
}

static void tell(const struct run *r, const struct job *j, int status)
{
    char text[200] = "a process at its end (a leak?)";
    if (*j->current < j->end)
        r->batch->describe(r->order[*j->current], text, sizeof(text));
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        printf("%s: it hangs\n", text);
    else
        printf("%s: %s %d\n", text, WIFSIGNALED(status) ? "signal" : "exit",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

/* The process has ended: what is left of its share goes on, or the next one begins. */
static void ended(struct run *r, struct job *j, int status)
{
    j->pid = 0;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        tell(r, j, status);
        r->bad++;
        if (*j->current < j->end)
            ++*j->current;
    }
    j->at = *j->current;
    if (j->at < j->end)
        begin(r, j);
    else
        begin_next(r, j);
}

static struct job *job_of(struct run *r, pid_t pid)
{
    for (unsigned i = 0; i < BATCH_JOBS_MAX; i++)
        if (r->job[i].pid == pid)
            return &r->job[i];
    abort(); /* nobody else has children here */
}

unsigned batch_run(const struct batch *b)
{
    struct run r = {.batch = b,
                    .until = b->all ? CLOCK_NEVER : clock_now() + b->seconds * NS_PER_SEC,
                    .order = shuffled(b->count, b->seed)};
    unsigned jobs = b->jobs ? b->jobs : 1;
    size_t *current = batch_shared(BATCH_JOBS_MAX * sizeof(*current));
    pid_t pid;
    int status;
    for (unsigned i = 0; i < jobs && i < BATCH_JOBS_MAX; i++) {
        r.job[i].current = &current[i];
        begin_next(&r, &r.job[i]);
    }
    while ((pid = wait(&status)) > 0)
        ended(&r, job_of(&r, pid), status);
    munmap(current, BATCH_JOBS_MAX * sizeof(*current));
    free(r.order);
    return r.bad;
}
