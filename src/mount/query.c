/*
 * The side of the control socket that asks (control.h). It trusts the place no more than the mount
 * does: the directory must be the mounting user's own and private, and the process that listens
 * must be that user's or root's.
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "mount/control.h"
#include "mount/place.h"
#include "mount/sockdir.h"

#define PATIENCE_S 10
#define REPLY_MAX  (16u << 20)

/* Whether the process at the other end may speak for the mount. */
static bool peer_is(int fd, uid_t owner, pid_t *ret_pid)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 ||
        (peer.uid != owner && peer.uid != 0))
        return false;
    *ret_pid = peer.pid;
    return true;
}

/* A connection to the mount's daemon. -ENOENT: there is no socket, -ECONNREFUSED: nobody listens.
 */
static int connect_to(const struct place *at, uint64_t deadline, pid_t *ret_pid)
{
    char name[32];
    sockdir_name(at->device, name);
    int rc = -ENOENT;
    for (unsigned i = 0; i < SOCKDIR_PLACES; i++) {
        int dir = sockdir_of(at->owner, i);
        if (dir < 0) {
            rc = dir == -ENOENT ? rc : dir;
            continue;
        }
        int fd;
        while ((fd = sockdir_connect(dir, name)) == -EAGAIN && clock_now() < deadline)
            poll(NULL, 0, 20); /* all its places are taken */
        close(dir);
        if (fd == -ENOENT)
            continue;
        if (fd >= 0 && !peer_is(fd, at->owner, ret_pid)) {
            close(fd);
            return -EPERM;
        }
        return fd;
    }
    return rc;
}

static int connect_error(const char *mountpoint, const struct place *at, int rc, struct error *err)
{
    switch (rc) {
    case -ECONNREFUSED:
    case -ENOENT:
        return error_set(err, -ECONNREFUSED, 0,
                         "%s: nobody serves this mount any more; `larder umount %s` clears it",
                         mountpoint, mountpoint);
    case -EACCES:
    case -EPERM:
        return error_set(err, -EACCES, 0, "%s: only root and uid %u, who mounted it, may ask it",
                         mountpoint, (unsigned)at->owner);
    default:
        return error_set(err, rc, 0, "%s: control socket: %s", mountpoint, strerror(-rc));
    }
}

/* Waits until the descriptor is ready; -ETIMEDOUT at the deadline. */
static int wait_for(int fd, short events, uint64_t deadline)
{
    for (;;) {
        uint64_t now = clock_now();
        if (now >= deadline)
            return -ETIMEDOUT;
        struct pollfd p = {.fd = fd, .events = events};
        int n = poll(&p, 1, (int)((deadline - now) / NS_PER_MS + 1));
        if (n > 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return -errno;
    }
}

/* The line of a request (control.h). -ENAMETOOLONG. */
static int make_line(const char *request, const char *argument, char line[static CONTROL_LINE_MAX])
{
    static const char digits[] = "0123456789ABCDEF";
    int at = snprintf(line, CONTROL_LINE_MAX, "%s%s", request, argument ? " " : "");
    for (const char *p = argument ? argument : ""; *p; p++) {
        unsigned char c = (unsigned char)*p;
        if (at > CONTROL_LINE_MAX - 5)
            return -ENAMETOOLONG;
        if ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') {
            line[at++] = *p;
        } else if (strchr("0123456789-._/", c)) {
            line[at++] = *p;
        } else {
            line[at++] = '%';
            line[at++] = digits[c >> 4];
            line[at++] = digits[c & 15];
        }
    }
    line[at++] = '\n';
    return at;
}

static int send_line(int fd, const char *request, const char *argument, uint64_t deadline)
{
    char line[CONTROL_LINE_MAX];
    int len = make_line(request, argument, line);
    int rc = len < 0 ? len : wait_for(fd, POLLOUT, deadline);
    if (rc < 0)
        return rc;
    /* A fresh socket's buffer holds more than a line. */
    ssize_t n = send(fd, line, (size_t)len, MSG_NOSIGNAL);
    return n == len ? 0 : n < 0 ? -errno : -EIO;
}

/* The whole reply, to be freed. */
static int receive_all(int fd, uint64_t deadline, char **ret, size_t *ret_len)
{
    char *buf = NULL;
    size_t len = 0, cap = 0;
    for (;;) {
        if (len == cap) {
            cap = cap ? cap * 2 : 16384;
            char *grown = cap <= REPLY_MAX ? realloc(buf, cap) : NULL;
            if (!grown) {
                free(buf);
                return cap <= REPLY_MAX ? -ENOMEM : -EMSGSIZE;
            }
            buf = grown;
        }
        int rc = wait_for(fd, POLLIN, deadline);
        ssize_t n = rc < 0 ? 0 : recv(fd, buf + len, cap - len, 0);
        if (rc == 0 && n < 0 && errno != EAGAIN && errno != EINTR)
            rc = -errno;
        if (rc < 0) {
            free(buf);
            return rc;
        }
        if (n == 0) {
            *ret = buf;
            *ret_len = len;
            return 0;
        }
        len += n > 0 ? (size_t)n : 0;
    }
}

int control_query(const char *mountpoint, const char *request, const char *argument, json_t **ret,
                  struct error *err)
{
    struct place at;
    int rc = place_find_larder(mountpoint, &at, err);
    if (rc < 0)
        return rc;
    uint64_t deadline = clock_now() + PATIENCE_S * NS_PER_SEC;
    pid_t pid;
    int fd = connect_to(&at, deadline, &pid);
    if (fd < 0)
        return connect_error(mountpoint, &at, fd, err);

    char *text = NULL;
    size_t len = 0;
    rc = send_line(fd, request, argument, deadline);
    if (rc == 0)
        rc = receive_all(fd, deadline, &text, &len);
    close(fd);
    if (rc < 0)
        return error_set(err, rc, 0, "%s: no answer from its larder: %s", mountpoint,
                         strerror(-rc));
    json_t *reply = json_loadb(text, len, 0, NULL);
    free(text);
    if (!reply)
        return error_set(err, -EPROTO, 0, "%s: its larder's answer broke off", mountpoint);
    const char *refusal = json_string_value(json_object_get(reply, "error"));
    if (refusal) {
        rc = error_set(err, -EOPNOTSUPP, 0, "%s: %s: %s", mountpoint, request, refusal);
        json_decref(reply);
        return rc;
    }
    *ret = reply;
    return 0;
}

int control_pid(const char *mountpoint, pid_t *ret, struct error *err)
{
    struct place at;
    int rc = place_find_larder(mountpoint, &at, err);
    if (rc < 0)
        return rc;
    int fd = connect_to(&at, clock_now() + PATIENCE_S * NS_PER_SEC, ret);
    if (fd < 0)
        return connect_error(mountpoint, &at, fd, err);
    close(fd);
    return 0;
}

void control_clear(uid_t owner)
{
    for (unsigned i = 0; i < SOCKDIR_PLACES; i++) {
        int dir = sockdir_of(owner, i);
        if (dir < 0)
            continue;
        sockdir_lock(dir);
        sockdir_sweep(dir);
        close(dir);
    }
}
