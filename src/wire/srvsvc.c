/*
 * NetrShareEnum at level 1: arguments and results in NDR. (MS-SRVS 2.2.4.23, 2.2.4.33, 2.2.4.38,
 * 3.1.4.8; C706 chapter 14)
 *
 * NDR puts a pointer's referent behind the structure that the pointer is in, in the order of the
 * pointers: first the array of entries, each with two pointers, then all their strings one after
 * the other. The decoder walks over all strings once, so that it knows where the results behind
 * them begin; wire_share_next goes through both halves side by side. A string says its length three
 * times over: how much room there is, where it begins, how long it is.
 */
#include "wire/rpc.h"

#include <errno.h>

enum {
    LEVEL = 1,
    ENTRY_SIZE = 12,
    POINTER = 0x00020000, /* any number but 0 */
};

/* NDR aligns to the stub's beginning, where cursors over it have their base. */
static void align(struct rd *r)
{
    rd_skip(r, -r->pos % 4);
}

/* Without the NUL at its end. */
static void put_string(struct wr *w, const struct rd *utf16)
{
    uint32_t units = (uint32_t)(utf16->len / 2 + 1);
    wr_u32(w, units);
    wr_u32(w, 0);
    wr_u32(w, units);
    wr_bytes(w, utf16->base, utf16->len);
    wr_u16(w, 0);
    wr_align(w, 4);
}

static struct rd take_string(struct rd *r)
{
    align(r);
    uint32_t room = rd_u32(r);
    uint32_t offset = rd_u32(r);
    uint32_t units = rd_u32(r);
    if (offset != 0 || units > room)
        r->bad = true;
    struct rd utf16 = rd_sub(r, r->pos, 2 * (size_t)units);
    rd_skip(r, utf16.len);
    if (utf16.len >= 2 && utf16.base[utf16.len - 2] == 0 && utf16.base[utf16.len - 1] == 0)
        utf16.len -= 2;
    return utf16;
}

/* SHARE_ENUM_STRUCT, up to the container's EntriesRead. */
static void put_struct(struct wr *stub, uint32_t count)
{
    wr_u32(stub, LEVEL);
    wr_u32(stub, LEVEL); /* which arm of the union */
    wr_u32(stub, POINTER);
    wr_u32(stub, count); /* EntriesRead */
}

static uint32_t take_struct(struct rd *stub)
{
    if (rd_u32(stub) != LEVEL || rd_u32(stub) != LEVEL || rd_u32(stub) == 0)
        stub->bad = true;
    return rd_u32(stub);
}

/* ---- arguments ---- */

void wire_shares_request_encode(struct wr *stub, const struct wire_shares_request *m)
{
    stub->origin = stub->pos;
    wr_u32(stub, POINTER); /* ServerName */
    put_string(stub, &m->server);
    put_struct(stub, 0);
    wr_u32(stub, 0); /* Buffer */
    wr_u32(stub, m->preferred_length);
    wr_u32(stub, POINTER); /* ResumeHandle */
    wr_u32(stub, m->resume);
}

int wire_shares_request_decode(struct rd stub, struct wire_shares_request *ret)
{
    struct wire_shares_request m = {0};

    if (rd_u32(&stub) == 0)
        return -EBADMSG;
    m.server = take_string(&stub);
    align(&stub);
    if (take_struct(&stub) != 0 || rd_u32(&stub) != 0)
        stub.bad = true;
    m.preferred_length = rd_u32(&stub);
    if (rd_u32(&stub) == 0)
        stub.bad = true;
    m.resume = rd_u32(&stub);

    if (!rd_ok(&stub))
        return -EBADMSG;
    *ret = m;
    return 0;
}

/* ---- results ---- */

void wire_shares_response_encode(struct wr *stub, const struct wire_share *share, uint32_t count,
                                 uint32_t resume, uint32_t result)
{
    stub->origin = stub->pos;
    put_struct(stub, count);
    wr_u32(stub, POINTER); /* Buffer */
    wr_u32(stub, count);   /* its room */
    for (uint32_t i = 0; i < count; i++) {
        wr_u32(stub, POINTER);
        wr_u32(stub, share[i].type);
        wr_u32(stub, POINTER);
    }
    for (uint32_t i = 0; i < count; i++) {
        put_string(stub, &share[i].name);
        put_string(stub, &share[i].comment);
    }
    wr_u32(stub, count); /* TotalEntries */
    wr_u32(stub, POINTER);
    wr_u32(stub, resume);
    wr_u32(stub, result);
}

int wire_share_next(struct wire_shares_response *m, struct wire_share *ret)
{
    struct wire_share share = {0};
    if (rd_left(&m->entries) == 0)
        return 0;

    bool named = rd_u32(&m->entries);
    share.type = rd_u32(&m->entries);
    bool commented = rd_u32(&m->entries);
    if (!named)
        m->entries.bad = true;
    share.name = take_string(&m->strings);
    if (commented)
        share.comment = take_string(&m->strings);

    if (!rd_ok(&m->entries) || !rd_ok(&m->strings))
        return -EBADMSG;
    *ret = share;
    return 1;
}

/* The entries, and where their strings end. */
static void take_entries(struct rd *stub, struct wire_shares_response *m)
{
    struct wire_share share;
    if (rd_u32(stub) != m->count)
        stub->bad = true;
    m->entries = rd_sub(stub, stub->pos, (size_t)m->count * ENTRY_SIZE);
    rd_skip(stub, m->entries.len);
    m->strings = *stub;

    struct wire_shares_response all = *m;
    int r;
    while ((r = wire_share_next(&all, &share)) == 1)
        ;
    *stub = all.strings;
    if (r < 0)
        stub->bad = true;
}

int wire_shares_response_decode(struct rd stub, struct wire_shares_response *ret)
{
    struct wire_shares_response m = {0};

    m.count = take_struct(&stub);
    bool buffer = rd_u32(&stub);
    if (buffer)
        take_entries(&stub, &m);
    else if (m.count)
        stub.bad = true;
    align(&stub);
    m.total = rd_u32(&stub);
    if (rd_u32(&stub))
        m.resume = rd_u32(&stub);
    m.result = rd_u32(&stub);

    if (!rd_ok(&stub))
        return -EBADMSG;
    *ret = m;
    return 0;
}
