/*
 * Opens: from a CREATE's request to the answer of its CLOSE.
 *
 * An open is made when it is asked for, so that later elements of the same compound can hang on it
 * before anybody knows its FileId; the CREATE's success makes it live. Requests hold references;
 * whoever closes it (a CLOSE, the end of its tree, session or connection, the bound) takes it out
 * of its session's table and tells the consumer, and its memory goes with the last reference.
 */
#include <stdlib.h>
#include <string.h>

#include "capture/dissector.h"

struct open *open_new(struct dissector *d, const char *path, bool path_known)
{
    size_t len = strlen(path);
    struct open *o = calloc(1, sizeof(*o) + len + 1);
    if (!o)
        return NULL;
    memcpy(o->text, path, len + 1);
    o->text_len = len + 1;
    o->pub.path = o->text;
    o->pub.path_known = path_known;
    o->refs = 1;
    list_init(&o->lru);
    return o;
}

struct open *open_ref(struct open *o)
{
    if (o)
        o->refs++;
    return o;
}

struct open *open_unref(struct open *o)
{
    if (o && --o->refs == 0)
        free(o);
    return NULL;
}

static uint64_t hash_of(const struct dissector *d, struct wire_file_id id)
{
    uint64_t ids[2] = {id.persistent, id.volatile_};
    return hash_bytes(ids, sizeof(ids), d->seed);
}

struct open *open_find(struct dissector *d, struct session *s, struct wire_file_id id)
{
    for (struct hash_node *n = hash_first(&s->opens, hash_of(d, id)); n; n = hash_next(n)) {
        struct open *o = container_of(n, struct open, node);
        if (o->file_id.persistent == id.persistent && o->file_id.volatile_ == id.volatile_) {
            list_del(&o->lru);
            list_add_tail(&d->open_lru, &o->lru);
            return o;
        }
    }
    return NULL;
}

static void keep_bound(struct dissector *d)
{
    while (d->open_count > OPENS_MAX || (d->open_text > OPEN_TEXT_MAX && d->open_count > 1)) {
        d->counts.open_bound_reached++;
        open_close(d, container_of(d->open_lru.next, struct open, lru));
    }
}

void open_live(struct dissector *d, struct session *s, struct open *o, struct wire_file_id id)
{
    open_close(d, open_find(d, s, id)); /* its CLOSE was not captured */
    if (o->session || hash_add(&s->opens, &o->node, hash_of(d, id)) < 0)
        return;
    o->file_id = id;
    o->session = s;
    o->pub.id = ++d->opens_made;
    open_ref(o);
    list_add_tail(&d->open_lru, &o->lru);
    d->open_count++;
    d->open_text += o->text_len;
    keep_bound(d);
}

void open_close(struct dissector *d, struct open *o)
{
    if (!o || !o->session)
        return;
    hash_del(&o->session->opens, &o->node);
    list_del(&o->lru);
    o->session = NULL;
    d->open_count--;
    d->open_text -= o->text_len;
    if (d->events.open_closed)
        d->events.open_closed(d->events.user, &o->pub);
    open_unref(o);
}
