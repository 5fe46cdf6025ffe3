/*
 * The walk keeps a stack of listings on the heap, so that no tree is too deep for it, and one path
 * that grows and shrinks with the stack.
 */
#include "cli/walk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct level {
    struct place_list *list; /* NULL: not read yet, or it could not be */
    size_t next;             /* the entry to be shown next */
    size_t path_len;         /* of the directory's own path */
    bool last;               /* the directory itself is, in its own */
    struct larder_stat stat;
};

struct walk {
    struct larder *l;
    bool follow;
    size_t top_len;
    char *path;
    size_t path_cap;
    struct level *level;
    size_t depth, levels_cap; /* depth: levels in use */
    bool entering;            /* the innermost level is to be read */
    struct walk_step step;
};

static bool reserve(struct walk *w, size_t path_len)
{
    if (path_len + 2 > w->path_cap) {
        char *more = realloc(w->path, 2 * path_len + 256);
        if (!more)
            return false;
        w->path = more;
        w->path_cap = 2 * path_len + 256;
    }
    if (w->depth == w->levels_cap) {
        struct level *more = realloc(w->level, (2 * w->levels_cap + 16) * sizeof *more);
        if (!more)
            return false;
        w->level = more;
        w->levels_cap = 2 * w->levels_cap + 16;
    }
    return true;
}

struct walk *walk_new(const struct place *top, const struct larder_stat *stat, bool follow)
{
    struct walk *w = calloc(1, sizeof *w);
    size_t len = strlen(top->path);
    if (!w || !reserve(w, len))
        return walk_free(w);
    w->l = top->l;
    w->follow = follow;
    w->top_len = len;
    memcpy(w->path, top->path, len + 1);
    w->step = (struct walk_step){.stat = *stat};
    return w;
}

struct walk *walk_free(struct walk *w)
{
    if (!w)
        return NULL;
    while (w->depth)
        place_list_close(w->level[--w->depth].list);
    free(w->level);
    free(w->path);
    free(w);
    return NULL;
}

/* Fills what every step has, from the path as it is now. */
static const struct walk_step *show(struct walk *w, enum walk_event event, unsigned depth,
                                    bool last)
{
    struct walk_step *s = &w->step;
    const char *slash = strrchr(w->path, '/');
    s->event = event;
    s->path = w->path;
    s->below = w->path + w->top_len + (w->path[w->top_len] == '/');
    s->name = depth == 0 ? "" : slash ? slash + 1 : w->path;
    s->depth = depth;
    s->last = last;
    return s;
}

static const struct walk_step *failed(struct walk *w, unsigned depth, bool last, int code)
{
    if (code == -ENOMEM)
        w->step.error = (struct larder_error){.code = code, .text = "out of memory"};
    return show(w, WALK_ERROR, depth, last);
}

/* A directory that the walk, following links, is in already. */
static bool is_inside(const struct walk *w, const struct larder_stat *stat)
{
    for (size_t i = 0; w->follow && i < w->depth; i++)
        if (w->level[i].stat.ino == stat->ino)
            return true;
    return false;
}

/* The path is that of a directory, whose stat the step has. */
static const struct walk_step *enter(struct walk *w, bool last)
{
    size_t len = strlen(w->path);
    if (!reserve(w, len))
        return failed(w, (unsigned)w->depth, last, -ENOMEM);
    w->level[w->depth++] = (struct level){.path_len = len, .last = last, .stat = w->step.stat};
    w->entering = true;
    return show(w, WALK_DIR, (unsigned)w->depth - 1, last);
}

static const struct walk_step *leave(struct walk *w)
{
    struct level *level = &w->level[--w->depth];
    place_list_close(level->list);
    w->path[level->path_len] = 0;
    w->step.stat = level->stat;
    if (w->depth == 0)
        w->top_len = level->path_len;
    return show(w, WALK_LEAVE, (unsigned)w->depth, level->last);
}

static const struct walk_step *next_entry(struct walk *w, struct level *level)
{
    size_t i = level->next++;
    const char *name = place_list_name(level->list, i);
    bool last = level->next == place_list_count(level->list);
    size_t at = level->path_len, len = strlen(name);
    unsigned depth = (unsigned)w->depth;
    if (!reserve(w, at + len + 1))
        return failed(w, depth, last, -ENOMEM);
    if (at && w->path[at - 1] != '/')
        w->path[at++] = '/';
    memcpy(w->path + at, name, len + 1);
    level = &w->level[w->depth - 1]; /* reserve may have moved it */
    int r = place_list_stat(level->list, i, w->follow, &w->step.stat, &w->step.error);
    if (r < 0 && w->follow) /* a link that leads nowhere is a link */
        r = place_list_stat(level->list, i, false, &w->step.stat, &w->step.error);
    if (r < 0)
        return failed(w, depth, last, r);
    if (!w->step.stat.is_dir || w->step.stat.is_link)
        return show(w, WALK_FILE, depth, last);
    if (is_inside(w, &w->step.stat)) {
        w->step.error = (struct larder_error){.code = -ELOOP};
        snprintf(w->step.error.text, sizeof w->step.error.text,
                 "%.400s: a link to a directory that it is in", w->path);
        return failed(w, depth, last, -ELOOP);
    }
    return enter(w, last);
}

const struct walk_step *walk_next(struct walk *w)
{
    if (w->step.event == WALK_END && w->depth == 0 && !w->entering && !w->step.path)
        return enter(w, true);
    if (w->depth == 0)
        return show(w, WALK_END, 0, true);
    struct level *level = &w->level[w->depth - 1];
    if (w->entering) {
        const struct place here = {w->l, w->path};
        w->entering = false;
        int r = place_list_open(&here, &level->list, &w->step.error);
        if (r < 0) {
            level->list = NULL;
            w->step.stat = level->stat;
            return failed(w, (unsigned)w->depth - 1, level->last, r);
        }
    }
    if (!level->list || level->next == place_list_count(level->list))
        return leave(w);
    w->path[level->path_len] = 0;
    return next_entry(w, level);
}

void walk_skip(struct walk *w)
{
    w->entering = false;
}

bool walk_is_last(const struct walk *w, unsigned depth)
{
    return depth < w->depth && w->level[depth].last;
}
