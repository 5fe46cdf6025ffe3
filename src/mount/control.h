/*
 * Asking a live mount: a Unix socket per mount, one line there, one JSON object back. The line is a
 * request, and where it has one a blank and an argument, whose bytes may be any: all but ASCII
 * letters, digits and `-._/` are sent as %XX.
 *
 * The socket is named by the mount's device number (0:52), so that it is found through the table of
 * mounts without touching a mount that hangs. It stands in a directory of the mounting user's own:
 * /run/larder-0 for root, $XDG_RUNTIME_DIR/larder for others, /tmp/larder-UID where there is none.
 * Both are private (0700, 0600), and each side checks the other's uid: the mounting user
 * and root may ask, nobody else may answer.
 *
 * Requests: "stats"; "explain" and "drop" with a path beneath the mounted directory ("": itself).
 */
#ifndef LARDER_MOUNT_CONTROL_H
#define LARDER_MOUNT_CONTROL_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct control;

/* What the mount does for the socket's thread. All run on that thread and do not wait for long. */
struct control_calls {
    /* `argument`: decoded, "" where there is none. NULL: an unknown request; a member "error" is
     * why it was refused. */
    json_t *(*answer)(void *user, const char *request, const char *argument);
    void (*tick)(void *user);  /* every CONTROL_TICK_S seconds, and by control_wake_tick */
    bool (*stop)(void *user);  /* control_wake_stop was called; true: call again soon */
    bool (*watch)(void *user); /* the same of control_wake_watch, less soon */
    void *user;
};
#define CONTROL_TICK_S 10

#define CONTROL_LINE_MAX (64 + 3 * PATH_MAX) /* of a request */

/* Starts the thread. Where no socket can be had the rest works, and `ret_warning` has the reason.
 */
int control_start(const unsigned device[2], const struct control_calls *calls, struct control **ret,
                  struct error *ret_warning, struct error *err);
/* Has the thread call `stop`. Async-signal-safe. */
void control_wake_stop(struct control *c);
/* Has the thread call `watch`. From any thread. */
void control_wake_watch(struct control *c);
/* Has the thread call `tick` now. From any thread; does not block. */
void control_wake_tick(struct control *c);
/* Ends the thread and removes the socket. Returns NULL; NULL is allowed. */
struct control *control_free(struct control *c);

/* ---- the other side ---- */

/* Asks the mount at this path; `argument` may be NULL. Waits a few seconds at most. The reply is to
 * be decref'd. */
int control_query(const char *mountpoint, const char *request, const char *argument, json_t **ret,
                  struct error *err);
/* The process that serves the mount; -ECONNREFUSED where it is gone. */
int control_pid(const char *mountpoint, pid_t *ret, struct error *err);
/* Removes the sockets that dead larders of this user left behind. */
void control_clear(uid_t owner);

#endif
