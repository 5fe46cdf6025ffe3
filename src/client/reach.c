/*
 * Reaching a server: its name, then a TCP connection to one of its addresses, each timed for
 * itself. A connection that is to be used goes its own way (socket_connect), which does the same.
 */
#include <errno.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/client.h"
#include "client/socket.h"

enum { SMB_PORT = 445, ADDRESSES_TRIED = 8 };
#define REACH_TIMEOUT (10 * NS_PER_SEC)

/* One of its addresses, as text. */
static int try_address(const struct addrinfo *a, uint16_t port, uint64_t deadline,
                       struct client_reach *ret, struct error *err)
{
    char text[SOCKET_ADDRESS_MAX];
    int fd;
    if (getnameinfo(a->ai_addr, a->ai_addrlen, text, sizeof(text), NULL, 0, NI_NUMERICHOST))
        return error_set(err, -EAFNOSUPPORT, 0, "an address that cannot be written");
    uint64_t begun = clock_now();
    int r = socket_connect(text, port, deadline, NULL, &fd, ret->address, err);
    if (r < 0)
        return r;
    ret->connect_ns = clock_now() - begun;
    close(fd);
    return 0;
}

int client_reach(const struct client_options *options, struct client_reach *ret, struct error *err)
{
    const char *host = options->address ? options->address : options->host;
    uint16_t port = options->port ? options->port : SMB_PORT;
    uint64_t timeout = options->connect_timeout_ns ? options->connect_timeout_ns : REACH_TIMEOUT;
    uint64_t begun = clock_now(), deadline = begun + timeout;
    struct client_reach reach = {0};
    struct addrinfo *all;
    int r = socket_resolve(host, port, deadline, NULL, &all, err);
    if (r < 0)
        return r;
    reach.resolve_ns = clock_now() - begun;
    for (const struct addrinfo *a = all; a; a = a->ai_next)
        reach.addresses++;
    unsigned left = reach.addresses < ADDRESSES_TRIED ? reach.addresses : ADDRESSES_TRIED;
    r = -EHOSTUNREACH;
    for (const struct addrinfo *a = all; a && left && r < 0; a = a->ai_next, left--) {
        uint64_t now = clock_now();
        uint64_t share = deadline > now ? (deadline - now) / left : 0;
        r = try_address(a, port, now + share, &reach, err);
    }
    freeaddrinfo(all);
    if (r == 0)
        *ret = reach;
    return r;
}
