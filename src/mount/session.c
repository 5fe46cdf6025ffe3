/*
 * A mount from mount_start to mount_free: the session with the kernel.
 *
 * libfuse gets a short list of options of ours; everything else that users write after -o is
 * understood before it comes here. Its loop runs the handlers of ops.c on up to max_threads
 * threads, which are made when all are busy and then kept.
 *
 * Two things are done beside libfuse. Before version 3.17 it offers parallel directory operations
 * but does not ask the kernel for them, so that every look-up of a directory would wait for the one
 * before: the bit is put into the INIT reply on its way out. So is the one that allows mmap of
 * files opened with O_APPEND (write.c), which this version does not know. And its loop does not
 * wake when it is to end: fuse_session_exit() sets a flag that the loop looks at when its wait is
 * interrupted, so its thread is sent a signal that does nothing else, repeatedly, since one that
 * comes just before the wait is lost.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "mount/control.h"
#include "mount/mount.h"
#include "mount/place.h"
#include "mount/said.h"
#include "mount/session.h"
#include "mount/watchdog.h"

#define READ_AHEAD_KB "4096"

void mount_options_init(struct mount_options *o)
{
    *o = (struct mount_options){
        .uid = getuid(),
        .gid = getgid(),
        .file_mode = 0755,
        .dir_mode = 0755,
        .max_threads = 64,
    };
}

int mount_check(const char *mountpoint, struct error *err)
{
    struct place at;
    if (place_find(mountpoint, &at) == 0 && strcmp(at.type, MOUNT_FS_TYPE) == 0)
        return error_set(err, -EBUSY, 0,
                         "%s is a mount of larder already; `larder umount %s` first", mountpoint,
                         mountpoint);
    struct stat st;
    if (stat(mountpoint, &st) < 0)
        return error_set(err, -errno, 0, "mount point %s: %s%s", mountpoint, strerror(errno),
                         errno == ENOENT ? "; make it with mkdir" : "");
    if (!S_ISDIR(st.st_mode))
        return error_set(err, -ENOTDIR, 0,
                         "mount point %s is not a directory; make one for it with mkdir",
                         mountpoint);
    int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (fd >= 0) {
        close(fd);
        return 0;
    }
    int code = errno;
    return error_set(err, -code, 0, "/dev/fuse: %s; %s, or give it to the container",
                     strerror(code),
                     code == EACCES || code == EPERM ? "chmod 666 /dev/fuse"
                                                     : "load the module with modprobe fuse");
}

bool mount_hides(const char *mountpoint)
{
    struct place at;
    if (place_find(mountpoint, &at) != -ENOENT)
        return false;
    DIR *dir = opendir(mountpoint);
    unsigned names = 0;
    while (dir && names < 3 && readdir(dir)) /* `.` and `..` are two */
        names++;
    if (dir)
        closedir(dir);
    return names == 3;
}

/* ---- the session ---- */

/* -o's value: `,` and `\` in a name must not end it. */
static int append_escaped(char *out, size_t cap, size_t *at, const char *name)
{
    for (; *name; name++) {
        if (*at + 3 > cap)
            return -ENAMETOOLONG;
        if (*name == ',' || *name == '\\')
            out[(*at)++] = '\\';
        out[(*at)++] = *name;
    }
    out[*at] = '\0';
    return 0;
}

static int session_new(struct mount *m, const struct mount_options *o, struct error *err)
{
    char list[PATH_MAX];
    size_t at = (size_t)snprintf(
        list, sizeof(list), "subtype=larder%s%s%s,fsname=", o->allow_other ? ",allow_other" : "",
        o->allow_other && !o->ignore_modes ? ",default_permissions" : "",
        o->noexec ? ",noexec" : "");
    if (append_escaped(list, sizeof(list), &at, o->fsname) < 0)
        return error_set(err, -ENAMETOOLONG, 0, "the name of the share is too long");

    char *argv[] = {(char *)"larder", (char *)"-o", list, NULL};
    struct fuse_args args = FUSE_ARGS_INIT(3, argv);
    struct said said;
    said_begin(&said);
    m->session = fuse_session_new(&args, &mount_ops, sizeof(mount_ops), m);
    said_end(&said, !m->session);
    fuse_opt_free_args(&args);
    if (!m->session)
        return error_set(err, -EINVAL, 0, "FUSE session: %s", said.text);
    return 0;
}

#define FUSE_INIT_FLAGS_WORD    3 /* of struct fuse_init_out, in 32-bit words */
#define FUSE_INIT_FLAGS2_WORD   8
#define FUSE_PARALLEL_DIROPS_IN (1u << 18)
#define FUSE_INIT_EXT_IN        (1u << 30) /* flags2 counts */
#define FUSE_DIRECT_ALLOW_MMAP_IN                                                                  \
    (1u << 4) /* in flags2; kernels that know it not leave it alone                                \
               */

/* {major 7, minor, max_readahead, flags, ...} */
static void complete_init(uint32_t *init, size_t len)
{
    if (len < (FUSE_INIT_FLAGS2_WORD + 1) * sizeof(*init) || init[0] != 7)
        return;
    init[FUSE_INIT_FLAGS_WORD] |= FUSE_PARALLEL_DIROPS_IN;
    if (init[FUSE_INIT_FLAGS_WORD] & FUSE_INIT_EXT_IN)
        init[FUSE_INIT_FLAGS2_WORD] |= FUSE_DIRECT_ALLOW_MMAP_IN;
}

/* The kernel reads ahead by 128 KiB; more, in requests as large as they can be, only root can have
 * it do, and only once the session stands. */
static void raise_read_ahead(const struct mount *m)
{
    char path[64];
    snprintf(path, sizeof(path), "/sys/class/bdi/%u:%u/read_ahead_kb", m->device[0], m->device[1]);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (write(fd, READ_AHEAD_KB, strlen(READ_AHEAD_KB)) < 0)
        log_line(LOG_DETAIL, "%s: %s", path, strerror(errno));
    close(fd);
}

/* The first reply on a session is INIT's. */
static ssize_t write_reply(int fd, struct iovec *iov, int count, void *user)
{
    struct mount *m = user;
    if (atomic_load_explicit(&m->init_answered, memory_order_relaxed) ||
        atomic_exchange(&m->init_answered, true))
        return writev(fd, iov, count);
    if (count == 2)
        complete_init(iov[1].iov_base, iov[1].iov_len);
    ssize_t n = writev(fd, iov, count);
    raise_read_ahead(m);
    return n;
}

static ssize_t read_request(int fd, void *buf, size_t len, void *user)
{
    return read(fd, buf, len);
}

/* What to do about what fusermount3 says. */
static const char *mount_hint(const char *said)
{
    if (strstr(said, "no write access"))
        return ": who is not root mounts on a directory of his own";
    if (strstr(said, "failed to exec"))
        return ": who is not root needs fusermount3, of the package fuse3";
    return "";
}

static int session_mount(struct mount *m, const struct mount_options *o, struct error *err)
{
    struct said said;
    said_begin(&said);
    errno = 0;
    int rc = fuse_session_mount(m->session, m->mountpoint);
    int code = errno ? errno : EIO;
    said_end(&said, rc < 0);
    if (rc < 0)
        return error_set(err, -code, 0, "mounting on %s: %s%s", m->mountpoint,
                         said.text[0] ? said.text : strerror(code), mount_hint(said.text));
    struct fuse_custom_io io = {.writev = write_reply, .read = read_request};
    rc = fuse_session_custom_io(m->session, &io, fuse_session_fd(m->session));
    if (rc < 0)
        return error_set(err, rc, 0, "FUSE session: %s", strerror(-rc));
    struct place at;
    rc = place_find(m->mountpoint, &at);
    if (rc < 0)
        return error_set(err, rc, 0, "%s is not in the table of mounts: %s", m->mountpoint,
                         strerror(-rc));
    memcpy(m->device, at.device, sizeof(m->device));
    return 0;
}

#define WAKE_SIGNAL SIGURG /* ignored by default, so that a late one harms nobody */

/* ---- what the control thread does for the mount ---- */

static json_t *stats(struct mount *m)
{
    json_t *upcalls = json_object();
    for (int u = 0; u < UPCALLS; u++)
        json_object_set_new(upcalls, upcall_name((enum upcall)u),
                            json_integer((json_int_t)atomic_load(&m->upcalls[u])));
    json_t *mount =
        json_pack("{s:s, s:b, s:I, s:o}", "path", m->mountpoint, "kernel_cache", m->kernel_cache,
                  "nodes", (json_int_t)nodes_count(&m->nodes), "upcalls", upcalls);
    if (m->watchers) {
        json_t *inotify = watchers_json(m->watchers), *raised = raiser_json(m->raiser);
        json_object_update(inotify, raised);
        json_decref(raised);
        json_object_set_new(mount, "inotify", inotify);
    }
    json_t *all = share_stats(m->share);
    json_object_set_new(all, "mount", mount);
    return all;
}

/* The text may quote bytes that are none of JSON's. */
static json_t *refusal(const struct error *err)
{
    json_t *o = json_pack("{s:s}", "error", err->text);
    return o ? o : json_pack("{s:s}", "error", strerror(-err->code));
}

/* What the kernel keeps it does not show: only whether it may keep what is believed here. */
static json_t *about_path(struct mount *m, const char *path,
                          int (*call)(struct share *, const char *, json_t **, struct error *))
{
    json_t *all;
    struct error err;
    if (call(m->share, path, &all, &err) < 0)
        return refusal(&err);
    json_object_set_new(all, "kernel_keeps", json_boolean(m->kernel_cache));
    return all;
}

static json_t *answer(void *user, const char *request, const char *argument)
{
    struct mount *m = user;
    if (strcmp(request, "explain") == 0)
        return about_path(m, argument, share_explain);
    if (strcmp(request, "drop") == 0)
        return about_path(m, argument, share_drop);
    return strcmp(request, "stats") == 0 ? stats(m) : NULL;
}

static void warn(void *user, const char *text)
{
    log_line(LOG_WARN, "%s", text);
}

static void complain(void *user, const char *text)
{
    log_line(LOG_ERROR, "%s", text);
}

/* A server that comes and goes faster than this is called is told of once. */
static void log_outages(struct mount *m)
{
    struct share_outages now;
    char times[64] = "";
    share_outages(m->share, &now);
    unsigned lost = now.lost - m->outages.lost, back = now.back - m->outages.back;
    if (lost > 1)
        snprintf(times, sizeof(times), " (%u times since this was last looked at)", lost);
    if (lost)
        log_line(LOG_ERROR, "%s: the server is away%s: %s", m->mountpoint, times, now.why.text);
    if (back && now.back == now.lost)
        log_line(LOG_WARN, "%s: the server is back", m->mountpoint);
    m->outages = now;
}

static void tick(void *user)
{
    struct mount *m = user;
    share_check_caches(m->share, warn, NULL);
    share_lost_data(m->share, complain, NULL);
    if (fuse_session_exited(m->session))
        share_hurry(m->share); /* workers are waited for */
    log_outages(m);
}

static void outage(void *user)
{
    struct mount *m = user;
    control_wake_tick(m->control);
}

/* Called again and again until it returns false. */
static bool stop(void *user)
{
    struct mount *m = user;
    share_hurry(m->share);
    fuse_session_exit(m->session);
    pthread_mutex_lock(&m->loop_lock);
    bool looping = m->looping;
    if (looping)
        pthread_kill(m->loop_thread, WAKE_SIGNAL);
    pthread_mutex_unlock(&m->loop_lock);
    return looping;
}

static bool watch(void *user)
{
    struct mount *m = user;
    return calls_sweep(&m->calls);
}

static int control_begin(struct mount *m, struct error *err)
{
    struct control_calls calls = {
        .answer = answer, .tick = tick, .stop = stop, .watch = watch, .user = m};
    struct error warning;
    int rc = control_start(m->device, &calls, &m->control, &warning, err);
    if (rc == 0 && warning.code)
        log_line(LOG_WARN, "%s: `larder stats` will not work: %s", m->mountpoint, warning.text);
    return rc;
}

/* ---- beginning and end ---- */

/* Whether the directory of the share at which the mount starts is there. The share's own root is:
 * the server has let us connect to it. -ESTALE: what is there is not what a root should be. */
static int check_root(struct share *share, struct error *err)
{
    const char *path = share_get_options(share)->path;
    if (!path || !*path)
        return 0;
    struct share_entry found;
    int rc = share_getattr(share, share_root(share), &found, err);
    if (rc == -ENOENT)
        return error_set(err, rc, 0,
                         "there is no %s in the share; make it (larder mkdir), or leave it away",
                         path);
    if (rc == -ESTALE || (rc == 0 && !file_attr_is_dir(&found.attr)))
        rc = error_set(err, -ENOTDIR, 0,
                       "%s in the share is not a directory; mount the one that it is in", path);
    return rc;
}

static struct mount *mount_new(struct share *share, const struct mount_options *o,
                               struct error *err)
{
    if (check_root(share, err) < 0)
        return NULL;
    struct share_node *root = share_root(share);
    share_node_ref(share, root);
    struct mount *m = calloc(1, sizeof(*m));
    if (!m) {
        share_node_unref(share, root);
        error_set(err, -ENOMEM, 0, "out of memory");
        return NULL;
    }
    m->share = share;
    m->max_threads = o->max_threads;
    m->kernel_cache = share_get_options(share)->settings.kernel_cache;
    m->server_locks = share_get_options(share)->byte_range_locks;
    m->mfsymlinks = share_get_options(share)->mfsymlinks;
    m->read_only = o->read_only;
    m->lazy_fsync = o->lazy_fsync;
    m->rules = (struct attr_rules){o->uid, o->gid, o->file_mode, o->dir_mode};
    if (nodes_init(&m->nodes, share, root) < 0) {
        free(m);
        error_set(err, -ENOMEM, 0, "out of memory");
        return NULL;
    }
    ahead_init(&m->ahead, share, &m->handles,
               share_get_options(share)->settings.file_info_cache_lifetime * NS_PER_SEC);
    handles_init(&m->handles, share, &m->ahead);
    calls_init(&m->calls);
    revoke_init(&m->revoke, &m->nodes, &m->handles);
    lock_waits_init(&m->lock_waits);
    selfops_init(&m->selfops);
    pthread_mutex_init(&m->statfs_lock, NULL);
    pthread_mutex_init(&m->loop_lock, NULL);
    return m;
}

int mount_start(struct share *share, const struct mount_options *options, struct mount **ret,
                struct error *err)
{
    struct error failed = {0};
    int rc = mount_check(options->mountpoint, err);
    if (rc < 0)
        return rc;
    struct mount *m = mount_new(share, options, &failed);
    if (!m)
        goto fail;
    m->mountpoint = realpath(options->mountpoint, NULL);
    if (!m->mountpoint)
        error_set(&failed, -errno, 0, "mount point %s: %s", options->mountpoint, strerror(errno));
    if (!failed.code && share_get_options(share)->settings.inotify) {
        rc = raiser_new(m, &m->raiser); /* before the session, see there */
        m->watchers = rc == 0 ? watchers_new(m, m->raiser) : NULL;
        if (rc == 0 && !m->watchers)
            rc = -ENOMEM;
        if (rc < 0)
            error_set(&failed, rc, 0, "process for inotify: %s", strerror(-rc));
    }
    if (failed.code || session_new(m, options, &failed) < 0 ||
        session_mount(m, options, &failed) < 0 || control_begin(m, &failed) < 0)
        goto fail;
    rc = revoke_start(&m->revoke, m->session, m->device);
    if (rc == 0 && m->raiser)
        rc = raiser_start(m->raiser);
    if (rc == 0 && m->raiser)
        rc = watchers_start(m->watchers);
    if (rc < 0) {
        error_set(&failed, rc, 0, "thread: %s", strerror(-rc));
        goto fail;
    }
    if (m->kernel_cache)
        revoke_listen(&m->revoke, share);
    share_tell_outages(share, outage, m);
    m->watchdog = watchdog_start(m->device[1]);
    if (!m->watchdog)
        log_line(LOG_DETAIL, "no watchdog: /sys/fs/fuse/connections is not mounted");
    *ret = m;
    return 0;

fail:
    mount_free(m);
    if (err)
        *err = failed;
    return failed.code;
}

static void do_nothing(int signal)
{
}

static void set_looping(struct mount *m, bool looping)
{
    pthread_mutex_lock(&m->loop_lock);
    m->loop_thread = pthread_self();
    m->looping = looping;
    pthread_mutex_unlock(&m->loop_lock);
}

int mount_loop(struct mount *m)
{
    struct fuse_loop_config *config = fuse_loop_cfg_create();
    if (!config)
        return -ENOMEM;
    fuse_loop_cfg_set_clone_fd(config, 0);
    fuse_loop_cfg_set_max_threads(config, m->max_threads);
    fuse_loop_cfg_set_idle_threads(config, m->max_threads);

    sigset_t wake, before;
    sigemptyset(&wake);
    sigaddset(&wake, WAKE_SIGNAL);
    sigaction(WAKE_SIGNAL, &(struct sigaction){.sa_handler = do_nothing}, NULL); /* no SA_RESTART */
    pthread_sigmask(SIG_UNBLOCK, &wake, &before);
    set_looping(m, true);
    int rc = fuse_session_loop_mt(m->session, config);
    set_looping(m, false);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    fuse_loop_cfg_destroy(config);
    return rc < 0 ? rc : 0; /* positive: ended by fuse_session_exit */
}

void mount_stop(struct mount *m)
{
    control_wake_stop(m->control);
}

/* Whoever still waits in the kernel for this mount gets an error. */
static void abort_connection(void *user)
{
    const struct mount *m = user;
    char path[64];
    snprintf(path, sizeof(path), "/sys/fs/fuse/connections/%u/abort", m->device[1]);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool aborted = fd >= 0 && write(fd, "1", 1) == 1;
    if (fd >= 0)
        close(fd);
    if (!aborted && umount2(m->mountpoint, MNT_FORCE) < 0)
        log_line(LOG_WARN, "%s: %s", m->mountpoint, strerror(errno));
}

struct mount *mount_free(struct mount *m)
{
    if (!m)
        return NULL;
    m->watchdog = watchdog_free(m->watchdog);
    /* Their threads write to the kernel by a descriptor that unmounting closes. */
    lock_waits_done(&m->lock_waits);
    watchers_stop(m->watchers);
    raiser_stop(m->raiser, abort_connection, m);
    share_listen(m->share, NULL);
    share_tell_outages(m->share, NULL, NULL);
    revoke_done(&m->revoke, abort_connection, m);
    if (m->session)
        fuse_session_unmount(m->session);
    m->control = control_free(m->control);
    if (m->session)
        fuse_session_destroy(m->session);
    m->watchers = watchers_free(m->watchers);
    m->raiser = raiser_free(m->raiser);
    selfops_done(&m->selfops);
    calls_done(&m->calls);
    ahead_stop(&m->ahead);
    handles_done(&m->handles);
    share_lost_data(m->share, complain, NULL);
    ahead_done(&m->ahead);
    nodes_done(&m->nodes);
    pthread_mutex_destroy(&m->statfs_lock);
    pthread_mutex_destroy(&m->loop_lock);
    free(m->mountpoint);
    free(m);
    return NULL;
}
