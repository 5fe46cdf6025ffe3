/*
 * The same command under several client behaviours: a mount for each, its counts side by side.
 *
 * Every run is a child process of its own with its own mount, connection and, where asked for,
 * relay; nothing is shared between two runs but the server, which one uncounted run warms up first.
 * A run is described by the JSON object that `--json` writes for it, and every figure of the table
 * is read from there, so the two cannot differ.
 */
#ifndef LARDER_COMPARE_COMPARE_H
#define LARDER_COMPARE_COMPARE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"
#include "compare/figures.h"

struct share_options;

struct compare_profile {
    const char *spec;                    /* as it was asked for: "25h2:FileInfoCacheLifetime=60" */
    char label[24];                      /* heads its column; see compare_labels */
    const struct share_options *options; /* target, credentials and settings, complete */
    const struct compare_base *base;     /* of the first: its runs are these; NULL: it is run */
};

/* Runs of an earlier comparison. */
struct compare_base {
    const char *path;
    json_t *root; /* the file */
    json_t *runs; /* those of the profile asked for: 1 .. COMPARE_RUNS_MAX */
};

#define COMPARE_RUNS_MAX     99
#define COMPARE_PROFILES_MAX 16

struct compare_job {
    char *const *command; /* argv, NULL at its end; `{mnt}` in any of them is the mount point */
    const char *server;   /* what the block above the table shows as the server */
    struct compare_profile *profiles;
    size_t profile_count; /* 1 .. COMPARE_PROFILES_MAX */
    unsigned runs;        /* of each profile, 1 .. COMPARE_RUNS_MAX */
    double rtt_ms;        /* 0: no relay */
    bool markdown;
    bool verbose;          /* show what the command prints in every run */
    const char *json_path; /* NULL: none, "-": stdout, in place of the table */
    const struct figure_limit *limits;
    size_t limit_count;
};

enum { COMPARE_DONE = 0, COMPARE_FAILED = 1, COMPARE_EXCEEDED = 3, COMPARE_INTERRUPTED = 130 };

/* Runs, prints the table to stdout and what goes wrong to stderr, returns the exit code. Called by
 * a process with one thread. */
int compare(struct compare_job *job);

/* Out of what `--json` wrote: the runs of the profile that was called `spec`. -ENOENT: it has none;
 * -EINVAL: it is something else; what reading gave. */
int compare_base_load(struct compare_base *b, const char *path, const char *spec,
                      struct error *err);
void compare_base_done(struct compare_base *b);
/* In what it differs from what is run now, so that the two cannot be compared well; NULL: nothing.
 */
const char *compare_base_differs(const struct compare_base *b, const struct compare_job *job);

/* Short names for columns: `base`, or the profile's, with a `+` where settings were changed,
 * numbered where two would be the same. */
void compare_labels(struct compare_profile *profiles, size_t count);

/* ---- between the parts of this room ---- */

struct compare_result {
    size_t profile;
    json_t *run; /* owned */
};

struct compare_results {
    struct compare_result *list;
    size_t count;
};

/* What one run is told. The body is called in the run's own process, which ends after it; SIGINT,
 * SIGTERM, SIGHUP and SIGCHLD are blocked. It returns 0 with *ret, or a negative errno. */
struct compare_run {
    const struct compare_job *job;
    size_t profile;
    const char *mountpoint;
    int output;     /* what the command prints goes there */
    pid_t *command; /* to be set once the command runs: where this process dies, it is killed */
};
typedef int (*compare_body)(const struct compare_run *run, json_t **ret, struct error *err);

/* Carries out the whole schedule, of the profiles without a base. COMPARE_DONE, COMPARE_FAILED
 * (told on stderr) or COMPARE_INTERRUPTED; the results up to there are filled in in all cases. */
int compare_schedule(const struct compare_job *job, compare_body body, struct compare_results *ret);
/* One run more, of which it takes a reference. -ENOMEM. */
int compare_results_add(struct compare_results *r, size_t profile, json_t *run);
void compare_results_done(struct compare_results *r);

/* Mounts, runs the command, unmounts: the body of a real run. */
int compare_child(const struct compare_run *run, json_t **ret, struct error *err);

/* The command of a run. `argv` with `{mnt}` replaced; to be freed by command_argv_free. NULL: no
 * memory. */
char **command_argv(char *const *argv, const char *mountpoint);
void command_argv_free(char **argv);
/* Starts it in a process group of its own: stdin empty, output to the descriptor, LARDER_MNT set.
 * -ENOENT and the like where there is no such program. SIGINT, SIGTERM, SIGHUP and SIGCHLD must be
 * blocked in every thread, from before this call until command_wait has returned. */
int command_start(char *const *argv, const char *mountpoint, int output, pid_t *ret,
                  struct error *err);
struct command_end {
    uint64_t at_ns;   /* clock_now() when it had ended */
    int exit_status;  /* 128 + n where signal n killed it, as shells have it */
    bool interrupted; /* one of the signals came */
};
/* Waits for its end; passes a signal on to its group, which is killed if it does not end by it. */
void command_wait(pid_t pid, struct command_end *ret);

/* The value of a figure of one profile: the median of its runs, NAN where it has none. */
double compare_figure(const struct compare_results *r, size_t profile, const struct figure *f);

/* Block and table. 0 or a negative errno. */
int compare_print(const struct compare_job *job, const struct compare_results *r, FILE *out);
/* Tells every limit that is exceeded on `out`; returns how many. */
unsigned compare_check(const struct compare_job *job, const struct compare_results *r, FILE *out);
/* The whole as JSON, as `--json` writes it. To be decref'd. */
json_t *compare_json(const struct compare_job *job, const struct compare_results *r);

#endif
