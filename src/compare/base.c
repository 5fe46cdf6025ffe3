/*
 * What an earlier comparison found (its `--json`), as the first column of this one: its runs of one
 * profile take the place of a profile's that is run. The file may come from anywhere, so that
 * nothing in it is taken for granted; figures.c takes what is no number for none.
 */
#include <errno.h>
#include <string.h>

#include "compare/compare.h"

/* "23h2, larder": the profiles that the file has runs of, each once. */
static void names_of(const json_t *runs, char *ret, size_t cap)
{
    size_t i, k, len = 0;
    json_t *run, *other;
    *ret = 0;
    json_array_foreach(runs, i, run)
    {
        const char *name = json_string_value(json_object_get(run, "profile"));
        bool before = false;
        json_array_foreach(runs, k, other)
        {
            const char *theirs = json_string_value(json_object_get(other, "profile"));
            before |= k < i && name && theirs && strcmp(name, theirs) == 0;
        }
        if (!name || before || len + strlen(name) + 3 > cap)
            continue;
        len += (size_t)snprintf(ret + len, cap - len, "%s%s", len ? ", " : "", name);
    }
}

static json_t *load(const char *path, struct error *err)
{
    json_error_t why;
    errno = 0;
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &why);
    if (root)
        return root;
    if (json_error_code(&why) == json_error_cannot_open_file)
        error_set(err, errno ? -errno : -EIO, 0, "cannot read %.200s: %s", path,
                  errno ? strerror(errno) : "no file");
    else
        error_set(err, -EINVAL, 0, "%.200s is no JSON: line %d: %.100s", path, why.line, why.text);
    return NULL;
}

int compare_base_load(struct compare_base *b, const char *path, const char *spec, struct error *err)
{
    char names[160];
    size_t i;
    json_t *run, *root = load(path, err), *runs = json_object_get(root, "runs");
    if (!root)
        return err->code;
    *b = (struct compare_base){.path = path, .root = root, .runs = json_array()};
    json_array_foreach(runs, i, run)
    {
        const char *name = json_string_value(json_object_get(run, "profile"));
        if (name && strcmp(name, spec) == 0 && json_array_size(b->runs) < COMPARE_RUNS_MAX)
            json_array_append(b->runs, run);
    }
    if (json_array_size(b->runs))
        return 0;
    names_of(runs, names, sizeof(names));
    compare_base_done(b);
    if (!*names)
        return error_set(err, -EINVAL, 0, "%.200s is not what larder compare --json writes", path);
    return error_set(err, -ENOENT, 0, "%.200s has no runs of profile %.64s, but of %s", path, spec,
                     names);
}

void compare_base_done(struct compare_base *b)
{
    json_decref(b->runs);
    json_decref(b->root);
    *b = (struct compare_base){0};
}

static bool same_command(const json_t *then, char *const *now)
{
    size_t i, count = json_array_size(then);
    for (i = 0; i < count && now[i]; i++) {
        const char *word = json_string_value(json_array_get(then, i));
        if (!word || strcmp(word, now[i]) != 0)
            return false;
    }
    return i == count && !now[i];
}

const char *compare_base_differs(const struct compare_base *b, const struct compare_job *job)
{
    if (!same_command(json_object_get(b->root, "command"), job->command))
        return "another command";
    if (json_number_value(json_object_get(b->root, "rtt_ms")) != job->rtt_ms)
        return "another --rtt";
    return NULL;
}
