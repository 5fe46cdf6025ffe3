/*
 * For how long something is believed, and on whose word.
 *
 * Every belief has the order at which it was asked for. A promise is two orders: it counts for what
 * was asked with the very request that brought it, and for what was asked after it was noted. So
 * whether a belief is covered is a comparison when it is looked at; giving a promise, losing one,
 * and losing all of them (an epoch) touch no belief. Covered, it lives until the maximum age from
 * when it was asked for or last verified, else for its lifetime.
 *
 * What ends beliefs works the same way: a directory, the cache as a whole and every file on the way
 * down from the root have an order before which nothing was asked that is still believed. What is
 * void is dropped when it is next looked at, with its reason. A lease is a promise by the file's
 * own handle, and is not touched by what becomes of the path.
 *
 * Verification compares times of the server with times of the server: a listing is good as long as
 * its directory has the times that it had when the listing began, if these were old by then. That
 * they were is known where an earlier answer had told the same ones; the clocks of two machines are
 * never compared.
 */
#include "cache/internal.h"

/* ---- what covers a belief ---- */

bool lease_covers(const struct cache *c, const struct cache_file *f, uint64_t asked)
{
    return c->max_age && f->promised && f->epoch == c->promise_epoch &&
           (asked == f->promised_with || order_after(asked, f->promised_from));
}

/* Notices find the file by this name: it is the server's own, and led here when last asked for. */
static bool is_sure(const struct cache_name *n)
{
    return n->told && order_after(n->bound, n->noticed);
}

/* Notices about what is in `dir` find it. */
static bool is_told_of(const struct cache *c, const struct cache_file *dir)
{
    while (!list_empty(&dir->names)) {
        const struct cache_name *n = container_of(dir->names.next, struct cache_name, of_file);
        if (!is_sure(n))
            return false;
        dir = n->dir;
    }
    return dir == c->root;
}

static bool watch_covers(const struct cache *c, const struct cache_file *dir, uint64_t asked)
{
    return c->max_age && c->watched && order_after(asked, c->watched_from) && is_told_of(c, dir);
}

/* Of written data servers tell late, or never (Samba does not), so only a directory's attributes
 * are covered: they change with its names. */
static bool watch_covers_attr(const struct cache *c, const struct cache_file *f, uint64_t asked)
{
    if (!f->is_dir || list_empty(&f->names) || f->names.next != f->names.prev)
        return false;
    const struct cache_name *n = container_of(f->names.next, struct cache_name, of_file);
    return is_sure(n) && watch_covers(c, n->dir, asked);
}

/* Notices were lost since, or `dir` or one on the way down to it was moved. */
static bool is_void(const struct cache *c, const struct cache_file *dir, uint64_t asked)
{
    if (order_after(c->noticed_lost, asked))
        return true;
    if (!order_after(c->uprooted, asked))
        return false;
    for (;; dir = container_of(dir->names.next, struct cache_name, of_file)->dir) {
        if (order_after(dir->uprooted, asked))
            return true;
        if (list_empty(&dir->names))
            return false;
    }
}

static bool is_attr_void(const struct cache *c, const struct cache_file *f, uint64_t asked)
{
    return list_empty(&f->names)
               ? order_after(c->noticed_lost, asked)
               : is_void(c, container_of(f->names.next, struct cache_name, of_file)->dir, asked);
}

/* ---- terms ---- */

static struct term over(enum observe_miss why)
{
    return (struct term){.why = why};
}

struct term term_of_both(struct term a, struct term b)
{
    if (!a.until || !b.until)
        return over(a.until ? b.why : a.why);
    return (struct term){.until = a.until < b.until ? a.until : b.until,
                         .trust = a.trust < b.trust ? a.trust : b.trust};
}

/* `renewed`: when the promise was last verified for it. */
static struct term reckon(const struct cache *c, enum observe_cache which, uint64_t sent,
                          enum observe_trust trust, uint64_t renewed, uint64_t now)
{
    struct term t = {.until = sent + c->lifetime[which], .trust = trust};
    if (renewed < sent || renewed > now)
        renewed = sent;
    if (trust != TRUST_TIME && t.until < renewed + c->max_age)
        t.until = renewed + c->max_age;
    return now >= sent && now < t.until ? t : over(MISS_EXPIRED);
}

static struct term names_term(const struct cache *c, const struct cache_file *dir,
                              enum observe_cache which, const struct stamp *s, bool told,
                              uint64_t now)
{
    const struct cache_dir *d = dir->dir;
    if (!c->enabled[which])
        return over(MISS_DISABLED);
    if (order_after(d->void_before, s->asked))
        return over(d->void_why);
    bool leased = lease_covers(c, dir, s->asked);
    if (!leased && is_void(c, dir, s->asked))
        return over(MISS_CHANGED);
    enum observe_trust trust = leased                                   ? TRUST_LEASE
                               : told && watch_covers(c, dir, s->asked) ? TRUST_WATCH
                                                                        : TRUST_TIME;
    bool verified = d->listing && !order_after(listing_stamp(d->listing).order, s->asked);
    return reckon(c, which, s->sent, trust, verified ? d->verified : 0, now);
}

struct term listing_term(const struct cache *c, const struct cache_file *dir, uint64_t now)
{
    struct stamp s = listing_stamp(dir->dir->listing);
    return names_term(c, dir, OBSERVE_DIR, &s, true, now);
}

struct term missing_term(const struct cache *c, const struct cache_file *dir, const char *name,
                         size_t len, const struct stamp *stamp, uint64_t now)
{
    return names_term(c, dir, OBSERVE_NOTFOUND, stamp, is_spelled_surely(name, len), now);
}

struct term existence_term(const struct cache *c, const struct cache_name *n, uint64_t now)
{
    return names_term(c, n->dir, OBSERVE_INFO, &n->existence, is_sure(n), now);
}

static struct term attr_term(const struct cache *c, const struct cache_file *f, struct stamp s,
                             bool listed, uint64_t now)
{
    if (!c->enabled[OBSERVE_INFO])
        return over(MISS_DISABLED);
    bool leased = !listed && !f->is_dir && lease_covers(c, f, s.asked);
    if (!leased && is_attr_void(c, f, s.asked))
        return over(MISS_CHANGED);
    enum observe_trust trust = leased                             ? TRUST_LEASE
                               : watch_covers_attr(c, f, s.asked) ? TRUST_WATCH
                                                                  : TRUST_TIME;
    return reckon(c, OBSERVE_INFO, s.sent, trust, 0, now);
}

struct term info_term(const struct cache *c, const struct cache_file *f, uint64_t now)
{
    return attr_term(c, f, f->info, f->info_listed, now);
}

struct term listed_attr_term(const struct cache *c, const struct cache_listing *l, size_t i,
                             const struct cache_file *f, uint64_t now)
{
    return attr_term(c, f, listing_heard(l, i), true, now);
}

static bool tells(const struct cache *c, const struct cache_file *dir,
                  const struct cache_listing *l, size_t i, uint64_t now)
{
    const char *spelling;
    const struct listing_entry *e = listing_at(l, i, &spelling);
    struct stamp s = listing_heard(l, i);
    const struct cache_name *n = name_find(c, dir, spelling, e->len);
    if (!n) {
        bool covered = file_attr_is_dir(&e->attr) && watch_covers(c, dir, s.asked);
        enum observe_trust trust = covered ? TRUST_WATCH : TRUST_TIME;
        return !is_void(c, dir, s.asked) && reckon(c, OBSERVE_INFO, s.sent, trust, 0, now).until &&
               !modified_since(c, dir, spelling, e->len, s.asked);
    }
    const struct file_attr *newer = &n->file->attr;
    return listed_attr_valid(c, dir, l, i, n->file, now) ||
           (n->file->believed && info_term(c, n->file, now).until && newer->size == e->attr.size &&
            newer->written == e->attr.written && newer->attributes == e->attr.attributes);
}

bool cache_listing_tells(const struct cache *c, const struct cache_file *dir,
                         const struct cache_listing *l, uint64_t now)
{
    for (size_t i = 0; c->enabled[OBSERVE_INFO] && i < cache_listing_count(l); i++)
        if (!tells(c, dir, l, i, now))
            return false;
    return true;
}

/* ---- promises ---- */

bool cache_promised(struct cache *c, struct cache_file *f, struct cache_ticket ticket)
{
    if (!order_after(ticket.order, f->broken))
        return false;
    if (f->promised && f->epoch == c->promise_epoch)
        return true; /* covers this ticket, too */
    f->promised = true;
    f->epoch = c->promise_epoch;
    f->promised_with = ticket.order;
    f->promised_from = ++c->order;
    return true;
}

bool cache_told_as_of(struct cache *c, struct cache_file *f, uint64_t since)
{
    (void)c;
    if (f->is_dir || !f->heard || f->info.sent <= since)
        return false;
    f->info.sent = since;
    return f->believed;
}

bool cache_changed_since(const struct cache *c, const struct cache_file *f,
                         struct cache_ticket ticket)
{
    const struct list *at;
    if (!order_after(ticket.order, f->changed))
        return true;
    list_for_each(at, &f->names)
    {
        const struct cache_name *n = container_of(at, struct cache_name, of_file);
        if (modified_since(c, n->dir, n->spelling, n->len, ticket.order))
            return true;
    }
    return false;
}

void cache_unpromised(struct cache *c, struct cache_file *f)
{
    (void)c;
    f->promised = false;
}

void cache_broken(struct cache *c, struct cache_file *f)
{
    f->promised = false;
    f->broken = ++c->order;
    f->refs++;
    if (!f->is_dir)
        drop_attr(c, f, MISS_BROKEN);
    else if (file_dir(c, f))
        void_names(c, f, MISS_BROKEN);
    f->refs--;
    file_settle(c, f);
}

void cache_promises_lost(struct cache *c)
{
    c->promise_epoch++;
    c->watched = false;
}

void cache_watched(struct cache *c)
{
    if (c->watched)
        return;
    c->watched = true;
    c->watch_tells = false;
    c->unheard_since = 0;
    c->watched_from = ++c->order;
}

bool cache_watch_is_mute(const struct cache *c, uint64_t now)
{
    return c->watched && !c->watch_tells && c->unheard_since && now >= c->unheard_since &&
           now - c->unheard_since >= PROOF_WAIT;
}

void watch_ought_to_tell(struct cache *c, uint64_t now)
{
    if (c->watched && !c->unheard_since)
        c->unheard_since = now;
}

void watch_weigh(struct cache *c, const struct cache_file *dir, const struct file_attr *attr,
                 uint64_t now)
{
    const struct cache_ticket heard = {.order = dir->info.order, .sent = dir->info.sent};
    if (dir->is_dir && dir->heard && !dir->info_listed && attr->written != dir->attr.written &&
        names_unchanged(dir, heard) && watch_covers(c, dir, dir->info.asked))
        watch_ought_to_tell(c, now);
}

void cache_unwatched(struct cache *c)
{
    c->watched = false;
}

void uproot(struct cache *c, struct cache_file *f, uint64_t order)
{
    f->uprooted = c->uprooted = order;
}

/* ---- verification ---- */

void base_taken(struct cache_file *dir, struct cache_ticket ticket)
{
    struct cache_dir *d = dir->dir;
    d->base_known = dir->heard && dir->info.order == ticket.order && !dir->info_listed &&
                    dir->attr.written && ticket.sent >= dir->times_since &&
                    ticket.sent - dir->times_since >= COARSE_CLOCK;
    if (d->base_known)
        d->base = dir->attr;
}

bool may_be_verified(const struct cache *c, const struct cache_file *dir, uint64_t now)
{
    const struct cache_dir *d = dir->dir;
    if (!d->listing || !d->base_known || listing_term(c, dir, now).why != MISS_EXPIRED)
        return false;
    struct stamp s = listing_stamp(d->listing);
    return now >= s.sent && (lease_covers(c, dir, s.asked) || watch_covers(c, dir, s.asked));
}

bool cache_must_verify(struct cache *c, struct cache_file *dir, bool attributes_wanted,
                       uint64_t now)
{
    const struct cache_dir *d = dir->dir;
    if (!d || !d->listing || listing_term(c, dir, now).until || !may_be_verified(c, dir, now))
        return false;
    bool attributes = now - listing_stamp(d->listing).sent < c->lifetime[OBSERVE_INFO];
    return !attributes_wanted || attributes || d->large;
}

static bool is_as_listed(const struct cache_file *dir, const struct file_attr *attr)
{
    const struct file_attr *base = &dir->dir->base;
    return attr->id == base->id && attr->written == base->written && attr->changed == base->changed;
}

bool cache_verified(struct cache *c, struct cache_file *dir, const struct file_attr *attr,
                    struct cache_ticket ticket, uint64_t now)
{
    struct cache_dir *d = dir->dir;
    bool good = false;
    dir->refs++;
    if (attr)
        cache_commit_attr(c, dir, attr, ticket, now);
    if (d && d->listing && d->base_known && !listing_is_newer(dir, ticket)) {
        good = attr && is_as_listed(dir, attr) && names_unchanged(dir, ticket);
        if (good)
            d->verified = ticket.sent;
        else
            void_names(c, dir, MISS_CHANGED);
    }
    dir->refs--;
    file_settle(c, dir);
    return good;
}
