/* A share on a scripted server, for tests of share/. What goes wrong fails the test that called. */
#ifndef TESTS_FAULT_SHARE_BED_H
#define TESTS_FAULT_SHARE_BED_H

#include <stdbool.h>

#include "server/server.h"
#include "share/share.h"

/* Who is let in by each server, and by one whose script has `logon`. */
#define AS_GUEST "guest"
#define AS_USER  "user=" SERVER_USER ",domain=" SERVER_DOMAIN ",password=" SERVER_PASSWORD

/* Both as after -o: settings ("profile=23h2,actimeo=60"), then who and more. */
struct share *share_bed_connect(struct server *server, const char *settings, const char *more);
/* What share_stats calls the watch: "watching", "expired" ... */
bool share_bed_watch_is(struct share *share, const char *state);
void share_bed_wait_for_watch(struct share *share, const char *state);

#endif
