/*
 * What is believed, shown to people: the same beliefs, terms and plan that answer programs, looked
 * at without a trace (plan_look).
 *
 * Why a cache did not answer is forgotten with the miss, once something is believed anew. So the
 * last misses are remembered by name: a table of fixed size, by a hash of directory and name, in
 * which a newer name takes the place of an older one. A miss costs one hash of the name for it.
 */
#include "cache/internal.h"

/* ---- the last misses ---- */

static uint64_t missed_key(const struct cache *c, const struct cache_file *dir, const char *name,
                           size_t len)
{
    return hash_bytes(name, len, c->seed ^ hash_u64(dir->serial));
}

void miss_remember(struct cache *c, const struct cache_file *dir, const char *name, size_t len,
                   enum observe_cache which, enum observe_miss why, uint64_t now)
{
    uint64_t key = missed_key(c, dir, name, len);
    struct missed *m = &c->missed[key % MISSED_MAX];
    if (m->key != key)
        *m = (struct missed){.key = key};
    m->by[which].any = true;
    m->by[which].why = why;
    m->by[which].at = now;
}

static void recall_miss(const struct cache *c, const struct cache_file *dir, const char *name,
                        size_t len, enum observe_cache which, struct cache_belief *b)
{
    uint64_t key = missed_key(c, dir, name, len);
    const struct missed *m = &c->missed[key % MISSED_MAX];
    if (m->key != key || !m->by[which].any)
        return;
    b->missed = true;
    b->missed_why = m->by[which].why;
    b->missed_at = m->by[which].at;
}

/* ---- one belief ---- */

static struct cache_belief belief_of(struct term t, uint64_t sent)
{
    return (struct cache_belief){.held = true,
                                 .good = t.until != 0,
                                 .since = sent,
                                 .until = t.until,
                                 .trust = t.trust,
                                 .why = t.why};
}

static struct cache_belief belief_of_listing(const struct cache *c, const struct cache_file *dir,
                                             uint64_t now)
{
    const struct cache_dir *d = dir->dir;
    struct cache_belief b = {0};
    enum observe_miss why;
    if (d && d->listing) {
        b = belief_of(listing_term(c, dir, now), listing_stamp(d->listing).sent);
        b.verified = d->verified;
        b.verifiable = !b.good && may_be_verified(c, dir, now);
    } else {
        listing_look(c, dir, now, &why);
        b.why = why;
    }
    return b;
}

/* What the parent's listing says of the name. */
static void explain_listed(const struct cache *c, const struct cache_file *dir, const char *name,
                           size_t len, uint64_t now, struct cache_explained *e)
{
    e->listed = belief_of_listing(c, dir, now);
    recall_miss(c, dir, name, len, OBSERVE_DIR, &e->listed);
    if (!e->listed.held)
        return;
    int64_t i = listed_as(c, dir->dir->listing, name, len);
    e->listed_entries = cache_listing_count(dir->dir->listing);
    e->says = i >= 0 ? CACHE_SAYS_THERE : i == LISTED_NOT ? CACHE_SAYS_MISSING : CACHE_SAYS_NOTHING;
    bool doubted = is_doubted(c, dir, name, len, i != LISTED_NOT);
    if (i != LISTED_CANNOT_TELL && !doubted)
        return;
    e->says = CACHE_SAYS_NOTHING;
    e->listed.why = doubted ? MISS_CHANGED : MISS_CASE;
    e->listed.good = e->listed.verifiable = false;
}

static void explain_missing(const struct cache *c, const struct cache_file *dir, const char *name,
                            size_t len, uint64_t now, struct cache_explained *e)
{
    const struct cache_negative *n = negative_find(c, dir, name, len);
    struct term t = negative_look(c, dir, name, len, now);
    e->missing = n ? belief_of(t, n->stamp.sent) : (struct cache_belief){.why = t.why};
    recall_miss(c, dir, name, len, OBSERVE_NOTFOUND, &e->missing);
}

/* The file's attributes: held by itself, or out of the listing that has this name of it. */
static void explain_info(const struct cache *c, const struct cache_name *n,
                         const struct cache_file *f, uint64_t now, struct cache_explained *e)
{
    enum observe_miss why;
    if (f->believed)
        e->info = belief_of(info_term(c, f, now), f->info.sent);
    else
        info_look(c, f, now, &why), e->info.why = why;
    recall_miss(c, n ? n->dir : c->root, n ? n->spelling : "", n ? n->len : 0, OBSERVE_INFO,
                &e->info);
    const struct cache_listing *l = n ? listing_look(c, n->dir, now, &why) : NULL;
    int64_t i = l ? listed_as(c, l, n->spelling, n->len) : -1;
    if (e->info.good || i < 0 || is_doubted(c, n->dir, n->spelling, n->len, true) ||
        !listed_attr_valid(c, n->dir, l, (size_t)i, f, now))
        return;
    struct cache_belief listed = belief_of(
        term_of_both(listed_attr_term(c, l, (size_t)i, f, now), listing_term(c, n->dir, now)),
        listing_heard(l, (size_t)i).sent);
    listed.missed = e->info.missed;
    listed.missed_why = e->info.missed_why;
    listed.missed_at = e->info.missed_at;
    e->info = listed;
    e->info_from_listing = true;
}

/* ---- the whole ---- */

static enum cache_step plan_listing_look(struct cache *c, struct cache_file *dir, uint64_t now)
{
    enum observe_miss why;
    if (dir->dir && listing_look(c, dir, now, &why) && !has_doubts(dir->dir))
        return CACHE_ANSWER;
    return cache_must_verify(c, dir, false, now) ? CACHE_VERIFY : CACHE_LIST;
}

static void explain_file(struct cache *c, const struct cache_name *n, struct cache_file *f,
                         uint64_t now, struct cache_explained *e)
{
    const struct file_attr *heard = cache_file_heard(f);
    e->file = cache_file_ref(f);
    e->kind_known = f->identified || f == c->root;
    e->is_dir = f->is_dir;
    e->heard = heard != NULL;
    if (heard)
        e->attr = *heard;
    explain_info(c, n, f, now, e);
    e->attr_step = attr_look(c, f, now) ? CACHE_ANSWER : CACHE_STAT;
    if (!f->is_dir)
        return;
    e->listing = belief_of_listing(c, f, now);
    recall_miss(c, f, MISSED_INSIDE, 1, OBSERVE_DIR, &e->listing);
    if (f->dir && f->dir->listing) {
        e->entries = cache_listing_count(f->dir->listing);
        e->entries_bytes = cache_listing_wire_bytes(f->dir->listing);
        if (e->listing.good && has_doubts(f->dir)) {
            e->listing.good = false;
            e->listing.why = MISS_CHANGED;
        }
    }
    e->list_step = plan_listing_look(c, f, now);
}

/* Nothing has been heard of a file of this name, or not of its directory. */
static void explain_nobody(const struct cache *c, const struct cache_file *dir, const char *name,
                           size_t len, struct cache_explained *e)
{
    bool info = c->enabled[OBSERVE_INFO];
    e->info.why = info ? MISS_ABSENT : MISS_DISABLED;
    e->listing.why = c->enabled[OBSERVE_DIR] ? MISS_ABSENT : MISS_DISABLED;
    e->attr_step = info ? CACHE_ANSWER : CACHE_STAT; /* the look-up brings them */
    e->list_step = CACHE_LIST;
    if (dir)
        recall_miss(c, dir, name, len, OBSERVE_INFO, &e->info);
}

void cache_explain(struct cache *c, struct cache_file *dir, const char *name, size_t len,
                   bool below_listed, uint64_t now, struct cache_explained *ret)
{
    *ret = (struct cache_explained){0};
    if (dir == c->root && len == 0) {
        explain_file(c, NULL, c->root, now, ret);
        ret->result = 0;
        return;
    }
    struct cache_plan plan;
    plan_look(c, dir, name, len, below_listed, now, &plan, &ret->answered_by);
    ret->step = plan.step;
    ret->guess = plan.guess;
    ret->result = plan.result;
    ret->listed.why = c->enabled[OBSERVE_DIR] ? MISS_ABSENT : MISS_DISABLED;
    ret->missing.why = c->enabled[OBSERVE_NOTFOUND] ? MISS_ABSENT : MISS_DISABLED;
    if (dir && dir->is_dir) {
        explain_listed(c, dir, name, len, now, ret);
        explain_missing(c, dir, name, len, now, ret);
    }
    struct cache_file *f = plan.file;
    const struct cache_name *n = dir ? name_find(c, dir, name, len) : NULL;
    if (dir && f && (!n || n->file != f))
        n = name_find(c, dir, plan.spelling, plan.spelling_len);
    if (!f && n)
        f = n->file;
    if (f)
        explain_file(c, n, f, now, ret);
    else
        explain_nobody(c, dir, name, len, ret);
    if (!plan.file && f && plan.step != CACHE_ANSWER)
        ret->attr_step = c->enabled[OBSERVE_INFO] ? CACHE_ANSWER : CACHE_STAT;
    if (plan.file)
        cache_file_unref(c, plan.file);
}
