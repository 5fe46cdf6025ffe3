/* One examination, and what its parts find. Private to this room. */
#ifndef LARDER_DOCTOR_EXAM_H
#define LARDER_DOCTOR_EXAM_H

#include <pthread.h>

#include "base/clock.h"
#include "client/client.h"
#include "doctor/doctor.h"
#include "observe/observe.h"

#define EXAM_NAMES 24

/* ---- report.c: what is found ---- */

enum doctor_state {
    DOCTOR_GOOD,
    DOCTOR_NOTE,    /* it could be better */
    DOCTOR_WRONG,   /* it does not work, or not as it is said to */
    DOCTOR_UNTRIED, /* nobody knows: it says why */
};

struct finding {
    const char *key, *title;
    enum doctor_state state;
    char text[320];
    char advice[400]; /* "": none */
    json_t *facts;
};

struct doctor_report *report_new(const struct share_options *o);
/* Never NULL: where there is no more room, the last one is written anew. */
struct finding *report_add(struct doctor_report *r, const char *key, const char *title,
                           enum doctor_state state, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void finding_advise(struct finding *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Takes `value` over. */
void finding_fact(struct finding *f, const char *name, json_t *value);
void report_user(struct doctor_report *r, const char *user);
/* "lease", "watch" or "time", of "directories" or "files". */
void report_promise(struct doctor_report *r, const char *of, const char *trust);

/* ---- doctor.c: what the parts work with ---- */

/* Something that the server promised to tell us of a break of. */
struct heard {
    bool broken; /* protected by exam->lock */
    uint64_t at;
};

/* What a listing of the target showed, for what is tried without making anything. */
struct sample {
    char file[CLIENT_NAME_MAX];     /* a file; "": there is none */
    char lettered[CLIENT_NAME_MAX]; /* a name with a letter that has another case; "": none */
};

struct exam {
    const struct doctor_options *options;
    const struct share_options *share;
    struct doctor_report *report;
    struct observe *observe; /* of `ours` */
    struct observe *aside;
    struct client_keylog *keylog;
    struct client *ours, *theirs; /* what `theirs` does, `ours` is to hear of */
    const char *top;              /* the target's path in the share */
    char *dir;                    /* what we made; NULL: nothing could be */
    char why_not[200];            /* why nothing could be made */
    char *name[EXAM_NAMES];       /* of the files that were to be made there */
    size_t name_count;
    struct sample sample;
    bool tells; /* the server took a watch */
    pthread_mutex_t lock;
    pthread_cond_t changed; /* something was heard, by the monotonic clock */
};

/* It is to end, or a connection was lost: there is nothing more to try. */
bool exam_stopped(const struct exam *x);
/* Until when to wait for what the server has promised to tell. */
uint64_t exam_patience(const struct exam *x);
void exam_step(const struct exam *x, const char *what);
/* Waits until `h` was broken. False: not in time, or stopped. */
bool exam_hears(struct exam *x, struct heard *h);
/* A path in the directory that we made, or in the target's; to be freed. NULL: out of memory. */
char *exam_path(const struct exam *x, const char *name);
/* Makes an empty file there, or fails. A new name each time. */
int exam_make(struct exam *x, struct client *by, const char *name, struct error *err);
/* Opens a file there and writes a byte to it. */
int exam_write(struct exam *x, struct client *by, const char *name, struct error *err);
static inline double exam_ms(uint64_t ns)
{
    return (double)ns / NS_PER_MS;
}

/* ---- the parts, each of which adds what it finds ---- */

/* connection.c. False: the server cannot be reached. */
bool connection_reach(struct exam *x, const struct client_options *options);
void connection_facts(struct exam *x);
void connection_listing(struct exam *x);
void connection_space(struct exam *x);
/* promises.c */
void promises_files(struct exam *x);
void promises_directories(struct exam *x);
void promises_notify(struct exam *x);
/* names.c */
void names_case(struct exam *x);
void names_rules(struct exam *x);
/* outlook.c: what a mount would have. */
void outlook(struct exam *x);

#endif
