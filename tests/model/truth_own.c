/* Answers and own changes are completed; what the cache has to know right after an own change that
 * nothing overlapped. */
#include <string.h>

#include "base/clock.h"
#include "model/truth.h"

/* ---- completions ---- */

/* Whether the listing has the name in another case only: then it may be dropped. */
static bool listed_otherwise(const struct cache_listing *l, int name)
{
    size_t folded, one;
    return listing_find(l, text(name), strlen(text(name)), &folded, &one) < 0 && folded;
}

static void complete_name(struct op *o)
{
    size_t len = strlen(text(o->name));
    struct cache_file *f;
    uint64_t until;
    if (o->node < 0) {
        /* a listing that has the name in another case goes on to answer for it */
        if (cache_commit_missing(m.c, o->dir.f, text(o->name), len, o->ticket, m.now) &&
            !server.folds)
            answered_name(o, o->name);
        return;
    }
    const char *spelling = text(o->spelling);
    cache_learn_spelling(m.c, text(o->name), len, spelling, strlen(spelling));
    if (cache_commit_found(m.c, o->dir.f, text(o->name), len, &o->attr, o->ticket, m.now, &f,
                           &until) < 0)
        differ("out of memory");
    if (until) {
        const struct cache_listing *l = o->dir.f->dir->listing;
        if (o->spelling == o->name && !(l && listed_otherwise(l, o->name)))
            answered_name(o, o->name);
        answered_attr(o, f);
    }
    if (cache_file_same(f, &o->attr))
        keep(f, o->node);
    else /* the name leads elsewhere by now */
        cache_file_unref(m.c, f);
}

static void complete_listing(struct op *o)
{
    if (!o->ok || cache_listing_seal(o->listing, o->ticket) < 0)
        return;
    if (o->node == o->dir.node && cache_commit_attr(m.c, o->dir.f, &o->attr, o->ticket, m.now))
        answered_attr(o, o->dir.f);
    cache_commit_listing(m.c, o->dir.f, o->listing, o->ticket, m.now);
    if (o->dir.f->dir->listing != o->listing)
        return;
    for (int name = 0; name < NAMES; name++) {
        answered_name(o, name);
        const struct cache_name *n = name_find(m.c, o->dir.f, text(name), strlen(text(name)));
        if (n && n->file->info.order == o->ticket.order)
            answered_attr(o, n->file);
    }
}

/* Good as listed: then all that is believed of its names was true when that was asked. */
static void complete_verify(struct op *o)
{
    bool met = o->node == o->dir.node;
    bool good = cache_verified(m.c, o->dir.f, met ? &o->attr : NULL, o->ticket, m.now);
    verified[good]++;
    if (good && !met)
        differ("verified by nothing");
    for (int name = 0; good && name < NAMES; name++)
        answered_name(o, name);
    if (met && o->dir.f->info.order == o->ticket.order)
        answered_attr(o, o->dir.f);
}

static void complete_made(struct op *o)
{
    bool link = o->kind == LINK;
    struct held dir = link ? o->to_dir : o->dir;
    int name = link ? o->to : o->name;
    struct cache_file *f;
    uint64_t until;
    if (cache_made(m.c, dir.f, text(name), strlen(text(name)), link && !o->told ? NULL : &o->attr,
                   link ? o->file.f : NULL, o->ticket, m.now, &f, &until) < 0)
        differ("out of memory");
    if (link && f != o->file.f)
        differ("a second name leads to another object");
    keep(f, o->node);
    changed_name(o, dir, link ? o->server_to_dir : o->server_dir, name);
    changed_attr(o, f);
}

static void complete_rename(struct op *o)
{
    const char *from = text(o->name), *to = text(o->to);
    if (cache_renamed(m.c, o->dir.f, from, strlen(from), o->to_dir.f, to, strlen(to),
                      o->told ? &o->attr : NULL, o->ticket, m.now) < 0)
        differ("out of memory");
    changed_name(o, o->dir, o->server_dir, o->name);
    changed_name(o, o->to_dir, o->server_to_dir, o->to);
}

/* ---- right after an own change that nothing overlapped ---- */

static void must_know(const struct op *o, bool knows, const char *what)
{
    known[o->kind] += knows;
    if (!knows)
        differ("right after its %s the cache %s", kind_names[o->kind], what);
}

static void expect_there(const struct op *o, struct held dir, int name)
{
    int node = -1, r = look_up(dir, name, &node);
    must_know(o, r == 1 && node == o->node, r < 0 ? "has to ask" : "is wrong");
}

static void expect_known(const struct op *o)
{
    int node;
    struct file_attr attr;
    alone[o->kind]++;
    switch (o->kind) {
    case MAKE:
    case MAKE_DIR:
        expect_there(o, o->dir, o->name);
        if (o->kind == MAKE_DIR) {
            struct cache_listing *l = cache_plan_listing(m.c, held[held_count - 1].f, m.now);
            must_know(o, l && cache_listing_count(l) == 0, "does not know the new directory");
            cache_listing_unref(l);
        }
        break;
    case REMOVE:
        must_know(o, look_up(o->dir, o->name, &node) == 0, "does not miss the name");
        break;
    case LINK:
        if (o->told)
            expect_there(o, o->to_dir, o->to);
        break;
    case WRITE: {
        bool knows = stat_held(o->file, &attr);
        must_know(o, knows == o->told, knows ? "tells what it does not know" : "has to ask");
        break;
    }
    default:
        break;
    }
}

/* The object may be of another file by now, or none: other clients have been there. */
static void expect_renamed(const struct op *o, bool was_known)
{
    int node = -1;
    bool respelled =
        o->dir.f == o->to_dir.f && server_names[o->name].fold == server_names[o->to].fold;
    if (!was_known || !o->told || respelled)
        return;
    alone[RENAME]++;
    expect_there(o, o->to_dir, o->to);
    must_know(o, look_up(o->dir, o->name, &node) == 0, "does not miss the old name");
}

static struct cache_listing *believed(struct held dir)
{
    enum observe_miss why;
    return dir.f ? listing_valid(m.c, dir.f, m.now, &why) : NULL;
}

/* Whether a file was found by the name in another case: it may be the one that went, or it was
 * hidden by the entry that goes. */
static bool known_otherwise(struct held dir, int name)
{
    const struct cache_name *n = NULL;
    while ((n = name_next_alike(m.c, dir.f, text(name), strlen(text(name)), n)))
        if (n->len != strlen(text(name)) || memcmp(n->spelling, text(name), n->len) != 0)
            return true;
    return false;
}

/* Nor is it known what was removed by a name that may be a short one, and is not listed. */
static bool may_be_dropped(const struct op *o, struct held dir, const struct cache_listing *l,
                           int name)
{
    size_t folded, one;
    return listed_otherwise(l, name) || known_otherwise(dir, name) ||
           (o->kind != MAKE && o->kind != MAKE_DIR && strchr(text(name), '~') &&
            listing_find(l, text(name), strlen(text(name)), &folded, &one) < 0);
}

/* The object of this node, where the cache knows that the name leads to it: else it cannot know
 * what went. */
static struct cache_file *leads_to(struct held dir, int name, int node)
{
    const struct cache_name *n =
        dir.f ? name_find(m.c, dir.f, text(name), strlen(text(name))) : NULL;
    return n && node >= 0 && n->file->attr.id == 1000 + (uint64_t)node ? cache_file_ref(n->file)
                                                                       : NULL;
}

/* A file that has lost a name has other attributes; with its last name it keeps the last ones. */
static void lost_a_name(const struct op *o, const struct cache_file *f)
{
    if (f && !list_empty(&f->names))
        changed_attr(o, f);
}

static void complete_own(struct op *o)
{
    bool quick = roomy && o->alone && m.now - o->ticket.sent < NS_PER_SEC;
    struct cache_listing *was[2] = {believed(o->dir), believed(o->to_dir)};
    struct cache_file *f = leads_to(o->dir, o->name, o->node);
    struct cache_file *over = leads_to(o->to_dir, o->to, o->over);
    bool was_known = f != NULL;
    /* else it is taken for what was believed there; nor is it seen that the two are one file, of
     * which the server leaves both names */
    o->told |= o->kind == RENAME && (!was_known || o->over == o->node);
    bool kept[2] = {quick && was[0] && o->kind != LINK &&
                        !may_be_dropped(o, o->dir, was[0], o->name),
                    quick && was[1] && !may_be_dropped(o, o->to_dir, was[1], o->to)};
    if (o->kind == RENAME) { /* of a file with more names it is not known whether one went */
        const struct cache_name *n = name_find(m.c, o->to_dir.f, text(o->to), strlen(text(o->to)));
        /* nor by two paths to one directory */
        bool apart = o->dir.f == o->to_dir.f || o->server_dir != o->server_to_dir;
        was_known = f && apart && !(n && n->file == f) &&
                    (f->is_dir || (f->attr.links < 2 && o->attr.links < 2));
        kept[0] = kept[1] = kept[0] && kept[1] && was_known;
    }
    switch (o->kind) {
    case REMOVE:
        cache_removed(m.c, o->dir.f, text(o->name), strlen(text(o->name)), o->ticket, m.now);
        changed_name(o, o->dir, o->server_dir, o->name);
        lost_a_name(o, f);
        break;
    case RENAME:
        complete_rename(o);
        if (was_known)
            changed_attr(o, f);
        lost_a_name(o, over);
        break;
    case WRITE: {
        uint64_t until =
            cache_own_attr(m.c, o->file.f, o->told ? &o->attr : NULL, o->ticket, m.now);
        changed_attr(o, o->file.f);
        if (until && !o->told)
            differ("believes what was not told");
        break;
    }
    default:
        complete_made(o);
        break;
    }
    if (f)
        cache_file_unref(m.c, f);
    if (over)
        cache_file_unref(m.c, over);
    if (quick)
        o->kind == RENAME ? expect_renamed(o, was_known) : expect_known(o);
    struct held dirs[2] = {o->dir, o->to_dir};
    for (int i = 0; i < 2; i++)
        if (kept[i]) {
            listings_kept += believed(dirs[i]) != NULL;
            if (!believed(dirs[i]))
                differ("a %s lost the listing", kind_names[o->kind]);
        }
}

void complete(struct op *o)
{
    server.moment++;
    trace("%d: completed", (int)(o - ops));
    if (o->kind == ASK_NAME)
        complete_name(o);
    else if (o->kind == ASK_LISTING)
        complete_listing(o);
    else if (o->kind == VERIFY)
        complete_verify(o);
    else if (o->kind == ASK_ATTR) {
        if (cache_commit_attr(m.c, o->file.f, &o->attr, o->ticket, m.now))
            answered_attr(o, o->file.f);
    } else if (o->ok)
        complete_own(o);
    if (o->ok && o->lease)
        granted(o);
}
