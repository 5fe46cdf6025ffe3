/*
 * What subcommands share: how they fail, where credentials come from, how the tools connect. A
 * password is taken from the options, from LARDER_PASSWORD, or from a prompt on the terminal, in
 * this order; nobody is prompted who has a ticket, or said that none is wanted; it is removed from
 * the environment so that children (a compared command) do not inherit it.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "cli/cli.h"
#include "larder/larder.h"

static void print_line(const char *command, const char *format, va_list args)
{
    char text[1024];
    vsnprintf(text, sizeof text, format, args);
    fprintf(stderr, "larder: %s: %s", command, text);
}

int cli_fail(const char *command, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_line(command, format, args);
    va_end(args);
    fputc('\n', stderr);
    return EXIT_FAILED;
}

int cli_usage(const char *command, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_line(command, format, args);
    va_end(args);
    fprintf(stderr, " (try larder %s --help)\n", command);
    return EXIT_USAGE;
}

char *cli_environment_password(void)
{
    char *value = getenv("LARDER_PASSWORD");
    if (!value)
        return NULL;
    char *copy = strdup(value);
    explicit_bzero(value, strlen(value));
    unsetenv("LARDER_PASSWORD");
    return copy;
}

char *cli_keylog(const char *command, const char *file)
{
    static char option[PATH_MAX + 16];
    int n = snprintf(option, sizeof option, "keylog=\"%s\"", file);
    if (*file && !strchr(file, '"') && (size_t)n < sizeof option)
        return option;
    cli_usage(command, "--keylog \"%s\": a file's name, without quotes in it", file);
    return NULL;
}

void cli_warn_of_keylog(const char *command, const char *file)
{
    if (file)
        fprintf(stderr,
                "larder: %s: warning: the keys of this session go to %s: whoever reads it can "
                "read all that was encrypted\n",
                command, file);
}

static volatile sig_atomic_t interrupted;

static void note_signal(int signal)
{
    interrupted = signal;
}

/* A line without echo, which comes back whatever ends the wait: a signal is taken note of, and
 * raised again when the terminal is as it was. -1: none. */
static ssize_t read_hidden(int fd, char *line, size_t cap)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct sigaction note = {.sa_handler = note_signal}, before[4];
    struct termios shown, hidden;
    if (tcgetattr(fd, &shown) < 0)
        return -1;
    hidden = shown;
    hidden.c_lflag &= ~(tcflag_t)ECHO;
    for (size_t i = 0; i < 4; i++)
        sigaction(signals[i], &note, &before[i]);
    tcsetattr(fd, TCSAFLUSH, &hidden);
    ssize_t n = read(fd, line, cap);
    tcsetattr(fd, TCSAFLUSH, &shown);
    for (size_t i = 0; i < 4; i++)
        sigaction(signals[i], &before[i], NULL);
    if (interrupted)
        raise(interrupted);
    return n;
}

static char *from_terminal(const char *user, const char *host)
{
    int fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return NULL;
    char line[512];
    dprintf(fd, "Password for %s at %s: ", user, host);
    ssize_t n = read_hidden(fd, line, sizeof line - 1);
    dprintf(fd, "\n");
    close(fd);
    char *password = NULL;
    if (n > 0) {
        line[n] = 0;
        line[strcspn(line, "\r\n")] = 0;
        password = strdup(line);
    }
    explicit_bzero(line, sizeof line);
    return password;
}

char *cli_password(const char *user, const char *host, struct error *err)
{
    char *password = cli_environment_password();
    if (!password)
        password = from_terminal(user, host);
    if (!password)
        error_set(err, -EACCES, 0,
                  "no password for %s at %s: give credentials=FILE or LARDER_PASSWORD, or run "
                  "kinit for a Kerberos ticket",
                  user, host);
    return password;
}

static const char *login_name(void)
{
    const char *name = getenv("USER");
    return name && *name ? name : "root";
}

static void wipe(char *password)
{
    if (password)
        explicit_bzero(password, strlen(password));
    free(password);
}

static int take_password(struct share_options *o, char *password, struct error *err)
{
    int r = share_options_set(o, "password", password, err);
    wipe(password);
    return r;
}

int cli_credentials(struct share_options *o, struct error *err)
{
    char *given = cli_environment_password(); /* away with it, wanted or not */
    int r = 0;
    if (given && share_options_take_password(o))
        r = take_password(o, given, err);
    else
        wipe(given);
    bool ntlm = share_options_logon(o) == CLIENT_LOGON_NTLM;
    if (r == 0 && !o->user && !o->guest && (ntlm || o->password))
        r = share_options_set(o, "user", login_name(), err);
    if (r < 0 || !share_options_lack_password(o))
        return r;
    char *password = cli_password(o->user, o->host, err);
    return password ? take_password(o, password, err) : -EACCES;
}

int cli_share_options(const char *command, const struct cli_line *line, const char *target,
                      struct share_options *ret)
{
    struct error err = {0};
    share_options_init(ret);
    int r = share_options_target(ret, target, &err);
    for (size_t i = 0; r == 0 && i < line->options; i++)
        r = share_options_parse(ret, line->option[i], &err);
    if (r == -EINVAL || r == -ENOENT)
        return cli_usage(command, "%s", err.text);
    if (r < 0)
        return cli_fail(command, "%s", err.text);
    cli_warn_of_keylog(command, ret->keylog_path);
    r = cli_credentials(ret, &err);
    return r < 0 ? cli_fail(command, "%s", err.text) : EXIT_DONE;
}

/* The same for the tools, which know only the public library. */
static int complete(struct larder_config *config, const char *given, struct larder_error *err)
{
    struct error e = {0};
    char *password = given ? NULL : cli_environment_password(); /* away with it, wanted or not */
    int r = 0;
    bool takes = larder_config_takes_password(config);
    if (takes && password)
        given = password;
    if (!larder_config_user(config) && (larder_config_needs_password(config) || (takes && given)))
        r = larder_config_set(config, "user", login_name(), err);
    if (r == 0 && !given && larder_config_needs_password(config)) {
        wipe(password);
        given = password = cli_password(larder_config_user(config), larder_config_host(config), &e);
        if (!password) {
            *err = (struct larder_error){.code = e.code};
            memcpy(err->text, e.text, sizeof err->text);
            return e.code;
        }
    }
    if (r == 0 && takes && given)
        r = larder_config_set(config, "password", given, err);
    wipe(password);
    return r;
}

int cli_connect_with(const char *command, const char *target, char *const *option, size_t options,
                     const char *password, struct larder **ret)
{
    struct larder_config *config;
    struct larder_error err = {0};
    if (larder_config_new(target, &config, &err) < 0)
        return cli_usage(command, "%s", err.text);
    int code = EXIT_DONE;
    for (size_t i = 0; code == EXIT_DONE && i < options; i++)
        if (larder_config_set_list(config, option[i], &err) < 0)
            code = err.code == -EINVAL || err.code == -ENOENT ? cli_usage(command, "%s", err.text)
                                                              : cli_fail(command, "%s", err.text);
    if (code == EXIT_DONE)
        cli_warn_of_keylog(command, larder_config_keylog(config));
    if (code == EXIT_DONE && complete(config, password, &err) < 0)
        code = cli_fail(command, "%s", err.text);
    if (code == EXIT_DONE && larder_connect(config, ret, &err) < 0)
        code = cli_fail(command, "%s", err.text);
    larder_config_free(config);
    return code;
}

int cli_connect(const char *command, const struct cli_target *t, struct larder **ret)
{
    return cli_connect_with(command, t->target, t->option, t->options, NULL, ret);
}

/* Which of the letters `c` is; -1: none of them. */
static int letter_index(const char *letters, int c)
{
    int i = 0;
    for (; *letters; letters++) {
        if (*letters == ':')
            continue;
        if (*letters == c)
            return i;
        i++;
    }
    return -1;
}

enum {
    LONG_HELP = 1000,
    LONG_KEYLOG,
    LONG_FLAG
}; /* -h is help only where it is no letter of the tool's */

int cli_read_line(struct cli_line *line, int argc, char **argv, const char *letters, bool *flags,
                  const char **value, const char *help)
{
    static const struct option long_options[] = {{"help", no_argument, NULL, LONG_HELP},
                                                 {"json", no_argument, NULL, 'j'},
                                                 {"keylog", required_argument, NULL, LONG_KEYLOG},
                                                 {0}};
    char accepted[40];
    snprintf(accepted, sizeof accepted, "o:h%s", letters);
    *line = (struct cli_line){0};
    optind = 0; /* glibc: begin anew, also with the order of what is permuted */
    opterr = 0;
    int c;
    while ((c = getopt_long(argc, argv, accepted, long_options, NULL)) != -1) {
        int i = letter_index(letters, c);
        if (c == LONG_HELP || (c == 'h' && i < 0)) {
            fputs(help, stdout);
            return CLI_HELP_SHOWN;
        }
        if (c == LONG_KEYLOG && !(optarg = cli_keylog(argv[0], optarg)))
            return EXIT_USAGE;
        bool listed = c == 'o' || c == LONG_KEYLOG;
        if (listed && line->options < CLI_OPTIONS_MAX)
            line->option[line->options++] = optarg;
        else if (listed)
            return cli_usage(argv[0], "more than %d -o options", CLI_OPTIONS_MAX);
        else if (c == '?' || i < 0)
            return cli_usage(argv[0], "unknown option \"%s\", or one without its value",
                             argv[optind - 1]);
        else {
            flags[i] = true;
            if (value)
                value[i] = optarg;
        }
    }
    line->operand = argv + optind;
    line->operands = argc - optind;
    return EXIT_DONE;
}

int cli_read_flag(int argc, char **argv, const char *flag, char letter, const char *help, bool *ret)
{
    const struct option long_options[] = {
        {flag, no_argument, NULL, LONG_FLAG}, {"help", no_argument, NULL, 'h'}, {0}};
    const char accepted[] = {'h', letter, 0};
    optind = 1;
    opterr = 0;
    int c;
    *ret = false;
    while ((c = getopt_long(argc, argv, accepted, long_options, NULL)) != -1) {
        if (c == 'h') {
            fputs(help, stdout);
            return CLI_HELP_SHOWN;
        }
        if (c != LONG_FLAG && (c != letter || !letter))
            return cli_usage(argv[0], "unknown option \"%s\"", argv[optind - 1]);
        *ret = true;
    }
    return EXIT_DONE;
}

int cli_number(const char *command, const char *what, const char *text, unsigned long low,
               unsigned long high, unsigned long *ret)
{
    char *end;
    errno = 0;
    unsigned long n = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno || n < low || n > high)
        return cli_usage(command, "%s \"%s\": not a number from %lu to %lu", what, text, low, high);
    *ret = n;
    return EXIT_DONE;
}

int cli_tool_options(struct cli_target *t, int argc, char **argv, const char *letters, bool *flags,
                     const char *help)
{
    struct cli_line line;
    int code = cli_read_line(&line, argc, argv, letters, flags, NULL, help);
    if (code != EXIT_DONE)
        return code;
    if (line.operands < 1 || line.operands > 2)
        return cli_usage(argv[0], "give a target //HOST/SHARE and at most one path");
    *t = (struct cli_target){.target = line.operand[0],
                             .path = line.operands == 2 ? line.operand[1] : "",
                             .options = line.options};
    memcpy(t->option, line.option, sizeof t->option);
    return EXIT_DONE;
}
