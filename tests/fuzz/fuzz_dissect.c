/*
 * Records of both directions to messages and exchanges. Input: records one after the other, each of
 * 3 bytes and its own: which connection, which direction, whether it was cut; how many bytes. With
 * SEALED the bytes are encrypted here before they are given, so that what stands behind a good
 * signature is reached too.
 *
 * What holds for any input: strings are strings, times go forward, every open that was given is
 * closed once, and a file cut short has no more messages than the whole.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rd.h"
#include "capture/dissect.h"
#include "fuzz.h"
#include "secure/secure.h"

enum { FLOW = 3, FROM_SERVER = 4, CUT = 8, SEALED = 16, FRAME_MAX = 4096 };

#define KEY "000102030405060708090a0b0c0d0e0f"

static struct {
    struct keyring *keys;
    struct secure_sealer *sealer;
    uint64_t live, messages;
    unsigned touched;
} run;

static void hold(bool property)
{
    if (!property)
        abort();
}

static void touch(const char *text)
{
    for (; text && *text; text++)
        run.touched += (unsigned char)*text;
}

/* ---- what comes out ---- */

static void take_message(void *user, const struct message *m)
{
    run.messages++;
    hold(m->command < SMB2_COMMANDS && m->flow && m->bytes);
    hold(m->response || !(m->interim || m->unsolicited));
}

static void touch_open(struct smb_open *o)
{
    touch(o->path);
    if (o->share)
        touch(o->share->name);
    if (!o->user) {
        o->user = &run;
        run.live++;
    }
}

static void take_exchange(void *user, const struct exchange *x)
{
    struct rd listing = x->listing;
    struct wire_dirent e;
    touch(x->path);
    hold(x->pattern && x->flow && (x->answered || x->request_seen));
    touch(x->pattern);
    if (x->share) {
        touch(x->share->name);
        touch(x->share->server);
        touch(x->share->client);
    }
    if (x->open)
        touch_open(x->open);
    while (wire_listing_next(&listing, x->info_class, &e) > 0)
        run.touched += e.name.len ? e.name.base[e.name.len - 1] : 0;
    hold(!x->answered || x->answered_ns >= x->asked_ns);
}

static void take_closed(void *user, struct smb_open *o)
{
    touch(o->path);
    run.live -= o->user == &run;
    o->user = NULL;
}

static void take_broken(void *user, const struct break_notice *b)
{
    run.touched += b->to_state;
}

/* ---- what goes in ---- */

static void keys_once(void)
{
    static const char line[] = "0100000000000000,,," KEY "\n0200000000000000," KEY ",,\n";
    uint8_t key[16];
    if (run.keys)
        return;
    char path[] = "/tmp/larder-fuzz-XXXXXX";
    int fd = mkstemp(path);
    hold(fd >= 0 && write(fd, line, strlen(line)) == (ssize_t)strlen(line));
    close(fd);
    hold(keyring_read(path, &run.keys, NULL) == 0);
    unlink(path);
    for (uint8_t i = 0; i < 16; i++)
        key[i] = i;
    hold(secure_sealer_new(SECURE_AES128_GCM, key, &run.sealer) == 0);
}

/* The bytes as the message of a transform with the session that has the key; their size. */
static size_t seal(uint8_t frame[static FRAME_MAX], const uint8_t *bytes, size_t n)
{
    struct wr w = wr_init(frame, FRAME_MAX);
    wire_transform_encode(&w, &(struct wire_transform){.session_id = 1, .flags = 1});
    wr_bytes(&w, bytes, n);
    return wr_ok(&w) && secure_seal(run.sealer, frame, w.pos) == 0 ? w.pos : 0;
}

static bool next_record(struct rd *in, struct dissector *d, struct flow flows[4], uint64_t frame)
{
    static uint8_t sealed[FRAME_MAX];
    uint8_t kind = rd_u8(in);
    uint16_t len = rd_u16(in);
    uint32_t captured = len < rd_left(in) ? len : (uint32_t)rd_left(in);
    if (!rd_ok(in) || (kind & SEALED && captured < len))
        return false;
    struct record r = {
        .data = rd_bytes(in, captured),
        .captured = captured,
        .length = len + (kind & CUT ? 100u : 0u),
        .from_server = kind & FROM_SERVER,
        .frame = frame,
        .time_ns = frame,
        .first_time_ns = frame,
    };
    if (kind & SEALED) {
        r.captured = r.length = (uint32_t)seal(sealed, r.data, len);
        r.data = sealed;
    }
    dissector_record(d, &flows[kind & FLOW], &r);
    return true;
}

/* Messages in the first `size` bytes. */
static uint64_t dissect(const uint8_t *data, size_t size)
{
    static const struct dissect_events events = {take_message, take_exchange, take_closed,
                                                 take_broken, NULL};
    struct flow flows[4];
    struct rd in = rd_init(data, size);
    struct dissector *d = dissector_new(&events, run.keys);
    run.live = run.messages = 0;
    for (size_t i = 0; i < 4; i++)
        flows[i] = (struct flow){.id = i + 1,
                                 .client = {{[15] = 1}, (uint16_t)(50000 + i)},
                                 .server = {{[15] = (uint8_t)(2 + i / 2)}, 445}};
    for (uint64_t frame = 1; next_record(&in, d, flows, frame); frame++)
        ;
    for (size_t i = 0; i < 3; i++) /* one is left to the end */
        dissector_flow_closed(d, &flows[i]);
    dissector_finish(d);
    hold(run.live == 0);
    dissector_free(d);
    return run.messages;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    keys_once();
    uint64_t all = dissect(data, size);
    hold(dissect(data, size - size / 3) <= all);
    return 0;
}
