/*
 * Puts IP fragments together (RFC 791, RFC 8200 section 4.5). A datagram's bytes come in units of
 * 8, so a bit per unit says what has come; a unit that came twice keeps its first bytes. A small
 * number of datagrams is open at a time: whoever waits longest gives way, and what has waited for
 * half a minute belongs to another datagram of the same number. Where a fragment's frame was
 * truncated, the datagram is good up to there.
 */
#include "capture/fragment.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum { SLOTS = 32, UNIT = 8, MAX_DATAGRAM = 65536, UNITS = MAX_DATAGRAM / UNIT };

static const uint64_t PATIENCE_NS = 30 * NS_PER_SEC;

struct datagram {
    bool used;
    uint8_t from[16], to[16];
    uint32_t id;
    uint8_t protocol;
    uint64_t begun_ns, order;
    uint32_t length; /* 0: the last fragment has not come */
    uint32_t good;   /* bytes up to the first that was not captured */
    uint32_t end;    /* of the furthest byte that has come */
    uint32_t units;  /* that have come */
    uint8_t come[UNITS / 8];
    uint8_t data[MAX_DATAGRAM];
};

struct fragments {
    struct datagram *slots[SLOTS]; /* NULL until first used */
    uint64_t order;
};

struct fragments *fragments_new(void)
{
    return calloc(1, sizeof(struct fragments));
}

struct fragments *fragments_free(struct fragments *f)
{
    if (!f)
        return NULL;
    for (int i = 0; i < SLOTS; i++)
        free(f->slots[i]);
    free(f);
    return NULL;
}

static bool belongs(const struct datagram *d, const struct fragment *p)
{
    bool late = p->time_ns > d->begun_ns && p->time_ns - d->begun_ns > PATIENCE_NS;
    return d->used && d->id == p->id && d->protocol == p->protocol && !late &&
           memcmp(d->from, p->from, sizeof(d->from)) == 0 &&
           memcmp(d->to, p->to, sizeof(d->to)) == 0;
}

/* The open datagram of a fragment, or a fresh one in a free slot or in the longest waiting one's.
 * NULL: out of memory. */
static struct datagram *datagram_of(struct fragments *f, const struct fragment *p)
{
    struct datagram **slot = &f->slots[0];
    for (int i = 0; i < SLOTS; i++) {
        struct datagram **s = &f->slots[i];
        if (*s && belongs(*s, p))
            return *s;
        if (!*slot || !(*slot)->used)
            continue; /* there is none better */
        if (!*s || !(*s)->used || (*s)->order < (*slot)->order)
            slot = s;
    }
    if (!*slot && !(*slot = malloc(sizeof(**slot))))
        return NULL;
    struct datagram *d = *slot;
    memset(d, 0, offsetof(struct datagram, data));
    d->used = true;
    memcpy(d->from, p->from, sizeof(d->from));
    memcpy(d->to, p->to, sizeof(d->to));
    d->id = p->id;
    d->protocol = p->protocol;
    d->begun_ns = p->time_ns;
    d->order = ++f->order;
    d->good = MAX_DATAGRAM;
    return d;
}

static void put(struct datagram *d, const struct fragment *p)
{
    if (p->captured < p->length && p->offset + p->captured < d->good)
        d->good = p->offset + p->captured;
    for (uint32_t at = 0; at < p->length; at += UNIT) {
        uint32_t unit = (p->offset + at) / UNIT;
        if (d->come[unit / 8] & 1 << unit % 8)
            continue;
        d->come[unit / 8] |= (uint8_t)(1 << unit % 8);
        d->units++;
        uint32_t n = at < p->captured ? p->captured - at : 0;
        if (n)
            memcpy(d->data + p->offset + at, p->data + at, n < UNIT ? n : UNIT);
    }
    if (p->offset + p->length > d->end)
        d->end = p->offset + p->length;
}

const uint8_t *fragments_take(struct fragments *f, const struct fragment *p, uint32_t *ret_captured,
                              uint32_t *ret_length)
{
    if (p->length == 0 || p->offset + (uint64_t)p->length > MAX_DATAGRAM ||
        (p->more && p->length % UNIT))
        return NULL;
    struct datagram *d = datagram_of(f, p);
    if (!d)
        return NULL;
    if (!p->more && d->length == 0)
        d->length = p->offset + p->length;
    put(d, p);
    if (d->length && d->end > d->length)
        d->used = false; /* bytes behind the last one: nobody's datagram */
    if (!d->used || d->length == 0 || d->units < (d->length + UNIT - 1) / UNIT)
        return NULL;
    d->used = false;
    *ret_length = d->length;
    *ret_captured = d->good < d->length ? d->good : d->length;
    return d->data;
}
