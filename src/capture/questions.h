/* All that is asked about one capture's client had it been another one: its what-ifs and sweeps,
 * answered by one replay. */
#ifndef LARDER_CAPTURE_QUESTIONS_H
#define LARDER_CAPTURE_QUESTIONS_H

#include <jansson.h>
#include <stdio.h>

#include "capture/sweep.h"
#include "capture/whatif.h"
#include "report/report.h"

#define QUESTIONS_MAX 16 /* of each kind */

/* What is asked, borrowed: "PROFILE[:Setting=value,...]", and names of settings. */
struct questions_asked {
    const char *what_if[QUESTIONS_MAX], *sweep[QUESTIONS_MAX];
    size_t what_ifs, sweeps;
};

/* Sweeps go by the settings of the first what-if, else of 23h2. -ENOENT and -EINVAL for what cannot
 * be asked, -ENOMEM; with err. */
struct questions;
int questions_new(const struct questions_asked *asked, struct questions **ret, struct error *err);
struct questions *questions_free(struct questions *q);

/* For analyze's events. */
void questions_operation(struct questions *q, const struct operation *o);
void questions_share_left(struct questions *q, const struct smb_share *share);
void questions_finish(struct questions *q);

/* 0 or a negative errno. */
int questions_print(const struct questions *q, FILE *out, enum report_format format);
/* Appends to "what_if" and "sweep", each with the capture's file. */
void questions_json(const struct questions *q, const char *file, json_t *what_ifs, json_t *sweeps);

#endif
