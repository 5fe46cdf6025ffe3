/*
 * NetBIOS framing that survives holes.
 *
 * A record that lies in one segment is given out where it lies; any other is gathered in a buffer
 * that grows with the bytes that came, not with the length that was announced. A hole within a body
 * costs that record its tail and nothing else: its end is known. A hole that takes a header leaves
 * no such end, and neither does a connection that was joined in the middle; then the stream is
 * scanned for a header with an SMB magic behind it. A header is believed only with that magic, so
 * that framing which went wrong unnoticed is found out at the next record.
 *
 * `causes` follows a reader that takes segments one by one: whatever makes it lose its place is
 * remembered until a record begins where a segment begins, for there it can find it again. It need
 * not: it may have taken the bytes in between for the header of a long record.
 */
#include "capture/framer.h"

#include <stdlib.h>
#include <string.h>

enum {
    HEADER = 4,
    MAX_CONTROL = 1024,     /* the longest control message, a session request, has 68 bytes */
    MAX_RECORDS = 24 << 20, /* bytes in unfinished records of all connections */
    MAX_SPARE = 8 << 20,
    FIRST_SIZE = 4096,
};

void framer_init(struct framer *f, struct flow_tally *tally, struct stream_memory *memory,
                 void (*give)(void *user, const struct framed *r), void *user)
{
    *f = (struct framer){.tally = tally, .memory = memory, .give = give, .user = user};
}

/* The least length of a record with this magic (FE 'SMB' and its relatives); 0: it is none. */
static uint32_t least_length(uint32_t magic)
{
    if ((magic & 0x00ffffff) != 0x00534d42) /* "SMB" */
        return 0;
    switch (magic >> 24) {
    case 0xfe:
        return 64; /* SMB2: a header */
    case 0xfd:
        return 52; /* encrypted: a transform header */
    case 0xfc:
        return 16; /* compressed */
    case 0xff:
        return 35; /* SMB1: a header, no words, no bytes */
    default:
        return 0;
    }
}

static uint32_t be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static uint32_t length_in(const struct framer *f, uint32_t header)
{
    return header & (f->short_lengths ? 0x1ffff : 0xffffff);
}

/* ---- the buffer ---- */

static void release(struct framer *f)
{
    struct stream_memory *m = f->memory;
    m->records -= f->size;
    if (f->size > m->spare_size && f->size <= MAX_SPARE) {
        free(m->spare);
        m->spare = f->body;
        m->spare_size = f->size;
    } else {
        free(f->body);
    }
    f->body = NULL;
    f->size = 0;
}

/* Room for `want` bytes of the body; false where memory or its bound says no. */
static bool reserve(struct framer *f, size_t want)
{
    struct stream_memory *m = f->memory;
    if (want <= f->size)
        return true;
    if (!f->body && m->spare) {
        f->body = m->spare;
        f->size = m->spare_size;
        m->spare = NULL;
        m->spare_size = 0;
        m->records += f->size;
        if (want <= f->size)
            return true;
    }
    size_t size = f->size ? f->size : FIRST_SIZE;
    while (size < want)
        size *= 2;
    if (m->records + size - f->size > MAX_RECORDS)
        return false;
    uint8_t *body = realloc(f->body, size);
    if (!body)
        return false;
    m->records += size - f->size;
    f->body = body;
    f->size = size;
    return true;
}

/* ---- states ---- */

static void note(struct framer *f, const struct origin *o)
{
    if (o->frame >= f->last.frame)
        f->last = *o;
}

static void expect_header(struct framer *f)
{
    f->state = FRAMER_HEADER;
    f->got = 0;
}

static void start_scan(struct framer *f)
{
    f->state = FRAMER_SCAN;
    f->scanned = 0;
}

/* A record of the stream goes on where the segment begins. */
static bool in_record(const struct framer *f)
{
    return f->state == FRAMER_BODY || f->state == FRAMER_PASS ||
           (f->state == FRAMER_HEADER && f->got > 0);
}

static void begin_segment(struct framer *f, const uint8_t *data, const struct origin *o)
{
    f->segment = o->late || o->causes & RECORD_OVERLAP ? NULL : data;
    f->causes |= o->causes & RECORD_OVERLAP;
    if (o->late || in_record(f))
        f->causes |= (o->causes | f->before) & RECORD_OUT_OF_ORDER;
    f->before = o->causes;
}

static void note_length(struct framer *f, uint32_t length)
{
    if (f->other_port && length > 0x1ffff)
        f->causes |= RECORD_LONG;
}

static void begin_body(struct framer *f, uint32_t length)
{
    note_length(f, length);
    f->state = FRAMER_BODY;
    f->length = length;
    f->got = f->captured = 0;
}

static unsigned causes_of(struct framer *f)
{
    f->lost |= f->causes != 0;
    return f->causes ? f->causes : f->lost ? RECORD_BEHIND : 0;
}

static void deliver(struct framer *f)
{
    const struct framed r = {f->body, f->captured, f->length, f->last, f->first, causes_of(f)};
    f->give(f->user, &r);
    release(f);
    expect_header(f);
}

static void append(struct framer *f, const uint8_t *data, uint32_t n)
{
    /* once something is missing, what follows has no place */
    if (f->captured == f->got && reserve(f, (size_t)f->captured + n)) {
        memcpy(f->body + f->captured, data, n);
        f->captured += n;
    }
    f->got += n;
}

static size_t take_body(struct framer *f, const uint8_t *data, size_t n, const struct origin *o)
{
    uint32_t left = f->length - f->got;
    uint32_t take = n < left ? (uint32_t)n : left;
    note(f, o);
    append(f, data, take);
    if (f->got == f->length)
        deliver(f);
    return take;
}

static size_t take_pass(struct framer *f, size_t n)
{
    uint32_t left = f->length - f->got;
    uint32_t take = n < left ? (uint32_t)n : left;
    f->got += take;
    if (f->got == f->length)
        expect_header(f);
    return take;
}

/* The length of the record that begins with the last ten bytes; 0: none does. */
static uint32_t record_in_window(const struct framer *f)
{
    uint32_t magic = (uint32_t)(f->window >> 16), least = least_length(magic);
    uint32_t header = (uint32_t)(f->window_before << 16 | f->window >> 48);
    uint32_t length = length_in(f, header);
    bool smb2_without_size = magic >> 24 == 0xfe && (f->window & 0xffff) != 0x4000;
    return least && header == length && length >= least && !smb2_without_size ? length : 0;
}

/* The record that begins with the last ten bytes, `here` of them in the segment at hand. */
static void begin_scanned(struct framer *f, uint32_t length, size_t here, bool begins_segment,
                          const struct origin *o)
{
    f->causes = begins_segment ? 0 : f->causes | RECORD_FOUND_AGAIN;
    f->tally->skipped_bytes -= FRAMER_WINDOW; /* they are the record's after all */
    f->first = f->last = here < FRAMER_WINDOW ? f->trail[here] : *o;
    for (size_t i = here; i < FRAMER_WINDOW; i++)
        note(f, &f->trail[i]);
    note(f, o);
    uint8_t begun[FRAMER_WINDOW - HEADER];
    for (size_t i = 0; i < sizeof(begun); i++)
        begun[i] = (uint8_t)(f->window >> 8 * (sizeof(begun) - 1 - i));
    begin_body(f, length);
    append(f, begun, sizeof(begun));
}

/* Looks for a record, one byte after the other. */
static size_t take_scan(struct framer *f, const uint8_t *data, size_t n, const struct origin *o)
{
    for (size_t i = 0; i < n; i++) {
        f->window_before = f->window_before << 8 | f->window >> 56;
        f->window = f->window << 8 | data[i];
        if (++f->scanned < FRAMER_WINDOW || (f->window >> 16 & 0xffffff) != 0x534d42)
            continue;
        uint32_t length = record_in_window(f);
        if (length) {
            f->tally->skipped_bytes += i + 1;
            bool begins_segment =
                i + 1 >= FRAMER_WINDOW && data + i + 1 - FRAMER_WINDOW == f->segment;
            begin_scanned(f, length, i + 1, begins_segment, o);
            return i + 1;
        }
    }
    size_t seen = n < FRAMER_WINDOW ? n : FRAMER_WINDOW;
    memmove(f->trail, f->trail + seen, (FRAMER_WINDOW - seen) * sizeof(*o));
    for (size_t i = FRAMER_WINDOW - seen; i < FRAMER_WINDOW; i++)
        f->trail[i] = *o;
    f->tally->skipped_bytes += n;
    return n;
}

/* What was taken for a header is none. */
static void scan_head(struct framer *f, const struct origin *o)
{
    const uint32_t n = f->got;
    start_scan(f);
    take_scan(f, f->head, n, o);
}

static bool begin_control(struct framer *f, uint32_t header)
{
    uint32_t type = header >> 24, length = header & 0x1ffff;
    bool empty = type == 0 && header == 0; /* some stacks' keep-alive */
    if (!empty && (type < 0x81 || type > 0x85 || length > MAX_CONTROL))
        return false;
    f->tally->netbios_control++;
    f->state = FRAMER_PASS;
    f->length = length;
    f->got = 0;
    if (length == 0)
        expect_header(f);
    return true;
}

/* The length of the record that these eight bytes begin; 0: they begin none. */
static uint32_t record_length(const struct framer *f, const uint8_t head[static 8])
{
    uint32_t header = be32(head), length = length_in(f, header),
             least = least_length(be32(head + 4));
    bool flagged = header >> 24 != 0 || (f->short_lengths && header >> 17);
    return least && !flagged && length >= HEADER ? length : 0;
}

static size_t take_header(struct framer *f, const uint8_t *data, size_t n, const struct origin *o)
{
    if (f->got == 0) {
        f->causes = data == f->segment ? 0 : f->causes;
        f->first = f->last = *o;
        uint32_t length = n >= 8 ? record_length(f, data) : 0;
        if (length && n - HEADER >= length) {
            note_length(f, length);
            const struct framed r = {data + HEADER, length, length, *o, *o, causes_of(f)};
            f->give(f->user, &r);
            return HEADER + length;
        }
    }
    if (f->got > 0 && f->got < HEADER)
        f->causes |= RECORD_SPLIT_HEADER;
    uint32_t want = (f->got < HEADER ? HEADER : 8) - f->got;
    uint32_t take = n < want ? (uint32_t)n : want;
    memcpy(f->head + f->got, data, take);
    f->got += take;
    note(f, o);
    if (f->got == HEADER) {
        uint32_t header = be32(f->head);
        if ((header >> 24 != 0 || header == 0) && !begin_control(f, header))
            scan_head(f, o);
    } else if (f->got == 8) {
        uint32_t length = record_length(f, f->head);
        if (length) {
            begin_body(f, length);
            append(f, f->head + HEADER, HEADER);
            if (f->got == f->length)
                deliver(f);
        } else {
            scan_head(f, o);
        }
    }
    return take;
}

void framer_bytes(struct framer *f, const uint8_t *data, size_t n, const struct origin *o)
{
    begin_segment(f, data, o);
    while (n > 0) {
        size_t used = 0;
        switch (f->state) {
        case FRAMER_SCAN:
            used = take_scan(f, data, n, o);
            break;
        case FRAMER_HEADER:
            used = take_header(f, data, n, o);
            break;
        case FRAMER_BODY:
            used = take_body(f, data, n, o);
            break;
        case FRAMER_PASS:
            used = take_pass(f, n);
            break;
        }
        data += used;
        n -= used;
    }
}

void framer_hole(struct framer *f, uint64_t n, const struct origin *o)
{
    if (n == 0)
        return;
    if (f->state == FRAMER_BODY || f->state == FRAMER_PASS) {
        uint32_t left = f->length - f->got;
        uint32_t take = n < left ? (uint32_t)n : left;
        bool body = f->state == FRAMER_BODY;
        f->causes |= o ? 0 : RECORD_HOLE;
        f->got += take;
        n -= take;
        if (o)
            note(f, o);
        if (f->got == f->length && body)
            deliver(f);
        else if (f->got == f->length)
            expect_header(f);
        if (n == 0)
            return;
    }
    if (f->state == FRAMER_HEADER)
        f->tally->skipped_bytes += f->got;
    start_scan(f);
}

void framer_done(struct framer *f)
{
    if (f->state == FRAMER_BODY)
        f->tally->skipped_bytes += f->captured;
    if (f->state == FRAMER_HEADER)
        f->tally->skipped_bytes += f->got;
    release(f);
    start_scan(f);
}
