/* The TCP side of a connection: finding the server, connecting, sending and reading with deadlines.
 * Deadlines are clock_now() values; CLOCK_NEVER is allowed. */
#ifndef LARDER_CLIENT_SOCKET_H
#define LARDER_CLIENT_SOCKET_H

#include <netdb.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "base/error.h"

#define SOCKET_ADDRESS_MAX 64 /* an IPv6 address with its scope, as text */

/* ---- resolve.c ---- */

/* How often who may be stopped looks whether he is to. */
#define SOCKET_LOOK (NS_PER_SEC / 5)

static inline bool socket_is_stopped(const atomic_bool *stop)
{
    return stop && atomic_load(stop);
}

/* Every stream address of a name or literal. Free with freeaddrinfo. `stop` as below. */
int socket_resolve(const char *host, uint16_t port, uint64_t deadline, const atomic_bool *stop,
                   struct addrinfo **ret, struct error *err);

/* ---- socket.c ---- */

/* Tries each address of the host until one accepts. The socket is non-blocking, without Nagle. Once
 * *stop is set (NULL: never) it is given up soon, with -ECANCELED. */
int socket_connect(const char *host, uint16_t port, uint64_t deadline, const atomic_bool *stop,
                   int *ret_fd, char ret_address[static SOCKET_ADDRESS_MAX], struct error *err);

/* All of it, in one system call where the kernel takes it; `parts` is used up. 0, -ETIMEDOUT, or
 * what the socket says. After a failure part of it may be on the wire: the stream is lost. */
int socket_send(int fd, struct iovec *parts, size_t count, uint64_t deadline);

/* Reads ahead, so that a small frame costs one system call. Used by one thread. */
struct socket_reader {
    int fd;
    size_t start, end; /* what is read and not yet taken */
    uint8_t ahead[32768];
};

/* 1: there is something to read, or the end; 0: not by the deadline. */
int socket_reader_wait(struct socket_reader *r, uint64_t deadline);
/* Exactly n bytes. 0; -ENODATA: the stream ended before the first byte; -ECONNRESET: it ended in
 * the middle; -ETIMEDOUT; or what the socket says. */
int socket_reader_take(struct socket_reader *r, void *out, size_t n, uint64_t deadline);

#endif
