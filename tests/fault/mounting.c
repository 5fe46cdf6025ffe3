/*
 * One mount: mount_start, mount_loop, somebody who looks, lists, reads and writes, and mount_free.
 *
 * The user is a process that was forked before the mount was there, and waits for a word: it has
 * none of the daemon's descriptors, and allocates nothing (a thread of the daemon may have held the
 * allocator's lock when it was forked). An error is fine for it, since any call may be the one that
 * fails; a wrong answer, or none, is not.
 */
#include "tests/fault/mounting.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "mount/mount.h"
#include "mount/place.h"

enum { RIGHT, FAILED, WRONG, PATIENCE = 30 }; /* of the user, s */

/* Of the mount that is tried: where it is, and where its control socket is. */
static char base[64], dir[80], sockets[80];

bool mounting_possible(void)
{
    int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return false;
    close(fd);
    return true;
}

/* A mount logs that its server is away, and that it goes on without this or that. */
void __wrap_log_line(enum log_level level, const char *format, ...);
void __wrap_log_line(enum log_level level, const char *format, ...)
{
}

/* Not the directory of all larders: whose connect() is made to fail takes the others' sockets for
 * those of dead ones, and sweeps them away. */
int __wrap_sockdir_own(struct error *err);
int __wrap_sockdir_own(struct error *err)
{
    return open(sockets, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void make_dirs(void)
{
    strcpy(base, "/tmp/larder-test-XXXXXX");
    if (!mkdtemp(base))
        abort();
    snprintf(dir, sizeof(dir), "%s/mount", base);
    snprintf(sockets, sizeof(sockets), "%s/sockets", base);
    if (mkdir(dir, 0700) < 0 || mkdir(sockets, 0700) < 0)
        abort();
}

static bool remove_dirs(void)
{
    bool clean = rmdir(dir) == 0 && rmdir(sockets) == 0;
    return clean && rmdir(base) == 0;
}

/* ---- the user ---- */

static const char *in(const char *name)
{
    static char path[100];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return path;
}

static int look(void)
{
    struct stat st;
    if (stat(in("lib/a.py"), &st) < 0)
        return errno == ENOENT ? WRONG : FAILED;
    return S_ISREG(st.st_mode) && st.st_size == 11 ? RIGHT : WRONG;
}

/* The names that begin so in what getdents64 gave. */
static unsigned count_names(const char *buf, size_t len, char first)
{
    unsigned names = 0;
    for (size_t at = 0; at < len;) {
        const struct dirent64 *e = (const struct dirent64 *)(buf + at);
        names += e->d_name[0] == first;
        at += e->d_reclen;
    }
    return names;
}

static int list(void)
{
    static char buf[32768] __attribute__((aligned(8)));
    unsigned names = 0;
    ssize_t n;
    int fd = open(in("many"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? WRONG : FAILED;
    while ((n = getdents64(fd, buf, sizeof(buf))) > 0)
        names += count_names(buf, (size_t)n, 'n');
    close(fd);
    return n < 0 ? FAILED : names == SESSION_MANY ? RIGHT : WRONG;
}

static int read_it(void)
{
    char buf[20];
    int fd = open(in("lib/a.py"), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? WRONG : FAILED;
    ssize_t n = read(fd, buf, sizeof(buf));
    close(fd);
    if (n < 0)
        return FAILED;
    return n == 11 && memcmp(buf, "print('a')\n", 11) == 0 ? RIGHT : WRONG;
}

static int write_it(void)
{
    int fd = open(in("lib/out"), O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? WRONG : FAILED;
    ssize_t n = write(fd, "written", 7);
    int synced = fsync(fd);
    close(fd);
    return n == 7 && synced == 0 ? RIGHT : FAILED;
}

static _Noreturn void use(int word)
{
    static int (*const uses[])(void) = {look, list, read_it, write_it, look};
    char c;
    int worst = RIGHT;
    failing_spare(true);
    alarm(PATIENCE);
    bool wanted = read(word, &c, 1) == 1;
    for (size_t i = 0; wanted && i < sizeof(uses) / sizeof(*uses); i++) {
        int came = uses[i]();
        worst = came > worst ? came : worst;
    }
    _exit(worst);
}

/* ---- the daemon ---- */

struct user {
    pid_t pid;
    int word; /* our end; he has the other */
};

static struct user fork_user(void)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        abort();
    pid_t pid = fork();
    if (pid < 0)
        abort();
    if (pid == 0) {
        close(ends[1]);
        use(ends[0]);
    }
    close(ends[0]);
    return (struct user){pid, ends[1]};
}

/* What he says, having been sent to work or home. */
static int ask(const struct user *u, bool works)
{
    int status;
    if (works && write(u->word, "!", 1) != 1)
        abort();
    close(u->word);
    if (waitpid(u->pid, &status, 0) < 0)
        abort();
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The thread that waits for the user while the loop runs; the loop may end before he does. */
struct attendant {
    const struct user *user;
    struct mount *mount;
    int said;
    pthread_mutex_t lock;
    bool over; /* the mount may be gone; protected by lock */
};

static void *attend(void *attendant)
{
    struct attendant *a = attendant;
    a->said = ask(a->user, true);
    pthread_mutex_lock(&a->lock);
    if (!a->over)
        mount_stop(a->mount);
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

static int judge_use(int said, int looped, struct session_result *ret)
{
    if (said == WRONG && looped == 0) /* else he may see what is beneath the mount */
        snprintf(ret->wrong, sizeof(ret->wrong), "the mount gives a wrong answer");
    else if (said < 0)
        snprintf(ret->wrong, sizeof(ret->wrong), "whoever uses the mount hangs");
    if (looped < 0)
        return error_set(&ret->err, looped, 0, "the mount's loop did not begin");
    return said == RIGHT ? 0 : error_set(&ret->err, -EIO, 0, "a call of the user's failed");
}

/* Frees the mount: then whoever still waits for it has an error. */
static int use_mount(struct mount *m, const struct user *u, struct session_result *ret)
{
    struct attendant a = {.user = u, .mount = m, .lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t thread;
    failing_spare(true);
    int r = pthread_create(&thread, NULL, attend, &a);
    failing_spare(false);
    if (r)
        abort();
    int looped = mount_loop(m);
    pthread_mutex_lock(&a.lock);
    a.over = true;
    pthread_mutex_unlock(&a.lock);
    mount_free(m);
    pthread_join(thread, NULL);
    return judge_use(a.said, looped, ret);
}

static int mount_share(struct share *share, const struct user *u, struct session_result *ret)
{
    struct mount_options o;
    struct mount *m;
    mount_options_init(&o);
    o.mountpoint = dir;
    o.fsname = "//server/share";
    o.max_threads = 8;
    int r = mount_start(share, &o, &m, &ret->err);
    if (r < 0) {
        ask(u, false);
        ret->step = "mount_start";
        return r;
    }
    return use_mount(m, u, ret);
}

static unsigned descriptors(void)
{
    unsigned n = 0;
    DIR *d = opendir("/proc/self/fd");
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

/* The server may take a moment to see that its connection has ended. */
static bool descriptors_are(unsigned before)
{
    for (uint64_t end = clock_now() + 10 * NS_PER_SEC; descriptors() != before; usleep(1000))
        if (clock_now() >= end)
            return false;
    return true;
}

static void look_for_leftovers(unsigned before, struct session_result *ret)
{
    struct place at;
    if (place_find(dir, &at) != -ENOENT) {
        snprintf(ret->wrong, sizeof(ret->wrong), "it is still mounted");
        umount2(dir, MNT_FORCE | MNT_DETACH);
    }
    if (waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD)
        snprintf(ret->wrong, sizeof(ret->wrong), "a process is left");
    if (!descriptors_are(before))
        snprintf(ret->wrong, sizeof(ret->wrong), "%u descriptors are open, not %u", descriptors(),
                 before);
}

void mounting_run(struct server *server, uint64_t timeout_ns, enum call call, unsigned k, int error,
                  struct session_result *ret)
{
    struct share *share;
    *ret = (struct session_result){.step = "connect"};
    make_dirs();
    unsigned before = descriptors();
    struct user user = fork_user();
    ret->code = session_share(server, SESSION_SIGNED, timeout_ns, &share, &ret->err);
    if (ret->code < 0) {
        ask(&user, false);
    } else {
        ret->step = "use";
        failing_begin(call, k, error);
        ret->code = mount_share(share, &user, ret);
        failing_end();
        share_free(share, NULL);
        look_for_leftovers(before, ret);
    }
    if (!remove_dirs())
        snprintf(ret->wrong, sizeof(ret->wrong), "%s is not empty", base);
}
