/*
 * `larder compare`: option parsing only; compare/ does the work.
 *
 * What -o gives holds for every profile; `profile` itself resets all settings, so each profile gets
 * its own copy of the options, then -o once more, then its overrides.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "compare/compare.h"
#include "compare/relay.h"

static const char help[] =
    "larder compare //server/share -o credentials=FILE \\\n"
    "    --profile 23h2 --profile larder -- python3 -B {mnt}/tool.py\n\n"
    "Mounts the share once for each profile, runs the command on it, unmounts, and\n"
    "prints seconds, messages, events, round trips and cache hits side by side. {mnt}\n"
    "in the command is the mount point, and so is $LARDER_MNT. One uncounted run\n"
    "warms the server up.\n\n"
    "-p, --profile PROFILE[:K=V,...]  23h2, 25h2, larder or off, settings changed;\n"
    "                      repeatable, the others are compared with the first\n"
    "-n, --runs N          N runs of each, alternating; the table shows medians\n"
    "    --rtt MS          a round-trip delay of MS milliseconds before the server\n"
    "    --json FILE       every run with all its counts; -: in place of the table\n"
    "    --markdown        the table as Markdown\n"
    "    --base FILE       the first column is that profile's of an earlier --json\n"
    "    --max-ratio METRIC=R  exit with 3 where a later profile has more than R\n"
    "                      times the first one's; METRIC is a row (QUERY_DIRECTORY,\n"
    "                      messages, \"round trips\", seconds, events.dir); repeatable\n"
    "-o OPTION,...         username=, credentials=FILE, vers=, ... as mount takes\n"
    "-v, --verbose         show what the command prints, not only when it fails\n\n"
    "Without --profile: 23h2, 25h2 and larder; with --base: larder.\n"
    "Exit: 0 done, 1 failed, 2 usage, 3 over a limit.\n";

#define LIMITS_MAX  32
#define OPTIONS_MAX 32

struct request {
    struct compare_job job;
    struct compare_profile profiles[COMPARE_PROFILES_MAX];
    struct share_options options[COMPARE_PROFILES_MAX];
    struct figure_limit limits[LIMITS_MAX];
    char *lists[OPTIONS_MAX]; /* of -o, wiped when freed */
    size_t list_count;
    struct share_options base;
    const char *earlier_path; /* NULL: nothing earlier is compared with */
    struct compare_base earlier;
    char server[SHARE_SOURCE_MAX];
};

/* ---- the command line ---- */

/* The spec is shown in the table and kept in the JSON, so it is no place for a password. */
static int add_profile(struct request *r, const char *spec)
{
    if (strcasestr(spec, "pass"))
        return cli_usage("compare", "a password in --profile would be printed: give it by -o");
    if (r->job.profile_count == COMPARE_PROFILES_MAX)
        return cli_usage("compare", "more than %d profiles", COMPARE_PROFILES_MAX);
    r->profiles[r->job.profile_count++].spec = spec;
    return EXIT_DONE;
}

static int add_limit(struct request *r, const char *text)
{
    if (r->job.limit_count == LIMITS_MAX)
        return cli_usage("compare", "more than %d limits", LIMITS_MAX);
    if (figure_limit_parse(text, &r->limits[r->job.limit_count]) < 0)
        return cli_usage("compare", "\"%s\" is no METRIC=R, such as QUERY_DIRECTORY=2", text);
    r->job.limit_count++;
    return EXIT_DONE;
}

static int add_options(struct request *r, char *list)
{
    char *copy = r->list_count < OPTIONS_MAX ? strdup(list) : NULL;
    if (!copy)
        return cli_usage("compare", "too many -o");
    r->lists[r->list_count++] = copy;
    return EXIT_DONE;
}

static int set_runs(struct request *r, const char *text)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || n < 1 || n > COMPARE_RUNS_MAX)
        return cli_usage("compare", "--runs %s: not a number from 1 to %d", text, COMPARE_RUNS_MAX);
    r->job.runs = (unsigned)n;
    return EXIT_DONE;
}

static int set_rtt(struct request *r, const char *text)
{
    char *end;
    double ms = strtod(text, &end);
    if (end == text || *end || !(ms >= 0 && ms <= RELAY_RTT_MAX_MS))
        return cli_usage("compare", "--rtt %s: not a number of milliseconds from 0 to %g", text,
                         RELAY_RTT_MAX_MS);
    r->job.rtt_ms = ms;
    return EXIT_DONE;
}

enum { OPTION_RTT = 256, OPTION_JSON, OPTION_MARKDOWN, OPTION_BASE, OPTION_MAX_RATIO };

static int take(struct request *r, int option, char *value)
{
    switch (option) {
    case 'p':
        return add_profile(r, value);
    case 'n':
        return set_runs(r, value);
    case 'o':
        return add_options(r, value);
    case 'v':
        r->job.verbose = true;
        return EXIT_DONE;
    case OPTION_RTT:
        return set_rtt(r, value);
    case OPTION_JSON:
        r->job.json_path = value;
        return EXIT_DONE;
    case OPTION_MARKDOWN:
        r->job.markdown = true;
        return EXIT_DONE;
    case OPTION_BASE:
        r->earlier_path = value;
        return EXIT_DONE;
    case OPTION_MAX_RATIO:
        return add_limit(r, value);
    case 'h':
        fputs(help, stdout);
        return CLI_HELP_SHOWN;
    }
    return EXIT_USAGE;
}

/* Everything up to `--`; what follows is the command. EXIT_DONE, CLI_HELP_SHOWN or EXIT_USAGE. */
static int parse(struct request *r, int argc, char **argv, char **ret_target)
{
    static const struct option long_options[] = {
        {"profile", required_argument, NULL, 'p'},
        {"runs", required_argument, NULL, 'n'},
        {"verbose", no_argument, NULL, 'v'},
        {"help", no_argument, NULL, 'h'},
        {"rtt", required_argument, NULL, OPTION_RTT},
        {"json", required_argument, NULL, OPTION_JSON},
        {"markdown", no_argument, NULL, OPTION_MARKDOWN},
        {"base", required_argument, NULL, OPTION_BASE},
        {"max-ratio", required_argument, NULL, OPTION_MAX_RATIO},
        {0},
    };
    int dashes = 1, option, code;
    while (dashes < argc && strcmp(argv[dashes], "--") != 0)
        dashes++;
    optind = 1;
    opterr = 0;
    while ((option = getopt_long(dashes, argv, "p:n:o:vh", long_options, NULL)) != -1) {
        if (option == '?' || option == ':')
            return cli_usage("compare", "unknown option \"%s\", or one without its value",
                             argv[optind - 1]);
        if ((code = take(r, option, optarg)) != EXIT_DONE)
            return code;
    }
    if (dashes - optind != 1)
        return cli_usage("compare", "give one target, such as //server/share, before the --");
    if (dashes + 1 >= argc)
        return cli_usage("compare", "no command: it follows after --");
    *ret_target = argv[optind];
    r->job.command = argv + dashes + 1;
    return EXIT_DONE;
}

/* ---- profiles ---- */

static int apply_lists(const struct request *r, struct share_options *o, struct error *err)
{
    int code = 0;
    for (size_t i = 0; i < r->list_count && code == 0; i++)
        code = share_options_parse(o, r->lists[i], err);
    return code;
}

static int complete_profile(struct request *r, size_t i, struct error *err)
{
    struct share_options *o = &r->options[i];
    const char *spec = r->profiles[i].spec, *colon = strchr(spec, ':');
    char name[32];
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(spec, ":"), spec);
    int code = share_options_copy(&r->base, o);
    if (code < 0)
        return error_set(err, code, 0, "out of memory");
    r->profiles[i].options = o;
    code = share_options_set(o, "profile", name, err);
    if (code == 0)
        code = apply_lists(r, o, err);
    if (code == 0 && strcasecmp(o->settings.profile, name) != 0)
        code = error_set(err, -EINVAL, 0, "profile= in -o: give --profile in its place");
    if (code == 0 && colon)
        code = share_options_parse(o, colon + 1, err);
    return code;
}

static int prepare(struct request *r, char *target)
{
    struct error err = {0};
    if (share_options_target(&r->base, target, &err) < 0 || apply_lists(r, &r->base, &err) < 0)
        return cli_usage("compare", "%s", err.text);
    cli_warn_of_keylog("compare", r->base.keylog_path);
    r->job.server = share_options_source(&r->base, r->server);
    if (cli_credentials(&r->base, &err) < 0)
        return cli_fail("compare", "%s", err.text);
    for (size_t i = r->earlier_path ? 1 : 0; i < r->job.profile_count; i++)
        if (complete_profile(r, i, &err) < 0)
            return cli_usage("compare", "--profile %s: %s", r->profiles[i].spec, err.text);
    return EXIT_DONE;
}

/* The profiles that are run, and before them what the first of them was in an earlier comparison.
 */
static int choose_profiles(struct request *r)
{
    struct compare_profile *p = r->profiles;
    struct error err = {0};
    if (r->job.profile_count == 0 && !r->earlier_path) {
        add_profile(r, "23h2");
        add_profile(r, "25h2");
        add_profile(r, "larder");
    } else if (r->job.profile_count == 0) {
        add_profile(r, "larder");
    }
    if (!r->earlier_path)
        return EXIT_DONE;
    if (compare_base_load(&r->earlier, r->earlier_path, p[0].spec, &err) < 0)
        return cli_fail("compare", "%s", err.text);
    if (r->job.profile_count == COMPARE_PROFILES_MAX)
        return cli_usage("compare", "more than %d profiles", COMPARE_PROFILES_MAX);
    memmove(p + 1, p, r->job.profile_count++ * sizeof(*p));
    p[0] = (struct compare_profile){.spec = p[1].spec, .base = &r->earlier};
    const char *other = compare_base_differs(&r->earlier, &r->job);
    if (other)
        fprintf(stderr, "larder: compare: %s was measured with %s\n", r->earlier_path, other);
    return EXIT_DONE;
}

static void done(struct request *r)
{
    compare_base_done(&r->earlier);
    for (size_t i = 0; i < r->list_count; i++) {
        explicit_bzero(r->lists[i], strlen(r->lists[i]));
        free(r->lists[i]);
    }
    for (size_t i = 0; i < COMPARE_PROFILES_MAX; i++)
        share_options_done(&r->options[i]);
    share_options_done(&r->base);
}

int cmd_compare(int argc, char **argv)
{
    struct request r = {.job = {.profiles = r.profiles, .limits = r.limits, .runs = 1}};
    char *target = NULL;
    share_options_init(&r.base);

    int code = parse(&r, argc, argv, &target);
    if (code == EXIT_DONE)
        code = choose_profiles(&r);
    if (code == EXIT_DONE)
        code = prepare(&r, target);
    if (code == EXIT_DONE)
        code = compare(&r.job);
    done(&r);
    return code == CLI_HELP_SHOWN ? EXIT_DONE : code;
}
