/*
 * `larder analyze`: option parsing, progress and the choice of format; capture/ does the work.
 *
 * Every file is a capture of its own. The one of --against is analysed first, and the others are
 * laid beside it. A file that cannot be read is told in one line and the others go on; the exit
 * code remembers it.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "capture/analyze.h"
#include "capture/html.h"
#include "capture/page.h"
#include "capture/questions.h"
#include "cli/cli.h"

static const char help[] =
    "larder analyze slow.pcapng --against good.pcapng\n"
    "\n"
    "Reads captures of any SMB 2 or 3 client (pcap, pcapng, gzip, - for stdin): what\n"
    "was asked for again and again, whether the client's caches work, what to do.\n"
    "\n"
    "--against FILE   a second capture beside it: ratios, what grew, what is new\n"
    "--what-if PROFILE[:Setting=value,...]  what 23h2, 25h2, larder or off would have\n"
    "                 asked; repeatable\n"
    "--sweep SETTING  how much of a cache is worth having, by its lifetime or bound,\n"
    "                 such as DirectoryCacheEntriesMax; repeatable\n"
    "--port N         the server's port, in place of 445 and 139; repeatable\n"
    "--any-port       every TCP connection that looks like SMB\n"
    "--keys FILE      session keys, as in Wireshark's smb2_seskey_list, a line each:\n"
    "                 SESSIONID,SESSIONKEY[,S2C[,C2S]] in hex; or of smbinfo keys\n"
    "--live IF, --seconds N   listen to an interface for so long (10), no file\n"
    "--json, --csv    everything; the table of commands, or of ratios\n"
    "--markdown       the page, ready for a bug report\n"
    "--html FILE      with charts, as one page of HTML in FILE, too\n"
    "\n"
    "Several files are several captures. One made on the client shows most; Windows:\n"
    "pktmon start --capture --pkt-size 0 -f t.etl; pktmon stop; pktmon etl2pcap t.etl\n"
    "Exit: 0 done, 1 a capture of which nothing can be said, 2 usage.\n";

#define PORTS_MAX    16
#define LIVE_SECONDS 10
#define LIVE_MOST    86400

enum format { FORMAT_TEXT, FORMAT_MARKDOWN, FORMAT_CSV, FORMAT_JSON };

struct capture {
    struct analysis *analysis;
    struct questions *questions; /* NULL: none */
};

struct request {
    const char *against, *keys_path, *live, *html;
    uint16_t ports[PORTS_MAX];
    unsigned seconds;
    enum format format;
    struct analyze_options options;
    struct questions_asked asked;
    struct keyring *keys;

    const char *file; /* being read, for progress */
    uint64_t shown_ns;
    bool shown;
    struct questions *questions; /* about it; NULL: none */

    struct analysis *base;
    struct capture *captures;
    size_t count;
    bool failed; /* of some capture nothing could be said */
};

/* ---- the command line ---- */

enum {
    OPTION_AGAINST = 256,
    OPTION_PORT,
    OPTION_ANY_PORT,
    OPTION_KEYS,
    OPTION_LIVE,
    OPTION_SECONDS,
    OPTION_WHAT_IF,
    OPTION_SWEEP,
    OPTION_JSON,
    OPTION_CSV,
    OPTION_MARKDOWN,
    OPTION_HTML
};

/* 0 where the text is no number from 1 to `most`. */
static unsigned number(const char *text, unsigned long most)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && n <= most ? (unsigned)n : 0;
}

static int add_port(struct request *r, const char *text)
{
    unsigned port = number(text, 65535);
    if (!port)
        return cli_usage("analyze", "--port %s: not a number from 1 to 65535", text);
    if (r->options.port_count == PORTS_MAX)
        return cli_usage("analyze", "more than %d ports", PORTS_MAX);
    r->ports[r->options.port_count++] = (uint16_t)port;
    r->options.ports = r->ports;
    return EXIT_DONE;
}

static int add_question(const char *option, const char **list, size_t *count, const char *text)
{
    if (*count == QUESTIONS_MAX)
        return cli_usage("analyze", "more than %d %s", QUESTIONS_MAX, option);
    list[(*count)++] = text;
    return EXIT_DONE;
}

static int set_format(struct request *r, enum format f)
{
    if (r->format != FORMAT_TEXT && r->format != f)
        return cli_usage("analyze", "one of --json, --csv and --markdown");
    r->format = f;
    return EXIT_DONE;
}

static int take(struct request *r, int option, const char *value)
{
    switch (option) {
    case OPTION_AGAINST:
        r->against = value;
        return EXIT_DONE;
    case OPTION_PORT:
        return add_port(r, value);
    case OPTION_ANY_PORT:
        r->options.any_port = true;
        return EXIT_DONE;
    case OPTION_KEYS:
        r->keys_path = value;
        return EXIT_DONE;
    case OPTION_LIVE:
        r->live = value;
        return EXIT_DONE;
    case OPTION_SECONDS:
        if (!(r->seconds = number(value, LIVE_MOST)))
            return cli_usage("analyze", "--seconds %s: not a number from 1 to %d", value,
                             LIVE_MOST);
        return EXIT_DONE;
    case OPTION_WHAT_IF:
        return add_question("--what-if", r->asked.what_if, &r->asked.what_ifs, value);
    case OPTION_SWEEP:
        return add_question("--sweep", r->asked.sweep, &r->asked.sweeps, value);
    case OPTION_JSON:
        return set_format(r, FORMAT_JSON);
    case OPTION_CSV:
        return set_format(r, FORMAT_CSV);
    case OPTION_MARKDOWN:
        return set_format(r, FORMAT_MARKDOWN);
    case OPTION_HTML:
        r->html = value;
        return EXIT_DONE;
    case 'h':
        fputs(help, stdout);
        return CLI_HELP_SHOWN;
    }
    return EXIT_USAGE;
}

static bool asks(const struct request *r)
{
    return r->asked.what_ifs || r->asked.sweeps;
}

static int check_questions(const struct request *r)
{
    struct questions *q = NULL;
    struct error err = {0};
    if (questions_new(&r->asked, &q, &err) < 0)
        return cli_usage("analyze", "%s", err.text);
    questions_free(q);
    return EXIT_DONE;
}

static bool is_file(const char *path, const struct stat *is)
{
    struct stat st;
    return path && stat(path, &st) == 0 && st.st_dev == is->st_dev && st.st_ino == is->st_ino;
}

/* The page must not take the place of what it is made from; that goes to standard output too, so it
 * needs a name. */
static int check_html(const struct request *r, int files, char **file)
{
    struct stat html;
    if (r->html && (!*r->html || strcmp(r->html, "-") == 0))
        return cli_usage("analyze", "--html takes the name of a file");
    if (!r->html || stat(r->html, &html) < 0)
        return EXIT_DONE;
    bool same = is_file(r->against, &html) || is_file(r->keys_path, &html);
    for (int i = 0; i < files; i++)
        same |= is_file(file[i], &html);
    return same ? cli_usage("analyze", "--html %s would overwrite what is read", r->html)
                : EXIT_DONE;
}

static int check(const struct request *r, int files, char **file)
{
    int inputs = r->against && strcmp(r->against, "-") == 0;
    for (int i = 0; i < files; i++)
        inputs += strcmp(file[i], "-") == 0;
    if (r->live && files)
        return cli_usage("analyze", "--live takes the place of a file");
    if (r->seconds && !r->live)
        return cli_usage("analyze", "--seconds goes with --live");
    if (!r->live && !files)
        return cli_usage("analyze", "give a capture, or - for standard input");
    if (inputs > 1)
        return cli_usage("analyze", "standard input can be read once");
    if (r->format == FORMAT_CSV && asks(r) && !r->html)
        return cli_usage("analyze", "--csv has no place for --what-if and --sweep: --json has");
    int code = check_html(r, files, file);
    return code == EXIT_DONE ? check_questions(r) : code;
}

static int parse(struct request *r, int argc, char **argv)
{
    static const struct option long_options[] = {
        {"against", required_argument, NULL, OPTION_AGAINST},
        {"port", required_argument, NULL, OPTION_PORT},
        {"any-port", no_argument, NULL, OPTION_ANY_PORT},
        {"keys", required_argument, NULL, OPTION_KEYS},
        {"live", required_argument, NULL, OPTION_LIVE},
        {"seconds", required_argument, NULL, OPTION_SECONDS},
        {"what-if", required_argument, NULL, OPTION_WHAT_IF},
        {"sweep", required_argument, NULL, OPTION_SWEEP},
        {"json", no_argument, NULL, OPTION_JSON},
        {"csv", no_argument, NULL, OPTION_CSV},
        {"markdown", no_argument, NULL, OPTION_MARKDOWN},
        {"html", required_argument, NULL, OPTION_HTML},
        {"help", no_argument, NULL, 'h'},
        {0},
    };
    int option, code;
    optind = 1;
    opterr = 0;
    while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
        if (option == '?')
            return cli_usage("analyze", "unknown option \"%s\", or one without its value",
                             argv[optind - 1]);
        if ((code = take(r, option, optarg)) != EXIT_DONE)
            return code;
    }
    return check(r, argc - optind, argv + optind);
}

/* ---- progress: on a terminal, for what takes long ---- */

#define SHOW_EVERY (250 * NS_PER_MS)

static void clear_progress(struct request *r)
{
    if (r->shown)
        fputs("\r\033[K", stderr);
    r->shown = false;
}

static void show_progress(void *user, const struct analyze_progress *p)
{
    struct request *r = user;
    char n[REPORT_NUMBER], name[PAGE_NAME];
    uint64_t now = clock_now();
    if (now - r->shown_ns < SHOW_EVERY)
        return;
    r->shown_ns = now;
    r->shown = true;
    page_name(name, r->file, 40);
    if (p->all)
        fprintf(stderr, "\r\033[K%s: %.0f %%, %s packets", name,
                100.0 * (double)p->done / (double)p->all, report_count(n, p->packets));
    else
        fprintf(stderr, "\r\033[K%s: %s packets", name, report_count(n, p->packets));
    fflush(stderr);
}

/* ---- reading ---- */

/* The one line about a capture of which nothing can be said. */
static void say_nothing(struct request *r, const struct analysis *a)
{
    struct finding f[FINDINGS_MAX];
    char name[PAGE_NAME], why[PAGE_NAME];
    verdict(a, f);
    cli_fail("analyze", "%s: %s; %s", page_name(name, a->file, 200),
             page_name(why, f[0].text, PAGE_NAME), f[0].remedy);
    r->failed = true;
}

static bool says_something(const struct analysis *a)
{
    return a->messages || a->dissected.encrypted_messages || a->dissected.compressed_messages;
}

static void pass_operation(void *user, const struct operation *o)
{
    struct request *r = user;
    questions_operation(r->questions, o);
}

static void pass_share_left(void *user, const struct smb_share *share)
{
    struct request *r = user;
    questions_share_left(r->questions, share);
}

/* False where it could not be read, which has been told. `questions`: whether any are asked. */
static bool read_capture(struct request *r, const char *file, bool questions, struct capture *ret)
{
    struct error err = {0};
    struct capture c = {0};
    r->file = file;
    r->shown_ns = clock_now();
    int code = questions && asks(r) ? questions_new(&r->asked, &c.questions, &err) : 0;
    r->questions = c.questions;
    r->options.operation = c.questions ? pass_operation : NULL;
    r->options.share_left = c.questions ? pass_share_left : NULL;
    if (code == 0)
        code = analyze(file, &r->options, &c.analysis, &err);
    clear_progress(r);
    if (code < 0) {
        cli_fail("analyze", "%s", err.text);
        r->failed = true;
        questions_free(c.questions);
        return false;
    }
    if (c.questions)
        questions_finish(c.questions);
    if (!says_something(c.analysis))
        say_nothing(r, c.analysis);
    *ret = c;
    return true;
}

/* Whether the page can be made in its directory: told before an hour of reading. */
static int check_directory(const char *page)
{
    char *directory = strdup(page);
    if (!directory)
        return -ENOMEM;
    char *slash = strrchr(directory, '/');
    if (slash)
        slash[1] = 0; /* "/" stays */
    int code = access(slash ? directory : ".", W_OK | X_OK) < 0 ? -errno : 0;
    free(directory);
    return code;
}

static int prepare(struct request *r, size_t files)
{
    struct error err = {0};
    int code = r->html ? check_directory(r->html) : 0;
    if (code < 0)
        return cli_fail("analyze", "--html %s: %s", r->html, strerror(-code));
    if (r->keys_path && keyring_read(r->keys_path, &r->keys, &err) < 0)
        return cli_fail("analyze", "%s", err.text);
    r->options.keys = r->keys;
    if (isatty(STDERR_FILENO))
        r->options.progress = show_progress;
    r->options.user = r;
    r->captures = calloc(files + 1, sizeof(*r->captures));
    return r->captures ? EXIT_DONE : cli_fail("analyze", "out of memory");
}

/* Interrupted, listening ends and what was heard is analysed. */
static volatile sig_atomic_t listening_ends;

static void end_listening(int signal)
{
    listening_ends = signal;
}

static void listen_live(struct request *r)
{
    struct sigaction end = {.sa_handler = end_listening};
    sigaction(SIGINT, &end, NULL);
    sigaction(SIGTERM, &end, NULL);
    r->options.live_seconds = r->seconds ? r->seconds : LIVE_SECONDS;
    r->options.live_end = &listening_ends;
    r->count = read_capture(r, r->live, true, &r->captures[0]);
}

static void read_all(struct request *r, int files, char **file)
{
    struct capture base = {0};
    if (r->against && read_capture(r, r->against, false, &base))
        r->base = base.analysis;
    if (r->live)
        listen_live(r);
    for (int i = 0; i < files; i++)
        r->count += read_capture(r, file[i], true, &r->captures[r->count]);
}

/* ---- printing ---- */

/* A capture of which nothing can be said is laid beside none. */
static bool comparable(const struct request *r, size_t capture)
{
    return r->base && says_something(r->base) && says_something(r->captures[capture].analysis);
}

static int print_pages(const struct request *r, enum report_format format)
{
    const char *between = format == REPORT_MARKDOWN ? "\n---\n\n" : "\n\n";
    bool first = true;
    int code = 0;
    for (size_t i = 0; i < r->count && code == 0; i++) {
        const struct capture *c = &r->captures[i];
        if (!says_something(c->analysis))
            continue;
        if (!first)
            fputs(between, stdout);
        first = false;
        code = page_print(c->analysis, stdout, format);
        if (code == 0 && c->questions)
            code = questions_print(c->questions, stdout, format);
    }
    return code;
}

static int print_differences(const struct request *r, enum report_format format)
{
    int code = 0;
    for (size_t i = 0; i < r->count && code == 0; i++) {
        if (!comparable(r, i))
            continue;
        struct difference *d = difference_new(r->base, r->captures[i].analysis);
        if (!d)
            return -ENOMEM;
        fputs(format == REPORT_MARKDOWN ? "\n---\n\n" : "\n\n", stdout);
        code = page_print_difference(d, stdout, format);
        difference_free(d);
    }
    return code;
}

static int print_csv(const struct request *r)
{
    bool head = true;
    for (size_t i = 0; i < r->count; i++) {
        if (!r->against) {
            page_csv(r->captures[i].analysis, stdout, head);
            head = false;
            continue;
        }
        if (!comparable(r, i))
            continue;
        struct difference *d = difference_new(r->base, r->captures[i].analysis);
        if (!d)
            return -ENOMEM;
        page_csv_difference(d, stdout, head);
        head = false;
        difference_free(d);
    }
    return 0;
}

static void add_capture(json_t *captures, json_t *verdicts, const struct analysis *a)
{
    json_t *findings = page_json_verdict(a);
    json_array_append_new(captures, page_json(a));
    json_array_extend(verdicts, findings);
    json_decref(findings);
}

static int print_json(const struct request *r)
{
    json_t *captures = json_array(), *verdicts = json_array(), *against = json_array();
    json_t *what_ifs = json_array(), *sweeps = json_array();
    for (size_t i = 0; i < r->count; i++) {
        const struct capture *c = &r->captures[i];
        add_capture(captures, verdicts, c->analysis);
        if (c->questions)
            questions_json(c->questions, c->analysis->file, what_ifs, sweeps);
    }
    if (r->base)
        add_capture(captures, verdicts, r->base);
    for (size_t i = 0; i < r->count; i++) {
        struct difference *d =
            comparable(r, i) ? difference_new(r->base, r->captures[i].analysis) : NULL;
        if (!d)
            continue;
        json_t *findings = page_json_difference_verdict(d);
        json_array_append_new(against, page_json_difference(d));
        json_array_extend(verdicts, findings);
        json_decref(findings);
        difference_free(d);
    }
    json_t *all =
        json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "larder", LARDER_VERSION, "captures", captures,
                  "what_if", what_ifs, "sweep", sweeps, "against", against, "verdict", verdicts);
    int code = all ? json_dumpf(all, stdout, JSON_INDENT(1)) : -ENOMEM;
    putchar('\n');
    json_decref(all);
    return code == 0 ? 0 : ferror(stdout) ? -EIO : -ENOMEM;
}

static int print_all(const struct request *r)
{
    enum report_format format = r->format == FORMAT_MARKDOWN ? REPORT_MARKDOWN : REPORT_TEXT;
    int code;
    errno = 0;
    if (r->format == FORMAT_JSON)
        code = print_json(r);
    else if (r->format == FORMAT_CSV)
        code = print_csv(r);
    else {
        code = print_pages(r, format);
        if (code == 0 && r->base)
            code = print_differences(r, format);
    }
    if (code == 0 && fflush(stdout) != 0)
        code = -errno;
    return code == -EIO && errno ? -errno : code; /* why it was not written */
}

/* Nothing, where nothing can be said, which has been told. */
static int write_html(const struct request *r)
{
    struct error err = {0};
    size_t count = 0;
    const struct analysis *base = r->base && says_something(r->base) ? r->base : NULL;
    struct html_capture *c = calloc(r->count + 1, sizeof(*c));
    if (!c)
        return cli_fail("analyze", "out of memory");
    for (size_t i = 0; i < r->count; i++)
        if (says_something(r->captures[i].analysis))
            c[count++] = (struct html_capture){r->captures[i].analysis, r->captures[i].questions};
    int code = count ? html_write(c, count, base, r->html, &err) : 0;
    free(c);
    return code < 0 ? cli_fail("analyze", "%s", err.text) : EXIT_DONE;
}

static void done(struct request *r)
{
    for (size_t i = 0; i < r->count; i++) {
        analysis_free(r->captures[i].analysis);
        questions_free(r->captures[i].questions);
    }
    free(r->captures);
    analysis_free(r->base);
    keyring_free(r->keys);
}

int cmd_analyze(int argc, char **argv)
{
    struct request r = {0};
    int code = parse(&r, argc, argv);
    if (code == EXIT_DONE)
        code = prepare(&r, (size_t)(argc - optind) + 1);
    if (code == EXIT_DONE) {
        read_all(&r, argc - optind, argv + optind);
        int printed = print_all(&r);
        if (printed < 0)
            code = cli_fail("analyze", "standard output: %s", strerror(-printed));
        else if (r.html)
            code = write_html(&r);
        if (code == EXIT_DONE && r.failed)
            code = EXIT_FAILED;
    }
    done(&r);
    return code == CLI_HELP_SHOWN ? EXIT_DONE : code;
}
