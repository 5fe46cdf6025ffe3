/*
 * The client object: connect, negotiate, log on, connect the tree, in a straight line under one
 * deadline; and the way back. What failed half-way is torn down by the same function as what stood.
 */
#include "client/client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/auth.h"
#include "client/operation.h"

#define GOODBYE (5 * NS_PER_SEC) /* the most that TREE_DISCONNECT and LOGOFF may take */

static struct client *destroy(struct client *c)
{
    conn_free(c->conn);
    auth_source_free(c->source);
    free(c->host);
    free(c->share);
    free(c);
    return NULL;
}

int client_connect(const struct client_options *options, struct client **ret, struct error *err)
{
    struct secure_preauth preauth = {0};
    struct client *c = calloc(1, sizeof(*c));
    if (!c)
        return error_set(err, -ENOMEM, 0, "out of memory");

    int r = -ENOMEM;
    c->map_names = options->map_names;
    c->host = strdup(options->host);
    c->share = strdup(options->share);
    if (!c->host || !c->share) {
        error_set(err, r, 0, "out of memory");
        goto failed;
    }
    r = auth_source_new(options, &c->source, err);
    if (r < 0)
        goto failed;
    r = conn_new(options, &c->conn, err);
    if (r < 0)
        goto failed;
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
    if (r < 0)
        goto failed;
    c->facts.address = c->conn->address;
    c->facts.logon = auth_source_logon(c->source);
    c->facts.user = c->user;
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
    pthread_mutex_lock(&c->conn->lock);
    c->conn->closing = true;
    bool dead = c->conn->dead;
    pthread_mutex_unlock(&c->conn->lock);
    if (!dead) {
        c->conn->deadline_cap = clock_now() + GOODBYE;
        tree_disconnect(c);
        session_logoff(c);
    }
    return destroy(c);
}

void client_facts(const struct client *c, struct client_facts *ret)
{
    *ret = c->facts;
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
