/*
 * The comparison from end to end: run the schedule, write the JSON, print the table, check the
 * limits. The JSON file is opened before the first run, since a wrong path should not cost an hour,
 * but nothing is written to it before there is something to write.
 */
#include "compare/compare.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* `-`: the JSON takes the place of the table. */
static bool json_is_printed(const struct compare_job *job)
{
    return job->json_path && strcmp(job->json_path, "-") == 0;
}

static int fail(const char *what, int code)
{
    fprintf(stderr, "larder: compare: %s: %s\n", what, strerror(-code));
    return COMPARE_FAILED;
}

static int write_json(const struct compare_job *job, const struct compare_results *r, int fd)
{
    json_t *root = compare_json(job, r);
    char *text = root ? json_dumps(root, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(root);
    if (!text)
        return -ENOMEM;
    bool emptied = fd == STDOUT_FILENO || ftruncate(fd, 0) == 0 || errno == EINVAL;
    FILE *out = emptied ? fdopen(dup(fd), "w") : NULL;
    int code = out ? 0 : -errno;
    if (out) {
        fputs(text, out);
        fputc('\n', out);
        if (ferror(out) | (fclose(out) != 0))
            code = -errno;
    }
    free(text);
    return code;
}

static int add_base(const struct compare_base *b, struct compare_results *r)
{
    size_t i;
    json_t *run;
    json_array_foreach(b->runs, i, run)
    {
        if (compare_results_add(r, 0, run) < 0)
            return fail(b->path, -ENOMEM);
    }
    return COMPARE_DONE;
}

/* After the runs. `code` is theirs. */
static int conclude(const struct compare_job *job, const struct compare_results *r, int code,
                    int json_fd)
{
    int written = json_fd < 0 ? 0 : write_json(job, r, json_fd);
    if (written < 0)
        code = fail(json_is_printed(job) ? "stdout" : job->json_path, written);
    if (code != COMPARE_DONE)
        return code;
    int printed = json_is_printed(job) ? 0 : compare_print(job, r, stdout);
    if (printed < 0)
        return fail("stdout", printed);
    return compare_check(job, r, stderr) ? COMPARE_EXCEEDED : COMPARE_DONE;
}

int compare(struct compare_job *job)
{
    int json_fd = -1;
    compare_labels(job->profiles, job->profile_count);
    if (json_is_printed(job)) {
        json_fd = STDOUT_FILENO;
    } else if (job->json_path) {
        json_fd = open(job->json_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
        if (json_fd < 0)
            return fail(job->json_path, -errno);
    }
    struct compare_results results;
    int code = compare_schedule(job, compare_child, &results);
    if (code == COMPARE_DONE && job->profiles[0].base)
        code = add_base(job->profiles[0].base, &results);
    if (code != COMPARE_INTERRUPTED)
        code = conclude(job, &results, code, json_fd);
    compare_results_done(&results);
    if (json_fd >= 0 && json_fd != STDOUT_FILENO)
        close(json_fd);
    return code;
}
