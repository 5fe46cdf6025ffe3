/* The tree: TREE_CONNECT to one share, TREE_DISCONNECT. (2.2.9, 2.2.10, 3.2.4.2.4, 3.2.5.5) */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf.h"
#include "client/operation.h"
#include "client/seal.h"

enum { SHARE_FLAG_ENCRYPT_DATA = 0x8000, TREE_PATH_MAX = 1024 };

static int failed(const struct client *c, struct error *err, int code, const char *text)
{
    return error_set(err, code, 0, "cannot connect to share //%.120s/%.120s: %s", c->host, c->share,
                     text);
}

/* The share insists. */
static int must_seal(struct client *c, struct error *err)
{
    if (c->conn->cipher && c->conn->seal) {
        start_sealing(c);
        return 0;
    }
    const char *why = c->conn->cipher ? "a guest session has no key" : conn_why_no_cipher(c->conn);
    return error_set(err, -EACCES, 0,
                     "cannot connect to share //%.120s/%.120s: it insists on encryption, but %s",
                     c->host, c->share, why);
}

static int take_response(struct client *c, const struct compound *m, struct error *err)
{
    uint32_t status = compound_status(m, 0);
    struct wire_tree_connect_response tree;

    if (!status_is(status, STATUS_SUCCESS)) {
        const char *hint = "";
        if (status_is(status, STATUS_BAD_NETWORK_NAME))
            hint = " (no such share there? `larder shares` lists them)";
        else if (status_is(status, STATUS_ACCESS_DENIED) && !c->conn->seal)
            hint = " (it may insist on encryption, for which there is no cipher in common)";
        int r = error_status(err, status, "cannot connect to share //%.120s/%.120s%s", c->host,
                             c->share, hint);
        return r ? r : failed(c, err, -EBADMSG, "the server's status makes no sense");
    }
    if (wire_tree_connect_response_decode(m->request[0].message, &tree) < 0)
        return failed(c, err, -EBADMSG, "the server's answer to TREE_CONNECT is malformed");
    uint8_t wanted = c->options.pipes ? SMB2_SHARE_TYPE_PIPE : SMB2_SHARE_TYPE_DISK;
    if (tree.share_type != wanted)
        return failed(c, err, -ENOTDIR,
                      c->options.pipes ? "it has no named pipes"
                                       : "it is a pipe or a printer, not files");
    if (tree.share_flags & SHARE_FLAG_ENCRYPT_DATA) {
        int r = must_seal(c, err);
        if (r < 0)
            return r;
    }

    c->facts.maximal_access = tree.maximal_access;
    struct conn *conn = c->conn;
    pthread_mutex_lock(&conn->lock);
    conn->tree_id = m->request[0].reply.tree_id;
    pthread_mutex_unlock(&conn->lock);
    return 0;
}

int tree_connect(struct client *c, struct error *err)
{
    char path[TREE_PATH_MAX];
    uint8_t utf16[2 * TREE_PATH_MAX];
    struct error why;

    int len = snprintf(path, sizeof(path), "\\\\%s\\%s", c->host, c->share);
    if (len < 0 || (size_t)len >= sizeof(path))
        return failed(c, err, -ENAMETOOLONG, "the name is too long");
    int n = utf8_to_utf16(path, (size_t)len, utf16, sizeof(utf16));
    if (n < 0)
        return failed(c, err, n, "the name is not valid UTF-8");

    const struct wire_tree_connect_request request = {.path = rd_init(utf16, (size_t)n)};
    struct compound *m = compound_new(c->conn, (size_t)n);
    if (!m)
        return failed(c, err, -ENOMEM, "out of memory");
    m->signs = c->conn->dialect == SMB2_DIALECT_311; /* also where the session is not signed */
    wire_tree_connect_request_encode(compound_add(m, SMB2_TREE_CONNECT, 0), &request);
    int r = compound_run(m, &why);
    r = r < 0 ? failed(c, err, why.code, why.text) : take_response(c, m, err);
    compound_free(m);
    return r < 0 ? r : validate_negotiation(c, err);
}

void tree_disconnect(struct client *c)
{
    struct compound *m = compound_new(c->conn, 0);
    if (!m)
        return;
    wire_empty_encode(compound_add(m, SMB2_TREE_DISCONNECT, 0));
    (void)compound_run(m, NULL);
    compound_free(m);
}
