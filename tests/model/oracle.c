/* The oracle's beliefs, their bounds, names and files. Answers come in through oracle_commit.c;
 * what it says is in oracle_plan.c. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "model/oracle_internal.h"

const struct spelling spellings[] = {
    {"d", 0, true, false, false},
    {"D", 0, true, false, false},
    {"sub", 1, true, false, false},
    {"SUB", 1, true, false, false},
    {"a", 2, true, false, false},
    {"A", 2, true, false, false},
    {"read.me", 3, true, false, false},
    {"Read.me", 3, true, false, false},
    {"READ.ME", 3, true, false, false},
    {"progra~1", 4, true, true, false},
    {"PROGRA~1", 4, true, true, false},
    {"b", 5, true, false, false},
    {"c", 6, true, false, false},
    {"e1", 7, true, false, false},
    {"e2", 8, true, false, false},
    {"e3", 9, true, false, false},
    {"what?", 10, true, false, true},
    {"\xc3\xbc", 11, false, false, false},  /* u with diaeresis */
    {"\xc3\x9c", 11, false, false, false},  /* the same as a capital */
    {"u\xcc\x88", 12, false, false, false}, /* the same, decomposed */
    {"s", 13, true, false, false},
    {"\xc5\xbf", 13, false, false, false},         /* the long s: folds to S */
    {"\xf0\x9f\x90\x9f", 14, false, false, false}, /* a fish, beyond the BMP */
    {"f~", 15, true, true, false},
    {"f.", 16, true, true, false},
    {"f", 17, true, false, false},
    {"f:f", 18, true, true, false},
};
const int spelling_count = sizeof spellings / sizeof spellings[0];

void oracle_init(struct oracle *o, const struct settings *settings, uint64_t info_bytes,
                 uint64_t negative_bytes)
{
    memset(o, 0, sizeof *o);
    o->settings = *settings;
    o->info_bytes = info_bytes;
    o->negative_bytes = negative_bytes;
    const struct settings *s = settings;
    const bool on[3] = {s->directory_cache, s->file_info_cache, s->file_not_found_cache};
    const uint32_t lifetime[3] = {s->directory_cache_lifetime, s->file_info_cache_lifetime,
                                  s->file_not_found_cache_lifetime};
    const uint32_t max[3] = {s->directory_cache_entries_max, s->file_info_cache_entries_max,
                             s->file_not_found_cache_entries_max};
    for (int i = 0; i < 3; i++) {
        o->enabled[i] = on[i] && lifetime[i] && max[i];
        o->lifetime[i] = lifetime[i] * NS_PER_SEC;
        o->entries_max[i] = max[i] > INT32_MAX ? INT32_MAX : (int)max[i];
        o->ring[i].hand = -1;
    }
    oracle_new_file(o, true);
}

bool oracle_is_full(const struct oracle *o)
{
    return o->files > ORACLE_FILES - 2 * ORACLE_LISTED || o->names > ORACLE_NAMES - 100 ||
           o->negatives > ORACLE_NAMES - 100 || o->listings >= ORACLE_LISTINGS - 1;
}

int oracle_new_file(struct oracle *o, bool is_dir)
{
    o->file[o->files] = (struct oracle_file){.is_dir = is_dir, .listing = -1};
    return o->files++;
}

/* ---- rings ---- */

static int ring_find(const struct oracle_ring *r, int entry)
{
    for (int i = 0; i < r->count; i++)
        if (r->entry[i] == entry)
            return i;
    return -1;
}

void oracle_ring_add(struct oracle_ring *r, int entry)
{
    r->entry[r->count] = entry;
    r->used[r->count++] = false;
}

static void ring_remove(struct oracle_ring *r, int entry)
{
    int at = ring_find(r, entry);
    for (int i = at; i + 1 < r->count; i++) {
        r->entry[i] = r->entry[i + 1];
        r->used[i] = r->used[i + 1];
    }
    r->count--;
    if (r->hand > at)
        r->hand--;
    if (r->hand == r->count)
        r->hand = -1;
}

void oracle_use(struct oracle *o, enum observe_cache which, int entry)
{
    int at = ring_find(&o->ring[which], entry);
    if (at >= 0)
        o->ring[which].used[at] = true;
}

/* The next victim but `keep` (-1: no such), or -1. */
static int ring_victim(struct oracle_ring *r, int keep)
{
    if (r->count == 0 || (r->count == 1 && r->entry[0] == keep))
        return -1;
    for (;;) {
        if (r->hand < 0)
            r->hand = 0;
        int at = r->hand;
        if (r->entry[at] != keep && !r->used[at])
            return r->entry[at];
        r->used[at] = false;
        r->hand = at + 1 < r->count ? at + 1 : -1;
    }
}

/* ---- forgetting ---- */

/* What is forgotten of a directory's names keeps older answers out. */
void oracle_forget(struct oracle *o, int dir, int64_t order)
{
    if (order > o->file[dir].names_changed)
        o->file[dir].names_changed = order;
}

void oracle_drop_info(struct oracle *o, int file, enum observe_miss why)
{
    if (!o->file[file].believed)
        return;
    o->file[file].believed = false;
    o->file[file].info_lost = why;
    ring_remove(&o->ring[OBSERVE_INFO], file);
    o->bytes -= o->info_bytes;
}

void oracle_drop_listing(struct oracle *o, int dir, enum observe_miss why)
{
    struct oracle_file *d = &o->file[dir];
    if (d->listing < 0)
        return;
    o->bytes -= o->listing[d->listing].bytes;
    oracle_forget(o, dir, o->listing[d->listing].order);
    d->listing = -1;
    d->listing_lost = why;
    ring_remove(&o->ring[OBSERVE_DIR], dir);
}

void oracle_drop_negative(struct oracle *o, int at)
{
    struct oracle_negative *n = &o->negative[at];
    n->there = false;
    oracle_forget(o, n->dir, n->order);
    ring_remove(&o->ring[OBSERVE_NOTFOUND], at);
    o->bytes -= o->negative_bytes + strlen(spellings[n->spelling].text);
}

static void evict(struct oracle *o, enum observe_cache which, int victim)
{
    o->counts[which].evictions++;
    if (which == OBSERVE_DIR)
        oracle_drop_listing(o, victim, MISS_EVICTED);
    if (which == OBSERVE_INFO)
        oracle_drop_info(o, victim, MISS_EVICTED);
    if (which == OBSERVE_NOTFOUND)
        oracle_drop_negative(o, victim);
}

void oracle_keep_bounds(struct oracle *o, enum observe_cache which, int added)
{
    int victim;
    while (o->ring[which].count > o->entries_max[which] &&
           (victim = ring_victim(&o->ring[which], added)) >= 0)
        evict(o, which, victim);
    for (int i = 0; i < 3; i++)
        while (o->bytes > o->settings.cache_memory_max &&
               (victim = ring_victim(&o->ring[i], i == (int)which ? added : -1)) >= 0)
            evict(o, i, victim);
}

/* ---- names and identity ---- */

struct oracle_name *oracle_find_name(struct oracle *o, int dir, int spelling)
{
    for (int i = 0; i < o->names; i++)
        if (o->name[i].dir == dir && o->name[i].spelling == spelling)
            return &o->name[i];
    return NULL;
}

/* The first name of a file. */
const struct oracle_name *oracle_name_of(const struct oracle *o, int file)
{
    const struct oracle_name *first = NULL;
    for (int i = 0; i < o->names; i++)
        if (o->name[i].file == file && (!first || o->name[i].place < first->place))
            first = &o->name[i];
    return first;
}

void oracle_unbind(struct oracle *o, struct oracle_name *n)
{
    if (n->confirmed)
        oracle_forget(o, n->dir, n->order);
    size_t after = (size_t)(o->names - (n - o->name) - 1);
    memmove(n, n + 1, after * sizeof *n);
    o->names--;
}

static struct oracle_name *add_name(struct oracle *o, int dir, int spelling, int file)
{
    o->name[o->names] = (struct oracle_name){
        .dir = dir, .spelling = spelling, .file = file, .place = ++o->last_place};
    return &o->name[o->names++];
}

bool oracle_same(const struct oracle *o, int file, const struct file_attr *attr)
{
    const struct oracle_file *f = &o->file[file];
    if (f->is_dir != file_attr_is_dir(attr))
        return false;
    return !f->identified || !f->attr.id || !attr->id || f->attr.id == attr->id;
}

/* The file that has this id as its inode number, -1: none. */
static int owner_of(const struct oracle *o, uint64_t id)
{
    for (int i = 0; i < o->files; i++)
        if (o->file[i].identified && !o->file[i].own_ino && o->file[i].attr.id == id)
            return i;
    return -1;
}

static bool has_names(const struct oracle *o, int file)
{
    for (int i = 0; i < o->names; i++)
        if (o->name[i].file == file)
            return true;
    return false;
}

static bool is_alike(const struct oracle_file *f, const struct file_attr *attr)
{
    return f->is_dir == file_attr_is_dir(attr) && f->attr.created == attr->created;
}

static void contest(struct oracle *o, struct oracle_file *f, uint64_t id)
{
    for (int i = 0; id && i < o->files; i++)
        if (&o->file[i] != f && o->file[i].identified && o->file[i].attr.id == id)
            o->file[i].contested = f->contested = true;
}

void oracle_identify(struct oracle *o, int file, const struct file_attr *attr)
{
    struct oracle_file *f = &o->file[file];
    contest(o, f, attr->id);
    int owner = attr->id ? owner_of(o, attr->id) : -1;
    if (owner >= 0 && !has_names(o, owner) && !is_alike(&o->file[owner], attr)) {
        o->file[owner].own_ino = true; /* it is no more: the id is another's now */
        owner = -1;
    }
    f->own_ino = !attr->id || owner >= 0;
    f->identified = true;
    f->attr = *attr;
}

void oracle_hear(struct oracle *o, int file, const struct file_attr *attr, int64_t order,
                 uint64_t sent)
{
    struct oracle_file *f = &o->file[file];
    struct file_attr old = f->attr;
    f->attr = *attr;
    if (!attr->id)
        f->attr.id = old.id;
    if (!attr->links)
        f->attr.links = old.links;
    f->heard = true;
    f->info_order = order;
    f->info_sent = sent;
}

struct oracle_name *oracle_bind(struct oracle *o, int dir, int spelling,
                                const struct file_attr *attr, int64_t order)
{
    struct oracle_name *n = oracle_find_name(o, dir, spelling);
    if (n && (n->bound > order || oracle_same(o, n->file, attr))) {
        if (!o->file[n->file].identified && oracle_same(o, n->file, attr))
            oracle_identify(o, n->file, attr);
        if (order > n->bound)
            n->bound = order;
        return n;
    }
    if (n)
        oracle_unbind(o, n);
    int f = attr->id && !file_attr_is_dir(attr) ? owner_of(o, attr->id) : -1;
    if (f < 0 || o->file[f].is_dir || o->file[f].attr.created != attr->created) {
        f = oracle_new_file(o, file_attr_is_dir(attr));
        oracle_identify(o, f, attr);
    }
    n = add_name(o, dir, spelling, f);
    n->bound = order;
    return n;
}

int oracle_bind_directory(struct oracle *o, int dir, int spelling)
{
    struct oracle_name *n = oracle_find_name(o, dir, spelling);
    if (n && o->file[n->file].is_dir)
        return n->file;
    if (n)
        oracle_unbind(o, n);
    return add_name(o, dir, spelling, oracle_new_file(o, true))->file;
}

/* ---- what is there to be believed ---- */

bool oracle_valid(const struct oracle *o, enum observe_cache which, uint64_t sent, uint64_t now)
{
    return o->enabled[which] && now >= sent && now - sent < o->lifetime[which];
}

bool oracle_attr_newest(const struct oracle *o, int file, int64_t order)
{
    const struct oracle_file *f = &o->file[file];
    return order > f->changed && (!f->heard || order > f->info_order);
}

int oracle_find_negative(const struct oracle *o, int dir, int spelling)
{
    for (int i = 0; i < o->negatives; i++)
        if (o->negative[i].there && o->negative[i].dir == dir &&
            o->negative[i].spelling == spelling)
            return i;
    return -1;
}

/* The entry with this very spelling, -1; and how many others fold alike, one of them. */
int oracle_in_listing(const struct oracle_listing *l, int spelling, int *ret_alike, int *ret_one)
{
    int exact = -1;
    *ret_alike = *ret_one = 0;
    for (int i = 0; i < l->count; i++) {
        if (l->name[i] == spelling) {
            exact = i;
        } else if (spellings[l->name[i]].fold == spellings[spelling].fold) {
            (*ret_alike)++;
            *ret_one = i;
        }
    }
    return exact;
}

/* Whether a path leads down to this directory. */
static bool leads_down(const struct oracle *o, int dir)
{
    const struct oracle_name *n = oracle_name_of(o, dir);
    return dir == ORACLE_ROOT || (n && leads_down(o, n->dir));
}

/* The first name of a file that a path leads down to. */
const struct oracle_name *oracle_leading_name(const struct oracle *o, int file)
{
    const struct oracle_name *first = NULL;
    for (int i = 0; i < o->names; i++)
        if (o->name[i].file == file && leads_down(o, o->name[i].dir) &&
            (!first || o->name[i].place < first->place))
            first = &o->name[i];
    return first;
}

int oracle_path(const struct oracle *o, int file, char *out, size_t cap)
{
    if (file == ORACLE_ROOT) {
        out[0] = 0;
        return 0;
    }
    const struct oracle_name *n = oracle_leading_name(o, file);
    if (!n)
        return -ESTALE;
    char above[1024];
    int r = oracle_path(o, n->dir, above, sizeof above);
    if (r < 0)
        return r;
    return snprintf(out, cap, "%s%s%s", above, *above ? "/" : "", spellings[n->spelling].text);
}
