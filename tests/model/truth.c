/*
 * Own changes beside a server that tells the truth (server.h), with other clients who change the
 * same names and files.
 *
 * Questions and own changes are sent, carried out by the server at some later moment, and completed
 * in any order. The oracle is the server's memory: whatever the cache says of a name or a file must
 * have been true at some moment that is not before the last of which the client has certain
 * knowledge. An own change that was completed gives certainty from the moment at which the server
 * did it, which the cache does not know and the oracle does; an answer from the moment at which it
 * was asked for, unless an own change of the same thing was completed while it was under way.
 *
 * A cache that believed nothing would never be wrong: so every own change that overlapped with
 * nothing is looked at right after its completion, when the cache has to know what came of it, and
 * has to believe the listing still that it believed before.
 *
 * In two lives of three the server promises to tell of changes (truth_promise.c).
 *
 * truth [COUNT [SEED]]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "model/truth.h"

const char *const kind_names[KINDS] = {"ask",   "list",   "stat",   "verify", "make",
                                       "mkdir", "remove", "rename", "link",   "write"};

struct server server;
struct op ops[OPS];
struct held held[HOLD]; /* the first is the root */
int held_count;
struct snapshot snapshots[SNAPSHOTS];
bool strange[OBJECTS]; /* directories whose path leads elsewhere, and nobody told the cache */
bool roomy;            /* this life's caches have room for everything */

/* The moments from which on things are known for certain, and at which own changes of them ended;
 * by the serial numbers of the cache's objects, since of a directory there may be several. */
uint64_t name_floor[OBJECTS][NAMES], name_changed[OBJECTS][NAMES];
uint64_t attr_floor[OBJECTS], attr_changed[OBJECTS];

uint64_t begun[KINDS], alone[KINDS], known[KINDS], listings_kept, answers;

const char *text(int name)
{
    return server_names[name].text;
}

/* ---- sending ---- */

static bool path_of(struct cache_file *f, char path[256])
{
    int n = cache_file_path(f, path, 255);
    path[n > 0 ? n : 0] = 0;
    return n >= 0;
}

static void release(struct op *o)
{
    cache_file_unref(m.c, o->dir.f);
    if (o->to_dir.f)
        cache_file_unref(m.c, o->to_dir.f);
    if (o->file.f)
        cache_file_unref(m.c, o->file.f);
    cache_listing_unref(o->listing);
    *o = (struct op){0};
}

/* Two objects of one directory, found by two spellings: a rename by one leaves the other. */
static void find_strange(void)
{
    char path[256];
    for (int i = 0; i < OPS; i++)
        if (ops[i].used)
            return;
    for (int i = 0; i < held_count; i++)
        if (server.node[held[i].node].is_dir && path_of(held[i].f, path) &&
            server_dir(&server, path) != server.node[held[i].node].dir)
            strange[cache_file_serial(held[i].f)] = true;
}

static void send(enum kind kind, struct held dir, int name)
{
    bool calm = m.op / 400 % 2; /* then one thing is done after the other */
    struct op *o = &ops[calm ? 0 : below(OPS)];
    for (int i = 0; i < OPS; i++)
        if (ops[i].used && (calm || o == &ops[i]))
            return;
    *o = (struct op){.kind = kind, .dir = dir, .name = name, .told = !one_in(3), .node = -1};
    cache_file_ref(dir.f);
    if (kind == RENAME || kind == LINK) {
        o->to_dir = one_in(2) ? dir : some_dir();
        o->to = below(NAMES);
        cache_file_ref(o->to_dir.f);
    }
    o->lease = promises && (kind == ASK_LISTING || kind == ASK_ATTR) && !one_in(3);
    if (kind == ASK_ATTR || kind == WRITE || kind == LINK) {
        o->file = held[below(held_count)];
        cache_file_ref(o->file.f);
    }
    if (!path_of(dir.f, o->path) || (o->to_dir.f && !path_of(o->to_dir.f, o->to_path))) {
        release(o);
        return;
    }
    o->alone = true;
    for (int i = 0; i < OPS; i++)
        if (ops[i].used)
            o->alone = ops[i].alone = false;
    /* two objects of one directory, found by two spellings: a rename by one leaves the other */
    bool changing = false;
    for (int i = 0; i < OPS; i++)
        changing |= ops[i].used && ops[i].kind >= MAKE_DIR && ops[i].kind <= RENAME;
    if (!changing && server_dir(&server, o->path) != server.node[dir.node].dir)
        strange[cache_file_serial(dir.f)] = true;
    o->used = true;
    o->ticket = cache_ask(m.c, m.now);
    o->asked = ++server.moment;
    begun[kind]++;
    trace("%d: %s %s/%s -> %s/%s, file %d", (int)(o - ops), kind_names[kind], o->path, text(name),
          o->to_path, text(o->to), o->file.node);
}

/* ---- the server carries it out ---- */

static void take_listing(struct op *o)
{
    o->listing = cache_listing_new();
    for (int name = 0; name < NAMES; name++) {
        int node = o->listed[name] = server.entry[o->server_dir][name];
        if (node < 0)
            continue;
        struct file_attr attr = server_attr(&server, node);
        attr.links = 0;
        if (cache_listing_add(o->listing, text(name), strlen(text(name)), &attr,
                              listing_wire_bytes(text(name), strlen(text(name)))) < 0)
            differ("out of memory");
    }
}

static void carry_out(struct op *o)
{
    int dir = o->server_dir = server_dir(&server, o->path), r = -1;
    int to = o->server_to_dir = o->to_dir.f ? server_dir(&server, o->to_path) : -1;
    bool by_handle = o->kind == ASK_ATTR || o->kind == WRITE;
    o->over = -1;
    change_begins();
    if (by_handle) {
        o->node = o->file.node;
        if (o->kind == WRITE)
            server_write(&server, o->node);
        r = 0;
    } else if (o->kind == ASK_NAME) {
        o->node = dir < 0 ? -1 : server_resolve(&server, dir, o->name, &o->spelling);
        r = 0;
    } else if (o->kind == VERIFY) {
        o->node = dir < 0 ? -1 : server.dir_node[dir];
        r = 0;
    } else if (dir >= 0 && o->kind == ASK_LISTING) {
        o->node = server.dir_node[dir];
        take_listing(o);
        r = 0;
    } else if (dir >= 0 && (o->kind == MAKE || o->kind == MAKE_DIR)) {
        r = server_make(&server, dir, o->name, o->kind == MAKE_DIR, &o->node);
    } else if (dir >= 0 && o->kind == REMOVE) {
        o->node = server_resolve(&server, dir, o->name, &o->spelling);
        r = server_remove(&server, dir, o->name);
    } else if (dir >= 0 && to >= 0 && o->kind == RENAME) {
        o->node = server_resolve(&server, dir, o->name, &o->spelling);
        o->over = server_resolve(&server, to, o->to, &o->spelling);
        r = server_rename(&server, dir, o->name, to, o->to);
    } else if (to >= 0 && o->kind == LINK) {
        o->node = o->file.node;
        r = server_link(&server, o->node, to, o->to);
    }
    o->done = true;
    o->ok = r == 0;
    o->at = ++server.moment;
    change_ends(OURSELVES);
    if (o->node >= 0)
        o->attr = server_attr(&server, o->node);
    if (o->ok && o->lease)
        grant(o);
    trace("%d: carried out: %s, file %d over %d, version %" PRIu64, (int)(o - ops),
          o->ok ? "done" : "refused", o->node, o->over, o->attr.size);
}

/* ---- other clients ---- */

/* They change files only: a path must lead to the directory that the cache means by it. */
static void other_client(void)
{
    int dir = below(server.dirs), name = below(NAMES), to_dir = below(server.dirs);
    int to = below(NAMES), spelling, node = server_resolve(&server, dir, name, &spelling), made;
    if (!server.node[server.dir_node[dir]].links || !server.node[server.dir_node[to_dir]].links)
        return;
    if (quiet() && !one_in(20))
        return;
    change_begins();
    if (node < 0)
        server_make(&server, dir, name, false, &made);
    else if (server.node[node].is_dir) {
        if (one_in(2))
            server_write(&server, node);
    } else if (one_in(3))
        server_remove(&server, dir, name);
    else if (one_in(3))
        server_rename(&server, dir, name, to_dir, to);
    else if (one_in(3))
        server_link(&server, node, to_dir, to);
    else
        server_write(&server, node);
    enum who who = quiet() || one_in(10) ? NOBODY : OTHERS;
    change_ends(promises ? who : OTHERS);
    trace("another client: %s in %d, file %d, %s in %d", text(name), dir, node, text(to), to_dir);
}

/* Somebody has a name forgotten, with what is beneath, or everything. */
static void forget(void)
{
    uint64_t dropped[OBSERVE_CACHES];
    char path[4096];
    struct held dir = some_dir();
    int name = below(NAMES), node;
    int len =
        one_in(10) ? 0 : cache_child_path(dir.f, text(name), strlen(text(name)), path, sizeof path);
    if (len < 0)
        return;
    for (int i = 0; i < OPS; i++)
        ops[i].alone = false; /* what is known after it is less than it might be */
    cache_drop(m.c, path, (size_t)len, dropped);
    trace("forget %.*s", len, path);
    if (len == 0 && (m.c->ring[OBSERVE_DIR].count || m.c->ring[OBSERVE_INFO].count ||
                     m.c->ring[OBSERVE_NOTFOUND].count))
        differ("something is believed though all was forgotten");
    if (len && look_up(dir, name, &node) >= 0)
        differ("%s is believed though it was forgotten", text(name));
}

/* ---- the run ---- */

static void step(void)
{
    static const enum kind kinds[] = {ASK_NAME, ASK_LISTING, ASK_ATTR, MAKE,   MAKE,
                                      REMOVE,   REMOVE,      RENAME,   RENAME, LINK,
                                      WRITE,    WRITE,       MAKE_DIR};
    struct op *o = &ops[below(OPS)];
    for (int i = 0; i < OPS && !o->used; i++)
        o = &ops[i];
    int what = below(100), node;
    m.now += (uint64_t)below(5) * NS_PER_MS + (one_in(300) ? (uint64_t)below(8) * NS_PER_SEC : 0);
    server.moment++;
    server.now = m.now;
    if (promises)
        promises_step();
    if (one_in(1000))
        forget();
    if (what < 28) {
        struct held dir = some_dir();
        look_up(dir, below(NAMES), &node);
        if (cache_must_verify(m.c, dir.f, one_in(2), m.now))
            send(VERIFY, dir, 0);
    } else if (what < 33) {
        read_listing(some_dir());
    } else if (what < 38) {
        struct file_attr attr;
        stat_held(held[below(held_count)], &attr);
    } else if (what < 58) {
        send(kinds[below(quiet() ? 3 : sizeof kinds / sizeof kinds[0])], some_dir(), below(NAMES));
    } else if (what < 75) {
        if (o->used && !o->done)
            carry_out(o);
    } else if (what < 92) {
        if (o->used && o->done) {
            complete(o);
            release(o);
            find_strange();
        }
    } else if (what < 95) {
        other_client();
    } else if (what < 97) {
        if (held_count > 1)
            let_go(1 + below(held_count - 1));
    } else {
        check_snapshots();
        check_bounds();
    }
}

static void begin(void)
{
    static const char *const profiles[] = {"larder", "23h2", "25h2"};
    roomy = m.life % 2 == 0;
    settings_profile(roomy ? "larder" : profiles[m.life / 2 % 3], &m.settings, NULL);
    if (!roomy && one_in(2)) {
        m.settings.directory_cache_entries_max = 1 + (uint32_t)below(3);
        m.settings.file_info_cache_entries_max = (uint32_t)below(4);
        m.settings.file_not_found_cache_entries_max = (uint32_t)below(3);
    }
    if (!roomy && one_in(4))
        m.settings.directory_cache_entry_size_max = 200 + (uint32_t)below(600);
    if (!roomy && one_in(4))
        m.settings.cache_memory_max = 3000 + (uint64_t)below(8000);
    promises_choose();
    struct observe_options options = {0};
    if (observe_new(&options, &m.observe, NULL) < 0 || !(m.c = cache_new(&m.settings, m.observe)))
        differ("out of memory");
    cache_set_order(m.c, one_in(2) ? 1 : UINT64_MAX - (uint64_t)below(400));
    m.now = 1000 * NS_PER_SEC;
    m.traced = 0;
    server_init(&server, one_in(2));
    server.now = m.now;
    memset(name_floor, 0, sizeof name_floor);
    memset(name_changed, 0, sizeof name_changed);
    memset(strange, 0, sizeof strange);
    memset(attr_floor, 0, sizeof attr_floor);
    memset(attr_changed, 0, sizeof attr_changed);
    held[0] = (struct held){cache_root(m.c), 0};
    held_count = 1;
    cache_file_ref(held[0].f);
    promises_begin();
    trace("begin: %s, %s", m.settings.profile, server.folds ? "folds" : "tells cases apart");
}

static void end(void)
{
    struct observe_counts counts;
    for (int i = 0; i < OPS; i++)
        if (ops[i].used)
            release(&ops[i]);
    for (int i = 0; i < SNAPSHOTS; i++)
        snapshots[i].l = cache_listing_unref(snapshots[i].l);
    promises_end();
    while (held_count)
        let_go(0);
    check_bounds();
    observe_read(m.observe, &counts);
    for (int i = 0; i < OBSERVE_CACHES; i++)
        m.hits[i] += counts.cache[i].patches;
    m.c = cache_free(m.c);
    m.observe = observe_free(m.observe);
    m.life++;
}

int main(int argc, char **argv)
{
    m.count = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000000;
    m.seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    m.random = m.seed;
    printf("%" PRIu64 " steps, seed %" PRIu64 "\n", m.count, m.seed);
    while (m.op < m.count) {
        begin();
        for (int i = 0;
             i < LIFE && m.op < m.count && m.c->serial < OBJECTS - 100 && !server_is_full(&server);
             i++, m.op++)
            step();
        end();
    }
    printf("nothing untrue in %u lives: %" PRIu64 " answers; patches %" PRIu64 " dir, %" PRIu64
           " info, %" PRIu64 " notfound; listings kept %" PRIu64 "\n",
           m.life, answers, m.hits[0], m.hits[1], m.hits[2], listings_kept);
    for (int k = 0; k < KINDS; k++)
        printf("%s %" PRIu64 " (%" PRIu64 " alone, %" PRIu64 " known)%s", kind_names[k], begun[k],
               alone[k], known[k], k + 1 < KINDS ? ", " : "\n");
    check_useful();
    for (int k = MAKE; k < KINDS && m.count >= 100000; k++)
        if (known[k] < m.count / 20000 || listings_kept < m.count / 2000)
            differ("too little was tested of %s", kind_names[k]);
    return 0;
}
