/*
 * What is to be copied: one file, or all of a tree, directory by directory. Directories and links
 * are made here, in the order of the walk; files go to the threads. A link is copied as a link, so
 * that no tree leads out of itself; `follow` copies what links here lead to.
 *
 * A tree that a server lists is not trusted: a name that is a link in one listing and a directory
 * in the next is an error, not a way to write elsewhere (place_mkdir).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf.h"
#include "cli/copy_internal.h"
#include "cli/part.h"
#include "cli/walk.h"

static int say(struct larder_error *err, int code, const char *path, const char *what)
{
    *err = (struct larder_error){.code = code};
    snprintf(err->text, sizeof err->text, "%.360s: %s", path, what);
    return code;
}

/* As it is already? */
static bool same_link(const struct place *to, const char *target)
{
    char *there;
    struct larder_stat st;
    struct larder_error ignored;
    if (place_stat(to, false, &st, &ignored) < 0 || !st.is_link ||
        place_read_link(to, &there, &ignored) < 0)
        return false;
    bool same = strcmp(there, target) == 0;
    free(there);
    return same;
}

/* Under a name of its own first: what is there is replaced in one step. */
static int replace_link(const struct place *to, const char *target, struct larder_error *err)
{
    struct larder_error ignored;
    struct place part = {to->l, part_name_once(to->path)};
    if (!part.path)
        return say(err, -ENOMEM, to->path, "out of memory");
    int r = place_may_replace(to, err);
    if (r == 0)
        r = place_symlink(&part, target, err);
    if (r == 0) {
        r = place_rename(&part, to->path, err);
        if (r < 0)
            place_remove(&part, false, &ignored);
    }
    free((char *)part.path);
    return r;
}

static void copy_link(struct copy *c, const struct place *from, const struct place *to,
                      uint64_t size)
{
    struct larder_error err;
    char *target;
    int r = place_read_link(from, &target, &err);
    if (r == -EINVAL && from->l) { /* a file with an attribute like a link's */
        copy_queue(c, from, to, size);
        return;
    }
    if (r == 0) {
        if (!same_link(to, target)) {
            r = place_symlink(to, target, &err);
            if (r == -EEXIST)
                r = replace_link(to, target, &err);
        }
        if (r == -EOPNOTSUPP)
            say(&err, r, from->path,
                "a link, which this server cannot keep: -L copies what it leads to, -o mfsymlinks "
                "keeps it as Linux does");
        free(target);
    }
    if (r < 0)
        copy_failed(c, &err, place_lost(from) || place_lost(to));
    else
        copy_count(c, &c->counts.links, 1);
}

static bool copy_dir(struct copy *c, const struct place *to, const struct larder_stat *like)
{
    struct larder_error err;
    if (*to->path && place_mkdir(to, &err) < 0) { /* the top of a share is there */
        copy_failed(c, &err, place_lost(to));
        return false;
    }
    copy_count(c, &c->counts.dirs, 1);
    if (*to->path)
        copy_remember_dir(c, to, like);
    return true;
}

/* How many names in the directory of `path` are this one in some case; 0 where nobody knows. */
static size_t count_alike(const struct place *to, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char *dir =
        slash ? strndup(path, slash > path ? (size_t)(slash - path) : 1) : strdup(to->l ? "" : ".");
    const struct place above = {to->l, dir};
    struct place_list *list;
    struct larder_error ignored;
    size_t count = 0;
    if (dir && place_list_open(&above, &list, &ignored) == 0) {
        for (size_t i = 0; i < place_list_count(list); i++) {
            const char *other = place_list_name(list, i);
            count += utf8_fold_equal(other, strlen(other), name, strlen(name));
        }
        place_list_close(list);
    }
    free(dir);
    return count;
}

/* By an open, which asks the server whatever is believed. */
static bool is_missing(const struct place *p)
{
    struct place_file *f;
    struct larder_stat st;
    struct larder_error ignored;
    int r = place_open(p, &f, &st, &ignored);
    if (r == 0)
        place_close(f);
    return r == -ENOENT;
}

/* Whether this run may write there. A name that it has written in another case is the same file
 * where the file system folds case, which shows when the other is whole: then this one is there
 * too, and the directory has but one of them. */
static bool claim(struct copy *c, const struct place *from, const struct place *to)
{
    struct larder_error err;
    int r = claims_take(&c->claims, to->path);
    if (r == CLAIM_ALIKE) {
        copy_wait(c);
        r = is_missing(to) || count_alike(to, to->path) > 1 ? CLAIM_NEW : CLAIM_TAKEN;
    }
    if (r == CLAIM_NEW)
        return true;
    say(&err, r < 0 ? r : -EEXIST, from->path,
        r < 0 ? "out of memory"
              : "not copied: another file has been copied to the same name already");
    copy_failed(c, &err, r < 0);
    return false;
}

/* One thing that the walk came upon. */
static void copy_entry(struct copy *c, struct walk *w, const struct walk_step *s,
                       const struct place *from_top, const struct place *to_top)
{
    char *path;
    if (asprintf(&path, "%s%s%s", to_top->path, *to_top->path && *s->below ? "/" : "", s->below) <
        0) {
        const struct larder_error err = {.code = -ENOMEM, .text = "out of memory"};
        copy_failed(c, &err, true);
        return;
    }
    const struct place from = {from_top->l, s->path}, to = {to_top->l, path};
    struct larder_error err;
    if (s->event == WALK_DIR) {
        if (!copy_dir(c, &to, &s->stat))
            walk_skip(w);
    } else if (s->stat.attributes & PLACE_DEVICE && !from.l && !s->stat.is_link) {
        say(&err, -EINVAL, s->path, "neither file, directory nor link: not copied");
        copy_failed(c, &err, false);
    } else if (!claim(c, &from, &to)) {
        ; /* told */
    } else if (s->stat.is_link) {
        copy_link(c, &from, &to, s->stat.size);
    } else {
        copy_queue(c, &from, &to, s->stat.size);
    }
    free(path);
}

static void copy_tree(struct copy *c, const struct place *from, const struct larder_stat *st,
                      const struct place *to)
{
    struct walk *w = walk_new(from, st, c->o.follow);
    const struct walk_step *s = w ? walk_next(w) : NULL;
    for (; s && s->event != WALK_END && !copy_stopped(c); s = walk_next(w)) {
        if (s->event == WALK_ERROR)
            copy_failed(c, &s->error, place_lost(from));
        else if (s->event != WALK_LEAVE)
            copy_entry(c, w, s, from, to);
    }
    walk_free(w);
    if (!w) {
        const struct larder_error err = {.code = -ENOMEM, .text = "out of memory"};
        copy_failed(c, &err, true);
    }
}

bool copy_is_within(const struct place *from, const struct place *to)
{
    size_t len = strlen(from->path), to_len = strlen(to->path);
    return from->l && from->l == to->l && to_len >= len &&
           utf8_fold_equal(from->path, len, to->path, len) &&
           (to->path[len] == 0 || to->path[len] == '/' || len == 0);
}

void copy_add(struct copy *c, const struct place *from, const struct place *to)
{
    struct larder_stat st;
    struct larder_error err;
    int r = place_stat(from, true, &st, &err);
    bool tree = r == 0 && st.is_dir && !st.is_link;
    if (r == 0 && copy_is_within(from, to) && (tree || strlen(from->path) == strlen(to->path)))
        r = say(&err, -EINVAL, *from->path ? from->path : "/",
                tree ? "a directory cannot be copied into itself" : "is the same file as its copy");
    if (r < 0)
        copy_failed(c, &err, place_lost(from));
    else if (tree)
        copy_tree(c, from, &st, to);
    else if (!claim(c, from, to))
        ; /* told */
    else if (st.is_link)
        copy_link(c, from, to, st.size);
    else
        copy_queue(c, from, to, st.size);
}
