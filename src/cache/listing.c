/*
 * Listings: what one directory held at one moment. A maker adds entries and seals; from then on the
 * snapshot is immutable, so that a reader of 10,000 names needs neither the cache's lock nor a
 * copy, and believing it is a matter of one pointer. Names stand in one arena; an open-addressing
 * index leads from the folded spelling to the first entry that has it, which leads to the others. A
 * server that lists one name in many cases, or again and again, makes a long chain and no slow
 * index.
 *
 * Two listings are not immutable. One that nobody but the cache refers to is patched in place with
 * this client's own changes: what is added goes to the end, what is taken out is marked and leaves
 * the index, and its place is closed up when half of all are such, or before a reader gets the
 * listing; so an entry costs the same however many there are, and a reader sees no gaps. Patched
 * entries have a stamp of their own, in an array that only patched listings have. And one that was
 * left open is of a replay of somebody else's requests, which learns of its names only bit by bit.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "cache/internal.h"

/* Of a patched entry: what its attributes are as of, and the order at which it was said whose name
 * this is. */
struct entry_stamp {
    struct stamp attr;
    uint64_t bound;
};

struct cache_listing {
    atomic_uint refs;
    struct stamp stamp;
    struct listing_entry *entries;
    size_t count, entries_cap;
    char *names;
    size_t names_len, names_cap;
    uint32_t *index; /* entry + 1, 0: empty */
    size_t index_mask;
    size_t wire_bytes;
    size_t gone;                /* entries that were taken out */
    size_t repeated;            /* entries that the index does not lead to: listed twice */
    struct entry_stamp *stamps; /* of patched entries; NULL: none */
    size_t stamps_cap;
    bool open; /* entries may still be added */
};

/* What an entry takes in a FileIdBothDirectoryInformation buffer (MS-FSCC 2.4.20). */
#define DIRENT_FIXED 104

size_t listing_wire_bytes(const char *name, size_t len)
{
    size_t units = 0;
    for (size_t i = 0; i < len; i++) {
        unsigned char b = (unsigned char)name[i];
        units += (b & 0xc0) != 0x80; /* every character, two for those of four bytes */
        units += b >= 0xf0;
    }
    return (DIRENT_FIXED + 2 * units + 7) / 8 * 8;
}

struct cache_listing *cache_listing_new(void)
{
    struct cache_listing *l = calloc(1, sizeof *l);
    if (l)
        atomic_init(&l->refs, 1);
    return l;
}

/* Room for one more of `size` bytes each. */
static int reserve(void **at, size_t *cap, size_t used, size_t more, size_t size)
{
    if (used + more <= *cap)
        return 0;
    size_t cap_new = *cap ? *cap * 2 : 64;
    while (cap_new < used + more)
        cap_new *= 2;
    void *wider = realloc(*at, cap_new * size);
    if (!wider)
        return -ENOMEM;
    *at = wider;
    *cap = cap_new;
    return 0;
}

int cache_listing_add(struct cache_listing *l, const char *name, size_t len,
                      const struct file_attr *attr, size_t wire_bytes)
{
    if (len > UINT16_MAX || l->count >= UINT32_MAX - 1)
        return -EOVERFLOW;
    if (reserve((void **)&l->entries, &l->entries_cap, l->count, 1, sizeof *l->entries) < 0 ||
        reserve((void **)&l->names, &l->names_cap, l->names_len, len, 1) < 0)
        return -ENOMEM;
    l->entries[l->count++] =
        (struct listing_entry){.attr = *attr, .name = l->names_len, .len = (uint16_t)len};
    memcpy(l->names + l->names_len, name, len);
    l->names_len += len;
    l->wire_bytes += wire_bytes;
    return 0;
}

static bool folds_alike(const struct cache_listing *l, size_t i, const char *name, size_t len)
{
    return utf8_fold_equal(l->names + l->entries[i].name, l->entries[i].len, name, len);
}

static bool is_spelled(const struct cache_listing *l, size_t i, const char *name, size_t len)
{
    return l->entries[i].len == len && memcmp(l->names + l->entries[i].name, name, len) == 0;
}

/* The place of the entries that fold like this name, or the empty one where they would be. */
static size_t index_place(const struct cache_listing *l, const uint32_t *index, size_t mask,
                          const char *name, size_t len)
{
    size_t at = utf8_fold_hash(name, len, hash_seed()) & mask;
    while (index[at] && !folds_alike(l, index[at] - 1, name, len))
        at = (at + 1) & mask;
    return at;
}

static void index_add(struct cache_listing *l, uint32_t *index, size_t mask, size_t i)
{
    struct listing_entry *e = &l->entries[i];
    const char *name = l->names + e->name;
    size_t at = index_place(l, index, mask, name, e->len);
    e->alike = 0;
    if (!index[at]) {
        index[at] = (uint32_t)i + 1;
        return;
    }
    struct listing_entry *first = &l->entries[index[at] - 1];
    if (first->gone) { /* it only held the place */
        index[at] = (uint32_t)i + 1;
        return;
    }
    if (is_spelled(l, index[at] - 1, name, e->len)) {
        l->repeated++; /* once is enough to be found */
        return;
    }
    e->alike = first->alike;
    first->alike = (uint32_t)i + 1;
}

/* At most half of the index is used. */
static int build_index(struct cache_listing *l)
{
    size_t size = 8;
    while (size < l->count * 2)
        size *= 2;
    uint32_t *index = calloc(size, sizeof *index);
    if (!index)
        return -ENOMEM;
    l->repeated = 0;
    for (size_t i = 0; i < l->count; i++)
        if (!l->entries[i].gone)
            index_add(l, index, size - 1, i);
    free(l->index);
    l->index = index;
    l->index_mask = size - 1;
    return 0;
}

int listing_seal(struct cache_listing *l, struct stamp stamp)
{
    l->stamp = stamp;
    return build_index(l);
}

int cache_listing_seal(struct cache_listing *l, struct cache_ticket ticket)
{
    return listing_seal(l, stamp_of(ticket));
}

void cache_listing_leave_open(struct cache_listing *l)
{
    l->open = true;
}

bool listing_is_open(const struct cache_listing *l)
{
    return l->open;
}

int listing_extend(struct cache_listing *l, const char *name, size_t len,
                   const struct file_attr *attr, size_t wire_bytes)
{
    int r = cache_listing_add(l, name, len, attr, wire_bytes);
    if (r < 0)
        return r;
    if (l->count * 2 <= l->index_mask + 1)
        index_add(l, l->index, l->index_mask, l->count - 1);
    else if (build_index(l) < 0) {
        l->count--;
        l->wire_bytes -= wire_bytes;
        return -ENOMEM;
    }
    return 0;
}

struct cache_listing *cache_listing_ref(struct cache_listing *l)
{
    atomic_fetch_add_explicit(&l->refs, 1, memory_order_relaxed);
    return l;
}

struct cache_listing *cache_listing_unref(struct cache_listing *l)
{
    if (l && atomic_fetch_sub_explicit(&l->refs, 1, memory_order_acq_rel) == 1) {
        free(l->entries);
        free(l->names);
        free(l->index);
        free(l->stamps);
        free(l);
    }
    return NULL;
}

size_t cache_listing_count(const struct cache_listing *l)
{
    return l->count;
}

size_t cache_listing_wire_bytes(const struct cache_listing *l)
{
    return l->wire_bytes;
}

const char *cache_listing_entry(const struct cache_listing *l, size_t i, size_t *ret_len,
                                const struct file_attr **ret_attr)
{
    *ret_len = l->entries[i].len;
    *ret_attr = &l->entries[i].attr;
    return l->names + l->entries[i].name;
}

bool cache_listing_attr_known(const struct cache_listing *l, size_t i)
{
    return !l->entries[i].untold;
}

struct stamp listing_stamp(const struct cache_listing *l)
{
    return l->stamp;
}

struct stamp listing_heard(const struct cache_listing *l, size_t i)
{
    return l->entries[i].patched ? l->stamps[i].attr : l->stamp;
}

uint64_t listing_bound(const struct cache_listing *l, size_t i)
{
    return l->entries[i].patched ? l->stamps[i].bound : l->stamp.order;
}

size_t listing_memory(const struct cache_listing *l)
{
    return sizeof *l + l->entries_cap * sizeof *l->entries + l->names_cap +
           (l->index_mask + 1) * sizeof *l->index + l->stamps_cap * sizeof *l->stamps;
}

const struct listing_entry *listing_at(const struct cache_listing *l, size_t i,
                                       const char **ret_name)
{
    *ret_name = l->names + l->entries[i].name;
    return &l->entries[i];
}

int64_t listing_find(const struct cache_listing *l, const char *name, size_t len,
                     size_t *ret_folded, size_t *ret_one)
{
    int64_t exact = -1;
    *ret_folded = 0;
    size_t at = index_place(l, l->index, l->index_mask, name, len);
    for (uint32_t i = l->index[at]; i; i = l->entries[i - 1].alike) {
        if (l->entries[i - 1].gone)
            continue;
        if (is_spelled(l, i - 1, name, len)) {
            exact = (int64_t)i - 1;
        } else {
            *ret_one = i - 1;
            (*ret_folded)++;
        }
    }
    return exact;
}

/* ---- own changes ---- */

bool listing_can_be_patched(const struct cache_listing *l)
{
    return !l->open && !l->repeated;
}

bool listing_is_shared(const struct cache_listing *l)
{
    return atomic_load_explicit(&l->refs, memory_order_acquire) > 1;
}

struct cache_listing *listing_copy(const struct cache_listing *l)
{
    struct cache_listing *copy = cache_listing_new();
    if (!copy)
        return NULL;
    copy->stamp = l->stamp;
    copy->wire_bytes = l->wire_bytes;
    copy->count = l->count;
    copy->gone = l->gone;
    copy->entries_cap = l->count + l->count / 8 + 8; /* there will be more changes */
    copy->names_cap = l->names_len + l->names_len / 8 + 64;
    copy->stamps_cap = l->stamps ? copy->entries_cap : 0;
    copy->entries = malloc(copy->entries_cap * sizeof *copy->entries);
    copy->names = malloc(copy->names_cap);
    copy->stamps = l->stamps ? malloc(copy->stamps_cap * sizeof *copy->stamps) : NULL;
    if (!copy->entries || !copy->names || (l->stamps && !copy->stamps))
        return cache_listing_unref(copy);
    if (l->count)
        memcpy(copy->entries, l->entries, l->count * sizeof *l->entries);
    if (l->names_len)
        memcpy(copy->names, l->names, l->names_len);
    copy->names_len = l->names_len;
    for (size_t i = 0; l->stamps && i < l->count; i++)
        if (l->entries[i].patched)
            copy->stamps[i] = l->stamps[i];
    return build_index(copy) < 0 ? cache_listing_unref(copy) : copy;
}

static int stamp_entry(struct cache_listing *l, size_t i, struct stamp heard, uint64_t bound)
{
    if (l->stamps_cap < l->entries_cap) {
        struct entry_stamp *wider = realloc(l->stamps, l->entries_cap * sizeof *wider);
        if (!wider)
            return -ENOMEM;
        l->stamps = wider;
        l->stamps_cap = l->entries_cap;
    }
    l->entries[i].patched = true;
    l->stamps[i] = (struct entry_stamp){.attr = heard, .bound = bound};
    return 0;
}

int listing_tell(struct cache_listing *l, size_t i, const struct file_attr *attr,
                 struct stamp heard)
{
    if (stamp_entry(l, i, heard, listing_bound(l, i)) < 0)
        return -ENOMEM;
    l->entries[i].attr = *attr;
    l->entries[i].untold = false;
    return 0;
}

void listing_untell(struct cache_listing *l, size_t i)
{
    l->entries[i].untold = true;
}

int listing_put(struct cache_listing *l, const char *name, size_t len, const struct file_attr *attr,
                bool told, struct stamp heard)
{
    size_t folded, one;
    int64_t i = listing_find(l, name, len, &folded, &one);
    if (i < 0) {
        int r = listing_extend(l, name, len, attr, listing_wire_bytes(name, len));
        if (r < 0)
            return r;
        i = (int64_t)l->count - 1;
    }
    if (stamp_entry(l, (size_t)i, heard, heard.order) < 0)
        return -ENOMEM;
    l->entries[i].attr = *attr;
    l->entries[i].untold = !told;
    return 0;
}

void listing_compact(struct cache_listing *l)
{
    if (!l->gone)
        return;
    size_t to = 0, names_len = 0;
    for (size_t i = 0; i < l->count; i++) {
        struct listing_entry e = l->entries[i];
        if (e.gone)
            continue;
        memmove(l->names + names_len, l->names + e.name, e.len);
        e.name = names_len;
        names_len += e.len;
        l->entries[to] = e;
        if (e.patched)
            l->stamps[to] = l->stamps[i];
        to++;
    }
    l->count = to;
    l->names_len = names_len;
    l->gone = 0;
    memset(l->index, 0, (l->index_mask + 1) * sizeof *l->index);
    for (size_t i = 0; i < l->count; i++)
        index_add(l, l->index, l->index_mask, i);
}

void listing_take_out(struct cache_listing *l, size_t i)
{
    struct listing_entry *e = &l->entries[i];
    const char *name = l->names + e->name;
    size_t at = index_place(l, l->index, l->index_mask, name, e->len);
    uint32_t *link = &l->index[at];
    while (*link != i + 1)
        link = &l->entries[*link - 1].alike;
    if (link != &l->index[at] || e->alike) /* else it stays, to hold the place in the index */
        *link = e->alike;
    e->gone = true;
    e->alike = 0;
    size_t wire = listing_wire_bytes(name, e->len);
    l->wire_bytes -= wire < l->wire_bytes ? wire : l->wire_bytes;
    l->gone++;
    if (l->gone > 16 && l->gone > l->count / 2)
        listing_compact(l);
}
