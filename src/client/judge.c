/*
 * What became of a change that was sent twice.
 *
 * A connection may be lost after the server has done what was asked and before it has said so. The
 * change is sent again on the next one (again.c), and then meets its own work: what was to be
 * removed is missing, what was to be made is there. These answers are told from those of a change
 * that met somebody else's:
 *
 * - What was to be removed and is missing was removed.
 * - A new name (rename, link) is ours where the file's id stands there now. Where the id is not
 *   known it cannot be told, which is an error.
 * - What was to be made is somebody else's if it was created before we first asked, by the server's
 *   own clock, which its NEGOTIATE has told. It is ours if it was created since, and is as empty as
 *   we would have made it. Somebody else who made the very same name in the very same moment is
 *   taken for us: docs/posix.md says so.
 */
#include "client/judge.h"

#include <errno.h>

void twice_note(struct twice *t, const struct compound *m)
{
    if (!m->repeats)
        return;
    if (!t->is || m->first_sent < t->since)
        t->since = m->first_sent;
    t->is = true;
}

static int unknown(const struct operation *op)
{
    return operation_error(op, -EIO,
                           "the connection was lost meanwhile, and whether it was done before "
                           "cannot be told");
}

static bool is_empty(const struct file_attr *a, bool dir)
{
    return dir ? file_attr_is_dir(a) : !file_attr_is_dir(a) && a->size == 0;
}

int judge_made(const struct operation *op, bool dir, const struct twice *t,
               struct file_attr *ret_attr)
{
    struct conn *c = op->client->conn;
    struct file_attr attr;
    if (atomic_load(&c->server_clock) == 0 ||
        client_stat(op->client, op->path, CLIENT_COMPOUND, &attr, NULL, NULL) < 0)
        return unknown(op);
    if (attr.created < conn_server_time(c, t->since - CLOCK_SLACK))
        return operation_status(op, STATUS_OBJECT_NAME_COLLISION);
    if (attr.created > conn_server_time(c, clock_now() + CLOCK_SLACK) || !is_empty(&attr, dir))
        return unknown(op);
    *ret_attr = attr;
    return 0;
}

int judge_named(const struct operation *op, uint64_t id, int r, struct file_attr *ret_attr)
{
    struct file_attr attr;
    if (!id)
        return unknown(op);
    if (client_stat(op->client, op->to, CLIENT_COMPOUND, &attr, NULL, NULL) < 0 || attr.id != id)
        return r;
    if (ret_attr)
        *ret_attr = attr;
    return 0;
}
