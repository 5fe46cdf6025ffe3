/*
 * What the watch tells.
 *
 * A notice says that a name came or went, or that a file was modified, at some moment before now;
 * what is believed may be older or newer than that. So it makes no belief, it leaves a doubt: the
 * believed listing does not answer for that name, answers that were under way are not believed of
 * it, and the next one that was asked for since is worked into the listing and ends the doubt. A
 * name that went, and that is not listed, leaves the listing as good as it was. A directory has
 * room for few doubts; over that, what is believed of all its names goes.
 *
 * A path is followed through the objects that there are, by every spelling that folds alike: where
 * there is no object nothing is believed, and nothing is under way. What was asked for beneath a
 * directory that came or went is void (trust.c): it may have been elsewhere for a while, and
 * notices with it.
 *
 * Echoes of own changes. For each name the kinds of notice that are to come are queued, in the
 * order in which the changes were patched in. A notice that is the first of the queue changes
 * nothing, any other ends the queue, also one of the name in another case: the server may spell so
 * what was changed. What is believed then is the outcome of the last own change,
 * and it stays so for as long as the queue swallows: of the notices up to that change's own there
 * are at least as many as were queued, so none that was made after it is swallowed.
 */
#include <stdlib.h>
#include <string.h>

#include "cache/internal.h"

/* ---- doubts ---- */

static uint64_t fold_of(const struct cache *c, const char *name, size_t len)
{
    return utf8_fold_hash(name, len, c->seed);
}

static uint64_t exact_of(const struct cache *c, const char *name, size_t len)
{
    return hash_bytes(name, len, c->seed);
}

static struct doubt *next_alike(const struct cache_dir *d, uint64_t fold, struct doubt *at)
{
    for (; d && d->doubt_count && at < d->doubts + d->doubt_count; at++)
        if (at->fold == fold)
            return at;
    return NULL;
}

static struct doubt *doubt_exact(const struct cache *c, const struct cache_file *dir,
                                 const char *name, size_t len)
{
    const struct cache_dir *d = dir->dir;
    uint64_t exact = d && d->doubt_count ? exact_of(c, name, len) : 0;
    for (unsigned i = 0; d && i < d->doubt_count; i++)
        if (d->doubts[i].exact == exact)
            return &d->doubts[i];
    return NULL;
}

bool is_doubted(const struct cache *c, const struct cache_file *dir, const char *name, size_t len,
                bool listed)
{
    const struct cache_dir *d = dir->dir;
    if (!d || !d->doubt_count)
        return false;
    uint64_t fold = fold_of(c, name, len);
    for (struct doubt *q = d->doubts; (q = next_alike(d, fold, q)); q++)
        if (q->times && (q->came || listed))
            return true;
    return false;
}

bool has_doubts(const struct cache_dir *d)
{
    for (unsigned i = 0; i < d->doubt_count; i++)
        if (d->doubts[i].times && d->doubts[i].listed)
            return true;
    return false;
}

bool noticed_since(const struct cache *c, const struct cache_file *dir, const char *name,
                   size_t len, uint64_t order)
{
    const struct cache_dir *d = dir->dir;
    if (!d || !d->doubt_count)
        return false;
    uint64_t fold = fold_of(c, name, len);
    bool any = !is_spelled_surely(name, len); /* it may be another name of what was noticed */
    for (unsigned i = 0; i < d->doubt_count; i++) {
        const struct doubt *q = &d->doubts[i];
        if ((any || q->fold == fold) && q->times && !order_after(order, q->order))
            return true;
    }
    return false;
}

bool modified_since(const struct cache *c, const struct cache_file *dir, const char *name,
                    size_t len, uint64_t order)
{
    const struct cache_dir *d = dir->dir;
    if (!d)
        return false;
    if (!order_after(order, d->attr_void_before))
        return true;
    uint64_t fold = d->doubt_count ? fold_of(c, name, len) : 0;
    bool any = !is_spelled_surely(name, len);
    for (unsigned i = 0; i < d->doubt_count; i++)
        if ((any || d->doubts[i].fold == fold) && !order_after(order, d->doubts[i].modified))
            return true;
    return false;
}

static void doubt_end(struct cache_dir *d, struct doubt *q)
{
    *q = d->doubts[--d->doubt_count];
}

void doubt_forget(struct cache *c, struct cache_file *dir, const char *name, size_t len)
{
    struct doubt *q = doubt_exact(c, dir, name, len);
    if (q)
        doubt_end(dir->dir, q);
}

void doubts_settle(struct cache_dir *d, uint64_t order)
{
    for (unsigned i = d->doubt_count; i-- > 0;) {
        struct doubt *q = &d->doubts[i];
        if (q->times && order_after(order, q->order))
            q->times = 0;
        q->listed = true; /* by the new listing, perhaps */
        if (!q->times && order_after(order, q->modified))
            doubt_end(d, q);
    }
}

/* Who has a name forgotten may have spelled it otherwise than the server, or by its short name: it
 * is found then, but a listing has no such name, unless it had it before. */
static bool may_be_listed(const struct doubt *q, const struct cache_listing *l, int64_t i,
                          const struct file_attr *attr)
{
    const char *spelling;
    return q->spelled || (i >= 0 && listing_at(l, (size_t)i, &spelling)->attr.id == attr->id);
}

void doubt_resolve(struct cache *c, struct cache_file *dir, const char *name, size_t len,
                   const struct file_attr *attr, bool told, struct stamp stamp)
{
    struct doubt *q = doubt_exact(c, dir, name, len);
    if (!q || !order_after(stamp.asked, q->order) || !order_after(stamp.asked, q->modified))
        return;
    struct cache_dir *d = dir->dir;
    struct cache_listing *l = d->listing;
    size_t folded = 0, one;
    int64_t i = l ? listing_find(l, name, len, &folded, &one) : -1;
    if (i < 0 && folded)
        return; /* is the other one there still? */
    if (l && attr && !may_be_listed(q, l, i, attr)) {
        drop_listing(c, dir, MISS_CHANGED);
    } else if (l && (attr || i >= 0) && (l = listing_writable(c, dir))) {
        size_t before = listing_memory(l);
        int r = attr ? listing_put(l, name, len, attr, told, stamp) : 0;
        if (!attr)
            listing_take_out(l, (size_t)i);
        listing_patched(c, dir, before, r);
    }
    doubt_forget(c, dir, name, len);
}

/* The name's doubt, made where there is none; NULL: there is no room. */
static struct doubt *doubt_of(struct cache *c, struct cache_file *dir, const char *name, size_t len)
{
    struct cache_dir *d = dir->dir;
    struct doubt *q = doubt_exact(c, dir, name, len);
    if (q)
        return q;
    if (!d->doubts)
        d->doubts = calloc(DOUBTS_MAX, sizeof *d->doubts);
    if (!d->doubts || d->doubt_count == DOUBTS_MAX)
        return NULL;
    q = &d->doubts[d->doubt_count++];
    *q = (struct doubt){.fold = fold_of(c, name, len),
                        .exact = exact_of(c, name, len),
                        .order = order_long_ago(c),
                        .modified = order_long_ago(c)};
    return q;
}

/* ---- echoes ---- */

struct echo {
    struct hash_node by_fold; /* in cache->echoes, beside those of names that fold alike */
    struct list of_all;       /* in cache->echo_list */
    uint64_t exact;
    uint32_t came; /* a bit a notice, the next one lowest: came, or went */
    unsigned count;
    uint64_t asked; /* of the oldest change in it */
    uint64_t since;
};

static uint64_t echo_key(const struct cache *c, const struct cache_file *dir, const char *name,
                         size_t len)
{
    return fold_of(c, name, len) ^ hash_u64(dir->serial);
}

static void echo_free(struct cache *c, struct echo *e)
{
    hash_del(&c->echoes, &e->by_fold);
    list_del(&e->of_all);
    free(e);
}

void echoes_done(struct cache *c)
{
    while (!list_empty(&c->echo_list))
        echo_free(c, container_of(c->echo_list.next, struct echo, of_all));
    hash_done(&c->echoes);
}

/* What is awaited of this name still. */
static struct echo *echo_find(struct cache *c, uint64_t key, uint64_t exact, uint64_t now)
{
    struct hash_node *node = hash_first(&c->echoes, key);
    while (node && container_of(node, struct echo, by_fold)->exact != exact)
        node = hash_next(node);
    if (!node)
        return NULL;
    struct echo *e = container_of(node, struct echo, by_fold);
    if (now >= e->since && now - e->since < ECHO_WAIT && order_after(e->asked, c->watched_from) &&
        order_after(e->asked, c->noticed_lost))
        return e;
    echo_free(c, e);
    return NULL;
}

/* Nothing is awaited of the names that fold alike. */
static void echoes_end(struct cache *c, uint64_t key)
{
    struct hash_node *node;
    while ((node = hash_first(&c->echoes, key)))
        echo_free(c, container_of(node, struct echo, by_fold));
}

void echo_forget(struct cache *c, struct cache_file *dir, const char *name, size_t len)
{
    if (c->echoes.count)
        echoes_end(c, echo_key(c, dir, name, len));
}

static struct echo *echo_new(struct cache *c, uint64_t key, uint64_t exact,
                             struct cache_ticket ticket, uint64_t now)
{
    struct echo *e = malloc(sizeof *e);
    if (!e)
        return NULL;
    *e = (struct echo){.exact = exact, .asked = ticket.order, .since = now};
    if (hash_add(&c->echoes, &e->by_fold, key) < 0) {
        free(e);
        return NULL;
    }
    list_add_tail(&c->echo_list, &e->of_all);
    if (c->echoes.count > ECHOES_MAX)
        echo_free(c, container_of(c->echo_list.next, struct echo, of_all));
    return e;
}

void echo_expect(struct cache *c, struct cache_file *dir, const char *name, size_t len, bool came,
                 struct cache_ticket ticket, uint64_t now)
{
    if (!c->watched || !order_after(ticket.order, c->watched_from) ||
        !order_after(ticket.order, c->noticed_lost))
        return;
    watch_ought_to_tell(c, now);
    uint64_t key = echo_key(c, dir, name, len), exact = exact_of(c, name, len);
    struct echo *e = echo_find(c, key, exact, now);
    if (!e)
        e = echo_new(c, key, exact, ticket, now);
    if (e && e->count == 32)
        echo_free(c, e);
    else if (e)
        e->came |= (uint32_t)came << e->count++;
}

static bool echo_came(struct cache *c, struct cache_file *dir, const char *name, size_t len,
                      bool came, uint64_t now)
{
    if (!c->echoes.count)
        return false;
    uint64_t key = echo_key(c, dir, name, len);
    struct echo *e = echo_find(c, key, exact_of(c, name, len), now);
    if (!e || (e->came & 1) != came) {
        echoes_end(c, key);
        return false;
    }
    e->came >>= 1;
    e->since = now;
    if (--e->count == 0)
        echo_free(c, e);
    return true;
}

bool echo_overtook(const struct cache *c, const struct cache_file *dir, const char *name,
                   size_t len, bool came, struct cache_ticket ticket)
{
    const struct cache_dir *d = dir->dir;
    uint64_t fold = fold_of(c, name, len);
    unsigned alike = 0;
    for (unsigned i = 0; d && i < d->doubt_count; i++)
        alike += d->doubts[i].fold == fold && d->doubts[i].times &&
                 !order_after(ticket.order, d->doubts[i].order);
    const struct doubt *q = doubt_exact(c, dir, name, len);
    return alike == 1 && q && q->times == 1 && q->came == came &&
           !order_after(ticket.order, q->order) && order_after(ticket.order, c->watched_from);
}

/* ---- notices ---- */

/* The objects that the name may lead to are not what they were. */
static void names_noticed(struct cache *c, struct cache_file *dir, const char *name, size_t len,
                          uint64_t order, enum observe_miss why)
{
    struct cache_name *n = NULL;
    while ((n = name_next_alike(c, dir, name, len, n))) {
        n->confirmed = false;
        n->noticed = n->file->moved = order;
        if (n->file->is_dir)
            uproot(c, n->file, order);
        drop_attr(c, n->file, why);
    }
}

void doubt_raise(struct cache *c, struct cache_file *dir, const char *name, size_t len, bool came,
                 bool exact, enum observe_miss why)
{
    struct cache_negative *negative;
    struct cache_dir *d = dir->dir;
    size_t folded = 0, one;
    uint64_t order = ++c->order;
    struct doubt *q = doubt_of(c, dir, name, len);
    if (q) {
        q->order = order;
        q->times++;
        q->came = came || (q->came && !exact);
        q->spelled |= exact;
        q->listed |= came || !d->listing ||
                     listing_find(d->listing, name, len, &folded, &one) >= 0 || folded;
    } else {
        void_names(c, dir, why);
    }
    d->base_known = false;
    names_noticed(c, dir, name, len, order, why);
    while (came && (negative = negative_next_alike(c, dir, name, len, NULL)))
        drop_negative(c, negative, why);
}

/* False: an echo. */
static bool came_or_went(struct cache *c, struct cache_file *dir, const char *name, size_t len,
                         bool came, bool exact, uint64_t now)
{
    if (echo_came(c, dir, name, len, came, now))
        return false;
    doubt_raise(c, dir, name, len, came, exact, MISS_CHANGED);
    drop_attr(c, dir, MISS_CHANGED); /* its times have changed, too */
    return true;
}

static void modified(struct cache *c, struct cache_file *dir, const char *name, size_t len)
{
    struct cache_name *n = NULL;
    bool known = false;
    while ((n = name_next_alike(c, dir, name, len, n))) {
        drop_attr(c, n->file, MISS_CHANGED);
        known |= n->file->identified && n->len == len && memcmp(n->spelling, name, len) == 0;
    }
    struct doubt *q = doubt_exact(c, dir, name, len);
    if (known && !q)
        return; /* any answer that is under way is about that file */
    q = doubt_of(c, dir, name, len);
    if (q)
        q->spelled = true;
    *(q ? &q->modified : &dir->dir->attr_void_before) = ++c->order;
}

static bool noticed_in(struct cache *c, struct cache_file *dir, enum cache_notice action,
                       const char *path, size_t len, bool exact, uint64_t now)
{
    if (!file_dir(c, dir)) {
        cache_notices_lost(c);
        return true;
    }
    bool news = false;
    dir->refs++;
    const char *slash = memchr(path, '/', len);
    size_t head = slash ? (size_t)(slash - path) : len;
    if (slash) {
        struct cache_name *n = NULL;
        while ((n = name_next_alike(c, dir, path, head, n)))
            if (n->file->is_dir)
                news |= noticed_in(c, n->file, action, slash + 1, len - head - 1,
                                   exact && n->len == head && memcmp(n->spelling, path, head) == 0,
                                   now);
    } else if (action == CACHE_MODIFIED) {
        modified(c, dir, path, len);
        news = true;
    } else {
        bool came = action == CACHE_ADDED || action == CACHE_RENAMED_TO;
        news = came_or_went(c, dir, path, len, came, exact, now);
    }
    dir->refs--;
    file_settle(c, dir);
    return news;
}

bool cache_noticed(struct cache *c, enum cache_notice action, const char *path, size_t len,
                   uint64_t now)
{
    c->watch_tells = true;
    if (len)
        return noticed_in(c, c->root, action, path, len, true, now);
    drop_attr(c, c->root, MISS_CHANGED);
    return true;
}

static void reach(const struct cache *c, struct cache_file *dir, const char *path, size_t len,
                  cache_reach_fn *at, void *user)
{
    const char *slash = memchr(path, '/', len);
    size_t head = slash ? (size_t)(slash - path) : len;
    struct cache_name *n = NULL;
    bool any = false;
    while ((n = name_next_alike(c, dir, path, head, n))) {
        any = true;
        if (!slash)
            at(user, dir, path, head, n->file);
        else if (n->file->is_dir)
            reach(c, n->file, slash + 1, len - head - 1, at, user);
    }
    if (!any && !slash)
        at(user, dir, path, head, NULL);
}

void cache_reach(const struct cache *c, const char *path, size_t len, cache_reach_fn *at,
                 void *user)
{
    if (len)
        reach(c, c->root, path, len, at, user);
}

struct cache_file *cache_reach_dir(const struct cache *c, const char *path, const char **ret_name)
{
    struct cache_file *dir = c->root;
    const char *slash;
    for (; dir && (slash = strchr(path, '/')); path = slash + 1) {
        size_t len = (size_t)(slash - path);
        const struct cache_name *n = name_find(c, dir, path, len);
        if (!n)
            n = name_next_alike(c, dir, path, len, NULL);
        dir = n && n->file->is_dir ? n->file : NULL;
    }
    *ret_name = path;
    return *path ? dir : NULL;
}

void cache_notices_lost(struct cache *c)
{
    c->watch_tells = true;
    c->noticed_lost = ++c->order;
}
