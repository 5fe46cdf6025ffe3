/*
 * A share that is a few tables in memory, for the tests of mount/: the functions of share.h, and
 * counts of how often each was called. It folds case, as servers do. Everything in it is under one
 * lock; files stay until the share is freed.
 */
#ifndef LARDER_TESTS_FAKE_SHARE_H
#define LARDER_TESTS_FAKE_SHARE_H

#include "share/share.h"

#define FAKE_FILES 1000 /* in the directory "many": f0000 ... f0999; file i holds i % 100 bytes */

struct fake_counts {
    unsigned lookups, anew, getattrs, lists, adopts, opens, opens_with_data, reads, writes, changes,
        locks, lock_releases, statfs, watches;
    size_t largest_read, largest_write;
};

/* The tree: many/, empty/, hello ("hello, world\n"), readonly. Believed for `valid_ns`. */
struct share *fake_share_new(uint64_t valid_ns);
/* Before it is mounted: its setting Inotify. */
void fake_share_inotify(struct share *s, bool on);
struct share *fake_share_free(struct share *s);
/* Each look-up, change, write and read takes so long. */
void fake_share_slow(struct share *s, unsigned ms);
/* Called with the name of each look-up, before it is answered and with no lock held. */
void fake_share_hook(struct share *s, void (*look_up)(void *user, const char *name), void *user);
/* The same once it has been answered. */
void fake_share_hook_after(struct share *s, void (*look_up)(void *user, const char *name),
                           void *user);
/* Every change, write and fsync fails with `code` (a negative errno) from now on; 0: none. */
void fake_share_fail(struct share *s, int code);
/* Opens that ask for reading are refused. */
void fake_share_write_only(struct share *s, bool on);
/* No write takes more than so many bytes. */
void fake_share_short_writes(struct share *s, size_t max);
/* The file "hello" has another content from now on, on the server's doing. */
void fake_share_change(struct share *s, const char *content);
/* What others append to "hello". */
void fake_share_append(struct share *s, const char *content);
/* The content of a file at the top, NUL-terminated and to be freed; NULL: there is none. */
char *fake_share_content(struct share *s, const char *name);
uint32_t fake_share_attributes(struct share *s, const char *name);
/* Adds the directory entry empty/new. */
void fake_share_add(struct share *s);
/* ---- what others do (a path is "dir/name"); nobody is told of it ... ---- */
void fake_remote_file(struct share *s, const char *path, const char *content); /* a new one */
void fake_remote_dir(struct share *s, const char *path);
/* What is as long as before has the same times, too. */
void fake_remote_write(struct share *s, const char *path, const char *content);
void fake_remote_remove(struct share *s, const char *path);
void fake_remote_move(struct share *s, const char *from, const char *to);
/* ... but by these: to the listener. */
void fake_tell_name(struct share *s, const char *path);
void fake_tell_names(struct share *s, const char *path);
void fake_tell_node(struct share *s, const char *path);
void fake_age_node(struct share *s, const char *path);
void fake_tell_all(struct share *s);
bool fake_share_is_heard(struct share *s); /* there is a listener */

/* What others do in a directory at the top ("": the top itself), and what is told of it to who
 * watches it. */
void fake_share_others_make(struct share *s, const char *dir, const char *name,
                            uint32_t attributes);
void fake_share_others_remove(struct share *s, const char *dir, const char *name);
void fake_share_others_rename(struct share *s, const char *dir, const char *name,
                              const char *new_name);
/* At the top, and told of something that nobody knew. */
void fake_share_forget(struct share *s, const char *name);
/* At the top, and told as a name that went and one that came. */
void fake_share_others_halves(struct share *s, const char *name, const char *new_name);
/* At the top: removed, and its number is that of what is made next. */
void fake_share_others_reuse(struct share *s, const char *name, const char *new_name,
                             uint32_t attributes);
void fake_share_others_write(struct share *s, const char *dir, const char *name,
                             const char *content);
/* Only tells. */
void fake_share_tell(struct share *s, const char *dir, enum share_news news, const char *name,
                     const char *new_name);
bool fake_share_is_watched(struct share *s, const char *dir);
void fake_share_refuse_watches(struct share *s, bool on);
/* So many watches are their own, the others ride; none does unless this was called. */
void fake_share_own_watches(struct share *s, unsigned max);
/* Since the last call. */
struct fake_counts fake_share_counts(struct share *s);
/* How often share_file_changed was called, of whatever share. */
unsigned fake_share_files_changed(void);
/* References, files and listings that were given out and not given back. */
unsigned fake_share_held(struct share *s);

#endif
