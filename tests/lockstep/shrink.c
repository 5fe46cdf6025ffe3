/*
 * Delta reduction: a list of operations that shows a difference, made short. Parts of the list are
 * left out, first halves, then ever smaller ones, down to single operations; what still differs is
 * kept: a difference of the same kind, since another one may be of other reasons, even right ones.
 * At the end the comparisons that the last operation does not need are left out too.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lockstep/run.h"

struct shrinking {
    struct bench *bench;
    struct op *ops, *tried;
    size_t count;
    time_t end;
    struct difference *difference;
};

static bool in_time(const struct shrinking *s)
{
    return time(NULL) < s->end;
}

/* The first word says what differs. */
static bool is_alike(const struct difference *a, const struct difference *b)
{
    size_t len = strcspn(a->text, " ");
    return strncmp(a->text, b->text, len + 1) == 0;
}

/* Keeps `tried` if it differs. */
static bool try(struct shrinking *s, size_t count)
{
    struct difference d;
    long at = count ? run_ops(s->bench, s->tried, count, &d) : RUN_SAME;
    if (at < 0 || !is_alike(&d, s->difference))
        return false;
    s->count = (size_t)at + 1;
    memcpy(s->ops, s->tried, s->count * sizeof(*s->ops));
    *s->difference = d;
    return true;
}

static bool try_without(struct shrinking *s, size_t from, size_t len)
{
    memcpy(s->tried, s->ops, from * sizeof(*s->ops));
    memcpy(s->tried + from, s->ops + from + len, (s->count - from - len) * sizeof(*s->ops));
    return try(s, s->count - len);
}

/* From the end, since what is far from the difference matters least when it is gone last. */
static bool leave_out(struct shrinking *s, size_t len)
{
    bool any = false;
    for (size_t end = s->count; end > 0 && in_time(s);) {
        size_t from = end > len ? end - len : 0;
        any |= try_without(s, from, end - from);
        end = from < s->count ? from : s->count;
    }
    return any;
}

static void look_less(struct shrinking *s)
{
    for (size_t i = 0; i < s->count && in_time(s); i++) {
        if (!s->ops[i].look)
            continue;
        memcpy(s->tried, s->ops, s->count * sizeof(*s->ops));
        s->tried[i].look = 0;
        try(s, s->count);
    }
}

size_t shrink_ops(struct bench *bench, struct op *ops, size_t count, unsigned seconds,
                  struct difference *ret)
{
    struct shrinking s = {.bench = bench, .ops = ops, .count = count, .difference = ret};
    s.end = time(NULL) + seconds;
    s.tried = malloc(count * sizeof(*ops));
    if (!s.tried)
        return count;
    memcpy(s.tried, ops, count * sizeof(*ops));
    bool again = try(&s, count);
    for (size_t len = s.count / 2; again && len > 0; len /= 2)
        while (leave_out(&s, len) && len == 1 && in_time(&s))
            ;
    if (again)
        look_less(&s);
    free(s.tried);
    return again ? s.count : 0;
}
