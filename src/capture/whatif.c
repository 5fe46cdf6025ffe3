/*
 * A what-if is an account of the replay and the words around it: the spec that it was asked with,
 * the figures beside what was seen, and the assumptions, which are told with their own figures so
 * that it can be seen how much rests on each.
 */
#include "capture/whatif.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct whatif {
    struct replay *replay;
    const struct account *account;
    char overrides[];
};

/* ---- the spec ---- */

/* One "Setting=value". */
static int apply(struct settings *s, const char *text, size_t len, struct error *err)
{
    char name[64], value[64];
    const char *equals = memchr(text, '=', len);
    size_t name_len = equals ? (size_t)(equals - text) : len;
    if (!equals || name_len == 0 || name_len >= sizeof(name) || len - name_len > sizeof(value))
        return error_set(err, -EINVAL, 0,
                         "what-if: '%.*s' is no Setting=value, such as DirectoryCacheLifetime=60",
                         (int)len, text);
    memcpy(name, text, name_len);
    name[name_len] = 0;
    memcpy(value, equals + 1, len - name_len - 1);
    value[len - name_len - 1] = 0;
    return settings_set(s, name, value, err);
}

int whatif_settings(const char *spec, struct settings *ret, struct error *err)
{
    char profile[32];
    struct settings s;
    size_t len = strcspn(spec, ":");
    snprintf(profile, sizeof(profile), "%.*s", (int)(len < 31 ? len : 31), spec);
    int r = settings_profile(profile, &s, err);
    if (r < 0)
        return r;
    for (const char *at = spec + len; *at; at += len) {
        at++; /* the colon, or a comma */
        len = strcspn(at, ",");
        r = apply(&s, at, len, err);
        if (r < 0)
            return r;
    }
    *ret = s;
    return 0;
}

int whatif_new(struct replay *r, const char *spec, struct whatif **ret, struct error *err)
{
    struct settings settings;
    int code = whatif_settings(spec, &settings, err);
    if (code < 0)
        return code;
    const char *overrides = strchr(spec, ':');
    overrides = overrides ? overrides + 1 : "";
    struct whatif *w = calloc(1, sizeof(*w) + strlen(overrides) + 1);
    code = w ? replay_add(r, &settings, &w->account) : -ENOMEM;
    if (code < 0) {
        free(w);
        return error_set(err, code, 0, "what-if %s: %s", spec,
                         code == -E2BIG ? "too many questions at once" : "out of memory");
    }
    w->replay = r;
    strcpy(w->overrides, overrides);
    *ret = w;
    return 0;
}

struct whatif *whatif_free(struct whatif *w)
{
    free(w);
    return NULL;
}

/* ---- figures ---- */

void whatif_result(const struct whatif *w, struct whatif_result *ret)
{
    const struct account *a = w->account;
    const struct replay_seen *seen = replay_seen(w->replay);
    struct observe_counts counts;
    *ret = (struct whatif_result){.profile = a->settings.profile,
                                  .overrides = w->overrides,
                                  .seen = seen->all,
                                  .contradicted = a->contradicted,
                                  .revealed = a->revealed};
    replay_predicted(w->replay, a, &ret->predicted);
    observe_read(a->observe, &counts);
    for (int i = 0; i < OBSERVE_CACHES; i++) {
        ret->avoidable[i].operations = a->answered[i].operations;
        ret->avoidable[i].requests = a->answered[i].requests;
        ret->cache[i] = counts.cache[i];
    }
    for (int i = 0; i <= OPERATION_OTHER; i++) {
        ret->operations[i].seen = seen->operations[i];
        ret->operations[i].avoidable = a->answered_by_kind[i];
    }
}

/* ---- assumptions ---- */

enum assumption {
    ASSUME_OPERATIONS,
    ASSUME_HIDDEN,
    ASSUME_SERVED,
    ASSUME_PROMISES,
    ASSUME_CHANGES,
    ASSUME_LISTINGS,
    ASSUME_CONTRADICTED,
    ASSUME_SEATS,
    ASSUME_CLOCK,
    ASSUME_SECONDS,
    ASSUMPTIONS
};

static double mean_ms(const struct replay *r)
{
    const struct replay_seen *seen = replay_seen(r);
    const struct effort *m = seen->metadata.round_trips ? &seen->metadata : &seen->all;
    return m->round_trips ? (double)m->waited_ns / 1e6 / (double)m->round_trips : 0;
}

bool whatif_assumption(const struct whatif *w, int line, char *out, size_t cap)
{
    const struct replay_seen *seen = replay_seen(w->replay);
    const struct account *a = w->account;
    switch (line) {
    case ASSUME_OPERATIONS:
        snprintf(out, cap,
                 "Counted are requests on files and directories, not what sets the connection up, "
                 "nor what failed with the CREATE before it in a compound.");
        return true;
    case ASSUME_HIDDEN:
        snprintf(out, cap,
                 "What the client's own caches answered, and what the applications would have done "
                 "otherwise, is not in the capture and not counted.");
        return true;
    case ASSUME_SERVED:
        snprintf(out, cap,
                 "An open that also served data, a lock, a lease or a notification is never "
                 "avoidable.");
        return true;
    case ASSUME_PROMISES:
        snprintf(out, cap,
                 "The other client believes by time alone: under leases, or while the server tells "
                 "of changes, it would ask less.");
        return true;
    case ASSUME_CHANGES:
        snprintf(out, cap,
                 "A change seen from anyone invalidates when it begins and when it ends; a change "
                 "that the capture does not show is not known.");
        return true;
    case ASSUME_LISTINGS:
        snprintf(out, cap,
                 "A listing that the capture does not show holds what it shows of the directory; "
                 "%" PRIu64 " names that turned up later, with no change in between, count as "
                 "listed.",
                 a->revealed);
        return true;
    case ASSUME_CONTRADICTED:
        snprintf(out, cap,
                 "%" PRIu64 " answers of the caches that the capture shows to be out of date count "
                 "as asked.",
                 a->contradicted);
        return true;
    case ASSUME_SEATS:
        snprintf(out, cap,
                 "Each client's session at a share has caches of its own, empty at first: %" PRIu64
                 " of them, %" PRIu64 " begun anew to bound memory.",
                 seen->seats, seen->seats_dropped);
        return true;
    case ASSUME_CLOCK:
        snprintf(out, cap,
                 "Lifetimes run by the capture's clock, less the waits that this client would not "
                 "have had.");
        return true;
    case ASSUME_SECONDS:
        snprintf(out, cap,
                 "Seconds are waits for the server, added up: as seen where it is asked as seen, "
                 "else %.3f ms a round trip, the mean of those seen for metadata.",
                 mean_ms(w->replay));
        return true;
    }
    return false;
}

/* ---- JSON ---- */

static void set_count(json_t *object, const char *key, uint64_t n)
{
    json_object_set_new(object, key, json_integer((json_int_t)n));
}

/* a - b, or just a for a NULL b; commands that both lack are left out. */
static json_t *effort_json(const struct effort *a, const struct effort *b)
{
    static const struct effort nothing;
    json_t *object = json_object(), *requests = json_object();
    b = b ? b : &nothing;
    for (unsigned i = 0; i < SMB2_COMMANDS; i++)
        if (a->requests[i] || b->requests[i])
            set_count(requests, observe_command_name(i), a->requests[i] - b->requests[i]);
    json_object_set_new(object, "requests", requests);
    set_count(object, "requests_total", effort_requests(a) - effort_requests(b));
    set_count(object, "messages", a->messages - b->messages);
    set_count(object, "round_trips", a->round_trips - b->round_trips);
    json_object_set_new(object, "seconds",
                        json_real(((double)a->waited_ns - (double)b->waited_ns) / 1e9));
    return object;
}

/* The settings that were changed, by their names, each once. */
static json_t *overrides_json(const struct whatif *w)
{
    json_t *object = json_object();
    struct settings plain;
    const struct setting_info *info;
    if (settings_profile(w->account->settings.profile, &plain, NULL) < 0)
        return object;
    for (size_t i = 0; (info = settings_info(i)); i++) {
        char before[SETTINGS_TEXT_MAX], after[SETTINGS_TEXT_MAX];
        settings_get(&plain, i, before);
        settings_get(&w->account->settings, i, after);
        if (strcmp(before, after) != 0)
            json_object_set_new(object, info->name, json_string(after));
    }
    return object;
}

static json_t *avoidable_json(const struct whatif_result *r)
{
    json_t *object = json_object();
    for (int i = 0; i < OBSERVE_CACHES; i++) {
        json_t *one = json_object();
        set_count(one, "operations", r->avoidable[i].operations);
        set_count(one, "requests", r->avoidable[i].requests);
        json_object_set_new(object, observe_cache_name(i), one);
    }
    return object;
}

static json_t *operations_json(const struct whatif_result *r)
{
    json_t *object = json_object();
    for (int i = 0; i <= OPERATION_OTHER; i++) {
        json_t *one = json_object();
        set_count(one, "seen", r->operations[i].seen);
        set_count(one, "avoidable", r->operations[i].avoidable);
        json_object_set_new(object, operation_kind_name(i), one);
    }
    return object;
}

json_t *whatif_json(const struct whatif *w)
{
    struct whatif_result r;
    char text[512];
    whatif_result(w, &r);
    json_t *object = json_object(), *lines = json_array(),
           *counts = observe_json(w->account->observe);
    json_object_set_new(object, "profile", json_string(r.profile));
    json_object_set_new(object, "overrides", overrides_json(w));
    json_object_set_new(object, "seen", effort_json(&r.seen, NULL));
    json_object_set_new(object, "predicted", effort_json(&r.predicted, NULL));
    json_object_set_new(object, "saved", effort_json(&r.seen, &r.predicted));
    json_object_set_new(object, "avoidable", avoidable_json(&r));
    json_object_set_new(object, "operations", operations_json(&r));
    json_object_set(object, "cache", json_object_get(counts, "cache"));
    set_count(object, "contradicted", r.contradicted);
    set_count(object, "revealed", r.revealed);
    for (int i = 0; whatif_assumption(w, i, text, sizeof(text)); i++)
        json_array_append_new(lines, json_string(text));
    json_object_set_new(object, "assumptions", lines);
    json_decref(counts);
    return object;
}
