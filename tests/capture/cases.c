/*
 * capture_cases DIR: one conversation, captured in every way that a capture can be hard to read:
 * each case into DIR/NAME.pcap, and for each a line of JSON that says what is in it (scene.h).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/scene.h"
#include "wire/wire.h"

enum { SEGMENT = 1448, LONG_READ = 200000 };

/* ---- ways of sending ---- */

static void whole(struct scene *k, struct record *r)
{
    session_send(&k->tcp, r->side, r->wire, r->n);
}

/* A part of the record that comes next; `finished` goes on behind it, and has it acknowledged. */
static void part(struct scene *k, const struct record *r, uint32_t from, uint32_t to)
{
    session_segment(&k->tcp, r->side, k->tcp.seq[r->side] + from, r->wire + from, to - from,
                    TCP_HAS_ACK);
}

static void finished(struct scene *k, const struct record *r)
{
    k->tcp.seq[r->side] += r->n;
    session_ack(&k->tcp, 1 - r->side);
}

/* The rest of a record, a segment after the other. */
static void rest(struct scene *k, const struct record *r, uint32_t from)
{
    for (uint32_t at = from, to; at < r->n; at = to) {
        to = r->n - at < SEGMENT ? r->n : at + SEGMENT;
        part(k, r, at, to);
    }
    finished(k, r);
}

static void each(struct scene *k, void (*send)(struct scene *k, struct record *r, size_t i))
{
    session_handshake(&k->tcp);
    for (size_t i = 0; i < k->count; i++)
        send(k, &k->record[i], i);
    session_close(&k->tcp);
}

/* Two requests and their responses at a time, where the conversation has them so. */
static void pairs(struct scene *k,
                  void (*send)(struct scene *k, struct record *a, struct record *b))
{
    session_handshake(&k->tcp);
    for (size_t i = 0; i < k->count;) {
        struct record *r = &k->record[i];
        bool pair = i + 3 < k->count && r[0].side == CLIENT && r[1].side == SERVER &&
                    r[2].side == CLIENT && r[3].side == SERVER;
        if (pair) {
            send(k, &r[0], &r[2]);
            send(k, &r[1], &r[3]);
        } else {
            whole(k, r);
        }
        i += pair ? 4 : 1;
    }
    session_close(&k->tcp);
}

/* One side's records from `first` on as one run of bytes. */
static uint8_t *run_of(const struct scene *k, int side, size_t first, uint32_t *ret_n)
{
    uint8_t *out = NULL;
    uint32_t n = 0;
    for (size_t i = first; i < k->count; i++) {
        const struct record *r = &k->record[i];
        if (r->side != side)
            continue;
        out = realloc(out, n + r->n);
        must(out, "out of memory");
        memcpy(out + n, r->wire, r->n);
        n += r->n;
    }
    *ret_n = n;
    return out;
}

/* ---- the cases ---- */

static void send_whole(struct scene *k, struct record *r, size_t i)
{
    whole(k, r);
}

static void plain(struct scene *k)
{
    each(k, send_whole);
}

static void send_together(struct scene *k, struct record *a, struct record *b)
{
    uint8_t *both = malloc(a->n + b->n);
    must(both, "out of memory");
    memcpy(both, a->wire, a->n);
    memcpy(both + a->n, b->wire, b->n);
    session_send(&k->tcp, a->side, both, a->n + b->n);
    free(both);
}

static void shared_segments(struct scene *k)
{
    pairs(k, send_together);
}

static void cut_at(struct scene *k, const struct record *r, uint32_t at)
{
    part(k, r, 0, at);
    rest(k, r, at);
}

static void cut_1(struct scene *k, struct record *r, size_t i)
{
    cut_at(k, r, 1);
}

static void cut_2(struct scene *k, struct record *r, size_t i)
{
    cut_at(k, r, 2);
}

static void cut_3(struct scene *k, struct record *r, size_t i)
{
    cut_at(k, r, 3);
}

static void cut_4(struct scene *k, struct record *r, size_t i)
{
    cut_at(k, r, 4);
}

static void split_1(struct scene *k)
{
    each(k, cut_1);
}

static void split_2(struct scene *k)
{
    each(k, cut_2);
}

static void split_3(struct scene *k)
{
    each(k, cut_3);
}

static void split_4(struct scene *k)
{
    each(k, cut_4);
}

static void send_split_behind(struct scene *k, struct record *a, struct record *b)
{
    uint8_t *first = malloc(a->n + 2);
    must(first, "out of memory");
    memcpy(first, a->wire, a->n);
    memcpy(first + a->n, b->wire, 2);
    session_send(&k->tcp, a->side, first, a->n + 2);
    session_send(&k->tcp, b->side, b->wire + 2, b->n - 2);
    free(first);
}

static void split_behind(struct scene *k)
{
    pairs(k, send_split_behind);
}

/* Every fifth record: its first two segments, or its halves. */
static void send_swapped(struct scene *k, struct record *r, size_t i)
{
    const uint32_t half = r->n < 2 * SEGMENT ? r->n / 2 : SEGMENT;
    const uint32_t end = r->n < 2 * SEGMENT ? r->n : 2 * SEGMENT;
    if (i % 5) {
        whole(k, r);
        return;
    }
    part(k, r, half, end);
    part(k, r, 0, half);
    rest(k, r, end);
}

static void swapped(struct scene *k)
{
    each(k, send_swapped);
}

static void send_first_last(struct scene *k, struct record *r, size_t i)
{
    if (!record_is_large_read(r)) {
        whole(k, r);
        return;
    }
    for (uint32_t at = SEGMENT; at < r->n; at += SEGMENT)
        part(k, r, at, r->n - at < SEGMENT ? r->n : at + SEGMENT);
    part(k, r, 0, SEGMENT);
    finished(k, r);
}

static void first_last(struct scene *k)
{
    each(k, send_first_last);
}

static void send_b_then_a(struct scene *k, struct record *a, struct record *b)
{
    k->tcp.seq[a->side] += a->n;
    part(k, b, 0, b->n);
    k->tcp.seq[a->side] -= a->n;
    part(k, a, 0, a->n);
    k->tcp.seq[a->side] += a->n;
    finished(k, b);
}

static void records_swapped(struct scene *k)
{
    pairs(k, send_b_then_a);
}

static void send_half_then_all(struct scene *k, struct record *r, size_t i)
{
    const uint32_t all = r->n < SEGMENT ? r->n : SEGMENT;
    if (i % 5 == 0)
        part(k, r, 0, all / 2);
    part(k, r, 0, all);
    rest(k, r, all);
}

static void overlap(struct scene *k)
{
    each(k, send_half_then_all);
}

static void send_again_with_more(struct scene *k, struct record *a, struct record *b)
{
    part(k, a, 0, a->n);
    send_together(k, a, b);
}

static void again_with_more(struct scene *k)
{
    pairs(k, send_again_with_more);
}

static void send_twice(struct scene *k, struct record *r, size_t i)
{
    for (uint32_t at = 0; at < r->n; at += SEGMENT) {
        uint32_t to = r->n - at < SEGMENT ? r->n : at + SEGMENT;
        part(k, r, at, to);
        part(k, r, at, to);
    }
    finished(k, r);
}

static void twice(struct scene *k)
{
    each(k, send_twice);
}

/* Linux' `any`: the second copy as it leaves another interface. */
static void twice_any(struct scene *k)
{
    k->tcp.style.link_type = 113;
    capture_done(&k->c);
    capture_begin(&k->c, CAPTURE_PCAP, false, 113);
    each(k, send_twice);
}

static void send_with_hole(struct scene *k, struct record *r, size_t i)
{
    if (!record_is_large_read(r)) {
        whole(k, r);
        return;
    }
    part(k, r, 0, SEGMENT);
    rest(k, r, 2 * SEGMENT);
    r->seen = SEGMENT;
}

static void hole(struct scene *k)
{
    each(k, send_with_hole);
}

static void send_most(struct scene *k, struct record *r, size_t i)
{
    if (i % 10 != 9) {
        whole(k, r);
        return;
    }
    finished(k, r);
    r->seen = 0;
}

static void records_lost(struct scene *k)
{
    each(k, send_most);
}

/* A side's bytes as full segments, of which every `without`th is lost. */
static void send_run(struct scene *k, int side, size_t first, uint32_t from, unsigned without)
{
    uint32_t n, start = 0;
    uint8_t *run = run_of(k, side, first, &n);
    const uint32_t base = k->tcp.seq[side] - from;
    unsigned segment = 0;
    for (uint32_t at = from, to; at < n; at = to) {
        to = n - at < SEGMENT ? n : at + SEGMENT;
        bool lost = without && ++segment % without == 0;
        if (!lost)
            session_segment(&k->tcp, side, base + at, run + at, to - at, TCP_HAS_ACK);
        k->tcp.seq[side] = base + to;
        session_ack(&k->tcp, 1 - side);
        start = 0;
        for (size_t i = first; lost && i < k->count; i++) {
            struct record *r = &k->record[i];
            if (r->side != side)
                continue;
            if (start < to && start + r->n > at && r->seen > (at > start ? at - start : 0))
                r->seen = at > start ? at - start : 0;
            start += r->n;
        }
    }
    free(run);
}

/* Records begin anywhere in their segments, and some of those that begin one are lost. */
static void header_lost(struct scene *k)
{
    session_handshake(&k->tcp);
    send_run(k, CLIENT, 0, 0, 0);
    send_run(k, SERVER, 0, 0, 8);
    session_close(&k->tcp);
}

/* The capture begins in the middle of a record, and so it goes on. */
static void joined(struct scene *k)
{
    size_t first = k->count / 3;
    while (!record_is_large_read(&k->record[first]))
        first++;
    for (size_t i = 0; i <= first; i++)
        k->record[i].before = true;
    send_run(k, CLIENT, first, 0, 0);
    send_run(k, SERVER, first, 1000, 0);
    session_close(&k->tcp);
}

static void wrap(struct scene *k)
{
    k->tcp.seq[CLIENT] = 0xffffff00;
    k->tcp.seq[SERVER] = 0xfffff000;
    each(k, send_whole);
}

static void again_on_the_same_ports(struct scene *k)
{
    k->times = 2;
    each(k, send_whole);
    k->tcp.seq[CLIENT] += 5000000;
    k->tcp.seq[SERVER] += 7000000;
    each(k, send_whole);
}

/* READ responses of more than 17 bits, records behind them in the same segments. */
static void long_records(struct scene *k)
{
    for (size_t i = 0; i < k->count; i++) {
        struct record *r = &k->record[i];
        if (!record_is_large_read(r))
            continue;
        r->wire = realloc(r->wire, r->n + LONG_READ);
        must(r->wire, "out of memory");
        for (uint32_t at = 0; at < LONG_READ; at++)
            r->wire[r->n + at] = (uint8_t)((at + 1) * UINT64_C(0x9e3779b97f4a7c15) >> 56);
        r->n = r->seen = r->n + LONG_READ;
        record_set_length(r);
        for (int byte = 0; byte < 3; byte++)
            r->wire[4 + 64 + 4 + byte] = (uint8_t)((SCENE_READ + LONG_READ) >> 8 * byte);
    }
    session_handshake(&k->tcp);
    send_run(k, CLIENT, 0, 0, 0);
    send_run(k, SERVER, 0, 0, 0);
    session_close(&k->tcp);
}

static void long_records_elsewhere(struct scene *k)
{
    k->tcp.port[SERVER] = 4455;
    long_records(k);
}

static void cut_frames(struct scene *k, uint32_t snaplen)
{
    const uint32_t there = snaplen - SCENE_HEADERS;
    k->tcp.style.snaplen = snaplen;
    each(k, send_whole);
    for (size_t i = 0; i < k->count; i++) {
        struct record *r = &k->record[i];
        r->seen = r->n < there ? r->n : there;
    }
}

static void snap_128(struct scene *k)
{
    cut_frames(k, 128);
}

static void snap_300(struct scene *k)
{
    cut_frames(k, 300);
}

static void offload(struct scene *k)
{
    k->tcp.style.vlan_tags = 2;
    k->tcp.style.no_total_length = true;
    k->tcp.mss = 20000;
    each(k, send_whole);
}

static void fragments(struct scene *k)
{
    k->tcp.style.fragment = 600;
    each(k, send_whole);
}

/* From the first encrypted record on. */
static void without_logon(struct scene *k)
{
    size_t first = 0;
    while (k->record[first].n == k->record[first].plain_n)
        k->record[first++].before = true;
    for (size_t i = first; i < k->count; i++)
        whole(k, &k->record[i]);
    session_close(&k->tcp);
}

static const struct {
    const char *name;
    void (*write)(struct scene *k);
    enum secure_cipher cipher;
} cases[] = {
    {"plain", plain, 0},
    {"offload", offload, 0},
    {"fragments", fragments, 0},
    {"shared-segments", shared_segments, 0},
    {"split-1", split_1, 0},
    {"split-2", split_2, 0},
    {"split-3", split_3, 0},
    {"split-4", split_4, 0},
    {"split-behind", split_behind, 0},
    {"swapped", swapped, 0},
    {"first-last", first_last, 0},
    {"records-swapped", records_swapped, 0},
    {"overlap", overlap, 0},
    {"again-with-more", again_with_more, 0},
    {"twice", twice, 0},
    {"twice-any", twice_any, 0},
    {"hole", hole, 0},
    {"records-lost", records_lost, 0},
    {"header-lost", header_lost, 0},
    {"joined", joined, 0},
    {"wrap", wrap, 0},
    {"same-ports", again_on_the_same_ports, 0},
    {"long", long_records, 0},
    {"long-elsewhere", long_records_elsewhere, 0},
    {"snap-128", snap_128, 0},
    {"snap-300", snap_300, 0},
    {"ccm", plain, SECURE_AES128_CCM},
    {"ccm-joined", without_logon, SECURE_AES128_CCM},
    {"gcm-joined", without_logon, SECURE_AES128_GCM},
};

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: capture_cases DIR\n");
        return 2;
    }
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        static struct scene k;
        char path[4096];
        must(snprintf(path, sizeof(path), "%s/%s.pcap", argv[1], cases[i].name) < (int)sizeof(path),
             "the directory's name is too long");
        scene_init(&k, cases[i].cipher);
        cases[i].write(&k);
        capture_save(&k.c, path, k.c.len);
        scene_print(&k, cases[i].name);
        scene_done(&k);
    }
    return 0;
}
