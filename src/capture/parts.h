/* The parts of an analysis: each fills its own piece of struct analysis. */
#ifndef LARDER_CAPTURE_PARTS_H
#define LARDER_CAPTURE_PARTS_H

#include "capture/analysis.h"
#include "capture/changes.h"
#include "capture/places.h"

#define ROUND_TRIPS_SEEN 256

struct analysis_state {
    struct settings settings;
    struct shares *shares;
    struct changes *changes;
    struct places directories; /* of struct directory (enumerations.c) */
    struct places searched;    /* of struct searched (enumerations.c): the patterns, by path */
    struct places missing;     /* of struct asked (names.c) */
    struct places known;       /* of struct asked */
    uint64_t groups[ROUND_TRIPS_SEEN];
};

/* breakdown.c */
void breakdown_message(struct analysis *a, const struct message *m);
void breakdown_exchange(struct analysis *a, const struct exchange *x);

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

/* Whether an answer that came at `known_ns` to a question asked at `asked_ns` would still have been
 * believed by a cache at `now_ns`. */
static inline bool still_believed(uint64_t asked_ns, uint64_t known_ns, uint64_t now_ns,
                                  uint32_t lifetime_seconds)
{
    return now_ns >= known_ns && now_ns - asked_ns < lifetime_seconds * 1000000000ull;
}

#endif
