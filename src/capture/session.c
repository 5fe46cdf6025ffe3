/*
 * Servers, sessions and trees.
 *
 * A session is found by server and SessionId, whatever connection it is used on: that is how the
 * channels of a multichannel session come together. A server is known by its address, and by the
 * GUID in its NEGOTIATE response, so that its other addresses are the same server. Where the
 * capture began in the middle, sessions and trees are made as they are met; a tree that was not
 * seen to be connected has a share without a name.
 *
 * A connection and the sessions used on it know each other by a `member` in both their lists: when
 * the last connection of a session is gone, its opens are closed. The session itself stays until
 * the bound takes it, since what was given up as lost may go on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/dissector.h"

/* ---- servers ---- */

enum { BY_ADDRESS, BY_GUID };

struct server {
    struct hash_node node;
    uint8_t name[19]; /* which of the two, and the address and port or the GUID */
    uint64_t id;
};

static struct server *server_find(struct dissector *d, const uint8_t name[static 19])
{
    uint64_t hash = hash_bytes(name, 19, d->seed);
    struct hash_node *n = hash_first(&d->servers, hash);
    for (; n; n = hash_next(n))
        if (memcmp(container_of(n, struct server, node)->name, name, 19) == 0)
            return container_of(n, struct server, node);
    return NULL;
}

/* Past the bound a server is known on one connection only. */
static void server_is(struct dissector *d, const uint8_t name[static 19], uint64_t id)
{
    struct server *s = server_find(d, name);
    if (s) {
        s->id = id;
        return;
    }
    s = d->servers.count < SERVERS_MAX ? calloc(1, sizeof(*s)) : NULL;
    if (!s)
        return;
    memcpy(s->name, name, 19);
    s->id = id;
    if (hash_add(&d->servers, &s->node, hash_bytes(name, 19, d->seed)) < 0)
        free(s);
}

static void address_name(const struct endpoint *e, uint8_t name[static 19])
{
    name[0] = BY_ADDRESS;
    memcpy(name + 1, e->address, 16);
    name[17] = (uint8_t)(e->port >> 8);
    name[18] = (uint8_t)e->port;
}

uint64_t server_of_address(struct dissector *d, const struct endpoint *e)
{
    uint8_t name[19];
    address_name(e, name);
    const struct server *s = server_find(d, name);
    if (s)
        return s->id;
    server_is(d, name, ++d->servers_made);
    return d->servers_made;
}

void server_has_guid(struct conn *c, const uint8_t guid[static 16])
{
    static const uint8_t none[16];
    uint8_t by_guid[19] = {BY_GUID}, by_address[19];
    if (memcmp(guid, none, sizeof(none)) == 0)
        return;
    memcpy(by_guid + 1, guid, 16);
    const struct server *s = server_find(c->d, by_guid);
    if (s)
        c->server = s->id;
    else
        server_is(c->d, by_guid, c->server);
    address_name(&c->flow->server, by_address);
    server_is(c->d, by_address, c->server);
}

/* ---- sessions and connections ---- */

struct member {
    struct list in_session, in_conn;
    struct session *session;
    struct conn *conn;
};

static void member_free(struct member *m)
{
    list_del(&m->in_session);
    list_del(&m->in_conn);
    m->conn->member_count--;
    if (m->conn->last == m->session)
        m->conn->last = NULL;
    free(m);
}

/* Whether the session is (now) one of the connection's. */
static bool join(struct conn *c, struct session *s)
{
    struct list *item;
    list_for_each(item, &c->members)
    {
        if (container_of(item, struct member, in_conn)->session == s)
            return true;
    }
    struct member *m = c->member_count < MEMBERS_MAX ? calloc(1, sizeof(*m)) : NULL;
    if (!m)
        return false;
    m->session = s;
    m->conn = c;
    list_add_tail(&s->members, &m->in_session);
    list_add_tail(&c->members, &m->in_conn);
    c->member_count++;
    return true;
}

/* ---- sessions ---- */

static uint64_t session_hash(const struct dissector *d, uint64_t server, uint64_t id)
{
    return hash_u64(hash_u64(server ^ d->seed) ^ id);
}

static void trees_forget(struct dissector *d, struct session *s);

static void session_free(struct dissector *d, struct session *s)
{
    session_end(d, s);
    while (!list_empty(&s->members))
        member_free(container_of(s->members.next, struct member, in_session));
    trees_forget(d, s);
    hash_done(&s->opens);
    hash_done(&s->trees);
    hash_del(&d->sessions, &s->node);
    list_del(&s->lru);
    for (size_t i = 0; i < 2; i++)
        secure_sealer_free(s->opener[i]);
    free(s);
}

static struct session *session_new(struct dissector *d, uint64_t server, uint64_t id)
{
    struct session *s = calloc(1, sizeof(*s));
    if (!s || hash_add(&d->sessions, &s->node, session_hash(d, server, id)) < 0) {
        free(s);
        return NULL;
    }
    s->server = server;
    s->id = id;
    s->key = keyring_find(d->keys, id);
    list_init(&s->members);
    list_add_tail(&d->session_lru, &s->lru);
    hash_init(&s->opens);
    hash_init(&s->trees);
    if (d->sessions.count > SESSIONS_MAX) {
        d->counts.open_bound_reached++;
        session_free(d, container_of(d->session_lru.next, struct session, lru));
    }
    return s;
}

struct session *session_of(struct conn *c, uint64_t id)
{
    struct dissector *d = c->d;
    if (c->last && c->last->id == id && c->last->server == c->server)
        return c->last;

    struct hash_node *n = hash_first(&d->sessions, session_hash(d, c->server, id));
    struct session *s = NULL;
    for (; n && !s; n = hash_next(n)) {
        s = container_of(n, struct session, node);
        if (s->id != id || s->server != c->server)
            s = NULL;
    }
    if (s) {
        list_del(&s->lru);
        list_add_tail(&d->session_lru, &s->lru);
    } else {
        s = session_new(d, c->server, id);
    }
    if (s)
        c->last = join(c, s) ? s : NULL;
    return s;
}

void session_end(struct dissector *d, struct session *s)
{
    struct hash_node *n, *after;
    for (n = hash_each(&s->opens, NULL); n; n = after) {
        after = hash_each(&s->opens, n);
        open_close(d, container_of(n, struct open, node));
    }
}

void sessions_leave(struct conn *c)
{
    while (!list_empty(&c->members)) {
        struct member *m = container_of(c->members.next, struct member, in_conn);
        struct session *s = m->session;
        member_free(m);
        if (list_empty(&s->members))
            session_end(c->d, s);
    }
}

/* ---- trees ---- */

struct share {
    struct smb_share pub;
    struct list in_all;
    struct share *next; /* of the session */
    char client[48], server[64];
    char name[];
};

struct tree {
    struct hash_node node;
    uint32_t id;
    struct share *share;
};

static struct tree *tree_find(const struct session *s, uint32_t id)
{
    struct hash_node *n = hash_first(&s->trees, hash_u64(id));
    for (; n; n = hash_next(n))
        if (container_of(n, struct tree, node)->id == id)
            return container_of(n, struct tree, node);
    return NULL;
}

static void tree_free(struct dissector *d, struct session *s, struct tree *t)
{
    hash_del(&s->trees, &t->node);
    d->tree_count--;
    free(t);
}

static void trees_forget(struct dissector *d, struct session *s)
{
    struct hash_node *n, *after;
    for (n = hash_each(&s->trees, NULL); n; n = after) {
        after = hash_each(&s->trees, n);
        tree_free(d, s, container_of(n, struct tree, node));
    }
}

static void share_hosts(struct share *share, const struct flow *flow)
{
    char address[48];
    endpoint_text(&flow->client, share->client);
    endpoint_text(&flow->server, address);
    snprintf(share->server, sizeof(share->server), strchr(address, ':') ? "[%s]:%u" : "%s:%u",
             address, flow->server.port);
}

static struct share *share_new(struct conn *c, struct session *s, uint32_t tree_id,
                               const char *name)
{
    struct dissector *d = c->d;
    size_t len = strlen(name);
    if (d->share_count >= SHARES_MAX) {
        d->counts.open_bound_reached++;
        return NULL;
    }
    struct share *share = calloc(1, sizeof(*share) + len + 1);
    if (!share)
        return NULL;
    memcpy(share->name, name, len + 1);
    share_hosts(share, c->flow);
    share->pub = (struct smb_share){
        .server = share->server,
        .name = share->name,
        .client = share->client,
        .session_id = s->id,
        .tree_id = tree_id,
    };
    share->next = s->shares;
    s->shares = share;
    list_add_tail(&d->shares, &share->in_all);
    d->share_count++;
    return share;
}

void session_logged_off(struct dissector *d, struct session *s)
{
    session_end(d, s);
    for (const struct share *share = s->shares; d->events.share_left && share; share = share->next)
        d->events.share_left(d->events.user, &share->pub);
}

/* A share that is connected twice in a session is one share: what the client caches of it goes on.
 */
static struct share *share_named(struct conn *c, struct session *s, uint32_t tree_id,
                                 const char *name)
{
    for (struct share *share = s->shares; *name && share; share = share->next)
        if (strcmp(share->name, name) == 0)
            return share;
    return share_new(c, s, tree_id, name);
}

static struct smb_share *tree_is(struct conn *c, struct session *s, uint32_t id, const char *name)
{
    struct dissector *d = c->d;
    struct share *share = share_named(c, s, id, name);
    struct tree *t = tree_find(s, id);
    if (!share)
        return NULL;
    if (t) {
        t->share = share;
        return &share->pub;
    }
    t = d->tree_count < TREES_MAX ? calloc(1, sizeof(*t)) : NULL;
    if (!t)
        return &share->pub;
    t->id = id;
    t->share = share;
    if (hash_add(&s->trees, &t->node, hash_u64(id)) < 0)
        free(t);
    else
        d->tree_count++;
    return &share->pub;
}

struct smb_share *tree_of(struct conn *c, uint64_t session_id, uint32_t tree_id)
{
    struct session *s = session_of(c, session_id);
    if (!s)
        return NULL;
    const struct tree *t = tree_find(s, tree_id);
    return t ? &t->share->pub : tree_is(c, s, tree_id, "");
}

struct smb_share *tree_connected(struct conn *c, uint64_t session_id, uint32_t tree_id,
                                 const char *name)
{
    struct session *s = session_of(c, session_id);
    return s ? tree_is(c, s, tree_id, name) : NULL;
}

void tree_disconnected(struct conn *c, uint64_t session_id, uint32_t tree_id)
{
    struct session *s = session_of(c, session_id);
    struct hash_node *n, *after;
    if (!s)
        return;
    for (n = hash_each(&s->opens, NULL); n; n = after) {
        struct open *o = container_of(n, struct open, node);
        after = hash_each(&s->opens, n);
        if (o->tree_id == tree_id)
            open_close(c->d, o);
    }
    struct tree *t = tree_find(s, tree_id);
    if (t)
        tree_free(c->d, s, t);
}

/* ---- the end ---- */

void sessions_free(struct dissector *d)
{
    struct hash_node *n, *after;
    while (!list_empty(&d->session_lru))
        session_free(d, container_of(d->session_lru.next, struct session, lru));
    hash_done(&d->sessions);
    for (n = hash_each(&d->servers, NULL); n; n = after) {
        after = hash_each(&d->servers, n);
        hash_del(&d->servers, n);
        free(container_of(n, struct server, node));
    }
    hash_done(&d->servers);
    while (!list_empty(&d->shares)) {
        struct share *share = container_of(d->shares.next, struct share, in_all);
        list_del(&share->in_all);
        free(share);
    }
}
