/*
 * What would this capture's client have asked, had it been another one? The operations are replayed
 * (replay.h) under a profile with changed settings, and the requests, messages, round trips and
 * seconds that it would have taken stand beside those that were seen. Estimates, with the
 * assumptions that they rest on.
 */
#ifndef LARDER_CAPTURE_WHATIF_H
#define LARDER_CAPTURE_WHATIF_H

#include <jansson.h>

#include "base/error.h"
#include "capture/replay.h"

/* "PROFILE[:Setting=value,...]", as in `--what-if`. Fills the settings; -ENOENT, -EINVAL with err.
 */
int whatif_settings(const char *spec, struct settings *ret, struct error *err);

struct whatif;
/* One more question for a replay that has not begun; the replay outlives it. -ENOENT and -EINVAL
 * for a bad spec, -E2BIG, -ENOMEM; with err. */
int whatif_new(struct replay *r, const char *spec, struct whatif **ret, struct error *err);
struct whatif *whatif_free(struct whatif *w);

struct whatif_result {
    const char *profile;
    const char *overrides; /* "Setting=value,..." as given, "" none; whatif's own */
    struct effort seen, predicted;
    struct { /* what a cache would have answered, and the requests that this would have saved */
        uint64_t operations, requests;
    } avoidable[OBSERVE_CACHES];
    struct {
        uint64_t seen, avoidable;
    } operations[OPERATION_OTHER + 1];
    struct observe_cache_counts cache[OBSERVE_CACHES];
    uint64_t contradicted, revealed; /* see struct account */
};
/* After replay_finish. */
void whatif_result(const struct whatif *w, struct whatif_result *ret);

/* The assumptions, a line of text each; `line` < 0 or past the last: false. */
bool whatif_assumption(const struct whatif *w, int line, char *out, size_t cap);

/*
 * A member of the document's "what_if":
 * {"profile": p, "overrides": {setting: value, ...},
 *  "seen": {"requests": {command: n, ...}, "requests_total": n, "messages": n, "round_trips": n,
 *           "seconds": s},
 *  "predicted": the same, "saved": the same as differences, negative where it takes more,
 *  "avoidable": {"dir"|"info"|"notfound": {"operations": n, "requests": n}},
 *  "operations": {kind: {"seen": n, "avoidable": n}},
 *  "cache": as in `larder stats --json`, "contradicted": n, "revealed": n,
 *  "assumptions": [text, ...]}
 */
json_t *whatif_json(const struct whatif *w);

#endif
