/* One capture from its file to its analysis: packets, segments, records, messages, operations. */
#ifndef LARDER_CAPTURE_ANALYZE_H
#define LARDER_CAPTURE_ANALYZE_H

#include <signal.h>

#include "capture/analysis.h"

struct analyze_progress {
    uint64_t packets;
    uint64_t done, all; /* bytes of the file; all 0: not known */
};

struct analyze_options {
    const uint16_t *ports; /* NULL: 445 and 139 */
    size_t port_count;
    bool any_port;
    const struct keyring *keys; /* NULL: none */
    unsigned live_seconds;      /* not 0: the path is an interface, listened to for so long */
    const volatile sig_atomic_t
        *live_end; /* or until a signal's handler sets it; NULL: nobody does */

    /* Who else wants the operations (a what-if); NULL: nobody. */
    void (*operation)(void *user, const struct operation *o);
    /* And that a client has logged off from a share, after its last operation; NULL: nobody. */
    void (*share_left)(void *user, const struct smb_share *share);
    /* Called now and then, and at the end with done = all; NULL: not. */
    void (*progress)(void *user, const struct analyze_progress *p);
    void *user;
};

/* "-" is standard input. 0 with *ret finished, also where the file ends early (told in it); or the
 * negative errno of a file that cannot be read at all. */
int analyze(const char *path, const struct analyze_options *options, struct analysis **ret,
            struct error *err);

#endif
