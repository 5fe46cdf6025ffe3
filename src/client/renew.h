/* A session that has expired: logged on again, and what was refused meanwhile sent again. Private
 * to this room. */
#ifndef LARDER_CLIENT_RENEW_H
#define LARDER_CLIENT_RENEW_H

#include "client/operation.h"

struct auth;

/* ---- renew.c ---- */

/* The session stands, by this logon: also to be called when it is another one. */
void renew_begin(struct client *c, const struct auth *auth, bool possible);
/* Starts the thread that logs on ahead of time, and for what nobody waits for. */
int renew_start(struct client *c, struct error *err);
/* Ends it; may be called without it. */
void renew_stop(struct client *c);
/* How often it was done. */
unsigned renew_count(struct conn *c);
/* Whether it has expired, and was not renewed since. */
bool renew_is_due(struct conn *c);

/*
 * Logs on again, or waits for whoever is at it. `logon`: of the request that was refused: where the
 * session was renewed since, there is nothing to do. An attempt that failed a moment ago is not
 * repeated, its error is given again. -ETIMEDOUT at the deadline.
 */
int renew_session(struct conn *c, unsigned logon, uint64_t deadline, struct error *err);
/* Whether there is somebody to log on again. */
bool renew_possible(struct conn *c);
/* Caller holds conn->lock. `q` was answered with NETWORK_SESSION_EXPIRED. */
void renew_wanted(struct conn *c, const struct request *q);
/* Waits until requests may leave. -EAGAIN where the deadline is 0. */
int renew_gate(const struct compound *m, uint64_t deadline, struct error *err);

/* ---- resend.c ---- */

/* Whether a compound that is answered has an element that was refused because of that. */
bool resend_wanted(const struct compound *m);
/* Has the session renewed and sends those elements again; their answers take the places of the
 * refusals. */
int resend(struct compound *m, uint64_t deadline, struct error *err);
/* The open that a CLOSE of a compound which nobody waits for has not closed because of that; NULL:
 * none. Its id is set. */
struct handle *resend_close(const struct compound *m);

#endif
