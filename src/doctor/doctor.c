/*
 * The course of an examination: reach, two connections, what they were told, a directory to try
 * things in, the trials, and the directory's end.
 *
 * A trial that goes wrong ends itself and no other one, but for a connection that is lost. A stop
 * is looked for between two trials and in every wait; calls on the way to the server end by their
 * deadline, which is a short one here.
 */
#include "doctor/doctor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/ntstatus.h"
#include "doctor/exam.h"

#define PATIENCE        (3 * NS_PER_SEC)
#define REQUEST_TIMEOUT (10 * NS_PER_SEC) /* unless the user says otherwise: timeo= */

/* ---- what the parts work with ---- */

static bool is_stopped(const struct exam *x)
{
    return x->options->stop && atomic_load(x->options->stop);
}

/* What was tried across a loss has no meaning, also where the connection is back. */
static bool is_lost(const struct exam *x)
{
    bool stands;
    return client_losses(x->ours, &stands) > 0 || client_losses(x->theirs, &stands) > 0;
}

bool exam_stopped(const struct exam *x)
{
    return is_stopped(x) || is_lost(x);
}

uint64_t exam_patience(const struct exam *x)
{
    return clock_now() + (x->options->patience_ns ? x->options->patience_ns : PATIENCE);
}

void exam_step(const struct exam *x, const char *what)
{
    if (x->options->step)
        x->options->step(x->options->user, what);
}

/* conn_events.lease_broken, on the receive thread. */
static bool lease_broken(void *user, void *owner, unsigned state)
{
    struct exam *x = user;
    struct heard *h = owner;
    pthread_mutex_lock(&x->lock);
    if (!h->broken)
        h->at = clock_now();
    h->broken = true;
    pthread_cond_broadcast(&x->changed);
    pthread_mutex_unlock(&x->lock);
    return true;
}

bool exam_hears(struct exam *x, struct heard *h)
{
    uint64_t end = exam_patience(x);
    pthread_mutex_lock(&x->lock);
    while (!h->broken && clock_now() < end && !exam_stopped(x)) {
        const struct timespec look = clock_timespec(clock_now() + NS_PER_SEC / 10);
        pthread_cond_timedwait(&x->changed, &x->lock, &look);
    }
    bool broken = h->broken;
    pthread_mutex_unlock(&x->lock);
    return broken;
}

char *exam_path(const struct exam *x, const char *name)
{
    const char *dir = x->dir ? x->dir : x->top;
    char *path;
    return asprintf(&path, "%s%s%s", dir, *dir ? "/" : "", name) < 0 ? NULL : path;
}

/* Opens or makes, writes so many bytes, closes. */
static int touch(struct exam *x, struct client *by, const char *name, uint32_t disposition,
                 size_t bytes, struct error *err)
{
    const struct client_how how = {
        .access = FILE_READ_DATA | FILE_WRITE_DATA,
        .share = FILE_SHARE_ALL,
        .disposition = disposition,
        .options = FILE_NON_DIRECTORY_FILE,
    };
    struct client_file *f;
    struct file_attr attr;
    char *path = exam_path(x, name);
    if (!path)
        return error_set(err, -ENOMEM, 0, "out of memory");
    int r = client_create(by, path, &how, &f, &attr, NULL, err);
    free(path);
    if (r < 0)
        return r;
    int64_t n = bytes ? client_write(f, "x", bytes, attr.size, err) : 0;
    r = client_close(f, CLIENT_SINGLE, NULL, n < 0 ? NULL : err);
    return n < 0 ? (int)n : r;
}

int exam_make(struct exam *x, struct client *by, const char *name, struct error *err)
{
    if (x->name_count == EXAM_NAMES || !(x->name[x->name_count] = strdup(name)))
        return error_set(err, -ENOMEM, 0, "out of memory");
    x->name_count++;
    return touch(x, by, name, FILE_CREATE, 0, err);
}

int exam_write(struct exam *x, struct client *by, const char *name, struct error *err)
{
    return touch(x, by, name, FILE_OPEN, 1, err);
}

/* ---- the directory to try things in ---- */

static void tell_why_not(struct exam *x, const struct error *err)
{
    bool refused = err->code == -EACCES || err->code == -EROFS || err->code == -EPERM;
    if (refused)
        snprintf(x->why_not, sizeof x->why_not, "the share is read-only for this user");
    else
        snprintf(x->why_not, sizeof x->why_not, "nothing could be made: %.170s", err->text);
}

static void make_dir(struct exam *x)
{
    uint32_t number = 0;
    struct error err = {0};
    char *path;
    if (x->options->read_only) {
        snprintf(x->why_not, sizeof x->why_not, "nothing was to be made (-r)");
        return;
    }
    if (getrandom(&number, sizeof number, 0) != sizeof number ||
        asprintf(&path, "%s%s" DOCTOR_PREFIX "%08x", x->top, *x->top ? "/" : "", number) < 0) {
        snprintf(x->why_not, sizeof x->why_not, "out of memory");
        return;
    }
    if (x->options->made)
        atomic_store(x->options->made, true);
    if (client_mkdir(x->ours, path, NULL, CLIENT_COMPOUND, NULL, &err) == 0) {
        x->dir = path;
        return;
    }
    tell_why_not(x, &err);
    if (err.status == 0) /* no answer, or nonsense: it may have been made all the same */
        client_remove(x->ours, path, true, NULL, CLIENT_COMPOUND, NULL);
    free(path);
    if (x->options->made)
        atomic_store(x->options->made, false);
}

struct names {
    char **name;
    size_t count;
};

static int note_name(void *user, const char *name, size_t len, const struct file_attr *attr,
                     size_t wire_bytes)
{
    struct names *n = user;
    char **wider = realloc(n->name, (n->count + 1) * sizeof *wider);
    if (!wider)
        return -ENOMEM;
    n->name = wider;
    n->name[n->count] = strndup(name, len);
    return n->name[n->count] ? (n->count++, 0) : -ENOMEM;
}

/* Of a file that is gone already nothing has to be removed. */
static int remove_file(struct exam *x, const char *name, struct error *err)
{
    char *path = exam_path(x, name);
    int r = path ? client_remove(x->ours, path, false, NULL, CLIENT_COMPOUND, err) : -ENOMEM;
    free(path);
    return r == -ENOENT ? 0 : r;
}

/* With all that is in it, which is ours: by the names that the server lists, and by those that we
 * gave, since Samba lists a device's name as another one, which it does not know again where it
 * tells case apart. */
static int remove_dir(struct exam *x, struct error *err)
{
    struct names names = {0};
    struct client_list_result ignored;
    int r =
        client_list(x->ours, x->dir, "*", CLIENT_COMPOUND, false, note_name, &names, &ignored, err);
    for (size_t i = 0; i < names.count; i++) {
        if (r == 0)
            r = remove_file(x, names.name[i], err);
        free(names.name[i]);
    }
    free(names.name);
    for (size_t i = 0; r == 0 && names.count && i < x->name_count; i++)
        (void)remove_file(x, x->name[i], err); /* what stays is in the way below */
    if (r == 0)
        r = client_remove(x->ours, x->dir, true, NULL, CLIENT_COMPOUND, err);
    return r == -ENOENT ? 0 : r;
}

/* A CLOSE that nobody waited for may stand in the way for a moment. */
static void end_dir(struct exam *x)
{
    struct error err = {0};
    if (!x->dir)
        return;
    int r = remove_dir(x, &err);
    for (int i = 0; i < 20 && (r == -ENOTEMPTY || r == -EBUSY); i++) {
        nanosleep(&(struct timespec){.tv_nsec = 50 * (long)NS_PER_MS}, NULL);
        r = remove_dir(x, &err);
    }
    if (r < 0) {
        struct finding *f = report_add(x->report, "left_behind", "left behind", DOCTOR_WRONG,
                                       "/%.120s: %.180s", x->dir, err.text);
        finding_advise(f, "remove that directory by hand: it was made by this examination");
    } else if (x->options->made) {
        atomic_store(x->options->made, false);
    }
    free(x->dir);
    x->dir = NULL;
}

/* ---- the course ---- */

static void fill_options(struct exam *x, struct client_options *o)
{
    share_options_client(x->share, o);
    o->reconnect = CLIENT_SOFT;
    if (!x->share->timeo)
        o->request_timeout_ns = REQUEST_TIMEOUT;
    o->keylog = x->keylog;
    o->observe = x->observe;
    o->events = (struct conn_events){.lease_broken = lease_broken, .user = x};
}

static void advise_logon(const struct exam *x, struct finding *f, const struct error *err)
{
    if (err->status == STATUS_BAD_NETWORK_NAME)
        finding_advise(f, "larder shares //%.200s lists what there is", x->share->host);
    else if (err->status == STATUS_LOGON_FAILURE)
        finding_advise(f,
                       "check user=, domain= and the password; a password in -o or a credentials "
                       "file wins over LARDER_PASSWORD");
    else if (err->status == STATUS_ACCESS_DENIED)
        finding_advise(f, "have this user let in on the server, or log on as another one (user=)");
}

static bool log_on(struct exam *x, struct client_options *o)
{
    struct error err;
    uint64_t begun = clock_now();
    exam_step(x, "logging on");
    int r = client_connect(o, &x->ours, &err);
    uint64_t took = clock_now() - begun;
    if (r == 0) {
        o->observe = x->aside;
        r = client_connect(o, &x->theirs, &err);
    }
    if (r < 0) {
        advise_logon(x, report_add(x->report, "logon", "logging on", DOCTOR_WRONG, "%s", err.text),
                     &err);
        return false;
    }
    struct client_facts facts;
    client_facts(x->ours, &facts);
    report_user(x->report, facts.guest ? "guest" : facts.user);
    struct finding *f = report_add(x->report, "logon", "logging on",
                                   facts.guest ? DOCTOR_NOTE : DOCTOR_GOOD, "by %s%s, in %.1f ms",
                                   facts.logon, facts.guest ? ", as a guest" : "", exam_ms(took));
    if (facts.guest)
        finding_advise(f, "a guest's session has no key: nothing is signed or encrypted. Log on as "
                          "a user of the server");
    finding_fact(f, "by", json_string(facts.logon));
    finding_fact(f, "guest", json_boolean(facts.guest));
    finding_fact(f, "ms", json_real(exam_ms(took)));
    return true;
}

static void tell_lost(struct exam *x, const char *what)
{
    struct finding *f = report_add(x->report, "connection", "connection", DOCTOR_WRONG,
                                   "it was lost while this was tried: %s", what);
    finding_advise(f, "the rest was not tried. If it happens again, look at the server's log, and "
                      "for a firewall or relay that ends connections");
}

static void try_everything(struct exam *x)
{
    static const struct {
        const char *what;
        void (*try)(struct exam *);
    } parts[] = {
        {"what was agreed on", connection_facts},
        {"a listing", connection_listing},
        {"free space", connection_space},
        {"a place to try things in", make_dir},
        {"leases of files", promises_files},
        {"leases of directories", promises_directories},
        {"change notify", promises_notify},
        {"upper and lower case", names_case},
        {"names", names_rules},
        {"what a mount will have", outlook},
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && !exam_stopped(x); i++) {
        exam_step(x, parts[i].what);
        parts[i].try(x);
        if (is_lost(x))
            tell_lost(x, parts[i].what);
    }
    exam_step(x, "cleaning up");
    end_dir(x);
}

static int begin(struct exam *x, struct error *err)
{
    pthread_condattr_t attr;
    pthread_mutex_init(&x->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&x->changed, &attr);
    pthread_condattr_destroy(&attr);
    x->report = report_new(x->share);
    if (!x->report)
        return error_set(err, -ENOMEM, 0, "out of memory");
    int r = observe_new(&(struct observe_options){0}, &x->observe, err);
    if (r == 0)
        r = observe_new(&(struct observe_options){0}, &x->aside, err);
    if (r == 0 && x->share->keylog_path)
        r = client_keylog_open(x->share->keylog_path, &x->keylog, err);
    return r;
}

static void end(struct exam *x)
{
    while (x->name_count)
        free(x->name[--x->name_count]);
    client_free(x->theirs);
    client_free(x->ours);
    client_keylog_close(x->keylog);
    observe_free(x->observe);
    observe_free(x->aside);
    doctor_report_free(x->report);
    pthread_cond_destroy(&x->changed);
    pthread_mutex_destroy(&x->lock);
}

int doctor_run(const struct doctor_options *options, struct doctor_report **ret, struct error *err)
{
    struct exam x = {.options = options, .share = options->share, .top = options->share->path};
    struct client_options o;
    int r = share_options_check(x.share, err);
    if (r < 0)
        return r;
    if (!x.top)
        x.top = "";
    r = begin(&x, err);
    if (r == 0) {
        fill_options(&x, &o);
        exam_step(&x, "reaching the server");
        if (connection_reach(&x, &o) && log_on(&x, &o))
            try_everything(&x);
        if (is_stopped(&x))
            r = error_set(err, -EINTR, 0, "stopped");
    }
    if (r == 0) {
        *ret = x.report;
        x.report = NULL;
    }
    end(&x);
    return r;
}
