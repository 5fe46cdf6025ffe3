/*
 * Answers become beliefs here, or not: an answer is believed only if nothing that it is about has
 * changed since its ticket was taken, and only over older answers. So it does not matter in which
 * order answers arrive.
 *
 * A complete listing speaks about every name in its directory at once: negatives that are older go,
 * names that it lists otherwise are bound anew, and attributes held beside it are brought up to
 * date, so that what is older never comes back when the listing itself is evicted. Conversely an
 * answer about one name that contradicts an older listing shows that the listing is stale, and it
 * goes. (What this client itself changed comes in through change.c.)
 */
#include <errno.h>

#include "cache/internal.h"

struct cache_ticket cache_ask(struct cache *c, uint64_t now)
{
    return (struct cache_ticket){.order = ++c->order, .sent = now};
}

/* Whether the answer is about what `dir` is now: nothing above it, nor it, was moved since. */
static bool same_place(const struct cache_file *dir, struct cache_ticket t)
{
    for (;;) {
        if (!order_after(t.order, dir->moved))
            return false;
        if (list_empty(&dir->names))
            return dir->serial == 1; /* the root, or something that was detached */
        dir = container_of(dir->names.next, struct cache_name, of_file)->dir;
        if (!order_after(t.order, dir->dir->void_before))
            return false;
    }
}

bool names_unchanged(const struct cache_file *dir, struct cache_ticket t)
{
    return same_place(dir, t) && (!dir->dir || order_after(t.order, dir->dir->changed));
}

bool attr_newest(const struct cache_file *f, struct cache_ticket t)
{
    return order_after(t.order, f->changed) && (!f->heard || order_after(t.order, f->info.order));
}

/* Whether the listing tells something about exactly this spelling: *ret_there. */
static bool listing_tells(const struct cache_listing *l, const char *name, size_t len,
                          bool *ret_there)
{
    size_t folded, one;
    int64_t exact = listing_find(l, name, len, &folded, &one);
    *ret_there = exact >= 0;
    return exact >= 0 ||
           (folded == 0 && !utf8_has_non_ascii(name, len) && !may_be_unlisted(name, len));
}

static void check_against_listing(struct cache *c, struct cache_file *dir, const char *name,
                                  size_t len, bool found, struct cache_ticket t)
{
    struct event_path p;
    struct cache_listing *l = dir->dir ? dir->dir->listing : NULL;
    bool there;
    if (!l || !order_after(t.order, listing_stamp(l).order) ||
        !listing_tells(l, name, len, &there) || there == found ||
        is_doubted(c, dir, name, len, there))
        return;
    observe_invalidate(c->observe, OBSERVE_DIR, MISS_CHANGED, event_file(c, dir, &p));
    listing_drop(c, dir, MISS_CHANGED);
}

void cache_learn_spelling(struct cache *c, const char *name, size_t len, const char *spelling,
                          size_t spelling_len)
{
    if (c->folds || len != spelling_len || memcmp(name, spelling, len) == 0 ||
        utf8_has_non_ascii(name, len) || utf8_has_non_ascii(spelling, len))
        return;
    c->folds = utf8_fold_equal(name, len, spelling, len);
}

/* ---- attributes ---- */

void identify_by_attr(struct cache *c, struct cache_file *f, const struct file_attr *attr)
{
    if (f->identified)
        return;
    struct cache_name *n =
        list_empty(&f->names) ? NULL : container_of(f->names.next, struct cache_name, of_file);
    if (n)
        name_bind(c, n->dir, n->spelling, n->len, attr, n->bound);
    else if (f == c->root)
        file_identify(c, f, f, "", 0, attr);
}

uint64_t cache_commit_attr(struct cache *c, struct cache_file *f, const struct file_attr *attr,
                           struct cache_ticket ticket, uint64_t now)
{
    if (!cache_file_same(f, attr) || !attr_newest(f, ticket))
        return 0;
    watch_weigh(c, f, attr, now);
    identify_by_attr(c, f, attr);
    if (!c->enabled[OBSERVE_INFO]) {
        file_hear(f, attr, stamp_of(ticket));
        return 0;
    }
    info_insert(c, f, attr, stamp_of(ticket));
    return info_term(c, f, now).until;
}

/* ---- names ---- */

/* What is known of this one name, in whatever case, is newer than the ticket. Under the names that
 * listings do not have, any file may be meant that this client has changed since. */
static bool name_is_newer(struct cache *c, struct cache_file *dir, const char *name, size_t len,
                          struct cache_ticket t)
{
    const struct cache_negative *negative = NULL;
    const struct cache_name *n = NULL;
    while ((negative = negative_next_alike(c, dir, name, len, negative)))
        if (!order_after(t.order, negative->stamp.order))
            return true;
    while ((n = name_next_alike(c, dir, name, len, n)))
        if (n->confirmed && !order_after(t.order, n->existence.order))
            return true;
    if (noticed_since(c, dir, name, len, t.order))
        return true;
    return !is_spelled_surely(name, len) && dir->dir && !order_after(t.order, dir->dir->patched);
}

bool listing_is_newer(const struct cache_file *dir, struct cache_ticket t)
{
    return dir->dir && dir->dir->listing &&
           !order_after(t.order, listing_stamp(dir->dir->listing).order);
}

int cache_commit_found(struct cache *c, struct cache_file *dir, const char *name, size_t len,
                       const struct file_attr *attr, struct cache_ticket ticket, uint64_t now,
                       struct cache_file **ret, uint64_t *ret_valid_until)
{
    bool believe = names_unchanged(dir, ticket) && !name_is_newer(c, dir, name, len, ticket) &&
                   !listing_is_newer(dir, ticket);
    if (believe)
        check_against_listing(c, dir, name, len, true, ticket);
    struct cache_name *n = name_bind(c, dir, name, len, attr, ticket.order);
    if (!n)
        return -ENOMEM;
    struct cache_file *f = cache_file_ref(n->file);
    uint64_t until = 0;
    if (believe) {
        negatives_supersede(c, dir, name, len, ticket.order);
        name_confirm(n, stamp_of(ticket));
        dir_told(c, dir->dir);
        if (!modified_since(c, dir, name, len, ticket.order))
            until = cache_commit_attr(c, f, attr, ticket, now);
        doubt_resolve(c, dir, name, len, attr, until != 0, stamp_of(ticket));
        if (until)
            until = term_of_both(info_term(c, f, now), existence_term(c, n, now)).until;
    }
    *ret = f;
    *ret_valid_until = until;
    return 0;
}

uint64_t cache_commit_missing(struct cache *c, struct cache_file *dir, const char *name, size_t len,
                              struct cache_ticket ticket, uint64_t now)
{
    if (!names_unchanged(dir, ticket) || name_is_newer(c, dir, name, len, ticket) ||
        listing_is_newer(dir, ticket))
        return 0;
    check_against_listing(c, dir, name, len, false, ticket);
    struct cache_name *n = name_find(c, dir, name, len);
    if (n && order_after(ticket.order, n->bound)) {
        struct event_path p;
        if (n->file->believed)
            observe_invalidate(c->observe, OBSERVE_INFO, MISS_CHANGED, event_file(c, n->file, &p));
        info_drop(c, n->file, MISS_CHANGED);
        dir->refs++;
        name_unbind(c, n);
        dir->refs--;
        file_settle(c, dir);
    }
    doubt_resolve(c, dir, name, len, NULL, false, stamp_of(ticket));
    if (!c->enabled[OBSERVE_NOTFOUND]) {
        if (file_dir(c, dir))
            dir_forget(dir->dir, ticket.order);
        return 0;
    }
    negative_insert(c, dir, name, len, stamp_of(ticket));
    if (!dir->dir)
        return 0;
    dir_told(c, dir->dir);
    struct stamp s = stamp_of(ticket);
    return missing_term(c, dir, name, len, &s, now).until;
}

/* ---- listings ---- */

/* Brings one name of the directory into line with its new listing. May unbind it. */
static void reconcile(struct cache *c, struct cache_name *n, const struct cache_listing *l)
{
    struct stamp t = listing_stamp(l);
    size_t folded, one;
    const char *spelling;
    int64_t i = listing_find(l, n->spelling, n->len, &folded, &one);
    if (!order_after(t.order, n->bound))
        return;
    if (i < 0) {
        if (n->confirmed && order_after(t.order, n->existence.order))
            n->confirmed = false;
        return;
    }
    const struct file_attr *attr = &listing_at(l, (size_t)i, &spelling)->attr;
    if (!cache_file_same(n->file, attr)) {
        name_unbind(c, n);
        return;
    }
    n->bound = t.order;
    n->told = true;
    struct cache_file *f = n->file;
    if (!f->identified)
        file_identify(c, f, n->dir, n->spelling, n->len, attr);
    if (order_after(t.order,
                    f->changed)) /* even where it is not believed: what is older stays out */
        file_hear_listed(c, f, attr, t);
}

/* Whether a newer answer about one name shows that the listing is stale already. */
static bool is_contradicted(struct cache_dir *d, const struct cache_listing *l)
{
    uint64_t order = listing_stamp(l).order;
    struct hash_node *node = NULL;
    bool there;
    while ((node = hash_each(&d->negatives, node))) {
        const struct cache_negative *n = container_of(node, struct cache_negative, by_fold);
        if (order_after(n->stamp.order, order) && listing_tells(l, n->spelling, n->len, &there) &&
            there)
            return true;
    }
    while ((node = hash_each(&d->names, node))) {
        const struct cache_name *n = container_of(node, struct cache_name, by_fold);
        if (n->confirmed && order_after(n->existence.order, order) &&
            listing_tells(l, n->spelling, n->len, &there) && !there)
            return true;
    }
    return false;
}

/* Will it be believed for longer than it took? */
static void weigh_listing(const struct cache *c, struct cache_dir *d, struct cache_ticket ticket,
                          uint64_t now, bool believed)
{
    uint64_t took = now > ticket.sent ? now - ticket.sent : 0;
    uint64_t until = believed ? listing_term(c, d->file, now).until : 0;
    bool worth_it = until > now && until - now >= took;
    d->rest_from = now;
    d->rest = worth_it ? 0 : took * LISTING_REST;
}

void cache_commit_listing(struct cache *c, struct cache_file *dir, struct cache_listing *l,
                          struct cache_ticket ticket, uint64_t now)
{
    struct cache_dir *d = file_dir(c, dir);
    if (!d || listing_is_newer(dir, ticket))
        return;
    weigh_listing(c, d, ticket, now, false);
    if (!names_unchanged(dir, ticket) || !order_after(ticket.order, d->patched) ||
        is_contradicted(d, l))
        return;
    d->listed = true;
    dir_told(c, d);
    d->probes = 0;
    d->large = cache_listing_wire_bytes(l) > LARGE_LISTING;
    dir->refs++; /* names and negatives may go */
    negatives_supersede(c, dir, NULL, 0, ticket.order);
    doubts_settle(d, ticket.order);
    struct hash_node *node = hash_each(&d->names, NULL);
    while (node) {
        struct hash_node *after = hash_each(&d->names, node);
        reconcile(c, container_of(node, struct cache_name, by_fold), l);
        node = after;
    }
    bool too_large = cache_listing_wire_bytes(l) > c->settings.directory_cache_entry_size_max ||
                     listing_memory(l) > c->settings.cache_memory_max;
    d->too_large = c->enabled[OBSERVE_DIR] && too_large;
    if (c->enabled[OBSERVE_DIR] && !too_large)
        listing_insert(c, dir, l);
    else
        dir_forget(d, ticket.order);
    if (d->listing == l && !d->doubt_count)
        base_taken(dir, ticket);
    if (d->too_large)
        listing_drop_too_large(c, dir, ticket.sent);
    weigh_listing(c, d, ticket, now, d->listing == l);
    dir->refs--;
    file_settle(c, dir);
}

void cache_commit_partial(struct cache *c, struct cache_file *dir, struct cache_ticket ticket,
                          uint64_t now)
{
    struct cache_dir *d = file_dir(c, dir);
    if (!d || !names_unchanged(dir, ticket))
        return;
    /* Also where a listing is held whose attributes have run out: else each name would list. */
    d->large = true;
    d->probes = 0;
    if (!d->listing)
        d->lost = MISS_PARTIAL;
}

/* What the believed listing of `dir` has of entry i: own changes may have made another of it since
 * the reader got his. */
enum still { STILL_THERE, NOT_THE_SAME, TAKEN_OUT };
static enum still is_still_there(const struct cache *c, const struct cache_file *dir,
                                 const struct cache_listing *l, size_t i)
{
    const struct cache_listing *believed = dir->dir ? dir->dir->listing : NULL;
    const char *name;
    const struct listing_entry *e = listing_at(l, i, &name);
    if (believed && is_doubted(c, dir, name, e->len, true))
        return NOT_THE_SAME;
    if (believed == l)
        return STILL_THERE;
    if (!believed || listing_stamp(believed).order != listing_stamp(l).order)
        return NOT_THE_SAME;
    size_t folded, one;
    int64_t at = listing_find(believed, name, e->len, &folded, &one);
    if (at < 0)
        return TAKEN_OUT;
    return listing_bound(believed, (size_t)at) == listing_bound(l, i) &&
                   listing_heard(believed, (size_t)at).order == listing_heard(l, i).order
               ? STILL_THERE
               : NOT_THE_SAME;
}

int cache_adopt(struct cache *c, struct cache_file *dir, struct cache_listing *l, size_t i,
                uint64_t now, struct cache_file **ret, uint64_t *ret_valid_until)
{
    const char *spelling;
    const struct listing_entry *e = listing_at(l, i, &spelling);
    enum still still = is_still_there(c, dir, l, i);
    struct cache_file *f = NULL;
    if (still == TAKEN_OUT) {
        f = file_for(c, dir, spelling, e->len, &e->attr);
    } else {
        struct cache_name *n = name_bind(c, dir, spelling, e->len, &e->attr, listing_bound(l, i));
        f = n ? n->file : NULL;
        if (n)
            n->told = true;
    }
    if (!f)
        return -ENOMEM;
    cache_file_ref(f);
    bool believed = still == STILL_THERE && cache_file_same(f, &e->attr) &&
                    listed_attr_valid(c, dir, l, i, f, now);
    if (believed && !f->believed)
        file_hear_listed(c, f, &e->attr, listing_heard(l, i));
    *ret_valid_until =
        believed ? term_of_both(listing_term(c, dir, now), listed_attr_term(c, l, i, f, now)).until
                 : 0;
    *ret = f;
    return 0;
}
