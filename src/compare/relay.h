/*
 * A TCP relay that makes a near server look far: everything is passed on in order, half the
 * round-trip time later. It runs on a thread of its own and listens on 127.0.0.1 only.
 */
#ifndef LARDER_COMPARE_RELAY_H
#define LARDER_COMPARE_RELAY_H

#include <stdint.h>

#include "base/error.h"

struct relay;

#define RELAY_RTT_MAX_MS 10000.0

/* `host` is a name, an IPv4 or an IPv6 address without brackets; it is resolved here, once.
 * `rtt_ms` is 0 .. RELAY_RTT_MAX_MS, else -EINVAL. The TCP handshake itself is not delayed. */
int relay_new(const char *host, uint16_t port, double rtt_ms, struct relay **ret,
              struct error *err);
uint16_t relay_port(const struct relay *r);
/* Ends all connections at once, what is under way is lost. Returns NULL; NULL is allowed. */
struct relay *relay_free(struct relay *r);

#endif
