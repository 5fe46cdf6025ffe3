/*
 * What a mount with these options will have: not a second opinion, but the share that a mount is
 * made of, asked what it believes and why (share_explain), and then whether it hears of what
 * another client does.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "doctor/exam.h"
#include "share/share.h"

static const char seen_file[] = "seen", new_file[] = "new";

/* A watch is armed on a thread of the share's own, and counts for what is asked from then on. */
#define WATCH_WAIT (2 * NS_PER_SEC)

struct view {
    struct exam *x;
    struct share *share;
    char *dir, *file, *missing; /* paths as the share has them; file NULL: there is none */
};

static void pause_ms(unsigned ms)
{
    nanosleep(&(struct timespec){.tv_nsec = (long)(ms * NS_PER_MS)}, NULL);
}

/* The belief `which` about a path: its trust, while it answers. False: it does not. */
static bool believes(const struct view *v, const char *path, const char *which, char trust[16],
                     double *ret_valid_s)
{
    json_t *all;
    if (share_explain(v->share, path, &all, NULL) < 0)
        return false;
    const json_t *b = json_object_get(json_object_get(all, "beliefs"), which);
    bool answers = json_is_true(json_object_get(b, "answers"));
    const char *name = json_string_value(json_object_get(b, "trust"));
    if (answers && name) {
        snprintf(trust, 16, "%s", name);
        *ret_valid_s = json_number_value(json_object_get(b, "valid_s"));
    }
    json_decref(all);
    return answers && name;
}

static bool knows_missing(const struct view *v, const char *path)
{
    json_t *all;
    if (share_explain(v->share, path, &all, NULL) < 0)
        return false;
    const char *kind = json_string_value(json_object_get(all, "kind"));
    bool is = kind && strcmp(kind, "missing") == 0;
    json_decref(all);
    return is;
}

/* ---- directories ---- */

static int list(struct view *v, struct error *err)
{
    struct share_listing *l;
    int r = share_list_path(v->share, v->dir, &l, err);
    if (r == 0)
        share_listing_free(v->share, l);
    return r;
}

/* Lists until the best trust is there that there will be. */
static int list_believed(struct view *v, char trust[16], double *valid_s, struct error *err)
{
    bool watches = v->x->share->settings.watches && v->x->tells;
    uint64_t end = clock_now() + (watches ? WATCH_WAIT : 0);
    for (;;) {
        json_t *dropped;
        int r = list(v, err);
        if (r < 0)
            return r;
        bool does = believes(v, v->dir, "listing", trust, valid_s);
        if (!does)
            strcpy(trust, "nothing");
        if ((does && strcmp(trust, "time") != 0) || clock_now() > end || exam_stopped(v->x))
            return 0;
        pause_ms(20);
        if (share_drop(v->share, "", &dropped, NULL) == 0)
            json_decref(dropped);
    }
}

/* Whether the share knows better soon after another client made a file. */
static bool hears_of_new(struct view *v)
{
    uint64_t end = exam_patience(v->x);
    if (!knows_missing(v, v->missing) || exam_make(v->x, v->x->theirs, new_file, NULL) < 0)
        return true; /* there is nothing to be told of */
    while (knows_missing(v, v->missing) && clock_now() < end && !exam_stopped(v->x))
        pause_ms(5);
    return !knows_missing(v, v->missing) || exam_stopped(v->x);
}

static const char *of_directories(const char *trust, double valid_s, char out[static 200])
{
    if (strcmp(trust, "lease") == 0)
        return "by lease: what others do is seen at once, and nothing is asked while nothing "
               "changes";
    if (strcmp(trust, "watch") == 0)
        return "by watch: what others do is seen as soon as the server tells, and nothing is asked "
               "while nothing changes";
    if (strcmp(trust, "time") == 0)
        snprintf(out, 200, "by time: what others do is seen up to %.0f s late", valid_s);
    else
        snprintf(out, 200, "nothing is believed: each look-up asks the server");
    return out;
}

static void advise_time(struct finding *f, const struct exam *x, const char *wanted)
{
    if (!x->share->settings.leases && !x->share->settings.watches)
        finding_advise(f, "these options switch leases and watches off: profile=larder has both");
    else
        finding_advise(f,
                       "the server gives no %s (see there); where it matters that changes of "
                       "others are seen sooner, shorten actimeo=SECONDS",
                       wanted);
}

static void directories(struct view *v)
{
    static const char key[] = "mount_directories", title[] = "a mount: dirs";
    char trust[16] = "nothing", text[200];
    double valid_s = 0;
    struct error err = {0};
    struct finding *f;
    if (list_believed(v, trust, &valid_s, &err) < 0) {
        report_add(v->x->report, key, title, DOCTOR_UNTRIED, "%s", err.text);
        return;
    }
    const char *says = of_directories(trust, valid_s, text);
    bool promised = strcmp(trust, "lease") == 0 || strcmp(trust, "watch") == 0;
    if (promised && v->x->dir && !hears_of_new(v)) {
        f = report_add(v->x->report, key, title, DOCTOR_WRONG,
                       "by %s, but a file that another client made is not seen", trust);
        finding_advise(f, "mount with Leases=0,Watches=0 until the server is repaired");
    } else {
        f = report_add(v->x->report, key, title, promised ? DOCTOR_GOOD : DOCTOR_NOTE, "%s", says);
        if (!promised)
            advise_time(f, v->x, "leases of directories and no change notify");
    }
    report_promise(v->x->report, "directories", trust);
}

/* ---- files ---- */

static int read_once(struct view *v, struct error *err)
{
    struct share_file *file;
    struct share_entry entry = {0};
    char byte;
    int r = share_open_path(v->share, v->file, &file, &entry, err);
    if (r < 0)
        return r;
    int64_t n = share_read(v->share, file, &byte, 1, 0, err);
    share_close(v->share, file);
    if (entry.node)
        share_node_unref(v->share, entry.node);
    return n < 0 ? (int)n : 0;
}

static bool hears_of_written(struct view *v)
{
    char trust[16];
    double valid_s;
    uint64_t end = exam_patience(v->x);
    if (exam_write(v->x, v->x->theirs, seen_file, NULL) < 0)
        return true;
    while (believes(v, v->file, "info", trust, &valid_s) && strcmp(trust, "lease") == 0 &&
           clock_now() < end && !exam_stopped(v->x))
        pause_ms(5);
    return !believes(v, v->file, "info", trust, &valid_s) || strcmp(trust, "lease") != 0 ||
           exam_stopped(v->x);
}

static void files(struct view *v)
{
    static const char key[] = "mount_files", title[] = "a mount: files";
    char trust[16] = "nothing";
    double valid_s = 0;
    struct error err = {0};
    struct finding *f;
    if (!v->file) {
        report_add(v->x->report, key, title, DOCTOR_UNTRIED,
                   "there is no file here, and none was made: %s", v->x->why_not);
        return;
    }
    if (read_once(v, &err) < 0) {
        report_add(v->x->report, key, title, DOCTOR_UNTRIED, "%s", err.text);
        return;
    }
    bool does = believes(v, v->file, "info", trust, &valid_s);
    bool promised = does && strcmp(trust, "lease") == 0;
    if (promised && v->x->dir && !hears_of_written(v)) {
        f = report_add(v->x->report, key, title, DOCTOR_WRONG,
                       "by lease, but what another client wrote is not seen");
        finding_advise(f, "mount with Leases=0 until the server is repaired");
    } else if (promised) {
        f = report_add(v->x->report, key, title, DOCTOR_GOOD,
                       "by lease once they were opened: what others write is seen at once. Of "
                       "others, size and time may be %u s old",
                       v->x->share->settings.file_info_cache_lifetime);
    } else if (does) {
        f = report_add(v->x->report, key, title, DOCTOR_NOTE,
                       "by %s: what others write is seen up to %.0f s late", trust, valid_s);
        advise_time(f, v->x, "leases of files");
    } else {
        f = report_add(v->x->report, key, title, DOCTOR_NOTE,
                       "nothing is believed: each question goes to the server");
        advise_time(f, v->x, "leases of files");
    }
    report_promise(v->x->report, "files", trust);
}

/* ---- both ---- */

static char *below(const char *dir, const char *name)
{
    char *path;
    return asprintf(&path, "%s%s%s", dir, *dir ? "/" : "", name) < 0 ? NULL : path;
}

/* The share stands at the target's path; what we made is beneath it. */
static bool name_paths(struct view *v)
{
    const struct exam *x = v->x;
    size_t top = strlen(x->top);
    v->dir = strdup(x->dir ? x->dir + top + (top > 0) : "");
    if (!v->dir)
        return false;
    v->missing = below(v->dir, new_file);
    const char *file = x->dir ? seen_file : x->sample.file;
    v->file = *file ? below(v->dir, file) : NULL;
    return v->missing && (v->file || !*file);
}

void outlook(struct exam *x)
{
    static const char key[] = "mount", title[] = "a mount";
    struct view v = {.x = x};
    struct error err = {.text = "out of memory"};
    struct finding *f;
    bool ok = name_paths(&v);
    if (ok && x->dir)
        ok = exam_make(x, x->theirs, seen_file, &err) == 0;
    if (ok)
        ok = share_connect(x->share, &v.share, &err) == 0;
    if (ok) {
        f = report_add(x->report, key, title, DOCTOR_GOOD, "profile %s%s",
                       x->share->settings.profile, x->dir ? "" : "; nothing of it could be tried");
        finding_fact(f, "profile", json_string(x->share->settings.profile));
        directories(&v);
        files(&v);
        share_free(v.share, NULL);
    } else {
        report_add(x->report, key, title, DOCTOR_UNTRIED, "%s", err.text);
    }
    free(v.dir);
    free(v.file);
    free(v.missing);
}
