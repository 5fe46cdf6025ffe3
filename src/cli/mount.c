/*
 * `larder mount`: a share on a directory, served by this process from the background.
 *
 * The caller waits for the daemon by a pipe: the process forks before it connects, since threads do
 * not survive a fork; the child keeps the terminal's stderr until the mount is usable, so that it
 * tells its failure itself, and then sends its exit code through the pipe. A child that dies before
 * that leaves the pipe empty.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <grp.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/cli.h"
#include "mount/mount.h"

static const char help[] =
    "larder mount //server/share /mnt -o credentials=FILE\n\n"
    "Returns when the share is usable; `larder umount /mnt` ends it.\n\n"
    "  -f, --foreground   stay in the foreground, log to stderr; Ctrl-C unmounts\n"
    "  --keylog FILE      append the session's keys, for Wireshark and larder analyze\n"
    "  -o OPTION,...      repeatable:\n"
    "     username=, password=, domain=, credentials=FILE, guest\n"
    "     sec=krb5|krb5i|ntlmssp|ntlmsspi|none, keytab=FILE, cruid=USER, ip=ADDRESS\n"
    "     profile=larder|23h2|25h2|off, then settings: DirectoryCacheLifetime=60\n"
    "     port=, vers=, sign, seal, actimeo=SECONDS, events=FILE\n"
    "     uid=, gid=, file_mode=, dir_mode=, umask=   owner and octal mode of all\n"
    "     soft, hard    a call waits for a server that is away: timeo=300 tenths of a\n"
    "                   second, or without an end\n"
    "     ro, rw        ro: changes get EROFS (/proc/mounts shows rw all the same)\n"
    "     allow_other   let other users in, as the modes say\n"
    "     nobrl, nomap, mfsymlinks   as mount.cifs has them\n"
    "     max_threads=  calls served at a time (64)\n"
    "     noexec        and what mount(8) passes on: _netdev, nofail, users, ...\n\n"
    "The target may be smb://[[domain;]user@]server[:port]/share[/path] too. The\n"
    "password comes from -o, the credentials file, LARDER_PASSWORD, or a prompt;\n"
    "without any a Kerberos ticket (kinit) is used where there is one.\n";

struct request {
    struct share_options share;
    struct mount_options mount;
    mode_t umask; /* taken away from both modes */
    bool foreground;
    char source[SHARE_SOURCE_MAX]; /* what mount.fsname may point to */
};

/* ---- options ---- */

/* A number, or -EINVAL where it is none that an id can be. */
static int parse_id(const char *value, unsigned *ret)
{
    char *end;
    errno = 0;
    unsigned long n = strtoul(value, &end, 10);
    if (*value < '0' || *value > '9' || *end || errno || n >= UINT32_MAX)
        return -EINVAL;
    *ret = (unsigned)n;
    return 0;
}

static int set_uid(uid_t *uid, const char *value, struct error *err)
{
    const struct passwd *user;
    if (parse_id(value, uid) == 0)
        return 0;
    user = getpwnam(value);
    if (!user)
        return error_set(err, -EINVAL, 0, "uid=%s is neither a user's name nor 0 to %u", value,
                         UINT32_MAX - 1);
    *uid = user->pw_uid;
    return 0;
}

static int set_gid(gid_t *gid, const char *value, struct error *err)
{
    const struct group *group;
    if (parse_id(value, gid) == 0)
        return 0;
    group = getgrnam(value);
    if (!group)
        return error_set(err, -EINVAL, 0, "gid=%s is neither a group's name nor 0 to %u", value,
                         UINT32_MAX - 1);
    *gid = group->gr_gid;
    return 0;
}

static int set_mode(mode_t *mode, const char *name, const char *value, struct error *err)
{
    char *end;
    unsigned long n = strtoul(value, &end, 8);
    if (*value < '0' || *value > '7' || *end || n > 0777)
        return error_set(err, -EINVAL, 0, "%s=%s is not an octal mode, 0 to 0777", name, value);
    *mode = (mode_t)n;
    return 0;
}

static int set_threads(unsigned *threads, const char *value, struct error *err)
{
    char *end;
    unsigned long n = strtoul(value, &end, 10);
    if (*value < '0' || *value > '9' || *end || n < 1 || n > MOUNT_THREADS_MAX)
        return error_set(err, -EINVAL, 0, "max_threads=%s is not 1 to %d", value,
                         MOUNT_THREADS_MAX);
    *threads = (unsigned)n;
    return 0;
}

/* What mount(8) and fstab pass on and what holds here anyway, or means nothing on a share. */
static bool is_ignored(const char *name)
{
    static const char *const ignored[] = {
        "noperm",   "_netdev", "nofail",      "user",        "users",      "auto",     "noauto",
        "owner",    "group",   "defaults",    "nosuid",      "nodev",      "suid",     "dev",
        "exec",     "atime",   "noatime",     "relatime",    "norelatime", "diratime", "nodiratime",
        "lazytime", "mand",    "strictatime", "nosymfollow", "iversion",   "sync",     "async",
    };
    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
        if (strcmp(name, ignored[i]) == 0)
            return true;
    return strncmp(name, "x-", 2) == 0 || strncmp(name, "X-", 2) == 0 ||
           strncmp(name, "comment=", 8) == 0;
}

static int set_option(void *user, char *item, struct error *err)
{
    struct request *r = user;
    struct mount_options *m = &r->mount;
    const char *equals = strchr(item, '=');
    const char *value = equals ? equals + 1 : "";
    size_t len = equals ? (size_t)(equals - item) : strlen(item);
#define IS(name) (len == strlen(name) && memcmp(item, name, len) == 0)
    if (is_ignored(item))
        return 0;
    if (IS("ro") && !equals)
        return m->read_only = true, 0;
    if (IS("rw") && !equals)
        return m->read_only = false, 0;
    if (IS("allow_other") && !equals)
        return m->allow_other = true, 0;
    if (IS("noexec") && !equals)
        return m->noexec = true, 0;
    if (IS("uid"))
        return set_uid(&m->uid, value, err);
    if (IS("gid"))
        return set_gid(&m->gid, value, err);
    if (IS("umask"))
        return set_mode(&r->umask, "umask", value, err);
    if (IS("file_mode"))
        return set_mode(&m->file_mode, "file_mode", value, err);
    if (IS("dir_mode"))
        return set_mode(&m->dir_mode, "dir_mode", value, err);
    if (IS("max_threads"))
        return set_threads(&m->max_threads, value, err);
#undef IS
    return share_options_item(&r->share, item, err);
}

#define OPTION_LISTS_MAX 64

/* EXIT_DONE, CLI_HELP_SHOWN, or an exit code after printing why. */
static int parse(struct request *r, int argc, char **argv)
{
    static const struct option long_options[] = {{"foreground", no_argument, NULL, 'f'},
                                                 {"keylog", required_argument, NULL, 'k'},
                                                 {"help", no_argument, NULL, 'h'},
                                                 {0}};
    struct error err;
    const char
        *list[OPTION_LISTS_MAX]; /* applied behind the target, whose parts they may replace */
    unsigned lists = 0;
    optind = 1;
    opterr = 0;
    int c;
    while ((c = getopt_long(argc, argv, "fho:", long_options, NULL)) != -1) {
        switch (c) {
        case 'f':
            r->foreground = true;
            break;
        case 'k':
            optarg = cli_keylog("mount", optarg);
            if (!optarg)
                return EXIT_USAGE;
            /* fall through */
        case 'o':
            if (lists == OPTION_LISTS_MAX)
                return cli_usage("mount", "more than %d times -o", OPTION_LISTS_MAX);
            list[lists++] = optarg;
            break;
        case 'h':
            fputs(help, stdout);
            return CLI_HELP_SHOWN;
        default:
            return cli_usage("mount", "unknown option \"%s\", or one without its value",
                             argv[optind - 1]);
        }
    }
    if (argc - optind != 2)
        return cli_usage("mount", "give a target //HOST/SHARE and a directory");
    int rc = share_options_target(&r->share, argv[optind], &err);
    for (unsigned i = 0; rc == 0 && i < lists; i++)
        rc = share_options_split(list[i], set_option, r, &err);
    if (rc < 0)
        return cli_usage("mount", "%s", err.text);
    cli_warn_of_keylog("mount", r->share.keylog_path);
    r->mount.file_mode &= ~r->umask;
    r->mount.dir_mode &= ~r->umask;
    /* as typed, since mount -a compares it with fstab; an URL may hold a password */
    if (strncmp(argv[optind], "//", 2) != 0)
        r->mount.fsname = share_options_source(&r->share, r->source);
    else
        r->mount.fsname = argv[optind];
    r->mount.mountpoint = argv[optind + 1];
    return EXIT_DONE;
}

/* ---- signals ---- */

/* SIGTERM, SIGINT and SIGHUP are blocked in every thread but taken by one, which ends the mount, or
 * before there is one the process. */
static struct {
    pthread_mutex_t lock;
    struct mount *mount;             /* protected by lock; NULL unless it may be stopped */
    bool asked;                      /* protected by lock */
    enum { CONNECTING, MADE } phase; /* protected by lock */
} ending = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *take_signals(void *user)
{
    sigset_t *set = user;
    for (;;) {
        int sig;
        if (sigwait(set, &sig) != 0)
            continue;
        pthread_mutex_lock(&ending.lock);
        if (ending.phase == CONNECTING)
            _exit(128 + sig);
        ending.asked = true;
        if (ending.mount)
            mount_stop(ending.mount);
        pthread_mutex_unlock(&ending.lock);
    }
    return NULL;
}

static int watch_signals(void)
{
    static sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    signal(SIGPIPE, SIG_IGN);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_t thread;
    int rc = -pthread_create(&thread, NULL, take_signals, &set);
    if (rc == 0)
        pthread_detach(thread);
    return rc;
}

static void connected(void)
{
    pthread_mutex_lock(&ending.lock);
    ending.phase = MADE;
    pthread_mutex_unlock(&ending.lock);
}

/* From now on a signal stops `m` (NULL: nothing). One that came before counts. */
static void may_stop(struct mount *m)
{
    pthread_mutex_lock(&ending.lock);
    ending.mount = m;
    if (m && ending.asked)
        mount_stop(m);
    pthread_mutex_unlock(&ending.lock);
}

/* ---- the daemon ---- */

/* Lets the caller go: its exit code, and the terminal is no longer ours. */
static void tell_caller(int fd, int code)
{
    unsigned char byte = (unsigned char)code;
    if (fd < 0)
        return;
    if (write(fd, &byte, 1) != 1)
        log_line(LOG_WARN, "nobody waits for this mount");
    close(fd);
    if (code != EXIT_DONE)
        return;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; i < 3 && null >= 0; i++)
        dup2(null, i);
    if (null > 2)
        close(null);
    if (chdir("/") < 0)
        log_line(LOG_WARN, "chdir /: %s", strerror(errno));
}

/* Connects, mounts and serves until the end. Returns the exit code; `ready` gets it as soon as it
 * is known to the caller's concern. */
static int serve(struct request *r, int ready)
{
    struct error err;
    struct share *share = NULL;
    struct mount *mount = NULL;
    int code = EXIT_FAILED;

    int rc = watch_signals();
    if (rc < 0) {
        cli_fail("mount", "%s", strerror(-rc));
        goto out;
    }
    if (share_connect(&r->share, &share, &err) < 0) {
        cli_fail("mount", "%s", err.text);
        goto out;
    }
    connected();
    if (mount_start(share, &r->mount, &mount, &err) < 0) {
        cli_fail("mount", "%s", err.text);
        goto out;
    }
    tell_caller(ready, EXIT_DONE);
    ready = -1;

    may_stop(mount);
    rc = mount_loop(mount);
    may_stop(NULL);
    code = rc < 0 ? EXIT_FAILED : EXIT_DONE;
    if (rc < 0)
        log_line(LOG_ERROR, "%s: %s", r->mount.mountpoint, strerror(-rc));
out:
    mount_free(mount);
    share_free(share, NULL);
    share_options_done(&r->share);
    tell_caller(ready, code);
    return code;
}

/* In the caller: waits for the daemon's word. */
static int wait_for_daemon(pid_t daemon, int fd)
{
    unsigned char code;
    ssize_t n;
    while ((n = read(fd, &code, 1)) < 0 && errno == EINTR)
        ;
    close(fd);
    if (n == 1)
        return code;
    int status = 0;
    waitpid(daemon, &status, 0);
    if (WIFSIGNALED(status))
        return cli_fail("mount", "the larder in the background died of signal %d (%s)",
                        WTERMSIG(status), strsignal(WTERMSIG(status)));
    return cli_fail("mount", "the larder in the background ended before the mount was usable");
}

static int serve_in_background(struct request *r)
{
    int pipefd[2];
    if (pipe2(pipefd, O_CLOEXEC) < 0)
        return cli_fail("mount", "%s", strerror(errno));
    pid_t pid = fork();
    if (pid < 0)
        return cli_fail("mount", "%s", strerror(errno));
    if (pid > 0) {
        close(pipefd[1]);
        return wait_for_daemon(pid, pipefd[0]);
    }
    close(pipefd[0]);
    setsid();
    log_to_syslog("larder");
    exit(serve(r, pipefd[1]));
}

int cmd_mount(int argc, char **argv)
{
    struct request r = {0};
    struct error err;
    share_options_init(&r.share);
    mount_options_init(&r.mount);

    int code = parse(&r, argc, argv);
    if (code == CLI_HELP_SHOWN)
        code = EXIT_DONE;
    else if (code == EXIT_DONE && mount_check(r.mount.mountpoint, &err) < 0)
        code = cli_fail("mount", "%s", err.text);
    else if (code == EXIT_DONE && cli_credentials(&r.share, &err) < 0)
        code = cli_fail("mount", "%s", err.text);
    else if (code == EXIT_DONE)
        code = r.foreground ? serve(&r, -1) : serve_in_background(&r);
    share_options_done(&r.share);
    return code;
}
