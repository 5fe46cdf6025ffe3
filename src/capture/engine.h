/*
 * One operation of the capture, carried out on one cache: the same plan as share/ carries out
 * against a server, with the capture for the server. What the plan answers, a client of these
 * settings would not have asked; what it asks is counted in that client's own way of asking, and
 * what the capture's client was told is committed.
 */
#ifndef LARDER_CAPTURE_ENGINE_H
#define LARDER_CAPTURE_ENGINE_H

#include "capture/world.h"

struct effort { /* what asking took */
    uint64_t requests[SMB2_COMMANDS];
    uint64_t messages, round_trips;
    uint64_t waited_ns;
};
void effort_add(struct effort *to, const struct effort *e);
uint64_t effort_requests(const struct effort *e);

/* The accounts of one client behaviour, over all its caches. */
struct account {
    struct settings settings;
    struct observe *observe;
    struct effort kept;    /* operations that cost what they were seen to cost */
    struct effort charged; /* asked in the settings' own way; waited_ns stays 0: nobody saw that */
    struct {
        uint64_t operations, requests;
    } answered[OBSERVE_CACHES];
    uint64_t answered_by_kind[OPERATION_OTHER + 1];
    uint64_t contradicted; /* answers that the capture shows to be wrong, not counted as answers */
    uint64_t revealed;     /* names that a listing must have had (cache_reveal) */
};

/* What is replayed. */
struct scene {
    const struct operation *op;
    const struct subject *subject;
    struct world *world;
    uint64_t share;
    bool appeared; /* it is there, and was missing when it was last asked for */
};

/* By the clock of one cache. */
struct moment {
    uint64_t now;
    uint64_t sent;        /* when the operation's first request was */
    uint64_t blind_since; /* when something changed last that the capture does not name */
};

void engine_play(struct cache *c, struct account *a, const struct scene *s, const struct moment *m);
/* The attributes of what was looked up or opened at `now` were asked for then: no request, since
 * the answer had just brought them, but what is used stays in a cache. */
void engine_use(struct cache *c, const char *path, size_t path_len, uint64_t now);
/* Somebody changed what the operation is about. */
void engine_changed(struct cache *c, const struct scene *s, uint64_t now);

#endif
