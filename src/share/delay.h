/*
 * Delayed writing: what is written under a WRITE lease is the server's later, before anybody else
 * can see that it was not.
 *
 * Data of a file waits in pieces of DELAY_PIECE; adjoining writes become one request, and several
 * requests are under way at once. At most DELAY_MAX bytes a file and DELAY_ALL bytes a share wait
 * (the writer waits for room then), and for at most the setting WriteDelay. All of it is written
 * before: a read of the file, its attributes or a change of them asked of the server, a listing of
 * its directory, fsync, the close of an open that wrote it, another open, a lock, a copy, a change
 * of its name, and the acknowledgement of the break that takes the lease. What cannot be written is
 * told to each open that may write (whoever wrote: the kernel writes a mapping by any of them): by
 * every flush (close(2)) of it, until a write or fsync was told; and share_lost_data names it. A
 * flush takes nothing away, since it may be of a descriptor that nobody looks at: a program that is
 * started inherits one and closes it as it begins.
 *
 * Only opens with SHARE_DELAY delay. Nothing is delayed while `late` waits to be reported.
 */
#ifndef LARDER_SHARE_DELAY_H
#define LARDER_SHARE_DELAY_H

#include "share/opens.h"

#define DELAY_PIECE (1u << 20)
#define DELAY_MAX   (8 * DELAY_PIECE)
#define DELAY_ALL   (8 * DELAY_MAX)

/* Takes bytes over, from the start: how many. The others have to be written now, once delay_flush
 * has returned: no WRITE lease, a write so long that it is as fast without, an error to report, no
 * memory. Waits for room. */
size_t delay_write(struct share *s, struct share_file *f, const void *buf, size_t len,
                   uint64_t offset);
/* Everything of this file that is delayed is the server's when it returns; 0 or the last error
 * (which it does not take: delay_error does). Without a request where nothing is. */
int delay_flush(struct share *s, struct cache_file *file);
/* The same with the lock, not while it waits; `file` may be NULL. */
int delay_settle(struct share *s, struct cache_file *file);
/* The same of all files whose attributes a listing of `dir` would tell. */
void delay_settle_in(struct share *s, const struct cache_file *dir);
/* The error that is `f`'s to report; 0: none. For a flush: it stays. */
int delay_error(struct share *s, struct share_file *f);
/* The same for a write, once; fsync is told all the same. */
int delay_write_error(struct share *s, struct share_file *f);
/* The same for fsync, once for all; also where a write, perhaps of another process, was told. */
int delay_sync_error(struct share *s, struct share_file *f);
/* Whether anything of it waits. With the lock. */
bool delay_pending(const struct share *s, const struct cache_file *file);
/* Bytes that wait or are under way, of all files. With the lock. */
uint64_t delay_waiting(const struct share *s);

void delays_init(struct share *s);
/* Nothing is open any more. */
void delays_done(struct share *s);

#endif
