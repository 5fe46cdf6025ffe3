/*
 * When a name last changed, and when a tree as a whole did: by a change to an open whose name is
 * not known, by a rename to a name that was not captured, or because a name that changed had to
 * make way here. A tree's change makes everything in it changed, so that in doubt a repeated
 * question was needed.
 */
#include "capture/changes.h"

#include <stdlib.h>
#include <string.h>

#include "base/ntstatus.h"
#include "capture/operation.h"

#define CHANGES_MAX 20000

struct changed {
    struct place place;
    uint64_t at_ns;
};

struct changes {
    struct shares *shares;
    struct places names;
    uint64_t tree_ns[SHARES_MAX];
    bool tree_changed[SHARES_MAX];
};

static void tree_changed(struct changes *c, unsigned tree, uint64_t at_ns)
{
    c->tree_changed[tree] = true;
    if (at_ns > c->tree_ns[tree])
        c->tree_ns[tree] = at_ns;
}

static void evicting(void *user, struct place *p)
{
    tree_changed(user, p->share, ((struct changed *)p)->at_ns);
}

struct changes *changes_new(struct shares *shares)
{
    struct changes *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    c->shares = shares;
    places_init(&c->names, sizeof(struct changed), CHANGES_MAX);
    c->names.evicting = evicting;
    c->names.user = c;
    return c;
}

struct changes *changes_free(struct changes *c)
{
    if (!c)
        return NULL;
    places_done(&c->names);
    free(c);
    return NULL;
}

static void name_changed(struct changes *c, unsigned tree, const char *path, size_t len,
                         uint64_t at_ns)
{
    struct changed *n = places_touch(&c->names, tree, path, len);
    if (n)
        n->at_ns = at_ns;
    else
        tree_changed(c, tree, at_ns);
}

/* The path and the directory that it is in. A path that is not known may be any. */
static void path_changed(struct changes *c, unsigned tree, const char *path, uint64_t at_ns)
{
    if (!path) {
        tree_changed(c, tree, at_ns);
        return;
    }
    size_t len = strlen(path), parent = path_parent(path, len);
    name_changed(c, tree, path, len, at_ns);
    if (parent != SIZE_MAX)
        name_changed(c, tree, path, parent, at_ns);
}

static bool notified(const struct exchange *x)
{
    return x->command == SMB2_CHANGE_NOTIFY && x->answered &&
           (x->status == STATUS_SUCCESS || x->status == STATUS_NOTIFY_ENUM_DIR);
}

void changes_exchange(struct changes *c, const struct exchange *x)
{
    enum exchange_change change = notified(x) ? CHANGE_PATH : exchange_changes(x);
    if (change == CHANGE_NONE)
        return;
    unsigned view = shares_view(c->shares, x->share ? x->share : x->open ? x->open->share : NULL);
    const struct view *v = shares_at(c->shares, view);
    if (!v)
        return;
    uint64_t at_ns = x->answered ? x->answered_ns : x->asked_ns;
    path_changed(c, v->tree, x->path, at_ns);
    if (change == CHANGE_ELSEWHERE_TOO)
        path_changed(c, v->tree, x->pattern && *x->pattern ? x->pattern : NULL, at_ns);
}

bool changes_since(const struct changes *c, unsigned view, const char *path, size_t len,
                   uint64_t since_ns)
{
    const struct view *v = shares_at(c->shares, view);
    if (!v || (c->tree_changed[v->tree] && c->tree_ns[v->tree] >= since_ns))
        return true;
    const struct changed *n = places_find(&c->names, v->tree, path, len);
    return n && n->at_ns >= since_ns;
}