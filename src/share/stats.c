/*
 * What a share shows of itself: the facts of its connection, its settings, its beliefs, its
 * counters, and the faults that it finds in itself. Nothing here talks to the server.
 */
#include <stdlib.h>
#include <string.h>

#include "share/delay.h"

static json_t *settings_json(const struct settings *settings)
{
    json_t *all = json_object();
    const struct setting_info *info;
    char value[SETTINGS_TEXT_MAX];
    for (size_t i = 0; (info = settings_info(i)); i++)
        json_object_set_new(all, info->name, json_string(settings_get(settings, i, value)));
    return all;
}

static void add_fault(void *user, enum observe_cache cache, const char *text)
{
    json_array_append_new(user, json_string(text));
}

static json_t *sizes_json(const struct cache_sizes *sizes, const bool enabled[OBSERVE_CACHES])
{
    json_t *all = json_object();
    for (int c = 0; c < OBSERVE_CACHES; c++)
        json_object_set_new(all, observe_cache_name((enum observe_cache)c),
                            json_pack("{s:b, s:I}", "enabled", enabled[c], "entries",
                                      (json_int_t)sizes->entries[c]));
    json_object_set_new(all, "bytes", json_integer((json_int_t)sizes->bytes));
    json_object_set_new(all, "files", json_integer((json_int_t)sizes->files));
    return all;
}

static json_t *connection_json(const struct share *s)
{
    struct client_facts facts;
    client_facts(s->client, &facts);
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:b, s:s, s:s, s:I, s:I, s:I, s:I, s:I}", "address",
                     facts.address, "share", s->options.share, "dialect", facts.dialect_name,
                     "signing", facts.signing ? facts.signing_algorithm : "none", "encryption",
                     facts.encryption, "guest", facts.guest, "logon", facts.logon, "user",
                     facts.user, "reauthentications", (json_int_t)client_renewals(s->client),
                     "server_capabilities", (json_int_t)facts.server_capabilities, "max_read",
                     (json_int_t)facts.max_read, "max_write", (json_int_t)facts.max_write,
                     "max_transact", (json_int_t)facts.max_transact);
}

/* With the lock. */
static json_t *watch_json(const struct share *s)
{
    const char *state = s->watched         ? "watching"
                        : s->watch_silent  ? "silent"
                        : s->watch_waits   ? "expired"
                        : s->watch_started ? "refused"
                                           : "off";
    return json_pack("{s:s, s:I, s:{s:I, s:I}}", "state", state, "notices", (json_int_t)s->notices,
                     "verified", "unchanged", (json_int_t)s->verified[1], "changed",
                     (json_int_t)s->verified[0]);
}

/* With the lock. */
static json_t *leases_json(const struct share *s)
{
    static const char *const reasons[PROMISE_REASONS] = {
        [PROMISE_AGE] = "age",       [PROMISE_ROOM] = "room",   [PROMISE_CHANGE] = "change",
        [PROMISE_BROKEN] = "broken", [PROMISE_NEWER] = "newer", [PROMISE_TIMES] = "times"};
    struct promise_counts c;
    promise_count(s, &c);
    json_t *given_up = json_object();
    for (int i = 0; i < PROMISE_REASONS; i++)
        json_object_set_new(given_up, reasons[i], json_integer((json_int_t)c.given_up[i]));
    return json_pack(
        "{s:b, s:b, s:I, s:I, s:I, s:I, s:{s:I, s:I}, s:I, s:o}", "files", s->promises.files,
        "directories", s->promises.dirs, "asked", (json_int_t)c.asked, "granted",
        (json_int_t)c.granted, "broken", (json_int_t)c.broken, "acknowledged",
        (json_int_t)c.acknowledged, "dormant", "files", (json_int_t)c.dormant_files, "directories",
        (json_int_t)c.dormant_dirs, "reopened", (json_int_t)c.reopened, "given_up", given_up);
}

/* With the lock. */
static json_t *delayed_json(const struct share *s)
{
    return json_pack("{s:I, s:I, s:I}", "writes", (json_int_t)s->delays.taken, "requests",
                     (json_int_t)s->delays.sent, "waiting", (json_int_t)delay_waiting(s));
}

json_t *share_stats(struct share *s)
{
    const struct settings *settings = &s->options.settings;
    bool enabled[OBSERVE_CACHES];
    settings_enabled(settings, enabled);
    struct cache_sizes sizes;
    pthread_mutex_lock(&s->lock);
    cache_sizes(s->cache, &sizes);
    struct error lost = s->lost;
    json_t *watch = watch_json(s), *leases = leases_json(s), *delayed = delayed_json(s);
    pthread_mutex_unlock(&s->lock);
    struct observe_counts counts;
    observe_read(s->observe, &counts);
    json_t *faults = json_array();
    observe_dead_caches(&counts, enabled, add_fault, faults);
    if (lost.code)
        json_array_append_new(faults, json_sprintf("the server is away: %s", lost.text));
    if (counts.events_lost)
        json_array_append_new(
            faults, json_sprintf("%llu events could not be written to %s",
                                 (unsigned long long)counts.events_lost,
                                 s->options.events_path ? s->options.events_path : "who listens"));

    json_t *all = observe_json(s->observe);
    json_object_set_new(all, "larder", json_string(LARDER_VERSION));
    json_object_set_new(all, "profile", json_string(settings->profile));
    json_object_set_new(all, "connection", connection_json(s));
    json_object_set_new(all, "settings", settings_json(settings));
    json_object_set_new(all, "caches", sizes_json(&sizes, enabled));
    json_object_set_new(all, "leases", leases);
    json_object_set_new(all, "delayed", delayed);
    json_object_set_new(all, "watch", watch);
    json_object_set_new(all, "faults", faults);
    return all;
}

struct alarm {
    struct share *share;
    void (*line)(void *user, const char *text);
    void *user;
};

static void alarm_once(void *user, enum observe_cache cache, const char *text)
{
    struct alarm *a = user;
    pthread_mutex_lock(&a->share->lock);
    bool given = a->share->alarm_given[cache];
    a->share->alarm_given[cache] = true;
    pthread_mutex_unlock(&a->share->lock);
    if (!given)
        a->line(a->user, text);
}

void share_check_caches(struct share *s, void (*line)(void *user, const char *text), void *user)
{
    bool enabled[OBSERVE_CACHES];
    settings_enabled(&s->options.settings, enabled);
    struct observe_counts counts;
    observe_read(s->observe, &counts);
    observe_dead_caches(&counts, enabled, alarm_once, &(struct alarm){s, line, user});
}
