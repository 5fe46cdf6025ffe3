/*
 * Byte-range locks: LOCK with one element (2.2.26), never waited for on the server, since a request
 * that waits there would hold its credit and its deadline for as long as somebody else pleases.
 */
#include <errno.h>

#include "client/file.h"

static int run(const struct operation *op, struct client_file *f, const struct wire_lock_element *e)
{
    uint8_t buf[24];
    struct wr locks = wr_init(buf, sizeof(buf));
    struct error why;
    struct compound *m = compound_new(f->client->conn, 0);
    if (!m)
        return operation_error(op, -ENOMEM, "out of memory");
    wire_lock_element_encode(&locks, e);
    const struct wire_lock_request lock = {
        .file_id = f->handle->id,
        .locks = rd_init(buf, locks.pos),
    };
    wire_lock_request_encode(compound_add(m, SMB2_LOCK, 0), &lock);
    int r = compound_run(m, &why);
    if (r < 0)
        r = operation_failed(op, &why);
    else if (!status_is(compound_status(m, 0), STATUS_SUCCESS))
        r = operation_status(op, compound_status(m, 0));
    compound_free(m);
    return r;
}

int client_lock(struct client_file *f, enum client_lock_type type, uint64_t offset, uint64_t len,
                struct error *err)
{
    static const uint32_t flags[] = {
        [CLIENT_UNLOCK] = SMB2_LOCKFLAG_UNLOCK,
        [CLIENT_LOCK_SHARED] = SMB2_LOCKFLAG_SHARED_LOCK | SMB2_LOCKFLAG_FAIL_IMMEDIATELY,
        [CLIENT_LOCK_EXCLUSIVE] = SMB2_LOCKFLAG_EXCLUSIVE_LOCK | SMB2_LOCKFLAG_FAIL_IMMEDIATELY,
    };
    const struct operation op = {f->client, type == CLIENT_UNLOCK ? "unlock" : "lock", f->path,
                                 err};
    return run(&op, f, &(struct wire_lock_element){offset, len, flags[type]});
}
