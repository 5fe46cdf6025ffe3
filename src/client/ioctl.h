/* IOCTLs on opens. Private to this room. */
#ifndef LARDER_CLIENT_IOCTL_H
#define LARDER_CLIENT_IOCTL_H

#include "client/file.h"

struct ioctl {
    uint32_t code;
    struct rd input;
    uint32_t max_output;
    /* the answer, until ioctl_done */
    uint32_t status;
    struct rd output;    /* whatever the status is; empty where none came */
    struct frame *frame; /* which the output lies in */
};

void add_ioctl(struct compound *m, struct wire_file_id id, const struct ioctl *io);
/* Takes the answer at `i`; whether the server did it is in io->status. */
int ioctl_answered(const struct operation *op, struct compound *m, unsigned i, struct ioctl *io);
/* By itself, waited for. 0: there is an answer. */
int ioctl_run(const struct operation *op, struct handle *h, struct ioctl *io);
/* Harmless where nothing was answered. */
void ioctl_done(struct ioctl *io);

#endif
