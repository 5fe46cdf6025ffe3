/*
 * What the server of truth.c promises, and what it tells.
 *
 * It grants leases on directories and files with the requests that ask for one, and has a watch of
 * the whole tree armed at times. A change by another client breaks the leases on what it touches,
 * and every change, our own too, leaves a notice; both reach the client some steps later, the
 * notices in their order. When a break or a notice has been delivered, what it is about is certain
 * from the moment of the change on. Sessions are lost, and leases given back, with whatever was on
 * its way; notices overflow; and some changes are made behind the server's back, which tells
 * nothing of them.
 *
 * Of everything that is believed the age is bounded: by the maximum age where the client was
 * promised anything about it, else by the lifetime. So a belief that outlives its promise shows
 * even where nobody told of a change. And a lease that stands must have kept its listing alive.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "model/truth.h"

#define LEASES  12
#define QUEUE   64
#define MOMENTS 40000

bool promises;
uint64_t told[4], prolonged, echoes, harmless, verified[2];

/* ---- time ---- */

/* When each moment was. */
static struct {
    uint64_t moment, at;
} past[MOMENTS];
static int past_count;

static uint64_t moment_at(uint64_t at)
{
    int low = 0, high = past_count;
    while (low < high) {
        int mid = (low + high) / 2;
        if (past[mid].at <= at)
            low = mid + 1;
        else
            high = mid;
    }
    return low ? past[low - 1].moment : 0;
}

/* ---- leases ---- */

struct notice {
    enum cache_notice action;
    char path[256];
    int dir, name, node;
    uint64_t moment;
    bool own;
};
static struct lease {
    bool used;
    struct held what;
    bool live;         /* the server has not broken it */
    uint64_t breaking; /* the moment of the change whose break is on its way; 0: none */
    bool noted;        /* the client counts on it */
    uint64_t with, from;
} leases[LEASES];

static struct lease *lease_of(const struct cache_file *f)
{
    for (int i = 0; i < LEASES; i++)
        if (leases[i].used && leases[i].what.f == f)
            return &leases[i];
    return NULL;
}

static bool is_leased(const struct cache_file *f)
{
    const struct lease *l = lease_of(f);
    return l && l->noted;
}

static void lease_end(struct lease *l)
{
    cache_file_unref(m.c, l->what.f);
    *l = (struct lease){0};
}

void grant(const struct op *o)
{
    struct held what = o->kind == ASK_LISTING ? o->dir : o->file;
    if (o->kind == ASK_LISTING && o->node != o->dir.node)
        return; /* by this path another directory was met */
    struct lease *l = lease_of(what.f);
    for (int i = 0; i < LEASES && !l; i++)
        if (!leases[i].used)
            l = &leases[i];
    if (!l || l->breaking)
        return;
    if (!l->used) {
        *l = (struct lease){.used = true, .what = what, .live = true, .with = o->ticket.order};
        cache_file_ref(what.f);
    }
}

/* The reply comes, perhaps after the break. */
void granted(const struct op *o)
{
    struct cache_file *f = o->kind == ASK_LISTING ? o->dir.f : o->file.f;
    struct lease *l = lease_of(f);
    if (!l || (!l->noted && l->with != o->ticket.order))
        return;
    if (!cache_promised(m.c, f, o->ticket))
        return; /* an older break has come since */
    if (!l->noted)
        l->from = m.c->order;
    l->noted = true;
    trace("  lease on %d", l->what.node);
}

/* What is told meanwhile overlaps with what is under way, but for the very notice of it. */
static void overlaps(const struct notice *n)
{
    for (int i = 0; i < OPS; i++) {
        bool itself = n && n->own && n->action != CACHE_MODIFIED && ops[i].done &&
                      n->moment + 1 == ops[i].at && ops[i].kind != RENAME;
        if (ops[i].used && !itself)
            ops[i].alone = false;
    }
}

static void deliver_break(void)
{
    struct lease *l = &leases[below(LEASES)];
    if (!l->used || !l->breaking)
        return;
    trace("break of %d", l->what.node);
    overlaps(NULL);
    cache_broken(m.c, l->what.f);
    for (int name = 0; name < NAMES; name++)
        if (server.node[l->what.node].is_dir)
            certain_name(l->what.f, name, l->breaking);
    if (!server.node[l->what.node].is_dir)
        certain_attr(l->what.f, l->breaking);
    if (cache_promised(m.c, l->what.f, (struct cache_ticket){l->with, m.now}))
        differ("a promise counts that was taken back");
    told[0]++;
    lease_end(l);
}

/* ---- the watch ---- */

static struct notice queue[QUEUE];
static int queued;
static bool armed, overflowed;

static bool path_up(int dir, char path[256])
{
    if (dir == 0) {
        path[0] = 0;
        return true;
    }
    for (int d = 0; d < server.dirs; d++)
        for (int name = 0; name < NAMES; name++)
            if (server.entry[d][name] == server.dir_node[dir]) {
                if (!path_up(d, path))
                    return false;
                size_t len = strlen(path);
                snprintf(path + len, 256 - len, "%s%s", len ? "/" : "", text(name));
                return true;
            }
    return false;
}

static void put_notice(enum cache_notice action, int dir, int name, int node, bool own)
{
    struct notice *n = &queue[queued];
    if (!armed || overflowed)
        return;
    if (queued == QUEUE) {
        overflowed = true;
        return;
    }
    *n = (struct notice){.action = action, .dir = dir, .name = name, .node = node, .own = own};
    n->moment = server.moment;
    if (!path_up(dir, n->path))
        return;
    size_t len = strlen(n->path);
    snprintf(n->path + len, sizeof n->path - len, "%s%s", len ? "/" : "", text(name));
    queued++;
}

/* Whether notices about the node can reach the object: the path that it is known by leads there. */
static bool can_be_told(struct held h)
{
    char path[256];
    int n = cache_file_path(h.f, path, sizeof path - 1), spelling;
    if (n < 0 || memchr(path, '~', (size_t)n))
        return false;
    path[n] = 0;
    char *slash = strrchr(path, '/');
    int dir = 0, name = 0;
    if (slash) {
        *slash = 0;
        dir = server_dir(&server, path);
    }
    const char *last = slash ? slash + 1 : path;
    while (n && strcmp(text(name), last) != 0)
        name++;
    return n == 0 ? h.node == 0
                  : dir >= 0 && server_resolve(&server, dir, name, &spelling) == h.node;
}

static void certain_by(const struct notice *n)
{
    for (int i = 0; i < held_count; i++) {
        struct held h = held[i];
        if (h.node == server.dir_node[n->dir] && can_be_told(h) && n->action != CACHE_MODIFIED) {
            certain_attr(h.f, n->moment);
            for (int name = 0; name < NAMES; name++)
                if (means(n->name, name) && !strchr(text(name), '~'))
                    certain_name(h.f, name, n->moment);
        }
        if (h.node == n->node && n->action == CACHE_MODIFIED && can_be_told(h) &&
            (server.node[h.node].is_dir || server.node[h.node].links == 1))
            certain_attr(h.f, n->moment);
    }
}

static void deliver(const struct notice *n)
{
    trace("notice %d: %s%s", n->action, n->path, n->own ? " (own)" : "");
    overlaps(n);
    uint64_t order = m.c->order;
    bool news = cache_noticed(m.c, n->action, n->path, strlen(n->path), m.now);
    if (!news && m.c->order != order)
        differ("a notice changed what is believed and was no news");
    told[1]++;
    bool replied = true;
    for (int i = 0; i < OPS; i++)
        replied &= !ops[i].used || !ops[i].done || ops[i].at != n->moment + 1;
    if (!n->own || !replied || n->action == CACHE_MODIFIED)
        return;
    echoes++;
    for (int i = 0; i < held_count; i++)
        if (held[i].node == server.dir_node[n->dir]) {
            harmless += !is_doubted(m.c, held[i].f, text(n->name), strlen(text(n->name)), true);
            return;
        }
}

static void deliver_notice(void)
{
    if (overflowed && one_in(2)) {
        trace("notices lost");
        cache_notices_lost(m.c);
        overlaps(NULL);
        for (int i = 0; i < held_count; i++) {
            if (!lease_of(held[i].f))
                certain_attr(held[i].f, server.moment);
            for (int name = 0; name < NAMES && server.node[held[i].node].is_dir; name++)
                if (!lease_of(held[i].f))
                    certain_name(held[i].f, name, server.moment);
        }
        told[2]++;
        overflowed = false;
        queued = 0;
    }
    if (!queued || overflowed)
        return;
    int count = 1; /* those of one change come together */
    while (count < queued && queue[count].moment == queue[0].moment)
        count++;
    for (int i = 0; i < count; i++)
        deliver(&queue[i]);
    for (int i = 0; i < count; i++)
        certain_by(&queue[i]);
    queued -= count;
    memmove(queue, queue + count, (size_t)queued * sizeof queue[0]);
}

/* ---- changes ---- */

static struct {
    int dirs, nodes, entry[DIRS][NAMES], version[NODES];
} before;

void change_begins(void)
{
    before.dirs = server.dirs;
    before.nodes = server.nodes;
    memcpy(before.entry, server.entry, sizeof before.entry);
    for (int i = 0; i < server.nodes; i++)
        before.version[i] = server.node[i].version;
}

static void tell_names(bool own)
{
    for (int came = 0; came < 2; came++)
        for (int d = 0; d < server.dirs; d++)
            for (int name = 0; name < NAMES; name++) {
                int was = d < before.dirs ? before.entry[d][name] : -1, is = server.entry[d][name];
                if (was == is || (is >= 0) != came)
                    continue;
                enum cache_notice in_one[] = {CACHE_REMOVED, CACHE_ADDED};
                enum cache_notice renamed[] = {CACHE_RENAMED_FROM, CACHE_RENAMED_TO};
                put_notice(one_in(2) ? in_one[came] : renamed[came], d, name, is, own);
            }
}

static void tell_attr(int node, bool own)
{
    for (int d = 0; d < server.dirs; d++)
        for (int name = 0; name < NAMES; name++)
            if (server.entry[d][name] == node && d < before.dirs && before.entry[d][name] == node)
                put_notice(CACHE_MODIFIED, d, name, node, own);
}

static void break_leases(void)
{
    for (int i = 0; i < LEASES; i++) {
        struct lease *l = &leases[i];
        if (!l->used || !l->live)
            continue;
        int node = l->what.node, d = server.node[node].dir;
        bool touched = server.node[node].is_dir
                           ? memcmp(server.entry[d], before.entry[d], sizeof server.entry[d]) != 0
                           : server.node[node].version != before.version[node];
        if (touched) {
            l->live = false;
            l->breaking = server.moment;
        }
    }
}

void change_ends(enum who who)
{
    if (!promises || who == NOBODY)
        return;
    tell_names(who == OURSELVES);
    for (int node = 0; node < before.nodes; node++) {
        bool names = server.node[node].is_dir &&
                     memcmp(server.entry[server.node[node].dir],
                            before.entry[server.node[node].dir], sizeof server.entry[0]) != 0;
        if (server.node[node].version != before.version[node] && !names)
            tell_attr(node, who == OURSELVES);
    }
    if (who == OTHERS)
        break_leases();
}

/* ---- ages ---- */

static uint64_t oldest(bool promised)
{
    uint64_t seconds = m.settings.directory_cache_lifetime;
    if (m.settings.file_info_cache_lifetime > seconds)
        seconds = m.settings.file_info_cache_lifetime;
    if (promised && m.settings.cache_max_age > seconds)
        seconds = m.settings.cache_max_age;
    return promises ? moment_at(m.now - seconds * NS_PER_SEC) : 0;
}

uint64_t oldest_name(const struct cache_file *dir)
{
    return oldest(m.c->watched || is_leased(dir));
}

uint64_t oldest_attr(const struct cache_file *f)
{
    return oldest(cache_file_is_dir(f) ? m.c->watched : is_leased(f));
}

/* ---- the run ---- */

bool quiet(void)
{
    return promises && m.op / 500 % 2;
}

/* A lease that stands keeps the listing that was asked for under it. */
static void check_lease(const struct lease *l)
{
    const struct cache_dir *d = l->used ? l->what.f->dir : NULL;
    if (!l->noted || !l->live || !d || !d->listing)
        return;
    struct stamp s = listing_stamp(d->listing);
    uint64_t age = m.now - s.sent;
    bool under_it = s.asked == l->with || order_after(s.asked, l->from);
    if (!under_it || age >= m.settings.cache_max_age * NS_PER_SEC || has_doubts(d))
        return;
    struct cache_listing *listing = cache_plan_listing(m.c, l->what.f, m.now);
    if (!listing)
        differ("a lease did not keep its listing");
    prolonged += age > m.settings.directory_cache_lifetime * NS_PER_SEC;
    cache_listing_unref(listing);
}

static void lose_session(void)
{
    trace("session lost");
    cache_promises_lost(m.c);
    for (int i = 0; i < LEASES; i++)
        if (leases[i].used)
            lease_end(&leases[i]);
    armed = overflowed = false;
    queued = 0;
    told[3]++;
}

void promises_step(void)
{
    if (past_count < MOMENTS) {
        past[past_count].moment = server.moment;
        past[past_count++].at = m.now;
    }
    bool slow = m.life % 2; /* then the notices of many changes come at once */
    for (int n = slow && !one_in(30) ? 0 : slow ? QUEUE : 1; n > 0; n--)
        deliver_notice();
    if (one_in(2))
        deliver_break();
    if (one_in(20))
        check_lease(&leases[below(LEASES)]);
    if (one_in(quiet() ? 10 : 100))
        m.now += (uint64_t)below(2000) * NS_PER_MS;
    if (one_in(60)) { /* our own close; a break that is on its way finds nobody */
        struct lease *l = &leases[below(LEASES)];
        if (l->used && l->noted) {
            cache_unpromised(m.c, l->what.f);
            lease_end(l);
        }
    }
    if (one_in(150) && m.life % 3 == 2) {
        armed = true;
        cache_watched(m.c);
    }
    if (one_in(1000))
        overflowed = armed;
    if (one_in(1500))
        lose_session();
}

void promises_begin(void)
{
    static const uint64_t grains[] = {1, NS_PER_MS, 2 * NS_PER_SEC};
    past_count = queued = 0;
    armed = overflowed = false;
    if (promises)
        server.grain = grains[below(3)];
}

void promises_choose(void)
{
    static const uint32_t ages[] = {6, 20, 20, 60, 0};
    promises = m.life % 3 != 0;
    if (!promises)
        return;
    m.settings.directory_cache_lifetime = m.settings.file_info_cache_lifetime = 2;
    m.settings.file_not_found_cache_lifetime = 1;
    m.settings.cache_max_age = ages[below(5)];
}

void promises_end(void)
{
    for (int i = 0; i < LEASES; i++)
        if (leases[i].used)
            lease_end(&leases[i]);
}

void check_useful(void)
{
    printf("told: %" PRIu64 " breaks, %" PRIu64 " notices, %" PRIu64 " times lost, %" PRIu64
           " sessions lost; %" PRIu64 " listings prolonged; %" PRIu64 " echoes, %" PRIu64
           " harmless; verified %" PRIu64 " good, %" PRIu64 " not\n",
           told[0], told[1], told[2], told[3], prolonged, echoes, harmless, verified[1],
           verified[0]);
    if (m.count < 100000)
        return;
    uint64_t least = m.count / 20000;
    if (told[0] < least || told[1] < least || !told[2] || !told[3] || prolonged < least ||
        harmless < least || verified[1] < least / 4)
        differ("too little was tested of promises");
}
