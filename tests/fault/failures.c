/*
 * Each call that can fail made to fail in turn: the k-th allocation, send, receive, connect, thread
 * and other call of the system, for every k.
 *
 *     failures [--mount] [--all] [--seconds N] [--jobs N] [--seed N] [--only TEXT]
 *
 * A session (session.c), or with --mount a mount from its start to its end (mounting.c), runs once
 * and the calls are counted; then it runs again for each of them, which fails (failing.c). Whatever
 * comes of it must be an error with a text, or the right answer; nothing may be left, crash or hang
 * (batch.c). The server's own thread, which lives in the same process, is spared.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "tests/fault/batch.h"
#include "tests/fault/failing.h"
#include "tests/fault/mounting.h"
#include "tests/fault/session.h"

#define TIMEOUT (2 * NS_PER_SEC)

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
    snprintf(out, cap, "%s %u fails with %s", call_name(t->call), t->k, strerrorname_np(t->error));
}

static bool mounts;

/* A run in which one call fails, or with k 0 none. */
static void run(const struct trial *t, struct session_result *ret)
{
    const struct server_script script = session_script(SESSION_SIGNED);
    failing_spare(true);
    struct server *s = server_new(&script);
    failing_spare(false);
    if (!s)
        abort();
    if (mounts) {
        mounting_run(s, TIMEOUT, t->call, t->k, t->error, ret);
    } else {
        failing_begin(t->call, t->k, t->error);
        session_run(s, SESSION_SIGNED, TIMEOUT, ret);
        failing_end();
    }
    failing_spare(true);
    server_free(s);
    failing_spare(false);
}

static void try(size_t i)
{
    struct session_result r;
    run(&trials.all[i], &r);
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

static void add(enum call c, unsigned k, int error, const char *only)
{
    char text[200];
    struct trial *all = realloc(trials.all, (trials.count + 1) * sizeof(*all));
    if (!all)
        abort();
    trials.all = all;
    all[trials.count] = (struct trial){c, k, error};
    describe(trials.count, text, sizeof(text));
    trials.count += strncmp(text, only, strlen(only)) == 0;
}

/* Counts the calls of a good run; a few more are tried, since no two are quite alike. */
static void learn(const char *only)
{
    struct session_result r;
    run(&(struct trial){0}, &r); /* what is made once in a process */
    run(&(struct trial){0}, &r);
    if (r.code < 0 || *r.wrong) {
        printf("it fails by itself: %s: %s%s\n", r.step, r.err.text, r.wrong);
        exit(1);
    }
    for (unsigned i = 0; i < CALLS; i++) {
        enum call c = (enum call)i;
        const int *errors = call_errors(c);
        unsigned n = failing_count(c);
        printf("%u calls: %s\n", n, call_name(c));
        for (unsigned k = 1; n && k <= n + n / 50 + 1; k++) {
            add(c, k, errors[0], only);
            if (errors[1] != errors[0])
                add(c, k, errors[1], only);
        }
    }
}

int main(int argc, char **argv)
{
    struct batch batch = {
        .per_process = 100, .seconds = 8, .only = "", .run = try, .describe = describe};
    batch.seed = (unsigned)(time(NULL) / 86400);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--mount") == 0)
            mounts = true;
        else if (!batch_option(&batch, argv, &i))
            return fprintf(stderr,
                           "usage: failures [--mount] [--all] [--seconds N] [--jobs N] [--seed N] "
                           "[--only TEXT]\n"),
                   2;
    }
    if (mounts && !mounting_possible()) {
        printf("skipped: nothing can be mounted here\n");
        return 77;
    }
    shared = batch_shared(sizeof(*shared));
    learn(batch.only);
    batch.count = trials.count;
    shared->bad += batch_run(&batch);
    printf("seed %u: %u of %zu calls failed: %u runs ended in an error, %u went on; %u badly\n",
           batch.seed, shared->done, trials.count, shared->errors, shared->right, shared->bad);
    printf("%u passed, %u failed\n", shared->bad == 0, shared->bad != 0);
    free(trials.all);
    return shared->bad != 0;
}
