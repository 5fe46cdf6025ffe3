/*
 * The client object: connect, negotiate, log on, connect the tree, in a straight line under one
 * deadline; and the way back. What failed half-way is torn down by the same function as what stood.
 * revive.c takes the same steps for a connection that was lost.
 */
#include "client/client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "client/auth.h"
#include "client/renew.h"
#include "client/revive.h"

#define GOODBYE (5 * NS_PER_SEC) /* the most that TREE_DISCONNECT and LOGOFF may take */

static struct client *destroy(struct client *c)
{
    conn_free(c->conn);
    auth_source_free(c->source);
    free(c->host);
    free(c->share);
    free((char *)c->options.address);
    free(c);
    return NULL;
}

/* So that a lost connection can be made again; who logs on is in c->source. */
static int copy_options(struct client *c, const struct client_options *options)
{
    struct client_options *o = &c->options;
    c->map_names = options->map_names;
    c->host = strdup(options->host);
    c->share = strdup(options->share);
    *o = *options;
    o->host = c->host;
    o->share = c->share;
    o->address = options->address ? strdup(options->address) : NULL;
    o->user = o->domain = o->password = o->keytab = NULL;
    o->cache_uid = NULL;
    return c->host && c->share && (o->address || !options->address) ? 0 : -ENOMEM;
}

int client_connect(const struct client_options *options, struct client **ret, struct error *err)
{
    struct secure_preauth preauth = {0};
    struct client *c = calloc(1, sizeof(*c));
    if (!c)
        return error_set(err, -ENOMEM, 0, "out of memory");

    int r = copy_options(c, options);
    if (r == 0 && getrandom(c->guid, sizeof(c->guid), 0) != sizeof(c->guid))
        r = -EIO;
    if (r < 0) {
        error_set(err, r, 0, r == -ENOMEM ? "out of memory" : "there are no random numbers");
        goto failed;
    }
    r = auth_source_new(options, &c->source, err);
    if (r < 0)
        goto failed;
    r = conn_new(options, &c->conn, err);
    if (r < 0)
        goto failed;
    c->conn->client = c;
    r = negotiate(c, options, &preauth, err);
    if (r < 0)
        goto failed;
    r = session_setup(c, options, &preauth, err);
    if (r < 0)
        goto failed;
    r = tree_connect(c, err);
    if (r < 0)
        goto failed;
    r = conn_establish(c->conn, err);
    if (r == 0)
        r = renew_start(c, err);
    if (r < 0)
        goto failed;
    memcpy(c->facts.address, c->conn->address, sizeof(c->facts.address));
    c->facts.logon = auth_source_logon(c->source);
    c->facts.user = c->user;
    r = revive_start(c, err);
    if (r < 0) {
        renew_stop(c);
        goto failed;
    }
    *ret = c;
    return 0;

failed:
    destroy(c);
    return r;
}

struct client *client_free(struct client *c)
{
    if (!c)
        return NULL;
    revive_stop(c);
    renew_stop(c);
    pthread_mutex_lock(&c->conn->lock);
    bool up = c->conn->up;
    pthread_mutex_unlock(&c->conn->lock);
    if (up) {
        c->conn->deadline_cap = clock_now() + GOODBYE;
        tree_disconnect(c);
        session_logoff(c);
    }
    return destroy(c);
}

unsigned client_losses(struct client *c, bool *ret_stands)
{
    pthread_mutex_lock(&c->conn->lock);
    unsigned losses = c->conn->epoch;
    *ret_stands = c->conn->up;
    pthread_mutex_unlock(&c->conn->lock);
    return losses;
}

void client_hurry(struct client *c, uint64_t ns)
{
    uint64_t until = clock_now() + ns;
    pthread_mutex_lock(&c->conn->lock);
    if (until < c->conn->leave_by) /* who says it twice gives nobody more time */
        c->conn->leave_by = until;
    pthread_cond_broadcast(&c->conn->changed);
    pthread_mutex_unlock(&c->conn->lock);
}

void client_facts(const struct client *c, struct client_facts *ret)
{
    pthread_mutex_lock(&c->conn->lock);
    *ret = c->facts;
    pthread_mutex_unlock(&c->conn->lock);
    struct conn *conn = c->conn;
    ret->credits = credit_total(conn);
    ret->refuses_compounds = conn_refuses(conn, REFUSES_COMPOUNDS);
    ret->refuses_compound_query = conn_refuses(conn, REFUSES_COMPOUND_QUERY);
    ret->refuses_large_listings = conn_refuses(conn, REFUSES_LARGE_LISTINGS);
    int64_t server_clock = atomic_load(&conn->server_clock);
    ret->clock_known = server_clock != 0;
    if (ret->clock_known) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        int64_t theirs = server_clock + (int64_t)(clock_now() / 100);
        ret->clock_ahead_ns = 100 * (theirs - (int64_t)timespec_to_filetime(now));
    }
}

unsigned client_renewals(const struct client *c)
{
    return renew_count(c->conn);
}

bool client_expired(const struct client *c)
{
    return renew_is_due(c->conn);
}

int client_echo(struct client *c, struct error *err)
{
    const struct operation op = {c, "echo", "", err};
    struct error why;
    struct compound *m = compound_new(c->conn, 0);
    if (!m)
        return operation_error(&op, -ENOMEM, "out of memory");
    wire_empty_encode(compound_add(m, SMB2_ECHO, 0));
    int r = compound_run(m, &why);
    if (r < 0)
        r = operation_failed(&op, &why);
    else if (!status_is(compound_status(m, 0), STATUS_SUCCESS))
        r = operation_status(&op, compound_status(m, 0));
    compound_free(m);
    return r;
}
