/*
 * What a server promises to tell, tried: one client is promised something, the other does what the
 * promise is about, and the first has to hear of it within some seconds.
 *
 * Where nothing can be made, what is promised can be asked for, but not tried: it is said so.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "doctor/exam.h"

static const char lease_file[] = "leased", other_name[] = "another", told_name[] = "told";

/* "read, handle, write" */
static const char *state_text(unsigned state, char out[static 32])
{
    snprintf(out, 32, "%s%s%s", state & CLIENT_LEASE_READ ? ", read" : "",
             state & CLIENT_LEASE_HANDLE ? ", handle" : "",
             state & CLIENT_LEASE_WRITE ? ", write" : "");
    return *out ? out + 2 : out;
}

/* A lease was granted, and the other client did what it is about. */
static struct finding *judge(struct exam *x, const char *key, const char *title, struct heard *h,
                             unsigned state, uint64_t done_at, const char *what)
{
    char text[32];
    struct finding *f;
    if (exam_hears(x, h)) {
        uint64_t took = h->at > done_at ? h->at - done_at : 0;
        f = report_add(x->report, key, title, DOCTOR_GOOD,
                       "granted (%s), taken back %.1f ms after %s", state_text(state, text),
                       exam_ms(took), what);
        finding_fact(f, "break_ms", json_real(exam_ms(took)));
    } else if (exam_stopped(x)) {
        f = report_add(x->report, key, title, DOCTOR_UNTRIED,
                       "granted (%s); whether it is kept was not tried to the end",
                       state_text(state, text));
    } else {
        f = report_add(x->report, key, title, DOCTOR_WRONG,
                       "granted (%s), but not taken back after %s", state_text(state, text), what);
        finding_advise(f,
                       "the server promises what it does not keep, so that old content is shown: "
                       "have it repaired, and until then mount with Leases=0");
    }
    finding_fact(f, "kept", json_boolean(f->state == DOCTOR_GOOD));
    return f;
}

static void add_grant(struct finding *f, bool offered, unsigned state)
{
    char text[32];
    finding_fact(f, "offered", json_boolean(offered));
    finding_fact(f, "granted", json_string(state_text(state, text)));
}

/* ---- files ---- */

static void durable(struct exam *x, const struct client_file *open, bool leased)
{
    bool is = open && client_file_is_durable(open);
    struct finding *f =
        report_add(x->report, "durable", "durable handles", is ? DOCTOR_GOOD : DOCTOR_NOTE, "%s",
                   is       ? "asked for and granted"
                   : leased ? "asked for, and not granted"
                   : open   ? "not possible without a lease of the file that has HANDLE"
                            : "not possible: there are no leases of files");
    if (!is)
        finding_advise(f,
                       "a file that is open loses its locks when the connection is lost. On "
                       "Samba: kernel share modes = no, kernel oplocks = no, posix locking = no");
    finding_fact(f, "granted", json_boolean(is));
}

static void no_file_leases(struct exam *x)
{
    struct client_facts facts;
    client_facts(x->ours, &facts);
    struct finding *f = report_add(x->report, "file_leases", "leases of files", DOCTOR_NOTE,
                                   facts.dialect <= 0x0202 ? "SMB 2.0.2 has none"
                                                           : "the server does not offer them");
    finding_advise(f,
                   facts.dialect <= 0x0202
                       ? "allow a later dialect, on the server and here (vers=)"
                       : "what others write is seen late. On Samba: smb2 leases = yes, oplocks = "
                         "yes; on Windows: Set-SmbServerConfiguration -EnableLeasing $true");
    add_grant(f, false, 0);
    durable(x, NULL, false);
}

static void not_granted(struct exam *x, const char *key, const char *title, const char *of)
{
    struct finding *f =
        report_add(x->report, key, title, DOCTOR_NOTE, "offered, but not granted for this %s", of);
    finding_advise(f, "the share may forbid them (Samba: oplocks, level2 oplocks, kernel oplocks; "
                      "Windows: Set-SmbShare -LeasingMode Full)");
    add_grant(f, true, 0);
}

/* The one that is there, or one that was made for it; NULL after an error that was told. */
static struct client_file *open_leased(struct exam *x, struct client_lease_ask *ask)
{
    const bool makes = x->dir;
    const struct client_how how = {
        .access = makes ? FILE_READ_DATA | FILE_WRITE_DATA : FILE_READ_DATA,
        .share = FILE_SHARE_ALL,
        .disposition = makes ? FILE_CREATE : FILE_OPEN,
        .options = FILE_NON_DIRECTORY_FILE,
        .lease = ask,
    };
    struct client_file *f = NULL;
    struct file_attr attr;
    struct error err = {0};
    char *path = exam_path(x, makes ? lease_file : x->sample.file);
    if (path && client_create(x->ours, path, &how, &f, &attr, NULL, &err) < 0)
        report_add(x->report, "file_leases", "leases of files", DOCTOR_UNTRIED, "%s", err.text);
    free(path);
    return f;
}

static void break_file(struct exam *x, struct heard *h, unsigned state)
{
    static const char title[] = "leases of files";
    struct error err = {0};
    char text[32];
    struct finding *f;
    if (state == 0) {
        not_granted(x, "file_leases", title, "file");
        return;
    }
    uint64_t begun = clock_now();
    if (!x->dir)
        f = report_add(x->report, "file_leases", title, DOCTOR_UNTRIED,
                       "granted (%s); whether they are kept could not be tried: %s",
                       state_text(state, text), x->why_not);
    else if (exam_write(x, x->theirs, lease_file, &err) < 0)
        f = report_add(x->report, "file_leases", title, DOCTOR_UNTRIED, "granted (%s); %s",
                       state_text(state, text), err.text);
    else
        f = judge(x, "file_leases", title, h, state, begun, "another client wrote");
    add_grant(f, true, state);
}

void promises_files(struct exam *x)
{
    struct heard h = {0};
    if (!client_leases_files(x->ours)) {
        no_file_leases(x);
        return;
    }
    if (!x->dir && !*x->sample.file) {
        report_add(x->report, "file_leases", "leases of files", DOCTOR_UNTRIED,
                   "offered; there is no file here to ask one for, and none was made: %s",
                   x->why_not);
        return;
    }
    struct client_lease_ask ask = {
        .lease = client_lease_new(x->ours, false, &h),
        .state = CLIENT_LEASE_READ | CLIENT_LEASE_HANDLE | (x->dir ? CLIENT_LEASE_WRITE : 0),
    };
    struct client_file *open = ask.lease ? open_leased(x, &ask) : NULL;
    if (open) {
        break_file(x, &h, ask.ret_state);
        durable(x, open, ask.ret_state & CLIENT_LEASE_HANDLE);
        client_close(open, CLIENT_SINGLE, NULL, NULL);
    }
    client_lease_free(ask.lease);
}

/* ---- directories ---- */

static int ignore_entry(void *user, const char *name, size_t len, const struct file_attr *attr,
                        size_t wire_bytes)
{
    return exam_stopped(user) ? -ECANCELED : 0;
}

static void no_directory_leases(struct exam *x)
{
    struct client_facts facts;
    client_facts(x->ours, &facts);
    bool old = facts.dialect < 0x0300;
    struct finding *f = report_add(x->report, "directory_leases", "leases of dirs", DOCTOR_NOTE,
                                   old ? "they take SMB 3" : "the server does not offer them");
    finding_advise(f,
                   old ? "allow SMB 3, on the server and here (vers=)"
                       : "what others do in a directory is heard of by change notify at best. On "
                         "Samba 4.22 or later: smb3 directory leases = yes, and no clustering; on "
                         "Windows: Set-SmbServerConfiguration -EnableLeasing $true");
    add_grant(f, false, 0);
}

static void break_directory(struct exam *x, struct heard *h, unsigned state)
{
    static const char title[] = "leases of dirs", key[] = "directory_leases";
    struct error err = {0};
    char text[32];
    struct finding *f;
    if (state == 0) {
        not_granted(x, key, title, "directory");
        return;
    }
    uint64_t begun = clock_now();
    if (!x->dir)
        f = report_add(x->report, key, title, DOCTOR_UNTRIED,
                       "granted (%s); whether they are kept could not be tried: %s",
                       state_text(state, text), x->why_not);
    else if (exam_make(x, x->theirs, other_name, &err) < 0)
        f = report_add(x->report, key, title, DOCTOR_UNTRIED, "granted (%s); %s",
                       state_text(state, text), err.text);
    else
        f = judge(x, key, title, h, state, begun, "another client made a file");
    add_grant(f, true, state);
}

void promises_directories(struct exam *x)
{
    struct heard h = {0};
    struct client_file *open = NULL;
    struct client_list_result ignored;
    struct error err = {0};
    if (!client_leases_dirs(x->ours)) {
        no_directory_leases(x);
        return;
    }
    struct client_lease_ask ask = {
        .lease = client_lease_new(x->ours, true, &h),
        .state = CLIENT_LEASE_READ | CLIENT_LEASE_HANDLE,
    };
    int r = ask.lease ? client_list_leased(x->ours, x->dir ? x->dir : x->top, &ask, true,
                                           ignore_entry, x, &open, &ignored, &err)
                      : -ENOMEM;
    if (r < 0)
        report_add(x->report, "directory_leases", "leases of dirs", DOCTOR_UNTRIED, "%s", err.text);
    else
        break_directory(x, &h, open ? ask.ret_state : 0);
    if (open)
        client_close(open, CLIENT_SINGLE, NULL, NULL);
    client_lease_free(ask.lease);
}

/* ---- change notify ---- */

struct told {
    const char *path; /* of what is waited for, from the watched directory */
    bool seen;
};

static void hear(void *user, enum client_action action, const char *path)
{
    struct told *t = user;
    t->seen |= strcmp(path, t->path) == 0;
}

/* Until the watch told of it, or lost count, which tells as much. 0; -ETIMEDOUT; or the watch's
 * error. */
static int wait_for_notice(struct exam *x, struct client_watch *w, struct told *t,
                           struct error *err)
{
    uint64_t end = exam_patience(x);
    while (!t->seen && clock_now() < end && !exam_stopped(x)) {
        bool overflow = false;
        if (!client_watch_is_ready(w)) {
            nanosleep(&(struct timespec){.tv_nsec = (long)NS_PER_MS}, NULL);
            continue;
        }
        int r = client_watch_next(w, hear, t, &overflow, err);
        if (r < 0)
            return r;
        t->seen |= overflow;
    }
    return t->seen ? 0 : -ETIMEDOUT;
}

static void try_watch(struct exam *x, struct client_watch *w)
{
    static const char key[] = "change_notify", title[] = "change notify";
    struct error err = {0};
    struct finding *f;
    char *path = exam_path(x, told_name);
    size_t top = strlen(x->top);
    if (!path)
        return;
    struct told t = {.path = path + top + (top > 0)};
    uint64_t begun = clock_now();
    int r = exam_make(x, x->theirs, told_name, &err);
    if (r == 0)
        client_remove(x->theirs, path, false, NULL, CLIENT_COMPOUND, NULL);
    if (r < 0) {
        f = report_add(x->report, key, title, DOCTOR_UNTRIED, "accepted; %s", err.text);
    } else if ((r = wait_for_notice(x, w, &t, &err)) == 0) {
        double took = exam_ms(clock_now() - begun);
        f = report_add(x->report, key, title, DOCTOR_GOOD,
                       "accepted, and told %.1f ms after another client made a file", took);
        finding_fact(f, "notice_ms", json_real(took));
    } else if (exam_stopped(x)) {
        f = report_add(x->report, key, title, DOCTOR_UNTRIED,
                       "accepted; whether it tells was not tried to the end");
    } else {
        f = report_add(x->report, key, title, DOCTOR_WRONG, "%s",
                       r == -ETIMEDOUT ? "accepted, but nothing is ever told" : err.text);
        finding_advise(f,
                       "the server takes the question and does not answer: have it repaired, and "
                       "until then mount with Watches=0");
    }
    finding_fact(f, "accepted", json_true());
    finding_fact(f, "kept", json_boolean(f->state == DOCTOR_GOOD));
    free(path);
}

/* As a mount does: of all beneath the target. */
void promises_notify(struct exam *x)
{
    static const char key[] = "change_notify", title[] = "change notify";
    struct client_watch *w = NULL;
    struct error err = {0};
    struct finding *f;
    int r = client_watch_new(x->ours, x->top, true, &w, &err);
    x->tells = r == 0;
    if (r < 0) {
        struct client_facts facts;
        client_facts(x->ours, &facts);
        bool credits = facts.credits < 2;
        f = report_add(x->report, key, title, DOCTOR_NOTE, "%s",
                       r != -EOPNOTSUPP ? err.text
                       : credits        ? "the server grants too few credits for it"
                                        : "the server does not tell of changes");
        if (credits)
            finding_advise(f, "have the server grant more credits (Samba: smb2 max credits)");
        else
            finding_advise(f, "what others do is seen late. On Samba: change notify = yes (and "
                              "kernel change notify = yes for what is done on the server itself)");
        finding_fact(f, "accepted", json_false());
    } else if (!x->dir) {
        f = report_add(x->report, key, title, DOCTOR_UNTRIED,
                       "accepted; whether it tells could not be tried: %s", x->why_not);
        finding_fact(f, "accepted", json_true());
    } else {
        try_watch(x, w);
    }
    client_watch_free(w);
}
