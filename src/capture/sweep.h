/*
 * How much of a cache is worth having: the operations replayed with one setting at every value of a
 * series, all in one pass, and how many more operations are answered at each than with the
 * setting's cache off. That counts a cache that helps another one to answer, too: a listing whose
 * attributes are out of date answers nothing where the file info cache does not have them.
 */
#ifndef LARDER_CAPTURE_SWEEP_H
#define LARDER_CAPTURE_SWEEP_H

#include <jansson.h>

#include "base/error.h"
#include "capture/replay.h"

#define SWEEP_POINTS_MAX 24
#define SWEEP_MEMORY_MAX (16u << 20) /* of a point's caches, for a client's session */

struct sweep;
/* `setting` is the name of one of the six lifetimes and bounds, in any case; `base` gives all other
 * settings (the setting's cache is switched on). The replay has not begun, and outlives it.
 * -ENOENT for another setting, -E2BIG, -ENOMEM; with err. */
int sweep_new(struct replay *r, const char *setting, const struct settings *base,
              struct sweep **ret, struct error *err);
struct sweep *sweep_free(struct sweep *s);

struct sweep_point {
    uint64_t value;   /* the first is 0: the setting's cache switched off */
    uint64_t hits;    /* operations answered, by any of the three caches, that are asked at 0 */
    uint64_t evicted; /* entries that the bound pushed out of the setting's cache */
    struct effort predicted;
};
struct sweep_result {
    const char *setting, *unit; /* "entries", "s" */
    const char *profile;
    enum observe_cache cache;
    uint64_t present; /* the base's value */
    struct sweep_point point[SWEEP_POINTS_MAX];
    size_t count;
    uint64_t most;   /* hits that can be had: the most at any value */
    uint64_t enough; /* the least value that has 99 % of them; 0: there are none to be had */
};
/* After replay_finish. */
void sweep_result(const struct sweep *s, struct sweep_result *ret);

/*
 * {"setting": name, "unit": u, "profile": p, "cache": "dir"|"info"|"notfound", "present": n,
 *  "points": [{"value": n, "hits": n, "evicted": n, "requests": n, "round_trips": n, "seconds": s},
 * ...], "most_hits": n, "enough": n or null}
 */
json_t *sweep_json(const struct sweep *s);

#endif
