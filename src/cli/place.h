/*
 * A file or a directory here or on a share, under one set of calls, so that copying is written once
 * for every direction. All results are 0 or a negative errno with one line in `err`, which is never
 * NULL. Any number of threads, but for one file's close.
 */
#ifndef LARDER_CLI_PLACE_H
#define LARDER_CLI_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "larder/larder.h"

struct place {
    struct larder *l; /* borrowed; NULL: this machine */
    const char *path; /* borrowed; on a share relative to its top */
};

/* Of a file here the same is told as of one on a share; what is neither file, directory nor link,
 * and an open file whose size says nothing (/proc), has this attribute (FILE_ATTRIBUTE_DEVICE). */
#define PLACE_DEVICE   0x40u
#define PLACE_READONLY 0x01u

/* A link itself, or with `follow` what it leads to (here alone: a share's are never followed). */
int place_stat(const struct place *p, bool follow, struct larder_stat *ret,
               struct larder_error *err);
/* -EEXIST where something is there that is no directory; 0 where the directory is there. */
int place_mkdir(const struct place *p, struct larder_error *err);
int place_remove(const struct place *p, bool is_dir, struct larder_error *err);
/* On the same side; what is there is replaced. */
int place_rename(const struct place *from, const char *to, struct larder_error *err);
/* 0, or -EINVAL where a device, pipe or socket is there: those are no place for a file. */
int place_may_replace(const struct place *p, struct larder_error *err);
int place_symlink(const struct place *p, const char *target, struct larder_error *err);
int place_read_link(const struct place *p, char **ret, struct larder_error *err);
/* The times of `like`, and that it is read-only. */
int place_set_times(const struct place *p, const struct larder_stat *like,
                    struct larder_error *err);
/* Whether nothing can be had from there any more. */
bool place_lost(const struct place *p);

/* ---- directories ---- */

/* The names in a directory, sorted by their bytes; attributes are asked for one by one. */
struct place_list;
int place_list_open(const struct place *p, struct place_list **ret, struct larder_error *err);
size_t place_list_count(const struct place_list *list);
const char *place_list_name(const struct place_list *list, size_t i);
int place_list_stat(struct place_list *list, size_t i, bool follow, struct larder_stat *ret,
                    struct larder_error *err);
struct place_list *place_list_close(struct place_list *list);

/* ---- open files ---- */

struct place_file;
/* For reading. ret_stat: at the time of the open. A directory is -EISDIR. */
int place_open(const struct place *p, struct place_file **ret, struct larder_stat *ret_stat,
               struct larder_error *err);
/* For writing; made where it is not there. *ret_size: how much is in it already. A file here is
 * locked against another larder that does the same (-EBUSY). */
int place_open_part(const struct place *p, struct place_file **ret, uint64_t *ret_size,
                    struct larder_error *err);
/* Standard input or output. */
int place_open_standard(int fd, struct place_file **ret, struct larder_error *err);
int64_t place_read(struct place_file *f, void *buf, size_t len, uint64_t offset,
                   struct larder_error *err);
/* Of a stream here: what is there to read, 0 at its end, -EAGAIN where nothing came in so long. */
int64_t place_read_some(struct place_file *f, void *buf, size_t len, int ms,
                        struct larder_error *err);
/* All of `len`, or an error; *ret_written is how much of it was taken. */
int place_write(struct place_file *f, const void *buf, size_t len, uint64_t offset,
                size_t *ret_written, struct larder_error *err);
int place_file_stat(struct place_file *f, struct larder_stat *ret, struct larder_error *err);
int place_truncate(struct place_file *f, uint64_t size, struct larder_error *err);
/* The times of `like`, and that it is read-only; *ret_size: the length of the file after that. */
int place_finish(struct place_file *f, const struct larder_stat *like, uint64_t *ret_size,
                 struct larder_error *err);
/* Pieces have to be written one after the other, so that the length tells what is in it. */
bool place_in_order(const struct place_file *f);
/* The library's own file; NULL for one here. */
struct larder_file *place_remote(struct place_file *f);
struct place_file *place_close(struct place_file *f);

#endif
