/* Hands every event to the parts, and gives the sums. */
#include "capture/analysis.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "capture/parts.h"

static void state_free(struct analysis_state *s)
{
    if (!s)
        return;
    enumerations_done(s);
    names_done(s);
    changes_free(s->changes);
    shares_free(s->shares);
    free(s);
}

static struct analysis_state *state_new(void)
{
    struct analysis_state *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    enumerations_init(s);
    names_init(s);
    s->shares = shares_new();
    s->changes = s->shares ? changes_new(s->shares) : NULL;
    if (!s->changes || settings_profile("23h2", &s->settings, NULL) < 0) {
        state_free(s);
        return NULL;
    }
    return s;
}

struct analysis *analysis_new(const char *file)
{
    struct analysis *a = calloc(1, sizeof(*a));
    if (!a)
        return NULL;
    a->file = strdup(file);
    a->state = state_new();
    if (!a->file || !a->state)
        return analysis_free(a);
    a->settings = &a->state->settings;
    return a;
}

struct analysis *analysis_free(struct analysis *a)
{
    if (!a)
        return NULL;
    free(a->directories);
    free(a->name_list);
    free(a->file);
    state_free(a->state);
    free(a);
    return NULL;
}

void analysis_message(struct analysis *a, const struct message *m)
{
    breakdown_message(a, m);
}

void analysis_envelope(struct analysis *a, uint64_t frame)
{
    a->frames += frame != a->last_frame;
    a->last_frame = frame;
}

void analysis_exchange(struct analysis *a, const struct exchange *x)
{
    breakdown_exchange(a, x);
    enumerations_exchange(a, x);
    leases_exchange(a, x);
    changes_exchange(a->state->changes, x);
}

void analysis_answered_again(struct analysis *a, const struct answered_again *again)
{
    breakdown_answered_again(a, again);
}

void analysis_broken(struct analysis *a, const struct break_notice *b)
{
    leases_broken(a, b);
}

void analysis_operation(struct analysis *a, const struct operation *o)
{
    a->operations[o->kind]++;
    enumerations_operation(a, o);
    names_operation(a, o);
}

void analysis_flow(struct analysis *a, const struct flow *flow, const struct flow_facts *facts)
{
    hosts_flow(a, flow, facts);
}

int analysis_finish(struct analysis *a)
{
    const struct analysis_state *s = a->state;
    a->places_evicted = s->directories.evicted + s->names.evicted;
    int code = enumerations_finish(a);
    return code < 0 ? code : names_finish(a);
}

/* ---- sums ---- */

static double seconds(uint64_t from_ns, uint64_t to_ns)
{
    return to_ns > from_ns ? (double)(to_ns - from_ns) / (double)NS_PER_SEC : 0;
}

double analysis_seconds(const struct analysis *a)
{
    return seconds(a->first_packet_ns, a->last_packet_ns);
}

double analysis_smb_seconds(const struct analysis *a)
{
    return seconds(a->first_ns, a->last_ns);
}

uint64_t analysis_messages_of(const struct analysis_command *c)
{
    return c->requests + c->responses + c->interims;
}

bool analysis_waits_count(uint16_t command)
{
    return command != SMB2_CHANGE_NOTIFY && command != SMB2_OPLOCK_BREAK;
}

uint64_t analysis_waited_ns(const struct analysis *a)
{
    uint64_t sum = 0;
    for (uint16_t i = 0; i < SMB2_COMMANDS; i++)
        if (analysis_waits_count(i))
            sum += a->command[i].waits.sum_ns;
    return sum;
}

uint64_t analysis_metadata_requests(const struct analysis *a)
{
    uint64_t requests = 0;
    for (uint16_t i = 0; i < SMB2_COMMANDS; i++)
        if (i != SMB2_READ && i != SMB2_WRITE)
            requests += a->command[i].requests;
    return requests;
}

double analysis_metadata_rate(const struct analysis *a)
{
    double s = analysis_smb_seconds(a);
    return s > 0 ? (double)analysis_metadata_requests(a) / s : 0;
}

/* 0, 1024 ns, and from there in steps of 3/2 and 4/3. */
static uint64_t histogram_edge(unsigned slot)
{
    uint64_t octave = UINT64_C(1024) << ((slot ? slot - 1 : 0) / 2);
    return slot == 0 ? 0 : slot % 2 ? octave : octave / 2 * 3;
}

uint64_t analysis_histogram(const struct analysis *a, unsigned slot, uint64_t *ret_from_ns)
{
    uint64_t from = histogram_edge(slot), to = histogram_edge(slot + 1), n = 0;
    for (uint16_t c = 0; c < SMB2_COMMANDS; c++)
        if (analysis_waits_count(c))
            n += durations_between(&a->command[c].waits, from, to);
    *ret_from_ns = from;
    return n;
}
