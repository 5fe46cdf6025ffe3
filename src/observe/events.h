/* Events as JSON lines, for a file and for who listens, by a thread of their own. Inside observe/
 * only. */
#ifndef LARDER_OBSERVE_EVENTS_H
#define LARDER_OBSERVE_EVENTS_H

#include <stdint.h>

#include "base/error.h"
#include "observe/observe.h"

const char *observe_class_name(enum observe_class c);
const char *observe_event_name(enum observe_event e);

/* What a network event tells besides. */
struct event_outage {
    const char *address;
    const char *why; /* NULL: it is over */
    uint64_t away_ns;
};

struct event {
    enum observe_event id;
    enum observe_class class;
    const char *path;    /* of a cache event, may be NULL */
    const char *reason;  /* of a miss or an invalidation; NULL: status 0 */
    const char *command; /* of a performance event, NULL in a cache event */
    uint32_t status;     /* NTSTATUS of a performance or network event */
    uint64_t latency_ns;
    const struct observe_promise *promise; /* NULL: an event of another class */
    const struct event_outage *outage;     /* the same */
};

struct events;

/* To events_path and event_line, of which one may be NULL. Lines that the file could not take, or
 * for which there was no room, are added to `*lost` (relaxed). */
int events_new(const struct observe_options *options, uint64_t *lost, struct events **ret,
               struct error *err);
/* Tells what is left, and waits for event_line to return. */
struct events *events_free(struct events *e);
/* Never waits for the disk: a line that finds the buffer full is lost and counted. */
void events_write(struct events *e, const struct event *event);

#endif
