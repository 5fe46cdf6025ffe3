/* The parts of an analysis: each fills its own piece of struct analysis. */
#ifndef LARDER_CAPTURE_PARTS_H
#define LARDER_CAPTURE_PARTS_H

#include "capture/analysis.h"
#include "capture/changes.h"
#include "capture/places.h"

#define ROUND_TRIPS_SEEN 256
#define PLACES_MAX       50000 /* of each kind */

struct analysis_state {
    struct settings settings;
    struct shares *shares;
    struct changes *changes;
    /* By tree, what is told of each: */
    struct places directories; /* of struct directory (enumerations.c) */
    struct places names;       /* of struct name (names.c) */
    /* By view, when each was last asked for: */
    struct places listed; /* of struct asked: directories */
    struct places
        searched;          /* of struct asked: patterns, by their directory's path and themselves */
    struct places missing; /* of struct asked: names that were not there */
    struct places known;   /* of struct asked: names that were */
    uint64_t groups[ROUND_TRIPS_SEEN];
};

/* breakdown.c */
void breakdown_message(struct analysis *a, const struct message *m);
void breakdown_exchange(struct analysis *a, const struct exchange *x);
void breakdown_answered_again(struct analysis *a, const struct answered_again *again);

/* enumerations.c */
void enumerations_init(struct analysis_state *s);
void enumerations_done(struct analysis_state *s);
void enumerations_exchange(struct analysis *a, const struct exchange *x);
void enumerations_operation(struct analysis *a, const struct operation *o);
int enumerations_finish(struct analysis *a);

/* names.c */
void names_init(struct analysis_state *s);
void names_done(struct analysis_state *s);
void names_operation(struct analysis *a, const struct operation *o);
int names_finish(struct analysis *a);

/* hosts.c */
void leases_exchange(struct analysis *a, const struct exchange *x);
void leases_broken(struct analysis *a, const struct break_notice *b);
void hosts_flow(struct analysis *a, const struct flow *flow, const struct flow_facts *facts);

struct asked {
    struct place place;
    uint64_t asked_ns, known_ns; /* the last question that was answered; known_ns 0: none was */
};

static inline uint64_t requests_of(const struct operation *o)
{
    uint64_t sum = 0;
    for (size_t c = 0; c < SMB2_COMMANDS; c++)
        sum += o->requests[c];
    return sum;
}

/* Whether a cache would still have believed the answer at `now_ns`. NULL: never asked. */
static inline bool still_believed(const struct asked *a, uint64_t now_ns, uint32_t lifetime_seconds)
{
    return a && a->known_ns && now_ns >= a->known_ns &&
           now_ns - a->asked_ns < lifetime_seconds * 1000000000ull;
}

/* What was asked so long ago that no lifetime reaches there makes way, so that memory does not grow
 * with the capture; nothing that is asked for later tells the difference. Several times over, since
 * operations come when they end, and are judged by when they began. */
#define ASKED_KEPT_NS (60 * 1000000000ull)
static inline void asked_forget(struct places *t, uint64_t now_ns)
{
    struct place *p;
    while ((p = places_oldest(t)) && now_ns > ASKED_KEPT_NS &&
           ((struct asked *)p)->asked_ns < now_ns - ASKED_KEPT_NS)
        places_drop(t, p);
}

#endif
