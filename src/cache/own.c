/*
 * What this client did itself, patched into what is believed.
 *
 * An own change is an answer that was asked for at the moment of its completion: it gets an order
 * number of its own then, after every question that is under way, so that these are believed no
 * more where it touches them; but it lives from the moment when it was sent. Between the two the
 * server did it, at a moment that nobody knows. Whatever was asked after the change was sent and
 * told before it was completed, by an answer or by another change, can therefore not be put in
 * order with it: `is_undisturbed` looks for that under all spellings that the server may take for
 * one, and where it finds some, what is believed of the name is dropped (`doubt`).
 *
 * Knowledge that is replaced by newer knowledge of the same name is taken away without a trace:
 * else dir_forget would keep out what overlaps with it but is of other names.
 */
#include <errno.h>

#include "cache/internal.h"

/* ---- one own change of one name ---- */

/* A change of `name` in `dir`: `order` is that of its completion. The caller holds `dir`. */
struct own {
    struct cache *c;
    struct cache_file *dir;
    const char *name;
    size_t len;
    struct cache_ticket ticket;
    uint64_t order;
    bool undisturbed; /* nothing else is known to have happened to the name since the ticket */
    bool came;        /* the name is there after it, else it is gone */
    bool overtaken;   /* the watch has told of it already */
};

static struct stamp stamp(const struct own *o)
{
    return (struct stamp){.order = o->order, .asked = o->ticket.order, .sent = o->ticket.sent};
}

static bool is_undisturbed(struct own *o)
{
    const struct cache_negative *negative = NULL;
    const struct cache_name *n = NULL;
    uint64_t order = o->ticket.order;
    if (!names_unchanged(o->dir, o->ticket) || listing_is_newer(o->dir, o->ticket))
        return false;
    while ((negative = negative_next_alike(o->c, o->dir, o->name, o->len, negative)))
        if (!order_after(order, negative->stamp.order))
            return false;
    while ((n = name_next_alike(o->c, o->dir, o->name, o->len, n)))
        if (!order_after(order, n->bound) ||
            (n->confirmed && !order_after(order, n->existence.order)))
            return false;
    o->overtaken = echo_overtook(o->c, o->dir, o->name, o->len, o->came, o->ticket);
    return o->overtaken || !noticed_since(o->c, o->dir, o->name, o->len, order);
}

/* What was told of the names beneath a directory from `order` on is forgotten: it came by a path
 * that led there, or did so no more. */
static void forget_beneath(struct cache *c, struct cache_file *dir, uint64_t order)
{
    struct cache_dir *d = dir->dir;
    struct hash_node *node = NULL;
    if (!d || order_after(order, c->told))
        return;
    while ((node = hash_each(&d->names, node)))
        forget_beneath(c, container_of(node, struct cache_name, by_fold)->file, order);
    if (order_after(order, d->told))
        return;
    while ((node = hash_each(&d->names, node)))
        container_of(node, struct cache_name, by_fold)->confirmed = false;
    drop_inside(c, dir, MISS_CHANGED);
}

/* The name may have been meant: it is believed no more, nor what is beneath it. */
static void doubt_name(const struct own *o, struct cache_name *n)
{
    n->confirmed = false;
    n->noticed = o->order;
    n->file->moved = o->order;
    attr_forget(o->c, n->file);
    forget_beneath(o->c, n->file, order_long_ago(o->c));
    if (n->file->is_dir && o->c->watched)
        uproot(o->c, n->file, o->order);
}

/* Which of two happened last to the name is not known: nothing is believed of it, nor of the file
 * that it may lead to. */
static void doubt(const struct own *o)
{
    struct cache_name *n = NULL;
    while ((n = name_next_alike(o->c, o->dir, o->name, o->len, n)))
        doubt_name(o, n);
    echo_forget(o->c, o->dir, o->name, o->len);
    cache_name_changed(o->c, o->dir, o->name, o->len, MISS_CHANGED);
}

/* It is known what the name is: what the watch told of it is settled, or is still to come. */
static void settle(const struct own *o, uint64_t now)
{
    doubt_forget(o->c, o->dir, o->name, o->len);
    o->dir->dir->base_known = false; /* its times are others now */
    if (!o->overtaken)
        echo_expect(o->c, o->dir, o->name, o->len, o->came, o->ticket, now);
}

/* The negatives of this name, in whatever case, are outdated by it. */
static void refute_negatives(const struct own *o)
{
    struct cache_negative *n;
    struct event_path p;
    while ((n = negative_next_alike(o->c, o->dir, o->name, o->len, NULL))) {
        observe_patch(o->c->observe, OBSERVE_NOTFOUND,
                      event_child(o->c, o->dir, n->spelling, n->len, &p));
        n->stamp.order = order_long_ago(o->c);
        negative_drop(o->c, n);
    }
}

/* The name leads to `n`'s file, and no other spelling is believed to lead anywhere. */
static void confirm(const struct own *o, struct cache_name *n)
{
    struct cache_name *other = NULL;
    while ((other = name_next_alike(o->c, o->dir, o->name, o->len, other)))
        other->confirmed = false;
    name_confirm(n, stamp(o));
    refute_negatives(o);
}

/* There is no such name. Where that is not kept, it keeps older answers out all the same. */
static void deny(const struct own *o)
{
    if (o->c->enabled[OBSERVE_NOTFOUND])
        negative_insert(o->c, o->dir, o->name, o->len, stamp(o));
    if (!negative_find(o->c, o->dir, o->name, o->len))
        dir_forget(o->dir->dir, o->order);
}

/* `told`: the attributes are of now, else only the kind is to be shown. */
static void list_name(const struct own *o, const struct file_attr *attr, bool told)
{
    struct cache_listing *l = listing_writable(o->c, o->dir);
    size_t folded, one;
    if (!l)
        return;
    if (listing_find(l, o->name, o->len, &folded, &one) < 0 && folded) {
        drop_listing(o->c, o->dir, MISS_CHANGED); /* is the other one there still? */
        return;
    }
    size_t before = listing_memory(l);
    listing_patched(o->c, o->dir, before, listing_put(l, o->name, o->len, attr, told, stamp(o)));
}

/* Which entry the server meant by the name; -1: none that is listed; -2: that is not known. */
static int64_t entry_meant(const struct cache *c, const struct cache_listing *l, const char *name,
                           size_t len)
{
    size_t folded, one;
    int64_t exact = listing_find(l, name, len, &folded, &one);
    if (exact >= 0)
        return exact;
    if (utf8_has_non_ascii(name, len) || may_be_unlisted(name, len) || folded > 1)
        return -2;
    if (folded == 0)
        return -1;
    const char *spelling;
    size_t spelling_len = listing_at(l, one, &spelling)->len;
    return c->folds && !utf8_has_non_ascii(spelling, spelling_len) ? (int64_t)one : -2;
}

/* On a server that tells cases apart: a file was found by the name in another case since the
 * listing was made, which could not tell of it for the sake of the entry that goes now. */
static bool hides_another(const struct own *o, const struct cache_listing *l)
{
    const struct cache_name *n = NULL;
    size_t folded, one;
    while (!o->c->folds && (n = name_next_alike(o->c, o->dir, o->name, o->len, n)))
        if (n->confirmed && order_after(n->existence.order, listing_stamp(l).order) &&
            listing_find(l, n->spelling, n->len, &folded, &one) < 0)
            return true;
    return false;
}

static void unlist_name(const struct own *o)
{
    struct cache_listing *l = o->dir->dir->listing;
    int64_t i = l ? entry_meant(o->c, l, o->name, o->len) : -1;
    bool alias = may_be_unlisted(o->name, o->len) || utf8_has_non_ascii(o->name, o->len);
    if (alias && (!l || i < 0)) /* it may be of any name */
        dir_forget(o->dir->dir, o->order);
    if (i == -2 || (i >= 0 && hides_another(o, l))) {
        drop_listing(o->c, o->dir, MISS_CHANGED);
        return;
    }
    if (i < 0 || !(l = listing_writable(o->c, o->dir)))
        return;
    size_t before = listing_memory(l);
    listing_take_out(l, (size_t)i);
    listing_patched(o->c, o->dir, before, 0);
}

/* ---- names that go ---- */

/* One of a file's names was taken away by this client. The caller holds the file. */
static void lost_a_name(struct cache *c, struct cache_file *f, uint64_t order)
{
    struct event_path p;
    f->moved = order;
    if (!list_empty(&f->names)) {
        attr_forget(c, f);
        f->attr.links = 0; /* listings do not tell it */
        return;
    }
    f->changed = order;
    forget_beneath(c, f, order_long_ago(c));
    if (f->refs > 1 && f->attr.links == 1) { /* who has it open sees that */
        f->attr.links = 0;
        f->attr.unlinked = true;
        return;
    }
    if (!f->believed)
        return;
    observe_invalidate(c->observe, OBSERVE_INFO, MISS_CHANGED, event_file(c, f, &p));
    info_drop(c, f, MISS_CHANGED);
}

/* `n` leads nowhere; it is a name of `moved` (NULL: of none), or its file has lost it. */
static void take_name(const struct own *o, struct cache_name *n, const struct cache_file *moved)
{
    struct cache_file *f = n->file;
    n->confirmed = false; /* newer knowledge of this name takes its place */
    f->refs++;
    name_unbind(o->c, n);
    if (f != moved)
        lost_a_name(o->c, f, o->order);
    f->refs--;
    file_settle(o->c, f);
}

/* The name that the server meant: in another case only where it is known to fold case. A file that
 * only a listing knows gets its name. */
static struct cache_name *name_meant(const struct own *o)
{
    struct cache_listing *l = o->dir->dir->listing;
    struct cache_name *n = name_find(o->c, o->dir, o->name, o->len);
    if (n)
        return n;
    int64_t i = l ? entry_meant(o->c, l, o->name, o->len) : -1;
    if (i >= 0) {
        const char *spelling;
        const struct listing_entry *e = listing_at(l, (size_t)i, &spelling);
        return name_bind(o->c, o->dir, spelling, e->len, &e->attr, listing_bound(l, (size_t)i));
    }
    if (!o->c->folds || utf8_has_non_ascii(o->name, o->len))
        return NULL;
    return name_next_alike(o->c, o->dir, o->name, o->len, NULL);
}

/* No name of this spelling leads anywhere, nor one in another case where the server folds it; but
 * for `keep`. */
static void take_names(const struct own *o, const struct cache_name *keep,
                       const struct cache_file *moved)
{
    struct cache_name *n = name_next_alike(o->c, o->dir, o->name, o->len, NULL), *after;
    for (; n; n = after) {
        bool exact = n->len == o->len && memcmp(n->spelling, o->name, o->len) == 0;
        after = name_next_alike(o->c, o->dir, o->name, o->len, n);
        if (n == keep)
            continue;
        if (exact || (o->c->folds && !utf8_has_non_ascii(n->spelling, n->len)))
            take_name(o, n, moved);
        else if (n->file != moved)
            doubt_name(o, n);
        else
            n->confirmed = false;
    }
}

/* ---- the changes ---- */

/* Looks at what is known before the change is worked in. -ENOMEM. */
static int begin(struct own *o)
{
    if (!file_dir(o->c, o->dir))
        return -ENOMEM;
    o->dir->refs++;
    o->undisturbed = is_undisturbed(o);
    return 0;
}

static void complete(struct own *o, uint64_t order)
{
    o->order = o->dir->dir->patched = order;
}

/* The directory's own times and links are of before the change. */
static void end(const struct own *o)
{
    dir_told(o->c, o->dir->dir);
    attr_forget(o->c, o->dir);
    o->dir->refs--;
    file_settle(o->c, o->dir);
}

/* What can be shown of a file: as it was just told, or as far as it is known. */
static struct file_attr shown(const struct cache_file *f, const struct file_attr *attr)
{
    struct file_attr a = {.attributes = f->is_dir ? FILE_ATTRIBUTE_DIRECTORY : 0};
    if (attr)
        a = *attr;
    else if (f->identified)
        a = f->attr;
    if (!a.id)
        a.id = f->attr.id;
    return a;
}

/* From now on the name leads to this file, as far as anything else is known. */
static uint64_t believe_there(const struct own *o, struct cache_name *n,
                              const struct file_attr *attr, uint64_t now)
{
    struct cache_file *f = n->file;
    if (modified_since(o->c, o->dir, o->name, o->len, o->ticket.order))
        attr = NULL; /* before the change, or after */
    struct file_attr a = shown(f, attr);
    confirm(o, n);
    list_name(o, &a, attr_may_be_taken(f, attr, o->ticket));
    return attr_take(o->c, f, attr, o->ticket, o->order, now);
}

/* A new directory has no names. */
static void believe_empty(const struct own *o, struct cache_file *f)
{
    struct cache_listing *l = o->c->enabled[OBSERVE_DIR] ? cache_listing_new() : NULL;
    if (l && file_dir(o->c, f) && !f->dir->listing && listing_seal(l, stamp(o)) == 0) {
        f->dir->listed = true;
        listing_insert(o->c, f, l);
    }
    cache_listing_unref(l);
}

/* What a name led to before it was made is there no more, unless nothing was known of it but that
 * it must be a directory. */
static struct cache_name *bind_made(const struct own *o, const struct file_attr *attr,
                                    struct cache_file *linked)
{
    struct cache_name *n = name_find(o->c, o->dir, o->name, o->len);
    if (n && n->file != linked && n->file->identified && order_after(o->ticket.order, n->bound))
        take_name(o, n, NULL);
    return linked ? name_lead(o->c, o->dir, o->name, o->len, linked, o->order)
                  : name_bind(o->c, o->dir, o->name, o->len, attr, o->order);
}

int cache_made(struct cache *c, struct cache_file *dir, const char *name, size_t len,
               const struct file_attr *attr, struct cache_file *linked, struct cache_ticket ticket,
               uint64_t now, struct cache_file **ret, uint64_t *ret_valid_until)
{
    struct own o = {.c = c, .dir = dir, .name = name, .len = len, .ticket = ticket, .came = true};
    if (linked ? linked->is_dir : !attr)
        return -EINVAL;
    if (begin(&o) < 0)
        return -ENOMEM;
    complete(&o, ++c->order);
    struct cache_name *n = bind_made(&o, attr, linked);
    struct cache_file *f = n ? cache_file_ref(n->file) : NULL;
    uint64_t until = 0;
    if (n && o.undisturbed) {
        until = believe_there(&o, n, attr, now);
        settle(&o, now);
        if (f->is_dir && !(attr->attributes & FILE_ATTRIBUTE_REPARSE_POINT))
            believe_empty(&o, f);
    } else {
        doubt(&o);
        if (f)
            attr_forget(c, f);
    }
    if (f && (linked || attr->links)) /* of which listings do not tell */
        f->attr.links = attr ? attr->links : 0;
    end(&o);
    if (!f)
        return -ENOMEM;
    *ret = f;
    *ret_valid_until = until;
    return 0;
}

void cache_removed(struct cache *c, struct cache_file *dir, const char *name, size_t len,
                   struct cache_ticket ticket, uint64_t now)
{
    struct own o = {.c = c, .dir = dir, .name = name, .len = len, .ticket = ticket};
    if (begin(&o) < 0)
        return;
    struct cache_name *n = name_meant(&o);
    complete(&o, ++c->order);
    if (o.undisturbed) {
        unlist_name(&o);
        deny(&o);
        take_names(&o, NULL, NULL);
        settle(&o, now);
    } else {
        if (n && order_after(ticket.order, n->bound))
            take_name(&o, n, NULL);
        doubt(&o);
    }
    end(&o);
}

static bool is_within(const struct cache_file *dir, const struct cache_file *f)
{
    while (dir != f && !list_empty(&dir->names))
        dir = container_of(dir->names.next, struct cache_name, of_file)->dir;
    return dir == f;
}

/* A rename: of what is known of it, what is sure. */
struct move {
    struct own from, to;
    struct cache_name *name; /* that leads to the file; NULL: not known */
    struct cache_file *file; /* NULL: not known, or it cannot have been this one */
    bool respelled;          /* the same name, in another case */
    bool sure;               /* nothing else happened to either name */
};

static void find_moved(struct move *m, const struct file_attr *attr)
{
    const struct cache_name *over = name_find(m->to.c, m->to.dir, m->to.name, m->to.len);
    struct cache_name *n = m->name = name_meant(&m->from);
    uint32_t links = attr ? attr->links : n && !n->file->is_dir ? n->file->attr.links : 0;
    if (attr && file_attr_is_dir(attr))
        links = 0;
    /* of two names of one file a server may take none away, nor by two paths to one directory */
    bool told_apart = m->from.dir == m->to.dir || !m->from.dir->attr.id ||
                      m->from.dir->attr.id != m->to.dir->attr.id;
    const struct cache_listing *l = m->to.dir->dir->listing;
    size_t folded, one;
    bool two = !m->respelled || (over && over != n) ||
               (l && listing_find(l, m->to.name, m->to.len, &folded, &one) >= 0);
    m->sure = m->from.undisturbed && m->to.undisturbed && told_apart && (links < 2 || !two);
    if (!n || !order_after(m->from.ticket.order, n->bound))
        return;
    if ((attr && !cache_file_same(n->file, attr)) || is_within(m->to.dir, n->file) ||
        (over && over != n && over->file == n->file && !m->respelled))
        m->sure = false;
    else
        m->file = n->file;
}

/* Moves the name. NULL: nothing to be moved, or no memory. */
static struct cache_name *move_name(const struct move *m, const struct file_attr *attr)
{
    const struct own *to = &m->to;
    struct cache_name *n = NULL;
    if (m->file || (m->sure && attr))
        take_names(to, m->name, m->file);
    if (m->file)
        n = name_lead(to->c, to->dir, to->name, to->len, m->file, to->order);
    else if (m->sure && attr)
        n = name_bind(to->c, to->dir, to->name, to->len, attr, to->order);
    if (n) {
        take_names(&m->from, n, n->file);
        forget_beneath(to->c, n->file, to->ticket.order);
        n->file->moved = to->order;
    }
    return n;
}

/* The entry that was renamed goes; it stays where the new name is its own. */
static void unlist_moved(const struct move *m)
{
    const struct own *to = &m->to;
    const struct cache_listing *l = to->dir->dir->listing;
    size_t folded, one;
    bool same =
        m->respelled && m->from.len == to->len && memcmp(m->from.name, to->name, to->len) == 0;
    if (!same || !l || listing_find(l, to->name, to->len, &folded, &one) < 0)
        unlist_name(&m->from);
}

int cache_renamed(struct cache *c, struct cache_file *from_dir, const char *from, size_t from_len,
                  struct cache_file *to_dir, const char *to, size_t to_len,
                  const struct file_attr *attr, struct cache_ticket ticket, uint64_t now)
{
    struct move m = {
        .from = {.c = c, .dir = from_dir, .name = from, .len = from_len, .ticket = ticket},
        .to = {.c = c, .dir = to_dir, .name = to, .len = to_len, .ticket = ticket, .came = true},
        .respelled = from_dir == to_dir && utf8_fold_equal(from, from_len, to, to_len)};
    if (!file_dir(c, from_dir) || !file_dir(c, to_dir))
        return -ENOMEM;
    begin(&m.from);
    begin(&m.to);
    find_moved(&m, attr);
    complete(&m.from, ++c->order);
    complete(&m.to, c->order);
    struct cache_file *f = m.file ? cache_file_ref(m.file) : NULL;
    if (m.sure)
        unlist_moved(&m);
    struct cache_name *n = move_name(&m, attr);
    if (n && m.sure) {
        if (!m.respelled)
            deny(&m.from);
        believe_there(&m.to, n, attr, now);
        settle(&m.from, now);
        settle(&m.to, now);
        if (m.respelled) { /* perhaps it was spelled so already, and no notice comes */
            echo_forget(c, from_dir, from, from_len);
            echo_forget(c, to_dir, to, to_len);
        }
    } else {
        doubt(&m.from);
        doubt(&m.to);
        if (f) {
            attr_forget(c, f);
            forget_beneath(c, f, order_long_ago(c));
        }
    }
    if (n && n->file->is_dir && c->watched) /* notices by its old name may still come */
        uproot(c, n->file, m.to.order);
    end(&m.from);
    end(&m.to);
    if (f) {
        f->refs--;
        file_settle(c, f);
    }
    return f && !n ? -ENOMEM : 0;
}
