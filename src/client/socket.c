/*
 * Connecting, sending and reading, each with a deadline.
 *
 * The socket is non-blocking; poll() waits where the kernel has nothing or takes nothing. A frame
 * goes out in one sendmsg(), also where its data lies apart from its headers: two small writes
 * would cost a delayed acknowledgement of 40 ms each, and Nagle's algorithm is off for the same
 * reason.
 */
#include "client/socket.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

/* > 0: the event is there; 0: the deadline came first. */
static int wait_for(int fd, short events, uint64_t deadline)
{
    for (;;) {
        uint64_t now = clock_now();
        uint64_t left = deadline > now ? deadline - now : 0;
        uint64_t ms = deadline == CLOCK_NEVER ? 60000 : (left + NS_PER_MS - 1) / NS_PER_MS;
        struct pollfd p = {.fd = fd, .events = events};
        int r = poll(&p, 1, ms > 60000 ? 60000 : (int)ms);
        if (r > 0)
            return 1;
        if (r < 0 && errno != EINTR)
            return -errno;
        if (r == 0 && clock_now() >= deadline)
            return 0;
    }
}

static int finish_connect(int fd, uint64_t deadline, const atomic_bool *stop)
{
    int r = 0;
    while (r == 0) {
        uint64_t now = clock_now();
        if (socket_is_stopped(stop))
            return -ECANCELED;
        if (now >= deadline)
            return -ETIMEDOUT;
        r = wait_for(fd, POLLOUT,
                     stop && now + SOCKET_LOOK < deadline ? now + SOCKET_LOOK : deadline);
    }
    if (r < 0)
        return r;
    int failure = 0;
    socklen_t len = sizeof(failure);
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &len) < 0)
        return -errno;
    return -failure;
}

static int try_address(const struct addrinfo *a, uint64_t deadline, const atomic_bool *stop,
                       int *ret_fd)
{
    int fd = socket(a->ai_family, a->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, a->ai_protocol);
    if (fd < 0)
        return -errno;
    int one = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    int r = connect(fd, a->ai_addr, a->ai_addrlen) < 0 ? -errno : 0;
    if (r == -EINPROGRESS)
        r = finish_connect(fd, deadline, stop);
    if (r < 0) {
        close(fd);
        return r;
    }
    *ret_fd = fd;
    return 0;
}

static unsigned count_addresses(const struct addrinfo *a)
{
    unsigned n = 0;
    for (; a; a = a->ai_next)
        n++;
    return n;
}

int socket_connect(const char *host, uint16_t port, uint64_t deadline, const atomic_bool *stop,
                   int *ret_fd, char ret_address[static SOCKET_ADDRESS_MAX], struct error *err)
{
    struct addrinfo *all;
    int r = socket_resolve(host, port, deadline, stop, &all, err);
    if (r < 0)
        return r;

    char address[SOCKET_ADDRESS_MAX] = "?";
    r = -EHOSTUNREACH;
    for (const struct addrinfo *a = all; a; a = a->ai_next) {
        /* an address that does not answer leaves time for those behind it */
        uint64_t now = clock_now();
        uint64_t share = deadline > now ? (deadline - now) / count_addresses(a) : 0;
        if (getnameinfo(a->ai_addr, a->ai_addrlen, address, sizeof(address), NULL, 0,
                        NI_NUMERICHOST))
            snprintf(address, sizeof(address), "?");
        r = try_address(a, now + share, stop, ret_fd);
        if (r == 0 || r == -ECANCELED)
            break;
    }
    freeaddrinfo(all);

    if (r < 0) {
        const char *hint = r == -ECONNREFUSED ? " (no SMB server on that port? port= names another)"
                           : r == -ETIMEDOUT  ? " (a firewall, or is the machine off?)"
                                              : "";
        bool literal = strcmp(host, address) == 0;
        return error_set(err, r, 0, "cannot connect to %.200s%s%s%s port %u: %s%s", host,
                         literal ? "" : " (", literal ? "" : address, literal ? "" : ")", port,
                         strerror(-r), hint);
    }
    snprintf(ret_address, SOCKET_ADDRESS_MAX, "%s", address);
    return 0;
}

/* Takes n bytes off the front; gives how many parts are used up. */
static size_t advance(struct iovec *parts, size_t count, size_t n)
{
    size_t done = 0;
    while (done < count && n >= parts[done].iov_len)
        n -= parts[done++].iov_len;
    if (done < count) {
        parts[done].iov_base = (uint8_t *)parts[done].iov_base + n;
        parts[done].iov_len -= n;
    }
    return done;
}

int socket_send(int fd, struct iovec *parts, size_t count, uint64_t deadline)
{
    while (count) {
        const struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
        ssize_t n = sendmsg(fd, &message, MSG_NOSIGNAL);
        if (n >= 0) {
            size_t done = advance(parts, count, (size_t)n);
            parts += done;
            count -= done;
            continue;
        }
        if (errno == EINTR)
            continue;
        if (errno != EAGAIN)
            return -errno;
        int r = wait_for(fd, POLLOUT, deadline);
        if (r < 0)
            return r;
        if (r == 0)
            return -ETIMEDOUT;
    }
    return 0;
}

int socket_reader_wait(struct socket_reader *r, uint64_t deadline)
{
    return r->start < r->end ? 1 : wait_for(r->fd, POLLIN, deadline);
}

/* One recv(); -EAGAIN only where the deadline came first. */
static ssize_t receive(int fd, void *out, size_t n, uint64_t deadline)
{
    for (;;) {
        ssize_t got = recv(fd, out, n, 0);
        if (got >= 0)
            return got;
        if (errno == EINTR)
            continue;
        if (errno != EAGAIN)
            return -errno;
        int r = wait_for(fd, POLLIN, deadline);
        if (r < 0)
            return r;
        if (r == 0)
            return -ETIMEDOUT;
    }
}

int socket_reader_take(struct socket_reader *r, void *out, size_t n, uint64_t deadline)
{
    uint8_t *to = out;
    size_t done = 0;

    while (done < n) {
        size_t have = r->end - r->start;
        if (have) {
            size_t take = have < n - done ? have : n - done;
            memcpy(to + done, r->ahead + r->start, take);
            r->start += take;
            done += take;
            continue;
        }
        /* a long rest goes straight to where it is wanted */
        bool direct = n - done >= sizeof(r->ahead);
        ssize_t got = receive(r->fd, direct ? to + done : r->ahead,
                              direct ? n - done : sizeof(r->ahead), deadline);
        if (got < 0)
            return (int)got;
        if (got == 0)
            return done ? -ECONNRESET : -ENODATA;
        if (direct) {
            done += (size_t)got;
        } else {
            r->start = 0;
            r->end = (size_t)got;
        }
    }
    return 0;
}
