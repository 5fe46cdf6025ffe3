/*
 * Which operation is which question:
 *
 *   LIST               the listing of the directory
 *   SEARCH for a name  a look-up of the name
 *   STAT               a look-up of the name; of the root, which has none, its attributes
 *   MISS               a look-up; where the CREATE wanted more than to look, an open
 *   the rest           nothing that a cache could answer
 *
 * A plan of ANSWER that agrees with what the capture shows saves all requests of the operation. One
 * that does not agree saves nothing: the server was asked, and what it said is believed from then
 * on. An operation that is asked just as the capture's client asked it costs what was seen; another
 * way of asking costs what client/ would send.
 */
#include "capture/engine.h"

#include <errno.h>
#include <string.h>

#include "base/ntstatus.h"

#define BUFFER               65536        /* bytes that one QUERY_DIRECTORY brings */
#define GUESS                (2 * BUFFER) /* that one round trip of a compound brings */
#define FILE_DELETE_ON_CLOSE 0x00001000u  /* MS-SMB2 2.2.13 */
#define LOOKS_ONLY           (FILE_READ_ATTRIBUTES | FILE_READ_EA | ACCESS_READ_CONTROL | ACCESS_SYNCHRONIZE)

/* ---- accounts ---- */

void effort_add(struct effort *to, const struct effort *e)
{
    for (unsigned i = 0; i < SMB2_COMMANDS; i++)
        to->requests[i] += e->requests[i];
    to->messages += e->messages;
    to->round_trips += e->round_trips;
    to->waited_ns += e->waited_ns;
}

uint64_t effort_requests(const struct effort *e)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < SMB2_COMMANDS; i++)
        sum += e->requests[i];
    return sum;
}

/* One operation on its way through one cache. */
struct play {
    struct cache *c;
    struct account *a;
    const struct scene *s;
    const struct moment *m;
    struct cache_file *dir; /* a reference; of the subject's name, for LIST of the subject itself */
    const char *name;
    size_t len;
    uint64_t hits[OBSERVE_CACHES]; /* before it was asked */
};

static void charge(struct account *a, unsigned command, uint32_t n)
{
    a->charged.requests[command] += n;
    a->charged.messages += 2 * (uint64_t)n;
}

/* Requests one by one are a wait each. As a compound CREATE, a first QUERY and the rest that fits
 * are one, and nobody waits for the CLOSE. */
static void charge_waits(struct account *a, uint32_t one_by_one, uint32_t compound)
{
    a->charged.round_trips += a->settings.compound ? compound : one_by_one;
}

static void charge_list(struct account *a, uint32_t queries)
{
    if (a->settings.compound && queries < 2)
        queries = 2;
    charge(a, SMB2_CREATE, 1);
    charge(a, SMB2_QUERY_DIRECTORY, queries);
    charge(a, SMB2_CLOSE, 1);
    charge_waits(a, 2 + queries, 1 + (queries - 1) / 2);
}

static void charge_search(struct account *a, bool found)
{
    uint32_t queries = found || a->settings.compound ? 2 : 1; /* the first says NO_SUCH_FILE */
    charge(a, SMB2_CREATE, 1);
    charge(a, SMB2_QUERY_DIRECTORY, queries);
    charge(a, SMB2_CLOSE, 1);
    charge_waits(a, 2 + queries, 1);
}

static void charge_stat(struct account *a, bool found)
{
    bool all = found || a->settings.compound; /* a compound is sent before its CREATE fails */
    charge(a, SMB2_CREATE, 1);
    charge(a, SMB2_QUERY_INFO, all);
    charge(a, SMB2_CLOSE, all);
    charge_waits(a, all ? 3 : 1, 1);
}

/* It costs what it was seen to cost; in `waits` round trips where a compound needs fewer. */
static void keep(struct account *a, const struct operation *o, uint32_t waits)
{
    if (!a->settings.compound || waits > o->round_trips)
        waits = o->round_trips;
    for (unsigned i = 0; i < SMB2_COMMANDS; i++)
        a->kept.requests[i] += o->requests[i];
    a->kept.messages += o->messages;
    a->kept.round_trips += waits;
    a->kept.waited_ns +=
        waits == o->round_trips ? o->waited_ns : o->waited_ns / o->round_trips * waits;
}

static void remember_hits(struct play *p)
{
    for (int i = 0; i < OBSERVE_CACHES; i++)
        p->hits[i] = observe_hits(p->a->observe, i);
}

/* By the cache that has counted a hit; a file that is known to be no directory is the file info
 * cache's word, which counts none. */
static void answered(struct play *p)
{
    const struct operation *o = p->s->op;
    enum observe_cache by = OBSERVE_INFO;
    for (int i = 0; i < OBSERVE_CACHES; i++)
        if (observe_hits(p->a->observe, i) != p->hits[i])
            by = i;
    p->a->answered_by_kind[o->kind]++;
    p->a->answered[by].operations++;
    for (unsigned i = 0; i < SMB2_COMMANDS; i++)
        p->a->answered[by].requests += o->requests[i];
}

/* ---- what the server says ---- */

/* The capture's server told this at the time of the question. */
static void commit_subject(struct play *p, struct cache_ticket t)
{
    const struct scene *s = p->s;
    struct cache_file *f;
    uint64_t until;
    if (!s->subject->there)
        cache_commit_missing(p->c, p->dir, p->name, p->len, t, p->m->now);
    else if (cache_commit_found(p->c, p->dir, p->name, p->len, &s->subject->attr, t, p->m->now, &f,
                                &until) == 0)
        cache_file_unref(p->c, f);
}

/* The question is as old as the operation: lifetimes count from there. */
static struct cache_ticket ask(const struct play *p)
{
    struct cache_ticket t = cache_ask(p->c, p->m->now);
    t.sent = p->m->sent;
    return t;
}

static const char *dir_path(const struct scene *s, size_t *ret_len)
{
    bool itself = s->op->kind == OPERATION_LIST;
    *ret_len = itself ? s->subject->len : s->subject->dir_len;
    return s->subject->path;
}

/* The listing of the directory that is asked for: what the capture's client got, where that is all
 * of it, else whatever is known, left open. NULL: out of memory. */
static struct cache_listing *listing(const struct play *p, struct cache_ticket t)
{
    const struct operation *o = p->s->op;
    struct cache_listing *l = NULL;
    size_t len;
    const char *dir = dir_path(p->s, &len);
    if (o->kind == OPERATION_LIST && o->complete && !o->names_cut) {
        l = cache_listing_new();
        for (size_t i = 0; l && i < o->name_count; i++) {
            const struct operation_name *n = &o->names[i];
            if (cache_listing_add(l, n->name, n->len, &n->attr, n->wire_bytes) == -ENOMEM)
                l = cache_listing_unref(l);
        }
    } else if (world_listing(p->s->world, p->s->share, dir, len, &l) == 0) {
        cache_listing_leave_open(l);
    }
    return l && cache_listing_seal(l, t) == 0 ? l : cache_listing_unref(l);
}

/* What the CREATE on a directory that was listed or searched told of the directory itself. */
static void commit_dir_attr(struct play *p, struct cache_ticket t)
{
    const struct operation *o = p->s->op;
    if ((o->kind == OPERATION_LIST || o->kind == OPERATION_SEARCH) && o->attr_known)
        cache_commit_attr(p->c, p->dir, &o->attr, t, p->m->now);
}

static void list_commits(struct play *p, struct cache_ticket t, struct cache_listing *l)
{
    commit_dir_attr(p, t);
    cache_commit_listing(p->c, p->dir, l, t, p->m->now);
}

/* ---- asking in the settings' own way ---- */

static void ask_stat(struct play *p)
{
    const struct operation *o = p->s->op;
    bool as_seen = o->kind == OPERATION_STAT || o->kind == OPERATION_MISS;
    if (as_seen && !(p->a->settings.compound && o->kind == OPERATION_MISS))
        keep(p->a, o, 1);
    else
        charge_stat(p->a, p->s->subject->there);
    commit_subject(p, ask(p));
}

static void ask_search(struct play *p)
{
    struct cache_ticket t = ask(p);
    if (p->s->op->kind == OPERATION_SEARCH)
        keep(p->a, p->s->op, 1);
    else
        charge_search(p->a, p->s->subject->there);
    commit_dir_attr(p, t);
    commit_subject(p, t);
}

/* How many QUERY_DIRECTORYs list this directory: as many as it took the capture's client, or as
 * its known size needs, and one more that finds the end. */
static uint32_t queries_of(const struct scene *s, uint64_t *ret_bytes)
{
    size_t len;
    uint32_t seen;
    const char *dir = dir_path(s, &len);
    *ret_bytes = world_dir_bytes(s->world, s->share, dir, len, &seen);
    uint64_t queries = *ret_bytes / BUFFER + 2;
    return seen ? seen : queries < UINT32_MAX ? (uint32_t)queries : UINT32_MAX;
}

/* A look-up that is answered by listing the directory. */
static void ask_list(struct play *p, bool guess)
{
    uint64_t bytes;
    uint32_t queries = queries_of(p->s, &bytes);
    struct cache_ticket t = ask(p);
    struct cache_listing *l = NULL;
    if (guess && bytes > GUESS) {
        charge_list(p->a, 2);
        cache_commit_partial(p->c, p->dir, t, p->m->now);
    } else {
        charge_list(p->a, queries);
        l = listing(p, t);
    }
    struct cache_plan plan = {.step = CACHE_STAT};
    if (l) {
        list_commits(p, t, l);
        cache_answer_from(p->c, p->dir, l, p->name, p->len, t, p->m->now, &plan);
        cache_listing_unref(l);
    }
    if (plan.file)
        cache_file_unref(p->c, plan.file);
    if (plan.step != CACHE_ANSWER) { /* too large for a guess, another spelling */
        charge_stat(p->a, p->s->subject->there);
        commit_subject(p, ask(p));
    }
}

/* ---- the questions ---- */

/* Whether the plan's answer is the one that the capture shows. Where not, the server was asked. */
static bool agrees(struct play *p, const struct cache_plan *plan)
{
    if ((plan->result == 0) == p->s->subject->there)
        return true;
    p->a->contradicted++;
    keep(p->a, p->s->op, p->s->op->round_trips);
    commit_subject(p, ask(p));
    return false;
}

static void ask_server(struct play *p, const struct cache_plan *plan)
{
    const struct operation *o = p->s->op;
    if (plan->step == CACHE_OPEN || o->status == STATUS_OBJECT_PATH_NOT_FOUND) {
        keep(p->a, o, o->round_trips); /* the first CREATE on the way fails, whatever it is for */
        commit_subject(p, ask(p));
    } else if (plan->step == CACHE_LIST) {
        ask_list(p, plan->guess);
    } else if (plan->step == CACHE_SEARCH) {
        ask_search(p);
    } else {
        ask_stat(p);
    }
}

static void look_up(struct play *p, enum cache_intent intent)
{
    struct cache_plan plan;
    cache_plan_lookup(p->c, p->dir, p->name, p->len, intent, p->m->now, &plan);
    if (plan.file)
        cache_file_unref(p->c, plan.file);
    if (plan.step != CACHE_ANSWER)
        ask_server(p, &plan);
    else if (agrees(p, &plan))
        answered(p);
}

static void stat_root(struct play *p)
{
    struct cache_plan plan;
    cache_plan_attr(p->c, p->dir, p->m->now, &plan);
    if (plan.file)
        cache_file_unref(p->c, plan.file);
    if (plan.step == CACHE_ANSWER) {
        answered(p);
        return;
    }
    keep(p->a, p->s->op, 1);
    cache_commit_attr(p->c, p->dir, &p->s->subject->attr, ask(p), p->m->now);
}

static void list(struct play *p)
{
    struct cache_listing *l = cache_plan_listing(p->c, p->dir, p->m->now);
    if (l) {
        cache_listing_unref(l);
        answered(p);
        return;
    }
    uint32_t queries = p->s->op->requests[SMB2_QUERY_DIRECTORY];
    keep(p->a, p->s->op, 1 + (queries ? queries - 1 : 0) / 2);
    struct cache_ticket t = ask(p);
    l = listing(p, t);
    if (l)
        list_commits(p, t, l);
    cache_listing_unref(l);
}

/* A file that was only read: a compound brings its beginning with the CREATE, and nobody waits for
 * the CLOSE. */
static uint32_t waits_to_read(const struct operation *o)
{
    uint32_t reads = o->requests[SMB2_READ], others = 0;
    for (unsigned i = 0; i < SMB2_COMMANDS; i++)
        if (i != SMB2_CREATE && i != SMB2_READ && i != SMB2_CLOSE)
            others += o->requests[i];
    return others || o->changes ? o->round_trips : reads ? reads : 1;
}

/* It went to the server in any case; what it brought is believed all the same. */
static void served(struct play *p)
{
    const struct operation *o = p->s->op;
    keep(p->a, o, waits_to_read(o));
    if (o->changes)
        return;
    struct cache_ticket t = ask(p);
    if (o->kind == OPERATION_LIST) {
        struct cache_listing *l = listing(p, t);
        if (l)
            list_commits(p, t, l);
        cache_listing_unref(l);
        return;
    }
    commit_dir_attr(p, t);
    if (p->len && (o->attr_known || o->kind == OPERATION_SEARCH || !p->s->subject->there))
        commit_subject(p, t);
}

/* ---- a play ---- */

/* The directory in which the question is asked, or what a belief says against it. */
static int enter(struct play *p)
{
    const struct subject *about = p->s->subject;
    bool itself = p->s->op->kind == OPERATION_LIST && about->len;
    return cache_walk(p->c, about->path, about->len + (itself ? SUBJECT_INSIDE : 0), p->m->now,
                      &p->dir, &p->name, &p->len);
}

static bool leads_through(const struct play *p, size_t len)
{
    struct cache_file *dir;
    const char *name;
    size_t name_len;
    if (cache_walk(p->c, p->s->subject->path, len, p->m->now, &dir, &name, &name_len) < 0)
        return false;
    cache_file_unref(p->c, dir);
    return true;
}

/* The path leads through something of which a belief says that it is not there: the belief goes. */
static void believe_the_way(const struct play *p)
{
    const struct subject *about = p->s->subject;
    bool itself = p->s->op->kind == OPERATION_LIST;
    const char *end = about->path + about->len + itself, *slash = about->path;
    struct cache_file *dir;
    const char *name;
    size_t len;
    while ((slash = memchr(slash, '/', (size_t)(end - slash)))) {
        size_t here = (size_t)(slash++ - about->path);
        if (leads_through(p, here + 1) ||
            cache_walk(p->c, about->path, here, p->m->now, &dir, &name, &len) < 0)
            continue;
        cache_name_changed(p->c, dir, name, len, MISS_CHANGED);
        cache_file_unref(p->c, dir);
    }
}

static bool is_lookup_only(const struct operation *o)
{
    return (o->desired_access & ~(uint32_t)LOOKS_ONLY) == 0;
}

static void act(struct play *p)
{
    const struct operation *o = p->s->op;
    if (o->served || o->changes || o->lease_granted)
        served(p);
    else if (o->kind == OPERATION_LIST)
        list(p);
    else if (o->kind == OPERATION_STAT && !p->len)
        stat_root(p);
    else if (o->kind == OPERATION_STAT || o->kind == OPERATION_SEARCH)
        look_up(p, CACHE_LOOK_UP);
    else if (o->kind == OPERATION_MISS)
        look_up(p, is_lookup_only(o) ? CACHE_LOOK_UP : CACHE_OPEN_IT);
    else
        served(p);
}

/* What the operation shows to be there, and no change explains, was there all the time. */
static void reveal(const struct play *p)
{
    static const struct file_attr directory = {.attributes = FILE_ATTRIBUTE_DIRECTORY};
    const struct scene *s = p->s;
    const struct subject *about = s->subject;
    bool all = about->there && !s->appeared;
    if (!about->there && s->op->status == STATUS_OBJECT_PATH_NOT_FOUND)
        return;
    int n = cache_reveal(p->c, about->path, all ? about->len : about->dir_len,
                         all ? &about->attr : &directory, p->m->blind_since, p->m->now);
    p->a->revealed += n > 0 ? (unsigned)n : 0;
}

void engine_play(struct cache *c, struct account *a, const struct scene *s, const struct moment *m)
{
    struct play p = {.c = c, .a = a, .s = s, .m = m};
    const struct operation *o = s->op;
    if (!s->subject->known) {
        keep(a, o, o->round_trips);
        return;
    }
    reveal(&p);
    remember_hits(&p);
    int r = enter(&p);
    if (r == 0) {
        act(&p);
        cache_file_unref(c, p.dir);
        return;
    }
    bool believed_missing = r == -ENOENT || r == -ENOTDIR;
    if (believed_missing && o->kind == OPERATION_MISS) {
        answered(&p);
        return;
    }
    a->contradicted += believed_missing;
    if (believed_missing)
        believe_the_way(&p);
    keep(a, o, o->round_trips);
}

void engine_use(struct cache *c, const char *path, size_t path_len, uint64_t now)
{
    struct cache_file *dir;
    const char *name;
    size_t len;
    struct cache_plan plan;
    if (cache_walk(c, path, path_len, now, &dir, &name, &len) < 0)
        return;
    struct cache_file *f = cache_peek(c, dir, name, len);
    if (f) {
        cache_plan_attr(c, f, now, &plan);
        if (plan.file)
            cache_file_unref(c, plan.file);
        cache_file_unref(c, f);
    }
    cache_file_unref(c, dir);
}

/* Whether nothing but data was written, so that the names in the directory stay what they are. */
static bool changes_data_only(const struct operation *o)
{
    return o->disposition == FILE_OPEN && !o->moved_to && !o->requests[SMB2_SET_INFO] &&
           !(o->options & FILE_DELETE_ON_CLOSE);
}

void engine_changed(struct cache *c, const struct scene *s, uint64_t now)
{
    const struct subject *about = s->subject;
    struct cache_file *dir;
    const char *name;
    size_t len;
    if (!about->known || cache_walk(c, about->path, about->len, now, &dir, &name, &len) < 0)
        return;
    struct cache_file *f = len ? cache_peek(c, dir, name, len) : cache_file_ref(dir);
    if (f)
        cache_changed(c, f, MISS_CHANGED);
    if (len && !(f && changes_data_only(s->op)))
        cache_name_changed(c, dir, name, len, MISS_CHANGED);
    if (f)
        cache_file_unref(c, f);
    cache_file_unref(c, dir);
}
