/*
 * Shares get small numbers by their names, not by the dissector's objects, since a session that
 * comes again makes new ones. Places hang in a hash table and in a list by the time of their last
 * touch, which is at once the order of making way and the measure of what a bounded cache could
 * still hold.
 */
#include "capture/places.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf.h"
#include "capture/operation.h"

/* ---- shares ---- */

struct shares {
    struct view view[SHARES_MAX]; /* from 1 */
    uint64_t hash[SHARES_MAX];
    unsigned count;
    struct hash by_name;
    struct hash_node node[SHARES_MAX];
};

struct shares *shares_new(void)
{
    struct shares *s = calloc(1, sizeof(*s));
    if (s)
        hash_init(&s->by_name);
    return s;
}

struct shares *shares_free(struct shares *s)
{
    if (!s)
        return NULL;
    for (unsigned i = 1; i <= s->count; i++) {
        free(s->view[i].client);
        free(s->view[i].server);
        free(s->view[i].name);
    }
    hash_done(&s->by_name);
    free(s);
    return NULL;
}

static bool same_tree(const struct view *v, const struct smb_share *share)
{
    return strcmp(v->server, share->server) == 0 && strcmp(v->name, share->name) == 0;
}

static uint64_t share_hash(const struct smb_share *share)
{
    uint64_t h = hash_bytes(share->client, strlen(share->client), hash_seed());
    h = hash_bytes(share->server, strlen(share->server), h);
    return hash_bytes(share->name, strlen(share->name), h + share->session_id);
}

static unsigned add_view(struct shares *s, const struct smb_share *share, uint64_t hash)
{
    if (s->count + 1 >= SHARES_MAX)
        return 0;
    unsigned id = s->count + 1;
    struct view *v = &s->view[id];
    *v = (struct view){strdup(share->client), strdup(share->server), strdup(share->name),
                       share->session_id, id};
    if (!v->client || !v->server || !v->name || hash_add(&s->by_name, &s->node[id], hash) < 0) {
        free(v->client);
        free(v->server);
        free(v->name);
        return 0;
    }
    for (unsigned i = 1; i <= s->count; i++)
        if (same_tree(&s->view[i], share)) {
            v->tree = s->view[i].tree;
            break;
        }
    s->count = id;
    return id;
}

unsigned shares_view(struct shares *s, const struct smb_share *share)
{
    if (!share || share_is_pipes(share))
        return 0;
    uint64_t hash = share_hash(share);
    for (struct hash_node *n = hash_first(&s->by_name, hash); n; n = hash_next(n)) {
        unsigned id = (unsigned)(n - s->node);
        const struct view *v = &s->view[id];
        if (same_tree(v, share) && strcmp(v->client, share->client) == 0 &&
            v->session_id == share->session_id)
            return id;
    }
    return add_view(s, share, hash);
}

const struct view *shares_at(const struct shares *s, unsigned view)
{
    return view && view <= s->count ? &s->view[view] : NULL;
}

/* ---- places ---- */

void places_init(struct places *t, size_t item_size, size_t max)
{
    *t = (struct places){.item_size = item_size, .max = max};
    hash_init(&t->by_path);
    list_init(&t->recent);
}

static struct place *place_of(const struct list *item)
{
    return container_of(item, struct place, recent);
}

struct place *places_oldest(const struct places *t)
{
    return list_empty(&t->recent) ? NULL : place_of(t->recent.prev);
}

void places_drop(struct places *t, struct place *p)
{
    hash_del(&t->by_path, &p->node);
    list_del(&p->recent);
    free(p);
}

void places_done(struct places *t)
{
    struct list *item, *after;
    list_for_each_safe(item, after, &t->recent) free(place_of(item));
    hash_done(&t->by_path);
    list_init(&t->recent);
}

static uint64_t place_hash(unsigned share, const char *path, size_t len)
{
    return utf8_fold_hash(path, len, hash_seed() + share);
}

static struct place *find(const struct places *t, uint64_t hash, unsigned share, const char *path,
                          size_t len)
{
    for (struct hash_node *n = hash_first(&t->by_path, hash); n; n = hash_next(n)) {
        struct place *p = container_of(n, struct place, node);
        if (p->share == share && utf8_fold_equal(p->path, p->path_len, path, len))
            return p;
    }
    return NULL;
}

void *places_find(const struct places *t, unsigned share, const char *path, size_t len)
{
    return find(t, place_hash(share, path, len), share, path, len);
}

static struct place *add(struct places *t, uint64_t hash, unsigned share, const char *path,
                         size_t len)
{
    if (t->by_path.count >= t->max) {
        struct place *last = places_oldest(t);
        if (t->evicting)
            t->evicting(t->user, last);
        places_drop(t, last);
        t->evicted++;
    }
    struct place *p = calloc(1, t->item_size + len + 1);
    if (!p)
        return NULL;
    p->share = share;
    p->path = memcpy((char *)p + t->item_size, path, len);
    p->path_len = len;
    if (hash_add(&t->by_path, &p->node, hash) < 0) {
        free(p);
        return NULL;
    }
    t->added++;
    return p;
}

void *places_touch(struct places *t, unsigned share, const char *path, size_t len)
{
    uint64_t hash = place_hash(share, path, len);
    struct place *p = find(t, hash, share, path, len);
    if (p)
        list_del(&p->recent);
    else if (!(p = add(t, hash, share, path, len)))
        return NULL;
    list_add_tail(t->recent.next, &p->recent); /* before the first: the new first */
    return p;
}

bool places_within(const struct places *t, const struct place *p, size_t bound)
{
    const struct list *item = t->recent.next;
    for (size_t i = 0; i < bound && item != &t->recent; i++, item = item->next)
        if (place_of(item) == p)
            return true;
    return false;
}

size_t path_parent(const char *path, size_t len)
{
    if (len == 0)
        return SIZE_MAX;
    while (len > 0 && path[len - 1] != '/')
        len--;
    return len ? len - 1 : 0;
}
