/*
 * What is open here: one `struct opened` per file with at least one open, which finds all opens of
 * a file (a write by one makes what came along with the others old; a name that is removed may not
 * take the data away from those who have it open) and holds its byte-range locks.
 *
 * While this mount holds locks on the server they belong to one open of the file, and all data goes
 * through that one (locks.h). It may be closed by its program before: then it stays, `closed`,
 * until the locks are gone.
 *
 * A CLOSE of an open that wrote tells the file's last attributes. Nobody waits for it; it stands in
 * share->closings until its reply is in, and who asks for the attributes of that file meanwhile
 * waits for that reply rather than send a request.
 */
#ifndef LARDER_SHARE_OPENS_H
#define LARDER_SHARE_OPENS_H

#include "share/promise.h"

struct opened {
    struct hash_node by_file; /* in share->opened, by the file's serial; protected by share->lock */
    struct cache_file *file;  /* a reference; constant */
    struct list files;        /* struct share_file; protected by share->lock */
    unsigned hidden;          /* names that it has lost since; protected by share->lock */
    bool writable;            /* one of its opens could write it; protected by share->lock */
    struct locks *locks;      /* NULL: none were ever asked for. Protected by share->lock */
};

struct share_file {
    struct list link;         /* in opened->files; protected by share->lock */
    struct opened *opened;    /* constant while it stands in the list; NULL: not in one */
    struct cache_file *file;  /* a reference, from then on; constant */
    struct client_file *open; /* constant */
    unsigned how;             /* constant: SHARE_READ, SHARE_WRITE */
    struct promise *promise;  /* that it holds; NULL: none. Protected by share->lock */
    bool delays;              /* constant: SHARE_DELAY */
    int late, late_sync;      /* an error of what it delayed, to be reported, and what fsync(2) has
                                 still to report, whoever else was told; under share->lock */
    bool wrote;               /* protected by share->lock */
    bool must_close;          /* its CLOSE lets go of locks, of a removed file, or of old times:
                                 protected by share->lock */
    bool unhides;             /* its CLOSE, the last one, ends the file's hidden names; as above */
    bool closed;              /* share_close was called; protected by share->lock */
    unsigned users;           /* requests by it under way; protected by share->lock */

    pthread_mutex_t lock; /* innermost */
    uint8_t *first;       /* protected by lock; NULL: nothing kept of what came with the open */
    size_t first_len;     /* constant while first is */
    size_t first_read;    /* protected by lock: read so far, from the start */
    bool first_is_all;    /* the file ended there */
    uint64_t first_until; /* not used after */
};

/* With share->lock. The file's entry is made where it has none. -ENOMEM. */
int opens_add(struct share *s, struct share_file *f, struct cache_file *file);
/* Any open of this file that a program has, NULL: none. */
struct share_file *opens_find(const struct share *s, const struct cache_file *file);
/* The open that data of `f` has to go through for this (SHARE_READ or SHARE_WRITE): the holder of
 * the file's locks where there is one, else `f` itself. It stays until opens_io_end. share->lock
 * not held. */
struct share_file *opens_io_begin(struct share *s, struct share_file *f, unsigned need);
void opens_io_end(struct share *s, struct share_file *f);
/* Moves the opens of this file that are closed and that nothing keeps any more to *ret (a list
 * head); the last one takes the entry along. With share->lock; share_finish_closes gets them
 * without. */
void opens_sweep(struct share *s, struct opened *o, struct list *ret);
void share_finish_closes(struct share *s, struct list *closed);
/* One more open of the same file for reading and writing, which no program has: it is `closed` from
 * the beginning and goes when its user is done and it holds no locks. Made a user of it, until
 * opens_io_end. share->lock not held. */
int share_open_beside(struct share *s, struct share_file *f, struct share_file **ret);
/* Other opens than `but` (may be NULL) by which the file was written, as many as there is room for:
 * each stays until opens_io_end. share->lock not held. */
size_t opens_that_wrote(struct share *s, const struct cache_file *file,
                        const struct share_file *but, struct share_file *ret[], size_t room);
/* With share->lock: one more of its names is a hidden one now. */
void opens_hidden(struct share *s, const struct cache_file *file);
/* By this open the file was changed: what others read along with their open is old. */
void opens_changed(struct share *s, struct share_file *by);

/* The file was changed by this open, and nobody knows its attributes now. With share->lock. */
void share_changed_by(struct share *s, struct share_file *f);
/* share_write, not delayed. share->lock not held. */
int64_t share_write_now(struct share *s, struct share_file *f, const void *buf, size_t len,
                        uint64_t offset, struct error *err);

/* ---- closes whose replies tell the last attributes; share->lock not held ---- */

/* Frees `open`. */
void closings_begin(struct share *s, struct cache_file *file, struct client_file *open);
/* Those of this file that are under way are waited for, and what they tell is believed. With
 * share->lock on entry and exit, not while it waits. */
void closings_settle(struct share *s, const struct cache_file *file);
/* All of them, before the connection ends. */
void closings_done(struct share *s);

#endif
