/*
 * Messages by command, as Wireshark counts them: each element of a compound is a message, and a
 * frame counts for a command once however many of its messages it completes. Times are from a
 * request to its final response, as the capture saw the two pass.
 */
#include "base/ntstatus.h"
#include "capture/parts.h"

static void count_error(struct analysis_errors *e, uint32_t status)
{
    e->count++;
    size_t i = 0;
    while (i < e->distinct && i < ANALYSIS_STATUSES && e->by_status[i].status != status)
        i++;
    if (i == ANALYSIS_STATUSES)
        status = STATUS_OTHER;
    if (i == e->distinct)
        e->by_status[e->distinct++].status = status;
    e->by_status[i].count++;
}

static void count_response(struct analysis_command *c, const struct message *m)
{
    c->response_bytes += m->bytes;
    if (m->interim) {
        c->interims++;
        return;
    }
    c->responses++;
    c->unsolicited += m->unsolicited;
    if (ntstatus_failed(m->status) && m->status != STATUS_MORE_PROCESSING_REQUIRED)
        count_error(&c->errors, m->status);
}

/* ---- over time ---- */

#define SLOT_FIRST_NS 1000000ull

static void halve(struct analysis_timeline *t)
{
    for (size_t i = 0; i < TIMELINE_SLOTS; i++)
        for (size_t c = 0; c < SMB2_COMMANDS; c++) {
            uint64_t two =
                i * 2 < TIMELINE_SLOTS ? t->requests[i * 2][c] + t->requests[i * 2 + 1][c] : 0;
            t->requests[i][c] = two;
        }
    t->slot_ns *= 2;
}

static void count_in_time(struct analysis_timeline *t, const struct message *m)
{
    if (!t->slot_ns)
        *t = (struct analysis_timeline){.from_ns = m->time_ns, .slot_ns = SLOT_FIRST_NS};
    uint64_t after = m->time_ns > t->from_ns ? m->time_ns - t->from_ns : 0;
    while (after / t->slot_ns >= TIMELINE_SLOTS)
        halve(t);
    t->requests[after / t->slot_ns][m->command]++;
}

/* ---- events ---- */

void breakdown_message(struct analysis *a, const struct message *m)
{
    struct analysis_command *c = &a->command[m->command];
    if (!a->messages || m->time_ns < a->first_ns)
        a->first_ns = m->time_ns;
    if (m->time_ns > a->last_ns)
        a->last_ns = m->time_ns;
    a->messages++;
    a->frames += m->frame != a->last_frame;
    a->last_frame = m->frame;
    c->frames += m->frame != c->last_frame;
    c->last_frame = m->frame;
    a->signed_messages += m->is_signed;
    a->decrypted_messages += m->decrypted;
    a->cut_messages += m->cut;
    a->pieced_messages += (m->causes & ~(unsigned)RECORD_BEHIND) != 0;
    a->behind_messages += (m->causes & RECORD_BEHIND) != 0;
    for (unsigned i = 0; i < RECORD_CAUSES; i++)
        a->pieced[i] += m->causes >> i & 1;
    if (m->response) {
        count_response(c, m);
    } else {
        c->requests++;
        c->request_bytes += m->bytes;
        count_in_time(&a->timeline, m);
    }
}

void breakdown_exchange(struct analysis *a, const struct exchange *x)
{
    if (!x->request_seen)
        return;
    uint64_t *seen = &a->state->groups[x->group % ROUND_TRIPS_SEEN];
    a->round_trips += *seen != x->group;
    *seen = x->group;
    if (x->answered && x->answered_ns >= x->asked_ns)
        durations_add(&a->command[x->command].waits, x->answered_ns - x->asked_ns);
}

void breakdown_answered_again(struct analysis *a, const struct answered_again *again)
{
    if (again->before_ns >= again->asked_ns && again->answered_ns >= again->asked_ns)
        durations_change(&a->command[again->command].waits, again->before_ns - again->asked_ns,
                         again->answered_ns - again->asked_ns);
}
