/*
 * Delayed writing: what is written under a WRITE lease is the server's later, before anybody else
 * can see that it was not.
 *
 * Data of a file waits in pieces of the largest WRITE; adjoining writes become one request, and
 * several requests are under way at once. At most DELAY_MAX bytes a file wait (the writer waits for
 * room then), and for at most DELAY_NS. All of it is written before: a read of the file, its
 * attributes or a change of them asked of the server, fsync, the close of an open that wrote it, a
 * lock, a copy, and the acknowledgement of the break that takes the lease. An error of a delayed
 * write is the next result of the file: of write, fsync or flush (close(2)), once to each open that
 * wrote.
 */
#ifndef LARDER_SHARE_DELAY_H
#define LARDER_SHARE_DELAY_H

#include "share/opens.h"

#define DELAY_MAX (8u << 20)
#define DELAY_NS  NS_PER_SEC

/* Takes `len` bytes over, or says that they have to be written now (false): no WRITE lease, no
 * memory. *ret_error: an error of data that was delayed before, nothing is taken then. */
bool delay_write(struct share *s, struct share_file *f, const void *buf, size_t len,
                 uint64_t offset, int *ret_error);
/* Everything of this file that is delayed is the server's when it returns; 0 or the first error
 * (which it does not take: delay_error does). Not with the lock. */
int delay_flush(struct share *s, struct cache_file *file);
/* The error that is `f`'s to report, once; 0: none. */
int delay_error(struct share *s, struct share_file *f);
/* Whether anything of it waits. With the lock. */
bool delay_pending(const struct share *s, const struct cache_file *file);
/* The size that the file has with what waits: at least this. With the lock. */
uint64_t delay_size(const struct share *s, const struct cache_file *file);

void delays_init(struct share *s);
void delays_done(struct share *s);

#endif
