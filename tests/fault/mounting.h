/* A mount from its start to its end, with somebody who uses it, in which one call fails. */
#ifndef LARDER_TESTS_FAULT_MOUNTING_H
#define LARDER_TESTS_FAULT_MOUNTING_H

#include "tests/fault/failing.h"
#include "tests/fault/session.h"

/* Whether this machine lets us mount anything. */
bool mounting_possible(void);

/* The share is connected to before anything fails; the mount's beginning, its use and its end are
 * what is tried, up to where nothing of it may be left: no mount, process or descriptor. */
void mounting_run(struct server *server, uint64_t timeout_ns, enum call call, unsigned k, int error,
                  struct session_result *ret);

#endif
