/* Who spoke with whom and what they agreed on; leases and oplocks asked for, granted, broken. */
#include <stdio.h>
#include <string.h>

#include "capture/parts.h"

/* ---- leases ---- */

void leases_exchange(struct analysis *a, const struct exchange *x)
{
    const struct smb_open *o = x->open;
    struct analysis_leases *l = &a->leases;
    if (x->command != SMB2_CREATE || !o || !x->answered || share_is_pipes(x->share))
        return;
    l->opens++;
    l->directory_opens += o->is_directory;
    bool granted = o->lease_asked && o->lease_granted_known && o->lease_granted_state;
    if (o->lease_asked) {
        *(o->is_directory ? &l->directory_asked : &l->asked) += 1;
        *(o->is_directory ? &l->directory_granted : &l->granted) += granted;
    } else if (o->oplock_asked != SMB2_OPLOCK_LEVEL_NONE) {
        l->oplocks_asked++;
        l->oplocks_granted += o->oplock_granted != SMB2_OPLOCK_LEVEL_NONE;
    }
}

void leases_broken(struct analysis *a, const struct break_notice *b)
{
    *(b->lease ? &a->leases.lease_breaks : &a->leases.oplock_breaks) += 1;
}

/* ---- hosts ---- */

static struct analysis_host *host_of(struct analysis *a, const char *client, const char *server)
{
    for (size_t i = 0; i < a->host_count; i++)
        if (strcmp(a->hosts[i].client, client) == 0 && strcmp(a->hosts[i].server, server) == 0)
            return &a->hosts[i];
    if (a->host_count == ANALYSIS_HOSTS)
        return NULL;
    struct analysis_host *h = &a->hosts[a->host_count++];
    snprintf(h->client, sizeof(h->client), "%s", client);
    snprintf(h->server, sizeof(h->server), "%s", server);
    return h;
}

/* What was said on one connection and not on another is kept; what differs is told. */
static void merge(struct analysis_host *h, const struct flow_facts *f)
{
    struct flow_facts *all = &h->facts;
    bool signed_seen = all->signed_seen || f->signed_seen;
    bool encrypted_seen = all->encrypted_seen || f->encrypted_seen;
    if (f->dialect) {
        h->facts_differ |= all->dialect && (all->dialect != f->dialect ||
                                            all->server_capabilities != f->server_capabilities ||
                                            all->signing_required != f->signing_required);
        *all = *f;
    }
    all->signed_seen = signed_seen;
    all->encrypted_seen = encrypted_seen;
}

void hosts_flow(struct analysis *a, const struct flow *flow, const struct flow_facts *facts)
{
    char client[48], address[48], server[56];
    endpoint_text(&flow->client, client);
    endpoint_text(&flow->server, address);
    snprintf(server, sizeof(server), "%s:%u", address, flow->server.port);
    struct analysis_host *h = host_of(a, client, server);
    if (!h) {
        a->hosts_left_out++;
        return;
    }
    h->connections++;
    merge(h, facts);
}
