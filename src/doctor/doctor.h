/*
 * What a server and a share can do, tried rather than believed, and what a mount of it will have of
 * that: `larder doctor`.
 *
 * What can only be tried by changing something is tried in a directory that is made for it in the
 * target's path, DOCTOR_PREFIX and a random number, with two connections: what is done on the one,
 * the other has to hear of. It is removed whatever happens; nothing else is touched.
 */
#ifndef LARDER_DOCTOR_DOCTOR_H
#define LARDER_DOCTOR_DOCTOR_H

#include <jansson.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#include "share/options.h"

#define DOCTOR_PREFIX ".larder-doctor-"

struct doctor_report;

struct doctor_options {
    const struct share_options *share; /* borrowed, as is all here */
    bool read_only;                    /* nothing is made */
    uint64_t patience_ns;   /* so long is waited for what the server has promised to tell; 0: 3 s */
    const atomic_int *stop; /* not 0: it is to end soon; what was made is removed all the same */
    atomic_bool *made;      /* true as long as something of ours may be on the share */
    void (*step)(void *user, const char *what); /* "leases of files": it is being tried */
    void *user;
};

/* 0 also where nothing worked: the report says so. -ENOMEM, or -EINVAL where the options cannot be
 * meant together, or -EINTR: it was stopped, and nothing of ours is left. */
int doctor_run(const struct doctor_options *options, struct doctor_report **ret, struct error *err);
/* Returns NULL. NULL is allowed. */
struct doctor_report *doctor_report_free(struct doctor_report *r);

/* Nothing is wrong: the server keeps what it promises, and can be used. What it merely does not
 * have is in the report, and no fault. */
bool doctor_well(const struct doctor_report *r);
/* For people. 0, -ENOMEM or -EIO. */
int doctor_print(const struct doctor_report *r, FILE *out);
/* {"target", "user", "well", "findings": {KEY: {"state": "good", "note", "wrong" or "untried",
 * "text", "advice", and figures of its own}}, "promises": {"directories", "files": "lease", "watch"
 * or "time"}}. To be decref'd. */
json_t *doctor_json(const struct doctor_report *r);

#endif
