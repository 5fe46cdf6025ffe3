/*
 * The end of an open: waited for, left to the connection, or sent off to be looked at later.
 *
 * A CLOSE that is on its way is a compound that has been submitted and not waited for. Its answer
 * comes in on the receive thread whether anybody looks or not; who ends it without an answer leaves
 * the compound to the connection, like any other that was given up.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/file.h"
#include "client/kept.h"

struct client_closing {
    struct client *client;
    struct compound *m;
    char path[]; /* for error texts */
};

int close_answered(const struct operation *op, const struct compound *m, unsigned i,
                   struct file_attr *ret_attr)
{
    struct wire_close_response closed;
    if (!status_is(compound_status(m, i), STATUS_SUCCESS))
        return operation_status(op, compound_status(m, i));
    if (wire_close_response_decode(m->request[i].message, &closed) < 0)
        return operation_malformed(op, SMB2_CLOSE);
    if (ret_attr)
        *ret_attr = closed.attr;
    return 0;
}

/* With the connection it was closed, too. */
static int closed_by_loss(struct file_attr *ret_attr)
{
    if (ret_attr)
        *ret_attr = (struct file_attr){0};
    return 0;
}

int close_run(const struct operation *op, struct handle *h, enum client_style style,
              struct file_attr *ret_attr)
{
    struct conn *c = op->client->conn;
    struct error why;
    if (style == CLIENT_COMPOUND) {
        conn_close_later(c, h);
        return 0;
    }
    struct compound *m = compound_new(c, 0);
    if (!m) {
        conn_close_later(c, h);
        return operation_error(op, -ENOMEM, "out of memory");
    }
    if (!handle_leave(c, h)) {
        compound_free(m);
        return 0;
    }
    lease_release(c, h);
    add_close(m, WIRE_FILE_ID_NONE, ret_attr != NULL);
    compound_by(m, h);
    m->closes = h;
    m->once = true;
    int r = compound_run(m, &why);
    m->closes = NULL;
    if (r < 0 && (m->lost || r == LOST_OPEN) && c->revives)
        r = closed_by_loss(ret_attr);
    else
        r = r < 0 ? operation_failed(op, &why) : close_answered(op, m, 0, ret_attr);
    m->ends = h;
    compound_free(m);
    return r;
}

int client_close(struct client_file *f, enum client_style style, struct file_attr *ret_attr,
                 struct error *err)
{
    const struct operation op = {f->client, "close", f->path, err};
    int r = close_run(&op, f->handle, style, ret_attr);
    free(f);
    return r;
}

/* ---- a CLOSE on its way ---- */

static struct client_closing *closing_new(const struct client_file *f)
{
    size_t len = strlen(f->path) + 1;
    struct client_closing *closing = malloc(sizeof(*closing) + len);
    if (!closing)
        return NULL;
    *closing = (struct client_closing){f->client, compound_new(f->client->conn, 0)};
    memcpy(closing->path, f->path, len);
    if (!closing->m) {
        free(closing);
        return NULL;
    }
    return closing;
}

struct client_closing *client_close_begin(struct client_file *f)
{
    struct handle *h = f->handle;
    struct conn *c = f->client->conn;
    struct client_closing *closing = closing_new(f);
    free(f);
    if (!closing)
        goto later;
    if (!handle_leave(c, h)) {
        compound_free(closing->m);
        free(closing);
        return NULL;
    }
    lease_release(c, h);
    add_close(closing->m, WIRE_FILE_ID_NONE, true);
    compound_by(closing->m, h);
    closing->m->closes = h;
    int r = compound_submit(closing->m, 0, NULL);
    closing->m->closes = NULL;
    if (r < 0) {
        compound_free(closing->m);
        free(closing);
        goto later;
    }
    closing->m->ends = h;
    return closing;

later:
    conn_close_later(c, h);
    return NULL;
}

bool client_close_answered(struct client_closing *closing)
{
    return compound_is_answered(closing->m);
}

int client_close_end(struct client_closing *closing, struct file_attr *ret_attr, struct error *err)
{
    const struct operation op = {closing->client, "close", closing->path, err};
    struct conn *c = closing->client->conn;
    struct error why;
    if (!compound_is_answered(closing->m))
        observe_round_trip(c->observe);
    int r = compound_wait(closing->m, conn_deadline(c), &why);
    r = r < 0 ? operation_failed(&op, &why) : close_answered(&op, closing->m, 0, ret_attr);
    compound_free(closing->m);
    free(closing);
    return r;
}
