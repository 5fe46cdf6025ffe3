/*
 * What others change becomes inotify events, in the order in which the server told it.
 *
 * Notices come from share/'s thread into a queue; a thread of ours takes them out one by one, asks
 * the server what a name leads to now where that is needed, and has the helper repeat the change
 * (selfop.h). The queue is bounded: what does not fit is dropped and counted. Events are then
 * missing, but no answer is wrong, since the kernel is told to forget by another way.
 *
 * A name that came and is gone again by the time that it is looked at is raised all the same, as a
 * file. One change of a file is told by any number of modifications, or after a renaming by one
 * more than there were; those that find it in the state that was raised last are left out.
 */
#ifndef LARDER_MOUNT_RAISER_H
#define LARDER_MOUNT_RAISER_H

#include <jansson.h>
#include <stdbool.h>

#include "mount/fuse.h"
#include "share/share.h"

struct mount;
struct raiser;

/* Before the session opens /dev/fuse: forks the helper. A negative errno. */
int raiser_new(struct mount *m, struct raiser **ret);
/* The thread, once the mount stands. */
int raiser_start(struct raiser *e);
/* Ends the thread; nothing may be heard any more. `abort` is called where it waits in the kernel
 * for a call that nobody will answer, and has to free it. NULL is allowed, here and below. */
void raiser_stop(struct raiser *e, void (*abort)(void *user), void *user);
/* Once the session is gone, since the helper may have waited for it. Returns NULL. */
struct raiser *raiser_free(struct raiser *e);

/* share_notice_fn's work: O(1). Whether the notice's node was taken. */
bool raiser_hear(struct raiser *e, fuse_ino_t dir, const struct share_notice *notice);

/* {"raised": {create, ...}, "dropped", "failed"} */
json_t *raiser_json(struct raiser *e);

#endif
