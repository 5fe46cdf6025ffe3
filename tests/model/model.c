/*
 * The model test: random calls on the cache beside a naive oracle (oracle.h), with the same clock.
 *
 * A run is many short lives of a cache, each with settings of its own: a profile, then lifetimes of
 * 0 and some seconds, bounds of 0, 1, a few and many, memory for a handful of entries, the order
 * counter anywhere or just below its wrap. After every call the answer, the validity, the counters
 * of all three caches, the number of entries and the accounted bytes must be the oracle's, and the
 * bounds must hold. The server's answers are random, arrive in random order, and contradict one
 * another; the clock stands, goes, jumps, and steps back.
 *
 * model [COUNT [SEED]]: a difference prints the last calls and exits 1.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "model/model.h"

/* ---- holding files ---- */

static void let_go(int at)
{
    cache_file_unref(m.c, m.real[m.held[at]]);
    m.held[at] = m.held[--m.held_count];
}

/* Takes over a reference; holds it or lets it go. */
static void keep(int file, struct cache_file *real)
{
    if (file == ORACLE_ROOT || (!oracle.file[file].is_dir && !one_in(4)) || one_in(3)) {
        cache_file_unref(m.c, real);
        return;
    }
    if (m.held_count == HELD)
        let_go(below(HELD));
    m.held[m.held_count++] = file;
}

/* A file to ask about: a held one or the root. */
static int some_file(void)
{
    return m.held_count && one_in(2) ? m.held[below(m.held_count)] : ORACLE_ROOT;
}

static int some_directory(void)
{
    for (int tries = 0; tries < 4; tries++) {
        int f = some_file();
        if (oracle.file[f].is_dir)
            return f;
    }
    return ORACLE_ROOT;
}

static struct cache_file *real_of(int file)
{
    return file == ORACLE_ROOT ? cache_root(m.c) : m.real[file];
}

static int some_name(void)
{
    return one_in(3) ? below(spelling_count) : below(8);
}

static size_t length(int name)
{
    return strlen(spellings[name].text);
}

/* ---- what the server says ---- */

static struct file_attr some_attr(int name)
{
    bool dir = name < 4 ? !one_in(8) : one_in(12);
    struct file_attr a = {.size = (uint64_t)below(1000), .links = (uint32_t)below(3)};
    a.attributes = dir ? FILE_ATTRIBUTE_DIRECTORY : FILE_ATTRIBUTE_ARCHIVE;
    switch (below(12)) {
    case 0: /* the server tells no ids, this time */
        break;
    case 1: /* another file has come in its place */
        a.id = 1000 + (uint64_t)name * 2 + 1;
        break;
    case 2: /* a hard link, or an id that is not unique */
        a.id = 2000 + (uint64_t)below(3);
        break;
    default:
        a.id = 1000 + (uint64_t)name * 2;
        break;
    }
    a.created = a.id + (one_in(10) ? 1 : 0);
    return a;
}

/* A listing is of one moment: hard links in it have the same attributes, told with their id or
 * without, and no two directories the same id (which of them would get it first is open). */
static void one_moment(const struct oracle_listing *l, int dir, int name, struct file_attr *inout)
{
    for (int i = 0; i < oracle.names; i++) {
        const struct oracle_name *n = &oracle.name[i];
        const struct oracle_file *f = &oracle.file[n->file];
        if (n->dir == dir && n->spelling == name && f->attr.id >= 2000 && !inout->id)
            inout->id = f->attr.id;
    }
    if (file_attr_is_dir(inout) && inout->id >= 2000)
        inout->id = 1000 + (uint64_t)name * 2;
    for (int i = 0; i < l->count; i++)
        if (l->attr[i].id >= 2000 && l->attr[i].id == inout->id)
            *inout = l->attr[i];
}

/* A listing in both worlds; its number in the oracle's. */
static int make_listing(int dir, struct cache_ticket real, struct oracle_ticket t)
{
    struct oracle_listing *l = &oracle.listing[oracle.listings];
    struct cache_listing *r = cache_listing_new();
    *l = (struct oracle_listing){.order = t.order, .sent = t.sent};
    int dense = below(3);
    for (int name = 0; r && name < spelling_count && l->count < ORACLE_LISTED; name++) {
        if (dense == 0 ? !one_in(6) : dense == 1 ? !one_in(2) : one_in(8))
            continue;
        struct file_attr attr = some_attr(name);
        one_moment(l, dir, name, &attr);
        size_t wire = one_in(60) ? 70000 : 100 + 2 * length(name);
        l->name[l->count] = name;
        l->attr[l->count++] = attr;
        l->wire += wire;
        if (cache_listing_add(r, spellings[name].text, length(name), &attr, wire) < 0)
            r = cache_listing_unref(r);
    }
    if (!r || cache_listing_seal(r, real) < 0)
        differ("out of memory");
    same_number("wire bytes", cache_listing_wire_bytes(r), l->wire);
    m.listing[oracle.listings] = r;
    return oracle.listings++;
}

/* What a belief is accounted with, by asking a cache that holds nothing else: a listing, or where
 * that is NULL a negative of this name, or where that is -1 a file's attributes. */
static uint64_t weigh(struct cache_listing *l, int name, struct cache_ticket t)
{
    struct settings s;
    settings_profile("larder", &s, NULL);
    s.directory_cache_entry_size_max = UINT32_MAX;
    struct observe *o;
    struct cache *c;
    struct observe_options options = {0};
    if (observe_new(&options, &o, NULL) < 0 || !(c = cache_new(&s, o)))
        differ("out of memory");
    cache_set_order(c, t.order);
    t = cache_ask(c, t.sent);
    struct file_attr attr = {.attributes = FILE_ATTRIBUTE_DIRECTORY};
    if (l)
        cache_commit_listing(c, cache_root(c), l, t, t.sent);
    else if (name >= 0)
        cache_commit_missing(c, cache_root(c), spellings[name].text, length(name), t, t.sent);
    else
        cache_commit_attr(c, cache_root(c), &attr, t, t.sent);
    struct cache_sizes sizes;
    cache_sizes(c, &sizes);
    cache_free(c);
    observe_free(o);
    return sizes.bytes;
}

/* ---- the calls ---- */

/* What is shown to people is what comes next, and to show it changes nothing: the oracle knows of
 * no such call. */
static void explain(int dir, int name, struct cache_explained *ret)
{
    cache_explain(m.c, real_of(dir), spellings[name].text, length(name), false, m.now, ret);
    if (ret->file)
        cache_file_unref(m.c, ret->file);
}

static void same_as_explained(const struct cache_explained *e, const struct cache_plan *plan)
{
    if (e->step != plan->step)
        differ("explained as step %d, but it is %d", e->step, plan->step);
    if (e->step == CACHE_ANSWER &&
        (e->result != plan->result || (plan->file && e->file != plan->file)))
        differ("explained with result %d, but it is %d", e->result, plan->result);
    if (e->step == CACHE_LIST && e->guess != plan->guess)
        differ("explained as another way to list");
}

static void call_lookup(void)
{
    int dir = some_file(), name = some_name();
    enum cache_intent intent = one_in(5) ? CACHE_OPEN_IT : CACHE_LOOK_UP;
    struct cache_plan real;
    struct cache_explained explained;
    struct oracle_plan expected;
    bool look = intent == CACHE_LOOK_UP && one_in(2);
    if (look)
        explain(dir, name, &explained);
    cache_plan_lookup(m.c, real_of(dir), spellings[name].text, length(name), intent, m.now, &real);
    oracle_lookup(&oracle, dir, name, intent, m.now, &expected);
    trace("look up %s in %d (%s): step %d, result %d, file %d", spellings[name].text, dir,
          intent == CACHE_OPEN_IT ? "open" : "look up", expected.step, expected.result,
          expected.file);
    same_plan(&real, &expected);
    if (look)
        same_as_explained(&explained, &real);
    m.steps[real.step]++;
    if (real.file)
        keep(expected.file, real.file);
}

static void call_attr(void)
{
    int file = some_file();
    struct cache_plan real;
    struct oracle_plan expected;
    cache_plan_attr(m.c, real_of(file), m.now, &real);
    oracle_attr(&oracle, file, m.now, &expected);
    trace("attributes of %d: step %d", file, expected.step);
    same_plan(&real, &expected);
    if (real.file)
        cache_file_unref(m.c, real.file);
}

static void call_listing(void)
{
    int dir = some_directory();
    struct cache_listing *real = cache_plan_listing(m.c, real_of(dir), m.now);
    int expected = oracle_listing(&oracle, dir, m.now);
    trace("listing of %d: %d", dir, expected);
    if (real != (expected < 0 ? NULL : m.listing[expected]))
        differ("another listing than %d", expected);
    cache_listing_unref(real);
}

static void call_walk(void)
{
    int components[4], count = below(4);
    char path[256] = "";
    for (int i = 0; i <= count; i++) {
        components[i] = some_name();
        strcat(path, spellings[components[i]].text);
        strcat(path, i < count ? "/" : "");
    }
    struct cache_file *dir;
    const char *name;
    size_t len;
    int expected_dir = -1;
    int r = cache_walk(m.c, path, strlen(path), m.now, &dir, &name, &len);
    int expected = oracle_walk(&oracle, components, count, m.now, &expected_dir);
    trace("walk %s: %d, directory %d", path, expected, expected_dir);
    same_number("walk", (uint64_t)r, (uint64_t)expected);
    if (r < 0)
        return;
    if (len != length(components[count]) || memcmp(name, spellings[components[count]].text, len))
        differ("the walk ends in %.*s", (int)len, name);
    if (expected_dir == ORACLE_ROOT && dir != cache_root(m.c))
        differ("the walk does not end in the root");
    same_file(expected_dir, dir);
    keep(expected_dir, dir);
}

static void call_ask(void)
{
    struct pending *p = &m.pending[below(PENDING)];
    if (p->used)
        return;
    *p = (struct pending){.used = true, .dir = some_directory(), .file = some_file()};
    p->name = some_name();
    cache_file_ref(real_of(p->dir));
    cache_file_ref(real_of(p->file));
    p->real = cache_ask(m.c, m.now);
    p->oracle = oracle_ask(&oracle, m.now);
    trace("ask %d: %s in %d, file %d, order %" PRId64, (int)(p - m.pending),
          spellings[p->name].text, p->dir, p->file, p->oracle.order);
}

static void answer_found(const struct pending *p)
{
    struct file_attr attr = some_attr(p->name);
    struct cache_file *f;
    uint64_t until, expected_until;
    int spelling = one_in(4) ? some_name() : p->name;
    cache_learn_spelling(m.c, spellings[p->name].text, length(p->name), spellings[spelling].text,
                         length(spelling));
    oracle_learn_spelling(&oracle, p->name, spelling);
    int r = cache_commit_found(m.c, real_of(p->dir), spellings[p->name].text, length(p->name),
                               &attr, p->real, m.now, &f, &until);
    int file = oracle_found(&oracle, p->dir, p->name, &attr, p->oracle, m.now, &expected_until);
    trace("  found: id %" PRIu64 " size %" PRIu64 "%s, file %d", attr.id, attr.size,
          file_attr_is_dir(&attr) ? " directory" : "", file);
    same_number("found", (uint64_t)r, 0);
    same_number("found until", until, expected_until);
    same_file(file, f);
    keep(file, f);
}

static void answer_missing(const struct pending *p)
{
    uint64_t until = cache_commit_missing(m.c, real_of(p->dir), spellings[p->name].text,
                                          length(p->name), p->real, m.now);
    trace("  missing");
    same_number("missing until", until, oracle_missing(&oracle, p->dir, p->name, p->oracle, m.now));
}

static void answer_attr(const struct pending *p)
{
    struct file_attr attr = some_attr(p->name);
    const struct oracle_file *f = &oracle.file[p->file];
    if (!one_in(6)) { /* mostly, it is of this file */
        attr.id = f->identified ? f->attr.id : 3000 + (uint64_t)below(3);
        attr.attributes = f->is_dir ? FILE_ATTRIBUTE_DIRECTORY : 0;
    }
    uint64_t until = cache_commit_attr(m.c, real_of(p->file), &attr, p->real, m.now);
    trace("  attributes: id %" PRIu64 " size %" PRIu64 "%s", attr.id, attr.size,
          file_attr_is_dir(&attr) ? " directory" : "");
    same_number("attributes until", until,
                oracle_told_attr(&oracle, p->file, &attr, p->oracle, m.now));
    m.real[p->file] = real_of(p->file);
    same_file(p->file, m.real[p->file]);
}

static void answer_listing(const struct pending *p)
{
    struct cache_plan real;
    struct oracle_plan expected;
    int l = make_listing(p->dir, p->real, p->oracle);
    oracle.listing[l].bytes = weigh(m.listing[l], -1, p->real);
    trace("  listing %d of %d entries, %" PRIu64 " bytes on the wire, %" PRIu64 " here", l,
          oracle.listing[l].count, oracle.listing[l].wire, oracle.listing[l].bytes);
    cache_commit_listing(m.c, real_of(p->dir), m.listing[l], p->real, m.now);
    oracle_listed(&oracle, p->dir, l, p->oracle, m.now);
    same_counts();
    cache_answer_from(m.c, real_of(p->dir), m.listing[l], spellings[p->name].text, length(p->name),
                      p->real, m.now, &real);
    oracle_answer_from(&oracle, p->dir, l, p->name, m.now, &expected);
    same_plan(&real, &expected);
    if (real.file)
        keep(expected.file, real.file);
    if (one_in(2) || oracle.listing[l].count == 0)
        return;
    struct cache_file *f;
    uint64_t until, expected_until;
    int entry = below(oracle.listing[l].count);
    int r = cache_adopt(m.c, real_of(p->dir), m.listing[l], (size_t)entry, m.now, &f, &until);
    int file = oracle_adopt(&oracle, p->dir, l, entry, m.now, &expected_until);
    trace("  adopt entry %d: file %d", entry, file);
    same_number("adopt", (uint64_t)r, 0);
    same_number("adopted until", until, expected_until);
    same_file(file, f);
    keep(file, f);
}

static void call_answer(void)
{
    struct pending *p = &m.pending[below(PENDING)];
    if (!p->used)
        return;
    trace("answer %d:", (int)(p - m.pending));
    switch (below(10)) {
    case 0:
    case 1:
    case 2:
        answer_found(p);
        break;
    case 3:
    case 4:
        answer_missing(p);
        break;
    case 5:
    case 6:
        answer_attr(p);
        break;
    case 7:
    case 8:
        answer_listing(p);
        break;
    case 9:
        cache_commit_partial(m.c, real_of(p->dir), p->real, m.now);
        oracle_partial(&oracle, p->dir, p->oracle);
        trace("  partial");
        break;
    }
    cache_file_unref(m.c, real_of(p->dir));
    cache_file_unref(m.c, real_of(p->file));
    p->used = false;
}

/* An entry of an old listing, as readdirplus meets it. */
static void call_adopt(void)
{
    int dir = some_directory();
    int l = oracle.file[dir].listing;
    if (l < 0 || oracle.listing[l].count == 0)
        return;
    int entry = below(oracle.listing[l].count);
    struct cache_file *f;
    uint64_t until, expected_until;
    int r = cache_adopt(m.c, real_of(dir), m.listing[l], (size_t)entry, m.now, &f, &until);
    int file = oracle_adopt(&oracle, dir, l, entry, m.now, &expected_until);
    trace("adopt entry %d of listing %d of %d: file %d", entry, l, dir, file);
    same_number("adopt", (uint64_t)r, 0);
    same_number("adopted until", until, expected_until);
    same_file(file, f);
    keep(file, f);
}

static void call_change(void)
{
    enum observe_miss reason = one_in(2) ? MISS_CHANGED : MISS_BROKEN;
    if (one_in(3)) {
        int file = some_file();
        trace("file %d changes", file);
        cache_changed(m.c, real_of(file), reason);
        oracle_changed(&oracle, file, reason);
    } else {
        int dir = some_directory(), name = some_name();
        trace("name %s in %d changes", spellings[name].text, dir);
        cache_name_changed(m.c, real_of(dir), spellings[name].text, length(name), reason);
        oracle_name_changed(&oracle, dir, name, reason);
    }
}

static void tick(void)
{
    switch (below(100)) {
    case 0:
        m.now += (uint64_t)below(12) * NS_PER_SEC;
        break;
    case 1:
        m.now += NS_PER_SEC;
        break;
    case 2:
        if (one_in(4))
            m.now -= (uint64_t)below(5000) * NS_PER_MS;
        break;
    case 3:
        if (one_in(20))
            m.now += 3600 * NS_PER_SEC;
        break;
    default:
        m.now += one_in(2) ? (uint64_t)below(20) * NS_PER_MS : 0;
        break;
    }
}

static void call(void)
{
    tick();
    int what = below(100);
    if (what < 34)
        call_lookup();
    else if (what < 42)
        call_attr();
    else if (what < 45)
        call_listing();
    else if (what < 52)
        call_walk();
    else if (what < 70)
        call_ask();
    else if (what < 92)
        call_answer();
    else if (what < 95)
        call_adopt();
    else if (what < 97)
        call_change();
    else if (m.held_count)
        let_go(below(m.held_count));
    same_counts();
}

/* ---- lives ---- */

static uint32_t some_bound(uint32_t by_profile)
{
    static const uint32_t bounds[] = {0, 1, 1, 2, 2, 3, 5, 8};
    return one_in(3) ? by_profile : bounds[below(8)];
}

static uint32_t some_lifetime(uint32_t by_profile)
{
    static const uint32_t lifetimes[] = {0, 1, 2, 5, 10, 30, 30, 600};
    return one_in(2) ? by_profile : lifetimes[below(8)];
}

static void choose_settings(struct settings *s)
{
    static const char *const profiles[] = {"larder", "23h2", "25h2", "larder", "off"};
    settings_profile(profiles[m.life % 5], s, NULL);
    if (m.life % 4 == 0)
        return; /* as it comes */
    if (one_in(3))
        s->directory_cache = s->file_info_cache = s->file_not_found_cache = true;
    s->directory_cache_lifetime = some_lifetime(s->directory_cache_lifetime);
    s->file_info_cache_lifetime = some_lifetime(s->file_info_cache_lifetime);
    s->file_not_found_cache_lifetime = some_lifetime(s->file_not_found_cache_lifetime);
    s->directory_cache_entries_max = some_bound(s->directory_cache_entries_max);
    s->file_info_cache_entries_max = some_bound(s->file_info_cache_entries_max);
    s->file_not_found_cache_entries_max = some_bound(s->file_not_found_cache_entries_max);
    if (one_in(4))
        s->directory_cache_entry_size_max = (uint32_t)below(3000);
    if (one_in(3))
        s->cache_memory_max = 1000 + (uint64_t)below(12000);
    if (one_in(4))
        s->on_miss = (enum settings_on_miss)below(4);
    if (one_in(4))
        s->info_answers_lookup = !s->info_answers_lookup;
}

static uint64_t first_order(void)
{
    switch (below(4)) {
    case 0:
        return 1;
    case 1: /* wraps after a few calls, or in the middle of this life */
        return UINT64_MAX - (uint64_t)below(one_in(2) ? 5 : 400);
    case 2: /* where the difference of two orders changes its sign */
        return (uint64_t)INT64_MAX - (uint64_t)below(400);
    }
    return chance();
}

static void begin(void)
{
    choose_settings(&m.settings);
    struct observe_options options = {0};
    if (observe_new(&options, &m.observe, NULL) < 0 || !(m.c = cache_new(&m.settings, m.observe)))
        differ("out of memory");
    uint64_t order = first_order();
    cache_set_order(m.c, order);
    m.now = (1000 + (uint64_t)below(100000)) * NS_PER_SEC;
    m.traced = 0;
    memset(m.real, 0, sizeof m.real);
    m.real[ORACLE_ROOT] = cache_root(m.c);
    oracle_init(&oracle, &m.settings, m.info_bytes, m.negative_bytes);
    trace("begin: %s, first order %" PRIx64, m.settings.profile, order);
}

static void end(void)
{
    for (int i = 0; i < PENDING; i++)
        if (m.pending[i].used) {
            cache_file_unref(m.c, real_of(m.pending[i].dir));
            cache_file_unref(m.c, real_of(m.pending[i].file));
            m.pending[i].used = false;
        }
    while (m.held_count)
        let_go(0);
    same_counts();
    for (int i = 0; i < 3; i++) {
        m.hits[i] += oracle.counts[i].hits;
        m.evictions[i] += oracle.counts[i].evictions;
    }
    m.c = cache_free(m.c);
    for (int i = 0; i < oracle.listings; i++)
        cache_listing_unref(m.listing[i]);
    m.observe = observe_free(m.observe);
}

int main(int argc, char **argv)
{
    m.count = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000000;
    m.seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    m.random = m.seed;
    printf("%" PRIu64 " calls, seed %" PRIu64 "\n", m.count, m.seed);
    m.info_bytes = weigh(NULL, -1, (struct cache_ticket){1, 1});
    m.negative_bytes = weigh(NULL, 0, (struct cache_ticket){1, 1}) - length(0);
    while (m.op < m.count) {
        begin();
        for (int i = 0; i < LIFE && m.op < m.count && !oracle_is_full(&oracle); i++, m.op++)
            call();
        end();
        m.life++;
    }
    for (int i = 0; i < 5 && m.count >= 100000; i++)
        if (m.steps[i] == 0 || (i < 3 && (m.hits[i] == 0 || m.evictions[i] == 0)))
            differ("nothing was tested of step or cache %d", i);
    printf("no difference in %u lives; hits %" PRIu64 " dir, %" PRIu64 " info, %" PRIu64
           " notfound; evictions %" PRIu64 ", %" PRIu64 ", %" PRIu64 "\nsteps: answer %" PRIu64
           ", list %" PRIu64 ", search %" PRIu64 ", stat %" PRIu64 ", open %" PRIu64 "\n",
           m.life, m.hits[0], m.hits[1], m.hits[2], m.evictions[0], m.evictions[1], m.evictions[2],
           m.steps[0], m.steps[1], m.steps[2], m.steps[3], m.steps[4]);
    return 0;
}
