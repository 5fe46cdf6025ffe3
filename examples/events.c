/* Shows what a connection's caches do, and what other clients change on the share, as it happens.
 *
 *     cc events.c -o events $(pkg-config --cflags --libs larder)
 *     ./events //server/share credentials=FILE
 *
 * Each line of the output is one event as JSON, the last one what was counted. Each line of the
 * input is a path that is asked for: the first time a question goes to the server, the second time
 * a cache answers, until somebody else changes something. The end of the input ends the program. */
#include <larder/larder.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Called on a thread of the connection's own, so what it touches must bear that: stdout has a lock.
 */
static void show(void *user, const char *line)
{
    fprintf(user, "%s\n", line);
    fflush(user);
}

int main(int argc, char **argv)
{
    struct larder_error err = {0};
    struct larder_config *config = NULL;
    struct larder *share = NULL;
    char path[4096];

    if (argc < 2) {
        fprintf(stderr, "usage: events //SERVER/SHARE [OPTIONS] < PATHS\n");
        return 2;
    }
    int r = larder_config_new(argv[1], &config, &err);
    if (r == 0)
        r = larder_config_set_list(config, argc > 2 ? argv[2] : "", &err);
    if (r == 0) {
        larder_config_on_event(config, show, stdout);
        r = larder_connect(config, &share, &err);
    }
    if (r < 0)
        fprintf(stderr, "events: %s\n", err.text);

    while (r == 0 && fgets(path, sizeof path, stdin)) {
        struct larder_stat st;
        path[strcspn(path, "\n")] = 0;
        if (larder_stat(share, path, &st, &err) < 0)
            fprintf(stderr, "events: %s: %s\n", path, err.text);
    }
    char *counters = share ? larder_counters(share) : NULL;
    larder_disconnect(share); /* the last event has been shown when it returns */
    if (counters)
        printf("%s\n", counters);
    free(counters);
    larder_config_free(config);
    return r < 0 ? 1 : 0;
}
