/*
 * How far copying is, as one line on a terminal that is written anew four times a second: share of
 * the bytes, bytes, rate, time left, and the file at hand. On anything but a terminal there is
 * none.
 */
#ifndef LARDER_CLI_PROGRESS_H
#define LARDER_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress_state {
    uint64_t files, bytes; /* done */
    uint64_t total;        /* bytes known to be copied in all */
    bool total_final;      /* no more will come to it */
    char name[64];         /* the last file begun; "" for none yet */
};

struct progress;
/* `state` is called from the progress' own thread. NULL where there is no terminal to show it,
 * which all functions here take. */
struct progress *progress_new(void (*state)(void *user, struct progress_state *ret), void *user);
/* The line is gone until the next progress_show: in between others may print. */
void progress_hide(struct progress *p);
void progress_show(struct progress *p);
/* Ends the thread and takes the line away. Returns NULL. */
struct progress *progress_free(struct progress *p);

/* "1.4 GiB" into `buf`, which is returned. */
#define PROGRESS_BYTES 24
const char *progress_bytes(char buf[static PROGRESS_BYTES], double bytes);

#endif
