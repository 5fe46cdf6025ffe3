/* The server that remembers. After every change each name of the directories that it touched is
 * looked up anew, and what has become of it is written down. */
#include "model/server.h"

#include <string.h>

const struct server_name server_names[NAMES] = {{"d", 0},   {"D", 0},   {"e", 1},   {"a", 2},
                                                {"A", 2},   {"b", 3},   {"B", 3},   {"c", 4},
                                                {"f~1", 5}, {"F~1", 5}, {"g.h", 6}, {"G.h", 6}};

static void note(struct server *s, int dir)
{
    for (int name = 0; name < NAMES; name++) {
        int spelling = -1, node = server_resolve(s, dir, name, &spelling);
        int n = s->states[dir][name];
        const struct state *last = n ? &s->state[dir][name][n - 1] : NULL;
        if (!last || last->node != node || last->spelling != spelling)
            s->state[dir][name][s->states[dir][name]++] = (struct state){s->moment, node, spelling};
    }
}

static int new_node(struct server *s, bool is_dir)
{
    int n = s->nodes++;
    s->node[n] = (struct node){.is_dir = is_dir, .links = 1, .dir = is_dir ? s->dirs : -1};
    s->node[n].since[0] = s->moment;
    s->node[n].written = s->now / s->grain * s->grain;
    if (is_dir) {
        int d = s->dirs++;
        s->dir_node[d] = n;
        for (int name = 0; name < NAMES; name++)
            s->entry[d][name] = -1;
        note(s, d);
    }
    return n;
}

static void touch(struct server *s, int node)
{
    struct node *n = &s->node[node];
    n->since[++n->version] = s->moment;
    n->written = s->now / s->grain * s->grain;
}

void server_init(struct server *s, bool folds)
{
    memset(s, 0, sizeof *s);
    s->folds = folds;
    s->moment = s->now = s->grain = 1;
    new_node(s, true);
}

bool server_is_full(const struct server *s)
{
    if (s->nodes > NODES - 2 || s->dirs > DIRS - 2)
        return true;
    for (int d = 0; d < s->dirs; d++) {
        if (s->node[s->dir_node[d]].version > VERSIONS - 8)
            return true;
        for (int name = 0; name < NAMES; name++)
            if (s->states[d][name] > STATES - 4)
                return true;
    }
    for (int n = 0; n < s->nodes; n++)
        if (s->node[n].version > VERSIONS - 8)
            return true;
    return false;
}

int server_resolve(const struct server *s, int dir, int name, int *ret_spelling)
{
    for (int i = 0; i < NAMES; i++)
        if (s->entry[dir][i] >= 0 &&
            (i == name || (s->folds && server_names[i].fold == server_names[name].fold))) {
            *ret_spelling = i;
            return s->entry[dir][i];
        }
    *ret_spelling = -1;
    return -1;
}

int server_dir(const struct server *s, const char *path)
{
    int dir = 0;
    while (*path && dir >= 0) {
        size_t len = strcspn(path, "/");
        int name = 0, spelling;
        while (strlen(server_names[name].text) != len ||
               memcmp(server_names[name].text, path, len) != 0)
            name++;
        int node = server_resolve(s, dir, name, &spelling);
        dir = node < 0 ? -1 : s->node[node].dir;
        path += len + (path[len] == '/');
    }
    return dir;
}

struct file_attr server_attr(const struct server *s, int node)
{
    return (struct file_attr){.id = 1000 + (uint64_t)node,
                              .created = 5000 + (uint64_t)node,
                              .attributes = s->node[node].is_dir ? FILE_ATTRIBUTE_DIRECTORY : 0,
                              .links = (uint32_t)s->node[node].links,
                              .size = (uint64_t)s->node[node].version,
                              .written = s->node[node].written,
                              .changed = s->node[node].written};
}

int server_node_of(const struct file_attr *attr)
{
    return (int)attr->id - 1000;
}

/* ---- changes ---- */

int server_make(struct server *s, int dir, int name, bool is_dir, int *ret_node)
{
    int spelling;
    s->moment++;
    if (server_resolve(s, dir, name, &spelling) >= 0)
        return -1;
    s->entry[dir][name] = *ret_node = new_node(s, is_dir);
    touch(s, s->dir_node[dir]);
    note(s, dir);
    return 0;
}

static bool is_empty(const struct server *s, int dir)
{
    for (int name = 0; name < NAMES; name++)
        if (s->entry[dir][name] >= 0)
            return false;
    return true;
}

int server_remove(struct server *s, int dir, int name)
{
    int spelling, node = server_resolve(s, dir, name, &spelling);
    s->moment++;
    if (node < 0 || (s->node[node].is_dir && !is_empty(s, s->node[node].dir)))
        return -1;
    s->entry[dir][spelling] = -1;
    s->node[node].links--;
    touch(s, node);
    touch(s, s->dir_node[dir]);
    note(s, dir);
    return 0;
}

static bool is_within(const struct server *s, int dir, int node)
{
    if (s->dir_node[dir] == node)
        return true;
    for (int d = 0; d < s->dirs; d++)
        for (int name = 0; name < NAMES; name++)
            if (s->entry[d][name] == s->dir_node[dir])
                return is_within(s, d, node);
    return false;
}

int server_rename(struct server *s, int from_dir, int from, int to_dir, int to)
{
    int spelling, over_spelling;
    int node = server_resolve(s, from_dir, from, &spelling);
    int over = server_resolve(s, to_dir, to, &over_spelling);
    bool itself = over >= 0 && from_dir == to_dir && over_spelling == spelling;
    s->moment++;
    if (node < 0 || is_within(s, to_dir, node))
        return -1;
    if (over >= 0 && !itself && (s->node[over].is_dir || s->node[node].is_dir))
        return -1;
    if (over == node && (!itself || to == spelling))
        return 0; /* two names of one file, or one: POSIX leaves both */
    s->entry[from_dir][spelling] = -1;
    if (over >= 0 && !itself) {
        s->entry[to_dir][over_spelling] = -1;
        s->node[over].links--;
        touch(s, over);
    }
    s->entry[to_dir][to] = node;
    touch(s, node);
    touch(s, s->dir_node[from_dir]);
    if (to_dir != from_dir)
        touch(s, s->dir_node[to_dir]);
    note(s, from_dir);
    note(s, to_dir);
    return 0;
}

int server_link(struct server *s, int node, int dir, int name)
{
    int spelling;
    s->moment++;
    if (s->node[node].is_dir || !s->node[node].links ||
        server_resolve(s, dir, name, &spelling) >= 0)
        return -1;
    s->entry[dir][name] = node;
    s->node[node].links++;
    touch(s, node);
    touch(s, s->dir_node[dir]);
    note(s, dir);
    return 0;
}

void server_write(struct server *s, int node)
{
    s->moment++;
    touch(s, node);
}

/* ---- what was ---- */

bool server_was(const struct server *s, int dir, int name, int node, int spelling, uint64_t floor)
{
    for (int i = s->states[dir][name] - 1; i >= 0; i--) {
        const struct state *was = &s->state[dir][name][i];
        if (was->node == node && (spelling < 0 || was->spelling == spelling))
            return true;
        if (was->since <= floor)
            return false;
    }
    return false;
}

bool server_had(const struct server *s, int node, uint64_t version, uint64_t floor)
{
    const struct node *n = &s->node[node];
    return version == (uint64_t)n->version ||
           (version < (uint64_t)n->version && n->since[version + 1] > floor);
}
