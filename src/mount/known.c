/*
 * See known.h.
 *
 * A node is in one of two lists: those with nothing to be told of, and those that are looked
 * through for what is. That everything is wrong is an era that ends: the first list goes onto the
 * second as a whole, and whatever was given in an earlier era is wrong. That all names of a
 * directory are wrong works the same way, with its names and a turn of its own.
 *
 * A directory's name is kept when the kernel was told to expire it (`until` is 0 then): by it the
 * next notice about the name finds the node, and what is known beneath it.
 *
 * What was marked lately is kept in a ring, by node: of names their directory. An answer that is
 * older than the ring gets no timeout.
 */
#include "mount/known.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/utf.h"

struct known {
    struct hash_node by_fold; /* in nodes->known */
    struct list of_dir;       /* in dir->names or dir->voided */
    struct list of_node;      /* in node->known_as; of a negative, in nodes->negatives */
    struct list todo;         /* in nodes->wrong_names, or empty */
    struct node *dir;
    struct node *node; /* NULL: there is none */
    uint64_t until;    /* 0: the kernel holds nothing */
    bool unsure;       /* what the kernel holds there is not known, nor whether it is a directory */
    uint64_t era, turn;
    size_t len;
    char name[];
};

enum {
    WRONG_ATTR = 1,
    WRONG_CONTENT = 2, /* a file's: what the server has may be other than it was */
    WRONG_PAGES = 4,   /* the kernel's alone */
    WRONG_LISTING = 8,
    WRONG_BENEATH = 16,
    WRONG_FILE = WRONG_ATTR | WRONG_CONTENT
};

void known_init(struct nodes *n)
{
    hash_init(&n->known);
    list_init(&n->negatives);
    list_init(&n->wrong_names);
    list_init(&n->quiet);
    list_init(&n->wrong_nodes);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&n->work, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

void known_done(struct nodes *n)
{
    hash_done(&n->known);
    pthread_cond_destroy(&n->work);
}

/* ---- the table ---- */

static uint64_t fold(fuse_ino_t dir, const char *name, size_t len)
{
    return utf8_fold_hash(name, len, hash_seed()) ^ hash_u64(dir);
}

/* The next name of the directory that folds alike. */
static struct known *next_alike(const struct nodes *n, const struct node *dir, const char *name,
                                size_t len, struct known *after)
{
    struct hash_node *item =
        after ? hash_next(&after->by_fold) : hash_first(&n->known, fold(dir->id, name, len));
    for (; item; item = hash_next(item)) {
        struct known *k = container_of(item, struct known, by_fold);
        if (k->dir == dir && utf8_fold_equal(k->name, k->len, name, len))
            return k;
    }
    return NULL;
}

static bool is_marked(const struct nodes *n, const struct known *k)
{
    return k->era != n->era || k->turn != k->dir->turn || !list_empty(&k->todo);
}

/* Exactly this name, and not marked: what is stays until it has been told, since the answer that
 * gave it may still be on its way to the kernel when a newer one is given. */
static struct known *find(const struct nodes *n, const struct node *dir, const char *name,
                          size_t len)
{
    struct known *k = NULL;
    while ((k = next_alike(n, dir, name, len, k)))
        if (k->len == len && memcmp(k->name, name, len) == 0 && !is_marked(n, k))
            return k;
    return NULL;
}

static void drop(struct nodes *n, struct known *k)
{
    hash_del(&n->known, &k->by_fold);
    list_del(&k->of_dir);
    list_del(&k->of_node);
    list_del(&k->todo);
    n->negative_count -= !k->node;
    free(k);
}

/* Makes the note, or renews it: it stands for the longest that the kernel may hold the name. NULL:
 * no memory. `node` NULL: there is none. */
static struct known *note(struct nodes *n, struct node *dir, const char *name, struct node *node,
                          uint64_t until)
{
    size_t len = strlen(name);
    if (len >= sizeof(((struct known_step *)0)->name))
        return NULL;
    struct known *before = find(n, dir, name, len), *k;
    if (before && before->node == node && before->until > until)
        until = before->until;
    if (before)
        drop(n, before);
    k = malloc(sizeof(*k) + len + 1);
    if (!k)
        return NULL;
    *k = (struct known){
        .dir = dir, .node = node, .until = until, .era = n->era, .turn = dir->turn, .len = len};
    memcpy(k->name, name, len + 1);
    if (hash_add(&n->known, &k->by_fold, fold(dir->id, name, len)) < 0) {
        free(k);
        return NULL;
    }
    list_init(&k->todo);
    list_add_tail(&dir->names, &k->of_dir);
    list_add_tail(node ? &node->known_as : &n->negatives, &k->of_node);
    n->negative_count += !node;
    return k;
}

void known_node_init(struct nodes *n, struct node *node)
{
    list_init(&node->names);
    list_init(&node->voided);
    list_init(&node->known_as);
    list_add_tail(&n->quiet, &node->link);
    node->era = n->era;
}

static void drop_all(struct nodes *n, struct list *names, size_t link)
{
    while (!list_empty(names))
        drop(n, (struct known *)((char *)names->next - link));
}

void known_node_done(struct nodes *n, struct node *node)
{
    drop_all(n, &node->names, offsetof(struct known, of_dir));
    drop_all(n, &node->voided, offsetof(struct known, of_dir));
    drop_all(n, &node->known_as, offsetof(struct known, of_node));
    list_del(&node->link);
}

/* ---- what was marked lately ---- */

static void marked(struct nodes *n, fuse_ino_t id)
{
    n->marks[n->moment++ % NODES_MARKS] = id;
}

static bool marked_since(const struct nodes *n, uint64_t moment, fuse_ino_t a, fuse_ino_t b)
{
    if (n->moment - moment > NODES_MARKS)
        return true;
    for (; moment != n->moment; moment++) {
        fuse_ino_t id = n->marks[moment % NODES_MARKS];
        if (id == 0 || id == a || id == b)
            return true;
    }
    return false;
}

uint64_t known_moment(struct nodes *n)
{
    pthread_mutex_lock(&n->lock);
    uint64_t moment = n->moment;
    pthread_mutex_unlock(&n->lock);
    return moment;
}

/* ---- what is given ---- */

static uint64_t end_of(uint64_t now, uint64_t valid_ns)
{
    return valid_ns < UINT64_MAX - now ? now + valid_ns : UINT64_MAX;
}

bool known_attr(struct nodes *n, fuse_ino_t node, uint64_t moment)
{
    pthread_mutex_lock(&n->lock);
    bool fresh = !marked_since(n, moment, node, node);
    pthread_mutex_unlock(&n->lock);
    return fresh;
}

/* Other names under which the kernel does not hold the node any more; a directory has one name. */
static void drop_older(struct nodes *n, struct node *node, const struct known *but, uint64_t now)
{
    struct list *item, *after;
    list_for_each_safe(item, after, &node->known_as)
    {
        struct known *k = container_of(item, struct known, of_node);
        if (k != but && !is_marked(n, k) && (node->is_dir || k->until <= now))
            drop(n, k);
    }
}

bool known_name(struct nodes *n, fuse_ino_t dir, const char *name, fuse_ino_t node,
                uint64_t valid_ns, uint64_t moment)
{
    uint64_t now = clock_now();
    pthread_mutex_lock(&n->lock);
    struct node *in = nodes_find(n, dir), *to = nodes_find(n, node);
    bool fresh = in && to && !marked_since(n, moment, dir, node);
    if (fresh && (valid_ns || to->is_dir)) {
        struct known *k = note(n, in, name, to, valid_ns ? end_of(now, valid_ns) : 0);
        fresh = k;
        if (k)
            drop_older(n, to, k, now);
    }
    pthread_mutex_unlock(&n->lock);
    return fresh;
}

/* Makes room for one more negative by those whose time is over; the oldest are first. */
static bool make_room(struct nodes *n, uint64_t now)
{
    while (!list_empty(&n->negatives)) {
        struct known *oldest = container_of(n->negatives.next, struct known, of_node);
        if (oldest->until > now)
            break;
        drop(n, oldest);
    }
    return n->negative_count < KNOWN_NEGATIVES_MAX;
}

bool known_none(struct nodes *n, fuse_ino_t dir, const char *name, uint64_t valid_ns,
                uint64_t moment)
{
    uint64_t now = clock_now();
    pthread_mutex_lock(&n->lock);
    struct node *in = nodes_find(n, dir);
    bool told = in && valid_ns && !marked_since(n, moment, dir, dir) && make_room(n, now) &&
                note(n, in, name, NULL, end_of(now, valid_ns));
    pthread_mutex_unlock(&n->lock);
    return told;
}

bool known_holds(struct nodes *n, fuse_ino_t dir, const char *name)
{
    pthread_mutex_lock(&n->lock);
    struct node *in = nodes_find(n, dir);
    struct known *k = in ? find(n, in, name, strlen(name)) : NULL;
    bool holds = k && k->node && k->until > clock_now();
    pthread_mutex_unlock(&n->lock);
    return holds;
}

/* ---- marks ---- */

static void list_join(struct list *head, struct list *from)
{
    if (list_empty(from))
        return;
    from->next->prev = head->prev;
    head->prev->next = from->next;
    from->prev->next = head;
    head->prev = from->prev;
    list_init(from);
}

static void void_names(struct node *dir)
{
    list_join(&dir->voided, &dir->names);
    dir->turn++;
}

static void mark_node(struct nodes *n, struct node *node, unsigned wrong)
{
    node->wrong |= wrong;
    if (wrong & WRONG_BENEATH)
        void_names(node);
    if (wrong & WRONG_CONTENT)
        node->pages.known = false;
    list_del(&node->link);
    list_add_tail(&n->wrong_nodes, &node->link);
    pthread_cond_signal(&n->work);
}

static void mark_name(struct nodes *n, struct known *k)
{
    list_del(&k->todo);
    list_add_tail(&n->wrong_names, &k->todo);
    pthread_cond_signal(&n->work);
}

void known_name_wrong(struct nodes *n, fuse_ino_t dir, const char *name, size_t len)
{
    pthread_mutex_lock(&n->lock);
    struct node *in = nodes_find(n, dir);
    struct known *k = NULL;
    marked(n, dir);
    while (in && (k = next_alike(n, in, name, len, k))) {
        if (k->node && k->node->is_dir) {
            mark_node(n, k->node, WRONG_ATTR | WRONG_LISTING | WRONG_BENEATH);
            marked(n, 0); /* answers about what is beneath */
        } else if (k->node) {
            mark_node(n, k->node, WRONG_FILE);
            marked(n, k->node->id);
        }
        mark_name(n, k);
    }
    if (in) {
        in->names_at = ++n->clock;
        mark_node(n, in, WRONG_LISTING);
    }
    pthread_mutex_unlock(&n->lock);
}

void known_names_wrong(struct nodes *n, fuse_ino_t dir)
{
    pthread_mutex_lock(&n->lock);
    struct node *in = nodes_find(n, dir);
    marked(n, dir);
    if (in) {
        in->names_at = ++n->clock;
        void_names(in);
        mark_node(n, in, WRONG_LISTING);
    }
    pthread_mutex_unlock(&n->lock);
}

static void node_wrong(struct nodes *n, fuse_ino_t id, unsigned wrong)
{
    pthread_mutex_lock(&n->lock);
    struct node *node = nodes_find(n, id);
    if (wrong & WRONG_ATTR)
        marked(n, id);
    if (node)
        mark_node(n, node, wrong);
    pthread_mutex_unlock(&n->lock);
}

void known_node_wrong(struct nodes *n, fuse_ino_t node)
{
    node_wrong(n, node, WRONG_FILE);
}

void known_attr_wrong(struct nodes *n, fuse_ino_t node)
{
    node_wrong(n, node, WRONG_ATTR);
}

void known_pages_wrong(struct nodes *n, fuse_ino_t node)
{
    node_wrong(n, node, WRONG_PAGES);
}

void known_all_wrong(struct nodes *n)
{
    pthread_mutex_lock(&n->lock);
    n->era++;
    marked(n, 0);
    list_join(&n->wrong_nodes, &n->quiet);
    pthread_cond_signal(&n->work);
    pthread_mutex_unlock(&n->lock);
}

/* ---- the kernel's own calls ---- */

void known_appeared(struct nodes *n, fuse_ino_t dir, const char *name)
{
    size_t len = strlen(name);
    pthread_mutex_lock(&n->lock);
    struct node *in = nodes_find(n, dir);
    struct known *k = in ? next_alike(n, in, name, len, NULL) : NULL;
    while (k) {
        struct known *next = next_alike(n, in, name, len, k);
        bool same = k->len == len && memcmp(k->name, name, len) == 0;
        if (!k->node && same)
            drop(n, k); /* the kernel's own call has made it positive */
        else if (!k->node)
            mark_name(n, k);
        k = next;
    }
    if (in)
        in->names_at = ++n->clock;
    pthread_mutex_unlock(&n->lock);
}

void known_left(struct nodes *n, fuse_ino_t dir, const char *name)
{
    pthread_mutex_lock(&n->lock);
    struct node *in = nodes_find(n, dir);
    struct known *k = in ? find(n, in, name, strlen(name)) : NULL;
    if (k)
        drop(n, k);
    if (in)
        in->names_at = ++n->clock;
    pthread_mutex_unlock(&n->lock);
}

void known_moved(struct nodes *n, fuse_ino_t from, const char *name, fuse_ino_t to,
                 const char *new_name)
{
    pthread_mutex_lock(&n->lock);
    struct node *from_dir = nodes_find(n, from), *to_dir = nodes_find(n, to);
    struct known *k = from_dir ? find(n, from_dir, name, strlen(name)) : NULL;
    struct node *node = k ? k->node : NULL;
    uint64_t until = k ? k->until : 0;
    if (k)
        drop(n, k);
    if (to_dir) {
        struct known *target = find(n, to_dir, new_name, strlen(new_name));
        if (target)
            drop(n, target);
        to_dir->names_at = ++n->clock;
        k = note(n, to_dir, new_name, node, until);
        /* What is being told of the old name now is to be told of the new one. */
        if (k && !until) {
            k->unsure = true;
            mark_name(n, k);
        }
    }
    if (from_dir)
        from_dir->names_at = ++n->clock;
    pthread_mutex_unlock(&n->lock);
}

/* ---- what is to be told ---- */

/* One name: false where there is nothing to tell. */
static bool take_name(struct nodes *n, struct known *k, struct known_step *ret)
{
    bool by_epoch = k->era != n->era && n->epoch_told == n->era;
    bool is_dir = k->node && k->node->is_dir;
    bool tell = !by_epoch && (k->until || k->unsure);
    *ret = (struct known_step){
        .kind = KNOWN_NAME, .dir = k->dir->id, .is_dir = is_dir || k->unsure, .len = k->len};
    memcpy(ret->name, k->name, k->len + 1);
    const struct known *newer = find(n, k->dir, k->name, k->len);
    if (!is_dir || (newer && newer != k)) {
        drop(n, k);
        return tell;
    }
    k->until = 0;
    k->unsure = false;
    k->era = n->era;
    k->turn = k->dir->turn;
    list_del(&k->todo);
    list_del(&k->of_dir);
    list_add_tail(&k->dir->names, &k->of_dir);
    return tell;
}

/* The next name that a node's marks concern; NULL: none. */
static struct known *wrong_name_of(struct nodes *n, struct node *node)
{
    if (!list_empty(&node->voided)) {
        struct known *k = container_of(node->voided.next, struct known, of_dir);
        if (node->wrong & WRONG_BENEATH && k->node)
            mark_node(n, k->node, k->node->is_dir ? WRONG_BENEATH : WRONG_FILE);
        return k;
    }
    /* Where a file's attributes alone are wrong its names stay: its pages would go with the last
     * one, and answers of before tell the kernel no attributes once it has heard of this. */
    bool names = node->wrong & (node->is_dir ? WRONG_ATTR : WRONG_CONTENT);
    struct list *item;
    list_for_each(item, &node->known_as)
    {
        struct known *k = container_of(item, struct known, of_node);
        if (names && k->until)
            return k; /* an answer that gives it may be on its way: this waits for it */
    }
    return NULL;
}

static void take_node(struct nodes *n, struct node *node, struct known_step *ret)
{
    unsigned wrong = node->wrong;
    *ret = (struct known_step){
        .kind = KNOWN_NODE,
        .node = node->id,
        .is_dir = node->is_dir,
        .content = !node->is_dir && wrong & WRONG_CONTENT,
        .pages = wrong & (WRONG_PAGES | WRONG_LISTING) || (!node->is_dir && wrong & WRONG_CONTENT),
        .barrier = node->is_dir,
    };
    node->wrong = 0;
    list_del(&node->link);
    list_add_tail(&n->quiet, &node->link);
}

bool known_next(struct nodes *n, struct known_step *ret)
{
    if (n->epoch_asked != n->era) {
        n->epoch_asked = n->era;
        *ret = (struct known_step){.kind = KNOWN_EPOCH};
        return true;
    }
    while (!list_empty(&n->wrong_names))
        if (take_name(n, container_of(n->wrong_names.next, struct known, todo), ret))
            return true;
    while (!list_empty(&n->wrong_nodes)) {
        struct node *node = container_of(n->wrong_nodes.next, struct node, link);
        if (node->era != n->era) {
            node->era = n->era;
            node->wrong |= WRONG_FILE | WRONG_LISTING;
            node->pages.known = false;
            void_names(node);
        }
        struct known *k = wrong_name_of(n, node);
        if (!k) {
            take_node(n, node, ret);
            return true;
        }
        if (take_name(n, k, ret))
            return true;
    }
    return false;
}

void known_epoch_told(struct nodes *n)
{
    pthread_mutex_lock(&n->lock);
    n->epoch_told = n->epoch_asked;
    pthread_mutex_unlock(&n->lock);
}
