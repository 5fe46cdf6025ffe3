/*
 * What to do next: a function of beliefs, profile, intent and time.
 *
 * A look-up asks the caches in the order directory, not found, file info; each one asked counts a
 * hit or a miss with its reason. Where none answers, the profile decides what is asked of the
 * server.
 *
 * Listing on evidence: a directory that is probed once is asked for that one name. At the second
 * probe (at the first where it has been listed before, or its parent is believed listed, as in a
 * walk down a tree) it is listed, but only as far as one round trip reaches: that costs what a STAT
 * costs. A directory that turns out larger is asked by name again, and listed whole only after 32
 * probes; and where that took longer than it was of use (millions of names, a slow server) not
 * again before 16 times as long.
 */
#include <errno.h>

#include "cache/internal.h"

/* ---- the three caches, asked ---- */

/* A look-up on its way. */
struct asked {
    struct cache *c;
    struct cache_file *dir;
    const char *name;
    size_t len;
    uint64_t now;
    struct cache_plan *ret;
    bool by_path;      /* only the path can tell: a listing would not help */
    bool look;         /* what would be done: without a trace */
    bool below_listed; /* the directory's parent is listed by then */
    enum observe_cache hit;
};

static void miss(struct asked *a, enum observe_cache which, enum observe_miss why)
{
    struct event_path p;
    if (a->look)
        return;
    observe_miss(a->c->observe, which, why, event_child(a->c, a->dir, a->name, a->len, &p));
    miss_remember(a->c, a->dir, a->name, a->len, which, why, a->now);
}

static void hit(struct asked *a, enum observe_cache which, enum observe_trust trust,
                struct ring_entry *entry)
{
    struct event_path p;
    a->hit = which;
    if (a->look)
        return;
    if (entry)
        entry->used = true;
    observe_hit(a->c->observe, which, trust, event_child(a->c, a->dir, a->name, a->len, &p));
}

static struct cache_listing *believed_listing(struct asked *a, enum observe_miss *ret_why)
{
    return a->look ? listing_look(a->c, a->dir, a->now, ret_why)
                   : listing_valid(a->c, a->dir, a->now, ret_why);
}

static bool believed_info(struct asked *a, struct cache_file *f, enum observe_miss *ret_why)
{
    return a->look ? info_look(a->c, f, a->now, ret_why) : info_valid(a->c, f, a->now, ret_why);
}

static struct term believed_negative(struct asked *a)
{
    return a->look ? negative_look(a->c, a->dir, a->name, a->len, a->now)
                   : negative_valid(a->c, a->dir, a->name, a->len, a->now);
}

static void answer_missing(struct cache_plan *ret, int code, uint64_t until)
{
    *ret = (struct cache_plan){.step = CACHE_ANSWER, .result = code, .valid_until = until};
}

static void answer_found(struct cache_plan *ret, struct cache_file *f, const struct file_attr *attr,
                         uint64_t until, const char *spelling, size_t spelling_len)
{
    *ret = (struct cache_plan){.step = CACHE_ANSWER,
                               .file = cache_file_ref(f),
                               .attr = *attr,
                               .valid_until = until,
                               .spelling = spelling,
                               .spelling_len = spelling_len};
}

int64_t listed_as(const struct cache *c, const struct cache_listing *l, const char *name,
                  size_t len)
{
    size_t folded, one = 0;
    int64_t exact = listing_find(l, name, len, &folded, &one);
    if (exact >= 0)
        return exact;
    if (utf8_has_non_ascii(name, len) || folded > 1)
        return -2;
    if (folded == 1) {
        const char *spelling;
        size_t spelling_len = listing_at(l, one, &spelling)->len;
        if (utf8_has_non_ascii(spelling, spelling_len))
            return -2;
    }
    if (folded == 1)
        return c->folds ? (int64_t)one : -2;
    return may_be_unlisted(name, len) ? -2 : -1;
}

/* Why a believed listing's attributes of f are not. */
static enum observe_miss why_not_listed(const struct cache *c, const struct cache_file *f,
                                        const struct cache_listing *l, size_t i)
{
    struct stamp listed = listing_heard(l, i);
    if (!c->enabled[OBSERVE_INFO])
        return MISS_DISABLED;
    if (!order_after(listed.order, f->changed) || !cache_listing_attr_known(l, i))
        return MISS_CHANGED;
    return f->heard && order_after(f->info.order, listed.order) ? f->lost : MISS_EXPIRED;
}

/* The file of entry i, for as long as nothing newer says otherwise; NULL: no memory. */
static struct cache_file *listed_file(struct cache *c, struct cache_file *dir,
                                      const struct cache_listing *l, size_t i)
{
    const char *spelling;
    const struct listing_entry *e = listing_at(l, i, &spelling);
    struct cache_name *n = name_bind(c, dir, spelling, e->len, &e->attr, listing_bound(l, i));
    if (!n)
        return NULL;
    n->told = true;
    return n->file;
}

/* Answers with entry i: its own attributes, or newer ones that are held of its file. */
static bool answer_listed(struct asked *a, struct cache_listing *l, int64_t i,
                          enum observe_miss *ret_why, enum observe_trust *ret_trust)
{
    struct cache *c = a->c;
    const char *spelling;
    const struct listing_entry *e = listing_at(l, (size_t)i, &spelling);
    struct stamp s = listing_heard(l, (size_t)i);
    struct cache_file *f = listed_file(c, a->dir, l, (size_t)i);
    if (!f) {
        *ret_why = MISS_ABSENT;
        return false;
    }
    enum observe_miss why;
    bool held = believed_info(a, f, &why);
    bool listed =
        cache_file_same(f, &e->attr) && listed_attr_valid(c, a->dir, l, (size_t)i, f, a->now);
    if (!a->look && listed && (!held || lease_covers(c, f, f->info.asked)))
        file_hear_listed(c, f, &e->attr, s);
    if (!held && !listed) {
        *ret_why = why_not_listed(c, f, l, (size_t)i);
        return false;
    }
    bool use_held = held && (!listed || order_after(f->info.order, s.order) ||
                             (f->info.order == s.order && !f->info_listed));
    struct term t = term_of_both(use_held ? info_term(c, f, a->now)
                                          : listed_attr_term(c, l, (size_t)i, f, a->now),
                                 listing_term(c, a->dir, a->now));
    *ret_trust = t.trust;
    answer_found(a->ret, f, use_held ? &f->attr : &e->attr, t.until, spelling, e->len);
    return true;
}

static bool ask_directory(struct asked *a)
{
    enum observe_miss why;
    struct cache_listing *l = believed_listing(a, &why);
    if (l) {
        struct term t = listing_term(a->c, a->dir, a->now);
        int64_t i = listed_as(a->c, l, a->name, a->len);
        bool doubted = is_doubted(a->c, a->dir, a->name, a->len, i != -1);
        /* another listing tells no more, or more than is asked for */
        a->by_path = i == -2 || doubted || !a->c->enabled[OBSERVE_INFO];
        if (i == -2 || doubted)
            why = i == -2 ? MISS_CASE : MISS_CHANGED;
        else if (i == -1)
            answer_missing(a->ret, -ENOENT, t.until);
        if (!doubted && (i == -1 || (i >= 0 && answer_listed(a, l, i, &why, &t.trust)))) {
            hit(a, OBSERVE_DIR, t.trust, &a->dir->dir->ring);
            return true;
        }
    }
    miss(a, OBSERVE_DIR, why);
    return false;
}

static bool ask_not_found(struct asked *a)
{
    struct term t = believed_negative(a);
    if (t.until) {
        answer_missing(a->ret, -ENOENT, t.until);
        hit(a, OBSERVE_NOTFOUND, t.trust, NULL); /* marked already */
        return true;
    }
    miss(a, OBSERVE_NOTFOUND, t.why);
    return false;
}

static bool ask_info(struct asked *a)
{
    struct cache *c = a->c;
    enum observe_miss why = c->enabled[OBSERVE_INFO] ? MISS_ABSENT : MISS_DISABLED;
    struct cache_name *n = name_find(c, a->dir, a->name, a->len);
    if (n && n->confirmed) {
        struct cache_file *f = n->file;
        struct term t = {0};
        if (believed_info(a, f, &why)) {
            t = term_of_both(info_term(c, f, a->now), existence_term(c, n, a->now));
            why = t.why;
        }
        if (t.until) {
            answer_found(a->ret, f, &f->attr, t.until, n->spelling, n->len);
            hit(a, OBSERVE_INFO, t.trust, &f->ring);
            return true;
        }
    }
    miss(a, OBSERVE_INFO, why);
    return false;
}

/* ---- what to ask the server ---- */

static bool parent_is_listed(struct cache *c, const struct cache_file *dir, uint64_t now)
{
    if (list_empty(&dir->names))
        return false;
    const struct cache_dir *parent =
        container_of(dir->names.next, struct cache_name, of_file)->dir->dir;
    return parent->listing && listing_term(c, parent->file, now).until;
}

static bool is_too_large(const struct cache *c, const struct cache_dir *d, uint64_t now)
{
    return d->too_large && still_valid(c, OBSERVE_DIR, d->too_large_sent, now);
}

static enum cache_step on_evidence(struct asked *a)
{
    struct cache *c = a->c;
    struct cache_dir fresh = {0}, *d = a->look ? a->dir->dir : file_dir(c, a->dir);
    if (a->look && !d)
        d = &fresh;
    if (!d || !c->enabled[OBSERVE_DIR] || is_too_large(c, d, a->now) ||
        (a->now >= d->rest_from && a->now - d->rest_from < d->rest))
        return CACHE_STAT;
    unsigned probes = still_valid(c, OBSERVE_DIR, d->last_probe, a->now) ? d->probes + 1 : 1;
    if (!a->look) {
        d->probes = probes;
        d->last_probe = a->now;
    }
    bool soon = d->listed || a->below_listed || parent_is_listed(c, a->dir, a->now);
    if (probes < (d->large ? LARGE_THRESHOLD : soon ? 1 : 2))
        return CACHE_STAT;
    a->ret->guess = !d->large;
    return CACHE_LIST;
}

static bool has_wildcard(const char *name, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (name[i] && strchr("*?<>\"", name[i]))
            return true;
    return false;
}

static enum cache_step on_miss(struct asked *a)
{
    const struct cache *c = a->c;
    const struct cache_dir *d = a->dir->dir;
    enum cache_step search = has_wildcard(a->name, a->len) ? CACHE_STAT : CACHE_SEARCH;
    if (a->by_path)
        return CACHE_STAT;
    switch (c->settings.on_miss) {
    case ON_MISS_LIST:
        return !c->enabled[OBSERVE_DIR]          ? search
               : d && is_too_large(c, d, a->now) ? CACHE_STAT
                                                 : CACHE_LIST;
    case ON_MISS_SEARCH:
        return search;
    case ON_MISS_EVIDENCE:
        return on_evidence(a);
    case ON_MISS_STAT:
        break;
    }
    return CACHE_STAT;
}

/* Would the directory's listing answer, if it were verified? Where the entry's attributes have run
 * out, another one tells more for the same. */
static bool verify_helps(struct asked *a)
{
    struct cache *c = a->c;
    const struct cache_dir *d = a->dir->dir;
    enum observe_miss why;
    if (!d || !d->listing || !may_be_verified(c, a->dir, a->now))
        return false;
    int64_t i = listed_as(c, d->listing, a->name, a->len);
    if (i < 0)
        return i == -1;
    const char *spelling;
    const struct file_attr *attr = &listing_at(d->listing, (size_t)i, &spelling)->attr;
    struct cache_file *f = listed_file(c, a->dir, d->listing, (size_t)i);
    return f && (believed_info(a, f, &why) ||
                 (cache_file_same(f, attr) &&
                  listed_attr_valid(c, a->dir, d->listing, (size_t)i, f, a->now)));
}

/* An open goes to the server in any case but where the name is believed missing. */
static void plan_open(struct cache *c, struct cache_plan *ret, bool answered)
{
    if (answered && ret->result < 0)
        return;
    struct cache_file *f = answered ? ret->file : NULL;
    *ret = (struct cache_plan){.step = CACHE_OPEN};
    if (f)
        cache_file_unref(c, f);
}

static void plan_lookup(struct asked *a, enum cache_intent intent)
{
    struct cache *c = a->c;
    struct cache_file *dir = a->dir;
    struct cache_plan *ret = a->ret;
    *ret = (struct cache_plan){0};
    if (!dir->is_dir) {
        answer_missing(ret, -ENOTDIR, 0);
        return;
    }
    dir->refs++; /* expiry may drop the last thing that holds it */
    bool answered =
        ask_directory(a) || ask_not_found(a) || (c->settings.info_answers_lookup && ask_info(a));
    if (intent == CACHE_OPEN_IT)
        plan_open(c, ret, answered);
    else if (!answered)
        ret->step = verify_helps(a) ? CACHE_VERIFY : on_miss(a);
    dir->refs--;
    file_settle(c, dir);
}

void cache_plan_lookup(struct cache *c, struct cache_file *dir, const char *name, size_t len,
                       enum cache_intent intent, uint64_t now, struct cache_plan *ret)
{
    struct asked a = {.c = c, .dir = dir, .name = name, .len = len, .now = now, .ret = ret};
    plan_lookup(&a, intent);
}

void plan_look(struct cache *c, struct cache_file *dir, const char *name, size_t len,
               bool below_listed, uint64_t now, struct cache_plan *ret,
               enum observe_cache *ret_which)
{
    struct cache_file nobody = {.is_dir = true, .refs = 1};
    list_init(&nobody.names);
    list_init(&nobody.idle);
    struct asked a = {.c = c,
                      .dir = dir ? dir : &nobody,
                      .name = name,
                      .len = len,
                      .now = now,
                      .ret = ret,
                      .look = true,
                      .below_listed = below_listed};
    plan_lookup(&a, CACHE_LOOK_UP);
    *ret_which = a.hit;
}

void cache_answer_from(struct cache *c, struct cache_file *dir, struct cache_listing *l,
                       const char *name, size_t len, struct cache_ticket ticket, uint64_t now,
                       struct cache_plan *ret)
{
    struct asked a = {.c = c, .dir = dir, .name = name, .len = len, .now = now, .ret = ret};
    int64_t i = listed_as(c, l, name, len);
    *ret = (struct cache_plan){.step = CACHE_STAT};
    bool believed = dir->dir && dir->dir->listing == l && !is_doubted(c, dir, name, len, i != -1);
    if (i == -1)
        answer_missing(ret, -ENOENT, believed ? listing_term(c, dir, now).until : 0);
    if (i < 0)
        return;
    enum observe_miss why;
    enum observe_trust trust;
    if (believed && answer_listed(&a, l, i, &why, &trust))
        return;
    /* not believed, but it is what the server has just said */
    const char *spelling;
    const struct listing_entry *e = listing_at(l, (size_t)i, &spelling);
    struct cache_name *n = name_bind(c, dir, spelling, e->len, &e->attr, ticket.order);
    if (n)
        answer_found(ret, n->file, &e->attr, 0, spelling, e->len);
}

/* ---- attributes of a file that is held ---- */

/* What a believed listing of the directory says about the file, or NULL. */
static const struct file_attr *attr_from_listing(struct cache *c, struct cache_file *f,
                                                 uint64_t now, uint64_t *ret_order,
                                                 struct term *ret_term, struct cache_dir **ret_dir,
                                                 enum observe_miss *ret_why)
{
    *ret_why = c->enabled[OBSERVE_DIR] ? MISS_ABSENT : MISS_DISABLED;
    struct cache_name *n = name_leading_to(f);
    if (!n)
        return NULL;
    struct cache_listing *l = listing_valid(c, n->dir, now, ret_why);
    if (!l)
        return NULL;
    size_t folded, one;
    const char *spelling;
    int64_t i = listing_find(l, n->spelling, n->len, &folded, &one);
    *ret_why = MISS_ABSENT;
    if (i < 0)
        return NULL;
    const struct file_attr *attr = &listing_at(l, (size_t)i, &spelling)->attr;
    *ret_order = listing_heard(l, (size_t)i).order;
    *ret_term =
        term_of_both(listed_attr_term(c, l, (size_t)i, f, now), listing_term(c, n->dir, now));
    *ret_dir = n->dir->dir;
    bool doubted = is_doubted(c, n->dir, n->spelling, n->len, true);
    *ret_why = doubted ? MISS_CHANGED : why_not_listed(c, f, l, (size_t)i);
    return !doubted && cache_file_same(f, attr) &&
                   listed_attr_valid(c, n->dir, l, (size_t)i, f, now)
               ? attr
               : NULL;
}

void cache_plan_attr(struct cache *c, struct cache_file *f, uint64_t now, struct cache_plan *ret)
{
    struct event_path p;
    enum observe_miss info_why, listed_why;
    uint64_t order;
    struct term t;
    struct cache_dir *d;
    f->refs++;
    bool held = info_valid(c, f, now, &info_why);
    const struct file_attr *listed = attr_from_listing(c, f, now, &order, &t, &d, &listed_why);
    *ret = (struct cache_plan){.step = CACHE_STAT};
    if (listed && (!held || order_after(order, f->info.order))) {
        d->ring.used = true;
        answer_found(ret, f, listed, t.until, NULL, 0);
        observe_hit(c->observe, OBSERVE_DIR, t.trust, event_file(c, f, &p));
    } else if (held) {
        t = info_term(c, f, now);
        f->ring.used = true;
        answer_found(ret, f, &f->attr, t.until, NULL, 0);
        observe_hit(c->observe, OBSERVE_INFO, t.trust, event_file(c, f, &p));
    } else {
        const struct cache_name *n = name_leading_to(f);
        const struct cache_file *dir = n ? n->dir : c->root;
        const char *name = n ? n->spelling : "";
        observe_miss(c->observe, OBSERVE_INFO, info_why, event_file(c, f, &p));
        observe_miss(c->observe, OBSERVE_DIR, listed_why, event_file(c, f, &p));
        if (n || f == c->root) {
            miss_remember(c, dir, name, n ? n->len : 0, OBSERVE_INFO, info_why, now);
            miss_remember(c, dir, name, n ? n->len : 0, OBSERVE_DIR, listed_why, now);
        }
    }
    f->refs--;
    file_settle(c, f);
}

bool attr_look(const struct cache *c, const struct cache_file *f, uint64_t now)
{
    enum observe_miss why;
    const struct cache_name *n = name_leading_to(f);
    const struct cache_listing *l = n ? listing_look(c, n->dir, now, &why) : NULL;
    if (info_look(c, f, now, &why))
        return true;
    size_t folded, one;
    const char *spelling;
    int64_t i = l ? listing_find(l, n->spelling, n->len, &folded, &one) : -1;
    return i >= 0 && !is_doubted(c, n->dir, n->spelling, n->len, true) &&
           cache_file_same(f, &listing_at(l, (size_t)i, &spelling)->attr) &&
           listed_attr_valid(c, n->dir, l, (size_t)i, f, now);
}

struct cache_listing *cache_plan_listing(struct cache *c, struct cache_file *dir, uint64_t now)
{
    struct event_path p;
    enum observe_miss why;
    struct cache_listing *l = listing_valid(c, dir, now, &why);
    if (l && has_doubts(dir->dir)) {
        l = NULL;
        why = MISS_CHANGED;
    }
    if (!l) {
        observe_miss(c->observe, OBSERVE_DIR, why, event_file(c, dir, &p));
        miss_remember(c, dir, MISSED_INSIDE, 1, OBSERVE_DIR, why, now);
        return NULL;
    }
    dir->dir->ring.used = true;
    observe_hit(c->observe, OBSERVE_DIR, listing_term(c, dir, now).trust, event_file(c, dir, &p));
    listing_compact(l);
    return cache_listing_ref(l);
}

/* ---- paths ---- */

/* 0 and the directory object behind one component, or why a belief says that there is none. */
static int walk_down(struct asked *a, struct cache_file **ret)
{
    struct cache *c = a->c;
    enum observe_miss why;
    struct cache_listing *l = listing_valid(c, a->dir, a->now, &why);
    int64_t i = l ? listed_as(c, l, a->name, a->len) : -2;
    if (is_doubted(c, a->dir, a->name, a->len, i != -1))
        i = -2;
    struct term t = {0};
    const char *spelling = a->name;
    size_t len = a->len;
    if (i >= 0) {
        const struct listing_entry *e = listing_at(l, (size_t)i, &spelling);
        len = e->len;
        if (!file_attr_is_dir(&e->attr)) {
            hit(a, OBSERVE_DIR, listing_term(c, a->dir, a->now).trust, &a->dir->dir->ring);
            return -ENOTDIR;
        }
        listed_file(c, a->dir, l, (size_t)i);
    }
    if (i == -1) {
        hit(a, OBSERVE_DIR, listing_term(c, a->dir, a->now).trust, &a->dir->dir->ring);
        return -ENOENT;
    }
    if (i == -2 && (t = negative_valid(c, a->dir, a->name, a->len, a->now)).until) {
        hit(a, OBSERVE_NOTFOUND, t.trust, NULL);
        return -ENOENT;
    }
    struct cache_name *n = name_find(c, a->dir, spelling, len);
    if (n && !n->file->is_dir && n->confirmed && (t = existence_term(c, n, a->now)).until &&
        info_valid(c, n->file, a->now, &why)) {
        hit(a, OBSERVE_INFO, term_of_both(t, info_term(c, n->file, a->now)).trust, &n->file->ring);
        return -ENOTDIR;
    }
    n = name_bind_unknown_dir(c, a->dir, spelling, len);
    if (!n)
        return -ENOMEM;
    *ret = n->file;
    return 0;
}

int cache_walk(struct cache *c, const char *path, size_t len, uint64_t now,
               struct cache_file **ret_dir, const char **ret_name, size_t *ret_name_len)
{
    struct cache_file *dir = cache_file_ref(c->root);
    const char *end = path + len, *slash;
    while ((slash = memchr(path, '/', (size_t)(end - path)))) {
        struct asked a = {
            .c = c, .dir = dir, .name = path, .len = (size_t)(slash - path), .now = now};
        struct cache_file *next;
        int r = walk_down(&a, &next);
        if (r == 0)
            cache_file_ref(next);
        cache_file_unref(c, dir);
        if (r < 0)
            return r;
        dir = next;
        path = slash + 1;
    }
    *ret_dir = dir;
    *ret_name = path;
    *ret_name_len = (size_t)(end - path);
    return 0;
}

static bool is_doubtful(struct cache *c, const struct cache_name *n, uint64_t now)
{
    enum observe_miss why;
    const struct cache_dir *d = n->dir->dir;
    return d && order_after(d->void_before, n->existence.asked) &&
           !listing_valid(c, n->dir, now, &why);
}

struct cache_file *cache_doubtful(struct cache *c, struct cache_file *dir, uint64_t now)
{
    struct cache_file *topmost = NULL;
    while (!list_empty(&dir->names)) {
        const struct cache_name *n = container_of(dir->names.next, struct cache_name, of_file);
        if (is_doubtful(c, n, now))
            topmost = dir;
        dir = n->dir;
    }
    return topmost;
}
