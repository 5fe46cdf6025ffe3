/*
 * Names to addresses, with a deadline.
 *
 * getaddrinfo() blocks for as long as the resolver likes and cannot be called off. It therefore
 * runs on a thread of its own, over a query that both sides hold a reference to: a caller whose
 * deadline passes walks away, and whoever is last frees the query. Literals need no resolver and no
 * thread.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "client/socket.h"

struct query {
    pthread_mutex_t lock;
    pthread_cond_t done_cond;
    unsigned refs; /* protected by lock */
    bool done;     /* protected by lock; the results are constant once it is set */
    int result;    /* of getaddrinfo */
    int saved_errno;
    struct addrinfo *addresses; /* taken by the caller, or freed with the query */
    char port[8];
    char host[];
};

static const struct addrinfo stream_hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};

static struct query *query_new(const char *host, const char *port)
{
    size_t len = strlen(host) + 1;
    struct query *q = calloc(1, sizeof(*q) + len);
    if (!q)
        return NULL;
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&q->done_cond, &attr);
    pthread_condattr_destroy(&attr);
    pthread_mutex_init(&q->lock, NULL);
    memcpy(q->host, host, len);
    snprintf(q->port, sizeof(q->port), "%s", port);
    q->refs = 1;
    return q;
}

static struct query *query_unref(struct query *q)
{
    pthread_mutex_lock(&q->lock);
    bool last = --q->refs == 0;
    pthread_mutex_unlock(&q->lock);
    if (last) {
        if (q->addresses)
            freeaddrinfo(q->addresses);
        pthread_cond_destroy(&q->done_cond);
        pthread_mutex_destroy(&q->lock);
        free(q);
    }
    return NULL;
}

static void *query_run(void *arg)
{
    struct query *q = arg;
    struct addrinfo *addresses = NULL;
    int result = getaddrinfo(q->host, q->port, &stream_hints, &addresses);
    int saved_errno = errno;

    pthread_mutex_lock(&q->lock);
    q->result = result;
    q->saved_errno = saved_errno;
    q->addresses = result == 0 ? addresses : NULL;
    q->done = true;
    pthread_cond_signal(&q->done_cond);
    pthread_mutex_unlock(&q->lock);
    query_unref(q);
    return NULL;
}

static int query_start(struct query *q)
{
    pthread_t thread;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    q->refs++;
    int r = pthread_create(&thread, &attr, query_run, q);
    pthread_attr_destroy(&attr);
    if (r)
        q->refs--;
    return -r;
}

static int resolve_error(struct error *err, const char *host, int result, int saved_errno)
{
    const char *text = result == EAI_SYSTEM ? strerror(saved_errno) : gai_strerror(result);
    int code = result == EAI_AGAIN ? -EAGAIN : result == EAI_MEMORY ? -ENOMEM : -EHOSTUNREACH;
    return error_set(err, code, 0, "cannot resolve host \"%.200s\": %s%s", host, text,
                     result == EAI_NONAME ? " (is it spelled right? ip=ADDRESS does without)" : "");
}

/* With its lock. */
static void wait_a_while(struct query *q, uint64_t until)
{
    const struct timespec at = clock_timespec(until);
    pthread_cond_timedwait(&q->done_cond, &q->lock, &at);
}

int socket_resolve(const char *host, uint16_t port, uint64_t deadline, const atomic_bool *stop,
                   struct addrinfo **ret, struct error *err)
{
    char service[8];
    snprintf(service, sizeof(service), "%u", port);

    struct addrinfo literal = stream_hints;
    literal.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    if (getaddrinfo(host, service, &literal, ret) == 0)
        return 0;

    struct query *q = query_new(host, service);
    if (!q)
        return error_set(err, -ENOMEM, 0, "cannot resolve host \"%.200s\": out of memory", host);
    int r = query_start(q);
    if (r < 0) {
        query_unref(q);
        return error_set(err, r, 0, "cannot resolve host \"%.200s\": %s", host, strerror(-r));
    }

    pthread_mutex_lock(&q->lock);
    while (!q->done && clock_now() < deadline && !socket_is_stopped(stop))
        wait_a_while(q, stop && clock_now() + SOCKET_LOOK < deadline ? clock_now() + SOCKET_LOOK
                                                                     : deadline);
    bool done = q->done;
    if (done && q->result == 0) {
        *ret = q->addresses;
        q->addresses = NULL;
    }
    pthread_mutex_unlock(&q->lock);

    if (!done)
        r = error_set(err, -ETIMEDOUT, 0, "cannot resolve host \"%.200s\": no answer in time",
                      host);
    else
        r = q->result ? resolve_error(err, host, q->result, q->saved_errno) : 0;
    query_unref(q);
    return r;
}
