/*
 * What a pipe is told: PDUs of DCE/RPC, and the arguments and results of NetrShareEnum. The first
 * byte chooses; the rest is one PDU, or one stub. What can be read is written, and must then be
 * read as the same again.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "wire/rpc.h"

enum { SHARES_MAX = 1024 };

static bool same_bytes(const struct rd *a, const struct rd *b)
{
    return a->len == b->len && (a->len == 0 || memcmp(a->base, b->base, a->len) == 0);
}

static void pdu(const uint8_t *data, size_t size)
{
    struct wire_rpc m, again;
    if (wire_rpc_decode(rd_init(data, size), &m) < 0)
        return;
    uint8_t *buf = malloc(size + 128);
    struct wr w = wr_init(buf, size + 128);
    wire_rpc_encode(&w, &m);
    if (wr_ok(&w)) { /* no longer than a PDU can be */
        assert(wire_rpc_length(rd_init(buf, w.pos)) == (int)w.pos);
        assert(wire_rpc_decode(rd_init(buf, w.pos), &again) == 0);
        assert(again.type == m.type && again.flags == m.flags && again.call == m.call);
        assert(again.max_fragment == m.max_fragment && again.operation == m.operation);
        assert(again.result == m.result && again.reason == m.reason && again.status == m.status);
        assert(again.hint == m.hint && same_bytes(&again.stub, &m.stub));
        assert(memcmp(again.offers.uuid, m.offers.uuid, 16) == 0);
        assert(again.offers.version == m.offers.version);
    }
    free(buf);
}

static void arguments(const uint8_t *data, size_t size)
{
    struct wire_shares_request m, again;
    if (wire_shares_request_decode(rd_init(data, size), &m) < 0)
        return;
    uint8_t *buf = malloc(size + 128);
    struct wr w = wr_init(buf, size + 128);
    wire_shares_request_encode(&w, &m);
    assert(wr_ok(&w));
    assert(wire_shares_request_decode(rd_init(buf, w.pos), &again) == 0);
    assert(same_bytes(&again.server, &m.server) && again.resume == m.resume &&
           again.preferred_length == m.preferred_length);
    free(buf);
}

static void results(const uint8_t *data, size_t size)
{
    static struct wire_share share[SHARES_MAX];
    struct wire_shares_response m, again;
    struct wire_share next;
    uint32_t count = 0;
    if (wire_shares_response_decode(rd_init(data, size), &m) < 0)
        return;
    if (m.count > SHARES_MAX)
        return;
    while (wire_share_next(&m, &next) == 1)
        share[count++] = next;
    assert(count == m.count);
    size_t cap = 2 * size + 64 * (size_t)count + 128;
    uint8_t *buf = malloc(cap);
    struct wr w = wr_init(buf, cap);
    wire_shares_response_encode(&w, share, count, m.resume, m.result);
    assert(wr_ok(&w));
    assert(wire_shares_response_decode(rd_init(buf, w.pos), &again) == 0);
    assert(again.count == count && again.resume == m.resume && again.result == m.result);
    for (uint32_t i = 0; i < count; i++) {
        assert(wire_share_next(&again, &next) == 1);
        assert(next.type == share[i].type && same_bytes(&next.name, &share[i].name) &&
               same_bytes(&next.comment, &share[i].comment));
    }
    assert(wire_share_next(&again, &next) == 0);
    free(buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const reads[])(const uint8_t *, size_t) = {pdu, arguments, results};
    if (size > 0)
        reads[data[0] % 3](data + 1, size - 1);
    return 0;
}
