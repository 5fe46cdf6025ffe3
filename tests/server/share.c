/*
 * The scripted server's files and handles.
 *
 * Files are rows of the script's table; a path is walked component by component, so names that hold
 * a separator can be listed but never opened, as on a real server. Names are compared as bytes
 * first, then in ASCII case: enough for a share on which `README` and `readme` lead to the same
 * file.
 */
#include <stdlib.h>

#include "base/ntstatus.h"
#include "internal.h"

static const uint64_t some_time = 133000000000000000; /* a FILETIME in 2022 */

struct file_attr server_attr(const struct server_script *script, int node)
{
    struct file_attr a = {.id = 1, .attributes = FILE_ATTRIBUTE_DIRECTORY, .links = 1};
    if (node == SERVER_MADE) {
        a.id = 2;
        a.attributes = FILE_ATTRIBUTE_NORMAL;
    } else if (node != SERVER_ROOT) {
        a = script->nodes[node].attr;
        if (a.size == 0)
            a.size = script->nodes[node].content.len;
        if (a.links == 0)
            a.links = 1;
    }
    if (a.allocated == 0)
        a.allocated = (a.size + 4095) / 4096 * 4096;
    if (a.written == 0)
        a.created = a.accessed = a.written = a.changed = some_time;
    return a;
}

/* ---- names ---- */

static uint16_t unit(const struct rd *name, size_t i)
{
    uint16_t u = (uint16_t)(name->base[2 * i] | name->base[2 * i + 1] << 8);
    return u >= 'a' && u <= 'z' ? u - 'a' + 'A' : u;
}

static bool same_name(const struct rd *a, const struct rd *b)
{
    if (a->len != b->len)
        return false;
    for (size_t i = 0; i < a->len / 2; i++)
        if (unit(a, i) != unit(b, i))
            return false;
    return true;
}

/* `*` and `?` only. */
static bool matches(const struct rd *pattern, size_t p, const struct rd *name, size_t n)
{
    for (; p < pattern->len / 2; p++, n++) {
        uint16_t u = unit(pattern, p);
        if (u == '*') {
            for (; n <= name->len / 2; n++)
                if (matches(pattern, p + 1, name, n))
                    return true;
            return false;
        }
        if (n >= name->len / 2 || (u != '?' && u != unit(name, n)))
            return false;
    }
    return n == name->len / 2;
}

/* ---- paths ---- */

static bool find_child(const struct server_script *script, int dir, struct rd name, int *ret)
{
    int folded = SERVER_ROOT;
    for (size_t i = 0; i < script->node_count; i++) {
        const struct server_node *n = &script->nodes[i];
        if (n->parent != dir || n->name.len != name.len)
            continue;
        if (memcmp(n->name.base, name.base, name.len) == 0) {
            *ret = (int)i;
            return true;
        }
        if (folded == SERVER_ROOT && same_name(&n->name, &name))
            folded = (int)i;
    }
    if (folded == SERVER_ROOT)
        return false;
    *ret = folded;
    return true;
}

uint32_t server_find(const struct server_script *script, struct rd path, int *ret_node)
{
    int node = SERVER_ROOT;
    while (rd_left(&path)) {
        struct file_attr a = server_attr(script, node);
        size_t start = path.pos;
        while (rd_left(&path) && rd_u16(&path) != '\\')
            ;
        bool last = rd_left(&path) == 0;
        size_t len = path.pos - start - (last ? 0 : 2);
        if (!file_attr_is_dir(&a))
            return (uint32_t)STATUS_OBJECT_PATH_NOT_FOUND;
        if (!find_child(script, node, rd_sub(&path, start, len), &node))
            return last ? (uint32_t)STATUS_OBJECT_NAME_NOT_FOUND
                        : (uint32_t)STATUS_OBJECT_PATH_NOT_FOUND;
    }
    *ret_node = node;
    return STATUS_SUCCESS;
}

void server_path(const struct server_script *script, int node, struct wr *w)
{
    if (node >= 0 && script->nodes[node].parent != SERVER_ROOT)
        server_path(script, script->nodes[node].parent, w);
    wr_u16(w, '\\');
    if (node >= 0)
        wr_bytes(w, script->nodes[node].name.base, script->nodes[node].name.len);
}

/* ---- listings ---- */

/* The entry at a place of the listing; false: the place is another directory's. */
static bool entry_at(const struct server_script *script, int dir, size_t position,
                     struct wire_dirent *ret)
{
    static const struct rd dots = SERVER_NAME(u"..");
    if (position < 2) {
        *ret = (struct wire_dirent){.attr = server_attr(script, dir), .name = dots};
        ret->name.len = 2 * (position + 1);
        return true;
    }
    const struct server_node *n = &script->nodes[position - 2];
    if (n->parent != dir)
        return false;
    *ret = (struct wire_dirent){.attr = server_attr(script, (int)position - 2), .name = n->name};
    return true;
}

uint32_t server_list(const struct server_script *script, struct server_open *o, unsigned max,
                     struct wr *w)
{
    struct rd pattern = rd_init(o->pattern, o->pattern_len);
    bool first = !o->listed;
    size_t last = SIZE_MAX;
    unsigned written = 0;

    o->listed = true;
    for (; o->position < script->node_count + 2 && (max == 0 || written < max); o->position++) {
        struct wire_dirent e;
        if (!entry_at(script, o->node, o->position, &e) || !matches(&pattern, 0, &e.name, 0))
            continue;
        struct wr before = *w;
        wire_dirent_encode(w, &last, &e);
        if (!wr_ok(w)) {
            *w = before;
            return written ? STATUS_SUCCESS : (uint32_t)STATUS_BUFFER_OVERFLOW;
        }
        written++;
    }
    if (written)
        return STATUS_SUCCESS;
    return first ? (uint32_t)STATUS_NO_SUCH_FILE : (uint32_t)STATUS_NO_MORE_FILES;
}

/* ---- handles ---- */

static void count_opens(struct server *s, int by)
{
    pthread_mutex_lock(&s->lock);
    s->open_count += (unsigned)by;
    pthread_mutex_unlock(&s->lock);
}

struct server_open *server_open_new(struct server *s, const struct server_conn *c, int node)
{
    size_t i = 0;
    while (i < s->open_cap && s->opens[i].serial)
        i++;
    if (i == s->open_cap) {
        size_t cap = s->open_cap ? 2 * s->open_cap : 64;
        struct server_open *opens = realloc(s->opens, cap * sizeof(*opens));
        if (!opens)
            return NULL;
        memset(opens + s->open_cap, 0, (cap - s->open_cap) * sizeof(*opens));
        s->opens = opens;
        s->open_cap = cap;
    }
    s->opens[i] = (struct server_open){.serial = ++s->serial, .conn = c, .node = node};
    count_opens(s, 1);
    return &s->opens[i];
}

struct wire_file_id server_open_id(const struct server *s, const struct server_open *o)
{
    return (struct wire_file_id){.persistent = (uint64_t)(o - s->opens), .volatile_ = o->serial};
}

struct server_open *server_open_find(struct server *s, const struct server_conn *c,
                                     struct wire_file_id id)
{
    if (id.persistent >= s->open_cap || id.volatile_ == 0)
        return NULL;
    struct server_open *o = &s->opens[id.persistent];
    return o->serial == id.volatile_ && o->conn == c ? o : NULL;
}

void server_open_close(struct server *s, struct server_open *o)
{
    o->serial = 0;
    count_opens(s, -1);
}

void server_open_close_all(struct server *s, const struct server_conn *c)
{
    for (size_t i = 0; i < s->open_cap; i++)
        if (s->opens[i].serial && s->opens[i].conn == c)
            server_open_close(s, &s->opens[i]);
}
