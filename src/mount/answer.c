/*
 * What the handlers have in common: how the kernel is answered, and what is noted when it is.
 *
 * A positive entry gets a timeout only under the server's own spelling: of a name that was asked
 * for in another case the kernel would keep an alias that no later change of the file can reach.
 * Nothing gets one that was revoked between the question and the answer (known.h). And attributes
 * that go out are noted, since the kernel acts on them (the size cuts its reads).
 */
#include <errno.h>

#include "mount/session.h"

void reply_error(fuse_req_t req, int rc)
{
    int code = -rc;
    if (code == EILSEQ)
        code = EINVAL; /* a name that is no UTF-8 */
    if (code <= 0 || code >= 512)
        code = EIO; /* the kernel's own numbers and nonsense do not go out */
    fuse_reply_err(req, code);
}

struct mount *change_of(fuse_req_t req, enum upcall u)
{
    struct mount *m = fuse_req_userdata(req);
    if (!m->read_only)
        return call_of(req, u);
    call_of(req, UPCALL_REFUSED);
    fuse_reply_err(req, EROFS);
    return NULL;
}

int enter_entry(struct mount *m, const struct about *what, const struct share_entry *entry,
                struct fuse_entry_param *ret)
{
    fuse_ino_t id;
    bool is_dir = file_attr_is_dir(&entry->attr) && !entry->is_link;
    int rc = nodes_enter(&m->nodes, entry->node, entry->ino, is_dir, &id);
    if (rc < 0)
        return rc;
    uint64_t entry_ns = entry->exact ? entry->valid_ns : 0;
    bool fresh =
        m->kernel_cache && known_name(&m->nodes, what->dir, what->name, id, entry_ns, what->moment);
    *ret = (struct fuse_entry_param){
        .ino = id,
        .attr_timeout = kernel_timeout(m, entry->valid_ns, fresh),
        .entry_timeout = kernel_timeout(m, entry_ns, fresh),
    };
    if (!entry->exact)
        atomic_store(&m->aliases, true);
    attr_to_stat(&m->rules, &entry->attr, entry->is_link, entry->ino, &ret->attr);
    nodes_tell(&m->nodes, nodes_get(&m->nodes, id), &entry->attr); /* just entered: it is there */
    return 0;
}

void reply_entry(struct mount *m, fuse_req_t req, const struct about *what, int rc,
                 const struct share_entry *entry)
{
    struct fuse_entry_param out;
    if (rc == 0)
        rc = enter_entry(m, what, entry, &out);
    if (rc < 0)
        return reply_error(req, rc);
    if (fuse_reply_entry(req, &out) < 0)
        nodes_forget(&m->nodes, out.ino, 1);
}

void reply_attr(struct mount *m, fuse_req_t req, struct node *node, const struct share_entry *found,
                uint64_t moment)
{
    struct stat st;
    nodes_set_ino(&m->nodes, node, found->ino);
    nodes_tell(&m->nodes, node, &found->attr);
    attr_to_stat(&m->rules, &found->attr, found->is_link, found->ino, &st);
    bool fresh = known_attr(&m->nodes, node->id, moment);
    fuse_reply_attr(req, &st, kernel_timeout(m, found->valid_ns, fresh));
}

int node_getattr(struct mount *m, const struct node *node, struct share_entry *ret)
{
    handles_settle_written(&m->handles, node->id);
    int rc = share_getattr(m->share, node->share, ret, NULL);
    if (rc != -ENOENT && rc != -ENOTDIR && rc != -ESTALE && rc != -EACCES)
        return rc;
    struct handle *handle = handles_find(&m->handles, node->id, false);
    if (!handle)
        return rc;
    rc = share_file_getattr(m->share, node->share, handle->file, ret, NULL);
    handle_unref(&m->handles, handle);
    return rc;
}

void data_changed(struct mount *m, struct node *node, struct handle *by)
{
    if (by)
        atomic_store(&by->wrote, true);
    nodes_data_changed(&m->nodes, node);
    handles_changed(&m->handles, node->id, NULL);
}
