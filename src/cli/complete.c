/*
 * `larder complete`: what may stand at a place of a command line, for the completion of bash, zsh
 * and fish, whose scripts only hand it the words. So there is one place that knows, and it asks
 * what is there anyway: the table of subcommands, the help that each prints, the tables of options
 * and settings, and, by running `larder ls`, the server.
 *
 * Who presses a key waits, and did not ask for anything: the work is done in a process that has no
 * terminal (nobody can be prompted), no stderr, and two seconds, after which it is killed with
 * whatever it started. All words come at the end, or none.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/complete.h"

#define PATIENCE   (2 * NS_PER_SEC - NS_PER_SEC / 10)
#define OUTPUT_MAX (16u << 20) /* bytes of one answer */
#define OFFERS_MAX 20000

static const char help[] =
    "larder complete -- larder ls -o cred\n\n"
    "Prints what the last word may be made to, a line each, behind a tab what it is:\n"
    "the completion scripts of bash, zsh and fish call it. Shares and paths are asked\n"
    "of the server where a credential is in the words, in LARDER_PASSWORD or in the\n"
    "ticket cache; nobody is prompted, and after two seconds nothing is printed.\n";

/* ---- offers ---- */

/* What must not be in a command line that a terminal shows: control characters, C1 too. */
static bool is_plain(const char *text)
{
    for (const unsigned char *s = (const unsigned char *)text; *s; s++)
        if (*s < 0x20 || *s == 0x7f || (s[0] == 0xc2 && s[1] >= 0x80 && s[1] < 0xa0))
            return false;
    return true;
}

static bool make_room(struct offers *o)
{
    if (o->count < o->room)
        return true;
    size_t room = o->room ? 2 * o->room : 64;
    char **line = o->count < OFFERS_MAX ? realloc(o->line, room * sizeof *line) : NULL;
    if (!line)
        return false;
    o->line = line;
    o->room = room;
    return true;
}

void offer(struct offers *o, const char *about, const char *format, ...)
{
    char *word = NULL, *line = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&word, format, args) < 0)
        word = NULL;
    va_end(args);
    if (word && (!is_plain(word) || strncasecmp(word, o->current, strlen(o->current)) != 0)) {
        free(word);
        return;
    }
    if (!word || o->full || !make_room(o) ||
        asprintf(&line, about ? "%s\t%s" : "%s", word, about) < 0)
        o->full = true;
    else
        o->line[o->count++] = line;
    free(word);
}

void offers_print(struct offers *o)
{
    const size_t len = strlen(o->current);
    bool exact = false;
    for (size_t i = 0; i < o->count; i++)
        exact |= strncmp(o->line[i], o->current, len) == 0;
    for (size_t i = 0; i < o->count; i++) {
        if (!exact || strncmp(o->line[i], o->current, len) == 0)
            puts(o->line[i]);
        free(o->line[i]);
    }
    free(o->line);
}

/* ---- processes ---- */

/* Reads to the end; NULL where that is not reached by `until` (0: whenever), or is too far. */
static char *read_all(int fd, uint64_t until)
{
    char *text = NULL;
    size_t used = 0, room = 0;
    for (;;) {
        if (used + 1 >= room) {
            room = room ? 2 * room : 8192;
            char *more = room <= OUTPUT_MAX ? realloc(text, room) : NULL;
            if (!more)
                break;
            text = more;
        }
        uint64_t now = clock_now();
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        int wait = until == 0 ? -1 : until > now ? (int)((until - now) / NS_PER_MS) : 0;
        if (poll(&ready, 1, wait) <= 0)
            break;
        ssize_t n = read(fd, text + used, room - used - 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        text[used += (size_t)n] = 0;
        if (n == 0)
            return text;
    }
    free(text);
    return NULL;
}

/* A child whose stdout is *ret_fd, which sees and shows nothing else. As fork(2). */
static pid_t begin(int *ret_fd, bool own_session)
{
    int fd[2];
    if (pipe2(fd, O_CLOEXEC) < 0)
        return -1;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        if ((own_session && setsid() < 0) || null < 0 || dup2(null, 0) < 0 || dup2(null, 2) < 0 ||
            dup2(fd[1], 1) < 0)
            _exit(EXIT_FAILED);
        close(fd[0]);
        close(fd[1]);
        return 0;
    }
    close(fd[1]);
    if (pid < 0)
        close(fd[0]);
    *ret_fd = fd[0];
    return pid;
}

char *complete_output(const struct subcommand *sub, char **argv)
{
    int fd, argc = 0, status = 0;
    while (argv[argc])
        argc++;
    pid_t pid = begin(&fd, false);
    if (pid < 0)
        return NULL;
    if (pid == 0) {
        int code = sub->run(argc, argv);
        fflush(stdout);
        _exit(code);
    }
    char *text = read_all(fd, 0);
    close(fd);
    waitpid(pid, &status, 0);
    if (status == 0)
        return text;
    free(text);
    return NULL;
}

/* ---- the options that a help tells of ---- */

struct option_line {
    char flag[2][32]; /* the last two spellings */
    char takes[48];   /* "FILE"; "": nothing */
    char about[96];
};

static void copy_text(char *out, size_t cap, const char *from, size_t len)
{
    if (len >= cap)
        len = cap - 1;
    memcpy(out, from, len);
    out[len] = 0;
}

/* One of "-l, --long", "-p, --profile NAME[...]", "--live IF": takes it off *inout. */
static void take_flag(const char **inout, struct option_line *ret)
{
    const char *p = *inout;
    size_t len = strcspn(p, " ,\n");
    memcpy(ret->flag[0], ret->flag[1], sizeof ret->flag[0]);
    copy_text(ret->flag[1], sizeof ret->flag[1], p, len);
    p += len;
    if (p[0] == ' ' && p[1] != ' ' && p[1] != '-') {
        len = strcspn(++p, " \n");
        copy_text(ret->takes, sizeof ret->takes, p, len - (p[len - 1] == ','));
        p += len;
    }
    p += *p == ',';
    p += strspn(p, " ");
    *inout = p;
}

/* Whether a line of a help tells of options; *ret is then filled. Those of one line that take
 * something each stand in lines of their own in *ret: the caller goes on at *inout. */
static bool take_option(const char **inout, struct option_line *ret)
{
    const char *p = *inout;
    *ret = (struct option_line){0};
    if (p[0] != '-' || !(p[1] == '-' || (p[1] >= 'A' && p[1] <= 'z')))
        return false;
    do
        take_flag(&p, ret);
    while (*p == '-' && !*ret->takes && !*ret->flag[0]);
    if (*p != '-')
        copy_text(ret->about, sizeof ret->about, p, strcspn(p, "\n"));
    *inout = p;
    return true;
}

/* Calls `fn` for each option of the subcommand's help, behind the example that it leads with. */
static void each_option(const struct typed *t,
                        void (*fn)(void *user, const struct option_line *option), void *user)
{
    char *argv[] = {(char *)t->sub->name, (char *)"--help", NULL};
    char *text = complete_output(t->sub, argv);
    const char *begin = text ? strstr(text, "\n\n") : NULL;
    for (const char *line = begin; line && *line;
         line += strcspn(line, "\n"), line += *line == '\n') {
        struct option_line option;
        const char *p = line + strspn(line, " ");
        if (p - line <= 4)
            while (take_option(&p, &option))
                fn(user, &option);
    }
    free(text);
}

/* ---- what stands where ---- */

static void offer_flags(void *user, const struct option_line *option)
{
    for (int i = 0; i < 2; i++)
        if (*option->flag[i])
            offer(user, *option->about ? option->about : NULL, "%s", option->flag[i]);
}

struct wanted {
    const char *flag;
    char takes[48];
};

static void note_takes(void *user, const struct option_line *option)
{
    struct wanted *w = user;
    if (strcmp(w->flag, option->flag[0]) == 0 || strcmp(w->flag, option->flag[1]) == 0)
        memcpy(w->takes, option->takes, sizeof w->takes);
}

/* What stands in for a value in the help says what the value is. */
static void complete_value(const struct typed *t, struct offers *o, const char *takes, size_t kept)
{
    if (strncmp(takes, "OPTION", 6) == 0)
        complete_list(t, o, kept);
    else if (strncmp(takes, "FILE", 4) == 0)
        complete_files(o, kept, false);
    else if (strncmp(takes, "PROFILE", 7) == 0)
        complete_profile(o, kept);
    else if (strncmp(takes, "SETTING", 7) == 0)
        complete_setting(o, kept, "");
}

/* Whether the current word is an option's value, apart or in one with it; then it is completed. */
static bool in_value(const struct typed *t, struct offers *o)
{
    struct wanted w = {.flag = t->word[t->count - 2]};
    char flag[32] = "";
    size_t kept = 0;
    if (t->count > 3 && w.flag[0] == '-')
        each_option(t, note_takes, &w);
    if (!*w.takes && t->current[0] == '-') {
        bool is_long = t->current[1] == '-';
        kept = is_long ? strcspn(t->current, "=") + 1 : 2;
        if (kept > strlen(t->current) || (!is_long && !t->current[2]))
            return false;
        copy_text(flag, sizeof flag, t->current, kept - is_long);
        w.flag = flag;
        each_option(t, note_takes, &w);
    }
    if (*w.takes)
        complete_value(t, o, w.takes, kept);
    return *w.takes;
}

static void complete_operand(const struct typed *t, struct offers *o)
{
    switch (t->sub->operands) {
    case OPERAND_MOUNT:
        complete_mounts(o);
        return;
    case OPERAND_PROFILE:
        for (size_t i = 0; settings_profile_name(i); i++)
            offer(o, NULL, "%s", settings_profile_name(i));
        return;
    case OPERAND_REMOTE:
        complete_remote(t, o);
        break;
    case OPERAND_LOCAL:
        complete_files(o, 0, t->sub->run == cmd_mount);
        break;
    case OPERAND_TARGET:
    case OPERAND_COMMAND:
        break;
    }
    complete_target(t, o);
}

static void offer_subcommands(struct offers *o)
{
    const struct subcommand *sub;
    for (size_t i = 0; (sub = cli_subcommand(i)); i++)
        offer(o, sub->help, "%s", sub->name);
    offer(o, NULL, "--help");
    offer(o, NULL, "--version");
}

static void complete(const struct typed *t)
{
    struct offers o = {.current = t->current};
    bool behind = false;
    for (int i = 2; i < t->count - 1; i++)
        behind |= strcmp(t->word[i], "--") == 0;
    if (t->count == 2)
        offer_subcommands(&o);
    else if (!t->sub)
        ;
    else if (behind && t->sub->operands == OPERAND_COMMAND)
        complete_files(&o, 0, false);
    else if (behind || !in_value(t, &o)) {
        if (!behind && t->current[0] == '-') {
            each_option(t, offer_flags, &o);
            offer(&o, NULL, "--help");
        } else {
            complete_operand(t, &o);
        }
    }
    offers_print(&o);
}

/* ---- the command ---- */

static void in_time(const struct typed *t)
{
    int fd;
    uint64_t until = clock_now() + PATIENCE;
    pid_t pid = begin(&fd, true);
    if (pid < 0)
        return;
    if (pid == 0) {
        complete(t);
        fflush(stdout);
        _exit(EXIT_DONE);
    }
    char *text = read_all(fd, until);
    close(fd);
    kill(-pid, SIGKILL); /* the session's group; nothing where all has ended */
    if (text)
        fputs(text, stdout);
    free(text);
}

int cmd_complete(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        fputs(help, stdout);
        return EXIT_DONE;
    }
    if (argc < 4 || strcmp(argv[1], "--") != 0)
        return cli_usage("complete", "give `--`, and then the words from the program's name on");
    struct typed t = {.word = argv + 2, .count = argc - 2, .current = argv[argc - 1]};
    for (size_t i = 0; t.count > 2 && !t.sub && cli_subcommand(i); i++)
        if (strcmp(t.word[1], cli_subcommand(i)->name) == 0)
            t.sub = cli_subcommand(i);
    in_time(&t);
    return EXIT_DONE;
}
