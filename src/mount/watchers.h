/*
 * Which directories of this mount are watched by local inotify, and the server's word on each.
 *
 * The kernel does not tell a file system that somebody watches it; /proc does: the fdinfo of an
 * inotify descriptor names the node of each of its watches. So a thread looks through the processes
 * that it may look at (those of its own user; all, as root), has the server tell of the directories
 * that are found (share_watch_dir), and gives back those that nobody watches any more. For a
 * watched file that is the directory it is in.
 *
 * What that costs is bounded. A process with an inotify descriptor, or younger than ten seconds, is
 * looked at in each round; any other, in case it makes its first one late, every two seconds while
 * the kernel has asked us anything within a minute, else every quarter of one. Where no process
 * was born since the last round, not even the list of them is read. A round is half a second after
 * the last where anything is watched, else a second; and never sooner than fifty times what the
 * last one took, so that it takes two in a hundred of one processor at most, however much there is
 * to look through.
 *
 * SHARE_WATCHES_MAX directories have a watch of their own; those over that ride on the tree-wide
 * one (share_watch_dir) or, where there is none, are told of by nobody, which is counted, and said
 * once.
 */
#ifndef LARDER_MOUNT_WATCHERS_H
#define LARDER_MOUNT_WATCHERS_H

#include <jansson.h>

struct raiser;
struct mount;
struct watchers;

/* `raiser` hears what the server tells, until watchers_stop. NULL: out of memory. */
struct watchers *watchers_new(struct mount *m, struct raiser *raiser);
/* The thread, once the mount stands. A negative errno. */
int watchers_start(struct watchers *w);
/* Ends it, and all that is told. NULL is allowed, here and below. */
void watchers_stop(struct watchers *w);
/* Once nobody calls watchers_json any more. Returns NULL. */
struct watchers *watchers_free(struct watchers *w);
/* {"watched": directories that somebody watches, "told": of them those that the server tells of,
 * "riding": of these those without a watch of their own} */
json_t *watchers_json(struct watchers *w);

#endif
