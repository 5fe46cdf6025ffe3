/* Waiting has a limit that no machine is too slow for; whoever reaches it has failed. */
#include "share_bed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "share/options.h"

#define PATIENCE (60 * NS_PER_SEC)

struct share *share_bed_connect(struct server *server, const char *settings, const char *more)
{
    struct share *share;
    struct share_options o;
    struct error err = {0};
    char target[64];
    assert_non_null(server);
    snprintf(target, sizeof target, "//127.0.0.1:%u/share", server_port(server));
    share_options_init(&o);
    if (share_options_target(&o, target, &err) < 0 || share_options_parse(&o, settings, &err) < 0 ||
        share_options_parse(&o, more, &err) < 0 || share_connect(&o, &share, &err) < 0)
        fail_msg("%s", err.text);
    share_options_done(&o);
    return share;
}

bool share_bed_watch_is(struct share *share, const char *state)
{
    json_t *stats = share_stats(share);
    const char *now = json_string_value(json_object_get(json_object_get(stats, "watch"), "state"));
    bool same = now && strcmp(now, state) == 0;
    json_decref(stats);
    return same;
}

void share_bed_wait_for_watch(struct share *share, const char *state)
{
    uint64_t begun = clock_now();
    while (!share_bed_watch_is(share, state)) {
        if (clock_now() - begun > PATIENCE)
            fail_msg("the watch is not %s", state);
        usleep(10000);
    }
}
