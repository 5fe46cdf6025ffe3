/*
 * Looks: requests that have something open on the server for as long as they take, a stat or a
 * listing for instance.
 *
 * What is open beneath a directory is in the way of its renaming, and a file that is open is not
 * replaced: the server answers ACCESS_DENIED (MS-FSA 2.1.5.15.11). A program knows nothing of that;
 * that somebody else looks is no reason for its rename to fail. So a rename that was refused while
 * a look was under way keeps new ones off, waits for those that are to end, and is sent once more;
 * what was refused for a reason that lasts is refused again. Nobody waits where nothing is refused.
 */
#include "share/internal.h"

/* Whoever waits does not wait for longer, since what the other waits for may be him, or a server
 * that hangs. */
#define PATIENCE (2 * NS_PER_SEC)

void looks_init(struct share *s)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&s->looks.changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

void looks_done(struct share *s)
{
    pthread_cond_destroy(&s->looks.changed);
}

/* Until *count is 0, with patience. */
static void wait_for_none(struct share *s, const unsigned *count)
{
    uint64_t until = clock_now() + PATIENCE;
    const struct timespec end = clock_timespec(until);
    while (*count && pthread_cond_timedwait(&s->looks.changed, &s->lock, &end) == 0)
        ;
}

void look_begin(struct share *s)
{
    wait_for_none(s, &s->looks.kept_off);
    s->looks.under_way++;
    s->looks.begun++;
}

void look_end(struct share *s)
{
    if (--s->looks.under_way == 0)
        pthread_cond_broadcast(&s->looks.changed);
}

struct looks_mark looks_mark(const struct share *s)
{
    return (struct looks_mark){s->looks.under_way, s->looks.begun};
}

bool looks_keep_off(struct share *s, struct looks_mark since)
{
    if (since.under_way == 0 && since.begun == s->looks.begun)
        return false;
    s->looks.kept_off++;
    wait_for_none(s, &s->looks.under_way);
    return true;
}

void looks_go_on(struct share *s)
{
    if (--s->looks.kept_off == 0)
        pthread_cond_broadcast(&s->looks.changed);
}
