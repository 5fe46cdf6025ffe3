/*
 * Answers become beliefs of the oracle here, or not: only if nothing that they are about has
 * changed since they were asked for, and only over older ones.
 */
#include <string.h>

#include "model/oracle_internal.h"

/* ---- what may be believed ---- */

static uint64_t until(const struct oracle *o, enum observe_cache which, uint64_t sent, uint64_t now)
{
    return oracle_valid(o, which, sent, now) ? sent + o->lifetime[which] : 0;
}

static bool names_unchanged(const struct oracle *o, int dir, struct oracle_ticket t)
{
    if (t.order <= o->file[dir].names_changed)
        return false;
    for (;;) {
        if (t.order <= o->file[dir].moved)
            return false;
        if (dir == ORACLE_ROOT)
            return true;
        const struct oracle_name *n = oracle_name_of(o, dir);
        if (!n)
            return false;
        dir = n->dir;
    }
}

/* Nothing newer than the ticket is known of this name, in whatever case. */
static bool name_newest(const struct oracle *o, int dir, int spelling, struct oracle_ticket t)
{
    int listing = o->file[dir].listing;
    if (listing >= 0 && o->listing[listing].order >= t.order)
        return false;
    for (int i = 0; i < o->negatives; i++)
        if (o->negative[i].there && o->negative[i].dir == dir && o->negative[i].order >= t.order &&
            spellings[o->negative[i].spelling].fold == spellings[spelling].fold)
            return false;
    for (int i = 0; i < o->names; i++)
        if (o->name[i].dir == dir && o->name[i].confirmed && o->name[i].order >= t.order &&
            spellings[o->name[i].spelling].fold == spellings[spelling].fold)
            return false;
    return true;
}

/* 1: it holds the name; 0: it certainly does not; -1: it cannot tell. */
static int tells(const struct oracle_listing *l, int spelling)
{
    int alike, one;
    const struct spelling *s = &spellings[spelling];
    if (oracle_in_listing(l, spelling, &alike, &one) >= 0)
        return 1;
    return alike == 0 && s->ascii && !s->unlisted ? 0 : -1;
}

static void check_listing(struct oracle *o, int dir, int spelling, bool found)
{
    int listing = o->file[dir].listing;
    if (listing < 0 || tells(&o->listing[listing], spelling) != !found)
        return;
    o->counts[OBSERVE_DIR].invalidations++;
    oracle_drop_listing(o, dir, MISS_CHANGED);
}

void oracle_learn_spelling(struct oracle *o, int name, int spelling)
{
    o->folds |= name != spelling && spellings[name].ascii && spellings[spelling].ascii &&
                spellings[name].fold == spellings[spelling].fold;
}

/* ---- answers ---- */

struct oracle_ticket oracle_ask(struct oracle *o, uint64_t now)
{
    return (struct oracle_ticket){++o->order, now};
}

uint64_t oracle_told_attr(struct oracle *o, int file, const struct file_attr *attr,
                          struct oracle_ticket t, uint64_t now)
{
    struct oracle_file *f = &o->file[file];
    if (!oracle_same(o, file, attr) || !oracle_attr_newest(o, file, t.order))
        return 0;
    if (!f->identified && (file == ORACLE_ROOT || oracle_name_of(o, file)))
        oracle_identify(o, file, attr);
    oracle_hear(o, file, attr, t.order, t.sent);
    if (!o->enabled[OBSERVE_INFO])
        return 0;
    o->counts[OBSERVE_INFO].inserts++;
    if (f->believed) {
        oracle_use(o, OBSERVE_INFO, file);
    } else {
        f->believed = true;
        o->bytes += o->info_bytes;
        oracle_ring_add(&o->ring[OBSERVE_INFO], file);
        oracle_keep_bounds(o, OBSERVE_INFO, file);
    }
    return until(o, OBSERVE_INFO, t.sent, now);
}

/* Negatives of this directory (that fold like `spelling`, unless that is -1) and are older. */
static void drop_older_negatives(struct oracle *o, int dir, int spelling, int64_t order)
{
    for (int i = 0; i < o->negatives; i++) {
        const struct oracle_negative *n = &o->negative[i];
        if (n->there && n->dir == dir && n->order < order &&
            (spelling < 0 || spellings[n->spelling].fold == spellings[spelling].fold))
            oracle_drop_negative(o, i);
    }
}

int oracle_found(struct oracle *o, int dir, int name, const struct file_attr *attr,
                 struct oracle_ticket t, uint64_t now, uint64_t *ret_until)
{
    bool believe = names_unchanged(o, dir, t) && name_newest(o, dir, name, t);
    *ret_until = 0;
    if (believe)
        check_listing(o, dir, name, true);
    struct oracle_name *n = oracle_bind(o, dir, name, attr, t.order);
    int file = n->file;
    if (believe) {
        drop_older_negatives(o, dir, name, t.order);
        n->confirmed = true;
        n->place = --o->first_place;
        n->order = t.order;
        n->sent = t.sent;
        *ret_until = oracle_told_attr(o, file, attr, t, now);
    }
    return file;
}

static void add_negative(struct oracle *o, int dir, int name, struct oracle_ticket t)
{
    int at = oracle_find_negative(o, dir, name);
    o->counts[OBSERVE_NOTFOUND].inserts++;
    if (at >= 0) {
        o->negative[at].order = t.order;
        o->negative[at].sent = t.sent;
        oracle_use(o, OBSERVE_NOTFOUND, at);
        return;
    }
    for (at = 0; at < o->negatives && o->negative[at].there; at++)
        ;
    if (at == o->negatives)
        o->negatives++;
    o->negative[at] = (struct oracle_negative){true, dir, name, t.order, t.sent};
    o->bytes += o->negative_bytes + strlen(spellings[name].text);
    oracle_ring_add(&o->ring[OBSERVE_NOTFOUND], at);
    oracle_keep_bounds(o, OBSERVE_NOTFOUND, at);
}

uint64_t oracle_missing(struct oracle *o, int dir, int name, struct oracle_ticket t, uint64_t now)
{
    if (!names_unchanged(o, dir, t) || !name_newest(o, dir, name, t))
        return 0;
    check_listing(o, dir, name, false);
    struct oracle_name *n = oracle_find_name(o, dir, name);
    if (n && t.order > n->bound) {
        if (o->file[n->file].believed)
            o->counts[OBSERVE_INFO].invalidations++;
        oracle_drop_info(o, n->file, MISS_CHANGED);
        oracle_unbind(o, n);
    }
    if (!o->enabled[OBSERVE_NOTFOUND]) {
        oracle_forget(o, dir, t.order);
        return 0;
    }
    add_negative(o, dir, name, t);
    return until(o, OBSERVE_NOTFOUND, t.sent, now);
}

/* Something newer about one name shows that the listing is old. */
static bool contradicted(const struct oracle *o, int dir, const struct oracle_listing *l)
{
    for (int i = 0; i < o->negatives; i++) {
        const struct oracle_negative *n = &o->negative[i];
        if (n->there && n->dir == dir && n->order > l->order && tells(l, n->spelling) == 1)
            return true;
    }
    for (int i = 0; i < o->names; i++) {
        const struct oracle_name *n = &o->name[i];
        if (n->dir == dir && n->confirmed && n->order > l->order && tells(l, n->spelling) == 0)
            return true;
    }
    return false;
}

/* Brings the names of the directory into line with a listing that is newer than they. */
static void reconcile(struct oracle *o, int dir, const struct oracle_listing *l)
{
    for (int i = 0; i < o->names; i++) {
        struct oracle_name *n = &o->name[i];
        int alike, one;
        if (n->dir != dir || n->bound >= l->order)
            continue;
        int at = oracle_in_listing(l, n->spelling, &alike, &one);
        if (at < 0) {
            if (n->confirmed && n->order < l->order)
                n->confirmed = false;
        } else if (!oracle_same(o, n->file, &l->attr[at])) {
            oracle_unbind(o, n);
            i--;
        } else {
            n->bound = l->order;
            if (!o->file[n->file].identified)
                oracle_identify(o, n->file, &l->attr[at]);
            if (oracle_attr_newest(o, n->file, l->order))
                oracle_hear(o, n->file, &l->attr[at], l->order, l->sent);
        }
    }
}

static void take_listing(struct oracle *o, int dir, int listing, struct oracle_ticket t)
{
    struct oracle_file *d = &o->file[dir];
    const struct oracle_listing *l = &o->listing[listing];
    if (!names_unchanged(o, dir, t) || contradicted(o, dir, l))
        return;
    d->listed = true;
    d->probes = 0;
    d->large = l->wire > 128 * 1024;
    drop_older_negatives(o, dir, -1, t.order);
    reconcile(o, dir, l);
    d->too_large = l->wire > o->settings.directory_cache_entry_size_max ||
                   l->bytes > o->settings.cache_memory_max;
    if (!o->enabled[OBSERVE_DIR] || d->too_large)
        oracle_forget(o, dir, t.order);
    if (!o->enabled[OBSERVE_DIR])
        return;
    if (d->too_large) {
        d->too_large_sent = t.sent;
        oracle_drop_listing(o, dir, MISS_TOO_LARGE);
        d->listing_lost = MISS_TOO_LARGE;
        return;
    }
    bool renewed = d->listing >= 0;
    if (renewed)
        o->bytes -= o->listing[d->listing].bytes;
    d->listing = listing;
    o->bytes += l->bytes;
    if (renewed)
        oracle_use(o, OBSERVE_DIR, dir);
    else
        oracle_ring_add(&o->ring[OBSERVE_DIR], dir);
    oracle_keep_bounds(o, OBSERVE_DIR, dir);
    o->counts[OBSERVE_DIR].inserts++;
}

void oracle_listed(struct oracle *o, int dir, int listing, struct oracle_ticket t, uint64_t now)
{
    struct oracle_file *d = &o->file[dir];
    if (d->listing >= 0 && o->listing[d->listing].order >= t.order)
        return;
    take_listing(o, dir, listing, t);
    uint64_t took = now < t.sent ? 0 : now - t.sent;
    bool good = d->listing == listing && oracle_valid(o, OBSERVE_DIR, t.sent, now);
    d->rest_from = now;
    d->rest = good && t.sent + o->lifetime[OBSERVE_DIR] - now >= took ? 0 : 16 * took;
}

void oracle_partial(struct oracle *o, int dir, struct oracle_ticket t)
{
    struct oracle_file *d = &o->file[dir];
    if (!names_unchanged(o, dir, t))
        return;
    d->large = true;
    d->probes = 0;
    if (d->listing < 0)
        d->listing_lost = MISS_PARTIAL;
}

/* ---- changes ---- */

static void names_change(struct oracle *o, int dir, enum observe_miss reason)
{
    struct oracle_file *d = &o->file[dir];
    if (d->listing >= 0)
        o->counts[OBSERVE_DIR].invalidations++;
    oracle_drop_listing(o, dir, reason);
    d->too_large = false;
    d->listing_lost = reason;
    d->names_changed = ++o->order;
}

void oracle_changed(struct oracle *o, int file, enum observe_miss reason)
{
    struct oracle_file *f = &o->file[file];
    if (f->believed)
        o->counts[OBSERVE_INFO].invalidations++;
    oracle_drop_info(o, file, reason);
    f->info_lost = reason;
    f->changed = ++o->order;
    if (!f->is_dir)
        return;
    names_change(o, file, reason);
    for (int i = 0; i < o->negatives; i++)
        if (o->negative[i].there && o->negative[i].dir == file) {
            o->counts[OBSERVE_NOTFOUND].invalidations++;
            oracle_drop_negative(o, i);
        }
}

void oracle_name_changed(struct oracle *o, int dir, int name, enum observe_miss reason)
{
    names_change(o, dir, reason);
    for (int i = 0; i < o->negatives; i++)
        if (o->negative[i].there && o->negative[i].dir == dir &&
            spellings[o->negative[i].spelling].fold == spellings[name].fold) {
            o->counts[OBSERVE_NOTFOUND].invalidations++;
            oracle_drop_negative(o, i);
        }
    struct oracle_name *n = oracle_find_name(o, dir, name);
    if (n) {
        n->confirmed = false;
        o->file[n->file].moved = ++o->order;
    }
}
