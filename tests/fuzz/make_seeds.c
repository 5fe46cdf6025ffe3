/*
 * Writes the part of the corpus that our own encoders can make: every sample, the compounds that a
 * client sends, and what a server answers to them. `make_seeds tests/fuzz/corpus` after a message
 * was added; the files are kept in the tree, so that every run starts from the same ones.
 */
#include <stdio.h>
#include <stdlib.h>

#include "samples.h"
#include "wire/rpc.h"

static void write_file(const char *path, const struct wr *w)
{
    FILE *f = fopen(path, "wb");
    if (!f || !wr_ok(w) || fwrite(w->buf, 1, w->pos, f) != w->pos || fclose(f) != 0) {
        perror(path);
        exit(1);
    }
}

static void write_seed(const char *corpus, enum direction direction, const char *name,
                       const struct wr *w)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s/%s", corpus, direction == REQUEST ? "request" : "response",
             name);
    write_file(path, w);
}

static const struct {
    const char *name;
    const char *elements[4];
} compounds[] = {
    {"compound_stat", {"create", "query_info", "close"}},
    {"compound_list", {"create", "query_directory", "query_directory"}},
    {"compound_read", {"create", "read"}},
    {"compound_stat_reply", {"create_reply", "query_info_all_reply", "close_reply"}},
    {"compound_list_reply", {"create_reply", "query_directory_reply", "error_empty_reply"}},
    {"compound_read_reply", {"create_reply", "read_reply"}},
};

/* ---- conversations, for the dissector ---- */

enum { FROM_SERVER = 4, SEALED = 16 };

static void put_record(struct wr *w, uint8_t kind, const struct wr *record)
{
    wr_u8(w, kind);
    wr_u16(w, (uint16_t)record->pos);
    wr_bytes(w, record->buf, record->pos);
}

static void put_compound(struct wr *w, uint8_t kind, size_t which)
{
    uint8_t buf[2048];
    struct wr record = wr_init(buf, sizeof(buf));
    const struct sample *elements[4];
    size_t count = 0;
    for (; count < 4 && compounds[which].elements[count]; count++)
        elements[count] = sample_find(compounds[which].elements[count]);
    sample_encode_compound(&record, elements, count);
    put_record(w, kind, &record);
}

static void write_conversation(const char *corpus, const char *name, const struct wr *w)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/dissect/%s", corpus, name);
    write_file(path, w);
}

/* The bytes as literals alone, which each algorithm has in its own way. */
static void put_literals(struct wr *w, uint16_t algorithm, const uint8_t *bytes, size_t n)
{
    if (algorithm == SMB2_COMPRESSION_LZNT1)
        wr_u16(w, (uint16_t)(0x3000 | (n - 1))); /* a chunk that is stored */
    if (algorithm == SMB2_COMPRESSION_LZ77_HUFFMAN)
        for (size_t i = 0; i < 256; i++)
            wr_u8(w, i < 128 ? 0x88 : 0); /* 8 bits each: a byte is its own code */
    for (size_t i = 0; i < n; i++) {
        if (algorithm == SMB2_COMPRESSION_LZ77 && i % 32 == 0)
            wr_u32(w, 0);
        size_t swapped = algorithm == SMB2_COMPRESSION_LZ77_HUFFMAN ? i ^ 1 : i;
        wr_u8(w, swapped < n ? bytes[swapped] : 0);
    }
    if (algorithm == SMB2_COMPRESSION_LZ77_HUFFMAN && n % 2)
        wr_u8(w, bytes[n - 1]);
}

static void write_compressed(const char *corpus, uint16_t algorithm)
{
    uint8_t message[2048], packed[4096], frame[4096], buf[8192];
    struct wr m = wr_init(message, sizeof(message)), p = wr_init(packed, sizeof(packed));
    struct wr f = wr_init(frame, sizeof(frame)), w = wr_init(buf, sizeof(buf));
    char name[64];
    sample_encode(&m, sample_find("create"));
    put_literals(&p, algorithm, message, m.pos);
    wire_compression_encode(
        &f, &(struct wire_compression){.original_size = (uint32_t)m.pos, .chained = true});
    wire_compression_payload_encode(
        &f,
        &(struct wire_compression_payload){.algorithm = algorithm,
                                           .original_size = (uint32_t)m.pos,
                                           .data = rd_init(packed, p.pos)},
        true);
    put_record(&w, 0, &f);
    snprintf(name, sizeof(name), "compressed_%u", algorithm);
    write_conversation(corpus, name, &w);
}

/* Requests with their responses, plain and sealed; every sample one after the other; what is
 * compressed. */
static void write_conversations(const char *corpus)
{
    uint8_t buf[16384], one[2048];
    for (size_t i = 0; i < 3; i++)
        for (uint8_t sealed = 0; sealed <= SEALED; sealed += SEALED) {
            char name[64];
            struct wr w = wr_init(buf, sizeof(buf));
            put_compound(&w, sealed, i);
            put_compound(&w, sealed | FROM_SERVER, i + 3);
            snprintf(name, sizeof(name), "%s%s", compounds[i].name, sealed ? "_sealed" : "");
            write_conversation(corpus, name, &w);
        }
    struct wr all = wr_init(buf, sizeof(buf));
    for (size_t i = 0; i < sample_count; i++) {
        struct wr record = wr_init(one, sizeof(one));
        sample_encode(&record, &samples[i]);
        put_record(&all, samples[i].direction == RESPONSE ? FROM_SERVER : 0, &record);
    }
    write_conversation(corpus, "every_sample", &all);
    struct wr envelopes = wr_init(buf, sizeof(buf));
    for (size_t i = 0; i < 3; i++) {
        struct wr record = wr_init(one, sizeof(one));
        sample_envelopes[i].encode(&record);
        put_record(&envelopes, 0, &record);
    }
    write_conversation(corpus, "envelopes", &envelopes);
    for (uint16_t algorithm = 0; algorithm < SMB2_COMPRESSION_PATTERN_V1; algorithm++)
        write_compressed(corpus, algorithm);
}

/* ---- remote procedure calls ---- */

static struct rd utf16(const void *text, size_t size)
{
    return rd_init(text, size - 2);
}
#define UTF16(text) utf16(u"" text, sizeof(u"" text))

static void write_rpc(const char *corpus, const char *name, uint8_t kind, const struct wr *w)
{
    char path[4096];
    uint8_t buf[2048];
    struct wr all = wr_init(buf, sizeof(buf));
    wr_u8(&all, kind);
    wr_bytes(&all, w->buf, w->pos);
    snprintf(path, sizeof(path), "%s/rpc/%s", corpus, name);
    write_file(path, &all);
}

/* The kinds are those of fuzz_rpc.c. */
static void write_rpcs(const char *corpus)
{
    enum { PDU, ARGUMENTS, RESULTS };
    static const struct {
        const char *name;
        struct wire_rpc pdu;
    } pdus[] = {
        {"bind", {.type = RPC_BIND, .flags = 3, .call = 1, .max_fragment = WIRE_RPC_FRAGMENT}},
        {"bind_ack", {.type = RPC_BIND_ACK, .flags = 3, .call = 1, .max_fragment = 4280}},
        {"bind_nak", {.type = RPC_BIND_NAK, .flags = 3, .call = 1, .reason = 4}},
        {"fault", {.type = RPC_FAULT, .flags = 3, .call = 2, .status = 5}},
        {"request", {.type = RPC_REQUEST, .flags = 3, .call = 2, .operation = SRVSVC_SHARE_ENUM}},
        {"response", {.type = RPC_RESPONSE, .flags = 1, .call = 2, .hint = 200}},
    };
    const struct wire_share shares[] = {
        {UTF16("data"), UTF16("what everybody needs"), SHARE_DISK},
        {UTF16("C$"), {0}, SHARE_SPECIAL},
        {UTF16("IPC$"), UTF16("Remote IPC"), SHARE_IPC | SHARE_SPECIAL},
    };
    uint8_t buf[1024], stub[1024];
    for (size_t i = 0; i < sizeof(pdus) / sizeof(pdus[0]); i++) {
        struct wr w = wr_init(buf, sizeof(buf));
        struct wire_rpc pdu = pdus[i].pdu;
        pdu.offers = wire_rpc_srvsvc;
        if (pdu.type == RPC_REQUEST || pdu.type == RPC_RESPONSE)
            pdu.stub = UTF16("arguments");
        wire_rpc_encode(&w, &pdu);
        write_rpc(corpus, pdus[i].name, PDU, &w);
    }
    struct wr w = wr_init(stub, sizeof(stub));
    wire_shares_request_encode(&w, &(struct wire_shares_request){.server = UTF16("\\\\fs"),
                                                                 .preferred_length = UINT32_MAX});
    write_rpc(corpus, "arguments", ARGUMENTS, &w);
    w = wr_init(stub, sizeof(stub));
    wire_shares_response_encode(&w, shares, 3, 0, 0);
    write_rpc(corpus, "results", RESULTS, &w);
    w = wr_init(stub, sizeof(stub));
    wire_shares_response_encode(&w, shares, 1, 7, 234);
    write_rpc(corpus, "more_results", RESULTS, &w);
}

int main(int argc, char **argv)
{
    uint8_t buf[2048];
    if (argc != 2) {
        fprintf(stderr, "usage: make_seeds CORPUS\n");
        return 2;
    }
    for (size_t i = 0; i < sample_count; i++) {
        struct wr w = wr_init(buf, sizeof(buf));
        sample_encode(&w, &samples[i]);
        write_seed(argv[1], samples[i].direction, samples[i].name, &w);
    }
    for (size_t i = 0; i < 3; i++) {
        struct wr w = wr_init(buf, sizeof(buf));
        sample_envelopes[i].encode(&w);
        write_seed(argv[1], REQUEST, sample_envelopes[i].name, &w);
        write_seed(argv[1], RESPONSE, sample_envelopes[i].name, &w);
    }
    for (size_t i = 0; i < sizeof(compounds) / sizeof(compounds[0]); i++) {
        const struct sample *elements[4];
        size_t count = 0;
        for (; count < 4 && compounds[i].elements[count]; count++)
            elements[count] = sample_find(compounds[i].elements[count]);
        struct wr w = wr_init(buf, sizeof(buf));
        sample_encode_compound(&w, elements, count);
        write_seed(argv[1], elements[0]->direction, compounds[i].name, &w);
    }
    write_conversations(argv[1]);
    write_rpcs(argv[1]);
    return 0;
}
