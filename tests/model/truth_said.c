/* What the cache says, and whether it was true at any moment since the last of which the client has
 * certain knowledge; and where that comes from. */
#include <inttypes.h>
#include <string.h>

#include "model/truth.h"

static void raise_to(uint64_t *floor, uint64_t moment)
{
    if (*floor < moment)
        *floor = moment;
}

void certain_name(struct cache_file *dir, int name, uint64_t moment)
{
    raise_to(&name_floor[cache_file_serial(dir)][name], moment);
}

void certain_attr(const struct cache_file *f, uint64_t moment)
{
    raise_to(&attr_floor[cache_file_serial(f)], moment);
}

/* ---- what is held ---- */

void let_go(int at)
{
    cache_file_unref(m.c, held[at].f);
    held[at] = held[--held_count];
}

void keep(struct cache_file *f, int node)
{
    for (int i = 0; i < held_count; i++)
        if (held[i].f == f && held[i].node != node)
            differ("one object for the files %d and %d", held[i].node, node);
    if (held_count == HOLD)
        let_go(1 + below(HOLD - 1));
    held[held_count++] = (struct held){f, node};
}

struct held some_dir(void)
{
    for (int tries = 0; tries < 4; tries++) {
        struct held h = held[below(held_count)];
        if (server.node[h.node].is_dir)
            return h;
    }
    return held[0];
}

/* ---- is it true? ---- */

static bool dir_is_moving(struct held dir)
{
    int node = dir.node; /* what a removed directory holds is nobody's */
    bool moving = server.node[node].links == 0 || strange[cache_file_serial(dir.f)];
    for (int i = 0; i < OPS; i++)
        moving |= ops[i].used && ops[i].kind == RENAME && node != 0;
    return moving;
}

static void must_have_been(struct held dir, int name, int node, int spelling, const char *who)
{
    uint64_t floor = name_floor[cache_file_serial(dir.f)][name];
    raise_to(&floor, oldest_name(dir.f));
    answers++;
    if (!server_was(&server, server.node[dir.node].dir, name, node, spelling, floor))
        differ(
            "%s: %s in directory %d is said to be %d, which it has not been since moment %" PRIu64,
            who, text(name), server.node[dir.node].dir, node, floor);
}

static void must_have_had(const struct cache_file *f, const struct file_attr *attr, const char *who)
{
    int node = server_node_of(attr);
    uint64_t floor = attr_floor[cache_file_serial(f)];
    raise_to(&floor, oldest_attr(f));
    answers++;
    if (file_attr_is_dir(attr) != server.node[node].is_dir ||
        !server_had(&server, node, attr->size, floor))
        differ("%s: file %d is said to be of version %" PRIu64 " (now %d), which it has not been "
               "since moment %" PRIu64,
               who, node, attr->size, server.node[node].version, floor);
}

/* What is shown to people is what comes next. */
static struct cache_explained explained(struct cache_file *dir, const char *name)
{
    struct cache_explained e;
    cache_explain(m.c, dir, name, strlen(name), false, m.now, &e);
    if (e.file)
        cache_file_unref(m.c, e.file);
    return e;
}

int look_up(struct held dir, int name, int *ret_node)
{
    struct cache_plan plan;
    struct cache_explained e = explained(dir.f, text(name));
    cache_plan_lookup(m.c, dir.f, text(name), strlen(text(name)), CACHE_LOOK_UP, m.now, &plan);
    m.steps[plan.step]++;
    if (e.step != plan.step || (plan.step == CACHE_ANSWER && e.result != plan.result))
        differ("explained as step %d, result %d, but it is %d, %d", e.step, e.result, plan.step,
               plan.result);
    if (plan.step == CACHE_ANSWER && plan.result == 0) {
        struct cache_plan attr;
        cache_plan_attr(m.c, plan.file, m.now, &attr);
        /* of several names another one may be asked, and know less by now */
        bool one_name = plan.file->names.next == plan.file->names.prev;
        if (e.file != plan.file || (one_name && e.attr_step != attr.step))
            differ("explained as asking for attributes by %d, but it is %d", e.attr_step,
                   attr.step);
        if (attr.file)
            cache_file_unref(m.c, attr.file);
    }
    if (plan.step != CACHE_ANSWER)
        return -1;
    bool sure = !dir_is_moving(dir);
    if (plan.result < 0) {
        if (sure)
            must_have_been(dir, name, -1, -1, "look-up");
        return 0;
    }
    *ret_node = server_node_of(&plan.attr);
    if (sure)
        must_have_been(dir, name, *ret_node, -1, "look-up");
    must_have_had(plan.file, &plan.attr, "look-up");
    keep(plan.file, *ret_node);
    return 1;
}

bool stat_held(struct held h, struct file_attr *ret)
{
    struct cache_plan plan;
    cache_plan_attr(m.c, h.f, m.now, &plan);
    if (plan.step != CACHE_ANSWER)
        return false;
    if (server_node_of(&plan.attr) != h.node)
        differ("attributes of %d are told of file %d", server_node_of(&plan.attr), h.node);
    must_have_had(plan.file, &plan.attr, "stat");
    *ret = plan.attr;
    cache_file_unref(m.c, plan.file);
    return true;
}

static void check_listing(struct held dir, struct cache_listing *l)
{
    bool seen[FOLDS] = {false}, exact[NAMES] = {false};
    for (size_t i = 0; i < cache_listing_count(l); i++) {
        size_t len;
        const struct file_attr *attr;
        const char *entry = cache_listing_entry(l, i, &len, &attr);
        int name = 0;
        while (strlen(text(name)) != len || memcmp(text(name), entry, len) != 0)
            name++;
        if (exact[name])
            differ("%s is listed twice", text(name));
        exact[name] = seen[server_names[name].fold] = true;
        /* an answer that told of another file by this name leaves the entry as it is */
        const struct cache_name *n = name_find(m.c, dir.f, entry, len);
        if (!n || n->file->attr.id == attr->id)
            must_have_been(dir, name, server_node_of(attr), name, "listing");
        /* of a file's names, those that were not looked up before are not brought up to date */
        if (n && n->file->attr.id == attr->id &&
            listed_attr_valid(m.c, dir.f, l, i, n->file, m.now))
            must_have_had(n->file, attr, "listing");
    }
    /* a file found by a name that may be a short one, or one in other case, may be listed otherwise
     */
    for (int name = 0; name < NAMES; name++)
        if (!strchr(text(name), '~') && !seen[server_names[name].fold])
            must_have_been(dir, name, -1, -1, "listing");
}

/* ---- readers ---- */

void read_listing(struct held dir)
{
    struct cache_listing *l = cache_plan_listing(m.c, dir.f, m.now);
    if (!l)
        return;
    if (!dir_is_moving(dir))
        check_listing(dir, l);
    struct snapshot *s = &snapshots[below(SNAPSHOTS)];
    cache_listing_unref(s->l);
    *s = (struct snapshot){.l = l, .count = cache_listing_count(l)};
    for (size_t i = 0; i < s->count; i++) {
        size_t len;
        const struct file_attr *attr;
        const char *name = cache_listing_entry(l, i, &len, &attr);
        memcpy(s->names[i], name, len);
        s->attr[i] = *attr;
    }
}

void check_snapshots(void)
{
    for (int n = 0; n < SNAPSHOTS; n++) {
        const struct snapshot *s = &snapshots[n];
        if (!s->l)
            continue;
        same_number("entries of a reader's listing", cache_listing_count(s->l), s->count);
        for (size_t i = 0; i < s->count; i++) {
            size_t len;
            const struct file_attr *attr;
            const char *name = cache_listing_entry(s->l, i, &len, &attr);
            if (len != strlen(s->names[i]) || memcmp(name, s->names[i], len) != 0 ||
                memcmp(attr, &s->attr[i], sizeof *attr) != 0)
                differ("entry %zu of a reader's listing has changed", i);
        }
    }
}

/* What the cache says that it holds, counted anew. */
void check_bounds(void)
{
    struct cache_sizes sizes;
    struct list *item;
    uint64_t bytes = 0;
    cache_sizes(m.c, &sizes);
    list_for_each(item, &m.c->ring[OBSERVE_DIR].entries)
    {
        bytes += listing_memory(container_of(item, struct cache_dir, ring.link)->listing);
    }
    list_for_each(item, &m.c->ring[OBSERVE_NOTFOUND].entries)
    {
        bytes += ACCOUNTED_MISSING + container_of(item, struct cache_negative, ring.link)->len;
    }
    same_number("bytes", sizes.bytes, bytes + m.c->ring[OBSERVE_INFO].count * ACCOUNTED_FILE);
    if (sizes.bytes > m.settings.cache_memory_max)
        differ("%" PRIu64 " bytes, over the bound", sizes.bytes);
    for (int i = 0; i < OBSERVE_CACHES; i++)
        if (sizes.entries[i] > m.c->entries_max[i])
            differ("%" PRIu64 " entries in cache %d, over the bound", sizes.entries[i], i);
}

/* ---- certainty ---- */

void answered_name(const struct op *o, int name)
{
    uint64_t serial = cache_file_serial(o->dir.f);
    if (o->server_dir == server.node[o->dir.node].dir && name_changed[serial][name] < o->asked)
        raise_to(&name_floor[serial][name], o->asked);
    trace("  certain from %" PRIu64 ": %s in %d", o->asked, text(name), o->server_dir);
}

/* The other names that mean the same on this server. */
bool means(int name, int other)
{
    return name == other || (server.folds && server_names[name].fold == server_names[other].fold);
}

void answered_attr(const struct op *o, const struct cache_file *f)
{
    if (attr_changed[cache_file_serial(f)] < o->asked)
        raise_to(&attr_floor[cache_file_serial(f)], o->asked);
}

void changed_attr(const struct op *o, const struct cache_file *f)
{
    raise_to(&attr_floor[cache_file_serial(f)], o->at);
    attr_changed[cache_file_serial(f)] = server.moment;
}

void changed_name(const struct op *o, struct held dir, int server_dir, int name)
{
    if (server_dir != server.node[dir.node].dir) {
        strange[cache_file_serial(dir.f)] = true; /* by this path another directory was met */
        return;
    }
    for (int i = 0; i < NAMES; i++)
        if (means(name, i)) {
            raise_to(&name_floor[cache_file_serial(dir.f)][i], o->at);
            name_changed[cache_file_serial(dir.f)][i] = server.moment;
        }
    changed_attr(o, dir.f);
    trace("  certain from %" PRIu64 ": %s in %d", o->at, text(name), server_dir);
}
